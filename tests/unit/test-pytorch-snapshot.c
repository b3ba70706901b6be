/* test-pytorch-snapshot.c - the reader on the six recordings: every figure of expected.json that
 * needs no replay. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/io/input.h"
#include "tests/util/json.h"
#include "tests/util/testutil.h"
#include "traces/trace.h"

#define FOLDER "traces/pytorch"

typedef struct
{
  guint64 kinds[GEMEM_EVENT_KIND_COUNT]; /* without the initial state */
  guint64 segments, reserved, live, requested;
  guint64 initial_segments, initial_reserved, initial_live, initial_requested, initial_allocated;
  guint64 peak_live, peak_reserved;
  gint64 peak_live_event, peak_reserved_event;
  guint64 final_kept; /* live blocks at the end that were initial */
  guint64 last_time;
  GArray *tails; /* GememTraceEvent: initial blocks larger than their rounded request */
} Facts;

static guint64
count_of (const Facts *facts)
{
  return facts->kinds[GEMEM_EVENT_ALLOC] + facts->kinds[GEMEM_EVENT_FREE_REQUESTED]
         + facts->kinds[GEMEM_EVENT_FREE_COMPLETED] + facts->kinds[GEMEM_EVENT_SEGMENT_ALLOC]
         + facts->kinds[GEMEM_EVENT_SEGMENT_FREE];
}

static void
add_initial (Facts *facts, const GememTraceEvent *event)
{
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC)
    {
      facts->initial_segments++;
      facts->initial_reserved += event->size;
      g_assert_cmpuint (facts->initial_live, ==, 0); /* segments precede all else */
      return;
    }
  g_assert_cmpint (event->kind, ==, GEMEM_EVENT_ALLOC);
  facts->initial_live++;
  facts->initial_requested += event->size;
  facts->initial_allocated += event->aux;
  if (event->aux > (event->size + 511) / 512 * 512)
    g_array_append_vals (facts->tails, event, 1);
}

static void
add_event (Facts *facts, const GememTraceEvent *event, GememIdMap *sizes)
{
  guint64 size;

  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      *(guint64 *) gemem_idmap_insert (sizes, event->id, NULL) = event->size;
      facts->live++;
      facts->requested += event->size;
      break;
    case GEMEM_EVENT_FREE_COMPLETED:
      g_assert_true (gemem_idmap_remove (sizes, event->id, &size));
      g_assert_cmpuint (size, ==, event->size);
      facts->live--;
      facts->requested -= event->size;
      break;
    case GEMEM_EVENT_SEGMENT_ALLOC:
      facts->segments++;
      facts->reserved += event->size;
      break;
    default:
      g_assert_true (event->kind == GEMEM_EVENT_FREE_REQUESTED || event->kind == GEMEM_EVENT_PHASE
                     || event->kind == GEMEM_EVENT_PHASE_END);
    }
  if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
    add_initial (facts, event);
  else if (event->kind != GEMEM_EVENT_PHASE && event->kind != GEMEM_EVENT_PHASE_END)
    facts->kinds[event->kind]++;
  gint64 at = (gint64) count_of (facts) - 1;
  if (facts->requested > facts->peak_live)
    {
      facts->peak_live = facts->requested;
      facts->peak_live_event = at;
    }
  if (facts->reserved > facts->peak_reserved)
    {
      facts->peak_reserved = facts->reserved;
      facts->peak_reserved_event = at;
    }
}

static void
read_facts (GememTraceReader *reader, Facts *facts)
{
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *events;
  GememIdMap *sizes = gemem_idmap_new (sizeof (guint64));
  gssize n;
  guint64 total = 0;

  memset (facts, 0, sizeof *facts);
  facts->peak_live_event = facts->peak_reserved_event = -1;
  facts->tails = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        g_assert_cmpuint (events[i].time, >=, facts->last_time);
        facts->last_time = events[i].time;
        add_event (facts, &events[i], sizes);
        total++;
      }
  g_assert_no_error (error);
  g_assert_cmpint (n, ==, 0);
  g_assert_cmpuint (total, ==, reader->info.events);
  g_assert_cmpuint (gemem_idmap_count (sizes), ==, facts->live);
  gemem_idmap_free (sizes);
}

