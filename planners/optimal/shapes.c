/* shapes.c - pieces of boxes, greedy placements and changes of their order; see shapes.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/rng.h"
#include "planners/fit.h"
#include "planners/optimal/shapes.h"
#include "planners/optimal/sides.h"
#include "planners/optimal/sums.h"

#define STEPS 512 /* of a change of the order, for each piece */
#define FEW 3     /* boxes that move anywhere */

/* ---- pieces */

static guint32
column_of (const GArray *steps, guint64 step)
{
  const guint64 *found = bsearch (&step, steps->data, steps->len, sizeof (guint64),
                                  gemem_compare_uint64);

  return (guint32) (found - (const guint64 *) (gconstpointer) steps->data);
}

/* The ends of all pieces, ascending, each once. */
static GArray *
list_steps (const GememShapeSource *source, const GememBoxes *boxes)
{
  const guint32 *starts = source->starts;
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint n = 0;

  for (guint32 b = 0; b < boxes->n; b++)
    for (guint32 p = starts[boxes->boxes[b].item]; p < starts[boxes->boxes[b].item + 1]; p++)
      {
        const GememLifePiece *piece = &g_array_index (source->pieces, GememLifePiece, p);
        const guint64 ends[] = { piece->begin, piece->end };

        g_array_append_vals (steps, ends, 2);
      }
  g_array_sort (steps, gemem_compare_uint64);
  for (guint i = 0; i < steps->len; i++)
    if (n == 0 || g_array_index (steps, guint64, i) != g_array_index (steps, guint64, n - 1))
      g_array_index (steps, guint64, n++) = g_array_index (steps, guint64, i);
  g_array_set_size (steps, n);
  return steps;
}

static void
find_bound (GememShapes *shapes)
{
  g_autofree gint64 *change = g_new0 (gint64, (gsize) shapes->columns + 1);
  gint64 live = 0;

  for (guint32 b = 0; b < shapes->boxes->n; b++)
    {
      shapes->bound = MAX (shapes->bound,
                           MAX (shapes->places[b], 0) + shapes->boxes->boxes[b].size);
      for (guint32 p = shapes->starts[b]; p < shapes->starts[b + 1]; p++)
        {
          change[shapes->pieces[p].first] += shapes->pieces[p].high - shapes->pieces[p].low;
          change[shapes->pieces[p].last] -= shapes->pieces[p].high - shapes->pieces[p].low;
        }
    }
  for (guint32 c = 0; c < shapes->columns; c++)
    {
      live += change[c];
      shapes->bound = MAX (shapes->bound, live);
    }
}

void
gemem_shape_source_init (GememShapeSource *source, const GememLifetimes *lifetimes)
{
  source->lifetimes = lifetimes;
  source->pieces = gemem_lifetimes_pieces (lifetimes, &source->starts);
}

void
gemem_shape_source_clear (GememShapeSource *source)
{
  g_array_unref (source->pieces);
  g_free (source->starts);
}

GememShapes *
gemem_shapes_new (GememBoxes *boxes, const GememShapeSource *source, guint64 unit)
{
  GememShapes *shapes = g_new0 (GememShapes, 1);
  const guint32 *starts = source->starts;
  g_autoptr (GArray) steps = list_steps (source, boxes);
  guint32 n = 0;

  for (guint32 b = 0; b < boxes->n; b++)
    n += starts[boxes->boxes[b].item + 1] - starts[boxes->boxes[b].item];

  shapes->boxes = boxes;
  shapes->columns = steps->len > 0 ? steps->len - 1 : 0;
  shapes->starts = g_new (guint32, (gsize) boxes->n + 1);
  shapes->places = g_new (gint64, (gsize) boxes->n + 1);
  shapes->pieces = g_new (GememShapePiece, (gsize) n + 1);
  n = 0;
  for (guint32 b = 0; b < boxes->n; b++)
    {
      const guint32 item = boxes->boxes[b].item;
      const guint64 place = gemem_lifetimes_place (source->lifetimes, item);

      shapes->starts[b] = n;
      shapes->places[b] = place != GEMEM_ANY_PLACE ? (gint64) (place / unit) : -1;
      for (guint32 p = starts[item]; p < starts[item + 1]; p++)
        {
          const GememLifePiece *piece = &g_array_index (source->pieces, GememLifePiece, p);

          shapes->pieces[n++] = (GememShapePiece){ column_of (steps, piece->begin),
                                                   column_of (steps, piece->end),
                                                   (gint64) (piece->low / unit),
                                                   (gint64) ((piece->high + unit - 1) / unit) };
        }
    }
  shapes->starts[boxes->n] = n;
  find_bound (shapes);
  shapes->bound = MAX (shapes->bound, gemem_sums_bound (shapes, GEMEM_SUMS_ORDERS));
  return shapes;
}

