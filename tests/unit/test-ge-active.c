/* test-ge-active.c - the worked examples E20 to E23 of ge-runtime.md section 9 by name, policy 2
 * as documented, the closed forms of the policies through the engine, a device without virtual
 * memory, and a device that fails at every call. */
#include "config.h"

#include "allocators/ge/beside.h"
#include "allocators/ge/engine.h"
#include "base/rng.h"
#include "tests/util/engine-job.h"
#include "tests/util/ge-graphs.h"
#include "tests/util/sizes.h"
#include "traces/trace.h"

#define ZERO_COPY \
  (GEMEM_GRAPH_SEGMENT_ZERO_COPY | GEMEM_GRAPH_SEGMENT_NO_ALLOC) /* with zero-copy reuse */

static const GeStatic *
memory_of (GememAllocator *a)
{
  return g_str_equal (a->klass->name, "ge") ? &((const GeEngine *) a)->memory
                                            : &((const GeBeside *) a)->memory;
}

static const GeActive *
parts (GememAllocator *a)
{
  return &memory_of (a)->active;
}

static const GeActiveSegment *
segment (GememAllocator *a, guint i)
{
  g_assert_cmpuint (i, <, parts (a)->segments->len);
  return &g_array_index (parts (a)->segments, GeActiveSegment, i);
}

/* ---- examples */

static void
test_e20 (gconstpointer settings)
{
  GememAllocator *a = test_allocator_new (settings, "sim:capacity=64GiB");
  const guint64 first = LOAD (a, 1, { 0, 1024, 0 }, { 1024, 1024, 0 }, { 2048, 1024, 0 },
                              { 3072, 1024, ZERO_COPY });

  g_assert_cmpuint (held (a), ==, 3072);
  g_assert_cmpuint (parts (a)->segments->len, ==, 2);
  g_assert_cmphex (segment (a, 1)->address, ==, first + 3072);

  LOAD (a, 2, { 0, 2048, 0 }, { 2048, 3072, 0 }, { 5120, 1024, 0 }, { 6144, 1024, ZERO_COPY });
  g_assert_cmpuint (parts (a)->blocks->len, ==, 3);
  g_assert_cmpuint (parts (a)->peak, ==, 6144);
  g_assert_cmphex (segment (a, 1)->address, ==, first);
  g_assert_cmphex (segment (a, 3)->address, ==, parts (a)->max_address);

  g_assert_cmphex (LOAD (a, 3, { 0, 2048, 0 }, { 2048, 512, 0 }), ==, first);
  g_assert_cmpuint (parts (a)->segments->len, ==, 1);
  g_assert_cmpuint (segment (a, 0)->size, ==, 2560);

  LOAD (a, 4, { 0, 2098176, 0 }, { 2098176, 512, 0 });
  g_assert_cmpuint (parts (a)->blocks->len, ==, 4);
  g_assert_cmphex (segment (a, 1)->address, ==, first);
  g_assert_cmpuint (held (a), ==, 6144 + 4 * MIB);
  for (guint id = 1; id <= 4; id++)
    unload (a, id);
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

static void
test_e21 (gconstpointer settings)
{
  GememAllocator *a = test_allocator_new (settings, "sim:capacity=64GiB");
  const guint64 first = LOAD (a, 1, { 0, 3 * MIB + 512, 0 });
  guint64 second;

  g_assert_cmpuint (held (a), ==, 4 * MIB);
  g_assert_cmphex (LOAD (a, 2, { 0, 2 * MIB, 0 }, { 2 * MIB, 5 * MIB, 0 }), ==, first);
  second = segment (a, 1)->address;
  g_assert_cmpuint (held (a), ==, 10 * MIB);
  g_assert_cmphex (LOAD (a, 3, { 0, MIB, 0 }, { MIB, MIB, 0 }), ==, second);
  g_assert_cmpuint (segment (a, 0)->size, ==, 2 * MIB);
  unload (a, 1);
  unload (a, 2);
  g_assert_cmpuint (held (a), ==, 10 * MIB);
  unload (a, 3);
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

static void
test_e22 (gconstpointer settings)
{
  GememAllocator *a = test_allocator_new (settings, "sim:capacity=64GiB");
  GememBlock blocks[2];
  guint64 first;

  first = LOAD (a, 1, { 0, 2 * MIB, 0 });
  g_assert_cmpuint (held (a), ==, 8 * MIB);
  g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 2 * MIB);
  g_assert_true (run (a, 1));
  g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 0);
  g_assert_cmphex (LOAD (a, 2, { 0, 2 * MIB, 0 }, { 2 * MIB, 14 * MIB, 0 }), ==, first);
  g_assert_cmpuint (parts (a)->segments->len, ==, 2);
  g_assert_cmphex (segment (a, 1)->address, ==, first + 2 * MIB);
  g_assert_cmpuint (held (a), ==, 16 * MIB);
  g_assert_true (run (a, 2));
  for (guint i = 0; i < 2; i++)
    g_assert_true (a->klass->alloc (a, &(GememRequest){ .size = 8 * MIB }, &blocks[i]));
  g_assert_cmpuint (held (a), ==, 16 * MIB); /* the same two pages */
  for (guint i = 0; i < 2; i++)
    a->klass->free (a, &blocks[i], FALSE);
  a->klass->trim (a);
  g_assert_true (run (a, 2));
  g_assert_true (run (a, 2));
  g_assert_cmpuint (held (a), ==, 16 * MIB);
  unload (a, 1);
  unload (a, 2);
  g_assert_cmpuint (held (a), ==, 16 * MIB); /* the pages stay for other graphs */
  LOAD (a, 3, { 0, 16 * MIB, 0 });
  g_assert_cmpuint (held (a), ==, 16 * MIB);
  test_allocator_destroy (a);
}

