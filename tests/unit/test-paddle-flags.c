/* test-paddle-flags.c - the effect of each flag of PaddlePaddle, and the decisions that differ
 * between versions.
 *
 * Compared are the bytes held after a few requests, with and without the flag, computed by hand
 * from paddle.md sections 1 to 3; and two devices must be independent. Bad values are in
 * test-cli-paddle.sh.
 */
#include "config.h"

#include "allocators/paddle/unmodelled.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

/* 'a': request of `size` on `stream`; 'f': frees the newest block; 't': trim. */
typedef struct
{
  char kind;
  guint64 size, stream;
} Op;

typedef struct
{
  const char *name, *spec[2];
  guint64 held[2];
  Op ops[9];
} Row;

#define GROWTH "paddle-auto-growth:"
#define BUDDY "paddle-buddy:initial_mb=1,realloc_mb=1,"
#define FULL \
  { \
    'a', MIB - 64, 0 \
  }
#define P13_MIB \
  "paddle-buddy:preset=P13,fraction=0.0010279606" /* 1 GiB less 5 % times this is 1 MiB */

static const Row flags[] = {
  { "fraction_of_gpu_memory_to_use",
    { "paddle-buddy:fraction=0.5", "paddle-buddy:FLAGS_fraction_of_gpu_memory_to_use=0.25" },
    { 510027366, 255013683 },
    { { 'a', 1, 0 } } },
  { "initial_gpu_memory_in_mb",
    { "paddle-buddy:initial_mb=4", "paddle-buddy:FLAGS_initial_gpu_memory_in_mb=6" },
    { 4 * MIB, 6 * MIB },
    { { 'a', 1, 0 } } },
  { "reallocate_gpu_memory_in_mb",
    { "paddle-buddy:initial_mb=1,realloc_mb=2",
      "paddle-buddy:initial_mb=1,FLAGS_reallocate_gpu_memory_in_mb=3" },
    { 3 * MIB, 4 * MIB },
    { FULL, { 'a', 1, 0 } } },
  { "free_idle_memory",
    { P13_MIB, P13_MIB ",FLAGS_free_idle_memory=true" },
    { 4 * MIB, 2 * MIB },
    { FULL, FULL, FULL, FULL, { 'f', 0, 0 }, { 'f', 0, 0 }, { 'f', 0, 0 }, { 'f', 0, 0 } } },
  { "gpu_memory_limit_mb",
    { GROWTH "gpu_allocator_retry_time=0", GROWTH "FLAGS_gpu_memory_limit_mb=8" },
    { 10 * MIB, 5 * MIB },
    { { 'a', 5 * MIB, 0 }, { 'a', 5 * MIB, 0 } } },
  { "use_system_allocator",
    { "paddle", "paddle:FLAGS_use_system_allocator=true" },
    { 1024, 1000 },
    { { 'a', 1000, 0 } } },
  { "allocator_strategy",
    { "paddle", "paddle:FLAGS_allocator_strategy=naive_best_fit,initial_mb=1" },
    { 1024, MIB },
    { { 'a', 1000, 0 } } },
  { "use_virtual_memory_auto_growth",
    { "paddle", "paddle:FLAGS_use_virtual_memory_auto_growth=true" },
    { 1024, 2 * MIB },
    { { 'a', 1000, 0 } } },
  { "free_idle_chunk",
    { "paddle", "paddle:FLAGS_free_idle_chunk=true" },
    { 1024, 0 },
    { { 'a', 1000, 0 }, { 'f', 0, 0 } } },
  { "free_when_no_cache_hit",
    { "paddle", "paddle:FLAGS_free_when_no_cache_hit=true" },
    { 8704, 4608 },
    { { 'a', 4096, 0 }, { 'f', 0, 0 }, { 'a', 4608, 0 }, { 'f', 0, 0 } } },
  { "auto_growth_chunk_size_in_mb",
    { "paddle", "paddle:FLAGS_auto_growth_chunk_size_in_mb=1" },
    { 1024, MIB },
    { { 'a', 1000, 0 } } },
  { "alignment_size",
    { "paddle", "paddle:FLAGS_alignment_size=4096" },
    { 1024, 4096 },
    { { 'a', 1000, 0 } } },
  { "alignment_size/virtual-memory",
    { "paddle:use_virtual_memory_auto_growth=yes",
      "paddle:use_virtual_memory_auto_growth=yes,FLAGS_alignment_size=1MiB" },
    { 2 * MIB, 4 * MIB },
    { { 'a', 2 * MIB - 4096, 0 } } },
  { "use_auto_growth_v2",
    { "paddle", "paddle:FLAGS_use_auto_growth_v2=true" },
    { 2048, 3072 },
    { { 'a', 2000, 0 }, { 'f', 0, 0 }, { 'a', 1000, 0 } } },
  { "small_pool_size_in_mb",
    { "paddle", "paddle:FLAGS_small_pool_size_in_mb=1" },
    { 2 * MIB, 2 * MIB + 1024 },
    { { 'a', 2 * MIB, 0 }, { 'f', 0, 0 }, { 'a', 1000, 0 } } },
  { "small_pool_auto_growth_chunk_size_in_mb",
    { "paddle:small_pool_size_in_mb=1",
      "paddle:small_pool_size_in_mb=1,FLAGS_small_pool_auto_growth_chunk_size_in_mb=2" },
    { 1024, 2 * MIB },
    { { 'a', 1000, 0 } } },
  { "large_pool_auto_growth_chunk_size_in_mb",
    { "paddle:small_pool_size_in_mb=1",
      "paddle:small_pool_size_in_mb=1,FLAGS_large_pool_auto_growth_chunk_size_in_mb=4" },
    { 2 * MIB, 4 * MIB },
    { { 'a', 2 * MIB, 0 } } },
  { "small_pool_pre_alloc_in_mb",
    { "paddle:small_pool_size_in_mb=1",
      "paddle:small_pool_size_in_mb=1,FLAGS_small_pool_pre_alloc_in_mb=3" },
    { 1024, 3 * MIB },
    { { 'a', 1000, 0 } } },
  { "large_pool_pre_alloc_in_mb",
    { "paddle:small_pool_size_in_mb=1",
      "paddle:small_pool_size_in_mb=1,FLAGS_large_pool_pre_alloc_in_mb=6" },
    { 1024, 6 * MIB + 1024 },
    { { 'a', 1000, 0 } } },
  { "fraction_of_cpu_memory_to_use",
    { "paddle-buddy:place=cpu", "paddle-buddy:place=cpu,FLAGS_fraction_of_cpu_memory_to_use=0.5" },
    { 32 * MIB, 16 * MIB },
    { { 'a', 1, 0 } } },
  { "initial_cpu_memory_in_mb",
    { "paddle-buddy:place=cpu", "paddle-buddy:place=cpu,FLAGS_initial_cpu_memory_in_mb=8" },
    { 32 * MIB, 8 * MIB },
    { { 'a', 1, 0 } } },
  { "fraction_of_cuda_pinned_memory_to_use",
    { "paddle:place=pinned",
      "paddle:place=pinned,FLAGS_fraction_of_cuda_pinned_memory_to_use=0.25" },
    { 2 * MIB, MIB },
    { { 'a', 1, 0 } } },
};

