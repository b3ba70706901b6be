/* log-reader.h - the common half of the readers of allocators' own logs, where blocks are known by
 * their addresses.
 *
 * Over line-reader.h: live blocks, ids, what to do about memory allocated twice and frees of
 * nothing, times that do not run backwards, and the notes about all that at the end.  Such logs
 * begin in the middle when they were rotated, so a free of what was never allocated is left out and
 * counted; but memory that is allocated while it is live means that lines are missing, which is
 * refused. A reader embeds GememLogReader first.  Memory: the live blocks, and a time for each
 * device.
 */
#pragma once

#include "base/idmap.h"
#include "traces/line-reader.h"

typedef struct
{
  guint64 id, size, stream, address, device;
  guint64 requested; /* its free was (FREE_REQUESTED) */
} GememLogBlock;

typedef struct
{
  GememLineReader lines;
  GememIdMap *times;  /* device -> time of its last event */
  gboolean timeless;  /* lines have none */
  guint64 first_time; /* of the log */
  guint64 last_id;
  guint64 late, unknown, replaced; /* for the notes */
} GememLogReader;

/* As gemem_line_reader_init(), clear(). */
void gemem_log_reader_init (GememLogReader *log, const char *format, GememInput *input,
                            const GememReadOptions *options);
void gemem_log_reader_clear (GememLogReader *log);
/* A map of live blocks: key -> GememLogBlock. */
GememIdMap *gemem_log_blocks_new (void);

/* An event of this kind; @time is as the log says. */
GememTraceEvent *gemem_log_reader_add (GememLogReader *log, GememEventKind kind, guint64 device,
                                       guint64 time);
/* The same about @block. */
GememTraceEvent *gemem_log_reader_add_block (GememLogReader *log, GememEventKind kind,
                                             const GememLogBlock *block, guint64 time);
/* The ALLOC of @block, which gets an id and is live under @key from now on; NULL with the failure
 * set if that is live already. */
GememTraceEvent *gemem_log_reader_alloc (GememLogReader *log, GememIdMap *blocks, guint64 key,
                                         GememLogBlock *block, guint64 time);
/* The event @kind that ends what is live under @key, or nothing; @expected: then it is counted that
 * something was to end. */
void gemem_log_reader_end (GememLogReader *log, GememIdMap *blocks, guint64 key,
                           GememEventKind kind, gboolean expected, guint64 time);
/* A request of @block that was refused for good: it gets an id, and its ALLOC and FREE are flagged
 * FAILED. */
void gemem_log_reader_refuse (GememLogReader *log, GememLogBlock *block, guint64 time);
/* TRUE: the line tells nothing to replay. */
gboolean gemem_log_reader_skip (GememLogReader *log);

/* "note: N WHAT" in the provenance, unless @n is 0. */
void gemem_log_reader_note (GememLogReader *log, guint64 n, const char *what);
/* GememLineReader.end: the notes. */
gboolean gemem_log_reader_finish (GememLineReader *reader);
