/* events.c - the end of a block's use in `gmlake`, and the streams that may delay it.
 *
 * As in PyTorch: an event on every extra stream, queried at each request; a fused block also gets
 * an event on its own stream, which says when its mappings may be removed.
 * Invariants: block->events = its entries in the queues.
 * Cost: O(1) per request while no event is outstanding, else O(streams + completed events).
 * Origin: peers.md 1a.5, 1a.9, 1e.3.
 */
#include "config.h"

#include "allocators/gmlake/gmlake.h"

/* @block, which no stream uses any more, becomes free. */
static void
finish (Gmlake *lake, GmlakeBlock *block)
{
  lake->active.current -= block->allocated;
  lake->requested.current -= block->requested;
  if (block->segment == NULL)
    gemem_gmlake_unfuse (lake, gemem_gmlake_fused (block));
  else
    gemem_gmlake_make_free (lake, block);
}

void
gemem_gmlake_add_use (Gmlake *lake, GmlakeBlock *block, guint64 stream)
{
  GmlakeUse *use;

  for (use = block->uses; use != NULL && use->stream != stream; use = use->next)
    ;
  if (use != NULL || stream == block->base.node.group)
    return;
  use = gemem_slab_alloc (&lake->use_slab);
  use->stream = stream;
  use->next = block->uses;
  block->uses = use;
}

static GememDeviceEvent
record (Gmlake *lake, guint64 stream)
{
  const GememDeviceEvent event = gemem_device_event_record (lake->base.device, stream);

  if (G_UNLIKELY (event == 0)) /* not recorded: waits now */
    gemem_device_stream_sync (lake->base.device, stream);
  return event;
}

static GmlakeQueue *
queue_of (Gmlake *lake, guint64 stream)
{
  const GmlakeQueue fresh = { .stream = stream };
  guint i = 0;

  while (i < lake->queues->len && g_array_index (lake->queues, GmlakeQueue, i).stream != stream)
    i++;
  if (i == lake->queues->len)
    g_array_append_val (lake->queues, fresh);
  return &g_array_index (lake->queues, GmlakeQueue, i);
}

static void
append_event (Gmlake *lake, GmlakeBlock *block, guint64 stream)
{
  GmlakeQueue *queue = queue_of (lake, stream);
  GmlakeEvent *entry = gemem_slab_alloc (&lake->event_slab);

  entry->event = record (lake, stream);
  entry->block = block;
  *(queue->tail != NULL ? &queue->tail->next : &queue->head) = entry;
  queue->tail = entry;
  block->events++;
  lake->outstanding++;
}

void
gemem_gmlake_end_use (Gmlake *lake, GmlakeBlock *block)
{
  if (block->segment == NULL)
    gemem_gmlake_fused (block)->event = record (lake, block->base.node.group);
  if (block->uses == NULL)
    {
      finish (lake, block);
      return;
    }
  block->state = GMLAKE_PENDING;
  while (block->uses != NULL)
    {
      GmlakeUse *use = block->uses;

      block->uses = use->next;
      append_event (lake, block, use->stream);
      gemem_slab_free (&lake->use_slab, use);
    }
}

static void
take_event (Gmlake *lake, GmlakeQueue *queue)
{
  GmlakeEvent *entry = queue->head;
  GmlakeBlock *block = entry->block;

  queue->head = entry->next;
  queue->tail = queue->head != NULL ? queue->tail : NULL;
  gemem_slab_free (&lake->event_slab, entry);
  lake->outstanding--;
  if (--block->events == 0)
    finish (lake, block);
}

/* Takes the entries of every queue, from its head, whose events are complete; @wait: all. */
static void
take_events (Gmlake *lake, gboolean wait)
{
  for (guint i = 0; lake->outstanding > 0 && i < lake->queues->len; i++)
    {
      GmlakeQueue *queue = &g_array_index (lake->queues, GmlakeQueue, i);

      for (; queue->head != NULL; take_event (lake, queue))
        if (wait)
          gemem_device_event_sync (lake->base.device, queue->head->event);
        else if (!gemem_device_event_query (lake->base.device, queue->head->event))
          break;
    }
}

void
gemem_gmlake_process_events (Gmlake *lake)
{
  if (G_UNLIKELY (lake->outstanding != 0))
    take_events (lake, FALSE);
}

void
gemem_gmlake_synchronize (Gmlake *lake)
{
  take_events (lake, TRUE);
}
