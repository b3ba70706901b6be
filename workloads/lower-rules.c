/* lower-rules.c - what the types and attributes of nodes say about memory, for lowerings; see
 * lower.h.
 *
 * Only rules visible at run time are here: shared memory, memory outside the device, cleared
 * memory.  How planners place tensors side by side is in planners/ties.c.  Origin: ge-static.md
 * 1.1, 1.6, 6.1, 7.5, 7.6.
 */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"
#include "workloads/lower.h"

guint32
gemem_lower_input_slot (const GememGraph *graph, const GememNodeInput *input)
{
  if (input->tensor != GEMEM_NONE)
    return gemem_graph_tensor_item (graph, input->tensor);
  return input->variable != GEMEM_NONE ? gemem_graph_n_items (graph) + input->variable : GEMEM_NONE;
}

/* Nodes lie in one array, in the order of their ids. */
static guint32
id_of (const GememGraph *graph, const GememNode *node)
{
  return (guint32) (node - gemem_graph_node (graph, 0));
}

/* ---- references */

typedef struct
{
  const GememGraph *graph;
  GememShareFunc share;
  gpointer data;
  gboolean whole_variables;
} Sharing;

static guint32
input_slot (const GememGraph *graph, guint32 node, guint32 input)
{
  if (input >= gemem_graph_node (graph, node)->n_inputs)
    return GEMEM_NONE;
  return gemem_lower_input_slot (graph, &gemem_graph_inputs (graph, node)[input]);
}

static void
join (const Sharing *sharing, guint32 a, guint32 b, gboolean first)
{
  if (a != GEMEM_NONE && b != GEMEM_NONE)
    sharing->share (sharing->data, a, b, first);
}

static gboolean
is_nopadding_in (const GememGraph *graph, const GememNode *node)
{
  return gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_INPUT)
         && gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_OUTPUT_REUSE_INPUT);
}

/* The variable whose memory an output is: one that outlives the run, or named by attributes. */
static guint32
variable_slot (const Sharing *sharing, const GememTensor *tensor)
{
  static const GememAttributeKey keys[] = { GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME,
                                            GEMEM_ATTRIBUTE_REF_VAR_SRC_VAR_NAME };
  const GememGraph *graph = sharing->graph;
  guint32 variable = tensor->variable;

  if (variable != GEMEM_NONE && !sharing->whole_variables
      && !gemem_graph_variable (graph, variable)->persistable)
    variable = GEMEM_NONE;
  for (guint i = 0; i < G_N_ELEMENTS (keys) && variable == GEMEM_NONE; i++)
    {
      const char *name = gemem_graph_text (graph, tensor->attributes, keys[i]);
      variable = name != NULL ? gemem_graph_find_variable (graph, name) : GEMEM_NONE;
    }
  return variable != GEMEM_NONE ? gemem_graph_n_items (graph) + variable : GEMEM_NONE;
}

/* Connects a subgraph: its data nodes are the owner's inputs, the inputs of its NetOutput the
 * owner's outputs. */
static void
join_with_owner (const Sharing *sharing, guint32 id)
{
  const GememGraph *graph = sharing->graph;
  const GememNode *node = gemem_graph_node (graph, id);
  guint32 owner, input;

  if (node->n_outputs > 0 && gemem_graph_outer_input (graph, id, &owner, &input))
    join (sharing, input_slot (graph, owner, input),
          gemem_graph_tensor_item (graph, node->first_output), FALSE);
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 outer = gemem_graph_outer_output (graph, id, i);

      if (outer != GEMEM_NONE)
        join (sharing, input_slot (graph, id, i), gemem_graph_tensor_item (graph, outer), FALSE);
    }
}

/* The input of @node that is @variable, which the node rewrites; GEMEM_NONE: the node does not read
 * it. */
