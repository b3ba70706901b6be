/* glue-join.c - which boxes are joined, and in which order; see glue-private.h.
 *
 * A join is a stack (boxes with one lifetime) or a chain (two of one size, one begins where the other ends).  At each
 * border of columns the boxes that end there are compared with those that begin: one with one; all that have the same
 * other border, as a stack; then two or three of these.  Where exactly one sum of sizes on each side is the same, both
 * stacks become a chain.  What is more likely to be chance comes later, and only once nothing else is left anywhere: at
 * first small sums of which there are many at a border do not count, as two of them are the same by chance.
 * Where no border has anything to chain, all boxes with one lifetime are stacked, and it begins anew.  Then sums that
 * are nearly the same count as the same, where neither has a nearer one beside it; the chain is as high as the higher.
 *
 * Of very many boxes so many fit by chance that turns do not keep those apart.  There each fit has a level: how rare its like is by
 * chance, as a power of two, from the sizes, how far they are apart, and how many sums there are at the border.  The rarest are joined
 * first, everywhere; a border is looked at again only when something has changed there, or its turn has come.  What already lives
 * as long as the joint would is a sign that it once was a neighbour.  Boxes with one lifetime are stacked as soon as that is rare, too.
 */
#include "config.h"

#include <string.h>

#include "planners/optimal/glue-private.h"

/* How many boxes on the one side and on the other; GEMEM_GLUE_ALL: those with the same other border. */
#define GEMEM_GLUE_ALL 0
typedef struct
{
  guint8 ending, beginning;
} Step;

static const Step steps[] = { { 1, 1 },
                              { GEMEM_GLUE_ALL, 1 },
                              { 1, GEMEM_GLUE_ALL },
                              { GEMEM_GLUE_ALL, GEMEM_GLUE_ALL },
                              { 1, 2 },
                              { 2, 1 },
                              { 2, 2 },
                              { 1, 3 },
                              { 3, 1 } };
static const guint8 n_steps[GEMEM_GLUE_LEVELS] = { 1, G_N_ELEMENTS (steps), G_N_ELEMENTS (steps),
                                                   G_N_ELEMENTS (steps), G_N_ELEMENTS (steps) };

/* What counts as the same, in turn: sums that are, but for those that are so by chance; all that are; sums that are 1/2^12, ...
 * 1/2^5 of the larger apart. */
#define RARE 0
#define SAME 1
static const guint8 shifts[] = { 0, 0, 12, 10, 8, 7, 6, 5 };
static const guint8 n_shifts[GEMEM_GLUE_LEVELS] = { 2, 2, G_N_ELEMENTS (shifts),
                                                    G_N_ELEMENTS (shifts), 0 };

/* ---- joining */

static guint32
join (GememGlue *glue, guint32 a, guint32 b, gboolean stacked)
{
  GememGlueNode *x = &glue->nodes[a], *y = &glue->nodes[b];

  glue->listed = GEMEM_GLUE_NONE;
  x->gone = y->gone = TRUE;
  glue->nodes[glue->n_nodes] = (GememGlueNode){ .size = stacked ? x->size + y->size
                                                                : MAX (x->size, y->size),
                                                .life = stacked ? x->life : x->life + y->life,
                                                .first = x->first,
                                                .last = y->last,
                                                .a = a,
                                                .b = b,
                                                .stacked = stacked };
  gemem_glue_list_node (glue, glue->n_nodes);
  return glue->n_nodes++;
}

static guint32
part_at (const GememGlueSide *side, const GememGlueSum *sum, guint32 count, guint32 k)
{
  return gemem_glue_listed_at (side, count == GEMEM_GLUE_ALL ? sum->at[0] + k : sum->at[k])->node;
}

static gboolean
is_whole (const GememGlue *glue, const GememGlueSide *side, const GememGlueSum *sum, guint32 count)
{
  for (guint32 k = 0; k < sum->n; k++)
    if (glue->nodes[part_at (side, sum, count, k)].gone)
      return FALSE;
  return TRUE;
}

