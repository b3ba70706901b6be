/* model.h - a graph of gemem as the tensors of ggml.
 *
 * ggml's nodes have one result and no workspace.  Here every buffer (lifetimes of convert.h) is a
 * tensor, placed at the node that begins it: a node's workspaces and all results but the last are
 * tensors without sources.  The last one has the node's inputs as sources, and may take the place
 * of one where ggml runs the operator in place, the graph allows it and no other user of the source
 * can still be running.  Items that show another one's memory are views.  A tensor without data
 * ends each node and reads what must live until then: workspaces, results that nobody reads, and
 * what other streams still use.
 *
 * Invariants: a tensor is freed at the node before the safe end of its buffer.
 * Cost: O(items + inputs), and for each source that might be taken over its users.
 * Origin: peers.md section 1l.3.
 */
#pragma once

#include "graphs/order.h"
#include "planners/convert.h"
#include "planners/demand.h"
#include "planners/ggml/gallocr.h"

typedef struct
{
  const GememGraph *graph;
  GememLifetimes *lifetimes; /* tensor i is buffer i */
  GememPlanPlace *places;    /* per item */
  GememDemands *demands;
  GememGraphOrder *order;
  GArray *spaces;      /* guint32 as in lifetimes: number i is buffer i of ggml */
  guint32 *first_item; /* per lifetime + 1: its items in `items` */
  guint32 *items;
  GgmlGraph ggml;
} GgmlModel;

GgmlModel *gemem_ggml_model_new (const GememGraph *graph);
void gemem_ggml_model_free (GgmlModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GgmlModel, gemem_ggml_model_free)

/* ---- operators.c: which operators ggml lets write over a source, by their names in many systems */

/* TRUE if nodes of @type are operators that ggml runs in place. */
gboolean gemem_ggml_runs_in_place (const char *type);