static void
test_e23 (void)
{
  static const guint64 sizes[] = { 32, 50, 40, 60 }, backed[] = { 32, 50, 50, 60 };
  GememDevice *device = gemem_device_new ("sim:capacity=64GiB", NULL, 0, NULL);
  GeSessionRange range;
  GePages pages;
  guint64 base = 0;

  gemem_ge_pages_init (&pages, device, 2 * MIB, GE_1G_NO);
  gemem_ge_session_init (&range, &pages, 64 * KIB * MIB, TRUE);
  for (guint i = 0; i < 4; i++)
    {
      const guint64 address = gemem_ge_session_share (&range, sizes[i] * MIB);
      g_assert_cmphex (address, !=, 0);
      g_assert_cmphex (address, ==, i == 0 ? address : base);
      g_assert_cmpuint (range.backing.phys, ==, backed[i] * MIB);
      base = address;
    }
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpuint (range.backing.phys, ==, 60 * MIB);
      gemem_ge_session_unshare (&range);
    }
  g_assert_cmpuint (range.backing.phys, ==, 0);
  g_assert_cmphex (range.backing.base, ==, 0);
  /* more than there are addresses */
  g_assert_cmphex (gemem_ge_session_share (&range, 65 * KIB * MIB), ==, 0);
  gemem_ge_session_clear (&range);
  gemem_ge_pages_clear (&pages);
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);
}

/* ---- policy 2 as documented */

static void
test_documented (void)
{
  GememAllocator *a = test_allocator_new ("ge-active:rules=documented", "sim:capacity=10000");
  const guint64 first = LOAD (a, 1, { 0, 1000, 0 }, { 1000, 1000, 0 }, { 2000, 500, ZERO_COPY });

  g_assert_cmpuint (held (a), ==, 2000);
  g_assert_cmphex (LOAD (a, 2, { 0, 1500, 0 }), ==, first);
  g_assert_cmpuint (held (a), ==, 2000);
  /* fits only because the 2000 bytes are released before */
  g_assert_cmphex (LOAD (a, 3, { 0, 9000, 0 }), !=, 0);
  g_assert_cmpuint (held (a), ==, 9000);
  g_assert_cmphex (LOAD (a, 4, { 0, 10001, 0 }), ==, 0);
  g_assert_cmpuint (held (a), ==, 9000);
  g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 9000);
  unload (a, 3);
  unload (a, 1);
  g_assert_cmpuint (held (a), ==, 9000);
  unload (a, 2);
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