/* The same settings and requests in two versions. */
static const Row versions[] = {
  { "total-or-available",
    { "paddle-buddy:preset=P14,available=512MiB,fraction=0.25",
      "paddle-buddy:preset=P16,available=512MiB,fraction=0.25" },
    { 255013683, 127506841 },
    { { 'a', 1, 0 } } },
  { "double-or-single",
    { "paddle-buddy:preset=P13,fraction=1", "paddle-buddy:preset=P14,fraction=1" },
    { 1020054733, 1020054732 },
    { { 'a', 1, 0 } } },
  { "too-much-asked",
    { "paddle-buddy:preset=P14,available=512MiB,fraction=0.75",
      "paddle-buddy:preset=P16,available=512MiB,fraction=0.75" },
    { 0, 382520524 },
    { { 'a', 1, 0 } } },
  { "zero-sizes", { BUDDY "preset=P14", BUDDY "preset=P16" }, { MIB, 0 }, { { 'a', 0, 0 } } },
  { "release",
    { BUDDY "preset=P14", BUDDY "preset=P16" },
    { MIB, 0 },
    { { 'a', 1000, 0 }, { 'f', 0, 0 }, { 't', 0, 0 } } },
  { "naive-best-fit",
    { "paddle-naive-best-fit:preset=P14,initial_mb=1,realloc_mb=1",
      "paddle-naive-best-fit:preset=P16,initial_mb=1,realloc_mb=1" },
    { MIB, MIB + 256 },
    { { 'a', MIB, 0 } } },
  { "aligned-chunks",
    { GROWTH "preset=P16", GROWTH "preset=P2" },
    { 1280, 1024 },
    { { 'a', 1000, 0 } } },
  { "pools-of-streams",
    { GROWTH "preset=P16", GROWTH "preset=P2" },
    { 1280, 2048 },
    { { 'a', 1000, 0 }, { 'f', 0, 0 }, { 'a', 1000, 7 } } },
  /* naive_best_fit in 1.6; the wheels 1.7.0, 1.8.5 and 2.0.2 have auto_growth, which is aligned */
  { "default-strategy",
    { "paddle:version=1.6,fraction=0.5", "paddle:version=1.7" },
    { 510027366, 1280 },
    { { 'a', 1000, 0 } } },
  { "aligned-until-2.2",
    { "paddle:version=2.2", "paddle:version=2.5" },
    { 6656, 6400 },
    { { 'a', 6281, 0 } } },
  { "host-memory",
    { "paddle:preset=P2,place=cpu", "paddle:preset=P3,place=cpu" },
    { 32 * MIB, 1000 },
    { { 'a', 1000, 0 } } },
};

