/* boxing.c - see boxing.h.
 *
 * Theorem 16: mu = epsilon / log2(r)^2, where r is the largest size by the least, and H = ceil (mu^5 hmax /
 * log2(r)^2); jobs of at most mu H go into boxes of height H, and these count as jobs; again, until there is
 * none so small, mu is 1 or more, or r falls no more.
 * Corollary 15: sizes in classes, each up to 1 + epsilon times its least; a class is boxed as jobs of one
 * row, of its largest size, floor (H / row) to a box.
 * Theorem 2: jobs that are alive at critical times are split by the middle one, then on both sides; those
 * of one critical time by lemma 1.  What it leaves over is coloured, and every h rows become boxes, cut where all
 * of them are free.  Where a row becomes free or is taken again is a critical time for the jobs between.
 * Lemma 1: h ceil (1 / epsilon^2) jobs that begin first, and as many that end last, are left over.  Of the
 * others h ceil (1 / epsilon) that begin first become boxes, h at a time in the order of their ends, then as many that end
 * last in the order of their begins, in turn.
 *
 * Not known, and chosen: the classes of sizes; that r must fall; the least epsilon, with which mu H is the
 * least size; the epsilon of corollary 15 is mu, and at last the last mu that was below 1, with H the largest height; a critical time is drawn, in a
 * job that is drawn, wherever no given one has a job; all orders' ties; of jobs in rows what was freed last.
 */
#include "config.h"

#include <string.h>

#include "planners/idealloc/boxing.h"

#define MORE 1.01     /* from one epsilon to the next */
#define PATIENCE 3    /* of them without a smaller ratio */
#define EXACT_MU 1e-9 /* of the least mu */

typedef struct
{
  double height, row; /* row: of the jobs inside */
  guint32 first, last;
  guint32 inside, n; /* in `contents`; n = 0: one of the boxes given */
} Job;

typedef struct
{
  GArray *jobs;     /* Job; the first are the boxes given */
  GArray *contents; /* guint32, jobs in boxes */
  GememRng *rng;
} Boxing;

static const Job *
job (const Boxing *boxing, guint32 number)
{
  return &g_array_index (boxing->jobs, Job, number);
}

/* ---- lists of jobs */

typedef GArray List; /* guint32 */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (List, g_array_unref)

static List *
list_new (void)
{
  return g_array_new (FALSE, FALSE, sizeof (guint32));
}

static guint32
at (const List *list, guint i)
{
  return g_array_index (list, guint32, i);
}

static void
add (List *list, guint32 number)
{
  g_array_append_val (list, number);
}

static int
compare_numbers (guint32 a, guint32 b)
{
  return a < b ? -1 : a > b;
}

static int
by_first (gconstpointer a, gconstpointer b, gpointer boxing)
{
  const guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;
  const int order = compare_numbers (job (boxing, x)->first, job (boxing, y)->first);

  return order != 0 ? order : compare_numbers (x, y);
}

static int
by_last (gconstpointer a, gconstpointer b, gpointer boxing)
{
  const guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;
  const int order = compare_numbers (job (boxing, y)->last, job (boxing, x)->last);

  return order != 0 ? order : compare_numbers (x, y);
}

static int
by_height (gconstpointer a, gconstpointer b, gpointer boxing)
{
  const double x = job (boxing, *(const guint32 *) a)->height,
               y = job (boxing, *(const guint32 *) b)->height;

  return x != y ? (x < y ? -1 : 1) : by_first (a, b, boxing);
}

static void
sort (const Boxing *boxing, List *list, GCompareDataFunc compare)
{
  g_array_sort_with_data (list, compare, (gpointer) boxing);
}

/* ---- rows */

guint32
gemem_idealloc_colour (const GememBoxes *boxes, guint32 *rows)
{
  const guint32 n = boxes->n;
  /* those that end at a column, as lists: `ends` has the first, `next` what follows */
  g_autofree guint32 *ends = g_new (guint32, (gsize) boxes->columns + 1),
                     *next = g_new (guint32, (gsize) n + 1), *free = g_new (guint32, (gsize) n + 1);
  guint32 n_rows = 0, n_free = 0, column = 0;

  memset (ends, 0xff, sizeof (guint32) * ((gsize) boxes->columns + 1));
  for (guint32 i = n; i-- > 0;)
    {
      next[i] = ends[boxes->boxes[i].last];
      ends[boxes->boxes[i].last] = i;
    }
  for (guint32 i = 0; i < n; i++)
    {
      for (; column <= boxes->boxes[i].first; column++)
        for (guint32 k = ends[column]; k != G_MAXUINT32; k = next[k])
          free[n_free++] = rows[k];
      rows[i] = n_free > 0 ? free[--n_free] : n_rows++;
    }
  return n_rows;
}

