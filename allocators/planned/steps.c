/* steps.c - see steps.h. */
#include "config.h"

#include "allocators/planned/steps.h"
#include "base/error.h"
#include "base/idmap.h"

/* Requests that are the same at the beginning of every step; no step is shorter. */
#define AHEAD 8
#define FINE 12

/* All moments that look the same. */
typedef struct
{
  guint32 first, last, count;
  guint32 shortest, longest; /* distances between neighbours */
  guint64 live;
} Alike;

/* Live memory is compared in units of 2 to this power, a few thousand of which are the largest of
 * all: the little that a program keeps of each step, a loss or a count, makes no other moment. */
static guint
coarseness (const GememPast *past)
{
  guint64 most = 0;

  for (guint32 i = 0; i < past->requests->len; i++)
    most = MAX (most, gemem_past_get (past, i)->live);
  return most >> FINE != 0 ? g_bit_storage (most >> FINE) : 0;
}

/* What the moment before request @i looks like. */
static guint64
look (const GememPast *past, guint32 i, guint coarse)
{
  guint64 hash = gemem_past_mix (0, gemem_past_get (past, i)->live >> coarse);

  for (guint32 k = 0; k < AHEAD; k++)
    {
      hash = gemem_past_mix (hash, gemem_past_get (past, i + k)->size);
      hash = gemem_past_mix (hash, gemem_past_get (past, i + k)->stream);
    }
  return hash;
}

static void
meet (GememIdMap *table, const GememPast *past, guint32 i, guint coarse)
{
  gboolean known;
  Alike *alike = gemem_idmap_insert (table, look (past, i, coarse), &known);
  const guint32 distance = i - alike->last;

  if (!known)
    *alike = (Alike){ i, i, 1, G_MAXUINT32, 0, gemem_past_get (past, i)->live };
  else
    {
      alike->count++;
      alike->shortest = MIN (alike->shortest, distance);
      alike->longest = MAX (alike->longest, distance);
      alike->last = i;
    }
}

/* Moments that come now soon, now late, are of a loop within a step. */
static gboolean
is_even (const Alike *alike, guint32 least)
{
  return alike->count > least && alike->shortest >= AHEAD
         && alike->longest <= alike->shortest + alike->shortest / 2;
}

static guint32
covered (const Alike *alike)
{
  return alike->last - alike->first;
}

typedef struct
{
  guint32 least;   /* steps */
  guint32 floor;   /* requests covered */
  guint32 covered; /* the same, or a step fewer */
  guint32 longest; /* distance, at most */
} Wanted;

static gboolean
is_wanted (const Alike *alike, const Wanted *wanted)
{
  return is_even (alike, wanted->least) && covered (alike) >= wanted->floor
         && covered (alike) + alike->longest >= wanted->covered
         && alike->longest <= wanted->longest;
}

/* The wanted moments with the least memory; FALSE: none is wanted.  @most, @shortest: the most that
 * wanted ones cover, and the shortest of their longest distances. */
static gboolean
choose (const GememIdMap *table, const Wanted *wanted, Alike *best, guint32 *most,
        guint32 *shortest)
{
  gsize position = 0;
  gpointer record;
  guint64 key;
  gboolean found = FALSE;

  *most = 0;
  *shortest = G_MAXUINT32;
  while (gemem_idmap_next (table, &position, &key, &record))
    {
      const Alike *alike = record;

      if (!is_wanted (alike, wanted))
        continue;
      *most = MAX (*most, covered (alike));
      *shortest = MIN (*shortest, alike->longest);
      if (!found || alike->live < best->live
          || (alike->live == best->live && alike->first < best->first))
        *best = *alike;
      found = TRUE;
    }
  return found;
}

/* Of the even moments those that cover nearly most; of these those of the shortest steps, since two
 * steps are not one. */
static gboolean
find_alike (const GememIdMap *table, guint32 least, guint32 floor, Alike *best)
{
  Wanted wanted = { least, floor, 0, G_MAXUINT32 };
  guint32 most, shortest;

  if (!choose (table, &wanted, best, &most, &shortest))
    return FALSE;
  wanted.covered = most;
  choose (table, &wanted, best, &most, &shortest);
  wanted.longest = shortest + shortest / 2;
  return choose (table, &wanted, best, &most, &shortest);
}

static guint64
peak_of (const GememPast *past, guint32 begin, guint32 end)
{
  guint64 peak = 0;

  for (guint32 i = begin; i < end; i++)
    peak = MAX (peak, gemem_past_get (past, i)->live + gemem_past_get (past, i)->size);
  return peak;
}

/* The step from @begin to @end follows those in @steps. */
static void
add_step (const GememPast *past, GememSteps *steps, guint32 begin, guint32 end, guint64 *peak)
{
  const guint64 own = peak_of (past, begin, end);

  if (steps->count++ == 0)
    {
      steps->first = begin;
      steps->first_end = end;
    }
  if (own > *peak)
    {
      steps->begin = begin;
      steps->end = end;
      *peak = own;
    }
  steps->last_end = end;
}

static void
use_alike (const GememPast *past, const Alike *alike, guint coarse, GememSteps *steps)
{
  const guint64 key = look (past, alike->first, coarse);
  guint32 begin = alike->first;
  guint64 peak = 0;

  *steps = (GememSteps){ .kind = GEMEM_STEPS_PERIOD, .coarse = coarse };
  for (guint32 i = begin + 1; i <= alike->last; i++)
    if (look (past, i, coarse) == key)
      {
        add_step (past, steps, begin, i, &peak);
        begin = i;
      }
}

