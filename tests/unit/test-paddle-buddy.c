/* test-paddle-buddy.c - PaddlePaddle's buddy: the worked examples E1-E8 of paddle.md by name, then
 * the effects of presets, places and flags, wrapping counters, and refusals.
 *
 * Addresses below are offsets from the first chunk; the device places each chunk on the next 2 MiB
 * boundary (address=bump).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)
#define STEP (2 * GEMEM_MIB)

/* Allocates a block; failure fails the test. */
static GememBlock
take (GememAllocator *allocator, guint64 size)
{
  const GememRequest request = { .size = size };
  GememBlock block;

  g_assert_true (allocator->klass->alloc (allocator, &request, &block));
  return block;
}

static void
take_fails (GememAllocator *allocator, guint64 size)
{
  const GememRequest request = { .size = size };
  GememBlock block;

  g_assert_false (allocator->klass->alloc (allocator, &request, &block));
}

static void
give (GememAllocator *allocator, GememBlock block)
{
  allocator->klass->free (allocator, &block, FALSE);
}

/* Allocates @size, which must lie at @offset, and frees it again. */
static void
take_and_give (GememAllocator *allocator, guint64 size, guint64 offset, guint64 reserved)
{
  const GememBlock block = take (allocator, size);

  g_assert_cmphex (block.address, ==, BASE + offset);
  g_assert_cmpuint (allocator->device->held, ==, reserved);
  give (allocator, block);
}

typedef struct
{
  const char *name;
  guint64 value;
  gboolean found;
} Stat;

static void
find_stat (const char *name, guint64 value, const char *unit, gpointer data)
{
  Stat *stat = data;

  if (!g_str_equal (name, stat->name))
    return;
  stat->value = value;
  stat->found = TRUE;
}

static guint64
stat_of (GememAllocator *allocator, const char *name)
{
  Stat stat = { .name = name };

  allocator->klass->report.stats (allocator, find_stat, &stat);
  g_assert_true (stat.found);
  return stat.value;
}

static void
add_free (const GememSpan *span, gpointer data)
{
  if (span->state == GEMEM_SPAN_FREE)
    g_string_append_printf (data, "(0x%" G_GINT64_MODIFIER "x,%" G_GUINT64_FORMAT ")",
                            span->address - BASE, span->size);
}

/* The free blocks in address order, used, free, and all invariants. */
static void
expect_state (GememAllocator *allocator, const char *pool, guint64 used, guint64 free)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  allocator->klass->walk (allocator, add_free, text);
  g_assert_cmpstr (text->str, ==, pool);
  g_assert_cmpuint (stat_of (allocator, "used"), ==, used);
  g_assert_cmpuint (stat_of (allocator, "free"), ==, free);
  allocator->klass->check (allocator, &error);
  g_assert_no_error (error);
}

/* ---- worked examples */

static void
test_e1 (gconstpointer preset)
{
  g_autofree char *spec = g_strdup_printf ("paddle-buddy:preset=%s,initial_mb=1,realloc_mb=1",
                                           (const char *) preset);
  GememAllocator *buddy = test_allocator_new (spec, "sim:capacity=1GiB");
  GememBlock a, b, c, d, e;

  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, MIB);
  g_assert_cmpuint (buddy->device->held, ==, 0);
  a = take (buddy, 1);
  g_assert_cmphex (a.address, ==, BASE + 0x40);
  g_assert_cmpuint (a.size, ==, 256);
  expect_state (buddy, "(0x100,1048320)", 256, 1048320);
  g_assert_cmpuint (buddy->device->held, ==, 1048576);
  b = take (buddy, 192);
  g_assert_cmphex (b.address, ==, BASE + 0x140);
  expect_state (buddy, "(0x200,1048064)", 512, 1048064);
  c = take (buddy, 193);
  g_assert_cmphex (c.address, ==, BASE + 0x240);
  expect_state (buddy, "(0x400,1047552)", 1024, 1047552);
  d = take (buddy, 1000);
  g_assert_cmphex (d.address, ==, BASE + 0x440);
  g_assert_cmpuint (d.size, ==, 1280);
  expect_state (buddy, "(0x900,1046272)", 2304, 1046272);
  e = take (buddy, 4096);
  g_assert_cmphex (e.address, ==, BASE + 0x940);
  expect_state (buddy, "(0x1a00,1041920)", 6656, 1041920);
  give (buddy, b);
  expect_state (buddy, "(0x100,256)(0x1a00,1041920)", 6400, 1042176);
  give (buddy, d);
  expect_state (buddy, "(0x100,256)(0x400,1280)(0x1a00,1041920)", 5120, 1043456);
  give (buddy, c);
  expect_state (buddy, "(0x100,2048)(0x1a00,1041920)", 4608, 1043968);
  give (buddy, a);
  expect_state (buddy, "(0x0,2304)(0x1a00,1041920)", 4352, 1044224);
  give (buddy, e);
  expect_state (buddy, "(0x0,1048576)", 0, 1048576);
  g_assert_cmpuint (buddy->device->held, ==, 1048576);
  test_allocator_destroy (buddy);
}

