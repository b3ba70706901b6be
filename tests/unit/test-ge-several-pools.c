/* test-ge-several-pools.c - GE's pools beyond one per stream: several models with pools of their
 * own and the step of the ladder that crosses them (ge-runtime.md 2.1, step 6), fixed-size pools
 * (1.10), and the messages of Finalize. */
#include "config.h"

#include <string.h>

#include "allocators/ge/stack.h"
#include "tests/util/rig.h"

#define P G_GUINT64_CONSTANT (65536)
#define M (16 * P)
#define D G_GUINT64_CONSTANT (0x100000000000)
#define OUT_OF_MEMORY G_MAXUINT64

static guint64
get_from (Rig *rig, guint i, guint64 size, guint32 pool, guint64 stream)
{
  const GememRequest request = { .size = size, .pool = pool, .stream = stream };

  return rig_serve (rig, i, &request) ? rig->blocks[i].address - D : OUT_OF_MEMORY;
}

static guint64
get (Rig *rig, guint i, guint64 size)
{
  return get_from (rig, i, size, 0, 0);
}

/* ---- several models */

static void
test_models_share_only_the_bottom_pool (void)
{
  Rig apart = rig_new ("ge-scalable:pools=per-pool-and-stream", "sim:capacity=64GiB"),
      together = rig_new ("ge-scalable", "sim:capacity=64GiB");

  g_assert_cmphex (get_from (&apart, 0, 4 * M, 1, 0), ==, 0);
  put (&apart, 0);
  g_assert_cmphex (get_from (&apart, 1, 4 * M, 2, 0), ==, 4 * M);
  /* the same model on another stream */
  g_assert_cmphex (get_from (&apart, 2, 4 * M, 1, 1), ==, 8 * M);
  trim (&apart);
  g_assert_cmphex (get_from (&apart, 0, 4 * M, 2, 0), ==, 0); /* through the bottom pool */
  g_assert_cmpuint (rig_stat (&apart, "l1_pools"), ==, 3);
  g_assert_cmpuint (rig_stat (&apart, "pool1.stream0.recycle_count"), ==, 1);
  g_assert_cmpuint (rig_stat (&apart, "pool2.stream0.occupied_size"), ==, 8 * M);
  g_assert_cmphex (get_from (&together, 0, 4 * M, 1, 0), ==, 0);
  put (&together, 0);
  g_assert_cmphex (get_from (&together, 1, 4 * M, 2, 0), ==, 0);
  g_assert_cmpuint (rig_stat (&together, "l1_pools"), ==, 1);
  rig_done (&apart);
  rig_done (&together);
}

static void
note_pool (const GememSpan *span, gpointer data)
{
  g_string_append_printf (data, "%s%u@%" G_GUINT64_FORMAT " ",
                          span->state == GEMEM_SPAN_LIVE ? "L" : "f", span->pool, span->stream);
}

static void
test_walk_names_models (gconstpointer data)
{
  Rig rig = rig_new (data, "sim:capacity=64GiB");
  g_autoptr (GString) text = g_string_new (NULL);

  get_from (&rig, 0, 8 * M, 7, 3);
  put (&rig, 0);
  get_from (&rig, 1, 8 * M, 5, 4);
  rig.allocator->klass->walk (rig.allocator, note_pool, text);
  g_assert_nonnull (strstr (text->str, "f7@3 "));
  g_assert_nonnull (strstr (text->str, "L5@4 "));
  rig_done (&rig);
}

/* E10, with 8 MiB more in each of the pools of two other models: the ladder synchronises its own
 * stream, then the others' in the order of their creation, and stops when the request is served. */
static void
check_ladder (guint64 size, guint64 syncs, gboolean served)
{
  Rig rig = rig_new ("ge-scalable:pools=per-pool-and-stream,total=64GiB", "sim:capacity=32MiB");

  g_assert_cmphex (get_from (&rig, 0, 8 * M, 3, 0), ==, 0);
  g_assert_cmphex (get_from (&rig, 1, 8 * M, 1, 0), ==, 8 * M);
  g_assert_cmphex (get_from (&rig, 2, 8 * M, 2, 9), ==, 16 * M);
  for (guint i = 0; i < 3; i++)
    put (&rig, i);
  g_assert_cmpuint (get_from (&rig, 3, size, 2, 9) != OUT_OF_MEMORY, ==, served);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_STREAM_SYNC], ==, syncs);
  g_assert_cmpuint (rig_stat (&rig, "pool3.stream0.recycle_count"), ==, syncs >= 2);
  g_assert_cmpuint (rig_stat (&rig, "pool1.stream0.recycle_count"), ==, syncs >= 3);
  rig_done (&rig);
}

static void
test_ladder_crosses_pools (void)
{
  check_ladder (8 * M, 0, TRUE);
  check_ladder (9 * M, 1, TRUE);  /* 8 free and its own 8 */
  check_ladder (17 * M, 2, TRUE); /* and those of pool 3, the oldest */
  check_ladder (25 * M, 3, TRUE);
  check_ladder (33 * M, 3, FALSE);
}

/* ---- fixed-size pools */

