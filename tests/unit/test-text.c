/* test-text.c - the text twin keeps everything in both directions, and names the line of an
 * error (traces/text*.c). */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"

#define HEAD "# gemem-trace: 1\n"

static GememTraceReader *
open_text (const char *text, gsize size, gboolean partial, GError **error)
{
  GememReadOptions options = { partial, -1 };
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "t.txt"), NULL, &options,
                                 error);
}

/* Writes the trace @text in @format; returns the file's bytes. */
static GBytes *
convert (GBytes *source, const char *format)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "converted", NULL);
  GError *error = NULL;
  const GememTraceEvent *batch;
  char *data;
  gsize size;
  gssize n;

  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (source, "s"), NULL,
                                                     NULL, &error);
  g_assert_no_error (error);
  GememTraceWriter *writer = gemem_trace_create (path, format, &reader->info, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &batch, &error)) > 0)
    g_assert_true (writer->write (writer, batch, (gsize) n, &error));
  g_assert_no_error (error);
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_close (reader);
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_remove (path);
  return g_bytes_new_take (data, size);
}

/* Every kind and field, by hand: the expected text, and what is read from it. */
static const char sample[] = HEAD
    "## A gemem trace as text, loss-free both ways (doc/trace-formats.md). One event a line: KIND "
    "[ID] [KEY=VALUE]...; what is 0 is left out.\n"
    "## size, block (as rounded by the recorded allocator), free: bytes; addr, stream, pool: as "
    "recorded; t: ns since the start.\n"
    "# flags: has-time,has-addresses,0x80000000\n"
    "# ambiguities: 2\n"
    "# skipped: 18446744073709551615\n"
    "# sha256: \"e3b0\"\n"
    "# allocator: \"pytorch-caching\"\n"
    "# settings: \"max_split_size_mb=200\"\n"
    "# device: \"capacity=80GiB\"\n"
    "# provenance: \"format: pytorch-snapshot\"\n"
    "# provenance: \"tool: a \\\"b\\\" \\\\ c\\nd\"\n"
    "segment-alloc size=2097152 addr=0x7f0000000000 flags=initial,small\n"
    "alloc 17 size=1000 block=1024 addr=0x7f0000000000 stream=0x55d000000010 pool=1 t=5 "
    "flags=ambiguous,0x80 tag=\"conv \\\"1\\\"\\t\\x01 \xc3\xa4\"\n"
    "alloc 18446744073709551615 size=18446744073709551615 block=18446744073709551615 "
    "addr=0xffffffffffffffff stream=0xffffffffffffffff "
    "pool=4294967295 device=host t=18446744073709551615 flags=initial,ambiguous,small,failed,0xf0 "
    "tag=\"x\"\n"
    "free 17 t=6\n"
    "free-requested 18 device=3\n"
    "free-completed 18 device=3\n"
    "use-on-stream 17 stream=4294967295\n"
    "stream-sync stream=7\n"
    "event-record 1 stream=7\n"
    "event-wait 1\n"
    "device-sync\n"
    "graph-load 9 size=100\n"
    "graph-run 9\n"
    "graph-unload 9\n"
    "step 3\n"
    "phase tag=\"backward\"\n"
    "trim\n"
    "oom size=512 free=100\n"
    "segment-free size=5 aux=6 addr=0x1\n"
    "segment-map size=5 addr=0x1\n"
    "segment-unmap size=5 addr=0x1\n"
    "snapshot size=5\n"
    "memset 17 size=4 stream=7\n"
    "graph-segment 9 size=50 aux=1 addr=0x40\n"
    "graph-run-end 9 stream=7\n"
    "stream-free 17 stream=7\n"
    "# end: 26\n";

