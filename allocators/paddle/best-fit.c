/* best-fit.c - PaddlePaddle's chunked BestFit: the strategy `naive_best_fit` of 1.2 to early 1.5.
 * Later versions use that name for the buddy.
 *
 * All chunks have one size: the largest chunk of that version's buddy.  As documented the first has
 * the initial size, the others that of reallocation, or of a larger request, and only the device
 * limits their number: the manual ties these flags to no strategy.  Chunks are never released.
 * A request is extended by 64 bytes and gets the smallest free block of one chunk that holds it; of
 * equal blocks, the one freed first.  The low part is allocated, any rest stays free, and the user
 * address is the next multiple of 64.  The chunk that served last is searched first, then the
 * others in a circle, then a new chunk is taken.  Requests of at least the chunk size go directly
 * to the device.
 * Quirk kept, as built: a request that fits a chunk only without its 64 bytes takes a new chunk in vain, and
 * fails.  Where the real program stops because all allowed chunks are full, the request fails.
 *
 * Invariants: the blocks of a chunk cover it; no two neighbours are free; `pool` holds exactly the
 * free blocks, under their chunk, size and order of release; `largest` of a chunk is the size of
 * its largest free block.
 * Cost: O(log free blocks) per request, and one comparison for each 32 chunks without space;
 * nothing allocated per event; 64 bytes per block.
 * Origin: paddle.md section 2.10; chunk sizes 2.2; examples E9 and E10.
 */
#include "config.h"

#include "allocators/neighbours.h"
#include "allocators/paddle/buddy.h"
#include "base/units.h"

#define ALIGNMENT 64
#define GROUP 32 /* chunks that one comparison can skip */

typedef struct
{
  GememPaddleChunkRule chunk;
  int platform;
  guint64 total, available;
  guint64 max_chunk, chunks; /* 0: derived from the device */
  guint64 retry_time;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  GEMEM_PADDLE_VERSION_ROW (Params, chunk.version, GEMEM_PADDLE_VERSIONS_UNTIL_1_5, "1.5",
                            "1.3|1.5",
                            "Release of Paddle; those since 1.6 call the buddy "
                            "naive_best_fit."),
  GEMEM_RULES_ROW (
      Params, chunk.rules,
      "the first chunk has initial_gpu_memory_in_mb, the others reallocate_gpu_memory_in_mb, and "
      "what is not set is fraction_of_gpu_memory_to_use of the device's total. A 0 that is given "
      "is "
      "refused."),
  GEMEM_PADDLE_PLATFORM_ROW (Params, platform),
  { .name = "total",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .special = "device=0",
    FIELD (total),
    .help = "Memory that the device reports as total, and its limit; 0 asks the device." },
  { .name = "available",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .special = "device=0",
    FIELD (available),
    .help = "Memory available at the start; 0 asks the device." },
  { .name = "fraction_of_gpu_memory_to_use",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = GEMEM_PADDLE_FRACTION_DEFAULT,
    .sweep = "0.05|0.1|0.25|0.5|0.8|0.92|1",
    .min = "0",
    .max = "1",
    .special = "default=" GEMEM_PADDLE_FRACTION_DEFAULT,
    .aliases = "fraction|FLAGS_fraction_of_gpu_memory_to_use",
    FIELD (chunk.fraction),
    .help = "Part of the memory (less 5 %) that one chunk takes where no size is set; the default "
            "is (double)0.92f, on Windows 0.5.  "
            "Default in 1.2-1.5: 0.92." },
  { .name = "initial_gpu_memory_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "default",
    .special = GEMEM_PADDLE_UNSET_TEXT,
    .sweep = "default|256|512|1024|2048|4096|8192",
    .unit = "MiB",
    .aliases = "initial_mb|FLAGS_initial_gpu_memory_in_mb",
    FIELD (chunk.initial),
    .help = "Size of a chunk, if it is the larger of the two sizes, as documented of the first; 0: "
            "by fraction.  Default in 1.4-1.5: 0." },
  { .name = "reallocate_gpu_memory_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "default",
    .special = GEMEM_PADDLE_UNSET_TEXT,
    .sweep = "default|64|128|256|512|1024|2048",
    .unit = "MiB",
    .aliases = "realloc_mb|FLAGS_reallocate_gpu_memory_in_mb",
    FIELD (chunk.reallocate),
    .help = "Size of a chunk, if it is the larger of the two sizes, as documented of those behind "
            "the first; 0: by fraction.  Default in 1.4-1.5: 0." },
  { .name = "max_chunk",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .sweep = "0|64MiB|256MiB|1GiB|4GiB|16GiB",
    .special = "derived=0",
    FIELD (max_chunk),
    .help = "Size of every chunk; 0 derives it from the flags above." },
  { .name = "chunks",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .special = "derived=0",
    .max = "1048576",
    FIELD (chunks),
    .help = "Most chunks; 0 derives it: what is available at the start, divided by the size of a "
            "chunk; as documented there is no limit." },
  GEMEM_PADDLE_RETRY_ROW (
      Params, "0", NULL,
      "Virtual time to wait before the one repetition of a request that a chunk refused; 0: "
      "none.  Default in 1.2-1.5: 0."),
  { NULL },
};

