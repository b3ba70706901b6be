/* planned-private.h - what the files of `planned` share: its state, and what each does for the others.
 *
 * Invariants: as planned.c says; `past` and `numbers` are there together, while it learns.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/planned/schedule.h"
#include "base/idmap.h"

#define GEMEM_PLANNED_FIRST_LOOK 256 /* requests, until it first looks for steps */

typedef struct
{
  GememAllocator base;
  GememAllocator *fallback;
  char *fallback_text; /* as the setting has it */
  GememChoice *planner;
  gboolean learns;   /* from the run */
  gboolean always;   /* plans are not judged */
  GememSteps learnt; /* from a recording */
  guint64 small;     /* requests of so many bytes are in no plan */

  GememPast *past; /* NULL: nothing is learnt */
  GememIdMap
      *numbers; /* address of a live block of `past` -> guint64: its number, ASIDE for one aside */
  guint32 look; /* requests of the past at which it looks for steps */

  GememSchedule *schedule; /* NULL: no plan */
  guint32 start;           /* learning: the request of the past with which the plan begins */
  guint64 arena;           /* 0: the plan is not in use */
  GPtrArray *waiting;      /* places that were freed while other streams may use them */
  guint64 stretch, stretch_served; /* requests of late, and those in their place */
  guint64 judged_at;               /* requests */
  guint32 settles;  /* requests until the first step that it serves is over; 0: it is */
  gboolean retires; /* the plan serves no more, and goes with its last block */

  guint64 served, fitted, passed_on, plans, given_up, retries;
  guint64 without_gain; /* plans that would need more than the fallback alone */
} GememPlanned;

/* Without plan and planner, as which it is its fallback; destroyed as an allocator. */
GememPlanned *gemem_planned_new (const char *fallback, GememDevice *device, GError **error);

/* Takes the memory of the plan in the middle of a run: what the fallback has cached goes before, and once more a step later. */
void gemem_planned_begin (GememPlanned *self);

/* ---- planned-learning.c: what the running program shows */

void gemem_planned_begin_to_learn (GememPlanned *self);
void gemem_planned_end_learning (GememPlanned *self);
/* A request is about to be served, while it learns: the plan begins with it, or steps are looked for. */
void gemem_planned_learn_before (GememPlanned *self);
/* @request was served with @block, while it learns. */
void gemem_planned_learn_request (GememPlanned *self, const GememRequest *request,
                                  const GememBlock *block);
/* @block was released, while it learns. */
void gemem_planned_learn_release (GememPlanned *self, const GememBlock *block);

/* The program emptied the cache, or released private pool @pool, not 0. */
void gemem_planned_learn_emptied (GememPlanned *self, guint32 pool);

/* Serves @past once more with the plan from request @start on, and without, and gives the plan up if more
 * memory is held at most from request @from on.  Nothing where all plans are taken, or the fallback caches nothing.  O(n), on
 * simulated devices. */
void gemem_planned_judge (GememPlanned *self, const GememPast *past, guint32 start, guint32 from);

/* ---- planned-report.c: what there is, for checks and statistics; as GememAllocatorClass says */

void gemem_planned_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
guint64 gemem_planned_largest_free (GememAllocator *allocator, guint64 stream);
gboolean gemem_planned_check (GememAllocator *allocator, GError **error);
void gemem_planned_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
