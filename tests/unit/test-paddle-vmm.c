/* test-paddle-vmm.c - PaddlePaddle's auto_growth on virtual memory (example E17 of paddle.md,
 * then the rules of 3.5) and its strategy thread_local.
 */
#include "config.h"

#include "tests/util/rig.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

static gboolean
try_on (GememAllocator *allocator, guint64 stream, guint64 size, GememBlock *block)
{
  const GememRequest request = { .size = size, .stream = stream, .pool = (guint32) stream };
  const gboolean served = allocator->klass->alloc (allocator, &request, block);
  g_autoptr (GError) error = NULL;

  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
  return served;
}

static GememBlock
take (GememAllocator *allocator, guint64 size)
{
  GememBlock block;

  g_assert_true (try_on (allocator, 0, size, &block));
  return block;
}

static void
add_free (const GememSpan *span, gpointer data)
{
  if (span->state == GEMEM_SPAN_FREE)
    g_string_append_printf (data, "(0x%" G_GINT64_MODIFIER "x,%" G_GUINT64_FORMAT ")",
                            span->address - span->segment, span->size);
}

/* Compares the free blocks, by their distance from the start of the range, and the mapped bytes. */
static void
expect (GememAllocator *allocator, const char *pool, guint64 mapped)
{
  g_autoptr (GString) text = g_string_new (NULL);

  allocator->klass->walk (allocator, add_free, text);
  g_assert_cmpstr (text->str, ==, pool);
  g_assert_cmpuint (allocator->device->held, ==, mapped);
}

static void
test_e17 (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "sim:capacity=1GiB,granularity=2MiB");
  GememBlock a = take (vmm, MIB), b, c;
  const guint64 base = a.address - 0x100000; /* the high half of the first page */

  expect (vmm, "(0x0,1048576)", 2 * MIB);
  b = take (vmm, 2 * MIB);
  g_assert_cmphex (b.address, ==, base + 0x400000);
  expect (vmm, "(0x0,1048576)(0x200000,2097152)", 6 * MIB);
  c = take (vmm, 300);
  g_assert_cmphex (c.address, ==, base + 0xffe00);
  g_assert_cmpuint (c.size, ==, 512);
  expect (vmm, "(0x0,1048064)(0x200000,2097152)", 6 * MIB);
  free_block (vmm, a);
  expect (vmm, "(0x0,1048064)(0x100000,3145728)", 6 * MIB);
  a = take (vmm, 3 * MIB);
  g_assert_cmphex (a.address, ==, base + 0x100000);
  expect (vmm, "(0x0,1048064)", 6 * MIB);
  test_allocator_destroy (vmm);
}

/* A block is cut if it is more than twice as long, or if more than 256 bytes remain; else the
 * slack stays with the block. */
static void
test_cut (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "sim:capacity=1GiB,granularity=2MiB");
  GememBlock rest = take (vmm, 2 * MIB - 1536), hole = take (vmm, 768), wall = take (vmm, 256),
             low = take (vmm, 512), block;

  g_assert_cmpuint (hole.size, ==, 768); /* 768 left */
  g_assert_cmphex (hole.address, ==, wall.address + 256);
  free_block (vmm, hole);
  block = take (vmm, 512);
  g_assert_cmpuint (block.size, ==, 768); /* 256 left, and 768 < 2 * 512 */
  free_block (vmm, block);
  block = take (vmm, 256);
  g_assert_cmpuint (block.size, ==, 256); /* 512 left */
  free_block (vmm, block), free_block (vmm, wall), free_block (vmm, low), free_block (vmm, rest);
  expect (vmm, "(0x0,2097152)", 2 * MIB);
  test_allocator_destroy (vmm);

  vmm = test_allocator_new ("paddle-vmm-auto-growth", "sim:capacity=1GiB,granularity=2MiB");
  rest = take (vmm, 2 * MIB - 512), hole = take (vmm, 512);
  free_block (vmm, hole);
  /* 512 is not more than twice 256, and 256 are left */
  g_assert_cmpuint (take (vmm, 256).size, ==, 512);
  test_allocator_destroy (vmm);
}

/* New mappings behind a free block join it, but no less is mapped for it; every stream has a
 * range of its own; no memory is released. */
