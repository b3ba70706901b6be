/* log-reader.c - see log-reader.h. */
#include "config.h"

#include "traces/log-reader.h"

void
gemem_log_reader_init (GememLogReader *log, const char *format, GememInput *input,
                       const GememReadOptions *options)
{
  gemem_line_reader_init (&log->lines, format, input, options);
  log->lines.end = gemem_log_reader_finish;
  log->times = gemem_idmap_new (sizeof (guint64));
}

void
gemem_log_reader_clear (GememLogReader *log)
{
  gemem_idmap_free (log->times);
  gemem_line_reader_clear (&log->lines);
}

GememIdMap *
gemem_log_blocks_new (void)
{
  return gemem_idmap_new (sizeof (GememLogBlock));
}

GememTraceEvent *
gemem_log_reader_add (GememLogReader *log, GememEventKind kind, guint64 device, guint64 time)
{
  GememTraceEvent *event = gemem_line_reader_add (&log->lines);
  guint64 *last, since = time > log->first_time ? time - log->first_time : 0;

  event->kind = (guint8) kind;
  event->device = (guint16) device;
  if (log->timeless)
    return event;
  last = gemem_idmap_insert (log->times, device, NULL);
  log->late += since < *last;
  event->time = *last = MAX (*last, since);
  return event;
}

GememTraceEvent *
gemem_log_reader_add_block (GememLogReader *log, GememEventKind kind, const GememLogBlock *block,
                            guint64 time)
{
  GememTraceEvent *event = gemem_log_reader_add (log, kind, block->device, time);

  event->id = block->id;
  event->size = block->size;
  event->stream = block->stream;
  event->address = block->address;
  return event;
}

GememTraceEvent *
gemem_log_reader_alloc (GememLogReader *log, GememIdMap *blocks, guint64 key, GememLogBlock *block,
                        guint64 time)
{
  gboolean live;
  GememLogBlock *place = gemem_idmap_insert (blocks, key, &live);

  if (live && !log->lines.options.allow_partial)
    {
      gemem_line_reader_fail (&log->lines,
                              "0x%" G_GINT64_MODIFIER
                              "x is allocated while it is live; lines are missing, or the logs of "
                              "several processes were mixed; "
                              "use --allow-partial to end the old block here",
                              key);
      return NULL;
    }
  if (live)
    gemem_log_reader_add_block (log, GEMEM_EVENT_FREE, place, time);
  log->replaced += live;
  block->id = ++log->last_id;
  *place = *block;
  return gemem_log_reader_add_block (log, GEMEM_EVENT_ALLOC, block, time);
}

void
gemem_log_reader_end (GememLogReader *log, GememIdMap *blocks, guint64 key, GememEventKind kind,
                      gboolean expected, guint64 time)
{
  GememLogBlock block;

  if (gemem_idmap_remove (blocks, key, &block))
    gemem_log_reader_add_block (log, kind, &block, time);
  else
    {
      log->unknown += expected;
      gemem_log_reader_skip (log);
    }
}

void
gemem_log_reader_refuse (GememLogReader *log, GememLogBlock *block, guint64 time)
{
  block->id = ++log->last_id;
  gemem_log_reader_add_block (log, GEMEM_EVENT_ALLOC, block, time)->flags = GEMEM_EVENT_FAILED;
  gemem_log_reader_add_block (log, GEMEM_EVENT_FREE, block, time)->flags = GEMEM_EVENT_FAILED;
}

gboolean
gemem_log_reader_skip (GememLogReader *log)
{
  log->lines.base.info.skipped++;
  return TRUE;
}

void
gemem_log_reader_note (GememLogReader *log, guint64 n, const char *what)
{
  if (n > 0)
    gemem_trace_info_note (&log->lines.base.info, "note", "%" G_GUINT64_FORMAT " %s", n, what);
}

gboolean
gemem_log_reader_finish (GememLineReader *reader)
{
  GememLogReader *log = (GememLogReader *) reader;

  if (log->unknown > 0)
    reader->base.info.flags |= GEMEM_TRACE_STARTS_IN_MIDDLE;
  gemem_log_reader_note (log, log->unknown,
                         "frees of blocks that this log never allocated are left out");
  gemem_log_reader_note (
      log, log->replaced,
      "blocks were still live when their address was allocated again, and end there");
  gemem_log_reader_note (
      log, log->late,
      "lines are earlier than the line before on their device, their times were raised");
  return TRUE;
}
