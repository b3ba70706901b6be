/* naive-umpire.c - Umpire's two pools, from peers.md 1k: an array of blocks, each with an array of
 * pieces; whatever the heuristics read is counted anew. */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef struct
{
  guint64 offset, size;
  guint64 since; /* when it became free; 0: in use */
  guint32 id;    /* of a block in use; G_MAXUINT32: of the pool itself */
} Piece;

typedef struct
{
  guint64 address, start, size;
  GArray *pieces;
} Block;

typedef struct
{
  Naive base;
  guint64 first, next, alignment;
  guint64 percent, blocks_wanted; /* G_MAXUINT64: the other one counts */
  gboolean list, hwm;
  guint64 high, time;
  GPtrArray *blocks; /* Block, by address */
} Model;

static void
free_block (gpointer data)
{
  g_array_unref (((Block *) data)->pieces);
  g_free (data);
}

static Block *
block_at (const Model *model, guint i)
{
  return model->blocks->pdata[i];
}

static Piece *
piece_at (const Block *block, guint i)
{
  return &g_array_index (block->pieces, Piece, i);
}

static gboolean
is_whole (const Block *block)
{
  return block->pieces->len == 1 && piece_at (block, 0)->since != 0;
}

/* ---- figures */

typedef struct
{
  guint64 actual, used, whole_bytes, whole_blocks, free_pieces;
} Figures;

static Figures
count (const Model *model)
{
  Figures f = { 0 };

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *block = block_at (model, i);

      f.actual += block->size;
      f.whole_bytes += is_whole (block) ? block->size : 0;
      f.whole_blocks += is_whole (block);
      for (guint k = 0; k < block->pieces->len; k++)
        {
          f.used += piece_at (block, k)->since == 0 ? piece_at (block, k)->size : 0;
          f.free_pieces += piece_at (block, k)->since != 0;
        }
    }
  return f;
}

static guint64
heuristic (const Model *model)
{
  const Figures f = count (model);
  gboolean hit;

  if (model->percent == G_MAXUINT64)
    hit = f.whole_blocks >= model->blocks_wanted;
  else if (model->percent == 100)
    hit = model->list ? f.used == 0 : f.whole_bytes == f.actual;
  else
    hit = f.whole_bytes >= (guint64) ((float) model->percent / 100.0F * (float) f.actual);
  return !hit ? 0 : model->hwm ? model->high : f.actual;
}

/* ---- memory */

static gboolean
is_before (const Block *a, const Block *b, gboolean list)
{
  const Piece *x = piece_at (a, 0), *y = piece_at (b, 0);

  if (list)
    return a->address < b->address;
  return x->size != y->size ? x->size < y->size : x->since < y->since;
}

static void
trim (Naive *naive)
{
  Model *model = (Model *) naive;

  for (;;)
    {
      Block *best = NULL;

      for (guint i = 0; i < model->blocks->len; i++)
        if (is_whole (block_at (model, i))
            && (best == NULL || is_before (block_at (model, i), best, model->list)))
          best = block_at (model, i);
      if (best == NULL)
        return;
      naive_device_free (&naive->device, best->address);
      g_ptr_array_remove (model->blocks, best);
    }
}

static Block *
new_block (Model *model, guint64 need)
{
  const guint64 size = MAX (need, count (model).actual == 0 ? model->first : model->next);
  guint64 address = naive_device_malloc (&model->base.device, size + model->alignment);
  const Piece whole = { 0, size, ++model->time, 0 };
  Block *block;
  guint at = 0;

  if (address == 0)
    {
      trim (&model->base);
      address = naive_device_malloc (&model->base.device, size + model->alignment);
    }
  if (address == 0)
    return NULL;
  block = g_new (Block, 1);
  *block = (Block){ address, (address + model->alignment - 1) / model->alignment * model->alignment,
                    size, g_array_new (FALSE, FALSE, sizeof (Piece)) };
  g_array_append_val (block->pieces, whole);
  while (at < model->blocks->len && block_at (model, at)->address < address)
    at++;
  g_ptr_array_insert (model->blocks, (int) at, block);
  return block;
}

