/* test-ge-policies.c - `ge` on whole workloads, through the engine and in random sessions: the
 * memory of the four policies in closed form, the order of runs that share memory, host memory
 * in the accounting, and devices that refuse every kind of call. */
#include "config.h"

#include "allocators/ge/engine.h"
#include "base/rng.h"
#include "tests/util/engine-job.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"
#include "traces/trace.h"

#define PAGE (8 * MIB)

static GememResult *
replay (const char *text, TestTrace *trace, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse (text, specs, NULL));
  job = test_job (g_ptr_array_index (specs, 0), trace);
  job.device_spec = "sim:capacity=64GiB";
  return gemem_job_run (&job, error);
}

static guint64
stat_of (const GememResult *result, const char *name)
{
  for (guint i = 0; i < result->stats->len; i++)
    {
      const GememSetting *stat = g_ptr_array_index (result->stats, i);

      if (g_str_equal (stat->key, name))
        return g_ascii_strtoull (stat->value, NULL, 10);
    }
  g_assert_not_reached ();
}

/* ---- closed forms */

typedef struct
{
  GArray *events;
  /* bytes loaded now; their greatest sum; the largest graph; live and peak bytes of requests */
  guint64 loaded, sum, most, dynamic, dynamic_peak;
} Workload;

static void
add (Workload *w, GememEventKind kind, guint64 id, guint64 size)
{
  const GememTraceEvent event = { .kind = kind, .id = id, .size = size };

  g_array_append_val (w->events, event);
}

static void
add_run (Workload *w, guint64 graph)
{
  add (w, GEMEM_EVENT_GRAPH_RUN, graph, 0);
  add (w, GEMEM_EVENT_GRAPH_RUN_END, graph, 0);
}

/* Graphs of one piece: loaded, run with the host waiting, unloaded; requests between the runs,
 * while no graph runs.  Each runs at once after its load: under policy 4 it keeps its pages until
 * then, and runs of others are refused (5.9). */
static void
random_workload (Workload *w, guint64 seed)
{
  guint64 graphs[6] = { 0 }, blocks[8] = { 0 };
  GememRng rng;

  gemem_rng_init (&rng, seed, "ge-policies");
  *w = (Workload){ .events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent)) };
  for (guint step = 0; step < 120; step++)
    {
      const guint g = (guint) gemem_rng_below (&rng, G_N_ELEMENTS (graphs)),
                  b = (guint) gemem_rng_below (&rng, G_N_ELEMENTS (blocks));

      switch (gemem_rng_below (&rng, 4))
        {
        case 0:
          add (w, graphs[g] == 0 ? GEMEM_EVENT_GRAPH_LOAD : GEMEM_EVENT_GRAPH_UNLOAD, g, 0);
          if (graphs[g] == 0)
            g_array_index (w->events, GememTraceEvent, w->events->len - 1).size = graphs[g] =
                1 + gemem_rng_below (&rng, 40 * MIB),
                                                                        w->loaded += graphs[g];
          else
            w->loaded -= graphs[g], graphs[g] = 0;
          if (graphs[g] != 0)
            add_run (w, g);
          break;
        case 1:
          add (w, blocks[b] == 0 ? GEMEM_EVENT_ALLOC : GEMEM_EVENT_FREE, 100 + b, 0);
          if (blocks[b] == 0)
            g_array_index (w->events, GememTraceEvent, w->events->len - 1).size = blocks[b] =
                1 + gemem_rng_below (&rng, 6 * MIB),
                                                                        w->dynamic += blocks[b];
          else
            w->dynamic -= blocks[b], blocks[b] = 0;
          break;
        default:
          if (graphs[g] != 0)
            add_run (w, g);
        }
      w->most = MAX (w->most, graphs[g]);
      w->sum = MAX (w->sum, w->loaded);
      w->dynamic_peak = MAX (w->dynamic_peak, w->dynamic);
    }
}

