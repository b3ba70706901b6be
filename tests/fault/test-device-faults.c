/* test-device-faults.c - every registered allocator on a device whose calls fail: call n for every
 * n, every k-th, at random.
 *
 * A fixed workload is run once to count the calls of a kind, then once for each of them with that
 * one call failing (the faulty device's `nth=n,call=KIND`). However a call fails: no crash, no
 * memory lost (the oracle of tests/util/trial.h after every operation), no memory held after
 * destroy; and after the fault the refused request is served as if it had not occurred, but where
 * the real program does not begin without that call (RMM): there nothing is. The faulty
 * device says which kinds of calls can fail, and counting shows which of them an allocator makes:
 * no list is kept here.
 */
#include "config.h"

#include <string.h>

#include "devices/faulty.h"
#include "tests/util/sequence.h"
#include "tests/util/sizes.h"
#include "tests/util/variants.h"

#define AMPLE (G_GUINT64_CONSTANT (8) << 30)
#define TIGHT (160 * MIB)
#define SPARE_ID 100000 /* above the ids of the workload */

static guint
scale (void)
{
  return g_getenv ("GEMEM_LONG") != NULL ? 1 : g_getenv ("GEMEM_QUICK") != NULL ? 8 : 4;
}

/* Ordinary requests, and graphs that are loaded, run and unloaded; on TIGHT memory the
 * allocators retry on all their ladders. */
static GArray *
workload (void)
{
  static const TestMix mix = { .operations = 260,
                               .live = 24,
                               .largest = 20 * MIB,
                               .streams = 3,
                               .pools = 2,
                               .uses = TRUE,
                               .trims = 25,
                               .events = TRUE,
                               .graphs = 4 };

  return test_sequence (11, "faults", &mix);
}

/* Repeats the request, with a new id for a block or graph, up to @times; TRUE if it was served. */
static gboolean
ask_again (TestTrial *trial, const TestOp *op, guint32 *spare, guint times)
{
  TestOp again = *op;

  trial->ok = FALSE;
  while (times-- > 0 && !trial->ok)
    {
      if (op->kind != TEST_GRAPH_RUN)
        again.id = (*spare)++;
      if (!test_trial_step (trial, &again))
        return FALSE;
    }
  return trial->ok;
}

/* TRUE for a graph with an empty segment: where no block has a place for it, GE asks the device for 0
 * bytes, which is refused whenever it is asked (ge-runtime.md E33). */
static gboolean
has_empty_segment (const TestOp *op)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  gboolean empty = FALSE;

  if (op->kind == TEST_GRAPH_LOAD)
    test_op_segments (op, segments);
  for (guint i = 0; i < segments->len; i++)
    empty |= g_array_index (segments, GememGraphSegment, i).size == 0;
  return empty;
}

/* TRUE if a new allocator on a healthy device serves @size bytes.  One that has blocks of one size, or a
 * limit, refuses more for good. */
static gboolean
is_served_at_all (const TestSubject *subject, guint64 size)
{
  const TestOp op = { .kind = TEST_ALLOC, .size = size };
  TestSubject healthy = *subject;
  TestTrial *trial;
  gboolean served;

  healthy.faults = NULL;
  trial = test_trial_start (&healthy);
  served = test_trial_step (trial, &op) && trial->ok;
  test_trial_end (trial);
  return served;
}

/* Runs @ops. With ample memory a refused request must be served when repeated, at the
 * @patience-th time at the latest; 0: not required. Graphs are only required with @patience 1:
 * an attempt may make k calls, so that a fault of every k-th call hits every attempt. */
static void
run (TestTrial *trial, const GArray *ops, guint patience)
{
  const gboolean begun = trial->allocator->broken == NULL;
  guint32 spare = SPARE_ID;

  for (guint i = 0; i < ops->len && trial->problem == NULL; i++)
    {
      const TestOp *op = &g_array_index (ops, TestOp, i);

      trial->ok = TRUE;
      if (test_trial_step (trial, op) && !begun && op->kind == TEST_ALLOC && trial->ok)
        trial->problem = g_strdup_printf ("operation %u: served, though it never began", i);
      if (!begun || trial->problem != NULL || trial->ok || patience == 0
          || (patience > 1 && op->kind != TEST_ALLOC) || has_empty_segment (op))
        continue;
      if (!ask_again (trial, op, &spare, patience) && trial->problem == NULL
          && (op->kind != TEST_ALLOC || is_served_at_all (trial->subject, op->size)))
        trial->problem = g_strdup_printf (
            "operation %u: refused for good: %" G_GUINT64_FORMAT " bytes", i, op->size);
    }
}

