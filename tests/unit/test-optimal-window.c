/* test-optimal-window.c - corner search between walls against all placements of tiny instances; what it sees at once, without
 * a search; and what window search makes of a placement: less, the same each time, and without overlaps. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/corner-state.h"
#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"
#include "tests/util/guillotine.h"

/* ---- walls */

#define INSTANCES 20000
#define FEW 4
#define COLUMNS 4
#define CAPACITY 9

typedef struct
{
  GememBox storage[FEW];
  GememBoxes boxes;
  gboolean walled[COLUMNS][CAPACITY];
  GememWalls walls;
} Tiny;

static void
fill (Tiny *tiny, GememRng *rng)
{
  tiny->boxes = (GememBoxes){ tiny->storage, FEW, COLUMNS };
  for (guint32 i = 0; i < FEW; i++)
    {
      const guint32 first = (guint32) gemem_rng_below (rng, COLUMNS),
                    last = first + 1 + (guint32) gemem_rng_below (rng, COLUMNS - first);

      tiny->storage[i] = (GememBox){ .size = 1 + (gint64) gemem_rng_below (rng, 4),
                                     .unit = 1,
                                     .life = 1,
                                     .first = first,
                                     .last = last,
                                     .item = i };
    }
  gemem_boxes_compress (&tiny->boxes);
  gemem_walls_begin (&tiny->walls, &tiny->boxes);
  for (guint32 c = 0; c < tiny->boxes.columns; c++)
    for (gint64 at = 0; at < CAPACITY; at++)
      {
        tiny->walled[c][at] = gemem_rng_below (rng, 5) == 0;
        if (tiny->walled[c][at])
          gemem_walls_add (&tiny->walls, c, at, at + 1);
      }
  gemem_walls_end (&tiny->walls, CAPACITY);
}

/* Whether box @i is under the capacity, in no wall, and on none of the boxes before it. */
static gboolean
is_apart (const Tiny *tiny, guint32 i)
{
  const GememBox *box = &tiny->storage[i];

  if (box->offset + box->size > CAPACITY)
    return FALSE;
  for (guint32 c = box->first; c < box->last; c++)
    for (gint64 at = box->offset; at < box->offset + box->size; at++)
      if (tiny->walled[c][at])
        return FALSE;
  for (guint32 k = 0; k < i; k++)
    {
      const GememBox *other = &tiny->storage[k];

      if (box->first < other->last && other->first < box->last
          && box->offset < other->offset + other->size && other->offset < box->offset + box->size)
        return FALSE;
    }
  return TRUE;
}

/* Whether boxes @i and those behind it fit, tried at all offsets. */
static gboolean
fits (Tiny *tiny, guint32 i)
{
  GememBox *box = &tiny->storage[i];

  if (i == tiny->boxes.n)
    return TRUE;
  for (box->offset = 0; box->offset + box->size <= CAPACITY; box->offset++)
    if (is_apart (tiny, i) && fits (tiny, i + 1))
      return TRUE;
  return FALSE;
}

static void
test_walls (void)
{
  guint never = 0;
  GememRng rng;
  Tiny tiny;

  gemem_rng_init (&rng, 41, "walls");
  gemem_walls_init (&tiny.walls, COLUMNS);
  for (guint i = 0; i < INSTANCES; i++)
    {
      fill (&tiny, &rng);
      const gboolean possible = fits (&tiny, 0);

      never += !possible;
      for (int branch = -1; branch < GEMEM_BRANCH_SOUND; branch++)
        {
          g_autoptr (GememCorner) corner = gemem_corner_new_between (&tiny.boxes, &tiny.walls, i);
          guint64 steps = 1000000;

          if (branch >= 0)
            gemem_corner_set_branch (corner, (GememBranch) branch);
          g_assert_cmpint (gemem_corner_run (corner, CAPACITY, &steps, NULL), ==,
                           possible ? GEMEM_CORNER_FITS : GEMEM_CORNER_NEVER);
          for (guint32 b = 0; b < tiny.boxes.n && possible; b++)
            g_assert_true (is_apart (&tiny, b));
        }
    }
  gemem_walls_clear (&tiny.walls);
  g_test_message ("%u of %u fit", INSTANCES - never, INSTANCES);
  g_assert_cmpuint (never, >, INSTANCES / 10);
  g_assert_cmpuint (never, <, INSTANCES - INSTANCES / 10);
}

/* ---- what is seen at once */

#define ALONE 3 /* boxes, all in one column */
#define UP_TO 2 /* walls */

/* Boxes that cannot fit between walls though a sum of all sizes could: each rule alone sees it. */
typedef struct
{
  gint64 capacity;
  gint64 walls[UP_TO][2]; /* from the bottom up; the last may be { 0, 0 }: there is none */
  gint64 sizes[ALONE];    /* 0: fewer boxes */
  gboolean begun;         /* it is seen once the first box is placed, not at the beginning */
} Hopeless;

static const Hopeless hopeless[] = {
  /* what lies above the floor takes from what is free: 9 + 3 > 10 */
  { 10, { { 4, 7 }, { 0, 0 } }, { 3, 3, 3 }, FALSE },
  /* 3 to 4 is free, but too narrow for all: 6 + 5 > 10 */
  { 10, { { 2, 3 }, { 4, 7 } }, { 2, 2, 2 }, FALSE },
  /* so is 0 to 1, at the bottom, */
  { 10, { { 1, 5 }, { 0, 0 } }, { 2, 4, 0 }, FALSE },
  /* and 9 to 10, at the top */
  { 10, { { 4, 9 }, { 0, 0 } }, { 2, 3, 0 }, FALSE },
  /* 9 bytes are free, of which no 4 are in a row */
  { 11, { { 3, 4 }, { 7, 8 } }, { 2, 4, 0 }, FALSE },
  /* the same once 2 of the only 4 are taken */
  { 10, { { 4, 5 }, { 7, 8 } }, { 2, 4, 2 }, TRUE },
};

