/* continuous.c - tensors that must lie side by side: which of them allocates, for which lifetime,
 * and the place of the groups in B.
 *
 * Without padding (concat), and where a node clears its inputs itself, the producer of input 0
 * allocates one buffer for all.  Otherwise every producer has its own block, and the blocks move to
 * the end of B, next to each other.
 *
 * Cost: linear in edges; per group of inputs a sort of its blocks.  Origin: ge-static.md 5.1-5.3.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/continuous.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/library.h"
#include "planners/ge/stream-edges.h"

/* continuous_blocks[node] of the specification. */
typedef struct
{
  guint32 node;
  guint32 n_recorded;
  gboolean remembered; /* 5.2 stores its type and number of inputs */
  GeBlock **blocks;    /* per input */
} Group;

struct _GeContinuous
{
  guint32 *group_of; /* per node: its group, or GEMEM_NONE */
  GArray *groups;    /* Group, in the order of first lookups */
  GeChains *chains;
  guint64 *streams; /* of the current request's consumers */
  guint32 sep_node; /* the node that takes all inputs of the current request's block */
};

static void
clear_group (gpointer group)
{
  g_free (((Group *) group)->blocks);
}

GeContinuous *
gemem_ge_continuous_new (const GeModel *model)
{
  GeContinuous *continuous;
  guint32 kinds = 0;

  for (guint32 id = 0; id < model->n_nodes; id++)
    kinds |= model->nodes[id].kind;
  if ((kinds & GE_RAW_CONTINUOUS) == 0)
    return NULL;
  continuous = g_new0 (GeContinuous, 1);
  continuous->group_of = ge_new_none (model->n_nodes);
  continuous->groups = g_array_new (FALSE, FALSE, sizeof (Group));
  g_array_set_clear_func (continuous->groups, clear_group);
  continuous->streams = g_new0 (guint64, ge_stream_words (model));
  continuous->chains = gemem_ge_chains_new (model);
  return continuous;
}

void
gemem_ge_continuous_free (GeContinuous *continuous)
{
  if (continuous == NULL)
    return;
  g_free (continuous->group_of);
  g_array_unref (continuous->groups);
  g_free (continuous->streams);
  gemem_ge_chains_free (continuous->chains);
  g_free (continuous);
}

/* The group of @node, added if missing. */
static Group *
look_up (GeAssigner *a, guint32 node)
{
  GeContinuous *continuous = a->continuous;
  Group group = { .node = node };

  if (continuous->group_of[node] == GEMEM_NONE)
    {
      continuous->group_of[node] = continuous->groups->len;
      group.blocks = g_new0 (GeBlock *, gemem_graph_node (a->model->graph, node)->n_inputs);
      g_array_append_val (continuous->groups, group);
    }
  return &g_array_index (continuous->groups, Group, continuous->group_of[node]);
}

/* The continuous node that consumer @i of @tensor leads to, preferably without padding. */
static gboolean
find_continuous_consumer (const GeModel *model, guint32 tensor, guint32 i, guint32 *node,
                          guint32 *input, gboolean *padded)
{
  *padded = FALSE;
  if (gemem_ge_find_continuous (model, tensor, i, GE_NOPADDING_IN, node, input))
    return TRUE;
  *padded = TRUE;
  return gemem_ge_find_continuous (model, tensor, i, GE_PADDED_IN, node, input);
}

/* 5.1 */
gboolean
gemem_ge_continuous_not_needed (GeAssigner *a, const GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request);
  const gboolean lx = (model->nodes[request->node].kind & GE_LX) != 0;
  gboolean not_needed = FALSE, padded;
  guint32 node, input;

  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    {
      if (!find_continuous_consumer (model, tensor, i, &node, &input, &padded))
        continue;
      if (input == 0)
        return FALSE;
      if (!padded || lx || (model->nodes[node].kind & GE_SEP) != 0)
        not_needed = TRUE;
    }
  return not_needed;
}

