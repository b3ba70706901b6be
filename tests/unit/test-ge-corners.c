/* test-ge-corners.c - rules of `ge`, `ge-streams`, the ActiveMemoryAllocator and sessions'
 * ranges that no other test covers: each test was written for a mutant of the code (a changed
 * comparison, reset or order) that all other tests of its part passed. */
#include "config.h"

#include "allocators/ge/engine.h"
#include "planners/ge/policy.h"
#include "tests/util/ge-graphs.h"
#include "traces/trace.h"

#define ANY G_MAXUINT64 /* any waiter */
#define SUBGRAPH GEMEM_GRAPH_SEGMENT_SUBGRAPH
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

/* ---- the policy (7.1) */

/* A policy followed by other characters is invalid. */
static void
test_policy_with_a_tail (void)
{
  static const char *const texts[] = { "20", "2 ", "4x", "3.0" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_assert_cmpuint (gemem_ge_policy (texts[i], "0"), ==, 0);
      g_assert_cmpuint (gemem_ge_policy ("0", texts[i]), ==, 0);
    }
}

/* Dynamic memory is in 8 MiB pages of a range under 3 and 4, in blocks of the bottom pool else
 * (7.2). */
static void
test_dynamic_memory (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf ("ge:static_memory_policy=%u", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");

      request (a, MIB, 0);
      g_assert_cmpuint (a->device->held, ==, policy >= 3 ? 8 * MIB : 2 * MIB);
      g_assert_cmpuint (a->device->calls[GEMEM_CALL_RESERVE], ==, policy >= 3 ? 1 : 0);
      test_allocator_destroy (a);
    }
}

/* static_model_addr_fixed: only policies 2 and 4 take the path at unload that forgets the block,
 * and none of them makes space. */
static void
test_fixed_addresses (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf (
          "ge:as_built=yes,static_model_addr_fixed=yes,static_memory_policy=%u", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=32MiB");

      g_assert_cmpuint (LOAD (a, 1, { 0, 20 * MIB, 0 }), !=, 0);
      g_assert_cmpuint (LOAD (a, 2, { 0, 20 * MIB, 0 }), ==, 0);
      g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 0);
      a->klass->graphs.unload (a, 1);
      g_assert_cmpuint (a->device->held, ==,
                        policy == 1 || policy == 2 || policy == 4 ? 20 * MIB : 0);
      test_allocator_destroy (a);
    }
}

/* A session's range has as many addresses as the device has memory; without a limit as many as
 * the threshold (5.9, 1.1). */
static void
test_addresses_of_a_session (void)
{
  static const struct
  {
    const char *spec, *device;
    guint64 mib;
  } rows[] = {
    { "ge", "sim:capacity=64GiB", 64 * 1024 },
    { "ge", "sim:capacity=unlimited", 30 * 1024 },
    { "ge:total=10GiB", "sim:capacity=64GiB", 10 * 1024 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememAllocator *a = test_allocator_new (rows[i].spec, rows[i].device);

      g_assert_cmpuint (((GeEngine *) a)->others.variables.range.total, ==, rows[i].mib * MIB);
      g_assert_cmpuint (((GeEngine *) a)->memory.fixed.total, ==, rows[i].mib * MIB);
      test_allocator_destroy (a);
    }
}

/* ---- settings beside dynamic memory */

/* An empty list names no graph. */
static void
test_no_memory_types (void)
{
  test_allocator_destroy (
      test_allocator_new ("ge:memory_types=[],hccl_graphs=[]", "sim:capacity=64MiB"));
}

static void
test_trim_reaches_p2p (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[1=p2p]", "sim:capacity=64MiB");
  GememBlock block = request (a, 4 * MIB, 1);

  g_assert_cmpuint (stat_of (a, "p2p.pool"), ==, 4 * MIB);
  a->klass->free (a, &block, FALSE);
  a->klass->trim (a);
  g_assert_cmpuint (stat_of (a, "p2p.pool"), ==, 0);
  test_allocator_destroy (a);
}

/* Both options for 1 GiB pages begin with one page. */
static void
test_huge_pages_first (void)
{
  GememAllocator *a = test_allocator_new ("ge:ge.variableUse1gHugePage=2,memory_types=[3=variable]",
                                          "sim:capacity=64GiB");

  request (a, 1000, 3);
  g_assert_cmpuint (a->device->held, ==, 1024 * MIB);
  test_allocator_destroy (a);
}

/* ---- graphs */

/* Workspaces of a run are released in reverse order of their allocation: the first is the next
 * to be found (LIFO, 1.2). */
static void
test_workspaces_in_turn (void)
{
  GememAllocator *a = test_allocator_new ("ge", "sim:capacity=64MiB");
  GememBlock one = request (a, 4 * MIB, 0), two = request (a, 4 * MIB, 0), again;

  a->klass->free (a, &two, FALSE);
  a->klass->free (a, &one, FALSE);
  LOAD (a, 1, { 0, 4 * MIB, SUBGRAPH }, { 4 * MIB, 4 * MIB, SUBGRAPH });
  g_assert_true (a->klass->graphs.run (a, 1, 0, TRUE));
  g_assert_true (a->klass->graphs.run (a, 1, 0, FALSE));
  again = request (a, 4 * MIB, 0);
  g_assert_cmphex (again.address, ==, one.address);
  test_allocator_destroy (a);
}

/* The dynamic memory of a run is released with the graph, also if no caller waited for its end. */
static void
test_unload_while_running (void)
{
  GememAllocator *a = test_allocator_new ("ge", "sim:capacity=64MiB");

  LOAD (a, 1, { 0, 4 * MIB, SUBGRAPH });
  g_assert_true (a->klass->graphs.run (a, 1, 0, TRUE));
  unload (a, 1);
  g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 0);
  test_allocator_destroy (a);
}