static guint32
stack (GememGlue *glue, const GememGlueSide *side, const GememGlueSum *sum, guint32 count)
{
  guint32 node = part_at (side, sum, count, 0);

  for (guint32 k = 1; k < sum->n; k++)
    node = join (glue, node, part_at (side, sum, count, k), TRUE);
  return node;
}

static guint32
equal_sums (const GememGlueSide *side, guint32 from)
{
  guint32 to = from + 1;

  while (to < side->n && side->sums[to].sum == side->sums[from].sum)
    to++;
  return to - from;
}

/* Whether fewer than one of all pairs of sums would be the same if they were any numbers up to @sum. */
static gboolean
is_rare (const GememGlue *glue, gint64 sum)
{
  return (gint64) glue->ending.n * glue->beginning.n <= sum / glue->grain;
}

/* Whether the sums number @i and @k are up to 1/2^@shift of the larger apart, and neither has a nearer one behind it. */
static gboolean
is_nearest (const GememGlue *glue, guint32 i, guint32 k, guint8 shift)
{
  const GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  const GememGlueSum *x = &ending->sums[i], *y = &beginning->sums[k];
  const gint64 apart = ABS (x->sum - y->sum);

  return apart <= MAX (x->sum, y->sum) >> shift
         && (i + 1 == ending->n || ABS (x[1].sum - y->sum) >= apart)
         && (k + 1 == beginning->n || ABS (y[1].sum - x->sum) >= apart);
}

/* Whether the sums number @i and @k belong together; @turn: as in `shifts`. */
static gboolean
fit (const GememGlue *glue, guint32 i, guint32 k, guint8 turn)
{
  const GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  const GememGlueSum *x = &ending->sums[i], *y = &beginning->sums[k];

  if (turn <= SAME)
    return x->sum == y->sum && equal_sums (ending, i) == 1 && equal_sums (beginning, k) == 1
           && (turn == SAME || is_rare (glue, x->sum));
  return is_nearest (glue, i, k, shifts[turn]);
}

/* Whether there are enough nodes for a sum of @count. */
static gboolean
has_enough (guint8 nodes, guint8 count)
{
  return nodes >= (count == GEMEM_GLUE_ALL ? 2 : count);
}

static void
chain (GememGlue *glue, const GememGlueSum *x, const GememGlueSum *y, const Step *step)
{
  const guint32 before = stack (glue, &glue->ending, x, step->ending);

  join (glue, before, stack (glue, &glue->beginning, y, step->beginning), FALSE);
}

/* Chains what fits at @border; returns whether anything did. */
static gboolean
try_step (GememGlue *glue, guint32 border, const Step *step, guint8 turn)
{
  GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  gboolean any = FALSE;

  if (!has_enough (glue->n_ending[border], step->ending)
      || !has_enough (glue->n_beginning[border], step->beginning))
    return FALSE;
  gemem_glue_list_sides (glue, border);
  gemem_glue_find_sums (ending, step->ending);
  gemem_glue_find_sums (beginning, step->beginning);
  for (guint32 i = 0, k = 0; i < ending->n && k < beginning->n;)
    {
      const GememGlueSum *x = &ending->sums[i], *y = &beginning->sums[k];
      const gboolean joined = fit (glue, i, k, turn) && is_whole (glue, ending, x, step->ending)
                              && is_whole (glue, beginning, y, step->beginning);

      if (joined)
        chain (glue, x, y, step);
      any = any || joined;
      i += joined || x->sum <= y->sum ? equal_sums (ending, i) : 0;
      k += joined || x->sum >= y->sum ? equal_sums (beginning, k) : 0;
    }
  return any;
}

/* Tries at each border what was not tried there since something changed, up to step @last. */
static gboolean
try_steps (GememGlue *glue, guint8 last)
{
  gboolean any = FALSE;

  for (guint32 border = 0; border <= glue->columns; border++)
    while (glue->due[border] <= last)
      {
        const guint8 due = glue->due[border]++, n = n_steps[glue->level];

        any = try_step (glue, border, &steps[due % n], due / n) || any;
      }
  return any;
}

