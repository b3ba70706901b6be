/* test-ge-composition.c - `ge`: the policy that follows from two settings, where each kind of memory comes from under each policy (the table of
 * ge-runtime.md 7.2), CheckFreeMemory (3.4), the order of runs, and several devices (8). */
#include "config.h"

#include <string.h>

#include "allocators/ge/ge.h"
#include "allocators/ge/policy.h"
#include "tests/util/engine-job.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

#define M (G_GUINT64_CONSTANT (1) << 20)
#define SUBGRAPH GEMEM_GRAPH_SEGMENT_SUBGRAPH
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

/* ---- helpers */

static guint64
held (const GememAllocator *a)
{
  return a->device->held;
}

static guint64
calls (const GememAllocator *a, GememDeviceCall call)
{
  return a->device->calls[call];
}

static guint64
load (GememAllocator *a, guint64 id, const GememGraphSegment *segments, guint n)
{
  guint64 address = 0;
  const gboolean ok = a->klass->graph_load (a, id, 0, segments, n, &address);

  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  return ok ? address : 0;
}

#define LOAD(a, id, ...) \
  load (a, id, (const GememGraphSegment[]) { __VA_ARGS__ }, sizeof ((const GememGraphSegment[]) { __VA_ARGS__ }) / sizeof (GememGraphSegment))

static gboolean
run (GememAllocator *a, guint64 id)
{
  const gboolean began = a->klass->graph_run (a, id, 0, TRUE);

  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
  return a->klass->graph_run (a, id, 0, FALSE) && began;
}

static void
unload (GememAllocator *a, guint64 id)
{
  a->klass->graph_unload (a, id);
  g_assert_true (test_allocator_verify (a, 0, G_MAXUINT64));
}

static GememBlock
request (GememAllocator *a, guint64 size, guint32 pool)
{
  GememBlock block;

  g_assert_true (a->klass->alloc (a, &(GememRequest) { .size = size, .pool = pool }, &block));
  return block;
}

typedef struct
{
  const char *name;
  guint64     value;
} Stat;

static void
take_stat (const char *name, guint64 value, G_GNUC_UNUSED const char *unit, gpointer data)
{
  Stat *stat = data;

  if (g_str_equal (stat->name, name))
    stat->value = value;
}

static guint64
stat_of (GememAllocator *a, const char *name)
{
  Stat stat = { name, G_MAXUINT64 };

  a->klass->stats (a, take_stat, &stat);
  g_assert_cmpuint (stat.value, !=, G_MAXUINT64);
  return stat.value;
}

