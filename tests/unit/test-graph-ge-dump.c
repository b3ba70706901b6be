/* test-graph-ge-dump.c - GE dumps: the meaning of each field, subgraphs, the log behind a dump,
 * refusals and their messages. */
#include "config.h"

#include <string.h>

#include "graphs/format.h"
#include "tests/util/graph-text.h"

static void
expect (const GememGraph *graph, const char *expected, const char *notes)
{
  g_autofree char *text = test_graph_text (graph);
  g_autoptr (GString) provenance = g_string_new (NULL);

  for (guint i = 0; i < gemem_graph_provenance (graph)->len; i++)
    g_string_append_printf (provenance, "%s\n",
                            (const char *) g_ptr_array_index (gemem_graph_provenance (graph), i));
  g_assert_cmpstr (text, ==, expected);
  g_assert_true (g_str_has_suffix (provenance->str, "format: ge-dump\n"));
  g_string_truncate (provenance, provenance->len - strlen ("format: ge-dump\n"));
  g_assert_cmpstr (provenance->str, ==, notes);
}

static void
test_graph (void)
{
  g_autoptr (GememGraph) graph = test_open_graph ("ge/graph.txt");

  expect (graph,
          "x:Data() -> float32[2,4]=64 stream=-1 index=0\n"
          "b:MatMul(x.0) -> float32[2,4]=64 int8[3,8]=24 workspace=100 workspace=0 "
          "_workspace_type=2,2 _input_name_key=l\303\251,r\"\n"
          "sync:Send( ^b) ->\n"
          "view:Reshape(b.0) -> float32[8]=64&0 engine=DNN_VM_GE_LOCAL_OP_STORE batch=\n"
          "c:ConcatD(b.1 - view.0 ^sync) -> float16[8,3]=96 _tensor_memory_scope=1 stream=1 "
          "engine= batch=Batch_1 "
          "_no_padding_continuous_input=1 _reuse_input_on_dim_index=0\n",
          "source: GE dump\n"
          "note: 1 outputs have no size; it is taken from their shape, without padding\n"
          "note: 2 attributes that no planner uses are left out\n");
  g_assert_cmpstr (gemem_graph_name (graph), ==, "net");
  g_assert_cmpint (gemem_graph_release_first (graph), ==, 1);
  g_assert_false (gemem_graph_dynamic_root (graph));
}

static void
test_model (void)
{
  g_autoptr (GememGraph) root = test_open_graph ("ge/model.txt");
  g_autoptr (GememGraph) other = test_open_graph ("ge/model.txt#1");

  expect (root,
          "d:Data() -> ?=32\n"
          "call:Case(d.0) -> ?=64 1{one} 2{two}\n"
          "e:Abs() -> ?=32 in=1\n"
          "f:NetOutput(e.0) -> in=1 _input_parent_node_index=0\n"
          "two/d:Data() -> ?=32 in=2 _parent_node_index=0\n"
          "m:Merge(two/d.0 next.0) -> ?=32 in=2\n"
          "next:NextIteration(m.0) -> ?=32 in=2\n"
          "out:NetOutput(call.0) ->\n",
          "source: GE dump\n");
  expect (other, "g:Neg() -> ?=8\n", "source: GE dump\n");
  g_assert_true (gemem_graph_dynamic_root (other));
}

static void
test_log (void)
{
  g_autoptr (GememGraph) graph = test_open_graph ("ge/with-log.txt");

  expect (graph,
          "a:Data() -> ?=64\n"
          "early:Neg(a.0) -> ?=64 stream=1\n"
          "late:Abs(a.0) -> ?=64 stream=2 _sub_stream_id=0\n"
          "send:Send( ^early) -> stream=6\n"
          "end:Add(early.0 late.0) -> ?=64\n",
          "source: GE dump\n"
          "note: order and streams of 4 of 5 nodes are those of the log\n");
}

/* ---- refusals */

static void
expect_refusal (const char *text, const char *expected)
{
  g_autofree char *message = test_graph_refusal (text, strlen (text), "ge-dump");

  g_assert_cmpstr (message, ==, expected);
}

#define NO_DUMP "; this is no dump of GE"

static void
test_refused_text (void)
{
  expect_refusal ("", "x:1: there is no graph and no op in it" NO_DUMP);
  expect_refusal ("name: \"n\"\n", "x:2: there is no graph and no op in it" NO_DUMP);
  expect_refusal ("op {\n",
                  "x:2: the file ends where the name of a field should be; fetch it again");
  expect_refusal ("op }", "x:1: '}' where ':' or '{' should be");
  expect_refusal ("op { name: \"a\n",
                  "x:1: the file ends where the rest of a string should be; fetch it again");
  expect_refusal ("op { name: \"a\\",
                  "x:1: the file ends where the rest of a string should be; fetch it again");
  expect_refusal ("op { name: \"a\" >", "x:1: '>' where the name of a field should be");
  expect_refusal ("op { name: [\"a\"",
                  "x:1: the file ends where a value should be; fetch it again");
  expect_refusal ("op { name: [[", "x:1: '[' where a value should be");
  expect_refusal ("op { \x01", "x:1: byte 0x01 where the name of a field should be");
  expect_refusal ("op { name: 5 }", "x:1: field 'name' must be a string" NO_DUMP);
  expect_refusal ("op { id: \"a\" }", "x:1: field 'id' must be a number or a word" NO_DUMP);
  expect_refusal ("op { id: 9223372036854775808 }",
                  "x:1: field 'id' must be a number of 64 bits, not '9223372036854775808'");
  expect_refusal ("op: 5", "x:1: field 'op' must be a message in braces" NO_DUMP);
  expect_refusal ("op { type: \"T\" }", "x:1: an operator that ends here has no name" NO_DUMP);
}

