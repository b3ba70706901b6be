/* lower-paddle-slots.c - which tensors are no candidates for collection, which lie in fused
 * buffers, and which grow; see lower-paddle.h.
 *
 * Fed: non-persistable inputs of the program, and outputs of operators `feed` and `Data`.  Fetched:
 * inputs of `fetch` and `NetOutput`.  Origin: paddle.md 1.3, 5.2, 6.  Cost: O(nodes + edges), and
 * that of the fusion.
 */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "graphs/meaning.h"
#include "workloads/lower-paddle.h"

static gboolean
is_type (const GememNode *node, const char *a, const char *b)
{
  return strcmp (node->type, a) == 0 || strcmp (node->type, b) == 0;
}

/* ---- tensors kept to the end of the run */

static void
mark_input (const GememGraph *graph, const GememNode *node, const GememNodeInput *input,
            guint8 *slots)
{
  const guint32 slot = gemem_lower_input_slot (graph, input);
  const gboolean outside = input->tensor == GEMEM_NONE;

  if (slot != GEMEM_NONE
      && (outside || is_type (node, "fetch", "NetOutput")
          || gemem_graph_node (graph, gemem_graph_tensor (graph, input->tensor)->node)->block
                 != node->block))
    slots[slot] = GEMEM_SLOT_RUN;
}

static void
mark_run (const GememGraph *graph, guint8 *slots)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        mark_input (graph, node, &gemem_graph_inputs (graph, id)[i], slots);
      for (guint32 o = 0; o < node->n_outputs && is_type (node, "feed", "Data"); o++)
        slots[gemem_node_output_item (node, o)] = GEMEM_SLOT_RUN;
    }
}

/* ---- fused gradients */

GememFuseVersion
gemem_lower_paddle_fuse_version (const GememLowerPaddle *params)
{
  return (GememFuseVersion) (params->fuse_version - 1);
}

static GememFuseOptions
fuse_options (const GememLowerPaddle *p)
{
  GememFuseOptions options = gemem_fuse_options_default (gemem_lower_paddle_fuse_version (p));

  if (p->rules == GEMEM_RULES_DOCUMENTED)
    gemem_fuse_options_document (&options);

  if (p->fuse_parameter_memory_size > -1e299)
    options.memory_size = p->fuse_parameter_memory_size;
  if (p->fuse_parameter_groups_size > G_GINT64_CONSTANT (-4294967296))
    options.groups_size = p->fuse_parameter_groups_size;
  options.gpu = !p->cpu;
  if (p->places > 0)
    options.n_places = (guint) p->places;
  return options;
}

static void
mark_fused (const GememGraph *graph, const GArray *gradients, const GememFusion *fusion,
            guint8 *slots)
{
  const guint32 n_items = gemem_graph_n_items (graph);

  for (guint i = 0; i < fusion->members->len; i++)
    {
      const guint number = g_array_index (fusion->members, GememFuseMember, i).gradient;
      const char *name = g_array_index (gradients, GememGradient, number).grad;

      slots[n_items + gemem_graph_find_variable (graph, name)] = GEMEM_SLOT_ELSEWHERE;
    }
  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    {
      const guint32 variable = gemem_graph_tensor (graph, t)->variable;

      if (variable != GEMEM_NONE && slots[n_items + variable] == GEMEM_SLOT_ELSEWHERE)
        slots[gemem_graph_tensor_item (graph, t)] = GEMEM_SLOT_ELSEWHERE;
    }
}

static gboolean
fuse (const GememLowerPaddle *p, const GememGraph *graph, guint8 *slots, GArray *buffers,
      GPtrArray *report, GError **error)
{
  const GememFuseOptions options = fuse_options (p);
  g_autoptr (GArray) gradients = gemem_fuse_collect (graph, error);
  g_autoptr (GememFusion) fusion = NULL;

  if (gradients == NULL)
    return FALSE;
  if (gradients->len == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: fuse_all_reduce_ops: no backward operator names a gradient (op_role_var); "
                   "leave it out",
                   gemem_graph_name (graph));
      return FALSE;
    }
  fusion = gemem_fuse_gradients ((const GememGradient *) (gconstpointer) gradients->data,
                                 gradients->len, &options, error);
  if (fusion == NULL)
    return FALSE;
  for (guint i = 0; i < fusion->buffers->len; i++)
    g_array_append_val (buffers, g_array_index (fusion->buffers, GememFuseBuffer, i).bytes);
  mark_fused (graph, gradients, fusion, slots);
  if (report != NULL)
    gemem_fusion_report (fusion, (const GememGradient *) (gconstpointer) gradients->data, report);
  return TRUE;
}

