/* test-histogram.c - base/histogram.h: bucket arithmetic over all buckets, percentiles against a
 * sorted array, merging. */
#include "config.h"

#include <stdlib.h>

#include "base/histogram.h"
#include "base/rng.h"

static void
test_buckets (void)
{
  g_assert_cmpuint (GEMEM_HISTOGRAM_BUCKETS, ==, 1920);
  for (guint v = 0; v < 64; v++)
    {
      g_assert_cmpuint (gemem_histogram_bucket (v), ==, v);
      g_assert_cmpuint (gemem_histogram_bucket_end (v), ==, v);
    }
  g_assert_cmpuint (gemem_histogram_bucket (64), ==, 64);
  g_assert_cmpuint (gemem_histogram_bucket (65), ==, 64);
  g_assert_cmpuint (gemem_histogram_bucket (66), ==, 65);
  g_assert_cmpuint (gemem_histogram_bucket (127), ==, 95);
  g_assert_cmpuint (gemem_histogram_bucket (128), ==, 96);
  g_assert_cmpuint (gemem_histogram_bucket (1000), ==, 190); /* 1000 >> 4 = 62, 4 * 32 + 62 */
  g_assert_cmpuint (gemem_histogram_bucket_end (190), ==, 1007);
  g_assert_cmpuint (gemem_histogram_bucket (G_MAXUINT64), ==, 1919);
  g_assert_cmpuint (gemem_histogram_bucket_end (1919), ==, G_MAXUINT64);

  /* The buckets cover all values, in order, without gaps; none is wider than 1/32 of its start. */
  for (guint b = 1; b < GEMEM_HISTOGRAM_BUCKETS; b++)
    {
      guint64 start = gemem_histogram_bucket_end (b - 1) + 1, end = gemem_histogram_bucket_end (b);
      g_assert_cmpuint (end, >=, start);
      g_assert_cmpuint (gemem_histogram_bucket (start), ==, b);
      g_assert_cmpuint (gemem_histogram_bucket (end), ==, b);
      g_assert_cmpuint (end - start, <=, start / 32);
    }
}

/* As many single values, also where the sum saturates. */
static void
test_many (void)
{
  static const guint64 values[] = { 7, 100000, G_MAXUINT64 / 2 };
  GememHistogram one, many;

  gemem_histogram_init (&one);
  gemem_histogram_init (&many);
  gemem_histogram_add_many (&many, 1, 0);
  g_assert_cmpmem (&one, sizeof one, &many, sizeof many);
  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      gemem_histogram_add_many (&many, values[i], 3 + i);
      for (guint n = 0; n < 3 + i; n++)
        gemem_histogram_add (&one, values[i]);
      g_assert_cmpmem (&one, sizeof one, &many, sizeof many);
    }
  g_assert_cmpuint (many.sum, ==, G_MAXUINT64);
}

static void
test_small (void)
{
  GememHistogram h;

  gemem_histogram_init (&h);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 500), ==, 0);
  g_assert_cmpuint (h.min, ==, G_MAXUINT64);

  gemem_histogram_add (&h, 1000);
  for (guint p = 0; p <= 1000; p += 100)
    g_assert_cmpuint (gemem_histogram_percentile (&h, p), ==,
                      1000); /* clamped to max: exact for one value */

  gemem_histogram_init (&h);
  for (guint v = 1; v <= 10; v++)
    gemem_histogram_add (&h, v);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 0), ==, 1);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 100), ==, 1);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 101), ==, 2);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 500), ==, 5);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 501), ==, 6);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 999), ==, 10);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 1000), ==, 10);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 5000), ==, 10);
  g_assert_cmpuint (h.count, ==, 10);
  g_assert_cmpuint (h.sum, ==, 55);
  g_assert_cmpuint (h.min, ==, 1);
  g_assert_cmpuint (h.max, ==, 10);
}

static void
test_saturation (void)
{
  GememHistogram h, other;

  gemem_histogram_init (&h);
  gemem_histogram_add (&h, G_MAXUINT64);
  gemem_histogram_add (&h, G_MAXUINT64);
  g_assert_cmpuint (h.sum, ==, G_MAXUINT64);
  g_assert_cmpuint (gemem_histogram_percentile (&h, 500), ==, G_MAXUINT64);
  other = h;
  gemem_histogram_merge (&h, &other);
  g_assert_cmpuint (h.sum, ==, G_MAXUINT64);
  g_assert_cmpuint (h.count, ==, 4);

  /* Counts near 2^64 do not overflow the rank. */
  h.count = G_MAXUINT64;
  h.buckets[1919] = G_MAXUINT64;
  g_assert_cmpuint (gemem_histogram_percentile (&h, 999), ==, G_MAXUINT64);
}

static int
compare (const void *a, const void *b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;
  return (x > y) - (x < y);
}

static void
test_against_sorted (void)
{
  static const guint permille[] = { 1, 10, 250, 500, 900, 990, 999, 1000 };
  enum
  {
    N = 20011
  };
  g_autofree guint64 *values = g_new (guint64, N);
  GememHistogram whole, parts[2];
  GememRng rng;

  gemem_rng_init (&rng, 3, "histogram");
  gemem_histogram_init (&whole);
  gemem_histogram_init (&parts[0]);
  gemem_histogram_init (&parts[1]);
  for (guint i = 0; i < N; i++)
    {
      values[i] = gemem_rng_log_uniform (&rng, 1, G_GUINT64_CONSTANT (1) << 40);
      gemem_histogram_add (&whole, values[i]);
      gemem_histogram_add (&parts[i % 3 == 0], values[i]);
    }
  gemem_histogram_merge (&parts[0], &parts[1]);
  g_assert_cmpmem (&parts[0], sizeof whole, &whole, sizeof whole);

  qsort (values, N, sizeof *values, compare);
  for (gsize i = 0; i < G_N_ELEMENTS (permille); i++)
    {
      guint64 exact = values[((guint64) N * permille[i] + 999) / 1000 - 1];
      guint64 reported = gemem_histogram_percentile (&whole, permille[i]);
      g_assert_cmpuint (reported, >=, exact);
      g_assert_cmpuint (reported - exact, <=, exact / 32);
    }
}

static void
test_merge_empty (void)
{
  GememHistogram a, b;

  gemem_histogram_init (&a);
  gemem_histogram_init (&b);
  gemem_histogram_add (&b, 7);
  gemem_histogram_merge (&a, &b);
  g_assert_cmpmem (&a, sizeof a, &b, sizeof b);
  gemem_histogram_init (&a);
  gemem_histogram_merge (&b, &a);
  g_assert_cmpuint (b.min, ==, 7);
  g_assert_cmpuint (b.max, ==, 7);
  g_assert_cmpuint (b.count, ==, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/histogram/buckets", test_buckets);
  g_test_add_func ("/histogram/many", test_many);
  g_test_add_func ("/histogram/small", test_small);
  g_test_add_func ("/histogram/saturation", test_saturation);
  g_test_add_func ("/histogram/against-sorted", test_against_sorted);
  g_test_add_func ("/histogram/merge-empty", test_merge_empty);
  return g_test_run ();
}
