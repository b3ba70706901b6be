/* schedule.h - a plan that is served by position: the next request of a program is mostly the next of
 * a sequence (sequence.h), and has its place.
 *
 * The sequence is what came before the steps of a past, once, and one step of it, again and again.
 *
 * What makes it safe, whatever the program does: while the program follows the plan, live blocks are
 * alive together in the plan, and so apart.  A block that lasts from one step to the next has bytes from
 * the beginning of the step to its release, and from its request on; one that is released only after the
 * same request came again has two places, by turns; what lasts longer has its bytes during the whole
 * step.  From the first block on that is kept longer than planned, and the
 * first that is not in the plan, the gaps between all live blocks are known: a place is served if it
 * lies in one, and what has no place, or one that is not free, goes into the gap that it fits best.
 * Streams share no bytes, because what one has freed the other may still use.
 *
 * Invariants: live places do not overlap; each is at a multiple of GEMEM_PLANNED_UNIT.
 * Cost: O(1) amortised a request that follows the plan, O(log n) otherwise; 100 bytes a request of the
 * sequence.
 * Origin: peers.md section 1f; what happens beside the plan is gemem's own.
 */
#pragma once

#include "allocators/planned/gaps.h"
#include "allocators/planned/sequence.h"
#include "allocators/planned/step-plan.h"
#include "allocators/planned/steps.h"
#include "planners/planner.h"

#define GEMEM_PLANNED_UNIT G_GUINT64_CONSTANT (512)

/* Of a request of the sequence, or of a block that is elsewhere than planned. */
typedef struct
{
  guint64 offset;
  guint64 size; /* live: bytes that the request needs, rounded up */
  guint64 stream;
  guint32 part; /* of the arena: that of the stream */
  /* it is released before the request at this position; GEMEM_NEVER: not in a step; is_extra: its
   * number among these */
  guint32 due;
  guint32 second; /* 1 + the number of its second place; 0: it has none */
  guint8 live, is_late, is_extra;
  guint8 shared;  /* other streams use it, too */
  guint8 pending; /* freed by the program, not yet by all streams */
} GememPlannedPlace;

typedef struct _GememSchedule GememSchedule;

/* A schedule of what is in @past before @steps->first, unless @skips_beginning, and of the step
 * that @steps chose, planned by @planner.  Errors: as of gemem_planner_run(), or GEMEM_ERROR_USAGE
 * where the planner's offsets are no multiples of GEMEM_PLANNED_UNIT. */
GememSchedule *gemem_schedule_new (const GememPast *past, const GememSteps *steps,
                                   gboolean skips_beginning, const GememChoice *planner,
                                   GError **error);
/* A schedule of @plan, for stream 0.  As nothing is known of the lives of its blocks, the gaps are known from the
 * beginning to the end. */
GememSchedule *gemem_schedule_from_plan (const GememStepPlan *plan);
/* Another owner; each ends with gemem_schedule_free(). */
GememSchedule *gemem_schedule_ref (GememSchedule *schedule);
void gemem_schedule_free (GememSchedule *schedule);
/* As if nothing had been served: no place is live.  Not of a plan from a file. */
void gemem_schedule_rewind (GememSchedule *schedule);

guint64 gemem_schedule_bytes (const GememSchedule *schedule);  /* of all places */
guint64 gemem_schedule_least (const GememSchedule *schedule);  /* that is possible, or a bound */
guint32 gemem_schedule_length (const GememSchedule *schedule); /* requests */
guint32 gemem_schedule_step_length (const GememSchedule *schedule); /* of these, in the step */
guint64 gemem_schedule_steps (const GememSchedule *schedule);       /* that were begun again */
guint32 gemem_schedule_live (const GememSchedule *schedule);        /* places that are not free */
guint64 gemem_schedule_refused (const GememSchedule *schedule);     /* places that were not free */

/* Second places, and blocks that are elsewhere than planned. */
guint32 gemem_schedule_extra (const GememSchedule *schedule);
/* Place @i of gemem_schedule_length() and, behind these, gemem_schedule_extra(). */
const GememPlannedPlace *gemem_schedule_place (const GememSchedule *schedule, guint32 i);

/* The place for the next request of the program, from now on live; NULL: none, or it is not free. */
GememPlannedPlace *gemem_schedule_take (GememSchedule *schedule, guint64 size, guint64 stream);
/* A place in the gap that the same request fits best, beside the plan; NULL: none. */
GememPlannedPlace *gemem_schedule_fit (GememSchedule *schedule, guint64 size, guint64 stream);
/* @place, which is live, is free; one of gemem_schedule_fit() is gone. */
void gemem_schedule_release (GememSchedule *schedule, GememPlannedPlace *place);
