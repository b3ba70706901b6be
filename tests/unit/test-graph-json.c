/* test-graph-json.c - our JSON graph format and the Paddle program form: the vectors, round trips,
 * every refusal. */
#include "config.h"

#include <string.h>

#include "base/error.h"
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
          g_autofree char *message = g_strdup_printf (
              "%s: there is no graph #%u; the file has %u, counted from 0", path, n, n);
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

/* ---- the example of the description */

static GememGraph *
load_example (void)
{
  g_autofree char *path = test_source_path ("doc/graph-format.md"), *text = NULL;
  g_autoptr (GError) error = NULL;
  GememGraph *graph;
  char *begin;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  begin = strstr (text, "```json\n");
  g_assert_nonnull (begin);
  *strstr (begin + 8, "```") = '\0';
  graph = test_graph_from_text (begin + 8, NULL, &error);
  g_assert_no_error (error);
  return graph;
}

static void
test_example (void)
{
  g_autoptr (GememGraph) graph = load_example ();
  const GememNode *matmul = gemem_graph_node (graph, 1);
  const GememTensor *product = gemem_graph_tensor (graph, 1);
  guint n;

  g_assert_cmpstr (gemem_graph_name (graph), ==, "example");
  g_assert_cmpint (gemem_graph_release_first (graph), ==, 1);
  g_assert_cmpstr (gemem_graph_provenance (graph)->pdata[0], ==, "source: written by hand");
  g_assert_cmpuint (gemem_graph_tensor (graph, 0)->size, ==, 256); /* -1 counts as 1 */
  g_assert_cmpuint (gemem_graph_workspace (graph, 1, 1), ==, 0);
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[1].variable, ==,
                    gemem_graph_find_variable (graph, "weight"));
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[2].tensor, ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[2].variable, ==, GEMEM_NONE);
  g_assert_cmpstr (
      gemem_graph_texts (graph, matmul->attributes, GEMEM_ATTRIBUTE_INPUT_NAMES, &n)[2], ==,
      "bias");
  g_assert_cmpuint (gemem_graph_consumers (graph, 1)[0].node, ==, 3); /* as listed, not by number */
  g_assert_true (
      gemem_graph_has_attribute (graph, product->attributes, GEMEM_ATTRIBUTE_TENSOR_MEMORY_TYPE));
  g_assert_cmpuint (gemem_graph_n_blocks (graph), ==, 2);
  g_assert_cmpuint (gemem_graph_node (graph, 4)->block, ==, 1);
  g_assert_cmpuint (gemem_graph_variable (graph, 1)->parameter, ==, 0);
  g_assert_cmpuint (gemem_graph_variable (graph, 1)->size, ==, 16384);
  g_assert_false (gemem_graph_variable (graph, 2)->is_tensor);
  g_assert_cmpuint (gemem_graph_tensor (graph, 4)->variable, ==, 1);
  g_assert_false (gemem_graph_flag (graph, gemem_graph_node (graph, 4)->attributes,
                                    GEMEM_ATTRIBUTE_NO_REUSE_MEM_FLAG));
  round_trip (graph);
}

/* ---- every attribute, odd texts */

static void
add_attribute (GememGraph *graph, GememAttributeKey key)
{
  static const gint64 values[] = { -7, G_MAXINT64, 0 };
  static const char *const texts[] = { "", "quote \" back \\ tab \t line \n \xc3\xbc", "c" };

  switch (gemem_attributes[key].kind)
    {
    case GEMEM_ATTRIBUTE_FLAG:
      gemem_graph_add_attribute_ints (graph, key, (const gint64[]){ key % 2 }, 1);
      break;
    case GEMEM_ATTRIBUTE_INT:
      gemem_graph_add_attribute_ints (graph, key, values, 1);
      break;
    case GEMEM_ATTRIBUTE_INTS:
      gemem_graph_add_attribute_ints (graph, key, values, key % 4);
      break;
    case GEMEM_ATTRIBUTE_TEXT:
      gemem_graph_add_attribute_texts (graph, key, texts + 1, 1);
      break;
    case GEMEM_ATTRIBUTE_TEXTS:
      gemem_graph_add_attribute_texts (graph, key, texts, key % 4);
      break;
    }
}

