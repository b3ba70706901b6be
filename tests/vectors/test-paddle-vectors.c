/* test-paddle-vectors.c - every decision in shared/vectors/paddle-buddy, paddle-best-fit and
 * paddle-auto-growth: address, block size, reserved bytes and failure of each operation, with the
 * counts that the vectors' README gives, so that an empty or shortened file fails too.
 */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

typedef struct
{
  const char *file;
  guint64 operations, failures;
} Vector;

static const Vector vectors[] = {
  { "paddle-buddy/default-random-1", 4005, 0 },
  { "paddle-buddy/f0.02-random-1", 4005, 0 },
  { "paddle-buddy/i12r4-dynshape-1", 4032, 0 },
  { "paddle-buddy/i32r64-pressure-1", 4000, 74 },
  { "paddle-buddy/i512r256-train-1", 4140, 0 },
  { "paddle-buddy/i512r500-pressure-1", 4000, 176 },
  { "paddle-best-fit/default-random-1", 4005, 0 },
  { "paddle-best-fit/i16r8-dynshape-1", 4032, 0 },
  { "paddle-best-fit/i64r64-pressure-1", 4000, 105 },
  { "paddle-best-fit/i64r64-train-1", 4140, 0 },
  { "paddle-auto-growth/c0-dynshape-1", 4032, 0 },
  { "paddle-auto-growth/c0-pressure-1", 4000, 44 },
  { "paddle-auto-growth/c0-random-1", 4005, 0 },
  { "paddle-auto-growth/c64-pressure-1", 4000, 43 },
  { "paddle-auto-growth/c64-random-1", 4005, 0 },
  { "paddle-auto-growth/c64-train-1", 4140, 0 },
};

static void
test_vector (gconstpointer data)
{
  const Vector *vector = data;
  g_autofree char *relative = g_strdup_printf ("vectors/%s.vec.gz", vector->file);
  g_autofree char *path = test_shared_path (relative);
  TestVectorCounts counts;

  if (path == NULL || !test_vector_replay (path, NULL, &counts))
    return;
  g_assert_cmpuint (counts.operations, ==, vector->operations);
  g_assert_cmpuint (counts.failures, ==, vector->failures);
}

/* Checks that no file of the folders is missing in the table above. */
static void
test_all_listed (void)
{
  static const char *const folders[] = { "vectors/paddle-buddy", "vectors/paddle-best-fit",
                                         "vectors/paddle-auto-growth" };
  guint found = 0;

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autoptr (GPtrArray) files = test_shared_files (folders[i], ".vec.gz");

      if (files == NULL)
        return;
      found += files->len;
    }
  g_assert_cmpuint (found, ==, G_N_ELEMENTS (vectors));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (vectors); i++)
    {
      g_autofree char *name = g_strdup_printf ("/vectors/%s", vectors[i].file);

      g_test_add_data_func (name, &vectors[i], test_vector);
    }
  g_test_add_func ("/vectors/paddle/all-listed", test_all_listed);
  return g_test_run ();
}
