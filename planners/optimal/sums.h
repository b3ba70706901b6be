/* sums.h - a bound for placements of shapes, from what sizes can add up to in a column.
 *
 * Why: what is in use at once is a bound, but where alignments differ or some have a place, bytes are lost in every placement:
 * what lies between two multiples of an alignment, or between two places, can be filled only by sizes that add up
 * to it.  Without this a plan that is the least shows a gap.  Where nothing is aligned or placed, a column by itself can always
 * be filled without loss, so that its load is all that it says.
 *
 * Proof, for one column, of which other columns only restrict what is possible:
 *
 * Alignment u.  Call big what begins at multiples of u, small all else, which may begin anywhere.  In a placement let i and j be big
 * and j the next big above i; s the sum of the small ones between them.  j begins at a multiple of u at or above the end of i
 * plus s, which all lie between: at least (-(size of i + s)) mod u bytes between them are lost.  As s is the sum of
 * some sizes of small ones, that is at least the least for all such sums, and without small ones between them (-size of i) mod u.
 * These bytes lie in different places for different i.  So all big ones but the topmost lose that much, and of these at most
 * as many as there are small ones have any of them above.  The least loss for any topmost one and any that have is what the load
 * is raised by.  (Bytes lost between the small ones only add to this: x lost there spare at most x behind them.)
 *
 * Places.  Between two that follow each other in a column lie only sizes of others whose sum is no larger than the hole; what
 * is not in a hole lies above the highest place.  The largest sum of sizes that is no larger than a hole, of those that
 * could lie there by themselves, is the most that is in it.  What remains of all after each hole got its most lies above the
 * end of the highest place.  And no item ends lower than where it would lie with the places alone.
 *
 * Few items.  The least end of a set of items in a column is that of one of them above the least end of the others, as low as its
 * alignment and the places leave it: whichever lies highest, the others end at their least end or above.
 *
 * Cost: steps are counted and end it: about 2^25, a piece or a sum looked at; columns with the largest load come first.  Sums are
 * kept up to 2^12; more count as all.  Memory: 16 bytes a column.
 */
#pragma once

#include "planners/optimal/shapes.h"

GEMEM_BEGIN_DECLS

/* All orders of a column may take so many steps. */
#define GEMEM_SUMS_ORDERS (1 << 17)

/* No placement of @shapes has a smaller top; 0: nothing is known.  @orders: GEMEM_SUMS_ORDERS; 0: no column's orders are
 * tried. */
gint64 gemem_sums_bound (const GememShapes *shapes, guint64 orders);

GEMEM_END_DECLS
