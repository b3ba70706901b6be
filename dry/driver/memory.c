/* memory.c - allocations of the stand-in driver: device memory, managed memory, host
 * memory, and the attributes of pointers. */
#include "config.h"

#include <string.h>

#include "dry/driver/driver.h"

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
  StandinContext *context = standin_context ();
  StandinDevice *device = context->device;
  guint64 address;

  if (place == NULL || size == 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "%" G_GUINT64_FORMAT " bytes, or no place for the result", size);
  standin_wait_as_device (device, GEMEM_CALL_MALLOC);
  address = gemem_device_malloc (standin_enter_device (device), size, 0);
  standin_leave_device (device);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  standin_span_add (KIND_ALLOCATION, address, size, device, standin_bytes_new (size))->context =
      context;
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
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "width, height, element or no place for the pitch");
  *pitch = (width + PITCH - 1) / PITCH * PITCH;
  return allocate (address, *pitch * height);
}

CUresult CUDAAPI
cuMemFree_v2 (CUdeviceptr address)
{
  StandinSpan *span;

  BEGIN (cuMemFree_v2, RETURNS);
  if (address == 0)
    return standin_context_state ();
  if ((span = standin_span_start (address, KIND_POOLED)) != NULL)
    return standin_pool_free (span, NULL, FALSE);
  if ((span = standin_span_start (address, KIND_ALLOCATION)) == NULL
      && (span = standin_span_start (address, KIND_MANAGED)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation", address);
  if (span->device != NULL)
    standin_wait_as_device (span->device, GEMEM_CALL_FREE);
  standin_device_free (span);
  standin_span_remove (span);
  return standin_context_state ();
}

CUresult CUDAAPI
cuMemGetInfo_v2 (size_t *free, size_t *total)
{
  GememDeviceInfo info;
  StandinDevice *device;

  BEGIN (cuMemGetInfo_v2, NEEDS_CONTEXT);
  device = standin_context ()->device;
  gemem_device_info (standin_enter_device (device), &info);
  standin_leave_device (device);
  if (free != NULL)
    *free = info.free;
  if (total != NULL)
    *total = info.total;
  return CUDA_SUCCESS;
}

/* ---- host memory that devices use at the same address */

static StandinSpan *
host_memory (StandinKind kind, guint64 size, guint flags)
{
  StandinBytes *bytes = standin_bytes_new (size);
  StandinSpan *span = standin_span_add (kind, (guintptr) standin_bytes_data (bytes), size, NULL,
                                        bytes);
  span->context = standin_context ();
  span->flags = flags;
  return span;
}

CUresult CUDAAPI
cuMemAllocManaged (CUdeviceptr *address, size_t size, unsigned int flags)
{
  BEGIN (cuMemAllocManaged, NEEDS_CONTEXT);
  if (address == NULL || size == 0
      || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "%zu bytes, flags 0x%x, or no place for the result", size, flags);
  *address = host_memory (KIND_MANAGED, size, flags)->node.address;
  if (standin.dry)
    {
      g_autofree char *text = g_strdup_printf ("%zu", size);
      gemem_dry_note ("managed", text);
    }
  return CUDA_SUCCESS;
}

static CUresult
allocate_host (void **place, guint64 size, guint flags)
{
  if (place == NULL || size == 0 || (flags & ~HOST_FLAGS) != 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "%" G_GUINT64_FORMAT " bytes, flags 0x%x, or no place for the result",
                           size, flags);
  *place = (gpointer) (guintptr) host_memory (KIND_HOST, size, flags)->node.address;
  return CUDA_SUCCESS;
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
  StandinSpan *span;

  BEGIN (cuMemFreeHost, RETURNS);
  if ((span = standin_span_start ((guintptr) memory, KIND_HOST)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "%p is no host memory of cuMemHostAlloc",
                           memory);
  standin_wait_until (span->context->busy);
  standin_span_remove (span);
  return standin_context_state ();
}

CUresult CUDAAPI
cuMemHostRegister_v2 (void *memory, size_t size, unsigned int flags)
{
  StandinBytes *bytes;
  StandinSpan *span;

  BEGIN (cuMemHostRegister_v2, NEEDS_CONTEXT);
  if (memory == NULL || size == 0 || (flags & ~REGISTER_FLAGS) != 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "%p, %zu bytes, flags 0x%x", memory, size,
                           flags);
  if (standin_span_at ((guintptr) memory) != NULL
      || standin_span_at ((guintptr) memory + size - 1) != NULL)
    return standin_misuse (CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                           "%p is registered, or memory of the driver", memory);
  bytes = standin_bytes_new (size);
  bytes->data = memory;
  bytes->borrowed = TRUE;
  span = standin_span_add (KIND_REGISTERED, (guintptr) memory, size, NULL, bytes);
  span->context = standin_context ();
  span->flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemHostUnregister (void *memory)
{
  StandinSpan *span;

  BEGIN (cuMemHostUnregister, RETURNS);
  if ((span = standin_span_start ((guintptr) memory, KIND_REGISTERED)) == NULL)
    return standin_misuse (CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not registered", memory);
  standin_wait_until (span->context->busy);
  standin_span_remove (span);
  return standin_context_state ();
}

/* The host memory that contains @memory; NULL: none. */
static StandinSpan *
host_span (const void *memory)
{
  StandinSpan *span = standin_span_at ((guintptr) memory);
  return span != NULL && (span->kind == KIND_HOST || span->kind == KIND_REGISTERED) ? span : NULL;
}

CUresult CUDAAPI
cuMemHostGetDevicePointer_v2 (CUdeviceptr *address, void *memory, unsigned int flags)
{
  BEGIN (cuMemHostGetDevicePointer_v2, NEEDS_CONTEXT);
  if (address == NULL || flags != 0 || host_span (memory) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "%p is no host memory, flags are not 0, or no place for the result",
                           memory);
  *address = (guintptr) memory;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemHostGetFlags (unsigned int *flags, void *memory)
{
  const StandinSpan *span;

  BEGIN (cuMemHostGetFlags, NEEDS_CONTEXT);
  if (flags == NULL || (span = host_span (memory)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "%p is no host memory, or no place for the result", memory);
  *flags = span->flags;
  return CUDA_SUCCESS;
}

/* ---- attributes of an address */

CUresult CUDAAPI
cuMemGetAddressRange_v2 (CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
  StandinSpan *span;

  BEGIN (cuMemGetAddressRange_v2, NEEDS_CONTEXT);
  if ((span = standin_span_at (address)) == NULL || !span->owned)
    return CUDA_ERROR_NOT_FOUND;
  if (base != NULL)
    *base = span->node.address;
  if (size != NULL)
    *size = span->size;
  return CUDA_SUCCESS;
}

/* FALSE: the stand-in has no such attribute. */
static gboolean
pointer_attribute (const StandinSpan *span, CUdeviceptr address, CUpointer_attribute attribute,
                   void *value)
{
  gboolean host = span->kind == KIND_HOST || span->kind == KIND_REGISTERED;

  switch ((int) attribute)
    {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *(CUcontext *) value = span->context != NULL ? STANDIN_HANDLE (CUcontext, span->context)
                                                   : NULL;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(CUmemorytype *) value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *(CUdeviceptr *) value = address;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      *(void **) value = span->device == NULL ? (gpointer) (guintptr) address : NULL;
      return span->device == NULL;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *(unsigned int *) value = span->kind == KIND_MANAGED;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *(int *) value = span->device != NULL ? span->device->ordinal
                                            : span->context->device->ordinal;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *(CUdeviceptr *) value = span->node.address;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *(size_t *) value = span->size;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *(unsigned int *) value = TRUE;
      return TRUE;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *(CUmemoryPool *) value = span->pool != NULL ? STANDIN_HANDLE (CUmemoryPool, span->pool)
                                                   : NULL;
      return TRUE;
    default:
      return FALSE;
    }
}

CUresult CUDAAPI
cuPointerGetAttribute (void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
  const StandinSpan *span;

  BEGIN (cuPointerGetAttribute, NEEDS_INIT);
  if (value == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  /* No misuse: programs ask this way whether a pointer belongs to CUDA. */
  if ((span = standin_span_at (address)) == NULL || !span->owned)
    return CUDA_ERROR_INVALID_VALUE;
  return pointer_attribute (span, address, attribute, value) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuPointerGetAttributes (unsigned int count, CUpointer_attribute *attributes, void **values,
                        CUdeviceptr address)
{
  const StandinSpan *span;

  BEGIN (cuPointerGetAttributes, NEEDS_INIT);
  if (count == 0 || attributes == NULL || values == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no attributes, or no place for the results");
  span = standin_span_at (address);
  for (guint i = 0; i < count; i++)
    if (span == NULL || !span->owned)
      memset (
          values[i], 0,
          sizeof (int)); /* every attribute has at least so many bytes; 0: not a pointer of CUDA */
    else
      pointer_attribute (span, address, attributes[i], values[i]);
  return CUDA_SUCCESS;
}
