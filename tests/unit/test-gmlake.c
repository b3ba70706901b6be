/* test-gmlake.c - `gmlake` against the worked examples G1 to G9 of peers.md 3.5, faults at every
 * device call, and wrong settings. */
#include "config.h"

#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define NONE G_MAXUINT64
/* the begin of the N-th range */
#define R(n) (G_GUINT64_CONSTANT (0x200000000000) + (n) *GIB)
#define LAKE "gmlake:fragLimit=2MiB"

static void
get (Rig *rig, guint i, guint64 size, guint64 address)
{
  const GememRequest request = { .size = size };
  const gboolean ok = rig_serve (rig, i, &request);

  g_assert_cmphex (ok ? rig->blocks[i].address : NONE, ==, address);
}

static void
test_g1_one_block (void)
{
  Rig rig = rig_new (LAKE, "sim:capacity=1GiB");

  get (&rig, 0, 30 * MIB, R (0));
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_CREATE], ==, 15);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_MAP], ==, 15);
  put (&rig, 0);
  get (&rig, 0, 9 * MIB, R (0)); /* 10 MiB */
  get (&rig, 1, 20 * MIB, R (0) + 10 * MIB);
  g_assert_cmpuint (rig_held (&rig), ==, 30 * MIB);
  get (&rig, 2, 3 * MIB, R (1)); /* of 20 MiB */
  get (&rig, 3, 1000, 0x100000000000);
  g_assert_cmpuint (rig_held (&rig), ==, 52 * MIB);
  rig_done (&rig);
}

/* 10 MiB at R0 and R1, both free. */
static Rig
two_tens (const char *spec)
{
  Rig rig = rig_new (spec, "sim:capacity=1GiB");

  get (&rig, 0, 10 * MIB, R (0));
  get (&rig, 1, 10 * MIB, R (1));
  put (&rig, 0);
  put (&rig, 1);
  return rig;
}

static void
test_g2_stitch (void)
{
  Rig rig = two_tens (LAKE);

  get (&rig, 0, 16 * MIB, R (2)); /* all of R1, 6 MiB of R0 */
  g_assert_cmpuint (rig_held (&rig), ==, 20 * MIB);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_MAP], ==, 10 + 8);
  get (&rig, 1, 4 * MIB, R (0) + 6 * MIB);
  put (&rig, 0);
  get (&rig, 0, 16 * MIB, R (2)); /* the fused block again */
  g_assert_cmpuint (rig_stat (&rig, "stitches"), ==, 1);
  g_assert_cmpuint (rig_stat (&rig, "sblock_reuses"), ==, 1);
  put (&rig, 0);
  get (&rig, 0, 8 * MIB, R (1));  /* the fused block is fragmented now */
  get (&rig, 2, 16 * MIB, R (3)); /* 6 + 2 MiB do not suffice */
  g_assert_cmpuint (rig_held (&rig), ==, 36 * MIB);
  rig_done (&rig);
}

static void
test_g3_variants (void)
{
  static const char *const specs[] = { LAKE, LAKE ",variant=paper" };

  for (guint i = 0; i < 2; i++)
    {
      Rig rig = rig_new (specs[i], "sim:capacity=1GiB");

      get (&rig, 0, 30 * MIB, R (0));
      get (&rig, 1, 10 * MIB, R (1));
      get (&rig, 2, 10 * MIB, R (2));
      put (&rig, 1);
      put (&rig, 2);
      get (&rig, 1, 16 * MIB, R (3));
      put (&rig, 1);
      put (&rig, 0);
      /* a larger block, or the fused block that is exact */
      get (&rig, 0, 16 * MIB, i == 0 ? R (0) : R (3));
      rig_done (&rig);
    }
}

static void
test_g4_missing (void)
{
  static const char *const specs[] = { LAKE, LAKE ",reAlloc=1", LAKE ",variant=paper" };

  for (guint i = 0; i < 3; i++)
    {
      Rig rig = rig_new (specs[i], "sim:capacity=1GiB");

      get (&rig, 0, 10 * MIB, R (0));
      put (&rig, 0);
      get (&rig, 0, 16 * MIB, i == 0 ? R (1) : R (2)); /* R1 has the missing 6 MiB */
      g_assert_cmpuint (rig_held (&rig), ==, i == 0 ? 26 * MIB : 16 * MIB);
      g_assert_cmpuint (rig_stat (&rig, "extensions"), ==, i > 0);
      rig_done (&rig);
    }
}

