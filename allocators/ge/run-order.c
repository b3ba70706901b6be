/* run-order.c - see run-order.h. */
#include "config.h"

#include "allocators/ge/run-order.h"

static void
free_run (gpointer data)
{
  GeOpenRun *run = data;

  g_array_unref (run->after);
  gemem_idmap_free (run->events);
  g_free (run);
}

void
gemem_ge_run_order_init (GeRunOrder *order)
{
  order->open = g_ptr_array_new_with_free_func (free_run);
}

void
gemem_ge_run_order_clear (GeRunOrder *order)
{
  g_ptr_array_unref (order->open);
}

static GeOpenRun *
open_run (const GeRunOrder *order, guint i)
{
  return g_ptr_array_index (order->open, i);
}

static gboolean
follows (const GeOpenRun *run, guint64 stream)
{
  for (guint i = 0; i < run->after->len; i++)
    if (g_array_index (run->after, guint64, i) == stream)
      return TRUE;
  return FALSE;
}

gboolean
gemem_ge_run_order_check (const GeRunOrder *order, GememAllocator *allocator, guint64 graph,
                          guint64 stream, const char *where, gboolean strict)
{
  static const char text[] = "graph %" G_GUINT64_FORMAT " is run on stream %" G_GUINT64_FORMAT
                             " while the run of graph %" G_GUINT64_FORMAT
                             " on stream %" G_GUINT64_FORMAT
                             " has not ended; they share memory %s, which the manual forbids";

  for (guint i = 0; i < order->open->len; i++)
    {
      const GeOpenRun *run = open_run (order, i);
      g_autofree char *said = NULL;

      if (follows (run, stream))
        continue;
      said = g_strdup_printf (text, graph, stream, run->graph, run->stream, where);
      if (strict)
        gemem_allocator_refuse (allocator,
                                "%s (strict=yes); let one run end before the other begins, or give "
                                "strict=no",
                                said);
      else
        gemem_allocator_break_rule (
            allocator, "%s; live and allocated bytes count it for each of the running graphs",
            said);
      return FALSE;
    }
  return TRUE;
}

void
gemem_ge_run_order_begin (GeRunOrder *order, guint64 graph, guint64 stream, guint64 bytes)
{
  GeOpenRun *run = g_new (GeOpenRun, 1);

  gemem_ge_run_order_sync (order, stream); /* what it follows ends before it begins */
  *run = (GeOpenRun){ .graph = graph,
                      .stream = stream,
                      .bytes = bytes,
                      .after = g_array_new (FALSE, FALSE, sizeof (guint64)),
                      .events = gemem_idmap_new (0) };
  g_array_append_val (run->after, stream);
  g_ptr_array_add (order->open, run);
}

void
gemem_ge_run_order_end (GeRunOrder *order, guint64 graph)
{
  for (guint i = order->open->len; i-- > 0;)
    if (open_run (order, i)->graph == graph)
      g_ptr_array_remove_index (order->open, i);
}

void
gemem_ge_run_order_sync (GeRunOrder *order, guint64 stream)
{
  for (guint i = order->open->len; i-- > 0;)
    if (stream == G_MAXUINT64 || follows (open_run (order, i), stream))
      g_ptr_array_remove_index (order->open, i);
}

void
gemem_ge_run_order_record (GeRunOrder *order, guint64 event, guint64 stream)
{
  for (guint i = 0; i < order->open->len; i++)
    if (follows (open_run (order, i), stream))
      gemem_idmap_insert (open_run (order, i)->events, event, NULL);
    else
      gemem_idmap_remove (open_run (order, i)->events, event, NULL);
}

void
gemem_ge_run_order_wait (GeRunOrder *order, guint64 event, guint64 stream)
{
  for (guint i = 0; i < order->open->len; i++)
    if (gemem_idmap_lookup (open_run (order, i)->events, event) != NULL
        && !follows (open_run (order, i), stream))
      g_array_append_val (open_run (order, i)->after, stream);
}

/* TRUE if an earlier run is of the same graph as run @i, which has its memory once. */
static gboolean
is_repeated (const GeRunOrder *order, guint i)
{
  for (guint before = 0; before < i; before++)
    if (open_run (order, before)->graph == open_run (order, i)->graph)
      return TRUE;
  return FALSE;
}

guint64
gemem_ge_run_order_bytes (const GeRunOrder *order)
{
  guint64 bytes = 0;

  for (guint i = 0; i < order->open->len; i++)
    if (!is_repeated (order, i))
      bytes += open_run (order, i)->bytes;
  return bytes;
}
