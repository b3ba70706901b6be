/* search.c - see search.h.  Depth first, with frames of its own instead of recursion: a frame is a
 * stretch of sections whose boxes are to be placed. */
#include "config.h"

#include "planners/minimalloc/search.h"

#define NONE G_MAXUINT32

typedef struct
{
  guint32 first, last; /* sections */
  guint32 scan;        /* sections before are done */
  guint32 placed;      /* box; NONE: before the first candidate, and in the root */
  gint64 low;          /* (low, rank) of the candidate before */
  guint32 rank;
  gboolean hatless; /* nobody who is left is alive with `placed` */
  guint mark;       /* length of the trail before `placed` */
} Frame;

enum
{
  FLOOR,
  LOW,
  PLACED
};

typedef struct
{
  gint64 old;
  guint32 index, kind;
} Change;

struct _GememMinimallocSearch
{
  GememBoxes *boxes;
  guint32 sections;
  guint32 *starts; /* the first box that begins in a section or later */
  gint64 *low;     /* of each box: its least offset; once placed, its offset */
  gboolean *placed;
  gint64 *floor, *left; /* of each section: lowest next offset, sizes not placed */
  guint32 *cuts;        /* boxes not placed in a section and the next */
  gint64 *lowest;       /* scratch: of each section */
  GArray *frames, *trail;
  gint64 capacity;
  guint64 nodes, steps; /* left */
  const gint *interrupted;
};

/* ---- sections */

static GememBoxKey
by_first (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ .a = box->first };
}

