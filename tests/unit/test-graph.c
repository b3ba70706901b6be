/* test-graph.c - the graph model: building, numbering, connections, attributes, and every fault
 * that sealing finds. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/graph.h"

/* Two streams: a makes two tensors, b and c use them, d waits for a without data. */
static GememGraph *
make_diamond (void)
{
  GememGraph *graph = gemem_graph_new ("diamond");
  const guint32 weight = gemem_graph_add_variable (graph, "w", gemem_dtype_find ("float16"),
                                                   (const gint64[]){ -1, 10 }, 2, TRUE);

  g_assert_cmpuint (gemem_graph_add_node (graph, "a", "Data"), ==, 0);
  gemem_graph_add_no_input (graph);
  gemem_graph_add_workspace (graph, 64);
  gemem_graph_add_workspace (graph, 0);
  g_assert_cmpuint (gemem_graph_add_output (graph, 1000), ==, 0);
  gemem_graph_set_shape (graph, gemem_dtype_find ("DT_FLOAT"), (const gint64[]){ 2, 3 }, 2);
  g_assert_cmpuint (gemem_graph_add_output (graph, 2000), ==, 1);
  gemem_graph_edit_output (graph)->variable = weight;
  gemem_graph_add_node (graph, "b", "Relu");
  gemem_graph_edit_node (graph)->stream = 1;
  gemem_graph_add_input (graph, "a", 1);
  gemem_graph_add_output (graph, 3000);
  gemem_graph_edit_output (graph)->reuse_input = 0;
  gemem_graph_add_node (graph, "c", "Add");
  gemem_graph_add_input (graph, "a", 0);
  gemem_graph_add_input (graph, "b", 0);
  gemem_graph_add_input (graph, "a", 1);
  gemem_graph_add_variable_input (graph, weight);
  gemem_graph_add_workspace (graph, 128);
  gemem_graph_add_node (graph, "d", "NoOp");
  gemem_graph_add_control (graph, "a");
  gemem_graph_add_control (graph, "c");
  return graph;
}

static void
seal (GememGraph *graph)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_graph_seal (graph, "t", &error));
  g_assert_no_error (error);
}

static void
test_numbers (void)
{
  g_autoptr (GememGraph) graph = make_diamond ();

  seal (graph);
  g_assert_cmpuint (gemem_graph_n_nodes (graph), ==, 4);
  g_assert_cmpuint (gemem_graph_n_tensors (graph), ==, 3);
  g_assert_cmpuint (gemem_graph_n_workspaces (graph), ==, 3);
  g_assert_cmpuint (gemem_graph_n_items (graph), ==, 6);
  g_assert_cmpuint (gemem_graph_n_blocks (graph), ==, 1);
  g_assert_cmpuint (gemem_graph_find_node (graph, "c"), ==, 2);
  g_assert_cmpuint (gemem_graph_find_node (graph, "e"), ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_find_variable (graph, "w"), ==, 0);
  g_assert_cmpuint (gemem_graph_find_variable (graph, "v"), ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_variable (graph, 0)->size, ==, 20);
  g_assert_cmpuint (gemem_graph_unpadded_size (graph, 0), ==, 24);
  g_assert_cmpuint (gemem_graph_unpadded_size (graph, 1), ==, 2000);
}

static void
test_items (void)
{
  /* The outputs of a node, then its workspaces. */
  static const char *const names[] = { "a:output 0",    "a:output 1", "a:workspace 0",
                                       "a:workspace 1", "b:output 0", "c:workspace 0" };
  static const guint64 sizes[] = { 1000, 2000, 64, 0, 3000, 128 };
  g_autoptr (GememGraph) graph = make_diamond ();

  seal (graph);
  for (guint32 i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const GememGraphItem item = gemem_graph_item (graph, i);
      const GememNode *node = gemem_graph_node (graph, item.node);
      g_autofree char *text = gemem_graph_item_text (graph, i);

      g_assert_cmpstr (text, ==, names[i]);
      g_assert_cmpuint (item.size, ==, sizes[i]);
      g_assert_cmpuint (item.workspace ? gemem_node_workspace_item (node, item.index)
                                       : gemem_node_output_item (node, item.index),
                        ==, i);
    }
}

