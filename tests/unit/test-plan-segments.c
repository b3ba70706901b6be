/* test-plan-segments.c - plans cut into segments: those of GE's planner unchanged, other plans
 * at offsets that no item crosses, joined up to the split size; together they are the plan's
 * device memory, byte for byte. */
#include "config.h"

#include "graphs/format.h"
#include "planners/plan-segments.h"
#include "planners/planner.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"

static const GememPlanSegment *
at (const GArray *segments, guint i)
{
  return &g_array_index (segments, GememPlanSegment, i);
}

static guint64
check_whole (const GArray *segments)
{
  guint64 end = 0;

  for (guint i = 0; i < segments->len; i++)
    {
      g_assert_cmpuint (at (segments, i)->base, ==, end);
      g_assert_cmpuint (at (segments, i)->size, >, 0);
      end += at (segments, i)->size;
    }
  return end;
}

/* Items at 0-1000, 500-2000, 2000-2100, 2100-4096; one without memory, one in another space. */
static GememPlan *
small_plan (void)
{
  static const guint64 offsets[] = { 2100, 500, GEMEM_NO_OFFSET, 0, 2000, 0 },
                       sizes[] = { 1996, 1500, 7, 1000, 100, 64 };
  GememPlan *plan = gemem_plan_new ("by hand", G_N_ELEMENTS (offsets));

  plan->spaces = g_new0 (guint64, G_N_ELEMENTS (offsets));
  plan->spaces[5] = GEMEM_MEMORY_P2P;
  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    {
      plan->offsets[i] = offsets[i];
      plan->sizes[i] = sizes[i];
    }
  gemem_plan_add_total (plan, GEMEM_MEMORY_HBM, 4100);
  gemem_plan_add_total (plan, GEMEM_MEMORY_P2P, 64);
  return plan;
}

static void
test_items (void)
{
  g_autoptr (GememPlan) plan = small_plan ();
  guint64 elsewhere;
  g_autoptr (GArray) all = gemem_plan_segments (plan, 0, &elsewhere),
                     some = gemem_plan_segments (plan, 512, &elsewhere);
  g_autoptr (GArray) one = gemem_plan_segments (plan, 200 * MIB, &elsewhere);

  g_assert_cmpuint (elsewhere, ==, 64);
  g_assert_cmpuint (all->len, ==, 3);
  g_assert_cmpuint (at (all, 0)->size, ==, 2000);
  g_assert_cmpuint (at (all, 1)->size, ==, 100);
  g_assert_cmpuint (at (all, 2)->size, ==, 2000);
  g_assert_cmpuint (some->len, ==, 2); /* 2100 begins 100 bytes behind 2000 */
  g_assert_cmpuint (at (some, 1)->base, ==, 2000);
  g_assert_cmpuint (one->len, ==, 1);
  g_assert_cmpuint (check_whole (all), ==, 4100);
  g_assert_cmpuint (check_whole (some), ==, 4100);
  g_assert_cmpuint (check_whole (one), ==, 4100);
}

static void
test_nothing (void)
{
  g_autoptr (GememPlan) plan = gemem_plan_new ("empty", 0);
  guint64 elsewhere;
  g_autoptr (GArray) segments = gemem_plan_segments (plan, 512, &elsewhere);

  g_assert_cmpuint (segments->len, ==, 0);
  g_assert_cmpuint (elsewhere, ==, 0);
}

/* The segments of GE's planner are passed on, the fixed and the zero-copy part included. */
static void
test_of_planner (void)
{
  static const GememPlanSegment given[] = {
    { GEMEM_MEMORY_HBM, 0, 1000, FALSE, FALSE },    { GEMEM_MEMORY_HBM, 1000, 200, TRUE, FALSE },
    { GEMEM_MEMORY_HBM, 1200, 3000, FALSE, FALSE }, { GEMEM_MEMORY_P2P, 0, 9, FALSE, FALSE },
    { GEMEM_MEMORY_HBM, 4200, 100, FALSE, TRUE },
  };
  g_autoptr (GememPlan) plan = small_plan ();
  guint64 elsewhere;

  g_array_append_vals (plan->segments, given, G_N_ELEMENTS (given));
  g_array_index (plan->totals, GememPlanTotal, 0).bytes = 4300;
  g_autoptr (GArray) same = gemem_plan_segments (plan, 0, &elsewhere),
                     one = gemem_plan_segments (plan, MIB, &elsewhere);
  g_assert_cmpuint (same->len, ==, 4);
  g_assert_true (at (same, 1)->fixed && !at (same, 2)->fixed && at (same, 3)->zero_copy);
  g_assert_cmpuint (at (same, 1)->base, ==, 1000);
  g_assert_cmpuint (check_whole (same), ==, 4300);
  g_assert_cmpuint (one->len, ==, 2);
  g_assert_true (at (one, 0)->fixed && at (one, 1)->zero_copy);
  g_assert_cmpuint (at (one, 1)->size, ==, 100);
  g_assert_cmpuint (check_whole (one), ==, 4300);
}

/* Bundled graphs: the segments are the whole feature map, for any planner. */
static void
test_bundled (void)
{
  static const char *const graphs[] = { "resnet50-train", "resnet50-inference", "bert-inference",
                                        "resnet50-multibatch" };
  static const char *const planners[] = { "ge-hybrid", "first-fit-by-size", "paddle-release-memory",
                                          "no-reuse" };

  for (guint g = 0; g < G_N_ELEMENTS (graphs); g++)
    {
      g_autofree char *relative = g_strdup_printf ("graphs/bundled/%s.json.gz", graphs[g]),
                      *path = test_source_path (relative);
      g_autoptr (GError) error = NULL;
      GememGraph *graph = gemem_graph_open (path, NULL, &error);
      const GememPlanInput input = { .graph = graph };

      g_assert_no_error (error);
      for (guint p = 0; p < G_N_ELEMENTS (planners); p++)
        {
          g_autoptr (GPtrArray)
              choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
          g_assert_true (gemem_planner_parse (planners[p], choices, &error));
          g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[0], &input, &error);
          guint64 elsewhere, cut = 0;
          g_assert_no_error (error);
          g_autoptr (GArray)
              segments = gemem_plan_segments (plan, GEMEM_PLAN_SPLIT_STATIC, &elsewhere);

          g_assert_cmpuint (check_whole (segments) + elsewhere, ==, plan->arena);
          /* first fit: every offset may be crossed by an item */
          g_assert_cmpuint (segments->len, >, p == 1 || p == 2 ? 0 : 1);
          /* No item crosses from one segment into the next. */
          for (guint32 i = 0; i < plan->n_items; i++)
            for (guint s = 1; s < segments->len && p > 0; s++)
              cut += plan->sizes[i] > 0 && plan->offsets[i] < at (segments, s)->base
                     && plan->offsets[i] + plan->sizes[i] > at (segments, s)->base;
          g_assert_cmpuint (cut, ==, 0);
        }
      gemem_graph_unref (graph);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-segments/items", test_items);
  g_test_add_func ("/plan-segments/nothing", test_nothing);
  g_test_add_func ("/plan-segments/of-planner", test_of_planner);
  g_test_add_func ("/plan-segments/bundled", test_bundled);
  return g_test_run ();
}
