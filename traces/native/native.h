/* native.h - seeking to an event by its number, which only the native format supports. */
#pragma once

#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* Makes number @event (from 0; the number of events: the end) the next event that @reader delivers.
 * @reader must read a native trace from an uncompressed regular file or from memory.  Errors:
 * GEMEM_ERROR_USAGE for any other reader and for an event that does not exist; GEMEM_ERROR_INPUT
 * for a damaged file.  Cost: one chunk is unpacked. */
gboolean gemem_native_seek (GememTraceReader *reader, guint64 event, GError **error);

GEMEM_END_DECLS
