/* test-paddle-log.c - logs of Paddle's allocators: each kind of line, threads, streams, places,
 * failures, damage. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"
#include "traces/trace.h"

/* The prefix of glog for @thread, and lines as Paddle prints them (paddle.md 9). */
#define AT(second, thread) "I1121 10:00:" second ".000000 " thread " file.cc:12] "
#define T1 AT ("00", "1")
#define T2 AT ("00", "2")
#define ASK(size, rounded) "Allocate " size " bytes, aligned to " rounded "\n"
#define ALLOC(rounded, address) "Alloc " rounded " bytes, ptr = " address "\n"
#define FREE(rounded, address) "Free " rounded " bytes, ptr = " address "\n"
#define STREAM_ALLOC(size, address, stream) \
  "Thread 140 Allocate " size " bytes at address " address "  , stream: " stream "\n"
#define TRY_FREE(address) "Try free allocation " address "\n"
#define BUDDY(size, rounded) "Allocate " size " bytes from chunk size " rounded "\n"
#define LEFT(address, rounded) \
  "Split block (" address ", 65536) into\n" T1 "Left block (" address ", " rounded ")\n" T1 \
  "Insert right block (0x9, 1)\n"
#define BUDDY_FREE(address) \
  "Free from address " address "\n" T1 "Merging this block " address \
  " with its right buddy 0x9\n" T1 "Inserting free block (0x1, 1)\n"

static void
expect_times (const char *text, gboolean partial, gboolean times, const char *expected)
{
  g_autofree char *got = test_trace_text (text, -1, "paddle-log", partial, times);
  g_assert_cmpstr (got, ==, expected);
}

static void
expect (const char *text, const char *expected)
{
  expect_times (text, FALSE, FALSE, expected);
}

static void
test_growth (void)
{
  expect (T1 ASK ("300", "512") T1 ALLOC ("512", "0x1000") T1 FREE ("512", "0x1000"),
          "alloc 1 +300/512 @1000; free 1 +300 @1000; | 3 | skipped 1");
  /* The lines of the hit and of the chunk between; without a request line the size is the
   * block's. */
  expect (T1 ASK ("300", "512") T1
          "Allocate 512 bytes from chunk size 4096, remaining 3584\n" T1 ALLOC ("512", "0x1000")
              T1 ALLOC ("256", "0x2000"),
          "alloc 1 +300/512 @1000; alloc 2 +256/256 @2000; | 3 | skipped 1");
  /* Two threads at once; no prefix, or text before it; Windows line ends; other lines. */
  expect (T1 ASK ("300", "512") T2 ASK ("10", "256") T2 ALLOC ("256", "0x2000")
              T1 ALLOC ("512", "0x1000"),
          "alloc 1 +10/256 @2000; alloc 2 +300/512 @1000; | 3 | skipped 2");
  expect ("Allocate 5 bytes, aligned to 256\r\n[1,0]<stderr>:Alloc 256 bytes, ptr = 0x100\r\nFree "
          "as a bird\r\nAllocate memory\r\n\r\n",
          "alloc 1 +5/256 @100; | 2 | skipped 1");
  expect (T1 "Allocate 5 bytes, aligned to 256, extra size 64\n" T1 ALLOC ("256", "0x100"),
          "alloc 1 +5/256 @100; | 3 | skipped 1");
}

static void
test_chunks (void)
{
  expect (
      T1 ASK ("5", "256") T1
      "Not found and reallocate 4096(0x10000), and remaining 3840\n" T1 ALLOC ("256", "0x10f00"),
      "segment-alloc +4096 @10000; alloc 1 +5/256 @10f00; | 7 | skipped 1");
  /* A hit whose line was cut off is not a request of a buddy; with a buddy there would be no
   * segments. */
  expect (T1
          "Not found and reallocate 4096(0x10000), and remaining 3840\n" T1 ALLOC ("256", "0x10f00")
              T1 ASK ("5", "256") T1 "Allocate 256 bytes from chunk size 3840, rem",
          "segment-alloc +4096 @10000; alloc 1 +256/256 @10f00; alloc 2 +5 !8; free 2 +5 !8; | 7 | "
          "skipped 0");
  /* Where a chunk has no address, or is freed, segments would be wrong: none are delivered. */
  expect (T1 "Not found and reallocate 4096, and remaining 3840\n" T1 ALLOC ("256", "0x10f00"),
          "alloc 1 +256/256 @10f00; | 3 | skipped 1");
  expect (T1 "Not found and reallocate 4096(0x10000), and remaining 3840\n" T1
             "Free chunk with size 4096\n" T1 ALLOC ("256", "0x10f00"),
          "alloc 1 +256/256 @10f00; | 3 | skipped 2");
}

