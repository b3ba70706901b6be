/* init.c - the stand-in driver starts and ends: cuInit and the devices, a child of fork(), the reports at exit. */
#include "config.h"

#include <pthread.h>

#include "dry/driver/calls.h"
#include "dry/driver/devices.h"
#include "dry/driver/mode.h"
#include "dry/replay/replay.h"

/* Where memory and ranges of the first device begin: as those of a simulated device, with which tests compare.  In a dry run, where kernels'
 * parameters are looked through for addresses (foreign.c), no numbers that two integers side by side would be (0 and 4096). */
static const struct
{
  guint64 memory, ranges;
} first_places[] = { { 0x100000000000, 0x200000000000 }, { 0x1f3d00000000, 0x2f1500000000 } };

static void
open_devices (void)
{
  const char *spec = g_getenv (GEMEM_ENV_DRIVER);
  g_autofree char *dry_spec = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT,
                                               gemem_dry_gpu ()->memory);
  guint seen[DRIVER_DEVICES_MAX];

  if (gemem_driver.mode->as_gpu && (spec == NULL || *spec == '\0'))
    spec = dry_spec;
  gemem_driver.n_devices = gemem_driver_visible (gemem_driver.gpus, seen);
  for (guint i = 0; i < gemem_driver.n_devices && !gemem_driver.broken; i++)
    {
      DriverDevice *device = &gemem_driver.devices[i];
      g_autoptr (GError) error = NULL;
      /* Each device has its own part of the address space. */
      g_autofree char *places = g_strdup_printf (
          "base=0x%" G_GINT64_MODIFIER "x,va_base=0x%" G_GINT64_MODIFIER "x",
          first_places[gemem_driver.mode->as_gpu].memory + ((guint64) i << 48),
          first_places[gemem_driver.mode->as_gpu].ranges + ((guint64) i << 48));
      GememDeviceInfo info;

      device->ordinal = i;
      device->place = seen[i];
      device->memory = gemem_device_new (spec, places, i, &error);
      if (device->memory == NULL)
        {
          gemem_driver_complain (GEMEM_ENV_DRIVER, spec != NULL ? spec : "", error->message);
          return;
        }
      gemem_device_info (device->memory, &info);
      device->granularity = info.granularity;
      device->peers = 1u << i;
      device->lowest = G_MAXUINT64;
      gemem_driver.virtual_memory &= info.virtual_memory;
    }
}

static void
forked (void)
{
  gemem_driver.forked |= gemem_driver.initialised;
}

/* A child of fork() goes on with what its parent opened, unless that used CUDA. */
static void
open_once (void)
{
  if (gemem_driver.opened)
    return;
  gemem_driver.opened = TRUE;
  open_devices ();
  pthread_atfork (NULL, NULL, forked);
}

guint
gemem_driver_count_gpus (void)
{
  __attribute__ ((cleanup (gemem_driver_end)))
  pthread_mutex_t *lock G_GNUC_UNUSED = gemem_driver_lock ();

  if (gemem_driver.objects == NULL)
    gemem_driver_read_environment ();
  return gemem_driver.broken ? 0 : gemem_driver_machine_gpus ();
}

__attribute__ ((destructor)) static void
at_exit (void)
{
  pthread_mutex_t *lock = gemem_driver_lock ();

  if (gemem_driver.objects != NULL && !gemem_driver.forked)
    {
      gemem_driver_report_write ();
      gemem_driver_notes_end ();
    }
  pthread_mutex_unlock (lock);
}

CUresult CUDAAPI
cuInit (unsigned int flags)
{
  if (gemem_replay_compiles ())
    return CUDA_ERROR_NO_DEVICE;
  BEGIN (cuInit, NEEDS_NOTHING);
  if (flags != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  if (gemem_driver.forked)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!gemem_driver.initialised && !gemem_driver.broken)
    {
      open_once ();
      gemem_driver.initialised = !gemem_driver.broken && gemem_driver.n_devices > 0;
      gemem_driver.mode->initialised ();
    }
  return gemem_driver.broken           ? CUDA_ERROR_SYSTEM_NOT_READY
         : gemem_driver.n_devices == 0 ? CUDA_ERROR_NO_DEVICE
                                       : CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDriverGetVersion (int *version)
{
  BEGIN (cuDriverGetVersion, NEEDS_NOTHING);
  if (version == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the version");
  *version = gemem_driver.version;
  return CUDA_SUCCESS;
}
