/* test-kineto.c - [memory] events of profiler traces: the recording against expected.json, small
 * ones of several versions of PyTorch (tests/data/kineto), and traces made by hand. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/io/input.h"
#include "tests/util/json.h"
#include "tests/util/testutil.h"
#include "traces/origin.h"

/* clang-format off: texts in pieces, a line each */

#define EVENT(ts, type, device, addr, bytes, total) \
  RESERVED (ts, type, device, addr, bytes, total, "0")
#define RESERVED(ts, type, device, addr, bytes, total, reserved) \
  "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1," \
  "\"tid\":1,\"ts\":" ts ",\"args\":{\"Device Type\":" type ",\"Device Id\":" device \
  ",\"Addr\":" addr ",\"Bytes\":" bytes ",\"Total Allocated\":" total \
  ",\"Total Reserved\":" reserved "}}"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "],\"traceName\":\"x\"}"
#define OTHER "{\"ph\":\"X\",\"name\":\"aten::mul\",\"ts\":1,\"dur\":2,\"args\":{\"Bytes\":7}}"

static GememTraceReader *
open_text (const char *text, gsize size, const GememReadOptions *options, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.json"), "kineto", options,
                                 error);
}

/* "KIND@TIME DEVICE#ID:SIZE", with the address of segments and of initial blocks. */
static void
append_event (GString *out, const GememTraceReader *reader, const GememTraceEvent *event)
{
  const gboolean initial = (event->flags & GEMEM_EVENT_INITIAL) != 0;

  g_string_append_printf (out,
                          "%s%s@%" G_GUINT64_FORMAT " %u#%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT,
                          initial ? "i:" : "", gemem_event_kind_name (event->kind), event->time,
                          event->device, event->id, event->size);
  if ((initial || event->id == 0) && event->address != 0)
    g_string_append_printf (out, "[%" G_GINT64_MODIFIER "x]", event->address);
  g_string_append_printf (out, "%s%s", (event->flags & GEMEM_EVENT_SMALL) != 0 ? "s" : "",
                          (event->flags & GEMEM_EVENT_AMBIGUOUS) != 0 ? "?" : "");
  if (event->tag != GEMEM_NO_TAG)
    g_string_append_printf (out, "'%s'",
                            (char *) g_ptr_array_index (reader->info.strings, event->tag));
  g_string_append_c (out, ' ');
}

/* The events and the facts; or the error. */
static char *
run (const char *text, int device, gboolean partial)
{
  GememReadOptions options = { partial, device };
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = open_text (text, strlen (text), &options, &error);
  const GememTraceEvent *events;
  gssize n;

  if (reader == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      return g_strdup (error->message);
    }
  GString *out = g_string_new (NULL);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      append_event (out, reader, &events[i]);
  g_assert_no_error (error);
  g_string_append_printf (out, "| flags %x skipped %" G_GUINT64_FORMAT, reader->info.flags,
                          reader->info.skipped);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    g_string_append_printf (out, " | %s", (char *) g_ptr_array_index (reader->info.provenance, i));
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static void
expect (const char *text, int device, gboolean partial, const char *expected)
{
  g_autofree char *got = run (text, device, partial);
  g_assert_cmpstr (got, ==, expected);
}

static void
test_order (void)
{
  /* Two threads in turn; equal times keep the file's order; fractions of a microsecond count. */
  expect (
      TRACE (EVENT ("20", "1", "0", "4096", "512", "1024") "," EVENT (
          "30", "1", "0", "4096", "-512",
          "512") "," OTHER "," EVENT ("10.5", "1", "0", "8192", "512",
                                      "512") "," EVENT ("30", "1", "0", "4096", "1024", "1536")),
      -1, FALSE,
      "alloc@0 0#1:512 alloc@9500 0#2:512 free@19500 0#2:512 alloc@19500 0#3:1024 | flags b "
      "skipped 1");
  /* A bare list is a Chrome trace, too. */
  expect ("[" EVENT ("5", "1", "0", "4096", "512", "512") "]", -1, FALSE,
          "alloc@0 0#1:512 | flags b skipped 0");
  expect (TRACE (""), -1, FALSE,
          "x.json: none of its 0 trace events is about memory; record again with profile(..., "
          "profile_memory=True)");
  expect (TRACE (OTHER), -1, FALSE,
          "x.json: none of its 1 trace events is about memory; record again with profile(..., "
          "profile_memory=True)");
}

/* ---- call stacks, phases, steps */

#define SPAN(cat, name, tid, ts, dur) \
  "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts \
  ",\"dur\":" dur ",\"args\":{}},"
#define CALL(name, tid, ts, dur, from) \
  "{\"args\":{\"CallFrom\":\"" from "\"},\"name\":\"" name "\",\"cat\":\"python_function\"," \
  "\"ph\":\"X\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur "},"
#define ALLOC(tid, ts, addr, bytes) \
  "{\"name\":\"[memory]\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"args\":{\"Device Type\":1," \
  "\"Device Id\":0,\"Addr\":" addr ",\"Bytes\":" bytes "}}"

