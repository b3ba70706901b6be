/* pace.h - --pace=recorded and --occupy: keeps a GPU as busy during a replay as it was when the
 * trace was recorded.
 *
 * Why: whether memory is free when it is requested depends on what streams have completed by then.
 * A replay without pauses on an idle GPU finds events complete at once that were pending in the
 * recorded program, or the reverse.
 *
 * Pace: before each event the host waits until as much time has passed since the first event as in
 * the recording; if the replay is late it does not wait.  Uses the clock and wait of the job.  The
 * simulated device has its own clock, which needs no waiting.  Work: traces hold no kernels.  A
 * stream's work is taken to last from one of its events to the next: before the second is replayed,
 * work of that length is launched on the stream.  So a free ordered by a stream follows the work of
 * the time before it, and a stream is busy as long as the recording lasted.  This is an upper
 * bound: idle time of the stream counts too.  The stream of a free is that of its block; a free of
 * a block that several streams used, and a synchronisation of the device, are events of all
 * streams.
 *
 * Invariants: makes no decision; the work launched depends on the trace alone.  Cost: O(log
 * streams) per event, and a launch where GEMEM_WORK_LEAST_NS have passed.
 */
#pragma once

#include "devices/device.h"
#include "traces/trace.h"

#define GEMEM_WORK_LEAST_NS 2000 /* shorter work is added to the next: a launch takes this long */

typedef struct
{
  guint64 (*clock) (void);
  void (*wait) (guint64 until);
  gboolean begun;
  guint64 origin;      /* host time of trace time 0 */
  guint64 waits, late; /* waits: events waited for; late: largest delay of an event, ns */
} GememPace;

/* Waits until @time (ns, trace time over all epochs), the time of the next event. */
void gemem_pace_keep (GememPace *pace, guint64 time);

typedef struct _GememWork GememWork;

/* NULL: @device has no streams that could be kept busy (GEMEM_ERROR_USAGE), or cannot do so here
 * (GEMEM_ERROR_NO_DEVICE). */
GememWork *gemem_work_new (GememDevice *device, GError **error);
void gemem_work_free (GememWork *work);
/* The next event, at @time, is one of @stream, or of all streams: launches the work before it. */
void gemem_work_until (GememWork *work, guint64 stream, guint64 time);
void gemem_work_until_all (GememWork *work, guint64 time);
/* Number of pieces of work launched so far, and their total length. */
void gemem_work_counts (const GememWork *work, guint64 *pieces, guint64 *ns);
