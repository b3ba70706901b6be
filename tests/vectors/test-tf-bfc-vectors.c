/* test-tf-bfc-vectors.c - every line of shared/vectors/tf-bfc and vectors-2/tf-bfc: address, chunk
 * size, reserved bytes, failures.  The counts are those of the vectors' README, so that a file read
 * only in part cannot pass. */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

static const struct
{
  const char *name;
  guint64 operations, failures;
} files[] = {
  { "vectors/tf-bfc/growth-dynshape-1", 4032, 0 },
  { "vectors/tf-bfc/growth-pressure-1", 4000, 57 },
  { "vectors/tf-bfc/growth-random-1", 4005, 0 },
  { "vectors/tf-bfc/growth-smallbig-1", 4000, 0 },
  { "vectors/tf-bfc/nogrowth-pressure-1", 4000, 70 },
  { "vectors/tf-bfc/nogrowth-train-1", 4140, 0 },
  { "vectors-2/tf-bfc/frag001-random-3003", 8011, 0 },
  { "vectors-2/tf-bfc/growth-edge-3005", 8000, 17 },
  { "vectors-2/tf-bfc/limit1g-pressure-3004", 8000, 95 },
};

static void
test_file (gconstpointer data)
{
  const guint i = GPOINTER_TO_UINT (data);
  g_autofree char *relative = g_strconcat (files[i].name, ".vec.gz", NULL);
  g_autofree char *path = test_shared_path (relative);
  const TestVectorOptions options = { .check_every = 1 };
  TestVectorCounts counts;

  if (path == NULL)
    return;
  g_assert_true (test_vector_replay (path, &options, &counts));
  g_assert_cmpuint (counts.operations, ==, files[i].operations);
  g_assert_cmpuint (counts.failures, ==, files[i].failures);
}

static void
test_all_files_are_named (void)
{
  g_autoptr (GPtrArray) first = test_shared_files ("vectors/tf-bfc", ".vec.gz");
  g_autoptr (GPtrArray) second = test_shared_files ("vectors-2/tf-bfc", ".vec.gz");

  if (first != NULL && second != NULL)
    g_assert_cmpuint (first->len + second->len, ==, G_N_ELEMENTS (files));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_strconcat ("/", files[i].name, NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_file);
    }
  g_test_add_func ("/vectors/tf-bfc/all-files", test_all_files_are_named);
  return g_test_run ();
}
