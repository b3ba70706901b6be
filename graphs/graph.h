/* graph.h - the graph model: operators in planning order, their tensors, workspaces, streams and
 * attributes.
 *
 * A graph is what a compiler or framework knows before a program runs.  Planners place its tensors,
 * lowerings turn it into a trace; meaning.h interprets types and attributes.  Formats are in
 * formats.def; doc/graph-format.md describes our own JSON.
 *
 * A graph is built node by node, then sealed; a sealed graph never changes and may be read by any
 * number of threads.
 *
 * Numbering: node ids, tensor (output) numbers and workspace numbers are dense and follow the order
 * of the nodes.  An ITEM is anything that needs memory: the outputs of node 0, its workspaces, the
 * outputs of node 1...
 *
 * Invariants of a sealed graph: names of nodes are unique; every input names an output that exists,
 * or a variable, or nothing; consumers of a tensor are in edge order; the edges (data and control,
 * without those that come out of NextIteration nodes) form no cycle and go from smaller ids to
 * larger ones; sizes fit in 62 bits.  Cost: memory linear in nodes, tensors and edges (about 100
 * bytes a node, 64 a tensor, 16 an edge).
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#include "base/error.h"
#include "graphs/dtype.h"

GEMEM_BEGIN_DECLS

typedef struct _GememGraph GememGraph;

#define GEMEM_NONE G_MAXUINT32

/* Memory types (ge-static.md 0.1). */
#define GEMEM_MEMORY_DEFAULT G_GUINT64_CONSTANT (0)
#define GEMEM_MEMORY_HBM G_GUINT64_CONSTANT (2)
#define GEMEM_MEMORY_DDR G_GUINT64_CONSTANT (4)
#define GEMEM_MEMORY_P2P G_GUINT64_CONSTANT (0x11)
#define GEMEM_MEMORY_HOST G_GUINT64_CONSTANT (0x81)
#define GEMEM_MEMORY_HOST_SVM G_GUINT64_CONSTANT (0x90)
#define GEMEM_MEMORY_UB (G_GUINT64_CONSTANT (1) << 15)
#define GEMEM_MEMORY_L1 (G_GUINT64_CONSTANT (1) << 16)
#define GEMEM_MEMORY_L2 (G_GUINT64_CONSTANT (1) << 17)
#define GEMEM_MEMORY_SESSION ((G_GUINT64_CONSTANT (1) << 32) | GEMEM_MEMORY_HBM)

typedef enum
{
#define GEMEM_ATTRIBUTE(symbol, name, kind, owner, help) GEMEM_ATTRIBUTE_##symbol,
#include "graphs/attributes.def"
#undef GEMEM_ATTRIBUTE
  GEMEM_ATTRIBUTE_COUNT
} GememAttributeKey;

typedef enum
{
  GEMEM_ATTRIBUTE_FLAG,
  GEMEM_ATTRIBUTE_INT,
  GEMEM_ATTRIBUTE_INTS,
  GEMEM_ATTRIBUTE_TEXT,
  GEMEM_ATTRIBUTE_TEXTS,
} GememAttributeKind;

typedef enum
{
  GEMEM_ATTRIBUTE_NODE,
  GEMEM_ATTRIBUTE_TENSOR,
} GememAttributeOwner;

typedef struct
{
  const char *name;
  GememAttributeKind kind;
  GememAttributeOwner owner;
  const char *help;
} GememAttributeInfo;

extern const GememAttributeInfo gemem_attributes[GEMEM_ATTRIBUTE_COUNT];
/* GEMEM_ATTRIBUTE_COUNT if there is none of that name and owner. */
GememAttributeKey gemem_attribute_find (const char *name, GememAttributeOwner owner);

/* The attributes of a node or tensor: a slice of the graph's. */
typedef struct
{
  guint32 first, n;
} GememAttributes;

enum /* roles of a node, as PaddlePaddle marks them */
{
  GEMEM_ROLE_FORWARD = 0,
  GEMEM_ROLE_BACKWARD = 1,
  GEMEM_ROLE_OPTIMIZE = 2,
  GEMEM_ROLE_LOSS = 0x100,
};

