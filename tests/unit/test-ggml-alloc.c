/* test-ggml-alloc.c - ggml's offset allocator: the worked examples of peers.md 1l, random sequences against a model written from
 * the text (arrays of holes, linear scans), the limit of holes; and the names of operators that work in place. */
#include "config.h"

#include "base/rng.h"
#include "planners/ggml/model.h"
#include "planners/ggml/offsets.h"

/* ---- the model */

typedef struct
{
  guint64 offset, size;
} Hole;

typedef struct
{
  GArray *holes; /* by offset */
  guint64 high;
} Chunk;

typedef struct
{
  guint64 alignment, max_chunk;
  guint n;
  Chunk chunks[16];
} Model;

static Hole *
hole_at (const Chunk *chunk, guint i)
{
  return &g_array_index (chunk->holes, Hole, i);
}

/* FALSE: no hole but the last ones suffices. */
static gboolean
pick_hole (const Model *model, guint64 r, guint *chunk, guint *hole)
{
  gboolean found = FALSE;

  for (guint c = 0; c < model->n; c++)
    {
      guint64 least = G_MAXUINT64;

      for (guint i = 0; i + 1 < model->chunks[c].holes->len; i++)
        if (hole_at (&model->chunks[c], i)->size >= r
            && hole_at (&model->chunks[c], i)->size <= least)
          {
            least = hole_at (&model->chunks[c], i)->size;
            *chunk = c;
            *hole = i;
            found = TRUE;
          }
    }
  return found;
}

static gboolean
pick_last (const Model *model, guint64 r, guint *chunk, guint *hole)
{
  gint64 best = 0;
  gboolean found = FALSE;

  for (guint c = 0; c < model->n; c++)
    {
      const guint n = model->chunks[c].holes->len;
      gint64 k;

      if (n == 0 || hole_at (&model->chunks[c], n - 1)->size < r)
        continue;
      k = (gint64) model->chunks[c].high
          - (gint64) (hole_at (&model->chunks[c], n - 1)->offset + r);
      if (!found || (best < 0 && k > best) || (0 <= k && k < best))
        {
          best = k;
          *chunk = c;
          *hole = n - 1;
          found = TRUE;
        }
    }
  return found;
}

static void
model_alloc (Model *model, guint64 n, guint *chunk, guint64 *offset)
{
  const guint64 r = (n + model->alignment - 1) / model->alignment * model->alignment;
  guint i = 0;
  Hole *hole;

  if (!pick_hole (model, r, chunk, &i) && !pick_last (model, r, chunk, &i))
    {
      const Hole whole = { 0, model->n == 15 ? G_MAXINT64 : MAX (r, model->max_chunk) };

      *chunk = model->n++;
      model->chunks[*chunk].holes = g_array_new (FALSE, FALSE, sizeof (Hole));
      g_array_append_val (model->chunks[*chunk].holes, whole);
      i = 0;
    }
  hole = hole_at (&model->chunks[*chunk], i);
  *offset = hole->offset;
  hole->offset += r;
  hole->size -= r;
  model->chunks[*chunk].high = MAX (model->chunks[*chunk].high, hole->offset);
  if (hole->size == 0)
    g_array_remove_index (model->chunks[*chunk].holes, i);
}

static void
model_free (Model *model, guint chunk, guint64 offset, guint64 n)
{
  const Hole freed = { offset, (n + model->alignment - 1) / model->alignment * model->alignment };
  Chunk *c = &model->chunks[chunk];
  guint at = 0;

  while (at < c->holes->len && hole_at (c, at)->offset < offset)
    at++;
  g_array_insert_val (c->holes, at, freed);
  for (guint i = at + 1; i-- > (at > 0 ? at - 1 : 0);)
    if (i + 1 < c->holes->len
        && hole_at (c, i)->offset + hole_at (c, i)->size == hole_at (c, i + 1)->offset)
      {
        hole_at (c, i)->size += hole_at (c, i + 1)->size;
        g_array_remove_index (c->holes, i + 1);
      }
}

