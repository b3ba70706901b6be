/* test-rng.c - golden vectors of base/rng.h, computed by an independent implementation (Python
 * integers), and the shape of the distributions. A change of a vector changes every synthetic
 * trace ever published: do not adapt the vectors. */
#include "config.h"

#include "base/rng.h"

#define U(x) G_GUINT64_CONSTANT (x)

/* The published vector of xoshiro256** for the state 1, 2, 3, 4. */
static void
test_generator (void)
{
  static const guint64 expected[] = {
    11520, 0, 1509978240, U (1215971899390074240), U (1216172134540287360), U (607988272756665600)
  };
  GememRng rng = { { 1, 2, 3, 4 } };

  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    g_assert_cmpuint (gemem_rng_next (&rng), ==, expected[i]);
}

static void
test_streams (void)
{
  static const struct
  {
    guint64 seed;
    const char *purpose;
    guint64 state[4], next[3];
  } golden[] = {
    { 0,
      "sizes",
      { U (11818503128945268063), U (16817327560423664966), U (8916014996758051080),
        U (18356460835532367272) },
      { U (3953616991454669183), U (7690308256055951057), U (8723018952859301743) } },
    { 0,
      "lifetimes",
      { U (4970700871826296879), U (14418775274076153338), U (5836334204433972859),
        U (10429243271975969069) },
      { U (4903758838241852692), U (9203547462775000150), U (1717006514019807355) } },
    { 42,
      "sizes",
      { U (7471698418075917031), U (4644549547988087407), U (6854401149590219219),
        U (2953339961561536315) },
      { U (4826489532533621417), U (5732574647138812190), U (15353747547608307200) } },
    { G_MAXUINT64,
      "",
      { U (11451725857892274853), U (7030405003249459310), U (2614349550517050356),
        U (18317306164542001496) },
      { U (4529576924419829515), U (4127696849119218372), U (14582103487005965494) } },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (golden); i++)
    {
      GememRng rng;
      gemem_rng_init (&rng, golden[i].seed, golden[i].purpose);
      for (int j = 0; j < 4; j++)
        g_assert_cmpuint (rng.s[j], ==, golden[i].state[j]);
      for (int j = 0; j < 3; j++)
        g_assert_cmpuint (gemem_rng_next (&rng), ==, golden[i].next[j]);
    }
}

static void
test_distributions (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 7, "below");
  g_assert_cmpuint (gemem_rng_below (&rng, 1), ==, 0);
  g_assert_cmpuint (gemem_rng_below (&rng, 6), ==, 4);
  g_assert_cmpuint (gemem_rng_below (&rng, 1000), ==, 704);
  g_assert_cmpuint (gemem_rng_below (&rng, (U (1) << 63) + 1), ==, U (8707691562193489792));
  g_assert_cmpuint (gemem_rng_below (&rng, G_MAXUINT64), ==, U (1924270420032663070));

  static const guint64 range[] = { 16, 20, 13, 19, 18 };
  gemem_rng_init (&rng, 7, "range");
  for (gsize i = 0; i < G_N_ELEMENTS (range); i++)
    g_assert_cmpuint (gemem_rng_range (&rng, 10, 20), ==, range[i]);
  g_assert_cmpuint (gemem_rng_range (&rng, 0, G_MAXUINT64), ==, U (3380578760334966024));
  g_assert_cmpuint (gemem_rng_range (&rng, 5, 5), ==, 5);

  static const guint64 logs[] = { 7007, 4063732, 38735, 879, 14950263 };
  gemem_rng_init (&rng, 7, "log");
  for (gsize i = 0; i < G_N_ELEMENTS (logs); i++)
    g_assert_cmpuint (gemem_rng_log_uniform (&rng, 512, 1 << 30), ==, logs[i]);
  g_assert_cmpuint (gemem_rng_log_uniform (&rng, 1, G_MAXUINT64), ==, U (21703535826));
  g_assert_cmpuint (gemem_rng_log_uniform (&rng, G_MAXUINT64, G_MAXUINT64), ==, G_MAXUINT64);
  g_assert_cmpuint (gemem_rng_log_uniform (&rng, 3, 3), ==, 3);

  static const guint64 means[] = {
    1, 2, 2, 10, 10, 1000, 1 << 19, 1 << 20, U (1) << 40, G_MAXUINT64
  };
  static const guint64 lives[] = {
    1, 1, 1, 1, 4, 306, 470507, 502226, U (1079367720280), U (2671732559114719232)
  };
  gemem_rng_init (&rng, 7, "geometric");
  for (gsize i = 0; i < G_N_ELEMENTS (means); i++)
    g_assert_cmpuint (gemem_rng_geometric (&rng, means[i]), ==, lives[i]);
}

