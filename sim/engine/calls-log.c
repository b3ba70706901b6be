/* calls-log.c - the probe of `--calls FILE`: one CSV row per device call, to compare two devices or
 * to replay one (-d sim:calls=FILE).
 *
 * Columns: seq,call,stream,size,address,ok.  seq is that of the event during which the call was
 * made (0 also before the first event); address is hexadecimal: of memory, or for create and
 * destroy the number of the page; ok is 0 for a refused call and for an event that was not
 * complete.
 */
#include "config.h"

#include "sim/engine/rows.h"
#include "sim/engine/run.h"

typedef struct
{
  GememProbe probe;
  GememRows *rows; /* NULL: not opened, or closed */
  const guint64 *seq;
  GememDeviceObserver observer;
} CallsLog;

static void
write_call (gpointer data, const GememDeviceNote *note)
{
  const CallsLog *log = data;
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

static gboolean
wanted (const GememRun *run)
{
  return run->job->calls_path != NULL;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  CallsLog *log = (CallsLog *) probe;

  log->rows = gemem_rows_open (run->job->calls_path, "seq,call,stream,size,address,ok\n", error);
  if (log->rows == NULL)
    return FALSE;
  log->seq = &run->seq;
  log->observer = (GememDeviceObserver){ .func = write_call, .data = log };
  gemem_device_add_observer (run->device, &log->observer);
  return TRUE;
}

static gboolean
finish (GememProbe *probe, GememRun *run, GError **error)
{
  CallsLog *log = (CallsLog *) probe;

  gemem_device_remove_observer (run->device, &log->observer);
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
