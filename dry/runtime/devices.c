/* devices.c - devices of the CUDA runtime of dry runs: properties, attributes, limits, peers, and
 * memory of other processes.
 *
 * Every property is an attribute of the driver's device, so that the two never differ;
 * properties.def says which. The layout of cudaDeviceProp is that of the version that the program
 * asked for: cudaGetDeviceProperties_v2 exists in 12 only and has 12's; cudaGetDeviceProperties has
 * 13's in 13, and in 12 that of 11, the beginning of 12's.
 */
#include "config.h"

#include <string.h>

#include "dry/runtime/runtime.h"

/* ---- attributes and properties */

RUNTIME_QUERY (cudaDeviceGetAttribute, (int *value, unsigned attribute, int device),
               cuDeviceGetAttribute (value, attribute, device))

/* The value of an attribute; 0 where the driver does not know it. */
static int
attribute_of (int device, unsigned attribute)
{
  int value = 0;
  return cuDeviceGetAttribute (&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

/* What is no attribute: the name, the identity and the size of the memory. */
static int
identify (int device, char *name, size_t name_size, RuntimeUuid *uuid, size_t *memory)
{
  CUuuid id;
  CUresult result = cuDeviceGetName (name, (int) name_size, device);

  if (result == CUDA_SUCCESS)
    result = cuDeviceGetUuid_v2 (&id, device);
  if (result == CUDA_SUCCESS)
    result = cuDeviceTotalMem_v2 (memory, device);
  if (result == CUDA_SUCCESS)
    memcpy (uuid, &id, sizeof *uuid);
  return (int) result;
}

static int
properties_12 (RuntimeProperties12 *all, int device)
{
  int result;

  memset (all, 0, sizeof *all);
  result = identify (device, all->name, sizeof all->name, &all->uuid, &all->totalGlobalMem);
#define RUNTIME_PROPERTY(field, name, attribute) all->field = attribute_of (device, attribute);
#define RUNTIME_PROPERTY_12 RUNTIME_PROPERTY
#include "dry/runtime/properties.def"
#undef RUNTIME_PROPERTY_12
#undef RUNTIME_PROPERTY
  return result;
}

static int
properties_13 (RuntimeProperties13 *all, int device)
{
  int result;

  memset (all, 0, sizeof *all);
  result = identify (device, all->name, sizeof all->name, &all->uuid, &all->totalGlobalMem);
  all->hostNumaId = all->deviceNumaId = -1;
#define RUNTIME_PROPERTY(field, name, attribute) all->field = attribute_of (device, attribute);
#define RUNTIME_PROPERTY_12(field, name, attribute)
#include "dry/runtime/properties.def"
#undef RUNTIME_PROPERTY_12
#undef RUNTIME_PROPERTY
  return result;
}

static int
check_place (const void *place, int device)
{
  CUdevice found;

  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  return (int) cuDeviceGet (&found, device);
}

static int
properties (void *place, int device, gboolean of_12)
{
  RuntimeProperties12 all;
  int result = check_place (place, device);

  if (result != RUNTIME_SUCCESS)
    return result;
  if (of_12)
    return properties_12 (place, device);
  if (gemem_runtime_version () >= 13000)
    return properties_13 (place, device);
  result = properties_12 (&all, device);
  memcpy (place, &all,
          offsetof (RuntimeProperties12, reservedSharedMemPerBlock)
              + sizeof all.reservedSharedMemPerBlock);
  return result;
}

RUNTIME_QUERY (cudaGetDeviceProperties, (void *place, int device),
               properties (place, device, FALSE))
RUNTIME_QUERY (cudaGetDeviceProperties_v2, (void *place, int device),
               properties (place, device, TRUE))

/* The devices are alike: the first serves any wish. */
static int
choose (int *device)
{
  if (device == NULL)
    return RUNTIME_INVALID_VALUE;
  *device = 0;
  return RUNTIME_SUCCESS;
}

RUNTIME_QUERY (cudaChooseDevice, (int *device, const void *wanted), choose (device))

RUNTIME_QUERY (cudaDeviceGetPCIBusId, (char *text, int size, int device),
               cuDeviceGetPCIBusId (text, size, device))

static int
find_bus (int *device, const char *text)
{
  char name[32];
  int count = 0;
  CUresult result = cuDeviceGetCount (&count);

  if (device == NULL || text == NULL)
    return RUNTIME_INVALID_VALUE;
  for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
    {
      result = cuDeviceGetPCIBusId (name, sizeof name, i);
      if (result == CUDA_SUCCESS && g_ascii_strcasecmp (name, text) == 0)
        {
          *device = i;
          return RUNTIME_SUCCESS;
        }
    }
  return result == CUDA_SUCCESS ? RUNTIME_INVALID_DEVICE : (int) result;
}

RUNTIME_QUERY (cudaDeviceGetByPCIBusId, (int *device, const char *text), find_bus (device, text))

RUNTIME_CALL (cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
              cuCtxGetStreamPriorityRange (least, greatest))

/* The preference between L1 and shared memory: none. */
static int
no_preference (int *preference)
{
  if (preference == NULL)
    return RUNTIME_INVALID_VALUE;
  *preference = 0;
  return RUNTIME_SUCCESS;
}

RUNTIME_CALL (cudaDeviceGetCacheConfig, (int *preference), no_preference (preference))
RUNTIME_CALL (cudaThreadGetCacheConfig, (int *preference), no_preference (preference))
RUNTIME_CALL (cudaDeviceGetSharedMemConfig, (int *preference), no_preference (preference))

/* ---- peers */

RUNTIME_QUERY (cudaDeviceCanAccessPeer, (int *can, int device, int peer),
               cuDeviceCanAccessPeer (can, device, peer))

/* Calls @change with the primary context of @peer. */
static int
change_peer (int peer, unsigned flags, gboolean enable)
{
  CUcontext own, other;
  CUresult result = cuCtxGetCurrent (&own);
  int used;

  if (result != CUDA_SUCCESS)
    return (int) result;
  used = gemem_runtime_use_device (peer); /* makes the other's primary context */
  if (used == RUNTIME_SUCCESS)
    used = (int) cuCtxGetCurrent (&other);
  result = cuCtxSetCurrent (own);
  if (used != RUNTIME_SUCCESS || result != CUDA_SUCCESS)
    return used != RUNTIME_SUCCESS ? used : (int) result;
  return enable ? (int) cuCtxEnablePeerAccess (other, flags) : (int) cuCtxDisablePeerAccess (other);
}

RUNTIME_CALL (cudaDeviceEnablePeerAccess, (int peer, unsigned flags),
              change_peer (peer, flags, TRUE))
RUNTIME_CALL (cudaDeviceDisablePeerAccess, (int peer), change_peer (peer, 0, FALSE))

RUNTIME_QUERY (cudaDeviceGetP2PAttribute, (int *value, unsigned attribute, int device, int peer),
               cuDeviceGetP2PAttribute (value, attribute, device, peer))

/* ---- limits, by the driver's numbers */

RUNTIME_CALL (cudaDeviceGetLimit, (size_t * value, unsigned limit), cuCtxGetLimit (value, limit))
RUNTIME_CALL (cudaDeviceSetLimit, (unsigned limit, size_t value), cuCtxSetLimit (limit, value))
RUNTIME_CALL (cudaThreadGetLimit, (size_t * value, unsigned limit), cuCtxGetLimit (value, limit))
RUNTIME_CALL (cudaThreadSetLimit, (unsigned limit, size_t value), cuCtxSetLimit (limit, value))

/* ---- memory and events of other processes */

static int
open_memory (void **place, CUipcMemHandle handle, unsigned flags)
{
  CUdeviceptr address = 0;
  int result = place != NULL ? (int) cuIpcOpenMemHandle_v2 (&address, handle, flags)
                             : RUNTIME_INVALID_VALUE;

  if (result == RUNTIME_SUCCESS)
    *place = (void *) (guintptr) address;
  return result;
}

RUNTIME_CALL (cudaIpcGetMemHandle, (CUipcMemHandle * handle, void *memory),
              cuIpcGetMemHandle (handle, (guintptr) memory))
RUNTIME_CALL (cudaIpcOpenMemHandle, (void **place, CUipcMemHandle handle, unsigned flags),
              open_memory (place, handle, flags))
RUNTIME_CALL (cudaIpcCloseMemHandle, (void *memory), cuIpcCloseMemHandle ((guintptr) memory))
RUNTIME_CALL (cudaIpcGetEventHandle, (CUipcEventHandle * handle, CUevent event),
              cuIpcGetEventHandle (handle, event))
RUNTIME_CALL (cudaIpcOpenEventHandle, (CUevent * event, CUipcEventHandle handle),
              cuIpcOpenEventHandle (event, handle))
