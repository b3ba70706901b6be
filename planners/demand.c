/* demand.c - see demand.h. */
#include "config.h"

#include <string.h>

#include "planners/demand.h"

/* Limit of distances: larger ties are ignored, and the checker rejects the plan. */
#define FARTHEST ((gint64) 1 << 61)

/* ---- classes */

static guint32
alias_of (GememDemands *demands, guint32 i)
{
  while (demands->items[i].alias != i)
    i = demands->items[i].alias = demands->items[demands->items[i].alias].alias;
  return i;
}

static guint32
wide_of (GememDemands *demands, guint32 i)
{
  while (demands->items[i].wide != i)
    i = demands->items[i].wide = demands->items[demands->items[i].wide].wide;
  return i;
}

/* Returns the root of @i; sets `buffer` of @i to the root and `inner` to the distance from it. */
static guint32
buffer_of (GememDemands *demands, guint32 i)
{
  GememDemand *items = demands->items;
  guint32 root = i, next;
  guint64 distance = 0, own; /* modulo 2^64: hostile offset lists may contain any number */

  for (; items[root].buffer != root; root = items[root].buffer)
    distance += (guint64) items[root].inner;
  for (; items[i].buffer != root && i != root; i = next)
    {
      next = items[i].buffer;
      own = (guint64) items[i].inner;
      items[i].inner = (gint64) distance;
      items[i].buffer = root;
      distance -= own;
    }
  return root;
}

/* Joins the buffers of a tie; the root with the smaller number remains. */
static void
join_buffers (GememDemands *demands, const GememTie *tie)
{
  GememDemand *items = demands->items;
  const guint32 a = buffer_of (demands, tie->first), b = buffer_of (demands, tie->second);
  const gint64 distance /* from root a to root b */
      = (gint64) ((guint64) items[tie->first].inner + (guint64) tie->delta
                  - (guint64) items[tie->second].inner);

  if (a == b || distance > FARTHEST || distance < -FARTHEST)
    return;
  items[MAX (a, b)].buffer = MIN (a, b);
  items[MAX (a, b)].inner = a < b ? distance : -distance;
}

static void
join_classes (GememDemands *demands)
{
  for (guint i = 0; i < demands->ties->len; i++)
    {
      const GememTie *tie = &g_array_index (demands->ties, GememTie, i);
      const guint32 a = alias_of (demands, tie->first), b = alias_of (demands, tie->second);
      const guint32 c = wide_of (demands, tie->first), d = wide_of (demands, tie->second);

      if (tie->kind == GEMEM_TIE_REFERENCE || tie->kind == GEMEM_TIE_MERGED)
        demands->items[MAX (a, b)].alias = MIN (a, b);
      if (tie->kind != GEMEM_TIE_PADDED)
        demands->items[MAX (c, d)].wide = MIN (c, d);
      if (!tie->loose)
        join_buffers (demands, tie);
    }
  /* the operator chooses the distance of a loose tie: 0 here, from the item it refers to */
  for (guint i = 0; i < demands->ties->len; i++)
    {
      GememTie tie = g_array_index (demands->ties, GememTie, i);

      tie.delta = 0;
      if (!tie.loose)
        continue;
      demands->items[tie.second].flags |= GEMEM_DEMAND_ANYWHERE;
      join_buffers (demands, &tie);
    }
}

/* Points every item at its representatives; `inner` becomes the distance from the lowest member. */
static void
settle_classes (GememDemands *demands)
{
  g_autofree gint64 *lowest = g_new0 (gint64, (gsize) demands->n + 1);

  for (guint32 i = 0; i < demands->n; i++)
    {
      GememDemand *item = &demands->items[i];

      item->alias = alias_of (demands, i);
      item->wide = wide_of (demands, i);
      item->buffer = buffer_of (demands, i);
      lowest[item->buffer] = MIN (lowest[item->buffer], item->inner);
    }
  for (guint32 i = 0; i < demands->n; i++)
    demands->items[i].inner = (gint64) ((guint64) demands->items[i].inner
                                        - (guint64) lowest[demands->items[i].buffer]);
}

