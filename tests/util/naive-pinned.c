/* naive-pinned.c - PyTorch's cache of pinned host memory, from peers.md 1a.15: one array of blocks, and the order in
 * which they became free as a number. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size, freed,
      due;    /* freed: which release this was, 0: in use; due: when its last event is complete */
  guint32 id; /* + 1; 0: of no request */
  gboolean waits, completion, used, piece;
} Block;

typedef struct
{
  Naive base;
  guint64 threshold, cached, reserve, segment, cut, releases;
  GPtrArray *blocks;
} Model;

static Naive *
create (void)
{
  Model *model = g_new0 (Model, 1);

  model->threshold = model->cached = G_MAXUINT64;
  model->blocks = g_ptr_array_new_with_free_func (g_free);
  return &model->base;
}

static Naive *
create_exact (void)
{
  Naive *naive = create ();

  ((Model *) naive)->threshold = MIB;
  ((Model *) naive)->cached = 8 * MIB;
  return naive;
}

static Naive *
create_reserving (void)
{
  Naive *naive = create ();

  ((Model *) naive)->reserve = 64 * MIB;
  return naive;
}

static void
destroy (Naive *naive)
{
  g_ptr_array_unref (((Model *) naive)->blocks);
}

static guint64
power_of (guint64 size)
{
  guint64 power = 1;

  while (power < size)
    power *= 2;
  return power;
}

static void
drop (Model *model, Block *block)
{
  if (!block->piece)
    naive_device_free (&model->base.device, block->address);
  g_ptr_array_remove (model->blocks, block);
}

static void
keep (Model *model, Block *block)
{
  block->waits = FALSE;
  block->id = 0;
  block->freed = ++model->releases;
  if (block->size > model->cached)
    drop (model, block);
}

/* Keeps what waits for no event any more, in the order in which it was freed. */
static void
look (Model *model)
{
  for (;;)
    {
      Block *first = NULL;
      for (guint i = 0; i < model->blocks->len; i++)
        {
          Block *block = model->blocks->pdata[i];
          if (block->waits && !block->completion && block->due <= model->base.device.now
              && (first == NULL || block->freed < first->freed))
            first = block;
        }
      if (first == NULL)
        return;
      keep (model, first);
    }
}

static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  look (model);
  for (;;)
    {
      Block *first = NULL;
      for (guint i = 0; i < model->blocks->len; i++)
        {
          Block *block = model->blocks->pdata[i];
          if (block->id == 0
              && (first == NULL || power_of (block->size) < power_of (first->size)
                  || (power_of (block->size) == power_of (first->size)
                      && block->freed < first->freed)))
            first = block;
        }
      if (first == NULL)
        return;
      drop (model, first);
    }
}

static Block *
make (Model *model, guint64 size)
{
  guint64 address = 0;
  gboolean piece = FALSE;

  if (model->reserve > 0 && model->segment == 0
      && (model->segment = naive_device_malloc (&model->base.device, model->reserve)) == 0)
    return NULL;
  if (model->reserve > 0 && model->cut + size <= model->reserve)
    {
      piece = TRUE;
      address = model->segment + model->cut;
      model->cut = (model->cut + size + 4095) / 4096 * 4096;
    }
  else if ((address = naive_device_malloc (&model->base.device, size)) == 0)
    return NULL;
  Block *block = g_new0 (Block, 1);
  block->address = address;
  block->size = size;
  block->piece = piece;
  g_ptr_array_add (model->blocks, block);
  return block;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *model = (Model *) naive;
  Block *best = NULL;

  look (model);
  if (request->size > G_MAXINT64)
    return FALSE;
  const guint64 wanted = request->size <= model->threshold && request->size <= model->cached
                             ? power_of (request->size)
                             : request->size;
  for (guint i = 0; i < model->blocks->len; i++)
    {
      Block *block = model->blocks->pdata[i];
      if (block->id == 0 && power_of (block->size) == power_of (wanted) && block->size >= wanted
          && (best == NULL || block->freed > best->freed))
        best = block;
    }
  if (best == NULL && (best = make (model, wanted)) == NULL)
    return FALSE;
  best->id = id + 1;
  best->freed = 0;
  *address = best->address;
  *size = best->size;
  return TRUE;
}

static Block *
block_of (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    {
      Block *block = model->blocks->pdata[i];
      if (block->id == id + 1 && !block->waits)
        return block;
    }
  return NULL;
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  Block *block = block_of (model, id);

  g_return_if_fail (block != NULL);
  if (!completion_follows && !block->used)
    {
      keep (model, block);
      return;
    }
  block->waits = TRUE;
  block->completion = completion_follows;
  block->due = naive_device_event (&naive->device);
  block->freed = ++model->releases;
  block->used = FALSE;
}

static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      Block *block = model->blocks->pdata[i];
      if (block->id == id + 1 && block->waits)
        {
          keep (model, block);
          return;
        }
    }
}

static void
use (Naive *naive, guint32 id, G_GNUC_UNUSED guint64 stream)
{
  Block *block = block_of ((Model *) naive, id);

  if (block != NULL)
    block->used = TRUE;
}

#define PINNED(text, function) \
  .name = "pytorch-pinned", .settings = text, .create = function, .alloc = alloc, .free = release, \
  .complete = complete, .use_on_stream = use, .trim = trim, .destroy = destroy

const NaiveClass naive_pinned = { PINNED ("", create) };
const NaiveClass naive_pinned_late = { PINNED ("version=2.6", create), .delay = 5, .every = 7 };
const NaiveClass naive_pinned_exact = { PINNED (
    "pinned_max_round_threshold_mb=1,pinned_max_cached_size_mb=8", create_exact) };
const NaiveClass naive_pinned_reserving = {
  PINNED ("pinned_reserve_segment_size_mb=64", create_reserving), .delay = 3, .every = 5
};
