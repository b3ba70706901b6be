/* run-order.c - see run-order.h. */
#include "config.h"

#include "allocators/ge/run-order.h"

void
gemem_ge_run_order_init (GeRunOrder *order)
{
  *order = (GeRunOrder){ .after = g_array_new (FALSE, FALSE, sizeof (guint64)),
                         .events = gemem_idmap_new (0) };
}

void
gemem_ge_run_order_clear (GeRunOrder *order)
{
  g_array_unref (order->after);
  gemem_idmap_free (order->events);
}

gboolean
gemem_ge_run_order_follows (const GeRunOrder *order, guint64 stream)
{
  for (guint i = 0; order->open && i < order->after->len; i++)
    if (g_array_index (order->after, guint64, i) == stream)
      return TRUE;
  return !order->open;
}

void
gemem_ge_run_order_begin (GeRunOrder *order, guint64 graph, guint64 stream)
{
  order->open = TRUE;
  order->graph = graph;
  order->stream = stream;
  g_array_set_size (order->after, 0);
  g_array_append_val (order->after, stream);
  if (gemem_idmap_count (order->events) > 0)
    gemem_idmap_clear (order->events);
}

void
gemem_ge_run_order_end (GeRunOrder *order, guint64 graph)
{
  if (order->graph == graph)
    order->open = FALSE;
}

void
gemem_ge_run_order_sync (GeRunOrder *order, guint64 stream)
{
  if (stream == G_MAXUINT64 || gemem_ge_run_order_follows (order, stream))
    order->open = FALSE;
}

void
gemem_ge_run_order_record (GeRunOrder *order, guint64 event, guint64 stream)
{
  if (order->open && gemem_ge_run_order_follows (order, stream))
    gemem_idmap_insert (order->events, event, NULL);
  else
    gemem_idmap_remove (order->events, event, NULL);
}

void
gemem_ge_run_order_wait (GeRunOrder *order, guint64 event, guint64 stream)
{
  if (gemem_idmap_lookup (order->events, event) != NULL
      && !gemem_ge_run_order_follows (order, stream))
    g_array_append_val (order->after, stream);
}
