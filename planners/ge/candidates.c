/* candidates.c - the GE planners: strategies, parameters, the candidates of a graph and the choice
 * of the winner (ge-static.md 3.3).
 *
 * All candidates run to their end, each on its own thread if threads are allowed.  The smallest
 * score wins, the first in the table on ties; so the plan does not depend on the number of threads.
 * Cost: that of one assigner per candidate.
 */
#include "config.h"

#include <string.h>

#include "base/parallel.h"
#include "graphs/meaning.h"
#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/options.h"
#include "planners/ge/policy.h"
#include "planners/planner.h"

/* ---- strategies (3.3) */

enum
{
  BINARY,
  MAX_BLOCK,
  DESCENDING_FRFR,
  ASCENDING_FRFR,
  DESCENDING_FRLR,
  ASCENDING_FRLR,
  N_STRATEGIES
};

static const GeStrategy strategies[N_STRATEGIES] = {
  /* priority: set from the option */
  [BINARY] = { .name = "binary-block", .ascending = TRUE, .level2 = TRUE },
  [MAX_BLOCK] = { .name = "max-block", .single_range = TRUE, .use_range = TRUE, .ascending = TRUE },
  [DESCENDING_FRFR] = { .name = "range-binary-block-descending-frfr",
                        .use_range = TRUE,
                        .first_release = TRUE,
                        .priority = TRUE,
                        .level2 = TRUE },
  [ASCENDING_FRFR] = { .name = "range-binary-block-ascending-frfr",
                       .use_range = TRUE,
                       .ascending = TRUE,
                       .first_release = TRUE,
                       .priority = TRUE,
                       .level2 = TRUE },
  [DESCENDING_FRLR] = { .name = "range-binary-block-descending-frlr",
                        .use_range = TRUE,
                        .priority = TRUE,
                        .level2 = TRUE },
  [ASCENDING_FRLR] = { .name = "range-binary-block-ascending-frlr",
                       .use_range = TRUE,
                       .ascending = TRUE,
                       .priority = TRUE,
                       .level2 = TRUE },
};

/* The strategy, adjusted to the options and the graph. */
static GeStrategy
strategy_for (guint number, const GeModel *model)
{
  GeStrategy strategy = strategies[number];
  const int release_first = gemem_graph_release_first (model->graph);

  if (number == BINARY)
    strategy.priority = model->options->memory_priority;
  if (release_first >= 0)
    strategy.first_release = release_first;
  return strategy;
}

/* ---- candidates */

static void
run_assigner (gpointer assigners, guint i)
{
  gemem_ge_assigner_run (((GeAssigner **) assigners)[i]);
}

/* ---- the plan of the winner */

static void
fill_items (GememPlan *plan, const GeAssigner *a)
{
  plan->spaces = g_new0 (guint64, (gsize) plan->n_items + 1);
  for (guint32 i = 0; i < plan->n_items; i++)
    {
      plan->offsets[i] = a->offsets[i];
      plan->sizes[i] = a->sizes[i];
      plan->spaces[i] = gemem_ge_space_type (a->spaces[i]);
    }
  /* GE writes 0 for them; they are no part of what is planned. */
  for (guint32 t = 0; t < a->model->n_tensors; t++)
    if ((ge_tensor_kind (a->model, t) & GE_ZERO_MEMORY) != 0)
      {
        plan->offsets[gemem_graph_tensor_item (a->model->graph, t)] = GEMEM_NO_OFFSET;
        plan->sizes[gemem_graph_tensor_item (a->model->graph, t)] = 0;
      }
}

static void
fill_batch_parts (GememPlan *plan, const GeAssigner *a)
{
  for (guint i = 0; i < a->blocks->len; i++)
    {
      const GeBlock *block = a->blocks->pdata[i];
      const GememPlanPart part = { gemem_ge_space_type (block->space), block->head, block->size };

      if (block->batch_part)
        g_array_append_val (plan->batch_parts, part);
    }
}

/* HBM and P2P always have an entry. */
static void
fill_totals (GememPlan *plan, const GeAssigner *a)
{
  for (int i = 0; i < GE_N_SPACES; i++)
    if (i <= GE_SPACE_P2P || a->counters[i] != gemem_ge_space_base (i))
      gemem_plan_add_total (plan, gemem_ge_space_type (i), a->counters[i]);
  plan->zero_copy = a->zero_copy;
}

