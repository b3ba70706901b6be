/* bench-flatness.c - does the cost of an event depend on the number of live blocks? Time in a
 * replay, and instructions inside the allocator.
 *
 *   bench-flatness                          time of every allocator; one JSON object per line
 *   bench-flatness list                     arguments for the next form, one set per line
 *   bench-flatness ALLOCATOR WORKLOAD LIVE  its instructions, counted by callgrind in counted();
 *                                           one JSON object
 *
 * LIVE blocks exist all the time: one is freed, another one allocated. The freed block is in "any"
 * a random one, the worst case for caches; in "recent" one of the thousand newest, as in training
 * above its weights. Classes that know several streams get four: half of the blocks are used by a
 * second stream too, and streams wait for each other.
 *
 * Time is that of the engine and the allocator, without generating the events: the best of some
 * windows in the steady state.  "recent" at the fewest and the most blocks, on which there is a goal,
 * is measured in several rounds, all else once: to come to the steady state of "any" takes longer
 * than all the rest. Random visits to LIVE records also pay for cache misses:
 * ns_per_touch is the time of one dependent visit to a random record in a table as large as the
 * replay's host memory, so that (growth of ns_per_event) / (growth of ns_per_touch) says how many
 * dependent memory visits the growth equals. Instructions are those of the allocator alone, so that
 * the engine's work per event hides no growth.
 */
#include "config.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/huge.h"
#include "base/rng.h"
#include "sim/engine/replay.h"
#include "tests/bench/bench.h"
#include "tests/util/engine-job.h"
#include "tests/util/vectors.h"

#if defined(__has_include) && __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define CAN_COUNT TRUE
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CAN_COUNT FALSE
#endif

#define DEVICE "sim:capacity=4TiB"
#define BATCH 4096
#define MOST_EVENTS 8 /* of one replacement of a block */
#define WINDOW 48     /* batches timed together */
#define RECENT 1000
#define LEAST 1000 /* fewest live blocks; then ten times as many, SIZES times */
#define SIZES 4
#define ROUNDS 4
#define STREAMS 4
#define RECORD 64 /* bytes */

/* A trace of generated events, which is never stored. */
typedef struct
{
  GememTraceReader base;
  gboolean recent, streams;
  guint64 live, filled, made; /* blocks wanted, blocks live, ids issued */
  guint64 *ids;               /* of the live ones */
  GememRng rng;
  GememTraceEvent batch[BATCH + MOST_EVENTS];
  guint n;                  /* events in the batch */
  guint64 warm_up;          /* ids issued before the timing begins */
  guint64 windows, batches; /* windows to time; batches timed */
  guint64 events;           /* events of this window */
  gint64 mark, spent;
  gsize before, host_bytes; /* host memory in bytes */
  double best;              /* ns per event */
} Program;

/* Resident memory of this process. */
static gsize
host_bytes (void)
{
  g_autofree char *text = NULL;
  const char *resident;

  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL)
      || (resident = strchr (text, ' ')) == NULL)
    return 0;
  return g_ascii_strtoull (resident, NULL, 10) * (gsize) sysconf (_SC_PAGESIZE);
}

/* ---- the events */

static inline guint64
owner_of (guint64 id)
{
  return id % STREAMS;
}

/* The second stream of block @id; its own stream: there is none. */
static inline guint64
user_of (guint64 id)
{
  return (id % STREAMS + (id / STREAMS % 2) * (1 + id / (2 * STREAMS) % (STREAMS - 1))) % STREAMS;
}

static GememTraceEvent *
emit (Program *p, GememEventKind kind, guint64 id, guint64 stream)
{
  GememTraceEvent *event = &p->batch[p->n++];

  *event = (GememTraceEvent){ .kind = kind, .id = id, .stream = stream };
  return event;
}

