/* legacy.c - the legacy default stream of a device, which follows all streams of the device that were not created as
 * non-blocking, and is followed by them (journal.h).
 *
 * Why: a pool may give one stream what another one freed if it follows the free, and a program that leaves this to CUDA
 * tells of it by no call.  The trace has it as what it is: a record of an event on the one, a wait on the other, before
 * the call that takes its place there.  Both only where the one has done anything since the other followed it.
 *
 * Invariants: a follower is in `acted` of its device if its flag says so; handles there may be old ones.  A default stream
 * of a thread is a follower on each device.  Nothing is known of streams that were created before the recording.
 * Origin: CUDA's documentation ("stream synchronization behavior"), seen on an H100 (peers.md 1d).
 */
#include "config.h"

#include "traces/journal/journal-private.h"

/* The key of the follower with handle @stream: each device has its own default streams. */
static guint64
key_of (guint64 stream, guint64 device)
{
  return journal_is_per_thread (stream) ? stream | (device + 1) << 48 : stream;
}

void
gemem_journal_legacy_create (JournalState *state, const JournalRecord *record)
{
  JournalFollower *follower;

  gemem_idmap_remove (state->followers, record->r, NULL);
  if (!state->told_streams || record->q != 1 || record->device >= JOURNAL_MAX_DEVICES)
    return;
  follower = gemem_idmap_insert (state->followers, record->r, NULL);
  *follower = (JournalFollower){ .device = record->device };
}

void
gemem_journal_legacy_destroy (JournalState *state, const JournalRecord *record)
{
  gemem_idmap_remove (state->followers, record->r, NULL);
}

/* Stream number @to waits for what number @from has come to. */
static void
follow (JournalState *state, guint64 device, guint64 from, guint64 to, guint64 *event)
{
  if (*event == 0)
    *event = ++state->last_event;
  gemem_journal_emit (state, GEMEM_EVENT_EVENT_RECORD, device, *event)->stream = from;
  gemem_journal_emit (state, GEMEM_EVENT_EVENT_WAIT, device, *event)->stream = to;
}

static void
legacy_acts (JournalState *state, guint64 device)
{
  JournalLegacy *legacy = &state->legacy[device];

  for (guint i = 0; legacy->acted != NULL && i < legacy->acted->len; i++)
    {
      JournalFollower *follower = gemem_idmap_lookup (state->followers,
                                                      g_array_index (legacy->acted, guint64, i));
      if (follower == NULL || !follower->acted || follower->device != device)
        continue;
      follow (state, device, follower->number, 0, &follower->event);
      follower->acted = FALSE;
    }
  if (legacy->acted != NULL)
    g_array_set_size (legacy->acted, 0);
  legacy->acts++;
}

void
gemem_journal_legacy_act (JournalState *state, const JournalRecord *record)
{
  const guint64 key = key_of (record->r, record->device);
  JournalFollower *follower;
  JournalLegacy *legacy;

  if (!state->told_streams || record->device >= JOURNAL_MAX_DEVICES)
    return;
  if (record->r == 0)
    {
      legacy_acts (state, record->device);
      return;
    }
  follower = gemem_idmap_lookup (state->followers, key);
  if (follower == NULL && journal_is_per_thread (record->r))
    {
      follower = gemem_idmap_insert (state->followers, key, NULL);
      *follower = (JournalFollower){ .device = record->device };
    }
  if (follower == NULL)
    return;
  follower->number = gemem_journal_stream_of (state, record);
  legacy = &state->legacy[follower->device];
  if (follower->seen != legacy->acts)
    follow (state, follower->device, 0, follower->number, &legacy->event);
  follower->seen = legacy->acts;
  if (follower->acted)
    return;
  follower->acted = TRUE;
  if (legacy->acted == NULL)
    legacy->acted = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (legacy->acted, key);
}

void
gemem_journal_legacy_clear (JournalState *state)
{
  for (guint i = 0; i < JOURNAL_MAX_DEVICES; i++)
    g_clear_pointer (&state->legacy[i].acted, g_array_unref);
}
