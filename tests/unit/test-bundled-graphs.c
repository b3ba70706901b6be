/* test-bundled-graphs.c - the graphs in graphs/bundled: each loads, has the content that its
 * name says, and is in the table of README.md; all are small. */
#include "config.h"

#include <string.h>

#include "graphs/format.h"
#include "tests/util/testutil.h"

#define MOST_BYTES (3u << 20)

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Names of the graph files, sorted. */
static GPtrArray *
list_graphs (const char *folder)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (strstr (name, ".json.") != NULL)
      g_ptr_array_add (names, g_strdup (name));
  g_dir_close (dir);
  g_ptr_array_sort (names, compare_names);
  return names;
}

static void
check_ends (const GememGraph *graph)
{
  const guint32 last = gemem_graph_n_nodes (graph) - 1;
  gint64 inputs = 0;

  for (guint32 id = 0; id <= last; id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      if (strcmp (node->type, "Data") == 0)
        g_assert_cmpint (node->index, ==, inputs++);
      g_assert_true ((strcmp (node->type, "NetOutput") == 0) == (id == last));
    }
  g_assert_cmpint (inputs, >, 0);
  g_assert_cmpuint (gemem_graph_node (graph, last)->n_inputs, ==, 1);
}

/* Every output that is no view holds at least what its shape needs. */
static void
check_sizes (const GememGraph *graph)
{
  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (graph, t);

      g_assert_true (tensor->has_shape);
      g_assert_cmpuint (tensor->size, >, 0);
      if (tensor->reuse_input < 0)
        g_assert_cmpuint (tensor->size, >=, gemem_graph_unpadded_size (graph, t));
    }
}

/* Roles come in order; each trained parameter has one gradient, which the backward pass writes
 * and the optimizer reads. */
static void
check_training (const GememGraph *graph)
{
  g_autofree guint8 *made = g_new0 (guint8, gemem_graph_n_variables (graph)),
                    *read = g_new0 (guint8, gemem_graph_n_variables (graph));
  guint32 gradients = 0, role = 0;

  for (guint32 id = 0; id + 1 < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);
      const guint32 now = node->role == GEMEM_ROLE_LOSS ? 0 : node->role;

      g_assert_cmpuint (now, >=, role);
      role = now;
      for (guint32 i = 0; i < node->n_outputs; i++)
        {
          const guint32 variable = gemem_graph_tensor (graph, node->first_output + i)->variable;
          if (variable != GEMEM_NONE)
            {
              g_assert_cmpuint (node->role, ==, GEMEM_ROLE_BACKWARD);
              made[variable]++;
            }
        }
      for (guint32 i = 0; i < node->n_inputs; i++)
        if (node->role == GEMEM_ROLE_OPTIMIZE
            && gemem_graph_inputs (graph, id)[i].variable != GEMEM_NONE)
          read[gemem_graph_inputs (graph, id)[i].variable] = 1;
    }
  g_assert_cmpuint (role, ==, GEMEM_ROLE_OPTIMIZE);
  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    {
      const GememVariable *variable = gemem_graph_variable (graph, v);
      const gboolean gradient = variable->parameter != GEMEM_NONE;

      g_assert_cmpuint (made[v], ==, gradient);
      g_assert_true (variable->persistable != gradient);
      g_assert_cmpuint (variable->size, >, 0);
      if (gradient)
        {
          g_assert_cmpuint (variable->size, ==,
                            gemem_graph_variable (graph, variable->parameter)->size);
          g_assert_true (read[variable->parameter]);
          gradients++;
        }
    }
  g_assert_cmpuint (gradients, >, 10);
}

/* The batch sizes, of the provenance "batch: 1,2,4,8"; g_strfreev(). */
static char **
batch_sizes (const GememGraph *graph)
{
  const GPtrArray *provenance = gemem_graph_provenance (graph);

  for (guint i = 0; i < provenance->len; i++)
    if (g_str_has_prefix (provenance->pdata[i], "batch: "))
      return g_strsplit ((const char *) provenance->pdata[i] + strlen ("batch: "), ",", 0);
  g_assert_not_reached ();
}

