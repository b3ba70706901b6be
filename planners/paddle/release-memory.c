/* release-memory.c - planner `paddle-release-memory`: fluid.release_memory(), which inserts
 * delete_var operators where variables die.
 *
 * Rules (paddle.md 8.3): lists, liveness, skip set and valid variables of memory_optimize.  After
 * each operator at which valid variables die (except owners of a list) comes a delete_var of their
 * names, in the order in which the operator reads them (13.2).  The log has one line per
 * delete_var, with its index in the block after the earlier insertions; forward and backward part
 * are counted apart:
 *   delete_var block 0 index 3: a, b
 *
 * The plan: a variable gets memory at its first write, and again at the first write after a
 * deletion; it keeps the memory to its deletion, else to the end of the run.  Memory is allocated
 * in program order, by first fit (first-fit.h); variables of one operator in the order of its
 * outputs.
 *
 * Cost: O(lives x holes), in practice near O(items + inputs).  Origin: paddle.md 8.3.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rules.h"
#include "base/units.h"
#include "planners/paddle/first-fit.h"
#include "planners/paddle/params.h"
#include "planners/paddle/skip.h"

typedef struct
{
  char *skip_opt_set;
  gboolean skip_grads, print_log;
  int era;
  int rules;
  guint64 alignment;
} Settings;

/* Life of a variable from a first write to a deletion. */
typedef struct
{
  guint32 variable;
  guint32 begin, end; /* nodes; half-open */
  guint64 offset;
} Life;

typedef struct
{
  const PaddleProgram *program;
  guint8 *skip;
  GArray *lives;    /* Life */
  guint32 *open;    /* per variable: 1 + its life without deletion yet; 0: none */
  guint32 *of_item; /* per item: its life */
  GPtrArray *log;
  gboolean old; /* releases up to 1.2 */
  /* the nodes of each block run where they are listed; if FALSE, their items keep their memory for
   * the whole run */
  gboolean nested;
  guint32 *last; /* per node: the last node of the blocks that it runs, or itself */
} Release;

/* ---- lives and deletions */

static void
write_items (Release *release, guint32 id)
{
  const GememNode *node = gemem_graph_node (release->program->graph, id);
  const guint32 first = gemem_node_item (node);

  for (guint32 i = first; i < first + gemem_paddle_n_writes (node); i++)
    {
      const guint32 variable = release->program->items[i];
      const PaddleVariable *v = variable != GEMEM_NONE
                                    ? gemem_paddle_variable (release->program, variable)
                                    : NULL;
      guint32 *begin;

      if (release->of_item[i] != GEMEM_NONE || !gemem_paddle_has_place (release->program, i))
        continue;
      if (release->open[variable] == 0)
        {
          const Life life = { variable, v->early ? v->begin : id,
                              gemem_graph_n_nodes (release->program->graph), 0 };

          g_array_append_val (release->lives, life);
          release->open[variable] = release->lives->len;
        }
      release->of_item[i] = release->open[variable] - 1;
      begin = &g_array_index (release->lives, Life, release->of_item[i]).begin;
      *begin = release->nested || node->block == 0 ? MIN (*begin, id) : 0;
    }
}

/* Ends the life after node @id and the blocks that it runs. */
static void
end_life (Release *release, guint32 life, guint32 id)
{
  if (release->nested || gemem_graph_node (release->program->graph, id)->block == 0)
    g_array_index (release->lives, Life, life).end = release->last[id] + 1;
}

/* Deletes @dying after node @id and logs the delete_var, whose index in the block is @index. */
static void delete (Release *release, guint32 id, GPtrArray *dying, guint32 index)
{
  GString *line = g_string_new (NULL);

  g_string_printf (line, "delete_var block %u index %u:",
                   gemem_graph_node (release->program->graph, id)->block, index);
  for (guint i = 0; i < dying->len; i++)
    {
      const PaddleVariable *variable = dying->pdata[i];
      const guint32 number = (guint32) (variable - release->program->variables);

      g_string_append_printf (line, "%s %s", i > 0 ? "," : "", variable->name);
      if (variable->local)
        continue; /* one variable of the graph: its versions lie at one address */
      if (release->open[number] != 0)
        end_life (release, release->open[number] - 1, id);
      release->open[number] = 0;
    }
  g_ptr_array_add (release->log, g_string_free (line, FALSE));
}

/* TRUE if @owner runs the block of node @id, or one around it. */
static gboolean
runs (const Release *release, guint32 owner, guint32 id)
{
  const GememGraph *graph = release->program->graph;
  guint32 block = gemem_graph_node (graph, id)->block;

  while (block != 0 && gemem_graph_block (graph, block)->node != owner)
    block = gemem_graph_node (graph, gemem_graph_block (graph, block)->node)->block;
  return block != 0;
}

