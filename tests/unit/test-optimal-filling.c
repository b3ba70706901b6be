/* test-optimal-filling.c - what is put between boxes: as low as a walk over all of them finds, and no box is looked at twice. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/filling.h"

#define BOXES 300
#define COLUMNS 90

/* Every seventh box lives for long, so that it lies in many cells. */
static GememBoxes
make (GememBox *boxes, GememRng *rng)
{
  for (guint32 i = 0; i < BOXES; i++)
    {
      const guint32 life = 1 + (guint32) gemem_rng_below (rng, i % 7 == 0 ? COLUMNS : 6);

      boxes[i].first = (guint32) gemem_rng_below (rng, COLUMNS - life + 1);
      boxes[i].last = boxes[i].first + life;
      boxes[i].size = 1 + (gint64) gemem_rng_below (rng, 50);
      boxes[i].unit = i % 3 == 0 ? 16 : 1;
    }
  return (GememBoxes){ boxes, BOXES, COLUMNS };
}

static gboolean
meet (const GememBox *a, const GememBox *b)
{
  return a->first < b->last && b->first < a->last;
}

/* The lowest offset of box @i that meets none of those before it. */
static gint64
lowest (const GememBox *boxes, guint32 i)
{
  gint64 offset = 0;

  for (gboolean moved = TRUE; moved;)
    {
      moved = FALSE;
      for (guint32 k = 0; k < i; k++)
        if (meet (&boxes[i], &boxes[k]) && offset < boxes[k].offset + boxes[k].size
            && boxes[k].offset < offset + boxes[i].size)
          {
            offset = gemem_box_align (boxes[k].offset + boxes[k].size, boxes[i].unit);
            moved = TRUE;
          }
    }
  return offset;
}

static void
test_lowest (void)
{
  g_autofree GememBox *boxes = g_new0 (GememBox, BOXES);
  GememRng rng;

  gemem_rng_init (&rng, 1, "filling");
  GememBoxes all = make (boxes, &rng);
  g_autoptr (GememFilling) filling = gemem_filling_new (&all);
  for (guint32 i = 0; i < BOXES; i++)
    {
      const gint64 expected = lowest (boxes, i);
      guint64 alive = 0;

      for (guint32 k = 0; k < i; k++)
        alive += meet (&boxes[i], &boxes[k]);
      if (i % 5 == 0)
        {
          boxes[i].offset = expected;
          gemem_filling_add (filling, i);
          continue;
        }
      g_assert_cmpuint (gemem_filling_put (filling, i), ==, 1 + 4 * alive);
      g_assert_cmpint (boxes[i].offset, ==, expected);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal/filling/lowest", test_lowest);
  return g_test_run ();
}
