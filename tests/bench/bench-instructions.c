/* bench-instructions.c - workloads for counting instructions, which are repeatable where seconds
 * are not.
 *
 *   bench-instructions list              arguments for the next form, one set per line
 *   bench-instructions WHAT NAME EVENTS  runs it once: "replay ALLOCATOR", "read FORMAT" or
 *                                        "generate GENERATOR"; one JSON object
 *   bench-instructions environment       what the counts depend on, as JSON
 *
 * run-bench.sh runs it under callgrind with --toggle-collect=counted, so only counted() is counted:
 * events and files are made before. The remaining start-up (opening a reader, creating an
 * allocator) is spread over a hundred thousand events.
 */
#include "config.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "tests/util/engine-job.h"
#include "tests/util/testutil.h"
#include "workloads/generator.h"

#define WORKLOAD "transformer-train:layers=24,width=1024,heads=16,jitter=40,iterations=1000000000"
#define BATCH 4096
#define EVENTS "100000"

static void
stop (GError *error)
{
  fprintf (stderr, "bench-instructions: %s\n", error->message);
  exit (gemem_error_exit_status (error));
}

/* The only function whose instructions are counted; run-bench.sh has its name. */
static G_GNUC_NO_INLINE guint64
counted (guint64 (*work) (gpointer data), gpointer data)
{
  return work (data);
}

/* ---- the work; returns the number of events */

static guint64
replay (gpointer data)
{
  GError *error = NULL;
  GememResult *result = gemem_job_run (data, &error);

  if (result == NULL)
    stop (error);
  guint64 events = result->events;
  gemem_result_free (result);
  return events;
}

static guint64
drain (GememTraceReader *reader, guint64 most)
{
  const GememTraceEvent *events;
  GError *error = NULL;
  guint64 count = 0;
  gssize n = 0;

  while (count < most && (n = gemem_trace_next (reader, &events, &error)) > 0)
    count += (guint64) n;
  if (n < 0)
    stop (error);
  gemem_trace_close (reader);
  return count;
}

static guint64
read_file (gpointer path)
{
  GError *error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);

  if (reader == NULL)
    stop (error);
  return drain (reader, G_MAXUINT64);
}

typedef struct
{
  const char *generator;
  guint64 events;
} Generation;

static guint64
generate (gpointer data)
{
  const Generation *generation = data;
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (generation->generator, 1, &error);

  if (reader == NULL)
    stop (error);
  return drain (reader, generation->events);
}

/* ---- the input of the work */

static GArray *
load (guint64 most)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  const GememTraceEvent *events;
  GError *error = NULL;
  GememTraceReader *reader = gemem_generator_open (WORKLOAD, 1, &error);
  gssize n = reader != NULL;

  while (n > 0 && all->len < most && (n = gemem_trace_next (reader, &events, &error)) > 0)
    g_array_append_vals (all, events, (guint) MIN ((guint64) n, most - all->len));
  if (n < 0 || reader == NULL)
    stop (error);
  gemem_trace_close (reader);
  return all;
}

static guint64
count_replay (const char *name, guint64 most)
{
  g_autoptr (GArray) events = load (most);
  TestTrace trace = { .events = (const GememTraceEvent *) (gconstpointer) events->data,
                      .n = events->len,
                      .batch = BATCH,
                      .flags = GEMEM_TRACE_HAS_TIME };
  GError *error = NULL;
  const GememAllocatorClass *klass = gemem_allocator_find (name, &error);

  if (klass == NULL)
    stop (error);
  GememAllocatorSpec *spec = test_spec (klass);
  GememJob job = { .allocator = spec,
                   .device_spec = "sim:capacity=1TiB",
                   .device_ordinal = -1,
                   .source = test_trace_open,
                   .source_data = &trace,
                   .timeline_points = GEMEM_TIMELINE_POINTS_DEFAULT };
  guint64 done = counted (replay, &job);
  gemem_allocator_spec_free (spec);
  return done;
}

static guint64
count_read (const char *format, guint64 most)
{
  g_autoptr (GArray) events = load (most);
  g_autofree char *path = g_build_filename (test_tmpdir (), "trace", NULL);
  GememTraceInfo info;
  GError *error = NULL;

  gemem_trace_info_init (&info, "bench", "bench");
  info.flags = GEMEM_TRACE_HAS_TIME;
  GememTraceWriter *writer = gemem_trace_create (path, format, &info, &error);
  if (writer == NULL
      || !writer->write (writer, (const GememTraceEvent *) (gconstpointer) events->data,
                         events->len, &error)
      || !writer->finish (writer, &error))
    stop (error);
  gemem_trace_info_clear (&info);
  return counted (read_file, path);
}

static guint64
count_generate (const char *name, guint64 most)
{
  Generation generation = { name, most };
  return counted (generate, &generation);
}

/* ---- the list and the environment */

static int
list (void)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if ((*c)->prepare == NULL) /* planning in advance is not part of an event's cost */
      printf ("replay %s " EVENTS "\n", (*c)->name);
  for (const GememTraceFormat *const *f = gemem_trace_formats (); *f != NULL; f++)
    if ((*f)->create != NULL && (*f)->quick) /* the generated events say all that it writes */
      printf ("read %s " EVENTS "\n", (*f)->name);
  for (const GememGenerator *const *g = gemem_generators (); *g != NULL; g++)
    printf ("generate %s " EVENTS "\n", (*g)->base.name);
  return 0;
}

/* Counts are comparable only where all of these are equal. */
static int
environment (void)
{
#ifdef __clang__
  const char *compiler = "clang " G_STRINGIFY (__clang_major__);
#else
  const char *compiler = "gcc " G_STRINGIFY (__GNUC__);
#endif
#ifdef GEMEM_CHECKS
  const int checks = GEMEM_CHECKS;
#else
  const int checks = 0;
#endif
  printf ("{\"compiler\":\"%s\",\"cflags\":\"%s\",\"checks\":%d,\"glib\":\"%u.%u\",\"libc\":\"%s\","
          "\"zstd\":\"%s\"}\n",
          compiler, GEMEM_CFLAGS, checks, glib_major_version, glib_minor_version,
          gnu_get_libc_version (), ZSTD_versionString ());
  return 0;
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *what;
    guint64 (*count) (const char *name, guint64 most);
  } works[] = { { "replay", count_replay },
                { "read", count_read },
                { "generate", count_generate } };
  const char *what = argc > 1 ? argv[1] : "";
  guint64 events = argc == 4 ? g_ascii_strtoull (argv[3], NULL, 10) : 0;

  if (argc == 2 && g_str_equal (what, "list"))
    return list ();
  if (argc == 2 && g_str_equal (what, "environment"))
    return environment ();
  for (gsize i = 0; i < G_N_ELEMENTS (works); i++)
    if (events > 0 && g_str_equal (what, works[i].what))
      {
        events = works[i].count (argv[2], events);
        printf ("{\"what\":\"%s %s\",\"events\":%" G_GUINT64_FORMAT "}\n", what, argv[2], events);
        return 0;
      }
  fputs ("usage: bench-instructions list | environment | replay ALLOCATOR EVENTS | read FORMAT "
         "EVENTS | generate GENERATOR EVENTS\n",
         stderr);
  return 2;
}
