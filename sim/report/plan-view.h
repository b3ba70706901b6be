/* plan-view.h - a plan as rectangles, one per item, time across, address up; the basis of drawings
 * for files and terminals.
 *
 * Spaces (memory types) are stacked.  An item with gaps is several rectangles.  Items that share memory by reference and have the same place
 * and lifetime are one rectangle.
 */
#pragma once

#include "sim/report/plan-report.h"

typedef struct
{
  guint64 begin, end; /* steps, half-open */
  guint64 from, to;   /* bytes from the start of the arena */
  guint32 item;
} GememPlanRect;

typedef struct
{
  const GememPlanResult *result;
  GArray *rects; /* GememPlanRect, in order of the items */
  guint64 steps; /* width in steps, > 0 */
  guint64 top;   /* height in bytes, > 0 */
} GememPlanView;

/* @result must outlive the view. */
void gemem_plan_view_init (GememPlanView *view, const GememPlanResult *result);
void gemem_plan_view_clear (GememPlanView *view);
/* "conv1", "conv1:1" (second output), "conv1 workspace", "17" (id of a trace), "b1" (name in a table). */
char *gemem_plan_view_item (const GememPlanView *view, guint32 item);
/* "arena 813 KiB, lower bound 795 KiB (overhead 1.023), 1000 rectangles" */
char *gemem_plan_view_facts (const GememPlanView *view);
