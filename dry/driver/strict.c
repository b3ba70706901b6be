/* strict.c - the strict stand-in for tests (mode.h): gemem's own kernels, executed by the CPU.
 *
 * The kernels do what devices/cuda/kernels/ says, word for word; parameters are those of the CUDA C
 * functions. Of an image only the first bytes are checked (PTX, ELF or a fat binary).
 */
#include "config.h"

#include <string.h>

#include "devices/cuda/kernels/touch-kernels.h"
#include "dry/driver/areas.h"
#include "dry/driver/mode.h"

typedef struct
{
  const char *name;
  guint n_parameters; /* of 8 bytes each */
  void (*run) (DriverWork *work);
  guint64 (*ns) (const DriverWork *work);
} DriverKernel;

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

/* ---- the mode */

/* What strict mode takes for an image. */
static gboolean
looks_like_image (const char *image)
{
  static const char fat_binary[] = { 0x50, (char) 0xed, 0x55, (char) 0xba };

  if (memcmp (image, fat_binary, 4) == 0 || memcmp (image, "\177ELF", 4) == 0)
    return TRUE;
  while (g_str_has_prefix (image, "//")
         || g_ascii_isspace (*image)) /* comments and empty lines may precede PTX */
    {
      const char *end = strchr (image, '\n');
      if (end == NULL)
        break;
      image = end + 1;
    }
  return g_str_has_prefix (image, ".version");
}

static CUresult
load (const void *image, gconstpointer *kept)
{
  *kept = NULL;
  return looks_like_image (image)
             ? CUDA_SUCCESS
             : gemem_driver_misuse (CUDA_ERROR_INVALID_IMAGE,
                                    "an image that is no PTX, ELF or fat binary");
}

static gboolean
find (gconstpointer kept, DriverFunction *function)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    if (strcmp (kernels[i].name, function->name) == 0)
      function->kernel = &kernels[i];
  return function->kernel != NULL;
}

static CUresult
launch (DriverStream *stream, const DriverFunction *function, const CUDA_KERNEL_NODE_PARAMS *what)
{
  const DriverKernel *kernel = function->kernel;
  DriverWork work = { .run = run_kernel, .kernel = kernel };

  if (what->extra != NULL || (what->kernelParams == NULL && kernel->n_parameters > 0))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "the stand-in takes parameters one by one");
  for (guint i = 0; i < kernel->n_parameters; i++)
    memcpy (&work.parameters[i], what->kernelParams[i], sizeof (guint64));
  gemem_driver_enqueue (stream, kernel->ns (&work), &work);
  return CUDA_SUCCESS;
}

static void
no_note (GememDryNote word, const char *text)
{
}

static void
no_start (void)
{
}

const DriverMode gemem_driver_strict = { .backed = TRUE,
                                         .note = no_note,
                                         .initialised = no_start,
                                         .load = load,
                                         .find = find,
                                         .launch = launch };
