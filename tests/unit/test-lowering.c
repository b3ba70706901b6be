/* test-lowering.c - lowerings: every policy event by event on small graphs, closed forms on
 * larger ones, and all shared vectors: every trace is valid, no policy has fewer live bytes than
 * `eager`, and none has more than no-gc. */
#include "config.h"

#include <string.h>

#include "planners/convert.h"
#include "planners/planner.h"
#include "tests/util/graphs.h"
#include "tests/util/lowered.h"
#include "tests/util/testutil.h"
#include "workloads/lowering.h"

static const char *const policies[] = {
  "eager",
  "no-gc",
  "gc",
  "gc:threshold=1MiB",
  "gc:fraction=0.5",
  "paddle",
  "paddle:preset=P13,eager_delete_tensor_gb=0,limit_of_tmp_allocation=1",
  "inplace",
  "zero-clear:atomic_clean_policy=0",
  "zero-clear:atomic_clean_policy=1"
};

/* ---- eager */

/* a (1, workspace 2) -> b (3) -> c (4), whose output has no reader. */
#define CHAIN \
  "{\"name\":\"a\",\"type\":\"x\",\"workspaces\":[7],\"outputs\":[{\"size\":100}]}," \
  "{\"name\":\"b\",\"type\":\"relu\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":100}]}," \
  "{\"name\":\"c\",\"type\":\"x\",\"inputs\":[[\"b\",0]],\"outputs\":[{\"size\":300},{\"size\":0}" \
  "]}"

static void
test_eager (void)
{
  test_lowered (CHAIN, NULL, "S1 a1:100 a2:7 f2 a3:100 f1 a4:300 f3 f4");
  test_lowered (
      CHAIN, "eager:steps=2",
      "S1 a1:100 a2:7 f2 a3:100 f1 a4:300 f3 f4 S2 a1:100 a2:7 f2 a3:100 f1 a4:300 f3 f4");
}

/* w persists, x is fed, y is written twice; ids above the 3 items. */
static void
test_variables (void)
{
  static const char json[] = "{\"variables\":[{\"name\":\"w\",\"size\":50,\"persistable\":true},{"
                             "\"name\":\"x\",\"size\":20},{\"name\":\"y\",\"size\":5}],\"nodes\":["
                             "{\"name\":\"mul\",\"type\":\"mul\",\"inputs\":[\"x\",\"w\"],"
                             "\"outputs\":[{\"size\":5,\"variable\":\"y\"}]},"
                             "{\"name\":\"again\",\"type\":\"x\",\"inputs\":[[\"mul\",0]],"
                             "\"outputs\":[{\"size\":8,\"variable\":\"y\"}]},"
                             "{\"name\":\"sgd\",\"type\":\"sgd\",\"inputs\":[[\"again\",0],\"w\"],"
                             "\"outputs\":[{\"size\":50,\"variable\":\"w\"}]}]}";

  test_lowered_check (json, "eager", "a4:50 S1 a5:20 a1:8 f5 f1 f4");
  test_lowered_check (json, "eager:steps=2", "a4:50 S1 a5:20 a1:8 f5 f1 S2 a5:20 a1:8 f5 f1 f4");
  test_lowered_check (json, "eager:variables=no", "S1 a5:20 a1:8 f5 f1");
  test_lowered_check (json, "no-gc", "a4:50 S1 a5:20 a1:8 f4 f5 f1");
}

/* A variable written again without being read is a new tensor, but for the garbage collector the
 * same variable. */
static void
test_versions (void)
{
  static const char json[] =
      "{\"variables\":[{\"name\":\"y\",\"size\":5}],\"nodes\":["
      "{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":5,\"variable\":\"y\"}]},"
      "{\"name\":\"b\",\"type\":\"x\",\"inputs\":[[\"a\",0]]},"
      "{\"name\":\"c\",\"type\":\"x\",\"outputs\":[{\"size\":6,\"variable\":\"y\"}]},"
      "{\"name\":\"d\",\"type\":\"x\",\"inputs\":[[\"c\",0]]}]}";

  test_lowered_check (json, "eager", "S1 a1:5 f1 a2:6 f2");
  test_lowered_check (json, "gc", "S1 a1:6 f1");
}

/* b is a view of a, which lives as long as b; constants are live in all steps; host memory is
 * left out. */
static void
test_references (void)
{
  test_lowered (
      "{\"name\":\"k\",\"type\":\"Const\",\"outputs\":[{\"size\":9}]},"
      "{\"name\":\"a\",\"type\":\"x\",\"inputs\":[[\"k\",0]],\"outputs\":[{\"size\":100}]},"
      "{\"name\":\"b\",\"type\":\"Reshape\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":120}]},"
      "{\"name\":\"h\",\"type\":\"x\",\"attributes\":{\"_output_memory_type\":[129]},\"outputs\":[{"
      "\"size\":100}]},"
      "{\"name\":\"c\",\"type\":\"x\",\"inputs\":[[\"b\",0]],\"outputs\":[{\"size\":1,\"reuse_"
      "input\":0}]}",
      "eager:steps=2", "a1:9 S1 a2:120 f2 S2 a2:120 f2 f1");
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":100}]},"
                "{\"name\":\"b\",\"type\":\"x\",\"inputs\":[[\"a\",0]],\"attributes\":{"
                "\"reference\":true,\"_input_name_key\":[\"r\"],\"_output_name_key\":[\"r\"]},"
                "\"outputs\":[{\"size\":100}]}",
                "eager", "S1 a1:100 f1");
}