static void
replace (Program *p, guint64 slot)
{
  const guint64 old = p->ids[slot], new = ++p->made;

  if (old != 0 && p->streams && owner_of (old) != user_of (old))
    emit (p, GEMEM_EVENT_STREAM_FREE, old, owner_of (old))->aux = slot;
  if (old != 0)
    emit (p, GEMEM_EVENT_FREE, old, 0)->aux = slot;
  GememTraceEvent *event = emit (p, GEMEM_EVENT_ALLOC, new, p->streams ? owner_of (new) : 0);
  event->size = gemem_rng_log_uniform (&p->rng, 512, 1 << 20);
  event->aux = slot;
  p->ids[slot] = new;
  if (p->streams && owner_of (new) != user_of (new))
    emit (p, GEMEM_EVENT_USE_ON_STREAM, new, user_of (new))->aux = slot;
  if (p->streams && new % 4 == 0)
    {
      emit (p, GEMEM_EVENT_EVENT_RECORD, new / 4 % 64, new / 4 % STREAMS);
      emit (p, GEMEM_EVENT_EVENT_WAIT, new / 4 % 64,
            (new / 4 + 1 + new / 16 % (STREAMS - 1)) % STREAMS);
    }
}

static void
make_batch (Program *p)
{
  const guint64 recent = p->recent ? MIN (p->live, RECENT) : p->live;

  for (p->n = 0; p->n < BATCH;)
    replace (p,
             p->filled < p->live ? p->filled++ : p->live - 1 - gemem_rng_below (&p->rng, recent));
}

/* Adds the time of the batch returned last. */
static void
book (Program *p)
{
  p->spent += bench_clock () - p->mark;
  p->events += p->n;
  if (++p->batches % WINDOW != 0)
    return;
  p->best = MIN (p->best, (double) p->spent * 1000 / (double) p->events);
  p->spent = 0;
  p->events = 0;
}

static gssize
program_next (GememTraceReader *base, const GememTraceEvent **events, G_GNUC_UNUSED GError **error)
{
  Program *p = (Program *) base;

  if (p->mark != 0)
    book (p);
  else if (p->made >= p->warm_up)
    p->host_bytes = host_bytes () - p->before;
  if (p->batches == p->windows * WINDOW)
    return 0;
  const gboolean timed = p->made >= p->warm_up;
  make_batch (p);
  *events = p->batch;
  p->mark = timed ? bench_clock () : 0;
  return p->n;
}

static void
program_close (GememTraceReader *base)
{
  gemem_trace_info_clear (&base->info);
}

static GememTraceReader *
program_open (gpointer data, G_GNUC_UNUSED GError **error)
{
  Program *p = data;

  gemem_trace_info_init (&p->base.info, "bench", "bench");
  p->base.next = program_next;
  p->base.close = program_close;
  malloc_trim (0);
  p->before = host_bytes ();
  return &p->base;
}

static Program *
program_new (const GememAllocatorClass *klass, gboolean recent, guint64 live)
{
  Program *p = g_new0 (Program, 1);
  const guint64 churned = recent ? MIN (live, RECENT) : live;

  p->recent = recent;
  p->streams = klass->streams.free != NULL && klass->streams.wait != NULL;
  p->live = live;
  p->ids = gemem_huge_alloc0 (live * sizeof (guint64));
  p->warm_up = live + 3 * churned;
  p->windows = bench_size (5, 1);
  p->best = G_MAXDOUBLE;
  gemem_rng_init (&p->rng, 1, "flatness");
  return p;
}

static void
program_free (Program *p)
{
  free (p->ids);
  g_free (p);
}

/* ---- time */

/* ns per dependent visit of a random record in a table of @bytes: one cycle through all records
 * (Sattolo). */
static double
time_touches (gsize bytes)
{
  const guint32 n = (guint32) MAX (bytes / RECORD, 16);
  const guint64 visits = bench_size (200000, 1000);
  guint32 *table = gemem_huge_alloc0 ((gsize) n * RECORD);
  g_autofree guint32 *order = g_new (guint32, n);
  double best = G_MAXDOUBLE;
  volatile guint32 at = 0;
  GememRng rng;

  gemem_rng_init (&rng, 1, "touches");
  for (guint32 i = 0; i < n; i++)
    order[i] = i;
  for (guint32 i = n - 1; i > 0; i--)
    {
      const guint32 j = (guint32) gemem_rng_below (&rng, i), other = order[j];

      order[j] = order[i];
      order[i] = other;
    }
  for (guint32 i = 0; i < n; i++)
    table[(gsize) order[i] * (RECORD / 4)] = order[(i + 1) % n];
  for (guint round = 0; round < 5; round++)
    {
      const gint64 start = bench_clock ();
      guint32 record = at;

      for (guint64 i = 0; i < visits; i++)
        record = table[(gsize) record * (RECORD / 4)];
      at = record;
      best = MIN (best, (double) (bench_clock () - start) * 1000 / (double) visits);
    }
  free (table);
  return best;
}

