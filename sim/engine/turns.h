/* turns.h - serves the events of a run from several host threads, one event at a time.
 *
 * Why: manuals say which allocators belong to one thread and which lock; a trace does not say
 * which thread called.  Here event N of the trace is served by thread N modulo the number of
 * threads, each waiting for its turn, so that results are those of one thread unless an allocator
 * minds who calls.
 * Cost: two switches of threads per event, some microseconds.
 */
#pragma once

#include "traces/trace.h"

typedef struct _GememRun GememRun;
typedef struct _GememTurns GememTurns;

/* @threads: at least 1.  They serve @run until gemem_turns_free(), which ends them. */
GememTurns *gemem_turns_new (GememRun *run, guint threads);
void gemem_turns_free (GememTurns *turns);
/* As gemem_run_events(); also GEMEM_ERROR_INPUT where the allocator refuses a call of a thread. */
gboolean gemem_turns_events (GememTurns *turns, const GememTraceEvent *events, gsize n,
                             GError **error);
