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
  guint64 alignment, effort;
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
  { NULL },
};

/* Up to here the planners of fit.c take milliseconds. */
#define FIT_ITEMS 2000

static const char *const stage_names[GEMEM_STAGE_COUNT] = { "stack", "dive", "local-search",
                                                            "corner-search", "fit" };

/* ---- a space */

typedef struct
{
  const GememPlanInput *input;
  guint64 alignment, unit;
  GememEffort effort;
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

  gemem_parts_dive (parts, bound, search->input->interrupted);
  gemem_parts_search (parts, bound, &search->effort);
  note_stage (search, parts);
  search->least += gemem_round_up ((guint64) gemem_parts_bound (parts) * search->unit,
                                   search->alignment);
  lift_parts (parts);
  return TRUE;
}

/* The smallest of @best and the plans of fit.c. */
static GememPlan *
compare_with_fits (GememPlan *best, const GememPlanInput *input, guint64 alignment)
{
  const GememFitParams params = { .alignment = alignment };

  for (const GememPlanner *const *fit = gemem_fit_planners;
       *fit != NULL && best->arena > best->least; fit++)
    {
      GememPlan *plan = (*fit)->plan (&params, input, NULL);

      if (plan != NULL && plan->arena < best->arena)
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

static GememPlan *
plan_optimal (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const Params *given = params;
  const GememFitParams fit = { .alignment = given->alignment };
  const guint64 unit = gemem_boxes_unit (input->lifetimes, given->alignment);
  Search search = { .input = input,
                    .alignment = given->alignment,
                    .unit = unit,
                    .effort = { given->effort, input->interrupted } };

  if (unit == 0) /* sizes that the searches cannot add up */
    return gemem_best_fit_by_size.plan (&fit, input, error);
  GememPlan *plan = gemem_boxes_plan (input, given->alignment, unit, place_space, &search, error);
  if (plan == NULL)
    return NULL;
  plan->least = search.least;
  plan->winner = g_strdup (stage_names[search.stage]);
  return plan->n_items <= FIT_ITEMS ? compare_with_fits (plan, input, given->alignment) : plan;
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
