/* naive-caching.c - PyTorch's caching allocator with default settings, from peers.md 1a and the
 * table of its versions, over one array of blocks.
 *
 * The array is in address order; neighbours of the same segment are neighbours in it.  Events
 * complete at once (the device's event_latency is 0), so a block with extra streams is free again
 * at the next malloc of a default pool, or when the cache is emptied.  Among free blocks of equal
 * size the least tie() is taken: it depends on the version.
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

#define MOST_USES 16

typedef struct
{
  guint64 address, size;
  guint64 segment; /* the segment's address */
  guint64 stream;
  guint32 pool;
  gboolean small;
  State state;
  guint32 id;              /* while not FREE */
  guint64 number, serial;  /* blocks, and segments, are counted as they are made */
  guint64 uses[MOST_USES]; /* other streams, in the order of their first use */
  guint n_uses;
  guint64 owed; /* while OWED: when it was freed */
} Block;

/* A block that a stream has to be done with; a queue of one stream. */
typedef struct
{
  guint64 stream;
  guint32 id;
} Waiting;

typedef struct
{
  Naive base;
  GArray *blocks;
  GArray *streams; /* guint64: with events, in the order of the first */
  GArray *waiting; /* Waiting, in the order of the frees */
  guint64 numbers, serials, frees;
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  model->streams = g_array_new (FALSE, FALSE, sizeof (guint64));
  model->waiting = g_array_new (FALSE, FALSE, sizeof (Waiting));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
  g_array_unref (((Model *) naive)->streams);
  g_array_unref (((Model *) naive)->waiting);
}

static guint
find (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (model, i)->state == LIVE && BLOCK (model, i)->id == id)
      return i;
  g_assert_not_reached ();
}

/* Block @i may be reused; it joins its free neighbours, whose numbers end. */
static void
finish (Model *model, guint i)
{
  const guint64 number = BLOCK (model, i)->number;

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
  BLOCK (model, i)->number = number;
}

/* One stream is done with block @id. */
static void
end_use (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (model, i)->state == EVENTS && BLOCK (model, i)->id == id)
      {
        if (--BLOCK (model, i)->n_uses == 0)
          finish (model, i);
        return;
      }
}

/* All streams are done, one after the other. */
static void
finish_events (Model *model)
{
  for (guint s = 0; s < model->streams->len; s++)
    for (guint i = 0; i < model->waiting->len;)
      {
        const Waiting waiting = g_array_index (model->waiting, Waiting, i);

        if (waiting.stream != g_array_index (model->streams, guint64, s))
          i++;
        else
          {
            g_array_remove_index (model->waiting, i);
            end_use (model, waiting.id);
          }
      }
}

/* Completes the frees that are owed, in the order of the frees. */
static void
finish_owed (Model *model)
{
  for (;;)
    {
      int first = -1;

      for (guint i = 0; i < model->blocks->len; i++)
        if (BLOCK (model, i)->state == OWED
            && (first < 0 || BLOCK (model, i)->owed < BLOCK (model, first)->owed))
          first = (int) i;
      if (first < 0)
        return;
      finish (model, (guint) first);
    }
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
  finish_events (model);
  finish_owed (model);
  for (guint i = 0; i < model->blocks->len;)
    if (BLOCK (model, i)->state == FREE && BLOCK (model, i)->pool == 0 && is_unsplit (model, i))
      {
        naive_device_free (&model->base.device, BLOCK (model, i)->address);
        g_array_remove_index (model->blocks, i);
      }
    else
      i++;
}

/* 2.12.1: the block's number; since 2.13: the segment's, then the address; else the address. */
static gboolean
comes_before (const Model *model, const Block *a, const Block *b)
{
  const char *settings = model->base.klass->settings;

  if (a->size != b->size)
    return a->size < b->size;
  if (g_str_equal (settings, "version=2.12.1"))
    return a->number < b->number;
  if (a->serial != b->serial && !g_str_equal (settings, "version=2.11"))
    return a->serial < b->serial;
  return a->address < b->address;
}

static int
best_fit (Model *model, guint64 size, guint64 stream, guint32 pool, gboolean small)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->state == FREE && b->stream == stream && b->pool == pool && b->small == small
          && b->size >= size && (best < 0 || comes_before (model, b, BLOCK (model, best))))
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
  Block block = { .address = address,
                  .size = bytes,
                  .segment = address,
                  .stream = stream,
                  .pool = pool,
                  .small = small,
                  .state = FREE };
  guint at = 0;

  if (address == 0)
    return -1;
  block.number = ++model->numbers;
  block.serial = ++model->serials;
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
    finish_events (model);
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
      BLOCK (model, i)->number = ++model->numbers; /* the rest keeps the old one */
      g_array_insert_val (model->blocks, i + 1, high);
    }
  BLOCK (model, i)->state = LIVE;
  BLOCK (model, i)->n_uses = 0;
  BLOCK (model, i)->id = id;
  *address = BLOCK (model, i)->address;
  *block = BLOCK (model, i)->size;
  return TRUE;
}

static void
wait_for (Model *model, guint64 stream, guint32 id)
{
  const Waiting waiting = { stream, id };
  guint s = 0;

  while (s < model->streams->len && g_array_index (model->streams, guint64, s) != stream)
    s++;
  if (s == model->streams->len)
    g_array_append_val (model->streams, stream);
  g_array_append_val (model->waiting, waiting);
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const guint i = find (model, id);
  Block *block = BLOCK (model, i);

  block->owed = ++model->frees;
  if (completion_follows)
    block->state = OWED;
  else if (block->n_uses > 0)
    {
      block->state = EVENTS;
      for (guint u = 0; u < block->n_uses; u++)
        wait_for (model, block->uses[u], id);
    }
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

  for (guint u = 0; u < block->n_uses; u++)
    if (block->uses[u] == stream)
      return;
  g_assert_cmpuint (block->n_uses, <, MOST_USES);
  if (stream != block->stream)
    block->uses[block->n_uses++] = stream;
}

static void
trim (Naive *naive)
{
  empty_cache ((Model *) naive);
}

#define CACHING(text) \
  .name = "pytorch-caching", .settings = text, .create = create, .alloc = alloc, .free = release, \
  .complete = complete, .use_on_stream = use_on_stream, .trim = trim, .destroy = destroy

const NaiveClass naive_caching = { CACHING ("") };
const NaiveClass naive_caching_2_12 = { CACHING ("version=2.12.1") };
const NaiveClass naive_caching_2_11 = { CACHING ("version=2.11") };
