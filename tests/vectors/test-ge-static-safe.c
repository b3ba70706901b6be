/* test-ge-static-safe.c - the plan checker over the vectors of GE's compile-time planner: the plans
 * of the reference must pass.
 *
 * The vectors' plans are the `expect` object of each line, which is a plan file as it stands.
 */
#include "config.h"

#include <string.h>

#include "planners/check.h"
#include "planners/plan-file.h"
#include "tests/util/graphs.h"
#include "tests/util/testutil.h"

/* One line of a file: a graph and its plan. */
static void
check_line (const char *line, const char *where)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = test_graph_from_text (line, NULL, &error);
  const GememPlanInput input = { graph, NULL, 1 };
  const char *expect = strstr (line, "\"expect\":");
  g_autofree char *path = g_build_filename (test_tmpdir (), "plan.json", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GememPlan) plan = NULL;

  g_assert_no_error (error);
  g_assert_nonnull (expect);
  text = g_strndup (expect + strlen ("\"expect\":"), strlen (expect) - strlen ("\"expect\":") - 1);
  g_file_set_contents (path, text, -1, &error);
  g_assert_no_error (error);
  plan = gemem_plan_load (path, &input, &error);
  g_assert_no_error (error);
  plan->alignment = 512;
  if (!gemem_plan_verify (plan, &input, &error))
    g_error ("%s: %s: %s", where, gemem_graph_name (graph), error->message);
}

static void
test_vectors (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/ge-static", ".jsonl.gz");

  for (guint i = 0; files != NULL && i < files->len; i++)
    {
      g_autoptr (GError) error = NULL;
      GememInput *input = gemem_input_open (files->pdata[i], &error);
      const char *line;
      gsize length;
      int more;

      g_assert_no_error (error);
      while ((more = gemem_input_line (input, 1 << 20, &line, &length, &error)) > 0)
        {
          g_autofree char *text = g_strndup (line, length);

          check_line (text, files->pdata[i]);
        }
      g_assert_no_error (error);
      gemem_input_close (input);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-static/safe", test_vectors);
  return g_test_run ();
}
