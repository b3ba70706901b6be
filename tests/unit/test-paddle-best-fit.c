/* test-paddle-best-fit.c - PaddlePaddle's chunked BestFit: example E9 of paddle.md, the rules of
 * 2.10 one by one, and the meaning of `paddle`, `paddle-naive-best-fit` and `paddle-legacy` in
 * each version. */
#include "config.h"

#include <string.h>

#include "tests/util/rig.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)

static gboolean
try_take (GememAllocator *allocator, guint64 size, GememBlock *block)
{
  const GememRequest request = { .size = size };
  g_autoptr (GError) error = NULL;
  const gboolean served = allocator->klass->alloc (allocator, &request, block);

  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
  return served;
}

/* A block of @size bytes, checked to lie at @offset from the first chunk and to report @reported
 * bytes. */
static GememBlock
take (GememAllocator *allocator, guint64 size, guint64 offset, guint64 reported)
{
  GememBlock block;

  g_assert_true (try_take (allocator, size, &block));
  g_assert_cmphex (block.address, ==, BASE + offset);
  g_assert_cmpuint (block.size, ==, reported);
  return block;
}

static void
add_free (const GememSpan *span, gpointer data)
{
  if (span->state == GEMEM_SPAN_FREE)
    g_string_append_printf (data, "(%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ")",
                            span->address - span->segment, span->size);
}

static void
expect_free (GememAllocator *allocator, const char *blocks)
{
  g_autoptr (GString) text = g_string_new (NULL);

  allocator->klass->walk (allocator, add_free, text);
  g_assert_cmpstr (text->str, ==, blocks);
}

/* A block of 4 * @size bytes of the bare BestFit at 4 * @offset: Aligned<64> asks for 64 bytes
 * more than requested, and returns the next multiple of 64 with the remainder. */
static GememBlock
take_core (GememAllocator *allocator, guint64 size, guint64 offset)
{
  const guint64 rest = -(4 * offset) % 64;

  return take (allocator, 4 * size - 64, 4 * offset + rest, 4 * size - rest);
}

/* E9. Paddle's own test is of the BestFit within Aligned<64>, with blocks too small for it; best
 * fit has no unit, so all sizes can be four times as large. */
static void
test_e9 (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=16GiB,chunks=1",
                                            "sim:capacity=32GiB");
  GememBlock a, b, c;

  free_block (fit, take_core (fit, 64, 0));
  a = take_core (fit, 80, 0);
  b = take_core (fit, 60, 80);
  c = take_core (fit, 90, 140);
  free_block (fit, b);
  b = take_core (fit, 30, 80);
  expect_free (fit, "(440,120)(920,17179868264)");
  free_block (fit, b);
  b = take_core (fit, 60, 80);
  free_block (fit, a), free_block (fit, b);
  a = take_core (fit, 140, 0);
  free_block (fit, a);
  a = take_core (fit, 80, 0);
  b = take_core (fit, 60, 80);
  free_block (fit, a), free_block (fit, b), free_block (fit, c);
  expect_free (fit, "(0,17179869184)"); /* a single block */
  test_allocator_destroy (fit);
}

static void
test_e9_aligned (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=1MiB,chunks=1",
                                            "sim:capacity=1GiB");
  GememBlock first = take (fit, 100, 0, 164), second = take (fit, 100, 192, 136),
             third = take (fit, 1000, 384, 1008), a;

  expect_free (fit, "(1392,1047184)");
  free_block (fit, first);
  a = take (fit, 36, 0, 100);
  expect_free (fit, "(100,64)(1392,1047184)");
  free_block (fit, a), free_block (fit, second), free_block (fit, third);
  expect_free (fit, "(0,1048576)");
  g_assert_cmpuint (fit->klass->largest_free (fit, 0), ==, MIB - 64);
  g_assert_cmpuint (fit->device->held, ==, MIB);
  test_allocator_destroy (fit);
}

