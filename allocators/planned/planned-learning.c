/* planned-learning.c - `planned` learns from the running program: it keeps what was asked for and released,
 * looks for steps alike when that has doubled, has one planned, and begins to serve it with the next.
 *
 * A plan is judged first by what it was learnt from (trial.h), on simulated devices: streams share no bytes of a
 * plan, and what is beside it may need what the plan holds idle, so that the fallback alone may need less.
 * A fallback that caches nothing, as `direct`, never needs more than what is live; it is not for every request,
 * and the plan is not judged by it.
 *
 * Cost: while it learns, an entry of a table a live block and past.h's a request; a plan, two trials.
 */
#include "config.h"

#include "allocators/planned/planned-private.h"
#include "allocators/planned/trial.h"

#define LAST_LOOK 0x100000u /* requests, after which it stops to look */
#define STEPS_ALIKE 3
#define ASIDE (G_GUINT64_CONSTANT (1) << 32) /* with the number of one aside */

void
gemem_planned_begin_to_learn (GememPlanned *self)
{
  self->past = gemem_past_new ();
  self->numbers = gemem_idmap_new (sizeof (guint64));
  self->look = GEMEM_PLANNED_FIRST_LOOK;
  self->start = GEMEM_NEVER;
}

void
gemem_planned_end_learning (GememPlanned *self)
{
  g_clear_pointer (&self->past, gemem_past_free);
  g_clear_pointer (&self->numbers, gemem_idmap_free);
}

/* ---- whether a plan is worth its memory */

#define ENDLESS (G_GUINT64_CONSTANT (1) << 44) /* bytes of a device that has no limit */

static void
begin_plan (GememAllocator *allocator, gpointer schedule)
{
  GememPlanned *self = (GememPlanned *) allocator;

  self->schedule = gemem_schedule_ref (schedule);
  gemem_planned_begin (self);
}

/* What @trial needs on a device of its own that is like that of @self; G_MAXUINT64: it cannot be told. */
static guint64
peak_of (const GememPlanned *self, const GememPast *past, const GememTrial *trial)
{
  g_autofree char *spec = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT,
                                           MIN (self->base.device->capacity, ENDLESS));
  GememDevice *device = gemem_device_new (spec, NULL, self->base.device->ordinal, NULL);
  GememPlanned *other = device != NULL ? gemem_planned_new (self->fallback_text, device, NULL)
                                       : NULL;
  guint64 peak = G_MAXUINT64;

  if (other != NULL)
    {
      peak = gemem_trial_serve (&other->base, past, trial);
      gemem_allocator_destroy (&other->base);
    }
  if (device != NULL)
    gemem_device_destroy (device);
  return peak;
}

void
gemem_planned_judge (GememPlanned *self, const GememPast *past, guint32 start, guint32 from)
{
  const GememTrial planned = { start, from, begin_plan, self->schedule },
                   alone = { start, from, NULL, NULL };

  if (self->always || self->fallback->klass->trim == NULL)
    return;
  if (peak_of (self, past, &planned) <= peak_of (self, past, &alone))
    {
      gemem_schedule_rewind (self->schedule);
      return;
    }
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  self->without_gain++;
}

/* ---- from the running program */

/* Where the step begins next, if the program goes on as it did. */
static void
plan_from (GememPlanned *self, const GememSteps *steps)
{
  const guint32 length = steps->end - steps->begin, n = self->past->requests->len;

  self->schedule = gemem_schedule_new (self->past, steps, TRUE, self->planner, NULL);
  if (self->schedule == NULL)
    return;
  self->plans++;
  const guint32 settled = 2 * gemem_schedule_step_length (self->schedule);
  gemem_planned_judge (self, self->past, steps->first + steps->cut,
                       MIN (steps->first + steps->cut + settled, n));
  if (self->schedule == NULL) /* more of the same would be no better */
    self->look = LAST_LOOK;
  self->start = steps->last_end + steps->cut;
  while (self->start < n)
    self->start += length;
}

static void
look_for_steps (GememPlanned *self)
{
  GememSteps steps;

  if (gemem_steps_find (self->past, STEPS_ALIKE, &steps)
      && steps.last_end - steps.first >= self->past->requests->len / 3)
    plan_from (self, &steps);
  if (self->schedule != NULL)
    return;
  if (self->look >= LAST_LOOK)
    gemem_planned_end_learning (self);
  else
    self->look *= 2;
}

/* A request is about to be served: the plan begins with it, or steps are looked for. */
void
gemem_planned_learn_before (GememPlanned *self)
{
  if (self->schedule == NULL && self->past->requests->len == self->look)
    look_for_steps (self);
  if (self->schedule == NULL || self->past->requests->len != self->start)
    return;
  gemem_planned_end_learning (self);
  gemem_planned_begin (self);
}

void
gemem_planned_learn_request (GememPlanned *self, const GememRequest *request,
                             const GememBlock *block)
{
  guint64 *number;

  if (request->pool != 0 && self->past->aside->len >= LAST_LOOK)
    return;
  number = gemem_idmap_insert (self->numbers, block->address, NULL);
  if (request->pool != 0)
    *number = ASIDE
              | gemem_past_ask_aside (self->past, request->size, request->stream, request->pool);
  else
    *number = gemem_past_ask (self->past, request->size, request->stream);
}

void
gemem_planned_learn_release (GememPlanned *self, const GememBlock *block)
{
  guint64 number;

  if (!gemem_idmap_remove (self->numbers, block->address, &number))
    return;
  if ((number & ASIDE) != 0)
    gemem_past_release_aside (self->past, (guint32) number);
  else
    gemem_past_release (self->past, (guint32) number);
}

void
gemem_planned_learn_emptied (GememPlanned *self, guint32 pool)
{
  if (self->past != NULL && self->past->aside->len < LAST_LOOK)
    gemem_past_ask_aside (self->past, 0, 0, pool);
}