static void
test_e2 (void)
{
  static const guint64 sizes[] = { 960, 4032, 960, 1984, 960 };
  static const guint64 users[] = { 0x40, 0x440, 0x1440, 0x1840, 0x2040 };
  static const guint64 blocks[] = { 1024, 4096, 1024, 2048, 1024 };
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=1,realloc_mb=1",
                                              "sim:capacity=1GiB");
  GememBlock block[5];

  for (guint i = 0; i < 5; i++)
    {
      block[i] = take (buddy, sizes[i]);
      g_assert_cmphex (block[i].address, ==, BASE + users[i]);
      g_assert_cmpuint (block[i].size, ==, blocks[i]);
    }
  give (buddy, block[1]);
  give (buddy, block[3]);
  expect_state (buddy, "(0x400,4096)(0x1800,2048)(0x2400,1039360)", 3072, 1045504);
  g_assert_cmphex (take (buddy, 1000).address, ==, BASE + 0x1840);
  expect_state (buddy, "(0x400,4096)(0x1d00,768)(0x2400,1039360)", 4352, 1044224);
  g_assert_cmphex (take (buddy, 1984).address, ==, BASE + 0x440);
  expect_state (buddy, "(0xc00,2048)(0x1d00,768)(0x2400,1039360)", 6400, 1042176);
  give (buddy, block[2]);
  expect_state (buddy, "(0xc00,3072)(0x1d00,768)(0x2400,1039360)", 5376, 1043200);
  g_assert_cmphex (take (buddy, 2000).address, ==, BASE + 0xc40);
  expect_state (buddy, "(0x1500,768)(0x1d00,768)(0x2400,1039360)", 7680, 1040896);
  g_assert_cmphex (take (buddy, 704).address, ==, BASE + 0x1540); /* a tie: the lower address */
  test_allocator_destroy (buddy);
}

static void
test_e3 (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=100,realloc_mb=50",
                                              "sim:capacity=16GiB");
  GememBlock block;

  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, 100 * MIB);
  take_and_give (buddy, 10 * MIB, 0x40, 104857600);
  take_and_give (buddy, 80 * MIB, 0x40, 104857600);
  take_and_give (buddy, 99 * MIB, 0x40, 104857600);
  block = take (buddy, 101 * MIB);
  g_assert_cmphex (block.address, ==, BASE + 100 * MIB + 0x40);
  g_assert_cmpuint (block.size, ==, 105906432);
  g_assert_cmpuint (buddy->device->held, ==, 210764032);
  g_assert_cmpuint (stat_of (buddy, "used"), ==, 0); /* huge blocks are not counted */
  g_assert_cmpuint (stat_of (buddy, "huge_blocks"), ==, 1);
  give (buddy, block);
  g_assert_cmpuint (buddy->device->held, ==, 104857600);
  block = take (buddy, 1024 * MIB);
  g_assert_cmpuint (block.size, ==, 1073742080);
  g_assert_cmpuint (buddy->device->held, ==, 1178599680);
  give (buddy, block);
  expect_state (buddy, "(0x0,104857600)", 0, 104857600);
  test_allocator_destroy (buddy);
}

static void
test_e4 (void)
{
  const guint64 c1 = 6 * MIB; /* 5 MiB, up to the next 2 MiB boundary */
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=5,realloc_mb=10",
                                              "sim:capacity=16GiB");

  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, 10 * MIB);
  take_and_give (buddy, 1 * MIB, 0x40, 5 * MIB);
  take_and_give (buddy, 6 * MIB, c1 + 0x40, 15728640);
  take_and_give (buddy, 8 * MIB, c1 + 0x40, 15728640);
  take_and_give (buddy, 9 * MIB, c1 + 0x40, 15728640);
  take_and_give (buddy, 11 * MIB, 16 * MIB + 0x40, 15728640 + 11 * MIB + 256);
  take_and_give (buddy, 1024 * MIB, 28 * MIB + 0x40, 15728640 + 1024 * MIB + 256);
  expect_state (buddy, "(0x0,5242880)(0x600000,10485760)", 0, 15728640);
  g_assert_cmpuint (stat_of (buddy, "realloc_cache"), ==, 10 * MIB);
  test_allocator_destroy (buddy);
}

