/* occupancy.c - see occupancy.h. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "planners/occupancy.h"

typedef struct
{
  guint64 start, end;
} Range;

/* Disjoint ranges, ascending; no two touch. */
typedef struct
{
  Range *ranges;
  guint32 n, capacity;
} Ranges;

typedef struct
{
  const Range *at, *end;
} Cursor;

/* At most 2 x 32 nodes make up an interval and 2 x 32 lie above them; the rest is reserve. */
#define MOST_SETS 160

struct _GememOccupancy
{
  guint32 width; /* a power of two; node 1 is the root, node width + c is column c */
  Ranges *own, *below;
  Cursor cursors[MOST_SETS];
  guint n_cursors;
};

/* ---- sets of ranges */

/* The first range that ends at or behind @start. */
static guint32
find_range (const Ranges *set, guint64 start)
{
  guint32 low = 0, high = set->n;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (set->ranges[middle].end < start)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
replace_ranges (Ranges *set, guint32 first, guint32 last, Range range)
{
  const guint32 n = set->n - (last - first) + 1;

  if (n > set->capacity)
    {
      set->capacity = MAX (4, 2 * set->capacity);
      set->ranges = g_renew (Range, set->ranges, set->capacity);
    }
  memmove (set->ranges + first + 1, set->ranges + last, sizeof (Range) * (set->n - last));
  set->ranges[first] = range;
  set->n = n;
}

static void
add_range (Ranges *set, Range range)
{
  const guint32 first = find_range (set, range.start);
  guint32 last = first;

  while (last < set->n && set->ranges[last].start <= range.end)
    {
      range.start = MIN (range.start, set->ranges[last].start);
      range.end = MAX (range.end, set->ranges[last].end);
      last++;
    }
  replace_ranges (set, first, last, range);
}

/* ---- the tree */

GememOccupancy *
gemem_occupancy_new (guint32 n_columns)
{
  GememOccupancy *occupancy = g_new0 (GememOccupancy, 1);

  occupancy->width = 1;
  while (occupancy->width < n_columns)
    occupancy->width *= 2;
  occupancy->own = g_new0 (Ranges, 2 * (gsize) occupancy->width);
  occupancy->below = g_new0 (Ranges, 2 * (gsize) occupancy->width);
  return occupancy;
}

void
gemem_occupancy_free (GememOccupancy *occupancy)
{
  if (occupancy == NULL)
    return;
  for (gsize i = 0; i < 2 * (gsize) occupancy->width; i++)
    {
      g_free (occupancy->own[i].ranges);
      g_free (occupancy->below[i].ranges);
    }
  g_free (occupancy->own);
  g_free (occupancy->below);
  g_free (occupancy);
}

void
gemem_occupancy_take (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 start,
                      guint64 end)
{
  const Range range = { start, end };
  guint32 low = first + occupancy->width, high = last + occupancy->width;
  guint32 above_low = low, above_high = high - 1;

  for (; low < high; low /= 2, high /= 2)
    {
      if (low % 2 == 1)
        {
          add_range (&occupancy->own[low], range);
          add_range (&occupancy->below[low++], range);
        }
      if (high % 2 == 1)
        {
          add_range (&occupancy->own[--high], range);
          add_range (&occupancy->below[high], range);
        }
    }
  /* Every node above a node of the interval is above its first or last column.  Such a node may
   * itself be one of the interval's: then the range is added twice, which changes nothing. */
  for (above_low /= 2, above_high /= 2; above_low > 0; above_low /= 2, above_high /= 2)
    {
      add_range (&occupancy->below[above_low], range);
      if (above_high != above_low)
        add_range (&occupancy->below[above_high], range);
    }
}

static void
look_at (GememOccupancy *occupancy, const Ranges *set)
{
  if (set->n > 0)
    occupancy->cursors[occupancy->n_cursors++] = (Cursor){ set->ranges, set->ranges + set->n };
}

/* Sets cursors on all sets of bytes taken in columns [first, last). */
void
gemem_occupancy_look (GememOccupancy *occupancy, guint32 first, guint32 last)
{
  guint32 low = first + occupancy->width, high = last + occupancy->width;
  guint32 above_low = low / 2, above_high = (high - 1) / 2;

  occupancy->n_cursors = 0;
  for (; low < high; low /= 2, high /= 2)
    {
      if (low % 2 == 1)
        look_at (occupancy, &occupancy->below[low++]);
      if (high % 2 == 1)
        look_at (occupancy, &occupancy->below[--high]);
    }
  for (; above_low > 0; above_low /= 2, above_high /= 2) /* a node's `own` may be visited twice */
    {
      look_at (occupancy, &occupancy->own[above_low]);
      if (above_high != above_low)
        look_at (occupancy, &occupancy->own[above_high]);
    }
}

/* ---- questions */

/* The lowest offset >= @from with @size free bytes. */
static guint64
next_hole (GememOccupancy *occupancy, guint64 from, guint64 size, guint64 alignment)
{
  guint64 offset = gemem_round_up (from, alignment);
  guint quiet = 0; /* consecutive sets that did not move the offset */

  for (guint i = 0; quiet < occupancy->n_cursors; i = i + 1 < occupancy->n_cursors ? i + 1 : 0)
    {
      Cursor *cursor = &occupancy->cursors[i];
      const guint64 before = offset;

      while (cursor->at < cursor->end
             && (cursor->at->end <= offset || cursor->at->start < offset + size))
        {
          if (cursor->at->end > offset)
            offset = gemem_round_up (cursor->at->end, alignment);
          cursor->at++;
        }
      quiet = offset == before ? quiet + 1 : 1;
    }
  return offset;
}

/* After next_hole(): the first taken byte behind the hole; G_MAXUINT64 if there is none. */
static guint64
hole_end (const GememOccupancy *occupancy)
{
  guint64 end = G_MAXUINT64;

  for (guint i = 0; i < occupancy->n_cursors; i++)
    if (occupancy->cursors[i].at < occupancy->cursors[i].end)
      end = MIN (end, occupancy->cursors[i].at->start);
  return end;
}

guint64
gemem_occupancy_first_fit (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 size,
                           guint64 alignment)
{
  gemem_occupancy_look (occupancy, first, last);
  return next_hole (occupancy, 0, size, alignment);
}

guint64
gemem_occupancy_best_fit (GememOccupancy *occupancy, guint32 first, guint32 last, guint64 size,
                          guint64 alignment)
{
  guint64 best = G_MAXUINT64, best_offset = 0, from = 0;

  gemem_occupancy_look (occupancy, first, last);
  for (;;)
    {
      const guint64 offset = next_hole (occupancy, from, size, alignment),
                    end = hole_end (occupancy);

      if (end == G_MAXUINT64)
        return best != G_MAXUINT64 ? best_offset : offset;
      if (end - offset < best)
        {
          best = end - offset;
          best_offset = offset;
        }
      from = end;
    }
}

guint64
gemem_occupancy_gap (GememOccupancy *occupancy, guint64 from, guint64 *end)
{
  const guint64 start = next_hole (occupancy, from, 1, 1);

  *end = hole_end (occupancy);
  return start;
}
