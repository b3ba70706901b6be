/* meaning.h - the meaning of types and attributes of nodes, written once for planners, lowerings
 * and the checker of plans.
 *
 * Groups of types, which input an output refers to, how a subgraph is connected to its owner.  What
 * may be written in place is in overlay.h.  The rules are those of Ascend GE, extended by the named
 * variables of programs; deliberate deviations of a system are in that system's code.  Origin:
 * ge-static.md 1.1, 1.6.  Cost: a few comparisons of names per call, and as noted below.
 */
#pragma once

#include "graphs/graph.h"

GEMEM_BEGIN_DECLS

/* ---- groups of types (ge-static.md 1.1) */

/* Data nodes, of the graph itself or of a subgraph: written before the run, or references to inputs
 * of the owner. */
gboolean gemem_node_is_data (const GememNode *node);
/* Data nodes of the graph itself. */
gboolean gemem_node_is_graph_input (const GememNode *node);
/* Constants and variables: their outputs live longer than a run and are no part of its memory. */
gboolean gemem_node_is_constant (const GememNode *node);
/* Merge nodes: all their inputs are the same value. */
/* Nodes that clear the memory of the nodes that they control (ge-static.md 6.4). */
gboolean gemem_node_is_memset (const GememNode *node);
/* Nodes with memory that is to be cleared: that they say so, or list what
 * (atomic_output_index...). */
gboolean gemem_node_is_cleared (const GememGraph *graph, const GememNode *node);
/* The first memset node that controls @node; GEMEM_NONE: none. */
guint32 gemem_graph_memset (const GememGraph *graph, guint32 node);
gboolean gemem_node_is_merge (const GememNode *node);

/* ---- items */

/* The item of a tensor, and of the tensor that input @input of @node is connected to; GEMEM_NONE if
 * there is none. */
guint32 gemem_graph_tensor_item (const GememGraph *graph, guint32 tensor);
guint32 gemem_graph_input_item (const GememGraph *graph, guint32 node, guint32 input);

/* ---- references (ge-static.md 1.6) */

/* The input of @node whose memory output @output shares, by the first rule that applies; GEMEM_NONE
 * if the output has its own.  O(attributes + inputs). */
guint32 gemem_graph_referenced_input (const GememGraph *graph, guint32 node, guint32 output);

/* The input that output @output overwrites by name: the input of that name in the attribute lists
 * when `reference` is set; else the first input that is a version of the same variable and comes
 * from a node of the graph.  GEMEM_NONE if there is none.  O(attributes + inputs). */
guint32 gemem_graph_overwritten_input (const GememGraph *graph, guint32 node, guint32 output);

/* ---- subgraphs (ge-static.md 1.6) */

/* TRUE if @node is a data node of a subgraph that stands for input *input of its *owner.
 * O(attributes). */
gboolean gemem_graph_outer_input (const GememGraph *graph, guint32 node, guint32 *owner,
                                  guint32 *input);
/* The output (tensor number) of the owner that input @input of @node, the NetOutput of a subgraph,
 * becomes; GEMEM_NONE if there is none.  O(attributes). */
guint32 gemem_graph_outer_output (const GememGraph *graph, guint32 node, guint32 input);

GEMEM_END_DECLS
