/* dry.c - the driver of dry runs (mode.h): what functions need comes from their images, and a launch does nothing.
 */
#include "config.h"

#include "dry/driver/capture.h"
#include "dry/driver/foreign.h"
#include "dry/driver/late.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"

static void
initialised (void)
{
  gemem_dry_note_rank ();
  gemem_dry_note_visible ();
  gemem_driver_late_begin ();
}

/* Every image is taken. */
static CUresult
load (const void *image, gconstpointer *kept)
{
  const char *problem = NULL;

  *kept = gemem_dry_image_load (image, 0, gemem_driver_capability ());
  if (gemem_dry_image_state (*kept, gemem_driver_capability (), &problem) != GEMEM_DRY_IMAGE_READ
      && !gemem_dry_in_library (0))
    gemem_dry_note (GEMEM_DRY_NOTE_IMAGE, problem != NULL ? problem : "cannot be read");
  return CUDA_SUCCESS;
}

static gboolean
find (gconstpointer kept, DriverFunction *function)
{
  function->needs = gemem_dry_kernel (kept, function->name, gemem_driver_capability ());
  return TRUE;
}

/* Keeps that @function was launched, or which memory it may have written. */
static void
replay (const DriverFunction *function, const CUDA_KERNEL_NODE_PARAMS *what)
{
  const guint grid[] = { what->gridDimX, what->gridDimY, what->gridDimZ };
  const guint block[] = { what->blockDimX, what->blockDimY, what->blockDimZ };

  gemem_driver_lose_unsaid ();
  if (!gemem_replay_launch (function->source, function->name, grid, block, what->sharedMemBytes,
                            what->kernelParams)
      && !gemem_driver_parameters (function, what->kernelParams, what->extra, gemem_replay_got))
    gemem_replay_lost (0, 0);
}

static CUresult
launch (DriverStream *stream, const DriverFunction *function, const CUDA_KERNEL_NODE_PARAMS *what)
{
  gemem_driver_foreign_launch (function, what);
  gemem_driver_remembered_launch (function, what->kernelParams, what->extra);
  if (stream->capture == NULL && gemem_replay_is_on () && !function->of_library)
    replay (function, what);
  gemem_driver_late_work (stream);
  return stream->capture != NULL ? gemem_driver_capture_add (
             stream, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = *what })
                                 : CUDA_SUCCESS;
}

const DriverMode gemem_driver_dry = { .as_gpu = TRUE,
                                      .at_once = TRUE,
                                      .lenient = TRUE,
                                      .note = gemem_dry_note,
                                      .initialised = initialised,
                                      .load = load,
                                      .find = find,
                                      .launch = launch };