/* A concat without padding: its pieces are parts of it from the first one made on, and its first
 * input decides the address. */
static void
test_concat (void)
{
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":10}]},{\"name\":\"b\","
                "\"type\":\"x\",\"outputs\":[{\"size\":20}]},"
                "{\"name\":\"c\",\"type\":\"Concat\",\"inputs\":[[\"b\",0],[\"a\",0]],"
                "\"attributes\":{\"_no_padding_continuous_input\":true,\"_output_reuse_input\":"
                "true},\"outputs\":[{\"size\":30}]},"
                "{\"name\":\"d\",\"type\":\"x\",\"inputs\":[[\"c\",0]]}",
                "eager", "S1 a2:30 f2");
}

/* The branches of a merge share memory; the outputs of a call are made inside of it. */
static void
test_control_flow (void)
{
  test_lowered ("{\"name\":\"t\",\"type\":\"x\",\"outputs\":[{\"size\":10}]},{\"name\":\"f\","
                "\"type\":\"x\",\"outputs\":[{\"size\":20}]},"
                "{\"name\":\"m\",\"type\":\"Merge\",\"inputs\":[[\"t\",0],[\"f\",0]],\"outputs\":[{"
                "\"size\":20}]},"
                "{\"name\":\"u\",\"type\":\"x\",\"inputs\":[[\"m\",0]]}",
                "eager", "S1 a1:20 f1");
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":10}]},"
                "{\"name\":\"call\",\"type\":\"PartitionedCall\",\"blocks\":[\"body\"],\"inputs\":["
                "[\"a\",0]],\"outputs\":[{\"size\":30}]},"
                "{\"name\":\"d\",\"type\":\"Data\",\"block\":1,\"attributes\":{\"_parent_node_"
                "index\":0},\"outputs\":[{\"size\":10}]},"
                "{\"name\":\"i\",\"type\":\"x\",\"block\":1,\"inputs\":[[\"d\",0]],\"outputs\":[{"
                "\"size\":30}]},"
                "{\"name\":\"o\",\"type\":\"NetOutput\",\"block\":1,\"inputs\":[[\"i\",0]],"
                "\"attributes\":{\"_input_parent_node_index\":[0]}},"
                "{\"name\":\"z\",\"type\":\"x\",\"inputs\":[[\"call\",0]]}",
                "eager", "S1 a1:10 a4:30 f1 f4");
}

/* One of two batches runs: the named one, else the one with more bytes. */
static void
test_batches (void)
{
#define BATCHES \
  "{\"name\":\"a\",\"type\":\"x\",\"stream\":0,\"outputs\":[{\"size\":10}]}," \
  "{\"name\":\"b\",\"type\":\"x\",\"stream\":1,\"batch_label\":\"B0\",\"inputs\":[[\"a\",0]]," \
  "\"outputs\":[{\"size\":20}]}," \
  "{\"name\":\"c\",\"type\":\"x\",\"stream\":0,\"batch_label\":\"B1\",\"inputs\":[[\"a\",0]]," \
  "\"outputs\":[{\"size\":30}]}," \
  "{\"name\":\"m\",\"type\":\"x\",\"stream\":0,\"inputs\":[[\"b\",0],[\"c\",0]]}"
  test_lowered (BATCHES, "eager", "S1 a1:10 a3:30 f1 f3 D");
  test_lowered (BATCHES, "eager:batch_label=B0",
                "S1 a1:10 e1 w1@1 a2:20@1 u1@1 e2@1 r1 c1 w2 u2 r2 D c2");

  g_autoptr (GememGraph)
      graph = test_graph_from_text ("{\"name\":\"g\",\"nodes\":[" BATCHES "]}", NULL, NULL);

  test_lowered_refused (
      "no-gc:batch_label=B2", graph,
      "batch_label=B2: no node of g has this label, one has B0; leave it out to run the largest");
}

