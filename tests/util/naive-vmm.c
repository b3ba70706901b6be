/* naive-vmm.c - Paddle's VirtualMemoryAutoGrowthBestFit, from paddle.md 3.5, with 3.3 and 3.4 above
 * it, over one array of blocks for all streams. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/naive-stream-safe.h"

#define PAGE (G_GUINT64_CONSTANT (2) << 20)
#define RETRY_TIME (10 * NAIVE_TICK)

typedef struct
{
  guint64 address, size, stream;
  gboolean free;
  guint32 id; /* unless free */
} Block;

typedef struct
{
  guint64 stream, base, mapped;
} Range;

typedef struct
{
  Naive base;
  gboolean bare;            /* no StreamSafe */
  guint64 alignment, limit; /* limit: most bytes held; 2^64-1: none */
  GArray *blocks;           /* Block, by address */
  GArray *ranges;           /* Range */
  NaiveStreamSafe safe;
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->alignment = 256;
  model->limit = G_MAXUINT64;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  model->ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  naive_stream_safe_init (&model->safe);
  return &model->base;
}

static Naive *
create_bare (void)
{
  Naive *naive = create ();

  ((Model *) naive)->bare = TRUE;
  return naive;
}

static Naive *
create_limited (void)
{
  Naive *naive = create ();

  ((Model *) naive)->limit = 40 * PAGE;
  return naive;
}

static Naive *
create_aligned (void)
{
  Naive *naive = create ();

  ((Model *) naive)->alignment = 4096;
  return naive;
}

static void
destroy (Naive *naive)
{
  Model *model = (Model *) naive;

  g_array_unref (model->blocks);
  g_array_unref (model->ranges);
  naive_stream_safe_clear (&model->safe);
}

static guint64
up (guint64 n, guint64 unit)
{
  return (n + unit - 1) / unit * unit;
}

/* ---- blocks */

static guint
find (Model *model, guint32 id)
{
  guint i = 0;

  while (BLOCK (model, i)->free || BLOCK (model, i)->id != id)
    i++;
  return i;
}

static void
join (Model *model, guint i)
{
  if (i + 1 >= model->blocks->len
      || BLOCK (model, i)->address + BLOCK (model, i)->size != BLOCK (model, i + 1)->address)
    return;
  if (!BLOCK (model, i)->free || !BLOCK (model, i + 1)->free
      || BLOCK (model, i)->stream != BLOCK (model, i + 1)->stream)
    return;
  BLOCK (model, i)->size += BLOCK (model, i + 1)->size;
  g_array_remove_index (model->blocks, i + 1);
}

static void
set_free (Model *model, guint i)
{
  BLOCK (model, i)->free = TRUE;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
}

static void
release_done (Model *model, guint64 stream)
{
  guint32 id;

  while (naive_stream_safe_next (&model->safe, &model->base.device, stream, &id))
    set_free (model, find (model, id));
}

/* Cuts a block of @n bytes off the best-fitting one; -1: none is large enough. */
static int
take (Model *model, guint64 stream, guint64 n)
{
  Block *block, high;
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->free && b->stream == stream && b->size >= n
          && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  if (best < 0)
    return -1;
  block = BLOCK (model, best);
  if (block->size <= 2 * n && block->size - n <= model->alignment)
    return best;
  high = *block;
  high.size = n;
  high.address += block->size - n;
  block->size -= n;
  g_array_insert_val (model->blocks, best + 1, high);
  return best + 1;
}

/* ---- the device */

/* The range of @stream, reserved if needed; NULL: the device refuses. */
static Range *
range_of (Model *model, guint64 stream)
{
  Range range = { .stream = stream };

  for (guint i = 0; i < model->ranges->len; i++)
    if (g_array_index (model->ranges, Range, i).stream == stream)
      return &g_array_index (model->ranges, Range, i);
  range.base = naive_device_reserve (&model->base.device, up (model->base.device.capacity, PAGE));
  if (range.base == 0)
    return NULL;
  g_array_append_val (model->ranges, range);
  return &g_array_index (model->ranges, Range, model->ranges->len - 1);
}