/* The events with times, tags and stacks, innermost frame first. */
static char *
with_stacks (const char *text)
{
  const GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = open_text (text, strlen (text), &options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  guint64 count = 0;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++, count++)
      {
        guint depth = 0;
        const guint32 *frames = events[i].stack == 0
                                    ? NULL
                                    : gemem_call_stacks_get (reader->info.stacks, events[i].stack,
                                                             &depth);
        g_string_append_printf (out, "%s%s %" G_GUINT64_FORMAT "@%" G_GUINT64_FORMAT,
                                count > 0 ? "; " : "", gemem_event_kind_name (events[i].kind),
                                events[i].id, events[i].time / 1000);
        if (events[i].tag != GEMEM_NO_TAG)
          g_string_append_printf (out, " '%s'",
                                  (char *) reader->info.strings->pdata[events[i].tag]);
        for (guint j = 0; j < depth; j++)
          {
            g_string_append (out, j > 0 ? " < " : " ");
            gemem_frame_append (out, &reader->info,
                                gemem_call_stacks_get_frame (reader->info.stacks, frames[j]));
          }
      }
  g_assert_no_error (error);
  g_assert_cmpuint (count, ==, reader->info.events);
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static void
expect_stacks (const char *text, const char *expected)
{
  g_autofree char *got = with_stacks (text);
  g_assert_cmpstr (got, ==, expected);
}

static void
test_stacks (void)
{
  /* Operators in operators, on the thread of the allocation only; a span ends before the next one
   * of the same moment begins; kernels and other categories are no frames. */
  expect_stacks (
      TRACE (
          SPAN ("cpu_op", "aten::linear", "1", "10", "20") SPAN (
              "cpu_op", "aten::mm", "1", "12", "5") SPAN ("kernel", "gemm", "1", "10", "20")
              SPAN ("cpu_op", "aten::add", "1", "17", "3") SPAN ("cpu_op", "other", "2", "0", "100")
                  ALLOC ("1", "5", "1", "8") "," ALLOC ("1", "13", "2", "8") "," ALLOC (
                      "1", "17", "3",
                      "8") "," ALLOC ("1", "25", "4",
                                      "8") "," ALLOC ("1", "25", "4",
                                                      "-8") "," ALLOC ("2", "26", "5",
                                                                       "8") "," ALLOC ("1",
                                                                                       "30.001",
                                                                                       "6", "8")),
      "alloc 1@0; alloc 2@8 aten::mm < aten::linear; alloc 3@12 aten::add < aten::linear; alloc "
      "4@20 "
      "aten::linear; free 4@20 aten::linear; alloc 5@21 other; alloc 6@25");
  /* A list out of order; an annotation around an operator of the same extent. */
  expect_stacks (
      TRACE (SPAN ("cpu_op", "inner", "1", "3", "2") SPAN ("cpu_op", "outer", "1", "1", "9")
                 SPAN ("user_annotation", "mine", "1", "1", "9") ALLOC ("1", "4", "1", "8")),
      "phase 0@0 'mine'; alloc 1@3 inner < outer < mine; phase-end 0@9 'mine'");
  /* Python: the line is that of the call of the next inner function, if it is in the same file. */
  expect_stacks (
      TRACE (CALL ("train.py(10): step", "1", "0", "100", "train.py:90")
                 CALL ("lib/nn.py(7): forward", "1", "10", "80", "train.py:12")
                     CALL ("<built-in method mm of type object at 0x7f00aa>", "1", "20", "50",
                           "lib/nn.py:8") CALL ("nn.Module: Net_0", "1", "5", "90", "train.py:11")
                         SPAN ("cpu_op", "aten::mm", "1", "30", "10")
                             ALLOC ("1", "31", "1", "8") "," ALLOC ("1", "95", "2", "8") "," ALLOC (
                                 "1", "89", "3", "8")),
      "alloc 1@0 aten::mm < <built-in method mm of type object> < lib/nn.py:8 forward < nn.Module: "
      "Net_0 "
      "< train.py:11 step; alloc 2@58 lib/nn.py:7 forward < nn.Module: Net_0 < train.py:11 step; "
      "alloc "
      "3@64 nn.Module: Net_0 < train.py:11 step");
  /* Gradients: the stack goes on with the thread that waits for them, if there is only one. */
#define WAITS(tid) \
  CALL ("train.py(1): f", tid, "0", "90", "x.py:1") \
  CALL ("<built-in method run_backward of E object at 0x1>", tid, "2", "50", "train.py:4")
#define GRADIENT SPAN ("cpu_op", "autograd::engine::evaluate_function: Mm", "9", "5", "10")
  expect_stacks (
      TRACE (WAITS ("1") GRADIENT ALLOC ("9", "6", "1", "8") "," ALLOC ("9", "16", "2", "8")),
      "alloc 1@0 autograd::engine::evaluate_function: Mm < <built-in method run_backward of E "
      "object> < train.py:4 f; alloc 2@10");
  expect_stacks (TRACE (WAITS ("1") WAITS ("2") GRADIENT ALLOC ("9", "6", "1", "8")),
                 "alloc 1@0 autograd::engine::evaluate_function: Mm");
  /* No thread, no duration, a name that is no text: nothing to go by. */
  expect_stacks (
      TRACE ("{\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},"
             "{\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":\"1\",\"ts\":1,\"dur\":5},"
             "{\"cat\":\"cpu_op\",\"name\":7,\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5},"
             "{\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":-5}," ALLOC (
                 "1", "2", "1", "8")),
      "alloc 1@0");
}

