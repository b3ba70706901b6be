/* test-pytorch-variants.c - snapshots written by hand, for cases that the recordings lack (peers.md
 * 2.1, README of shared/traces).
 *
 * Several devices and streams, expandable segments, private pools, out-of-memory and snapshot
 * events, blocks that wait for streams, hidden tails, settings, old layouts, both writers, the page
 * of memory_viz, and all refusals.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "tests/util/snapshot-writer.h"
#include "traces/pytorch/state.h"
#include "traces/trace.h"

/* clang-format off: texts in pieces, a line each */

static GememTraceReader *
open_bytes (GBytes *bytes, int device, gboolean partial, GError **error)
{
  GememReadOptions options = { partial, device };
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"), NULL, &options,
                                 error);
}

static void
append_event (GString *out, const GememTraceReader *reader, const GememTraceEvent *event)
{
  g_string_append_printf (out, "%s%s", (event->flags & GEMEM_EVENT_INITIAL) != 0 ? "i:" : "",
                          gemem_event_kind_name (event->kind));
  if (event->id != 0)
    g_string_append_printf (out, " #%" G_GUINT64_FORMAT, event->id);
  if (event->address != 0)
    g_string_append_printf (out, " %" G_GINT64_MODIFIER "x", event->address);
  if (event->size != 0)
    g_string_append_printf (out, ":%" G_GUINT64_FORMAT, event->size);
  if (event->aux != 0)
    g_string_append_printf (out, "/%" G_GUINT64_FORMAT, event->aux);
  if (event->device != 0)
    g_string_append_printf (out, " d%u", event->device);
  if (event->stream != 0)
    g_string_append_printf (out, " s%" G_GINT64_MODIFIER "x", event->stream);
  if (event->pool != 0)
    g_string_append_printf (out, " p%u", event->pool);
  if (event->tag != 0)
    g_string_append_printf (out, " '%s'",
                            (char *) g_ptr_array_index (reader->info.strings, event->tag));
  if ((event->flags & GEMEM_EVENT_SMALL) != 0)
    g_string_append (out, " small");
  if ((event->flags & GEMEM_EVENT_AMBIGUOUS) != 0)
    g_string_append (out, " ?");
  if (event->time != 0)
    g_string_append_printf (out, " @%" G_GUINT64_FORMAT, event->time);
  g_string_append_c (out, '\n');
}

/* All events, one per line, and the notes; or the error. */
static char *
read_with (GBytes *bytes, const GememReadOptions *options)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"),
                                                     NULL, options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  guint64 total = 0;
  gssize n = 0;

  if (reader == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      return g_string_free (g_string_assign (out, error->message), FALSE);
    }
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++, total++)
      append_event (out, reader, &events[i]);
  g_assert_no_error (error);
  g_assert_cmpuint (total, ==, reader->info.events);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    if (!g_str_has_prefix (g_ptr_array_index (reader->info.provenance, i),
                           "PyTorch: ")) /* test_versions */
      g_string_append_printf (out, "%s\n", (char *) g_ptr_array_index (reader->info.provenance, i));
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

static char *
read_all (GBytes *bytes, int device, gboolean partial)
{
  const GememReadOptions options = { partial, device };
  return read_with (bytes, &options);
}

static void
expect_with (const char *text, int device, gboolean partial, const char *expected)
{
  g_autoptr (GBytes) python = snapshot_pickle (text, SNAPSHOT_PYTHON),
                     cxx = snapshot_pickle (text, SNAPSHOT_CXX);
  g_autofree char *got = read_all (python, device, partial);
  g_assert_cmpstr (got, ==, expected);
  g_autofree char *page_text = snapshot_page (cxx);
  g_autoptr (GBytes) page = g_bytes_new (page_text, strlen (page_text));
  g_autofree char *inside = read_all (page, device, partial);
  if (g_str_has_prefix (expected, "x.pickle: byte")) /* the position differs between the writers */
    g_assert_cmpstr (strstr (strchr (inside, ':') + 1, ": "), !=, NULL);
  else
    g_assert_cmpstr (inside, ==, expected);
}

static void
expect (const char *text, const char *expected)
{
  expect_with (text, -1, FALSE, expected);
}

#define DOUBT(inferred, guessed) \
  "ambiguous: device 0: of the sizes of initial blocks " inferred \
  " are inferred from later addresses, " guessed " are guessed to be the rounded request\n"
#define NO_EVENTS \
  "note: the snapshot holds a state and no events; call " \
  "torch.cuda.memory._record_memory_history() before what is to be recorded\n"
#define NOTHING \
  "note: no GPU memory was in use, and no events were recorded; call " \
  "torch.cuda.memory._record_memory_history() before what is to be recorded\n"
#define GUESSED(n) \
  "releases: device 0: the program emptied the cache (trim): " n \
  ", of these guessed for want of call stacks: " n "\n"
#define S0 "s 0 0x10000000 20971520 0 large 0 0 False\n"

static void
test_empty (void)
{
  expect ("", NOTHING);
  expect ("t\nt\n", NOTHING);
  expect (S0 "b 0x10000000 20971520 20971520 inactive\n",
          "i:segment-alloc 10000000:20971520\n" NO_EVENTS);
}

static void
test_events (void)
{
  expect ("t\ne segment_alloc 0x10000000 2097152 5 1000\ne alloc 0x10000000 100 5 1001\ne snapshot "
          "0 100 0 1002\n"
          "e oom 4096 1073741824 5 1003\ne free_requested 0x10000000 100 5 1004\ne free_completed "
          "0x10000000 100 5 1007\n"
          "e segment_free 0x10000000 2097152 5 1008\n",
          "segment-alloc 10000000:2097152 s5 small\nalloc #1 10000000:100 s5 @1000\nsnapshot:100 "
          "@2000\ndevice-limit:2097152 @3000\noom:1073741824/4096 s5 @3000\ndevice-limit @3000\n"
          "free-requested #1 10000000:100 s5 @4000\nfree-completed #1 10000000:100 s5 @7000\ntrim "
          "@8000\nsegment-free 10000000:2097152 s5 small @8000\n"
          "device: what the program had and what was free when it ran out\n"
          "releases: device 0: the program emptied the cache (trim): 1, of these guessed for want "
          "of call stacks: 1; requests that ran out of memory: 1\n");
  /* An unknown action of a later version is skipped and noted. */
  expect ("t\ne teleport 0x10000000 512 0 1000\n",
          "note: events with an unknown action are left out: 1, the first has \"teleport\"\n");
}

static void
test_devices (void)
{
#define LIVE(device, blocks) \
  "note: device " device ": " blocks \
  " blocks are live after the last event, but not in the final segments\n"
  static const char text[] =
      "s 2 0x30000000 2097152 0 small 0 0 False\nt\nt\ne alloc 0x10000000 512 0 2000\n"
      "t\ne alloc 0x10000000 1024 0 1500\ne alloc 0x20000000 1 0 1600\n";
  expect (text, "i:segment-alloc 30000000:2097152 d2 small\nalloc #1 10000000:512 d1 "
                "@500000\nalloc #2 10000000:1024 d2\nalloc #3 "
                "20000000:1 d2 @100000\n" LIVE ("1", "1") LIVE ("2", "2"));
  expect_with (text, 1, FALSE, "alloc #1 10000000:512 d1\n" LIVE ("1", "1"));
  expect_with (text, 2, FALSE,
               "i:segment-alloc 30000000:2097152 d2 small\nalloc #1 10000000:1024 d2\nalloc #2 "
               "20000000:1 d2 @100000\n" LIVE ("2", "2"));
  expect_with (text, 7, FALSE, "");
}

