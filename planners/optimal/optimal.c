/* optimal.c - the planner `optimal`: searches for the least possible peak, and says how far from it
 * the plan may be.
 *
 * Stages, each only where those before did not reach the lower bound: parts.h cuts what can be
 * placed apart; dives (dive.h) in several orders; corner search (corner.h); local search (local.c); and the planners of fit.c where the input is
 * small, so that no plan of theirs is smaller.
 *
 * Invariants: `least` of the plan is a bound for every plan of the same lifetimes: the largest
 * load, each space by itself.  Effort is counted in steps, so that no plan depends on the clock.
 * Origin: offline-planning.md 6.  Cost: as dive.h says, for each order.
 */
#include "config.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/units.h"
#include "planners/optimal/parts.h"
#include "planners/planner.h"

typedef struct
{
  guint64 alignment, effort;
} Params;

static const GememParam params_optimal[] = {
  { .name = "alignment",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "512",
    .min = "1",
    .max = "1GiB",
    .help = "Offsets are multiples of this.",
    .offset = G_STRUCT_OFFSET (Params, alignment) },
  { .name = "effort",
    .type = GEMEM_PARAM_UINT,
    .default_text = "normal",
    .max = "1000000000000000",
    .special = "quick=0|normal=100000000|thorough=10000000000",
    .help = "Steps that the search may take where the bound is not reached at once.",
    .offset = G_STRUCT_OFFSET (Params, effort) },
  { NULL },
};

/* Up to here the planners of fit.c take milliseconds; and sums of sizes stay below 2^62. */
#define FIT_ITEMS 2000
#define MAX_SUM (G_GUINT64_CONSTANT (1) << 62)

static const char *const stage_names[GEMEM_STAGE_COUNT] = { "stack", "dive", "local-search",
                                                            "corner-search", "fit" };

static guint64
alignment_of (const GememLifetime *life, guint64 alignment)
{
  return life->alignment != 0 ? life->alignment : alignment;
}

/* Bytes in a unit; 0 if the sizes add up to more than can be counted. */
static guint64
find_unit (const GememLifetimes *lifetimes, guint64 alignment)
{
  unsigned __int128 sum = 0;
  guint64 unit = alignment;

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      const guint64 own = alignment_of (life, alignment);

      unit = gemem_common_divisor (unit, own);
      sum += (unsigned __int128) life->size + own;
    }
  return sum < MAX_SUM ? unit : 0;
}

/* ---- from lifetimes to boxes */

static GememBox
make_box (const GememLifetimes *lifetimes, guint32 item, guint64 unit, guint64 alignment)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);

  return (GememBox){ .size = (gint64) ((life->size + unit - 1) / unit),
                     .unit = (gint64) (alignment_of (life, alignment) / unit),
                     .life = (double) (life->safe_end - life->begin),
                     .item = item };
}

static guint32
column_of (const guint64 *steps, guint32 n, guint64 step)
{
  const guint64 *found = bsearch (&step, steps, n, sizeof (guint64), gemem_compare_uint64);

  return (guint32) (found - steps);
}

/* Gives each box the ranks of its steps among all steps as columns. */
static void
set_columns (GememBoxes *boxes, const GememLifetimes *lifetimes)
{
  g_autofree guint64 *steps = g_new (guint64, 2 * (gsize) boxes->n + 1);
  guint32 n = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, boxes->boxes[i].item);

      steps[2 * (gsize) i] = life->begin;
      steps[2 * (gsize) i + 1] = life->safe_end;
    }
  qsort (steps, 2 * (gsize) boxes->n, sizeof (guint64), gemem_compare_uint64);
  for (gsize i = 0; i < 2 * (gsize) boxes->n; i++)
    if (n == 0 || steps[i] != steps[n - 1])
      steps[n++] = steps[i];
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, boxes->boxes[i].item);

      boxes->boxes[i].first = column_of (steps, n, life->begin);
      boxes->boxes[i].last = column_of (steps, n, life->safe_end);
    }
  boxes->columns = n > 0 ? n - 1 : 0;
}

/* ---- a space */

typedef struct
{
  const GememPlanInput *input;
  guint64 alignment, unit;
  GememEffort effort;
  GememPlan *plan;
  GememStage stage; /* of the part that decides */
} Search;

static void
keep_offsets (Search *search, const GememBox *boxes, guint32 n, GArray *parts)
{
  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
  for (guint32 i = 0; i < n; i++)
    search->plan->offsets[boxes[i].item] = (guint64) boxes[i].offset * search->unit;
}

static void
note_stage (Search *search, const GArray *parts)
{
  const gint64 top = gemem_parts_top (parts);

  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      if (part->base + part->top == top)
        search->stage = MAX (search->stage, part->stage);
    }
}

