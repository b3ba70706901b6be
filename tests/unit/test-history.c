/* test-history.c - a run as rectangles: what lives from when to when, what is kept of too much, what lines
 * held; and the columns in which a page has it. */
#include "config.h"

#include <string.h>

#include "sim/page/columns.h"
#include "tests/util/engine-job.h"

#define KIB G_GUINT64_CONSTANT (1024)

extern const GememAllocatorClass gemem_pytorch_caching_class;

static GememHistory *
history_through (const GememAllocatorClass *klass, TestTrace *trace, const GememHistoryWish *wish)
{
  g_autoptr (GememAllocatorSpec) spec = test_spec (klass);
  GememJob job = test_job (spec, trace);
  g_autoptr (GememResult) result = NULL;

  job.device_spec = "sim:capacity=1GiB";
  job.history = wish;
  result = test_job_run (&job);
  g_assert_nonnull (result->history);
  return g_steal_pointer (&result->history);
}

static GememHistory *
history_of (TestTrace *trace, const GememHistoryWish *wish)
{
  return history_through (test_direct_class (), trace, wish);
}

static const GememHistoryBlock *
block (const GArray *rectangles, guint i)
{
  g_assert_cmpuint (i, <, rectangles->len);
  return &g_array_index (rectangles, GememHistoryBlock, i);
}

static void
add_strings (GememTraceInfo *info)
{
  g_assert_cmpuint (gemem_trace_info_intern (info, "weights"), ==, 1);
  g_assert_cmpuint (gemem_trace_info_intern (info, "step"), ==, 2);
}

static void
test_rectangles (void)
{
  const GememTraceEvent events[] = {
    { .kind = GEMEM_EVENT_ALLOC, .id = 1, .size = 8 * KIB, .tag = 1 },
    { .kind = GEMEM_EVENT_PHASE, .tag = 2 },
    TEST_ALLOC (2, 4 * KIB),
    TEST_FREE (1),
    { .kind = GEMEM_EVENT_STEP, .id = 7 },
  };
  TestTrace trace = TEST_TRACE (events);
  const char *const lines[] = { "weights" };
  const GememHistoryWish wish = {
    .most = 10, .events = 5, .parts = 5, .lines = lines, .n_lines = 1
  };
  g_autoptr (GememHistory) history = NULL;
  const guint64 *series;

  trace.describe = add_strings;
  history = history_of (&trace, &wish);
  g_assert_cmpuint (history->end, ==, 5);
  g_assert_cmpuint (history->blocks->len, ==, 2);
  g_assert_cmpuint (block (history->blocks, 0)->begin, ==, 0);
  g_assert_cmpuint (block (history->blocks, 0)->end, ==, 3);
  g_assert_cmpuint (block (history->blocks, 0)->requested, ==, 8 * KIB);
  g_assert_cmpstr (history->texts->pdata[block (history->blocks, 0)->text], ==, "weights");
  g_assert_cmpuint (block (history->blocks, 1)->begin, ==, 2);
  g_assert_cmpuint (block (history->blocks, 1)->end, ==, 5); /* never freed */
  g_assert_cmpuint (block (history->blocks, 1)->text, ==, 0);
  g_assert_cmpuint (history->segments->len, ==, 2); /* `direct` asks the device for each */
  g_assert_cmpuint (block (history->segments, 0)->address, ==, block (history->blocks, 0)->address);
  g_assert_cmpuint (block (history->segments, 0)->end, ==, 3);
  g_assert_cmpuint (history->blocks_left_out + history->segments_left_out, ==, 0);
  g_assert_false (history->crowded);
  g_assert_cmpuint (history->marks->len, ==, 2);
  g_assert_cmpuint (g_array_index (history->marks, GememHistoryMark, 0).seq, ==, 1);
  g_assert_cmpuint (g_array_index (history->marks, GememHistoryMark, 1).number, ==, 7);
  /* a part is two events: after events 1, 3 and 4 */
  series = (const guint64 *) (gconstpointer) history->series->data;
  g_assert_cmpuint (history->stride, ==, 2);
  g_assert_cmpuint (history->series->len, ==, 2 * 3);
  g_assert_cmpuint (series[0], ==, 8 * KIB);
  g_assert_cmpuint (series[1], ==, 0);
  g_assert_cmpuint (series[2], ==, 0);
  g_assert_cmpuint (series[3], ==, 4 * KIB);
  g_assert_cmpuint (series[5], ==, 4 * KIB);
}

/* A hundred blocks that live for two events each, of growing size: the largest are kept, and before them
 * those of the moment. */
