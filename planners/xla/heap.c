/* heap.c - planner `xla-heap`: XLA's heap simulation, largest or longest-lived buffers first into
 * the gaps.
 *
 * Orders, each ending with the id:
 *   spatial           size descending, lifetime descending
 *   temporal          lifetime descending, size descending
 *   spatial-temporal  size x lifetime descending; ties, which the rules leave open: size descending
 *   phase-window      begin, size descending; fast-merge is the same by the rules known
 *   phase-window-end  end, size descending
 * Buffers that must share memory are one lifetime (convert.h).  Which orders a client of XLA tries
 * is not known; best-of takes the smaller of spatial and temporal.
 *
 * Cost: occupancy.h, for each order.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

enum
{
  ORDER_BEST_OF,
  ORDER_SPATIAL,
  ORDER_TEMPORAL,
  ORDER_SPATIAL_TEMPORAL,
  ORDER_PHASE_WINDOW,
  ORDER_PHASE_WINDOW_END
};

typedef struct
{
  int order, placement;
  guint64 alignment;
} Params;

static const GememParam params_heap[] = {
  { .name = "order",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "best-of",
    .choices = "best-of|spatial|temporal|spatial-temporal|phase-window|fast-merge=phase-window|"
               "phase-window-end",
    .help = "Which buffers are placed first; best-of: the smaller plan of spatial and temporal.",
    .offset = G_STRUCT_OFFSET (Params, order) },
  { .name = "placement",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "best-fit",
    .choices = "best-fit|lowest-offset",
    .help = "The smallest free chunk, or the lowest.",
    .offset = G_STRUCT_OFFSET (Params, placement) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

static GememBoxKey
by_begin (const GememBox *box, gpointer boxes G_GNUC_UNUSED)
{
  return (GememBoxKey){ box->first, ~(guint64) box->size, 0 };
}

static GememBoxKey
by_end (const GememBox *box, gpointer boxes G_GNUC_UNUSED)
{
  return (GememBoxKey){ box->last, ~(guint64) box->size, 0 };
}

static GememPlan *
plan_in_order (const Params *params, const GememPlanInput *input, int order, GError **error)
{
  static const GememBoxOrder keys[] = {
    [ORDER_SPATIAL] = gemem_box_by_size,
    [ORDER_TEMPORAL] = gemem_box_by_life,
    [ORDER_SPATIAL_TEMPORAL] = gemem_box_by_area,
    [ORDER_PHASE_WINDOW] = by_begin,
    [ORDER_PHASE_WINDOW_END] = by_end,
  };

  return gemem_fit_plan (
      input, params->alignment, keys[order],
      params->placement == 0 ? gemem_occupancy_best_fit : gemem_occupancy_first_fit, error);
}

static GememPlan *
plan_heap (gconstpointer data, const GememPlanInput *input, GError **error)
{
  const Params *params = data;

  if (params->order != ORDER_BEST_OF)
    return plan_in_order (params, input, params->order, error);
  GememPlan *plan = gemem_plan_keep_best (NULL, plan_in_order (params, input, ORDER_SPATIAL, error),
                                          "spatial", 0);
  return plan != NULL ? gemem_plan_keep_best (
             plan, plan_in_order (params, input, ORDER_TEMPORAL, error), "temporal", 0)
                      : NULL;
}

const GememPlanner gemem_planner_xla_heap = {
  { "xla-heap", NULL, "XLA's heap: largest or longest-lived buffers first, into the gaps",
    "offline-planning.md 3", params_heap, sizeof (Params), "GlobalDecreasingSizeBestFitHeap" },
  0,
  512,
  plan_heap,
  GEMEM_FIT_ITEM_BYTES
};
