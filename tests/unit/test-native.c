/* test-native.c - the native format keeps every field, reports every damage, and finds any event
 * (traces/native*.c). */
#include "config.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/io/checksum.h"
#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "traces/native/format.h"
#include "traces/native/native.h"

static GememTraceEvent
event_at (const GArray *events, guint i)
{
  return g_array_index (events, GememTraceEvent, i);
}

#define EXTREME_EVENTS (3 * (GEMEM_EVENT_KIND_COUNT - 1))

/* One event of each kind with every field at an extreme, and one with every field 0. */
static GArray *
extreme_events (GememTraceInfo *info)
{
  GArray *events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));
  guint32 tags[] = {
    0, gemem_trace_info_intern (info, "a \"tag\"\nwith\tall \\ kinds \x01 of \xc3\xa4"),
    gemem_trace_info_intern (info, "second")
  };

  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    for (guint variant = 0; variant < 3; variant++)
      {
        GememTraceEvent event = { .kind = (guint8) kind };
        if (variant == 1)
          event = (GememTraceEvent){ G_MAXUINT64, G_MAXUINT64,   G_MAXUINT64, G_MAXUINT64,
                                     G_MAXUINT64, G_MAXUINT64,   G_MAXUINT32, tags[1],
                                     G_MAXUINT16, (guint8) kind, 0xff,        0 };
        else if (variant == 2)
          event = (GememTraceEvent){ kind,
                                     kind * 1000,
                                     (guint64) 1 << 3 * (kind % 21),
                                     0x7f0000000000 + kind,
                                     1,
                                     512,
                                     kind,
                                     tags[2],
                                     1,
                                     (guint8) kind,
                                     GEMEM_EVENT_INITIAL,
                                     0 };
        g_array_append_val (events, event);
      }
  return events;
}

static void
fill_info (GememTraceInfo *info)
{
  gemem_trace_info_init (info, "pytorch-snapshot", "source.pickle");
  info->flags = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_STARTS_IN_MIDDLE | GEMEM_TRACE_HAS_SLEEP
                | GEMEM_TRACE_HAS_SETTINGS | GEMEM_TRACE_HAS_ORDER;
  info->ambiguities = 7;
  info->skipped = G_MAXUINT64;
  info->sha256 = g_strdup ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  info->allocator = g_strdup ("pytorch-caching");
  info->settings = g_strdup ("max_split_size_mb=200,roundup_power2_divisions=4");
  info->device = g_strdup ("capacity=80GiB,address=bump");
  gemem_trace_info_note (info, "tool", "recorder %d", 3);
  gemem_trace_info_note (info, "note", "two\nlines");
}

static GBytes *
write_events (const GArray *events, const GememTraceInfo *info, guint32 chunk_events)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "out.gmt", NULL);
  GError *error = NULL;
  char *data;
  gsize size;

  GememTraceWriter *writer = gemem_native_create (path, info, chunk_events, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < events->len;) /* in uneven portions */
    {
      guint n = MIN (1 + i % 5, events->len - i);
      g_assert_true (
          writer->write (writer, &g_array_index (events, GememTraceEvent, i), n, &error));
      i += n;
    }
  g_assert_true (writer->finish (writer, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (path, &data, &size, &error));
  g_remove (path);
  return g_bytes_new_take (data, size);
}

static GememTraceReader *
open_bytes (GBytes *bytes, const GememReadOptions *options, GError **error)
{
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "t.gmt"), "native", options,
                                 error);
}

static void
assert_same_event (const GememTraceEvent *a, const char *tag, const GememTraceEvent *b,
                   const GememTraceInfo *b_info)
{
  GememTraceEvent x = *a, y = *b;
  g_assert_cmpstr (tag, ==, g_ptr_array_index (b_info->strings, y.tag));
  x.tag = y.tag = 0;
  g_assert_cmpmem (&x, sizeof x, &y, sizeof y);
}

