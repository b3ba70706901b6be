/* planned.c - `planned`: plans a step of the program and serves the next steps from the plan, and
 * from another allocator what departs from it.
 *
 * It gets the plan from a file (step-plan.h); or it learns from a recording, and then has its plan, with what comes before the first step, from the
 * beginning; or from the running program, which the other allocator serves until three steps alike
 * were seen: it plans when the past has doubled, takes the memory of the plan at the beginning of
 * the next step, when the other allocator has least in use, and has that empty its cache first.
 * A plan that is learnt serves only where it needs less than the other allocator alone (planned-learning.c).
 *
 * Where the program does something else for as long as a step, and no place is in use, the plan is
 * given up: its memory returns to the device, and a running program is learnt anew.  The same
 * happens where the other allocator runs out of memory.
 *
 * Invariants: schedule.h's, for every program; a block lies in the arena of the plan, or is the
 * other allocator's.  Cost: as schedule.h and planned-learning.c say.
 * Origin: peers.md section 1f; the rules for departures are gemem's own.
 */
#include "config.h"

#include <string.h>

#include "allocators/planned/planned-private.h"
#include "allocators/planned/step-plan.h"
#include "allocators/registry.h"

#define WHAT "planned"
/* Up to here other allocators share segments; in a gap of the arena, such a block may keep a large
 * one from its place. */
#define SMALL (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  char *learn, *plan, *fallback, *planner;
  int take;
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
    .default_text = "auto",
    .choices = "auto|direct|pytorch-caching|rmm-pool",
    FIELD (fallback),
    .help = "The allocator of all that is not in the plan, with its settings in brackets: "
            "fallback=[pytorch-caching:garbage_collection_threshold=0.8].  auto: PyTorch's, with "
            "expandable segments where the device can map memory." },
  { .name = "planner",
    .type = GEMEM_PARAM_STRING,
    .default_text = "optimal",
    FIELD (planner),
    .help =
        "Who plans the step, with its parameters in quotes: planner=\"optimal:effort=quick\"." },
  { .name = "take",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "gain",
    .choices = "gain|always",
    FIELD (take),
    .help =
        "Whether a plan is taken only where it needs no more than the fallback alone, or always." },
  { NULL },
};

extern const GememAllocatorClass gemem_planned_class;

/* ---- creation */

/* What the fallback said is said of the whole. */
static void
heed (GememPlanned *self)
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

/* What "auto" stands for. */
static char *
by_device (GememDevice *device)
{
  GememDeviceInfo info;

  gemem_device_info (device, &info);
  return g_strdup (info.virtual_memory ? "pytorch-caching:expandable_segments=True"
                                       : "pytorch-caching");
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
  g_autofree char *inner = strcmp (text, "auto") == 0 ? by_device (device)
                                                      : gemem_allocator_without_brackets (text);
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
learn_file (GememPlanned *self, const char *path, GError **error)
{
  g_autoptr (GememPast) past = gemem_steps_read (path, 0, &self->learnt, error);

  if (past != NULL)
    self->schedule = gemem_schedule_new (past, &self->learnt, FALSE, self->planner, error);
  if (self->schedule == NULL)
    return FALSE;
  self->plans = 1;
  gemem_planned_judge (self, past, 0, 0);
  return TRUE;
}

static gboolean
load_plan (GememPlanned *self, const char *path, GError **error)
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
begin_plan (GememPlanned *self, const Params *p, GError **error)
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
planned_destroy (GememAllocator *allocator)
{
  GememPlanned *self = (GememPlanned *) allocator;

  if (self->arena != 0)
    gemem_device_free (self->base.device, self->arena, gemem_schedule_bytes (self->schedule));
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  gemem_planned_end_learning (self);
  if (self->fallback != NULL)
    gemem_allocator_destroy (self->fallback);
  if (self->planner != NULL)
    gemem_choice_free (self->planner);
  g_ptr_array_unref (self->waiting);
  g_free (self->fallback_text);
  g_free (self);
}

/* Takes the memory of the plan; without it there is no plan. */
static void
take_arena (GememPlanned *self)
{
  self->arena = gemem_device_malloc (self->base.device, gemem_schedule_bytes (self->schedule), 0);
  self->stretch = self->stretch_served = 0;
  self->judged_at = MAX (gemem_schedule_step_length (self->schedule), GEMEM_PLANNED_FIRST_LOOK);
  if (self->arena != 0)
    return;
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  self->given_up++;
}

static void
trim (GememPlanned *self)
{
  if (self->fallback->klass->trim != NULL)
    self->fallback->klass->trim (self->fallback);
}

void
gemem_planned_begin (GememPlanned *self)
{
  trim (self);
  take_arena (self);
  if (self->arena != 0)
    self->settles = gemem_schedule_step_length (self->schedule) + 1;
}

GememPlanned *
gemem_planned_new (const char *fallback, GememDevice *device, GError **error)
{
  GememPlanned *self = g_new0 (GememPlanned, 1);

  self->base.klass = &gemem_planned_class;
  self->base.device = device;
  self->waiting = g_ptr_array_new ();
  self->fallback_text = g_strdup (fallback);
  self->fallback = make_fallback (fallback, device, error);
  if (self->fallback != NULL)
    return self;
  planned_destroy (&self->base);
  return NULL;
}

static GememAllocator *
planned_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  g_autoptr (GememChoice) planner = gemem_planner_parse_one (p->planner, WHAT, error);
  GememPlanned *self = planner != NULL ? gemem_planned_new (p->fallback, device, error) : NULL;

  if (self == NULL)
    return NULL;
  self->learns = p->learn == NULL && p->plan == NULL;
  self->always = p->take != 0;
  self->planner = g_steal_pointer (&planner);
  if (!begin_plan (self, p, error))
    {
      planned_destroy (&self->base);
      return NULL;
    }
  if (self->learns)
    gemem_planned_begin_to_learn (self);
  else if (self->schedule != NULL)
    take_arena (self);
  self->base.approximation = self->fallback->approximation;
  heed (self);
  return &self->base;
}

