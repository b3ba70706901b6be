/* dive.c - skyline dives; see dive.h.
 *
 * Runs are named by their first column; a heap gives the lowest.  An entry of the heap whose run
 * has gone or been raised is skipped.  Most runs are narrow: where few boxes begin in one, all are looked at.  For the
 * others there is a tree, whose leaves are buckets of unplaced boxes, split in turn by
 * first column and by last, so that what lies inside given columns is in few subtrees; a node holds the
 * range of starts, that of ends and the best rank below it, and all prune.  In the order of
 * first columns alone a query would visit every box of a stretch that has short and long ones.
 *
 * A dive that has to get below a top keeps account of what is lost (levels.h), and ends once a column has lost too much.
 */
#include "config.h"

#include <string.h>

#include "planners/optimal/dive.h"
#include "planners/optimal/levels.h"

#define NONE G_MAXUINT32
#define BUCKET 8  /* boxes */
#define FEW 64    /* boxes that are looked at one by one */
#define TELL 4096 /* boxes, after which it says how far it is */

typedef struct
{
  /* of the unplaced boxes below: the earliest and the latest of their first columns, and of what is
   * behind their last ones; NOTHING: there is none */
  guint32 start, latest_start, end, latest_end;
  guint32 rank; /* the best */
} Node;

static const Node NOTHING = { NONE, 0, NONE, 0, NONE };

/* A box in the tree: its columns; its rank, NONE: it is placed. */
typedef struct
{
  guint32 start, end, rank;
} Leaf;

/* The same in the order of places, where its start is known. */
typedef struct
{
  guint32 end, rank, leaf;
} Placed;

typedef struct
{
  gint64 height;
  guint32 end, previous; /* column behind it, 0: there is none; run before it, or NONE */
} Run;

typedef struct
{
  gint64 height;
  guint32 start;
} Entry;

struct _GememDive
{
  const GememBoxes *boxes;
  GememLevels
      *levels; /* what the columns will be filled to at least; NULL: no dive may end early yet */
  gboolean edges_first;
  guint32 buckets; /* a power of two */
  guint32 *places; /* by leaf: of its box */
  Node *nodes;     /* the root is 1; those from `buckets` on have BUCKET leaves each */
  Leaf *leaves;    /* of each box */
  Placed *placed;  /* by place */
  guint32 *starts; /* by column: the first place of a box that begins there or later */
  Run *runs;       /* by first column */
  Entry *heap;
  gsize n_heap, heap_size; /* entries in it, places for them */
  gint64 below;            /* G_MAXINT64: levels are not kept */
  gint *share;             /* NULL: nobody asks how far a dive is */
};

/* ---- making the tree */

typedef struct
{
  guint32 *places; /* of the dive */
  guint32 *spare;
  guint8 *right; /* by place: in the second half */
} Splitting;

/* The places of @boxes by last column; of equal ones in their order. */
static guint32 *
sort_by_end (const GememBoxes *boxes)
{
  guint32 *sorted = g_new (guint32, (gsize) boxes->n + 1);
  g_autofree guint32 *starts = g_new0 (guint32, (gsize) boxes->columns + 2);

  for (guint32 i = 0; i < boxes->n; i++)
    starts[boxes->boxes[i].last + 1]++;
  for (guint32 c = 0; c <= boxes->columns; c++)
    starts[c + 1] += starts[c];
  for (guint32 i = 0; i < boxes->n; i++)
    sorted[starts[boxes->boxes[i].last]++] = i;
  return sorted;
}

/* Gives the @n places in @by, sorted one way, and in @other, sorted the other way, the leaves from @low
 * on, of which there are @width. */
static void
split (Splitting *splitting, guint32 *by, guint32 *other, guint32 n, guint32 low, guint32 width)
{
  const guint32 half = width / 2, first = MIN (n, half);
  guint32 left = 0, right = 0;

  if (width == BUCKET)
    {
      memcpy (splitting->places + low, by, n * sizeof (guint32));
      return;
    }
  for (guint32 i = 0; i < n; i++)
    splitting->right[by[i]] = i >= first;
  for (guint32 i = 0; i < n; i++)
    if (splitting->right[other[i]])
      splitting->spare[right++] = other[i];
    else
      other[left++] = other[i];
  memcpy (other + left, splitting->spare, right * sizeof (guint32));
  split (splitting, other, by, first, low, half);
  if (n > first)
    split (splitting, other + first, by + first, n - first, low + half, half);
}

static void
make_leaves (GememDive *dive)
{
  const guint32 n = dive->boxes->n;
  g_autofree guint32 *by_start = g_new (guint32, (gsize) n + 1),
                     *by_end = sort_by_end (dive->boxes), *spare = g_new (guint32, (gsize) n + 1);
  g_autofree guint8 *right = g_new (guint8, (gsize) n + 1);
  Splitting splitting = { dive->places, spare, right };

  for (guint32 i = 0; i < n; i++)
    by_start[i] = i;
  if (n > 0)
    split (&splitting, by_start, by_end, n, 0, dive->buckets * BUCKET);
}

