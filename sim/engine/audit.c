/* audit.c - the out-of-memory audit.
 *
 * A failure is *true* when no layout could have served it: live + request > capacity, where
 * capacity is the bytes this program could have (held + free).  Every other failure is *avoidable*:
 * the bytes are there, but in pieces, in another stream's or pool's cache, in waste, or beyond a
 * limit of the allocator's own.
 *
 * For an avoidable failure the audit finds, in one walk over all spans, the smallest live block
 * whose release would suffice: either the block with its free neighbours is as large as the request
 * (in the same stream and pool, where the allocator separates them), or the block is the only one
 * in use in its segment, and the segment plus the device's free memory is; where that memory alone
 * is, it did not help, and the segment has to be as large by itself.  Where blocks that are freed,
 * but that streams may still use, would suffice in the same way with what is free beside them, no
 * block is in the way.  The request counts unrounded.  O(spans + live ids), only for the failures that
 * are kept in detail.
 */
#include "config.h"

#include "sim/engine/engine-private.h"

/* Free bytes of span @i if it lies in @segment; else 0. */
static guint64
free_at (const GArray *spans, guint i, guint64 segment)
{
  const GememSpan *span = i < spans->len ? &g_array_index (spans, GememSpan, i) : NULL;
  return span != NULL && span->segment == segment && span->state == GEMEM_SPAN_FREE ? span->size
                                                                                    : 0;
}

typedef struct
{
  guint busy;     /* blocks in use or pending */
  guint64 memory; /* bytes that it holds: a range of addresses may be larger */
  guint end;      /* the first span behind it */
} Segment;

/* The segment that begins with span @begin. */
static Segment
segment_at (const GArray *spans, guint begin)
{
  const guint64 start = g_array_index (spans, GememSpan, begin).segment;
  Segment segment = { 0 };
  guint i;

  for (i = begin; i < spans->len && g_array_index (spans, GememSpan, i).segment == start; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      segment.busy += span->state == GEMEM_SPAN_LIVE || span->state == GEMEM_SPAN_PENDING;
      segment.memory += span->state != GEMEM_SPAN_UNMAPPED ? span->size : 0;
    }
  segment.end = i;
  return segment;
}

/* Whether the allocator would serve the request from @span, as far as stream and pool decide. */
static gboolean
is_of (const GememAllocatorClass *klass, const GememSpan *span, const GememRequest *request)
{
  return ((klass->capabilities & GEMEM_CAP_STREAMS) == 0 || span->stream == request->stream)
         && ((klass->capabilities & GEMEM_CAP_POOLS) == 0 || span->pool == request->pool);
}

static gboolean
would_suffice (const GememAllocatorClass *klass, const GArray *spans, guint i,
               const Segment *segment, const GememRequest *request, guint64 device_free)
{
  const GememSpan *span = &g_array_index (spans, GememSpan, i);

  if (segment->busy == 1
      && segment->memory + (device_free < request->size ? device_free : 0) >= request->size)
    return TRUE;
  return is_of (klass, span, request)
         && free_at (spans, i - 1, span->segment) + span->size
                    + free_at (spans, i + 1, span->segment)
                >= request->size;
}

static const GememSpan *
find_blocking (GememAllocator *allocator, const GArray *spans, const GememRequest *request,
               guint64 device_free)
{
  const GememSpan *best = NULL;

  for (guint begin = 0, end = 0; begin < spans->len; begin = end)
    {
      const Segment segment = segment_at (spans, begin);

      end = segment.end;
      for (guint i = begin; i < end; i++)
        {
          const GememSpan *span = &g_array_index (spans, GememSpan, i);
          if (span->state == GEMEM_SPAN_LIVE && (best == NULL || span->size < best->size)
              && would_suffice (allocator->klass, spans, i, &segment, request, device_free))
            best = span;
        }
    }
  return best;
}

/* Whether the spans of segment [@begin, @end) would serve the request once what waits in it is free. */
static gboolean
waiting_suffices (const GememAllocatorClass *klass, const GArray *spans, guint begin, guint end,
                  const GememRequest *request, guint64 device_free)
{
  guint64 whole = device_free < request->size ? device_free : 0, run = 0;
  gboolean waits = FALSE, run_waits = FALSE, busy = FALSE;

  for (guint i = begin; i < end; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      const gboolean pending = span->state == GEMEM_SPAN_PENDING,
                     open = pending || span->state == GEMEM_SPAN_FREE,
                     joins = open && is_of (klass, span, request);

      waits |= pending;
      busy |= span->state == GEMEM_SPAN_LIVE;
      whole += span->state != GEMEM_SPAN_UNMAPPED ? span->size : 0;
      run = joins ? run + span->size : 0;
      run_waits = joins && (run_waits || pending);
      if (run_waits && run >= request->size)
        return TRUE;
    }
  return waits && !busy && whole >= request->size;
}

static gboolean
is_waiting (const GememAllocatorClass *klass, const GArray *spans, const GememRequest *request,
            guint64 device_free)
{
  for (guint begin = 0, end = 0; begin < spans->len; begin = end)
    {
      end = segment_at (spans, begin).end;
      if (waiting_suffices (klass, spans, begin, end, request, device_free))
        return TRUE;
    }
  return FALSE;
}

static void
name_blocking (const GememLiveTable *table, const GememSpan *span, GememOom *oom)
{
  const guint64 address = gemem_span_user (span);

  for (const GememLive *live = NULL; (live = gemem_live_next (table, live)) != NULL;)
    if (live->block.address == address
        && (live->flags & (GEMEM_LIVE_UNSERVED | GEMEM_LIVE_GONE)) == 0)
      {
        oom->blocking_id = live->id;
        oom->blocking_size = live->block.size;
        return;
      }
}

void
gemem_audit (GememAllocator *allocator, const GememLiveTable *table, const GememAccounts *accounts,
             const GememRequest *request, guint64 free, gboolean detail, GememOom *oom)
{
  GememDevice *device = allocator->device;
  GememDeviceInfo info = { 0 };
  guint64 space;

  /* called directly: the audit is no call of the program */
  device->klass->info (device, &info);
  info.free = MAX (info.free, free);
  oom->live = accounts->live;
  oom->allocated = accounts->allocated;
  oom->reserved = device->held;
  oom->device_free = info.free;
  oom->capacity = device->held + info.free;
  space = oom->capacity > oom->live ? oom->capacity - oom->live : 0;
  oom->avoidable = request->size <= space;
  oom->missing = oom->avoidable ? 0 : request->size - space;
  if (!detail)
    return;
  oom->largest_free = allocator->klass->largest_free (allocator, request->stream);
  if (oom->avoidable)
    {
      g_autoptr (GArray) spans = gemem_spans_of (allocator);
      const GememSpan *span;

      oom->waiting = is_waiting (allocator->klass, spans, request, info.free);
      span = oom->waiting ? NULL : find_blocking (allocator, spans, request, info.free);
      if (span != NULL)
        name_blocking (table, span, oom);
    }
}
