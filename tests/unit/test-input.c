/* test-input.c - one view of plain, gzip, zstd and piped bytes; truncation, damage and the end
 * are distinguished (base/io/input.c); and the list of formats (traces/trace.c). */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "traces/trace.h"

typedef enum
{
  PLAIN,
  GZIP,
  ZSTD,
  CODECS
} Codec;

/* Bytes that compress poorly; lines of various lengths. */
static GBytes *
make_content (gsize size)
{
  guint8 *data = g_malloc (size);
  GememRng rng;
  gemem_rng_init (&rng, size, "content");
  for (gsize i = 0; i < size; i++)
    data[i] = (guint8) (gemem_rng_below (&rng, 50) == 0 ? '\n' : 'a' + gemem_rng_below (&rng, 20));
  return g_bytes_new_take (data, size);
}

static GBytes *
pack (GBytes *plain, Codec codec)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (plain, &size);

  if (codec == PLAIN)
    return g_bytes_ref (plain);
  if (codec == ZSTD)
    {
      gsize bound = ZSTD_compressBound (size);
      guint8 *out = g_malloc (bound);
      ZSTD_CCtx *zstd = ZSTD_createCCtx ();
      ZSTD_CCtx_setParameter (zstd, ZSTD_c_checksumFlag, 1); /* as the zstd program does */
      gsize used = ZSTD_compress2 (zstd, out, bound, data, size);
      ZSTD_freeCCtx (zstd);
      g_assert_false (ZSTD_isError (used));
      return g_bytes_new_take (out, used);
    }
  g_autoptr (GZlibCompressor) compressor = g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 1);
  g_autoptr (GInputStream) from = g_memory_input_stream_new_from_bytes (plain);
  g_autoptr (GInputStream) packed = g_converter_input_stream_new (from, G_CONVERTER (compressor));
  g_autoptr (GOutputStream) out = g_memory_output_stream_new_resizable ();
  g_output_stream_splice (out, packed, G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET, NULL, NULL);
  return g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (out));
}

static GBytes *
join (GBytes *a, GBytes *b)
{
  GByteArray *both = g_byte_array_new ();
  g_byte_array_append (both, g_bytes_get_data (a, NULL), (guint) g_bytes_get_size (a));
  g_byte_array_append (both, g_bytes_get_data (b, NULL), (guint) g_bytes_get_size (b));
  return g_byte_array_free_to_bytes (both);
}

/* Reads to the end in portions of @portion; returns the bytes, and sets @error. */
static GBytes *
read_all (GememInput *input, gsize portion, GError **error)
{
  GByteArray *all = g_byte_array_new ();
  const guint8 *data;
  gssize n;
  while ((n = gemem_input_fill (input, portion, &data, error)) > 0)
    {
      gsize take = MIN ((gsize) n, portion);
      g_byte_array_append (all, data, (guint) take);
      gemem_input_consume (input, take);
    }
  return g_byte_array_free_to_bytes (all);
}

static void
assert_reads (GememInput *input, GBytes *expected, gsize portion)
{
  GError *error = NULL;
  g_autoptr (GBytes) got = read_all (input, portion, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (got, expected));
  g_assert_cmpuint (gemem_input_offset (input), ==, g_bytes_get_size (expected));
}

static char *
write_file (GBytes *bytes)
{
  char *path = g_build_filename (test_tmpdir (), "input", NULL);
  g_assert_true (g_file_set_contents (path, g_bytes_get_data (bytes, NULL),
                                      (gssize) g_bytes_get_size (bytes), NULL));
  return path;
}

