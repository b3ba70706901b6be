/* test-kineto.c - [memory] events of profiler traces: the recording against expected.json, and small traces made by hand. */
#include "config.h"

#include <json-glib/json-glib.h>
#include <string.h>

#include "sim/core/error.h"
#include "sim/core/idmap.h"
#include "tests/util/testutil.h"
#include "traces/input.h"
#include "traces/trace.h"

#define EVENT(ts, type, device, addr, bytes, total)                                                                                        \
  "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" ts                           \
  ",\"args\":{\"Device Type\":" type ",\"Device Id\":" device ",\"Addr\":" addr ",\"Bytes\":" bytes ",\"Total Allocated\":" total          \
  ",\"Total Reserved\":1000}}"
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "],\"traceName\":\"x\"}"
#define OTHER "{\"ph\":\"X\",\"name\":\"aten::mul\",\"ts\":1,\"dur\":2,\"args\":{\"Bytes\":7}}"

static GememTraceReader *
open_text (const char *text, gsize size, const GememReadOptions *options, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.json"), "kineto", options, error);
}

/* "a1:512 f1 o:64 ...|facts" with time where it changes, or the error. */
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
      g_string_append_printf (out, "%s@%" G_GUINT64_FORMAT " %u#%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT " ",
                              gemem_event_kind_name (events[i].kind), events[i].time, events[i].device, events[i].id, events[i].size);
  g_assert_no_error (error);
  g_string_append_printf (out, "| flags %x skipped %" G_GUINT64_FORMAT, reader->info.flags, reader->info.skipped);
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
  /* Two threads one after the other; equal times keep the order of the file; fractions of a microsecond count. */
  expect (TRACE (EVENT ("20", "1", "0", "4096", "512", "1024") "," EVENT ("30", "1", "0", "4096", "-512", "512") "," OTHER ","
                 EVENT ("10.5", "1", "0", "8192", "512", "512") "," EVENT ("30", "1", "0", "4096", "1024", "1536")),
          -1, FALSE, "alloc@0 0#1:512 alloc@9500 0#2:512 free@19500 0#2:512 alloc@19500 0#3:1024 | flags b skipped 1");
  /* A bare list is a Chrome trace, too. */
  expect ("[" EVENT ("5", "1", "0", "4096", "512", "512") "]", -1, FALSE, "alloc@0 0#1:512 | flags b skipped 0");
  expect (TRACE (""), -1, FALSE, "| flags 3 skipped 0");
}

static void
test_devices (void)
{
  static const char text[] = TRACE (EVENT ("1", "0", "-1", "10", "100", "100") "," EVENT ("2", "1", "0", "4096", "512", "512") ","
                                    EVENT ("3", "1", "3", "4096", "1024", "1024") "," EVENT ("4", "0", "-1", "10", "-100", "0"));
  expect (text, -1, FALSE, "alloc@0 0#1:512 alloc@1000 3#2:1024 | flags b skipped 2");
  expect (text, 3, FALSE, "alloc@0 3#1:1024 | flags b skipped 3");
  expect (text, 7, FALSE, "| flags b skipped 4");
  expect (text, GEMEM_DEVICE_HOST, FALSE, "alloc@0 65535#1:100 free@3000 65535#1:100 | flags 3 skipped 2");
  /* Without an accelerator the host is what there is. */
  expect (TRACE (EVENT ("1", "0", "-1", "10", "100", "100")), -1, FALSE, "alloc@0 65535#1:100 | flags 3 skipped 0");
}

static void
test_middle (void)
{
  expect (TRACE (EVENT ("1", "1", "0", "4096", "-512", "9000") "," EVENT ("2", "1", "0", "8192", "1024", "10024")), -1, FALSE,
          "alloc@1000 0#1:1024 | flags 1b skipped 1 | missing: device 0: 9512 bytes are allocated before the first event, by blocks that "
          "are not in the "
          "file | note: 1 frees of blocks from before the first event are left out");
  expect (TRACE (EVENT ("1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096", "-1024", "0")), -1, FALSE,
          "alloc@0 0#1:512 free@1000 0#1:1024 | flags b skipped 0 | note: device 0: Total Allocated differs from the running sum at 1 "
          "events | note: device "
          "0: 1 blocks are freed with another size than they were allocated with");
}

static void
test_out_of_memory (void)
{
  expect (TRACE ("{\"name\":\"[OutOfMemory]\",\"ts\":7,\"args\":{\"Device Type\":1,\"Device Id\":2,\"Bytes\":4096,\"Total Allocated\":1}}"),
          -1, FALSE, "oom@0 2#0:4096 | flags b skipped 0");
}

