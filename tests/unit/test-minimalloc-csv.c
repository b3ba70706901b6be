/* test-minimalloc-csv.c - tables of lifetimes: the sample of peers.md 2.4, all columns, damage, and
 * the instances under shared/dsa. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "tests/util/testutil.h"
#include "traces/trace.h"

#define SAMPLE "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"

static GememTraceReader *
open_text (const char *text, gsize size, gboolean partial, GError **error)
{
  GememReadOptions options = { partial, -1 };
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.csv"), "minimalloc-csv",
                                 &options, error);
}

/* "+1:4 -1:4@3 ...", notes; or the error. */
static char *
run (const char *text, gboolean partial)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = open_text (text, strlen (text), partial, &error);
  const GememTraceEvent *events;
  GString *out = g_string_new (NULL);
  gssize n;

  if (reader == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      return g_string_free (g_string_assign (out, error->message), FALSE);
    }
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      g_string_append_printf (
          out, "%c%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT "%s%s ",
          events[i].kind == GEMEM_EVENT_ALLOC ? '+' : '-', events[i].id, events[i].size,
          events[i].time, events[i].tag != 0 ? "=" : "",
          (char *) g_ptr_array_index (reader->info.strings, events[i].tag));
  g_assert_no_error (error);
  g_string_append_printf (out, "| %x", reader->info.flags);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    g_string_append_printf (out, " | %s", (char *) g_ptr_array_index (reader->info.provenance, i));
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static void
expect (const char *text, gboolean partial, const char *expected)
{
  g_autofree char *got = run (text, partial);
  g_assert_cmpstr (got, ==, expected);
}

#define TIME "time: logical, one step is 1 ns"

static void
test_sample (void)
{
  /* Frees before allocations at the same moment, each in the order of the file. */
  expect (SAMPLE, FALSE,
          "+1:4@0=b1 +3:4@0=b3 +5:4@0=b5 -1:4@3 +2:4@3=b2 -2:4@9 -3:4@9 +4:4@9=b4 -4:4@21 -5:4@21 "
          "| 1 | " TIME);
}

static void
test_columns (void)
{
  /* Any order, aliases, blanks, CRLF, negative times; `end` is the last moment itself. */
  expect ("size, end ,buffer,begin\r\n 7, -3 ,x,-5\r\n8,-2,y,-2\r\n", FALSE,
          "+1:7@0=x -1:7@3 +2:8@3=y -2:8@4 | 1 | " TIME);
  expect ("start,upper,buffer_id,size\n1,2,a,0\n", FALSE, "+1:0@0=a -1:0@1 | 1 | " TIME);
  /* Optional columns are read and noted. */
  expect ("id,lower,upper,size,alignment,hint,gaps,offset\na,0,9,4,64,-1,2-3 "
          "5-6@0:2,0\nb,1,2,4,1,0,,\nc,1,2,4,,,,\n",
          FALSE,
          "+1:4@0=a +2:4@1=b +3:4@1=c -2:4@2 -3:4@2 -1:4@9 | 1 | " TIME
          " | left out: 1 buffers have a hint | alignments above 1: 1 of 3 buffers | "
          "gaps: 1 of 3 buffers | fixed offsets: 1 of 3 buffers");
  expect ("id,lower,upper,size,offset\na,0,9,4,0\nb,1,2,4,4\n", FALSE,
          "+1:4@0=a +2:4@1=b -2:4@2 -1:4@9 | 1 | " TIME
          " | left out: 2 buffers have an offset, all of them");
  /* A blank line ends the table. */
  expect ("id,lower,upper,size\na,0,1,4\n\nb,0,1,4\n", FALSE,
          "+1:4@0=a -1:4@1 | 1 | left out: 1 lines behind the blank line | " TIME);
  expect ("id,lower,upper,size\n", FALSE, "| 1 | " TIME);
}

