/* rivals.c - see rivals.h.
 *
 * What the allocator alone decides it knows itself (`watch` of its class).  The engine decides by the
 * settings too: how a run follows the recording depends on whether they are those of the recording
 * (GememRun.alike, follows).  Rivals for which it would decide otherwise are never alike.
 */
#include "config.h"

#include "sim/engine/engine-private.h"
#include "sim/engine/rivals.h"

typedef struct
{
  GememDevice *device;
  GememAllocator *allocator; /* unused; NULL: refused */
  GError *refusal;
  gboolean alike; /* to the recording: gemem_setup_is_alike() */
  gboolean plain; /* it has no settings of its own */
  gboolean moved; /* it has a device of its own */
} Rival;

struct _GememRivals
{
  Rival *rivals;
  guint n;
};

static void
make (Rival *rival, const GememJob *job, const GememTraceInfo *info)
{
  const int ordinal = job->device_ordinal >= 0 && job->device_ordinal != GEMEM_DEVICE_HOST
                          ? job->device_ordinal
                          : 0;

  rival->alike = gemem_setup_is_alike (job, info);
  rival->plain = job->allocator->settings->len == 0;
  rival->moved = job->allocator->device != NULL && job->allocator->device->len > 0;
  rival->device = gemem_setup_device (job, info, ordinal, 0, GEMEM_SETUP_AS_TRACE, &rival->refusal);
  if (rival->device != NULL)
    rival->allocator = gemem_allocator_new (job->allocator, gemem_setup_defaults (job, info),
                                            rival->device, &rival->refusal);
}

GememRivals *
gemem_rivals_new (const GememJob *job, const GememAllocatorSpec *const *specs, guint n,
                  GError **error)
{
  GememTraceReader *reader = job->source (job->source_data, error);
  GememRivals *rivals;

  if (reader == NULL)
    return NULL;
  rivals = g_new0 (GememRivals, 1);
  rivals->rivals = g_new0 (Rival, n);
  rivals->n = n;
  for (guint i = 0; i < n; i++)
    {
      GememJob own = *job;

      own.allocator = specs[i];
      make (&rivals->rivals[i], &own, &reader->info);
    }
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
      Rival *rival = &rivals->rivals[i];

      if (rival->allocator != NULL)
        gemem_allocator_destroy (rival->allocator);
      if (rival->device != NULL)
        gemem_device_destroy (rival->device);
      g_clear_error (&rival->refusal);
    }
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
  const gboolean plain = run->job->allocator->settings->len == 0;

  for (guint i = 0; i < rivals->n; i++)
    {
      const Rival *rival = &rivals->rivals[i];

      run->job->rivals_alike[i] = run->job->rivals_alike[i] && !run->afresh
                                  && rival->allocator != NULL && !rival->moved
                                  && rival->alike == run->alike && rival->plain == plain
                                  && rival->allocator->klass == run->klass
                                  && run->klass->watch.alike != NULL
                                  && run->klass->watch.alike (run->allocator, rival->allocator);
    }
}
