/* buddy.c - PaddlePaddle's BuddyAllocator: strategy `legacy` until 1.5, `naive_best_fit` since 1.6,
 * one per thread in `thread_local`.
 *
 * Not a power-of-two buddy: best fit over (total, address), merging neighbours inside each chunk.
 * A request grows by 64 bytes for a descriptor (which GPUs keep elsewhere) and is rounded to 256;
 * the user address is block + 64.  The low part of a block is allocated; a rest of at most 64 bytes
 * is not split off.  A request above max_chunk goes directly to the device ("huge") and is neither
 * pooled nor counted.  chunk-size.h sizes the chunks.
 *
 * Invariants: the blocks of a chunk cover it; no two neighbours are free; `pool` holds exactly the
 * free blocks; `used` + `free` equals the bytes of all chunks modulo 2^64.  Each alone may wrap: a
 * skipped split adds the rounded request to `used`, but its free subtracts the whole block (section
 * 2.4).  Idle cleaning (1.3) and the test for the first refill read the wrapped numbers.
 * The first block of a chunk (or a huge block) is embedded in its Piece and lives as long: left
 * neighbours absorb right ones.  A free block without neighbours is therefore a whole chunk, and
 * Paddle's map of chunks is not needed.
 * Cost: O(log free blocks) per request; no allocation per event; 64 bytes per block.
 *
 * Origin: paddle.md section 2; examples E1-E8 and E10; gpu_allocator_retry_time section 3.3.
 * Not modelled: the pool index (one value everywhere), and Paddle's stale records in its map of
 * chunks, which matter only if the device reuses an address for a larger chunk.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/paddle/buddy.h"
#include "base/units.h"

/* Bytes added to each request; also the offset of the user pointer in its block, and the largest
 * rest that is not split off. */
#define DESCRIPTOR 64

typedef struct
{
  GememNeighbour place; /* key (owner, total, address) */
  gboolean huge;
} Block;

/* Memory from one device call: a chunk, or a huge block. */
typedef struct
{
  Block first;
  GememTreeNode by_address; /* key (0, 0, address) */
  guint64 bytes;
} Piece;

typedef struct
{
  GememAllocator base;
  GememPaddleBuddyParams params;
  guint64 owner; /* group of its nodes; tells several buddies apart (buddy.h) */
  guint64 unit;  /* min_chunk */
  guint64 limit; /* of device bytes held */
  guint64 max_chunk, realloc_cache, used, free;
  /* max_chunk is known; Paddle throws at the first use of a device that is too small for it */
  gboolean ready;
  guint64 chunks, huge_blocks, huge_bytes;
  GememTree pool, pieces;
  GememSlab block_slab, piece_slab;
} Buddy;

static const GememAllocatorClass serves_empty_class;

#define PIECE_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, Piece, by_address)

static gboolean
is_huge (const GememNeighbour *block)
{
  return ((const Block *) block)->huge;
}

/* Memory as Paddle sees it now.  The device is queried, and the query charged, even where a
 * parameter overrides the answer. */
static GememPaddleMemory
query_memory (Buddy *buddy)
{
  const GememPaddleBuddyParams *params = &buddy->params;
  const GememDevice *device = buddy->base.device;
  GememDeviceInfo info;
  gemem_device_info (buddy->base.device, &info);
  GememPaddleMemory memory;
  memory.total = MIN (params->total != 0 ? params->total : info.total, buddy->limit);
  memory.available = params->available != 0 ? gemem_paddle_left (device, params->available)
                                            : info.free;
  memory.available = MIN (memory.available, gemem_paddle_left (device, buddy->limit));
  return memory;
}

/* Sets *@bytes to max_chunk of the place; FALSE: "not enough available memory". */
static gboolean
compute_max_chunk (Buddy *buddy, guint64 *bytes)
{
  const GememPaddleBuddyParams *params = &buddy->params;
  GememPaddleMemory memory = query_memory (buddy);
  switch ((GememPaddlePlace) params->place)
    {
    case GEMEM_PADDLE_PLACE_GPU:
      return gemem_paddle_max_chunk_size (&buddy->params.chunk, &memory, bytes);
    case GEMEM_PADDLE_PLACE_CPU:
      *bytes = gemem_paddle_cpu_chunk_size (params->chunk.rules, memory.total, params->cpu_fraction,
                                            params->cpu_initial);
      return TRUE;
    case GEMEM_PADDLE_PLACE_PINNED:
      /* section 7: the fraction limits all pinned memory */
      buddy->limit = gemem_paddle_double_product (params->pinned_fraction, memory.total);
      *bytes = gemem_paddle_pinned_chunk_size (memory.total, params->pinned_fraction);
      return TRUE;
    }
  g_assert_not_reached ();
}

