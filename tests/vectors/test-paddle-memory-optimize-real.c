/* test-paddle-memory-optimize-real.c - what the real transpilers of PaddlePaddle did, case by case
 * (shared/vectors-2/paddle-memory-optimize-real): every line that memory_optimize printed, and the
 * program after it or after release_memory.
 *
 * Both sides are compared as text, so that a difference shows its place.  The plan that follows
 * from each case passes the checker.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "graphs/format.h"
#include "graphs/json.h"
#include "planners/check.h"
#include "planners/paddle/passes.h"
#include "tests/util/testutil.h"

enum
{
  CASES = 660,
  RELEASES = 132,
  LINES = 12249,
  LONGEST = 1 << 20 /* bytes of a case */
};

/* ---- the expected text */

static const char *
text_of (const GememJsonTree *tree, guint32 entry, const char *name)
{
  const guint32 found = gemem_json_tree_find (tree, entry, name);

  return found != 0 ? gemem_json_tree_text (tree, found) : NULL;
}

static void
add_names (const GememJsonTree *tree, guint32 list, GString *out)
{
  for (guint32 i = gemem_json_tree_first (tree, list); i != 0;
       i = gemem_json_tree_next (tree, list, i))
    g_string_append_printf (out, " %s", gemem_json_tree_text (tree, i));
}

/* [BLOCK, TYPE, [INPUT...], [OUTPUT...]] */
static void
add_op (const GememJsonTree *tree, guint32 op, GString *out)
{
  const guint32 block = gemem_json_tree_first (tree, op),
                type = gemem_json_tree_next (tree, op, block),
                inputs = gemem_json_tree_next (tree, op, type);

  g_string_append_printf (out, "%s %s", gemem_json_tree_text (tree, block),
                          gemem_json_tree_text (tree, type));
  add_names (tree, inputs, out);
  g_string_append (out, " ->");
  add_names (tree, gemem_json_tree_next (tree, op, inputs), out);
  g_string_append_c (out, '\n');
}

static char *
expected (const GememJsonTree *tree, guint *n_lines)
{
  const guint32 lines = gemem_json_tree_find (tree, 0, "log"),
                ops = gemem_json_tree_find (tree, 0, "ops");
  GString *out = g_string_new (NULL);

  for (guint32 i = gemem_json_tree_first (tree, lines); i != 0;
       i = gemem_json_tree_next (tree, lines, i))
    {
      g_string_append_printf (out, "print %s\n", gemem_json_tree_text (tree, i));
      (*n_lines)++;
    }
  for (guint32 i = gemem_json_tree_first (tree, ops); i != 0;
       i = gemem_json_tree_next (tree, ops, i))
    add_op (tree, i, out);
  return g_string_free (out, FALSE);
}

/* ---- the computed text */

static void
add_variable (const PaddleProgram *program, guint32 variable, GString *out)
{
  if (variable != GEMEM_NONE)
    g_string_append_printf (out, " %s", gemem_paddle_variable (program, variable)->name);
}

/* The operators of each block in order, with the variables of @rewrite. */
static GPtrArray *
list_ops (const PaddleProgram *program, const PaddleRewrite *rewrite)
{
  GPtrArray *blocks = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);

  for (guint32 b = 0; b < gemem_graph_n_blocks (program->graph); b++)
    g_ptr_array_add (blocks, g_ptr_array_new_with_free_func (g_free));
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);
      GString *op = g_string_new (NULL);

      g_string_append_printf (op, "%u %s", node->block, node->type);
      for (guint32 i = node->first_input; i < node->first_input + node->n_inputs; i++)
        add_variable (program, rewrite->inputs[i], op);
      g_string_append (op, " ->");
      for (guint32 i = 0; i < node->n_outputs; i++)
        add_variable (program, rewrite->items[gemem_node_output_item (node, i)], op);
      g_ptr_array_add (blocks->pdata[node->block], g_string_free (op, FALSE));
    }
  return blocks;
}

static char *
write_down (const GPtrArray *log, GPtrArray *blocks)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; log != NULL && i < log->len; i++)
    g_string_append_printf (out, "print %s\n", (const char *) log->pdata[i]);
  for (guint b = 0; b < blocks->len; b++)
    {
      const GPtrArray *ops = blocks->pdata[b];

      for (guint i = 0; i < ops->len; i++)
        g_string_append_printf (out, "%s\n", (const char *) ops->pdata[i]);
    }
  g_ptr_array_unref (blocks);
  return g_string_free (out, FALSE);
}

static char *
optimized (const PaddleProgram *program, const PaddleMemoryOptimize *settings)
{
  GError *error = NULL;
  g_autoptr (PaddleRewrite) rewrite = gemem_paddle_memory_optimize (program, settings, &error);

  g_assert_no_error (error);
  return write_down (rewrite->log, list_ops (program, rewrite));
}

/* Inserts what "delete_var block B index I: a, b" says. */
static void
insert_deletion (GPtrArray *blocks, const char *line)
{
  unsigned block, index;
  const char *names = strchr (line, ':');
  g_auto (GStrv) list = g_strsplit (names + 2, ", ", -1);
  g_autofree char *joined = g_strjoinv (" ", list);

  g_assert_cmpint (sscanf (line, "delete_var block %u index %u:", &block, &index), ==, 2);
  g_ptr_array_insert (blocks->pdata[block], (int) index,
                      g_strdup_printf ("%u delete_var %s ->", block, joined));
}

