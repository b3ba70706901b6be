/* test-graph-onnx.c - ONNX models: the meaning of each part, refusals and their messages. */
#include "config.h"

#include <string.h>

#include "graphs/format.h"
#include "tests/util/graph-text.h"
#include "tests/util/testutil.h"

static void
expect (const char *name, const char *expected)
{
  g_autofree char *relative = g_strdup_printf ("onnx/%s.onnx", name), *text = NULL;
  g_autoptr (GememGraph) graph = test_open_graph (relative);

  text = test_graph_text (graph);
  g_assert_cmpstr (text, ==, expected);
  g_assert_cmpstr (gemem_graph_name (graph), ==, name);
  g_assert_cmpstr (g_ptr_array_index (gemem_graph_provenance (graph), 0), ==,
                   "source: ONNX model, ir_version 8");
  g_assert_cmpstr (g_ptr_array_index (gemem_graph_provenance (graph), 1), ==,
                   "tool: make-samples 1");
}

static void
test_mlp (void)
{
  expect ("mlp", "$w float32[4,8]=128 persistable\n"
                 "$b float32[8]=32 persistable\n"
                 "$shape int64[2]=16 persistable\n"
                 "x:Data() -> float32[2,4]=32 index=0\n"
                 "gemm:Gemm(x.0 $w $b) -> float32[2,8]=64\n"
                 "relu:Relu(gemm.0) -> float32[2,8]=64\n"
                 "view:Reshape(relu.0 $shape) -> float32[4,4]=64&0\n"
                 "Softmax:Softmax(view.0) -> float32[4,4]=64\n"
                 "NetOutput:NetOutput(Softmax.0) ->\n");
}

static void
test_parts (void)
{
  expect ("parts", "$w float32[5]=20 persistable\n"
                   "$axes int64[1]=8 persistable\n"
                   "$top float32[]=4 persistable\n"
                   "x:Data() -> float32[6,5]=120 index=0\n"
                   "Split:Split(x.0) -> float32[3,5]=60 float32[3,5]=60\n"
                   "Dropout:Dropout(Split.0) -> float32[3,5]=60 ?=0\n"
                   "Cast:Cast(Split.1) -> float16[3,5]=30\n"
                   "Add:Add(Dropout.0 $w) -> float32[3,5]=60\n"
                   "Clip:Clip(Add.0 - $top) -> float32[3,5]=60\n"
                   "Shape:Shape(Cast.0) -> int64[2]=16\n"
                   "NetOutput:NetOutput(Clip.0 Shape.0) ->\n");
}

/* Without a shape: outputs without a reader. */
static void
test_unread (void)
{
  g_autoptr (GememGraph) graph = test_open_graph ("onnx/unread.onnx");

  expect ("unread", "$s float32[3]=12 persistable\n"
                    "$b float32[3]=12 persistable\n"
                    "$m float32[3]=12 persistable\n"
                    "$v float32[3]=12 persistable\n"
                    "x:Data() -> float32[2,3,4,4]=384 index=0\n"
                    "BatchNormalization:BatchNormalization(x.0 $s $b $m $v) -> "
                    "float32[2,3,4,4]=384 ?=0 ?=0 ?=0 ?=0\n"
                    "Dropout:Dropout(BatchNormalization.0) -> float32[2,3,4,4]=384 ?=0\n"
                    "NetOutput:NetOutput(Dropout.0) ->\n");
  g_assert_cmpstr (g_ptr_array_index (gemem_graph_provenance (graph), 2), ==,
                   "note: 5 outputs that nobody reads have no shape; they count as no bytes");
}