#define GRAPH(text) "name: \"g\" op { name: \"n\" type: \"T\" " text " }"
#define LOG(graph) \
  "\n[IMAS]Set " graph " name[n] optype[T] output[0] offset to [0] streamid[0] memtype[2] " \
  "size[512] realsize[8] noalignsize[8] " \
  "life time begin[1] life time end[2] child[0] isref[0] batch[], block_type[]\n"

static void
test_refused_graphs (void)
{
  expect_refusal (GRAPH ("input: \"m:0\""),
                  "x: node 'n': input 'm:0': there is no such operator in graph 'g'");
  expect_refusal (GRAPH ("input: \"n\""), "x: node 'n': input 'n': must be PRODUCER:OUTPUT");
  expect_refusal (GRAPH ("input: \"n:-2\""), "x: node 'n': input 'n:-2': must be PRODUCER:OUTPUT");
  expect_refusal (GRAPH ("input: \"n:0\""),
                  "x: node 'n': input 0: output 0 of 'n' does not exist; it has 0");
  expect_refusal (GRAPH ("input: \"n:0\" output_desc { size: 1 }"),
                  "x: node 'n': is part of a cycle: 'n' -> 'n'");
  expect_refusal (GRAPH ("output_desc { size: -1 }"),
                  "x: node 'n': output 0: size -1; the graph is not static");
  expect_refusal (GRAPH ("output_desc { }"), "x: node 'n': output 0: has neither size nor shape; "
                                             "dump a later stage (AfterCalcOpParam or behind it)");
  expect_refusal (GRAPH ("workspace_bytes: -2"),
                  "x: node 'n': workspace 0: -2 bytes; the graph is not static");
  expect_refusal (GRAPH ("subgraph_name: \"s\""),
                  "x: node 'n': subgraph 's' is not in the file; dump the whole model");
  expect_refusal (GRAPH ("") "op { name: \"n\" }",
                  "x: node 'n': is there twice in graph 'g'" NO_DUMP);
  expect_refusal (GRAPH ("") "graph { name: \"s\" op { name: \"a\" subgraph_name: \"s\" } }" GRAPH (
                      "subgraph_name: \"s\""),
                  "x: node 'n': is there twice in graph 'g'" NO_DUMP);
  expect_refusal ("graph { name: \"g\" op { name: \"n\" subgraph_name: \"s\" subgraph_name: \"s\" "
                  "} } graph { name: \"s\" op { name: \"m\" } }",
                  "x: node 'm': subgraph 's' is used twice, or nested more than 100 deep");
  expect_refusal ("graph { name: \"s\" op { name: \"a\" subgraph_name: \"s\" } }",
                  "x: there is no graph #0; it has 0 that are no subgraphs");
  expect_refusal (GRAPH ("") LOG ("h_1"), "x: the log behind the dump has no lines of graph 'g', "
                                          "but of 'h_1'; append the log of this graph");
}

/* ---- accepted text */

static GememGraph *
open_text (const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL;
  GememGraph *graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "x"), "ge-dump", 0,
                                              &error);

  g_assert_no_error (error);
  return graph;
}

/* Names are cut to 512 bytes in the log; nodes whose cut names are equal keep the values of the
 * dump. */
static void
test_cut_names (void)
{
  g_autofree char *stem = g_strnfill (512, 'n'), *line = g_strdup (LOG ("g_1"));
  g_auto (GStrv) parts = g_strsplit (line, "name[n]", 2);
  g_autofree char *one = g_strdup_printf (
      "name: \"g\" op { name: \"%s1\" stream_id: 3 }%sname[%s]%s", stem, parts[0], stem, parts[1]);
  g_autofree char *two = g_strdup_printf (
      "name: \"g\" op { name: \"%s1\" stream_id: 3 } op { name: \"%s2\" stream_id: 3 }%sname[%s]%s",
      stem, stem, parts[0], stem, parts[1]);
  g_autoptr (GememGraph) matched = open_text (one), unmatched = open_text (two);

  g_assert_cmpint (gemem_graph_node (matched, 0)->stream, ==, 0);
  g_assert_cmpint (gemem_graph_node (unmatched, 0)->stream, ==, 3);
  g_assert_cmpint (gemem_graph_node (unmatched, 1)->stream, ==, 3);
}

/* Endless empty lists must not use up the stack; strings are printable. */
static void
test_odd_text (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < 200000; i++)
    g_string_append (text, "a:[]");
  g_string_append (text, "op { name: \"\\001\\377\\u00e9\\U0001F600\\t\\?\" }");
  g_autoptr (GememGraph) graph = open_text (text->str);
  g_assert_cmpstr (gemem_graph_node (graph, 0)->name, ==,
                   "?\357\277\275\303\251\360\237\230\200??");
}

static void
test_depth (void)
{
  g_autoptr (GString) text = g_string_new ("op { attr { key: \"k\" value ");

  for (guint i = 0; i < 200; i++)
    g_string_append (text, "{ list ");
  expect_refusal (text->str, "x:1: nested more than 100 deep; this is no dump of a graph");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-ge-dump/graph", test_graph);
  g_test_add_func ("/graph-ge-dump/model", test_model);
  g_test_add_func ("/graph-ge-dump/log", test_log);
  g_test_add_func ("/graph-ge-dump/refused-text", test_refused_text);
  g_test_add_func ("/graph-ge-dump/refused-graphs", test_refused_graphs);
  g_test_add_func ("/graph-ge-dump/cut-names", test_cut_names);
  g_test_add_func ("/graph-ge-dump/odd-text", test_odd_text);
  g_test_add_func ("/graph-ge-dump/depth", test_depth);
  return g_test_run ();
}
