/* live.c - see live.h. */
#include "config.h"

#include <stdlib.h>

#include "base/huge.h"
#include "sim/engine/live.h"

#define BITS_MIN 6
#define SPARE 4  /* slots per record from which on the table is doubled */
#define EMPTY 32 /* slots per record below which removals are calm */

static gsize
n_slots (const GememLiveTable *table)
{
  return (gsize) 1 << (64 - table->shift);
}

static void
set_slots (GememLiveTable *table, guint bits)
{
  const gsize n = (gsize) 1 << bits;

  table->slots = gemem_huge_alloc0 (n * sizeof *table->slots);
  table->shift = 64 - bits;
  table->grow = n / SPARE;
  table->shrink = bits > BITS_MIN ? n / EMPTY : 0;
  table->calm = 0;
}

/* Doubles (@step 1) or halves (-1) the number of slots, or leaves it (0). */
static void
resize (GememLiveTable *table, int step)
{
  const gsize n = n_slots (table);
  GememLive **old = table->slots;

  set_slots (table, (guint) ((int) (64 - table->shift) + step));
  for (gsize i = 0; i < n; i++)
    for (GememLive *live = old[i], *next; live != NULL; live = next)
      {
        GememLive **slot = gemem_live_slot (table, live->id);

        next = live->chained;
        live->chained = *slot;
        *slot = live;
      }
  free (old);
}

void
gemem_live_grow (GememLiveTable *table)
{
  resize (table, 1);
}

void
gemem_live_calm (GememLiveTable *table)
{
  if (++table->calm > n_slots (table))
    resize (table, -1);
}

void
gemem_live_spread (GememLiveTable *table)
{
  if (gemem_spread_next (&table->spread))
    resize (table, 0);
}

void
gemem_live_init (GememLiveTable *table)
{
  *table = (GememLiveTable){ .spread = GEMEM_SPREAD_INIT };
  set_slots (table, BITS_MIN);
  gemem_slab_init (&table->slab, sizeof (GememLive));
}

void
gemem_live_clear (GememLiveTable *table)
{
  free (table->slots);
  gemem_slab_clear (&table->slab);
}

const GememLive *
gemem_live_next (const GememLiveTable *table, const GememLive *live)
{
  GememLive *const *slot = table->slots, *const *end = slot + n_slots (table);

  if (live != NULL && live->chained != NULL)
    return live->chained;
  if (live != NULL)
    slot = gemem_live_slot (table, live->id) + 1;
  while (slot < end && *slot == NULL)
    slot++;
  return slot < end ? *slot : NULL;
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

/* TRUE: there is memory for it now. */
static gboolean
is_served (const GememLive *live)
{
  return (live->flags & (GEMEM_LIVE_UNSERVED | GEMEM_LIVE_GONE)) == 0;
}

guint
gemem_live_count (const GememLiveTable *table)
{
  guint n = 0;

  for (const GememLive *live = NULL; (live = gemem_live_next (table, live)) != NULL;)
    n += is_served (live);
  return n;
}

void
gemem_live_rows_into (GArray *rows, const GememLiveTable *table, gboolean by_id)
{
  g_array_set_size (rows, 0);
  for (const GememLive *live = NULL; (live = gemem_live_next (table, live)) != NULL;)
    {
      const GememLiveRow row = { live->block.address, live->id, live };

      if (is_served (live))
        g_array_append_val (rows, row);
    }
  g_array_sort (rows, by_id ? compare_ids : compare_addresses);
}

GArray *
gemem_live_rows (const GememLiveTable *table, gboolean by_id)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (GememLiveRow));

  gemem_live_rows_into (rows, table, by_id);
  return rows;
}

const GememLiveRow *
gemem_live_row_from (const GArray *rows, guint64 address)
{
  guint low = 0, high = rows->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (g_array_index (rows, GememLiveRow, middle).address < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low < rows->len ? &g_array_index (rows, GememLiveRow, low) : NULL;
}

static void
add_span (const GememSpan *span, gpointer data)
{
  g_array_append_vals (data, span, 1);
}

void
gemem_spans_into (GArray *spans, GememAllocator *allocator)
{
  g_array_set_size (spans, 0);
  allocator->klass->walk (allocator, add_span, spans);
}

GArray *
gemem_spans_of (GememAllocator *allocator)
{
  GArray *spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_spans_into (spans, allocator);
  return spans;
}
