/* schedule.c - serves a schedule; see schedule.h.  schedule-make.c makes it. */
#include "config.h"

#include "allocators/planned/schedule-private.h"

GememSchedule *
gemem_schedule_ref (GememSchedule *schedule)
{
  schedule->owners++;
  return schedule;
}

void
gemem_schedule_free (GememSchedule *schedule)
{
  if (--schedule->owners > 0)
    return;
  gemem_gaps_clear (&schedule->gaps);
  gemem_slab_clear (&schedule->slab);
  g_ptr_array_unref (schedule->extra);
  g_free (schedule->second);
  gemem_idmap_free (schedule->streams);
  gemem_sequence_free (schedule->sequence);
  g_free (schedule->places);
  g_free (schedule->parts);
  g_free (schedule->due_first);
  g_free (schedule->due);
  g_free (schedule);
}

void
gemem_schedule_rewind (GememSchedule *schedule)
{
  while (schedule->extra->len > 0)
    gemem_slab_free (&schedule->slab,
                     g_ptr_array_steal_index_fast (schedule->extra, schedule->extra->len - 1));
  for (guint32 i = 0; i < schedule->n + schedule->n_second; i++)
    {
      GememPlannedPlace *place = gemem_schedule_place_at (schedule, i);

      place->size = 0;
      place->live = place->is_late = place->shared = place->pending = FALSE;
    }
  gemem_gaps_clear (&schedule->gaps);
  gemem_gaps_init (&schedule->gaps);
  gemem_sequence_rewind (schedule->sequence);
  schedule->passed = schedule->live = schedule->late = schedule->departed = 0;
  schedule->steps = schedule->refused = 0;
  schedule->departs = FALSE;
}

/* ---- following the program */

void
gemem_schedule_depart (GememSchedule *schedule)
{
  const guint32 n_parts = (guint32) gemem_idmap_count (schedule->streams);

  schedule->departs = TRUE;
  schedule->departed = 0;
  for (guint32 part = 0; part < n_parts; part++)
    gemem_gaps_add (&schedule->gaps, part, schedule->parts[part],
                    schedule->parts[part + 1] - schedule->parts[part]);
  for (guint32 i = 0; i < schedule->n + schedule->n_second; i++)
    {
      const GememPlannedPlace *place = gemem_schedule_place_at (schedule, i);

      if (place->live)
        gemem_gaps_take (&schedule->gaps, place->part, place->offset, place->size);
    }
}

/* The program follows the plan again, unless it was a short time ago that it did. */
static void
may_return (GememSchedule *schedule)
{
  if (schedule->lives_unknown || schedule->late > 0 || schedule->extra->len > 0
      || schedule->departed < schedule->n)
    return;
  schedule->departs = FALSE;
  gemem_gaps_clear (&schedule->gaps);
  gemem_gaps_init (&schedule->gaps);
}

/* What was due up to position @to, and is not free, is late. */
static void
pass (GememSchedule *schedule, guint32 to)
{
  const guint32 end = schedule->due_first[to + 1];

  for (guint32 i = schedule->due_first[schedule->passed + 1]; i < end; i++)
    {
      GememPlannedPlace *place = &schedule->places[schedule->due[i]];

      if (G_UNLIKELY (place->live && !place->is_late))
        {
          place->is_late = TRUE;
          schedule->late++;
        }
    }
  schedule->passed = to;
}

static void
go_to (GememSchedule *schedule, guint32 position)
{
  if (position < schedule->passed)
    {
      pass (schedule, schedule->n);
      schedule->passed = schedule->step;
      schedule->steps++;
    }
  pass (schedule, position);
  if (G_UNLIKELY (schedule->late > 0 && !schedule->departs))
    gemem_schedule_depart (schedule);
}