/* Sets *@bytes for the next chunk (section 2.5); FALSE: "not enough available memory". */
static gboolean
refill_size (Buddy *buddy, guint64 size, guint64 *bytes)
{
  const int version = buddy->params.chunk.version;
  gboolean gpu = buddy->params.place == GEMEM_PADDLE_PLACE_GPU;
  gboolean empty = version >= GEMEM_PADDLE_1_6 ? buddy->used == 0 && buddy->free == 0
                                               : buddy->used + buddy->free == 0;
  if (!gpu || version < GEMEM_PADDLE_1_4)
    {
      if (gpu && empty)
        {
          if (!compute_max_chunk (buddy, bytes))
            return FALSE;
          buddy->max_chunk = *bytes;
        }
      *bytes = buddy->max_chunk;
      return *bytes >= size;
    }
  guint64 wanted;
  if (empty)
    {
      GememPaddleMemory memory = query_memory (buddy);
      if (!gemem_paddle_initial_size (&buddy->params.chunk, &memory, &wanted))
        return FALSE;
    }
  else
    {
      if (buddy->realloc_cache == 0 || buddy->params.chunk.reallocate == 0)
        {
          GememPaddleMemory memory = query_memory (buddy);
          if (!gemem_paddle_reallocate_size (&buddy->params.chunk, &memory, &wanted))
            return FALSE;
          buddy->realloc_cache = wanted;
        }
      wanted = buddy->realloc_cache;
    }
  *bytes = MAX (wanted, size);
  return TRUE;
}

/* Takes @bytes from the device as one block; NULL: refused (BadAlloc). */
static GememNeighbour *
add_piece (Buddy *buddy, guint64 bytes, gboolean huge)
{
  guint64 address = gemem_paddle_malloc (buddy->base.device, bytes, 0, buddy->limit);
  if (address == 0)
    return NULL;
  Piece *piece = gemem_slab_alloc (&buddy->piece_slab);
  piece->bytes = bytes;
  piece->by_address.address = address;
  gemem_tree_insert (&buddy->pieces, &piece->by_address);
  piece->first.place.node.group = buddy->owner;
  piece->first.place.node.address = address;
  piece->first.place.node.size = bytes;
  piece->first.huge = huge;
  return &piece->first.place;
}

/* Releases the piece of @block, which is the piece's only block. */
static void
drop_piece (Buddy *buddy, GememNeighbour *block)
{
  Piece *piece = (Piece *) block;
  gemem_tree_remove (&buddy->pieces, &piece->by_address);
  gemem_device_free (buddy->base.device, block->node.address, piece->bytes);
  gemem_slab_free (&buddy->piece_slab, piece);
}

/* Releases the chunk of @block, which is free, covers the chunk, and is in the pool. */
static void
drop_chunk (Buddy *buddy, GememNeighbour *block)
{
  gemem_tree_remove (&buddy->pool, &block->node);
  buddy->free -= block->node.size;
  buddy->chunks--;
  drop_piece (buddy, block);
}

/* Takes a new chunk, not yet in the pool because the caller takes from it at once.  *@refused: the
 * device refused (BadAlloc). */
static GememNeighbour *
refill (Buddy *buddy, guint64 size, gboolean *refused)
{
  guint64 bytes;
  if (!refill_size (buddy, size, &bytes))
    return NULL;
  GememNeighbour *block = add_piece (buddy, bytes, FALSE);
  *refused = block == NULL;
  if (block == NULL)
    return NULL;
  buddy->free += bytes;
  buddy->chunks++;
  return block;
}

/* Cuts @block, which is in no tree, to @size bytes and pools the rest. */
static void
split (Buddy *buddy, GememNeighbour *block, guint64 size)
{
  guint64 rest = block->node.size - size;
  if (rest <= DESCRIPTOR)
    return;
  GememNeighbour *right = gemem_slab_alloc (&buddy->block_slab);
  gemem_neighbours_split (block, right, rest);
  right->free = TRUE;
  gemem_tree_insert (&buddy->pool, &right->node);
}

