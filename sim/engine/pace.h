/* pace.h - --pace=recorded and --occupy: a GPU is as busy during a replay as it was when the trace
 * was recorded.
 *
 * Why: whether memory is free when it is asked for depends on what streams have done by then.  A
 * replay without pauses on an idle GPU finds events complete at once that were pending in the
 * program, or the other way round.
 *
 * Pace: before each event the host waits until as much time has passed since the first one as in
 * the recording; where it is late it goes on without waiting.  By the hooks of the job; the
 * simulated device has its own clock, which needs no waiting.
 * Work: traces hold no kernels.  What a stream did is taken to be the time between two events of
 * it, as recorded: before the second one is replayed, work that lasts as long is put there.  So a
 * free that is ordered by a stream has the work of the time before it in front of it, and a stream
 * is busy as long as the recording lasted.  It is an upper bound: time in which the stream was idle
 * counts too.  The stream of a free is that of its block; a free of a block that several streams
 * used, and a synchronisation of the device, are events of all streams.
 *
 * Invariants: decides nothing by itself; which work is put where depends on the trace alone.  Cost:
 * O(log streams) per event, and a launch where GEMEM_WORK_LEAST_NS have passed.
 */
#pragma once

#include "devices/device.h"
#include "traces/trace.h"

#define GEMEM_WORK_LEAST_NS 2000 /* shorter work is added to the next: a launch takes as long */

typedef struct
{
  guint64 (*clock) (void);
  void (*wait) (guint64 until);
  gboolean begun;
  guint64 origin;      /* host time of trace time 0 */
  guint64 waits, late; /* events waited for; the longest that one came too late, ns */
} GememPace;

/* Event at @time (ns, trace time over all epochs) is next: waits for its time. */
void gemem_pace_keep (GememPace *pace, guint64 time);

typedef struct _GememWork GememWork;

/* NULL: @device has no streams that could be busy (GEMEM_ERROR_USAGE), or cannot do it here
 * (GEMEM_ERROR_NO_DEVICE). */
GememWork *gemem_work_new (GememDevice *device, GError **error);
void gemem_work_free (GememWork *work);
/* An event of @stream, or of all streams, is next. */
void gemem_work_until (GememWork *work, guint64 stream, guint64 time);
void gemem_work_until_all (GememWork *work, guint64 time);
/* @id is used by other streams than that of its block; until it is freed: was it? */
void gemem_work_share (GememWork *work, guint64 id);
gboolean gemem_work_is_shared (const GememWork *work, guint64 id);
void gemem_work_unshare (GememWork *work, guint64 id);
/* Pieces of work put on streams so far, and their length together. */
void gemem_work_counts (const GememWork *work, guint64 *pieces, guint64 *ns);
