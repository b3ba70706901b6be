/* check.h - is a plan safe?  Every plan is checked before it is believed, reported or replayed.
 *
 * Against lifetimes: no two items share a byte while both are alive.  Against a graph: the stronger
 * rules of ge-static.md 9.2, true for any timing of the streams: whoever reuses bytes starts only
 * after everybody who used them is known to have finished; references lie where what they refer to
 * lies; continuous members are adjacent; offsets keep the alignment; everything ends inside its
 * space.
 *
 * Method: items in the order of their begin; per space (and batch label) an ordered map of who had
 * each byte last.  "After" is transitive, so that comparing neighbours in time per byte range is
 * enough.  O(n log n), memory linear.
 */
#pragma once

#include "base/macros.h"
#include "planners/planner.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_VIOLATION_OVERLAP, /* two items alive at once share bytes */
  GEMEM_VIOLATION_STREAM,  /* they share bytes and nothing orders their streams */
  GEMEM_VIOLATION_ALIGNMENT,
  GEMEM_VIOLATION_REFERENCE,  /* a reference lies elsewhere than what it refers to */
  GEMEM_VIOLATION_CONTINUOUS, /* members of a continuous group are not adjacent */
  GEMEM_VIOLATION_FIXED,      /* an offset that was given is not kept */
  GEMEM_VIOLATION_OUTSIDE,    /* ends outside the arena of its space */
  GEMEM_VIOLATION_MISSING,    /* an item that needs memory has no offset */
  GEMEM_VIOLATION_SIZE,       /* less bytes than the item needs */
  GEMEM_VIOLATION_COUNT
} GememViolationKind;

typedef struct
{
  GememViolationKind kind;
  guint32 first, second; /* items; second GEMEM_NONE where there is one only */
  char *text;            /* names both items, both lifetimes, both ranges */
} GememViolation;

const char *gemem_violation_name (GememViolationKind kind);

/* At most @max violations (GememViolation), in the order found; an empty array: the plan is safe.
 * Fills plan->reused.
 * @input as for gemem_planner_run(): with a graph the graph's rules, else those of lifetimes. */
GPtrArray *gemem_plan_check (GememPlan *plan, const GememPlanInput *input, guint max);
/* The same as an error: GEMEM_ERROR_INVARIANT with the first violation and how many there are. */
gboolean gemem_plan_verify (GememPlan *plan, const GememPlanInput *input, GError **error);

GEMEM_END_DECLS