/* Spans that begin within another and end after it would be open for ever, and so would all below them. */
static void
test_overlaps (void)
{
  expect_stacks (TRACE (SPAN ("cpu_op", "a", "1", "0", "10") SPAN ("cpu_op", "b", "1", "5", "10")
                            SPAN ("cpu_op", "c", "1", "12", "10")
                                ALLOC ("1", "7", "1", "8") "," ALLOC (
                                    "1", "11", "2", "8") "," ALLOC ("1", "13", "3", "8")),
                 "alloc 1@0 b < a; alloc 2@4; alloc 3@6 c");
  /* Of very many, the innermost. */
  g_autoptr (GString) text = g_string_new ("[");
  for (guint i = 0; i < 3000; i++)
    g_string_append_printf (text,
                            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%u\",\"pid\":1,"
                            "\"tid\":1,\"ts\":%u,\"dur\":%u},",
                            i, i, 9000 - 2 * i);
  g_string_append (text, ALLOC ("1", "3000", "1", "8") "]");
  g_autofree char *got = with_stacks (text->str);
  g_auto (GStrv) frames = g_strsplit (got, " < ", -1);
  g_assert_cmpuint (g_strv_length (frames), ==, 1024);
  g_assert_true (g_str_has_suffix (frames[0], " op2999"));
  g_assert_cmpstr (frames[1023], ==, "op1976");
}

static void
test_phases (void)
{
  /* Nested ones of one begin and one end; one without extent; steps, which are in no stack. */
  expect_stacks (
      TRACE (SPAN ("user_annotation", "ProfilerStep#7", "1", "10", "90") SPAN (
          "user_annotation", "in", "1", "20", "10") SPAN ("user_annotation", "out", "1", "20", "10")
                 SPAN ("user_annotation", "next", "1", "30", "0")
                     SPAN ("user_annotation", "ProfilerStep#x", "1", "40", "1")
                         ALLOC ("1", "20", "1", "8") "," ALLOC ("1", "50", "1", "-8")),
      "step 7@0; phase 0@10 'in'; phase 0@10 'out'; alloc 1@10 out < in; phase-end 0@20 'out'; "
      "phase-end 0@20 'in'; phase 0@20 'next'; phase-end 0@20 'next'; phase 0@30 'ProfilerStep#x'; "
      "phase-end 0@31 'ProfilerStep#x'; free 1@40");
  /* More of them than one batch. */
  g_autoptr (GString) text = g_string_new ("[");
  for (guint i = 0; i < 3000; i++)
    g_string_append_printf (text,
                            "{\"cat\":\"user_annotation\",\"name\":\"p\",\"pid\":1,\"tid\":1,"
                            "\"ts\":%u,\"dur\":1},",
                            i * 2);
  g_string_append (text, ALLOC ("1", "4000", "1", "8") "]");
  g_autofree char *got = with_stacks (text->str);
  g_assert_nonnull (strstr (got,
                            "phase-end 0@3999 'p'; phase 0@4000 'p'; alloc 1@4000 p; phase-end "
                            "0@4001 'p'"));
}

static void
test_devices (void)
{
  static const char text[] = TRACE (EVENT ("1", "0", "-1", "10", "100", "100") "," EVENT (
      "2", "1", "0", "4096", "512", "512") "," EVENT ("3", "1", "3", "4096", "1024",
                                                      "1024") "," EVENT ("4", "0", "-1", "10",
                                                                         "-100", "0"));
  expect (text, -1, FALSE, "alloc@0 0#1:512 alloc@1000 3#2:1024 | flags b skipped 2");
  expect (text, 3, FALSE, "alloc@0 3#1:1024 | flags b skipped 3");
  expect (text, 7, FALSE, "| flags b skipped 4");
  expect (text, GEMEM_DEVICE_HOST, FALSE,
          "alloc@0 65535#1:100 free@3000 65535#1:100 | flags 3 skipped 2");
  /* Without an accelerator the host's events are used. */
  expect (TRACE (EVENT ("1", "0", "-1", "10", "100", "100")), -1, FALSE,
          "alloc@0 65535#1:100 | flags 3 skipped 0");
}