/* ---- random sequences */

#define LIVE 300

typedef struct
{
  GgmlPiece *piece;
  guint chunk;
  guint64 offset, n;
} Live;

static void
step (GgmlOffsets *offsets, Model *model, Live *live, guint64 most, GememRng *rng)
{
  if (live->piece != NULL)
    {
      gemem_ggml_offsets_free (offsets, live->piece);
      model_free (model, live->chunk, live->offset, live->n);
      live->piece = NULL;
      return;
    }
  live->n = 1 + gemem_rng_below (rng, gemem_rng_below (rng, 4) == 0 ? most : 64);
  live->piece = gemem_ggml_offsets_alloc (offsets, live->n);
  model_alloc (model, live->n, &live->chunk, &live->offset);
  g_assert_cmpuint (live->piece->node.group, ==, live->chunk);
  g_assert_cmpuint (live->piece->offset, ==, live->offset);
}

static void
check_totals (const GgmlOffsets *offsets, const Model *model)
{
  g_assert_true (gemem_ggml_offsets_check (offsets));
  g_assert_cmpuint (offsets->n_chunks, ==, model->n);
  for (guint c = 0; c < model->n; c++)
    {
      g_assert_cmpuint (offsets->chunks[c].high, ==, model->chunks[c].high);
      g_assert_cmpuint (offsets->chunks[c].holes, ==, model->chunks[c].holes->len);
    }
}

static void
test_random (gconstpointer data)
{
  static const struct
  {
    guint64 alignment, max_chunk, most;
    guint live;
  } cases[] = {
    { 32, GGML_ENDLESS, 5000, LIVE }, { 128, GGML_ENDLESS, 100, LIVE },
    { 32, 4096, 5000, 60 },           { 32, 3200, 600, 40 },
    { 64, 20000, 3000, 120 },         { 32, 320, 320, 30 },
    { 32, 100000, 100000, LIVE },
  };
  const guint i = GPOINTER_TO_UINT (data) % G_N_ELEMENTS (cases);
  Model model = { .alignment = cases[i].alignment, .max_chunk = cases[i].max_chunk };
  Live live[LIVE] = { { 0 } };
  GgmlOffsets offsets;
  GememRng rng;

  gemem_rng_init (&rng, GPOINTER_TO_UINT (data), "ggml");
  gemem_ggml_offsets_init (&offsets, cases[i].alignment, cases[i].max_chunk);
  for (guint k = 0; k < 30000; k++)
    {
      step (&offsets, &model, &live[gemem_rng_below (&rng, cases[i].live)], cases[i].most, &rng);
      if (k % 64 == 0)
        check_totals (&offsets, &model);
    }
  for (guint c = 0; c < model.n; c++)
    g_array_unref (model.chunks[c].holes);
  gemem_ggml_offsets_clear (&offsets);
}

/* ---- examples */

static GgmlPiece *
want (GgmlOffsets *offsets, guint64 n, guint64 chunk, guint64 offset)
{
  GgmlPiece *piece = gemem_ggml_offsets_alloc (offsets, n);

  g_assert_cmpuint (piece->node.group, ==, chunk);
  g_assert_cmpuint (piece->offset, ==, offset);
  g_assert_true (gemem_ggml_offsets_check (offsets));
  return piece;
}

/* L1 */
static void
test_holes (void)
{
  GgmlOffsets o;
  GgmlPiece *first, *third;

  gemem_ggml_offsets_init (&o, 32, GGML_ENDLESS);
  first = want (&o, 100, 0, 0);
  want (&o, 200, 0, 128);
  third = want (&o, 300, 0, 352);
  want (&o, 100, 0, 672);
  want (&o, 10, 0, 800);
  g_assert_cmpuint (gemem_ggml_offsets_total (&o), ==, 832);
  gemem_ggml_offsets_free (&o, first);
  gemem_ggml_offsets_free (&o, third);
  want (&o, 64, 0, 0);
  want (&o, 250, 0, 352);
  want (&o, 1000, 0, 832);
  g_assert_cmpuint (gemem_ggml_offsets_total (&o), ==, 1856);
  g_assert_null (gemem_ggml_offsets_alloc (&o, G_MAXUINT64));
  gemem_ggml_offsets_clear (&o);
}

