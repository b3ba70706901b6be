/* compare.h - the order of numbers, for g_array_sort() and qsort(). */
#pragma once

#include <glib.h>

/* Three-way comparison of two numbers, ascending. */
static inline int
gemem_compare_uint64 (gconstpointer a, gconstpointer b)
{
  const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return (x > y) - (x < y);
}

static inline int
gemem_compare_uint32 (gconstpointer a, gconstpointer b)
{
  const guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return (x > y) - (x < y);
}

static inline int
gemem_compare_double (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}