static void
test_growth (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth:gpu_allocator_retry_time=0",
                                            "sim:capacity=14MiB,granularity=2MiB");
  GememBlock a = take (vmm, MIB), b, other;

  free_block (vmm, a);
  b = take (vmm, 3 * MIB);
  /* 4 MiB behind the free 2 MiB: the top 3 of the joined 6 */
  g_assert_cmphex (b.address, ==, a.address + 2 * MIB);
  expect (vmm, "(0x0,3145728)", 6 * MIB);
  g_assert_cmpuint (vmm->klass->largest_free (vmm, 0), ==, 3 * MIB);
  g_assert_cmpuint (vmm->klass->largest_free (vmm, 7), ==, 0);
  g_assert_true (try_on (vmm, 7, 2 * MIB, &other));
  expect (vmm, "(0x0,3145728)(0x0,2097152)", 10 * MIB);
  g_assert_cmpuint (vmm->device->calls[GEMEM_CALL_RESERVE], ==, 2);
  free_block (vmm, b);
  g_assert_false (try_on (vmm, 7, 4 * MIB, &other)); /* needs 6 more, 4 are left */
  g_assert_true (try_on (vmm, 0, 6 * MIB, &other));
  g_assert_cmpuint (vmm->device->held, ==, 10 * MIB);
  test_allocator_destroy (vmm);
}

/* A range is as long as the memory that `total` says, and can end while the device has memory
 * left. */
static void
test_range (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "sim:capacity=1GiB,total=8MiB,granularity=2MiB");
  const guint64 before = vmm->device->now;
  GememBlock block;

  take (vmm, 5 * MIB);
  g_assert_false (try_on (vmm, 0, 5 * MIB, &block));
  /* it waited once */
  g_assert_cmpuint (vmm->device->now - before, >=, G_GUINT64_CONSTANT (10000000000));
  g_assert_false (try_on (vmm, 0, G_MAXUINT64, &block));
  test_allocator_destroy (vmm);
}

/* gpu_memory_limit_mb counts the bytes held by all streams, and may be reached but not exceeded. */
static void
test_limit (void)
{
  GememAllocator *vmm = test_allocator_new (
      "paddle-vmm-auto-growth:FLAGS_gpu_memory_limit_mb=8,gpu_allocator_retry_time=0",
      "sim:capacity=1GiB,granularity=2MiB");
  GememBlock block;

  g_assert_true (try_on (vmm, 0, 3 * MIB, &block));
  g_assert_false (try_on (vmm, 7, 4 * MIB, &block));
  /* the limit refused, not the device */
  g_assert_cmpuint (vmm->device->calls[GEMEM_CALL_CREATE], ==, 1);
  g_assert_true (try_on (vmm, 7, 3 * MIB, &block));
  g_assert_cmpuint (vmm->device->held, ==, 8 * MIB);
  g_assert_true (try_on (vmm, 0, MIB, &block)); /* from mapped memory */
  g_assert_false (try_on (vmm, 0, MIB, &block));
  test_allocator_destroy (vmm);
}

/* alignment_size rounds requests, is added to a mapping, and is the largest remainder left
 * uncut. */
static void
test_alignment (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth:FLAGS_alignment_size=64KiB",
                                            "sim:capacity=1GiB,granularity=2MiB");
  GememBlock block = take (vmm, 2 * MIB - 0x20000 + 1);

  /* with the alignment exactly a page, which leaves no more than one alignment */
  g_assert_cmpuint (block.size, ==, 2 * MIB);
  expect (vmm, "", 2 * MIB);
  free_block (vmm, block);
  g_assert_cmpuint (take (vmm, 1).size, ==, 0x10000);
  g_assert_cmpuint (take (vmm, 2 * MIB - 0x10000 + 1).size, ==, 2 * MIB);
  expect (vmm, "(0x0,2031616)(0x200000,2097152)", 6 * MIB);
  test_allocator_destroy (vmm);

  /* pages have at least the alignment */
  vmm = test_allocator_new ("paddle-vmm-auto-growth:alignment_size=4KiB",
                            "sim:capacity=1GiB,granularity=512");
  g_assert_cmphex (take (vmm, 1).address % 4096, ==, 0);
  expect (vmm, "", 8192);
  test_allocator_destroy (vmm);
}

