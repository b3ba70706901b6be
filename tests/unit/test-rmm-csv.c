/* test-rmm-csv.c - logs of RMM: the documented sample, every variant, midnight, races, and damage
 * in every column. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "traces/trace.h"

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"
#define OLD \
  "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current " \
  "Allocs,Start,End,Elapsed,Location\n"

/* "KIND@TIME DEVICE#ID:SIZE/ADDRESS/STREAM ...| flags, skipped, notes", or the error. */
static char *
run (const char *text, gsize size, const char *name, int device, gboolean partial)
{
  GememReadOptions options = { partial, device };
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, name),
                                                     "rmm-csv", &options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  gssize n = 0;

  while (reader != NULL && (n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      g_string_append_printf (out,
                              "%s@%" G_GUINT64_FORMAT " %u#%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT
                              "/%" G_GINT64_MODIFIER "x/%" G_GINT64_MODIFIER "x ",
                              gemem_event_kind_name (events[i].kind), events[i].time,
                              events[i].device, events[i].id, events[i].size, events[i].address,
                              events[i].stream);
  if (error != NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_string_assign (out, error->message);
    }
  else
    {
      g_string_append_printf (out, "| %x %" G_GUINT64_FORMAT, reader->info.flags,
                              reader->info.skipped);
      for (guint i = 0; i < reader->info.provenance->len; i++)
        g_string_append_printf (out, " | %s",
                                (char *) g_ptr_array_index (reader->info.provenance, i));
    }
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static void
expect (const char *text, const char *expected)
{
  g_autofree char *got = run (text, strlen (text), "x.csv", -1, FALSE);
  g_assert_cmpstr (got, ==, expected);
}

static void
expect_partial (const char *text, const char *expected)
{
  g_autofree char *got = run (text, strlen (text), "x.csv", -1, TRUE);
  g_assert_cmpstr (got, ==, expected);
}

/* The sample of peers.md 2.3, and its recognition. */
static void
test_sample (void)
{
  static const char text[] = HEADER "2342727,15:47:02.841961,allocate,0x10012400000,1048576,"
                                    "0\n2342727,15:47:02.841977,free,0x10012400000,1048576,0\n";
  expect (text, "alloc@0 0#1:1048576/10012400000/0 free@16000 0#1:1048576/10012400000/0 | 3 0");
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, sizeof text - 1);
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.csv"),
                                                     NULL, NULL, NULL);
  g_assert_nonnull (reader);
  g_assert_cmpstr (reader->format->name, ==, "rmm-csv");
  gemem_trace_close (reader);
  expect (HEADER, "| 3 0");
}

static void
test_variants (void)
{
  /* A colon before the fraction; streams 1, 2, decimal, hexadecimal with and without 0x; CRLF; an
   * empty line. */
  expect (HEADER "1,00:00:00:000001,allocate,0x100,8,1\r\n\r\n2,00:00:00:000002,allocate,0x200,8,"
                 "2\r\n1,00:00:00:000003,allocate,0x300,8,94012345\n"
                 "1,00:00:00:000004,allocate,0x400,8,0x7f11\n1,00:00:00:000005,allocate,0X500,8,"
                 "7f1a\n1,00:00:00:000006,allocate,600,8,0\n",
          "alloc@0 0#1:8/100/1 alloc@1000 0#2:8/200/2 alloc@2000 0#3:8/300/59a83b9 alloc@3000 "
          "0#4:8/400/7f11 alloc@4000 0#5:8/500/7f1a "
          "alloc@5000 0#6:8/600/0 | 3 0");
  /* Failures, with null pointers as three C libraries print them; requests of zero bytes. */
  expect (HEADER "1,00:00:00.1,allocate failure,(nil),11136000000,0\n1,00:00:00.2,allocate "
                 "failure,0x0,7,0\n1,00:00:00.3,allocate "
                 "failure,0000000000000000,7,0\n"
                 "1,00:00:00.4,allocate,(nil),0,0\n1,00:00:00.5,free,(nil),0,0\n",
          "oom@0 0#0:11136000000/0/0 oom@100000000 0#0:7/0/0 oom@200000000 0#0:7/0/0 | 3 2 | note: "
          "2 rows with a null pointer are left out");
  /* An address is used again: another id. */
  expect (
      HEADER
      "1,00:00:00,allocate,0x100,8,0\n1,00:00:01,free,0x100,8,0\n1,00:00:02,allocate,0x100,16,0\n",
      "alloc@0 0#1:8/100/0 free@1000000000 0#1:8/100/0 alloc@2000000000 0#2:16/100/0 | 3 0");
}

