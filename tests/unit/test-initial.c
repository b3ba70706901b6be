/* test-initial.c - traces without the state from before the recording
 * (GememReadOptions.without_initial): the remainder of each kind of event. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "traces/trace.h"

#define INITIAL \
  "# gemem-trace: 1\n# flags: has-segments,starts-in-middle,has-completion\n# ambiguities: 1\n" \
  "segment-alloc size=4096 addr=0x10000 flags=initial\n" \
  "alloc 1 size=100 addr=0x10000 flags=initial\nalloc 2 size=200 addr=0x10200 flags=initial\n" \
  "free-requested 2 flags=initial\nalloc 3 size=300 addr=0x10400 flags=initial\n"

/* "KIND ID " of each event, then the flags. */
static char *
read_text (const char *text, gboolean without)
{
  const GememReadOptions options = { FALSE, -1, without };
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.txt"),
                                                     "text", &options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      g_string_append_printf (out, "%s %" G_GUINT64_FORMAT " ",
                              gemem_event_kind_name (events[i].kind), events[i].id);
  g_assert_no_error (error);
  g_string_append_printf (out, "| %x, %" G_GUINT64_FORMAT " inferred", reader->info.flags,
                          reader->info.ambiguities);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    g_string_append_printf (out, " | %s", (char *) reader->info.provenance->pdata[i]);
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static void
expect (const char *text, gboolean without, const char *expected)
{
  g_autofree char *got = read_text (text, without);
  g_assert_cmpstr (got, ==, expected);
}

static void
test_events (void)
{
  static const char text[] = INITIAL
      "alloc 4 size=10\nuse-on-stream 1 stream=2\nuse-on-stream 4 stream=2\nstream-free 1 "
      "stream=2\n"
      "memset 3 size=1\nmemset 4 size=1\nfree-completed 2\nfree 1\nfree-requested "
      "3\nfree-requested 4\n"
      "free-completed 3\nfree-completed 4\nsegment-free size=4096 addr=0x10000\n# end: 18\n";

  expect (text, FALSE,
          "segment-alloc 0 alloc 1 alloc 2 free-requested 2 alloc 3 alloc 4 use-on-stream 1 "
          "use-on-stream 4 stream-free 1 memset 3 memset 4 "
          "free-completed 2 free 1 free-requested 3 free-requested 4 free-completed 3 "
          "free-completed 4 segment-free 0 | 54, 1 inferred");
  expect (text, TRUE,
          "alloc 4 use-on-stream 4 memset 4 free-requested 4 free-completed 4 segment-free 0 | 50, "
          "0 inferred | left out: what was there "
          "before the first event");
}

/* An id may be used again after its free, or if its free is missing. */
static void
test_ids (void)
{
  expect (INITIAL "free 1\nalloc 1 size=5\nfree 1\nalloc 3 size=5\nuse-on-stream 3 stream=1\nfree "
                  "3\n# end: 11\n",
          TRUE,
          "alloc 1 free 1 alloc 3 use-on-stream 3 free 3 | 50, 0 inferred | left out: what was "
          "there before the first event");
}

/* A trace from the start of a program is unchanged; a trace of initial state only ends at once. */
static void
test_nothing (void)
{
  expect ("# gemem-trace: 1\nalloc 1 size=5\nfree 1\n# end: 2\n", TRUE,
          "alloc 1 free 1 | 0, 0 inferred");
  expect (INITIAL "# end: 5\n", TRUE,
          "| 50, 0 inferred | left out: what was there before the first event");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/initial/events", test_events);
  g_test_add_func ("/initial/ids", test_ids);
  g_test_add_func ("/initial/nothing", test_nothing);
  return g_test_run ();
}
