/* convert.h - between graphs and lifetimes: planners that know no graphs plan the lifetimes of one,
 * and planners of graphs plan a graph made from lifetimes.
 *
 * Batch labels: nodes of different labels never run in one pass, so their items may overlap.
 * Lifetimes cannot say that; items of different labels overlap only where their node ids allow it.
 * That costs memory, never safety.
 */
#pragma once

#include "base/lifetimes.h"
#include "base/macros.h"
#include "graphs/graph.h"
#include "planners/plan.h"

GEMEM_BEGIN_DECLS

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
