/* test-graph-paddle-model.c - PaddlePaddle's program files: the graphs of real ones, the same
 * program as JSON, refusals and their messages. */
#include "config.h"

#include <string.h>

#include "graphs/format.h"
#include "tests/util/graph-text.h"

/* The graph of tests/data/paddle/@name as text, followed by its provenance; caller frees. */
static char *
describe (const char *name)
{
  g_autofree char *relative = g_strconcat ("paddle/", name, NULL), *graph_text = NULL;
  g_autoptr (GememGraph) graph = test_open_graph (relative);
  GString *text;

  g_assert_cmpstr (gemem_graph_name (graph), ==, name);
  graph_text = test_graph_text (graph);
  text = g_string_new (graph_text);
  for (guint i = 0; i < gemem_graph_provenance (graph)->len; i++)
    g_string_append_printf (text, "%s\n",
                            (const char *) g_ptr_array_index (gemem_graph_provenance (graph), i));
  return g_string_free (text, FALSE);
}

static void
test_old_inference (void)
{
  g_autofree char *text = describe ("__model__");

  g_assert_cmpstr (
      text, ==,
      "$fetch ?=0 persistable\n"
      "$fc_0.tmp_1 float32[-1,12,4]=192\n"
      "$feed ?=0 persistable\n"
      "$layer_norm_0.b_0 float32[8]=32 persistable\n"
      "$relu_0.tmp_0 float32[-1,12,8]=384\n"
      "$fc_0.w_0 float32[8,4]=128 persistable\n"
      "$x float32[-1,12,8]=384\n"
      "$layer_norm_0.tmp_0 float32[-12]=48\n"
      "$layer_norm_0.tmp_2 float32[-1,12,8]=384\n"
      "$save_infer_model/scale_0.tmp_0 float32[-1,12,4]=192\n"
      "$fc_0.tmp_0 float32[-1,12,4]=192\n"
      "$layer_norm_0.tmp_1 float32[-12]=48\n"
      "$layer_norm_0.w_0 float32[8]=32 persistable\n"
      "$fc_0.b_0 float32[4]=16 persistable\n"
      "$@EMPTY@ ?=0\n"
      "op0:feed($feed) -> float32[-1,12,8]=384\n"
      "op1:relu(op0.0) -> float32[-1,12,8]=384\n"
      "op2:layer_norm($layer_norm_0.b_0 $layer_norm_0.w_0 op1.0) -> float32[-12]=48 "
      "float32[-12]=48 "
      "float32[-1,12,8]=384\n"
      "op3:mul(op2.2 $fc_0.w_0) -> float32[-1,12,4]=192\n"
      "op4:elementwise_add(op3.0 $fc_0.b_0) -> float32[-1,12,4]=192\n"
      "op5:scale(op4.0) -> float32[-1,12,4]=192\n"
      "op6:fetch(op5.0) -> ?=0\n"
      "source: PaddlePaddle program\n"
      "tool: PaddlePaddle 1.8.5\n"
      "open: 6 variables have a dimension that is not known (-1), which counts as 1; where it is "
      "the batch, --dim -1=N gives it a number\n"
      "note: 2 dimensions are products with one that is not known (-12), which count as 12\n"
      "note: 2 variables are no dense tensors; they count as no bytes\n"
      "format: paddle-model\n");
}

static void
test_names_that_are_none (void)
{
  g_autofree char *text = describe ("stacks.pdmodel");

  g_assert_cmpstr (text, ==,
                   "$exp_0.tmp_0 float16[3]=6\n"
                   "$x float16[3]=6\n"
                   "$@EMPTY@ ?=0\n"
                   "op0:exp($x) -> float16[3]=6\n"
                   "source: PaddlePaddle program\n"
                   "tool: PaddlePaddle 2.6.2\n"
                   "format: paddle-model\n");
}

static void
test_selected_rows (void)
{
  g_autofree char *text = describe ("sparse-train.pdmodel");

  g_assert_nonnull (strstr (text, "op8:lookup_table_v2_grad($ids op7.0 $embedding_0.w_0) -> ?=0 "
                                  "op_role_var=embedding_0.w_0,embedding_0.w_0@GRAD\n"));
  g_assert_nonnull (
      strstr (text, "note: 1 variables are no dense tensors; they count as no bytes\n"));
}