static void
expect_consumers (const GememGraph *graph, guint32 tensor, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint32 i = 0; i < gemem_graph_tensor (graph, tensor)->n_consumers; i++)
    g_string_append_printf (
        text, "%s%s.%u", i > 0 ? " " : "",
        gemem_graph_node (graph, gemem_graph_consumers (graph, tensor)[i].node)->name,
        gemem_graph_consumers (graph, tensor)[i].input);
  g_assert_cmpstr (text->str, ==, expected);
}

static void
test_connections (void)
{
  g_autoptr (GememGraph) graph = make_diamond ();

  seal (graph);
  expect_consumers (graph, 0, "c.0");
  expect_consumers (graph, 1, "b.0 c.2");
  expect_consumers (graph, 2, "c.1");
  g_assert_cmpuint (gemem_graph_inputs (graph, 2)[1].tensor, ==, 2);
  /* of the tensor that writes it */
  g_assert_cmpuint (gemem_graph_inputs (graph, 2)[2].variable, ==, 0);
  g_assert_cmpuint (gemem_graph_inputs (graph, 2)[3].tensor, ==, GEMEM_NONE);
  g_assert_cmpuint (gemem_graph_inputs (graph, 2)[3].variable, ==, 0);
  g_assert_cmpuint (gemem_graph_node (graph, 0)->n_successors, ==, 1);
  g_assert_cmpuint (gemem_graph_successors (graph, 0)[0], ==, 3);
  g_assert_cmpuint (gemem_graph_node (graph, 3)->n_controls, ==, 2);
  g_assert_cmpuint (gemem_graph_controls (graph, 3)[1], ==, 2);
}

static void
test_consumer_order (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("order");

  gemem_graph_add_node (graph, "a", "");
  gemem_graph_add_output (graph, 1);
  gemem_graph_add_consumer (graph, "c", 0);
  gemem_graph_add_consumer (graph, "b", 1);
  gemem_graph_add_consumer (graph, "b", 0);
  gemem_graph_add_output (graph, 2);
  for (const char *name = "b\0c\0"; *name != '\0'; name += 2)
    {
      gemem_graph_add_node (graph, name, "");
      gemem_graph_add_input (graph, "a", 0);
      gemem_graph_add_input (graph, "a", *name == 'b' ? 0 : 1);
    }
  seal (graph);
  expect_consumers (graph, 0, "c.0 b.1 b.0");
  expect_consumers (graph, 1, "c.1");
}

static void
test_blocks (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("blocks");
  const gint64 *none = NULL;

  gemem_graph_add_node (graph, "if", "If");
  g_assert_cmpuint (gemem_graph_add_block (graph, "then"), ==, 1);
  g_assert_cmpuint (gemem_graph_add_block (graph, "else"), ==, 2);
  gemem_graph_add_node (graph, "x", "");
  gemem_graph_edit_node (graph)->block = 2;
  gemem_graph_set_name (graph, "renamed");
  g_assert_cmpuint (gemem_graph_add_variable (graph, "v", GEMEM_DTYPE_UNKNOWN, none, 0, FALSE), ==,
                    0);
  g_assert_cmpuint (gemem_graph_add_variable (graph, "v", GEMEM_DTYPE_UNKNOWN, none, 0, TRUE), ==,
                    0);
  gemem_graph_set_variable_shape (graph, 0, gemem_dtype_find ("int4"), (const gint64[]){ 3 }, 1);
  seal (graph);
  g_assert_cmpuint (gemem_graph_n_variables (graph), ==, 1);
  g_assert_cmpuint (gemem_graph_variable (graph, 0)->size, ==, 2); /* 12 bits */
  g_assert_cmpuint (gemem_graph_n_blocks (graph), ==, 3);
  g_assert_cmpstr (gemem_graph_block (graph, 0)->name, ==, "renamed");
  g_assert_cmpuint (gemem_graph_block (graph, 0)->node, ==, GEMEM_NONE);
  g_assert_cmpstr (gemem_graph_block (graph, 2)->name, ==, "else");
  g_assert_cmpuint (gemem_graph_node (graph, 0)->n_blocks, ==, 2);
  g_assert_cmpuint (gemem_graph_node (graph, 0)->first_block, ==, 1);
}

