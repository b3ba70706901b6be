/* test-paddle-memory-optimize.c - every program of shared/vectors/paddle-memory-optimize:
 * renames, printed lines, rewritten operators, final pool; and the resulting plan passes the
 * checker. Both sides are compared as text, so that a difference shows its place. */
#include "config.h"

#include <string.h>

#include "graphs/format.h"
#include "graphs/json.h"
#include "planners/check.h"
#include "tests/util/paddle-program.h"
#include "tests/util/testutil.h"

enum
{
  PROGRAMS = 60,
  OPERATORS = 1441,
  RENAMES = 765,
  MOVED = 7
};

/* ---- the expected text, from the "expect" object */

static const char *
text_of (const GememJsonTree *tree, guint32 entry, const char *name)
{
  return gemem_json_tree_text (tree, gemem_json_tree_find (tree, entry, name));
}

static void
add_names (const GememJsonTree *tree, guint32 list, GString *out)
{
  for (guint32 i = gemem_json_tree_first (tree, list); i != 0;
       i = gemem_json_tree_next (tree, list, i))
    g_string_append_printf (out, " %s", gemem_json_tree_text (tree, i));
}

static void
add_pool (const GememJsonTree *tree, guint32 pool, GString *out)
{
  for (guint32 i = gemem_json_tree_first (tree, pool); i != 0;
       i = gemem_json_tree_next (tree, pool, i))
    {
      const guint32 name = gemem_json_tree_first (tree, i);

      g_string_append_printf (out, "pool %s", gemem_json_tree_text (tree, name));
      add_names (tree, gemem_json_tree_next (tree, i, name), out);
      g_string_append_c (out, '\n');
    }
}

static char *
expected (const GememJsonTree *tree)
{
  const guint32 expect = gemem_json_tree_find (tree, 0, "expect");
  const guint32 renames = gemem_json_tree_find (tree, expect, "renames");
  const guint32 lines = gemem_json_tree_find (tree, expect, "print_log");
  const guint32 ops = gemem_json_tree_find (tree, expect, "ops");
  GString *out = g_string_new (NULL);

  for (guint32 i = gemem_json_tree_first (tree, renames); i != 0;
       i = gemem_json_tree_next (tree, renames, i))
    g_string_append_printf (out, "rename %s %s %s %s %s\n", text_of (tree, i, "op"),
                            text_of (tree, i, "from"), text_of (tree, i, "to"),
                            text_of (tree, i, "index"), text_of (tree, i, "pool_size"));
  for (guint32 i = gemem_json_tree_first (tree, lines); i != 0;
       i = gemem_json_tree_next (tree, lines, i))
    g_string_append_printf (out, "print %s\n", gemem_json_tree_text (tree, i));
  for (guint32 i = gemem_json_tree_first (tree, ops); i != 0;
       i = gemem_json_tree_next (tree, ops, i))
    {
      g_string_append (out, "op");
      add_names (tree, gemem_json_tree_find (tree, i, "inputs"), out);
      g_string_append (out, " ->");
      add_names (tree, gemem_json_tree_find (tree, i, "outputs"), out);
      g_string_append_c (out, '\n');
    }
  add_pool (tree, gemem_json_tree_find (tree, expect, "pool"), out);
  return g_string_free (out, FALSE);
}

/* ---- one program */

typedef struct
{
  guint programs, operators, renames, moved;
} Counts;

/* Plans with the planner itself, under the file's settings. Returns how often the planner had to
 * deviate from PaddlePaddle. */
static guint
check_plan (GememGraph *graph)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { graph, NULL, 1 };
  g_autoptr (GememPlan) plan = NULL;
  GError *error = NULL;

  gemem_planner_parse ("paddle-memory-optimize", choices, &error);
  g_assert_no_error (error);
  plan = gemem_planner_run (choices->pdata[0], &input, &error);
  g_assert_no_error (error);
  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
  return plan->log->len;
}

static void
compare (const char *path, const GememJsonTree *tree, Counts *counts)
{
  g_autofree char *place = g_strdup_printf ("%s#%u", path, counts->programs);
  GError *error = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_open (place, NULL, &error);
  PaddleMemoryOptimize settings = { .print_log = TRUE };
  g_autoptr (PaddleProgram) program = NULL;
  g_autoptr (PaddleRewrite) rewrite = NULL;
  g_autoptr (GString) skip = g_string_new (NULL);
  g_autofree char *ours = NULL, *theirs = expected (tree);

  g_assert_no_error (error);
  add_names (tree, gemem_json_tree_find (tree, 0, "skip_opt_set"), skip);
  g_strdelimit (g_strchug (skip->str), " ", ',');
  settings.level = g_ascii_strtoull (text_of (tree, 0, "level"), NULL, 10);
  settings.skip_opt_set = skip->str;
  program = gemem_paddle_program_new (graph);
  rewrite = gemem_paddle_memory_optimize (program, &settings, &error);
  g_assert_no_error (error);
  ours = test_paddle_rewrite_text (program, rewrite);
  g_assert_cmpstr (ours, ==, theirs);
  counts->moved += check_plan (graph);
  counts->programs++;
  counts->operators += gemem_graph_n_nodes (graph);
  counts->renames += rewrite->renames->len;
}

static void
test_vectors (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/paddle-memory-optimize", ".jsonl.gz");
  Counts counts = { 0, 0, 0, 0 };
  GError *error = NULL;
  GememJsonTree *tree;
  GememInput *input;
  GememJson *json;

  if (files == NULL)
    return;
  g_assert_cmpuint (files->len, ==, 1);
  tree = gemem_json_tree_new ();
  input = gemem_input_open (files->pdata[0], &error);
  g_assert_no_error (error);
  json = gemem_json_new (input);
  do
    {
      gemem_json_tree_read (tree, json, gemem_json_next (json, &error), &error);
      g_assert_no_error (error);
      compare (files->pdata[0], tree, &counts);
    }
  while (gemem_json_next_document (json, &error) == 1);
  g_assert_no_error (error);
  gemem_json_free (json);
  gemem_input_close (input);
  gemem_json_tree_free (tree);
  g_assert_cmpuint (counts.programs, ==, PROGRAMS);
  g_assert_cmpuint (counts.operators, ==, OPERATORS);
  g_assert_cmpuint (counts.renames, ==, RENAMES);
  g_assert_cmpuint (counts.moved, ==, MOVED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle/memory-optimize/vectors", test_vectors);
  return g_test_run ();
}
