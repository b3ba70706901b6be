/* check.c - checks a plan against lifetimes, or against a graph (check-graph.c); see check.h. */
#include "config.h"

#include "base/units.h"
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

/* ---- plans of lifetimes */

typedef struct
{
  GememCheck *check;
  const GememLifetimes *lifetimes;
  const GArray *pieces; /* what claims bytes: parts of lives */
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
  const GememLifePiece *one = &g_array_index (lives->pieces, GememLifePiece, earlier),
                       *other = &g_array_index (lives->pieces, GememLifePiece, later);

  if (one->end > other->begin)
    return gemem_check_report (lives->check, GEMEM_VIOLATION_OVERLAP, one->item, other->item,
                               "share bytes while both are alive");
  if (one->item != other->item)
    lives->check->reused[other->item] = TRUE;
  return TRUE;
}

/* An item by itself, as gemem_check_item(). */
static gboolean
check_life (GememCheck *check, const GememLifetimes *lifetimes, guint32 item, gboolean *sound)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);
  const guint64 place = gemem_lifetimes_place (lifetimes, item);
  const guint64 alignment = life->alignment != 0       ? life->alignment
                            : place != GEMEM_ANY_PLACE ? 1
                                                       : check->plan->alignment;

  *sound = FALSE;
  if (life->size == 0) /* shares no bytes, wherever it is */
    return TRUE;
  if (!gemem_check_item (check, item, life->size, alignment, sound))
    return FALSE;
  return place == GEMEM_ANY_PLACE || place == check->plan->offsets[item]
         || gemem_check_report (check, GEMEM_VIOLATION_FIXED, item, GEMEM_NONE,
                                "has to begin at byte %" G_GUINT64_FORMAT, place);
}

static void
check_lifetimes (GememCheck *check, const GememLifetimes *lifetimes)
{
  g_autofree guint32 *starts = NULL;
  g_autoptr (GArray) pieces = gemem_lifetimes_pieces (lifetimes, &starts);
  LifetimesCheck lives = { check, lifetimes, pieces };
  g_autoptr (GArray) claims = g_array_sized_new (FALSE, FALSE, sizeof (GememClaim), pieces->len);
  const GememPlan *plan = check->plan;

  check->describe = describe_lifetime;
  check->data = &lives;
  for (guint32 i = 0; i < lifetimes->items->len; i++)
    {
      gboolean sound;

      if (!check_life (check, lifetimes, i, &sound))
        return;
      for (guint32 p = starts[i]; p < starts[i + 1] && sound; p++)
        {
          const GememLifePiece *piece = &g_array_index (pieces, GememLifePiece, p);
          /* what the plan reserves for a whole item may be more than its size */
          const guint64 end = piece->high == gemem_lifetimes_get (lifetimes, i)->size
                                  ? plan->sizes[i]
                                  : piece->high;
          const GememClaim claim = { gemem_check_space (check, i), plan->offsets[i] + piece->low,
                                     plan->offsets[i] + end, piece->begin, p };

          g_array_append_val (claims, claim);
        }
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
               gemem_plural (found->len), found->len == 1000 ? " or more" : "",
               gemem_violation_name (first->kind), first->text);
  return FALSE;
}
