/* test-ge-runtime-log.c - logs of GE's run time: each kind of line, lines that repeat others,
 * pools, processes, devices, failures, damage. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"
#include "traces/trace.h"

/* clang-format off: texts in pieces, a line each */

/* Lines as GE prints them (ge-runtime.md 10), without the prefix. */
#define MALLOC(name, device, size, block, address) \
  "4712 [" name "] Alloc: Malloc block device_id:" device " size:" size " allocate_size:" block \
  " mem_addr:" address ". span addr " \
  "0x55d0\n"
#define FREE(name, device, address) \
  "4712 [" name "] Free: Free block device_id:" device \
  " theory_size_:1 theory_min_size_:2 allock_size:65536 mem_addr:" address ".\n"
#define REQUEST(name, size) "4712 [" name "] Malloc: Malloc size:" size ".\n"
#define REFUSED(name) \
  "4712 [" name "] Malloc: Failed to apply for memory. We will try to free memory from memory " \
  "pool, the above error log can be ignored.\n"
#define PAGING(size, address, device) \
  "1 Alloc: MallocMemory, func=aclrtMalloc, size=" size ", purpose=page caching, ptr=" address \
  ", device_id=" device ", module_id=45\n"
#define DRIVER_FREE(size, address, device) \
  "1 free: RtMemAllocator::free device_id:" device " ,size:" size ", mem_addr:" address "\n"
#define PLAN \
  "read what the planner logged with --trace-format=ge-plan-log, or error lines with 'gemem-sim " \
  "explain'"
#define KERNEL(name, message) "7 Compute: [KernelTrace][" name "]" message "\n"

static void
expect_times (const char *text, gboolean partial, gboolean times, const char *expected)
{
  g_autofree char *got = test_trace_text (text, -1, "ge-runtime-log", partial, times);
  g_assert_cmpstr (got, ==, expected);
}

static void
expect (const char *text, const char *expected)
{
  expect_times (text, FALSE, FALSE, expected);
}

