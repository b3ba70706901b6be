/* test-ge-pack.c - the shortcuts of GE's level 2 decide as the rules do: random graphs, packed by
 * the planner and by naive-ge-pack.h, yield the same blocks in the same order with the same
 * children.
 *
 * The naive side works on plain copies of level 1's result, made here, and on no other data.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "planners/ge/ge-private.h"
#include "planners/ge/options.h"
#include "tests/util/naive-ge-pack.h"
#include "tests/util/random-graph.h"

/* Runs level 1 only. */
static GeAssigner *
assign (const GeModel *model, const GeStrategy *strategy)
{
  GeAssigner *a = gemem_ge_assigner_new (model, strategy);

  gemem_ge_assigner_walk (a);
  return a;
}

/* Sets properties that level 1 seldom sets: flags, labels, types, attributes, no-align sizes
 * that differ, and memory that may or may not be shared. */
static void
vary (GeAssigner *a, GememRng *rng)
{
  static const guint8 flags[] = { GE_OCCUPANT_CONT, GE_OCCUPANT_FIRST, GE_OCCUPANT_LAST,
                                  GE_OCCUPANT_CALL };

  for (guint i = 0; i < a->blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (a->blocks, i);

      block->reuse_mem = block->stream >= 0 && gemem_rng_below (rng, 5) > 0;
      block->zc = gemem_rng_below (rng, 8) == 0;
      block->reuse_zc = gemem_rng_below (rng, 3) > 0;
      block->label = (gint32) (gemem_rng_below (rng, 6) / 5);
      block->space = (guint8) (gemem_rng_below (rng, 6) / 5);
      block->data = gemem_rng_below (rng, 4) == 0;
      block->central = !block->data && gemem_rng_below (rng, 4) == 0;
      for (guint32 k = 0; k < block->n_occupants; k++)
        {
          if (gemem_rng_below (rng, 2) == 0)
            block->occupants[k].noalign = gemem_rng_below (rng, 2 * block->occupants[k].real + 1);
          if (gemem_rng_below (rng, 10) == 0)
            block->occupants[k].flags |= flags[gemem_rng_below (rng, G_N_ELEMENTS (flags))];
          block->cont |= (block->occupants[k].flags & GE_OCCUPANT_CONT) != 0;
          block->first |= (block->occupants[k].flags & GE_OCCUPANT_FIRST) != 0;
          block->last |= (block->occupants[k].flags & GE_OCCUPANT_LAST) != 0;
        }
    }
}

/* ---- copies of the planner's structures */

static NaivePackOccupant
plain_occupant (const GeModel *model, const GeOccupant *o)
{
  const gboolean same_out =
      o->kind == GE_KIND_OUTPUT
      && model->multi_same_out[gemem_graph_node (model->graph, o->node)->first_output + o->index];

  return (NaivePackOccupant){ .node = o->node,
                              .kind = o->kind,
                              .index = o->index,
                              .real = o->real,
                              .noalign = o->noalign,
                              .begin = o->begin,
                              .end = o->end,
                              .diff_end = o->diff_end,
                              .diff_stream = o->diff_stream,
                              .out_cnt = o->out_cnt,
                              .has_begin = (o->flags & GE_OCCUPANT_BEGIN_MIN) != 0,
                              .has_diff = o->diff_stream != GE_NO_DIFF,
                              .reference = (o->flags & GE_OCCUPANT_REF) != 0,
                              .continuous = (o->flags & GE_OCCUPANT_CONT) != 0,
                              .first = (o->flags & GE_OCCUPANT_FIRST) != 0,
                              .last = (o->flags & GE_OCCUPANT_LAST) != 0,
                              .of_call = (o->flags & GE_OCCUPANT_CALL) != 0,
                              .in_same_out = same_out };
}

static NaivePackBlock *
plain_block (const GeModel *model, GeBlock *block)
{
  NaivePackBlock *plain = naive_pack_block_new ();
  const guint64 inherited[] = { block->size, (guint64) block->ref_count, block->input_index,
                                (guint64) block->post_reuse << 1 | block->fixed };

  for (guint32 i = 0; i < block->n_occupants; i++)
    {
      const NaivePackOccupant occupant = plain_occupant (model, &block->occupants[i]);

      g_array_append_val (plain->occupants, occupant);
    }
  for (guint i = 0; block->children != NULL && i < block->children->len; i++)
    g_ptr_array_add (plain->children, plain_block (model, g_ptr_array_index (block->children, i)));
  plain->stream = block->stream;
  plain->label = block->label;
  plain->type = gemem_ge_space_type ((GeSpace) block->space);
  plain->reuse_mem = block->reuse_mem;
  plain->same_stream = block->same_stream;
  plain->zero_copy = block->zc;
  plain->reuse_zc = block->reuse_zc;
  plain->data = block->data;
  plain->central = block->central;
  memcpy (plain->inherited, inherited, sizeof inherited);
  plain->continuous = block->cont;
  plain->first = block->first;
  plain->last = block->last;
  plain->child = block->child;
  plain->align_size = gemem_ge_block_align_size (block);
  plain->taken = block->child_off;
  return plain;
}

static GPtrArray *
plain_blocks (const GeAssigner *a)
{
  GPtrArray *plain = g_ptr_array_new_with_free_func (naive_pack_block_free);

  for (guint i = 0; i < a->blocks->len; i++)
    g_ptr_array_add (plain, plain_block (a->model, g_ptr_array_index (a->blocks, i)));
  return plain;
}

