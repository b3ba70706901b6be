/* test-planner-idealloc.c - the planner `idealloc` against a naive model written from its rules (offline-planning.md 2,
 * and what the head of boxing.c chose), which looks at all jobs for every decision: every offset is the same.
 * And what it promises: rows alone where sizes are equal, nothing worse than first fit by size, few lives where
 * effort is small.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "tests/util/plans.h"

#define MOST 40
#define JOBS 20000 /* of one boxing, boxes included */
#define LIVES 3
#define RATIO 2216.54

/* ---- the model: jobs by number, sets of jobs as arrays that end with -1 */

typedef struct
{
  double height, row;
  int first, last;
  int inside[MOST + 2];
} Job;

static Job jobs[JOBS];
static int n_jobs;
static GememRng *draws;

typedef int Set[MOST + 2];

static int
length (const int *set)
{
  int n = 0;

  while (set[n] >= 0)
    n++;
  return n;
}

static void
add (int *set, int number)
{
  const int n = length (set);

  g_assert_cmpint (n, <=, MOST);
  set[n] = number;
  set[n + 1] = -1;
}

static void
drop (int *set, int number)
{
  int k = 0;

  for (int i = 0; set[i] >= 0; i++)
    if (set[i] != number)
      set[k++] = set[i];
  set[k] = -1;
}

/* The job of @set that is first by begin ('b'), by end, latest first ('e'), by height ('h'). */
static int
first_by (const int *set, char key)
{
  int best = -1;

  for (int i = 0; set[i] >= 0; i++)
    {
      const Job *one = &jobs[set[i]], *other = best >= 0 ? &jobs[best] : NULL;
      const double difference = other == NULL ? -1
                                : key == 'e'  ? other->last - one->last
                                : key == 'h' && one->height != other->height
                                    ? one->height - other->height
                                    : one->first - other->first;

      if (difference < 0 || (difference == 0 && set[i] < best))
        best = set[i];
    }
  return best;
}

static int
take_first (int *set, char key)
{
  const int best = first_by (set, key);

  drop (set, best);
  return best;
}

/* Rows of the jobs of @set: of those that are free the one that was freed last. */
static int
colour (const int *set, int *rows)
{
  Set rest, done = { -1 };
  int n_rows = 0;

  memcpy (rest, set, sizeof rest);
  while (rest[0] >= 0)
    {
      const int one = take_first (rest, 'b');
      int last = -1;

      for (int i = 0; done[i] >= 0; i++)
        {
          gboolean usable = jobs[done[i]].last <= jobs[one].first;

          for (int k = i + 1; done[k] >= 0; k++)
            usable &= rows[done[k]] != rows[done[i]];
          if (usable && (last < 0 || jobs[done[i]].last >= jobs[last].last))
            last = done[i];
        }
      rows[one] = last >= 0 ? rows[last] : n_rows++;
      add (done, one);
    }
  return n_rows;
}

static void
box (const int *set, double height, double row, int *made)
{
  Job *one = &jobs[n_jobs];

  g_assert_cmpint (n_jobs, <, JOBS);
  *one = (Job){ .height = height, .row = row, .first = G_MAXINT };
  memcpy (one->inside, set, sizeof (Set));
  for (int i = 0; set[i] >= 0; i++)
    {
      one->first = MIN (one->first, jobs[set[i]].first);
      one->last = MAX (one->last, jobs[set[i]].last);
    }
  add (made, n_jobs++);
}

/* ---- lemma 1 and theorem 2 */

static void
lemma (int *group, int h, double height, double row, double epsilon, int *left, int *made)
{
  const double outer = h * ceil (1 / (epsilon * epsilon)), inner = h * ceil (1 / epsilon);

  for (int side = 0; side < 2; side++)
    for (int i = 0; i < outer && group[0] >= 0; i++)
      add (left, take_first (group, side == 0 ? 'b' : 'e'));
  for (int side = 0; group[0] >= 0; side = !side)
    {
      Set strip = { -1 };

      for (int i = 0; i < inner && group[0] >= 0; i++)
        add (strip, take_first (group, side == 0 ? 'b' : 'e'));
      while (strip[0] >= 0)
        {
          Set some = { -1 };

          for (int i = 0; i < h && strip[0] >= 0; i++)
            add (some, take_first (strip, side == 0 ? 'e' : 'b'));
          box (some, height, row, made);
        }
    }
}