/* auto growth of 1.8.5 logs its chunks alone. */
#define BARE_CHUNK "Not found and reallocate 1280, and remaining 256\n"

static void
test_chunks_alone (void)
{
  expect (T1 BARE_CHUNK,
          "x.log:1: the log has chunks of auto growth and none of its allocations; PaddlePaddle "
          "1.8 logs no more, whatever GLOG_v is, so that it cannot be imported: use a log of a "
          "later version");
  expect (T1 "Not found and reallocate 4096(0x10000), and remaining 3840\n",
          "x.log:1: the log has chunks of auto growth and none of its allocations; run again with "
          "GLOG_v=10");
  /* the host's memory is a trace all the same */
  expect (T1 BARE_CHUNK T1 BARE_CHUNK T1 "Allocate 5 bytes on CPUPlace\n" T1 "  pointer=0x100\n",
          "alloc 1 +5 @100 d65535; | 3 | skipped 3 | 2 chunks of auto growth are without its "
          "allocations, which PaddlePaddle 1.8 does not log: what it served is not in this trace");
}

static void
test_streams (void)
{
  /* The upper requests count: they name the stream, and ask for less than the block below. */
  expect (T1 ASK ("300", "512") T1 ALLOC ("512", "0x1000")
              T1 STREAM_ALLOC ("512", "0x1000", "0x55d0") T2 TRY_FREE ("0x1000") T2
          "Put into unfreed_allocation list\n" T1 FREE ("512", "0x1000"),
          "alloc 1 +300/512 @1000 s21968; free-requested 1 +300 @1000 s21968; free-completed 1 "
          "+300 @1000 s21968; | 43 | skipped 2");
  /* Alone they are sufficient. */
  expect (T1 STREAM_ALLOC ("512", "0x1000", "0") T1 STREAM_ALLOC ("512", "0x2000", "7")
              T1 TRY_FREE ("0x1000") T1 "Directly delete allocation\n",
          "alloc 1 +512/512 @1000; alloc 2 +512/512 @2000 s7; free 1 +512 @1000; | 3 | skipped 0");
  /* A free of auto growth without one above; a free that is tried twice. */
  expect (T1 ALLOC ("512", "0x1000") T1 STREAM_ALLOC ("512", "0x1000", "(nil)")
              T1 FREE ("512", "0x1000"),
          "alloc 1 +512/512 @1000; free 1 +512 @1000; | 43 | skipped 1");
  expect (T1 STREAM_ALLOC ("512", "0x1000", "(nil)") T1 TRY_FREE ("0x1000") T1 TRY_FREE ("0x1000")
              T1 FREE ("512", "0x1000"),
          "alloc 1 +512/512 @1000; free-requested 1 +512 @1000; free-completed 1 +512 @1000; | 43 "
          "| skipped 1");
}