/* Checks that without live blocks and cache each stream gets what a new allocator would return. */
static void
demand_recovery (TestTrial *trial, guint64 served)
{
  const TestOp trim = { .kind = TEST_TRIM };
  guint32 spare = 2 * SPARE_ID;

  if (trial->problem != NULL || !test_trial_drain (trial) || !test_trial_step (trial, &trim)
      || !is_served_at_all (trial->subject, served))
    return;
  for (guint64 stream = 0; stream < 3; stream++)
    {
      const TestOp op = { .kind = TEST_ALLOC, .size = served, .stream = stream };

      if (!ask_again (trial, &op, &spare, 1) && trial->problem == NULL)
        trial->problem = g_strdup_printf ("after the fault, %" G_GUINT64_FORMAT
                                          " bytes on stream %" G_GUINT64_FORMAT " are refused",
                                          served, stream);
      test_trial_drain (trial);
    }
}

/* ---- call n */

static guint64
eligible_calls (const TestSubject *subject, const GArray *ops, GememDeviceCall call)
{
  TestSubject healthy = *subject;
  TestTrial *trial;
  guint64 calls;

  healthy.faults = NULL;
  healthy.verify_every = 0;
  trial = test_trial_start (&healthy);
  run (trial, ops, 0);
  calls = trial->device->calls[call];
  test_trial_end (trial);
  return calls;
}

/* TRUE if a refused request may be refused again. Where the page that an address had before is
 * in use elsewhere, GE unmaps it, and refuses the address as long as the page is not mapped
 * there (ge-runtime.md 4, MallocPhysical): a request whose new page was refused in between can
 * fail until that page is free. */
static gboolean
may_be_refused_again (const GememAllocatorClass *klass, GememDeviceCall call)
{
  return (klass->capabilities & GEMEM_CAP_VIRTUAL_MEMORY) != 0
         && (call == GEMEM_CALL_MAP || call == GEMEM_CALL_CREATE);
}

/* Runs the workload with call @n of the kind failing; with ample memory and no limit set, the
 * refused request must be served the next time. */
static void
fail_nth (TestSubject *subject, const GArray *ops, GememDeviceCall call, guint64 n)
{
  const gboolean roomy = subject->capacity == AMPLE && *subject->settings == '\0';
  g_autofree char *faults = g_strdup_printf ("nth=%" G_GUINT64_FORMAT ",call=%s", n,
                                             gemem_device_call_name (call));
  TestTrial *trial;
  gboolean begun;

  subject->faults = faults;
  trial = test_trial_start (subject);
  begun = trial->allocator->broken == NULL;
  run (trial, ops, roomy && !may_be_refused_again (subject->klass, call) ? 1 : 0);
  if (trial->problem == NULL && gemem_faulty_device_injected (trial->device, call) != 1)
    trial->problem = g_strdup ("the call that was to fail was never made");
  if (begun && *subject->settings == '\0' && (roomy || test_subject_serves (subject, 2 * MIB)))
    demand_recovery (trial, 2 * MIB);
  else if (trial->problem == NULL)
    test_trial_drain (trial);
  test_trial_end (trial);
  subject->faults = NULL;
}

static gboolean
can_fail (GememDeviceCall call)
{
  g_autofree char *text = g_strdup_printf ("faulty:nth=1,call=%s", gemem_device_call_name (call));
  GememDevice *device = gemem_device_new (text, NULL, 0, NULL);

  if (device != NULL)
    gemem_device_destroy (device);
  return device != NULL;
}

static void
test_nth (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  g_autoptr (GPtrArray) variants = test_some_variants (klass, TIGHT);
  g_autoptr (GArray) ops = workload ();
  guint64 tried = 0;

  for (guint i = 0; i < variants->len; i++)
    for (guint roomy = 0; roomy < (i == 0 ? 2 : 1); roomy++)
      for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
        {
          TestSubject subject = { .klass = klass,
                                  .settings = g_ptr_array_index (variants, i),
                                  .capacity = roomy ? AMPLE : TIGHT,
                                  .first_fit = TRUE,
                                  .verify_every = 1 };
          const guint64 calls = can_fail (call) ? eligible_calls (&subject, ops, call) : 0;

          /* every call fails once for the defaults; the other variants share the calls */
          const guint step = i == 0 ? MAX (scale () / 4, 1) : scale () * (1 + variants->len / 32);

          for (guint64 n = 1 + i % step; n <= calls && !g_test_failed (); n += step, tried++)
            fail_nth (&subject, ops, call, n);
        }
  g_assert_cmpuint (tried, >, 0);
  g_test_message ("%" G_GUINT64_FORMAT " faults in %u variants", tried, variants->len);
}

/* ---- every k-th call, and at random */

static void
run_faulty (const GememAllocatorClass *klass, const char *settings, guint64 capacity,
            const char *faults, guint patience)
{
  const TestSubject subject = { .klass = klass,
                                .settings = settings,
                                .capacity = capacity,
                                .first_fit = TRUE,
                                .faults = faults,
                                .verify_every = 1 };
  g_autoptr (GArray) ops = workload ();
  TestTrial *trial = test_trial_start (&subject);

  run (trial, ops, patience);
  test_trial_drain (trial);
  test_trial_end (trial);
}

