/* held.h - a trace that is read once and then delivered from memory, to any number of replays.
 *
 * Why: dozens of settings replay the same trace, and reading a file of strangers (a pickle in gzip)
 * takes longer than replaying it.
 *
 * Invariants: what is held never changes, so threads share it; the facts of the trace are those of
 * its end.  A trace of more than GEMEM_HELD_EVENTS events is not kept: its file is read each time.
 * Cost: 64 bytes per event.
 */
#pragma once

#include "sim/engine/replay.h"

#define GEMEM_HELD_EVENTS 2000000 /* 122 MiB */

typedef struct _GememHeld GememHeld;

/* Reads what @source delivers, and counts its events and devices.  NULL with the error of the
 * reader; gemem_held_free(). */
GememHeld *gemem_held_new (GememTraceSource source, gpointer data, GError **error);
void gemem_held_free (GememHeld *held);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememHeld, gemem_held_free)

/* A GememTraceSource; @held must outlive the readers. */
GememTraceReader *gemem_held_open (gpointer held, GError **error);

/* Facts of the trace, after its end. */
const GememTraceInfo *gemem_held_info (const GememHeld *held);
guint64 gemem_held_events (const GememHeld *held);
guint64 gemem_held_count (const GememHeld *held, GememEventKind kind);
/* Requests that were refused when they were recorded, or events that say so. */
guint64 gemem_held_refused (const GememHeld *held);
