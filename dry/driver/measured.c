/* measured.c - see measured.h. */
#include "config.h"

#include <dlfcn.h>

#include "dry/driver/measured.h"
#include "dry/driver/mode.h"

#define SAME 1e-3f   /* milliseconds of each candidate */
#define LONGEST 1e6f /* of one without a workspace, where the largest is the fastest */

#define MEASURED \
  "the program measured times of the GPU, which a dry run does not have; what it chose by " \
  "them (autotuning), and memory with it, may differ"
#define WITHOUT "; XLA_FLAGS=--xla_gpu_autotune_level=0 leaves it out, here and there"

static GMutex lock;
static DriverMeasured measured;

void
gemem_dry_ran_with (guint64 workspace)
{
  g_mutex_lock (&lock);
  measured.candidates++;
  measured.workspaces += workspace;
  g_mutex_unlock (&lock);
}

DriverMeasured
gemem_driver_measured (void)
{
  g_mutex_lock (&lock);
  const DriverMeasured now = measured;
  g_mutex_unlock (&lock);
  return now;
}

/* Its cuDNN's candidates are told apart; what else it measures (ranks of DDP their steps) no option leaves out. */
static gboolean
has_pytorch (void)
{
  void *library = dlopen ("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);

  if (library != NULL)
    dlclose (library);
  return library != NULL;
}

float
gemem_driver_measured_time (DriverMeasured from, DriverMeasured to, float milliseconds)
{
  if (to.candidates != from.candidates + 1)
    {
      gemem_driver.mode->note (GEMEM_DRY_NOTE_TOLD, has_pytorch () ? MEASURED : MEASURED WITHOUT);
      return milliseconds;
    }
  gemem_driver.mode->note (GEMEM_DRY_NOTE_MEASURED, "cuDNN's candidates");
  const float bytes = (float) (to.workspaces - from.workspaces);
  const char *fastest = g_getenv (GEMEM_ENV_DRY_TIMES);
  return g_strcmp0 (fastest, "largest") == 0    ? LONGEST / (1 + bytes)
         : g_strcmp0 (fastest, "smallest") == 0 ? SAME + SAME * bytes
                                                : SAME;
}