static void
test_g5_limits (void)
{
  Rig rig = two_tens (LAKE), strict = two_tens (LAKE ",reuseLimit=1.2"),
      late = two_tens ("gmlake:fragLimit=2MiB,defragLevel=1"), never = two_tens ("gmlake");

  get (&rig, 0, 16 * MIB, R (2));
  put (&rig, 0);
  get (&rig, 0, 12 * MIB, R (2));
  g_assert_cmpuint (rig.blocks[0].size, ==, 12 * MIB);
  get (&rig, 1, 8 * MIB, R (0) + 2 * MIB);
  get (&strict, 0, 16 * MIB, R (2));
  put (&strict, 0);
  get (&strict, 0, 12 * MIB, R (3)); /* 16 is more than 1.2 times 12 */
  get (&late, 0, 16 * MIB, R (2));
  g_assert_cmpuint (rig_stat (&late, "stitches"), ==, 0);
  get (&never, 0, 16 * MIB, R (2));
  g_assert_cmpuint (rig_held (&never), ==, 36 * MIB);
  rig_done (&rig);
  rig_done (&strict);
  rig_done (&late);
  rig_done (&never);
}

/* Under memory pressure stitching serves what level 1 did not do at once. */
static void
test_g6_pressure (void)
{
  Rig rig = rig_new (LAKE ",defragLevel=1", "sim:capacity=30MiB");

  get (&rig, 0, 10 * MIB, R (0));
  get (&rig, 1, 10 * MIB, R (1));
  get (&rig, 2, 10 * MIB, R (2));
  put (&rig, 0);
  put (&rig, 2);
  get (&rig, 0, 20 * MIB, R (4)); /* R3 was reserved for the segment that failed */
  g_assert_cmpuint (rig_held (&rig), ==, 30 * MIB);
  get (&rig, 2, 2 * MIB, NONE);
  rig_done (&rig);
}

static void
test_g7_collection (void)
{
  Rig rig = two_tens (LAKE ",reuseLimit=1.2,autoGC=16MiB");

  get (&rig, 0, 16 * MIB, R (2));
  put (&rig, 0);
  g_assert_cmpuint (rig_stat (&rig, "stitched_bytes"), ==, 16 * MIB);
  get (&rig, 0, 12 * MIB, R (3)); /* 28 MiB are stitched: what is idle is collected */
  g_assert_cmpuint (rig_stat (&rig, "stitched_bytes"), ==, 12 * MIB);
  g_assert_cmpuint (rig_stat (&rig, "sblocks_collected"), ==, 1);
  g_assert_cmpuint (rig.allocator->device->calls[GEMEM_CALL_RELEASE], ==, 1);
  g_assert_cmpuint (rig_held (&rig), ==, 20 * MIB);
  rig_done (&rig);
}

/* A fused block that its stream may still use is not collected. */
static void
test_g7_busy (void)
{
  Rig rig = rig_new (LAKE ",reuseLimit=1.2,autoGC=16MiB", "sim:capacity=1GiB,event_latency=1h");

  get (&rig, 0, 10 * MIB, R (0));
  get (&rig, 1, 10 * MIB, R (1));
  put (&rig, 0);
  put (&rig, 1);
  get (&rig, 0, 16 * MIB, R (2));
  put (&rig, 0);
  get (&rig, 0, 12 * MIB, R (3));
  g_assert_cmpuint (rig_stat (&rig, "stitched_bytes"), ==, 28 * MIB);
  g_assert_cmpuint (rig_stat (&rig, "sblocks_collected"), ==, 0);
  rig_done (&rig);
}

/* Memory that a fused block shows but does not use goes back, too. */
static void
test_g8_release (void)
{
  Rig rig = rig_new (LAKE, "sim:capacity=1GiB");

  for (guint i = 0; i < 3; i++)
    get (&rig, i, 10 * MIB, R (i));
  for (guint i = 0; i < 3; i++)
    put (&rig, i);
  get (&rig, 0, 30 * MIB, R (3)); /* R2, R1, R0 */
  put (&rig, 0);
  get (&rig, 0, 12 * MIB, R (3)); /* R2 and 2 MiB of R1 */
  trim (&rig);
  g_assert_cmpuint (rig_held (&rig), ==, 20 * MIB);
  g_assert_cmpuint (rig_stat (&rig, "stitched_bytes"), ==, 20 * MIB);
  put (&rig, 0);
  get (&rig, 0, 20 * MIB, R (3)); /* what is left of it serves again */
  put (&rig, 0);
  trim (&rig);
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  g_assert_cmpuint (rig_stat (&rig, "sblocks.current"), ==, 0);
  rig_done (&rig);
}

