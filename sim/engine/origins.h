/* origins.h - who allocated the blocks that a result names: failed requests and the blocks in their
 * way, the largest blocks at the live peak, blocks never freed, the segment map.
 *
 * A probe (gemem_origins_probe), attached only where the job asks for origins
 * (GememJob.keep_origins) and the trace has call stacks or tags, so that the event path of all
 * other runs is the same as without it.
 */
#pragma once

#include "sim/engine/run.h"

/* Whether the trace has origins, judging by @info and its first @n events. */
gboolean gemem_origins_found (const GememTraceInfo *info, const GememTraceEvent *events, gsize n);

/* The origin of the live block @id: unknown without the probe.  O(1), and O(frames) for the first
 * block of a stack. */
GememOrigin gemem_origins_of_block (const GememRun *run, guint64 id);

/* For messages: " (allocated at event 12 by train.py:212 forward)" of the live block @id, or "";
 * g_free(). */
char *gemem_origins_describe (const GememRun *run, guint64 id);
/* For messages about the current event: " (by train.py:9 step; the block was allocated at event 12
 * by train.py:212 forward)", as far as known, or ""; g_free(). */
char *gemem_origins_blame (const GememRun *run);
