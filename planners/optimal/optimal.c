/* optimal.c - the planner `optimal`: searches for the least possible peak, and says how far from it
 * the plan may be.
 *
 * Stages, each only where those before did not reach the lower bound: parts.h cuts what can be
 * placed apart; dives (dive.h) in several orders; the peak first (peak.c); corner search (corner.h); window search (window.c); the largest
 * boxes first (large.c); local search (local.c); and the
 * planners of fit.c where the input is small, so that no plan of theirs is smaller.  What has gaps or places, or mixed
 * alignments, is searched by shapes.h, from a plan that fills the gaps where there is one.
 *
 * Invariants: `least` of the plan is a bound for every plan of the same lifetimes: the largest
 * load, each space by itself.  Effort is counted in steps, so that no plan depends on the clock.
 * Origin: offline-planning.md 6.  Cost: as dive.h says, for each order; 140 bytes an item beside its lifetime while it dives, 210 where
 * boxes are joined.  Of them 64 are the box, 8 its columns as they were, 50 to 75 the tree and the runs of a dive, or 32 to rank it;
 * of joined boxes 64 are nodes while they are joined, 16 a join then.
 */
#include "config.h"

#include "base/units.h"
#include "planners/fit.h"
#include "planners/optimal/nested.h"
#include "planners/optimal/shapes.h"
#include "planners/optimal/ways.h"
#include "planners/places.h"

typedef struct
{
  guint64 alignment, effort, time, capacity;
} Params;

static const GememParam params_optimal[] = {
  GEMEM_PLANNER_ALIGNMENT (Params),
  { .name = "effort",
    .type = GEMEM_PARAM_UINT,
    .default_text = "normal",
    .max = "1000000000000000",
    .special = "quick=0|normal=100000000|thorough=10000000000",
    .help = "Steps that the search may take where the bound is not reached at once.",
    .offset = G_STRUCT_OFFSET (Params, effort) },
  { .name = "time",
    .type = GEMEM_PARAM_TIME,
    .default_text = "0",
    .help = "The search ends after this time, too, with the best plan so far, which is then not "
            "repeatable. 0: steps alone count.",
    .offset = G_STRUCT_OFFSET (Params, time) },
  { .name = "capacity",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "least",
    .special = "least=0",
    .max = "4EiB",
    .help =
        "Bytes that each space has to fit into, which is enough; least: searches for the least.",
    .offset = G_STRUCT_OFFSET (Params, capacity) },
  { NULL },
};

/* Up to here the planners of fit.c take milliseconds. */
#define FIT_ITEMS 2000

/* Up to here shapes are searched at once, beyond it dives are changed first where they can be. */
#define FEW 500

static const char *const stage_names[GEMEM_STAGE_COUNT] = { "stack",         "dive",
                                                            "peak-first",    "local-search",
                                                            "corner-search", "window-search",
                                                            "large-first",   "fit" };

/* ---- a space */

typedef struct
{
  const GememLifetimes *lifetimes;
  guint64 alignment, unit, capacity;
  gint64 goal; /* units; enough if it is reached */
  GememEffort effort;
  GememStop stop;
  guint64 least;    /* bytes, of the spaces so far */
  GememStage stage; /* of the part that decides */
} Search;

/* Places boxes that fill their columns; returns the top. */
static gint64
place_plain (Search *search, GememBoxes boxes, GememEffort *effort, gint64 *bound)
{
  const GememWaysResult result = gemem_ways_place (boxes, search->goal, effort);

  search->stage = MAX (search->stage, result.stage);
  *bound = result.bound;
  return result.top;
}

/* Searches for a placement of boxes with shapes (shapes.h) below @top, that of the offsets they have, G_MAXINT64:
 * none; part after part.  Raises @bound, which every placement has.  FALSE: that is above the capacity, so none fits. */
