/* nested.c - see nested.h. */
#include "config.h"

#include <stdlib.h>

#include "planners/fit.h"
#include "planners/optimal/dive.h"
#include "planners/optimal/nested.h"

#define NONE G_MAXUINT32

/* An item with a gap that nests. */
typedef struct
{
  guint32 item;
  guint64 begin, end; /* of its gap; begin: as late as its neighbours above need it */
  guint32 halves[2];  /* pieces */
} Nested;

typedef struct
{
  const GememLifetimes *lifetimes;
  guint64 begin, end;     /* of the items that nest */
  GArray *nested;         /* Nested, from the bottom up */
  GememLifetimes *pieces; /* two for each that nests, one for each other item; tag: the item */
  guint32 *bottom;        /* by piece: its rank in the stack at the bottom, or NONE */
  guint32 n_bottom;
  gint64 *offsets; /* by piece, of the dive that runs */
  const GememStop *stop;
} Nesting;

/* ---- which gaps */

/* The only gap of @item, in which nothing is in use; NULL: it has none of the kind.  @at: of its first gap. */
static const GememLifeGap *
whole_gap (const GememLifetimes *lifetimes, guint at)
{
  const GArray *gaps = lifetimes->gaps;
  const GememLifeGap *gap = &g_array_index (gaps, GememLifeGap, at);
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, gap->item);

  if ((at > 0 && gap[-1].item == gap->item) || (at + 1 < gaps->len && gap[1].item == gap->item))
    return NULL;
  return gap->low == gap->high && gap->begin > life->begin && gap->end < life->end ? gap : NULL;
}

