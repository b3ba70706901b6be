/* fit.h - boxes placed one after another in gaps: what fit.c shares with the planners that differ from
 * it in the order, or try several.
 *
 * Invariant: a box overlaps none that was placed before it.  Cost: occupancy.h.
 */
#pragma once

#include "base/macros.h"
#include "planners/boxes.h"
#include "planners/occupancy.h"
#include "planners/planner.h"

GEMEM_BEGIN_DECLS

/* gemem_occupancy_first_fit() or gemem_occupancy_best_fit(). */
typedef guint64 (*GememFit) (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 size,
                             guint64 alignment);

/* `item_bytes` of the planners that place so. */
#define GEMEM_FIT_ITEM_BYTES 1000

/* Places @boxes, of units of one byte, in the order in which they stand; ends early where the plan
 * is not wanted any more. */
void gemem_boxes_fit (GememBoxes *boxes, GememFit fit, const GememPlanInput *input);

/* The plan of placing by @key, with @fit. */
GememPlan *gemem_fit_plan (const GememPlanInput *input, guint64 alignment, GememBoxOrder key,
                           GememFit fit, GError **error);

/* Orders for gemem_boxes_sort(): begin; size and life descending; size x life and size descending; life
 * and size descending. */
GememBoxKey gemem_box_by_begin (const GememBox *box, gpointer unused);
GememBoxKey gemem_box_by_size (const GememBox *box, gpointer unused);
GememBoxKey gemem_box_by_area (const GememBox *box, gpointer unused);
GememBoxKey gemem_box_by_life (const GememBox *box, gpointer unused);

typedef struct
{
  int order; /* of the planners that have several */
  guint64 alignment;
} GememFitParams;

/* The planners of one order each, NULL-terminated; they take GememFitParams. */
extern const GememPlanner *const gemem_fit_planners[];
extern const GememPlanner gemem_best_fit_by_size;
/* GememFitParams of planners that have the alignment alone. */
extern const GememParam gemem_fit_params_in_order[];

GEMEM_END_DECLS
