/* test-graph-json.c - our JSON graph format and the Paddle program form: the vectors, round trips, every refusal. */
#include "config.h"

#include <string.h>

#include "sim/core/error.h"
#include "tests/util/graphs.h"
#include "tests/util/testutil.h"

static char *
write_text (const GememGraph *graph)
{
  GString *text = g_string_new (NULL);
  const GememGraphFormat *format = gemem_graph_format_find ("gemem-graph", NULL);

  g_assert_true (format->write (graph, text, NULL));
  return g_string_free (text, FALSE);
}

/* Written and read again it is the same graph, and written again the same bytes. */
static void
round_trip (const GememGraph *graph)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = write_text (graph);
  g_autoptr (GememGraph) again = test_graph_from_text (text, NULL, &error);

  g_assert_no_error (error);
  test_graphs_equal (graph, again);
  g_autofree char *same = write_text (again);
  g_assert_cmpstr (text, ==, same);
}

/* ---- vectors */

static guint
load_all (const char *path)
{
  guint n = 0;

  for (;; n++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *numbered = g_strdup_printf ("%s#%u", path, n);
      g_autoptr (GememGraph) graph = gemem_graph_open (numbered, NULL, &error);

      if (graph == NULL)
        {
          g_autofree char *message = g_strdup_printf ("%s: there is no graph #%u; the file has %u, counted from 0", path, n, n);
          g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
          g_assert_cmpstr (error->message, ==, message);
          return n;
        }
      g_assert_cmpuint (gemem_graph_n_nodes (graph), >, 0);
      round_trip (graph);
    }
}

static void
test_ge_vectors (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/ge-static", ".jsonl.gz");
  guint n = 0;

  for (guint i = 0; files != NULL && i < files->len; i++)
    n += load_all (files->pdata[i]);
  if (files != NULL)
    g_assert_cmpuint (n, ==, 6 * 60 + 6 * 12);
}

static void
test_ge_settings (void)
{
  g_autofree char *path = test_shared_path ("vectors/ge-static/ioreuse-small.jsonl.gz");
  g_autoptr (GError) error = NULL;

  if (path == NULL)
    return;
  g_autoptr (GememGraph) graph = gemem_graph_open (path, NULL, &error);
  g_assert_no_error (error);
  const GPtrArray *settings = gemem_graph_settings (graph);
  g_assert_cmpstr (gemem_graph_name (graph), ==, "ioreuse-0");
  g_assert_cmpuint (settings->len, ==, 2);
  g_assert_cmpstr (((GememSetting *) settings->pdata[0])->key, ==, "input_reuse");
  g_assert_cmpstr (((GememSetting *) settings->pdata[0])->value, ==, "0,1");
}

static void
test_paddle_vectors (void)
{
  g_autoptr (GPtrArray) files = test_shared_files ("vectors/paddle-memory-optimize", ".jsonl.gz");

  for (guint i = 0; files != NULL && i < files->len; i++)
    g_assert_cmpuint (load_all (files->pdata[i]), ==, 60);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-json/ge-vectors", test_ge_vectors);
  g_test_add_func ("/graph-json/ge-settings", test_ge_settings);
  g_test_add_func ("/graph-json/paddle-vectors", test_paddle_vectors);
  return g_test_run ();
}
