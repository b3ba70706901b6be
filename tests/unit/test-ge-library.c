/* test-ge-library.c - the emulated C++ library against sequences that libstdc++ itself produced
 * (g++ 12, computed once, stored here): permutations of std::sort with many ties, its heap-sort
 * fallback, iteration orders of unordered_map; and the range lists of ge-static.md 3.2. */
#include "config.h"

#include <glib.h>

#include "planners/ge/library.h"
#include "tests/util/sizes.h"

static guint64 state;

/* The random generator that made the stored sequences. */
static guint64
draw (void)
{
  state = state * G_GUINT64_CONSTANT (6364136223846793005)
          + G_GUINT64_CONSTANT (1442695040888963407);
  return state >> 33;
}

#define HASH_START G_GUINT64_CONSTANT (14695981039346656037)

static guint64
hash_add (guint64 hash, guint64 value)
{
  return (hash ^ value) * G_GUINT64_CONSTANT (1099511628211);
}

typedef struct
{
  /* number of elements; bound of their keys (sort) or of the gaps between keys (map) */
  guint n, limit;
  guint64 hash;
} Sequence;

/* ---- std::sort */

static const Sequence sorts[] = {
  { 5, 1, G_GUINT64_CONSTANT (0x3378e3d0c52edfaf) },
  { 5, 3, G_GUINT64_CONSTANT (0xf66e1bf4f6b8607) },
  { 5, 50, G_GUINT64_CONSTANT (0xf594dbf4f60002f) },
  { 16, 1, G_GUINT64_CONSTANT (0x7c84dc9477851775) },
  { 16, 3, G_GUINT64_CONSTANT (0x90a6cd6e2359c805) },
  { 16, 50, G_GUINT64_CONSTANT (0x9bca3f6b55e1e067) },
  { 17, 1, G_GUINT64_CONSTANT (0x93354466f7a37cef) },
  { 17, 3, G_GUINT64_CONSTANT (0xfa5f58b9d9e54dfb) },
  { 17, 50, G_GUINT64_CONSTANT (0xad1b533d12cadd3f) },
  { 40, 1, G_GUINT64_CONSTANT (0x2eaa68a88888dc5) },
  { 40, 3, G_GUINT64_CONSTANT (0xf1dd1ab7df59d679) },
  { 40, 50, G_GUINT64_CONSTANT (0x2fb63e7060f99561) },
  { 100, 1, G_GUINT64_CONSTANT (0x8c9d94ab4e40269d) },
  { 100, 3, G_GUINT64_CONSTANT (0x79337cc5cf92a8a9) },
  { 100, 50, G_GUINT64_CONSTANT (0x2ec02ecf9d3cdec7) },
  { 1000, 1, G_GUINT64_CONSTANT (0x2f7b7ba900357825) },
  { 1000, 3, G_GUINT64_CONSTANT (0x7247872c17880727) },
  { 1000, 50, G_GUINT64_CONSTANT (0xa3878074bca8862b) },
};

static gboolean
key_less (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint64 *keys = data;

  return keys[GPOINTER_TO_UINT (a)] < keys[GPOINTER_TO_UINT (b)];
}

static gpointer *
positions (guint n)
{
  gpointer *array = g_new (gpointer, n);

  for (guint i = 0; i < n; i++)
    array[i] = GUINT_TO_POINTER (i);
  return array;
}

static guint64
hash_array (gpointer *array, guint n)
{
  guint64 hash = HASH_START;

  for (guint i = 0; i < n; i++)
    hash = hash_add (hash, GPOINTER_TO_UINT (array[i]));
  return hash;
}

static void
test_sort (void)
{
  for (guint s = 0; s < G_N_ELEMENTS (sorts); s++)
    {
      g_autofree guint64 *keys = g_new (guint64, sorts[s].n);
      g_autofree gpointer *array = positions (sorts[s].n);

      state = sorts[s].n * 1000 + sorts[s].limit;
      for (guint i = 0; i < sorts[s].n; i++)
        keys[i] = draw () % sorts[s].limit;
      gemem_ge_std_sort (array, sorts[s].n, key_less, keys);
      g_assert_cmphex (hash_array (array, sorts[s].n), ==, sorts[s].hash);
    }
}

