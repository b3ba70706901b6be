/* planned.c - `planned`: plans a step of the program and serves the next steps from the plan, and
 * from another allocator what departs from it.
 *
 * It gets the plan from a file (step-plan.h); or it learns from a recording, and then has its plan, with what comes before the first step, from the
 * beginning; or from the running program, which the other allocator serves until three steps alike
 * were seen: it plans when the past has doubled, takes the memory of the plan at the beginning of
 * the next step, when the other allocator has least in use, and has that empty its cache first.
 *
 * Where the program does something else for as long as a step, and no place is in use, the plan is
 * given up: its memory returns to the device, and a running program is learnt anew.  The same
 * happens where the other allocator runs out of memory.
 *
 * Invariants: schedule.h's, for every program; a block lies in the arena of the plan, or is the
 * other allocator's.  Cost: as schedule.h says; while it learns, an entry of a table a live block and
 * past.h's a request.
 * Origin: peers.md section 1f; the rules for departures are gemem's own.
 */
#include "config.h"

#include "allocators/planned/schedule.h"
#include "allocators/planned/step-plan.h"
#include "allocators/registry.h"
#include "allocators/spans.h"
#include "base/idmap.h"

#define WHAT "planned"
#define FIRST_LOOK 256      /* requests, until it first looks for steps */
#define LAST_LOOK 0x100000u /* requests, after which it stops to look */
#define STEPS_ALIKE 3
/* Up to here other allocators share segments; in a gap of the arena, such a block may keep a large
 * one from its place. */
#define SMALL (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  char *learn, *plan, *fallback, *planner;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "learn",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_FILE,
    FIELD (learn),
    .help =
        "A recording that shows what comes before the first step, and a step; mostly the one that "
        "is replayed.  Without it, the first steps of the run do." },
  { .name = "plan",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_FILE,
    FIELD (plan),
    .help =
        "A plan of STAlloc, or one that plan --step-plan wrote.  It serves the default stream, and "
        "places that are not free are not given." },
  { .name = "fallback",
    .type = GEMEM_PARAM_STRING,
    .default_text = "pytorch-caching",
    .choices = "direct|pytorch-caching|rmm-pool",
    FIELD (fallback),
    .help = "The allocator of all that is not in the plan, with its settings in brackets: "
            "fallback=[pytorch-caching:expandable_segments=True]." },
  { .name = "planner",
    .type = GEMEM_PARAM_STRING,
    .default_text = "optimal",
    FIELD (planner),
    .help =
        "Who plans the step, with its parameters in quotes: planner=\"optimal:effort=quick\"." },
  { NULL },
};

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
} Planned;

extern const GememAllocatorClass gemem_planned_class;

/* ---- creation */

/* What the fallback said is said of the whole. */
static void
heed (Planned *self)
{
  GememAllocator *fallback = self->fallback;

  self->base.retries = self->retries + fallback->retries;
  if (G_UNLIKELY (fallback->refusal != NULL))
    {
      gemem_allocator_refuse (&self->base, "%s", fallback->refusal);
      g_clear_pointer (&fallback->refusal, g_free);
    }
  if (G_UNLIKELY (fallback->broken != NULL && self->base.broken == NULL))
    gemem_allocator_break_rule (&self->base, "%s", fallback->broken);
}

/* Whether @spec can serve what is not planned. */
static gboolean
check_fallback (const GememAllocatorSpec *spec, const char *text, GError **error)
{
  const char *why = NULL;

  if (spec->device->len > 0)
    why = "has a setting of the device; write it outside the brackets";
  else if (spec->klass == &gemem_planned_class)
    why = "falls back on itself; name another";
  else if (spec->klass->prepare != NULL)
    why = "must know the whole trace beforehand; name another";
  else if ((spec->klass->capabilities & GEMEM_CAP_HOST) != 0)
    why = "is of host memory; name another";
  if (why != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator " WHAT ": fallback=%s: %s", text,
                 why);
  return why == NULL;
}

static GememAllocator *
make_fallback (const char *text, GememDevice *device, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *inner = gemem_allocator_without_brackets (text);
  GememAllocator *made = NULL;

  if (!gemem_allocator_making_now ()->parse (inner, specs, error))
    g_prefix_error (error, "allocator " WHAT ": fallback: ");
  else if (specs->len != 1)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator " WHAT ": fallback=%s: stands for %u allocators; name one", text,
                 specs->len);
  else if (check_fallback (specs->pdata[0], text, error))
    made = gemem_allocator_making_now ()->create (specs->pdata[0], NULL, device, error);
  return made;
}

