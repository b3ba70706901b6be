/* placed.c - see placed.h. */
#include "config.h"

#include "tests/util/placed.h"

void
test_assert_placed (const GememPart *part)
{
  const GememBox *boxes = part->boxes.boxes;

  for (guint32 i = 0; i < part->boxes.n; i++)
    {
      g_assert_cmpint (boxes[i].offset, >=, 0);
      g_assert_cmpint (boxes[i].offset % boxes[i].unit, ==, 0);
      for (guint32 k = 0; k < i; k++)
        if (boxes[i].first < boxes[k].last && boxes[k].first < boxes[i].last)
          g_assert_true (boxes[i].offset + boxes[i].size <= boxes[k].offset
                         || boxes[k].offset + boxes[k].size <= boxes[i].offset);
    }
  g_assert_cmpint (gemem_boxes_top (&part->boxes), ==, part->top);
}