static void
test_initial (void)
{
  /* Final blocks that were not allocated in the events, a block freed in between, one that
   * waited for a stream before the recording, two that still wait. */
  expect ("s 0 0x10000000 2097152 7 small 0 0 False\nb 0x10000000 512 100 active_allocated\nb "
          "0x10000200 1024 1000 active_pending_free\n"
          "b 0x10000600 512 1 active_awaiting_free\nb 0x10000800 2093056 0 inactive\n"
          "t\ne free_completed 0x10001000 3000 7 10\ne free_requested 0x10000200 1000 7 11\ne "
          "free_requested 0x10002000 513 7 12\ne "
          "free_completed 0x10002000 513 7 13\n",
          "i:segment-alloc 10000000:2097152 s7 small\n"
          "i:alloc #1 10000000:100/512 s7 small\ni:alloc #2 10000200:1000/1024 s7 small\ni:alloc "
          "#3 10000600:1/512 s7 small\n"
          "i:alloc #4 10001000:3000/3072 s7 small\ni:alloc #5 10002000:513/1024 s7 small\n"
          "i:free-requested #3 10000600:1 s7 small\ni:free-requested #4 10001000:3000 s7 small\n"
          "free-completed #4 10001000:3000 s7\nfree-requested #2 10000200:1000 s7 "
          "@1000\nfree-requested #5 10002000:513 s7 @2000\n"
          "free-completed #5 10002000:513 s7 @3000\n");
  /* An initial segment that is released; its 2 MiB show that it was a small one. */
  expect ("t\ne free_requested 0x10000000 10 0 1\ne free_completed 0x10000000 10 0 1\ne "
          "segment_free 0x10000000 2097152 0 2\n",
          "i:segment-alloc 10000000:2097152 small\ni:alloc #1 10000000:10/512 "
          "small\nfree-requested #1 10000000:10\nfree-completed #1 "
          "10000000:10\n"
          "trim @1000\nsegment-free 10000000:2097152 small @1000\n" GUESSED ("1"));
  /* A block in no segment: kept, and noted as doubtful. */
  expect ("t\ne free_requested 0x10000000 10 0 1\ne free_completed 0x10000000 10 0 1\n",
          "i:alloc #1 10000000:10/512 ?\nfree-requested #1 10000000:10\nfree-completed #1 "
          "10000000:10\n" DOUBT ("0", "1"));
}

/* Sizes of blocks that are freed in between, in a large segment of 20 MiB (peers.md 1a.4, 2.1). */
static void
test_tails (void)
{
#define FREED(address, size) \
  "e free_requested " address " " size " 0 5\ne free_completed " address " " size " 0 5\n"
  /* A gap of up to 1 MiB to the next block or to the end belongs to the block, without doubt. */
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\n" FREED ("0x10000000", "10485760")
              FREED ("0x10a80000", "9437184"),
          "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:10485760/11010048\ni:alloc #2 "
          "10a80000:9437184/9961472\n"
          "free-requested #1 10000000:10485760\nfree-completed #1 "
          "10000000:10485760\nfree-requested #2 10a80000:9437184\nfree-completed #2 "
          "10a80000:9437184\n");
  /* Exactly 1 MiB is still a tail; one more quantum is a free block. */
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\n" FREED ("0x10000000", "19922944"),
          "i:segment-alloc 10000000:20971520\ni:alloc #1 "
          "10000000:19922944/20971520\nfree-requested #1 10000000:19922944\nfree-completed "
          "#1 10000000:19922944\n");
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\n" FREED ("0x10000000", "19922432"),
          "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:19922432/19922432 "
          "?\nfree-requested #1 10000000:19922432\nfree-completed "
          "#1 10000000:19922432\n" DOUBT ("0", "1"));
  /* Free memory follows; the first allocation in it shows the end of the block: 512 KiB behind
   * its request. */
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\ne alloc 0x10480000 2097152 0 1\n" FREED (
              "0x10000000", "4194304") FREED ("0x10480000", "2097152"),
          "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:4194304/4718592 ?\nalloc #2 "
          "10480000:2097152\n"
          "free-requested #1 10000000:4194304 @4000\nfree-completed #1 10000000:4194304 "
          "@4000\nfree-requested #2 10480000:2097152 @4000\n"
          "free-completed #2 10480000:2097152 @4000\n" DOUBT ("1", "0"));
  /* Freed first: later events show nothing. */
  expect (
      S0 "b 0x10000000 20971520 0 inactive\nt\n" FREED (
          "0x10000000", "4194304") "e alloc 0x10480000 2097152 0 9\n" FREED ("0x10480000",
                                                                             "2097152"),
      "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:4194304/4194304 ?\nfree-requested #1 "
      "10000000:4194304\nfree-completed #1 "
      "10000000:4194304\n"
      "alloc #2 10480000:2097152 @4000\nfree-requested #2 10480000:2097152 @4000\nfree-completed "
      "#2 10480000:2097152 @4000\n" DOUBT (
          "0",
          "1") "note: device 0: the clock ran backwards at 2 events, whose times were raised\n");
  /* Blocks of max_split_size and more have a segment of their own. */
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\n" FREED (
              "0x10000000", "14680064") "c max_split_size 8388608\n",
          "i:segment-alloc 10000000:20971520\ni:alloc #1 "
          "10000000:14680064/20971520\nfree-requested #1 10000000:14680064\nfree-completed "
          "#1 10000000:14680064\n");
}

static void
test_expandable (void)
{
  /* Final: [0, 40) MiB mapped; [20, 40) was mapped during the recording, [40, 60) unmapped: so
   * [0, 20) and [40, 60) are initial. */
  expect ("s 0 0x40000000 41943040 3 large 0 0 True\nb 0x40000000 41943040 0 inactive\n"
          "t\ne segment_map 0x41400000 20971520 3 1\ne segment_unmap 0x42800000 20971520 3 2\ne "
          "segment_map 0x50000000 2097152 3 3\n"
          "e segment_unmap 0x50000000 2097152 3 4\n",
          "i:segment-map 40000000:20971520 s3\ni:segment-map 42800000:20971520 s3\nsegment-map "
          "41400000:20971520 s3\n"
          "trim @1000\nsegment-unmap 42800000:20971520 s3 @1000\nsegment-map 50000000:2097152 s3 "
          "small @2000\ntrim @3000\nsegment-unmap 50000000:2097152 s3 small "
          "@3000\n" GUESSED ("2"));
  /* One unmap over two maps and an initial page; one that leaves both ends. */
  expect ("s 0 0x40000000 20971520 0 large 0 0 True\ns 0 0x43c00000 20971520 0 large 0 0 True\n"
          "t\ne segment_map 0x40000000 41943040 0 1\ne segment_map 0x43c00000 20971520 0 1\ne "
          "segment_unmap 0x41400000 41943040 0 1\n",
          "i:segment-map 42800000:20971520\nsegment-map 40000000:41943040\nsegment-map "
          "43c00000:20971520\ntrim\nsegment-unmap 41400000:41943040\n" GUESSED ("1"));
  /* No tails in expandable segments. */
  expect ("s 0 0x40000000 20971520 0 large 0 0 True\nb 0x40000000 20971520 0 inactive\nt\n" FREED (
              "0x40000000", "20971008"),
          "i:segment-map 40000000:20971520\ni:alloc #1 40000000:20971008/20971008\nfree-requested "
          "#1 40000000:20971008\nfree-completed #1 "
          "40000000:20971008\n");
}