typedef struct
{
  GememNeighbour place; /* key while free (chunk, size, order of release) */
  guint64 address;
} Block;

/* Memory from one device call: a chunk, or the block of one large request. */
typedef struct
{
  Block first;
  GememTreeNode by_address; /* key (0, 0, address) */
  guint64 bytes;
} Piece;

typedef struct
{
  GememAllocator base;
  Params params;
  guint64 limit;       /* of device bytes held */
  guint64 max_chunk;   /* 0: the device is too small; every request fails */
  guint64 first, next; /* sizes of the first chunk and of the others; as built max_chunk */
  guint64 capacity;    /* largest number of chunks */
  guint64 chunk_bytes; /* of all chunks */
  GArray *largest;     /* guint64, by chunk */
  GArray *groups;      /* guint64: per GROUP chunks, the maximum of `largest` */
  guint64 last;        /* the chunk that served last */
  guint64 releases;    /* number of releases so far: orders blocks of one size */
  guint64 direct_blocks, direct_bytes;
  GememTree pool, pieces;
  GememSlab block_slab, piece_slab;
} BestFit;

extern const GememAllocatorClass gemem_paddle_best_fit_class;

#define PIECE_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, Piece, by_address)

static guint64
address_of (const GememNeighbour *block)
{
  return ((const Block *) block)->address;
}

/* ---- pieces */

static Piece *
add_piece (BestFit *self, guint64 bytes)
{
  const guint64 address = gemem_paddle_malloc (self->base.device, bytes, 0, self->limit);
  Piece *piece;

  if (address == 0)
    return NULL;
  piece = gemem_slab_alloc (&self->piece_slab);
  piece->bytes = bytes;
  piece->by_address.address = address;
  piece->first.address = address;
  piece->first.place.node.size = bytes;
  gemem_tree_insert (&self->pieces, &piece->by_address);
  return piece;
}

static void
drop_piece (BestFit *self, Piece *piece)
{
  gemem_tree_remove (&self->pieces, &piece->by_address);
  gemem_device_free (self->base.device, piece->by_address.address, piece->bytes);
  gemem_slab_free (&self->piece_slab, piece);
}

/* ---- free blocks */

static guint64 *
largest_of (const BestFit *self, guint64 chunk)
{
  return &g_array_index (self->largest, guint64, chunk);
}

static guint64 *
group_of (const BestFit *self, guint64 chunk)
{
  return &g_array_index (self->groups, guint64, chunk / GROUP);
}

static void
release (BestFit *self, GememNeighbour *block)
{
  guint64 *largest = largest_of (self, block->node.group),
          *group = group_of (self, block->node.group);

  block->free = TRUE;
  block->node.address = ++self->releases;
  gemem_tree_insert (&self->pool, &block->node);
  *largest = MAX (*largest, block->node.size);
  *group = MAX (*group, *largest);
}

