/* plans.h - plans of graphs and of lifetimes in tests, and their expected offsets. */
#pragma once

#include "planners/planner.h"

/* The plan of @planner ("ge-hybrid:memory_priority=yes"); fails the test on an error. */
GememPlan *test_plan (const GememGraph *graph, const char *planner, guint threads);
/* The same of @lifetimes, which the checker has verified. */
GememPlan *test_plan_lifetimes (const char *planner, const GememLifetimes *lifetimes);

/* "A=0 S.1=7168 A.w0=4096": expected offsets of outputs (output 0 by default) and workspaces;
 * every one is compared. */
void test_plan_offsets (const GememGraph *graph, const GememPlan *plan, const char *expected);

/* Bytes of a memory type; 0 if the plan has none. */
guint64 test_plan_total (const GememPlan *plan, guint64 space);
