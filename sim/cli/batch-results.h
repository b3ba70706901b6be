/* batch-results.h - the results of a batch of runs, and what is written of them: between batch.c,
 * which makes the runs, and the reports.
 *
 * Invariants: `results` holds a part of `rows`, in the same order.
 */
#pragma once

#include "sim/engine/replay.h"
#include "sim/report/report.h"

/* What the options of batch.c ask for; texts belong to the option parser, NULL: not asked for. */
typedef struct
{
  char *format, *report;  /* the report's form, as written, and file (NULL: stdout) */
  GememReportFormat form; /* chosen from both when the options are checked */
  char *plots;            /* folder */
  char *manifest, *sqlite, *map, *allocator_report; /* files */
  char *page;                                       /* file */
  char *drawn;                                      /* which plot is drawn as text */
  gboolean fail_on_oom;                             /* a refused request is status 4 */
} GememOutputs;

extern GememOutputs gemem_outputs;

typedef struct
{
  /* GememResult, in order; includes runs that could not begin while others of their trace did */
  GPtrArray *rows;
  GPtrArray *results; /* the results of runs that began, owned by `rows` */
  int status;         /* exit status: that of the first failed run */
  guint runs, ended;  /* all runs; those that no interruption cut short */
  GHashTable *said;   /* messages that were printed */
  /* text that stands for several allocators -> the GError that the first of them was refused with;
   * NULL: one was not refused */
  GHashTable *several;
  gboolean choices; /* the rows are what the recorded program could choose */
  guint no_choices; /* rows that were left out, as they are no better than what it has */
} GememBatchResults;

/* For the results of @runs runs, of @choices those of choices.h; end with gemem_batch_results_free(). */
GememBatchResults *gemem_batch_results_new (guint runs, gboolean choices);
void gemem_batch_results_free (GememBatchResults *batch);
/* Takes the @result of @job, or prints @error unless another run had the same: a damaged trace
 * causes it for every allocator.  Takes both; one of them is NULL. */
void gemem_batch_collect (GememBatchResults *batch, const GememJob *job, GememResult *result,
                          GError *error);
/* Counts the run of @job, which was left out, as it is no choice. */
void gemem_batch_leave_out (GememBatchResults *batch, const GememJob *job);
/* Gives @result of @job, and those of its programs, the names that the user gave, with @hashes also
 * those of the traces. */
void gemem_batch_name (GememResult *result, const GememJob *job, gboolean hashes);
/* The result of @job, which could not begin for that @reason: names alone. */
GememResult *gemem_batch_not_run (const GememJob *job, const char *reason);
/* All are collected: names their devices, and leaves out the rows that stand alone, and choices that are
 * none.  O(rows^2). */
void gemem_batch_results_end (GememBatchResults *batch);
/* Writes the report, with @details one result in full, and all other outputs.  FALSE with @error
 * (GEMEM_ERROR_FAILED, _USAGE) at the first that cannot be written. */
gboolean gemem_batch_report (const GememBatchResults *batch, gboolean details, GError **error);
