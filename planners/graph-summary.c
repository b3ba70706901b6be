/* graph-summary.c - see graph-summary.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/convert.h"
#include "planners/graph-summary.h"

static void
count_group (GArray *groups, GHashTable *index, gpointer key, GememGraphGroup group)
{
  gpointer at;

  if (!g_hash_table_lookup_extended (index, key, NULL, &at))
    {
      at = GUINT_TO_POINTER (groups->len);
      g_array_append_val (groups, group);
      g_hash_table_insert (index, key, at);
    }
  g_array_index (groups, GememGraphGroup, GPOINTER_TO_UINT (at)).nodes++;
}

static int
compare_streams (gconstpointer a, gconstpointer b)
{
  const GememGraphGroup *x = a, *y = b;

  return (x->stream > y->stream) - (x->stream < y->stream);
}

static void
count_attributes (GememGraphSummary *summary, const GememGraph *graph, GememAttributes attributes)
{
  for (guint32 i = 0; i < attributes.n; i++)
    summary->attributes[gemem_graph_attribute_at (graph, attributes, i)]++;
}

static void
count_node (GememGraphSummary *summary, const GememGraph *graph, guint32 id)
{
  const GememNode *node = gemem_graph_node (graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (graph, id);

  summary->inputs += node->n_inputs;
  summary->controls += node->n_controls;
  for (guint32 i = 0; i < node->n_inputs; i++)
    summary->unconnected += inputs[i].tensor == GEMEM_NONE && inputs[i].variable == GEMEM_NONE;
  for (guint32 i = 0; i < node->n_workspaces; i++)
    summary->workspace_bytes += gemem_graph_workspace (graph, id, i);
  count_attributes (summary, graph, node->attributes);
}

static void
count_parts (GememGraphSummary *summary, const GememGraph *graph)
{
  g_autoptr (GHashTable) streams = g_hash_table_new (g_int64_hash, g_int64_equal),
                         labels = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      count_node (summary, graph, id);
      count_group (summary->streams, streams, (gpointer) &node->stream,
                   (GememGraphGroup){ NULL, node->stream, 0 });
      if (*node->batch_label != '\0')
        count_group (summary->labels, labels, (gpointer) node->batch_label,
                     (GememGraphGroup){ node->batch_label, 0, 0 });
    }
  g_array_sort (summary->streams, compare_streams);
  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (graph, t);

      summary->tensor_bytes += tensor->size;
      summary->unused += tensor->n_consumers == 0;
      count_attributes (summary, graph, tensor->attributes);
    }
  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    {
      const GememVariable *variable = gemem_graph_variable (graph, v);

      summary->variable_bytes += variable->size;
      summary->persistable_bytes += variable->persistable ? variable->size : 0;
    }
}

/* ---- lifetimes */

static void
measure_live (GememGraphSummary *summary, guint32 n_nodes)
{
  const GArray *items = summary->lifetimes->items;
  guint64 *live;

  /* stores differences first: they may wrap, but their sums do not */
  g_array_set_size (summary->live, n_nodes + 1);
  live = (guint64 *) (gpointer) summary->live->data;
  memset (live, 0, sizeof *live * summary->live->len);
  for (guint i = 0; i < items->len; i++)
    {
      const GememLifetime *life = &g_array_index (items, GememLifetime, i);

      live[MIN (life->begin, n_nodes)] += life->size;
      live[MIN (life->end, n_nodes)] -= life->size;
    }
  for (guint32 id = 1; id < n_nodes; id++)
    {
      live[id] += live[id - 1];
      if (live[id] > live[summary->peak])
        summary->peak = id;
    }
  g_array_set_size (summary->live, n_nodes);
}

static void
find_largest (GememGraphSummary *summary, const GememGraph *graph, const GememPlanPlace *places)
{
  for (guint32 i = 0; i < gemem_graph_n_items (graph); i++)
    {
      const GememGraphLarge item = { i, gemem_graph_item (graph, i).size, places[i].lifetime };
      guint at = summary->n_largest;

      while (at > 0 && summary->largest[at - 1].size < item.size)
        at--;
      if (item.size == 0 || at == GEMEM_GRAPH_LARGEST)
        continue;
      summary->n_largest = MIN (summary->n_largest + 1, GEMEM_GRAPH_LARGEST);
      memmove (&summary->largest[at + 1], &summary->largest[at],
               sizeof item * (summary->n_largest - 1 - at));
      summary->largest[at] = item;
    }
}

GememGraphSummary *
gemem_graph_summarise (const GememGraph *graph)
{
  GememGraphSummary *summary = g_new0 (GememGraphSummary, 1);
  g_autofree GememPlanPlace *places = NULL;

  summary->streams = g_array_new (FALSE, FALSE, sizeof (GememGraphGroup));
  summary->labels = g_array_new (FALSE, FALSE, sizeof (GememGraphGroup));
  summary->live = g_array_new (FALSE, FALSE, sizeof (guint64));
  count_parts (summary, graph);
  summary->lifetimes = gemem_graph_lifetimes (graph, &places);
  summary->lower_bound = gemem_lifetimes_lower_bound (summary->lifetimes, 1);
  summary->lower_bound_512 = gemem_lifetimes_lower_bound (summary->lifetimes, 512);
  measure_live (summary, gemem_graph_n_nodes (graph));
  find_largest (summary, graph, places);
  return summary;
}

void
gemem_graph_summary_free (GememGraphSummary *summary)
{
  g_array_unref (summary->streams);
  g_array_unref (summary->labels);
  g_array_unref (summary->live);
  gemem_lifetimes_free (summary->lifetimes);
  g_free (summary);
}
