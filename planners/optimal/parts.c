/* parts.c - cutting a space into parts, and placing them by dives; see parts.h. */
#include "config.h"

#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"
#include "planners/planner.h"

/* What lies between boxes that span everything is cut again, but large inputs not often. */
#define LARGE 10000
#define MAX_DEPTH 64

/* Stacks the boxes that span all columns; returns their height, and leaves the others in
 * @boxes. */
static gint64
stack (GememBoxes *boxes, gint64 base)
{
  const gint64 bottom = base;
  guint32 stacked = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    if (gemem_box_is_whole (&boxes->boxes[i], boxes))
      {
        const GememBox box = boxes->boxes[i];

        boxes->boxes[i] = boxes->boxes[stacked];
        boxes->boxes[stacked] = box;
        boxes->boxes[stacked++].offset = base;
        base += box.size;
      }
  boxes->boxes += stacked;
  boxes->n -= stacked;
  return base - bottom;
}

static void
cut (GArray *parts, GememBoxes boxes, gint64 base, guint depth, gboolean units)
{
  const guint deepest = boxes.n > LARGE ? 1 : MAX_DEPTH;

  gemem_boxes_compress (&boxes);
  while (boxes.n > 0)
    {
      GememBoxes inside = gemem_boxes_take_part (&boxes);
      const gint64 stacked = units ? 0 : stack (&inside, base);

      if (stacked > 0 && inside.n > 0 && depth < deepest)
        {
          cut (parts, inside, base + stacked, depth + 1, units);
          continue;
        }
      if (inside.n > 0)
        gemem_boxes_compress (&inside);
      GememPart part = {
        inside, base + stacked, 0, 0, units ? 1 : gemem_boxes_grain (&inside), GEMEM_STAGE_STACK, 0
      };
      part.bound = inside.n > 0 ? gemem_boxes_load (&inside) : 0;
      g_array_append_val (parts, part);
    }
}

GArray *
gemem_parts_new (GememBoxes boxes)
{
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (GememPart));

  cut (parts, boxes, 0, 0, gemem_boxes_have_units (&boxes));
  return parts;
}

gint64
gemem_parts_bound (const GArray *parts)
{
  gint64 bound = 0;

  for (guint i = 0; i < parts->len; i++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, i);

      bound = MAX (bound, part->base + part->bound);
    }
  return bound;
}

gint64
gemem_parts_top (const GArray *parts)
{
  gint64 top = 0;

  for (guint i = 0; i < parts->len; i++)
    {
      const GememPart *part = &g_array_index (parts, GememPart, i);

      top = MAX (top, part->base + part->top);
    }
  return top;
}

gboolean
gemem_part_take (GememPart *part, gint64 top, const gint64 *offsets)
{
  if (top >= part->top)
    return FALSE;
  for (guint32 i = 0; i < part->boxes.n; i++)
    part->boxes.boxes[i].offset = offsets[i];
  part->top = top;
  return TRUE;
}

static void
dive_part (GememPart *part, gint64 goal, guint from, guint to, const GememStop *stop)
{
  g_autoptr (GememDive) dive = gemem_dive_new (&part->boxes);
  g_autofree gint64 *offsets = g_new (gint64, (gsize) part->boxes.n + 1);

  gemem_dive_watch (dive, stop != NULL ? stop->share : NULL);
  part->top = from == 0 ? G_MAXINT64 : part->top;
  part->stage = GEMEM_STAGE_DIVE;
  for (guint kind = from; kind < to && part->top > goal; kind++)
    {
      gemem_dive_prepare (dive, &part->boxes, kind);
      const gint64 top = gemem_dive_run (dive, part->top, offsets);

      if (gemem_part_take (part, top, offsets))
        part->kind = kind;
      if (gemem_stop_reason (stop) != NULL)
        return;
    }
}

void
gemem_parts_dive (GArray *parts, gint64 goal, guint from, guint to, const GememStop *stop)
{
  for (guint i = 0; i < parts->len; i++)
    {
      GememPart *part = &g_array_index (parts, GememPart, i);

      if (part->boxes.n > 0 && (from == 0 || part->top > goal - part->base))
        dive_part (part, goal - part->base, from, to, stop);
    }
}
