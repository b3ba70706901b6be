/* buffer-shared.c - planner `paddle-buffer-shared-pass`: buffer_shared_inplace_pass and
 * buffer_shared_cross_op_memory_reuse_pass, PaddlePaddle 1.6 and later.
 *
 * Rules (paddle.md 8.5).  After the in-place pass, operators of the global block are visited in
 * breadth-first topological order (data and control edges; equals by planning order).  An output
 * may share if it is the first version of its name, a dense tensor of more than 0 bytes, not
 * persistable, once among the outputs, not an input, and not yet sharing.  It takes the newest dead
 * variable of exactly its bytes that is not taken yet and that the operator does not touch; element
 * types may differ.  A variable is dead when the last operator that touches it was visited.
 * Variables that die at one operator are pushed in the order of the program's variables
 * (unspecified in PaddlePaddle).
 *
 * The pass adds dependencies where it relies on its own order.  A plan keeps the graph's own order,
 * so a dead variable is taken only if all its uses are known to be over without new dependencies
 * (gemem_paddle_is_over()).
 *
 * Cost: O(nodes + edges), and one step per dead variable of the same bytes that is passed over.
 * Origin: paddle.md 8.5.
 */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "planners/paddle/inplace.h"
#include "planners/paddle/passes.h"
#include "planners/paddle/skip.h"

typedef struct
{
  PaddleSharing *sharing;
  guint8 *foreign;
  guint32 *n_left;  /* per variable: operators that touch it and are not visited yet */
  GHashTable *dead; /* bytes -> 1 + the newest dead variable of that size */
  guint32 *older;   /* per dead variable: 1 + the next older one of the same size; 0: none */
} Pass;

/* ---- breadth first */

static void
arrive (const GememGraph *graph, guint32 *n_waiting, guint32 from, guint32 to, GArray *queue)
{
  if (to > from && gemem_graph_node (graph, to)->block == 0 && --n_waiting[to] == 0)
    g_array_append_val (queue, to);
}

static void
count_edges (const GememGraph *graph, guint32 id, guint32 *n_waiting)
{
  const GememNode *node = gemem_graph_node (graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (graph, id)[i].tensor;
      const guint32 from = tensor != GEMEM_NONE ? gemem_graph_tensor (graph, tensor)->node
                                                : GEMEM_NONE;

      n_waiting[id] += from < id && gemem_graph_node (graph, from)->block == 0;
    }
  for (guint32 i = 0; i < node->n_controls; i++)
    {
      const guint32 from = gemem_graph_controls (graph, id)[i];

      n_waiting[id] += from < id && gemem_graph_node (graph, from)->block == 0;
    }
}

/* The nodes of the global block in breadth-first order.  Edges against the planning order leave a
 * NextIteration and are ignored. */
static GArray *
breadth_first (const GememGraph *graph)
{
  GArray *queue = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree guint32 *n_waiting = g_new0 (guint32, (gsize) gemem_graph_n_nodes (graph) + 1);

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      if (gemem_graph_node (graph, id)->block == 0)
        count_edges (graph, id, n_waiting);
      if (gemem_graph_node (graph, id)->block == 0 && n_waiting[id] == 0)
        g_array_append_val (queue, id);
    }
  for (guint i = 0; i < queue->len; i++)
    {
      const guint32 id = g_array_index (queue, guint32, i);
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
        for (guint32 c = 0; c < gemem_graph_tensor (graph, t)->n_consumers; c++)
          arrive (graph, n_waiting, id, gemem_graph_consumers (graph, t)[c].node, queue);
      for (guint32 s = 0; s < node->n_successors; s++)
        arrive (graph, n_waiting, id, gemem_graph_successors (graph, id)[s], queue);
    }
  return queue;
}

/* ---- sharing */

static gboolean
may_take (const Pass *pass, guint32 id, guint32 out)
{
  const PaddleSharing *sharing = pass->sharing;

  return gemem_paddle_is_shareable (sharing->program, out, pass->foreign) && !sharing->took[out]
         && sharing->n_writes[out] == 1 && sharing->n_reads[out] == 0
         && gemem_paddle_is_first (sharing->touches, out, id);
}

static gboolean
is_pair (const Pass *pass, guint32 id, guint32 in, guint32 out)
{
  const PaddleProgram *program = pass->sharing->program;

  return gemem_paddle_variable (program, in)->space == gemem_paddle_variable (program, out)->space
         && gemem_paddle_is_over (pass->sharing->touches, in, id) && pass->sharing->n_reads[in] == 0
         && pass->sharing->n_writes[in] == 0;
}

/* Shares the newest dead variable that fits with @out and removes it from its list. */
static void
serve (Pass *pass, guint32 id, guint32 out)
{
  const guint64 bytes = gemem_paddle_variable (pass->sharing->program, out)->bytes;
  guint32 newest = GPOINTER_TO_UINT (g_hash_table_lookup (pass->dead, &bytes));
  guint32 *link = &newest;

  while (*link != 0 && !is_pair (pass, id, *link - 1, out))
    link = &pass->older[*link - 1];
  if (*link == 0)
    return;
  gemem_paddle_share (pass->sharing, id, *link - 1, out);
  *link = pass->older[*link - 1];
  g_hash_table_insert (pass->dead,
                       (gpointer) &gemem_paddle_variable (pass->sharing->program, out)->bytes,
                       GUINT_TO_POINTER (newest));
}

