/* seal.c - turns a list of named nodes into a connected, checked graph.
 *
 * Connections are resolved by name, consumers and successors are laid out by counting, and the
 * invariants of graph.h are checked; the first violation is reported with node and field.  O(nodes
 * + edges); naming a cycle costs one more walk.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/graph-private.h"

#define SIZE_LIMIT (G_GUINT64_CONSTANT (1) << 62)

typedef struct
{
  GememGraph *graph;
  const char *where;
  GError **error;
} Seal;

static GememNode *
node_at (const Seal *seal, guint32 node)
{
  return &g_array_index (seal->graph->nodes, GememNode, node);
}

static GememTensor *
tensor_at (const Seal *seal, guint32 tensor)
{
  return &g_array_index (seal->graph->tensors, GememTensor, tensor);
}

static gboolean fail (const Seal *seal, const char *node, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const Seal *seal, const char *node, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (seal->error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: node '%s': %s", seal->where, node,
               text);
  return FALSE;
}

/* ---- connections */

static gboolean
connect_inputs (const Seal *seal)
{
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    {
      const GememNode *node = node_at (seal, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const GememWanted *wanted = &g_array_index (seal->graph->wanted_inputs, GememWanted,
                                                      node->first_input + i);
          GememNodeInput *input = &g_array_index (seal->graph->inputs, GememNodeInput,
                                                  node->first_input + i);
          const GememNode *producer;
          guint32 from;

          if (wanted->name == NULL)
            continue;
          from = gemem_graph_find_node (seal->graph, wanted->name);
          if (from == GEMEM_NONE)
            return fail (
                seal, node->name,
                "input %u: comes from '%s', which is no node of this graph; add it, or write null",
                i, wanted->name);
          producer = node_at (seal, from);
          if (wanted->index >= producer->n_outputs)
            return fail (seal, node->name, "input %u: output %u of '%s' does not exist; it has %u",
                         i, wanted->index, wanted->name, producer->n_outputs);
          input->tensor = producer->first_output + wanted->index;
          input->variable = tensor_at (seal, input->tensor)->variable;
        }
    }
  return TRUE;
}

static gboolean
connect_controls (const Seal *seal)
{
  g_array_set_size (seal->graph->controls, seal->graph->wanted_controls->len);
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    {
      const GememNode *node = node_at (seal, id);

      for (guint32 i = 0; i < node->n_controls; i++)
        {
          const char *wanted = g_array_index (seal->graph->wanted_controls, const char *,
                                              node->first_control + i);
          const guint32 from = gemem_graph_find_node (seal->graph, wanted);

          if (from == GEMEM_NONE)
            return fail (seal, node->name,
                         "control %u: waits for '%s', which is no node of this graph", i, wanted);
          g_array_index (seal->graph->controls, guint32, node->first_control + i) = from;
        }
    }
  return TRUE;
}

static void
lay_out_successors (const Seal *seal)
{
  guint32 total = 0;

  for (guint32 i = 0; i < seal->graph->controls->len; i++)
    node_at (seal, g_array_index (seal->graph->controls, guint32, i))->n_successors++;
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    {
      GememNode *node = node_at (seal, id);

      node->first_successor = total;
      total += node->n_successors;
      node->n_successors = 0;
    }
  g_array_set_size (seal->graph->successors, total);
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    for (guint32 i = 0; i < node_at (seal, id)->n_controls; i++)
      {
        GememNode *before = node_at (seal, g_array_index (seal->graph->controls, guint32,
                                                          node_at (seal, id)->first_control + i));

        g_array_index (seal->graph->successors, guint32,
                       before->first_successor + before->n_successors++) = id;
      }
}

/* The number of inputs connected to each tensor. */
static guint32 *
count_uses (const Seal *seal)
{
  guint32 *uses = g_new0 (guint32, seal->graph->tensors->len + 1);

  for (guint32 i = 0; i < seal->graph->inputs->len; i++)
    {
      const GememNodeInput *input = &g_array_index (seal->graph->inputs, GememNodeInput, i);

      if (input->tensor != GEMEM_NONE)
        uses[input->tensor]++;
    }
  return uses;
}

