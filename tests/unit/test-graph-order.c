/* test-graph-order.c - graphs/order.h against the transitive closure of its rules, on small graphs
 * and random ones. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graphs/order.h"
#include "tests/util/graphs.h"
#include "tests/util/random-graph.h"

/* after[later * n + earlier], by the rules of ge-static.md 9.1 as graphs/order.h words them, closed
 * by brute force. */
typedef struct
{
  const GememGraph *graph;
  guint32 n;
  guint8 *after;
} Model;

static guint32
owner_of (const GememGraph *graph, guint32 node)
{
  const guint32 block = gemem_graph_node (graph, node)->block;

  return block == 0 ? GEMEM_NONE : gemem_graph_block (graph, block)->node;
}

static gboolean
is_inside (const GememGraph *graph, guint32 node, guint32 owner)
{
  for (guint32 o = owner_of (graph, node); o != GEMEM_NONE; o = owner_of (graph, o))
    if (o == owner)
      return TRUE;
  return FALSE;
}

/* The stream on which @node has a turn; -1: none. An owner has one if all its inner nodes are on
 * its stream. */
static gint64
turn_of (const GememGraph *graph, guint32 node)
{
  const gint64 stream = gemem_graph_node (graph, node)->stream;

  for (guint32 i = 0; i < gemem_graph_n_nodes (graph); i++)
    if (is_inside (graph, i, node) && gemem_graph_node (graph, i)->stream != stream)
      return -1;
  return stream;
}

static void
follow (const Model *model, guint32 earlier, guint32 later)
{
  if (earlier >= later)
    return;
  /* A node before an owner precedes its inner nodes; inner nodes precede what follows the owner. */
  for (guint32 i = 0; i < model->n; i++)
    for (guint32 k = 0; k < model->n; k++)
      if ((k == later || is_inside (model->graph, k, later))
          && (i == earlier || is_inside (model->graph, i, earlier)) && i < k)
        model->after[k * model->n + i] = TRUE;
}

static void
add_edges (const Model *model, guint32 id)
{
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    if (gemem_graph_inputs (model->graph, id)[i].tensor != GEMEM_NONE)
      follow (
          model,
          gemem_graph_tensor (model->graph, gemem_graph_inputs (model->graph, id)[i].tensor)->node,
          id);
  for (guint32 i = 0; i < node->n_controls; i++)
    follow (model, gemem_graph_controls (model->graph, id)[i], id);
  for (guint32 k = 0; k < id; k++)
    if (turn_of (model->graph, k) == turn_of (model->graph, id) && turn_of (model->graph, k) != -1
        && !is_inside (model->graph, id, k))
      follow (model, k, id);
}

static void
build_model (Model *model, const GememGraph *graph)
{
  const guint32 n = gemem_graph_n_nodes (graph);

  *model = (Model){ graph, n, g_new0 (guint8, (gsize) n * n) };
  for (guint32 id = 0; id < n; id++)
    add_edges (model, id);
  for (guint32 b = 0; b < n; b++)
    for (guint32 c = b + 1; c < n; c++)
      for (guint32 a = 0; a < b; a++)
        if (model->after[c * n + b] && model->after[b * n + a])
          model->after[c * n + a] = TRUE;
}

static gboolean
is_data (const GememGraph *graph, guint32 node)
{
  return strcmp (gemem_graph_node (graph, node)->type, "Data") == 0;
}

