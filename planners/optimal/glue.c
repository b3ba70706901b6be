/* glue.c - joining boxes; see glue.h.
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
 *
 * Where the load is below the largest there are fillers, at the last level: as high as what it falls by, from where it falls to
 * where it rises again.  They stand for what is free, so that what lies around it fits; they are never placed.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/glue.h"

#define NONE G_MAXUINT32

typedef struct
{
  gint64 size;
  guint64 life;
  guint32 first, last;
  guint32 a : 31,
      stacked : 1;          /* joints: b lies above a, or begins where it ends; NO_JOINT: a box */
  guint32 b : 31, gone : 1; /* gone: part of another joint */
} Node;

/* Nodes by border: nodes[starts[b]] to below nodes[starts[b] + used[b]], some of them gone.  A join takes at least one from each
 * border that it adds one to, so there is place for all that ever come. */
typedef struct
{
  guint32 *starts, *used, *nodes;
} Lists;

#define NO_JOINT 0x7fffffffu
#define UNKNOWN G_MAXUINT8

/* How many boxes on the one side and on the other; ALL: those with the same other border. */
#define ALL 0
typedef struct
{
  guint8 ending, beginning;
} Step;

static const Step steps[] = { { 1, 1 }, { ALL, 1 }, { 1, ALL }, { ALL, ALL }, { 1, 2 },
                              { 2, 1 }, { 2, 2 },   { 1, 3 },   { 3, 1 } };
static const guint8 n_steps[GEMEM_GLUE_LEVELS] = { 1, G_N_ELEMENTS (steps), G_N_ELEMENTS (steps),
                                                   G_N_ELEMENTS (steps), G_N_ELEMENTS (steps) };

/* What counts as the same, in turn: sums that are, but for those that are so by chance; all that are; sums that are 1/2^12, ...
 * 1/2^5 of the larger apart. */
#define RARE 0
#define SAME 1
static const guint8 shifts[] = { 0, 0, 12, 10, 8, 7, 6, 5 };
static const guint8 n_shifts[GEMEM_GLUE_LEVELS] = { 2, 2, G_N_ELEMENTS (shifts),
                                                    G_N_ELEMENTS (shifts), 0 };

/* Larger groups have too many pairs and triples; what is beyond MAX_SUMS is not looked at. */
static const guint32 largest_group[] = { G_MAXUINT32, G_MAXUINT32, 32, 12 };
#define MAX_SUMS 4096
#define AHEAD 8 /* nodes that are fetched while others are listed */
#define RUN 8   /* sums, sorted by moving them */

typedef struct
{
  gint64 sum;
  guint32 n;
  guint32 at[3]; /* places in the list of its side; ALL: from at[0] on */
} Sum;

/* Sums of one count, ascending. */
typedef struct
{
  Sum *sums; /* MAX_SUMS */
  guint32 n;
  gboolean known; /* of the border that is listed */
} Sums;

#define COUNTS 4

typedef struct
{
  GArray *nodes; /* Listed, by other border and size */
  Sums all[COUNTS];
  Sum *spare;      /* MAX_SUMS */
  const Sum *sums; /* those of the step at hand */
  guint32 n;
} Side;

/* What is left of a joint once all is joined: part b lies @up above part a, which is where the joint is. */
typedef struct
{
  gint64 up;
  guint32 a, b;
} Joint;

struct _GememGlue
{
  guint32 n, n_filled, n_nodes, columns;
  gint64 grain;  /* divides all sizes */
  Node *nodes;   /* the boxes, fillers up to n_filled, then joints; a joint comes after its parts */
  Joint *joints; /* the nodes from n_filled on */
  Lists firsts, lasts; /* of the nodes that begin and end at each border */
  GememGlueLevel level;
  /* by border: the step that was not tried yet, those with one shift after another; or, by how rare it is, 1 + the highest level
   * of what fits, less LEAST; 0: not known since something changed */
  guint8 *due;
  guint8 *n_ending,
      *n_beginning; /* by border: no more nodes than that; UNKNOWN: or as many, or more */
  guint32 listed;   /* the border whose nodes are listed; NONE */
  Side ending, beginning;
  GememBoxes rest;
};

