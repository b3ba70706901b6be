/* inplace.c - which outputs may be written over an input of their node, where the node declares it.
 *
 * A pair is usable if the node is the last reader of the input, on one stream, and sharing
 * contradicts no other requirement of either tensor.  Two terms of the specification are
 * interpreted: "layout conflict" as both symbols holding anchors of continuous nodes; "check of
 * control subgraphs" as a symbol that reaches into a subgraph excluding all pairs.
 * Cost: linear in the pairs, their consumers and the members of their symbols.
 * Origin: ge-static.md 8.3.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

enum /* contents of a symbol */
{
  HOLDS_FIXED = 1 << 0,      /* an output of a data, variable or constant node */
  HOLDS_CONTINUOUS = 1 << 1, /* an anchor of a continuous node */
  HOLDS_NESTED = 1 << 2,     /* an anchor inside a subgraph */
};

/* Per class: the HOLDS_* flags of all its anchors. */
static guint8 *
describe_classes (const GeModel *model, const guint32 *classes)
{
  const guint32 n_anchors = model->n_tensors + model->n_inputs;
  guint8 *holds = g_new0 (guint8, (gsize) n_anchors + 1);

  for (guint32 a = 0; a < n_anchors; a++)
    {
      const guint32 kind = model->nodes[gemem_ge_anchor_node (model, a)].kind, of = classes[a];

      if (!ge_anchor_is_input (model, a) && (kind & (GE_DATA | GE_ZERO_MEMORY)) != 0)
        holds[of] |= HOLDS_FIXED;
      if (kind & GE_RAW_CONTINUOUS)
        holds[of] |= HOLDS_CONTINUOUS;
      if (kind & GE_NESTED)
        holds[of] |= HOLDS_NESTED;
    }
  return holds;
}

/* TRUE if @id is the last consumer of the outputs of @producer, and all their consumers run on the
 * stream of the producer and overwrite nothing themselves. */
static gboolean
reads_last (const GeModel *model, const gint64 *streams, guint32 id, guint32 producer)
{
  const GememNode *node = gemem_graph_node (model->graph, producer);

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
      {
        const guint32 consumer = gemem_graph_consumers (model->graph, t)[i].node;

        if (consumer > id || (streams[consumer] != -1 && streams[consumer] != streams[producer])
            || (model->nodes[consumer].kind & GE_REFERENCE) != 0)
          return FALSE;
      }
  return TRUE;
}

static gboolean
is_usable (const GeModel *model, const gint64 *streams, guint32 id, guint32 output, guint32 input)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 from = gemem_graph_inputs (model->graph, id)[input].tensor,
                to = node->first_output + output;
  const GememAttributes attributes = gemem_graph_tensor (model->graph, to)->attributes;

  return from != GEMEM_NONE && model->referenced_input[to] == GEMEM_NONE
         && (model->nodes[id].kind & (GE_RAW_PADDED_OUT | GE_RAW_NOPADDING_OUT)) == 0
         && gemem_ge_tensor_size (model, from) == gemem_ge_tensor_size (model, to)
         && !gemem_graph_has_attribute (model->graph, attributes, GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME)
         && !gemem_graph_has_attribute (model->graph, attributes,
                                        GEMEM_ATTRIBUTE_REF_VAR_SRC_VAR_NAME)
         && reads_last (model, streams, id, gemem_graph_tensor (model->graph, from)->node);
}

typedef struct
{
  const GeModel *model;
  const gint64 *streams;
  const guint32 *classes; /* per anchor */
  guint8 *holds;          /* per class */
  guint8 *taken;          /* per input anchor, less n_tensors */
  GArray *pairs;
} PairSearch;

/* Takes the pair if it is usable. */
static gboolean
try_pair (PairSearch *search, guint32 id, guint32 output, guint32 input)
{
  const GememNode *node = gemem_graph_node (search->model->graph, id);
  const guint32 anchor = ge_input_anchor (search->model, node, input);
  const GeInplacePair pair = { node->first_output + output, input };
  const guint32 from = search->classes[anchor], to = search->classes[pair.tensor];

  if (search->taken[node->first_input + input] || from == to
      || (search->holds[from] & HOLDS_FIXED) != 0
      || (search->holds[from] & search->holds[to] & HOLDS_CONTINUOUS) != 0
      || !is_usable (search->model, search->streams, id, output, input))
    return FALSE;
  search->taken[node->first_input + input] = 1;
  g_array_append_val (search->pairs, pair);
  return TRUE;
}

/* Takes the first usable input of each output, outputs ascending. */
static void
search_pairs (PairSearch *search, guint32 id)
{
  const GememNode *node = gemem_graph_node (search->model->graph, id);
  guint n;
  const gint64 *values = gemem_graph_ints (search->model->graph, node->attributes,
                                           GEMEM_ATTRIBUTE_OUTPUT_INPLACE_ABILITY, &n);

  for (guint32 output = 0; n > 1 && output < node->n_outputs; output++)
    for (guint i = 0; i + 1 < n; i += 2)
      if (values[i] == output && values[i + 1] >= 0 && values[i + 1] < node->n_inputs
          && try_pair (search, id, output, (guint32) values[i + 1]))
        break;
}

static gboolean
crosses_subgraphs (const PairSearch *search)
{
  for (guint i = 0; i < search->pairs->len; i++)
    {
      const GeInplacePair *pair = &g_array_index (search->pairs, GeInplacePair, i);
      const GememNode *node = gemem_graph_node (
          search->model->graph, gemem_graph_tensor (search->model->graph, pair->tensor)->node);
      const guint32 from = search->classes[ge_input_anchor (search->model, node, pair->input)];

      if ((search->holds[from] | search->holds[search->classes[pair->tensor]]) & HOLDS_NESTED)
        return TRUE;
    }
  return FALSE;
}

gboolean
gemem_ge_inplace_is_declared (const GeModel *model)
{
  for (guint32 id = 0; id < model->n_nodes; id++)
    if (gemem_graph_has_attribute (model->graph, gemem_graph_node (model->graph, id)->attributes,
                                   GEMEM_ATTRIBUTE_OUTPUT_INPLACE_ABILITY))
      return TRUE;
  return FALSE;
}

void
gemem_ge_inplace_pairs (const GeModel *model, const gint64 *streams, const guint32 *classes,
                        GArray *pairs)
{
  g_autofree guint8 *holds = describe_classes (model, classes),
                    *taken = g_new0 (guint8, (gsize) model->n_inputs + 1);
  PairSearch search = { model, streams, classes, holds, taken, pairs };

  for (guint32 id = 0; id < model->n_nodes; id++)
    search_pairs (&search, id);
  if (crosses_subgraphs (&search))
    g_array_set_size (pairs, 0);
}
