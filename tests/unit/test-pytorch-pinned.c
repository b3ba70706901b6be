/* test-pytorch-pinned.c - `pytorch-pinned` against what PyTorch did in the same order of operations: each row of
 * a table was printed by a real wheel (2.6, 2.10, 2.13, 2.15; see peers.md 1a.15), blocks numbered by their first appearance.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

typedef struct
{
  const char *settings;
  /* "a+SIZE=BLOCK" (KiB, or bytes with B), "a-", "a>" (a stream uses it), "E" (the cache is emptied) */
  const char *operations;
  guint64 held; /* of the driver at the end */
} Run;

static const Run runs[] = {
  /* the newest of the class is taken, whatever was freed before */
  { "", "a+3072=0 b+3072=1 c+3072=2 a- b- c- d+3072=2 e+3072=1 f+3072=0", 12 * MIB },
  { "version=2.6", "a+3072=0 b+3072=1 c+3072=2 a- b- c- d+3072=2 e+3072=1 f+3072=0", 12 * MIB },
  /* 20 MiB of a class below 40's; larger blocks serve nothing smaller */
  { "", "a+40960=0 a- b+20480=1 c+20480=2", 128 * MIB },
  { "", "a+1B=0 a- b+1B=0 c+2B=1 d+3B=2 c- e+2B=1 d- f+4B=2 E", 7 },
  { "", "a+3072=0 a- E", 0 },
  /* what streams used is looked at by the next request, after what was free before */
  { "",
    "a+3072=0 b+3072=1 c+3072=2 d+3072=3 a> b> c> c- d- b- a- e+3072=0 f+3072=1 g+3072=2 h+3072=3",
    16 * MIB },
  { "", "g+30720=0 g> g- h+30720=0 i+30720=1", 64 * MIB },
  /* as they are above the threshold: the newest that is large enough */
  { "pinned_max_round_threshold_mb=8",
    "a+3072=0 b+9437189B=1 c+20480=2 b- c- a- d+10240=3 e+20480=2 f+5120=4 g+9437189B=1 "
    "h+8388609B=5 "
    "i+8192=6 i- h- d- j+61440=7 E",
    101711877 },
  { "pinned_max_round_threshold_mb=8",
    "a+16384=0 b+10240=1 c+16384=2 a- b- d+12288=0 e+9216=1 c- d- f+9216=0", 44040192 },
  { "pinned_max_round_threshold_mb=0", "a+1B=0 b+3B=1 a- b- c+3B=1", 4 },
  /* what is too large to be kept; the smaller of both decides what is rounded */
  { "pinned_max_cached_size_mb=8", "a+3072=0 b+9437189B=1 c+20480=2 b- c- a- d+10240=3 i+8192=4 i-",
    4194304 + 10485760 + 8388608 },
  { "pinned_max_cached_size_mb=0", "a+1B=0 b+3B=1 a- b- c+3B=2", 3 },
  { "pinned_max_round_threshold_mb=32,pinned_max_cached_size_mb=16",
    "a+12288=0 b+20480=1 c+40960=2 a- b- c- d+12288=0 e+20480=3", 37748736 },
  { "pinned_max_round_threshold_mb=8,pinned_max_cached_size_mb=30",
    "a+12288=0 b+20480=1 c+40960=2 a- b- c- d+12288=0 e+20480=1", 33554432 },
  /* pieces of the reserved segment, which are not used again once they are released */
  { "pinned_reserve_segment_size_mb=64",
    "a+3072=0 b+9437189B=1 c+20480=2 d+1B=3 e+33792=4 b- c- a- E f+5120=5 g+9216=6",
    (64 + 64 + 16) * MIB },
  { "version=2.10,pinned_reserve_segment_size_mb=64",
    "a+3072=0 b+9437189B=1 c+20480=2 b- c- a- d+10240=1 f+5120=3 d- E", 64 * MIB },
  { "pinned_reserve_segment_size_mb=64,pinned_max_cached_size_mb=5",
    "a+3072=0 b+9437189B=1 a- b- c+1024=2 d+2048=3 e+10240=4 E", 64 * MIB },
};

/* The number of the block at @address: of its first appearance since the driver made it. */
static guint
number_of (GArray *seen, guint64 address)
{
  for (guint i = 0; i < seen->len; i++)
    if (g_array_index (seen, guint64, i) == address)
      return i;
  g_array_append_val (seen, address);
  return seen->len - 1;
}

static void
step (GememAllocator *a, const char *word, GememBlock *blocks, GArray *seen)
{
  GememBlock *block = &blocks[*word - 'a'];
  char *end;

  if (*word == 'E')
    a->klass->trim (a);
  else if (word[1] == '-')
    a->klass->free (a, block, FALSE);
  else if (word[1] == '>')
    a->klass->streams.use (a, block, 7);
  else
    {
      const guint64 number = g_ascii_strtoull (word + 2, &end, 10);
      const GememRequest request = { .size = *end == 'B' ? number : number * KIB };
      g_assert_true (a->klass->alloc (a, &request, block));
      g_assert_cmpuint (number_of (seen, block->address), ==,
                        g_ascii_strtoull (strchr (word, '=') + 1, NULL, 10));
    }
  g_assert_true (a->klass->check (a, NULL));
}

