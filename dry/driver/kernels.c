/* kernels.c - launches of the stand-in driver, and gemem's own kernels executed by the CPU.
 *
 * The kernels do what devices/cuda/kernels/ says, word for word; parameters are those of the CUDA C
 * functions. In dry runs a launch is checked and does nothing.
 */
#include "config.h"

#include <string.h>

#include "devices/cuda/kernels/touch-kernels.h"
#include "dry/driver/driver.h"

struct _DriverKernel
{
  const char *name;
  guint n_parameters; /* of 8 bytes each */
  void (*run) (DriverWork *work);
  guint64 (*ns) (const DriverWork *work);
};

/* ---- kernels */

/* Occupies its stream for some nanoseconds. */
static void
run_occupy (DriverWork *work)
{
}

static guint64
occupy_ns (const DriverWork *work)
{
  return work->parameters[0];
}

/* devices/cuda/kernels/touch.cu. */

static guint64
touch_ns (const DriverWork *work)
{
  return gemem_driver_work_ns (work->parameters[1]);
}

/* The bytes of the block from @done on, and how many are contiguous; NULL: the work has failed. */
static guint8 *
block_piece (const DriverWork *work, guint64 done, guint64 *together)
{
  guint64 address = work->parameters[0], size = work->parameters[1];
  guint8 *bytes = gemem_driver_translate (work->context->device, address + done, size - done,
                                          together);

  if (bytes == NULL)
    gemem_driver_fault (work, CUDA_ERROR_ILLEGAL_ADDRESS,
                        "%s uses 0x%" G_GINT64_MODIFIER "x, which is not mapped",
                        ((const DriverKernel *) work->kernel)->name, address + done);
  return bytes;
}

/* (address, bytes, tag) */
static void
run_fill (DriverWork *work)
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
tell (DriverWork *work, guint64 offset)
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
run_verify (DriverWork *work)
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

static const DriverKernel kernels[] = {
  { "gemem_touch_fill", 3, run_fill, touch_ns },
  { "gemem_touch_verify", 5, run_verify, touch_ns },
  { "gemem_occupy", 1, run_occupy, occupy_ns },
};

static void
run_kernel (DriverWork *work)
{
  ((const DriverKernel *) work->kernel)->run (work);
}

const DriverKernel *
gemem_driver_kernel (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    if (strcmp (kernels[i].name, name) == 0)
      return &kernels[i];
  return NULL;
}

/* ---- launches */

typedef struct
{
  guint grid[3], block[3], shared;
} Shape;

/* CUDA_SUCCESS if @function can be launched so. */
static CUresult
check_shape (const DriverFunction *function, const Shape *shape)
{
  const guint64 threads = (guint64) shape->block[0] * shape->block[1] * shape->block[2];

  for (guint i = 0; i < 3; i++)
    if (shape->grid[i] == 0 || shape->block[i] == 0
        || shape->grid[i] > (i == 0 ? G_MAXINT32 : 65535))
      return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                  "a grid or block that is empty or too large");
  if (threads > 1024 || shape->block[2] > 64 || shape->shared > (guint) function->dynamic_limit)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "more threads in a block, or more shared memory, than there may be");
  if (gemem_driver.dry && threads > (guint64) gemem_driver_function_threads (function))
    return gemem_driver_misuse (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                                "%" G_GUINT64_FORMAT
                                " threads in a block are more than the registers "
                                "or the bounds of %s allow",
                                threads, function->name);
  return CUDA_SUCCESS;
}

/* A launch on a stream that is captured. */
static CUresult
capture (DriverStream *stream, CUfunction function, const Shape *shape, void **parameters,
         void **extra)
{
  const CUgraphNodeParams what = { .type = CU_GRAPH_NODE_TYPE_KERNEL,
                                   .kernel = { .func = function,
                                               .gridDimX = shape->grid[0],
                                               .gridDimY = shape->grid[1],
                                               .gridDimZ = shape->grid[2],
                                               .blockDimX = shape->block[0],
                                               .blockDimY = shape->block[1],
                                               .blockDimZ = shape->block[2],
                                               .sharedMemBytes = shape->shared,
                                               .kernelParams = parameters,
                                               .extra = extra } };

  return gemem_driver_capture_add (stream, &what);
}

