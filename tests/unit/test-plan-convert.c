/* test-plan-convert.c - lifetimes of graphs, and graphs of lifetimes: by hand, and both must
 * agree on the items that are live at the same time. */
#include "config.h"

#include "base/rng.h"
#include "planners/convert.h"
#include "planners/planner.h"
#include "tests/util/graph-lines.h"

/* "BEGIN-END[/SAFE]:SIZE ..." of the lifetimes, then "ITEM=LIFETIME+INNER ..." of the places. */
static char *
text_of (const GememGraph *graph)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes) lifetimes = gemem_graph_lifetimes (graph, &places);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      g_string_append_printf (text, "%" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT, life->begin,
                              life->end);
      if (life->safe_end != life->end)
        g_string_append_printf (text, "/%" G_GUINT64_FORMAT, life->safe_end);
      g_string_append_printf (text, ":%" G_GUINT64_FORMAT " ", life->size);
    }
  for (guint32 i = 0; i < gemem_graph_n_items (graph); i++)
    if (places[i].lifetime == GEMEM_NONE)
      g_string_append (text, "- ");
    else
      g_string_append_printf (text, "%u+%" G_GUINT64_FORMAT " ", places[i].lifetime,
                              places[i].inner);
  g_string_truncate (text, text->len - 1);
  return g_string_free (text, FALSE);
}

static void
expect (const char *lines, const char *expected)
{
  g_autoptr (GememGraph) graph = test_graph_from_lines (lines);
  g_autofree char *text = text_of (graph);

  g_assert_cmpstr (text, ==, expected);
}

static void
test_by_hand (void)
{
  expect ("A out=1000\nB in=A out=2000 ws=64\nC in=B\n", "0-2:1000 1-3:2000 1-2:64 0+0 1+0 2+0");
  expect ("A out=500,600\nB in=A.1\n", "0-1:500 0-2:600 0+0 1+0");
  expect ("X out=8\nD:Data out=512 index=0\nA in=D out=512\nB out=8\nN:NetOutput in=A\nE out=8\n",
          "0-1:8 0-3:512 2-6:512 3-4:8 5-6:8 0+0 1+0 2+0 3+0 4+0");
  expect ("C:Const out=512\nA in=C out=512\n", "1-2:512 - 0+0");
}

static void
test_tied (void)
{
  expect ("A out=512\nB in=A out=1024 reuse=0.0\nC in=B\nD\n", "0-3:1024 0+0 0+0");
  expect ("A out=1000\nB out=2000\nH in=A,B out=512,600 continuous_input=1 continuous_output=1\nZ "
          "in=H.1\n",
          "0-3:3024 2-4:1112 0+0 0+1024 1+0 1+512");
  expect ("A out=1024 shapes=1000\nB out=2048 shapes=2000\nP in=A,B out=3000 "
          "_no_padding_continuous_input=1 _output_reuse_input=1 "
          "_reuse_input_on_dim_index=0\nZ in=P\n",
          "0-4:3000 0+0 0+1000 0+0");
  expect ("M:MemSet\nX out=8\nB after=M out=512 is_atomic_node=1 atomic_output_index=0\n",
          "1-2:8 0-3:512 0+0 1+0");
  expect ("A out=8\nB ws=512 _workspace_memory_no_reuse_scope=1\nC out=8\n",
          "0-1:8 0-3:512 2-3:8 0+0 1+0 2+0");
}

static void
test_streams (void)
{
  expect ("A out=512 stream=0\nB in=A stream=1\nC out=512 stream=0\nD out=512 stream=1\n",
          "0-2/3:512 2-3/4:512 3-4:512 0+0 1+0 2+0");
  expect ("A out=512 stream=0\nB in=A stream=1\nC out=512 stream=0\nD out=512 stream=1\nE stream=0 "
          "after=D\n",
          "0-2/3:512 2-3/4:512 3-4:512 0+0 1+0 2+0");
}

