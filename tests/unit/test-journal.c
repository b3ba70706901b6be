/* test-journal.c - journals of the recorder: which events the calls become. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/journal-draft.h"
#include "tests/util/trace-text.h"
#include "traces/trace.h"

static void
test_memory (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 256);
  CALL (.call = JOURNAL_ALLOC_HOST, .p = 0x2000, .q = 10, .device = JOURNAL_HOST);
  CALL (.call = JOURNAL_FREE, .p = 0x3000);            /* unknown */
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 300); /* the free was not seen */
  CALL (.call = JOURNAL_FREE, .p = 0x2000);
  CALL (.call = JOURNAL_ALLOC_MANAGED, .p = 0x4000, .q = 7, .device = 1, .thread = 9);
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 1 << 20, .s = 77, .device = 1);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +256 @1000; alloc 2 +10 @2000 d65535; free 1; alloc 3 +300 @1000; free 2 "
      "d65535; alloc 4 +7 @4000 d1 'managed, thread 1'; "
      "oom +1048576/77 d1; | 403 | skipped 1 | 1 frees of memory that was not seen to be "
      "allocated are left out"
      " | 1 blocks were freed by calls that are not recorded; they end where their "
      "address is given out again");
}

/* A handle, a mapping and another handle hold a page in turn; one unmap call removes two
 * mappings; memory mapped over is released. */
static void
test_physical (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_CREATE, .p = 5, .q = 100);
  CALL (.call = JOURNAL_CREATE, .p = 6, .q = 50);
  CALL (.call = JOURNAL_MAP, .p = 0x1000, .q = 100, .r = 5);
  CALL (.call = JOURNAL_MAP, .p = 0x1000 + 100, .q = 50, .r = 6);
  CALL (.call = JOURNAL_RELEASE, .p = 5);
  CALL (.call = JOURNAL_RELEASE, .p = 5); /* of the unknown page now */
  CALL (.call = JOURNAL_RETAIN, .p = 8, .q = 0x1000);
  CALL (.call = JOURNAL_UNMAP, .p = 0x1000, .q = 150);
  CALL (.call = JOURNAL_RELEASE, .p = 8);
  CALL (.call = JOURNAL_MAP, .p = 0x9000, .q = 50, .r = 6);
  CALL (.call = JOURNAL_RELEASE, .p = 6);
  CALL (.call = JOURNAL_CREATE, .p = 6, .q = 51);
  CALL (.call = JOURNAL_MAP, .p = 0x9000, .q = 51, .r = 6);
  CALL (.call = JOURNAL_MAP, .p = 0x9900, .q = 51, .r = 12); /* a page of another process */
  CALL (.call = JOURNAL_RETAIN, .p = 13, .q = 0x9900);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +100 'physical'; alloc 2 +50 'physical'; free 1; alloc 3 +51 'physical'; "
      "free 2; | 403 | skipped 1"
      " | 1 frees of memory that was not seen to be allocated are left out");
}

static void
test_streams (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xaa); /* never recorded */
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x1000, .q = 1, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xaa);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x1000, .r = 0xaa);
  CALL (.call = JOURNAL_STREAM_DESTROY, .r = 0xbb);
  CALL (.call = JOURNAL_STREAM_SYNC, .r = 0xbb); /* another context with its handle */
  CALL (.call = JOURNAL_EVENT_DESTROY, .p = 0xe);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xaa);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe);
  CALL (.call = JOURNAL_STREAM_SYNC, .q = 1, .r = 0xaa); /* asked */
  CALL (.call = JOURNAL_EVENT_SYNC, .q = 1, .p = 0xe);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +1 @1000 s1; event-record 1 s1; event-wait 1 s2; use-on-stream 1 s2; free "
      "1 s2; stream-sync s3; event-record 2; stream-sync/1 s2; event-wait 2 s4; "
      "stream-sync/1 s4; | 403 | skipped 2");
}

/* A wait for another device's stream is left out; the host waits on the device of the event. */
static void
test_streams_of_devices (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xcc, .device = 1);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe, .device = 1);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xcc, .device = 1);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xdd, .device = 1);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xbb);
  test_draft_expect (&draft, FALSE,
                     "event-record 1 s1; event-wait 1 s2; stream-sync s2; event-record 1 s3 d1; "
                     "event-wait 1 s4 d1; | 403 | skipped 0");
}