static void
test_e5 (gconstpointer preset)
{
  const guint64 c1 = 100 * MIB, c2 = 172 * MIB; /* 100 MiB + 73400576, up to 2 MiB */
  g_autofree char *spec = g_strdup_printf ("paddle-buddy:preset=%s,initial_mb=100,realloc_mb=50",
                                           (const char *) preset);
  GememAllocator *buddy = test_allocator_new (spec, "sim:capacity=16GiB");
  GememBlock p = take (buddy, 60 * MIB), q = take (buddy, 70 * MIB), r = take (buddy, 30 * MIB),
             s = take (buddy, 45 * MIB);

  g_assert_cmphex (p.address, ==, BASE + 0x40);
  g_assert_cmpuint (p.size, ==, 62914816);
  g_assert_cmphex (q.address, ==, BASE + c1 + 0x40);
  g_assert_cmpuint (q.size, ==, 73400576);
  g_assert_cmphex (r.address, ==, BASE + 0x3c00140);
  g_assert_cmpuint (r.size, ==, 31457536);
  g_assert_cmphex (s.address, ==, BASE + c2 + 0x40);
  g_assert_cmpuint (s.size, ==, 47186176);
  expect_state (buddy, "(0x5a00200,10485248)(0xd900100,5242624)", 214959104, 15727872);
  g_assert_cmpuint (buddy->device->held, ==, 230686976);
  give (buddy, q);
  buddy->klass->trim (buddy);
  if (g_str_equal (preset, "P14")) /* P14 had no Release() */
    g_assert_cmpuint (buddy->device->held, ==, 230686976);
  else
    {
      g_assert_cmpuint (buddy->device->held, ==, 157286400);
      expect_state (buddy, "(0x5a00200,10485248)(0xd900100,5242624)", 141558528, 15727872);
    }
  test_allocator_destroy (buddy);
}

static void
test_e6 (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=4136B,realloc_mb=4136B",
                                              "sim:capacity=1GiB");
  GememBlock block = take (buddy, 4032);

  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, 4136);
  g_assert_cmpuint (block.size, ==, 4136);
  expect_state (buddy, "", 4096, 40);
  give (buddy, block);
  expect_state (buddy, "(0x0,4136)", G_GUINT64_CONSTANT (18446744073709551576), 4176);
  test_allocator_destroy (buddy);

  /* rest of 65: split off */
  buddy = test_allocator_new ("paddle-buddy:initial_mb=4161B,realloc_mb=4161B",
                              "sim:capacity=1GiB");
  g_assert_cmpuint (take (buddy, 4032).size, ==, 4096);
  expect_state (buddy, "(0x1000,65)", 4096, 65);
  test_allocator_destroy (buddy);

  /* 64: not */
  buddy = test_allocator_new ("paddle-buddy:initial_mb=4160B,realloc_mb=4160B",
                              "sim:capacity=1GiB");
  g_assert_cmpuint (take (buddy, 4032).size, ==, 4160);
  expect_state (buddy, "", 4096, 64);
  test_allocator_destroy (buddy);
}

static void
test_e7 (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=1,realloc_mb=1",
                                              "sim:capacity=1GiB");
  GememBlock block = take (buddy, 1048512);

  g_assert_cmphex (block.address, ==, BASE + 0x40);
  g_assert_cmpuint (block.size, ==, 1048576);
  expect_state (buddy, "", 1048576, 0);
  block = take (buddy, 1048513);
  g_assert_cmphex (block.address, ==, BASE + STEP + 0x40);
  g_assert_cmpuint (block.size, ==, 1048832);
  g_assert_cmpuint (buddy->device->held, ==, 1048576 + 1048832);
  expect_state (buddy, "", 1048576, 0);
  g_assert_cmpuint (stat_of (buddy, "huge_bytes"), ==, 1048832);
  test_allocator_destroy (buddy);
}

/* 1 GiB less 5 % times this fraction is 1 MiB. */
#define P13_MIB "paddle-buddy:preset=P13,fraction=0.0010279606"