void
gemem_shapes_free (GememShapes *shapes)
{
  if (shapes == NULL)
    return;
  g_free (shapes->starts);
  g_free (shapes->places);
  g_free (shapes->pieces);
  g_free (shapes);
}

/* ---- one after another */

/* The lowest offset from @offset on at which the piece is free. */
static gint64
lift (GememOccupancy *occupancy, const GememShapePiece *piece, gint64 offset, gint64 unit)
{
  guint64 end;

  gemem_occupancy_look (occupancy, piece->first, piece->last);
  for (;;)
    {
      const guint64 start = gemem_occupancy_gap (occupancy, (guint64) (offset + piece->low), &end);

      offset = gemem_box_align (MAX (offset, (gint64) start - piece->low), unit);
      if (end == G_MAXUINT64 || (guint64) (offset + piece->high) <= end)
        return offset;
      offset = gemem_box_align (MAX (offset, (gint64) end - piece->low), unit);
    }
}

static void
put (const GememShapes *shapes, GememOccupancy *occupancy, guint32 b, gint64 offset)
{
  for (guint32 p = shapes->starts[b]; p < shapes->starts[b + 1]; p++)
    {
      const GememShapePiece *piece = &shapes->pieces[p];

      gemem_occupancy_take (occupancy, piece->first, piece->last, (guint64) (offset + piece->low),
                            (guint64) (offset + piece->high));
    }
}

gint64
gemem_shapes_lowest (const GememShapes *shapes, GememOccupancy *occupancy, guint32 b, gint64 offset)
{
  const guint32 first = shapes->starts[b], n = shapes->starts[b + 1] - first;

  offset = gemem_box_align (offset, shapes->boxes->boxes[b].unit);
  for (guint32 agreed = 0, p = 0; agreed < n; p = (p + 1) % n)
    {
      const gint64 lifted = lift (occupancy, &shapes->pieces[first + p], offset,
                                  shapes->boxes->boxes[b].unit);

      agreed = lifted > offset ? 1 : agreed + 1;
      offset = lifted;
    }
  return offset;
}

static GememOccupancy *
put_placed (const GememShapes *shapes)
{
  GememOccupancy *occupancy = gemem_occupancy_new (MAX (shapes->columns, 1));

  for (guint32 b = 0; b < shapes->boxes->n; b++)
    if (shapes->places[b] >= 0)
      put (shapes, occupancy, b, shapes->places[b]);
  return occupancy;
}

GememOccupancy *
gemem_shapes_walls (const GememShapes *shapes)
{
  gboolean any = FALSE;

  for (guint32 b = 0; b < shapes->boxes->n && !any; b++)
    any = shapes->places[b] >= 0;
  return any ? put_placed (shapes) : NULL;
}

/* Places box after box at the lowest offset that is free, those with a place first, the others in the order of
 * @order (places in `boxes`), into @offsets.  Returns the top. */
static gint64
place_greedily (const GememShapes *shapes, const guint32 *order, gint64 *offsets)
{
  g_autoptr (GememOccupancy) occupancy = put_placed (shapes);
  gint64 top = 0;

  for (guint32 i = 0; i < shapes->boxes->n; i++)
    {
      const guint32 b = order[i];

      offsets[b] = shapes->places[b];
      if (offsets[b] < 0)
        put (shapes, occupancy, b, offsets[b] = gemem_shapes_lowest (shapes, occupancy, b, 0));
      top = MAX (top, offsets[b] + shapes->boxes->boxes[b].size);
    }
  return top;
}

/* ---- orders, and changes of them */

typedef struct
{
  GememShapes *shapes;
  GememPart *part;
  guint32 *order, *changed; /* places of boxes */
  gint64 *offsets;
  GememRng rng;
} Placing;

static void
keep (Placing *placing, gint64 top, GememStage stage)
{
  for (guint32 b = 0; b < placing->shapes->boxes->n && top < placing->part->top; b++)
    placing->shapes->boxes->boxes[b].offset = placing->offsets[b];
  placing->part->stage = top < placing->part->top ? stage : placing->part->stage;
  placing->part->top = MIN (top, placing->part->top);
}