/* PyTorch's garbage collection releases before the limit is met; without it the retry does. */
static void
test_g9_threshold (void)
{
  static const char *const specs[] = { "gmlake:memory_limit=64MiB",
                                       "gmlake:memory_limit=64MiB,garbage_collection_threshold="
                                       "0.5" };

  for (guint i = 0; i < 2; i++)
    {
      Rig rig = rig_new (specs[i], "sim:capacity=1GiB");

      get (&rig, 0, 40 * MIB, R (0));
      put (&rig, 0);
      get (&rig, 0, 42 * MIB, R (1));
      g_assert_cmpuint (rig_held (&rig), ==, 42 * MIB);
      g_assert_cmpuint (rig_stat (&rig, "num_alloc_retries"), ==, i == 0);
      rig_done (&rig);
    }
}

/* The K-th mapping of the chunks fails: nothing of the fused block stays, and the sources are free. */
static void
test_half_mapped (void)
{
  for (guint nth = 11; nth <= 18; nth++)
    {
      g_autofree char *device = g_strdup_printf ("faulty:after=%u,call=map,capacity=1GiB", nth - 1);
      Rig rig = rig_new (LAKE, device);

      get (&rig, 0, 10 * MIB, R (0));
      get (&rig, 1, 10 * MIB, R (1));
      put (&rig, 0);
      put (&rig, 1);
      get (&rig, 0, 16 * MIB, NONE);
      g_assert_cmpuint (rig_stat (&rig, "stitches"), ==, 0);
      g_assert_cmpuint (rig_stat (&rig, "sblocks.current"), ==, 0);
      g_assert_cmpuint (rig_held (&rig), ==, 0); /* everything was released on the way */
      rig_done (&rig);
    }
}

static void
test_faults (void)
{
  static const char *const specs[] = { LAKE, LAKE ",variant=paper", LAKE ",reAlloc=1,autoGC=8MiB" };

  for (guint nth = 1; nth < 240; nth++)
    {
      g_autofree char *device = g_strdup_printf ("faulty:nth=%u,call=all,capacity=48MiB", nth);
      Rig rig = rig_new (specs[nth % 3], device);
      gboolean have[6] = { FALSE };

      for (guint i = 0; i < 60; i++)
        {
          const guint b = i * 5 % 6;
          const GememRequest request = { .size = (1 + i * 7 % 15) * MIB, .stream = i % 7 == 0 };

          if (have[b])
            put (&rig, b);
          have[b] = !have[b] && rig_serve (&rig, b, &request);
          if (have[b] && i % 4 == 0)
            rig.allocator->klass->streams.use (rig.allocator, &rig.blocks[b], 2);
          if (i % 25 == 24)
            trim (&rig);
        }
      rig_done (&rig);
    }
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = { { "gmlake:variant=both", "variant" },
                                          { "gmlake:vmmDefragment=2", "vmmDefragment" },
                                          { "gmlake:fragLimit=", "fragLimit" },
                                          { "gmlake:fragLimit=-1", "fragLimit" },
                                          { "gmlake:reuseLimit=nan", "reuseLimit" },
                                          { "gmlake:reuseLimit=-1", "reuseLimit" },
                                          { "gmlake:defragLevel=4", "defragLevel" },
                                          { "gmlake:defragLevel=1.5", "defragLevel" },
                                          { "gmlake:autoGC=18446744073709551616", "autoGC" },
                                          { "gmlake:reAlloc=maybe", "reAlloc" },
                                          { "gmlake:garbage_collection_threshold=1", "too large" },
                                          { "gmlake:max_split_size_mb=5", "max_split_size_mb" } };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    rig_refused (wrong[i][0], "sim:capacity=1GiB", wrong[i][1]);
  rig_refused ("gmlake", "sim:capacity=1GiB,virtual_memory=no", "virtual memory");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gmlake/G1", test_g1_one_block);
  g_test_add_func ("/gmlake/G2", test_g2_stitch);
  g_test_add_func ("/gmlake/G3", test_g3_variants);
  g_test_add_func ("/gmlake/G4", test_g4_missing);
  g_test_add_func ("/gmlake/G5", test_g5_limits);
  g_test_add_func ("/gmlake/G6", test_g6_pressure);
  g_test_add_func ("/gmlake/G7", test_g7_collection);
  g_test_add_func ("/gmlake/G7-busy", test_g7_busy);
  g_test_add_func ("/gmlake/G8", test_g8_release);
  g_test_add_func ("/gmlake/G9", test_g9_threshold);
  g_test_add_func ("/gmlake/half-mapped", test_half_mapped);
  g_test_add_func ("/gmlake/faults", test_faults);
  g_test_add_func ("/gmlake/wrong", test_wrong);
  return g_test_run ();
}
