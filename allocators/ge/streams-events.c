/* streams-events.c - how streams learn who holds a block: local lists, SendEvents, WaitEvents,
 * LastWaitEvents; see streams.h.
 *
 * What: the mask of streams that an entry was sent to is its place among the marks `sent` of its
 * list, since every send takes all that was not sent yet: a send looks at new entries only.
 * Entries that were sent to all other streams, or name an earlier version of their block, are
 * dropped at the next send, as in the real system, and removed when the list is swept.  An event
 * for a stream has what was sent attached; one for whoever waits is a place in the list and a
 * moment of the borrow pool.
 * Cost: send and wait O(log entries + what they carry); a sweep O(entries), amortised O(1) per
 * entry.
 * Origin: ge-runtime.md 2.6.
 */
#include "config.h"

#include "allocators/ge/streams.h"

#define SWEEP_LEAST 1024 /* entries; shorter lists are not swept */

/* An entry sent with an event. */
struct _GeAttached
{
  GeStreamBlock *block;
  guint64 version;
  GeAttached *next;
};

struct _GeEvent
{
  guint64 id;
  GeStream *from, *to;      /* @to NULL: whoever waits */
  GeAttached *first, *last; /* for @to */
  GeBlockList returning;    /* blocks whose birth stream is @to */
  guint64 until;            /* no @to: entries before it */
  guint64 stamp;            /* and what was borrowed by then */
  GeEvent *prev, *next;
  gboolean replaced; /* another event has its id now */
};

void
gemem_ge_streams_events_init (GeStreams *self)
{
  self->events = gemem_idmap_new (sizeof (GeEvent *));
  gemem_slab_init (&self->attached, sizeof (GeAttached));
  gemem_slab_init (&self->event_slab, sizeof (GeEvent));
}

void
gemem_ge_streams_events_clear (GeStreams *self)
{
  gemem_idmap_free (self->events);
  gemem_slab_clear (&self->attached);
  gemem_slab_clear (&self->event_slab);
}

/* ---- local lists */

static inline GeLocalEntry *
entry_at (const GeLocalList *local, guint i)
{
  return &g_array_index (local->entries, GeLocalEntry, i);
}

