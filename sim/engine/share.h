/* share.h - several programs on one device: as many traces and allocators, one capacity.
 *
 * Why: training and serving on one GPU fail together.  What one program caches the other cannot
 * have, so that neither alone shows whether both fit.
 *
 * Each program is a run of its own (run.h) with its own simulated device: own addresses, clock,
 * counters and allocator, as processes have.  The devices share their bytes (gemem_device_share()).
 * Events are served one at a time, in the order of GememShareOrder; a trace that has ended keeps
 * what it holds, as a program that waits does.
 *
 * Invariants: the order depends on the traces alone; the sum that is sampled after each event is
 * that of the devices' held bytes; while one program is served the others hold what they held.
 */
#pragma once

#include "sim/engine/replay.h"

/* Whether @job, which has others, asks for nothing that only one program can have.
 * GEMEM_ERROR_USAGE. */
gboolean gemem_share_check (const GememJob *job, GError **error);
/* One pass over all traces, on a device of @capacity (0: as the jobs say).  NULL with @error, which
 * is also that of gemem_share_check().  O(programs) for each event beyond that of a plain run. */
GememResult *gemem_share_pass (const GememJob *job, guint64 capacity, GError **error);
