/* model.c - builds the model of a graph, step by step; see model.h.
 *
 * Invariant: every field is filled before a later step reads it.  The order is GE's own: symbols,
 * in-place pairs, stream normalisation, then the values that the assigners precompute.
 * Cost: linear in nodes and edges, times the number of streams for the dependency tables.
 * Origin: ge-static.md 0.2, 1.2.
 */
#include "config.h"

#include "planners/ge/ge-private.h"
#include "planners/ge/model.h"
#include "planners/ge/stream-edges.h"

static void
fill_input_nodes (GeModel *model)
{
  const guint32 n = model->n_nodes;
  const GememNode *last = n > 0 ? gemem_graph_node (model->graph, n - 1) : NULL;

  model->n_inputs = last != NULL ? last->first_input + last->n_inputs : 0;
  model->input_node = g_new (guint32, (gsize) model->n_inputs + 1);
  for (guint32 id = 0; id < n; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        model->input_node[node->first_input + i] = id;
    }
}

GeModel *
gemem_ge_model_new (const GememGraph *graph, const GeOptions *options, GError **error)
{
  GeModel *model;
  g_autofree gint64 *streams = NULL;

  model = g_new0 (GeModel, 1);
  model->graph = graph;
  model->options = options;
  model->n_nodes = gemem_graph_n_nodes (graph);
  model->n_tensors = gemem_graph_n_tensors (graph);
  model->dynamic_root = gemem_graph_dynamic_root (graph);
  model->extend_memory = gemem_ge_options_extend (options);
  model->nodes = g_new0 (GeNode, (gsize) model->n_nodes + 1);
  gemem_ge_model_fill_kinds (model);
  fill_input_nodes (model);
  streams = gemem_ge_model_effective_streams (model);
  if (!gemem_ge_model_check_attributes (model, error))
    {
      gemem_ge_model_free (model);
      return NULL;
    }
  gemem_ge_model_fill_symbols (model, streams);
  if (!gemem_ge_model_fill_streams (model, streams, error))
    {
      gemem_ge_model_free (model);
      return NULL;
    }
  gemem_ge_model_fill_edges (model);
  gemem_ge_model_fill_lives (model);
  gemem_ge_model_fill_symbol_info (model);
  gemem_ge_model_fill_continuous (model);
  return model;
}

void
gemem_ge_model_free (GeModel *model)
{
  if (model == NULL)
    return;
  for (gsize i = 0; model->in_edges != NULL && i < (gsize) model->n_streams * model->n_streams; i++)
    g_free (model->in_edges[i].edges);
  g_free (model->in_edges);
  g_free (model->lives);
  g_free (model->life_streams);
  g_free (model->nodes);
  g_free (model->streams);
  g_free (model->labels);
  g_free (model->symbols);
  g_free (model->members);
  g_free (model->symbol_of);
  g_free (model->multi_same_out);
  g_free (model->is_reference);
  g_free (model->referenced_input);
  g_free (model->origin);
  g_free (model->input_node);
  g_free (model->output_stream);
  g_free (model->takes_nopadding);
  g_free (model->takes_padded);
  g_free (model->cascade);
  g_free (model->central_out);
  g_free (model->input_reuse);
  g_free (model->output_reuse);
  g_free (model);
}
