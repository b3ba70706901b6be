/* library.c - behaviour of the C++ library that shows in GE's plans; see library.h.
 *
 * Why: GE sorts with an unstable sort, walks a hash table and takes logarithms in doubles.  All
 * three affect offsets, so they are reproduced exactly.  Nothing here depends on the C library, the
 * compiler or its optimisation.
 *
 * Invariant: a comparator that is not a strict weak order (GE has one) yields some permutation and
 * no access outside the array: scans that are unbounded in the original stop at the ends.
 * Cost: O(n log n), O(n), O(n * ranges).  Origin: ge-static.md appendix A, 3.2.
 */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "base/units.h"
#include "planners/ge/library.h"

/* ---- std::sort */

#define SMALL 16 /* largest range that is left to the insertion sort */

typedef struct
{
  GeLess less;
  gpointer data;
} Sort;

static inline gboolean
before (const Sort *sort, gconstpointer a, gconstpointer b)
{
  return sort->less (a, b, sort->data);
}

static inline void
swap (gpointer *a, gpointer *b)
{
  gpointer keep = *a;

  *a = *b;
  *b = keep;
}

/* Fills the hole at @at of the heap of @n elements with @value: moves the hole down along the
 * larger children to the bottom, then @value up again. */
static void
heap_fill (const Sort *sort, gpointer *heap, gsize n, gsize at, gpointer value)
{
  const gsize top = at;
  gsize child = 2 * at + 2;

  for (; child < n; child = 2 * at + 2)
    {
      if (before (sort, heap[child], heap[child - 1]))
        child--;
      heap[at] = heap[child];
      at = child;
    }
  if (child == n)
    {
      heap[at] = heap[child - 1];
      at = child - 1;
    }
  while (at > top && before (sort, heap[(at - 1) / 2], value))
    {
      heap[at] = heap[(at - 1) / 2];
      at = (at - 1) / 2;
    }
  heap[at] = value;
}

static void
heap_sort (const Sort *sort, gpointer *first, gsize n)
{
  for (gsize parent = n / 2; parent-- > 0;)
    heap_fill (sort, first, n, parent, first[parent]);
  while (n-- > 1)
    {
      gpointer value = first[n];

      first[n] = first[0];
      heap_fill (sort, first, n, 0, value);
    }
}

static gpointer *
median (const Sort *sort, gpointer *a, gpointer *b, gpointer *c)
{
  if (before (sort, *a, *b))
    return before (sort, *b, *c) ? b : before (sort, *a, *c) ? c : a;
  return before (sort, *a, *c) ? a : before (sort, *b, *c) ? c : b;
}

/* Hoare's partition of [first + 1, last) around *first; returns the cut, at most @last. */
static gpointer *
partition (const Sort *sort, gpointer *first, gpointer *last)
{
  gpointer *left = first + 1, *right = last;

  for (;;)
    {
      while (left < last && before (sort, *left, *first))
        left++;
      do
        right--;
      while (right > first && before (sort, *first, *right));
      if (left >= right)
        return left;
      swap (left++, right);
    }
}

static void
quick_sort (const Sort *sort, gpointer *first, gpointer *last, guint budget)
{
  while (last - first > SMALL)
    {
      gpointer *cut;

      if (budget-- == 0)
        {
          heap_sort (sort, first, (gsize) (last - first));
          return;
        }
      swap (first, median (sort, first + 1, first + (last - first) / 2, last - 1));
      cut = partition (sort, first, last);
      quick_sort (sort, cut, last, budget);
      last = cut;
    }
}

/* Moves *@at left to its place, at most to @first. */
static void
insert (const Sort *sort, gpointer *first, gpointer *at)
{
  gpointer value = *at;

  while (at > first && before (sort, value, at[-1]))
    {
      *at = at[-1];
      at--;
    }
  *at = value;
}

void
gemem_ge_std_sort (gpointer *array, gsize n, GeLess less, gpointer data)
{
  const Sort sort = { less, data };
  guint log = 0;

  if (n < 2)
    return;
  while (n >> (log + 1) > 0)
    log++;
  quick_sort (&sort, array, array + n, 2 * log);
  for (gsize i = 1; i < n; i++)
    {
      gpointer value = array[i];

      if (i >= SMALL || !before (&sort, value, array[0]))
        {
          insert (&sort, array, array + i);
          continue;
        }
      memmove (array + 1, array, i * sizeof (gpointer));
      array[0] = value;
    }
}

static void
merge_sort (gpointer *array, gpointer *scratch, gsize n, GeLess less, gpointer data)
{
  const gsize half = n / 2;

  if (n < 2)
    return;
  merge_sort (array, scratch, half, less, data);
  merge_sort (array + half, scratch, n - half, less, data);
  memcpy (scratch, array, half * sizeof (gpointer));
  for (gsize left = 0, right = half, out = 0; left < half; out++)
    array[out] = right < n && less (array[right], scratch[left], data) ? array[right++]
                                                                       : scratch[left++];
}

void
gemem_ge_sort (const GeOptions *options, gpointer *array, gsize n, GeLess less, gpointer data)
{
  g_autofree gpointer *scratch = NULL;

  if (options->quirks)
    {
      gemem_ge_std_sort (array, n, less, data);
      return;
    }
  scratch = g_new (gpointer, n / 2 + 1);
  merge_sort (array, scratch, n, less, data);
}

/* ---- unordered_map */

/* Bucket counts; each serves until the elements would outnumber the buckets.  They suffice for more
 * nodes than a graph can number. */
static const guint64 bucket_counts[] = { 1,       13,      29,       59,       127,     257,
                                         541,     1109,    2357,     5087,     10273,   20753,
                                         42043,   85229,   172933,   351061,   712697,  1447153,
                                         2938679, 5967347, 12117689, 24607243, 49969847 };

