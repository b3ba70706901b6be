/* live.c - see live.h. */
#include "config.h"

#include "sim/engine/live.h"

void
gemem_live_init (GememLiveTable *table)
{
  table->map = gemem_idmap_new (sizeof (GememLive *));
  table->unused = NULL;
  gemem_slab_init (&table->slab, sizeof (GememLive));
}

void
gemem_live_clear (GememLiveTable *table)
{
  gemem_idmap_free (table->map);
  gemem_slab_clear (&table->slab);
}

static int
compare_addresses (gconstpointer a, gconstpointer b)
{
  const GememLiveRow *x = a, *y = b;
  return x->address != y->address ? (x->address < y->address ? -1 : 1)
         : x->id < y->id          ? -1
                                  : x->id > y->id;
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  const GememLiveRow *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

GArray *
gemem_live_rows (const GememLiveTable *table, gboolean by_id)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (GememLiveRow));
  gsize position = 0;
  gpointer record;
  guint64 id;

  while (gemem_idmap_next (table->map, &position, &id, &record))
    {
      const GememLive *live = *(GememLive *const *) record;
      GememLiveRow row = { live->block.address, id, live };
      if ((live->flags & (GEMEM_LIVE_UNSERVED | GEMEM_LIVE_GONE)) == 0)
        g_array_append_val (rows, row);
    }
  g_array_sort (rows, by_id ? compare_ids : compare_addresses);
  return rows;
}

static void
add_span (const GememSpan *span, gpointer data)
{
  g_array_append_vals (data, span, 1);
}

GArray *
gemem_spans_of (GememAllocator *allocator)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  allocator->klass->walk (allocator, add_span, spans);
  return spans;
}