/* Updates the group of @chunk after the chunk's largest free block fell from @before. */
static void
lower_group (BestFit *self, guint64 chunk, guint64 before)
{
  guint64 *group = group_of (self, chunk), first = chunk - chunk % GROUP;

  if (*group != before)
    return;
  *group = 0;
  for (guint64 i = first; i < MIN (first + GROUP, self->largest->len); i++)
    *group = MAX (*group, *largest_of (self, i));
}

static void
take (BestFit *self, GememNeighbour *block)
{
  guint64 *largest = largest_of (self, block->node.group);
  const gboolean was_largest = block->node.size == *largest;

  gemem_tree_remove (&self->pool, &block->node);
  block->free = FALSE;
  if (was_largest)
    {
      const GememTreeNode *best = gemem_tree_before (&self->pool, block->node.group, G_MAXUINT64,
                                                     G_MAXUINT64);
      *largest = best != NULL && best->group == block->node.group ? best->size : 0;
      lower_group (self, block->node.group, block->node.size);
    }
}

/* Cuts @block to @size bytes and frees the rest, even a single byte. */
static void
split (BestFit *self, GememNeighbour *block, guint64 size)
{
  GememNeighbour *rest;

  if (block->node.size == size)
    return;
  rest = gemem_slab_alloc (&self->block_slab);
  gemem_neighbours_split (block, rest, block->node.size - size);
  ((Block *) rest)->address = address_of (block) + size;
  release (self, rest);
}

/* ---- chunks */

static gboolean
is_documented (const BestFit *self)
{
  return self->params.chunk.rules == GEMEM_RULES_DOCUMENTED;
}

/* Adds a chunk for @size bytes, which as built may not hold them. */
static gboolean
add_chunk (BestFit *self, guint64 size)
{
  static const guint64 nothing = 0;
  const guint64 bytes = self->largest->len == 0 ? self->first : self->next;
  Piece *piece = add_piece (self, is_documented (self) ? MAX (bytes, size) : bytes);

  if (piece == NULL)
    return FALSE;
  self->chunk_bytes += piece->bytes;
  piece->first.place.node.group = self->largest->len;
  if (self->largest->len % GROUP == 0)
    g_array_append_val (self->groups, nothing);
  g_array_append_val (self->largest, nothing);
  release (self, &piece->first.place);
  return TRUE;
}

/* The first chunk in [@from, @end) with a free block of @size bytes, or @end. */
static guint64
find_space (const BestFit *self, guint64 from, guint64 end, guint64 size)
{
  while (from < end && *largest_of (self, from) < size)
    from += from % GROUP == 0 && *group_of (self, from) < size ? GROUP : 1;
  return MIN (from, end);
}

/* AutoIncrement: searches the chunk that served last, then the others in a circle, then a new
 * chunk.  Returns the smallest free block of @size bytes there, split; NULL: none. */
static GememNeighbour *
serve (BestFit *self, guint64 size)
{
  const guint64 n = self->largest->len;
  guint64 chunk = find_space (self, self->last, n, size);
  GememNeighbour *block;

  if (chunk == n)
    {
      chunk = find_space (self, 0, self->last, size);
      if (chunk == self->last)
        chunk = n;
    }
  if (chunk == n
      && (n == self->capacity || !add_chunk (self, size) || *largest_of (self, n) < size))
    return NULL;
  block = GEMEM_NEIGHBOUR_OF (gemem_tree_fit (&self->pool, chunk, size));
  take (self, block);
  split (self, block, size);
  self->last = chunk;
  return block;
}

/* ---- events */

static gboolean
serve_pooled (BestFit *self, guint64 request, GememBlock *result)
{
  const guint64 size = request + ALIGNMENT;
  GememNeighbour *block = serve (self, size);
  guint64 offset;

  if (block == NULL && self->params.retry_time != 0)
    {
      self->base.device->now +=
          self->params.retry_time; /* one thread: no block is freed meanwhile */
      block = serve (self, size);
    }
  if (block == NULL)
    return FALSE;
  offset = -address_of (block) % ALIGNMENT;
  *result = (GememBlock){ .address = address_of (block) + offset,
                          .size = size - offset,
                          .handle = block };
  return TRUE;
}