/* expected.json */
static GememJsonTree *tree;

static guint64
number (guint32 object, const char *member)
{
  return (guint64) test_json_int (tree, object, member);
}

static void
check_initial (const Facts *facts, guint32 expected)
{
  const guint32 initial = test_json_member (tree, expected, "initial"),
                tails = test_json_member (tree, expected, "initial_blocks_with_tail");
  guint32 tail = gemem_json_tree_first (tree, tails);

  g_assert_cmpuint (facts->initial_segments, ==, number (initial, "segments"));
  g_assert_cmpuint (facts->initial_reserved, ==, number (initial, "reserved_bytes"));
  g_assert_cmpuint (facts->initial_live, ==, number (initial, "live_blocks"));
  g_assert_cmpuint (facts->initial_requested, ==, number (initial, "live_requested_bytes"));
  g_assert_cmpuint (facts->initial_allocated, ==, number (initial, "allocated_bytes"));
  g_assert_cmpuint (facts->tails->len, ==, test_json_count (tree, tails));
  for (guint i = 0; i < facts->tails->len; i++, tail = gemem_json_tree_next (tree, tails, tail))
    {
      const GememTraceEvent *block = &g_array_index (facts->tails, GememTraceEvent, i);
      g_assert_cmpuint (block->address, ==, number (tail, "address"));
      g_assert_cmpuint (block->size, ==, number (tail, "requested_bytes"));
      g_assert_cmpuint (block->aux, ==, number (tail, "size"));
      g_assert_cmpint ((block->flags & GEMEM_EVENT_AMBIGUOUS) != 0, ==,
                       g_str_equal (test_json_text (tree, tail, "source"), "inferred"));
    }
}

static void
check_facts (const Facts *facts, guint32 expected)
{
  static const struct
  {
    const char *name;
    GememEventKind kind;
  } kinds[] = {
    { "alloc", GEMEM_EVENT_ALLOC },
    { "free_requested", GEMEM_EVENT_FREE_REQUESTED },
    { "free_completed", GEMEM_EVENT_FREE_COMPLETED },
    { "segment_alloc", GEMEM_EVENT_SEGMENT_ALLOC },
    { "segment_free", GEMEM_EVENT_SEGMENT_FREE },
    { "segment_map", GEMEM_EVENT_SEGMENT_MAP },
    { "segment_unmap", GEMEM_EVENT_SEGMENT_UNMAP },
    { "oom", GEMEM_EVENT_OOM },
    { "snapshot", GEMEM_EVENT_SNAPSHOT },
  };
  const guint32 final = test_json_member (tree, expected, "final");

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    g_assert_cmpuint (facts->kinds[kinds[i].kind], ==, number (expected, kinds[i].name));
  g_assert_cmpuint (count_of (facts), ==, number (expected, "events"));
  g_assert_cmpuint (facts->peak_live, ==, number (expected, "peak_live_requested_bytes"));
  g_assert_cmpint (facts->peak_live_event, ==, (gint64) number (expected, "peak_live_event"));
  g_assert_cmpuint (facts->peak_reserved, ==, number (expected, "peak_reserved_bytes"));
  g_assert_cmpint (facts->peak_reserved_event, ==,
                   (gint64) number (expected, "peak_reserved_event"));
  g_assert_cmpuint (facts->segments, ==, number (final, "segments"));
  g_assert_cmpuint (facts->reserved, ==, number (final, "reserved_bytes"));
  g_assert_cmpuint (facts->live, ==, number (final, "live_blocks"));
  g_assert_cmpuint (facts->requested, ==, number (final, "live_requested_bytes"));
  g_assert_cmpuint (facts->last_time, ==, number (expected, "span_us") * 1000);
}