/* One operator.  Arrays are slices of the graph's: [first, first + n). */
typedef struct
{
  const char *name, *type, *engine; /* engine: kernel library; "" if none */
  const char *batch_label;          /* "" if none */
  gint64 stream;                    /* -1: none */
  gint64 index;                     /* of a Data node among the graph's inputs; -1: unset */
  guint32 first_input, n_inputs;
  guint32 first_output, n_outputs; /* numbers of tensors */
  guint32 first_workspace, n_workspaces;
  guint32 first_control, n_controls; /* nodes that must run before this one, without data */
  /* nodes that wait for this one, without data, in edge order */
  guint32 first_successor, n_successors;
  guint32 first_block, n_blocks; /* subgraphs that this node runs */
  guint32 block;                 /* the subgraph this node belongs to; 0: the graph itself */
  GememAttributes attributes;
  guint32 role; /* GEMEM_ROLE_* */
} GememNode;

/* The source of an input: a tensor, a variable that no node of the graph produces, or nothing. */
typedef struct
{
  guint32 tensor;   /* or GEMEM_NONE */
  guint32 variable; /* or GEMEM_NONE; also set beside `tensor` when the graph names its variables */
} GememNodeInput;

typedef struct
{
  guint32 node, input;
} GememConsumer;

/* One output of a node. */
typedef struct
{
  guint64 size;        /* bytes as the planner counts them: padded by engines that pad */
  guint32 node, index; /* output `index` of `node` */
  guint32 first_dim, n_dims;
  guint32 first_consumer, n_consumers;
  gint32 reuse_input; /* number of the input whose memory the output shares; -1: none */
  guint32 variable;   /* the variable that the output writes, or GEMEM_NONE */
  GememAttributes attributes;
  GememDtype dtype;
  guint8 has_shape; /* n_dims is valid, even when 0 */
} GememTensor;

/* A named variable of a program (PaddlePaddle, ONNX initialisers, PyTorch parameters). */
typedef struct
{
  const char *name;
  guint64 size; /* bytes; from shape and dtype when not given (-1 counts as 1) */
  guint32 first_dim, n_dims;
  guint32 parameter; /* of a gradient: its parameter; or GEMEM_NONE */
  guint32 block;     /* that declares it; GEMEM_NONE: the graph does not say */
  guint32 namesake;  /* the next variable of this name, declared in another block; or GEMEM_NONE */
  GememDtype dtype;
  guint8 has_shape;
  guint8 persistable; /* lives longer than one run: weights, optimizer state */
  guint8 is_tensor;   /* a dense tensor (LOD_TENSOR): the only kind that is shared */
} GememVariable;

/* A subgraph.  Block 0 is the graph itself. */
typedef struct
{
  const char *name;
  guint32 node; /* the node that owns the block; GEMEM_NONE for block 0 */
} GememBlockInfo;

/* ---- reading a sealed graph.  All O(1) unless said otherwise. */

/* Graphs are counted by reference; a sealed one may be shared by threads. */
GememGraph *gemem_graph_ref (GememGraph *graph);
void gemem_graph_unref (GememGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGraph, gemem_graph_unref)

/* As the file has it; owned by the graph. */
const char *gemem_graph_name (const GememGraph *graph);
/* Planner settings in the graph's file: GPtrArray of GememSetting, in file order; used as
 * defaults. */
GPtrArray *gemem_graph_settings (const GememGraph *graph);
/* "key: value" strings: source, tool, options... */
GPtrArray *gemem_graph_provenance (const GememGraph *graph);
/* TRUE if the graph's root is of dynamic shape (attribute _dynamic_shape_partitioned). */
gboolean gemem_graph_dynamic_root (const GememGraph *graph);
/* _mem_release_first_reuse_first: 1, 0, or -1 when the graph does not say. */
int gemem_graph_release_first (const GememGraph *graph);

/* Counts.  Blocks: the graph itself and the subgraphs of nodes; items: what a planner places, first
 * all tensors, then all workspaces. */
guint32 gemem_graph_n_nodes (const GememGraph *graph);
guint32 gemem_graph_n_tensors (const GememGraph *graph);
guint32 gemem_graph_n_workspaces (const GememGraph *graph);
guint32 gemem_graph_n_variables (const GememGraph *graph);
guint32 gemem_graph_n_blocks (const GememGraph *graph);
guint32 gemem_graph_n_items (const GememGraph *graph);