/* A loop around two branches, and the gradients of all: a gradient block sees names of the
 * forward block, but its gradients are separate from those of the same name. */
static void
test_blocks (void)
{
  g_autofree char *text = describe ("control-train.pdmodel");

  g_assert_nonnull (strstr (text, "$exp_0.tmp_0@GRAD float32[4,8]=128 block=4\n"
                                  "$exp_0.tmp_0@GRAD@RENAME@block1@0 float32[4,8]=128 block=4\n"
                                  "$exp_0.tmp_0@GRAD@RENAME@block1@1 float32[4,8]=128 block=4\n"
                                  "$exp_0.tmp_0@GRAD float32[4,8]=128 block=5\n"));
  g_assert_nonnull (strstr (
      text,
      "op0:mul($x $fc_0.w_0) -> float32[4,8]=128\n"
      "op1:elementwise_add(op0.0 $fc_0.b_0) -> float32[4,8]=128\n"
      "op2:fill_constant() -> int64[1]=8\n"
      "op3:fill_constant() -> int64[1]=8\n"
      "op4:less_than(op2.0 op3.0) -> bool[1]=1\n"
      "op5:while(op4.0 op1.0 op3.0 op2.0) -> float32[4,8]=128 int64[1]=8 bool[1]=1 ?=0 1{block1}\n"
      "block1/op0:exp(op5.0) -> float32[4,8]=128 in=1\n"
      "block1/op1:reduce_mean(block1/op0.0) -> float32[]=4 in=1\n"
      "block1/op2:fill_constant() -> float32[]=4 in=1\n"
      "block1/op3:greater_than(block1/op1.0 block1/op2.0) -> bool[]=1 in=1\n"
      "block1/op4:conditional_block(block1/op3.0 block1/op0.0) -> float32[4,8]=128 ?=0 2{block2} "
      "in=1\n"
      "block2/op0:sigmoid(block1/op0.0) -> float32[4,8]=128 in=2\n"
      "block2/op1:tanh(block2/op0.0) -> float32[4,8]=128 in=2\n"
      "block2/op2:elementwise_mul(block2/op1.0 block1/op0.0) -> float32[4,8]=128 in=2\n"
      "block2/op3:assign(block2/op2.0) -> float32[4,8]=128 in=2\n"
      "block1/op5:logical_not(block1/op3.0) -> bool[]=1 in=1\n"
      "block1/op6:conditional_block(block1/op5.0 block1/op0.0) -> float32[4,8]=128 ?=0 3{block3} "
      "in=1\n"
      "block3/op0:exp(block1/op0.0) -> float32[4,8]=128 in=3\n"
      "block3/op1:assign(block3/op0.0) -> float32[4,8]=128 in=3\n"
      "block1/op7:cast(block1/op3.0) -> int32[]=4 in=1\n"
      "block1/op8:select_input(block1/op7.0 block3/op1.0 block2/op3.0) -> float32[4,8]=128 in=1\n"
      "block1/op9:scale(op5.1) -> int64[1]=8 in=1\n"
      "block1/op10:less_than(block1/op9.0 op3.0) -> bool[1]=1 in=1\n"
      "block1/op11:assign(block1/op9.0) -> int64[1]=8 in=1\n"
      "block1/op12:assign(block1/op8.0) -> float32[4,8]=128 in=1\n"
      "block1/op13:assign(block1/op10.0) -> bool[1]=1 in=1\n"
      "op6:reduce_mean(block1/op12.0) -> float32[]=4\n"
      "op7:fill_constant() -> float32[]=4\n"
      "op8:reduce_mean_grad(op7.0 block1/op12.0) -> float32[4,8]=128\n"
      "op9:while_grad(block1/op12.0 block1/op11.0 block1/op13.0 op8.0 op5.3 block1/op12.0 op3.0 "
      "block1/op11.0) -> float32[4,8]=128 ?=0 ?=0 4{block4}\n"
      "block4/op0:assign(op9.0) -> float32[4,8]=128 in=4\n"
      "block4/op1:select_output(block1/op7.0 block4/op0.0) -> float32[4,8]=128 float32[4,8]=128 "
      "in=4\n"
      "block4/op2:conditional_block_grad(block1/op5.0 block1/op0.0 block3/op1.0 block4/op1.0 "
      "block1/op6.1) -> float32[4,8]=128 5{block5} in=4\n"
      "block5/op0:assign(block4/op1.0) -> float32[4,8]=128 in=5\n"
      "block5/op1:exp_grad(block3/op0.0 block5/op0.0) -> float32[4,8]=128 in=5\n"
      "block4/op3:conditional_block_grad(block1/op3.0 block1/op0.0 block2/op3.0 block4/op1.1 "
      "block1/op4.1) -> float32[4,8]=128 6{block6} in=4\n"
      "block6/op0:assign(block4/op1.1) -> float32[4,8]=128 in=6\n"
      "block6/op1:elementwise_mul_grad(block6/op0.0 block2/op1.0 block1/op0.0) -> float32[4,8]=128 "
      "float32[4,8]=128 in=6\n"
      "block6/op2:tanh_grad(block2/op1.0 block6/op1.0) -> float32[4,8]=128 in=6\n"
      "block6/op3:sigmoid_grad(block2/op0.0 block6/op2.0) -> float32[4,8]=128 in=6\n"
      "block6/op4:sum(block6/op1.1 block6/op3.0) -> float32[4,8]=128 in=6\n"
      "block4/op4:sum(block4/op2.0 block4/op3.0) -> float32[4,8]=128 in=4\n"
      "block4/op5:exp_grad(block1/op0.0 block4/op4.0) -> float32[4,8]=128 in=4\n"
      "op10:elementwise_add_grad(block4/op5.0 op0.0 $fc_0.b_0) -> float32[4,8]=128 float32[8]=32 "
      "op_role_var=fc_0.b_0,fc_0.b_0@GRAD\n"
      "op11:mul_grad(op10.0 $x $fc_0.w_0) -> float32[8,8]=256 op_role_var=fc_0.w_0,fc_0.w_0@GRAD\n"
      "op12:sgd(op10.1 $learning_rate_0 $fc_0.b_0) -> float32[8]=32 "
      "op_role_var=fc_0.b_0,fc_0.b_0@GRAD\n"
      "op13:sgd(op11.0 $learning_rate_0 $fc_0.w_0) -> float32[8,8]=256 "
      "op_role_var=fc_0.w_0,fc_0.w_0@GRAD\n"));
}

