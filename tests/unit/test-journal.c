/* test-journal.c - journals of the recorder: calls as events, order over threads, damage; and
 * the writer itself, by threads and over a fork. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"
#include "traces/origin.h"
#include "traces/trace.h"

/* The writer is part of a library that exports none of it. */
#include "record/journal.c"
#include "record/stacks.c"

#define SECOND_BLOCK 2

/* ---- journals by hand */

typedef struct
{
  GByteArray *bytes;
  guint64 sequence;
  guint slot; /* of the current block */
} Draft;

static gpointer
draft_at (Draft *draft, gsize place)
{
  return draft->bytes->data + place;
}

static void
draft_block (Draft *draft)
{
  JournalBlock head = { .first = draft->sequence + 1, .magic = JOURNAL_BLOCK_MAGIC };
  gsize at = draft->bytes->len;
  g_byte_array_set_size (draft->bytes, (guint) (at + JOURNAL_BLOCK));
  memset (draft_at (draft, at), 0, JOURNAL_BLOCK);
  memcpy (draft_at (draft, at), &head, sizeof head);
  draft->slot = 1;
}

static Draft
draft_new (void)
{
  Draft draft = { .bytes = g_byte_array_new () };
  JournalHeader header = {
    .magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION, .slot_size = JOURNAL_SLOT, .start = 1000
  };
  g_byte_array_set_size (draft.bytes, JOURNAL_BLOCK);
  memset (draft.bytes->data, 0, JOURNAL_BLOCK);
  memcpy (draft.bytes->data, &header, sizeof header);
  draft_block (&draft);
  return draft;
}

static JournalRecord *
draft_record (Draft *draft, JournalRecord record)
{
  JournalRecord *slot = draft_at (draft, draft->bytes->len - JOURNAL_BLOCK
                                             + (gsize) draft->slot++ * JOURNAL_SLOT);
  record.sequence = record.sequence != 0 ? record.sequence : ++draft->sequence;
  record.time = 1000 + record.sequence;
  record.thread = record.thread != 0 ? record.thread : 1;
  *slot = record;
  return slot;
}

static void
draft_expect (Draft *draft, gboolean partial, const char *expected)
{
  g_autofree char *got = test_trace_text ((const char *) draft->bytes->data, draft->bytes->len,
                                          "journal", partial, FALSE);
  g_assert_cmpstr (got, ==, expected);
  g_byte_array_unref (draft->bytes);
}

#define CALL(...) draft_record (&draft, (JournalRecord){ __VA_ARGS__ })

static void
test_memory (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 256);
  CALL (.call = JOURNAL_ALLOC_HOST, .p = 0x2000, .q = 10, .device = JOURNAL_HOST);
  CALL (.call = JOURNAL_FREE, .p = 0x3000);            /* unknown */
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 300); /* the free was not seen */
  CALL (.call = JOURNAL_FREE, .p = 0x2000);
  CALL (.call = JOURNAL_ALLOC_MANAGED, .p = 0x4000, .q = 7, .device = 1, .thread = 9);
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 1 << 20, .s = 77, .device = 1);
  draft_expect (&draft, FALSE,
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
  Draft draft = draft_new ();
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
  draft_expect (&draft, FALSE,
                "alloc 1 +100 'physical'; alloc 2 +50 'physical'; free 1; alloc 3 +51 'physical'; "
                "free 2; | 403 | skipped 1"
                " | 1 frees of memory that was not seen to be allocated are left out");
}

static void
test_streams (void)
{
  Draft draft = draft_new ();
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
  draft_expect (&draft, FALSE,
                "alloc 1 +1 @1000 s1; event-record 1 s1; event-wait 1 s2; use-on-stream 1 s2; free "
                "1 s2; stream-sync s3; event-record 2; stream-sync/1 s2; event-wait 2 s4; "
                "stream-sync/1 s4; | 403 | skipped 2");
}

/* A wait for another device's stream is left out; the host waits on the device of the event. */
static void
test_streams_of_devices (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xcc, .device = 1);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe, .device = 1);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xcc, .device = 1);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xdd, .device = 1);
  CALL (.call = JOURNAL_EVENT_WAIT, .p = 0xe, .r = 0xbb);
  draft_expect (&draft, FALSE,
                "event-record 1 s1; event-wait 1 s2; stream-sync s2; event-record 1 s3 d1; "
                "event-wait 1 s4 d1; | 403 | skipped 0");
}

/* The legacy stream follows the streams that block, which follow it; the default stream of a thread is one of them.  Events say
 * so, where anything was done there since. */