static int
compare_gaps (gconstpointer a, gconstpointer b)
{
  const Nested *x = a, *y = b;

  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin > y->begin ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* The items with the life of the largest item that has a gap. */
static void
find_nested (Nesting *nesting)
{
  const GememLifetimes *lifetimes = nesting->lifetimes;
  guint64 largest = 0;

  for (guint i = 0; i < lifetimes->gaps->len; i++)
    {
      const GememLifeGap *gap = whole_gap (lifetimes, i);
      const GememLifetime *life = gap != NULL ? gemem_lifetimes_get (lifetimes, gap->item) : NULL;

      if (life == NULL || life->size <= largest)
        continue;
      largest = life->size;
      nesting->begin = life->begin;
      nesting->end = life->end;
    }
  for (guint i = 0; i < lifetimes->gaps->len; i++)
    {
      const GememLifeGap *gap = whole_gap (lifetimes, i);
      const GememLifetime *life = gap != NULL ? gemem_lifetimes_get (lifetimes, gap->item) : NULL;

      if (life != NULL && life->begin == nesting->begin && life->end == nesting->end)
        {
          const Nested nested = { gap->item, gap->begin, gap->end, { NONE, NONE } };
          g_array_append_val (nesting->nested, nested);
        }
    }
}

/* Makes every gap begin no earlier than those above; what has none then is no gap. */
static void
nest (Nesting *nesting)
{
  GArray *all = nesting->nested;
  guint64 latest = 0;
  guint n = 0;

  g_array_sort (all, compare_gaps);
  for (guint i = all->len; i-- > 0;)
    {
      Nested *nested = &g_array_index (all, Nested, i);

      latest = MAX (latest, nested->begin);
      if (latest < nested->end)
        nested->begin = latest;
      else
        nested->item = NONE;
    }
  for (guint i = 0; i < all->len; i++)
    if (g_array_index (all, Nested, i).item != NONE)
      g_array_index (all, Nested, n++) = g_array_index (all, Nested, i);
  g_array_set_size (all, n);
}

/* ---- the pieces */

static guint32
add_piece (Nesting *nesting, guint32 item, guint64 begin, guint64 end)
{
  const GememLifetime *life = gemem_lifetimes_get (nesting->lifetimes, item);
  const guint32 number = nesting->pieces->items->len;
  GememLifetime *piece;

  gemem_lifetimes_add (nesting->pieces, begin, end, life->size);
  piece = gemem_lifetimes_get (nesting->pieces, number);
  piece->alignment = life->alignment;
  piece->space = life->space;
  piece->tag = item;
  return number;
}

static void
cut_into_pieces (Nesting *nesting)
{
  const guint n = nesting->lifetimes->items->len;
  g_autofree guint32 *number = g_new0 (guint32, (gsize) n + 1);

  for (guint i = 0; i < nesting->nested->len; i++)
    number[g_array_index (nesting->nested, Nested, i).item] = i + 1;
  for (guint32 i = 0; i < n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (nesting->lifetimes, i);

      if (number[i] == 0)
        {
          add_piece (nesting, i, life->begin, life->safe_end);
          continue;
        }
      Nested *nested = &g_array_index (nesting->nested, Nested, number[i] - 1);
      nested->halves[0] = add_piece (nesting, i, life->begin, nested->begin);
      nested->halves[1] = add_piece (nesting, i, nested->end, life->end);
    }
}

typedef struct
{
  guint64 begin, end;
  guint32 piece;
} Whole;

/* What lives longest first. */
static int
compare_wholes (gconstpointer a, gconstpointer b)
{
  const Whole *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end > y->end ? -1 : 1;
  return x->piece < y->piece ? -1 : x->piece > y->piece;
}

/* At the bottom lies what is in use during all of the gaps, above it what nests. */
static void
rank_bottom (Nesting *nesting)
{
  const guint n = nesting->pieces->items->len;
  g_autoptr (GArray) wholes = g_array_new (FALSE, FALSE, sizeof (Whole));

  nesting->bottom = g_new (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const GememLifetime *piece = gemem_lifetimes_get (nesting->pieces, i);
      const Whole whole = { piece->begin, piece->end, i };

      nesting->bottom[i] = NONE;
      if (piece->begin <= nesting->begin && piece->end >= nesting->end)
        g_array_append_val (wholes, whole);
    }
  g_array_sort (wholes, compare_wholes);
  for (guint i = 0; i < wholes->len; i++)
    nesting->bottom[g_array_index (wholes, Whole, i).piece] = nesting->n_bottom++;
  for (guint i = 0; i < nesting->nested->len; i++)
    for (guint half = 0; half < 2; half++)
      nesting->bottom[g_array_index (nesting->nested, Nested, i).halves[half]] =
          nesting->n_bottom++;
}

/* ---- the dives */

static gboolean
keeps_halves (const Nesting *nesting)
{
  for (guint i = 0; i < nesting->nested->len; i++)
    {
      const Nested *nested = &g_array_index (nesting->nested, Nested, i);

      if (nesting->offsets[nested->halves[0]] != nesting->offsets[nested->halves[1]])
        return FALSE;
    }
  return TRUE;
}

/* Places the boxes of one space, if no stack comes apart. */
static gboolean
place_space (GememBoxes *boxes, gpointer data, GError **error)
{
  Nesting *nesting = data;
  g_autofree gint64 *offsets = g_new (gint64, (gsize) boxes->n + 1);
  gint64 best = G_MAXINT64, bound;

  (void) error;
  gemem_boxes_compress (boxes);
  bound = gemem_boxes_load (boxes);
  g_autoptr (GememDive) dive = gemem_dive_new (boxes);
  for (guint order = 0; order < GEMEM_DIVE_ORDERS && best > bound
                        && (order == 0 || gemem_stop_reason (nesting->stop) == NULL);
       order++)
    {
      gemem_dive_rank (boxes, order);
      for (guint32 i = 0; i < boxes->n; i++)
        {
          const guint32 bottom = nesting->bottom[boxes->boxes[i].item];
          boxes->boxes[i].rank = bottom != NONE ? bottom : nesting->n_bottom + boxes->boxes[i].rank;
        }
      const gint64 top = gemem_dive_run (dive, best, offsets);
      for (guint32 i = 0; i < boxes->n && top < best; i++)
        nesting->offsets[boxes->boxes[i].item] = offsets[i];
      if (top >= best || !keeps_halves (nesting))
        continue;
      best = top;
      for (guint32 i = 0; i < boxes->n; i++)
        boxes->boxes[i].offset = offsets[i];
    }
  return best != G_MAXINT64;
}

/* ---- the plan */

static GememPlan *
plan_of_pieces (const Nesting *nesting, const GememPlan *pieces)
{
  GememPlan *plan = gemem_plan_new (NULL, nesting->lifetimes->items->len);

  plan->spaces = g_new0 (guint64, (gsize) plan->n_items + 1);
  plan->alignment = pieces->alignment;
  for (guint32 i = 0; i < pieces->n_items; i++)
    {
      const guint32 item = gemem_lifetimes_get (nesting->pieces, i)->tag;

      plan->offsets[item] = pieces->offsets[i];
      plan->sizes[item] = pieces->sizes[i];
      plan->spaces[item] = pieces->spaces[i];
    }
  for (guint t = 0; t < pieces->totals->len; t++)
    {
      const GememPlanTotal *total = &g_array_index (pieces->totals, GememPlanTotal, t);
      gemem_plan_add_total (plan, total->space, total->bytes);
    }
  return plan;
}

static GememPlan *
plan_nested (Nesting *nesting, const GememPlanInput *input, guint64 alignment, guint64 unit)
{
  GememPlanInput cut = *input;
  g_autoptr (GememPlan) plan = NULL;

  cut_into_pieces (nesting);
  rank_bottom (nesting);
  nesting->offsets = g_new0 (gint64, (gsize) nesting->pieces->items->len + 1);
  cut.lifetimes = nesting->pieces;
  plan = gemem_boxes_plan (&cut, alignment, unit, place_space, nesting, NULL);
  return plan != NULL ? plan_of_pieces (nesting, plan) : NULL;
}

GememPlan *
gemem_nested_plan (const GememPlanInput *input, guint64 alignment, guint64 unit,
                   const GememStop *stop)
{
  Nesting nesting = { .lifetimes = input->lifetimes,
                      .nested = g_array_new (FALSE, FALSE, sizeof (Nested)),
                      .pieces = gemem_lifetimes_new (input->lifetimes->name),
                      .stop = stop };
  GememPlan *plan = NULL;

  if (input->lifetimes->gaps != NULL && input->lifetimes->places == NULL)
    find_nested (&nesting);
  nest (&nesting);
  if (nesting.nested->len > 0)
    plan = plan_nested (&nesting, input, alignment, unit);
  g_array_unref (nesting.nested);
  gemem_lifetimes_free (nesting.pieces);
  g_free (nesting.bottom);
  g_free (nesting.offsets);
  return plan;
}