/* The documented policy 2 asks the device once for the first block: there is no previous block
 * to allocate again. */
static void
test_first_block_refused (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,rules=documented",
                                          "sim:capacity=8MiB");

  g_assert_cmpuint (LOAD (a, 1, { 0, 16 * MIB, 0 }), ==, 0);
  g_assert_cmpuint (calls (a, GEMEM_CALL_MALLOC), ==, 1);
  test_allocator_destroy (a);
}

/* The host waited for the device to replace the block, and thereby for the run: later runs are
 * not concurrent. */
static void
test_run_after_replacement (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,rules=documented,strict=yes",
                                          "sim:capacity=64MiB");

  LOAD (a, 1, { 0, MIB, 0 });
  g_assert_true (a->klass->graphs.run (a, 1, 7, TRUE));
  LOAD (a, 2, { 0, 3 * MIB, 0 });
  g_assert_true (a->klass->graphs.run (a, 2, 5, TRUE));
  g_assert_cmpuint (stat_of (a, "concurrent_runs"), ==, 0);
  test_allocator_destroy (a);
}

/* CheckFreeMemory unloads graphs in the order of their loads, and no more than necessary. Fixed
 * segments are blocks of their own here, so that an unload frees memory: 32 MiB, 1 of them in
 * reserve, 16 free; the third graph exceeds the shared memory by 16. */
static void
test_oldest_makes_space (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,external=yes",
                                          "sim:capacity=32MiB");

  g_assert_cmpuint (LOAD (a, 1, { 0, 4 * MIB, 0 }, { 4 * MIB, 6 * MIB, FIXED }), !=, 0);
  g_assert_cmpuint (LOAD (a, 2, { 0, 4 * MIB, 0 }, { 4 * MIB, 6 * MIB, FIXED }), !=, 0);
  g_assert_cmpuint (a->device->held, ==, 16 * MIB);
  g_assert_cmpuint (LOAD (a, 3, { 0, 20 * MIB, 0 }), !=, 0);
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 1);
  g_assert_true (a->klass->graphs.run (a, 2, 0, TRUE));
  g_assert_cmpuint (stat_of (a, "check_free_memory.reloaded"), ==, 0);
  test_allocator_destroy (a);
}

/* A graph with dynamic memory only shares none: strict lets it run beside another. */
static void
test_subgraphs_run_beside (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,strict=yes",
                                          "sim:capacity=64MiB");

  LOAD (a, 1, { 0, MIB, 0 });
  LOAD (a, 2, { 0, MIB, SUBGRAPH });
  g_assert_true (a->klass->graphs.run (a, 1, 1, TRUE));
  g_assert_true (a->klass->graphs.run (a, 2, 2, TRUE));
  g_assert_null (a->refusal);
  g_assert_cmpuint (stat_of (a, "concurrent_runs"), ==, 0);
  test_allocator_destroy (a);
}

/* Whether a run of graph 9 on @stream follows all of @order. */
static gboolean
would_follow (const GeRunOrder *order, guint64 stream)
{
  GememAllocator none = { NULL };
  const gboolean follows = gemem_ge_run_order_check (order, &none, 9, stream, "there", FALSE);

  g_assert_true (follows == (none.broken == NULL));
  g_free (none.broken);
  return follows;
}

