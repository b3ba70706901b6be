/* lifetimes.h - the intervals of time, from traces and graphs, during which items need memory: the
 * input of planners.
 *
 * Time is a counter of steps (events of a trace, nodes of a graph, the units of a CSV); an item is
 * alive in the steps begin <= t < end, and two items may share addresses when the end of one is <=
 * the begin of the other.
 *
 * Invariants: begin < end <= safe_end and size > 0 for every item; items are in the order of the
 * program's requests.
 * Cost: 56 bytes an item.  Origin: offline-planning.md.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 begin, end; /* steps; half-open */
  /* >= end: every step from here on is known to run after the last use.  Differs from `end` only
   * for graphs with several streams; planners use `safe_end`, the lower bound uses `end` */
  guint64 safe_end;
  guint64 size;      /* bytes as requested */
  guint64 alignment; /* power of two; 0: chosen by the planner */
  /* of the allocation in the trace, of the line in the CSV; graphs: number of the item */
  guint64 id;
  guint32 space; /* memory of different spaces (types) never mixes; 0: the ordinary one */
  guint32 tag;   /* for the creator: graphs store the representative's item number */
} GememLifetime;

typedef struct
{
  GArray *items; /* GememLifetime */
  char *name;    /* name of the source */
  guint64 steps; /* no step of any item is greater */
} GememLifetimes;

/* An empty list; @name is copied. */
GememLifetimes *gemem_lifetimes_new (const char *name);
void gemem_lifetimes_free (GememLifetimes *lifetimes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememLifetimes, gemem_lifetimes_free)

/* Appends an item of @size bytes alive in @begin <= t < @end, with safe_end = end, id and tag = its
 * number; updates `steps`.  Amortised O(1). */
void gemem_lifetimes_add (GememLifetimes *lifetimes, guint64 begin, guint64 end, guint64 size);

#define gemem_lifetimes_get(lifetimes, i) (&g_array_index ((lifetimes)->items, GememLifetime, (i)))

/* Largest sum over time of live sizes, each rounded up to what @alignment (1: exact) and the items' own
 * alignments have in common; all spaces together.  No plan whose totals are multiples of @alignment
 * needs less.  O(n log n). */
guint64 gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment);

GEMEM_END_DECLS
