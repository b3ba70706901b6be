/* contexts.c - contexts of the stand-in driver: a device's primary one, counted, others,
 * and the current one of each thread.
 *
 * Destroying a context destroys the objects in it; the report counts these as leaked, since the
 * program did not release them. The struct of the context stays: a thread may still have the
 * context current, and its calls are told that the context is destroyed.
 */
#include "config.h"

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/pools.h"

static void
context_init (DriverContext *context, DriverDevice *device, guint flags)
{
  context->device = device;
  context->flags = flags;
  context->alive = TRUE;
  context->lost = CUDA_SUCCESS;
  context->legacy = (DriverStream){
    .object = { .id = gemem_driver_new_id (), .kind = KIND_STREAM, .context = context }
  };
  context->per_thread = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  context->blocking_busy = context->busy = gemem_driver.now;
}

/* Removes the objects in @context and counts them as leaked. */
static void
clear_objects (DriverContext *context)
{
  GHashTableIter iter;
  gpointer value;

  gemem_driver_capture_clear (context);
  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      DriverObject *object = value;
      if (object->context != context)
        continue;
      if (object->kind != KIND_FUNCTION)
        gemem_driver_report_leak (object->kind, 0);
      g_hash_table_iter_remove (&iter);
      gemem_driver_object_free (object);
    }
}

static void
clear_memory (DriverContext *context)
{
  GememTreeNode *next;

  for (GememTreeNode *node = gemem_tree_first (&gemem_driver.areas); node != NULL; node = next)
    {
      DriverArea *area = GEMEM_TREE_ENTRY (node, DriverArea, node);
      next = gemem_tree_next (node);
      if (area->context != context)
        continue;
      gemem_driver_report_leak (area->kind, area->size);
      gemem_driver_device_free (area);
      gemem_driver_area_remove (area);
    }
}

static void
context_clear (DriverContext *context)
{
  if (context->lost == CUDA_SUCCESS)
    gemem_driver_wait_context (context);
  gemem_driver_stream_clear (context);
  clear_objects (context);
  clear_memory (context);
  g_clear_pointer (&context->per_thread, g_hash_table_unref);
  context->alive = FALSE;
}

/* ---- primary contexts */