/* ---- nodes */

static guint32
border_of (const Node *node, gboolean ending)
{
  return ending ? node->last : node->first;
}

/* Adds node @i to the list of its border, from which what is gone goes if there is no place. */
static void
add_to_list (GememGlue *glue, guint32 i, gboolean ending)
{
  const Lists *lists = ending ? &glue->lasts : &glue->firsts;
  const guint32 border = border_of (&glue->nodes[i], ending);
  guint32 *nodes = lists->nodes + lists->starts[border], *used = &lists->used[border];

  if (lists->starts[border] + *used == lists->starts[border + 1])
    {
      const guint32 n = *used;

      *used = 0;
      for (guint32 k = 0; k < n; k++)
        if (!glue->nodes[nodes[k]].gone)
          nodes[(*used)++] = nodes[k];
    }
  nodes[(*used)++] = i;
  glue->due[border] = 0;
  (ending ? glue->n_ending : glue->n_beginning)[border] = UNKNOWN;
}

/* Makes the lists of the nodes that there are. */
static void
make_lists (GememGlue *glue, gboolean ending)
{
  Lists *lists = ending ? &glue->lasts : &glue->firsts;

  lists->starts = g_new0 (guint32, (gsize) glue->columns + 2);
  lists->used = g_new0 (guint32, (gsize) glue->columns + 1);
  lists->nodes = g_new (guint32, (gsize) glue->n_nodes + 1);
  for (guint32 i = 0; i < glue->n_nodes; i++)
    lists->starts[border_of (&glue->nodes[i], ending) + 1]++;
  for (guint32 border = 0; border <= glue->columns; border++)
    lists->starts[border + 1] += lists->starts[border];
  for (guint32 i = 0; i < glue->n_nodes; i++)
    add_to_list (glue, i, ending);
}

static void
free_lists (Lists *lists)
{
  g_clear_pointer (&lists->starts, g_free);
  g_clear_pointer (&lists->used, g_free);
  g_clear_pointer (&lists->nodes, g_free);
}

static guint32
join (GememGlue *glue, guint32 a, guint32 b, gboolean stacked)
{
  Node *x = &glue->nodes[a], *y = &glue->nodes[b];

  glue->listed = NONE;
  x->gone = y->gone = TRUE;
  glue->nodes[glue->n_nodes] = (Node){ .size = stacked ? x->size + y->size : MAX (x->size, y->size),
                                       .life = stacked ? x->life : x->life + y->life,
                                       .first = x->first,
                                       .last = y->last,
                                       .a = a,
                                       .b = b,
                                       .stacked = stacked };
  add_to_list (glue, glue->n_nodes, FALSE);
  add_to_list (glue, glue->n_nodes, TRUE);
  return glue->n_nodes++;
}

/* ---- sums */

typedef struct
{
  guint32 border;
  guint32 node;
  gint64 size;
} Listed;