/* Colours @list, which it sorts by first column; rows by place.  Returns how many there are. */
static guint32
colour (const Boxing *boxing, List *list, guint32 **rows)
{
  g_autofree GememBox *boxes = g_new0 (GememBox, (gsize) list->len + 1);
  GememBoxes all = { boxes, list->len, 0 };
  guint32 begin = G_MAXUINT32;

  sort (boxing, list, by_first);
  for (guint i = 0; i < list->len; i++)
    begin = MIN (begin, job (boxing, at (list, i))->first);
  for (guint i = 0; i < list->len; i++)
    {
      boxes[i].first = job (boxing, at (list, i))->first - begin;
      boxes[i].last = job (boxing, at (list, i))->last - begin;
      all.columns = MAX (all.columns, boxes[i].last);
    }
  *rows = g_new (guint32, (gsize) list->len + 1);
  return gemem_idealloc_colour (&all, *rows);
}

/* ---- boxes */

typedef struct
{
  double height, row;
  guint32 h; /* rows in a box */
  double epsilon;
  List *made;
} Wanted;

static void
make_box (Boxing *boxing, const Wanted *wanted, const guint32 *numbers, guint32 n)
{
  const guint32 number = boxing->jobs->len;
  Job box = { wanted->height, wanted->row, G_MAXUINT32, 0, boxing->contents->len, n };

  for (guint32 i = 0; i < n; i++)
    {
      box.first = MIN (box.first, job (boxing, numbers[i])->first);
      box.last = MAX (box.last, job (boxing, numbers[i])->last);
    }
  g_array_append_vals (boxing->contents, numbers, n);
  g_array_append_val (boxing->jobs, box);
  add (wanted->made, number);
}

/* The jobs of @list, by first column and connected in time, are boxes of their own. */
static void
box_rows (Boxing *boxing, const Wanted *wanted, const List *list)
{
  guint start = 0;
  guint32 end = 0;

  for (guint i = 0; i < list->len; i++)
    {
      const Job *one = job (boxing, at (list, i));

      if (i > start && one->first >= end)
        {
          make_box (boxing, wanted, &g_array_index (list, guint32, start), i - start);
          start = i;
        }
      end = MAX (end, one->last);
    }
  if (list->len > start)
    make_box (boxing, wanted, &g_array_index (list, guint32, start), list->len - start);
}

/* ---- lemma 1 */

typedef struct
{
  Boxing *boxing;
  const Wanted *wanted;
  List *by[2];     /* by begin, by end */
  guint next[2];   /* in these */
  GHashTable *out; /* jobs that were taken */
} Strips;

/* The next @n jobs from side @side: by begin, by end; fewer where there are no more. */
static List *
take_strip (Strips *strips, guint side, guint64 n)
{
  List *strip = list_new ();
  const List *from = strips->by[side];

  for (; strip->len < n && strips->next[side] < from->len; strips->next[side]++)
    if (g_hash_table_add (strips->out, GUINT_TO_POINTER (at (from, strips->next[side]))))
      add (strip, at (from, strips->next[side]));
  return strip;
}

static void
box_strip (Strips *strips, guint side, List *strip)
{
  sort (strips->boxing, strip, side == 0 ? by_last : by_first);
  for (guint i = 0; i < strip->len; i += strips->wanted->h)
    make_box (strips->boxing, strips->wanted, &g_array_index (strip, guint32, i),
              MIN (strips->wanted->h, strip->len - i));
}

/* The least whole number of at least @number. */
static guint64
ceiling (double number)
{
  const guint64 whole = number < 1e15 ? (guint64) number : 1000000000000000;

  return whole + ((double) whole < number);
}

