/* events-log.h - `--events FILE`: one CSV row per event that reached the allocator, so that anyone can compare decision by decision.
 *
 * Columns: seq,kind,id,size,address,block,reserved.  address is hexadecimal, and empty when the request failed; size is what was
 * asked for, block what was handed out, reserved the bytes held from the device after the event.  Events that concern no block
 * (trim, syncs) leave id to block empty.
 *
 * The file appears complete or not at all: rows go through a large buffer to a temporary file beside it, which is renamed at the
 * end.  A destination that is not a regular file (a pipe, /dev/stdout) is written directly.  An interrupted run leaves FILE.partial.
 */
#pragma once

#include "sim/engine/result.h"

typedef struct _GememEventsLog GememEventsLog;

/* GEMEM_ERROR_FAILED naming the file. */
GememEventsLog *gemem_events_log_open (const char *path, GError **error);

/* One row; @block NULL: no block (failed request: @failed). */
typedef struct
{
  guint64 seq;
  GememEventKind kind;
  gboolean has_id;
  guint64 id, size;
  const GememBlock *block; /* NULL: the request failed, or the event has no block */
  guint64 reserved;
} GememEventsRow;

/* FALSE after a write error; it is reported by close. */
gboolean gemem_events_log_row (GememEventsLog *log, const GememEventsRow *row);

/* Completes and frees the log.  @partial: the run was interrupted. GEMEM_ERROR_FAILED naming the file. */
gboolean gemem_events_log_close (GememEventsLog *log, gboolean partial, GError **error);
/* Frees the log and removes what was written; NULL is allowed. */
void gemem_events_log_discard (GememEventsLog *log);
