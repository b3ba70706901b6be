/* fuzz-traces.c - every format of traces, and recognition, with what trace.h promises of events; and
 * replays of what was read, by every allocator.
 *
 * A journal has blocks of 64 KiB: of each only the beginning is in the input, the rest is 0 but for the
 * name of a library that recorded requests, and whether there are places (unfold_journal()).  The native format gets its checksums mended after a mutation, so that what
 * lies behind them is reached.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/io/checksum.h"
#include "base/io/input.h"
#include "sim/engine/replay.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/testutil.h"
#include "traces/journal/format.h"
#include "traces/native/format.h"

#define JOURNAL_PIECE 1024  /* of each block */
#define JOURNAL_LIBRARY 960 /* in the first piece: what JournalHeader.library begins with */

/* The first target is recognition, then come the formats; those that can only be written are the last. */
static const char *
format_of (guint member)
{
  return member == 0 ? NULL : gemem_trace_formats ()[member - 1]->name;
}

static const char *
member_name (guint member)
{
  if (member == 0)
    return "any";
  const GememTraceFormat *format = gemem_trace_formats ()[member - 1];

  return format != NULL && format->open != NULL ? format_of (member) : NULL;
}

static gboolean
is_format (guint member, const char *name)
{
  return g_strcmp0 (format_of (member), name) == 0;
}

/* Formats that hold events as they were given to a writer, or as a person wrote them, or as threads
 * raced for them: whether they fit together is found by who replays them. */
static gboolean
is_verbatim (guint member)
{
  return member == 0 || is_format (member, "native") || is_format (member, "text")
         || is_format (member, "ops") || is_format (member, "journal");
}

/* ---- what trace.h promises about every event */

typedef struct
{
  GememIdMap *live, *times; /* ids; device -> last time */
  GememIdMap *sent;         /* ids of events */
  guint64 count;
  gboolean begun; /* past the initial state */
} Watch;

static void
watch_kind (Watch *watch, const GememTraceEvent *event)
{
  gboolean existed;

  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      /* failed ones too: they are freed like the others */
      gemem_idmap_insert (watch->live, event->id, &existed);
      g_assert_false (existed);
      g_assert_cmpuint (event->id, >, 0);
      g_assert_cmpuint (event->size, <, G_GUINT64_CONSTANT (1) << 60);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      g_assert_true (gemem_idmap_remove (watch->live, event->id, NULL));
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
    case GEMEM_EVENT_USE_ON_STREAM:
    case GEMEM_EVENT_STREAM_FREE:
      g_assert_nonnull (gemem_idmap_lookup (watch->live, event->id));
      break;
    case GEMEM_EVENT_EVENT_RECORD:
      gemem_idmap_insert (watch->sent, event->id, NULL);
      break;
    case GEMEM_EVENT_EVENT_WAIT:
      g_assert_nonnull (gemem_idmap_lookup (watch->sent, event->id));
      break;
    case GEMEM_EVENT_GRAPH_LOAD:
    case GEMEM_EVENT_GRAPH_UNLOAD:
    case GEMEM_EVENT_GRAPH_SEGMENT:
      g_assert_cmpuint (event->id, >, 0);
      break;
    case GEMEM_EVENT_STEP:
      break;
    default:
      g_assert_cmpuint (event->id, ==, 0);
    }
}

static void
watch_event (Watch *watch, const GememTraceReader *reader, const GememTraceEvent *event)
{
  const gboolean initial = (event->flags & GEMEM_EVENT_INITIAL) != 0;
  guint64 *time = gemem_idmap_insert (watch->times, event->device, NULL);

  g_assert_cmpuint (event->tag, <, reader->info.strings->len);
  g_assert_true (event->stack == 0
                 || event->stack <= gemem_call_stacks_count (reader->info.stacks));
  g_assert_cmpuint (event->time, >=, *time);
  *time = event->time;
  g_assert_false (initial && watch->begun);
  watch->begun |= !initial;
  g_assert_true (event->address + event->size >= event->address || event->kind == GEMEM_EVENT_ALLOC
                 || event->kind == GEMEM_EVENT_FREE);
  watch_kind (watch, event);
}

static void
read_events (GememTraceReader *reader, gboolean verbatim, GError **error)
{
  Watch watch = { gemem_idmap_new (0), gemem_idmap_new (sizeof (guint64)), gemem_idmap_new (0), 0,
                  FALSE };
  const GememTraceEvent *events;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n; i++, watch.count++)
      {
        g_assert_cmpint (events[i].kind, >, 0);
        g_assert_cmpint (events[i].kind, <, GEMEM_EVENT_KIND_COUNT);
        if (!verbatim)
          watch_event (&watch, reader, &events[i]);
      }
  g_assert_true ((n < 0) == (*error != NULL));
  if (n == 0 && !verbatim && reader->info.events != 0)
    g_assert_cmpuint (watch.count, ==, reader->info.events);
  gemem_idmap_free (watch.live);
  gemem_idmap_free (watch.times);
  gemem_idmap_free (watch.sent);
}