static void
add_attributes (GememGraph *graph, GememAttributeOwner owner)
{
  for (guint key = GEMEM_ATTRIBUTE_COUNT; key-- > 0;)
    if (gemem_attributes[key].owner == owner)
      add_attribute (graph, (GememAttributeKey) key);
}

static void
test_every_attribute (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("every attribute");
  g_autoptr (GError) error = NULL;

  gemem_graph_set_dynamic_root (graph, TRUE);
  gemem_graph_set_release_first (graph, 0);
  gemem_graph_add_setting (graph, "key", "a,b \"c\"");
  gemem_graph_note (graph, "tool", "%s", "x: y");
  gemem_graph_add_node (graph, "first", "");
  gemem_graph_edit_node (graph)->stream = -1;
  gemem_graph_edit_node (graph)->role = GEMEM_ROLE_BACKWARD | GEMEM_ROLE_LOSS;
  add_attributes (graph, GEMEM_ATTRIBUTE_NODE);
  gemem_graph_add_output (graph, 0);
  gemem_graph_set_shape (graph, GEMEM_DTYPE_UNKNOWN, NULL, 0);
  add_attributes (graph, GEMEM_ATTRIBUTE_TENSOR);
  gemem_graph_add_output (graph, G_GUINT64_CONSTANT (1) << 61);
  gemem_graph_edit_output (graph)->dtype = gemem_dtype_find ("int4");
  add_attributes (graph, GEMEM_ATTRIBUTE_TENSOR);
  g_assert_true (gemem_graph_seal (graph, "x", &error));
  round_trip (graph);
}

/* ---- optional fields, any order */

static GememGraph *
load (const char *text)
{
  g_autoptr (GError) error = NULL;
  GememGraph *graph = test_graph_from_text (text, NULL, &error);

  g_assert_no_error (error);
  return graph;
}

static void
test_defaults (void)
{
  g_autoptr (GememGraph) graph = load ("{\"nodes\":[{\"outputs\":[{\"size\":1}],\"name\":\"a\"}]}");
  const GememNode *node = gemem_graph_node (graph, 0);

  g_assert_cmpstr (gemem_graph_name (graph), ==, "g.json");
  g_assert_cmpstr (node->type, ==, "");
  g_assert_cmpint (node->stream, ==, 0);
  g_assert_cmpint (node->index, ==, -1);
  g_assert_cmpint (gemem_graph_release_first (graph), ==, -1);
  g_assert_cmpint (gemem_graph_tensor (graph, 0)->reuse_input, ==, -1);
  round_trip (graph);
}

static void
test_any_order (void)
{
  g_autoptr (GememGraph)
      graph = load ("{\"x_tool\":{\"nodes\":[[1]]},\"nodes\":[{\"outputs\":[{\"attributes\":{\"_"
                    "inner_offset\":4},\"size\":1}],\"inputs\":[\"late\"],"
                    "\"attributes\":{\"reference\":true},\"name\":\"a\"}],\"variables\":[{\"name\":"
                    "\"early\",\"gradient_of\":\"late\"},"
                    "{\"dtype\":\"DT_FLOAT\",\"shape\":[2],\"name\":\"late\"}],\"expect\":{\"a\":["
                    "1,2]},\"name\":\"n\"}");

  g_assert_cmpstr (gemem_graph_name (graph), ==, "n");
  g_assert_cmpstr (gemem_graph_block (graph, 0)->name, ==, "n");
  g_assert_cmpstr (gemem_graph_variable (graph, 0)->name, ==, "late");
  g_assert_cmpuint (gemem_graph_variable (graph, 0)->size, ==, 8);
  g_assert_cmpuint (gemem_graph_variable (graph, 1)->parameter, ==, 0);
  round_trip (graph);
}

#define NODES "\"nodes\":[{\"name\":\"a\"}]"

