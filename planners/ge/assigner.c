/* assigner.c - one GE assigner: the walk over the nodes, which assigns a block to every output and
 * workspace (ge-static.md 2.3).
 *
 * Per node: first the blocks whose last use was the previous node are released, then the outputs
 * and the workspaces get blocks, then the inputs are consumed.  So an output never takes the memory
 * of an input of its own node.
 * Cost: O((outputs + inputs + symbol members) log n) for a graph on one stream.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/continuous.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/library.h"
#include "planners/planner.h"

#define DESCRIPTOR_SIZE 1024 /* bytes, in addition to a no-tiling tensor */

/* ---- life of an assigner */

GeAssigner *
gemem_ge_assigner_new (const GeModel *model, const GeStrategy *strategy)
{
  GeAssigner *a = g_new0 (GeAssigner, 1);
  const gsize n_items = gemem_graph_n_items (model->graph);

  a->model = model;
  a->strategy = *strategy;
  a->ranges = gemem_ge_strategy_ranges (model, strategy);
  a->reuse = !model->options->disable_reuse;
  a->blocks = g_ptr_array_new ();
  a->suspended = g_ptr_array_new ();
  a->chunks = g_ptr_array_new_with_free_func (g_free);
  a->symbol_block = g_new0 (GeBlock *, (gsize) model->n_symbols + 1);
  a->symbol_size = g_new (guint64, (gsize) model->n_symbols + 1);
  for (guint32 i = 0; i < model->n_symbols; i++)
    a->symbol_size[i] = model->symbols[i].size;
  a->cleared = g_new0 (guint8, (gsize) model->n_tensors + 1);
  a->zero = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (int i = 0; i < GE_N_SPACES; i++)
    a->counters[i] = gemem_ge_space_base (i);
  a->offsets = g_new (guint64, n_items + 1);
  memset (a->offsets, 0xff, (n_items + 1) * sizeof (guint64)); /* GEMEM_NO_OFFSET */
  a->sizes = g_new0 (guint64, n_items + 1);
  a->spaces = g_new0 (guint8, n_items + 1);
  a->continuous = gemem_ge_continuous_new (model);
  return a;
}

void
gemem_ge_assigner_free (GeAssigner *a)
{
  if (a == NULL)
    return;
  gemem_ge_blocks_free (a);
  g_array_unref (a->ranges);
  g_ptr_array_unref (a->blocks);
  gemem_ge_pools_free (a->pools);
  g_ptr_array_unref (a->suspended);
  g_free (a->symbol_block);
  g_free (a->symbol_size);
  g_array_unref (a->zero);
  g_free (a->cleared);
  g_free (a->offsets);
  g_free (a->sizes);
  g_free (a->spaces);
  gemem_ge_continuous_free (a->continuous);
  g_clear_error (&a->error);
  g_free (a);
}

/* ---- 2.3 A: outputs */

static gboolean
is_on_chip (guint64 type)
{
  return type == GEMEM_MEMORY_L1 || type == GEMEM_MEMORY_UB;
}

/* Entry @i of the list @key of node @id; 0 if missing. */
static guint64
listed_or_0 (const GeModel *model, guint32 id, GememAttributeKey key, guint32 i)
{
  gint64 value = 0;

  if (gemem_graph_node (model->graph, id)->attributes.n > 0)
    gemem_ge_listed (model, id, key, i, &value);
  return (guint64) value;
}

/* TRUE if the planner provides no memory for the output, continuous or not. */
static gboolean
has_no_memory (GeAssigner *a, const GeRequest *request)
{
  const GememGraph *graph = a->model->graph;
  const GememAttributes attributes =
      gemem_graph_tensor (graph, ge_request_tensor (a, request))->attributes;
  const guint32 kind = a->model->nodes[request->node].kind;

  return request->size == 0 || (kind & GE_ZERO_MEMORY) != 0
         || ((kind & GE_BUFFER_POOL) != 0 && !a->model->dynamic_root)
         || is_on_chip (listed_or_0 (a->model, request->node, GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE,
                                     request->index))
         || gemem_graph_flag (graph, attributes, GEMEM_ATTRIBUTE_ALWAYS_EMPTY);
}

/* TRUE if another step sets the output's address (2.3 `none`). */
static gboolean
is_placed_elsewhere (GeAssigner *a, const GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request);
  const GeSymbol *symbol = &model->symbols[model->symbol_of[tensor]];

  return (a->continuous != NULL && gemem_ge_continuous_not_needed (a, request))
         || gemem_ge_clear_is_central (a, request)
         || gemem_graph_has_attribute (model->graph,
                                       gemem_graph_tensor (model->graph, tensor)->attributes,
                                       GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME)
         || (symbol->name == tensor && (symbol->flags & GE_SYMBOL_NO_ASSIGN) != 0);
}

