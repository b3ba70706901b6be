/* generator-reader.h - a trace reader whose events are generated a piece at a time, for generators,
 * sessions and lowerings.
 *
 * A variant embeds GememGeneratorReader and appends the next piece of events when the last one has
 * been read; memory holds that piece and the variant's live state.
 */
#pragma once

#include "traces/trace.h"

typedef struct _GememGeneratorReader GememGeneratorReader;
struct _GememGeneratorReader
{
  GememTraceReader parent;
  GArray *events;  /* GememTraceEvent: the current piece */
  guint64 next_id; /* ids count from 1 */
  guint64 time;    /* ns, time of the next event */
  /* Appends the next piece to `events`; FALSE when there is none. */
  gboolean (*fill) (GememGeneratorReader *reader);
  void (*free_parts) (GememGeneratorReader *reader); /* NULL: nothing to free */
};

/* A zeroed reader of @size bytes (which embeds GememGeneratorReader first). */
gpointer gemem_generator_reader_new (gsize size, gboolean (*fill) (GememGeneratorReader *),
                                     void (*free_parts) (GememGeneratorReader *));

/* Appends one event at the reader's time; returns the id of the new block. */
guint64 gemem_events_alloc (GememGeneratorReader *reader, guint64 size, guint64 stream);
void gemem_events_free (GememGeneratorReader *reader, guint64 id);
void gemem_events_mark (GememGeneratorReader *reader, GememEventKind kind, guint64 id);
/* @stream uses block @id from here on. */
void gemem_events_use (GememGeneratorReader *reader, guint64 id, guint64 stream);
/* The event appended last, to fill in what the functions above do not ask for; valid until the next
 * one is appended. */
GememTraceEvent *gemem_events_last (GememGeneratorReader *reader);
