/* gaps.h - free ranges in order of address, of which the lowest that is long enough is
 * found at once.
 *
 * Why not a plain ordered tree: finding the lowest free range of n bytes needs the longest gap of a
 * subtree, without which a search must walk.  The gaps form a treap in address order; every node
 * stores the longest gap beneath it.  The priorities are a hash of the address at which a gap began
 * when it was inserted, so the shape depends on the calls alone.
 *
 * A gap belongs to the caller, who may embed it; the root is a pointer, NULL when there is none.
 *
 * Invariants: gaps of one root do not overlap.  Cost: all operations O(log gaps) expected.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememGap GememGap;
struct _GememGap
{
  GememGap *left, *right;
  guint64 start, end; /* free: [start, end) */
  guint64 longest;    /* of this gap and all gaps beneath */
  guint64 priority;   /* not smaller than that of any gap beneath */
};

/* Inserts @gap, whose `start` and `end` are set. */
void gemem_gaps_insert (GememGap **root, GememGap *gap);
/* Removes @gap, without freeing it. */
void gemem_gaps_remove (GememGap **root, const GememGap *gap);
/* After `start` or `end` of the gap that now starts at @start were changed, and its place in the
 * order was not. */
void gemem_gaps_refresh (GememGap *root, guint64 start);
/* The lowest gap of at least @size bytes, or NULL. */
GememGap *gemem_gaps_lowest (GememGap *root, guint64 size);
/* The lowest address at or above @floor, a multiple of @alignment (a power of two), that begins
 * @size > 0 free bytes; 0: there is none. */
guint64 gemem_gaps_find (const GememGap *root, guint64 floor, guint64 size, guint64 alignment);
/* The last gap that starts at or below @address, or NULL. */
GememGap *gemem_gaps_at_or_below (GememGap *root, guint64 address);
/* TRUE if order, sums and heap property hold; *@last, at first 0, is the end of the last gap;
 * @count: the number of gaps; @touch: gaps may touch.  O(gaps).  For tests and
 * --enable-checks=full. */
gboolean gemem_gaps_check (const GememGap *root, gboolean touch, guint64 *last, guint64 *count);

GEMEM_END_DECLS
