/* calls-log.c - the probe of `--calls FILE`: one CSV row per device call, to compare two devices or
 * to replay one (-d sim:calls=FILE).
 *
 * Columns: seq,call,stream,size,address,ok,device.  seq is that of the event during which the
 * call was made (0 also before the first event); address is hexadecimal: of memory, or for
 * create and destroy the number of the page; ok is 0 for a refused call and for an event that
 * was not complete; device is the number that the trace gives the device (0 for host memory).
 * The last row, `close`, is the end of the device, for which no allocator calls: whatever it
 * gave back stands above.
 */
#include "config.h"

#include "sim/engine/rows.h"
#include "sim/engine/run.h"

typedef struct
{
  GememProbe probe;
  GememRows *rows; /* NULL: not opened, or closed */
  const guint64 *seq;
  guint64 ordinal;
  GememDeviceObserver observer;
} CallsLog;

static void
write_row (const CallsLog *log, const char *call, const GememDeviceNote *note)
{
  char *at = gemem_rows_number (gemem_rows_begin (log->rows), *log->seq);

  *at++ = ',';
  at = g_stpcpy (at, call);
  *at++ = ',';
  at = gemem_rows_number (at, note->stream);
  *at++ = ',';
  at = gemem_rows_number (at, note->size);
  *at++ = ',';
  at = gemem_rows_address (at, note->address);
  *at++ = ',';
  at = gemem_rows_number (at, note->ok ? 1 : 0);
  *at++ = ',';
  gemem_rows_end (log->rows, gemem_rows_number (at, log->ordinal));
}

static void
write_call (gpointer data, const GememDeviceNote *note)
{
  write_row (data, gemem_device_call_name (note->call), note);
}

static gboolean
wanted (const GememRun *run)
{
  return run->job->calls_path != NULL;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  CallsLog *log = (CallsLog *) probe;

  log->rows = gemem_rows_open (run->job->calls_path, "seq,call,stream,size,address,ok,device\n",
                               error);
  if (log->rows == NULL)
    return FALSE;
  log->seq = &run->seq;
  log->ordinal = (guint64) run->device->ordinal;
  log->observer = (GememDeviceObserver){ .func = write_call, .data = log };
  gemem_device_add_observer (run->device, &log->observer);
  return TRUE;
}

static gboolean
finish (GememProbe *probe, GememRun *run, GError **error)
{
  CallsLog *log = (CallsLog *) probe;

  gemem_device_remove_observer (run->device, &log->observer);
  write_row (log, "close", &(const GememDeviceNote){ .ok = TRUE });
  return gemem_rows_close (g_steal_pointer (&log->rows), run->result->partial, error);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  CallsLog *log = (CallsLog *) probe;

  gemem_device_remove_observer (run->device, &log->observer);
  gemem_rows_discard (log->rows);
}

const GememProbeClass gemem_calls_log_probe = {
  .size = sizeof (CallsLog), .wanted = wanted, .attach = attach, .finish = finish, .clear = clear
};