static void
test_fields (void)
{
  GError *error = NULL;
  GememTraceReader *reader = open_text (sample, sizeof sample - 1, FALSE, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "text");
  g_assert_cmphex (reader->info.flags, ==,
                   GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | 0x80000000u);
  g_assert_cmpuint (reader->info.ambiguities, ==, 2);
  g_assert_cmpuint (reader->info.skipped, ==, G_MAXUINT64);
  g_assert_cmpstr (reader->info.sha256, ==, "e3b0");
  g_assert_cmpstr (reader->info.allocator, ==, "pytorch-caching");
  g_assert_cmpstr (reader->info.settings, ==, "max_split_size_mb=200");
  g_assert_cmpstr (reader->info.device, ==, "capacity=80GiB");
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 1), ==, "tool: a \"b\" \\ c\nd");
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (events->len, ==, 26);
  GememTraceEvent expected = { .kind = GEMEM_EVENT_ALLOC,
                               .id = 17,
                               .size = 1000,
                               .aux = 1024,
                               .address = G_GUINT64_CONSTANT (0x7f0000000000),
                               .stream = G_GUINT64_CONSTANT (0x55d000000010),
                               .pool = 1,
                               .time = 5,
                               .flags = GEMEM_EVENT_AMBIGUOUS | 0x80,
                               .tag = 1 };
  g_assert_cmpmem (&g_array_index (events, GememTraceEvent, 1), sizeof expected, &expected,
                   sizeof expected);
  g_assert_cmpstr (g_ptr_array_index (reader->info.strings, 1), ==, "conv \"1\"\t\x01 \xc3\xa4");
  expected = (GememTraceEvent){ G_MAXUINT64, G_MAXUINT64,       G_MAXUINT64, G_MAXUINT64,
                                G_MAXUINT64, G_MAXUINT64,       G_MAXUINT32, 2,
                                G_MAXUINT16, GEMEM_EVENT_ALLOC, 0xff,        0 };
  g_assert_cmpmem (&g_array_index (events, GememTraceEvent, 2), sizeof expected, &expected,
                   sizeof expected);
  expected = (GememTraceEvent){ .kind = GEMEM_EVENT_OOM, .size = 512, .aux = 100 };
  g_assert_cmpmem (&g_array_index (events, GememTraceEvent, 17), sizeof expected, &expected,
                   sizeof expected);
  gemem_trace_close (reader);
}

/* text -> native -> text and text -> text give the same bytes. */
static void
test_round_trip (void)
{
  g_autoptr (GBytes) text = g_bytes_new_static (sample, sizeof sample - 1);
  g_autoptr (GBytes) same = convert (text, "text");
  g_autoptr (GBytes) native = convert (text, "native");
  g_autoptr (GBytes) back = convert (native, "text");
  g_autoptr (GBytes) native_again = convert (back, "native");

  g_assert_cmpmem (g_bytes_get_data (same, NULL), g_bytes_get_size (same), sample,
                   sizeof sample - 1);
  g_assert_cmpmem (g_bytes_get_data (back, NULL), g_bytes_get_size (back), sample,
                   sizeof sample - 1);
  g_assert_true (g_bytes_equal (native, native_again));
}

/* Random events of every kind and size of number: native -> text -> native gives the same bytes. */
static void
test_random_round_trip (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "random.gmt", NULL);
  GememTraceInfo info;
  GememRng rng;
  GError *error = NULL;
  char *data;
  gsize size;

  gemem_trace_info_init (&info, "random", "x");
  info.flags = GEMEM_TRACE_HAS_SLEEP | GEMEM_TRACE_HAS_SETTINGS
               | GEMEM_TRACE_HAS_ORDER; /* all kinds */
  gemem_rng_init (&rng, 9, "text");
  GememTraceWriter *writer = gemem_trace_create (path, NULL, &info, &error);
  for (guint i = 0; i < 20000; i++)
    {
      char raw[9] = { 0 };
      for (guint k = 0; k < 8; k++)
        raw[k] = (char) gemem_rng_below (&rng, 256); /* a NUL ends it earlier */
      guint64 wide[7];
      for (guint k = 0; k < G_N_ELEMENTS (wide); k++)
        {
          wide[k] = gemem_rng_next (&rng);
          wide[k] >>= gemem_rng_below (&rng, 64);
        }
      const guint16 device = (guint16) gemem_rng_below (&rng, 65536);
      const guint8 kind = (guint8) (1 + gemem_rng_below (&rng, GEMEM_EVENT_KIND_COUNT - 1)),
                   flags = (guint8) gemem_rng_below (&rng, 256);
      GememTraceEvent event = { wide[0],
                                wide[1],
                                wide[2],
                                wide[3],
                                wide[4],
                                wide[5],
                                (guint32) wide[6],
                                gemem_trace_info_intern (&info, raw),
                                device,
                                kind,
                                flags,
                                0 };
      g_assert_true (writer->write (writer, &event, 1, &error));
    }
  g_assert_true (writer->finish (writer, &error));
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_autoptr (GBytes) native = g_bytes_new_take (data, size);
  g_autoptr (GBytes) text = convert (native, "text");
  g_autoptr (GBytes) back = convert (text, "native");
  g_assert_true (g_bytes_equal (native, back));
  gemem_trace_info_clear (&info);
}

