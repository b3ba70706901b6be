/* journal-draft.c - see journal-draft.h. */
#include "config.h"

#include <string.h>

#include "tests/util/journal-draft.h"
#include "tests/util/trace-text.h"

gpointer
test_draft_at (TestDraft *draft, gsize place)
{
  return draft->bytes->data + place;
}

void
test_draft_block (TestDraft *draft)
{
  JournalBlock head = { .first = draft->sequence + 1, .magic = JOURNAL_BLOCK_MAGIC };
  gsize at = draft->bytes->len;
  g_byte_array_set_size (draft->bytes, (guint) (at + JOURNAL_BLOCK));
  memset (test_draft_at (draft, at), 0, JOURNAL_BLOCK);
  memcpy (test_draft_at (draft, at), &head, sizeof head);
  draft->slot = 1;
}

TestDraft
test_draft_new (void)
{
  TestDraft draft = { .bytes = g_byte_array_new () };
  JournalHeader header = {
    .magic = JOURNAL_MAGIC, .version = JOURNAL_VERSION, .slot_size = JOURNAL_SLOT, .start = 1000
  };
  g_byte_array_set_size (draft.bytes, JOURNAL_BLOCK);
  memset (draft.bytes->data, 0, JOURNAL_BLOCK);
  memcpy (draft.bytes->data, &header, sizeof header);
  test_draft_block (&draft);
  return draft;
}

TestDraft
test_draft_below (void)
{
  TestDraft draft = test_draft_new ();
  JournalHeader *header = test_draft_at (&draft, 0);
  g_strlcpy (header->allocator, "cupy-pool", sizeof header->allocator);
  g_strlcpy (header->settings, "version=14.2", sizeof header->settings);
  g_strlcpy (header->library, "CuPy 14.2.0", sizeof header->library);
  header->devices[0].bytes = 4096;
  return draft;
}

JournalRecord *
test_draft_record (TestDraft *draft, JournalRecord record)
{
  JournalRecord *slot = test_draft_at (draft, draft->bytes->len - JOURNAL_BLOCK
                                                  + (gsize) draft->slot++ * JOURNAL_SLOT);
  record.sequence = record.sequence != 0 ? record.sequence : ++draft->sequence;
  record.time = 1000 + record.sequence;
  record.thread = record.thread != 0 ? record.thread : 1;
  *slot = record;
  return slot;
}

void
test_draft_data (TestDraft *draft, JournalRecord record, gconstpointer data, gsize size)
{
  const guint slots = (guint) ((size + JOURNAL_SLOT - 1) / JOURNAL_SLOT);
  memcpy (test_draft_record (draft, record) + 1, data, size);
  draft->slot += slots;
}

void
test_draft_expect (TestDraft *draft, gboolean partial, const char *expected)
{
  g_autofree char *got = test_trace_text ((const char *) draft->bytes->data, draft->bytes->len,
                                          "journal", partial, FALSE);
  g_assert_cmpstr (got, ==, expected);
  g_byte_array_unref (draft->bytes);
}
