/* test-dsa-baselines.c - the greedy baselines, the planners of other systems and `optimal` over the shared planning
 * instances: every plan is safe, none is below the lower bound, and the MiniMalloc instances give the figures that
 * offline-planning.md 5.1 measured with independent programs.
 *
 * The diagnostics list the arenas, as multiples of the lower bound.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "planners/check.h"
#include "tests/util/testutil.h"
#include "traces/minimalloc/table.h"

static void
add_row (const GememMinimallocRow *row, gpointer lifetimes)
{
  gemem_lifetimes_add (lifetimes, (guint64) row->lower, (guint64) row->upper, row->size);
}

static GememLifetimes *
read_instance (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_path_get_basename (path);
  GememLifetimes *lifetimes = gemem_lifetimes_new (name);
  GememInput *input = gemem_input_open (path, &error);
  guint64 behind;

  g_assert_no_error (error);
  gemem_minimalloc_read (input, add_row, lifetimes, &behind, &error);
  g_assert_no_error (error);
  gemem_input_close (input);
  return lifetimes;
}

/* The arena of a plan by the planner @text, at alignment 1. */
static guint64
plan_checked (const char *text, const GememLifetimes *lifetimes)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *choice = g_strconcat (text, strchr (text, ':') != NULL ? "," : ":",
                                         "alignment=1", NULL);
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { NULL, lifetimes, 1 };
  g_autoptr (GememPlan) plan = NULL;

  gemem_planner_parse (choice, choices, &error);
  g_assert_no_error (error);
  plan = gemem_planner_run (choices->pdata[0], &input, &error);
  g_assert_no_error (error);
  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (plan->lower_bound, ==, gemem_lifetimes_lower_bound (lifetimes, 1));
  g_assert_cmpuint (plan->arena, >=, plan->lower_bound);
  g_test_message ("%s: %s: %" G_GUINT64_FORMAT " = %.4f x lower bound, %" G_GUINT64_FORMAT
                  " of %u items reuse memory",
                  lifetimes->name, text, plan->arena,
                  (double) plan->arena / (double) plan->lower_bound, plan->reused, plan->n_items);
  return plan->arena;
}

/* The table of 5.1: arena divided by lower bound, to three digits. */
static const struct
{
  const char *name, *first_by_size, *first_by_area, *best_by_lifetime;
  const char *optimal; /* NULL: a second does not do */
} measured[] = {
  { "A", "1.290", "1.669", "1.456", "1.000" }, { "B", "1.347", "1.889", "1.503", "1.000" },
  { "C", "1.364", "1.967", "1.473", "1.000" }, { "D", "1.309", "1.534", "1.484", NULL },
  { "E", "1.369", "1.706", "1.600", "1.000" }, { "F", "1.367", "1.340", "1.408", "1.000" },
  { "G", "1.362", "1.405", "1.402", "1.000" }, { "H", "1.360", "1.387", "1.412", "1.000" },
  { "I", "1.410", "2.310", "1.631", "1.000" }, { "J", "1.313", "1.694", "1.611", NULL },
  { "K", "1.277", "2.329", "1.784", "1.000" },
};

static void
assert_ratio (const char *planner, const GememLifetimes *lifetimes, const char *expected)
{
  const guint64 arena = plan_checked (planner, lifetimes),
                bound = gemem_lifetimes_lower_bound (lifetimes, 1);
  g_autofree char *ratio = g_strdup_printf ("%.3f", (double) arena / (double) bound);

  g_assert_cmpstr (ratio, ==, expected);
}

static GememLifetimes *
minimalloc_instance (const char *name)
{
  g_autofree char *relative = g_strdup_printf ("dsa/minimalloc/%s.1048576.csv", name);
  g_autofree char *path = test_shared_path (relative);

  return path != NULL ? read_instance (path) : NULL;
}

static void
test_minimalloc (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (measured); i++)
    {
      g_autoptr (GememLifetimes) lifetimes = minimalloc_instance (measured[i].name);

      if (lifetimes == NULL)
        return;
      assert_ratio ("first-fit-by-size", lifetimes, measured[i].first_by_size);
      assert_ratio ("first-fit-by-area", lifetimes, measured[i].first_by_area);
      assert_ratio ("best-fit-by-lifetime", lifetimes, measured[i].best_by_lifetime);
      if (measured[i].optimal != NULL)
        assert_ratio ("optimal", lifetimes, measured[i].optimal);
      else
        g_assert_cmpuint (plan_checked ("optimal", lifetimes), <,
                          plan_checked ("first-fit-by-size", lifetimes));
    }
}

/* Geometric mean and largest arena by lower bound over A to K, as 3 and 5.1 have them. */
static const struct
{
  const char *planner, *mean, *most;
} systems[] = {
  { "xla-heap", "1.355", "1.410" },
  { "xla-heap:order=temporal", "1.520", "1.784" },
  { "tflite-arena", "1.355", "1.410" },
  { "tvm-usmp-by-size", "1.937", "2.507" },
  { "tvm-usmp-by-conflicts", "2.620", "3.701" },
  { "onnxruntime-pattern", "1.557", "1.855" },
  { "iree-slices", "1.818", "2.629" },
  { "executorch-greedy", "1.505", "1.812" }, /* executorch 1.5.1 itself: each arena the same */
  { "first-fit-by-size", "1.342", "1.410" },
  /* by the rule the later one of equal sizes comes first; 1.342 was measured without that */
  { "tflm-greedy", "1.338", "1.410" },
  /* random: 1.327 was measured of idealloc itself, in as many lives */
  { "idealloc", "1.281", "1.370" },
};

