/* bench-cuda-async.c - the cost of events inside CUDA's pools, where the trace tells the order of
 * streams: allocations, frees, records and waits, pending work, and waits of the host.
 *
 *   bench-cuda-async [EVENTS]     default: two million, on one stream and on eight
 *
 * A random one of LIVE blocks is freed on the stream that has it, and another one allocated on a
 * random stream.  At every eighth block work begins on a stream, or the device has done what began
 * longest ago; at every eighth a stream waits for another; at every 512th the host waits for one.
 * The clock starts when the blocks exist.  `growth` is what the process grew by from the first
 * quarter to the end, as a part of what it had.  Goal: 5 M events/s, and memory that does not grow.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/util/vectors.h"

#define LIVE 1000
#define PENDING 4 /* pieces of work */

typedef struct
{
  GememAllocator *allocator;
  GememBlock blocks[LIVE];
  guint8 owner[LIVE];
  guint64 streams, random, events, turns, works, done;
} Program;

static inline guint64
draw (Program *p, guint64 bound)
{
  p->random = p->random * G_GUINT64_CONSTANT (6364136223846793005)
              + G_GUINT64_CONSTANT (1442695040888963407);
  return (p->random >> 33) % bound;
}

/* Resident memory in pages, or 0. */
static guint64
resident (void)
{
  g_autofree char *text = NULL;
  const char *second;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    return 0;
  second = strchr (text, ' ');
  return second != NULL ? g_ascii_strtoull (second, NULL, 10) : 0;
}

static void
replace (Program *p, guint64 i)
{
  const GememAllocatorClass *klass = p->allocator->klass;
  const GememRequest request = { .size = 1 + draw (p, 4 * 65536), .stream = draw (p, p->streams) };

  if (p->blocks[i].size != 0)
    klass->streams.free_on (p->allocator, &p->blocks[i], p->owner[i]);
  if (!klass->alloc (p->allocator, &request, &p->blocks[i]))
    g_error ("bench-cuda-async: out of memory");
  p->owner[i] = (guint8) request.stream;
  p->events += 2;
}

static void
turn (Program *p)
{
  const GememAllocatorClass *klass = p->allocator->klass;
  const guint64 from = p->turns % p->streams, to = draw (p, p->streams);

  if (p->turns++ % 2 == 0)
    {
      klass->streams.record (p->allocator, p->turns % 64, from, G_MAXUINT64);
      klass->streams.wait (p->allocator, p->turns % 64, to);
      p->events += 2;
    }
  else if (p->works - p->done < PENDING)
    {
      klass->streams.work (p->allocator, ++p->works, to);
      p->events++;
    }
  else
    {
      klass->streams.work_done (p->allocator, ++p->done);
      p->events++;
    }
  if (p->turns % 128 == 0)
    {
      klass->streams.sync (p->allocator, from);
      p->events++;
    }
}

static void
work (Program *p, guint64 events)
{
  while (p->events < events)
    {
      replace (p, draw (p, LIVE));
      if (draw (p, 4) == 0)
        turn (p);
    }
}

static void
bench (guint64 streams, guint64 events)
{
  Program *p = g_new0 (Program, 1);
  guint64 quarter, end;
  gint64 start, spent;

  p->streams = streams;
  p->random = 1;
  p->allocator = test_allocator_new ("cuda-async", "sim:capacity=4TiB");
  for (guint64 i = 0; i < LIVE; i++)
    replace (p, i);
  p->events = 0;
  start = bench_clock ();
  work (p, events / 4);
  quarter = resident ();
  work (p, events);
  end = resident ();
  spent = MAX (bench_clock () - start, 1);
  printf ("{\"bench\":\"cuda-async\",\"n\":%" G_GUINT64_FORMAT ",\"events\":%" G_GUINT64_FORMAT
          ",\"ns_per_event\":%.2f,\"events_per_s\":%.0f}\n",
          streams, p->events, (double) spent * 1e3 / (double) p->events,
          (double) p->events * 1e6 / (double) spent);
  printf ("{\"bench\":\"cuda-async-memory\",\"n\":%" G_GUINT64_FORMAT ",\"growth\":%.3f}\n",
          streams,
          quarter > 0 && end > quarter ? (double) (end - quarter) / (double) quarter : 0.0);
  fflush (stdout);
  test_allocator_destroy (p->allocator);
  g_free (p);
}

int
main (int argc, char **argv)
{
  const guint64 events = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10)
                                  : bench_size (2000000, 2000);

  bench (1, events);
  bench (8, events);
  return 0;
}
