/* test-tensorflow-dump.c - dumps of TensorFlow's BFC allocator as traces: what the real one wrote
 * (tests/data/tensorflow), older forms of the lines, several allocators, damage. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"
#include "traces/trace.h"

#define FORMAT "tensorflow-dump"
#define FAILED(name, rounded) \
  "Allocator (" name ") ran out of memory trying to allocate 1.00MiB (rounded to " rounded ")" \
  "requested by op MatMul\nIf the cause is memory fragmentation maybe ...\n"
#define DUMP(name) "BFCAllocator dump for " name "\n"
#define BIN(total, used) "Bin (256): \tTotal Chunks: " total ", Chunks in use: " used ". 256B ...\n"
#define REGION(size) "Next region of size " size "\n"
#define USED(address, size) "InUse at " address " of size " size " next 1\n"
#define FREE(address, size) "Free  at " address " of size " size " next 18446744073709551615\n"
#define END "Sum Total of in-use chunks: 256B\n"
#define TOTAL \
  "Total size in pool: 1.0KiB memory_limit_: 4.0KiB available size: 3.0KiB " \
  "curr_region_allocation_bytes_: 2.0KiB\n"
#define ONE(name) \
  DUMP (name) BIN ("2", "1") REGION ("1024") USED ("1000", "256") FREE ("1100", "768") END TOTAL
#define ONE_EVENTS "segment-alloc +1024 @1000 !1; alloc 1 +256/256 @1000 !1; "

static void
expect_partial (const char *text, gboolean partial, const char *expected)
{
  g_autofree char *got = test_trace_text (text, -1, FORMAT, partial, FALSE);

  if (!g_str_has_prefix (got, expected))
    g_assert_cmpstr (got, ==, expected);
}

static void
expect (const char *text, const char *expected)
{
  expect_partial (text, FALSE, expected);
}

static char *
sample (const char *name)
{
  g_autofree char *relative = g_strconcat ("tests/data/tensorflow/", name, NULL);
  g_autofree char *path = test_source_path (relative);
  g_autoptr (GError) error = NULL;
  char *text;

  g_file_get_contents (path, &text, NULL, &error);
  g_assert_no_error (error);
  return text;
}

static GArray *
read_text (const char *text, gsize size, const GememReadOptions *options, char **settings)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  g_autoptr (GememTraceReader) reader = gemem_trace_open_input (
      gemem_input_new_from_bytes (bytes, "x.log"), NULL, options, &error);

  g_assert_no_error (error);
  GArray *events = test_read_all (reader, &error);
  g_assert_no_error (error);
  g_free (*settings);
  *settings = g_strdup_printf ("%s %s", reader->info.settings, reader->info.device);
  return events;
}

/* ---- what TensorFlow 2.21 writes */

/* The lines of @text with @word: their number, and the sum of their sizes. */
static guint
count_lines (const char *text, const char *word, guint64 *sum)
{
  guint n = 0;

  *sum = 0;
  for (const char *at = text; (at = strstr (at, word)) != NULL; at++, n++)
    {
      const char *size = strstr (at, "of size ");
      *sum += g_ascii_strtoull (size + strlen ("of size "), NULL, 10);
    }
  return n;
}

/* @text: with one dump. */
static void
check_sample (const char *text, const GememReadOptions *options, guint64 failed,
              const char *expected_settings)
{
  g_autofree char *settings = NULL;
  g_autoptr (GArray) events = read_text (text, strlen (text), options, &settings);
  guint64 regions, chunks, region_bytes = 0, chunk_bytes = 0, refused = 0;
  guint n_regions = count_lines (text, "Next region ", &regions);
  guint n_chunks = count_lines (text, "InUse at ", &chunks);

  for (guint i = 0; i < events->len; i++)
    {
      const GememTraceEvent *event = &g_array_index (events, GememTraceEvent, i);

      if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC)
        {
          n_regions--;
          region_bytes += event->size;
        }
      else if (event->kind == GEMEM_EVENT_ALLOC && (event->flags & GEMEM_EVENT_INITIAL) != 0)
        {
          n_chunks--;
          chunk_bytes += event->size;
          g_assert_cmpuint (event->aux, ==, event->size);
        }
      else if (event->kind == GEMEM_EVENT_ALLOC)
        refused += event->size;
    }
  g_assert_cmpuint (n_regions, ==, 0);
  g_assert_cmpuint (n_chunks, ==, 0);
  g_assert_cmpuint (region_bytes, ==, regions);
  g_assert_cmpuint (chunk_bytes, ==, chunks);
  g_assert_cmpuint (refused, ==, failed);
  g_assert_cmpstr (settings, ==, expected_settings);
}