/* What the blocks of an operator without lists write, is written before a deletion after it. */
static void
write_blocks (Release *release, guint32 owner)
{
  for (guint32 id = owner + 1; id <= release->last[owner]; id++)
    if (runs (release, owner, id))
      write_items (release, id);
}

static void
walk (Release *release, const PaddleList *list)
{
  g_autoptr (PaddleLiveness) liveness = gemem_paddle_liveness_new (release->program, list);
  g_autoptr (GPtrArray) dying = g_ptr_array_new ();
  guint32 inserted[2] = { 0, 0 };

  for (guint32 position = 0; position < list->n; position++)
    {
      const guint32 id = list->nodes[position];
      const gboolean backward = position >= list->forward;

      write_items (release, id);
      const GememNode *node = gemem_graph_node (release->program->graph, id);
      const gboolean owner = gemem_paddle_owns_list (node, release->old);

      if (!owner || node->block != 0) /* no list contains its blocks */
        write_blocks (release, id);
      if (owner)
        continue;
      g_ptr_array_set_size (dying, 0);
      for (guint32 i = liveness->first[position]; i < liveness->first[position + 1]; i++)
        if (!release->skip[liveness->dying[i]]
            && gemem_paddle_is_valid (release->program, id, backward, liveness->dying[i]))
          g_ptr_array_add (dying, &release->program->variables[liveness->dying[i]]);
      if (dying->len > 0)
        delete (release, id, dying,
                position - (backward ? list->forward : 0) + 1 + inserted[backward]++);
    }
}

/* ---- first fit in program order */

static int
compare_begins (gconstpointer a, gconstpointer b)
{
  const Life *x = *(const Life *const *) a, *y = *(const Life *const *) b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x < y ? -1 : x > y; /* in one array, in the order of their items */
}

static int
compare_ends (gconstpointer a, gconstpointer b)
{
  const Life *x = *(const Life *const *) a, *y = *(const Life *const *) b;

  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return x < y ? -1 : x > y;
}

static Life **
sort_lives (const Release *release, int (*compare) (gconstpointer, gconstpointer))
{
  Life **sorted = g_new (Life *, (gsize) release->lives->len + 1);

  for (guint i = 0; i < release->lives->len; i++)
    sorted[i] = &g_array_index (release->lives, Life, i);
  qsort (sorted, release->lives->len, sizeof sorted[0], compare);
  return sorted;
}

/* Allocates the lives in @space, in whole units of the alignment; returns the bytes used. */
static guint64
fit_space (const Release *release, Life **begins, Life **ends, guint64 space, guint64 alignment)
{
  PaddleFirstFit fit;
  guint64 bytes = 0;
  guint gone = 0;

  gemem_paddle_first_fit_init (&fit);
  for (guint i = 0;
       i < release->lives->len && !gemem_plan_is_unwanted (release->program->interrupted); i++)
    {
      const PaddleVariable *variable = gemem_paddle_variable (release->program,
                                                              begins[i]->variable);

      if (variable->space != space)
        continue;
      for (; gone < release->lives->len && ends[gone]->end <= begins[i]->begin; gone++)
        {
          const PaddleVariable *dead = gemem_paddle_variable (release->program,
                                                              ends[gone]->variable);

          if (dead->space == space)
            gemem_paddle_first_fit_release (&fit, ends[gone]->offset,
                                            gemem_align_up (dead->bytes, alignment));
        }
      begins[i]->offset = gemem_paddle_first_fit_allocate (
          &fit, gemem_align_up (variable->bytes, alignment), MAX (alignment, variable->alignment));
      bytes = MAX (bytes, begins[i]->offset + variable->bytes);
    }
  gemem_paddle_first_fit_clear (&fit);
  return bytes;
}

static void
fit_all (const Release *release, GememPlan *plan)
{
  g_autofree Life **begins = sort_lives (release, compare_begins);
  g_autofree Life **ends = sort_lives (release, compare_ends);

  for (guint i = 0; i < release->lives->len; i++)
    gemem_plan_total (plan, gemem_paddle_variable (release->program, begins[i]->variable)->space);
  for (guint i = 0; i < plan->totals->len; i++)
    {
      GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      total->bytes = fit_space (release, begins, ends, total->space, plan->alignment);
    }
  for (guint32 i = 0; i < plan->n_items; i++)
    if (release->of_item[i] != GEMEM_NONE)
      gemem_paddle_place_item (release->program, plan, i,
                               g_array_index (release->lives, Life, release->of_item[i]).offset);
}

/* ---- the planner */