/* On Windows pointers have no 0x; terminals get colours; threads may be numbered in hexadecimal. */
static void
test_spellings (void)
{
  static const char zeros[] = "Alloc 5\0 bytes, ptr = 0x1\n\xff\xfe\0\0\n" T1
                              "Alloc 512 bytes, ptr = 0x1000\0\0\n";

  expect (T1 ASK ("300", "512") T1 "Alloc 512 bytes, ptr = 000001F2AABB0C00\r\n" T1 STREAM_ALLOC (
              "512", "000001F2AABB0C00", "000000000000000A") T1 TRY_FREE ("000001F2AABB0C00")
              T1 FREE ("512", "000001F2AABB0C00") T1 ALLOC ("256", "0000000000000000")
                  T1 ALLOC ("256", "0"),
          "alloc 1 +300/512 @1f2aabb0c00 s10; free-requested 1 +300 @1f2aabb0c00 s10; "
          "free-completed 1 +300 @1f2aabb0c00 s10; | 43 | skipped 4");
  expect (T1 BUDDY ("100", "256") T1
          "Left block (0000000000010000, 256)\n" T1 BUDDY_FREE ("0000000000010000"),
          "alloc 1 +100/256 @10040; free 1 +100 @10040; | 3 | skipped 1");
  expect ("\033[32m" T1 "Allocate 300 bytes, aligned to 512\033[m\n\033[0;32m" T1
          "Alloc 512 bytes, ptr = 0x1000\033[m\n",
          "alloc 1 +300/512 @1000; | 3 | skipped 1");
  expect (AT ("00", "0x7f01") ASK ("300", "512") AT ("00", "0x7f02") ASK ("10", "256")
              AT ("00", "0x7f01") ALLOC ("512", "0x1000"),
          "alloc 1 +10 !8; free 1 +10 !8; alloc 2 +300/512 @1000; | 3 | skipped 1");
  /* A line with zero bytes in it was written by another program. */
  g_autofree char *foreign = test_trace_text (zeros, sizeof zeros - 1, "paddle-log", FALSE, FALSE);
  g_assert_cmpstr (foreign, ==, "alloc 1 +512/512 @1000; | 3 | skipped 0");
}

static void
test_buddy (void)
{
  /* The user's address is 64 bytes behind the block. */
  expect (T1 BUDDY ("100", "256") T1 LEFT ("0x10000", "256") T1
          "Allocation from existing memory block 0x10000 at address 0x10040\n" T1 BUDDY_FREE (
              "0x10000"),
          "alloc 1 +100/256 @10040; free 1 +100 @10040; | 3 | skipped 1");
  /* Larger than a chunk, in both wordings. */
  expect (T1 BUDDY ("99900", "100096") T1
          "Allocate from system allocator.\n" T1
          "Allocated 0x10000 from system allocator.\n" T1 BUDDY_FREE ("0x10000") T1
          "Free directly from system allocator\n",
          "alloc 1 +99900/100096 @10040; free 1 +99900 @10040; | 3 | skipped 1");
  expect (T1 BUDDY ("99900", "100096") T1 "Allocated 0x10000 size 100096 from system allocator.\n",
          "alloc 1 +99900/100096 @10040; | 3 | skipped 1");
  /* Threads; a log that begins in the middle of a request; released chunks. */
  expect (T1 LEFT ("0x10000", "256") T2 BUDDY ("1", "256") T1 BUDDY ("2", "256") T2
          "Left block (0x20000, 256)\n" T1 "Left block (0x30000, 512)\n" T1
          "Release 3 chunks, Free 12 bytes.\n",
          "alloc 1 +1/256 @20040; alloc 2 +2/512 @30040; trim; | 3 | skipped 3");
}

/* Blocks that the temporary allocator keeps stay the buddy's; its reuses do not reach the buddy.
 * [cudaMalloc] has no address. */