/* The message with which creation is refused. */
static char *
refusal_of (const char *text)
{
  g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("sim", NULL, 0, NULL);

  if (gemem_allocator_spec_parse (text, specs, &error))
    g_assert_null (gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, device, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  gemem_device_destroy (device);
  return g_strdup (error->message);
}

static void
assert_refused (const char *text, const char *pattern)
{
  g_autofree char *message = refusal_of (text);

  g_test_message ("%s", message);
  g_assert_true (g_pattern_match_simple (pattern, message));
}

/* ---- the policy (7.1) */

/* Every cell of the table, and what is no policy. */
static void
test_policy (void)
{
  static const char *const texts[] = { "0", "1", "2", "3", "4", "", "5", " 2", "02", "-1", "static", "unset" };
  static const guint rows[4][4] = { { 0, 2, 3, 4 }, { 2, 2, 4, 4 }, { 3, 4, 3, 4 }, { 4, 4, 4, 4 } }; /* [E][O]: 0, 1 or 2, 3, 4 */
  static const guint column[] = { 0, 1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0 };

  for (guint e = 0; e < G_N_ELEMENTS (texts); e++)
    for (guint o = 0; o < G_N_ELEMENTS (texts); o++)
      {
        g_autofree char *spec = g_strdup_printf ("ge:as-built=yes,GE_USE_STATIC_MEMORY='%s',ge.exec.staticMemoryPolicy='%s'", texts[e], texts[o]);
        GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");

        g_assert_cmpuint (gemem_ge_policy (texts[e], texts[o]), ==, rows[column[e]][column[o]]);
        g_assert_cmpuint (stat_of (a, "static_memory_policy"), ==, rows[column[e]][column[o]]);
        test_allocator_destroy (a);
      }
}

static void
test_refused_settings (void)
{
  assert_refused ("ge:static_memory_policy=5", "allocator ge: static_memory_policy='5': not one of 0, 1, 2, 3, 4; *as_built*");
  assert_refused ("ge:static_memory_policy=", "*static_memory_policy='': not one of*");
  assert_refused ("ge:GE_USE_STATIC_MEMORY=yes", "*GE_USE_STATIC_MEMORY='yes': not one of*");
  assert_refused ("ge:strict=yes,GE_USE_STATIC_MEMORY=2,static_memory_policy=0", "*GE_USE_STATIC_MEMORY=2 and static_memory_policy=0: *forbids*");
  assert_refused ("ge:atomic_clean_policy=2", "*atomic_clean_policy*'2'*too large*");
  assert_refused ("ge:memory_types=[1=p2p,1=host]", "*memory_types*'1=host'*");
  assert_refused ("ge:memory_types=[1=disk]", "*'1=disk' is not POOL=TYPE*hbm, p2p, host*");
  assert_refused ("ge:memory_types=p2p", "*'p2p' is not POOL=TYPE*");
  assert_refused ("ge:hccl_graphs=[3,x]", "*hccl_graphs='?3,x?': 'x' is not the number of a graph*");
  assert_refused ("ge:huge_page_mem_size=1000", "*huge_page_mem_size*");
  /* one of them, or both without strict, is fine */
  test_allocator_destroy (test_allocator_new ("ge:strict=yes,GE_USE_STATIC_MEMORY=2", "sim"));
  test_allocator_destroy (test_allocator_new ("ge:strict=yes,static_memory_policy=4,atomic_clean_policy=1", "sim:capacity=64GiB"));
  test_allocator_destroy (test_allocator_new ("ge:GE_USE_STATIC_MEMORY=1,static_memory_policy=3", "sim:capacity=64GiB"));
}

/* ---- where memory comes from (7.2) */

/* Feature maps of two graphs under each policy: bytes held with both loaded, after the first run, after both are unloaded. */
static void
test_feature_maps (void)
{
  static const struct
  {
    const char *settings;
    guint64     both, live, end;
  } rows[] = {
    { "static_memory_policy=0", 8 * M + 2, 8 * M + 2, 0 },
    { "GE_USE_STATIC_MEMORY=1", 5 * M + 1, 5 * M + 1, 0 },
    { "static_memory_policy=2", 5 * M + 1, 5 * M + 1, 0 },
    { "static_memory_policy=2,policy2=as-built", 10 * M, 5 * M + 1, 0 },
    { "static_memory_policy=3", 8 * M + 2, 8 * M + 2, 0 },
    { "static_memory_policy=4", 16 * M, 5 * M + 1, 0 }, /* two pages, which go back with the last user of the page pool */
    { "static_memory_policy=4,static_model_addr_fixed=yes", 8 * M + 2, 8 * M + 2, 0 },
    { "static_memory_policy=2,static_model_addr_fixed=yes,as_built=yes", 8 * M + 2, 8 * M + 2, 8 * M + 2 }, /* the quirk: never freed */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *spec = g_strconcat ("ge:", rows[i].settings, NULL);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");

      g_test_message ("%s", rows[i].settings);
      LOAD (a, 1, { 0, 3 * M + 1, 0 });
      LOAD (a, 2, { 0, 5 * M + 1, 0 });
      g_assert_cmpuint (held (a), ==, rows[i].both);
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, rows[i].live);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MEMSET), ==, 2);
      g_assert_true (run (a, 1));
      unload (a, 1);
      unload (a, 2);
      g_assert_cmpuint (held (a), ==, rows[i].end);
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, 0);
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
    guint64     held, mallocs;
  } rows[] = {
    { "static_memory_policy=0", "sim:capacity=64GiB", 4 * M, 1 },
    { "static_memory_policy=0,feature_base_refreshable=yes", "sim:capacity=64GiB", 4 * M, 2 },
    { "static_memory_policy=2", "sim:capacity=64GiB", 5 * M, 1 },                     /* 3 MiB in pages of 2 */
    { "static_memory_policy=2,external=yes", "sim:capacity=64GiB", 4 * M, 2 },
    { "static_memory_policy=2", "sim:capacity=64GiB,virtual_memory=no", 4 * M, 2 },   /* fallback: a block */
    { "static_memory_policy=3", "sim:capacity=64GiB", 4 * M, 1 },
    { "static_memory_policy=4", "sim:capacity=64GiB", 16 * M, 0 },                    /* pages of 8 */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *spec = g_strconcat ("ge:", rows[i].settings, NULL);
      GememAllocator *a = test_allocator_new (spec, rows[i].device);

      g_test_message ("%s on %s", rows[i].settings, rows[i].device);
      g_assert_cmpuint (LOAD (a, 1, { 0, M, 0 }, { M, 3 * M, FIXED }), !=, 0);
      g_assert_cmpuint (held (a), ==, rows[i].held);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MALLOC), ==, rows[i].mallocs);
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, 4 * M);
      unload (a, 1);
      test_allocator_destroy (a);
    }
}

