/* optimal.c - the planner `optimal`: searches for the least possible peak, and says how far from it
 * the plan may be.
 *
 * Stages, each only where those before did not reach the lower bound: parts.h cuts what can be
 * placed apart; dives (dive.h) in several orders; corner search (corner.h); local search (local.c); and the planners of fit.c where the input is
 * small, so that no plan of theirs is smaller.
 *
 * Invariants: `least` of the plan is a bound for every plan of the same lifetimes: the largest
 * load, each space by itself.  Effort is counted in steps, so that no plan depends on the clock.
 * Origin: offline-planning.md 6.  Cost: as dive.h says, for each order.
 */
#include "config.h"

#include "base/units.h"
#include "planners/fit.h"
#include "planners/optimal/parts.h"

typedef struct
{
  guint64 alignment, effort, time;
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
  { NULL },
};

/* Up to here the planners of fit.c take milliseconds. */
#define FIT_ITEMS 2000

static const char *const stage_names[GEMEM_STAGE_COUNT] = { "stack", "dive", "local-search",
                                                            "corner-search", "fit" };

/* ---- a space */

typedef struct
{
  guint64 alignment, unit;
  GememEffort effort;
  GememStop stop;
  guint64 least;    /* bytes, of the spaces so far */
  GememStage stage; /* of the part that decides */
} Search;

static void
lift_parts (const GArray *parts)
{
  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
}

static void
note_stage (Search *search, const GArray *parts)
{
  const gint64 top = gemem_parts_top (parts);

  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      if (part->base + part->top == top)
        search->stage = MAX (search->stage, part->stage);
    }
}

static gboolean
place_space (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  Search *search = data;
  g_autoptr (GArray) parts = gemem_parts_new (*boxes);
  const gint64 bound = gemem_parts_bound (parts);

  gemem_parts_dive (parts, bound, &search->stop);
  gemem_parts_search (parts, bound, &search->effort);
  note_stage (search, parts);
  search->least += gemem_round_up ((guint64) gemem_parts_bound (parts) * search->unit,
                                   search->alignment);
  lift_parts (parts);
  return TRUE;
}

/* The smallest of @best and the plans of fit.c, as far as they are made in time. */
static GememPlan *
compare_with_fits (GememPlan *best, const GememPlanInput *input, guint64 alignment,
                   const GememStop *stop)
{
  const GememFitParams params = { .alignment = alignment };

  for (const GememPlanner *const *fit = gemem_fit_planners;
       *fit != NULL && best->arena > best->least && gemem_stop_reason (stop) == NULL; fit++)
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

/* Bounds the search in time, if @params say so. */
static gboolean
set_stop (GememStop *stop, const Params *params, const GememPlanInput *input, GError **error)
{
  *stop = (GememStop){ .interrupted = input->interrupted };
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

static GememPlan *
search_plan (Search *search, const GememPlanInput *input, GError **error)
{
  GememPlan *plan = gemem_boxes_plan (input, search->alignment, search->unit, place_space, search,
                                      error);

  if (plan == NULL)
    return NULL;
  plan->least = search->least;
  plan->winner = g_strdup (stage_names[search->stage]);
  if (plan->n_items <= FIT_ITEMS)
    plan = compare_with_fits (plan, input, search->alignment, &search->stop);
  plan->stopped = gemem_stop_reason (&search->stop);
  return plan;
}

static GememPlan *
plan_optimal (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const Params *given = params;
  const GememFitParams fit = { .alignment = given->alignment };
  Search search = { .alignment = given->alignment,
                    .unit = gemem_boxes_unit (input->lifetimes, given->alignment),
                    .effort = { given->effort, &search.stop } };

  if (!set_stop (&search.stop, given, input, error) || gemem_plan_is_unwanted (input->interrupted))
    return NULL;
  if (search.unit == 0) /* sizes that the searches cannot add up */
    return gemem_best_fit_by_size.plan (&fit, input, error);
  return search_plan (&search, input, error);
}

const GememPlanner gemem_planner_optimal = {
  { "optimal", NULL,
    "Searches for the least possible memory, and says how far from it the plan may be",
    "offline-planning.md 6", params_optimal, sizeof (Params) },
  0,
  512,
  plan_optimal,
  250
};
