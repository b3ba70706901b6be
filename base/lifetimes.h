/* lifetimes.h - intervals of time that need memory: what planners place, from traces and graphs.
 *
 * Time is a counter of steps (events of a trace, nodes of a graph, the units of a CSV); an item is
 * alive in the steps begin <= t < end, and two items may share addresses when the end of one is <=
 * the begin of the other.
 *
 * Invariants: begin < end <= safe_end and size > 0 for every item; items are in the order in which
 * a program asks for them.
 * Cost: 56 bytes an item.  Origin: offline-planning.md.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 begin, end; /* steps; half-open */
  /* >= end: from here on every step is known to run after the last use.  Differs from `end` only
   * for graphs with several streams; planners use this one, the lower bound uses `end` */
  guint64 safe_end;
  guint64 size;      /* bytes as requested */
  guint64 alignment; /* power of two; 0: what the planner chooses */
  /* of the allocation in the trace, of the line in the CSV; graphs: number of the item */
  guint64 id;
  guint32 space; /* memory of different spaces (types) never mixes; 0: the ordinary one */
  guint32 tag;   /* free for the maker: graphs keep the representative's item number */
} GememLifetime;

typedef struct
{
  GArray *items; /* GememLifetime */
  char *name;    /* of the source */
  guint64 steps; /* no step of any item is greater */
} GememLifetimes;

/* An empty list; @name is copied. */
GememLifetimes *gemem_lifetimes_new (const char *name);
void gemem_lifetimes_free (GememLifetimes *lifetimes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememLifetimes, gemem_lifetimes_free)

/* Appends an item of @size bytes alive in @begin <= t < @end, with safe_end = end, id and tag = its
 * number; keeps `steps`.  Amortised O(1). */
void gemem_lifetimes_add (GememLifetimes *lifetimes, guint64 begin, guint64 end, guint64 size);

#define gemem_lifetimes_get(lifetimes, i) (&g_array_index ((lifetimes)->items, GememLifetime, (i)))

/* Largest sum over time of live sizes, each rounded up to @alignment (1: exact) or to the item's
 * own if that is larger; all spaces together.  No plan needs less.  O(n log n). */
guint64 gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment);

GEMEM_END_DECLS
