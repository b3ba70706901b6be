/* test-cuda-async.c - `cuda-async` and `rmm-cuda-async` against the worked examples A1 to A8 of
 * peers.md 3.4, faults at every device call, and wrong settings. */
#include "config.h"

#include "allocators/cuda/async.h"
#include "tests/util/rig.h"
#include "tests/util/sizes.h"

#define NONE G_MAXUINT64
#define BASE G_GUINT64_CONSTANT (0x200000000000)
#define UNIT "growth=2MiB"

/* The request must be served @offset behind the begin of the pool's range; NONE: must fail. */
static void
get (Rig *rig, guint i, guint64 size, guint64 stream, guint64 offset)
{
  const GememRequest request = { .size = size, .stream = stream };
  const gboolean ok = rig_serve (rig, i, &request);

  g_assert_cmpuint (ok ? rig->blocks[i].address - BASE : NONE, ==, offset);
}

static void
host_waits (Rig *rig, guint64 stream)
{
  GememAllocator *a = rig->allocator;

  if (stream == G_MAXUINT64)
    gemem_device_sync (a->device);
  else
    gemem_device_stream_sync (a->device, stream);
  a->klass->streams.sync (a, stream);
  rig_verify (rig);
}

static void
test_a1_release (void)
{
  static const struct
  {
    const char *spec;
    guint64 kept;
  } cases[] = { { "cuda-async:" UNIT, 2 * MIB },
                { "cuda-async:" UNIT ",release_threshold=2MiB", 2 * MIB },
                { "cuda-async:" UNIT ",release_threshold=3MiB", 2 * MIB },
                { "cuda-async:" UNIT ",release_threshold=unlimited", 4 * MIB } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Rig rig = rig_new (cases[i].spec, "sim:capacity=1GiB");

      get (&rig, 0, 1000, 0, 0);
      g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
      get (&rig, 1, 3 * MIB, 0, 1024);
      g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
      put (&rig, 1);
      g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
      host_waits (&rig, 5); /* another stream */
      g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
      host_waits (&rig, 0);
      g_assert_cmpuint (rig_held (&rig), ==, cases[i].kept);
      g_assert_cmpuint (rig_stat (&rig, "cudaMemPoolAttrReservedMemCurrent"), ==, cases[i].kept);
      g_assert_cmpuint (rig_stat (&rig, "cudaMemPoolAttrReservedMemHigh"), ==, 4 * MIB);
      g_assert_cmpuint (rig_stat (&rig, "cudaMemPoolAttrUsedMemCurrent"), ==, 1000);
      g_assert_cmpuint (rig_stat (&rig, "cudaMemPoolAttrUsedMemHigh"), ==, 3 * MIB + 1000);
      rig_done (&rig);
    }
}

/* Stream 1 has freed its 2 MiB of 4 MiB; the device comes to that one second later. */
static Rig
freed_on_1 (const char *rules)
{
  g_autofree char *spec = g_strconcat ("cuda-async:" UNIT ",release_threshold=unlimited", rules,
                                       NULL);
  Rig rig = rig_new (spec, "sim:capacity=4MiB,event_latency=1s");

  get (&rig, 0, 2 * MIB, 1, 0);
  get (&rig, 1, 2 * MIB, 2, 2 * MIB);
  put (&rig, 0);
  return rig;
}

#define NO_FOLLOW ",reuse_follow_event_dependencies=no"
#define NO_CHANCE ",reuse_allow_opportunistic=no"
#define NO_WAIT ",reuse_allow_internal_dependencies=no"

static void
test_a2_internal (void)
{
  Rig rig = freed_on_1 (""), without = freed_on_1 (NO_WAIT);

  get (&rig, 2, 2 * MIB, 2, 0);
  g_assert_cmpuint (rig_stat (&rig, "reused_by_internal_dependency"), ==, 1);
  get (&without, 2, 2 * MIB, 2, NONE);
  get (&without, 3, 2 * MIB, 1, 0); /* its own stream */
  rig_done (&rig);
  rig_done (&without);
}