/* The element of that number, which must exist; owned by the graph. */
const GememNode *gemem_graph_node (const GememGraph *graph, guint32 node);
const GememTensor *gemem_graph_tensor (const GememGraph *graph, guint32 tensor);
/* n_inputs elements */
const GememNodeInput *gemem_graph_inputs (const GememGraph *graph, guint32 node);
/* n_consumers elements */
const GememConsumer *gemem_graph_consumers (const GememGraph *graph, guint32 tensor);
/* n_controls elements */
const guint32 *gemem_graph_controls (const GememGraph *graph, guint32 node);
/* n_successors elements */
const guint32 *gemem_graph_successors (const GememGraph *graph, guint32 node);
/* bytes; 0 for -1 */
guint64 gemem_graph_workspace (const GememGraph *graph, guint32 node, guint32 i);
const GememVariable *gemem_graph_variable (const GememGraph *graph, guint32 variable);
const GememBlockInfo *gemem_graph_block (const GememGraph *graph, guint32 block);
const gint64 *gemem_graph_dims (const GememGraph *graph, guint32 first_dim);

/* By name, O(1) hashed; GEMEM_NONE.  Of variables of one name the first added; the others follow by
 * `namesake`. */
guint32 gemem_graph_find_variable (const GememGraph *graph, const char *name);
guint32 gemem_graph_find_node (const GememGraph *graph, const char *name);
/* The variable that @name means in block @block: that of the nearest block around it which declares
 * one, else the only one of the name; GEMEM_NONE if there is none, or no telling.  Also before
 * sealing.  O(depth x variables of the name). */
guint32 gemem_graph_find_variable_in (const GememGraph *graph, const char *name, guint32 block);

/* Bytes without padding: dims x dtype where both are known, else `size` (ge-static.md 1.2). */
guint64 gemem_graph_unpadded_size (const GememGraph *graph, guint32 tensor);

/* Items. */
static inline guint32
gemem_node_item (const GememNode *node)
{
  return node->first_output + node->first_workspace;
}
static inline guint32
gemem_node_output_item (const GememNode *node, guint32 output)
{
  return gemem_node_item (node) + output;
}
static inline guint32
gemem_node_workspace_item (const GememNode *node, guint32 workspace)
{
  return gemem_node_item (node) + node->n_outputs + workspace;
}
typedef struct
{
  guint32 node, index;
  gboolean workspace;
  guint64 size;
} GememGraphItem;
/* O(log nodes). */
GememGraphItem gemem_graph_item (const GememGraph *graph, guint32 item);
/* "NODE:output 1", "NODE:workspace 0"; free with g_free(). */
char *gemem_graph_item_text (const GememGraph *graph, guint32 item);

/* Attributes; O(attributes of the owner).  An absent one: FALSE, NULL, n = 0. */
gboolean gemem_graph_flag (const GememGraph *graph, GememAttributes attributes,
                           GememAttributeKey key);
gboolean gemem_graph_int (const GememGraph *graph, GememAttributes attributes,
                          GememAttributeKey key, gint64 *value);
const gint64 *gemem_graph_ints (const GememGraph *graph, GememAttributes attributes,
                                GememAttributeKey key, guint *n);
/* Entry @i of such a list in *@value; FALSE, with *@value unchanged, where the list is shorter or
 * absent. */
gboolean gemem_graph_int_at (const GememGraph *graph, GememAttributes attributes,
                             GememAttributeKey key, guint32 i, gint64 *value);
/* The same entry, @otherwise where there is none. */
gint64 gemem_graph_int_or (const GememGraph *graph, GememAttributes attributes,
                           GememAttributeKey key, guint32 i, gint64 otherwise);
const char *gemem_graph_text (const GememGraph *graph, GememAttributes attributes,
                              GememAttributeKey key);
const char *const *gemem_graph_texts (const GememGraph *graph, GememAttributes attributes,
                                      GememAttributeKey key, guint *n);
gboolean gemem_graph_has_attribute (const GememGraph *graph, GememAttributes attributes,
                                    GememAttributeKey key);
/* Key and value of the i-th attribute, for writers. */
GememAttributeKey gemem_graph_attribute_at (const GememGraph *graph, GememAttributes attributes,
                                            guint32 i);

/* ---- building.  Nodes are added in planning order; later calls apply to the last node (or its
 * last output). */