/* ---- streams */

/* p on stream 0 is read by q on stream 1, which waits for it, and on stream 0 by r; s on stream 0
 * waits for q. */
#define FORK \
  "{\"name\":\"p\",\"type\":\"x\",\"stream\":0,\"outputs\":[{\"size\":10}]}," \
  "{\"name\":\"q\",\"type\":\"x\",\"stream\":1,\"inputs\":[[\"p\",0]],\"outputs\":[{\"size\":20}]" \
  "}," \
  "{\"name\":\"r\",\"type\":\"x\",\"stream\":0,\"inputs\":[[\"p\",0]]}," \
  "{\"name\":\"s\",\"type\":\"x\",\"stream\":0,\"inputs\":[[\"q\",0]]}"

static void
test_streams (void)
{
  test_lowered (FORK, "eager", "S1 a1:10 e1 w1@1 a2:20@1 u1@1 e2@1 r1 c1 w2 u2 r2 D c2");
  test_lowered (FORK ",{\"name\":\"t\",\"type\":\"x\",\"stream\":0}", "eager",
                "S1 a1:10 e1 w1@1 a2:20@1 u1@1 e2@1 r1 c1 w2 u2 r2 c2 D");
  test_lowered (FORK, "no-gc", "S1 a1:10 e1 w1@1 a2:20@1 u1@1 e2@1 w2 u2 D f1 f2");
  test_lowered (FORK, "gc:threshold=11B", "S1 a1:10 e1 w1@1 a2:20@1 u1@1 e2@1 w2 u2 f1 r2 D c2");
}

/* Without a stream there are neither uses nor waits. */
static void
test_no_stream (void)
{
  test_lowered ("{\"name\":\"d\",\"type\":\"Data\",\"stream\":-1,\"outputs\":[{\"size\":10}]},"
                "{\"name\":\"a\",\"type\":\"x\",\"stream\":3,\"inputs\":[[\"d\",0]],\"outputs\":[{"
                "\"size\":20}]},"
                "{\"name\":\"b\",\"type\":\"x\",\"stream\":4,\"controls\":[\"a\"]},"
                "{\"name\":\"o\",\"type\":\"NetOutput\",\"stream\":-1,\"inputs\":[[\"a\",0]]}",
                "eager", "S1 a1:10@3 a2:20@3 e2@3 f1 w2@4 f2 D");
}

/* ---- garbage collection */

