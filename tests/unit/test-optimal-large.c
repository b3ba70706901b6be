/* test-optimal-large.c - the largest boxes first: what it makes of a placement is less, the same each time, aligned and without
 * overlaps; however few steps it has, it is no worse than before. */
#include "config.h"

#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"
#include "planners/planner.h"
#include "tests/util/guillotine.h"
#include "tests/util/placed.h"

#define BOXES 1500
#define COLUMNS 200
#define UNIT 64

/* A packing placed by a dive; every third box has offsets that are multiples of @unit. */
static GememPart
packing (guint64 seed, gint64 unit)
{
  g_autoptr (GememLifetimes) lifetimes = test_guillotine (seed, BOXES, COLUMNS, 10000000, 0);
  GememPart part = { .boxes = { g_new0 (GememBox, BOXES), BOXES, COLUMNS }, .grain = 1 };
  g_autofree gint64 *offsets = g_new (gint64, BOXES);

  g_assert_cmpuint (lifetimes->items->len, ==, BOXES);
  for (guint32 i = 0; i < BOXES; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      GememBox *box = &part.boxes.boxes[i];

      box->size = (gint64) life->size;
      box->unit = i % 3 == 0 ? unit : 1;
      box->life = life->end - life->begin;
      box->first = (guint32) life->begin;
      box->last = (guint32) life->end;
      box->item = i;
    }
  gemem_boxes_compress (&part.boxes);
  g_autoptr (GememDive) dive = gemem_dive_new (&part.boxes);
  gemem_dive_prepare (dive, &part.boxes, 0);
  part.bound = gemem_boxes_load (&part.boxes);
  part.top = gemem_dive_run (dive, G_MAXINT64, offsets);
  for (guint32 i = 0; i < BOXES; i++)
    part.boxes.boxes[i].offset = offsets[i];
  return part;
}

typedef struct
{
  gint64 unit;
  gint64 left; /* 8ths of what the placement was above the bound, at most */
} Case;

static const Case joined = { 1, 1 }, aligned = { UNIT, 5 };

static void
test_less (gconstpointer data)
{
  const Case *own = data;
  GememPart part = packing (1, own->unit), again = packing (1, own->unit);
  const gint64 before = part.top;
  GememEffort effort = { 40000000, NULL }, same = effort;

  gemem_part_fill (&part, part.bound, &effort);
  gemem_part_fill (&again, again.bound, &same);
  g_test_message ("%.4f of %.4f", (double) part.top / (double) part.bound,
                  (double) before / (double) part.bound);
  test_assert_placed (&part);
  g_assert_cmpint (part.top - part.bound, <, (before - part.bound) * own->left / 8);
  g_assert_cmpint (part.stage, ==, GEMEM_STAGE_LARGE);
  g_assert_cmpuint (effort.steps, ==, same.steps);
  for (guint32 i = 0; i < BOXES; i++)
    g_assert_cmpint (part.boxes.boxes[i].offset, ==, again.boxes.boxes[i].offset);
  g_free (part.boxes.boxes);
  g_free (again.boxes.boxes);
}

/* What is not complete when the steps are used up is not kept. */
static void
test_few_steps (void)
{
  for (guint64 steps = 1; steps < 20000000; steps *= 4)
    {
      GememPart part = packing (2, UNIT);
      const gint64 before = part.top;
      GememEffort effort = { steps, NULL };

      gemem_part_fill (&part, part.bound, &effort);
      test_assert_placed (&part);
      g_assert_cmpint (part.top, <=, before);
      g_free (part.boxes.boxes);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/optimal/large/less", &joined, test_less);
  g_test_add_data_func ("/optimal/large/aligned", &aligned, test_less);
  g_test_add_func ("/optimal/large/few-steps", test_few_steps);
  return g_test_run ();
}
