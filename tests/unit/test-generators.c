/* test-generators.c - the generators: same seed same events, distributions within their bounds,
 * balanced, bounded, absurd parameters refused. */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "traces/summary.h"
#include "traces/validate.h"
#include "workloads/generator.h"

typedef struct
{
  guint64 events, allocs, frees, hash, largest, smallest, most_live, live, streams_seen;
} Facts;

/* Reads all of @spec; fails if an event contradicts another. */
static Facts
read_facts (const char *spec, guint64 seed)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (spec, seed, &error);
  GememIdMap *live = gemem_idmap_new (8);
  Facts facts = { .hash = G_GUINT64_CONSTANT (14695981039346656037), .smallest = G_MAXUINT64 };
  const GememTraceEvent *events;
  guint64 time = 0;
  gssize n;
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        const guint8 *bytes = (const guint8 *) &events[i];
        gboolean existed;
        for (gsize b = 0; b < sizeof events[i]; b++)
          facts.hash = (facts.hash ^ bytes[b]) * G_GUINT64_CONSTANT (1099511628211);
        facts.events++;
        g_assert_cmpuint (events[i].time, >=, time);
        time = events[i].time;
        if (events[i].kind == GEMEM_EVENT_ALLOC)
          {
            gemem_idmap_insert (live, events[i].id, &existed);
            g_assert_false (existed);
            facts.allocs++;
            facts.live++;
            facts.largest = MAX (facts.largest, events[i].size);
            facts.smallest = MIN (facts.smallest, events[i].size);
            facts.most_live = MAX (facts.most_live, facts.live);
            facts.streams_seen |= G_GUINT64_CONSTANT (1) << events[i].stream;
          }
        else if (events[i].kind == GEMEM_EVENT_FREE)
          {
            g_assert_true (gemem_idmap_remove (live, events[i].id, NULL));
            facts.frees++;
            facts.live--;
          }
      }
  g_assert_no_error (error);
  gemem_idmap_free (live);
  gemem_trace_close (reader);
  return facts;
}

/* Golden hashes: a change here changes every trace ever generated. */
static void
test_golden (void)
{
  g_assert_cmphex (read_facts ("random:events=5000,live=100", 1).hash, ==,
                   G_GUINT64_CONSTANT (0xb319ab7f16380dd2));
  g_assert_cmphex (
      read_facts ("transformer-train:layers=2,width=64,heads=4,sequence=32,batch=2,iterations=2", 0)
          .hash,
      ==, G_GUINT64_CONSTANT (0xa9dc77d8e043b1ef));
}

