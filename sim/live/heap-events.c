/* heap-events.c - turns a heap's calls into events, which it feeds to the engine and then to the
 * recording, and returns blocks to the allocator once no stream uses them. */
#include "config.h"

#include "sim/live/heap-private.h"

/* ---- events */

void
gemem_heap_note_call (gpointer data, const GememDeviceNote *note)
{
  GememHeap *heap = data;
  GememTraceEvent event = { .time = heap->now,
                            .address = note->address,
                            .size = note->size,
                            .stream = note->stream,
                            .device = (guint16) heap->job.device_ordinal };

  if (!note->ok)
    return;
  if (heap->run == NULL)
    event.flags = GEMEM_EVENT_INITIAL; /* the allocator is being created */
  switch (note->call)
    {
    case GEMEM_CALL_RESERVE:
      gemem_recording_note_range (heap->recording, note->address);
      return;
    case GEMEM_CALL_MALLOC:
      event.kind = GEMEM_EVENT_SEGMENT_ALLOC;
      break;
    case GEMEM_CALL_FREE:
      event.kind = GEMEM_EVENT_SEGMENT_FREE;
      break;
    case GEMEM_CALL_MAP:
      event.kind = GEMEM_EVENT_SEGMENT_MAP;
      break;
    case GEMEM_CALL_UNMAP:
      event.kind = GEMEM_EVENT_SEGMENT_UNMAP;
      break;
    default:
      return;
    }
  gemem_recording_add (heap->recording, &event);
}

gboolean
gemem_heap_feed (GememHeap *heap, GememTraceEvent *event, GError **error)
{
  const GememLive *live;

  heap->now = heap->clock () - heap->start;
  event->time = heap->now;
  event->device = heap->run->ordinal;
  if (!gemem_run_events (heap->run, event, 1, error)
      || !gemem_run_take_late_refusal (heap->run, error))
    return FALSE;
  if (heap->recording == NULL)
    return TRUE;
  live = event->kind == GEMEM_EVENT_ALLOC ? gemem_live_find (&heap->run->live, event->id) : NULL;
  if (live != NULL && live->flags == GEMEM_LIVE_UNSERVED)
    event->flags |= GEMEM_EVENT_FAILED;
  else if (live != NULL)
    {
      event->address = live->block.address;
      event->aux = live->block.size;
    }
  gemem_recording_add (heap->recording, event);
  return TRUE;
}

/* ---- frees */

/* Returns block @id, which no stream uses, to the allocator. */
static gboolean
release_now (GememHeap *heap, guint64 id, GError **error)
{
  GememTraceEvent event = { .kind = GEMEM_EVENT_FREE, .id = id };

  return gemem_heap_feed (heap, &event, error);
}

gboolean
gemem_heap_release_ready (GememHeap *heap, gboolean wait, gboolean *any, GError **error)
{
  guint64 id;

  *any = FALSE;
  if (heap->pools_open > 0)
    return TRUE;
  while (gemem_waiting_take (&heap->waiting, wait && !*any, &id))
    {
      *any = TRUE;
      if (!release_now (heap, id, error))
        return FALSE;
    }
  return TRUE;
}

/* The streams that must finish before @block is free.  Its own stream counts only where the
 * allocator does not know streams and there are several. */
static guint
streams_to_wait_for (GememHeap *heap, const GememHeapBlock *block, guint64 *streams)
{
  guint n = 0;

  if (!gemem_heap_knows_streams (heap) && gemem_idmap_count (heap->streams) > 1)
    streams[n++] = block->stream;
  for (guint i = 0; i < block->n_users; i++)
    if (block->users[i] != block->stream)
      streams[n++] = block->users[i];
  return n;
}

gboolean
gemem_heap_release (GememHeap *heap, GememHeapBlock *block, GError **error)
{
  g_autofree guint64 *streams = g_new (guint64, block->n_users + 1);
  const guint n = streams_to_wait_for (heap, block, streams);

  g_clear_pointer (&block->users, g_free);
  if (n == 0)
    return release_now (heap, block->id, error);
  gemem_waiting_add (&heap->waiting, block->id, streams, n);
  return TRUE;
}
