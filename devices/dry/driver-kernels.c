/* driver-kernels.c - modules, functions and launches of the stand-in driver, and gemem's own
 * kernels executed by the CPU.
 *
 * No code is loaded: a module is an image of which only the first bytes are checked (PTX, ELF or a
 * fat binary), and has every kernel of the table below. The kernels do what devices/cuda/kernels/
 * says, word for word; parameters are those of the CUDA C functions.
 */
#include "config.h"

#include <string.h>

#include "devices/cuda/kernels/touch-kernels.h"
#include "devices/dry/standin.h"

typedef struct
{
  const char *name;
  guint n_parameters; /* of 8 bytes each */
  void (*run) (StandinWork *work);
  guint64 (*ns) (const StandinWork *work);
} StandinKernel;

typedef struct
{
  StandinObject object;
  StandinObject *module;
  const StandinKernel *kernel;
} StandinFunction;

/* ---- kernels */

/* Occupies its stream for some nanoseconds. */
static void
run_occupy (StandinWork *work)
{
}

static guint64
occupy_ns (const StandinWork *work)
{
  return work->parameters[0];
}

/* devices/cuda/kernels/touch.cu. */

static guint64
touch_ns (const StandinWork *work)
{
  return standin_work_ns (work->parameters[1]);
}

/* The bytes of the block from @done on, and how many are contiguous; NULL: the work has failed. */
static guint8 *
block_piece (const StandinWork *work, guint64 done, guint64 *together)
{
  guint64 address = work->parameters[0], size = work->parameters[1];
  guint8 *bytes = standin_translate (work->context->device, address + done, size - done, together);

  if (bytes == NULL)
    standin_fault (work, CUDA_ERROR_ILLEGAL_ADDRESS,
                   "%s uses 0x%" G_GINT64_MODIFIER "x, which is not mapped",
                   ((const StandinKernel *) work->kernel)->name, address + done);
  return bytes;
}

/* (address, bytes, tag) */
static void
run_fill (StandinWork *work)
{
  const guint64 size = work->parameters[1], tag = work->parameters[2];
  guint64 together;
  guint8 *bytes;

  for (guint64 done = 0; done < size; done += together)
    {
      guint64 i = 0;
      if ((bytes = block_piece (work, done, &together)) == NULL)
        return;
      for (; done % 8 == 0 && i + 8 <= together; i += 8)
        {
          guint64 word = GEMEM_TOUCH_WORD (tag, (done + i) / 8);
          memcpy (bytes + i, &word, 8);
        }
      for (; i < together; i++)
        bytes[i] = GEMEM_TOUCH_BYTE (tag, done + i);
    }
}

/* Appends the mismatch at byte @offset to the report, as the last thread block does. */
static void
tell (StandinWork *work, guint64 offset)
{
  GememTouchReport *report = (gpointer) (guintptr) work->parameters[4];
  guint64 together;
  GememTouchFinding *finding;

  if (report->count < GEMEM_TOUCH_FINDINGS)
    {
      finding = &report->findings[report->count];
      *finding = (GememTouchFinding){ .check = work->parameters[3], .offset = offset };
      for (guint i = 0; i < 8 && offset / 8 * 8 + i < work->parameters[1]; i++)
        finding->found |= (unsigned long long) *block_piece (work, offset / 8 * 8 + i, &together)
                          << (8 * i);
    }
  report->count++;
}

/* (address, bytes, tag, check, report) */
static void
run_verify (StandinWork *work)
{
  const guint64 size = work->parameters[1], tag = work->parameters[2];
  guint64 together, first = GEMEM_TOUCH_NONE;
  const guint8 *bytes;

  for (guint64 done = 0; done < size; done += together)
    {
      guint64 i = 0, word;
      if ((bytes = block_piece (work, done, &together)) == NULL)
        return;
      if (first != GEMEM_TOUCH_NONE)
        continue;
      for (; done % 8 == 0 && i + 8 <= together; i += 8)
        {
          memcpy (&word, bytes + i, 8);
          if (word != GEMEM_TOUCH_WORD (tag, (done + i) / 8))
            break;
        }
      for (; i < together && bytes[i] == GEMEM_TOUCH_BYTE (tag, done + i); i++)
        {
        }
      if (i < together)
        first = done + i;
    }
  if (first != GEMEM_TOUCH_NONE)
    tell (work, first);
}

static const StandinKernel kernels[] = {
  { "gemem_touch_fill", 3, run_fill, touch_ns },
  { "gemem_touch_verify", 5, run_verify, touch_ns },
  { "gemem_occupy", 1, run_occupy, occupy_ns },
};

static void
run_kernel (StandinWork *work)
{
  ((const StandinKernel *) work->kernel)->run (work);
}

/* ---- modules */