/* Reads on and compares with @events from number @from; returns the number read, sets @error. */
static guint
compare_rest (GememTraceReader *reader, const GArray *events, const GememTraceInfo *info,
              guint from, GError **error)
{
  const GememTraceEvent *batch;
  gssize n;
  while ((n = gemem_trace_next (reader, &batch, error)) > 0)
    {
      g_assert_cmpuint (from + (guint) n, <=, events->len);
      for (gssize i = 0; i < n; i++, from++)
        {
          GememTraceEvent event = event_at (events, from);
          assert_same_event (&event, g_ptr_array_index (info->strings, event.tag), &batch[i],
                             &reader->info);
        }
    }
  return from;
}

static void
assert_round_trip (const GArray *events, const GememTraceInfo *info, guint32 chunk_events)
{
  g_autoptr (GBytes) bytes = write_events (events, info, chunk_events);
  g_autoptr (GBytes) again = write_events (events, info, chunk_events);
  GError *error = NULL;

  g_assert_true (g_bytes_equal (bytes, again));
  GememTraceReader *reader = open_bytes (bytes, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (reader->info.events, ==, events->len);
  g_assert_cmpuint (compare_rest (reader, events, info, 0, &error), ==, events->len);
  g_assert_no_error (error);
  gemem_trace_close (reader);
}

static void
test_checksum (void)
{
  g_assert_cmphex (gemem_checksum ("", 0, 0), ==, G_GUINT64_CONSTANT (0xef46db3751d8e999));
  g_assert_cmphex (gemem_checksum ("a", 1, 0), ==, G_GUINT64_CONSTANT (0xd24ec4f1a98c6e5b));
  g_assert_cmphex (gemem_checksum ("abc", 3, 0), ==, G_GUINT64_CONSTANT (0x44bc2cf5ad770999));
  g_assert_cmphex (gemem_checksum ("Nobody inspects the spammish repetition", 39, 0), ==,
                   G_GUINT64_CONSTANT (0xfbcea83c8a378bf1));
}

static void
test_fields (void)
{
  static const guint32 sizes[] = { 1, 2, 7, 16, 65536 };
  GememTraceInfo info;

  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  g_assert_cmpuint (events->len, ==, EXTREME_EVENTS);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    assert_round_trip (events, &info, sizes[i]);
  gemem_trace_info_clear (&info);
}

static void
test_empty (void)
{
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));
  GememTraceInfo info;
  gemem_trace_info_init (&info, "ops", "x");
  assert_round_trip (events, &info, 65536);
  gemem_trace_info_clear (&info);
}

/* Every coding and width, over several chunks of full size. */
static void
test_columns (void)
{
  GememTraceInfo info;
  GememRng rng;
  gemem_trace_info_init (&info, "random", "x");
  gemem_rng_init (&rng, 5, "columns");
  for (guint bits = 0; bits <= 64; bits += 4)
    {
      g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));
      guint64 mask = bits == 0 ? 0 : G_MAXUINT64 >> (64 - bits), walk = 1000;
      for (guint i = 0; i < (bits % 16 == 0 ? 150000 : 3000); i++)
        {
          walk += (gemem_rng_next (&rng) & mask) - mask / 2;
          GememTraceEvent event = { .time = i * 3, .id = i, .address = walk };
          event.size = gemem_rng_next (&rng) & mask;
          event.stream = (gemem_rng_below (&rng, 256)) << 40;
          event.aux = gemem_rng_below (&rng, 257) << 20;
          event.pool = (guint32) (gemem_rng_next (&rng) & mask);
          event.device = (guint16) (gemem_rng_next (&rng) & mask);
          event.kind = (guint8) (1 + gemem_rng_below (&rng, 1 + bits % 3));
          event.flags = (guint8) (gemem_rng_next (&rng) & mask);
          g_array_append_val (events, event);
        }
      assert_round_trip (events, &info, NATIVE_CHUNK_EVENTS);
    }
  gemem_trace_info_clear (&info);
}