/* ---- StreamSafe (3.4) */

/* Mapped, waiting and free bytes, in MiB. */
static void
add_state (const GememSpan *span, gpointer data)
{
  ((guint64 *) data)[span->state] += span->size / MIB;
}

static void
expect_states (GememAllocator *allocator, guint64 live, guint64 pending, guint64 unused)
{
  guint64 sums[GEMEM_SPAN_UNMAPPED + 1] = { 0 };

  allocator->klass->walk (allocator, add_state, sums);
  g_assert_cmpuint (sums[GEMEM_SPAN_LIVE], ==, live);
  g_assert_cmpuint (sums[GEMEM_SPAN_PENDING], ==, pending);
  g_assert_cmpuint (sums[GEMEM_SPAN_FREE], ==, unused);
}

/* The event of another stream keeps a freed block until a request of the block's own stream
 * finds the event complete; the own stream needs no event. */
static void
test_uses (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "sim:capacity=1GiB,granularity=2MiB,event_latency=1ms");
  GememBlock a = take (vmm, MIB), b;

  vmm->klass->streams.use (vmm, &a, 0);
  g_assert_cmpuint (vmm->device->calls[GEMEM_CALL_EVENT_RECORD], ==, 0);
  vmm->klass->streams.use (vmm, &a, 7);
  free_block (vmm, a);
  expect_states (vmm, 0, 1, 1);
  b = take (vmm, MIB);
  g_assert_cmphex (b.address, ==, a.address - MIB);
  vmm->device->now += 2000000;
  g_assert_true (try_on (vmm, 3, MIB, &b)); /* its list is not searched */
  expect_states (vmm, 2, 1, 1);
  b = take (vmm, MIB);
  g_assert_cmphex (b.address, ==, a.address);
  expect_states (vmm, 3, 0, 1);
  test_allocator_destroy (vmm);
}

/* If the recording says when the block was freed, that counts and no event. */
static void
test_completion (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "sim:capacity=1GiB,granularity=2MiB");
  GememBlock a = take (vmm, MIB);

  vmm->klass->free (vmm, &a, TRUE);
  g_assert_cmphex (take (vmm, MIB).address, ==, a.address - MIB);
  expect_states (vmm, 1, 1, 0);
  vmm->klass->streams.complete (vmm, &a);
  expect_states (vmm, 1, 0, 1);
  g_assert_cmphex (take (vmm, MIB).address, ==, a.address);
  expect_states (vmm, 2, 0, 0);
  test_allocator_destroy (vmm);
}

/* Out of memory: the lists of all streams are searched. That helps no other stream, as no memory
 * is released to the device; the wait before the retry helps the own stream. */
static void
test_out_of_memory (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth:gpu_allocator_retry_time=5",
                                            "sim:capacity=8MiB,granularity=2MiB,event_latency=1ms");
  GememBlock a, b;

  g_assert_true (try_on (vmm, 1, 5 * MIB, &a));
  vmm->klass->streams.use (vmm, &a, 7);
  free_block (vmm, a);
  g_assert_false (try_on (vmm, 2, 3 * MIB, &b));
  expect_states (vmm, 0, 0, 6);
  g_assert_true (try_on (vmm, 1, 5 * MIB, &a));
  vmm->klass->streams.use (vmm, &a, 7);
  free_block (vmm, a);
  expect_states (vmm, 0, 5, 1);
  g_assert_true (try_on (vmm, 1, 5 * MIB, &b));
  g_assert_cmphex (b.address, ==, a.address);
  test_allocator_destroy (vmm);
}

static void
test_without_stream_safe (void)
{
  GememAllocator *vmm = test_allocator_new (
      "paddle-vmm-auto-growth:FLAGS_use_stream_safe_cuda_allocator=false",
      "sim:capacity=1GiB,granularity=2MiB");
  GememBlock a = take (vmm, MIB);

  g_assert_null (vmm->klass->streams.complete);
  g_assert_null (vmm->klass->streams.use);
  vmm->klass->free (vmm, &a, TRUE);
  g_assert_cmphex (take (vmm, MIB).address, ==, a.address);
  test_allocator_destroy (vmm);
}

/* ---- what is refused */

