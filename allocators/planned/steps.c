/* steps.c - see steps.h. */
#include "config.h"

#include "allocators/planned/steps.h"
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

static guint64
mix (guint64 hash, guint64 value)
{
  hash = (hash ^ value) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

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
  guint64 hash = mix (0, gemem_past_get (past, i)->live >> coarse);

  for (guint32 k = 0; k < AHEAD; k++)
    {
      hash = mix (hash, gemem_past_get (past, i + k)->size);
      hash = mix (hash, gemem_past_get (past, i + k)->stream);
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

/* The steps are those between the marks of @name. */
static gboolean
use_marks (const GememPast *past, guint32 name, guint32 least, GememSteps *steps)
{
  guint32 begin = GEMEM_NEVER;
  guint64 peak = 0;

  *steps = (GememSteps){ .kind = name == GEMEM_MARK_STEP ? GEMEM_STEPS_MARKED
                                                         : GEMEM_STEPS_PHASES };
  for (guint i = 0; i < past->marks->len; i++)
    {
      const GememPastMark *mark = &g_array_index (past->marks, GememPastMark, i);

      if (mark->name != name)
        continue;
      if (begin != GEMEM_NEVER && mark->request > begin)
        add_step (past, steps, begin, mark->request, &peak);
      begin = mark->request;
    }
  return steps->count >= least && steps->count > 0;
}

static void
use_alike (const GememPast *past, const Alike *alike, guint coarse, GememSteps *steps)
{
  const guint64 key = look (past, alike->first, coarse);
  guint32 begin = alike->first;
  guint64 peak = 0;

  *steps = (GememSteps){ .kind = GEMEM_STEPS_PERIOD };
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

/* Bytes live on average at the marks of @name. */
static guint64
live_at (const GememPast *past, guint32 name)
{
  guint64 sum = 0, n = 0;

  for (guint i = 0; i < past->marks->len; i++)
    {
      const GememPastMark *mark = &g_array_index (past->marks, GememPastMark, i);

      if (mark->name == name && mark->request < past->requests->len)
        {
          sum += gemem_past_get (past, mark->request)->live;
          n++;
        }
    }
  return n > 0 ? sum / n : G_MAXUINT64;
}

/* The phases that are steps: they cover half of the history, and have the least memory live. */
static gboolean
find_phases (const GememPast *past, guint32 least, GememSteps *steps)
{
  guint64 best = G_MAXUINT64;
  GHashTable *seen = g_hash_table_new (NULL, NULL);
  GememSteps one;

  for (guint i = 0; i < past->marks->len; i++)
    {
      const guint32 name = g_array_index (past->marks, GememPastMark, i).name;

      if (g_hash_table_add (seen, GUINT_TO_POINTER (name)) && live_at (past, name) < best
          && use_marks (past, name, least, &one)
          && one.last_end - one.first >= past->requests->len / 4)
        {
          *steps = one;
          best = live_at (past, name);
        }
    }
  g_hash_table_unref (seen);
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
  if (!find_periods (past, least, steps) && !use_marks (past, GEMEM_MARK_STEP, least, steps)
      && !find_phases (past, least, steps))
    return FALSE;
  steps->cut = find_cut (past, steps);
  return TRUE;
}