static gboolean
is_better (const Model *model, const Piece *piece, const Piece *best)
{
  return best == NULL || piece->size < best->size
         || (!model->list && piece->size == best->size && piece->since < best->since);
}

static gboolean
take (Model *model, guint64 n, guint32 id, guint64 *address, guint64 *size)
{
  const guint64 r = (n + model->alignment - 1) / model->alignment * model->alignment;
  Block *in = NULL;
  guint index = 0;

  for (guint i = 0; i < model->blocks->len; i++)
    for (guint k = 0; k < block_at (model, i)->pieces->len; k++)
      {
        const Piece *piece = piece_at (block_at (model, i), k);

        if (piece->since == 0 || piece->size < r
            || !is_better (model, piece, in != NULL ? piece_at (in, index) : NULL))
          continue;
        in = block_at (model, i);
        index = k;
      }
  if (in == NULL && (in = new_block (model, r)) == NULL)
    return FALSE;
  if (piece_at (in, index)->size > r)
    {
      const Piece rest = { piece_at (in, index)->offset + r, piece_at (in, index)->size - r,
                           ++model->time, 0 };

      g_array_insert_val (in->pieces, index + 1, rest);
    }
  *piece_at (in, index) = (Piece){ piece_at (in, index)->offset, r, 0, id };
  *address = in->start + piece_at (in, index)->offset;
  *size = r;
  model->high = MAX (model->high, count (model).used);
  return TRUE;
}

static void
give (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *block = block_at (model, i);
      guint k = 0;

      while (k < block->pieces->len
             && (piece_at (block, k)->since != 0 || piece_at (block, k)->id != id))
        k++;
      if (k == block->pieces->len)
        continue;
      piece_at (block, k)->since = ++model->time;
      for (guint left = k + 1; left-- > (k > 0 ? k - 1 : 0);)
        if (left + 1 < block->pieces->len && piece_at (block, left)->since != 0
            && piece_at (block, left + 1)->since != 0)
          {
            piece_at (block, left)->size += piece_at (block, left + 1)->size;
            piece_at (block, left)->since = model->time;
            g_array_remove_index (block->pieces, left + 1);
          }
      return;
    }
}

/* ---- coalescing */

typedef struct
{
  guint64 asked, actual, high, free_pieces;
} Level;

static gboolean
coalesce (Model *model, guint64 bytes)
{
  guint64 address, size;

  trim (&model->base);
  if (count (model).actual >= bytes
      || !take (model, bytes - count (model).actual, G_MAXUINT32, &address, &size))
    return FALSE;
  give (model, G_MAXUINT32);
  return TRUE;
}

/* One call of coalesce() of the real pool, which calls itself through deallocate(). */
static void
coalesce_quick (Model *model, guint64 bytes, Level above)
{
  Level here;

  if (count (model).free_pieces < 2 || !coalesce (model, bytes))
    return;
  here = (Level){ heuristic (model), count (model).actual, model->high, count (model).free_pieces };
  if (here.asked == 0
      || (here.asked == above.asked && here.actual == above.actual && here.high == above.high
          && here.free_pieces == above.free_pieces))
    return;
  coalesce_quick (model, here.asked, here);
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  return request->size <= G_MAXINT64 && take ((Model *) naive, request->size, id, address, size);
}

static void
release (Naive *naive, guint32 id, G_GNUC_UNUSED gboolean completion_follows)
{
  Model *model = (Model *) naive;
  guint64 bytes;

  give (model, id);
  bytes = model->percent == 0 ? 0 : heuristic (model);
  if (bytes == 0)
    return;
  if (!model->list)
    coalesce_quick (model, bytes, (Level){ 0 });
  else if (count (model).whole_blocks > 1)
    coalesce (model, bytes);
}

