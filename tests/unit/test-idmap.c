/* test-idmap.c - base/idmap.h against GHashTable, with difficult keys: 0, the extremes, long
 * runs, and keys of one home place. */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "base/rng.h"

typedef struct
{
  guint64 key, twice;
} Record;

static void
put (GememIdMap *map, guint64 key)
{
  gboolean existed = TRUE;
  Record *record = gemem_idmap_insert (map, key, &existed);
  g_assert_false (existed);
  g_assert_cmpuint (record->key, ==, 0);
  g_assert_cmpuint (record->twice, ==, 0);
  record->key = key;
  record->twice = 2 * key;
}

static void
check_present (const GememIdMap *map, guint64 key)
{
  const Record *record = gemem_idmap_lookup (map, key);
  g_assert_nonnull (record);
  g_assert_cmpuint (record->key, ==, key);
  g_assert_cmpuint (record->twice, ==, 2 * key);
}

static void
take (GememIdMap *map, guint64 key)
{
  Record record = { 1, 1 };
  g_assert_true (gemem_idmap_remove (map, key, &record));
  g_assert_cmpuint (record.key, ==, key);
  g_assert_cmpuint (record.twice, ==, 2 * key);
  g_assert_null (gemem_idmap_lookup (map, key));
  g_assert_false (gemem_idmap_remove (map, key, &record));
}

static void
test_basic (void)
{
  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  gboolean existed = FALSE;

  g_assert_cmpuint (gemem_idmap_count (map), ==, 0);
  g_assert_null (gemem_idmap_lookup (map, 0));
  g_assert_null (gemem_idmap_lookup (map, 1));
  g_assert_false (gemem_idmap_remove (map, 0, NULL));
  g_assert_false (gemem_idmap_remove (map, 1, NULL));
  put (map, 0);
  put (map, G_MAXUINT64);
  put (map, 5);
  g_assert_cmpuint (gemem_idmap_count (map), ==, 3);
  check_present (map, 0);
  check_present (map, G_MAXUINT64);
  Record *record = gemem_idmap_insert (map, 5, &existed);
  g_assert_true (existed);
  g_assert_cmpuint (record->twice, ==, 10);
  gemem_idmap_insert (map, 0, &existed);
  g_assert_true (existed);
  g_assert_cmpuint (gemem_idmap_count (map), ==, 3);
  take (map, 0);
  put (map, 0); /* zeroed again */
  take (map, 5);
  g_assert_true (gemem_idmap_remove (map, G_MAXUINT64, NULL));
  g_assert_cmpuint (gemem_idmap_count (map), ==, 1);
  gemem_idmap_clear (map);
  g_assert_cmpuint (gemem_idmap_count (map), ==, 0);
  g_assert_null (gemem_idmap_lookup (map, 0));
  put (map, 0);
  gemem_idmap_free (map);
  gemem_idmap_free (NULL);
}

/* The key 0 has a place of its own, which must move with the table. */
static void
test_zero_moves (void)
{
  GememIdMap *map = gemem_idmap_new (sizeof (Record));

  ((Record *) gemem_idmap_insert (map, 0, NULL))->twice = 4711;
  for (guint64 key = 1; key <= 5000; key++)
    put (map, key);
  g_assert_cmpuint (((Record *) gemem_idmap_lookup (map, 0))->twice, ==, 4711);
  for (guint64 key = 1; key <= 5000; key++)
    take (map, key);
  g_assert_cmpuint (((Record *) gemem_idmap_lookup (map, 0))->twice, ==, 4711);
  g_assert_cmpuint (gemem_idmap_count (map), ==, 1);
  gemem_idmap_free (map);
}

static void
test_set (void)
{
  GememIdMap *set = gemem_idmap_new (0);
  gboolean existed;

  for (guint64 key = 0; key < 1000; key++)
    {
      gemem_idmap_insert (set, key * key, &existed);
      g_assert_false (existed);
    }
  g_assert_cmpuint (gemem_idmap_count (set), ==, 1000);
  for (guint64 key = 0; key < 1000; key++)
    g_assert_nonnull (gemem_idmap_lookup (set, key * key));
  g_assert_null (gemem_idmap_lookup (set, 2));
  gemem_idmap_free (set);
}

/* Keys that all have the same home place (the inverse of the multiplier makes them), around the end
 * of the table: one run that wraps. */
static void
test_one_run (void)
{
  /* The inverse of the golden-ratio multiplier modulo 2^64, by Newton's iteration. */
  guint64 golden = G_GUINT64_CONSTANT (0x9E3779B97F4A7C15), inverse = golden;
  for (int i = 0; i < 6; i++)
    inverse *= 2 - golden * inverse;
  g_assert_cmpuint (golden * inverse, ==, 1);

  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  guint64 keys[300];
  for (guint i = 0; i < 300; i++)
    keys[i] = (G_MAXUINT64 - i * 977) * inverse; /* products close to 2^64: the last place */
  for (guint i = 0; i < 300; i++)
    put (map, keys[i]);
  for (guint i = 0; i < 300; i += 3)
    take (map, keys[i]);
  for (guint i = 0; i < 300; i++)
    if (i % 3 != 0)
      check_present (map, keys[i]);
    else
      g_assert_null (gemem_idmap_lookup (map, keys[i]));
  for (guint i = 299; i > 0; i--)
    if (i % 3 != 0)
      take (map, keys[i]);
  g_assert_cmpuint (gemem_idmap_count (map), ==, 0);
  gemem_idmap_free (map);
}

