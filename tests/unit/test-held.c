/* test-held.c - a trace held in memory delivers what was read, whether packed or not, to several readers
 * at once. */
#include "config.h"

#include <string.h>

#include "tests/util/event-source.h"
#include "traces/held.h"
#include "traces/shuffled.h"

/* Events of every kind with fields of every width, the same for a seed. */
static GememTraceEvent *
events_new (gsize n)
{
  GememTraceEvent *events = g_new0 (GememTraceEvent, n + 1);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (gsize i = 0; i < n; i++)
    {
      GememTraceEvent *event = &events[i];

      event->kind = (guint8) g_rand_int_range (rand, 1, GEMEM_EVENT_KIND_COUNT);
      event->time = i * 1000 + g_rand_int (rand) % 900;
      event->device = (guint16) (g_rand_int (rand) % 3);
      event->id = (guint64) g_rand_int (rand) << 20;
      event->size = (guint64) g_rand_int (rand) << (i % 30);
      event->address = (guint64) g_rand_int (rand) * 512;
      event->stream = g_rand_int (rand) % 7;
      event->tag = g_rand_int (rand);
      event->stack = g_rand_int (rand);
    }
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

/* ---- shuffled.h */

#define BLOCKS 40

/* Requests, then frees of two devices and kinds, in runs. */
static GArray *
runs_new (void)
{
  GArray *events = g_array_new (FALSE, TRUE, sizeof (GememTraceEvent));

  for (guint64 step = 0; step < 3; step++)
    for (guint64 i = 0; i < 2 * BLOCKS; i++)
      {
        const guint64 id = step * BLOCKS + i % BLOCKS;
        const GememTraceEvent event = {
          .id = id,
          .time = events->len * 10,
          .size = i < BLOCKS ? 512 + id : 0,
          .device = (guint16) (id % BLOCKS >= BLOCKS / 2),
          .kind = i < BLOCKS             ? GEMEM_EVENT_ALLOC
                  : id % BLOCKS % 20 > 7 ? GEMEM_EVENT_FREE
                                         : GEMEM_EVENT_FREE_REQUESTED,
        };
        g_array_append_val (events, event);
      }
  return events;
}

/* All that @seed makes of @held. */
static GArray *
shuffled_new (GememHeld *held, guint64 seed)
{
  GememShuffled shuffled = { held, seed };
  GememTraceReader *reader = gemem_shuffled_open (&shuffled, NULL);
  GArray *events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  const GememTraceEvent *batch;
  gssize n;

  while ((n = gemem_trace_next (reader, &batch, NULL)) > 0)
    g_array_append_vals (events, batch, (guint) n);
  g_assert_cmpint (n, ==, 0);
  gemem_trace_close (reader);
  return events;
}

static gboolean
is_alike (const GArray *a, const GArray *b)
{
  return a->len == b->len && memcmp (a->data, b->data, a->len * sizeof (GememTraceEvent)) == 0;
}

static void
test_shuffled (void)
{
  g_autoptr (GArray) events = runs_new ();
  TestTrace trace = { .events = (const GememTraceEvent *) (void *) events->data, .n = events->len };
  g_autoptr (GememHeld) held = gemem_held_new (test_trace_open (&trace, NULL), NULL);
  g_autoptr (GArray) one = shuffled_new (held, 1), again = shuffled_new (held, 1),
                     two = shuffled_new (held, 2);

  g_assert_true (is_alike (one, again));
  g_assert_false (is_alike (one, two));
  g_assert_false (is_alike (one, events));
  g_assert_cmpuint (one->len, ==, events->len);
  for (guint i = 0; i < one->len; i++)
    {
      const GememTraceEvent was = g_array_index (events, GememTraceEvent, i),
                            is = g_array_index (one, GememTraceEvent, i);
      guint found = 0;

      /* what stands here is a request as before, or a free of the same run at the time of this place */
      g_assert_cmpuint (is.time, ==, was.time);
      g_assert_cmpuint (is.kind, ==, was.kind);
      g_assert_cmpuint (is.device, ==, was.device);
      g_assert_cmpuint (is.id / BLOCKS, ==, was.id / BLOCKS);
      if (is.kind == GEMEM_EVENT_ALLOC)
        g_assert_cmpuint (is.id, ==, was.id);
      for (guint j = 0; j < one->len; j++)
        found += g_array_index (one, GememTraceEvent, j).id == was.id
                 && g_array_index (one, GememTraceEvent, j).kind == was.kind;
      g_assert_cmpuint (found, ==, 1);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/held/lengths", test_lengths);
  g_test_add_func ("/held/shuffled", test_shuffled);
  return g_test_run ();
}
