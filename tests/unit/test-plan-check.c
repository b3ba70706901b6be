/* test-plan-check.c - planners/check.h on small graphs: safe plans pass, and every kind of fault
 * planted into a safe plan is found, with the two items that it concerns. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/check.h"
#include "tests/util/graph-lines.h"

/* Makes a plan of @graph from "A=0 S.1=7168 A.w0=4096", with the needed sizes, in one space of
 * @total bytes, at alignment 512. */
static GememPlan *
plan_from_text (const GememGraph *graph, const char *text, guint64 total)
{
  GememPlan *plan = gemem_plan_new ("by hand", gemem_graph_n_items (graph));
  g_auto (GStrv) words = g_strsplit (text, " ", -1);

  plan->alignment = 512;
  gemem_plan_add_total (plan, 0, total);
  for (guint i = 0; words[i] != NULL; i++)
    {
      char *offset = strchr (words[i], '='), *dot = strchr (words[i], '.');
      const gboolean workspace = dot != NULL && dot[1] == 'w';
      const guint32 index = dot != NULL ? (guint32) atoi (dot + 1 + workspace) : 0;
      guint32 item;

      *(dot != NULL ? dot : offset) = '\0';
      item = gemem_node_item (gemem_graph_node (graph, gemem_graph_find_node (graph, words[i])));
      item += workspace
                  ? gemem_graph_node (graph, gemem_graph_find_node (graph, words[i]))->n_outputs
                        + index
                  : index;
      plan->offsets[item] = g_ascii_strtoull (offset + 1, NULL, 10);
      plan->sizes[item] = gemem_graph_item (graph, item).size;
    }
  return plan;
}

/* The findings: "overlap A:output 0, B:output 0; size C:workspace 0": kinds and items. */
static char *
findings (const GememGraph *graph, GememPlan *plan)
{
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GPtrArray) found = gemem_plan_check (plan, &input, 100);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < found->len; i++)
    {
      const GememViolation *violation = found->pdata[i];
      g_autofree char *first = gemem_graph_item_text (graph, violation->first);
      g_autofree char *second = violation->second != GEMEM_NONE
                                    ? gemem_graph_item_text (graph, violation->second)
                                    : NULL;

      g_string_append_printf (text, "%s%s %s%s%s", i > 0 ? "; " : "",
                              gemem_violation_name (violation->kind), first,
                              second != NULL ? ", " : "", second != NULL ? second : "");
      g_assert_nonnull (strstr (violation->text, first));
      g_assert_true (second == NULL || strstr (violation->text, second) != NULL);
    }
  return g_string_free (text, FALSE);
}

/* Checks that the plan @offsets of @lines has the findings @expected ("" for a safe one). */
static void
expect (const char *lines, const char *offsets, guint64 total, const char *expected)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (lines);
  g_autoptr (GememPlan) plan = plan_from_text (graph, offsets, total);
  g_autofree char *text = findings (graph, plan);

  g_assert_cmpstr (text, ==, expected);
}

static const char chain[] = "A out=1024\nB in=A out=1024 ws=512\nC in=B out=512\n";

static void
test_overlap (void)
{
  expect (chain, "A=0 B=1024 B.w0=2048 C=0", 2560, "");
  expect (chain, "A=0 B=512 B.w0=2048 C=0", 2560, "overlap A:output 0, B:output 0");
  expect (chain, "A=0 B=0 B.w0=2048 C=0", 2560,
          "overlap A:output 0, B:output 0; overlap B:output 0, C:output 0");
  expect (chain, "A=0 B=1024 B.w0=512 C=0", 2560, "overlap A:output 0, B:workspace 0");
  expect (chain, "A=0 B=1024 B.w0=1536 C=0", 2560, "overlap B:output 0, B:workspace 0");
  expect (chain, "A=0 B=1024 B.w0=2048 C=1536", 2560, "overlap B:output 0, C:output 0");
  /* used once more */
  expect ("A out=512\nB out=512\nC in=A out=512\n", "A=0 B=0 C=512", 1024,
          "overlap A:output 0, B:output 0");
  expect ("A out=512\nB out=512\n", "A=0 B=0", 512, ""); /* never used */
}

