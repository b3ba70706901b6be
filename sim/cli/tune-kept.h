/* tune-kept.h - the replays of `gemem-sim tune` in a database, from which the same command goes on.
 *
 * Why: a search of thousands of settings over long recordings takes hours, and machines are taken away.
 *
 * Invariants: what is taken is what the search would make: the name of a replay says all that it depends on, the
 * bytes of the recording and the options that change how it is read included.  A process that is killed loses no
 * more than the replays that run, and those that ended in twenty times the time of a write.
 */
#pragma once

#include "sim/cli/sweep.h"
#include "sim/search/tune.h"

typedef struct _GememTuneKept GememTuneKept;

/* In the database @path, created where it is missing, for the recordings @files (GememSourceFile, held).  NULL with
 * GEMEM_ERROR_FAILED. */
GememTuneKept *gemem_tune_kept_new (const char *path, const GPtrArray *files, GError **error);
const GememTuneKeeper *gemem_tune_kept_keeper (const GememTuneKept *kept);
/* Writes what waits; without it, it is lost. */
gboolean gemem_tune_kept_write (GememTuneKept *kept, GError **error);
void gemem_tune_kept_free (GememTuneKept *kept);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememTuneKept, gemem_tune_kept_free)
