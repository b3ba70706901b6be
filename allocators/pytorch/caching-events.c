/* caching-events.c - blocks that the program has freed while streams still use them.
 *
 * A stream's end of use is known in one of two ways: by events recorded on the device and queried
 * at each malloc (record_stream), or by a complete() that the engine delivers where the recording
 * has "free_completed".  In both, the block waits in state PENDING: not live, not reusable.
 *
 * The out-of-memory ladder waits for all streams and frees blocks whose complete() is still to
 * come.  The bytes of such a block move to a new struct; the old struct keeps state GONE until
 * complete() frees it.  So a handle never outlives its struct.
 *
 * Invariants: block->events = its entries in the queues; queues are visited in the order in which
 * their streams were first used, entries in the order of recording.
 * Cost: O(1) per malloc while no event is outstanding, else O(streams + completed events).
 * Origin: peers.md 1a.5, 1a.7 (step 1 of release_all), 1a.9.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

void
gemem_caching_finish (Caching *caching, CachingBlock *block)
{
  const gboolean small = block->segment->pool->small;

  gemem_caching_stat_subtract (caching, CACHING_STAT_ACTIVE, small, 1);
  gemem_caching_stat_subtract (caching, CACHING_STAT_ACTIVE_BYTES, small, block->node.size);
  gemem_caching_stat_subtract (caching, CACHING_STAT_REQUESTED_BYTES, small, block->requested);
  gemem_caching_make_free (caching, block);
}

/* ---- extra streams */

void
gemem_caching_add_use (Caching *caching, CachingBlock *block, guint64 stream)
{
  CachingUse **end = &block->uses;
  CachingUse *use;

  if (G_UNLIKELY (caching->holding))
    gemem_caching_note_captured (caching, block, stream);
  for (; *end != NULL; end = &(*end)->next)
    if ((*end)->stream == stream)
      return;
  use = gemem_slab_alloc (&caching->use_slab);
  use->stream = stream;
  *end = use;
}

void
gemem_caching_remove_use (Caching *caching, CachingBlock *block, guint64 stream)
{
  for (CachingUse **place = &block->uses; *place != NULL; place = &(*place)->next)
    if ((*place)->stream == stream)
      {
        CachingUse *use = *place;

        *place = use->next;
        gemem_slab_free (&caching->use_slab, use);
        return;
      }
}

static CachingQueue *
queue_of (Caching *caching, guint64 stream)
{
  CachingQueue queue = { stream, NULL, NULL };

  for (guint i = 0; i < caching->queues->len; i++)
    if (g_array_index (caching->queues, CachingQueue, i).stream == stream)
      return &g_array_index (caching->queues, CachingQueue, i);
  g_array_append_val (caching->queues, queue);
  return &g_array_index (caching->queues, CachingQueue, caching->queues->len - 1);
}

void
gemem_caching_record_events (Caching *caching, CachingBlock *block)
{
  block->state = CACHING_PENDING;
  while (block->uses != NULL)
    {
      CachingUse *use = block->uses;
      CachingQueue *queue = queue_of (caching, use->stream);
      CachingEvent *event = gemem_slab_alloc (&caching->event_slab);

      event->event = gemem_device_event_record (caching->base.device, use->stream);
      if (G_UNLIKELY (event->event == 0)) /* not recorded; 0 counts as complete: wait now */
        gemem_device_stream_sync (caching->base.device, use->stream);
      event->block = block;
      if (queue->tail != NULL)
        queue->tail->next = event;
      else
        queue->head = event;
      queue->tail = event;
      block->events++;
      caching->outstanding++;
      block->uses = use->next;
      gemem_slab_free (&caching->use_slab, use);
    }
}

void
gemem_caching_free_used (Caching *caching, CachingBlock *block)
{
  if (G_UNLIKELY (caching->holding))
    gemem_caching_hold (caching, block);
  else
    gemem_caching_record_events (caching, block);
}

/* Removes the first event from @queue; its block may become free. */
static void
pop_event (Caching *caching, CachingQueue *queue)
{
  CachingEvent *event = queue->head;
  CachingBlock *block = event->block;

  queue->head = event->next;
  if (queue->head == NULL)
    queue->tail = NULL;
  gemem_slab_free (&caching->event_slab, event);
  caching->outstanding--;
  if (--block->events == 0)
    gemem_caching_finish (caching, block);
}

void
gemem_caching_process_events (Caching *caching)
{
  if (G_LIKELY (caching->outstanding == 0))
    return;
  gemem_caching_settle (caching);
  for (guint i = 0; i < caching->queues->len; i++)
    {
      CachingQueue *queue = &g_array_index (caching->queues, CachingQueue, i);

      while (queue->head != NULL
             && gemem_device_event_query (caching->base.device, queue->head->event))
        pop_event (caching, queue);
    }
}

/* ---- completion delivered by the engine */

void
gemem_caching_wait (Caching *caching, CachingBlock *block)
{
  while (block->uses != NULL)
    {
      CachingUse *use = block->uses;

      block->uses = use->next;
      gemem_slab_free (&caching->use_slab, use);
    }
  block->state = CACHING_PENDING;
  block->owed = TRUE;
  block->owed_next = NULL;
  block->owed_previous = caching->owed_last;
  if (caching->owed_last != NULL)
    caching->owed_last->owed_next = block;
  else
    caching->owed_first = block;
  caching->owed_last = block;
}

static void
unlink_owed (Caching *caching, CachingBlock *block)
{
  if (block->owed_previous != NULL)
    block->owed_previous->owed_next = block->owed_next;
  else
    caching->owed_first = block->owed_next;
  if (block->owed_next != NULL)
    block->owed_next->owed_previous = block->owed_previous;
  else
    caching->owed_last = block->owed_previous;
  block->owed_previous = block->owed_next = NULL;
  block->owed = FALSE;
}

void
gemem_caching_complete (Caching *caching, CachingBlock *block)
{
  if (block->state == CACHING_GONE)
    {
      gemem_slab_free (&caching->block_slab, block);
      return;
    }
  if (!block->owed) /* no complete() was announced for this block */
    return;
  unlink_owed (caching, block);
  gemem_caching_finish (caching, block);
}

/* Frees the bytes of @block; the struct remains as the handle for its later complete(). */
static void
give_up (Caching *caching, CachingBlock *block)
{
  CachingBlock *heir = gemem_slab_alloc (&caching->block_slab);

  unlink_owed (caching, block);
  *heir = *block;
  if (heir->previous != NULL)
    heir->previous->next = heir;
  else
    heir->segment->first = heir;
  if (heir->next != NULL)
    heir->next->previous = heir;
  block->state = CACHING_GONE;
  gemem_caching_finish (caching, heir);
}

void
gemem_caching_synchronize (Caching *caching)
{
  gemem_caching_settle (caching);
  for (guint i = 0; i < caching->queues->len; i++)
    {
      CachingQueue *queue = &g_array_index (caching->queues, CachingQueue, i);

      while (queue->head != NULL)
        {
          gemem_device_event_sync (caching->base.device, queue->head->event);
          pop_event (caching, queue);
        }
    }
  while (caching->owed_first != NULL)
    give_up (caching, caching->owed_first);
}
