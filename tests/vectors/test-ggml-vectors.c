/* test-ggml-vectors.c - every line of ggml's vectors: the operations of its offset allocator (chunk, offset, size, bytes of all
 * chunks, number of holes) and its plans of 120 graphs (chunks, and where each tensor lies). */
#include "config.h"

#include <string.h>

#include "planners/ggml/gallocr.h"
#include "planners/ggml/model.h"
#include "tests/util/json.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

/* ---- operations */

static const struct
{
  const char *name;
  guint operations;
} files[] = {
  { "a128c100k-inference-1", 4007 },
  { "a128c256m-smallbig-1", 4000 },
  { "a32-random-1", 4000 },
};

static guint64
value_of (const char *line, const char *key)
{
  const char *at = strstr (line, key);

  g_assert_nonnull (at);
  return g_ascii_strtoull (at + strlen (key), NULL, 10);
}

static guint64
holes_of (const GgmlOffsets *offsets)
{
  guint64 holes = 0;

  for (guint32 c = 0; c < offsets->n_chunks; c++)
    holes += offsets->chunks[c].holes;
  return holes;
}

static void
run_line (GgmlOffsets *offsets, GHashTable *live, const char *line)
{
  const guint id = (guint) g_ascii_strtoull (line + 2, NULL, 10);

  if (line[0] == 'a')
    {
      g_auto (GStrv) words = g_strsplit_set (line, " :", -1);
      GgmlPiece *piece = gemem_ggml_offsets_alloc (offsets, g_ascii_strtoull (words[2], NULL, 10));

      g_assert_cmpuint (piece->node.group, ==, g_ascii_strtoull (words[4], NULL, 10));
      g_assert_cmpuint (piece->offset, ==, g_ascii_strtoull (words[5], NULL, 10));
      g_assert_cmpuint (piece->node.size, ==, value_of (line, "size="));
      g_hash_table_insert (live, GUINT_TO_POINTER (id), piece);
    }
  else
    {
      g_assert_cmpint (line[0], ==, 'f');
      gemem_ggml_offsets_free (offsets, g_hash_table_lookup (live, GUINT_TO_POINTER (id)));
      g_hash_table_remove (live, GUINT_TO_POINTER (id));
      g_assert_cmpuint (holes_of (offsets), ==, value_of (line, "free="));
    }
  g_assert_cmpuint (gemem_ggml_offsets_total (offsets), ==, value_of (line, "total="));
}

static void
test_operations (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autofree char *relative = g_strdup_printf ("vectors-2/ggml-alloc/%s.vec.gz", files[i].name);
  g_autofree char *path = test_shared_path (relative), *text = NULL;
  g_autoptr (GHashTable) live = g_hash_table_new (NULL, NULL);
  g_auto (GStrv) lines = NULL;
  GgmlOffsets offsets;
  guint n = 0;

  if (path == NULL)
    return;
  text = test_read_text (path);
  lines = g_strsplit (text, "\n", -1);
  gemem_ggml_offsets_init (&offsets, value_of (lines[0], "alignment="),
                           strstr (lines[0], "max_chunk=none") != NULL
                               ? GGML_ENDLESS
                               : value_of (lines[0], "max_chunk="));
  for (char **line = lines + 1; *line != NULL && **line != '\0'; line++, n++)
    {
      run_line (&offsets, live, *line);
      g_assert_true (n % 16 != 0 || gemem_ggml_offsets_check (&offsets));
    }
  g_assert_cmpuint (n, ==, files[i].operations);
  g_assert_cmpuint (offsets.too_many, ==, 0);
  gemem_ggml_offsets_clear (&offsets);
}

/* ---- graphs */

static void
add_numbers (const GememJsonTree *tree, const char *member, GArray *numbers)
{
  const guint32 list = test_json_member (tree, 0, member);

  for (guint32 i = gemem_json_tree_first (tree, list); i != 0;
       i = gemem_json_tree_next (tree, list, i))
    {
      const guint32 number = (guint32) test_json_value (tree, i);

      g_array_append_val (numbers, number);
    }
}

static gboolean
flag (const GememJsonTree *tree, guint32 object, const char *member)
{
  return gemem_json_tree_find (tree, object, member) != 0 && test_json_bool (tree, object, member);
}

static gboolean
is_null (const GememJsonTree *tree, guint32 entry)
{
  return gemem_json_tree_token (tree, entry) == GEMEM_JSON_NULL;
}

