/* fit.c - first fit and best fit over lifetimes in several orders: the heuristics of production
 * systems, as baselines.
 *
 * Items are placed one after another.  First fit takes the lowest offset that is free during the
 * item's whole life; best fit takes the smallest gap that is large enough (the lowest of equal
 * ones), or the top if there is no such gap.  Orders, each ending with the item's number:
 *   allocation  begin
 *   size        size descending, lifetime descending
 *   area        size x lifetime descending, size descending
 *   lifetime    lifetime descending, size descending
 *
 * Origin: offline-planning.md 3: first fit by size is TensorFlow Lite Micro's greedy planner and
 * idealloc's fallback; best fit by size XLA's kSpatial and TensorFlow Lite's arena; best fit by
 * lifetime XLA's kTemporal; best fit by allocation MLIR's static planning.  5.1 lists their results
 * on the MiniMalloc instances (tests/vectors/test-dsa-baselines.c).
 * Cost: O(n log n), plus the cost in occupancy.h.
 */
#include "config.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/units.h"
#include "planners/occupancy.h"
#include "planners/planner.h"

typedef enum
{
  ORDER_ALLOCATION,
  ORDER_SIZE,
  ORDER_AREA,
  ORDER_LIFETIME,
} Order;

typedef struct
{
  int order;
  guint64 alignment;
} Params;

#define ALIGNMENT_PARAM \
  { \
    .name = "alignment", .type = GEMEM_PARAM_SIZE, .default_text = "512", .min = "1", \
    .max = "1GiB", .help = "Offsets are multiples of this.", \
    .offset = G_STRUCT_OFFSET (Params, alignment) \
  }

static const GememParam params_in_order[] = {
  ALIGNMENT_PARAM,
  { NULL },
};

static const GememParam params_any_order[] = {
  { .name = "order",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "size",
    .choices = "allocation|size|area|lifetime",
    .help = "Which items are placed first.",
    .offset = G_STRUCT_OFFSET (Params, order) },
  ALIGNMENT_PARAM,
  { NULL },
};

typedef struct
{
  guint64 a, b, c; /* sort keys in this order, ascending */
  guint32 number;
} Key;

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  const Key *x = a, *y = b;

  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  if (x->c != y->c)
    return x->c < y->c ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static Key
key_of (const GememLifetime *life, guint32 number, Order order)
{
  const guint64 length = life->safe_end - life->begin;
  const __uint128_t area = (__uint128_t) life->size * length;

  switch (order)
    {
    case ORDER_SIZE:
      return (Key){ ~life->size, ~length, 0, number };
    case ORDER_AREA:
      return (Key){ ~(guint64) (area >> 64), ~(guint64) area, ~life->size, number };
    case ORDER_LIFETIME:
      return (Key){ ~length, ~life->size, 0, number };
    default:
      return (Key){ life->begin, 0, 0, number };
    }
}

/* ---- time columns: nothing changes within a column, between one begin or end and the next */

typedef struct
{
  guint64 *steps; /* ascending, distinct */
  guint32 n;
} Columns;

static Columns
find_columns (const GememLifetimes *lifetimes)
{
  const gsize n = lifetimes->items->len;
  Columns columns = { g_new (guint64, 2 * n + 1), 0 };

  for (gsize i = 0; i < n; i++)
    {
      columns.steps[2 * i] = gemem_lifetimes_get (lifetimes, i)->begin;
      columns.steps[2 * i + 1] = gemem_lifetimes_get (lifetimes, i)->safe_end;
    }
  qsort (columns.steps, 2 * n, sizeof (guint64), gemem_compare_uint64);
  for (gsize i = 0; i < 2 * n; i++)
    if (columns.n == 0 || columns.steps[i] != columns.steps[columns.n - 1])
      columns.steps[columns.n++] = columns.steps[i];
  return columns;
}

static guint32
column_of (const Columns *columns, guint64 step)
{
  const guint64 *found = bsearch (&step, columns->steps, columns->n, sizeof (guint64),
                                  gemem_compare_uint64);

  return (guint32) (found - columns->steps);
}

/* ---- planning */

typedef guint64 (*Fit) (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 size,
                        guint64 alignment);

/* Places the items of one space in the order of @keys. */
static guint64
place_space (const GememPlanInput *input, const Columns *columns, const Key *keys, guint n, Fit fit,
             guint64 alignment, GememPlan *plan)
{
  const GememLifetimes *lifetimes = input->lifetimes;
  g_autoptr (GememOccupancy) occupancy = gemem_occupancy_new (MAX (columns->n, 1));
  guint64 top = 0;

  for (guint i = 0; i < n && !gemem_plan_is_unwanted (input->interrupted); i++)
    {
      if (input->share != NULL)
        g_atomic_int_set (input->share, (gint) ((guint64) i * 1000 / n));
      const guint32 item = keys[i].number;
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);
      const guint32 first = column_of (columns, life->begin),
                    last = column_of (columns, life->safe_end);
      const guint64 unit = life->alignment != 0 ? life->alignment : alignment;
      const guint64 offset = fit (occupancy, first, last, life->size, unit);

      gemem_occupancy_take (occupancy, first, last, offset, offset + life->size);
      plan->offsets[item] = offset;
      plan->sizes[item] = life->size;
      plan->spaces[item] = life->space;
      top = MAX (top, offset + life->size);
    }
  return gemem_round_up (top, alignment);
}

