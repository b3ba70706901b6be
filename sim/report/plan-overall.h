/* plan-overall.h - how planners stand over several inputs. */
#pragma once

#include "base/macros.h"
#include "sim/report/plan-report.h"

GEMEM_BEGIN_DECLS

/* Appends a row for each planner with a plan of every input of @results, which have their bounds: the
 * geometric mean of arena by bound; and one sentence.  Nothing for one input or planner. */
void gemem_plan_overall (GString *out, const GememPlanResult *results, guint n);

GEMEM_END_DECLS
