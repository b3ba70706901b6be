/* gallocr.h - ggml's planner of graphs: places tensors in the order of the nodes.
 *
 * Every source is placed before its node, a node may take the place of a source that nobody else
 * reads, and what nobody reads any more is freed.  Views own nothing; outputs are never freed.
 *
 * Invariants: the graph is only read, but for the results and the counters of its tensors.
 * Cost: O(sources), plus the cost in offsets.h.
 * Origin: peers.md section 1l.2.
 */
#pragma once

#include "planners/ggml/offsets.h"

#define GGML_NO_TENSOR G_MAXUINT32

typedef struct
{
  guint32 tensor;
  gboolean may_overlay; /* the operator may write its result over this source */
} GgmlSource;

typedef struct
{
  guint64 bytes;
  guint32 layout; /* equal numbers: equal type, extents and strides */
  guint32 view;   /* the tensor whose memory this one shows; GGML_NO_TENSOR: none */
  guint32 first_source, n_sources; /* in `sources` of the graph */
  guint32 buffer;                  /* which offset allocator it goes to */
  gboolean is_operator;            /* its operation is not NONE */
  gboolean input, output;
  gboolean has_data; /* memory of its own: no place is sought */

  /* result */
  guint32 chunk;
  guint64 offset;
  gboolean placed;

  /* while planning */
  guint32 children, views;
  GgmlPiece *piece; /* NULL: not owned */
} GgmlTensor;

typedef struct
{
  GArray *tensors;       /* GgmlTensor */
  GArray *sources;       /* GgmlSource */
  GArray *leafs, *nodes; /* guint32: tensors, in order */
} GgmlGraph;

void gemem_ggml_graph_init (GgmlGraph *graph);
void gemem_ggml_graph_clear (GgmlGraph *graph);
/* Adds @tensor to the sources of @reader; all sources of one reader are added in succession. */
void gemem_ggml_graph_add_source (GgmlGraph *graph, guint32 reader, guint32 tensor,
                                  gboolean may_overlay);
/* Places the tensors of @graph in @offsets, one per buffer, which are empty before.  FALSE: a
 * tensor is too large. */
gboolean gemem_ggml_graph_plan (GgmlGraph *graph, GgmlOffsets *offsets);
