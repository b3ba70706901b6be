/* graph-order.h - which node of a graph is known to run after which, whatever the timing of the streams.
 *
 * Successors of a node: data and control consumers, and the next node on its stream (ge-static.md 9.1; nodes with stream -1 have no
 * next).  Strict: no node runs after itself.  Subgraphs: whatever precedes a node that owns blocks precedes all nodes of the blocks, and
 * these precede whatever follows the owner.
 *
 * Method: per node and stream the first node of that stream known to run after it; what follows on a stream is then known too.
 * Memory and time O((nodes + edges) x streams); queries O(1).
 */
#pragma once

#include "workloads/graph.h"

GEMEM_BEGIN_DECLS

typedef struct _GememGraphOrder GememGraphOrder;

GememGraphOrder *gemem_graph_order_new (const GememGraph *graph);
void gemem_graph_order_free (GememGraphOrder *order);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGraphOrder, gemem_graph_order_free)

/* TRUE if @later is known to start only after @earlier finished. */
gboolean gemem_graph_order_after (const GememGraphOrder *order, guint32 later, guint32 earlier);
/* The smallest id from which on every node is known to run after all of @nodes (n_nodes of them); number of nodes if there is none. */
guint32 gemem_graph_order_safe (const GememGraphOrder *order, const guint32 *nodes, guint n);

GEMEM_END_DECLS
