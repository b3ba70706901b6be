/* test-ge-composition.c - `ge`: the origin of each kind of memory under each policy (the table
 * of ge-runtime.md 7.2). */
#include "config.h"

#include "allocators/ge/engine.h"
#include "tests/util/ge-graphs.h"
#include "traces/trace.h"

#define SUBGRAPH GEMEM_GRAPH_SEGMENT_SUBGRAPH
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

/* Feature maps of two graphs under each policy: bytes held with both loaded, after the first run,
 * after both are unloaded. */
static void
test_feature_maps (void)
{
  static const struct
  {
    const char *settings;
    guint64 both, live, end;
  } rows[] = {
    { "static_memory_policy=0", 8 * MIB + 2, 8 * MIB + 2, 0 },
    { "GE_USE_STATIC_MEMORY=1", 10 * MIB, 5 * MIB + 1, 0 },
    { "static_memory_policy=2", 10 * MIB, 5 * MIB + 1, 0 },
    { "GE_USE_STATIC_MEMORY=1,rules=documented", 5 * MIB + 1, 5 * MIB + 1, 0 },
    { "static_memory_policy=2,rules=documented", 5 * MIB + 1, 5 * MIB + 1, 0 },
    { "static_memory_policy=3", 8 * MIB + 2, 8 * MIB + 2, 0 },
    /* two pages, released with the last user of the page pool */
    { "static_memory_policy=4", 16 * MIB, 5 * MIB + 1, 0 },
    { "static_memory_policy=4,rules=documented", 8 * MIB, 5 * MIB + 1, 0 }, /* one page */
    { "static_memory_policy=4,static_model_addr_fixed=yes", 8 * MIB + 2, 8 * MIB + 2, 0 },
    /* the quirk: never freed */
    { "static_memory_policy=2,static_model_addr_fixed=yes,as_built=yes", 8 * MIB + 2, 8 * MIB + 2,
      8 * MIB + 2 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *spec = g_strconcat ("ge:", rows[i].settings, NULL);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");

      g_test_message ("%s", rows[i].settings);
      LOAD (a, 1, { 0, 3 * MIB + 1, 0 });
      LOAD (a, 2, { 0, 5 * MIB + 1, 0 });
      g_assert_cmpuint (held (a), ==, rows[i].both);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, rows[i].live);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MEMSET), ==, 2);
      g_assert_true (run (a, 1));
      unload (a, 1);
      unload (a, 2);
      g_assert_cmpuint (held (a), ==, rows[i].end);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 0);
      test_allocator_destroy (a);
    }
}

/* Fixed segments of one graph with 1 MiB besides: bytes held. */
static void
test_fixed (void)
{
  static const struct
  {
    const char *settings, *device;
    guint64 held, mallocs;
  } rows[] = {
    { "static_memory_policy=0", "sim:capacity=64GiB", 4 * MIB, 1 },
    { "static_memory_policy=0,feature_base_refreshable=yes", "sim:capacity=64GiB", 4 * MIB, 2 },
    { "static_memory_policy=2", "sim:capacity=64GiB", 5 * MIB, 1 }, /* 3 MiB in pages of 2 */
    { "static_memory_policy=2,external=yes", "sim:capacity=64GiB", 4 * MIB, 2 },
    /* fallback: a block */
    { "static_memory_policy=2", "sim:capacity=64GiB,virtual_memory=no", 4 * MIB, 2 },
    { "static_memory_policy=3", "sim:capacity=64GiB", 4 * MIB, 1 },
    { "static_memory_policy=4", "sim:capacity=64GiB", 16 * MIB, 0 }, /* pages of 8 */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *spec = g_strconcat ("ge:", rows[i].settings, NULL);
      GememAllocator *a = test_allocator_new (spec, rows[i].device);

      g_test_message ("%s on %s", rows[i].settings, rows[i].device);
      g_assert_cmpuint (LOAD (a, 1, { 0, MIB, 0 }, { MIB, 3 * MIB, FIXED }), !=, 0);
      g_assert_cmpuint (held (a), ==, rows[i].held);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MALLOC), ==, rows[i].mallocs);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 4 * MIB);
      unload (a, 1);
      test_allocator_destroy (a);
    }
}

/* A static subgraph of a dynamic graph has dynamic memory while it runs; its fixed part stays
 * from load to unload. */
