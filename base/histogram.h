/* histogram.h - log-linear latency histogram like those of HdrHistogram and fio: integers only,
 * fixed size, mergeable.
 *
 * Values below 64 are exact; above, each power of two is divided into 32 buckets, so that a
 * reported percentile is at most 1/32 (3.2 %) above the true one.  Recording is O(1) and
 * allocation-free.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

#define GEMEM_HISTOGRAM_SUB_BITS 5
#define GEMEM_HISTOGRAM_BUCKETS ((64 - GEMEM_HISTOGRAM_SUB_BITS + 1) << GEMEM_HISTOGRAM_SUB_BITS)

typedef struct
{
  guint64 count, sum, min, max; /* sum saturates; min is G_MAXUINT64 while empty */
  guint64 buckets[GEMEM_HISTOGRAM_BUCKETS];
} GememHistogram;

/* Empties @histogram, which may be uninitialised memory. */
void gemem_histogram_init (GememHistogram *histogram);
/* Adds all values of @from to @into.  O(buckets). */
void gemem_histogram_merge (GememHistogram *into, const GememHistogram *from);

/* Smallest bucket end such that at least @permille / 1000 of the values lie at or below it, clamped
 * to [min, max]; 0 while empty.  p50 = 500, p99.9 = 999. */
guint64 gemem_histogram_percentile (const GememHistogram *histogram, guint permille);

/* The largest value that falls into @bucket. */
guint64 gemem_histogram_bucket_end (guint bucket);

/* The bucket of @value. */
static inline guint
gemem_histogram_bucket (guint64 value)
{
  if (value < G_GUINT64_CONSTANT (2) << GEMEM_HISTOGRAM_SUB_BITS)
    return (guint) value;
  guint shift = 63 - (guint) __builtin_clzll (value) - GEMEM_HISTOGRAM_SUB_BITS;
  return (shift << GEMEM_HISTOGRAM_SUB_BITS) + (guint) (value >> shift);
}

/* Records @value @n times. */
void gemem_histogram_add_many (GememHistogram *histogram, guint64 value, guint64 n);

/* Records one value; inline, because every event records a value. */
static inline void
gemem_histogram_add (GememHistogram *histogram, guint64 value)
{
  histogram->buckets[gemem_histogram_bucket (value)]++;
  histogram->count++;
  histogram->sum += value;
  if (G_UNLIKELY (histogram->sum < value))
    histogram->sum = G_MAXUINT64;
  if (G_UNLIKELY (value < histogram->min))
    histogram->min = value;
  if (G_UNLIKELY (value > histogram->max))
    histogram->max = value;
}

GEMEM_END_DECLS