/* ---- giving up */

static gboolean
can_give_up (const GememPlanned *self)
{
  return self->arena != 0 && gemem_schedule_live (self->schedule) == 0;
}

static void
give_up (GememPlanned *self)
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
judge (GememPlanned *self)
{
  self->retires = self->stretch_served < self->stretch / 2
                  && (self->learns || gemem_schedule_live (self->schedule) == 0);
  self->stretch = self->stretch_served = 0;
}

static void
retire (GememPlanned *self)
{
  if (!can_give_up (self))
    return;
  give_up (self);
  if (self->learns)
    gemem_planned_begin_to_learn (self);
}

/* ---- requests */

static void
serve (const GememPlanned *self, GememPlannedPlace *place, GememBlock *block)
{
  *block = (GememBlock){ self->arena + place->offset, place->size, place };
}

/* A place in a gap of the arena. */
static gboolean
fit_in (GememPlanned *self, const GememRequest *request, GememBlock *block)
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
take_place (GememPlanned *self, const GememRequest *request, GememBlock *block)
{
  GememPlannedPlace *place = NULL;

  if (request->size <= self->small)
    return FALSE;
  if (request->pool == 0)
    place = gemem_schedule_take (self->schedule, request->size, request->stream);
  if (G_UNLIKELY (self->settles > 0 && --self->settles == 0))
    trim (self);
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
ask (GememPlanned *self, const GememRequest *request, GememBlock *block)
{
  const gboolean served = self->fallback->klass->alloc (self->fallback, request, block);

  self->passed_on += served;
  return served;
}

/* The other allocator; if that has no memory, what the plan has. */
static gboolean
pass_on (GememPlanned *self, const GememRequest *request, GememBlock *block)
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
  GememPlanned *self = (GememPlanned *) allocator;
  gboolean served;

  if (self->past != NULL)
    gemem_planned_learn_before (self);
  if (self->retires)
    retire (self);
  if (self->arena != 0 && !self->retires && take_place (self, request, block))
    return TRUE;
  served = pass_on (self, request, block);
  if (served && self->past != NULL)
    gemem_planned_learn_request (self, request, block);
  return served;
}

static gboolean
in_arena (const GememPlanned *self, const GememBlock *block)
{
  return self->arena != 0 && block->address >= self->arena
         && block->address - self->arena < gemem_schedule_bytes (self->schedule);
}

static void
planned_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  GememPlanned *self = (GememPlanned *) allocator;
  GememPlannedPlace *place = block->handle;

  if (!in_arena (self, block))
    {
      if (self->past != NULL
          && (!completion_follows || self->fallback->klass->streams.complete == NULL))
        gemem_planned_learn_release (self, block);
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
  GememPlanned *self = (GememPlanned *) allocator;

  if (in_arena (self, block))
    gemem_schedule_release (self->schedule, block->handle);
  else if (self->fallback->klass->streams.complete != NULL)
    {
      if (self->past != NULL)
        gemem_planned_learn_release (self, block);
      self->fallback->klass->streams.complete (self->fallback, block);
      heed (self);
    }
}

/* ---- streams, pools and cached memory */

static void
planned_use (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  GememPlanned *self = (GememPlanned *) allocator;

  if (in_arena (self, block))
    ((GememPlannedPlace *) block->handle)->shared = TRUE;
  else if (self->fallback->klass->streams.use != NULL)
    self->fallback->klass->streams.use (self->fallback, block, stream);
  heed (self);
}

static void
planned_record (GememAllocator *allocator, guint64 id, guint64 stream, guint64 to)
{
  GememPlanned *self = (GememPlanned *) allocator;

  if (self->fallback->klass->streams.record != NULL)
    self->fallback->klass->streams.record (self->fallback, id, stream, to);
  heed (self);
}

static void
planned_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  GememPlanned *self = (GememPlanned *) allocator;

  if (self->fallback->klass->streams.wait != NULL)
    self->fallback->klass->streams.wait (self->fallback, id, stream);
  heed (self);
}

/* Once the host has waited for the device, no stream uses what the program has freed. */
static void
planned_sync (GememAllocator *allocator, guint64 stream)
{
  GememPlanned *self = (GememPlanned *) allocator;

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
  GememPlanned *self = (GememPlanned *) allocator;

  gemem_planned_learn_emptied (self, 0);
  trim (self);
}

static void
planned_release_pool (GememAllocator *allocator, guint32 pool, gboolean at_once)
{
  GememPlanned *self = (GememPlanned *) allocator;

  gemem_planned_learn_emptied (self, pool);
  if (self->fallback->klass->release_pool != NULL)
    self->fallback->klass->release_pool (self->fallback, pool, at_once);
}

static void
planned_redirect (GememAllocator *allocator, guint32 pool, gboolean begin, gboolean capture)
{
  GememPlanned *self = (GememPlanned *) allocator;

  if (self->fallback->klass->redirect != NULL)
    self->fallback->klass->redirect (self->fallback, pool, begin, capture);
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
  .largest_free = gemem_planned_largest_free,
  .walk = gemem_planned_walk,
  .check = gemem_planned_check,
  .destroy = planned_destroy,
  .streams = { .complete = planned_complete,
               .use = planned_use,
               .record = planned_record,
               .wait = planned_wait,
               .sync = planned_sync },
  .report.stats = gemem_planned_stats,
};
