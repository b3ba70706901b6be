/* radix.h - sorts many records by a number that stands first in each.
 *
 * Why: comparing millions of edges or steps takes longer than all else that is done with them once.  Bytes that all
 * numbers have in common cost nothing, so that small numbers are sorted in few passes.
 *
 * Invariant: records of one number keep their order.  O(n) for each byte; as much memory again.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>
#include <string.h>

GEMEM_BEGIN_DECLS

#define GEMEM_RADIX_VALUES 256

static inline guint64
gemem_radix_number (const guint8 *record)
{
  guint64 number;

  memcpy (&number, record, sizeof (number));
  return number;
}

/* Sorts @n records of @size bytes, a constant, each of which begins with a guint64; the smallest comes first.  @spare has
 * place for as many. */
static inline void
gemem_radix_sort (gpointer records, gpointer spare, gsize n, gsize size)
{
  guint8 *from = records, *to = spare;
  gsize (*counts)[GEMEM_RADIX_VALUES] = g_malloc0_n (sizeof (guint64), sizeof (*counts));

  for (gsize i = 0; i < n; i++)
    for (guint byte = 0; byte < sizeof (guint64); byte++)
      counts[byte][gemem_radix_number (from + i * size) >> 8 * byte & 0xff]++;
  for (guint byte = 0; byte < sizeof (guint64) && n > 0; byte++)
    {
      gsize *count = counts[byte], sum = 0;
      guint8 *sorted = to;

      if (count[gemem_radix_number (from) >> 8 * byte & 0xff] == n)
        continue; /* all are equal */
      for (guint value = 0; value < GEMEM_RADIX_VALUES; value++)
        {
          sum += count[value];
          count[value] = sum - count[value];
        }
      for (gsize i = 0; i < n; i++)
        {
          const guint8 *record = from + i * size;

          memcpy (to + count[gemem_radix_number (record) >> 8 * byte & 0xff]++ * size, record,
                  size);
        }
      to = from;
      from = sorted;
    }
  if (from != (guint8 *) records)
    memcpy (records, from, n * size);
  g_free (counts);
}

GEMEM_END_DECLS
