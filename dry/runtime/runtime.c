/* runtime.c - the core of the CUDA runtime of dry runs: initialisation, the device and the last
 * error of each thread, versions, and functions of the driver by name.
 *
 * The last error is that of the reference manual: a call that fails sets it, a call that succeeds
 * leaves it, cudaGetLastError resets it, and "not ready" is no error. There is one per thread for
 * both versions of the runtime.
 */
#include "config.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/driver/tables.h"
#include "dry/protocol/protocol.h"
#include "dry/runtime/runtime.h"

static __thread int last_error;
static __thread int chosen_device;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[RUNTIME_DEVICES_MAX]; /* retained here, or NULL */

/* ---- versions */

static int
look_at_object (struct dl_phdr_info *info, size_t size, void *data)
{
  int *newest = data;
  const char *name = strrchr (info->dlpi_name, '/');

  name = name != NULL ? name + 1 : info->dlpi_name;
  if (g_str_has_prefix (name, "libcudart.so."))
    *newest = MAX (*newest, atoi (name + strlen ("libcudart.so.")));
  return 0;
}

static void
find_version (int *version)
{
  const char *text = g_getenv (GEMEM_ENV_DRY_CUDART);
  int major = 0, minor = -1;

  if (text != NULL && *text != '\0')
    {
      const char *point = strchr (text, '.');
      major = atoi (text);
      minor = point != NULL ? atoi (point + 1) : -1;
    }
  if (major == 0)
    dl_iterate_phdr (look_at_object, &major);
  if (major == 0)
    major = 13;
  if (minor < 0)
    minor = major == 11 ? 8 : major == 12 ? 9 : 0;
  *version = major * 1000 + minor * 10;
}

int
gemem_runtime_version (void)
{
  static gsize version;

  if (g_once_init_enter (&version))
    {
      int found;
      find_version (&found);
      g_once_init_leave (&version, found);
    }
  return (int) version;
}

RUNTIME (cudaRuntimeGetVersion, (int *version))
{
  if (version == NULL)
    return gemem_runtime_result (RUNTIME_INVALID_VALUE);
  *version = gemem_runtime_version ();
  return RUNTIME_SUCCESS;
}

RUNTIME (cudaDriverGetVersion, (int *version))
{
  return gemem_runtime_result ((int) cuDriverGetVersion (version));
}

/* ---- errors */

int
gemem_runtime_result (int result)
{
  if (result != RUNTIME_SUCCESS && result != RUNTIME_NOT_READY)
    last_error = result;
  return result;
}

RUNTIME (cudaGetLastError, (void) )
{
  int error = last_error;
  last_error = RUNTIME_SUCCESS;
  return error;
}

RUNTIME (cudaPeekAtLastError, (void) )
{
  return last_error;
}

static const struct
{
  int number;
  const char *name, *text;
} errors[] = {
#define DRY_ERROR(number, driver_name, runtime_name, text) { number, runtime_name, text },
#include "dry/driver/errors.def"
#undef DRY_ERROR
};

static const char *
describe (int error, gboolean name)
{
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    if (errors[i].number == error && errors[i].name != NULL)
      return name ? errors[i].name : errors[i].text;
  return "unrecognized error code";
}

RUNTIME_EXPORT const char *cudaGetErrorName (int error);
const char *
cudaGetErrorName (int error)
{
  return describe (error, TRUE);
}

RUNTIME_EXPORT const char *cudaGetErrorString (int error);
const char *
cudaGetErrorString (int error)
{
  return describe (error, FALSE);
}

/* ---- initialisation, and the current device */

int
gemem_runtime_initialise (void)
{
  static int done; /* cuInit succeeded */

  if (G_LIKELY (g_atomic_int_get (&done) != 0))
    return RUNTIME_SUCCESS;
  CUresult result = cuInit (0);
  if (result == CUDA_SUCCESS)
    g_atomic_int_set (&done, 1);
  return (int) result;
}

/* The primary context of @device, retained once. */
static int
primary_context (int device, CUcontext *context)
{
  CUresult result = CUDA_SUCCESS;

  if (device < 0 || device >= RUNTIME_DEVICES_MAX)
    return RUNTIME_INVALID_DEVICE;
  pthread_mutex_lock (&mutex);
  if (primary[device] == NULL)
    result = cuDevicePrimaryCtxRetain (&primary[device], device);
  *context = primary[device];
  pthread_mutex_unlock (&mutex);
  return (int) result;
}

int
gemem_runtime_use_device (int device)
{
  CUcontext context;
  int result = primary_context (device, &context);
  return result == RUNTIME_SUCCESS ? (int) cuCtxSetCurrent (context) : result;
}

int
gemem_runtime_ready (void)
{
  CUcontext current;
  int result = gemem_runtime_initialise ();

  if (result == RUNTIME_SUCCESS)
    result = (int) cuCtxGetCurrent (&current);
  if (result != RUNTIME_SUCCESS || current != NULL)
    return result;
  return gemem_runtime_use_device (chosen_device);
}

int
gemem_runtime_device (void)
{
  CUcontext current;
  CUdevice device;

  if (gemem_runtime_initialise () == RUNTIME_SUCCESS && cuCtxGetCurrent (&current) == CUDA_SUCCESS
      && current != NULL && cuCtxGetDevice (&device) == CUDA_SUCCESS)
    return device;
  return chosen_device;
}

/* RUNTIME_SUCCESS if there is such a device. */
static int
check_device (int device)
{
  int count = 0, result = gemem_runtime_initialise ();

  if (result == RUNTIME_SUCCESS)
    result = (int) cuDeviceGetCount (&count);
  if (result != RUNTIME_SUCCESS)
    return result;
  return device >= 0 && device < count ? RUNTIME_SUCCESS : RUNTIME_INVALID_DEVICE;
}

