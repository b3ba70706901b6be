/* sweep.h - the parts of `gemem-sim sweep`: a specification becomes a list of runs, of which a shard is
 * made and written to a database, here or by Slurm.  Programs are recorded before.
 *
 * Invariants: the list follows from the specification and the files alone, so that every machine numbers
 * its runs alike; each combination is in it once.
 */
#pragma once

#include "sim/cli/source.h"
#include "sim/report/database.h"

/* ---- sweep-spec.c */

/* A [group] of the specification, the keys of [global] included. */
typedef struct
{
  char *name;
  GPtrArray *traces;     /* paths */
  GPtrArray *programs;   /* what follows gemem-dry-run, words as a shell's */
  GPtrArray *allocators; /* GememAllocatorSpec */
  GPtrArray *devices;    /* GememDeviceSpec, of */
  GPtrArray *device_lists;
  GPtrArray *lowerings; /* texts of --lower; one that is NULL: none */
  GArray *repeats;      /* guint */
  guint warm_up;
  gboolean find_capacity, no_trace_settings;
} GememSweepGroup;

/* The groups of the file @path (GememSweepGroup).  NULL with GEMEM_ERROR_USAGE that names the line, or
 * GEMEM_ERROR_FAILED. */
GPtrArray *gemem_sweep_spec_read (const char *path, GError **error);

/* ---- sweep-programs.c */

/* Where in @folder the recording of @program is; g_free(). */
char *gemem_sweep_recording (const char *folder, const char *program);
/* TRUE if @recording is there, or the reason why there is none: *@failure, g_free(). */
gboolean gemem_sweep_was_recorded (const char *recording, char **failure);
/* Runs @program under gemem-dry-run unless it was; waits for who does so.  FALSE with
 * GEMEM_ERROR_FAILED, GEMEM_ERROR_INTERRUPTED where that is not known to be the program's fault. */
gboolean gemem_sweep_record (const char *program, const char *recording, char **failure,
                             GError **error);

/* ---- sweep-runs.c */

typedef struct _GememSweep GememSweep;

/* The runs of @groups, which it takes, that belong to shard @shard of @shards, from 1.  @recordings: the
 * folder for those of programs. */
GememSweep *gemem_sweep_new (GPtrArray *groups, const char *recordings, guint shard, guint shards,
                             GError **error);
void gemem_sweep_free (GememSweep *sweep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememSweep, gemem_sweep_free)

/* What became of the runs; one of a trace with several devices counts for each. */
typedef struct
{
  guint made, there, refused; /* refused: part of `made`; their settings are no allocator's */
  guint programs;             /* that failed; each is a row */
  guint failed; /* files and runs of which there is no row: what is wrong was printed */
  int status;   /* exit status of the first of those */
} GememSweepCounts;

/* Makes those runs that @database does not have, @threads at a time (0: one per processor), and writes
 * each soon after its end.  With @list (@database may then be NULL) they are told there, a line each, and
 * not made. */
gboolean gemem_sweep_run (GememSweep *sweep, GememDatabase *database, guint threads, GString *list,
                          GememSweepCounts *counts, GError **error);

/* ---- sweep-slurm.c */

/* Submits @tasks shards of @spec as an array, and their merge into @output.  @recordings: as above;
 * @options: of sbatch.  Appends what was submitted to @out. */
gboolean gemem_sweep_submit (const char *spec, const char *output, const char *recordings,
                             guint tasks, const char *options, GString *out, GError **error);
