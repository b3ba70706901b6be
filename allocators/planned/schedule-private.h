/* schedule-private.h - what making a schedule and serving it share. */
#pragma once

#include "allocators/planned/schedule.h"
#include "base/idmap.h"
#include "base/slab.h"
#include "base/units.h"

struct _GememSchedule
{
  GememSequence *sequence;
  GememPlannedPlace *places;
  guint32 n, step;           /* requests; position of the first of the step */
  GememPlannedPlace *second; /* for requests that come again before what they got is released */
  guint32 n_second;
  guint64 second_bytes;
  guint32 *due_first;  /* per position and one more: where its part of `due` begins */
  guint32 *due;        /* places, by when they are due */
  GememIdMap *streams; /* stream -> guint64: its part of the arena */
  guint64 *parts;      /* where each part begins, and the last ends */
  guint64 bytes, least;

  guint owners;
  guint32 passed; /* places that are due up to here are free, or late */
  guint32 live, late;
  guint64 steps, refused;
  GPtrArray *extra; /* blocks that are elsewhere than planned */
  GememSlab slab;   /* of these */
  GememGaps gaps;   /* while the program departs from the plan; else empty */
  gboolean departs, lives_unknown;
  guint32 departed; /* requests since */
};

/* Place @i of the requests, the second places and the blocks elsewhere. */
static inline GememPlannedPlace *
gemem_schedule_place_at (const GememSchedule *schedule, guint32 i)
{
  if (i < schedule->n)
    return &schedule->places[i];
  i -= schedule->n;
  return i < schedule->n_second ? &schedule->second[i]
                                : schedule->extra->pdata[i - schedule->n_second];
}

/* The program departs from the plan: the gaps are what lies between the live places. */
void gemem_schedule_depart (GememSchedule *schedule);