static CUresult
launch (DriverEntry entry, CUfunction handle, const Shape *shape, CUstream stream_handle,
        void **parameters, void **extra)
{
  DriverWork work = { .run = run_kernel };
  const DriverFunction *function;
  const DriverKernel *kernel;
  DriverStream *stream;
  CUresult possible;

  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  if ((function = gemem_driver_object (handle, KIND_FUNCTION)) == NULL
      || (function->object.context != NULL && function->object.context != gemem_driver_context ()))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no function of this context");
  if ((stream = gemem_driver_stream (stream_handle)) == NULL
      || stream->object.context != gemem_driver_context ())
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context");
  if ((possible = check_shape (function, shape)) != CUDA_SUCCESS)
    return possible;
  if (gemem_driver.dry)
    {
      gemem_driver_remembered_launch (function, parameters, extra);
      return stream->capture != NULL ? capture (stream, handle, shape, parameters, extra)
                                     : CUDA_SUCCESS;
    }
  kernel = function->kernel;
  if (extra != NULL || (parameters == NULL && kernel->n_parameters > 0))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "the stand-in takes parameters one by one");
  work.kernel = kernel;
  for (guint i = 0; i < kernel->n_parameters; i++)
    memcpy (&work.parameters[i], parameters[i], sizeof (guint64));
  gemem_driver_enqueue (stream, kernel->ns (&work), &work);
  return CUDA_SUCCESS;
}

#define SHAPE \
  unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, \
      unsigned int bz, unsigned int shared
#define THE_SHAPE \
  &(Shape) \
  { \
    { gx, gy, gz }, { bx, by, bz }, shared \
  }

CUresult CUDAAPI
cuLaunchKernel (CUfunction function, SHAPE, CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel, function, THE_SHAPE, stream, parameters, extra);
}

CUresult CUDAAPI
cuLaunchKernel_ptsz (CUfunction function, SHAPE, CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel_ptsz, function, THE_SHAPE, gemem_driver_per_thread (stream),
                 parameters, extra);
}

CUresult CUDAAPI
cuLaunchCooperativeKernel (CUfunction function, SHAPE, CUstream stream, void **parameters)
{
  return launch (ENTRY_cuLaunchCooperativeKernel, function, THE_SHAPE, stream, parameters, NULL);
}

CUresult CUDAAPI
cuLaunchCooperativeKernel_ptsz (CUfunction function, SHAPE, CUstream stream, void **parameters)
{
  return launch (ENTRY_cuLaunchCooperativeKernel_ptsz, function, THE_SHAPE,
                 gemem_driver_per_thread (stream), parameters, NULL);
}

static Shape
shape_of (const CUlaunchConfig *config)
{
  return (Shape){ { config->gridDimX, config->gridDimY, config->gridDimZ },
                  { config->blockDimX, config->blockDimY, config->blockDimZ },
                  config->sharedMemBytes };
}

CUresult CUDAAPI
cuLaunchKernelEx (const CUlaunchConfig *config, CUfunction function, void **parameters,
                  void **extra)
{
  Shape shape;

  if (config == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  shape = shape_of (config);
  return launch (ENTRY_cuLaunchKernelEx, function, &shape, config->hStream, parameters, extra);
}

CUresult CUDAAPI
cuLaunchKernelEx_ptsz (const CUlaunchConfig *config, CUfunction function, void **parameters,
                       void **extra)
{
  Shape shape;

  if (config == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  shape = shape_of (config);
  return launch (ENTRY_cuLaunchKernelEx_ptsz, function, &shape,
                 gemem_driver_per_thread (config->hStream), parameters, extra);
}
