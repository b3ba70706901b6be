/* rectangles.c - see rectangles.h.  Twice as many as are kept are collected, then the lesser half goes. */
#include "config.h"

#include "base/compare.h"
#include "sim/engine/rectangles.h"

typedef struct
{
  guint64 weight;
  GememHistoryBlock rectangle;
} Weighted;

void
gemem_rectangles_init (GememRectangles *self, const GememHistoryWish *wish)
{
  *self = (GememRectangles){ .wish = wish, .kept = g_array_new (FALSE, FALSE, sizeof (Weighted)) };
}

void
gemem_rectangles_clear (GememRectangles *self)
{
  g_clear_pointer (&self->kept, g_array_unref);
}

/* Whether @rectangle is there after the event of a moment. */
static gboolean
is_wanted (const GememHistoryWish *wish, const GememHistoryBlock *rectangle)
{
  guint from = 0, to = wish->n_moments;

  while (from < to)
    {
      const guint middle = from + (to - from) / 2;
      if (wish->moments[middle] < rectangle->begin)
        from = middle + 1;
      else
        to = middle;
    }
  return from < wish->n_moments && wish->moments[from] < rectangle->end;
}

static guint64
weight_of (const GememHistoryWish *wish, const GememHistoryBlock *rectangle)
{
  guint64 area;

  if (is_wanted (wish, rectangle))
    return G_MAXUINT64;
  if (__builtin_mul_overflow (rectangle->size, rectangle->end - rectangle->begin, &area))
    return G_MAXUINT64 - 1;
  return MIN (area, G_MAXUINT64 - 1);
}

static int
by_weight (gconstpointer a, gconstpointer b)
{
  const Weighted *left = a, *right = b;

  if (left->weight != right->weight)
    return left->weight > right->weight ? -1 : 1;
  if (left->rectangle.begin != right->rectangle.begin)
    return left->rectangle.begin < right->rectangle.begin ? -1 : 1;
  return gemem_compare_uint64 (&left->rectangle.address, &right->rectangle.address);
}

static int
by_birth (gconstpointer a, gconstpointer b)
{
  const GememHistoryBlock *left = a, *right = b;

  if (left->begin != right->begin)
    return left->begin < right->begin ? -1 : 1;
  return gemem_compare_uint64 (&left->address, &right->address);
}

static void
prune (GememRectangles *self)
{
  if (self->kept->len <= self->wish->most)
    return;
  g_array_sort (self->kept, by_weight);
  self->crowded |= g_array_index (self->kept, Weighted, self->wish->most).weight == G_MAXUINT64;
  self->left_out += self->kept->len - self->wish->most;
  g_array_set_size (self->kept, self->wish->most);
  if (self->kept->len > 0)
    self->bar = g_array_index (self->kept, Weighted, self->kept->len - 1).weight;
}

void
gemem_rectangles_add (GememRectangles *self, const GememHistoryBlock *rectangle)
{
  const Weighted weighted = { weight_of (self->wish, rectangle), *rectangle };

  if (weighted.weight < self->bar)
    {
      self->left_out++;
      return;
    }
  g_array_append_val (self->kept, weighted);
  if (self->kept->len / 2 >= self->wish->most)
    prune (self);
}

GArray *
gemem_rectangles_end (GememRectangles *self, guint64 *left_out, gboolean *crowded)
{
  GArray *all;

  prune (self);
  all = g_array_sized_new (FALSE, FALSE, sizeof (GememHistoryBlock), self->kept->len);
  for (guint i = 0; i < self->kept->len; i++)
    g_array_append_val (all, g_array_index (self->kept, Weighted, i).rectangle);
  g_array_sort (all, by_birth);
  *left_out = self->left_out;
  *crowded |= self->crowded;
  gemem_rectangles_clear (self);
  return all;
}
