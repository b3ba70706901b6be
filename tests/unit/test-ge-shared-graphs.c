/* test-ge-shared-graphs.c - the worked examples E29 to E36 of ge-runtime.md section 9 by name:
 * static graphs that share a range or blocks, where pages are refused, in use, gathered or lost,
 * where segments are empty or many, and where a graph is larger than the device; and what the model
 * around a graph does at an unload. */
#include "config.h"

#include "allocators/ge/beside.h"
#include "allocators/ge/engine.h"
#include "tests/util/ge-graphs.h"

/* Before the first graph the dynamic pool had reserved its addresses. */
#define DEVICE "sim:capacity=64GiB,vabase=0x200f40000000"
#define BASE G_GUINT64_CONSTANT (0x200f40000000)
#define PLAIN G_GUINT64_CONSTANT (0x100000000000) /* the first device allocation */
#define PAGE (8 * MIB)

static GeStatic *
memory_of (GememAllocator *a)
{
  return g_str_equal (a->klass->name, "ge") ? &((GeEngine *) a)->memory : &((GeBeside *) a)->memory;
}

/* Its range is a user of the page pool, here as in the process of the examples. */
static GememAllocator *
new_allocator (const char *spec, const char *device)
{
  GememAllocator *a = test_allocator_new (spec, device);

  if (memory_of (a)->options.pages != NULL)
    g_assert_true (gemem_ge_pages_enter (memory_of (a)->options.pages, GE_LARGE_PAGE));
  return a;
}

static guint live; /* dynamic blocks */

static gboolean
begin (GememAllocator *a, guint64 id)
{
  const gboolean ready = a->klass->graphs.run (a, id, 0, TRUE);

  g_assert_true (test_allocator_verify (a, live, G_MAXUINT64));
  return ready;
}

static void
end (GememAllocator *a, guint64 id)
{
  g_assert_true (a->klass->graphs.run (a, id, 0, FALSE));
  g_assert_true (test_allocator_verify (a, live, G_MAXUINT64));
}

/* Bytes under the range. */
static guint64
backed (GememAllocator *a)
{
  return memory_of (a)->range.backing.phys;
}

static const GeRecord *
page (GememAllocator *a, guint i)
{
  return gemem_ge_range_record (&memory_of (a)->range.backing, i);
}

static const GeActiveSegment *
segment (GememAllocator *a, guint i)
{
  g_assert_cmpuint (i, <, memory_of (a)->active.segments->len);
  return &g_array_index (memory_of (a)->active.segments, GeActiveSegment, i);
}

/* ---- E29 to E32: ranges */

static guint64
e29 (gboolean end_runs)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4", DEVICE);
  guint64 after;

  g_assert_cmphex (LOAD (a, 1, { 0, 12 * MIB, 0 }), ==, BASE);
  g_assert_cmpuint (held (a), ==, 16 * MIB);
  for (guint id = 2; id <= 3; id++)
    g_assert_cmphex (LOAD (a, id, { 0, 6 * MIB, 0 }), ==, BASE);
  g_assert_cmpuint (page (a, 0)->ref, ==, 3);
  for (guint id = 1; id <= 3; id++)
    if (end_runs)
      end (a, id);
  for (guint id = 1; id <= 3; id++)
    unload (a, id);
  g_assert_cmpuint (stat_of (a, "static.lost"), ==, end_runs ? 0 : PAGE);
  g_assert_cmphex (LOAD (a, 4, { 0, 20 * MIB, 0 }), ==, G_GUINT64_CONSTANT (0x201f40000000));
  after = held (a);
  unload (a, 4);
  test_allocator_destroy (a);
  return after;
}

/* What is bound when the last graph goes is lost. */
static void
test_e29 (void)
{
  g_assert_cmpuint (e29 (FALSE), ==, 32 * MIB);
  g_assert_cmpuint (e29 (TRUE), ==, 24 * MIB);
}

/* Two loads on one block without a run between: the second finds its inner pages in use, and
 * succeeds. */
static void
test_e30 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4", DEVICE);

  g_assert_cmphex (LOAD (a, 1, { 0, 40 * MIB, 0 }), ==, BASE);
  g_assert_cmphex (LOAD (a, 2, { 0, 40 * MIB, 0 }), ==, BASE);
  g_assert_cmpuint (page (a, 4)->ref, ==, 1);
  g_assert_false (page (a, 4)->using);
  end (a, 1);
  g_assert_cmpuint (backed (a), ==, 0); /* g2 has no memory */
  g_assert_true (begin (a, 1));
  g_assert_cmpuint (backed (a), ==, 40 * MIB);
  end (a, 2);
  g_assert_cmpuint (backed (a), ==, 0);
  end (a, 1);
  unload (a, 1);
  unload (a, 2);
  g_assert_cmpuint (held (a), ==, 40 * MIB);
  g_assert_cmpuint (stat_of (a, "static.lost"), ==, 0);
  test_allocator_destroy (a);
}

/* Idle pages are gathered, which is a failure in a session; the plain blocks taken instead are
 * never freed. */
