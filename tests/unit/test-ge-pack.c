/* test-ge-pack.c - the shortcuts of GE's level 2 decide as the rules do: random graphs, packed by
 * both, give the same blocks in the same order with the same children. */
#include "config.h"

#include "base/rng.h"
#include "planners/ge/assigner.h"
#include "planners/ge/pack.h"
#include "planners/ge/params.h"
#include "tests/util/naive-ge-pack.h"
#include "tests/util/random-graph.h"

/* Level 1 only. */
static GeAssigner *
assign (const GeModel *model, const GeStrategy *strategy)
{
  GeAssigner *a = ge_assigner_new (model, strategy);

  ge_assigner_walk (a);
  return a;
}

/* Everything that packing decides, block by block. */
static void
describe (const GPtrArray *blocks, GString *text)
{
  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    {
      const GeBlock *block = g_ptr_array_index (blocks, i);

      g_string_append_printf (text, "(%d%d%d%d", block->child, block->reuse_zc, block->first,
                              block->last);
      for (guint32 k = 0; k < block->n_occupants; k++)
        g_string_append_printf (text, " %u.%u.%u", block->occupants[k].node,
                                block->occupants[k].kind, block->occupants[k].index);
      describe (block->children, text);
      g_string_append (text, ")\n");
    }
}

static void
compare (guint64 seed, const GeModel *model, const GeStrategy *strategy)
{
  GeAssigner *fast = assign (model, strategy), *naive = assign (model, strategy);
  g_autoptr (GString) fast_text = g_string_new (NULL), naive_text = g_string_new (NULL);

  ge_pack (fast);
  test_naive_ge_pack (naive);
  describe (fast->blocks, fast_text);
  describe (naive->blocks, naive_text);
  if (!g_string_equal (fast_text, naive_text))
    g_test_message ("seed %" G_GUINT64_FORMAT ": naive\n%sfast\n%s", seed, naive_text->str,
                    fast_text->str);
  g_assert_true (g_string_equal (fast_text, naive_text));
  ge_assigner_free (fast);
  ge_assigner_free (naive);
}

static void
compare_all (guint64 seed)
{
  GeOptions options;
  GememRng rng;
  GError *error = NULL;

  gemem_rng_init (&rng, seed, "ge-pack");
  const guint features = (guint) gemem_rng_below (&rng, TEST_GRAPH_ALL + 1);
  g_autoptr (GememGraph) graph = test_random_graph (
      seed, features, (guint) gemem_rng_range (&rng, 5, seed % 10 == 0 ? 400 : 80));

  gemem_params_set_defaults (gemem_ge_params, &options);
  options.memory_priority = seed % 3 == 0;
  options.quirks = seed % 5 != 0;
  if (seed % 2 == 0)
    {
      options.input_reuse = g_strdup ("0,1,2");
      options.output_reuse = g_strdup ("0");
    }
  GeModel *model = ge_model_new (graph, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 16; i++)
    {
      const GeStrategy strategy = { .name = "random",
                                    .use_range = i & 1,
                                    .ascending = (i & 2) != 0,
                                    .first_release = (i & 4) != 0,
                                    .priority = (i & 8) != 0 };

      compare (seed, model, &strategy);
    }
  ge_model_free (model);
  gemem_params_clear (gemem_ge_params, &options);
}

static void
test_random (void)
{
  const guint64 rounds = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0 ? 60 : 400;

  for (guint64 seed = 0; seed < rounds; seed++)
    compare_all (seed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-pack/as-the-rules", test_random);
  return g_test_run ();
}
