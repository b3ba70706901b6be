/* recording.h - what the heaps of a program did, as a trace file.
 *
 * One file for all devices of the program; events of each device are in order.  It names the allocator, its settings and its device, so that a replay
 * without options repeats the run, compares every decision and says where it differs.
 * Errors while writing are kept and told at the end: a full disk must not stop the program that is recorded.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememRecording GememRecording;

/* Makes @path (format by its extension).  Errors: as gemem_trace_create(). */
GememRecording *gemem_recording_new (const char *path, GError **error);
/* The first heap says what made the recording: the allocator, and those of its @settings (GememSetting) that were given. */
void            gemem_recording_describe (GememRecording *recording, const char *allocator, const GPtrArray *settings, GememDevice *device);
/* Ids are those of the file, whichever device they are of. */
guint64         gemem_recording_new_id (GememRecording *recording);
void            gemem_recording_add (GememRecording *recording, const GememTraceEvent *event);
/* Completes the file and frees @recording.  GEMEM_ERROR_FAILED: what went wrong first, now or before. */
gboolean        gemem_recording_finish (GememRecording *recording, GError **error);