static void
test_real (void)
{
  const GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  g_autofree char *python = sample ("cpu-oom.log"), *timed = sample ("timestamps.log"),
                  *whole = sample ("whole.log");

  check_sample (python, &options, 12582912,
                "limit=67108864B,curr_region_allocation_bytes=67108864B "
                "capacity=67108864B,address=recorded");
  check_sample (timed, &options, 7244288,
                "limit=67108864B,curr_region_allocation_bytes=67108864B "
                "capacity=67108864B,address=recorded");
  /* of three dumps the last; its limit is that of the regions and the 57 bytes beside them */
  const char *last = g_strrstr_len (whole, g_strrstr (whole, "dump for") - whole, "Allocator (");
  check_sample (g_strrstr_len (whole, last - whole, "\n"), &options, 19668480,
                "limit=268447801B,curr_region_allocation_bytes=536891883B "
                "capacity=268447801B,address=recorded");
}

/* The lines of the threads in turn, as if both had written at the same moment. */
static char *
interleave (const char *text, const char *first, const char *second)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *out = g_string_new (NULL);
  guint a = 0, b = 0, n = g_strv_length (lines);

  for (gboolean turn = TRUE; a < n || b < n; turn = !turn)
    {
      guint *at = turn ? &a : &b;

      while (*at < n && strstr (lines[*at], turn ? first : second) == NULL)
        ++*at;
      if (*at < n)
        g_string_append_printf (out, "%s\n", lines[(*at)++]);
    }
  return g_string_free (out, FALSE);
}

static void
test_threads (void)
{
  GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  g_autofree char *text = sample ("two.log"), *settings = NULL, *mixed_settings = NULL;
  g_autoptr (GArray) plain = read_text (text, strlen (text), &options, &settings);
  char first[8], second[8];
  const char *at = strstr (text, "dump for GPU_0_bfc");

  /* "... THREAD bfc_allocator.cc:1049] BFCAllocator dump for GPU_0_bfc" */
  at = g_strrstr_len (text, at - text, " bfc_allocator.cc");
  g_strlcpy (first, at - 5, 7);
  at = strstr (text, "dump for GPU_1_bfc");
  at = g_strrstr_len (text, at - text, " bfc_allocator.cc");
  g_strlcpy (second, at - 5, 7);
  g_autofree char *mixed = interleave (text, first, second);
  g_assert_nonnull (strstr (mixed, "GPU_1_bfc"));
  g_autoptr (GArray) again = read_text (mixed, strlen (mixed), &options, &mixed_settings);
  g_assert_cmpuint (plain->len, ==, again->len);
  for (guint i = 0; i < plain->len; i++)
    {
      const GememTraceEvent *a = &g_array_index (plain, GememTraceEvent, i),
                            *b = &g_array_index (again, GememTraceEvent, i);
      g_assert_cmpmem (a, sizeof *a, b, sizeof *b);
    }
  g_assert_cmpstr (settings, ==, mixed_settings);
  /* one device alone has its own limit; host memory is read where it is asked for */
  options.device = 0;
  g_autoptr (GArray) alone = read_text (text, strlen (text), &options, &settings);
  g_assert_true (g_str_has_prefix (settings, "limit=67108864B"));
  g_assert_cmpuint (alone->len, <, plain->len);
  options.device = GEMEM_DEVICE_HOST;
  g_autoptr (GArray) host = read_text (text, strlen (text), &options, &settings);
  g_assert_true (g_str_has_prefix (settings, "limit=33554432B"));
  g_assert_cmpuint (host->len, >, 5);
}

/* ---- forms of the lines */

