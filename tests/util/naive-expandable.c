/* naive-expandable.c - PyTorch's caching allocator with expandable segments, from peers.md 1a.3 to
 * 1a.7, over one array of blocks.
 *
 * The array is in address order; a range of addresses has a number, and blocks with the same number
 * are neighbours in it.  Pages are not kept: what is mapped is what the blocks say.  Events complete
 * at once, as in naive-caching.c.
 */
#include "config.h"

#include "tests/util/naive-models.h"
#include "tests/util/sizes.h"

typedef enum
{
  UNMAPPED,
  FREE,
  LIVE,
  EVENTS, /* as in naive-caching.c */
  OWED,
} State;

typedef struct
{
  State state;
  guint64 range;  /* where the range begins */
  guint64 serial; /* ranges are counted as they are made */
  guint64 address, size;
  guint32 id; /* while LIVE or waiting */
  gboolean used_elsewhere;
  /* whose range it is */
  guint64 stream;
  guint32 pool;
  gboolean small;
} Block;

typedef struct
{
  Naive base;
  GArray *blocks;
  guint64 ranges; /* made so far */
} Model;

#define BLOCK(i) (&g_array_index (model->blocks, Block, i))

static Naive *
create (void)
{
  GArray *blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  Model *model = g_new0 (Model, 1);

  model->blocks = blocks;
  return &model->base;
}

static void
destroy (Naive *naive)
{
  g_array_unref (((Model *) naive)->blocks);
}

static guint64
page_of (const Block *block)
{
  return block->small ? 2 * MIB : 20 * MIB;
}

static guint64
up (guint64 n, guint64 unit)
{
  return (n + unit - 1) / unit * unit;
}

static guint
find (Model *model, guint32 id)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->state == LIVE && BLOCK (i)->id == id)
      return i;
  g_assert_not_reached ();
}

/* Is there a block @i of the same range as block @of? */
static gboolean
same_range (Model *model, int i, guint of)
{
  return i >= 0 && (guint) i < model->blocks->len && BLOCK (i)->range == BLOCK (of)->range;
}

/* Joins block @i with neighbours in the same state; its new index. */
static guint
join (Model *model, guint i)
{
  for (int other = (int) i + 1; other >= (int) i - 1; other -= 2)
    if (same_range (model, other, i) && BLOCK (other)->state == BLOCK (i)->state)
      {
        const guint low = MIN ((guint) other, i);
        BLOCK (low)->size += BLOCK (low + 1)->size;
        g_array_remove_index (model->blocks, low + 1);
        i = low;
      }
  return i;
}

/* Cuts block @i, so that it keeps @size bytes. */
static void
cut (Model *model, guint i, guint64 size)
{
  Block high = *BLOCK (i);

  if (size == 0 || size == high.size)
    return;
  high.address += size;
  high.size -= size;
  BLOCK (i)->size = size;
  g_array_insert_val (model->blocks, i + 1, high);
}

static void
finish_all (Model *model, State state)
{
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->state == state)
      {
        BLOCK (i)->state = FREE;
        join (model, i);
        i = (guint) -1; /* the array has shrunk: from the start */
      }
}

/* ---- the device */

/* Returns the whole pages of block @i, FREE, to the device; TRUE if there were any. */
static gboolean
unmap (Model *model, guint i)
{
  const Block b = *BLOCK (i);
  const guint64 low = b.range + up (b.address - b.range, page_of (&b)),
                high = b.range + (b.address + b.size - b.range) / page_of (&b) * page_of (&b);

  if (low >= high)
    return FALSE;
  naive_device_destroy_page (&model->base.device, high - low);
  if (low > b.address)
    cut (model, i++, low - b.address);
  cut (model, i, high - low);
  BLOCK (i)->state = UNMAPPED;
  i = join (model, i);
  if (!same_range (model, (int) i - 1, i) && !same_range (model, (int) i + 1, i))
    {
      naive_device_release (&model->base.device, BLOCK (i)->range);
      g_array_remove_index (model->blocks, i);
    }
  return TRUE;
}

static void
empty_cache (Model *model)
{
  finish_all (model, EVENTS);
  finish_all (model, OWED);
  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->state == FREE && BLOCK (i)->pool == 0 && unmap (model, i))
      i = (guint) -1;
}

/* Maps whole pages for @size bytes at the begin of block @i, UNMAPPED; the index of the free block
 * that has them, or -1. */
static int
map (Model *model, guint i, guint64 size)
{
  const guint64 page = page_of (BLOCK (i)), bytes = up (size, page);
  guint64 made = 0, mapped = 0;

  while (made < bytes && naive_device_create_page (&model->base.device, page))
    made += page;
  while (made == bytes && mapped < bytes && naive_device_map (&model->base.device))
    mapped += page;
  if (mapped < bytes)
    {
      naive_device_destroy_page (&model->base.device, made);
      return -1;
    }
  cut (model, i, bytes);
  BLOCK (i)->state = FREE;
  return (int) join (model, i);
}

static gboolean
is_mine (const Block *b, const Block *wanted)
{
  return b->stream == wanted->stream && b->pool == wanted->pool && b->small == wanted->small;
}

/* The first block of the lowest run of FREE and UNMAPPED blocks around an UNMAPPED one, with at
 * least @size bytes; -1: none. */
