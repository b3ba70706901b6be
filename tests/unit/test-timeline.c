/* test-timeline.c - the bounded timeline against the whole curve: no extreme is lost, and points
 * cover equal stretches. */
#include "config.h"

#include "base/rng.h"
#include "sim/engine/timeline.h"

typedef struct
{
  guint64 live, allocated, reserved;
} State;

static State *
random_walk (guint64 seed, guint n)
{
  State *states = g_new (State, n);
  guint64 live = 1000;
  GememRng rng;

  gemem_rng_init (&rng, seed, "timeline");
  for (guint i = 0; i < n; i++)
    {
      live += gemem_rng_below (&rng, 200);
      live = MAX (live, 100) - gemem_rng_below (&rng, 100);
      if (gemem_rng_below (&rng, 50) == 0)
        live += 100000; /* a spike of one event */
      else if (live > 100000)
        live -= 100000;
      const guint64 rounding = gemem_rng_below (&rng, 64);
      states[i] = (State){ live, live + rounding, live + 64 + gemem_rng_below (&rng, 1000) };
    }
  return states;
}

static GArray *
build (const State *states, guint n, guint max)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (GememTimelinePoint));
  GememTimeline timeline;

  gemem_timeline_init (&timeline, points, max);
  for (guint i = 0; i < n; i++)
    {
      const State *s = &states[i];
      GememTimelinePoint end = { i, 10 * i, s->live, s->allocated, s->reserved, 0, 0, 0, i };
      gemem_timeline_raise (&timeline, s->live, s->allocated, s->reserved);
      if (gemem_timeline_count (&timeline))
        gemem_timeline_close_point (&timeline, &end, FALSE);
      if (i + 1 == n)
        gemem_timeline_close_point (&timeline, &end, TRUE);
    }
  return points;
}

/* Each point has exactly the extremes and the end of its stretch. */
static void
check_points (const State *states, guint n, const GArray *points)
{
  guint from = 0;

  for (guint p = 0; p < points->len; p++)
    {
      const GememTimelinePoint *point = &g_array_index (points, GememTimelinePoint, p);
      guint64 live = 0, allocated = 0, reserved = 0;
      g_assert_cmpuint (point->seq, >=, from);
      for (guint i = from; i <= point->seq; i++)
        {
          live = MAX (live, states[i].live);
          allocated = MAX (allocated, states[i].allocated);
          reserved = MAX (reserved, states[i].reserved);
        }
      g_assert_cmpuint (point->live_max, ==, live);
      g_assert_cmpuint (point->allocated_max, ==, allocated);
      g_assert_cmpuint (point->reserved_max, ==, reserved);
      g_assert_cmpuint (point->live, ==, states[point->seq].live);
      g_assert_cmpuint (point->allocated, ==, states[point->seq].allocated);
      g_assert_cmpuint (point->reserved, ==, states[point->seq].reserved);
      g_assert_cmpuint (point->time, ==, 10 * point->seq);
      g_assert_cmpuint (point->largest_free, ==, point->seq);
      from = (guint) point->seq + 1;
    }
  g_assert_cmpuint (from, ==, n); /* the last stretch is complete */
}

static void
check_strides (const GArray *points)
{
  guint64 stride = g_array_index (points, GememTimelinePoint, 0).seq + 1;

  for (guint p = 1; p < points->len; p++)
    {
      guint64 length = g_array_index (points, GememTimelinePoint, p).seq
                       - g_array_index (points, GememTimelinePoint, p - 1).seq;
      if (p + 1 < points->len)
        g_assert_cmpuint (length, ==, stride);
      else
        g_assert_cmpuint (length, <=, stride);
    }
}

static void
test_extremes (void)
{
  static const guint maxima[] = { 1, 2, 3, 10, 64, 2000 };
  static const guint lengths[] = { 1, 2, 3, 7, 64, 65, 127, 128, 129, 1000, 10007 };

  for (guint l = 0; l < G_N_ELEMENTS (lengths); l++)
    {
      g_autofree State *states = random_walk (l + 1, lengths[l]);
      for (guint m = 0; m < G_N_ELEMENTS (maxima); m++)
        {
          g_autoptr (GArray) points = build (states, lengths[l], maxima[m]);
          g_assert_cmpuint (points->len, <=, maxima[m]);
          g_assert_cmpuint (points->len, >, 0);
          check_points (states, lengths[l], points);
          check_strides (points);
          if (lengths[l] >= maxima[m] && maxima[m] >= 4)
            g_assert_cmpuint (points->len, >=, maxima[m] / 2); /* as fine as the bound allows */
        }
    }
}

static void
test_all_points (void)
{
  g_autofree State *states = random_walk (9, 100);
  g_autoptr (GArray) points = build (states, 100, 100);
  g_assert_cmpuint (points->len, ==, 100);
  check_points (states, 100, points);
}

static void
test_none (void)
{
  g_autofree State *states = random_walk (9, 100);
  g_autoptr (GArray) points = build (states, 100, 0);
  g_assert_cmpuint (points->len, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/timeline/extremes", test_extremes);
  g_test_add_func ("/timeline/all-points", test_all_points);
  g_test_add_func ("/timeline/none", test_none);
  return g_test_run ();
}