static void
test_pools (void)
{
  /* Two private pools, numbered in order of appearance; an allocation inside one belongs to that
   * pool once its segment exists. */
  expect (
      "s 0 0x10000000 2097152 0 small 0 0 False\ns 0 0x20000000 2097152 0 small 0 7 False\ns 0 "
      "0x30000000 2097152 0 small 1 0 False\n"
      "b 0x30000000 512 8 active_allocated\n"
      "t\ne alloc 0x10000000 8 0 1\ne alloc 0x30000200 8 0 1\ne alloc 0x20000000 8 0 1\ne "
      "free_requested 0x20000000 8 0 1\n"
      "e free_completed 0x20000000 8 0 1\ne segment_alloc 0x20000000 2097152 0 1\ne alloc "
      "0x20000000 8 0 1\n",
      "i:segment-alloc 10000000:2097152 small\ni:segment-alloc 30000000:2097152 p2 small\ni:alloc "
      "#1 30000000:8/512 p2 small\n"
      "alloc #2 10000000:8\nalloc #3 30000200:8 p2\nalloc #4 20000000:8\nfree-requested #4 "
      "20000000:8\nfree-completed #4 20000000:8\n"
      "segment-alloc 20000000:2097152 small\nalloc #5 20000000:8 p1\n"
      "note: device 0: 3 blocks are live after the last event, but not in the final segments\n");
}

static void
test_old (void)
{
  /* Before 2023: no addresses of blocks, no requested size but a history, no pool, no time. */
  expect (
      "s 0 0x10000000 2097152 0 small\nb - 512 - active_allocated 300\nb - 1024 - inactive\nb - "
      "2048 - active_allocated 1600\n"
      "t\ne alloc 0x10000200 1000 0 -\ne free_requested 0x10000200 1000 0 -\ne free_completed "
      "0x10000200 1000 0 -\n",
      "i:segment-alloc 10000000:2097152 small\ni:alloc #1 10000000:300/512 small\ni:alloc #2 "
      "10000600:1600/2048 small\n"
      "alloc #3 10000200:1000\nfree-requested #3 10000200:1000\nfree-completed #3 10000200:1000\n");
  /* torch.cuda.memory_snapshot() alone: a list of segments. */
  static const char bytes[] =
      "\x80\x04](}(X\7\0\0\0addressM\0\x10X\x0a\0\0\0total_sizeM\0\x20X\6\0\0\0blocks]ue.";
  g_autoptr (GBytes) list = g_bytes_new_static (bytes, sizeof bytes - 1);
  g_autofree char *got = read_all (list, -1, FALSE);
  g_assert_cmpstr (got, ==, "i:segment-alloc 1000:8192\n" NO_EVENTS);
}

/* What the program calls its blocks, when they are allocated and later; a block of before the
 * recording; what is freed, or has no name, is skipped. */
static void
test_names (void)
{
  expect (
      "s 0 0x10000000 20971520 0 large 0 0 False\nb 0x10000000 512 400 active_allocated\nt\n"
      "e alloc 0x10010000 8 0 1 - - weights\ne alloc 0x10020000 9 0 2\n"
      "e annotate 0x10010000 8 0 3 - - packed\ne annotate 0x10000000 400 0 3 - - old\n"
      "e free_requested 0x10020000 9 0 4\ne free_completed 0x10020000 9 0 4\n"
      "e annotate 0x10020000 9 0 5 - - gone\ne alloc 0x10020000 10 0 6\n"
      "e annotate 0x10020000 10 0 7 - - new\ne annotate 0x10020000 10 0 8 - - newer\n"
      "e annotate 0x10010000 8 0 9\n",
      "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:400/512 'old'\n"
      "alloc #2 10010000:8 'weights, packed'\nalloc #3 10020000:9 @1000\n"
      "free-requested #3 10020000:9 @3000\nfree-completed #3 10020000:9 @3000\n"
      "alloc #4 10020000:10 'new, newer' @5000\n"
      "note: device 0: 2 blocks are live after the last event, but not in the final segments\n");
}

/* A phase that began before the first event begins with it, unless it ended before, too. */
static void
test_early_phases (void)
{
  expect (
      "t\ne alloc 0x10000000 8 0 10\ne alloc 0x10010000 8 0 20\nn START over 0 1\nn START in 0 2\n"
      "n END in 0 3\nn START over 0 4\nn END over 0 5\nn END over 0 15\n",
      "phase 'over'\nalloc #1 10000000:8\nphase-end 'over' @5000\nalloc #2 10010000:8 @10000\n"
      "note: device 0: 2 blocks are live after the last event, but not in the final segments\n");
}

static void
test_phases (void)
{
  /* Beginnings and ends, in order of time, before the first event that is not earlier; none after
   * the events. */
  expect (
      "t\ne alloc 0x10000000 8 0 10\ne alloc 0x20000000 8 0 20\nn START late 0 21\nn START two 0 "
      "20\nn END two 0 20\nn START one 0 "
      "11\nn START early 0 9\n"
      "n START elsewhere 1 15\n",
      "phase 'early'\nalloc #1 10000000:8\nphase 'one' @1000\nphase 'two' @10000\nphase-end 'two' "
      "@10000\nalloc "
      "#2 20000000:8 @10000\n"
      "note: device 0: 2 blocks are live after the last event, but not in the final segments\n");
}

/* The settings but for the version, which stands last. */
static void
check_settings (const char *text, const char *expected)
{
  g_autoptr (GBytes) pickle = snapshot_pickle (text, SNAPSHOT_PYTHON);
  GememTraceReader *reader = open_bytes (pickle, -1, FALSE, NULL);
  g_assert_nonnull (reader);
  const char *version = strstr (reader->info.settings, "version=");
  gsize length = version != NULL ? (gsize) (version - reader->info.settings)
                                 : strlen (reader->info.settings);

  if (version != NULL && length > 0)
    length--; /* the comma */
  g_autofree char *rest = g_strndup (reader->info.settings, length);
  g_assert_cmpstr (rest, ==, expected);
  gemem_trace_close (reader);
}

static void
test_settings (void)
{
  check_settings ("c max_split_size -1\nc garbage_collection_threshold 0.0\nc expandable_segments "
                  "False\nc PYTORCH_CUDA_ALLOC_CONF \n",
                  "");
  check_settings (
      "c max_split_size 134217728\nc garbage_collection_threshold 0.8\nc expandable_segments "
      "True\n",
      "max_split_size_mb=128,garbage_collection_threshold=0.8,expandable_segments=true");
  check_settings ("c max_split_size 20971521\n", "max_split_size_mb=20971521B");
  check_settings ("d 1 0\nd 2 0\nd 32768 1\n", "");
  check_settings (
      "d 1 4\nd 2 4\nd 4 4\nd 8 4\nd 16 4\nd 32 4\nd 64 4\nd 128 4\nd 256 4\nd 512 4\nd "
      "1024 4\nd 2048 4\nd 4096 4\nd 8192 4\nd 16384 4\nd 32768 4\n",
      "roundup_power2_divisions=4");
  check_settings ("d 1 8\nd 2 8\nd 64 4\n",
                  "roundup_power2_divisions=[1:8,2:8,4:0,8:0,16:0,32:0,64:4,128:0,256:0,512:0,1024:"
                  "0,2048:0,4096:0,8192:0,16384:0,32768:0]");
  check_settings (
      "c PYTORCH_CUDA_ALLOC_CONF backend:native, max_split_size_mb:64 "
      ",per_process_memory_fraction:0.5,large_segment_size_mb:40\nc max_split_size 67108864\n",
      "max_split_size_mb=64,per_process_memory_fraction=0.5,large_segment_size_mb=40");
  check_settings ("c PYTORCH_ALLOC_CONF max_non_split_rounding_mb:30\n",
                  "max_non_split_rounding_mb=30");
}