/* ZeroSizeAllocator is the topmost layer. */
static void
test_nothing (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=1MiB,chunks=2",
                                            "sim:capacity=1GiB");
  GememBlock block;

  g_assert_true (try_take (fit, 0, &block));
  g_assert_cmphex (block.address, ==, 0);
  g_assert_cmpuint (fit->device->held, ==, 0);
  free_block (fit, block);
  test_allocator_destroy (fit);
}

/* Among free blocks of one size the one freed first is taken, regardless of its address. */
static void
test_ties (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=1MiB,chunks=1",
                                            "sim:capacity=1GiB");
  GememBlock blocks[6];

  for (guint i = 0; i < 6; i++)
    blocks[i] = take (fit, 960, i * 1024, 1024);
  /* the last coalesces with the rest of the chunk */
  free_block (fit, blocks[3]), free_block (fit, blocks[1]), free_block (fit, blocks[5]);
  take (fit, 960, 3 * 1024, 1024);
  take (fit, 960, 1 * 1024, 1024);
  take (fit, 960, 5 * 1024, 1024);
  test_allocator_destroy (fit);
}

/* The chunk that served last is searched first, then the others in a circle, then a new one is
 * allocated; chunks are never released. */
static void
test_chunks (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=2MiB,chunks=3",
                                            "sim:capacity=1GiB");
  const guint64 chunk = 2 * MIB, all = chunk - 64;
  GememBlock a, b, c, block;

  g_assert_cmpuint (fit->device->held, ==, 0); /* more than one: on demand */
  a = take (fit, all, 0, chunk);
  b = take (fit, all, chunk, chunk);
  c = take (fit, all, 2 * chunk, chunk);
  g_assert_false (try_take (fit, 1, &block));
  free_block (fit, a), free_block (fit, b), free_block (fit, c);
  g_assert_cmpuint (fit->device->held, ==, 3 * chunk);
  take (fit, 936, 2 * chunk, 1000); /* the last one served last */
  a = take (fit, all, 0, chunk);    /* it has no space now: the search goes on in the circle */
  take (fit, 936, chunk, 1000);     /* after 0 comes 1 */
  take (fit, 936, chunk + 1024, 1000 - 24);
  g_assert_cmpuint (fit->device->held, ==, 3 * chunk);
  test_allocator_destroy (fit);
}

/* Requests of a chunk's size go to the device unchanged; a little less can never be served, and
 * each such attempt costs a chunk. */
static void
test_large (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit:max_chunk=2MiB,chunks=3",
                                            "sim:capacity=1GiB");
  GememBlock block = take (fit, 2 * MIB, 0, 2 * MIB);

  g_assert_cmpuint (fit->device->held, ==, 2 * MIB);
  free_block (fit, block);
  g_assert_cmpuint (fit->device->held, ==, 0);
  for (guint i = 1; i <= 4; i++)
    {
      g_assert_false (try_take (fit, 2 * MIB - 1, &block));
      g_assert_cmpuint (fit->device->held, ==, MIN (i, 3) * 2 * MIB);
    }
  test_allocator_destroy (fit);
}

/* Sizes of the chunks by the flags: E10's first row, where one chunk is allocated at once; the
 * larger of the two sizes; P13 has no sizes. */
static void
test_chunk_size (void)
{
  GememAllocator *fit = test_allocator_new ("paddle-best-fit", "sim:capacity=8GiB");

  g_assert_cmpuint (fit->device->held, ==, G_GUINT64_CONSTANT (7507602963));
  test_allocator_destroy (fit);
  fit = test_allocator_new ("paddle-best-fit:preset=P13", "sim:capacity=8GiB");
  g_assert_cmpuint (fit->device->held, ==, G_GUINT64_CONSTANT (7507602970));
  test_allocator_destroy (fit);
  fit = test_allocator_new (
      "paddle-best-fit:FLAGS_initial_gpu_memory_in_mb=16,FLAGS_reallocate_gpu_memory_in_mb=8",
      "sim:capacity=1GiB");
  g_assert_cmpuint (fit->device->held, ==, 0);
  take (fit, 1, 0, 65);
  g_assert_cmpuint (fit->device->held, ==, 16 * MIB);
  test_allocator_destroy (fit);
}

/* ---- strategies */