static void
test_blocking_streams (void)
{
  Draft draft = draft_new ();
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
  draft_expect (
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

  /* journals of before do not tell which streams block */
  draft = draft_new ();
  ((JournalHeader *) draft_at (&draft, 0))->version = 3;
  CALL (.call = JOURNAL_STREAM_CREATE, .r = 0xb00, .q = 1);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 1, .r = 0xb00);
  CALL (.call = JOURNAL_WORK);
  CALL (.call = JOURNAL_WORK, .r = 0x102);
  draft_expect (
      &draft, FALSE,
      "work; work s1; | 403 | skipped 1 | 1 frees of memory that was not seen to be allocated "
      "are left out");
}

static void
test_pools (void)
{
  Draft draft = draft_new ();
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
  draft_expect (&draft, FALSE,
                "alloc 1 +1 @10; alloc 2 +2 @20 p1; alloc 3 +3 @30 p2; alloc 4 +4 @40 p1; alloc 5 "
                "+5 @50; alloc 6 +6 @60 d1; trim; alloc 7 +7 @70 p3; "
                "alloc 8 +8 @80 p4 d1; free 8 d1; | 403 | skipped 0");
}

static void
test_ends (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 1, .s = 0xc1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .s = 0xc2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 3, .s = 0xc1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x40, .q = 4, .device = 1);
  CALL (.call = JOURNAL_CONTEXT_DESTROY, .p = 0xc1);
  CALL (.call = JOURNAL_DEVICE_RESET);
  CALL (.call = JOURNAL_DEVICE_SYNC, .device = 1);
  draft_expect (&draft, FALSE,
                "alloc 1 +1 @30; alloc 2 +2 @20; alloc 3 +3 @10; alloc 4 +4 @40 d1; free 1; free "
                "3; free 2; device-sync d1; | 403 | skipped 0");
}

/* A host wait for an event is a host stream of the event's device that waits for it and is waited for; an
 * event that was never recorded is ignored. */
static void
test_event_sync (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe);
  CALL (.call = JOURNAL_EVENT_RECORD, .p = 0xe, .r = 0xbb);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe, .device = 1);
  CALL (.call = JOURNAL_EVENT_SYNC, .p = 0xe);
  draft_expect (&draft, FALSE,
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
      Draft draft = draft_new ();
      ((JournalHeader *) draft_at (&draft, 0))->attributes = told;
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
      draft_expect (
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
  Draft draft = draft_new ();

  ((JournalHeader *) draft_at (&draft, 0))->attributes = 1;
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
  draft_expect (&draft, FALSE,
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
  Draft draft = draft_new ();

  ((JournalHeader *) draft_at (&draft, 0))->attributes = 1;
  CALL (.call = JOURNAL_POOL_CREATE, .p = 7, .q = 64);
  CALL (.call = JOURNAL_POOL_CREATE, .p = 8, .q = 32);
  CALL (.call = JOURNAL_ALLOC_POOL, .p = 0x100, .q = 16, .s = 7);
  CALL (.call = JOURNAL_POOL_SET, .p = 7);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x200, .q = 16);
  CALL (.call = JOURNAL_POOL_DESTROY, .p = 7);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x300, .q = 16); /* of the device's own pool */
  draft_expect (&draft, FALSE,
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
  Draft draft = draft_new ();
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
  draft_expect (&draft, FALSE,
                WORK_MEMORY WORK_FREES ("work s1; work s2; work s3 d1; work; ",
                                        "stream-sync/1; stream-sync/1 s1; ",
                                        "work s1; ") "work of a stream counts as pending until the "
                                                     "program waited for it or asked: when "
                                                     "the device had done it is not recorded");

  /* without memory of pools there is nothing to say, and with requests above the calls no order */
  draft = draft_new ();
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  draft_expect (&draft, FALSE, "work s1; | 403 | skipped 0");
  draft = draft_new ();
  strcpy (((JournalHeader *) draft_at (&draft, 0))->allocator, "cupy");
  strcpy (((JournalHeader *) draft_at (&draft, 0))->library, "CuPy 14");
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 8, .s = 77);
  CALL (.call = JOURNAL_WORK, .r = 0xa);
  CALL (.call = JOURNAL_FREE, .p = 0x1000);
  g_autofree char *got = test_trace_text ((const char *) draft.bytes->data, draft.bytes->len,
                                          "journal", FALSE, FALSE);
  g_assert_null (strstr (got, "work"));
  g_assert_null (strstr (got, "stream-sync"));
  g_byte_array_unref (draft.bytes);

  /* a journal of before: nothing is pending, as it always was */
  draft = draft_new ();
  ((JournalHeader *) draft_at (&draft, 0))->version = 2;
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x4000, .q = 8, .r = 0xa);
  CALL (.call = JOURNAL_FREE_ASYNC, .p = 0x4000, .r = 0xa);
  draft_expect (&draft, FALSE,
                "alloc 1 +8 @4000 s1; free 1 s1; | 403 | skipped 0 | which work the device had not "
                "done is not recorded: every stream counts as done with it at once");
}