/* Most requests make few device calls, so not all attempts can hit the k-th call. Requests that
 * map pages can: every attempt makes k calls or more. With "all", the calls that retries need
 * may fail, too. */
static void
test_every (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  const gboolean many_calls = (klass->capabilities & GEMEM_CAP_VIRTUAL_MEMORY) != 0;
  g_autoptr (GPtrArray) variants = test_some_variants (klass, TIGHT);

  for (guint i = 0; i < variants->len && !g_test_failed (); i++)
    for (guint k = 1; k <= 7; k += 2)
      {
        const char *settings = g_ptr_array_index (variants, i);
        g_autofree char *memory = g_strdup_printf ("every=%u", k),
                        *all = g_strdup_printf ("every=%u,call=all", k);

        run_faulty (klass, settings, AMPLE, memory,
                    k > 1 && *settings == '\0' && !many_calls ? k : 0);
        run_faulty (klass, settings, AMPLE, all, 0);
        run_faulty (klass, settings, TIGHT, all, 0);
      }
}

static void
test_random (gconstpointer data)
{
  const GememAllocatorClass *klass = data;
  g_autoptr (GPtrArray) variants = test_some_variants (klass, TIGHT);

  for (guint i = 0; i < variants->len; i++)
    for (guint seed = 1;
         seed <= MAX (2, 24 / scale () / (1 + variants->len / 16)) && !g_test_failed (); seed++)
      {
        g_autofree char *faults = g_strdup_printf ("seed=%u,rate=%u%%,call=all", seed,
                                                   1 + seed * 7 % 60);

        run_faulty (klass, g_ptr_array_index (variants, i), seed % 2 == 0 ? AMPLE : TIGHT, faults,
                    0);
      }
}

/* A device that refuses all calls from call n on: out of memory for good, and still no memory
 * lost. */
static void
test_after (gconstpointer data)
{
  const GememAllocatorClass *klass = data;

  for (guint n = 0; n < 24 && !g_test_failed (); n++)
    {
      g_autofree char *faults = g_strdup_printf ("after=%u,call=all", n);

      run_faulty (klass, "", AMPLE, faults, 0);
      run_faulty (klass, "", TIGHT, faults, 0);
    }
}

/* ---- an event that cannot be recorded */

static guint64
waits (const TestTrial *trial)
{
  const guint64 *calls = trial->device->calls;

  return calls[GEMEM_CALL_STREAM_SYNC] + calls[GEMEM_CALL_DEVICE_SYNC]
         + calls[GEMEM_CALL_EVENT_SYNC];
}

/* A block that stream 1 uses for another hour is freed, and its bytes are requested again.
 * Without the event only a wait for the stream makes their reuse safe (faulty.c). */
static void
reuse_while_in_use (const GememAllocatorClass *klass, const char *faults)
{
  static const TestOp ops[] = {
    { .kind = TEST_ALLOC, .id = 0, .size = 4 * MIB },
    { .kind = TEST_USE, .id = 0, .stream = 1 },
    { .kind = TEST_FREE, .id = 0 },
    { .kind = TEST_ALLOC, .id = 1, .size = 4 * MIB },
  };
  const TestSubject subject = {
    .klass = klass, .capacity = AMPLE, .first_fit = TRUE, .faults = faults, .verify_every = 1
  };
  TestTrial *trial = test_trial_start (&subject);

  test_trial_run (trial, ops, G_N_ELEMENTS (ops));
  if (trial->problem == NULL
      && test_trial_block (trial, 0)->block.address == test_trial_block (trial, 1)->block.address
      && waits (trial) == 0)
    trial->problem = g_strdup ("a block is reused while a stream still uses it");
  test_trial_end (trial);
}

static void
test_lost_event (gconstpointer data)
{
  const GememAllocatorClass *klass = data;

  if (klass->streams.use == NULL)
    {
      g_test_skip ("blocks are not followed across streams");
      return;
    }
  if (g_str_has_suffix (klass->name, "cuda-async"))
    {
      g_test_skip ("CUDA puts a free behind all uses on the device itself (peers.md 1d)");
      return;
    }
  reuse_while_in_use (klass, "event_latency=1h");
  reuse_while_in_use (klass, "event_latency=1h,nth=1,call=event_record");
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    GTestDataFunc function;
  } tests[] = { { "nth", test_nth },
                { "every", test_every },
                { "random", test_random },
                { "after", test_after },
                { "lost-event", test_lost_event } };

  g_test_init (&argc, &argv, NULL);
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
      {
        g_autofree char *path = g_strdup_printf ("/faults/%s/%s", (*c)->name, tests[i].name);

        g_test_add_data_func (path, *c, tests[i].function);
      }
  return g_test_run ();
}
