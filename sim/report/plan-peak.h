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

/* Appends the peak for people, the largest items by name. */
void gemem_plan_peak_text (GString *out, const GememPlanResult *result);
/* Appends the member "peak" of a plan in JSON. */
void gemem_plan_peak_json (GString *out, const GememPlanResult *result);