static void
test_codecs (void)
{
  static const gsize sizes[] = { 0, 1, 3, 4, 5, 262144, 1000003 };
  for (Codec codec = PLAIN; codec < CODECS; codec++)
    for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
      {
        GError *error = NULL;
        g_autoptr (GBytes) plain = make_content (sizes[i]);
        g_autoptr (GBytes) packed = pack (plain, codec);
        g_autofree char *path = write_file (packed);
        for (gsize portion = 1000; portion <= 400000; portion *= 20)
          {
            GememInput *input = gemem_input_open (path, &error);
            g_assert_no_error (error);
            assert_reads (input, plain, portion);
            g_assert_true (gemem_input_rewind (input, &error));
            g_assert_cmpuint (gemem_input_offset (input), ==, 0);
            assert_reads (input, plain, portion);
            gemem_input_close (input);
            input = gemem_input_new_from_bytes (packed, "bytes");
            assert_reads (input, plain, portion);
            g_assert_true (gemem_input_rewind (input, &error));
            assert_reads (input, plain, portion);
            gemem_input_close (input);
          }
      }
}

/* Concatenated members and frames are one stream, as for gzip and zstd themselves. */
static void
test_members (void)
{
  g_autoptr (GBytes) a = make_content (300000);
  g_autoptr (GBytes) b = make_content (70001);
  g_autoptr (GBytes) both = join (a, b);
  g_autoptr (GBytes) junk = g_bytes_new_static ("junk", 4);
  for (Codec codec = GZIP; codec < CODECS; codec++)
    {
      GError *error = NULL;
      g_autoptr (GBytes) packed_a = pack (a, codec);
      g_autoptr (GBytes) packed_b = pack (b, codec);
      g_autoptr (GBytes) packed = join (packed_a, packed_b);
      g_autoptr (GBytes) spoiled = join (packed_a, junk);
      GememInput *input = gemem_input_new_from_bytes (packed, "two");
      assert_reads (input, both, 4096);
      gemem_input_close (input);
      input = gemem_input_new_from_bytes (spoiled, "spoiled");
      g_bytes_unref (read_all (input, 4096, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_clear_error (&error);
      gemem_input_close (input);
    }
}

/* Cut at every byte: an error, never an end, and only correct bytes before it. */
static void
test_truncated (void)
{
  g_autoptr (GBytes) plain = make_content (3000);
  for (Codec codec = GZIP; codec < CODECS; codec++)
    {
      g_autoptr (GBytes) packed = pack (plain, codec);
      for (gsize size = 4; size < g_bytes_get_size (packed); size++)
        {
          GError *error = NULL;
          g_autoptr (GBytes) part = g_bytes_new_from_bytes (packed, 0, size);
          GememInput *input = gemem_input_new_from_bytes (part, "cut");
          g_autoptr (GBytes) got = read_all (input, 1, &error);
          g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
          g_assert_nonnull (strstr (error->message, "the file is truncated"));
          g_assert_cmpmem (g_bytes_get_data (got, NULL), g_bytes_get_size (got),
                           g_bytes_get_data (plain, NULL), g_bytes_get_size (got));
          g_clear_error (&error);
          gemem_input_close (input);
        }
    }
}

static void
test_damaged (void)
{
  g_autoptr (GBytes) plain = make_content (500000);
  for (Codec codec = GZIP; codec < CODECS; codec++)
    {
      GError *error = NULL;
      g_autoptr (GBytes) packed = pack (plain, codec);
      gsize size;
      const guint8 *data = g_bytes_get_data (packed, &size);
      guint8 *copy = g_memdup2 (data, size);
      memset (copy + size / 2, 0xff, 64);
      g_autoptr (GBytes) damaged = g_bytes_new_take (copy, size);
      GememInput *input = gemem_input_new_from_bytes (damaged, "bad");
      g_autoptr (GBytes) got = read_all (input, 1, &error);
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_true (g_str_has_prefix (
          error->message, codec == GZIP ? "bad: the gzip data are damaged near stored byte "
                                        : "bad: the zstd data are damaged near stored byte "));
      g_assert_cmpuint (g_bytes_get_size (got), >=, 100000); /* the bytes before the damage */
      g_clear_error (&error);
      gemem_input_close (input);
    }
}

static void
test_lines (void)
{
  static const char text[] = "one\n\r\ntwo\r\n\nlast";
  static const char *const expected[] = { "one", "", "two", "", "last" };
  static const guint64 offsets[] = { 0, 4, 6, 11, 12 };
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, sizeof text - 1);
  GememInput *input = gemem_input_new_from_bytes (bytes, "lines");
  const char *line;
  gsize length;
  GError *error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_assert_cmpint (gemem_input_line (input, 4, &line, &length, &error), ==, 1);
      g_assert_cmpmem (line, length, expected[i], strlen (expected[i]));
      g_assert_cmpuint (gemem_input_line_number (input), ==, i + 1);
      g_assert_cmpuint (gemem_input_line_offset (input), ==, offsets[i]);
    }
  g_assert_cmpint (gemem_input_line (input, 4, &line, &length, &error), ==, 0);
  g_assert_true (gemem_input_rewind (input, &error));
  g_assert_cmpint (gemem_input_line (input, 2, &line, &length, &error), ==, -1);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (error->message, ==,
                   "lines:1: the line is longer than 2 bytes; this is not a trace of this format");
  g_clear_error (&error);
  gemem_input_close (input);
}