static void
test_middle (void)
{
  /* Reserved memory is unknown: no segments. */
  expect (TRACE (EVENT ("1", "1", "0", "4096", "-512", "9000") "," EVENT ("2", "1", "0", "8192",
                                                                          "1024", "10024")),
          -1, FALSE,
          "i:alloc@0 0#1:512[1000] i:alloc@0 0#3:9000?'before the recording' free@0 0#1:512 "
          "alloc@1000 0#2:1024 | flags 1b skipped 0 | "
          "before: device 0: 9000 bytes are live in blocks that the file does not name; they are "
          "one block 'before the recording'");
  /* All allocated memory is freed in the file: no other block exists. A second free matches no
   * block. */
  expect (TRACE (EVENT ("1", "1", "0", "4096", "-512", "0") "," EVENT ("2", "1", "0", "4096",
                                                                       "-512", "0")),
          -1, FALSE,
          "i:alloc@0 0#1:512[1000] free@0 0#1:512 | flags 1b skipped 1 | note: device 0: Total "
          "Allocated differs from the running sum at 1 "
          "events | note: 1 frees of what was freed already are left out");
  expect (TRACE (EVENT ("1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096",
                                                                        "-1024", "0")),
          -1, FALSE,
          "alloc@0 0#1:512 free@1000 0#1:1024 | flags b skipped 0 | note: device 0: Total "
          "Allocated differs from the running sum at 1 "
          "events | note: device "
          "0: 1 blocks are freed with another size than they were allocated with");
}

#define M2 "2097152"
#define BEFORE(bytes) \
  " | before: device 0: " bytes " bytes are live in blocks that the file does not name; they are " \
  "one block 'before the recording'"

/* The addresses of reserved memory: 10 pages of 2 MiB, 3 MiB allocated. */
static void
test_reserved (void)
{
  /* Nothing before: the memory reserved at the first event is obtained for its block. */
  expect (TRACE (RESERVED ("1", "1", "0", "2097152", "512", "512", M2)), -1, FALSE,
          "segment-alloc@0 0#0:2097152[200000] alloc@0 0#1:512 | flags b skipped 0");
  /* One page of small blocks, and one of a large block, which leaves more than 1 MiB: the rest
   * is above, with the blocks that the file does not name. */
  expect (
      TRACE (RESERVED ("1", "1", "0", "2097152", "-512", "3145728", "20971520") "," RESERVED (
          "2", "1", "0", "4194304", "1049088", "4194816",
          "20971520") "," RESERVED ("3", "1", "0", "6291456", "1048064", "5242880", "20971520")),
      -1, FALSE,
      "i:segment-alloc@0 0#0:2097152[200000]s i:segment-alloc@0 0#0:4194304[400000] "
      "i:segment-alloc@0 0#0:14680064[800000]? "
      "i:alloc@0 0#1:512[200000] i:alloc@0 0#4:3145728[800000]?'before the recording' free@0 "
      "0#1:512 alloc@1000 0#2:1049088 "
      "alloc@2000 0#3:1048064 | flags 1b skipped 0" BEFORE ("3145728"));
  /* Obtained in the file, for its block, or at its end: not initial. Returned memory has no
   * address. */
  expect (TRACE (RESERVED ("1", "1", "0", "2097152", "-2097152", "0", "2097152") "," RESERVED (
              "2", "1", "0", "4194304", "2097152", "2097152",
              "4194304") "," RESERVED ("3", "1", "0", "8388608", "2097152", "4194304",
                                       "5242880") "," RESERVED ("4", "1", "0", "4194304",
                                                                "-2097152", "2097152", "4194304")),
          -1, FALSE,
          "i:segment-alloc@0 0#0:2097152[200000] i:alloc@0 0#1:2097152[200000] free@0 0#1:2097152 "
          "segment-alloc@1000 0#0:2097152[400000] "
          "alloc@1000 0#2:2097152 segment-map@2000 0#0:1048576[900000] alloc@2000 0#3:2097152 "
          "segment-free@3000 0#0:1048576 "
          "free@3000 0#2:2097152 | flags 1b skipped 0");
  /* The pages leave too little space for the rest: then only pages of small blocks count, then
   * only the initial blocks. */
  expect (TRACE (RESERVED ("1", "1", "0", "2097152", "2097152", "5242880", "6291456") "," RESERVED (
              "2", "1", "0", "8388608", "512", "5243392", "6291456")),
          -1, FALSE,
          "i:segment-alloc@0 0#0:2097152[800000]s i:segment-alloc@0 0#0:4194304[a00000]? i:alloc@0 "
          "0#3:3145728[a00000]?'before the recording' "
          "alloc@0 0#1:2097152 alloc@1000 0#2:512 | flags 1b skipped 0" BEFORE ("3145728"));
  expect (TRACE (RESERVED ("1", "1", "0", "2097152", "-512", "2096640", M2)), -1, FALSE,
          "i:segment-alloc@0 0#0:512[200000]s i:segment-alloc@0 0#0:2096640[400000]? i:alloc@0 "
          "0#1:512[200000] "
          "i:alloc@0 0#2:2096640[400000]?'before the recording' free@0 0#1:512 | flags 1b skipped "
          "0" BEFORE ("2096640"));
}