/* Checks that @spec means @klass with @settings. */
static void
expect_choice (const char *spec, const char *klass, const char *settings)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  const GememAllocatorSpec *one;

  gemem_allocator_spec_parse (spec, specs, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (specs->len, ==, 1);
  one = g_ptr_array_index (specs, 0);
  for (guint i = 0; i < one->settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (one->settings, i);
      g_string_append_printf (text, "%s%s=%s", i > 0 ? "," : "", setting->key, setting->value);
    }
  g_assert_cmpstr (one->klass->name, ==, klass);
  g_assert_cmpstr (one->label, ==, spec);
  g_assert_cmpstr (text->str, ==, settings);
}

static void
test_strategies (void)
{
  expect_choice ("paddle", "paddle-auto-growth", "version=3.x");
  expect_choice ("paddle:version=1.6", "paddle-buddy", "version=1.6");
  expect_choice ("paddle:version=1.7", "paddle-auto-growth", "version=1.7");
  expect_choice ("paddle:version=1.8.5", "paddle-auto-growth", "version=1.8");
  expect_choice ("paddle:preset=P16", "paddle-auto-growth", "version=2.0");
  expect_choice ("paddle:preset=P13", "paddle-buddy", "version=1.3");
  expect_choice ("paddle:preset=P14,FLAGS_allocator_strategy=naive_best_fit,initial_mb=3",
                 "paddle-best-fit", "initial_mb=3,version=1.5");
  expect_choice ("paddle:FLAGS_allocator_strategy=naive_best_fit,FLAGS_initial_gpu_memory_in_mb=3",
                 "paddle-buddy", "FLAGS_initial_gpu_memory_in_mb=3,version=3.x");
  expect_choice ("paddle:preset=P16,allocator_strategy=auto_growth", "paddle-auto-growth",
                 "version=2.0");
  expect_choice ("paddle:version=2.0,allocator_strategy=thread_local", "paddle-thread-local",
                 "version=2.0");
  expect_choice ("paddle:version=2.6,use_virtual_memory_auto_growth=yes", "paddle-vmm-auto-growth",
                 "version=2.6");
  expect_choice ("paddle:FLAGS_use_system_allocator=1", "direct", "");
  expect_choice ("paddle-naive-best-fit", "paddle-buddy", "version=2.0");
  expect_choice ("paddle:preset=P2,place=cpu", "paddle-buddy", "version=2.6,place=cpu");
  expect_choice ("paddle:place=cpu", "direct", "");
  expect_choice ("paddle:place=pinned", "paddle-buddy", "version=3.x,place=pinned");
  expect_choice ("paddle-naive-best-fit:preset=P14,place=pinned", "paddle-buddy",
                 "version=1.5,place=pinned");
  expect_choice ("paddle-legacy:place=cpu,initial_cpu_memory_in_mb=100", "paddle-buddy",
                 "initial_cpu_memory_in_mb=100,version=1.5,place=cpu");
  expect_choice ("paddle-naive-best-fit:preset=P14", "paddle-best-fit", "version=1.5");
  expect_choice ("paddle-legacy", "paddle-buddy", "version=1.5");
  expect_choice ("paddle-legacy:preset=P13,free_idle_memory=yes", "paddle-buddy",
                 "free_idle_memory=yes,version=1.3");
}

/* The manual of 1.5: legacy by default, naive_best_fit the new design, whatever the version. */
static void
test_documented (void)
{
  expect_choice ("paddle:rules=documented", "paddle-buddy", "version=1.5,rules=documented");
  expect_choice ("paddle:rules=documented,version=2.6", "paddle-buddy",
                 "version=2.6,rules=documented");
  expect_choice ("paddle:rules=documented,version=2.6,allocator_strategy=naive_best_fit",
                 "paddle-best-fit", "version=1.5,rules=documented");
  expect_choice ("paddle-naive-best-fit:rules=documented", "paddle-best-fit",
                 "version=1.5,rules=documented");
  expect_choice ("paddle-legacy:rules=documented", "paddle-buddy", "rules=documented,version=1.5");
  expect_choice ("paddle:rules=documented,version=3.x,place=cpu", "paddle-buddy",
                 "version=3.x,place=cpu,rules=documented");
}