/* Calls that are not recorded are counted, and their frees expected; when a real block gets such
 * an address, the address is forgotten. */
static void
test_left_out (void)
{
  Draft draft = draft_new ();
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
  draft_expect (&draft, FALSE,
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
  Draft draft = draft_new ();
  JournalRecord *slot = CALL (.call = JOURNAL_EVENT);
  memcpy (slot + 1, &alloc, sizeof alloc);
  draft.slot++;
  JournalHeader *header = draft_at (&draft, 0);
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
      draft = draft_new ();
      slot = CALL (.call = JOURNAL_EVENT);
      memcpy (slot + 1, &wrong[i], sizeof wrong[i]);
      draft_expect (&draft, FALSE,
                    i == 1 ? "x.log: block 1: its event is not there; record again, or read what "
                             "is whole with --allow-partial"
                           : "x.log: block 1: its event is impossible; record again, or read what "
                             "is whole with --allow-partial");
    }
}

/* The text of @draft with every stack, "NAME FILE" of its frames, in brackets. */
static char *
draft_stacks (Draft *draft)
{
  g_autoptr (GBytes) bytes = g_byte_array_free_to_bytes (draft->bytes);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.gmj"),
                                                     "journal", NULL, &error);
  g_autoptr (GString) out = g_string_new (NULL);
  const GememTraceEvent *events;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        guint depth = 0;
        const guint32 *frames = events[i].stack == 0
                                    ? NULL
                                    : gemem_call_stacks_get (reader->info.stacks, events[i].stack,
                                                             &depth);
        g_string_append_printf (out, "%s %" G_GUINT64_FORMAT " [",
                                gemem_event_kind_name (events[i].kind), events[i].id);
        for (guint j = 0; j < depth; j++)
          {
            const GememFrame *frame = gemem_call_stacks_get_frame (reader->info.stacks, frames[j]);
            g_string_append_printf (out, "%s%s %s", j > 0 ? ", " : "",
                                    gemem_frame_name (&reader->info, frame),
                                    gemem_frame_file (&reader->info, frame));
          }
        g_string_append (out, "]; ");
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
  return g_steal_pointer (&out->str);
}

/* Writes @data behind a new record. */
static void
draft_data (Draft *draft, JournalRecord record, gconstpointer data, gsize size)
{
  const guint slots = (guint) ((size + JOURNAL_SLOT - 1) / JOURNAL_SLOT);
  memcpy (draft_record (draft, record) + 1, data, size);
  draft->slot += slots;
}

/* Version 1: threads become tags, stacks are strings. */
/* A journal in which an allocator of the program recorded its requests. */
static Draft
draft_below (void)
{
  Draft draft = draft_new ();
  JournalHeader *header = draft_at (&draft, 0);
  g_strlcpy (header->allocator, "cupy-pool", sizeof header->allocator);
  g_strlcpy (header->settings, "version=14.2", sizeof header->settings);
  g_strlcpy (header->library, "CuPy 14.2.0", sizeof header->library);
  header->devices[0].bytes = 4096;
  return draft;
}

static void
add_requests (Draft *given)
{
  static const char text[] = "fill (/a b/shop.py:7) < <module> (shop.py:12)";
  Draft draft = *given;

  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (text) }, text,
              strlen (text));
  CALL (.call = JOURNAL_ALLOC, .p = 0x9000, .q = 64);                            /* of a library */
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 512, .s = 7, .below = 1, .stack = 1); /* tried again */
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 512, .r = 0xaa, .below = 1, .stack = 1);
  CALL (.call = JOURNAL_REQUEST, .p = 0x1000, .q = 78, .r = 0xaa, .s = 512, .stack = 1);
  CALL (.call = JOURNAL_ALLOC_HOST, .p = 0x5000, .q = 10, .device = JOURNAL_HOST);
  CALL (.call = JOURNAL_REQUEST, .p = 0, .q = 6000, .s = 77); /* by the allocator's own limit */
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 9216, .s = 5, .below = 1, .thread = 2);
  CALL (.call = JOURNAL_REQUEST, .p = 0, .q = 6000); /* again, in a thread of its own */
  CALL (.call = JOURNAL_REQUEST, .p = 0, .q = 9000, .thread = 2); /* refused */
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 8000, .s = 6);         /* of the library */
  CALL (.call = JOURNAL_REQUEST_END, .p = 0x1000);
  CALL (.call = JOURNAL_ALLOC, .p = 0x2000, .q = 1024, .below = 1);
  CALL (.call = JOURNAL_REQUEST, .p = 0x2000, .q = 1, .s = 512);
  CALL (.call = JOURNAL_REQUEST, .p = 0x2200, .q = 2, .s = 512);
  CALL (.call = JOURNAL_FREE, .p = 0x1000, .below = 1);          /* to serve the next one */
  CALL (.call = JOURNAL_REQUEST, .p = 0x2200, .q = 3, .s = 512); /* the free was not seen */
  CALL (.call = JOURNAL_REQUEST_END, .p = 0x2000);
  CALL (.call = JOURNAL_REQUEST_END, .p = 0x2200);
  CALL (.call = JOURNAL_REQUEST_END, .p = 0x2200); /* unknown */
  CALL (.call = JOURNAL_ALLOC, .p = 0x3000, .q = 512, .below = 1);
  CALL (.call = JOURNAL_REQUEST, .p = 0x3000, .q = 4, .s = 512);
  CALL (.call = JOURNAL_REQUEST_END, .p = 0x3000);
  CALL (.call = JOURNAL_FREE, .p = 0x9000);
  CALL (.call = JOURNAL_ALLOC, .p = 0x8000, .q = 256); /* a pool's first, it turns out */
  CALL (.call = JOURNAL_ALLOC, .p = 0x7000, .q = 256);
  CALL (.call = JOURNAL_REQUEST, .p = 0x80ff, .q = 1);
  CALL (.call = JOURNAL_REQUEST, .p = 0x8100, .q = 1); /* of nothing that was seen */
  CALL (.call = JOURNAL_FREE, .p = 0x2000);            /* the program asks for both */
  CALL (.call = JOURNAL_FREE, .p = 0x3000);
  *given = draft;
}

