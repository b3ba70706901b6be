/* streams.c - streams and events of the CUDA device.
 *
 * A stream of a trace is a number.  streams=made: 0 is the default stream; any other becomes our
 * own stream at its first use, which does not wait for the default one.  streams=handles: the
 * number is the caller's CUstream.
 *
 * device.h has no call that destroys an event, so events are recycled here: those of a stream
 * complete in order, and a complete one needs nothing but its number.  An event is stream << 40 |
 * number.  A full ring is first searched for complete events, then doubled: memory follows the
 * pending events.
 */
#include "config.h"

#include "devices/cuda/gpu.h"

#define NUMBER_BITS 40
#define RING_FIRST 16

static GememCudaStream *
find (GememCuda *self, guint64 stream)
{
  const guint64 *place = gemem_idmap_lookup (self->stream_places, stream);
  return place != NULL ? &g_array_index (self->streams, GememCudaStream, *place) : NULL;
}

static GememCudaStream *
add (GememCuda *self, guint64 stream, CUstream handle, gboolean borrowed)
{
  const GememCudaStream added = { .handle = handle, .borrowed = borrowed };

  *(guint64 *) gemem_idmap_insert (self->stream_places, stream, NULL) = self->streams->len;
  g_array_append_val (self->streams, added);
  return &g_array_index (self->streams, GememCudaStream, self->streams->len - 1);
}

static GememCudaStream *
find_or_make (GememCuda *self, guint64 stream)
{
  GememCudaStream *found = find (self, stream);
  CUstream made = NULL;

  if (found != NULL)
    return found;
  if (self->params.streams == GEMEM_CUDA_STREAMS_HANDLES)
    return add (self, stream, (CUstream) (guintptr) stream, TRUE);
  if (stream != 0 && !GEMEM_CUDA_DO (self, cuStreamCreate, &made, CU_STREAM_NON_BLOCKING))
    return NULL;
  return add (self, stream, made, FALSE);
}

void
gemem_cuda_borrow_stream (GememCuda *self, guint64 stream, CUstream handle)
{
  if (find (self, stream) == NULL)
    add (self, stream, handle, TRUE);
}

gboolean
gemem_cuda_stream (GememCuda *self, guint64 stream, CUstream *handle)
{
  const GememCudaStream *found = find_or_make (self, stream);
  *handle = found != NULL ? found->handle : NULL;
  return found != NULL;
}

/* ---- events */

static CUevent *
place_of (const GememCudaStream *stream, guint64 number)
{
  return &stream->ring[number & (stream->size - 1)];
}

/* TRUE if event @number of @stream, and so every earlier one, is complete; also if the device has
 * failed, so that no caller waits for it. */
static gboolean
is_complete (GememCuda *self, GememCudaStream *stream, guint64 number)
{
  CUresult result;

  if (number <= stream->done)
    return TRUE;
  result = GEMEM_CUDA_RESULT (self, cuEventQuery, *place_of (stream, number));
  if (result == CUDA_ERROR_NOT_READY)
    return FALSE;
  gemem_cuda_succeeded (self, "cuEventQuery", result, FALSE);
  stream->done = number;
  return TRUE;
}

/* Makes an entry free for event recorded + 1. */
static void
make_place (GememCuda *self, GememCudaStream *stream)
{
  GememCudaStream larger = *stream;

  if (stream->recorded - stream->done < stream->size)
    return;
  while (stream->done < stream->recorded && is_complete (self, stream, stream->done + 1))
    ;
  if (stream->recorded - stream->done < stream->size)
    return;
  larger.size = MAX (2 * stream->size, RING_FIRST);
  larger.ring = g_new0 (CUevent, larger.size);
  for (guint64 number = stream->done + 1; number <= stream->recorded; number++)
    *place_of (&larger, number) = *place_of (stream, number);
  g_free (stream->ring);
  *stream = larger;
}