static void
test_damage (void)
{
#define OLD "{\"name\":\"[memory]\",\"ts\":7,\"args\":{\"Device Type\":1,\"Device Id\":2,\"Bytes\":4096}}"
  expect (TRACE (OLD), -1, FALSE,
          "x.json:1: memory events without Addr, as PyTorch wrote them in 2021, do not tell which block is freed; record again with a "
          "newer one");
  expect (TRACE (EVENT ("\"7\"", "1", "0", "1", "1", "1")), -1, FALSE, "x.json:1: a memory event without ts; the trace is damaged");
  expect (TRACE (EVENT ("7", "1", "-1", "1", "1", "1")), -1, FALSE,
          "x.json:1: a memory event of an accelerator without a usable Device Id; the trace is damaged");
  expect (TRACE (EVENT ("7", "1", "0", "1", "99999999999999999999", "1")), -1, FALSE,
          "x.json:1: \"Bytes\" is 99999999999999999999, which is out of range; the trace is damaged");
  expect (TRACE (EVENT ("7", "1", "0", "1", "1152921504606846976", "1")), -1, FALSE,
          "x.json:1: 1152921504606846976 bytes are more than any allocator could serve; the trace is damaged");
  expect (TRACE (EVENT ("1e18", "1", "0", "1", "1", "1")), -1, FALSE,
          "x.json:1: \"ts\" is 1e18, which is out of range; the trace is damaged");
  expect ("{\"a\":[]}", -1, FALSE, "x.json:1: no \"traceEvents\"; this is no trace of torch.profiler");
  expect ("7", -1, FALSE, "x.json:1: neither an object nor a list; this is no Chrome trace");
  expect ("[7]", -1, FALSE, "x.json:1: a trace event that is no object; this is no Chrome trace");
  /* An address that is live: refused, or everything before it. */
  static const char twice[] = TRACE (EVENT ("1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096", "512", "1024"));
  expect (twice, -1, FALSE,
          "x.json:event 1: 0x1000 is allocated while it is live (ts 2000 ns); a free is missing in the trace, or two traces were joined");
  expect (twice, -1, TRUE,
          "alloc@0 0#1:512 | flags 2b skipped 0 | partial: x.json:event 1: 0x1000 is allocated while it is live (ts 2000 ns); a free is "
          "missing in the trace, or two traces were joined");
}

static void
test_truncated (void)
{
  static const char text[] = TRACE (OTHER "," EVENT ("1", "1", "0", "4096", "512", "512") "," EVENT ("2", "1", "0", "4096", "-512", "0"));
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
  guint64 events, allocs, frees, alloc_bytes, free_bytes, live, peak, first, last;
} Facts;

static void
check_device (const char *path, int device, JsonObject *expected, Facts *facts, GememTraceReader **reader)
{
  GememReadOptions options = { FALSE, device };
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *events;
  gssize n;

  memset (facts, 0, sizeof *facts);
  facts->live = facts->peak = (guint64) json_object_get_int_member (expected, "total_allocated_before_first");
  *reader = gemem_trace_open (path, NULL, &options, &error);
  g_assert_no_error (error);
  while ((n = gemem_trace_next (*reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        gboolean alloc = events[i].kind == GEMEM_EVENT_ALLOC;
        g_assert_true (alloc || events[i].kind == GEMEM_EVENT_FREE);
        g_assert_cmpuint (events[i].time, >=, facts->last);
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
#define SAME(value, member) g_assert_cmpuint (value, ==, (guint64) json_object_get_int_member (expected, member))
  SAME (facts->events, "events");
  SAME (facts->allocs, "allocs");
  SAME (facts->frees, "frees");
  SAME (facts->alloc_bytes, "alloc_bytes");
  SAME (facts->free_bytes, "free_bytes");
  SAME (facts->peak, "peak_total_allocated");
  SAME (facts->live, "final_total_allocated");
  SAME (facts->last / 1000 + (guint64) json_object_get_int_member (expected, "first_ts"), "last_ts");
}

static void
test_recording (void)
{
  g_autofree char *expected_path = test_shared_path ("traces/pytorch/expected.json");
  g_autofree char *path = expected_path != NULL ? test_shared_path ("traces/pytorch/kineto-memory.json.gz") : NULL;
  g_autoptr (JsonParser) parser = json_parser_new ();
  GememTraceReader *reader;
  Facts facts;

  if (path == NULL)
    return;
  g_assert_true (json_parser_load_from_file (parser, expected_path, NULL));
  JsonObject *files = json_object_get_object_member (json_node_get_object (json_parser_get_root (parser)), "kineto");
  JsonObject *file = json_object_get_object_member (files, "kineto-memory.json.gz");
  JsonObject *devices = json_object_get_object_member (file, "devices");

  check_device (path, -1, json_object_get_object_member (devices, "1:1"), &facts, &reader);
  g_assert_cmphex (reader->info.flags, ==,
                   GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_BLOCK_SIZES | GEMEM_TRACE_STARTS_IN_MIDDLE);
  /* Every Total Allocated agrees: the only note is the one about what was there before. */
  g_assert_cmpuint (reader->info.provenance->len, ==, 1);
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 0), ==,
                   "missing: device 1: 4096614400 bytes are allocated before the first event, by blocks that are not in the file");
  g_assert_cmpuint (reader->info.skipped, ==, 401 + 1240);
  gemem_trace_close (reader);

  check_device (path, GEMEM_DEVICE_HOST, json_object_get_object_member (devices, "0:-1"), &facts, &reader);
  g_assert_cmphex (reader->info.flags, ==, GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES);
  g_assert_cmpuint (reader->info.provenance->len, ==, 0);
  g_assert_cmpuint (reader->info.skipped, ==, 401 + 26770);
  gemem_trace_close (reader);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kineto/order", test_order);
  g_test_add_func ("/kineto/devices", test_devices);
  g_test_add_func ("/kineto/middle", test_middle);
  g_test_add_func ("/kineto/out-of-memory", test_out_of_memory);
  g_test_add_func ("/kineto/damage", test_damage);
  g_test_add_func ("/kineto/truncated", test_truncated);
  g_test_add_func ("/kineto/recording", test_recording);
  return g_test_run ();
}