/* Garbage of 600 bytes after the second node, 300 + 200 after the third (paddle.md E19). */
#define GARBAGE \
  "{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":600},{\"size\":300}]}," \
  "{\"name\":\"b\",\"type\":\"x\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":200}]}," \
  "{\"name\":\"c\",\"type\":\"x\",\"inputs\":[[\"b\",0],[\"a\",1]],\"outputs\":[{\"size\":5}]}," \
  "{\"name\":\"d\",\"type\":\"x\",\"inputs\":[[\"c\",0]],\"outputs\":[{\"size\":6}]}"

static void
test_gc (void)
{
  test_lowered (GARBAGE, "gc", "S1 a1:600 a2:300 a3:200 f1 a4:5 f2 f3 a5:6 f4 f5");
  test_lowered (GARBAGE, "gc:threshold=1000B", "S1 a1:600 a2:300 a3:200 a4:5 f1 f2 f3 a5:6 f4 f5");
  test_lowered (GARBAGE, "gc:threshold=1100B", "S1 a1:600 a2:300 a3:200 a4:5 f1 f2 f3 a5:6 f4 f5");
  test_lowered (GARBAGE, "gc:threshold=1101B", "S1 a1:600 a2:300 a3:200 a4:5 a5:6 f1 f2 f3 f4 f5");
  test_lowered (GARBAGE, "gc:threshold=never,steps=2",
                "S1 a1:600 a2:300 a3:200 a4:5 a5:6 f1 f2 f3 f4 f5 S2 a1:600 a2:300 a3:200 a4:5 "
                "a5:6 f1 f2 f3 f4 f5");
}

/* 100, 60, 40 bytes: half of 200 takes the 100, a little more the 60 too (paddle.md E19); memory
 * that is spared is freed at the end. */
static void
test_gc_fraction (void)
{
  static const char nodes[] = "{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":40},{\"size\":"
                              "100},{\"size\":60}]},{\"name\":\"b\",\"type\":\"x\"}";

  test_lowered (nodes, "gc:fraction=0.5", "S1 a1:40 a2:100 a3:60 f2 f1 f3");
  test_lowered (nodes, "gc:fraction=0.51", "S1 a1:40 a2:100 a3:60 f2 f3 f1");
  test_lowered (nodes, "gc:memory_fraction_of_eager_deletion=0.0001",
                "S1 a1:40 a2:100 a3:60 f1 f2 f3");
  test_lowered (nodes, "gc:fraction=1", "S1 a1:40 a2:100 a3:60 f1 f2 f3");
}

/* ---- in place */

static void
test_inplace (void)
{
  /* relu writes over its input; c may not */
  test_lowered (CHAIN, "inplace", "S1 a1:100 a2:7 f2 a4:300 f1 f4");
  /* read again later; read twice at once; another size; a variable */
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":100}]},{\"name\":\"b\","
                "\"type\":\"relu\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":100}]},"
                "{\"name\":\"c\",\"type\":\"x\",\"inputs\":[[\"a\",0],[\"b\",0]]}",
                "inplace", "S1 a1:100 a2:100 f1 f2");
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":100}]},"
                "{\"name\":\"b\",\"type\":\"elementwise_add\",\"inputs\":[[\"a\",0],[\"a\",0]],"
                "\"outputs\":[{\"size\":100}]}",
                "inplace", "S1 a1:100 a2:100 f1 f2");
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":101}]},{\"name\":\"b\","
                "\"type\":\"relu\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":100}]}",
                "inplace", "S1 a1:101 a2:100 f1 f2");
  test_lowered ("{\"name\":\"a\",\"type\":\"Const\",\"outputs\":[{\"size\":100}]},{\"name\":\"b\","
                "\"type\":\"relu\",\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":100}]}",
                "inplace", "a1:100 S1 a2:100 f2 f1");
  /* an attribute; one input serves one output; a chain is one storage */
  test_lowered ("{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":10}]},"
                "{\"name\":\"b\",\"type\":\"x\",\"inputs\":[[\"a\",0]],\"attributes\":{\"_output_"
                "inplace_ability\":[[0,0],[1,0]]},\"outputs\":[{\"size\":10},{\"size\":10}]},"
                "{\"name\":\"c\",\"type\":\"tanh\",\"inputs\":[[\"b\",0]],\"outputs\":[{\"size\":"
                "10}]},{\"name\":\"d\",\"type\":\"x\",\"inputs\":[[\"c\",0],[\"b\",1]]}",
                "inplace", "S1 a1:10 a3:10 f1 f3");
}

/* ---- zero-clear */

/* Of z output 1 and 4 bytes of workspace 0 are to be cleared. */
#define ATOMIC(more) \
  "{\"name\":\"a\",\"type\":\"x\",\"outputs\":[{\"size\":10}]}," \
  "{\"name\":\"z\",\"type\":\"x\",\"inputs\":[[\"a\",0]],\"attributes\":{" more \
  "\"atomic_output_index\":[1],\"sub_node_workspace_info\":[[0,4]]}," \
  "\"workspaces\":[8,9],\"outputs\":[{\"size\":20},{\"size\":30}]}"

static void
test_zero_clear (void)
{
  static const char central[] = "S1 a3:1024 m3:1024 a1:10 a2:20 a5:9 f5 f1 f2 f3",
                    separate[] = "S1 a1:10 a2:20 a3:30 a4:8 a5:9 m3:30 m4:4 f4 f5 f1 f2 f3";

  test_lowered (ATOMIC ("\"is_atomic_node\":true,"), "zero-clear", central);
  test_lowered (ATOMIC ("\"is_atomic_node\":true,"), "zero-clear:policy=1", separate);
  test_lowered (ATOMIC ("\"is_atomic_node\":true,\"need_gentask_atomic\":true,"),
                "zero-clear:policy=0", separate);
  test_lowered (ATOMIC (""), "zero-clear", "S1 a1:10 a2:20 a3:30 a4:8 a5:9 f4 f5 f1 f2 f3");
  test_lowered (ATOMIC ("\"is_atomic_node\":true,"), "eager",
                "S1 a1:10 a2:20 a3:30 a4:8 a5:9 f4 f5 f1 f2 f3");
}

