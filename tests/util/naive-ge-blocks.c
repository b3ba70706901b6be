/* naive-ge-blocks.c - GE's allocators before the ScalableAllocator, from ge-runtime.md section 6, over one array of blocks. */
#include "config.h"

#include "tests/util/naive-models.h"

#define MIB (G_GUINT64_CONSTANT (1) << 20)

typedef struct
{
  guint64  address, size, root;
  guint    bin;
  gboolean free;
  guint32  id; /* unless free */
} Block;

typedef struct
{
  Naive   base;
  guint64 pool; /* ge-rdma: bytes */
  GArray *blocks; /* by address */
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
}

static gboolean
grow (Model *model, guint bin, guint64 bytes)
{
  const guint64 address = naive_device_malloc (&model->base.device, bytes);
  const Block block = { address, bytes, address, bin, TRUE, 0 };
  guint at = 0;

  if (address == 0)
    return FALSE;
  while (at < model->blocks->len && BLOCK (model, at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return TRUE;
}

static int
best_fit (Model *model, guint bin, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->free && b->bin == bin && b->size >= size && (best < 0 || b->size < BLOCK (model, best)->size))
        best = (int) i;
    }
  return best;
}

/* The low part of block @i, or all of it. */
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
  join (model, i);
  if (i > 0)
    join (model, i - 1);
}

/* ---- ge-rdma */

static Naive *
create_rdma (void)
{
  Model *model = g_new0 (Model, 1);

  model->pool = 40 * MIB + 300;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static void
rdma_start (Naive *naive)
{
  grow ((Model *) naive, 0, ((Model *) naive)->pool);
}

static gboolean
rdma_alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 size = MAX (1, (request->size / 512 + (request->size % 512 != 0))) * 512;
  int i;

  if (request->size > model->pool)
    return FALSE;
  i = best_fit (model, 0, size);
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