static guint64
peak_of (const char *settings, const Workload *w, gboolean graphs_only)
{
  g_autofree char *text = g_strconcat ("ge:", settings, NULL);
  g_autoptr (GArray) some = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  GError *error = NULL;
  TestTrace trace;
  GememResult *result;
  guint64 peak;

  for (guint i = 0; i < w->events->len; i++)
    if (!graphs_only || g_array_index (w->events, GememTraceEvent, i).id < 100)
      g_array_append_val (some, g_array_index (w->events, GememTraceEvent, i));
  trace = (TestTrace){ .events = (const GememTraceEvent *) (gconstpointer) some->data,
                       .n = some->len };
  result = replay (text, &trace, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (result->failed_allocs, ==, 0);
  peak = result->peak_reserved;
  gemem_result_free (result);
  return peak;
}

/* Graphs alone: 0 and 3 hold their greatest sum, 2 as documented the largest, as built between
 * that and the sum of all with rounding. With requests: policy 4 needs no more than policy 2 as
 * built and the pages of the requests, since these pages are idle while a graph runs. */
static void
test_closed_forms (void)
{
  for (guint64 seed = 1; seed <= 12; seed++)
    {
      guint64 as_built;
      Workload w;

      random_workload (&w, seed);
      g_assert_cmpuint (peak_of ("static_memory_policy=0", &w, TRUE), ==, w.sum);
      g_assert_cmpuint (peak_of ("static_memory_policy=3", &w, TRUE), ==, w.sum);
      g_assert_cmpuint (peak_of ("static_memory_policy=2,rules=documented", &w, TRUE), ==, w.most);
      as_built = peak_of ("static_memory_policy=2", &w, TRUE);
      g_assert_cmpuint (as_built, >=, w.most);
      g_assert_cmpuint (as_built, <=, w.sum + 6 * 2 * MIB);
      g_assert_cmpuint (peak_of ("static_memory_policy=4", &w, TRUE), >=, w.most / PAGE * PAGE);
      g_assert_cmpuint (peak_of ("static_memory_policy=4", &w, FALSE), <=,
                        as_built + w.dynamic_peak + (8 + 6) * PAGE);
      g_array_unref (w.events);
    }
}

/* ---- successive runs */

#define WHOLE(i) \
  { \
    .kind = GEMEM_EVENT_GRAPH_LOAD, .id = (i), .size = 3 * MIB \
  }
#define AT(k, i, s) \
  { \
    .kind = GEMEM_EVENT_##k, .id = (i), .stream = (s) \
  }

/* Replays @events under every policy: with strict=yes 2 and 4 refuse concurrent runs, without it
 * they count them. */
static void
assert_order (const GememTraceEvent *events, gsize n, const char *message)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      TestTrace trace = { .events = events, .n = n };
      g_autofree char *lax = g_strdup_printf ("ge:static_memory_policy=%u", policy),
                      *strict = g_strconcat (lax, ",strict=yes", NULL);
      const gboolean shares = policy == 1 || policy == 2 || policy == 4;
      g_autoptr (GError) error = NULL;
      GememResult *result = replay (lax, &trace, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (stat_of (result, "concurrent_runs"), ==, shares && message != NULL);
      gemem_result_free (result);
      result = replay (strict, &trace, &error);
      if (!shares || message == NULL)
        {
          g_assert_no_error (error);
          gemem_result_free (result);
          continue;
        }
      g_assert_null (result);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_test_message ("%s", error->message);
      g_assert_true (g_pattern_match_simple (message, error->message));
    }
}

#define ASSERT_ORDER(message, ...) \
  assert_order ((const GememTraceEvent[]){ __VA_ARGS__ }, \
                sizeof ((const GememTraceEvent[]){ __VA_ARGS__ }) / sizeof (GememTraceEvent), \
                message)

