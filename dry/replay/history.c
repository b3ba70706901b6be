/* history.c - keeps what was done to memory (replay.h): blocks, and the events that may have
 * written there.
 *
 * An event holds the blocks that it read, as they were then: a block is kept as long as an event
 * needs it, also after the program gave it back. From time to time those that lead to no living
 * block are dropped.
 */
#include "config.h"

#include <string.h>

#include "dry/replay/replay-private.h"

#define EVENTS_MAX 16384              /* that lead to living blocks */
#define DEPTH_MAX 8192                /* events that stand on each other */
#define KEPT_MAX ((guint64) 48 << 20) /* bytes of copies and results */
#define COPY_MAX ((guint64) 1 << 20)
#define FOUND_MAX ((guint64) 4 << 20)
#define TABLE_MAX 65536
#define ADDRESS sizeof (guint64)

typedef struct
{
  gboolean on;
  GPtrArray *live;  /* ReplayBlock, in the order of addresses */
  GPtrArray *ended; /* that events may still need */
  GPtrArray *events;
  guint64 sequence, mark, kept, next_kept; /* next_kept: of which size the next sweep is due */
  guint next_sweep;
} History;

static History history;
static GRecMutex mutex;
static GememDryFunctionFunc on_function;

void
gemem_replay_lock (void)
{
  g_rec_mutex_lock (&mutex);
}

void
gemem_replay_unlock (void)
{
  g_rec_mutex_unlock (&mutex);
}

gboolean
gemem_replay_is_on (void)
{
  return history.on && gemem_dry_in_function (0) == 0;
}

void
gemem_dry_replay_begin (void)
{
  gemem_replay_lock ();
  if (!history.on)
    {
      history.live = g_ptr_array_new ();
      history.ended = g_ptr_array_new ();
      history.events = g_ptr_array_new ();
      history.next_sweep = 1024;
      history.next_kept = KEPT_MAX / 8;
      history.on = TRUE;
    }
  gemem_replay_unlock ();
}

int
gemem_dry_in_function (int change)
{
  static __thread int depth;
  depth += change;
  return depth;
}

void
gemem_dry_on_function (GememDryFunctionFunc func)
{
  on_function = func;
}

int
gemem_replay_function (const ReplayEvent *event, guint8 **bytes, guint8 **states)
{
  return on_function != NULL ? on_function (event->id, bytes, states) : 0;
}

/* ---- blocks */

