/* blocks-private.h - a request and a free: most events, and, for allocators that know no graphs,
 * the loads and unloads of graphs.
 *
 * Inline, because events.c serves millions per second; graphs.c uses them too.  Cost: one idmap
 * operation, one call of the allocator, some 40 additions and compares.
 */
#pragma once

#include <string.h>

#include "sim/engine/run.h"

/* A call from the loop of events.c costs as much as some of these functions. */
#define ALWAYS_INLINE inline __attribute__ ((always_inline))

/* @watched of the functions below: FALSE, a constant, promises that there are neither probes nor a
 * clock, so that the loop of events.c need not ask at each event. */

/* Reports the allocator's decision about @event to the probes, if any. */
static ALWAYS_INLINE void
gemem_block_decided (GememRun *run, const GememTraceEvent *event, gboolean request, guint64 size,
                     const GememBlock *block, gboolean watched)
{
  if (watched && run->probes.n > 0)
    {
      const GememDecision decision = { event, request, TRUE, size, block };
      gemem_probes_decided (run, &decision);
    }
}

/* The modelled latency of a request or free, during which device calls took @calls ns: usually
 * none; these are added at the end. */
static ALWAYS_INLINE void
gemem_block_note_latency (const GememRun *run, guint64 calls, GememHistogram *latencies)
{
  if (G_UNLIKELY (calls != 0))
    gemem_histogram_add (latencies, calls + run->device->hit_ns);
}

/* The request itself, with its latencies. */
static ALWAYS_INLINE gboolean
gemem_block_serve (GememRun *run, const GememRequest *request, GememBlock *block, gboolean watched)
{
  const guint64 charged = run->device->call_time;
  gboolean served;

  run->result->allocs++;
  if (watched && run->clock != NULL)
    {
      const guint64 began = run->clock ();

      served = run->klass->alloc (run->allocator, request, block);
      gemem_histogram_add (&run->measured_alloc_ns, run->clock () - began);
    }
  else
    served = run->klass->alloc (run->allocator, request, block);
  gemem_block_note_latency (run, run->device->call_time - charged, &run->alloc_ns);
  return served;
}

static ALWAYS_INLINE void
gemem_block_account (GememRun *run, const GememTraceEvent *event, GememLive *live)
{
  if (G_UNLIKELY (live->block.address >= GEMEM_HOST_ADDRESS))
    {
      live->flags = GEMEM_LIVE_HOST;
      return;
    }
  gemem_accounts_demand (&run->accounts, event->size);
  live->stream = gemem_accounts_alloc (&run->accounts, event->stream, event->size,
                                       live->block.size);
}

/* ALLOC, or an event with the same effect. */
static ALWAYS_INLINE gboolean
gemem_block_alloc (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  GememRequest request = { event->size, event->stream, event->pool, event->id, event->address };
  gboolean existed, served;
  GememLive *live = gemem_live_add (&run->live, event->id, &existed);

  if (G_UNLIKELY (existed))
    return gemem_run_bad_event (
        run, error, "id %" G_GUINT64_FORMAT " is allocated while it is alive", event->id);
  live->requested = event->size;
  if (G_UNLIKELY (event->size == 0) && (run->klass->capabilities & GEMEM_CAP_EMPTY) == 0)
    {
      live->flags = GEMEM_LIVE_UNSERVED;
      run->result->zero_allocs++;
      return TRUE;
    }
  served = gemem_block_serve (run, &request, &live->block, watched);
  if (G_LIKELY (served))
    gemem_block_account (run, event, live);
  else
    {
      gemem_accounts_demand (&run->accounts, event->size);
      memset (&live->block, 0, sizeof live->block);
      live->flags = GEMEM_LIVE_UNSERVED;
      if (run->allocator->refusal != NULL)
        return gemem_run_take_refusal (run, error);
      gemem_run_out_of_memory (run, event, &request);
    }
  if (G_UNLIKELY ((event->flags & GEMEM_EVENT_FAILED) != 0))
    gemem_run_count_refused (run, event->size, served);
  gemem_block_decided (run, event, TRUE, event->size, served ? &live->block : NULL, watched);
  return TRUE;
}

static ALWAYS_INLINE void
gemem_block_give (GememRun *run, const GememBlock *block, guint64 stream,
                  gboolean completion_follows)
{
  if (G_UNLIKELY (run->ordered))
    run->klass->streams.free_on (run->allocator, block, stream);
  else
    run->klass->free (run->allocator, block, completion_follows);
}

/* The free itself, with its latencies.  @stream: of the event. */
static ALWAYS_INLINE void
gemem_block_release (GememRun *run, const GememBlock *block, guint64 stream,
                     gboolean completion_follows, gboolean watched)
{
  const guint64 charged = run->device->call_time;

  run->result->frees++;
  if (watched && run->clock != NULL)
    {
      const guint64 began = run->clock ();

      gemem_block_give (run, block, stream, completion_follows);
      gemem_histogram_add (&run->measured_free_ns, run->clock () - began);
    }
  else
    gemem_block_give (run, block, stream, completion_follows);
  if (G_UNLIKELY (run->allocator->broken != NULL))
    gemem_run_take_mark (run);
  gemem_block_note_latency (run, run->device->call_time - charged, &run->free_ns);
}

static ALWAYS_INLINE void
gemem_block_account_end (GememRun *run, const GememLive *live)
{
  if (G_UNLIKELY ((live->flags & (GEMEM_LIVE_HOST | GEMEM_LIVE_ASLEEP)) != 0))
    return;
  gemem_accounts_release (&run->accounts, live->stream, live->requested, live->block.size);
  gemem_accounts_end_demand (&run->accounts, live->requested);
}

/* FREE, or an event with the same effect. */
static ALWAYS_INLINE gboolean
gemem_block_free (GememRun *run, const GememTraceEvent *event, gboolean watched, GError **error)
{
  GememLive *live = gemem_live_take (&run->live, event->id);

  if (G_UNLIKELY (live == NULL))
    return gemem_run_bad_free (run, event, error);
  if (G_UNLIKELY ((live->flags & ~(guint32) (GEMEM_LIVE_HOST | GEMEM_LIVE_ASLEEP)) != 0))
    return gemem_run_unusual_free (run, event, live, error);
  gemem_block_release (run, &live->block, event->stream, FALSE, watched);
  gemem_block_account_end (run, live);
  gemem_block_decided (run, event, FALSE, live->requested, &live->block, watched);
  gemem_live_recycle (&run->live, live);
  return TRUE;
}
