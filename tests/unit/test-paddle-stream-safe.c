/* test-paddle-stream-safe.c - auto_growth with StreamSafe (paddle.md 3.4) and with
 * use_auto_growth_v2 (3.1): when a block that other streams used is freed, and the allocations
 * of the warm-up. */
#include "config.h"

#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

static gboolean
try_on (GememAllocator *allocator, guint64 stream, guint64 size, GememBlock *block)
{
  const GememRequest request = { .size = size, .stream = stream };
  const gboolean served = allocator->klass->alloc (allocator, &request, block);
  g_autoptr (GError) error = NULL;

  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
  return served;
}

static GememBlock
take (GememAllocator *allocator, guint64 stream, guint64 size)
{
  GememBlock block;

  g_assert_true (try_on (allocator, stream, size, &block));
  return block;
}

static void
give (GememAllocator *allocator, GememBlock block, gboolean completion_follows)
{
  g_autoptr (GError) error = NULL;

  allocator->klass->free (allocator, &block, completion_follows);
  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
}

static void
use (GememAllocator *allocator, GememBlock block, guint64 stream)
{
  allocator->klass->streams.use (allocator, &block, stream);
}

/* Use on the block's own stream does not count; without other uses the free is immediate; a
 * repeated use is one event, the latest. */
static void
test_uses (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth",
                                               "sim:capacity=1GiB,event_latency=1ms");
  GememBlock a = take (growth, 3, 1000), b;

  use (growth, a, 3);
  g_assert_cmpuint (growth->device->calls[GEMEM_CALL_EVENT_RECORD], ==, 0);
  give (growth, a, FALSE);
  b = take (growth, 3, 1000);
  g_assert_cmphex (b.address, ==, a.address);
  use (growth, b, 7);
  growth->device->now += 500000;
  use (growth, b, 7); /* recorded again: complete a millisecond from here */
  growth->device->now += 700000;
  give (growth, b, FALSE);
  a = take (growth, 3, 1000);
  g_assert_cmphex (a.address, !=, b.address);
  growth->device->now += 700000;
  a = take (growth, 3, 1000);
  g_assert_cmphex (a.address, ==, b.address);
  test_allocator_destroy (growth);
}

static void
count_pending (const GememSpan *span, gpointer data)
{
  *(guint *) data += span->state == GEMEM_SPAN_PENDING;
}

/* If the recording says when the block was freed, the block waits for that moment, and is free
 * at once then. */
static void
test_completion (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth", "sim:capacity=1GiB");
  GememBlock a = take (growth, 0, 1000), b;
  guint pending = 0;

  use (growth, a, 7);
  give (growth, a, TRUE);
  growth->klass->walk (growth, count_pending, &pending);
  g_assert_cmpuint (pending, ==, 1);
  b = take (growth, 0, 1000);
  g_assert_cmphex (b.address, !=, a.address);
  growth->klass->streams.complete (growth, &a);
  g_assert_cmpuint (growth->klass->largest_free (growth, 0), ==, a.size);
  /* of another stream: its list is not searched */
  g_assert_cmphex (take (growth, 5, 1000).address, !=, a.address);
  g_assert_cmphex (take (growth, 0, 1000).address, ==, a.address);
  test_allocator_destroy (growth);
}

/* Out of memory: every stream releases its idle memory, after its list was searched; empty_cache
 * does the same. */
static void
test_out_of_memory (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:gpu_allocator_retry_time=0",
                                               "sim:capacity=8MiB,event_latency=1ms");
  GememBlock a = take (growth, 1, 6 * MIB), b;

  use (growth, a, 7);
  give (growth, a, FALSE);
  g_assert_false (try_on (growth, 2, 4 * MIB, &b)); /* no request waits for stream 7 */
  growth->device->now += 2000000;
  b = take (growth, 2, 4 * MIB);
  g_assert_cmpuint (growth->device->held, ==, 4 * MIB);
  use (growth, b, 7);
  give (growth, b, FALSE);
  growth->klass->trim (growth);
  g_assert_cmpuint (growth->device->held, ==, 4 * MIB);
  growth->device->now += 2000000;
  growth->klass->trim (growth);
  g_assert_cmpuint (growth->device->held, ==, 0);
  test_allocator_destroy (growth);
}

/* The retry waits long enough for the event. */
static void
test_retry (void)
{
  GememAllocator *growth = test_allocator_new ("paddle-auto-growth:gpu_allocator_retry_time=5",
                                               "sim:capacity=8MiB,event_latency=1ms");
  GememBlock a = take (growth, 1, 6 * MIB);

  use (growth, a, 7);
  give (growth, a, FALSE);
  take (growth, 2, 4 * MIB);
  g_assert_cmpuint (growth->device->now, >=, 5000000);
  test_allocator_destroy (growth);
}

