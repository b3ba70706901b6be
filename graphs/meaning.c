/* meaning.c - see meaning.h. */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"

/* ---- groups of types */

/* Called several times per tensor, mostly without a match: the first letter usually decides. */
static gboolean
type_is (const GememNode *node, const char *const *types)
{
  for (; *types != NULL; types++)
    if (node->type[0] == types[0][0] && strcmp (node->type, *types) == 0)
      return TRUE;
  return FALSE;
}

gboolean
gemem_node_is_data (const GememNode *node)
{
  static const char *const types[] = { "Data", "RefData", "AippData", "AnnData", NULL };

  return type_is (node, types);
}

gboolean
gemem_node_is_graph_input (const GememNode *node)
{
  return node->block == 0 && gemem_node_is_data (node);
}

gboolean
gemem_node_is_constant (const GememNode *node)
{
  static const char *const types[] = { "Variable",     "VariableV2",       "Const",
                                       "Constant",     "MultiShape",       "HorovodWait",
                                       "FileConstant", "ConstPlaceHolder", NULL };

  return type_is (node, types);
}

gboolean
gemem_node_is_memset (const GememNode *node)
{
  static const char *const types[] = { "AtomicAddrClean", "MemSet", NULL };

  return type_is (node, types);
}

gboolean
gemem_node_is_cleared (const GememGraph *graph, const GememNode *node)
{
  return gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_IS_ATOMIC_NODE)
         || gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX)
         || gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX)
         || gemem_graph_has_attribute (graph, node->attributes,
                                       GEMEM_ATTRIBUTE_SUB_NODE_WORKSPACE_INFO);
}

guint32
gemem_graph_memset (const GememGraph *graph, guint32 node)
{
  const guint32 *controls = gemem_graph_controls (graph, node);

  for (guint32 i = 0; i < gemem_graph_node (graph, node)->n_controls; i++)
    if (gemem_node_is_memset (gemem_graph_node (graph, controls[i])))
      return controls[i];
  return GEMEM_NONE;
}

gboolean
gemem_node_is_merge (const GememNode *node)
{
  static const char *const types[] = { "Merge", "StreamMerge", NULL };

  return type_is (node, types);
}

/* ---- items */

guint32
gemem_graph_tensor_item (const GememGraph *graph, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (graph, tensor);

  return gemem_node_output_item (gemem_graph_node (graph, t->node), t->index);
}

guint32
gemem_graph_input_item (const GememGraph *graph, guint32 node, guint32 input)
{
  const guint32 tensor = input < gemem_graph_node (graph, node)->n_inputs
                             ? gemem_graph_inputs (graph, node)[input].tensor
                             : GEMEM_NONE;

  return tensor != GEMEM_NONE ? gemem_graph_tensor_item (graph, tensor) : GEMEM_NONE;
}

/* ---- references */

static guint32
input_of_same_name (const GememGraph *graph, const GememNode *node, guint32 output)
{
  guint n_inputs, n_outputs;
  const char *const *inputs = gemem_graph_texts (graph, node->attributes,
                                                 GEMEM_ATTRIBUTE_INPUT_NAMES, &n_inputs);
  const char *const *outputs = gemem_graph_texts (graph, node->attributes,
                                                  GEMEM_ATTRIBUTE_OUTPUT_NAMES, &n_outputs);

  for (guint32 i = 0; output < n_outputs && i < MIN (n_inputs, node->n_inputs); i++)
    if (strcmp (inputs[i], outputs[output]) == 0)
      return i;
  return GEMEM_NONE;
}

guint32
gemem_graph_overwritten_input (const GememGraph *graph, guint32 node, guint32 output)
{
  const GememNode *n = gemem_graph_node (graph, node);
  const guint32 variable = gemem_graph_tensor (graph, n->first_output + output)->variable;
  const GememNodeInput *inputs = gemem_graph_inputs (graph, node);

  if (gemem_graph_flag (graph, n->attributes, GEMEM_ATTRIBUTE_REFERENCE))
    return input_of_same_name (graph, n, output);
  for (guint32 i = 0; variable != GEMEM_NONE && i < n->n_inputs; i++)
    if (inputs[i].variable == variable && inputs[i].tensor != GEMEM_NONE)
      return i;
  return GEMEM_NONE;
}

/* The number of the input by the rules alone; that input may not exist. */
static guint32
reference_by_rule (const GememGraph *graph, guint32 node, guint32 output)
{
  static const char *const same_index[] = { "NetOutput", "While", "_While", "StatelessWhile",
                                            NULL };
  static const char *const first_only[] = { "Merge", "Reshape", NULL };
  const GememNode *n = gemem_graph_node (graph, node);
  const GememTensor *tensor = gemem_graph_tensor (graph, n->first_output + output);
  guint32 named;

  if (type_is (n, same_index) || (n->block != 0 && gemem_node_is_data (n)))
    return output;
  if (output == 0 && type_is (n, first_only))
    return 0;
  if ((named = gemem_graph_overwritten_input (graph, node, output)) != GEMEM_NONE)
    return named;
  if (tensor->reuse_input >= 0)
    return (guint32) tensor->reuse_input;
  if (gemem_graph_flag (graph, n->attributes, GEMEM_ATTRIBUTE_OUTPUT_REUSE_INPUT)
      && (gemem_graph_flag (graph, n->attributes, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_INPUT)
          || gemem_graph_flag (graph, n->attributes, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_OUTPUT)))
    return 0;
  return GEMEM_NONE;
}

guint32
gemem_graph_referenced_input (const GememGraph *graph, guint32 node, guint32 output)
{
  const guint32 input = reference_by_rule (graph, node, output);

  return input < gemem_graph_node (graph, node)->n_inputs ? input : GEMEM_NONE;
}

/* ---- subgraphs */

gboolean
gemem_graph_outer_input (const GememGraph *graph, guint32 node, guint32 *owner, guint32 *input)
{
  const GememNode *n = gemem_graph_node (graph, node);
  gint64 index;

  if (n->block == 0 || !gemem_node_is_data (n)
      || !gemem_graph_int (graph, n->attributes, GEMEM_ATTRIBUTE_PARENT_NODE_INDEX, &index))
    return FALSE;
  *owner = gemem_graph_block (graph, n->block)->node;
  *input = (guint32) index;
  return index >= 0 && index < gemem_graph_node (graph, *owner)->n_inputs;
}

guint32
gemem_graph_outer_output (const GememGraph *graph, guint32 node, guint32 input)
{
  const GememNode *n = gemem_graph_node (graph, node), *owner;
  const gint64 *outputs;
  guint n_listed;

  if (n->block == 0 || input >= n->n_inputs || strcmp (n->type, "NetOutput") != 0)
    return GEMEM_NONE;
  owner = gemem_graph_node (graph, gemem_graph_block (graph, n->block)->node);
  outputs = gemem_graph_ints (graph, n->attributes, GEMEM_ATTRIBUTE_INPUT_PARENT_NODE_INDEX,
                              &n_listed);
  return input < n_listed && outputs[input] >= 0 && outputs[input] < owner->n_outputs
             ? owner->first_output + (guint32) outputs[input]
             : GEMEM_NONE;
}
