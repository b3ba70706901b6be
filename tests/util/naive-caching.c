/* naive-caching.c - PyTorch's caching allocator with default settings, from peers.md 1a, over one
 * array of blocks.
 *
 * The array is in address order; neighbours of the same segment are neighbours in it.  Events
 * complete at once (the device's event_latency is 0), so a block with extra streams is free again
 * at the next malloc of a default pool, or when the cache is emptied.
 */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef enum
{
  FREE,
  LIVE,
  EVENTS, /* freed, events recorded */
  OWED,   /* freed, its completion is pending */
} State;

typedef struct
{
  guint64 address, size;
  guint64 segment; /* the segment's address */
  guint64 stream;
  guint32 pool;
  gboolean small, used_elsewhere;
  State state;
  guint32 id; /* while not FREE */
} Block;

typedef struct
{
  Naive base;
  GArray *blocks;
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
}

static guint
find (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (model, i)->state == LIVE && BLOCK (model, i)->id == id)
      return i;
  g_assert_not_reached ();
}

/* Block @i may be reused; it joins its free neighbours. */
static void
finish (Model *model, guint i)
{
  BLOCK (model, i)->state = FREE;
  for (int left = 1; left >= 0; left--)
    {
      guint a = left ? i - 1 : i, b = a + 1;

      if ((left && i == 0) || b >= model->blocks->len
          || BLOCK (model, a)->segment != BLOCK (model, b)->segment)
        continue;
      if (BLOCK (model, a)->state != FREE || BLOCK (model, b)->state != FREE)
        continue;
      BLOCK (model, a)->size += BLOCK (model, b)->size;
      g_array_remove_index (model->blocks, b);
      i = a;
    }
}

/* Frees every block in @state; the array shrinks in the loop. */
static void
finish_all (Model *model, State state)
{
  for (guint i = 0; i < model->blocks->len;)
    if (BLOCK (model, i)->state == state)
      {
        finish (model, i);
        i = 0;
      }
    else
      i++;
}

/* TRUE: the segment consists of this one block. */
static gboolean
is_unsplit (Model *model, guint i)
{
  const guint64 segment = BLOCK (model, i)->segment;

  return (i == 0 || BLOCK (model, i - 1)->segment != segment)
         && (i + 1 == model->blocks->len || BLOCK (model, i + 1)->segment != segment);
}

static void
empty_cache (Model *model)
{
  finish_all (model, EVENTS);
  finish_all (model, OWED);
  for (guint i = 0; i < model->blocks->len;)
    if (BLOCK (model, i)->state == FREE && BLOCK (model, i)->pool == 0 && is_unsplit (model, i))
      {
        naive_device_free (&model->base.device, BLOCK (model, i)->address);
        g_array_remove_index (model->blocks, i);
      }
    else
      i++;
}

static int
best_fit (Model *model, guint64 size, guint64 stream, guint32 pool, gboolean small)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->state == FREE && b->stream == stream && b->pool == pool && b->small == small
          && b->size >= size && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  return best;
}

static int
new_segment (Model *model, guint64 rounded, guint64 stream, guint32 pool, gboolean small)
{
  const guint64 bytes = small                ? 2 * MIB
                        : rounded < 10 * MIB ? 20 * MIB
                                             : (rounded + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, stream, pool, small, FALSE, FREE, 0 };
  guint at = 0;

  if (address == 0)
    return -1;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = request->size, stream = request->stream;
  const guint32 pool = request->pool;
  const guint64 rounded = size < 512 ? 512 : (size + 511) / 512 * 512;
  const gboolean small = rounded <= MIB;
  int i;

  if (pool == 0)
    finish_all (model, EVENTS);
  if (size >= G_GUINT64_CONSTANT (1) << 60)
    return FALSE;
  i = best_fit (model, rounded, stream, pool, small);
  if (i < 0)
    i = new_segment (model, rounded, stream, pool, small);
  if (i < 0 && pool == 0)
    {
      empty_cache (model);
      i = new_segment (model, rounded, stream, pool, small);
    }
  if (i < 0)
    return FALSE;
  const guint64 rest = BLOCK (model, i)->size - rounded;
  if (small ? rest >= 512 : rest > MIB)
    {
      Block high = *BLOCK (model, i);

      high.address += rounded;
      high.size = rest;
      BLOCK (model, i)->size = rounded;
      g_array_insert_val (model->blocks, i + 1, high);
    }
  BLOCK (model, i)->state = LIVE;
  BLOCK (model, i)->used_elsewhere = FALSE;
  BLOCK (model, i)->id = id;
  *address = BLOCK (model, i)->address;
  *block = BLOCK (model, i)->size;
  return TRUE;
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const guint i = find (model, id);

  if (completion_follows)
    BLOCK (model, i)->state = OWED;
  else if (BLOCK (model, i)->used_elsewhere)
    BLOCK (model, i)->state = EVENTS;
  else
    finish (model, i);
}

/* No effect if the allocator has taken the block by force before. */
static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (model, i)->state == OWED && BLOCK (model, i)->id == id)
      {
        finish (model, i);
        return;
      }
}

static void
use_on_stream (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  Block *block = BLOCK (model, find (model, id));

  if (stream != block->stream)
    block->used_elsewhere = TRUE;
}

static void
trim (Naive *naive)
{
  empty_cache ((Model *) naive);
}

const NaiveClass naive_caching = {
  .name = "pytorch-caching",
  .settings = "",
  .create = create,
  .alloc = alloc,
  .free = release,
  .complete = complete,
  .use_on_stream = use_on_stream,
  .trim = trim,
  .destroy = destroy,
};
