/* stream-order.c - see stream-order.h. */
#include "config.h"

#include "sim/engine/stream-order.h"

#define EVENTS_MAX 65536
#define WAITS_MAX 1024

/* From tick `at` on, a stream's work runs after that queued on stream `index` up to `tick`. */
typedef struct
{
  guint64 at, tick;
  guint index;
} Wait;

typedef struct _Mark Mark;
struct _Mark
{
  Mark *next; /* with the same key */
  guint64 tick;
  guint index;
};

static void
marks_init (GememStreamMarks *marks)
{
  marks->map = gemem_idmap_new (sizeof (Mark *));
  gemem_slab_init (&marks->slab, sizeof (Mark));
  marks->n = 0;
}

static void
marks_clear (GememStreamMarks *marks)
{
  gemem_idmap_free (marks->map);
  gemem_slab_clear (&marks->slab);
}

void
gemem_stream_order_init (GememStreamOrder *order)
{
  order->streams = g_array_new (FALSE, FALSE, sizeof (GememStreamState));
  order->index = gemem_idmap_new (sizeof (guint64));
  order->pending = g_array_new (FALSE, FALSE, sizeof (Wait));
  marks_init (&order->traced);
  marks_init (&order->of_device);
}

void
gemem_stream_order_clear (GememStreamOrder *order)
{
  for (guint i = 0; i < order->streams->len; i++)
    g_clear_pointer (&gemem_stream_order_at (order, i)->waits, g_array_unref);
  g_array_unref (order->streams);
  g_array_unref (order->pending);
  gemem_idmap_free (order->index);
  marks_clear (&order->traced);
  marks_clear (&order->of_device);
}

guint
gemem_stream_order_index (GememStreamOrder *order, guint64 stream)
{
  gboolean existed;
  guint64 *index = gemem_idmap_insert (order->index, stream, &existed);

  if (!existed)
    {
      const GememStreamState state = { .stream = stream };
      *index = order->streams->len;
      g_array_append_val (order->streams, state);
    }
  return (guint) *index;
}

/* ---- completed work */

/* Raises the completed tick of one stream, and queues the streams it had waited for. */
static void
raise_one (GememStreamOrder *order, guint index, guint64 tick)
{
  GememStreamState *state = gemem_stream_order_at (order, index);
  guint n = 0;

  if (tick <= state->done)
    return;
  state->done = tick;
  if (state->waits == NULL)
    return;
  while (n < state->waits->len && g_array_index (state->waits, Wait, n).at <= tick)
    n++;
  g_array_append_vals (order->pending, state->waits->data, n);
  g_array_remove_range (state->waits, 0, n);
}

void
gemem_stream_order_complete (GememStreamOrder *order, guint index, guint64 tick)
{
  raise_one (order, index, tick);
  while (order->pending->len > 0)
    {
      const Wait wait = g_array_index (order->pending, Wait, order->pending->len - 1);
      g_array_set_size (order->pending, order->pending->len - 1);
      raise_one (order, wait.index, wait.tick);
    }
}

void
gemem_stream_order_complete_all (GememStreamOrder *order, guint64 tick)
{
  for (guint i = 0; i < order->streams->len; i++)
    gemem_stream_order_complete (order, i, tick);
}

/* ---- events */

/* Removes the chain of @key; @reached: its events are complete. */
static void
take_out (GememStreamOrder *order, GememStreamMarks *marks, guint64 key, gboolean reached)
{
  Mark *mark;

  if (!gemem_idmap_remove (marks->map, key, &mark))
    return;
  while (mark != NULL)
    {
      Mark *next = mark->next;
      if (reached)
        gemem_stream_order_complete (order, mark->index, mark->tick);
      gemem_slab_free (&marks->slab, mark);
      marks->n--;
      mark = next;
    }
}

/* Drops all events when there are EVENTS_MAX; they are taken to be complete. */
static void
forget_all (GememStreamOrder *order, GememStreamMarks *marks)
{
  gsize position = 0;
  gpointer record;
  guint64 key;

  while (gemem_idmap_next (marks->map, &position, &key, &record))
    for (const Mark *mark = *(Mark *const *) record; mark != NULL; mark = mark->next)
      gemem_stream_order_complete (order, mark->index, mark->tick);
  marks_clear (marks);
  marks_init (marks);
}

void
gemem_stream_order_record (GememStreamOrder *order, GememStreamMarks *marks, guint64 key,
                           guint index, guint64 tick, gboolean again)
{
  Mark *mark, **head;

  if (again)
    take_out (order, marks, key, FALSE);
  if (marks->n >= EVENTS_MAX)
    forget_all (order, marks);
  head = gemem_idmap_insert (marks->map, key, NULL);
  mark = gemem_slab_alloc (&marks->slab);
  *mark = (Mark){ .next = *head, .tick = tick, .index = index };
  *head = mark;
  marks->n++;
}

void
gemem_stream_order_wait (GememStreamOrder *order, GememStreamMarks *marks, guint64 key, guint index,
                         guint64 tick)
{
  GememStreamState *state = gemem_stream_order_at (order, index);
  Mark *const *head = gemem_idmap_lookup (marks->map, key);

  for (const Mark *mark = head != NULL ? *head : NULL; mark != NULL; mark = mark->next)
    {
      const Wait wait = { .at = tick, .tick = mark->tick, .index = mark->index };
      if (mark->index == index || mark->tick <= gemem_stream_order_at (order, mark->index)->done)
        continue;
      if (state->waits == NULL)
        state->waits = g_array_new (FALSE, FALSE, sizeof (Wait));
      if (state->waits->len >= WAITS_MAX)
        {
          const Wait oldest = g_array_index (state->waits, Wait, 0);
          g_array_remove_index (state->waits, 0);
          gemem_stream_order_complete (order, oldest.index, oldest.tick);
        }
      g_array_append_val (state->waits, wait);
    }
}

void
gemem_stream_order_reached (GememStreamOrder *order, GememStreamMarks *marks, guint64 key)
{
  take_out (order, marks, key, TRUE);
}