/* Adds the 1024 bytes for a no-tiling tensor, which are never shared. */
static void
add_descriptor (GeAssigner *a, const GeRequest *output)
{
  GeRequest request = { .node = output->node,
                        .index = output->index,
                        .kind = GE_KIND_DESCRIPTOR,
                        .begin = a->time,
                        .noalign = DESCRIPTOR_SIZE,
                        .space = GE_SPACE_HBM };

  gemem_ge_apply (a, &request, DESCRIPTOR_SIZE, FALSE);
}

static void
place_output (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request);
  GeBlock *block = gemem_ge_apply_output (a, request);

  if (block != NULL)
    {
      gemem_ge_block_raise_out_cnt (block, request->n_streams);
      block->reuse_zc &= request->zc_ok;
      if (request->anchor_node != GEMEM_NONE)
        gemem_ge_continuous_record (a, request, block);
      a->symbol_block[model->symbol_of[tensor]] = block;
      if (block->ref_count == 0)
        {
          block->ref_count = 1;
          g_ptr_array_add (a->suspended, block);
        }
    }
  if (gemem_graph_flag (model->graph, gemem_graph_tensor (model->graph, tensor)->attributes,
                        GEMEM_ATTRIBUTE_NO_TILING_MEM_TYPE))
    add_descriptor (a, request);
}

/* FALSE: the later outputs of the node are skipped [QUIRK]. */
static gboolean
assign_output (GeAssigner *a, GeRequest *request)
{
  const guint32 kind = a->model->nodes[request->node].kind;

  if (has_no_memory (a, request))
    {
      gemem_ge_zero (a, request->node, request->index);
      return TRUE;
    }
  if (a->continuous != NULL)
    {
      if (gemem_ge_continuous_chain (a, request))
        return !a->model->options->quirks;
      gemem_ge_continuous_role (a, request);
    }
  if (is_placed_elsewhere (a, request))
    {
      gemem_ge_zero (a, request->node, request->index);
      return TRUE;
    }
  if (a->continuous != NULL && (kind & GE_PADDED_OUT) != 0 && !request->continuous)
    {
      gemem_ge_continuous_outputs (a, request);
      return FALSE;
    }
  if (request->continuous && (kind & (GE_ATOMIC | GE_GENTASK_ATOMIC)) == GE_ATOMIC)
    request->op_reuse = FALSE;
  place_output (a, request);
  return TRUE;
}

static gboolean
visit_output (GeAssigner *a, const GememNode *node, guint32 output, gboolean *op_reuse)
{
  const GeModel *model = a->model;
  const guint32 tensor = node->first_output + output;
  GeRequest request = {
    .node = a->time,
    .index = output,
    .kind = GE_KIND_OUTPUT,
    .begin = a->time,
    .op_reuse = *op_reuse,
    .reuse_flag = TRUE,
    .zc_ok = TRUE,
    .anchor_node = GEMEM_NONE,
    .anchor_input = GEMEM_NONE,
    .space = gemem_ge_space_of_type (model->symbols[model->symbol_of[tensor]].type),
    .size = gemem_ge_tensor_size (model, tensor),
    .noalign = gemem_graph_unpadded_size (model->graph, tensor),
  };
  const gboolean more = assign_output (a, &request);

  if (model->options->quirks)
    *op_reuse = request.op_reuse; /* appendix D 7 */
  return more;
}

/* ---- 2.3 B: workspaces */

static void
visit_workspace (GeAssigner *a, const GememNode *node, guint32 i, gboolean op_reuse)
{
  const GememGraph *graph = a->model->graph;
  const guint32 item = gemem_node_workspace_item (node, i);
  const gboolean session = listed_or_0 (a->model, a->time, GEMEM_ATTRIBUTE_WORKSPACE_NO_REUSE_SCOPE,
                                        i)
                           == 1;
  gint64 reusable = TRUE;
  GeRequest request = { .node = a->time,
                        .index = i,
                        .kind = GE_KIND_WORKSPACE,
                        .begin = a->time,
                        .op_reuse = op_reuse,
                        .reuse_flag = TRUE,
                        .size = gemem_graph_workspace (graph, a->time, i) };
  GeBlock *block;

  if (request.size == 0
      || is_on_chip (listed_or_0 (a->model, a->time, GEMEM_ATTRIBUTE_TVM_WORKSPACE_TYPE, i))
      || gemem_ge_clear_is_central_workspace (a->model, a->time, i))
    {
      g_array_append_val (a->zero, item);
      return;
    }
  request.noalign = request.size;
  request.space = listed_or_0 (a->model, a->time, GEMEM_ATTRIBUTE_WORKSPACE_TYPE, i)
                          == GEMEM_MEMORY_P2P
                      ? GE_SPACE_P2P
                  : session ? GE_SPACE_SESSION
                            : GE_SPACE_HBM;
  gemem_ge_listed (a->model, a->time, GEMEM_ATTRIBUTE_WORKSPACE_REUSE_FLAG, i, &reusable);
  request.reuse_flag = reusable != 0 && request.space != GE_SPACE_SESSION;
  block = gemem_ge_apply (a, &request, request.size, FALSE);
  block->ref_count++;
  block->reuse_zc &= (a->model->nodes[a->time].kind & GE_NOT_REFRESHABLE) == 0;
  if (request.reuse_flag)
    g_ptr_array_add (a->suspended, block);
}