/* Facts known only at the end are written at the end and replace those at the beginning. */
static void
test_late_information (void)
{
  static const char text[] = HEAD
      "# flags: has-time\n# provenance: \"a: b\"\n# allocator: \"x\"\nalloc 1 size=2\n# flags: "
      "has-addresses\n# ambiguities: 4\n# end: 1\n";
  GError *error = NULL;
  GememTraceReader *reader = open_text (text, sizeof text - 1, FALSE, &error);
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_HAS_TIME);
  g_autoptr (GArray) events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (events->len, ==, 1);
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_HAS_ADDRESSES);
  g_assert_cmpuint (reader->info.ambiguities, ==, 4);
  g_assert_cmpuint (reader->info.provenance->len, ==, 0);
  g_assert_null (reader->info.allocator);
  g_assert_cmpuint (reader->info.events, ==, 1);
  gemem_trace_close (reader);
}

static void
assert_refused (const char *lines, guint before, const char *message)
{
  g_autofree char *text = g_strconcat (HEAD, lines, NULL);

  test_assert_text_refused (text, "t.txt", NULL, before, message);
}

#define NO_SIZE \
  "is not a number of bytes from 0 to 2^64-1, with a unit or without (4096, 100MiB); correct the " \
  "line"

/* Bytes as people write them; the writer writes them plainly. */
static void
test_units (void)
{
  static const char units[] = HEAD "alloc 1 size=100MiB block=128M addr=2MiB\n"
                                   "alloc 2 size=1.5GiB\noom 3 size=0x10 free=3kB\n# end: 3\n";
  static const char plain[] = HEAD "alloc 1 size=104857600 block=134217728 addr=0x200000\n"
                                   "alloc 2 size=1610612736\noom 3 size=16 free=3000\n# end: 3\n";
  g_autoptr (GBytes) source = g_bytes_new_static (units, sizeof units - 1);
  g_autoptr (GBytes) native = convert (source, "native");
  g_autoptr (GBytes) text = convert (native, "text");
  g_autofree char *written = g_strndup (g_bytes_get_data (text, NULL), g_bytes_get_size (text));

  g_assert_nonnull (strstr (written, strchr (plain, '\n')));
}

static void
test_refused (void)
{
  assert_refused ("alloc 1 size=5\nalloc 2 size=-5\n", 1, "t.txt:3: '-5' " NO_SIZE);
  assert_refused ("malloc 1 size=5\n", 0,
                  "t.txt:2: 'malloc' is no kind of event; see doc/trace-formats.md");
  assert_refused ("alloc 1 sise=5\n", 0,
                  "t.txt:2: 'sise=5' is no field of an event; see doc/trace-formats.md");
  assert_refused ("alloc 1 size=5 size=6\n", 0,
                  "t.txt:2: 'size=6' gives a field a second time; correct the line");
  assert_refused ("alloc 1 free=5 block=6\n", 0,
                  "t.txt:2: 'block=6' gives a field a second time; correct the line");
  assert_refused ("alloc 1 size=18446744073709551616\n", 0,
                  "t.txt:2: '18446744073709551616' " NO_SIZE);
  assert_refused ("alloc 1 size=100MiBs\n", 0, "t.txt:2: '100MiBs' " NO_SIZE);
  assert_refused ("alloc 1 size=1.5\n", 0, "t.txt:2: '1.5' " NO_SIZE);
  assert_refused ("alloc 1 size=unlimited\n", 0, "t.txt:2: 'unlimited' " NO_SIZE);
  assert_refused ("alloc 1 size=16EiB\n", 0, "t.txt:2: '16EiB' " NO_SIZE);
  assert_refused ("alloc 1 block=17179869184GiB\n", 0, "t.txt:2: '17179869184GiB' " NO_SIZE);
  assert_refused ("alloc 1 size= t=1\n", 0, "t.txt:2: '' " NO_SIZE);
  /* only bytes have units */
  assert_refused ("alloc 1 stream=1KiB\n", 0,
                  "t.txt:2: '1KiB' is not a number from 0 to 2^64-1; correct the line");
  assert_refused ("graph-run 1 aux=1KiB\n", 0,
                  "t.txt:2: '1KiB' is not a number from 0 to 2^64-1; correct the line");
  assert_refused (
      "alloc 99999999999999999999\n", 0,
      "t.txt:2: '99999999999999999999' is not an id from 0 to 2^64-1; correct the line");
  assert_refused ("alloc 1 pool=4294967296\n", 0,
                  "t.txt:2: 4294967296 is too large for its field, which holds up to 4294967295; "
                  "correct the line");
  assert_refused (
      "alloc 1 device=65536\n", 0,
      "t.txt:2: 65536 is too large for its field, which holds up to 65535; correct the line");
  assert_refused ("alloc 1 flags=initial,tiny\n", 0,
                  "t.txt:2: 'tiny' is no flag; see doc/trace-formats.md");
  assert_refused ("alloc 1 flags=0x100\n", 0,
                  "t.txt:2: '0x100' has more flags than an event can; correct the line");
  assert_refused ("alloc 1 tag=x\n", 0, "t.txt:2: 'x' must be a string in double quotes; quote it");
  assert_refused ("alloc 1 tag=\"x\n", 0,
                  "t.txt:2: '\\\"x' has no closing quote; complete the line");
  assert_refused (
      "alloc 1 tag=\"\\q\"\n", 0,
      "t.txt:2: '\\\"\\\\q\\\"' contains an unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH");
  assert_refused (
      "alloc 1 tag=\"\\x00\"\n", 0,
      "t.txt:2: '\\\"\\\\x00\\\"' contains an unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH");
  assert_refused ("alloc 1 tag=\"x\"size=5\n", 0,
                  "t.txt:2: 'size=5' follows a value without a space; correct the line");
  assert_refused ("# color: blue\n", 0,
                  "t.txt:2: 'color' is no known information; write a comment with ##");
  assert_refused ("# a remark\n", 0,
                  "t.txt:2: 'a remark' is not KEY: VALUE; write a comment with ##");
  assert_refused ("# flags: has-time more\n", 0,
                  "t.txt:2: ' more' follows the value; correct the line");
  assert_refused ("free 1\n# end: 2\n", 1,
                  "t.txt:3: the last line counts other events than the 1 before it; a part is "
                  "missing, fetch the file again, or correct the number of a trace that you wrote "
                  "by hand");
  assert_refused ("free 1\n# end: 1\nfree 2\n", 1,
                  "t.txt:4: a line follows the last one ('# end'); remove it");
  assert_refused (
      "free 1\n", 1,
      "t.txt:2: the last line '# end: 1' (the number of events) is missing: if the file "
      "was cut off, fetch it again, or read what is there with --allow-partial; if you "
      "wrote it by hand, add that line");
}