static gboolean
extend (Model *model, guint64 stream, guint64 n)
{
  NaiveDevice *device = &model->base.device;
  const guint64 bytes = up (n + model->alignment, PAGE);
  Range *range = range_of (model, stream);
  Block block = { .size = bytes, .stream = stream };
  guint at = 0;

  if (range == NULL || range->mapped + bytes > up (device->capacity, PAGE)
      || device->held + bytes > model->limit)
    return FALSE;
  if (!naive_device_create_page (device, bytes))
    return FALSE;
  if (!naive_device_map (device))
    {
      naive_device_destroy_page (device, bytes);
      return FALSE;
    }
  block.address = range->base + range->mapped;
  range->mapped += bytes;
  while (at < model->blocks->len && BLOCK (model, at)->address < block.address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  set_free (model, at);
  return TRUE;
}

/* ---- the stack */

static int
obtain_best_fit (Model *model, guint64 stream, guint64 n)
{
  int i = take (model, stream, n);

  return i < 0 && extend (model, stream, n) ? take (model, stream, n) : i;
}

static int
obtain_safely (Model *model, guint64 stream, guint64 n)
{
  int i;

  release_done (model, stream);
  i = obtain_best_fit (model, stream, n);
  if (i >= 0 || model->bare)
    return i;
  release_done (model, NAIVE_EVERY_STREAM);
  return obtain_best_fit (model, stream, n);
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *model = (Model *) naive;
  const guint64 most = G_GUINT64_CONSTANT (1) << 60; /* more than any device has addresses for */
  const guint64 n = up (MIN (request->size, most), model->alignment);
  int i = obtain_safely (model, request->stream, n);

  if (i < 0)
    {
      naive->device.now += RETRY_TIME;
      i = obtain_safely (model, request->stream, n);
    }
  if (i < 0)
    return FALSE;
  BLOCK (model, i)->free = FALSE;
  BLOCK (model, i)->id = id;
  *address = BLOCK (model, i)->address;
  *size = BLOCK (model, i)->size;
  return TRUE;
}

static void
free_block (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const guint i = find (model, id);

  if (model->bare
      || naive_stream_safe_free (&model->safe, &naive->device, id, BLOCK (model, i)->stream,
                                 completion_follows))
    set_free (model, i);
}

static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  naive_stream_safe_complete (&model->safe, id);
  set_free (model, find (model, id));
}

static void
use_on_stream (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;

  if (BLOCK (model, find (model, id))->stream != stream)
    naive_stream_safe_use (&model->safe, &naive->device, id, stream);
}

#define VMM(text, function) \
  .name = "paddle-vmm-auto-growth", .settings = text, .create = function, .alloc = alloc, \
  .free = free_block, .destroy = destroy
#define SAFE_VMM_OF(text, function) \
  VMM (text, function), .complete = complete, .use_on_stream = use_on_stream
#define SAFE_VMM(text) SAFE_VMM_OF (text, create)

const NaiveClass naive_vmm = { SAFE_VMM ("preset=P2") };
const NaiveClass naive_vmm_slow = { SAFE_VMM ("preset=P3"), .delay = 25 };
const NaiveClass naive_vmm_bare = { VMM ("use_stream_safe_cuda_allocator=no", create_bare) };
const NaiveClass naive_vmm_limited = { SAFE_VMM_OF ("gpu_memory_limit_mb=80MiB", create_limited),
                                       .delay = 4 };
const NaiveClass naive_vmm_aligned = { SAFE_VMM_OF ("preset=P3,alignment_size=4KiB",
                                                    create_aligned) };
const NaiveClass naive_vmm_faulty = { SAFE_VMM (""), .every = 7 };