static guint32
version_before (const GememGraph *graph, guint32 id, guint32 variable)
{
  const GememNodeInput *inputs = gemem_graph_inputs (graph, id);

  for (guint32 i = 0; variable != GEMEM_NONE && i < gemem_graph_node (graph, id)->n_inputs; i++)
    if (inputs[i].variable == variable)
      return gemem_lower_input_slot (graph, &inputs[i]);
  return GEMEM_NONE;
}

static void
join_outputs (const Sharing *sharing, guint32 id)
{
  const GememGraph *graph = sharing->graph;
  const GememNode *node = gemem_graph_node (graph, id);

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const GememTensor *tensor = gemem_graph_tensor (graph, node->first_output + o);
      const guint32 slot = gemem_node_output_item (node, o);

      join (sharing, input_slot (graph, id, gemem_graph_referenced_input (graph, id, o)), slot,
            FALSE);
      join (sharing, variable_slot (sharing, tensor), slot, FALSE);
      join (sharing, version_before (graph, id, tensor->variable), slot, FALSE);
    }
}

void
gemem_lower_references (const GememGraph *graph, gboolean whole_variables, GememShareFunc share,
                        gpointer data)
{
  const Sharing sharing = { graph, share, data, whole_variables };

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      join_outputs (&sharing, id);
      if (gemem_node_is_merge (node) || is_nopadding_in (graph, node))
        for (guint32 i = 1; i < node->n_inputs; i++)
          join (&sharing, input_slot (graph, id, 0), input_slot (graph, id, i),
                is_nopadding_in (graph, node));
      join_with_owner (&sharing, id);
    }
}

gboolean
gemem_lower_needs_buffer (const GememGraph *graph, const GememNode *node, guint32 input)
{
  guint n;
  const gint64 *shapes = gemem_graph_ints (graph, node->attributes, GEMEM_ATTRIBUTE_NO_NEED_BUFFER,
                                           &n);

  for (guint i = 0; i < n; i++)
    if (shapes[i] == input)
      return FALSE;
  return TRUE;
}

/* ---- sizes */

static gboolean
is_on_device (gint64 type)
{
  const guint64 t = (guint64) type;

  return t != GEMEM_MEMORY_HOST && t != GEMEM_MEMORY_HOST_SVM && t != GEMEM_MEMORY_UB
         && t != GEMEM_MEMORY_L1;
}

static guint64
output_size (const GememGraph *graph, const GememNode *node, guint32 output)
{
  const GememTensor *tensor = gemem_graph_tensor (graph, node->first_output + output);
  gint64 type = GEMEM_MEMORY_DEFAULT;

  gemem_graph_int (graph, tensor->attributes, GEMEM_ATTRIBUTE_TENSOR_MEMORY_TYPE, &type);
  if (gemem_graph_flag (graph, tensor->attributes, GEMEM_ATTRIBUTE_ALWAYS_EMPTY)
      || gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_FORCE_CPU)
      || !is_on_device (gemem_graph_int_or (graph, node->attributes,
                                            GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, output, type)))
    return 0;
  return tensor->size;
}

guint64
gemem_lower_item_size (const GememGraph *graph, const GememNode *node, guint32 item)
{
  const guint32 i = item - gemem_node_item (node), workspace = i - node->n_outputs;

  if (i < node->n_outputs)
    return output_size (graph, node, i);
  if (!is_on_device (gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_WORKSPACE_TYPE,
                                         workspace, GEMEM_MEMORY_DEFAULT))
      || !is_on_device (gemem_graph_int_or (graph, node->attributes,
                                            GEMEM_ATTRIBUTE_TVM_WORKSPACE_TYPE, workspace,
                                            GEMEM_MEMORY_DEFAULT)))
    return 0;
  return gemem_graph_workspace (graph, id_of (graph, node), workspace);
}

