/* naive-ge-streams.c - the level-2 pools from ge-runtime.md 2.2 to 2.6, and from the opening
 * comment of allocators/ge/streams.c where the text is silent: whole matrices, masks per entry,
 * a walk over all blocks for every search. */
#include "config.h"

#include <string.h>

#include "tests/util/naive-ge.h"

#define STREAMS 16 /* more than any test uses */
#define ANY -1

typedef enum
{
  SPARE,
  USED,
  LEAVING,
  PENDING,
  BORROWED,
  RETURNING,
} State;

typedef struct
{
  State state;
  guint32 id;
  NaiveSpan *span;
  guint birth, owner, at;
  guint64 version, stamp;
  gboolean deferred;
  guint64 count[STREAMS];
  gboolean v[STREAMS][STREAMS];
} Block;

typedef struct
{
  Block *block;
  guint64 version;
  gboolean sent[STREAMS], dropped;
} Entry;

typedef struct
{
  guint32 id;
  gboolean replaced;
  guint from;
  int to;
  guint64 stamp;
  GPtrArray *entries;   /* Entry: attached, or all when the event was recorded */
  GPtrArray *returning; /* Block */
} Event;

typedef struct
{
  Naive base;
  NaivePool *bottom, *l1, *l2[STREAMS];
  guint64 handles[STREAMS];
  guint n;
  GPtrArray *blocks, *spare; /* Block: all of them, and a stack of unused ones */
  GPtrArray *entries;        /* Entry: all of them */
  GPtrArray *local[STREAMS]; /* Entry */
  GPtrArray *events;         /* Event */
  guint64 stamp, birth_recycles, local_recycles, borrow_recycles, borrows;
} Model;

#define BLOCK(m, i) ((Block *) g_ptr_array_index ((m)->blocks, i))
#define ENTRY(array, i) ((Entry *) g_ptr_array_index (array, i))
#define EVENT(m, i) ((Event *) g_ptr_array_index ((m)->events, i))

/* ---- life */

static void
event_free (gpointer data)
{
  Event *event = data;

  g_ptr_array_unref (event->entries);
  g_ptr_array_unref (event->returning);
  g_free (event);
}

static Naive *
create (void)
{
  Model *m = g_new0 (Model, 1);

  m->blocks = g_ptr_array_new_with_free_func (g_free);
  m->spare = g_ptr_array_new ();
  m->entries = g_ptr_array_new_with_free_func (g_free);
  m->events = g_ptr_array_new_with_free_func (event_free);
  return &m->base;
}

static void
destroy (Naive *naive)
{
  Model *m = (Model *) naive;

  for (guint s = 0; s < m->n; s++)
    {
      naive_pool_destroy (m->l2[s]);
      g_ptr_array_unref (m->local[s]);
    }
  naive_pool_destroy (m->l1);
  naive_pool_destroy (m->bottom);
  g_ptr_array_unref (m->blocks);
  g_ptr_array_unref (m->spare);
  g_ptr_array_unref (m->entries);
  g_ptr_array_unref (m->events);
}

/* ---- pools */

/* The ladders of L1 and L2 wait for a stream before they recycle; the wait moves no memory. */
static NaiveSpan *
ask_l1 (NaivePool *pool, guint64 bytes)
{
  Model *m = pool->data;
  NaiveSpan *span = naive_pool_alloc_or_recycle (m->l1, bytes);

  for (guint s = 0; span == NULL && s < m->n; s++)
    {
      naive_pool_recycle (m->l2[s]);
      span = naive_pool_alloc_or_recycle (m->l1, bytes);
    }
  return span;
}

static guint
stream_of (Model *m, guint64 handle)
{
  const guint64 threshold = (guint64) ((double) m->base.device.capacity * 0.95);

  for (guint s = 0; s < m->n; s++)
    if (m->handles[s] == handle)
      return s;
  g_assert_cmpuint (m->n, <, STREAMS);
  if (m->n == 0)
    {
      m->bottom = naive_pool_new (&m->base.device, NULL, threshold, G_GUINT64_CONSTANT (2) << 20);
      m->l1 = naive_pool_new (NULL, m->bottom, threshold, 0);
    }
  m->handles[m->n] = handle;
  m->local[m->n] = g_ptr_array_new ();
  m->l2[m->n] = naive_pool_new (NULL, m->l1, threshold, 0);
  m->l2[m->n]->ask = ask_l1;
  m->l2[m->n]->data = m;
  return m->n++;
}

