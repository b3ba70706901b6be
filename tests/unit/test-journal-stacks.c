/* test-journal-stacks.c - what a journal says of calls besides: their stacks, the places in Python that they were made
 * at, and requests of an allocator above them. */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "tests/util/journal-draft.h"
#include "traces/origin.h"
#include "traces/trace.h"

/* The text of @draft with every stack, "NAME FILE" of its frames, in brackets. */
static char *
draft_stacks (TestDraft *draft)
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

static void
add_requests (TestDraft *given)
{
  static const char text[] = "fill (/a b/shop.py:7) < <module> (shop.py:12)";
  TestDraft draft = *given;

  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (text) },
                   text, strlen (text));
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
  TestDraft draft = test_draft_below (), plain = test_draft_new ();
  add_requests (&draft);
  add_requests (&plain);
  TestDraft copy = { .bytes = g_byte_array_new () };
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
  test_draft_expect (
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
  test_draft_expect (
      &plain, FALSE,
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
  TestDraft draft = test_draft_new ();

  ((JournalHeader *) test_draft_at (&draft, 0))->places = 1;
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (native) },
                   native, strlen (native));
  CALL (.call = JOURNAL_ALLOC, .p = 0x1000, .q = 1, .thread = 3);
  CALL (.call = JOURNAL_ALLOC_ASYNC, .p = 0x2000, .q = 2, .thread = 3, .stack = 1);
  CALL (.call = JOURNAL_ALLOC_FAILED, .q = 3, .thread = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x3000, .q = 4, .thread = 2, .stack = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x4000, .q = 4, .thread = 3, .stack = 1, .below = 1);
  CALL (.call = JOURNAL_FREE, .p = 0x2000, .thread = 3);
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 2, .q = strlen (own) },
                   own, strlen (own));
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

/* Version 1: threads become tags, stacks are strings. */
static void
test_strings (void)
{
  static const char text[] = "_ZN4shop4cart4fillEv+0x12 (till) < main+0x7f (till) < till+0x40";
  TestDraft draft = test_draft_new ();
  JournalHeader *header = test_draft_at (&draft, 0);

  header->version = JOURNAL_TEXT_STACKS;
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STRING, .p = 1, .q = strlen (text) },
                   text, strlen (text));
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .stack = 1);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 2, .stack = 1, .thread = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x30, .q = 3, .stack = 2); /* of a string that is not there */
  TestDraft copy = { .bytes = g_byte_array_new () };
  g_byte_array_append (copy.bytes, draft.bytes->data, draft.bytes->len);
  test_draft_expect (
      &draft, FALSE,
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
  TestDraft draft = test_draft_new ();
  JournalHeader *header = test_draft_at (&draft, 0);

  header->stacks = 2;
  test_draft_data (
      &draft,
      (JournalRecord){
          .call = JOURNAL_MODULE, .p = 0x4000, .q = sizeof first - 1, .r = 0x5000, .s = 0x6000 },
      first, sizeof first - 1);
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 1, .q = 2 }, inner,
                   sizeof inner);
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 2, .q = 1 }, outer,
                   sizeof outer);
  CALL (.call = JOURNAL_ALLOC, .p = 0x10, .q = 1, .stack = 1);
  CALL (.call = JOURNAL_FREE, .p = 0x10, .stack = 2);
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .stack = 9); /* not there */
  CALL (.call = JOURNAL_ALLOC, .p = 0x20, .q = 1, .stack = 2); /* the free was not seen */
  test_draft_data (
      &draft, /* another file at the same place */
      (JournalRecord){
          .call = JOURNAL_MODULE, .p = 0x5000, .q = sizeof second - 1, .r = 0x5000, .s = 0x5800 },
      second, sizeof second - 1);
  test_draft_data (&draft, (JournalRecord){ .call = JOURNAL_STACK, .p = 3, .q = 2 }, inner,
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
      TestDraft draft = test_draft_new ();
      test_draft_record (&draft, wrong[i]);
      test_draft_expect (
          &draft, FALSE,
          i < 3 ? "x.log: block 1: its call stack is impossible; record again, or read "
                  "what is whole with --allow-partial"
                : "x.log: block 1: its loaded file is impossible; record again, or read "
                  "what is whole with --allow-partial");
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/journal/requests", test_requests);
  g_test_add_func ("/journal/places", test_places);
  g_test_add_func ("/journal/strings", test_strings);
  g_test_add_func ("/journal/stacks", test_stacks);
  g_test_add_func ("/journal/impossible-stacks", test_impossible_stacks);
  return g_test_run ();
}