static gboolean
stack_lifetimes (GememGlue *glue)
{
  GememGlueSide *side = &glue->beginning;
  const guint32 before = glue->n_nodes;

  for (guint32 border = 0; border <= glue->columns; border++)
    {
      gemem_glue_list_beginning (glue, border);
      gemem_glue_find_sums (side, GEMEM_GLUE_ALL);
      for (guint32 i = 0; i < side->n; i++)
        stack (glue, side, &side->sums[i], GEMEM_GLUE_ALL);
    }
  return glue->n_nodes > before;
}

/* ---- by how rare it is */

/* Levels: of what is joined at once, of what need not be joined, of what is no chance. */
#define HIGHEST 12
#define LEAST (-12)
#define SURE 60

/* What is as rare, in levels: that something lives as long as a chain, and that boxes with one lifetime have it by chance, compared
 * with sizes.  Measured on packings: joints that were cuts, of all. */
#define SPANNED 3
#define STACKED 8

/* First what is the same, then what is up to 1/32 of the larger apart; down to which level. */
typedef struct
{
  guint8 shift;
  gint lowest;
} Rarity;

static const Rarity rarities[] = { { 63, -2 }, { 5, -6 } };

static gint
log2_of (guint64 value)
{
  return 63 - __builtin_clzll (value | 1);
}

/* Whether anything lives from @first to @last. */
static gboolean
is_spanned (const GememGlue *glue, guint32 first, guint32 last)
{
  const GememGlueLists *firsts = &glue->firsts, *lasts = &glue->lasts;
  const guint32 n = MIN (firsts->used[first], lasts->used[last]);

  for (guint32 i = 0; i < n; i++)
    {
      const GememGlueNode *x = &glue->nodes[firsts->nodes[firsts->starts[first] + i]],
                          *y = &glue->nodes[lasts->nodes[lasts->starts[last] + i]];

      if ((!x->gone && x->last == last) || (!y->gone && y->first == first))
        return TRUE;
    }
  return FALSE;
}

/* Whether the sums number @i and @k, of @step, could be chained: they are the same and there is no other, or up to 1/2^@shift apart
 * and there is no nearer one. */
static gboolean
can_chain (const GememGlue *glue, guint32 i, guint32 k, const Step *step, guint8 shift)
{
  const GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  const GememGlueSum *x = &ending->sums[i], *y = &beginning->sums[k];
  const gint64 apart = ABS (x->sum - y->sum);

  if (apart > 0 ? !is_nearest (glue, i, k, shift)
                : equal_sums (ending, i) > 1 || equal_sums (beginning, k) > 1)
    return FALSE;
  return is_whole (glue, ending, x, step->ending) && is_whole (glue, beginning, y, step->beginning);
}

/* The level of a chain of two sums. */
static gint
level_of_chain (const GememGlue *glue, const GememGlueSum *x, const GememGlueSum *y,
                const Step *step)
{
  const GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  const guint64 apart = (guint64) (ABS (x->sum - y->sum) / glue->grain);
  const GememGlueNode *a = &glue->nodes[part_at (ending, x, step->ending, 0)],
                      *b = &glue->nodes[part_at (beginning, y, step->beginning, 0)];
  gint level = log2_of ((guint64) (x->sum / glue->grain))
               - log2_of ((guint64) ending->n * beginning->n) - log2_of (2 * apart + 1);

  if (ending->nodes->len == 1 && beginning->nodes->len == 1 && apart == 0)
    return SURE;
  if (level < HIGHEST && is_spanned (glue, a->first, b->last))
    level += SPANNED;
  return MIN (level, SURE);
}

