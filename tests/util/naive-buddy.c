/* naive-buddy.c - Paddle's buddy allocator, from paddle.md section 2, 3.6 and 7, over one array of
 * blocks in address order: on a GPU in the P13, P14 and P16 era, on the host, in pinned memory, and
 * `thread_local`, which is several buddies.
 *
 * Chunk sizes are computed in float and double as the text says, not in integers; the counters wrap
 * as Paddle's do (2.4, example E6).
 */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size, chunk;
  gboolean free, huge;
  guint32 id;  /* unless free */
  guint buddy; /* index of its buddy */
} Block;

typedef struct
{
  guint64 thread;
  guint64 max_chunk, used, free, realloc_cache;
} Buddy;

typedef enum
{
  ONE_BUDDY,
  BY_STREAM,
  BY_POOL,
} Threads;

/* Flags, in bytes. */
typedef struct
{
  Threads threads;
  guint64 initial, reallocate;
  guint64 total;   /* P13: the device memory that is reported; 0: P16 */
  double fraction; /* of P13 */
  gboolean idle;   /* P13: free_idle_memory */
  gboolean p14;
  guint64 unit;  /* of the host and of pinned memory; 0: of the GPU, which has 256 */
  guint64 chunk; /* host, pinned memory: size of every chunk */
  guint64 limit; /* host, pinned memory: most bytes held; 0: no limit */
} Flags;

typedef struct
{
  Naive base;
  Flags flags;
  GArray *buddies, *blocks;
} Model;

#define BUDDY_AT(model, i) (&g_array_index ((model)->buddies, Buddy, i))
#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (Flags flags)
{
  Model *model = g_new0 (Model, 1);

  model->flags = flags;
  model->buddies = g_array_new (FALSE, FALSE, sizeof (Buddy));
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->buddies);
  g_array_unref (((Model *) naive)->blocks);
}

static guint
buddy_of (Model *model, const NaiveRequest *request)
{
  const Threads threads = model->flags.threads;
  const Buddy new = { .thread = threads == BY_STREAM ? request->stream
                                : threads == BY_POOL ? request->pool
                                                     : 0 };

  for (guint i = 0; i < model->buddies->len; i++)
    if (BUDDY_AT (model, i)->thread == new.thread)
      return i;
  g_array_append_val (model->buddies, new);
  return model->buddies->len - 1;
}

/* ---- chunk sizes (2.2) */

/* P13's only chunk size; FALSE: "insufficient GPU memory". */
static gboolean
p13_size (const Model *model, guint64 *size)
{
  const guint64 total = model->flags.total, held = model->base.device.held;
  const guint64 available = MIN (model->base.device.capacity - held, total - held);
  const volatile double product = 0.05 * (double) total;
  const guint64 usable = total - (guint64) product;
  const volatile double part = model->flags.fraction * (double) usable;

  *size = (guint64) part;
  return *size <= MIN (MAX (available, 256) - 256, usable);
}

/* P14's chunk size: of the total memory, and never refused. */
static guint64
p14_usable (const Model *model)
{
  const guint64 total = model->base.device.capacity;
  const volatile float product = 0.05f * (float) total;

  return total - (guint64) product;
}

/* sizeFor (2.2); FALSE: "Not enough available GPU memory". */
static gboolean
size_for (const Model *model, guint64 flag, guint64 *size)
{
  const guint64 available = model->base.device.capacity - model->base.device.held;
  const volatile float product = 0.05f * (float) available;
  const guint64 left = available - (guint64) product;
  const guint64 usable = model->flags.p14 ? p14_usable (model) : left < 256 ? 0 : left;
  const volatile double part = (double) usable * (double) 0.92f;

  *size = flag > 0 ? flag : (guint64) part;
  return model->flags.p14 || (usable != 0 && *size <= usable);
}

/* max_chunk is computed at the first use that has memory for it. */
static gboolean
prepare (const Model *model, Buddy *buddy)
{
  guint64 first, later;

  if (buddy->max_chunk != 0)
    return TRUE;
  if (model->flags.unit != 0)
    {
      buddy->max_chunk = model->flags.chunk;
      return TRUE;
    }
  if (model->flags.total != 0)
    {
      if (!p13_size (model, &first))
        return FALSE;
      buddy->max_chunk = first;
      return TRUE;
    }
  if (!size_for (model, model->flags.initial, &first)
      || !size_for (model, model->flags.reallocate, &later))
    return FALSE;
  if (model->flags.p14
      && MAX (first, later)
             > MIN (MAX (model->base.device.capacity - model->base.device.held, 256) - 256,
                    p14_usable (model)))
    return FALSE; /* "insufficient GPU memory" */
  buddy->max_chunk = MAX (first, later);
  return TRUE;
}

