/* test-optimal-peak.c - the peak first: where memory is free elsewhere it reaches the bound that no dive reaches; what it makes of a
 * placement is no worse, aligned and without overlaps; nothing is tried where none is. */
#include "config.h"

#include "base/rng.h"
#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"
#include "tests/util/placed.h"

#define BOXES 400
#define COLUMNS 200
#define PEAK 90
#define UNIT 8
#define TRIALS 100

/* Every third box lives at PEAK, for about half of the time, the others for a few columns anywhere.  All offsets are multiples of
 * @unit. */
static GememPart
mountain (guint64 seed, gint64 unit, GememBox *boxes)
{
  GememPart part = { .boxes = { boxes, BOXES, COLUMNS }, .grain = 1 };
  GememRng rng;

  gemem_rng_init (&rng, seed, "mountain");
  for (guint32 i = 0; i < BOXES; i++)
    {
      GememBox *box = &boxes[i];

      *box = (GememBox){ .item = i, .unit = unit };
      box->size = unit * (gint64) gemem_rng_range (&rng, 1, 100);
      box->first = i % 3 == 0 ? PEAK - (guint32) gemem_rng_below (&rng, PEAK)
                              : (guint32) gemem_rng_below (&rng, COLUMNS - 8);
      box->last = i % 3 == 0 ? PEAK + 1 + (guint32) gemem_rng_below (&rng, COLUMNS - PEAK - 1)
                             : box->first + 1 + (guint32) gemem_rng_below (&rng, 8);
      box->life = box->last - box->first;
    }
  gemem_boxes_compress (&part.boxes);
  part.bound = gemem_boxes_load (&part.boxes);
  return part;
}

static void
test_mountains (void)
{
  guint gained = 0;

  for (guint64 seed = 1; seed <= TRIALS; seed++)
    {
      GememBox boxes[BOXES];
      GememPart part = mountain (seed, seed % 3 == 0 ? UNIT : 1, boxes);
      g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (GememPart));
      const GememPart *own;

      g_array_append_val (parts, part);
      own = &g_array_index (parts, GememPart, 0);
      gemem_parts_dive (parts, part.bound, 0, GEMEM_DIVE_KINDS, NULL);
      const gint64 before = own->top;
      gemem_parts_stack_peak (parts, part.bound, NULL);
      test_assert_placed (own);
      g_assert_cmpint (own->top, <=, before);
      g_assert_true ((own->stage == GEMEM_STAGE_PEAK) == (own->top < before));
      gained += own->top < before;
    }
  g_test_message ("%u of %u gained", gained, TRIALS);
  g_assert_cmpuint (gained, >=, TRIALS / 10);
}

/* Where all columns are full, nothing is tried. */
static void
test_full (void)
{
  GememBox boxes[3] = { { .size = 2, .unit = 1, .first = 0, .last = 1 },
                        { .size = 1, .unit = 1, .offset = 1, .first = 0, .last = 2 },
                        { .size = 2, .unit = 1, .offset = 2, .first = 1, .last = 2 } };
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (GememPart));
  const GememPart part = { .boxes = { boxes, 3, 2 }, .bound = 3, .top = 4, .grain = 1 };

  g_array_append_val (parts, part);
  gemem_parts_stack_peak (parts, 3, NULL);
  g_assert_cmpint (g_array_index (parts, GememPart, 0).top, ==, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/optimal/peak/mountains", test_mountains);
  g_test_add_func ("/optimal/peak/full", test_full);
  return g_test_run ();
}
