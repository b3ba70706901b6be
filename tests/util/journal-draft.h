/* journal-draft.h - journals of the recorder written by hand, record by record, for the tests of what reads them.
 *
 * Invariants: a draft is whole after each call; sequence, time and thread of a record are given by the draft where the
 * record does not say them.
 */
#pragma once

#include "traces/journal/format.h"

#include <glib.h>

typedef struct
{
  GByteArray *bytes;
  guint64 sequence; /* of the last record */
  guint slot;       /* of the current block */
} TestDraft;

/* A header and an empty block. */
TestDraft test_draft_new (void);
/* The same, of a program whose allocator recorded its requests. */
TestDraft test_draft_below (void);

/* The bytes at @place; valid until the next call that adds some. */
gpointer test_draft_at (TestDraft *draft, gsize place);
/* Begins another block. */
void test_draft_block (TestDraft *draft);
/* Adds @record; returns where it stands, as test_draft_at(). */
JournalRecord *test_draft_record (TestDraft *draft, JournalRecord record);
/* Adds @record with @data behind it. */
void test_draft_data (TestDraft *draft, JournalRecord record, gconstpointer data, gsize size);
/* Fails the test unless test_trace_text() of the draft is @expected; frees the draft's bytes. */
void test_draft_expect (TestDraft *draft, gboolean partial, const char *expected);

/* Adds a record with these members to the variable `draft`. */
#define CALL(...) test_draft_record (&draft, (JournalRecord){ __VA_ARGS__ })
