/* journal.h - what the two halves of the reader of journals share: calls in order (journal.c)
 * become events (journal-state.c). */
#pragma once

#include "traces/journal-format.h"
#include "traces/trace.h"

/* What the recorded calls have made so far: memory, streams, events, pools. */
typedef struct _JournalState JournalState;

/* @info gets the tags, what is left out (skipped) and, from journal_state_end(), notes; it must
 * outlive the state. */
JournalState *journal_state_new (GememTraceInfo *info);
void journal_state_free (JournalState *state);
/* Appends the events that @record is to @events (of GememTraceEvent); @time in ns since the start.
 * Cost: a few look-ups in hash tables; the end of a device or context: what is live there. */
void journal_state_take (JournalState *state, const JournalRecord *record, guint64 time,
                         GArray *events);
/* The string with number @number. */
void journal_state_add_string (JournalState *state, guint32 number, const char *text);
void journal_state_end (JournalState *state);