static char *
released (const PaddleProgram *program, const GememPlan *plan)
{
  g_autoptr (PaddleRewrite) unchanged = gemem_paddle_rewrite_new (program);
  GPtrArray *blocks = list_ops (program, unchanged);

  for (guint i = 0; i < plan->log->len; i++)
    insert_deletion (blocks, plan->log->pdata[i]);
  return write_down (NULL, blocks);
}

/* ---- one case */

/* The graph that stands as the member "program" in @line. */
static GememGraph *
read_program (const char *line)
{
  static const char key[] = "\"program\":";
  const char *begin = strstr (line, key) + strlen (key), *end = begin;
  g_autoptr (GBytes) bytes = NULL;
  GememGraph *graph;
  GError *error = NULL;
  gboolean quoted = FALSE;
  guint depth = 0;

  do
    {
      quoted ^= *end == '"' && end[-1] != '\\';
      depth += !quoted && (*end == '{' || *end == '[');
      depth -= !quoted && (*end == '}' || *end == ']');
      end++;
    }
  while (depth > 0);
  bytes = g_bytes_new (begin, (gsize) (end - begin));
  graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "program"), NULL, 0, &error);
  g_assert_no_error (error);
  return graph;
}

/* The plan of the case's planner with its settings, checked. */
static GememPlan *
make_plan (const char *planner, GememGraph *graph)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { graph, NULL, 1 };
  GememPlan *plan;
  GError *error = NULL;

  gemem_planner_parse (planner, choices, &error);
  g_assert_no_error (error);
  plan = gemem_planner_run (choices->pdata[0], &input, &error);
  g_assert_no_error (error);
  gemem_plan_verify (plan, &input, &error);
  g_assert_no_error (error);
  return plan;
}

static char *
computed (const GememJsonTree *tree, GememGraph *graph)
{
  const guint32 setting = gemem_json_tree_find (tree, 0, "setting");
  const char *version = text_of (tree, 0, "era"), *level = text_of (tree, setting, "level");
  const gboolean skip_grads = gemem_json_tree_token (
                                  tree, gemem_json_tree_find (tree, setting, "skip_grads"))
                              == GEMEM_JSON_TRUE;
  g_autoptr (GString) skip = g_string_new (NULL);
  g_autoptr (PaddleProgram) program = gemem_paddle_program_new (graph);
  g_autofree char *planner = NULL;
  g_autoptr (GememPlan) plan = NULL;
  PaddleMemoryOptimize settings = { .print_log = TRUE, .skip_grads = skip_grads };

  add_names (tree, gemem_json_tree_find (tree, setting, "skip"), skip);
  g_strdelimit (g_strchug (skip->str), " ", ',');
  planner = level == NULL ? g_strdup_printf ("paddle-release-memory:skip_opt_set=[%s],version=%s",
                                             skip->str, version)
                          : g_strdup_printf ("paddle-memory-optimize:level=%s,skip_opt_set=[%s],"
                                             "skip_grads=%s,version=%s",
                                             level, skip->str, skip_grads ? "yes" : "no", version);
  plan = make_plan (planner, graph);
  if (level == NULL)
    return released (program, plan);
  settings.level = g_ascii_strtoull (level, NULL, 10);
  settings.skip_opt_set = skip->str;
  settings.era = strcmp (version, "1.2") == 0 ? PADDLE_ERA_1_2 : PADDLE_ERA_1_3;
  return optimized (program, &settings);
}

static void
compare (const char *line, gsize length, guint *n_lines, guint *n_releases)
{
  g_autofree char *text = g_strndup (line, length);
  g_autoptr (GBytes) bytes = g_bytes_new (line, length);
  GememInput *input = gemem_input_new_from_bytes (bytes, "case");
  GememJson *json = gemem_json_new (input);
  GememJsonTree *tree = gemem_json_tree_new ();
  g_autoptr (GememGraph) graph = read_program (text);
  g_autofree char *ours = NULL, *theirs = NULL;
  GError *error = NULL;

  gemem_json_tree_read (tree, json, gemem_json_next (json, &error), &error);
  g_assert_no_error (error);
  theirs = expected (tree, n_lines);
  ours = computed (tree, graph);
  g_assert_cmpstr (ours, ==, theirs);
  *n_releases += gemem_json_tree_find (tree, gemem_json_tree_find (tree, 0, "setting"), "release")
                 != 0;
  gemem_json_tree_free (tree);
  gemem_json_free (json);
  gemem_input_close (input);
}

static void
test_cases (void)
{
  g_autoptr (GPtrArray)
      files = test_shared_files ("vectors-2/paddle-memory-optimize-real", ".jsonl.gz");
  guint n = 0, n_lines = 0, n_releases = 0;
  GError *error = NULL;
  GememInput *input;
  const char *line;
  gsize length;

  if (files == NULL)
    return;
  g_assert_cmpuint (files->len, ==, 1);
  input = gemem_input_open (files->pdata[0], &error);
  g_assert_no_error (error);
  for (; gemem_input_line (input, LONGEST, &line, &length, &error) == 1; n++)
    compare (line, length, &n_lines, &n_releases);
  g_assert_no_error (error);
  gemem_input_close (input);
  g_assert_cmpuint (n, ==, CASES);
  g_assert_cmpuint (n_releases, ==, RELEASES);
  g_assert_cmpuint (n_lines, ==, LINES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle/memory-optimize/real", test_cases);
  return g_test_run ();
}