/* Writes the listed consumers of @tensor, from @first_wanted on, into its slice. */
static gboolean
take_consumers (const Seal *seal, guint32 tensor, guint32 first_wanted, guint8 *seen)
{
  const GememTensor *t = tensor_at (seal, tensor);
  const char *name = node_at (seal, t->node)->name;

  for (guint32 i = 0; i < t->n_consumers; i++)
    {
      const GememWanted *wanted = &g_array_index (seal->graph->wanted_consumers, GememWanted,
                                                  first_wanted + i);
      const guint32 to = gemem_graph_find_node (seal->graph, wanted->name);
      GememConsumer *consumer = &g_array_index (seal->graph->consumers, GememConsumer,
                                                t->first_consumer + i);
      guint32 slot;

      if (to == GEMEM_NONE)
        return fail (seal, name, "output %u: consumer '%s' is no node of this graph", t->index,
                     wanted->name);
      slot = node_at (seal, to)->first_input + wanted->index;
      if (wanted->index >= node_at (seal, to)->n_inputs
          || g_array_index (seal->graph->inputs, GememNodeInput, slot).tensor != tensor)
        return fail (seal, name,
                     "output %u: consumer '%s' input %u is not connected to it; consumers and "
                     "inputs must agree",
                     t->index, wanted->name, wanted->index);
      if (seen[slot])
        return fail (seal, name, "output %u: consumer '%s' input %u is listed twice", t->index,
                     wanted->name, wanted->index);
      seen[slot] = 1;
      *consumer = (GememConsumer){ to, wanted->index };
    }
  return TRUE;
}

static gboolean
lay_out_consumers (const Seal *seal)
{
  g_autofree guint32 *uses = count_uses (seal);
  g_autofree guint8 *seen = g_new0 (guint8, seal->graph->inputs->len + 1);
  g_autofree guint8 *listed = g_new0 (guint8, seal->graph->tensors->len + 1);
  guint32 total = 0;

  for (guint32 t = 0; t < seal->graph->tensors->len; t++)
    total += uses[t];
  g_array_set_size (seal->graph->consumers, total);
  total = 0;
  for (guint32 t = 0; t < seal->graph->tensors->len; t++)
    {
      GememTensor *tensor = tensor_at (seal, t);
      const guint32 first_wanted = tensor->first_consumer;

      tensor->first_consumer = total;
      total += uses[t];
      listed[t] = tensor->n_consumers > 0;
      if (!listed[t])
        continue;
      if (tensor->n_consumers != uses[t])
        return fail (seal, node_at (seal, tensor->node)->name,
                     "output %u: lists %u consumers, but %u inputs are connected to it",
                     tensor->index, tensor->n_consumers, uses[t]);
      if (!take_consumers (seal, t, first_wanted, seen))
        return FALSE;
    }
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    for (guint32 i = 0; i < node_at (seal, id)->n_inputs; i++)
      {
        const guint32 t = g_array_index (seal->graph->inputs, GememNodeInput,
                                         node_at (seal, id)->first_input + i)
                              .tensor;

        if (t != GEMEM_NONE && !listed[t])
          g_array_index (seal->graph->consumers, GememConsumer,
                         tensor_at (seal, t)->first_consumer
                             + tensor_at (seal, t)->n_consumers++) = (GememConsumer){ id, i };
      }
  return TRUE;
}

/* ---- order */

static gboolean
is_back_edge (const GememNode *from)
{
  return strcmp (from->type, "NextIteration") == 0 || strcmp (from->type, "RefNextIteration") == 0;
}

static void
push_before (const Seal *seal, GArray *stack, guint32 *via, guint32 from, guint32 to)
{
  if (via[from] != GEMEM_NONE || is_back_edge (node_at (seal, from)))
    return;
  via[from] = to;
  g_array_append_val (stack, from);
}

/* @late feeds @early, which is listed before it: reports a cycle if @late also depends on @early,
 * else the wrong order. */
static gboolean
fail_order (const Seal *seal, guint32 early, guint32 late)
{
  g_autofree guint32 *via = g_new (guint32, seal->graph->nodes->len);
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GString) path = g_string_new (NULL);
  guint shown = 0;

  memset (via, 0xff, sizeof (guint32) * seal->graph->nodes->len);
  push_before (seal, stack, via, late, late);
  while (stack->len > 0 && via[early] == GEMEM_NONE)
    {
      const guint32 id = g_array_index (stack, guint32, stack->len - 1);
      const GememNode *node = node_at (seal, id);

      g_array_set_size (stack, stack->len - 1);
      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const guint32 t =
              g_array_index (seal->graph->inputs, GememNodeInput, node->first_input + i).tensor;

          if (t != GEMEM_NONE)
            push_before (seal, stack, via, tensor_at (seal, t)->node, id);
        }
      for (guint32 i = 0; i < node->n_controls; i++)
        push_before (seal, stack, via,
                     g_array_index (seal->graph->controls, guint32, node->first_control + i), id);
    }
  if (via[early] == GEMEM_NONE)
    return fail (seal, node_at (seal, early)->name,
                 "needs '%s', which is listed after it; list nodes in the order they run",
                 node_at (seal, late)->name);
  for (guint32 id = early; id != late && shown < 12; id = via[id], shown++)
    g_string_append_printf (path, "'%s' -> ", node_at (seal, id)->name);
  g_string_append_printf (path, "%s'%s' -> '%s'", shown == 12 ? "... -> " : "",
                          node_at (seal, late)->name, node_at (seal, early)->name);
  return fail (seal, node_at (seal, early)->name, "is part of a cycle: %s", path->str);
}