static char *
sample (const char *name)
{
  g_autofree char *relative = g_strconcat ("tests/data/ge/", name, NULL),
                  *path = test_source_path (relative);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

/* ---- pools */

static void
test_pools (void)
{
  expect (MALLOC ("allocator_1", "0", "100", "65536", "0x1000") FREE ("allocator_1", "0", "0x1000")
              MALLOC ("allocator_1", "0", "7", "65536", "0x1000"),
          "alloc 1 +100/65536 @1000; free 1 +100 @1000; alloc 2 +7/65536 @1000; | 2 | skipped 0");
  /* Any prefix, or none; Windows line ends; other modules; the pool need not be named. */
  expect ("x y z Malloc block device_id:3 size:1 allocate_size:2 mem_addr:0xAb. span addr "
          "(nil)\r\nnothing\r\n\r\nFree block is what I say\r\n",
          "alloc 1 +1/2 @ab d3; | 2 | skipped 0");
  /* Two pools side by side are two streams; the same address on two devices is two blocks. */
  expect (MALLOC ("allocator_1", "0", "1", "65536", "0x1000")
              MALLOC ("allocator_2", "0", "2", "65536", "0x2000")
                  MALLOC ("allocator_3", "1", "3", "65536", "0x1000")
                      FREE ("allocator_3", "1", "0x1000") FREE ("allocator_2", "0", "0x2000"),
          "alloc 1 +1/65536 @1000; alloc 2 +2/65536 @2000 s1; alloc 3 +3/65536 @1000 d1; free 3 +3 "
          "@1000 d1; free 2 +2 @2000 s1; | 2 | "
          "skipped 0");
  /* A null block is ignored. */
  expect (MALLOC ("allocator_1", "0", "0", "0", "(nil)") FREE ("allocator_1", "0", "(nil)"),
          "| 2 | skipped 2");
}

/* The same block at three levels: bottom pool, L1, pool of a stream (which says device -1). */
static void
test_counted_once (void)
{
  expect (MALLOC ("rts_allocator_0", "2", "131072", "131072",
                  "0x1000") MALLOC ("allocator_1", "2", "131072", "131072", "0x1000")
              MALLOC ("allocator_2", "4294967295", "70000", "131072", "0x1000")
                  FREE ("allocator_2", "4294967295", "0x1000") FREE ("allocator_1", "2", "0x1000")
                      FREE ("rts_allocator_0", "2", "0x1000"),
          "alloc 1 +70000/131072 @1000 d2; free 1 +70000 @1000 d2; | 2 | skipped 4");
  /* The bottom pool counts as the lower level even if the two share no address; alone it is used
   * itself. */
  expect (MALLOC ("rts_allocator_0", "0", "9", "65536", "0x1000")
              MALLOC ("allocator_1", "0", "5", "65536", "0x9000"),
          "alloc 1 +5/65536 @9000; | 2 | skipped 1");
  expect (MALLOC ("rts_allocator_0", "0", "9", "65536", "0x1000")
              MALLOC ("rts_allocator_1", "0", "5", "65536", "0x9000"),
          "alloc 1 +9/65536 @1000; alloc 2 +5/65536 @9000 s1; | 2 | skipped 0");
  expect (MALLOC ("allocator_1", "0", "262144", "262144", "0x1000")
              MALLOC ("ffts_allocator_1", "0", "5", "65536", "0x1000"),
          "alloc 1 +5/65536 @1000; | 2 | skipped 1");
  /* A graph output that left the pool of its stream ends with the block below it. */
  expect (MALLOC ("allocator_1", "0", "65536", "65536", "0x1000")
              MALLOC ("allocator_2", "0", "5", "65536", "0x1000")
                  FREE ("allocator_1", "0", "0x1000")
                      MALLOC ("allocator_1", "0", "65536", "65536", "0x1000")
                          MALLOC ("allocator_2", "0", "6", "65536", "0x1000"),
          "alloc 1 +5/65536 @1000; free 1 +5 @1000; alloc 2 +6/65536 @1000; | 2 | skipped 2");
  /* Lines of another thread come between; a pool of another device belongs to neither. */
  expect (MALLOC ("allocator_1", "0", "65536", "65536", "0x1000")
              MALLOC ("allocator_9", "0", "5", "65536", "0x9000")
                  MALLOC ("allocator_2", "0", "5", "65536", "0x1000")
                      MALLOC ("allocator_3", "1", "6", "65536", "0x1000"),
          "alloc 1 +5/65536 @9000; alloc 2 +5/65536 @1000 s1; alloc 3 +6/65536 @1000 d1; | 2 | "
          "skipped 1");
  /* An address released and reused by another pool does not make the first pool its lower level. */
  expect (MALLOC ("allocator_1", "0", "1", "65536", "0x1000") FREE ("allocator_1", "0", "0x1000")
              MALLOC ("allocator_2", "0", "2", "65536", "0x1000"),
          "alloc 1 +1/65536 @1000; free 1 +1 @1000; alloc 2 +2/65536 @1000 s1; | 2 | skipped 0");
}

static void
test_processes (void)
{
  /* Pools of the same name and address in two processes on a device; of one on another. */
  expect (
      "[INFO] GE(10,a):" MALLOC (
          "allocator_1", "0", "1", "65536",
          "0x1000") "[INFO] GE(11,b):" MALLOC ("allocator_1", "0", "2", "65536",
                                               "0x1000") "[INFO] GE(12)" MALLOC ("allocator_1", "5",
                                                                                 "3", "65536",
                                                                                 "0x1000") "[INFO] "
                                                                                           "GE(11,"
                                                                                           "b)"
                                                                                           ":" FREE (
                                                                                               "all"
                                                                                               "oca"
                                                                                               "tor"
                                                                                               "_1",
                                                                                               "0",
                                                                                               "0x1"
                                                                                               "00"
                                                                                               "0"),
      "alloc 1 +1/65536 @1000; alloc 2 +2/65536 @1000 s1; alloc 3 +3/65536 @1000 d5; free 2 +2 "
      "@1000 s1; | 2 | skipped 0");
  /* The kernel trace names no device: it is the first one that the process names elsewhere. */
  expect ("GE(10,a) " KERNEL (
              "k",
              "[MEM]Alloc memory at stream 3, block 0x1, address 0x1000, size "
              "512") "GE(11,a) " KERNEL ("k",
                                         "[MEM]Alloc memory at stream 3, "
                                         "block 0x1, address 0x1000, "
                                         "size 512") "GE(12,a) " KERNEL ("k",
                                                                         "[MEM]Alloc memory at "
                                                                         "stream 3, "
                                                                         "block 0x1, address "
                                                                         "0x1000, size "
                                                                         "512") "GE(11,a)"
                                                                                " " PAGING ("20971"
                                                                                            "5"
                                                                                            "2",
                                                                                            "0x0ff"
                                                                                            "0",
                                                                                            "6"),
          "alloc 1 +512/512 @1000 s3 'k'; alloc 2 +512/512 @1000 s3 d6 'k'; alloc 3 +512/512 @1000 "
          "s4294967299 'k'; "
          "segment-alloc +2097152 @ff0 d6; | 6 | skipped 0");
}

static void
test_failures (void)
{
  /* A final failure: nothing is returned before the next request of the pool, or ever. */
  expect (REQUEST ("allocator_1", "900") REFUSED ("allocator_1") FREE ("allocator_1", "0", "0x2000")
              REQUEST ("allocator_1", "5") MALLOC ("allocator_1", "0", "5", "65536", "0x1000")
                  REQUEST ("allocator_1", "8") REFUSED ("allocator_1"),
          "alloc 1 +900 !8; free 1 +900 !8; alloc 2 +5/65536 @1000; alloc 3 +8 !8; free 3 +8 !8; | "
          "12 | skipped 4 | "
          "1 frees of blocks that this log never allocated are left out");
  /* The ladder made the request succeed. */
  expect (REQUEST ("allocator_1", "5") REFUSED ("allocator_1")
              MALLOC ("allocator_1", "0", "5", "65536", "0x1000"),
          "alloc 1 +5/65536 @1000; | 2 | skipped 2");
  /* The failure of a lower pool is not counted; a line without a pool is about the pool asked
   * last. */
  expect (MALLOC ("rts_allocator_0", "0", "1", "65536", "0x1000")
              MALLOC ("allocator_1", "0", "1", "65536", "0x1000")
                  REQUEST ("rts_allocator_0", "65536") REFUSED ("rts_allocator_0")
                      REQUEST ("allocator_1", "7") "4712 Failed to apply for memory, for now. We "
                                                   "will try to free memory from memory pool\n",
          "alloc 1 +1/65536 @1000; alloc 2 +7 !8; free 2 +7 !8; | 2 | skipped 4");
  expect (
      MALLOC ("allocator_1", "0", "1", "65536",
              "0x1000") "Failed to apply for memory. We will try to free memory from memory pool\n",
      "alloc 1 +1/65536 @1000; | 2 | skipped 1 | 1 refused requests are left out: their size is "
      "not told");
}

/* ---- kernel trace */

static void
test_kernel_trace (void)
{
  g_autofree char *text = sample ("kernel-trace.txt");
  g_autoptr (GString) crlf = g_string_new (text);

  g_string_replace (crlf, "\n", "\r\n", 0);
#define EVENTS \
  "alloc 1 +65536/65536 @120000000000 'AllocMemHbm_Conv[1]'; use-on-stream 1 @120000000000 s1 " \
  "t1000; stream-free 1 @120000000000 t2000; " \
  "event-record 7 t5000; event-wait 7 s1 t6000; stream-free 1 @120000000000 s1 t7000; free 1 " \
  "+65536 @120000000000 t8000; | 3 | skipped 3"
  expect_times (text, FALSE, TRUE, EVENTS);
  expect_times (crlf->str, FALSE, TRUE, EVENTS);
}

#define K_ALLOC(stream, address, tail) \
  KERNEL ("A", "[MEM]Alloc memory at stream " stream ", block 0x5, address " address \
               ", size 65536" tail)
#define K_FREE(stream, address) \
  KERNEL ("F", "[MEM]Free memory at stream " stream ", address " address ", index 0")
#define K_RECYCLE(stream, address) \
  KERNEL ("", "[MEM]Recycle memory at stream " stream ", address " address)

static void
test_kernel_lines (void)
{
  /* The tensor's size is the requested one; a free at stream -1 is on the block's own stream;
   * the block ends on its home stream. */
  expect (K_ALLOC ("2", "0x1000", ", tensor size 60000, index 0") K_FREE ("-1", "0x1000")
              K_RECYCLE ("2", "0x1000"),
          "alloc 1 +60000/65536 @1000 s2 'A'; stream-free 1 @1000 s2; free 1 +60000 @1000 s2; | 2 "
          "| skipped 0");
  /* Without a recycle line the free ends the block. */
  expect (K_ALLOC ("2", "0x1000", "") K_FREE ("2", "0x1000") K_ALLOC ("2", "0x1000", ""),
          "alloc 1 +65536/65536 @1000 s2 'A'; free 1 +65536 @1000 s2; alloc 2 +65536/65536 @1000 "
          "s2 'A'; | 2 | skipped 0");
  /* A borrowed block is returned again before it goes back to its home stream. */
  expect (K_ALLOC ("0", "0x1000", "")
              KERNEL ("", "[MEM]Borrow-recycle memory at stream 1, address 0x1000, birth stream 0")
                  K_ALLOC ("1", "0x1000", "") KERNEL (
                      "", "[MEM]Borrow-recycle memory at stream 1, address 0x1000, birth stream 0")
                      K_RECYCLE ("0", "0x1000"),
          "alloc 1 +65536/65536 @1000 'A'; free 1 +65536 @1000; alloc 2 +65536/65536 @1000 s1 'A'; "
          "free 2 +65536 @1000 s1; | 2 | skipped 1");
  /* Pools of streams, moves of blocks, waits for what was never sent: nothing to replay. */
  expect (
      K_ALLOC (
          "0", "0x1000",
          "") "1 [MEM]Expand memory pool at stream 0x1, address 0x1000, size 65536, block 0x2. "
              "allocator addr 0x3\n"
              "1 [MEM]Shrink memory pool at stream 0x1, address 0x1000, block 0x2\n" KERNEL (
                  "S", "[MEM]Send memory recycling event from stream 0, event id 3, address 0x1")
                  KERNEL ("W",
                          "[MEM]Wait memory migration event at stream 0, event id 3, address 0x1")
                      KERNEL ("W", "Waited event 3 RT event 0x1 at stream 1") KERNEL ("W",
                                                                                      "Launched")
                          KERNEL ("W", "[MEM]Memory wandering from stream 0 to 1, address 0x9000"),
      "alloc 1 +65536/65536 @1000 'A'; | 2 | skipped 6");
  /* With lines of pools the kernel trace is ignored. */
  expect (MALLOC ("allocator_1", "0", "5", "65536", "0x1000") K_ALLOC ("0", "0x1000", "")
              K_RECYCLE ("0", "0x1000") KERNEL ("S", "Sent event 3 RT event 0x1 from stream 1"),
          "alloc 1 +5/65536 @1000; | 2 | skipped 3");
}

/* ---- driver, profiler, pages */

static void
test_driver (void)
{
  expect (
      PAGING ("2097152", "0x200000", "1") DRIVER_FREE (
          "2097152", "0x200000",
          "1") "1 Alloc: MallocMemory, func=rtMalloc, size=65536, purpose=rt2 memory pool\n"
               "1 Alloc: MallocMemory, func=aclrtMalloc, size=65536, purpose=weights of graph_1\n",
      "alloc 1 +2097152 @200000 d1; free 1 +2097152 @200000 d1; | 2 | skipped 2");
  /* One process with two devices. */
  expect (PAGING ("2097152", "0x200000", "1") PAGING ("2097152", "0x200000", "2")
              DRIVER_FREE ("2097152", "0x200000", "2"),
          "alloc 1 +2097152 @200000 d1; alloc 2 +2097152 @200000 d2; free 2 +2097152 @200000 d2; | "
          "2 | skipped 0");
  /* With better lines, pages are the recorded pool's memory from the device. */
  expect (PAGING ("2097152", "0x200000", "1") MALLOC ("allocator_1", "1", "5", "65536", "0x200000")
              DRIVER_FREE ("2097152", "0x200000", "1"),
          "segment-alloc +2097152 @200000 d1; alloc 1 +5/65536 @200000 d1; segment-free +2097152 "
          "@200000 d1; | 6 | skipped 0");
  expect ("1 Alloc: DeviceAllocator::Alloc device_id:1, size:5, block_addr:0x55d0\n1 free: "
          "DeviceAllocator::free device_id:1, size:5, "
          "block_addr:0x55d0\n" PAGING ("2097152", "0x200000", "1"),
          "alloc 1 +5 d1; free 1 +5 d1; segment-alloc +2097152 @200000 d1; | 4 | skipped 0");
}

static void
test_profiler (void)
{
#define RECORD(address, size) \
  "9 [CannMemoryProfiler][RecordMemory] Record memory info: addr: " address ", size: " size \
  ", total allocate size: 1, total reserve size: 2time stamp: 3\n"
  expect (RECORD ("4096", "512") RECORD ("4096", "-512"),
          "alloc 1 +512 @1000; free 1 +512 @1000; | 2 | skipped 0");
  expect (RECORD ("4096", "512") K_ALLOC ("0", "0x1000", ""),
          "alloc 1 +65536/65536 @1000 'A'; | 2 | skipped 1");
}

/* Pages of 8 MiB: all totals are multiples of the page size; the driver's own call for a page is
 * not a range of addresses. */
static void
test_pages (void)
{
#define PHYSICAL(total) \
  "1 rtMallocPhysical success pa_index:0, current physical memory size:" total \
  " reuse:1, memory_type:0, pg_type:2M.\n"
  expect (MALLOC ("allocator_1", "0", "5", "65536", "0x200000000000")
              PAGING ("8388608", "0x55d0", "0") PHYSICAL ("8388608")
                  PHYSICAL ("25165824") "1 aclrtMapMem success pa_index:0 addr:0x200000000000.\n",
          "alloc 1 +5/65536 @200000000000; segment-map +8388608 @200000000000; | 6 | skipped 3");
  /* Not a power of two, or too small: no page size. */
  expect (PHYSICAL ("3145728") "1 aclrtMapMem success pa_index:0 addr:0x200000000000.\n",
          "| 2 | skipped 2");
}

/* ---- static memory, settings */

#define LOGICAL(offset, size, address, alloc) \
  "1 LogicalMemoryBlock logical_addr:" offset "  memory_size:" size "    active_addr:" address \
  "    memory_type:2, alloc:" alloc "\n"
#define GRAPH(number, size) \
  "1 [IMAS]InitFeatureMapAndP2PMem graph_" number \
  " MallocMemory type[F] memaddr[0x1000] mem_size[" size "]Bytes\n"

static void
test_graphs (void)
{
  expect (LOGICAL ("0", "512", "(nil)", "1") LOGICAL ("512", "1024", "(nil)", "1")
              LOGICAL ("1536", "64", "(nil)", "0") LOGICAL ("0", "1536", "0x1000", "1")
                  LOGICAL ("1536", "64", "0x1600",
                           "0") "1 ActiveMemoryBlock active_addr_begin:0x1 active_addr_end:0x2 "
                                "total_size:3 used_size:4 new_add:1\n" GRAPH ("7", "1536"),
          "graph-load 1 +1536/3 'graph_7'; graph-segment 1 +512; graph-segment 1 +1024 @200; "
          "graph-segment 1 +64/3 @600; | 2 | skipped 3");
  /* A load without listing; a second load; a listing followed by another before the load. */
  expect (GRAPH ("7", "100") GRAPH ("8", "100") LOGICAL ("0", "512", "0x1", "1")
              LOGICAL ("0", "4096", "0x1", "1") GRAPH ("7", "100"),
          "graph-load 1 +100 'graph_7'; graph-load 2 +100 'graph_8'; graph-unload 1; graph-load 1 "
          "+4096/1 'graph_7'; graph-segment 1 "
          "+4096; | 2 | skipped 0");
}

static void
test_facts (void)
{
  g_autofree char *path = test_source_path ("tests/data/ge/runtime-log.txt");
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "ge-runtime-log"); /* by its content */
  g_assert_cmpstr (reader->info.allocator, ==, "ge-scalable");
  g_assert_cmpstr (reader->info.settings, ==, "total=34359738368");
  g_assert_cmpstr (reader->info.device, ==, "capacity=34359738368");
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 0), ==,
                   "source: pools of 2 processes");
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 1), ==,
                   "pools: 2, and 1 below them whose blocks are not counted again");
  gemem_trace_close (reader);
}