/* With contradictions only the blocks are delivered; nothing overflows. */
static void
test_reserved_hostile (void)
{
  static const struct
  {
    const char *events, *facts;
  } files[] = {
    { RESERVED ("1", "1", "0", "2097152", "-1024", "0", M2) "," RESERVED ("2", "1", "0", "2097664",
                                                                          "-512", "0", M2),
      "overlap" },
    { RESERVED ("1", "1", "0", "-4096", "-512", "1024", M2), "end of memory" },
    { RESERVED ("1", "1", "0", "-1", "1152921504606846975", "1152921504606846975",
                "1152921504606846975"),
      "all" },
    { RESERVED ("1", "1", "0", "0", "-512", "1024", M2), "address 0" },
    { RESERVED ("1", "1", "0", "4096", "-512", "1152921504606846975", "1152921504606846976"),
      "too much" },
    { RESERVED ("1", "1", "0", "4611686018427387392", "-512", "512", "4611686018427387904"),
      "at the end" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *text = g_strconcat ("[", files[i].events, "]", NULL),
                      *got = run (text, -1, FALSE);
      g_test_message ("%s: %s", files[i].facts, got);
      g_assert_null (strstr (got, "i:segment"));
      g_assert_nonnull (strstr (got, "| flags"));
    }
}

static void
test_out_of_memory (void)
{
  expect (TRACE ("{\"name\":\"[OutOfMemory]\",\"ts\":7,\"args\":{\"Device Type\":1,\"Device "
                 "Id\":2,\"Bytes\":4096,\"Total Allocated\":1}}"),
          -1, FALSE, "oom@0 2#0:4096 | flags b skipped 0");
  /* Memory that the allocator released before a failure is not part of what it obtains next. */
  expect (TRACE (RESERVED ("1", "1", "2", "2097152", "512", "512",
                           M2) ","
                               "{\"name\":\"[OutOfMemory]\",\"ts\":2,\"args\":{\"Device "
                               "Type\":1,\"Device Id\":2,\"Bytes\":9000000,\"Total Allocated\":512,"
                               "\"Total Reserved\":2097000}}," RESERVED (
                                   "3", "1", "2", "4194304", "2097152", "2097664", "4194152")),
          -1, FALSE,
          "segment-alloc@0 2#0:2097152[200000] alloc@0 2#1:512 segment-free@1000 2#0:152 oom@1000 "
          "2#0:9000000 "
          "segment-alloc@2000 2#0:2097152[400000] alloc@2000 2#2:2097152 | flags b skipped 0");
}

static void
test_damage (void)
{
#define OLD \
  "{\"name\":\"[memory]\",\"ts\":7,\"args\":{\"Device Type\":1,\"Device Id\":2,\"Bytes\":4096}}"
  expect (TRACE (OLD), -1, FALSE,
          "x.json:1: memory events without Addr, as PyTorch wrote them in 2021, do not tell which "
          "block is freed; record again with a "
          "newer one");
  expect (TRACE (EVENT ("\"7\"", "1", "0", "1", "1", "1")), -1, FALSE,
          "x.json:1: a memory event without ts; the trace is damaged");
  expect (TRACE (EVENT ("7", "1", "-1", "1", "1", "1")), -1, FALSE,
          "x.json:1: a memory event of an accelerator without a usable Device Id; the trace is "
          "damaged");
  expect (
      TRACE (EVENT ("7", "1", "0", "1", "99999999999999999999", "1")), -1, FALSE,
      "x.json:1: \"Bytes\" is 99999999999999999999, which is out of range; the trace is damaged");
  expect (TRACE (EVENT ("7", "1", "0", "1", "1152921504606846976", "1")), -1, FALSE,
          "x.json:1: 1152921504606846976 bytes are more than any allocator could serve; the trace "
          "is damaged");
  expect (TRACE (EVENT ("1e18", "1", "0", "1", "1", "1")), -1, FALSE,
          "x.json:1: \"ts\" is 1e18, which is out of range; the trace is damaged");
  expect ("{\"a\":[]}", -1, FALSE,
          "x.json:1: no \"traceEvents\"; this is no trace of torch.profiler");
  expect ("7", -1, FALSE, "x.json:1: neither an object nor a list; this is no Chrome trace");
  expect ("[[1,2,3],[[0,1],[0,2],[0,3]]]", -1, FALSE,
          "x.json:1: a timeline of export_memory_timeline() has only sums by category, no blocks; "
          "record with export_chrome_trace() and "
          "profile_memory=True, or torch.cuda.memory._dump_snapshot()");
  expect ("[[-1,1,512,0]]", -1, FALSE,
          "x.json:1: a raw timeline of export_memory_timeline() does not say which block is freed; "
          "record with export_chrome_trace() and "
          "profile_memory=True, or torch.cuda.memory._dump_snapshot()");
  expect ("[[1],2]", -1, FALSE,
          "x.json:1: a trace event that is no object; this is no Chrome trace");
  expect ("[[]]", -1, FALSE, "x.json:1: a trace event that is no object; this is no Chrome trace");
  expect ("[7]", -1, FALSE, "x.json:1: a trace event that is no object; this is no Chrome trace");
  /* An address that is live already: the trace is refused, or its events before that are read. */
  static const char twice[] = TRACE (
      EVENT ("1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096", "512", "1024"));
  expect (twice, -1, FALSE,
          "x.json:event 1: 0x1000 is allocated while it is live (ts 2000 ns); a free is missing in "
          "the trace, or two traces were joined");
  expect (twice, -1, TRUE,
          "alloc@0 0#1:512 | flags 2b skipped 0 | partial: x.json:event 1: 0x1000 is allocated "
          "while it is live (ts 2000 ns); a free is "
          "missing in the trace, or two traces were joined");
}

static void
test_truncated (void)
{
  static const char text[] = TRACE (OTHER "," EVENT (
      "1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096", "-512", "0"));
  GememReadOptions whole = GEMEM_READ_OPTIONS_DEFAULT, partial = { TRUE, -1 };

  for (gsize size = 1; size < sizeof text - 1; size++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (open_text (text, size, &whole, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      GememTraceReader *reader = open_text (text, size, &partial, NULL);
      if (reader != NULL)
        {
          g_assert_true ((reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0);
          g_assert_cmpuint (reader->info.events, >=, 1);
          gemem_trace_close (reader);
        }
    }
}

/* ---- the recording */

typedef struct
{
  guint64 events, allocs, frees, alloc_bytes, free_bytes, live, peak, first, last, reserved,
      initial, phases;
} Facts;

static void
check_device (const char *path, int device, const GememJsonTree *tree, guint32 expected,
              Facts *facts, GememTraceReader **reader)
{
  GememReadOptions options = { FALSE, device };
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *events;
  gssize n;

  memset (facts, 0, sizeof *facts);
  *reader = gemem_trace_open (path, NULL, &options, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (*reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        gboolean alloc = events[i].kind == GEMEM_EVENT_ALLOC;
        if ((events[i].flags & GEMEM_EVENT_INITIAL) != 0)
          {
            *(alloc ? &facts->live : &facts->reserved) += events[i].size;
            facts->initial += alloc;
            facts->peak = facts->live;
            continue;
          }
        if (events[i].kind == GEMEM_EVENT_PHASE || events[i].kind == GEMEM_EVENT_PHASE_END)
          {
            facts->phases++;
            continue;
          }
        g_assert_true (alloc || events[i].kind == GEMEM_EVENT_FREE);
        g_assert_cmpuint (events[i].time, >=, facts->last);
        if (facts->events == 0)
          facts->first = events[i].time;
        facts->last = events[i].time;
        facts->events++;
        *(alloc ? &facts->allocs : &facts->frees) += 1;
        *(alloc ? &facts->alloc_bytes : &facts->free_bytes) += events[i].size;
        facts->live += alloc ? events[i].size : -events[i].size;
        facts->peak = MAX (facts->peak, facts->live);
        if (alloc)
          g_assert_cmpuint (events[i].id, ==, facts->allocs);
      }
  g_assert_no_error (error);
#define SAME(value, member) \
  g_assert_cmpuint (value, ==, (guint64) test_json_int (tree, expected, member))
  SAME (facts->events, "events");
  SAME (facts->allocs, "allocs");
  SAME (facts->frees, "frees");
  SAME (facts->alloc_bytes, "alloc_bytes");
  SAME (facts->free_bytes, "free_bytes");
  SAME (facts->peak, "peak_total_allocated");
  SAME (facts->reserved, "peak_total_reserved");
  SAME (facts->live, "final_total_allocated");
  SAME ((facts->last - facts->first) / 1000 + (guint64) test_json_int (tree, expected, "first_ts"),
        "last_ts");
}

static void
test_recording (void)
{
  g_autofree char *expected_path = test_shared_path ("traces/pytorch/expected.json");
  g_autofree char *path = expected_path != NULL
                              ? test_shared_path ("traces/pytorch/kineto-memory.json.gz")
                              : NULL;
  GememTraceReader *reader;
  Facts facts;

  if (path == NULL)
    return;
  g_autoptr (GememJsonTree) tree = test_json_load (expected_path);
  const guint32 files = test_json_member (tree, 0, "kineto"),
                file = test_json_member (tree, files, "kineto-memory.json.gz"),
                devices = test_json_member (tree, file, "devices");

  check_device (path, -1, tree, test_json_member (tree, devices, "1:1"), &facts, &reader);
  g_assert_cmphex (reader->info.flags, ==,
                   GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_BLOCK_SIZES
                       | GEMEM_TRACE_STARTS_IN_MIDDLE);
  g_assert_cmpuint (facts.initial, ==, 1);
  /* Every Total Allocated agrees: the only notes are about the initial state and the device. */
  g_assert_cmpuint (reader->info.provenance->len, ==, 2);
  g_assert_nonnull (gemem_trace_info_said (&reader->info, "device"));
  g_assert_true (g_str_has_prefix (reader->info.device, "capacity="));
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 0), ==,
                   "before: device 1: 4096614400 bytes are live in blocks that the file does not "
                   "name; they are one block 'before the recording'");
  g_assert_cmpuint (reader->info.skipped, ==, 401 - 40 + 1240);
  g_assert_cmpuint (facts.phases, ==, 40 * 2);
  gemem_trace_close (reader);

  check_device (path, GEMEM_DEVICE_HOST, tree, test_json_member (tree, devices, "0:-1"), &facts,
                &reader);
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES);
  g_assert_cmpuint (reader->info.provenance->len, ==, 0);
  g_assert_cmpuint (reader->info.skipped, ==, 401 - 40 + 26770);
  gemem_trace_close (reader);
}

/* ---- files of PyTorch */

/* What surrounds @event in the file, by looking at every other one: the names of operators and
 * annotations on its thread from outside to inside. */
static char *
naive_operators (const GememJsonTree *tree, guint32 all, guint32 event)
{
  const double time = test_json_double (tree, event, "ts");
  const gint64 thread = test_json_int (tree, event, "tid");
  g_autoptr (GArray) around = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint32 other = gemem_json_tree_first (tree, all); other != 0;
       other = gemem_json_tree_next (tree, all, other))
    {
      const char *cat = gemem_json_tree_text (tree, gemem_json_tree_find (tree, other, "cat"));
      if (strcmp (cat, "cpu_op") != 0 && strcmp (cat, "user_annotation") != 0)
        continue;
      const double begin = test_json_double (tree, other, "ts"),
                   end = begin + test_json_double (tree, other, "dur");
      guint at = around->len;
      if (test_json_int (tree, other, "tid") != thread || begin > time || end < time)
        continue;
      while (at > 0
             && test_json_double (tree, g_array_index (around, guint32, at - 1), "ts") > begin)
        at--;
      g_array_insert_val (around, at, other);
    }
  for (guint i = around->len; i-- > 0;)
    g_string_append_printf (out, "%s; ",
                            test_json_text (tree, g_array_index (around, guint32, i), "name"));
  return g_strdup (out->str);
}

static gint
compare_times (gconstpointer a, gconstpointer b, gpointer tree)
{
  const double x = test_json_double (tree, *(const guint32 *) a, "ts"),
               y = test_json_double (tree, *(const guint32 *) b, "ts");
  return (x > y) - (x < y);
}

/* The memory events of the GPU (guint32), in order of time. */
static GArray *
memory_events (GememJsonTree *tree, guint32 all)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 event = gemem_json_tree_first (tree, all); event != 0;
       event = gemem_json_tree_next (tree, all, event))
    if (strcmp (test_json_text (tree, event, "name"), "[memory]") == 0
        && test_json_int (tree, test_json_member (tree, event, "args"), "Device Type") == 1)
      g_array_append_val (found, event);
  g_array_sort_with_data (found, compare_times, tree);
  return found;
}