static void
check_allocator (const char *text, const char *allocator, const char *settings)
{
  g_autoptr (GBytes) pickle = snapshot_pickle (text, SNAPSHOT_PYTHON);
  GememTraceReader *reader = open_bytes (pickle, -1, FALSE, NULL);

  g_assert_nonnull (reader);
  g_assert_cmpstr (reader->info.allocator, ==, allocator);
  if (g_str_equal (allocator, "torch-npu")) /* no version of PyTorch is named */
    g_assert_cmpstr (reader->info.settings, ==, settings);
  else
    g_assert_true (g_str_has_prefix (reader->info.settings, settings));
  gemem_trace_close (reader);
}

/* Padding of 32 bytes proves torch_npu, where the small pool shows it and no block denies it; so does
 * its own key in the settings (peers.md 2.1). */
static void
test_torch_npu (void)
{
#define SMALL "s 0 0x10000000 2097152 0 small 0 0 False\n"
#define PADDED "b 0x10000000 1024 512 active_allocated\n"
#define UNPADDED "b 0x10000400 512 490 active_allocated\n"
#define NEITHER "b 0x10000600 512 100 active_allocated\n"
  check_allocator (SMALL PADDED NEITHER, "torch-npu", "");
  check_allocator (SMALL NEITHER, "pytorch-caching", "");
  check_allocator (SMALL UNPADDED, "pytorch-caching", "");
  check_allocator (SMALL PADDED UNPADDED, "pytorch-caching", "");
  check_allocator (SMALL PADDED "d 1 2\n", "pytorch-caching",
                   "roundup_power2_divisions=[1:2,2:0,4:0,8:0,16:0,32:0,64:0,128:0,256:0,512:0,"
                   "1024:0,2048:0,4096:0,8192:0,16384:0,32768:0]");
  check_allocator ("s 0 0x10000000 20971520 0 large 0 0 False\n" PADDED, "pytorch-caching", "");
  check_allocator (SMALL NEITHER "c PYTORCH_NPU_ALLOC_CONF page_size:1g,base_addr_aligned_kb:0\n",
                   "torch-npu", "page_size=1g,base_addr_aligned_kb=0");
  check_allocator (SMALL UNPADDED "c PYTORCH_NPU_ALLOC_CONF throw_on_npumalloc_oom:True\n",
                   "torch-npu", "pad=0,throw_on_npumalloc_oom=True");
}

/* peers.md 1a.3: rounding, without and with divisions. */
static void
test_rounding (void)
{
  GememPytorchSettings settings;

  gemem_pytorch_settings_init (&settings);
  settings.pad = 32;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 480), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 481), ==, 1024);
  settings.pad = 0;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 512), ==, 512);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 513), ==, 1024);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1200 * 1024 + 1), ==,
                    1200 * 1024 + 512);
  for (guint i = 0; i < GEMEM_PYTORCH_SLOTS; i++)
    settings.divisions[i] = 4;
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 2048), ==,
                    2048); /* 512 * 4: not above it */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 2049), ==, 2560);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1200), ==, 1536);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 5000), ==, 5120);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 5121), ==, 6144);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, 1 << 20), ==, 1 << 20);
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (1 << 20) + 1), ==,
                    (1 << 20) + (1 << 18));
  settings.divisions[1] = 0; /* 2 to 4 MiB */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (2 << 20) + 1), ==, (2 << 20) + 512);
  settings.divisions[15] = 2; /* 32 GiB and above */
  g_assert_cmpuint (gemem_pytorch_settings_round (&settings, (G_GUINT64_CONSTANT (64) << 30) + 1),
                    ==, G_GUINT64_CONSTANT (96) << 30);
}

static void
test_contradictions (void)
{
  expect ("t\ne alloc 0x10000000 8 0 1\ne alloc 0x10000000 8 0 2\n",
          "x.pickle:device_traces[0][1]: 0x10000000 is allocated while it is live; the recording "
          "is damaged or has a gap");
  expect ("t\nt\ne free_requested 0x10000000 8 0 1\ne free_requested 0x10000000 8 0 2\n",
          "x.pickle:device_traces[1][1]: block 0x10000000 is freed a second time; the recording is "
          "damaged");
  expect ("t\ne segment_alloc 0x10000000 8 0 1\ne segment_alloc 0x10000000 8 0 2\n",
          "x.pickle:device_traces[0][1]: segment 0x10000000 is allocated a second time; the "
          "recording is damaged");
  expect ("t\ne segment_map 0x10000000 4096 0 1\ne segment_map 0x10000800 4096 0 2\n",
          "x.pickle:device_traces[0][1]: range 0x10000800 is mapped a second time; the recording "
          "is damaged");
  expect (S0 "s 0 0x10100000 20971520 0 large 0 0 False\n",
          "x.pickle:device_traces[0]: before the first event the segments at 0x10000000 "
          "and 0x10100000 overlap; segments and events of this file do not "
          "belong together");
  expect (S0 "b 0x10000000 512 8 active_allocated\nb 0x10000000 512 8 active_allocated\n",
          "x.pickle:device_traces[0]: two blocks at 0x10000000 are live before the first event; "
          "segments and events of this file do not "
          "belong together, or actions were left out (skip_actions)");
  /* The events before the contradiction can be read. */
  expect_with ("t\ne alloc 0x10000000 8 0 1\ne alloc 0x10000000 8 0 2\n", -1, TRUE,
               "alloc #1 10000000:8\npartial: x.pickle:device_traces[0][1]: 0x10000000 is "
               "allocated while it is live; the recording is "
               "damaged or has a gap\n");
}

static void
expect_bad (const char *text, const char *expected)
{
  g_autoptr (GBytes) pickle = snapshot_pickle (text, SNAPSHOT_PYTHON);
  g_autofree char *got = read_all (pickle, -1, FALSE);
  if (!g_str_has_prefix (got, "x.pickle: byte ") || !g_str_has_suffix (got, expected))
    g_error ("\"%s\" does not end in \"%s\"", got, expected);
}

