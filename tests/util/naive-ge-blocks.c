/* naive-ge-blocks.c - GE's allocators of the time before the ScalableAllocator, from
 * ge-runtime.md section 6, over one array of blocks. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size, root, stream;
  guint bin;
  gboolean free;
  guint32 id; /* unless free */
} Block;

typedef struct
{
  Naive base;
  guint64 pool;   /* ge-rdma: bytes of the pool */
  GArray *blocks; /* by address */
  /* ge-bins */
  gboolean npu, hinted;
  guint64 platform, padding, hint;
  GArray *streams; /* guint64 */
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
  if (((Model *) naive)->streams != NULL)
    g_array_unref (((Model *) naive)->streams);
}

static gboolean
grow (Model *model, guint64 stream, guint bin, guint64 bytes)
{
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, stream, bin, TRUE, 0 };
  guint at = 0;

  if (address == 0)
    return FALSE;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return TRUE;
}

static int
best_fit (Model *model, guint64 stream, guint bin, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (!b->free || b->bin != bin || b->stream != stream || b->size < size
          || (b->size == size && b->address < model->hint))
        continue;
      if (best < 0 || b->size < BLOCK (model, best)->size)
        best = (int) i;
    }
  return best;
}

/* Takes the low part of block @i, or all of it. */
static void
take (Model *model, guint i, guint64 size, guint32 id, guint64 *address, guint64 *block)
{
  if ((double) size <= 0.5 * (double) BLOCK (model, i)->size)
    {
      Block rest = *BLOCK (model, i);

      rest.address += size;
      rest.size -= size;
      BLOCK (model, i)->size = size;
      g_array_insert_val (model->blocks, i + 1, rest);
    }
  BLOCK (model, i)->free = FALSE;
  BLOCK (model, i)->id = id;
  *address = BLOCK (model, i)->address;
  *block = BLOCK (model, i)->size;
}

static void
join (Model *model, guint i)
{
  if (i + 1 >= model->blocks->len || BLOCK (model, i)->root != BLOCK (model, i + 1)->root)
    return;
  if (!BLOCK (model, i)->free || !BLOCK (model, i + 1)->free)
    return;
  BLOCK (model, i)->size += BLOCK (model, i + 1)->size;
  g_array_remove_index (model->blocks, i + 1);
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (BLOCK (model, i)->free || BLOCK (model, i)->id != id)
    i++;
  BLOCK (model, i)->free = TRUE;
  if (model->hinted)
    model->hint = BLOCK (model, i)->address;
  join (model, i);
  if (i > 0)
    join (model, i - 1);
}

static Model *
new_model (void)
{
  Model *model = g_new0 (Model, 1);

  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return model;
}

/* ---- ge-rdma */

static Naive *
create_rdma (void)
{
  Model *model = new_model ();

  model->pool = 40 * MIB + 300;
  return &model->base;
}

static void
rdma_start (Naive *naive)
{
  grow ((Model *) naive, 0, 0, ((Model *) naive)->pool);
}

static gboolean
rdma_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = MAX (1, (request->size / 512 + (request->size % 512 != 0))) * 512;
  int i;

  if (request->size > model->pool)
    return FALSE;
  i = best_fit (model, 0, 0, size);
  if (i < 0)
    return FALSE;
  take (model, (guint) i, size, id, address, block);
  return TRUE;
}

const NaiveClass naive_ge_rdma = { .name = "ge-rdma",
                                   .settings = "size=41943340B",
                                   .create = create_rdma,
                                   .start = rdma_start,
                                   .alloc = rdma_alloc,
                                   .free = release,
                                   .destroy = destroy };

/* ---- ge-bins */

static const guint64 uppers[] = { MIB / 2,         8 * MIB + 512,   32 * MIB + 512,
                                  128 * MIB + 512, 256 * MIB + 512, 512 * MIB + 512 };