/* The stacks of a real file against those found naively: operators exactly, and the line of the
 * program, which for gradients is on another thread. */
static void
test_real_stacks (void)
{
  g_autofree char *path = test_source_path ("tests/data/kineto/train-2.15.0.json.gz");
  g_autoptr (GememJsonTree) tree = test_json_load (path);
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *events;
  guint compared = 0, gradients = 0, lines = 0;
  gssize n;

  const guint32 all = test_json_member (tree, 0, "traceEvents");
  g_autoptr (GArray) memory = memory_events (tree, all);
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        guint depth = 0;
        const guint32 *frames = NULL;
        g_autoptr (GString) got = g_string_new (NULL);
        gboolean own = TRUE, waits = FALSE, line = FALSE;
        if ((events[i].flags & GEMEM_EVENT_INITIAL) != 0
            || (events[i].kind != GEMEM_EVENT_ALLOC && events[i].kind != GEMEM_EVENT_FREE))
          continue;
        if (events[i].stack != 0)
          frames = gemem_call_stacks_get (reader->info.stacks, events[i].stack, &depth);
        for (guint j = 0; j < depth; j++)
          {
            const GememFrame *frame = gemem_call_stacks_get_frame (reader->info.stacks, frames[j]);
            const char *name = gemem_frame_name (&reader->info, frame);
            if (gemem_frame_language (&reader->info, frame) == GEMEM_FRAME_OPERATOR && own
                && !g_str_has_prefix (name, "nn.Module"))
              g_string_append_printf (got, "%s; ", name);
            own &= !g_str_has_prefix (name, "autograd::engine::evaluate_function");
            waits |= strstr (name, "run_backward") != NULL;
            line |= strcmp (gemem_frame_file (&reader->info, frame), "make-samples") == 0
                    && frame->line > 0;
          }
        g_assert_cmpuint (compared, <, memory->len);
        const guint32 event = g_array_index (memory, guint32, compared++);
        g_assert_cmphex (events[i].address, ==,
                         test_json_int (tree, test_json_member (tree, event, "args"), "Addr"));
        g_autofree char *expected = naive_operators (tree, all, event);
        g_assert_cmpstr (got->str, ==, expected);
        gradients += !own && waits;
        lines += line;
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
  g_assert_cmpuint (compared, ==, memory->len);
  g_assert_cmpuint (gradients, ==, 295);
  g_assert_cmpuint (lines, ==, compared);
}

