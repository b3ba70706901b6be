/* test-optimal-shapes.c - gaps, windows, fixed offsets and mixed alignments, each and together: on thousands of tiny
 * instances `optimal` finds the least top and proves it, as brute force does; the checker, the bound and the
 * conflicts agree with a grid of bytes and steps, and what sizes can add up to is no bound above the least. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "planners/check.h"
#include "planners/optimal/sums.h"

#define INSTANCES 3000
#define STEPS 7
#define MOST_ITEMS 5
#define MOST_BYTES 40

enum
{
  GAPS = 1,
  WINDOWS = 2,
  PLACES = 4,
  ALIGNMENTS = 8
};

/* ---- brute force: bytes in use at each step */

typedef struct
{
  const GememLifetimes *lifetimes;
  guint64 used[STEPS];
  guint64 offsets[MOST_ITEMS];
} Grid;

static gboolean
in_use (const GememLifetimes *lifetimes, guint32 item, guint64 step, guint64 *low, guint64 *high)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);

  *low = 0;
  *high = life->size;
  for (guint i = 0; lifetimes->gaps != NULL && i < lifetimes->gaps->len; i++)
    {
      const GememLifeGap *gap = &g_array_index (lifetimes->gaps, GememLifeGap, i);

      if (gap->item != item || step < gap->begin || step >= gap->end)
        continue;
      *low = gap->low;
      *high = gap->high;
    }
  return life->begin <= step && step < life->end && *low < *high;
}

static guint64
bits_of (const GememLifetimes *lifetimes, guint32 item, guint64 step, guint64 offset)
{
  guint64 low, high;

  if (!in_use (lifetimes, item, step, &low, &high))
    return 0;
  return ((G_GUINT64_CONSTANT (1) << (high - low)) - 1) << (offset + low);
}

static gboolean
can_take (const Grid *grid, guint32 item, guint64 offset)
{
  for (guint64 step = 0; step < STEPS; step++)
    if ((grid->used[step] & bits_of (grid->lifetimes, item, step, offset)) != 0)
      return FALSE;
  return TRUE;
}

static void
flip (Grid *grid, guint32 item, guint64 offset)
{
  for (guint64 step = 0; step < STEPS; step++)
    grid->used[step] ^= bits_of (grid->lifetimes, item, step, offset);
}

/* Whether items from @item on fit below @top. */
static gboolean
fits (Grid *grid, guint32 item, guint64 top)
{
  if (item == grid->lifetimes->items->len)
    return TRUE;
  const GememLifetime *life = gemem_lifetimes_get (grid->lifetimes, item);
  const guint64 place = gemem_lifetimes_place (grid->lifetimes, item),
                unit = life->alignment != 0 && place == GEMEM_ANY_PLACE ? life->alignment : 1;
  gboolean found = FALSE;

  for (guint64 offset = 0; offset + life->size <= top && !found; offset += unit)
    {
      if ((place != GEMEM_ANY_PLACE && offset != place) || !can_take (grid, item, offset))
        continue;
      grid->offsets[item] = offset;
      flip (grid, item, offset);
      found = fits (grid, item + 1, top);
      flip (grid, item, offset);
    }
  return found;
}

/* 0: none is below MOST_BYTES. */
static guint64
least_top (const GememLifetimes *lifetimes, guint64 *offsets)
{
  Grid grid = { .lifetimes = lifetimes };

  for (guint64 top = 1; top < MOST_BYTES; top++)
    if (fits (&grid, 0, top))
      {
        memcpy (offsets, grid.offsets, sizeof grid.offsets);
        return top;
      }
  return 0;
}

/* ---- instances */

static void
add_gaps (GememLifetimes *lifetimes, guint32 item, guint features, GememRng *rng)
{
  const GememLifetime *life = gemem_lifetimes_get (lifetimes, item);

  for (guint64 step = life->begin; step < life->end;)
    {
      const guint64 begin = step + gemem_rng_below (rng, 3),
                    end = begin + gemem_rng_range (rng, 1, 3);
      GememLifeGap gap = { begin, MIN (end, life->end), 0, 0, item };

      if (begin >= life->end || gemem_rng_below (rng, 3) == 0)
        return;
      if ((features & WINDOWS) != 0 && gemem_rng_below (rng, 3) > 0)
        {
          gap.low = gemem_rng_below (rng, life->size);
          gap.high = gemem_rng_range (rng, gap.low, life->size);
        }
      g_array_append_val (lifetimes->gaps, gap);
      step = gap.end;
    }
}

