/* fit.c - first fit and best fit over lifetimes in several orders: the heuristics of production
 * systems, as baselines.
 *
 * Items are placed one after another.  First fit takes the lowest offset that is free during the
 * item's whole life; best fit takes the smallest gap that is large enough (the lowest of equal
 * ones), or the top if there is no such gap.  Orders, each ending with the id:
 *   allocation  begin
 *   size        size descending, lifetime descending
 *   area        size x lifetime descending, size descending
 *   lifetime    lifetime descending, size descending
 *
 * Origin: offline-planning.md 3: first fit by size is TensorFlow Lite Micro's greedy planner and
 * idealloc's fallback; best fit by size XLA's kSpatial and TensorFlow Lite's arena; best fit by
 * lifetime XLA's kTemporal; best fit by allocation MLIR's static planning.  5.1 lists their results
 * on the MiniMalloc instances (tests/vectors/test-dsa-baselines.c).
 * Cost: O(n log n), plus the cost in occupancy.h.
 */
#include "config.h"

#include "planners/fit.h"

typedef enum
{
  ORDER_ALLOCATION,
  ORDER_SIZE,
  ORDER_AREA,
  ORDER_LIFETIME,
} Order;

const GememParam gemem_fit_params_in_order[] = {
  GEMEM_PLANNER_ALIGNMENT (GememFitParams),
  { NULL },
};

static const GememParam params_any_order[] = {
  { .name = "order",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "size",
    .choices = "allocation|size|area|lifetime",
    .help = "Which items are placed first.",
    .offset = G_STRUCT_OFFSET (GememFitParams, order) },
  GEMEM_PLANNER_ALIGNMENT (GememFitParams),
  { NULL },
};

/* ---- orders */

GememBoxKey
gemem_box_by_size (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ ~(guint64) box->size, ~box->life, 0 };
}

GememBoxKey
gemem_box_by_area (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  const unsigned __int128 area = (unsigned __int128) box->size * box->life;

  return (GememBoxKey){ ~(guint64) (area >> 64), ~(guint64) area, ~(guint64) box->size };
}

GememBoxKey
gemem_box_by_life (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ ~box->life, ~(guint64) box->size, 0 };
}

GememBoxKey
gemem_box_by_begin (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ box->first, 0, 0 };
}

/* ---- planning */

void
gemem_boxes_fit (GememBoxes *boxes, GememFit fit, const GememPlanInput *input)
{
  g_autoptr (GememOccupancy) occupancy = gemem_occupancy_new (MAX (boxes->columns, 1));

  for (guint32 i = 0; i < boxes->n && !gemem_plan_is_unwanted (input->interrupted); i++)
    {
      GememBox *box = &boxes->boxes[i];
      const guint64 size = (guint64) box->size,
                    offset = fit (occupancy, box->first, box->last, size, (guint64) box->unit);

      if (input->share != NULL)
        g_atomic_int_set (input->share, (gint) ((guint64) i * 1000 / boxes->n));
      gemem_occupancy_take (occupancy, box->first, box->last, offset, offset + size);
      box->offset = (gint64) offset;
    }
}

typedef struct
{
  const GememPlanInput *input;
  GememBoxOrder key;
  GememFit fit;
} Fitting;

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const Fitting *fitting = data;

  gemem_boxes_sort (boxes, fitting->key, boxes);
  gemem_boxes_fit (boxes, fitting->fit, fitting->input);
  return TRUE;
}

GememPlan *
gemem_fit_plan (const GememPlanInput *input, guint64 alignment, GememBoxOrder key, GememFit fit,
                GError **error)
{
  Fitting fitting = { input, key, fit };

  return gemem_boxes_plan (input, alignment, 1, place, &fitting, error);
}

static GememPlan *
plan_fit (const GememPlanInput *input, Order order, GememFit fit, guint64 alignment, GError **error)
{
  static const GememBoxOrder keys[] = { gemem_box_by_begin, gemem_box_by_size, gemem_box_by_area,
                                        gemem_box_by_life };

  return gemem_fit_plan (input, alignment, keys[order], fit, error);
}

/* ---- the planners */

static GememPlan *
plan_first_fit (gconstpointer params, const GememPlanInput *input, GError **error)
{
  return plan_fit (input, (Order) ((const GememFitParams *) params)->order,
                   gemem_occupancy_first_fit, ((const GememFitParams *) params)->alignment, error);
}

static GememPlan *
plan_best_fit (gconstpointer params, const GememPlanInput *input, GError **error)
{
  return plan_fit (input, (Order) ((const GememFitParams *) params)->order,
                   gemem_occupancy_best_fit, ((const GememFitParams *) params)->alignment, error);
}

#define IN_ORDER(fit, word, ORDER, text, source) \
  static GememPlan *plan_##fit##_fit_by_##word (gconstpointer params, const GememPlanInput *input, \
                                                GError **error) \
  { \
    return plan_fit (input, ORDER_##ORDER, gemem_occupancy_##fit##_fit, \
                     ((const GememFitParams *) params)->alignment, error); \
  } \
  const GememPlanner gemem_##fit##_fit_by_##word = { { #fit "-fit-by-" #word, NULL, text, source, \
                                                       gemem_fit_params_in_order, \
                                                       sizeof (GememFitParams) }, \
                                                     0, \
                                                     512, \
                                                     plan_##fit##_fit_by_##word, \
                                                     GEMEM_FIT_ITEM_BYTES }

const GememPlanner gemem_first_fit = {
  { "first-fit", NULL,
    "Each item at the lowest offset that is free all its life, in an order to choose",
    "offline-planning.md 3", params_any_order, sizeof (GememFitParams) },
  0,
  512,
  plan_first_fit,
  GEMEM_FIT_ITEM_BYTES
};
IN_ORDER (first, allocation, ALLOCATION, "First fit in the order of allocation",
          "offline-planning.md 3");
IN_ORDER (first, size, SIZE,
          "First fit, largest first, as TensorFlow Lite Micro and idealloc's fallback do",
          "offline-planning.md 2, 3");
IN_ORDER (first, area, AREA, "First fit, largest size x lifetime first", "offline-planning.md 3");
IN_ORDER (first, lifetime, LIFETIME, "First fit, longest-lived first", "offline-planning.md 3");

const GememPlanner gemem_best_fit = {
  { "best-fit", NULL,
    "Each item in the smallest gap that is large enough all its life, in an order to choose",
    "offline-planning.md 3", params_any_order, sizeof (GememFitParams) },
  0,
  512,
  plan_best_fit,
  GEMEM_FIT_ITEM_BYTES
};
IN_ORDER (best, allocation, ALLOCATION,
          "Best fit in the order of allocation, as MLIR's static planning does",
          "offline-planning.md 3");
IN_ORDER (best, size, SIZE,
          "Best fit, largest first, as XLA's kSpatial and TensorFlow Lite's arena do",
          "offline-planning.md 3");
IN_ORDER (best, area, AREA,
          "Best fit, largest size x lifetime first, as XLA's kSpatialTemporal does",
          "offline-planning.md 3");
IN_ORDER (best, lifetime, LIFETIME, "Best fit, longest-lived first, as XLA's kTemporal does",
          "offline-planning.md 3");

const GememPlanner *const gemem_fit_planners[] = {
  &gemem_first_fit_by_allocation, &gemem_first_fit_by_size,      &gemem_first_fit_by_area,
  &gemem_first_fit_by_lifetime,   &gemem_best_fit_by_allocation, &gemem_best_fit_by_size,
  &gemem_best_fit_by_area,        &gemem_best_fit_by_lifetime,   NULL
};