/* 0.2 step 7: checks the bytes on the device plus the variables with their gaps (7.3). */
static gboolean
fits_device (const GeAssigner *a, GError **error)
{
  const GeModel *model = a->model;
  guint64 needed = a->counters[GE_SPACE_HBM] + a->counters[GE_SPACE_P2P]
                   + a->counters[GE_SPACE_SESSION];

  if (model->options->device_memory == 0 || model->options->memory_priority)
    return TRUE;
  needed += gemem_ge_variable_bytes (model);
  if (needed <= model->options->device_memory)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_OUT_OF_MEMORY,
               "%s: needs %" G_GUINT64_FORMAT " bytes of %" G_GUINT64_FORMAT
               "; raise device_memory, or try memory_priority=yes",
               gemem_graph_name (model->graph), needed, model->options->device_memory);
  return FALSE;
}

/* 0.2 steps 5 to 9 for the winner. */
static GememPlan *
finish (GeAssigner *a, GError **error)
{
  const guint64 feature_map = a->counters[GE_SPACE_HBM];
  guint64 cleared;
  GememPlan *plan;

  gemem_ge_buffer_pools_place (a);
  gemem_ge_clear_place (a);
  cleared = a->counters[GE_SPACE_HBM];
  if (a->error != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&a->error));
      return NULL;
    }
  if (!fits_device (a, error))
    return NULL;
  gemem_ge_place_zero_copy (a);
  gemem_ge_fix_offsets (a);
  plan = gemem_plan_new ("", gemem_graph_n_items (a->model->graph));
  fill_items (plan, a);
  fill_totals (plan, a);
  fill_batch_parts (plan, a);
  gemem_ge_segments (a, plan, feature_map, cleared);
  gemem_ge_fix_variables (a->model, plan);
  gemem_ge_add_memsets (a, plan);
  plan->alignment = ge_zero_copy_align (a->model->options);
  plan->clears_apart = a->model->options->atomic_clean_policy == 1;
  plan->winner = g_strdup (a->strategy.name);
  return plan;
}

static void
free_assigners (GeAssigner **assigners, guint n)
{
  for (guint i = 0; i < n; i++)
    gemem_ge_assigner_free (assigners[i]);
}

/* The candidate with the smallest score, the first of equals. */
static GeAssigner *
smallest (GeAssigner **assigners, guint n)
{
  GeAssigner *winner = assigners[0];

  for (guint i = 1; i < n; i++)
    if (assigners[i]->score < winner->score)
      winner = assigners[i];
  return winner;
}

static GememPlan *
plan_candidates (const GeModel *model, const GeStrategy *candidates, guint n, guint threads,
                 GError **error)
{
  GeAssigner *assigners[N_STRATEGIES];
  GememPlan *plan;

  for (guint i = 0; i < n; i++)
    assigners[i] = gemem_ge_assigner_new (model, &candidates[i]);
  gemem_parallel (n, threads, run_assigner, assigners);
  plan = gemem_plan_is_unwanted (model->interrupted) ? NULL
                                                     : finish (smallest (assigners, n), error);
  for (guint i = 0; i < n && plan != NULL; i++)
    gemem_plan_add_candidate (plan, candidates[i].name, assigners[i]->score);
  free_assigners (assigners, n);
  return plan;
}

/* ---- the planners */

static void
watch (GeModel *model, const GememPlanInput *input, guint n)
{
  model->interrupted = input->interrupted;
  model->share = input->share;
  model->n_assigners = n;
}

static GememPlan *
plan_strategies (gconstpointer params, const GememPlanInput *input, guint first, guint n,
                 GError **error)
{
  const GeOptions *options = params;
  GeModel *model = gemem_ge_model_new (input->graph, options, error);
  GeStrategy candidates[N_STRATEGIES];
  GememPlan *plan;

  if (model == NULL)
    return NULL;
  watch (model, input, n);
  for (guint i = 0; i < n; i++)
    candidates[i] = strategy_for (first + i, model);
  plan = plan_candidates (model, candidates, n, input->threads, error);
  gemem_ge_model_free (model);
  return plan;
}

static GememPlan *
plan_hybrid (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const GeOptions *options = params;

  return plan_strategies (params, input, BINARY, options->memory_priority ? N_STRATEGIES : 2,
                          error);
}

#define PLAN_ONE(function, strategy) \
  static GememPlan *function (gconstpointer params, const GememPlanInput *input, GError **error) \
  { \
    return plan_strategies (params, input, strategy, 1, error); \
  }