static void
test_passed_over (void)
{
  expect (T1 BUDDY ("100", "256") T1 LEFT ("0x10000", "256") T1
          "Alloc temporary allocation: 0x10040: 100\n" T1
          "Move temporary allocation: 0x10040 to delete queue: 100; wait_delete_mem: 100\n" T1
          "Reuse temporary allocation: 0x10040: 100\n" T1
          "Delete temporary allocation 0x10040 size: 100\n" T1 BUDDY_FREE ("0x10000"),
          "alloc 1 +100/256 @10040; free 1 +100 @10040; | 3 | skipped 1");
  expect (T1 ASK ("300", "512") T1 "[cudaMalloc] size=2 MB, result=0\n" T1 ALLOC ("512", "0x1000")
              T1 "[cudaFree] size=2 MB\n",
          "alloc 1 +300/512 @1000; | 3 | skipped 1");
  /* Cut, or with nonsense in the fields: the lines are ignored. */
  expect (T1 ASK ("300", "512") T1
          "Alloc temporary allocation: \n" T1 "Alloc temporary allocation: 0x: -1\n" T1
          "Reuse temporary\n" T1 "[cudaMalloc] size=\n" T1
          "[cudaMalloc] size=99999999999999999999 MB, result=\n" T1 ALLOC ("512", "0x1000"),
          "alloc 1 +300/512 @1000; | 3 | skipped 1");
  expect (T1 "Alloc temporary allocation: 0x10040: 100\n" T1 "[cudaMalloc] size=2 MB, result=0\n",
          "x.log:1: the log has no whole line of Paddle's allocators; run again with GLOG_v=10");
}

static void
test_places (void)
{
  /* The allocator below writes no log. */
  expect (T1 "Allocate 10 bytes on CPUPlace\n" T1 "  pointer=0x10\n" T1
             "Allocate 20 bytes on Place(gpu:3)\n" T1 "  pointer=0x20\n" T1
             "Allocate 30 bytes on CUDAPlace(1)\n" T1 "  pointer=0x30\n" T1
             "Free pointer=0x10 on CPUPlace\n" T1 "  pointer=0x40\n",
          "alloc 1 +10 @10 d65535; alloc 2 +20 @20 d3; alloc 3 +30 @30 d1; free 1 +10 @10 d65535; "
          "| 3 | skipped 4");
  expect (T1 "Allocate 0 bytes on CPUPlace\n" T1 "  pointer=0x10\n" T1
             "Free pointer=0x10 on CPUPlace\n",
          "alloc 1 @10 d65535; free 1 @10 d65535; | 3 | skipped 1");
  /* The buddy's block is the same as the pointer. */
  expect (T1 "Allocate 10 bytes on CPUPlace\n" T1 BUDDY ("10", "4096") T1 LEFT ("0x10000", "4096")
              T1 "  pointer=0x10040\n" T1
                 "Free pointer=0x10040 on CPUPlace\n" T1 BUDDY_FREE ("0x10000"),
          "alloc 1 +10/4096 @10040 d65535; free 1 +10 @10040 d65535; | 3 | skipped 4");
  /* With auto growth present a buddy is the CPU's. */
  expect (T1 ASK ("5", "256") T1 ALLOC ("256", "0x100") T1 BUDDY ("10", "4096")
              T1 LEFT ("0x10000", "4096"),
          "alloc 1 +5/256 @100; alloc 2 +10/4096 @10040 d65535; | 3 | skipped 2");
}

static void
test_failures (void)
{
  expect (T1 ASK ("900", "1024") T1 ASK ("5", "256") T1 ALLOC ("256", "0x100") T1 ASK ("70", "256"),
          "alloc 1 +900 !8; free 1 +900 !8; alloc 2 +5/256 @100; alloc 3 +70 !8; free 3 +70 !8; | "
          "3 | skipped 1");
  /* A repeated request: one failure for both attempts, none if the second succeeded. */
  expect (T1 ASK ("900", "1024") T2 ASK ("5", "256") T1 ASK ("900", "1024")
              T2 ALLOC ("256", "0x100"),
          "alloc 1 +900 !8; free 1 +900 !8; alloc 2 +5/256 @100; | 3 | skipped 2");
  expect (T1 ASK ("900", "1024") T1 ASK ("900", "1024") T1 ALLOC ("1024", "0x100"),
          "alloc 1 +900/1024 @100; | 3 | skipped 2");
  expect (T1 BUDDY ("900", "1024") T1 BUDDY ("5", "256") T1 LEFT ("0x10000", "256"),
          "alloc 1 +900 !8; free 1 +900 !8; alloc 2 +5/256 @10040; | 3 | skipped 1");
  /* Versions that print no blocks do not show failures. */
  expect (T1 ASK ("900", "1024") T1 ASK ("5", "256") T1 STREAM_ALLOC ("256", "0x100", "0"),
          "alloc 1 +256/256 @100; | 3 | skipped 2");
}

