/* line-reader.h - the common half of the readers of line-oriented formats: batches, errors with
 * FILE:LINE, partial reading.
 *
 * A format embeds GememLineReader first and gives two functions: one that turns a line into its
 * events (mostly none or one), one that judges the end.  What was read before an error is delivered
 * first, then the error (or, with allow_partial, the end, marked as truncated).
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
  gsize longest;   /* line, in bytes */
  GError *failure; /* reported when the events before it are delivered */
  guint64 count;   /* events read */
  gboolean ended;  /* the end of the file was judged */
  guint used;      /* of `events` */
  guint capacity;  /* thereof: LINE_READER_BATCH and what the longest line made */
  GememTraceEvent *events;
  /* The line [p, end): may call line_reader_add(); FALSE with the failure set. */
  gboolean (*line) (GememLineReader *reader, const char *p, const char *end);
  /* The end of the file: FALSE with the failure set if it came too early.  NULL: any end is
   * good. */
  gboolean (*end) (GememLineReader *reader);
};

/* Takes over @input; @reader is zeroed memory in front of which nothing lies. */
void gemem_line_reader_init (GememLineReader *reader, const char *format, GememInput *input,
                             const GememReadOptions *options);
/* Frees what init and reading made, not @reader. */
void gemem_line_reader_clear (GememLineReader *reader);
/* A zeroed event for this line, counted; valid until the next. */
GememTraceEvent *gemem_line_reader_add (GememLineReader *reader);
/* Reads and takes in one line; FALSE at the end or with the failure set. */
gboolean gemem_line_reader_step (GememLineReader *reader);
/* GememTraceReader.next */
gssize gemem_line_reader_next (GememTraceReader *reader, const GememTraceEvent **events,
                               GError **error);
/* Sets the failure to "FILE:LINE: ..." and returns FALSE. */
gboolean gemem_line_reader_fail (GememLineReader *reader, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
/* "FILE:LINE: 'the piece [p, end) of the line' WHAT". */
gboolean gemem_line_reader_fail_at (GememLineReader *reader, const char *p, const char *end,
                                    const char *what);
