/* schedule.c - see schedule.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/planned/schedule.h"
#include "base/idmap.h"
#include "base/units.h"
#include "planners/check.h"

struct _GememSchedule
{
  GememSequence *sequence;
  GememPlannedPlace *places;
  guint32 n, step;     /* requests; position of the first of the step */
  guint32 *due_first;  /* per position and one more: where its part of `due` begins */
  guint32 *due;        /* places, by when they are due */
  GememIdMap *streams; /* stream -> guint64: its part of the arena */
  guint64 *parts;      /* where each part begins, and the last ends */
  guint64 bytes, least;

  guint32 passed; /* places that are due up to here are free, or late */
  guint32 live, late;
  guint64 steps, refused;
  GPtrArray *extra; /* blocks that are elsewhere than planned */
  GememSlab slab;   /* of these */
  GememGaps gaps;   /* while the program departs from the plan; else empty */
  gboolean departs, lives_unknown;
  guint32 departed; /* requests since */
};

/* ---- making it */

/* The sequence as lifetimes; fills the places but for their offsets. */
typedef struct
{
  GememSchedule *schedule;
  const GememPast *past;
  const GememSteps *steps;
  GememLifetimes *lifetimes;
} Making;

static guint32
part_of (GememSchedule *schedule, guint64 stream)
{
  gboolean known;
  guint64 *part = gemem_idmap_insert (schedule->streams, stream, &known);

  if (!known)
    *part = gemem_idmap_count (schedule->streams) - 1;
  return (guint32) *part;
}

/* Request @i of the past is at @position; it is released before the request at @due. */
static void
add_place (Making *making, guint32 i, guint32 position, guint32 begin, guint32 due)
{
  const GememPastRequest *request = gemem_past_get (making->past, i);
  GememPlannedPlace *place = &making->schedule->places[position];
  const guint64 size = gemem_align_up (request->size, GEMEM_PLANNED_UNIT);
  const guint32 end = due != GEMEM_NEVER ? due : making->schedule->n;

  *place = (GememPlannedPlace){ .stream = request->stream,
                                .part = part_of (making->schedule, request->stream),
                                .due = due };
  gemem_sequence_set (making->schedule->sequence, position, size, place->stream);
  gemem_lifetimes_add (making->lifetimes, begin, end, size);
  gemem_lifetimes_get (making->lifetimes, position)->space = place->part;
}

/* Position before which a request from before the steps is released. */
static guint32
due_of_beginning (const Making *making, guint32 released)
{
  const GememSteps *steps = making->steps;
  const guint32 first = steps->first + steps->cut;

  if (released <= first)
    return released;
  if (released > steps->first_end + steps->cut)
    return GEMEM_NEVER;
  return first + MIN (released - first, steps->end - steps->begin);
}

/* Adds request @i of the step, which as part of a step that is cut has number @i + @later. */
static void
add_of_step (Making *making, guint32 i, guint32 later)
{
  const GememSteps *steps = making->steps;
  const guint32 step = making->schedule->step, begin = steps->begin + steps->cut;
  const guint32 released = gemem_past_get (making->past, i)->released;
  const guint32 position = step + (i + later - begin);

  if (released != GEMEM_NEVER && released + later <= steps->end + steps->cut)
    add_place (making, i, position, position, step + (released + later - begin));
  else
    add_place (making, i, position, step, GEMEM_NEVER);
}

static void
add_places (Making *making)
{
  const GememSteps *steps = making->steps;

  for (guint32 i = 0; i < making->schedule->step; i++)
    add_place (making, i, i, i,
               due_of_beginning (making, gemem_past_get (making->past, i)->released));
  for (guint32 i = steps->begin + steps->cut; i < steps->end; i++)
    add_of_step (making, i, 0);
  for (guint32 i = steps->begin; i < steps->begin + steps->cut; i++)
    add_of_step (making, i, steps->end - steps->begin);
}

/* Gives the places their offsets: the parts lie one behind another. */
static void
set_offsets (GememSchedule *schedule, const GememPlan *plan)
{
  const guint32 n_parts = (guint32) gemem_idmap_count (schedule->streams);

  schedule->parts = g_new0 (guint64, n_parts + 1);
  for (guint t = 0; t < plan->totals->len; t++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, t);

      schedule->parts[total->space + 1] = gemem_align_up (total->bytes, GEMEM_PLANNED_UNIT);
    }
  for (guint32 part = 0; part < n_parts; part++)
    schedule->parts[part + 1] += schedule->parts[part];
  for (guint32 i = 0; i < schedule->n; i++)
    schedule->places[i].offset = schedule->parts[schedule->places[i].part] + plan->offsets[i];
  schedule->bytes = schedule->parts[n_parts];
  schedule->least = plan->least != 0 ? plan->least : plan->lower_bound;
}

static gboolean
keeps_unit (const GememPlan *plan)
{
  for (guint32 i = 0; i < plan->n_items; i++)
    if (plan->offsets[i] % GEMEM_PLANNED_UNIT != 0)
      return FALSE;
  return TRUE;
}