/* Boxes the jobs of @group, all alive at one time, but for some, which it adds to @left. */
static void
box_group (Boxing *boxing, const Wanted *wanted, const List *group, List *left)
{
  Strips strips = { boxing, wanted, { NULL }, { 0 }, g_hash_table_new (NULL, NULL) };
  const guint64 outer = wanted->h * ceiling (1 / (wanted->epsilon * wanted->epsilon)),
                inner = wanted->h * ceiling (1 / wanted->epsilon);
  guint taken = 0;

  for (guint side = 0; side < 2; side++)
    {
      strips.by[side] = g_array_copy ((List *) group);
      sort (boxing, strips.by[side], side == 0 ? by_first : by_last);
    }
  for (guint side = 0; side < 2; side++)
    {
      g_autoptr (List) strip = take_strip (&strips, side, outer);

      g_array_append_vals (left, strip->data, strip->len);
      taken += strip->len;
    }
  for (guint side = 0; taken < group->len; side = !side)
    {
      g_autoptr (List) strip = take_strip (&strips, side, inner);

      taken += strip->len;
      box_strip (&strips, side, strip);
    }
  for (guint side = 0; side < 2; side++)
    g_array_unref (strips.by[side]);
  g_hash_table_unref (strips.out);
}

/* ---- theorem 2 */

/* Jobs to be boxed, and the critical times, ascending. */
typedef struct
{
  List *jobs, *times;
} Task;

static int
compare_times (gconstpointer a, gconstpointer b)
{
  return compare_numbers (*(const guint32 *) a, *(const guint32 *) b);
}

/* Sorts @times, each once. */
static void
tidy (List *times)
{
  guint kept = 0;

  g_array_sort (times, compare_times);
  for (guint i = 0; i < times->len; i++)
    if (kept == 0 || at (times, i) != at (times, kept - 1))
      g_array_index (times, guint32, kept++) = at (times, i);
  g_array_set_size (times, kept);
}

/* The critical time that has @job by splits in the middle: TRUE; else how many lie before it. */
static gboolean
find_time (const List *times, const Job *one, guint *found)
{
  guint low = 0, high = times->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;
      const guint32 time = at (times, middle);

      *found = middle;
      if (one->first <= time && time < one->last)
        return TRUE;
      if (time < one->first)
        low = middle + 1;
      else
        high = middle;
    }
  *found = low;
  return FALSE;
}

/* One of the jobs has at least one of the times. */
static void
add_time (const Boxing *boxing, Task *task)
{
  guint found;

  for (guint i = 0; i < task->jobs->len; i++)
    if (find_time (task->times, job (boxing, at (task->jobs, i)), &found))
      return;
  const Job *any = job (boxing,
                        at (task->jobs, (guint) gemem_rng_below (boxing->rng, task->jobs->len)));
  const guint32 time = (guint32) gemem_rng_range (boxing->rng, any->first, any->last - 1);
  add (task->times, time);
  tidy (task->times);
}

/* Boxes what is left over, and adds the times at which rows become free, or are taken, to @times. */
static void
box_left (Boxing *boxing, const Wanted *wanted, List *left, List *times)
{
  g_autofree guint32 *rows = NULL;
  const guint32 n_rows = colour (boxing, left, &rows);
  g_autoptr (GPtrArray) boxes = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  g_autofree guint32 *ends = g_new0 (guint32, (gsize) n_rows + 1);

  for (guint32 k = 0; k < n_rows; k += wanted->h)
    g_ptr_array_add (boxes, list_new ());
  for (guint i = 0; i < left->len; i++)
    {
      const Job *one = job (boxing, at (left, i));
      guint32 *end = &ends[rows[i]];

      if (*end > 0 && *end < one->first)
        {
          add (times, *end);
          add (times, one->first);
        }
      *end = one->last;
      add (boxes->pdata[rows[i] / wanted->h], at (left, i));
    }
  for (guint k = 0; k < boxes->len; k++)
    box_rows (boxing, wanted, boxes->pdata[k]);
  tidy (times);
}

/* The times of @times between @low and @high, both excluded. */
static List *
times_between (const List *times, guint32 low, guint32 high)
{
  List *inside = list_new ();
  guint i = 0, end = times->len;

  while (i < end)
    {
      const guint middle = i + (end - i) / 2;

      if (at (times, middle) <= low)
        i = middle + 1;
      else
        end = middle;
    }
  for (; i < times->len && at (times, i) < high; i++)
    add (inside, at (times, i));
  return inside;
}

static GPtrArray *
lists_new (guint n)
{
  GPtrArray *lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (lists, list_new ());
  return lists;
}