static void
assert_info (const GememTraceInfo *info)
{
  g_assert_cmphex (info->flags, ==,
                   GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_STARTS_IN_MIDDLE | GEMEM_TRACE_HAS_SEGMENTS
                       | GEMEM_TRACE_HAS_SLEEP | GEMEM_TRACE_HAS_SETTINGS | GEMEM_TRACE_HAS_ORDER);
  g_assert_cmpuint (info->ambiguities, ==, 8);
  g_assert_cmpuint (info->skipped, ==, G_MAXUINT64);
  g_assert_cmpstr (info->sha256, ==,
                   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  g_assert_cmpstr (info->allocator, ==, "pytorch-caching");
  g_assert_cmpstr (info->settings, ==, "max_split_size_mb=200,roundup_power2_divisions=4");
  g_assert_cmpstr (info->device, ==, "capacity=80GiB,address=bump");
  g_assert_cmpuint (info->provenance->len, ==, 3);
  g_assert_cmpstr (g_ptr_array_index (info->provenance, 0), ==, "format: pytorch-snapshot");
  g_assert_cmpstr (g_ptr_array_index (info->provenance, 1), ==, "tool: recorder 3");
  g_assert_cmpstr (g_ptr_array_index (info->provenance, 2), ==, "note: two\nlines");
}

static GBytes *
gzip (GBytes *bytes)
{
  g_autoptr (GZlibCompressor) compressor = g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
  g_autoptr (GInputStream) plain = g_memory_input_stream_new_from_bytes (bytes);
  g_autoptr (GInputStream) packed = g_converter_input_stream_new (plain, G_CONVERTER (compressor));
  g_autoptr (GOutputStream) out = g_memory_output_stream_new_resizable ();
  g_assert_cmpint (
      g_output_stream_splice (out, packed, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, NULL), >, 0);
  return g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (out));
}

/* Facts that become known while writing are in the file: in the header of a seekable file, at
 * the end of a stream. */
