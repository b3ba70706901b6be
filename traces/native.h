/* native.h - what only the native format can do: going to an event by its number. */
#pragma once

#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* The next event that @reader delivers is number @event (from 0; the number of events: the end).
 * @reader reads a native trace from an uncompressed regular file, or from memory.  Errors:
 * GEMEM_ERROR_USAGE when it does not or when there is no such event; GEMEM_ERROR_INPUT when the
 * file is damaged.  Cost: one chunk is unpacked. */
gboolean gemem_native_seek (GememTraceReader *reader, guint64 event, GError **error);

GEMEM_END_DECLS
