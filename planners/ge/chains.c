/* chains.c - outputs that lie side by side and are adjacent inputs of further nodes, and so on: one
 * block for the whole row; see ge-private.h.
 *
 * The search for a row first goes left: from a node with padded inputs to the producer of its input
 * 0, while that input is an output, other than the first, of a node with padded outputs.  Then it
 * goes right and adds, alternately, the outputs of producers and the inputs of consumers.
 * Cost: linear in the anchors of continuous nodes.  Origin: ge-static.md 5.5.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/stream-edges.h"

typedef struct
{
  GArray *tensors; /* guint32, from left to right */
  guint64 total;
  GeBlock *block;
} Chain;

struct _GeChains
{
  GArray *chains;    /* Chain */
  guint32 *chain_of; /* per tensor, or GEMEM_NONE */
};

/* ---- finding rows */

typedef struct
{
  const GeModel *model;
  GeChains *chains;
  guint8 *visited; /* per node with padded inputs */
} Search;

/* The tensor in input @i of @node, traced through all references; GEMEM_NONE. */
static guint32
source (const Search *search, guint32 node, guint32 i)
{
  const guint32 tensor = gemem_graph_inputs (search->model->graph, node)[i].tensor;

  return tensor == GEMEM_NONE ? GEMEM_NONE : search->model->origin[tensor];
}

static gboolean
takes_padded_outputs (const Search *search, guint32 node)
{
  for (guint32 i = 0; i < gemem_graph_node (search->model->graph, node)->n_inputs; i++)
    {
      const guint32 from = source (search, node, i);

      if (from != GEMEM_NONE && (ge_tensor_kind (search->model, from) & GE_PADDED_OUT) != 0)
        return TRUE;
    }
  return FALSE;
}

/* An unvisited node with padded inputs that @tensor reaches through references; @inner: at an input
 * other than 0. */
static guint32
next_padded_consumer (const Search *search, guint32 tensor, gboolean inner, guint32 *input)
{
  guint32 node;

  for (guint32 i = 0; i < gemem_graph_tensor (search->model->graph, tensor)->n_consumers; i++)
    if (gemem_ge_find_continuous (search->model, tensor, i, GE_PADDED_IN, &node, input)
        && !search->visited[node] && (!inner || *input != 0))
      return node;
  return GEMEM_NONE;
}

/* The first tensor of the row that contains @node. */
static guint32
left_end (Search *search, guint32 node)
{
  for (;;)
    {
      guint32 from = source (search, node, 0), input;

      search->visited[node] = 1;
      if (from == GEMEM_NONE || gemem_ge_anchor_index (search->model, from) == 0
          || (ge_tensor_kind (search->model, from) & GE_PADDED_OUT) == 0)
        return from;
      from -= gemem_ge_anchor_index (search->model, from);
      node = next_padded_consumer (search, from, TRUE, &input);
      if (node == GEMEM_NONE)
        return from;
    }
}

/* FALSE: @tensor is already in a row. */
static gboolean
add_member (Search *search, Chain *chain, guint32 tensor)
{
  if (search->chains->chain_of[tensor] != GEMEM_NONE)
    return FALSE;
  search->chains->chain_of[tensor] = search->chains->chains->len;
  g_array_append_val (chain->tensors, tensor);
  chain->total += ge_align (gemem_ge_tensor_size (search->model, tensor));
  return TRUE;
}

/* Adds @tensor and, if its node has padded outputs, all later outputs; returns the last output. */
static guint32
add_row_outputs (Search *search, Chain *chain, guint32 tensor)
{
  const GememNode *node = gemem_graph_node (search->model->graph,
                                            gemem_ge_anchor_node (search->model, tensor));
  const guint32 end = ge_tensor_kind (search->model, tensor) & GE_PADDED_OUT
                          ? node->first_output + node->n_outputs
                          : tensor + 1;

  while (tensor < end && add_member (search, chain, tensor))
    tensor++;
  return tensor - 1;
}

/* Adds the inputs of @node after @input, except the last, which it returns; GEMEM_NONE: no
 * input. */
static guint32
add_row_inputs (Search *search, Chain *chain, guint32 node, guint32 input)
{
  const guint32 n = gemem_graph_node (search->model->graph, node)->n_inputs;

  for (input++; input + 1 < n; input++)
    if (source (search, node, input) != GEMEM_NONE)
      add_member (search, chain, source (search, node, input));
  return input < n ? source (search, node, input) : GEMEM_NONE;
}

