/* test-ge-static.c - ge-hybrid plans as the reference model of the GE compile-time planner does:
 * every graph of every ge-static vector file, each offset of outputs and workspaces, totals,
 * zero-copy bytes, every candidate's score, and the winner. */
#include "config.h"

#include <string.h>

#include "tests/util/graphs.h"
#include "tests/util/json.h"
#include "tests/util/plans.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

/* The expected results of one graph. */
typedef struct
{
  GememJsonTree *tree;
  guint32 winner, candidates, total, zero_copy, totals, outputs, workspaces;
} Expect;

static Expect
read_expect (const char *line)
{
  Expect expect = { .tree = test_json_parse (line) };
  guint32 at;

  at = test_json_member (expect.tree, 0, "expect");
  expect.winner = test_json_member (expect.tree, at, "winner");
  expect.candidates = test_json_member (expect.tree, at, "candidates");
  expect.total = test_json_member (expect.tree, at, "feature_map_plus_tail");
  expect.zero_copy = test_json_member (expect.tree, at, "zero_copy");
  expect.totals = test_json_member (expect.tree, at, "totals");
  expect.outputs = test_json_member (expect.tree, at, "outputs");
  expect.workspaces = test_json_member (expect.tree, at, "workspaces");
  return expect;
}

/* ---- comparisons; the first difference is reported */

static gboolean
same (const char *graph, const char *what, guint64 expected, guint64 got)
{
  if (expected != got)
    g_test_message ("%s: %s: expected %" G_GUINT64_FORMAT ", got %" G_GUINT64_FORMAT, graph, what,
                    expected, got);
  return expected == got;
}

static const GememPlanCandidate *
find_candidate (const GememPlan *plan, const char *name)
{
  for (guint i = 0; i < plan->candidates->len; i++)
    if (strcmp (g_array_index (plan->candidates, GememPlanCandidate, i).name, name) == 0)
      return &g_array_index (plan->candidates, GememPlanCandidate, i);
  g_error ("no candidate '%s'", name);
}

/* The files list candidates by score, plans in the order of GE's table. */
static gboolean
compare_candidates (const GememPlan *plan, const Expect *expect, const char *name)
{
  const GememJsonTree *tree = expect->tree;
  guint n = 0;

  for (guint32 i = gemem_json_tree_first (tree, expect->candidates); i != 0;
       i = gemem_json_tree_next (tree, expect->candidates, i), n++)
    {
      const guint32 first = gemem_json_tree_first (tree, i),
                    second = gemem_json_tree_next (tree, i, first);
      const GememPlanCandidate *candidate = find_candidate (plan,
                                                            gemem_json_tree_text (tree, first));

      if (!same (name, candidate->name, (guint64) test_json_value (tree, second), candidate->total))
        return FALSE;
    }
  return same (name, "number of candidates", n, plan->candidates->len);
}

static gboolean
compare_totals (const GememPlan *plan, const Expect *expect, const char *name)
{
  const GememJsonTree *tree = expect->tree;
  guint n = 0;

  for (guint32 i = gemem_json_tree_first (tree, expect->totals); i != 0;
       i = gemem_json_tree_next (tree, expect->totals, i), n++)
    {
      const guint64 space = g_ascii_strtoull (gemem_json_tree_key (tree, i), NULL, 16);
      guint k = 0;

      while (k < plan->totals->len
             && g_array_index (plan->totals, GememPlanTotal, k).space != space)
        k++;
      if (!same (name, gemem_json_tree_key (tree, i), (guint64) test_json_value (tree, i),
                 k < plan->totals->len ? g_array_index (plan->totals, GememPlanTotal, k).bytes
                                       : G_MAXUINT64))
        return FALSE;
    }
  return same (name, "number of totals", n, plan->totals->len);
}