static void
test_old (void)
{
  expect (OLD "Alloc,0,0x7f0000000000,0,1024,100,200,1,0.5,0.6,0.1,/a/"
              "b.cpp:12\nAlloc,1,0x7f0000000000,0x10,2048,100,200,1,0.75,0.8,0.1,/a/"
              "b,c.cpp:12\n"
              "Realloc,0,0x7f0000000000,0,4096,100,200,1,1e0,1.1,0.1,x\nFree,0,0x7f0000000000,0,0,"
              "100,200,0,1.25,1.3,0.05,x\n",
          "alloc@0 0#1:1024/7f0000000000/0 alloc@250000000 1#2:2048/7f0000000000/10 free@500000000 "
          "0#1:4096/7f0000000000/0 "
          "alloc@500000000 0#3:4096/7f0000000000/0 free@750000000 0#3:0/7f0000000000/0 | 3 0");
  expect (OLD "Realloc,0,0x7f0000000000,0,4096,100,200,1,1.0,1.1,0.1,x\n",
          "x.csv:2: a Realloc to another address does not tell which block it frees; this log "
          "cannot be replayed");
  expect (OLD "Alloc,0,0x1,0,-4,100,200,1,1.0,1.1,0.1,x\n",
          "x.csv:2: device, address, stream or size is no number; the log is damaged");
  expect (OLD "Alloc,256,0x1,0,4,100,200,1,1.0,1.1,0.1,x\n",
          "x.csv:2: device or size is out of range; the log is damaged");
  expect (OLD "Alloc,0,0x1,0,4,100,200,1,,1.1,0.1,x\n",
          "x.csv:2: memory figures or Start are no numbers; the log is damaged");
  expect (OLD "alloc,0,0x1,0,4,100,200,1,1,1.1,0.1,x\n",
          "x.csv:2: the event type is none of Alloc, Realloc and Free; the log is damaged");
}

static void
test_devices (void)
{
  static const char text[] = HEADER "1,00:00:00,allocate,0x100,8,0\n";
  g_autofree char *named = run (text, sizeof text - 1, "logs.dev1/rmm.dev3.csv", -1, FALSE);
  g_assert_cmpstr (named, ==, "alloc@0 3#1:8/100/0 | 3 0");
  g_autofree char *other = run (text, sizeof text - 1, "rmm.dev3.csv", 2, FALSE);
  g_assert_cmpstr (other, ==, "| 3 1");
  g_autofree char *wild = run (text, sizeof text - 1, "rmm.dev999.csv", -1, FALSE);
  g_assert_cmpstr (wild, ==, "alloc@0 0#1:8/100/0 | 3 0");
}

static void
test_clock (void)
{
  /* Past midnight twice, with a race of two threads at midnight. */
  expect (HEADER "1,23:59:59.5,allocate,0x100,8,0\n1,00:00:00.1,allocate,0x200,8,0\n2,23:59:59.9,"
                 "allocate,0x300,8,0\n1,12:00:00,allocate,0x400,8,0\n"
                 "1,23:00:00,allocate,0x500,8,0\n1,01:00:00,allocate,0x600,8,0\n",
          "alloc@0 0#1:8/100/0 alloc@600000000 0#2:8/200/0 alloc@600000000 0#3:8/300/0 "
          "alloc@43200500000000 0#4:8/400/0 "
          "alloc@82800500000000 0#5:8/500/0 alloc@90000500000000 0#6:8/600/0 "
          "| 3 0 | note: 1 rows are a little earlier than the row before, their times were raised");
  /* A race of up to a second keeps the order of the file; more is an error. */
  expect (HEADER "1,10:00:01,allocate,0x100,8,0\n2,10:00:00,free,0x100,8,0\n",
          "alloc@0 0#1:8/100/0 free@0 0#1:8/100/0 | 3 0 | note: 1 rows are a little earlier than "
          "the row before, their times were raised");
  expect (HEADER "1,10:00:01.25,allocate,0x100,8,0\n2,10:00:00,free,0x100,8,0\n",
          "x.csv:3: time runs 1.250 s backwards; logs were joined or sorted otherwise, split them "
          "or sort them by time");
}

