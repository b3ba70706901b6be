/* convert.h - between graphs and lifetimes: planners that know no graphs plan the lifetimes of one,
 * and planners of graphs plan a graph made from lifetimes.
 *
 * Batch labels: nodes of different labels never run in one pass, so their items may overlap.
 * Lifetimes cannot express that; items of different labels overlap only where their node ids allow
 * it.  That costs memory, never safety.
 */
#pragma once

#include "base/lifetimes.h"
#include "base/macros.h"
#include "graphs/graph.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

/* Position of a graph's item: its lifetime, and the offset in it. */
typedef struct
{
  guint32 lifetime; /* GEMEM_NONE: no memory */
  guint64 inner;    /* offset from the start of the lifetime */
  guint64 bytes;    /* of the item, from `inner` on */
} GememPlanPlace;

/* The lifetimes of @graph for planners without knowledge of graphs.  One lifetime per buffer (all
 * items at fixed distances: references, merged values, continuous members, pools), alive from the
 * first writer to the last reader, in the order of their first item.  Steps are node ids.  @places
 * (free with g_free()) gets one entry per item.  O(items x streams). */
GememLifetimes *gemem_graph_lifetimes (const GememGraph *graph, GememPlanPlace **places);
/* Converts @plan, of these lifetimes, to a plan of the items of @graph. */
GememPlan *gemem_plan_spread (const GememGraph *graph, const GememPlan *plan,
                              const GememPlanPlace *places);
/* A lower bound for every plan of @graph: the largest live sum at any node, over the nodes that run
 * in one pass (batch labels).  An input that an operator may overwrite in place ends before the
 * operator.  @clears_apart: as in GememPlan.  Rounded as gemem_lifetimes_lower_bound() does.
 * O(labels x items log items). */
guint64 gemem_graph_lower_bound (const GememGraph *graph, guint64 alignment, gboolean clears_apart);
/* A graph with a node per lifetime in order of begin, one stream, and one output per node.  Two
 * outputs are alive at once exactly if their lifetimes (by safe_end) are.  @order (free with
 * g_free()) gets the number of the lifetime of each node.  O(n log n).
 * Errors: GEMEM_ERROR_INPUT (all together 2^62 bytes or more). */
GememGraph *gemem_graph_from_lifetimes (const GememLifetimes *lifetimes, guint32 **order,
                                        GError **error);

/* Lifetimes name a space with 32 bits: 0 is ordinary memory, bit 31 is session scope (whose type
 * needs 33 bits), every other space is its type. */
guint32 gemem_space_pack (guint64 type);
guint64 gemem_space_unpack (guint32 space);

GEMEM_END_DECLS