/* The best times of all rounds, per workload. */
typedef struct
{
  double ns_per_event[2], ns_per_touch[2];
  gsize host_bytes[2];
} Figures;

/* FALSE: the class cannot serve so many blocks on any device (ge-rdma). */
static gboolean
measure (const GememAllocatorClass *klass, gboolean recent, guint64 live, Figures *figures)
{
  Program *p = program_new (klass, recent, live);
  GememAllocatorSpec *spec = test_spec (klass);
  GememJob job = { .allocator = spec,
                   .device_spec = DEVICE,
                   .device_ordinal = -1,
                   .source = program_open,
                   .source_data = p,
                   .timeline_points = GEMEM_TIMELINE_POINTS_DEFAULT };
  GError *error = NULL;
  GememResult *result = gemem_job_run (&job, &error);

  if (result == NULL)
    {
      fprintf (stderr, "bench-flatness: %s: %s\n", klass->name, error->message);
      exit (1);
    }
  const gboolean space = result->failed_allocs == 0;
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
  if (!space)
    fprintf (stderr, "bench-flatness: %s has no space for %" G_GUINT64_FORMAT " blocks\n",
             klass->name, live);
  figures->ns_per_event[recent] = MIN (figures->ns_per_event[recent], p->best);
  if (figures->ns_per_touch[recent] == G_MAXDOUBLE)
    figures->ns_per_touch[recent] = time_touches (p->host_bytes);
  figures->host_bytes[recent] = MIN (figures->host_bytes[recent], p->host_bytes);
  program_free (p);
  return space;
}

static void
print_figures (const GememAllocatorClass *klass, guint64 live, const Figures *figures)
{
  for (guint recent = 0; recent < 2; recent++)
    printf ("{\"bench\":\"flatness\",\"allocator\":\"%s\",\"workload\":\"%s\",\"live\":"
            "%" G_GUINT64_FORMAT ",\"ns_per_event\":%.2f,\"host_bytes\":%" G_GSIZE_FORMAT
            ",\"ns_per_touch\":%.2f}\n",
            klass->name, recent ? "recent" : "any", live, figures->ns_per_event[recent],
            figures->host_bytes[recent], figures->ns_per_touch[recent]);
  fflush (stdout);
}

/* All sizes in turn; then the first and the last again, several times: if the clock rate of the
 * machine changes, the best times of both are still of the same rate. */
static void
measure_class (const GememAllocatorClass *klass)
{
  Figures figures[SIZES];
  guint sizes = (guint) bench_size (SIZES, 1);

  for (guint i = 0; i < SIZES; i++)
    figures[i] = (Figures){ .ns_per_event = { G_MAXDOUBLE, G_MAXDOUBLE },
                            .ns_per_touch = { G_MAXDOUBLE, G_MAXDOUBLE },
                            .host_bytes = { G_MAXSIZE, G_MAXSIZE } };
  for (guint round = 0; round < bench_size (ROUNDS, 1); round++)
    {
      guint64 live = LEAST;

      for (guint i = 0; i < sizes; i++, live *= 10)
        if (round > 0 && (i == 0 || i == sizes - 1))
          measure (klass, TRUE, live, &figures[i]);
        else if (round == 0 && measure (klass, FALSE, live, &figures[i]))
          measure (klass, TRUE, live, &figures[i]);
        else if (round == 0)
          sizes = i;
    }
  for (guint i = 0, live = LEAST; i < sizes; i++, live *= 10)
    print_figures (klass, live, &figures[i]);
}

static gboolean
is_measured (const GememAllocatorClass *klass)
{
  return klass->prepare == NULL; /* bench-planner measures planning */
}

