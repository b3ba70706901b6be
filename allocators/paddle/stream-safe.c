/* stream-safe.c - see stream-safe.h. */
#include "config.h"

#include "allocators/paddle/stream-safe.h"

struct _PaddleUse
{
  guint64 stream;
  GememDeviceEvent event;
  PaddleUse *next;
};

void
gemem_paddle_safe_init (PaddleStreamSafe *safe, GememDevice *device,
                        void (*release) (gpointer data, PaddleGuard *guard), gpointer data)
{
  safe->device = device;
  safe->release = release;
  safe->data = data;
  gemem_slab_init (&safe->use_slab, sizeof (PaddleUse));
}

void
gemem_paddle_safe_clear (PaddleStreamSafe *safe)
{
  gemem_slab_clear (&safe->use_slab);
}

void
gemem_paddle_safe_use (PaddleStreamSafe *safe, PaddleGuard *guard, guint64 stream)
{
  PaddleUse **use = &guard->uses;

  while (*use != NULL && (*use)->stream != stream)
    use = &(*use)->next;
  if (*use == NULL)
    {
      *use = gemem_slab_alloc (&safe->use_slab);
      (*use)->stream = stream;
    }
  (*use)->event = gemem_device_event_record (safe->device, stream);
  if ((*use)->event == 0) /* not recorded, and event 0 counts as complete: wait now */
    gemem_device_stream_sync (safe->device, stream);
}

static void
forget_uses (PaddleStreamSafe *safe, PaddleGuard *guard)
{
  while (guard->uses != NULL)
    {
      PaddleUse *use = guard->uses;

      guard->uses = use->next;
      gemem_slab_free (&safe->use_slab, use);
    }
}

static gboolean
is_done (PaddleStreamSafe *safe, const PaddleGuard *guard)
{
  for (const PaddleUse *use = guard->uses; use != NULL; use = use->next)
    if (!gemem_device_event_query (safe->device, use->event))
      return FALSE;
  return !guard->owed;
}

void
gemem_paddle_safe_free (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list,
                        gboolean completion_follows)
{
  guard->owed = completion_follows;
  if (completion_follows)
    forget_uses (safe, guard);
  if (is_done (safe, guard))
    {
      forget_uses (safe, guard);
      safe->release (safe->data, guard);
      return;
    }
  guard->deferred = TRUE;
  guard->previous = list->last;
  guard->next = NULL;
  *(list->last != NULL ? &list->last->next : &list->first) = guard;
  list->last = guard;
  safe->deferred++;
}

/* Removes @guard from @list and frees its block. */
static void
finish (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list)
{
  forget_uses (safe, guard);
  *(guard->previous != NULL ? &guard->previous->next : &list->first) = guard->next;
  *(guard->next != NULL ? &guard->next->previous : &list->last) = guard->previous;
  guard->deferred = guard->owed = FALSE;
  guard->previous = guard->next = NULL;
  safe->deferred--;
  safe->release (safe->data, guard);
}

void
gemem_paddle_safe_complete (PaddleStreamSafe *safe, PaddleGuard *guard, PaddleDeferred *list)
{
  GEMEM_CHECK (guard->owed);
  finish (safe, guard, list);
}

gboolean
gemem_paddle_safe_process (PaddleStreamSafe *safe, PaddleDeferred *list)
{
  gboolean any = FALSE;
  PaddleGuard *next;

  for (PaddleGuard *guard = list->first; guard != NULL; guard = next)
    {
      next = guard->next;
      if (!is_done (safe, guard))
        continue;
      finish (safe, guard, list);
      any = TRUE;
    }
  return any;
}