/* The legacy stream follows the streams that block, which follow it; the default stream of a thread is one of them.  Events say
 * so, where anything was done there since. */
static void
test_blocking_streams (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xb00, .q = 1);
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xc00, .q = 1);
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xd00); /* non-blocking */
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x1000, .q = 1, .r = 0xb00);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x2000, .q = 1, .r = 0xd00);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x1000, .r = 0xb00);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x2000, .r = 0xd00);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x3000, .q = 1); /* follows 0xb00 */
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x3000);
  CALL (.call = JOURNAL_WORK, .r = 0xc00); /* follows it, and so does the other one */
  CALL (.call = JOURNAL_WORK, .r = 0xc00);
  CALL (.call = JOURNAL_WORK, .r = 0xb00);
  CALL (.call = JOURNAL_WORK, .r = 0x102);
  CALL (.call = JOURNAL_STREAM_SYNC, .q = 1); /* asked, which takes no place */
  CALL (.call = JOURNAL_STREAM_DESTROY, .r = 0xb00);
  CALL (.call = JOURNAL_STREAM_SYNC, .q = 2); /* a copy follows 0xc00 and the thread's */
  CALL (.call = JOURNAL_WORK, .r = 0x102,
        .device = 1); /* the legacy stream of that device did nothing */
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xb00); /* one that does not block has the handle */
  CALL (.call = JOURNAL_WORK, .r = 0xb00);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +1 @1000 s1; alloc 2 +1 @2000 s2; free 1 s1; free 2 s2; "
      "event-record 1 s1; event-wait 1; alloc 3 +1 @3000; free 3; "
      "event-record 2; event-wait 2 s3; work s3; work s3; "
      "event-record 2; event-wait 2 s1; work s1; event-record 2; event-wait 2 s4; work s4; "
      "stream-sync/1; event-record 3 s3; event-wait 3; event-record 4 s4; event-wait 4; "
      "stream-sync/1; "
      "work s4 d1; work s5; "
      "| 403 | skipped 0 | work of a stream counts as pending until the program waited for it or "
      "asked: when the device had done it is not recorded");

  /* a journal of version 3 does not tell which streams block */
  draft = test_draft_new ();
  ((JournalHeader *) test_draft_at (&draft, 0))->version = 3;
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xb00, .q = 1);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 1, .r = 0xb00);
  CALL (.call = JOURNAL_WORK);
  CALL (.call = JOURNAL_WORK, .r = 0x102);
  test_draft_expect (
      &draft, FALSE,
      "work; work s1; | 403 | skipped 1 | 1 frees of memory that was not seen to be allocated "
      "are left out");
}

static void
test_pools (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_POOL_DEFAULT, .p = 0xd);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 0xc);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x10, .q = 1, .s = 0xd);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x20, .q = 2, .s = 0xc);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x30, .q = 3, .s = 0xb); /* imported pool */
  CALL (.call = JOURNAL_POOL_SET, .p = 0xc);
  CALL (.call = JOURNAL_POOL_DEFAULT, .p = 0xc); /* asked for the current one */
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x40, .q = 4);
  CALL (.call = JOURNAL_ALLOC, .p = 0x50, .q = 5);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x60, .q = 6, .device = 1);
  CALL (.call = JOURNAL_POOL_TRIM, .p = 0xc);
  CALL (.call = JOURNAL_POOL_DESTROY, .p = 0xc);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 0xc);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x70, .q = 7, .s = 0xc);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 0xe, .device = 1);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x80, .q = 8, .s = 0xe); /* on the pool's device */
  CALL (.call = JOURNAL_FREE, .p = 0x80);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +1 @10; alloc 2 +2 @20 p1; alloc 3 +3 @30 p2; alloc 4 +4 @40 p1; alloc 5 "
      "+5 @50; alloc 6 +6 @60 d1; trim; alloc 7 +7 @70 p3; "
      "alloc 8 +8 @80 p4 d1; free 8 d1; | 403 | skipped 0");
}

