/* fixed-size.c - `rmm-fixed-size`: fixed_size_memory_resource of the RAPIDS memory manager.
 *
 * All blocks have one size, and larger requests are refused.  Each stream has a list of free
 * blocks: a free appends, a request takes the first.  A request whose stream has none takes the
 * first block of the first other stream that has one, else a chunk of `blocks_to_preallocate`
 * blocks comes from the upstream, in order of address.  Nothing is returned before the end.
 *
 * A block is freed on the stream of the last STREAM_FREE that names it, else on that
 * of its request.
 *
 * Invariants: every block of a chunk is live or in exactly one list.
 * Cost: O(1) per operation, and per stream on a miss; a chunk costs its number of blocks.
 * Origin: peers.md section 1c.3.
 */
#include "config.h"

#include "allocators/rmm/streams.h"
#include "allocators/rmm/upstream.h"
#include "base/units.h"

#define WHAT "rmm-fixed-size"

typedef struct
{
  GememRmmParams rmm;
  guint64 block_size, count;
} Params;

static const GememParam params[] = {
  { .name = "block_size",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1MiB",
    .min = "1B",
    .max = "1TiB",
    .sweep = "256KiB|1MiB|4MiB",
    .offset = G_STRUCT_OFFSET (Params, block_size),
    .help = "Bytes of every block, rounded up to 256; larger requests are refused." },
  { .name = "blocks_to_preallocate",
    .type = GEMEM_PARAM_UINT,
    .default_text = "128",
    .min = "1",
    .max = "1048576",
    .sweep = "16|128|1024",
    .offset = G_STRUCT_OFFSET (Params, count),
    .help = "Blocks that are obtained together, at the beginning and whenever there is none." },
  GEMEM_RMM_ROWS (Params, rmm, "|rmm-pool|rmm-arena", "|rmm-binning|rmm-limiting"),
  { NULL },
};

typedef struct _Block Block;
struct _Block
{
  guint64 address;
  union
  {
    Block *next; /* free: in its list */
    guint64 to;  /* live and leaving: the stream on which it will be freed */
  };
  guint32 list; /* the stream's number */
  guint8 free, leaving;
};

typedef struct
{
  Block *first, *last;
} List;

typedef struct
{
  guint64 address;
  Block *blocks;
} Chunk;

typedef struct
{
  GememAllocator base;
  GememRmmUpstream upstream;
  guint64 block_size, count; /* blocks of a chunk */
  GArray *chunks;            /* Chunk */
  GArray *lists;             /* List by number of the stream */
  guint32 lowest;            /* lists below it are empty */
  GememRmmStreams streams;
  guint64 free, live, taken; /* blocks */
} FixedSize;

static guint64
chunk_size (const FixedSize *self)
{
  return self->block_size * self->count;
}

/* The list of @stream, which is made if it is new. */
static guint32
list_of (FixedSize *self, guint64 stream)
{
  const guint64 number = gemem_rmm_streams_number (&self->streams, stream);

  if (number >= self->lists->len)
    g_array_set_size (self->lists, (guint) number + 1);
  return (guint32) number;
}

static void
append (FixedSize *self, Block *block)
{
  List *list = &g_array_index (self->lists, List, block->list);

  block->free = TRUE;
  block->next = NULL;
  if (list->first == NULL)
    list->first = block;
  else
    list->last->next = block;
  list->last = block;
  self->lowest = MIN (self->lowest, block->list);
  self->free++;
}

static Block *
take_first (FixedSize *self, guint32 number)
{
  List *list = &g_array_index (self->lists, List, number);
  Block *block = list->first;

  if (block == NULL)
    return NULL;
  list->first = block->next;
  block->free = FALSE;
  self->free--;
  return block;
}

/* Adds a chunk to list @number; FALSE: the upstream refuses. */
static gboolean
add_chunk (FixedSize *self, guint32 number, guint64 stream)
{
  Chunk chunk = { .address = gemem_rmm_upstream_malloc (&self->upstream, chunk_size (self),
                                                        gemem_rmm_stream_of (stream)) };

  if (chunk.address == 0)
    return FALSE;
  chunk.blocks = g_new0 (Block, self->count);
  g_array_append_val (self->chunks, chunk);
  for (guint64 i = 0; i < self->count; i++)
    {
      chunk.blocks[i].address = chunk.address + i * self->block_size;
      chunk.blocks[i].list = number;
      append (self, &chunk.blocks[i]);
    }
  return TRUE;
}

static Block *
obtain (FixedSize *self, guint32 own, guint64 stream)
{
  Block *block = take_first (self, own);

  if (G_LIKELY (block != NULL))
    return block;
  for (; block == NULL && self->free > 0; self->lowest += block == NULL)
    block = take_first (self, self->lowest);
  self->taken += block != NULL;
  if (block == NULL && add_chunk (self, own, stream))
    block = take_first (self, own);
  return block;
}

static gboolean
fixed_size_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  FixedSize *self = (FixedSize *) allocator;
  Block *block;
  guint32 own;

  if (G_UNLIKELY (self->base.broken != NULL))
    return FALSE;
  own = list_of (self, request->stream); /* a stream counts from its first request, even refused */
  if (request->size > self->block_size)
    return FALSE;
  block = obtain (self, own, request->stream);
  if (block == NULL)
    return FALSE;
  block->list = own;
  self->live++;
  *result = (GememBlock){ block->address, self->block_size, block };
  return TRUE;
}

