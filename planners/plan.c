/* plan.c - making and freeing plans; see plan.h. */
#include "config.h"

#include "planners/plan.h"

static void
clear_candidate (gpointer data)
{
  g_free (((GememPlanCandidate *) data)->name);
}

static void
clear_memset (gpointer data)
{
  g_free (((GememPlanMemset *) data)->node);
}

GememPlan *
gemem_plan_new (const char *planner, guint32 n_items)
{
  GememPlan *plan = g_new0 (GememPlan, 1);

  plan->planner = g_strdup (planner);
  plan->n_items = n_items;
  plan->offsets = g_new (guint64, (gsize) n_items + 1);
  plan->sizes = g_new0 (guint64, (gsize) n_items + 1);
  for (guint32 i = 0; i < n_items; i++)
    plan->offsets[i] = GEMEM_NO_OFFSET;
  plan->totals = g_array_new (FALSE, FALSE, sizeof (GememPlanTotal));
  plan->candidates = g_array_new (FALSE, FALSE, sizeof (GememPlanCandidate));
  g_array_set_clear_func (plan->candidates, clear_candidate);
  plan->segments = g_array_new (FALSE, FALSE, sizeof (GememPlanSegment));
  plan->batch_parts = g_array_new (FALSE, FALSE, sizeof (GememPlanPart));
  plan->memsets = g_array_new (FALSE, FALSE, sizeof (GememPlanMemset));
  g_array_set_clear_func (plan->memsets, clear_memset);
  plan->log = g_ptr_array_new_with_free_func (g_free);
  return plan;
}

void
gemem_plan_free (GememPlan *plan)
{
  if (plan == NULL)
    return;
  g_free (plan->planner);
  g_free (plan->offsets);
  g_free (plan->sizes);
  g_free (plan->spaces);
  g_free (plan->variables);
  g_free (plan->addresses);
  g_free (plan->winner);
  g_array_unref (plan->totals);
  g_array_unref (plan->candidates);
  g_array_unref (plan->segments);
  g_array_unref (plan->batch_parts);
  g_array_unref (plan->memsets);
  g_ptr_array_unref (plan->log);
  g_free (plan);
}

void
gemem_plan_add_memset (GememPlan *plan, const char *node, guint64 space, guint64 base, guint64 size)
{
  const GememPlanMemset memset = { g_strdup (node), space, base, size };

  g_array_append_val (plan->memsets, memset);
}

void
gemem_plan_add_candidate (GememPlan *plan, const char *name, guint64 total)
{
  GememPlanCandidate candidate = { g_strdup (name), total };

  g_array_append_val (plan->candidates, candidate);
}

static void
swap_candidates (GememPlan *a, GememPlan *b)
{
  GArray *kept = a->candidates;

  a->candidates = b->candidates;
  b->candidates = kept;
}

GememPlan *
gemem_plan_keep_best (GememPlan *best, GememPlan *other, const char *name, guint64 margin)
{
  const guint64 total = other != NULL ? other->arena : 0;
  const gboolean better = other != NULL && (best == NULL || total + margin < best->arena);

  if (better && best != NULL)
    swap_candidates (best, other);
  gemem_plan_free (better || other == NULL ? best : other);
  if (better)
    {
      best = other;
      g_free (best->winner);
      best->winner = g_strdup (name);
    }
  if (other == NULL)
    return NULL;
  gemem_plan_add_candidate (best, name, total);
  return best;
}

void
gemem_plan_add_log (GememPlan *plan, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_ptr_array_add (plan->log, g_strdup_vprintf (format, args));
  va_end (args);
}

GememPlanTotal *
gemem_plan_total (GememPlan *plan, guint64 space)
{
  const GememPlanTotal empty = { space, 0 };
  guint at = 0;

  while (at < plan->totals->len && g_array_index (plan->totals, GememPlanTotal, at).space < space)
    at++;
  if (at == plan->totals->len || g_array_index (plan->totals, GememPlanTotal, at).space != space)
    g_array_insert_val (plan->totals, at, empty);
  return &g_array_index (plan->totals, GememPlanTotal, at);
}

void
gemem_plan_add_total (GememPlan *plan, guint64 space, guint64 bytes)
{
  gemem_plan_total (plan, space)->bytes += bytes;
  plan->arena += bytes;
}
