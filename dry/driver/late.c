/* late.c - what the host knows to be done, and what it is told (late.h).
 *
 * Each piece of work has a number, given in the order of the calls. A view says of each stream up to which of its numbers work is done:
 * each stream has the view that holds when its own work so far is done, an event a copy of it from when it was recorded, and the
 * host one that grows when it waits. Streams that wait for the default stream, and it for them, count as one with it.
 *
 * Invariants: numbers in a view only grow; a stream's place in views is never given to another.
 * Cost: memory by events that exist times streams that were used.
 */
#include "config.h"

#include "dry/driver/late.h"

#define ASKED_MAX 100 /* so often is it asked in a row before it is done */

/* Of a stream or an event. */
typedef struct
{
  GArray *view;  /* guint64 by place */
  guint place;   /* of the stream, or of that on which the event was recorded */
  guint64 last;  /* number of its last work, or of the record */
  guint asked;   /* how often in a row, ... */
  guint64 since; /* ... with this number the last of all */
} Late;

static gboolean is_late;  /* the GPU */
static GHashTable *lates; /* id of a stream or event -> Late; NULL: no dry run */
static GArray *host;      /* the host's view */
static guint64 last;      /* number of the last work of all */
static guint places;

static void
late_free (gpointer data)
{
  Late *late = data;

  g_array_unref (late->view);
  g_free (late);
}

static GArray *
view_new (void)
{
  return g_array_new (FALSE, TRUE, sizeof (guint64));
}

void
gemem_driver_late_begin (void)
{
  const char *chosen = g_getenv (GEMEM_ENV_DRY_LATE);

  is_late = g_strcmp0 (chosen, "1") == 0;
  lates = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, late_free);
  host = view_new ();
}

/* ---- views */

static guint64
view_at (const GArray *view, guint place)
{
  return place < view->len ? g_array_index (view, guint64, place) : 0;
}

static void
view_raise (GArray *view, guint place, guint64 number)
{
  if (place >= view->len)
    g_array_set_size (view, place + 1);
  if (number > g_array_index (view, guint64, place))
    g_array_index (view, guint64, place) = number;
}

static void
view_join (GArray *view, const GArray *other)
{
  for (guint i = 0; i < other->len; i++)
    view_raise (view, i, g_array_index (other, guint64, i));
}

/* ---- streams and events */

static Late *
late_of (const DriverObject *object, gboolean make)
{
  Late *late = g_hash_table_lookup (lates, &object->id);

  if (late != NULL || !make)
    return late;
  late = g_new0 (Late, 1);
  late->view = view_new ();
  g_hash_table_insert (lates, g_memdup2 (&object->id, sizeof object->id), late);
  return late;
}

/* That of the default stream for those which wait for it. */
static Late *
late_of_stream (const DriverStream *stream)
{
  const DriverStream *legacy = &stream->object.context->legacy;
  const gboolean alone = (stream->flags & CU_STREAM_NON_BLOCKING) != 0;
  Late *late = late_of (alone ? &stream->object : &legacy->object, TRUE);

  if (late->last == 0)
    {
      late->last = ++last;
      late->place = places++;
    }
  return late;
}

static Late *
put_work (const DriverStream *stream)
{
  Late *late = late_of_stream (stream);

  late->last = ++last;
  view_raise (late->view, late->place, last);
  return late;
}

void
gemem_driver_late_work (const DriverStream *stream)
{
  if (lates != NULL)
    put_work (stream);
}

void
gemem_driver_late_record (const DriverEvent *event, const DriverStream *stream)
{
  if (lates == NULL)
    return;
  const Late *from = put_work (stream);
  Late *late = late_of (&event->object, TRUE);

  g_array_set_size (late->view, 0);
  view_join (late->view, from->view);
  late->place = from->place;
  late->last = from->last;
}

void
gemem_driver_late_join (const DriverStream *stream, const DriverEvent *event)
{
  const Late *late = lates != NULL ? late_of (&event->object, FALSE) : NULL;

  if (late != NULL)
    view_join (put_work (stream)->view, late->view);
}

void
gemem_driver_late_forget (const DriverObject *object)
{
  if (lates != NULL)
    g_hash_table_remove (lates, &object->id);
}

/* ---- the host */

static void
wait_for (const Late *late)
{
  view_join (host, late->view);
}

void
gemem_driver_late_wait_event (const DriverEvent *event)
{
  const Late *late = lates != NULL ? late_of (&event->object, FALSE) : NULL;

  if (late != NULL)
    wait_for (late);
}

void
gemem_driver_late_wait_stream (const DriverStream *stream)
{
  if (lates != NULL)
    wait_for (late_of_stream (stream));
}

void
gemem_driver_late_wait_context (DriverContext *context)
{
  if (lates != NULL)
    context->known = last;
}

static gboolean
is_done (Late *late, const DriverContext *context)
{
  if (MAX (view_at (host, late->place), context->known) >= late->last)
    return TRUE;
  if (!is_late)
    {
      gemem_dry_note_caller (GEMEM_DRY_NOTE_ASKED);
      return TRUE;
    }
  late->asked = late->since == last ? late->asked + 1 : 1;
  late->since = last;
  if (late->asked < ASKED_MAX)
    return FALSE;
  wait_for (late);
  return TRUE;
}

gboolean
gemem_driver_late_event_done (const DriverEvent *event)
{
  Late *late = lates != NULL ? late_of (&event->object, FALSE) : NULL;

  return late == NULL || is_done (late, event->object.context);
}

gboolean
gemem_driver_late_stream_done (const DriverStream *stream)
{
  return lates == NULL || is_done (late_of_stream (stream), stream->object.context);
}
