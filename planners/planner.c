/* planner.c - the registry of planners, and running one on a graph or on lifetimes; see
 * planner.h. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "planners/convert.h"
#include "planners/places.h"
#include "planners/planner.h"

#define GEMEM_PLANNER(symbol) extern const GememPlanner symbol;
#include "planners/planners.def"
#undef GEMEM_PLANNER

static const GememPlanner *const planners[] = {
#define GEMEM_PLANNER(symbol) &symbol,
#include "planners/planners.def"
#undef GEMEM_PLANNER
  NULL
};

const GememPlanner *const *
gemem_planners (void)
{
  return planners;
}

/* Every GememPlanner begins with its GememNamed. */
static const GememNamed *const *
named (void)
{
  return (const GememNamed *const *) planners;
}

const GememPlanner *
gemem_planner_find (const char *name, GError **error)
{
  return (const GememPlanner *) gemem_named_find (named (), "planner", name, error);
}

gboolean
gemem_planner_parse (const char *text, GPtrArray *choices, GError **error)
{
  return gemem_named_parse (named (), "planner", text, choices, error);
}

GememChoice *
gemem_planner_parse_one (const char *text, const char *owner, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  if (!gemem_planner_parse (text, choices, error))
    return NULL;
  if (choices->len == 1)
    return g_ptr_array_steal_index (choices, 0);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "allocator %s: planner=%s: stands for %u planners; name one", owner, text,
               choices->len);
  return NULL;
}

/* ---- running */

static GememPlan *
plan_graph_by_lifetimes (const GememPlanner *planner, gconstpointer params,
                         const GememPlanInput *input, GError **error)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes) lifetimes = gemem_graph_lifetimes (input->graph, &places);
  const GememPlanInput own = { NULL,         lifetimes,   input->threads, input->interrupted,
                               input->share, input->clock };
  g_autoptr (GememPlan) plan = planner->plan (params, &own, error);

  if (plan == NULL)
    return NULL;
  /* what was proved of the lifetimes is no bound for the graph, which knows more of its streams */
  GememPlan *spread = gemem_plan_spread (input->graph, plan, places);
  spread->stopped = plan->stopped;
  if (plan->least > 0)
    spread->least = gemem_graph_lower_bound (input->graph, plan->alignment, plan->clears_apart);
  return spread;
}

/* Moves item i of @values to position order[i]; @values may be NULL. */
static void
reorder (guint64 **values, const guint32 *order, guint32 n)
{
  guint64 *ordered = *values != NULL ? g_new (guint64, (gsize) n + 1) : NULL;

  for (guint32 i = 0; i < n && ordered != NULL; i++)
    ordered[order[i]] = (*values)[i];
  g_free (*values);
  *values = ordered;
}

/* The graph made from lifetimes has one output per node and no workspaces, so items are nodes. */
static GememPlan *
plan_lifetimes_by_graph (const GememPlanner *planner, gconstpointer params,
                         const GememPlanInput *input, GError **error)
{
  g_autofree guint32 *order = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_from_lifetimes (input->lifetimes, &order, error);
  const GememPlanInput own = { graph, NULL, input->threads, input->interrupted, input->share };
  GememPlan *plan = graph != NULL ? planner->plan (params, &own, error) : NULL;

  if (plan != NULL)
    {
      reorder (&plan->offsets, order, plan->n_items);
      reorder (&plan->sizes, order, plan->n_items);
      reorder (&plan->spaces, order, plan->n_items);
    }
  return plan;
}

gboolean
gemem_planner_fills_gaps (const GememPlanner *planner, const GememPlanInput *input)
{
  return input->graph == NULL && input->lifetimes->gaps != NULL
         && (planner->capabilities & GEMEM_PLANNER_PLACES) == 0;
}

/* Whether the lifetimes can be planned at all, and by @planner. */
static gboolean
is_plannable (const GememPlanner *planner, const GememPlanInput *input, GError **error)
{
  if (input->graph != NULL || input->lifetimes->places == NULL)
    return TRUE;
  if (!gemem_lifetimes_check_places (input->lifetimes, error))
    return FALSE;
  if ((planner->capabilities & GEMEM_PLANNER_PLACES) != 0)
    return TRUE;
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "keeps no fixed offsets, which some buffers have; optimal does");
  return FALSE;
}

static GememPlan *
run (const GememPlanner *planner, gconstpointer params, const GememPlanInput *input, GError **error)
{
  const gboolean wants_graph = (planner->capabilities & GEMEM_PLANNER_GRAPH) != 0;

  if (wants_graph && input->graph == NULL)
    return plan_lifetimes_by_graph (planner, params, input, error);
  if (!wants_graph && input->graph != NULL)
    return plan_graph_by_lifetimes (planner, params, input, error);
  return planner->plan (params, input, error);
}

/* ---- items of 0 bytes, which no planner sees */

static guint32
count_empty (const GememLifetimes *lifetimes)
{
  guint32 empty = 0;

  for (guint32 i = 0; i < lifetimes->items->len; i++)
    empty += gemem_lifetimes_get (lifetimes, i)->size == 0;
  return empty;
}