static void
box_task (Boxing *boxing, const Wanted *wanted, Task *task, GArray *tasks)
{
  add_time (boxing, task);
  const guint n = task->times->len;
  g_autoptr (GPtrArray) groups = lists_new (n), between = lists_new (n + 1);
  g_autoptr (List) left = list_new (), times = list_new ();

  for (guint i = 0; i < task->jobs->len; i++)
    {
      guint found;
      const gboolean has = find_time (task->times, job (boxing, at (task->jobs, i)), &found);

      add (has ? groups->pdata[found] : between->pdata[found], at (task->jobs, i));
    }
  for (guint g = 0; g < n; g++)
    box_group (boxing, wanted, groups->pdata[g], left);
  box_left (boxing, wanted, left, times);
  for (guint k = n + 1; k-- > 0;)
    if (((List *) between->pdata[k])->len > 0)
      {
        const Task next = { g_array_ref (between->pdata[k]),
                            times_between (times, k > 0 ? at (task->times, k - 1) : 0,
                                           k < n ? at (task->times, k) : G_MAXUINT32) };

        g_array_append_val (tasks, next);
      }
}

/* Boxes the jobs of @jobs, which it takes over. */
static void
box_all (Boxing *boxing, const Wanted *wanted, List *jobs)
{
  g_autoptr (GArray) tasks = g_array_new (FALSE, FALSE, sizeof (Task));
  const Task first = { jobs, list_new () };

  g_array_append_val (tasks, first);
  while (tasks->len > 0)
    {
      Task task = g_array_index (tasks, Task, tasks->len - 1);

      g_array_set_size (tasks, tasks->len - 1);
      box_task (boxing, wanted, &task, tasks);
      g_array_unref (task.jobs);
      g_array_unref (task.times);
    }
}

/* ---- corollary 15 */

/* Boxes @jobs, none higher than @height; returns the boxes. */
static List *
box_classes (Boxing *boxing, List *jobs, double height, double epsilon)
{
  List *made = list_new ();

  sort (boxing, jobs, by_height);
  for (guint i = 0; i < jobs->len;)
    {
      const double most = job (boxing, at (jobs, i))->height * (1 + epsilon);
      List *class = list_new ();
      Wanted wanted = { height, 0, 0, epsilon, made };

      for (; i < jobs->len && job (boxing, at (jobs, i))->height <= most; i++)
        {
          add (class, at (jobs, i));
          wanted.row = job (boxing, at (jobs, i))->height;
        }
      wanted.h = (guint32) MIN (height / wanted.row, 1000000.0);
      box_all (boxing, &wanted, class);
    }
  return made;
}

/* ---- theorem 16 */

static void
find_heights (const Boxing *boxing, const List *jobs, double *least, double *most)
{
  *least = *most = job (boxing, at (jobs, 0))->height;
  for (guint i = 1; i < jobs->len; i++)
    {
      *least = MIN (*least, job (boxing, at (jobs, i))->height);
      *most = MAX (*most, job (boxing, at (jobs, i))->height);
    }
}

/* Of @x, at least 1; digits enough to choose by, and the same with every C library. */
static double
logarithm (double x)
{
  double log = 0;

  for (; x >= 2; x /= 2)
    log++;
  for (double digit = 0.5; digit > 1e-6; digit /= 2)
    {
      x *= x;
      if (x >= 2)
        {
          x /= 2;
          log += digit;
        }
    }
  return log;
}

/* What one epsilon makes of the jobs: those that are left, their ratio of sizes, and the last mu below 1. */
typedef struct
{
  List *jobs;
  double ratio, mu;
} Rogue;

/* TRUE where another step is worth while. */
static gboolean
step (Boxing *boxing, Rogue *rogue, double epsilon)
{
  double least, most;

  find_heights (boxing, rogue->jobs, &least, &most);
  const double log = logarithm (most / least), mu = epsilon / (log * log),
               height = (double) ceiling (mu * mu * mu * mu * mu * most / (log * log));
  rogue->ratio = most / least;
  if (log <= 0 || mu >= 1)
    return FALSE;
  rogue->mu = mu;
  List *small = list_new (), *large = list_new ();
  for (guint i = 0; i < rogue->jobs->len; i++)
    add (job (boxing, at (rogue->jobs, i))->height <= mu * height ? small : large,
         at (rogue->jobs, i));
  const guint n = small->len;
  g_autoptr (List) boxes = box_classes (boxing, small, height, mu);
  g_array_unref (small);
  g_array_append_vals (large, boxes->data, boxes->len);
  find_heights (boxing, large, &least, &most);
  if (n == 0 || most / least >= rogue->ratio)
    {
      g_array_unref (large);
      return FALSE;
    }
  g_array_unref (rogue->jobs);
  rogue->jobs = large;
  rogue->ratio = most / least;
  return TRUE;
}