/* ---- 5.3: begin and end of a buffer that several producers fill */

/* The time from which the producer of @tensor may write, as seen from @stream.  [QUIRK] 0 is later
 * ignored (2.1): with an unknown time, memory that is free since node 0 may still be taken. */
static guint32
piece_begin (GeAssigner *a, GeRequest *request, guint32 tensor, gint32 stream)
{
  const GeModel *model = a->model;
  const guint32 node = gemem_ge_anchor_node (model, model->origin[tensor]),
                begin = gemem_ge_last_known (model, node, stream);

  if (model->options->quirks || model->nodes[node].stream == stream)
    return begin;
  request->op_reuse = request->op_reuse && begin != GE_MIN_LIFE;
  return MAX (begin, GE_MIN_LIFE);
}

/* Lowers request->begin to the earliest piece's begin; returns the time of the last reader. */
static guint32
span_pieces (GeAssigner *a, GeRequest *request, guint32 node, guint64 *streams)
{
  const GeModel *model = a->model;
  const gint32 stream = model->nodes[request->node].stream;
  guint32 end = 0;

  for (guint32 i = 0; i < gemem_graph_node (model->graph, node)->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (model->graph, node)[i].tensor;
      guint32 reached = 0, begin, last;

      if (tensor == GEMEM_NONE)
        continue;
      begin = piece_begin (a, request, tensor, stream);
      last = gemem_ge_max_life (model, gemem_ge_anchor_node (model, tensor),
                                gemem_ge_anchor_index (model, tensor), stream, &reached, streams);
      request->begin = MIN (request->begin, begin);
      end = MAX (end, last);
    }
  return end;
}

gboolean
gemem_ge_continuous_end (GeAssigner *a, GeRequest *request, guint32 *end)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request), takes_all = GE_RAW_NOPADDING_IN | GE_SEP;
  const GememConsumer *consumers = gemem_graph_consumers (model->graph, tensor);

  if (model->nodes[request->node].kind & takes_all)
    return FALSE;
  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    if (consumers[i].input == 0 && (model->nodes[consumers[i].node].kind & takes_all) != 0)
      {
        *end = MAX (*end, span_pieces (a, request, consumers[i].node, NULL));
        return TRUE;
      }
  return FALSE;
}

/* ---- 5.2 */

void
gemem_ge_continuous_role (GeAssigner *a, GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 tensor = ge_request_tensor (a, request);
  gboolean lx = (model->nodes[request->node].kind & GE_LX) != 0, padded;
  guint32 node, input;

  memset (a->continuous->streams, 0, ge_stream_words (model) * sizeof (guint64));
  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    {
      gboolean sep, whole;
      Group *group;

      if (!find_continuous_consumer (model, tensor, i, &node, &input, &padded))
        continue;
      sep = (model->nodes[node].kind & GE_SEP) != 0;
      whole = lx || !padded || sep;
      lx |= !padded && model->options->quirks; /* [QUIRK] also for all later consumers */
      if ((model->nodes[node].kind & GE_ZERO_MEMORY) != 0 || (whole && input != 0))
        {
          request->continuous = FALSE;
          return;
        }
      group = look_up (a, node);
      if (group->n_recorded == 0)
        {
          request->zc_ok = FALSE;
          if (whole)
            {
              if (request->op_reuse)
                {
                  request->end_request = span_pieces (a, request, node, a->continuous->streams);
                  request->n_streams = gemem_ge_count_streams (model, a->continuous->streams);
                }
              request->continuous |= sep;
              request->sep = sep;
              a->continuous->sep_node = node;
              continue;
            }
          group->remembered = TRUE;
        }
      request->anchor_node = node;
      request->anchor_input = input;
      request->continuous = TRUE;
    }
}

void
gemem_ge_continuous_record (GeAssigner *a, const GeRequest *request, GeBlock *block)
{
  Group *group = look_up (a, request->anchor_node);

  group->n_recorded += group->blocks[request->anchor_input] == NULL;
  group->blocks[request->anchor_input] = block;
}

