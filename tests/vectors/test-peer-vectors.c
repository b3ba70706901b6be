/* test-peer-vectors.c - every line of the vectors of pytorch-caching, with plain and expandable
 * segments, torch-npu, tf-bfc, ort-bfc, rmm-pool, cupy-pool and Umpire's pools, in both sets: address,
 * block size, reserved bytes, failures.  The counts are those of the vectors' README, so that a file read
 * only in part cannot pass. */
#include "config.h"

#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

static const struct
{
  const char *name;
  guint64 operations, failures;
} files[] = {
  { "vectors/pytorch-caching/default-dynshape-1", 4032, 0 },
  { "vectors/pytorch-caching/default-pressure-1", 4000, 38 },
  { "vectors/pytorch-caching/default-random-1", 4005, 0 },
  { "vectors/pytorch-caching/default-train-1", 4140, 0 },
  { "vectors/pytorch-caching/gc06-random-1", 4005, 3 },
  { "vectors/pytorch-caching/roundup4-random-1", 4005, 0 },
  { "vectors/pytorch-caching/split200-smallbig-1", 4000, 0 },
  { "vectors/pytorch-expandable/exp-dynshape-1", 4032, 0 },
  { "vectors/pytorch-expandable/exp-pressure-1", 4000, 27 },
  { "vectors/pytorch-expandable/exp-random-1", 4005, 0 },
  { "vectors/pytorch-expandable/exp-train-1", 4140, 0 },
  { "vectors-2/pytorch-expandable/exp-edge-2006", 16000, 33 },
  { "vectors-2/pytorch-expandable/exp-pressure-2002", 16000, 95 },
  { "vectors-2/pytorch-expandable/expgc06-smallbig-2009", 12000, 31 },
  { "vectors-2/pytorch-expandable/explimit-pressure-2008", 12000, 273 },
  { "vectors-2/pytorch-expandable/expsplit200-smallbig-2010", 12000, 35 },
  { "vectors-2/torch-npu/default-pressure-1", 4000, 39 },
  { "vectors-2/torch-npu/default-random-1", 4005, 0 },
  { "vectors-2/torch-npu/exp-pressure-1", 4000, 26 },
  { "vectors-2/torch-npu/exp-random-1", 4005, 0 },
  { "vectors-2/torch-npu/split200-smallbig-1", 4000, 0 },
  { "vectors/tf-bfc/growth-dynshape-1", 4032, 0 },
  { "vectors/tf-bfc/growth-pressure-1", 4000, 57 },
  { "vectors/tf-bfc/growth-random-1", 4005, 0 },
  { "vectors/tf-bfc/growth-smallbig-1", 4000, 0 },
  { "vectors/tf-bfc/nogrowth-pressure-1", 4000, 70 },
  { "vectors/tf-bfc/nogrowth-train-1", 4140, 0 },
  { "vectors-2/tf-bfc/frag001-random-3003", 8011, 0 },
  { "vectors-2/tf-bfc/growth-edge-3005", 8000, 17 },
  { "vectors-2/tf-bfc/limit1g-pressure-3004", 8000, 95 },
  { "vectors/rmm-pool/init0-dynshape-1", 4032, 0 },
  { "vectors/rmm-pool/init0-pressure-1", 4000, 38 },
  { "vectors/rmm-pool/init0-random-1", 4005, 0 },
  { "vectors/rmm-pool/init0max4g-smallbig-1", 4000, 0 },
  { "vectors/rmm-pool/init1g-train-1", 4140, 0 },
  { "vectors-2/rmm-pool/init0-edge-3013", 8000, 30 },
  { "vectors-2/rmm-pool/init256m-pressure-3012", 8000, 72 },
  { "vectors-2/ort-bfc/pow2-pressure-1", 4000, 49 },
  { "vectors-2/ort-bfc/pow2-random-1", 4005, 0 },
  { "vectors-2/ort-bfc/pow2-smallbig-1", 4000, 0 },
  { "vectors-2/ort-bfc/pow2-train-1", 4140, 0 },
  { "vectors-2/ort-bfc/same-dynshape-1", 4032, 0 },
  { "vectors-2/cupy-pool/default-inference-1", 4007, 0 },
  { "vectors-2/cupy-pool/default-pressure-1", 4000, 40 },
  { "vectors-2/cupy-pool/default-random-1", 4005, 0 },
  { "vectors-2/cupy-pool/default-train-1", 4140, 0 },
  { "vectors-2/cupy-pool/limit-smallbig-1", 4000, 0 },
  { "vectors-2/umpire-quick/blocks2hwm-inference-1", 4007, 0 },
  { "vectors-2/umpire-quick/default-pressure-1", 4000, 31 },
  { "vectors-2/umpire-quick/default-random-1", 4005, 0 },
  { "vectors-2/umpire-quick/default-train-1", 4140, 0 },
  { "vectors-2/umpire-quick/f1m-dynshape-1", 4032, 0 },
  { "vectors-2/umpire-list/blocks2hwm-inference-1", 4007, 0 },
  { "vectors-2/umpire-list/default-pressure-1", 4000, 35 },
  { "vectors-2/umpire-list/default-random-1", 4005, 0 },
  { "vectors-2/umpire-list/default-train-1", 4140, 0 },
  { "vectors-2/umpire-list/f1m-dynshape-1", 4032, 0 },
};
static const char *const folders[] = {
  "vectors/pytorch-caching", "vectors/pytorch-expandable", "vectors-2/pytorch-expandable",
  "vectors/tf-bfc",          "vectors-2/tf-bfc",           "vectors/rmm-pool",
  "vectors-2/rmm-pool",      "vectors-2/cupy-pool",        "vectors-2/ort-bfc",
  "vectors-2/umpire-quick",  "vectors-2/umpire-list",      "vectors-2/torch-npu"
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
  g_assert_cmpuint (counts.allocs + counts.frees + counts.trims + counts.skipped_frees, ==,
                    files[i].operations);
}

static void
test_all_files_are_named (void)
{
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autoptr (GPtrArray) found = test_shared_files (folders[i], ".vec.gz");
      if (found == NULL)
        return;
      n += found->len;
    }
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (files));
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
  g_test_add_func ("/vectors/peers/all-files", test_all_files_are_named);
  return g_test_run ();
}