static void
test_stream (void)
{
  static const char lines[] = "A out=512 stream=0\nB in=A stream=1\nC out=512 stream=0\nD out=512 "
                              "stream=1\nE out=512 stream=0 after=B\n";

  expect (lines, "A=0 C=512 D=0 E=512", 1024, "");
  expect (lines, "A=0 C=512 D=1024 E=0", 1536, "");
  expect (lines, "A=0 C=0 D=512 E=512", 1024,
          "stream A:output 0, C:output 0; stream D:output 0, E:output 0");
  expect ("A out=512 stream=0\nB out=512 stream=-1\n", "A=0 B=0", 512,
          "stream A:output 0, B:output 0");
  expect ("A out=512 stream=0\nB out=512 in=A stream=-1\nC out=512 in=B stream=-1\n",
          "A=0 B=512 C=0", 1024, "");
}

static void
test_one_item (void)
{
  expect (chain, "A=0 B=1024 B.w0=2048", 2560, "missing C:output 0");
  expect (chain, "A=0 B=1024 B.w0=2048 C=100", 2560, "alignment C:output 0");
  expect (chain, "A=0 B=1024 B.w0=2048 C=0", 2559, "outside B:workspace 0");
  expect (chain, "A=0 B=1024 B.w0=18446744073709551104 C=0", 2560, "outside B:workspace 0");
  g_autoptr (GememGraph) graph = test_graph_from_lines (chain);
  g_autoptr (GememPlan) plan = plan_from_text (graph, "A=0 B=1024 B.w0=2048 C=0", 2560);
  g_autofree char *small = (plan->sizes[0] = 1023, findings (graph, plan));
  g_autofree char *large = (plan->sizes[0] = 1536, findings (graph, plan));

  g_assert_cmpstr (small, ==, "size A:output 0");
  /* the size in the plan counts, not only the needed size */
  g_assert_cmpstr (large, ==, "overlap A:output 0, B:output 0");
}

static void
test_reference (void)
{
  static const char reuse[] = "A out=1024\nB in=A out=512 reuse=0.0\nC in=B\nD out=1024\n";

  expect (reuse, "A=0 B=0 D=0", 1024, "");
  expect (reuse, "A=0 B=1024 D=0", 1536, "reference A:output 0, B:output 0");
  expect ("A out=512\nB in=A out=512 reuse=0.0\nD out=512\nC in=B\n", "A=0 B=0 D=0", 512,
          "overlap B:output 0, D:output 0");
  expect ("A out=512\nB:Reshape in=A out=512\n", "A=0 B=512", 1024,
          "reference A:output 0, B:output 0");
  expect ("A out=512\nB out=512\nM:Merge in=A,B out=512\n", "A=0 B=0 M=0", 512, "");
  expect ("A out=512\nB out=512\nM:Merge in=A,B out=512\n", "A=0 B=512 M=0", 1024,
          "reference A:output 0, B:output 0");
  /* a sound pair before the one that is not */
  expect (
      "A out=512\nB in=A out=512 reuse=0.0\nC in=B\nD out=512\nE in=D out=512 reuse=0.0\nF in=E\n",
      "A=0 B=0 D=0 E=512", 1024, "reference D:output 0, E:output 0");
  expect ("A out=512\nB in=A out=512 reference=1 _input_name_key=x _output_name_key=x\n",
          "A=0 B=512", 1024, "reference A:output 0, B:output 0");
  expect ("A out=1024\nB in=A out=512 reuse=0.0 0._inner_offset=100\n", "A=0 B=100", 1024, "");
  /* lies where the constant lies */
  expect ("A:Const out=512\nB in=A out=512 reuse=0.0\n", "", 0, "");
}

static void
test_continuous (void)
{
  static const char padded[] = "A out=1000\nB out=2000\nH in=A,B out=512,600 continuous_input=1 "
                               "continuous_output=1\nZ in=H.0,H.1\n";
  static const char nopadding[] = "A out=1000 shapes=1000\nB out=2000 shapes=2000\n"
                                  "P in=A,B out=3000 _no_padding_continuous_input=1 "
                                  "_output_reuse_input=1 _reuse_input_on_dim_index=0\nZ in=P\n";

  expect (padded, "A=0 B=1024 H.0=3072 H.1=3584", 4608, "");
  expect (padded, "A=0 B=1536 H.0=3584 H.1=4096", 5120, "continuous A:output 0, B:output 0");
  expect (padded, "A=0 B=1024 H.0=3072 H.1=4096", 5120, "continuous H:output 0, H:output 1");
  expect (nopadding, "A=0 B=1000 P=0", 3072, "");
  expect (nopadding, "A=0 B=1024 P=0", 3072, "continuous A:output 0, B:output 0");
  expect (nopadding, "A=0 B=1000 P=3072", 6144, "reference A:output 0, P:output 0");
}

