/* devices.c - devices of the stand-in driver: their properties, and the simulated device
 * behind each. */
#include "config.h"

#include <string.h>

#include "dry/driver/calls.h"
#include "dry/driver/devices.h"
#include "dry/driver/mode.h"
#include "dry/driver/streams.h"

CUresult CUDAAPI
cuDeviceGetCount (int *count)
{
  BEGIN (cuDeviceGetCount, NEEDS_INIT);
  PLACE (count);
  *count = gemem_driver.n_devices;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGet (CUdevice *found, int ordinal)
{
  BEGIN (cuDeviceGet, NEEDS_INIT);
  PLACE (found);
  /* No misuse: programs ask this way for a GPU that may be missing. */
  if (gemem_driver_device (ordinal) == NULL)
    return CUDA_ERROR_INVALID_DEVICE;
  *found = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetName (char *name, int size, CUdevice number)
{
  BEGIN (cuDeviceGetName, NEEDS_INIT);
  PLACE (name);
  DEVICE (number);
  if (gemem_driver.mode->as_gpu)
    g_strlcpy (name, gemem_dry_gpu ()->model, MAX (size, 0));
  else
    g_snprintf (name, MAX (size, 0), "gemem stand-in %d", device->ordinal);
  return CUDA_SUCCESS;
}

static CUresult
get_uuid (CUuuid *uuid, CUdevice number)
{
  PLACE (uuid);
  DEVICE (number);
  gemem_driver_uuid (device->place, uuid);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetUuid (CUuuid *uuid, CUdevice number)
{
  BEGIN (cuDeviceGetUuid, NEEDS_INIT);
  return get_uuid (uuid, number);
}

CUresult CUDAAPI
cuDeviceGetUuid_v2 (CUuuid *uuid, CUdevice number)
{
  BEGIN (cuDeviceGetUuid_v2, NEEDS_INIT);
  return get_uuid (uuid, number);
}

CUresult CUDAAPI
cuDeviceGetPCIBusId (char *text, int size, CUdevice number)
{
  BEGIN (cuDeviceGetPCIBusId, NEEDS_INIT);
  PLACE (text);
  DEVICE (number);
  if (size < 13)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%d bytes for 13 characters", size);
  g_snprintf (text, size, "0000:%02x:00.0", device->place + 1);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceTotalMem_v2 (size_t *bytes, CUdevice number)
{
  GememDeviceInfo info;

  BEGIN (cuDeviceTotalMem_v2, NEEDS_INIT);
  PLACE (bytes);
  DEVICE (number);
  gemem_device_info (gemem_driver_enter_device (device), &info);
  gemem_driver_leave_device (device);
  *bytes = info.total;
  return CUDA_SUCCESS;
}

gboolean
gemem_driver_memory_info (guint place, guint64 *free, guint64 *total)
{
  __attribute__ ((cleanup (gemem_driver_end)))
  pthread_mutex_t *lock G_GNUC_UNUSED = gemem_driver_lock ();
  DriverDevice *device = gemem_driver_device (gemem_driver_device_at (place));
  GememDeviceInfo info;

  if (device == NULL || device->memory == NULL)
    return FALSE;
  gemem_device_info (gemem_driver_enter_device (device), &info);
  gemem_driver_leave_device (device);
  *free = info.free;
  *total = info.total;
  return TRUE;
}

CUresult CUDAAPI
cuDeviceComputeCapability (int *major, int *minor, CUdevice number)
{
  BEGIN (cuDeviceComputeCapability, NEEDS_INIT);
  PLACE (major);
  PLACE (minor);
  DEVICE (number);
  *major = gemem_driver_device_attribute (device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  *minor = gemem_driver_device_attribute (device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return CUDA_SUCCESS;
}

int
gemem_driver_device_attribute (const DriverDevice *device, CUdevice_attribute attribute)
{
  const GememGpu *gpu = gemem_dry_gpu ();
  int sm = 10 * gpu->major + gpu->minor;

  switch ((int) attribute)
    {
#define DEVICE_ATTRIBUTE(name, value) \
  case CU_DEVICE_ATTRIBUTE_##name: \
    return value;
#include "dry/driver/device-attributes.def"
#undef DEVICE_ATTRIBUTE
    default:
      return 0;
    }
}

CUresult CUDAAPI
cuDeviceGetAttribute (int *value, CUdevice_attribute attribute, CUdevice number)
{
  BEGIN (cuDeviceGetAttribute, NEEDS_INIT);
  PLACE (value);
  DEVICE (number);
  if ((int) attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d", (int) attribute);
  *value = gemem_driver_device_attribute (device, attribute);
  return CUDA_SUCCESS;
}

/* ---- peers */

/* By NVLink or PCIe, as the row of the GPU says; not said for the stand-in that is no dry run's. */
gboolean
gemem_driver_peers_reach (void)
{
  return !gemem_driver.mode->as_gpu || gemem_dry_gpu ()->nvlinks >= 0;
}

CUresult CUDAAPI
cuDeviceCanAccessPeer (int *can, CUdevice number, CUdevice peer)
{
  BEGIN (cuDeviceCanAccessPeer, NEEDS_INIT);
  PLACE (can);
  DEVICE (number);
  if (gemem_driver_device (peer) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_DEVICE, "device %d, of %u", peer,
                                gemem_driver.n_devices);
  *can = gemem_driver_device (peer) != device && gemem_driver_peers_reach ();
  return CUDA_SUCCESS;
}

/* The device of another context; NULL: none. */
static DriverDevice *
peer_of (CUcontext handle)
{
  DriverContext *peer = gemem_driver_object (handle, KIND_CONTEXT);
  return peer != NULL && peer->alive && peer->device != gemem_driver_context ()->device
             ? peer->device
             : NULL;
}

CUresult CUDAAPI
cuCtxEnablePeerAccess (CUcontext context, unsigned int flags)
{
  DriverDevice *peer, *own;

  BEGIN (cuCtxEnablePeerAccess, NEEDS_CONTEXT);
  if (flags != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  own = gemem_driver_context ()->device;
  if ((peer = peer_of (context)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context of another device");
  if (!gemem_driver_peers_reach ())
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if ((own->peers & (1u << peer->ordinal)) != 0)
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  own->peers |= 1u << peer->ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxDisablePeerAccess (CUcontext context)
{
  DriverDevice *peer, *own;

  BEGIN (cuCtxDisablePeerAccess, NEEDS_CONTEXT);
  own = gemem_driver_context ()->device;
  if ((peer = peer_of (context)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context of another device");
  if ((own->peers & (1u << peer->ordinal)) == 0)
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  own->peers &= ~(1u << peer->ordinal);
  return CUDA_SUCCESS;
}
