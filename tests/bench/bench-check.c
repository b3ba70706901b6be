/* bench-check.c - the plan checker: time per item and its growth, for plans of lifetimes and of
 * graphs with one and four streams.
 *
 * Every node reads the node before it and the one seven before it, and outputs take turns on 64
 * addresses, so that each plan is safe and every item but the first 64 reuses memory of an earlier
 * one. The exponent describes the growth from the previous size: 1 is linear. Goal: a million
 * tensors in under five seconds.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "planners/check.h"
#include "tests/bench/bench.h"

enum
{
  PLACES = 64
};

static void
add_node (GememGraph *graph, guint i, guint n_streams)
{
  char name[16];

  g_snprintf (name, sizeof name, "n%u", i);
  gemem_graph_add_node (graph, name, "Op");
  gemem_graph_edit_node (graph)->stream = i % n_streams;
  for (guint back = 1; back <= 7 && back <= i; back += 6)
    {
      g_snprintf (name, sizeof name, "n%u", i - back);
      gemem_graph_add_input (graph, name, 0);
    }
  gemem_graph_add_output (graph, 512);
}

static GememGraph *
make_graph (guint n, guint n_streams)
{
  GememGraph *graph = gemem_graph_new ("bench");

  for (guint i = 0; i < n; i++)
    add_node (graph, i, n_streams);
  gemem_graph_seal (graph, "bench", NULL);
  return graph;
}

static GememLifetimes *
make_lifetimes (guint n)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("bench");

  for (guint i = 0; i < n; i++)
    gemem_lifetimes_add (lifetimes, i, i + 8, 512);
  return lifetimes;
}

static GememPlan *
make_plan (guint n)
{
  GememPlan *plan = gemem_plan_new ("bench", n);

  for (guint i = 0; i < n; i++)
    {
      plan->offsets[i] = i % PLACES * 512;
      plan->sizes[i] = 512;
    }
  plan->alignment = 512;
  gemem_plan_add_total (plan, 0, PLACES * 512);
  return plan;
}

/* Seconds for one check of @n items; @n_streams 0: lifetimes. */
static double
measure (guint n, guint n_streams)
{
  g_autoptr (GememGraph) graph = n_streams > 0 ? make_graph (n, n_streams) : NULL;
  g_autoptr (GememLifetimes) lifetimes = make_lifetimes (n);
  const GememPlanInput input = { graph, lifetimes, 1 };
  g_autoptr (GememPlan) plan = make_plan (n);
  const gint64 start = bench_clock ();
  g_autoptr (GPtrArray) found = gemem_plan_check (plan, &input, 1);
  const gint64 spent = bench_clock () - start;

  g_assert_cmpuint (found->len, ==, 0);
  g_assert_cmpuint (plan->reused, ==, n - MIN (n, PLACES));
  return (double) MAX (spent, 1) / 1e6;
}

int
main (void)
{
  static const struct
  {
    const char *name;
    guint n_streams;
  } kinds[] = { { "lifetimes", 0 }, { "graph", 1 }, { "graph-4-streams", 4 } };
  const guint most = (guint) bench_size (1000000, 1000);

  for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (guint n = most / 100; n <= most; n *= 10)
      {
        static double before;
        const double seconds = measure (n, kinds[k].n_streams);

        printf ("{\"bench\":\"plan-check\",\"input\":\"%s\",\"n\":%u,\"seconds\":%.3f,\"ns_per_"
                "item\":%.1f,\"exponent\":%.2f}\n",
                kinds[k].name, n, seconds, seconds * 1e9 / n,
                n > most / 100 ? log10 (seconds / before) : 0.0);
        fflush (stdout);
        before = seconds;
      }
  return 0;
}