/* Merge reads a value of NextIteration, which is listed later: no cycle. */
static void
test_loop (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("loop");

  gemem_graph_add_node (graph, "merge", "Merge");
  gemem_graph_add_input (graph, "next", 0);
  gemem_graph_add_output (graph, 8);
  gemem_graph_add_node (graph, "next", "NextIteration");
  gemem_graph_add_input (graph, "merge", 0);
  gemem_graph_add_output (graph, 8);
  seal (graph);
  expect_consumers (graph, 1, "merge.0");
}

static void
test_attributes (void)
{
  g_autoptr (GememGraph) graph = gemem_graph_new ("attributes");
  static const char *const names[] = { "x", "y" };
  GememAttributes node, tensor;
  gint64 value = 0;
  guint n;

  gemem_graph_add_node (graph, "a", "");
  gemem_graph_add_attribute_ints (graph, GEMEM_ATTRIBUTE_REFERENCE, (const gint64[]){ 1 }, 1);
  gemem_graph_add_attribute_texts (graph, GEMEM_ATTRIBUTE_INPUT_NAMES, names, 2);
  gemem_graph_add_attribute_ints (graph, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX, NULL, 0);
  gemem_graph_add_output (graph, 8);
  gemem_graph_add_attribute_ints (graph, GEMEM_ATTRIBUTE_INNER_OFFSET, (const gint64[]){ -5 }, 1);
  gemem_graph_add_attribute_texts (graph, GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME, names, 1);
  seal (graph);
  node = gemem_graph_node (graph, 0)->attributes;
  tensor = gemem_graph_tensor (graph, 0)->attributes;
  g_assert_cmpuint (node.n, ==, 3);
  g_assert_cmpuint (tensor.n, ==, 2);
  g_assert_true (gemem_graph_flag (graph, node, GEMEM_ATTRIBUTE_REFERENCE));
  g_assert_false (gemem_graph_flag (graph, node, GEMEM_ATTRIBUTE_CONTINUOUS_INPUT));
  g_assert_cmpstr (gemem_graph_texts (graph, node, GEMEM_ATTRIBUTE_INPUT_NAMES, &n)[1], ==, "y");
  g_assert_cmpuint (n, ==, 2);
  g_assert_true (gemem_graph_has_attribute (graph, node, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX));
  gemem_graph_ints (graph, node, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX, &n);
  g_assert_cmpuint (n, ==, 0);
  g_assert_false (gemem_graph_int (graph, node, GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX, &value));
  g_assert_true (gemem_graph_int (graph, tensor, GEMEM_ATTRIBUTE_INNER_OFFSET, &value));
  g_assert_cmpint (value, ==, -5);
  g_assert_cmpstr (gemem_graph_text (graph, tensor, GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME), ==, "x");
  g_assert_null (gemem_graph_text (graph, tensor, GEMEM_ATTRIBUTE_REF_VAR_SRC_VAR_NAME));
  g_assert_cmpint (gemem_graph_attribute_at (graph, tensor, 1), ==,
                   GEMEM_ATTRIBUTE_ASSIGN_VAR_NAME);
}

static void
test_attribute_names (void)
{
  for (guint i = 0; i < GEMEM_ATTRIBUTE_COUNT; i++)
    {
      /* unique */
      g_assert_cmpint (gemem_attribute_find (gemem_attributes[i].name, gemem_attributes[i].owner),
                       ==, (GememAttributeKey) i);
      g_assert_true (g_str_has_suffix (gemem_attributes[i].help, "."));
    }
  g_assert_cmpint (gemem_attribute_find ("reference", GEMEM_ATTRIBUTE_TENSOR), ==,
                   GEMEM_ATTRIBUTE_COUNT);
}

