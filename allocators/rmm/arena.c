/* arena.c - `rmm-arena`: arena_memory_resource of the RAPIDS memory manager.
 *
 * One upstream allocation, made at the beginning, is all the memory there is.  It is divided into
 * superblocks of at least 1 MiB, which belong to the global arena or to the arena of a stream.  A
 * request of up to 1 MiB takes the lowest free range in the superblocks of its stream that is long
 * enough, else the first superblock of the global arena that has one becomes the stream's; a larger
 * one is served by the global arena itself.  An empty superblock that is taken is cut to what is
 * needed, at least 1 MiB, where at least 1 MiB remains; every other is taken whole.  On failure all
 * streams give all their superblocks to the global arena, once; otherwise a stream keeps them.
 *
 * A block is freed on the stream of the last STREAM_FREE that names it, else on that of its
 * request; it returns to the superblock in which it lies.  A free that looks beyond the arena of
 * its stream waits for the stream first.
 *
 * The superblocks of an arena are searched in the order of their addresses, and so are the free
 * ranges in each: together that is the lowest free range of the arena.
 *
 * Invariants: the superblocks cover the memory, and their pieces each of them, in order of address;
 * two free pieces of a superblock are not neighbours; the gaps of an arena are the free pieces of
 * its superblocks; two neighbouring superblocks of the global arena are not both empty.
 * Cost: O(log free pieces) per operation; O(free pieces) where superblocks change hands.
 * Origin: peers.md section 1c.2.
 */
#include "config.h"

#include "allocators/rmm/streams.h"
#include "allocators/rmm/upstream.h"
#include "base/gaps.h"
#include "base/slab.h"
#include "base/units.h"

#define WHAT "rmm-arena"
#define SUPERBLOCK GEMEM_MIB /* least size; also the largest request that a stream's arena serves */
#define LARGEST_CLASS (256 * GEMEM_GIB)

typedef struct
{
  GememRmmParams rmm;
  guint64 size;
  gboolean classes, dump;
} Params;

static const GememParam params[] = {
  { .name = "arena_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "half",
    .min = "1MiB",
    .sweep = "half|1GiB|4GiB",
    .special = "half=0",
    .offset = G_STRUCT_OFFSET (Params, size),
    .help = "Bytes that it obtains at the beginning, and never more, rounded down to 256; half: of "
            "the device's free memory." },
  { .name = "use_size_classes",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "RMM_ARENA_USE_SIZE_CLASSES|size_classes",
    .offset = G_STRUCT_OFFSET (Params, classes),
    .help = "Round requests up to size classes, four for each power of two, as RMM does when it is "
            "built with RMM_ARENA_USE_SIZE_CLASSES." },
  { .name = "dump_log_on_failure",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Params, dump),
    .help = "RMM then writes its state to a log when it is out of memory; without effect here." },
  GEMEM_RMM_ROWS (Params, rmm, "|rmm-pool", "|rmm-binning|rmm-limiting"),
  { NULL },
};

typedef struct _Superblock Superblock;
typedef struct _Piece Piece;

struct _Piece /* a block, or a free range; `gap` has its bounds */
{
  GememGap gap;
  Piece *previous, *next; /* in the superblock */
  Superblock *home;
  guint64 stream; /* a block: that frees it */
  guint32 arena;  /* number of that stream's arena */
  gboolean free;
};

struct _Superblock
{
  Superblock *previous, *next; /* by address, of all arenas */
  Piece *first;
  guint32 owner; /* number of the arena */
};

typedef struct
{
  GememAllocator base;
  GememRmmUpstream upstream;
  gboolean classes;
  guint64 wanted;      /* bytes to obtain; 0: half of what is free */
  guint64 start, size; /* of the upstream allocation */
  Superblock *superblocks;
  GememSlab piece_slab, superblock_slab;
  GArray *arenas; /* GememGap *: roots; 0: the global arena, then a stream's by its number */
  GememRmmStreams streams;
  guint64 live, defragmented;
} Arena;

extern const GememAllocatorClass gemem_rmm_arena_class;

/* ---- pieces */

static GememGap **
root_of (const Arena *self, guint32 arena)
{
  return &g_array_index (self->arenas, GememGap *, arena);
}

