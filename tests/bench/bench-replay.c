/* bench-replay.c - the speed of a replay, decoding included, on one core; and a check that memory
 * does not grow with the trace.
 *
 *   bench-replay [EVENTS [MEMORY-EVENTS [ALLOCATOR]]]   default: 3000000, 10000000 and all;
 *                                                       MEMORY-EVENTS 0: without the memory part
 *
 * Two native traces are written first: "training" (a transformer's training steps with varying
 * sequence length) and "random" (log-uniform sizes, geometric lifetimes). Each is decoded alone,
 * then replayed through every allocator on the simulated device with the default timeline; best of
 * three (`direct`: of five). The memory part replays MEMORY-EVENTS / 10 and MEMORY-EVENTS from the
 * generator, each in a process of its own, and reports their largest resident sets. One JSON object
 * per line.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/engine/replay.h"
#include "tests/bench/bench.h"
#include "tests/util/event-source.h"
#include "tests/util/testutil.h"
#include "workloads/generator.h"

#define TRAINING "transformer-train:layers=24,width=1024,heads=16,jitter=40,iterations=1000000000"
#define RANDOM "random:size_max=16MiB,events=1000000000000"

static const char *wanted; /* -a */

static void
stop (GError *error)
{
  fprintf (stderr, "bench-replay: %s\n", error->message);
  exit (1);
}

/* A generator cut off after `left` events. */
typedef struct
{
  GememTraceReader base;
  GememTraceReader *inner;
  guint64 left;
} Limited;

typedef struct
{
  const char *generator;
  guint64 events;
} Synthetic;

static gssize
limited_next (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  Limited *limited = (Limited *) base;
  gssize n = limited->left > 0 ? gemem_trace_next (limited->inner, events, error) : 0;

  n = (gssize) MIN ((guint64) MAX (n, 0), limited->left);
  limited->left -= (guint64) n;
  return n;
}

static void
limited_close (GememTraceReader *base)
{
  gemem_trace_close (((Limited *) base)->inner);
  gemem_trace_info_clear (&base->info);
  g_free (base);
}

static GememTraceReader *
open_synthetic (gpointer data, GError **error)
{
  const Synthetic *synthetic = data;
  Limited *limited = g_new0 (Limited, 1);

  limited->inner = gemem_generator_open (synthetic->generator, 1, error);
  if (limited->inner == NULL)
    stop (*error);
  limited->left = synthetic->events;
  gemem_trace_info_init (&limited->base.info, "bench", "bench");
  limited->base.info.flags = limited->inner->info.flags;
  limited->base.next = limited_next;
  limited->base.close = limited_close;
  return &limited->base;
}

