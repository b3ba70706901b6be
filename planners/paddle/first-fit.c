/* first-fit.c - see first-fit.h. */
#include "config.h"

#include "base/units.h"
#include "planners/paddle/first-fit.h"

#define hole_at(fit, i) (&g_array_index ((fit)->holes, PaddleHole, (i)))

void
gemem_paddle_first_fit_init (PaddleFirstFit *fit)
{
  fit->holes = g_array_new (FALSE, FALSE, sizeof (PaddleHole));
  fit->top = 0;
}

void
gemem_paddle_first_fit_clear (PaddleFirstFit *fit)
{
  g_array_unref (fit->holes);
}

/* Removes [offset, end) from hole @i. */
static void
cut (PaddleFirstFit *fit, guint i, guint64 offset, guint64 end)
{
  const PaddleHole hole = *hole_at (fit, i);
  const PaddleHole before = { hole.begin, offset }, behind = { end, hole.end };

  g_array_remove_index (fit->holes, i);
  if (behind.begin < behind.end)
    g_array_insert_val (fit->holes, i, behind);
  if (before.begin < before.end)
    g_array_insert_val (fit->holes, i, before);
}

guint64
gemem_paddle_first_fit_allocate (PaddleFirstFit *fit, guint64 bytes, guint64 alignment)
{
  PaddleHole rest = { fit->top, 0 };
  guint64 offset;

  for (guint i = 0; i < fit->holes->len; i++)
    {
      offset = gemem_align_up (hole_at (fit, i)->begin, alignment);
      if (offset < hole_at (fit, i)->end && hole_at (fit, i)->end - offset >= bytes)
        {
          cut (fit, i, offset, offset + bytes);
          return offset;
        }
    }
  rest.end = gemem_align_up (fit->top, alignment);
  if (rest.begin < rest.end)
    g_array_append_val (fit->holes, rest);
  fit->top = rest.end + bytes;
  return rest.end;
}

/* The first hole that begins at or behind @offset. */
static guint
find_hole (const PaddleFirstFit *fit, guint64 offset)
{
  guint low = 0, high = fit->holes->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (hole_at (fit, middle)->begin < offset)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
gemem_paddle_first_fit_release (PaddleFirstFit *fit, guint64 offset, guint64 bytes)
{
  PaddleHole hole = { offset, offset + bytes };
  guint i = find_hole (fit, offset);

  if (i < fit->holes->len && hole_at (fit, i)->begin == hole.end)
    {
      hole.end = hole_at (fit, i)->end;
      g_array_remove_index (fit->holes, i);
    }
  if (i > 0 && hole_at (fit, i - 1)->end == hole.begin)
    {
      hole.begin = hole_at (fit, i - 1)->begin;
      g_array_remove_index (fit->holes, --i);
    }
  if (hole.end == fit->top)
    fit->top = hole.begin;
  else
    g_array_insert_val (fit->holes, i, hole);
}