/* The static memory policy is no event but a note: each text once. */
static void
test_policy (void)
{
  static const char text[] = "1 Final StaticMemoryPolicy is set to 2.\n" MALLOC (
      "allocator_1", "0", "100", "65536", "0x1000") "2 Final StaticMemoryPolicy is set to 4.\n2 "
                                                    "Final StaticMemoryPolicy is set to 2.\n";
  g_autoptr (GBytes) bytes = g_bytes_new_static (text, strlen (text));
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x"), NULL,
                                                     NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (g_ptr_array_index (reader->info.provenance, 2), ==,
                   "static memory policy: 2, 4");
  gemem_trace_close (reader);
  expect (text, "alloc 1 +100/65536 @1000; | 2 | skipped 3");
}

/* The reader for @text; it may refuse the text. */
static void
test_recognised (const char *text, const char *format)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL, named = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x"), NULL,
                                                     NULL, &error);
  GememTraceReader *other = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x"), format,
                                                    NULL, &named);

  g_assert_null (reader);
  g_assert_null (other);
  g_assert_cmpstr (error->message, ==, named->message);
}

/* No reader takes @text. */
static void
test_not_recognised (const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL;

  g_assert_null (
      gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x"), NULL, NULL, &error));
  g_assert_true (g_str_has_prefix (error->message, "x: not recognised as a trace; "));
}

static void
test_sample (void)
{
  g_autofree char *text = sample ("runtime-log.txt"), *plan = sample ("plan-log.txt"),
                  *both = g_strconcat (text, plan, NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (both, strlen (both));

  expect_times (text, FALSE, TRUE,
                "segment-alloc +2097152 @100000000000 t12000; alloc 1 +1000000/1048576 "
                "@100000100000 t16000; segment-alloc +2097152 "
                "@100000000000 d1 t18000; "
                "alloc 2 +70000/131072 @1000001e0000 d1 t19000; graph-load 1 +1048576/2 t23000 "
                "'graph_3'; graph-segment 1 +1048576 t23000; "
                "graph-segment 1 +4096/3 @100000 t23000; alloc 3 +40000000000 t31000 !8; free 3 "
                "+40000000000 t31000 !8; "
                "free 1 +1000000 @100000100000 t40000; segment-free +2097152 @100000000000 t50000; "
                "| 7 | skipped 10");
  /* slog is recognised by its first line; other bracketed lines are not. */
  test_recognised ("[INFO] HCCL(12,a): nothing yet\n", "ge-runtime-log");
  test_not_recognised ("[INFO] HCCL[12]");
  test_not_recognised ("[INFO]");
  test_not_recognised ("[1,2]");
  /* A log with plans at its beginning belongs to the planner's reader. */
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.log"),
                                                     NULL, NULL, NULL);
  g_assert_nonnull (reader);
  g_assert_cmpstr (reader->format->name, ==,
                   strstr (both, "[IMAS]Set ") < both + 4096 ? "ge-plan-log" : "ge-runtime-log");
  gemem_trace_close (reader);
}

static void
test_times (void)
{
#define AT(clock, address) \
  "GE(1,a):2026-08-21" clock " " MALLOC ("allocator_1", "0", "5", "65536", address)
  /* Across midnight and the end of a month; another form of the fraction; none. */
  expect_times (AT ("-23:59:59.999.999", "0x1000") "GE(1,a):2026-08-22 00:00:00,5 " MALLOC (
                    "allocator_1", "0", "5", "65536", "0x2000"),
                FALSE, TRUE,
                "alloc 1 +5/65536 @1000; alloc 2 +5/65536 @2000 t500001000; | 3 | skipped 0");
  /* Threads that write to the log out of order. */
  expect_times (
      AT ("-10:00:01.000", "0x1000") AT ("-10:00:02.000", "0x2000") AT ("-10:00:01.500", "0x3000"),
      FALSE, TRUE,
      "alloc 1 +5/65536 @1000; alloc 2 +5/65536 @2000 t1000000000; alloc 3 +5/65536 @3000 "
      "t1000000000; | 3 | skipped 0 | "
      "1 lines are earlier than the line before on their device, their times were raised");
  /* One line without a time, or with an invalid day: no event has a time. */
  expect_times (
      AT ("-10:00:01.000", "0x1000") "GE(1,a) " MALLOC ("allocator_1", "0", "5", "65536", "0x2000"),
      FALSE, TRUE, "alloc 1 +5/65536 @1000; alloc 2 +5/65536 @2000; | 2 | skipped 0");
  expect_times ("GE(1,a):2026-02-30-10:00:00 " MALLOC ("allocator_1", "0", "5", "65536", "0x2000"),
                FALSE, TRUE, "alloc 1 +5/65536 @2000; | 2 | skipped 0");
}

/* ---- damage */

static void
test_damage (void)
{
#define BAD(field) \
  "x.log:1: the line of GE's memory has no good '" field "'; it may be cut, fetch the log again"
  static const struct
  {
    const char *line, *message;
  } cases[] = {
    { "Malloc block device_id:", BAD ("device_id:") },
    { "Malloc block device_id:0x", BAD ("device_id:") },
    { "Malloc block device_id:70000 size:5 allocate_size:6 mem_addr:0x1.", BAD ("device_id:") },
    { "Malloc block device_id:0 size:", BAD (" size:") },
    { "Malloc block device_id:0 size:1152921504606846976 allocate_size:6 mem_addr:0x1.",
      BAD (" size:") },
    { "Malloc block device_id:0 size:99999999999999999999 allocate_size:6 mem_addr:0x1.",
      BAD (" size:") },
    { "Malloc block device_id:0 size:5 allocate_size:6x mem_addr:0x1.", BAD ("allocate_size:") },
    { "Malloc block device_id:0 size:5 allocate_size:6 mem_addr:", BAD ("mem_addr:") },
    { "Malloc block device_id:0 size:5 allocate_size:6 mem_addr:12.", BAD ("mem_addr:") },
    { "Malloc block device_id:0 size:5 allocate_size:6 mem_addr:0x12345678901234567.",
      BAD ("mem_addr:") },
    { "Malloc block device_id:0 size:5 allocate_size:6 mem_addr:0xfffffffffffffff0.",
      BAD ("address") },
    { "Malloc block device_id:0 size:5 allocate_size:6 mem_addr:0x1000", BAD (".") },
    { "Free block device_id:0 theory_size_:0 theory_min_size_:0 allock", BAD ("allock_size:") },
    { "[KernelTrace][x][MEM]Alloc memory at stream -2, block 0x1, address 0x1, size 5",
      BAD ("stream") },
    { "[KernelTrace][x][MEM]Alloc memory at stream 1, block 0x1, address 0x1, size",
      BAD ("size ") },
    { "[KernelTrace][x][MEM]Free memory at stream 1, address", BAD ("address ") },
    { "[KernelTrace][x][MEM]Memory wandering from stream 1", BAD (" to ") },
    { "[KernelTrace][x]Sent event 4294967296 RT event 0x1 from stream 0", BAD ("event ") },
    { "MallocMemory, func=aclrtMalloc, size=5, purpose=page caching, ptr=0x1, dev",
      BAD ("device_id=") },
    { "RtMemAllocator::free device_id:0 ,size:-5", BAD ("size:") },
    { "DeviceAllocator::Alloc device_id:0, size:5, block_addr:", BAD ("block_addr:") },
    { "[CannMemoryProfiler][RecordMemory] Record memory info: addr: 1, size: -", BAD ("size: ") },
    { "rtMallocPhysical success pa_index:0", BAD ("current physical memory size:") },
    { "LogicalMemoryBlock logical_addr:-1 memory_size:5", BAD ("logical_addr:") },
    { "[IMAS]InitFeatureMapAndP2PMem graph_4294967296 MallocMemory", BAD ("graph_") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *before = g_strconcat (
          cases[i].line, "\n", MALLOC ("allocator_1", "0", "5", "65536", "0x1000"), NULL);
      expect (before, cases[i].message);
    }
  expect_times (MALLOC ("allocator_1", "0", "5", "65536", "0x1000") "Free block device_id:0 theory",
                TRUE, FALSE, "alloc 1 +5/65536 @1000; | 22 | skipped 0");
  expect ("Free block device_id:0 theory",
          "x.log:1: the log has no whole line of GE's run-time memory; set the log level to INFO "
          "and run again, " PLAN);
  expect ("what a day\n", "x.log:1: the log has no whole line of GE's run-time memory; set the log "
                          "level to INFO and run again, " PLAN);
  /* Lines that only begin like GE's. */
  expect ("Malloc size:12\nMalloc size:x\nFailed to apply for "
          "memory\n[KernelTrace][x\n[KernelTrace]\nDeviceAllocator::Find\n[CannMemoryProfiler]["
          "RecordMemory]\n" MALLOC ("allocator_1", "0", "5", "65536", "0x1000"),
          "alloc 1 +5/65536 @1000; | 2 | skipped 0");
}

static void
test_inconsistent (void)
{
  expect (MALLOC ("allocator_1", "0", "5", "65536", "0x1000")
              MALLOC ("allocator_1", "0", "6", "65536", "0x1000"),
          "x.log:2: 0x1000 is allocated while it is live; lines are missing, or the logs of "
          "several processes were mixed; use --allow-partial "
          "to end the old block here");
  expect_times (
      MALLOC ("allocator_1", "0", "5", "65536", "0x1000")
          MALLOC ("allocator_1", "0", "6", "65536", "0x1000"),
      TRUE, FALSE,
      "alloc 1 +5/65536 @1000; free 1 +5 @1000; alloc 2 +6/65536 @1000; | 2 | skipped 0 | "
      "1 blocks were still live when their address was allocated again, and end there");
  expect (KERNEL ("k", "[MEM]Free memory at stream 0, address 0x9000")
              KERNEL ("", "[MEM]Recycle memory at stream 0, address 0x9000") KERNEL (
                  "k", "[MEM]Alloc memory at stream 0, block 0x1, address 0x1000, size 512"),
          "alloc 1 +512/512 @1000 'k'; | 12 | skipped 2 | 1 frees of blocks that this log never "
          "allocated are left out");
  /* A log that begins in the middle. */
  expect (FREE ("allocator_1", "0", "0x1000") FREE ("allocator_1", "0", "0x2000"),
          "| 12 | skipped 2 | 2 frees of blocks that this log never allocated are left out");
}

/* Cut at any byte, the log is refused, or its whole lines are read; nothing else happens. */
static void
test_truncated (void)
{
  g_autofree char *text = sample ("runtime-log.txt");

  for (gsize size = 0; size < strlen (text); size++)
    {
      g_autofree char *got = test_trace_text (text, (gssize) size, "ge-runtime-log", FALSE, FALSE);
      g_assert_true (g_str_has_prefix (got, "x.log:") || strstr (got, "| skipped ") != NULL);
    }
}

/* More blocks and pools than fit into a batch or a window; a very long line. */
static void
test_long (void)
{
  g_autoptr (GString) text = g_string_new ("noise ");
  g_autofree char *fill = g_strnfill (3 << 20, 'M');

  g_string_append_printf (text, "%s\n", fill);
  for (guint i = 1; i <= 20000; i++)
    g_string_append_printf (text,
                            "[allocator_%u] Malloc block device_id:%u size:%u allocate_size:65536 "
                            "mem_addr:0x%x. span addr 0x1\n",
                            i % 50, i % 50 % 7, i, i * 65536);
  for (guint i = 1; i <= 20000; i++)
    g_string_append_printf (text,
                            "[allocator_%u] Free block device_id:%u theory_size_:1 "
                            "theory_min_size_:1 allock_size:1 mem_addr:0x%x.\n",
                            i % 50, i % 50 % 7, i * 65536);
  g_autofree char *got = test_trace_text (text->str, -1, "ge-runtime-log", FALSE, FALSE);
  g_assert_nonnull (strstr (got, "free 20000 +20000 @4e200000"));
  g_assert_true (g_str_has_suffix (got, "| 2 | skipped 0"));
}

/* The number of pools is bounded for any log. */
static void
test_many_pools (void)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i <= 65536; i++)
    g_string_append_printf (text,
                            "[allocator_%u] Malloc block device_id:0 size:5 allocate_size:6 "
                            "mem_addr:0x%x. span addr 0x1\n",
                            i, 16 + i);
  expect (text->str, "x.log:65537: more than 65536 pools in one log; split it");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge-runtime-log/pools", test_pools);
  g_test_add_func ("/ge-runtime-log/counted-once", test_counted_once);
  g_test_add_func ("/ge-runtime-log/processes", test_processes);
  g_test_add_func ("/ge-runtime-log/failures", test_failures);
  g_test_add_func ("/ge-runtime-log/kernel-trace", test_kernel_trace);
  g_test_add_func ("/ge-runtime-log/kernel-lines", test_kernel_lines);
  g_test_add_func ("/ge-runtime-log/driver", test_driver);
  g_test_add_func ("/ge-runtime-log/profiler", test_profiler);
  g_test_add_func ("/ge-runtime-log/pages", test_pages);
  g_test_add_func ("/ge-runtime-log/graphs", test_graphs);
  g_test_add_func ("/ge-runtime-log/facts", test_facts);
  g_test_add_func ("/ge-runtime-log/policy", test_policy);
  g_test_add_func ("/ge-runtime-log/sample", test_sample);
  g_test_add_func ("/ge-runtime-log/times", test_times);
  g_test_add_func ("/ge-runtime-log/damage", test_damage);
  g_test_add_func ("/ge-runtime-log/inconsistent", test_inconsistent);
  g_test_add_func ("/ge-runtime-log/truncated", test_truncated);
  g_test_add_func ("/ge-runtime-log/long", test_long);
  g_test_add_func ("/ge-runtime-log/many-pools", test_many_pools);
  return g_test_run ();
}