/* Live bytes, and reserved bytes of the recording, with their peaks. */
static void
totals (const char *name, int device, gboolean without, const guint64 *expected)
{
  g_autofree char *relative = g_strconcat ("tests/data/kineto/", name, NULL),
                  *path = test_source_path (relative);
  GememReadOptions options = { FALSE, device, without };
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, &options, &error);
  GememIdMap *live = gemem_idmap_new (sizeof (guint64));
  guint64 bytes = 0, reserved = 0, got[5] = { 0 }, size;
  const GememTraceEvent *events;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        const GememTraceEvent *event = &events[i];
        got[0] += (event->flags & GEMEM_EVENT_INITIAL) != 0 && event->kind == GEMEM_EVENT_ALLOC;
        if (event->kind == GEMEM_EVENT_ALLOC)
          bytes += *(guint64 *) gemem_idmap_insert (live, event->id, NULL) = event->size;
        else if (event->kind == GEMEM_EVENT_FREE)
          {
            g_assert_true (gemem_idmap_remove (live, event->id, &size));
            bytes -= size;
          }
        else if (event->kind != GEMEM_EVENT_OOM)
          reserved += event->kind == GEMEM_EVENT_SEGMENT_FREE ? -event->size : event->size;
        got[1] = MAX (got[1], bytes);
        got[2] = bytes;
        got[3] = MAX (got[3], reserved);
      }
  g_assert_no_error (error);
  got[4] = reader->info.events;
  gemem_idmap_free (live);
  gemem_trace_close (reader);
  for (guint i = 0; i < (without ? 4 : 5); i++)
    if (got[i] != expected[i])
      g_error ("%s: figure %u is %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT, name, i, got[i],
               expected[i]);
}

