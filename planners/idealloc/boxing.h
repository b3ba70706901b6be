/* boxing.h - what idealloc does before it places anything: jobs go into boxes of equal height, and these
 * into rows, so that every job gets a loose offset: above and below no other job, but with much between.
 *
 * The theory (Buchsbaum and others: at most L + O((hmax / L)^(1/7)) L) needs no more than that the boxes
 * waste little; idealloc takes from it an order in which first fit does well, and another with each seed.
 *
 * Invariants: a box holds jobs whose load is at most its number of rows at every moment; boxes of one call
 * have one height; every job is in one box at last.
 * Cost: O(n log n) a boxing, 100 bytes a job.  Origin: offline-planning.md 2, steps 1 to 5.
 */
#pragma once

#include "base/rng.h"
#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

/* The largest of the least ratios of sizes that the theory is used for: below it a job of so many times the
 * least size, alive throughout, is boxed with the others. */
#define GEMEM_IDEALLOC_RATIO 2216.54

/* Boxes @boxes, in the order of their first columns, with random numbers of @rng, and writes a loose offset for each to @loose.
 * @epsilon: as chosen. */
void gemem_idealloc_box (const GememBoxes *boxes, double epsilon, GememRng *rng, double *loose);

/* The epsilon, from the least that boxes anything upward by 1 %, that leaves the least ratio of sizes. */
double gemem_idealloc_epsilon (const GememBoxes *boxes, GememRng *rng);

/* The row of each interval [first, last) of @boxes, in that order, where no row has two at once; as few rows as possible: of the free
 * ones that which was freed last.  Returns their number. */
guint32 gemem_idealloc_colour (const GememBoxes *boxes, guint32 *rows);

GEMEM_END_DECLS