static void
test_values (void)
{
  expect_bad ("t\ne alloc 0x10000000 -8 0 1\n",
              ": \"size\" is -8, which no allocator could serve; the snapshot is damaged");
  expect_bad (
      "t\ne alloc 0x10000000 1152921504606846976 0 1\n",
      ": \"size\" is 1152921504606846976, which no allocator could serve; the snapshot is damaged");
  expect_bad (
      "t\ne alloc 0x10000000 0 0 1\n",
      ": \"alloc\" of 0 bytes at address 0x10000000; neither can be 0, the snapshot is damaged");
  expect_bad ("t\ne alloc 0 8 0 1\n",
              ": \"alloc\" of 8 bytes at address 0x0; neither can be 0, the snapshot is damaged");
  expect_bad ("t\ne alloc - 8 0 1\n",
              ": an event without \"addr\"; this is no snapshot of torch.cuda.memory");
  expect_bad ("t\ne alloc 0x10000000 many 0 1\n",
              ": \"size\" is not an integer; this is no snapshot of torch.cuda.memory");
  expect_bad ("t\ne - 0x10000000 8 0 1\n",
              ": an event without \"action\"; this is no snapshot of torch.cuda.memory");
  expect_bad ("t\ne alloc 0x10000000 8 0 -1\n",
              ": \"time_us\" is -1, which no allocator could serve; the snapshot is damaged");
  expect_bad ("s 0 - 4096 0 small\n",
              ": a segment without \"address\"; this is no snapshot of torch.cuda.memory");
  expect_bad ("s 9999 4096 4096 0 small\n",
              ": \"device\" is 9999, which no allocator could serve; the snapshot is damaged");
  expect_bad ("s 0 4096 4096 0 small\nb 4096 512 8 lost\n",
              ": a block in state \"lost\"; this state is not known");
  expect_bad ("s 0 4096 4096 0 small\nb 4096 8192 8 active_allocated\n",
              ": block 0x1000 lies outside of its segment 0x1000; the snapshot is damaged");
  g_autoptr (GBytes) other = g_bytes_new_static ("\x80\x04}(\x8c\1aK\1\x8c\1bK\2u.", 16);
  g_autofree char *got = read_all (other, -1, FALSE);
  g_assert_cmpstr (got, ==,
                   "x.pickle: byte 16: neither \"segments\" nor \"device_traces\" in this pickle; "
                   "it is no snapshot of torch.cuda.memory");
}

/* A file cut anywhere, plain or in a page, is an error; with allow_partial it is marked, and
 * never crashes. */