/* ---- sizes */

static gboolean
is_on_chip (gint64 type)
{
  return type == (gint64) GEMEM_MEMORY_L1 || type == (gint64) GEMEM_MEMORY_UB;
}

/* @nested: a NetOutput of a subgraph counts too. */
static gboolean
feeds_net_output (const GememGraph *graph, guint32 tensor, gboolean nested)
{
  const GememConsumer *consumers = gemem_graph_consumers (graph, tensor);

  for (guint32 i = 0; i < gemem_graph_tensor (graph, tensor)->n_consumers; i++)
    {
      const GememNode *consumer = gemem_graph_node (graph, consumers[i].node);

      if ((nested || consumer->block == 0) && strcmp (consumer->type, "NetOutput") == 0)
        return TRUE;
    }
  return FALSE;
}

static guint64
output_bytes (const GememGraph *graph, const GememNode *node, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (graph, tensor);
  gint64 value;

  if (gemem_graph_int (graph, t->attributes, GEMEM_ATTRIBUTE_FFTS_SUB_TASK_TENSOR_SIZE, &value)
      && value >= 0 && !gemem_node_is_data (node) && !feeds_net_output (graph, tensor, TRUE))
    return (guint64) value;
  if (t->size == 0 && gemem_graph_flag (graph, t->attributes, GEMEM_ATTRIBUTE_NO_TILING_MEM_TYPE)
      && gemem_graph_int (graph, t->attributes, GEMEM_ATTRIBUTE_NO_TILING_SIZE, &value)
      && value > 0)
    return (guint64) value;
  return t->size;
}

static gboolean
lies_elsewhere (const GememGraph *graph, const GememNode *node, const GememTensor *tensor)
{
  gint64 scope;

  return gemem_node_is_constant (node)
         || gemem_graph_flag (graph, tensor->attributes, GEMEM_ATTRIBUTE_ALWAYS_EMPTY)
         || gemem_graph_has_attribute (graph, tensor->attributes, GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME)
         || gemem_graph_has_attribute (graph, tensor->attributes,
                                       GEMEM_ATTRIBUTE_REF_VAR_SRC_VAR_NAME)
         || (gemem_graph_int (graph, tensor->attributes, GEMEM_ATTRIBUTE_TENSOR_MEMORY_SCOPE,
                              &scope)
             && scope == 2)
         || is_on_chip (gemem_graph_int_or (graph, node->attributes,
                                            GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, tensor->index, 0))
         || (tensor->variable != GEMEM_NONE
             && gemem_graph_variable (graph, tensor->variable)->persistable);
}

/* ---- lives */

/* The node that clears an output or workspace of @id at the start of the graph together with others
 * (6.1); GEMEM_NONE: none. */
static guint32
central_memset (const GememGraph *graph, guint32 id, gboolean workspace, guint32 index)
{
  const GememNode *node = gemem_graph_node (graph, id);
  guint n, step = workspace ? 2 : 1;
  const gint64 *cleared = gemem_graph_ints (graph, node->attributes,
                                            workspace ? GEMEM_ATTRIBUTE_SUB_NODE_WORKSPACE_INFO
                                                      : GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX,
                                            &n);
  gboolean listed = FALSE;

  for (guint i = 0; i < n; i += step)
    listed |= cleared[i] == (gint64) index;
  if (!listed || !gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_IS_ATOMIC_NODE)
      || gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_NEED_GENTASK_ATOMIC))
    return GEMEM_NONE;
  return gemem_graph_memset (graph, id);
}

#define WHOLE_RUN (GEMEM_DEMAND_FROM_START | GEMEM_DEMAND_TO_END)

