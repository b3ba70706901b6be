/* fuzz-reader.c - any bytes through any reader: it may refuse, but not crash, leak, loop, or break
 * the promises of trace.h.
 *
 * The first byte chooses: a letter of `choices`, or any other byte modulo their number; its top bit
 * asks for allow_partial.  The rest is the file, but for journals: of their blocks of 64 KiB it has
 * the beginnings only, the rest of each is 0 (file_of()).  Built by tests/fuzz/long-fuzz-reader.sh
 * with libFuzzer, and into test-fuzz-corpus, which replays the corpus and deterministic mutations
 * of it in `make check`.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/io/input.h"
#include "traces/journal-format.h"
#include "traces/trace.h"

int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);

static const struct
{
  char letter;
  const char *format; /* NULL: recognise */
  gboolean strict;    /* its reader promises everything below */
} choices[] = {
  { 'r', NULL, FALSE },
  { 'p', "pytorch-snapshot", TRUE },
  { 'v', "memory-viz", TRUE },
  { 'k', "kineto", TRUE },
  { 'm', "rmm-csv", TRUE },
  { 'l', "minimalloc-csv", TRUE },
  { 't', "text", FALSE },
  { 'o', "ops", FALSE },
  { 'n', "native", FALSE },
  { 'g', "ge-plan-log", TRUE },
  { 'e', "ge-runtime-log", TRUE },
  { 'd', "paddle-log", TRUE },
  { 'f', "tensorflow-dump", TRUE },
  { 'j', "journal", FALSE },
};

#define JOURNAL_PIECE 1024 /* of each block */

/* The file that an input with @letter stands for: @data as it is, or spread over the blocks of a
 * journal, the last as long as its piece. */
static GBytes *
file_of (char letter, const guint8 *data, size_t size)
{
  size_t blocks = (size + JOURNAL_PIECE - 1) / JOURNAL_PIECE, rest = size % JOURNAL_PIECE;

  if (letter != 'j' || blocks == 0)
    return g_bytes_new (data, size);
  size_t length = (blocks - 1) * JOURNAL_BLOCK + (rest != 0 ? rest : JOURNAL_BLOCK);
  guint8 *file = g_malloc0 (length);
  for (size_t i = 0; i < blocks; i++)
    memcpy (file + i * JOURNAL_BLOCK, data + i * JOURNAL_PIECE,
            MIN (size - i * JOURNAL_PIECE, JOURNAL_PIECE));
  return g_bytes_new_take (file, length);
}

typedef struct
{
  GememIdMap *live, *times; /* ids; device -> last time */
  GememIdMap *sent;         /* ids of events */
  guint64 count;
  gboolean begun; /* past the initial state */
} Watch;

/* What trace.h promises about every event of a strict reader. */
static void
watch_event (Watch *watch, const GememTraceReader *reader, const GememTraceEvent *event)
{
  gboolean existed, initial = (event->flags & GEMEM_EVENT_INITIAL) != 0;

  g_assert_cmpuint (event->tag, <, reader->info.strings->len);
  g_assert_true (event->stack == 0
                 || event->stack <= gemem_call_stacks_count (reader->info.stacks));
  guint64 *time = gemem_idmap_insert (watch->times, event->device, NULL);
  g_assert_cmpuint (event->time, >=, *time);
  *time = event->time;
  g_assert_false (initial && watch->begun);
  watch->begun |= !initial;
  g_assert_true (event->address + event->size >= event->address || event->kind == GEMEM_EVENT_ALLOC
                 || event->kind == GEMEM_EVENT_FREE);
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
read_trace (GememTraceReader *reader, gboolean strict, GError **error)
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
        if (strict)
          watch_event (&watch, reader, &events[i]);
      }
  g_assert_true ((n < 0) == (*error != NULL));
  if (n == 0 && strict && reader->info.events != 0)
    g_assert_cmpuint (watch.count, ==, reader->info.events);
  gemem_idmap_free (watch.live);
  gemem_idmap_free (watch.times);
  gemem_idmap_free (watch.sent);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  guint choice;

  if (size == 0)
    return 0;
  options.allow_partial = (data[0] & 0x80) != 0;
  for (choice = 0; choice < G_N_ELEMENTS (choices); choice++)
    if (choices[choice].letter == (char) (data[0] & 0x7f))
      break;
  if (choice == G_N_ELEMENTS (choices))
    choice = data[0] % G_N_ELEMENTS (choices);
  g_autoptr (GBytes) bytes = file_of (choices[choice].letter, data + 1, size - 1);
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "fuzz"),
                                                     choices[choice].format, &options, &error);
  if (reader != NULL)
    {
      read_trace (reader, choices[choice].strict, &error);
      gemem_trace_close (reader);
    }
  else
    g_assert_nonnull (error);
  if (error != NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_null (strchr (error->message, '\n'));
      if (!g_utf8_validate (error->message, -1, NULL))
        g_error ("not UTF-8 from %s: %s", choices[choice].format, error->message);
      g_assert_true (g_str_has_prefix (error->message, "fuzz:"));
    }
  return 0;
}
