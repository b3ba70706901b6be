/* space.h - the address space of a simulated device: which addresses are free, lowest first.
 *
 * Invariants: gaps do not touch or overlap; everything in [GEMEM_SPACE_START, GEMEM_SPACE_END) that
 * is not in a gap was taken.  Cost: all operations O(log gaps) expected, no heap allocation per
 * call (slab.h).  A request for an alignment beyond that of the gaps may examine several gaps that
 * are long enough but misaligned.
 */
#pragma once

#include <glib.h>

#include "base/gaps.h"
#include "base/slab.h"

#define GEMEM_SPACE_START G_GUINT64_CONSTANT (0x1000) /* address 0 is never returned */
#define GEMEM_SPACE_END (G_GUINT64_CONSTANT (1) << 62)

typedef struct
{
  GememGap *root;
  GememSlab slab;
  guint64 gaps;
} GememSpace;

void gemem_space_init (GememSpace *space);
void gemem_space_clear (GememSpace *space);

/* The lowest address at or above @floor, a multiple of @alignment (a power of two), from which
 * @size > 0 bytes are free; 0: none. */
guint64 gemem_space_find (const GememSpace *space, guint64 floor, guint64 size, guint64 alignment);

/* Takes [@address, @address + @size); FALSE, without effect, if any byte of it is taken or outside
 * the space. */
gboolean gemem_space_take (GememSpace *space, guint64 address, guint64 size);

/* Returns a taken range; adjacent gaps coalesce. */
void gemem_space_give (GememSpace *space, guint64 address, guint64 size);

/* TRUE if order, sums and heap property hold and gaps do not touch; O(gaps).  For tests and
 * --enable-checks=full. */
gboolean gemem_space_check (const GememSpace *space);