/* The items of @all that have bytes; *numbers: what each is in @all. */
static GememLifetimes *
drop_empty (const GememLifetimes *all, guint32 **numbers)
{
  GememLifetimes *some = gemem_lifetimes_new (all->name);
  const guint32 n = all->items->len, n_gaps = all->gaps != NULL ? all->gaps->len : 0;
  guint32 gap = 0;

  *numbers = g_new (guint32, (gsize) n + 1);
  some->steps = all->steps;
  some->gaps = all->gaps != NULL ? g_array_new (FALSE, FALSE, sizeof (GememLifeGap)) : NULL;
  some->places = all->places != NULL ? g_array_new (FALSE, FALSE, sizeof (guint64)) : NULL;
  some->names = all->names != NULL ? g_ptr_array_new () : NULL;
  for (guint32 i = 0; i < n; i++)
    {
      const gboolean empty = gemem_lifetimes_get (all, i)->size == 0;
      const guint32 number = some->items->len;

      for (; gap < n_gaps && g_array_index (all->gaps, GememLifeGap, gap).item == i; gap++)
        if (!empty)
          {
            g_array_append_val (some->gaps, g_array_index (all->gaps, GememLifeGap, gap));
            g_array_index (some->gaps, GememLifeGap, some->gaps->len - 1).item = number;
          }
      if (empty)
        continue;
      (*numbers)[number] = i;
      g_array_append_val (some->items, *gemem_lifetimes_get (all, i));
      if (some->places != NULL)
        g_array_append_val (some->places, g_array_index (all->places, guint64, i));
      if (some->names != NULL)
        g_ptr_array_add (some->names, all->names->pdata[i]);
    }
  return some;
}

/* Moves value i of @values to position numbers[i] of @all; the others are @other. */
static void
widen (guint64 **values, const guint32 *numbers, guint32 n, guint32 all, guint64 other)
{
  guint64 *wide = *values != NULL ? g_new (guint64, (gsize) all + 1) : NULL;

  for (guint32 i = 0; i < all && wide != NULL; i++)
    wide[i] = other;
  for (guint32 i = 0; i < n && wide != NULL; i++)
    wide[numbers[i]] = (*values)[i];
  g_free (*values);
  *values = wide;
}

/* As run(); items of 0 bytes are at offset 0. */
static GememPlan *
run_sized (const GememPlanner *planner, gconstpointer params, const GememPlanInput *input,
           GError **error)
{
  if (input->graph != NULL || count_empty (input->lifetimes) == 0)
    return run (planner, params, input, error);
  g_autofree guint32 *numbers = NULL;
  g_autoptr (GememLifetimes) some = drop_empty (input->lifetimes, &numbers);
  const guint32 n = some->items->len, all = input->lifetimes->items->len;
  GememPlanInput own = *input;
  own.lifetimes = some;
  GememPlan *plan = n > 0 ? run (planner, params, &own, error) : gemem_plan_new ("", 0);

  if (plan == NULL)
    return NULL;
  widen (&plan->offsets, numbers, n, all, 0);
  widen (&plan->sizes, numbers, n, all, 0);
  widen (&plan->spaces, numbers, n, all, 0);
  g_clear_pointer (&plan->variables, g_free);
  g_clear_pointer (&plan->addresses, g_free);
  plan->n_items = all;
  return plan;
}

guint64
gemem_plan_lower_bound (const GememPlanInput *input, const GememPlan *plan)
{
  return input->graph != NULL
             ? gemem_graph_lower_bound (input->graph, plan->alignment, plan->clears_apart)
             : gemem_lifetimes_lower_bound (input->lifetimes, plan->alignment);
}

/* Rounds the bytes of each space up to the alignment, as the lower bound rounds every item. */
static void
round_totals (GememPlan *plan)
{
  plan->arena = 0;
  for (guint i = 0; i < plan->totals->len; i++)
    {
      GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      total->bytes = gemem_round_up (total->bytes, plan->alignment);
      plan->arena += total->bytes;
    }
}

/* Asks for the memory that @planner will take, at once: refusing is better than
 * running out half-way. */
static gboolean
has_memory (const GememPlanner *planner, const GememPlanInput *input, GError **error)
{
  const gsize n = input->graph == NULL ? input->lifetimes->items->len : 0;
  gpointer memory = g_try_malloc_n (n, planner->item_bytes);
  const gboolean has = memory != NULL || n == 0 || planner->item_bytes == 0;
  char size[GEMEM_FORMAT_MAX];

  g_free (memory);
  if (!has)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "planning %" G_GSIZE_FORMAT " items takes about %s of the host's memory; raise "
                 "the limit, or plan a part of the trace",
                 n, gemem_format_size (size, n * planner->item_bytes));
  return has;
}

GememPlan *
gemem_planner_run (const GememChoice *choice, const GememPlanInput *input, GError **error)
{
  const GememPlanner *planner = (const GememPlanner *) choice->named;
  gpointer params = gemem_choice_params (
      choice, "planner", input->graph != NULL ? gemem_graph_settings (input->graph) : NULL, error);
  GememPlan *plan;

  if (params == NULL) /* only the graph's settings can be wrong: the choice is checked */
    {
      g_prefix_error (error, "settings of the graph: ");
      if (error != NULL)
        (*error)->code = GEMEM_ERROR_INPUT;
      return NULL;
    }
  plan = is_plannable (planner, input, error) && has_memory (planner, input, error)
             ? run_sized (planner, params, input, error)
             : NULL;
  gemem_choice_params_free (choice, params);
  if (gemem_plan_is_unwanted (input->interrupted) && (plan == NULL || plan->stopped == NULL))
    {
      gemem_plan_free (plan);
      g_clear_error (error);
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                           "interrupted; there is no plan, run it again");
      return NULL;
    }
  if (plan == NULL)
    return NULL;
  g_free (plan->planner);
  plan->planner = g_strdup (choice->label);
  if (plan->alignment == 0)
    plan->alignment = planner->alignment;
  if (gemem_planner_fills_gaps (planner, input))
    plan->least = 0;
  round_totals (plan);
  plan->lower_bound = gemem_plan_lower_bound (input, plan);
  return plan;
}