static void
test_truncated (void)
{
  static const char text[] = S0 "b 0x10000000 8388608 8388000 active_allocated\nb 0x10800000 "
                                "12582912 0 inactive\nt\nt\ne free_requested 0x20000000 8 0 9\n"
                                "e free_completed 0x20000000 8 0 9\ne alloc 0x10000000 8 0 10\nn "
                                "START phase 1 10\nc max_split_size 20971520\nd 1 4\n";
  for (guint style = 0; style < 3; style++)
    {
      g_autoptr (GBytes)
          pickle = snapshot_pickle (text, style == 2 ? SNAPSHOT_CXX : (SnapshotStyle) style);
      g_autofree char *page = snapshot_page (pickle);
      const char *data = style == 2 ? page : g_bytes_get_data (pickle, NULL);
      gsize whole = style == 2 ? (gsize) (strstr (page, "\"}]") - page) : g_bytes_get_size (pickle);
      guint partial = 0;
      for (gsize size = 0; size < whole; size++)
        {
          g_autoptr (GBytes) part = g_bytes_new (data, size);
          g_autoptr (GError) error = NULL;
          GememTraceReader *reader = open_bytes (part, -1, FALSE, &error);
          if (reader != NULL && style == 2) /* only padding is missing */
            g_assert_cmpuint (whole - size, <=, 8);
          else
            {
              g_assert_null (reader);
              g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
              gemem_trace_close (open_bytes (part, -1, TRUE, NULL));
              reader = open_bytes (part, -1, TRUE, NULL);
              partial += reader != NULL;
              g_assert_true (reader == NULL || (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0);
            }
          gemem_trace_close (reader);
        }
      g_assert_cmpuint (partial, >, 100);
    }
}

static void
test_page_errors (void)
{
  static const struct
  {
    const char *text, *error;
  } pages[] = {
    { "<html>nothing</html>", "no \"base64\" text in this page; read the pickle it was made from, "
                              "or fetch the file again if a server sent this" },
    { "<html><title>GPU Memory Timeline HTML</title><img src='data:image/png;base64,iVBO'>",
      "a page of export_memory_timeline() holds only a picture; record with export_chrome_trace() "
      "and profile_memory=True, or "
      "torch.cuda.memory._dump_snapshot()" },
    { "<html>let alloc_data = {}</html>", "a page of 2022/23 (alloc_data) has neither addresses "
                                          "nor segments; read the pickle it was made from" },
    { "<html>local_files base64, \"base64\": \"gA*=\"",
      "this character does not belong into base64; the page was cut off or edited" },
    { "<html>local_files \"base64\": \"gARL",
      "the page ends inside the base64 text; it was cut off, fetch it again" },
    { "<html>local_files \"base64\" : \"gASAB\"",
      "the base64 text ends inside a group; the page was cut off or edited" },
    { "<html>local_files 'base64': 'gAR9'",
      "the file ends in the middle of the pickle; it was cut off, fetch it again" },
    { "<html>local_files base64:\"gAR9Li==\"", "neither \"segments\" nor \"device_traces\" in this "
                                               "pickle; it is no snapshot of torch.cuda.memory" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    {
      g_autoptr (GBytes) page = g_bytes_new (pages[i].text, strlen (pages[i].text));
      g_autofree char *got = read_all (page, -1, FALSE);
      if (!g_str_has_suffix (got, pages[i].error))
        g_error ("page %u: \"%s\"", i, got);
    }
}

/* More events than a batch, and than a pickler's batch of 1000: none is lost at the borders. */
static void
test_many (void)
{
  g_autoptr (GString) text = g_string_new ("t\n");
  for (guint i = 0; i < 5000; i++)
    g_string_append_printf (text, "e alloc %u 8 0 %u\n", 4096 + 512 * i, i);
  g_string_append (text, "t\n");
  for (guint i = 0; i < 2500; i++)
    g_string_append_printf (text, "e alloc %u 8 0 %u\n", 4096 + 512 * i, i);
  for (guint i = 0; i < 3000; i++)
    g_string_append_printf (text, "n START step 0 %u\n", 4999 - i);
  for (guint style = 0; style < 2; style++)
    {
      g_autoptr (GBytes) pickle = snapshot_pickle (text->str, (SnapshotStyle) style);
      GememTraceReader *reader = open_bytes (pickle, -1, FALSE, NULL);
      const GememTraceEvent *events;
      guint64 id = 0, phases = 0;
      gssize n;
      g_assert_nonnull (reader);
      while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
        for (gssize i = 0; i < n; i++)
          if (events[i].kind == GEMEM_EVENT_PHASE)
            {
              g_assert_cmpuint (events[i].time, ==, (2000 + phases++) * 1000);
              g_assert_cmpuint (events[i].time, ==,
                                id * 1000); /* directly before the event of the same time */
            }
          else
            {
              g_assert_cmpuint (events[i].id, ==, ++id);
              g_assert_cmpuint (events[i].device, ==, id > 5000);
            }
      g_assert_cmpint (n, ==, 0);
      g_assert_cmpuint (id, ==, 7500);
      g_assert_cmpuint (phases, ==, 3000);
      gemem_trace_close (reader);
    }
}

/* ---- why segments are released */

/* As expect(), but without the notes on devices: on blocks live at the end, and on unnamed
 * pools. */
static void
expect_released (const char *text, const char *expected)
{
  for (guint style = 0; style < 2; style++)
    {
      g_autoptr (GBytes)
          bytes = snapshot_pickle (text, style == 0 ? SNAPSHOT_PYTHON : SNAPSHOT_CXX);
      g_autofree char *all = read_all (bytes, -1, FALSE);
      g_autoptr (GString) got = g_string_new (all);
      char *note;
      while ((note = strstr (got->str, "note: device 0: ")) != NULL
             || (note = strstr (got->str, "device: what the program had")) != NULL)
        g_string_erase (got, note - got->str, strchr (note, '\n') + 1 - note);
      g_assert_cmpstr (got->str, ==, expected);
    }
}

#define SEGMENT(n, stack) \
  "e segment_alloc 0x" n "0000000 20971520 0 1 " stack "\ne alloc 0x" n \
  "0000000 20000000 0 1 " stack "\n"
#define SEGMENT_READ(n, id) \
  "segment-alloc " n "0000000:20971520\nalloc #" id " " n "0000000:20000000\n"
#define FREE(n, stack) \
  "e free_requested 0x" n "0000000 20000000 0 1 " stack "\ne free_completed 0x" n \
  "0000000 20000000 0 1 " stack "\n"
#define FREE_READ(n, id) \
  "free-requested #" id " " n "0000000:20000000\nfree-completed #" id " " n "0000000:20000000\n"
#define BACK(n, stack) "e segment_free 0x" n "0000000 20971520 0 1 " stack "\n"
#define BACK_READ(n) "segment-free " n "0000000:20971520\n"

static void
test_emptied (void)
{
  static const char told[] = "releases: device 0: the program emptied the cache (trim): 1\n";
  g_autofree char *read = g_strconcat (
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ ("1") SEGMENT_READ ("2", "2"),
      told, NULL);

  /* By name; by another line; without a stack where requests have stacks; and without any. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "empty_cache/m")
                       SEGMENT ("2", "a/m"),
                   read);
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "at::emptyCache()/a/m")
                       SEGMENT ("2", "a/m"),
                   read);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m") SEGMENT ("2", "a/m"), read);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "a/m") BACK ("1", "-") SEGMENT ("2", "a/m"), read);
  /* Only requests have stacks, and a segment has that of its last request: this is believed only
   * where the device could not have served both. */
  expect_released ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m")
                       FREE ("3", "a/m") BACK ("1", "a/m") SEGMENT ("2", "a/m"),
                   SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
                       FREE_READ ("3", "2") "device-limit:41943040\n" BACK_READ ("1")
                           SEGMENT_READ ("2", "3") "device-limit\n"
                                                   "releases: device 0: the allocator gave back "
                                                   "memory as the device refused a request: 1\n");
  expect_released (
      "t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m") FREE ("3", "a/m")
          BACK ("1", "a/m") BACK ("3", "a/m") SEGMENT ("2", "a/m") SEGMENT ("4", "a/m")
              SEGMENT ("5", "a/m"),
      SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
          FREE_READ ("3", "2") "trim\n" BACK_READ ("1") BACK_READ ("3") SEGMENT_READ ("2", "3")
              SEGMENT_READ ("4", "4") SEGMENT_READ (
                  "5", "5") "releases: device 0: the program emptied the cache (trim): 1\n");
  /* ... and not where it is known that nothing was refused. */
  g_autoptr (GBytes)
      known = snapshot_pickle ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "a/m")
                                   FREE ("3", "a/m") BACK ("1", "a/m") SEGMENT ("2", "a/m"),
                               SNAPSHOT_PYTHON);
  const GememReadOptions never_refused = { .device = -1, .never_refused = TRUE };
  g_autofree char *trimmed = read_with (known, &never_refused);
  g_assert_nonnull (strstr (trimmed, "trim\n" BACK_READ ("1")));
  g_assert_null (strstr (trimmed, "device-limit"));
  /* A release outside of empty_cache may be the end of a pool, which only newer files name. */
  g_autoptr (GBytes) nameless = snapshot_pickle (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m"), SNAPSHOT_PYTHON);
  g_autofree char *with_note = read_all (nameless, -1, FALSE);
  g_assert_nonnull (strstr (with_note, "note: device 0: releases of the program that name no "
                                       "empty_cache: 1; if private pools ended there"));
  /* At the end of the file. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "a/m"),
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ (
                       "1") "releases: device 0: the program emptied the cache (trim): 1\n");
  expect_released (
      "t\n" SEGMENT ("1", "-") FREE ("1", "-") BACK ("1", "-") SEGMENT ("2", "-"),
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ ("1")
          SEGMENT_READ ("2", "2") "releases: device 0: the program emptied the cache (trim): 1, of "
                                  "these guessed for want of call stacks: 1\n");
}

static void
test_refused (void)
{
  static const char one[] =
      "releases: device 0: the allocator gave back memory as the device refused a request: 1\n";
  g_autofree char *served = g_strconcat (
      SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "device-limit:20971520\n" BACK_READ ("1")
          SEGMENT_READ ("2", "2") "device-limit\n",
      one, NULL);
  expect_released (
      "t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m") BACK ("1", "b/m") SEGMENT ("2", "b/m"), served);
  /* All events of the run have the request's stack, and the request obtains a segment: else the
   * program released. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("1", "d/m") FREE ("3", "d/m")
          BACK ("1", "b/m") BACK ("3", "-") SEGMENT ("2", "b/m"),
      SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2") FREE_READ ("1", "1")
          FREE_READ ("3", "2") "trim\n" BACK_READ ("1") BACK_READ ("3") SEGMENT_READ (
              "2", "3") "releases: device 0: the program emptied the cache (trim): 1\n");
  expect_released ("t\n" SEGMENT ("1", "a/m") SEGMENT ("3", "a/m") FREE ("3", "d/m")
                       BACK ("3", "b/m") "e free_requested 0x10000000 20000000 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") SEGMENT_READ ("3", "2")
                       FREE_READ ("3", "2") "trim\n" BACK_READ (
                           "3") "free-requested #1 10000000:20000000\nreleases: device 0: the "
                                "program emptied the cache (trim): 1\n"
                                "");
  /* A block that the request waited for completes within the run; one that completes with its
   * free does not count. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m")
          SEGMENT ("3", "a/m") "e free_requested 0x10000000 20000000 0 1 d/m\n" FREE (
              "3", "d/m") "e free_completed 0x10000000 20000000 0 1 b/m\n" BACK ("1", "b/m")
              BACK ("3", "b/m") SEGMENT ("2", "b/m"),
      SEGMENT_READ ("1", "1")
          SEGMENT_READ ("3", "2") "free-requested #1 10000000:20000000\n" FREE_READ (
              "3",
              "2") "device-limit:20971520\nfree-completed #1 10000000:20000000\n" BACK_READ ("1")
              BACK_READ ("3")
                  SEGMENT_READ ("2", "3") "device-limit\n"
                                          "releases: device 0: the allocator gave back memory as "
                                          "the device refused a request: 1\n");
}

/* Without call stacks: garbage was collected where an unused segment is left, which an emptied cache has not;
 * only then in the other runs, and only if one limit explains all. */
static void
test_collected (void)
{
#define BEGIN \
  "t\n" SEGMENT ("1", "-") SEGMENT ("3", "-") SEGMENT ("5", "-") FREE ("1", "-") FREE ("3", "-")
#define ONE BEGIN BACK ("1", "-") SEGMENT ("2", "-")
#define MORE SEGMENT ("7", "-") /* so that the device did not refuse what came before */
#define MUCH MORE SEGMENT ("8", "-") SEGMENT ("9", "-")
#define SETTING "c garbage_collection_threshold 0.5\n"
  static const char *const cases[][2] = {
    { SETTING ONE MORE, "device-limit:62914560\n" BACK_READ ("1") SEGMENT_READ ("2", "4") },
    { SETTING ONE MORE, "memory_limit=83886080" },
    { SETTING ONE FREE ("2", "-") BACK ("2", "-") BACK ("3", "-") SEGMENT ("4", "-") MUCH,
      "garbage_collection_threshold says: 2\n" },
    { "c garbage_collection_threshold 0.0\n" ONE MORE, "trim\n" BACK_READ ("1") },
    { SETTING BEGIN BACK ("1", "-") BACK ("3", "-") SEGMENT ("2", "-") MUCH,
      "trim\n" BACK_READ ("1") },
    /* what was held before the last run is less than half of what was held later */
    { SETTING ONE FREE ("2", "-") BACK ("2", "-") "e alloc 0x51400000 8 0 1 -\n" BACK ("3", "-")
          SEGMENT ("4", "-") MUCH,
      "guessed for want of call stacks: 2; the allocator gave back memory as the device refused a "
      "request, or as garbage_collection_threshold says: 1\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GBytes) bytes = snapshot_pickle (cases[i][0], SNAPSHOT_PYTHON);
      g_autofree char *read = read_all (bytes, -1, FALSE);

      if (strstr (read, cases[i][1]) == NULL)
        g_error ("case %u: not found: %s in:\n%s", i, cases[i][1], read);
    }
#undef BEGIN
#undef ONE
#undef MORE
#undef MUCH
#undef SETTING
}

/* A request that maps a part of what it needs before the device refuses the rest: the device had that
 * part too. */
static void
test_refused_after_a_part (void)
{
#define MAP(n, size, stack) "e segment_map 0x" n "0000000 " size " 0 1 " stack "\n"
#define UNMAP(n, size, stack) "e segment_unmap 0x" n "0000000 " size " 0 1 " stack "\n"
  for (guint waits = 0; waits <= 1; waits++)
    {
      static const char back[] = "e free_completed 0x10000000 40000000 0 1 b/m\n",
                        back_read[] = "free-completed #1 10000000:40000000\n";
      g_autofree char *given = g_strconcat (
          "t\n" MAP ("1", "41943040", "a/m") "e alloc 0x10000000 40000000 0 1 a/m\n"
                                             "e free_requested 0x10000000 40000000 0 1 d/m\n",
          waits ? "" : "e free_completed 0x10000000 40000000 0 1 d/m\n",
          MAP ("3", "20971520", "b/m"), waits ? back : "",
          UNMAP ("1", "41943040", "b/m")
              MAP ("4", "20971520", "b/m") "e alloc 0x40000000 20000000 0 1 b/m\n",
          NULL);
      g_autofree char *read = g_strconcat (
          "segment-map 10000000:41943040\nalloc #1 10000000:40000000\n"
          "free-requested #1 10000000:40000000\n",
          waits ? "" : back_read, "segment-map 30000000:20971520\ndevice-limit:62914560\n",
          waits ? back_read : "",
          "segment-unmap 10000000:41943040\nsegment-map 40000000:20971520\n"
          "alloc #2 40000000:20000000\ndevice-limit\n"
          "releases: device 0: the allocator gave back memory as the device refused a request: 1\n",
          NULL);

      expect_released (given, read);
    }
#undef MAP
#undef UNMAP
}

static void
test_failed (void)
{
  /* Nothing to release; something, but not enough; the first event of the file. */
  expect_released (
      "t\n" SEGMENT ("1", "a/m") "e oom 7 83886080 3 1 a/m\n",
      SEGMENT_READ ("1", "1") "device-limit:20971520\noom:83886080/7 s3\ndevice-limit\n"
                              "releases: device 0: requests that ran out of memory: 1\n"
                              "");
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m")
                       BACK ("1", "b/m") "e oom 7 83886080 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "device-limit:1\n" BACK_READ (
                       "1") "oom:83886080/7\ndevice-limit\n"
                            "releases: device 0: the allocator gave back memory as the device "
                            "refused a request: 1; requests that ran out of memory: 1\n");
  expect_released ("t\ne oom 7 83886080 0 1 b/m\n",
                   "device-limit:1\noom:83886080/7\ndevice-limit\n"
                   "releases: device 0: requests that ran out of memory: 1\n");
  /* Without a size the event is no request. */
  expect_released ("t\n" SEGMENT ("1", "a/m") FREE ("1", "d/m")
                       BACK ("1", "b/m") "e oom 7 0 0 1 b/m\n",
                   SEGMENT_READ ("1", "1") FREE_READ ("1", "1") "trim\n" BACK_READ (
                       "1") "oom/7\n"
                            "releases: device 0: the program emptied the cache (trim): 1\n");
}

