/* passing.h - requests that a resource passes on to its upstream as they are.
 *
 * Why: the binning and the limiting resource keep no memory themselves, but must know the blocks
 * for walk() and at their end.
 *
 * Invariants: the list has exactly the live blocks.  Cost: O(1) beside the upstream's.
 */
#pragma once

#include "allocators/rmm/upstream.h"
#include "base/slab.h"

/* A live block; `handle` of its GememBlock. */
typedef struct _GememRmmPassed GememRmmPassed;
struct _GememRmmPassed
{
  guint64 address, size; /* size: as requested */
  GememRmmPassed *previous, *next;
};

typedef struct
{
  GememRmmPassed *first;
  GememSlab slab;
  guint64 count;
} GememRmmPassing;

void gemem_rmm_passing_init (GememRmmPassing *self);
/* Frees all live blocks. */
void gemem_rmm_passing_clear (GememRmmPassing *self, GememRmmUpstream *upstream);
/* alloc() and free() of a class. */
gboolean gemem_rmm_passing_alloc (GememRmmPassing *self, GememRmmUpstream *upstream,
                                  const GememRequest *request, GememBlock *block);
void gemem_rmm_passing_free (GememRmmPassing *self, GememRmmUpstream *upstream,
                             const GememBlock *block);
/* Appends the spans of the live blocks. */
void gemem_rmm_passing_append (const GememRmmPassing *self, const GememRmmUpstream *upstream,
                               GArray *spans);