/* ---- fixed segments */

/* All graphs have their fixed segments at one address, beside the shared memory. */
static void
test_fixed (void)
{
  static const char *const settings[] = { "ge-active:policy2=documented", "ge-active:policy=2",
                                          "ge-active:policy=4",
                                          "ge-active:policy=4,rules=documented" };
  static const guint64 pages[] = { 2 * MIB, 2 * MIB, 8 * MIB, 8 * MIB };

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    {
      GememAllocator *a = test_allocator_new (settings[i], "sim:capacity=64GiB");
      const guint64 base = LOAD (a, 1, { 0, 3 * MIB, GEMEM_GRAPH_SEGMENT_FIXED });
      const guint64 small = held (a);

      g_assert_cmpuint (small, ==, (3 * MIB + pages[i] - 1) / pages[i] * pages[i]);
      g_assert_cmphex (base, !=, 0);
      g_assert_cmphex (LOAD (a, 2, { 0, MIB, 0 }, { MIB, 2 * MIB, GEMEM_GRAPH_SEGMENT_FIXED }), !=,
                       base);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 4 * MIB);
      g_assert_true (run (a, 2));
      g_assert_true (run (a, 1));
      g_assert_cmphex (LOAD (a, 3, { 0, 40 * MIB, GEMEM_GRAPH_SEGMENT_FIXED }), ==, base);
      unload (a, 2);
      unload (a, 1);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 40 * MIB);
      unload (a, 3);
      g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 0);
      test_allocator_destroy (a);
    }
}

/* ---- through the engine */

static GememResult *
replay (const char *text, const GememTraceEvent *events, gsize n)
{
  TestTrace trace = { .events = events, .n = n };
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse (text, specs, NULL));
  job = test_job (g_ptr_array_index (specs, 0), &trace);
  job.device_spec = "sim:capacity=64GiB";
  return test_job_run (&job);
}

#define WHOLE(i, bytes) \
  { \
    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = (bytes) \
  }

/* Policy 0: the sum of the loaded graphs; 2 as documented: the largest; as built: between the
 * two; 4: dynamic memory between the runs needs no extra memory. */
static void
test_closed_forms (void)
{
  static const GememTraceEvent events[] = {
    WHOLE (1, 6 * MIB),
    TEST_EVENT (GRAPH_RUN, 1),
    TEST_EVENT (GRAPH_RUN_END, 1),
    WHOLE (2, 20 * MIB),
    WHOLE (3, 10 * MIB),
    TEST_EVENT (GRAPH_RUN, 2),
    TEST_EVENT (GRAPH_RUN_END, 2),
    TEST_EVENT (GRAPH_RUN, 3),
    TEST_EVENT (GRAPH_RUN_END, 3),
    TEST_EVENT (GRAPH_RUN, 1),
    TEST_EVENT (GRAPH_RUN_END, 1),
    TEST_ALLOC (7, 4 * MIB),
    TEST_EVENT (GRAPH_UNLOAD, 2),
    TEST_FREE (7),
    TEST_EVENT (GRAPH_UNLOAD, 1),
    TEST_EVENT (GRAPH_UNLOAD, 3),
  };
  static const struct
  {
    const char *spec;
    guint64 reserved, live;
  } rows[] = {
    { "direct", 40 * MIB, 40 * MIB },                     /* 36 and the block */
    { "ge-active:rules=documented", 24 * MIB, 24 * MIB }, /* the largest, and the block */
    { "ge-active:policy=2", 30 * MIB, 24 * MIB },         /* 6 and 20, and the block */
    /* 26 in pages of 8; 3 shares with 2, the block has an idle page */
    { "ge-active:policy=4", 32 * MIB, 20 * MIB },
    /* 20 in three pages of 8, which the block cannot have */
    { "ge-active:policy=4,rules=documented", 32 * MIB, 24 * MIB },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GememResult *result = replay (rows[i].spec, events, G_N_ELEMENTS (events));
      g_test_message ("%s", rows[i].spec);
      g_assert_cmpuint (result->peak_reserved, ==, rows[i].reserved);
      g_assert_cmpuint (result->peak_live, ==, rows[i].live);
      g_assert_cmpuint (result->graph_loads, ==, 3);
      g_assert_cmpuint (result->end_live, ==, 0);
      g_assert_cmpuint (result->failed_allocs, ==, 0);
      gemem_result_free (result);
    }
}