static void
test_lower_bound (void)
{
  g_autoptr (GememGraph) labels = test_graph_from_lines (
      "S out=512\nA in=S out=1024 label=L0\nB in=S out=2048 label=L1\nC in=A,B out=512\n");
  g_autoptr (GememGraph)
      in_place = test_graph_from_lines ("A out=512\nB in=A out=512 _output_inplace_ability=0,0\n");
  g_autoptr (GememGraph) plain = test_graph_from_lines ("A out=512\nB in=A out=512\n");

  g_autoptr (GememGraph) padded = test_graph_from_lines (
      "A out=512\nX in=A\nB out=512\nY out=512\nC out=512\nH in=B,C continuous_input=1\n");

  /* what feeds a NetOutput, of a subgraph too, has its own size, and so have data nodes */
  g_autoptr (GememGraph) ffts = test_graph_from_lines (
      "A out=100\nP:PartitionedCall in=A out=300 blocks=sub\nD:Data in_block=1 out=100 "
      "_parent_node_index=0 0._ffts_sub_task_tensor_size=50\nX in_block=1 in=D out=1000 "
      "0._ffts_sub_task_tensor_size=300\nN:NetOutput in_block=1 in=X "
      "_input_parent_node_index=0\nZ in=P out=1\n");
  /* under policy 1 no memory is taken from the memset node on */
  g_autoptr (GememGraph)
      cleared = test_graph_from_lines ("M:MemSet\nX out=512\nB after=M out=512 is_atomic_node=1 "
                                       "atomic_output_index=0\n");

  g_assert_cmpuint (gemem_graph_lower_bound (ffts, 1, FALSE), ==, 1100);
  g_assert_cmpuint (gemem_graph_lower_bound (cleared, 1, FALSE), ==, 1024);
  g_assert_cmpuint (gemem_graph_lower_bound (cleared, 1, TRUE), ==, 512);
  g_assert_cmpuint (gemem_graph_lower_bound (padded, 1, FALSE), ==,
                    1024); /* Y may lie where C will */
  g_assert_cmpuint (gemem_graph_lower_bound (labels, 1, FALSE), ==,
                    2560); /* of L0 and L1 only one runs */
  g_assert_cmpuint (gemem_graph_lower_bound (in_place, 1, FALSE), ==, 512);
  g_assert_cmpuint (gemem_graph_lower_bound (plain, 1, FALSE), ==, 1024);
}

/* ---- there and back */

static gboolean
meet (const GememLifetime *a, const GememLifetime *b)
{
  return a->begin < b->safe_end && b->begin < a->safe_end;
}

static void
check_round (guint64 seed)
{
  g_autoptr (GememLifetimes) lives = gemem_lifetimes_new ("random"), back = NULL;
  g_autoptr (GememGraph) graph = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree GememPlanPlace *places = NULL;
  g_autofree guint32 *order = NULL;
  const guint n = (guint) seed % 25;
  GememRng rng;

  gemem_rng_init (&rng, seed, "lives");
  for (guint i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (&rng, 30), more = gemem_rng_below (&rng, 10);

      gemem_lifetimes_add (lives, begin, begin + 1 + more, 1 + gemem_rng_below (&rng, 1000));
    }
  graph = gemem_graph_from_lifetimes (lives, &order, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (gemem_graph_n_items (graph), ==, n);
  back = gemem_graph_lifetimes (graph, &places);
  g_assert_cmpuint (back->items->len, ==, n);
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpuint (gemem_lifetimes_get (back, i)->size, ==,
                        gemem_lifetimes_get (lives, order[i])->size);
      for (guint k = 0; k < i; k++)
        g_assert_true (
            meet (gemem_lifetimes_get (back, i), gemem_lifetimes_get (back, k))
            == meet (gemem_lifetimes_get (lives, order[i]), gemem_lifetimes_get (lives, order[k])));
    }
}

static void
test_there_and_back (void)
{
  for (guint64 seed = 0; seed < 2000; seed++)
    check_round (seed);
}

static void
test_too_large (void)
{
  g_autoptr (GememLifetimes) lives = gemem_lifetimes_new ("large");
  g_autoptr (GError) error = NULL;
  g_autofree guint32 *order = NULL;

  gemem_lifetimes_add (lives, 0, 1, G_GUINT64_CONSTANT (1) << 62);
  g_assert_null (gemem_graph_from_lifetimes (lives, &order, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
}

static void
test_spaces (void)
{
  static const guint64 types[] = { GEMEM_MEMORY_HBM, GEMEM_MEMORY_P2P, GEMEM_MEMORY_HOST,
                                   GEMEM_MEMORY_HOST_SVM, GEMEM_MEMORY_SESSION };

  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    g_assert_cmpuint (gemem_space_unpack (gemem_space_pack (types[i])), ==, types[i]);
  g_assert_cmpuint (gemem_space_pack (GEMEM_MEMORY_HBM), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-convert/by-hand", test_by_hand);
  g_test_add_func ("/plan-convert/tied", test_tied);
  g_test_add_func ("/plan-convert/streams", test_streams);
  g_test_add_func ("/plan-convert/lower-bound", test_lower_bound);
  g_test_add_func ("/plan-convert/there-and-back", test_there_and_back);
  g_test_add_func ("/plan-convert/too-large", test_too_large);
  g_test_add_func ("/plan-convert/spaces", test_spaces);
  return g_test_run ();
}
