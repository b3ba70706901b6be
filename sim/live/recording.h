/* recording.h - the calls and decisions of a program's heaps, as a trace file.
 *
 * One file for all devices of the program; events of each device are in order.  It names the
 * allocator, its settings and its device, so that a replay without options repeats the run,
 * compares every decision and reports differences.  Until the file is complete its events are in
 * the journal PATH.PROCESS.gmj, which every command of gemem-sim reads.  Only the journal remains
 * when the program is killed or the disk is full.  Write errors are stored and reported at the end:
 * a full disk must not stop the recorded program.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

typedef struct _GememRecording GememRecording;

/* A recording for the file @path (format by its extension).  Errors: as gemem_trace_create(), for
 * the file and for its journal. */
GememRecording *gemem_recording_new (const char *path, GError **error);
/* The first heap names the allocator of the recording, and those of its @settings (GememSetting)
 * that the user set. */
void gemem_recording_describe (GememRecording *recording, const char *allocator,
                               const GPtrArray *settings, GememDevice *device);
/* A range of addresses was reserved at @address.  In a replay the simulated ranges begin where the
 * first one did. */
void gemem_recording_note_range (GememRecording *recording, guint64 address);
/* The next id; ids are unique in the file, across devices. */
guint64 gemem_recording_new_id (GememRecording *recording);
void gemem_recording_add (GememRecording *recording, const GememTraceEvent *event);
/* Call in a child of fork(): the recording belongs to the parent, the child records nothing. */
void gemem_recording_forget (GememRecording *recording);
/* Completes the file and frees @recording.  GEMEM_ERROR_FAILED: the first error, of now or of
 * earlier writes. */
gboolean gemem_recording_finish (GememRecording *recording, GError **error);
