/* naive-growth.c - Paddle's AutoGrowthBestFitAllocator, from paddle.md 3.1 and 3.4, over one array of blocks: one allocator per stream in
 * the P2 era, one in all over an aligning allocator in P16. */
#include "config.h"

#include "tests/util/naive-models.h"

#define MIB (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  guint64  address, size, chunk, stream;
  gboolean free;
  guint32  id; /* unless free */
} Block;

typedef struct
{
  guint32  id;
  guint64  stream;
  gboolean done;
} Waiting;

typedef struct
{
  Naive    base;
  guint64  least;       /* C: least bytes of a chunk            */
  gboolean p16;
  gboolean free_idle;   /* free_idle_chunk                      */
  gboolean free_before; /* free_when_no_cache_hit               */
  GArray  *blocks;
  GArray  *waiting; /* Waiting: freed, in order, until the streams are done (StreamSafe) */
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))
#define EVERY_STREAM G_MAXUINT64

static Naive *
create (guint64 least, gboolean p16, gboolean free_idle, gboolean free_before)
{
  Model *model = g_new0 (Model, 1);

  model->least = least;
  model->p16 = p16;
  model->free_idle = free_idle;
  model->free_before = free_before;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  model->waiting = g_array_new (FALSE, FALSE, sizeof (Waiting));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
  g_array_unref (((Model *) naive)->waiting);
}

/* FreeIdleChunks() of one allocator, or of all. */
static void
free_idle_chunks (Model *model, guint64 stream)
{
  for (guint i = 0; i < model->blocks->len;)
    {
      const Block *block = BLOCK (model, i);
      const gboolean last = i + 1 == model->blocks->len || BLOCK (model, i + 1)->chunk != block->chunk;

      if (block->free && block->address == block->chunk && last && (stream == EVERY_STREAM || block->stream == stream))
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
  if (i + 1 >= model->blocks->len || BLOCK (model, i)->chunk != BLOCK (model, i + 1)->chunk)
    return;
  if (!BLOCK (model, i)->free || !BLOCK (model, i + 1)->free)
    return;
  BLOCK (model, i)->size += BLOCK (model, i + 1)->size;
  g_array_remove_index (model->blocks, i + 1);
}

static void
release (Model *model, guint32 id)
{
  guint i = 0;

  while (BLOCK (model, i)->free || BLOCK (model, i)->id != id)
    i++;
  const guint64 stream = BLOCK (model, i)->stream;
  BLOCK (model, i)->free = TRUE;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
  if (model->free_idle)
    free_idle_chunks (model, stream);
}

/* What waits no longer, of one stream or of all, in the order of the frees. */
static void
release_done (Model *model, guint64 stream)
{
  for (guint i = 0; i < model->waiting->len;)
    {
      const Waiting w = g_array_index (model->waiting, Waiting, i);

      if (w.done && (stream == EVERY_STREAM || w.stream == stream))
        {
          g_array_remove_index (model->waiting, i);
          release (model, w.id);
        }
      else
        i++;
    }
}

static void
release_done_of_all (Model *model)
{
  g_autoptr (GArray) streams = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < model->waiting->len; i++)
    g_array_append_val (streams, g_array_index (model->waiting, Waiting, i).stream);
  for (guint i = 0; i < streams->len; i++)
    release_done (model, g_array_index (streams, guint64, i));
}

static int
best_fit (Model *model, guint64 size, guint64 stream)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->free && b->stream == stream && b->size >= size && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  return best;
}

static int
grow (Model *model, guint64 size, guint64 stream)
{
  const guint64 bytes = MAX (size, model->least) + (model->p16 ? 256 : 0);
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, stream, TRUE, 0 };
  guint at = 0;

  if (address == 0)
    return -1;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

/* AutoGrowthBestFit alone. */
static int
obtain (Model *model, guint64 size, guint64 stream)
{
  int i = best_fit (model, size, stream);

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

/* With StreamSafe above it, which there is since P2. */
static int
obtain_safely (Model *model, guint64 size, guint64 stream)
{
  int i;

  release_done (model, stream);
  i = obtain (model, size, stream);
  if (i >= 0 || model->p16)
    return i;
  release_done_of_all (model);
  free_idle_chunks (model, EVERY_STREAM);
  return obtain (model, size, stream);
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = (request->size + 255) / 256 * 256;
  guint64 rest;
  int i;

  if (request->size > G_MAXUINT64 - 512)
    return FALSE;
  i = obtain_safely (model, size, model->p16 ? 0 : request->stream);
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
  Waiting w = { id, 0, FALSE };

  if (!completion_follows || model->p16)
    {
      release (model, id);
      return;
    }
  for (guint i = 0; i < model->blocks->len; i++)
    if (!BLOCK (model, i)->free && BLOCK (model, i)->id == id)
      w.stream = BLOCK (model, i)->stream;
  g_array_append_val (model->waiting, w);
}

static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->waiting->len; i++)
    if (g_array_index (model->waiting, Waiting, i).id == id)
      g_array_index (model->waiting, Waiting, i).done = TRUE;
}

static void
trim (Naive *naive)
{
  release_done_of_all ((Model *) naive);
  free_idle_chunks ((Model *) naive, EVERY_STREAM);
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

#define GROWTH(text, function, complete_function)                                                                                                            \
  {                                                                                                                                       \
    .name = "paddle-auto-growth", .settings = text, .create = function, .alloc = alloc, .free = free_block, .complete = complete_function, .trim = trim, \
    .destroy = destroy                                                                                                                    \
  }

const NaiveClass naive_growth_plain = GROWTH ("preset=P2", create_plain, complete);
const NaiveClass naive_growth_chunk = GROWTH ("preset=P2,auto_growth_chunk_size_in_mb=4", create_chunk, complete);
const NaiveClass naive_growth_idle = GROWTH ("preset=P2,free_idle_chunk=yes", create_idle, complete);
const NaiveClass naive_growth_before = GROWTH ("preset=P2,auto_growth_chunk_size_in_mb=1,free_when_no_cache_hit=yes", create_before, complete);
const NaiveClass naive_growth_p16 = GROWTH ("preset=P16", create_p16, NULL);
