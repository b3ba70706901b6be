/* bench-planner.c - the cost of planning a graph, and its growth from 1 000 to 100 000 tensors; the
 * cost of lowering a graph.
 *
 *   bench-planner [PLANNER [TENSORS [SHAPE]]]     default: ge-hybrid on all shapes, growth in steps
 *                                                 of about three
 *
 * Graphs are built before the clock starts. Shapes: "chain" (a deep network: few sizes, forward and
 * backward), "random" (sizes over five decades, random fan-out), "streams" (the same on four
 * streams). One thread. One JSON line per plan, and one per planner and shape with the exponent of
 * the growth between the smallest and the largest graph. By default also each lowering, with its
 * defaults, of some 10 000 operators; and every planner on one random graph.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "planners/planner.h"
#include "tests/bench/bench.h"
#include "workloads/lowering.h"

#define OPERATORS 10000

typedef struct
{
  const char *name;
  gboolean chain;
  guint streams;
} Shape;

static const Shape shapes[] = { { "chain", TRUE, 1 },
                                { "random", FALSE, 1 },
                                { "streams", FALSE, 4 } };

static void
fail_on (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-planner: %s\n", error->message);
  exit (2);
}

/* ---- graphs */

static void
add_named (GememGraph *graph, const char *prefix, guint64 i, guint64 size)
{
  g_autofree char *name = g_strdup_printf ("%s%" G_GUINT64_FORMAT, prefix, i);

  gemem_graph_add_node (graph, name, "some");
  gemem_graph_add_output (graph, size);
}

static void
connect_to (GememGraph *graph, const char *prefix, guint64 i, guint32 output)
{
  g_autofree char *name = g_strdup_printf ("%s%" G_GUINT64_FORMAT, prefix, i);

  gemem_graph_add_input (graph, name, output);
}

/* n/2 operators forward, n/2 backward; each backward operator reads a tensor that its forward
 * operator kept. */
static void
build_chain (GememGraph *graph, guint64 n)
{
  static const guint64 sizes[] = { 4194304,  12582912, 16777216, 4194304,
                                   16777216, 16777216, 4194304,  8192 };
  const guint64 half = n / 2;

  for (guint64 i = 0; i < half; i++)
    {
      add_named (graph, "f", i, sizes[i % G_N_ELEMENTS (sizes)]);
      if (i > 0)
        connect_to (graph, "f", i - 1, 0);
      if (i % 8 == 7)
        connect_to (graph, "f", i - 7, 0); /* residual */
    }
  for (guint64 i = half; i-- > 0;)
    {
      add_named (graph, "b", i, sizes[i % G_N_ELEMENTS (sizes)]);
      connect_to (graph, "f", i, 0);
      if (i + 1 < half)
        connect_to (graph, "b", i + 1, 0);
    }
}

/* One to three inputs from the latest nodes, sometimes from far back; sizes from 512 B to 16
 * MiB; some outputs without readers, some workspaces. */
static void
build_random (GememGraph *graph, guint64 n, guint streams)
{
  GememRng rng;
  guint64 tensors = 0;

  gemem_rng_init (&rng, 1, "graph");
  for (guint64 i = 0; tensors < n; i++)
    {
      const guint inputs = i == 0 ? 0 : (guint) gemem_rng_range (&rng, 1, 3);

      add_named (graph, "n", i, gemem_rng_log_uniform (&rng, 512, 16 << 20));
      tensors++;
      gemem_graph_edit_node (graph)->stream = (gint64) (gemem_rng_below (&rng, 8) == 0
                                                            ? gemem_rng_below (&rng, streams)
                                                            : i / 50 % streams);
      for (guint k = 0; k < inputs; k++)
        {
          const guint64 far = gemem_rng_below (&rng, 20) == 0,
                        distance = gemem_rng_geometric (&rng, far ? 500 : 8);

          connect_to (graph, "n", i - MIN (distance, i), 0);
        }
      if (gemem_rng_below (&rng, 4) == 0)
        {
          gemem_graph_add_workspace (graph, gemem_rng_log_uniform (&rng, 512, 1 << 20));
          tensors++;
        }
    }
}

static GememGraph *
build (const Shape *shape, guint64 n)
{
  GememGraph *graph = gemem_graph_new (shape->name);
  GError *error = NULL;

  if (shape->chain)
    build_chain (graph, n);
  else
    build_random (graph, n, shape->streams);
  gemem_graph_seal (graph, "bench", &error);
  fail_on (error);
  return graph;
}

