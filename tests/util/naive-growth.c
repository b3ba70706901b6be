/* naive-growth.c - Paddle's AutoGrowthBestFitAllocator, from paddle.md 3.1 and 3.4, over one
 * array of blocks: one allocator per stream since 2.1, a single one before; over an aligning
 * allocator and without StreamSafe until 2.2 (13.1); P3's pools and its warm-up. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/naive-stream-safe.h"
#include "tests/util/sizes.h"

#define RETRY_TIME (10 * NAIVE_TICK)

typedef struct
{
  guint64 address, size, chunk, stream;
  gboolean small, free;
  guint32 id; /* unless free */
} Block;

typedef struct
{
  Naive base;
  guint64 least;                    /* C: least bytes of a chunk (with pools: of a large one) */
  guint64 small_pool, small_least;  /* requests up to this size, and least bytes of their chunks */
  guint64 small_first, large_first; /* chunks that a stream begins with; 0: none */
  GArray *begun;                    /* guint64: streams that have these chunks */
  guint64 warm_up;                  /* use_auto_growth_v2: exact-fit requests left, and one more */
  gboolean v2;
  GArray *warm;         /* guint64: streams that released the idle chunks of the warm-up */
  gboolean old;         /* until 2.2: aligned chunks, no StreamSafe */
  gboolean shared;      /* until 2.0: by all streams */
  gboolean free_idle;   /* free_idle_chunk */
  gboolean free_before; /* free_when_no_cache_hit */
  GArray *blocks;
  NaiveStreamSafe safe;
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (guint64 least, gboolean until_2_0, gboolean free_idle, gboolean free_before)
{
  Model *model = g_new0 (Model, 1);

  model->least = least;
  model->old = model->shared = until_2_0;
  model->free_idle = free_idle;
  model->free_before = free_before;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  model->warm = g_array_new (FALSE, FALSE, sizeof (guint64));
  model->begun = g_array_new (FALSE, FALSE, sizeof (guint64));
  naive_stream_safe_init (&model->safe);
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
  g_array_unref (((Model *) naive)->warm);
  g_array_unref (((Model *) naive)->begun);
  naive_stream_safe_clear (&((Model *) naive)->safe);
}

/* FreeIdleChunks() of one allocator, or of all. */
static void
free_idle_chunks (Model *model, guint64 stream)
{
  for (guint i = 0; i < model->blocks->len;)
    {
      const Block *block = BLOCK (model, i);
      const gboolean last = i + 1 == model->blocks->len
                            || BLOCK (model, i + 1)->chunk != block->chunk;

      if (block->free && block->address == block->chunk && last
          && (stream == NAIVE_EVERY_STREAM || block->stream == stream))
        {
          naive_device_free (&model->base.device, block->address);
          g_array_remove_index (model->blocks, i);
        }
      else
        i++;
    }
}

static void
join (Model *model, guint i)
{
  const Block *block = BLOCK (model, i), *next = block + 1;

  if (i + 1 < model->blocks->len && block->chunk == next->chunk && block->free && next->free)
    {
      BLOCK (model, i)->size += next->size;
      g_array_remove_index (model->blocks, i + 1);
    }
}

static guint
find (Model *model, guint32 id)
{
  guint i = 0;

  while (BLOCK (model, i)->free || BLOCK (model, i)->id != id)
    i++;
  return i;
}

static void
release (Model *model, guint32 id)
{
  const guint i = find (model, id);
  const guint64 stream = BLOCK (model, i)->stream;

  BLOCK (model, i)->free = TRUE;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
  if (model->free_idle)
    free_idle_chunks (model, stream);
}

/* Releases the blocks whose uses are complete, of one stream or of all. */
static void
release_done (Model *model, guint64 stream)
{
  guint32 id;

  while (naive_stream_safe_next (&model->safe, &model->base.device, stream, &id))
    release (model, id);
}

static gboolean
is_small (const Model *model, guint64 size)
{
  return size <= model->small_pool;
}

static int
best_fit (Model *model, guint64 size, guint64 stream)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->free && b->stream == stream && b->small == is_small (model, size) && b->size >= size
          && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  return best;
}

static int
add_chunk (Model *model, guint64 bytes, gboolean small, guint64 stream)
{
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, stream, small, TRUE, 0 };
  guint at = 0;

  if (address == 0)
    return -1;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