/* An event recorded behind one run does not order the next. */
static void
test_events_of_an_earlier_run (void)
{
  GeRunOrder order;

  gemem_ge_run_order_init (&order);
  gemem_ge_run_order_begin (&order, 1, 0, MIB);
  gemem_ge_run_order_record (&order, 7, 0);
  gemem_ge_run_order_begin (&order, 2, 5, 3 * MIB);
  gemem_ge_run_order_wait (&order, 7, 6);
  g_assert_false (would_follow (&order, 6));
  g_assert_false (would_follow (&order, 5)); /* it follows run 2 alone */
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 4 * MIB);
  gemem_ge_run_order_end (&order, 1);
  g_assert_true (would_follow (&order, 5));
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 3 * MIB);
  gemem_ge_run_order_clear (&order);
}

/* Runs that are on their way at once: a third that follows one of two takes its place; a graph that
 * runs twice has its memory once; a stream that waits for both is after both. */
static void
test_several_runs (void)
{
  GeRunOrder order;

  gemem_ge_run_order_init (&order);
  gemem_ge_run_order_begin (&order, 1, 1, 10);
  gemem_ge_run_order_begin (&order, 2, 2, 200);
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 210);
  gemem_ge_run_order_begin (&order, 3, 2, 3000);
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 3010);
  gemem_ge_run_order_begin (&order, 1, 4, 10);
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 3010);
  gemem_ge_run_order_record (&order, 70, 1);
  gemem_ge_run_order_record (&order, 71, 2);
  gemem_ge_run_order_wait (&order, 70, 5);
  g_assert_false (would_follow (&order, 5));
  gemem_ge_run_order_wait (&order, 71, 5);
  g_assert_false (would_follow (&order, 5));
  gemem_ge_run_order_sync (&order, 4);
  g_assert_true (would_follow (&order, 5));
  gemem_ge_run_order_sync (&order, 5); /* the host waits for what waited for both */
  g_assert_cmpuint (gemem_ge_run_order_bytes (&order), ==, 0);
  gemem_ge_run_order_clear (&order);
}

/* ---- ActiveMemoryAllocator (3.3) */

/* The last unload also resets the highest address: the next graph's zero-copy part begins where
 * its own memory ends. */
static void
test_highest_address_is_forgotten (void)
{
  const GememGraphSegment large = { 0, 20 * MIB, 0 };
  const GememGraphSegment small[] = {
    { 0, 2 * MIB, 0 },
    { 2 * MIB, MIB, GEMEM_GRAPH_SEGMENT_NO_ALLOC | GEMEM_GRAPH_SEGMENT_ZERO_COPY }
  };
  GememDevice *device = gemem_device_new ("sim:capacity=64MiB,address=first-fit", NULL, 0, NULL);
  GeActive active;
  guint64 address;

  gemem_ge_active_init (&active, device, NULL);
  g_assert_cmpuint (gemem_ge_active_load (&active, &large, 1, 0), !=, 0);
  gemem_ge_active_unload (&active);
  g_assert_cmpuint (active.peak, ==, 0);
  address = gemem_ge_active_load (&active, small, G_N_ELEMENTS (small), 0);
  g_assert_cmphex (g_array_index (active.segments, GeActiveSegment, 1).address, ==,
                   address + 2 * MIB);
  gemem_ge_active_clear (&active);
  gemem_device_destroy (device);
}

/* The highest address is the highest end of all blocks, not the end of the newest. */
static void
test_highest_address_of_all (void)
{
  const GememGraphSegment first = { 0, 10 * MIB, 0 };
  const GememGraphSegment second[] = { { 0, 12 * MIB, 0 },
                                       { 12 * MIB, 11 * MIB, GEMEM_GRAPH_SEGMENT_NO_ALLOC } };
  GememDevice *device = gemem_device_new ("sim:capacity=64MiB,address=first-fit", NULL, 0, NULL);
  const guint64 below = gemem_device_malloc (device, 20 * MIB, 0);
  GeActive active;
  guint64 high;

  gemem_ge_active_init (&active, device, NULL);
  high = gemem_ge_active_load (&active, &first, 1, 0);
  gemem_device_free (device, below, 20 * MIB);
  g_assert_cmphex (gemem_ge_active_load (&active, second, 2, 0), ==, below);
  /* zero-copy parts are no part of what is allocated (3.3 B) */
  g_assert_cmpuint (active.segments->len, ==, 2);
  g_assert_cmphex (g_array_index (active.segments, GeActiveSegment, 1).address, ==,
                   high + 10 * MIB);
  gemem_ge_active_clear (&active);
  gemem_device_destroy (device);
}