static guint64
size_of (const Piece *piece)
{
  return piece->gap.end - piece->gap.start;
}

static void
make_free (Arena *self, Piece *piece)
{
  piece->free = TRUE;
  gemem_gaps_insert (root_of (self, piece->home->owner), &piece->gap);
}

static void
make_used (Arena *self, Piece *piece)
{
  gemem_gaps_remove (root_of (self, piece->home->owner), &piece->gap);
  piece->free = FALSE;
}

/* Takes @piece out of its superblock; its range belongs to a neighbour. */
static void
drop (Arena *self, Piece *piece)
{
  if (piece->next != NULL)
    piece->next->previous = piece->previous;
  if (piece->previous != NULL)
    piece->previous->next = piece->next;
  else
    piece->home->first = piece->next;
  gemem_slab_free (&self->piece_slab, piece);
}

/* Frees @piece within its superblock: its neighbours there grow, or it becomes a free range. */
static void
release (Arena *self, Piece *piece)
{
  Piece *low = piece->previous, *high = piece->next;

  if (high != NULL && high->free)
    {
      if (low == NULL || !low->free)
        {
          high->gap.start = piece->gap.start;
          gemem_gaps_refresh (*root_of (self, high->home->owner), high->gap.start);
          drop (self, piece);
          return;
        }
      make_used (self, high);
      piece->gap.end = high->gap.end;
      drop (self, high);
    }
  if (low == NULL || !low->free)
    {
      make_free (self, piece);
      return;
    }
  low->gap.end = piece->gap.end;
  gemem_gaps_refresh (*root_of (self, low->home->owner), low->gap.start);
  drop (self, piece);
}

/* Allocates the first @size bytes of the free range @piece. */
static Piece *
carve (Arena *self, Piece *piece, guint64 size)
{
  Piece *used;

  if (size_of (piece) == size)
    {
      make_used (self, piece);
      return piece;
    }
  used = gemem_slab_alloc (&self->piece_slab);
  used->gap.start = piece->gap.start;
  used->gap.end = piece->gap.start += size;
  used->home = piece->home;
  used->previous = piece->previous;
  used->next = piece;
  if (used->previous != NULL)
    used->previous->next = used;
  else
    used->home->first = used;
  piece->previous = used;
  gemem_gaps_refresh (*root_of (self, piece->home->owner), piece->gap.start);
  return used;
}

/* ---- superblocks */

static gboolean
is_empty (const Superblock *block)
{
  return block->first->free && block->first->next == NULL;
}

static void
give (Arena *self, Superblock *block, guint32 owner)
{
  for (Piece *piece = block->first; piece != NULL; piece = piece->next)
    if (piece->free)
      {
        gemem_gaps_remove (root_of (self, block->owner), &piece->gap);
        gemem_gaps_insert (root_of (self, owner), &piece->gap);
      }
  block->owner = owner;
}

static gboolean
may_merge (const Superblock *low, const Superblock *high)
{
  return low != NULL && high != NULL && low->owner == 0 && high->owner == 0 && is_empty (low)
         && is_empty (high);
}

/* Merges @low with the next superblock; both are empty and of the global arena. */
static void
merge (Arena *self, Superblock *low)
{
  Superblock *high = low->next;

  make_used (self, high->first);
  low->first->gap.end = high->first->gap.end;
  gemem_gaps_refresh (*root_of (self, 0), low->first->gap.start);
  low->next = high->next;
  if (low->next != NULL)
    low->next->previous = low;
  gemem_slab_free (&self->piece_slab, high->first);
  gemem_slab_free (&self->superblock_slab, high);
}

/* Merges @block, of the global arena, with its neighbours where they are empty. */
static void
settle (Arena *self, Superblock *block)
{
  if (may_merge (block, block->next))
    merge (self, block);
  if (may_merge (block->previous, block))
    merge (self, block->previous);
}

/* Makes the free range [@start, @end) the only piece of @block, of the global arena. */
static void
fill (Arena *self, Superblock *block, guint64 start, guint64 end)
{
  block->first = gemem_slab_alloc (&self->piece_slab);
  block->first->gap.start = start;
  block->first->gap.end = end;
  block->first->home = block;
  make_free (self, block->first);
}

