/* test-pytorch-caching-vectors.c - every line of shared/vectors/pytorch-caching: address, block
 * size, reserved bytes, failures. The counts are those of the vectors' README, so that a file read
 * only in part cannot pass. */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

static const struct
{
  const char *name;
  guint64 operations, failures;
} files[] = {
  { "default-dynshape-1", 4032, 0 },  { "default-pressure-1", 4000, 38 },
  { "default-random-1", 4005, 0 },    { "default-train-1", 4140, 0 },
  { "gc06-random-1", 4005, 3 },       { "roundup4-random-1", 4005, 0 },
  { "split200-smallbig-1", 4000, 0 },
};

static void
test_file (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autofree char *relative = g_strdup_printf ("vectors/pytorch-caching/%s.vec.gz", files[i].name);
  g_autofree char *path = test_shared_path (relative);
  const TestVectorOptions options = { .check_every = 1 };
  TestVectorCounts counts;

  if (path == NULL)
    return;
  g_assert_true (test_vector_replay (path, &options, &counts));
  g_assert_cmpuint (counts.operations, ==, files[i].operations);
  g_assert_cmpuint (counts.failures, ==, files[i].failures);
  g_assert_cmpuint (counts.allocs + counts.frees + counts.trims + counts.skipped_frees, ==,
                    files[i].operations);
}

/* Checks that every file of the folder is tested. */
static void
test_all_files_are_named (void)
{
  g_autoptr (GPtrArray) found = test_shared_files ("vectors/pytorch-caching", ".vec.gz");

  if (found != NULL)
    g_assert_cmpuint (found->len, ==, G_N_ELEMENTS (files));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strconcat ("/vectors/pytorch-caching/", files[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_file);
    }
  g_test_add_func ("/vectors/pytorch-caching/all-files", test_all_files_are_named);
  return g_test_run ();
}