static GememLifetimes *
tiny (guint features, GememRng *rng)
{
  static const guint64 alignments[] = { 1, 2, 3, 4 };
  GememLifetimes *lifetimes = gemem_lifetimes_new ("tiny");
  const guint64 n = gemem_rng_range (rng, 2, MOST_ITEMS);

  lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  lifetimes->places = g_array_new (FALSE, FALSE, sizeof (guint64));
  for (guint32 i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (rng, STEPS - 1),
                    end = gemem_rng_range (rng, begin + 1, STEPS);
      guint64 place = GEMEM_ANY_PLACE;

      gemem_lifetimes_add (lifetimes, begin, end, gemem_rng_range (rng, 1, 5));
      if ((features & ALIGNMENTS) != 0)
        gemem_lifetimes_get (lifetimes, i)->alignment = alignments[gemem_rng_below (rng, 4)];
      if ((features & PLACES) != 0 && gemem_rng_below (rng, 3) == 0)
        place = gemem_rng_below (rng, 8);
      g_array_append_val (lifetimes->places, place);
      if ((features & (GAPS | WINDOWS)) != 0)
        add_gaps (lifetimes, i, features, rng);
    }
  if (lifetimes->gaps->len == 0)
    g_clear_pointer (&lifetimes->gaps, g_array_unref);
  if ((features & PLACES) == 0)
    g_clear_pointer (&lifetimes->places, g_array_unref);
  return lifetimes;
}

static GememPlan *
plan_with (const char *text, const GememPlanInput *input, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  g_assert_true (gemem_planner_parse (text, choices, NULL));
  return gemem_planner_run (choices->pdata[0], input, error);
}

/* Whether two places share bytes, or one is not aligned. */
static gboolean
has_conflict (const GememLifetimes *lifetimes)
{
  Grid grid = { .lifetimes = lifetimes };

  for (guint32 i = 0; lifetimes->places != NULL && i < lifetimes->items->len; i++)
    {
      const guint64 place = gemem_lifetimes_place (lifetimes, i),
                    unit = MAX (gemem_lifetimes_get (lifetimes, i)->alignment, 1);

      if (place == GEMEM_ANY_PLACE)
        continue;
      if (place % unit != 0 || !can_take (&grid, i, place))
        return TRUE;
      flip (&grid, i, place);
    }
  return FALSE;
}

/* ---- bounds */

/* Of instances, not with all orders of a column, and with them. */
typedef struct
{
  guint raised[2]; /* whose bound is above the load */
  guint closed[2]; /* and the least */
} Bounds;

static gboolean
find_bounds (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const GememLifetimes *lifetimes = ((gpointer *) data)[0];
  guint64 *found = ((gpointer *) data)[1];
  GememShapeSource source;

  gemem_shape_source_init (&source, lifetimes);
  g_autoptr (GememShapes) shapes = gemem_shapes_new (boxes, &source, 1);
  gemem_shape_source_clear (&source);
  found[0] = (guint64) gemem_sums_bound (shapes, 0);
  found[1] = (guint64) gemem_sums_bound (shapes, GEMEM_SUMS_ORDERS);
  return TRUE;
}

/* No bound is above the @least of all placements; @load: the bound by what is in use at once. */
static void
count_bounds (Bounds *bounds, const GememPlanInput *input, guint64 load, guint64 least)
{
  guint64 found[2] = { 0, 0 };
  gpointer data[] = { (gpointer) input->lifetimes, found };
  g_autoptr (GememPlan) unused = gemem_boxes_plan (input, 1, 1, find_bounds, data, NULL);

  g_assert_nonnull (unused);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_cmpuint (found[i], <=, least);
      bounds->raised[i] += found[i] > load;
      bounds->closed[i] += found[i] > load && found[i] == least;
    }
}