static void
test_pools_let_go (void)
{
#define POOLED(n) \
  "e segment_alloc 0x" n "0000000 20971520 0 1 a/m 5\ne alloc 0x" n "0000000 20000000 0 1 a/m 5\n" \
  "e free_requested 0x" n "0000000 20000000 0 1 d/m 5\ne free_completed 0x" n \
  "0000000 20000000 0 1 d/m 5\n"
#define POOLED_READ(n, id) \
  "segment-alloc " n "0000000:20971520 p1\nalloc #" id " " n \
  "0000000:20000000 p1\nfree-requested #" id " " n "0000000:20000000 p1\nfree-completed #" id \
  " " n "0000000:20000000 p1\n"
  static const char told[] = "releases: device 0: the program emptied the cache (trim): 1\n";
  g_autofree char *with_trim = g_strconcat (
      POOLED_READ ("1", "1") "pool-release p1\ntrim\nsegment-free 10000000:20971520 p1\n", told,
      NULL);
  g_autofree char *alone = g_strconcat (
      POOLED_READ ("1", "1") "pool-release/1 p1\nsegment-free 10000000:20971520 p1\n", told, NULL);

  /* The program emptied the cache; or only released the pool. */
  expect_released ("t\n" POOLED ("1") "e segment_free 0x10000000 20971520 0 1 empty_cache/m 5\n",
                   with_trim);
  expect_released ("t\n" POOLED ("1") "e segment_free 0x10000000 20971520 0 1 d/m 5\n", alone);
}

/* Before 2.12 events name no pool: what an emptied cache returns behind the default pool's, out of the
 * order of streams, was of a private one.  Not what the allocator returned by itself. */
static void
test_pools_by_order (void)
{
#define ON(n, stream) \
  "e segment_alloc 0x" n "0000000 20971520 " stream " 1 a/m\ne alloc 0x" n \
  "0000000 20000000 " stream " 1 a/m\ne free_requested 0x" n "0000000 20000000 " stream \
  " 1 d/m\ne free_completed 0x" n "0000000 20000000 " stream " 1 d/m\n"
#define BACK_ON(n, stream, stack) "e segment_free 0x" n "0000000 20971520 " stream " 1 " stack "\n"
  static const char *const stacks[] = { "empty_cache/m", "a/m" };

  for (guint i = 0; i < G_N_ELEMENTS (stacks); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "t\n" ON ("1", "3") ON ("2", "7") ON ("3", "5") BACK_ON ("1", "3", "%s")
              BACK_ON ("2", "7", "%s") BACK_ON ("3", "5", "%s") SEGMENT ("4", "a/m"),
          stacks[i], stacks[i], stacks[i]);
      g_autoptr (GBytes) bytes = snapshot_pickle (text, SNAPSHOT_PYTHON);
      g_autofree char *read = read_all (bytes, -1, FALSE);

      g_assert_cmpint (strstr (read, "pool-release p1\ntrim\n") != NULL, ==, i == 0);
      g_assert_cmpint (strstr (read, "alloc #3 30000000:20000000 s5 p1\n") != NULL, ==, i == 0);
      g_assert_null (strstr (read, "alloc #2 20000000:20000000 s7 p"));
    }
}