static int
compare_spaces (gconstpointer a, gconstpointer b, gpointer lifetimes)
{
  const guint32 x =
      gemem_lifetimes_get ((const GememLifetimes *) lifetimes, ((const Key *) a)->number)->space;
  const guint32 y =
      gemem_lifetimes_get ((const GememLifetimes *) lifetimes, ((const Key *) b)->number)->space;

  return x != y ? (x < y ? -1 : 1) : compare_keys (a, b);
}

static GememPlan *
plan_fit (const GememPlanInput *input, Order order, Fit fit, guint64 alignment)
{
  const GememLifetimes *lifetimes = input->lifetimes;
  const guint n = lifetimes->items->len;
  GememPlan *plan = gemem_plan_new ("fit", n);
  g_autofree Key *keys = g_new (Key, (gsize) n + 1);
  Columns columns = find_columns (lifetimes);

  for (guint i = 0; i < n; i++)
    keys[i] = key_of (gemem_lifetimes_get (lifetimes, i), i, order);
  g_qsort_with_data (keys, (int) n, sizeof (Key), compare_spaces, (gpointer) lifetimes);
  plan->spaces = g_new0 (guint64, (gsize) n + 1);
  plan->alignment = alignment;
  for (guint i = 0, next; i < n; i = next)
    {
      const guint32 space = gemem_lifetimes_get (lifetimes, keys[i].number)->space;

      for (next = i; next < n && gemem_lifetimes_get (lifetimes, keys[next].number)->space == space;
           next++)
        ;
      gemem_plan_add_total (
          plan, space, place_space (input, &columns, keys + i, next - i, fit, alignment, plan));
    }
  g_free (columns.steps);
  return plan;
}

/* ---- the planners */

#define FIT_ITEM_BYTES 1000

static GememPlan *
plan_first_fit (gconstpointer params, const GememPlanInput *input, GError **error G_GNUC_UNUSED)
{
  return plan_fit (input, (Order) ((const Params *) params)->order, gemem_occupancy_first_fit,
                   ((const Params *) params)->alignment);
}

static GememPlan *
plan_best_fit (gconstpointer params, const GememPlanInput *input, GError **error G_GNUC_UNUSED)
{
  return plan_fit (input, (Order) ((const Params *) params)->order, gemem_occupancy_best_fit,
                   ((const Params *) params)->alignment);
}

#define IN_ORDER(fit, word, ORDER, text, source) \
  static GememPlan *plan_##fit##_fit_by_##word (gconstpointer params, const GememPlanInput *input, \
                                                GError **error G_GNUC_UNUSED) \
  { \
    return plan_fit (input, ORDER_##ORDER, gemem_occupancy_##fit##_fit, \
                     ((const Params *) params)->alignment); \
  } \
  const GememPlanner gemem_##fit##_fit_by_##word = { { #fit "-fit-by-" #word, NULL, text, source, \
                                                       params_in_order, sizeof (Params) }, \
                                                     0, \
                                                     512, \
                                                     plan_##fit##_fit_by_##word, \
                                                     FIT_ITEM_BYTES }

const GememPlanner gemem_first_fit = {
  { "first-fit", NULL,
    "Each item at the lowest offset that is free all its life, in an order to choose",
    "offline-planning.md 3", params_any_order, sizeof (Params) },
  0,
  512,
  plan_first_fit,
  FIT_ITEM_BYTES
};
IN_ORDER (first, allocation, ALLOCATION, "First fit in the order of allocation",
          "offline-planning.md 3");
IN_ORDER (first, size, SIZE,
          "First fit, largest first, as TensorFlow Lite Micro and idealloc's fallback do",
          "offline-planning.md 2, 3");
IN_ORDER (first, area, AREA, "First fit, largest size x lifetime first", "offline-planning.md 3");
IN_ORDER (first, lifetime, LIFETIME, "First fit, longest-lived first", "offline-planning.md 3");

const GememPlanner gemem_best_fit = {
  { "best-fit", NULL,
    "Each item in the smallest gap that is large enough all its life, in an order to choose",
    "offline-planning.md 3", params_any_order, sizeof (Params) },
  0,
  512,
  plan_best_fit,
  FIT_ITEM_BYTES
};
IN_ORDER (best, allocation, ALLOCATION,
          "Best fit in the order of allocation, as MLIR's static planning does",
          "offline-planning.md 3");
IN_ORDER (best, size, SIZE,
          "Best fit, largest first, as XLA's kSpatial and TensorFlow Lite's arena do",
          "offline-planning.md 3");
IN_ORDER (best, area, AREA,
          "Best fit, largest size x lifetime first, as XLA's kSpatialTemporal does",
          "offline-planning.md 3");
IN_ORDER (best, lifetime, LIFETIME, "Best fit, longest-lived first, as XLA's kTemporal does",
          "offline-planning.md 3");