/* Bytes of the next chunk (2.5). */
static gboolean
next_chunk (const Model *model, Buddy *buddy, guint64 size, guint64 *bytes)
{
  if (model->flags.unit != 0)
    {
      *bytes = buddy->max_chunk;
      return *bytes >= size;
    }
  if (model->flags.total != 0)
    {
      if (buddy->used + buddy->free == 0 && !p13_size (model, &buddy->max_chunk))
        return FALSE;
      *bytes = buddy->max_chunk;
      return TRUE;
    }
  if (buddy->used == 0 && buddy->free == 0)
    {
      if (!size_for (model, model->flags.initial, bytes))
        return FALSE;
    }
  else
    {
      if ((buddy->realloc_cache == 0 || model->flags.reallocate == 0)
          && !size_for (model, model->flags.reallocate, &buddy->realloc_cache))
        return FALSE;
      *bytes = buddy->realloc_cache;
    }
  *bytes = MAX (*bytes, size);
  return TRUE;
}

/* ---- blocks */

static int
add (Model *model, guint buddy, guint64 bytes, gboolean huge)
{
  const guint64 most = model->flags.total + model->flags.limit; /* at most one of the two is set */
  const gboolean fits = most == 0
                        || (model->base.device.held <= most
                            && bytes <= most - model->base.device.held);
  const guint64 address = fits ? naive_device_malloc (&model->base.device, bytes) : 0;
  const Block block = { address, bytes, address, TRUE, huge, 0, buddy };
  guint at = 0;

  if (address == 0)
    return -1;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

static int
refill (Model *model, guint number, guint64 size)
{
  Buddy *buddy = BUDDY_AT (model, number);
  guint64 bytes;
  int i;

  if (!next_chunk (model, buddy, size, &bytes))
    return -1;
  i = add (model, number, bytes, FALSE);
  if (i >= 0)
    buddy->free += bytes;
  return i;
}

static int
best_fit (Model *model, guint buddy, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->buddy == buddy && b->free && b->size >= size
          && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  return best;
}

/* Releases the chunk whose only block is the free block @i. */
static void
drop (Model *model, guint i)
{
  BUDDY_AT (model, BLOCK (model, i)->buddy)->free -= BLOCK (model, i)->size;
  naive_device_free (&model->base.device, BLOCK (model, i)->address);
  g_array_remove_index (model->blocks, i);
}

/* FLAGS_free_idle_memory (2.7): releases the largest free block, of equal ones the last, while
 * the free bytes exceed the limit. */
static void
free_idle_memory (Model *model)
{
  const Buddy *buddy = BUDDY_AT (model, 0);

  while ((buddy->used + buddy->max_chunk) * 2 < buddy->free)
    {
      int last = -1;

      for (guint i = 0; i < model->blocks->len; i++)
        if (BLOCK (model, i)->free
            && (last < 0 || BLOCK (model, i)->size >= BLOCK (model, last)->size))
          last = (int) i;
      if (last < 0 || BLOCK (model, last)->size < buddy->max_chunk)
        return;
      drop (model, last);
    }
}

/* ---- the interface */

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 unit = model->flags.unit != 0 ? model->flags.unit : 256;
  const guint64 size = (request->size + 64 + unit - 1) / unit * unit;
  const guint number = buddy_of (model, request);
  Buddy *buddy = BUDDY_AT (model, number);
  int i;

  if (!prepare (model, buddy) || request->size > G_MAXUINT64 - 64 - unit)
    return FALSE;
  if (size > buddy->max_chunk)
    i = add (model, number, size, TRUE);
  else
    {
      i = best_fit (model, number, size);
      if (i < 0)
        i = refill (model, number, size);
      if (i >= 0)
        {
          buddy->used += size;
          buddy->free -= size;
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
  BUDDY_AT (model, BLOCK (model, i)->buddy)->used -= BLOCK (model, i)->size;
  BUDDY_AT (model, BLOCK (model, i)->buddy)->free += BLOCK (model, i)->size;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
  if (model->flags.idle)
    free_idle_memory (model);
}

/* Release(), since P16: releases the chunks that are one free block. */
static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint i = 0; model->flags.total == 0 && !model->flags.p14 && i < model->blocks->len;)
    {
      const Block *block = BLOCK (model, i);
      const gboolean last = i + 1 == model->blocks->len
                            || BLOCK (model, i + 1)->chunk != block->chunk;

      if (block->free && block->address == block->chunk && last)
        drop (model, i);
      else
        i++;
    }
}

/* The wrapping counters, summed over all buddies. */
static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  Model *model = (Model *) naive;
  const gboolean used = g_str_equal (name, "used");

  if (!used && !g_str_equal (name, "free"))
    return FALSE;
  *value = 0;
  for (guint i = 0; i < model->buddies->len; i++)
    *value += used ? BUDDY_AT (model, i)->used : BUDDY_AT (model, i)->free;
  return TRUE;
}

static Naive *
create_default (void)
{
  return create ((Flags){ 0 });
}