static void
write_trace (const char *path, const Synthetic *synthetic)
{
  GError *error = NULL;
  GememTraceReader *reader = open_synthetic ((gpointer) synthetic, &error);
  GememTraceWriter *writer = gemem_trace_create (path, NULL, &((Limited *) reader)->inner->info,
                                                 &error);
  const GememTraceEvent *events;
  gssize n;

  if (writer == NULL)
    stop (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    if (!writer->write (writer, events, (gsize) n, &error))
      stop (error);
  if (n < 0 || !writer->finish (writer, &error))
    stop (error);
  gemem_trace_close (reader);
}

static void
report (const char *trace, const char *allocator, guint64 events, gint64 best_us, guint64 ooms)
{
  printf (
      "{\"bench\":\"replay\",\"trace\":\"%s\",\"allocator\":\"%s\",\"events\":%" G_GUINT64_FORMAT
      ",\"ns_per_event\":%.2f,\"events_per_s\":%.0f,\"ooms\":%" G_GUINT64_FORMAT "}\n",
      trace, allocator, events, (double) best_us * 1000 / (double) events,
      (double) events * 1e6 / (double) best_us, ooms);
  fflush (stdout);
}

static void
bench_decode (const char *trace, const char *path)
{
  gint64 best = G_MAXINT64;
  guint64 count = 0;

  for (guint i = 0; i < bench_size (5, 1); i++)
    {
      gint64 began = bench_clock ();
      GError *error = NULL;
      GememTraceReader *reader = test_open_path ((gpointer) path, &error);
      const GememTraceEvent *events;
      gssize n;
      if (reader == NULL)
        stop (error);
      for (count = 0; (n = gemem_trace_next (reader, &events, &error)) > 0;)
        count += (guint64) n;
      gemem_trace_close (reader);
      best = MIN (best, bench_clock () - began);
    }
  report (trace, "(decoding only)", count, best, 0);
}

static GememResult *
replay (const GememAllocatorSpec *spec, GememTraceSource source, gpointer data)
{
  GememJob job = { .allocator = spec,
                   .device_spec = "sim:capacity=1TiB",
                   .device_ordinal = -1,
                   .source = source,
                   .source_data = data,
                   .timeline_points = GEMEM_TIMELINE_POINTS_DEFAULT };
  GError *error = NULL;
  GememResult *result = gemem_job_run (&job, &error);

  if (result == NULL)
    stop (error);
  return result;
}

static GPtrArray *
wanted_allocators (void)
{
  GPtrArray *specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GError *error = NULL;

  if (!gemem_allocator_spec_parse (wanted, specs, &error))
    stop (error);
  for (guint i = specs->len; i-- > 0;)
    if (((const GememAllocatorSpec *) specs->pdata[i])->klass->prepare
        != NULL) /* bench-planner measures planning */
      g_ptr_array_remove_index (specs, i);
  return specs;
}

static void
bench_allocators (const char *trace, const char *path)
{
  g_autoptr (GPtrArray) specs = wanted_allocators ();

  for (guint s = 0; s < specs->len; s++)
    {
      const GememAllocatorSpec *spec = specs->pdata[s];
      guint rounds = (guint) bench_size (g_str_equal (spec->klass->name, "direct") ? 5 : 3, 1);
      gint64 best = G_MAXINT64;
      guint64 events = 0, ooms = 0;
      for (guint i = 0; i < rounds; i++)
        {
          gint64 began = bench_clock ();
          GememResult *result = replay (spec, test_open_path, (gpointer) path);
          best = MIN (best, bench_clock () - began);
          events = result->events;
          ooms = result->ooms;
          gemem_result_free (result);
        }
      report (trace, spec->klass->name, events, best, ooms);
    }
}

static void
bench_trace (const char *trace, const char *generator, guint64 events)
{
  g_autofree char *path = g_strdup_printf ("%s/%s.gmt", test_tmpdir (), trace);
  const Synthetic synthetic = { generator, events };

  write_trace (path, &synthetic);
  bench_decode (trace, path);
  bench_allocators (trace, path);
}

/* Largest resident set, in KiB, of a process that replays @events. */
static long
resident_of (const GememAllocatorSpec *spec, const char *generator, guint64 events)
{
  Synthetic synthetic = { generator, events };
  struct rusage usage;
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      _exit (replay (spec, open_synthetic, &synthetic)->events != events);
    }
  if (pid < 0 || wait4 (pid, &status, 0, &usage) != pid || status != 0)
    {
      fprintf (stderr, "bench-replay: a replay for the memory part failed, or ended too early\n");
      exit (1);
    }
  return usage.ru_maxrss;
}

static void
bench_memory (guint64 events)
{
  g_autoptr (GPtrArray) specs = wanted_allocators ();

  for (guint s = 0; s < specs->len; s++)
    {
      const GememAllocatorSpec *spec = specs->pdata[s];
      long few = resident_of (spec, TRAINING, events / 10),
           many = resident_of (spec, TRAINING, events);
      printf ("{\"bench\":\"memory\",\"trace\":\"training\",\"allocator\":\"%s\",\"events\":["
              "%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT
              "],\"resident_kib\":[%ld,%ld],\"growth\":%.3f}\n",
              spec->klass->name, events / 10, events, few, many, (double) many / (double) few - 1);
      fflush (stdout);
    }
}

int
main (int argc, char **argv)
{
  guint64 events = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : bench_size (3000000, 10000);
  guint64 memory_events = argc > 2 ? g_ascii_strtoull (argv[2], NULL, 10)
                                   : bench_size (10000000, 100000);

  if (argc > 4 || events == 0)
    {
      fprintf (stderr, "usage: bench-replay [EVENTS [MEMORY-EVENTS [ALLOCATOR]]]\n");
      return 2;
    }
  wanted = argc > 3 ? argv[3] : "*";
  if (memory_events > 0) /* first, while this process is small */
    bench_memory (memory_events);
  bench_trace ("training", TRAINING, events);
  bench_trace ("random", RANDOM, events);
  return 0;
}