/* One of each of the generators that go on in steps: what a seed makes of it, and that all is freed. */
static void
test_golden_steps (void)
{
  static const struct
  {
    const char *spec;
    guint64 hash, streams;
  } cases[] = { { "data-loading:steps=20", G_GUINT64_CONSTANT (0xa3081f2df30fe3ad), 3 },
                { "pipeline-stages:steps=2", G_GUINT64_CONSTANT (0x22bf0c9078353058), 15 },
                { "graph-capture:steps=20,recapture=9", G_GUINT64_CONSTANT (0x31c13c21eccdf1a7),
                  3 },
                { "growing-caches:steps=20", G_GUINT64_CONSTANT (0x15417d82df947a58), 1 },
                { "table-joins:steps=8", G_GUINT64_CONSTANT (0x2fcc9f1535cfd54e), 3 },
                { "mixture-of-experts:steps=2", G_GUINT64_CONSTANT (0xc6f6e57daa22c752), 3 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Facts facts = read_facts (cases[i].spec, 1);

      g_test_message ("%s", cases[i].spec);
      g_assert_cmphex (facts.hash, ==, cases[i].hash);
      g_assert_cmphex (facts.streams_seen, ==, cases[i].streams);
      g_assert_cmpuint (facts.allocs, ==, facts.frees);
      g_assert_cmphex (facts.hash, !=, read_facts (cases[i].spec, 2).hash);
    }
}

/* Every block that two streams use is marked so before its free, and requests of a capture have a
 * pool, which is released as often as it was captured but for the last time. */
static void
test_marks (void)
{
  static const struct
  {
    const char *spec;
    guint64 uses, pools, releases, trims, steps;
  } cases[] = { { "data-loading:steps=5,parts=4", 20, 0, 0, 0, 5 },
                { "pipeline-stages:steps=1,stages=3,micro_batches=4", 16, 0, 0, 0, 1 },
                { "graph-capture:steps=10,recapture=4,graphs=3,layers=2", 0, 45, 6, 2, 10 },
                { "graph-capture:steps=10,recapture=4,graphs=3,layers=2,share=yes", 0, 45, 2, 2,
                  10 },
                { "mixture-of-experts:steps=3,layers=2", 6, 0, 0, 0, 3 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememTraceReader *reader = gemem_generator_open (cases[i].spec, 1, NULL);
      guint64 kinds[GEMEM_EVENT_KIND_COUNT] = { 0 }, pools = 0;
      const GememTraceEvent *events;
      gssize n;

      while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
        for (gssize e = 0; e < n; e++)
          {
            kinds[events[e].kind]++;
            pools += events[e].kind == GEMEM_EVENT_ALLOC && events[e].pool > 0;
          }
      gemem_trace_close (reader);
      g_assert_cmpuint (kinds[GEMEM_EVENT_USE_ON_STREAM], ==, cases[i].uses);
      g_assert_cmpuint (pools, ==, cases[i].pools);
      g_assert_cmpuint (kinds[GEMEM_EVENT_POOL_RELEASE], ==, cases[i].releases);
      g_assert_cmpuint (kinds[GEMEM_EVENT_TRIM], ==, cases[i].trims);
      g_assert_cmpuint (kinds[GEMEM_EVENT_STEP], ==, cases[i].steps);
    }
}

static void
test_seeds (void)
{
  g_assert_cmphex (read_facts ("random:events=2000", 7).hash, ==,
                   read_facts ("random:events=2000", 7).hash);
  g_assert_cmphex (read_facts ("random:events=2000", 7).hash, !=,
                   read_facts ("random:events=2000", 8).hash);
  g_assert_cmphex (read_facts ("transformer-train:layers=1,iterations=4,jitter=30", 1).hash, !=,
                   read_facts ("transformer-train:layers=1,iterations=4,jitter=30", 2).hash);
}

static void
test_random_bounds (void)
{
  static const char *const sizes[] = { "fixed", "uniform", "log-uniform" };
  static const char *const lifetimes[] = { "fixed", "uniform", "log-uniform", "geometric" };
  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (guint l = 0; l < G_N_ELEMENTS (lifetimes); l++)
      {
        g_autofree char *spec = g_strdup_printf (
            "random:events=20000,live=200,size_min=1000,size_max=1MiB,size_step=8,sizes=%s,"
            "lifetimes=%s,streams=3",
            sizes[s], lifetimes[l]);
        Facts facts = read_facts (spec, 5);
        g_assert_cmpuint (facts.allocs, ==, facts.frees);
        g_assert_cmpuint (facts.events, >=, 20000);
        g_assert_cmpuint (facts.events, <=, 20000 + facts.most_live);
        g_assert_cmpuint (facts.smallest, >=, s == 0 ? 1048576 : 1000);
        g_assert_cmpuint (facts.largest, <=, 1048576);
        g_assert_cmpuint (facts.most_live, >=, l == 2 ? 50 : 180);
        g_assert_cmpuint (facts.most_live, <=, l == 0 ? 200 : 320);
        g_assert_cmpuint (facts.streams_seen, ==, 7);
      }
}

/* fixed lifetimes: first in, first out, exactly `lifetime` blocks live. */
static void
test_random_fixed (void)
{
  Facts facts = read_facts (
      "random:events=1000,lifetime=10,lifetimes=fixed,sizes=fixed,size_max=4096", 0);
  g_assert_cmpuint (facts.most_live, ==, 10);
  facts = read_facts ("random:events=1000,lifetime=10,lifetimes=fixed,drain=no", 0);
  g_assert_cmpuint (facts.events, ==, 1000);
  g_assert_cmpuint (facts.live, ==, 10);
}

static guint64
peak_live (const char *spec)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (spec, 0, &error);
  g_assert_no_error (error);
  GememTraceSummary *summary = gemem_trace_summarise (reader, &error);
  g_assert_no_error (error);
  guint64 peak = ((GememDeviceSummary *) summary->devices->pdata[0])->peak_live;
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
  return peak;
}

/* The figures that follow from the shapes: the parameters of one block, the state of AdamW, less
 * memory with recomputation, more with the score matrix. */
static void
test_transformer_sizes (void)
{
  guint64 w = 64, h = 256, v = 1000, layers = 2;
  guint64 parameters = (w + 3 * w * w + 3 * w + w * w + w + w * h + h + h * w) * layers + v * w + w;
  const char *base = "transformer-train:layers=2,width=64,heads=4,sequence=16,batch=1,vocabulary="
                     "1000,iterations=2,optimizer=";
  g_autofree char *none = g_strconcat (base, "none", NULL), *sgd = g_strconcat (base, "sgd", NULL),
                  *adamw = g_strconcat (base, "adamw", NULL);
  g_autofree char *big = g_strdup ("transformer-train:layers=8,width=64,heads=4,sequence=512,batch="
                                   "2,vocabulary=1000,iterations=1,optimizer=none");
  g_autofree char *recompute = g_strconcat (big, ",recompute=yes", NULL),
                  *scores = g_strconcat (big, ",flash=no", NULL);
  g_assert_cmpuint (peak_live (sgd), >=, 4 * parameters * 3);
  g_assert_cmpuint (peak_live (adamw) - peak_live (sgd), ==, 4 * parameters);
  g_assert_cmpuint (peak_live (none), >=, 4 * parameters * 2);
  g_assert_cmpuint (peak_live (recompute), <, peak_live (big));
  g_assert_cmpuint (peak_live (scores), >, peak_live (big) + 4 * 8 * 2 * 512 * 512 * 3);
}

static void
test_valid (void)
{
  static const char *const specs[] = {
    "random:events=30000",
    "transformer-train:layers=3,iterations=3,recompute=yes,flash=no,jitter=20",
    "data-loading:steps=30,ahead=0",
    "data-loading:steps=3,ahead=9,parts=70",
    "pipeline-stages:steps=2",
    "pipeline-stages:steps=2,stages=5,micro_batches=3,tensors=1",
    "pipeline-stages:steps=2,stages=1",
    "graph-capture:steps=30,recapture=7",
    "graph-capture:steps=3,graphs=1,share=yes,eager=0",
    "growing-caches:steps=60,tokens=3",
    "table-joins:steps=9,tiny=777",
    "table-joins:steps=2,window=5,tiny=0",
    "mixture-of-experts:steps=3",
    "mixture-of-experts:steps=2,tokens=3,skew=90"
  };
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      GError *error = NULL;
      GememTraceReader *reader = gemem_generator_open (specs[i], 3, &error);
      g_assert_no_error (error);
      g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (findings->len, ==, 0);
      gemem_trace_close (reader);
    }
}

