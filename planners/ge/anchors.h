/* anchors.h - lookups of single anchors, tensors and nodes of a model.
 *
 * They read the graph and the fields that are filled first: nodes[].kind and input_node;
 * gemem_ge_symbol_inputs() reads the symbols.  O(attributes) where an attribute is looked
 * up, else O(1).
 */
#pragma once

#include "planners/ge/model.h"

static inline gboolean
ge_anchor_is_input (const GeModel *model, guint32 anchor)
{
  return anchor >= model->n_tensors;
}

static inline guint32
ge_input_anchor (const GeModel *model, const GememNode *node, guint32 input)
{
  return model->n_tensors + node->first_input + input;
}

/* The node of an anchor, and the index of the anchor among its outputs or inputs. */
guint32 gemem_ge_anchor_node (const GeModel *model, guint32 anchor);
guint32 gemem_ge_anchor_index (const GeModel *model, guint32 anchor);

/* The outer tensor that the nested Data node @id stands for (7.6); GEMEM_NONE. */
guint32 gemem_ge_outer_tensor (const GeModel *model, guint32 id);
/* Reads entry @index of the integer list @key of node @id; FALSE: no such entry. */
gboolean gemem_ge_listed (const GeModel *model, guint32 id, GememAttributeKey key, guint32 index,
                          gint64 *value);

/* The kind of the node that makes @tensor. */
static inline guint32
ge_tensor_kind (const GeModel *model, guint32 tensor)
{
  return model->nodes[gemem_graph_tensor (model->graph, tensor)->node].kind;
}

/* 1.2: the size of @tensor that planning uses (FFTS, no-tiling). */
guint64 gemem_ge_tensor_size (const GeModel *model, guint32 tensor);
/* 5.6: bytes of one piece of @tensor without padding: its shape from dimension @dim on.  FALSE if
 * shape or element type is unknown. */
gboolean gemem_ge_piece_size (const GeModel *model, guint32 tensor, guint32 dim, guint64 *bytes);
/* TRUE if @tensor lies in memory that the planner does not manage. */
gboolean gemem_ge_is_global (const GeModel *model, guint32 tensor);

/* Number of connected input anchors in the symbol of @tensor (2.4).  O(members). */
guint32 gemem_ge_symbol_inputs (const GeModel *model, guint32 tensor);