/* A refused load counts as out of memory, and its runs and unload are skipped; repeated traces
 * start without graphs. */
static void
test_refused_load (void)
{
  static const GememTraceEvent events[] = {
    WHOLE (1, 65 * KIB * MIB),    WHOLE (2, 5),
    TEST_EVENT (GRAPH_RUN, 1),    TEST_EVENT (GRAPH_RUN_END, 1),
    TEST_EVENT (GRAPH_UNLOAD, 1), TEST_EVENT (GRAPH_RUN, 2)
  };
  static const char *const specs[] = { "ge-active:rules=documented", "ge-active:policy=2",
                                       "ge-active:policy=4",
                                       "ge-active:policy=4,rules=documented" };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      TestTrace trace = TEST_TRACE (events);
      g_autoptr (GPtrArray)
          parsed = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememJob job;
      GememResult *result;

      g_assert_true (gemem_allocator_spec_parse (specs[i], parsed, NULL));
      job = test_job (g_ptr_array_index (parsed, 0), &trace);
      job.device_spec = "sim:capacity=64GiB";
      job.repeat = 3;
      result = test_job_run (&job);
      g_assert_cmpuint (result->ooms, ==, 3);
      g_assert_cmpuint (result->graph_loads, ==, 6);
      g_assert_cmpuint (result->end_live, ==, 5);
      gemem_result_free (result);
    }
}

/* The log of decisions names graphs by their ids, and has their addresses. */
static void
test_log (void)
{
  static const GememTraceEvent events[] = { WHOLE (1, 3 * MIB), WHOLE (2, 65 * KIB * MIB),
                                            TEST_EVENT (GRAPH_RUN, 1),
                                            TEST_EVENT (GRAPH_UNLOAD, 1) };
  g_autofree char *path = g_build_filename (test_tmpdir (), "events.csv", NULL), *text = NULL;
  TestTrace trace = TEST_TRACE (events);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse ("ge-active:rules=as-built", specs, NULL));
  job = test_job (g_ptr_array_index (specs, 0), &trace);
  job.device_spec = "sim:capacity=64GiB";
  job.events_path = path;
  gemem_result_free (test_job_run (&job));
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==,
                   "seq,kind,id,size,address,block,reserved,device\n"
                   "0,graph-load,1,3145728,0x100000000000,3145728,4194304,0\n"
                   "1,graph-load,2,69793218560,,,4194304,0\n"
                   "2,graph-run,1,0,,,4194304,0\n"
                   "3,graph-unload,1,0,,,0,0\n");
}

/* ---- devices that refuse */

/* Without virtual memory policy 4 is policy 2 as built. */
static void
test_unsupported (void)
{
  GememAllocator *a = test_allocator_new ("ge-active:policy=4",
                                          "sim:capacity=64GiB,virtual_memory=no");
  const guint64 first = LOAD (a, 1, { 0, 3 * MIB + 512, 0 });

  g_assert_cmpuint (held (a), ==, 4 * MIB);
  g_assert_true (run (a, 1));
  g_assert_cmphex (LOAD (a, 2, { 0, 2 * MIB, 0 }, { 2 * MIB, 5 * MIB, 0 }), ==, first);
  g_assert_cmpuint (held (a), ==, 10 * MIB);
  g_assert_cmpuint (a->klass->graphs.bytes (a), ==, 7 * MIB);
  unload (a, 1);
  unload (a, 2);
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

/* The device fails at call @nth of @call and at all later ones: loads and runs may fail, the
 * accounting stays right. */
static void
fail_at (const char *settings, const char *call, guint nth)
{
  static const guint64 sizes[] = { 2, 14, 30, 9 };
  g_autofree char *spec = g_strconcat ("ge-active:", settings, NULL);
  g_autofree char *device = g_strdup_printf ("faulty:call=%s,after=%u,capacity=64GiB", call, nth);
  GememAllocator *a = test_allocator_new (spec, device);
  gboolean loaded[G_N_ELEMENTS (sizes)];

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      loaded[i] = LOAD (a, i, { 0, sizes[i] * MIB, 0 },
                        { sizes[i] * MIB, 3 * MIB, i % 2 ? GEMEM_GRAPH_SEGMENT_FIXED : 0 })
                  != 0;
      for (guint k = 0; k <= i; k++)
        if (loaded[k])
          {
            a->klass->graphs.run (a, k, 0, TRUE); /* may be refused */
            g_assert_true (test_allocator_verify (a, 0, 0));
            g_assert_true (a->klass->graphs.run (a, k, 0, FALSE));
            g_assert_true (test_allocator_verify (a, 0, 0));
          }
    }
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (loaded[i])
      unload (a, i);
  test_allocator_destroy (a);
}