/* The same settings and requests as documented and as built (13.1); the total is 1 GiB. */
static const Row rules[] = {
  { "fraction-of-the-total",
    { "paddle-buddy:rules=documented,fraction=0.1", "paddle-buddy:fraction=0.1" },
    { 107374182, 102005473 },
    { { 'a', 1, 0 } } },
  { "a-second-chunk-of-the-same-size",
    { "paddle-buddy:rules=documented,fraction=0.4", "paddle-buddy:fraction=0.4" },
    { 2 * 429496729, 408021892 + 252973573 },
    { { 'a', 300 * MIB, 0 }, { 'a', 200 * MIB, 0 } } },
  { "whatever-is-available",
    { "paddle-buddy:rules=documented,fraction=0.25,available=512MiB",
      "paddle-buddy:fraction=0.25,available=512MiB" },
    { 268435456, 127506841 },
    { { 'a', 1, 0 } } },
  { "fraction-of-the-total/thread-local",
    { "paddle-thread-local:rules=documented,fraction=0.1", "paddle-thread-local:fraction=0.1" },
    { 107374182, 102005473 },
    { { 'a', 1, 0 } } },
  { "fraction-of-the-total/chunked",
    { "paddle-best-fit:rules=documented,fraction=0.1", "paddle-best-fit:fraction=0.1" },
    { 107374182, 102005473 },
    { { 'a', 1, 0 } } },
  { "host-chunk",
    { "paddle-buddy:place=cpu,rules=documented,initial_cpu_memory_in_mb=100",
      "paddle-buddy:place=cpu,initial_cpu_memory_in_mb=100" },
    { 100 * MIB, 32 * MIB },
    { { 'a', 1, 0 } } },
  { "idle-memory",
    { BUDDY "version=1.5,free_idle_memory=yes,rules=documented", BUDDY "version=1.5" },
    { 2 * MIB, 4 * MIB },
    { FULL, FULL, FULL, FULL, { 'f', 0, 0 }, { 'f', 0, 0 }, { 'f', 0, 0 }, { 'f', 0, 0 } } },
  { "default-on-windows",
    { "paddle-buddy:platform=windows", "paddle-buddy" },
    { 510027366, 938450370 },
    { { 'a', 1, 0 } } },
};

/* Runs an operation; @n counts the live @blocks. */
static void
apply (GememAllocator *allocator, const Op *op, GememBlock *blocks, guint *n)
{
  const GememRequest request = { .size = op->size, .stream = op->stream };

  if (op->kind == 'a')
    *n += allocator->klass->alloc (allocator, &request, &blocks[*n]);
  else if (op->kind == 't')
    allocator->klass->trim (allocator);
  else
    allocator->klass->free (allocator, &blocks[--*n], FALSE);
}

static void
test_row (gconstpointer data)
{
  const Row *row = data;

  for (guint side = 0; side < 2; side++)
    {
      GememAllocator *allocator = test_allocator_new (row->spec[side], "sim:capacity=1GiB");
      GememBlock blocks[G_N_ELEMENTS (row->ops)];
      guint n = 0;

      for (const Op *op = row->ops; op->kind != '\0'; op++)
        apply (allocator, op, blocks, &n);
      if (allocator->device->held != row->held[side])
        g_error ("%s: holds %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, row->spec[side],
                 allocator->device->held, row->held[side]);
      test_allocator_destroy (allocator);
    }
  g_assert_cmpuint (row->held[0], !=, row->held[1]);
}

/* use_pinned_memory: the statistic `locked` is all that the host's chunks hold, or 0. */
static void
keep_locked (const char *name, guint64 value, const char *unit, gpointer data)
{
  if (strcmp (name, "locked") == 0)
    *(guint64 *) data = value;
}

