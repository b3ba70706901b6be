/* idealloc.c - planner `idealloc`: first fit in orders that boxing (boxing.h) gives, each life another.
 *
 * Where no two lives meet, all are at 0; where all sizes are equal, rows are enough.  Else the first plan
 * is that of first fit by size; each life boxes anew and places by first fit in the order of the loose
 * offsets.  The smallest plan is kept; a life ends as soon as its own is not smaller.
 *
 * Not known, and chosen: random numbers are gemem's own; ties of loose offsets go by begin, then by id.  `effort` ends the lives of
 * large inputs early, after one at least; idealloc goes on.  There is no list of pairs that conflict: memory stays linear.
 * Cost: a boxing and first fit of all items for each life.  Origin: offline-planning.md 2.
 */
#include "config.h"

#include <string.h>

#include "planners/fit.h"
#include "planners/idealloc/boxing.h"

typedef struct
{
  guint64 seed, max_lives, effort, alignment;
} Params;

static const GememParam params_idealloc[] = {
  { .name = "seed",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .help = "Of the critical times; those of idealloc are not known.",
    .offset = G_STRUCT_OFFSET (Params, seed) },
  { .name = "max_lives",
    .type = GEMEM_PARAM_UINT,
    .default_text = "200",
    .min = "1",
    .max = "1000000",
    .help = "Boxings tried; each takes as long as first fit.",
    .offset = G_STRUCT_OFFSET (Params, max_lives) },
  { .name = "effort",
    .type = GEMEM_PARAM_UINT,
    .default_text = "normal",
    .max = "1000000000000000",
    .special = "quick=10000|normal=100000|thorough=10000000",
    .help = "Items placed in all lives; ends those of large inputs early, which idealloc does not.",
    .offset = G_STRUCT_OFFSET (Params, effort) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

typedef struct
{
  const Params *params;
  const GememPlanInput *input;
} Lives;

/* ---- the easy cases */

/* @boxes are in the order of their begins. */
static gboolean
meet (const GememBoxes *boxes)
{
  for (guint32 i = 1; i < boxes->n; i++)
    if (boxes->boxes[i].first < boxes->boxes[i - 1].last)
      return TRUE;
  return FALSE;
}

static gboolean
are_equal (const GememBoxes *boxes)
{
  for (guint32 i = 1; i < boxes->n; i++)
    if (boxes->boxes[i].size != boxes->boxes[0].size
        || boxes->boxes[i].unit != boxes->boxes[0].unit)
      return FALSE;
  return TRUE;
}

static void
place_rows (GememBoxes *boxes)
{
  const gint64 row = gemem_box_align (boxes->boxes[0].size, boxes->boxes[0].unit);
  g_autofree guint32 *rows = g_new (guint32, (gsize) boxes->n + 1);

  gemem_idealloc_colour (boxes, rows);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i].offset = rows[i] * row;
}

/* ---- lives */

/* First fit in the order in which @boxes stand; FALSE as soon as @top is reached. */
static gboolean
squeeze (GememBoxes *boxes, gint64 top)
{
  g_autoptr (GememOccupancy) occupancy = gemem_occupancy_new (MAX (boxes->columns, 1));

  for (guint32 i = 0; i < boxes->n; i++)
    {
      GememBox *box = &boxes->boxes[i];
      const guint64 size = (guint64) box->size,
                    offset = gemem_occupancy_first_fit (occupancy, box->first, box->last, size,
                                                        (guint64) box->unit);

      if (offset + size >= (guint64) top)
        return FALSE;
      gemem_occupancy_take (occupancy, box->first, box->last, offset, offset + size);
      box->offset = (gint64) offset;
    }
  return TRUE;
}

/* Offsets of at least 0 have the order of their bits. */
static GememBoxKey
by_loose (const GememBox *box, gpointer loose)
{
  GememBoxKey key = { 0, box->first, 0 };

  memcpy (&key.a, &((const double *) loose)[box->rank], sizeof key.a);
  return key;
}

/* The boxes, in the order of their begins, have the offsets of a plan already. */
static void
live (const Lives *lives, GememBoxes *boxes)
{
  const gsize n = boxes->n;
  const gint64 load = gemem_boxes_load (boxes);
  g_autofree GememBox *copy = g_new (GememBox, n + 1);
  g_autofree double *loose = g_new (double, n + 1);
  GememBoxes tried = { copy, boxes->n, boxes->columns };
  GememRng rng;

  gemem_rng_init (&rng, lives->params->seed, "idealloc");
  const double epsilon = gemem_idealloc_epsilon (boxes, &rng);
  const guint64 most = CLAMP (lives->params->effort / n, 1, lives->params->max_lives);
  for (guint64 life = 0; life < most && gemem_boxes_top (boxes) > load
                         && !gemem_plan_is_unwanted (lives->input->interrupted);
       life++)
    {
      if (lives->input->share != NULL)
        g_atomic_int_set (lives->input->share, (gint) (life * 1000 / most));
      gemem_idealloc_box (boxes, epsilon, &rng, loose);
      memcpy (copy, boxes->boxes, sizeof (GememBox) * n);
      for (guint32 i = 0; i < n; i++)
        copy[i].rank = i;
      gemem_boxes_sort (&tried, by_loose, loose);
      if (!squeeze (&tried, gemem_boxes_top (boxes)))
        continue;
      for (guint32 i = 0; i < n; i++)
        boxes->boxes[copy[i].rank].offset = copy[i].offset;
    }
}

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const Lives *lives = data;
  GememPlanInput silent = *lives->input; /* progress counts lives */

  silent.share = NULL;
  gemem_boxes_sort (boxes, gemem_box_by_begin, NULL);
  if (!meet (boxes))
    for (guint32 i = 0; i < boxes->n; i++)
      boxes->boxes[i].offset = 0;
  else if (are_equal (boxes))
    place_rows (boxes);
  else
    {
      gemem_boxes_sort (boxes, gemem_box_by_size, NULL);
      gemem_boxes_fit (boxes, gemem_occupancy_first_fit, &silent);
      gemem_boxes_sort (boxes, gemem_box_by_begin, NULL);
      live (lives, boxes);
    }
  return TRUE;
}

static GememPlan *
plan_idealloc (gconstpointer data, const GememPlanInput *input, GError **error)
{
  Lives lives = { data, input };

  return gemem_boxes_plan (input, lives.params->alignment, 1, place, &lives, error);
}

const GememPlanner gemem_planner_idealloc = {
  { "idealloc", NULL, "idealloc: jobs into boxes, boxes into rows, then first fit; many times",
    "offline-planning.md 2", params_idealloc, sizeof (Params) },
  0,
  512,
  plan_idealloc,
  GEMEM_FIT_ITEM_BYTES
};