/* Chains what fits by @step at the border that is listed, from @level up; the highest level of what is left goes into @left. */
static gboolean
chain_rare (GememGlue *glue, const Step *step, gint level, guint8 shift, gint *left)
{
  GememGlueSide *ending = &glue->ending, *beginning = &glue->beginning;
  gboolean any = FALSE;

  gemem_glue_find_sums (ending, step->ending);
  gemem_glue_find_sums (beginning, step->beginning);
  for (guint32 i = 0, k = 0; i < ending->n && k < beginning->n;)
    {
      const GememGlueSum *x = &ending->sums[i], *y = &beginning->sums[k];
      const gint own = can_chain (glue, i, k, step, shift) ? level_of_chain (glue, x, y, step)
                                                           : LEAST;
      const gboolean joined = own >= level;

      if (joined)
        chain (glue, x, y, step);
      else
        *left = MAX (*left, own);
      any = any || joined;
      i += joined || x->sum <= y->sum ? equal_sums (ending, i) : 0;
      k += joined || x->sum >= y->sum ? equal_sums (beginning, k) : 0;
    }
  return any;
}

/* Stacks the first boxes with one lifetime of those that begin at @border, the same way.  Of those that end with them as
 * many count as there may be: what has just changed waits. */
static gboolean
stack_rare (GememGlue *glue, guint32 border, gint level, gint *left)
{
  GememGlueSide *beginning = &glue->beginning;

  gemem_glue_find_sums (beginning, GEMEM_GLUE_ALL);
  for (guint32 i = 0; i < beginning->n; i++)
    {
      const guint32 last = gemem_glue_listed_at (beginning, beginning->sums[i].at[0])->border;
      const guint64 n = (guint64) beginning->nodes->len * MAX (1, glue->n_ending[last]);
      const gint own = log2_of (last - border) - log2_of (n) + STACKED;

      if (own >= level)
        {
          stack (glue, beginning, &beginning->sums[i], GEMEM_GLUE_ALL);
          return TRUE;
        }
      *left = MAX (*left, own);
    }
  return FALSE;
}

/* Joins at @border what is of @level or more, by one step; TRUE: if anything was. */
static gboolean
try_rare (GememGlue *glue, guint32 border, gint level, guint8 shift)
{
  gint left = LEAST;

  gemem_glue_list_sides (glue, border);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++)
    if (has_enough (glue->n_ending[border], steps[s].ending)
        && has_enough (glue->n_beginning[border], steps[s].beginning)
        && chain_rare (glue, &steps[s], level, shift, &left))
      return TRUE;
  if (glue->n_beginning[border] > 1 && glue->n_ending[border] > 0
      && stack_rare (glue, border, level, &left))
    return TRUE;
  glue->due[border] = (guint8) (1 + left - LEAST);
  return FALSE;
}

/* Joins what is of @level or more, until nothing is. */
static void
join_level (GememGlue *glue, gint level, guint8 shift)
{
  const gsize n = (gsize) glue->columns + 1;
  gboolean any = TRUE;

  while (any)
    {
      const guint8 *found = glue->due;

      for (any = FALSE; (found = memchr (found, 0, n - (gsize) (found - glue->due))) != NULL;
           any = TRUE)
        while (try_rare (glue, (guint32) (found - glue->due), level, shift))
          ;
    }
}

static void
join_rare (GememGlue *glue)
{
  const gsize n = (gsize) glue->columns + 1;

  for (guint r = 0; r < G_N_ELEMENTS (rarities); r++)
    {
      memset (glue->due, 0, n);
      for (gint level = HIGHEST; level >= rarities[r].lowest; level--)
        {
          for (gsize border = 0; border < n; border++)
            if (glue->due[border] >= 1 + level - LEAST)
              glue->due[border] = 0;
          join_level (glue, level, rarities[r].shift);
        }
    }
}

/* Joins by the turns from number @n on. */
static void
join_all (GememGlue *glue, guint8 n)
{
  if (glue->level == GEMEM_GLUE_RARE)
    join_rare (glue);
  for (; n <= n_shifts[glue->level]; n++)
    do
      for (guint8 last = 0; last < n * n_steps[glue->level];)
        last = try_steps (glue, last) ? 0 : last + 1;
    while (n > SAME && stack_lifetimes (glue));
}

/* Whether node @i is to be placed. */
void
gemem_glue_join_all (GememGlue *glue)
{
  join_all (glue, 1);
}

void
gemem_glue_join_more (GememGlue *glue)
{
  join_all (glue, n_shifts[GEMEM_GLUE_SUMS] + 1);
}