static void
test_information (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "info.gmt", NULL);
  GememTraceInfo info;
  GError *error = NULL;
  const GememTraceEvent *batch;
  char *data;
  gsize size;

  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  GememTraceWriter *writer = gemem_trace_create (path, NULL, &info, &error);
  g_assert_no_error (error);
  g_assert_true (
      writer->write (writer, (GememTraceEvent *) (gpointer) events->data, events->len, &error));
  info.flags |= GEMEM_TRACE_HAS_SEGMENTS;
  info.ambiguities++;
  g_assert_true (writer->finish (writer, &error));
  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  g_autoptr (GBytes) bytes = g_bytes_new_take (data, size);
  g_autoptr (GBytes) packed = gzip (bytes);

  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "native");
  g_assert_cmpuint (reader->info.events, ==, EXTREME_EVENTS);
  assert_info (&reader->info);
  gemem_trace_close (reader);

  reader = open_bytes (packed, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (reader->info.events, ==, 0);
  g_assert_cmpuint (reader->info.ambiguities, ==, 7);
  g_assert_false (gemem_native_seek (reader, 0, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_clear_error (&error);
  while (gemem_trace_next (reader, &batch, &error) > 0)
    ;
  g_assert_no_error (error);
  g_assert_cmpuint (reader->info.events, ==, EXTREME_EVENTS);
  assert_info (&reader->info);
  gemem_trace_close (reader);
  gemem_trace_info_clear (&info);
}

/* Reads all of @bytes, which is damaged; checks that it is refused, and that @allow_partial
 * delivers whole chunks of @chunk events, the first ones, marked. Returns the number of events. */
static guint
assert_damaged (GBytes *bytes, const GArray *events, const GememTraceInfo *info, guint chunk)
{
  GememReadOptions partial = { TRUE, -1 };
  GError *error = NULL;
  guint count = 0;

  GememTraceReader *reader = open_bytes (bytes, NULL, &error);
  if (reader != NULL)
    compare_rest (reader, events, info, 0, &error);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_true (g_str_has_prefix (error->message, "t.gmt: "));
  g_assert_nonnull (strstr (error->message, "; "));
  g_clear_error (&error);
  gemem_trace_close (reader);

  reader = open_bytes (bytes, &partial, &error);
  if (reader == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_clear_error (&error);
      return 0;
    }
  count = compare_rest (reader, events, info, 0, &error);
  g_assert_no_error (error);
  g_assert_true (count % chunk == 0 || count == events->len);
  g_assert_true (reader->info.flags & GEMEM_TRACE_TRUNCATED);
  gemem_trace_close (reader);
  return count;
}

static void
test_truncated (void)
{
  GememTraceInfo info;
  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  g_autoptr (GBytes) bytes = write_events (events, &info, 10);
  guint most = 0;

  for (gsize length = 0; length < g_bytes_get_size (bytes); length++)
    {
      g_autoptr (GBytes) part = g_bytes_new_from_bytes (bytes, 0, length);
      guint count = assert_damaged (part, events, &info, 10);
      g_assert_cmpuint (count, >=, most); /* a longer piece never yields less */
      most = count;
    }
  g_assert_cmpuint (most, ==, EXTREME_EVENTS);
  gemem_trace_info_clear (&info);
}

static void
test_altered (void)
{
  static const guint8 changes[] = { 0x01, 0x80, 0xff };
  GememTraceInfo info;
  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  g_autoptr (GBytes) bytes = write_events (events, &info, 10);
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  for (gsize i = 0; i < size; i += g_getenv ("GEMEM_QUICK") != NULL ? 3 : 1)
    for (guint k = 0; k < G_N_ELEMENTS (changes); k++)
      {
        guint8 *copy = g_memdup2 (data, size);
        copy[i] ^= changes[k];
        g_autoptr (GBytes) altered = g_bytes_new_take (copy, size);
        assert_damaged (altered, events, &info, 10);
      }
  g_autoptr (GByteArray) longer = g_byte_array_new ();
  g_byte_array_append (longer, data, (guint) size);
  g_byte_array_append (longer, (const guint8 *) "", 1);
  g_autoptr (GBytes) appended = g_bytes_new (longer->data, longer->len);
  g_assert_cmpuint (assert_damaged (appended, events, &info, 10), ==, EXTREME_EVENTS);
  gemem_trace_info_clear (&info);
}

/* The exact message that the issue promises. */
static void
test_message (void)
{
  GememTraceInfo info;
  GError *error = NULL;
  gsize size;
  guint seen = 0;

  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  g_autoptr (GBytes) bytes = write_events (events, &info, 10);
  const guint8 *data = g_bytes_get_data (bytes, &size);
  guint8 *copy = g_memdup2 (data, size);
  for (gsize i = 0; i + 4 < size; i++)
    if (memcmp (copy + i, "EVTS", 4) == 0 && ++seen == 3)
      {
        copy[i + NATIVE_BLOCK_HEADER_SIZE] ^= 1;
        break;
      }
  g_autoptr (GBytes) altered = g_bytes_new_take (copy, size);
  GememTraceReader *reader = open_bytes (altered, NULL, &error);
  g_assert_cmpuint (compare_rest (reader, events, &info, 0, &error), ==, 20);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==,
                   "t.gmt: event 20: chunk 3 is damaged (checksum); convert the source again, or "
                   "read what is whole with --allow-partial");
  g_clear_error (&error);
  gemem_trace_close (reader);
  gemem_trace_info_clear (&info);
}

static void
test_version (void)
{
  guint8 head[NATIVE_HEADER_SIZE] = NATIVE_MAGIC;
  GError *error = NULL;

  native_put32 (head + 8, NATIVE_VERSION + 1);
  native_put64 (head + 16, gemem_checksum (head, 16, 0));
  g_autoptr (GBytes) future = g_bytes_new (head, sizeof head);
  g_assert_null (open_bytes (future, NULL, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==,
                   "t.gmt: version 6 of the native format, and this gemem knows versions up to 5; "
                   "use a newer gemem");
  g_clear_error (&error);
  head[4] = '\n'; /* CR LF became LF */
  g_autoptr (GBytes) text_mode = g_bytes_new (head, sizeof head);
  g_assert_null (open_bytes (text_mode, NULL, &error));
  g_assert_nonnull (strstr (error->message, "binary mode"));
  g_clear_error (&error);
}

static void
test_seek (void)
{
  GememTraceInfo info;
  GememRng rng;
  GError *error = NULL;
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));

  gemem_trace_info_init (&info, "random", "x");
  gemem_rng_init (&rng, 6, "seek");
  for (guint i = 0; i < 25000; i++)
    {
      g_autofree char *tag = g_strdup_printf ("tag%u", i / 100);
      GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC,
                                .id = gemem_rng_next (&rng),
                                .time = i * 10,
                                .tag = gemem_trace_info_intern (&info, tag) };
      g_array_append_val (events, event);
    }
  g_autoptr (GBytes) bytes = write_events (events, &info, 3000);
  GememTraceReader *reader = open_bytes (bytes, NULL, &error);
  g_assert_no_error (error);
  static const guint places[] = { 24999, 0, 2999, 3000, 25000, 12345, 1, 5999, 24000 };
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_assert_true (gemem_native_seek (reader, places[i], &error));
      g_assert_no_error (error);
      g_assert_cmpuint (compare_rest (reader, events, &info, places[i], &error), ==, 25000);
      g_assert_no_error (error);
    }
  g_assert_false (gemem_native_seek (reader, 25001, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_clear_error (&error);
  gemem_trace_close (reader);
  gemem_trace_info_clear (&info);
}

/* The devices of @bytes are those of its events, if it can be read; else both ways refuse it, but
 * for damage of columns that only the events need. */
static void
see_devices (GBytes *bytes)
{
  g_autofree guint8 *seen = g_malloc0 (G_MAXUINT16 + 1), *met = g_malloc0 (G_MAXUINT16 + 1);
  g_autoptr (GError) alone = NULL;
  g_autoptr (GError) whole = NULL;
  const GememTraceEvent *batch;
  gssize n = -1;

  GememTraceReader *reader = open_bytes (bytes, NULL, &alone);
  if (reader == NULL)
    return;
  g_assert_true (reader->devices (reader, seen, &alone) == (alone == NULL));
  gemem_trace_close (reader);
  reader = open_bytes (bytes, NULL, &whole);
  while ((n = gemem_trace_next (reader, &batch, &whole)) > 0)
    for (gssize i = 0; i < n; i++)
      met[batch[i].device] = 1;
  gemem_trace_close (reader);
  if (alone != NULL)
    {
      g_assert_error (alone, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_cmpint (n, <, 0);
    }
  else if (n == 0)
    g_assert_cmpmem (seen, G_MAXUINT16 + 1, met, G_MAXUINT16 + 1);
}

/* Chunks with false content and the right checksum must be refused or deliver events, never
 * anything else (run under ASan). */
static void
test_hostile_chunks (void)
{
  GememTraceInfo info;
  GememRng rng;
  const GememTraceEvent *batch;
  gsize size;
  guint refused = 0;

  fill_info (&info);
  gemem_rng_init (&rng, 7, "hostile");
  g_autoptr (GArray) events = extreme_events (&info);
  for (guint i = 0; i < 300; i++)
    {
      GememTraceEvent event = {
        .kind = (guint8) (1 + i % 2), .id = i * i, .size = i % 7 * 512, .time = i * 17, .tag = i % 3
      };
      g_array_append_val (events, event);
    }
  g_autoptr (GBytes) bytes = write_events (events, &info, NATIVE_CHUNK_EVENTS);
  const guint8 *data = g_bytes_get_data (bytes, &size);
  for (guint round = 0; round < 4000; round++)
    {
      guint8 *copy = g_memdup2 (data, size);
      GError *error = NULL;
      for (gsize place = NATIVE_HEADER_SIZE;
           place + NATIVE_BLOCK_HEADER_SIZE <= size - NATIVE_TRAILER_SIZE;)
        {
          guint32 stored = native_get32 (copy + place + 4);
          guint changes = (guint) gemem_rng_below (&rng, 3);
          for (guint i = 0; i < changes; i++)
            {
              const gsize at = place + NATIVE_BLOCK_HEADER_SIZE + gemem_rng_below (&rng, stored);
              copy[at] = (guint8) gemem_rng_next (&rng);
            }
          if (gemem_rng_below (&rng, 8) == 0)
            {
              const gsize at = place + 8 + gemem_rng_below (&rng, 16);
              copy[at] = (guint8) gemem_rng_next (&rng);
            }
          native_put64 (copy + place + 24,
                        gemem_checksum (copy + place + NATIVE_BLOCK_HEADER_SIZE, stored,
                                        gemem_checksum (copy + place, 24, 0)));
          place += NATIVE_BLOCK_HEADER_SIZE + stored;
        }
      g_autoptr (GBytes) lie = g_bytes_new_take (copy, size);
      GememTraceReader *reader = open_bytes (lie, NULL, &error);
      gssize n = reader != NULL ? 1 : -1;
      while (n > 0)
        n = gemem_trace_next (reader, &batch, &error);
      if (n < 0)
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      refused += n < 0;
      if (reader != NULL && reader->info.events > 0
          && gemem_native_seek (reader, reader->info.events / 2, NULL))
        while (gemem_trace_next (reader, &batch, NULL) > 0)
          ;
      g_clear_error (&error);
      gemem_trace_close (reader);
      see_devices (lie);
    }
  g_assert_cmpuint (refused, >, 3000);
  gemem_trace_info_clear (&info);
}

static void
test_devices (void)
{
  GememTraceInfo info;
  GememReadOptions options = { FALSE, 1 };
  const GememTraceEvent *batch;
  GError *error = NULL;
  guint count = 0;
  gssize n;
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));

  gemem_trace_info_init (&info, "x", "x");
  for (guint i = 0; i < 5000; i++) /* the first 3000 are of device 0 */
    {
      GememTraceEvent event = { .kind = i % 1000 == 0 ? GEMEM_EVENT_STEP : GEMEM_EVENT_ALLOC,
                                .id = i,
                                .device = i >= 3000 ? 1 + i % 2 : 0 };
      g_array_append_val (events, event);
    }
  g_autoptr (GBytes) bytes = write_events (events, &info, 65536);
  GememTraceReader *reader = open_bytes (bytes, &options, &error);
  while ((n = gemem_trace_next (reader, &batch, &error)) > 0)
    for (gssize i = 0; i < n; i++, count++)
      g_assert_true (batch[i].device == 1 || batch[i].kind == GEMEM_EVENT_STEP);
  g_assert_no_error (error);
  /* even numbers from 3000 on, two of them steps; five steps */
  g_assert_cmpuint (count, ==, 1000 - 2 + 5);
  gemem_trace_close (reader);
  /* every coding of the column: one device for all, a line, a table, offsets */
  static const struct
  {
    guint step, modulo, factor;
  } codings[] = { { 0, 1, 1 }, { 1, 65536, 1 }, { 1, 3, 21845 }, { 7919, 5000, 13 } };
  for (guint c = 0; c < G_N_ELEMENTS (codings); c++)
    for (guint chunk = 700; chunk <= 65536; chunk += 64836)
      {
        for (guint i = 0; i < events->len; i++)
          g_array_index (events, GememTraceEvent, i).device = (guint16) (i * codings[c].step
                                                                         % codings[c].modulo
                                                                         * codings[c].factor);
        g_autoptr (GBytes) coded = write_events (events, &info, chunk);
        see_devices (coded);
      }
  gemem_trace_info_clear (&info);
}

