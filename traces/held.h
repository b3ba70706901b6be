/* held.h - a trace that is read once and then delivered from memory, to any number of replays.
 *
 * Why: dozens of settings replay the same trace, and reading a file of strangers (a pickle in gzip)
 * takes longer than replaying it.
 *
 * Invariants: what is held never changes, so threads share it; the facts of the trace are those of
 * its end.
 * Cost: 64 bytes per event up to GEMEM_HELD_UNPACKED; those after it are packed as in a native file,
 * about 5 bytes each, which takes longer once than it takes to unpack them for each replay.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

#define GEMEM_HELD_UNPACKED 524288 /* 32 MiB */

typedef struct _GememHeld GememHeld;

/* Reads all that @reader delivers, and counts its events; takes ownership of @reader, also on error.
 * NULL with the error of the reader; gemem_held_unref(). */
GememHeld *gemem_held_new (GememTraceReader *reader, GError **error);
GememHeld *gemem_held_ref (GememHeld *held);
void gemem_held_unref (GememHeld *held); /* both from one thread */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememHeld, gemem_held_unref)

/* A GememTraceSource; @held must outlive the readers. */
GememTraceReader *gemem_held_open (gpointer held, GError **error);

/* Facts of the trace, after its end. */
const GememTraceInfo *gemem_held_info (const GememHeld *held);
guint64 gemem_held_events (const GememHeld *held);
guint64 gemem_held_count (const GememHeld *held, GememEventKind kind);
/* Requests that were refused when they were recorded, or events that say so. */
guint64 gemem_held_refused (const GememHeld *held);

GEMEM_END_DECLS
