/* search.c - the search for the parts that dives left above the bound; see parts.h.  Local search (local.c) is for those that are too
 * large for corner search.
 *
 * First the bound itself is tried, with half of the steps; then capacities between it and what was
 * found, nearer to what was found each time that the steps did not suffice.  A capacity at which
 * nothing fits is a better bound.  A search that the clock will end spends its steps in rounds, each with
 * several times those of the one before, so that it has found most of what it can.
 */
#include "config.h"

#include "planners/optimal/parts.h"

/* A search holds a number for every box and column that it is alive in. */
#define MAX_BOXES 4096
#define MAX_CELLS 4000000
#define MAX_DIVISOR 512
#define FIRST_ROUND 100000000

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

void
gemem_part_descend (GememPart *part, gint64 goal, GememDecide decide, gpointer search,
                    GememEffort *effort)
{
  const Descent descent = { part, decide, search, effort };
  gint64 divisor = 4;

  try_capacity (&descent, goal, effort->steps / 2);
  while (part->top > MAX (goal, part->bound) && effort->steps > 0 && divisor <= MAX_DIVISOR
         && gemem_stop_reason (effort->stop) == NULL)
    {
      const gint64 range = part->top - MAX (goal, part->bound);
      const gint64 capacity = part->top - MAX (1, range / divisor);

      if (try_capacity (&descent, capacity, MAX (effort->steps / 4, 1)) == GEMEM_CORNER_UNKNOWN)
        divisor *= 2;
    }
}

static void
search_part (GememPart *part, gint64 goal, GememEffort *effort)
{
  g_autoptr (GememCorner) corner = gemem_corner_new (&part->boxes);

  gemem_part_descend (part, goal, gemem_corner_decide, corner, effort);
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

/* A round: each part that is above @goal gets its share of the steps. */
static void
search_once (GArray *parts, gint64 goal, GememEffort *effort)
{
  guint open = count_open (parts, goal);

  for (guint i = 0; i < parts->len && gemem_stop_reason (effort->stop) == NULL; i++)
    {
      GememPart *part = &g_array_index (parts, GememPart, i);
      GememEffort own = { effort->steps / MAX (open, 1), effort->stop };
      const guint64 given = own.steps;

      if (part->top <= goal - part->base)
        continue;
      open--;
      if (is_searchable (part) && given > 0)
        search_part (part, goal - part->base, &own);
      gemem_part_improve (part, MAX (goal - part->base, part->bound), &own);
      effort->steps -= given - own.steps;
    }
}

void
gemem_parts_search (GArray *parts, gint64 goal, GememEffort *effort)
{
  const gboolean by_clock = effort->stop != NULL && effort->stop->clock != NULL;
  guint64 left = effort->steps, given;

  for (guint64 round = by_clock ? FIRST_ROUND : left;
       left > 0 && count_open (parts, MAX (goal, gemem_parts_bound (parts))) > 0
       && gemem_stop_reason (effort->stop) == NULL;
       round *= 4)
    {
      given = effort->steps = left / 2 < round ? left : round;
      search_once (parts, MAX (goal, gemem_parts_bound (parts)), effort);
      left -= given;
      if (effort->steps == given)
        break; /* nothing can be searched any more */
    }
  effort->steps = left;
}