/* The text without the parts that JSON cannot express. */
static char *
without_roles (const GememGraph *graph)
{
  g_autofree char *text = test_graph_text (graph);
  g_autoptr (GRegex) roles = g_regex_new (" op_role_var=[^ \n]*", G_REGEX_DEFAULT, 0, NULL);

  return g_regex_replace (roles, text, -1, 0, "", 0, NULL);
}

static void
test_same_as_json (void)
{
  g_autoptr (GememGraph) model = test_open_graph ("paddle/mlp-train.pdmodel"),
                         json = test_open_graph ("paddle/mlp-train.json");
  g_autofree char *of_model = without_roles (model), *of_json = without_roles (json);

  g_assert_cmpstr (of_model, ==, of_json);
  g_assert_cmpstr (gemem_graph_name (model), ==, gemem_graph_name (json));
}

static void
test_roles (void)
{
  g_autoptr (GememGraph) graph = test_open_graph ("paddle/mlp-train.pdmodel");
  guint32 of_role[258] = { 0 };

  for (guint32 i = 0; i < gemem_graph_n_nodes (graph); i++)
    {
      g_assert_cmpint (gemem_graph_node (graph, i)->role, <, G_N_ELEMENTS (of_role));
      of_role[gemem_graph_node (graph, i)->role]++;
    }
  g_assert_cmpuint (of_role[GEMEM_ROLE_FORWARD], ==, 7);
  g_assert_cmpuint (of_role[GEMEM_ROLE_BACKWARD], ==, 8);
  g_assert_cmpuint (of_role[GEMEM_ROLE_OPTIMIZE], ==, 6);
  g_assert_cmpuint (of_role[GEMEM_ROLE_LOSS], ==, 1);
  g_assert_cmpuint (of_role[GEMEM_ROLE_LOSS | GEMEM_ROLE_BACKWARD], ==, 1);
}