static void
test_subgraph (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf ("ge:static_memory_policy=%u", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      /* of the fixed range in bytes, of the pool in pages */
      const guint64 fixed = policy == 4 ? 2 * MIB : 2 * MIB + 65536;
      GememBlock block;
      guint64 peak;

      LOAD (a, 1, { 0, 3 * MIB, SUBGRAPH }, { 3 * MIB, 2 * MIB + 1, SUBGRAPH | FIXED },
            { 5 * MIB + 1, 512, SUBGRAPH | GEMEM_GRAPH_SEGMENT_NO_ALLOC });
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, policy == 4 ? fixed + 1 : fixed);
      g_assert_true (a->klass->graphs.run (a, 1, 0, TRUE));
      g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 3 * MIB + (policy == 4 ? 0 : fixed));
      g_assert_true (test_allocator_verify (a, 0, 0));
      /* the first run was asynchronous: its memory is that of the second */
      g_assert_true (a->klass->graphs.run (a, 1, 0, TRUE));
      peak = held (a);
      g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 3 * MIB + (policy == 4 ? 0 : fixed));
      g_assert_true (a->klass->graphs.run (a, 1, 0, FALSE));
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, policy == 4 ? fixed + 1 : fixed);
      block = request (a, 3 * MIB, 0); /* memory that the run released */
      g_assert_cmpuint (held (a), ==, peak);
      a->klass->free (a, &block, FALSE);
      unload (a, 1);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 0);
      test_allocator_destroy (a);
    }
}

/* A run without memory for its workspaces is refused, and keeps no memory. */
static void
test_subgraph_refused (void)
{
  GememAllocator *a = test_allocator_new ("ge", "sim:capacity=20MiB");

  LOAD (a, 1, { 0, 8 * MIB, SUBGRAPH }, { 8 * MIB, 16 * MIB, SUBGRAPH });
  g_assert_false (a->klass->graphs.run (a, 1, 0, TRUE));
  g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 0);
  g_assert_null (a->refusal);
  g_assert_cmpuint (LOAD (a, 2, { 0, 8 * MIB, 0 }, { 8 * MIB, 4 * MIB, SUBGRAPH | FIXED },
                          { 12 * MIB, 30 * MIB, SUBGRAPH | FIXED }),
                    ==, 0);
  g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 0);
  test_allocator_destroy (a);
}

static void
add_bytes (const GememSpan *span, gpointer data)
{
  *(guint64 *) data += span->size;
}

/* A graph's own walk: static memory, workspaces while it runs, fixed segments from dynamic
 * memory. */
static void
test_walk_of_a_graph (void)
{
  GememAllocator *a = test_allocator_new ("ge", "sim:capacity=64MiB");
  guint64 bytes = 0;

  LOAD (a, 1, { 0, MIB, 0 }, { MIB, 2 * MIB, SUBGRAPH }, { 3 * MIB, 4 * MIB, SUBGRAPH | FIXED });
  a->klass->graphs.walk (a, 1, add_bytes, &bytes);
  g_assert_cmpuint (bytes, ==, 5 * MIB);
  g_assert_true (a->klass->graphs.run (a, 1, 0, TRUE));
  bytes = 0;
  a->klass->graphs.walk (a, 1, add_bytes, &bytes);
  g_assert_cmpuint (bytes, ==, 7 * MIB);
  test_allocator_destroy (a);
}

static void
note_p2p (const char *name, G_GNUC_UNUSED guint64 value, G_GNUC_UNUSED const char *unit,
          gpointer found)
{
  *(gboolean *) found |= g_str_has_prefix (name, "p2p.");
}

/* Memory of other types makes no pools of P2P. */
static void
test_no_p2p (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[2=host,3=weight]",
                                          "sim:capacity=64GiB");
  gboolean found = FALSE;

  a->klass->report.stats (a, note_p2p, &found);
  g_assert_false (found);
  test_allocator_destroy (a);
}

