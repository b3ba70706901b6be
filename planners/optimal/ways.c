/* ways.c - dives and searches of boxes as they are and joined; see ways.h.
 *
 * Each way has its dives, the boxes as they are one of one kind before all others; then each its share of the steps, joined boxes
 * first.  A search that the clock will end spends its steps in rounds, each with several times those of the one
 * before, so that it has found most of what it can.
 */
#include "config.h"

#include <string.h>

#include "planners/optimal/dive.h"
#include "planners/optimal/glue.h"
#include "planners/optimal/ways.h"

#define FIRST_ROUND 100000000
#define FEW_STEPS 16 /* of so many */
/* Up to these many boxes corner search is often done, beyond them loose joins help, too; beyond MANY boxes are not joined by
 * pairs alone. */
#define FEW 900
#define MANY 20000
/* Beyond these so many fit by chance that joining by how rare it is first is worth half as much time again. */
#define VERY_MANY 200000

/* How boxes are joined, in turn.  Where nothing is free, loose joins are those of the level behind them. */
static const GememGlueLevel levels[][5] = {
  { GEMEM_GLUE_PAIRS, GEMEM_GLUE_SUMS, GEMEM_GLUE_LEVELS },
  { GEMEM_GLUE_PAIRS, GEMEM_GLUE_SUMS, GEMEM_GLUE_FILLED, GEMEM_GLUE_LEVELS },
  { GEMEM_GLUE_SUMS, GEMEM_GLUE_FILLED, GEMEM_GLUE_LOOSE, GEMEM_GLUE_LEVELS },
  { GEMEM_GLUE_RARE, GEMEM_GLUE_SUMS, GEMEM_GLUE_FILLED, GEMEM_GLUE_LOOSE, GEMEM_GLUE_LEVELS },
};

typedef struct
{
  GememGlue *glue; /* NULL: the boxes as they are */
  GArray *parts;
} Way;

typedef struct
{
  GememBoxes boxes;         /* `columns`: as they were */
  GememGlueOrigins origins; /* by id, which is the order in which they were */
  gint64 enough;
  Way ways[1 + GEMEM_GLUE_LEVELS]; /* the first: as they are */
  guint n;
  GememGlue *sums; /* that can go on; NULL: there is none */
  gboolean lost;   /* it is of no way any more */
  gboolean filled; /* some way has what is free joined with the boxes */
} Ways;

static gint64
top_of (const Way *way)
{
  return gemem_parts_top (way->parts);
}

/* The way with the least top; of equal ones the first. */
static Way *
best_way (Ways *ways)
{
  Way *best = &ways->ways[0];

  for (guint i = 1; i < ways->n; i++)
    best = top_of (&ways->ways[i]) < top_of (best) ? &ways->ways[i] : best;
  return best;
}

static gint64
goal_of (const Ways *ways)
{
  return MAX (gemem_parts_bound (ways->ways[0].parts), ways->enough);
}

static gboolean
is_done (Ways *ways, const GememStop *stop)
{
  return top_of (best_way (ways)) <= goal_of (ways) || gemem_stop_reason (stop) != NULL;
}

/* ---- dives */

static void
free_way (Ways *ways, Way *way)
{
  ways->lost = ways->lost || (way->glue != NULL && way->glue == ways->sums);
  if (way->glue == NULL || way->glue != ways->sums)
    gemem_glue_free (way->glue);
  g_array_unref (way->parts);
}

/* Nothing is to go on. */
static void
finish_sums (Ways *ways)
{
  if (ways->lost)
    gemem_glue_free (ways->sums);
  else if (ways->sums != NULL)
    gemem_glue_finish (ways->sums);
  ways->sums = NULL;
  ways->lost = FALSE;
}

/* Of many boxes, one way at most in which they are joined: the later one only if it is better. */
static void
keep_better (Ways *ways)
{
  if (top_of (&ways->ways[2]) < top_of (&ways->ways[1]))
    {
      free_way (ways, &ways->ways[1]);
      ways->ways[1] = ways->ways[2];
    }
  else
    free_way (ways, &ways->ways[2]);
  ways->n = 2;
}