/* A static subgraph of a dynamic graph has dynamic memory while it runs, its fixed part from load to unload. */
static void
test_subgraph (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf ("ge:static_memory_policy=%u", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      const guint64 fixed = policy == 4 ? 2 * M : 2 * M + 65536; /* of the fixed range in bytes, of the pool in pages */
      GememBlock block;
      guint64 peak;

      LOAD (a, 1, { 0, 3 * M, SUBGRAPH }, { 3 * M, 2 * M + 1, SUBGRAPH | FIXED }, { 5 * M + 1, 512, SUBGRAPH | GEMEM_GRAPH_SEGMENT_NO_ALLOC });
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, policy == 4 ? fixed + 1 : fixed);
      g_assert_true (a->klass->graph_run (a, 1, 0, TRUE));
      g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 3 * M + (policy == 4 ? 0 : fixed));
      g_assert_true (test_allocator_verify (a, 0, 0));
      g_assert_true (a->klass->graph_run (a, 1, 0, TRUE)); /* the first was asynchronous: its memory is that of the second */
      peak = held (a);
      g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 3 * M + (policy == 4 ? 0 : fixed));
      g_assert_true (a->klass->graph_run (a, 1, 0, FALSE));
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, policy == 4 ? fixed + 1 : fixed);
      block = request (a, 3 * M, 0); /* what the run gave back */
      g_assert_cmpuint (held (a), ==, peak);
      a->klass->free (a, &block, FALSE);
      unload (a, 1);
      g_assert_cmpuint (a->klass->graph_bytes (a), ==, 0);
      test_allocator_destroy (a);
    }
}

/* A run without memory for its workspaces is refused, and leaves nothing behind. */
static void
test_subgraph_refused (void)
{
  GememAllocator *a = test_allocator_new ("ge", "sim:capacity=20MiB");

  LOAD (a, 1, { 0, 8 * M, SUBGRAPH }, { 8 * M, 16 * M, SUBGRAPH });
  g_assert_false (run (a, 1));
  g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 0);
  g_assert_null (a->refusal);
  g_assert_cmpuint (LOAD (a, 2, { 0, 8 * M, 0 }, { 8 * M, 30 * M, SUBGRAPH | FIXED }), ==, 0);
  g_assert_cmpuint (stat_of (a, "subgraphs.bytes"), ==, 0);
  test_allocator_destroy (a);
}

