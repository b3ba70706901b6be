/* optimize-pass.c - planner `paddle-memory-optimize-pass`: memory_optimize_pass of BuildStrategy,
 * PaddlePaddle 1.4 and 1.5.
 *
 * Rules (paddle.md 8.4).  Operators of the global block are visited in planning order.  An output
 * takes the memory of the first entry of the pool with equal type, batch class and NodeSize (exact
 * sizes only); an entry of the output's own name is passed over.  The pool has dynamic batches
 * before static shapes; a new entry goes to the front of its part, behind leading entries equal to
 * it (so the part is not sorted).  A renamed name enters the pool when its first variable is dead.
 *
 * When a dead name is written again, the real pass continues with stale names in its sets and
 * breaks the program; there its result may differ.
 *
 * Beyond the text: variables that operators of another block touch do not enter the pool.  The
 * first %s of the printed line is assumed to be a counter from 0 on.
 *
 * Cost: O(1) when no entry of the size is in the pool, else one comparison per entry before it; 4
 * bytes moved per entry behind it.
 * Origin: paddle.md 8.4.
 */
#include "config.h"

#include <string.h>

#include "planners/paddle/node-size.h"
#include "planners/paddle/passes.h"
#include "planners/paddle/skip.h"
#include "planners/paddle/walk.h"

/* State of the pool of this pass, besides its order. */
typedef struct
{
  const PaddleOptimizePass *settings;
  guint32 n_dynamic; /* entries of dynamic batch, which come first */
  guint8 *foreign;   /* per variable: touched from other blocks */
} Pass;

/* Compares by type, batch class, NodeSize. */
static int
compare_classes (gconstpointer a, gconstpointer b)
{
  const PaddleVariable *x = *(const PaddleVariable *const *) a,
                       *y = *(const PaddleVariable *const *) b;
  const guint64 size_x = gemem_paddle_node_size (x), size_y = gemem_paddle_node_size (y);

  if (x->type != y->type)
    return x->type < y->type ? -1 : 1;
  if (gemem_paddle_is_dynamic (x) != gemem_paddle_is_dynamic (y))
    return gemem_paddle_is_dynamic (x) ? -1 : 1;
  return size_x < size_y ? -1 : size_x > size_y;
}

/* ---- the rules */

static gboolean
skips (const PaddleWalk *walk, guint32 node)
{
  const Pass *pass = walk->settings;

  return gemem_graph_node (walk->program->graph, node)->n_blocks > 0
         && !pass->settings->enable_subgraph_optimize;
}

static gboolean
may_take (const PaddleWalk *walk, guint32 node, guint32 name)
{
  const Pass *pass = walk->settings;

  (void) node;
  return !walk->skip[name] && !pass->foreign[name]
         && gemem_paddle_is_reusable (walk->program, name, pass->settings->place);
}

static gboolean
may_give (const PaddleWalk *walk, guint32 node, guint32 name)
{
  const Pass *pass = walk->settings;

  (void) node;
  return !pass->foreign[name]
         && gemem_paddle_is_reusable (walk->program, name, pass->settings->place);
}

static guint32
find (PaddleWalk *walk, guint32 node, guint32 name)
{
  Pass *pass = walk->settings;
  const guint32 *pool = (const guint32 *) (gconstpointer) walk->pool->data;
  g_autofree char *from = NULL, *to = NULL;
  guint32 k = 0;

  (void) node;
  if (walk->n_pooled[walk->class[name]] == 0)
    return GEMEM_NONE;
  while (k < walk->pool->len && (walk->class[pool[k]] != walk->class[name] || pool[k] == name))
    k++;
  if (k == walk->pool->len)
    return GEMEM_NONE;
  from = gemem_paddle_shape_text (gemem_paddle_variable (walk->program, name), ",");
  to = gemem_paddle_shape_text (gemem_paddle_variable (walk->program, pool[k]), ",");
  gemem_paddle_log (walk->rewrite, "!!! %u,  %s => %s, cache idx %u, pool size %u", walk->counter++,
                    from, to, k, walk->pool->len);
  pass->n_dynamic -= gemem_paddle_is_dynamic (gemem_paddle_variable (walk->program, name)) ? 1 : 0;
  return k;
}

static guint32
place (PaddleWalk *walk, guint32 name)
{
  Pass *pass = walk->settings;
  const gboolean dynamic = gemem_paddle_is_dynamic (gemem_paddle_variable (walk->program, name));
  const guint32 *pool = (const guint32 *) (gconstpointer) walk->pool->data;
  guint32 k = dynamic ? 0 : pass->n_dynamic;

  while (k < walk->pool->len && walk->class[pool[k]] == walk->class[name])
    k++;
  pass->n_dynamic += dynamic ? 1 : 0;
  return k;
}

static const PaddleRules rules = { skips, may_take, may_give, find, place, TRUE, FALSE, FALSE };

PaddleRewrite *
gemem_paddle_optimize_pass (const PaddleProgram *program, const PaddleOptimizePass *settings)
{
  PaddleRewrite *rewrite = gemem_paddle_rewrite_new (program);
  Pass pass = { settings, 0, g_new0 (guint8, (gsize) program->n_variables + 1) };
  g_autoptr (PaddleWalk)
      walk = gemem_paddle_walk_new (program, rewrite, &rules, compare_classes, &pass);
  g_autoptr (GArray) lists = gemem_paddle_lists (program, FALSE);

  gemem_paddle_skip_for_passes (program, walk->skip);
  gemem_paddle_skip_foreign (program, lists, FALSE, pass.foreign);
  gemem_paddle_walk_list (walk, 0, &g_array_index (lists, PaddleList, 0));
  g_free (pass.foreign);
  return rewrite;
}

/* ---- the planner */

static GememPlan *
plan (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const PaddleOptimizePass *settings = params;
  g_autoptr (PaddleProgram)
      program = gemem_paddle_program_begin (input, settings->alignment, error);

  return program != NULL
             ? gemem_paddle_rewrite_plan (program, gemem_paddle_optimize_pass (program, settings),
                                          "paddle-memory-optimize-pass", settings->alignment)
             : NULL;
}

static const GememParam params[] = {
  PADDLE_PLACE_PARAM (PaddleOptimizePass),
  { .name = "enable_subgraph_optimize",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (PaddleOptimizePass, enable_subgraph_optimize),
    .help = "Operators with sub-blocks give and take too." },
  PADDLE_ALIGNMENT_PARAM (PaddleOptimizePass),
  { NULL },
};

const GememPlanner gemem_planner_paddle_optimize_pass = {
  .base = { .name = "paddle-memory-optimize-pass",
            .summary = "PaddlePaddle's memory_optimize_pass (1.4, 1.5): reuse among equal sizes",
            .origin = "paddle.md 8.4",
            .params = params,
            .params_size = sizeof (PaddleOptimizePass) },
  .capabilities = GEMEM_PLANNER_GRAPH,
  .alignment = PADDLE_ALIGNMENT,
  .plan = plan,
  .item_bytes = 400,
};
