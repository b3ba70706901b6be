/* large.c - places the few boxes of a large part that matter first, and all others into what they leave free; see parts.h.
 *
 * Why: of many boxes some hundred take most of the area.  A dive of all of them is disturbed by the others, and local search has a
 * dive of all for each change; alone they are few enough for corner search and windows.
 *
 * The smallest are left out, some of all at a time: by area, and what is neither long nor high before what is.  Then columns fall
 * together that only they kept apart, so that of what is left more fits edge to edge, and is joined (glue.h); and again, level
 * after level, until few boxes are left.  These are searched.  On the way back joints are taken apart, what was left out gets the
 * lowest place that is free (filling.h), the largest first, and windows (window.c) get the top down again, level after level.  How
 * many to leave out at a time nobody knows: each try has another share.
 *
 * Invariants: the part's placement is never worse than before; the same steps give the same placement.
 * Cost: that of glue.h and filling.h for each level, and two copies of its boxes.  Origin: refinement from level to level, as graphs are
 * cut by METIS (Karypis, Kumar 1998).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/optimal/dive.h"
#include "planners/optimal/filling.h"
#include "planners/optimal/glue.h"
#include "planners/optimal/parts.h"

#define ASK 1024        /* boxes, after which it asks whether to go on */
#define DIVE_STEPS 128  /* of each box, as in local.c */
#define LEVEL_STEPS 256 /* of each box that is left out or joined */
#define MOST_LEVELS 64
#define MOST_MOVED 4096 /* boxes of which windows are searched */
#define SHARE 1024      /* what is kept is a share of so many */
#define LEAST_KEPT 563
#define MORE_KEPT 308
#define NEXT_KEPT 633 /* the golden section: shares are spread evenly, however many there are */
#define MOST_STEPS 10000000 /* of the searches of a level in the first try, at most */
#define TRIES 64            /* that the steps should suffice for */
#define SLOWLY 8            /* tries, after which there are twice as many steps */

/* How few boxes are searched first, and how they are joined, in turn. */
static const struct
{
  guint32 few;
  GememGlueLevel glue;
} turns[] = { { 512, GEMEM_GLUE_LOOSE },
              { 128, GEMEM_GLUE_LOOSE },
              { 512, GEMEM_GLUE_RARE },
              { 128, GEMEM_GLUE_RARE } };

typedef struct
{
  GememBoxes boxes;
  guint32 *by_weight; /* places */
  GememBoxes kept;    /* the largest of them, `item` is their place */
  GememGlue *glue;    /* joins those to the boxes of the next level; NULL: they are those */
} Level;

typedef struct
{
  GememPart *part;
  gint64 goal;
  GememEffort *effort;
  gboolean joins;            /* the boxes have one unit */
  Level levels[MOST_LEVELS]; /* each coarser than the one before */
  guint n;
  guint64 steps; /* of the searches of each */
} Try;

static gboolean
is_over (const Try *try)
{
  return try->part->top <= try->goal || try->effort->steps == 0
         || gemem_stop_reason (try->effort->stop) != NULL;
}

static void
spend (Try *try, guint64 steps)
{
  try->effort->steps -= MIN (try->effort->steps, steps);
}

/* ---- coarser */

typedef struct
{
  double weight;
  guint32 place;
} Sized;

static int
compare_sized (gconstpointer a, gconstpointer b)
{
  const Sized *x = a, *y = b;

  if (x->weight != y->weight)
    return x->weight > y->weight ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* By area, times the larger of what it lives and what it takes: what is neither long nor high finds a place more easily. */
static guint32 *
sort_by_weight (const GememBoxes *boxes)
{
  g_autofree Sized *sized = g_new (Sized, (gsize) boxes->n + 1);
  guint32 *by_weight = g_new (guint32, (gsize) boxes->n + 1);
  double longest = 1, highest = 1;

  for (guint32 i = 0; i < boxes->n; i++)
    {
      longest = MAX (longest, (double) boxes->boxes[i].life);
      highest = MAX (highest, (double) boxes->boxes[i].size);
    }
  for (guint32 i = 0; i < boxes->n; i++)
    {
      const double width = (double) boxes->boxes[i].life / longest,
                   height = (double) boxes->boxes[i].size / highest;

      sized[i] = (Sized){ width * height * MAX (width, height), i };
    }
  qsort (sized, boxes->n, sizeof (Sized), compare_sized);
  for (guint32 i = 0; i < boxes->n; i++)
    by_weight[i] = sized[i].place;
  return by_weight;
}

/* The @n largest boxes of @level, in columns of their own. */
static GememBoxes
take_largest (const Level *level, guint32 n)
{
  GememBoxes kept = { g_new (GememBox, (gsize) n + 1), 0, level->boxes.columns };

  for (; kept.n < n; kept.n++)
    {
      kept.boxes[kept.n] = level->boxes.boxes[level->by_weight[kept.n]];
      kept.boxes[kept.n].item = level->by_weight[kept.n];
    }
  gemem_boxes_compress (&kept);
  return kept;
}

/* Adds a level with @boxes; returns the boxes of the next, of which there are fewer. */
static GememBoxes
coarsen (Try *try, GememBoxes boxes, guint32 share, GememGlueLevel glue)
{
  Level *level = &try->levels[try->n++];

  spend (try, (guint64) boxes.n * LEVEL_STEPS);
  level->boxes = boxes;
  level->by_weight = sort_by_weight (&boxes);
  level->kept = take_largest (level, (guint32) ((guint64) boxes.n * share / SHARE));
  level->glue = try->joins ? gemem_glue_new (&level->kept, NULL, glue) : NULL;
  GememBoxes *rest = try->joins ? gemem_glue_rest (level->glue) : &level->kept;
  gemem_boxes_compress (rest);
  return *rest;
}

/* ---- the coarsest */

/* Places @boxes by dives and a search.  Returns the top. */
static gint64
place_few (Try *try, GememBoxes boxes)
{
  g_autoptr (GArray) parts = gemem_parts_new (boxes);
  GememEffort own = { MIN (try->steps, try->effort->steps), try->effort->stop };
  const guint64 given = own.steps;

  gemem_parts_dive (parts, try->goal, 0, GEMEM_DIVE_KINDS, own.stop);
  gemem_parts_search (parts, try->goal, gemem_parts_top (parts), GEMEM_SEARCH_FEW, &own);
  spend (try, given - own.steps + (guint64) boxes.n * DIVE_STEPS * GEMEM_DIVE_KINDS);
  for (guint p = 0; p < parts->len; p++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, p);

      for (guint32 i = 0; i < part->boxes.n; i++)
        part->boxes.boxes[i].offset += part->base;
    }
  return gemem_boxes_top (&boxes);
}

