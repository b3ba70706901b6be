/* histogram.c - the log-linear histogram of histogram.h.
 *
 * Bucket numbers: a value below 64 is its own bucket.  A larger value with its highest bit at e is
 * shifted right by e - 5, which leaves six bits (32..63); each further power of two adds 32
 * buckets.  So the bucket number is (e - 5) * 32 + these six bits; it has no gaps and ascends with
 * the value.  The largest 64-bit value has the number 58 * 32 + 63 = BUCKETS - 1.
 */
#include "config.h"

#include <string.h>

#include "base/histogram.h"

#define SUB_BITS GEMEM_HISTOGRAM_SUB_BITS
#define SUB_BUCKETS (1u << SUB_BITS)

G_STATIC_ASSERT (GEMEM_HISTOGRAM_BUCKETS == (63 - SUB_BITS) * SUB_BUCKETS + 2 * SUB_BUCKETS);

void
gemem_histogram_init (GememHistogram *histogram)
{
  memset (histogram, 0, sizeof *histogram);
  histogram->min = G_MAXUINT64;
}

guint64
gemem_histogram_bucket_end (guint bucket)
{
  if (bucket < 2 * SUB_BUCKETS)
    return bucket;
  guint shift = (bucket >> SUB_BITS) - 1;
  guint64 top = bucket - (shift << SUB_BITS); /* 32..63 */
  return (top << shift) + ((G_GUINT64_CONSTANT (1) << shift) - 1);
}

static guint64
add_saturated (guint64 a, guint64 b)
{
  return a + b < a ? G_MAXUINT64 : a + b;
}

void
gemem_histogram_add_many (GememHistogram *histogram, guint64 value, guint64 n)
{
  guint64 sum;

  if (n == 0)
    return;
  if (__builtin_mul_overflow (value, n, &sum))
    sum = G_MAXUINT64;
  histogram->buckets[gemem_histogram_bucket (value)] += n;
  histogram->count += n;
  histogram->sum = add_saturated (histogram->sum, sum);
  histogram->min = MIN (histogram->min, value);
  histogram->max = MAX (histogram->max, value);
}

void
gemem_histogram_merge (GememHistogram *into, const GememHistogram *from)
{
  for (guint i = 0; i < GEMEM_HISTOGRAM_BUCKETS; i++)
    into->buckets[i] += from->buckets[i];
  into->count += from->count;
  into->sum = add_saturated (into->sum, from->sum);
  into->min = MIN (into->min, from->min);
  into->max = MAX (into->max, from->max);
}

guint64
gemem_histogram_percentile (const GememHistogram *histogram, guint permille)
{
  if (histogram->count == 0)
    return 0;
  /* The rank of the requested value, from 1: ceil (count * permille / 1000). */
  unsigned __int128 scaled = (unsigned __int128) histogram->count * MIN (permille, 1000);
  guint64 rank = MAX ((guint64) ((scaled + 999) / 1000), 1);
  guint64 seen = 0;
  guint bucket = 0;

  while ((seen += histogram->buckets[bucket]) < rank)
    bucket++;
  return CLAMP (gemem_histogram_bucket_end (bucket), histogram->min, histogram->max);
}