static void
test_a3_followed (void)
{
  static const char *const rules[] = { NO_CHANCE NO_WAIT, NO_FOLLOW NO_CHANCE NO_WAIT };

  for (guint i = 0; i < 2; i++)
    {
      Rig rig = freed_on_1 (rules[i]);
      GememAllocator *a = rig.allocator;

      a->klass->streams.record (a, 7, 1, G_MAXUINT64);
      get (&rig, 2, 2 * MIB, 2, NONE); /* does not wait for it yet */
      a->klass->streams.wait (a, 7, 3);
      a->klass->streams.record (a, 8, 3, G_MAXUINT64);
      a->klass->streams.wait (a, 8, 2); /* by way of stream 3 */
      get (&rig, 2, 2 * MIB, 2, i == 0 ? 0 : NONE);
      g_assert_cmpuint (rig_stat (&rig, "reused_by_event_dependency"), ==, i == 0);
      rig_done (&rig);
    }
}

static void
test_a4_opportunistic (void)
{
  static const char *const rules[] = { NO_FOLLOW NO_WAIT, NO_FOLLOW NO_CHANCE NO_WAIT };

  for (guint i = 0; i < 2; i++)
    {
      Rig rig = freed_on_1 (rules[i]);

      get (&rig, 2, 2 * MIB, 2, NONE);
      rig.allocator->device->now += G_GUINT64_CONSTANT (2000000000);
      get (&rig, 2, 2 * MIB, 2, i == 0 ? 0 : NONE);
      g_assert_cmpuint (rig_stat (&rig, "reused_opportunistically"), ==, i == 0);
      rig_done (&rig);
    }
}

/* What the host has waited for is available whatever the rules say. */
static void
test_a5_host (void)
{
  Rig rig = freed_on_1 (NO_FOLLOW NO_CHANCE NO_WAIT);

  host_waits (&rig, 2);
  get (&rig, 2, 2 * MIB, 2, NONE);
  host_waits (&rig, 1);
  get (&rig, 2, 2 * MIB, 2, 0);
  rig_done (&rig);
}

/* A block that another stream used goes back only when that work is done, too. */
static void
test_a6_uses (void)
{
  Rig rig = rig_new ("cuda-async:" UNIT, "sim:capacity=4MiB,event_latency=1s");
  GememAllocator *a = rig.allocator;

  get (&rig, 0, 2 * MIB, 1, 0);
  a->klass->streams.use (a, &rig.blocks[0], 2);
  gemem_device_event_record (a->device, 1);
  a->device->now += G_GUINT64_CONSTANT (1500000000);
  put (&rig, 0); /* the event of stream 2 is complete at 2.5 s, its own queue at 1 s */
  a->klass->streams.sync (a, 1);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
  a->device->now += G_GUINT64_CONSTANT (1500000000);
  a->klass->streams.sync (a, 1);
  g_assert_cmpuint (rig_held (&rig), ==, 0);
  rig_done (&rig);
}

static void
test_a7_moved (void)
{
  Rig rig = rig_new ("cuda-async:" UNIT ",release_threshold=unlimited", "sim:capacity=6MiB");

  for (guint b = 0; b < 3; b++)
    get (&rig, b, 2 * MIB, 0, b * 2 * MIB);
  put (&rig, 0);
  put (&rig, 2);
  get (&rig, 0, 4 * MIB, 0, 4 * MIB); /* the chunk at 0 is moved to 6 MiB */
  g_assert_cmpuint (rig_held (&rig), ==, 6 * MIB);
  g_assert_cmpuint (rig_stat (&rig, "remapped_bytes"), ==, 2 * MIB);
  rig_done (&rig);
}

static void
test_a8_limits (void)
{
  Rig rig = rig_new ("cuda-async:" UNIT ",trim_to=3MiB,max_size=7MiB,release_threshold=unlimited",
                     "sim:capacity=1GiB");
  Rig rmm = rig_new ("rmm-cuda-async:" UNIT ",initial=4MiB", "sim:capacity=1GiB");

  get (&rig, 0, 8 * MIB, 0, 0);
  get (&rig, 1, 1, 0, NONE);
  put (&rig, 0);
  trim (&rig); /* what the host does not know to be done stays */
  g_assert_cmpuint (rig_held (&rig), ==, 8 * MIB);
  host_waits (&rig, 0);
  trim (&rig); /* at least 3 MiB stay, in whole chunks */
  g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
  rig_done (&rig);
  g_assert_cmpuint (rig_held (&rmm), ==, 4 * MIB);
  get (&rmm, 0, 4 * MIB, 0, 0);
  put (&rmm, 0);
  host_waits (&rmm, G_MAXUINT64);
  g_assert_cmpuint (rig_held (&rmm), ==, 4 * MIB);
  trim (&rmm);
  g_assert_cmpuint (rig_held (&rmm), ==, 0);
  rig_done (&rmm);
}

