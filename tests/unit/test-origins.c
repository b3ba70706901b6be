/* test-origins.c - who allocated what: failed requests and the blocks in their way, the largest
 * blocks at the live peak, blocks never freed, the segment map, messages. */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "tests/util/engine-job.h"

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* ---- a trace with two stacks and a tag */

enum
{
  LOAD = 1, /* stacks */
  FORWARD,
  ACTIVATION = 1, /* tag: the first string */
};

static void
describe (GememTraceInfo *info)
{
  GememCallStacks *stacks = gemem_trace_info_stacks (info);
  guint32 frames[2];

  equal (gemem_trace_info_intern (info, "activation"), ACTIVATION);
  const GememFrame load = { gemem_trace_info_intern (info, "load"),
                            gemem_trace_info_intern (info, "data.py"), 30, 0 };
  const GememFrame forward = { gemem_trace_info_intern (info, "forward"),
                               gemem_trace_info_intern (info, "train.py"), 212, 0 };
  const GememFrame mm = { gemem_trace_info_intern (info, "mm"), 0, 0, 0 };
  frames[0] = gemem_call_stacks_frame (stacks, &load);
  equal (gemem_call_stacks_extend (stacks, 0, frames, 1), LOAD);
  frames[0] = gemem_call_stacks_frame (stacks, &mm);
  frames[1] = gemem_call_stacks_frame (stacks, &forward);
  equal (gemem_call_stacks_extend (stacks, 0, frames, 2), FORWARD);
}

/* A file that could have call stacks, and has none. */
static void
describe_none (GememTraceInfo *info)
{
  gemem_trace_info_stacks (info);
}

/* The same without call stacks. */
static void
describe_tags (GememTraceInfo *info)
{
  gemem_trace_info_intern (info, "activation");
}

#define ALLOC_BY(i, s, of, name) \
  { \
    .kind = GEMEM_EVENT_ALLOC, .id = (i), .size = (s), .stack = (of), .tag = (name) \
  }

static void
assert_origin (const GememOrigin *origin, guint64 seq, const char *by)
{
  g_assert_true (origin->known);
  g_assert_false (origin->initial);
  equal (origin->seq, seq);
  g_assert_cmpstr (origin->by, ==, by);
}

static void
assert_block (const GArray *blocks, guint index, guint64 id, guint64 seq, const char *by)
{
  const GememNamedBlock *block = &g_array_index (blocks, GememNamedBlock, index);

  equal (block->id, id);
  assert_origin (&block->origin, seq, by);
}

/* ---- failed requests */

static const GememTraceEvent refused[] = {
  ALLOC_BY (1, 1024, LOAD, 0),
  ALLOC_BY (2, 1280, LOAD, 0),
  ALLOC_BY (3, 768, 0, ACTIVATION),
  ALLOC_BY (4, 1024, LOAD, ACTIVATION),
  TEST_FREE (1),
  TEST_FREE (3),
  ALLOC_BY (5, 1792, FORWARD, 0), /* block 4 is in its way, as in test-engine-oom.c */
};

static void
test_failed (void)
{
  TestTrace trace = TEST_TRACE (refused);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);

  trace.describe = describe;
  job.keep_origins = job.keep_map = TRUE;
  for (trace.batch = 0; trace.batch < 4; trace.batch++)
    {
      slots_reset ();
      trace.opened = 0;
      GememResult *result = test_job_run (&job);
      const GememOom *oom = &g_array_index (result->oom, GememOom, 0);

      equal (result->oom->len, 1);
      equal (oom->blocking_id, 4);
      assert_origin (&oom->origin, 6, "train.py:212 forward (mm)");
      assert_origin (&oom->blocking_origin, 3, "data.py:30 load [activation]");
      equal (result->leaked->len, 2);
      assert_block (result->leaked, 0, 2, 1, "data.py:30 load");
      assert_block (result->leaked, 1, 4, 3, "data.py:30 load [activation]");
      equal (result->largest->len, 4);
      assert_block (result->largest, 0, 2, 1, "data.py:30 load");
      assert_block (result->largest, 1, 1, 0, "data.py:30 load"); /* the older of two as large */
      assert_block (result->largest, 2, 4, 3, "data.py:30 load [activation]");
      assert_block (result->largest, 3, 3, 2, "after data.py:30 load [activation]");
      equal (trace.opened, 2); /* the trace, and once more for the map: the reserved peak is its
                                * first event */
      const GememMapSpan *span = &g_array_index (result->map, GememMapSpan, 0);
      equal (span->id, 1);
      assert_origin (&span->origin, 0, "data.py:30 load");
      gemem_result_free (result);
    }
  gemem_allocator_spec_free (spec);
}