static void
test_forms (void)
{
  expect (FAILED ("GPU_0_bfc", "512") ONE ("GPU_0_bfc"),
          ONE_EVENTS "alloc 2 +512 !8 'MatMul'; free 2 +512 !8; | 1e |");
  expect (ONE ("GPU_3_bfc"),
          "segment-alloc +1024 @1000 d3 !1; alloc 1 +256/256 @1000 d3 !1; | 1e |");
  /* prefixes of TensorFlow 2 before and after 2.16, Windows line ends */
  expect (
      "2024-01-05 12:00:00.123456: I external/local_xla/xla/tsl/framework/bfc_allocator.cc:1039]"
      " " DUMP ("GPU_0_bfc") "2024-01-05 12:00:00.123457: I "
                             "tensorflow/tsl/framework/bfc_allocator.cc:1] " REGION (
                                 "256") "(Worker pid=7) 2024-01-05 12:00:00.1: I "
                                        "tensorflow/bfc_allocator.cc:1] " USED (
                                            "0x1000", "256") "I0105 12:00:00.1 "
                                                             "77 other.cc:1] "
                                                             "nothing\r\n"
                                                             "2024-01-05 "
                                                             "12:00:00.1: I "
                                                             "tensorflow/"
                                                             "bfc_allocator.cc:"
                                                             "1] Sum Total of "
                                                             "in-use chunks: "
                                                             "256B\r\n",
      "segment-alloc +256 @1000 !1; alloc 1 +256/256 @1000 !1; | 1e |");
  /* TensorFlow 1: neither the begin of a dump nor regions, which end where no chunk follows */
  expect ("Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00MiB.  Current allocation "
          "summary follows.\n" BIN (
              "4", "2") "Chunk at 0x2000 of size 256\nChunk at 0x1000 of size "
                        "512\nFree at 0x1200 of size 256\nFree at 0x2100 of size 256\n" END
                        "Stats: \nLimit:   8192\nInUse: 3\n",
          "segment-alloc +768 @1000 !1; segment-alloc +512 @2000 !1; alloc 1 +512/512 @1000 !1; "
          "alloc 2 +256/256 @2000 !1; alloc 3 +2097152 !8; free 3 +2097152 !8; | 1e |");
  /* up to 1.2 the bins count free chunks alone */
  expect (BIN ("2", "0") "Chunk at 0x2000 of size 256\nChunk at 0x1000 of size "
                         "512\nFree at 0x1200 of size 256\nFree at 0x2100 of size 256\n" END,
          "segment-alloc +768 @1000 !1; segment-alloc +512 @2000 !1; alloc 1 +512/512 @1000 !1; "
          "alloc 2 +256/256 @2000 !1; | 1e |");
  /* the operation that allocated a chunk, as builds for debugging write it; other orders of fields */
  expect (DUMP ("a") REGION ("512") "InUse at 0x1000 next 1 of size 256 by op Fill action_count 3 "
                                    "step 0\n" FREE ("1100", "256") END,
          "segment-alloc +512 @1000 !1; alloc 1 +256/256 @1000 !1 'Fill'; | 1e |");
  /* nothing was allocated when a request above the limit came */
  expect (FAILED ("GPU_0_bfc", "512") DUMP ("GPU_0_bfc") END,
          "alloc 1 +512 !8 'MatMul'; free 1 +512 !8; | 1e |");
}

static void
test_several (void)
{
  /* the last dump of each allocator; an unfinished one does not replace it */
  expect (ONE ("GPU_0_bfc") DUMP ("GPU_0_bfc") REGION ("256") USED ("5000", "256") END,
          "segment-alloc +256 @5000 !1; alloc 1 +256/256 @5000 !1; | 1e | skipped 0 | 1 "
          "earlier dumps");
  expect (ONE ("GPU_0_bfc") DUMP ("GPU_0_bfc") REGION ("256") USED ("5000", "256"),
          ONE_EVENTS "| 1e | skipped 0 | 1 dumps are cut");
  expect (ONE ("GPU_0_bfc") ONE ("GPU_1_bfc"),
          ONE_EVENTS "segment-alloc +1024 @1000 d1 !1; alloc 2 +256/256 @1000 d1 !1; | 1e |");
  expect (ONE ("gpu_host_bfc") ONE ("GPU_0_bfc"),
          ONE_EVENTS "| 1e | skipped 0 | the dump of gpu_host_bfc, of the host's memory");
  expect (ONE ("a") ONE ("b"), ONE_EVENTS "| 1e | skipped 0 | the dump of a is left out, b is");
}

/* ---- damage */

