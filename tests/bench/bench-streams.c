/* bench-streams.c - the cost of events inside the allocators that know several streams:
 * allocations, uses, frees, records and waits.
 *
 *   bench-streams [LIVE EVENTS]     default: 1e3 to 1e6 live blocks, a million events each
 *
 * Four streams; a random block is freed and another one allocated, so that LIVE blocks exist all
 * the time. Every second block is used by another stream too, and its own stream releases it first;
 * at every fourth block a stream waits for another, all pairs in turn. The clock starts when the
 * blocks exist. counted() is for callgrind (--toggle-collect=counted). Goal: 3 M events/s, and the
 * same cost for all numbers of blocks.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "tests/util/vectors.h"

#define STREAMS 4

typedef struct
{
  GememAllocator *allocator;
  GememBlock *blocks;
  guint8 *owner, *user; /* streams; user equal to owner: no second one */
  guint64 live, random, events, turns;
} Program;

static inline guint64
draw (Program *p, guint64 bound)
{
  p->random = p->random * G_GUINT64_CONSTANT (6364136223846793005)
              + G_GUINT64_CONSTANT (1442695040888963407);
  return (p->random >> 33) % bound;
}

static void
replace (Program *p, guint64 i)
{
  const GememAllocatorClass *klass = p->allocator->klass;
  const GememRequest request = { .size = 1 + draw (p, 4 * 65536), .stream = draw (p, STREAMS) };

  if (p->blocks[i].size != 0)
    {
      if (p->owner[i] != p->user[i])
        klass->streams.free (p->allocator, &p->blocks[i], p->owner[i]);
      klass->free (p->allocator, &p->blocks[i], FALSE);
      p->events += 1 + (p->owner[i] != p->user[i]);
    }
  if (!klass->alloc (p->allocator, &request, &p->blocks[i]))
    g_error ("bench-streams: out of memory");
  p->owner[i] = p->user[i] = (guint8) request.stream;
  p->events++;
  if (draw (p, 2) == 0)
    {
      p->user[i] = (guint8) ((request.stream + 1 + draw (p, STREAMS - 1)) % STREAMS);
      klass->streams.use (p->allocator, &p->blocks[i], p->user[i]);
      p->events++;
    }
}

static void
turn (Program *p)
{
  const guint64 from = p->turns % STREAMS,
                to = (from + 1 + p->turns / STREAMS % (STREAMS - 1)) % STREAMS;

  p->allocator->klass->streams.record (p->allocator, p->turns % 64, from, to);
  p->allocator->klass->streams.wait (p->allocator, p->turns % 64, to);
  p->events += 2;
  p->turns++;
}

static inline void
work (Program *p, guint64 events)
{
  for (p->events = 0; p->events < events;)
    {
      replace (p, draw (p, p->live));
      if (draw (p, 4) == 0)
        turn (p);
    }
}

static G_GNUC_NO_INLINE void
counted (Program *p, guint64 events)
{
  work (p, events);
}

static void
bench (const GememAllocatorClass *klass, guint64 live, guint64 events)
{
  Program p = { .allocator = test_allocator_new (klass->name, "sim:capacity=4TiB"),
                .live = live,
                .random = 1 };
  gint64 start, spent;

  p.blocks = g_new0 (GememBlock, live);
  p.owner = g_new0 (guint8, live);
  p.user = g_new0 (guint8, live);
  for (guint64 i = 0; i < live; i++)
    replace (&p, i);
  work (&p, 8 * live); /* until pools and lists are in a steady state */
  start = bench_clock ();
  counted (&p, events);
  spent = MAX (bench_clock () - start, 1);
  printf ("{\"bench\":\"streams\",\"allocator\":\"%s\",\"live\":%" G_GUINT64_FORMAT
          ",\"events\":%" G_GUINT64_FORMAT ",\"ns_per_event\":%.2f,\"events_per_s\":%.0f}\n",
          klass->name, live, p.events, (double) spent * 1e3 / (double) p.events,
          (double) p.events * 1e6 / (double) spent);
  fflush (stdout);
  test_allocator_destroy (p.allocator);
  g_free (p.blocks);
  g_free (p.owner);
  g_free (p.user);
}

int
main (int argc, char **argv)
{
  const guint64 events = argc > 2 ? g_ascii_strtoull (argv[2], NULL, 10)
                                  : bench_size (1000000, 1000);
  const guint64 only = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 0;

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if ((*c)->streams.wait != NULL && (*c)->streams.free != NULL && only > 0)
      bench (*c, only, events);
    else if ((*c)->streams.wait != NULL && (*c)->streams.free != NULL)
      for (guint64 live = 1000; live <= bench_size (1000000, 1000); live *= 10)
        bench (*c, live, events);
  return 0;
}
