/* test-ge-session.c - the generator `ge-session` and the sessions below it (session.h):
 * balanced, valid, the same for the same seed; sizes and numbers of graphs and of runs as
 * requested; streams that wait before they use. */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "traces/validate.h"
#include "workloads/generator.h"
#include "workloads/session.h"

typedef struct
{
  guint64 count[GEMEM_EVENT_KIND_COUNT];
  guint64 hash;
  guint64 loaded, most_loaded; /* graphs loaded */
  guint64 least, most;         /* static memory of a graph */
  guint64 largest;             /* request */
  guint64 live;                /* blocks that are left */
  guint64 flagged;             /* bytes of segments with any flag */
  gboolean running;            /* a graph */
  gboolean overlap;            /* a request between a run's begin and end */
} Facts;

static void
take_graph (Facts *facts, const GememTraceEvent *event)
{
  if (event->kind == GEMEM_EVENT_GRAPH_LOAD)
    {
      facts->loaded++;
      facts->most_loaded = MAX (facts->most_loaded, facts->loaded);
      facts->least = MIN (facts->least, event->size);
      facts->most = MAX (facts->most, event->size);
    }
  if (event->kind == GEMEM_EVENT_GRAPH_UNLOAD)
    facts->loaded--;
  if (event->kind == GEMEM_EVENT_GRAPH_SEGMENT && event->aux != 0)
    facts->flagged += event->size;
  if (event->kind == GEMEM_EVENT_GRAPH_RUN || event->kind == GEMEM_EVENT_GRAPH_RUN_END)
    facts->running = event->kind == GEMEM_EVENT_GRAPH_RUN;
  facts->overlap |= facts->running && event->kind == GEMEM_EVENT_ALLOC;
}

static Facts
read_facts (const char *settings, guint64 seed)
{
  g_autofree char *spec = g_strconcat ("ge-session:", settings, NULL);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_generator_open (spec, seed, &error);
  GememIdMap *live = gemem_idmap_new (8);
  Facts facts = { .hash = 5381, .least = G_MAXUINT64 };
  const GememTraceEvent *events;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        gboolean existed;

        for (gsize b = 0; b < sizeof events[i]; b++)
          facts.hash = facts.hash * 33 ^ ((const guint8 *) &events[i])[b];
        facts.count[events[i].kind]++;
        take_graph (&facts, &events[i]);
        facts.largest = events[i].kind == GEMEM_EVENT_ALLOC ? MAX (facts.largest, events[i].size)
                                                            : facts.largest;
        if (events[i].kind == GEMEM_EVENT_ALLOC)
          gemem_idmap_insert (live, events[i].id, &existed);
        if (events[i].kind == GEMEM_EVENT_FREE)
          g_assert_true (gemem_idmap_remove (live, events[i].id, NULL));
        if (events[i].kind == GEMEM_EVENT_USE_ON_STREAM
            || events[i].kind == GEMEM_EVENT_STREAM_FREE)
          g_assert_nonnull (gemem_idmap_lookup (live, events[i].id));
      }
  g_assert_no_error (error);
  facts.live = gemem_idmap_count (live);
  gemem_idmap_free (live);
  gemem_trace_close (reader);
  return facts;
}

/* A change here changes every session ever generated. */
static void
test_golden (void)
{
  g_assert_cmphex (read_facts ("", 1).hash, ==, G_GUINT64_CONSTANT (0xedc9876a7a258c72));
  g_assert_cmphex (read_facts ("", 1).hash, !=, read_facts ("", 2).hash);
  g_assert_cmphex (read_facts ("streams=2,during=9,carried=20,zero_copy=5,fixed=3,trim=2", 1).hash,
                   ==, G_GUINT64_CONSTANT (0x3f9bb9cb01b5c519));
}

