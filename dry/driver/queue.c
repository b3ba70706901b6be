/* queue.c - the work of streams, and the clock.
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

#include "dry/driver/capture.h"
#include "dry/driver/late.h"
#include "dry/driver/mode.h"

#define START_NS 20000       /* fixed part of any work */
#define BYTES_PER_NS_LOG2 10 /* about one terabyte per second */

guint64
gemem_driver_work_ns (guint64 size)
{
  return START_NS + (size >> BYTES_PER_NS_LOG2);
}

/* ---- the queue */

static int
by_time (gconstpointer a, gconstpointer b, gpointer data)
{
  const DriverWork *left = a, *right = b;
  return left->done != right->done
             ? (left->done < right->done ? -1 : 1)
             : (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static void
free_work (DriverWork *work)
{
  g_free (work->staged);
  g_free (work);
}

/* The earliest begin of work put on @stream now. */
guint64
gemem_driver_stream_start (const DriverStream *stream)
{
  const DriverContext *context = stream->object.context;
  guint64 start = MAX (gemem_driver.now, stream->busy);

  if (stream == &context->legacy)
    return MAX (start, context->blocking_busy);
  return (stream->flags & CU_STREAM_NON_BLOCKING) != 0 ? start : MAX (start, context->legacy.busy);
}

guint64
gemem_driver_stream_busy (const DriverStream *stream)
{
  const DriverContext *context = stream->object.context;
  return stream == &context->legacy ? MAX (stream->busy, context->blocking_busy) : stream->busy;
}

/* Marks @stream as busy until @done. */
void
gemem_driver_stream_occupy (DriverStream *stream, guint64 done)
{
  DriverContext *context = stream->object.context;

  stream->busy = done;
  context->busy = MAX (context->busy, done);
  if (stream != &context->legacy && (stream->flags & CU_STREAM_NON_BLOCKING) == 0)
    context->blocking_busy = MAX (context->blocking_busy, done);
}

void
gemem_driver_enqueue (DriverStream *stream, guint64 ns, const DriverWork *work)
{
  DriverWork *copy;

  if (stream->capture != NULL) /* part of a graph that is never run */
    {
      gemem_driver_graph_add_work (gemem_driver_capture_graph (stream), work,
                                   stream->object.context);
      g_free (work->staged);
      return;
    }
  if (gemem_driver.mode->at_once)
    {
      DriverWork now = *work;
      now.done = gemem_driver.now;
      now.context = stream->object.context;
      now.entry = gemem_driver.entry;
      gemem_driver_late_work (stream);
      now.run (&now);
      g_free (now.staged);
      return;
    }
  copy = g_memdup2 (work, sizeof *work);

  copy->done = gemem_driver_stream_start (stream) + ns;
  copy->sequence = ++gemem_driver.sequence;
  copy->context = stream->object.context;
  copy->entry = gemem_driver.entry;
  gemem_driver_stream_occupy (stream, copy->done);
  g_sequence_insert_sorted (gemem_driver.queue, copy, by_time, NULL);
}

void
gemem_driver_run_due (void)
{
  GSequenceIter *first;

  while (!g_sequence_iter_is_end (first = g_sequence_get_begin_iter (gemem_driver.queue)))
    {
      DriverWork *work = g_sequence_get (first);
      if (work->done > gemem_driver.now)
        return;
      g_sequence_remove (first);
      if (work->context->lost == CUDA_SUCCESS)
        work->run (work);
      free_work (work);
    }
}

void
gemem_driver_wait_until (guint64 time)
{
  gemem_driver.now = MAX (gemem_driver.now, time);
  gemem_driver_run_due ();
}

void
gemem_driver_wait_stream (const DriverStream *stream)
{
  gemem_driver_wait_until (gemem_driver_stream_busy (stream));
  gemem_driver_late_wait_stream (stream);
}

void
gemem_driver_wait_context (DriverContext *context)
{
  gemem_driver_wait_until (context->busy);
  gemem_driver_late_wait_context (context);
}

void
gemem_driver_wait_as_device (DriverDevice *device, GememDeviceCall call)
{
  GHashTableIter iter;
  gpointer value;

  if ((device->memory->waits & (1u << call)) == 0)
    return;
  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DriverObject *) value)->kind == KIND_CONTEXT
        && ((DriverContext *) value)->device == device)
      {
        gemem_driver.now = MAX (gemem_driver.now, ((DriverContext *) value)->busy);
        gemem_driver_late_wait_context (value);
      }
  gemem_driver_run_due ();
}

void
gemem_driver_stream_clear (DriverContext *context)
{
  GSequenceIter *next;

  for (GSequenceIter *iter = g_sequence_get_begin_iter (gemem_driver.queue);
       !g_sequence_iter_is_end (iter); iter = next)
    {
      DriverWork *work = g_sequence_get (iter);
      next = g_sequence_iter_next (iter);
      if (work->context != context)
        continue;
      free_work (work);
      g_sequence_remove (iter);
    }
}

void
gemem_driver_fault (const DriverWork *work, CUresult code, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *text = g_strdup_printf ("%s: %s", gemem_driver_entry_name (work->entry), what);
  gemem_driver_report_line (GEMEM_DRY_NOTE_FAULT, text);
  work->context->lost = code;
}

/* ---- streams */

static DriverStream *
thread_stream (DriverContext *context)
{
  DriverStream *stream = g_hash_table_lookup (context->per_thread, g_thread_self ());

  if (stream == NULL)
    {
      stream = g_new0 (DriverStream, 1);
      stream->object = (DriverObject){ .id = gemem_driver_new_id (),
                                       .kind = KIND_STREAM,
                                       .context = context };
      g_hash_table_insert (context->per_thread, g_thread_self (), stream);
    }
  return stream;
}

DriverStream *
gemem_driver_stream (CUstream handle)
{
  DriverContext *context = gemem_driver_context ();

  if (handle == NULL || handle == CU_STREAM_LEGACY)
    return &context->legacy;
  if (handle == CU_STREAM_PER_THREAD)
    return thread_stream (context);
  return gemem_driver_object (handle, KIND_STREAM);
}

CUresult
gemem_driver_is_complete (DriverContext *context, guint64 time)
{
  gboolean may = gemem_device_event_query (gemem_driver_enter_device (context->device), 0);

  gemem_driver_leave_device (context->device);
  gemem_driver_run_due ();
  if (context->lost != CUDA_SUCCESS)
    return context->lost;
  return may && time <= gemem_driver.now ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