static void
test_several (void)
{
  static const char text[] = "{\"name\":\"zero\"," NODES "}\n{\"name\":\"one\",\n" NODES
                             "} {\"name\":\"two\"," NODES "}\n\n";
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, sizeof text - 1);
  static const char *const names[] = { "zero", "one", "two" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GememGraph) graph = gemem_graph_open_input (
          gemem_input_new_from_bytes (bytes, "g.json"), "gemem-graph", i, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (gemem_graph_name (graph), ==, names[i]);
    }
}

/* ---- files */

static void
test_files (void)
{
  g_autoptr (GememGraph) graph = load_example ();
  g_autofree char *path = g_build_filename (test_tmpdir (), "g#3", NULL),
                  *missing = g_build_filename (test_tmpdir (), "none", "g", NULL);
  g_autofree char *one = g_strconcat (path, "#1", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_graph_save (graph, path, &error));
  /* a file of that name takes precedence over the number */
  g_autoptr (GememGraph) again = gemem_graph_open (path, NULL, &error);
  g_assert_no_error (error);
  test_graphs_equal (graph, again);
  g_assert_cmpstr (gemem_graph_format_probe (path)->base.name, ==, "gemem-graph");
  g_assert_null (gemem_graph_open (one, NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_true (
      g_str_has_suffix (error->message, "there is no graph #1; the file has 1, counted from 0"));
  g_clear_error (&error);
  g_assert_false (gemem_graph_save (graph, missing, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_null (gemem_graph_format_probe (missing));
  g_assert_null (gemem_graph_format_probe (test_tmpdir ()));
}

/* ---- refusals */

typedef struct
{
  const char *text, *message; /* without "g.json: " */
} Refusal;

static void
refuse (const Refusal *rows, guint n, const char *format)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *got = test_graph_error (rows[i].text, format);
      g_autofree char *wanted = g_strconcat ("g.json", rows[i].message[0] == ':' ? "" : ": ",
                                             rows[i].message, NULL);

      g_assert_cmpstr (got, ==, wanted);
    }
}

#define NODE(fields) "{\"nodes\":[{\"name\":\"a\"," fields "}]}"
#define OUTPUT(fields) NODE ("\"outputs\":[{" fields "}]")
#define ATTRIBUTE(fields) NODE ("\"attributes\":{" fields "}")
#define VARIABLE(fields) "{\"nodes\":[],\"variables\":[{\"name\":\"v\"," fields "}]}"

static void
test_refuses_documents (void)
{
  static const Refusal rows[] = {
    { "", ":1: the JSON text ends too early; the file was cut off, fetch it again" },
    { "{\"nodes\":[", ":1: the JSON text ends too early; the file was cut off, fetch it again" },
    { "[]", "a graph is a JSON object {...}; this is something else" },
    { "{\"nodes\":[]}]", ":1: \"\" is no JSON value; the file is damaged or of another format" },
    { "{}", "no \"nodes\"; this is no graph" },
    { "{\"nodes\":[]}", GEMEM_GRAPH_WITHOUT_NODES },
    { "{\"nodes\":{}}", "nodes: must be a list [...]" },
    { "{\"nodes\":[],\"nodes\":[]}", "nodes: given twice" },
    { "{\"nodez\":[]}", "'nodez' is not known here; did you mean 'nodes'?" },
    { "{\"format\":\"onnx\",\"nodes\":[]}", "format: must be \"gemem-graph\"" },
    { "{\"version\":2}", "version: 2 is newer than this program, which reads up to 1; update it" },
    { "{\"version\":0}", "version: 0 is too small; the least is 1" },
    { "{\"version\":\"1\"}", "version: must be a number, not a string" },
    { "{\"name\":\"\"}", "name: is empty; give it a name" },
    { "{\"options\":{\"a\":1,\"a\":2}}", "options: a: given twice" },
    { "{\"options\":{\"a\":{}}}",
      "options: a: must be a string, a number, true, false, or a list of those" },
    { "{\"options\":{\"a\":[[1]]}}",
      "options: a[0]: must be a string, a number, true, false, or a list of those" },
    { "{\"options\":[]}", "options: must be an object {...}, not a list [...]" },
    { "{\"provenance\":[\"x\"]}", "provenance: [0]: must be \"KEY: VALUE\"" },
    { "{\"dynamic_shape_partitioned\":1}",
      "dynamic_shape_partitioned: must be true or false, not a number" },
    { "{\"name\":NaN}", ":1: \"NaN\" is no JSON value; the file is damaged or of another format" },
  };

  refuse (rows, G_N_ELEMENTS (rows), "gemem-graph");
}

static void
test_refuses_nodes (void)
{
  static const Refusal rows[] = {
    { "{\"nodes\":[1]}", "nodes[0]: must be an object {...}, not a number" },
    { "{\"nodes\":[{}]}", "nodes[0]: name: is missing" },
    { "{\"nodes\":[{\"name\":7}]}", "nodes[0]: name: must be a string, not a number" },
    { "{\"nodes\":[{\"name\":\"a\\u0001\"}]}",
      "nodes[0]: name: 'a\\001' holds a control character; names are shown in messages and "
      "tables" },
    { "{\"nodes\":[{\"name\":\"a\\u0000\"}]}",
      "nodes[0]: line 1: a text that is not UTF-8, or holds a zero byte; the file is damaged" },
    { "{\"nodes\":[{\"name\":\"\xff\"}]}",
      "nodes[0]: line 1: a text that is not UTF-8, or holds a zero byte; the file is damaged" },
    { "{\"nodes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
      "node 'a': name: given to two nodes; names must be unique" },
    { NODE ("\"id\":1"), "node 'a': id: must be 0, its position in the list, or left out" },
    { NODE ("\"stram\":1"), "node 'a': stram: not known here; did you mean 'stream'?" },
    { NODE ("\"stream\":1,\"stream\":1"), "node 'a': stream: given twice" },
    { NODE ("\"stream\":-2"), "node 'a': stream: -2 is too small; the least is -1" },
    { NODE ("\"stream\":1.5"),
      "node 'a': stream: 1.5 is no integer; write it without fraction and exponent" },
    { NODE ("\"stream\":1e400"),
      "node 'a': stream: 1e400 is no integer; write it without fraction and exponent" },
    { NODE ("\"stream\":9223372036854775808"),
      "node 'a': stream: 9223372036854775808 does not fit in 63 bits" },
    { NODE ("\"role\":65536"), "node 'a': role: 65536 is too large; the most is 65535" },
    { NODE ("\"block\":1"), "node 'a': block: there is no block 1; the graph has 1" },
    { NODE ("\"type\":null"), "node 'a': type: must be a string, not null" },
    { NODE ("\"workspaces\":[0,-2]"),
      "node 'a': workspaces[1]: -2 bytes; must be 0 or more, or -1 for none" },
    { NODE ("\"workspaces\":[4611686018427387904]"),
      "node 'a': workspace 0: 4611686018427387904 bytes (with all before it) overflow; the most is "
      "2^62" },
    { NODE ("\"inputs\":[[\"b\",0]]"),
      "node 'a': input 0: comes from 'b', which is no node of this graph; add it, or write null" },
    { NODE ("\"inputs\":[[\"a\",0]]"),
      "node 'a': input 0: output 0 of 'a' does not exist; it has 0" },
    { NODE ("\"inputs\":[[\"b\"]]"), "node 'a': inputs[0]: must be [\"NODE\", NUMBER]" },
    { NODE ("\"inputs\":[[\"b\",-1]]"), "node 'a': inputs[0][1]: -1 is too small; the least is 0" },
    { NODE ("\"inputs\":[[\"b\",4294967295]]"), "node 'a': inputs[0][1]: no node has so many" },
    { NODE ("\"inputs\":[true]"),
      "node 'a': inputs[0]: must be [\"NODE\", OUTPUT], \"VARIABLE\", {\"name\", \"block\"} of a "
      "variable, or null" },
    { NODE ("\"inputs\":[\"v\"]"),
      "node 'a': variable 'v' is not in \"variables\"; list it there, or correct the name" },
    { NODE ("\"controls\":[\"b\"]"),
      "node 'a': control 0: waits for 'b', which is no node of this graph" },
    { NODE ("\"controls\":\"b\""), "node 'a': controls: must be a list [...], not a string" },
    { NODE ("\"inputs\":[[\"a\",0]],\"outputs\":[{\"size\":1}]"),
      "node 'a': is part of a cycle: 'a' -> 'a'" },
    { "{\"nodes\":[{\"name\":\"a\",\"controls\":[\"b\"]},{\"name\":\"b\",\"controls\":[\"a\"]}]}",
      "node 'a': is part of a cycle: 'a' -> 'b' -> 'a'" },
    { "{\"nodes\":[{\"name\":\"a\",\"controls\":[\"b\"]},{\"name\":\"b\"}]}",
      "node 'a': needs 'b', which is listed after it; list nodes in the order they run" },
  };

  refuse (rows, G_N_ELEMENTS (rows), "gemem-graph");
}

static void
test_refuses_parts (void)
{
  static const Refusal rows[] = {
    { OUTPUT (""),
      "node 'a': outputs[0]: has no size; give \"size\" in bytes, or \"shape\" and \"dtype\"" },
    { OUTPUT ("\"shape\":[1]"),
      "node 'a': outputs[0]: has no size; give \"size\" in bytes, or \"shape\" and \"dtype\"" },
    { OUTPUT ("\"size\":-5"), "node 'a': outputs[0].size: -5 is too small; the least is 0" },
    { OUTPUT ("\"size\":1,\"shape\":[-9223372036854775808]"),
      "node 'a': outputs[0].shape[0]: -9223372036854775808 is too small; the least is "
      "-9223372036854775807" },
    { OUTPUT ("\"shape\":[4294967296,4294967296],\"dtype\":\"int8\""),
      "node 'a': outputs[0].shape: more than 2^63 bytes; a dimension is wrong" },
    { OUTPUT ("\"size\":1,\"reuse_input\":0"),
      "node 'a': output 0: reuse_input: input 0 does not exist; it has 0" },
    { OUTPUT ("\"size\":1,\"reuse_input\":2147483648"),
      "node 'a': outputs[0].reuse_input: no node has so many inputs" },
    { OUTPUT ("\"size\":1,\"consumers\":[[\"a\",0]]"),
      "node 'a': output 0: lists 1 consumers, but 0 inputs are connected to it" },
    { OUTPUT ("\"size\":1,\"consumers\":[7]"),
      "node 'a': outputs[0].consumers[0]: must be a list [...], not a number" },
    { OUTPUT ("\"size\":1,\"attributes\":{\"reference\":true}"),
      "node 'a': outputs[0].attributes.reference: not known here; doc/ describes the formats, and "
      "names beginning with x_ are ignored" },
    { ATTRIBUTE ("\"referense\":true"),
      "node 'a': attributes.referense: not known here; did you mean 'reference'?" },
    { ATTRIBUTE ("\"reference\":true,\"reference\":true"),
      "node 'a': attributes.reference: given twice" },
    { ATTRIBUTE ("\"reference\":1"),
      "node 'a': attributes.reference: must be true or false, not a number" },
    { ATTRIBUTE ("\"_sub_stream_id\":[1]"),
      "node 'a': attributes._sub_stream_id: must be a number, not a list [...]" },
    { ATTRIBUTE ("\"atomic_input_index\":[[1,[2]]]"),
      "node 'a': attributes.atomic_input_index[0][1]: must be a number, not a list [...]" },
    { ATTRIBUTE ("\"_original_type\":true"),
      "node 'a': attributes._original_type: must be a string, not true or false" },
    { ATTRIBUTE ("\"_input_name_key\":[\"x\",null]"),
      "node 'a': attributes._input_name_key[1]: must be a string, not null" },
    { VARIABLE ("\"kind\":\"lod\""), "variable 'v': kind: must be \"tensor\" or \"other\"" },
    { VARIABLE ("\"size\":\"4\""), "variable 'v': size: must be a number, not a string" },
    { VARIABLE ("\"gradient_of\":\"w\""),
      "gradient of 'w': variable 'w' is not in \"variables\"; list it there, or correct the name" },
    { "{\"nodes\":[],\"variables\":[{\"name\":\"v\"},{\"name\":\"v\"}]}",
      "variable 'v': name: given to two variables; names must be unique, or unique in the block "
      "that each of them says" },
    { "{\"nodes\":[],\"variables\":[{\"name\":\"v\",\"block\":1},{\"name\":\"v\",\"block\":1}]}",
      "variable 'v': name: given to two variables; names must be unique, or unique in the block "
      "that each of them says" },
    { "{\"nodes\":[{\"name\":\"a\"}],\"variables\":[{\"name\":\"v\"},{\"name\":\"v\",\"block\":1}]"
      "}",
      "variable 'v': block: is missing; of several variables with one name each must say the block "
      "that declares it" },
    { "{\"nodes\":[{\"name\":\"a\"}],\"variables\":[{\"name\":\"v\",\"block\":1}]}",
      "variable 'v': block: there is no block 1; the graph has 1" },
    { VARIABLE ("\"block\":-1"), "variable 'v': block: -1 is too small; the least is 0" },
    { VARIABLE ("\"block\":\"body\""), "variable 'v': block: must be a number, not a string" },
    { NODE ("\"inputs\":[{\"name\":\"v\"}]"),
      "node 'a': inputs[0]: must have \"name\" and \"block\" of the variable" },
    { NODE ("\"inputs\":[{\"name\":\"v\",\"block\":1}]"),
      "node 'a': variable 'v' of block 1 is not in \"variables\"; list it there, or correct the "
      "name" },
    { "{\"nodes\":[{\"name\":\"a\",\"blocks\":[\"b\",\"c\"],\"inputs\":[\"v\"]}],"
      "\"variables\":[{\"name\":\"v\",\"block\":1},{\"name\":\"v\",\"block\":2}]}",
      "node 'a': several blocks declare 'v', and none of them is around it; write {\"name\": "
      "\"v\", \"block\": N}" },
    { "{\"nodes\":[],\"variables\":[{}]}", "variables[0]: name: is missing" },
  };

  refuse (rows, G_N_ELEMENTS (rows), "gemem-graph");
}

static void
test_refuses_dtype (void)
{
  g_autofree char *names = g_strjoinv (", ", (char **) gemem_dtype_names ());
  g_autofree char *wanted = g_strdup_printf (
      "node 'a': outputs[0].dtype: 'float33' is no element type; there are %s", names);
  const Refusal row = { OUTPUT ("\"size\":1,\"dtype\":\"float33\""), wanted };

  refuse (&row, 1, "gemem-graph");
}

static void
test_refuses_hostile (void)
{
  g_autoptr (GString) deep = g_string_new ("{\"nodes\":");
  g_autoptr (GString) longest = g_string_new ("{\"nodes\":[{\"name\":\"");
  g_autoptr (GString) many = g_string_new (NULL);
  g_autofree char *message = NULL, *message2 = NULL, *message3 = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append_c (deep, '[');
  for (guint i = 0; i < 5000; i++)
    g_string_append_c (longest, 'x');
  g_string_append (longest, "\"}]}");
  message = test_graph_error (deep->str, "gemem-graph");
  g_assert_true (g_str_has_prefix (message, "g.json:1: nested more than 512 deep"));
  message2 = test_graph_error (longest->str, "gemem-graph");
  g_assert_cmpstr (message2, ==,
                   "g.json: nodes[0]: line 1: a text of more than 4091 bytes; shorten it");
  g_string_assign (many, "{\"nodes\":[[");
  for (guint i = 0; i <= 1u << 22; i++)
    g_string_append (many, "0,");
  message3 = test_graph_error (many->str, "gemem-graph");
  g_assert_cmpstr (message3, ==,
                   "g.json: nodes[0]: line 1: more than 4194304 values or 67108864 bytes; too "
                   "large to be read at once");
}

/* ---- variables of several blocks */

/* A name means the variable of the nearest block around, listed before the nodes or behind. */
static void
test_blocks (void)
{
  static const char nodes[] =
      "\"nodes\":[{\"name\":\"a\",\"blocks\":[\"one\",\"two\"],\"inputs\":[\"v\"]},"
      "{\"name\":\"b\",\"block\":1,\"blocks\":[\"inner\"],\"inputs\":[\"v\",{\"name\":\"v\","
      "\"block\":"
      "0}]},"
      "{\"name\":\"c\",\"block\":3,\"inputs\":[\"v\",\"w\"],"
      "\"outputs\":[{\"size\":4,\"variable\":\"v\"},{\"size\":4,\"variable\":{\"name\":\"w\","
      "\"block\":2}}]},"
      "{\"name\":\"d\",\"block\":2,\"inputs\":[\"v\"]}]";
  static const char variables[] =
      "\"variables\":[{\"name\":\"v\",\"size\":1,\"block\":1},{\"name\":\"w\",\"block\":2},"
      "{\"name\":\"v\",\"size\":2,\"block\":0},{\"name\":\"g\",\"gradient_of\":\"v\",\"block\":3}]";

  for (guint first = 0; first < 2; first++)
    {
      g_autofree char *text = g_strdup_printf ("{%s,%s}", first ? variables : nodes,
                                               first ? nodes : variables);
      g_autoptr (GememGraph) graph = load (text);
      const GememNodeInput *b = gemem_graph_inputs (graph, 1), *c = gemem_graph_inputs (graph, 2);
      const guint32 w = gemem_graph_find_variable (graph, "w"),
                    g = gemem_graph_find_variable (graph, "g");
      const GememNode *node = gemem_graph_node (graph, 2);

#define SIZE(variable) gemem_graph_variable (graph, (variable))->size
      g_assert_cmpuint (gemem_graph_n_variables (graph), ==, 4);
      g_assert_cmpuint (SIZE (gemem_graph_inputs (graph, 0)[0].variable), ==, 2);
      g_assert_cmpuint (SIZE (b[0].variable), ==, 1);
      g_assert_cmpuint (SIZE (b[1].variable), ==, 2);
      g_assert_cmpuint (SIZE (c[0].variable), ==, 1);
      g_assert_cmpuint (c[1].variable, ==, w);
      g_assert_cmpuint (SIZE (gemem_graph_tensor (graph, node->first_output)->variable), ==, 1);
      g_assert_cmpuint (gemem_graph_tensor (graph, node->first_output + 1)->variable, ==, w);
      g_assert_cmpuint (SIZE (gemem_graph_inputs (graph, 3)[0].variable), ==, 2);
      g_assert_cmpuint (SIZE (gemem_graph_variable (graph, g)->parameter), ==, 1);
#undef SIZE
      round_trip (graph);
    }
}

/* ---- Paddle programs */

static void
test_paddle (void)
{
  g_autoptr (GememGraph)
      graph = load ("{\"ops\":[{\"type\":\"mul\",\"inputs\":[\"x\",\"w\",\"@EMPTY@\"],\"outputs\":["
                    "\"y\",\"@EMPTY@\"]},"
                    "{\"type\":\"relu\",\"inputs\":[\"y\",\"@EMPTY@\"],\"outputs\":[\"y\"]},{"
                    "\"type\":\"relu\",\"inputs\":[\"y\"],\"outputs\":[]}],"
                    "\"vars\":{\"x\":{\"shape\":[-1,8],\"dtype\":\"float32\",\"persistable\":false}"
                    ",\"y\":{\"shape\":[2],\"dtype\":\"int64\"},"
                    "\"w\":{\"shape\":[8,8],\"dtype\":\"float32\",\"persistable\":true}},\"level\":"
                    "1,\"skip_opt_set\":[\"x\",\"y\"],\"name\":\"p\"}");
  const guint32 y = gemem_graph_find_variable (graph, "y"),
                empty = gemem_graph_find_variable (graph, "@EMPTY@");
  const GememSetting *skip = gemem_graph_settings (graph)->pdata[1];

  g_assert_cmpstr (skip->key, ==, "skip_opt_set");
  g_assert_cmpstr (skip->value, ==, "x,y");
  g_assert_cmpstr (gemem_graph_node (graph, 2)->name, ==, "op2");
  g_assert_cmpuint (gemem_graph_variable (graph, gemem_graph_find_variable (graph, "x"))->size, ==,
                    32);
  g_assert_cmpuint (gemem_graph_tensor (graph, 0)->size, ==, 16);
  g_assert_cmpuint (gemem_graph_tensor (graph, 0)->variable, ==, y);
  g_assert_cmpuint (gemem_graph_inputs (graph, 0)[0].tensor, ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[0].tensor, ==, 0);
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[0].variable, ==, y);
  /* though op0 writes @EMPTY@ */
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[1].tensor, ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_inputs (graph, 1)[1].variable, ==, empty);
  g_assert_cmpuint (gemem_graph_inputs (graph, 2)[0].tensor, ==, 2); /* the latest */
  round_trip (graph);
}

