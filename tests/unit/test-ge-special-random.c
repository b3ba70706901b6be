/* test-ge-special-random.c - random graphs with continuous, cleared and referenced memory on one
 * or several streams: all plans of the GE planners must be safe (check.h), in the default mode
 * and in memory-priority mode, with and without zero-copy reuse. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "planners/check.h"
#include "tests/util/graph-lines.h"
#include "tests/util/plans.h"
#include "tests/util/random-graph.h"

/* The generator avoids combinations that the rules of the specification plan unsafely (the text
 * does not say whether GE avoids them, for example by copies inserted beforehand): concats that
 * flow into collectives; references that flow into buffers filled by several; pieces of a concat
 * inside another concat, or of a buffer on several streams, that have another reader (only
 * naming outputs know their readers, ge-static.md appendix D 4); cascades of concats across
 * streams (2.8 counts ids of all streams), or fed by several outputs of one node (its table has
 * one entry per node); with quirks, padded outputs on several streams, whose end is lost (5.4:
 * NEVER counts as not set). */
typedef struct
{
  guint64 size;
  gboolean claimed; /* a node reads it that decides its address, or that refers to it */
  /* claimed by a node whose inputs form one block: a concat, or a node that clears its inputs
   * itself */
  gboolean piece;
  gboolean read; /* by a plain node */
  enum
  {
    PLAIN,
    CONCAT,
    REFERENCE,
    PLACED /* its own node decides its address */
  } made_by;
} Tensor;

typedef struct
{
  GememRng *rng;
  GString *lines;
  GArray *tensors; /* Tensor; tensor k is output k - first[node] of a node */
  GArray *names;   /* of tensors: "n3.1", interned */
  guint n_nodes, n_streams;
  gboolean cascades; /* concats in concats */
  gboolean quirks;
} Maker;

static guint
below (Maker *maker, guint n)
{
  return (guint) gemem_rng_below (maker->rng, n);
}

static guint64
draw_size (Maker *maker)
{
  static const guint64 sizes[] = { 100, 512, 700, 1024, 2000, 2048, 4096, 8192, 30000 };

  return sizes[below (maker, G_N_ELEMENTS (sizes))];
}

static gboolean
is_free (const Maker *maker, const Tensor *tensor, gboolean whole, gboolean concat)
{
  return !tensor->claimed
         && (tensor->made_by == PLAIN || tensor->made_by == (whole ? CONCAT : REFERENCE))
         && (tensor->made_by != CONCAT || (concat && maker->cascades))
         && !(whole && tensor->read && maker->n_streams > 1);
}

/* One of the last tensors whose address no node decides; G_MAXUINT if none is found. */
static guint
draw_free (Maker *maker, gboolean whole, gboolean concat)
{
  const guint n = maker->tensors->len;

  for (guint i = 0; i < 8 && n > 0; i++)
    {
      const guint t = n - 1 - below (maker, MIN (n, 12));

      if (is_free (maker, &g_array_index (maker->tensors, Tensor, t), whole, concat))
        return t;
    }
  return G_MAXUINT;
}

static void
begin_node (Maker *maker, const char *type)
{
  g_string_append_printf (maker->lines, "n%u:%s stream=%u", maker->n_nodes, type,
                          below (maker, maker->n_streams));
}

static void
end_node (Maker *maker, const guint64 *sizes, guint n, int made_by)
{
  for (guint i = 0; i < n; i++)
    {
      const Tensor tensor = { sizes[i], FALSE, FALSE, FALSE, made_by };
      const char *name;
      g_autofree char *text = g_strdup_printf ("n%u.%u", maker->n_nodes, i);

      name = g_intern_string (text);
      g_string_append_printf (maker->lines, "%s%" G_GUINT64_FORMAT, i == 0 ? " out=" : ",",
                              sizes[i]);
      g_array_append_val (maker->tensors, tensor);
      g_array_append_val (maker->names, name);
    }
  g_string_append_c (maker->lines, '\n');
  maker->n_nodes++;
}

static const char *
name_of (Maker *maker, guint t)
{
  return g_array_index (maker->names, const char *, t);
}

/* " in=" with @n tensors whose address no node decides yet; they become claimed. FALSE: too few. */
static gboolean
claim_inputs (Maker *maker, guint n, gboolean whole, gboolean concat, guint *taken)
{
  for (guint i = 0; i < n; i++)
    {
      taken[i] = draw_free (maker, whole, concat);
      if (taken[i] == G_MAXUINT)
        {
          while (i-- > 0)
            g_array_index (maker->tensors, Tensor, taken[i]).claimed = FALSE;
          return FALSE;
        }
      g_array_index (maker->tensors, Tensor, taken[i]).claimed = TRUE;
      g_array_index (maker->tensors, Tensor, taken[i]).piece = whole;
    }
  return TRUE;
}

