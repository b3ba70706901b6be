/* plan.h - a memory plan: an offset for each item that needs memory, and further results of the
 * planner.
 *
 * Items are those of the input: the lifetimes of a trace, in order, or the items of a graph
 * (graph.h: outputs and workspaces in node order).  Offsets are relative to the start of the item's
 * space (memory type); spaces are separate.
 *
 * Invariants: a plan is used only after gemem_plan_check() (check.h) accepted it.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#include "base/error.h"

GEMEM_BEGIN_DECLS

#define GEMEM_NO_OFFSET G_MAXUINT64 /* the item has no memory */

typedef struct
{
  char *name;
  guint64 total; /* bytes; candidates are compared by it */
} GememPlanCandidate;

typedef struct
{
  guint64 space; /* memory type: GEMEM_MEMORY_* of graph.h; 0 for plain lifetimes */
  guint64 bytes; /* used, from the start of the space */
} GememPlanTotal;

/* A segment of the plan that the run time may place on its own (ge-static.md 8.1). */
typedef struct
{
  guint64 space, base, size;
  gboolean fixed, zero_copy;
} GememPlanSegment;

/* A part of the largest batch, over which the other batches are laid (ge-static.md 4.3). */
typedef struct
{
  guint64 space, base, size;
} GememPlanPart;

/* A range that one memset clears in every run (ge-static.md 6.4). */
typedef struct
{
  char *node; /* that clears it; "": no node of the graph, it is clear at the head of the run */
  guint64 space, base, size;
} GememPlanMemset;

typedef struct
{
  char *planner; /* label: "ge-hybrid:memory_priority=yes" */
  guint32 n_items;
  guint64 *offsets; /* per item */
  /* per item: bytes reserved from its offset on, as checked and drawn; 0: none */
  guint64 *sizes;
  guint64 *spaces;     /* per item; NULL: all items are in the one space of `totals` */
  guint64 arena;       /* sum of `totals`, in bytes */
  guint64 lower_bound; /* of the input, at `alignment` */
  /* no plan of the input needs fewer bytes, as the planner proved; 0: it proves nothing */
  guint64 least;
  guint64 alignment; /* unit of the planner's offsets */
  /* What ended a search before its steps were used up, so that the plan is not repeatable: "interrupted",
   * "time"; static.  NULL: nothing. */
  const char *stopped;
  GArray *totals; /* GememPlanTotal, ascending by space */
  /* Results of some planners; empty otherwise. */
  char *winner;
  GArray *candidates;  /* GememPlanCandidate, in the order tried */
  guint64 zero_copy;   /* bytes of the zero-copy tail, contained in the totals */
  GArray *segments;    /* GememPlanSegment, by base */
  GArray *batch_parts; /* GememPlanPart, by (space, base) */
  /* Every node clears its own memory just before it runs (atomic_clean_policy=1), so that no memory
   * is taken from the memset node on that the graph has. */
  gboolean clears_apart;
  GArray *memsets; /* GememPlanMemset, in the order of the nodes, of a node by (space, base) */
  GPtrArray *log;  /* lines the real system prints, in order */
  gboolean prints; /* the planner was told to print them (print_log of memory_optimize) */
  /* per item: the variable of the graph that an output writes after the planner's renames;
   * GEMEM_NONE: its own, or not known.  NULL: nothing is renamed */
  guint32 *variables;
  /* items placed on bytes of an earlier item, or in a variable that is fed; filled by the checker */
  guint64 reused;
  /* per item: the address that is fixed when the graph is compiled, outside of all totals (GE:
   * constants and variables); GEMEM_NO_OFFSET: none.  NULL: of no item */
  guint64 *addresses;
  /* planning time on the host; filled by the caller, never written to comparable output */
  guint64 time_ns;
} GememPlan;

/* A plan with all offsets GEMEM_NO_OFFSET and all sizes 0; free with gemem_plan_free(). */
GememPlan *gemem_plan_new (const char *planner, guint32 n_items);
void gemem_plan_free (GememPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPlan, gemem_plan_free)

/* Appends a memset of @node. */
void gemem_plan_add_memset (GememPlan *plan, const char *node, guint64 space, guint64 base,
                            guint64 size);
/* Appends a candidate that was tried, with its total in bytes. */
void gemem_plan_add_candidate (GememPlan *plan, const char *name, guint64 total);
/* The smaller of @best (NULL: none yet) and @other, which must save more than @margin bytes; the other
 * one is freed.  @name with the total of @other is a candidate of the result, and its winner where it
 * is @other.  NULL if @other is NULL. */
GememPlan *gemem_plan_keep_best (GememPlan *best, GememPlan *other, const char *name,
                                 guint64 margin);
/* Appends a line of the planner's log. */
void gemem_plan_add_log (GememPlan *plan, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* The total of @space, added with 0 bytes if missing; valid until the next call.  O(spaces). */
GememPlanTotal *gemem_plan_total (GememPlan *plan, guint64 space);
/* Adds @bytes to the total of @space and to the arena. */
void gemem_plan_add_total (GememPlan *plan, guint64 space, guint64 bytes);

GEMEM_END_DECLS