/* Zero bytes return a null pointer and change nothing. */
static void
test_zero (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth", "sim:capacity=1GiB");
  GememBlock block = take (vmm, 0);

  g_assert_cmphex (block.address, ==, 0);
  g_assert_cmpuint (block.size, ==, 0);
  vmm->klass->streams.use (vmm, &block, 1);
  vmm->klass->free (vmm, &block, TRUE);
  vmm->klass->streams.complete (vmm, &block);
  g_assert_cmpuint (vmm->device->calls[GEMEM_CALL_RESERVE], ==, 0);
  test_allocator_destroy (vmm);
}

static void
test_unsupported (void)
{
  GememAllocator *vmm = test_allocator_new ("paddle-vmm-auto-growth",
                                            "faulty:every=1,call=reserve,capacity=1GiB");
  GememBlock block;

  g_assert_false (try_on (vmm, 0, 1000, &block));
  g_assert_cmpuint (vmm->device->held, ==, 0);
  test_allocator_destroy (vmm);
}

/* ---- thread_local */

/* Each thread has chunks of its own, sized at its first request; a block is freed to the buddy
 * of its thread. */
static void
test_threads (void)
{
  GememAllocator *threads = test_allocator_new ("paddle-thread-local:initial_mb=4,realloc_mb=2",
                                                "sim:capacity=1GiB");
  GememBlock a, b, c;

  g_assert_true (try_on (threads, 5, 1000, &a));
  g_assert_true (try_on (threads, 9, 1000, &b));
  g_assert_cmpuint (threads->device->held, ==, 8 * MIB);
  free_block (threads, a);
  g_assert_true (try_on (threads, 9, 1000, &c));
  g_assert_cmphex (c.address, ==, b.address + 1280); /* not where a was */
  g_assert_true (try_on (threads, 5, 1000, &c));
  g_assert_cmphex (c.address, ==, a.address);
  free_block (threads, b), free_block (threads, c);
  threads->klass->trim (threads);
  g_assert_cmpuint (threads->device->held, ==, 4 * MIB); /* thread 9 still has a block */
  test_allocator_destroy (threads);
}

static void
test_threads_by_pool (void)
{
  GememAllocator *threads = test_allocator_new ("paddle-thread-local:thread=pool,fraction=0.5",
                                                "sim:capacity=1GiB");
  const GememRequest first = { .size = 100, .pool = 3 },
                     same = { .size = 100, .pool = 3, .stream = 8 },
                     other = { .size = 100, .pool = 4 };
  GememBlock block;
  guint64 held;

  g_assert_true (threads->klass->alloc (threads, &first, &block));
  held = threads->device->held;
  g_assert_true (threads->klass->alloc (threads, &same, &block));
  g_assert_cmpuint (threads->device->held, ==, held);
  /* half of what is left, less 5 % */
  g_assert_true (threads->klass->alloc (threads, &other, &block));
  g_assert_cmpuint (threads->device->held - held, <, held);
  g_assert_cmpuint (threads->device->held - held, >, held / 3);
  test_allocator_destroy (threads);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle-vmm-auto-growth/E17", test_e17);
  g_test_add_func ("/paddle-vmm-auto-growth/cut", test_cut);
  g_test_add_func ("/paddle-vmm-auto-growth/growth", test_growth);
  g_test_add_func ("/paddle-vmm-auto-growth/range", test_range);
  g_test_add_func ("/paddle-vmm-auto-growth/limit", test_limit);
  g_test_add_func ("/paddle-vmm-auto-growth/alignment", test_alignment);
  g_test_add_func ("/paddle-vmm-auto-growth/stream-safe/uses", test_uses);
  g_test_add_func ("/paddle-vmm-auto-growth/stream-safe/completion", test_completion);
  g_test_add_func ("/paddle-vmm-auto-growth/stream-safe/out-of-memory", test_out_of_memory);
  g_test_add_func ("/paddle-vmm-auto-growth/stream-safe/switched-off", test_without_stream_safe);
  g_test_add_func ("/paddle-vmm-auto-growth/zero", test_zero);
  g_test_add_func ("/paddle-vmm-auto-growth/unsupported", test_unsupported);
  g_test_add_func ("/paddle-thread-local/threads", test_threads);
  g_test_add_func ("/paddle-thread-local/by-pool", test_threads_by_pool);
  return g_test_run ();
}