/* Writes the places of the boxes in the order of @key. */
static void
sort_places (Placing *placing, GememBoxOrder key)
{
  const GememBoxes *boxes = placing->shapes->boxes;
  g_autofree GememBox *copy = g_memdup2 (boxes->boxes, sizeof (GememBox) * boxes->n);
  GememBoxes sorted = { copy, boxes->n, boxes->columns };

  for (guint32 b = 0; b < boxes->n; b++)
    copy[b].rank = b;
  gemem_boxes_sort (&sorted, key, NULL);
  for (guint32 b = 0; b < boxes->n; b++)
    placing->changed[b] = copy[b].rank;
}

static GememBoxKey
by_offset (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ (guint64) box->offset, box->first, 0 };
}

/* Places the boxes in the order `changed`, which stays if it is no worse than @top. */
static gint64
try_order (Placing *placing, gint64 top, GememStage stage)
{
  const gint64 got = place_greedily (placing->shapes, placing->changed, placing->offsets);

  if (got > top)
    return top;
  memcpy (placing->order, placing->changed, sizeof (guint32) * placing->shapes->boxes->n);
  keep (placing, got, stage);
  return got;
}

/* Moves the box at @from to @to in the order. */
static void
move (guint32 *order, guint32 from, guint32 to)
{
  const guint32 box = order[from];

  if (from < to)
    memmove (order + from, order + from + 1, sizeof (guint32) * (to - from));
  else
    memmove (order + to + 1, order + to, sizeof (guint32) * (from - to));
  order[to] = box;
}

/* Some boxes that end above @goal come earlier, or a few boxes come anywhere. */
static void
change (Placing *placing, gint64 goal)
{
  const GememBoxes *boxes = placing->shapes->boxes;
  const gboolean promote = gemem_rng_below (&placing->rng, 2) == 0;

  memcpy (placing->changed, placing->order, sizeof (guint32) * boxes->n);
  for (guint32 i = 0; i < boxes->n && promote; i++)
    {
      const GememBox *box = &boxes->boxes[placing->changed[i]];

      if (box->offset + box->size > goal && gemem_rng_below (&placing->rng, 2) == 0)
        move (placing->changed, i, (guint32) gemem_rng_below (&placing->rng, (guint64) i + 1));
    }
  for (guint64 k = gemem_rng_below (&placing->rng, FEW + 1) + !promote; k > 0; k--)
    {
      const guint32 from = (guint32) gemem_rng_below (&placing->rng, boxes->n);

      move (placing->changed, from, (guint32) gemem_rng_below (&placing->rng, boxes->n));
    }
}

static void
change_orders (Placing *placing, gint64 goal, GememEffort *effort)
{
  const guint64 cost = STEPS * (guint64) (placing->shapes->starts[placing->shapes->boxes->n] + 1);

  sort_places (placing, by_offset);
  for (gint64 top = try_order (placing, G_MAXINT64, GEMEM_STAGE_LOCAL);
       placing->part->top > MAX (goal, placing->part->bound) && effort->steps >= cost
       && gemem_stop_reason (effort->stop) == NULL;
       effort->steps -= cost)
    {
      change (placing, goal);
      top = try_order (placing, top, GEMEM_STAGE_LOCAL);
    }
}

/* ---- all */

void
gemem_shapes_search (GememShapes *shapes, GememPart *part, gint64 goal, gboolean placed,
                     GememEffort *effort)
{
  static const GememBoxOrder orders[] = { gemem_box_by_size, gemem_box_by_area, gemem_box_by_life,
                                          gemem_box_by_begin };
  const gsize n = shapes->boxes->n;
  g_autofree guint32 *order = g_new (guint32, n + 1), *changed = g_new (guint32, n + 1);
  g_autofree gint64 *offsets = g_new (gint64, n + 1);
  Placing placing = { shapes, part, order, changed, offsets, { { 0 } } };

  part->bound = MAX (part->bound, shapes->bound);
  part->top = placed ? part->top : G_MAXINT64;
  for (guint i = 0; i < G_N_ELEMENTS (orders) && part->top > MAX (goal, part->bound); i++)
    {
      sort_places (&placing, orders[i]);
      try_order (&placing, G_MAXINT64, GEMEM_STAGE_FIT);
    }
  gemem_rng_init (&placing.rng, 1, "shapes");
  if (part->top > MAX (goal, part->bound) && effort->steps > 0)
    {
      g_autoptr (GememSides) sides = gemem_sides_new (shapes);

      if (sides != NULL)
        gemem_part_descend (part, goal, gemem_sides_run, sides, effort);
      change_orders (&placing, goal, effort);
    }
}