static void
test_locked (void)
{
  static const struct
  {
    const char *spec;
    guint64 locked; /* G_MAXUINT64: no such statistic */
  } cases[] = { { "paddle-buddy:place=cpu,initial_cpu_memory_in_mb=8", 8 * MIB + 10489856 },
                { "paddle-buddy:place=cpu,initial_cpu_memory_in_mb=8,use_pinned_memory=no", 0 },
                { "paddle-buddy:initial_mb=1", G_MAXUINT64 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememAllocator *allocator = test_allocator_new (cases[i].spec, "sim:capacity=1GiB");
      const GememRequest small = { .size = 1 }, large = { .size = 10 * MIB };
      GememBlock blocks[2];
      guint64 locked = G_MAXUINT64;

      g_assert_true (allocator->klass->alloc (allocator, &small, &blocks[0]));
      g_assert_true (allocator->klass->alloc (allocator, &large, &blocks[1]));
      allocator->klass->report.stats (allocator, keep_locked, &locked);
      g_assert_cmpuint (locked, ==, cases[i].locked);
      test_allocator_destroy (allocator);
    }
}

/* A refused device call: until 1.5 the request fails at once, since 1.6 after ten seconds and a
 * second attempt. */
static void
test_waits (void)
{
  static const struct
  {
    const char *spec;
    guint64 seconds;
  } cases[] = { { "paddle:preset=P13,capacity=64MiB", 0 },
                { "paddle:preset=P14,initial_mb=1,realloc_mb=1,capacity=8MiB", 0 },
                { "paddle:version=1.6,initial_mb=1,realloc_mb=1,capacity=8MiB", 10 },
                { "paddle:preset=P2,capacity=8MiB", 10 },
                { "paddle:preset=P3,use_virtual_memory_auto_growth=yes,capacity=8MiB", 10 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememAllocator *allocator = test_allocator_new (cases[i].spec, NULL);
      const GememRequest request = { .size = 60 * MIB };
      GememBlock block;
      gboolean first = allocator->klass->alloc (allocator, &request, &block);

      g_assert_false (first && allocator->klass->alloc (allocator, &request, &block));
      g_assert_cmpuint (allocator->device->now / 1000000000, ==, cases[i].seconds);
      test_allocator_destroy (allocator);
    }
}

/* Devices 0 and 3: one allocator does not see the memory of the other, and no memory is
 * allocated before the first request. */
static void
test_two_devices (gconstpointer spec)
{
  static const int ordinals[] = { 0, 3 };
  GememAllocator *on[2];
  GememBlock block;
  const GememRequest request = { .size = 1000 };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

      g_assert_true (gemem_allocator_spec_parse (spec, specs, NULL));
      on[i] = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL,
                                   gemem_device_new ("sim:capacity=1GiB", NULL, ordinals[i], NULL),
                                   NULL);
      g_assert_cmpuint (on[i]->device->held, ==, 0);
    }
  g_assert_true (on[1]->klass->alloc (on[1], &request, &block));
  g_assert_cmpuint (on[0]->device->held, ==, 0);
  g_assert_cmpuint (on[0]->device->calls[GEMEM_CALL_MALLOC], ==, 0);
  g_assert_cmpuint (on[1]->device->held, >=, 1024);
  for (guint i = 0; i < 2; i++)
    test_allocator_destroy (on[i]);
}

/* A flag is a parameter of a class or in the list of unmodelled flags, never both. */
static void
test_unmodelled (void)
{
  for (const GememPaddleUnmodelled *flag = gemem_paddle_unmodelled; flag->name != NULL; flag++)
    {
      g_autofree char *variable = g_strconcat ("FLAGS_", flag->name, NULL);

      g_assert_true (gemem_paddle_unmodelled_find (variable) == flag);
      for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
        g_assert_null (gemem_params_find_variable ((*c)->params, variable));
    }
  g_assert_null (gemem_paddle_unmodelled_find ("FLAGS_free_idle_chunk"));
}

static void
add_rows (const char *path, const Row *rows, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat (path, rows[i].name, NULL);
      g_test_add_data_func (name, &rows[i], test_row);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_rows ("/paddle/flags/", flags, G_N_ELEMENTS (flags));
  add_rows ("/paddle/versions/", versions, G_N_ELEMENTS (versions));
  add_rows ("/paddle/rules/", rules, G_N_ELEMENTS (rules));
  g_test_add_data_func ("/paddle/two-devices/buddy", "paddle-buddy:initial_mb=1", test_two_devices);
  g_test_add_data_func ("/paddle/two-devices/auto-growth", "paddle-auto-growth", test_two_devices);
  g_test_add_func ("/paddle/versions/waits", test_waits);
  g_test_add_func ("/paddle/unmodelled", test_unmodelled);
  g_test_add_func ("/paddle/locked", test_locked);
  return g_test_run ();
}
