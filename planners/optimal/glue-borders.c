/* glue-borders.c - what begins and ends at a border of columns, and what the sizes there add up to; see glue-private.h.
 *
 * A list of a border stays sorted once it was listed; what is gone leaves it then.  Sums are of one box, of two or three with the same
 * other border, or of all of these.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/glue-private.h"

/* Larger groups have too many pairs and triples; what is beyond MAX_SUMS is not looked at. */
static const guint32 largest_group[] = { G_MAXUINT32, G_MAXUINT32, 32, 12 };
#define MAX_SUMS 4096
#define AHEAD 8 /* nodes that are fetched while others are listed */
#define RUN 8   /* sums, sorted by moving them */

/* ---- nodes */

static guint32
border_of (const GememGlueNode *node, gboolean ending)
{
  return ending ? node->last : node->first;
}

/* Adds node @i to the list of one border. */
static void
add_to_list (GememGlue *glue, guint32 i, gboolean ending)
{
  const GememGlueLists *lists = ending ? &glue->lasts : &glue->firsts;
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
  (ending ? glue->n_ending : glue->n_beginning)[border] = GEMEM_GLUE_UNKNOWN;
}

void
gemem_glue_list_node (GememGlue *glue, guint32 i)
{
  add_to_list (glue, i, FALSE);
  add_to_list (glue, i, TRUE);
}