static void
test_e8 (void)
{
  static const guint64 held[] = { 4 * MIB, 4 * MIB, 4 * MIB, 2 * MIB };
  GememAllocator *buddy = test_allocator_new (P13_MIB ",free_idle_memory=true",
                                              "sim:capacity=1GiB");
  GememBlock block[4];

  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, MIB);
  for (guint i = 0; i < 4; i++)
    block[i] = take (buddy, 1048512);
  g_assert_cmpuint (buddy->device->held, ==, 4 * MIB);
  for (guint i = 0; i < 4; i++)
    {
      give (buddy, block[i]);
      g_assert_cmpuint (buddy->device->held, ==, held[i]);
    }
  /* the highest addresses are released first */
  expect_state (buddy, "(0x0,1048576)(0x200000,1048576)", 0, 2 * MIB);
  test_allocator_destroy (buddy);

  /* without the flag no chunk is ever released */
  buddy = test_allocator_new (P13_MIB, "sim:capacity=1GiB");
  for (guint i = 0; i < 4; i++)
    block[i] = take (buddy, 1048512);
  for (guint i = 0; i < 4; i++)
    give (buddy, block[i]);
  buddy->klass->trim (buddy);
  g_assert_cmpuint (buddy->device->held, ==, 4 * MIB);
  test_allocator_destroy (buddy);
}

/* ---- E10 in the allocator, and later refills */

static void
test_default_chunks (void)
{
  GememAllocator *p13 = test_allocator_new (
      "paddle-buddy:preset=P13,total=16914055168,available=16600000000", "sim:capacity=32GiB");
  GememAllocator *p14 = test_allocator_new (
      "paddle-buddy:preset=P14,total=16914055168,available=16600000000", "sim:capacity=32GiB");
  GememAllocator *p16 = test_allocator_new (
      "paddle-buddy:preset=P2/P3,total=16914055168,available=16600000000", "sim:capacity=32GiB");

  g_assert_cmpuint (stat_of (p13, "max_chunk"), ==, 14782884485);
  g_assert_cmpuint (stat_of (p14, "max_chunk"), ==, 14782884461);
  g_assert_cmpuint (stat_of (p16, "max_chunk"), ==, 14508400204);
  take (p16, 1);
  g_assert_cmpuint (p16->device->held, ==, 14508400204);
  /* The second chunk: 92 % of 95 % of the 2091599796 that are left; max_chunk stays. */
  const GememBlock rest = take (p16, 14508400204 - 256 - 76 - 64);
  g_assert_cmpuint (rest.size, ==, 14508400204 - 256 - 76);
  take (p16, 1);
  g_assert_cmpuint (p16->device->held, ==, G_GUINT64_CONSTANT (14508400204) + 1828058252);
  g_assert_cmpuint (stat_of (p16, "max_chunk"), ==, 14508400204);
  test_allocator_destroy (p13);
  test_allocator_destroy (p14);
  test_allocator_destroy (p16);
}

/* The test for "nothing pooled yet" differs: P14 adds the wrapped counters, P16 tests each one.
 * After the only chunk was released with a wrapped `used`, P16 allocates the reallocate size
 * where a first chunk would have the initial one. */
static void
test_wrapped_refill (void)
{
  GememAllocator *buddy = test_allocator_new (
      "paddle-buddy:preset=P16,initial_mb=4136B,realloc_mb=8192B", "sim:capacity=1GiB");

  give (buddy, take (buddy, 4032));
  buddy->klass->trim (buddy);
  g_assert_cmpuint (buddy->device->held, ==, 0);
  expect_state (buddy, "", G_GUINT64_CONSTANT (18446744073709551576), 40);
  take (buddy, 4032);
  g_assert_cmpuint (buddy->device->held, ==, 8192);
  test_allocator_destroy (buddy);
}

/* P13 measures again when nothing is pooled, and may then refuse although the device has enough. */
static void
test_p13_measures_again (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:preset=P13,fraction=0.5",
                                              "sim:capacity=1GiB");
  const guint64 chunk = stat_of (buddy, "max_chunk");
  GememBlock huge;

  g_assert_cmpuint (chunk, ==, 510027366); /* (1073741824 - 53687091) / 2 */
  huge = take (buddy, 600 * MIB);
  take_fails (buddy, 1000);
  g_assert_cmpuint (buddy->device->refused[GEMEM_CALL_MALLOC], ==, 0);
  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, chunk);
  give (buddy, huge);
  take_and_give (buddy, 1000, 600 * MIB + STEP + 0x40, chunk);
  test_allocator_destroy (buddy);
}

