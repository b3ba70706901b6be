/* test-release-order.c - the order of release, for every allocator of the registry: memory returns
 * to the device after the streams that use it, on devices where free waits and where it does not.
 *
 * Random programs on several streams and on little memory, so that memory is released often. Known
 * violations of real systems are rows of `expectations`, with the reason: there a violation must be
 * found, everywhere else none may be. A new allocator is expected to keep the order; if its real
 * system does not, it gets a row.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "tests/util/engine-job.h"
#include "tests/util/sizes.h"

#define EVENTS 400
#define PROGRAMS 200 /* tried where a violation is expected */
#define STREAMS 3

/* Features of programs; in `expectations` a set of them per kind of device. */
enum
{
  OWN = 1 << 0,   /* blocks are used by their own streams; trims come when the device is idle */
  USES = 1 << 1,  /* other streams use blocks, too */
  TRIMS = 1 << 2, /* trims come at any time */
  ALL = OWN | USES | TRIMS,
};

#define CUDA_FREE \
  "relies on a free that waits by itself, as cudaFree does: the real system calls it without " \
  "synchronising"
#define GE_RELEASE \
  "Release hands idle memory down without waiting, and the bottom pool gives it back when it " \
  "fails"
#define GE_POOLS \
  "a pool of one stream waits for that stream alone; of other streams' uses GE knows in its " \
  "multi-stream pools. " GE_RELEASE

/* Where a violation must be found: on devices where free waits, and where it does not. */
static const struct
{
  const char *allocator;
  guint waits, at_once;
  const char *reason;
} expectations[] = {
  { "direct", 0, ALL, CUDA_FREE },
  { "pytorch-caching", 0, ALL, CUDA_FREE },
  { "gmlake", 0, ALL, CUDA_FREE },
  { "pytorch-pinned", 0, TRIMS, CUDA_FREE },
  { "tf-bfc", 0, ALL, CUDA_FREE },
  { "ort-bfc", 0, TRIMS, CUDA_FREE },
  { "rmm-limiting", 0, ALL, CUDA_FREE },
  { "cupy-pool", 0, ALL, CUDA_FREE },
  { "paddle-auto-growth", 0, ALL, CUDA_FREE },
  { "paddle-buddy", 0, TRIMS, CUDA_FREE },
  { "paddle-thread-local", 0, ALL, CUDA_FREE },
  { "ge", 0, USES | TRIMS, GE_POOLS },
  { "ge-active", 0, USES | TRIMS, GE_POOLS },
  { "ge-scalable", 0, USES | TRIMS, GE_POOLS },
  { "ge-expandable", USES | TRIMS, USES | TRIMS, GE_POOLS "; and no unmap waits" },
  { "ge-streams", 0, TRIMS, GE_RELEASE },
  { "ge-bins", 0, USES, GE_POOLS },
  { "ge-fixed-base", 0, USES | TRIMS, GE_POOLS },
  { "ge-physical", ALL, ALL,
    "unmaps a range with its free, without waiting: those who have ranges of its pages wait "
    "before" },
  { "ge-session-range", ALL, ALL,
    "unmaps its range with the last free, without waiting (5.9), and no unmap waits: it is for "
    "memory of runs that were waited for" },
};

static const struct
{
  guint program;
  gboolean waits;
  const char *text;
} worlds[] = {
  { OWN, TRUE, "own streams, free waits" },
  { USES, TRUE, "uses by others, free waits" },
  { TRIMS, TRUE, "trims at any time, free waits" },
  { OWN, FALSE, "own streams, free at once" },
  { USES, FALSE, "uses by others, free at once" },
  { TRIMS, FALSE, "trims at any time, free at once" },
};

/* ---- programs */

static void
add (GArray *events, guint kind, guint64 id, guint64 stream, guint64 size)
{
  const GememTraceEvent event = { .kind = (guint8) kind, .id = id, .stream = stream, .size = size };
  g_array_append_val (events, event);
}

static void
add_graph (GArray *events, GememRng *rng, guint64 id)
{
  const guint64 stream = gemem_rng_below (rng, STREAMS);
  const GememTraceEvent load = { .kind = GEMEM_EVENT_GRAPH_LOAD,
                                 .id = id,
                                 .stream = stream,
                                 .size = (1 + gemem_rng_below (rng, 16)) * MIB };
  g_array_append_val (events, load);
  add (events, GEMEM_EVENT_GRAPH_RUN, id, stream, 0);
  add (events, GEMEM_EVENT_GRAPH_RUN_END, id, stream, 0);
}

