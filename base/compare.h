/* compare.h - the order of numbers, for g_array_sort() and qsort(). */
#pragma once

#include <glib.h>

/* Three-way comparison of two guint64, ascending. */
static inline int
gemem_compare_uint64 (gconstpointer a, gconstpointer b)
{
  const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return (x > y) - (x < y);
}
