/* effort.h - how long a search may go on: a number of steps, so that the same input gives the same plan;
 * and what ends it before, which is not repeatable.
 */
#pragma once

#include "planners/planner.h"

typedef struct
{
  const gint *interrupted; /* as in GememPlanInput */
  guint64 (*clock) (void); /* NULL: any time will do */
  guint64 until;           /* of `clock` */
  gint *share;             /* as in GememPlanInput, of the dive at hand; NULL: nobody asks */
} GememStop;

typedef struct
{
  guint64 steps; /* left to spend */
  const GememStop *stop;
} GememEffort;

/* What says that the search must end: "interrupted", "time"; NULL: nothing.  @stop may be NULL. */
static inline const char *
gemem_stop_reason (const GememStop *stop)
{
  if (stop == NULL)
    return NULL;
  if (gemem_plan_is_unwanted (stop->interrupted))
    return "interrupted";
  return stop->clock != NULL && stop->clock () >= stop->until ? "time" : NULL;
}
