/* lifetimes.h - the intervals of time, from traces and graphs, during which items need memory: the
 * input of planners.
 *
 * Time is a counter of steps (events of a trace, nodes of a graph, the units of a CSV); an item is
 * alive in the steps begin <= t < end, and two items may share addresses when the end of one is <=
 * the begin of the other.
 *
 * Few items have more: gaps, in which none or only some of their bytes are in use, and a place that every
 * plan has to keep.
 *
 * Invariants: begin < end <= safe_end for every item; items are in the order of the program's
 * requests.  An item of 0 bytes shares none with any other, and has no place.  Gaps lie within the life of their item and do not meet; where there are any,
 * safe_end = end.
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
  guint64 alignment; /* a power of two, except in tables of lifetimes; 0: chosen by the planner */
  /* of the allocation in the trace, of the line in the CSV; graphs: number of the item */
  guint64 id;
  guint32 space; /* memory of different spaces (types) never mixes; 0: the ordinary one */
  guint32 tag;   /* for the creator: graphs store the representative's item number */
} GememLifetime;

/* A part of a life in which not all of the item is in use. */
typedef struct
{
  guint64 begin, end; /* steps; half-open */
  guint64 low, high;  /* bytes of the item in use meanwhile; equal: none */
  guint32 item;
} GememLifeGap;

/* A part of a life in which the same bytes are in use. */
typedef GememLifeGap GememLifePiece;

#define GEMEM_ANY_PLACE G_MAXUINT64

typedef struct
{
  GArray *items; /* GememLifetime */
  GArray *gaps;  /* GememLifeGap, by (item, begin); NULL: there are none */
  GArray
      *places; /* guint64 per item: the offset it has to have, or GEMEM_ANY_PLACE; NULL: none has */
  GPtrArray *names; /* per item, for messages; NULL: they have none */
  char *name;       /* name of the source */
  guint64 steps;    /* no step of any item is greater */
} GememLifetimes;

/* An empty list; @name is copied. */
GememLifetimes *gemem_lifetimes_new (const char *name);
void gemem_lifetimes_free (GememLifetimes *lifetimes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememLifetimes, gemem_lifetimes_free)

/* Appends an item of @size bytes alive in @begin <= t < @end, with safe_end = end, id and tag = its
 * number; updates `steps`.  Amortised O(1). */
void gemem_lifetimes_add (GememLifetimes *lifetimes, guint64 begin, guint64 end, guint64 size);

#define gemem_lifetimes_get(lifetimes, i) (&g_array_index ((lifetimes)->items, GememLifetime, (i)))

/* The parts of all lives in which bytes are in use, GememLifePiece by (item, begin), up to safe_end; those of item
 * i are starts[i] to below starts[i + 1] (g_free()).  O(items + gaps). */
GArray *gemem_lifetimes_pieces (const GememLifetimes *lifetimes, guint32 **starts);
/* "buffer 'b1'", or "item 3 (id 4)"; g_free(). */
char *gemem_lifetimes_name (const GememLifetimes *lifetimes, guint32 item);

/* The place that the item has to have, or GEMEM_ANY_PLACE; of 0 bytes any will do. */
static inline guint64
gemem_lifetimes_place (const GememLifetimes *lifetimes, guint32 item)
{
  return lifetimes->places != NULL && gemem_lifetimes_get (lifetimes, item)->size > 0
             ? g_array_index (lifetimes->places, guint64, item)
             : GEMEM_ANY_PLACE;
}

/* What all offsets are multiples of: the greatest common divisor of @alignment (of items without their own), the
 * items' alignments, their places and the ends of what is in use in their gaps. */
guint64 gemem_lifetimes_unit (const GememLifetimes *lifetimes, guint64 alignment);

/* Largest sum over time of the bytes in use of @space (-1: of all), each piece rounded up to @unit; *@step: the first
 * at which it is reached.  O(n log n). */
guint64 gemem_lifetimes_load (const GememLifetimes *lifetimes, gint64 space, guint64 unit,
                              guint64 *step);

/* Largest sum over time of live sizes, each rounded up to what @alignment (1: exact) and the items' own
 * alignments, places and gaps have in common; all spaces together; and the end of any item at the place that it has
 * to have.  No plan whose totals are multiples of @alignment
 * needs less.  O(n log n). */
guint64 gemem_lifetimes_lower_bound (const GememLifetimes *lifetimes, guint64 alignment);

GEMEM_END_DECLS