/* ---- one input */

/* The pieces in @data spread over the blocks of a journal, the last as long as its piece. */
static GBytes *
unfold_journal (const guint8 *data, gsize size)
{
  gsize blocks = (size + JOURNAL_PIECE - 1) / JOURNAL_PIECE, rest = size % JOURNAL_PIECE;

  if (blocks == 0)
    return g_bytes_new (data, size);
  gsize length = (blocks - 1) * JOURNAL_BLOCK + (rest != 0 ? rest : JOURNAL_BLOCK);
  guint8 *file = g_malloc0 (length);
  for (gsize i = 0; i < blocks; i++)
    memcpy (file + i * JOURNAL_BLOCK, data + i * JOURNAL_PIECE,
            MIN (size - i * JOURNAL_PIECE, JOURNAL_PIECE));
  if (blocks > 1)
    memcpy (file + G_STRUCT_OFFSET (JournalHeader, library), data + JOURNAL_LIBRARY,
            JOURNAL_PIECE - JOURNAL_LIBRARY - 1);
  if (blocks > 1)
    file[G_STRUCT_OFFSET (JournalHeader, places)] = data[JOURNAL_PIECE - 1];
  return g_bytes_new_take (file, length);
}

static gboolean
read_as (guint member, GBytes *bytes, gboolean partial)
{
  GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  GError *error = NULL;

  options.allow_partial = partial;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "fuzz"),
                                                     format_of (member), &options, &error);
  if (reader != NULL)
    {
      read_events (reader, is_verbatim (member), &error);
      gemem_trace_close (reader);
    }
  else
    g_assert_nonnull (error);
  if (error == NULL)
    return TRUE;
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_true (g_str_has_prefix (error->message, "fuzz:"));
  return fuzz_refused (error);
}

static gboolean
run_trace (guint member, const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = is_format (member, "journal") ? unfold_journal (data, size)
                                                           : g_bytes_new_static (data, size);

  if (read_as (member, bytes, FALSE))
    return TRUE;
  read_as (member, bytes, TRUE);
  return FALSE;
}

/* ---- seeds: every kind of event, as our writers write it */

static void
describe (GememTraceInfo *info)
{
  gemem_trace_info_init (info, "fuzz", "fuzz");
  info->flags = GEMEM_TRACE_HAS_SLEEP | GEMEM_TRACE_HAS_SETTINGS | GEMEM_TRACE_HAS_ORDER
                | GEMEM_TRACE_HAS_TIME;
  info->allocator = g_strdup ("pytorch-caching");
  info->settings = g_strdup ("expandable_segments=yes");
  info->device = g_strdup ("capacity=1GiB");
  gemem_trace_info_intern (info, "w");
}

static void
write_events (const char *path, const char *format, guint first)
{
  GememTraceInfo info;
  g_autoptr (GError) error = NULL;

  describe (&info);
  GememTraceWriter *writer = gemem_trace_create (path, format, &info, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2u * GEMEM_EVENT_KIND_COUNT; i++)
    {
      GememTraceEvent event = { .kind = 1 + (first + i) % (GEMEM_EVENT_KIND_COUNT - 1) };
      event.time = i;
      event.id = i / 3;
      event.size = event.kind == GEMEM_EVENT_ALLOC ? 512 * i : 0;
      event.tag = i % 2;
      event.address = (guint64) (i + 1) << 30; /* which a snapshot needs */
      g_assert_true (writer->write (writer, &event, 1, &error));
    }
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_info_clear (&info);
}

/* Blocks one after another, and frees. */
static void
write_requests (const char *path, const char *format)
{
  GememTraceInfo info;
  g_autoptr (GError) error = NULL;

  describe (&info);
  info.flags &= ~(guint32) (GEMEM_TRACE_HAS_SLEEP | GEMEM_TRACE_HAS_SETTINGS
                            | GEMEM_TRACE_HAS_ORDER);
  GememTraceWriter *writer = gemem_trace_create (path, format, &info, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 40; i++)
    {
      const gboolean frees = i % 3 == 2;
      GememTraceEvent event = { .kind = frees ? GEMEM_EVENT_FREE : GEMEM_EVENT_ALLOC,
                                .id = frees ? i : i + 1,
                                .size = frees ? 0 : (guint64) 512 << i % 20,
                                .stream = i % 5 / 4,
                                .address = (guint64) (i + 1) << 30,
                                .time = 10 * i };
      g_assert_true (writer->write (writer, &event, 1, &error));
    }
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_info_clear (&info);
}

static void
add_file (GPtrArray *seeds, const char *path)
{
  char *data;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_ptr_array_add (seeds, g_bytes_new_take (data, size));
}

static void
trace_seeds (guint member, GPtrArray *seeds)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "seed", NULL);

  const GememTraceFormat *format = member > 0 ? gemem_trace_formats ()[member - 1] : NULL;

  if (format == NULL || format->create == NULL || format->open == NULL)
    return;
  write_events (path, format_of (member), 0);
  add_file (seeds, path);
  write_requests (path, format_of (member));
  add_file (seeds, path);
}

