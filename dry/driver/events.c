/* events.c - events of the stand-in driver: an event is the time at which all earlier work
 * of its stream is done.
 *
 * An event that was never recorded is complete. A stream that waits for an event waits for the time
 * of its latest record. In dry runs an event is complete when it is recorded.
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/late.h"
#include "dry/driver/measured.h"
#include "dry/driver/mode.h"
#include "dry/driver/pools.h"

#define EVENT(handle) \
  DriverEvent *event = gemem_driver_object (handle, KIND_EVENT); \
  if (event == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such event")

CUresult CUDAAPI
cuEventCreate (CUevent *handle, unsigned int flags)
{
  DriverEvent *event;

  BEGIN (cuEventCreate, NEEDS_CONTEXT);
  if (handle == NULL
      || (flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)) != 0
      || ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x, or no place for the result",
                                flags);
  event = gemem_driver_object_add (g_new0 (DriverEvent, 1), KIND_EVENT, gemem_driver_context ());
  event->flags = flags;
  *handle = DRIVER_HANDLE (CUevent, event);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuEventDestroy_v2 (CUevent handle)
{
  BEGIN (cuEventDestroy_v2, RETURNS);
  EVENT (handle);
  gemem_driver_late_forget (&event->object);
  gemem_driver_object_remove (event);
  g_free (event);
  return gemem_driver_context_state ();
}

static CUresult
record (DriverEntry entry, CUevent handle, CUstream stream_handle, unsigned int flags)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  EVENT (handle);
  STREAM (stream_handle);
  DriverDevice *device = stream->object.context->device;
  GememDeviceEvent made;

  if (event->object.context != stream->object.context)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE,
                                "event and stream are of different contexts");
  if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
  if (stream->capture != NULL
      && flags == CU_EVENT_RECORD_EXTERNAL) /* the graph records it, each time it runs */
    return gemem_driver_capture_add (stream,
                                     &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                                           .eventRecord = { .event = handle } });
  event->capture = stream->capture;
  event->captured = stream->capture != NULL;
  if (event->captured)
    return CUDA_SUCCESS;
  made = gemem_device_event_record (gemem_driver_enter_device (device), 0);
  gemem_driver_leave_device (device);
  if (made == 0)
    return CUDA_ERROR_UNKNOWN; /* injected fault */
  event->done = gemem_driver.mode->at_once ? gemem_driver.now
                                           : MAX (gemem_driver_stream_start (stream), made - 1);
  event->recorded = TRUE;
  event->measured = gemem_driver_measured ();
  gemem_driver_stream_occupy (stream, event->done);
  gemem_driver_late_record (event, stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuEventRecord (CUevent event, CUstream stream)
{
  return record (ENTRY_cuEventRecord, event, stream, 0);
}

CUresult CUDAAPI
cuEventRecord_ptsz (CUevent event, CUstream stream)
{
  return record (ENTRY_cuEventRecord_ptsz, event, gemem_driver_per_thread (stream), 0);
}

CUresult CUDAAPI
cuEventRecordWithFlags (CUevent event, CUstream stream, unsigned int flags)
{
  return record (ENTRY_cuEventRecordWithFlags, event, stream, flags);
}

CUresult CUDAAPI
cuEventRecordWithFlags_ptsz (CUevent event, CUstream stream, unsigned int flags)
{
  return record (ENTRY_cuEventRecordWithFlags_ptsz, event, gemem_driver_per_thread (stream), flags);
}

static CUresult
wait_event (DriverEntry entry, CUstream handle, CUevent event_handle, unsigned int flags)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  EVENT (event_handle);
  if ((flags & ~CU_EVENT_WAIT_EXTERNAL) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
  if (event->capture != NULL)
    gemem_driver_capture_join (event->capture, stream);
  else if (event->captured)
    return gemem_driver_misuse (CUDA_ERROR_CAPTURED_EVENT, "of a capture that has ended");
  else if (event->recorded)
    {
      gemem_driver_stream_occupy (stream, MAX (gemem_driver_stream_start (stream), event->done));
      gemem_driver_late_join (stream, event);
    }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamWaitEvent (CUstream stream, CUevent event, unsigned int flags)
{
  return wait_event (ENTRY_cuStreamWaitEvent, stream, event, flags);
}

CUresult CUDAAPI
cuStreamWaitEvent_ptsz (CUstream stream, CUevent event, unsigned int flags)
{
  return wait_event (ENTRY_cuStreamWaitEvent_ptsz, gemem_driver_per_thread (stream), event, flags);
}

CUresult CUDAAPI
cuEventQuery (CUevent handle)
{
  BEGIN (cuEventQuery, NEEDS_INIT);
  EVENT (handle);
  if (event->captured)
    return gemem_driver_misuse (CUDA_ERROR_CAPTURED_EVENT, "the event was captured");
  const CUresult result = gemem_driver_is_complete (event->object.context,
                                                    event->recorded ? event->done : 0);
  return result != CUDA_SUCCESS || gemem_driver_late_event_done (event) ? result
                                                                        : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI
cuEventSynchronize (CUevent handle)
{
  DriverDevice *device;

  BEGIN (cuEventSynchronize, NEEDS_INIT);
  EVENT (handle);
  if (event->captured)
    return gemem_driver_misuse (CUDA_ERROR_CAPTURED_EVENT, "the event was captured");
  device = event->object.context->device;
  gemem_device_event_sync (gemem_driver_enter_device (device), 0);
  gemem_driver_leave_device (device);
  if (event->recorded)
    {
      gemem_driver_wait_until (event->done);
      gemem_driver_late_wait_event (event);
    }
  gemem_driver_pools_trim (device);
  return event->object.context->lost;
}

static CUresult
elapsed (float *milliseconds, CUevent start, CUevent end)
{
  const DriverEvent *first = gemem_driver_object (start, KIND_EVENT),
                    *last = gemem_driver_object (end, KIND_EVENT);

  PLACE (milliseconds);
  if (first == NULL || last == NULL || !first->recorded || !last->recorded
      || ((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE,
                                "an event that is not there, not recorded, or made without timing");
  if (first->done > gemem_driver.now || last->done > gemem_driver.now)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = gemem_driver_measured_time (first->measured, last->measured,
                                              ((gint64) last->done - (gint64) first->done) / 1e6f);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuEventElapsedTime (float *milliseconds, CUevent start, CUevent end)
{
  BEGIN (cuEventElapsedTime, NEEDS_INIT);
  return elapsed (milliseconds, start, end);
}

CUresult CUDAAPI
cuEventElapsedTime_v2 (float *milliseconds, CUevent start, CUevent end)
{
  BEGIN (cuEventElapsedTime_v2, NEEDS_INIT);
  return elapsed (milliseconds, start, end);
}
