/* events-log.h - `--events FILE`: one CSV row per event that reached the allocator, so that anyone
 * can compare decision by decision.
 *
 * Columns: seq,kind,id,size,address,block,reserved.  address is hexadecimal, and empty when the
 * request failed; size is what was asked for, block what was handed out, reserved the bytes held
 * from the device after the event.  Events that concern no block (trim, syncs) leave id to block
 * empty.
 */
#pragma once

#include "sim/engine/result.h"
#include "sim/engine/rows.h"

/* GEMEM_ERROR_FAILED naming the file; ended by gemem_rows_close() or gemem_rows_discard(). */
GememRows *gemem_events_log_open (const char *path, GError **error);

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
gboolean gemem_events_log_row (GememRows *log, const GememEventsRow *row);