/* The requests of an allocator are the blocks, its calls the segments; the calls alone are what they
 * were. */
static void
test_requests (void)
{
  Draft draft = draft_below (), plain = draft_new ();
  add_requests (&draft);
  add_requests (&plain);
  Draft copy = { .bytes = g_byte_array_new () };
  g_byte_array_append (copy.bytes, draft.bytes->data, draft.bytes->len);
  g_autoptr (GBytes) bytes = g_bytes_new (draft.bytes->data, draft.bytes->len);
  g_autoptr (GError) error = NULL;
  g_autoptr (GememTraceReader) reader = gemem_trace_open_input (
      gemem_input_new_from_bytes (bytes, "x.gmj"), NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (reader->info.allocator, ==, "cupy-pool");
  g_assert_cmpstr (reader->info.settings, ==, "version=14.2");
  g_assert_cmpstr (reader->info.device, ==, "capacity=4096");
  g_assert_cmpuint (reader->info.flags, ==,
                    GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS);
  draft_expect (
      &draft, FALSE,
      "segment-alloc +512 @1000 s1; alloc 3 +78/512 @1000 s1; alloc 4 +10 @5000 d65535; oom "
      "+6000/77; oom +6000; oom +9000/5; oom +8000/6; free 3; segment-alloc +1024 @2000; alloc 6 "
      "+1/512 @2000; alloc 7 "
      "+2/512 @2200; segment-free +512 @1000 s1; free 7; alloc 8 +3/512 @2200; free 6; free 8; "
      "segment-alloc +512 @3000; alloc 10 +4/512 @3000; free 10; segment-alloc +256 @8000; alloc "
      "13 +1 @80ff; alloc 14 +1 @8100; trim; segment-free +1024 @2000; segment-free +512 @3000; | "
      "7 | skipped 1 | 2 allocations of device memory beside this allocator are left out | 2 "
      "requests were refused by the program's allocator (its own limit), not by the device | 1 "
      "frees of memory that was not seen to be allocated are left out | 1 "
      "blocks were freed by calls that are not recorded; they end where their address is given out "
      "again");
  g_autofree char *got = draft_stacks (&copy);
  g_assert_true (g_str_has_prefix (got,
                                   "segment-alloc 0 [fill /a b/shop.py, <module> shop.py]; "
                                   "alloc 3 [fill /a b/shop.py, <module> shop.py]; alloc 4 []"));
  /* without an allocator in the header they say nothing */
  draft_expect (&plain, FALSE,
                "alloc 1 +64 @9000; oom +512/7; alloc 2 +512 @1000 s1; alloc 3 +10 @5000 "
                "d65535; oom +9216/5; oom +8000/6; alloc 4 +1024 @2000; free 2 s1; alloc 5 "
                "+512 @3000; free 1; alloc 6 +256 @8000; alloc 7 +256 @7000; free 4; free 5; | "
                "403 | skipped 0");
  const GememReadOptions calls = { .device = -1, .calls_only = TRUE };
  const GememTraceEvent *events;
  g_autoptr (GememTraceReader) below = gemem_trace_open_input (
      gemem_input_new_from_bytes (bytes, "x.gmj"), NULL, &calls, &error);
  g_assert_no_error (error);
  g_assert_null (below->info.allocator);
  g_assert_cmpint (gemem_trace_next (below, &events, &error), ==, 14);
  g_assert_cmpuint (events[0].size, ==, 64);
}

/* A place stands behind the calls that it belongs to, which are those that obtain memory; one of another
 * thread says so; the call's own frames come first; where the last one was is not known. */
static void
test_places (void)
{
  static const char own[] = "run (app.py:7) < main (app.py:9)", native[] = "jit (xla.c:1)";
  Draft draft = draft_new ();

  ((JournalHeader *) draft_at (&draft, 0))->places = 1;
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (native) },
              native, strlen (native));
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 1, .thread = 3);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x2000, .q = 2, .thread = 3, .stack = 1);
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 3, .thread = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x3000, .q = 4, .thread = 2, .stack = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x4000, .q = 4, .thread = 3, .stack = 1, .below = 1);
  CALL (.call = JOURNAL_FREE, .p = 0x2000, .thread = 3);
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 2, .q = strlen (own) }, own,
              strlen (own));
  CALL (.call = JOURNAL_PLACE, .p = 2, .thread = 3);
  CALL (.call = JOURNAL_ALLOC, .p = 0x5000, .q = 5, .thread = 3, .stack = 1);
  CALL (.call = JOURNAL_PLACE, .p = 9, .thread = 3); /* without its string */
  CALL (.call = JOURNAL_ALLOC, .p = 0x6000, .q = 6, .thread = 3);
  g_autofree char *got = draft_stacks (&draft);
  g_assert_cmpstr (got, ==,
                   "alloc 1 [run app.py, main app.py]; "
                   "alloc 2 [jit xla.c, run app.py, main app.py]; "
                   "oom 0 [in another thread , run app.py, main app.py]; "
                   "alloc 3 [jit xla.c, in another thread , run app.py, main app.py]; "
                   "alloc 4 [jit xla.c]; free 2 []; alloc 5 [jit xla.c]; alloc 6 []; ");
}