static void
test_subgraphs (void)
{
  expect ("if", "$t float32[3]=12 persistable\n"
                "x:Data() -> float32[3]=12 index=0\n"
                "c:Data() -> bool[]=1 index=1\n"
                "If:If(c.0) -> float32[3]=12 1{else} 2{then}\n"
                "Sub:Sub(x.0 $t) -> float32[3]=12 in=1\n"
                "else/NetOutput:NetOutput(Sub.0) -> in=1 _input_parent_node_index=0\n"
                "Add:Add(x.0 x.0) -> float32[3]=12 in=2\n"
                "Mul:Mul(Add.0 x.0) -> float32[3]=12 in=2\n"
                "then/NetOutput:NetOutput(Mul.0) -> in=2 _input_parent_node_index=0\n"
                "Neg:Neg(If.0) -> float32[3]=12\n"
                "NetOutput:NetOutput(Neg.0) ->\n");
  expect (
      "loop",
      "$n int64[]=8 persistable\n"
      "x:Data() -> float32[3]=12 index=0\n"
      "c:Data() -> bool[]=1 index=1\n"
      "Loop:Loop($n c.0 x.0) -> float32[3]=12 float32[5,3]=60 1{body}\n"
      "i:Data() -> int64[]=8 in=1 index=0\n"
      "go:Data() -> bool[]=1 in=1 index=1 _parent_node_index=1\n"
      "state:Data() -> float32[3]=12 in=1 index=2 _parent_node_index=2\n"
      "Identity:Identity(go.0) -> bool[]=1&0 in=1\n"
      "Add:Add(state.0 x.0) -> float32[3]=12 in=1\n"
      "Exp:Exp(Add.0) -> float32[3]=12 in=1\n"
      "body/NetOutput:NetOutput(Identity.0 Add.0 Exp.0) -> in=1 _input_parent_node_index=-1,0,1\n"
      "ReduceSum:ReduceSum(Loop.1) -> float32[]=4\n"
      "NetOutput:NetOutput(Loop.0 Loop.1 ReduceSum.0) ->\n");
}

/* ---- refusals */

static void
load (const char *name, char **data, gsize *size)
{
  g_autofree char *relative = g_strdup_printf ("tests/data/onnx/%s.onnx", name),
                  *path = test_source_path (relative);

  g_assert_true (g_file_get_contents (path, data, size, NULL));
}

static void
expect_refusal (const char *name, const char *expected)
{
  g_autofree char *data = NULL, *message = NULL;
  gsize size;

  load (name, &data, &size);
  message = test_graph_refusal (data, size, NULL);
  g_assert_cmpstr (message, ==, expected);
}

static void
test_refused_models (void)
{
  expect_refusal ("no-shapes", "x: tensor 'h': has no shape; run shape inference "
                               "(onnx.shape_inference.infer_shapes_path) and read its result");
  expect_refusal (
      "dynamic",
      "x: tensor 'x': dimension 0 is 'batch', not a number; --dim 'batch=8' gives it one");
}

static void
expect_bytes (const char *bytes, gsize size, const char *expected)
{
  g_autofree char *message = test_graph_refusal (bytes, size, "onnx");

  g_assert_cmpstr (message, ==, expected);
}

#define BYTES(literal) literal, sizeof (literal) - 1
#define OTHER "; this is no protobuf message of the expected kind"