static void
test_damage (void)
{
#define ROW(row) "id,lower,upper,size\na,0,1,4\n" row "\n"
  expect (ROW ("b,0,1"), FALSE,
          "x.csv:3: the row has fewer columns than the header; correct it or fetch the file again");
  expect (ROW ("b,0,1,4,5"), FALSE,
          "x.csv:3: the row has more columns than the header; correct it or fetch the file again");
  expect (ROW ("b,0,x,4"), FALSE, "x.csv:3: \"x\" is no integer of 64 bits; correct the row");
  expect (ROW ("b,0,,4"), FALSE, "x.csv:3: \"\" is no integer of 64 bits; correct the row");
  expect (ROW ("b,0,99999999999999999999,4"), FALSE,
          "x.csv:3: \"99999999999999999999\" is no integer of 64 bits; correct the row");
  expect (ROW ("b,0,2000000000000000000,4"), FALSE,
          "x.csv:3: a time of 2000000000000000000; it must be within 2^60 steps of 0");
#undef ROW
#define ROW(row) "id,lower,end,size,gaps,alignment,offset\na,0,1,4,,,\n" row "\n"
  /* `end` is the last step in gaps, too. */
  expect (ROW ("b,0,9,4,3-4 5-9@1:4,2,"), FALSE,
          "+1:4@0=a +2:4@0=b -1:4@2 -2:4@10 | 1 | " TIME
          " | alignments above 1: 1 of 2 buffers | gaps: 1 of 2 buffers");
  expect (ROW ("b,0,9,4,3-4 4-9,,"), FALSE,
          "x.csv:3: buffer \"b\": a gap from 4 to 10, which is not within its life after the gap "
          "before; correct the row");
  expect (ROW ("b,0,9,4,3-4@1,,"), FALSE,
          "x.csv:3: \"3-4@1\" is no gap; write it as 3-5, or 3-5@0:64 for the bytes in use");
  expect (ROW ("b,0,9,4,3-4@1:2:3,,"), FALSE,
          "x.csv:3: \"3-4@1:2:3\" is no gap; write it as 3-5, or 3-5@0:64 for the bytes in use");
  expect (ROW ("b,0,9,4,-3-,,"), FALSE,
          "x.csv:3: \"-3-\" is no gap; write it as 3-5, or 3-5@0:64 for the bytes in use");
  expect (ROW ("b,0,9,4,,-2,"), FALSE, "x.csv:3: an alignment of -2; it must be from 1 to 2^40");
  expect (ROW ("b,0,9,4,,,-2"), FALSE, "x.csv:3: an offset of -2; it must be from 0 to 2^62");
  expect (ROW ("b,0,9,4,,,4611686018427387904"), FALSE,
          "x.csv:3: an offset of 4611686018427387904; it must be from 0 to 2^62");
#undef ROW
#define ROW(row) "id,lower,upper,size\na,0,1,4\n" row "\n"
  expect (ROW ("b,0,1,-4"), FALSE, "x.csv:3: a size of -4 bytes; it must be from 0 to 2^60");
  expect (ROW ("b,0,1,1152921504606846976"), FALSE,
          "x.csv:3: a size of 1152921504606846976 bytes; it must be from 0 to 2^60");
  expect (ROW ("b,5,5,4"), FALSE,
          "x.csv:3: the buffer ends at 5, not after its start at 5; correct the row");
  expect (ROW ("b,5,3,4"), FALSE,
          "x.csv:3: the buffer ends at 3, not after its start at 5; correct the row");
  expect (ROW ("a,5,6,4"), FALSE, "x.csv:3: buffer \"a\" is there twice; ids must differ");
  expect (ROW (",5,6,4"), FALSE, "x.csv:3: a buffer without id; give it one");
  expect ("id,lower,upper,size,colour\n", FALSE,
          "x.csv:1: column \"colour\" is not known; known are id, lower, upper (or end), size, "
          "alignment, hint, gaps, offset");
  expect ("id,lower,upper,size,buffer\n", FALSE,
          "x.csv:1: column \"buffer\" is there twice; remove one");
  expect ("id,lower,size\n", FALSE,
          "x.csv:1: the header must name id, lower, size and one of upper and end; this is no "
          "table of lifetimes");
  expect ("id,lower,upper,end,size\n", FALSE,
          "x.csv:1: the header must name id, lower, size and one of upper and end; this is no "
          "table of lifetimes");
  expect ("", FALSE, "x.csv:1: the file is empty; name a table of lifetimes");
  expect (ROW ("b,0,x,4"), TRUE,
          "+1:4@0=a -1:4@1 | 21 | partial: x.csv:3: \"x\" is no integer of 64 bits; correct the "
          "row | " TIME);
}