static void
test_valid (void)
{
  static const char *const specs[] = {
    "ge-session", "ge-session:graphs=0,carried=50,carry=4",
    "ge-session:loaded=1,streams=2,during=7,asynchronous=yes",
    "ge-session:loaded=3,graphs=5,dynamic=0,zero_copy=40,fixed=60",
    "ge-session:trim=3,segments=1,dynamic=1"
  };

  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      g_autoptr (GError) error = NULL;
      GememTraceReader *reader = gemem_generator_open (specs[i], i, &error);
      g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, &error);

      g_assert_no_error (error);
      g_assert_cmpuint (findings->len, ==, 0);
      gemem_trace_close (reader);
    }
}

/* All graphs are loaded once and run in every step; everything loaded or allocated is released. */
static void
test_balance (void)
{
  const Facts facts = read_facts (
      "steps=7,graphs=5,runs=3,dynamic=11,during=4,carried=100,kept=100,carry=9", 3);
  const Facts window = read_facts ("steps=7,graphs=5,loaded=2,dynamic=0", 3);
  const Facts dynamic = read_facts ("steps=7,graphs=0,dynamic=11,trim=2", 3);

  g_assert_cmpuint (facts.count[GEMEM_EVENT_GRAPH_LOAD], ==, 5);
  g_assert_cmpuint (facts.count[GEMEM_EVENT_GRAPH_UNLOAD], ==, 5);
  g_assert_cmpuint (facts.count[GEMEM_EVENT_GRAPH_RUN], ==, 7 * 5 * 3);
  g_assert_cmpuint (facts.count[GEMEM_EVENT_GRAPH_RUN_END], ==, 7 * 5 * 3);
  g_assert_cmpuint (facts.count[GEMEM_EVENT_ALLOC], ==, 7 * 5 * (11 + 3 * 4));
  g_assert_cmpuint (facts.count[GEMEM_EVENT_STEP], ==, 7);
  g_assert_cmpuint (facts.live, ==, 0);
  g_assert_cmpuint (facts.most_loaded, ==, 5);
  g_assert_true (facts.overlap);
  g_assert_cmpuint (window.most_loaded, ==, 2);
  g_assert_cmpuint (window.count[GEMEM_EVENT_GRAPH_LOAD], ==, 7 * 5);
  g_assert_cmpuint (window.count[GEMEM_EVENT_ALLOC] + window.count[GEMEM_EVENT_FREE], ==, 0);
  g_assert_cmpuint (dynamic.count[GEMEM_EVENT_ALLOC], ==, 7 * 11);
  g_assert_cmpuint (dynamic.count[GEMEM_EVENT_TRIM], ==, 3);
  g_assert_cmpuint (dynamic.count[GEMEM_EVENT_GRAPH_LOAD], ==, 0);
}

static void
test_sizes (void)
{
  const Facts fixed = read_facts (
      "sizes=fixed,size_max=100MiB,fixed=10,zero_copy=20,graphs=3,segments=9", 0);
  const Facts growing = read_facts (
      "sizes=growing,size_min=1MiB,size_max=7MiB,graphs=4,dynamic=0,segments=1", 0);
  const Facts shrinking = read_facts (
      "sizes=shrinking,size_min=1MiB,size_max=7MiB,graphs=4,dynamic=0", 0);
  const Facts drawn = read_facts (
      "sizes=uniform,size_min=1MiB,size_max=7MiB,graphs=50,op_min=4096,op_max=8192,shape_min=100",
      0);

  g_assert_cmpuint (fixed.least, ==, 100 << 20);
  g_assert_cmpuint (fixed.most, ==, 100 << 20);
  g_assert_cmpuint (fixed.flagged, ==, 3 * (30 << 20));
  g_assert_cmpuint (fixed.count[GEMEM_EVENT_GRAPH_SEGMENT], <=, 3 * 11);
  g_assert_cmpuint (growing.least, ==, 1 << 20);
  g_assert_cmpuint (growing.most, ==, 7 << 20);
  g_assert_cmpuint (growing.count[GEMEM_EVENT_GRAPH_SEGMENT], ==, 4);
  g_assert_cmpuint (shrinking.least + shrinking.most, ==, 8 << 20);
  g_assert_cmpuint (drawn.least, >=, 1 << 20);
  g_assert_cmpuint (drawn.most, <=, 7 << 20);
  g_assert_cmpuint (drawn.largest, <=, 8192);
  g_assert_cmpuint (drawn.largest, >, 6144);
}

