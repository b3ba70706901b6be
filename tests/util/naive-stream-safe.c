/* naive-stream-safe.c - see naive-stream-safe.h. */
#include "config.h"

#include "tests/util/naive-stream-safe.h"

#define UNKNOWN G_MAXUINT64 /* time of a completion that is yet to be announced */

typedef struct
{
  guint32 id;
  guint64 stream, until;
} Entry;

#define ENTRY(array, i) (&g_array_index (array, Entry, i))

void
naive_stream_safe_init (NaiveStreamSafe *safe)
{
  safe->uses = g_array_new (FALSE, FALSE, sizeof (Entry));
  safe->waiting = g_array_new (FALSE, FALSE, sizeof (Entry));
}

void
naive_stream_safe_clear (NaiveStreamSafe *safe)
{
  g_array_unref (safe->uses);
  g_array_unref (safe->waiting);
}

void
naive_stream_safe_use (NaiveStreamSafe *safe, const NaiveDevice *device, guint32 id, guint64 stream)
{
  const Entry use = { id, stream, naive_device_event (device) };

  for (guint i = 0; i < safe->uses->len; i++)
    if (ENTRY (safe->uses, i)->id == id && ENTRY (safe->uses, i)->stream == stream)
      {
        *ENTRY (safe->uses, i) = use;
        return;
      }
  g_array_append_val (safe->uses, use);
}

gboolean
naive_stream_safe_free (NaiveStreamSafe *safe, const NaiveDevice *device, guint32 id, guint64 own,
                        gboolean completion_follows)
{
  Entry wait = { id, own, completion_follows ? UNKNOWN : 0 };

  for (guint i = safe->uses->len; i-- > 0;)
    if (ENTRY (safe->uses, i)->id == id)
      {
        wait.until = MAX (wait.until, ENTRY (safe->uses, i)->until);
        g_array_remove_index (safe->uses, i);
      }
  if (wait.until <= device->now)
    return TRUE;
  g_array_append_val (safe->waiting, wait);
  return FALSE;
}

void
naive_stream_safe_complete (NaiveStreamSafe *safe, guint32 id)
{
  guint i = 0;

  while (ENTRY (safe->waiting, i)->id != id)
    i++;
  g_array_remove_index (safe->waiting, i);
}

gboolean
naive_stream_safe_next (NaiveStreamSafe *safe, const NaiveDevice *device, guint64 own, guint32 *id)
{
  for (guint i = 0; i < safe->waiting->len; i++)
    {
      const Entry wait = *ENTRY (safe->waiting, i);

      if (wait.until > device->now || (own != NAIVE_EVERY_STREAM && own != wait.stream))
        continue;
      *id = wait.id;
      g_array_remove_index (safe->waiting, i);
      return TRUE;
    }
  return FALSE;
}