/* 17 equal keys: the smallest case in which std::sort is not stable. */
static void
test_sort_ties (void)
{
  static const guint expected[] = { 8, 16, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1 };
  guint64 keys[17] = { 0 };
  g_autofree gpointer *array = positions (17);

  gemem_ge_std_sort (array, 17, key_less, keys);
  for (guint i = 0; i < 17; i++)
    g_assert_cmpuint (GPOINTER_TO_UINT (array[i]), ==, expected[i]);
}

/* An adversary that fixes the keys during the comparisons, so that every median is among the
 * smallest: quicksort makes no progress and the heap sort takes over. */
typedef struct
{
  guint64 key[3000], open, next;
  guint candidate;
  guint64 comparisons;
} Adversary;

static gboolean
adversary_less (gconstpointer a, gconstpointer b, gpointer data)
{
  Adversary *adversary = data;
  const guint x = GPOINTER_TO_UINT (a), y = GPOINTER_TO_UINT (b);
  guint64 *key = adversary->key;

  adversary->comparisons++;
  if (key[x] == adversary->open && key[y] == adversary->open)
    key[x == adversary->candidate ? x : y] = adversary->next++;
  if (key[x] == adversary->open)
    adversary->candidate = x;
  else if (key[y] == adversary->open)
    adversary->candidate = y;
  return key[x] < key[y];
}

static void
test_sort_fallback (void)
{
  g_autofree Adversary *adversary = g_new0 (Adversary, 1);
  g_autofree gpointer *array = positions (3000);

  adversary->open = 3001;
  for (guint i = 0; i < 3000; i++)
    adversary->key[i] = adversary->open;
  gemem_ge_std_sort (array, 3000, adversary_less, adversary);
  g_assert_cmpuint (adversary->comparisons, ==, 104993);
  g_assert_cmphex (hash_array (array, 3000), ==, G_GUINT64_CONSTANT (0x75cabac2e24699e5));
}

/* With an inconsistent comparison the result is any permutation, and nothing outside the array
 * is touched (the sanitizers check). */
static gboolean
nonsense_less (gconstpointer a, gconstpointer b, gpointer data)
{
  (void) a;
  (void) b;
  return data != NULL || draw () % 2 == 0;
}

static void
test_sort_nonsense (void)
{
  state = 1;
  for (guint round = 0; round < 200; round++)
    {
      const guint n = 1 + (guint) draw () % 100;
      g_autofree gpointer *array = positions (n);
      guint sum = 0;

      gemem_ge_std_sort (array, n, nonsense_less, round % 2 == 0 ? NULL : array);
      for (guint i = 0; i < n; i++)
        sum += GPOINTER_TO_UINT (array[i]);
      g_assert_cmpuint (sum, ==, n * (n - 1) / 2);
    }
}

/* ---- unordered_map */

static const Sequence maps[] = {
  { 5, 0, G_GUINT64_CONSTANT (0xe3671b16371fea8f) },
  { 5, 100, G_GUINT64_CONSTANT (0xe3671b16371fea8f) },
  { 5, 1000000, G_GUINT64_CONSTANT (0xe3671b16371fea8f) },
  { 13, 0, G_GUINT64_CONSTANT (0x1d2fa5645d0dec3f) },
  { 13, 100, G_GUINT64_CONSTANT (0x640a2fbcc061879f) },
  { 13, 1000000, G_GUINT64_CONSTANT (0x43ffe4f0c4788607) },
  { 14, 0, G_GUINT64_CONSTANT (0xc50283bcf1e976fc) },
  { 14, 100, G_GUINT64_CONSTANT (0xd0811c561cc7b050) },
  { 14, 1000000, G_GUINT64_CONSTANT (0xe8fc9664cbbadb5a) },
  { 30, 0, G_GUINT64_CONSTANT (0x1b1cfbd5ac379be6) },
  { 30, 100, G_GUINT64_CONSTANT (0x1a94fe770778ade2) },
  { 30, 1000000, G_GUINT64_CONSTANT (0x74c1c302be3f73fe) },
  { 60, 0, G_GUINT64_CONSTANT (0xca2bcf53eec8c603) },
  { 60, 100, G_GUINT64_CONSTANT (0x48aac2d3cb0a63d1) },
  { 60, 1000000, G_GUINT64_CONSTANT (0xe30f116e708a624f) },
  { 1000, 0, G_GUINT64_CONSTANT (0x57467e61a07ddbb9) },
  { 1000, 100, G_GUINT64_CONSTANT (0x486b5ff908226965) },
  { 1000, 1000000, G_GUINT64_CONSTANT (0x3ab23081add57053) },
  { 20000, 0, G_GUINT64_CONSTANT (0xac02316c78762437) },
  { 20000, 100, G_GUINT64_CONSTANT (0x6473dad374c68299) },
  { 20000, 1000000, G_GUINT64_CONSTANT (0xadf37886b16c8bc9) },
};

