/* planned-judge.c - whether a plan is worth its memory: what it was learnt from is served once more on
 * simulated devices, by the plan and the fallback, and by the fallback alone.
 *
 * Why: streams share no bytes of a plan, and what is beside it may need what the plan holds idle; where steps
 * differ much, or are few, the fallback alone needs less.  A fallback that caches nothing, as `direct`, never
 * needs more than what is live; it is not for every request, and the plan is not judged by it.
 *
 * Invariants: the real device is not called.  Left out is what a past does not have: which other streams
 * use a block.  Cost: two replays of the past, 28 bytes a request.
 */
#include "config.h"

#include "allocators/planned/planned-private.h"

#define ENDLESS (G_GUINT64_CONSTANT (1) << 44) /* bytes of a device that has no limit */

/* Requests by when they are released: those of position i from first[i] to below first[i + 1]; those
 * aside count on behind the others. */
typedef struct
{
  guint32 *first, *requests;
} Releases;

static guint32
released (const GememPast *past, guint32 i)
{
  return i < past->requests->len
             ? gemem_past_get (past, i)->released
             : g_array_index (past->aside, GememPastAside, i - past->requests->len).released;
}

static Releases
list_releases (const GememPast *past)
{
  const guint32 n = past->requests->len, all = n + past->aside->len;
  Releases releases = { g_new0 (guint32, (gsize) n + 3), g_new (guint32, (gsize) all + 1) };

  for (guint32 i = 0; i < all; i++)
    if (released (past, i) != GEMEM_NEVER)
      releases.first[released (past, i) + 2]++;
  for (guint32 i = 0; i <= n; i++)
    releases.first[i + 2] += releases.first[i + 1];
  for (guint32 i = 0; i < all; i++)
    if (released (past, i) != GEMEM_NEVER)
      releases.requests[releases.first[released (past, i) + 1]++] = i;
  return releases;
}

typedef struct
{
  GememAllocator *allocator;
  const GememPast *past;
  GememBlock *blocks; /* by request, then those aside; address 0: not live */
  guint32 aside;      /* the next one */
} Serving;

static void
ask (Serving *serving, guint32 number, guint64 size, guint64 stream, guint32 pool)
{
  const GememRequest request = { .size = size, .stream = stream, .pool = pool };

  if (!serving->allocator->klass->alloc (serving->allocator, &request, &serving->blocks[number]))
    serving->blocks[number].address = 0;
}

static void
release (Serving *serving, guint32 number)
{
  GememBlock *block = &serving->blocks[number];

  if (block->address != 0)
    serving->allocator->klass->free (serving->allocator, block, FALSE);
  block->address = 0;
}

/* The cache is emptied, or @pool is released. */
static void
empty (GememAllocator *allocator, guint32 pool)
{
  if (pool == 0)
    allocator->klass->trim (allocator);
  else
    allocator->klass->release_pool (allocator, pool, FALSE);
}

/* What came between request @i - 1 and request @i, but releases. */
static void
ask_aside (Serving *serving, guint32 i)
{
  const GArray *aside = serving->past->aside;

  for (; serving->aside < aside->len; serving->aside++)
    {
      const GememPastAside *one = &g_array_index (aside, GememPastAside, serving->aside);
      const guint32 number = serving->past->requests->len + serving->aside;

      if (one->at != i)
        return;
      if (one->size == 0)
        {
          empty (serving->allocator, one->pool);
          continue;
        }
      ask (serving, number, one->size, one->stream, one->pool);
      if (one->released == i)
        release (serving, number);
    }
}

/* What is judged: the plan serves from request @start on, and what is held counts from request @from on. */
typedef struct
{
  const GememPast *past;
  Releases releases;
  guint32 start, from;
} Trial;

/* Serves the requests, by the plan if @schedule is not NULL.  Returns the bytes held at most. */
static guint64
serve (GememPlanned *self, const Trial *trial, GememSchedule *schedule)
{
  const GememPast *past = trial->past;
  const Releases *releases = &trial->releases;
  g_autofree GememBlock *blocks = g_new0 (GememBlock,
                                          (gsize) past->requests->len + past->aside->len + 1);
  Serving serving = { &self->base, past, blocks, 0 };
  guint64 most = 0;

  for (guint32 i = 0; i < past->requests->len; i++)
    {
      for (guint32 k = releases->first[i]; k < releases->first[i + 1]; k++)
        release (&serving, releases->requests[k]);
      ask_aside (&serving, i);
      if (i == trial->start && schedule != NULL)
        {
          self->schedule = gemem_schedule_ref (schedule);
          gemem_planned_begin (self);
        }
      ask (&serving, i, gemem_past_get (past, i)->size, gemem_past_get (past, i)->stream, 0);
      if (i >= trial->from)
        most = MAX (most, self->base.device->held);
    }
  return most;
}

/* The same on a device of its own that is like that of @self; G_MAXUINT64: it cannot be told. */
static guint64
peak_of (const GememPlanned *self, const Trial *trial, GememSchedule *schedule)
{
  g_autofree char *spec = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT,
                                           MIN (self->base.device->capacity, ENDLESS));
  GememDevice *device = gemem_device_new (spec, NULL, self->base.device->ordinal, NULL);
  GememPlanned *other = device != NULL ? gemem_planned_new (self->fallback_text, device, NULL)
                                       : NULL;
  guint64 peak = G_MAXUINT64;

  if (other != NULL)
    {
      peak = serve (other, trial, schedule);
      gemem_allocator_destroy (&other->base);
    }
  if (device != NULL)
    gemem_device_destroy (device);
  return peak;
}

void
gemem_planned_judge (GememPlanned *self, const GememPast *past, guint32 start, guint32 from)
{
  if (self->always || self->fallback->klass->trim == NULL)
    return;
  const Trial trial = { past, list_releases (past), start, from };
  const guint64 planned = peak_of (self, &trial, self->schedule),
                alone = peak_of (self, &trial, NULL);

  g_free (trial.releases.first);
  g_free (trial.releases.requests);
  if (planned <= alone)
    {
      gemem_schedule_rewind (self->schedule);
      return;
    }
  g_clear_pointer (&self->schedule, gemem_schedule_free);
  self->without_gain++;
}
