/* planned-report.c - what `planned` holds: the places of its plan that are in use and what the other
 * allocator has, as spans, and its statistics.
 *
 * Invariants: reads only.
 */
#include "config.h"

#include "allocators/planned/planned-private.h"
#include "allocators/spans.h"

/* The live places, as spans. */
static GArray *
live_spans (const GememPlanned *self)
{
  GArray *live = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  const guint64 bytes = gemem_schedule_bytes (self->schedule);
  const guint32 n = gemem_schedule_length (self->schedule) + gemem_schedule_extra (self->schedule);

  for (guint32 i = 0; i < n; i++)
    {
      const GememPlannedPlace *place = gemem_schedule_place (self->schedule, i);
      const guint64 address = self->arena + place->offset;
      const GememSpan span = { .address = address,
                               .size = place->size,
                               .segment = self->arena,
                               .segment_size = bytes,
                               .stream = place->stream,
                               .state = place->pending ? GEMEM_SPAN_PENDING : GEMEM_SPAN_LIVE,
                               .user = address };

      if (place->live)
        g_array_append_val (live, span);
    }
  return live;
}

void
gemem_planned_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const GememPlanned *self = (const GememPlanned *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  self->fallback->klass->walk (self->fallback, gemem_spans_append, spans);
  if (self->arena != 0)
    {
      g_autoptr (GArray) live = live_spans (self);

      gemem_spans_append_arena (spans, live, self->arena, gemem_schedule_bytes (self->schedule));
    }
  gemem_spans_report (spans, func, data);
}

guint64
gemem_planned_largest_free (GememAllocator *allocator, guint64 stream)
{
  const GememPlanned *self = (const GememPlanned *) allocator;

  return self->fallback->klass->largest_free (self->fallback, stream);
}

gboolean
gemem_planned_check (GememAllocator *allocator, GError **error)
{
  const GememPlanned *self = (const GememPlanned *) allocator;

  if (self->arena != 0)
    {
      g_autoptr (GArray) live = live_spans (self);

      if (!gemem_spans_check_arena (live, self->arena, gemem_schedule_bytes (self->schedule),
                                    error))
        return FALSE;
      if (live->len != gemem_schedule_live (self->schedule))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "planned: %u places are live, %u were counted", live->len,
                       gemem_schedule_live (self->schedule));
          return FALSE;
        }
    }
  return self->fallback->klass->check (self->fallback, error);
}

void
gemem_planned_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GememPlanned *self = (const GememPlanned *) allocator;
  const GememSchedule *schedule = self->schedule;
  static const char *const how[] = { [GEMEM_STEPS_MARKED] = "steps_marked",
                                     [GEMEM_STEPS_PERIOD] = "steps_alike",
                                     [GEMEM_STEPS_PHASES] = "phases_as_steps" };

  func ("arena", self->arena != 0 ? gemem_schedule_bytes (schedule) : 0, "B", data);
  func ("arena_lower_bound", self->arena != 0 ? gemem_schedule_least (schedule) : 0, "B", data);
  func ("requests_before_steps",
        schedule != NULL ? gemem_schedule_length (schedule) - gemem_schedule_step_length (schedule)
                         : 0,
        "", data);
  func ("requests_of_step", schedule != NULL ? gemem_schedule_step_length (schedule) : 0, "", data);
  func ("steps_repeated", schedule != NULL ? gemem_schedule_steps (schedule) : 0, "", data);
  func ("planned_requests", self->served, "", data);
  func ("fitted_requests", self->fitted, "", data);
  func ("other_requests", self->passed_on, "", data);
  func ("refused_places", schedule != NULL ? gemem_schedule_refused (schedule) : 0, "", data);
  func ("plans", self->plans, "", data);
  if (self->learnt.count > 0)
    {
      func (how[self->learnt.kind], self->learnt.count, "", data);
      func ("learnt_from_request", self->learnt.begin + 1, "", data);
      func ("learnt_to_request", self->learnt.end, "", data);
    }
  func ("plans_given_up", self->given_up, "", data);
  func ("plans_without_gain", self->without_gain, "", data);
  if (self->fallback->klass->report.stats != NULL)
    self->fallback->klass->report.stats (self->fallback, func, data);
}
