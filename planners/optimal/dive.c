/* dive.c - skyline dives; see dive.h.
 *
 * Runs are named by their first column; a heap gives the lowest.  An entry of the heap whose run
 * has gone or been raised is skipped.  The tree has the unplaced boxes as leaves, in the order of
 * their first column; a node holds the earliest end and the best rank below it, and both prune.
 */
#include "config.h"

#include "planners/optimal/dive.h"

#define NONE G_MAXUINT32

typedef struct
{
  guint32 end, rank; /* NONE, NONE: no unplaced box below */
} Node;

typedef struct
{
  gint64 height;
  guint32 end, previous; /* column behind it; run before it, or NONE */
  gboolean there;
} Run;

typedef struct
{
  gint64 height;
  guint32 start;
} Entry;

struct _GememDive
{
  const GememBoxes *boxes;
  guint32 *starts; /* by column: the first box that begins there or later */
  guint32 leaves;  /* a power of two */
  Node *nodes;     /* the root is 1 */
  Run *runs;       /* by first column */
  Entry *heap;
  guint32 n_heap;
};

GememDive *
gemem_dive_new (const GememBoxes *boxes)
{
  GememDive *dive = g_new0 (GememDive, 1);
  guint32 c = 0;

  dive->boxes = boxes;
  dive->starts = g_new (guint32, (gsize) boxes->columns + 1);
  for (guint32 i = 0; i < boxes->n; i++)
    while (c <= boxes->boxes[i].first)
      dive->starts[c++] = i;
  while (c <= boxes->columns)
    dive->starts[c++] = boxes->n;
  for (dive->leaves = 1; dive->leaves < boxes->n;)
    dive->leaves *= 2;
  dive->nodes = g_new (Node, 2 * (gsize) dive->leaves);
  dive->runs = g_new0 (Run, (gsize) boxes->columns + 1);
  /* three for a box, one for a raise, of which there are as many as merges */
  dive->heap = g_new (Entry, 6 * (gsize) boxes->n + boxes->columns + 8);
  return dive;
}

void
gemem_dive_free (GememDive *dive)
{
  if (dive == NULL)
    return;
  g_free (dive->starts);
  g_free (dive->nodes);
  g_free (dive->runs);
  g_free (dive->heap);
  g_free (dive);
}

/* ---- the heap */

static gboolean
is_lower (const Entry *a, const Entry *b)
{
  return a->height != b->height ? a->height < b->height : a->start < b->start;
}

static void
push (GememDive *dive, guint32 start)
{
  const Entry entry = { dive->runs[start].height, start };
  guint32 at = dive->n_heap++;

  for (; at > 0 && is_lower (&entry, &dive->heap[(at - 1) / 2]); at = (at - 1) / 2)
    dive->heap[at] = dive->heap[(at - 1) / 2];
  dive->heap[at] = entry;
}

static Entry
pop (GememDive *dive)
{
  const Entry top = dive->heap[0], moved = dive->heap[--dive->n_heap];
  guint32 at = 0;

  for (guint32 child; (child = 2 * at + 1) < dive->n_heap; at = child)
    {
      if (child + 1 < dive->n_heap && is_lower (&dive->heap[child + 1], &dive->heap[child]))
        child++;
      if (!is_lower (&dive->heap[child], &moved))
        break;
      dive->heap[at] = dive->heap[child];
    }
  dive->heap[at] = moved;
  return top;
}

/* ---- the tree */

static Node
join (Node a, Node b)
{
  return (Node){ MIN (a.end, b.end), MIN (a.rank, b.rank) };
}

static void
fill_tree (GememDive *dive)
{
  const GememBoxes *boxes = dive->boxes;

  for (guint32 i = 0; i < dive->leaves; i++)
    dive->nodes[dive->leaves + i] = i < boxes->n
                                        ? (Node){ boxes->boxes[i].last, boxes->boxes[i].rank }
                                        : (Node){ NONE, NONE };
  for (guint32 i = dive->leaves; i-- > 1;)
    dive->nodes[i] = join (dive->nodes[2 * i], dive->nodes[2 * i + 1]);
}

static void
remove_leaf (GememDive *dive, guint32 place)
{
  guint32 node = dive->leaves + place;

  dive->nodes[node] = (Node){ NONE, NONE };
  while ((node /= 2) > 0)
    dive->nodes[node] = join (dive->nodes[2 * node], dive->nodes[2 * node + 1]);
}

