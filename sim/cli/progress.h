/* progress.h - one line on a terminal about work that takes long: share, what is done, time left.
 *
 * Why here: nothing below sim/cli prints or knows the time.  The work counts where it is cheap, a
 * batch of events or a buffer of bytes at a time, in atomic numbers; a thread of this file looks at
 * them a few times a second and draws.
 *
 * Invariants: nothing is shown in the first half second of a phase, if standard error is no
 * terminal, after --quiet, or in the background; the line is never wider than the terminal; it is
 * erased before anything else is printed (gemem_progress_pause()), at the end of the phase, and
 * when a signal ends the program.  Phases follow one another, begun and ended by the main thread.
 */
#pragma once

#include "sim/engine/replay.h"

/* A phase whose share is that of one trace or graph being read: by events where their number is
 * known, else by bytes.  "reading FILE" is what the line says. */
void gemem_progress_begin_reading (const char *name);
/* A phase of @n steps, all alike as far as one knows: "WHAT: 12 of 36 UNIT". */
void gemem_progress_begin_steps (const char *what, const char *unit, guint n);
/* So many steps are done; from any thread. */
void gemem_progress_set_steps (guint done);
/* The same number, and how much of the present step is done in 1000ths, for work that counts by
 * itself (atomic). */
gint *gemem_progress_steps (void);
gint *gemem_progress_share (void);
/* Ends the phase, if there is one, and erases the line. */
void gemem_progress_end (void);

/* Counts what @reader delivers to the phase. */
void gemem_progress_watch (GememTraceReader *reader);

/* gemem_jobs_run() as a phase.  @path_of: the path of a job's trace, as its reader has it. */
void gemem_progress_run_jobs (const char *what, const GememJob *jobs, guint n, guint threads,
                              const char *(*path_of) (const GememJob *job), GememResult **results,
                              GError **errors);

/* Erases the line, and keeps it away until resumed: around all that is printed. */
void gemem_progress_pause (void);
void gemem_progress_resume (void);
/* Erases the line, from a handler of a signal that ends the program. */
void gemem_progress_erase_at_once (void);
