/* plan-segments.c - see plan-segments.h.  Origin: ge-runtime.md 3.2; ge-static.md 8.1. */
#include "config.h"

#include "graphs/graph.h"
#include "planners/plan-segments.h"

static gboolean
on_device (guint64 space)
{
  return space == GEMEM_MEMORY_DEFAULT || space == GEMEM_MEMORY_HBM;
}

static int
compare_bases (gconstpointer x, gconstpointer y)
{
  const GememPlanSegment *a = x, *b = y;

  return (a->base > b->base) - (a->base < b->base);
}

/* The segments at which the planner lets the run time cut, by base. */
static GArray *
cuts_of_planner (const GememPlan *plan)
{
  GArray *cuts = g_array_new (FALSE, FALSE, sizeof (GememPlanSegment));

  for (guint i = 0; i < plan->segments->len; i++)
    {
      const GememPlanSegment *segment = &g_array_index (plan->segments, GememPlanSegment, i);

      if (on_device (segment->space) && segment->size > 0)
        g_array_append_vals (cuts, segment, 1);
    }
  g_array_sort (cuts, compare_bases);
  return cuts;
}

/* The items in device memory, by base. */
static GArray *
items_of (const GememPlan *plan)
{
  GArray *items = g_array_new (FALSE, FALSE, sizeof (GememPlanSegment));

  for (guint32 i = 0; i < plan->n_items; i++)
    {
      const GememPlanSegment item = { .base = plan->offsets[i], .size = plan->sizes[i] };

      if (item.size > 0 && item.base != GEMEM_NO_OFFSET
          && (plan->spaces == NULL || on_device (plan->spaces[i])))
        g_array_append_val (items, item);
    }
  g_array_sort (items, compare_bases);
  return items;
}

/* The items whose base no other item covers. */
static GArray *
cuts_between_items (const GememPlan *plan)
{
  GArray *items = items_of (plan);
  guint64 end = 0;
  guint n = 0;

  for (guint i = 0; i < items->len; i++)
    {
      const GememPlanSegment item = g_array_index (items, GememPlanSegment, i);

      if (item.base >= end)
        g_array_index (items, GememPlanSegment, n++) = item;
      end = MAX (end, item.base + item.size);
    }
  g_array_set_size (items, n);
  return items;
}

static GArray *
gather (const GArray *cuts, guint64 split, guint64 total)
{
  GArray *segments = g_array_new (FALSE, FALSE, sizeof (GememPlanSegment));
  GememPlanSegment *last = NULL;

  for (guint i = 0; i < cuts->len; i++)
    {
      const GememPlanSegment *cut = &g_array_index (cuts, GememPlanSegment, i);
      const GememPlanSegment next = { .space = cut->space,
                                      .base = last == NULL ? 0 : cut->base,
                                      .fixed = cut->fixed,
                                      .zero_copy = cut->zero_copy };

      if (last != NULL && cut->base - last->base < split && cut->zero_copy == last->zero_copy)
        {
          last->fixed |= cut->fixed;
          continue;
        }
      if (last != NULL)
        last->size = cut->base - last->base;
      g_array_append_val (segments, next);
      last = &g_array_index (segments, GememPlanSegment, segments->len - 1);
    }
  if (last != NULL)
    last->size = total - last->base;
  return segments;
}

GArray *
gemem_plan_segments (const GememPlan *plan, guint64 split, guint64 *elsewhere)
{
  g_autoptr (GArray) cuts = cuts_of_planner (plan);
  guint64 total = 0;

  *elsewhere = 0;
  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *part = &g_array_index (plan->totals, GememPlanTotal, i);

      *(on_device (part->space) ? &total : elsewhere) += part->bytes;
    }
  if (cuts->len == 0)
    {
      g_array_unref (cuts);
      cuts = cuts_between_items (plan);
    }
  return gather (cuts, split, total);
}
