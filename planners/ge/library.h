/* library.h - behaviour of the C++ library that shows in GE's plans and must be reproduced
 * (ge-static.md appendix A). */
#pragma once

#include "planners/ge/options.h"

/* TRUE if a must come before b. */
typedef gboolean (*GeLess) (gconstpointer a, gconstpointer b, gpointer data);

/* std::sort of libstdc++ over @n pointers: introsort, not stable above 16 elements.  O(n log n). */
void gemem_ge_std_sort (gpointer *array, gsize n, GeLess less, gpointer data);

/* As gemem_ge_std_sort(), or with quirks=no a stable sort. */
void gemem_ge_sort (const GeOptions *options, gpointer *array, gsize n, GeLess less, gpointer data);

/* The iteration order of a libstdc++ unordered_map<int64_t, ...> with the identity hash into which
 * @keys (unique) were inserted in this order: fills @order with positions in @keys. */
void gemem_ge_unordered_order (const guint64 *keys, gsize n, gsize *order);

/* 3.2: the range list of binary-block from the sorted sizes (zeros deleted); appends to @ranges
 * (guint64). */
void gemem_ge_binary_ranges (const guint64 *sizes, gsize n, GArray *ranges);