#define CLEARED_BY(node, name, size, more) \
  "{\"name\":\"" name "\",\"type\":\"x\",\"controls\":[\"" node \
  "\"],\"attributes\":{\"is_atomic_node\":true," more \
  "\"atomic_output_index\":[0]},\"outputs\":[{\"size\":" size "}]},"

/* One memset clears what one memset node controls, in one range of multiples of 512; P2P memory and
 * outputs of the graph have memsets of their own. */
static void
test_zero_clear_ranges (void)
{
  test_lowered ("{\"name\":\"M\",\"type\":\"MemSet\"}," CLEARED_BY ("M", "a", "1000", "")
                    CLEARED_BY ("M", "b", "2000", "")
                        CLEARED_BY ("M", "c", "100", "\"_output_memory_type\":[17],") CLEARED_BY (
                            "M", "d", "50",
                            "") "{\"name\":\"O\",\"type\":\"NetOutput\",\"inputs\":[[\"d\",0]]}",
                "zero-clear", "S1 a1:3072 a3:100 a4:50 m1:3072 m3:100 m4:50 f1 f3 f4");
  test_lowered ("{\"name\":\"M\",\"type\":\"MemSet\"},"
                "{\"name\":\"N\",\"type\":\"AtomicAddrClean\"}," CLEARED_BY ("M", "a", "1000", "")
                    CLEARED_BY ("N", "b", "2000", "") CLEARED_BY ("M", "c", "600", "")
                        CLEARED_BY ("N", "d", "10", "") "{\"name\":\"e\",\"type\":\"x\"}",
                "zero-clear", "S1 a1:2048 a2:2560 m1:2048 m2:2560 f1 f2");
}

/* ---- closed forms and vectors */

/* A chain of n nodes of one size: two of them live at once, all without garbage collection, one
 * in place. */
static void
test_long_chain (void)
{
  const guint n = 10000;
  g_autoptr (GememGraph) graph = gemem_graph_new ("chain");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i), *before = g_strdup_printf ("n%u", i - 1);

      gemem_graph_add_node (graph, name, "relu");
      if (i > 0)
        gemem_graph_add_input (graph, before, 0);
      gemem_graph_add_output (graph, 1000);
    }
  g_assert_true (gemem_graph_seal (graph, "chain", &error));
  g_assert_cmpuint (test_lowered_peak ("eager:steps=3", graph), ==, 2000);
  g_assert_cmpuint (test_lowered_peak ("no-gc:steps=3", graph), ==, n * 1000);
  g_assert_cmpuint (test_lowered_peak ("gc:threshold=5000", graph), ==, 6000);
  g_assert_cmpuint (test_lowered_peak ("inplace", graph), ==, 1000);
}

/* TRUE if all nodes run, on one stream, and there are no graph inputs, which planners keep live
 * from before the first node. */
static gboolean
is_simple (const GememGraph *graph)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      if (node->stream != gemem_graph_node (graph, 0)->stream || node->batch_label[0] != '\0'
          || strcmp (node->type, "Data") == 0)
        return FALSE;
    }
  return TRUE;
}

static guint simple; /* graphs compared with their lifetimes */

/* On one stream the peak of eager is the lower bound of all plans. */
static void
check_lower_bound (GememGraph *graph)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes) lifetimes = gemem_graph_lifetimes (graph, &places);

  if (!is_simple (graph)
      || gemem_graph_n_variables (graph)
             > 0) /* a variable is one memory here; planners see several versions */
    return;
  g_assert_cmpuint (test_lowered_peak ("eager:variables=no", graph), ==,
                    gemem_lifetimes_lower_bound (lifetimes, 1));
  simple++;
}