/* L2 */
static void
test_new_chunks (void)
{
  GgmlOffsets o;
  GgmlPiece *first, *third;

  gemem_ggml_offsets_init (&o, 32, 640);
  first = want (&o, 100, 0, 0);
  want (&o, 200, 0, 128);
  third = want (&o, 300, 1, 0);
  want (&o, 100, 0, 352);
  want (&o, 10, 0, 480);
  gemem_ggml_offsets_free (&o, first);
  gemem_ggml_offsets_free (&o, third);
  want (&o, 64, 0, 0);
  want (&o, 250, 1, 0);
  want (&o, 1000, 2, 0);
  gemem_ggml_offsets_clear (&o);
}

/* L3: the end of a chunk is used up, so its last hole plays the part of the end. */
static void
test_used_up (void)
{
  GgmlOffsets o;
  GgmlPiece *pieces[6];

  gemem_ggml_offsets_init (&o, 32, 960);
  for (guint i = 0; i < 6; i++)
    pieces[i] = want (&o, 320, i / 3, i % 3 * 320);
  for (guint i = 0; i < 6; i += 2)
    gemem_ggml_offsets_free (&o, pieces[i]);
  want (&o, 320, 0, 0);
  want (&o, 64, 0, 640);
  want (&o, 64, 0, 704);
  gemem_ggml_offsets_clear (&o);
}

/* 256 holes are the most: 255 between pieces, and the end. */
static void
test_too_many_holes (void)
{
  GgmlOffsets o;
  GgmlPiece *pieces[600];

  gemem_ggml_offsets_init (&o, 32, GGML_ENDLESS);
  for (guint i = 0; i < 600; i++)
    pieces[i] = want (&o, 32, 0, 32 * (guint64) i);
  for (guint i = 0; i < 2 * 255; i += 2)
    gemem_ggml_offsets_free (&o, pieces[i]);
  g_assert_cmpuint (o.chunks[0].holes, ==, 256);
  g_assert_cmpuint (o.too_many, ==, 0);
  gemem_ggml_offsets_free (&o, pieces[2 * 255]);
  g_assert_cmpuint (o.too_many, ==, 1);
  gemem_ggml_offsets_clear (&o);
}

static void
test_operators (void)
{
  static const char *const yes[] = { "ADD",     "DIAG_MASK_INF", "RMS_NORM_BACK",   "aten::mul",
                                     "Softmax", "SoftmaxV2",     "elementwise_add", "aten::relu_",
                                     "Sqrt",    "_softmax",      "RealDiv" },
                           *const no[] = { "MUL_MAT",  "NORM",       "MatMul", "conv2d",
                                           "GET_ROWS", "aten::view", "" };

  for (guint i = 0; i < G_N_ELEMENTS (yes); i++)
    g_assert_true (gemem_ggml_runs_in_place (yes[i]));
  for (guint i = 0; i < G_N_ELEMENTS (no); i++)
    g_assert_false (gemem_ggml_runs_in_place (no[i]));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ggml/1", test_holes);
  g_test_add_func ("/ggml/2", test_new_chunks);
  g_test_add_func ("/ggml/3", test_used_up);
  g_test_add_func ("/ggml/too-many-holes", test_too_many_holes);
  g_test_add_func ("/ggml/operators", test_operators);
  for (guint i = 0; i < 14; i++)
    {
      g_autofree char *path = g_strdup_printf ("/ggml/random/%u", i);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_random);
    }
  return g_test_run ();
}
