/* overlay.c - in-place rules of nodes; see overlay.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graphs/overlay.h"

/* Ascending, for bsearch(). */
static const char *const whitelist[] = {
  "batch_norm",
  "batch_norm_grad",
  "ceil",
  "elementwise_add",
  "elementwise_add_grad",
  "exp",
  "floor",
  "hard_sigmoid",
  "reciprocal",
  "relu",
  "relu6",
  "reshape",
  "scale",
  "sigmoid",
  "soft_relu",
  "sqrt",
  "sum",
  "sum_grad",
  "tanh",
};

static int
compare_names (const void *key, const void *element)
{
  return strcmp (key, *(const char *const *) element);
}

gboolean
gemem_inplace_whitelisted (const char *type)
{
  return bsearch (type, whitelist, G_N_ELEMENTS (whitelist), sizeof whitelist[0], compare_names)
         != NULL;
}

const gint64 *
gemem_graph_inplace_rule (const GememGraph *graph, guint32 node, guint *n)
{
  static const gint64 first_to_first[] = { 0, 0 };
  const GememNode *op = gemem_graph_node (graph, node);

  if (gemem_graph_has_attribute (graph, op->attributes, GEMEM_ATTRIBUTE_INPLACE_PAIRS))
    {
      const gint64 *pairs = gemem_graph_ints (graph, op->attributes, GEMEM_ATTRIBUTE_INPLACE_PAIRS,
                                              n);

      *n &= ~1u;
      return pairs;
    }
  *n = gemem_inplace_whitelisted (op->type) ? G_N_ELEMENTS (first_to_first) : 0;
  return first_to_first;
}

static gboolean
has_pair (const gint64 *pairs, guint n, guint32 first, guint32 second)
{
  for (guint i = 0; i + 1 < n; i += 2)
    if (pairs[i] == first && pairs[i + 1] == second)
      return TRUE;
  return FALSE;
}

gboolean
gemem_graph_may_overlay (const GememGraph *graph, guint32 node, guint32 input, guint32 output)
{
  const GememNode *op = gemem_graph_node (graph, node);
  const GememTensor *tensor;
  const gint64 *pairs;
  guint n;

  if (input >= op->n_inputs || output >= op->n_outputs)
    return FALSE;
  tensor = gemem_graph_tensor (graph, op->first_output + output);
  if (tensor->reuse_input == (gint32) input)
    return TRUE;
  if (tensor->variable != GEMEM_NONE
      && gemem_graph_inputs (graph, node)[input].variable == tensor->variable)
    return TRUE;
  pairs = gemem_graph_inplace_rule (graph, node, &n);
  if (has_pair (pairs, n, input, output))
    return TRUE;
  pairs = gemem_graph_ints (graph, op->attributes, GEMEM_ATTRIBUTE_OUTPUT_INPLACE_ABILITY, &n);
  return has_pair (pairs, n, output, input);
}
