/* lifetimes.c - see lifetimes.h. */
#include "config.h"

#include <stdlib.h>

#include "base/lifetimes.h"
#include "base/radix.h"
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
  g_clear_pointer (&lifetimes->gaps, g_array_unref);
  g_clear_pointer (&lifetimes->places, g_array_unref);
  g_clear_pointer (&lifetimes->names, g_ptr_array_unref);
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

  g_assert (begin < end);
  g_array_append_val (lifetimes->items, item);
  lifetimes->steps = MAX (lifetimes->steps, end);
}

/* ---- pieces */

static void
add_piece (GArray *pieces, const GememLifePiece *piece)
{
  if (piece->begin < piece->end && piece->low < piece->high)
    g_array_append_val (pieces, *piece);
}

GArray *
gemem_lifetimes_pieces (const GememLifetimes *lifetimes, guint32 **starts)
{
  const guint n = lifetimes->items->len,
              n_gaps = lifetimes->gaps != NULL ? lifetimes->gaps->len : 0;
  GArray *pieces = g_array_sized_new (FALSE, FALSE, sizeof (GememLifePiece), n + n_gaps);
  guint gap = 0;

  *starts = g_new (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      GememLifePiece whole = { life->begin, 0, 0, life->size, i };

      (*starts)[i] = pieces->len;
      for (; gap < n_gaps && g_array_index (lifetimes->gaps, GememLifeGap, gap).item == i; gap++)
        {
          const GememLifeGap *own = &g_array_index (lifetimes->gaps, GememLifeGap, gap);

          whole.end = own->begin;
          add_piece (pieces, &whole);
          add_piece (pieces, own);
          whole.begin = own->end;
        }
      whole.end = life->safe_end;
      add_piece (pieces, &whole);
    }
  (*starts)[n] = pieces->len;
  return pieces;
}

char *
gemem_lifetimes_name (const GememLifetimes *lifetimes, guint32 item)
{
  if (lifetimes->names != NULL)
    return g_strdup_printf ("buffer '%s'", (const char *) lifetimes->names->pdata[item]);
  return g_strdup_printf ("item %u (id %" G_GUINT64_FORMAT ")", item,
                          gemem_lifetimes_get (lifetimes, item)->id);
}

/* ---- the bound */

/* How much more (modulo 2^64: less) is in use from a step on. */
typedef struct
{
  guint64 step, more;
} Edge;

/* What all offsets are multiples of: an item of a larger alignment may be followed by one of a smaller
 * in the bytes up to its next multiple, so that only this much is lost for certain. */
guint64
gemem_lifetimes_unit (const GememLifetimes *lifetimes, guint64 alignment)
{
  guint64 unit = MAX (alignment, 1);

  for (guint i = 0; i < lifetimes->items->len && unit > 1; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      const guint64 place = gemem_lifetimes_place (lifetimes, i);

      if (life->size > 0)
        unit = gemem_common_divisor (unit, life->alignment);
      if (place != GEMEM_ANY_PLACE)
        unit = gemem_common_divisor (unit, place);
    }
  for (guint i = 0; lifetimes->gaps != NULL && i < lifetimes->gaps->len && unit > 1; i++)
    {
      const GememLifeGap *gap = &g_array_index (lifetimes->gaps, GememLifeGap, i);

      if (gap->low < gap->high)
        unit = gemem_common_divisor (unit, gap->low);
      if (gap->low < gap->high && gap->high < gemem_lifetimes_get (lifetimes, gap->item)->size)
        unit = gemem_common_divisor (unit, gap->high);
    }
  return unit;
}

static void
add_edges (GArray *edges, guint64 begin, guint64 end, guint64 bytes)
{
  const Edge pair[] = { { begin, bytes }, { end, -bytes } };

  g_array_append_vals (edges, pair, 2);
}

/* Begins and ends of what is in use of @space (-1: of all). */
static GArray *
list_edges (const GememLifetimes *lifetimes, gint64 space, guint64 unit)
{
  const guint n = lifetimes->items->len;
  GArray *edges = g_array_sized_new (FALSE, FALSE, sizeof (Edge), 2 * n);
  g_autofree guint32 *starts = NULL;
  g_autoptr (GArray) pieces = lifetimes->gaps != NULL ? gemem_lifetimes_pieces (lifetimes, &starts)
                                                      : NULL;

  for (guint i = 0; i < n && pieces == NULL; i++)
    {
      const GememLifetime *item = gemem_lifetimes_get (lifetimes, i);

      if (space < 0 || item->space == space)
        add_edges (edges, item->begin, item->end, gemem_round_up (item->size, unit));
    }
  for (guint i = 0; pieces != NULL && i < pieces->len; i++)
    {
      const GememLifePiece *piece = &g_array_index (pieces, GememLifePiece, i);

      if (space < 0 || gemem_lifetimes_get (lifetimes, piece->item)->space == space)
        add_edges (edges, piece->begin, piece->end,
                   gemem_round_up (piece->high - piece->low, unit));
    }
  g_autofree Edge *spare = g_new (Edge, (gsize) edges->len + 1);
  gemem_radix_sort (edges->data, spare, edges->len, sizeof (Edge));
  return edges;
}

guint64
gemem_lifetimes_load (const GememLifetimes *lifetimes, gint64 space, guint64 unit, guint64 *step)
{
  g_autoptr (GArray) edges = list_edges (lifetimes, space, unit);
  guint64 live = 0, most = 0;

  *step = 0;
  for (guint i = 0; i < edges->len; i++)
    {
      const Edge *edge = &g_array_index (edges, Edge, i);

      live += edge->more;
      if (live <= most || (i + 1 < edges->len && edge[1].step == edge->step))
        continue; /* ends and begins of one step come in any order, and count together */
      most = live;
      *step = edge->step;
    }
  return most;
}

/* The highest end that an item has by itself. */
static guint64
highest_end (const GememLifetimes *lifetimes, guint64 unit)
{
  guint64 most = 0;

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const guint64 place = gemem_lifetimes_place (lifetimes, i);

      most = MAX (most, (place != GEMEM_ANY_PLACE ? place : 0)
                            + gemem_round_up (gemem_lifetimes_get (lifetimes, i)->size, unit));
    }
  return most;
}

guint64
gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment)
{
  const guint64 unit = gemem_lifetimes_unit (lifetimes, alignment);
  guint64 step;

  return MAX (gemem_lifetimes_load (lifetimes, -1, unit, &step), highest_end (lifetimes, unit));
}
