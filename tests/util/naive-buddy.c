/* naive-buddy.c - Paddle's buddy of the P16 era on a GPU, from paddle.md section 2, over one array of blocks in address order.
 *
 * Chunk sizes are computed in float and double as the text says, not in integers; the counters wrap as Paddle's do.
 */
#include "config.h"

#include "tests/util/naive-models.h"

#define MIB (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  guint64  address, size, chunk;
  gboolean free, huge;
  guint32  id; /* unless free */
} Block;

typedef struct
{
  Naive   base;
  guint64 initial, reallocate; /* flags, in bytes */
  guint64 max_chunk, used, free, realloc_cache;
  GArray *blocks;
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (guint64 initial, guint64 reallocate)
{
  Model *model = g_new0 (Model, 1);

  model->initial = initial;
  model->reallocate = reallocate;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
}

/* sizeFor (2.2); FALSE: "Not enough available GPU memory". */
static gboolean
size_for (Model *model, guint64 flag, guint64 *size)
{
  const guint64 available = model->base.device.capacity - model->base.device.held;
  const volatile float product = 0.05f * (float) available;
  const guint64 left = available - (guint64) product;
  const guint64 usable = left < 256 ? 0 : left;
  const volatile double part = (double) usable * (double) 0.92f;

  *size = flag > 0 ? flag : (guint64) part;
  return usable != 0 && *size <= usable;
}

static int
add (Model *model, guint64 bytes, gboolean huge)
{
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, TRUE, huge, 0 };
  guint at = 0;

  if (address == 0)
    return -1;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

static int
refill (Model *model, guint64 size)
{
  guint64 bytes;
  int i;

  if (model->used == 0 && model->free == 0)
    {
      if (!size_for (model, model->initial, &bytes))
        return -1;
    }
  else
    {
      if ((model->realloc_cache == 0 || model->reallocate == 0) && !size_for (model, model->reallocate, &model->realloc_cache))
        return -1;
      bytes = model->realloc_cache;
    }
  bytes = MAX (bytes, size);
  i = add (model, bytes, FALSE);
  if (i >= 0)
    model->free += bytes;
  return i;
}

static int
best_fit (Model *model, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (model, i)->free && BLOCK (model, i)->size >= size && (best < 0 || BLOCK (model, i)->size < BLOCK (model, best)->size))
      best = (int) i;
  return best;
}

/* max_chunk is found at the first use that has room for it. */
static gboolean
prepare (Model *model)
{
  guint64 first, later;

  if (model->max_chunk != 0)
    return TRUE;
  if (!size_for (model, model->initial, &first) || !size_for (model, model->reallocate, &later))
    return FALSE;
  model->max_chunk = MAX (first, later);
  return TRUE;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = (request->size + 64 + 255) / 256 * 256;
  int i;

  if (!prepare (model) || request->size > G_MAXUINT64 - 64 - 255)
    return FALSE;
  if (size > model->max_chunk)
    i = add (model, size, TRUE);
  else
    {
      i = best_fit (model, size);
      if (i < 0)
        i = refill (model, size);
      if (i >= 0)
        {
          model->used += size;
          model->free -= size;
        }
    }
  if (i < 0)
    return FALSE;
  BLOCK (model, i)->free = FALSE;
  BLOCK (model, i)->id = id;
  if (BLOCK (model, i)->size - size > 64)
    {
      Block rest = *BLOCK (model, i);

      rest.address += size;
      rest.size -= size;
      rest.free = TRUE;
      BLOCK (model, i)->size = size;
      g_array_insert_val (model->blocks, i + 1, rest);
    }
  *address = BLOCK (model, i)->address + 64;
  *block = BLOCK (model, i)->size;
  return TRUE;
}

/* Joins block @i to the one after it if both are free and of one chunk. */
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
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (BLOCK (model, i)->free || BLOCK (model, i)->id != id)
    i++;
  if (BLOCK (model, i)->huge)
    {
      naive_device_free (&naive->device, BLOCK (model, i)->address);
      g_array_remove_index (model->blocks, i);
      return;
    }
  BLOCK (model, i)->free = TRUE;
  model->used -= BLOCK (model, i)->size;
  model->free += BLOCK (model, i)->size;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
}

/* Release(): chunks that are one free block. */
static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->blocks->len;)
    {
      const Block *block = BLOCK (model, i);
      const gboolean last = i + 1 == model->blocks->len || BLOCK (model, i + 1)->chunk != block->chunk;

      if (block->free && block->address == block->chunk && last)
        {
          model->free -= block->size;
          naive_device_free (&naive->device, block->address);
          g_array_remove_index (model->blocks, i);
        }
      else
        i++;
    }
}

static Naive *
create_default (void)
{
  return create (0, 0);
}

static Naive *
create_fixed (void)
{
  return create (12 * MIB, 4 * MIB);
}

/* A chunk whose last 64 bytes are just not split off (2.4). */
static Naive *
create_initial (void)
{
  return create (8 * MIB + 320, 0);
}

#define BUDDY(text, function)                                                                                                             \
  {                                                                                                                                       \
    .name = "paddle-buddy", .settings = text, .create = function, .alloc = alloc, .free = release, .trim = trim, .destroy = destroy       \
  }

const NaiveClass naive_buddy_default = BUDDY ("preset=P16", create_default);
const NaiveClass naive_buddy_fixed = BUDDY ("preset=P16,initial_gpu_memory_in_mb=12,reallocate_gpu_memory_in_mb=4", create_fixed);
const NaiveClass naive_buddy_initial = BUDDY ("preset=P16,initial_gpu_memory_in_mb=8388928B", create_initial);
