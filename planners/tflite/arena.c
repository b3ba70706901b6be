/* arena.c - planner `tflite-arena`: TensorFlow Lite's arena, the smallest gap between tensors placed
 * before.
 *
 * First come the tensors that live for the whole run, by id; then size descending, begin, id.
 * Older releases went in the order of execution: order=execution.  Each gets the smallest gap
 * between those whose lives meet its own, the lowest of equal ones, else the end of the last.
 * Not known, and chosen: a gap counts from the aligned offset on.
 *
 * Cost: occupancy.h.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"

typedef struct
{
  int order;
  guint64 alignment;
} Params;

static const GememParam params_arena[] = {
  { .name = "order",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "size",
    .choices = "size|execution",
    .help = "Which tensors are placed first; execution: as in older releases.",
    .offset = G_STRUCT_OFFSET (Params, order) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

static GememBoxKey
by_size (const GememBox *box, gpointer boxes)
{
  const gboolean whole = gemem_box_is_whole (box, boxes);

  return whole ? (GememBoxKey){ 0, 0, 0 } : (GememBoxKey){ 1, ~(guint64) box->size, box->first };
}

static GememPlan *
plan_arena (gconstpointer data, const GememPlanInput *input, GError **error)
{
  const Params *params = data;

  return gemem_fit_plan (input, params->alignment,
                         params->order == 0 ? by_size : gemem_box_by_begin,
                         gemem_occupancy_best_fit, error);
}

const GememPlanner gemem_planner_tflite_arena = {
  { "tflite-arena", NULL, "TensorFlow Lite's arena: whole-run tensors, then the largest, best fit",
    "offline-planning.md 3", params_arena, sizeof (Params), "ArenaPlanner|SimpleMemoryArena" },
  0,
  512,
  plan_arena,
  GEMEM_FIT_ITEM_BYTES
};