static void
test_ends (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 1, .s = 0xc1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .s = 0xc2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 3, .s = 0xc1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x40, .q = 4, .device = 1);
  CALL (.call = JOURNAL_CONTEXT_DESTROY, .p = 0xc1);
  CALL (.call = JOURNAL_DEVICE_RESET);
  CALL (.call = JOURNAL_DEVICE_SYNC, .device = 1);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +1 @30; alloc 2 +2 @20; alloc 3 +3 @10; alloc 4 +4 @40 d1; free 1; free "
      "3; free 2; device-sync d1; | 403 | skipped 0");
}

/* A host wait for an event is a host stream of the event's device that waits for it and is waited for; an
 * event that was never recorded is ignored. */
static void
test_event_sync (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe, .device = 1);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe);
  test_draft_expect (&draft, FALSE,
                     "event-record 1 s1; event-wait 1 s2; stream-sync s2; event-wait 1 s2; "
                     "stream-sync s2; | 403 | skipped 0");
}

/* Attributes of pools, trims; of a pool of the host none; a note where several pools have some.  A
 * journal that does not say that there are any has none, as before. */
static void
test_attributes (void)
{
  for (guint told = 0; told < 2; told++)
    {
      TestDraft draft = test_draft_new ();
      ((JournalHeader *) test_draft_at (&draft, 0))->attributes = told;
      CALL (.call = JOURNAL_POOL_DEFAULT, .p = 7);
      CALL (.call = JOURNAL_POOL_CREATE, .p = 8, .device = JOURNAL_HOST);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_THRESHOLD, .r = G_MAXUINT64);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_FOLLOW, .r = 0);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_INTERNAL, .r = 0);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_FOLLOW, .r = 1);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = 77, .r = 1);
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 8, .q = JOURNAL_POOL_THRESHOLD, .r = 1);
      CALL (.call = JOURNAL_POOL_TRIM, .p = 7, .q = 5);
      CALL (.call = JOURNAL_POOL_TRIM, .p = 7, .q = 5);
      CALL (.call = JOURNAL_POOL_TRIM, .p = 99); /* unknown */
      CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 9, .q = JOURNAL_POOL_THRESHOLD, .r = 3);
      test_draft_expect (
          &draft, FALSE,
          told == 0 ? "trim; trim; trim; | 403 | skipped 0"
                    : "settings 'release_threshold=unlimited'; settings "
                      "'release_threshold=unlimited,reuse_follow_event_dependencies=no'; "
                      "settings 'release_threshold=unlimited,reuse_follow_event_dependencies=no,"
                      "reuse_allow_internal_dependencies=no'; settings "
                      "'release_threshold=unlimited,reuse_allow_internal_dependencies=no'; "
                      "settings 'release_threshold=unlimited,trim_to=5B,"
                      "reuse_allow_internal_dependencies=no'; trim; trim; trim; "
                      "settings 'release_threshold=3B'; | 603 | skipped 0 | attributes of "
                      "several pools were set; a replay follows each as if all were one pool");
    }
}

/* The limit of a pool counts from its making on, as long as no other pool is used; pools of other
 * devices and of the host are none of that. */
static void
test_limits (void)
{
  TestDraft draft = test_draft_new ();

  ((JournalHeader *) test_draft_at (&draft, 0))->attributes = 1;
  CALL (.call = JOURNAL_POOL_CREATE, .p = 6, .q = 5, .device = JOURNAL_HOST);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 7, .q = 64);
  CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_THRESHOLD, .r = 3);
  CALL (.call = JOURNAL_POOL_SET, .p = 7);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x100, .q = 16);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x200, .q = 16, .device = 1);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x300, .q = 16, .s = 7);
  CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_THRESHOLD, .r = 0);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 8, .q = 32); /* one of several, if it is used */
  CALL (.call = JOURNAL_POOL_DEFAULT, .p = 9);
  CALL (.call = JOURNAL_POOL_SET, .p = 9);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x400, .q = 16);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x500, .q = 16, .s = 7);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x600, .q = 16, .s = 8);
  CALL (.call = JOURNAL_POOL_ATTRIBUTE, .p = 7, .q = JOURNAL_POOL_THRESHOLD, .r = 4);
  test_draft_expect (
      &draft, FALSE,
      "settings 'release_threshold=0B,max_size=64B'; "
      "settings 'release_threshold=3B,max_size=64B'; alloc 1 +16 @100 p2; "
      "alloc 2 +16 @200 d1; alloc 3 +16 @300 p2; "
      "settings 'release_threshold=0B,max_size=64B'; "
      "settings 'release_threshold=0B,max_size=none'; alloc 4 +16 @400; "
      "alloc 5 +16 @500 p2; alloc 6 +16 @600 p3; settings 'release_threshold=4B'; "
      "| 603 | skipped 0 | a pool with a limit was not the only one; a replay has one "
      "pool, and no limit from there on");
}