/* A request that fails keeps the chunks that it got, and one of 0 bytes takes nothing. */
static void
test_refused (void)
{
  Rig rig = rig_new ("cuda-async:" UNIT ",max_size=4MiB", "sim:capacity=1GiB");
  GememBlock empty;

  get (&rig, 0, 512, 0, 0);
  g_assert_cmpuint (rig_held (&rig), ==, 2 * MIB);
  get (&rig, 1, 4 * MIB, 0, NONE);
  g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
  get (&rig, 1, 2 * MIB, 0, 512);
  g_assert_true (gemem_cuda_pool_alloc (rig.allocator, &(GememRequest){ .size = 0 }, &empty));
  g_assert_cmpuint (empty.address, ==, 0);
  rig_done (&rig);
}

/* Splitting and merging on two streams must not multiply what a block waits for. */
static void
test_waits (void)
{
  Rig rig = rig_new ("cuda-async", "sim:capacity=1GiB,event_latency=1h");
  GememAllocator *a = rig.allocator;

  get (&rig, 0, 1, 1, 0);
  get (&rig, 1, 1, 2, 512);
  a->klass->streams.use (a, &rig.blocks[0], 2);
  put (&rig, 0);
  for (guint i = 0; i < 200; i++) /* exponential growth would end here */
    {
      const GememRequest request = { .size = 512 + i * 512, .stream = 1 };

      g_assert_true (rig_serve (&rig, 0, &request));
      a->klass->streams.use (a, &rig.blocks[0], 2);
      put (&rig, 0);
    }
  rig_done (&rig);
}

/* ---- what the trace tells of the device */

static void
free_on (Rig *rig, guint i, guint64 stream)
{
  rig->allocator->klass->streams.free_on (rig->allocator, &rig->blocks[i], stream);
  rig->live--;
  rig_verify (rig);
}

/* A block is pending for the stream that freed it, and the device comes to it with the work before. */
static void
test_work (void)
{
  Rig rig = rig_new ("cuda-async:" UNIT NO_WAIT, "sim:capacity=4MiB");
  GememAllocator *a = rig.allocator;

  get (&rig, 0, 2 * MIB, 1, 0);
  get (&rig, 1, 2 * MIB, 2, 2 * MIB);
  a->klass->streams.work (a, 7, 1);
  a->klass->streams.work (a, 8, 3);
  free_on (&rig, 0, 1);
  get (&rig, 2, 2 * MIB, 2, NONE);
  a->klass->streams.work_done (a, 8);
  get (&rig, 2, 2 * MIB, 2, NONE);
  a->klass->streams.asked (a, 2);
  get (&rig, 2, 2 * MIB, 2, NONE);
  a->klass->streams.work_done (a, 7);
  get (&rig, 2, 2 * MIB, 2, 0);
  free_on (&rig, 2, 3); /* not the stream that asked: behind nothing, and stream 3's */
  a->klass->streams.work (a, 0, 3);
  get (&rig, 2, 2 * MIB, 3, 0);
  free_on (&rig, 2, 3); /* behind the work */
  get (&rig, 2, 2 * MIB, 2, NONE);
  a->klass->streams.asked (a, 3);
  g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
  host_waits (&rig, 2); /* the host does not know what it asked */
  g_assert_cmpuint (rig_held (&rig), ==, 4 * MIB);
  get (&rig, 2, 2 * MIB, 2, 0);
  rig_done (&rig);
}

/* What waits for pending work is pending, by way of any number of streams; the end of that work, a
 * query and a wait reach all of them.  100 000 streams need no stack of as many calls. */
static void
test_chain (void)
{
  const guint long_chain = 100000;

  for (guint how = 0; how < 3; how++)
    {
      Rig rig = rig_new ("cuda-async:" UNIT NO_WAIT ",release_threshold=unlimited",
                         "sim:capacity=4MiB");
      GememAllocator *a = rig.allocator;

      get (&rig, 0, 2 * MIB, 1, 0);
      get (&rig, 1, 2 * MIB, 0, 2 * MIB);
      a->klass->streams.work (a, 7, long_chain);
      for (guint s = long_chain; s-- > 1;)
        {
          a->klass->streams.record (a, 1, s + 1, G_MAXUINT64);
          a->klass->streams.wait (a, 1, s);
        }
      free_on (&rig, 0, 1);
      for (guint i = 0; i < 1000; i++)
        get (&rig, 0, 2 * MIB, 0, NONE);
      if (how == 0)
        a->klass->streams.work_done (a, 7);
      else if (how == 1)
        a->klass->streams.asked (a, 1);
      else
        host_waits (&rig, 1);
      get (&rig, 0, 2 * MIB, 0, 0);
      rig_done (&rig);
    }
}