static void
test_refused_bytes (void)
{
  expect_bytes (BYTES ("\x08\x08"), "x: holds no graph; this is no ONNX model");
  expect_bytes (BYTES ("\x08\x08\x3a\x03\x12\x01y"), "x: " GEMEM_GRAPH_WITHOUT_NODES);
  expect_bytes (BYTES ("\x08"), "x: byte 1: the file ends within a message; fetch it again");
  expect_bytes (BYTES ("\x3a\x02\x12"),
                "x: byte 3: the file ends within a message; fetch it again");
  expect_bytes (BYTES ("\x3a\x02\x12\x01y"),
                /* the name reaches beyond its graph */
                "x: byte 4: the file ends within a message; fetch it again");
  expect_bytes (BYTES ("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                "x: byte 1: a number of more than 64 bits" OTHER);
  expect_bytes (BYTES ("\x0b"),
                "x: byte 1: field 'ir_version' has another type than it should" OTHER);
  expect_bytes (BYTES ("\x38\x01"),
                "x: byte 1: field 'graph' has another type than it should" OTHER);
  expect_bytes (BYTES ("\x02\x01"), "x: byte 1: a field numbered 0" OTHER);
  expect_bytes (BYTES ("\xe3\x01"), "x: byte 2: a field of type 3" OTHER);
  expect_bytes (
      BYTES ("\x12\x02\xc3\x28"),
      "x: byte 2: a name that is not printable UTF-8; correct it or fetch the file again");
  expect_bytes (
      BYTES ("\x12\x01\n"),
      "x: byte 2: a name that is not printable UTF-8; correct it or fetch the file again");
  expect_bytes (BYTES ("\x12\x80\x80\x08"), "x: byte 4: a name of 131072 bytes; the most is 2040");
  expect_bytes (BYTES ("\x12\x03yz"), "x: byte 2: the file ends within a message; fetch it again");
}

/* Graphs nested in attributes of nodes of graphs... */
static void
test_depth (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autofree char *message = NULL;

  for (guint depth = 0; depth < 60; depth++)
    {
      static const guint8 tags[] = { 0x32, 0x2a,
                                     /* g of AttributeProto, attribute of NodeProto, node of
                                      * GraphProto; from the inside */
                                     0x0a };
      for (guint i = 0; i < 3; i++)
        {
          guint8 head[6] = { tags[i] };
          guint n = 1;
          for (guint length = bytes->len;; length >>= 7)
            {
              head[n++] = (guint8) ((length & 0x7f) | (length >= 0x80 ? 0x80 : 0));
              if (length < 0x80)
                break;
            }
          g_byte_array_prepend (bytes, head, n);
        }
    }
  guint8 head[] = { 0x3a, (guint8) ((bytes->len & 0x7f) | 0x80), (guint8) (bytes->len >> 7) };
  g_byte_array_prepend (bytes, head, sizeof head);
  message = test_graph_refusal (bytes->data, bytes->len, "onnx");
  g_assert_nonnull (
      strstr (message, "messages are nested more than 100 deep; this is no model of a program"));
}

/* Many messages of two bytes, each of which becomes a struct, end before they take much memory. */
static void
test_empty_messages (void)
{
  const gsize size = 4 << 20;
  static const guint8 head[] = { 0x3a, 0x80, 0x80, 0x80, 0x02 }; /* a graph of 4 MiB */
  g_autofree guint8 *bytes = g_malloc0 (sizeof head + size);
  g_autofree char *message = NULL;

  memcpy (bytes, head, sizeof head);
  for (gsize i = 0; i < size; i += 2)
    bytes[sizeof head + i] = 0x0a;
  message = test_graph_refusal (bytes, sizeof head + size, "onnx");
  g_assert_true (g_str_has_suffix (
      message, ": messages that hold next to nothing; this is no model of a program"));
}

/* A message given in two parts is one. */
static void
test_parts_of_a_message (void)
{
  expect_bytes (BYTES ("\x3a\x05\x0a\x03\x0a\x01x\x3a\x03\x12\x01y"),
                "x: tensor 'x': is read before it is made; nodes must be in an order of execution");
}

/* The content of weights is skipped. */
static void
test_weights_are_skipped (void)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  const gsize weights = 3 << 20;
  g_autofree guint8 *zeros = g_malloc0 (weights);
  g_autoptr (GBytes) file = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = NULL;

  /* graph { node { op_type: "N" } initializer { raw_data: <3 MiB> dims: [1024, 768] data_type: 1
   * name: "w" } } */
  g_byte_array_append (
      bytes,
      (const guint8
           *) "\x3a\x9a\x80\xc0\x01\x0a\x03\x22\x01N\x2a\x90\x80\xc0\x01\x4a\x80\x80\xc0\x01",
      20);
  g_byte_array_append (bytes, zeros, (guint) weights);
  g_byte_array_append (bytes, (const guint8 *) "\x0a\x04\x80\x08\x80\x06\x10\x01\x42\x01w", 11);
  file = g_bytes_new (bytes->data, bytes->len);
  graph = gemem_graph_open_input (gemem_input_new_from_bytes (file, "x"), "onnx", 0, &error);
  g_assert_no_error (error);
  g_autofree char *text = test_graph_text (graph);
  g_assert_cmpstr (
      text, ==, "$w float32[1024,768]=3145728 persistable\nN:N() ->\nNetOutput:NetOutput() ->\n");
}

static void
test_index (void)
{
  g_autofree char *path = test_source_path ("tests/data/onnx/mlp.onnx#1");
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_graph_open (path, NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_true (g_str_has_suffix (
      error->message, "mlp.onnx: a file of this format holds one graph; leave out #1"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-onnx/mlp", test_mlp);
  g_test_add_func ("/graph-onnx/parts", test_parts);
  g_test_add_func ("/graph-onnx/unread", test_unread);
  g_test_add_func ("/graph-onnx/subgraphs", test_subgraphs);
  g_test_add_func ("/graph-onnx/refused-models", test_refused_models);
  g_test_add_func ("/graph-onnx/refused-bytes", test_refused_bytes);
  g_test_add_func ("/graph-onnx/depth", test_depth);
  g_test_add_func ("/graph-onnx/empty-messages", test_empty_messages);
  g_test_add_func ("/graph-onnx/parts-of-a-message", test_parts_of_a_message);
  g_test_add_func ("/graph-onnx/weights-are-skipped", test_weights_are_skipped);
  g_test_add_func ("/graph-onnx/index", test_index);
  return g_test_run ();
}
