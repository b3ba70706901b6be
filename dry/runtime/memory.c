/* memory.c - memory of the CUDA runtime of dry runs: allocations of devices and of the host,
 * stream-ordered allocations and pools, and what is known about an address.
 *
 * As the reference manual says, an allocation of 0 bytes succeeds with a null pointer, and null
 * pointers can be freed.
 */
#include "config.h"

#include <string.h>

#include "dry/runtime/runtime.h"

#define ELEMENT 4 /* bytes of an element, for the driver's choice of a pitch */

/* ---- allocations of the device */

/* The end of every allocation: *@place is written only by one that succeeds, as in
 * NVIDIA's runtime. */
static int
store (void **place, CUresult result, const CUdeviceptr *address)
{
  if (result == CUDA_SUCCESS)
    *place = (void *) (guintptr) *address;
  return (int) result;
}

/* Whether a request needs no call: *@result is the answer. */
static gboolean
is_answered (void **place, size_t size, int *result)
{
  *result = place == NULL ? RUNTIME_INVALID_VALUE : RUNTIME_SUCCESS;
  if (place != NULL && size == 0)
    *place = NULL;
  return place == NULL || size == 0;
}

static int
allocate (void **place, size_t size)
{
  CUdeviceptr address = 0;
  int result;

  if (is_answered (place, size, &result))
    return result;
  return store (place, cuMemAlloc_v2 (&address, size), &address);
}

static int
allocate_managed (void **place, size_t size, unsigned flags)
{
  CUdeviceptr address = 0;
  int result;

  if (is_answered (place, size, &result))
    return result;
  return store (place, cuMemAllocManaged (&address, size, flags), &address);
}

static int
allocate_pitched (void **place, size_t *pitch, size_t width, size_t height)
{
  CUdeviceptr address = 0;
  int result;

  if (pitch == NULL)
    return RUNTIME_INVALID_VALUE;
  if (is_answered (place, width * height, &result))
    {
      *pitch = 0;
      return result;
    }
  return store (place, cuMemAllocPitch_v2 (&address, pitch, width, height, ELEMENT), &address);
}

static int
allocate_3d (RuntimePitched *place, RuntimeExtent extent)
{
  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  place->width = extent.width;
  place->height = extent.height;
  return allocate_pitched (&place->address, &place->pitch, extent.width,
                           extent.height * extent.depth);
}

RUNTIME_CALL (cudaMalloc, (void **place, size_t size), allocate (place, size))
RUNTIME_CALL (cudaMallocManaged, (void **place, size_t size, unsigned flags),
              allocate_managed (place, size, flags))
RUNTIME_CALL (cudaMallocPitch, (void **place, size_t *pitch, size_t width, size_t height),
              allocate_pitched (place, pitch, width, height))
RUNTIME_CALL (cudaMalloc3D, (RuntimePitched * place, RuntimeExtent extent),
              allocate_3d (place, extent))
RUNTIME_CALL (cudaFree, (void *memory),
              memory != NULL ? cuMemFree_v2 ((guintptr) memory) : CUDA_SUCCESS)
RUNTIME_CALL (cudaMemGetInfo, (size_t * available, size_t *total),
              cuMemGetInfo_v2 (available, total))

/* ---- memory of the host */

static int
allocate_host (void **place, size_t size, unsigned flags)
{
  int result;
  return is_answered (place, size, &result) ? result : (int) cuMemHostAlloc (place, size, flags);
}

RUNTIME_CALL (cudaMallocHost, (void **place, size_t size), allocate_host (place, size, 0))
RUNTIME_CALL (cudaHostAlloc, (void **place, size_t size, unsigned flags),
              allocate_host (place, size, flags))
RUNTIME_CALL (cudaFreeHost, (void *memory), memory != NULL ? cuMemFreeHost (memory) : CUDA_SUCCESS)
RUNTIME_CALL (cudaHostRegister, (void *memory, size_t size, unsigned flags),
              cuMemHostRegister_v2 (memory, size, flags))
RUNTIME_CALL (cudaHostUnregister, (void *memory), cuMemHostUnregister (memory))
RUNTIME_CALL (cudaHostGetFlags, (unsigned *flags, void *memory), cuMemHostGetFlags (flags, memory))

static int
device_address (void **place, void *memory, unsigned flags)
{
  CUdeviceptr address = 0;

  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  return store (place, cuMemHostGetDevicePointer_v2 (&address, memory, flags), &address);
}