static void
test_fixed (void)
{
  static const char pool[] =
      "A out=512 _buffer_pool_id=1 _buffer_pool_size=2048\nB out=512 _buffer_pool_id=1 "
      "_buffer_pool_size=2048 _buffer_pool_node_offset=512\n"
      "C out=512\n";

  expect (pool, "A=0 B=512 C=1024", 1536, "");
  expect (pool, "A=0 B=1024 C=1536", 2048, "fixed A:output 0, B:output 0");
  /* pools are never shared */
  expect (pool, "A=0 B=512 C=0", 1024, "overlap A:output 0, C:output 0");
}

static void
test_inputs_and_outputs (void)
{
  static const char io[] =
      "X out=512\nD:Data out=512 index=0\nA in=D out=512\nB in=A out=512\nN:NetOutput in=A\n";

  expect (io, "X=0 D=512 A=1024 B=512", 1536, "");
  /* the input exists before X runs */
  expect (io, "X=0 D=0 A=1024 B=512", 1536, "overlap D:output 0, X:output 0");
  /* and the output exists afterwards */
  expect (io, "X=0 D=512 A=1024 B=1024", 1536, "overlap A:output 0, B:output 0");
  expect (
      "A out=512 0._assign_var_name=w\nV:Variable out=512\nE out=512 0._size_calc_always_empty=1\n",
      "", 0, "");
}

static void
test_special_lives (void)
{
  static const char atomic[] =
      "M:MemSet\nX out=512\nB after=M out=512 is_atomic_node=1 atomic_output_index=0\n";
  static const char session[] = "A ws=512 _workspace_memory_no_reuse_scope=1\nB out=512\n";

  expect (atomic, "X=0 B=512", 1024, "");
  expect (atomic, "X=0 B=0", 512, "overlap B:output 0, X:output 0"); /* cleared before X runs */
  expect ("M:MemSet\nX out=512\nB after=M out=512 is_atomic_node=1 atomic_output_index=0 "
          "need_gentask_atomic=1\n",
          "X=0 B=0", 512, "");
  expect (session, "A.w0=0 B=512", 1024, "");
  expect (session, "A.w0=0 B=0", 512, "overlap A:workspace 0, B:output 0");
}

static void
test_labels (void)
{
  static const char lines[] = "S out=512\nA in=S out=512 label=L0\nB in=S out=512 label=L1\nC in=A "
                              "label=L0\nD in=B label=L1\nZ out=512\n";

  expect (lines, "S=0 A=512 B=512 Z=512", 1024, ""); /* A and B never live in one run */
  expect (lines, "S=0 A=0 B=512 Z=512", 1024, "overlap S:output 0, A:output 0");
  expect (lines, "S=0 A=512 B=0 Z=512", 1024, "overlap S:output 0, B:output 0");
  expect ("A out=512 label=L0\nZ out=512\nC in=A label=L0\n", "A=0 Z=0", 512,
          "overlap A:output 0, Z:output 0");
}

static void
test_in_place (void)
{
  expect ("A out=512\nB in=A out=512 _output_inplace_ability=0,0\n", "A=0 B=0", 512, "");
  expect ("A out=512\nB in=A out=512\n", "A=0 B=0", 512, "overlap A:output 0, B:output 0");
  expect ("A out=512\nB in=A out=512 _output_inplace_ability=0,0\nC in=A\n", "A=0 B=0", 512,
          "overlap A:output 0, B:output 0");
  expect (
      "A out=512 stream=0\nC in=A stream=1\nB in=A out=512 stream=0 _output_inplace_ability=0,0\n",
      "A=0 B=0", 512, "stream A:output 0, B:output 0");
}

static void
test_subgraph (void)
{
  static const char lines[] = "A out=512 stream=0\nW in=A out=512 blocks=w stream=0\nD:Data "
                              "out=512 in_block=1 _parent_node_index=0 stream=1\n"
                              "I in=D out=512 in_block=1 stream=1\nN:NetOutput in=I in_block=1 "
                              "_input_parent_node_index=0 stream=1\nZ in=W out=512 stream=0\n";

  expect (lines, "A=0 D=0 I=512 W=512 Z=0", 1024, "");
  /* W is I's memory */
  expect (lines, "A=0 D=0 I=0 W=0 Z=512", 1024, "overlap D:output 0, W:output 0");
  expect (lines, "A=0 D=0 I=512 W=512 Z=512", 1024, "overlap I:output 0, Z:output 0");
  expect (lines, "A=0 D=512 I=1024 W=1024 Z=0", 1536, "reference A:output 0, D:output 0");
}

