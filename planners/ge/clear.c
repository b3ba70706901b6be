/* clear.c - memory that one memset at the head of the graph clears: it lies together behind the
 * feature map and the buffer pools, and is never shared.
 *
 * GE orders some nodes by the addresses of their objects; here node ids decide.  Cleared nodes that
 * no memset node controls come last.
 * Cost: linear in the nodes and control edges, for each label.  Origin: ge-static.md 6.1, 6.2.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

static const gint64 *
cleared_workspaces (const GeModel *model, guint32 id, guint *n)
{
  *n = 0;
  if (model->nodes[id].kind & GE_GENTASK_ATOMIC)
    return NULL;
  return gemem_graph_ints (model->graph, gemem_graph_node (model->graph, id)->attributes,
                           GEMEM_ATTRIBUTE_SUB_NODE_WORKSPACE_INFO, n);
}

/* ---- 6.1 */

gboolean
gemem_ge_clear_is_central (GeAssigner *a, const GeRequest *request)
{
  const GeModel *model = a->model;
  const guint32 kind = model->nodes[request->node].kind, tensor = ge_request_tensor (a, request);
  guint n;
  const gint64 *indexes;

  if ((kind & (GE_ATOMIC | GE_GENTASK_ATOMIC)) != GE_ATOMIC || request->continuous
      || (kind & (GE_PADDED_OUT | GE_RAW_NOPADDING_OUT)) != 0)
    return FALSE;
  indexes = gemem_graph_ints (model->graph,
                              gemem_graph_node (model->graph, request->node)->attributes,
                              GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX, &n);
  for (guint i = 0; i < n; i++)
    if (indexes[i] == request->index
        && !gemem_ge_is_zero_copy (model, request->node, request->index, FALSE, request->noalign))
      {
        a->cleared[tensor] = GE_CLEARED_WANTED;
        return TRUE;
      }
  return FALSE;
}

gboolean
gemem_ge_clear_is_central_workspace (const GeModel *model, guint32 node, guint32 workspace)
{
  guint n;
  const gint64 *info = cleared_workspaces (model, node, &n);

  for (guint i = 0; i + 1 < n; i += 2)
    if (info[i] == workspace)
      return TRUE;
  return FALSE;
}

/* ---- 6.2 */

static void
place_cleared_outputs (GeAssigner *a, guint32 id)
{
  const GeModel *model = a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  guint n;
  const gint64 *indexes = gemem_graph_ints (model->graph, node->attributes,
                                            GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX, &n);

  for (guint i = 0; i < n; i++)
    {
      const guint32 tensor = indexes[i] >= 0 && indexes[i] < node->n_outputs
                                 ? node->first_output + (guint32) indexes[i]
                                 : GEMEM_NONE;
      GeSpace space;

      if (tensor == GEMEM_NONE || a->cleared[tensor] != GE_CLEARED_WANTED)
        continue;
      space = gemem_ge_space_of_type (model->symbols[model->symbol_of[tensor]].type);
      gemem_ge_place_output (a, tensor, a->counters[space], (guint8) space,
                             gemem_ge_tensor_size (model, tensor));
      a->counters[space] = ge_align (a->counters[space] + gemem_ge_tensor_size (model, tensor));
      a->cleared[tensor] = GE_CLEARED_PLACED;
    }
}

static gint
compare_workspaces (gconstpointer x, gconstpointer y)
{
  const gint64 *a = x, *b = y;

  return a[0] < b[0] ? -1 : a[0] > b[0];
}

/* In order of their indexes; the sizes come from the attribute. */
static void
place_cleared_workspaces (GeAssigner *a, guint32 id)
{
  const GememNode *node = gemem_graph_node (a->model->graph, id);
  guint n;
  const gint64 *info = cleared_workspaces (a->model, id, &n);
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, 2 * sizeof (gint64));
  guint64 *counter = &a->counters[GE_SPACE_HBM];

  g_array_append_vals (pairs, info, n / 2);
  g_array_sort (pairs, compare_workspaces);
  for (guint i = 0; i < pairs->len; i++)
    {
      const gint64 *pair = (const gint64 *) (gpointer) pairs->data + 2 * i;

      if (pair[0] < 0 || pair[0] >= node->n_workspaces || pair[1] <= 0
          || (i > 0 && pair[0] == pair[-2]))
        continue;
      gemem_ge_place_item (a, gemem_node_workspace_item (node, (guint32) pair[0]), *counter,
                           GE_SPACE_HBM, (guint64) pair[1]);
      *counter = ge_align (*counter + (guint64) pair[1]);
    }
}

typedef struct
{
  GeAssigner *a;
  gint32 label;
  guint8 *placed; /* per node */
} Walk;

static void
place_cleared (Walk *walk, guint32 id)
{
  const GeNode *node = &walk->a->model->nodes[id];

  if (walk->placed[id] || node->label != walk->label || (node->kind & GE_GENTASK_ATOMIC) != 0)
    return;
  walk->placed[id] = TRUE;
  if (node->kind & GE_ATOMIC)
    place_cleared_outputs (walk->a, id);
  place_cleared_workspaces (walk->a, id);
}

/* Places the nodes of one label: those that each memset node controls, then the rest. */
static void
place_label (Walk *walk)
{
  const GeModel *model = walk->a->model;

  for (guint32 id = 0; id < model->n_nodes; id++)
    for (guint32 i = 0; (model->nodes[id].kind & GE_MEMSET) != 0
                        && i < gemem_graph_node (model->graph, id)->n_successors;
         i++)
      place_cleared (walk, gemem_graph_successors (model->graph, id)[i]);
  for (guint32 id = 0; id < model->n_nodes; id++)
    place_cleared (walk, id);
}

/* [QUIRK] the labels are stacked; without quirks they overlay each other behind the unlabelled
 * nodes. */
void
gemem_ge_clear_place (GeAssigner *a)
{
  g_autofree guint8 *placed = g_new0 (guint8, (gsize) a->model->n_nodes + 1);
  Walk walk = { a, 0, placed };
  guint64 start[GE_N_SPACES], most[GE_N_SPACES];

  place_label (&walk);
  memcpy (start, a->counters, sizeof start);
  memcpy (most, a->counters, sizeof most);
  for (walk.label = 1; walk.label < (gint32) a->model->n_labels; walk.label++)
    {
      place_label (&walk);
      for (guint i = 0; i < GE_N_SPACES; i++)
        {
          most[i] = MAX (most[i], a->counters[i]);
          a->counters[i] = a->model->options->quirks ? a->counters[i] : start[i];
        }
    }
  memcpy (a->counters, most, sizeof most);
}