static void
begin (Boxing *boxing, const GememBoxes *boxes, GememRng *rng, Rogue *rogue)
{
  double least = G_MAXDOUBLE, most = 0;

  *boxing = (Boxing){ g_array_new (FALSE, FALSE, sizeof (Job)), list_new (), rng };
  *rogue = (Rogue){ list_new (), 0, 0.5 };
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememBox *box = &boxes->boxes[i];
      const Job one = { (double) box->size, 0, box->first, box->last, 0, 0 };

      least = MIN (least, one.height);
      most = MAX (most, one.height);
      g_array_append_val (boxing->jobs, one);
      add (rogue->jobs, i);
    }
  if (most / least >= GEMEM_IDEALLOC_RATIO)
    return;
  const Job dummy = { (double) ceiling (GEMEM_IDEALLOC_RATIO * least), 0, 0, boxes->columns, 0, 0 };
  const guint32 number = boxing->jobs->len;
  g_array_append_val (boxing->jobs, dummy);
  add (rogue->jobs, number);
}

static void
end (Boxing *boxing, Rogue *rogue)
{
  g_array_unref (boxing->jobs);
  g_array_unref (boxing->contents);
  g_array_unref (rogue->jobs);
}

/* The least mu for which mu H is the least size: mu^6 = log2(r)^2 / r. */
static double
least_epsilon (double ratio)
{
  const double log = logarithm (ratio), wanted = log * log / ratio;
  double low = 0, high = 1;

  while (high - low > EXACT_MU)
    {
      const double mu = (low + high) / 2;

      if (mu * mu * mu * mu * mu * mu < wanted)
        low = mu;
      else
        high = mu;
    }
  return high * log * log;
}

double
gemem_idealloc_epsilon (const GememBoxes *boxes, GememRng *rng)
{
  double best = 0, ratio = G_MAXDOUBLE, epsilon = 0, largest = 0;

  for (guint stale = 0; stale < PATIENCE && epsilon <= largest; epsilon *= MORE)
    {
      Boxing boxing;
      Rogue rogue;
      double low, high;

      begin (&boxing, boxes, rng, &rogue);
      find_heights (&boxing, rogue.jobs, &low, &high);
      if (epsilon == 0)
        {
          const double log = logarithm (high / low);

          epsilon = best = least_epsilon (high / low);
          largest = log * log;
        }
      while (step (&boxing, &rogue, epsilon))
        ;
      stale = rogue.ratio < ratio ? 0 : stale + 1;
      best = rogue.ratio < ratio ? epsilon : best;
      ratio = MIN (ratio, rogue.ratio);
      end (&boxing, &rogue);
    }
  return best;
}

/* ---- loose offsets */

static void
unbox (const Boxing *boxing, List *jobs, double base, double row, guint32 n_given, double *loose)
{
  g_autofree guint32 *rows = NULL;

  colour (boxing, jobs, &rows);
  for (guint i = 0; i < jobs->len; i++)
    {
      const guint32 number = at (jobs, i);
      const Job *one = job (boxing, number);
      const double offset = base + rows[i] * row;
      g_autoptr (List) inside = list_new ();

      if (number < n_given)
        loose[number] = offset;
      if (one->n == 0)
        continue;
      g_array_append_vals (inside, &g_array_index (boxing->contents, guint32, one->inside), one->n);
      unbox (boxing, inside, offset, one->row, n_given, loose);
    }
}

void
gemem_idealloc_box (const GememBoxes *boxes, double epsilon, GememRng *rng, double *loose)
{
  Boxing boxing;
  Rogue rogue;
  double least, most;

  begin (&boxing, boxes, rng, &rogue);
  while (step (&boxing, &rogue, epsilon))
    ;
  find_heights (&boxing, rogue.jobs, &least, &most);
  g_autoptr (List) made = box_classes (&boxing, rogue.jobs, most, rogue.mu);
  unbox (&boxing, made, 0, most, boxes->n, loose);
  end (&boxing, &rogue);
}