/* in_edges[dst][src] of every pair of streams; freed by the caller. */
static GArray **
plain_edges (const GeModel *model)
{
  const gsize n = (gsize) model->n_streams * model->n_streams;
  GArray **plain = g_new (GArray *, n + 1);

  for (gsize i = 0; i < n; i++)
    {
      plain[i] = g_array_new (FALSE, FALSE, sizeof (NaivePackEdge));
      for (guint k = 0; k < model->in_edges[i].n; k++)
        {
          const NaivePackEdge edge = { model->in_edges[i].edges[k].node,
                                       model->in_edges[i].edges[k].peer };

          g_array_append_val (plain[i], edge);
        }
    }
  plain[n] = NULL;
  return plain;
}

static void
free_edges (GArray **edges)
{
  for (gsize i = 0; edges[i] != NULL; i++)
    g_array_unref (edges[i]);
  g_free (edges);
}

/* ---- comparing */

#define N_FACTS 19

/* All results of packing, and all fields that clones copy, but for occupants and children. */
static void
tell (const NaivePackBlock *block, guint64 facts[N_FACTS])
{
  const guint64 all[N_FACTS] = {
    block->child,        block->reuse_zc,     block->zero_copy,        block->first,
    block->last,         block->continuous,   block->reuse_mem,        block->same_stream,
    block->data,         block->central,      (guint64) block->stream, (guint64) block->label,
    block->type,         block->taken,        block->align_size,       block->inherited[0],
    block->inherited[1], block->inherited[2], block->inherited[3]
  };

  G_STATIC_ASSERT (G_N_ELEMENTS (block->inherited) == 4);
  memcpy (facts, all, sizeof all);
}

static gboolean
same (const GPtrArray *ones, const GPtrArray *others)
{
  if (ones->len != others->len)
    return FALSE;
  for (guint i = 0; i < ones->len; i++)
    {
      const NaivePackBlock *one = ones->pdata[i], *other = others->pdata[i];
      guint64 facts[2][N_FACTS];

      tell (one, facts[0]);
      tell (other, facts[1]);
      if (memcmp (facts[0], facts[1], sizeof facts[0]) != 0
          || one->occupants->len != other->occupants->len)
        return FALSE;
      for (guint k = 0; k < one->occupants->len; k++)
        {
          const NaivePackOccupant *o = &g_array_index (one->occupants, NaivePackOccupant, k),
                                  *p = &g_array_index (other->occupants, NaivePackOccupant, k);

          if (o->node != p->node || o->kind != p->kind || o->index != p->index)
            return FALSE;
        }
      if (!same (one->children, other->children))
        return FALSE;
    }
  return TRUE;
}

/* What same() compares, as text. */
static void
describe (const GPtrArray *blocks, GString *text)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      const NaivePackBlock *block = g_ptr_array_index (blocks, i);
      guint64 facts[N_FACTS];

      tell (block, facts);
      g_string_append_c (text, '(');
      for (guint k = 0; k < N_FACTS; k++)
        g_string_append_printf (text, " %" G_GINT64_FORMAT, (gint64) facts[k]);
      for (guint k = 0; k < block->occupants->len; k++)
        {
          const NaivePackOccupant *o = &g_array_index (block->occupants, NaivePackOccupant, k);

          g_string_append_printf (text, " %u.%u.%u", o->node, o->kind, o->index);
        }
      describe (block->children, text);
      g_string_append (text, ")\n");
    }
}

static void
free_children (GPtrArray *blocks)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      NaivePackBlock *block = g_ptr_array_index (blocks, i);

      free_children (block->children);
      g_ptr_array_foreach (block->children, (GFunc) (gpointer) naive_pack_block_free, NULL);
    }
}

static void
compare (guint64 seed, const GeModel *model, const GeStrategy *strategy, GememRng *variation)
{
  GeAssigner *fast = assign (model, strategy);
  NaivePack naive = { .edges = plain_edges (model),
                      .n_streams = model->n_streams,
                      .last_memset = model->last_memset,
                      .ascending = strategy->ascending,
                      .priority = strategy->priority,
                      .memory_priority = model->options->memory_priority,
                      .quirks = model->options->quirks };
  GPtrArray *packed;

  if (variation != NULL)
    vary (fast, variation);
  naive.blocks = plain_blocks (fast);
  gemem_ge_pack (fast);
  packed = plain_blocks (fast);
  naive_pack_run (&naive);
  if (!same (packed, naive.blocks))
    {
      g_autoptr (GString) text = g_string_new ("naive\n");

      describe (naive.blocks, text);
      g_string_append (text, "fast\n");
      describe (packed, text);
      g_error ("seed %" G_GUINT64_FORMAT ": %s", seed, text->str);
    }
  free_children (packed);
  g_ptr_array_unref (packed);
  g_ptr_array_unref (naive.blocks);
  free_edges (naive.edges);
  gemem_ge_assigner_free (fast);
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
  GeModel *model = gemem_ge_model_new (graph, &options, &error);
  g_assert_no_error (error);
  for (guint32 t = seed % 4 == 0 ? 0 : model->n_tensors; t < model->n_tensors; t++)
    model->multi_same_out[t] |= gemem_rng_below (&rng, 8) == 0;
  for (guint i = 0; i < 16; i++)
    {
      const GeStrategy strategy = { .name = "random",
                                    .use_range = i & 1,
                                    .ascending = (i & 2) != 0,
                                    .first_release = (i & 4) != 0,
                                    .priority = (i & 8) != 0 };

      compare (seed, model, &strategy, NULL);
      compare (seed, model, &strategy, &rng);
    }
  gemem_ge_model_free (model);
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