static void
test_refuses_paddle (void)
{
  static const Refusal rows[] = {
    { "{\"vars\":{}}", "no \"ops\"; this is no program" },
    { "{\"vars\":{},\"ops\":[{\"type\":\"a\",\"inputs\":[\"x\"],\"outputs\":[]}]}",
      "ops[0].inputs[0]: variable 'x' is not in \"vars\"" },
    { "{\"vars\":{},\"ops\":[{\"type\":\"a\",\"inputs\":[]}]}", "ops[0]: outputs: is missing" },
    { "{\"vars\":{},\"ops\":[{\"type\":\"a\",\"inputs\":{},\"outputs\":[]}]}",
      "ops[0].inputs: must be a list [...], not an object {...}" },
    { "{\"vars\":{\"x\":{\"dtype\":\"int8\"}},\"ops\":[]}", "vars.x: shape: is missing" },
    { "{\"vars\":{\"x\":{\"shape\":[1],\"dtype\":\"int8\"},\"x\":{}},\"ops\":[]}",
      "vars.x: given twice" },
    { "{\"vars\":[],\"ops\":[]}", "vars: must be an object {...}, not a list [...]" },
    { "{\"vars\":{\"x\":{\"shape\":[9223372036854775807,2],\"dtype\":\"int8\"}},\"ops\":[]}",
      "vars.x.shape: more than 2^63 bytes; a dimension is wrong" },
  };

  refuse (rows, G_N_ELEMENTS (rows), "paddle-program");
}