static void
add_tensor (GgmlGraph *graph, GHashTable *layouts, const GememJsonTree *tree, guint32 object)
{
  const char *op = test_json_text (tree, object, "op"),
             *layout = test_json_text (tree, object, "layout");
  const guint32 sources = test_json_member (tree, object, "src");
  const gboolean has_view = !is_null (tree, test_json_member (tree, object, "view"));
  GgmlTensor tensor = { .bytes = (guint64) test_json_int (tree, object, "size"),
                        .view = has_view ? (guint32) test_json_int (tree, object, "view")
                                         : GGML_NO_TENSOR,
                        .is_operator = strcmp (op, "NONE") != 0,
                        .input = flag (tree, object, "in"),
                        .output = flag (tree, object, "out"),
                        .has_data = flag (tree, object, "data") };

  if (!g_hash_table_contains (layouts, layout))
    g_hash_table_insert (layouts, g_strdup (layout),
                         GUINT_TO_POINTER (g_hash_table_size (layouts) + 1));
  tensor.layout = GPOINTER_TO_UINT (g_hash_table_lookup (layouts, layout));
  g_array_append_val (graph->tensors, tensor);
  for (guint32 i = gemem_json_tree_first (tree, sources); i != 0;
       i = gemem_json_tree_next (tree, sources, i))
    gemem_ggml_graph_add_source (graph, graph->tensors->len - 1,
                                 (guint32) test_json_value (tree, i),
                                 gemem_ggml_runs_in_place (op));
}

static void
assert_places (const GgmlGraph *graph, const GgmlOffsets *offsets, const GememJsonTree *tree,
               guint32 expect)
{
  const guint32 chunks = test_json_member (tree, expect, "chunks"),
                at = test_json_member (tree, expect, "at");
  guint32 chunk = gemem_json_tree_first (tree, chunks), place = gemem_json_tree_first (tree, at);

  g_assert_cmpuint (gemem_ggml_offsets_total (offsets), ==, test_json_int (tree, expect, "total"));
  g_assert_cmpuint (offsets->n_chunks, ==, test_json_count (tree, chunks));
  for (guint c = 0; c < offsets->n_chunks; c++, chunk = gemem_json_tree_next (tree, chunks, chunk))
    g_assert_cmpuint (offsets->chunks[c].high, ==, test_json_value (tree, chunk));
  g_assert_cmpuint (graph->tensors->len, ==, test_json_count (tree, at));
  for (guint i = 0; i < graph->tensors->len; i++, place = gemem_json_tree_next (tree, at, place))
    {
      const GgmlTensor *tensor = &g_array_index (graph->tensors, GgmlTensor, i);
      guint32 first;

      if (is_null (tree, place))
        {
          g_assert_false (tensor->placed);
          continue;
        }
      first = gemem_json_tree_first (tree, place);
      g_assert_cmpuint (tensor->chunk, ==, test_json_value (tree, first));
      g_assert_cmpuint (tensor->offset, ==,
                        test_json_value (tree, gemem_json_tree_next (tree, place, first)));
    }
}

static void
run_graph (const char *line)
{
  g_autoptr (GememJsonTree) tree = test_json_parse (line);
  const guint32 tensors = test_json_member (tree, 0, "t");
  const guint64 max_chunk = (guint64) test_json_int (tree, 0, "max_chunk");
  g_autoptr (GHashTable) layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GgmlOffsets offsets;
  GgmlGraph graph;

  gemem_ggml_graph_init (&graph);
  gemem_ggml_offsets_init (&offsets, (guint64) test_json_int (tree, 0, "align"),
                           max_chunk != 0 ? max_chunk : GGML_ENDLESS);
  for (guint32 i = gemem_json_tree_first (tree, tensors); i != 0;
       i = gemem_json_tree_next (tree, tensors, i))
    add_tensor (&graph, layouts, tree, i);
  add_numbers (tree, "leafs", graph.leafs);
  add_numbers (tree, "nodes", graph.nodes);
  g_assert_true (gemem_ggml_graph_plan (&graph, &offsets));
  g_assert_true (gemem_ggml_offsets_check (&offsets));
  assert_places (&graph, &offsets, tree, test_json_member (tree, 0, "expect"));
  gemem_ggml_graph_clear (&graph);
  gemem_ggml_offsets_clear (&offsets);
}

static void
test_graphs (gconstpointer name)
{
  g_autofree char *relative = g_strdup_printf ("vectors-2/ggml-alloc/%s", (const char *) name);
  g_autofree char *path = test_shared_path (relative), *text = NULL;
  g_auto (GStrv) lines = NULL;
  guint n = 0;

  if (path == NULL)
    return;
  text = test_read_text (path);
  lines = g_strsplit (text, "\n", -1);
  for (; lines[n] != NULL && *lines[n] != '\0'; n++)
    run_graph (lines[n]);
  g_assert_cmpuint (n, ==, 60);
}

static void
test_all_files_are_named (void)
{
  g_autoptr (GPtrArray) vectors = test_shared_files ("vectors-2/ggml-alloc", ".vec.gz"),
                        graphs = test_shared_files ("vectors-2/ggml-alloc", ".jsonl.gz");

  if (vectors == NULL || graphs == NULL)
    return;
  g_assert_cmpuint (vectors->len, ==, G_N_ELEMENTS (files));
  g_assert_cmpuint (graphs->len, ==, 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strconcat ("/vectors/ggml/", files[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_operations);
    }
  g_test_add_data_func ("/vectors/ggml/graphs-random", "graphs-random-1.jsonl.gz", test_graphs);
  g_test_add_data_func ("/vectors/ggml/graphs-transformer", "graphs-transformer-1.jsonl.gz",
                        test_graphs);
  g_test_add_func ("/vectors/ggml/all-files", test_all_files_are_named);
  return g_test_run ();
}
