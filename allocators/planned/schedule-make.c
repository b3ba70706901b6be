/* schedule-make.c - from a past and its steps to a schedule: the lives of the requests of a step, and a plan
 * of them.
 *
 * A block that lasts into the next step has its bytes from the beginning of the step to its release, and again
 * from its request on: in its life is a gap.  A request that comes again before what it got is released gets two
 * places, by turns; where these take much, two steps are planned as one, in which such blocks come and go.
 *
 * Cost: a plan, two where gaps may save memory, four where two steps are joined.
 */
#include "config.h"

#include <string.h>

#include "allocators/planned/schedule-private.h"
#include "planners/check.h"

#define MUCH 256 /* of the bytes of a plan */

/* The sequence as lifetimes; fills the places but for their offsets. */
typedef struct
{
  GememSchedule *schedule;
  const GememPast *past;
  const GememSteps *steps;
  guint32 period; /* requests of one step, also where @steps are of two */
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

/* How many requests came between request @i of the past and its release; GEMEM_NEVER. */
static guint32
life_of (const GememPast *past, guint32 i)
{
  const guint32 released = gemem_past_get (past, i)->released;

  return released != GEMEM_NEVER ? released - i : GEMEM_NEVER;
}

/* The same of request @i of the step, which lasts into the next: the longest of all steps after which the same
 * request comes again, as the last may be followed by anything. */
static guint32
longest_life (const Making *making, guint32 i)
{
  const GememSteps *steps = making->steps;
  const GememPastRequest *request = gemem_past_get (making->past, i);
  guint32 k = i, longest = 0;

  while (k >= steps->first + making->period)
    k -= making->period;
  for (; k < steps->last_end; k += making->period)
    {
      const GememPastRequest *other = gemem_past_get (making->past, k);
      const guint32 next = k + making->period;

      if (other->size == request->size && other->stream == request->stream && next < steps->last_end
          && gemem_past_get (making->past, next)->size == request->size)
        longest = MAX (longest, life_of (making->past, k));
    }
  return longest > 0 ? longest : life_of (making->past, i);
}

/* Nothing is in use from @begin to the request at @position. */
static void
add_gap (Making *making, guint32 position, guint32 begin)
{
  const GememLifeGap gap = { .begin = begin, .end = position, .item = position };

  if (making->lifetimes->gaps == NULL)
    making->lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  g_array_append_val (making->lifetimes->gaps, gap);
}

/* Adds request @i of the step, which as part of a step that is cut has number @i + @later. */
static void
add_of_step (Making *making, guint32 i, guint32 later)
{
  const GememSteps *steps = making->steps;
  GememSchedule *schedule = making->schedule;
  const guint32 length = steps->end - steps->begin;
  const guint32 position = schedule->step + (i + later - steps->begin - steps->cut);
  guint32 life = life_of (making->past, i);

  if (life <= schedule->n - position)
    {
      add_place (making, i, position, position, position + life);
      return;
    }
  life = longest_life (making, i);
  add_place (making, i, position, schedule->step, GEMEM_NEVER);
  if (life < length && life > schedule->n - position)
    add_gap (making, position, position + life - length);
  else if (life > length && life - length < length)
    schedule->places[position].second = ++schedule->n_second;
}

/* What has a second place has it during the whole step: of two steps each needs both. */
static void
add_second_places (Making *making)
{
  GememSchedule *schedule = making->schedule;

  schedule->second = g_new0 (GememPlannedPlace, schedule->n_second);
  for (guint32 i = schedule->step; i < schedule->n; i++)
    {
      const GememPlannedPlace *place = &schedule->places[i];
      const guint64 size = gemem_lifetimes_get (making->lifetimes, i)->size;

      if (place->second == 0)
        continue;
      schedule->second[place->second - 1] = (GememPlannedPlace){ .stream = place->stream,
                                                                 .part = place->part,
                                                                 .due = GEMEM_NEVER };
      schedule->second_bytes += size;
      gemem_lifetimes_add (making->lifetimes, schedule->step, schedule->n, size);
      gemem_lifetimes_get (making->lifetimes, schedule->n + place->second - 1)->space = place->part;
    }
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
  add_second_places (making);
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
  for (guint32 i = 0; i < plan->n_items; i++)
    gemem_schedule_place_at (schedule, i)->offset =
        schedule->parts[gemem_schedule_place_at (schedule, i)->part] + plan->offsets[i];
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

/* NULL with @error. */
static GememPlan *
plan_of (const GememLifetimes *lifetimes, const GememChoice *planner, GError **error)
{
  const GememPlanInput input = { .lifetimes = lifetimes, .threads = 1 };
  g_autoptr (GememPlan) plan = gemem_planner_run (planner, &input, error);

  if (plan == NULL || !gemem_plan_verify (plan, &input, error))
    return NULL;
  if (keeps_unit (plan))
    return g_steal_pointer (&plan);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "planner %s: its offsets are no multiples of %d bytes, which blocks of GPUs need",
               plan->planner, (int) GEMEM_PLANNED_UNIT);
  return NULL;
}

/* The places that the plan gives to others from their release on must be free then. */
static void
set_dues (GememSchedule *schedule, const GArray *gaps)
{
  for (guint i = 0; gaps != NULL && i < gaps->len; i++)
    {
      const GememLifeGap *gap = &g_array_index (gaps, GememLifeGap, i);
      schedule->places[gap->item].due = (guint32) gap->begin;
    }
}

/* Gaps are worth it where they save memory; without them less can go wrong. */
static gboolean
make_plan (GememSchedule *schedule, GememLifetimes *lifetimes, const GememChoice *planner,
           GError **error)
{
  GArray *gaps = g_steal_pointer (&lifetimes->gaps);
  GememPlan *plan = plan_of (lifetimes, planner, error), *gapped = NULL;

  lifetimes->gaps = gaps;
  if (plan != NULL && gaps != NULL)
    gapped = plan_of (lifetimes, planner, NULL);
  if (gapped != NULL && gapped->arena < plan->arena)
    {
      gemem_plan_free (plan);
      plan = g_steal_pointer (&gapped);
    }
  else
    g_clear_pointer (&lifetimes->gaps, g_array_unref);
  gemem_plan_free (gapped);
  if (plan == NULL)
    return FALSE;
  set_dues (schedule, lifetimes->gaps);
  set_offsets (schedule, plan);
  gemem_plan_free (plan);
  return TRUE;
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

  schedule->owners = 1;
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

/* NULL with @error. */
static GememSchedule *
make_schedule (const GememPast *past, const GememSteps *steps, guint32 period,
               gboolean skips_beginning, const GememChoice *planner, GError **error)
{
  const guint32 before = skips_beginning ? 0 : steps->first + steps->cut;
  GememSchedule *schedule = empty_schedule (before, steps->end - steps->begin);
  Making making = { schedule, past, steps, period, gemem_lifetimes_new ("a step") };
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

/* The requests from @begin on come again after @length others. */
static gboolean
repeats (const GememPast *past, guint32 begin, guint32 length)
{
  for (guint32 i = begin; i < begin + length; i++)
    {
      const GememPastRequest *one = gemem_past_get (past, i),
                             *next = gemem_past_get (past, i + length);

      if (one->size != next->size || one->stream != next->stream)
        return FALSE;
    }
  return TRUE;
}

/* Makes two steps one, with the chosen one in it; FALSE: there are no two alike. */
static gboolean
join_two (const GememPast *past, GememSteps *steps)
{
  const guint32 length = steps->end - steps->begin;

  if (steps->end + length > steps->last_end)
    {
      if (steps->begin < steps->first + length)
        return FALSE;
      steps->begin -= length;
    }
  steps->end = steps->begin + 2 * length;
  steps->first_end = steps->first + 2 * length;
  return steps->first_end <= steps->last_end && repeats (past, steps->begin, length);
}

/* Where second places take much, two steps are planned as one: in it their blocks come and go. */
GememSchedule *
gemem_schedule_new (const GememPast *past, const GememSteps *steps, gboolean skips_beginning,
                    const GememChoice *planner, GError **error)
{
  const guint32 length = steps->end - steps->begin;
  GememSchedule *schedule = make_schedule (past, steps, length, skips_beginning, planner, error),
                *joined = NULL;
  GememSteps two = *steps;

  if (schedule != NULL && schedule->second_bytes > schedule->bytes / MUCH && join_two (past, &two))
    joined = make_schedule (past, &two, length, skips_beginning, planner, NULL);
  if (joined == NULL || joined->bytes >= schedule->bytes)
    {
      g_clear_pointer (&joined, gemem_schedule_free);
      return schedule;
    }
  gemem_schedule_free (schedule);
  return joined;
}

/* ---- from a file */

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
  gemem_schedule_depart (schedule);
  return schedule;
}