guint8 *
gemem_lower_paddle_slots (const GememLowerPaddle *params, const GememGraph *graph, GArray *buffers,
                          GPtrArray *report, GError **error)
{
  g_autofree guint8 *slots = g_new0 (guint8, (gsize) gemem_graph_n_items (graph)
                                                 + gemem_graph_n_variables (graph) + 1);

  mark_run (graph, slots);
  if (params->fuse_all_reduce_ops && !fuse (params, graph, slots, buffers, report, error))
    return NULL;
  return g_steal_pointer (&slots);
}

/* ---- growth */

typedef struct
{
  guint64 need, held;       /* bytes: need of this version; held by earlier versions */
  guint32 moment, variable; /* where this version began; the variable that was written */
} Version;

static void
end_version (GArray *growth, guint32 storage, Version *version)
{
  const GememGrowth more = { version->held > 0 ? version->moment : 0, storage, version->need };

  if (version->need > version->held)
    {
      g_array_append_val (growth, more);
      version->held = version->need;
    }
  version->need = 0;
}

static gboolean
reads (const GememLower *lower, const GememNode *node, guint32 id, guint32 storage)
{
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 slot = gemem_lower_input_slot (lower->graph,
                                                   &gemem_graph_inputs (lower->graph, id)[i]);
      if (slot != GEMEM_NONE && lower->storage_of[slot] == storage)
        return TRUE;
    }
  return FALSE;
}

/* A node that writes a variable without reading its memory begins a new version. */
static void
visit (const GememLower *lower, guint32 id, Version *versions, GArray *growth)
{
  const GememNode *node = gemem_graph_node (lower->graph, id);

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const guint32 item = gemem_node_output_item (node, o), storage = lower->storage_of[item];
      const guint32 variable = gemem_graph_tensor (lower->graph, node->first_output + o)->variable;
      Version *version = storage != GEMEM_NONE ? &versions[storage] : NULL;

      if (version == NULL)
        continue;
      if (version->need > 0 && variable != GEMEM_NONE && variable == version->variable
          && version->moment != id + 1 && !reads (lower, node, id, storage))
        end_version (growth, storage, version);
      if (version->need == 0)
        *version = (Version){ 0, version->held, id + 1, variable };
      version->need = MAX (version->need, gemem_lower_item_size (lower->graph, node, item));
    }
}

static int
compare_growth (gconstpointer a, gconstpointer b)
{
  const GememGrowth *x = a, *y = b;

  if (x->moment != y->moment)
    return x->moment < y->moment ? -1 : 1;
  return x->storage < y->storage ? -1 : x->storage > y->storage;
}

GArray *
gemem_lower_paddle_growth (const GememLower *lower)
{
  const guint32 n = lower->storages->len, n_items = gemem_graph_n_items (lower->graph);
  g_autofree Version *versions = g_new0 (Version, (gsize) n + 1);
  GArray *growth = g_array_new (FALSE, FALSE, sizeof (GememGrowth));

  for (guint32 v = 0; v < gemem_graph_n_variables (lower->graph); v++)
    {
      const guint32 storage = lower->storage_of[n_items + v];
      if (storage != GEMEM_NONE
          && gemem_lower_storage (lower, storage)->id
                 == (guint64) n_items + v + 1) /* an input of the program */
        versions[storage] = (Version){ gemem_lower_storage (lower, storage)->kept
                                           ? gemem_lower_storage (lower, storage)->size
                                           : gemem_graph_variable (lower->graph, v)->size,
                                       0, 0, v };
    }
  for (guint32 id = 0; id < gemem_graph_n_nodes (lower->graph); id++)
    if (gemem_lower_runs (lower->skipped, id))
      visit (lower, id, versions, growth);
  for (guint32 i = 0; i < n; i++)
    end_version (growth, i, &versions[i]);
  g_array_sort (growth, compare_growth);
  return growth;
}