/* HBM and P2P have pools of their own, each weight a device call, host memory no device memory. */
static void
test_memory_types (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf (
          "ge:static_memory_policy=%u,memory_types=[1=p2p,2=host,3=weight,7=hbm]", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      GememBlock blocks[6];
      guint64 pools, mallocs;

      blocks[0] = request (a, MIB, 0);
      pools = held (a);
      blocks[1] = request (a, MIB, 7); /* the same pools */
      g_assert_cmpuint (held (a), ==, pools);
      blocks[2] = request (a, MIB, 1);
      g_assert_cmpuint (held (a), ==, 2 * pools);
      mallocs = calls (a, GEMEM_CALL_MALLOC);
      blocks[3] = request (a, 1000, 3);
      g_assert_cmpuint (blocks[3].size, ==, 1000);
      g_assert_cmpuint (held (a), ==, 2 * pools + 1000);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MALLOC), ==, mallocs + 1);
      blocks[4] = request (a, 100 * 1024 * MIB, 2); /* more than the capacity */
      blocks[5] = request (a, 5, 2);
      g_assert_cmphex (blocks[4].address, >=, GEMEM_HOST_ADDRESS);
      g_assert_cmphex (blocks[5].address, >=, blocks[4].address + blocks[4].size);
      g_assert_cmpuint (held (a), ==, 2 * pools + 1000);
      g_assert_cmpuint (stat_of (a, "host.bytes"), ==, 100 * 1024 * MIB + 5);
      g_assert_cmpuint (stat_of (a, "weight.bytes"), ==, 1000);
      g_assert_cmpuint (stat_of (a, "p2p.l1_pools"), ==, 1);
      g_assert_true (test_allocator_verify (a, 4, 3 * MIB + 1000));
      for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
        a->klass->free (a, &blocks[i], FALSE);
      g_assert_true (test_allocator_verify (a, 0, 0));
      g_assert_cmpuint (stat_of (a, "host.bytes"), ==, 0);
      g_assert_cmpuint (stat_of (a, "host.peak"), ==, 100 * 1024 * MIB + 5);
      blocks[0] = request (a, 9, 2);
      request (a, 9, 3);
      test_allocator_destroy (a); /* with live blocks */
    }
}

/* The RDMA pool is one device block, allocated by the first request. */
static void
test_rdma (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[5=rdma],rdma_size=8MiB",
                                          "sim:capacity=64MiB");
  GememBlock block, other;

  g_assert_cmpuint (held (a), ==, 0);
  block = request (a, 1000, 5);
  g_assert_cmpuint (held (a), ==, 8 * MIB);
  g_assert_cmpuint (block.size, ==, 1024);
  other = request (a, 5 * MIB, 5);
  /* the whole of it: 5 MiB are more than half of the rest */
  g_assert_cmphex (other.address, ==, block.address + 1024);
  g_assert_false (a->klass->alloc (a, &(GememRequest){ .size = 512, .pool = 5 }, &block));
  g_assert_true (test_allocator_verify (a, 2, G_MAXUINT64));
  a->klass->free (a, &other, FALSE);
  g_assert_cmpuint (stat_of (a, "rdma.bytes"), ==, 1024);
  g_assert_cmpuint (held (a), ==, 8 * MIB);
  test_allocator_destroy (a); /* with a live block */
  a = test_allocator_new ("ge:memory_types=[5=rdma]", "sim:capacity=64MiB");
  /* no space for 1 GiB */
  g_assert_false (a->klass->alloc (a, &(GememRequest){ .size = 512, .pool = 5 }, &block));
  test_allocator_destroy (a);
}

/* Variables lie one after the other in a range of the session, on pages of 2 MiB, or of 8 under
 * policies 3 and 4. */
static void
test_variables (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf (
          "ge:static_memory_policy=%u,memory_types=[3=variable]", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      const guint64 page = policy >= 3 ? 8 * MIB : 2 * MIB;
      GememBlock first = request (a, 1000, 3), second = request (a, MIB, 3);

      g_assert_cmpuint (first.size, ==, 1024 + 1024);
      g_assert_cmpuint (first.address % 65536, ==, 512);
      g_assert_cmphex (second.address, ==, first.address + first.size);
      g_assert_cmpuint (held (a), ==, page);
      g_assert_cmpuint (stat_of (a, "variable.bytes"), ==, first.size + second.size);
      request (a, MIB, 0);
      g_assert_true (test_allocator_verify (a, 3, G_MAXUINT64));
      a->klass->free (a, &first, FALSE);
      a->klass->free (a, &second, FALSE);
      g_assert_true (test_allocator_verify (a, 1, MIB));
      g_assert_cmpuint (stat_of (a, "variable.bytes"), ==, 0);
      request (a, 1000, 3);
      test_allocator_destroy (a); /* with a live variable */
    }
}

/* Variables on pages of 1 GiB. */
static void
test_huge_variables (void)
{
  GememAllocator *a = test_allocator_new ("ge:ge.variableUse1gHugePage=1,memory_types=[3=variable]",
                                          "sim:capacity=64GiB");

  request (a, 1000, 3);
  g_assert_cmpuint (held (a), ==, 1024 * MIB);
  test_allocator_destroy (a);
}

/* Streams first, then memory: an unload waits for the graph's queued work, the replacement of
 * policy 2's block for all streams. */