/* ---- failures */

static void
test_retry (void)
{
  static const struct
  {
    const char *spec;
    guint64 refused, waited;
  } rows[] = {
    { "paddle-buddy:preset=P14,initial_mb=1,realloc_mb=1", 1, 0 },
    { "paddle-buddy:preset=P16,initial_mb=1,realloc_mb=1", 2, G_GUINT64_CONSTANT (10000000000) },
    { "paddle-buddy:preset=P3,initial_mb=1,realloc_mb=1,gpu_allocator_retry_time=0", 1, 0 },
    { "paddle-buddy:preset=P2,initial_mb=1,realloc_mb=1,FLAGS_gpu_allocator_retry_time=5", 2,
      5000000 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememAllocator *buddy = test_allocator_new (rows[i].spec, "sim:capacity=1GiB");
      const guint64 before = buddy->device->now;

      take_fails (buddy, 1024 * MIB);
      g_assert_cmpuint (buddy->device->refused[GEMEM_CALL_MALLOC], ==, rows[i].refused);
      g_assert_cmpuint (buddy->device->now - before, >=, rows[i].waited);
      g_assert_cmpuint (buddy->device->held, ==, 0);
      expect_state (buddy, "", 0, 0);
      test_allocator_destroy (buddy);
    }
}

/* "Not enough available memory" is no refusal of the device, and never retried. */
static void
test_not_enough (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=900,realloc_mb=900",
                                              "sim:capacity=1GiB");

  take (buddy, 899 * MIB);
  g_assert_cmpuint (buddy->device->held, ==, 900 * MIB);
  take_fails (buddy, 2 * MIB);
  g_assert_cmpuint (buddy->device->refused[GEMEM_CALL_MALLOC], ==, 0);
  g_assert_cmpuint (buddy->device->calls[GEMEM_CALL_MALLOC], ==, 1);
  expect_state (buddy, "(0x38300100,1048320)", 899 * MIB + 256, MIB - 256);
  test_allocator_destroy (buddy);
}

static void
test_memory_limit (void)
{
  GememAllocator *buddy = test_allocator_new (
      "paddle-buddy:initial_mb=100,realloc_mb=100,gpu_memory_limit_mb=250", "sim:capacity=1GiB");

  take (buddy, 99 * MIB);
  take (buddy, 99 * MIB);
  g_assert_cmpuint (buddy->device->held, ==, 200 * MIB);
  take_fails (buddy, 99 * MIB); /* 100 of 50 MiB less 5 % */
  take_fails (buddy, 101 * MIB);
  g_assert_cmpuint (buddy->device->held, ==, 200 * MIB);
  g_assert_cmpuint (buddy->device->calls[GEMEM_CALL_MALLOC], ==, 2);
  test_allocator_destroy (buddy);

  buddy = test_allocator_new ("paddle-buddy:fraction=0.5,gpu_memory_limit_mb=256",
                              "sim:capacity=1GiB");
  g_assert_cmpuint (stat_of (buddy, "max_chunk"), ==, 127506841); /* half of 268435456 - 13421773 */
  test_allocator_destroy (buddy);
}

static void
test_hostile_sizes (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-buddy:initial_mb=1,realloc_mb=1",
                                              "sim:capacity=1GiB");
  GememBlock block = take (buddy, 0); /* P16: a null pointer, without using the allocator */

  g_assert_cmphex (block.address, ==, 0);
  g_assert_cmpuint (block.size, ==, 0);
  g_assert_cmpuint (buddy->device->held, ==, 0);
  give (buddy, block);
  take_fails (buddy, G_MAXUINT64);
  take_fails (buddy, G_MAXUINT64 - 64);
  take_fails (buddy, G_MAXUINT64 - 320);
  take_fails (buddy, G_MAXINT64);
  expect_state (buddy, "", 0, 0);
  test_allocator_destroy (buddy);

  buddy = test_allocator_new ("paddle-buddy:preset=P14,initial_mb=1,realloc_mb=1",
                              "sim:capacity=1GiB");
  block = take (buddy, 0); /* P14: a block like any other */
  g_assert_cmphex (block.address, ==, BASE + 0x40);
  g_assert_cmpuint (block.size, ==, 256);
  give (buddy, block);
  expect_state (buddy, "(0x0,1048576)", 0, MIB);
  test_allocator_destroy (buddy);
}