/* HBM and P2P have pools of their own, weights a call each, host memory nothing of the device. */
static void
test_memory_types (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf ("ge:static_memory_policy=%u,memory_types=[1=p2p,2=host,3=weight,7=hbm]", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      GememBlock blocks[6];
      guint64 pools, mallocs;

      blocks[0] = request (a, M, 0);
      pools = held (a);
      blocks[1] = request (a, M, 7); /* the same pools */
      g_assert_cmpuint (held (a), ==, pools);
      blocks[2] = request (a, M, 1);
      g_assert_cmpuint (held (a), ==, 2 * pools);
      mallocs = calls (a, GEMEM_CALL_MALLOC);
      blocks[3] = request (a, 1000, 3);
      g_assert_cmpuint (blocks[3].size, ==, 1000);
      g_assert_cmpuint (held (a), ==, 2 * pools + 1000);
      g_assert_cmpuint (calls (a, GEMEM_CALL_MALLOC), ==, mallocs + 1);
      blocks[4] = request (a, 100 * 1024 * M, 2); /* more than the device has */
      blocks[5] = request (a, 5, 2);
      g_assert_cmphex (blocks[4].address, >=, GEMEM_HOST_ADDRESS);
      g_assert_cmphex (blocks[5].address, >=, blocks[4].address + blocks[4].size);
      g_assert_cmpuint (held (a), ==, 2 * pools + 1000);
      g_assert_cmpuint (stat_of (a, "host.bytes"), ==, 100 * 1024 * M + 5);
      g_assert_cmpuint (stat_of (a, "weight.bytes"), ==, 1000);
      g_assert_cmpuint (stat_of (a, "p2p.l1_pools"), ==, 1);
      g_assert_true (test_allocator_verify (a, 4, 3 * M + 1000));
      for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
        a->klass->free (a, &blocks[i], FALSE);
      g_assert_true (test_allocator_verify (a, 0, 0));
      g_assert_cmpuint (stat_of (a, "host.bytes"), ==, 0);
      g_assert_cmpuint (stat_of (a, "host.peak"), ==, 100 * 1024 * M + 5);
      blocks[0] = request (a, 9, 2);
      request (a, 9, 3);
      test_allocator_destroy (a); /* with blocks alive */
    }
}

/* The RDMA pool is one block of the device, taken with the first request. */
static void
test_rdma (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[5=rdma],rdma_size=8MiB", "sim:capacity=64MiB");
  GememBlock block, other;

  g_assert_cmpuint (held (a), ==, 0);
  block = request (a, 1000, 5);
  g_assert_cmpuint (held (a), ==, 8 * M);
  g_assert_cmpuint (block.size, ==, 1024);
  other = request (a, 5 * M, 5);
  g_assert_cmphex (other.address, ==, block.address + 1024); /* the whole of it: 5 MiB are more than half of the rest */
  g_assert_false (a->klass->alloc (a, &(GememRequest) { .size = 512, .pool = 5 }, &block));
  g_assert_true (test_allocator_verify (a, 2, G_MAXUINT64));
  a->klass->free (a, &other, FALSE);
  g_assert_cmpuint (stat_of (a, "rdma.bytes"), ==, 1024);
  g_assert_cmpuint (held (a), ==, 8 * M);
  test_allocator_destroy (a); /* with a block alive */
  a = test_allocator_new ("ge:memory_types=[5=rdma]", "sim:capacity=64MiB");
  g_assert_false (a->klass->alloc (a, &(GememRequest) { .size = 512, .pool = 5 }, &block)); /* no room for 1 GiB */
  test_allocator_destroy (a);
}

/* Variables lie one behind the other in a range of the session, on pages of 2 MiB, or of 8 under policies 3 and 4. */
static void
test_variables (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *spec = g_strdup_printf ("ge:static_memory_policy=%u,memory_types=[3=variable]", policy);
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      const guint64 page = policy >= 3 ? 8 * M : 2 * M;
      GememBlock first = request (a, 1000, 3), second = request (a, M, 3);

      g_assert_cmpuint (first.size, ==, 1024 + 1024);
      g_assert_cmpuint (first.address % 65536, ==, 512);
      g_assert_cmphex (second.address, ==, first.address + first.size);
      g_assert_cmpuint (held (a), ==, page);
      g_assert_cmpuint (stat_of (a, "variable.bytes"), ==, first.size + second.size);
      request (a, M, 0);
      g_assert_true (test_allocator_verify (a, 3, G_MAXUINT64));
      a->klass->free (a, &first, FALSE);
      a->klass->free (a, &second, FALSE);
      g_assert_true (test_allocator_verify (a, 1, M));
      g_assert_cmpuint (stat_of (a, "variable.bytes"), ==, 0);
      request (a, 1000, 3);
      test_allocator_destroy (a); /* with a variable alive */
    }
  assert_refused ("ge:variable_use_1g_huge_page=3", "*variable_use_1g_huge_page*");
}

