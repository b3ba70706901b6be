/* memory-optimize.c - planner `paddle-memory-optimize`: the Python transpiler
 * fluid.memory_optimize() of PaddlePaddle 0.x - 1.4.
 *
 * Rules (paddle.md 8.1, 8.2, 13.2).  Lists: the global block, then matched sub-blocks (lists.c).
 * An output takes the memory of the first entry of the pool with equal element type and matching
 * shape: level 0 the same shape; level 1 both or neither with dynamic batch, and no fewer elements.
 * Order of the pool in era 1.3: dynamic batches before static shapes, then ascending by elements,
 * equal ones by arrival.  In 1.0 to 1.2: the order in which variables die, including variables that
 * no operator writes (with rules=documented always: the manual's example reuses one).  A variable
 * that took memory returns to the pool under the name and with the shape of that memory.
 *
 * Beyond the text: a variable that operators of two lists touch is skipped, as if the operator that
 * owns the block listed it (skip.c).
 *
 * The real transpiler overlooks that a dead variable is written again later.  Where it would lose a
 * value, the plan differs from its result (layout.c).
 *
 * Cost: O(log pool) to find an entry of the right size, then one step per entry of another element
 * type or shape; with print_log, and in era 1.2, one step per entry before the one taken.  Level 0:
 * O(1) where no shape is equal.  Origin: paddle.md 8.1, 8.2.
 */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "planners/paddle/passes.h"
#include "planners/paddle/skip.h"
#include "planners/paddle/walk.h"

static const PaddleMemoryOptimize *
settings_of (const PaddleWalk *walk)
{
  return walk->settings;
}

static gboolean
is_old (const PaddleWalk *walk)
{
  return gemem_paddle_is_old_era (settings_of (walk)->era);
}

static const PaddleVariable *
entry (const PaddleWalk *walk, guint32 index)
{
  return gemem_paddle_variable (walk->program, g_array_index (walk->pool, guint32, index));
}

/* ---- which variables may share */

static gboolean
is_found (const PaddleWalk *walk, guint32 node, const PaddleVariable *variable)
{
  return gemem_paddle_is_found (walk->program, node, walk->position >= walk->forward, variable);
}

static gboolean
is_valid (const PaddleWalk *walk, guint32 node, guint32 name)
{
  return !walk->skip[name]
         && gemem_paddle_is_valid (walk->program, node, walk->position >= walk->forward, name);
}

static gboolean
may_give (const PaddleWalk *walk, guint32 node, guint32 name)
{
  return is_valid (walk, node, name)
         && (is_old (walk) || settings_of (walk)->rules == GEMEM_RULES_DOCUMENTED
             || walk->written[name]);
}

static gboolean
skips (const PaddleWalk *walk, guint32 node)
{
  return gemem_paddle_owns_list (gemem_graph_node (walk->program->graph, node), is_old (walk));
}

/* ---- the pool */

/* Order of era 1.3; entries of equal size stay in order of arrival. */
static int
compare_sizes (const PaddleVariable *a, const PaddleVariable *b)
{
  if (gemem_paddle_is_dynamic (a) != gemem_paddle_is_dynamic (b))
    return gemem_paddle_is_dynamic (a) ? -1 : 1;
  return a->elements < b->elements ? -1 : a->elements > b->elements;
}

