/* step-plan.h - the plan of a step in a file, as STAlloc writes and reads it: offset and size of each request, in order.
 *
 *   0 3                                malloc ids, from 0, that are never released
 *   4096 6144 5 3 512                  peak of what is live; bytes; requests before the first step; in
 *                                      a step; peak of what is live of small requests
 *   0 1024                             offset and size of a request
 *   ...
 *
 * Small requests, of GEMEM_STEP_PLAN_SMALL bytes and fewer, are in no plan.
 *
 * Invariants: there are `before` + one place at least; no place ends behind `bytes`.  What is in
 * a file tells nothing about when blocks are released, so that two places may overlap.
 * Cost: 16 bytes a request.  Origin: peers.md 1f.
 */
#pragma once

#include "allocators/planned/past.h"
#include "allocators/planned/steps.h"
#include "base/macros.h"
#include "planners/planner.h"

GEMEM_BEGIN_DECLS

#define GEMEM_STEP_PLAN_SMALL 512

typedef struct
{
  guint64 offset, size; /* bytes */
} GememStepPlace;

typedef struct
{
  GArray *places; /* GememStepPlace */
  GArray *kept;   /* guint32: places that are never released */
  guint32 before; /* places before the first step; the others are a step */
  guint64 peak;   /* bytes that are live at most */
  guint64 bytes;  /* of all places */
  guint64 small;  /* bytes that are live at most of small requests */
} GememStepPlan;

void gemem_step_plan_free (GememStepPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememStepPlan, gemem_step_plan_free)

/* A plan by @planner of the step with the largest peak of the recording in @path, and of what comes before its steps.
 * Errors: as of gemem_past_read() and gemem_schedule_new(); GEMEM_ERROR_INPUT where no step is found. */
GememStepPlan *gemem_step_plan_make (const char *path, const GememChoice *planner, GError **error);
void gemem_step_plan_write (GString *out, const GememStepPlan *plan);
/* Errors: GEMEM_ERROR_INPUT "FILE:LINE: ...". */
GememStepPlan *gemem_step_plan_read (const char *path, GError **error);

GEMEM_END_DECLS