/* Variables on pages of 1 GiB. */
static void
test_huge_variables (void)
{
  GememAllocator *a = test_allocator_new ("ge:ge.variableUse1gHugePage=1,memory_types=[3=variable]", "sim:capacity=64GiB");

  request (a, 1000, 3);
  g_assert_cmpuint (held (a), ==, 1024 * M);
  test_allocator_destroy (a);
}

/* Streams first, then memory: an unload waits for what the graph has queued, the replacement of the block of policy 2 for all streams. */
static void
test_unload_synchronises (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2", "sim:capacity=64GiB");

  LOAD (a, 1, { 0, M, 0 });
  LOAD (a, 2, { 0, M, 0 });
  g_assert_true (a->klass->graph_run (a, 1, 7, TRUE));
  g_assert_cmpuint (calls (a, GEMEM_CALL_DEVICE_SYNC), ==, 0);
  LOAD (a, 3, { 0, 3 * M, 0 });
  g_assert_cmpuint (calls (a, GEMEM_CALL_DEVICE_SYNC), ==, 1);
  test_allocator_destroy (a);
  a = test_allocator_new ("ge:static_memory_policy=4", "sim:capacity=64GiB");

  LOAD (a, 1, { 0, M, 0 });
  g_assert_true (a->klass->graph_run (a, 1, 7, TRUE));
  unload (a, 1);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2); /* that of the load, and 7 */
  LOAD (a, 1, { 0, M, 0 });
  g_assert_true (a->klass->graph_run (a, 1, 7, TRUE));
  g_assert_true (a->klass->graph_run (a, 1, 7, FALSE));
  unload (a, 1);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 3); /* the host has waited for 7 */
  test_allocator_destroy (a);
}

/* The ladder crosses memory types (2.1, step 6): what P2P has idle goes back for a request of HBM. */
static void
test_ladder (void)
{
  GememAllocator *a = test_allocator_new ("ge:memory_types=[1=p2p]", "sim:capacity=32MiB");
  GememBlock block = request (a, 20 * M, 1);

  a->klass->free (a, &block, FALSE);
  g_assert_cmpuint (held (a), ==, 20 * M);
  g_assert_false (a->klass->alloc (a, &(GememRequest) { .size = 21 * M }, &block)); /* P2P's bottom pool keeps it */
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2);                     /* its own stream, and that of the other pool */
  g_assert_true (a->klass->alloc (a, &(GememRequest) { .size = 12 * M }, &block));
  test_allocator_destroy (a);
}

/* ---- CheckFreeMemory (3.4) */

/* The device has 32 MiB, of which 1 MiB is kept in reserve. */
static void
test_make_room (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,policy2=as-built,hccl_graphs=[2]", "sim:capacity=32MiB");

  LOAD (a, 1, { 0, 6 * M, 0 });
  LOAD (a, 3, { 0, 6 * M, 0 });
  LOAD (a, 2, { 0, 8 * M, 0 }); /* 2 MiB beyond what is shared: fits */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 0);
  g_assert_cmpuint (held (a), ==, 14 * M);
  g_assert_cmpuint (LOAD (a, 4, { 0, 26 * M, 0 }), ==, 0); /* 18 of the 17 that are left: all but the graph with HCCL tasks go, in vain */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 2);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2);
  unload (a, 2); /* the last: memory is given back */
  g_assert_cmpuint (held (a), ==, 0);
  g_assert_cmpuint (LOAD (a, 4, { 0, 26 * M, 0 }), !=, 0);
  g_assert_true (run (a, 1)); /* was unloaded: is loaded again, into the memory of the other */
  g_assert_cmpuint (stat_of (a, "check_free_memory.reloaded"), ==, 1);
  unload (a, 4);
  g_assert_cmpuint (held (a), ==, 26 * M); /* 1 is still there */
  unload (a, 1);
  unload (a, 3); /* was unloaded already */
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

