/* check.c - see check.h: what every plan must keep, and the sweep for plans of lifetimes;
 * check-graph.c has the rules of graphs. */
#include "config.h"

#include "planners/check-private.h"
#include "planners/check-sweep.h"

const char *
gemem_violation_name (GememViolationKind kind)
{
  static const char *const names[GEMEM_VIOLATION_COUNT] = { "overlap",   "stream",     "alignment",
                                                            "reference", "continuous", "fixed",
                                                            "outside",   "missing",    "size" };

  return names[kind];
}

static void
free_violation (gpointer data)
{
  g_free (((GememViolation *) data)->text);
  g_free (data);
}

gboolean
gemem_check_report (GememCheck *check, GememViolationKind kind, guint32 first, guint32 second,
                    const char *format, ...)
{
  GememViolation *violation = g_new0 (GememViolation, 1);
  g_autofree char *one = check->describe (check->data, first);
  g_autofree char *other = second != GEMEM_NONE ? check->describe (check->data, second) : NULL;
  g_autofree char *what = NULL;
  va_list args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  violation->kind = kind;
  violation->first = first;
  violation->second = second;
  violation->text = g_strconcat (one, other != NULL ? " and " : "", other != NULL ? other : "",
                                 ": ", what, NULL);
  g_ptr_array_add (check->found, violation);
  return check->found->len < check->max;
}

/* ---- one item */

static guint64
total_of_space (const GememPlan *plan, guint64 space)
{
  for (guint i = 0; i < plan->totals->len; i++)
    if (plan->spaces == NULL || g_array_index (plan->totals, GememPlanTotal, i).space == space)
      return g_array_index (plan->totals, GememPlanTotal, i).bytes;
  return 0;
}

gboolean
gemem_check_item (GememCheck *check, guint32 item, guint64 bytes, guint64 alignment,
                  gboolean *sound)
{
  const GememPlan *plan = check->plan;
  const guint64 total = total_of_space (plan, gemem_check_space (check, item));

  *sound = FALSE;
  if (plan->offsets[item] == GEMEM_NO_OFFSET)
    return gemem_check_report (check, GEMEM_VIOLATION_MISSING, item, GEMEM_NONE,
                               "needs memory and has no offset");
  if (plan->sizes[item] < bytes)
    return gemem_check_report (check, GEMEM_VIOLATION_SIZE, item, GEMEM_NONE,
                               "has %" G_GUINT64_FORMAT " bytes and needs %" G_GUINT64_FORMAT,
                               plan->sizes[item], bytes);
  if (plan->offsets[item] > total || plan->sizes[item] > total - plan->offsets[item])
    return gemem_check_report (check, GEMEM_VIOLATION_OUTSIDE, item, GEMEM_NONE,
                               "ends outside its space, which has %" G_GUINT64_FORMAT " bytes",
                               total);
  *sound = TRUE;
  if (alignment > 1 && plan->offsets[item] % alignment != 0)
    return gemem_check_report (check, GEMEM_VIOLATION_ALIGNMENT, item, GEMEM_NONE,
                               "the offset is no multiple of %" G_GUINT64_FORMAT, alignment);
  return TRUE;
}

/* ---- plans of lifetimes */

typedef struct
{
  GememCheck *check;
  const GememLifetimes *lifetimes;
} LifetimesCheck;

static char *
describe_lifetime (gconstpointer data, guint32 item)
{
  const LifetimesCheck *lives = data;
  const GememPlan *plan = lives->check->plan;
  const GememLifetime *life = gemem_lifetimes_get (lives->lifetimes, item);

  return g_strdup_printf ("item %u (id %" G_GUINT64_FORMAT ", steps %" G_GUINT64_FORMAT
                          " to %" G_GUINT64_FORMAT ", bytes %" G_GUINT64_FORMAT
                          " to %" G_GUINT64_FORMAT ")",
                          item, life->id, life->begin, life->safe_end, plan->offsets[item],
                          plan->offsets[item] + plan->sizes[item]);
}

static gboolean
meet_lifetimes (gpointer data, guint32 earlier, guint32 later)
{
  const LifetimesCheck *lives = data;

  if (gemem_lifetimes_get (lives->lifetimes, earlier)->safe_end
      > gemem_lifetimes_get (lives->lifetimes, later)->begin)
    return gemem_check_report (lives->check, GEMEM_VIOLATION_OVERLAP, earlier, later,
                               "share bytes while both are alive");
  lives->check->reused[later] = TRUE;
  return TRUE;
}

static void
check_lifetimes (GememCheck *check, const GememLifetimes *lifetimes)
{
  LifetimesCheck lives = { check, lifetimes };
  g_autoptr (GArray)
      claims = g_array_sized_new (FALSE, FALSE, sizeof (GememClaim), lifetimes->items->len);
  const GememPlan *plan = check->plan;

  check->describe = describe_lifetime;
  check->data = &lives;
  for (guint32 i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      const GememClaim claim = { gemem_check_space (check, i), plan->offsets[i],
                                 plan->offsets[i] + plan->sizes[i], life->begin, i };
      gboolean sound;

      if (!gemem_check_item (check, i, life->size,
                             life->alignment != 0 ? life->alignment : plan->alignment, &sound))
        return;
      if (sound)
        g_array_append_val (claims, claim);
    }
  gemem_claims_sweep (claims, meet_lifetimes, &lives);
}

/* ---- both */

static char *
describe_number (gconstpointer data G_GNUC_UNUSED, guint32 item)
{
  return g_strdup_printf ("item %u", item);
}

GPtrArray *
gemem_plan_check (GememPlan *plan, const GememPlanInput *input, guint max)
{
  const guint32 n = input->graph != NULL ? gemem_graph_n_items (input->graph)
                                         : input->lifetimes->items->len;
  g_autofree guint8 *reused = g_new0 (guint8, (gsize) n + 1);
  GememCheck check = {
    plan, g_ptr_array_new_with_free_func (free_violation), MAX (max, 1), reused, describe_number,
    NULL
  };

  if (plan->n_items != n)
    gemem_check_report (&check, GEMEM_VIOLATION_MISSING, MIN (n, plan->n_items), GEMEM_NONE,
                        "the plan has %u items, what it plans has %u", plan->n_items, n);
  else if (input->graph != NULL)
    gemem_check_graph (&check, input->graph);
  else
    check_lifetimes (&check, input->lifetimes);
  plan->reused = 0;
  for (guint32 i = 0; i < n; i++)
    plan->reused += reused[i];
  return check.found;
}

gboolean
gemem_plan_verify (GememPlan *plan, const GememPlanInput *input, GError **error)
{
  g_autoptr (GPtrArray) found = gemem_plan_check (plan, input, 1000);
  const GememViolation *first = found->len > 0 ? found->pdata[0] : NULL;

  if (first == NULL)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: unsafe plan, %u violation%s%s, the first: %s: %s", plan->planner, found->len,
               found->len == 1 ? "" : "s", found->len == 1000 ? " or more" : "",
               gemem_violation_name (first->kind), first->text);
  return FALSE;
}