static gboolean
serve_directly (BestFit *self, guint64 request, GememBlock *result)
{
  Piece *piece = add_piece (self, request);

  if (piece == NULL)
    return FALSE;
  piece->first.place.node.group = G_MAXUINT64;
  self->direct_blocks++;
  self->direct_bytes += request;
  *result = (GememBlock){ .address = piece->first.address,
                          .size = request,
                          .handle = &piece->first.place };
  return TRUE;
}

static gboolean
best_fit_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  BestFit *self = (BestFit *) allocator;

  if (request->size == 0) /* ZeroSizeAllocator */
    {
      *result = (GememBlock){ 0 };
      return TRUE;
    }
  if (self->max_chunk == 0)
    return FALSE;
  return request->size < self->max_chunk ? serve_pooled (self, request->size, result)
                                         : serve_directly (self, request->size, result);
}

static void
best_fit_free (GememAllocator *allocator, const GememBlock *freed,
               G_GNUC_UNUSED gboolean completion_follows)
{
  BestFit *self = (BestFit *) allocator;
  GememNeighbour *block = freed->handle;

  if (block == NULL)
    return;
  if (block->node.group == G_MAXUINT64)
    {
      self->direct_blocks--;
      self->direct_bytes -= block->node.size;
      drop_piece (self, (Piece *) block);
      return;
    }
  if (block->previous != NULL && block->previous->free)
    {
      block = block->previous;
      take (self, block);
      gemem_neighbours_merge (block, &self->block_slab);
    }
  if (block->next != NULL && block->next->free)
    {
      take (self, block->next);
      gemem_neighbours_merge (block, &self->block_slab);
    }
  release (self, block);
}

static guint64
best_fit_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const BestFit *self = (const BestFit *) allocator;
  guint64 best = 0;

  for (guint i = 0; i < self->largest->len; i++)
    best = MAX (best, *largest_of (self, i));
  return best > ALIGNMENT ? best - ALIGNMENT : 0;
}

/* ---- questions */

static void
best_fit_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const BestFit *self = (const BestFit *) allocator;

  for (GememTreeNode *node = gemem_tree_first (&self->pieces); node != NULL;
       node = gemem_tree_next (node))
    {
      const Piece *piece = PIECE_OF (node);
      for (const GememNeighbour *block = &piece->first.place; block != NULL; block = block->next)
        {
          const guint64 offset = block->node.group == G_MAXUINT64 ? 0
                                                                  : -address_of (block) % ALIGNMENT;
          const GememSpan span = { .address = address_of (block),
                                   .size = block->node.size,
                                   .segment = node->address,
                                   .segment_size = piece->bytes,
                                   .state = block->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE,
                                   .user = block->free ? 0 : address_of (block) + offset };
          func (&span, data);
        }
    }
}

static gboolean
broken (GError **error, const GememNeighbour *block, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-best-fit: block 0x%" G_GINT64_MODIFIER "x of %" G_GUINT64_FORMAT
               " bytes: %s",
               address_of (block), block->node.size, what);
  return FALSE;
}

/* Checks the blocks of one piece; adds the free ones to *@free_blocks. */
static gboolean
check_piece (const BestFit *self, const Piece *piece, guint64 *free_blocks, GError **error)
{
  guint64 end = piece->by_address.address, largest = 0;
  const GememNeighbour *left = NULL;

  for (const GememNeighbour *block = &piece->first.place; block != NULL;
       left = block, block = block->next)
    {
      if (address_of (block) != end || block->previous != left
          || block->node.group != piece->first.place.node.group)
        return broken (error, block, "does not follow its left neighbour");
      if (block->free && left != NULL && left->free)
        return broken (error, block, "is free beside a free block");
      *free_blocks += block->free;
      largest = MAX (largest, block->free ? block->node.size : 0);
      end += block->node.size;
    }
  if (end != piece->by_address.address + piece->bytes)
    return broken (error, &piece->first.place, "and its neighbours do not cover the chunk");
  if (piece->first.place.node.group != G_MAXUINT64
      && largest != *largest_of (self, piece->first.place.node.group))
    return broken (error, &piece->first.place,
                   "begins a chunk whose largest free block is another than noted");
  if (piece->first.place.node.group != G_MAXUINT64
      && largest > *group_of (self, piece->first.place.node.group))
    return broken (error, &piece->first.place, "begins a chunk that has more room than its group");
  return TRUE;
}