/* Sizes of the blocks of @draft in which @memory counts, and what was skipped. */
static void
expect_sizes (const Draft *draft, GememDeviceMemory memory, const char *expected)
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
  Draft draft = draft_new ();

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

static void
test_strings (void)
{
  static const char text[] = "_ZN4shop4cart4fillEv+0x12 (till) < main+0x7f (till) < till+0x40";
  Draft draft = draft_new ();
  JournalHeader *header = draft_at (&draft, 0);

  header->version = JOURNAL_TEXT_STACKS;
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (text) }, text,
              strlen (text));
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .stack = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .stack = 1, .thread = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3, .stack = 2); /* of a string that is not there */
  Draft copy = { .bytes = g_byte_array_new () };
  g_byte_array_append (copy.bytes, draft.bytes->data, draft.bytes->len);
  draft_expect (&draft, FALSE,
                "alloc 1 +1 @10; alloc 2 +2 @20 'thread 1'; alloc 3 +3 @30; | 403 | skipped 0");
  g_autofree char *got = draft_stacks (&copy);
  g_assert_cmpstr (got, ==,
                   "alloc 1 [shop::cart::fill() till, main till, till+0x40 ??]; alloc 2 "
                   "[shop::cart::fill() till, main till, till+0x40 ??]; alloc 3 []; ");
}

/* Stacks of return addresses, in files that are not there; an event has the stack of its call, and
 * a free that was not seen has none. */
static void
test_stacks (void)
{
  static const char first[] = "/no/such/lib.so\0id", second[] = "other";
  static const guint64 inner[] = { 0x5001, 0x9001 }, outer[] = { 0x9001 };
  Draft draft = draft_new ();
  JournalHeader *header = draft_at (&draft, 0);

  header->stacks = 2;
  draft_data (
      &draft,
      (JournalRecord){
          .call = JOURNAL_MODULE, .p = 0x4000, .q = sizeof first - 1, .r = 0x5000, .s = 0x6000 },
      first, sizeof first - 1);
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 1, .q = 2 }, inner,
              sizeof inner);
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 2, .q = 1 }, outer,
              sizeof outer);
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .stack = 1);
  CALL (.call = JOURNAL_FREE, .p = 0x10, .stack = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .stack = 9); /* not there */
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .stack = 2); /* the free was not seen */
  draft_data (
      &draft, /* another file at the same place */
      (JournalRecord){
          .call = JOURNAL_MODULE, .p = 0x5000, .q = sizeof second - 1, .r = 0x5000, .s = 0x5800 },
      second, sizeof second - 1);
  draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 3, .q = 2 }, inner,
              sizeof inner);
  CALL (.call = JOURNAL_DEVICE_RESET, .stack = 3);
  g_autofree char *got = draft_stacks (&draft);
  g_assert_cmpstr (got, ==,
                   "alloc 1 [lib.so+0x1000 ??, 0x9000 ??]; free 1 [0x9000 ??]; alloc 2 []; "
                   "free 2 []; alloc 3 [0x9000 ??]; free 3 [other+0x0 ??, 0x9000 ??]; ");
}

