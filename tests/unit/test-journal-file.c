/* test-journal-file.c - the file of a journal: blocks of several threads, damage, cuts; and its writer, by threads and
 * over a fork. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/input.h"
#include "base/rng.h"
#include "tests/util/journal-draft.h"
#include "tests/util/testutil.h"
#include "tests/util/trace-text.h"
#include "traces/trace.h"

/* The writer is part of a library that exports none of it. */
#include "record/journal.c"
#include "record/stacks.c"

#define SECOND_BLOCK 2

/* One thread claims a block while another takes the number that could be the first of that
 * block. */
static void
test_claim (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .sequence = 2);
  test_draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3, .sequence = 3);
  test_draft_expect (&draft, FALSE,
                     "alloc 1 +1 @10; alloc 2 +2 @20; alloc 3 +3 @30; | 403 | skipped 0");
}

/* Three blocks filled at the same time, one of them empty: their records are delivered in the
 * order of their numbers. */
static void
test_merge (void)
{
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x40, .q = 4, .sequence = 4);
  test_draft_block (&draft);
  test_draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3);
  CALL (.call = JOURNAL_ALLOC, .p = 0x50, .q = 5, .sequence = 5);
  g_byte_array_set_size (draft.bytes, draft.bytes->len + JOURNAL_BLOCK); /* claimed, not begun */
  memset (draft.bytes->data + draft.bytes->len - JOURNAL_BLOCK, 0, JOURNAL_BLOCK);
  g_byte_array_append (draft.bytes, (const guint8 *) "begun", 5);
  test_draft_expect (&draft, FALSE,
                     "alloc 1 +1 @10; alloc 2 +2 @20; alloc 3 +3 @30; alloc 4 +4 @40; alloc 5 +5 "
                     "@50; | 403 | skipped 0");
}

static void
test_damage (void)
{
#define ADVICE "; record again, or read what is whole with --allow-partial"
  TestDraft draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_CALL_COUNT);
  test_draft_expect (&draft, FALSE, "x.log: block 1: there is no call of kind 41" ADVICE);
  draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  CALL (.call = JOURNAL_CALL_COUNT);
  test_draft_expect (&draft, TRUE, "alloc 1 +1 @10; | 423 | skipped 0");
  draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .sequence = 9);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 8);
  test_draft_expect (&draft, FALSE, "x.log: block 1: call 8 stands behind call 9" ADVICE);
  draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1);
  test_draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 1);
  test_draft_expect (&draft, FALSE, "x.log: block 2: call 1 stands behind call 2" ADVICE);
  draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .sequence = 3);
  test_draft_block (&draft);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .sequence = 3);
  test_draft_expect (&draft, FALSE, "x.log: block 1: call 3 is there twice" ADVICE);
  draft = test_draft_new ();
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = G_MAXUINT64);
  test_draft_expect (&draft, FALSE,
                     "x.log: block 1: a size of 18446744073709551615 bytes is impossible" ADVICE);
  draft = test_draft_new ();
  CALL (.call = JOURNAL_STRING, .p = 1, .q = JOURNAL_MAX_TEXT + 1);
  test_draft_expect (&draft, FALSE, "x.log: block 1: its string is impossible" ADVICE);
  draft = test_draft_new ();
  test_draft_block (&draft);
  memset (test_draft_at (&draft, SECOND_BLOCK * JOURNAL_BLOCK), 1, 16);
  test_draft_expect (&draft, FALSE, "x.log: block 2: its head is impossible" ADVICE);
  draft = test_draft_new ();
  ((JournalHeader *) test_draft_at (&draft, 0))->version = 5;
  test_draft_expect (
      &draft, FALSE,
      "x.log: version 5 of the journal, and this gemem knows versions up to 4; use the one that "
      "recorded it");
  draft = test_draft_new ();
  g_byte_array_set_size (draft.bytes, 100);
  test_draft_expect (&draft, FALSE,
                     "x.log: this is no journal of gemem-record; name the right format");
  draft = test_draft_new ();
  ((JournalHeader *) test_draft_at (&draft, 0))->lost = 3;
  test_draft_expect (&draft, FALSE,
                     "| 423 | skipped 0 | 3 calls could not be recorded; was the disk full?");
  draft = test_draft_new ();
  ((JournalHeader *) test_draft_at (&draft, 0))->stackless = 5;
  test_draft_expect (
      &draft, FALSE,
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
      TestDraft draft = test_draft_new ();
      for (guint i = 1; i <= 4; i++)
        CALL (.call = JOURNAL_ALLOC, .p = i << 8, .q = i);
      memset (test_draft_at (&draft, cut), 0, draft.bytes->len - cut);
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
      test_draft_expect (&draft, FALSE, "| 403 | skipped 0");
    }
}

/* Hundreds of nearly empty blocks, all to be merged: of each only the used part is kept in
 * memory. */
static void
test_many_blocks (void)
{
  TestDraft draft = test_draft_new ();
  g_autoptr (GString) expected = g_string_new (NULL);
  for (guint i = 1; i <= 500; i++)
    {
      JournalBlock *head = test_draft_at (&draft, draft.bytes->len - JOURNAL_BLOCK);
      head->first = 1;
      CALL (.call = JOURNAL_ALLOC, .p = (guint64) i << 12, .q = 1, .sequence = 501 - i);
      if (i < 500)
        test_draft_block (&draft);
    }
  for (guint i = 1; i <= 500; i++)
    g_string_append_printf (expected, "alloc %u +1 @%x; ", i, (501 - i) << 12);
  g_string_append (expected, "| 403 | skipped 0");
  test_draft_expect (&draft, FALSE, expected->str);
}

/* Reads a journal of random calls: delivered events keep the promises of trace.h, and the
 * journal is either complete or refused. */
static void
read_random (const TestDraft *draft)
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
      TestDraft draft = round % 2 == 0 ? test_draft_new () : test_draft_below ();
      for (guint i = 0; i < 300; i++)
        {
          guint call = 1 + (guint) gemem_rng_below (&rng, JOURNAL_CALL_COUNT - 1);
          const JournalRecord kind = { .call = call, .q = 1 };
          call = journal_slots_after (&kind) > 0 ? JOURNAL_ALLOC : call;
          if (gemem_rng_below (&rng, 100) == 0)
            test_draft_block (&draft);
          JournalRecord record = { .call = call };
          record.p = gemem_rng_below (&rng, 12);
          record.q = gemem_rng_below (&rng, 20);
          record.r = gemem_rng_below (&rng, 4);
          record.s = gemem_rng_below (&rng, 4);
          record.device = (guint16) gemem_rng_below (&rng, 3);
          record.below = (guint16) gemem_rng_below (&rng, 2);
          record.thread = 1 + (guint32) gemem_rng_below (&rng, 3);
          record.stack = (guint32) gemem_rng_below (&rng, 2);
          test_draft_record (&draft, record);
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
  g_test_add_func ("/journal/merge", test_merge);
  g_test_add_func ("/journal/claim", test_claim);
  g_test_add_func ("/journal/damage", test_damage);
  g_test_add_func ("/journal/cuts", test_cuts);
  g_test_add_func ("/journal/many-blocks", test_many_blocks);
  g_test_add_func ("/journal/random", test_random);
  g_test_add_func ("/journal/writer", test_writer);
  return g_test_run ();
}