static gboolean
make_plan (GememSchedule *schedule, const GememLifetimes *lifetimes, const GememChoice *planner,
           GError **error)
{
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  g_autoptr (GememPlan) plan = gemem_planner_run (planner, &input, error);

  if (plan == NULL || !gemem_plan_verify (plan, &input, error))
    return FALSE;
  if (keeps_unit (plan))
    {
      set_offsets (schedule, plan);
      return TRUE;
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "planner %s: its offsets are no multiples of %d bytes, which blocks of GPUs need",
               plan->planner, (int) GEMEM_PLANNED_UNIT);
  return FALSE;
}

static void
list_due (GememSchedule *schedule)
{
  guint32 *first = g_new0 (guint32, schedule->n + 2), sum = 0;

  for (guint32 i = 0; i < schedule->n; i++)
    if (schedule->places[i].due != GEMEM_NEVER)
      first[schedule->places[i].due]++;
  for (guint32 i = 0; i <= schedule->n + 1; i++)
    {
      const guint32 own = first[i];

      first[i] = sum;
      sum += own;
    }
  schedule->due = g_new (guint32, sum + 1);
  for (guint32 i = 0; i < schedule->n; i++)
    if (schedule->places[i].due != GEMEM_NEVER)
      schedule->due[first[schedule->places[i].due]++] = i;
  memmove (first + 1, first, sizeof (guint32) * (schedule->n + 1));
  first[0] = 0;
  schedule->due_first = first;
}

static GememSchedule *
empty_schedule (guint32 before, guint32 step)
{
  GememSchedule *schedule = g_new0 (GememSchedule, 1);

  schedule->step = before;
  schedule->n = before + step;
  schedule->places = g_new0 (GememPlannedPlace, schedule->n);
  schedule->sequence = gemem_sequence_new (schedule->n, schedule->step);
  schedule->streams = gemem_idmap_new (sizeof (guint64));
  schedule->extra = g_ptr_array_new ();
  gemem_slab_init (&schedule->slab, sizeof (GememPlannedPlace));
  gemem_gaps_init (&schedule->gaps);
  return schedule;
}

GememSchedule *
gemem_schedule_new (const GememPast *past, const GememSteps *steps, gboolean skips_beginning,
                    const GememChoice *planner, GError **error)
{
  const guint32 before = skips_beginning ? 0 : steps->first + steps->cut;
  GememSchedule *schedule = empty_schedule (before, steps->end - steps->begin);
  Making making = { schedule, past, steps, gemem_lifetimes_new ("a step") };
  gboolean ok;

  add_places (&making);
  ok = make_plan (schedule, making.lifetimes, planner, error);
  gemem_lifetimes_free (making.lifetimes);
  if (!ok)
    {
      gemem_schedule_free (schedule);
      return NULL;
    }
  list_due (schedule);
  gemem_sequence_seal (schedule->sequence);
  return schedule;
}

void
gemem_schedule_free (GememSchedule *schedule)
{
  gemem_gaps_clear (&schedule->gaps);
  gemem_slab_clear (&schedule->slab);
  g_ptr_array_unref (schedule->extra);
  gemem_idmap_free (schedule->streams);
  gemem_sequence_free (schedule->sequence);
  g_free (schedule->places);
  g_free (schedule->parts);
  g_free (schedule->due_first);
  g_free (schedule->due);
  g_free (schedule);
}

/* ---- following the program */

/* The gaps are what lies between the live places. */
static void
depart (GememSchedule *schedule)
{
  const guint32 n_parts = (guint32) gemem_idmap_count (schedule->streams);

  schedule->departs = TRUE;
  schedule->departed = 0;
  for (guint32 part = 0; part < n_parts; part++)
    gemem_gaps_add (&schedule->gaps, part, schedule->parts[part],
                    schedule->parts[part + 1] - schedule->parts[part]);
  for (guint32 i = 0; i < schedule->n; i++)
    {
      const GememPlannedPlace *place = &schedule->places[i];

      if (place->live)
        gemem_gaps_take (&schedule->gaps, place->part, place->offset, place->size);
    }
}

GememSchedule *
gemem_schedule_from_plan (const GememStepPlan *plan)
{
  GememSchedule *schedule = empty_schedule (plan->before, plan->places->len - plan->before);

  part_of (schedule, 0);
  for (guint32 i = 0; i < schedule->n; i++)
    {
      const GememStepPlace *place = &g_array_index (plan->places, GememStepPlace, i);

      schedule->places[i] = (GememPlannedPlace){ .offset = place->offset, .due = GEMEM_NEVER };
      gemem_sequence_set (schedule->sequence, i, gemem_align_up (place->size, GEMEM_PLANNED_UNIT),
                          0);
    }
  schedule->parts = g_new0 (guint64, 2);
  schedule->parts[1] = schedule->bytes = plan->bytes;
  schedule->least = plan->peak;
  schedule->lives_unknown = TRUE;
  list_due (schedule);
  gemem_sequence_seal (schedule->sequence);
  depart (schedule);
  return schedule;
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
    depart (schedule);
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
    depart (schedule);
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
  return schedule->extra->len;
}

const GememPlannedPlace *
gemem_schedule_place (const GememSchedule *schedule, guint32 i)
{
  return i < schedule->n ? &schedule->places[i] : schedule->extra->pdata[i - schedule->n];
}