/* The figures are the file's own: highest and last Total Allocated, highest Total Reserved. */
static void
test_versions (void)
{
  static const char *const versions[] = { "2.6.0", "2.11.0", "2.15.0" };

  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *middle = g_strconcat ("middle-", versions[i], ".json.gz", NULL),
                      *host = g_strconcat ("host-", versions[i], ".json.gz", NULL);
      totals (middle, -1, FALSE, (guint64[]){ 3, 217211392, 81203712, 247463936, 17 });
      totals (middle, -1, TRUE, (guint64[]){ 0, 136008192, 512, 121634816 });
      totals (host, -1, FALSE, (guint64[]){ 0, 136008000, 20, 0, 7 });
    }
  totals ("oom-2.15.0.json.gz", -1, FALSE, (guint64[]){ 1, 100975616, 80004608, 104857600, 12 });
  totals ("train-2.15.0.json.gz", -1, FALSE, (guint64[]){ 11, 90525696, 19061760, 119537664, 754 });
}

/* A file without [memory] events is refused, and the message says what it is. */
static void
test_others (void)
{
  static const char *const files[][2] = {
    { "plain-2.6.0.json.gz", "profile_memory=True" },
    { "plain-2.11.0.json.gz", "profile_memory=True" },
    { "plain-2.15.0.json.gz", "profile_memory=True" },
    { "timeline-2.6.0.html.gz", "a page of export_memory_timeline()" },
    { "timeline-2.6.0.json.gz", "a timeline of export_memory_timeline()" },
    { "timeline-2.11.0.json.gz", "a timeline of export_memory_timeline()" },
    { "timeline-2.15.0.json.gz", "a timeline of export_memory_timeline()" },
    { "timeline-2.6.0.raw.json.gz", "a raw timeline of export_memory_timeline()" },
    { "timeline-2.11.0.raw.json.gz", "a raw timeline of export_memory_timeline()" },
    { "timeline-2.15.0.raw.json.gz", "a raw timeline of export_memory_timeline()" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *relative = g_strconcat ("tests/data/kineto/", files[i][0], NULL),
                      *path = test_source_path (relative);
      g_autoptr (GError) error = NULL;
      g_assert_null (gemem_trace_open (path, NULL, NULL, &error));
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      if (strstr (error->message, files[i][1]) == NULL
          || strstr (error->message, "; record ") == NULL)
        g_error ("%s", error->message);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kineto/order", test_order);
  g_test_add_func ("/kineto/stacks", test_stacks);
  g_test_add_func ("/kineto/overlaps", test_overlaps);
  g_test_add_func ("/kineto/phases", test_phases);
  g_test_add_func ("/kineto/real-stacks", test_real_stacks);
  g_test_add_func ("/kineto/devices", test_devices);
  g_test_add_func ("/kineto/middle", test_middle);
  g_test_add_func ("/kineto/reserved", test_reserved);
  g_test_add_func ("/kineto/reserved-hostile", test_reserved_hostile);
  g_test_add_func ("/kineto/out-of-memory", test_out_of_memory);
  g_test_add_func ("/kineto/damage", test_damage);
  g_test_add_func ("/kineto/truncated", test_truncated);
  g_test_add_func ("/kineto/recording", test_recording);
  g_test_add_func ("/kineto/versions", test_versions);
  g_test_add_func ("/kineto/others", test_others);
  return g_test_run ();
}