static void
test_spaces (void)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (chain);
  g_autoptr (GememPlan) plan = plan_from_text (graph, "A=0 B=0 B.w0=512 C=0", 1024);
  g_autofree guint64 *spaces = g_new0 (guint64, 5);
  g_autofree char *text = NULL;

  spaces[1] = 0x11; /* B elsewhere */
  gemem_plan_add_total (plan, 0x11, 1024);
  plan->spaces = spaces;
  text = findings (graph, plan);
  plan->spaces = NULL;
  g_assert_cmpstr (text, ==, "overlap A:output 0, B:workspace 0");
}

/* ---- plans of lifetimes */

static void
expect_lifetimes (const GememLifetimes *lifetimes, const guint64 *offsets, guint64 total,
                  GememViolationKind kind, guint32 first, guint32 second)
{
  const GememPlanInput input = { NULL, lifetimes, 1 };
  g_autoptr (GememPlan) plan = gemem_plan_new ("by hand", lifetimes->items->len);
  g_autoptr (GPtrArray) found = NULL;
  g_autoptr (GError) error = NULL;

  gemem_plan_add_total (plan, 0, total);
  for (guint i = 0; i < plan->n_items; i++)
    {
      plan->offsets[i] = offsets[i];
      plan->sizes[i] = gemem_lifetimes_get (lifetimes, i)->size;
    }
  found = gemem_plan_check (plan, &input, 10);
  g_assert_cmpuint (found->len, ==, kind != GEMEM_VIOLATION_COUNT);
  g_assert_true (gemem_plan_verify (plan, &input, &error) == (found->len == 0));
  if (found->len == 0)
    return;
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT);
  g_assert_cmpint (((GememViolation *) found->pdata[0])->kind, ==, kind);
  g_assert_cmpuint (((GememViolation *) found->pdata[0])->first, ==, first);
  g_assert_cmpuint (((GememViolation *) found->pdata[0])->second, ==, second);
}

static void
test_lifetimes (void)
{
  g_autoptr (GememLifetimes) lives = gemem_lifetimes_new ("lives");

  gemem_lifetimes_add (lives, 0, 5, 100);
  gemem_lifetimes_add (lives, 2, 6, 100);
  gemem_lifetimes_add (lives, 5, 8, 200);
  expect_lifetimes (lives, (guint64[]){ 0, 200, 0 }, 300, GEMEM_VIOLATION_COUNT, 0, 0);
  expect_lifetimes (lives, (guint64[]){ 0, 99, 300 }, 500, GEMEM_VIOLATION_OVERLAP, 0, 1);
  expect_lifetimes (lives, (guint64[]){ 0, 100, 0 }, 300, GEMEM_VIOLATION_OVERLAP, 1, 2);
  expect_lifetimes (lives, (guint64[]){ 0, 200, 0 }, 299, GEMEM_VIOLATION_OUTSIDE, 1, GEMEM_NONE);
  expect_lifetimes (lives, (guint64[]){ 0, 200, GEMEM_NO_OFFSET }, 300, GEMEM_VIOLATION_MISSING, 2,
                    GEMEM_NONE);
  gemem_lifetimes_get (lives, 0)->safe_end = 6; /* known to be complete only later */
  expect_lifetimes (lives, (guint64[]){ 0, 200, 0 }, 300, GEMEM_VIOLATION_OVERLAP, 0, 2);
  gemem_lifetimes_get (lives, 1)->alignment = 64;
  expect_lifetimes (lives, (guint64[]){ 0, 200, 300 }, 500, GEMEM_VIOLATION_ALIGNMENT, 1,
                    GEMEM_NONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-check/overlap", test_overlap);
  g_test_add_func ("/plan-check/stream", test_stream);
  g_test_add_func ("/plan-check/one-item", test_one_item);
  g_test_add_func ("/plan-check/reference", test_reference);
  g_test_add_func ("/plan-check/continuous", test_continuous);
  g_test_add_func ("/plan-check/fixed", test_fixed);
  g_test_add_func ("/plan-check/inputs-and-outputs", test_inputs_and_outputs);
  g_test_add_func ("/plan-check/special-lives", test_special_lives);
  g_test_add_func ("/plan-check/labels", test_labels);
  g_test_add_func ("/plan-check/in-place", test_in_place);
  g_test_add_func ("/plan-check/subgraph", test_subgraph);
  g_test_add_func ("/plan-check/spaces", test_spaces);
  g_test_add_func ("/plan-check/lifetimes", test_lifetimes);
  return g_test_run ();
}