static void
test_times (void)
{
  expect_times (
      "E20251231 23:59:58.0 1 f] " ALLOC (
          "256", "0x100") "I20251231 23:59:59.5 1 "
                          "file.cc:12] " ALLOC ("256", "0x200") "W20260101 00:00:00.000001 "
                                                                "1 x] " ALLOC ("256", "0x300"),
      FALSE, TRUE,
      "alloc 1 +256/256 @100; alloc 2 +256/256 @200 t1500000000; alloc 3 +256/256 @300 "
      "t2000001000; | 3 | skipped 0");
  expect_times (
      AT ("05", "1") ALLOC ("256", "0x100") AT ("07", "1") ALLOC ("256", "0x200") AT ("06", "2")
          ALLOC ("256", "0x300"),
      FALSE, TRUE,
      "alloc 1 +256/256 @100; alloc 2 +256/256 @200 t2000000000; alloc 3 +256/256 @300 "
      "t2000000000; | 3 | skipped 0 | "
      "1 lines are earlier than the line before on their device, their times were raised");
  expect_times (AT ("05", "1")
                    ALLOC ("256", "0x100") "I0230 10:00:07.0 1 x] " ALLOC ("256", "0x200"),
                FALSE, TRUE, "alloc 1 +256/256 @100; alloc 2 +256/256 @200; | 2 | skipped 0");
}

static void
test_damage (void)
{
#define BAD(field) \
  "x.log:2: the line of Paddle's allocators has no good '" field \
  "'; it is cut, or mixed with another; use --allow-partial to leave such lines out"
  static const struct
  {
    const char *line, *message;
  } cases[] = {
    { "Alloc 256 bytes, ptr = ", BAD ("ptr =") },
    { "Alloc 256 bytes, ptr = 12", BAD ("ptr =") },
    { "Free 256 bytes, ptr = 0x12345678901234567", BAD ("ptr =") },
    { "Free 256 bytes, ptr = 000000000000100", BAD ("ptr =") },
    { "Free 256 bytes, ptr = 00000000000001000", BAD ("ptr =") },
    { "Free 256 bytes, ptr = 0000000000001xyz", BAD ("ptr =") },
    { "Free 256 bytes, ptr = 0xffffffffffffffff", BAD ("ptr =") },
    { "Allocate 5 bytes, aligned to ", BAD ("aligned to") },
    { "Allocate 5 bytes, aligned to 1152921504606846976", BAD ("aligned to") },
    { "Allocate 5 bytes from chunk size x", BAD ("chunk size") },
    { "Allocate 5 bytes at address 0x1000", BAD ("at address P, stream:") },
    { "Allocate 5 bytes at address 0x1000  , stream: ", BAD ("at address P, stream:") },
    { "Try free allocation", "alloc 1 +1/2 @1; | 2 | skipped 0" },
    { "Try free allocation x", BAD ("Try free allocation") },
    { "Left block (0x1000, 25", BAD ("Left block") },
    { "Free from address 0x", BAD ("Free from address") },
    { "Free pointer=5", BAD ("Free pointer=") },
    { "Free chunk with size -1", BAD ("chunk with size") },
    { "Not found and reallocate 5(", BAD ("reallocate") },
    { "Release 99999999999999999999 chunks, Free 1 bytes.\nAllocated x\nAllocated 0x1 "
      "size\nAllocate 5 by\npointer=\nAlloc x\nFree "
      "x\nAllocate 5 bytes",
      "alloc 1 +1/2 @1; | 2 | skipped 0" }, /* another program's, as far as one can tell */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strconcat ("Allocate 1 bytes at address 0x1  , stream: 0\n",
                                           cases[i].line, "\n", NULL);
      g_autofree char *expected = g_strdup (cases[i].message);
      char *block = strstr (expected, "+1/2");
      if (block != NULL)
        block[3] = '1';
      expect (text, expected);
    }
  expect ("I am no log\n",
          "x.log:1: the log has no whole line of Paddle's allocators; run again with GLOG_v=10");
  expect_times (T1 ALLOC ("256", "0x100") T1 "Free 256 bytes, ptr = 0", TRUE, FALSE,
                "alloc 1 +256/256 @100; | 13 | skipped 1 | 1 frees of blocks that this log never "
                "allocated are left out");
  expect_times (T1 ALLOC ("256", "0x100") T1 "Free 256 bytes, ptr = ", TRUE, FALSE,
                "alloc 1 +256/256 @100; | 23 | skipped 1 | 1 lines are cut or mixed with others "
                "and left out");
  /* Two processes wrote at once: the rest is read, and the request whose block was in the torn
   * line does not count as failed. */
  expect_times (T1 ASK ("300", "512") T1 "Alloc 512 bytes, ptr = 0x10" T2 ASK ("5", "256")
                    T2 ALLOC ("256", "0x200") T1 FREE ("512", "0x1000") T2 FREE ("256", "0x200"),
                TRUE, FALSE,
                "alloc 1 +256/256 @200; free 1 +256 @200; | 33 | skipped 3 | 1 lines are cut or "
                "mixed with others and left out | "
                "1 frees of blocks that this log never allocated are left out");
  expect (T1 ALLOC ("256", "0x100") T1 ALLOC ("256", "0x100"),
          "x.log:2: 0x100 is allocated while it is live; lines are missing, or the logs of several "
          "processes were mixed; "
          "use --allow-partial to end the old block here");
  expect_times (T1 ALLOC ("256", "0x100") T1 ALLOC ("512", "0x100") T1 FREE ("512", "0x100"), TRUE,
                FALSE,
                "alloc 1 +256/256 @100; free 1 +256 @100; alloc 2 +512/512 @100; free 2 +512 @100; "
                "| 3 | skipped 0 | "
                "1 blocks were still live when their address was allocated again, and end there");
  expect (T1 FREE ("256", "0x100") T1 BUDDY_FREE ("0x100") T1 TRY_FREE ("0x200"),
          "| 13 | skipped 3 | 3 frees of blocks that this log never allocated are left out");
}

