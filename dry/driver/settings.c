/* settings.c - settings of a context that programs read back, and how devices reach each other.
 *
 * The settings have no effect here. On a GPU some limits make the driver take more memory for the
 * context; that memory is no allocation of the program.
 */
#include "config.h"

#include <stdio.h>

#include "dry/driver/calls.h"
#include "dry/driver/devices.h"
#include "dry/driver/streams.h"

/* ---- limits, which are the same in all contexts */

#define LIMITS 10 /* of a driver of 13.0; the last three, of shared memory and graphics, are 0 */

static size_t limits[LIMITS] = {
  [CU_LIMIT_STACK_SIZE] = 1024,
  [CU_LIMIT_PRINTF_FIFO_SIZE] = 7340032,
  [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
  [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
  [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
  [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
  [CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0,
};

CUresult CUDAAPI
cuCtxGetLimit (size_t *value, CUlimit limit)
{
  BEGIN (cuCtxGetLimit, NEEDS_CONTEXT);
  PLACE (value);
  if (limit >= G_N_ELEMENTS (limits))
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = limits[limit];
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxSetLimit (CUlimit limit, size_t value)
{
  BEGIN (cuCtxSetLimit, NEEDS_CONTEXT);
  if (limit >= G_N_ELEMENTS (limits))
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  limits[limit] = value;
  return CUDA_SUCCESS;
}

/* ---- contexts */

CUresult CUDAAPI
cuCtxGetCacheConfig (CUfunc_cache *config)
{
  BEGIN (cuCtxGetCacheConfig, NEEDS_CONTEXT);
  PLACE (config);
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxGetSharedMemConfig (CUsharedconfig *config)
{
  BEGIN (cuCtxGetSharedMemConfig, NEEDS_CONTEXT);
  PLACE (config);
  *config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxGetId (CUcontext handle, unsigned long long *id)
{
  const DriverContext *context;

  BEGIN (cuCtxGetId, NEEDS_INIT);
  PLACE (id);
  context = handle != NULL ? gemem_driver_object (handle, KIND_CONTEXT) : gemem_driver_context ();
  if (context == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  *id = context->object.id;
  return CUDA_SUCCESS;
}

/* ---- devices */

int
gemem_driver_place_on_bus (const char *text)
{
  guint domain = 0, bus = 0, slot = 0;

  if (sscanf (text, "%x:%x:%x", &domain, &bus, &slot) != 3)
    {
      domain = 0;
      if (sscanf (text, "%x:%x", &bus, &slot) != 2)
        return -2;
    }
  return domain == 0 && slot == 0 && bus >= 1 ? (int) bus - 1 : -1;
}

CUresult CUDAAPI
cuDeviceGetByPCIBusId (CUdevice *found, const char *text)
{
  int device;

  BEGIN (cuDeviceGetByPCIBusId, NEEDS_INIT);
  PLACE (found);
  PLACE (text);
  if ((device = gemem_driver_place_on_bus (text)) == -2)
    return CUDA_ERROR_INVALID_VALUE;
  if (device < 0 || (device = gemem_driver_device_at ((guint) device)) < 0)
    return CUDA_ERROR_INVALID_DEVICE;
  *found = device;
  return CUDA_SUCCESS;
}

/* Every device that reaches others does so as through NVLink. */
CUresult CUDAAPI
cuDeviceGetP2PAttribute (int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)
{
  BEGIN (cuDeviceGetP2PAttribute, NEEDS_INIT);
  PLACE (value);
  if (gemem_driver_device (from) == NULL || gemem_driver_device (to) == NULL || from == to)
    return CUDA_ERROR_INVALID_DEVICE;
  *value = gemem_driver_peers_reach () && attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK
           && attribute != CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetExecAffinitySupport (int *value, CUexecAffinityType type, CUdevice device)
{
  BEGIN (cuDeviceGetExecAffinitySupport, NEEDS_INIT);
  PLACE (value);
  *value = 0;
  return CUDA_SUCCESS;
}