static void
test_dtypes (void)
{
  guint64 bytes;

  for (const char *const *name = gemem_dtype_names (); *name != NULL; name++)
    g_assert_cmpstr (gemem_dtype_name (gemem_dtype_find (*name)), ==, *name);
  g_assert_cmpint (gemem_dtype_find ("DT_BF16"), ==, gemem_dtype_find ("torch.bfloat16"));
  g_assert_cmpint (gemem_dtype_find ("dt-bf16"), ==, gemem_dtype_find ("BFloat16"));
  g_assert_cmpint (gemem_dtype_find (""), ==, GEMEM_DTYPE_UNKNOWN);
  g_assert_cmpint (gemem_dtype_find ("float"), !=, gemem_dtype_find ("double"));
  g_assert_true (
      gemem_dtype_bytes (gemem_dtype_find ("uint1"), (const gint64[]){ 3, 3 }, 2, &bytes));
  g_assert_cmpuint (bytes, ==, 2);
  g_assert_true (gemem_dtype_bytes (gemem_dtype_find ("float32"), NULL, 0, &bytes)); /* a scalar */
  g_assert_cmpuint (bytes, ==, 4);
  g_assert_true (gemem_dtype_bytes (gemem_dtype_find ("int8"), (const gint64[]){ -12 }, 1, &bytes));
  g_assert_cmpuint (bytes, ==, 12); /* paddle.md 13.2 */
  g_assert_false (
      gemem_dtype_bytes (gemem_dtype_find ("int8"), (const gint64[]){ G_MAXINT64, 2 }, 2, &bytes));
}

/* ---- faults: calls of the builder as a hostile file would cause them */

static void
expect_fault (GememGraph *graph, const char *message)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (gemem_graph_seal (graph, "t", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==, message);
  gemem_graph_unref (graph);
}

/* Node "a" with an output of @size, then node "b". */
static GememGraph *
make_pair (guint64 size)
{
  GememGraph *graph = gemem_graph_new ("pair");

  gemem_graph_add_node (graph, "a", "");
  gemem_graph_add_output (graph, size);
  gemem_graph_add_node (graph, "b", "");
  return graph;
}

static void
test_fault_names (void)
{
  GememGraph *graph = make_pair (1);

  gemem_graph_add_node (graph, "a", "");
  gemem_graph_add_node (graph, "b", "");
  expect_fault (graph, "t: node 'a': name: given to two nodes; names must be unique");
  graph = make_pair (1);
  gemem_graph_add_input (graph, "z", 0);
  expect_fault (graph, "t: node 'b': input 0: comes from 'z', which is no node of this graph; add "
                       "it, or write null");
  graph = make_pair (1);
  gemem_graph_add_no_input (graph);
  gemem_graph_add_input (graph, "a", 1);
  expect_fault (graph, "t: node 'b': input 1: output 1 of 'a' does not exist; it has 1");
  graph = make_pair (1);
  gemem_graph_add_control (graph, "z");
  expect_fault (graph, "t: node 'b': control 0: waits for 'z', which is no node of this graph");
  graph = make_pair (1);
  gemem_graph_edit_node (graph)->block = 1;
  expect_fault (graph, "t: node 'b': block: there is no block 1; the graph has 1");
  graph = gemem_graph_new ("blocks");
  gemem_graph_add_node (graph, "inside", "");
  gemem_graph_edit_node (graph)->block = 1;
  gemem_graph_add_node (graph, "owner", "");
  gemem_graph_add_block (graph, "body");
  expect_fault (graph, "t: node 'inside': block: the node that runs block 1 comes later; list it "
                       "before the nodes of the block");
}

