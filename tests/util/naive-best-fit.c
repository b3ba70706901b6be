/* naive-best-fit.c - Paddle's chunked BestFit, from paddle.md 2.10, over one list of blocks per
 * chunk and a list of free blocks in the order of their release. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 address, size, freed; /* time of the free; 0: in use */
  guint chunk;                  /* G_MAXUINT: a device block of its own */
  guint32 id;
} Block;

typedef struct
{
  Naive base;
  guint64 max_chunk, now;
  guint allowed, chunks, last;
  GArray *blocks; /* by chunk, then by address */
} Model;

#define BLOCK(model, i) (&g_array_index ((model)->blocks, Block, i))

static Naive *
create (guint64 max_chunk, guint allowed)
{
  Model *model = g_new0 (Model, 1);

  model->max_chunk = max_chunk;
  model->allowed = allowed;
  model->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
}

/* The smallest free block that fits; of equal ones the one freed first. */
static int
best_in (const Model *model, guint chunk, guint64 size)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (model, i);

      if (b->chunk == chunk && b->freed != 0 && b->size >= size
          && (best < 0 || b->size < BLOCK (model, best)->size
              || (b->size == BLOCK (model, best)->size && b->freed < BLOCK (model, best)->freed)))
        best = (int) i;
    }
  return best;
}

static gboolean
new_chunk (Model *model)
{
  Block whole = { .size = model->max_chunk, .chunk = model->chunks };

  if (model->chunks == model->allowed
      || (whole.address = naive_device_malloc (&model->base.device, whole.size)) == 0)
    return FALSE;
  whole.freed = ++model->now;
  g_array_append_val (model->blocks, whole);
  model->chunks++;
  return TRUE;
}

static int
find (Model *model, guint64 size)
{
  for (guint i = 0; i < model->chunks; i++)
    {
      const guint chunk = (model->last + i) % model->chunks;
      const int found = best_in (model, chunk, size);

      if (found >= 0)
        return found;
    }
  return new_chunk (model) ? best_in (model, model->chunks - 1, size) : -1;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Model *model = (Model *) naive;
  Block direct = { .size = request->size, .chunk = G_MAXUINT, .id = id }, rest;
  int i;

  if (request->size >= model->max_chunk)
    {
      *size = request->size;
      *address = direct.address = naive_device_malloc (&naive->device, request->size);
      if (*address != 0)
        g_array_append_val (model->blocks, direct);
      return *address != 0;
    }
  i = find (model, request->size + 64);
  if (i < 0)
    return FALSE;
  model->last = BLOCK (model, i)->chunk;
  rest = *BLOCK (model, i);
  BLOCK (model, i)->size = request->size + 64;
  BLOCK (model, i)->freed = 0;
  BLOCK (model, i)->id = id;
  rest.address += request->size + 64;
  rest.size -= request->size + 64;
  rest.freed = ++model->now;
  *address = (BLOCK (model, i)->address + 63) / 64 * 64;
  *size = BLOCK (model, i)->address + BLOCK (model, i)->size - *address;
  if (rest.size > 0)
    g_array_insert_val (model->blocks, i + 1, rest);
  return TRUE;
}

static gboolean
neighbours (const Model *model, guint i, guint j)
{
  return j < model->blocks->len && BLOCK (model, i)->chunk == BLOCK (model, j)->chunk
         && BLOCK (model, i)->freed != 0 && BLOCK (model, j)->freed != 0;
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint i = 0;

  while (BLOCK (model, i)->freed != 0 || BLOCK (model, i)->id != id)
    i++;
  if (BLOCK (model, i)->chunk == G_MAXUINT)
    {
      naive_device_free (&naive->device, BLOCK (model, i)->address);
      g_array_remove_index (model->blocks, i);
      return;
    }
  BLOCK (model, i)->freed = ++model->now;
  if (i > 0 && neighbours (model, i - 1, i))
    {
      BLOCK (model, i - 1)->size += BLOCK (model, i)->size;
      g_array_remove_index (model->blocks, i--);
    }
  if (neighbours (model, i, i + 1))
    {
      BLOCK (model, i)->size += BLOCK (model, i + 1)->size;
      g_array_remove_index (model->blocks, i + 1);
    }
  BLOCK (model, i)->freed = model->now;
}

static Naive *
create_odd (void)
{
  return create (3 * MIB + 19, 40);
}

static Naive *
create_initial (void)
{
  return create (8 * MIB, 16);
}

#define BEST_FIT(text, function) \
  { \
    .name = "paddle-best-fit", .settings = text, .create = function, .alloc = alloc, \
    .free = release, .destroy = destroy \
  }

const NaiveClass naive_best_fit_odd = BEST_FIT ("max_chunk=3145747,chunks=40", create_odd);
const NaiveClass naive_best_fit_initial = BEST_FIT ("initial_mb=8,realloc_mb=4,chunks=16",
                                                    create_initial);