static void
compare (const GememGraph *graph)
{
  g_autoptr (GememGraphOrder) order = gemem_graph_order_new (graph);
  Model model;

  build_model (&model, graph);
  for (guint32 later = 0; later < model.n; later++)
    for (guint32 earlier = 0; earlier < model.n; earlier++)
      if (gemem_graph_order_after (order, later, earlier) != model.after[later * model.n + earlier]
          && !is_data (graph, later))
        {
          g_test_message ("%s", test_graph_json (graph));
          g_error ("%s: node %u after node %u: %d, expected %d", gemem_graph_name (graph), later,
                   earlier, gemem_graph_order_after (order, later, earlier),
                   model.after[later * model.n + earlier]);
        }
  for (guint32 node = 0; node < model.n; node++)
    {
      const guint32 found = gemem_graph_order_safe (order, &node, 1);
      guint32 safe = model.n;

      while (safe > node + 1
             && (model.after[(safe - 1) * model.n + node] || is_data (graph, safe - 1)))
        safe--;
      g_assert_cmpuint (found, >=, safe);
      for (guint32 k = safe; k < found; k++) /* data edges may count or not */
        g_assert_true (is_data (graph, k));
    }
  g_free (model.after);
}

static void
test_random (void)
{
  static const guint features[] = { 0,
                                    TEST_GRAPH_STREAMS,
                                    TEST_GRAPH_STREAMS | TEST_GRAPH_CONTROLS,
                                    TEST_GRAPH_STREAMS | TEST_GRAPH_NO_STREAM | TEST_GRAPH_CONTROLS,
                                    TEST_GRAPH_STREAMS | TEST_GRAPH_BLOCKS | TEST_GRAPH_CONTROLS,
                                    TEST_GRAPH_BLOCKS,
                                    TEST_GRAPH_ALL | TEST_GRAPH_BLOCKS | TEST_GRAPH_NO_STREAM };
  const guint rounds = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0 ? 20 : 150;

  for (guint round = 0; round < rounds; round++)
    for (guint f = 0; f < G_N_ELEMENTS (features); f++)
      {
        g_autoptr (GememGraph) graph = test_random_graph (round, features[f], 3 + round % 30);

        compare (graph);
      }
}

/* a (stream 0) -> b (stream 1); c (stream 0) is not after b, d (stream 1) is after all but c. */
static void
test_two_streams (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = test_graph_from_text (
      "{\"name\":\"g\",\"nodes\":[{\"name\":\"a\",\"type\":\"Op\",\"stream\":0,\"outputs\":[{"
      "\"size\":1}]},"
      "{\"name\":\"b\",\"type\":\"Op\",\"stream\":1,\"inputs\":[[\"a\",0]],\"outputs\":[]},{"
      "\"name\":\"c\",\"type\":\"Op\",\"stream\":0,\"outputs\":[]},"
      "{\"name\":\"d\",\"type\":\"Op\",\"stream\":1,\"outputs\":[]}]}",
      NULL, &error);
  g_autoptr (GememGraphOrder) order = gemem_graph_order_new (graph);
  const guint32 a = 0, b = 1, c = 2, both[] = { 0, 1 };

  g_assert_true (gemem_graph_order_after (order, 1, 0) && gemem_graph_order_after (order, 2, 0)
                 && gemem_graph_order_after (order, 3, 0));
  g_assert_true (gemem_graph_order_after (order, 3, 1) && !gemem_graph_order_after (order, 2, 1)
                 && !gemem_graph_order_after (order, 3, 2));
  g_assert_false (gemem_graph_order_after (order, 0, 0));
  g_assert_cmpuint (gemem_graph_order_safe (order, &a, 1), ==, 1);
  g_assert_cmpuint (gemem_graph_order_safe (order, &b, 1), ==, 3);
  g_assert_cmpuint (gemem_graph_order_safe (order, &c, 1), ==, 4);
  g_assert_cmpuint (gemem_graph_order_safe (order, both, 2), ==, 3);
  g_assert_cmpuint (gemem_graph_order_chain (order, 0), ==, gemem_graph_order_chain (order, 2));
  g_assert_cmpuint (gemem_graph_order_chain (order, 0), !=, gemem_graph_order_chain (order, 1));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph-order/two-streams", test_two_streams);
  g_test_add_func ("/graph-order/random", test_random);
  return g_test_run ();
}