/* ---- messages of our own */

static void
put_varint (GByteArray *to, guint64 value)
{
  for (;; value >>= 7)
    {
      const guint8 byte = (guint8) ((value & 0x7f) | (value >= 0x80 ? 0x80 : 0));

      g_byte_array_append (to, &byte, 1);
      if (value < 0x80)
        return;
    }
}

static void
put_int (GByteArray *to, guint field, gint64 value)
{
  put_varint (to, field << 3);
  put_varint (to, (guint64) value);
}

static void
put_bytes (GByteArray *to, guint field, const void *data, gsize size)
{
  put_varint (to, field << 3 | 2);
  put_varint (to, size);
  g_byte_array_append (to, data, (guint) size);
}

static void
put_text (GByteArray *to, guint field, const char *text)
{
  put_bytes (to, field, text, strlen (text));
}

/* Frees @part. */
static void
put_part (GByteArray *to, guint field, GByteArray *part)
{
  put_bytes (to, field, part->data, part->len);
  g_byte_array_unref (part);
}

/* A dense tensor of one dimension. */
static void
put_variable (GByteArray *block, const char *name, gint64 element_type, gint64 dim)
{
  GByteArray *tensor = g_byte_array_new (), *dense = g_byte_array_new (),
             *type = g_byte_array_new (), *variable = g_byte_array_new ();

  put_int (tensor, 1, element_type);
  put_int (tensor, 2, dim);
  put_part (dense, 1, tensor);
  put_int (type, 1, 7);
  put_part (type, 3, dense);
  put_text (variable, 1, name);
  put_part (variable, 2, type);
  put_part (block, 3, variable);
}

/* An operator that reads @name (NULL: nothing) and runs @sub (0: no block). */
static void
put_op (GByteArray *block, const char *name, gint64 sub)
{
  GByteArray *op = g_byte_array_new (), *names = g_byte_array_new (),
             *attribute = g_byte_array_new ();

  if (name != NULL)
    put_text (names, 2, name);
  put_part (op, 1, names);
  put_text (op, 3, "f");
  put_text (attribute, 1, "sub_block");
  if (sub != 0)
    put_int (attribute, 12, sub);
  put_part (op, 4, attribute);
  put_part (block, 4, op);
}

static GByteArray *
new_block (gint64 number)
{
  GByteArray *block = g_byte_array_new ();

  put_int (block, 1, number);
  put_int (block, 2, number - 1);
  return block;
}

/* Checks that @program is accepted, or refused with @expected; frees it. */
static void
expect (GByteArray *program, const char *expected)
{
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (program);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "x"),
                                                         "paddle-model", 0, &error);

  g_assert_cmpstr (error != NULL ? error->message : NULL, ==, expected);
  g_assert_true ((graph == NULL) == (expected != NULL));
}

static void
test_recognition (void)
{
  GByteArray *program = g_byte_array_new (), *block = new_block (0);

  put_op (block, NULL, 0);
  put_part (program, 1, block);
  for (guint size = 1; size <= program->len; size++)
    {
      g_autoptr (GBytes) bytes = g_bytes_new (program->data, size);
      g_autoptr (GError) error = NULL;
      g_autoptr (GememGraph)
          graph = gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "x"), NULL, 0, &error);

      g_assert_true ((graph != NULL) == (size == program->len));
    }
  g_byte_array_unref (program);
}

static void
test_refused_programs (void)
{
  GByteArray *program = g_byte_array_new ();

  expect (program, "x: holds no block; this is no program of PaddlePaddle");
  put_part (program = g_byte_array_new (), 1, new_block (0));
  expect (program, "x: " GEMEM_GRAPH_WITHOUT_NODES);
  put_text (program = g_byte_array_new (), 1, "\x22\x05");
  expect (program, "x: byte 4: the file ends within a message; fetch it again");
}

static void
expect_variable (const char *name, gint64 element_type, gint64 dim, const char *expected)
{
  GByteArray *program = g_byte_array_new (), *block = new_block (0);

  put_variable (block, "a", 5, 3);
  put_variable (block, name, element_type, dim);
  put_op (block, name, 0);
  put_part (program, 1, block);
  expect (program, expected);
}