RUNTIME (cudaGetDeviceCount, (int *count))
{
  int result;

  if (count == NULL)
    return gemem_runtime_result (RUNTIME_INVALID_VALUE);
  result = gemem_runtime_initialise ();
  if (result == RUNTIME_SUCCESS)
    result = (int) cuDeviceGetCount (count);
  if (result != RUNTIME_SUCCESS)
    *count = 0;
  return gemem_runtime_result (result);
}

RUNTIME (cudaGetDevice, (int *device))
{
  int result = gemem_runtime_initialise ();

  if (device == NULL)
    return gemem_runtime_result (RUNTIME_INVALID_VALUE);
  if (result == RUNTIME_SUCCESS)
    *device = gemem_runtime_device ();
  return gemem_runtime_result (result);
}

RUNTIME (cudaSetDevice, (int device))
{
  int result = check_device (device);

  if (result == RUNTIME_SUCCESS)
    result = gemem_runtime_use_device (device);
  if (result == RUNTIME_SUCCESS)
    chosen_device = device;
  return gemem_runtime_result (result);
}

RUNTIME (cudaInitDevice, (int device, unsigned device_flags, unsigned flags))
{
  CUcontext context;
  int result = check_device (device);

  if (result == RUNTIME_SUCCESS && (flags & 1) != 0) /* cudaInitDeviceFlagsAreValid */
    result = (int) cuDevicePrimaryCtxSetFlags_v2 (device, device_flags);
  if (result == RUNTIME_SUCCESS)
    result = primary_context (device, &context);
  return gemem_runtime_result (result);
}

/* Only the order in which devices are tried; the first is always free here. */
RUNTIME (cudaSetValidDevices, (int *devices, int count))
{
  int result = RUNTIME_SUCCESS;

  for (int i = 0; i < count && result == RUNTIME_SUCCESS; i++)
    result = check_device (devices[i]);
  if (result == RUNTIME_SUCCESS && count > 0)
    chosen_device = devices[0];
  return gemem_runtime_result (result);
}

RUNTIME_QUERY (cudaSetDeviceFlags, (unsigned flags),
               cuDevicePrimaryCtxSetFlags_v2 (gemem_runtime_device (), flags))

RUNTIME (cudaGetDeviceFlags, (unsigned *flags))
{
  int active, result = gemem_runtime_initialise ();

  if (result == RUNTIME_SUCCESS)
    result = (int) cuDevicePrimaryCtxGetState (gemem_runtime_device (), flags, &active);
  return gemem_runtime_result (result);
}

RUNTIME_CALL (cudaDeviceSynchronize, (void), cuCtxSynchronize ())
RUNTIME_CALL (cudaThreadSynchronize, (void), cuCtxSynchronize ())

static int
reset (void)
{
  int device = gemem_runtime_device ();
  CUresult result = cuDevicePrimaryCtxReset_v2 (device);

  pthread_mutex_lock (&mutex);
  primary[device] = NULL;
  pthread_mutex_unlock (&mutex);
  if (result == CUDA_SUCCESS)
    result = cuCtxSetCurrent (NULL);
  return (int) result;
}

RUNTIME_QUERY (cudaDeviceReset, (void), reset ())
RUNTIME_QUERY (cudaThreadExit, (void), reset ())

/* ---- functions of the driver by name */

static int
find_driver_function (const char *name, void **function, unsigned version, unsigned long long flags,
                      int *status)
{
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  int result = (int) cuGetProcAddress_v2 (name, function, (int) version, flags, &found);

  if (status != NULL)
    *status = (int) found;
  if (result != RUNTIME_SUCCESS || found == CU_GET_PROC_ADDRESS_SUCCESS)
    return result;
  return status != NULL ? RUNTIME_SUCCESS : RUNTIME_SYMBOL_NOT_FOUND;
}

#define PER_THREAD_FUNCTIONS(flags) \
  ((flags) == 0 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : (flags))

RUNTIME_QUERY (cudaGetDriverEntryPoint,
               (const char *name, void **function, unsigned long long flags, int *status),
               find_driver_function (name, function, (unsigned) gemem_runtime_version (), flags,
                                     status))
RUNTIME_QUERY (cudaGetDriverEntryPoint_ptsz,
               (const char *name, void **function, unsigned long long flags, int *status),
               find_driver_function (name, function, (unsigned) gemem_runtime_version (),
                                     PER_THREAD_FUNCTIONS (flags), status))
RUNTIME_QUERY (cudaGetDriverEntryPointByVersion,
               (const char *name, void **function, unsigned version, unsigned long long flags,
                int *status),
               find_driver_function (name, function, version, flags, status))
RUNTIME_QUERY (cudaGetDriverEntryPointByVersion_ptsz,
               (const char *name, void **function, unsigned version, unsigned long long flags,
                int *status),
               find_driver_function (name, function, version, PER_THREAD_FUNCTIONS (flags), status))

/* ---- tables of unnamed functions, for NVIDIA's own tools and libraries */

RUNTIME (cudaGetExportTable, (const void **table, const RuntimeUuid *id))
{
  CUuuid known;

  if (table == NULL || id == NULL)
    return gemem_runtime_result (RUNTIME_INVALID_VALUE);
  memcpy (&known, id, sizeof known);
  *table = gemem_driver_table (&known);
  if (*table == NULL && gemem_dry_in_library (0))
    *table = gemem_driver_empty_table (); /* it looks into each that it asks for */
  return gemem_runtime_result (*table != NULL ? RUNTIME_SUCCESS : RUNTIME_NOT_SUPPORTED);
}
