/* recording.h - what the heaps of a program did, as a trace file.
 *
 * One file for all devices of the program; events of each device are in order.  It names the
 * allocator, its settings and its device, so that a replay without options repeats the run,
 * compares every decision and says where it differs.
 * Until the file is complete its events are in the journal PATH.PROCESS.gmj, which every command of
 * gemem-sim reads: it is all there is when the program is killed, and all that was written when
 * the disk is full.
 * Errors while writing are kept and told at the end: a full disk must not stop the program that is
 * recorded.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememRecording GememRecording;

/* For the file @path (format by its extension).  Errors: as gemem_trace_create(), of that file and
 * of its journal. */
GememRecording *gemem_recording_new (const char *path, GError **error);
/* The first heap says what made the recording: the allocator, and those of its @settings
 * (GememSetting) that were given. */
void gemem_recording_describe (GememRecording *recording, const char *allocator,
                               const GPtrArray *settings, GememDevice *device);
/* A range of addresses was reserved at @address; in a replay the simulated ranges begin where the
 * first one is. */
void gemem_recording_note_range (GememRecording *recording, guint64 address);
/* Ids are those of the file, whichever device they are of. */
guint64 gemem_recording_new_id (GememRecording *recording);
void gemem_recording_add (GememRecording *recording, const GememTraceEvent *event);
/* In a child of fork(): what it does is not in the recording, which is its parent's. */
void gemem_recording_forget (GememRecording *recording);
/* Completes the file and frees @recording.  GEMEM_ERROR_FAILED: what went wrong first, now or
 * before. */
gboolean gemem_recording_finish (GememRecording *recording, GError **error);
