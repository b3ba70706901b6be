/* streams.c - the effective stream of every node: as specified, side trips folded back, numbered.
 *
 * A side trip is a chain of single-consumer nodes that leaves a stream and returns to it; if its
 * nodes have consecutive ids they count as being on the stream they left.
 * Cost: O(nodes x streams) at worst, linear for real graphs.  Origin: ge-static.md 1.3, 1.4, 2.6
 * (tainted streams), 7.6.
 */
#include "config.h"

#include <stdlib.h>

#include "graphs/meaning.h"
#include "planners/ge/ge-private.h"

#define INVALID (-1)

gint64 *
gemem_ge_model_effective_streams (const GeModel *model)
{
  gint64 *ids = g_new (gint64, (gsize) model->n_nodes + 1);

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      if (gemem_graph_int (model->graph, node->attributes, GEMEM_ATTRIBUTE_SUB_STREAM_ID, &ids[id]))
        continue;
      ids[id] = gemem_graph_has_attribute (model->graph, node->attributes,
                                           GEMEM_ATTRIBUTE_THREAD_SCOPE_ID)
                    ? INVALID
                    : node->stream;
    }
  return ids;
}

/* ---- normalisation (1.4) */

/* a: the common stream of all consumers of output 0; INVALID if there is none. */
static gint64
consumers_stream (const GeModel *model, const gint64 *ids, const GememNode *node)
{
  gint64 common = INVALID;

  if (node->n_outputs == 0)
    return INVALID;
  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, node->first_output)->n_consumers; i++)
    {
      const gint64 stream = ids[gemem_graph_consumers (model->graph, node->first_output)[i].node];

      if (i > 0 && stream != common)
        return INVALID;
      common = stream;
    }
  return common;
}

/* The only node that consumes outputs of @node; GEMEM_NONE if no edge or several edges leave it. */
static guint32
only_consumer (const GeModel *model, const GememNode *node)
{
  guint32 found = GEMEM_NONE;

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      const guint32 n = gemem_graph_tensor (model->graph, t)->n_consumers;

      if (n > 1 || (n == 1 && found != GEMEM_NONE))
        return GEMEM_NONE;
      if (n == 1)
        found = gemem_graph_consumers (model->graph, t)[0].node;
    }
  return found;
}

static gboolean
has_one_input (const GeModel *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);
  guint32 connected = 0;

  for (guint32 i = 0; i < node->n_inputs && connected < 2; i++)
    connected += inputs[i].tensor != GEMEM_NONE;
  return connected == 1;
}

/* Walks the side trip from @start.  Returns the first node back on its stream, GEMEM_NONE if there
 * is no side trip; @length: nodes in between. */
static guint32
walk_side_trip (const GeModel *model, const gint64 *ids, guint32 start, guint32 *length)
{
  const gint64 stream = ids[start];
  guint32 at = start;

  *length = 0;
  while (stream != INVALID && (at == start || has_one_input (model, at)))
    {
      const guint32 next = only_consumer (model, gemem_graph_node (model->graph, at));

      if (next == GEMEM_NONE || next <= at || (model->nodes[next].kind & GE_MERGE) != 0
          || ids[next] == INVALID
          || gemem_graph_has_attribute (model->graph,
                                        gemem_graph_node (model->graph, next)->attributes,
                                        GEMEM_ATTRIBUTE_THREAD_SCOPE_ID))
        return GEMEM_NONE;
      if (ids[next] == stream)
        return next;
      at = next;
      ++*length;
    }
  return GEMEM_NONE;
}

static void
normalise (const GeModel *model, gint64 *ids)
{
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      guint32 length, tail;

      if ((model->nodes[id].kind & GE_DATA) != 0 && ids[id] == INVALID)
        ids[id] = consumers_stream (model, ids, gemem_graph_node (model->graph, id));
      tail = walk_side_trip (model, ids, id, &length);
      if (tail == GEMEM_NONE || tail - id - 1 != length)
        continue;
      for (guint32 i = id + 1; i < tail; i++)
        ids[i] = ids[id];
    }
}

/* ---- numbering */