/* A program that frees every block once, and waits for graphs. */
static GArray *
program (guint64 seed, guint what)
{
  GArray *events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent)),
         *live = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint64 id = 0, graph = 0;
  GememRng rng;

  gemem_rng_init (&rng, seed, "release order");
  while (events->len < EVENTS)
    {
      const guint64 dice = gemem_rng_below (&rng, 100), stream = gemem_rng_below (&rng, STREAMS);
      const guint at = live->len > 0 ? (guint) gemem_rng_below (&rng, live->len) : 0;
      if (dice < 40)
        {
          const guint64 size = gemem_rng_below (&rng, 3) == 0 ? 1 + gemem_rng_below (&rng, 24 * MIB)
                                                              : 1 + gemem_rng_below (&rng, 2 * MIB);
          add (events, GEMEM_EVENT_ALLOC, ++id, stream, size);
          g_array_append_val (live, id);
        }
      else if (dice < 76 && live->len > 0)
        {
          add (events, GEMEM_EVENT_FREE, g_array_index (live, guint64, at), 0, 0);
          g_array_remove_index_fast (live, at);
        }
      else if (dice < 86 && live->len > 0 && what == USES)
        add (events, GEMEM_EVENT_USE_ON_STREAM, g_array_index (live, guint64, at), stream, 0);
      else if (dice < 90)
        add (events, GEMEM_EVENT_STREAM_SYNC, 0, stream, 0);
      else if (dice < 95)
        {
          if (what != TRIMS)
            add (events, GEMEM_EVENT_DEVICE_SYNC, 0, 0, 0);
          add (events, GEMEM_EVENT_TRIM, 0, 0, 0);
        }
      else if (dice < 97)
        add_graph (events, &rng, ++graph);
      else if (dice < 98 && graph > 0)
        add (events, GEMEM_EVENT_GRAPH_UNLOAD, graph--, 0, 0);
      else
        add (events, GEMEM_EVENT_DEVICE_SYNC, 0, 0, 0);
    }
  g_array_unref (live);
  return events;
}

/* ---- runs */

/* NULL: the order was kept; else the violation. */
static char *
violation (const GememAllocatorClass *klass, guint64 seed, guint what, gboolean waits)
{
  g_autoptr (GArray) events = program (seed, what);
  TestTrace trace = { .events = (const GememTraceEvent *) (gpointer) events->data,
                      .n = events->len };
  g_autoptr (GError) error = NULL;
  GememAllocatorSpec *spec = test_spec (klass);
  GememJob job = test_job (spec, &trace);
  GememResult *result;

  job.device_spec = waits ? "sim:capacity=96MiB,address=first-fit,free_synchronises=yes"
                          : "sim:capacity=96MiB,address=first-fit,free_synchronises=no";
  job.full_checks = FALSE;
  job.release_order = TRUE;
  result = gemem_job_run (&job, &error);
  gemem_allocator_spec_free (spec);
  gemem_result_free (result);
  g_assert_true (error == NULL || g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT));
  return error != NULL ? g_strdup (error->message) : NULL;
}

/* TRUE if a program violates the order in world @w; the violation is printed. */
static gboolean
finds_violation (const GememAllocatorClass *klass, gsize w, guint64 programs)
{
  for (guint64 seed = 1; seed <= programs; seed++)
    {
      g_autofree char *what = violation (klass, seed, worlds[w].program, worlds[w].waits);
      if (what == NULL)
        continue;
      g_test_message ("%s: program %" G_GUINT64_FORMAT ": %s", worlds[w].text, seed, what);
      return TRUE;
    }
  return FALSE;
}

static void
test_class (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  const guint64 few = g_getenv ("GEMEM_QUICK") != NULL ? 10 : 60;

  for (gsize w = 0; w < G_N_ELEMENTS (worlds); w++)
    {
      gboolean expected = FALSE;
      for (gsize i = 0; i < G_N_ELEMENTS (expectations); i++)
        if (strcmp (expectations[i].allocator, klass->name) == 0)
          {
            expected = ((worlds[w].waits ? expectations[i].waits : expectations[i].at_once)
                        & worlds[w].program)
                       != 0;
            if (w == 0)
              g_test_message ("known: %s", expectations[i].reason);
          }
      if (finds_violation (klass, w, expected ? PROGRAMS : few) == expected)
        continue;
      g_test_message ("%s, %s: %s", klass->name, worlds[w].text,
                      expected ? "no violation is found any more: take it out of `expectations`"
                               : "memory goes back too early: mend it, or if the real system does "
                                 "so too, say it in `expectations`");
      g_test_fail ();
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (const GememAllocatorClass *const *klass = gemem_allocator_classes (); *klass != NULL;
       klass++)
    {
      g_autofree char *path = g_strconcat ("/release-order/", (*klass)->name, NULL);
      g_test_add_data_func (path, *klass, test_class);
    }
  return g_test_run ();
}
