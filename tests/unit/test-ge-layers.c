/* test-ge-layers.c - the layer sets of the GE pools against a plain array: LIFO order and the
 * searches in both directions, over ranges that need one leaf, many, and more than one word at
 * the top (256 TiB of lengths). */
#include "config.h"

#include "allocators/ge/scalable-pool.h"
#include "base/rng.h"

#define SPANS 300

typedef struct
{
  GeSpan span[SPANS];
  gint64 stamp[SPANS]; /* 0: in no layer */
  gint64 clock;
} Model;

static GeSpan *
model_front (Model *m, guint32 pages)
{
  guint best = SPANS;

  for (guint i = 0; i < SPANS; i++)
    if (m->stamp[i] != 0 && m->span[i].pages == pages
        && (best == SPANS || m->stamp[i] > m->stamp[best]))
      best = i;
  return best == SPANS ? NULL : &m->span[best];
}

static guint32
model_search (const Model *m, guint32 from, gboolean up)
{
  guint32 best = GE_LAYER_NONE;

  for (guint i = 0; i < SPANS; i++)
    {
      guint32 k = m->span[i].pages;
      if (m->stamp[i] == 0 || (up ? k < from : k > from))
        continue;
      if (best == GE_LAYER_NONE || (up ? k < best : k > best))
        best = k;
    }
  return best;
}

/* Half of the lengths are short; the others come from 97 places of the whole range, since a leaf
 * is never removed. */
static guint32
draw (GememRng *rng, guint64 capacity)
{
  guint64 part = capacity / 97;

  if (part < 70 || gemem_rng_below (rng, 2) == 0)
    return (guint32) gemem_rng_below (rng, MIN (capacity, 10000));
  part *= gemem_rng_below (rng, 97);
  return (guint32) (part + gemem_rng_below (rng, 70));
}

static void
test_random (gconstpointer data)
{
  guint64 capacity = *(const guint64 *) data;
  Model *m = g_new0 (Model, 1);
  GeLayers layers;
  GememRng rng;

  gemem_rng_init (&rng, capacity, "layers");
  gemem_ge_layers_init (&layers, capacity);
  for (guint step = 0; step < 60000; step++)
    {
      guint i = (guint) gemem_rng_below (&rng, SPANS);
      guint32 from = draw (&rng, capacity);

      /* Phases of growth and shrinkage, so that the sets become empty repeatedly. */
      if (m->stamp[i] != 0 && (step / 2000) % 2 == 1)
        {
          gemem_ge_layers_remove (&layers, &m->span[i]);
          m->stamp[i] = 0;
        }
      else if (m->stamp[i] == 0 && ((step / 2000) % 2 == 0 || step % 64 == 0))
        {
          m->span[i].pages = draw (&rng, capacity);
          gemem_ge_layers_push (&layers, &m->span[i]);
          m->stamp[i] = ++m->clock;
        }
      g_assert_true (gemem_ge_layers_front (&layers, m->span[i].pages)
                     == model_front (m, m->span[i].pages));
      g_assert_cmpuint (gemem_ge_layers_next (&layers, from), ==, model_search (m, from, TRUE));
      g_assert_cmpuint (gemem_ge_layers_prev (&layers, from), ==, model_search (m, from, FALSE));
    }
  gemem_ge_layers_clear (&layers);
  g_free (m);
}

/* Every boundary of words and leaves: a single span is found from both sides, and no other. */
static void
test_boundaries (void)
{
  static const guint32 edges[] = { 0,        1,        63,       64,        65,     4031,
                                   4095,     4096,     4097,     8191,      262143, 262144,
                                   16777215, 16777216, 16777217, 4294967293 };
  GeLayers layers;

  gemem_ge_layers_init (&layers, G_MAXUINT32 - 1);
  g_assert_cmpuint (gemem_ge_layers_next (&layers, 0), ==, GE_LAYER_NONE);
  g_assert_cmpuint (gemem_ge_layers_prev (&layers, G_MAXUINT32 - 1), ==, GE_LAYER_NONE);
  for (guint i = 0; i < G_N_ELEMENTS (edges); i++)
    {
      GeSpan span = { .pages = edges[i] };
      gemem_ge_layers_push (&layers, &span);
      for (guint j = 0; j < G_N_ELEMENTS (edges); j++)
        {
          g_assert_cmpuint (gemem_ge_layers_next (&layers, edges[j]), ==,
                            j <= i ? edges[i] : GE_LAYER_NONE);
          g_assert_cmpuint (gemem_ge_layers_prev (&layers, edges[j]), ==,
                            j >= i ? edges[i] : GE_LAYER_NONE);
          g_assert_cmpuint (gemem_ge_layers_next_created (&layers, edges[j]), ==,
                            j <= i ? edges[j] : GE_LAYER_NONE);
        }
      gemem_ge_layers_remove (&layers, &span);
      g_assert_cmpuint (gemem_ge_layers_next (&layers, 0), ==, GE_LAYER_NONE);
    }
  gemem_ge_layers_clear (&layers);
}

int
main (int argc, char **argv)
{
  static const guint64 capacities[] = {
    10, 64, 4096, 5000, 1000000, G_GUINT64_CONSTANT (4294967294)
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (capacities); i++)
    {
      g_autofree char *name = g_strdup_printf ("/ge/layers/random/%" G_GUINT64_FORMAT,
                                               capacities[i]);
      g_test_add_data_func (name, &capacities[i], test_random);
    }
  g_test_add_func ("/ge/layers/boundaries", test_boundaries);
  return g_test_run ();
}