/* Requests that fail in a later epoch, after a warm-up. */
static void
test_epochs (void)
{
  TestTrace trace = TEST_TRACE (refused);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);

  trace.describe = describe;
  job.keep_origins = TRUE;
  job.warm_up = 1;
  job.repeat = 2;
  GememResult *result = test_job_run (&job);
  equal (result->oom->len, 2);
  for (guint i = 0; i < 2; i++)
    {
      const GememOom *oom = &g_array_index (result->oom, GememOom, i);
      assert_origin (&oom->origin, 6 + 7 * (i + 1), "train.py:212 forward (mm)");
      assert_origin (&oom->blocking_origin, 3 + 7 * (i + 1), "data.py:30 load [activation]");
    }
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* Nothing is kept unless it was asked for, and is there. */
static void
test_nothing (void)
{
  static const GememTraceEvent plain[] = { TEST_ALLOC (1, 256), TEST_ALLOC (2, 9999) };
  TestTrace trace = TEST_TRACE (refused), without = TEST_TRACE (plain);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);

  trace.describe = describe;
  for (guint i = 0; i < 3; i++)
    {
      GememResult *result = test_job_run (&job);
      equal (result->oom->len, 1);
      g_assert_null (g_array_index (result->oom, GememOom, 0).origin.by);
      equal (result->largest->len + result->leaked->len, 0);
      gemem_result_free (result);
      job.keep_origins = TRUE;
      job.source_data = &without;
      without.describe = i == 0 ? describe_tags : describe_none;
      slots_reset ();
    }
  gemem_allocator_spec_free (spec);
}

/* The first tag of a trace comes late: what was allocated before is counted, its origin unknown. */
static void
test_late (void)
{
  static const GememTraceEvent events[] = { TEST_ALLOC (1, 100), TEST_ALLOC (2, 200),
                                            ALLOC_BY (3, 150, 0, ACTIVATION), TEST_FREE (2) };
  TestTrace trace = TEST_TRACE (events);
  GememAllocatorSpec *spec = test_spec (test_direct_class ());
  GememJob job = test_job (spec, &trace);

  trace.describe = describe_tags;
  trace.batch = 2;
  job.keep_origins = TRUE;
  GememResult *result = test_job_run (&job);
  equal (result->largest->len, 3);
  const GememNamedBlock *first = &g_array_index (result->largest, GememNamedBlock, 0);
  equal (first->id, 2);
  g_assert_false (first->origin.known);
  assert_block (result->largest, 1, 3, 2, "[activation]");
  assert_block (result->leaked, 0, 3, 2, "[activation]");
  gemem_result_free (result);
  gemem_allocator_spec_free (spec);
}

/* ---- the largest blocks, against a computation that keeps everything */

#define EVENTS 400
#define IDS 40

static int
compare_named (gconstpointer a, gconstpointer b)
{
  const GememNamedBlock *x = a, *y = b;

  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  return x->origin.seq < y->origin.seq ? -1 : x->origin.seq > y->origin.seq;
}

