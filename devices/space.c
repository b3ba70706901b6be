/* space.c - see space.h.
 *
 * The usual call takes from the front of a gap or extends its end, which changes no link.
 */
#include "config.h"

#include "devices/space.h"

static void
insert (GememSpace *space, guint64 start, guint64 end)
{
  GememGap *gap = gemem_slab_alloc (&space->slab);
  gap->start = start;
  gap->end = end;
  gemem_gaps_insert (&space->root, gap);
  space->gaps++;
}

static void
erase (GememSpace *space, GememGap *gap)
{
  gemem_gaps_remove (&space->root, gap);
  gemem_slab_free (&space->slab, gap);
  space->gaps--;
}

void
gemem_space_init (GememSpace *space)
{
  space->root = NULL;
  space->gaps = 0;
  gemem_slab_init (&space->slab, sizeof (GememGap));
  insert (space, GEMEM_SPACE_START, GEMEM_SPACE_END);
}

void
gemem_space_clear (GememSpace *space)
{
  gemem_slab_clear (&space->slab);
  space->root = NULL;
  space->gaps = 0;
}

guint64
gemem_space_find (const GememSpace *space, guint64 floor, guint64 size, guint64 alignment)
{
  if (floor >= GEMEM_SPACE_END || size >= GEMEM_SPACE_END || alignment > GEMEM_SPACE_END)
    return 0;
  return gemem_gaps_find (space->root, floor, size, alignment);
}

gboolean
gemem_space_take (GememSpace *space, guint64 address, guint64 size)
{
  GememGap *gap = gemem_gaps_at_or_below (space->root, address);
  guint64 end;

  if (gap == NULL || size == 0 || address >= gap->end || gap->end - address < size)
    return FALSE;
  end = address + size;
  if (address == gap->start && end == gap->end)
    erase (space, gap);
  else if (address == gap->start)
    {
      gap->start = end; /* the gap keeps its neighbours */
      gemem_gaps_refresh (space->root, end);
    }
  else
    {
      guint64 rest = gap->end;
      gap->end = address;
      gemem_gaps_refresh (space->root, gap->start);
      if (end < rest)
        insert (space, end, rest);
    }
  return TRUE;
}

void
gemem_space_give (GememSpace *space, guint64 address, guint64 size)
{
  guint64 end = address + size;
  GememGap *below = gemem_gaps_at_or_below (space->root, address),
           *above = gemem_gaps_at_or_below (space->root, end);
  gboolean joins_below = below != NULL && below->end == address,
           joins_above = above != NULL && above->start == end;

  g_assert (below == NULL || below->end <= address);
  g_assert (above == below || joins_above);
  if (joins_below)
    {
      if (joins_above)
        {
          end = above->end;
          erase (space, above);
        }
      below->end = end;
      gemem_gaps_refresh (space->root, below->start);
    }
  else if (joins_above)
    {
      above->start = address;
      gemem_gaps_refresh (space->root, address);
    }
  else
    insert (space, address, end);
}

gboolean
gemem_space_check (const GememSpace *space)
{
  guint64 last = 0, count = 0;
  return gemem_gaps_check (space->root, FALSE, &last, &count) && count == space->gaps
         && last <= GEMEM_SPACE_END;
}
