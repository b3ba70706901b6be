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

static guint64
round_up (guint64 size, guint64 alignment)
{
  return alignment > 1 ? gemem_round_up (size, alignment) : size;
}

guint64
gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment)
{
  const guint n = lifetimes->items->len;
  g_autofree Edge *edges = g_new (Edge, 2 * (gsize) n + 1);
  guint64 live = 0, most = 0;

  for (guint i = 0; i < n; i++)
    {
      const GememLifetime *item = gemem_lifetimes_get (lifetimes, i);
      const guint64 bytes = round_up (item->size, MAX (alignment, item->alignment));

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
