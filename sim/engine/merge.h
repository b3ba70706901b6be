/* merge.h - one file for the logs (--events, --calls) of several runs.
 *
 * Why: a trace of several devices is one run for each, and its log is one file, whose rows stand in
 * the order of the trace; the column `device` tells them apart.
 * Invariants: the file is complete or absent; where a run ended early it is FILE.partial.
 */
#pragma once

#include "sim/engine/replay.h"

typedef struct _GememMerge GememMerge;

/* Jobs among the @n of @jobs that have the same events_path, or the same calls_path, write files of
 * their own from now on, in the folder for temporary files.  NULL if there are none. */
GememMerge *gemem_merge_begin (GememJob *jobs, guint n, GError **error);
/* Joins those files, unless a run has no result, and removes them.  GEMEM_ERROR_FAILED names the
 * file. NULL is allowed. */
gboolean gemem_merge_end (GememMerge *merge, GememResult *const *results, GError **error);