static gboolean
learn_file (Planned *self, const char *path, GError **error)
{
  g_autoptr (GememPast) past = gemem_steps_read (path, 0, &self->learnt, error);

  if (past != NULL)
    self->schedule = gemem_schedule_new (past, &self->learnt, FALSE, self->planner, error);
  self->plans = self->schedule != NULL;
  return self->schedule != NULL;
}

static gboolean
load_plan (Planned *self, const char *path, GError **error)
{
  g_autoptr (GememStepPlan) plan = gemem_step_plan_read (path, error);

  if (plan != NULL)
    self->schedule = gemem_schedule_from_plan (plan);
  self->small = GEMEM_STEP_PLAN_SMALL;
  self->plans = self->schedule != NULL;
  return self->schedule != NULL;
}

/* The plan from a file, if there is one. */
static gboolean
begin_plan (Planned *self, const Params *p, GError **error)
{
  if (p->learn != NULL && p->plan != NULL)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "allocator " WHAT ": learn and plan: each is a plan; name one");
      return FALSE;
    }
  return p->learn != NULL ? learn_file (self, p->learn, error)
                          : p->plan == NULL || load_plan (self, p->plan, error);
}

static void
begin_to_learn (Planned *self)
{
  self->past = gemem_past_new ();
  self->numbers = gemem_idmap_new (sizeof (guint64));
  self->look = FIRST_LOOK;
  self->start = GEMEM_NEVER;
}

static void
end_learning (Planned *self)
{
  g_clear_pointer (&self->past, gemem_past_free);
  g_clear_pointer (&self->numbers, gemem_idmap_free);
}

static void
planned_destroy (GememAllocator *allocator)
{
  Planned *self = (Planned *) allocator;

  if (self->arena != 0)
    gemem_device_free (self->base.device, self->arena, gemem_schedule_bytes (self->schedule));
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  end_learning (self);
  if (self->fallback != NULL)
    gemem_allocator_destroy (self->fallback);
  if (self->planner != NULL)
    gemem_choice_free (self->planner);
  g_ptr_array_unref (self->waiting);
  g_free (self);
}

/* Takes the memory of the plan; without it there is no plan. */
static void
take_arena (Planned *self)
{
  self->arena = gemem_device_malloc (self->base.device, gemem_schedule_bytes (self->schedule), 0);
  self->stretch = self->stretch_served = 0;
  self->judged_at = MAX (gemem_schedule_step_length (self->schedule), FIRST_LOOK);
  if (self->arena != 0)
    return;
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  self->given_up++;
}

static GememAllocator *
planned_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  Planned *self = g_new0 (Planned, 1);

  self->base.klass = &gemem_planned_class;
  self->base.device = device;
  self->waiting = g_ptr_array_new ();
  self->learns = p->learn == NULL && p->plan == NULL;
  self->planner = gemem_planner_parse_one (p->planner, WHAT, error);
  if (self->planner != NULL)
    self->fallback = make_fallback (p->fallback, device, error);
  if (self->fallback == NULL || !begin_plan (self, p, error))
    {
      planned_destroy (&self->base);
      return NULL;
    }
  if (self->learns)
    begin_to_learn (self);
  else
    take_arena (self);
  self->base.approximation = self->fallback->approximation;
  heed (self);
  return &self->base;
}

/* ---- learning from the run */

/* Where the step begins next, if the program goes on as it did. */
static void
plan_from (Planned *self, const GememSteps *steps)
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
look_for_steps (Planned *self)
{
  GememSteps steps;

  if (gemem_steps_find (self->past, STEPS_ALIKE, &steps)
      && steps.last_end - steps.first >= self->past->requests->len / 3)
    plan_from (self, &steps);
  if (self->schedule != NULL)
    return;
  if (self->look >= LAST_LOOK)
    end_learning (self);
  else
    self->look *= 2;
}

/* A request is about to be served: the plan begins with it, or steps are looked for. */
static void
learn_before (Planned *self)
{
  if (self->schedule == NULL && self->past->requests->len == self->look)
    look_for_steps (self);
  if (self->schedule == NULL || self->past->requests->len != self->start)
    return;
  end_learning (self);
  if (self->fallback->klass->trim != NULL)
    self->fallback->klass->trim (self->fallback);
  take_arena (self);
}

static void
learn_request (Planned *self, const GememRequest *request, const GememBlock *block)
{
  guint64 *number;

  if (request->pool != 0)
    return;
  number = gemem_idmap_insert (self->numbers, block->address, NULL);
  *number = gemem_past_ask (self->past, request->size, request->stream);
}