static void
test_seen_at_once (gconstpointer data)
{
  const Hopeless *given = data;
  GememBox storage[ALONE] = { { 0 } };
  GememBoxes boxes = { storage, 0, 1 };
  GememCornerState state;
  GememWalls walls;

  for (; boxes.n < ALONE && given->sizes[boxes.n] > 0; boxes.n++)
    storage[boxes.n] = (GememBox){
      .size = given->sizes[boxes.n], .unit = 1, .life = 1, .last = 1, .item = boxes.n
    };
  gemem_walls_init (&walls, 1);
  gemem_walls_begin (&walls, &boxes);
  for (guint i = 0; i < UP_TO && given->walls[i][1] > 0; i++)
    gemem_walls_add (&walls, 0, given->walls[i][0], given->walls[i][1]);
  gemem_walls_end (&walls, given->capacity);
  gemem_corner_state_init (&state, &boxes, &walls);
  g_assert_true (gemem_corner_begin (&state, given->capacity) == given->begun);
  if (given->begun)
    g_assert_false (gemem_corner_place (&state, 0));
  gemem_corner_state_clear (&state);
  gemem_walls_clear (&walls);
}

/* ---- windows */

#define BOXES 150
#define HEIGHT 10000

/* A packing of which a few boxes are left out, placed by a dive. */
static GememPart
packing (guint64 seed)
{
  g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, BOXES, 1000, HEIGHT, 3);
  GememPart part = { .boxes = { g_new0 (GememBox, BOXES), lifetimes->items->len, 1000 },
                     .grain = 1 };
  gint64 offsets[BOXES];

  for (guint32 i = 0; i < part.boxes.n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      part.boxes.boxes[i] = (GememBox){ .size = (gint64) life->size,
                                        .unit = 1,
                                        .life = life->end - life->begin,
                                        .first = (guint32) life->begin,
                                        .last = (guint32) life->end,
                                        .item = i };
    }
  gemem_boxes_compress (&part.boxes);
  g_autoptr (GememDive) dive = gemem_dive_new (&part.boxes);
  gemem_dive_prepare (dive, &part.boxes, 0);
  part.bound = gemem_boxes_load (&part.boxes);
  part.top = gemem_dive_run (dive, G_MAXINT64, offsets);
  for (guint32 i = 0; i < part.boxes.n; i++)
    part.boxes.boxes[i].offset = offsets[i];
  return part;
}

static void
assert_apart (const GememBoxes *boxes)
{
  for (guint32 i = 0; i < boxes->n; i++)
    for (guint32 k = 0; k < i; k++)
      {
        const GememBox *a = &boxes->boxes[i], *b = &boxes->boxes[k];

        g_assert_true (a->first >= b->last || b->first >= a->last
                       || a->offset >= b->offset + b->size || b->offset >= a->offset + a->size);
      }
}

static void
test_windows (void)
{
  for (guint64 seed = 1; seed <= 4; seed++)
    {
      GememPart part = packing (seed), again = packing (seed);
      const gint64 before = part.top;
      GememEffort effort = { 2000000, NULL }, same = effort;

      gemem_part_rearrange (&part, part.bound, &effort);
      gemem_part_rearrange (&again, again.bound, &same);
      g_test_message ("%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, part.top, before);
      assert_apart (&part.boxes);
      g_assert_cmpint (gemem_boxes_top (&part.boxes), ==, part.top);
      g_assert_cmpint (part.top - part.bound, <, (before - part.bound) * 3 / 4);
      g_assert_cmpint (part.stage, ==, GEMEM_STAGE_WINDOW);
      g_assert_cmpuint (effort.steps, ==, same.steps);
      for (guint32 i = 0; i < part.boxes.n; i++)
        g_assert_cmpint (part.boxes.boxes[i].offset, ==, again.boxes.boxes[i].offset);
      g_free (part.boxes.boxes);
      g_free (again.boxes.boxes);
    }
}

/* What may be worse than before ends before it is kept. */
static void
test_few_steps (void)
{
  for (guint64 steps = 0; steps < 20000; steps += 500)
    {
      GememPart part = packing (5);
      const gint64 before = part.top;
      GememEffort effort = { steps, NULL };

      gemem_part_rearrange (&part, part.bound, &effort);
      assert_apart (&part.boxes);
      g_assert_cmpint (gemem_boxes_top (&part.boxes), ==, part.top);
      g_assert_cmpint (part.top, <=, before);
      g_free (part.boxes.boxes);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal/window/walls", test_walls);
  for (guint i = 0; i < G_N_ELEMENTS (hopeless); i++)
    {
      g_autofree char *name = g_strdup_printf ("/optimal/window/seen-at-once/%u", i);

      g_test_add_data_func (name, &hopeless[i], test_seen_at_once);
    }
  g_test_add_func ("/optimal/window/windows", test_windows);
  g_test_add_func ("/optimal/window/few-steps", test_few_steps);
  return g_test_run ();
}