/* Whose memory comes first decides, and what is destroyed is no longer the current pool. */
static void
test_limits_of_two (void)
{
  TestDraft draft = test_draft_new ();

  ((JournalHeader *) test_draft_at (&draft, 0))->attributes = 1;
  CALL (.call = JOURNAL_POOL_CREATE, .p = 7, .q = 64);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 8, .q = 32);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x100, .q = 16, .s = 7);
  CALL (.call = JOURNAL_POOL_SET, .p = 7);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x200, .q = 16);
  CALL (.call = JOURNAL_POOL_DESTROY, .p = 7);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x300, .q = 16); /* of the device's own pool */
  test_draft_expect (
      &draft, FALSE,
      "settings 'release_threshold=0B,max_size=64B'; "
      "settings 'release_threshold=0B,max_size=32B'; "
      "settings 'release_threshold=0B,max_size=64B'; alloc 1 +16 @100 p1; "
      "alloc 2 +16 @200 p1; settings 'release_threshold=0B,max_size=none'; "
      "alloc 3 +16 @300; | 603 | skipped 0 | attributes of several pools were set; a "
      "replay follows each as if all were one pool | a pool with a limit was not the "
      "only one; a replay has one pool, and no limit from there on");
}

/* Streams with work; what ends it: a wait, a question, a free of plain memory (which waits for all
 * of its device, in the order of the streams), a wait for the device.  A free of a pool's block and
 * of pinned memory do not. */
static void
test_work (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 8, .s = 77);
  CALL (.call = JOURNAL_ALLOC, .p = 0x2000, .q = 8, .s = 77);
  CALL (.call = JOURNAL_ALLOC, .p = 0x3000, .q = 8, .s = 77);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x4000, .q = 8, .r = 0xa);
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  CALL (.call = JOURNAL_WORK, .r = 0xb);
  CALL (.call = JOURNAL_WORK, .r = 0xc, .device = 1);
  CALL (.call = JOURNAL_WORK);
  CALL (.call = JOURNAL_FREE, .p = 0x4000);
  CALL (.call = JOURNAL_STREAM_SYNC, .r = 0xb);
  CALL (.call = JOURNAL_FREE, .p = 0x1000);
  CALL (.call = JOURNAL_FREE, .p = 0x2000); /* nothing is left */
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  CALL (.call = JOURNAL_DEVICE_SYNC);
  CALL (.call = JOURNAL_FREE, .p = 0x3000);
#define WORK_MEMORY "alloc 1 +8 @1000; alloc 2 +8 @2000; alloc 3 +8 @3000; alloc 4 +8 @4000 s1; "
#define WORK_FREES(work, syncs, again) \
  work "free 4 s1; stream-sync s2; " syncs "free 1; free 2; " again \
       "device-sync; free 3; | 403 | " \
       "skipped 0 | "
  test_draft_expect (
      &draft, FALSE,
      WORK_MEMORY WORK_FREES ("work s1; work s2; work s3 d1; work; ",
                              "stream-sync/1; stream-sync/1 s1; ",
                              "work s1; ") "work of a stream counts as pending until the "
                                           "program waited for it or asked: when "
                                           "the device had done it is not recorded");

  /* without memory of pools there is nothing to say, and with requests above the calls no order */
  draft = test_draft_new ();
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  test_draft_expect (&draft, FALSE, "work s1; | 403 | skipped 0");
  draft = test_draft_new ();
  strcpy (((JournalHeader *) test_draft_at (&draft, 0))->allocator, "cupy");
  strcpy (((JournalHeader *) test_draft_at (&draft, 0))->library, "CuPy 14");
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 8, .s = 77);
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  CALL (.call = JOURNAL_FREE, .p = 0x1000);
  g_autofree char *got = test_trace_text ((const char *) draft.bytes->data, draft.bytes->len,
                                          "journal", FALSE, FALSE);
  g_assert_null (strstr (got, "work"));
  g_assert_null (strstr (got, "stream-sync"));
  g_byte_array_unref (draft.bytes);

  /* a journal of version 2 does not tell of work: nothing is pending */
  draft = test_draft_new ();
  ((JournalHeader *) test_draft_at (&draft, 0))->version = 2;
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x4000, .q = 8, .r = 0xa);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x4000, .r = 0xa);
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +8 @4000 s1; free 1 s1; | 403 | skipped 0 | which work the device had not "
      "done is not recorded: every stream counts as done with it at once");
}

