/* guillotine.c - instances whose least peak is known; see guillotine.h. */
#include "config.h"

#include "base/rng.h"
#include "tests/util/guillotine.h"

typedef struct
{
  guint64 begin, end, low, high;
} Box;

/* Cuts @box in two; returns the other part.  FALSE if it is too small. */
static gboolean
cut (Box *box, gboolean in_time, GememRng *rng, Box *other)
{
  const guint64 extent = in_time ? box->end - box->begin : box->high - box->low;

  if (extent < 2)
    return FALSE;
  const guint64 at = 1 + gemem_rng_below (rng, extent - 1);
  *other = *box;
  if (in_time)
    box->end = other->begin = box->begin + at;
  else
    box->high = other->low = box->low + at;
  return TRUE;
}

static void
shuffle (GArray *boxes, GememRng *rng)
{
  for (guint i = boxes->len; i > 1; i--)
    {
      Box *one = &g_array_index (boxes, Box, i - 1);
      Box *two = &g_array_index (boxes, Box, gemem_rng_below (rng, i));
      const Box swapped = *one;

      *one = *two;
      *two = swapped;
    }
}

GememLifetimes *
test_guillotine (guint64 seed, guint n, guint64 steps, guint64 height, guint left_out)
{
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (Box));
  GememLifetimes *lifetimes = gemem_lifetimes_new ("guillotine");
  const Box whole = { 0, steps, 0, height };
  GememRng rng;

  gemem_rng_init (&rng, seed, "guillotine");
  g_array_append_val (boxes, whole);
  for (guint tries = 0; boxes->len < n && tries < 20 * n; tries++)
    {
      const guint64 which = gemem_rng_below (&rng, boxes->len); /* one draw a statement: C leaves
                                                                 * the order of arguments open */
      const gboolean in_time = gemem_rng_below (&rng, 2) == 0;
      Box other;

      if (cut (&g_array_index (boxes, Box, which), in_time, &rng, &other))
        g_array_append_val (boxes, other);
    }
  shuffle (boxes, &rng);
  for (guint i = 0; i < boxes->len; i++)
    {
      const Box *box = &g_array_index (boxes, Box, i);

      if (gemem_rng_below (&rng, 100) >= left_out)
        gemem_lifetimes_add (lifetimes, box->begin, box->end, box->high - box->low);
    }
  return lifetimes;
}