guint64
gemem_ge_continuous_total (GeAssigner *a)
{
  const GeModel *model = a->model;
  const guint32 node = a->continuous->sep_node;
  guint64 total = 0;

  for (guint32 i = 0; i < gemem_graph_node (model->graph, node)->n_inputs; i++)
    if (gemem_graph_inputs (model->graph, node)[i].tensor != GEMEM_NONE)
      total += ge_align (
          gemem_ge_tensor_size (model, gemem_graph_inputs (model->graph, node)[i].tensor));
  return total;
}

/* ---- groups to the tail of B (5.2) */

/* Sets the places in the tail of one group's blocks, in the order of inputs. */
static void
place_group (GeAssigner *a, const Group *group, guint32 *place, guint32 *next)
{
  const guint32 n = gemem_graph_node (a->model->graph, group->node)->n_inputs;
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint32 i = 0; i < n; i++)
    {
      group->blocks[i]->same_offset = (a->model->nodes[group->node].kind & GE_BATCH_INDEPENDENT)
                                      != 0;
      group->blocks[i]->input_index = i;
    }
  for (guint32 i = 0; i < n; i++)
    if (!g_hash_table_add (seen, group->blocks[i]))
      return;
  for (guint32 i = 0; i < n; i++)
    place[group->blocks[i]->number] = (*next)++;
  group->blocks[0]->first = TRUE;
  group->blocks[n - 1]->last = TRUE;
}

/* [QUIRK] groups are in the order of a hash table; the later of two groups places their common
 * block. */
static gsize *
group_order (const GeAssigner *a)
{
  const GArray *groups = a->continuous->groups;
  g_autofree guint64 *keys = g_new (guint64, (gsize) groups->len + 1);
  gsize *order = g_new (gsize, (gsize) groups->len + 1);

  for (guint i = 0; i < groups->len; i++)
    {
      keys[i] = g_array_index (groups, Group, i).node;
      order[i] = i;
    }
  if (a->model->options->quirks)
    gemem_ge_unordered_order (keys, groups->len, order);
  return order;
}

void
gemem_ge_continuous_to_tail (GeAssigner *a)
{
  const GArray *groups = a->continuous->groups;
  g_autofree gsize *order = group_order (a);
  /* by number of block; GEMEM_NONE: not in the tail */
  g_autofree guint32 *place = ge_new_none (a->n_blocks);
  g_autofree GeBlock **tail = NULL;
  guint32 next = 0;
  guint kept = 0;

  for (guint i = 0; i < groups->len; i++)
    {
      const Group *group = &g_array_index (groups, Group, order[i]);

      if (group->remembered
          && group->n_recorded == gemem_graph_node (a->model->graph, group->node)->n_inputs)
        place_group (a, group, place, &next);
    }
  if (next == 0)
    return;
  tail = g_new0 (GeBlock *, next);
  for (guint i = 0; i < a->blocks->len; i++)
    {
      GeBlock *block = a->blocks->pdata[i];

      if (place[block->number] != GEMEM_NONE)
        tail[place[block->number]] = block;
      else if (!block->child)
        a->blocks->pdata[kept++] = block;
    }
  for (guint32 i = 0; i < next; i++)
    if (tail[i] != NULL)
      a->blocks->pdata[kept++] = tail[i];
  g_ptr_array_set_size (a->blocks, (gint) kept);
}

/* ---- chains (5.5) */

gboolean
gemem_ge_continuous_chain (GeAssigner *a, GeRequest *request)
{
  return a->continuous->chains != NULL
         && gemem_ge_chains_allocate (a, a->continuous->chains, request);
}

void
gemem_ge_continuous_chain_offsets (GeAssigner *a)
{
  if (a->continuous->chains != NULL)
    gemem_ge_chains_place (a, a->continuous->chains);
}
