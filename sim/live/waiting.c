/* waiting.c - see waiting.h. */
#include "config.h"

#include "sim/live/waiting.h"

typedef struct
{
  guint64 id;
  guint marks; /* events not known to be complete */
} Block;

typedef struct
{
  GememDeviceEvent event;
  Block *block;
} Mark;

void
gemem_waiting_init (GememWaiting *waiting, GememDevice *device)
{
  waiting->device = device;
  waiting->queues = g_ptr_array_new_with_free_func ((GDestroyNotify) g_queue_free);
  waiting->count = 0;
  g_queue_init (&waiting->ready);
  gemem_slab_init (&waiting->marks, sizeof (Mark));
  gemem_slab_init (&waiting->blocks, sizeof (Block));
}

void
gemem_waiting_clear (GememWaiting *waiting)
{
  g_ptr_array_unref (waiting->queues);
  g_queue_clear (&waiting->ready);
  gemem_slab_clear (&waiting->marks);
  gemem_slab_clear (&waiting->blocks);
}

static void
add_mark (GememWaiting *waiting, Block *block, guint64 stream)
{
  const GememDeviceEvent event = gemem_device_event_record (waiting->device, stream);
  Mark *mark;

  if (event == 0)
    {
      gemem_device_stream_sync (waiting->device, stream);
      return;
    }
  while (waiting->queues->len <= stream)
    g_ptr_array_add (waiting->queues, g_queue_new ());
  mark = gemem_slab_alloc (&waiting->marks);
  *mark = (Mark){ event, block };
  g_queue_push_tail (g_ptr_array_index (waiting->queues, stream), mark);
  block->marks++;
}

void
gemem_waiting_add (GememWaiting *waiting, guint64 id, const guint64 *streams, guint n)
{
  Block *block = gemem_slab_alloc (&waiting->blocks);

  block->id = id;
  for (guint i = 0; i < n; i++)
    add_mark (waiting, block, streams[i]);
  if (block->marks == 0)
    g_queue_push_tail (&waiting->ready, block);
  waiting->count++;
}

/* Removes the first event of @queue, which is complete. */
static void
end_first (GememWaiting *waiting, GQueue *queue)
{
  Mark *mark = g_queue_pop_head (queue);

  if (--mark->block->marks == 0)
    g_queue_push_tail (&waiting->ready, mark->block);
  gemem_slab_free (&waiting->marks, mark);
}

/* Processes completed events.  @wait: waits for the first event of each stream until a block is
 * ready. */
static void
look (GememWaiting *waiting, gboolean wait)
{
  for (guint i = 0; i < waiting->queues->len; i++)
    {
      GQueue *queue = g_ptr_array_index (waiting->queues, i);
      Mark *mark;

      while ((mark = g_queue_peek_head (queue)) != NULL)
        {
          if (wait && g_queue_is_empty (&waiting->ready))
            gemem_device_event_sync (waiting->device, mark->event);
          else if (!gemem_device_event_query (waiting->device, mark->event))
            break;
          end_first (waiting, queue);
        }
    }
}

gboolean
gemem_waiting_take (GememWaiting *waiting, gboolean wait, guint64 *id)
{
  Block *block;

  if (waiting->count == 0)
    return FALSE;
  if (g_queue_is_empty (&waiting->ready))
    look (waiting, wait);
  block = g_queue_pop_head (&waiting->ready);
  if (block == NULL)
    return FALSE;
  *id = block->id;
  gemem_slab_free (&waiting->blocks, block);
  waiting->count--;
  return TRUE;
}
