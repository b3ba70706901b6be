/* streams.c - the functions of streams: made, asked, waited for; their work is in queue.c. */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/late.h"
#include "dry/driver/pools.h"
#include "dry/driver/streams.h"

static CUresult
create_stream (CUstream *handle, unsigned int flags, int priority)
{
  DriverStream *stream;

  if (handle == NULL || (flags & ~CU_STREAM_NON_BLOCKING) != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x, or no place for the result",
                                flags);
  stream = gemem_driver_object_add (g_new0 (DriverStream, 1), KIND_STREAM, gemem_driver_context ());
  stream->flags = flags;
  stream->priority = CLAMP (priority, -5, 0);
  *handle = DRIVER_HANDLE (CUstream, stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamCreate (CUstream *handle, unsigned int flags)
{
  BEGIN (cuStreamCreate, NEEDS_CONTEXT);
  return create_stream (handle, flags, 0);
}

CUresult CUDAAPI
cuStreamCreateWithPriority (CUstream *handle, unsigned int flags, int priority)
{
  BEGIN (cuStreamCreateWithPriority, NEEDS_CONTEXT);
  return create_stream (handle, flags, priority);
}

/* Work already on the stream is still done. */
CUresult CUDAAPI
cuStreamDestroy_v2 (CUstream handle)
{
  DriverStream *stream;

  BEGIN (cuStreamDestroy_v2, RETURNS);
  if ((stream = gemem_driver_object (handle, KIND_STREAM)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream");
  gemem_driver_capture_leave (stream);
  gemem_driver_late_forget (&stream->object);
  gemem_driver_object_remove (stream);
  g_free (stream);
  return gemem_driver_context_state ();
}

static CUresult
query_stream (DriverEntry entry, CUstream handle)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  CUresult allowed = gemem_driver_capture_allows_wait (stream);
  if (allowed != CUDA_SUCCESS)
    return allowed;
  const CUresult result = gemem_driver_is_complete (stream->object.context,
                                                    gemem_driver_stream_busy (stream));
  return result != CUDA_SUCCESS || gemem_driver_late_stream_done (stream) ? result
                                                                          : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI
cuStreamQuery (CUstream handle)
{
  return query_stream (ENTRY_cuStreamQuery, handle);
}

CUresult CUDAAPI
cuStreamQuery_ptsz (CUstream handle)
{
  return query_stream (ENTRY_cuStreamQuery_ptsz, gemem_driver_per_thread (handle));
}

static CUresult
synchronize (DriverEntry entry, CUstream handle)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  CUresult allowed = gemem_driver_capture_allows_wait (stream);
  if (allowed != CUDA_SUCCESS)
    return allowed;
  DriverDevice *device = stream->object.context->device;
  gboolean ok = gemem_device_stream_sync (gemem_driver_enter_device (device), 0);

  gemem_driver_leave_device (device);
  if (!ok)
    return CUDA_ERROR_UNKNOWN; /* injected fault */
  gemem_driver_wait_stream (stream);
  gemem_driver_pools_trim (device);
  return stream->object.context->lost;
}

CUresult CUDAAPI
cuStreamSynchronize (CUstream handle)
{
  return synchronize (ENTRY_cuStreamSynchronize, handle);
}

CUresult CUDAAPI
cuStreamSynchronize_ptsz (CUstream handle)
{
  return synchronize (ENTRY_cuStreamSynchronize_ptsz, gemem_driver_per_thread (handle));
}

/* The queries about a stream. */
typedef enum
{
  STREAM_FLAGS,
  STREAM_PRIORITY,
  STREAM_CONTEXT,
  STREAM_CAPTURE
} StreamQuestion;

static CUresult
ask_stream (DriverEntry entry, CUstream handle, StreamQuestion question, gpointer answer)
{
  /* By the manual a capture can be asked for without a context; a default stream, 0 to 2, is that of one. */
  DRIVER_BEGIN (entry, question == STREAM_CAPTURE && handle > CU_STREAM_PER_THREAD ? NEEDS_INIT
                                                                                   : NEEDS_CONTEXT);
  STREAM (handle);
  PLACE (answer);
  if (question == STREAM_FLAGS)
    *(unsigned int *) answer = stream->flags;
  else if (question == STREAM_PRIORITY)
    *(int *) answer = stream->priority;
  else if (question == STREAM_CONTEXT)
    *(CUcontext *) answer = DRIVER_HANDLE (CUcontext, stream->object.context);
  else
    *(CUstreamCaptureStatus *) answer = gemem_driver_capture_status (stream);
  return CUDA_SUCCESS;
}

#define QUESTION(symbol, type, question) \
  CUresult CUDAAPI symbol (CUstream handle, type *answer) \
  { \
    return ask_stream (ENTRY_##symbol, handle, question, answer); \
  } \
  CUresult CUDAAPI symbol##_ptsz (CUstream handle, type *answer) \
  { \
    return ask_stream (ENTRY_##symbol##_ptsz, gemem_driver_per_thread (handle), question, answer); \
  }

QUESTION (cuStreamGetFlags, unsigned int, STREAM_FLAGS)
QUESTION (cuStreamGetPriority, int, STREAM_PRIORITY)
QUESTION (cuStreamGetCtx, CUcontext, STREAM_CONTEXT)
QUESTION (cuStreamIsCapturing, CUstreamCaptureStatus, STREAM_CAPTURE)

/* By the manual NULL for a stream that belongs to no green context; none can be made here. */
CUresult CUDAAPI
cuStreamGetGreenCtx (CUstream handle, CUgreenCtx *context)
{
  BEGIN (cuStreamGetGreenCtx, NEEDS_CONTEXT);
  STREAM (handle);
  PLACE (context);
  *context = NULL;
  return stream->object.context->lost;
}