static GememNeighbour *
alloc_pooled (Buddy *buddy, guint64 size, gboolean *refused)
{
  GememTreeNode *fit = gemem_tree_fit (&buddy->pool, buddy->owner, size);
  GememNeighbour *block;
  if (fit != NULL)
    {
      gemem_tree_remove (&buddy->pool, fit);
      block = GEMEM_NEIGHBOUR_OF (fit);
    }
  else if ((block = refill (buddy, size, refused)) == NULL)
    return NULL;
  buddy->used += size;
  buddy->free -= size;
  split (buddy, block, size);
  block->free = FALSE;
  return block;
}

static GememNeighbour *
alloc_huge (Buddy *buddy, guint64 size, gboolean *refused)
{
  GememNeighbour *block = add_piece (buddy, size, TRUE);
  *refused = block == NULL;
  if (block != NULL)
    {
      buddy->huge_blocks++;
      buddy->huge_bytes += size;
    }
  return block;
}

static GememNeighbour *
attempt (Buddy *buddy, guint64 size, gboolean *refused)
{
  *refused = FALSE;
  return size > buddy->max_chunk ? alloc_huge (buddy, size, refused)
                                 : alloc_pooled (buddy, size, refused);
}

static gboolean
buddy_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  Buddy *buddy = (Buddy *) allocator;
  if (request->size == 0
      && (allocator->klass->capabilities & GEMEM_CAP_EMPTY)
             == 0) /* a null pointer; never reaches the allocator */
    {
      *result = (GememBlock){ 0 };
      return TRUE;
    }
  if (!buddy->ready && !(buddy->ready = compute_max_chunk (buddy, &buddy->max_chunk)))
    return FALSE;
  if (request->size > G_MAXUINT64 - DESCRIPTOR - buddy->unit)
    return FALSE;
  guint64 size = gemem_round_up (request->size + DESCRIPTOR, buddy->unit);
  gboolean refused;
  GememNeighbour *block = attempt (buddy, size, &refused);
  if (block == NULL && refused && buddy->params.retry_time != 0)
    {
      /* one thread: no block is freed meanwhile */
      allocator->device->now += buddy->params.retry_time;
      block = attempt (buddy, size, &refused);
    }
  if (block == NULL)
    return FALSE;
  result->address = block->node.address + DESCRIPTOR;
  result->size = block->node.size;
  result->handle = block;
  return TRUE;
}

/* FLAGS_free_idle_memory, until 1.3 or as documented: releases chunks from the largest key down.
 * The arithmetic wraps as Paddle's does. */
static void
free_idle_memory (Buddy *buddy)
{
  while ((buddy->used + buddy->max_chunk) * 2 < buddy->free)
    {
      GememTreeNode *last = gemem_tree_last (&buddy->pool);
      if (last == NULL || last->size < buddy->max_chunk)
        return;
      drop_chunk (buddy, GEMEM_NEIGHBOUR_OF (last));
    }
}

static void
buddy_free (GememAllocator *allocator, const GememBlock *freed, gboolean completion_follows)
{
  Buddy *buddy = (Buddy *) allocator;
  GememNeighbour *block = freed->handle;
  if (block == NULL) /* request of 0 bytes */
    return;
  if (is_huge (block))
    {
      buddy->huge_blocks--;
      buddy->huge_bytes -= block->node.size;
      drop_piece (buddy, block);
      return;
    }
  GEMEM_CHECK (!block->free);
  buddy->used -= block->node.size;
  buddy->free += block->node.size;
  block = gemem_neighbours_coalesce (block, &buddy->pool, &buddy->block_slab);
  block->free = TRUE;
  gemem_tree_insert (&buddy->pool, &block->node);
  if (buddy->params.free_idle_memory)
    free_idle_memory (buddy);
}

/* Release(), since 1.6: releases every chunk that is entirely free, smallest first. */
static void
buddy_trim (GememAllocator *allocator)
{
  Buddy *buddy = (Buddy *) allocator;
  if (buddy->params.chunk.version < GEMEM_PADDLE_1_6)
    return;
  GememTreeNode *next;
  for (GememTreeNode *node = gemem_tree_first (&buddy->pool); node != NULL; node = next)
    {
      next = gemem_tree_next (node);
      if (gemem_neighbours_alone (GEMEM_NEIGHBOUR_OF (node)))
        drop_chunk (buddy, GEMEM_NEIGHBOUR_OF (node));
    }
}

static guint64
buddy_largest_free (GememAllocator *allocator, guint64 stream)
{
  Buddy *buddy = (Buddy *) allocator;
  const GememTreeNode *last = gemem_tree_last (&buddy->pool);
  guint64 size = last != NULL ? MIN (last->size, buddy->max_chunk) : 0;
  size -= size % buddy->unit;
  return size > DESCRIPTOR ? size - DESCRIPTOR : 0;
}