/* A section is a column or several, up to the next end of a box. */
static void
make_sections (GememBoxes *boxes)
{
  g_autofree guint32 *number = g_new0 (guint32, (gsize) boxes->columns + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    number[boxes->boxes[i].last] = 1;
  for (guint32 c = 1; c <= boxes->columns; c++)
    number[c] += number[c - 1];
  for (guint32 i = 0; i < boxes->n; i++)
    {
      boxes->boxes[i].first = number[boxes->boxes[i].first];
      boxes->boxes[i].last = number[boxes->boxes[i].last];
    }
  boxes->columns = number[boxes->columns];
  gemem_boxes_sort (boxes, by_first, NULL);
}

GememMinimallocSearch *
gemem_minimalloc_search_new (GememBoxes *boxes)
{
  GememMinimallocSearch *search = g_new0 (GememMinimallocSearch, 1);
  guint32 next = 0;

  make_sections (boxes);
  search->boxes = boxes;
  search->sections = boxes->columns;
  search->starts = g_new (guint32, (gsize) boxes->columns + 1);
  for (guint32 s = 0; s <= boxes->columns; s++)
    {
      while (next < boxes->n && boxes->boxes[next].first < s)
        next++;
      search->starts[s] = next;
    }
  search->low = g_new (gint64, (gsize) boxes->n + 1);
  search->placed = g_new (gboolean, (gsize) boxes->n + 1);
  search->floor = g_new (gint64, (gsize) boxes->columns + 1);
  search->left = g_new (gint64, (gsize) boxes->columns + 1);
  search->lowest = g_new (gint64, (gsize) boxes->columns + 1);
  search->cuts = g_new (guint32, (gsize) boxes->columns + 1);
  search->frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  search->trail = g_array_new (FALSE, FALSE, sizeof (Change));
  return search;
}

void
gemem_minimalloc_search_free (GememMinimallocSearch *search)
{
  if (search == NULL)
    return;
  g_free (search->starts);
  g_free (search->low);
  g_free (search->placed);
  g_free (search->floor);
  g_free (search->left);
  g_free (search->lowest);
  g_free (search->cuts);
  g_array_unref (search->frames);
  g_array_unref (search->trail);
  g_free (search);
}

/* ---- changes, and taking them back */

static const GememBox *
box_at (const GememMinimallocSearch *search, guint32 i)
{
  return &search->boxes->boxes[i];
}

/* Adds box @i to what is left (@sign 1), or takes it off (-1). */
static void
count (GememMinimallocSearch *search, guint32 i, int sign)
{
  const GememBox *box = box_at (search, i);

  for (guint32 s = box->first; s < box->last; s++)
    search->left[s] += sign * box->size;
  for (guint32 s = box->first; s + 1 < box->last; s++)
    search->cuts[s] += (guint32) sign;
}

static void
raise_to (GememMinimallocSearch *search, guint32 kind, gint64 *values, guint32 index, gint64 value)
{
  const Change change = { values[index], index, kind };

  if (value <= values[index])
    return;
  g_array_append_val (search->trail, change);
  values[index] = value;
}

static void
undo (GememMinimallocSearch *search, guint mark)
{
  for (guint i = search->trail->len; i-- > mark;)
    {
      const Change change = g_array_index (search->trail, Change, i);

      if (change.kind == FLOOR)
        search->floor[change.index] = change.old;
      else if (change.kind == LOW)
        search->low[change.index] = change.old;
      else
        {
          search->placed[change.index] = FALSE;
          count (search, change.index, 1);
        }
    }
  g_array_set_size (search->trail, mark);
}

/* ---- a node */

/* Raises what is alive with the box that was placed at @frame; sections [*from, *to) have such
 * boxes, and the box itself. */
static void
raise_others (GememMinimallocSearch *search, Frame *frame, guint32 *from, guint32 *to)
{
  const GememBox *box = box_at (search, frame->placed);
  const gint64 top = search->low[frame->placed] + box->size;

  frame->hatless = TRUE;
  *from = box->first;
  *to = box->last;
  for (guint32 s = box->first; s < box->last; s++)
    raise_to (search, FLOOR, search->floor, s, top);
  for (guint32 i = search->starts[frame->first]; i < search->starts[box->last]; i++)
    {
      const GememBox *other = box_at (search, i);

      if (search->placed[i] || other->last <= box->first)
        continue;
      frame->hatless = FALSE;
      *from = MIN (*from, other->first);
      *to = MAX (*to, other->last);
      raise_to (search, LOW, search->low, i, gemem_box_align (top, other->unit));
    }
}

/* The least offset of who is left in a section of [from, to) becomes its floor. */
static void
raise_floors (GememMinimallocSearch *search, const Frame *frame, guint32 from, guint32 to)
{
  guint64 work = 0;

  for (guint32 s = from; s < to; s++)
    search->lowest[s] = search->left[s] > 0 ? G_MAXINT64 : 0;
  for (guint32 i = search->starts[frame->first]; i < search->starts[to]; i++)
    {
      const GememBox *box = box_at (search, i);

      for (guint32 s = MAX (box->first, from); !search->placed[i] && s < MIN (box->last, to);
           s++, work++)
        search->lowest[s] = MIN (search->lowest[s], search->low[i]);
    }
  for (guint32 s = from; s < to; s++)
    raise_to (search, FLOOR, search->floor, s, search->lowest[s]);
  search->steps -= MIN (search->steps, work);
}

/* FALSE if what is left of a section does not fit. */
static gboolean
is_possible (const GememMinimallocSearch *search, const Frame *frame, gint64 offset)
{
  for (guint32 s = frame->first; s < frame->last; s++)
    if (MAX (search->floor[s], offset) + search->left[s] > search->capacity)
      return FALSE;
  return TRUE;
}

/* The next box to be placed by (low, rank); NONE if there is no other, or another box would fit
 * below. */
static guint32
next_candidate (const GememMinimallocSearch *search, const Frame *frame)
{
  gint64 roof = G_MAXINT64, low = G_MAXINT64;
  guint32 best = NONE;

  for (guint32 i = search->starts[frame->first]; i < search->starts[frame->last]; i++)
    {
      const gint64 own = search->low[i];
      const guint32 rank = box_at (search, i)->rank;

      if (search->placed[i])
        continue;
      roof = MIN (roof, own + box_at (search, i)->size);
      if (own < frame->low || (own == frame->low && rank <= frame->rank))
        continue;
      if (best == NONE || own < low || (own == low && rank < box_at (search, best)->rank))
        {
          best = i;
          low = own;
        }
    }
  return low < roof ? best : NONE;
}

static gboolean
is_over (const GememMinimallocSearch *search)
{
  return search->nodes == 0 || search->steps == 0 || gemem_plan_is_unwanted (search->interrupted);
}

static void
put (GememMinimallocSearch *search, Frame *frame, guint32 next)
{
  const Change change = { 0, next, PLACED };
  const guint64 cost = search->starts[frame->last] - search->starts[frame->first]
                       + (guint64) (frame->last - frame->first);
  guint32 from, to;

  frame->placed = next;
  frame->low = search->low[next];
  frame->rank = box_at (search, next)->rank;
  frame->scan = frame->first;
  search->nodes--;
  search->steps -= MIN (search->steps, cost);
  g_array_append_val (search->trail, change);
  search->placed[next] = TRUE;
  count (search, next, -1);
  raise_others (search, frame, &from, &to);
  raise_floors (search, frame, from, to);
}

/* Places the next candidate of the last frame that leaves it possible; FALSE if none does. */
static gboolean
place_next (GememMinimallocSearch *search)
{
  Frame *frame = &g_array_index (search->frames, Frame, search->frames->len - 1);

  while (!(frame->placed != NONE && frame->hatless) && !is_over (search))
    {
      const guint32 next = next_candidate (search, frame);

      if (next == NONE)
        return FALSE;
      put (search, frame, next);
      if (is_possible (search, frame, frame->low))
        return TRUE;
      undo (search, frame->mark);
    }
  return FALSE;
}

/* Pushes a frame for the next stretch of sections of the last one that boxes not placed connect;
 * FALSE if there is none. */
static gboolean
enter_next (GememMinimallocSearch *search)
{
  Frame *frame = &g_array_index (search->frames, Frame, search->frames->len - 1);
  Frame inner = {
    .placed = NONE, .low = frame->low, .rank = frame->rank, .mark = search->trail->len
  };

  while (frame->scan < frame->last && search->left[frame->scan] == 0)
    frame->scan++;
  if (frame->scan == frame->last)
    return FALSE;
  inner.first = frame->scan;
  while (search->cuts[frame->scan] > 0)
    frame->scan++;
  inner.last = ++frame->scan;
  g_array_append_val (search->frames, inner);
  return TRUE;
}

/* ---- the search */

static void
begin (GememMinimallocSearch *search, gint64 capacity)
{
  const Frame root = { .last = search->sections, .placed = NONE, .low = -1 };
  guint64 work = search->boxes->n;

  search->capacity = capacity;
  g_array_set_size (search->trail, 0);
  g_array_set_size (search->frames, 0);
  g_array_append_val (search->frames, root);
  for (guint32 s = 0; s <= search->sections; s++)
    search->floor[s] = search->left[s] = search->cuts[s] = 0;
  for (guint32 i = 0; i < search->boxes->n; i++)
    {
      search->low[i] = 0;
      search->placed[i] = FALSE;
      count (search, i, 1);
      work += box_at (search, i)->last - box_at (search, i)->first;
    }
  search->steps -= MIN (search->steps, work);
}

/* Takes the last frame away, and what the one before it placed; FALSE if that is the root. */
static gboolean
go_back (GememMinimallocSearch *search)
{
  g_array_set_size (search->frames, search->frames->len - 1);
  undo (search, g_array_index (search->frames, Frame, search->frames->len - 1).mark);
  return search->frames->len > 1;
}

static GememMinimallocAnswer
search_all (GememMinimallocSearch *search)
{
  for (;;)
    if (enter_next (search))
      {
        while (!place_next (search))
          if (is_over (search))
            return GEMEM_MINIMALLOC_UNKNOWN;
          else if (!go_back (search))
            return GEMEM_MINIMALLOC_NO;
      }
    else if (search->frames->len == 1)
      return GEMEM_MINIMALLOC_YES;
    else
      g_array_set_size (search->frames, search->frames->len - 1);
}

GememMinimallocAnswer
gemem_minimalloc_search_run (GememMinimallocSearch *search, gint64 capacity, guint64 nodes,
                             guint64 *steps, const gint *interrupted)
{
  search->nodes = nodes;
  search->steps = *steps;
  search->interrupted = interrupted;
  begin (search, capacity);
  const GememMinimallocAnswer answer = search_all (search);
  for (guint32 i = 0; answer == GEMEM_MINIMALLOC_YES && i < search->boxes->n; i++)
    search->boxes->boxes[i].offset = search->low[i];
  *steps = search->steps;
  return answer;
}