static int
compare_listed (gconstpointer a, gconstpointer b)
{
  const Listed *x = a, *y = b;

  if (x->border != y->border)
    return x->border < y->border ? -1 : 1;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static const Listed *
listed_at (const Side *side, guint32 i)
{
  return &g_array_index (side->nodes, Listed, i);
}

/* Sorts @nodes, of which the first @sorted are: few come behind them. */
static void
sort_listed (GArray *nodes, guint sorted)
{
  Listed *all = (Listed *) (gpointer) nodes->data;
  const guint n = nodes->len - sorted;
  g_autofree Listed *few = g_memdup2 (all + sorted, n * sizeof (Listed));
  guint a = sorted, b = n;

  qsort (few, n, sizeof (Listed), compare_listed);
  for (guint i = nodes->len; b > 0; i--)
    all[i - 1] = a > 0 && compare_listed (&all[a - 1], &few[b - 1]) > 0 ? all[--a] : few[--b];
}

/* Lists the nodes that begin or end at @border, sorted; what is gone leaves the list for good, which is sorted, too. */
static void
list_side (GememGlue *glue, guint32 border, gboolean ending)
{
  Side *side = ending ? &glue->ending : &glue->beginning;
  GArray *nodes = side->nodes;
  const Lists *lists = ending ? &glue->lasts : &glue->firsts;
  guint32 *list = lists->nodes + lists->starts[border];
  const guint32 used = lists->used[border];
  guint sorted = 0; /* these are, what comes behind them is new */

  for (guint32 count = 0; count < COUNTS; count++)
    side->all[count].known = FALSE;
  g_array_set_size (nodes, 0);
  for (guint32 i = 0; i < used; i++)
    {
      __builtin_prefetch (&glue->nodes[list[MIN (i + AHEAD, used - 1)]]);
      const Node *node = &glue->nodes[list[i]];
      const Listed listed = { border_of (node, !ending), list[i], node->size };

      if (node->gone)
        continue;
      if (sorted == nodes->len
          && (sorted == 0 || compare_listed (listed_at (side, sorted - 1), &listed) < 0))
        sorted++;
      g_array_append_val (nodes, listed);
    }
  if (sorted < nodes->len)
    sort_listed (nodes, sorted);
  for (guint i = 0; i < nodes->len; i++)
    list[i] = listed_at (side, i)->node;
  lists->used[border] = nodes->len;
  (ending ? glue->n_ending : glue->n_beginning)[border] = (guint8) MIN (nodes->len, UNKNOWN);
}

/* Lists both sides of @border, unless they are. */
static void
list_sides (GememGlue *glue, guint32 border)
{
  if (glue->listed == border)
    return;
  list_side (glue, border, TRUE);
  list_side (glue, border, FALSE);
  glue->listed = border;
}

/* Adds the sums of @count nodes from @from to below @to, the @n already chosen in @sum among them. */
static void
add_choices (Side *side, Sum sum, guint32 from, guint32 to, guint32 count)
{
  Sums *sums = &side->all[count];

  if (sum.n == count)
    {
      if (sums->n < MAX_SUMS)
        sums->sums[sums->n++] = sum;
      return;
    }
  for (guint32 i = from; i < to && sums->n < MAX_SUMS; i++)
    {
      Sum more = sum;

      more.sum += listed_at (side, i)->size;
      more.at[more.n++] = i;
      add_choices (side, more, i + 1, to, count);
    }
}

static void
add_whole (Side *side, guint32 from, guint32 to)
{
  Sums *sums = &side->all[ALL];
  Sum sum = { 0, to - from, { from, from, from } };

  for (guint32 i = from; i < to; i++)
    sum.sum += listed_at (side, i)->size;
  if (sum.n > 1 && sums->n < MAX_SUMS)
    sums->sums[sums->n++] = sum;
}

static inline gboolean
is_less (const Sum *x, const Sum *y)
{
  return x->sum != y->sum ? x->sum < y->sum : memcmp (x->at, y->at, sizeof (x->at)) < 0;
}

/* Merges runs of @width in @from into runs of twice that in @to. */
static void
merge_runs (const Sum *from, Sum *to, guint32 n, guint32 width)
{
  for (guint32 start = 0; start < n; start += 2 * width)
    {
      const guint32 middle = MIN (start + width, n), end = MIN (start + 2 * width, n);
      guint32 a = start, b = middle;

      for (guint32 i = start; i < end; i++)
        to[i] = b == end || (a < middle && !is_less (&from[b], &from[a])) ? from[a++] : from[b++];
    }
}

/* qsort() would take a third of the time of all joins; many are sorted, and they are few. */
static void
sort_sums (Sum *sums, Sum *spare, guint32 n)
{
  Sum *from = sums, *to = spare;

  for (guint32 start = 0; start < n; start += RUN)
    for (guint32 i = start + 1; i < MIN (start + RUN, n); i++)
      {
        const Sum moved = sums[i];
        guint32 at = i;

        for (; at > start && is_less (&moved, &sums[at - 1]); at--)
          sums[at] = sums[at - 1];
        sums[at] = moved;
      }
  for (guint32 width = RUN; width < n; width *= 2)
    {
      Sum *merged = to;

      merge_runs (from, to, n, width);
      to = from;
      from = merged;
    }
  if (from != sums)
    memcpy (sums, from, n * sizeof (Sum));
}

static void
find_all (Side *side, guint32 count)
{
  Sums *sums = &side->all[count];

  sums->n = 0;
  sums->known = TRUE;
  for (guint32 from = 0, to; from < side->nodes->len; from = to)
    {
      for (to = from + 1;
           to < side->nodes->len && listed_at (side, to)->border == listed_at (side, from)->border;)
        to++;
      if (count == ALL)
        add_whole (side, from, to);
      else if (to - from <= largest_group[count])
        add_choices (side, (Sum){ 0, 0, { 0, 0, 0 } }, from, to, count);
    }
  sort_sums (sums->sums, side->spare, sums->n);
}

static void
find_sums (Side *side, guint32 count)
{
  if (!side->all[count].known)
    find_all (side, count);
  side->sums = side->all[count].sums;
  side->n = side->all[count].n;
}

/* ---- joining */

static guint32
part_at (const Side *side, const Sum *sum, guint32 count, guint32 k)
{
  return listed_at (side, count == ALL ? sum->at[0] + k : sum->at[k])->node;
}

static gboolean
is_whole (const GememGlue *glue, const Side *side, const Sum *sum, guint32 count)
{
  for (guint32 k = 0; k < sum->n; k++)
    if (glue->nodes[part_at (side, sum, count, k)].gone)
      return FALSE;
  return TRUE;
}

static guint32
stack (GememGlue *glue, const Side *side, const Sum *sum, guint32 count)
{
  guint32 node = part_at (side, sum, count, 0);

  for (guint32 k = 1; k < sum->n; k++)
    node = join (glue, node, part_at (side, sum, count, k), TRUE);
  return node;
}

static guint32
equal_sums (const Side *side, guint32 from)
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
  const Side *ending = &glue->ending, *beginning = &glue->beginning;
  const Sum *x = &ending->sums[i], *y = &beginning->sums[k];
  const gint64 apart = ABS (x->sum - y->sum);

  return apart <= MAX (x->sum, y->sum) >> shift
         && (i + 1 == ending->n || ABS (x[1].sum - y->sum) >= apart)
         && (k + 1 == beginning->n || ABS (y[1].sum - x->sum) >= apart);
}