/* ---- 2.4 */

static gboolean
row_is_zero (const Block *b, guint s)
{
  for (guint t = 0; t < STREAMS; t++)
    if (b->v[s][t])
      return FALSE;
  return TRUE;
}

static void
access_by (Block *b, guint t)
{
  b->count[t]++;
  for (guint s = 0; s < STREAMS; s++)
    b->v[s][t] = TRUE;
}

static void
merge_rows (Block *b, guint from, guint to)
{
  for (guint t = 0; t < STREAMS; t++)
    b->v[to][t] = b->v[to][t] && b->v[from][t];
}

static void
begin_anew (Block *b)
{
  b->version++;
  b->deferred = FALSE;
  memset (b->v, 0, sizeof b->v);
  memset (b->count, 0, sizeof b->count);
}

static void
birth_recycle (Model *m, Block *b)
{
  naive_pool_free (m->l2[b->birth], b->span);
  begin_anew (b);
  b->state = SPARE;
  g_ptr_array_add (m->spare, b);
  m->birth_recycles++;
}

static void
recycle (Model *m, Block *b, guint s)
{
  if (s == b->birth)
    {
      birth_recycle (m, b);
      return;
    }
  begin_anew (b);
  b->state = BORROWED;
  b->at = s;
  b->stamp = ++m->stamp;
  m->borrow_recycles++;
}

static void
free_at (Model *m, Block *b, guint s)
{
  gboolean needs_recycle = FALSE;

  if (b->count[s] > 0 && --b->count[s] == 0)
    {
      b->v[s][s] = FALSE;
      needs_recycle = TRUE;
    }
  if (row_is_zero (b, s))
    recycle (m, b, s);
  else if (needs_recycle)
    {
      Entry *e = g_new0 (Entry, 1);

      e->block = b;
      e->version = b->version;
      g_ptr_array_add (m->entries, e);
      g_ptr_array_add (m->local[s], e);
      m->local_recycles++;
    }
}

/* ---- requests */

static Block *
block_of (Model *m, guint32 id)
{
  for (guint i = 0; i < m->blocks->len; i++)
    if ((BLOCK (m, i)->state == USED || BLOCK (m, i)->state == LEAVING) && BLOCK (m, i)->id == id)
      return BLOCK (m, i);
  g_assert_not_reached ();
}

static Block *
borrow (Model *m, guint s, guint64 size)
{
  Block *best = NULL;

  for (guint i = 0; i < m->blocks->len; i++)
    {
      Block *b = BLOCK (m, i);

      if (b->state != BORROWED || b->at != s || b->span->pages * NAIVE_PAGE < size)
        continue;
      if (best == NULL || b->span->pages < best->span->pages
          || (b->span->pages == best->span->pages && b->stamp > best->stamp))
        best = b;
    }
  m->borrows += best != NULL;
  return best;
}

static Block *
wrap (Model *m, NaiveSpan *span, guint s)
{
  Block *b;

  if (m->spare->len > 0)
    b = g_ptr_array_remove_index (m->spare, m->spare->len - 1);
  else
    {
      b = g_new0 (Block, 1);
      g_ptr_array_add (m->blocks, b);
    }
  b->span = span;
  b->birth = s;
  return b;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *m = (Model *) naive;
  const guint s = stream_of (m, request->stream);
  NaiveSpan *span = naive_pool_alloc_or_recycle (m->l2[s], request->size);
  Block *b = span != NULL ? wrap (m, span, s) : borrow (m, s, request->size);

  if (b == NULL)
    return FALSE;
  b->id = id;
  b->state = USED;
  b->owner = s;
  access_by (b, s);
  *address = b->span->address;
  *size = b->span->pages * NAIVE_PAGE;
  return TRUE;
}

static guint64
holds (const Block *b)
{
  guint64 sum = 0;

  for (guint s = 0; s < STREAMS; s++)
    sum += b->count[s];
  return sum;
}