/* Two streams that wait for one another in turn: each wait costs the same, whether work is pending
 * or not. */
static void
test_ping_pong (void)
{
  for (guint pending = 0; pending < 2; pending++)
    {
      Rig rig = rig_new ("cuda-async:" UNIT NO_WAIT, "sim:capacity=4MiB");
      GememAllocator *a = rig.allocator;

      get (&rig, 0, 2 * MIB, 1, 0);
      get (&rig, 1, 2 * MIB, 3, 2 * MIB);
      if (pending != 0)
        a->klass->streams.work (a, 7, 2);
      for (guint i = 0; i < 220000; i++)
        {
          a->klass->streams.record (a, i % 64, 2 - i % 2, G_MAXUINT64);
          a->klass->streams.wait (a, i % 64, 1 + i % 2);
        }
      free_on (&rig, 0, 1);
      get (&rig, 2, 2 * MIB, 3, pending != 0 ? NONE : 0);
      a->klass->streams.work_done (a, 7);
      get (&rig, 0, 2 * MIB, 3, pending != 0 ? 0 : NONE);
      rig_done (&rig);
    }
}

/* Every device call fails once, in turn: the invariants hold, and nothing is left behind. */
static void
test_faults (void)
{
  for (guint nth = 1; nth < 120; nth++)
    {
      g_autofree char *device = g_strdup_printf ("faulty:nth=%u,call=all,capacity=12MiB", nth);
      Rig rig = rig_new ("cuda-async:" UNIT, device);
      gboolean have[6] = { FALSE };

      for (guint i = 0; i < 60; i++)
        {
          const guint b = i * 5 % 6;
          const GememRequest request = { .size = (1 + i % 5) * MIB, .stream = i % 3 };

          if (have[b])
            put (&rig, b);
          have[b] = !have[b] && rig_serve (&rig, b, &request);
          if (i % 7 == 6)
            host_waits (&rig, i % 2 == 0 ? G_MAXUINT64 : i % 3);
          if (i % 20 == 19)
            trim (&rig);
        }
      rig_done (&rig);
    }
}

static void
test_wrong (void)
{
  static const char *const wrong[][2] = {
    { "cuda-async:growth=3MiB", "power of two" },
    { "cuda-async:growth=", "growth" },
    { "cuda-async:release_threshold=-1", "release_threshold" },
    { "cuda-async:release_threshold=18446744073709551616", "release_threshold" },
    { "cuda-async:trim_to=1.5", "trim_to" },
    { "cuda-async:max_size=-1", "max_size" },
    { "cuda-async:unknown=1", "unknown" },
    { "rmm-cuda-async:initial=64MiB,max_size=32MiB", "above max_size" }
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    rig_refused (wrong[i][0], "sim:capacity=1GiB", wrong[i][1]);
  rig_refused ("cuda-async", "sim:capacity=1GiB,virtual_memory=no", "virtual memory");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cuda-async/A1", test_a1_release);
  g_test_add_func ("/cuda-async/A2", test_a2_internal);
  g_test_add_func ("/cuda-async/A3", test_a3_followed);
  g_test_add_func ("/cuda-async/A4", test_a4_opportunistic);
  g_test_add_func ("/cuda-async/A5", test_a5_host);
  g_test_add_func ("/cuda-async/A6", test_a6_uses);
  g_test_add_func ("/cuda-async/A7", test_a7_moved);
  g_test_add_func ("/cuda-async/A8", test_a8_limits);
  g_test_add_func ("/cuda-async/refused", test_refused);
  g_test_add_func ("/cuda-async/waits", test_waits);
  g_test_add_func ("/cuda-async/work", test_work);
  g_test_add_func ("/cuda-async/chain", test_chain);
  g_test_add_func ("/cuda-async/ping-pong", test_ping_pong);
  g_test_add_func ("/cuda-async/faults", test_faults);
  g_test_add_func ("/cuda-async/wrong", test_wrong);
  return g_test_run ();
}
