/* line-reader.h - the common part of the readers of line-oriented formats: batches, errors with
 * FILE:LINE, partial reading.
 *
 * A format embeds GememLineReader as its first member and supplies two functions: line() converts a
 * line to its events (mostly none or one), end() checks the end of the file.  Events before an
 * error are delivered first, then the error (with allow_partial: the end, marked as truncated).
 */
#pragma once

#include "base/io/input.h"
#include "traces/trace.h"

#define LINE_READER_BATCH 1024

typedef struct _GememLineReader GememLineReader;

struct _GememLineReader
{
  GememTraceReader base;
  GememInput *input;
  GememReadOptions options;
  gsize longest;   /* longest line accepted, in bytes */
  GError *failure; /* reported after the events before it */
  guint64 count;   /* events read */
  gboolean ended;  /* end() was called */
  guint used;      /* of `events` */
  guint capacity;  /* of `events`: LINE_READER_BATCH plus the events of the longest line */
  GememTraceEvent *events;
  /* Converts the line [p, end), with calls of line_reader_add(); FALSE with the failure set. */
  gboolean (*line) (GememLineReader *reader, const char *p, const char *end);
  /* Checks the end of the file: FALSE with the failure set if it is premature.  NULL: every end is
   * accepted. */
  gboolean (*end) (GememLineReader *reader);
};

/* Takes ownership of @input.  @reader is zeroed memory and the first member of its struct. */
void gemem_line_reader_init (GememLineReader *reader, const char *format, GememInput *input,
                             const GememReadOptions *options);
/* Frees the members of @reader, not @reader itself. */
void gemem_line_reader_clear (GememLineReader *reader);
/* Adds and counts a zeroed event of this line; valid until the next call. */
GememTraceEvent *gemem_line_reader_add (GememLineReader *reader);
/* Reads and converts one line; FALSE at the end or with the failure set. */
gboolean gemem_line_reader_step (GememLineReader *reader);
/* Sets the failure to "FILE:LINE: ..." and returns FALSE. */
gboolean gemem_line_reader_fail (GememLineReader *reader, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
/* "FILE:LINE: 'the piece [p, end) of the line' WHAT". */
gboolean gemem_line_reader_fail_at (GememLineReader *reader, const char *p, const char *end,
                                    const char *what);
