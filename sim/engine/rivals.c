/* rivals.c - see rivals.h.
 *
 * What the allocator alone decides it knows itself (`watch` of its class).  The engine decides by the
 * settings too: how a run follows the recording depends on whether they are those of the recording
 * (GememRun.alike, follows).  Rivals for which it would decide otherwise are never alike; nor are those with
 * settings of the device.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/engine-private.h"
#include "sim/engine/rivals.h"

typedef struct
{
  GememAllocator *allocator; /* unused; NULL: refused, or no rival of any run */
  GError *refusal;
  gboolean alike;                 /* to the recording: gemem_setup_is_alike() */
  gboolean plain;                 /* it has no settings of its own */
  guint64 made[GEMEM_CALL_COUNT]; /* as GememRun.made */
} Rival;

struct _GememRivals
{
  GememDevice *device; /* of all: who watches takes nothing from it before the first request */
  Rival *rivals;
  guint n;
  guint64 capacity; /* 0: that of the device */
};

/* Then nothing is worth the time of a proof. */
static gboolean
is_interrupted (const GememJob *job)
{
  return job->interrupted != NULL && g_atomic_int_get (job->interrupted) != 0;
}

static GememDevice *
new_device (const GememJob *job, guint64 capacity, const GememTraceInfo *info, GError **error)
{
  return gemem_setup_device (job, info, MAX (job->device_ordinal, 0), capacity,
                             GEMEM_SETUP_AS_TRACE, error);
}

/* Settings that move the device are only tried: whether they can be run. */
static void
try_alone (Rival *rival, const GememJob *job, const GememTraceInfo *info)
{
  GememDevice *device = new_device (job, 0, info, &rival->refusal);
  GememAllocator *allocator = device != NULL
                                  ? gemem_allocator_new (job->allocator,
                                                         gemem_setup_defaults (job, info), device,
                                                         &rival->refusal)
                                  : NULL;

  if (allocator != NULL)
    gemem_allocator_destroy (allocator);
  if (device != NULL)
    gemem_device_destroy (device);
}

static void
make (GememRivals *rivals, Rival *rival, const GememJob *job, const GememTraceInfo *info,
      GememSetupRecorded *recorded)
{
  const GememAllocatorSpec *spec = job->allocator;
  const gboolean moved = spec->device != NULL && spec->device->len > 0;

  if (moved || spec->klass->watch.begin == NULL)
    {
      if (rivals->capacity == 0) /* with less some would refuse what they take when they are made */
        try_alone (rival, job, info);
      return;
    }
  if (rivals->device == NULL)
    rivals->device = new_device (job, rivals->capacity, info, &rival->refusal);
  if (rivals->device == NULL)
    return;
  rival->alike = gemem_setup_is_alike (job, info, recorded);
  rival->plain = spec->settings->len == 0;
  memset (rivals->device->calls, 0, sizeof rivals->device->calls);
  rival->allocator = gemem_allocator_new (spec, gemem_setup_defaults (job, info), rivals->device,
                                          &rival->refusal);
  memcpy (rival->made, rivals->device->calls, sizeof rival->made);
}

GememRivals *
gemem_rivals_new (const GememJob *job, guint64 capacity, const GememAllocatorSpec *const *specs,
                  guint n, GError **error)
{
  GememTraceReader *reader = job->source (job->source_data, error);
  GememSetupRecorded recorded = { NULL };
  GememRivals *rivals;

  if (reader == NULL)
    return NULL;
  rivals = g_new0 (GememRivals, 1);
  rivals->rivals = g_new0 (Rival, n);
  rivals->n = n;
  rivals->capacity = capacity;
  for (guint i = 0; i < n && !is_interrupted (job); i++)
    {
      GememJob own = *job;

      own.allocator = specs[i];
      make (rivals, &rivals->rivals[i], &own, &reader->info, &recorded);
    }
  gemem_setup_recorded_clear (&recorded);
  gemem_trace_close (reader);
  return rivals;
}

void
gemem_rivals_free (GememRivals *rivals)
{
  if (rivals == NULL)
    return;
  for (guint i = 0; i < rivals->n; i++)
    {
      if (rivals->rivals[i].allocator != NULL)
        gemem_allocator_destroy (rivals->rivals[i].allocator);
      g_clear_error (&rivals->rivals[i].refusal);
    }
  if (rivals->device != NULL)
    gemem_device_destroy (rivals->device);
  g_free (rivals->rivals);
  g_free (rivals);
}

const GError *
gemem_rivals_refusal (const GememRivals *rivals, guint i)
{
  return rivals->rivals[i].refusal;
}

void
gemem_rivals_compare (const GememRun *run)
{
  const GememRivals *rivals = run->job->rivals;
  const GPtrArray *device = run->job->allocator->device;
  const gboolean plain = run->job->allocator->settings->len == 0,
                 moved = device != NULL && device->len > 0;

  for (guint i = 0; i < rivals->n; i++)
    {
      const Rival *rival = &rivals->rivals[i];

      run->job->rivals_alike[i] = run->job->rivals_alike[i] && !run->afresh && !moved
                                  && !is_interrupted (run->job) && rival->allocator != NULL
                                  && rival->alike == run->alike && rival->plain == plain
                                  && rival->allocator->klass == run->klass
                                  && memcmp (rival->made, run->made, sizeof run->made) == 0
                                  && run->klass->watch.alike != NULL
                                  && run->klass->watch.alike (run->allocator, rival->allocator);
    }
}

void
gemem_rivals_drop (const GememJob *job)
{
  memset (job->rivals_alike, 0, job->rivals->n * sizeof *job->rivals_alike);
}