static gboolean
is_alive (int number, int time)
{
  return jobs[number].first <= time && time < jobs[number].last;
}

/* The jobs of @set at the middle of @times[low, high) are group `middle`; on both sides the same. */
static void
split (const int *set, const gboolean *times, int low, int high, int *group)
{
  Set before = { -1 }, after = { -1 };
  int all[2 * MOST + 2], n = 0;

  for (int t = low; t < high; t++)
    if (times[t])
      all[n++] = t;
  if (n == 0 || set[0] < 0)
    return;
  const int middle = all[n / 2];
  for (int i = 0; set[i] >= 0; i++)
    if (is_alive (set[i], middle))
      group[set[i]] = middle;
    else
      add (jobs[set[i]].first > middle ? after : before, set[i]);
  split (before, times, low, middle, group);
  split (after, times, middle + 1, high, group);
}

static int columns;

static void
theorem (const int *set, const gboolean *given, int low, int high, int h, double height, double row,
         double epsilon, int *made)
{
  g_autofree int *group = g_new (int, JOBS), *rows = g_new (int, JOBS);
  gboolean times[2 * MOST + 2] = { FALSE }, next[2 * MOST + 2] = { FALSE }, any = FALSE;
  Set left = { -1 };

  if (set[0] < 0)
    return;
  for (int t = low; t < high; t++)
    times[t] = given[t];
  for (int i = 0; set[i] >= 0; i++)
    for (int t = low; t < high; t++)
      any |= times[t] && is_alive (set[i], t);
  if (!any)
    {
      const Job *one = &jobs[set[gemem_rng_below (draws, (guint64) length (set))]];

      times[gemem_rng_range (draws, (guint64) one->first, (guint64) one->last - 1)] = TRUE;
    }
  for (int i = 0; set[i] >= 0; i++)
    group[set[i]] = -1;
  split (set, times, low, high, group);
  for (int t = low; t < high; t++)
    {
      Set own = { -1 };

      for (int i = 0; set[i] >= 0; i++)
        if (group[set[i]] == t)
          add (own, set[i]);
      lemma (own, h, height, row, epsilon, left, made);
    }
  const int n_rows = colour (left, rows);
  for (int i = 0; left[i] >= 0; i++)
    {
      int follower = -1;

      for (int k = 0; left[k] >= 0; k++)
        if (rows[left[k]] == rows[left[i]] && jobs[left[k]].first >= jobs[left[i]].last
            && (follower < 0 || jobs[left[k]].first < jobs[follower].first))
          follower = left[k];
      if (follower >= 0 && jobs[follower].first > jobs[left[i]].last)
        next[jobs[left[i]].last] = next[jobs[follower].first] = TRUE;
    }
  for (int k = 0; k < n_rows; k += h)
    {
      Set rest = { -1 }, some = { -1 };
      int end = 0;

      for (int i = 0; left[i] >= 0; i++)
        if (rows[left[i]] / h == k / h)
          add (rest, left[i]);
      while (rest[0] >= 0)
        {
          const int one = take_first (rest, 'b');

          if (some[0] >= 0 && jobs[one].first >= end)
            {
              box (some, height, row, made);
              some[0] = -1;
            }
          add (some, one);
          end = MAX (end, jobs[one].last);
        }
      if (some[0] >= 0)
        box (some, height, row, made);
    }
  for (int from = low; from <= high;)
    {
      int to = from;
      Set between = { -1 };

      while (to < high && !times[to])
        to++;
      for (int i = 0; set[i] >= 0; i++)
        if (group[set[i]] < 0 && jobs[set[i]].first >= from && jobs[set[i]].last <= to)
          add (between, set[i]);
      theorem (between, next, from, to, h, height, row, epsilon, made);
      from = to + 1;
    }
}

