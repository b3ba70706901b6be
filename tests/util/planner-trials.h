/* planner-trials.h - random graphs planned by every planner of the registry, each plan checked.
 *
 * A planner that refuses a graph (GEMEM_ERROR_INPUT) is fine; a plan that the checker rejects, that
 * needs less than the lower bound, or that depends on the number of threads, fails the test with
 * the seed, the features, the smallest graph found that shows it, and the text of the violation.
 */
#pragma once

#include "planners/planner.h"

/* @graphs graphs from seed @first on, of up to @nodes nodes, by the planners that @planners names
 * ("*": all). */
void test_planner_trials (const char *planners, guint64 first, guint graphs, guint nodes);

/* NULL if @choice plans the graph of (@seed, @features, @nodes) soundly, else what is wrong; free
 * with g_free(). */
char *test_planner_trial (const GememChoice *choice, guint64 seed, guint features, guint nodes);
