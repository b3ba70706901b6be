/* somas.c - planner `mindspore-somas`: MindSpore's SOMAS, blocks in shelves, the best of several
 * runs.
 *
 * Blocks go by size descending, id ascending.  A block that fits into no shelf opens one on top of
 * all, as tall as itself; a block never reaches from one shelf into another.  ManyObjects lets the
 * blocks of a shelf lie over one another, SingleObject has one at a time in a shelf.  Smallest offset
 * takes the lowest place in any shelf, best fit the one in the smallest gap.  What lives for the
 * whole run is stacked on top at the end.  The smallest run wins; one of SingleObject must save more
 * than 100 MiB.
 *
 * Not known, and chosen: that SingleObject means one block at a time, and that best fit looks at all
 * shelves.  MindSpore has a second order, by what can reuse the memory of the peak, and places
 * outputs of the graph first; lifetimes say neither, so that four of its eight runs are left.  It
 * keeps a bit for each pair of blocks; lifetimes need none.
 * Cost: occupancy.h, and O(shelves) a block.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

typedef struct
{
  int objects, fit;
  guint64 alignment;
} Params;

enum
{
  MANY,
  SINGLE,
  BEST_FIT = 0,
  SMALLEST_OFFSET,
  ALL
};

static const GememParam params_somas[] = {
  { .name = "objects",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "all",
    .choices = "many|single|all",
    .help = "ManyObjects, SingleObject, or the best of both.",
    .offset = G_STRUCT_OFFSET (Params, objects) },
  { .name = "fit",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "all",
    .choices = "best|smallest-offset|all",
    .help = "The smallest gap, the lowest, or the best of both.",
    .offset = G_STRUCT_OFFSET (Params, fit) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

#define SINGLE_MARGIN (G_GUINT64_CONSTANT (100) << 20)

typedef struct
{
  guint64 base, end;
} Shelf;

typedef struct
{
  const GememPlanInput *input;
  int objects, fit;
  GememOccupancy *occupancy; /* of the space */
  GArray *shelves; /* Shelf, ascending; the end of one is the base of the next, or below */
} Run;

static guint64
round_up (guint64 offset, const GememBox *box)
{
  return (guint64) gemem_box_align ((gint64) offset, box->unit);
}

/* Looks for a place in the gap [start, end) in shelves from *at on, and moves *at behind the gap.
 * TRUE: the search is over. */
static gboolean
look_in_gap (const Run *run, const GememBox *box, guint64 start, guint64 end, guint *at,
             guint64 *best, guint64 *offset)
{
  for (; *at < run->shelves->len; (*at)++)
    {
      const Shelf *shelf = &g_array_index (run->shelves, Shelf, *at);
      const guint64 from = round_up (MAX (start, shelf->base), box), to = MIN (end, shelf->end);
      const gboolean whole = start <= shelf->base && end >= shelf->end;

      if (shelf->base >= end)
        return FALSE;
      if (to >= from && to - from >= (guint64) box->size && to - from < *best
          && (run->objects == MANY || whole))
        {
          *best = to - from;
          *offset = from;
          if (run->fit == SMALLEST_OFFSET)
            return TRUE;
        }
      if (shelf->end > end)
        return FALSE;
    }
  return TRUE;
}

/* FALSE if it fits into no shelf. */
static gboolean
find_shelf (Run *run, const GememBox *box, guint64 *offset)
{
  guint64 best = G_MAXUINT64, end = 0;
  guint at = 0;

  gemem_occupancy_look (run->occupancy, box->first, box->last);
  do
    {
      const guint64 start = gemem_occupancy_gap (run->occupancy, end, &end);

      if (look_in_gap (run, box, start, end, &at, &best, offset))
        break;
    }
  while (end != G_MAXUINT64);
  return best != G_MAXUINT64;
}

static void
open_shelf (Run *run, const GememBox *box, guint64 *offset)
{
  const guint n = run->shelves->len;

  *offset = n > 0 ? round_up (g_array_index (run->shelves, Shelf, n - 1).end, box) : 0;
  const Shelf shelf = { *offset, *offset + (guint64) box->size };
  g_array_append_val (run->shelves, shelf);
}

static void
put (Run *run, GememBox *box)
{
  guint64 offset = 0;

  if (!find_shelf (run, box, &offset))
    open_shelf (run, box, &offset);
  gemem_occupancy_take (run->occupancy, box->first, box->last, offset,
                        offset + (guint64) box->size);
  box->offset = (gint64) offset;
}

/* Those of the whole run last, by id; the others by size descending. */
static GememBoxKey
by_size (const GememBox *box, gpointer boxes)
{
  const gboolean whole = gemem_box_is_whole (box, boxes);

  return (GememBoxKey){ whole, whole ? 0 : ~(guint64) box->size, 0 };
}

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  Run *run = data;
  g_autoptr (GememOccupancy) occupancy = gemem_occupancy_new (MAX (boxes->columns, 1));
  g_autoptr (GArray) shelves = g_array_new (FALSE, FALSE, sizeof (Shelf));

  run->occupancy = occupancy;
  run->shelves = shelves;
  gemem_boxes_sort (boxes, by_size, boxes);
  for (guint32 i = 0; i < boxes->n && !gemem_plan_is_unwanted (run->input->interrupted); i++)
    put (run, &boxes->boxes[i]);
  return TRUE;
}

static GememPlan *
plan_somas (gconstpointer data, const GememPlanInput *input, GError **error)
{
  static const struct
  {
    const char *name;
    int objects, fit;
  } runs[] = { { "many-objects-best-fit", MANY, BEST_FIT },
               { "many-objects-smallest-offset", MANY, SMALLEST_OFFSET },
               { "single-object-best-fit", SINGLE, BEST_FIT },
               { "single-object-smallest-offset", SINGLE, SMALLEST_OFFSET } };
  const Params *params = data;
  GememPlan *best = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      Run run = { input, runs[i].objects, runs[i].fit, NULL, NULL };

      if ((params->objects != ALL && params->objects != run.objects)
          || (params->fit != ALL && params->fit != run.fit))
        continue;
      best = gemem_plan_keep_best (
          best, gemem_boxes_plan (input, params->alignment, 1, place, &run, error), runs[i].name,
          params->objects == ALL && run.objects == SINGLE ? SINGLE_MARGIN : 0);
      if (best == NULL)
        return NULL;
    }
  return best;
}

const GememPlanner gemem_planner_mindspore_somas = {
  { "mindspore-somas", NULL, "MindSpore's SOMAS: shelves, the best of four runs",
    "offline-planning.md 3", params_somas, sizeof (Params), "SOMAS" },
  0,
  512,
  plan_somas,
  GEMEM_FIT_ITEM_BYTES
};