static gboolean
place_shapes (Search *search, GememBoxes boxes, gint64 top, gint64 *bound, GError **error)
{
  const gboolean placed = top != G_MAXINT64;
  g_autoptr (GPtrArray)
      shapes = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_shapes_free);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (GememPart));
  GememShapeSource source;
  gint64 highest = 0, least = 0;

  gemem_boxes_sort (&boxes, gemem_box_by_begin, NULL);
  while (boxes.n > 0)
    {
      GememPart part = { .boxes = gemem_boxes_take_part (&boxes), .grain = 1 };

      part.top = placed ? gemem_boxes_top (&part.boxes) : G_MAXINT64;
      g_array_append_val (parts, part);
    }
  gemem_shape_source_init (&source, search->lifetimes);
  for (guint p = 0; p < parts->len; p++)
    {
      GememPart *part = &g_array_index (parts, GememPart, p);

      g_ptr_array_add (shapes, gemem_shapes_new (&part->boxes, &source, search->unit));
      *bound = MAX (*bound, ((GememShapes *) shapes->pdata[p])->bound);
    }
  gemem_shape_source_clear (&source);
  if (search->capacity > 0 && *bound > search->goal)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "no plan fits into capacity=%" G_GUINT64_FORMAT
                   ": what lies between alignments and fixed offsets cannot be filled, the least "
                   "possible is at least %" G_GUINT64_FORMAT,
                   search->capacity, (guint64) *bound * search->unit);
      return FALSE;
    }
  for (guint p = 0; p < parts->len; p++)
    {
      GememPart *part = &g_array_index (parts, GememPart, p);
      GememEffort own = { search->effort.steps / (parts->len - p), search->effort.stop };
      const guint64 given = own.steps;

      part->stage = search->stage;
      gemem_shapes_search (shapes->pdata[p], part, MAX (*bound, search->goal), placed, &own);
      search->effort.steps -= given - own.steps;
      search->stage = part->top > highest ? part->stage : search->stage;
      highest = MAX (highest, part->top);
      least = MAX (least, part->bound);
    }
  *bound = MAX (*bound, least);
  return TRUE;
}

static GememBoxKey
by_item (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ box->item, 0, 0 };
}

/* The same where gaps count as in use, and steps are left for more; the offsets go into @boxes, which keep their
 * columns. */
static gint64
place_filled (Search *search, GememBoxes *boxes, GememEffort *effort, gint64 *bound)
{
  gemem_boxes_sort (boxes, by_item, NULL);
  g_autofree GememBox *copy = g_memdup2 (boxes->boxes, sizeof (GememBox) * boxes->n);
  GememBoxes filled = { copy, boxes->n, boxes->columns };
  const gint64 top = place_plain (search, filled, effort, bound);

  gemem_boxes_sort (&filled, by_item, NULL);
  for (guint32 i = 0; i < boxes->n; i++)
    boxes->boxes[i].offset = copy[i].offset;
  return top;
}

/* Boxes with shapes, or of mixed alignments. */
static gboolean
place_mixed (Search *search, GememBoxes *boxes, gint64 *bound, GError **error)
{
  const gboolean gaps = search->lifetimes->gaps != NULL, places = search->lifetimes->places != NULL;
  const gboolean few = boxes->n <= FEW;
  GememEffort own = { gaps || few ? 0 : search->effort.steps / 2, &search->stop };
  const guint64 given = own.steps;
  gint64 top = G_MAXINT64;

  if (!places)
    top = place_filled (search, boxes, &own, bound);
  search->effort.steps -= given - own.steps;
  *bound = gaps ? 0 : *bound; /* not with less in use */
  return top <= MAX (*bound, search->goal) || place_shapes (search, *boxes, top, bound, error);
}

static gboolean
place_space (GememBoxes *boxes, gpointer data, GError **error)
{
  Search *search = data;
  const GememLifetimes *lifetimes = search->lifetimes;
  const guint32 space = gemem_lifetimes_get (lifetimes, boxes->boxes[0].item)->space;
  gint64 bound = 0;

  if (search->capacity > 0
      && !gemem_lifetimes_check_capacity (lifetimes, space, search->alignment, search->capacity,
                                          error))
    return FALSE;
  if (lifetimes->gaps != NULL || lifetimes->places != NULL || gemem_boxes_have_units (boxes))
    {
      if (!place_mixed (search, boxes, &bound, error))
        return FALSE;
    }
  else
    place_plain (search, *boxes, &search->effort, &bound);
  search->least += gemem_round_up ((guint64) bound * search->unit, search->alignment);
  return TRUE;
}

/* The smallest of @best and the plans of fit.c, as far as they are made in time. */
static GememPlan *
compare_with_fits (GememPlan *best, const GememPlanInput *input, guint64 alignment, guint64 enough,
                   const GememStop *stop)
{
  const GememFitParams params = { .alignment = alignment };

  for (const GememPlanner *const *fit = gemem_fit_planners;
       *fit != NULL && best->arena > MAX (best->least, enough) && gemem_stop_reason (stop) == NULL;
       fit++)
    {
      GememPlan *plan = (*fit)->plan (&params, input, NULL);

      if (plan != NULL && plan->arena < best->arena && gemem_stop_reason (stop) == NULL)
        {
          plan->least = best->least;
          plan->winner = g_strdup ((*fit)->base.name);
          gemem_plan_free (best);
          best = plan;
        }
      else
        gemem_plan_free (plan);
    }
  return best;
}