static void
make_lists (GememGlue *glue, gboolean ending)
{
  GememGlueLists *lists = ending ? &glue->lasts : &glue->firsts;

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
free_lists (GememGlueLists *lists)
{
  g_clear_pointer (&lists->starts, g_free);
  g_clear_pointer (&lists->used, g_free);
  g_clear_pointer (&lists->nodes, g_free);
}

/* ---- sums */

static int
compare_listed (gconstpointer a, gconstpointer b)
{
  const GememGlueListed *x = a, *y = b;

  if (x->border != y->border)
    return x->border < y->border ? -1 : 1;
  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

static void
sort_listed (GArray *nodes, guint sorted)
{
  GememGlueListed *all = (GememGlueListed *) (gpointer) nodes->data;
  const guint n = nodes->len - sorted;
  g_autofree GememGlueListed *few = g_memdup2 (all + sorted, n * sizeof (GememGlueListed));
  guint a = sorted, b = n;

  qsort (few, n, sizeof (GememGlueListed), compare_listed);
  for (guint i = nodes->len; b > 0; i--)
    all[i - 1] = a > 0 && compare_listed (&all[a - 1], &few[b - 1]) > 0 ? all[--a] : few[--b];
}

/* Lists the nodes that begin or end at @border, sorted; what is gone leaves the list for good, which is sorted, too. */
static void
list_side (GememGlue *glue, guint32 border, gboolean ending)
{
  GememGlueSide *side = ending ? &glue->ending : &glue->beginning;
  GArray *nodes = side->nodes;
  const GememGlueLists *lists = ending ? &glue->lasts : &glue->firsts;
  guint32 *list = lists->nodes + lists->starts[border];
  const guint32 used = lists->used[border];
  guint sorted = 0; /* these are, what comes behind them is new */

  for (guint32 count = 0; count < GEMEM_GLUE_COUNTS; count++)
    side->all[count].known = FALSE;
  g_array_set_size (nodes, 0);
  for (guint32 i = 0; i < used; i++)
    {
      __builtin_prefetch (&glue->nodes[list[MIN (i + AHEAD, used - 1)]]);
      const GememGlueNode *node = &glue->nodes[list[i]];
      const GememGlueListed listed = { border_of (node, !ending), list[i], node->size };

      if (node->gone)
        continue;
      if (sorted == nodes->len
          && (sorted == 0 || compare_listed (gemem_glue_listed_at (side, sorted - 1), &listed) < 0))
        sorted++;
      g_array_append_val (nodes, listed);
    }
  if (sorted < nodes->len)
    sort_listed (nodes, sorted);
  for (guint i = 0; i < nodes->len; i++)
    list[i] = gemem_glue_listed_at (side, i)->node;
  lists->used[border] = nodes->len;
  (ending ? glue->n_ending : glue->n_beginning)[border] = (guint8) MIN (nodes->len,
                                                                        GEMEM_GLUE_UNKNOWN);
}

void
gemem_glue_list_beginning (GememGlue *glue, guint32 border)
{
  list_side (glue, border, FALSE);
  glue->listed = GEMEM_GLUE_NONE;
}

void
gemem_glue_list_sides (GememGlue *glue, guint32 border)
{
  if (glue->listed == border)
    return;
  list_side (glue, border, TRUE);
  list_side (glue, border, FALSE);
  glue->listed = border;
}

/* Adds the sums of @count nodes from @from to below @to, the @n already chosen in @sum among them. */
static void
add_choices (GememGlueSide *side, GememGlueSum sum, guint32 from, guint32 to, guint32 count)
{
  GememGlueSums *sums = &side->all[count];

  if (sum.n == count)
    {
      if (sums->n < MAX_SUMS)
        sums->sums[sums->n++] = sum;
      return;
    }
  for (guint32 i = from; i < to && sums->n < MAX_SUMS; i++)
    {
      GememGlueSum more = sum;

      more.sum += gemem_glue_listed_at (side, i)->size;
      more.at[more.n++] = i;
      add_choices (side, more, i + 1, to, count);
    }
}

static void
add_whole (GememGlueSide *side, guint32 from, guint32 to)
{
  GememGlueSums *sums = &side->all[GEMEM_GLUE_ALL];
  GememGlueSum sum = { 0, to - from, { from, from, from } };

  for (guint32 i = from; i < to; i++)
    sum.sum += gemem_glue_listed_at (side, i)->size;
  if (sum.n > 1 && sums->n < MAX_SUMS)
    sums->sums[sums->n++] = sum;
}

static inline gboolean
is_less (const GememGlueSum *x, const GememGlueSum *y)
{
  return x->sum != y->sum ? x->sum < y->sum : memcmp (x->at, y->at, sizeof (x->at)) < 0;
}

/* Merges runs of @width in @from into runs of twice that in @to. */
static void
merge_runs (const GememGlueSum *from, GememGlueSum *to, guint32 n, guint32 width)
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
sort_sums (GememGlueSum *sums, GememGlueSum *spare, guint32 n)
{
  GememGlueSum *from = sums, *to = spare;

  for (guint32 start = 0; start < n; start += RUN)
    for (guint32 i = start + 1; i < MIN (start + RUN, n); i++)
      {
        const GememGlueSum moved = sums[i];
        guint32 at = i;

        for (; at > start && is_less (&moved, &sums[at - 1]); at--)
          sums[at] = sums[at - 1];
        sums[at] = moved;
      }
  for (guint32 width = RUN; width < n; width *= 2)
    {
      GememGlueSum *merged = to;

      merge_runs (from, to, n, width);
      to = from;
      from = merged;
    }
  if (from != sums)
    memcpy (sums, from, n * sizeof (GememGlueSum));
}

static void
find_all (GememGlueSide *side, guint32 count)
{
  GememGlueSums *sums = &side->all[count];

  sums->n = 0;
  sums->known = TRUE;
  for (guint32 from = 0, to; from < side->nodes->len; from = to)
    {
      for (to = from + 1;
           to < side->nodes->len
           && gemem_glue_listed_at (side, to)->border == gemem_glue_listed_at (side, from)->border;)
        to++;
      if (count == GEMEM_GLUE_ALL)
        add_whole (side, from, to);
      else if (to - from <= largest_group[count])
        add_choices (side, (GememGlueSum){ 0, 0, { 0, 0, 0 } }, from, to, count);
    }
  sort_sums (sums->sums, side->spare, sums->n);
}

void
gemem_glue_find_sums (GememGlueSide *side, guint32 count)
{
  if (!side->all[count].known)
    find_all (side, count);
  side->sums = side->all[count].sums;
  side->n = side->all[count].n;
}
static void
begin_side (GememGlueSide *side)
{
  side->nodes = g_array_new (FALSE, FALSE, sizeof (GememGlueListed));
  side->spare = g_new (GememGlueSum, MAX_SUMS);
  for (guint32 count = 0; count < GEMEM_GLUE_COUNTS; count++)
    side->all[count].sums = g_new (GememGlueSum, MAX_SUMS);
}

static void
end_side (GememGlueSide *side)
{
  g_array_unref (side->nodes);
  g_free (side->spare);
  for (guint32 count = 0; count < GEMEM_GLUE_COUNTS; count++)
    g_free (side->all[count].sums);
}

/* Keeps of the nodes what take_apart() needs. */

/* ---- all */

void
gemem_glue_borders_init (GememGlue *glue)
{
  const gsize borders = (gsize) glue->columns + 1;

  glue->due = g_new0 (guint8, borders);
  glue->n_ending = g_new0 (guint8, borders);
  glue->n_beginning = g_new0 (guint8, borders);
  glue->listed = GEMEM_GLUE_NONE;
  begin_side (&glue->ending);
  begin_side (&glue->beginning);
  make_lists (glue, FALSE);
  make_lists (glue, TRUE);
}

void
gemem_glue_borders_clear (GememGlue *glue)
{
  free_lists (&glue->firsts);
  free_lists (&glue->lasts);
  g_clear_pointer (&glue->due, g_free);
  g_clear_pointer (&glue->n_ending, g_free);
  g_clear_pointer (&glue->n_beginning, g_free);
  end_side (&glue->ending);
  end_side (&glue->beginning);
}