guint64
gemem_lower_clear_size (const GememGraph *graph, const GememNode *node, guint32 item,
                        gboolean *self)
{
  const guint32 i = item - gemem_node_item (node);
  const gboolean output = i < node->n_outputs;
  guint n;
  const gint64 *listed = gemem_graph_ints (
      graph, node->attributes,
      output ? GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX : GEMEM_ATTRIBUTE_SUB_NODE_WORKSPACE_INFO, &n);

  *self = gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_NEED_GENTASK_ATOMIC);
  if (!*self && !gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_IS_ATOMIC_NODE))
    return 0;
  for (guint k = 0; output && k < n; k++)
    if (listed[k] == i)
      return gemem_lower_item_size (graph, node, item);
  for (guint k = 0; !output && k + 1 < n; k += 2)
    if (listed[k] == i - node->n_outputs && listed[k + 1] > 0)
      return MIN ((guint64) listed[k + 1], gemem_lower_item_size (graph, node, item));
  return 0;
}

gboolean
gemem_lower_is_p2p (const GememGraph *graph, const GememNode *node, guint32 item)
{
  const guint32 i = item - gemem_node_item (node);
  gint64 type = GEMEM_MEMORY_DEFAULT;

  if (i >= node->n_outputs)
    return gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_WORKSPACE_TYPE,
                               i - node->n_outputs, GEMEM_MEMORY_DEFAULT)
           == (gint64) GEMEM_MEMORY_P2P;
  gemem_graph_int (graph, gemem_graph_tensor (graph, node->first_output + i)->attributes,
                   GEMEM_ATTRIBUTE_TENSOR_MEMORY_TYPE, &type);
  return gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, i, type)
         == (gint64) GEMEM_MEMORY_P2P;
}

/* ---- batch labels */

typedef struct
{
  const char *label;
  guint64 bytes;
} Batch;

static guint64
bytes_of (const GememGraph *graph, const GememNode *node)
{
  guint64 bytes = 0;

  for (guint32 i = 0; i < node->n_outputs + node->n_workspaces; i++)
    bytes += gemem_lower_item_size (graph, node, gemem_node_item (node) + i);
  return bytes;
}

/* The labels in the order of first occurrence, with the bytes of their nodes. */
static GArray *
list_batches (const GememGraph *graph)
{
  GArray *batches = g_array_new (FALSE, FALSE, sizeof (Batch));
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal); /* label -> number */

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);
      const Batch batch = { node->batch_label, 0 };
      guint number = GPOINTER_TO_UINT (g_hash_table_lookup (numbers, node->batch_label));

      if (node->batch_label[0] == '\0')
        continue;
      if (number == 0)
        {
          g_array_append_val (batches, batch);
          number = batches->len;
          g_hash_table_insert (numbers, (gpointer) node->batch_label, GUINT_TO_POINTER (number));
        }
      g_array_index (batches, Batch, number - 1).bytes += bytes_of (graph, node);
    }
  return batches;
}

static const char *
choose_batch (const GArray *batches, const char *label)
{
  const Batch *chosen = NULL;

  for (guint b = 0; b < batches->len; b++)
    {
      const Batch *batch = &g_array_index (batches, Batch, b);

      if (label != NULL ? strcmp (batch->label, label) == 0
                        : chosen == NULL || batch->bytes > chosen->bytes)
        chosen = batch;
    }
  return chosen != NULL ? chosen->label : NULL;
}

gboolean
gemem_lower_skip (const GememGraph *graph, const char *label, guint8 **skipped, GError **error)
{
  g_autoptr (GArray) batches = list_batches (graph);
  const char *chosen = choose_batch (batches, label);

  *skipped = NULL;
  if (chosen == NULL && label == NULL)
    return TRUE;
  if (chosen == NULL)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "batch_label=%s: no node of %s has this label%s%s; leave it out to run the largest",
          label, gemem_graph_name (graph), batches->len > 0 ? ", one has " : "",
          batches->len > 0 ? g_array_index (batches, Batch, 0).label : "");
      return FALSE;
    }
  *skipped = g_new0 (guint8, (gsize) gemem_graph_n_nodes (graph) + 1);
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const char *own = gemem_graph_node (graph, id)->batch_label;

      (*skipped)[id] = own[0] != '\0' && strcmp (own, chosen) != 0;
    }
  return TRUE;
}