/* A plan with one offset changed is safe if and only if the grid says so. */
static void
check_changed (GememPlan *plan, const GememPlanInput *input, GememRng *rng)
{
  const guint32 changed = (guint32) gemem_rng_below (rng, plan->n_items);
  const GememLifetime *life = gemem_lifetimes_get (input->lifetimes, changed);
  const guint64 place = gemem_lifetimes_place (input->lifetimes, changed);
  Grid grid = { .lifetimes = input->lifetimes };
  gboolean safe;

  plan->offsets[changed] = gemem_rng_below (rng, plan->arena);
  safe = plan->offsets[changed] + life->size <= plan->arena
         && plan->offsets[changed] % MAX (life->alignment, 1) == 0
         && (place == GEMEM_ANY_PLACE || place == plan->offsets[changed]);
  for (guint32 i = 0; i < plan->n_items && safe; i++)
    {
      safe = can_take (&grid, i, plan->offsets[i]);
      flip (&grid, i, plan->offsets[i]);
    }
  g_assert_cmpint (gemem_plan_verify (plan, input, NULL), ==, safe);
}

static void
test_brute_force (gconstpointer data)
{
  const guint features = GPOINTER_TO_UINT (data);
  guint above = 0, conflicts = 0, unknown = 0;
  Bounds bounds = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, features, "shapes");
  for (guint i = 0; i < INSTANCES; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = tiny (features, &rng);
      const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = plan_with ("optimal:alignment=1", &input, &error);
      guint64 offsets[MOST_ITEMS];

      g_assert_cmpint (plan == NULL, ==, has_conflict (lifetimes));
      conflicts += plan == NULL;
      if (plan == NULL)
        {
          g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
          g_assert_nonnull (strstr (error->message, "no plan is possible"));
          continue;
        }
      gemem_plan_verify (plan, &input, &error);
      g_assert_no_error (error);
      const guint64 least = least_top (lifetimes, offsets);

      g_assert_cmpuint (least, >, 0);
      g_assert_cmpuint (plan->arena, ==, least);
      g_assert_cmpuint (plan->lower_bound, <=, least);
      g_assert_cmpuint (plan->least, <=, least);
      above += least > plan->lower_bound;
      unknown += plan->least < least;
      count_bounds (&bounds, &input, plan->lower_bound, least);
      check_changed (plan, &input, &rng);
    }
  g_test_message ("%u above their load, %u with conflicts, %u not proven", above, conflicts,
                  unknown);
  g_test_message (
      "what sizes add up to: %u bounds above the load, %u the least; not all orders: %u, %u",
      bounds.raised[1], bounds.closed[1], bounds.raised[0], bounds.closed[0]);
  for (guint i = 0; i < 2 && (features & (PLACES | ALIGNMENTS)) != 0; i++)
    g_assert_cmpuint (bounds.closed[i], >, above / 2);
  if (features == PLACES) /* most by holes alone, some by what fits nowhere below */
    g_assert_cmpuint (bounds.closed[0], >, above * 98 / 100);
  g_assert_cmpuint (above, >, 0);
  g_assert_cmpuint (unknown, ==, 0);
  g_assert_cmpint (conflicts > 0, ==, (features & PLACES) != 0);
}