static void
test_impossible_stacks (void)
{
  const JournalRecord wrong[] = {
    { .call = JOURNAL_STACK, .p = 1, .q = 0 },
    { .call = JOURNAL_STACK, .p = 1, .q = JOURNAL_MAX_FRAMES + 1 },
    { .call = JOURNAL_STACK, .p = 0, .q = 1 },
    { .call = JOURNAL_MODULE, .q = 0 },
    { .call = JOURNAL_MODULE, .q = JOURNAL_MAX_TEXT + 1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      Draft draft = draft_new ();
      draft_record (&draft, wrong[i]);
      draft_expect (&draft, FALSE,
                    i < 3 ? "x.log: block 1: its call stack is impossible; record again, or read "
                            "what is whole with --allow-partial"
                          : "x.log: block 1: its loaded file is impossible; record again, or read "
                            "what is whole with --allow-partial");
    }
}

/* One thread claims a block while another takes the number that could be the first of that
 * block. */
static void
test_claim (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .sequence = 2);
  draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3, .sequence = 3);
  draft_expect (&draft, FALSE, "alloc 1 +1 @10; alloc 2 +2 @20; alloc 3 +3 @30; | 403 | skipped 0");
}

/* Three blocks filled at the same time, one of them empty: their records are delivered in the
 * order of their numbers. */
static void
test_merge (void)
{
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x40, .q = 4, .sequence = 4);
  draft_block (&draft);
  draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3);
  CALL (.call = JOURNAL_ALLOC, .p = 0x50, .q = 5, .sequence = 5);
  g_byte_array_set_size (draft.bytes, draft.bytes->len + JOURNAL_BLOCK); /* claimed, not begun */
  memset (draft.bytes->data + draft.bytes->len - JOURNAL_BLOCK, 0, JOURNAL_BLOCK);
  g_byte_array_append (draft.bytes, (const guint8 *) "begun", 5);
  draft_expect (&draft, FALSE,
                "alloc 1 +1 @10; alloc 2 +2 @20; alloc 3 +3 @30; alloc 4 +4 @40; alloc 5 +5 "
                "@50; | 403 | skipped 0");
}

static void
test_damage (void)
{
#define ADVICE "; record again, or read what is whole with --allow-partial"
  Draft draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_CALL_COUNT);
  draft_expect (&draft, FALSE, "x.log: block 1: there is no call of kind 41" ADVICE);
  draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_CALL_COUNT);
  draft_expect (&draft, TRUE, "alloc 1 +1 @10; | 423 | skipped 0");
  draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .sequence = 9);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 8);
  draft_expect (&draft, FALSE, "x.log: block 1: call 8 stands behind call 9" ADVICE);
  draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 1);
  draft_expect (&draft, FALSE, "x.log: block 2: call 1 stands behind call 2" ADVICE);
  draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .sequence = 3);
  draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 3);
  draft_expect (&draft, FALSE, "x.log: block 1: call 3 is there twice" ADVICE);
  draft = draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = G_MAXUINT64);
  draft_expect (&draft, FALSE,
                "x.log: block 1: a size of 18446744073709551615 bytes is impossible" ADVICE);
  draft = draft_new ();
  CALL (.call = JOURNAL_STRING, .p = 1, .q = JOURNAL_MAX_TEXT + 1);
  draft_expect (&draft, FALSE, "x.log: block 1: its string is impossible" ADVICE);
  draft = draft_new ();
  draft_block (&draft);
  memset (draft_at (&draft, SECOND_BLOCK * JOURNAL_BLOCK), 1, 16);
  draft_expect (&draft, FALSE, "x.log: block 2: its head is impossible" ADVICE);
  draft = draft_new ();
  ((JournalHeader *) draft_at (&draft, 0))->version = 5;
  draft_expect (
      &draft, FALSE,
      "x.log: version 5 of the journal, and this gemem knows versions up to 4; use the one that "
      "recorded it");
  draft = draft_new ();
  g_byte_array_set_size (draft.bytes, 100);
  draft_expect (&draft, FALSE, "x.log: this is no journal of gemem-record; name the right format");
  draft = draft_new ();
  ((JournalHeader *) draft_at (&draft, 0))->lost = 3;
  draft_expect (&draft, FALSE,
                "| 423 | skipped 0 | 3 calls could not be recorded; was the disk full?");
  draft = draft_new ();
  ((JournalHeader *) draft_at (&draft, 0))->stackless = 5;
  draft_expect (&draft, FALSE,
                "| 403 | skipped 0 | 5 calls have no stack, because there were too many different "
                "ones; record with a smaller --stacks=DEPTH");
}