static void
test_variables (void)
{
  expect_variable ("b", 5, -12, NULL);
  expect_variable ("b", 24, 0, NULL);
  expect_variable ("b", 33, 7, NULL);
  expect_variable (
      "a", 5, 3,
      "x: variable 'a': a block declares it twice, or it has no name; save the program again");
  expect_variable (
      "", 5, 3,
      "x: variable '': a block declares it twice, or it has no name; save the program again");
  expect_variable ("b", 7, 3, "x: variable 'b': element type 7 is not known; update this program");
  expect_variable ("b", 1000, 3,
                   "x: variable 'b': element type 1000 is not known; update this program");
  expect_variable ("b", -1, 3,
                   "x: variable 'b': element type -1 is not known; update this program");
  expect_variable ("b", 5, G_MAXINT64,
                   "x: variable 'b': more than 2^63 bytes; a dimension is wrong");
  expect_variable ("b", 5, -G_MAXINT64,
                   "x: variable 'b': more than 2^63 bytes; a dimension is wrong");
  expect_variable ("b", 5, G_MININT64,
                   "x: variable 'b': more than 2^63 bytes; a dimension is wrong");
}

static void
expect_op (const char *reads, gint64 sub, gint64 again, const char *expected)
{
  GByteArray *program = g_byte_array_new (), *block = new_block (0), *inner = new_block (1);

  put_variable (block, "a", 5, 3);
  put_op (block, reads, sub);
  put_op (block, NULL, again);
  put_part (program, 1, block);
  put_variable (inner, "b", 5, 3);
  put_int (inner, 5, 1); /* its own forward block */
  put_op (inner, "a", 0);
  put_part (program, 1, inner);
  expect (program, expected);
}

static void
test_operators (void)
{
  expect_op ("a", 0, 0, NULL);
  expect_op ("@EMPTY@", 1, 0, NULL);
  expect_op (
      "b", 1, 0,
      "x: node 'op0': variable 'b' is declared in no block that it sees; save the whole program");
  expect_op ("a", 2, 0, "x: node 'op0': runs block 2, and there are 2; save the whole program");
  expect_op ("a", -1, 0, "x: node 'op0': runs block -1, and there are 2; save the whole program");
  expect_op (
      "a", 1, 1,
      "x: block 1: run by two operators, or nested more than 100 deep; save the program again");
}

/* Block i runs block i + 1, and the last one @last. */
static GByteArray *
nested (gint64 depth, gint64 last)
{
  GByteArray *program = g_byte_array_new ();

  for (gint64 i = 0; i < depth; i++)
    {
      GByteArray *block = new_block (i);

      put_op (block, NULL, i + 1 < depth ? i + 1 : last);
      put_part (program, 1, block);
    }
  return program;
}

static void
test_depth (void)
{
  expect (nested (100, 0), NULL);
  expect (
      nested (101, 0),
      "x: block 100: run by two operators, or nested more than 100 deep; save the program again");
  expect (
      nested (100000, 0),
      "x: block 100: run by two operators, or nested more than 100 deep; save the program again");
  expect (nested (5, 2),
          "x: block 2: run by two operators, or nested more than 100 deep; save the program again");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-paddle-model/old-inference", test_old_inference);
  g_test_add_func ("/graph-paddle-model/names-that-are-none", test_names_that_are_none);
  g_test_add_func ("/graph-paddle-model/selected-rows", test_selected_rows);
  g_test_add_func ("/graph-paddle-model/blocks", test_blocks);
  g_test_add_func ("/graph-paddle-model/same-as-json", test_same_as_json);
  g_test_add_func ("/graph-paddle-model/roles", test_roles);
  g_test_add_func ("/graph-paddle-model/recognition", test_recognition);
  g_test_add_func ("/graph-paddle-model/refused-programs", test_refused_programs);
  g_test_add_func ("/graph-paddle-model/variables", test_variables);
  g_test_add_func ("/graph-paddle-model/operators", test_operators);
  g_test_add_func ("/graph-paddle-model/depth", test_depth);
  return g_test_run ();
}