static void
learn_release (Planned *self, const GememBlock *block)
{
  guint64 number;

  if (self->past != NULL && gemem_idmap_remove (self->numbers, block->address, &number))
    gemem_past_release (self->past, (guint32) number);
}

/* ---- giving up */

static gboolean
can_give_up (const Planned *self)
{
  return self->arena != 0 && gemem_schedule_live (self->schedule) == 0;
}

static void
give_up (Planned *self)
{
  gemem_device_sync (self->base.device);
  gemem_device_free (self->base.device, self->arena, gemem_schedule_bytes (self->schedule));
  self->arena = 0;
  self->retires = FALSE;
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  self->given_up++;
}

/* Once a step: a plan that the program does not follow serves no more, once it can be given up.  One
 * of the running program has no blocks that stay, so it can be soon. */
static void
judge (Planned *self)
{
  self->retires = self->stretch_served < self->stretch / 2
                  && (self->learns || gemem_schedule_live (self->schedule) == 0);
  self->stretch = self->stretch_served = 0;
}

static void
retire (Planned *self)
{
  if (!can_give_up (self))
    return;
  give_up (self);
  if (self->learns)
    begin_to_learn (self);
}

/* ---- requests */

static void
serve (const Planned *self, GememPlannedPlace *place, GememBlock *block)
{
  *block = (GememBlock){ self->arena + place->offset, place->size, place };
}

/* A place in a gap of the arena. */
static gboolean
fit_in (Planned *self, const GememRequest *request, GememBlock *block)
{
  GememPlannedPlace *place = NULL;

  if (self->arena != 0 && !self->retires && request->pool == 0)
    place = gemem_schedule_fit (self->schedule, request->size, request->stream);
  if (place == NULL)
    return FALSE;
  self->fitted++;
  serve (self, place, block);
  return TRUE;
}

/* The planned place, or, for a large request, one in a gap. */
static gboolean
take_place (Planned *self, const GememRequest *request, GememBlock *block)
{
  GememPlannedPlace *place = NULL;

  if (request->size <= self->small)
    return FALSE;
  if (request->pool == 0)
    place = gemem_schedule_take (self->schedule, request->size, request->stream);
  if (G_UNLIKELY (++self->stretch >= self->judged_at))
    judge (self);
  if (place == NULL)
    return request->size > SMALL && fit_in (self, request, block);
  self->served++;
  self->stretch_served++;
  serve (self, place, block);
  return TRUE;
}

static gboolean
ask (Planned *self, const GememRequest *request, GememBlock *block)
{
  const gboolean served = self->fallback->klass->alloc (self->fallback, request, block);

  self->passed_on += served;
  return served;
}

/* The other allocator; if that has no memory, what the plan has. */
static gboolean
pass_on (Planned *self, const GememRequest *request, GememBlock *block)
{
  gboolean served = ask (self, request, block);

  if (!served && self->fallback->refusal == NULL)
    {
      served = fit_in (self, request, block);
      if (!served && can_give_up (self))
        {
          give_up (self);
          self->retries++;
          served = ask (self, request, block);
        }
    }
  heed (self);
  return served;
}

static gboolean
planned_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Planned *self = (Planned *) allocator;
  gboolean served;

  if (self->past != NULL)
    learn_before (self);
  if (self->retires)
    retire (self);
  if (self->arena != 0 && !self->retires && take_place (self, request, block))
    return TRUE;
  served = pass_on (self, request, block);
  if (served && self->past != NULL)
    learn_request (self, request, block);
  return served;
}

static gboolean
in_arena (const Planned *self, const GememBlock *block)
{
  return self->arena != 0 && block->address >= self->arena
         && block->address - self->arena < gemem_schedule_bytes (self->schedule);
}

static void
planned_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Planned *self = (Planned *) allocator;
  GememPlannedPlace *place = block->handle;

  if (!in_arena (self, block))
    {
      if (!completion_follows || self->fallback->klass->streams.complete == NULL)
        learn_release (self, block);
      self->fallback->klass->free (self->fallback, block, completion_follows);
      heed (self);
    }
  else if (completion_follows)
    place->pending = TRUE;
  else if (place->shared)
    {
      place->pending = TRUE;
      g_ptr_array_add (self->waiting, place);
    }
  else
    gemem_schedule_release (self->schedule, place);
}

static void
planned_complete (GememAllocator *allocator, const GememBlock *block)
{
  Planned *self = (Planned *) allocator;

  if (in_arena (self, block))
    gemem_schedule_release (self->schedule, block->handle);
  else if (self->fallback->klass->streams.complete != NULL)
    {
      learn_release (self, block);
      self->fallback->klass->streams.complete (self->fallback, block);
      heed (self);
    }
}

