/* test-pytorch-recordings.c - real PyTorch recordings through `pytorch-caching`, on a device that
 * places segments at their recorded addresses.
 *
 * For each of the six, with and without its call stacks: every allocation at its recorded address,
 * the recorded device calls in order, and the facts of shared/traces/pytorch/expected.json: counts,
 * initial state, peaks with their events, final state. The smaller ones also pass the full checks
 * after each event.
 */
#include "config.h"

#include "sim/engine/replay.h"
#include "tests/util/event-source.h"
#include "tests/util/json.h"
#include "tests/util/testutil.h"

static GememJsonTree *expected; /* expected.json */

typedef struct
{
  const char *path;
  const char *name; /* key in expected.json */
  gboolean full_checks;
} Recording;

static const Recording recordings[] = {
  { "lm-small.pickle", "lm-small.pickle", TRUE },
  { "lm-forward-a.pickle", "lm-forward-a.pickle", TRUE },
  { "lm-forward-backward-a.pickle", "lm-forward-backward-a.pickle", FALSE },
  { "lm-forward-backward-b.pickle", "lm-forward-backward-b.pickle", FALSE },
  { "lm-training-512.pickle.gz", "lm-training-512.pickle.gz", FALSE },
  { "lm-inference-1024.pickle", "lm-inference-1024.pickle", TRUE },
  { "with-stacks/lm-small.pickle.gz", "lm-small.pickle", FALSE },
  { "with-stacks/lm-forward-a.pickle.gz", "lm-forward-a.pickle", FALSE },
  { "with-stacks/lm-forward-backward-a.pickle.gz", "lm-forward-backward-a.pickle", FALSE },
  { "with-stacks/lm-forward-backward-b.pickle.gz", "lm-forward-backward-b.pickle", FALSE },
  { "with-stacks/lm-training-512.pickle.gz", "lm-training-512.pickle.gz", FALSE },
  { "with-stacks/lm-inference-1024.pickle.gz", "lm-inference-1024.pickle", FALSE },
};

static guint32
facts_of (const char *name)
{
  const guint32 snapshots = test_json_member (expected, 0, "snapshots"),
                file = test_json_member (expected, snapshots, name),
                devices = test_json_member (expected, file, "devices");
  g_assert_cmpuint (test_json_count (expected, devices), ==, 1);
  return test_json_member (expected, devices, "0");
}

static guint64
fact (guint32 facts, const char *name)
{
  return (guint64) test_json_int (expected, facts, name);
}

static gboolean
is_allocator_event (const GememTraceEvent *event)
{
  return (event->flags & GEMEM_EVENT_INITIAL) == 0 && event->kind != GEMEM_EVENT_PHASE
         && event->kind != GEMEM_EVENT_PHASE_END && event->kind != GEMEM_EVENT_STEP;
}

/* expected.json counts only the allocator's own events, from 0; the initial state is -1, and
 * annotations are not counted. */
static gint64
recorded_event (const char *path, guint64 seq)
{
  GememTraceReader *reader = test_open_path ((gpointer) path, NULL);
  const GememTraceEvent *events;
  gint64 index = -1;
  guint64 at = 0;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
    for (gssize i = 0; i < n; i++, at++)
      if (at <= seq && is_allocator_event (&events[i]))
        index++;
  g_assert_cmpint (n, ==, 0);
  g_assert_cmpuint (at, >, seq);
  gemem_trace_close (reader);
  return index;
}

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

static void
check_fidelity (const GememResult *result, guint32 facts)
{
  const GememFidelity *fidelity = &result->fidelity;
  guint64 calls = fact (facts, "segment_alloc") + fact (facts, "segment_free")
                  + fact (facts, "segment_map") + fact (facts, "segment_unmap");

  if (fidelity->first_difference != G_MAXUINT64)
    g_test_message ("event %" G_GUINT64_FORMAT ": recorded 0x%" G_GINT64_MODIFIER
                    "x, got 0x%" G_GINT64_MODIFIER "x",
                    fidelity->first_difference, fidelity->expected_address, fidelity->got_address);
  equal (fidelity->first_difference, G_MAXUINT64);
  equal (fidelity->compared, fact (facts, "alloc"));
  equal (fidelity->equal, fact (facts, "alloc"));
  equal (fidelity->first_segment_difference, G_MAXUINT64);
  equal (fidelity->segments_compared, calls);
  equal (fidelity->segments_equal, calls);
}

