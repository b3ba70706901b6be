/* order.h - which nodes are known to run after which others, for any timing of streams.
 *
 * Successors of a node: data and control consumers, and the next node on its stream (ge-static.md
 * 9.1; nodes with stream -1 have no next).  Strict: no node runs after itself.  Subgraphs: every
 * predecessor of a node that owns blocks precedes all nodes of the blocks, and these precede every
 * successor of the owner.
 *
 * Method: per node and stream, store the first node of that stream known to run after it; later
 * nodes of the stream follow.  Nodes without a stream form chains along their edges (order.c), so
 * that queries about them are exact too.  Memory and time O((nodes + edges) x (streams + such
 * chains)), bounded: beyond 2^27 entries (512 MiB) answers stay correct, but may be "not known"
 * where an order exists; queries O(1).
 */
#pragma once

#include "graphs/graph.h"

GEMEM_BEGIN_DECLS

typedef struct _GememGraphOrder GememGraphOrder;

/* The order of a sealed graph, which must outlive it; gemem_graph_order_free(). */
GememGraphOrder *gemem_graph_order_new (const GememGraph *graph);
void gemem_graph_order_free (GememGraphOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGraphOrder, gemem_graph_order_free)

/* TRUE if @later is known to start only after @earlier finished. */
gboolean gemem_graph_order_after (const GememGraphOrder *order, guint32 later, guint32 earlier);
/* Nodes of one chain run one after another in id order: a node that runs after the last of some
 * nodes of a chain runs after all of them.  GEMEM_NONE: the node has no chain. */
guint32 gemem_graph_order_chain (const GememGraphOrder *order, guint32 node);
/* The smallest id from which on every node is known to run after all @n @nodes; the number of nodes
 * if there is none.  Nodes without order that need no memory during the run (constants, variables,
 * graph inputs) do not count. */
guint32 gemem_graph_order_safe (const GememGraphOrder *order, const guint32 *nodes, guint n);

GEMEM_END_DECLS