static gboolean
best_fit_check (GememAllocator *allocator, GError **error)
{
  const BestFit *self = (const BestFit *) allocator;
  guint64 free_blocks = 0, bytes = 0;

  for (GememTreeNode *node = gemem_tree_first (&self->pieces); node != NULL;
       node = gemem_tree_next (node))
    {
      if (!check_piece (self, PIECE_OF (node), &free_blocks, error))
        return FALSE;
      bytes += PIECE_OF (node)->bytes;
    }
  if (gemem_tree_check (&self->pool) && gemem_tree_check (&self->pieces)
      && self->pool.count == free_blocks
      && self->pieces.count == self->largest->len + self->direct_blocks
      && self->largest->len <= self->capacity && bytes == self->chunk_bytes + self->direct_bytes
      && bytes <= allocator->device->held)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "paddle-best-fit: %" G_GUINT64_FORMAT " free blocks, %" G_GUINT64_FORMAT
               " in the pool; %u chunks and %" G_GUINT64_FORMAT
               " blocks of the device make %" G_GUINT64_FORMAT " bytes",
               free_blocks, self->pool.count, self->largest->len, self->direct_blocks, bytes);
  return FALSE;
}

static void
best_fit_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const BestFit *self = (const BestFit *) allocator;

  func ("max_chunk", self->max_chunk, "B", data);
  func ("chunks", self->largest->len, "", data);
  func ("chunks_allowed", self->capacity, "", data);
  func ("free_blocks", self->pool.count, "", data);
  func ("direct_blocks", self->direct_blocks, "", data);
  func ("direct_bytes", self->direct_bytes, "B", data);
}

/* ---- creation */

/* The sizes of chunks. */
static void
measure_chunks (BestFit *self, const GememPaddleMemory *memory)
{
  self->max_chunk = self->params.max_chunk;
  if (self->max_chunk == 0
      && !gemem_paddle_max_chunk_size (&self->params.chunk, memory, &self->max_chunk))
    self->max_chunk = 0;
  if (self->max_chunk <= ALIGNMENT)
    self->max_chunk = 0;
  self->first = self->next = self->max_chunk;
  if (!is_documented (self) || self->params.max_chunk != 0)
    return;
  gemem_paddle_initial_size (&self->params.chunk, memory, &self->first);
  gemem_paddle_reallocate_size (&self->params.chunk, memory, &self->next);
}

/* Derives size and number of the chunks from what cudaMemGetInfo reports now. */
static void
measure (BestFit *self)
{
  GememDeviceInfo info;
  GememPaddleMemory memory;

  gemem_device_info (self->base.device, &info);
  memory.total = self->params.total != 0 ? self->params.total : info.total;
  memory.available = self->params.available != 0 ? self->params.available : info.free;
  memory.available = MIN (memory.available, memory.total);
  measure_chunks (self, &memory);
  self->capacity = self->params.chunks;
  if (self->capacity == 0 && self->max_chunk != 0)
    self->capacity = is_documented (self) ? G_MAXUINT32
                                          : MIN (memory.available / self->max_chunk, G_MAXUINT32);
}

/* What @own says of chunks, checked. */
static gboolean
resolve (const Params *own, GememPaddleChunkRule *rule, GError **error)
{
  const gboolean since_1_4 = own->chunk.version >= GEMEM_PADDLE_1_4;
  const GememFlag flags[] = {
    { "initial_gpu_memory_in_mb", gemem_paddle_size_is_set (own->chunk.initial), since_1_4,
      "exists since 1.4; choose version=1.4 or 1.5" },
    { "reallocate_gpu_memory_in_mb", gemem_paddle_size_is_set (own->chunk.reallocate), since_1_4,
      "exists since 1.4; choose version=1.4 or 1.5" },
  };

  *rule = own->chunk;
  return gemem_check_flags ("paddle-best-fit", flags, G_N_ELEMENTS (flags), error)
         && gemem_paddle_chunk_rule_resolve (rule, own->platform, "paddle-best-fit", error);
}

