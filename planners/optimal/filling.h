/* filling.h - boxes put one by one into what others leave free, each as low as it can lie.
 *
 * Why: what is small finds a place between large boxes, whose placement is searched without it (large.c).
 *
 * Invariants: boxes that were added do not move; what is put lies above none that it shares columns and bytes with.
 * Cost: 8 bytes a box, and 4 for each of a few cells that it lies in; to put one is O(boxes alive with it).
 */
#pragma once

#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef struct _GememFilling GememFilling;

/* Of @boxes, at least one, which keep their order; none of them is there yet. */
GememFilling *gemem_filling_new (GememBoxes *boxes);
void gemem_filling_free (GememFilling *filling);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememFilling, gemem_filling_free)

/* The box at @place is there, at its offset. */
void gemem_filling_add (GememFilling *filling, guint32 place);
/* Gives the box at @place the lowest offset that is free, and adds it; returns the steps: walls looked at. */
guint64 gemem_filling_put (GememFilling *filling, guint32 place);

GEMEM_END_DECLS
