/* search.c - the search for the parts that dives left above the bound; see parts.h.  Window search (window.c) goes on where corner
 * search ended, local search (local.c) is for the parts that are too large for it.  Where much is missing in a part
 * of many boxes, the largest of them come first (large.c).
 *
 * The bound itself is tried, or capacities between it and what was found, nearer to what was
 * found each time that the steps did not suffice.  A capacity at which nothing fits is a better
 * bound.
 */
#include "config.h"

#include "planners/optimal/parts.h"

/* A search holds a number for every box and column that it is alive in. */
#define MAX_BOXES 4096
#define MAX_CELLS 4000000
#define MAX_DIVISOR 512
/* Above the goal by 1/MUCH of it, so that changes of dives hardly help. */
#define MUCH 32

static gboolean
is_searchable (const GememPart *part)
{
  gsize cells = 0;

  if (part->boxes.n > MAX_BOXES)
    return FALSE;
  for (guint32 i = 0; i < part->boxes.n; i++)
    {
      if (part->boxes.boxes[i].unit != 1)
        return FALSE;
      cells += part->boxes.boxes[i].last - part->boxes.boxes[i].first;
    }
  return cells <= MAX_CELLS;
}

typedef struct
{
  GememPart *part;
  GememDecide decide;
  gpointer search;
  GememEffort *effort;
} Descent;

static GememCornerAnswer
try_capacity (const Descent *descent, gint64 capacity, guint64 steps)
{
  GememPart *part = descent->part;
  guint64 left = steps;
  const GememCornerAnswer answer = descent->decide (descent->search, capacity, &left,
                                                    descent->effort->stop);

  descent->effort->steps -= MIN (descent->effort->steps, steps - left);
  if (answer == GEMEM_CORNER_FITS)
    {
      part->top = gemem_boxes_top (&part->boxes);
      part->stage = GEMEM_STAGE_CORNER;
    }
  else if (answer == GEMEM_CORNER_NEVER)
    part->bound = MAX (part->bound, capacity + 1);
  return answer;
}

/* Goes down from @top, or from that of the part; the distance to @goal is divided. */
static void
descend (const Descent *descent, gint64 goal, gint64 top)
{
  const GememPart *part = descent->part;
  const GememEffort *effort = descent->effort;
  gint64 divisor = 4;

  while ((top = MIN (top, part->top)) > MAX (goal, part->bound) && effort->steps > 0
         && divisor <= MAX_DIVISOR && gemem_stop_reason (effort->stop) == NULL)
    {
      const gint64 capacity = top - MAX (1, (top - MAX (goal, part->bound)) / divisor);

      if (try_capacity (descent, capacity, MAX (effort->steps / 4, 1)) == GEMEM_CORNER_UNKNOWN)
        divisor = top - capacity > part->grain ? 2 * divisor : G_MAXINT64; /* nothing is between */
    }
}

void
gemem_part_descend (GememPart *part, gint64 goal, GememDecide decide, gpointer search,
                    GememEffort *effort)
{
  const Descent descent = { part, decide, search, effort };

  try_capacity (&descent, goal, effort->steps / 2);
  descend (&descent, goal, part->top);
}

static void
search_part (GememPart *part, gint64 goal, gint64 top, GememSearchKind kind, GememEffort *effort)
{
  g_autoptr (GememCorner) corner = gemem_corner_new (&part->boxes);
  const Descent descent = { part, gemem_corner_decide, corner, effort };

  if (kind == GEMEM_SEARCH_GOAL)
    try_capacity (&descent, goal, effort->steps);
  else
    descend (&descent, goal, top);
}

/* Where much is missing, the largest boxes first, with all but 1/@rest of the steps. */
static void
search_large (GememPart *part, gint64 goal, guint64 rest, GememEffort *effort)
{
  GememEffort own = { effort->steps - effort->steps / rest, effort->stop };
  const guint64 given = own.steps;

  if (part->boxes.n > GEMEM_LARGE_BOXES && part->top - goal > goal / MUCH)
    gemem_part_fill (part, goal, &own);
  effort->steps -= given - own.steps;
}

/* Corner search gets far at once, and what it leaves of the steps goes into windows, which get further.  What is too large for
 * it has local search alone. */
static void
search_less (GememPart *part, gint64 goal, gint64 top, GememSearchKind kind, GememEffort *effort)
{
  const gboolean searchable = is_searchable (part) && effort->steps > 0;

  if (searchable)
    search_part (part, goal, top, GEMEM_SEARCH_LESS, effort);
  goal = MAX (goal, part->bound);
  if (kind == GEMEM_SEARCH_LESS)
    search_large (part, goal, searchable ? 2 : 8, effort);
  if (searchable)
    gemem_part_rearrange (part, goal, effort);
  gemem_part_improve (part, goal, effort);
}

static int
compare_tops (gconstpointer a, gconstpointer b)
{
  const GememPart *x = *(GememPart *const *) a, *y = *(GememPart *const *) b;

  if (x->base + x->top != y->base + y->top)
    return x->base + x->top > y->base + y->top ? -1 : 1;
  return x < y ? -1 : x > y; /* of one array */
}

/* The parts above @goal, the highest first. */
static GPtrArray *
find_open (const GArray *parts, gint64 goal)
{
  GPtrArray *open = g_ptr_array_new ();

  for (guint i = 0; i < parts->len; i++)
    {
      GememPart *part = &g_array_index (parts, GememPart, i);

      if (part->top > goal - part->base)
        g_ptr_array_add (open, part);
    }
  g_ptr_array_sort (open, compare_tops);
  return open;
}

/* Whether corner search can answer for all of them. */
static gboolean
are_searchable (const GPtrArray *parts)
{
  for (guint i = 0; i < parts->len; i++)
    if (!is_searchable (parts->pdata[i]))
      return FALSE;
  return TRUE;
}

void
gemem_parts_search (GArray *parts, gint64 least, gint64 top, GememSearchKind kind,
                    GememEffort *effort)
{
  const gint64 goal = MAX (least, gemem_parts_bound (parts));
  g_autoptr (GPtrArray) open = find_open (parts, goal);

  if (kind == GEMEM_SEARCH_GOAL && !are_searchable (open))
    return;
  for (guint i = 0; i < open->len && gemem_stop_reason (effort->stop) == NULL; i++)
    {
      GememPart *part = open->pdata[i];
      GememEffort own = { effort->steps / (open->len - i), effort->stop };
      const guint64 given = own.steps;

      if (kind != GEMEM_SEARCH_GOAL)
        search_less (part, goal - part->base, top - part->base, kind, &own);
      else if (given > 0)
        search_part (part, goal - part->base, top - part->base, kind, &own);
      effort->steps -= given - own.steps;
    }
}
