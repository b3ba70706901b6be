/* bench-traces.c - how fast traces are written and read, in events per second of one core, and the
 * size of the files.
 *
 *   bench-traces [EVENTS]      (default 10000000)
 *
 * Two synthetic recordings of a training loop (rounds of layers: allocate on the way in, free in
 * reverse on the way back, some blocks with random lifetimes): "plain" has ids and sizes only,
 * "full" also times, addresses, block sizes, streams and tags. Prints one JSON line per
 * measurement, best of five (three for writing); the reader's sum over ids and sizes keeps the
 * compiler from removing work.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "tests/bench/bench.h"
#include "tests/util/testutil.h"
#include "traces/trace.h"

#define LAYERS 48
#define LIVE 512 /* blocks with random lifetimes */
#define BATCH 4096

typedef struct
{
  GememRng rng;
  gboolean full;
  guint64 next_id, time, sizes[LAYERS * 4], layer_ids[LAYERS * 4], random_ids[LIVE];
  guint layer, step;
  gboolean backward;
  GememTraceInfo info;
  guint32 tags[LAYERS];
} Source;

static void
source_init (Source *source, gboolean full)
{
  static const guint64 shapes[] = { 2097152, 8388608, 512,      33554432, 1048576,
                                    131072,  4096,    16777216, 786432 };

  memset (source, 0, sizeof *source);
  gemem_rng_init (&source->rng, 1, "bench");
  gemem_trace_info_init (&source->info, "bench", "bench");
  source->full = full;
  source->next_id = 1;
  for (guint i = 0; i < LAYERS * 4; i++)
    source->sizes[i] = shapes[gemem_rng_below (&source->rng, G_N_ELEMENTS (shapes))];
  for (guint i = 0; full && i < LAYERS; i++)
    {
      g_autofree char *tag = g_strdup_printf ("layer%u", i);
      source->tags[i] = gemem_trace_info_intern (&source->info, tag);
    }
}

static void
fill_event (Source *source, GememTraceEvent *event, GememEventKind kind, guint64 id, guint64 size)
{
  memset (event, 0, sizeof *event);
  event->kind = (guint8) kind;
  event->id = id;
  event->size = size;
  if (!source->full)
    return;
  source->time += 500 + gemem_rng_below (&source->rng, 4096);
  event->time = source->time;
  if (kind != GEMEM_EVENT_ALLOC)
    return;
  event->address = G_GUINT64_CONSTANT (0x7f0000000000)
                   + gemem_rng_below (&source->rng, 1 << 20) * 512;
  event->aux = (size + 511) / 512 * 512;
  event->stream = source->step % 16 == 0 ? 7 : 0;
  event->tag = source->tags[source->layer];
}

/* One round trip over the layers with 4 blocks each; every third event is a block with a random
 * lifetime. */
static void
next_event (Source *source, GememTraceEvent *event)
{
  guint place = source->layer * 4 + source->step % 4;

  if (source->step % 3 == 2 && source->next_id > LAYERS * 8)
    {
      guint64 *slot = &source->random_ids[gemem_rng_below (&source->rng, LIVE)];
      if (*slot != 0)
        {
          fill_event (source, event, GEMEM_EVENT_FREE, *slot, 0);
          *slot = 0;
          source->step += 2;
          return;
        }
      *slot = source->next_id++;
      fill_event (source, event, GEMEM_EVENT_ALLOC, *slot,
                  512 * (1 + gemem_rng_below (&source->rng, 100)));
      source->step += 2;
      return;
    }
  if (!source->backward)
    {
      source->layer_ids[place] = source->next_id++;
      fill_event (source, event, GEMEM_EVENT_ALLOC, source->layer_ids[place], source->sizes[place]);
    }
  else
    fill_event (source, event, GEMEM_EVENT_FREE, source->layer_ids[place], 0);
  source->step++;
  if (source->step % 4 != 0)
    return;
  if (!source->backward && ++source->layer == LAYERS)
    {
      source->backward = TRUE;
      source->layer = LAYERS - 1;
    }
  else if (source->backward && source->layer-- == 0)
    {
      source->backward = FALSE;
      source->layer = 0;
    }
}