static Naive *
create_bins (gboolean npu, guint64 platform, guint64 padding, gboolean hinted)
{
  Model *model = new_model ();

  model->npu = npu;
  model->hinted = hinted;
  model->platform = platform;
  model->padding = padding;
  model->streams = g_array_new (FALSE, FALSE, sizeof (guint64));
  return &model->base;
}

/* The CachingAllocator of one stream; the real one retries where no pool above it does. */
static int
caching_malloc (Model *model, guint64 stream, guint64 size)
{
  guint64 bytes;
  guint bin = 0;
  int i;

  while (bin < G_N_ELEMENTS (uppers) && size > uppers[bin])
    bin++;
  bytes = bin < G_N_ELEMENTS (uppers)
              ? uppers[bin]
              : (size / (1024 * MIB) + (size % (1024 * MIB) != 0)) * 1024 * MIB;
  i = best_fit (model, stream, bin, size);
  if (i < 0 && grow (model, stream, bin, bytes))
    i = best_fit (model, stream, bin, size);
  return i;
}

/* Releases the free blocks of @stream that are whole device allocations. */
static void
free_blocks (Model *model, guint64 stream)
{
  for (guint i = 0; i < model->blocks->len;)
    {
      const Block *b = BLOCK (model, i);
      const gboolean last = i + 1 == model->blocks->len || BLOCK (model, i + 1)->root != b->root;

      if (b->free && b->stream == stream && b->address == b->root && last)
        {
          naive_device_free (&model->base.device, b->address);
          g_array_remove_index (model->blocks, i);
        }
      else
        i++;
    }
}

static gboolean
is_known (const Model *model, guint64 stream)
{
  for (guint i = 0; i < model->streams->len; i++)
    if (g_array_index (model->streams, guint64, i) == stream)
      return TRUE;
  return FALSE;
}

static gboolean
bins_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  guint64 size = request->size, stream = model->npu ? request->stream : 0;
  int i;

  if (size > (model->npu ? G_GUINT64_CONSTANT (1) << 40 : G_GUINT64_CONSTANT (1) << 62)
      || (model->npu && size == 0))
    return FALSE;
  if (!is_known (model, stream))
    g_array_append_val (model->streams, stream);
  if (model->npu)
    size = (size + 32 + model->platform - 1) / 32 * 32;
  if (model->padding > 0)
    size = (size + 2 * model->padding - 1) / model->padding * model->padding;
  size = size == 0 ? 512 : (size + 511) / 512 * 512;
  i = caching_malloc (model, stream, size);
  if (i < 0 && model->npu)
    {
      free_blocks (model, stream);
      i = caching_malloc (model, stream, size);
      for (guint s = 0; s < model->streams->len && i < 0; s++)
        {
          free_blocks (model, g_array_index (model->streams, guint64, s));
          i = caching_malloc (model, stream, size);
        }
    }
  if (i < 0)
    return FALSE;
  take (model, (guint) i, size, id, address, block);
  return TRUE;
}

static void
bins_trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (guint s = 0; s < model->streams->len; s++)
    free_blocks (model, g_array_index (model->streams, guint64, s));
}

static Naive *
create_bins_default (void)
{
  return create_bins (TRUE, 32, 0, FALSE);
}

static Naive *
create_bins_padded (void)
{
  return create_bins (TRUE, 0, 3000, TRUE);
}

static Naive *
create_bins_bare (void)
{
  return create_bins (FALSE, 0, 0, TRUE);
}

#define BINS(text, function) \
  { \
    .name = "ge-bins", .settings = text, .create = function, .alloc = bins_alloc, .free = release, \
    .trim = bins_trim, .destroy = destroy \
  }

const NaiveClass naive_ge_bins = BINS ("npu=yes", create_bins_default);
const NaiveClass naive_ge_bins_padded = BINS ("platform_padding=0,padding=3000,hint=latest",
                                              create_bins_padded);
const NaiveClass naive_ge_bins_bare = BINS ("npu=no,hint=latest", create_bins_bare);