/* Every use on another stream is waited for and counted; a graph that may still run is unloaded
 * only after the host has waited. */
static void
test_streams (void)
{
  const Facts one = read_facts ("streams=1", 0),
              two = read_facts ("streams=2,steps=4,graphs=1,dynamic=10", 0);
  const Facts asynchronous = read_facts ("asynchronous=yes,graphs=3,loaded=1,steps=2", 0);

  g_assert_cmpuint (one.count[GEMEM_EVENT_USE_ON_STREAM] + one.count[GEMEM_EVENT_EVENT_WAIT], ==,
                    0);
  g_assert_cmpuint (two.count[GEMEM_EVENT_USE_ON_STREAM], ==, 4 * 9);
  g_assert_cmpuint (two.count[GEMEM_EVENT_STREAM_FREE], ==, 4 * 9);
  g_assert_cmpuint (two.count[GEMEM_EVENT_EVENT_RECORD], ==, 4 * 10);
  g_assert_cmpuint (two.count[GEMEM_EVENT_EVENT_WAIT], ==, 4 * 10);
  g_assert_cmpuint (asynchronous.count[GEMEM_EVENT_GRAPH_RUN_END], ==, 0);
  g_assert_cmpuint (asynchronous.count[GEMEM_EVENT_STREAM_SYNC], ==,
                    asynchronous.count[GEMEM_EVENT_GRAPH_UNLOAD]);
}

static void
test_refused (void)
{
  static const struct
  {
    const char *spec, *says;
  } cases[] = {
    { "ge-session:size_min=2GiB", "size_min is larger than size_max" },
    { "ge-session:op_min=1GiB", "op_min is larger than op_max" },
    { "ge-session:fixed=60,zero_copy=41", "more than 100 percent" },
    { "ge-session:streams=3", "streams" },
    { "ge-session:shape_min=0", "shape_min" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (gemem_generator_open (cases[i].spec, 0, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
      g_assert_nonnull (strstr (error->message, cases[i].says));
    }
}

/* The sum of all segments stays below 2^60. */
static void
test_overflow (void)
{
  GememStaticGraph *graph = gemem_static_graph_new ("g", 0);

  g_assert_true (gemem_static_graph_add (graph, G_GUINT64_CONSTANT (1) << 59, 0));
  g_assert_true (gemem_static_graph_add (graph, 0, 0));
  g_assert_false (gemem_static_graph_add (graph, G_GUINT64_CONSTANT (1) << 59, 0));
  g_assert_false (gemem_static_graph_add (graph, G_MAXUINT64, 0));
  g_assert_true (gemem_static_graph_add (graph, 5, GEMEM_GRAPH_SEGMENT_NO_ALLOC));
  g_assert_cmpuint (graph->load->len, ==, 3);
  g_assert_cmpuint (g_array_index (graph->load, GememTraceEvent, 0).size, ==,
                    G_GUINT64_CONSTANT (1) << 59);
  gemem_static_graph_free (graph);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-session/golden", test_golden);
  g_test_add_func ("/ge-session/valid", test_valid);
  g_test_add_func ("/ge-session/balance", test_balance);
  g_test_add_func ("/ge-session/sizes", test_sizes);
  g_test_add_func ("/ge-session/streams", test_streams);
  g_test_add_func ("/ge-session/refused", test_refused);
  g_test_add_func ("/ge-session/overflow", test_overflow);
  return g_test_run ();
}