static void
check (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-traces: %s\n", error->message);
  exit (1);
}

static double
write_trace (const char *path, const char *format, gboolean full, guint64 events)
{
  g_autofree GememTraceEvent *batch = g_new (GememTraceEvent, BATCH);
  g_autofree Source *source = g_new (Source, 1);
  GError *error = NULL;
  gint64 spent = 0;

  source_init (source, full);
  GememTraceWriter *writer = gemem_trace_create (path, format, &source->info, &error);
  check (error);
  for (guint64 done = 0; done < events;)
    {
      guint n = (guint) MIN (BATCH, events - done);
      for (guint i = 0; i < n; i++)
        next_event (source, &batch[i]);
      gint64 start = bench_clock ();
      writer->write (writer, batch, n, &error);
      spent += bench_clock () - start;
      check (error);
      done += n;
    }
  gint64 start = bench_clock ();
  writer->finish (writer, &error);
  spent += bench_clock () - start;
  check (error);
  gemem_trace_info_clear (&source->info);
  return (double) spent / 1e6;
}

static double
read_trace (const char *path, guint64 events)
{
  const GememTraceEvent *batch = NULL;
  GError *error = NULL;
  guint64 sum = 0, count = 0;
  gssize n;
  gint64 start = bench_clock ();

  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  check (error);
  while ((n = gemem_trace_next (reader, &batch, &error)) > 0)
    {
      for (gssize i = 0; i < n; i++)
        sum += batch[i].id ^ batch[i].size;
      count += (guint64) n;
    }
  check (error);
  gemem_trace_close (reader);
  double seconds = (double) (bench_clock () - start) / 1e6;
  if (count != events || sum == 0)
    {
      fprintf (stderr, "bench-traces: %s: wrong events\n", path);
      exit (1);
    }
  return seconds;
}

static void
measure (const char *format, gboolean full, guint64 events)
{
  const char *kind = full ? "full" : "plain";
  g_autofree char *path = g_strdup_printf ("%s/%s.%s", test_tmpdir (), kind, format);
  double write = G_MAXDOUBLE, read = G_MAXDOUBLE;
  GStatBuf status;

  for (guint i = 0; i < bench_size (3, 1); i++)
    write = MIN (write, write_trace (path, format, full, events));
  for (guint i = 0; i < bench_size (5, 1); i++)
    read = MIN (read, read_trace (path, events));
  g_stat (path, &status);
  printf ("{\"bench\":\"%s-write\",\"trace\":\"%s\",\"events\":%" G_GUINT64_FORMAT
          ",\"events_per_s\":%.0f,\"ns_per_event\":%.2f}\n",
          format, kind, events, (double) events / write, write * 1e9 / (double) events);
  printf ("{\"bench\":\"%s-read\",\"trace\":\"%s\",\"events\":%" G_GUINT64_FORMAT
          ",\"events_per_s\":%.0f,\"ns_per_event\":%.2f,\"bytes_per_event\":%.2f,"
          "\"mb_per_s\":%.0f}\n",
          format, kind, events, (double) events / read, read * 1e9 / (double) events,
          (double) status.st_size / (double) events, (double) status.st_size / read / 1e6);
  fflush (stdout);
  g_remove (path);
}

int
main (int argc, char **argv)
{
  guint64 events = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : bench_size (10000000, 10000);

  if (events == 0)
    {
      fprintf (stderr, "usage: bench-traces [EVENTS]\n");
      return 2;
    }
  measure ("native", FALSE, events);
  measure ("native", TRUE, events);
  measure ("text", FALSE, MAX (events / 10, 1));
  measure ("text", TRUE, MAX (events / 10, 1));
  return 0;
}