/* TRUE if every node of a block follows directly the owner of the block or a node of that block. */
static gboolean
is_nested (const GememGraph *graph)
{
  /* per block: the latest node in it */
  g_autofree guint32 *last = g_new0 (guint32, (gsize) gemem_graph_n_blocks (graph) + 1);

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      for (guint32 block = gemem_graph_node (graph, id)->block; block != 0;)
        {
          const guint32 owner = gemem_graph_block (graph, block)->node;

          block = gemem_graph_node (graph, owner)->block;
          if (last[block] != owner)
            return FALSE;
        }
      last[gemem_graph_node (graph, id)->block] = id;
    }
  return TRUE;
}

/* A block's nodes stand behind its owner: going backwards, they are known before it. */
static void
find_last (Release *release)
{
  const GememGraph *graph = release->program->graph;

  for (guint32 id = gemem_graph_n_nodes (graph); id-- > 0;)
    {
      const guint32 block = gemem_graph_node (graph, id)->block;

      release->last[id] = MAX (release->last[id], id);
      if (block != 0)
        {
          const guint32 owner = gemem_graph_block (graph, block)->node;

          release->last[owner] = MAX (release->last[owner], release->last[id]);
        }
    }
}

static gboolean
find_lives (Release *release, const Settings *settings, GError **error)
{
  const PaddleSkipSettings skip = { release->old, settings->rules, settings->skip_grads,
                                    settings->skip_opt_set };
  g_autoptr (GArray) lists = gemem_paddle_lists (release->program, release->old);

  find_last (release);
  if (!gemem_paddle_skip_for_transpiler (release->program, lists, &skip, release->skip, error))
    return FALSE;
  for (guint i = 0; i < lists->len; i++)
    walk (release, &g_array_index (lists, PaddleList, i));
  /* then the nodes of blocks that no list contains */
  for (guint32 id = 0; id < gemem_graph_n_nodes (release->program->graph); id++)
    write_items (release, id);
  return TRUE;
}

static GememPlan *
plan (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const Settings *settings = params;
  g_autoptr (PaddleProgram)
      program = gemem_paddle_program_begin (input, settings->alignment, error);
  GememPlan *result = NULL;
  Release release;

  if (program == NULL)
    return NULL;
  release = (Release){ program,
                       g_new0 (guint8, (gsize) program->n_variables + 1),
                       g_array_new (FALSE, FALSE, sizeof (Life)),
                       g_new0 (guint32, (gsize) program->n_variables + 1),
                       g_new (guint32, (gsize) gemem_graph_n_items (input->graph) + 1),
                       NULL,
                       gemem_paddle_is_old_era (settings->era),
                       is_nested (input->graph),
                       g_new0 (guint32, (gsize) gemem_graph_n_nodes (input->graph) + 1) };
  memset (release.of_item, 0xff,
          sizeof (guint32) * ((gsize) gemem_graph_n_items (input->graph) + 1));
  result = gemem_paddle_plan_new (program, "paddle-release-memory", settings->alignment);
  release.log = result->log;
  result->prints = settings->print_log;
  if (find_lives (&release, settings, error))
    fit_all (&release, result);
  else
    g_clear_pointer (&result, gemem_plan_free);
  g_free (release.skip);
  g_array_unref (release.lives);
  g_free (release.open);
  g_free (release.of_item);
  g_free (release.last);
  return result;
}

static const GememParam params[] = {
  { .name = "skip_opt_set",
    .type = GEMEM_PARAM_STRING,
    .offset = G_STRUCT_OFFSET (Settings, skip_opt_set),
    .help = "Variables that are never deleted: [NAME,NAME]." },
  { .name = "skip_grads",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Settings, skip_grads),
    .help = "Never delete the gradients that the optimizer's operators read." },
  { .name = "print_log",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Settings, print_log),
    .help = "Print where a delete_var is inserted, and for which variables." },
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1.3",
    .choices = PADDLE_ERA_CHOICES,
    .aliases = "era",
    .offset = G_STRUCT_OFFSET (Settings, era),
    .help = "Release: 1.0 to 1.2 know parallel_do, and skip what is forced into host memory only "
            "where fill_constant writes it." },
  GEMEM_RULES_ROW (Settings, rules,
                   "skip_grads leaves out all variables that the backward part writes."),
  PADDLE_ALIGNMENT_PARAM (Settings),
  { NULL },
};

const GememPlanner gemem_planner_paddle_release_memory = {
  .base = { .name = "paddle-release-memory",
            .summary = "PaddlePaddle's fluid.release_memory(): delete_var where variables die, "
                       "then first fit",
            .origin = "paddle.md 8.3",
            .known_as = "fluid.release_memory",
            .params = params,
            .params_size = sizeof (Settings) },
  .capabilities = GEMEM_PLANNER_GRAPH,
  .alignment = PADDLE_ALIGNMENT,
  .plan = plan,
  .item_bytes = 400,
};