static void
test_damage (void)
{
#define ROW(row) HEADER "1,00:00:00,allocate,0x100,8,0\n" row "\n"
  static const char *const time =
      "x.csv:3: the time is not HH:MM:SS with a fraction; the log is damaged";
  static const char *const size =
      "x.csv:3: the size is no number of bytes below 2^60; the log is damaged";
  static const char *const stream =
      "x.csv:3: the stream is no number, or more columns follow; the log is damaged";

  expect (ROW ("junk"), "x.csv:3: no row of six columns; the log is damaged, cut the line out or "
                        "use --allow-partial");
  expect (ROW ("1,24:00:00,free,0x100,8,0"), time);
  expect (ROW ("1,00:60:00,free,0x100,8,0"), time);
  expect (ROW ("1,0:00:00,free,0x100,8,0"), time);
  expect (ROW ("1,00:00:00.,free,0x100,8,0"), time);
  expect (ROW ("1,00:00"), time);
  expect (ROW ("1,00:00:00,frees,0x100,8,0"),
          "x.csv:3: the action is none of allocate, free and allocate failure; the log is damaged");
  expect (ROW ("1,00:00:00,free,(null),8,0"),
          "x.csv:3: the pointer is no hexadecimal number; the log is damaged");
  expect (ROW ("1,00:00:00,free,0x11112222333344445,8,0"),
          "x.csv:3: the pointer is no hexadecimal number; the log is damaged");
  expect (ROW ("1,00:00:00,free,0x100,,0"), size);
  expect (ROW ("1,00:00:00,free,0x100,99999999999999999999,0"), size);
  expect (ROW ("1,00:00:00,free,0x100,1152921504606846976,0"), size);
  expect (ROW ("1,00:00:00,free,0x100,-8,0"), "x.csv:3: the size is negative; the log is damaged");
  expect (ROW ("1,00:00:00,free,0x100,8,"), stream);
  expect (ROW ("1,00:00:00,free,0x100,8,0,1"), stream);
  expect (ROW ("1,00:00:00,free,0x200,8,0"),
          "x.csv:3: 0x200 is freed, but not live by this log; if the log starts in the middle, use "
          "--allow-partial to leave "
          "such frees out");
  expect (ROW ("1,00:00:00,allocate,0x100,8,0"),
          "x.csv:3: 0x100 is allocated while it is live; a free is missing, or the logs of several "
          "resources were joined");
  expect ("Thread,Time\n",
          "x.csv:1: the first line is not \"Thread,Time,Action,Pointer,Size,Stream\"; this is no "
          "log of RMM, or the line was cut off");
  expect ("", "x.csv:1: the file is empty; name a log of RMM");
  expect_partial (ROW ("1,00:00:00,free,0x200,8,0\n1,00:00:01,free,0x100,8,0"),
                  "alloc@0 0#1:8/100/0 free@1000000000 0#1:8/100/0 | 13 1 | note: 1 frees of "
                  "pointers that this log never allocated are left out");
  expect_partial (ROW ("junk"),
                  "alloc@0 0#1:8/100/0 | 23 0 | partial: x.csv:3: no row of six columns; the log "
                  "is damaged, cut the line out or use --allow-partial");
}

/* Cut anywhere except at the end of a line, a log is refused; whole lines are delivered on
 * request. */
static void
test_truncated (void)
{
  static const char text[] = HEADER
      "1,00:00:00.000001,allocate,0x100,8,0\n1,00:00:00.000002,free,0x100,8,0x7f00\n";

  for (gsize size = 0; size < sizeof text - 1; size++)
    {
      g_autofree char *got = run (text, size, "x.csv", -1, FALSE),
                      *partial = run (text, size, "x.csv", -1, TRUE);
      gboolean line_end = size > 0 && text[size - 1] == '\n', header = size >= sizeof HEADER - 2;
      g_assert_cmpint (g_str_has_prefix (got, "x.csv:"), ==,
                       !line_end && size != sizeof HEADER - 2);
      g_assert_cmpint (strstr (partial, "| 23 0 | partial: x.csv:") != NULL, ==,
                       header && !line_end && size != sizeof HEADER - 2);
    }
}

/* Rows that straddle the windows of the input, and a line without end. */
static void
test_long (void)
{
  g_autoptr (GString) text = g_string_new (HEADER);
  for (guint i = 0; i < 50000; i++)
    g_string_append_printf (text, "%u,10:%02u:%02u.%06u,allocate,0x%x,%u,%u\n", i % 7, i / 60 % 60,
                            i % 60, i, 4096 + i, i + 1, i % 3);
  g_autofree char *all = run (text->str, text->len, "x.csv", -1, TRUE);
  /* then the minutes wrap: refused as running backwards, earlier events are kept */
  g_assert_nonnull (strstr (all, "#60:60/"));
  g_string_truncate (text, strlen (HEADER));
  for (guint i = 0; i < 50000; i++)
    g_string_append_printf (text, "%u,10:%02u:%02u.%06u,allocate,0x%x,%u,%u\n", i % 7, i / 1000,
                            i % 1000 * 60 / 1000, i % 17, 4096 + i, i + 1, i % 3);
  g_autofree char *sorted = run (text->str, text->len, "x.csv", -1, FALSE);
  g_assert_nonnull (strstr (sorted, "#50000:50000/d34f/1 |"));
  g_autofree char *fill = g_strnfill (70000, '1'), *line = g_strconcat (HEADER, fill, NULL);
  expect (line, "x.csv:1: the next line is longer than 65536 bytes; this is no log of RMM");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rmm-csv/sample", test_sample);
  g_test_add_func ("/rmm-csv/variants", test_variants);
  g_test_add_func ("/rmm-csv/old", test_old);
  g_test_add_func ("/rmm-csv/devices", test_devices);
  g_test_add_func ("/rmm-csv/clock", test_clock);
  g_test_add_func ("/rmm-csv/damage", test_damage);
  g_test_add_func ("/rmm-csv/truncated", test_truncated);
  g_test_add_func ("/rmm-csv/long", test_long);
  return g_test_run ();
}