static void
check_info (const GememTraceInfo *info, guint32 expected)
{
  gboolean empty = test_json_bool (tree, expected, "starts_from_empty_allocator");
  guint32 always = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS
                   | GEMEM_TRACE_HAS_COMPLETION;

  g_assert_cmpuint (info->flags, ==, always | (empty ? 0 : GEMEM_TRACE_STARTS_IN_MIDDLE));
  g_assert_cmpstr (info->format, ==, "pytorch-snapshot");
  g_assert_cmpstr (info->allocator, ==, "pytorch-caching");
  g_assert_true (g_str_has_prefix (info->settings, "version=2.")); /* else default settings */
  g_assert_cmpuint (info->skipped, ==, 0);
}

static void
test_recording (gconstpointer data)
{
  const char *name = data;
  g_autofree char *expected_path = test_shared_path (FOLDER "/expected.json");
  g_autofree char *relative = g_build_filename (FOLDER, name, NULL);
  g_autofree char *path = expected_path != NULL ? test_shared_path (relative) : NULL;
  g_autoptr (GError) error = NULL;
  Facts facts;

  if (path == NULL)
    return;
  tree = test_json_load (expected_path);
  const guint32 file = test_json_member (tree, test_json_member (tree, 0, "snapshots"), name),
                expected = test_json_member (tree, test_json_member (tree, file, "devices"), "0");

  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  check_info (&reader->info, expected);
  read_facts (reader, &facts);
  check_facts (&facts, expected);
  check_initial (&facts, expected);
  g_clear_pointer (&tree, gemem_json_tree_free);
  g_array_unref (facts.tails);
  gemem_trace_close (reader);
}

/* Cut anywhere, plain or compressed, a recording is an error that names the file, and is never
 * read as complete. */
static void
test_truncated (void)
{
  static const struct
  {
    const char *name;
    guint positions;
  } files[] = {
    { "lm-small.pickle", 6278 },
    { "lm-forward-a.pickle", 50 },
    { "lm-training-512.pickle.gz", 40 },
    { "kineto-memory.json.gz", 20 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *relative = g_build_filename (FOLDER, files[i].name, NULL),
                      *path = test_shared_path (relative), *data = NULL;
      gsize size;
      if (path == NULL)
        return;
      g_assert_true (g_file_get_contents (path, &data, &size, NULL));
      for (guint k = 0; k < files[i].positions; k++)
        {
          g_autoptr (GBytes)
              part = g_bytes_new (data, (gsize) ((guint64) size * k / files[i].positions));
          g_autoptr (GError) error = NULL;
          g_assert_null (gemem_trace_open_input (gemem_input_new_from_bytes (part, "cut"), NULL,
                                                 NULL, &error));
          g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
          g_assert_true (g_str_has_prefix (error->message, "cut: ")
                         || g_str_has_prefix (error->message, "cut:"));
          GememReadOptions options = { TRUE, -1 };
          GememTraceReader *reader = gemem_trace_open_input (
              gemem_input_new_from_bytes (part, "cut"), NULL, &options, NULL);
          g_assert_true (reader == NULL || (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0);
          gemem_trace_close (reader);
        }
    }
}

int
main (int argc, char **argv)
{
  static const char *const names[] = { "lm-small.pickle",
                                       "lm-forward-a.pickle",
                                       "lm-forward-backward-a.pickle",
                                       "lm-forward-backward-b.pickle",
                                       "lm-training-512.pickle.gz",
                                       "lm-inference-1024.pickle" };
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *test = g_strdup_printf ("/pytorch-snapshot/recording/%s", names[i]);
      g_test_add_data_func (test, names[i], test_recording);
    }
  g_test_add_func ("/pytorch-snapshot/truncated", test_truncated);
  return g_test_run ();
}