/* Cuts @block, empty and of the global arena, behind its first @size bytes. */
static void
split (Arena *self, Superblock *block, guint64 size)
{
  Superblock *tail = gemem_slab_alloc (&self->superblock_slab);
  GememGap *gap = &block->first->gap;
  const guint64 end = gap->end;

  gap->end = gap->start + size;
  gemem_gaps_refresh (*root_of (self, 0), gap->start);
  fill (self, tail, gap->end, end);
  tail->previous = block;
  tail->next = block->next;
  if (tail->next != NULL)
    tail->next->previous = tail;
  block->next = tail;
}

/* A free piece of at least @size bytes in the first superblock of the global arena that has one,
 * which is cut where it is empty; NULL: none. */
static Piece *
global_first_fit (Arena *self, guint64 size)
{
  Piece *piece = (Piece *) gemem_gaps_lowest (*root_of (self, 0), size);
  const guint64 least = MAX (SUPERBLOCK, size);

  if (piece != NULL && is_empty (piece->home) && size_of (piece) >= least + SUPERBLOCK)
    split (self, piece->home, least);
  return piece;
}

/* Every stream gives all its superblocks to the global arena. */
static void
defragment (Arena *self)
{
  gemem_device_sync (self->base.device);
  self->defragmented++;
  self->base.retries++;
  for (Superblock *block = self->superblocks; block != NULL; block = block->next)
    if (block->owner != 0)
      give (self, block, 0);
  for (Superblock *block = self->superblocks; block != NULL; block = block->next)
    while (may_merge (block, block->next))
      merge (self, block);
}

/* ---- the class */

/* The number of the arena of @stream. */
static guint32
arena_of (Arena *self, guint64 stream)
{
  const guint32 number = (guint32) gemem_rmm_streams_number_exactly (&self->streams, stream) + 1;

  if (number >= self->arenas->len)
    g_array_set_size (self->arenas, number + 1);
  return number;
}

/* The size class of a request; beyond the largest more than there can be. */
static guint64
class_of (guint64 size)
{
  guint64 step;

  if (size > LARGEST_CLASS)
    return G_MAXUINT64;
  if (size <= 2 * GEMEM_KIB)
    return gemem_align_up (size, GEMEM_RMM_QUANTUM);
  if (size > 48 * GEMEM_KIB && size <= 64 * GEMEM_KIB)
    return size <= 54 * GEMEM_KIB ? 54 * GEMEM_KIB : 64 * GEMEM_KIB;
  step = G_GUINT64_CONSTANT (1) << (g_bit_storage (size - 1) - 3);
  return gemem_align_up (size, step);
}

static Piece *
obtain (Arena *self, guint64 size, guint32 own)
{
  Piece *piece = NULL;

  if (size <= SUPERBLOCK)
    piece = (Piece *) gemem_gaps_lowest (*root_of (self, own), size);
  if (piece == NULL)
    {
      piece = global_first_fit (self, size);
      if (piece != NULL && size <= SUPERBLOCK)
        give (self, piece->home, own);
    }
  return piece != NULL ? carve (self, piece, size) : NULL;
}

/* The bytes to obtain: half of the device's free memory where none are given. */
static guint64
size_to_obtain (const Arena *self)
{
  GememDeviceInfo info;

  if (self->wanted != 0)
    return self->wanted;
  gemem_device_info (self->base.device, &info);
  return MIN (info.free / 2, G_MAXINT64) / GEMEM_RMM_QUANTUM * GEMEM_RMM_QUANTUM;
}

/* A size below a superblock, which RMM refuses too, is not asked for. */
static void
begin (Arena *self)
{
  const guint64 size = size_to_obtain (self);

  if (size >= SUPERBLOCK)
    self->start = gemem_rmm_upstream_malloc (&self->upstream, size, 0);
  if (self->start == 0)
    {
      gemem_rmm_cannot_begin (&self->base, self->upstream.resource, "arena_size", size);
      return;
    }
  self->size = size;
  self->superblocks = gemem_slab_alloc (&self->superblock_slab);
  fill (self, self->superblocks, self->start, self->start + self->size);
}

