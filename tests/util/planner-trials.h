/* planner-trials.h - random graphs planned by every planner of the registry, each plan checked.
 *
 * A planner may refuse a graph (GEMEM_ERROR_INPUT). A plan fails the test if the checker rejects
 * it, if it needs less than the lower bound, or if it depends on the number of threads; the message
 * has the seed, the features, the smallest graph found that fails, and the violation.
 */
#pragma once

#include "planners/planner.h"

/* @graphs graphs from seed @first on, of up to @nodes nodes, by the planners that @planners names
 * ("*": all). */
void test_planner_trials (const char *planners, guint64 first, guint graphs, guint nodes);