/* Calls that are not recorded are counted, and their frees expected; when a real block gets such
 * an address, the address is forgotten. */
static void
test_left_out (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ARRAY, .p = 0x5, .q = 64);
  CALL (.call = JOURNAL_REGISTER, .p = 0x6, .q = 32, .device = JOURNAL_HOST);
  CALL (.call = JOURNAL_FREE, .p = 0x5);
  CALL (.call = JOURNAL_LEFT_OUT, .p = 0x10, .q = JOURNAL_LEFT_GRAPH);
  CALL (.call = JOURNAL_LEFT_OUT, .p = 0x20, .q = JOURNAL_LEFT_FOREIGN);
  CALL (.call = JOURNAL_LEFT_OUT, .p = 0x30, .q = JOURNAL_LEFT_FOREIGN);
  CALL (.call = JOURNAL_LEFT_OUT, .q = JOURNAL_LEFT_GRAPH);
  CALL (.call = JOURNAL_LEFT_OUT, .p = 0x10, .q = JOURNAL_LEFT_GRAPH_FREE);
  /* for an invalid reason */
  CALL (.call = JOURNAL_LEFT_OUT, .p = 0x10, .q = JOURNAL_LEFT_COUNT);
  CALL (.call = JOURNAL_FREE, .p = 0x20);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 1);
  CALL (.call = JOURNAL_FREE, .p = 0x30);
  CALL (.call = JOURNAL_FREE, .p = 0x30); /* unknown */
  test_draft_expect (
      &draft, FALSE,
      "alloc 1 +64 'array'; alloc 2 +32 @6 d65535 'registered'; free 1; alloc 3 +1 @30; "
      "free 3; | 403 | skipped 6"
      " | 2 allocations that graphs make when they run are not recorded | 2 pieces of "
      "memory of other processes are left out"
      " | 1 frees of memory that was not seen to be allocated are left out");
}

/* Events of a live allocator are delivered unchanged; the facts of their trace are in the
 * header. */
static void
test_events (void)
{
  const GememTraceEvent alloc = { .kind = GEMEM_EVENT_ALLOC,
                                  .id = 7,
                                  .size = 100,
                                  .address = 0x1000,
                                  .aux = 512,
                                  .stream = 3,
                                  .time = 5 };
  const GememTraceEvent wrong[] = { { .kind = GEMEM_EVENT_KIND_COUNT },
                                    { .kind = 0 },
                                    { .kind = GEMEM_EVENT_ALLOC, .size = G_MAXUINT64 },
                                    { .kind = GEMEM_EVENT_ALLOC, .tag = 1 } };
  TestDraft draft = test_draft_new ();
  JournalRecord *slot = CALL (.call = JOURNAL_EVENT);
  memcpy (slot + 1, &alloc, sizeof alloc);
  draft.slot++;
  JournalHeader *header = test_draft_at (&draft, 0);
  g_strlcpy (header->allocator, "direct", sizeof header->allocator);
  g_strlcpy (header->device, "capacity=1024", sizeof header->device);
  header->flags = GEMEM_TRACE_HAS_SEGMENTS | 1u << 31;
  g_autoptr (GBytes) bytes = g_bytes_new (draft.bytes->data, draft.bytes->len);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.gmj"),
                                                     NULL, NULL, &error);
  const GememTraceEvent *events;
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, "direct");
  g_assert_cmpstr (reader->info.device, ==, "capacity=1024");
  g_assert_null (reader->info.settings);
  g_assert_cmpuint (reader->info.flags, ==,
                    GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS);
  g_assert_cmpint (gemem_trace_next (reader, &events, &error), ==, 1);
  g_assert_cmpmem (events, sizeof alloc, &alloc, sizeof alloc);
  g_assert_cmpint (gemem_trace_next (reader, &events, &error), ==, 0);
  gemem_trace_close (reader);
  g_byte_array_unref (draft.bytes);
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      draft = test_draft_new ();
      slot = CALL (.call = JOURNAL_EVENT);
      memcpy (slot + 1, &wrong[i], sizeof wrong[i]);
      test_draft_expect (
          &draft, FALSE,
          i == 1 ? "x.log: block 1: its event is not there; record again, or read what "
                   "is whole with --allow-partial"
                 : "x.log: block 1: its event is impossible; record again, or read what "
                   "is whole with --allow-partial");
    }
}

