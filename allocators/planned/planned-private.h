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
  GememChoice *planner;
  gboolean learns;   /* from the run */
  GememSteps learnt; /* from a recording */
  guint64 small;     /* requests of so many bytes are in no plan */

  GememPast *past;     /* NULL: nothing is learnt */
  GememIdMap *numbers; /* address of a live block of `past` -> guint64: its number */
  guint32 look;        /* requests of the past at which it looks for steps */

  GememSchedule *schedule; /* NULL: no plan */
  guint32 start;           /* learning: the request of the past with which the plan begins */
  guint64 arena;           /* 0: the plan is not in use */
  GPtrArray *waiting;      /* places that were freed while other streams may use them */
  guint64 stretch, stretch_served; /* requests of late, and those in their place */
  guint64 judged_at;               /* requests */
  gboolean retires;                /* the plan serves no more, and goes with its last block */

  guint64 served, fitted, passed_on, plans, given_up, retries;
} GememPlanned;

/* Takes the memory of the plan; without it there is no plan. */
void gemem_planned_take_arena (GememPlanned *self);

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

/* ---- planned-report.c: what there is, for checks and statistics; as GememAllocatorClass says */

void gemem_planned_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data);
guint64 gemem_planned_largest_free (GememAllocator *allocator, guint64 stream);
gboolean gemem_planned_check (GememAllocator *allocator, GError **error);
void gemem_planned_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);