static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  const Model *model = (const Model *) naive;
  const Figures f = count (model);

  if (g_str_equal (name, "getActualSize"))
    *value = f.actual;
  else if (g_str_equal (name, "getAlignedSize"))
    *value = f.used;
  else if (g_str_equal (name, "getAlignedHighwaterMark"))
    *value = model->high;
  else if (g_str_equal (name, "getReleasableSize"))
    *value = f.whole_bytes;
  else if (g_str_equal (name, "getReleasableBlocks"))
    *value = f.whole_blocks;
  else if (g_str_equal (name, "getTotalBlocks"))
    *value = model->blocks->len;
  else
    return FALSE;
  return TRUE;
}

static void
destroy (Naive *naive)
{
  g_ptr_array_unref (((Model *) naive)->blocks);
}

/* ---- the models */

static Naive *
create (gboolean list, guint64 percent, guint64 blocks, gboolean hwm)
{
  Model *model = g_new0 (Model, 1);

  model->first = 512 * MIB;
  model->next = MIB;
  model->alignment = 16;
  model->list = list;
  model->percent = percent;
  model->blocks_wanted = blocks;
  model->hwm = hwm;
  model->blocks = g_ptr_array_new_with_free_func (free_block);
  return &model->base;
}

#define MODEL(name, list, percent, blocks, hwm, first_bytes, next_bytes, unit) \
  static Naive *create_##name (void) \
  { \
    Naive *naive = create (list, percent, blocks, hwm); \
    ((Model *) naive)->first = first_bytes; \
    ((Model *) naive)->next = next_bytes; \
    ((Model *) naive)->alignment = unit; \
    return naive; \
  }

#define NONE G_MAXUINT64
MODEL (quick, FALSE, 100, NONE, TRUE, 512 * MIB, MIB, 16)
MODEL (quick_small, FALSE, 100, NONE, FALSE, MIB, 1, 4096)
MODEL (quick_half, FALSE, 50, NONE, FALSE, MIB, MIB, 16)
MODEL (quick_blocks, FALSE, NONE, 2, TRUE, MIB, 65537, 256)
MODEL (quick_one_block, FALSE, NONE, 1, TRUE, 3 * MIB, 1, 16)
MODEL (list, TRUE, 100, NONE, TRUE, 512 * MIB, MIB, 16)
MODEL (list_small, TRUE, 100, NONE, FALSE, MIB, 1, 4096)
MODEL (list_half, TRUE, 33, NONE, FALSE, MIB, MIB, 16)
MODEL (list_blocks, TRUE, NONE, 2, TRUE, MIB, 65537, 256)

#define UMPIRE(kind, text, function) \
  .name = "umpire-" kind, .settings = text, .create = create_##function, .alloc = alloc, \
  .free = release, .trim = trim, .destroy = destroy, .figure = figure

const NaiveClass naive_quick = { UMPIRE ("quick", "", quick) };
const NaiveClass naive_quick_faulty = {
  UMPIRE ("quick", "first=1MiB,next=1B,alignment=4KiB,coalesce=percent_releasable:100",
          quick_small),
  .every = 5
};
const NaiveClass naive_quick_half = { UMPIRE ("quick", "first=1MiB,coalesce=percent_releasable:50",
                                              quick_half) };
const NaiveClass naive_quick_blocks = { UMPIRE (
    "quick", "first=1MiB,next=65537,alignment=256,coalesce=blocks_releasable_hwm:2",
    quick_blocks) };
const NaiveClass naive_quick_one_block = {
  UMPIRE ("quick", "first=3MiB,next=1B,coalesce=blocks_releasable_hwm(1)", quick_one_block),
  .every = 7
};
const NaiveClass naive_list = { UMPIRE ("list", "", list) };
const NaiveClass naive_list_faulty = {
  UMPIRE ("list", "first=1MiB,next=1B,alignment=4KiB,coalesce=percent_releasable:100", list_small),
  .every = 5
};
const NaiveClass naive_list_half = { UMPIRE ("list", "first=1MiB,coalesce=percent_releasable:33",
                                             list_half) };
const NaiveClass naive_list_blocks = { UMPIRE (
    "list", "first=1MiB,next=65537,alignment=256,coalesce=blocks_releasable_hwm:2", list_blocks) };