static void
buddy_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  Buddy *buddy = (Buddy *) allocator;
  for (GememTreeNode *node = gemem_tree_first (&buddy->pieces); node != NULL;
       node = gemem_tree_next (node))
    {
      const Piece *piece = PIECE_OF (node);
      for (const GememNeighbour *block = &piece->first.place; block != NULL; block = block->next)
        {
          gboolean live = !block->free;
          GememSpan span = { .address = block->node.address,
                             .size = block->node.size,
                             .segment = node->address,
                             .segment_size = piece->bytes,
                             .state = live ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE,
                             .user = live ? block->node.address + DESCRIPTOR : 0 };
          func (&span, data);
        }
    }
}

static gboolean
broken (GError **error, const GememNeighbour *block, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-buddy: block 0x%" G_GINT64_MODIFIER "x of %" G_GUINT64_FORMAT " bytes: %s",
               block->node.address, block->node.size, what);
  return FALSE;
}

/* Checks the blocks of one piece; adds the free ones to *@free_blocks. */
static gboolean
check_piece (const Piece *piece, guint64 *free_blocks, GError **error)
{
  guint64 end = piece->by_address.address;
  const GememNeighbour *left = NULL;
  for (const GememNeighbour *block = &piece->first.place; block != NULL;
       left = block, block = block->next)
    {
      if (block->node.address != end || block->previous != left)
        return broken (error, block, "does not follow its left neighbour");
      if (is_huge (block) && !gemem_neighbours_alone (block))
        return broken (error, block, "is huge, but has neighbours");
      if (block->free && left != NULL && left->free)
        return broken (error, block, "is free beside a free block");
      *free_blocks += block->free;
      end += block->node.size;
    }
  if (end != piece->by_address.address + piece->bytes)
    return broken (error, &piece->first.place, "and its neighbours do not cover the chunk");
  return TRUE;
}

static gboolean
check_pool (const Buddy *buddy, guint64 free_blocks, GError **error)
{
  if (!gemem_tree_check (&buddy->pool) || !gemem_tree_check (&buddy->pieces))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "paddle-buddy: a tree is out of order");
      return FALSE;
    }
  for (GememTreeNode *node = gemem_tree_first (&buddy->pool); node != NULL;
       node = gemem_tree_next (node))
    if (!GEMEM_NEIGHBOUR_OF (node)->free)
      return broken (error, GEMEM_NEIGHBOUR_OF (node), "is in the pool, but not free");
  if (buddy->pool.count != free_blocks)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "paddle-buddy: %" G_GUINT64_FORMAT " free blocks, but %" G_GUINT64_FORMAT
                   " in the pool",
                   free_blocks, buddy->pool.count);
      return FALSE;
    }
  return TRUE;
}

static gboolean
buddy_check (GememAllocator *allocator, GError **error)
{
  const Buddy *buddy = (const Buddy *) allocator;
  guint64 free_blocks = 0, pooled = 0, huge = 0, chunks = 0;
  for (GememTreeNode *node = gemem_tree_first (&buddy->pieces); node != NULL;
       node = gemem_tree_next (node))
    {
      const Piece *piece = PIECE_OF (node);
      if (!check_piece (piece, &free_blocks, error))
        return FALSE;
      if (piece->first.huge)
        huge += piece->bytes;
      else
        pooled += piece->bytes, chunks++;
    }
  if (buddy->used + buddy->free != pooled || huge != buddy->huge_bytes || chunks != buddy->chunks
      || chunks + buddy->huge_blocks != buddy->pieces.count
      || pooled + huge > allocator->device->held)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "paddle-buddy: used %" G_GUINT64_FORMAT " + free %" G_GUINT64_FORMAT
                   " and %" G_GUINT64_FORMAT " huge bytes do not make up the %" G_GUINT64_FORMAT
                   " + %" G_GUINT64_FORMAT " bytes of the chunks and huge blocks",
                   buddy->used, buddy->free, buddy->huge_bytes, pooled, huge);
      return FALSE;
    }
  return check_pool (buddy, free_blocks, error);
}

/* Bytes of all chunks and huge blocks; the counters wrap, their sum does not. */
static guint64
held_bytes (const Buddy *buddy)
{
  return buddy->used + buddy->free + buddy->huge_bytes;
}