static void
measure_all (const char *only)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if (is_measured (*c) && (only == NULL || g_str_equal (only, (*c)->name)))
      measure_class (*c);
}

/* ---- instructions */

/* The only function whose instructions are counted; run-bench.sh has its name. */
static G_GNUC_NO_INLINE void
counted (Program *p, GememAllocator *a, GememBlock *blocks)
{
  const GememAllocatorClass *klass = a->klass;

  for (guint i = 0; i < p->n; i++)
    {
      const GememTraceEvent *event = &p->batch[i];
      const GememRequest request = { .size = event->size, .stream = event->stream };
      GememBlock *block = &blocks[event->aux];

      if (event->kind == GEMEM_EVENT_FREE)
        klass->free (a, block, FALSE);
      else if (event->kind == GEMEM_EVENT_ALLOC && !klass->alloc (a, &request, block))
        g_error ("bench-flatness: out of memory");
      else if (event->kind == GEMEM_EVENT_STREAM_FREE)
        klass->streams.free (a, block, event->stream);
      else if (event->kind == GEMEM_EVENT_USE_ON_STREAM)
        klass->streams.use (a, block, event->stream);
      else if (event->kind == GEMEM_EVENT_EVENT_RECORD)
        klass->streams.record (a, event->id, event->stream, G_MAXUINT64);
      else if (event->kind == GEMEM_EVENT_EVENT_WAIT)
        klass->streams.wait (a, event->id, event->stream);
    }
}

static void
count (const GememAllocatorClass *klass, gboolean recent, guint64 live)
{
  Program *p = program_new (klass, recent, live);
  g_autofree GememBlock *blocks = g_new0 (GememBlock, live);
  GememAllocator *a = test_allocator_new (klass->name, DEVICE);
  guint64 events = 0;

  while (p->made < p->live + p->live / 2)
    {
      make_batch (p);
      counted (p, a, blocks);
    }
  CALLGRIND_START_INSTRUMENTATION;
  for (guint64 i = 0; i < bench_size (12, 1); i++)
    {
      make_batch (p);
      counted (p, a, blocks);
      events += p->n;
    }
  printf ("{\"what\":\"flatness %s %s %" G_GUINT64_FORMAT "\",\"events\":%" G_GUINT64_FORMAT "}\n",
          klass->name, recent ? "recent" : "any", live, events);
  test_allocator_destroy (a);
  program_free (p);
}

static void
list (void)
{
  static const char *const names[] = { "ge-scalable",        "ge-expandable",
                                       "ge-streams",         "ge-bins",
                                       "paddle-buddy",       "paddle-best-fit",
                                       "paddle-auto-growth", "paddle-vmm-auto-growth",
                                       "paddle-thread-local" };

  for (guint i = 0; CAN_COUNT && i < G_N_ELEMENTS (names); i++)
    for (guint64 live = 1000; live <= 1000000; live *= 1000)
      printf ("%s any %" G_GUINT64_FORMAT "\n%s recent %" G_GUINT64_FORMAT "\n", names[i], live,
              names[i], live);
  if (!CAN_COUNT)
    fputs ("bench-flatness: built without valgrind/callgrind.h, so it counts no instructions\n",
           stderr);
}

int
main (int argc, char **argv)
{
  const GememAllocatorClass *klass = argc == 4 ? gemem_allocator_find (argv[1], NULL) : NULL;
  const gboolean recent = argc == 4 && g_str_equal (argv[2], "recent");
  const guint64 live = argc == 4 ? g_ascii_strtoull (argv[3], NULL, 10) : 0;

  if (argc == 2 && g_str_equal (argv[1], "list"))
    list ();
  else if (argc <= 2)
    measure_all (argv[1]);
  else if (klass != NULL && live > 0 && live < G_MAXUINT32
           && (recent || g_str_equal (argv[2], "any")))
    count (klass, recent, live);
  else
    {
      fputs ("usage: bench-flatness [ALLOCATOR | list | ALLOCATOR any|recent LIVE]\n", stderr);
      return 2;
    }
  return 0;
}
