/* search.c - the search for the parts that dives left above the bound; see parts.h.  Window search (window.c) goes on where corner
 * search ended, local search (local.c) is for the parts that are too large for it.
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

/* Corner search gets far at once, and what it leaves of the steps goes into windows, which get further.  What is too large for
 * it has local search alone. */
static void
search_less (GememPart *part, gint64 goal, gint64 top, GememEffort *effort)
{
  if (!is_searchable (part) || effort->steps == 0)
    {
      gemem_part_improve (part, MAX (goal, part->bound), effort);
      return;
    }
  search_part (part, goal, top, GEMEM_SEARCH_LESS, effort);
  gemem_part_rearrange (part, MAX (goal, part->bound), effort);
  gemem_part_improve (part, MAX (goal, part->bound), effort);
}

static guint
count_open (const GArray *parts, gint64 goal)
{
  guint open = 0;

  for (guint i = 0; i < parts->len; i++)
    open += g_array_index (parts, GememPart, i).top
            > goal - g_array_index (parts, GememPart, i).base;
  return open;
}

void
gemem_parts_search (GArray *parts, gint64 least, gint64 top, GememSearchKind kind,
                    GememEffort *effort)
{
  const gint64 goal = MAX (least, gemem_parts_bound (parts));
  guint open = count_open (parts, goal);

  for (guint i = 0; i < parts->len && gemem_stop_reason (effort->stop) == NULL; i++)
    {
      GememPart *part = &g_array_index (parts, GememPart, i);
      GememEffort own = { effort->steps / MAX (open, 1), effort->stop };
      const guint64 given = own.steps;

      if (part->top <= goal - part->base)
        continue;
      open--;
      if (kind == GEMEM_SEARCH_LESS)
        search_less (part, goal - part->base, top - part->base, &own);
      else if (is_searchable (part) && given > 0)
        search_part (part, goal - part->base, top - part->base, kind, &own);
      effort->steps -= given - own.steps;
    }
}