GememDeviceEvent
gemem_cuda_event_record (GememDevice *device, guint64 id)
{
  GememCuda *self = (GememCuda *) device;
  GememCudaStream *stream;
  CUevent *event;
  GEMEM_CUDA_ENTER (self);

  if (device->failure != NULL || (stream = find_or_make (self, id)) == NULL)
    return 0;
  make_place (self, stream);
  event = place_of (stream, stream->recorded + 1);
  if ((*event == NULL && !GEMEM_CUDA_DO (self, cuEventCreate, event, CU_EVENT_DISABLE_TIMING))
      || !GEMEM_CUDA_DO (self, cuEventRecord, *event, stream->handle))
    return 0;
  stream->recorded++;
  return *(const guint64 *) gemem_idmap_lookup (self->stream_places, id) << NUMBER_BITS
         | stream->recorded;
}

static GememCudaStream *
stream_of (const GememCuda *self, GememDeviceEvent event, guint64 *number)
{
  *number = event & ((G_GUINT64_CONSTANT (1) << NUMBER_BITS) - 1);
  return &g_array_index (self->streams, GememCudaStream, event >> NUMBER_BITS);
}

gboolean
gemem_cuda_event_query (GememDevice *device, GememDeviceEvent event)
{
  GememCuda *self = (GememCuda *) device;
  guint64 number;
  GememCudaStream *stream;
  GEMEM_CUDA_ENTER (self);

  if (event == 0)
    return TRUE;
  stream = stream_of (self, event, &number);
  return is_complete (self, stream, number);
}

void
gemem_cuda_event_sync (GememDevice *device, GememDeviceEvent event)
{
  GememCuda *self = (GememCuda *) device;
  guint64 number;
  GememCudaStream *stream;
  GEMEM_CUDA_ENTER (self);

  if (event == 0)
    return;
  stream = stream_of (self, event, &number);
  if (number <= stream->done)
    return;
  if (GEMEM_CUDA_DO (self, cuEventSynchronize, *place_of (stream, number)))
    stream->done = number;
}

/* ---- waiting for streams and the device */

static gboolean
is_capturing (GememCuda *self, const GememCudaStream *stream)
{
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

  return stream->borrowed
         && GEMEM_CUDA_RESULT (self, cuStreamIsCapturing, stream->handle, &status) == CUDA_SUCCESS
         && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

gboolean
gemem_cuda_may_wait (GememCuda *self)
{
  for (guint i = 0; i < self->streams->len; i++)
    if (is_capturing (self, &g_array_index (self->streams, GememCudaStream, i)))
      return FALSE;
  return TRUE;
}

gboolean
gemem_cuda_stream_sync (GememDevice *device, guint64 id)
{
  GememCuda *self = (GememCuda *) device;
  GememCudaStream *stream = find (self, id);
  GEMEM_CUDA_ENTER (self);

  if (stream == NULL && id != 0 && self->params.streams == GEMEM_CUDA_STREAMS_MADE)
    return TRUE; /* the stream was never used */
  if (stream != NULL && stream->handle != NULL ? is_capturing (self, stream)
                                               : !gemem_cuda_may_wait (self))
    return FALSE;
  if (!GEMEM_CUDA_DO (self, cuStreamSynchronize,
                      stream != NULL ? stream->handle : (CUstream) (guintptr) id))
    return FALSE;
  if (stream != NULL)
    stream->done = stream->recorded;
  return TRUE;
}

gboolean
gemem_cuda_sync (GememDevice *device)
{
  GememCuda *self = (GememCuda *) device;
  GEMEM_CUDA_ENTER (self);

  if (!gemem_cuda_may_wait (self) || !GEMEM_CUDA_DO (self, cuCtxSynchronize))
    return FALSE;
  for (guint i = 0; i < self->streams->len; i++)
    {
      GememCudaStream *stream = &g_array_index (self->streams, GememCudaStream, i);
      stream->done = stream->recorded;
    }
  return TRUE;
}

void
gemem_cuda_destroy_streams (GememCuda *self)
{
  for (guint i = 0; i < self->streams->len; i++)
    {
      GememCudaStream *stream = &g_array_index (self->streams, GememCudaStream, i);
      for (guint64 n = 0; n < stream->size; n++)
        if (stream->ring[n] != NULL)
          GEMEM_CUDA_DO (self, cuEventDestroy, stream->ring[n]);
      g_free (stream->ring);
      if (stream->handle != NULL && !stream->borrowed)
        GEMEM_CUDA_DO (self, cuStreamDestroy, stream->handle);
    }
}
