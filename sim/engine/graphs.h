/* graphs.h - the static graphs that are loaded, as the engine tracks them.
 *
 * A load is a GRAPH_LOAD and the GRAPH_SEGMENTs it announces; the allocator is called at the last
 * of them.  An allocator that knows graphs (GememAllocatorClass.graphs) places the segments by its
 * own rules, and reports how many bytes of static memory count as live.  For all others the static
 * memory of a graph is one ordinary request, from load to unload: block GEMEM_GRAPH_BLOCK_ID(graph)
 * in logs and maps.  So the live bytes of a graph workload depend on the policy: graphs that share
 * memory count once where the allocator shares it.
 *
 * Memory: one record per loaded graph, and the segments of the load in progress.  Cost: O(1) per
 * event besides the allocator's.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/idmap.h"
#include "traces/trace.h"

typedef struct
{
  GememIdMap *map;      /* graph -> guint64: GRAPH_* bits of graphs.c */
  GArray *segments;     /* GememGraphSegment: of the load in progress */
  GememTraceEvent load; /* its GRAPH_LOAD */
  guint64 missing;      /* segments not yet received */
  guint64 end;          /* end of the received segments */
} GememGraphs;

void gemem_graphs_init (GememGraphs *graphs);
void gemem_graphs_clear (GememGraphs *graphs);
