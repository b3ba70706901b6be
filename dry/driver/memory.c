/* memory.c - allocations of the stand-in driver: device memory, managed memory, host
 * memory, and the attributes of pointers. */
#include "config.h"

#include <string.h>

#include "dry/driver/calls.h"
#include "dry/driver/mode.h"
#include "dry/driver/pools.h"

#define PITCH 512
#define HOST_FLAGS \
  (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS \
  (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY \
   | CU_MEMHOSTREGISTER_READ_ONLY)

/* ---- device memory */

static CUresult
allocate (CUdeviceptr *place, guint64 size)
{
  DriverContext *context = gemem_driver_context ();
  DriverDevice *device = context->device;
  guint64 address;

  if (place == NULL || size == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%" G_GUINT64_FORMAT " bytes, or no place for the result", size);
  gemem_driver_wait_as_device (device, GEMEM_CALL_MALLOC);
  address = gemem_driver_pools_malloc (device, size);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  gemem_driver_area_add (KIND_ALLOCATION, address, size, device, gemem_driver_bytes_new (size))
      ->context = context;
  *place = address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemAlloc_v2 (CUdeviceptr *address, size_t size)
{
  BEGIN (cuMemAlloc_v2, NEEDS_CONTEXT);
  return allocate (address, size);
}

CUresult CUDAAPI
cuMemAllocPitch_v2 (CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                    unsigned int element)
{
  BEGIN (cuMemAllocPitch_v2, NEEDS_CONTEXT);
  if (pitch == NULL || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "width, height, element or no place for the pitch");
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return allocate (address, *pitch * height);
}

CUresult CUDAAPI
cuMemFree_v2 (CUdeviceptr address)
{
  DriverArea *area;

  BEGIN (cuMemFree_v2, RETURNS);
  if (address == 0)
    return gemem_driver_context_state ();
  if ((area = gemem_driver_area_start (address, KIND_POOLED)) != NULL)
    return gemem_driver_pool_free (area, NULL, FALSE);
  if ((area = gemem_driver_area_start (address, KIND_ALLOCATION)) == NULL
      && (area = gemem_driver_area_start (address, KIND_MANAGED)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation", address);
  if (area->device != NULL)
    gemem_driver_wait_as_device (area->device, GEMEM_CALL_FREE);
  gemem_driver_device_free (area);
  gemem_driver_area_remove (area);
  return gemem_driver_context_state ();
}

CUresult CUDAAPI
cuMemGetInfo_v2 (size_t *free, size_t *total)
{
  GememDeviceInfo info;
  DriverDevice *device;

  BEGIN (cuMemGetInfo_v2, NEEDS_CONTEXT);
  device = gemem_driver_context ()->device;
  gemem_device_info (gemem_driver_enter_device (device), &info);
  gemem_driver_leave_device (device);
  if (free != NULL)
    *free = info.free;
  if (total != NULL)
    *total = info.total;
  return CUDA_SUCCESS;
}

/* ---- host memory that devices use at the same address */

static CUresult
host_memory (DriverKind kind, guint64 size, guint flags, CUdeviceptr *address)
{
  DriverBytes *bytes = gemem_driver_bytes_new (size);
  DriverArea *area;

  if (!gemem_driver_bytes_try (bytes))
    {
      gemem_driver_bytes_unref (bytes);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  *address = (guintptr) bytes->data;
  area = gemem_driver_area_add (kind, *address, size, NULL, bytes);
  area->context = gemem_driver_context ();
  area->flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemAllocManaged (CUdeviceptr *address, size_t size, unsigned int flags)
{
  BEGIN (cuMemAllocManaged, NEEDS_CONTEXT);
  if (address == NULL || size == 0
      || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%zu bytes, flags 0x%x, or no place for the result", size, flags);
  const CUresult result = host_memory (KIND_MANAGED, size, flags, address);
  if (result != CUDA_SUCCESS)
    return result;
  g_autofree char *text = g_strdup_printf ("%zu bytes", size);
  gemem_driver.mode->note (GEMEM_DRY_NOTE_MANAGED, text);
  return CUDA_SUCCESS;
}

static CUresult
allocate_host (void **place, guint64 size, guint flags)
{
  if (place == NULL || size == 0 || (flags & ~HOST_FLAGS) != 0)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "%" G_GUINT64_FORMAT " bytes, flags 0x%x, or no place for the result", size, flags);
  CUdeviceptr address;
  const CUresult result = host_memory (KIND_HOST, size, flags, &address);

  if (result == CUDA_SUCCESS)
    *place = (gpointer) (guintptr) address;
  return result;
}

CUresult CUDAAPI
cuMemHostAlloc (void **place, size_t size, unsigned int flags)
{
  BEGIN (cuMemHostAlloc, NEEDS_CONTEXT);
  return allocate_host (place, size, flags);
}

CUresult CUDAAPI
cuMemAllocHost_v2 (void **place, size_t size)
{
  BEGIN (cuMemAllocHost_v2, NEEDS_CONTEXT);
  return allocate_host (place, size, 0);
}

CUresult CUDAAPI
cuMemFreeHost (void *memory)
{
  DriverArea *area;

  BEGIN (cuMemFreeHost, RETURNS);
  if ((area = gemem_driver_area_start ((guintptr) memory, KIND_HOST)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%p is no host memory of cuMemHostAlloc",
                                memory);
  gemem_driver_wait_context (area->context);
  gemem_driver_area_remove (area);
  return gemem_driver_context_state ();
}

CUresult CUDAAPI
cuMemHostRegister_v2 (void *memory, size_t size, unsigned int flags)
{
  DriverBytes *bytes;
  DriverArea *area;

  BEGIN (cuMemHostRegister_v2, NEEDS_CONTEXT);
  if (memory == NULL || size == 0 || (flags & ~REGISTER_FLAGS) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%p, %zu bytes, flags 0x%x", memory, size,
                                flags);
  if (gemem_driver_area_at ((guintptr) memory) != NULL
      || gemem_driver_area_at ((guintptr) memory + size - 1) != NULL)
    return gemem_driver_misuse (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                                "%p is registered, or memory of the driver", memory);
  bytes = gemem_driver_bytes_new (size);
  bytes->data = memory;
  bytes->borrowed = TRUE;
  area = gemem_driver_area_add (KIND_REGISTERED, (guintptr) memory, size, NULL, bytes);
  area->context = gemem_driver_context ();
  area->flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemHostUnregister (void *memory)
{
  DriverArea *area;

  BEGIN (cuMemHostUnregister, RETURNS);
  if ((area = gemem_driver_area_start ((guintptr) memory, KIND_REGISTERED)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not registered",
                                memory);
  gemem_driver_wait_context (area->context);
  gemem_driver_area_remove (area);
  return gemem_driver_context_state ();
}

/* The host memory that contains @memory; NULL: none. */
static DriverArea *
host_area (const void *memory)
{
  DriverArea *area = gemem_driver_area_at ((guintptr) memory);
  return area != NULL && (area->kind == KIND_HOST || area->kind == KIND_REGISTERED) ? area : NULL;
}

CUresult CUDAAPI
cuMemHostGetDevicePointer_v2 (CUdeviceptr *address, void *memory, unsigned int flags)
{
  BEGIN (cuMemHostGetDevicePointer_v2, NEEDS_CONTEXT);
  if (address == NULL || flags != 0 || host_area (memory) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%p is no host memory, flags are not 0, or no place for the result",
                                memory);
  *address = (guintptr) memory;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemHostGetFlags (unsigned int *flags, void *memory)
{
  const DriverArea *area;

  BEGIN (cuMemHostGetFlags, NEEDS_CONTEXT);
  if (flags == NULL || (area = host_area (memory)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%p is no host memory, or no place for the result", memory);
  *flags = area->flags;
  return CUDA_SUCCESS;
}

/* ---- attributes of an address */

CUresult CUDAAPI
cuMemGetAddressRange_v2 (CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
  DriverArea *area;

  BEGIN (cuMemGetAddressRange_v2, NEEDS_CONTEXT);
  if ((area = gemem_driver_area_at (address)) == NULL || !area->owned)
    return CUDA_ERROR_NOT_FOUND;
  if (base != NULL)
    *base = area->node.address;
  if (size != NULL)
    *size = area->size;
  return CUDA_SUCCESS;
}

/* FALSE: the stand-in has no such attribute. */
static gboolean
pointer_attribute (const DriverArea *area, CUdeviceptr address, CUpointer_attribute attribute,
                   void *value)
{
  gboolean host = area->kind == KIND_HOST || area->kind == KIND_REGISTERED;

  switch ((int) attribute)
    {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *(CUcontext *) value = area->context != NULL ? DRIVER_HANDLE (CUcontext, area->context)
                                                   : NULL;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(CUmemorytype *) value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *(CUdeviceptr *) value = address;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *(void **) value = area->device == NULL ? (gpointer) (guintptr) address : NULL;
      return area->device == NULL;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *(unsigned long long *) value = area->number;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *(unsigned int *) value = area->kind == KIND_MANAGED;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *(int *) value = area->device != NULL ? area->device->ordinal
                                            : area->context->device->ordinal;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *(CUdeviceptr *) value = area->node.address;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *(size_t *) value = area->size;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *(unsigned int *) value = TRUE;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *(CUmemoryPool *) value = area->pool != NULL ? DRIVER_HANDLE (CUmemoryPool, area->pool)
                                                   : NULL;
      return TRUE;
    default:
      return FALSE;
    }
}

CUresult CUDAAPI
cuPointerGetAttribute (void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
  const DriverArea *area;

  BEGIN (cuPointerGetAttribute, NEEDS_INIT);
  PLACE (value);
  /* No misuse: programs ask this way whether a pointer belongs to CUDA. */
  if ((area = gemem_driver_area_at (address)) == NULL || !area->owned)
    return CUDA_ERROR_INVALID_VALUE;
  return pointer_attribute (area, address, attribute, value) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuPointerGetAttributes (unsigned int count, CUpointer_attribute *attributes, void **values,
                        CUdeviceptr address)
{
  const DriverArea *area;

  BEGIN (cuPointerGetAttributes, NEEDS_INIT);
  if (count == 0 || attributes == NULL || values == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "no attributes, or no place for the results");
  area = gemem_driver_area_at (address);
  for (guint i = 0; i < count; i++)
    if (area == NULL || !area->owned)
      memset (
          values[i], 0,
          sizeof (int)); /* every attribute has at least so many bytes; 0: not a pointer of CUDA */
    else
      pointer_attribute (area, address, attributes[i], values[i]);
  return CUDA_SUCCESS;
}