static guint
count_files (void)
{
  GDir *dir = g_dir_open (test_tmpdir (), 0, NULL);
  guint count = 0;
  while (g_dir_read_name (dir) != NULL)
    count++;
  g_dir_close (dir);
  return count;
}

/* The file is complete, or does not exist. */
static void
test_writing (void)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "whole.gmt", NULL);
  g_autofree char *nowhere = g_build_filename (test_tmpdir (), "no", "such", "folder.gmt", NULL);
  GememTraceInfo info;
  GError *error = NULL;
  GememTraceEvent bad = { .kind = GEMEM_EVENT_KIND_COUNT },
                  untagged = { .kind = GEMEM_EVENT_PHASE, .tag = 99 };
  g_autofree char *content = NULL;

  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  guint before = count_files ();
  g_assert_true (g_file_set_contents (path, "old", 3, NULL));
  GememTraceWriter *writer = gemem_trace_create (path, "native", &info, &error);
  g_assert_true (
      writer->write (writer, (GememTraceEvent *) (gpointer) events->data, events->len, &error));
  g_assert_cmpuint (count_files (), ==, before + 2);
  writer->discard (writer);
  g_assert_cmpuint (count_files (), ==, before + 1);
  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_cmpstr (content, ==, "old");

  for (guint i = 0; i < 2; i++)
    {
      writer = gemem_trace_create (path, "native", &info, &error);
      g_assert_false (writer->write (writer, i == 0 ? &bad : &untagged, 1, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_nonnull (
          strstr (error->message, i == 0 ? "event 0: there is no event kind 39"
                                         : "event 0: its tag is not in the string table"));
      g_clear_error (&error);
      g_assert_false (writer->finish (writer, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
      g_clear_error (&error);
      g_assert_cmpuint (count_files (), ==, before + 1);
    }
  g_assert_null (gemem_trace_create (nowhere, NULL, &info, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_true (g_str_has_prefix (error->message, nowhere));
  g_clear_error (&error);
  g_remove (path);
  gemem_trace_info_clear (&info);
}

static void
test_full_disk (void)
{
  GememTraceInfo info;
  GError *error = NULL;

  if (!g_file_test ("/dev/full", G_FILE_TEST_EXISTS))
    {
      g_test_skip ("no /dev/full");
      return;
    }
  fill_info (&info);
  g_autoptr (GArray) events = extreme_events (&info);
  GememTraceWriter *writer = gemem_trace_create ("/dev/full", "native", &info, &error);
  g_assert_no_error (error);
  g_assert_true (
      writer->write (writer, (GememTraceEvent *) (gpointer) events->data, events->len, &error));
  g_assert_false (writer->finish (writer, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_true (g_str_has_prefix (error->message, "/dev/full: "));
  g_clear_error (&error);
  /* a file that existed before is not removed */
  g_assert_true (g_file_test ("/dev/full", G_FILE_TEST_EXISTS));
  gemem_trace_info_clear (&info);
}

/* The disk becomes full while the temporary file is written: the message names the file, and no
 * file is left. */
static void
test_disk_fills (void)
{
  static const char *const names[] = { "fills.gmt", "fills.txt" };
  struct rlimit before, small = { 100000, 100000 };
  GememTraceInfo info;
  GememRng rng;

  gemem_trace_info_init (&info, "random", "x");
  gemem_rng_init (&rng, 8, "fills");
  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  small.rlim_max = before.rlim_max;
  signal (SIGXFSZ, SIG_IGN);
  for (guint k = 0; k < G_N_ELEMENTS (names); k++)
    {
      g_autofree char *path = g_build_filename (test_tmpdir (), names[k], NULL);
      GError *error = NULL;
      guint files = count_files ();
      GememTraceWriter *writer = gemem_trace_create (path, NULL, &info, &error);
      gboolean good = TRUE;
      g_assert_no_error (error);
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &small), ==, 0);
      for (guint i = 0; good && i < 300000; i++)
        {
          GememTraceEvent event = { .kind = GEMEM_EVENT_ALLOC, .id = gemem_rng_next (&rng) };
          good = writer->write (writer, &event, 1, &error);
        }
      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
      g_assert_false (good);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
      g_assert_true (g_str_has_prefix (error->message, path));
      g_clear_error (&error);
      writer->discard (writer);
      g_assert_cmpuint (count_files (), ==, files);
    }
  gemem_trace_info_clear (&info);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/native/checksum", test_checksum);
  g_test_add_func ("/native/fields", test_fields);
  g_test_add_func ("/native/empty", test_empty);
  g_test_add_func ("/native/columns", test_columns);
  g_test_add_func ("/native/information", test_information);
  g_test_add_func ("/native/truncated", test_truncated);
  g_test_add_func ("/native/altered", test_altered);
  g_test_add_func ("/native/message", test_message);
  g_test_add_func ("/native/version", test_version);
  g_test_add_func ("/native/seek", test_seek);
  g_test_add_func ("/native/hostile-chunks", test_hostile_chunks);
  g_test_add_func ("/native/devices", test_devices);
  g_test_add_func ("/native/writing", test_writing);
  g_test_add_func ("/native/full-disk", test_full_disk);
  g_test_add_func ("/native/disk-fills", test_disk_fills);
  return g_test_run ();
}