static void
write_inputs (Maker *maker, const guint *taken, guint n)
{
  for (guint i = 0; i < n; i++)
    g_string_append_printf (maker->lines, "%s%s", i == 0 ? " in=" : ",", name_of (maker, taken[i]));
}

static void
add_plain (Maker *maker)
{
  const guint n = maker->tensors->len, n_inputs = 1 + below (maker, 2),
              n_outputs = maker->cascades ? 1 : 1 + below (maker, 2);
  const guint64 size = draw_size (maker), sizes[] = { size, draw_size (maker) };

  begin_node (maker, "Some");
  for (guint i = 0; i < n_inputs && n > 0; i++)
    {
      const guint t = n - 1 - below (maker, MIN (n, 6));
      Tensor *tensor = &g_array_index (maker->tensors, Tensor, t);

      tensor->read = TRUE;
      g_string_append_printf (
          maker->lines, "%s%s", i == 0 ? " in=" : ",",
          tensor->piece && (maker->cascades || maker->n_streams > 1) ? "-" : name_of (maker, t));
    }
  if (below (maker, 3) == 0)
    g_string_append_printf (maker->lines, " ws=%" G_GUINT64_FORMAT, draw_size (maker));
  end_node (maker, sizes, n_outputs, PLAIN);
}

static void
add_concat (Maker *maker)
{
  const guint n = 2 + below (maker, 2);
  guint taken[3];
  guint64 sum = 0;

  if (!claim_inputs (maker, n, TRUE, TRUE, taken))
    return;
  begin_node (maker, "PhonyConcat");
  write_inputs (maker, taken, n);
  g_string_append (
      maker->lines,
      " _no_padding_continuous_input=1 _output_reuse_input=1 _reuse_input_on_dim_index=0");
  for (guint i = 0; i < n; i++)
    sum += g_array_index (maker->tensors, Tensor, taken[i]).size;
  end_node (maker, &sum, 1, CONCAT);
}

static void
add_collective (Maker *maker)
{
  const guint n = 2 + below (maker, 2);
  const gboolean sep = below (maker, 3) == 0;
  guint taken[3];
  guint64 sizes[3];

  if (!claim_inputs (maker, n, sep, FALSE, taken))
    return;
  begin_node (maker, "HcomAllReduce");
  write_inputs (maker, taken, n);
  g_string_append (maker->lines, " engine=ops_kernel_info_hccl continuous_input=1");
  if (sep)
    g_string_append (maker->lines, " need_gentask_atomic=1 atomic_input_index=0");
  if (below (maker, 2) == 0 && (maker->n_streams == 1 || !maker->quirks))
    g_string_append (maker->lines, " continuous_output=1");
  for (guint i = 0; i < n; i++)
    sizes[i] = g_array_index (maker->tensors, Tensor, taken[i]).size;
  end_node (maker, sizes, n, PLACED);
}

static void
add_reference (Maker *maker)
{
  guint taken;

  if (!claim_inputs (maker, 1, FALSE, FALSE, &taken))
    return;
  begin_node (maker, "Assign");
  write_inputs (maker, &taken, 1);
  g_string_append (maker->lines, " reuse=0.0");
  end_node (maker, &g_array_index (maker->tensors, Tensor, taken).size, 1, REFERENCE);
}

static void
add_split (Maker *maker)
{
  const guint64 half = 1024;
  const guint64 sizes[] = { half, half };
  guint taken;

  if (!claim_inputs (maker, 1, FALSE, FALSE, &taken))
    return;
  if (g_array_index (maker->tensors, Tensor, taken).size < 2 * half)
    return;
  begin_node (maker, "PhonySplit");
  write_inputs (maker, &taken, 1);
  g_string_append (
      maker->lines,
      " _no_padding_continuous_output=1 _output_reuse_input=1 _reuse_input_on_dim_index=0");
  end_node (maker, sizes, 2, PLACED);
}

static void
add_cleared (Maker *maker)
{
  const guint64 size = draw_size (maker), sizes[] = { size, draw_size (maker) };

  begin_node (maker, "Some");
  g_string_append_printf (maker->lines,
                          " after=clear is_atomic_node=1 atomic_output_index=%u in=%s",
                          below (maker, 2), name_of (maker, maker->tensors->len - 1));
  end_node (maker, sizes, 2, PLACED);
}