/* Where the boxes of each column begin. */
static void
find_starts (GememDive *dive)
{
  const GememBoxes *boxes = dive->boxes;
  guint32 place = 0;

  for (guint32 c = 0; c <= boxes->columns; c++)
    {
      while (place < boxes->n && boxes->boxes[place].first < c)
        place++;
      dive->starts[c] = place;
    }
}

GememDive *
gemem_dive_new (const GememBoxes *boxes)
{
  GememDive *dive = g_new0 (GememDive, 1);

  dive->boxes = boxes;
  for (dive->buckets = 1; dive->buckets * BUCKET < boxes->n;)
    dive->buckets *= 2;
  dive->places = g_new (guint32, (gsize) boxes->n + 1);
  make_leaves (dive);
  dive->nodes = g_new (Node, 2 * (gsize) dive->buckets);
  dive->leaves = g_new (Leaf, (gsize) boxes->n + 1);
  dive->placed = g_new (Placed, (gsize) boxes->n + 1);
  dive->starts = g_new (guint32, (gsize) boxes->columns + 2);
  find_starts (dive);
  dive->runs = g_new0 (Run, (gsize) boxes->columns + 1);
  return dive;
}

void
gemem_dive_free (GememDive *dive)
{
  if (dive == NULL)
    return;
  g_free (dive->places);
  g_free (dive->nodes);
  g_free (dive->leaves);
  g_free (dive->placed);
  g_free (dive->starts);
  g_free (dive->runs);
  g_free (dive->heap);
  gemem_levels_free (dive->levels);
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
  gsize at = dive->n_heap++;

  if (dive->n_heap > dive->heap_size)
    {
      dive->heap_size = 2 * dive->n_heap;
      dive->heap = g_renew (Entry, dive->heap, dive->heap_size);
    }
  for (; at > 0 && is_lower (&entry, &dive->heap[(at - 1) / 2]); at = (at - 1) / 2)
    dive->heap[at] = dive->heap[(at - 1) / 2];
  dive->heap[at] = entry;
}

static Entry
pop (GememDive *dive)
{
  const Entry top = dive->heap[0], moved = dive->heap[--dive->n_heap];
  gsize at = 0;

  for (gsize child; (child = 2 * at + 1) < dive->n_heap; at = child)
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
  return (Node){ MIN (a.start, b.start), MAX (a.latest_start, b.latest_start), MIN (a.end, b.end),
                 MAX (a.latest_end, b.latest_end), MIN (a.rank, b.rank) };
}

static Node
join_bucket (const GememDive *dive, guint32 bucket)
{
  const guint32 from = bucket * BUCKET, to = MIN (from + BUCKET, dive->boxes->n);
  Node node = NOTHING;

  for (guint32 i = from; i < to; i++)
    {
      const Leaf *leaf = &dive->leaves[i];

      if (leaf->rank != NONE)
        node = join (node, (Node){ leaf->start, leaf->start, leaf->end, leaf->end, leaf->rank });
    }
  return node;
}

static void
fill_tree (GememDive *dive)
{
  for (guint32 i = 0; i < dive->boxes->n; i++)
    {
      const guint32 place = dive->places[i];
      const GememBox *box = &dive->boxes->boxes[place];

      dive->leaves[i] = (Leaf){ box->first, box->last, box->rank };
      dive->placed[place] = (Placed){ box->last, box->rank, i };
    }
  for (guint32 i = 0; i < dive->buckets; i++)
    dive->nodes[dive->buckets + i] = join_bucket (dive, i);
  for (guint32 i = dive->buckets; i-- > 1;)
    dive->nodes[i] = join (dive->nodes[2 * i], dive->nodes[2 * i + 1]);
}

static void
remove_box (GememDive *dive, guint32 place)
{
  const guint32 leaf = dive->placed[place].leaf;
  guint32 i = dive->buckets + leaf / BUCKET;
  Node node;

  dive->placed[place].rank = dive->leaves[leaf].rank = NONE;
  for (node = join_bucket (dive, leaf / BUCKET);
       memcmp (&node, &dive->nodes[i], sizeof (Node)) != 0;
       node = join (dive->nodes[2 * i], dive->nodes[2 * i + 1]))
    {
      dive->nodes[i] = node;
      if ((i /= 2) == 0)
        break;
    }
}

typedef struct
{
  guint32 start, end;              /* columns of the run */
  guint32 latest_start, least_end; /* what is wanted begins and ends no further inside */
  guint32 rank, leaf;              /* the best so far */
} Query;

static void
search_bucket (const GememDive *dive, Query *query, guint32 bucket)
{
  const guint32 from = bucket * BUCKET, to = MIN (from + BUCKET, dive->boxes->n);

  for (guint32 i = from; i < to; i++)
    {
      const Leaf *leaf = &dive->leaves[i];

      if (leaf->rank < query->rank && leaf->start >= query->start && leaf->end <= query->end
          && leaf->start <= query->latest_start && leaf->end >= query->least_end)
        {
          query->rank = leaf->rank;
          query->leaf = i;
        }
    }
}

