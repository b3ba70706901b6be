/* streams.c - streams of the stand-in driver, and the clock.
 *
 * Work put on a stream gets its times at once: it begins when the work it must wait for is done,
 * and ends some time later. The work of all streams is carried out in the order of the end times,
 * as the clock reaches them; so an event is pending until a caller waits, or makes enough calls for
 * the time to pass. The default stream waits for all other streams of its context, and they wait
 * for it, except non-blocking streams.
 *
 * In dry runs work is done when it is put on a stream.
 *
 * Invariant: within a stream, times never decrease; a stream's `busy` is the end of its last work.
 */
#include "config.h"

#include "dry/driver/driver.h"

#define START_NS 20000       /* fixed part of any work */
#define BYTES_PER_NS_LOG2 10 /* about one terabyte per second */

guint64
standin_work_ns (guint64 size)
{
  return START_NS + (size >> BYTES_PER_NS_LOG2);
}

/* ---- the queue */

static int
by_time (gconstpointer a, gconstpointer b, gpointer data)
{
  const StandinWork *left = a, *right = b;
  return left->done != right->done
             ? (left->done < right->done ? -1 : 1)
             : (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static void
free_work (StandinWork *work)
{
  g_free (work->staged);
  g_free (work);
}

/* The earliest begin of work put on @stream now. */
guint64
standin_stream_start (const StandinStream *stream)
{
  const StandinContext *context = stream->object.context;
  guint64 start = MAX (standin.now, stream->busy);

  if (stream == &context->legacy)
    return MAX (start, context->blocking_busy);
  return (stream->flags & CU_STREAM_NON_BLOCKING) != 0 ? start : MAX (start, context->legacy.busy);
}

guint64
standin_stream_busy (const StandinStream *stream)
{
  const StandinContext *context = stream->object.context;
  return stream == &context->legacy ? MAX (stream->busy, context->blocking_busy) : stream->busy;
}

/* Marks @stream as busy until @done. */
void
standin_stream_occupy (StandinStream *stream, guint64 done)
{
  StandinContext *context = stream->object.context;

  stream->busy = done;
  context->busy = MAX (context->busy, done);
  if (stream != &context->legacy && (stream->flags & CU_STREAM_NON_BLOCKING) == 0)
    context->blocking_busy = MAX (context->blocking_busy, done);
}

void
standin_enqueue (StandinStream *stream, guint64 ns, const StandinWork *work)
{
  StandinWork *copy;

  if (stream->capture != NULL) /* part of a graph that is never run */
    {
      standin_graph_add_work (standin_capture_graph (stream), work, stream->object.context);
      g_free (work->staged);
      return;
    }
  if (standin.dry)
    {
      StandinWork now = *work;
      now.done = standin.now;
      now.context = stream->object.context;
      now.entry = standin.entry;
      now.run (&now);
      g_free (now.staged);
      return;
    }
  copy = g_memdup2 (work, sizeof *work);

  copy->done = standin_stream_start (stream) + ns;
  copy->sequence = ++standin.sequence;
  copy->context = stream->object.context;
  copy->entry = standin.entry;
  standin_stream_occupy (stream, copy->done);
  g_sequence_insert_sorted (standin.queue, copy, by_time, NULL);
}

void
standin_run_due (void)
{
  GSequenceIter *first;

  while (!g_sequence_iter_is_end (first = g_sequence_get_begin_iter (standin.queue)))
    {
      StandinWork *work = g_sequence_get (first);
      if (work->done > standin.now)
        return;
      g_sequence_remove (first);
      if (work->context->lost == CUDA_SUCCESS)
        work->run (work);
      free_work (work);
    }
}

void
standin_wait_until (guint64 time)
{
  standin.now = MAX (standin.now, time);
  standin_run_due ();
}

void
standin_wait_as_device (StandinDevice *device, GememDeviceCall call)
{
  GHashTableIter iter;
  gpointer value;

  if ((device->memory->waits & (1u << call)) == 0)
    return;
  g_hash_table_iter_init (&iter, standin.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((StandinObject *) value)->kind == KIND_CONTEXT
        && ((StandinContext *) value)->device == device)
      standin.now = MAX (standin.now, ((StandinContext *) value)->busy);
  standin_run_due ();
}

void
standin_stream_clear (StandinContext *context)
{
  GSequenceIter *next;

  for (GSequenceIter *iter = g_sequence_get_begin_iter (standin.queue);
       !g_sequence_iter_is_end (iter); iter = next)
    {
      StandinWork *work = g_sequence_get (iter);
      next = g_sequence_iter_next (iter);
      if (work->context != context)
        continue;
      free_work (work);
      g_sequence_remove (iter);
    }
}

void
standin_fault (const StandinWork *work, CUresult code, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *text = g_strdup_printf ("%s: %s", standin_entry_name (work->entry), what);
  standin_report_line ("fault", text);
  work->context->lost = code;
}

/* ---- streams */

static StandinStream *
thread_stream (StandinContext *context)
{
  StandinStream *stream = g_hash_table_lookup (context->per_thread, g_thread_self ());

  if (stream == NULL)
    {
      stream = g_new0 (StandinStream, 1);
      stream->object = (StandinObject){ .id = standin_new_id (),
                                        .kind = KIND_STREAM,
                                        .context = context };
      g_hash_table_insert (context->per_thread, g_thread_self (), stream);
    }
  return stream;
}

StandinStream *
standin_stream (CUstream handle)
{
  StandinContext *context = standin_context ();

  if (handle == NULL || handle == CU_STREAM_LEGACY)
    return &context->legacy;
  if (handle == CU_STREAM_PER_THREAD)
    return thread_stream (context);
  return standin_object (handle, KIND_STREAM);
}

CUstream
standin_per_thread (CUstream stream)
{
  return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

#define STREAM(handle) \
  StandinStream *stream = standin_stream (handle); \
  if (stream == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream")

static CUresult
create_stream (CUstream *handle, unsigned int flags, int priority)
{
  StandinStream *stream;

  if (handle == NULL || (flags & ~CU_STREAM_NON_BLOCKING) != 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "flags 0x%x, or no place for the result",
                           flags);
  stream = standin_object_add (g_new0 (StandinStream, 1), KIND_STREAM, standin_context ());
  stream->flags = flags;
  stream->priority = CLAMP (priority, -5, 0);
  *handle = STANDIN_HANDLE (CUstream, stream);
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
  StandinStream *stream;

  BEGIN (cuStreamDestroy_v2, RETURNS);
  if ((stream = standin_object (handle, KIND_STREAM)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream");
  standin_capture_leave (stream);
  standin_object_remove (stream);
  g_free (stream);
  return standin_context_state ();
}

/* The result of a query about work that is done at @time; the simulated device may answer "not
 * ready" all the same. */
CUresult
standin_is_complete (StandinContext *context, guint64 time)
{
  gboolean may = gemem_device_event_query (standin_enter_device (context->device), 0);

  standin_leave_device (context->device);
  standin_run_due ();
  if (context->lost != CUDA_SUCCESS)
    return context->lost;
  return may && time <= standin.now ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult
query_stream (StandinEntry entry, CUstream handle)
{
  STANDIN_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  CUresult allowed = standin_capture_allows_wait (stream);
  if (allowed != CUDA_SUCCESS)
    return allowed;
  return standin_is_complete (stream->object.context, standin_stream_busy (stream));
}

CUresult CUDAAPI
cuStreamQuery (CUstream handle)
{
  return query_stream (ENTRY_cuStreamQuery, handle);
}

CUresult CUDAAPI
cuStreamQuery_ptsz (CUstream handle)
{
  return query_stream (ENTRY_cuStreamQuery_ptsz, standin_per_thread (handle));
}

static CUresult
synchronize (StandinEntry entry, CUstream handle)
{
  STANDIN_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  CUresult allowed = standin_capture_allows_wait (stream);
  if (allowed != CUDA_SUCCESS)
    return allowed;
  StandinDevice *device = stream->object.context->device;
  gboolean ok = gemem_device_stream_sync (standin_enter_device (device), 0);

  standin_leave_device (device);
  if (!ok)
    return CUDA_ERROR_UNKNOWN; /* injected fault */
  standin_wait_until (standin_stream_busy (stream));
  standin_pools_trim (device);
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
  return synchronize (ENTRY_cuStreamSynchronize_ptsz, standin_per_thread (handle));
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
ask_stream (StandinEntry entry, CUstream handle, StreamQuestion question, gpointer answer)
{
  /* By the manual a capture can be asked for without a context; a default stream, 0 to 2, is that of one. */
  STANDIN_BEGIN (entry, question == STREAM_CAPTURE && handle > CU_STREAM_PER_THREAD
                            ? NEEDS_INIT
                            : NEEDS_CONTEXT);
  STREAM (handle);
  if (answer == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  if (question == STREAM_FLAGS)
    *(unsigned int *) answer = stream->flags;
  else if (question == STREAM_PRIORITY)
    *(int *) answer = stream->priority;
  else if (question == STREAM_CONTEXT)
    *(CUcontext *) answer = STANDIN_HANDLE (CUcontext, stream->object.context);
  else
    *(CUstreamCaptureStatus *) answer = standin_capture_status (stream);
  return CUDA_SUCCESS;
}

#define QUESTION(symbol, type, question) \
  CUresult CUDAAPI symbol (CUstream handle, type *answer) \
  { \
    return ask_stream (ENTRY_##symbol, handle, question, answer); \
  } \
  CUresult CUDAAPI symbol##_ptsz (CUstream handle, type *answer) \
  { \
    return ask_stream (ENTRY_##symbol##_ptsz, standin_per_thread (handle), question, answer); \
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