/* Whether so few boxes are left of @rest that it was no chance. */
static gboolean
is_joined (const Ways *ways, const GememBoxes *rest)
{
  return 2 * rest->n <= ways->boxes.n;
}

static GememGlue *
glue_boxes (Ways *ways, GememGlueLevel level)
{
  GememGlue *glue = NULL;

  if (ways->sums != NULL && level == GEMEM_GLUE_FILLED)
    glue = gemem_glue_go_on (ways->sums);
  finish_sums (ways);
  if (glue != NULL)
    return glue;
  glue = gemem_glue_new (&ways->boxes, &ways->origins, level);
  ways->sums = level == GEMEM_GLUE_SUMS ? glue : NULL;
  return glue;
}

/* Joins the boxes, and dives.  FALSE: no other way to join them helps or is done in time. */
static gboolean
add_joined (Ways *ways, GememGlueLevel level, const GememStop *stop)
{
  Way way = { glue_boxes (ways, level), NULL };
  const GememBoxes *rest = gemem_glue_rest (way.glue);
  const gboolean few = ways->boxes.n <= FEW,
                 again = few || (is_joined (ways, rest) && rest->n <= MANY);

  ways->filled = ways->filled || gemem_glue_is_filled (way.glue);
  if (!again)
    finish_sums (ways);
  if (rest->n == ways->boxes.n)
    {
      finish_sums (ways);
      gemem_glue_free (way.glue);
      return few;
    }
  way.parts = gemem_parts_new (*rest);
  gemem_parts_dive (way.parts, goal_of (ways), 0, GEMEM_DIVE_KINDS, stop);
  ways->ways[ways->n++] = way;
  if (ways->boxes.n > MANY && ways->n > 2)
    keep_better (ways);
  return again; /* the rest may be gone by now */
}

/* Where each box stands that was number `id`. */
static void
find_places (Ways *ways)
{
  if (ways->origins.places == NULL)
    ways->origins.places = g_new (guint32, (gsize) ways->boxes.n + 1);
  for (guint32 i = 0; i < ways->boxes.n; i++)
    ways->origins.places[ways->boxes.boxes[i].id] = i;
}

/* Whether joined boxes did better than many as they are, whose dives take as long as a search of the joined ones. */
static gboolean
is_joined_best (Ways *ways)
{
  const Way *best = best_way (ways);

  return ways->boxes.n > MANY && best->glue != NULL
         && is_joined (ways, gemem_glue_rest (best->glue));
}

static void
dive (Ways *ways, const GememStop *stop)
{
  gboolean fit = !gemem_boxes_have_units (&ways->boxes);
  const GememGlueLevel *level =
      levels[(ways->boxes.n > FEW) + (ways->boxes.n > MANY) + (ways->boxes.n > VERY_MANY)];

  gemem_parts_dive (ways->ways[0].parts, goal_of (ways), 0, 1, stop);
  gemem_parts_stack_peak (ways->ways[0].parts, goal_of (ways), stop);
  find_places (ways);
  while (fit && *level != GEMEM_GLUE_LEVELS && !is_done (ways, stop))
    {
      if (*level != GEMEM_GLUE_LOOSE || ways->filled)
        fit = add_joined (ways, *level, stop);
      level++;
    }
  finish_sums (ways);
  if (!is_done (ways, stop) && !is_joined_best (ways))
    gemem_parts_dive (ways->ways[0].parts, goal_of (ways), 1, GEMEM_DIVE_KINDS, stop);
}

/* ---- searches */

/* Whether joined boxes did better than the boxes as they are, and where there are many than all others. */
static gboolean
is_promising (Ways *ways, guint i)
{
  const Way *way = &ways->ways[i];

  return top_of (way) < top_of (&ways->ways[0])
         && (ways->boxes.n <= MANY || way == best_way (ways));
}