static char *
sample (void)
{
  g_autofree char *path = test_source_path ("tests/data/paddle/gpu-log.txt");
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

static void
test_sample (void)
{
  g_autofree char *text = sample (), *path = test_source_path ("tests/data/paddle/gpu-log.txt");
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "paddle-log"); /* by its content */
  g_assert_cmpstr (reader->info.allocator, ==, "paddle-auto-growth");
  gemem_trace_close (reader);
  for (gsize size = 1; size < strlen (text); size++) /* with the first line recognised */
    {
      g_autoptr (GBytes) head = g_bytes_new (text, size);
      gboolean known;
      reader = gemem_trace_open_input (gemem_input_new_from_bytes (head, "x"), NULL, NULL, NULL);
      known = reader != NULL && g_str_equal (reader->format->name, "paddle-log");
      g_assert_true (known || size < strcspn (text, "\n"));
      gemem_trace_close (reader);
      g_autofree char *got = test_trace_text (text, (gssize) size, "paddle-log", FALSE, FALSE);
      g_assert_true (g_str_has_prefix (got, "x.log:") || strstr (got, "| skipped ") != NULL);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/paddle-log/growth", test_growth);
  g_test_add_func ("/paddle-log/chunks", test_chunks);
  g_test_add_func ("/paddle-log/chunks-alone", test_chunks_alone);
  g_test_add_func ("/paddle-log/streams", test_streams);
  g_test_add_func ("/paddle-log/spellings", test_spellings);
  g_test_add_func ("/paddle-log/buddy", test_buddy);
  g_test_add_func ("/paddle-log/passed-over", test_passed_over);
  g_test_add_func ("/paddle-log/places", test_places);
  g_test_add_func ("/paddle-log/failures", test_failures);
  g_test_add_func ("/paddle-log/times", test_times);
  g_test_add_func ("/paddle-log/damage", test_damage);
  g_test_add_func ("/paddle-log/sample", test_sample);
  return g_test_run ();
}
