/* graph-summary.h - a summary of a graph: counts of its parts, and the bytes alive at each node.
 *
 * Live bytes are those of the lifetimes that planners get (gemem_graph_lifetimes): tensors that
 * share memory count once, steps are node ids, sizes are exact.
 * Cost: O(graph + items log items).
 */
#pragma once

#include "planners/planner.h"

GEMEM_BEGIN_DECLS

#define GEMEM_GRAPH_LARGEST 10

typedef struct
{
  const char *label; /* NULL: the group is a stream */
  gint64 stream;
  guint32 nodes;
} GememGraphGroup;

typedef struct
{
  guint32 item;
  guint64 size;
  guint32 lifetime; /* GEMEM_NONE: no memory of its own */
} GememGraphLarge;

typedef struct
{
  GArray *streams, *labels; /* GememGraphGroup, by stream; by label in the order of the nodes */
  guint32 attributes[GEMEM_ATTRIBUTE_COUNT]; /* nodes or tensors that have it */
  guint64 tensor_bytes, workspace_bytes, variable_bytes, persistable_bytes;
  guint32 inputs, unconnected, controls, unused; /* unused: outputs that nothing reads */
  GememLifetimes *lifetimes;
  GArray *live; /* guint64 by node: bytes alive while it runs */
  guint32 peak; /* the first node with the most live bytes; 0 in an empty graph */
  guint64 lower_bound, lower_bound_512;
  GememGraphLarge largest[GEMEM_GRAPH_LARGEST]; /* by size, then item */
  guint n_largest;
} GememGraphSummary;

/* Never fails; the result points to texts of @graph, which must live as long. */
GememGraphSummary *gemem_graph_summarise (const GememGraph *graph);
void gemem_graph_summary_free (GememGraphSummary *summary);

GEMEM_END_DECLS