/* Adds a chunk of at least @least bytes that holds @size. */
static int
grow_by (Model *model, guint64 size, guint64 least, guint64 stream)
{
  return add_chunk (model, MAX (size, least) + (model->old ? 256 : 0), is_small (model, size),
                    stream);
}

static int
grow (Model *model, guint64 size, guint64 stream)
{
  return grow_by (model, size, is_small (model, size) ? model->small_least : model->least, stream);
}

/* The rule during the warm-up: exact fits only. */
static int
obtain_exactly (Model *model, guint64 size, guint64 stream)
{
  const int i = best_fit (model, size, stream);

  if (i >= 0 && BLOCK (model, i)->size == size)
    return i;
  if (model->base.device.capacity - model->base.device.held < size)
    free_idle_chunks (model, stream);
  return grow_by (model, size, 0, stream);
}

/* AutoGrowthBestFit alone. */
static int
obtain (Model *model, guint64 size, guint64 stream)
{
  int i = best_fit (model, size, stream);

  if (model->warm_up > 0)
    return obtain_exactly (model, size, stream);
  if (i >= 0)
    return i;
  if (model->free_before)
    free_idle_chunks (model, stream);
  i = grow (model, size, stream);
  if (i >= 0 || model->free_before)
    return i;
  free_idle_chunks (model, stream);
  return grow (model, size, stream);
}

/* AutoGrowthBestFit under StreamSafe, which exists since 2.3. */
static int
obtain_safely (Model *model, guint64 size, guint64 stream)
{
  int i;

  release_done (model, stream);
  i = obtain (model, size, stream);
  if (i >= 0 || model->old)
    return i;
  release_done (model, NAIVE_EVERY_STREAM);
  free_idle_chunks (model, NAIVE_EVERY_STREAM);
  return obtain (model, size, stream);
}

/* After the warm-up each stream releases its idle chunks once. */
static void
pass_warm_up (Model *model, guint64 stream)
{
  model->warm_up -= model->warm_up > 0;
  for (guint i = 0; i < model->warm->len; i++)
    if (g_array_index (model->warm, guint64, i) == stream)
      return;
  if (model->warm_up > 0)
    return;
  g_array_append_val (model->warm, stream);
  free_idle_chunks (model, stream);
}

/* Adds the chunks that a stream begins with, both or none. */
static gboolean
begin (Model *model, guint64 stream)
{
  int small = -1, large = -1;

  for (guint i = 0; i < model->begun->len; i++)
    if (g_array_index (model->begun, guint64, i) == stream)
      return TRUE;
  if (model->small_first > 0 && (small = add_chunk (model, model->small_first, TRUE, stream)) < 0)
    return FALSE;
  if (model->large_first > 0 && (large = add_chunk (model, model->large_first, FALSE, stream)) < 0)
    {
      if (small >= 0)
        {
          naive_device_free (&model->base.device, BLOCK (model, small)->address);
          g_array_remove_index (model->blocks, (guint) small);
        }
      return FALSE;
    }
  g_array_append_val (model->begun, stream);
  return TRUE;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = (request->size + 255) / 256 * 256;
  guint64 rest;
  int i;

  if (request->size > G_MAXUINT64 - 512 || !begin (model, request->stream))
    return FALSE;
  if (model->v2)
    pass_warm_up (model, request->stream);
  i = obtain_safely (model, size, model->shared ? 0 : request->stream);
  if (i < 0)
    {
      naive->device.now += RETRY_TIME;
      i = obtain_safely (model, size, model->shared ? 0 : request->stream);
    }
  if (i < 0)
    return FALSE;
  rest = BLOCK (model, i)->size - size;
  if (rest > 0)
    {
      Block high = *BLOCK (model, i);

      BLOCK (model, i)->size = rest;
      high.address += rest;
      high.size = size;
      g_array_insert_val (model->blocks, ++i, high);
    }
  BLOCK (model, i)->free = FALSE;
  BLOCK (model, i)->id = id;
  *address = BLOCK (model, i)->address;
  *block = size;
  return TRUE;
}

static void
free_block (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const guint64 stream = BLOCK (model, find (model, id))->stream;

  if (model->old
      || naive_stream_safe_free (&model->safe, &naive->device, id, stream, completion_follows))
    release (model, id);
}