static void
buddy_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Buddy *buddy = (const Buddy *) allocator;
  func ("used", buddy->used, "B", data);
  func ("free", buddy->free, "B", data);
  func ("max_chunk", buddy->max_chunk, "B", data);
  func ("realloc_cache", buddy->realloc_cache, "B", data);
  func ("chunks", buddy->chunks, "", data);
  func ("free_blocks", buddy->pool.count, "", data);
  func ("huge_blocks", buddy->huge_blocks, "", data);
  func ("huge_bytes", buddy->huge_bytes, "B", data);
  if (buddy->params.place == GEMEM_PADDLE_PLACE_CPU)
    func ("locked", buddy->params.use_pinned_memory ? held_bytes (buddy) : 0, "B", data);
}

static void
buddy_destroy (GememAllocator *allocator)
{
  Buddy *buddy = (Buddy *) allocator;
  GememTreeNode *node;
  while ((node = gemem_tree_first (&buddy->pieces)) != NULL)
    drop_piece (buddy, &PIECE_OF (node)->first.place);
  gemem_tree_clear (&buddy->pool);
  gemem_tree_clear (&buddy->pieces);
  gemem_slab_clear (&buddy->block_slab);
  gemem_slab_clear (&buddy->piece_slab);
  g_free (buddy);
}

guint64
gemem_paddle_buddy_owner (const GememBlock *block)
{
  return ((const GememNeighbour *) block->handle)->node.group;
}

GememAllocator *
gemem_paddle_buddy_new (const GememPaddleBuddyParams *params, guint64 owner, GememDevice *device,
                        GError **error)
{
  static const guint64 units[] = { [GEMEM_PADDLE_PLACE_GPU] = 256,
                                   [GEMEM_PADDLE_PLACE_CPU] = 4096,
                                   [GEMEM_PADDLE_PLACE_PINNED] = 65536 };
  Buddy *buddy = g_new0 (Buddy, 1);
  GememPaddleBuddyParams *own = &buddy->params;
  *own = *params;
  if (!gemem_paddle_buddy_params_resolve (own, error))
    {
      g_free (buddy);
      return NULL;
    }
  buddy->base.klass = own->chunk.version < GEMEM_PADDLE_1_6 ? &serves_empty_class
                                                            : &gemem_paddle_buddy_class;
  buddy->base.device = device;
  buddy->owner = owner;
  buddy->unit = units[own->place];
  buddy->limit = MIN (own->total != 0 ? own->total : GEMEM_UNLIMITED,
                      own->memory_limit != 0 ? own->memory_limit : GEMEM_UNLIMITED);
  gemem_slab_init (&buddy->block_slab, sizeof (Block));
  gemem_slab_init (&buddy->piece_slab, sizeof (Piece));
  buddy->ready = compute_max_chunk (buddy, &buddy->max_chunk);
  return &buddy->base;
}

static GememAllocator *
buddy_create (gconstpointer params, GememDevice *device, GError **error)
{
  return gemem_paddle_buddy_new (params, 0, device, error);
}

static const GememForm forms[] = {
  { "paddle", GEMEM_FORM_VARIABLES, "FLAGS_allocator_strategy=naive_best_fit",
    "fraction_of_gpu_memory_to_use|initial_gpu_memory_in_mb|reallocate_gpu_memory_in_mb" },
  { NULL },
};

#define COMMON \
  .abi = GEMEM_ALLOCATOR_ABI, .name = "paddle-buddy", \
  .summary = "PaddlePaddle's BuddyAllocator: strategy legacy (to 1.5), naive_best_fit (since " \
             "1.6), best fit in few large chunks", \
  .origin = "PaddlePaddle 1.2-3.x; paddle.md section 2", .forms = forms, \
  .known_as = "BuddyAllocator|legacy|naive_best_fit", .alignment = 256, \
  .alignment_offset = DESCRIPTOR, .params = gemem_paddle_buddy_params, \
  .params_size = sizeof (GememPaddleBuddyParams), .create = buddy_create, .alloc = buddy_alloc, \
  .free = buddy_free, .prefetch = gemem_neighbours_prefetch, .trim = buddy_trim, \
  .largest_free = buddy_largest_free, .walk = buddy_walk, .check = buddy_check, \
  .report.stats = buddy_stats, .destroy = buddy_destroy

const GememAllocatorClass gemem_paddle_buddy_class = { COMMON };

/* Until 1.5 a request of 0 bytes reaches the buddy and takes a block for its descriptor. */
static const GememAllocatorClass serves_empty_class = { COMMON, .capabilities = GEMEM_CAP_EMPTY };