static int
find_run (Model *model, const Block *wanted, guint64 size)
{
  for (guint i = 0; i < model->blocks->len; i++)
    {
      guint64 sum = 0;
      guint begin = i;

      if (BLOCK (i)->state != UNMAPPED || !is_mine (BLOCK (i), wanted))
        continue;
      if (same_range (model, (int) i - 1, i) && BLOCK (i - 1)->state == FREE)
        begin = i - 1;
      for (guint k = begin; same_range (model, (int) k, i)
                            && (BLOCK (k)->state == FREE || BLOCK (k)->state == UNMAPPED);
           k++)
        sum += BLOCK (k)->size;
      if (sum >= size)
        return (int) begin;
    }
  return -1;
}

static int
new_range (Model *model, const Block *wanted, guint64 size)
{
  const guint64 total = model->base.device.capacity, page = page_of (wanted),
                bytes = up (total + (total + 7) / 8, page),
                address = naive_device_reserve (&model->base.device, bytes);
  Block block = *wanted;
  guint at = 0;

  if (address == 0)
    return -1;
  if (bytes < size) /* since 2.15 */
    {
      naive_device_release (&model->base.device, address);
      return -1;
    }
  block.serial = ++model->ranges;
  block.address = block.range = address;
  block.size = bytes;
  block.state = UNMAPPED;
  while (at < model->blocks->len && BLOCK (at)->address < address)
    at++;
  g_array_insert_val (model->blocks, at, block);
  return (int) at;
}

static int
expand (Model *model, const Block *wanted, guint64 size)
{
  int i = find_run (model, wanted, size);

  if (i < 0)
    i = new_range (model, wanted, size);
  if (i >= 0 && BLOCK (i)->state == UNMAPPED)
    i = map (model, (guint) i, MIN (size, BLOCK (i)->size));
  while (i >= 0 && BLOCK (i)->size < size)
    i = map (model, (guint) i + 1, MIN (size - BLOCK (i)->size, BLOCK (i + 1)->size));
  return i;
}

/* ---- requests */

/* The order of the free set since 2.13: by size, then range as made, then address. */
static gboolean
comes_before (const Block *a, const Block *b)
{
  if (a->size != b->size)
    return a->size < b->size;
  return a->serial != b->serial ? a->serial < b->serial : a->address < b->address;
}

/* The first block after @last in the order of the free set; -1: none. */
static int
next_free (Model *model, const Block *wanted, const Block *last)
{
  int best = -1;

  for (guint i = 0; i < model->blocks->len; i++)
    {
      const Block *b = BLOCK (i);

      if (b->state == FREE && is_mine (b, wanted) && comes_before (last, b)
          && (best < 0 || comes_before (b, BLOCK (best))))
        best = (int) i;
    }
  return best;
}

static guint64
extended (Model *model, guint i)
{
  return BLOCK (i)->size
         + (same_range (model, (int) i + 1, i) && BLOCK (i + 1)->state == UNMAPPED
                ? BLOCK (i + 1)->size
                : 0);
}

static int
best_fit (Model *model, const Block *wanted, guint64 size)
{
  const Block before = { .size = size };
  int i = next_free (model, wanted, &before);

  for (int next = i; i >= 0; i = next)
    {
      next = next_free (model, wanted, BLOCK (i));
      if (next < 0 || extended (model, (guint) next) >= extended (model, (guint) i))
        break;
    }
  return i;
}

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *block)
{
  Model *model = (Model *) naive;
  const guint64 rounded = request->size < 512 ? 512 : up (request->size, 512);
  const Block wanted = { .stream = request->stream,
                         .pool = request->pool,
                         .small = rounded <= MIB };
  int i;

  if (request->pool == 0)
    finish_all (model, EVENTS);
  if (request->size >= G_GUINT64_CONSTANT (1) << 60)
    return FALSE;
  i = best_fit (model, &wanted, rounded);
  if (i < 0)
    i = expand (model, &wanted, rounded);
  if (i < 0 && request->pool == 0)
    {
      empty_cache (model);
      i = expand (model, &wanted, rounded);
    }
  if (i < 0)
    return FALSE;
  cut (model, (guint) i, rounded);
  BLOCK (i)->state = LIVE;
  BLOCK (i)->used_elsewhere = FALSE;
  BLOCK (i)->id = id;
  *address = BLOCK (i)->address;
  *block = BLOCK (i)->size;
  return TRUE;
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Model *model = (Model *) naive;
  const guint i = find (model, id);

  BLOCK (i)->state = completion_follows ? OWED : BLOCK (i)->used_elsewhere ? EVENTS : FREE;
  if (BLOCK (i)->state == FREE)
    join (model, i);
}

/* No effect if the allocator has taken the block by force before. */
static void
complete (Naive *naive, guint32 id)
{
  Model *model = (Model *) naive;

  for (guint i = 0; i < model->blocks->len; i++)
    if (BLOCK (i)->state == OWED && BLOCK (i)->id == id)
      {
        BLOCK (i)->state = FREE;
        join (model, i);
        return;
      }
}

static void
use_on_stream (Naive *naive, guint32 id, guint64 stream)
{
  Model *model = (Model *) naive;
  const guint i = find (model, id);

  BLOCK (i)->used_elsewhere |= stream != BLOCK (i)->stream;
}

static void
trim (Naive *naive)
{
  empty_cache ((Model *) naive);
}

#define EXPANDABLE(text) \
  .name = "pytorch-caching", .settings = "expandable_segments=yes" text, .create = create, \
  .alloc = alloc, .free = release, .complete = complete, .use_on_stream = use_on_stream, \
  .trim = trim, .destroy = destroy

const NaiveClass naive_expandable = { EXPANDABLE ("") };
const NaiveClass naive_expandable_faulty = { EXPANDABLE (",memory_limit=none"), .every = 7 };