/* The smaller of @best and a plan whose gaps lie within one another (nested.h). */
static GememPlan *
compare_with_nested (GememPlan *best, const Search *search, const GememPlanInput *input)
{
  GememPlan *plan = best->arena > MAX (best->least, search->capacity)
                        ? gemem_nested_plan (input, search->alignment, search->unit, &search->stop)
                        : NULL;

  if (plan == NULL || plan->arena >= best->arena)
    {
      gemem_plan_free (plan);
      return best;
    }
  plan->least = best->least;
  plan->winner = g_strdup (stage_names[GEMEM_STAGE_DIVE]);
  gemem_plan_free (best);
  return plan;
}

/* Bounds the search in time, if @params say so. */
static gboolean
set_stop (GememStop *stop, const Params *params, const GememPlanInput *input, GError **error)
{
  *stop = (GememStop){ .interrupted = input->interrupted, .share = input->share };
  if (params->time == 0)
    return TRUE;
  if (input->clock == NULL)
    {
      g_set_error_literal (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "optimal: time: a replay must be repeatable; bound the search by effort, "
          "or replay the file that plan --plan wrote");
      return FALSE;
    }
  stop->clock = input->clock;
  stop->until = input->clock () + params->time;
  return TRUE;
}

static gboolean
fits_capacity (const GememPlan *plan, guint64 capacity, GError **error)
{
  for (guint i = 0; i < plan->totals->len && capacity > 0; i++)
    {
      const guint64 bytes = g_array_index (plan->totals, GememPlanTotal, i).bytes;

      if (bytes <= capacity)
        continue;
      if (plan->totals->len == 1 && plan->least > capacity)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                     "no plan fits into capacity=%" G_GUINT64_FORMAT ": all was tried, the least "
                     "possible is at least %" G_GUINT64_FORMAT,
                     capacity, plan->least);
      else
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                     "no plan was found within capacity=%" G_GUINT64_FORMAT
                     ", and it is not known whether one exists; the smallest takes "
                     "%" G_GUINT64_FORMAT "; give more, or effort=thorough",
                     capacity, bytes);
      return FALSE;
    }
  return TRUE;
}

static GememPlan *
search_plan (Search *search, const GememPlanInput *input, GError **error)
{
  GememPlan *plan = gemem_boxes_plan (input, search->alignment, search->unit, place_space, search,
                                      error);

  if (plan == NULL)
    return NULL;
  plan->least = search->least;
  plan->winner = g_strdup (stage_names[search->stage]);
  plan = compare_with_nested (plan, search, input);
  if (plan->n_items <= FIT_ITEMS && input->lifetimes->places == NULL)
    plan = compare_with_fits (plan, input, search->alignment, search->capacity, &search->stop);
  plan->stopped = gemem_stop_reason (&search->stop);
  if (fits_capacity (plan, search->capacity, error))
    return plan;
  gemem_plan_free (plan);
  return NULL;
}

static GememPlan *
plan_huge (const GememFitParams *fit, const GememPlanInput *input, guint64 capacity, GError **error)
{
  g_autoptr (GememPlan) plan = NULL;

  if (input->lifetimes->places != NULL)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                           "the sizes add up to 2^62 bytes or more, which is too much to keep "
                           "fixed offsets; plan a part");
      return NULL;
    }
  plan = gemem_best_fit_by_size.plan (fit, input, error);
  return plan != NULL && fits_capacity (plan, capacity, error) ? g_steal_pointer (&plan) : NULL;
}

static GememPlan *
plan_optimal (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const Params *given = params;
  const GememFitParams fit = { .alignment = given->alignment };
  Search search = { .lifetimes = input->lifetimes,
                    .alignment = given->alignment,
                    .capacity = given->capacity,
                    .unit = gemem_boxes_unit (input->lifetimes, given->alignment),
                    .effort = { given->effort, &search.stop } };

  if (!set_stop (&search.stop, given, input, error) || gemem_plan_is_unwanted (input->interrupted))
    return NULL;
  if (search.unit == 0) /* sizes that the searches cannot add up */
    return plan_huge (&fit, input, given->capacity, error);
  search.goal = (gint64) (given->capacity / search.unit);
  return search_plan (&search, input, error);
}

const GememPlanner gemem_planner_optimal = {
  { "optimal", NULL,
    "Searches for the least possible memory, and says how far from it the plan may be",
    "offline-planning.md 6", params_optimal, sizeof (Params) },
  GEMEM_PLANNER_PLACES,
  512,
  plan_optimal,
  130
};