/* @section: "outputs" or "workspaces", offsets by node. */
static gboolean
compare_offsets (const GememGraph *graph, const GememPlan *plan, const Expect *expect,
                 gboolean workspaces)
{
  const GememJsonTree *tree = expect->tree;
  const guint32 section = workspaces ? expect->workspaces : expect->outputs;
  guint32 n = 0, all = 0;

  for (guint32 i = gemem_json_tree_first (tree, section); i != 0;
       i = gemem_json_tree_next (tree, section, i))
    {
      const guint32 id = gemem_graph_find_node (graph, gemem_json_tree_key (tree, i));
      const GememNode *node;
      guint32 index = 0;

      g_assert_cmpuint (id, !=, GEMEM_NONE);
      node = gemem_graph_node (graph, id);
      for (guint32 k = gemem_json_tree_first (tree, i); k != 0;
           k = gemem_json_tree_next (tree, i, k), index++, n++)
        {
          const guint32 item = workspaces ? gemem_node_workspace_item (node, index)
                                          : gemem_node_output_item (node, index);
          g_autofree char *text = gemem_graph_item_text (graph, item);

          if (!same (gemem_graph_name (graph), text, (guint64) test_json_value (tree, k),
                     plan->offsets[item]))
            return FALSE;
        }
    }
  for (guint32 i = 0; i < gemem_graph_n_nodes (graph); i++)
    all += workspaces ? gemem_graph_node (graph, i)->n_workspaces
                      : gemem_graph_node (graph, i)->n_outputs;
  return same (gemem_graph_name (graph), workspaces ? "number of workspaces" : "number of outputs",
               n, all);
}

static gboolean
compare (const GememGraph *graph, const GememPlan *plan, const Expect *expect)
{
  const char *name = gemem_graph_name (graph);

  if (strcmp (plan->winner, gemem_json_tree_text (expect->tree, expect->winner)) != 0)
    {
      g_test_message ("%s: winner: expected %s, got %s", name,
                      gemem_json_tree_text (expect->tree, expect->winner), plan->winner);
      return FALSE;
    }
  return compare_candidates (plan, expect, name) && compare_totals (plan, expect, name)
         && same (name, "total", (guint64) test_json_value (expect->tree, expect->total),
                  g_array_index (plan->totals, GememPlanTotal, 0).bytes)
         && same (name, "zero_copy", (guint64) test_json_value (expect->tree, expect->zero_copy),
                  plan->zero_copy)
         && compare_offsets (graph, plan, expect, FALSE)
         && compare_offsets (graph, plan, expect, TRUE);
}

/* ---- files */

static guint
replay (const char *path, const char *planner, guint threads)
{
  g_autofree char *text = test_read_text (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = 0, differences = 0;

  for (; lines[n] != NULL && lines[n][0] != '\0'; n++)
    {
      GError *error = NULL;
      g_autoptr (GememGraph) graph = test_graph_from_text (lines[n], NULL, &error);
      g_autoptr (GememPlan) plan = NULL;
      Expect expect;

      g_assert_no_error (error);
      expect = read_expect (lines[n]);
      plan = test_plan (graph, planner, threads);
      differences += !compare (graph, plan, &expect);
      gemem_json_tree_free (expect.tree);
    }
  g_test_message ("%s: %u graphs, %u differ", path, n, differences);
  g_assert_cmpuint (n, >, 0);
  return differences;
}

static void
test_file (gconstpointer name)
{
  g_autofree char *relative = g_strdup_printf ("vectors/ge-static/%s.jsonl.gz",
                                               (const char *) name);
  g_autofree char *path = test_shared_path (relative);

  if (path == NULL)
    return;
  g_assert_cmpuint (replay (path, "ge-hybrid", 1), ==, 0);
  g_assert_cmpuint (replay (path, "ge-hybrid", 8), ==, 0);
}

/* Checks that the comparison can fail. */
static void
test_difference_is_found (void)
{
  g_autofree char *path = test_shared_path ("vectors/ge-static/plain-medium.jsonl.gz");

  if (path != NULL)
    g_assert_cmpuint (replay (path, "ge-hybrid:disable_reuse=yes", 1), >, 0);
}

int
main (int argc, char **argv)
{
  static const char *const files[] = { "plain-small",   "plain-medium",   "prio-small",
                                       "prio-medium",   "io-small",       "io-medium",
                                       "ioreuse-small", "ioreuse-medium", "batch-small",
                                       "batch-medium",  "batch400-small", "batch400-medium" };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strdup_printf ("/vectors/ge-static/%s", files[i]);
      g_test_add_data_func (path, files[i], test_file);
    }
  g_test_add_func ("/vectors/ge-static/difference-is-found", test_difference_is_found);
  return g_test_run ();
}