static void
test_without (gconstpointer spec)
{
  GememAllocator *growth = test_allocator_new (spec, "sim:capacity=1GiB,event_latency=1s");
  GememBlock a = take (growth, 0, 1000);

  g_assert_null (growth->klass->streams.complete);
  g_assert_null (growth->klass->streams.use);
  give (growth, a, TRUE);
  g_assert_cmphex (take (growth, 0, 1000).address, ==, a.address);
  test_allocator_destroy (growth);
}

/* Exact fits only during the warm-up; idle chunks are released with the first request after it. */
static void
test_v2 (void)
{
  GememAllocator *growth = test_allocator_new (
      "paddle-auto-growth:use_auto_growth_v2=yes,auto_growth_v2_warm_up=4", "sim:capacity=1GiB");
  GememBlock a = take (growth, 0, 4096), b;

  give (growth, a, FALSE);
  b = take (growth, 0, 1000);
  g_assert_cmphex (b.address, !=, a.address); /* the old rules would cut the 4096 */
  give (growth, b, FALSE);
  g_assert_cmphex (take (growth, 0, 4000).address, ==, a.address);
  g_assert_cmpuint (growth->device->held, ==, 4096 + 1024);
  give (growth, take (growth, 0, 2048), FALSE);
  g_assert_cmpuint (growth->device->held, ==, 4096 + 1024 + 2048);
  b = take (growth, 0, 512); /* the fifth: both idle chunks are released, and the old rules apply */
  g_assert_cmpuint (growth->device->held, ==, 4096 + 512);
  give (growth, b, FALSE);
  g_assert_cmphex (take (growth, 0, 256).address, ==, b.address + 256);
  test_allocator_destroy (growth);
}

/* Each stream releases its own idle chunks with its first request after the warm-up. */
static void
test_v2_streams (void)
{
  GememAllocator *growth = test_allocator_new (
      "paddle-auto-growth:use_auto_growth_v2=yes,auto_growth_v2_warm_up=2", "sim:capacity=1GiB");

  give (growth, take (growth, 0, 1024), FALSE);
  give (growth, take (growth, 7, 2048), FALSE);
  take (growth, 7, 4096);
  g_assert_cmpuint (growth->device->held, ==, 1024 + 4096);
  take (growth, 7, 4096);
  g_assert_cmpuint (growth->device->held, ==, 1024 + 2 * 4096);
  take (growth, 0, 512);
  g_assert_cmpuint (growth->device->held, ==, 512 + 2 * 4096);
  test_allocator_destroy (growth);
}

/* A warm-up request that would not fit releases the idle chunks before it asks the device,
 * whether the device is too small or the limit. */
static void
test_v2_pressure (gconstpointer spec)
{
  GememAllocator *growth = test_allocator_new (spec, NULL);

  give (growth, take (growth, 0, 6 * MIB), FALSE);
  take (growth, 0, 4 * MIB);
  g_assert_cmpuint (growth->device->held, ==, 4 * MIB);
  g_assert_cmpuint (growth->device->refused[GEMEM_CALL_MALLOC], ==, 0);
  test_allocator_destroy (growth);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle-stream-safe/uses", test_uses);
  g_test_add_func ("/paddle-stream-safe/completion", test_completion);
  g_test_add_func ("/paddle-stream-safe/out-of-memory", test_out_of_memory);
  g_test_add_func ("/paddle-stream-safe/retry", test_retry);
  g_test_add_data_func ("/paddle-stream-safe/none-in-P16", "paddle-auto-growth:preset=P16",
                        test_without);
  g_test_add_data_func ("/paddle-stream-safe/switched-off",
                        "paddle-auto-growth:FLAGS_use_stream_safe_cuda_allocator=false",
                        test_without);
  g_test_add_func ("/paddle-auto-growth-v2/warm-up", test_v2);
  g_test_add_func ("/paddle-auto-growth-v2/streams", test_v2_streams);
  g_test_add_data_func ("/paddle-auto-growth-v2/pressure",
                        "paddle-auto-growth:use_auto_growth_v2=yes,capacity=8MiB",
                        test_v2_pressure);
  g_test_add_data_func (
      "/paddle-auto-growth-v2/limit",
      "paddle-auto-growth:use_auto_growth_v2=yes,gpu_memory_limit_mb=8,capacity=1GiB",
      test_v2_pressure);
  return g_test_run ();
}
