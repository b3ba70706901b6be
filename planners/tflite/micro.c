/* micro.c - planner `tflm-greedy`: TensorFlow Lite Micro's greedy planner, the largest tensor first
 * into the lowest gap.
 *
 * Of equal sizes the one added later comes first.  Its first and last use are both inclusive, which
 * is what lifetimes say, too.  Tensors with offsets given beforehand come before all others there;
 * no input of ours has any.
 *
 * Cost: occupancy.h.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

static GememBoxKey
by_size (const GememBox *box, gpointer boxes G_GNUC_UNUSED)
{
  return (GememBoxKey){ ~(guint64) box->size, ~box->id, 0 };
}

static GememPlan *
plan_greedy (gconstpointer data, const GememPlanInput *input, GError **error)
{
  return gemem_fit_plan (input, ((const GememFitParams *) data)->alignment, by_size,
                         gemem_occupancy_first_fit, error);
}

const GememPlanner gemem_planner_tflm_greedy = {
  { "tflm-greedy", NULL, "TensorFlow Lite Micro: largest first, into the lowest gap",
    "offline-planning.md 3", gemem_fit_params_in_order, sizeof (GememFitParams),
    "GreedyMemoryPlanner" },
  0,
  512,
  plan_greedy,
  GEMEM_FIT_ITEM_BYTES
};