static gboolean
find_period (const GememPast *past, guint32 least, guint coarse, GememSteps *steps)
{
  const guint32 n = past->requests->len;
  GememIdMap *table = gemem_idmap_new (sizeof (Alike));
  Alike best;
  gboolean found;

  for (guint32 i = 0; i + AHEAD <= n; i++)
    meet (table, past, i, coarse);
  found = find_alike (table, least, n / 4, &best);
  gemem_idmap_free (table);
  if (found)
    use_alike (past, &best, coarse, steps);
  return found;
}

/* As exactly as steps are found, unless much shorter ones are where the little that is kept of each
 * does not count. */
static gboolean
find_periods (const GememPast *past, guint32 least, GememSteps *steps)
{
  const guint coarse = coarseness (past);
  GememSteps rough;
  const gboolean found = find_period (past, least, 0, steps);

  if (coarse == 0 || !find_period (past, least, coarse, &rough))
    return found;
  if (!found || rough.end - rough.begin <= (steps->end - steps->begin) / 2)
    *steps = rough;
  return TRUE;
}

/* ---- marks */

static int
compare_marks (gconstpointer a, gconstpointer b)
{
  const GememPastMark *x = a, *y = b;

  if (x->name != y->name)
    return x->name < y->name ? -1 : 1;
  return (x->request > y->request) - (x->request < y->request);
}

/* The steps are those between @marks, @n of one name in order; FALSE: fewer than @least. */
static gboolean
use_marks (const GememPast *past, const GememPastMark *marks, guint n, guint32 least,
           GememSteps *steps)
{
  guint64 peak = 0;

  *steps = (GememSteps){ .kind = marks->name == GEMEM_MARK_STEP ? GEMEM_STEPS_MARKED
                                                                : GEMEM_STEPS_PHASES };
  for (guint i = 1; i < n; i++)
    if (marks[i].request > marks[i - 1].request)
      add_step (past, steps, marks[i - 1].request, marks[i].request, &peak);
  return steps->count >= least && steps->count > 0;
}

/* Bytes live on average at @marks. */
static guint64
live_at (const GememPast *past, const GememPastMark *marks, guint n)
{
  guint64 sum = 0, counted = 0;

  for (guint i = 0; i < n; i++)
    if (marks[i].request < past->requests->len)
      {
        sum += gemem_past_get (past, marks[i].request)->live;
        counted++;
      }
  return counted > 0 ? sum / counted : G_MAXUINT64;
}

/* The marks of steps if there are any; else those phases which cover a quarter of the past, with the
 * least memory live. */
static gboolean
find_marks (const GememPast *past, guint32 least, GememSteps *steps)
{
  g_autoptr (GArray) sorted = g_array_copy (past->marks);
  const GememPastMark *marks = (const GememPastMark *) (gpointer) sorted->data;
  guint64 best = G_MAXUINT64;

  g_array_sort (sorted, compare_marks); /* GEMEM_MARK_STEP is the first name */
  for (guint i = 0, n; i < sorted->len; i += n)
    {
      GememSteps one;
      guint64 live;

      for (n = 1; i + n < sorted->len && marks[i + n].name == marks[i].name;)
        n++;
      if (!use_marks (past, marks + i, n, least, &one))
        continue;
      live = one.kind == GEMEM_STEPS_MARKED ? 0 : live_at (past, marks + i, n);
      if (live >= best
          || (one.kind == GEMEM_STEPS_PHASES && one.last_end - one.first < past->requests->len / 4))
        continue;
      *steps = one;
      if (one.kind == GEMEM_STEPS_MARKED)
        return TRUE;
      best = live;
    }
  return best != G_MAXUINT64;
}

/* Where in the step the least is live, and so the fewest blocks last into the next. */
static guint32
find_cut (const GememPast *past, const GememSteps *steps)
{
  const guint32 length = MIN (steps->end - steps->begin, steps->first_end - steps->first);
  guint32 cut = 0;

  for (guint32 k = 0; k < length; k++)
    if (gemem_past_get (past, steps->begin + k)->live
        < gemem_past_get (past, steps->begin + cut)->live)
      cut = k;
  return cut;
}

gboolean
gemem_steps_find (const GememPast *past, guint32 least, GememSteps *steps)
{
  if (!find_periods (past, least, steps) && !find_marks (past, least, steps))
    return FALSE;
  steps->cut = find_cut (past, steps);
  return TRUE;
}

GArray *
gemem_steps_begins (const GememPast *past, const GememSteps *steps)
{
  GArray *begins = g_array_new (FALSE, FALSE, sizeof (guint32));
  const guint64 key = look (past, steps->first, steps->coarse);

  for (guint32 i = steps->first; i <= steps->last_end && i + AHEAD <= past->requests->len; i++)
    if (look (past, i, steps->coarse) == key)
      g_array_append_val (begins, i);
  return begins;
}

GememPast *
gemem_steps_read (const char *path, guint64 small, GememSteps *steps, GError **error)
{
  g_autoptr (GememPast) past = gemem_past_read (path, small, error);

  if (past == NULL || gemem_steps_find (past, 1, steps))
    return g_steal_pointer (&past);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: no step of it repeats; record two steps at least, or mark them", path);
  return NULL;
}
