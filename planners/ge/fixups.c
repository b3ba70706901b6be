/* fixups.c - offsets that follow other offsets: references without a block, pieces of continuous
 * buffers, outputs of subgraphs.
 *
 * A continuous node places its producers (or outputs) one after another.  A node waits on a stack
 * if it refers to others, or others to it; the stack is processed from the end of the graph
 * backwards.  In that pass a plain reference passes its own offset to the tensor it refers to.
 *
 * Where the specification leaves a choice: an lx producer's stride is the entry of its list for
 * that output, as in the checker.
 * Invariant: afterwards a reference lies at the offset of its input.  Cost: linear in the anchors.
 * Origin: ge-static.md 5.6, 7.6, 0.2 step 9.
 */
#include "config.h"

#include "graphs/meaning.h"
#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

static guint64
offset_of (const GeAssigner *a, guint32 tensor)
{
  return a->offsets[gemem_graph_tensor_item (a->model->graph, tensor)];
}

/* Places @tensor @inner bytes behind the start of @from; without memory if @from has none. */
static void
follow (GeAssigner *a, guint32 tensor, guint32 from, gint64 inner)
{
  const guint32 item = gemem_graph_tensor_item (a->model->graph, from);

  gemem_ge_place_output (a, tensor, a->offsets[item] + (guint64) inner, a->spaces[item],
                         a->sizes[item] > 0 ? gemem_ge_tensor_size (a->model, tensor) : 0);
}

/* ---- references without a block */

static gint64
inner_offset (const GeModel *model, guint32 tensor)
{
  gint64 inner = 0;

  gemem_graph_int (model->graph, gemem_graph_tensor (model->graph, tensor)->attributes,
                   GEMEM_ATTRIBUTE_INNER_OFFSET, &inner);
  return inner;
}

/* The tensor that @t refers to, by its own node or as an input of a subgraph; GEMEM_NONE. */
static guint32
referred (const GeModel *model, guint32 t)
{
  const guint32 id = gemem_graph_tensor (model->graph, t)->node, input = model->referenced_input[t];
  const guint32 from = input != GEMEM_NONE ? gemem_graph_inputs (model->graph, id)[input].tensor
                                           : gemem_ge_outer_tensor (model, id);

  return from < t && (model->nodes[id].kind & (GE_ZERO_MEMORY | GE_BUFFER_POOL)) == 0
                 && gemem_ge_tensor_size (model, t) > 0
             ? from
             : GEMEM_NONE;
}

/* All tensors that follow another one, in order: those on the zero list, inputs of subgraphs, and
 * references to memory that is cleared outside all blocks. */
static GArray *
find_followers (const GeAssigner *a)
{
  const GeModel *model = a->model;
  GArray *followers = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree guint8 *apart = g_new0 (guint8, (gsize) model->n_tensors + 1);

  for (guint32 t = 0; t < model->n_tensors; t++)
    {
      const guint32 from = referred (model, t), item = gemem_graph_tensor_item (a->model->graph, t);

      apart[t] = a->cleared[t] == GE_CLEARED_PLACED || (from != GEMEM_NONE && apart[from]);
      if (from != GEMEM_NONE && a->offsets[item] != GEMEM_NO_OFFSET
          && (a->sizes[item] == 0 || apart[from] || model->referenced_input[t] == GEMEM_NONE))
        g_array_append_val (followers, t);
    }
  return followers;
}

static void
follow_all (GeAssigner *a, const GArray *followers)
{
  for (guint i = 0; i < followers->len; i++)
    {
      const guint32 t = g_array_index (followers, guint32, i);

      follow (a, t, referred (a->model, t), inner_offset (a->model, t));
    }
}

/* ---- continuous nodes */

/* Bytes of the piece @tensor of node @id, without padding. */
static guint64
piece (const GeModel *model, guint32 id, guint32 tensor)
{
  gint64 dim = 0;
  guint64 bytes;

  gemem_graph_int (model->graph, gemem_graph_node (model->graph, id)->attributes,
                   GEMEM_ATTRIBUTE_REUSE_INPUT_ON_DIM_INDEX, &dim);
  if (dim >= 0 && dim < G_MAXINT32 && gemem_ge_piece_size (model, tensor, (guint32) dim, &bytes))
    return bytes;
  return gemem_graph_unpadded_size (model->graph, tensor);
}

static gboolean
joins_inputs (const GeModel *model, guint32 id)
{
  const guint32 concat = GE_NOPADDING_IN | GE_CASCADE_OUT;

  return (model->nodes[id].kind & GE_PADDED_IN) != 0 || (model->nodes[id].kind & concat) == concat;
}