static gboolean
arena_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Arena *self = (Arena *) allocator;
  guint64 size;
  guint32 own;
  Piece *piece;

  if (request->size > G_MAXINT64 || self->base.broken != NULL)
    return FALSE;
  size = self->classes ? class_of (MAX (request->size, 1))
                       : gemem_align_up (MAX (request->size, 1), GEMEM_RMM_QUANTUM);
  own = arena_of (self, request->stream);
  piece = obtain (self, size, own);
  if (piece == NULL)
    {
      defragment (self);
      piece = obtain (self, size, own);
    }
  if (piece == NULL)
    return FALSE;
  piece->stream = request->stream;
  piece->arena = own;
  self->live += size;
  *block = (GememBlock){ piece->gap.start, size, piece };
  return TRUE;
}

static void
wait_for (Arena *self, guint64 stream)
{
  gemem_device_stream_sync (self->base.device, stream != GEMEM_RMM_LEGACY ? stream : 0);
}

static void
arena_free (GememAllocator *allocator, const GememBlock *block,
            G_GNUC_UNUSED gboolean completion_follows)
{
  Arena *self = (Arena *) allocator;
  Piece *piece = block->handle;
  Superblock *home = piece->home;
  const gboolean large = block->size > SUPERBLOCK;

  /* a large one is looked for in the global arena, then as any other in its own, then everywhere */
  if (large)
    wait_for (self, piece->stream);
  if (home->owner != piece->arena && !(large && home->owner == 0))
    wait_for (self, piece->stream);
  self->live -= block->size;
  release (self, piece);
  if (home->owner == 0)
    settle (self, home);
}

static void
arena_stream_free (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Piece *piece = block->handle;

  piece->stream = stream;
  piece->arena = arena_of ((Arena *) allocator, stream);
}

static guint64
longest (const GememGap *root)
{
  return root != NULL ? root->longest : 0;
}

/* The largest size class up to @size. */
static guint64
class_within (guint64 size)
{
  guint64 low = 0, high = MIN (size, LARGEST_CLASS) / GEMEM_RMM_QUANTUM;

  while (low < high) /* in units of 256 bytes; classes do not fall as sizes rise */
    {
      const guint64 middle = high - (high - low) / 2;

      if (class_of (middle * GEMEM_RMM_QUANTUM) <= size)
        low = middle;
      else
        high = middle - 1;
    }
  return low * GEMEM_RMM_QUANTUM;
}

static guint64
arena_largest_free (GememAllocator *allocator, guint64 stream)
{
  Arena *self = (Arena *) allocator;
  const guint64 own = longest (*root_of (self, arena_of (self, stream)));
  const guint64 largest = MAX (longest (*root_of (self, 0)), MIN (own, SUPERBLOCK));

  return self->classes ? class_within (largest) : largest / GEMEM_RMM_QUANTUM * GEMEM_RMM_QUANTUM;
}

static void
arena_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Arena *self = (const Arena *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  for (const Superblock *block = self->superblocks; block != NULL; block = block->next)
    for (const Piece *piece = block->first; piece != NULL; piece = piece->next)
      {
        const GememSpan span = { .address = piece->gap.start,
                                 .size = size_of (piece),
                                 .segment = self->start,
                                 .segment_size = self->size,
                                 .state = piece->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE,
                                 .user = piece->gap.start };

        g_array_append_val (spans, span);
      }
  gemem_rmm_upstream_walk (&self->upstream, spans, func, data);
}

/* ---- check */

typedef struct
{
  guint64 end, live, free; /* bytes; bytes; pieces */
} Sums;

static gboolean
check_superblock (const Superblock *block, const Superblock *previous, Sums *sums)
{
  const Piece *before = NULL;

  if (block->previous != previous || block->first == NULL || may_merge (previous, block))
    return FALSE;
  for (const Piece *piece = block->first; piece != NULL; before = piece, piece = piece->next)
    {
      if (piece->home != block || piece->previous != before || piece->gap.start != sums->end
          || piece->gap.end <= piece->gap.start || (before != NULL && before->free && piece->free))
        return FALSE;
      sums->end = piece->gap.end;
      sums->free += piece->free;
      sums->live += piece->free ? 0 : size_of (piece);
    }
  return TRUE;
}