static void
test_truncated (void)
{
  for (gsize size = 0; size < sizeof SAMPLE - 1; size++)
    {
      g_autoptr (GError) error = NULL;
      GememTraceReader *reader = open_text (SAMPLE, size, FALSE, &error);
      /* a table cut after a line is a shorter table */
      gboolean line_end = size > 0 && SAMPLE[size - 1] == '\n';
      g_assert_cmpint (reader != NULL, ==, line_end);
      if (reader == NULL)
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      gemem_trace_close (reader);
      reader = open_text (SAMPLE, size, TRUE, NULL);
      if (reader != NULL)
        g_assert_cmpint ((reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0, ==, !line_end);
      gemem_trace_close (reader);
    }
}

/* ---- shared/dsa */

static void
check_instance (const char *path, guint64 buffers, guint64 lower_bound)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  const GememTraceEvent *events;
  guint64 live = 0, peak = 0, allocs = 0, frees = 0;
  gssize n;

  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "minimalloc-csv");
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        gboolean alloc = events[i].kind == GEMEM_EVENT_ALLOC;
        *(alloc ? &allocs : &frees) += 1;
        live += alloc ? events[i].size : -events[i].size;
        peak = MAX (peak, live);
      }
  g_assert_no_error (error);
  g_assert_cmpuint (allocs, ==, frees);
  if (buffers != 0)
    g_assert_cmpuint (allocs, ==, buffers);
  else
    g_assert_true (allocs >= 154 && allocs <= 454);
  g_assert_cmpuint (reader->info.events, ==, 2 * allocs);
  g_assert_cmpuint (peak, ==, lower_bound);
  g_assert_cmpuint (live, ==, 0);
  gemem_trace_close (reader);
}

/* Counts and lower bounds of shared/dsa/README.md. */
static void
test_instances (void)
{
  static const struct
  {
    const char *path;
    guint64 buffers, lower_bound;
  } traces[] = {
    { "dsa/minimalloc/input.12.csv", 5, 12 },
    { "dsa/traces/resnet50.csv.gz", 1042, 1515472556 },
    { "dsa/traces/pangu_2.6B.csv.gz", 18692, G_GUINT64_CONSTANT (5530099775) },
    { "dsa/traces/G_1.csv.gz", 816, G_GUINT64_CONSTANT (3030937746) },
    { "dsa/traces/S_1.csv.gz", 28526, 1498635932 },
    { "dsa/traces/Y_1.csv.gz", 62185, G_GUINT64_CONSTANT (497261190115) },
  };

  for (char letter = 'A'; letter <= 'K'; letter++)
    {
      g_autofree char *relative = g_strdup_printf ("dsa/minimalloc/%c.1048576.csv", letter),
                      *path = test_shared_path (relative);
      if (path == NULL)
        return;
      check_instance (path, 0,
                      letter == 'C'   ? 1039360
                      : letter == 'D' ? 986112
                      : letter == 'J' ? 989184
                                      : 1048576);
    }
  for (guint i = 0; i < G_N_ELEMENTS (traces); i++)
    {
      g_autofree char *path = test_shared_path (traces[i].path);
      if (path == NULL)
        return;
      check_instance (path, traces[i].buffers, traces[i].lower_bound);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/minimalloc-csv/sample", test_sample);
  g_test_add_func ("/minimalloc-csv/columns", test_columns);
  g_test_add_func ("/minimalloc-csv/damage", test_damage);
  g_test_add_func ("/minimalloc-csv/truncated", test_truncated);
  g_test_add_func ("/minimalloc-csv/instances", test_instances);
  return g_test_run ();
}
