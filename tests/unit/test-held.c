/* test-held.c - a trace held in memory delivers what was read, whether packed or not, to several readers
 * at once. */
#include "config.h"

#include <string.h>

#include "tests/util/event-source.h"
#include "traces/held.h"

/* Events of every kind with fields of every width, the same for a seed. */
static GememTraceEvent *
events_new (gsize n)
{
  GememTraceEvent *events = g_new0 (GememTraceEvent, n + 1);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (gsize i = 0; i < n; i++)
    events[i] = (GememTraceEvent){
      .kind = (guint8) g_rand_int_range (rand, 1, GEMEM_EVENT_KIND_COUNT),
      .time = i * 1000 + g_rand_int (rand) % 900,
      .device = (guint16) (g_rand_int (rand) % 3),
      .id = (guint64) g_rand_int (rand) << 20,
      .size = (guint64) g_rand_int (rand) << (i % 30),
      .address = (guint64) g_rand_int (rand) * 512,
      .stream = g_rand_int (rand) % 7,
      .tag = g_rand_int (rand),
      .stack = g_rand_int (rand),
    };
  return events;
}

static void
assert_next (GememTraceReader *reader, const GememTraceEvent *events, gsize n, gsize *done)
{
  g_autoptr (GError) error = NULL;
  const GememTraceEvent *batch;
  const gssize count = gemem_trace_next (reader, &batch, &error);

  g_assert_no_error (error);
  g_assert_cmpint (count, >, 0);
  g_assert_cmpuint (*done + (gsize) count, <=, n);
  g_assert_cmpmem (batch, (gsize) count * sizeof *batch, events + *done,
                   (gsize) count * sizeof *batch);
  *done += (gsize) count;
}

static void
assert_held (gsize n)
{
  g_autofree GememTraceEvent *events = events_new (n);
  TestTrace trace = { .events = events, .n = n };
  g_autoptr (GError) error = NULL;
  g_autoptr (GememHeld) held = gemem_held_new (test_trace_open (&trace, NULL), &error);
  GememTraceReader *one, *two;
  gsize done_one = 0, done_two = 0;

  g_assert_no_error (error);
  g_assert_cmpuint (gemem_held_events (held), ==, n);
  one = gemem_held_open (held, NULL);
  two = gemem_held_open (held, NULL);
  while (done_two < n) /* the second starts later, and both go on in turn */
    {
      if (done_one < n)
        assert_next (one, events, n, &done_one);
      if (done_one > n / 3 || done_one == n)
        assert_next (two, events, n, &done_two);
    }
  g_assert_cmpuint (done_one, ==, n);
  gemem_trace_close (one);
  gemem_trace_close (two);
}

static void
test_lengths (void)
{
  const gsize lengths[] = {
    0, 1, 65536, 65537, GEMEM_HELD_UNPACKED, GEMEM_HELD_UNPACKED + 1, GEMEM_HELD_UNPACKED + 200000
  };

  for (guint i = 0; i < G_N_ELEMENTS (lengths); i++)
    assert_held (lengths[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/held/lengths", test_lengths);
  return g_test_run ();
}