static void
test_random (gconstpointer data)
{
  guint64 universe = (guint64) GPOINTER_TO_SIZE (data);
  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  g_autoptr (GHashTable) model = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  GememRng rng;

  gemem_rng_init (&rng, universe, "idmap");
  for (guint step = 0; step < 300000; step++)
    {
      /* Phases that fill and phases that empty the map make it grow and shrink several times. */
      gboolean filling = step / 50000 % 2 == 0;
      guint64 key = gemem_rng_below (&rng, universe) << (universe > 100000 ? 21 : 0);
      gboolean known = g_hash_table_contains (model, &key);
      g_assert_cmpint (gemem_idmap_lookup (map, key) != NULL, ==, known);
      if (known)
        check_present (map, key);
      if (known && (!filling || gemem_rng_below (&rng, 4) == 0))
        {
          take (map, key);
          g_hash_table_remove (model, &key);
        }
      else if (!known && (filling || gemem_rng_below (&rng, 4) == 0))
        {
          put (map, key);
          guint64 *copy = g_new (guint64, 1);
          *copy = key;
          g_hash_table_add (model, copy);
        }
      g_assert_cmpuint (gemem_idmap_count (map), ==, g_hash_table_size (model));
    }

  gsize position = 0;
  guint64 key, seen = 0;
  gpointer record;
  while (gemem_idmap_next (map, &position, &key, &record))
    {
      g_assert_true (g_hash_table_contains (model, &key));
      g_assert_cmpuint (((Record *) record)->twice, ==, 2 * key);
      seen++;
    }
  g_assert_false (gemem_idmap_next (map, &position, &key, &record));
  g_assert_cmpuint (seen, ==, g_hash_table_size (model));
  gemem_idmap_free (map);
}

/* The places of the table, which next() passes. */
static gsize
places (const GememIdMap *map)
{
  gsize position = 0;

  while (gemem_idmap_next (map, &position, NULL, NULL))
    ;
  return position;
}

/* A sliding window of live ids, as in a trace: after a million of them only the window is left. */
static void
test_window (void)
{
  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  const guint64 window = 1000, n = 1000000;

  for (guint64 id = 0; id < n; id++)
    {
      put (map, id);
      if (id >= window)
        take (map, id - window);
    }
  g_assert_cmpuint (gemem_idmap_count (map), ==, window);
  /* the table follows the live entries, not the number ever inserted */
  g_assert_cmpuint (places (map), <=, 8 * window + 1);
  /* when few are left it shrinks, but not before it was worth it */
  const gsize before = places (map);
  for (guint64 id = n - window; id < n - 10; id++)
    take (map, id);
  g_assert_cmpuint (places (map), ==, before);
  for (guint64 id = n; id < n + 3 * before; id++)
    {
      put (map, id);
      take (map, id);
    }
  g_assert_cmpuint (places (map), <=, 8 * 10 + 1);
  gemem_idmap_free (map);
}

/* Training steps fill the map and empty it: its table stays as it is, with records of any size. */
static void
test_steps (gconstpointer record_size)
{
  GememIdMap *map = gemem_idmap_new (GPOINTER_TO_SIZE (record_size));
  gsize full = 0;

  for (guint64 step = 0; step < 100; step++)
    {
      for (guint64 id = 0; id < 3000; id++)
        gemem_idmap_insert (map, 1 + step * 3000 + id, NULL);
      g_assert_true (step == 0 || places (map) == full);
      full = places (map);
      for (guint64 id = 0; id < 3000; id++)
        g_assert_true (gemem_idmap_remove (map, 1 + step * 3000 + id, NULL));
      g_assert_cmpuint (places (map), ==, full);
    }
  gemem_idmap_free (map);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/idmap/basic", test_basic);
  g_test_add_func ("/idmap/zero-moves", test_zero_moves);
  g_test_add_func ("/idmap/set", test_set);
  g_test_add_func ("/idmap/one-run", test_one_run);
  g_test_add_data_func ("/idmap/random/20", GSIZE_TO_POINTER (20), test_random);
  g_test_add_data_func ("/idmap/random/5000", GSIZE_TO_POINTER (5000), test_random);
  g_test_add_data_func ("/idmap/random/addresses", GSIZE_TO_POINTER (1000000), test_random);
  g_test_add_func ("/idmap/window", test_window);
  g_test_add_data_func ("/idmap/steps/set", GSIZE_TO_POINTER (0), test_steps);
  g_test_add_data_func ("/idmap/steps/word", GSIZE_TO_POINTER (8), test_steps);
  g_test_add_data_func ("/idmap/steps/words", GSIZE_TO_POINTER (16), test_steps);
  return g_test_run ();
}
