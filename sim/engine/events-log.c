/* events-log.c - the probe of `--events FILE`: one CSV row per event that reached the allocator,
 * for comparison decision by decision.
 *
 * Columns: seq,kind,id,size,address,block,reserved,device.  address is hexadecimal, and empty when
 * the request failed; size is the requested bytes, block the bytes of the block, reserved the bytes
 * held from the device after the event, device the number that the trace gives the device.  Events
 * that concern no block (trim, syncs) leave id to block empty.  Cost: about 40 ns a row.
 */
#include "config.h"

#include "sim/engine/rows.h"
#include "sim/engine/run.h"

typedef struct
{
  GememProbe probe;
  GememRows *rows; /* NULL: not opened yet, or closed */
} EventsLog;

static gboolean
wanted (const GememRun *run)
{
  return run->job->events_path != NULL;
}

static gboolean
start (GememProbe *probe, GememRun *run, GError **error)
{
  EventsLog *log = (EventsLog *) probe;

  log->rows = gemem_rows_open (run->job->events_path,
                               "seq,kind,id,size,address,block,reserved,device\n", error);
  return log->rows != NULL;
}

static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  GememRows *rows = ((EventsLog *) probe)->rows;
  const GememBlock *block = decision->block;
  char *at = gemem_rows_number (gemem_rows_begin (rows), run->seq);

  *at++ = ',';
  at = g_stpcpy (at, gemem_event_kind_name ((GememEventKind) decision->event->kind));
  *at++ = ',';
  at = decision->of_block ? gemem_rows_number (at, decision->event->id) : at;
  *at++ = ',';
  at = decision->of_block ? gemem_rows_number (at, decision->size) : at;
  *at++ = ',';
  at = block != NULL ? gemem_rows_address (at, block->address) : at;
  *at++ = ',';
  at = block != NULL ? gemem_rows_number (at, block->size) : at;
  *at++ = ',';
  at = gemem_rows_number (at, run->device->held);
  *at++ = ',';
  if (!gemem_rows_end (rows, gemem_rows_number (at, (guint64) run->device->ordinal)))
    run->stop = TRUE; /* finish() reports why */
}

static gboolean
finish (GememProbe *probe, GememRun *run, GError **error)
{
  EventsLog *log = (EventsLog *) probe;

  return gemem_rows_close (g_steal_pointer (&log->rows), run->result->partial, error);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  (void) run;
  gemem_rows_discard (((EventsLog *) probe)->rows);
}

const GememProbeClass gemem_events_log_probe = { .size = sizeof (EventsLog),
                                                 .wanted = wanted,
                                                 .start = start,
                                                 .decided = decided,
                                                 .finish = finish,
                                                 .clear = clear };