static void
test_map (void)
{
  for (guint s = 0; s < G_N_ELEMENTS (maps); s++)
    {
      const guint n = maps[s].n;
      g_autofree guint64 *keys = g_new (guint64, n);
      g_autofree gsize *order = g_new (gsize, n);
      guint64 key = 0, hash = HASH_START;

      state = n * 1000 + maps[s].limit;
      for (guint i = 0; i < n; i++)
        keys[i] = key += maps[s].limit == 0 ? 1 : 1 + draw () % maps[s].limit;
      for (guint i = n; i > 1; i--)
        {
          const guint other = (guint) (draw () % i);
          const guint64 keep = keys[i - 1];

          keys[i - 1] = keys[other];
          keys[other] = keep;
        }
      gemem_ge_unordered_order (keys, n, order);
      for (guint i = 0; i < n; i++)
        hash = hash_add (hash, order[i]);
      g_assert_cmphex (hash, ==, maps[s].hash);
    }
}

/* 13 keys fit; the 14th makes the table grow, and the whole order changes. */
static void
test_map_growth (void)
{
  static const guint64 keys[] = { 349, 443, 428, 159, 592, 600, 514,
                                  367, 397, 281, 545, 504, 229, 95 };
  static const gsize expected[] = { 0, 13, 1, 2, 10, 3, 7, 4, 6, 8, 5, 9, 12, 11 };
  gsize order[14];

  gemem_ge_unordered_order (keys, 14, order);
  for (guint i = 0; i < 14; i++)
    g_assert_cmpuint (order[i], ==, expected[i]);
}

/* ---- range lists */

static void
check_ranges (const guint64 *sizes, gsize n, const guint64 *expected, guint n_expected)
{
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (guint64));

  gemem_ge_binary_ranges (sizes, n, ranges);
  g_assert_cmpuint (ranges->len, ==, n_expected);
  for (guint i = 0; i < n_expected; i++)
    g_assert_cmpuint (g_array_index (ranges, guint64, i), ==, expected[i]);
}

static void
test_ranges (void)
{
  static const guint64 plain[] = { 512, 1000, 1024, 2048, 3000, 4096 }, plain_ranges[] = { 4096 };
  static const guint64 small[] = { 100, 200, 300 }, small_ranges[] = { 300 };
  static const guint64 groups[] = { 512,  512,   512,   512, 512, 512, 2048, 2048,
                                    2048, 16384, 16384, MIB, MIB, MIB, MIB };
  static const guint64 groups_ranges[] = { 2048, 16384, MIB };
  static const guint64 tiny[] = { 6, 12, 16, 24, 24, 30, 32, 48, 60, 256 },
                       tiny_ranges[] = { 16, 32, 60, 256 };
  static const guint64 one[] = { 7 };

  check_ranges (plain, G_N_ELEMENTS (plain), plain_ranges, G_N_ELEMENTS (plain_ranges));
  check_ranges (small, G_N_ELEMENTS (small), small_ranges, G_N_ELEMENTS (small_ranges));
  check_ranges (groups, G_N_ELEMENTS (groups), groups_ranges, G_N_ELEMENTS (groups_ranges));
  check_ranges (tiny, G_N_ELEMENTS (tiny), tiny_ranges, G_N_ELEMENTS (tiny_ranges));
  /* One bucket only: bucket 0, which always stays empty. */
  check_ranges (one, 1, NULL, 0);
  check_ranges (NULL, 0, NULL, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-library/sort", test_sort);
  g_test_add_func ("/ge-library/sort-ties", test_sort_ties);
  g_test_add_func ("/ge-library/sort-fallback", test_sort_fallback);
  g_test_add_func ("/ge-library/sort-nonsense", test_sort_nonsense);
  g_test_add_func ("/ge-library/map", test_map);
  g_test_add_func ("/ge-library/map-growth", test_map_growth);
  g_test_add_func ("/ge-library/ranges", test_ranges);
  return g_test_run ();
}