static void
test_first_line (void)
{
  static const char future[] = "# gemem-trace: 6\n# end: 0\n", strange[] = "# gemem-trace: x\n";
  GError *error = NULL;

  g_assert_null (open_text (future, sizeof future - 1, FALSE, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==,
                   "t.txt:1: version 6 of the text format, and this gemem knows versions up to 5; "
                   "use a newer gemem");
  g_clear_error (&error);
  g_assert_null (open_text (strange, sizeof strange - 1, FALSE, &error));
  g_assert_cmpstr (error->message, ==, "t.txt:1: 'x' is no version; correct the line");
  g_clear_error (&error);
}

/* A file cut anywhere is refused; the events delivered are the first ones of the whole. */
static void
test_truncated (void)
{
  GError *error = NULL;
  for (gsize size = 0; size < sizeof sample - 2; size++) /* without the last LF it is still whole */
    {
      GememTraceReader *reader = open_text (sample, size, FALSE, &error);
      if (reader != NULL)
        g_array_unref (test_read_all (reader, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_clear_error (&error);
      gemem_trace_close (reader);
    }
}

/* Random damage never causes more than an error (run under ASan). */
static void
test_noise (void)
{
  GememRng rng;
  gemem_rng_init (&rng, 10, "noise");
  for (guint round = 0; round < 5000; round++)
    {
      g_autofree char *copy = g_memdup2 (sample, sizeof sample - 1);
      GError *error = NULL;
      for (guint i = 0; i < 5; i++)
        {
          const gsize at = sizeof HEAD + gemem_rng_below (&rng, sizeof sample - 1 - sizeof HEAD);
          copy[at] = (char) gemem_rng_next (&rng);
        }
      GememTraceReader *reader = open_text (copy, sizeof sample - 1, FALSE, &error);
      g_assert_no_error (error);
      g_autoptr (GArray) events = test_read_all (reader, &error);
      g_assert_true (error == NULL ? events->len <= 26 : error->code == GEMEM_ERROR_INPUT);
      g_clear_error (&error);
      gemem_trace_close (reader);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/text/fields", test_fields);
  g_test_add_func ("/text/round-trip", test_round_trip);
  g_test_add_func ("/text/random-round-trip", test_random_round_trip);
  g_test_add_func ("/text/late-information", test_late_information);
  g_test_add_func ("/text/units", test_units);
  g_test_add_func ("/text/refused", test_refused);
  g_test_add_func ("/text/first-line", test_first_line);
  g_test_add_func ("/text/truncated", test_truncated);
  g_test_add_func ("/text/noise", test_noise);
  return g_test_run ();
}