/* Distance in bytes from @tensor to the next input of @id. */
static guint64
input_stride (const GeModel *model, guint32 id, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (model->graph, tensor);
  gint64 value;

  if (model->nodes[id].kind & GE_NOPADDING_IN)
    return piece (model, id, tensor);
  if (gemem_ge_listed (model, t->node, GEMEM_ATTRIBUTE_OUTPUT_OFFSET_FOR_BUFFER_FUSION, t->index,
                       &value))
    return (guint64) value;
  return ge_align (gemem_ge_tensor_size (model, tensor));
}

/* The output of @id that refers to input 0, if no other output is a reference; GEMEM_NONE. */
static guint32
only_reference (const GeModel *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  guint32 found = GEMEM_NONE;

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    if (model->referenced_input[t] != GEMEM_NONE)
      {
        if (found != GEMEM_NONE || model->referenced_input[t] != 0)
          return GEMEM_NONE;
        found = t;
      }
  return found;
}

/* Places a piece, and in turn every tensor that it refers to. */
static void
place_piece (GeAssigner *a, guint32 tensor, guint64 offset, guint8 space, guint64 bytes)
{
  const GeModel *model = a->model;

  gemem_ge_place_output (a, tensor, offset, space, bytes);
  while (model->referenced_input[tensor] != GEMEM_NONE)
    {
      const guint32 from = gemem_graph_inputs (model->graph,
                                               gemem_graph_tensor (model->graph, tensor)
                                                   ->node)[model->referenced_input[tensor]]
                               .tensor;
      if (from >= tensor || (ge_tensor_kind (a->model, from) & GE_ZERO_MEMORY) != 0)
        return;
      follow (a, from, tensor, -inner_offset (model, tensor));
      tensor = from;
    }
}

/* Places the producers of the inputs of @id one after another.  @stacked: called for the stack. */
static void
place_inputs (GeAssigner *a, guint32 id, gboolean stacked)
{
  const GeModel *model = a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);
  const guint32 reference = stacked ? only_reference (model, id) : GEMEM_NONE,
                first = inputs[0].tensor;
  guint64 running;
  guint8 space;

  if (first == GEMEM_NONE)
    return;
  if (reference != GEMEM_NONE)
    follow (a, first, reference, 0);
  running = offset_of (a, first);
  space = a->spaces[gemem_graph_tensor_item (a->model->graph, first)];
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 t = inputs[i].tensor;
      guint64 offset = running, bytes;
      gint64 value;

      if (t == GEMEM_NONE || (ge_tensor_kind (a->model, t) & GE_ZERO_MEMORY) != 0)
        continue;
      if (node->n_outputs > 0
          && gemem_ge_listed (model, gemem_graph_tensor (model->graph, t)->node,
                              GEMEM_ATTRIBUTE_OUTPUT_OFFSET_LIST_FOR_CONTINUOUS,
                              gemem_graph_tensor (model->graph, t)->index, &value))
        offset = offset_of (a, node->first_output) + (guint64) value;
      bytes = gemem_ge_tensor_size (model, t);
      if (model->nodes[id].kind & GE_NOPADDING_IN)
        bytes = MIN (bytes, gemem_graph_unpadded_size (model->graph, t));
      place_piece (a, t, offset, space, bytes);
      running = offset + input_stride (model, id, t);
    }
}

/* Places the outputs of @id one after another. */
static void
place_outputs (GeAssigner *a, guint32 id)
{
  const GeModel *model = a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const gboolean padded = (model->nodes[id].kind & GE_PADDED_OUT) != 0;
  const guint32 from = padded ? node->first_output
                              : gemem_graph_inputs (model->graph, id)[0].tensor;
  guint64 running, base;
  guint8 space;

  if (from == GEMEM_NONE)
    return;
  base = running = offset_of (a, from);
  space = a->spaces[gemem_graph_tensor_item (a->model->graph, from)];
  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      guint64 offset = running, bytes = gemem_ge_tensor_size (model, t);
      gint64 value;

      if (gemem_ge_is_global (model, t))
        continue;
      for (guint32 i = 0; !padded && i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
        {
          const GememConsumer *consumer = &gemem_graph_consumers (model->graph, t)[i];

          if (gemem_ge_listed (model, consumer->node,
                               GEMEM_ATTRIBUTE_INPUT_OFFSET_LIST_FOR_CONTINUOUS, consumer->input,
                               &value))
            offset = base + (guint64) value;
        }
      running = padded ? offset + ge_align (bytes) : offset + piece (model, id, t);
      gemem_ge_place_output (a, t, offset, space,
                             padded ? bytes
                                    : MIN (bytes, gemem_graph_unpadded_size (model->graph, t)));
    }
}