/* ---- 2.3 C: inputs */

/* TRUE if the producer has a RESOURCE or VARIANT input or output. */
static gboolean
handles_resources (const GememGraph *graph, const GememNode *node, guint32 id)
{
  for (guint32 i = 0; i < node->n_outputs; i++)
    if (gemem_graph_flag (graph, gemem_graph_tensor (graph, node->first_output + i)->attributes,
                          GEMEM_ATTRIBUTE_RESOURCE))
      return TRUE;
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (graph, id)[i].tensor;

      if (tensor != GEMEM_NONE
          && gemem_graph_flag (graph, gemem_graph_tensor (graph, tensor)->attributes,
                               GEMEM_ATTRIBUTE_RESOURCE))
        return TRUE;
    }
  return FALSE;
}

static void
consume (GeAssigner *a, const GememNodeInput *input)
{
  const GeModel *model = a->model;
  const GememNode *producer;
  GeBlock *block;
  guint32 id;

  if (input->tensor == GEMEM_NONE)
    return;
  block = a->symbol_block[model->symbol_of[input->tensor]];
  id = gemem_graph_tensor (model->graph, input->tensor)->node;
  producer = gemem_graph_node (model->graph, id);
  if (block == NULL || strcmp (producer->type, "Const") == 0
      || strcmp (producer->type, "Constant") == 0
      || strcmp (producer->type, "FastrcnnPredictions") == 0)
    return;
  gemem_ge_release (a, block, model->nodes[a->time].stream,
                    handles_resources (model->graph, producer, id));
}

/* Compares by producer.  Not a strict weak order where inputs are unconnected (appendix A). */
static gboolean
earlier_producer (gconstpointer x, gconstpointer y, gpointer graph)
{
  const GememNodeInput *a = x, *b = y;

  return a->tensor != GEMEM_NONE && b->tensor != GEMEM_NONE
         && gemem_graph_tensor (graph, a->tensor)->node
                < gemem_graph_tensor (graph, b->tensor)->node;
}

static void
consume_inputs (GeAssigner *a, const GememNode *node)
{
  const GememNodeInput *inputs = gemem_graph_inputs (a->model->graph, a->time);
  g_autofree gconstpointer *sorted = NULL;

  if (!a->model->options->memory_priority)
    {
      for (guint32 i = 0; i < node->n_inputs; i++)
        consume (a, &inputs[i]);
      return;
    }
  sorted = g_new (gconstpointer, (gsize) node->n_inputs + 1);
  for (guint32 i = 0; i < node->n_inputs; i++)
    sorted[i] = &inputs[i];
  gemem_ge_sort (a->model->options, (gpointer *) sorted, node->n_inputs, earlier_producer,
                 (gpointer) a->model->graph);
  for (guint32 i = 0; i < node->n_inputs; i++)
    consume (a, sorted[i]);
}

/* ---- the walk */

static void
visit_node (GeAssigner *a, guint32 id)
{
  const GememNode *node = gemem_graph_node (a->model->graph, id);
  gboolean op_reuse = (a->model->nodes[id].kind & GE_OP_NO_REUSE) == 0, more = TRUE;

  if (a->reuse) /* T is still the previous node */
    {
      for (guint i = 0; i < a->suspended->len; i++)
        {
          GeBlock *block = g_ptr_array_index (a->suspended, i);
          gemem_ge_release (a, block, block->stream, FALSE);
        }
      g_ptr_array_set_size (a->suspended, 0);
    }
  a->time = id;
  for (guint32 i = 0; i < node->n_outputs && more; i++)
    more = visit_output (a, node, i, &op_reuse);
  for (guint32 i = 0; i < node->n_workspaces; i++)
    visit_workspace (a, node, i, op_reuse);
  consume_inputs (a, node);
}

void
gemem_ge_assigner_walk (GeAssigner *a)
{
  for (guint32 i = 0; i < a->model->n_nodes && !gemem_plan_is_unwanted (a->model->interrupted); i++)
    visit_node (a, i);
}

void
gemem_ge_assigner_run (GeAssigner *a)
{
  gemem_ge_assigner_walk (a);
  if (a->strategy.level2 && a->reuse)
    gemem_ge_pack (a);
  if (!gemem_plan_is_unwanted (a->model->interrupted))
    gemem_ge_place (a);
}