static void
test_systems (void)
{
  double logs[G_N_ELEMENTS (systems)] = { 0 }, most[G_N_ELEMENTS (systems)] = { 0 };

  for (gsize i = 0; i < G_N_ELEMENTS (measured); i++)
    {
      g_autoptr (GememLifetimes) lifetimes = minimalloc_instance (measured[i].name);

      for (gsize p = 0; lifetimes != NULL && p < G_N_ELEMENTS (systems); p++)
        {
          const double ratio = (double) plan_checked (systems[p].planner, lifetimes)
                               / (double) gemem_lifetimes_lower_bound (lifetimes, 1);

          logs[p] += log (ratio);
          most[p] = MAX (most[p], ratio);
        }
      if (lifetimes == NULL)
        return;
    }
  for (gsize p = 0; p < G_N_ELEMENTS (systems); p++)
    {
      g_autofree char *found = g_strdup_printf ("%s %.3f (%.3f)", systems[p].planner,
                                                exp (logs[p] / G_N_ELEMENTS (measured)), most[p]);
      g_autofree char *expected = g_strdup_printf ("%s %s (%s)", systems[p].planner,
                                                   systems[p].mean, systems[p].most);

      g_assert_cmpstr (found, ==, expected);
    }
}

/* What MiniMalloc 1.1 finds at its own capacity, by 1: C at 1047552, D at the capacity itself. */
static void
test_search (void)
{
  static const struct
  {
    const char *name;
    guint64 height;
  } found[] = { { "A", 1048576 }, { "C", 1047552 }, { "D", 1048576 }, { "F", 1048576 } };

  for (gsize i = 0; i < G_N_ELEMENTS (found); i++)
    {
      g_autoptr (GememLifetimes) lifetimes = minimalloc_instance (found[i].name);

      if (lifetimes == NULL)
        return;
      g_assert_cmpuint (plan_checked ("minimalloc:effort=thorough,capacity=1048576", lifetimes), ==,
                        found[i].height);
    }
}

/* "Y_1: first fit by size 1.0036" (5.2). */
static void
test_large (void)
{
  g_autofree char *path = test_shared_path ("dsa/traces/Y_1.csv.gz");
  g_autoptr (GememLifetimes) lifetimes = path != NULL ? read_instance (path) : NULL;
  g_autofree char *ratio = NULL;

  if (lifetimes == NULL)
    return;
  ratio = g_strdup_printf ("%.4f", (double) plan_checked ("first-fit-by-size", lifetimes)
                                       / (double) gemem_lifetimes_lower_bound (lifetimes, 1));
  g_assert_cmpstr (ratio, ==, "1.0036");
}

/* What the dives miss by 0.8 and 0.1 % of these, whatever the order of their rows. */
static void
test_peak (void)
{
  static const char *const names[] = { "dsa/traces/pangu_2.6B.csv.gz", "dsa/traces/S_1.csv.gz" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = test_shared_path (names[i]);
      g_autoptr (GememLifetimes) lifetimes = path != NULL ? read_instance (path) : NULL;
      g_autoptr (GememLifetimes) reversed = gemem_lifetimes_new ("reversed");

      if (lifetimes == NULL)
        return;
      for (guint k = lifetimes->items->len; k-- > 0;)
        {
          const GememLifetime *life = gemem_lifetimes_get (lifetimes, k);

          gemem_lifetimes_add (reversed, life->begin, life->end, life->size);
        }
      for (guint turn = 0; turn < 2; turn++)
        g_assert_cmpuint (plan_checked ("optimal:effort=quick", turn == 0 ? lifetimes : reversed),
                          ==, gemem_lifetimes_lower_bound (lifetimes, 1));
    }
}

static void
test_all (void)
{
  static const char *const dirs[] = { "dsa/minimalloc", "dsa/traces" };
  static const char *const planners[] = {
    "no-reuse",
    "first-fit-by-size",
    "best-fit-by-allocation", /* large instances run these only */
    "first-fit-by-allocation",
    "first-fit-by-area",
    "first-fit-by-lifetime",
    "best-fit-by-size",
    "best-fit-by-area",
    "best-fit-by-lifetime"
  };
  const gboolean quick = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0;

  for (gsize d = 0; d < G_N_ELEMENTS (dirs); d++)
    {
      g_autoptr (GPtrArray) files = test_shared_files (dirs[d], d == 0 ? ".csv" : ".csv.gz");

      for (guint i = 0; files != NULL && i < files->len; i++)
        {
          g_autoptr (GememLifetimes) lifetimes = read_instance (files->pdata[i]);

          for (gsize p = 0; p < (lifetimes->items->len < 20000 ? G_N_ELEMENTS (planners)
                                 : quick                       ? 0
                                                               : 3);
               p++)
            plan_checked (planners[p], lifetimes);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dsa/minimalloc", test_minimalloc);
  g_test_add_func ("/dsa/systems", test_systems);
  g_test_add_func ("/dsa/search", test_search);
  g_test_add_func ("/dsa/large", test_large);
  g_test_add_func ("/dsa/peak", test_peak);
  g_test_add_func ("/dsa/all", test_all);
  return g_test_run ();
}