static gboolean
arena_check (GememAllocator *allocator, GError **error)
{
  const Arena *self = (const Arena *) allocator;
  const Superblock *previous = NULL;
  Sums sums = { self->start, 0, 0 };
  guint64 gaps = 0;
  gboolean sound = TRUE;

  for (const Superblock *block = self->superblocks; block != NULL && sound;
       previous = block, block = block->next)
    sound = check_superblock (block, previous, &sums);
  for (guint i = 0; i < self->arenas->len && sound; i++)
    {
      guint64 last = 0;

      sound = gemem_gaps_check (*root_of (self, i), TRUE, &last, &gaps);
    }
  if (sound && sums.end == self->start + self->size && sums.live == self->live && sums.free == gaps)
    return gemem_rmm_upstream_check (&self->upstream, error);
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       WHAT ": the superblocks, their pieces and the arenas differ");
  return FALSE;
}

static void
arena_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Arena *self = (const Arena *) allocator;
  guint64 all = 0, global = 0;

  for (const Superblock *block = self->superblocks; block != NULL; block = block->next)
    {
      all++;
      global += block->owner == 0;
    }
  func ("arena_size", self->size, "B", data);
  func ("allocated_bytes", self->live, "B", data);
  func ("superblocks", all, "", data);
  func ("global_superblocks", global, "", data);
  func ("streams", self->streams.count, "", data);
  func ("defragmentations", self->defragmented, "", data);
  gemem_rmm_upstream_stats (&self->upstream, func, data);
}

/* ---- creation */

static void
arena_destroy (GememAllocator *allocator)
{
  Arena *self = (Arena *) allocator;

  if (self->size != 0)
    gemem_rmm_upstream_free (&self->upstream, self->start, self->size);
  gemem_rmm_upstream_close (&self->upstream);
  gemem_slab_clear (&self->piece_slab);
  gemem_slab_clear (&self->superblock_slab);
  gemem_rmm_streams_clear (&self->streams);
  g_array_unref (self->arenas);
  g_free (self);
}

static GememAllocator *
arena_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  Arena *self = g_new0 (Arena, 1);

  self->base.klass = &gemem_rmm_arena_class;
  self->base.device = device;
  if (!gemem_rmm_upstream_open (&self->upstream, &own->rmm, &self->base, error))
    {
      g_free (self);
      return NULL;
    }
  self->classes = own->classes;
  self->arenas = g_array_new (FALSE, TRUE, sizeof (GememGap *));
  g_array_set_size (self->arenas, 1);
  gemem_slab_init (&self->piece_slab, sizeof (Piece));
  gemem_slab_init (&self->superblock_slab, sizeof (Superblock));
  gemem_rmm_streams_init (&self->streams);
  self->wanted = own->size / GEMEM_RMM_QUANTUM * GEMEM_RMM_QUANTUM;
  if (self->base.broken == NULL)
    begin (self);
  return &self->base;
}

static void
arena_notes (gconstpointer given, GememNoteFunc func, gpointer data)
{
  const Params *own = given;

  if (own->dump)
    func (WHAT ": dump_log_on_failure has no effect here; the statistics say what its arenas hold",
          data);
}

static const GememForm forms[] = {
  { "rmm", GEMEM_FORM_CALL,
    "rmm.mr.set_current_device_resource(rmm.mr.ArenaMemoryResource(rmm.mr.CudaMemoryResource()%s))",
    "arena_size" },
  { NULL },
};

const GememAllocatorClass gemem_rmm_arena_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = WHAT,
  .summary = "RMM's arena_memory_resource: one allocation, divided among the streams",
  .origin = "RMM 24.12 to 26.10 (peers.md 1c.2)",
  .forms = forms,
  .known_as = "arena_memory_resource|ArenaMemoryResource",
  .alignment = GEMEM_RMM_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = arena_create,
  .notes = arena_notes,
  .alloc = arena_alloc,
  .free = arena_free,
  .streams.free = arena_stream_free,
  .largest_free = arena_largest_free,
  .walk = arena_walk,
  .check = arena_check,
  .destroy = arena_destroy,
  .report.stats = arena_stats,
};
