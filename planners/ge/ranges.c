/* ranges.c - the size classes of the GE strategies (ge-static.md 3.1, 3.2).
 *
 * Without ranges a block has the size of its tensor, rounded up; with ranges, the size of the first
 * range that holds the tensor.
 */
#include "config.h"

#include "base/compare.h"
#include "planners/ge/anchors.h"
#include "planners/ge/library.h"
#include "planners/ge/state.h"

/* 3.1: the sizes of the unlabelled nodes and of the label with the largest total, ascending,
 * without zeros. */
static GArray *
collect_sizes (const GeModel *model)
{
  g_autofree guint64 *totals = g_new0 (guint64, model->n_labels);
  GArray *sizes = g_array_new (FALSE, FALSE, sizeof (guint64));
  gint32 largest = 0;
  guint zeros = 0;

  for (int pass = 0; pass < 2; pass++)
    {
      for (guint32 i = 0; i < model->n_nodes; i++)
        {
          const GememNode *node = gemem_graph_node (model->graph, i);
          const gint32 label = model->nodes[i].label;

          if (pass == 1 && label != 0 && label != largest)
            continue;
          for (guint32 k = 0; k < node->n_outputs + node->n_workspaces; k++)
            {
              guint64 size;

              if (k < node->n_outputs && (model->nodes[i].kind & GE_ZERO_MEMORY) != 0)
                continue;
              size = k < node->n_outputs
                         ? gemem_ge_tensor_size (model, node->first_output + k)
                         : gemem_graph_workspace (model->graph, i, k - node->n_outputs);
              if (pass == 0)
                totals[label] += size;
              else
                g_array_append_val (sizes, size);
            }
        }
      for (guint i = 1; i < model->n_labels && pass == 0; i++)
        if (totals[i] > 0 && (largest == 0 || totals[i] > totals[largest]))
          largest = (gint32) i;
    }
  if (sizes->len == 0)
    {
      const guint64 least = GE_ALIGN;
      g_array_append_val (sizes, least);
    }
  g_array_sort (sizes, gemem_compare_uint64);
  while (zeros < sizes->len && g_array_index (sizes, guint64, zeros) == 0)
    zeros++;
  return g_array_remove_range (sizes, 0, zeros);
}

GArray *
gemem_ge_strategy_ranges (const GeModel *model, const GeStrategy *strategy)
{
  GArray *ranges = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GArray) sizes = NULL;

  if (!strategy->use_range)
    return ranges;
  sizes = collect_sizes (model);
  if (sizes->len > 0 && strategy->single_range)
    g_array_append_val (ranges, g_array_index (sizes, guint64, sizes->len - 1));
  else if (sizes->len > 0)
    gemem_ge_binary_ranges ((const guint64 *) (gconstpointer) sizes->data, sizes->len, ranges);
  return ranges;
}
