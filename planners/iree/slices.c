/* slices.c - planner `iree-slices`: IREE's layout of slices, in the order of the program into the
 * smallest gap.
 *
 * The order is that of the input, whatever the sizes and lives.  Slices of dynamic size, which IREE
 * puts into bins, do not occur: every lifetime has a size.  Gaps are TensorFlow Lite's
 * (tflite/arena.c).
 *
 * Cost: occupancy.h.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

static GememBoxKey
by_id (const GememBox *box G_GNUC_UNUSED, gpointer boxes G_GNUC_UNUSED)
{
  return (GememBoxKey){ 0, 0, 0 };
}

static GememPlan *
plan_slices (gconstpointer data, const GememPlanInput *input, GError **error)
{
  return gemem_fit_plan (input, ((const GememFitParams *) data)->alignment, by_id,
                         gemem_occupancy_best_fit, error);
}

const GememPlanner gemem_planner_iree_slices = {
  { "iree-slices", NULL, "IREE's layout of slices: the order of the program, best fit",
    "offline-planning.md 3", gemem_fit_params_in_order, sizeof (GememFitParams), "LayoutSlices" },
  0,
  512,
  plan_slices,
  GEMEM_FIT_ITEM_BYTES
};