/* A device too small for the chunks: Paddle throws at its first use, and at every later one. */
static void
test_device_too_small (void)
{
  static const char *const specs[] = {
    "paddle-buddy:initial_mb=1000", "paddle-buddy:realloc_mb=1000", "paddle-buddy:available=200B",
    "paddle-buddy:preset=P13,available=1000B", "paddle-buddy:preset=P14,initial_mb=1000"
  };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      GememAllocator *buddy = test_allocator_new (specs[i], "sim:capacity=1GiB");

      take_fails (buddy, 1);
      take_fails (buddy, 2000 * MIB);
      g_assert_cmpuint (buddy->device->calls[GEMEM_CALL_MALLOC], ==, 0);
      expect_state (buddy, "", 0, 0);
      test_allocator_destroy (buddy);
    }
}

/* A device that refuses once: Retry hides the refusal; P14 has no Retry. */
static void
test_transient_refusal (void)
{
  GememAllocator *p14 = test_allocator_new ("paddle-buddy:preset=P14,initial_mb=1,realloc_mb=1",
                                            "faulty:nth=1,capacity=1GiB");
  GememAllocator *p16 = test_allocator_new ("paddle-buddy:preset=P16,initial_mb=1,realloc_mb=1",
                                            "faulty:every=2,capacity=1GiB");

  take_fails (p14, 1000);
  expect_state (p14, "", 0, 0);
  g_assert_cmphex (take (p14, 1000).address, ==, BASE + 0x40);
  g_assert_cmphex (take (p16, 1000).address, ==, BASE + 0x40);
  /* calls 2 (refused) and 3 */
  g_assert_cmphex (take (p16, 2 * MIB).address, ==, BASE + STEP + 0x40);
  g_assert_cmpuint (p16->device->refused[GEMEM_CALL_MALLOC], ==, 1);
  g_assert_cmphex (take (p16, 1048512).address, ==, BASE + 3 * STEP + 0x40);
  g_assert_cmpuint (p16->device->refused[GEMEM_CALL_MALLOC], ==, 2);
  g_assert_cmpuint (p16->device->held, ==, 4 * MIB + 256);
  test_allocator_destroy (p14);
  test_allocator_destroy (p16);
}

static void
expect_refusal (const char *spec, const char *part)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememDevice *sim;

  g_assert_true (gemem_allocator_spec_parse (spec, specs, NULL));
  sim = gemem_device_new ("sim:capacity=1GiB", NULL, 0, NULL);
  g_assert_null (gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, sim, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, part) == NULL)
    g_error ("%s: no '%s' in: %s", spec, part, error->message);
  gemem_device_destroy (sim);
}