static void
free_one (Model *m, Block *b, guint s)
{
  if (b->count[s] > 0 && holds (b) == 1)
    b->deferred = TRUE;
  else if (b->count[s] > 0)
    free_at (m, b, s);
}

static void
unbind_all (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *m = (Model *) naive;
  Block *b = block_of (m, id);

  if (completion_follows)
    {
      free_one (m, b, b->owner);
      b->state = LEAVING;
      return;
    }
  while (b->count[b->owner] > 0)
    free_at (m, b, b->owner);
  for (guint s = 0; s < STREAMS; s++)
    while (b->count[s] > 0)
      free_at (m, b, s);
  if (b->state == USED)
    b->state = PENDING;
}

static void
complete (Naive *naive, guint32 id)
{
  birth_recycle ((Model *) naive, block_of ((Model *) naive, id));
}

static void
use_on_stream (Naive *naive, guint32 id, guint64 handle)
{
  Model *m = (Model *) naive;
  Block *b = block_of (m, id);
  const guint t = stream_of (m, handle);
  guint holder = 0;

  while (b->count[holder] == 0)
    holder++;
  access_by (b, t);
  if (!b->deferred)
    return;
  b->deferred = FALSE;
  free_one (m, b, holder);
}

static void
stream_free (Naive *naive, guint32 id, guint64 handle)
{
  Model *m = (Model *) naive;

  for (guint s = 0; s < m->n; s++)
    if (m->handles[s] == handle)
      free_one (m, block_of (m, id), s);
}

/* ---- 2.6 */

static gboolean
sent_to_all (const Model *m, const Entry *e, guint from)
{
  for (guint s = 0; s < m->n; s++)
    if (s != from && !e->sent[s])
      return FALSE;
  return TRUE;
}

static void
drop (Model *m, guint from)
{
  for (guint i = 0; i < m->local[from]->len;)
    {
      Entry *e = ENTRY (m->local[from], i);

      e->dropped = e->version != e->block->version || sent_to_all (m, e, from);
      if (e->dropped)
        g_ptr_array_remove_index (m->local[from], i);
      else
        i++;
    }
}

/* The block of @from's borrow pool that was allocated on @birth and entered the pool first, not
 * after @stamp; or NULL. */
static Block *
first_borrowed (Model *m, guint from, guint birth, guint64 stamp)
{
  Block *first = NULL;

  for (guint i = 0; i < m->blocks->len; i++)
    {
      Block *b = BLOCK (m, i);

      if (b->state == BORROWED && b->at == from && b->birth == birth && b->stamp <= stamp
          && (first == NULL || b->stamp < first->stamp))
        first = b;
    }
  return first;
}

static Event *
event_of (Model *m, guint32 id)
{
  for (guint i = 0; i < m->events->len; i++)
    if (EVENT (m, i)->id == id && !EVENT (m, i)->replaced)
      return EVENT (m, i);
  return NULL;
}

static void
event_record (Naive *naive, guint32 id, guint64 handle, guint64 to_handle)
{
  Model *m = (Model *) naive;
  const guint from = stream_of (m, handle);
  const int to = to_handle == G_MAXUINT64 ? ANY : (int) stream_of (m, to_handle);
  Event *event = event_of (m, id);
  Block *b;

  if (event != NULL && (event->from != from || event->to != to))
    {
      event->replaced = TRUE;
      event = NULL;
    }
  if (event == NULL)
    {
      event = g_new0 (Event, 1);
      event->entries = g_ptr_array_new ();
      event->returning = g_ptr_array_new ();
      g_ptr_array_add (m->events, event);
    }
  event->id = id;
  event->from = from;
  event->to = to;
  event->stamp = m->stamp;
  drop (m, from);
  if (to == ANY)
    g_ptr_array_set_size (event->entries, 0);
  for (guint i = 0; i < m->local[from]->len; i++)
    {
      Entry *e = ENTRY (m->local[from], i);

      if (to != ANY && e->sent[to])
        continue;
      if (to != ANY)
        e->sent[to] = TRUE;
      g_ptr_array_add (event->entries, e);
    }
  while (to != ANY && (b = first_borrowed (m, from, (guint) to, G_MAXUINT64)) != NULL)
    {
      b->state = RETURNING;
      g_ptr_array_add (event->returning, b);
    }
}