/* An empty graph, to be filled and sealed; gemem_graph_unref(). */
GememGraph *gemem_graph_new (const char *name);
void gemem_graph_set_name (GememGraph *graph, const char *name); /* for files with a late name */
/* A planner setting stored with the graph: see gemem_graph_settings(). */
void gemem_graph_add_setting (GememGraph *graph, const char *key, const char *value);
/* Adds "KEY: TEXT" to the provenance; also after sealing, before the graph is shared. */
void gemem_graph_note (GememGraph *graph, const char *key, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
void gemem_graph_set_dynamic_root (GememGraph *graph, gboolean dynamic);
void gemem_graph_set_release_first (GememGraph *graph, int release_first);

/* Returns the variable's number; a known name returns the existing one. */
guint32 gemem_graph_add_variable (GememGraph *graph, const char *name, GememDtype dtype,
                                  const gint64 *dims, guint n_dims, gboolean persistable);
/* The same for the variable that @block declares, which is added unless it exists.  The block may
 * be added later. */
guint32 gemem_graph_declare_variable (GememGraph *graph, const char *name, guint32 block,
                                      GememDtype dtype, const gint64 *dims, guint n_dims,
                                      gboolean persistable);
/* The same, but always adds a variable: named "NAME#NUMBER" where NAME is taken. */
guint32 gemem_graph_add_own_variable (GememGraph *graph, const char *name, GememDtype dtype,
                                      const gint64 *dims, guint n_dims, gboolean persistable);
/* Sets shape and dtype of a variable that was added without (dims NULL), and its size from them. */
void gemem_graph_set_variable_shape (GememGraph *graph, guint32 variable, GememDtype dtype,
                                     const gint64 *dims, guint n_dims);
/* valid until the next add */
GememVariable *gemem_graph_edit_variable (GememGraph *graph, guint32 variable);
/* Changes the variable of an input (`first_input` + i) and of a tensor. */
void gemem_graph_set_input_variable (GememGraph *graph, guint32 input, guint32 variable);
void gemem_graph_set_tensor_variable (GememGraph *graph, guint32 tensor, guint32 variable);
/* owned by the last node; nodes join it by `block` */
guint32 gemem_graph_add_block (GememGraph *graph, const char *name);

/* Returns the node's id; fields that the functions below do not set (engine and label with
 * gemem_graph_intern()) are set through gemem_graph_edit_node(). */
guint32 gemem_graph_add_node (GememGraph *graph, const char *name, const char *type);
/* the last node; valid until the next add_node */
GememNode *gemem_graph_edit_node (GememGraph *graph);
/* lives as long as the graph */
const char *gemem_graph_intern (GememGraph *graph, const char *text);
/* @producer may be added later */
void gemem_graph_add_input (GememGraph *graph, const char *producer, guint32 output);
void gemem_graph_add_variable_input (GememGraph *graph, guint32 variable); /* produced outside */
void gemem_graph_add_no_input (GememGraph *graph);                         /* unconnected */
void gemem_graph_add_control (GememGraph *graph, const char *before);
void gemem_graph_add_workspace (GememGraph *graph, guint64 size);
guint32 gemem_graph_add_output (GememGraph *graph, guint64 size); /* returns the tensor's number */
/* the last output; valid until the next add_output */
GememTensor *gemem_graph_edit_output (GememGraph *graph);
/* of the last output */
void gemem_graph_set_shape (GememGraph *graph, GememDtype dtype, const gint64 *dims, guint n);
/* A consumer of the last output, in edge order.  Optional: a tensor without listed consumers gets
 * its inputs by node id.  Where consumers are listed, seal() requires that they are exactly the
 * inputs connected to it. */
void gemem_graph_add_consumer (GememGraph *graph, const char *node, guint32 input);

/* FLAG, INT, INTS */
void gemem_graph_add_attribute_ints (GememGraph *graph, GememAttributeKey key, const gint64 *values,
                                     guint n);
/* TEXT, TEXTS */
void gemem_graph_add_attribute_texts (GememGraph *graph, GememAttributeKey key,
                                      const char *const *values, guint n);

/* Connects names, computes consumers and successors, checks the invariants.  @where (a file name)
 * begins the messages.
 * Errors: GEMEM_ERROR_INPUT "WHERE: node 'X': field: what; what to do".  After an error the graph
 * is only good for unref(). */
gboolean gemem_graph_seal (GememGraph *graph, const char *where, GError **error);

GEMEM_END_DECLS
