/* engine-private.h - what the files of the engine offer each other, file by file, where it is a few
 * functions. */
#pragma once

#include "sim/engine/live.h"
#include "sim/engine/replay.h"
#include "sim/engine/run.h"

/* ---- audit.c: why a request failed, and which block would have to be freed for it to fit */

/* Fills all fields of @oom but seq, id, requested and stream, which the caller has set.  @free: bytes that
 * the recorded device had free at least (0: not told).  @detail FALSE: only the fields that need no walk
 * (the class avoidable/true, the sums). */
void gemem_audit (GememAllocator *allocator, const GememLiveTable *table,
                  const GememAccounts *accounts, const GememRequest *request, guint64 free,
                  gboolean detail, GememOom *oom);

/* ---- merge.c: one file for the logs (--events, --calls) of several runs */

typedef struct _GememMerge GememMerge;

/* Jobs among the @n of @jobs that have the same events_path, or the same calls_path, write files of
 * their own from now on, in the folder for temporary files.  NULL if there are none. */
GememMerge *gemem_merge_begin (GememJob *jobs, guint n, GError **error);
/* Joins those files, unless a run has no result, and removes them.  GEMEM_ERROR_FAILED names the
 * file. NULL is allowed. */
gboolean gemem_merge_end (GememMerge *merge, GememResult *const *results, GError **error);

/* ---- origins.c: who allocated the blocks that a result names */

/* Whether the trace has origins, judging by @info and its first @n events. */
gboolean gemem_origins_found (const GememTraceInfo *info, const GememTraceEvent *events, gsize n);

/* The origin of the live block @id: unknown without the probe.  O(1), and O(frames) for the first
 * block of a stack. */
GememOrigin gemem_origins_of_block (const GememRun *run, guint64 id);

/* For messages: " (allocated at event 12 by train.py:212 forward)" of the live block @id, or "";
 * g_free(). */
char *gemem_origins_describe (const GememRun *run, guint64 id);
/* For messages about the current event: " (by train.py:9 step; the block was allocated at event 12 by
 * train.py:212 forward)", as far as known, or ""; g_free(). */
char *gemem_origins_blame (const GememRun *run);

/* ---- setup.c: creates the device of a job, and finds its allocator's settings, from job and trace */

/* The device of @job as text. */
const char *gemem_setup_spec (const GememJob *job);
/* How a run follows the recording unless the user says otherwise (`address`). */
typedef enum
{
  GEMEM_SETUP_AS_TRACE, /* as the trace's device settings say */
  GEMEM_SETUP_RECORDED, /* segments lie where they were recorded, also those from before */
  GEMEM_SETUP_AFRESH    /* whatever they say, as if nothing had been recorded of addresses */
} GememSetupPlaces;

/* Creates the device of @job.  Precedence, weakest first: the trace's device settings, @places, the
 * job's device_spec, the device keys of the allocator's settings (vector files), @capacity (0: none). */
GememDevice *gemem_setup_device (const GememJob *job, const GememTraceInfo *info, int ordinal,
                                 guint64 capacity, GememSetupPlaces places, GError **error);

/* What is remembered of a recording between questions of gemem_setup_is_alike(); all 0 before the
 * first. */
typedef struct
{
  const GememAllocatorClass *klass;
  GememDevice *device;
  GPtrArray *settings; /* GememSetting: of klass, in effect when it was recorded; NULL: wrong */
} GememSetupRecorded;

/* TRUE if the recording was made by the allocator of @job with the settings that it has in @job, as
 * far as the recording tells. */
gboolean gemem_setup_is_alike (const GememJob *job, const GememTraceInfo *info,
                               GememSetupRecorded *recorded);
void gemem_setup_recorded_clear (GememSetupRecorded *recorded);
/* Whether the user says how addresses are chosen, and whether what device it is at all. */
gboolean gemem_setup_names_places (const GememJob *job);
gboolean gemem_setup_names_device (const GememJob *job);

/* The allocator settings recorded in the trace; NULL unless @job wants them and the trace was
 * recorded with the same allocator. */
const char *gemem_setup_defaults (const GememJob *job, const GememTraceInfo *info);

/* TRUE if the recording was made by the allocator of @job. */
gboolean gemem_setup_same_allocator (const GememJob *job, const GememTraceInfo *info);

/* Notes in @result where its device, of which it has the capacity, comes from. */
void gemem_setup_note_device (const GememJob *job, const GememTraceInfo *info, GememResult *result);

/* TRUE if the device of @job is hardware; FALSE also if its class is unknown. */
gboolean gemem_setup_is_real (const GememJob *job);

/* ---- share.c: several programs on one device: as many traces and allocators, one capacity */

/* One pass over all traces, on a device of @capacity (0: as the jobs say).  NULL with @error,
 * GEMEM_ERROR_USAGE if @job, which has others, asks for what only one program can have.  O(programs) for each event beyond that of a plain run. */
GememResult *gemem_share_pass (const GememJob *job, guint64 capacity, GError **error);

/* ---- rivals.c: other settings that would have decided alike */

/* Fills rivals_alike of the job of @run, which ends. */
void gemem_rivals_compare (const GememRun *run);
/* None of the rivals of @job is alike. */
void gemem_rivals_drop (const GememJob *job);
