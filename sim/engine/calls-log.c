/* calls-log.c - see calls-log.h. */
#include "config.h"

#include "sim/engine/calls-log.h"

static void
write_call (gpointer data, const GememDeviceNote *note)
{
  const GememCallsLog *log = data;
  char *at = gemem_rows_number (gemem_rows_begin (log->rows), *log->seq);

  *at++ = ',';
  at = g_stpcpy (at, gemem_device_call_name (note->call));
  *at++ = ',';
  at = gemem_rows_number (at, note->stream);
  *at++ = ',';
  at = gemem_rows_number (at, note->size);
  *at++ = ',';
  at = gemem_rows_address (at, note->address);
  *at++ = ',';
  gemem_rows_end (log->rows, gemem_rows_number (at, note->ok ? 1 : 0));
}

gboolean
gemem_calls_log_open (GememCallsLog *log, const char *path, GememDevice *device, const guint64 *seq,
                      GError **error)
{
  log->rows = gemem_rows_open (path, "seq,call,stream,size,address,ok\n", error);
  if (log->rows == NULL)
    return FALSE;
  log->seq = seq;
  log->watch = (GememDeviceWatch){ .func = write_call, .data = log };
  gemem_device_watch (device, &log->watch);
  return TRUE;
}