static void
test_run (gconstpointer data)
{
  const Run *run = data;
  g_autofree char *spec = g_strdup_printf ("pytorch-pinned%s%s", *run->settings != '\0' ? ":" : "",
                                           run->settings);
  GememAllocator *a = test_allocator_new (spec, "sim:capacity=1GiB,address=bump,event_latency=0s");
  g_auto (GStrv) words = g_strsplit (run->operations, " ", -1);
  g_autoptr (GArray) seen = g_array_new (FALSE, FALSE, sizeof (guint64));
  GememBlock blocks[26];

  for (guint i = 0; words[i] != NULL; i++)
    step (a, words[i], blocks, seen);
  g_assert_cmpuint (a->device->held, ==, run->held);
  test_allocator_destroy (a);
}

/* PyTorch asks the driver once, releases nothing, and goes on. */
static void
test_refused (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-pinned", "sim:capacity=40MiB");
  GememBlock first, second;

  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 20 * MIB }, &first));
  a->klass->free (a, &first, FALSE);
  g_assert_false (a->klass->alloc (a, &(GememRequest){ .size = 10 * MIB }, &second));
  g_assert_cmpuint (a->device->held, ==, 32 * MIB);
  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 17 * MIB }, &second));
  g_assert_cmpuint (second.address, ==, first.address);
  test_allocator_destroy (a);
}

/* A recorded state: what was in use is, what was not is taken again, the highest first, and what may not be kept
 * goes when it is freed. */
static void
test_adopted (void)
{
  GememAllocator *a = test_allocator_new ("pytorch-pinned:pinned_max_cached_size_mb=4",
                                          "sim:capacity=1GiB,address=recorded");
  const guint64 at[] = { 0x10000000, 0x20000000, 0x30000000, 0x40000000 };
  const guint64 sizes[] = { 1 * MIB, 1 * MIB, 1 * MIB, 9 * MIB };
  GememBlock one, large, next;

  for (guint i = 0; i < G_N_ELEMENTS (at); i++)
    g_assert_true (
        a->klass->adopt.segment (a, &(GememAdopt){ .address = at[i], .size = sizes[i] }));
  g_assert_false (a->klass->adopt.segment (a, &(GememAdopt){ .address = at[0], .size = MIB }));
  g_assert_true (a->klass->adopt.block (a, &(GememAdopt){ .address = at[0], .size = MIB }, &one));
  g_assert_false (a->klass->adopt.block (a, &(GememAdopt){ .address = at[0], .size = MIB }, &one));
  g_assert_false (a->klass->adopt.block (a, &(GememAdopt){ .address = at[1], .size = KIB }, &next));
  g_assert_false (a->klass->adopt.block (a, &(GememAdopt){ .address = 9, .size = MIB }, &next));
  g_assert_true (
      a->klass->adopt.block (a, &(GememAdopt){ .address = at[3], .size = 9 * MIB }, &large));
  a->klass->adopt.done (a);
  g_assert_true (a->klass->check (a, NULL));
  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 600 * KIB }, &next));
  g_assert_cmphex (next.address, ==, at[2]);
  a->klass->free (a, &large, FALSE);
  g_assert_cmpuint (a->device->held, ==, 3 * MIB);
  a->klass->free (a, &one, FALSE);
  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 600 * KIB }, &next));
  g_assert_cmphex (next.address, ==, at[0]);
  g_assert_true (a->klass->check (a, NULL));
  test_allocator_destroy (a);
}

static void
refuses (const char *spec, const char *why)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("null", NULL, 0, NULL);

  g_assert_true (gemem_allocator_spec_parse (spec, specs, NULL));
  g_assert_null (gemem_allocator_new (specs->pdata[0], NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, why));
  gemem_device_destroy (device);
}

/* As the wheels accept them. */
static void
test_versions (void)
{
  refuses ("pytorch-pinned:version=2.9,pinned_reserve_segment_size_mb=64", "exists since 2.10");
  refuses ("pytorch-pinned:version=2.12,pinned_max_cached_size_mb=64", "exists since 2.13");
  refuses ("pytorch-pinned:version=2.11,pinned_max_round_threshold_mb=64", "exists since 2.13");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autofree char *path = g_strdup_printf ("/pytorch-pinned/run/%u", i);
      g_test_add_data_func (path, &runs[i], test_run);
    }
  g_test_add_func ("/pytorch-pinned/refused", test_refused);
  g_test_add_func ("/pytorch-pinned/adopted", test_adopted);
  g_test_add_func ("/pytorch-pinned/versions", test_versions);
  return g_test_run ();
}