/* ---- corollary 15 and theorem 16 */

static void
corollary (int *set, double height, double epsilon, int *made)
{
  static const gboolean none[2 * MOST + 2];

  while (set[0] >= 0)
    {
      const double most = jobs[first_by (set, 'h')].height * (1 + epsilon);
      double row = 0;
      Set class = { -1 };

      while (set[0] >= 0 && jobs[first_by (set, 'h')].height <= most)
        {
          row = jobs[first_by (set, 'h')].height;
          add (class, take_first (set, 'h'));
        }
      theorem (class, none, 0, columns, (int) (height / row), height, row, epsilon, made);
    }
}

static double
ratio_of (const int *set, double *most)
{
  double least = jobs[set[0]].height;

  *most = least;
  for (int i = 0; set[i] >= 0; i++)
    {
      least = MIN (least, jobs[set[i]].height);
      *most = MAX (*most, jobs[set[i]].height);
    }
  return *most / least;
}

/* log2 to 19 binary digits, rounded down, as the planner has it. */
static double
logarithm (double x)
{
  return floor (ldexp (log2 (x), 19)) / ldexp (1, 19);
}

/* Until nothing is small, mu is 1 or the ratio no longer falls. */
static void
rogue (int *set, double epsilon, double *ratio, double *last_mu)
{
  double most;

  while ((*ratio = ratio_of (set, &most)) > 1)
    {
      const double log = logarithm (*ratio), mu = epsilon / (log * log);
      Set small = { -1 }, large = { -1 };

      if (log <= 0 || mu >= 1)
        return;
      *last_mu = mu;
      const double height = ceil (mu * mu * mu * mu * mu * most / (log * log));
      for (int i = 0; set[i] >= 0; i++)
        add (jobs[set[i]].height <= mu * height ? small : large, set[i]);
      const gboolean none = small[0] < 0;
      corollary (small, height, mu, large);
      if (none || ratio_of (large, &most) >= *ratio)
        return;
      memcpy (set, large, sizeof (Set));
    }
}

static void
begin (const GememLifetimes *lifetimes, const guint64 *steps, int *set)
{
  double least = G_MAXDOUBLE, most = 0;

  n_jobs = (int) lifetimes->items->len;
  set[0] = -1;
  for (int i = 0; i < n_jobs; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      jobs[i] = (Job){ .height = (double) life->size, .inside = { -1 } };
      while (steps[jobs[i].first] < life->begin)
        jobs[i].first++;
      while (steps[jobs[i].last] < life->end)
        jobs[i].last++;
      least = MIN (least, jobs[i].height);
      most = MAX (most, jobs[i].height);
    }
  if (most / least < RATIO)
    jobs[n_jobs++] = (Job){ .height = ceil (RATIO * least), .last = columns, .inside = { -1 } };
  for (int i = 0; i < n_jobs; i++)
    add (set, i);
}

/* ---- lives */

static void
unbox (const int *set, double base, double row, double *loose)
{
  g_autofree int *rows = g_new (int, JOBS);

  colour (set, rows);
  for (int i = 0; set[i] >= 0; i++)
    {
      loose[set[i]] = base + rows[set[i]] * row;
      if (jobs[set[i]].inside[0] >= 0)
        unbox (jobs[set[i]].inside, loose[set[i]], jobs[set[i]].row, loose);
    }
}

static double
choose_epsilon (const GememLifetimes *lifetimes, const guint64 *steps)
{
  double best = 0, least = G_MAXDOUBLE, epsilon = 0, log = 0;

  for (int stale = 0; stale < 3 && epsilon <= log * log; epsilon *= 1.01)
    {
      Set set;
      double ratio, mu, most;

      begin (lifetimes, steps, set);
      if (epsilon == 0)
        {
          ratio = ratio_of (set, &most);
          log = logarithm (ratio);
          epsilon = best = pow (log * log / ratio, 1.0 / 6) * log * log;
        }
      rogue (set, epsilon, &ratio, &mu);
      stale++;
      if (ratio < least)
        {
          best = epsilon;
          least = ratio;
          stale = 0;
        }
    }
  return best;
}

