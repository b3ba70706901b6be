/* dive.h - skyline dives: a placement of boxes from the bottom up, in an order of preference.
 *
 * The skyline is the height reached in every column, as runs of equal height.  A dive goes to the
 * lowest run and places the box that comes first in the order among those that fit into the run's
 * columns; where none fits, the run is raised to its lower neighbour.  Space is lost only where
 * nothing fits.  Where a box that leaves no narrow rest comes first, less is lost in dense inputs: on the
 * eleven of MiniMalloc 10 instead of 16 % above the bound.
 *
 * Invariant: every box lies above all boxes placed before it whose columns it shares, so that no
 * two overlap.
 * Cost: O(n) runs; a query of a tree over the boxes for each, O(log n) in practice.  A dive that
 * cannot get below a given top ends there.  Origin: offline-planning.md 6.1.
 */
#pragma once

#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef struct _GememDive GememDive;

/* @boxes are sorted by first column, and keep their places until the end. */
GememDive *gemem_dive_new (const GememBoxes *boxes);
void gemem_dive_free (GememDive *dive);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememDive, gemem_dive_free)

/* Gives boxes their ranks by the order number @order, 0 to GEMEM_DIVE_ORDERS - 1. */
#define GEMEM_DIVE_ORDERS 8
void gemem_dive_rank (GememBoxes *boxes, guint order);

/* From now on the dives set *@share to the 1000ths of the boxes that are placed; NULL: not. */
void gemem_dive_watch (GememDive *dive, gint *share);

/* Sets what the dives of @dive prefer: kind 0 to GEMEM_DIVE_ORDERS - 1 by that order alone; behind these
 * by the same orders, but first a box that fills the run, and then one that lies at an end of it. */
#define GEMEM_DIVE_KINDS (2 * GEMEM_DIVE_ORDERS)
void gemem_dive_prepare (GememDive *dive, GememBoxes *boxes, guint kind);

/* Places by rank.  Returns the top, with the offsets by place in @offsets; G_MAXINT64 as soon as
 * the top reaches @below. */
gint64 gemem_dive_run (GememDive *dive, gint64 below, gint64 *offsets);

GEMEM_END_DECLS