/* Ended at any byte in use, as by a crash of the machine: whole records are read. Cut off at the
 * start of a block, the block was never begun. */
static void
test_cuts (void)
{
  for (gsize cut = JOURNAL_BLOCK; cut <= JOURNAL_BLOCK + 6 * JOURNAL_SLOT; cut++)
    {
      Draft draft = draft_new ();
      for (guint i = 1; i <= 4; i++)
        CALL (.call = JOURNAL_ALLOC, .p = i << 8, .q = i);
      memset (draft_at (&draft, cut), 0, draft.bytes->len - cut);
      g_autofree char *zeroed = test_trace_text ((const char *) draft.bytes->data, draft.bytes->len,
                                                 "journal", TRUE, FALSE);
      guint whole = cut < JOURNAL_BLOCK + 2 * JOURNAL_SLOT
                        ? 0
                        : (guint) ((cut - JOURNAL_BLOCK) / JOURNAL_SLOT) - 1;
      for (guint i = 1; i <= MIN (whole, 4); i++)
        {
          g_autofree char *event = g_strdup_printf ("alloc %u +%u @%x", i, i, i << 8);
          g_assert_nonnull (strstr (zeroed, event));
        }
      g_byte_array_set_size (draft.bytes, (guint) cut);
      draft_expect (&draft, FALSE, "| 403 | skipped 0");
    }
}

/* Hundreds of nearly empty blocks, all to be merged: of each only the used part is kept in
 * memory. */
static void
test_many_blocks (void)
{
  Draft draft = draft_new ();
  g_autoptr (GString) expected = g_string_new (NULL);
  for (guint i = 1; i <= 500; i++)
    {
      JournalBlock *head = draft_at (&draft, draft.bytes->len - JOURNAL_BLOCK);
      head->first = 1;
      CALL (.call = JOURNAL_ALLOC, .p = (guint64) i << 12, .q = 1, .sequence = 501 - i);
      if (i < 500)
        draft_block (&draft);
    }
  for (guint i = 1; i <= 500; i++)
    g_string_append_printf (expected, "alloc %u +1 @%x; ", i, (501 - i) << 12);
  g_string_append (expected, "| 403 | skipped 0");
  draft_expect (&draft, FALSE, expected->str);
}

/* Reads a journal of random calls: delivered events keep the promises of trace.h, and the
 * journal is either complete or refused. */
static void
read_random (const Draft *draft)
{
  static const GememReadOptions options = { TRUE, -1 };
  g_autoptr (GBytes) bytes = g_bytes_new (draft->bytes->data, draft->bytes->len);
  g_autoptr (GHashTable) live = g_hash_table_new (NULL, NULL),
                         recorded = g_hash_table_new (NULL, NULL);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.gmj"),
                                                     NULL, &options, &error);
  const GememTraceEvent *events;
  guint64 last = 0, time = 0;
  gssize n;

  g_assert_no_error (error);
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        g_assert_cmpuint (events[i].time, >=, time);
        time = events[i].time;
        g_assert_cmpuint (events[i].tag, <, reader->info.strings->len);
        if (events[i].kind == GEMEM_EVENT_ALLOC)
          {
            g_assert_cmpuint (events[i].id, >, last);
            last = events[i].id;
            g_hash_table_add (live, GSIZE_TO_POINTER (last));
          }
        if (events[i].kind == GEMEM_EVENT_FREE)
          g_assert_true (g_hash_table_remove (live, GSIZE_TO_POINTER (events[i].id)));
        if (events[i].kind == GEMEM_EVENT_USE_ON_STREAM)
          g_assert_true (g_hash_table_contains (live, GSIZE_TO_POINTER (events[i].id)));
        if (events[i].kind == GEMEM_EVENT_EVENT_RECORD)
          g_hash_table_add (recorded, GSIZE_TO_POINTER (events[i].id));
        if (events[i].kind == GEMEM_EVENT_EVENT_WAIT)
          g_assert_true (g_hash_table_contains (recorded, GSIZE_TO_POINTER (events[i].id)));
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
}