static void
test_faults (void)
{
  static const char *const settings[] = { "rules=documented", "policy=2", "policy=4",
                                          "policy=4,rules=documented" },
                           *const names[] = { "malloc", "create", "map", "reserve" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (guint c = 0; c < G_N_ELEMENTS (names); c++)
      for (guint nth = 0; nth < 20; nth++)
        fail_at (settings[s], names[c], nth);
}

/* ---- random sessions */

#define GRAPHS 8
#define BLOCKS 24

typedef struct
{
  GememAllocator *a;
  GememRng rng;
  guint64 need[GRAPHS]; /* of the loaded graphs; 0: not loaded */
  /* of the graphs loaded since there were none: the largest, and the sum with rounding */
  guint64 most, sum;
  GememBlock blocks[BLOCKS];
  gboolean live[BLOCKS];
  guint n_live;
  guint32 flags[4]; /* for the segments */
} Session;

static void
random_load (Session *s, guint id)
{
  GememGraphSegment segments[6];
  guint64 address, need = 0;
  const guint n = 1 + (guint) gemem_rng_below (&s->rng, G_N_ELEMENTS (segments));

  for (guint i = 0; i < n; i++)
    {
      const guint64 size = (1 + gemem_rng_below (&s->rng, 6 * MIB / 512)) * 512;

      segments[i] = (GememGraphSegment){ need, size, s->flags[gemem_rng_below (&s->rng, 4)] };
      need += segments[i].size;
      s->sum += (segments[i].size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    }
  if (!s->a->klass->graphs.load (s->a, id, 0, segments, n, &address))
    return;
  s->need[id] = need;
  s->most = MAX (s->most, need);
}

/* Frees block @b if it is live, else requests it. */
static void
random_block (Session *s, guint b)
{
  const GememRequest request = { .size = 1 + gemem_rng_below (&s->rng, 20 * MIB), .stream = b % 3 };

  if (s->live[b])
    {
      s->a->klass->free (s->a, &s->blocks[b], FALSE);
      s->live[b] = FALSE;
      s->n_live--;
    }
  else if (s->a->klass->alloc (s->a, &request, &s->blocks[b]))
    {
      s->live[b] = TRUE;
      s->n_live++;
    }
}

static void
random_step (Session *s)
{
  const guint id = (guint) gemem_rng_below (&s->rng, GRAPHS),
              b = (guint) gemem_rng_below (&s->rng, BLOCKS);
  guint loaded = 0;

  switch (gemem_rng_below (&s->rng, 6))
    {
    case 0:
      if (s->need[id] == 0)
        random_load (s, id);
      break;
    case 1:
      if (s->need[id] != 0)
        s->a->klass->graphs.unload (s->a, id);
      s->need[id] = 0;
      break;
    case 2:
    case 3:
      if (s->need[id] != 0 && s->a->klass->graphs.run (s->a, id, 0, TRUE)
          && gemem_rng_below (&s->rng, 4) > 0)
        s->a->klass->graphs.run (s->a, id, 0, FALSE); /* else asynchronous */
      break;
    case 4:
      random_block (s, b);
      break;
    default:
      if (gemem_rng_below (&s->rng, 10) == 0)
        s->a->klass->trim (s->a);
    }
  for (guint i = 0; i < GRAPHS; i++)
    loaded += s->need[i] != 0;
  if (loaded > 0)
    return;
  g_assert_cmpuint (s->a->klass->graphs.bytes (s->a), ==, 0);
  s->most = s->sum = 0;
}

/* The accounting is right after every step; policy 2 as documented holds the largest graph, as
 * built at least that and at most all graphs. */
static void
random_session (const char *settings, const char *device, guint64 seed, gboolean exact)
{
  g_autofree char *spec = g_strconcat ("ge-active:", settings, NULL);
  Session s = { .a = test_allocator_new (spec, device) };
  const guint steps = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0 ? 300 : 1000;

  gemem_rng_init (&s.rng, seed, "ge-active");
  if (!exact)
    s.flags[0] = GEMEM_GRAPH_SEGMENT_FIXED, s.flags[1] = ZERO_COPY;
  for (guint i = 0; i < steps; i++)
    {
      random_step (&s);
      g_assert_true (test_allocator_verify (s.a, s.n_live, G_MAXUINT64));
      if (exact)
        g_assert_cmpuint (s.a->klass->graphs.bytes (s.a), ==, s.most);
      if (exact && memory_of (s.a)->options.mode == GE_STATIC_ACTIVE)
        {
          g_assert_cmpuint (gemem_ge_active_plain (parts (s.a)), >=, s.most);
          g_assert_cmpuint (gemem_ge_active_plain (parts (s.a)), <=, s.sum);
        }
    }
  test_allocator_destroy (s.a);
}

static void
test_random (void)
{
  for (guint64 seed = 1; seed <= 10; seed++)
    {
      random_session ("rules=documented", "sim:capacity=64GiB", seed, TRUE);
      random_session ("policy=4,rules=documented", "sim:capacity=64GiB", seed, TRUE);
      random_session ("policy=4,rules=documented", "sim:capacity=64GiB,virtual_memory=no", seed,
                      TRUE);
      random_session ("policy=4,rules=documented,total=4GiB", "sim:capacity=120MiB", seed, FALSE);
      random_session ("policy=2", "sim:capacity=64GiB", seed, TRUE);
      random_session ("policy=4,total=4GiB", "sim:capacity=64GiB", seed, FALSE);
      random_session ("policy=4,total=4GiB", "sim:capacity=64GiB,virtual_memory=no", seed, FALSE);
      random_session ("rules=documented,total=4GiB", "sim:capacity=120MiB", seed, FALSE);
      random_session ("policy=2,total=4GiB", "sim:capacity=120MiB", seed, FALSE);
      random_session ("policy=4,total=4GiB", "sim:capacity=120MiB", seed, FALSE);
      random_session ("policy=4,total=256MiB", "sim:capacity=200MiB,address=first-fit,va=first-fit",
                      seed, FALSE);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/ge-active/E20", "ge-active:policy=2,rules=as-built", test_e20);
  g_test_add_data_func ("/ge-active/E21", "ge-active:policy=2,rules=as-built", test_e21);
  g_test_add_data_func ("/ge-active/E22", "ge-active:policy=4", test_e22);
  g_test_add_data_func ("/ge/E20", "ge:static_memory_policy=2,rules=as-built", test_e20);
  g_test_add_data_func ("/ge/E21", "ge:GE_USE_STATIC_MEMORY=2,rules=as-built", test_e21);
  g_test_add_data_func ("/ge/E22", "ge:GE_USE_STATIC_MEMORY=2,static_memory_policy=3", test_e22);
  g_test_add_func ("/ge-active/E23", test_e23);
  g_test_add_func ("/ge-active/documented", test_documented);
  g_test_add_func ("/ge-active/fixed", test_fixed);
  g_test_add_func ("/ge-active/closed-forms", test_closed_forms);
  g_test_add_func ("/ge-active/refused-load", test_refused_load);
  g_test_add_func ("/ge-active/log", test_log);
  g_test_add_func ("/ge-active/unsupported", test_unsupported);
  g_test_add_func ("/ge-active/faults", test_faults);
  g_test_add_func ("/ge-active/random", test_random);
  return g_test_run ();
}