/* Blocks up to 2 MiB are allocated exactly, larger ones in steps of 2 MiB. */
static void
test_small_blocks_are_exact (void)
{
  static const guint64 sizes[][2] = { { 3 * MIB / 2, 3 * MIB / 2 },
                                      { 2 * MIB, 2 * MIB },
                                      { 2 * MIB + 512, 4 * MIB } };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      const GememGraphSegment segment = { 0, sizes[i][0], 0 };
      GememDevice *device = gemem_device_new ("sim:capacity=64MiB", NULL, 0, NULL);
      GeActive active;

      gemem_ge_active_init (&active, device, NULL);
      g_assert_cmpuint (gemem_ge_active_load (&active, &segment, 1, 0), !=, 0);
      g_assert_cmpuint (gemem_ge_active_plain (&active), ==, sizes[i][1]);
      gemem_ge_active_clear (&active);
      gemem_device_destroy (device);
    }
}

/* A session's range can be used to its last byte (5.9), and no further. */
static void
test_range_to_its_end (void)
{
  GememDevice *device = gemem_device_new ("sim:capacity=64MiB", NULL, 0, NULL);
  GeSessionRange range;
  GePages pages;

  gemem_ge_pages_init (&pages, device, GE_SMALL_PAGE, GE_1G_NO);
  gemem_ge_session_init (&range, &pages, 6 * MIB, TRUE);
  g_assert_cmpuint (gemem_ge_session_append (&range, 2 * MIB), !=, 0);
  g_assert_cmpuint (gemem_ge_session_append (&range, 4 * MIB + 1), ==, 0);
  g_assert_cmphex (gemem_ge_session_append (&range, 4 * MIB), ==, range.backing.base + 2 * MIB);
  gemem_ge_session_clear (&range);
  gemem_ge_pages_clear (&pages);
  gemem_device_destroy (device);
}

/* ---- events between streams (2.6) */

/* An entry is sent to a stream once: the same event does not deliver what its sender learns
 * later. */
static void
test_entries_are_sent_once (void)
{
  GememAllocator *a = test_allocator_new ("ge-streams", "sim:capacity=1GiB");
  const GememAllocatorClass *klass = a->klass;
  GememBlock block = request (a, MIB, 0);

  klass->streams.use (a, &block, 1);
  klass->streams.use (a, &block, 2);
  klass->streams.free (a, &block, 0);
  klass->streams.record (a, 1, 0, ANY);
  klass->streams.wait (a, 1, 1); /* 1 knows of itself and of 2 */
  klass->streams.free (a, &block, 2);
  klass->streams.record (a, 2, 2, ANY);
  klass->streams.wait (a, 2, 0); /* 0 knows that 2 is done */
  klass->streams.record (a, 3, 0, ANY);
  klass->streams.wait (a, 3, 1);
  klass->free (a, &block, FALSE); /* the hold of 1 */
  g_assert_cmpuint (stat_of (a, "borrow_recycles"), ==, 0);
  klass->streams.sync (a, ANY);
  g_assert_cmpuint (stat_of (a, "birth_recycles"), ==, 1);
  test_allocator_destroy (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/corners/policy-with-a-tail", test_policy_with_a_tail);
  g_test_add_func ("/ge/corners/dynamic-memory", test_dynamic_memory);
  g_test_add_func ("/ge/corners/fixed-addresses", test_fixed_addresses);
  g_test_add_func ("/ge/corners/trim-reaches-p2p", test_trim_reaches_p2p);
  g_test_add_func ("/ge/corners/huge-pages-first", test_huge_pages_first);
  g_test_add_func ("/ge/corners/workspaces-in-turn", test_workspaces_in_turn);
  g_test_add_func ("/ge/corners/addresses-of-a-session", test_addresses_of_a_session);
  g_test_add_func ("/ge/corners/no-memory-types", test_no_memory_types);
  g_test_add_func ("/ge/corners/unload-while-running", test_unload_while_running);
  g_test_add_func ("/ge/corners/first-block-refused", test_first_block_refused);
  g_test_add_func ("/ge/corners/run-after-replacement", test_run_after_replacement);
  g_test_add_func ("/ge/corners/oldest-makes-space", test_oldest_makes_space);
  g_test_add_func ("/ge/corners/subgraphs-run-beside", test_subgraphs_run_beside);
  g_test_add_func ("/ge/corners/events-of-an-earlier-run", test_events_of_an_earlier_run);
  g_test_add_func ("/ge/corners/several-runs", test_several_runs);
  g_test_add_func ("/ge/corners/highest-address-is-forgotten", test_highest_address_is_forgotten);
  g_test_add_func ("/ge/corners/highest-address-of-all", test_highest_address_of_all);
  g_test_add_func ("/ge/corners/small-blocks-are-exact", test_small_blocks_are_exact);
  g_test_add_func ("/ge/corners/range-to-its-end", test_range_to_its_end);
  g_test_add_func ("/ge/corners/entries-are-sent-once", test_entries_are_sent_once);
  return g_test_run ();
}