/* Whether the first @size bytes of @place are free; then they are no more. */
static gboolean
take_bytes (GememSchedule *schedule, GememPlannedPlace *place, guint64 size)
{
  if (G_UNLIKELY (place->live))
    return FALSE;
  place->size = size;
  return G_LIKELY (!schedule->departs)
         || gemem_gaps_take (&schedule->gaps, place->part, place->offset, size);
}

GememPlannedPlace *
gemem_schedule_take (GememSchedule *schedule, guint64 size, guint64 stream)
{
  const guint64 own = gemem_align_up (size, GEMEM_PLANNED_UNIT);
  const guint32 position = gemem_sequence_follow (schedule->sequence, own, stream);
  GememPlannedPlace *place;

  schedule->departed += schedule->departs;
  if (G_UNLIKELY (position == GEMEM_NEVER))
    return NULL;
  go_to (schedule, position);
  place = &schedule->places[position];
  if (place->live && place->second != 0)
    place = &schedule->second[place->second - 1];
  if (G_UNLIKELY (!take_bytes (schedule, place, own)))
    {
      schedule->refused++;
      return NULL;
    }
  place->live = TRUE;
  schedule->live++;
  return place;
}

GememPlannedPlace *
gemem_schedule_fit (GememSchedule *schedule, guint64 size, guint64 stream)
{
  const guint64 own = gemem_align_up (size, GEMEM_PLANNED_UNIT);
  const guint64 *part = gemem_idmap_lookup (schedule->streams, stream);
  GememPlannedPlace *place;
  guint64 offset;

  if (part == NULL)
    return NULL;
  if (!schedule->departs)
    gemem_schedule_depart (schedule);
  if (!gemem_gaps_fit (&schedule->gaps, *part, own, &offset))
    return NULL;
  place = gemem_slab_alloc (&schedule->slab);
  *place = (GememPlannedPlace){ .offset = offset,
                                .size = own,
                                .stream = stream,
                                .part = (guint32) *part,
                                .due = schedule->extra->len,
                                .live = TRUE,
                                .is_extra = TRUE };
  g_ptr_array_add (schedule->extra, place);
  schedule->live++;
  return place;
}

static void
remove_extra (GememSchedule *schedule, GememPlannedPlace *place)
{
  GememPlannedPlace *last = schedule->extra->pdata[schedule->extra->len - 1];

  last->due = place->due;
  g_ptr_array_remove_index_fast (schedule->extra, place->due);
  gemem_slab_free (&schedule->slab, place);
}

void
gemem_schedule_release (GememSchedule *schedule, GememPlannedPlace *place)
{
  schedule->live--;
  if (G_UNLIKELY (schedule->departs))
    gemem_gaps_add (&schedule->gaps, place->part, place->offset, place->size);
  schedule->late -= place->is_late;
  if (place->is_extra)
    remove_extra (schedule, place);
  else
    place->live = place->is_late = place->shared = place->pending = FALSE;
  if (G_UNLIKELY (schedule->departs))
    may_return (schedule);
}

/* ---- questions */

guint64
gemem_schedule_bytes (const GememSchedule *schedule)
{
  return schedule->bytes;
}

guint64
gemem_schedule_least (const GememSchedule *schedule)
{
  return schedule->least;
}

guint32
gemem_schedule_length (const GememSchedule *schedule)
{
  return schedule->n;
}

guint32
gemem_schedule_step_length (const GememSchedule *schedule)
{
  return schedule->n - schedule->step;
}

guint64
gemem_schedule_steps (const GememSchedule *schedule)
{
  return schedule->steps;
}

guint32
gemem_schedule_live (const GememSchedule *schedule)
{
  return schedule->live;
}

guint64
gemem_schedule_refused (const GememSchedule *schedule)
{
  return schedule->refused;
}

guint32
gemem_schedule_extra (const GememSchedule *schedule)
{
  return schedule->n_second + schedule->extra->len;
}

const GememPlannedPlace *
gemem_schedule_place (const GememSchedule *schedule, guint32 i)
{
  return gemem_schedule_place_at (schedule, i);
}