/* With memory beside it that does not go away; and a run that cannot be loaded again. */
static void
test_make_room_refused (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,policy2=as-built", "sim:capacity=32MiB");
  GememBlock block;

  LOAD (a, 1, { 0, 20 * M, 0 });
  g_assert_cmpuint (LOAD (a, 2, { 0, 24 * M, 0 }), ==, 0); /* by the estimate it needs 4 more; in fact a block of 24 */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 0);
  g_assert_cmpuint (LOAD (a, 2, { 0, 20 * M, 0 }, { 20 * M, 12 * M, 0 }), !=, 0); /* unloads 1 */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 1);
  g_assert_cmpuint (held (a), ==, 32 * M);
  unload (a, 2);
  block = request (a, 16 * M, 0);
  g_assert_false (a->klass->graph_run (a, 1, 0, TRUE));
  g_assert_null (a->refusal);
  g_assert_true (a->klass->graph_run (a, 1, 0, FALSE)); /* which did not begin */
  g_assert_cmpuint (stat_of (a, "check_free_memory.reloaded"), ==, 0);
  a->klass->free (a, &block, FALSE);
  test_allocator_destroy (a);
  a = test_allocator_new ("ge:static_memory_policy=2,policy2=as-built,check_free_memory=no", "sim:capacity=32MiB");
  LOAD (a, 1, { 0, 20 * M, 0 });
  g_assert_cmpuint (LOAD (a, 2, { 0, 24 * M, 0 }), ==, 0);
  g_assert_cmpuint (held (a), ==, 20 * M);
  test_allocator_destroy (a);
}

/* ---- several devices (8) */

static GememDevice *
device_of (int ordinal)
{
  GError *error = NULL;
  GememDevice *device = gemem_device_new ("sim:capacity=64GiB", NULL, ordinal, &error);

  g_assert_no_error (error);
  return device;
}

/* Two allocators at work in turns: each one's memory is on its own device, none on another by default. */
static void
test_devices (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *text = g_strdup_printf ("ge:static_memory_policy=%u,memory_types=[1=p2p,3=weight]", policy);
      g_autoptr (GPtrArray) specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememDevice *zero = device_of (0), *three = device_of (3);
      GememAllocator *a, *b;
      guint64 bytes;

      g_assert_true (gemem_allocator_spec_parse (text, specs, NULL));
      b = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, three, NULL);
      g_assert_cmpuint (stat_of (b, "device_id"), ==, 3);
      LOAD (b, 1, { 0, 3 * M, 0 }, { 3 * M, M, FIXED });
      g_assert_true (run (b, 1));
      for (guint32 pool = 0; pool < 4; pool++)
        request (b, 5 * M, pool);
      b->klass->trim (b);
      for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
        g_assert_cmpuint (zero->calls[call], ==, 0);
      bytes = three->held;
      a = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, zero, NULL);
      g_assert_cmpuint (stat_of (a, "device_id"), ==, 0);
      LOAD (a, 1, { 0, 30 * M, 0 });
      request (a, 50 * M, 1);
      g_assert_cmpuint (three->held, ==, bytes);
      g_assert_cmpuint (zero->held, >=, 50 * M);
      gemem_allocator_destroy (b);
      g_assert_cmpuint (three->held, ==, 0);
      g_assert_cmpuint (zero->held, >=, 50 * M);
      test_allocator_destroy (a);
      gemem_device_destroy (three);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/policy", test_policy);
  g_test_add_func ("/ge/refused-settings", test_refused_settings);
  g_test_add_func ("/ge/feature-maps", test_feature_maps);
  g_test_add_func ("/ge/fixed", test_fixed);
  g_test_add_func ("/ge/subgraph", test_subgraph);
  g_test_add_func ("/ge/subgraph-refused", test_subgraph_refused);
  g_test_add_func ("/ge/memory-types", test_memory_types);
  g_test_add_func ("/ge/rdma", test_rdma);
  g_test_add_func ("/ge/variables", test_variables);
  g_test_add_func ("/ge/huge-variables", test_huge_variables);
  g_test_add_func ("/ge/unload-synchronises", test_unload_synchronises);
  g_test_add_func ("/ge/ladder", test_ladder);
  g_test_add_func ("/ge/make-room", test_make_room);
  g_test_add_func ("/ge/make-room-refused", test_make_room_refused);
  g_test_add_func ("/ge/devices", test_devices);
  return g_test_run ();
}