/* Visits node number @i; the better half first. */
static void
search (const GememDive *dive, Query *query, guint32 i)
{
  const Node *node = &dive->nodes[i];

  if (node->latest_start < query->start || node->end > query->end
      || node->start > query->latest_start || node->latest_end < query->least_end
      || node->rank >= query->rank)
    return;
  if (i >= dive->buckets)
    {
      search_bucket (dive, query, i - dive->buckets);
      return;
    }
  const gboolean right = dive->nodes[2 * i + 1].rank < dive->nodes[2 * i].rank;

  search (dive, query, 2 * i + right);
  search (dive, query, 2 * i + !right);
}

/* The place of the box to be placed in columns [start, end); NONE. */
static guint32
best_of_all (const GememDive *dive, guint32 start, guint32 end)
{
  Query query = { start, end, start, end, NONE, NONE };

  if (dive->edges_first)
    search (dive, &query, 1);
  if (dive->edges_first && query.leaf == NONE)
    {
      query.least_end = 0;
      search (dive, &query, 1);
      query.latest_start = NONE;
      query.least_end = end;
      search (dive, &query, 1);
    }
  query.latest_start = NONE;
  query.least_end = 0;
  if (query.leaf == NONE)
    search (dive, &query, 1);
  return query.leaf != NONE ? dive->places[query.leaf] : NONE;
}

/* The same where few begin in these columns. */
static guint32
best_of_few (const GememDive *dive, guint32 start, guint32 end)
{
  const guint32 from = dive->starts[start], to = dive->starts[end],
                behind = dive->starts[start + 1];
  guint32 best = NONE, rank = NONE;
  guint edges = 0;

  for (guint32 place = from; place < to; place++)
    {
      const Placed *box = &dive->placed[place];

      if (box->rank == NONE || box->end > end)
        continue;
      const guint own = dive->edges_first ? (place < behind) + (box->end == end) : 0;
      if (own > edges || (own == edges && box->rank < rank))
        {
          edges = own;
          rank = box->rank;
          best = place;
        }
    }
  return best;
}

static guint32
best_inside (const GememDive *dive, guint32 start, guint32 end)
{
  return dive->starts[end] - dive->starts[start] <= FEW ? best_of_few (dive, start, end)
                                                        : best_of_all (dive, start, end);
}

/* ---- the runs */

static void
set_run (GememDive *dive, guint32 start, guint32 end, gint64 height, guint32 previous)
{
  dive->runs[start] = (Run){ height, end, previous };
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
      set_run (dive, start, dive->runs[next].end, height, previous);
      dive->runs[next].end = 0;
    }
  if (previous == NONE || dive->runs[previous].height != height)
    return start;
  set_run (dive, previous, dive->runs[start].end, height, dive->runs[previous].previous);
  dive->runs[start].end = 0;
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
  if (dive->below < G_MAXINT64)
    gemem_levels_raise (dive->levels, start, run->end, height - run->height);
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

void
gemem_dive_watch (GememDive *dive, gint *share)
{
  dive->share = share;
}

/* @placed boxes are placed. */
static void
tell (const GememDive *dive, guint32 placed)
{
  if (dive->share != NULL && placed % TELL == 0)
    g_atomic_int_set (dive->share, (gint) ((guint64) placed * 1000 / dive->boxes->n));
}

void
gemem_dive_prepare (GememDive *dive, GememBoxes *boxes, guint kind)
{
  gemem_dive_rank (boxes, kind % GEMEM_DIVE_ORDERS);
  dive->edges_first = kind >= GEMEM_DIVE_ORDERS;
}

gint64
gemem_dive_run (GememDive *dive, gint64 below, gint64 *offsets)
{
  gint64 top = 0;
  guint32 placed = 0;

  dive->below = below;
  if (below < G_MAXINT64)
    {
      if (dive->levels == NULL)
        dive->levels = gemem_levels_new (dive->boxes->columns);
      gemem_levels_begin (dive->levels, dive->boxes);
    }
  fill_tree (dive);
  dive->n_heap = 0;
  set_run (dive, 0, dive->boxes->columns, 0, NONE);
  push (dive, 0);
  while (dive->n_heap > 0)
    {
      const Entry entry = pop (dive);
      const Run *run = &dive->runs[entry.start];

      if (run->end == 0 || run->height != entry.height)
        continue;
      const guint32 place = best_inside (dive, entry.start, run->end);
      if (place == NONE)
        {
          if (!raise_run (dive, entry.start))
            break;
          if (below < G_MAXINT64 && gemem_levels_most (dive->levels) >= below)
            return G_MAXINT64;
          continue;
        }
      const gint64 end = put (dive, entry.start, &dive->boxes->boxes[place], &offsets[place]);
      top = MAX (top, end);
      remove_box (dive, place);
      tell (dive, ++placed);
      if (top >= below)
        return G_MAXINT64;
    }
  return top;
}