static CUresult
load (CUmodule *handle, const void *image)
{
  static const char fat_binary[] = { 0x50, (char) 0xed, 0x55, (char) 0xba };
  const char *text = image;
  const StandinObject *module;

  if (handle == NULL || image == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no image, or no place for the result");
  if (memcmp (image, fat_binary, 4) != 0 && memcmp (image, "\177ELF", 4) != 0)
    {
      while (strncmp (text, "//", 2) == 0
             || g_ascii_isspace (*text)) /* comments and empty lines may precede PTX */
        {
          const char *end = strchr (text, '\n');
          if (end == NULL)
            break;
          text = end + 1;
        }
      if (!g_str_has_prefix (text, ".version"))
        return standin_misuse (CUDA_ERROR_INVALID_IMAGE,
                               "an image that is no PTX, ELF or fat binary");
    }
  module = standin_object_add (g_new0 (StandinObject, 1), KIND_MODULE, standin_context ());
  *handle = (CUmodule) (guintptr) module->id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuModuleLoadData (CUmodule *module, const void *image)
{
  BEGIN (cuModuleLoadData, NEEDS_CONTEXT);
  return load (module, image);
}

CUresult CUDAAPI
cuModuleLoadDataEx (CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                    void **values)
{
  BEGIN (cuModuleLoadDataEx, NEEDS_CONTEXT);
  if (count > 0 && (options == NULL || values == NULL))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "options that are not there");
  return load (module, image);
}

CUresult CUDAAPI
cuModuleLoadFatBinary (CUmodule *module, const void *image)
{
  BEGIN (cuModuleLoadFatBinary, NEEDS_CONTEXT);
  return load (module, image);
}

CUresult CUDAAPI
cuModuleUnload (CUmodule handle)
{
  GHashTableIter iter;
  StandinObject *module;
  gpointer value;

  BEGIN (cuModuleUnload, RETURNS);
  if ((module = standin_object (handle, KIND_MODULE)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such module");
  standin_wait_until (module->context->busy);
  g_hash_table_iter_init (&iter, standin.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((StandinObject *) value)->kind == KIND_FUNCTION
        && ((StandinFunction *) value)->module == module)
      {
        g_hash_table_iter_remove (&iter);
        g_free (value);
      }
  standin_object_remove (module);
  g_free (module);
  return standin_context_state ();
}

CUresult CUDAAPI
cuModuleGetFunction (CUfunction *handle, CUmodule module_handle, const char *name)
{
  StandinFunction *function;
  StandinObject *module;

  BEGIN (cuModuleGetFunction, NEEDS_CONTEXT);
  if (handle == NULL || name == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no name, or no place for the result");
  if ((module = standin_object (module_handle, KIND_MODULE)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such module");
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    if (strcmp (kernels[i].name, name) == 0)
      {
        function = standin_object_add (g_new0 (StandinFunction, 1), KIND_FUNCTION, module->context);
        function->module = module;
        function->kernel = &kernels[i];
        *handle = STANDIN_HANDLE (CUfunction, function);
        return CUDA_SUCCESS;
      }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI
cuFuncGetAttribute (int *value, CUfunction_attribute attribute, CUfunction handle)
{
  BEGIN (cuFuncGetAttribute, NEEDS_CONTEXT);
  if (value == NULL || standin_object (handle, KIND_FUNCTION) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE,
                           "no such function, or no place for the result");
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

/* ---- launches */

static CUresult
launch (StandinEntry entry, CUfunction handle, const guint64 grid[3], const guint64 block[3],
        guint shared, CUstream stream_handle, void **parameters, void **extra)
{
  StandinWork work = { .run = run_kernel };
  const StandinFunction *function;
  const StandinKernel *kernel;
  StandinStream *stream;

  STANDIN_BEGIN (entry, NEEDS_CONTEXT);
  if ((function = standin_object (handle, KIND_FUNCTION)) == NULL
      || function->object.context != standin_context ())
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no function of this context");
  if ((stream = standin_stream (stream_handle)) == NULL
      || stream->object.context != standin_context ())
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context");
  for (guint i = 0; i < 3; i++)
    if (grid[i] == 0 || block[i] == 0 || grid[i] > (i == 0 ? G_MAXINT32 : 65535))
      return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                             "a grid or block that is empty or too large");
  if (block[0] * block[1] * block[2] > 1024 || block[2] > 64 || shared > 48 * 1024)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "more threads in a block, or more shared memory, than there may be");
  kernel = function->kernel;
  if (extra != NULL || (parameters == NULL && kernel->n_parameters > 0))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "the stand-in takes parameters one by one");
  work.kernel = kernel;
  for (guint i = 0; i < kernel->n_parameters; i++)
    memcpy (&work.parameters[i], parameters[i], sizeof (guint64));
  standin_enqueue (stream, kernel->ns (&work), &work);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLaunchKernel (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel, function, (guint64[]){ gx, gy, gz },
                 (guint64[]){ bx, by, bz }, shared, stream, parameters, extra);
}

CUresult CUDAAPI
cuLaunchKernel_ptsz (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                     unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                     CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel_ptsz, function, (guint64[]){ gx, gy, gz },
                 (guint64[]){ bx, by, bz }, shared, standin_per_thread (stream), parameters, extra);
}