static void
assert_refused (const char *spec, const char *message)
{
  GError *error = NULL;
  g_assert_null (gemem_generator_open (spec, 0, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, message) == NULL)
    g_error ("%s: '%s' does not say '%s'", spec, error->message, message);
  g_clear_error (&error);
}

static void
test_refused (void)
{
  assert_refused ("randm", "did you mean 'random'");
  assert_refused ("xyzzy", "there are random, transformer-train");
  assert_refused ("random:size_min=2MiB,size_max=1MiB",
                  "size_min=2097152 is larger than size_max=1048576");
  assert_refused ("random:events=0", "events");
  assert_refused ("random:streams=65", "streams");
  assert_refused ("random:evnts=5", "did you mean 'events'");
  assert_refused ("transformer-train:optimizer=adam", "optimizer");
  assert_refused ("data-loading:batch=1", "batch");
  assert_refused ("data-loading:steps=1.5", "steps");
  assert_refused ("pipeline-stages:stages=0", "stages");
  assert_refused ("graph-capture:graphs=21", "graphs");
  assert_refused ("growing-caches:token=18446744073709551616", "token");
  assert_refused ("table-joins:jitter=", "jitter");
  assert_refused ("mixture-of-experts:skew=many", "skew");
  assert_refused ("transformer-train:batch=100000,sequence=10000000,vocabulary=10000000", "2^60");
}

/* Each is found by its name, and a name that is none is not. */
static void
test_find (void)
{
  g_autoptr (GError) error = NULL;

  for (const GememGenerator *const *each = gemem_generators (); *each != NULL; each++)
    {
      g_assert_true (gemem_generator_find ((*each)->base.name, &error) == *each);
      g_assert_no_error (error);
    }
  g_assert_null (gemem_generator_find ("randm", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "did you mean 'random'"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/generators/golden", test_golden);
  g_test_add_func ("/generators/golden-steps", test_golden_steps);
  g_test_add_func ("/generators/marks", test_marks);
  g_test_add_func ("/generators/seeds", test_seeds);
  g_test_add_func ("/generators/random-bounds", test_random_bounds);
  g_test_add_func ("/generators/random-fixed", test_random_fixed);
  g_test_add_func ("/generators/transformer-sizes", test_transformer_sizes);
  g_test_add_func ("/generators/valid", test_valid);
  g_test_add_func ("/generators/refused", test_refused);
  g_test_add_func ("/generators/find", test_find);
  return g_test_run ();
}