/* The index of the first entry not before @seq. */
static guint
find_entry (const GeLocalList *local, guint64 seq)
{
  guint low = 0, high = local->entries->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (entry_at (local, middle)->seq < seq)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Removes the entries that were dropped or whose block was recycled. */
static void
sweep (GeLocalList *local)
{
  guint n = 0;

  for (guint i = 0; i < local->entries->len; i++)
    {
      const GeLocalEntry *entry = entry_at (local, i);

      if (entry->seq >= local->dropped && entry->version == entry->block->version)
        *entry_at (local, n++) = *entry;
    }
  g_array_set_size (local->entries, n);
  local->kept = n;
}

void
gemem_ge_streams_local_recycle (GeStreams *self, GeStream *stream, GeStreamBlock *block)
{
  GeLocalList *local = &stream->local;
  const GeLocalEntry entry = { block, block->version, local->next++ };

  if (G_UNLIKELY (local->entries->len >= SWEEP_LEAST + 2 * local->kept))
    sweep (local);
  g_array_append_val (local->entries, entry);
  self->local_recycles++;
}

/* Drops the entries that were sent to all other streams. */
static void
drop_sent (const GeStreams *self, GeStream *stream)
{
  GeLocalList *local = &stream->local;
  guint64 all = local->next;

  for (guint i = 0; i < self->n_streams; i++)
    if (i != stream->number)
      all = MIN (all, local->sent[i]);
  local->dropped = MAX (local->dropped, all);
}

/* ---- events */

static void
unlink_event (GeStreams *self, GeEvent *event)
{
  *(event->prev != NULL ? &event->prev->next : &self->first_event) = event->next;
  *(event->next != NULL ? &event->next->prev : &self->last_event) = event->prev;
  if (!event->replaced)
    gemem_idmap_remove (self->events, event->id, NULL);
  gemem_slab_free (&self->event_slab, event);
}

/* The event that @id names from now on, with what it had attached for the same two streams. */
static GeEvent *
obtain_event (GeStreams *self, guint64 id, GeStream *from, GeStream *to)
{
  gboolean existed;
  GeEvent **place = gemem_idmap_insert (self->events, id, &existed), *event;

  if (existed && (*place)->from == from && (*place)->to == to)
    return *place;
  if (existed)
    (*place)->replaced = TRUE; /* only the end of the execution can wait for it */
  *place = event = gemem_slab_alloc (&self->event_slab);
  event->id = id;
  event->from = from;
  event->to = to;
  event->prev = self->last_event;
  *(event->prev != NULL ? &event->prev->next : &self->first_event) = event;
  self->last_event = event;
  return event;
}

static void
attach_entry (GeStreams *self, GeEvent *event, const GeLocalEntry *entry)
{
  GeAttached *attached = gemem_slab_alloc (&self->attached);

  attached->block = entry->block;
  attached->version = entry->version;
  *(event->last != NULL ? &event->last->next : &event->first) = attached;
  event->last = attached;
}

/* Attaches the blocks of the borrow pool of @from whose birth stream is @to. */
static void
attach_borrowed (GeStreams *self, GeEvent *event, GeStream *from, const GeStream *to)
{
  GeStreamBlock *block;

  while ((block = from->borrow.by_birth[to->number].first) != NULL)
    {
      gemem_ge_borrow_remove (&from->borrow, block);
      self->borrowed_bytes -= gemem_ge_span_bytes (block->span);
      block->state = GE_BLOCK_RETURNING;
      self->pending_bytes += gemem_ge_span_bytes (block->span);
      gemem_ge_block_list_append (&event->returning, block);
    }
}

void
gemem_ge_streams_send (GeStreams *self, guint64 id, GeStream *from, GeStream *to)
{
  GeLocalList *local = &from->local;
  GeEvent *event = obtain_event (self, id, from, to);

  drop_sent (self, from);
  event->until = local->next;
  event->stamp = self->stamp;
  if (to == NULL)
    return;
  for (guint i = find_entry (local, MAX (local->sent[to->number], local->dropped));
       i < local->entries->len; i++)
    if (entry_at (local, i)->version == entry_at (local, i)->block->version)
      attach_entry (self, event, entry_at (local, i));
  local->sent[to->number] = local->next;
  attach_borrowed (self, event, from, to);
}

/* @on learns what @from knows of @block, unless it was recycled since. */
static void
learn (GeStreams *self, GeStreamBlock *block, guint64 version, const GeStream *from,
       const GeStream *on)
{
  if (block->version != version)
    return;
  gemem_ge_holders_tell (&block->holders, from->number, on->number, &self->wide);
  if (gemem_ge_holders_row (&block->holders, on->number) == 0)
    gemem_ge_streams_recycle (self, block, on->number);
}

/* Delivers @event to the stream it is for, and frees it. */
static void
deliver (GeStreams *self, GeEvent *event)
{
  GeAttached *attached, *next;
  GeStreamBlock *block;

  for (attached = event->first; attached != NULL; attached = next)
    {
      next = attached->next;
      learn (self, attached->block, attached->version, event->from, event->to);
      gemem_slab_free (&self->attached, attached);
    }
  while ((block = event->returning.first) != NULL)
    {
      gemem_ge_block_list_remove (&event->returning, block);
      self->pending_bytes -= gemem_ge_span_bytes (block->span);
      gemem_ge_streams_birth_recycle (self, block);
    }
  unlink_event (self, event);
}

/* What @on has not got yet of the state that @event marks. */
static void
catch_up (GeStreams *self, const GeEvent *event, const GeStream *on)
{
  GeLocalList *local = &event->from->local;
  guint64 *sent = &local->sent[on->number];
  GeBlockList *blocks = &event->from->borrow.by_birth[on->number];

  for (guint i = find_entry (local, MAX (*sent, local->dropped));
       i < local->entries->len && entry_at (local, i)->seq < event->until; i++)
    learn (self, entry_at (local, i)->block, entry_at (local, i)->version, event->from, on);
  *sent = MAX (*sent, event->until);
  while (blocks->first != NULL && gemem_ge_borrow_stamp (blocks->first) <= event->stamp)
    gemem_ge_streams_birth_recycle (self, blocks->first);
}

void
gemem_ge_streams_wait (GeStreams *self, guint64 id, GeStream *on)
{
  GeEvent *const *place = gemem_idmap_lookup (self->events, id);

  if (place == NULL)
    return;
  if ((*place)->to == on)
    deliver (self, *place);
  else if ((*place)->to == NULL)
    catch_up (self, *place, on);
}

/* Delivers every entry to the birth stream of its block, and recycles the blocks that no stream
 * holds, borrowed ones too. */
static void
settle (GeStreams *self, GeStream *stream)
{
  GeLocalList *local = &stream->local;

  for (guint i = find_entry (local, local->dropped); i < local->entries->len; i++)
    {
      GeStreamBlock *block = entry_at (local, i)->block;

      if (entry_at (local, i)->version != block->version)
        continue;
      gemem_ge_holders_tell_all (&block->holders, block->birth, &self->wide);
      if (gemem_ge_holders_row (&block->holders, block->birth) == 0)
        gemem_ge_streams_birth_recycle (self, block);
    }
  sweep (local);
  for (guint birth = 0; birth < self->n_streams; birth++)
    while (stream->borrow.by_birth[birth].first != NULL)
      gemem_ge_streams_birth_recycle (self, stream->borrow.by_birth[birth].first);
}

void
gemem_ge_streams_last_wait (GeStreams *self)
{
  while (self->first_event != NULL)
    if (self->first_event->to != NULL)
      deliver (self, self->first_event);
    else
      unlink_event (self, self->first_event);
  for (guint i = 0; i < self->n_streams; i++)
    settle (self, self->streams[i]);
  for (guint i = 0; i < self->n_streams; i++)
    gemem_ge_pool_recycle (self->streams[i]->pool);
}