static void
add_dead (Pass *pass, guint32 variable)
{
  const guint64 *bytes = &gemem_paddle_variable (pass->sharing->program, variable)->bytes;

  if (pass->sharing->gave[variable]
      || !gemem_paddle_is_shareable (pass->sharing->program, variable, pass->foreign))
    return;
  pass->older[variable] = GPOINTER_TO_UINT (g_hash_table_lookup (pass->dead, bytes));
  g_hash_table_insert (pass->dead, (gpointer) bytes, GUINT_TO_POINTER (variable + 1));
}

/* Counts one visited operator off each variable of @touched (ascending, with repeats). */
static void
count_down (Pass *pass, const GArray *touched)
{
  for (guint i = 0; i < touched->len; i++)
    {
      const guint32 variable = g_array_index (touched, guint32, i);

      if ((i == 0 || g_array_index (touched, guint32, i - 1) != variable)
          && --pass->n_left[variable] == 0)
        add_dead (pass, variable);
    }
}

static void
visit (Pass *pass, guint32 id, GArray *touched)
{
  const PaddleProgram *program = pass->sharing->program;
  const GememNode *node = gemem_graph_node (program->graph, id);
  const guint32 *reads = gemem_paddle_reads (program, id),
                *writes = gemem_paddle_writes (program, id);

  gemem_paddle_count_node (pass->sharing, id, 1);
  for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
    if (writes[i] != GEMEM_NONE && may_take (pass, id, writes[i]))
      serve (pass, id, writes[i]);
  gemem_paddle_count_node (pass->sharing, id, -1);
  g_array_set_size (touched, 0);
  for (guint32 i = 0; i < node->n_inputs; i++)
    if (reads[i] != GEMEM_NONE)
      g_array_append_val (touched, reads[i]);
  for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
    if (writes[i] != GEMEM_NONE)
      g_array_append_val (touched, writes[i]);
  g_array_sort (touched, gemem_compare_uint32);
  count_down (pass, touched);
}

static void
share_across_operators (PaddleSharing *sharing)
{
  const PaddleProgram *program = sharing->program;
  const gsize n = (gsize) program->n_variables + 1;
  g_autoptr (GArray) lists = gemem_paddle_lists (program, FALSE);
  g_autoptr (GArray) order = breadth_first (program->graph);
  g_autoptr (GArray) touched = g_array_new (FALSE, FALSE, sizeof (guint32));
  Pass pass = { sharing, g_new0 (guint8, n), g_memdup2 (sharing->touches->n, sizeof (guint32) * n),
                g_hash_table_new (g_int64_hash, g_int64_equal), g_new0 (guint32, n) };

  gemem_paddle_skip_foreign (program, lists, FALSE, pass.foreign);
  for (guint i = 0; i < order->len; i++)
    visit (&pass, g_array_index (order, guint32, i), touched);
  g_free (pass.foreign);
  g_free (pass.n_left);
  g_hash_table_unref (pass.dead);
  g_free (pass.older);
}

PaddleRewrite *
gemem_paddle_buffer_shared (const PaddleProgram *program, const PaddleBufferShared *settings)
{
  static const PaddleInplace inplace = { .version = PADDLE_INPLACE_1_6 };
  PaddleRewrite *rewrite = gemem_paddle_rewrite_new (program);
  PaddleSharing sharing;

  gemem_paddle_sharing_init (&sharing, program);
  if (settings->enable_inplace)
    gemem_paddle_inplace (&sharing, &inplace, rewrite);
  if (settings->memory_optimize)
    share_across_operators (&sharing);
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    gemem_paddle_rewrite_node (program, &sharing.names, id, rewrite);
  g_array_append_vals (rewrite->renames, sharing.renames->data, sharing.renames->len);
  gemem_paddle_sharing_clear (&sharing);
  return rewrite;
}

/* ---- the planner */

static GememPlan *
plan (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const PaddleBufferShared *settings = params;
  g_autoptr (PaddleProgram)
      program = gemem_paddle_program_begin (input, settings->alignment, error);

  return program != NULL
             ? gemem_paddle_rewrite_plan (program, gemem_paddle_buffer_shared (program, settings),
                                          "paddle-buffer-shared-pass", settings->alignment)
             : NULL;
}

static const GememParam params[] = {
  { .name = "enable_inplace",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (PaddleBufferShared, enable_inplace),
    .help = "BuildStrategy.enable_inplace: the in-place pass before it." },
  { .name = "memory_optimize",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (PaddleBufferShared, memory_optimize),
    .help = "BuildStrategy.memory_optimize: the cross-operator pass." },
  PADDLE_ALIGNMENT_PARAM (PaddleBufferShared),
  { NULL },
};

const GememPlanner gemem_planner_paddle_buffer_shared = {
  .base = { .name = "paddle-buffer-shared-pass",
            .summary =
                "PaddlePaddle's buffer sharing (1.6 and later), in place and across operators",
            .origin = "paddle.md 8.5",
            .params = params,
            .params_size = sizeof (PaddleBufferShared) },
  .capabilities = GEMEM_PLANNER_GRAPH,
  .alignment = PADDLE_ALIGNMENT,
  .plan = plan,
  .item_bytes = 400,
};