/* The first entry that compares greater than @variable (or equal, @or_equal). */
static guint32
first_beyond (const PaddleWalk *walk, const PaddleVariable *variable, gboolean or_equal)
{
  guint32 low = 0, high = walk->pool->len;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;
      const int order = compare_sizes (entry (walk, middle), variable);

      if (order > 0 || (or_equal && order == 0))
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

static guint32
place (PaddleWalk *walk, guint32 name)
{
  return is_old (walk) ? walk->pool->len
                       : first_beyond (walk, gemem_paddle_variable (walk->program, name), FALSE);
}

static int
compare_dims (const PaddleVariable *x, const PaddleVariable *y)
{
  if (x->n_dims != y->n_dims)
    return x->n_dims < y->n_dims ? -1 : 1;
  return x->n_dims > 0 ? memcmp (x->dims, y->dims, sizeof (gint64) * x->n_dims) : 0;
}

/* Compares by type and shape. */
static int
compare_shapes (gconstpointer a, gconstpointer b)
{
  const PaddleVariable *x = *(const PaddleVariable *const *) a,
                       *y = *(const PaddleVariable *const *) b;

  if (x->type != y->type)
    return x->type < y->type ? -1 : 1;
  return compare_dims (x, y);
}

/* FALSE for different element types, where the release compares them, and always for different
 * memory spaces. */
static gboolean
is_of_type (const PaddleWalk *walk, const PaddleVariable *x, const PaddleVariable *cache)
{
  return settings_of (walk)->era == PADDLE_ERA_2019_02 ? x->space == cache->space
                                                       : x->type == cache->type;
}

static gboolean
matches (const PaddleVariable *x, const PaddleVariable *cache, guint64 level)
{
  if (level == 0)
    return compare_dims (x, cache) == 0;
  return gemem_paddle_is_dynamic (x) == gemem_paddle_is_dynamic (cache)
         && x->elements <= cache->elements;
}

static void
print_hit (PaddleWalk *walk, const PaddleVariable *x, const PaddleVariable *cache, guint32 index)
{
  g_autofree char *from = gemem_paddle_shape_text (x, ", ");
  g_autofree char *to = gemem_paddle_shape_text (cache, ", ");

  if (!is_old (walk))
    gemem_paddle_log (walk->rewrite, "!!! %u,  %s => %s, cache idx %u, pool size %u",
                      walk->counter++, from, to, index, walk->pool->len);
  else
    gemem_paddle_log (walk->rewrite,
                      "Hit Cache !!!! cache pool index is %u, var name is %s, cached var name is "
                      "%s, var shape is %s ",
                      index, x->name, cache->name, to + strlen (cache->name));
}

/* TRUE if no entry from @cache on can match, in the order of era 1.3. */
static gboolean
is_beyond (const PaddleWalk *walk, const PaddleVariable *x, const PaddleVariable *cache)
{
  return gemem_paddle_is_dynamic (x) != gemem_paddle_is_dynamic (cache)
         || (settings_of (walk)->level == 0 && cache->elements > x->elements);
}

static guint32
find (PaddleWalk *walk, guint32 node, guint32 name)
{
  const PaddleMemoryOptimize *settings = settings_of (walk);
  const PaddleVariable *x = gemem_paddle_variable (walk->program, name);
  /* only entries of the same class as x can match, among them x itself */
  const gboolean exact = settings->level == 0 && !settings->print_log
                         && settings->era != PADDLE_ERA_2019_02;
  /* entries before could only print */
  const gboolean jumps = !is_old (walk) && !settings->print_log;

  if (exact && walk->n_pooled[walk->class[name]] == 0)
    return GEMEM_NONE;
  for (guint32 k = jumps ? first_beyond (walk, x, TRUE) : 0; k < walk->pool->len; k++)
    {
      const PaddleVariable *cache;

      if (exact && walk->class[g_array_index (walk->pool, guint32, k)] != walk->class[name])
        continue;
      cache = entry (walk, k);
      if (jumps && is_beyond (walk, x, cache))
        return GEMEM_NONE;
      if (!is_found (walk, node, cache))
        {
          if (settings->print_log)
            gemem_paddle_log (walk->rewrite, "cache %s not exists!", cache->name);
          continue;
        }
      if (x == cache)
        {
          if (settings->print_log)
            gemem_paddle_log (walk->rewrite, "x :  %s  cache :  %s  is same var!", x->name,
                              cache->name);
          return GEMEM_NONE;
        }
      if (!is_of_type (walk, x, cache))
        {
          if (settings->print_log && !is_old (walk) && settings->era != PADDLE_ERA_2019_02)
            gemem_paddle_log (walk->rewrite, "x_dtype and cache_dtype are different");
          continue;
        }
      if (!matches (x, cache, settings->level))
        continue;
      if (settings->print_log)
        print_hit (walk, x, cache, k);
      return k;
    }
  return GEMEM_NONE;
}

/* ---- all lists */

static const PaddleRules rules = { skips, is_valid, may_give, find, place, FALSE, TRUE, FALSE };
static const PaddleRules rules_1_2 = { skips, is_valid, may_give, find, place, FALSE, TRUE, TRUE };

PaddleRewrite *
gemem_paddle_memory_optimize (const PaddleProgram *program, const PaddleMemoryOptimize *settings,
                              GError **error)
{
  const gboolean old = gemem_paddle_is_old_era (settings->era);
  const gboolean by_default = settings->era == PADDLE_ERA_1_5
                              && settings->rules == GEMEM_RULES_AS_BUILT;
  const PaddleSkipSettings skip = { old, settings->rules,
                                    settings->skip_grads == PADDLE_SKIP_GRADS_YES
                                        || (settings->skip_grads == PADDLE_SKIP_GRADS_BY_VERSION
                                            && by_default),
                                    settings->skip_opt_set };
  g_autoptr (PaddleRewrite) rewrite = gemem_paddle_rewrite_new (program);
  g_autoptr (PaddleWalk) walk = gemem_paddle_walk_new (program, rewrite, old ? &rules_1_2 : &rules,
                                                       compare_shapes, (gpointer) settings);
  g_autoptr (GArray) lists = gemem_paddle_lists (program, old);

  if (!gemem_paddle_skip_for_transpiler (program, lists, &skip, walk->skip, error))
    return NULL;
  for (guint i = 0; i < lists->len; i++)
    gemem_paddle_walk_list (walk, i, &g_array_index (lists, PaddleList, i));
  return g_steal_pointer (&rewrite);
}

/* ---- the planner */

static GememPlan *
plan (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const PaddleMemoryOptimize *settings = params;
  g_autoptr (PaddleProgram)
      program = gemem_paddle_program_begin (input, settings->alignment, error);
  PaddleRewrite *rewrite = program != NULL ? gemem_paddle_memory_optimize (program, settings, error)
                                           : NULL;
  GememPlan *result;

  if (rewrite == NULL)
    return NULL;
  result = gemem_paddle_rewrite_plan (program, rewrite, "paddle-memory-optimize",
                                      settings->alignment);
  result->prints = settings->print_log;
  return result;
}

static const GememParam params[] = {
  { .name = "level",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .min = "0",
    .max = "1",
    .offset = G_STRUCT_OFFSET (PaddleMemoryOptimize, level),
    .help = "0: reuse among equal shapes only; 1: by any variable with enough elements." },
  { .name = "skip_opt_set",
    .type = GEMEM_PARAM_STRING,
    .offset = G_STRUCT_OFFSET (PaddleMemoryOptimize, skip_opt_set),
    .help = "Variables that neither give nor take memory: [NAME,NAME]." },
  { .name = "skip_grads",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "by-version",
    .choices = PADDLE_BOOL_CHOICES "|by-version",
    .offset = G_STRUCT_OFFSET (PaddleMemoryOptimize, skip_grads),
    .help = "Leave out the gradients that the optimizer's operators read; by-version: no, from 1.5 "
            "on yes." },
  { .name = "print_log",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (PaddleMemoryOptimize, print_log),
    .help = "Print the lines that PaddlePaddle prints about each reuse." },
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1.3",
    .choices = PADDLE_ERA_CHOICES,
    .aliases = "era",
    .offset = G_STRUCT_OFFSET (PaddleMemoryOptimize, era),
    .help = "Release: from 1.3 on the pool is sorted by size, in 1.0 to 1.2 in the order of death. "
            "2019-02-01 is a state before 1.3 that does not compare element types." },
  GEMEM_RULES_ROW (PaddleMemoryOptimize, rules,
                   "skip_grads leaves out all variables that the backward part writes and is off "
                   "unless set, and variables that no operator writes give their memory, too."),
  PADDLE_ALIGNMENT_PARAM (PaddleMemoryOptimize),
  { NULL },
};

const GememPlanner gemem_planner_paddle_memory_optimize = {
  .base = { .name = "paddle-memory-optimize",
            .summary = "PaddlePaddle's fluid.memory_optimize(): liveness and renaming",
            .origin = "paddle.md 8.1",
            .known_as = "fluid.memory_optimize",
            .params = params,
            .params_size = sizeof (PaddleMemoryOptimize) },
  .capabilities = GEMEM_PLANNER_GRAPH,
  .alignment = PADDLE_ALIGNMENT,
  .plan = plan,
  .item_bytes = 400,
};