static void
place_space (Search *search, guint32 space, GememBox *boxes, guint32 n)
{
  GememBoxes all = { boxes, n, 0 };

  set_columns (&all, search->input->lifetimes);
  g_autoptr (GArray) parts = gemem_parts_new (all);
  const gint64 bound = gemem_parts_bound (parts);

  gemem_parts_dive (parts, bound, search->input->interrupted);
  gemem_parts_search (parts, bound, &search->effort);
  note_stage (search, parts);
  gemem_plan_add_total (
      search->plan, space,
      gemem_round_up ((guint64) gemem_parts_top (parts) * search->unit, search->alignment));
  search->plan->least += gemem_round_up ((guint64) gemem_parts_bound (parts) * search->unit,
                                         search->alignment);
  keep_offsets (search, boxes, n, parts);
}

static int
compare_spaces (gconstpointer a, gconstpointer b, gpointer lifetimes)
{
  const guint32 x = ((const GememBox *) a)->item, y = ((const GememBox *) b)->item;
  const guint32 space_x = gemem_lifetimes_get ((const GememLifetimes *) lifetimes, x)->space;
  const guint32 space_y = gemem_lifetimes_get ((const GememLifetimes *) lifetimes, y)->space;

  if (space_x != space_y)
    return space_x < space_y ? -1 : 1;
  return x < y ? -1 : x > y;
}

static void
place_all (Search *search)
{
  const GememLifetimes *lifetimes = search->input->lifetimes;
  const guint n = lifetimes->items->len;
  g_autofree GememBox *boxes = g_new (GememBox, (gsize) n + 1);

  for (guint i = 0; i < n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      boxes[i] = make_box (lifetimes, i, search->unit, search->alignment);
      search->plan->sizes[i] = life->size;
      search->plan->spaces[i] = life->space;
    }
  g_qsort_with_data (boxes, (int) n, sizeof (GememBox), compare_spaces, (gpointer) lifetimes);
  for (guint i = 0, next; i < n; i = next)
    {
      const guint32 space = gemem_lifetimes_get (lifetimes, boxes[i].item)->space;

      for (next = i; next < n && gemem_lifetimes_get (lifetimes, boxes[next].item)->space == space;
           next++)
        ;
      place_space (search, space, boxes + i, next - i);
    }
}

/* ---- the planners of fit.c */

static GememPlan *
plan_fit (const char *name, const GememPlanInput *input, guint64 alignment)
{
  g_autofree char *text = g_strdup_printf ("%s:alignment=%" G_GUINT64_FORMAT, name, alignment);
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  return gemem_planner_parse (text, choices, NULL)
             ? gemem_planner_run (choices->pdata[0], input, NULL)
             : NULL;
}

/* The smallest of @best and the plans of fit.c. */
static GememPlan *
compare_with_fits (GememPlan *best, const GememPlanInput *input, guint64 alignment)
{
  static const char *const names[] = { "best-fit-by-allocation",  "first-fit-by-size",
                                       "first-fit-by-allocation", "first-fit-by-lifetime",
                                       "first-fit-by-area",       "best-fit-by-size",
                                       "best-fit-by-area",        "best-fit-by-lifetime" };

  for (guint i = 0; i < G_N_ELEMENTS (names) && best->arena > best->least; i++)
    {
      GememPlan *plan = plan_fit (names[i], input, alignment);

      if (plan != NULL && plan->arena < best->arena)
        {
          plan->least = best->least;
          plan->winner = g_strdup (names[i]);
          gemem_plan_free (best);
          best = plan;
        }
      else
        gemem_plan_free (plan);
    }
  return best;
}

static GememPlan *
plan_optimal (gconstpointer params, const GememPlanInput *input, GError **error G_GNUC_UNUSED)
{
  const Params *given = params;
  const guint n = input->lifetimes->items->len;
  Search search = { input,
                    given->alignment,
                    find_unit (input->lifetimes, given->alignment),
                    { given->effort, input->interrupted },
                    gemem_plan_new ("optimal", n),
                    GEMEM_STAGE_STACK };

  search.plan->spaces = g_new0 (guint64, (gsize) n + 1);
  search.plan->alignment = given->alignment;
  if (search.unit == 0) /* too large to be counted in steps of one byte */
    {
      gemem_plan_free (search.plan);
      return plan_fit ("best-fit-by-size", input, given->alignment);
    }
  place_all (&search);
  search.plan->winner = g_strdup (stage_names[search.stage]);
  return n <= FIT_ITEMS ? compare_with_fits (search.plan, input, given->alignment) : search.plan;
}

const GememPlanner gemem_planner_optimal = {
  { "optimal", NULL,
    "Searches for the least possible memory, and says how far from it the plan may be",
    "offline-planning.md 6", params_optimal, sizeof (Params) },
  0,
  512,
  plan_optimal,
  250
};