/* ---- checksums of the native format */

/* Writes the footer at @place anew for the blocks before it. */
static void
repair_footer (guint8 *data, gsize place, guint32 stored, guint64 total, const GArray *index)
{
  guint8 *payload = data + place + NATIVE_BLOCK_HEADER_SIZE;

  if (stored < NATIVE_FOOTER_SIZE || index->len == 0)
    return;
  native_put64 (payload + 16, total);
  memcpy (payload + NATIVE_FOOTER_SIZE, index->data,
          MIN (stored - NATIVE_FOOTER_SIZE, index->len * NATIVE_INDEX_ENTRY_SIZE));
}

/* Of eight inputs one keeps what a mutation broke, two have checksums that match and an index that
 * may not, five are consistent. */
static void
repair_trace (guint member, guint8 *data, gsize size, guint seed)
{
  g_autoptr (GArray) index = g_array_new (FALSE, FALSE, NATIVE_INDEX_ENTRY_SIZE);
  guint64 total = 0;

  if (!is_format (member, "native") || size < NATIVE_HEADER_SIZE || seed % 8 == 0)
    return;
  native_put64 (data + 16, gemem_checksum (data, 16, 0));
  for (gsize place = NATIVE_HEADER_SIZE; size - place >= NATIVE_BLOCK_HEADER_SIZE;)
    {
      guint8 *block = data + place, chain[8], entry[NATIVE_INDEX_ENTRY_SIZE];
      const guint32 stored = native_get32 (block + 4);

      if (stored > size - place - NATIVE_BLOCK_HEADER_SIZE)
        break;
      if (native_get32 (block) == NATIVE_FOOTER && seed % 8 > 2)
        {
          repair_footer (data, place, stored, total, index);
          if (size >= NATIVE_TRAILER_SIZE)
            native_put64 (data + size - NATIVE_TRAILER_SIZE, place);
        }
      native_put64 (block + 24, gemem_checksum (block + NATIVE_BLOCK_HEADER_SIZE, stored,
                                                gemem_checksum (block, 24, 0)));
      memcpy (chain, block + 24, 8);
      total = gemem_checksum (chain, 8, total);
      native_put64 (entry, place);
      memcpy (entry + 8, block, 4);
      memcpy (entry + 12, block + 8, 4);
      memcpy (entry + 16, block + 16, 8);
      g_array_append_vals (index, entry, 1);
      place += NATIVE_BLOCK_HEADER_SIZE + (gsize) stored;
    }
}

const FuzzKind fuzz_trace = { "trace", member_name, run_trace, trace_seeds, repair_trace };

/* ---- replays: a trace through an allocator */

static const char *
replay_name (guint member)
{
  return member == 0 ? "trace" : NULL;
}

static GememTraceReader *
open_bytes (gpointer bytes, GError **error)
{
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "fuzz"), NULL, NULL, error);
}

/* The first byte chooses the allocator, the rest is a trace in any format. */
static gboolean
run_replay (guint member, const guint8 *data, gsize size)
{
  const GememAllocatorClass *const *classes = gemem_allocator_classes ();
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GError *error = NULL;

  if (size == 0)
    return FALSE;
  g_autoptr (GBytes) bytes = g_bytes_new_static (data + 1, size - 1);
  g_assert_true (gemem_allocator_spec_parse (
      classes[data[0] % g_strv_length ((char **) classes)]->name, specs, NULL));
  GememJob job = { .allocator = specs->pdata[0],
                   .device_spec = "sim:capacity=1GiB",
                   .device_ordinal = -1,
                   .source = open_bytes,
                   .source_data = bytes,
                   .use_trace_settings = TRUE,
                   .allow_partial = TRUE,
                   .timeline_points = 10,
                   .keep_map = TRUE,
                   .keep_origins = TRUE,
                   .keep_report = TRUE,
                   .full_checks = TRUE };
  GememResult *result = gemem_job_run (&job, &error);
  if (result == NULL)
    return fuzz_refused (error);
  gemem_result_free (result);
  return TRUE;
}

static void
replay_seeds (guint member, GPtrArray *seeds)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "seed", NULL);

  for (guint i = 0; gemem_allocator_classes ()[i] != NULL; i++)
    {
      char *text, *seed;
      gsize size;

      if (i % 2 == 0)
        write_events (path, "text", i);
      else
        write_requests (path, "text");
      g_assert_true (g_file_get_contents (path, &text, &size, NULL));
      seed = g_malloc (size + 1);
      seed[0] = (char) i;
      memcpy (seed + 1, text, size);
      g_ptr_array_add (seeds, g_bytes_new_take (seed, size + 1));
      g_free (text);
    }
}

const FuzzKind fuzz_replay = { "replay", replay_name, run_replay, replay_seeds, NULL };