/* Lines across all borders of the window, compared with splitting in memory; whole lines before
 * damage are delivered. */
static void
test_many_lines (void)
{
  g_autoptr (GBytes) plain = make_content (1200000);
  g_autofree char *text = g_strndup (g_bytes_get_data (plain, NULL), g_bytes_get_size (plain));
  g_auto (GStrv) expected = g_strsplit (text, "\n", -1);
  guint lines = g_strv_length (expected);
  if (*expected[lines - 1] == '\0') /* behind the last LF */
    lines--;
  for (Codec codec = PLAIN; codec < CODECS; codec++)
    for (guint cut = 0; cut < (codec == PLAIN ? 1 : 2); cut++)
      {
        g_autoptr (GBytes) packed = pack (plain, codec);
        g_autoptr (GBytes)
            part = g_bytes_new_from_bytes (packed, 0, g_bytes_get_size (packed) / (1 + cut));
        GememInput *input = gemem_input_new_from_bytes (part, "many");
        const char *line;
        gsize length;
        GError *error = NULL;
        guint count = 0;
        int got;
        while ((got = gemem_input_line (input, 100000, &line, &length, &error)) == 1)
          {
            g_assert_cmpmem (line, length, expected[count], strlen (expected[count]));
            count++;
          }
        g_assert_cmpint (got, ==, cut ? -1 : 0);
        if (cut)
          g_assert_cmpuint (count, >, 1000);
        else
          g_assert_cmpuint (count, ==, lines);
        g_assert_cmpint (error != NULL, ==, cut);
        g_clear_error (&error);
        gemem_input_close (input);
      }
}

/* A line without an end is refused before it fills the memory. */
static void
test_endless_line (void)
{
  GError *error = NULL;
  const char *line;
  gsize length;
  GememInput *input = gemem_input_open ("/dev/zero", &error);
  g_assert_no_error (error);
  gemem_input_set_single_pass (input);
  g_assert_cmpint (gemem_input_line (input, 1 << 20, &line, &length, &error), ==, -1);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_assert_cmpstr (
      error->message, ==,
      "/dev/zero:1: the line is longer than 1048576 bytes; this is not a trace of this format");
  g_clear_error (&error);
  gemem_input_close (input);
}