/* Asked for a capacity, the answer is that of brute force. */
static void
test_capacity (void)
{
  const guint features = GAPS | WINDOWS | PLACES | ALIGNMENTS;
  guint named = 0, summed = 0, tried = 0, asked = 0;
  GememRng rng;

  gemem_rng_init (&rng, 5, "shapes-capacity");
  for (guint i = 0; i < 1000; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = tiny (features, &rng);
      const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
      guint64 offsets[MOST_ITEMS];
      const guint64 least = has_conflict (lifetimes) ? 0 : least_top (lifetimes, offsets);

      for (guint64 capacity = MAX (least, 1) - 1; least > 1 && capacity <= least; capacity++)
        {
          g_autoptr (GError) error = NULL;
          g_autofree char *text = g_strdup_printf (
              "optimal:alignment=1,capacity=%" G_GUINT64_FORMAT, capacity);
          g_autoptr (GememPlan) plan = plan_with (text, &input, &error);

          g_assert_cmpint (plan != NULL, ==, capacity == least);
          if (plan != NULL)
            continue;
          named += strstr (error->message, "item ") != NULL;
          summed += strstr (error->message, "cannot be filled") != NULL;
          tried += strstr (error->message, "all was tried") != NULL;
          asked++;
        }
    }
  g_test_message ("of %u: %u items named, %u what sizes add up to, %u by search", asked, named,
                  summed, tried);
  g_assert_cmpuint (named + summed + tried, ==, asked);
  g_assert_cmpuint (named, >, 0);
  g_assert_cmpuint (summed, >, 4 * tried);
  g_assert_cmpuint (tried, >, 0);
}

/* Others fill the gaps: their plans are safe, and prove nothing; and they refuse places. */
static void
test_others (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 6, "shapes-others");
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = tiny (i % 2 == 0 ? GAPS | WINDOWS : PLACES, &rng);
      const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
      g_autoptr (GError) error = NULL;
      g_autoptr (GememPlan) plan = plan_with ("minimalloc:alignment=1", &input, &error);

      g_assert_cmpint (plan != NULL, ==, lifetimes->places == NULL);
      if (plan == NULL)
        continue;
      gemem_plan_verify (plan, &input, &error);
      g_assert_no_error (error);
      g_assert_cmpint (plan->least > 0, ==, lifetimes->gaps == NULL);
    }
}

/* More than the exact search takes: no overlap, places kept, never below the bound, twice the same; and gaps
 * save memory. */
static void
test_many (void)
{
  GememRng rng;
  g_autoptr (GememLifetimes) lifetimes = gemem_lifetimes_new ("many");

  gemem_rng_init (&rng, 8, "shapes-many");
  lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  for (guint32 i = 0; i < 3000; i++)
    {
      const guint64 begin = gemem_rng_below (&rng, 2000), size = gemem_rng_range (&rng, 64, 4096);
      const GememLifeGap gap = { begin + 10, begin + 40, 0, i % 3 * size / 4, i };

      gemem_lifetimes_add (lifetimes, begin, begin + 50, size);
      g_array_append_val (lifetimes->gaps, gap);
    }
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  g_autoptr (GememPlan) plan = plan_with ("optimal:alignment=1,effort=50000000", &input, NULL);
  g_autoptr (GememPlan) again = plan_with ("optimal:alignment=1,effort=50000000", &input, NULL);
  g_autoptr (GError) error = NULL;

  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (plan->arena, >=, plan->least);
  g_assert_cmpmem (plan->offsets, plan->n_items * sizeof (guint64), again->offsets,
                   again->n_items * sizeof (guint64));
  g_autoptr (GememPlan) filled = plan_with ("first-fit-by-size:alignment=1", &input, NULL);
  g_assert_cmpuint (plan->arena, <, filled->arena);
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *path;
    guint features;
  } variants[] = {
    { "/optimal/shapes/gaps", GAPS },
    { "/optimal/shapes/windows", GAPS | WINDOWS },
    { "/optimal/shapes/places", PLACES },
    { "/optimal/shapes/alignments", ALIGNMENTS },
    { "/optimal/shapes/gaps-and-alignments", GAPS | ALIGNMENTS },
    { "/optimal/shapes/places-and-alignments", PLACES | ALIGNMENTS },
    { "/optimal/shapes/gaps-and-places", GAPS | PLACES },
    { "/optimal/shapes/windows-and-places", GAPS | WINDOWS | PLACES },
    { "/optimal/shapes/all", GAPS | WINDOWS | PLACES | ALIGNMENTS },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (variants); i++)
    g_test_add_data_func (variants[i].path, GUINT_TO_POINTER (variants[i].features),
                          test_brute_force);
  g_test_add_func ("/optimal/shapes/capacity", test_capacity);
  g_test_add_func ("/optimal/shapes/others", test_others);
  g_test_add_func ("/optimal/shapes/many", test_many);
  return g_test_run ();
}