PLAN_ONE (plan_binary, BINARY)
PLAN_ONE (plan_max, MAX_BLOCK)
PLAN_ONE (plan_descending_frfr, DESCENDING_FRFR)
PLAN_ONE (plan_ascending_frfr, ASCENDING_FRFR)
PLAN_ONE (plan_descending_frlr, DESCENDING_FRLR)
PLAN_ONE (plan_ascending_frlr, ASCENDING_FRLR)

/* Memory grows, unless a policy is chosen that says otherwise. */
static GememPlan *
plan_dynamic_batch (gconstpointer params, const GememPlanInput *input, GError **error)
{
  GeOptions options = *(const GeOptions *) params;

  if (options.option == NULL || strcmp (options.option, GE_POLICY_UNSET) == 0)
    options.option = (char *) "2";
  return plan_strategies (&options, input, BINARY, 1, error);
}

/* The four fields of a ReuseStrategy are parameters. */
static GememPlan *
plan_block (gconstpointer params, const GememPlanInput *input, GError **error)
{
  const GeBlockOptions *own = params;
  const GeStrategy strategy = { .name = "block",
                                .use_range = own->use_range,
                                .ascending = own->ascending_sort,
                                .first_release = own->reuse_first_release,
                                .priority = own->memory_priority_mode,
                                .level2 = TRUE };
  GeModel *model = gemem_ge_model_new (input->graph, &own->common, error);
  GememPlan *plan;

  if (model == NULL)
    return NULL;
  watch (model, input, 1);
  plan = plan_candidates (model, &strategy, 1, 1, error);
  gemem_ge_model_free (model);
  return plan;
}

#define PLANNER(symbol, planner_name, about, table, type, function, capability, real_name) \
  const GememPlanner symbol = { .base = { .name = planner_name, \
                                          .summary = about, \
                                          .origin = "ge-static.md 3", \
                                          .known_as = real_name, \
                                          .check = gemem_ge_options_check, \
                                          .notes = gemem_ge_options_notes, \
                                          .params = table, \
                                          .params_size = sizeof (type) }, \
                                .capabilities = GEMEM_PLANNER_GRAPH | (capability), \
                                .alignment = GE_ALIGN, \
                                .plan = function, \
                                .graph_notes = gemem_ge_options_graph_notes, \
                                .item_bytes = 400 }
PLANNER (gemem_planner_ge_hybrid, "ge-hybrid",
         "Ascend GE: all strategies at once, the smallest plan", gemem_ge_params, GeOptions,
         plan_hybrid, GEMEM_PLANNER_THREADS, "HybridMemAssigner");
PLANNER (gemem_planner_ge_binary_block, "ge-binary-block",
         "GE: blocks of the tensors' own sizes, packed inside each other", gemem_ge_params,
         GeOptions, plan_binary, 0, NULL);
PLANNER (gemem_planner_ge_max_block, "ge-max-block",
         "GE: all blocks as large as the largest tensor", gemem_ge_params, GeOptions, plan_max, 0,
         NULL);
PLANNER (gemem_planner_ge_range_descending_frfr, "ge-range-binary-block-descending-frfr",
         "GE: size classes, late blocks packed first, oldest free block first",
         gemem_ge_priority_params, GeOptions, plan_descending_frfr, 0, NULL);
PLANNER (gemem_planner_ge_range_ascending_frfr, "ge-range-binary-block-ascending-frfr",
         "GE: size classes, early blocks packed first, oldest free block first",
         gemem_ge_priority_params, GeOptions, plan_ascending_frfr, 0, NULL);
PLANNER (gemem_planner_ge_range_descending_frlr, "ge-range-binary-block-descending-frlr",
         "GE: size classes, late blocks packed first, newest free block first",
         gemem_ge_priority_params, GeOptions, plan_descending_frlr, 0, NULL);
PLANNER (gemem_planner_ge_range_ascending_frlr, "ge-range-binary-block-ascending-frlr",
         "GE: size classes, early blocks packed first, newest free block first",
         gemem_ge_priority_params, GeOptions, plan_ascending_frlr, 0, NULL);
PLANNER (gemem_planner_ge_dynamic_batch, "ge-dynamic-batch",
         "GE: binary-block on memory that grows, batches cut at 400 MiB", gemem_ge_params,
         GeOptions, plan_dynamic_batch, 0, "DynamicBatchMemAssigner|kMaxSplitSizeForDynamicBatch");
PLANNER (gemem_planner_ge_block, "ge-block", "GE: one strategy with free fields",
         gemem_ge_block_params, GeBlockOptions, plan_block, 0, "BlockMemAssigner");