static void
test_refusals (void)
{
  static const struct
  {
    const char *spec, *part;
  } rows[] = {
    { "paddle-buddy:preset=P13,initial_mb=10", "initial_gpu_memory_in_mb would have no effect" },
    { "paddle-buddy:preset=P13,realloc_mb=10", "reallocate_gpu_memory_in_mb" },
    { "paddle-buddy:preset=P14,free_idle_memory=1", "version=1.3" },
    { "paddle-buddy:free_idle_memory=1", "free_idle_memory" },
    { "paddle-buddy:preset=P14,gpu_memory_limit_mb=10", "gpu_memory_limit_mb" },
    { "paddle-buddy:preset=P13,gpu_allocator_retry_time=10", "gpu_allocator_retry_time" },
    { "paddle-buddy:initial_mb=1,realloc_mb=1,fraction=0.5", "fraction_of_gpu_memory_to_use" },
    { "paddle-buddy:place=cpu,fraction=0.5", "fraction_of_gpu_memory_to_use" },
    { "paddle-buddy:place=cpu,available=1GiB", "available" },
    { "paddle-buddy:initial_cpu_memory_in_mb=100", "place=cpu" },
    { "paddle-buddy:fraction_of_cpu_memory_to_use=0.5", "place=cpu" },
    { "paddle-buddy:place=cpu,fraction_of_cuda_pinned_memory_to_use=0.25", "place=pinned" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    expect_refusal (rows[i].spec, rows[i].part);
}

/* ---- other places */

/* On a host of 64 GiB: a request that fills a chunk, one that is a byte too large, and a small
 * one; computed by hand. CPU: chunks of 524288000 bytes (7), in P13 the first allocated by a
 * request of zero bytes. Pinned: chunks of 134217728 bytes, so that the first two go to the
 * system. */
static void
test_host_by_hand (void)
{
  static const struct
  {
    const char *spec;
    guint64 chunks, free, held;
  } rows[] = {
    { "paddle-buddy:place=cpu,preset=P13", 2, 524288000 - 2 * 4096,
      2 * 524288000 + G_GUINT64_CONSTANT (524292096) },
    { "paddle-buddy:place=cpu,preset=P2", 2, 524288000 - 4096,
      2 * 524288000 + G_GUINT64_CONSTANT (524292096) },
    { "paddle-buddy:place=pinned", 1, 134217728 - 65536, 524288000 + 524353536 + 134217728 },
  };
  static const guint64 sizes[] = { 0, 524287936, 524287937, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememAllocator *host = test_allocator_new (rows[i].spec, "sim:capacity=64GiB");

      for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
        take (host, sizes[k]);
      g_assert_cmpuint (stat_of (host, "chunks"), ==, rows[i].chunks);
      g_assert_cmpuint (stat_of (host, "free"), ==, rows[i].free);
      g_assert_cmpuint (host->device->held, ==, rows[i].held);
      test_allocator_destroy (host);
    }
}

/* The fraction limits all pinned memory, chunks and huge blocks (7). */
static void
test_pinned_limit (void)
{
  GememAllocator *pinned = test_allocator_new ("paddle-buddy:place=pinned,total=256MiB",
                                               "sim:capacity=1GiB");
  GememBlock huge;

  g_assert_cmpuint (stat_of (pinned, "max_chunk"), ==, MIB / 2);
  take_fails (pinned, 128 * MIB - 63);
  huge = take (pinned, 128 * MIB - 64);
  g_assert_cmpuint (pinned->device->held, ==, 128 * MIB);
  take_fails (pinned, 1);
  give (pinned, huge);
  for (guint i = 0; i < 256; i++) /* a chunk each */
    take (pinned, MIB / 2 - 64);
  take_fails (pinned, 1);
  g_assert_cmpuint (pinned->device->held, ==, 128 * MIB);
  test_allocator_destroy (pinned);
}

static void
test_host_places (void)
{
  GememAllocator *cpu = test_allocator_new ("paddle-buddy:place=cpu", "sim:capacity=8GiB");
  GememAllocator *pinned = test_allocator_new ("paddle-buddy:place=pinned,total=64GiB",
                                               "sim:capacity=64GiB");
  GememBlock block;

  g_assert_cmpuint (stat_of (cpu, "max_chunk"), ==, 256 * MIB); /* 8 GiB / 32 */
  block = take (cpu, 4032);
  g_assert_cmpuint (block.size, ==, 4096);
  block = take (cpu, 4033);
  g_assert_cmphex (block.address, ==, BASE + 4096 + 0x40);
  g_assert_cmpuint (block.size, ==, 8192);
  expect_state (cpu, "(0x3000,268423168)", 12288, 268423168);
  g_assert_cmpuint (cpu->klass->largest_free (cpu, 0), ==, 268423168 - 64);

  g_assert_cmpuint (stat_of (pinned, "max_chunk"), ==, 128 * MIB);
  block = take (pinned, 1);
  g_assert_cmpuint (block.size, ==, 65536);
  g_assert_cmpuint (pinned->device->held, ==, 128 * MIB);
  test_allocator_destroy (cpu);
  test_allocator_destroy (pinned);
}

/* The program's block has 64 bytes more; the user pointer lies inside it. */
static void
check_user (const GememSpan *span, gpointer data)
{
  g_assert_cmphex (span->user, ==, span->state == GEMEM_SPAN_LIVE ? span->address + 64 : 0);
  ++*(guint *) data;
}

static void
test_walk_and_largest (void)
{
  GememAllocator *buddy = test_allocator_new ("paddle-naive-best-fit:initial_mb=1,realloc_mb=1",
                                              "sim:capacity=1GiB");
  guint spans = 0;

  g_assert_cmpstr (buddy->klass->name, ==, "paddle-buddy");
  g_assert_cmpuint (buddy->klass->largest_free (buddy, 0), ==, 0);
  take (buddy, 1000);
  take (buddy, 3 * MIB);
  buddy->klass->walk (buddy, check_user, &spans);
  g_assert_cmpuint (spans, ==, 3);
  g_assert_true (test_allocator_verify (buddy, 2, 1280 + 3 * MIB + 256));
  const guint64 largest = buddy->klass->largest_free (buddy, 0), held = buddy->device->held;
  g_assert_cmpuint (largest, ==, MIB - 1280 - 64);
  take (buddy, largest);
  g_assert_cmpuint (buddy->device->held, ==, held);
  g_assert_cmpuint (buddy->klass->largest_free (buddy, 0), ==, 0);
  test_allocator_destroy (buddy);
}

/* Random requests under every rule, with all invariants after each. */
static void
test_random (gconstpointer spec)
{
  GememAllocator *buddy = test_allocator_new (spec, "sim:capacity=256MiB");
  GememBlock live[200];
  guint64 state = 20260101, bytes = 0;
  guint n = 0;

  for (guint i = 0; i < 5000; i++)
    {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const GememRequest request = { .size = (state >> 20) % (1 << (4 + state % 20)) };
      gboolean full = n == G_N_ELEMENTS (live);

      if (!full && (n == 0 || state % 5 < 3))
        {
          if (buddy->klass->alloc (buddy, &request, &live[n]) && live[n].handle != NULL)
            {
              g_assert_cmpuint (live[n].size, >=, request.size + 64);
              bytes += live[n++].size;
            }
        }
      else
        {
          const guint victim = (guint) ((state >> 40) % n);

          bytes -= live[victim].size;
          give (buddy, live[victim]);
          live[victim] = live[--n];
        }
      if (i % 500 == 0)
        buddy->klass->trim (buddy);
      g_assert_true (test_allocator_verify (buddy, n, bytes));
    }
  test_allocator_destroy (buddy);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/paddle/buddy/E1/P14", "P14", test_e1);
  g_test_add_data_func ("/paddle/buddy/E1/P16", "P16", test_e1);
  g_test_add_data_func ("/paddle/buddy/E1/P3", "P3", test_e1);
  g_test_add_func ("/paddle/buddy/E2", test_e2);
  g_test_add_func ("/paddle/buddy/E3", test_e3);
  g_test_add_func ("/paddle/buddy/E4", test_e4);
  g_test_add_data_func ("/paddle/buddy/E5/P14", "P14", test_e5);
  g_test_add_data_func ("/paddle/buddy/E5/P16", "P16", test_e5);
  g_test_add_func ("/paddle/buddy/E6", test_e6);
  g_test_add_func ("/paddle/buddy/E7", test_e7);
  g_test_add_func ("/paddle/buddy/E8", test_e8);
  g_test_add_func ("/paddle/buddy/E10/default-chunks", test_default_chunks);
  g_test_add_func ("/paddle/buddy/wrapped-refill", test_wrapped_refill);
  g_test_add_func ("/paddle/buddy/p13-measures-again", test_p13_measures_again);
  g_test_add_func ("/paddle/buddy/retry", test_retry);
  g_test_add_func ("/paddle/buddy/not-enough", test_not_enough);
  g_test_add_func ("/paddle/buddy/memory-limit", test_memory_limit);
  g_test_add_func ("/paddle/buddy/hostile-sizes", test_hostile_sizes);
  g_test_add_func ("/paddle/buddy/device-too-small", test_device_too_small);
  g_test_add_func ("/paddle/buddy/transient-refusal", test_transient_refusal);
  g_test_add_func ("/paddle/buddy/refusals", test_refusals);
  g_test_add_func ("/paddle/buddy/host-places", test_host_places);
  g_test_add_func ("/paddle/buddy/walk-and-largest", test_walk_and_largest);
  g_test_add_data_func ("/paddle/buddy/random/P13",
                        "paddle-buddy:preset=P13,fraction=0.03,free_idle_memory=1", test_random);
  g_test_add_data_func ("/paddle/buddy/random/P14",
                        "paddle-buddy:preset=P14,initial_mb=3,realloc_mb=1000001B", test_random);
  g_test_add_data_func ("/paddle/buddy/random/P16", "paddle-buddy:preset=P16,fraction=0.013",
                        test_random);
  g_test_add_func ("/paddle/buddy/host-by-hand", test_host_by_hand);
  g_test_add_func ("/paddle/buddy/pinned-limit", test_pinned_limit);
  g_test_add_data_func ("/paddle/buddy/random/pinned", "paddle-buddy:place=pinned,total=256MiB",
                        test_random);
  return g_test_run ();
}
