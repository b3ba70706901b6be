/* order.h - which node of a graph is known to run after which, whatever the timing of the streams.
 *
 * Successors of a node: data and control consumers, and the next node on its stream (ge-static.md
 * 9.1; nodes with stream -1 have no next).  Strict: no node runs after itself.  Subgraphs: whatever
 * precedes a node that owns blocks precedes all nodes of the blocks, and these precede whatever
 * follows the owner.
 *
 * Method: per node and stream the first node of that stream known to run after it; what follows on
 * a stream is then known too.  Nodes without a stream form chains of their own along their edges
 * (order.c), so that questions about them have exact answers too. Memory and time O((nodes + edges)
 * x (streams + such chains)), bounded: beyond 2^27 entries (512 MiB) nothing false is said, but
 * "not known" where more could be known; queries O(1).
 */
#pragma once

#include "graphs/graph.h"

GEMEM_BEGIN_DECLS

typedef struct _GememGraphOrder GememGraphOrder;

/* Of a sealed graph, which must outlive it; gemem_graph_order_free(). */
GememGraphOrder *gemem_graph_order_new (const GememGraph *graph);
void gemem_graph_order_free (GememGraphOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGraphOrder, gemem_graph_order_free)

/* TRUE if @later is known to start only after @earlier finished. */
gboolean gemem_graph_order_after (const GememGraphOrder *order, guint32 later, guint32 earlier);
/* Nodes of one chain run one after another in id order: a node that runs after the last of some
 * runs after all of them.  GEMEM_NONE: in none. */
guint32 gemem_graph_order_chain (const GememGraphOrder *order, guint32 node);
/* The smallest id from which on every node is known to run after all of @nodes (@n of them); number
 * of nodes if there is none.  Nodes without order that need no memory during the run
 * (constants, variables, graph inputs) do not count. */
guint32 gemem_graph_order_safe (const GememGraphOrder *order, const guint32 *nodes, guint n);

GEMEM_END_DECLS
