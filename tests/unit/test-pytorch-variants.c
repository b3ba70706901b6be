/* test-pytorch-variants.c - snapshots written by hand, for cases that the recordings lack (peers.md
 * 2.1, README of shared/traces).
 *
 * Several devices and streams, expandable segments, private pools, out-of-memory and snapshot
 * events, blocks that wait for streams, hidden tails, old layouts, both writers, the page of
 * memory_viz, and all refusals.
 */
#include "config.h"

#include <string.h>

#include "tests/util/snapshot-text.h"
#include "tests/util/snapshot-writer.h"
#include "traces/trace.h"

/* clang-format off: texts in pieces, a line each */

static void
expect_with (const char *text, int device, gboolean partial, const char *expected)
{
  g_autoptr (GBytes) python = snapshot_pickle (text, SNAPSHOT_PYTHON),
                     cxx = snapshot_pickle (text, SNAPSHOT_CXX);
  g_autofree char *got = test_snapshot_text (python, device, partial);
  g_assert_cmpstr (got, ==, expected);
  g_autofree char *page_text = snapshot_page (cxx);
  g_autoptr (GBytes) page = g_bytes_new (page_text, strlen (page_text));
  g_autofree char *inside = test_snapshot_text (page, device, partial);
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
  g_autofree char *got = test_snapshot_text (list, -1, FALSE);
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
  g_autofree char *got = test_snapshot_text (pickle, -1, FALSE);
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
  g_autofree char *got = test_snapshot_text (other, -1, FALSE);
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
          GememTraceReader *reader = test_snapshot_open (part, -1, FALSE, &error);
          if (reader != NULL && style == 2) /* only padding is missing */
            g_assert_cmpuint (whole - size, <=, 8);
          else
            {
              g_assert_null (reader);
              g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
              gemem_trace_close (test_snapshot_open (part, -1, TRUE, NULL));
              reader = test_snapshot_open (part, -1, TRUE, NULL);
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
      g_autofree char *got = test_snapshot_text (page, -1, FALSE);
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
      GememTraceReader *reader = test_snapshot_open (pickle, -1, FALSE, NULL);
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
  g_test_add_func ("/pytorch-variants/contradictions", test_contradictions);
  g_test_add_func ("/pytorch-variants/values", test_values);
  g_test_add_func ("/pytorch-variants/truncated", test_truncated);
  g_test_add_func ("/pytorch-variants/page-errors", test_page_errors);
  g_test_add_func ("/pytorch-variants/many", test_many);
  g_test_add_func ("/pytorch-variants/skipped", test_skipped);
  return g_test_run ();
}