static void
expect_refusal (const char *spec, const char *message)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;

  g_assert_false (gemem_allocator_spec_parse (spec, specs, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_refusals (void)
{
  expect_refusal ("paddle:preset=P16,FLAGS_allocator_strategy=legacy",
                  "paddle: allocator_strategy=legacy does not exist in version=2.0; 1.2 to 1.5 "
                  "have it (choose version=1.5 or earlier), and since 1.6 its allocator is called "
                  "naive_best_fit");
  expect_refusal ("paddle:rules=documented,allocator_strategy=auto_growth",
                  "paddle: allocator_strategy=auto_growth does not exist in version=1.5 as "
                  "documented; the manual has legacy and naive_best_fit; choose one of them, or "
                  "rules=as-built");
  expect_refusal ("paddle:version=1.8,allocator_strategy=thread_local",
                  "paddle: allocator_strategy=thread_local does not exist in version=1.8; it came "
                  "with 2.0: choose version=2.0 or later");
  expect_refusal ("paddle:version=2.2,use_virtual_memory_auto_growth=yes",
                  "paddle: use_virtual_memory_auto_growth would have no effect: it came with 2.2, "
                  "but 2.2.2 ignores it; choose version=2.3 or later");
  expect_refusal ("paddle:preset=P14,FLAGS_allocator_strategy=auto_growth",
                  "paddle: allocator_strategy=auto_growth does not exist in version=1.5; it came "
                  "with 1.6: choose version=1.6 or later");
  expect_refusal ("paddle:FLAGS_initial_gpu_memory_in_mb=500",
                  "paddle: FLAGS_initial_gpu_memory_in_mb has no effect here: these settings mean "
                  "paddle-auto-growth, and it belongs to paddle-buddy; choose version=1.5, "
                  "allocator_strategy=naive_best_fit or rules=documented, or leave it out");
  expect_refusal ("paddle:FLAGS_intial_gpu_memory_in_mb=500",
                  "paddle: unknown flag 'FLAGS_intial_gpu_memory_in_mb'; did you mean "
                  "'FLAGS_initial_gpu_memory_in_mb'?");
  expect_refusal ("paddle-naive-best-fit:preset=P16,use_virtual_memory_auto_growth=yes",
                  "allocator paddle-buddy: unknown parameter 'use_virtual_memory_auto_growth'; "
                  "known are version, place, rules, platform, total, available, "
                  "fraction_of_gpu_memory_to_use, initial_gpu_memory_in_mb, "
                  "reallocate_gpu_memory_in_mb, free_idle_memory, gpu_memory_limit_mb, "
                  "gpu_allocator_retry_time, fraction_of_cpu_memory_to_use, "
                  "initial_cpu_memory_in_mb, fraction_of_cuda_pinned_memory_to_use, "
                  "use_pinned_memory");
  expect_refusal ("paddle-legacy:preset=P16",
                  "paddle-legacy: preset='P16': not one of default, 1.2, 1.3, 1.4, 1.5; did you "
                  "mean 'P13'?");
  expect_refusal (
      "paddle-best-fit:preset=P16",
      "allocator paddle-best-fit: preset='P16': not one of 1.2, 1.3, 1.4, 1.5; did you mean "
      "'P13'?");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle-best-fit/E9", test_e9);
  g_test_add_func ("/paddle-best-fit/E9/aligned", test_e9_aligned);
  g_test_add_func ("/paddle-best-fit/nothing", test_nothing);
  g_test_add_func ("/paddle-best-fit/ties", test_ties);
  g_test_add_func ("/paddle-best-fit/chunks", test_chunks);
  g_test_add_func ("/paddle-best-fit/large", test_large);
  g_test_add_func ("/paddle-best-fit/chunk-size", test_chunk_size);
  g_test_add_func ("/paddle/strategies", test_strategies);
  g_test_add_func ("/paddle/documented", test_documented);
  g_test_add_func ("/paddle/refusals", test_refusals);
  return g_test_run ();
}