/* Sizes of the blocks of @draft in which @memory counts, and what was skipped. */
static void
expect_sizes (const TestDraft *draft, GememDeviceMemory memory, const char *expected)
{
  const GememReadOptions options = { .device = -1, .memory = memory };
  g_autoptr (GBytes) bytes = g_bytes_new (draft->bytes->data, draft->bytes->len);
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) got = g_string_new (NULL);
  g_autoptr (GememTraceReader) reader = gemem_trace_open_input (
      gemem_input_new_from_bytes (bytes, "x.gmj"), NULL, &options, &error);
  const GememTraceEvent *events;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      g_string_append_printf (got, "%s%" G_GUINT64_FORMAT " ",
                              events[i].kind == GEMEM_EVENT_FREE ? "free " : "",
                              events[i].kind == GEMEM_EVENT_FREE ? events[i].id : events[i].size);
  g_string_append_printf (got, "skipped %" G_GUINT64_FORMAT, reader->info.skipped);
  g_assert_cmpstr (got->str, ==, expected);
}

/* Memory of pools alone, or all other: frees of the rest are no frees of unknown blocks. */
static void
test_pools_alone (void)
{
  TestDraft draft = test_draft_new ();

  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x1000, .q = 10, .r = 0xbb);
  CALL (.call = JOURNAL_ALLOC, .p = 0x2000, .q = 20);
  CALL (.call = JOURNAL_CREATE, .p = 5, .q = 30);
  CALL (.call = JOURNAL_MAP, .p = 0x4000, .q = 30, .r = 5);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x3000, .q = 40, .s = 7);
  CALL (.call = JOURNAL_FREE, .p = 0x2000);
  CALL (.call = JOURNAL_UNMAP, .p = 0x4000, .q = 30);
  CALL (.call = JOURNAL_RELEASE, .p = 5);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x1000, .r = 0xbb);
  CALL (.call = JOURNAL_FREE, .p = 0x3000);
  expect_sizes (&draft, GEMEM_MEMORY_ALL, "10 20 30 40 free 2 free 3 free 1 free 4 skipped 0");
  expect_sizes (&draft, GEMEM_MEMORY_OF_POOLS, "10 40 free 1 free 2 skipped 0");
  expect_sizes (&draft, GEMEM_MEMORY_BESIDE_POOLS, "20 30 free 1 free 2 skipped 0");
  g_byte_array_unref (draft.bytes);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/journal/memory", test_memory);
  g_test_add_func ("/journal/physical", test_physical);
  g_test_add_func ("/journal/streams", test_streams);
  g_test_add_func ("/journal/streams-of-devices", test_streams_of_devices);
  g_test_add_func ("/journal/blocking-streams", test_blocking_streams);
  g_test_add_func ("/journal/pools", test_pools);
  g_test_add_func ("/journal/ends", test_ends);
  g_test_add_func ("/journal/event-sync", test_event_sync);
  g_test_add_func ("/journal/work", test_work);
  g_test_add_func ("/journal/attributes", test_attributes);
  g_test_add_func ("/journal/limits", test_limits);
  g_test_add_func ("/journal/limits-of-two", test_limits_of_two);
  g_test_add_func ("/journal/left-out", test_left_out);
  g_test_add_func ("/journal/events", test_events);
  g_test_add_func ("/journal/pools-alone", test_pools_alone);
  return g_test_run ();
}