static void
demand_output (GememDemands *demands, const GememGraph *graph, guint32 id, guint32 o)
{
  const GememNode *node = gemem_graph_node (graph, id);
  const guint32 tensor = node->first_output + o;
  GememDemand *item = &demands->items[gemem_node_output_item (node, o)];

  item->node = id;
  item->bytes = output_bytes (graph, node, tensor);
  item->memset = demands->clears_apart ? GEMEM_NONE : central_memset (graph, id, FALSE, o);
  if (item->bytes > 0 && !lies_elsewhere (graph, node, gemem_graph_tensor (graph, tensor)))
    item->flags |= GEMEM_DEMAND_MEMORY;
  if (gemem_node_is_graph_input (node))
    item->flags |= GEMEM_DEMAND_FROM_START;
  if (feeds_net_output (graph, tensor, FALSE))
    item->flags |= GEMEM_DEMAND_TO_END;
  if (gemem_graph_has_attribute (graph, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_ID))
    item->flags |= WHOLE_RUN;
  if (gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_NO_REUSE_MEM_FLAG)
      && item->alias == gemem_node_output_item (node, o))
    item->flags |= WHOLE_RUN;
}

static void
demand_workspace (GememDemands *demands, const GememGraph *graph, guint32 id, guint32 w)
{
  const GememNode *node = gemem_graph_node (graph, id);
  GememDemand *item = &demands->items[gemem_node_workspace_item (node, w)];
  const gboolean session = gemem_graph_int_or (graph, node->attributes,
                                               GEMEM_ATTRIBUTE_WORKSPACE_NO_REUSE_SCOPE, w, 0)
                           == 1;

  item->node = id;
  item->bytes = gemem_graph_workspace (graph, id, w);
  item->memset = demands->clears_apart ? GEMEM_NONE : central_memset (graph, id, TRUE, w);
  item->space = gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_WORKSPACE_TYPE, w, 0)
                        == (gint64) GEMEM_MEMORY_P2P
                    ? GEMEM_MEMORY_P2P
                : session ? GEMEM_MEMORY_SESSION
                          : GEMEM_MEMORY_HBM;
  if (item->bytes > 0
      && !is_on_chip (
          gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_TVM_WORKSPACE_TYPE, w, 0)))
    item->flags |= GEMEM_DEMAND_MEMORY;
  if (session
      || gemem_graph_int_or (graph, node->attributes, GEMEM_ATTRIBUTE_WORKSPACE_REUSE_FLAG, w, 1)
             == 0
      || gemem_graph_flag (graph, node->attributes, GEMEM_ATTRIBUTE_NO_REUSE_MEM_FLAG))
    item->flags |= WHOLE_RUN;
}

/* ---- properties that members of a class share */

static void
widen_type (GememDemands *demands, guint32 item, gint64 type)
{
  guint64 *space = &demands->items[demands->items[item].alias].space;

  if (item != GEMEM_NONE && type > 0)
    *space = MAX (*space, (guint64) type);
}

/* Space of a class: the largest type listed at a member; most types are ordinary memory (2.2). */
static void
find_spaces (GememDemands *demands, const GememGraph *graph)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 o = 0; o < node->n_outputs; o++)
        {
          const guint32 item = gemem_node_output_item (node, o);
          gint64 type;

          widen_type (demands, item,
                      gemem_graph_int_or (graph, node->attributes,
                                          GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, o, 0));
          if (gemem_graph_int (graph,
                               gemem_graph_tensor (graph, node->first_output + o)->attributes,
                               GEMEM_ATTRIBUTE_TENSOR_MEMORY_TYPE, &type))
            widen_type (demands, item, type);
        }
      for (guint32 i = 0; i < node->n_inputs; i++)
        if (gemem_graph_input_item (graph, id, i) != GEMEM_NONE)
          widen_type (demands, gemem_graph_input_item (graph, id, i),
                      gemem_graph_int_or (graph, node->attributes,
                                          GEMEM_ATTRIBUTE_INPUT_MEMORY_TYPE, i, 0));
    }
  for (guint32 i = 0; i < demands->n; i++)
    {
      const guint64 space = demands->items[demands->items[i].alias].space;
      const gboolean own = space == GEMEM_MEMORY_P2P || space == GEMEM_MEMORY_HOST
                           || space == GEMEM_MEMORY_HOST_SVM || space == GEMEM_MEMORY_SESSION;

      demands->items[i].space = own ? space : GEMEM_MEMORY_HBM;
    }
}