static void
test_fixed_is_cut_without_delay (void)
{
  Rig rig = rig_new ("ge-scalable:stack=fixed,fixed_size=64MiB", "sim:capacity=256MiB");

  g_assert_cmpuint (rig.allocator->device->held, ==, 64 * M);
  /* one page of 1024: an ordinary span would not be cut */
  g_assert_cmphex (get (&rig, 0, P), ==, 64 * M - P);
  put (&rig, 0);
  g_assert_cmphex (get (&rig, 0, 2 * P), ==, 64 * M - 2 * P);
  g_assert_cmpuint (rig_stat (&rig, "fixed.occupied_size"), ==, 0); /* none from the lower level */
  g_assert_cmpuint (rig_stat (&rig, "fixed.idle_size"), ==, 64 * M - 2 * P);
  rig_done (&rig);
}

static void
test_fixed_grows (void)
{
  Rig rig = rig_new ("ge-scalable:stack=fixed,fixed_size=8MiB", "sim:capacity=256MiB");

  g_assert_cmphex (get (&rig, 0, 8 * M), ==, 0);
  g_assert_cmphex (get (&rig, 1, 8 * M), ==, 8 * M);
  g_assert_cmphex (get (&rig, 2, P), ==, 16 * M); /* and no minimum */
  g_assert_cmpuint (rig.allocator->device->held, ==, 16 * M + P);
  put (&rig, 0);
  put (&rig, 1);
  trim (&rig);
  /* the pool does not own the range, so it cannot release it */
  g_assert_cmpuint (rig.allocator->device->held, ==, 8 * M + P);
  rig_done (&rig);
}

/* The quirk: recycled while whole and idle, the range is lost; partly used, it stays. */
static void
test_fixed_is_lost (void)
{
  Rig rig = rig_new ("ge-scalable:stack=fixed,fixed_size=8MiB", "sim:capacity=256MiB");
  const GememAllocatorClass *klass = rig.allocator->klass;

  g_assert_cmphex (get (&rig, 0, M), ==, 7 * M);
  trim (&rig);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 7 * M);
  put (&rig, 0);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 8 * M);
  trim (&rig);
  g_assert_cmpuint (klass->largest_free (rig.allocator, 0), ==, 0);
  g_assert_cmpuint (rig.allocator->device->held, ==, 8 * M);
  g_assert_cmphex (get (&rig, 0, M), ==, 8 * M);
  rig_done (&rig);
}

static void
test_fixed_refused (void)
{
  static const char *const bad[] = { "ge-scalable:stack=fixed,fixed_size=100000",
                                     "ge-scalable:stack=fixed,fixed_size=2GiB" };
  Rig rig = rig_new ("ge-scalable:stack=fixed,fixed_size=8MiB",
                     "faulty:nth=1,call=malloc,capacity=256MiB");

  g_assert_cmphex (get (&rig, 0, M), ==, 0); /* a pool without a range, that grows */
  rig_done (&rig);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      g_autoptr (GError) error = NULL;
      GememDevice *device = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);

      g_assert_true (gemem_allocator_spec_parse (bad[i], specs, NULL));
      g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, "fixed_size="));
      gemem_device_destroy (device);
    }
}

/* ---- Finalize */

static void
test_finalize (void)
{
  Rig rig = rig_new ("ge-scalable", "sim:capacity=1GiB");

  get (&rig, 0, M);
  g_assert_cmpuint (rig_stat (&rig, "stream0.finalize_failed"), ==, 1);
  put (&rig, 0);
  g_assert_cmpuint (rig_stat (&rig, "stream0.finalize_failed"), ==, 0);
  g_assert_cmpuint (rig_stat (&rig, "rts.finalize_failed"), ==, 1); /* L1 keeps the block */
  trim (&rig);
  g_assert_cmpuint (rig_stat (&rig, "rts.finalize_failed"), ==, 0);
  rig_done (&rig);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-several-pools/models-share-only-the-bottom-pool",
                   test_models_share_only_the_bottom_pool);
  g_test_add_data_func ("/ge-several-pools/walk-names-models/two",
                        "ge-scalable:pools=per-pool-and-stream", test_walk_names_models);
  g_test_add_data_func ("/ge-several-pools/walk-names-models/single",
                        "ge-scalable:stack=single,pools=per-pool-and-stream",
                        test_walk_names_models);
  g_test_add_data_func ("/ge-several-pools/walk-names-models/expandable",
                        "ge-expandable:pools=per-pool-and-stream", test_walk_names_models);
  g_test_add_func ("/ge-several-pools/ladder-crosses-pools", test_ladder_crosses_pools);
  g_test_add_func ("/ge-fixed-size/is-cut-without-delay", test_fixed_is_cut_without_delay);
  g_test_add_func ("/ge-fixed-size/grows", test_fixed_grows);
  g_test_add_func ("/ge-fixed-size/is-lost", test_fixed_is_lost);
  g_test_add_func ("/ge-fixed-size/refused", test_fixed_refused);
  g_test_add_func ("/ge-scalable/finalize", test_finalize);
  return g_test_run ();
}