/* The draws are fixed, so these are not flaky: the tolerance is six standard deviations for a
 * correct generator. */
static void
test_uniform_shape (void)
{
  guint64 counts[6] = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, 1, "shape");
  for (guint i = 0; i < 600000; i++)
    counts[gemem_rng_below (&rng, 6)]++;
  for (guint i = 0; i < 6; i++) /* sigma = sqrt (600000 * 1/6 * 5/6) = 289 */
    {
      g_assert_cmpuint (counts[i], >, 100000 - 1732);
      g_assert_cmpuint (counts[i], <, 100000 + 1732);
    }
  /* A bound of 3 * 2^62: without rejection the lowest third would come up half of the time. */
  guint64 low = 0;
  for (guint i = 0; i < 300000; i++)
    low += gemem_rng_below (&rng, U (3) << 62) % 3 == 0;
  g_assert_cmpuint (low, >, 100000 - 1550);
  g_assert_cmpuint (low, <, 100000 + 1550);
}

static void
test_log_shape (void)
{
  guint64 octaves[8] = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, 1, "log-shape");
  for (guint i = 0; i < 800000; i++)
    {
      guint64 v = gemem_rng_log_uniform (&rng, 16, 4095);
      g_assert_cmpuint (v, >=, 16);
      g_assert_cmpuint (v, <=, 4095);
      octaves[g_bit_storage (v) - 5]++;
    }
  for (guint i = 0; i < 8; i++) /* sigma = sqrt (800000 * 1/8 * 7/8) = 296 */
    {
      g_assert_cmpuint (octaves[i], >, 100000 - 1775);
      g_assert_cmpuint (octaves[i], <, 100000 + 1775);
    }
  for (guint i = 0; i < 10000; i++) /* where the fixed-point format has fewer bits than the value */
    {
      guint64 v = gemem_rng_log_uniform (&rng, G_MAXUINT64 - 5, G_MAXUINT64 - 3);
      g_assert_true (v >= G_MAXUINT64 - 5 && v <= G_MAXUINT64 - 3);
    }
}

static void
test_geometric_shape (void)
{
  static const guint64 means[] = { 2, 10, 1000, 1 << 22 };
  const guint64 n = 400000;
  GememRng rng;

  gemem_rng_init (&rng, 1, "geometric-shape");
  for (gsize i = 0; i < G_N_ELEMENTS (means); i++)
    {
      guint64 sum = 0, ones = 0, m = means[i];
      for (guint64 j = 0; j < n; j++)
        {
          guint64 v = gemem_rng_geometric (&rng, m);
          g_assert_cmpuint (v, >=, 1);
          sum += v;
          ones += v == 1;
        }
      /* The standard deviation of a value is below m, of the mean below m / 632; P(1) = 1 / m. */
      g_assert_cmpuint (sum, >, n * m - n * m / 105);
      g_assert_cmpuint (sum, <, n * m + n * m / 105);
      if (m <= 1000) /* sigma of the count = sqrt (n / m) */
        {
          gint64 difference = (gint64) ones - (gint64) (n / m);
          g_assert_cmpint (difference * difference, <, (gint64) (36 * n / m));
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rng/generator", test_generator);
  g_test_add_func ("/rng/streams", test_streams);
  g_test_add_func ("/rng/distributions", test_distributions);
  g_test_add_func ("/rng/shape/uniform", test_uniform_shape);
  g_test_add_func ("/rng/shape/log-uniform", test_log_shape);
  g_test_add_func ("/rng/shape/geometric", test_geometric_shape);
  return g_test_run ();
}