static void
assert_same (const GArray *found, const GememNamedBlock *live)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (GememNamedBlock));

  for (guint id = 1; id <= IDS; id++)
    if (live[id].size > 0)
      g_array_append_val (all, live[id]);
  g_array_sort (all, compare_named);
  equal (found->len, MIN (all->len, GEMEM_NAMED_BLOCKS));
  for (guint i = 0; i < found->len; i++)
    {
      const GememNamedBlock *a = &g_array_index (found, GememNamedBlock, i),
                            *b = &g_array_index (all, GememNamedBlock, i);
      equal (a->id, b->id);
      equal (a->size, b->size);
      equal (a->origin.seq, b->origin.seq);
      g_assert_cmpstr (a->origin.by, ==, b->origin.by);
    }
}

/* The blocks that live after each event of one epoch; @at_peak: at the first of the largest sums. */
static void
follow (const GememTraceEvent *events, guint64 first, gboolean at_request, GememNamedBlock *at_peak,
        GememNamedBlock *at_end)
{
  static const char *const by[2][3] = {
    { NULL, [LOAD] = "after data.py:30 load", [FORWARD] = "after train.py:212 forward" },
    { NULL, [LOAD] = "data.py:30 load", [FORWARD] = "train.py:212 forward (mm)" },
  };
  guint64 sum = 0, peak = 0;
  guint32 stack = 0; /* the last one */

  memset (at_end, 0, (IDS + 1) * sizeof *at_end);
  for (guint i = 0; i < EVENTS; i++)
    {
      const GememTraceEvent *event = &events[i];
      GememNamedBlock *block = &at_end[event->id];
      stack = event->stack != 0 ? event->stack : stack;
      if (event->kind == GEMEM_EVENT_ALLOC)
        {
          sum += event->size;
          *block = (GememNamedBlock){
            event->id,
            event->size,
            { .known = TRUE, .seq = first + i, .by = by[event->stack != 0][stack] }
          };
        }
      else if (event->kind == GEMEM_EVENT_FREE
               || (event->kind == GEMEM_EVENT_FREE_REQUESTED) == at_request)
        {
          sum -= block->size;
          block->size = 0;
        }
      if (sum > peak)
        {
          peak = sum;
          memcpy (at_peak, at_end, (IDS + 1) * sizeof *at_end);
        }
    }
}

static void
test_largest (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 5, "origins");
  for (guint trial = 0; trial < 200; trial++)
    {
      GememTraceEvent events[EVENTS] = { 0 };
      guint8 state[IDS + 1] = { 0 }; /* 0: free, 1: live, 2: its free was requested */
      GememNamedBlock at_peak[IDS + 1], at_end[IDS + 1];
      for (guint i = 0; i < EVENTS; i++)
        {
          const guint64 id = 1 + gemem_rng_below (&rng, IDS);
          GememTraceEvent *event = &events[i];
          event->id = id;
          if (state[id] == 0)
            {
              event->kind = GEMEM_EVENT_ALLOC;
              event->size = 1 + gemem_rng_below (&rng, 64); /* many of the same size */
              event->stack = (guint32) gemem_rng_below (&rng, 3);
              state[id] = 1;
            }
          else if (state[id] == 2)
            {
              event->kind = GEMEM_EVENT_FREE_COMPLETED;
              state[id] = 0;
            }
          else
            {
              const gboolean twice = gemem_rng_below (&rng, 2) == 0;
              event->kind = twice ? GEMEM_EVENT_FREE_REQUESTED : GEMEM_EVENT_FREE;
              state[id] = twice ? 2 : 0;
            }
        }
      TestTrace trace = { .events = events, .n = EVENTS, .describe = describe };
      GememAllocatorSpec *spec = test_spec (
          trial % 2 == 0 ? test_direct_class () : gemem_allocator_find ("pytorch-caching", NULL));
      GememJob job = test_job (spec, &trace);
      job.device_spec = "sim";
      job.full_checks = FALSE;
      job.keep_origins = TRUE;
      job.warm_up = trial % 3;
      job.repeat = 1 + trial % 5;
      trace.batch = trial % 7 * 10;
      GememResult *result = test_job_run (&job);
      const gboolean at_request = spec->klass->streams.complete == NULL;
      follow (events, job.warm_up * EVENTS, at_request, at_peak, at_end);
      assert_same (result->largest, at_peak); /* later epochs have the same peak */
      follow (events, (job.warm_up + job.repeat - 1) * EVENTS, at_request, at_peak, at_end);
      assert_same (result->leaked, at_end);
      gemem_result_free (result);
      gemem_allocator_spec_free (spec);
    }
}