static void
test_order (void)
{
  static const char refused[] = "*event 3: graph 2 is run on stream 5 while the run of graph 1 on "
                                "stream 4 has not ended; *policy ?*strict=yes*";

  ASSERT_ORDER (refused, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER (refused, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (GRAPH_RUN, 2, 5),
                AT (GRAPH_RUN_END, 2, 5), AT (GRAPH_RUN_END, 1, 4));
  ASSERT_ORDER ("*event 2: graph 1 is run on stream 5 while the run of graph 1*", WHOLE (1),
                AT (GRAPH_RUN, 1, 4), AT (GRAPH_RUN, 1, 5));
  /* ended, on the same stream, waited for, or ordered by an event */
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (GRAPH_RUN_END, 1, 4),
                AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (GRAPH_RUN, 2, 4),
                AT (GRAPH_RUN, 1, 4));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (STREAM_SYNC, 0, 4),
                AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (DEVICE_SYNC, 0, 0),
                AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (EVENT_RECORD, 9, 4),
                AT (EVENT_WAIT, 9, 5), AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (EVENT_RECORD, 9, 4),
                AT (EVENT_WAIT, 9, 5), AT (EVENT_RECORD, 8, 5), AT (EVENT_WAIT, 8, 6),
                AT (GRAPH_RUN, 2, 6));
  ASSERT_ORDER (NULL, WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (EVENT_RECORD, 9, 4),
                AT (EVENT_WAIT, 9, 5), AT (STREAM_SYNC, 0, 5), AT (GRAPH_RUN, 2, 6));
  /* events that order nothing: on another stream, recorded before the run, recorded again, or
   * with an event that has no such stream */
  ASSERT_ORDER ("*event 4: *", WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (STREAM_SYNC, 0, 5),
                AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER ("*event 5: *", WHOLE (1), WHOLE (2), AT (EVENT_RECORD, 9, 4), AT (GRAPH_RUN, 1, 4),
                AT (EVENT_WAIT, 9, 5), AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER ("*event 6: *", WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (EVENT_RECORD, 9, 4),
                AT (EVENT_RECORD, 9, 7), AT (EVENT_WAIT, 9, 5), AT (GRAPH_RUN, 2, 5));
  ASSERT_ORDER ("*event 5: *", WHOLE (1), WHOLE (2), AT (GRAPH_RUN, 1, 4), AT (EVENT_RECORD, 9, 5),
                AT (EVENT_WAIT, 9, 5), AT (GRAPH_RUN, 2, 5));
}

/* ---- host memory in the accounting */

static void
test_host_accounting (void)
{
  static const GememTraceEvent events[] = {
    TEST_ALLOC (1, MIB),
    { .kind = GEMEM_EVENT_ALLOC, .id = 2, .size = 100 * MIB, .pool = 2 },
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 50 * MIB, .pool = 2 },
    { .kind = GEMEM_EVENT_MEMSET, .id = 3, .size = 1 },
    TEST_FREE (2),
    TEST_EVENT (FREE_REQUESTED, 3),
    TEST_EVENT (FREE_COMPLETED, 3),
    TEST_FREE (1),
    { .kind = GEMEM_EVENT_ALLOC, .id = 4, .size = 7, .pool = 2 },
  };
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  TestTrace trace = TEST_TRACE (events);
  GememResult *result;
  GememJob job;

  g_assert_true (gemem_allocator_spec_parse ("ge:memory_types=[2=host]", specs, NULL));
  job = test_job (g_ptr_array_index (specs, 0), &trace);
  job.device_spec = "sim:capacity=8MiB";
  job.repeat = 2; /* remaining memory is released between the rounds */
  result = test_job_run (&job);
  g_assert_cmpuint (result->failed_allocs, ==, 0);
  g_assert_cmpuint (result->peak_live, ==, MIB);
  g_assert_cmpuint (result->peak_allocated, ==, MIB);
  g_assert_cmpuint (result->peak_reserved, ==, 2 * MIB);
  g_assert_cmpuint (result->lower_bound, ==, MIB);
  g_assert_cmpuint (stat_of (result, "host.peak"), ==, 150 * MIB);
  g_assert_cmpuint (stat_of (result, "host.bytes"), ==, 7);
  g_assert_cmpuint (stat_of (result, "host.count"), ==, 6);
  gemem_result_free (result);
}

/* ---- random sessions */

#define GRAPHS 6
#define BLOCKS 24

typedef struct
{
  GememAllocator *a;
  GememRng rng;
  gboolean loaded[GRAPHS], live[BLOCKS];
  GememBlock blocks[BLOCKS];
} Session;

static void
random_load (Session *s, guint id)
{
  static const guint32 flags[] = { 0,
                                   0,
                                   0,
                                   GEMEM_GRAPH_SEGMENT_FIXED,
                                   GEMEM_GRAPH_SEGMENT_SUBGRAPH,
                                   GEMEM_GRAPH_SEGMENT_SUBGRAPH | GEMEM_GRAPH_SEGMENT_FIXED,
                                   GEMEM_GRAPH_SEGMENT_NO_ALLOC | GEMEM_GRAPH_SEGMENT_ZERO_COPY };
  GememGraphSegment segments[5];
  guint64 address, end = 0;
  const guint n = 1 + (guint) gemem_rng_below (&s->rng, G_N_ELEMENTS (segments));

  for (guint i = 0; i < n; i++)
    {
      const guint64 size = 1 + gemem_rng_below (&s->rng, 9 * MIB);
      const guint flag = (guint) gemem_rng_below (&s->rng, G_N_ELEMENTS (flags));

      segments[i] = (GememGraphSegment){ end, size, flags[flag] };
      end += segments[i].size;
    }
  s->loaded[id] = s->a->klass->graphs.load (s->a, id, gemem_rng_below (&s->rng, 3), segments, n,
                                            &address);
}