/* A search of way @i with at most @steps. */
static void
search_way (Ways *ways, guint i, GememSearchKind kind, guint64 steps, GememEffort *effort)
{
  GememEffort own = { steps, effort->stop };

  if (is_done (ways, effort->stop))
    return;
  gemem_parts_search (ways->ways[i].parts, goal_of (ways), top_of (best_way (ways)), kind, &own);
  effort->steps -= steps - own.steps;
}

/* Whether the goal can be reached takes two thirds of the steps or a little more, a third for the boxes as they are, which come last; each
 * way is tried with few steps before one is with many.  How far down it goes, what is left, without what has done
 * worse so far: joined boxes; many as they are. */
static void
search_once (Ways *ways, GememEffort *effort)
{
  const guint64 given = effort->steps;

  for (guint part = FEW_STEPS; part > 0; part /= FEW_STEPS)
    for (guint i = ways->n; i-- > 0;)
      search_way (ways, i, GEMEM_SEARCH_GOAL,
                  given / part
                      / (i > 0         ? 6
                         : ways->n > 1 ? 3
                                       : 2),
                  effort);
  for (guint i = ways->n; i-- > 0;)
    if (i == 0 ? !is_joined_best (ways) : is_promising (ways, i))
      search_way (ways, i, GEMEM_SEARCH_LESS,
                  effort->steps
                      / (ways->boxes.n <= MANY             ? i + 1
                         : i > 0 && !is_joined_best (ways) ? 2
                                                           : 1),
                  effort);
}

static void
search (Ways *ways, GememEffort *effort)
{
  const gboolean by_clock = effort->stop != NULL && effort->stop->clock != NULL;
  guint64 left = effort->steps, given;

  for (guint64 round = by_clock ? FIRST_ROUND : left; left > 0 && !is_done (ways, effort->stop);
       round *= 4)
    {
      given = effort->steps = left / 2 < round ? left : round;
      search_once (ways, effort);
      left -= given;
      if (effort->steps == given)
        break; /* nothing can be searched any more */
    }
  effort->steps = left;
}

/* ---- what is kept */

static GememStage
lift_parts (const GArray *parts)
{
  const gint64 top = gemem_parts_top (parts);
  GememStage stage = GEMEM_STAGE_STACK;

  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      if (part->base + part->top == top)
        stage = MAX (stage, part->stage);
      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
  return stage;
}

/* Numbers @boxes in their order, and remembers their columns. */
static GememGlueOrigins
number_boxes (GememBoxes *boxes)
{
  GememGlueOrigins origins = { NULL, g_new (guint32, (gsize) boxes->n + 1),
                               g_new (guint32, (gsize) boxes->n + 1) };

  for (guint32 i = 0; i < boxes->n; i++)
    {
      origins.firsts[i] = boxes->boxes[i].first;
      origins.lasts[i] = boxes->boxes[i].last;
      boxes->boxes[i].id = i;
    }
  return origins;
}

GememWaysResult
gemem_ways_place (GememBoxes boxes, gint64 enough, GememEffort *effort)
{
  Ways ways = { .boxes = boxes,
                .origins = number_boxes (&boxes),
                .enough = enough,
                .ways = { { NULL, gemem_parts_new (boxes) } },
                .n = 1 };

  dive (&ways, effort->stop);
  search (&ways, effort);
  const Way *best = best_way (&ways);
  const GememWaysResult result = { top_of (best), gemem_parts_bound (ways.ways[0].parts),
                                   lift_parts (best->parts) };

  if (best->glue != NULL)
    {
      find_places (&ways);
      gemem_glue_take_apart (best->glue, &boxes, &ways.origins);
    }
  for (guint i = 0; i < ways.n; i++)
    free_way (&ways, &ways.ways[i]);
  g_free (ways.origins.places);
  g_free (ways.origins.firsts);
  g_free (ways.origins.lasts);
  return result;
}