static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  naive_stream_safe_complete (&model->safe, id);
  release (model, id);
}

static void
use_on_stream (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;

  if (BLOCK (model, find (model, id))->stream != stream)
    naive_stream_safe_use (&model->safe, &naive->device, id, stream);
}

static void
trim (Naive *naive)
{
  release_done ((Model *) naive, NAIVE_EVERY_STREAM);
  free_idle_chunks ((Model *) naive, NAIVE_EVERY_STREAM);
}

static Naive *
create_plain (void)
{
  return create (0, FALSE, FALSE, FALSE);
}

static Naive *
create_chunk (void)
{
  return create (4 * MIB, FALSE, FALSE, FALSE);
}

static Naive *
create_idle (void)
{
  return create (0, FALSE, TRUE, FALSE);
}

static Naive *
create_before (void)
{
  return create (MIB, FALSE, FALSE, TRUE);
}

static Naive *
create_p16 (void)
{
  return create (0, TRUE, FALSE, FALSE);
}

static Naive *
create_2_2 (void)
{
  Model *model = (Model *) create (0, TRUE, FALSE, FALSE);

  model->shared = FALSE;
  return &model->base;
}

/* All sizes are multiples of 256. */
static Naive *
create_pools (void)
{
  Model *model = (Model *) create (20 * MIB, FALSE, FALSE, FALSE);

  model->small_pool = MIB;
  model->small_least = 2 * MIB;
  return &model->base;
}

static Naive *
create_pools_filled (void)
{
  Model *model = (Model *) create_pools ();

  model->small_first = 3 * MIB;
  model->large_first = 30 * MIB;
  return &model->base;
}

static Naive *
create_v2 (void)
{
  Model *model = (Model *) create (0, FALSE, FALSE, FALSE);

  model->v2 = TRUE;
  model->warm_up = 501;
  return &model->base;
}

#define GROWTH(text, function) \
  .name = "paddle-auto-growth", .settings = text, .create = function, .alloc = alloc, \
  .free = free_block, .trim = trim, .destroy = destroy
#define SAFE_GROWTH(text, function) \
  GROWTH (text, function), .complete = complete, .use_on_stream = use_on_stream

const NaiveClass naive_growth_plain = { SAFE_GROWTH ("preset=P2", create_plain) };
const NaiveClass naive_growth_chunk = { SAFE_GROWTH ("preset=P2,auto_growth_chunk_size_in_mb=4",
                                                     create_chunk) };
const NaiveClass naive_growth_idle = { SAFE_GROWTH ("preset=P2,free_idle_chunk=yes", create_idle) };
const NaiveClass naive_growth_before = { SAFE_GROWTH (
    "preset=P2,auto_growth_chunk_size_in_mb=1,free_when_no_cache_hit=yes", create_before) };
const NaiveClass naive_growth_slow = {
  SAFE_GROWTH ("preset=P3,auto_growth_chunk_size_in_mb=4", create_chunk), .delay = 40
};
const NaiveClass naive_growth_slow_idle = {
  SAFE_GROWTH ("preset=P3,free_idle_chunk=yes", create_idle), .delay = 7
};
const NaiveClass naive_growth_p16 = { GROWTH ("preset=P16", create_p16) };
const NaiveClass naive_growth_2_2 = { GROWTH ("version=2.2", create_2_2) };
const NaiveClass naive_growth_pools = {
  SAFE_GROWTH ("preset=P3,small_pool_size_in_mb=1,small_pool_auto_growth_chunk_size_in_mb=2,"
               "large_pool_auto_growth_chunk_size_in_mb=20",
               create_pools),
  .delay = 10
};
const NaiveClass naive_growth_pools_filled = { SAFE_GROWTH (
    "preset=P3,small_pool_size_in_mb=1,small_pool_auto_growth_chunk_size_in_mb=2,large_pool_auto_"
    "growth_chunk_size_in_mb=20,"
    "small_pool_pre_alloc_in_mb=3,large_pool_pre_alloc_in_mb=30",
    create_pools_filled) };
const NaiveClass naive_growth_v2 = {
  SAFE_GROWTH ("preset=P3,use_auto_growth_v2=yes,auto_growth_v2_warm_up=500", create_v2),
  .delay = 10
};