/* ---- messages */

static void
fails (const GememJob *job, const char *message)
{
  g_autoptr (GError) error = NULL;
  GememResult *result = gemem_job_run (job, &error);

  g_assert_null (result);
  g_assert_nonnull (error);
  if (strstr (error->message, message) == NULL)
    g_error ("not found:\n%s\nin:\n%s", message, error->message);
}

static void
test_messages (void)
{
  static const GememTraceEvent twice[] = { ALLOC_BY (1, 100, LOAD, 0),
                                           ALLOC_BY (1, 100, FORWARD, 0) };
  static const GememTraceEvent never[] = {
    ALLOC_BY (1, 100, LOAD, 0), { .kind = GEMEM_EVENT_FREE, .id = 2, .stack = FORWARD }
  };
  static const GememTraceEvent again[] = { ALLOC_BY (1, 100, LOAD, 0),
                                           TEST_EVENT (FREE_REQUESTED, 1),
                                           TEST_EVENT (FREE_REQUESTED, 1) };
  static const GememTraceEvent open[] = {
    ALLOC_BY (1, 100, LOAD, 0),
    { .kind = GEMEM_EVENT_GRAPH_LOAD, .id = 1, .size = 8, .aux = 1, .stack = FORWARD }
  };
  static const GememTraceEvent good[] = { ALLOC_BY (1, 100, LOAD, 0),
                                          ALLOC_BY (2, 3840, FORWARD, 0) };
  TestTrace trace = TEST_TRACE (twice);
  GememAllocatorSpec *spec = test_spec (&slots_class);
  GememJob job = test_job (spec, &trace);

  trace.describe = describe;
  job.keep_origins = TRUE;
  fails (&job, "array:event 1: id 1 is allocated while it is alive (by train.py:212 forward (mm); "
               "the block was allocated at event 0 by data.py:30 load); repair");
  trace.events = never;
  fails (&job, "event 1: id 2 is freed but is not alive (by train.py:212 forward (mm)); repair");
  trace.events = again;
  trace.n = 3;
  fails (&job,
         "event 2: id 1 is freed twice (after data.py:30 load; the block was allocated at event "
         "0 by data.py:30 load); repair");
  trace.events = open; /* found after the last event */
  trace.n = 2;
  fails (&job, "lacks 1 of its segments; repair");
  trace.events = good;
  slots_faults.hide_last = TRUE;
  fails (&job, "walk does not report the live block of id 2 at 0x");
  slots_reset ();
  slots_faults.hide_last = TRUE;
  fails (&job, " (allocated at event 1 by train.py:212 forward (mm)); this is a bug of the "
               "allocator");
  slots_reset ();
  job.keep_origins = FALSE;
  trace.events = twice;
  fails (&job, "array:event 1: id 1 is allocated while it is alive; repair");
  gemem_allocator_spec_free (spec);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/origins/failed", test_failed);
  g_test_add_func ("/origins/epochs", test_epochs);
  g_test_add_func ("/origins/nothing", test_nothing);
  g_test_add_func ("/origins/late", test_late);
  g_test_add_func ("/origins/largest", test_largest);
  g_test_add_func ("/origins/messages", test_messages);
  return g_test_run ();
}