static gboolean
meet (const GememLifetime *a, const GememLifetime *b)
{
  return a->begin < b->end && b->begin < a->end;
}

/* First fit in @order; returns the top. */
static guint64
fit (const GememLifetimes *lifetimes, const int *order, guint64 *offsets)
{
  guint64 top = 0;

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, order[i]);
      guint64 *offset = &offsets[order[i]];

      *offset = 0;
      for (guint k = 0; k < i; k++)
        {
          const GememLifetime *other = gemem_lifetimes_get (lifetimes, order[k]);

          if (!meet (life, other) || offsets[order[k]] >= *offset + life->size
              || offsets[order[k]] + other->size <= *offset)
            continue;
          *offset = offsets[order[k]] + other->size;
          k = G_MAXUINT; /* again from the first */
        }
      top = MAX (top, *offset + life->size);
    }
  return top;
}

/* Writes the order of the loose offsets, of equal ones that of the begins. */
static void
sort_loose (const double *loose, int n, int *order)
{
  for (int i = 0; i < n; i++)
    {
      int k = i;

      for (; k > 0
             && (loose[order[k - 1]] > loose[i]
                 || (loose[order[k - 1]] == loose[i] && jobs[order[k - 1]].first > jobs[i].first));
           k--)
        order[k] = order[k - 1];
      order[k] = i;
    }
}

static void
sort_sizes (const GememLifetimes *lifetimes, int *order)
{
  for (int i = 0; i < (int) lifetimes->items->len; i++)
    {
      const GememLifetime *own = gemem_lifetimes_get (lifetimes, i);
      int k = i;

      for (; k > 0; k--)
        {
          const GememLifetime *other = gemem_lifetimes_get (lifetimes, order[k - 1]);

          if (other->size > own->size
              || (other->size == own->size && other->end - other->begin >= own->end - own->begin))
            break;
          order[k] = order[k - 1];
        }
      order[k] = i;
    }
}

/* Items are by begin, so that the numbers of the model are the planner's. */
static void
model (const GememLifetimes *lifetimes, const guint64 *steps, guint64 seed, guint64 *offsets)
{
  const int n = (int) lifetimes->items->len;
  const guint64 load = gemem_lifetimes_lower_bound (lifetimes, 1);
  int order[MOST];
  g_autofree double *loose = g_new (double, JOBS);
  GememRng rng;

  gemem_rng_init (&rng, seed, "idealloc");
  draws = &rng;
  sort_sizes (lifetimes, order);
  guint64 top = fit (lifetimes, order, offsets);
  const double epsilon = choose_epsilon (lifetimes, steps);
  for (int life = 0; life < LIVES && top > load; life++)
    {
      Set set, made = { -1 };
      double ratio, most, mu = 0.5;
      guint64 tried[MOST];

      begin (lifetimes, steps, set);
      rogue (set, epsilon, &ratio, &mu);
      ratio_of (set, &most);
      corollary (set, most, mu, made);
      unbox (made, 0, most, loose);
      sort_loose (loose, n, order);
      const guint64 got = fit (lifetimes, order, tried);
      if (got < top)
        memcpy (offsets, tried, sizeof tried);
      top = MIN (top, got);
    }
}

/* ---- tests */

static int
compare_begins (gconstpointer a, gconstpointer b)
{
  const GememLifetime *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Sizes of few or many octaves; begins ascend. */
static GememLifetimes *
random_lifetimes (GememRng *rng)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new ("random");
  const guint64 n = gemem_rng_range (rng, 2, MOST - 1), end = gemem_rng_range (rng, 2, 60),
                most = gemem_rng_log_uniform (rng, 2, 100000);

  for (guint64 i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (rng, end), lasts = gemem_rng_range (rng, 1, end);

      gemem_lifetimes_add (lifetimes, begin, begin + lasts, gemem_rng_log_uniform (rng, 1, most));
    }
  g_array_sort (lifetimes->items, compare_begins);
  for (guint i = 0; i < lifetimes->items->len; i++)
    gemem_lifetimes_get (lifetimes, i)->id = i;
  return lifetimes;
}

