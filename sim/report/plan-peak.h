/* plan-peak.h - what decides the peak of a plan: the step at which most is alive below its top, and the
 * items that are.
 *
 * Why: "2.3 GiB" alone does not say which tensors make it so.  Where the plan has the size of its
 * bound, the items of this step alone need that much.
 *
 * Invariants: of the space with the most bytes (the first of equal ones); `taken` counts bytes that
 * several items share once.
 * Cost: O(items log items).
 */
#pragma once

#include "sim/report/plan-view.h"

#define GEMEM_PLAN_PEAK_ITEMS 10 /* shown, the largest ones */

typedef struct
{
  guint64 space, step;
  guint64 bytes; /* of the space */
  guint64 taken; /* of these by the items */
  GArray *rects; /* GememPlanRect, the largest first: what is alive at the step */
} GememPlanPeak;

/* Free with g_array_unref() of `rects`, which is empty where the plan places nothing. */
GememPlanPeak gemem_plan_peak (const GememPlanView *view);

/* Appends it for people, the largest items by name. */
void gemem_plan_peak_text (GString *out, const GememPlanResult *result);
/* Appends the member "peak" of a plan in JSON. */
void gemem_plan_peak_json (GString *out, const GememPlanResult *result);