RUNTIME_CALL (cudaHostGetDevicePointer, (void **place, void *memory, unsigned flags),
              device_address (place, memory, flags))

/* ---- stream-ordered allocations and pools */

static int
allocate_ordered (void **place, size_t size, CUstream stream)
{
  CUdeviceptr address = 0;
  int result;

  if (is_answered (place, size, &result))
    return result;
  return store (place, cuMemAllocAsync (&address, size, stream), &address);
}

static int
allocate_from_pool (void **place, size_t size, CUmemoryPool pool, CUstream stream)
{
  CUdeviceptr address = 0;
  int result;

  if (is_answered (place, size, &result))
    return result;
  return store (place, cuMemAllocFromPoolAsync (&address, size, pool, stream), &address);
}

RUNTIME_STREAM_CALL (cudaMallocAsync, (void **place, size_t size, CUstream stream),
                     allocate_ordered (place, size, stream))
RUNTIME_STREAM_CALL (cudaMallocFromPoolAsync,
                     (void **place, size_t size, CUmemoryPool pool, CUstream stream),
                     allocate_from_pool (place, size, pool, stream))
RUNTIME_STREAM_CALL (cudaFreeAsync, (void *memory, CUstream stream),
                     memory != NULL ? cuMemFreeAsync ((guintptr) memory, stream) : CUDA_SUCCESS)

/* cudaMemPoolProps and the attributes are the driver's. */
RUNTIME_QUERY (cudaDeviceGetDefaultMemPool, (CUmemoryPool * pool, int device),
               cuDeviceGetDefaultMemPool (pool, device))
RUNTIME_QUERY (cudaDeviceGetMemPool, (CUmemoryPool * pool, int device),
               cuDeviceGetMemPool (pool, device))
RUNTIME_QUERY (cudaDeviceSetMemPool, (int device, CUmemoryPool pool),
               cuDeviceSetMemPool (device, pool))
RUNTIME_CALL (cudaMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps *properties),
              cuMemPoolCreate (pool, properties))
RUNTIME_CALL (cudaMemPoolDestroy, (CUmemoryPool pool), cuMemPoolDestroy (pool))
RUNTIME_CALL (cudaMemPoolTrimTo, (CUmemoryPool pool, size_t keep), cuMemPoolTrimTo (pool, keep))
RUNTIME_CALL (cudaMemPoolGetAttribute, (CUmemoryPool pool, unsigned attribute, void *value),
              cuMemPoolGetAttribute (pool, attribute, value))
RUNTIME_CALL (cudaMemPoolSetAttribute, (CUmemoryPool pool, unsigned attribute, void *value),
              cuMemPoolSetAttribute (pool, attribute, value))

RUNTIME_CALL (cudaMemPoolSetAccess,
              (CUmemoryPool pool, const CUmemAccessDesc *access, size_t count),
              cuMemPoolSetAccess (pool, access, count))
RUNTIME_CALL (cudaMemPoolGetAccess, (unsigned *access, CUmemoryPool pool, CUmemLocation *location),
              cuMemPoolGetAccess (access, pool, location))

/* ---- what is known about an address */

static int
describe (RuntimePointer *place, const void *memory)
{
  unsigned type = 0, managed = 0;
  int device = 0;
  CUdeviceptr on_device = 0;
  void *on_host = NULL;
  CUpointer_attribute questions[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                      CU_POINTER_ATTRIBUTE_HOST_POINTER };
  void *answers[] = { &type, &managed, &device, &on_device, &on_host };
  CUresult result;

  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  result = cuPointerGetAttributes (G_N_ELEMENTS (questions), questions, answers, (guintptr) memory);
  if (result != CUDA_SUCCESS)
    return (int) result;
  if (type == 0) /* memory that CUDA does not know */
    *place = (RuntimePointer){ RUNTIME_UNREGISTERED, RUNTIME_NO_POINTER_DEVICE, NULL,
                               (void *) (guintptr) memory };
  else
    *place = (RuntimePointer){
      .type = managed != 0                 ? RUNTIME_MANAGED
              : type == CU_MEMORYTYPE_HOST ? RUNTIME_HOST
                                           : RUNTIME_DEVICE,
      .device = device,
      .device_address = (void *) (guintptr) on_device,
      .host_address = on_host,
    };
  return RUNTIME_SUCCESS;
}

RUNTIME_CALL (cudaPointerGetAttributes, (RuntimePointer * place, const void *memory),
              describe (place, memory))
