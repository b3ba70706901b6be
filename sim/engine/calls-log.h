/* calls-log.h - `--calls FILE`: one CSV row per device call, so that two devices can be compared,
 * or one be replayed (-d sim:calls=FILE).
 *
 * Columns: seq,call,stream,size,address,ok.  seq is that of the event during which the call was
 * made (0 also for what came before the first); address is hexadecimal, of memory or, for create
 * and destroy, the number of the page; ok is 0 for what was refused and for an event that was not
 * complete.
 */
#pragma once

#include "devices/device.h"
#include "sim/engine/rows.h"

typedef struct
{
  GememRows *rows; /* NULL: none is written */
  const guint64 *seq;
  GememDeviceWatch watch;
} GememCallsLog;

/* Writes every call of @device from now on, with the event number in *@seq; until the device is
 * unwatched.  GEMEM_ERROR_FAILED naming the file. */
gboolean gemem_calls_log_open (GememCallsLog *log, const char *path, GememDevice *device,
                               const guint64 *seq, GError **error);