/* ---- order */

static gboolean
is_reference (const GeModel *model, guint32 tensor)
{
  return tensor != GEMEM_NONE && model->referenced_input[tensor] != GEMEM_NONE;
}

/* TRUE if any output of @id refers to an input. */
static gboolean
refers (const GeModel *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    if (is_reference (model, t))
      return TRUE;
  return FALSE;
}

/* TRUE if @test holds for a direct consumer of @id. */
static gboolean
any_consumer (const GeModel *model, guint32 id, gboolean (*test) (const GeModel *, guint32))
{
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
      if (test (model, gemem_graph_consumers (model->graph, t)[i].node))
        return TRUE;
  return FALSE;
}

/* (a): an output refers to a reference, or refers to an input and a consumer has one, too. */
static gboolean
is_between_references (const GeModel *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    if (is_reference (model, t)
        && is_reference (model,
                         gemem_graph_inputs (model->graph, id)[model->referenced_input[t]].tensor))
      return TRUE;
  return refers (model, id) && any_consumer (model, id, refers);
}

/* (b): a producer or a consumer joins its inputs as well, and no producer is a variable. */
static gboolean
must_wait (const GeModel *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);
  gboolean wait = any_consumer (model, id, joins_inputs);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 producer = inputs[i].tensor == GEMEM_NONE
                                   ? GEMEM_NONE
                                   : gemem_ge_anchor_node (model, inputs[i].tensor);

      if (producer == GEMEM_NONE)
        continue;
      if (g_str_has_prefix (gemem_graph_node (model->graph, producer)->type, "Variable"))
        return FALSE;
      wait |= joins_inputs (model, producer);
    }
  return wait;
}

static gboolean
splits_outputs (const GeModel *model, guint32 id)
{
  const guint32 kind = model->nodes[id].kind, split = GE_NOPADDING_OUT | GE_CASCADE_OUT;

  return (kind & split) == split
         || ((kind & (GE_PADDED_OUT | GE_REFERENCE)) == GE_PADDED_OUT && !refers (model, id));
}

/* The tensors that outputs of @id refer to get the offsets of these references. */
static void
return_offsets (GeAssigner *a, guint32 id)
{
  const GeModel *model = a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);

  if (gemem_graph_has_attribute (model->graph, node->attributes,
                                 GEMEM_ATTRIBUTE_CUSTOM_INPUT_OUTPUT_OFFSET))
    return;
  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      const guint32 from =
          is_reference (model, t)
              ? gemem_graph_inputs (model->graph, id)[model->referenced_input[t]].tensor
              : GEMEM_NONE;

      if (from != GEMEM_NONE && (ge_tensor_kind (a->model, from) & GE_ZERO_MEMORY) == 0)
        follow (a, from, t, -inner_offset (model, t));
    }
}

/* ---- subgraphs */

/* Outputs of a subgraph's owner lie where their producers inside lie. */
static void
copy_to_parents (GeAssigner *a)
{
  const GeModel *model = a->model;

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);
      const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);

      if ((model->nodes[id].kind & GE_NETOUTPUT) == 0)
        continue;
      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const guint32 outer = gemem_graph_outer_output (model->graph, id, i);

          if (outer != GEMEM_NONE && inputs[i].tensor != GEMEM_NONE)
            follow (a, outer, inputs[i].tensor, 0);
        }
    }
}

void
gemem_ge_fix_offsets (GeAssigner *a)
{
  const GeModel *model = a->model;
  g_autoptr (GArray) stack = g_array_new (FALSE, FALSE, sizeof (guint32)),
                     followers = find_followers (a);

  follow_all (a, followers);
  for (guint32 id = 0; id < model->n_nodes && a->continuous != NULL; id++)
    {
      if (splits_outputs (model, id))
        place_outputs (a, id);
      else if (is_between_references (model, id)
               || (joins_inputs (model, id) && must_wait (model, id)))
        {
          g_array_append_val (stack, id);
          continue;
        }
      if (joins_inputs (model, id))
        place_inputs (a, id, FALSE);
    }
  for (guint i = stack->len; i-- > 0;)
    {
      const guint32 id = g_array_index (stack, guint32, i);

      if (joins_inputs (model, id))
        place_inputs (a, id, TRUE);
      else
        return_offsets (a, id);
    }
  if (a->continuous != NULL)
    follow_all (a, followers);
  copy_to_parents (a);
}