/* ---- finer */

/* Puts what was left out of @level between what was kept.  FALSE: it reached the top of the part, or the steps were used up. */
static gboolean
fill (Try *try, Level *level)
{
  g_autoptr (GememFilling) filling = gemem_filling_new (&level->boxes);

  for (guint32 i = 0; i < level->kept.n; i++)
    {
      const GememBox *box = &level->kept.boxes[i];

      level->boxes.boxes[box->item].offset = box->offset;
      gemem_filling_add (filling, box->item);
    }
  for (guint32 i = level->kept.n; i < level->boxes.n; i++)
    {
      if (i % ASK == 0 && is_over (try))
        return FALSE;
      spend (try, gemem_filling_put (filling, level->by_weight[i]));
    }
  return TRUE;
}

/* Places the boxes of @level where those of the next are; returns the top, G_MAXINT64: it is no better than that of the part. */
static gint64
refine (Try *try, Level *level)
{
  GememPart part = { .boxes = level->boxes, .grain = 1 };
  GememEffort own = { MIN (try->steps, try->effort->steps), try->effort->stop };
  const guint64 given = own.steps;

  if (level->glue != NULL)
    gemem_glue_take_apart (level->glue, &level->kept, NULL);
  if (!fill (try, level))
    return G_MAXINT64;
  part.top = gemem_boxes_top (&part.boxes);
  if (try->joins && part.boxes.n <= MOST_MOVED)
    gemem_part_rearrange (&part, try->goal, &own);
  spend (try, given - own.steps);
  return part.top < try->part->top ? part.top : G_MAXINT64;
}

/* ---- tries */

static void
keep (Try *try, gint64 top)
{
  GememPart *part = try->part;

  for (guint32 i = 0; i < part->boxes.n; i++)
    part->boxes.boxes[i].offset = try->levels[0].boxes.boxes[i].offset;
  part->top = top;
  part->stage = GEMEM_STAGE_LARGE;
}

static void
free_levels (Try *try)
{
  for (; try->n > 0; try->n--)
    {
      Level *level = &try->levels[try->n - 1];

      g_free (level->by_weight);
      g_free (level->kept.boxes);
      gemem_glue_free (level->glue);
    }
}

/* Try number @number. */
static void
place_once (Try *try, guint number)
{
  const GememBoxes *all = &try->part->boxes;
  const guint turn = number % G_N_ELEMENTS (turns);
  const guint32 share = LEAST_KEPT
                        + (guint32) ((guint64) number * NEXT_KEPT % SHARE) * MORE_KEPT / SHARE;
  g_autofree GememBox *copy = g_memdup2 (all->boxes, all->n * sizeof (GememBox));
  GememBoxes boxes = { copy, all->n, all->columns };

  while (boxes.n > turns[turn].few && try->n < MOST_LEVELS && !is_over (try))
    boxes = coarsen (try, boxes, share, turns[turn].glue);
  gint64 top = is_over (try) ? G_MAXINT64 : place_few (try, boxes);
  for (guint i = try->n; i-- > 0 && top < try->part->top;)
    top = refine (try, &try->levels[i]);
  if (top < try->part->top)
    keep (try, top);
  free_levels (try);
}

void
gemem_part_fill (GememPart *part, gint64 goal, GememEffort *effort)
{
  const guint64 first = MIN (effort->steps / TRIES, MOST_STEPS);
  Try try = {
    .part = part, .goal = goal, .effort = effort, .joins = !gemem_boxes_have_units (&part->boxes)
  };

  if (part->boxes.n <= GEMEM_LARGE_BOXES)
    return;
  for (guint i = 0; !is_over (&try); i++)
    {
      try.steps = first + first * i / SLOWLY;
      place_once (&try, part->tries++);
    }
}