typedef struct
{
  guint32 from, to, end; /* places [from, to) and the end of the run */
  guint32 rank, place;   /* the best so far */
} Query;

/* Visits @node, whose leaves are the places from @low on, @width of them; the better half first. */
static void
search (const GememDive *dive, Query *query, guint32 node, guint32 low, guint32 width)
{
  const Node *here = &dive->nodes[node];

  if (low >= query->to || low + width <= query->from || here->end > query->end
      || here->rank >= query->rank)
    return;
  if (width == 1)
    {
      query->rank = here->rank;
      query->place = low;
      return;
    }
  const guint32 half = width / 2;
  const gboolean right = dive->nodes[2 * node + 1].rank < dive->nodes[2 * node].rank;

  search (dive, query, 2 * node + right, low + (right ? half : 0), half);
  search (dive, query, 2 * node + !right, low + (right ? 0 : half), half);
}

/* The place of the box to be placed in columns [start, end); NONE. */
static guint32
best_inside (const GememDive *dive, guint32 start, guint32 end)
{
  Query query = { dive->starts[start], dive->starts[end], end, NONE, NONE };

  search (dive, &query, 1, 0, dive->leaves);
  return query.place;
}

/* ---- the runs */

static void
set_run (GememDive *dive, guint32 start, guint32 end, gint64 height, guint32 previous)
{
  dive->runs[start] = (Run){ height, end, previous, TRUE };
  if (end < dive->boxes->columns)
    dive->runs[end].previous = start;
}

/* Joins the run at @start with neighbours of its height; returns where it starts then. */
static guint32
merge (GememDive *dive, guint32 start)
{
  const gint64 height = dive->runs[start].height;
  const guint32 previous = dive->runs[start].previous, next = dive->runs[start].end;

  if (next < dive->boxes->columns && dive->runs[next].height == height)
    {
      dive->runs[next].there = FALSE;
      set_run (dive, start, dive->runs[next].end, height, previous);
    }
  if (previous == NONE || dive->runs[previous].height != height)
    return start;
  dive->runs[start].there = FALSE;
  set_run (dive, previous, dive->runs[start].end, height, dive->runs[previous].previous);
  return previous;
}

/* Nothing fits into the run: it gets the height of its lower neighbour. */
static gboolean
raise_run (GememDive *dive, guint32 start)
{
  Run *run = &dive->runs[start];
  gint64 height = G_MAXINT64;

  if (run->previous != NONE)
    height = dive->runs[run->previous].height;
  if (run->end < dive->boxes->columns)
    height = MIN (height, dive->runs[run->end].height);
  if (height == G_MAXINT64)
    return FALSE;
  run->height = height;
  push (dive, merge (dive, start));
  return TRUE;
}

/* Puts @box on the run at @start; returns its end. */
static gint64
put (GememDive *dive, guint32 start, const GememBox *box, gint64 *offset)
{
  const Run run = dive->runs[start];
  guint32 previous = run.previous;

  *offset = gemem_box_align (run.height, box->unit);
  if (box->first > start)
    {
      set_run (dive, start, box->first, run.height, previous);
      push (dive, start);
      previous = start;
    }
  set_run (dive, box->first, box->last, *offset + box->size, previous);
  if (box->last < run.end)
    {
      set_run (dive, box->last, run.end, run.height, box->first);
      push (dive, box->last);
    }
  push (dive, merge (dive, box->first));
  return *offset + box->size;
}

gint64
gemem_dive_run (GememDive *dive, gint64 below, gint64 *offsets)
{
  gint64 top = 0;

  fill_tree (dive);
  dive->n_heap = 0;
  set_run (dive, 0, dive->boxes->columns, 0, NONE);
  push (dive, 0);
  while (dive->n_heap > 0)
    {
      const Entry entry = pop (dive);
      const Run *run = &dive->runs[entry.start];

      if (!run->there || run->height != entry.height)
        continue;
      const guint32 place = best_inside (dive, entry.start, run->end);
      if (place == NONE)
        {
          if (!raise_run (dive, entry.start))
            break;
          continue;
        }
      const gint64 end = put (dive, entry.start, &dive->boxes->boxes[place], &offsets[place]);
      top = MAX (top, end);
      remove_leaf (dive, place);
      if (top >= below)
        return G_MAXINT64;
    }
  return top;
}