static void
test_bounded (void)
{
  GememTraceEvent events[200] = { { 0 } };
  TestTrace trace = TEST_TRACE (events);
  const guint64 moments[] = { 6, 40 };
  GememHistoryWish wish = {
    .most = 5, .events = 200, .parts = 10, .moments = moments, .n_moments = 2
  };
  g_autoptr (GememHistory) history = NULL;

  for (guint i = 0; i < 100; i++)
    {
      events[2 * i] = (GememTraceEvent) TEST_ALLOC (i + 1, (i + 1) * KIB);
      events[2 * i + 1] = (GememTraceEvent) TEST_FREE (i + 1);
    }
  history = history_of (&trace, &wish);
  g_assert_cmpuint (history->blocks->len, ==, 5);
  g_assert_cmpuint (history->blocks_left_out, ==, 95);
  g_assert_cmpuint (block (history->blocks, 0)->begin, ==, 6);
  g_assert_cmpuint (block (history->blocks, 1)->begin, ==, 40);
  g_assert_cmpuint (block (history->blocks, 2)->begin, ==, 194);
  g_assert_cmpuint (block (history->blocks, 4)->begin, ==, 198);
  g_assert_false (history->crowded);
  g_clear_pointer (&history, gemem_history_free);
  wish.most = 1;
  history = history_of (&trace, &wish);
  g_assert_cmpuint (history->blocks->len, ==, 1);
  g_assert_true (history->crowded);
  g_clear_pointer (&history, gemem_history_free);
  wish.most = 0;
  history = history_of (&trace, &wish);
  g_assert_cmpuint (history->blocks->len, ==, 0);
  g_assert_cmpuint (history->blocks_left_out, ==, 100);
}

static void
assert_idle (const GArray *rows, guint i, guint64 seq, guint64 size, GememIdleCause cause)
{
  const GememHistoryIdle *row = &g_array_index (rows, GememHistoryIdle, i);

  g_assert_cmpuint (i, <, rows->len);
  g_assert_cmpuint (row->seq, ==, seq);
  g_assert_cmpuint (row->size, ==, size);
  g_assert_cmpuint (row->cause, ==, cause);
}

/* At the moments asked for, and at these alone: a segment of 2 MiB of which a block has one, a segment of
 * 12 MiB that is free, and one of another stream. */
static void
test_idle (void)
{
  const GememTraceEvent events[] = {
    TEST_ALLOC (1, 1024 * KIB),
    TEST_ALLOC (2, 12 * 1024 * KIB),
    { .kind = GEMEM_EVENT_ALLOC, .id = 3, .size = 30 * 1024 * KIB, .stream = 7 },
    { .kind = GEMEM_EVENT_FREE, .id = 3, .stream = 7 },
    TEST_FREE (2),
    TEST_FREE (1),
  };
  TestTrace trace = TEST_TRACE (events);
  const guint64 moments[] = { 0, 4, 4, 99 };
  const GememHistoryWish wish = {
    .most = 10, .events = 6, .parts = 1, .moments = moments, .n_moments = 4
  };
  g_autoptr (GememHistory) history = history_through (&gemem_pytorch_caching_class, &trace, &wish);

  g_assert_cmpuint (history->idle->len, ==, 4);
  assert_idle (history->idle, 0, 0, 1024 * KIB, GEMEM_IDLE_PINNED);
  assert_idle (history->idle, 1, 4, 30 * 1024 * KIB, GEMEM_IDLE_STREAMS);
  assert_idle (history->idle, 2, 4, 12 * 1024 * KIB, GEMEM_IDLE_RETURNABLE);
  assert_idle (history->idle, 3, 4, 1024 * KIB, GEMEM_IDLE_PINNED);
  g_assert_cmpuint (history->gaps->len, ==, 4);
  assert_idle (history->gaps, 0, 0, 1024 * KIB, GEMEM_IDLE_PINNED);
  for (guint i = 2; i < 4; i++)
    g_assert_cmpuint (g_array_index (history->gaps, GememHistoryIdle, i).address, >,
                      g_array_index (history->gaps, GememHistoryIdle, i - 1).address);
}

static void
test_nothing (void)
{
  const GememTraceEvent events[] = { TEST_EVENT (STEP, 1) };
  TestTrace trace = TEST_TRACE (events);
  const GememHistoryWish wish = { .most = 5 };
  g_autoptr (GememHistory) history = history_of (&trace, &wish);

  g_assert_cmpuint (history->blocks->len, ==, 0);
  g_assert_cmpuint (history->end, ==, 1);
}

/* Reads one number of a column. */
static guint64
read_number (const guint8 **at, guint64 before)
{
  guint64 value = 0;
  guint shift = 0;

  for (;; shift += 7)
    {
      value |= (guint64) (**at & 127) << shift;
      if ((*(*at)++ & 128) == 0)
        return before + (value >> 1 ^ (0 - (value & 1)));
    }
}

static void
test_columns (void)
{
  const guint64 numbers[] = { 0, 1, 64, 63, 127, 128, G_MAXUINT64, 0, G_GUINT64_CONSTANT (1) << 63,
                              5 };
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GString) text = g_string_new ("{");
  const guint8 *at;
  guint64 before = 0;

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      gemem_column_add (bytes, before, numbers[i]);
      before = numbers[i];
    }
  at = bytes->data;
  before = 0;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    g_assert_cmpuint (before = read_number (&at, before), ==, numbers[i]);
  g_assert_true (at == bytes->data + bytes->len);
  g_byte_array_set_size (bytes, 0);
  gemem_column_add (bytes, 0, 3);
  gemem_column_append (text, "n", bytes);
  g_assert_cmpstr (text->str, ==, "{\"n\": \"Bg==\"");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/history/rectangles", test_rectangles);
  g_test_add_func ("/history/bounded", test_bounded);
  g_test_add_func ("/history/idle", test_idle);
  g_test_add_func ("/history/nothing", test_nothing);
  g_test_add_func ("/history/columns", test_columns);
  return g_test_run ();
}