static void
test_repeats (void)
{
  /* Any number of stacks, all shared. */
  g_autoptr (GString) text = g_string_new ("t\n");
  g_autoptr (GString) expected = g_string_new (NULL);
  for (guint i = 0; i < 3000; i++)
    {
      guint64 address = 0x10000000 + (guint64) i * 0x1000;
      g_string_append_printf (text, "e alloc 0x%" G_GINT64_MODIFIER "x 512 0 1 f%u/f%u/m\n",
                              address, i % 700, i % 11);
      g_string_append_printf (text,
                              "e free_requested 0x%" G_GINT64_MODIFIER
                              "x 512 0 1 g%u/m\ne free_completed 0x%" G_GINT64_MODIFIER
                              "x 512 0 1 g%u/m\n",
                              address, i % 7, address, i % 7);
      g_string_append_printf (expected,
                              "alloc #%u %" G_GINT64_MODIFIER
                              "x:512\nfree-requested #%u %" G_GINT64_MODIFIER
                              "x:512\nfree-completed #%u %" G_GINT64_MODIFIER "x:512\n",
                              i + 1, address, i + 1, address, i + 1, address);
    }
  expect_released (text->str, expected->str);
}

/* Actions that the program excluded (skip_actions), marks without meaning. */
static void
test_skipped (void)
{
  /* No completion at all: the block is complete when its address is reused, or is not live at
   * the end. */
  expect (S0 "b 0x10000000 512 500 active_allocated\nt\ne alloc 0x10000000 400 0 1\ne "
             "free_requested 0x10000000 400 0 1\ne alloc 0x10000000 500 0 1\n",
          "i:segment-alloc 10000000:20971520\nalloc #1 10000000:400\nfree #1 10000000:400\nalloc "
          "#2 10000000:500\n");
  expect (S0 "b 0x10000000 20971520 0 inactive\nt\ne free_requested 0x10000000 400 0 1\n",
          "i:segment-alloc 10000000:20971520\ni:alloc #1 10000000:400/512 ?\nfree #1 "
          "10000000:400\n" DOUBT ("0", "1"));
  /* A block that still waits is not such a case. */
  expect (
      S0 "b 0x10000000 512 400 active_pending_free\nt\ne alloc 0x10000000 400 0 1\ne "
         "free_requested 0x10000000 400 0 1\n",
      "i:segment-alloc 10000000:20971520\nalloc #1 10000000:400\nfree-requested #1 10000000:400\n");
  /* Completions alone. */
  expect ("t\ne alloc 0x10000000 400 0 1\ne free_completed 0x10000000 400 0 1\n",
          "alloc #1 10000000:400\nfree-completed #1 10000000:400\n");
  expect ("t\ne alloc 0x10000000 400 0 1\ne annotate 0x10000000 400 0 1\ne free_completed "
          "0x10000000 400 0 1\n",
          "alloc #1 10000000:400\nfree-completed #1 10000000:400\n");
}

static char *
version_of (const char *text, const char *given)
{
  g_autoptr (GBytes) bytes = snapshot_pickle (text, SNAPSHOT_PYTHON);
  g_autoptr (GError) error = NULL;
  GememReadOptions options = GEMEM_READ_OPTIONS_DEFAULT;
  options.torch = given;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"),
                                                     NULL, &options, &error);
  g_assert_no_error (error);
  char *version = NULL;
  for (guint i = 0; i < reader->info.provenance->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (reader->info.provenance, i), "PyTorch: "))
      version = g_strdup ((char *) g_ptr_array_index (reader->info.provenance, i)
                          + strlen ("PyTorch: "));
  gemem_trace_close (reader);
  return version;
}

static void
test_versions (void)
{
  static const struct
  {
    const char *text, *version;
  } cases[] = {
    { "", "2.5 to 2.13 (inferred: there is external_annotations, but no host_traces)" },
    { "t\ne alloc 0x1000 5 0 1\n",
      "2.5 to 2.7 (inferred: there is external_annotations, but no compile_context)" },
    { "c max_cached_size -1\n", "2.13 (inferred: there is max_cached_size, but no host_traces)" },
    { "c graph_capture_record_stream_reuse False\nt\ne alloc 0x1000 5 0 1\n",
      "2.9 (inferred: there is graph_capture_record_stream_reuse, but no user_metadata)" },
    { "t\ne alloc 0x1000 5 0 1 a/b 0\n",
      "2.12 or 2.13 (inferred: events have pool_id, but no host_traces)" },
    { "c max_split_size -1\nt\ne alloc 0x1000 5 0 1 a/b 0\n",
      "2.12 (inferred: events have pool_id, but no max_cached_size)" },
    { "c PYTORCH_CUDA_ALLOC_CONF large_segment_size_mb:32\nt\ne alloc 0x1000 5 0 1\n",
      "2.11 (inferred: it was set large_segment_size_mb, but no pool_id)" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *version = version_of (cases[i].text, NULL);
      g_assert_cmpstr (version, ==, cases[i].version);
    }
  g_autofree char *given = version_of ("", "2.11.0");
  g_assert_cmpstr (given, ==, "2.11.0");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pytorch-variants/empty", test_empty);
  g_test_add_func ("/pytorch-variants/events", test_events);
  g_test_add_func ("/pytorch-variants/devices", test_devices);
  g_test_add_func ("/pytorch-variants/initial", test_initial);
  g_test_add_func ("/pytorch-variants/tails", test_tails);
  g_test_add_func ("/pytorch-variants/expandable", test_expandable);
  g_test_add_func ("/pytorch-variants/pools", test_pools);
  g_test_add_func ("/pytorch-variants/old", test_old);
  g_test_add_func ("/pytorch-variants/phases", test_phases);
  g_test_add_func ("/pytorch-variants/early-phases", test_early_phases);
  g_test_add_func ("/pytorch-variants/names", test_names);
  g_test_add_func ("/pytorch-variants/settings", test_settings);
  g_test_add_func ("/pytorch-variants/torch-npu", test_torch_npu);
  g_test_add_func ("/pytorch-variants/rounding", test_rounding);
  g_test_add_func ("/pytorch-variants/contradictions", test_contradictions);
  g_test_add_func ("/pytorch-variants/values", test_values);
  g_test_add_func ("/pytorch-variants/truncated", test_truncated);
  g_test_add_func ("/pytorch-variants/page-errors", test_page_errors);
  g_test_add_func ("/pytorch-variants/many", test_many);
  g_test_add_func ("/pytorch-variants/emptied", test_emptied);
  g_test_add_func ("/pytorch-variants/refused", test_refused);
  g_test_add_func ("/pytorch-variants/collected", test_collected);
  g_test_add_func ("/pytorch-variants/refused-after-a-part", test_refused_after_a_part);
  g_test_add_func ("/pytorch-variants/failed", test_failed);
  g_test_add_func ("/pytorch-variants/pools-let-go", test_pools_let_go);
  g_test_add_func ("/pytorch-variants/pools-let-go-by-order", test_pools_by_order);
  g_test_add_func ("/pytorch-variants/many-stacks", test_repeats);
  g_test_add_func ("/pytorch-variants/skipped", test_skipped);
  g_test_add_func ("/pytorch-variants/versions", test_versions);
  return g_test_run ();
}