/* Branches of one label each between SwitchN and Merge, all of the same length, with results as
 * large as their batches. */
static void
check_batches (const GememGraph *graph)
{
  g_auto (GStrv) sizes = batch_sizes (graph);
  const guint32 merge = gemem_graph_find_node (graph, "Merge");
  guint64 unit = 0;
  guint first = 0;

  g_assert_cmpstr (gemem_graph_node (graph, merge)->type, ==, "Merge");
  g_assert_cmpuint (gemem_graph_node (graph, merge)->n_inputs, ==, g_strv_length (sizes));
  for (guint i = 0; sizes[i] != NULL; i++)
    {
      const GememTensor *result = gemem_graph_tensor (graph,
                                                      gemem_graph_inputs (graph, merge)[i].tensor);
      const guint64 batch = g_ascii_strtoull (sizes[i], NULL, 10);
      g_autofree char *label = g_strdup_printf ("Batch_%u", i);
      guint count = 0;

      for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
        count += strcmp (gemem_graph_node (graph, id)->batch_label, label) == 0;
      first = i == 0 ? count : first;
      unit = i == 0 ? result->size / batch : unit;
      g_assert_cmpuint (count, >, 100);
      g_assert_cmpuint (count, ==, first);
      g_assert_cmpstr (gemem_graph_node (graph, result->node)->batch_label, ==, label);
      g_assert_cmpuint (result->size, ==, unit * batch);
    }
}

/* The row of README.md: file name, script with the name of the workload, nodes. */
static void
check_readme (const char *readme, const char *file, const GememGraph *graph)
{
  g_autofree char *row = g_strdup_printf ("\n| `%s` |", file),
                  *nodes = g_strdup_printf ("| %u |\n", gemem_graph_n_nodes (graph));
  const char *source = g_ptr_array_index (gemem_graph_provenance (graph), 0),
             *at = strstr (readme, row), *end;
  g_auto (GStrv) words = g_strsplit (source, " ", 4); /* source: graph.py WORKLOAD ... */
  g_autofree char *call = g_strdup_printf ("`graph.py %s FILE", words[2]);

  g_assert_nonnull (at);
  end = strchr (at + 1, '\n') + 1;
  g_assert_cmpint (strncmp (end - strlen (nodes), nodes, strlen (nodes)), ==, 0);
  at = strstr (at, call);
  g_assert_true (at != NULL && at < end);
}

static void
test_graph (gconstpointer data)
{
  const char *file = data;
  g_autofree char *folder = test_source_path ("graphs/bundled"),
                  *path = g_build_filename (folder, file, NULL);
  g_autofree char *readme_path = g_build_filename (folder, "README.md", NULL), *readme = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_open (path, NULL, &error);

  g_assert_no_error (error);
  g_assert_true (g_str_has_prefix (file, gemem_graph_name (graph)));
  g_assert_true (g_file_get_contents (readme_path, &readme, NULL, NULL));
  check_readme (readme, file, graph);
  check_ends (graph);
  check_sizes (graph);
  if (strstr (file, "-train") != NULL)
    check_training (graph);
  if (strstr (file, "-multibatch") != NULL)
    check_batches (graph);
}

static void
test_size (gconstpointer data)
{
  const GPtrArray *names = data;
  g_autofree char *folder = test_source_path ("graphs/bundled");
  gsize total = 0;

  g_assert_cmpuint (names->len, >=, 8);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, g_ptr_array_index (names, i), NULL),
                      *content = NULL;
      gsize size;

      g_assert_true (g_file_get_contents (path, &content, &size, NULL));
      total += size;
    }
  g_assert_cmpuint (total, <, MOST_BYTES);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autofree char *folder = test_source_path ("graphs/bundled");
  g_autoptr (GPtrArray) names = list_graphs (folder);
  g_test_add_data_func ("/bundled-graphs/size", names, test_size);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *test = g_strconcat ("/bundled-graphs/", g_ptr_array_index (names, i), NULL);
      g_test_add_data_func (test, g_ptr_array_index (names, i), test_graph);
    }
  return g_test_run ();
}