/* Whether the sums number @i and @k belong together; @turn: as in `shifts`. */
static gboolean
fit (const GememGlue *glue, guint32 i, guint32 k, guint8 turn)
{
  const Side *ending = &glue->ending, *beginning = &glue->beginning;
  const Sum *x = &ending->sums[i], *y = &beginning->sums[k];

  if (turn <= SAME)
    return x->sum == y->sum && equal_sums (ending, i) == 1 && equal_sums (beginning, k) == 1
           && (turn == SAME || is_rare (glue, x->sum));
  return is_nearest (glue, i, k, shifts[turn]);
}

/* Whether there are enough nodes for a sum of @count. */
static gboolean
has_enough (guint8 nodes, guint8 count)
{
  return nodes >= (count == ALL ? 2 : count);
}

static void
chain (GememGlue *glue, const Sum *x, const Sum *y, const Step *step)
{
  const guint32 before = stack (glue, &glue->ending, x, step->ending);

  join (glue, before, stack (glue, &glue->beginning, y, step->beginning), FALSE);
}

/* Chains what fits at @border; returns whether anything did. */
static gboolean
try_step (GememGlue *glue, guint32 border, const Step *step, guint8 turn)
{
  Side *ending = &glue->ending, *beginning = &glue->beginning;
  gboolean any = FALSE;

  if (!has_enough (glue->n_ending[border], step->ending)
      || !has_enough (glue->n_beginning[border], step->beginning))
    return FALSE;
  list_sides (glue, border);
  find_sums (ending, step->ending);
  find_sums (beginning, step->beginning);
  for (guint32 i = 0, k = 0; i < ending->n && k < beginning->n;)
    {
      const Sum *x = &ending->sums[i], *y = &beginning->sums[k];
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
  Side *side = &glue->beginning;
  const guint32 before = glue->n_nodes;

  for (guint32 border = 0; border <= glue->columns; border++)
    {
      list_side (glue, border, FALSE);
      glue->listed = NONE;
      find_sums (side, ALL);
      for (guint32 i = 0; i < side->n; i++)
        stack (glue, side, &side->sums[i], ALL);
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
  const Lists *firsts = &glue->firsts, *lasts = &glue->lasts;
  const guint32 n = MIN (firsts->used[first], lasts->used[last]);

  for (guint32 i = 0; i < n; i++)
    {
      const Node *x = &glue->nodes[firsts->nodes[firsts->starts[first] + i]],
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
  const Side *ending = &glue->ending, *beginning = &glue->beginning;
  const Sum *x = &ending->sums[i], *y = &beginning->sums[k];
  const gint64 apart = ABS (x->sum - y->sum);

  if (apart > 0 ? !is_nearest (glue, i, k, shift)
                : equal_sums (ending, i) > 1 || equal_sums (beginning, k) > 1)
    return FALSE;
  return is_whole (glue, ending, x, step->ending) && is_whole (glue, beginning, y, step->beginning);
}

/* The level of a chain of two sums. */
static gint
level_of_chain (const GememGlue *glue, const Sum *x, const Sum *y, const Step *step)
{
  const Side *ending = &glue->ending, *beginning = &glue->beginning;
  const guint64 apart = (guint64) (ABS (x->sum - y->sum) / glue->grain);
  const Node *a = &glue->nodes[part_at (ending, x, step->ending, 0)],
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
  Side *ending = &glue->ending, *beginning = &glue->beginning;
  gboolean any = FALSE;

  find_sums (ending, step->ending);
  find_sums (beginning, step->beginning);
  for (guint32 i = 0, k = 0; i < ending->n && k < beginning->n;)
    {
      const Sum *x = &ending->sums[i], *y = &beginning->sums[k];
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
  Side *beginning = &glue->beginning;

  find_sums (beginning, ALL);
  for (guint32 i = 0; i < beginning->n; i++)
    {
      const guint32 last = listed_at (beginning, beginning->sums[i].at[0])->border;
      const guint64 n = (guint64) beginning->nodes->len * MAX (1, glue->n_ending[last]);
      const gint own = log2_of (last - border) - log2_of (n) + STACKED;

      if (own >= level)
        {
          stack (glue, beginning, &beginning->sums[i], ALL);
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

  list_sides (glue, border);
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
static gboolean
remains (const GememGlue *glue, guint32 i)
{
  return !glue->nodes[i].gone && (i < glue->n || i >= glue->n_filled);
}

static void
collect_rest (GememGlue *glue)
{
  for (guint32 i = 0; i < glue->n_nodes; i++)
    glue->rest.n += remains (glue, i);
  glue->rest.boxes = g_new (GememBox, (gsize) glue->rest.n + 1);
  glue->rest.columns = glue->columns;
  glue->rest.n = 0;
  for (guint32 i = 0; i < glue->n_nodes; i++)
    if (remains (glue, i))
      {
        const Node *node = &glue->nodes[i];

        glue->rest.boxes[glue->rest.n++] = (GememBox){ .size = node->size,
                                                       .unit = 1,
                                                       .life = node->life,
                                                       .id = i,
                                                       .item = i,
                                                       .first = node->first,
                                                       .last = node->last };
      }
}

/* ---- fillers */

typedef struct
{
  gint64 size;
  guint32 border;
  gboolean rises;
} Change;

static int
compare_changes (gconstpointer a, gconstpointer b)
{
  const Change *x = a, *y = b;

  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->border < y->border ? -1 : x->border > y->border;
}

/* How the load changes at each border, from and to the largest: the first box begins and the last ends there. */
static gint64 *
find_changes (const GememGlue *glue)
{
  gint64 *changes = g_new0 (gint64, (gsize) glue->columns + 1), load = 0, most = 0;
  guint32 first = glue->columns, last = 0;

  for (guint32 i = 0; i < glue->n; i++)
    {
      const Node *node = &glue->nodes[i];

      changes[node->first] += node->size;
      changes[node->last] -= node->size;
      first = MIN (first, node->first);
      last = MAX (last, node->last);
    }
  for (guint32 border = first; border < last; border++)
    {
      load += changes[border];
      most = MAX (most, load);
    }
  changes[first] -= most;
  changes[last] += most;
  return changes;
}

/* Fills @size between two borders, whose changes are as much smaller. */
static void
fill (GememGlue *glue, gint64 *changes, guint32 first, guint32 last, gint64 size)
{
  glue->nodes[glue->n_nodes] = (Node){
    .size = size, .life = last - first, .first = first, .last = last, .a = NO_JOINT, .b = NO_JOINT
  };
  glue->n_nodes++;
  changes[first] += size;
  changes[last] -= size;
}

/* Where it falls and next rises by the same. */
static void
fill_same (GememGlue *glue, gint64 *changes)
{
  g_autofree Change *sorted = g_new (Change, (gsize) glue->columns + 1);
  guint32 n = 0;

  for (guint32 border = 0; border <= glue->columns; border++)
    if (changes[border] != 0)
      sorted[n++] = (Change){ ABS (changes[border]), border, changes[border] > 0 };
  qsort (sorted, n, sizeof (Change), compare_changes);
  for (guint32 i = 0; i + 1 < n; i++)
    if (sorted[i].size == sorted[i + 1].size && !sorted[i].rises && sorted[i + 1].rises)
      fill (glue, changes, sorted[i].border, sorted[i + 1].border, sorted[i].size);
}

/* What is left: where it rises, from where it fell last. */
static void
fill_last (GememGlue *glue, gint64 *changes)
{
  g_autofree guint32 *fallen = g_new (guint32, (gsize) glue->columns + 1);
  guint32 n = 0;

  for (guint32 border = 0; border <= glue->columns; border++)
    {
      while (changes[border] > 0 && n > 0)
        {
          fill (glue, changes, fallen[n - 1], border,
                MIN (changes[border], -changes[fallen[n - 1]]));
          n -= changes[fallen[n - 1]] == 0;
        }
      if (changes[border] < 0)
        fallen[n++] = border;
    }
}

static void
add_fillers (GememGlue *glue)
{
  g_autofree gint64 *changes = find_changes (glue);
  gsize most = 0; /* each takes a change away */

  for (guint32 border = 0; border <= glue->columns; border++)
    most += changes[border] != 0;
  if (most == 0)
    return;
  glue->nodes = g_renew (Node, glue->nodes, 2 * (glue->n + most) + 1);
  fill_same (glue, changes);
  fill_last (glue, changes);
}

static void
begin_side (Side *side)
{
  side->nodes = g_array_new (FALSE, FALSE, sizeof (Listed));
  side->spare = g_new (Sum, MAX_SUMS);
  for (guint32 count = 0; count < COUNTS; count++)
    side->all[count].sums = g_new (Sum, MAX_SUMS);
}

static void
end_side (Side *side)
{
  g_array_unref (side->nodes);
  g_free (side->spare);
  for (guint32 count = 0; count < COUNTS; count++)
    g_free (side->all[count].sums);
}

/* Keeps of the nodes what take_apart() needs. */
static void
make_joints (GememGlue *glue)
{
  const guint32 n = glue->n_nodes - glue->n_filled;

  glue->joints = g_new (Joint, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const Node *node = &glue->nodes[glue->n_filled + i];

      glue->joints[i] = (Joint){ node->stacked ? glue->nodes[node->a].size : 0, node->a, node->b };
    }
}

void
gemem_glue_finish (GememGlue *glue)
{
  if (glue->nodes == NULL)
    return;
  make_joints (glue);
  free_lists (&glue->firsts);
  free_lists (&glue->lasts);
  g_clear_pointer (&glue->due, g_free);
  g_clear_pointer (&glue->n_ending, g_free);
  g_clear_pointer (&glue->n_beginning, g_free);
  end_side (&glue->ending);
  end_side (&glue->beginning);
  g_clear_pointer (&glue->nodes, g_free);
}

GememGlue *
gemem_glue_new (const GememBoxes *boxes, const GememGlueOrigins *origins, GememGlueLevel level)
{
  GememGlue *glue = g_new0 (GememGlue, 1);
  const gsize borders = (gsize) boxes->columns + 1;

  glue->n = boxes->n;
  glue->columns = boxes->columns;
  glue->nodes = g_new (Node, 2 * (gsize) boxes->n + 1);
  glue->due = g_new0 (guint8, borders);
  glue->n_ending = g_new0 (guint8, borders);
  glue->n_beginning = g_new0 (guint8, borders);
  glue->listed = NONE;
  begin_side (&glue->ending);
  begin_side (&glue->beginning);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const GememBox *box = &boxes->boxes[origins != NULL ? origins->places[i] : i];

      glue->nodes[i] = (Node){ .size = box->size,
                               .life = box->life,
                               .first = origins != NULL ? origins->firsts[i] : box->first,
                               .last = origins != NULL ? origins->lasts[i] : box->last,
                               .a = NO_JOINT,
                               .b = NO_JOINT };
    }
  glue->n_nodes = boxes->n;
  glue->grain = gemem_boxes_grain (boxes);
  glue->level = level;
  if (level == GEMEM_GLUE_FILLED && boxes->n > 0)
    add_fillers (glue);
  glue->n_filled = glue->n_nodes;
  make_lists (glue, FALSE);
  make_lists (glue, TRUE);
  join_all (glue, 1);
  collect_rest (glue);
  if (level != GEMEM_GLUE_SUMS)
    gemem_glue_finish (glue);
  return glue;
}

/* Whether the load is as large everywhere: there are no fillers. */
static gboolean
is_full (const GememGlue *glue)
{
  g_autofree gint64 *changes = find_changes (glue);

  for (guint32 border = 0; border <= glue->columns; border++)
    if (changes[border] != 0)
      return FALSE;
  return TRUE;
}

GememGlue *
gemem_glue_go_on (GememGlue *glue)
{
  if (glue->nodes == NULL || !is_full (glue))
    {
      gemem_glue_finish (glue);
      return NULL;
    }
  GememGlue *looser = g_memdup2 (glue, sizeof *glue);

  make_joints (glue);
  glue->nodes = NULL; /* all but joints and the rest are the other's */
  looser->level = GEMEM_GLUE_LOOSE;
  looser->rest = (GememBoxes){ NULL, 0, 0 };
  join_all (looser, n_shifts[GEMEM_GLUE_SUMS] + 1);
  collect_rest (looser);
  gemem_glue_finish (looser);
  return looser;
}

void
gemem_glue_free (GememGlue *glue)
{
  if (glue == NULL)
    return;
  gemem_glue_finish (glue);
  g_free (glue->joints);
  g_free (glue->rest.boxes);
  g_free (glue);
}

gboolean
gemem_glue_is_filled (const GememGlue *glue)
{
  return glue->n_filled > glue->n;
}

GememBoxes *
gemem_glue_rest (GememGlue *glue)
{
  return &glue->rest;
}

void
gemem_glue_take_apart (GememGlue *glue, GememBoxes *boxes, const GememGlueOrigins *origins)
{
  gemem_glue_finish (glue);
  g_autofree gint64 *offsets = g_new0 (gint64, (gsize) glue->n_nodes + 1);

  for (guint32 i = 0; i < glue->rest.n; i++)
    offsets[glue->rest.boxes[i].item] = glue->rest.boxes[i].offset;
  for (guint32 i = glue->n_nodes; i-- > glue->n_filled;)
    {
      const Joint *joint = &glue->joints[i - glue->n_filled];

      offsets[joint->a] = offsets[i];
      offsets[joint->b] = offsets[i] + joint->up;
    }
  for (guint32 i = 0; i < glue->n; i++)
    boxes->boxes[origins != NULL ? origins->places[i] : i].offset = offsets[i];
}