static void
check_all_policies (GememGraph *graph)
{
  const guint64 least = test_lowered_peak ("eager", graph),
                most = test_lowered_peak ("no-gc", graph);

  check_lower_bound (graph);
  for (guint i = 0; i < G_N_ELEMENTS (policies); i++)
    {
      g_autofree char *twice = g_strconcat (
          policies[i], strchr (policies[i], ':') != NULL ? ",steps=2" : ":steps=2", NULL);
      const guint64 peak = test_lowered_peak (policies[i], graph);

      test_lowered_valid (policies[i], graph);
      test_lowered_valid (twice, graph);
      g_assert_cmpuint (test_lowered_peak (twice, graph), ==, peak);
      g_assert_cmpuint (peak, <=, most);
      if (strcmp (policies[i], "inplace") == 0)
        g_assert_cmpuint (peak, <=, least);
      else
        g_assert_cmpuint (peak, >=, least);
    }
}

static void
check_vectors (const char *dir, guint stride)
{
  g_autoptr (GPtrArray) files = test_shared_files (dir, ".jsonl.gz");

  for (guint i = 0; files != NULL && i < files->len; i++)
    for (guint n = 0;; n += stride)
      {
        g_autofree char *path = g_strdup_printf ("%s#%u", (const char *) files->pdata[i], n);
        g_autoptr (GememGraph) graph = gemem_graph_open (path, NULL, NULL);

        if (graph == NULL)
          {
            g_assert_cmpuint (n, >, 0);
            break;
          }
        check_all_policies (graph);
      }
}

static void
test_vectors (void)
{
  simple = 0;
  check_vectors ("vectors/ge-static", g_getenv ("GEMEM_QUICK") != NULL ? 11 : 5);
  check_vectors ("vectors/paddle-memory-optimize", g_getenv ("GEMEM_QUICK") != NULL ? 11 : 5);
  g_test_message ("%u graphs compared with their lifetimes", simple);
}

/* ---- refusals, and the provenance of the trace */

static void
test_refused (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_text ("{\"nodes\":[" CHAIN "]}", NULL, NULL);

  test_lowered_refused ("eagre", graph, "unknown lowering 'eagre'; did you mean 'eager'?");
  test_lowered_refused ("eager:step=2", graph,
                        "lowering eager: unknown parameter 'step'; did you mean 'steps'?");
  test_lowered_refused ("*", graph, "lowering '*': stands for 6 of them; name one");
  g_assert_true (gemem_lowering_check (NULL, NULL));
}

static void
test_info (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_text (
      "{\"name\":\"g\",\"provenance\":[\"made: by hand\"],\"nodes\":[" FORK "]}", NULL, NULL);
  GememTraceReader *reader = gemem_lowering_open ("eager:time_per_node=1ms", graph, NULL);
  const GememTraceEvent *events;
  gssize n = gemem_trace_next (reader, &events, NULL);

  g_assert_cmpint (n, >, 0);
  g_assert_cmpuint (events[n - 1].time, ==, 4 * 1000000);
  g_assert_cmpstr (reader->info.strings->pdata[events[1].tag], ==, "p");
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_COMPLETION);
  g_assert_cmpstr (reader->info.provenance->pdata[0], ==, "made: by hand");
  g_assert_cmpstr (reader->info.provenance->pdata[1], ==, "graph: g");
  g_assert_cmpstr (reader->info.provenance->pdata[2], ==, "lowering: eager:time_per_node=1ms");
  gemem_trace_close (reader);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lowering/eager", test_eager);
  g_test_add_func ("/lowering/variables", test_variables);
  g_test_add_func ("/lowering/versions", test_versions);
  g_test_add_func ("/lowering/references", test_references);
  g_test_add_func ("/lowering/concat", test_concat);
  g_test_add_func ("/lowering/control-flow", test_control_flow);
  g_test_add_func ("/lowering/batches", test_batches);
  g_test_add_func ("/lowering/streams", test_streams);
  g_test_add_func ("/lowering/no-stream", test_no_stream);
  g_test_add_func ("/lowering/gc", test_gc);
  g_test_add_func ("/lowering/gc-fraction", test_gc_fraction);
  g_test_add_func ("/lowering/inplace", test_inplace);
  g_test_add_func ("/lowering/zero-clear", test_zero_clear);
  g_test_add_func ("/lowering/zero-clear-ranges", test_zero_clear_ranges);
  g_test_add_func ("/lowering/long-chain", test_long_chain);
  g_test_add_func ("/lowering/vectors", test_vectors);
  g_test_add_func ("/lowering/refused", test_refused);
  g_test_add_func ("/lowering/info", test_info);
  return g_test_run ();
}