static gboolean
check_order (const Seal *seal)
{
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    {
      const GememNode *node = node_at (seal, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const guint32 t =
              g_array_index (seal->graph->inputs, GememNodeInput, node->first_input + i).tensor;
          const guint32 from = t != GEMEM_NONE ? tensor_at (seal, t)->node : 0;

          if (t != GEMEM_NONE && from >= id && !is_back_edge (node_at (seal, from)))
            return fail_order (seal, id, from);
        }
      for (guint32 i = 0; i < node->n_controls; i++)
        {
          const guint32 from = g_array_index (seal->graph->controls, guint32,
                                              node->first_control + i);

          if (from >= id && !is_back_edge (node_at (seal, from)))
            return fail_order (seal, id, from);
        }
    }
  return TRUE;
}

/* ---- blocks: a node lies in a block that exists and whose owner comes before it */

static gboolean
check_blocks (const Seal *seal)
{
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    {
      const GememNode *node = node_at (seal, id);

      if (node->block >= seal->graph->blocks->len)
        return fail (seal, node->name, "block: there is no block %u; the graph has %u", node->block,
                     seal->graph->blocks->len);
      if (node->block != 0
          && g_array_index (seal->graph->blocks, GememBlockInfo, node->block).node >= id)
        return fail (
            seal, node->name,
            "block: the node that runs block %u comes later; list it before the nodes of the block",
            node->block);
    }
  return TRUE;
}

static gboolean
check_variables (const Seal *seal)
{
  for (guint32 v = 0; v < seal->graph->variables->len; v++)
    {
      const GememVariable *variable = gemem_graph_variable (seal->graph, v);

      if (variable->block != GEMEM_NONE && variable->block >= seal->graph->blocks->len)
        {
          g_set_error (seal->error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: variable '%s': block: there is no block %u; the graph has %u",
                       seal->where, variable->name, variable->block, seal->graph->blocks->len);
          return FALSE;
        }
    }
  return TRUE;
}

/* ---- sizes and references */

static gboolean
check_tensor (const Seal *seal, const GememTensor *tensor, guint64 *sum)
{
  const GememNode *node = node_at (seal, tensor->node);

  if (tensor->size >= SIZE_LIMIT || (*sum += tensor->size) >= SIZE_LIMIT)
    return fail (seal, node->name,
                 "output %u: size: %" G_GUINT64_FORMAT
                 " bytes (with all before it) overflow; the most is 2^62",
                 tensor->index, tensor->size);
  if (tensor->reuse_input >= 0 && (guint32) tensor->reuse_input >= node->n_inputs)
    return fail (seal, node->name, "output %u: reuse_input: input %d does not exist; it has %u",
                 tensor->index, tensor->reuse_input, node->n_inputs);
  return TRUE;
}

static gboolean
check_sizes (const Seal *seal)
{
  guint64 sum = 0;

  for (guint32 t = 0; t < seal->graph->tensors->len; t++)
    if (!check_tensor (seal, tensor_at (seal, t), &sum))
      return FALSE;
  for (guint32 id = 0; id < seal->graph->nodes->len; id++)
    for (guint32 i = 0; i < node_at (seal, id)->n_workspaces; i++)
      {
        const guint64 size = gemem_graph_workspace (seal->graph, id, i);

        if (size >= SIZE_LIMIT || (sum += size) >= SIZE_LIMIT)
          return fail (seal, node_at (seal, id)->name,
                       "workspace %u: %" G_GUINT64_FORMAT
                       " bytes (with all before it) overflow; the most is 2^62",
                       i, size);
      }
  return TRUE;
}

gboolean
gemem_graph_seal (GememGraph *graph, const char *where, GError **error)
{
  const Seal seal = { graph, where, error };

  g_assert (!graph->sealed);
  if (graph->duplicate != NULL)
    return fail (&seal, graph->duplicate, "name: given to two nodes; names must be unique");
  if (!check_blocks (&seal) || !check_variables (&seal) || !connect_inputs (&seal)
      || !connect_controls (&seal) || !check_sizes (&seal))
    return FALSE;
  lay_out_successors (&seal);
  if (!lay_out_consumers (&seal) || !check_order (&seal))
    return FALSE;
  g_clear_pointer (&graph->wanted_inputs, g_array_unref);
  g_clear_pointer (&graph->wanted_controls, g_array_unref);
  g_clear_pointer (&graph->wanted_consumers, g_array_unref);
  graph->sealed = TRUE;
  return TRUE;
}