static void
test_fault_consumers (void)
{
  static const struct
  {
    const char *node;
    guint32 input;
    const char *message;
  } rows[] = {
    { "z", 0, "t: node 'a': output 0: consumer 'z' is no node of this graph" },
    { "b", 2,
      "t: node 'a': output 0: consumer 'b' input 2 is not connected to it; consumers and inputs "
      "must agree" },
    { "b", 1, "t: node 'a': output 0: consumer 'b' input 1 is listed twice" },
    { NULL, 0, "t: node 'a': output 0: lists 1 consumers, but 2 inputs are connected to it" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememGraph *graph = gemem_graph_new ("consumers");

      gemem_graph_add_node (graph, "a", "");
      gemem_graph_add_output (graph, 1);
      gemem_graph_add_consumer (graph, "b", 1);
      if (rows[i].node != NULL)
        gemem_graph_add_consumer (graph, rows[i].node, rows[i].input);
      gemem_graph_add_node (graph, "b", "");
      gemem_graph_add_input (graph, "a", 0);
      gemem_graph_add_input (graph, "a", 0);
      expect_fault (graph, rows[i].message);
    }
}

static void
test_fault_sizes (void)
{
  GememGraph *graph = make_pair (G_GUINT64_CONSTANT (1) << 62);

  expect_fault (graph, "t: node 'a': output 0: size: 4611686018427387904 bytes (with all before "
                       "it) overflow; the most is 2^62");
  graph = make_pair (G_GUINT64_CONSTANT (1) << 61);
  gemem_graph_add_output (graph, G_GUINT64_CONSTANT (1) << 61);
  expect_fault (graph, "t: node 'b': output 0: size: 2305843009213693952 bytes (with all before "
                       "it) overflow; the most is 2^62");
  graph = make_pair (G_GUINT64_CONSTANT (1) << 61);
  gemem_graph_add_workspace (graph, 1);
  gemem_graph_add_workspace (graph, G_MAXUINT64);
  expect_fault (graph, "t: node 'b': workspace 1: 18446744073709551615 bytes (with all before it) "
                       "overflow; the most is 2^62");
  graph = make_pair (1);
  gemem_graph_add_output (graph, 1);
  gemem_graph_edit_output (graph)->reuse_input = 0;
  expect_fault (graph, "t: node 'b': output 0: reuse_input: input 0 does not exist; it has 0");
}

/* A ring of @n nodes, each fed by the next one and the last by the first. */
static GememGraph *
make_ring (guint n, gboolean closed)
{
  GememGraph *graph = gemem_graph_new ("ring");

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i),
                      *next = g_strdup_printf ("n%u", (i + 1) % n);

      gemem_graph_add_node (graph, name, "");
      if (closed || i + 1 < n)
        gemem_graph_add_input (graph, next, 0);
      gemem_graph_add_output (graph, 1);
    }
  return graph;
}

static void
test_fault_order (void)
{
  expect_fault (
      make_ring (3, FALSE),
      "t: node 'n0': needs 'n1', which is listed after it; list nodes in the order they run");
  expect_fault (make_ring (1, TRUE), "t: node 'n0': is part of a cycle: 'n0' -> 'n0'");
  expect_fault (make_ring (3, TRUE),
                "t: node 'n0': is part of a cycle: 'n0' -> 'n2' -> 'n1' -> 'n0'");
  expect_fault (make_ring (50, TRUE), "t: node 'n0': is part of a cycle: 'n0' -> 'n49' -> 'n48' -> "
                                      "'n47' -> 'n46' -> 'n45' -> 'n44' -> 'n43' -> "
                                      "'n42' -> 'n41' -> 'n40' -> 'n39' -> ... -> 'n1' -> 'n0'");
}

static void
test_references (void)
{
  GememGraph *graph = make_diamond ();

  seal (graph);
  g_assert_true (gemem_graph_ref (graph) == graph);
  gemem_graph_unref (graph);
  g_assert_cmpstr (gemem_graph_name (graph), ==, "diamond");
  gemem_graph_unref (graph);
  gemem_graph_unref (NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph/numbers", test_numbers);
  g_test_add_func ("/graph/items", test_items);
  g_test_add_func ("/graph/connections", test_connections);
  g_test_add_func ("/graph/consumer-order", test_consumer_order);
  g_test_add_func ("/graph/blocks", test_blocks);
  g_test_add_func ("/graph/loop", test_loop);
  g_test_add_func ("/graph/attributes", test_attributes);
  g_test_add_func ("/graph/attribute-names", test_attribute_names);
  g_test_add_func ("/graph/dtypes", test_dtypes);
  g_test_add_func ("/graph/fault-names", test_fault_names);
  g_test_add_func ("/graph/fault-consumers", test_fault_consumers);
  g_test_add_func ("/graph/fault-sizes", test_fault_sizes);
  g_test_add_func ("/graph/fault-order", test_fault_order);
  g_test_add_func ("/graph/references", test_references);
  return g_test_run ();
}
