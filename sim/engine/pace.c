/* pace.c - see pace.h. */
#include "config.h"

#include "base/idmap.h"
#include "sim/engine/pace.h"

void
gemem_pace_keep (GememPace *pace, guint64 time)
{
  const guint64 now = pace->clock ();

  if (!pace->begun)
    {
      pace->begun = TRUE;
      pace->origin = now - time;
    }
  else if (now - pace->origin < time)
    {
      pace->waits++;
      pace->wait (pace->origin + time);
    }
  else
    pace->late = MAX (pace->late, now - pace->origin - time);
}

typedef struct
{
  guint64 stream, time; /* up to which it has its work */
} Stream;

struct _GememWork
{
  GememDevice *device;
  GememIdMap *places; /* stream -> index in streams */
  GememIdMap *shared; /* id of a live block -> nothing */
  GArray *streams;    /* Stream, in the order in which they came */
  guint64 pieces, ns;
};

GememWork *
gemem_work_new (GememDevice *device, GError **error)
{
  GememWork *work;

  if (!gemem_device_occupy (device, 0, 0, error))
    return NULL;
  work = g_new0 (GememWork, 1);
  work->device = device;
  work->places = gemem_idmap_new (sizeof (guint64));
  work->shared = gemem_idmap_new (0);
  work->streams = g_array_new (FALSE, FALSE, sizeof (Stream));
  return work;
}

void
gemem_work_free (GememWork *work)
{
  if (work == NULL)
    return;
  gemem_idmap_free (work->places);
  gemem_idmap_free (work->shared);
  g_array_unref (work->streams);
  g_free (work);
}

static void
put (GememWork *work, Stream *stream, guint64 time)
{
  const guint64 ns = time > stream->time ? time - stream->time : 0;

  if (ns < GEMEM_WORK_LEAST_NS)
    return;
  stream->time = time;
  work->pieces++;
  work->ns += ns;
  /* a device that fails says so by itself */
  gemem_device_occupy (work->device, ns, stream->stream, NULL);
}

void
gemem_work_until (GememWork *work, guint64 stream, guint64 time)
{
  const Stream fresh = { stream, time };
  gboolean existed;
  guint64 *place = gemem_idmap_insert (work->places, stream, &existed);

  if (existed)
    {
      put (work, &g_array_index (work->streams, Stream, *place), time);
      return;
    }
  *place = work->streams->len;
  g_array_append_val (work->streams, fresh);
}

void
gemem_work_until_all (GememWork *work, guint64 time)
{
  for (guint i = 0; i < work->streams->len; i++)
    put (work, &g_array_index (work->streams, Stream, i), time);
}

void
gemem_work_share (GememWork *work, guint64 id)
{
  gemem_idmap_insert (work->shared, id, NULL);
}

gboolean
gemem_work_is_shared (const GememWork *work, guint64 id)
{
  return gemem_idmap_lookup (work->shared, id) != NULL;
}

void
gemem_work_unshare (GememWork *work, guint64 id)
{
  gemem_idmap_remove (work->shared, id, NULL);
}

void
gemem_work_counts (const GememWork *work, guint64 *pieces, guint64 *ns)
{
  *pieces = work->pieces;
  *ns = work->ns;
}
