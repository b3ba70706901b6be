/* check.h - checks that a plan is safe.  Every plan is checked before it is reported or replayed.
 *
 * Against lifetimes: no two items share a byte while both are alive and, where there are gaps, use it; and places
 * that items have to have are kept.  Against a graph: the stronger
 * rules of ge-static.md 9.2, which hold for any timing of the streams.  A node that reuses bytes
 * starts only after all nodes that used them are known to have finished; a reference has the offset
 * of the item it refers to; continuous members are adjacent; offsets are aligned; every item ends
 * inside its space.
 *
 * Method: items are visited in the order of their begin; a map per space (and batch label) holds
 * the last owner of each byte.  "May follow" is transitive, so comparing with the last owner is
 * enough.
 * Cost: O(n log n), memory linear.
 */
#pragma once

#include "base/macros.h"
#include "planners/planner.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_VIOLATION_OVERLAP, /* two items alive at once share bytes */
  GEMEM_VIOLATION_STREAM,  /* two items share bytes and nothing orders their streams */
  GEMEM_VIOLATION_ALIGNMENT,
  GEMEM_VIOLATION_REFERENCE,  /* a reference does not have the offset of the item it refers to */
  GEMEM_VIOLATION_CONTINUOUS, /* members of a continuous group are not adjacent */
  GEMEM_VIOLATION_FIXED,      /* a prescribed offset is not kept */
  GEMEM_VIOLATION_OUTSIDE,    /* ends outside the arena of its space */
  GEMEM_VIOLATION_MISSING,    /* an item that needs memory has no offset */
  GEMEM_VIOLATION_SIZE,       /* fewer bytes than the item needs */
  GEMEM_VIOLATION_COUNT
} GememViolationKind;

typedef struct
{
  GememViolationKind kind;
  guint32 first, second; /* items; `second` is GEMEM_NONE if only one is concerned */
  char *text;            /* names both items, both lifetimes, both ranges */
} GememViolation;

/* "overlap", "stream"...: the kind in reports and JSON. */
const char *gemem_violation_name (GememViolationKind kind);

/* The violations of @plan: GememViolation, at most @max, in the order found; an empty array if the
 * plan is safe.  Free with g_ptr_array_unref().  Fills plan->reused.
 * @input as for gemem_planner_run(): with a graph the rules of graphs apply, else those of
 * lifetimes.  O(n log n). */
GPtrArray *gemem_plan_check (GememPlan *plan, const GememPlanInput *input, guint max);
/* TRUE if @plan is safe.  Errors: GEMEM_ERROR_INVARIANT with the first violation and the total. */
gboolean gemem_plan_verify (GememPlan *plan, const GememPlanInput *input, GError **error);

GEMEM_END_DECLS
