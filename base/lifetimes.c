/* lifetimes.c - see lifetimes.h. */
#include "config.h"

#include <stdlib.h>

#include "base/lifetimes.h"
#include "base/units.h"

GememLifetimes *
gemem_lifetimes_new (const char *name)
{
  GememLifetimes *lifetimes = g_new0 (GememLifetimes, 1);

  lifetimes->items = g_array_new (FALSE, FALSE, sizeof (GememLifetime));
  lifetimes->name = g_strdup (name);
  return lifetimes;
}

void
gemem_lifetimes_free (GememLifetimes *lifetimes)
{
  if (lifetimes == NULL)
    return;
  g_array_unref (lifetimes->items);
  g_free (lifetimes->name);
  g_free (lifetimes);
}

void
gemem_lifetimes_add (GememLifetimes *lifetimes, guint64 begin, guint64 end, guint64 size)
{
  const guint32 number = lifetimes->items->len;
  GememLifetime item = {
    .begin = begin, .end = end, .safe_end = end, .size = size, .id = number, .tag = number
  };

  g_assert (begin < end && size > 0);
  g_array_append_val (lifetimes->items, item);
  lifetimes->steps = MAX (lifetimes->steps, end);
}

typedef struct
{
  guint64 step, bytes;
  gboolean begins;
} Edge;

/* At equal steps ends precede begins, because intervals are half-open. */
static int
compare_edges (gconstpointer a, gconstpointer b)
{
  const Edge *x = a, *y = b;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->begins - y->begins;
}

/* What all offsets are multiples of: an item of a larger alignment may be followed by one of a smaller
 * in the bytes up to its next multiple, so that only this much is lost for certain. */
static guint64
common_unit (const GememLifetimes *lifetimes, guint64 alignment)
{
  guint64 unit = MAX (alignment, 1);

  for (guint i = 0; i < lifetimes->items->len && unit > 1; i++)
    if (gemem_lifetimes_get (lifetimes, i)->alignment != 0)
      unit = gemem_common_divisor (unit, gemem_lifetimes_get (lifetimes, i)->alignment);
  return unit;
}

guint64
gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment)
{
  const guint n = lifetimes->items->len;
  g_autofree Edge *edges = g_new (Edge, 2 * (gsize) n + 1);
  const guint64 unit = common_unit (lifetimes, alignment);
  guint64 live = 0, most = 0;

  for (guint i = 0; i < n; i++)
    {
      const GememLifetime *item = gemem_lifetimes_get (lifetimes, i);
      const guint64 bytes = gemem_round_up (item->size, unit);

      edges[2 * i] = (Edge){ item->begin, bytes, TRUE };
      edges[2 * i + 1] = (Edge){ item->end, bytes, FALSE };
    }
  qsort (edges, 2 * (gsize) n, sizeof (Edge), compare_edges);
  for (gsize i = 0; i < 2 * (gsize) n; i++)
    {
      live = edges[i].begins ? live + edges[i].bytes : live - edges[i].bytes;
      most = MAX (most, live);
    }
  return most;
}