static void
random_graph (Session *s, guint id)
{
  const guint64 stream = gemem_rng_below (&s->rng, 3);

  if (!s->loaded[id])
    random_load (s, id);
  else if (gemem_rng_below (&s->rng, 4) == 0)
    {
      s->a->klass->graphs.unload (s->a, id);
      s->loaded[id] = FALSE;
    }
  else if (s->a->klass->graphs.run (s->a, id, stream, TRUE) && gemem_rng_below (&s->rng, 3) > 0)
    s->a->klass->graphs.run (s->a, id, stream, FALSE); /* else asynchronous */
  g_clear_pointer (&s->a->refusal, g_free);
}

static void
random_block (Session *s, guint b)
{
  const GememRequest request = { .size = 1 + gemem_rng_below (&s->rng, 20 * MIB),
                                 .stream = b % 3,
                                 .pool = b % 6 };

  if (s->live[b])
    s->a->klass->free (s->a, &s->blocks[b], FALSE);
  s->live[b] = !s->live[b] && s->a->klass->alloc (s->a, &request, &s->blocks[b]);
}

/* Graphs, requests of every memory type, trims; the accounting is right after every step. */
static void
random_session (const char *settings, const char *device, guint64 seed, guint steps)
{
  g_autofree char *spec = g_strdup_printf (
      "ge:total=4GiB,memory_types=[1=p2p,2=host,3=weight,4=rdma,5=variable],rdma_size=16MiB,%s",
      settings);
  Session s = { .a = test_allocator_new (spec, device) };

  gemem_rng_init (&s.rng, seed, settings);
  for (guint i = 0; i < steps; i++)
    {
      guint live = 0;

      if (gemem_rng_below (&s.rng, 30) == 0)
        s.a->klass->trim (s.a);
      else if (gemem_rng_below (&s.rng, 3) > 0)
        random_graph (&s, (guint) gemem_rng_below (&s.rng, GRAPHS));
      else
        random_block (&s, (guint) gemem_rng_below (&s.rng, BLOCKS));
      for (guint b = 0; b < BLOCKS; b++)
        live += s.live[b] && s.blocks[b].address < GEMEM_HOST_ADDRESS;
      g_assert_true (test_allocator_verify (s.a, live, G_MAXUINT64));
      g_assert_cmpuint (s.a->device->misuses, ==, 0);
    }
  test_allocator_destroy (s.a); /* without freeing anything */
}

static const char *const variants[] = {
  "static_memory_policy=0",
  "static_memory_policy=0,feature_base_refreshable=yes",
  "static_memory_policy=2",
  "static_memory_policy=2,rules=documented",
  "static_memory_policy=4,rules=documented",
  "static_memory_policy=3",
  "static_memory_policy=4",
  "static_memory_policy=4,strict=yes,hccl_graphs=[1,3]",
  "static_memory_policy=4,external=yes",
  "static_memory_policy=2,static_model_addr_fixed=yes",
  "static_memory_policy=4,static_model_addr_fixed=yes,as_built=yes",
};

static gboolean
quick (void)
{
  return g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0;
}

static void
test_random (void)
{
  static const char *const devices[] = { "sim:capacity=8GiB",
                                         "sim:capacity=150MiB,address=first-fit,va=first-fit",
                                         "sim:capacity=120MiB,virtual_memory=no" };

  for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
    for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
      random_session (variants[v], devices[d], 1 + d, quick () ? 200 : 1500);
}

/* The @nth call of a kind fails, and all later ones. */
static void
test_faults (void)
{
  static const char *const kinds[] = { "malloc", "create", "map", "reserve", "stream_sync" };

  for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
    for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
      for (guint nth = 0; nth < 24; nth += quick () ? 5 : 1)
        {
          g_autofree char *device = g_strdup_printf ("faulty:call=%s,%s=%u,capacity=300MiB",
                                                     kinds[k], nth % 2 ? "after" : "nth", nth + 1);

          random_session (variants[v], device, nth, 120);
        }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/closed-forms", test_closed_forms);
  g_test_add_func ("/ge/order", test_order);
  g_test_add_func ("/ge/host-accounting", test_host_accounting);
  g_test_add_func ("/ge/random", test_random);
  g_test_add_func ("/ge/faults", test_faults);
  return g_test_run ();
}
