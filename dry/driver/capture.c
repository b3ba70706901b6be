/* capture.c - stream capture of the stand-in driver: which calls a capture forbids, and how
 * such a call invalidates the capture.
 *
 * Captured work never runs. Work put on a captured stream is dropped and leaves a node in the graph, an event recorded there is captured too, and a stream that waits for such an event joins
 * the capture. As in the manual, a call that could wait for captured work, or that is not safe in
 * the thread's mode (allocations, releases, event queries), is refused and invalidates the capture:
 * the call that ends the capture reports it.
 *
 * All plain allocations and frees count as not safe, which may be stricter than the driver.  Pages are
 * made and mapped meanwhile: so PyTorch grows expandable segments in a capture (peers.md P14).
 */
#include "config.h"

#include "dry/driver/capture.h"

/* A capture, shared by the streams that take part in it. */
struct _DriverCapture
{
  DriverStream *origin;
  GThread *thread;
  CUstreamCaptureMode mode;
  gboolean invalid;
  GPtrArray *streams; /* DriverStream */
  guint64 work;       /* calls of libraries before it */
  DriverGraph *graph; /* becomes the program's when the capture ends */
};

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static GPtrArray *captures; /* in progress */

/* ---- permitted calls */

/* TRUE if @capture forbids calls that are not safe on this thread. */
static gboolean
forbids (const DriverCapture *capture)
{
  gboolean own = capture->thread == g_thread_self ();

  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return FALSE;
  return own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
             : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL
                   && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

static gboolean
is_unsafe (DriverEntry entry)
{
  switch ((int) entry)
    {
    case ENTRY_cuMemAlloc_v2:
    case ENTRY_cuMemAllocPitch_v2:
    case ENTRY_cuMemAllocManaged:
    case ENTRY_cuMemAllocHost_v2:
    case ENTRY_cuMemHostAlloc:
    case ENTRY_cuMemFree_v2:
    case ENTRY_cuMemFreeHost:
    case ENTRY_cuMemRelease:
    case ENTRY_cuMemUnmap:
    case ENTRY_cuEventQuery:
    case ENTRY_cuEventSynchronize:
      return TRUE;
    default:
      return FALSE;
    }
}

CUresult
gemem_driver_capture_allows (DriverEntry entry)
{
  gboolean safe = TRUE;

  for (guint i = 0; captures != NULL && is_unsafe (entry) && i < captures->len; i++)
    {
      DriverCapture *capture = captures->pdata[i];
      capture->invalid |= forbids (capture);
      safe &= !forbids (capture);
    }
  return safe ? CUDA_SUCCESS
              : gemem_driver_misuse (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                     "while a stream is captured");
}

CUresult
gemem_driver_capture_allows_wait (const DriverStream *stream)
{
  if (stream->capture == NULL)
    return CUDA_SUCCESS;
  stream->capture->invalid = TRUE;
  return gemem_driver_misuse (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                              "the stream is being captured");
}

CUresult
gemem_driver_capture_allows_wait_for_all (const DriverContext *context)
{
  gboolean any = FALSE;

  for (guint i = 0; captures != NULL && i < captures->len; i++)
    {
      DriverCapture *capture = captures->pdata[i];
      if (capture->origin->object.context == context)
        any = capture->invalid = TRUE;
    }
  return any ? gemem_driver_misuse (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                    "while a stream is captured")
             : CUDA_SUCCESS;
}

/* ---- captures */

void
gemem_driver_capture_join (DriverCapture *capture, DriverStream *stream)
{
  if (stream->capture == capture)
    return;
  stream->capture = capture;
  g_ptr_array_add (capture->streams, stream);
}

/* What libraries launched since @capture began, on streams that only they know, is taken for a part of
 * it: a graph without nodes tells a program that it captured nothing. */
static void
add_library_work (DriverCapture *capture)
{
  for (guint64 now = gemem_driver_library_work (TRUE); capture->work < now; capture->work++)
    gemem_driver_graph_add (capture->graph,
                            &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL }, NULL, 0);
}

CUresult
gemem_driver_capture_begin (DriverStream *stream, CUstreamCaptureMode mode)
{
  if (stream == &stream->object.context->legacy)
    return gemem_driver_misuse (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                "the default stream cannot be captured");
  if (stream->capture != NULL)
    return gemem_driver_misuse (CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured");
  DriverCapture *capture = g_new0 (DriverCapture, 1);
  *capture = (DriverCapture){
    .origin = stream, .thread = g_thread_self (), .mode = mode, .streams = g_ptr_array_new ()
  };
  capture->graph = gemem_driver_graph_new ();
  capture->work = gemem_driver_library_work (TRUE);
  gemem_driver_capture_join (capture, stream);
  if (captures == NULL)
    captures = g_ptr_array_new ();
  g_ptr_array_add (captures, capture);
  return CUDA_SUCCESS;
}

DriverGraph *
gemem_driver_capture_graph (const DriverStream *stream)
{
  return stream->capture->graph;
}

CUresult
gemem_driver_capture_add (DriverStream *stream, const CUgraphNodeParams *what)
{
  if (stream->capture != NULL)
    gemem_driver_graph_add (stream->capture->graph, what, NULL, 0);
  return CUDA_SUCCESS;
}

/* Removes all streams from @capture; no stream can join it any more. */
static void
dissolve (DriverCapture *capture)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DriverObject *) value)->kind == KIND_EVENT && ((DriverEvent *) value)->capture == capture)
      ((DriverEvent *) value)->capture = NULL;
  for (guint i = 0; i < capture->streams->len; i++)
    ((DriverStream *) capture->streams->pdata[i])->capture = NULL;
  if (capture->graph != NULL)
    {
      gemem_driver_object_remove (capture->graph);
      gemem_driver_object_free (capture->graph);
    }
  g_ptr_array_remove (captures, capture);
  g_ptr_array_unref (capture->streams);
  g_free (capture);
}

void
gemem_driver_capture_leave (DriverStream *stream)
{
  if (stream->capture != NULL && stream->capture->origin == stream)
    dissolve (stream->capture);
  else if (stream->capture != NULL)
    g_ptr_array_remove (stream->capture->streams, stream);
}

void
gemem_driver_capture_clear (const DriverContext *context)
{
  for (guint i = captures != NULL ? captures->len : 0; i-- > 0;)
    if (((DriverCapture *) captures->pdata[i])->origin->object.context == context)
      dissolve (captures->pdata[i]);
}

CUresult
gemem_driver_capture_end (const DriverStream *stream, CUgraph *graph)
{
  DriverCapture *capture = stream != NULL ? stream->capture : NULL;
  if (graph == NULL || capture == NULL || capture->origin != stream)
    return gemem_driver_misuse (CUDA_ERROR_ILLEGAL_STATE, "no capture began with this stream");
  if (capture->thread != g_thread_self () && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return gemem_driver_misuse (CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread began it");
  gboolean invalid = capture->invalid;
  *graph = NULL;
  if (!invalid)
    {
      add_library_work (capture);
      *graph = DRIVER_HANDLE (CUgraph, (DriverGraph *) g_steal_pointer (&capture->graph));
    }
  dissolve (capture);
  return invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUstreamCaptureStatus
gemem_driver_capture_status (const DriverStream *stream)
{
  return stream->capture == NULL    ? CU_STREAM_CAPTURE_STATUS_NONE
         : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUstreamCaptureMode
gemem_driver_capture_exchange_mode (CUstreamCaptureMode mode)
{
  const CUstreamCaptureMode before = thread_mode;

  thread_mode = mode;
  return before;
}