static void
test_e31 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4", DEVICE);

  LOAD (a, 1, { 0, 40 * MIB, 0 });
  end (a, 1);
  LOAD (a, 2, { 0, 20 * MIB, 0 });
  g_assert_cmpuint (backed (a), ==, 24 * MIB);
  LOAD (a, 3, { 0, 40 * MIB, 0 });
  for (guint i = 0; i < 5; i++)
    g_assert_cmpuint (page (a, i)->ref, ==, i <= 2);
  g_assert_cmpuint (backed (a), ==, 40 * MIB); /* pages 4 and 3 are idle, with memory */
  LOAD (a, 4, { 0, 40 * MIB, 0 }, { 40 * MIB, 24 * MIB, 0 });
  g_assert_cmphex (segment (a, 1)->address, ==, PLAIN);
  g_assert_cmpuint (held (a), ==, 72 * MIB);
  LOAD (a, 5, { 0, 40 * MIB, 0 }, { 40 * MIB, 30 * MIB, 0 });
  g_assert_cmphex (segment (a, 1)->address, ==, PLAIN + 0x1800000);
  g_assert_cmpuint (held (a), ==, 110 * MIB);
  g_assert_cmpuint (page (a, 7)->ref, ==, 1);
  g_assert_cmpuint (page (a, 8)->ref, ==, 1);
  for (guint id = 1; id <= 5; id++)
    unload (a, id);
  g_assert_cmpuint (held (a), ==, 110 * MIB);
  g_assert_cmpuint (stat_of (a, "static.leaked"), ==, 54 * MIB);
  g_assert_cmpuint (stat_of (a, "static.lost"), ==, 0); /* 7 pages are in the pool */
  g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 0);
  test_allocator_destroy (a);
}

/* A first graph larger than the device's total: no range, for ever. */
static void
test_e32 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4,total=512MiB", "sim:capacity=unlimited");

  for (guint round = 0; round < 2; round++)
    {
      const guint64 first = LOAD (a, 1, { 0, 600 * MIB, 0 });

      g_assert_cmpuint (stat_of (a, "static.virtual_memory_unsupported"), ==, 1);
      g_assert_cmphex (LOAD (a, 2, { 0, 5 * MIB, 0 }), ==, first);
      if (round == 0)
        g_assert_cmphex (first, ==, PLAIN);
      unload (a, 1);
      unload (a, 2);
      g_assert_cmpuint (held (a), ==, 0);
    }
  LOAD (a, 3, { 0, 5 * MIB, 0 });
  g_assert_cmpuint (held (a), ==, 6 * MIB);
  unload (a, 3);
  test_allocator_destroy (a);
}

/* ---- E33, E34: order */

/* Empty segments, also as the first of a graph. */
static void
test_e33 (void)
{
  static const struct
  {
    guint64 offset, size, address;
  } rows[] = {
    { 0, 3 * MIB, BASE },
    { 0, 0, BASE + 3 * MIB },
    { 3 * MIB, 2 * MIB, BASE + 3 * MIB },
    { 3 * MIB, 0, BASE + 5 * MIB },
  };
  static const guint64 blocks[] = { 3, 2, 0, 0 };
  GememAllocator *a = new_allocator ("ge-active:policy=4", DEVICE);
  const GeActive *active = &memory_of (a)->active;

  g_assert_cmphex (
      LOAD (a, 1, { 0, 0, 0 }, { 0, 3 * MIB, 0 }, { 3 * MIB, 0, 0 }, { 3 * MIB, 2 * MIB, 0 }), ==,
      BASE);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_cmpuint (segment (a, i)->offset, ==, rows[i].offset);
      g_assert_cmpuint (segment (a, i)->size, ==, rows[i].size);
      g_assert_cmphex (segment (a, i)->address, ==, rows[i].address);
      g_assert_cmpuint (g_array_index (active->blocks, GeActiveBlock, i).total, ==,
                        blocks[i] * MIB);
    }
  g_assert_cmphex (g_array_index (active->blocks, GeActiveBlock, 2).address, ==, BASE + 3 * MIB);
  g_assert_cmphex (g_array_index (active->blocks, GeActiveBlock, 3).address, ==, BASE + 5 * MIB);
  g_assert_cmphex (LOAD (a, 2, { 0, 0, 0 }, { 0, MIB, 0 }, { MIB, 0, 0 }), ==, BASE);
  g_assert_cmpuint (active->segments->len, ==, 3);
  g_assert_cmphex (segment (a, 1)->address, ==, BASE + MIB);
  g_assert_cmphex (segment (a, 2)->address, ==, BASE + MIB);
  g_assert_cmpuint (active->active->len, ==, 1);
  g_assert_cmpuint (g_array_index (active->active, GeActivePiece, 0).used, ==, MIB);
  test_allocator_destroy (a);
}