/* ---- streams, pools and cached memory */

static void
planned_use (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Planned *self = (Planned *) allocator;

  if (in_arena (self, block))
    ((GememPlannedPlace *) block->handle)->shared = TRUE;
  else if (self->fallback->klass->streams.use != NULL)
    self->fallback->klass->streams.use (self->fallback, block, stream);
  heed (self);
}

static void
planned_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  Planned *self = (Planned *) allocator;

  if (self->fallback->klass->streams.record != NULL)
    self->fallback->klass->streams.record (self->fallback, id, stream, to);
  heed (self);
}

static void
planned_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  Planned *self = (Planned *) allocator;

  if (self->fallback->klass->streams.wait != NULL)
    self->fallback->klass->streams.wait (self->fallback, id, stream);
  heed (self);
}

/* Once the host has waited for the device, no stream uses what the program has freed. */
static void
planned_sync (GememAllocator *allocator, guint64 stream)
{
  Planned *self = (Planned *) allocator;

  if (stream == G_MAXUINT64)
    {
      for (guint i = 0; i < self->waiting->len; i++)
        gemem_schedule_release (self->schedule, self->waiting->pdata[i]);
      g_ptr_array_set_size (self->waiting, 0);
    }
  if (self->fallback->klass->streams.sync != NULL)
    self->fallback->klass->streams.sync (self->fallback, stream);
  heed (self);
}

static void
planned_trim (GememAllocator *allocator)
{
  Planned *self = (Planned *) allocator;

  if (self->fallback->klass->trim != NULL)
    self->fallback->klass->trim (self->fallback);
}

static void
planned_release_pool (GememAllocator *allocator, guint32 pool, gboolean at_once)
{
  Planned *self = (Planned *) allocator;

  if (self->fallback->klass->release_pool != NULL)
    self->fallback->klass->release_pool (self->fallback, pool, at_once);
}

static void
planned_redirect (GememAllocator *allocator, guint32 pool, gboolean begin, gboolean capture)
{
  Planned *self = (Planned *) allocator;

  if (self->fallback->klass->redirect != NULL)
    self->fallback->klass->redirect (self->fallback, pool, begin, capture);
}

/* ---- looking at it */

/* The live places, as spans. */
static GArray *
live_spans (const Planned *self)
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

static void
planned_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Planned *self = (const Planned *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  self->fallback->klass->walk (self->fallback, gemem_spans_append, spans);
  if (self->arena != 0)
    {
      g_autoptr (GArray) live = live_spans (self);

      gemem_spans_append_arena (spans, live, self->arena, gemem_schedule_bytes (self->schedule));
    }
  gemem_spans_report (spans, func, data);
}

static guint64
planned_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Planned *self = (const Planned *) allocator;

  return self->fallback->klass->largest_free (self->fallback, stream);
}

static gboolean
planned_check (GememAllocator *allocator, GError **error)
{
  const Planned *self = (const Planned *) allocator;

  if (self->arena != 0)
    {
      g_autoptr (GArray) live = live_spans (self);

      if (!gemem_spans_check_arena (live, self->arena, gemem_schedule_bytes (self->schedule),
                                    error))
        return FALSE;
      if (live->len != gemem_schedule_live (self->schedule))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       WHAT ": %u places are live, %u were counted", live->len,
                       gemem_schedule_live (self->schedule));
          return FALSE;
        }
    }
  return self->fallback->klass->check (self->fallback, error);
}

static void
planned_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Planned *self = (const Planned *) allocator;
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
  if (self->fallback->klass->report.stats != NULL)
    self->fallback->klass->report.stats (self->fallback, func, data);
}

const GememAllocatorClass gemem_planned_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = WHAT,
  .summary =
      "Plans a step and serves the next ones from it, in order; the rest from another allocator",
  .origin = "STAlloc's idea (peers.md section 1f), with gemem's planners",
  .known_as = "STAlloc|STWeaver",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_CUDA,
  .alignment = 1,
  .params = params,
  .params_size = sizeof (Params),
  .create = planned_create,
  .alloc = planned_alloc,
  .free = planned_free,
  .trim = planned_trim,
  .release_pool = planned_release_pool,
  .redirect = planned_redirect,
  .largest_free = planned_largest_free,
  .walk = planned_walk,
  .check = planned_check,
  .destroy = planned_destroy,
  .streams = { .complete = planned_complete,
               .use = planned_use,
               .record = planned_record,
               .wait = planned_wait,
               .sync = planned_sync },
  .report.stats = planned_stats,
};
