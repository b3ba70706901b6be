/* test-ge-runtime-vectors.c - ge-scalable decides as the real GE pools did: every address, size,
 * real, reserved, pool, split and failure of the `single`, `two` and `exp` files, and the same
 * again with settings that must not change a decision. */
#include "config.h"

#include <string.h>

#include "allocators/ge/scalable-pool.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

typedef struct
{
  const char *name;
  guint64 allocs, frees, trims, failures;
} Expected;

static const Expected expandable[] = {
  { "vectors/ge-runtime/exp-dynshape-1", 2016, 2016, 0, 0 },
  { "vectors/ge-runtime/exp-pressure-1", 2049, 1951, 0, 34 },
  { "vectors/ge-runtime/exp-random-1", 2047, 1953, 5, 0 },
  { "vectors/ge-runtime/exp-train-1", 2133, 2007, 0, 0 },
  { "vectors-2/ge-runtime/exp-pressure-2", 6, 2, 0, 1 },
  { "vectors-2/ge-runtime/exp-pressure-3", 8, 4, 0, 1 },
  { "vectors-2/ge-runtime/exp-pressure-4", 1939, 1936, 125, 26 },
  { "vectors-2/ge-runtime/exp-pressure-5", 2004, 1996, 0, 47 },
  { "vectors-2/ge-runtime/exp-pressure-6", 2039, 1922, 39, 79 },
  { "vectors-2/ge-runtime/exp-pressure-10", 10, 5, 0, 3 },
  { "vectors-2/ge-runtime/exp-pressure-12", 15, 3, 0, 2 },
  { "vectors-2/ge-runtime/exp-pressure-13", 2025, 1965, 10, 22 },
};

static const Expected files[] = {
  { "vectors/ge-runtime/single-dynshape-1", 2016, 2016, 0, 0 },
  { "vectors/ge-runtime/single-random-1", 2047, 1953, 5, 0 },
  { "vectors/ge-runtime/single-train-1", 2133, 2007, 0, 0 },
  { "vectors/ge-runtime/two-dynshape-1", 2016, 2016, 0, 0 },
  { "vectors/ge-runtime/two-pressure-1", 2049, 1951, 0, 54 },
  { "vectors/ge-runtime/two-random-1", 2047, 1953, 5, 0 },
  { "vectors/ge-runtime/two-train-1", 2133, 2007, 0, 0 },
};

/* Fields that the real system reads but never uses, and a Seq table whose limit never takes
 * effect (it is below the number of layers, so the walk itself runs). */
static const char dead_fields[] =
    "span_prepared_count=1,span_layer_prepared_count=1,span_count_in_layer_threshold=1,"
    "uncacheable_size_threshold=1,page_mem_size_in_layer_threshold=1,unsplitable_size_threshold=1";
static const char seq_table[] = "enable_quick_layer_mode=no,span_layer_lift_max=15000";

static gboolean
figure (GememAllocator *allocator, const GememBlock *block, const char *key, guint64 *value,
        G_GNUC_UNUSED gpointer data)
{
  if (g_str_equal (key, "pool"))
    {
      *value = test_allocator_stat (allocator, "pool");
      return TRUE;
    }
  if (g_str_equal (key, "split") && block != NULL)
    {
      *value = gemem_ge_span_is_split (block->handle);
      return TRUE;
    }
  if (g_str_equal (key, "newva") && block != NULL)
    {
      *value = ((const GeSpan *) block->handle)->new_va;
      return TRUE;
    }
  return FALSE;
}

static void
replay (const Expected *expected, const char *extra)
{
  g_autofree char *relative = g_strdup_printf ("%s.vec.gz", expected->name);
  g_autofree char *path = test_shared_path (relative);
  g_autofree char *plain = NULL, *spec = NULL;
  TestVectorOptions options = { .figure = figure };
  TestVectorCounts counts;

  if (path == NULL)
    return;
  if (extra != NULL)
    {
      plain = test_vector_spec (path);
      options.spec = spec = g_strdup_printf ("%s,%s", plain, extra);
    }
  if (!test_vector_replay (path, &options, &counts))
    return;
  g_assert_cmpuint (counts.allocs, ==, expected->allocs);
  g_assert_cmpuint (counts.frees + counts.skipped_frees, ==, expected->frees);
  g_assert_cmpuint (counts.trims, ==, expected->trims);
  g_assert_cmpuint (counts.failures, ==, expected->failures);
}

static void
test_as_recorded (gconstpointer data)
{
  replay (data, NULL);
}

static void
test_dead_fields (gconstpointer data)
{
  replay (data, dead_fields);
}

static void
test_seq_table (gconstpointer data)
{
  replay (data, seq_table);
}

/* Checks that the comparison can fail: another page size gives other sizes. */
static void
test_difference_is_found (void)
{
  g_autofree char *path = test_shared_path ("vectors/ge-runtime/single-random-1.vec.gz");
  if (path == NULL)
    return;
  if (g_test_subprocess ())
    {
      g_autofree char *plain = test_vector_spec (path);
      g_autofree char *spec = g_strdup_printf ("%s,page_idem_num=17", plain);
      TestVectorOptions options = { .spec = spec, .figure = figure };
      TestVectorCounts counts;

      g_assert_false (test_vector_replay (path, &options, &counts));
      g_print ("stopped after %" G_GUINT64_FORMAT " operations\n", counts.operations);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stdout ("*stopped after 3 operations*"); /* the first to cut */
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *recorded = g_strdup_printf ("/%s", files[i].name);
      g_autofree char *dead = g_strdup_printf ("/%s/dead-fields", files[i].name);
      g_autofree char *seq = g_strdup_printf ("/%s/seq-table", files[i].name);

      g_test_add_data_func (recorded, &files[i], test_as_recorded);
      g_test_add_data_func (dead, &files[i], test_dead_fields);
      g_test_add_data_func (seq, &files[i], test_seq_table);
    }
  for (guint i = 0; i < G_N_ELEMENTS (expandable); i++)
    {
      g_autofree char *recorded = g_strdup_printf ("/%s", expandable[i].name);
      g_autofree char *dead = g_strdup_printf ("/%s/dead-fields", expandable[i].name);

      g_test_add_data_func (recorded, &expandable[i], test_as_recorded);
      g_test_add_data_func (dead, &expandable[i], test_dead_fields);
    }
  g_test_add_func ("/vectors/ge-runtime/difference-is-found", test_difference_is_found);
  return g_test_run ();
}