static int
compare_ids (const void *a, const void *b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

static gint32
number_of (const GeModel *model, gint64 id)
{
  const gint64 *found = id == INVALID ? NULL
                                      : bsearch (&id, model->streams, model->n_streams, sizeof id,
                                                 compare_ids);

  return found == NULL ? INVALID : (gint32) (found - model->streams);
}

static gboolean
number_streams (GeModel *model, const gint64 *ids, GError **error)
{
  guint32 n = 0;

  model->streams = g_new (gint64, (gsize) model->n_nodes + 1);
  for (guint32 id = 0; id < model->n_nodes; id++)
    if (ids[id] != INVALID && (n == 0 || model->streams[n - 1] != ids[id]))
      model->streams[n++] = ids[id];
  qsort (model->streams, n, sizeof (gint64), compare_ids);
  for (guint32 i = 0; i < n; i++)
    if (model->n_streams == 0 || model->streams[model->n_streams - 1] != model->streams[i])
      model->streams[model->n_streams++] = model->streams[i];
  if (model->n_streams > GE_STREAMS_MAX)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "graph '%s': stream: %u different streams; the planner takes at most %u",
                   gemem_graph_name (model->graph), model->n_streams, GE_STREAMS_MAX);
      return FALSE;
    }
  for (guint32 id = 0; id < model->n_nodes; id++)
    model->nodes[id].stream = number_of (model, ids[id]);
  return TRUE;
}

/* ---- bits and outputs */

/* 2.6: excludes the streams of merge nodes and of their consumers from the dependency tables. */
static void
mark_tainted (GeModel *model)
{
  /* [0]: the invalid stream */
  g_autofree guint8 *tainted = g_new0 (guint8, (gsize) model->n_streams + 1);

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      if ((model->nodes[id].kind & GE_MERGE) == 0)
        continue;
      tainted[model->nodes[id].stream + 1] = 1;
      for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
        for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++)
          tainted[model->nodes[gemem_graph_consumers (model->graph, t)[i].node].stream + 1] = 1;
      for (guint32 i = 0; i < node->n_successors; i++)
        tainted[model->nodes[gemem_graph_successors (model->graph, id)[i]].stream + 1] = 1;
    }
  for (guint32 id = 0; id < model->n_nodes; id++)
    model->nodes[id].kind |= tainted[model->nodes[id].stream + 1] ? GE_MERGE_TAINTED : 0;
}

/* 7.6: outputs of a subgraph's owner have the streams of the producers inside.  Inner graphs end
 * before outer ones, so ascending order is innermost first. */
static void
fill_output_streams (GeModel *model)
{
  g_autofree guint8 *seen = g_new0 (guint8, (gsize) model->n_tensors + 1);

  model->output_stream = g_new (gint32, (gsize) model->n_tensors + 1);
  for (guint32 t = 0; t < model->n_tensors; t++)
    model->output_stream[t] = model->nodes[gemem_graph_tensor (model->graph, t)->node].stream;
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);

      if ((model->nodes[id].kind & GE_NETOUTPUT) == 0)
        continue;
      for (guint32 i = 0; i < gemem_graph_node (model->graph, id)->n_inputs; i++)
        {
          const guint32 t = gemem_graph_outer_output (model->graph, id, i);

          if (t == GEMEM_NONE || inputs[i].tensor == GEMEM_NONE)
            continue;
          if (seen[t] && model->output_stream[t] != model->output_stream[inputs[i].tensor])
            model->output_stream[t] = INVALID;
          else
            model->output_stream[t] = model->output_stream[inputs[i].tensor];
          seen[t] = 1;
        }
    }
}

gboolean
gemem_ge_model_fill_streams (GeModel *model, gint64 *ids, GError **error)
{
  guint32 length;

  normalise (model, ids);
  if (!number_streams (model, ids, error))
    return FALSE;
  for (guint32 id = 0; id < model->n_nodes; id++)
    if (walk_side_trip (model, ids, id, &length) != GEMEM_NONE && length > 1)
      model->nodes[id].kind |= GE_DIFF_PRIOR;
  mark_tainted (model);
  fill_output_streams (model);
  return TRUE;
}