static void
test_skip_and_seek (void)
{
  g_autoptr (GBytes) plain = make_content (900000);
  const guint8 *all = g_bytes_get_data (plain, NULL), *data;
  g_autofree char *path = write_file (plain);
  GError *error = NULL;
  guint64 size = 0;

  for (guint i = 0; i < 2; i++)
    {
      GememInput *input = i == 0 ? gemem_input_open (path, &error)
                                 : gemem_input_new_from_bytes (plain, "bytes");
      g_assert_true (gemem_input_skip (input, 700000, &error));
      g_assert_cmpint (gemem_input_fill (input, 10, &data, &error), >=, 10);
      g_assert_cmpmem (data, 10, all + 700000, 10);
      g_assert_false (gemem_input_skip (input, 200001, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_clear_error (&error);
      g_assert_true (gemem_input_size (input, &size));
      g_assert_cmpuint (size, ==, 900000);
      static const guint64 places[] = { 899990, 5, 500000, 0 };
      for (guint k = 0; k < G_N_ELEMENTS (places); k++)
        {
          g_assert_true (gemem_input_seek (input, places[k], &error));
          g_assert_cmpuint (gemem_input_offset (input), ==, places[k]);
          g_assert_cmpint (gemem_input_fill (input, 10, &data, &error), >=, 10);
          g_assert_cmpmem (data, 10, all + places[k], 10);
        }
      g_assert_true (gemem_input_seek (input, 900000, &error));
      g_assert_cmpint (gemem_input_fill (input, 1, &data, &error), ==, 0);
      g_assert_false (gemem_input_seek (input, 900001, &error));
      g_clear_error (&error);
      g_assert_true (gemem_input_rewind (input, &error));
      assert_reads (input, plain, 5000);
      gemem_input_close (input);
    }
  g_autoptr (GBytes) packed = pack (plain, GZIP);
  GememInput *input = gemem_input_new_from_bytes (packed, "packed");
  g_assert_false (gemem_input_size (input, &size));
  g_assert_false (gemem_input_seek (input, 0, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  g_clear_error (&error);
  gemem_input_close (input);
}

static void
test_sha256 (void)
{
  GError *error = NULL;
  const guint8 *data;
  g_autoptr (GBytes) abc = g_bytes_new_static ("abc", 3);
  g_autofree char *path = write_file (abc);
  for (guint i = 0; i < 2; i++)
    {
      GememInput *input = i == 0 ? gemem_input_open (path, &error)
                                 : gemem_input_new_from_bytes (abc, "abc");
      g_assert_cmpint (gemem_input_fill (input, 1, &data, &error), ==, 3);
      gemem_input_consume (input, 1);
      g_autofree char *sum = gemem_input_sha256 (input, &error);
      g_assert_cmpstr (sum, ==, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
      g_assert_cmpint (gemem_input_fill (input, 1, &data, &error), ==, 2); /* not moved */
      gemem_input_close (input);
    }
}

/* ---- standard input */

typedef struct
{
  int fd;
  GBytes *bytes;
} Feed;

static gpointer
feed_pipe (gpointer data)
{
  Feed *feed = data;
  gsize size, done = 0;
  const guint8 *bytes = g_bytes_get_data (feed->bytes, &size);
  while (done < size)
    {
      gssize n = write (feed->fd, bytes + done, MIN (size - done, 7001));
      g_assert_cmpint (n, >, 0);
      done += (gsize) n;
    }
  close (feed->fd);
  return NULL;
}

/* Opens @bytes as standard input, as a pipe. */
static GememInput *
open_piped (GBytes *bytes, Feed *feed, GThread **thread)
{
  int ends[2];
  GError *error = NULL;
  g_assert_cmpint (pipe (ends), ==, 0);
  feed->fd = ends[1];
  feed->bytes = bytes;
  *thread = g_thread_new ("feed", feed_pipe, feed);
  g_assert_cmpint (dup2 (ends[0], STDIN_FILENO), ==, STDIN_FILENO);
  close (ends[0]);
  GememInput *input = gemem_input_open ("-", &error);
  g_assert_no_error (error);
  g_assert_cmpstr (gemem_input_name (input), ==, "standard input");
  return input;
}

static void
test_pipe (void)
{
  g_autoptr (GBytes) plain = make_content (900000);
  for (Codec codec = PLAIN; codec < CODECS; codec++)
    {
      g_autoptr (GBytes) packed = pack (plain, codec);
      GError *error = NULL;
      GThread *thread;
      Feed feed;
      guint64 size;
      GememInput *input = open_piped (packed, &feed, &thread);
      g_assert_false (gemem_input_size (input, &size));
      g_assert_null (gemem_input_sha256 (input, &error));
      g_assert_no_error (error);
      g_assert_true (gemem_input_skip (input, 600000, &error)); /* rewound in the middle ... */
      g_assert_true (gemem_input_rewind (input, &error));
      assert_reads (input, plain, 30000);
      g_assert_true (gemem_input_rewind (input, &error)); /* ... and at the end */
      assert_reads (input, plain, 999);
      g_thread_join (thread);
      gemem_input_close (input);
    }
}

/* A caller that promises to read once pays for no copy, and cannot rewind. */
static void
test_single_pass (void)
{
  g_autoptr (GBytes) plain = make_content (900000);
  GError *error = NULL;
  const guint8 *data;
  GThread *thread;
  Feed feed;
  GememInput *input = open_piped (plain, &feed, &thread);
  /* as recognition does */
  g_assert_cmpint (gemem_input_fill (input, 4096, &data, &error), >=, 4096);
  gemem_input_set_single_pass (input);
  g_assert_true (gemem_input_rewind (input, &error)); /* nothing is lost yet */
  assert_reads (input, plain, 5000);
  g_thread_join (thread);
  g_assert_false (gemem_input_rewind (input, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_clear_error (&error);
  gemem_input_close (input);
}

static void
test_unreadable (void)
{
  static const char *const paths[] = { "/no/such/file", "/" };
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      GError *error = NULL;
      g_assert_null (gemem_input_open (paths[i], &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
      g_assert_true (g_str_has_prefix (error->message, paths[i]));
      g_clear_error (&error);
    }
}

/* ---- formats */

static void
assert_open_fails (const char *content, gsize size, const char *format, GememError code,
                   const char *message)
{
  GError *error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (content, size);
  g_assert_null (
      gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "f"), format, NULL, &error));
  g_assert_error (error, GEMEM_ERROR, (gint) code);
  g_assert_true (g_str_has_prefix (error->message, message));
  g_clear_error (&error);
}

static void
test_formats (void)
{
  const GememTraceFormat *const *formats = gemem_trace_formats ();
  GememTraceInfo info;
  GError *error = NULL;

  for (guint i = 0; formats[i] != NULL; i++)
    {
      g_assert_true (gemem_trace_format_find (formats[i]->name, NULL) == formats[i]);
      g_assert_true (formats[i]->open != NULL || formats[i]->create != NULL);
      g_assert_nonnull (formats[i]->summary);
    }
  g_assert_cmpstr (gemem_trace_format_find ("GMT", NULL)->name, ==, "native");
  assert_open_fails ("", 0, NULL, GEMEM_ERROR_INPUT, "f: the file is empty; name a recorded trace");
  assert_open_fails ("\x7f"
                     "ELF\x02\x01",
                     6, NULL, GEMEM_ERROR_INPUT,
                     "f: a program or library, not a recording of one; gemem-record PROGRAM makes");
  assert_open_fails ("\x7f"
                     "ELK\x02\x01",
                     6, NULL, GEMEM_ERROR_INPUT,
                     "f: not recognised as a trace; 'gemem-sim list formats' shows what is read");
  assert_open_fails ("\x1f\x8b\x08\x00\x00", 5, NULL, GEMEM_ERROR_INPUT,
                     "f: the gzip data stop in the middle");
  assert_open_fails ("a 1 2", 5, "opps", GEMEM_ERROR_USAGE,
                     "opps: no such trace format; did you mean ops? known formats: ");
  gemem_trace_info_init (&info, "x", "x");
  g_assert_null (gemem_trace_create ("x.foo", NULL, &info, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_null (gemem_trace_create ("x.gmt", "ops", &info, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_true (
      g_str_has_prefix (error->message, "ops: this format can only be read; name one of: "));
  g_assert_nonnull (strstr (error->message, "native"));
  g_clear_error (&error);
  gemem_trace_info_clear (&info);
}

static void
test_kinds (void)
{
  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    {
      const char *name = gemem_event_kind_name ((GememEventKind) kind);
      g_assert_cmpstr (name, !=, "unknown");
      g_assert_cmpint (gemem_event_kind_from_name (name, strlen (name)), ==, kind);
    }
  g_assert_cmpint (gemem_event_kind_from_name ("allocate", 5), ==, GEMEM_EVENT_ALLOC);
  g_assert_cmpint (gemem_event_kind_from_name ("allocate", 8), ==, 0);
  g_assert_cmpint (gemem_event_kind_from_name ("fre", 3), ==, 0);
  g_assert_cmpint (gemem_event_kind_from_name ("", 0), ==, 0);
  /* Bytes of a damaged file: no name contains a zero, and bytes after a kind's name are not
   * read. */
  g_assert_cmpint (gemem_event_kind_from_name ("free\0\0", 5), ==, 0);
  g_assert_cmpint (gemem_event_kind_from_name ("snapshot\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 26),
                   ==, 0);
}

static void
test_information (void)
{
  GememTraceInfo info, copy;
  gemem_trace_info_init (&info, "ops", "p");
  g_assert_cmpuint (gemem_trace_info_intern (&info, ""), ==, 0);
  g_assert_cmpuint (gemem_trace_info_intern (&info, "a"), ==, 1);
  g_ptr_array_add (info.strings, g_strdup ("by hand"));
  g_ptr_array_add (info.strings, g_strdup ("a"));
  g_assert_cmpuint (gemem_trace_info_intern (&info, "b"), ==, 4);
  g_assert_cmpuint (gemem_trace_info_intern (&info, "a"), ==, 1);
  g_assert_cmpuint (gemem_trace_info_intern (&info, "by hand"), ==, 2);
  gemem_trace_info_note (&info, "k", "%d", 5);
  gemem_trace_info_copy (&copy, &info);
  g_assert_cmpuint (gemem_trace_info_intern (&copy, "b"), ==, 4);
  g_assert_cmpuint (gemem_trace_info_intern (&copy, "c"), ==, 5);
  g_assert_cmpuint (info.strings->len, ==, 5);
  g_autoptr (GPtrArray) provenance = gemem_trace_info_provenance (&copy);
  g_assert_cmpuint (provenance->len, ==, 2);
  g_assert_cmpstr (g_ptr_array_index (provenance, 0), ==, "format: ops");
  g_assert_cmpstr (g_ptr_array_index (provenance, 1), ==, "k: 5");
  gemem_trace_info_clear (&info);
  gemem_trace_info_clear (&copy);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/input/codecs", test_codecs);
  g_test_add_func ("/input/members", test_members);
  g_test_add_func ("/input/truncated", test_truncated);
  g_test_add_func ("/input/damaged", test_damaged);
  g_test_add_func ("/input/lines", test_lines);
  g_test_add_func ("/input/many-lines", test_many_lines);
  g_test_add_func ("/input/endless-line", test_endless_line);
  g_test_add_func ("/input/skip-and-seek", test_skip_and_seek);
  g_test_add_func ("/input/sha256", test_sha256);
  g_test_add_func ("/input/pipe", test_pipe);
  g_test_add_func ("/input/single-pass", test_single_pass);
  g_test_add_func ("/input/unreadable", test_unreadable);
  g_test_add_func ("/formats/list", test_formats);
  g_test_add_func ("/formats/kinds", test_kinds);
  g_test_add_func ("/formats/information", test_information);
  return g_test_run ();
}