static void
best_fit_notes (gconstpointer given, GememNoteFunc func, gpointer data)
{
  static const char *const names[] = { "initial_gpu_memory_in_mb", "reallocate_gpu_memory_in_mb" };
  const Params *own = given;
  GememPaddleChunkRule rule;
  const gboolean valid = resolve (own, &rule, NULL);
  const guint64 sizes[] = { rule.initial, rule.reallocate };
  const guint smaller = sizes[0] > sizes[1];
  char size[GEMEM_FORMAT_MAX], larger[GEMEM_FORMAT_MAX];
  g_autofree char *note = NULL;

  if (!valid || rule.rules == GEMEM_RULES_DOCUMENTED || own->max_chunk != 0 || sizes[0] == sizes[1])
    return;
  if (sizes[smaller] != 0)
    note = g_strdup_printf ("paddle-best-fit: %s=%s has no effect: every chunk has the larger of "
                            "the two sizes, %s; leave it out",
                            names[smaller], gemem_format_size (size, sizes[smaller]),
                            gemem_format_size (larger, sizes[!smaller]));
  else
    note = g_strdup_printf (
        "paddle-best-fit: %s=%s has no effect where it is less than what "
        "fraction_of_gpu_memory_to_use gives, for every chunk has the larger size; set %s, too",
        names[!smaller], gemem_format_size (size, sizes[!smaller]), names[smaller]);
  func (note, data);
}

static GememAllocator *
best_fit_create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *own = data;
  GememPaddleChunkRule rule;
  BestFit *self;

  if (!resolve (own, &rule, error))
    return NULL;
  self = g_new0 (BestFit, 1);
  self->base.klass = &gemem_paddle_best_fit_class;
  self->base.device = device;
  self->params = *own;
  self->params.chunk = rule;
  self->limit = own->total != 0 ? own->total : GEMEM_UNLIMITED;
  self->largest = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->groups = g_array_new (FALSE, FALSE, sizeof (guint64));
  gemem_slab_init (&self->block_slab, sizeof (Block));
  gemem_slab_init (&self->piece_slab, sizeof (Piece));
  measure (self);
  /* A single chunk is taken at creation; if the device refuses, at the first request. */
  if (self->max_chunk != 0 && self->capacity == 1)
    add_chunk (self, self->max_chunk);
  return &self->base;
}

static void
best_fit_destroy (GememAllocator *allocator)
{
  BestFit *self = (BestFit *) allocator;
  GememTreeNode *node;

  while ((node = gemem_tree_first (&self->pieces)) != NULL)
    drop_piece (self, PIECE_OF (node));
  g_array_unref (self->largest);
  g_array_unref (self->groups);
  gemem_tree_clear (&self->pool);
  gemem_tree_clear (&self->pieces);
  gemem_slab_clear (&self->block_slab);
  gemem_slab_clear (&self->piece_slab);
  g_free (self);
}

const GememAllocatorClass gemem_paddle_best_fit_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "paddle-best-fit",
  .summary = "PaddlePaddle's chunked BestFit: strategy naive_best_fit until 1.5, best fit in "
             "chunks that never go back",
  .origin = "PaddlePaddle 1.2-1.5; paddle.md section 2.10",
  .known_as = "BestFitAllocator|AutoIncrementAllocator|naive_best_fit",
  .alignment = ALIGNMENT,
  .params = params,
  .params_size = sizeof (Params),
  .notes = best_fit_notes,
  .create = best_fit_create,
  .alloc = best_fit_alloc,
  .free = best_fit_free,
  .prefetch = gemem_neighbours_prefetch,
  .largest_free = best_fit_largest_free,
  .walk = best_fit_walk,
  .check = best_fit_check,
  .destroy = best_fit_destroy,
  .report.stats = best_fit_stats,
};