static Naive *
create_fixed (void)
{
  return create ((Flags){ .initial = 12 * MIB, .reallocate = 4 * MIB });
}

/* A chunk whose last 64 bytes are just too few to be split off (2.4). */
static Naive *
create_initial (void)
{
  return create ((Flags){ .initial = 8 * MIB + 320 });
}

/* Chunks of 4136 and 65832 bytes, with 40 bytes at the end that are not split off: the counters
 * soon wrap below zero. */
static Naive *
create_ragged (void)
{
  return create ((Flags){ .initial = 4136, .reallocate = 65832 });
}

static Naive *
create_idle (void)
{
  return create ((Flags){ .total = GIB, .fraction = 0.004, .idle = TRUE });
}

/* Chunks of 4136 bytes. */
static Naive *
create_idle_ragged (void)
{
  return create ((Flags){ .total = GIB, .fraction = 0.0000040552, .idle = TRUE });
}

static Naive *
create_p13 (void)
{
  return create ((Flags){ .total = GIB, .fraction = 0.01 });
}

/* A chunk of 1/32 of 1 GiB. */
static Naive *
create_cpu (void)
{
  return create ((Flags){ .unit = 4096, .chunk = 32 * MIB });
}

/* A chunk with 40 bytes at the end that are not split off. */
static Naive *
create_cpu_ragged (void)
{
  return create ((Flags){ .unit = 4096, .chunk = 4 * MIB + 40 });
}

/* A chunk of 1/256 of 0.3 GiB, which is also the limit. */
static Naive *
create_pinned (void)
{
  return create ((Flags){ .unit = 65536, .chunk = 322122547 / 256, .limit = 322122547 });
}

/* The second chunk is a fraction of the whole device. */
static Naive *
create_p14 (void)
{
  return create ((Flags){ .p14 = TRUE, .initial = 12 * MIB });
}

static Naive *
create_by_stream (void)
{
  return create ((Flags){ .threads = BY_STREAM });
}

static Naive *
create_by_pool (void)
{
  return create (
      (Flags){ .threads = BY_POOL, .initial = 8 * MIB + 40, .reallocate = 4 * MIB + 40 });
}

#define BUDDY(class_name, text, function) \
  { \
    .name = class_name, .settings = text, .create = function, .alloc = alloc, .free = release, \
    .trim = trim, .destroy = destroy, .figure = figure \
  }

const NaiveClass naive_buddy_default = BUDDY ("paddle-buddy", "preset=P16", create_default);
const NaiveClass naive_buddy_fixed = BUDDY (
    "paddle-buddy", "preset=P16,initial_gpu_memory_in_mb=12,reallocate_gpu_memory_in_mb=4",
    create_fixed);
const NaiveClass naive_buddy_initial = BUDDY (
    "paddle-buddy", "preset=P16,initial_gpu_memory_in_mb=8388928B", create_initial);
const NaiveClass naive_buddy_ragged = BUDDY (
    "paddle-buddy", "preset=P16,initial_gpu_memory_in_mb=4136B,reallocate_gpu_memory_in_mb=65832B",
    create_ragged);
const NaiveClass naive_buddy_idle = BUDDY (
    "paddle-buddy",
    "preset=P13,total=1GiB,fraction_of_gpu_memory_to_use=0.004,free_idle_memory=yes", create_idle);
const NaiveClass naive_buddy_idle_ragged = BUDDY (
    "paddle-buddy",
    "preset=P13,total=1GiB,fraction_of_gpu_memory_to_use=0.0000040552,free_idle_memory=yes",
    create_idle_ragged);
const NaiveClass naive_buddy_p13 = BUDDY (
    "paddle-buddy", "preset=P13,total=1GiB,fraction_of_gpu_memory_to_use=0.01", create_p13);
const NaiveClass naive_buddy_cpu = BUDDY ("paddle-buddy", "place=cpu,total=1GiB", create_cpu);
const NaiveClass naive_buddy_cpu_ragged = BUDDY (
    "paddle-buddy", "place=cpu,total=1GiB,initial_cpu_memory_in_mb=4194344B", create_cpu_ragged);
const NaiveClass naive_buddy_pinned = BUDDY (
    "paddle-buddy", "place=pinned,total=1GiB,fraction_of_cuda_pinned_memory_to_use=0.3",
    create_pinned);
const NaiveClass naive_buddy_p14 = BUDDY ("paddle-buddy", "preset=P14,initial_gpu_memory_in_mb=12",
                                          create_p14);
const NaiveClass naive_threads_stream = BUDDY ("paddle-thread-local", "preset=P2",
                                               create_by_stream);
const NaiveClass naive_threads_pool = BUDDY (
    "paddle-thread-local",
    "thread=pool,initial_gpu_memory_in_mb=8388648B,reallocate_gpu_memory_in_mb=4194344B",
    create_by_pool);