/* The driver refuses 0 bytes. */
static void
test_e33_policy_2 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=2,rules=as-built", DEVICE);

  g_assert_cmphex (
      LOAD (a, 1, { 0, 0, 0 }, { 0, 3 * MIB, 0 }, { 3 * MIB, 0, 0 }, { 3 * MIB, 2 * MIB, 0 }), ==,
      0);
  g_assert_cmphex (LOAD (a, 2, { 0, 0, 0 }, { 0, MIB, 0 }, { MIB, 0, 0 }), ==, 0);
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

/* Of equal segments more than 16 are not placed in order. */
static void
test_e34 (void)
{
  static const guint order[] = { 9, 17, 16, 15, 14, 13, 12, 11, 10, 0, 8, 7, 6, 5, 4, 3, 2, 1 };
  GememAllocator *a = new_allocator ("ge-active:policy=2,rules=as-built", DEVICE);
  GememGraphSegment segments[G_N_ELEMENTS (order)];
  const guint64 first = LOAD (a, 1, { 0, 4 * MIB, 0 });

  for (guint i = 0; i < G_N_ELEMENTS (segments); i++)
    segments[i] = (GememGraphSegment){ i * 512, 512, 0 };
  g_assert_cmphex (load (a, 2, segments, G_N_ELEMENTS (segments)), ==, first + 0x1200);
  g_assert_cmpuint (memory_of (a)->active.segments->len, ==, G_N_ELEMENTS (segments));
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    g_assert_cmphex (segment (a, order[i])->address, ==, first + i * 512);
  g_assert_cmphex (load (a, 3, segments, 16), ==, first);
  g_assert_cmpuint (memory_of (a)->active.segments->len, ==, 1);
  test_allocator_destroy (a);
}

/* ---- E35, E36: refused pages */

/* At a load a refusal is ignored. */
static void
test_e35 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4,total=512MiB", "sim:capacity=40MiB");
  const guint64 first = LOAD (a, 1, { 0, 40 * MIB, 0 });
  const GememGraphSegment whole = { 0, 40 * MIB, 0 };
  guint64 second;

  end (a, 1);
  request (a, 20 * MIB, 0);
  live = 1;
  g_assert_cmpuint (held (a), ==, 40 * MIB);
  g_assert_true (a->klass->graphs.load (a, 2, 0, &whole, 1, &second));
  g_assert_cmphex (second, ==, first);
  g_assert_cmpuint (stat_of (a, "static.peak"), ==, 40 * MIB);
  g_assert_cmpuint (backed (a), ==, 0);
  g_assert_false (begin (a, 1));
  g_assert_cmpuint (backed (a), ==, 0);
  live = 0;
  test_allocator_destroy (a);
}

/* Before a run it is an error, and the whole list is unbound. */
static void
test_e36 (void)
{
  GememAllocator *a = new_allocator ("ge-active:policy=4,total=512MiB", "sim:capacity=48MiB");
  GememBlock block;

  LOAD (a, 1, { 0, 24 * MIB, 0 }, { 24 * MIB + 512, 16 * MIB, 0 });
  g_assert_cmpuint (memory_of (a)->active.blocks->len, ==, 2);
  end (a, 1);
  block = request (a, 24 * MIB, 0);
  live = 1;
  g_assert_false (begin (a, 1));
  g_assert_cmpuint (backed (a), ==, 0);
  g_assert_cmpuint (held (a), ==, 48 * MIB);
  a->klass->free (a, &block, FALSE);
  live = 0;
  a->klass->trim (a);
  g_assert_true (begin (a, 1));
  g_assert_cmpuint (backed (a), ==, 40 * MIB);
  end (a, 1);
  unload (a, 1);
  test_allocator_destroy (a);
}

/* ---- models */

/* A model unbinds the pages of a graph that never ran before it frees them (3.3); one whose run
 * was not waited for keeps them. */
static void
test_models (void)
{
  for (guint runs = 0; runs <= 1; runs++)
    {
      GememAllocator *a = new_allocator ("ge:static_memory_policy=4", DEVICE);

      for (guint id = 1; id <= 3; id++)
        LOAD (a, id, { 0, 6 * MIB, 0 });
      for (guint id = 1; id <= 3 && runs > 0; id++)
        g_assert_true (begin (a, id));
      for (guint id = 1; id <= 3; id++)
        unload (a, id);
      g_assert_cmpuint (stat_of (a, "static.lost"), ==, runs * PAGE);
      test_allocator_destroy (a);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-shared-graphs/E29", test_e29);
  g_test_add_func ("/ge-shared-graphs/E30", test_e30);
  g_test_add_func ("/ge-shared-graphs/E31", test_e31);
  g_test_add_func ("/ge-shared-graphs/E32", test_e32);
  g_test_add_func ("/ge-shared-graphs/E33", test_e33);
  g_test_add_func ("/ge-shared-graphs/E33-policy-2", test_e33_policy_2);
  g_test_add_func ("/ge-shared-graphs/E34", test_e34);
  g_test_add_func ("/ge-shared-graphs/E35", test_e35);
  g_test_add_func ("/ge-shared-graphs/E36", test_e36);
  g_test_add_func ("/ge-shared-graphs/models", test_models);
  return g_test_run ();
}
