/* journal.h - the interface between the two halves of the reader of journals: journal.c delivers
 * calls in order, state.c converts them to events. */
#pragma once

#include "traces/journal/format.h"
#include "traces/trace.h"

/* Key of the note that names the library which recorded its requests: "CuPy 14.2.0". */
#define GEMEM_JOURNAL_REQUESTS "requests of"

/* The state after the calls so far: memory, streams, events, pools. */
typedef struct _JournalState JournalState;

/* @info receives the tags, the call stacks, the number of omitted records (skipped) and, from
 * gemem_journal_state_end(), notes; @info must outlive the state. */
/* Of @options: memory, managed_on_host. */
JournalState *gemem_journal_state_new (GememTraceInfo *info, const GememReadOptions *options);
void gemem_journal_state_free (JournalState *state);
/* From here on the blocks are the requests of an allocator above the calls. */
void gemem_journal_state_above (JournalState *state);
/* Converts @record and appends the events to @events (GememTraceEvent); @time in ns since the
 * start.
 * Cost: a few lookups in hash tables; for the end of a device or context, O(live blocks). */
void gemem_journal_state_take (JournalState *state, const JournalRecord *record, guint64 time,
                               GArray *events);
/* Add what stands after @record, whose size was checked: the addresses of a stack, a loaded file, a
 * stack as text.  A new stack costs the lookup of its new addresses (symbols.h). */
void gemem_journal_state_add_stack (JournalState *state, const JournalRecord *record,
                                    const guint64 *addresses);
void gemem_journal_state_add_module (JournalState *state, const JournalRecord *record,
                                     const guint8 *data);
void gemem_journal_state_add_string (JournalState *state, const JournalRecord *record,
                                     const char *text);
/* Adds @record, a PLACE, whose string was added; in ascending order, before the calls that
 * it belongs to. */
void gemem_journal_state_add_place (JournalState *state, const JournalRecord *record);
/* The trace tells how pools are set (GEMEM_TRACE_HAS_SETTINGS); before the first call. */
void gemem_journal_state_attributes (JournalState *state);
/* The trace tells the order of streams (GEMEM_TRACE_HAS_ORDER), as far as a recorder that writes @version of the journal
 * does; before the first call. */
void gemem_journal_state_order (JournalState *state, guint version);
void gemem_journal_state_end (JournalState *state);