static void
collect_row (Search *search, guint32 tensor)
{
  Chain chain = { g_array_new (FALSE, FALSE, sizeof (guint32)), 0, NULL };

  while (tensor != GEMEM_NONE && search->chains->chain_of[tensor] == GEMEM_NONE)
    {
      const guint32 last = add_row_outputs (search, &chain, tensor);
      guint32 input = 0, node = GEMEM_NONE;

      for (guint32 i = 0;
           i < gemem_graph_tensor (search->model->graph, last)->n_consumers && node == GEMEM_NONE;
           i++)
        if (!gemem_ge_find_continuous (search->model, last, i, GE_PADDED_IN, &node, &input))
          node = GEMEM_NONE;
      if (node == GEMEM_NONE)
        break;
      search->visited[node] = 1;
      tensor = add_row_inputs (search, &chain, node, input);
    }
  if (chain.tensors->len > 0)
    g_array_append_val (search->chains->chains, chain);
  else
    g_array_unref (chain.tensors);
}

static void
clear_chain (gpointer chain)
{
  g_array_unref (((Chain *) chain)->tensors);
}

GeChains *
gemem_ge_chains_new (const GeModel *model)
{
  Search search = { model, g_new0 (GeChains, 1), g_new0 (guint8, (gsize) model->n_nodes + 1) };
  GeChains *chains = search.chains;

  chains->chains = g_array_new (FALSE, FALSE, sizeof (Chain));
  g_array_set_clear_func (chains->chains, clear_chain);
  chains->chain_of = ge_new_none (model->n_tensors);
  for (guint32 id = 0; id < model->n_nodes; id++)
    if ((model->nodes[id].kind & GE_PADDED_IN) != 0 && !search.visited[id]
        && takes_padded_outputs (&search, id))
      collect_row (&search, left_end (&search, id));
  g_free (search.visited);
  if (chains->chains->len > 0)
    return chains;
  gemem_ge_chains_free (chains);
  return NULL;
}

void
gemem_ge_chains_free (GeChains *chains)
{
  if (chains == NULL)
    return;
  g_array_unref (chains->chains);
  g_free (chains->chain_of);
  g_free (chains);
}

/* ---- allocation */

/* Sets the lifetime of the chain: from the first producer to the last reader, as seen from the
 * stream of the first member. */
static void
span_chain (const GeModel *model, const Chain *chain, GeRequest *request)
{
  const gint32 stream = model->nodes[request->node].stream;

  request->end_request = 0;
  for (guint i = 0; i < chain->tensors->len; i++)
    {
      const guint32 tensor = g_array_index (chain->tensors, guint32, i),
                    node = gemem_ge_anchor_node (model, tensor);
      guint32 reached = 0;
      const guint32 last = gemem_ge_max_life (model, node, gemem_ge_anchor_index (model, tensor),
                                              stream, &reached, NULL);

      request->begin = MIN (request->begin, node);
      request->end_request = MAX (request->end_request, last);
    }
}

gboolean
gemem_ge_chains_allocate (GeAssigner *a, GeChains *chains, GeRequest *request)
{
  const guint32 tensor = ge_request_tensor (a, request), number = chains->chain_of[tensor];
  Chain *chain;

  if (number == GEMEM_NONE)
    return FALSE;
  chain = &g_array_index (chains->chains, Chain, number);
  if (g_array_index (chain->tensors, guint32, 0) != tensor)
    {
      gemem_ge_zero (a, request->node, request->index);
      return TRUE;
    }
  span_chain (a->model, chain, request);
  request->size = chain->total;
  request->space = GE_SPACE_HBM; /* [QUIRK] even if other types are listed */
  if (a->model->options->atomic_clean_policy != 1 && !ge_is_documented (a->model->options))
    request->op_reuse = FALSE;
  chain->block = gemem_ge_continuous_allocate (a, request);
  return TRUE;
}

void
gemem_ge_chains_place (GeAssigner *a, const GeChains *chains)
{
  for (guint c = 0; c < chains->chains->len; c++)
    {
      const Chain *chain = &g_array_index (chains->chains, Chain, c);
      guint64 offset = chain->block != NULL ? chain->block->head : 0;

      for (guint i = 0; chain->block != NULL && i < chain->tensors->len; i++)
        {
          const guint32 tensor = g_array_index (chain->tensors, guint32, i);
          const guint64 size = gemem_ge_tensor_size (a->model, tensor);

          gemem_ge_place_output (a, tensor, offset, chain->block->space, size);
          offset += ge_align (size);
        }
    }
}