static void
test_unload_synchronises (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,rules=documented",
                                          "sim:capacity=64GiB");

  LOAD (a, 1, { 0, MIB, 0 });
  LOAD (a, 2, { 0, MIB, 0 });
  g_assert_true (a->klass->graphs.run (a, 1, 7, TRUE));
  g_assert_cmpuint (calls (a, GEMEM_CALL_DEVICE_SYNC), ==, 0);
  LOAD (a, 3, { 0, 3 * MIB, 0 });
  g_assert_cmpuint (calls (a, GEMEM_CALL_DEVICE_SYNC), ==, 1);
  test_allocator_destroy (a);
  a = test_allocator_new ("ge:static_memory_policy=4", "sim:capacity=64GiB");

  LOAD (a, 1, { 0, MIB, 0 });
  g_assert_true (a->klass->graphs.run (a, 1, 7, TRUE));
  unload (a, 1);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2); /* the stream of the load, and 7 */
  LOAD (a, 1, { 0, MIB, 0 });
  g_assert_true (a->klass->graphs.run (a, 1, 7, TRUE));
  g_assert_true (a->klass->graphs.run (a, 1, 7, FALSE));
  unload (a, 1);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 3); /* the host has waited for 7 */
  test_allocator_destroy (a);
}

/* The ladder crosses memory types (2.1, step 6): idle memory of P2P is released for a request of
 * HBM. */
static void
test_ladder (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[1=p2p]", "sim:capacity=32MiB");
  GememBlock block = request (a, 20 * MIB, 1);

  a->klass->free (a, &block, FALSE);
  g_assert_cmpuint (held (a), ==, 20 * MIB);
  /* P2P's bottom pool keeps it */
  g_assert_false (a->klass->alloc (a, &(GememRequest){ .size = 21 * MIB }, &block));
  /* its own stream, and that of the other pool */
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2);
  g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 12 * MIB }, &block));
  test_allocator_destroy (a);
}

static guint64
address_of (GememAllocator *a, guint64 size, guint64 stream)
{
  GememBlock block = { 0 };

  return a->klass->alloc (a, &(GememRequest){ .size = size, .stream = stream }, &block)
             ? block.address
             : 0;
}

static void
free_at (GememAllocator *a, guint64 address, guint64 size)
{
  a->klass->free (a, &(GememBlock){ .address = address, .size = size }, FALSE);
}

/* Mode 0 by the manual's word: dynamic memory has the actual size, and only a request of the same
 * size and stream finds it again. */
static void
test_actual_size (void)
{
  GememAllocator *a = test_allocator_new ("ge:rules=documented", "sim:capacity=8000");
  const guint64 first = address_of (a, 1000, 0);

  g_assert_cmpuint (held (a), ==, 1000);
  free_at (a, first, 1000);
  g_assert_true (test_allocator_verify (a, 0, 0));
  g_assert_cmpuint (address_of (a, 999, 0), !=, first);
  g_assert_cmpuint (address_of (a, 1000, 1), !=, first);
  g_assert_cmpuint (held (a), ==, 2999);
  g_assert_cmpuint (address_of (a, 1000, 0), ==, first);
  g_assert_cmpuint (held (a), ==, 2999);
  /* what is kept goes when the device has no more, or when the program asks for it */
  free_at (a, first, 1000);
  g_assert_cmpuint (address_of (a, 6000, 0), !=, 0);
  g_assert_cmpuint (held (a), ==, 7999);
  g_assert_cmpuint (a->retries, ==, 1);
  g_assert_cmpuint (address_of (a, 2, 0), ==, 0);
  g_assert_cmpuint (a->retries, ==, 1);
  free_at (a, address_of (a, 1, 0), 1);
  a->klass->trim (a);
  g_assert_cmpuint (held (a), ==, 7999);
  test_allocator_destroy (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/feature-maps", test_feature_maps);
  g_test_add_func ("/ge/fixed", test_fixed);
  g_test_add_func ("/ge/subgraph", test_subgraph);
  g_test_add_func ("/ge/subgraph-refused", test_subgraph_refused);
  g_test_add_func ("/ge/walk-of-a-graph", test_walk_of_a_graph);
  g_test_add_func ("/ge/memory-types", test_memory_types);
  g_test_add_func ("/ge/no-p2p", test_no_p2p);
  g_test_add_func ("/ge/rdma", test_rdma);
  g_test_add_func ("/ge/variables", test_variables);
  g_test_add_func ("/ge/huge-variables", test_huge_variables);
  g_test_add_func ("/ge/unload-synchronises", test_unload_synchronises);
  g_test_add_func ("/ge/ladder", test_ladder);
  g_test_add_func ("/ge/actual-size", test_actual_size);
  return g_test_run ();
}