/* The first living block that ends above @address. */
static guint
find (guint64 address)
{
  guint low = 0, high = history.live->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;
      const ReplayBlock *block = history.live->pdata[middle];
      if (block->address + block->size > address)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

ReplayBlock *
gemem_replay_block_at (guint64 address, guint64 size)
{
  const guint i = history.on ? find (address) : 0;
  ReplayBlock *block = history.on && i < history.live->len ? history.live->pdata[i] : NULL;

  return block != NULL && block->address <= address
                 && size <= block->address + block->size - address
             ? block
             : NULL;
}

/* The block whose address, or one within it, stands at @bytes; NULL: none. */
static ReplayBlock *
block_named (const guint8 *bytes)
{
  guint64 address;

  memcpy (&address, bytes, sizeof address);
  return address != 0 ? gemem_replay_block_at (address, 1) : NULL;
}

static void
block_free (ReplayBlock *block)
{
  g_ptr_array_unref (block->writers);
  g_free (block);
}

static void
end_block (guint i)
{
  ReplayBlock *block = history.live->pdata[i];

  g_ptr_array_remove_index (history.live, i);
  block->live = FALSE;
  g_ptr_array_add (history.ended, block);
}

void
gemem_dry_block_begins (guint64 address, guint64 size)
{
  guint i;

  gemem_replay_lock ();
  if (history.on && address != 0 && size > 0)
    {
      while ((i = find (address)) < history.live->len
             && ((ReplayBlock *) history.live->pdata[i])->address < address + size)
        end_block (i); /* freed unseen */
      ReplayBlock *block = g_new0 (ReplayBlock, 1);
      block->address = address;
      block->size = size;
      block->live = TRUE;
      block->writers = g_ptr_array_new ();
      g_ptr_array_insert (history.live, (gint) i, block);
    }
  gemem_replay_unlock ();
}

void
gemem_dry_block_ends (guint64 address)
{
  gemem_replay_lock ();
  const guint i = history.on ? find (address) : 0;
  if (history.on && i < history.live->len
      && ((ReplayBlock *) history.live->pdata[i])->address == address)
    end_block (i);
  gemem_replay_unlock ();
}

/* ---- what leads to a block */

typedef struct
{
  GPtrArray *events, *blocks;
  GPtrArray *open; /* blocks of which more may be needed */
} Collection;

static gboolean
is_whole (const ReplayEvent *event)
{
  return event->kind == EVENT_FOUND || event->whole;
}

static void
need (Collection *all, ReplayBlock *block, guint64 until)
{
  if (block->mark != history.mark)
    {
      block->mark = history.mark;
      block->need = 0;
      g_ptr_array_add (all->blocks, block);
    }
  if (until > block->need)
    {
      block->need = until;
      g_ptr_array_add (all->open, block);
    }
}

static void
follow (Collection *all, const ReplayBlock *block)
{
  for (guint i = block->writers->len; i-- > 0;)
    {
      ReplayEvent *event = block->writers->pdata[i];
      if (event->sequence > block->need)
        continue;
      if (event->mark != history.mark)
        {
          event->mark = history.mark;
          g_ptr_array_add (all->events, event);
          for (guint k = 0; k < event->n_touches; k++)
            need (all, event->touches[k].block, event->kind == EVENT_LOST ? 0 : event->sequence);
        }
      if (is_whole (event))
        return;
    }
}

static int
compare_events (gconstpointer a, gconstpointer b)
{
  const ReplayEvent *one = *(const ReplayEvent *const *) a,
                    *other = *(const ReplayEvent *const *) b;
  return one->sequence < other->sequence ? -1 : one->sequence > other->sequence;
}

static Collection
collect (ReplayBlock *const *from, guint n)
{
  Collection all = { g_ptr_array_new (), g_ptr_array_new (), g_ptr_array_new () };

  history.mark++;
  for (guint i = 0; i < n; i++)
    need (&all, from[i], G_MAXUINT64);
  while (all.open->len > 0)
    follow (&all, g_ptr_array_steal_index_fast (all.open, all.open->len - 1));
  g_ptr_array_unref (all.open);
  return all;
}

GPtrArray *
gemem_replay_collect (ReplayBlock *block, GPtrArray **blocks)
{
  Collection all = collect (&block, 1);

  g_ptr_array_sort (all.events, compare_events);
  *blocks = all.blocks;
  return all.events;
}

/* ---- events */

static void
event_free (ReplayEvent *event)
{
  if (event->kind == EVENT_HOST || event->kind == EVENT_FOUND)
    history.kept -= event->size * (event->kind == EVENT_FOUND ? 2 : 1);
  if (event->id != 0 && on_function != NULL)
    on_function (event->id, NULL, NULL);
  g_free (event->touches);
  g_free (event->bytes);
  g_free (event->name);
  g_free (event->addresses);
  g_free (event);
}

static void
drop_unmarked (GPtrArray *writers)
{
  guint kept = 0;

  for (guint i = 0; i < writers->len; i++)
    if (((ReplayEvent *) writers->pdata[i])->mark == history.mark)
      writers->pdata[kept++] = writers->pdata[i];
  g_ptr_array_set_size (writers, (gint) kept);
}

/* Drops what leads to no living block. */
static void
sweep (void)
{
  Collection all = collect ((ReplayBlock *const *) history.live->pdata, history.live->len);
  GPtrArray *ended = g_ptr_array_new (), *events = g_ptr_array_new ();

  for (guint i = 0; i < all.blocks->len; i++)
    drop_unmarked (((ReplayBlock *) all.blocks->pdata[i])->writers);
  for (guint i = 0; i < history.events->len; i++)
    {
      ReplayEvent *event = history.events->pdata[i];
      if (event->mark == history.mark)
        g_ptr_array_add (events, event);
      else
        event_free (event);
    }
  for (guint i = 0; i < history.ended->len; i++)
    {
      ReplayBlock *block = history.ended->pdata[i];
      if (block->mark == history.mark)
        g_ptr_array_add (ended, block);
      else
        block_free (block);
    }
  g_ptr_array_unref (history.events);
  g_ptr_array_unref (history.ended);
  g_ptr_array_unref (all.blocks);
  g_ptr_array_unref (all.events);
  history.events = events;
  history.ended = ended;
  history.next_sweep = MAX (1024, 2 * events->len);
  history.next_kept = history.kept + KEPT_MAX / 8;
}

/* Nothing is known of any block. */
static void
lose_all (void)
{
  for (guint i = 0; i < history.live->len; i++)
    {
      ReplayBlock *block = history.live->pdata[i];
      g_ptr_array_set_size (block->writers, 0);
      block->depth = 0;
    }
  sweep ();
}

/* A new event that touches @n blocks, which the caller fills in and keeps. */
static ReplayEvent *
new_event (ReplayKind kind, guint n)
{
  ReplayEvent *event = g_new0 (ReplayEvent, 1);
  event->kind = kind;
  event->n_touches = n;
  event->touches = g_new0 (ReplayTouch, n);
  return event;
}

static void
add (ReplayEvent *event)
{
  for (guint i = 0; i < event->n_touches; i++)
    event->depth = MAX (event->depth, event->touches[i].block->depth + 1);
  if (event->depth > DEPTH_MAX && event->kind != EVENT_FOUND)
    {
      if (event->kind == EVENT_HOST)
        history.kept -= event->size;
      event->kind = EVENT_LOST;
      event->size = 0;
      event->whole = TRUE;
    }
  if (event->kind == EVENT_LOST || event->kind == EVENT_FOUND)
    event->depth = 0;
  event->sequence = ++history.sequence;
  for (guint i = 0; i < event->n_touches; i++)
    if (event->touches[i].writes)
      {
        ReplayBlock *block = event->touches[i].block;
        if (block->writers->len == 0 || block->writers->pdata[block->writers->len - 1] != event)
          g_ptr_array_add (block->writers, event);
        block->depth = is_whole (event) ? 0 : MAX (event->depth, block->depth);
      }
  g_ptr_array_add (history.events, event);
}

static void
keep (ReplayEvent *event)
{
  add (event);
  if (history.events->len > history.next_sweep || history.kept > history.next_kept)
    {
      sweep ();
      if (history.events->len > EVENTS_MAX || history.kept > KEPT_MAX)
        lose_all ();
    }
}

static void
lose_block (ReplayBlock *block, guint64 address, guint64 size)
{
  ReplayEvent *event = new_event (EVENT_LOST, 1);
  event->touches[0] = (ReplayTouch){ block, TRUE };
  event->address = address;
  event->size = size;
  event->whole = address == block->address && size >= block->size;
  keep (event);
}

/* What is in a block that begins at @address or contains it; 0: in none. */
static void
lose_range (guint64 address, guint64 size)
{
  for (guint i = find (address); i < history.live->len; i++)
    {
      ReplayBlock *block = history.live->pdata[i];
      if (block->address >= address + size)
        return;
      const guint64 start = MAX (block->address, address),
                    end = MIN (block->address + block->size, address + size);
      lose_block (block, start, end - start);
    }
}

void
gemem_replay_lost (guint64 address, guint64 size)
{
  if (!gemem_replay_is_on ())
    return;
  gemem_replay_lock ();
  ReplayBlock *block = size == 0 && address != 0 ? gemem_replay_block_at (address, 1) : NULL;
  if (address == 0 && size == 0)
    lose_all ();
  else if (block != NULL)
    lose_block (block, block->address, block->size);
  else if (size > 0)
    lose_range (address, size);
  gemem_replay_unlock ();
}

void
gemem_dry_lost (guint64 address, guint64 size)
{
  gemem_replay_lost (address, size);
}

void
gemem_replay_got (const guint8 *bytes, gsize size)
{
  if (!gemem_replay_is_on ())
    return;
  gemem_replay_lock ();
  for (gsize at = 0; at + ADDRESS <= size; at += ADDRESS)
    {
      ReplayBlock *block = block_named (bytes + at);
      if (block != NULL)
        lose_block (block, block->address, block->size);
    }
  gemem_replay_unlock ();
}

/* A table of addresses was copied to the device: what they name may be written at any time from now
 * on. */
static void
got_table (const guint8 *bytes, gsize size)
{
  for (gsize at = 0; at + ADDRESS <= size; at += ADDRESS)
    {
      ReplayBlock *block = block_named (bytes + at);
      if (block != NULL)
        block->escaped = TRUE;
    }
}

void
gemem_replay_host (guint64 address, gconstpointer bytes, guint64 size)
{
  ReplayBlock *block;

  if (!gemem_replay_is_on ())
    return;
  gemem_replay_lock ();
  if (size <= TABLE_MAX)
    got_table (bytes, size);
  if (size <= COPY_MAX && (block = gemem_replay_block_at (address, size)) != NULL)
    {
      ReplayEvent *event = new_event (EVENT_HOST, 1);
      event->touches[0] = (ReplayTouch){ block, TRUE };
      event->address = address;
      event->size = size;
      event->bytes = g_memdup2 (bytes, size);
      history.kept += size;
      keep (event);
    }
  else
    lose_range (address, size);
  gemem_replay_unlock ();
}

void
gemem_replay_fill (guint64 address, guint64 size, guint32 value, guint unit)
{
  ReplayBlock *block;

  if (!gemem_replay_is_on ())
    return;
  gemem_replay_lock ();
  if ((block = gemem_replay_block_at (address, size)) != NULL)
    {
      ReplayEvent *event = new_event (EVENT_FILL, 1);
      event->touches[0] = (ReplayTouch){ block, TRUE };
      event->address = address;
      event->size = size;
      event->value = value;
      event->unit = unit;
      keep (event);
    }
  else
    lose_range (address, size);
  gemem_replay_unlock ();
}

void
gemem_replay_carry (guint64 to, guint64 from, guint64 size)
{
  ReplayBlock *source, *target;

  if (!gemem_replay_is_on ())
    return;
  gemem_replay_lock ();
  source = gemem_replay_block_at (from, size);
  if (source != NULL && (target = gemem_replay_block_at (to, size)) != NULL)
    {
      ReplayEvent *event = new_event (EVENT_CARRY, 2);
      event->touches[0] = (ReplayTouch){ target, TRUE };
      event->touches[1] = (ReplayTouch){ source, FALSE };
      event->address = to;
      event->from = from;
      event->size = size;
      keep (event);
    }
  else
    lose_range (to, size);
  gemem_replay_unlock ();
}

/* ---- launches */

static void
touch (GArray *touches, ReplayBlock *block, gboolean writes)
{
  for (guint i = 0; i < touches->len; i++)
    {
      ReplayTouch *one = &g_array_index (touches, ReplayTouch, i);
      if (one->block == block)
        {
          one->writes |= writes;
          return;
        }
    }
  const ReplayTouch one = { block, writes };
  g_array_append_val (touches, one);
}

static void
keep_launch (GememReplaySource *source, const char *name, const guint grid[3], const guint block[3],
             gsize shared, void **parameters, const GArray *known)
{
  g_autoptr (GArray) touches = g_array_new (FALSE, FALSE, sizeof (ReplayTouch));
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  for (guint i = 0; i < known->len; i++)
    {
      const ReplayParameter *parameter = &g_array_index (known, ReplayParameter, i);
      g_byte_array_append (bytes, parameters[i], parameter->size);
      for (gsize at = 0; at + ADDRESS <= parameter->size; at += ADDRESS)
        {
          ReplayBlock *found = block_named ((const guint8 *) parameters[i] + at);
          if (found != NULL)
            touch (touches, found, !parameter->constant);
        }
    }
  if (touches->len == 0)
    return;
  ReplayEvent *event = new_event (EVENT_LAUNCH, touches->len);
  memcpy (event->touches, touches->data, touches->len * sizeof (ReplayTouch));
  event->source = source;
  event->name = g_strdup (name);
  event->bytes = g_memdup2 (bytes->data, bytes->len);
  event->size = bytes->len;
  event->shared = shared;
  memcpy (event->grid, grid, sizeof event->grid);
  memcpy (event->block, block, sizeof event->block);
  keep (event);
}

gboolean
gemem_replay_launch (GememReplaySource *source, const char *name, const guint grid[3],
                     const guint block[3], gsize shared, void **parameters)
{
  const GArray *known;

  if (!gemem_replay_is_on ())
    return TRUE;
  if (source == NULL || parameters == NULL)
    return FALSE;
  gemem_replay_lock ();
  if ((known = gemem_replay_parameters (source, name)) != NULL)
    keep_launch (source, name, grid, block, shared, parameters, known);
  gemem_replay_unlock ();
  return known != NULL;
}

/* ---- functions */

void
gemem_dry_function (guint64 id, guint n, guint n_written, const guint64 *addresses,
                    const guint64 *sizes, int drawn)
{
  gboolean known = TRUE;

  gemem_replay_lock ();
  for (guint i = 0; i < n; i++)
    known &= gemem_replay_block_at (addresses[i], sizes[i]) != NULL;
  if (history.on && known)
    {
      ReplayEvent *event = new_event (EVENT_FUNCTION, n);
      for (guint i = 0; i < n; i++)
        event->touches[i] = (ReplayTouch){ gemem_replay_block_at (addresses[i], sizes[i]),
                                           i < n_written };
      event->id = id;
      event->drawn = drawn != 0;
      event->addresses = g_memdup2 (addresses, n * sizeof *addresses);
      keep (event);
    }
  else
    for (guint i = 0; history.on && i < n_written; i++)
      lose_range (addresses[i], sizes[i]);
  gemem_replay_unlock ();
}

/* ---- results */

void
gemem_replay_found (ReplayBlock *block, const GememPtxMemory *memory)
{
  if (block->size > FOUND_MAX || history.kept + 2 * block->size > KEPT_MAX / 4 * 3)
    return;
  ReplayEvent *event = new_event (EVENT_FOUND, 1);
  event->touches[0] = (ReplayTouch){ block, TRUE };
  event->address = block->address;
  event->size = block->size;
  event->bytes = g_malloc (2 * block->size);
  memcpy (event->bytes, memory->bytes, block->size);
  memcpy (event->bytes + block->size, memory->states, block->size);
  history.kept += 2 * block->size;
  add (event); /* the caller has blocks that a sweep might free */
}
