/* test-graph-overlay.c - graphs/overlay.h: which output may overwrite which input. */
#include "config.h"

#include "graphs/overlay.h"

static const char *const paddle_whitelist[] = { "sigmoid",
                                                "exp",
                                                "relu",
                                                "tanh",
                                                "sqrt",
                                                "ceil",
                                                "floor",
                                                "reciprocal",
                                                "relu6",
                                                "soft_relu",
                                                "hard_sigmoid",
                                                "batch_norm",
                                                "batch_norm_grad",
                                                "sum",
                                                "sum_grad",
                                                "scale",
                                                "reshape",
                                                "elementwise_add",
                                                "elementwise_add_grad" };

static void
test_whitelist (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (paddle_whitelist); i++)
    g_assert_true (gemem_inplace_whitelisted (paddle_whitelist[i]));
  g_assert_false (gemem_inplace_whitelisted ("mul"));
  g_assert_false (gemem_inplace_whitelisted ("reshape2"));
  g_assert_false (gemem_inplace_whitelisted ("Relu"));
  g_assert_false (gemem_inplace_whitelisted (""));
}

/* "in" makes two tensors; every other node reads both and makes two. */
static GememGraph *
start (const char *type, GememAttributeKey key, const gint64 *pairs, guint n)
{
  GememGraph *graph = gemem_graph_new ("inplace");

  gemem_graph_add_node (graph, "in", "feed");
  gemem_graph_add_output (graph, 64);
  gemem_graph_add_output (graph, 64);
  gemem_graph_add_node (graph, "op", type);
  gemem_graph_add_input (graph, "in", 0);
  gemem_graph_add_input (graph, "in", 1);
  if (pairs != NULL)
    gemem_graph_add_attribute_ints (graph, key, pairs, n);
  gemem_graph_add_output (graph, 64);
  gemem_graph_add_output (graph, 64);
  return graph;
}

static void
expect (GememGraph *graph, const char *allowed)
{
  g_autofree char *text = NULL;
  GString *found = g_string_new (NULL);
  GError *error = NULL;

  gemem_graph_seal (graph, "test", &error);
  g_assert_no_error (error);
  for (guint32 input = 0; input < 3; input++)
    for (guint32 output = 0; output < 3; output++)
      if (gemem_graph_may_overlay (graph, 1, input, output))
        g_string_append_printf (found, "%u>%u ", input, output);
  text = g_string_free (found, FALSE);
  g_assert_cmpstr (text, ==, allowed);
  gemem_graph_unref (graph);
}

static void
test_rules (void)
{
  static const gint64 crossed[] = { 1, 0, 0, 1, 7, 7, 5 };
  GememGraph *graph;
  guint32 variable;

  expect (start ("mul", 0, NULL, 0), "");
  expect (start ("relu", 0, NULL, 0), "0>0 ");
  expect (start ("mul", GEMEM_ATTRIBUTE_INPLACE_PAIRS, crossed, G_N_ELEMENTS (crossed)),
          "0>1 1>0 ");
  expect (start ("relu", GEMEM_ATTRIBUTE_INPLACE_PAIRS, crossed, 2), "1>0 ");
  expect (start ("relu", GEMEM_ATTRIBUTE_INPLACE_PAIRS, crossed, 0), "");
  expect (start ("mul", GEMEM_ATTRIBUTE_OUTPUT_INPLACE_ABILITY, crossed, 2), "0>1 ");
  graph = start ("mul", 0, NULL, 0);
  gemem_graph_edit_output (graph)->reuse_input = 0;
  expect (graph, "0>1 ");
  graph = start ("mul", 0, NULL, 0);
  variable = gemem_graph_add_variable (graph, "x", 0, NULL, 0, FALSE);
  gemem_graph_edit_output (graph)->variable = variable;
  gemem_graph_add_variable_input (graph, variable);
  expect (graph, "2>1 ");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-inplace/whitelist", test_whitelist);
  g_test_add_func ("/graph-inplace/rules", test_rules);
  return g_test_run ();
}