static void
test_damage (void)
{
  static const struct
  {
    const char *text, *message;
  } cases[] = {
    { "nothing\n", "x:1: the log has no dump of TensorFlow's BFC allocator" },
    { USED ("1000", "256") "x\n", "x:1: chunks of the BFC allocator without the beginning" },
    { DUMP ("a") REGION ("256") USED ("1000", "256"), "x:1: in the dump of a its end is missing" },
    { DUMP ("a") REGION ("512") USED ("1000", "256") END,
      "x:2: in the dump of a a region of 512 bytes has chunks of 256 bytes" },
    { DUMP ("a") REGION ("512") USED ("1000", "256") USED ("1200", "256") END,
      "x:2: in the dump of a the chunks of a region do not follow one another" },
    { DUMP ("a") REGION ("256") USED ("2000", "256") REGION ("256") USED ("1000", "256") END,
      "x:4: in the dump of a its regions are not in the order" },
    { DUMP ("a") BIN ("3", "1") REGION ("256") USED ("1000", "256") END,
      "x:1: in the dump of a its bins have 3 chunks, 1 in use, and its list 1, 1 in use" },
    { BIN ("3", "0") "Chunk at 0x1000 of size 256\nFree at 0x1100 of size 256\n" END,
      "x:1: in the dump of the allocator its bins have 3 chunks, 0 in use, and its list 2, 1 in "
      "use" },
    { DUMP ("a") REGION ("256") "InUse at 1000 of si\n" END,
      "x:3: in the dump of a the line of a" },
    { DUMP ("a") REGION ("256") USED ("zebra", "256") END, "x:3: in the dump of a the line of a" },
    { DUMP ("a") REGION ("256") USED ("1000", "0") END, "x:3: in the dump of a the line of a" },
    { DUMP ("a") REGION ("256") USED ("1000", "99999999999999999999") END,
      "x:3: in the dump of a the line of a" },
    { DUMP ("a") REGION ("256") USED ("ffffffffffffff00", "512") END,
      "x:3: in the dump of a the line of a" },
    { DUMP ("a") REGION ("9223372036854775808") END, "x:2: in the dump of a the size of a region" },
    { DUMP ("a") "Bin (256): \tTotal Ch\n" END, "x:2: in the dump of a the line of a bin is cut" },
    { END "x\n" FREE ("1100", "768") USED ("1000", "256") REGION ("1024") BIN ("2", "1") DUMP ("a"),
      "x:7: in the dump of a its end is missing" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *got = test_trace_text (cases[i].text, -1, FORMAT, FALSE, FALSE);
      const char *message = strchr (cases[i].message, ':');

      if (strstr (got, message) == NULL)
        g_assert_cmpstr (got, ==, cases[i].message);
    }
  /* what is there, without regions, is a trace with --allow-partial */
  expect_partial (DUMP ("a") REGION ("512") USED ("2000", "256") USED ("1000", "256")
                      USED ("1080", "256"),
                  TRUE, "alloc 1 +256/256 @1000 !1; alloc 2 +256/256 @2000 !1; | 3a |");
}

/* Cut at any byte the log is whole, or refused; partly read it is never more than the whole. */
static void
test_cut (void)
{
  g_autofree char *text = sample ("cpu-oom.log");
  const gsize size = strlen (text), end = (gsize) (strstr (text, "Sum Total of") - text);

  for (gsize length = 0; length < size; length += 7)
    {
      g_autofree char *got = test_trace_text (text, (gssize) length, FORMAT, FALSE, FALSE);
      g_autofree char *partial = test_trace_text (text, (gssize) length, FORMAT, TRUE, FALSE);

      g_assert_cmpint (g_str_has_prefix (got, "segment-alloc"), ==, length >= end + 27);
      g_assert_false (g_str_has_prefix (partial, "segment-alloc") && length < end);
    }
}

/* Bytes changed at random: read or refused, nothing else. */
static void
test_noise (void)
{
  g_autofree char *text = sample ("two.log");
  const gsize size = strlen (text);
  guint64 state = 88172645463325252;

  for (guint round = 0; round < 200; round++)
    {
      g_autofree char *noisy = g_memdup2 (text, size + 1);
      for (guint k = 0; k < 40; k++)
        {
          state ^= state << 13;
          state ^= state >> 7;
          state ^= state << 17;
          noisy[state % size] = "0f\n ] "[state >> 32 & 7 % 6];
        }
      g_autofree char *got = test_trace_text (noisy, (gssize) size, FORMAT, round % 2 == 0, FALSE);
      g_assert_cmpuint (strlen (got), >, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensorflow-dump/real", test_real);
  g_test_add_func ("/tensorflow-dump/threads", test_threads);
  g_test_add_func ("/tensorflow-dump/forms", test_forms);
  g_test_add_func ("/tensorflow-dump/several", test_several);
  g_test_add_func ("/tensorflow-dump/damage", test_damage);
  g_test_add_func ("/tensorflow-dump/cut", test_cut);
  g_test_add_func ("/tensorflow-dump/noise", test_noise);
  return g_test_run ();
}
