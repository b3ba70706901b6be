/* planned-learning.c - `planned` learns from the running program: it keeps what was asked for and released,
 * looks for steps alike when that has doubled, has one planned, and begins to serve it with the next.
 *
 * Cost: while it learns, an entry of a table a live block and past.h's a request.
 */
#include "config.h"

#include "allocators/planned/planned-private.h"

#define LAST_LOOK 0x100000u /* requests, after which it stops to look */
#define STEPS_ALIKE 3

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

/* Where the step begins next, if the program goes on as it did. */
static void
plan_from (GememPlanned *self, const GememSteps *steps)
{
  const guint32 length = steps->end - steps->begin, n = self->past->requests->len;

  self->schedule = gemem_schedule_new (self->past, steps, TRUE, self->planner, NULL);
  if (self->schedule == NULL)
    return;
  self->plans++;
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
  if (self->fallback->klass->trim != NULL)
    self->fallback->klass->trim (self->fallback);
  gemem_planned_take_arena (self);
}

void
gemem_planned_learn_request (GememPlanned *self, const GememRequest *request,
                             const GememBlock *block)
{
  guint64 *number;

  if (request->pool != 0)
    return;
  number = gemem_idmap_insert (self->numbers, block->address, NULL);
  *number = gemem_past_ask (self->past, request->size, request->stream);
}

void
gemem_planned_learn_release (GememPlanned *self, const GememBlock *block)
{
  guint64 number;

  if (gemem_idmap_remove (self->numbers, block->address, &number))
    gemem_past_release (self->past, (guint32) number);
}