static void
add_node (Maker *maker)
{
  static void (*const special[]) (Maker *) = { add_concat, add_collective, add_reference, add_split,
                                               add_cleared };

  if (maker->tensors->len > 2 && below (maker, 3) == 0)
    special[below (maker, G_N_ELEMENTS (special))](maker);
  else
    add_plain (maker);
}

static GString *
make_lines (guint64 seed, gboolean quirks)
{
  GememRng rng;
  Maker maker = { &rng,
                  g_string_new ("clear:MemSet\n"),
                  g_array_new (FALSE, FALSE, sizeof (Tensor)),
                  g_array_new (FALSE, FALSE, sizeof (char *)),
                  0,
                  1,
                  FALSE,
                  quirks };
  const guint64 size = 2048;
  guint n;

  gemem_rng_init (&rng, seed, "ge-special");
  maker.n_streams = below (&maker, 2) == 0 ? 1 : 1 + below (&maker, 3);
  maker.cascades = below (&maker, 2) == 0 && maker.n_streams == 1;
  n = 3 + below (&maker, 25);
  if (below (&maker, 2) == 0)
    {
      begin_node (&maker, "Data");
      g_string_append (maker.lines, " index=0");
      end_node (&maker, &size, 1, PLACED);
    }
  for (guint i = 0; i < n; i++)
    add_node (&maker);
  if (below (&maker, 2) == 0)
    {
      const guint taken = draw_free (&maker, FALSE, FALSE);

      if (taken != G_MAXUINT)
        g_string_append_printf (maker.lines, "out:NetOutput in=%s\n", name_of (&maker, taken));
    }
  g_array_unref (maker.tensors);
  g_array_unref (maker.names);
  return maker.lines;
}

/* 1 if the plan is not safe; @text describes the graph. */
static guint
try_graph (const GememGraph *graph, const char *planner, guint64 seed, const char *text)
{
  g_autoptr (GememPlan) plan = test_plan (graph, planner, 1);
  const GememPlanInput input = { .graph = graph };
  g_autoptr (GError) error = NULL;

  if (gemem_plan_verify (plan, &input, &error))
    return 0;
  g_test_message ("seed %" G_GUINT64_FORMAT ", %s: %s\n%s", seed, planner, error->message, text);
  return 1;
}

static guint
count_rounds (void)
{
  return g_getenv ("GEMEM_QUICK") != NULL ? 300 : 3000;
}

static void
test_random (gconstpointer planner)
{
  const guint rounds = count_rounds ();
  guint failed = 0;

  for (guint64 seed = 0; seed < rounds && failed < 3; seed++)
    {
      GString *lines = make_lines (seed, strstr (planner, "quirks=no") == NULL);
      g_autoptr (GememGraph) graph = test_graph_from_lines (lines->str);

      failed += try_graph (graph, planner, seed, lines->str);
      g_string_free (lines, TRUE);
    }
  g_assert_cmpuint (failed, ==, 0);
}

/* The graphs for all planners. */
static void
try_features (const char *planner, guint features)
{
  const guint rounds = count_rounds () / 3;
  guint failed = 0;

  for (guint64 seed = 0; seed < rounds && failed < 3; seed++)
    {
      g_autoptr (GememGraph) graph = test_random_graph (seed, features, 4 + (guint) (seed % 40));
      g_autofree char *text = test_graph_json (graph);

      failed += try_graph (graph, planner, seed, text);
    }
  g_assert_cmpuint (failed, ==, 0);
}

/* With quirks, neither several streams nor subgraphs: MIN_LIFE and lost ends make unsafe plans. */
static void
test_one_stream (void)
{
  try_features ("ge-hybrid", TEST_GRAPH_ALL & ~TEST_GRAPH_STREAMS);
}

static void
test_all_without_quirks (void)
{
  try_features ("ge-hybrid:quirks=no", TEST_GRAPH_ALL | TEST_GRAPH_BLOCKS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/ge-special-random/default", "ge-hybrid", test_random);
  g_test_add_data_func ("/ge-special-random/priority", "ge-hybrid:memory_priority=yes",
                        test_random);
  g_test_add_data_func ("/ge-special-random/io-reuse", "ge-hybrid:input_reuse=0,output_reuse=0",
                        test_random);
  g_test_add_data_func ("/ge-special-random/without-quirks", "ge-hybrid:quirks=no", test_random);
  g_test_add_func ("/ge-special-random/one-stream", test_one_stream);
  g_test_add_func ("/ge-special-random/all-without-quirks", test_all_without_quirks);
  return g_test_run ();
}