static void
test_random (void)
{
  GememRng rng;
  guint rounds = g_getenv ("GEMEM_QUICK") != NULL ? 200 : 1000;

  gemem_rng_init (&rng, 20, "journal");
  for (guint round = 0; round < rounds; round++)
    {
      Draft draft = round % 2 == 0 ? draft_new () : draft_below ();
      for (guint i = 0; i < 300; i++)
        {
          guint call = 1 + (guint) gemem_rng_below (&rng, JOURNAL_CALL_COUNT - 1);
          const JournalRecord kind = { .call = call, .q = 1 };
          call = journal_slots_after (&kind) > 0 ? JOURNAL_ALLOC : call;
          if (gemem_rng_below (&rng, 100) == 0)
            draft_block (&draft);
          JournalRecord record = { .call = call };
          record.p = gemem_rng_below (&rng, 12);
          record.q = gemem_rng_below (&rng, 20);
          record.r = gemem_rng_below (&rng, 4);
          record.s = gemem_rng_below (&rng, 4);
          record.device = (guint16) gemem_rng_below (&rng, 3);
          record.below = (guint16) gemem_rng_below (&rng, 2);
          record.thread = 1 + (guint32) gemem_rng_below (&rng, 3);
          record.stack = (guint32) gemem_rng_below (&rng, 2);
          draft_record (&draft, record);
        }
      if (round % 4 == 0) /* damaged somewhere in the used part */
        {
          const guint64 at = JOURNAL_BLOCK + gemem_rng_below (&rng, 50 * JOURNAL_SLOT);
          draft.bytes->data[at] ^= (guint8) (1 + gemem_rng_below (&rng, 255));
        }
      read_random (&draft);
      g_byte_array_unref (draft.bytes);
    }
}

/* ---- the writer */

#define THREADS 8

static gpointer
write_calls (gpointer data)
{
  guint rounds = GPOINTER_TO_UINT (data);
  for (guint i = 0; i < rounds; i++)
    {
      Moment moment;
      g_assert_true (gemem_recorder_ready () && gemem_recorder_moment (&moment, true));
      gemem_recorder_add (
          &moment, (JournalRecord){ .call = JOURNAL_ALLOC, .p = moment.sequence << 12, .q = 64 });
      if (i % 50 == 0)
        g_assert_true (
            gemem_recorder_add_data ((JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = 87 },
                                     "a string of more than one slot, so that it has to "
                                     "be told from the records that follow it",
                                     87));
    }
  return NULL;
}

/* Counts the records in the journal @path; every number occurs once, in order. */
static guint64
count_allocs (const char *path)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open (path, NULL, NULL, &error);
  const GememTraceEvent *events;
  guint64 last = 0, allocs = 0;
  gssize n;

  g_assert_no_error (error);
  g_assert_cmpstr (reader->format->name, ==, "journal");
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      {
        g_assert_cmpuint (events[i].address, >, last);
        last = events[i].address;
        g_assert_cmpuint (events[i].id, ==, ++allocs);
      }
  g_assert_no_error (error);
  gemem_trace_close (reader);
  return allocs;
}

static void
run_threads (guint rounds)
{
  GThread *threads[THREADS];
  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new ("writer", write_calls, GUINT_TO_POINTER (rounds));
  for (guint i = 0; i < THREADS; i++)
    g_thread_join (threads[i]);
}

/* Two waves of threads, then a fork: the child's records are in its own journal, the parent's
 * continue. */
static void
test_writer (void)
{
  const guint rounds = 2000;
  g_autofree char *own = g_strdup_printf ("%s/%d.gmj", test_tmpdir (), (int) getpid ());
  int status;

  g_setenv ("GEMEM_JOURNALS", test_tmpdir (), TRUE);
  run_threads (rounds);
  run_threads (rounds);
  write_calls (GUINT_TO_POINTER (10));
  pid_t pid = fork ();
  if (pid == 0)
    {
      write_calls (GUINT_TO_POINTER (3));
      _exit (0);
    }
  write_calls (GUINT_TO_POINTER (10));
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_cmpint (status, ==, 0);
  g_assert_cmpuint (count_allocs (own), ==, 2 * THREADS * rounds + 20);
  g_autofree char *child = g_strdup_printf ("%s/%d.gmj", test_tmpdir (), (int) pid);
  g_assert_cmpuint (count_allocs (child), ==, 3);
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
  g_test_add_func ("/journal/requests", test_requests);
  g_test_add_func ("/journal/places", test_places);
  g_test_add_func ("/journal/pools-alone", test_pools_alone);
  g_test_add_func ("/journal/strings", test_strings);
  g_test_add_func ("/journal/stacks", test_stacks);
  g_test_add_func ("/journal/impossible-stacks", test_impossible_stacks);
  g_test_add_func ("/journal/merge", test_merge);
  g_test_add_func ("/journal/claim", test_claim);
  g_test_add_func ("/journal/damage", test_damage);
  g_test_add_func ("/journal/cuts", test_cuts);
  g_test_add_func ("/journal/many-blocks", test_many_blocks);
  g_test_add_func ("/journal/random", test_random);
  g_test_add_func ("/journal/writer", test_writer);
  return g_test_run ();
}