#define NO_POSITION G_MAXSIZE

/* A singly linked list of positions; `before[bucket]` precedes the bucket's first element: a
 * position, `n` for the head, or NO_POSITION. */
typedef struct
{
  const guint64 *keys;
  gsize n, *next; /* next[n] is the head */
  gsize *before;
  guint64 buckets;
} Table;

static void
table_insert (Table *table, gsize position)
{
  const guint64 bucket = table->keys[position] % table->buckets;
  gsize at = table->before[bucket];

  if (at != NO_POSITION)
    {
      table->next[position] = table->next[at];
      table->next[at] = position;
      return;
    }
  at = table->next[table->n];
  table->next[position] = at;
  table->next[table->n] = position;
  table->before[bucket] = table->n;
  if (at != NO_POSITION)
    table->before[table->keys[at] % table->buckets] = position;
}

static void
table_rehash (Table *table, guint64 buckets)
{
  gsize at = table->next[table->n];

  table->buckets = buckets;
  table->before = g_renew (gsize, table->before, buckets);
  memset (table->before, 0xff, buckets * sizeof (gsize));
  table->next[table->n] = NO_POSITION;
  while (at != NO_POSITION)
    {
      const gsize next = table->next[at];

      table_insert (table, at);
      at = next;
    }
}

void
gemem_ge_unordered_order (const guint64 *keys, gsize n, gsize *order)
{
  Table table = { keys, n, g_new (gsize, n + 1), NULL, 0 };
  guint growth = 0;

  table.next[n] = NO_POSITION;
  table_rehash (&table, bucket_counts[growth]);
  for (gsize i = 0; i < n; i++)
    {
      if (i + 1 > table.buckets && growth + 1 < G_N_ELEMENTS (bucket_counts))
        table_rehash (&table, bucket_counts[++growth]);
      table_insert (&table, i);
    }
  for (gsize at = table.next[n], i = 0; at != NO_POSITION; at = table.next[at])
    order[i++] = at;
  g_free (table.next);
  g_free (table.before);
}

/* ---- range lists */

#define SMALLEST 512
#define LARGE (8 * GEMEM_MIB)

/* ceil (log (largest / smallest) / log (2)) as doubles compute it.  Quotients of powers of two are
 * exact, except for these exponents, where the rounded quotient of the two rounded logarithms is a
 * little too large.  Between powers the exact result is far from any rounding while sizes stay
 * below 64 TiB. */
static guint
count_ranges (guint64 largest, guint64 smallest)
{
  static const guint8 rounded_up[] = { 29, 31, 39, 47, 51, 55, 58, 59, 62 };
  guint exponent = 0;

  while ((smallest << exponent) < largest)
    exponent++;
  if ((smallest << exponent) == largest
      && memchr (rounded_up, (int) exponent, sizeof rounded_up) != NULL)
    exponent++;
  return MAX (exponent, 1);
}

static void
bucket_free (gpointer data)
{
  g_array_unref (data);
}

/* Distributes the sizes over buckets whose bounds halve; each bucket holds its sizes in descending
 * order.  Sizes below the last bound are dropped. */
static GPtrArray *
make_buckets (const guint64 *sizes, gsize n, guint n_buckets)
{
  const guint64 largest = sizes[n - 1], slack = largest > SMALLEST ? SMALLEST : 0;
  GPtrArray *buckets = g_ptr_array_new_with_free_func (bucket_free);
  guint64 bound = largest;

  for (guint i = 0; i < n_buckets; i++)
    g_ptr_array_add (buckets, g_array_new (FALSE, FALSE, sizeof (guint64)));
  for (guint i = n_buckets - 1; i > 0; i--)
    {
      bound /= 2;
      while (n > 0 && sizes[n - 1] > bound + slack)
        g_array_append_val (buckets->pdata[i], sizes[--n]);
    }
  return buckets;
}

/* One pass: merges buckets with too few sizes into the next.  @carry persists between passes.  TRUE
 * if something changed. */
static gboolean
merge_buckets (GPtrArray *buckets, gsize limit, GArray *carry)
{
  gboolean changed = FALSE;
  guint i = 0;

  while (i < buckets->len)
    {
      GArray *bucket = buckets->pdata[i];

      if (carry->len > 0)
        {
          g_array_append_vals (bucket, carry->data, carry->len);
          g_array_set_size (carry, 0);
          changed = TRUE;
        }
      if (bucket->len > 0
          && (bucket->len >= limit || i + 1 == buckets->len
              || (g_array_index (bucket, guint64, 0) >= LARGE && bucket->len >= 2)))
        {
          i++;
          continue;
        }
      if (bucket->len > 0)
        g_array_append_vals (carry, bucket->data, bucket->len);
      g_ptr_array_remove_index (buckets, i);
      changed = TRUE;
    }
  return changed;
}

void
gemem_ge_binary_ranges (const guint64 *sizes, gsize n, GArray *ranges)
{
  g_autoptr (GArray) carry = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GPtrArray) buckets = NULL;
  guint n_buckets;

  if (n == 0)
    return;
  n_buckets = count_ranges (sizes[n - 1], sizes[n - 1] > SMALLEST ? SMALLEST : sizes[0]);
  buckets = make_buckets (sizes, n, n_buckets);
  while (merge_buckets (buckets, n / n_buckets, carry))
    ;
  for (guint i = 0; i < buckets->len; i++)
    {
      const GArray *bucket = buckets->pdata[i];
      guint64 largest = 0;

      for (guint k = 0; k < bucket->len; k++)
        largest = MAX (largest, g_array_index (bucket, guint64, k));
      g_array_append_val (ranges, largest);
    }
  g_array_sort (ranges, gemem_compare_uint64);
}