static void
check_counts (const GememResult *result, const char *path, guint32 facts)
{
  const guint32 initial = test_json_member (expected, facts, "initial");

  g_assert_false (result->partial);
  equal (result->initial_blocks, fact (initial, "live_blocks"));
  equal (result->initial_events, fact (initial, "live_blocks") + fact (initial, "segments"));
  g_assert_cmpint (recorded_event (path, result->events - 1) + 1, ==,
                   test_json_int (expected, facts, "events"));
  equal (result->allocs, fact (facts, "alloc"));
  equal (result->frees, fact (facts, "free_completed"));
  equal (result->ooms, fact (facts, "oom"));
  equal (result->calls[GEMEM_CALL_MALLOC], fact (facts, "segment_alloc"));
  equal (result->calls[GEMEM_CALL_FREE], fact (facts, "segment_free"));
}

static void
check_state (const GememResult *result, const char *path, guint32 facts)
{
  const guint32 final = test_json_member (expected, facts, "final");

  equal (result->peak_live, fact (facts, "peak_live_requested_bytes"));
  g_assert_cmpint (recorded_event (path, result->peak_live_seq), ==,
                   test_json_int (expected, facts, "peak_live_event"));
  equal (result->peak_allocated, fact (facts, "peak_allocated_bytes"));
  equal (result->peak_reserved, fact (facts, "peak_reserved_bytes"));
  /* The recording notes a segment before the request that caused it; the segment is held after that
   * request. */
  gint64 reserved = recorded_event (path, result->peak_reserved_seq),
         noted = test_json_int (expected, facts, "peak_reserved_event");
  g_assert_cmpint (reserved, ==, noted < 0 ? noted : noted + 1);
  equal (result->end_live, fact (final, "live_requested_bytes"));
  equal (result->end_allocated, fact (final, "allocated_bytes"));
  equal (result->end_reserved, fact (final, "reserved_bytes"));
  equal (result->leaked_blocks, fact (final, "live_blocks"));
}

static void
test_recording (gconstpointer data)
{
  const Recording *recording = data;
  g_autofree char *relative = g_build_filename ("traces", "pytorch", recording->path, NULL);
  g_autofree char *path = test_shared_path (relative);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememResult *result;

  if (path == NULL)
    return;
  g_assert_true (gemem_allocator_spec_parse ("pytorch-caching", specs, NULL));
  GememJob job = { .allocator = specs->pdata[0],
                   .device_spec = "sim:address=recorded,capacity=80GiB",
                   .device_ordinal = -1,
                   .source = test_open_path,
                   .source_data = path,
                   .use_trace_settings = TRUE,
                   .full_checks = recording->full_checks };
  result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  const guint32 facts = facts_of (recording->name);
  check_fidelity (result, facts);
  check_counts (result, path, facts);
  check_state (result, path, facts);
  gemem_result_free (result);
}

int
main (int argc, char **argv)
{
  g_autofree char *path = NULL;

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (recordings); i++)
    {
      g_autofree char *name = g_strconcat ("/recordings/", recordings[i].path, NULL);
      g_test_add_data_func (name, &recordings[i], test_recording);
    }
  path = g_build_filename (g_getenv ("GEMEM_SHARED") != NULL ? g_getenv ("GEMEM_SHARED")
                                                             : "../shared",
                           "traces", "pytorch", "expected.json", NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS))
    expected = test_json_load (path);
  int status = g_test_run ();
  g_clear_pointer (&expected, gemem_json_tree_free);
  return status;
}