static void
learn (Model *m, const Entry *e, guint from, guint on)
{
  if (e->version != e->block->version)
    return;
  merge_rows (e->block, from, on);
  if (row_is_zero (e->block, on))
    free_at (m, e->block, on);
}

static void
deliver (Model *m, Event *event)
{
  for (guint i = 0; i < event->entries->len; i++)
    learn (m, ENTRY (event->entries, i), event->from, (guint) event->to);
  for (guint i = 0; i < event->returning->len; i++)
    birth_recycle (m, g_ptr_array_index (event->returning, i));
  g_ptr_array_remove (m->events, event);
}

static void
event_wait (Naive *naive, guint32 id, guint64 handle)
{
  Model *m = (Model *) naive;
  const guint on = stream_of (m, handle);
  Event *event = event_of (m, id);
  Block *b;

  if (event == NULL || (event->to != ANY && event->to != (int) on))
    return;
  if (event->to != ANY)
    {
      deliver (m, event);
      return;
    }
  for (guint i = 0; i < event->entries->len; i++)
    {
      Entry *e = ENTRY (event->entries, i);

      if (!e->sent[on] && !e->dropped)
        learn (m, e, event->from, on);
      e->sent[on] = TRUE;
    }
  while ((b = first_borrowed (m, event->from, on, event->stamp)) != NULL)
    birth_recycle (m, b);
}

static void
sync_device (Naive *naive, guint64 stream)
{
  Model *m = (Model *) naive;
  Block *b;

  if (stream != G_MAXUINT64)
    return;
  while (m->events->len > 0)
    if (EVENT (m, 0)->to != ANY)
      deliver (m, EVENT (m, 0));
    else
      g_ptr_array_remove_index (m->events, 0);
  for (guint s = 0; s < m->n; s++)
    {
      for (guint i = 0; i < m->local[s]->len; i++)
        {
          const Entry *e = ENTRY (m->local[s], i);

          if (e->version != e->block->version)
            continue;
          for (guint from = 0; from < STREAMS; from++)
            merge_rows (e->block, from, e->block->birth);
          if (row_is_zero (e->block, e->block->birth))
            free_at (m, e->block, e->block->birth);
        }
      for (guint birth = 0; birth < m->n; birth++)
        while ((b = first_borrowed (m, s, birth, G_MAXUINT64)) != NULL)
          birth_recycle (m, b);
    }
  for (guint i = 0; i < m->blocks->len; i++)
    g_assert_true (BLOCK (m, i)->state <= LEAVING); /* no pool holds a block of another */
  for (guint s = 0; s < m->n; s++)
    naive_pool_recycle (m->l2[s]);
}

static void
trim (Naive *naive)
{
  Model *m = (Model *) naive;

  for (guint s = 0; s < m->n; s++)
    naive_pool_recycle (m->l2[s]);
  if (m->l1 != NULL)
    naive_pool_recycle (m->l1);
}

static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  const Model *m = (const Model *) naive;
  const struct
  {
    const char *name;
    guint64 value;
  } rows[] = { { "streams", m->n },
               { "birth_recycles", m->birth_recycles },
               { "local_recycles", m->local_recycles },
               { "borrow_recycles", m->borrow_recycles },
               { "borrows", m->borrows },
               { "pool", m->l1 != NULL ? m->l1->obtained : 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].name, name) == 0)
      {
        *value = rows[i].value;
        return TRUE;
      }
  return FALSE;
}

#define MODEL(refused) \
  .name = "ge-streams", .settings = "", .every = refused, .create = create, .alloc = alloc, \
  .free = unbind_all, .complete = complete, .use_on_stream = use_on_stream, \
  .stream_free = stream_free, .event_record = event_record, .event_wait = event_wait, \
  .sync = sync_device, .trim = trim, .figure = figure, .destroy = destroy

const NaiveClass naive_ge_streams = { MODEL (0) };
const NaiveClass naive_ge_streams_faulty = { MODEL (5) };
