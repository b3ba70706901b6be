/* planner.h - the interface of every off-line planner, and the list of all of them.
 *
 * A planner sees everything before the first request: a graph, or the lifetimes of a trace.  A
 * variant is one file that defines one `const GememPlanner`, and one line in planners.def; list,
 * help, man page, completion, `gemem-sim plan`, the `plan` allocator and the random-graph tests
 * derive from the struct.
 *
 * Two kinds.  GEMEM_PLANNER_GRAPH: plan() is given a graph; from lifetimes alone
 * gemem_planner_run() makes one (a node per item). The others are given lifetimes; from a graph
 * gemem_planner_run() makes them: tensors that share memory by reference or lie side by side by
 * attribute become one item, several streams make lifetimes longer (safe_end), memory types become
 * spaces.
 *
 * Rules: a planner changes nothing in its input and uses no global state; the same input and
 * parameters give the same plan, whatever the number of threads; it never prints or reads a clock.
 * May include: base, graphs/graph.h (a data model without behaviour).
 */
#pragma once

#include "base/lifetimes.h"
#include "base/macros.h"
#include "base/named.h"
#include "graphs/graph.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

enum /* capabilities */
{
  GEMEM_PLANNER_GRAPH = 1 << 0,   /* wants the graph */
  GEMEM_PLANNER_THREADS = 1 << 1, /* uses input.threads */
};

typedef struct _GememPlanInput
{
  const GememGraph *graph; /* or NULL */
  /* or NULL; at least one of the two is there.  Both: the lifetimes of a trace lowered from the
   * graph */
  const GememLifetimes *lifetimes;
  guint threads; /* at most so many; 0: one per processor */
} GememPlanInput;

typedef struct
{
  GememNamed base;
  guint capabilities;
  /* of its offsets when no parameter says otherwise; unit of the lower bound in reports */
  guint64 alignment;
  /* Fills a plan with offsets, sizes, spaces, totals and what else it knows; label, arena and lower
   * bound are the runner's.
   * Errors: GEMEM_ERROR_INPUT (the graph breaks a rule of the system: node and field). */
  GememPlan *(*plan) (gconstpointer params, const GememPlanInput *input, GError **error);
} GememPlanner;

/* In the order of planners.def; NULL-terminated. */
const GememPlanner *const *gemem_planners (void);
const GememPlanner *gemem_planner_find (const char *name, GError **error);
/* "NAME[:key=value,...]" with globs and value lists; appends GememChoice. */
gboolean gemem_planner_parse (const char *text, GPtrArray *choices, GError **error);

/* Runs the planner of @choice; the graph's own settings are its defaults.  The plan has an entry
 * per item of the graph if there is one, else per lifetime.  It is complete but NOT yet checked. */
GememPlan *gemem_planner_run (const GememChoice *choice, const GememPlanInput *input,
                              GError **error);

/* gemem_lifetimes_lower_bound() of whatever the input is. */
guint64 gemem_plan_lower_bound (const GememPlanInput *input, guint64 alignment);

/* ---- between graphs and lifetimes (convert.c) */

/* Where an item of a graph lies: in which lifetime, and how far from its start. */
typedef struct
{
  guint32 lifetime; /* GEMEM_NONE: no memory */
  guint64 inner;    /* bytes from the lifetime's offset */
  guint64 bytes;    /* that the item needs from there on */
} GememPlanPlace;

/* The lifetimes of @graph for planners without knowledge of graphs: one per buffer, that is all
 * items whose distance is fixed (references, merged values, continuous members, pools), alive from
 * the first writer to the last reader, in the order of their first item.  Steps are node ids. 
 * @places (free with g_free()) gets one entry per item.  O(items x streams). */
GememLifetimes *gemem_graph_lifetimes (const GememGraph *graph, GememPlanPlace **places);
/* From a plan of these lifetimes to one of the items of @graph. */
GememPlan *gemem_plan_spread (const GememGraph *graph, const GememPlan *plan,
                              const GememPlanPlace *places);
/* No plan of @graph needs less: largest live sum at any node, of the nodes that run in one pass
 * (batch labels), where what an operator may overwrite in place ends before it.  Rounded as
 * gemem_lifetimes_lower_bound() does.  O(labels x items log items). */
guint64 gemem_graph_lower_bound (const GememGraph *graph, guint64 alignment);
/* A graph with a node per lifetime in order of begin, one stream, each with one output; two of them
 * are alive at once in it exactly if they are in @lifetimes (by safe_end).  @order (free with
 * g_free()) gets the number of the lifetime of each node.  O(n log n).
 * Errors: GEMEM_ERROR_INPUT (all together 2^62 bytes or more). */
GememGraph *gemem_graph_from_lifetimes (const GememLifetimes *lifetimes, guint32 **order,
                                        GError **error);

/* Lifetimes name a space with 32 bits: ordinary memory is 0, session scope (whose type needs 33
 * bits) bit 31, the others are their type. */
guint32 gemem_space_pack (guint64 type);
guint64 gemem_space_unpack (guint32 space);

GEMEM_END_DECLS