/* The steps at which items begin or end; their number is set as well. */
static void
find_steps (const GememLifetimes *lifetimes, guint64 *steps)
{
  columns = -1;
  for (guint64 step = 0; step <= lifetimes->steps; step++)
    for (guint i = 0; i < lifetimes->items->len; i++)
      {
        const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

        if (life->begin != step && life->end != step)
          continue;
        steps[++columns] = step;
        break;
      }
}

/* What the planner does without boxing. */
static gboolean
is_easy (const GememLifetimes *lifetimes)
{
  gboolean apart = TRUE, equal = TRUE;

  for (guint i = 1; i < lifetimes->items->len; i++)
    {
      const GememLifetime *one = gemem_lifetimes_get (lifetimes, i),
                          *before = gemem_lifetimes_get (lifetimes, i - 1);

      apart &= one->begin >= before->end;
      equal &= one->size == before->size;
    }
  return apart || equal;
}

static void
test_model (void)
{
  guint boxed = 0, better = 0;
  GememRng rng;

  gemem_rng_init (&rng, 1, "test-idealloc");
  for (guint64 seed = 1; seed <= 400; seed++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      g_autofree char *text = g_strdup_printf (
          "idealloc:alignment=1,max_lives=%d,seed=%" G_GUINT64_FORMAT, LIVES, seed);
      guint64 steps[2 * MOST + 2], offsets[MOST];
      g_autoptr (GememPlan)
          plan = test_plan_lifetimes (text, lifetimes),
          first = test_plan_lifetimes ("first-fit-by-size:alignment=1", lifetimes);

      if (is_easy (lifetimes))
        continue;
      find_steps (lifetimes, steps);
      model (lifetimes, steps, seed, offsets);
      for (guint i = 0; i < lifetimes->items->len; i++)
        g_assert_cmpuint (plan->offsets[i], ==, offsets[i]);
      g_assert_cmpuint (plan->arena, <=, first->arena);
      boxed++;
      better += plan->arena < first->arena;
    }
  g_test_message ("%u boxed, %u smaller than first fit by size", boxed, better);
  g_assert_cmpuint (better, >, 20);
}

/* Rows alone: as many as are alive at once. */
static void
test_equal (void)
{
  GememRng rng;

  gemem_rng_init (&rng, 2, "test-idealloc");
  for (guint i = 0; i < 50; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);

      for (guint k = 0; k < lifetimes->items->len; k++)
        gemem_lifetimes_get (lifetimes, k)->size = 700;
      g_autoptr (GememPlan) plan = test_plan_lifetimes ("idealloc", lifetimes);

      g_assert_cmpuint (plan->arena, ==, gemem_lifetimes_lower_bound (lifetimes, 512));
    }
}

/* More lives are never worse, and one seed gives another plan than the next. */
static void
test_lives (void)
{
  guint differ = 0;
  GememRng rng;

  gemem_rng_init (&rng, 3, "test-idealloc");
  for (guint i = 0; i < 200; i++)
    {
      g_autoptr (GememLifetimes) lifetimes = random_lifetimes (&rng);
      g_autoptr (GememPlan)
          one = test_plan_lifetimes ("idealloc:alignment=1,effort=quick,max_lives=1", lifetimes),
          many = test_plan_lifetimes ("idealloc:alignment=1", lifetimes),
          other = test_plan_lifetimes ("idealloc:alignment=1,seed=2,max_lives=1", lifetimes);

      g_assert_cmpuint (many->arena, <=, one->arena);
      differ += one->arena != other->arena;
    }
  g_test_message ("%u differ", differ);
  g_assert_cmpuint (differ, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/idealloc/model", test_model);
  g_test_add_func ("/idealloc/equal", test_equal);
  g_test_add_func ("/idealloc/lives", test_lives);
  return g_test_run ();
}