/* ---- recognition */

static void
test_recognition (void)
{
  g_autofree char *empty = test_graph_error ("", NULL),
                  *other = test_graph_error ("{\"traceEvents\":[]}", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (empty, ==, "g.json: the file is empty; name a recorded trace or a graph");
  g_assert_true (g_str_has_prefix (other, "g.json: not recognised as a graph; 'gemem-sim list "
                                          "formats' shows"));
  g_assert_null (test_graph_from_text ("{}", "gemem-grap", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==,
                   "unknown graph format 'gemem-grap'; did you mean 'gemem-graph'?");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-json/ge-vectors", test_ge_vectors);
  g_test_add_func ("/graph-json/ge-settings", test_ge_settings);
  g_test_add_func ("/graph-json/paddle-vectors", test_paddle_vectors);
  g_test_add_func ("/graph-json/example", test_example);
  g_test_add_func ("/graph-json/every-attribute", test_every_attribute);
  g_test_add_func ("/graph-json/defaults", test_defaults);
  g_test_add_func ("/graph-json/any-order", test_any_order);
  g_test_add_func ("/graph-json/several", test_several);
  g_test_add_func ("/graph-json/files", test_files);
  g_test_add_func ("/graph-json/refuses-documents", test_refuses_documents);
  g_test_add_func ("/graph-json/refuses-nodes", test_refuses_nodes);
  g_test_add_func ("/graph-json/refuses-parts", test_refuses_parts);
  g_test_add_func ("/graph-json/refuses-dtype", test_refuses_dtype);
  g_test_add_func ("/graph-json/refuses-hostile", test_refuses_hostile);
  g_test_add_func ("/graph-json/blocks", test_blocks);
  g_test_add_func ("/graph-json/paddle", test_paddle);
  g_test_add_func ("/graph-json/refuses-paddle", test_refuses_paddle);
  g_test_add_func ("/graph-json/recognition", test_recognition);
  return g_test_run ();
}
