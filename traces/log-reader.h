/* log-reader.h - the common part of the readers of logs that allocators write, which identify
 * blocks by address.
 *
 * Adds to line-reader.h: live blocks, ids, checks for double allocations and unmatched frees,
 * monotonic times, and final notes about these.  A rotated log starts in the middle, so a free
 * without an allocation is skipped and counted; an allocation at a live address means that lines
 * are missing, and is refused.  A reader embeds GememLogReader as its first member.  Memory: the
 * live blocks, and a time for each device.
 */
#pragma once

#include "base/idmap.h"
#include "traces/line-reader.h"

typedef struct
{
  guint64 id, size, stream, address, device;
  guint64 requested; /* FREE_REQUESTED was delivered */
} GememLogBlock;

typedef struct
{
  GememLineReader lines;
  GememIdMap *times;  /* device -> time of its last event */
  gboolean timeless;  /* lines have no time */
  guint64 first_time; /* first time in the log */
  guint64 last_id;
  guint64 late, unknown, replaced; /* counts for the notes */
} GememLogReader;

/* See gemem_line_reader_init() and gemem_line_reader_clear(). */
void gemem_log_reader_init (GememLogReader *log, const char *format, GememInput *input,
                            const GememReadOptions *options);
void gemem_log_reader_clear (GememLogReader *log);
/* A map of live blocks: key -> GememLogBlock. */
GememIdMap *gemem_log_blocks_new (void);

/* Adds an event of @kind; @time as in the log. */
GememTraceEvent *gemem_log_reader_add (GememLogReader *log, GememEventKind kind, guint64 device,
                                       guint64 time);
/* Adds an event of @kind about @block. */
GememTraceEvent *gemem_log_reader_add_block (GememLogReader *log, GememEventKind kind,
                                             const GememLogBlock *block, guint64 time);
/* Adds the ALLOC of @block, assigns its id and enters it as live under @key; NULL with the failure
 * set if @key is live already. */
GememTraceEvent *gemem_log_reader_alloc (GememLogReader *log, GememIdMap *blocks, guint64 key,
                                         GememLogBlock *block, guint64 time);
/* Adds the event @kind that ends the block live under @key.  If there is none, nothing is added,
 * and the miss is counted if @expected. */
void gemem_log_reader_end (GememLogReader *log, GememIdMap *blocks, guint64 key,
                           GememEventKind kind, gboolean expected, guint64 time);
/* Adds a failed request of @block: assigns an id, and adds ALLOC and FREE flagged FAILED. */
void gemem_log_reader_refuse (GememLogReader *log, GememLogBlock *block, guint64 time);
/* Counts a line with nothing to replay as skipped; returns TRUE. */
gboolean gemem_log_reader_skip (GememLogReader *log);

/* Adds "note: N WHAT" to the provenance, unless @n is 0. */
void gemem_log_reader_note (GememLogReader *log, guint64 n, const char *what);
/* Implements GememLineReader.end: adds the notes. */
gboolean gemem_log_reader_finish (GememLineReader *reader);