/* ---- measuring */

/* Seconds for one plan. */
static double
measure (const char *planner, const Shape *shape, guint64 n)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  g_autoptr (GememGraph) graph = build (shape, n);
  const GememPlanInput input = { .graph = graph, .threads = 1 };
  GError *error = NULL;
  gint64 start;
  double seconds;

  gemem_planner_parse (planner, choices, &error);
  fail_on (error);
  start = bench_clock ();
  g_autoptr (GememPlan) plan = gemem_planner_run (choices->pdata[0], &input, &error);
  seconds = (double) (bench_clock () - start) * 1e-6;
  fail_on (error);
  printf ("{\"bench\":\"planner\",\"what\":\"%s\",\"workload\":\"%s\",\"n\":%" G_GUINT64_FORMAT
          ",\"items\":%u,\"seconds\":%.6f,"
          "\"arena\":%" G_GUINT64_FORMAT ",\"lower_bound\":%" G_GUINT64_FORMAT "}\n",
          planner, shape->name, n, plan->n_items, seconds, plan->arena, plan->lower_bound);
  fflush (stdout);
  return seconds;
}

/* The exponent of n in the growth of the time. */
static void
measure_growth (const char *planner, const Shape *shape)
{
  const guint64 smallest = bench_size (1000, 100), largest = bench_size (100000, 300);
  double first = 0, last = 0;

  for (guint64 n = smallest, step = 0; n <= largest; n = step++ % 2 == 0 ? n * 3 : n / 3 * 10)
    {
      last = measure (planner, shape, n);
      first = n == smallest ? last : first;
    }
  printf ("{\"bench\":\"planner-growth\",\"what\":\"%s\",\"workload\":\"%s\",\"exponent\":%.2f}\n",
          planner, shape->name,
          log (MAX (last, 1e-6) / MAX (first, 1e-6)) / log ((double) largest / (double) smallest));
  fflush (stdout);
}

/* The best time of several lowerings of @graph, which has the shape @shape. */
static void
measure_lowering (const GememLowering *lowering, const Shape *shape, GememGraph *graph,
                  guint64 operators)
{
  gint64 best = G_MAXINT64;
  guint64 events = 0;

  for (guint64 round = 0; round < bench_size (5, 1); round++)
    {
      const gint64 start = bench_clock ();
      const GememTraceEvent *batch;
      GError *error = NULL;
      GememTraceReader *reader = gemem_lowering_open (lowering->base.name, graph, &error);
      gssize n;

      fail_on (error);
      for (events = 0; (n = gemem_trace_next (reader, &batch, &error)) > 0;)
        events += (guint64) n;
      fail_on (error);
      gemem_trace_close (reader);
      best = MIN (best, bench_clock () - start);
    }
  printf ("{\"bench\":\"lowering\",\"what\":\"%s\",\"workload\":\"%s\",\"n\":%" G_GUINT64_FORMAT
          ",\"operators\":%u,\"events\":%" G_GUINT64_FORMAT ",\"seconds\":%.6f}\n",
          lowering->base.name, shape->name, operators, gemem_graph_n_nodes (graph), events,
          (double) best * 1e-6);
  fflush (stdout);
}

static void
measure_lowerings (const Shape *shape)
{
  const guint64 operators = bench_size (OPERATORS, 100);
  /* some tensors are workspaces */
  g_autoptr (GememGraph) graph = build (shape, shape->chain ? operators : operators * 4 / 3);

  for (const GememLowering *const *lowering = gemem_lowerings (); *lowering != NULL; lowering++)
    measure_lowering (*lowering, shape, graph, operators);
}

/* One row for each planner. */
static void
measure_all (const Shape *shape)
{
  for (const GememPlanner *const *planner = gemem_planners (); *planner != NULL; planner++)
    measure ((*planner)->base.name, shape, bench_size (2000, 100));
}

int
main (int argc, char **argv)
{
  const char *planner = argc > 1 ? argv[1] : "ge-hybrid";

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    if (argc > 3 && strcmp (argv[3], shapes[i].name) != 0)
      continue;
    else if (argc > 2)
      measure (planner, &shapes[i], g_ascii_strtoull (argv[2], NULL, 10));
    else
      {
        measure_growth (planner, &shapes[i]);
        if (argc == 1)
          measure_lowerings (&shapes[i]);
      }
  if (argc == 1)
    measure_all (&shapes[1]);
  return 0;
}
