/* levels.h - what every column of a dive will be filled to at least: its load, and what was lost in it.
 *
 * Why: a dive that cannot get below a given top mostly loses too much in some column long before it reaches that
 * top (dive.h).
 *
 * Invariant: no column ends lower than its level, as what is yet to be placed in it lies above what was lost.
 * Cost: 8 bytes a column and 32 for each block of them; to raise is O(log columns).
 */
#pragma once

#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef struct _GememLevels GememLevels;

GememLevels *gemem_levels_new (guint32 columns);
void gemem_levels_free (GememLevels *levels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememLevels, gemem_levels_free)

/* Nothing is lost: the levels are the loads of @boxes, of as many columns. */
void gemem_levels_begin (GememLevels *levels, const GememBoxes *boxes);
/* @by more is lost in columns [first, last). */
void gemem_levels_raise (GememLevels *levels, guint32 first, guint32 last, gint64 by);
/* The highest level. */
gint64 gemem_levels_most (const GememLevels *levels);

GEMEM_END_DECLS