/* A graph input makes all items of its alias class alive from the start; a graph output keeps all
 * items of its wide class alive to the end. */
static void
share_lives (GememDemands *demands)
{
  for (guint32 i = 0; i < demands->n; i++)
    {
      const GememDemand *item = &demands->items[i];

      demands->items[item->alias].flags |= item->flags & GEMEM_DEMAND_FROM_START;
      demands->items[item->wide].flags |= item->flags & GEMEM_DEMAND_TO_END;
    }
  for (guint32 i = 0; i < demands->n; i++)
    demands->items[i].flags |= (demands->items[demands->items[i].alias].flags
                                & GEMEM_DEMAND_FROM_START)
                               | (demands->items[demands->items[i].wide].flags
                                  & GEMEM_DEMAND_TO_END);
}

/* A reference to an item without memory in the plan has no memory either. */
static void
follow_elsewhere (GememDemands *demands)
{
  for (guint i = 0; i < demands->ties->len; i++)
    {
      const GememTie *tie = &g_array_index (demands->ties, GememTie, i);
      const GememDemand *first = &demands->items[tie->first];
      GememDemand *second = &demands->items[tie->second];

      if (tie->kind == GEMEM_TIE_REFERENCE && first->bytes > 0
          && !(first->flags & GEMEM_DEMAND_MEMORY))
        second->flags &= ~(guint32) GEMEM_DEMAND_MEMORY;
    }
}

/* No-padding members overlap by their padding: only their bytes without padding count. */
static void
trim_members (GememDemands *demands, const GememGraph *graph)
{
  for (guint i = 0; i < demands->ties->len; i++)
    {
      const GememTie *tie = &g_array_index (demands->ties, GememTie, i);

      if (tie->kind != GEMEM_TIE_NOPADDING)
        continue;
      for (guint end = 0; end < 2; end++)
        {
          const guint32 number = end == 0 ? tie->first : tie->second;
          const GememGraphItem item = gemem_graph_item (graph, number);
          const guint64 bytes = gemem_graph_unpadded_size (
              graph, gemem_graph_node (graph, item.node)->first_output + item.index);

          demands->items[number].bytes = MIN (demands->items[number].bytes, bytes);
          demands->items[number].flags |= GEMEM_DEMAND_PIECE;
        }
    }
}

GememDemands *
gemem_demands_new (const GememGraph *graph, gboolean clears_apart)
{
  GememDemands *demands = g_new0 (GememDemands, 1);

  demands->n = gemem_graph_n_items (graph);
  demands->items = g_new0 (GememDemand, (gsize) demands->n + 1);
  demands->clears_apart = clears_apart;
  demands->ties = gemem_graph_ties (graph);
  for (guint32 i = 0; i < demands->n; i++)
    demands->items[i].alias = demands->items[i].wide = demands->items[i].buffer = i;
  join_classes (demands);
  settle_classes (demands);
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 o = 0; o < node->n_outputs; o++)
        demand_output (demands, graph, id, o);
      for (guint32 w = 0; w < node->n_workspaces; w++)
        demand_workspace (demands, graph, id, w);
    }
  find_spaces (demands, graph);
  trim_members (demands, graph);
  follow_elsewhere (demands);
  share_lives (demands);
  return demands;
}

void
gemem_demands_free (GememDemands *demands)
{
  if (demands == NULL)
    return;
  g_array_unref (demands->ties);
  g_free (demands->items);
  g_free (demands);
}