CUresult CUDAAPI
cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice number)
{
  BEGIN (cuDevicePrimaryCtxRetain, NEEDS_INIT);
  PLACE (context);
  DEVICE (number);
  if (device->primary == NULL)
    device->primary = gemem_driver_object_add (g_new0 (DriverContext, 1), KIND_CONTEXT, NULL);
  if (!device->primary->alive)
    context_init (device->primary, device, device->primary->flags);
  device->primary->retained++;
  *context = DRIVER_HANDLE (CUcontext, device->primary);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDevicePrimaryCtxRelease_v2 (CUdevice number)
{
  BEGIN (cuDevicePrimaryCtxRelease_v2, RETURNS);
  DEVICE (number);
  if (device->primary == NULL || device->primary->retained == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT,
                                "the primary context of device %d is not retained", number);
  if (--device->primary->retained == 0)
    context_clear (device->primary);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDevicePrimaryCtxReset_v2 (CUdevice number)
{
  BEGIN (cuDevicePrimaryCtxReset_v2, RETURNS);
  DEVICE (number);
  if (device->primary != NULL && device->primary->alive)
    context_clear (device->primary);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDevicePrimaryCtxGetState (CUdevice number, unsigned int *flags, int *active)
{
  BEGIN (cuDevicePrimaryCtxGetState, NEEDS_INIT);
  if (flags == NULL || active == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  DEVICE (number);
  *flags = device->primary != NULL ? device->primary->flags : 0;
  *active = device->primary != NULL && device->primary->alive;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDevicePrimaryCtxSetFlags_v2 (CUdevice number, unsigned int flags)
{
  BEGIN (cuDevicePrimaryCtxSetFlags_v2, NEEDS_INIT);
  DEVICE (number);
  if ((flags & ~CU_CTX_FLAGS_MASK) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
  if (device->primary == NULL)
    device->primary = gemem_driver_object_add (g_new0 (DriverContext, 1), KIND_CONTEXT, NULL);
  device->primary->flags = flags;
  return CUDA_SUCCESS;
}

/* ---- other contexts */

static CUresult
create (CUcontext *handle, unsigned int flags, CUdevice number)
{
  DriverContext *context;

  if (handle == NULL || (flags & ~CU_CTX_FLAGS_MASK) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x, or no place for the result",
                                flags);
  DEVICE (number);
  context = g_new0 (DriverContext, 1);
  if (!gemem_driver_context_push (context))
    {
      g_free (context);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  gemem_driver_object_add (context, KIND_CONTEXT, NULL);
  context_init (context, device, flags);
  *handle = DRIVER_HANDLE (CUcontext, context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxCreate_v2 (CUcontext *context, unsigned int flags, CUdevice number)
{
  BEGIN (cuCtxCreate_v2, NEEDS_INIT);
  return create (context, flags, number);
}

CUresult CUDAAPI
cuCtxCreate_v4 (CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice number)
{
  BEGIN (cuCtxCreate_v4, NEEDS_INIT);
  return create (context, flags, number);
}

CUresult CUDAAPI
cuCtxDestroy_v2 (CUcontext handle)
{
  DriverContext *context;

  BEGIN (cuCtxDestroy_v2, RETURNS);
  context = gemem_driver_object (handle, KIND_CONTEXT);
  if (context == NULL || !context->alive)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  if (context == context->device->primary)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT,
                                "a primary context is released, not destroyed");
  context_clear (context);
  if (gemem_driver_context () == context)
    gemem_driver_context_pop ();
  return CUDA_SUCCESS;
}

/* ---- the current context */

CUresult CUDAAPI
cuCtxGetCurrent (CUcontext *context)
{
  BEGIN (cuCtxGetCurrent, NEEDS_INIT);
  PLACE (context);
  *context = gemem_driver_context () != NULL ? DRIVER_HANDLE (CUcontext, gemem_driver_context ())
                                             : NULL;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxSetCurrent (CUcontext handle)
{
  DriverContext *context;

  BEGIN (cuCtxSetCurrent, NEEDS_INIT);
  context = gemem_driver_object (handle, KIND_CONTEXT);
  if (handle != NULL && (context == NULL || !context->alive))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  gemem_driver_context_pop ();
  if (context != NULL)
    gemem_driver_context_push (context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxPushCurrent_v2 (CUcontext handle)
{
  DriverContext *context;

  BEGIN (cuCtxPushCurrent_v2, NEEDS_INIT);
  context = gemem_driver_object (handle, KIND_CONTEXT);
  if (context == NULL || !context->alive)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  return gemem_driver_context_push (context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI
cuCtxPopCurrent_v2 (CUcontext *context)
{
  BEGIN (cuCtxPopCurrent_v2, NEEDS_INIT);
  if (gemem_driver_context () == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  if (context != NULL)
    *context = DRIVER_HANDLE (CUcontext, gemem_driver_context ());
  gemem_driver_context_pop ();
  return CUDA_SUCCESS;
}

static CUresult
device_of (CUdevice *number, const DriverContext *context)
{
  PLACE (number);
  *number = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxGetDevice (CUdevice *number)
{
  BEGIN (cuCtxGetDevice, NEEDS_CONTEXT);
  return device_of (number, gemem_driver_context ());
}

CUresult CUDAAPI
cuCtxGetFlags (unsigned int *flags)
{
  BEGIN (cuCtxGetFlags, NEEDS_CONTEXT);
  PLACE (flags);
  *flags = gemem_driver_context ()->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxGetApiVersion (CUcontext handle, unsigned int *version)
{
  BEGIN (cuCtxGetApiVersion, NEEDS_INIT);
  if (version == NULL || (handle != NULL && gemem_driver_object (handle, KIND_CONTEXT) == NULL))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT,
                                "no such context, or no place for the result");
  *version = gemem_driver.version / 10;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxGetStreamPriorityRange (int *least, int *greatest)
{
  BEGIN (cuCtxGetStreamPriorityRange, NEEDS_CONTEXT);
  if (least != NULL)
    *least = 0;
  if (greatest != NULL)
    *greatest = -5;
  return CUDA_SUCCESS;
}

static CUresult
synchronize (DriverContext *context)
{
  CUresult allowed = gemem_driver_capture_allows_wait_for_all (context);
  if (allowed != CUDA_SUCCESS)
    return allowed;
  gboolean ok = gemem_device_sync (gemem_driver_enter_device (context->device));

  gemem_driver_leave_device (context->device);
  if (!ok)
    return CUDA_ERROR_UNKNOWN; /* injected fault */
  gemem_driver_wait_context (context);
  gemem_driver_pools_trim (context->device);
  return context->lost;
}

CUresult CUDAAPI
cuCtxSynchronize (void)
{
  BEGIN (cuCtxSynchronize, NEEDS_CONTEXT);
  return synchronize (gemem_driver_context ());
}

/* The context of @handle; NULL: the current one. */
static DriverContext *
given_context (CUcontext handle)
{
  DriverContext *context = handle == NULL ? gemem_driver_context ()
                                          : gemem_driver_object (handle, KIND_CONTEXT);
  return context != NULL && context->alive ? context : NULL;
}

CUresult CUDAAPI
cuCtxGetDevice_v2 (CUdevice *number, CUcontext handle)
{
  const DriverContext *context;

  BEGIN (cuCtxGetDevice_v2, NEEDS_INIT);
  if ((context = given_context (handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  return device_of (number, context);
}

CUresult CUDAAPI
cuCtxSynchronize_v2 (CUcontext handle)
{
  DriverContext *context;

  BEGIN (cuCtxSynchronize_v2, NEEDS_INIT);
  if ((context = given_context (handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no such context");
  return synchronize (context);
}