static void
fixed_size_free (GememAllocator *allocator, const GememBlock *freed,
                 G_GNUC_UNUSED gboolean completion_follows)
{
  FixedSize *self = (FixedSize *) allocator;
  Block *block = freed->handle;

  if (block->leaving)
    block->list = list_of (self, block->to);
  block->leaving = FALSE;
  self->live--;
  append (self, block);
}

static void
fixed_size_stream_free (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *block,
                        guint64 stream)
{
  ((Block *) block->handle)->to = stream;
  ((Block *) block->handle)->leaving = TRUE;
}

static guint64
fixed_size_largest_free (GememAllocator *allocator, guint64 stream)
{
  const FixedSize *self = (const FixedSize *) allocator;

  return self->free > 0
                 || (self->base.broken == NULL
                     && gemem_rmm_upstream_largest_free (&self->upstream, stream)
                            >= chunk_size (self))
             ? self->block_size
             : 0;
}

static void
fixed_size_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const FixedSize *self = (const FixedSize *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (guint i = 0; i < self->chunks->len; i++)
    {
      const Chunk *chunk = &g_array_index (self->chunks, Chunk, i);

      for (guint64 k = 0; k < self->count; k++)
        {
          const Block *block = &chunk->blocks[k];
          const GememSpan span = { .address = block->address,
                                   .size = self->block_size,
                                   .segment = chunk->address,
                                   .segment_size = chunk_size (self),
                                   .state = block->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE,
                                   .user = block->address };

          g_array_append_val (spans, span);
        }
    }
  gemem_rmm_upstream_walk (&self->upstream, spans, func, data);
}

static gboolean
fixed_size_check (GememAllocator *allocator, GError **error)
{
  const FixedSize *self = (const FixedSize *) allocator;
  guint64 listed = 0;
  gboolean sound = TRUE;

  for (guint i = 0; i < self->lists->len; i++)
    for (const Block *block = g_array_index (self->lists, List, i).first; block != NULL && sound;
         block = block->next)
      sound = block->free && block->list == i && ++listed <= self->free;
  if (sound && listed == self->free && self->free + self->live == self->chunks->len * self->count)
    return gemem_rmm_upstream_check (&self->upstream, error);
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       WHAT ": the lists of free blocks, the live blocks and the chunks differ");
  return FALSE;
}

static void
fixed_size_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const FixedSize *self = (const FixedSize *) allocator;

  func ("pool_size", self->chunks->len * chunk_size (self), "B", data);
  func ("block_size", self->block_size, "B", data);
  func ("upstream_allocations", self->chunks->len, "", data);
  func ("live_blocks", self->live, "", data);
  func ("free_blocks", self->free, "", data);
  func ("streams", self->streams.count, "", data);
  func ("taken_from_other_streams", self->taken, "", data);
  gemem_rmm_upstream_stats (&self->upstream, func, data);
}

static GememAllocator *
fixed_size_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  FixedSize *self = g_new0 (FixedSize, 1);

  self->base.klass = &gemem_rmm_fixed_size_class;
  self->base.device = device;
  if (!gemem_rmm_upstream_open (&self->upstream, &own->rmm, &self->base, error))
    {
      g_free (self);
      return NULL;
    }
  self->block_size = gemem_align_up (own->block_size, GEMEM_RMM_QUANTUM);
  self->count = own->count;
  self->chunks = g_array_new (FALSE, FALSE, sizeof (Chunk));
  self->lists = g_array_new (FALSE, TRUE, sizeof (List));
  gemem_rmm_streams_init (&self->streams);
  if (self->base.broken == NULL && !add_chunk (self, list_of (self, 0), 0))
    gemem_rmm_cannot_begin (&self->base, self->upstream.resource,
                            "block_size * blocks_to_preallocate", chunk_size (self));
  return &self->base;
}

GememAllocator *
gemem_rmm_fixed_size_new (guint64 block_size, guint64 count, int version, GememDevice *device)
{
  const Params own = { { (char *) "direct", version }, block_size, count };

  return fixed_size_create (&own, device, NULL);
}

static void
fixed_size_destroy (GememAllocator *allocator)
{
  FixedSize *self = (FixedSize *) allocator;

  for (guint i = 0; i < self->chunks->len; i++)
    {
      Chunk *chunk = &g_array_index (self->chunks, Chunk, i);

      gemem_rmm_upstream_free (&self->upstream, chunk->address, chunk_size (self));
      g_free (chunk->blocks);
    }
  gemem_rmm_upstream_close (&self->upstream);
  g_array_unref (self->chunks);
  g_array_unref (self->lists);
  gemem_rmm_streams_clear (&self->streams);
  g_free (self);
}

const GememAllocatorClass gemem_rmm_fixed_size_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = WHAT,
  .summary = "RMM's fixed_size_memory_resource: blocks of one size, first in, first out per stream",
  .origin = "RMM 24.12 to 26.10 (peers.md 1c.3)",
  .known_as = "fixed_size_memory_resource|FixedSizeMemoryResource",
  .alignment = GEMEM_RMM_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = fixed_size_create,
  .alloc = fixed_size_alloc,
  .free = fixed_size_free,
  .streams.free = fixed_size_stream_free,
  .largest_free = fixed_size_largest_free,
  .walk = fixed_size_walk,
  .check = fixed_size_check,
  .destroy = fixed_size_destroy,
  .report.stats = fixed_size_stats,
};
