/* shuffled.h - a held trace whose frees come in another order.
 *
 * Why: frees that follow one another without a request between them come in an order that chance
 * decides in the program: of the members of a set, of an exit of autocast.  On an H100 up to 888 events
 * of the same program differed from run to run.  What an allocator reserves may depend on it.
 *
 * Invariants: only frees of one kind and device that follow one another change places, and not beyond a
 * batch of the held trace (4096 events); the k-th of them keeps its time.  The same seed gives the same order.
 */
#pragma once

#include "base/macros.h"
#include "traces/held.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememHeld *held; /* not owned */
  guint64 seed;
} GememShuffled;

/* A GememTraceSource; @shuffled must outlive the readers. */
GememTraceReader *gemem_shuffled_open (gpointer shuffled, GError **error);

GEMEM_END_DECLS
