/* pinned.c - `pytorch-pinned`: PyTorch's cache of pinned host memory (pin_memory(), DataLoader).
 *
 * Why: it asks the driver for powers of two and gives nothing back by itself, so that a program's host memory may
 * be twice what it asked for, and no setting of the device's cache counts there.
 *
 * A request is rounded up to a power of two, but for one above the threshold, which is taken as it is.  Blocks
 * are kept by class, the power of two at or above their size.  A request takes the block of its class that
 * became free last, of those that are large enough; without one the driver makes a block.  Nothing is cut or
 * merged, and a request that the driver refuses fails at once.  A block that streams used is free when an event
 * on each of them is complete; the program's next request looks.  With a reserved segment blocks are
 * cut from that, one behind the other, and what is released of it is not used again.
 *
 * Invariants: a free block is in the list of its class, the newest first; `blocks` has all by address.
 * Cost: O(1) per operation where sizes are rounded, else O(free blocks of a class); O(log blocks) and
 * a move of the array where the driver makes or frees one.
 * Origin: found by running PyTorch 2.6, 2.10, 2.11, 2.13, 2.14 and 2.15 (peers.md 1a.15).
 */
#include "config.h"

#include "allocators/allocator.h"
#include "base/flags.h"
#include "base/slab.h"
#include "base/units.h"

#define CLASSES 64
#define PIECE G_GUINT64_CONSTANT (4096) /* pieces of the reserved segment begin at multiples */

enum
{
  VERSION_2_6,
  VERSION_2_10, /* the reserved segment */
  VERSION_2_15, /* sizes above which nothing is rounded, or kept; since 2.13 */
};

typedef struct
{
  guint64 reserve, round_threshold, max_cached;
  int version;
} Params;

#define PARAM(field) .offset = G_STRUCT_OFFSET (Params, field)
#define UNLIMITED "unlimited=18446744073709551615"

static const GememParam params[] = {
  { .name = "version",
    .type = GEMEM_PARAM_CHOICE,
    .flags = GEMEM_PARAM_RELEASE | GEMEM_PARAM_NEAREST,
    .default_text = "2.15",
    .choices = "2.6|2.10|2.15|2.7=2.6|2.8=2.6|2.9=2.6|2.11=2.10|2.12=2.10|2.13=2.15|2.14=2.15",
    PARAM (version),
    .help = "The release of PyTorch: it has the settings that this one has." },
  { .name = "pinned_max_round_threshold_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "unlimited",
    .sweep = "0|1|8|64|unlimited",
    .unit = "MiB",
    .special = UNLIMITED,
    PARAM (round_threshold),
    .help = "Requests above this are not rounded up to a power of two; since 2.13." },
  { .name = "pinned_max_cached_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "unlimited",
    .sweep = "0|1|8|64|unlimited",
    .unit = "MiB",
    .special = UNLIMITED,
    PARAM (max_cached),
    .help = "Blocks above this are not kept when they are free, nor rounded; since 2.13." },
  { .name = "pinned_reserve_segment_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .sweep = "0|64|256|1024",
    .max = "1TiB",
    .unit = "MiB",
    PARAM (reserve),
    .help =
        "Size of a segment that the first request makes and from which blocks are cut; 0: none; "
        "since 2.10." },
  { NULL },
};

typedef struct _Block Block;
typedef struct _Use Use;

struct _Block
{
  Block *newer, *older; /* free: in its class */
  guint64 address, size;
  Use *uses;    /* live: streams besides the one it was allocated on */
  guint events; /* freed: that are not complete */
  gboolean free, live, piece;
};

/* A stream that uses a block; then its event, in the order of recording. */
struct _Use
{
  Use *next;
  guint64 stream;
  GememDeviceEvent event;
  Block *block;
};

typedef struct
{
  Block *newest, *oldest;
} Class;

typedef struct
{
  GememAllocator base;
  Params settings;
  Class classes[CLASSES];
  GPtrArray *blocks;         /* Block, by address */
  guint64 segment, cut;      /* the reserved segment, and how much of it was cut */
  Use *events, **last_event; /* of freed blocks */
  guint64 bytes, peak_bytes; /* of all blocks, free ones included */
  guint64 peak_blocks, made, made_bytes, freed, freed_bytes;
  GememSlab block_slab, use_slab;
} Pinned;

/* ---- sizes */

/* Of the power of two at or above @size. */
static guint
class_number (guint64 size)
{
  return size > 1 ? g_bit_storage (size - 1) : 0;
}

/* 0: too large for any device. */
static guint64
round_size (const Pinned *self, guint64 size)
{
  if (size > G_MAXINT64)
    return 0;
  return size > MIN (self->settings.round_threshold, self->settings.max_cached)
             ? size
             : G_GUINT64_CONSTANT (1) << class_number (size);
}

static Class *
class_of (Pinned *self, guint64 size)
{
  return &self->classes[class_number (size)];
}

/* ---- blocks that the driver makes and frees */

/* Index of the first block at @address or above. */
static guint
position_of (const Pinned *self, guint64 address)
{
  guint low = 0, high = self->blocks->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (((const Block *) self->blocks->pdata[middle])->address < address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* A place for @size bytes in the reserved segment; 0: it has none left, or there is no such segment. */
static guint64
cut_piece (Pinned *self, guint64 size)
{
  const guint64 at = self->cut;

  if (self->segment == 0 || size > self->settings.reserve - at)
    return 0;
  self->cut = MIN (gemem_align_up (at + size, PIECE), self->settings.reserve);
  return self->segment + at;
}

/* FALSE: the driver refuses the reserved segment; the next request asks again. */
static gboolean
ensure_segment (Pinned *self, guint64 stream)
{
  if (self->settings.reserve > 0 && self->segment == 0)
    self->segment = gemem_device_malloc (self->base.device, self->settings.reserve, stream);
  return self->settings.reserve == 0 || self->segment != 0;
}

static Block *
add_block (Pinned *self, guint64 address, guint64 size)
{
  Block *block = gemem_slab_alloc (&self->block_slab);

  block->address = address;
  block->size = size;
  g_ptr_array_insert (self->blocks, (int) position_of (self, address), block);
  self->bytes += size;
  self->peak_bytes = MAX (self->peak_bytes, self->bytes);
  self->peak_blocks = MAX (self->peak_blocks, self->blocks->len);
  return block;
}

static Block *
make_block (Pinned *self, guint64 size, guint64 stream)
{
  guint64 address, piece;
  Block *block;

  if (!ensure_segment (self, stream))
    return NULL;
  piece = cut_piece (self, size);
  address = piece != 0 ? piece : gemem_device_malloc (self->base.device, size, stream);
  if (address == 0)
    return NULL;
  block = add_block (self, address, size);
  block->piece = piece != 0;
  self->made++;
  self->made_bytes += size;
  return block;
}

/* @block is in no list. */
static void
drop_block (Pinned *self, Block *block)
{
  self->freed++;
  self->freed_bytes += block->size;
  self->bytes -= block->size;
  if (!block->piece)
    gemem_device_free (self->base.device, block->address, block->size);
  g_ptr_array_remove_index (self->blocks, position_of (self, block->address));
  gemem_slab_free (&self->block_slab, block);
}

/* ---- free blocks */

static void
unlink_block (Class *class, Block *block)
{
  *(block->newer != NULL ? &block->newer->older : &class->newest) = block->older;
  *(block->older != NULL ? &block->older->newer : &class->oldest) = block->newer;
  block->newer = block->older = NULL;
  block->free = FALSE;
}

static void
keep_block (Pinned *self, Block *block)
{
  Class *class = class_of (self, block->size);

  if (block->size > self->settings.max_cached)
    {
      drop_block (self, block);
      return;
    }
  block->free = TRUE;
  block->older = class->newest;
  *(block->older != NULL ? &block->older->newer : &class->oldest) = block;
  class->newest = block;
}

static Block *
take_block (Pinned *self, guint64 size)
{
  Class *class = class_of (self, size);
  Block *block = class->newest;

  while (block != NULL && block->size < size)
    block = block->older;
  if (block != NULL)
    unlink_block (class, block);
  return block;
}

/* ---- streams */

/* Frees the blocks whose events are complete. */
static void
process_events (Pinned *self)
{
  for (Use **place = &self->events, *use; (use = *place) != NULL;)
    {
      if (!gemem_device_event_query (self->base.device, use->event))
        {
          place = &use->next;
          continue;
        }
      *place = use->next;
      if (self->last_event == &use->next)
        self->last_event = place;
      if (--use->block->events == 0)
        keep_block (self, use->block);
      gemem_slab_free (&self->use_slab, use);
    }
}

static void
record_events (Pinned *self, Block *block)
{
  for (Use *use = block->uses, *next; use != NULL; use = next)
    {
      next = use->next;
      use->next = NULL;
      use->block = block;
      use->event = gemem_device_event_record (self->base.device, use->stream);
      if (use->event == 0) /* not recorded; 0 counts as complete: wait now */
        gemem_device_stream_sync (self->base.device, use->stream);
      block->events++;
      *self->last_event = use;
      self->last_event = &use->next;
    }
  block->uses = NULL;
}

static void
forget_uses (Pinned *self, Block *block)
{
  for (Use *use = block->uses, *next; use != NULL; use = next)
    {
      next = use->next;
      gemem_slab_free (&self->use_slab, use);
    }
  block->uses = NULL;
}

static void
pinned_use (GememAllocator *allocator, const GememBlock *handle, guint64 stream)
{
  Pinned *self = (Pinned *) allocator;
  Block *block = handle->handle;
  Use **end = &block->uses;

  for (; *end != NULL; end = &(*end)->next)
    if ((*end)->stream == stream)
      return;
  *end = gemem_slab_alloc (&self->use_slab);
  (*end)->stream = stream;
}

/* ---- the class */

static gboolean
pinned_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *handle)
{
  Pinned *self = (Pinned *) allocator;
  const guint64 size = round_size (self, request->size);
  Block *block;

  process_events (self);
  if (size == 0)
    return FALSE;
  block = take_block (self, size);
  if (block == NULL && (block = make_block (self, size, request->stream)) == NULL)
    return FALSE;
  block->live = TRUE;
  *handle = (GememBlock){ block->address, block->size, block };
  return TRUE;
}

static void
pinned_free (GememAllocator *allocator, const GememBlock *handle, gboolean completion_follows)
{
  Pinned *self = (Pinned *) allocator;
  Block *block = handle->handle;

  block->live = FALSE;
  if (completion_follows)
    {
      forget_uses (self, block);
      block->events = 1; /* the completion */
    }
  else if (block->uses != NULL)
    record_events (self, block);
  else
    keep_block (self, block);
}

static void
pinned_complete (GememAllocator *allocator, const GememBlock *handle)
{
  Block *block = handle->handle;

  block->events = 0;
  keep_block ((Pinned *) allocator, block);
}

/* As torch._C._host_emptyCache(): class by class, what became free first goes first. */
static void
pinned_trim (GememAllocator *allocator)
{
  Pinned *self = (Pinned *) allocator;

  process_events (self);
  for (guint i = 0; i < CLASSES; i++)
    for (Block *block; (block = self->classes[i].oldest) != NULL;)
      {
        unlink_block (&self->classes[i], block);
        drop_block (self, block);
      }
}

/* ---- a recorded state: a segment is a block.  In which order those of a class became free was not
 * recorded: the highest counts as the last. */

static gboolean
pinned_adopt_segment (GememAllocator *allocator, const GememAdopt *segment)
{
  Pinned *self = (Pinned *) allocator;

  if (segment->size == 0
      || !gemem_device_adopt (allocator->device, segment->address, segment->size))
    return FALSE;
  add_block (self, segment->address, segment->size);
  return TRUE;
}

static gboolean
pinned_adopt_block (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *handle)
{
  Pinned *self = (Pinned *) allocator;
  const guint at = position_of (self, adopt->address);
  Block *block = at < self->blocks->len ? self->blocks->pdata[at] : NULL;

  if (block == NULL || block->live || block->address != adopt->address
      || block->size != adopt->size)
    return FALSE;
  block->live = TRUE;
  *handle = (GememBlock){ block->address, block->size, block };
  return TRUE;
}

static void
pinned_adopt_done (GememAllocator *allocator)
{
  Pinned *self = (Pinned *) allocator;

  for (guint i = 0, n; i < self->blocks->len; i += n == self->blocks->len) /* or it was dropped */
    {
      Block *block = self->blocks->pdata[i];

      n = self->blocks->len;
      if (!block->live)
        keep_block (self, block);
    }
}

/* The largest request that the rest of the reserved segment serves. */
static guint64
largest_piece (const Pinned *self)
{
  const guint64 rest = self->segment != 0 ? self->settings.reserve - self->cut : 0;
  const guint64 above = MIN (self->settings.round_threshold, self->settings.max_cached);

  return rest == 0 || rest > above ? rest : G_GUINT64_CONSTANT (1) << (g_bit_storage (rest) - 1);
}

static guint64
pinned_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const Pinned *self = (const Pinned *) allocator;
  guint64 largest = largest_piece (self);

  for (guint i = 0; i < CLASSES; i++)
    for (const Block *block = self->classes[i].newest; block != NULL; block = block->older)
      largest = MAX (largest, block->size);
  return largest;
}

static void
report_part (const Pinned *self, guint64 from, guint64 to, GememSpanState state, GememSpanFunc func,
             gpointer data)
{
  const GememSpan span = { .address = from,
                           .size = to - from,
                           .segment = self->segment,
                           .segment_size = self->settings.reserve,
                           .state = state,
                           .user = from };
  if (to > from)
    func (&span, data);
}

static GememSpanState
state_of (const Block *block)
{
  return block->live ? GEMEM_SPAN_LIVE : block->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_PENDING;
}

static guint
walk_segment (const Pinned *self, guint i, GememSpanFunc func, gpointer data)
{
  guint64 end = self->segment;

  for (; i < self->blocks->len && ((const Block *) self->blocks->pdata[i])->piece; i++)
    {
      const Block *block = self->blocks->pdata[i];
      report_part (self, end, block->address, GEMEM_SPAN_OVERHEAD, func, data);
      end = block->address + block->size;
      report_part (self, block->address, end, state_of (block), func, data);
    }
  report_part (self, end, self->segment + self->cut, GEMEM_SPAN_OVERHEAD, func, data);
  report_part (self, self->segment + self->cut, self->segment + self->settings.reserve,
               GEMEM_SPAN_FREE, func, data);
  return i;
}

static void
pinned_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Pinned *self = (const Pinned *) allocator;
  gboolean segment = self->segment != 0;

  for (guint i = 0; i < self->blocks->len || segment;)
    {
      const Block *block = i < self->blocks->len ? self->blocks->pdata[i] : NULL;
      if (segment && (block == NULL || block->address >= self->segment))
        {
          i = walk_segment (self, i, func, data);
          segment = FALSE;
          continue;
        }
      const GememSpan span = { .address = block->address,
                               .size = block->size,
                               .segment = block->address,
                               .segment_size = block->size,
                               .state = state_of (block),
                               .flags = block->free ? GEMEM_SPAN_RETURNABLE : 0,
                               .user = block->address };
      func (&span, data);
      i++;
    }
}

/* TRUE if the list of @class is sound; adds its blocks to *@free. */
static gboolean
check_class (Pinned *self, guint class, guint64 *free)
{
  const Block *newer = NULL;
  gboolean ok = TRUE;

  for (const Block *block = self->classes[class].newest; block != NULL; block = block->older)
    {
      ok &= block->newer == newer && block->free && !block->live && block->events == 0
            && block->size <= self->settings.max_cached
            && class_of (self, block->size) == &self->classes[class];
      newer = block;
      ++*free;
    }
  return ok && self->classes[class].oldest == newer;
}

static gboolean
pinned_check (GememAllocator *allocator, GError **error)
{
  Pinned *self = (Pinned *) allocator;
  guint64 bytes = 0, listed = 0, free = 0, end = 0;
  gboolean ok = TRUE;

  for (guint i = 0; i < self->blocks->len; i++)
    {
      const Block *block = self->blocks->pdata[i];
      ok &= block->address >= end;
      end = block->address + block->size;
      bytes += block->size;
      free += block->free;
    }
  for (guint i = 0; i < CLASSES; i++)
    ok &= check_class (self, i, &listed);
  if (ok && bytes == self->bytes && listed == free && self->cut <= self->settings.reserve)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "pytorch-pinned: %" G_GUINT64_FORMAT " bytes in %u blocks, %" G_GUINT64_FORMAT
               " of them free, do not add up",
               self->bytes, self->blocks->len, listed);
  return FALSE;
}

/* As torch.cuda.host_memory_stats() names them. */
static void
pinned_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Pinned *self = (const Pinned *) allocator;

  func ("allocations.current", self->blocks->len, "", data);
  func ("allocations.peak", self->peak_blocks, "", data);
  func ("allocations.allocated", self->made, "", data);
  func ("allocations.freed", self->freed, "", data);
  func ("allocated_bytes.current", self->bytes, "B", data);
  func ("allocated_bytes.peak", self->peak_bytes, "B", data);
  func ("allocated_bytes.allocated", self->made_bytes, "B", data);
  func ("allocated_bytes.freed", self->freed_bytes, "B", data);
  func ("num_host_alloc", self->made, "", data);
  func ("num_host_free", self->freed, "", data);
}

/* FALSE with @error: the version does not have a setting. */
static gboolean
check_version (const Params *given, GError **error)
{
  const GememFlag flags[] = {
    { "pinned_reserve_segment_size_mb", given->reserve != 0, given->version >= VERSION_2_10,
      "exists since 2.10; choose version=2.10 or later" },
    { "pinned_max_round_threshold_mb", given->round_threshold != G_MAXUINT64,
      given->version >= VERSION_2_15, "exists since 2.13; choose version=2.13 or later" },
    { "pinned_max_cached_size_mb", given->max_cached != G_MAXUINT64, given->version >= VERSION_2_15,
      "exists since 2.13; choose version=2.13 or later" },
  };

  return gemem_check_flags ("allocator pytorch-pinned", flags, G_N_ELEMENTS (flags), error);
}

extern const GememAllocatorClass gemem_pytorch_pinned_class;

static GememAllocator *
pinned_create (gconstpointer given, GememDevice *device, GError **error)
{
  Pinned *self;

  if (!check_version (given, error))
    return NULL;
  self = g_new0 (Pinned, 1);
  self->base.klass = &gemem_pytorch_pinned_class;
  self->base.device = device;
  self->settings = *(const Params *) given;
  self->blocks = g_ptr_array_new ();
  self->last_event = &self->events;
  gemem_slab_init (&self->block_slab, sizeof (Block));
  gemem_slab_init (&self->use_slab, sizeof (Use));
  return &self->base;
}

static void
pinned_destroy (GememAllocator *allocator)
{
  Pinned *self = (Pinned *) allocator;

  for (guint i = 0; i < self->blocks->len; i++)
    {
      const Block *block = self->blocks->pdata[i];
      if (!block->piece)
        gemem_device_free (allocator->device, block->address, block->size);
    }
  if (self->segment != 0)
    gemem_device_free (allocator->device, self->segment, self->settings.reserve);
  g_ptr_array_unref (self->blocks);
  gemem_slab_clear (&self->block_slab);
  gemem_slab_clear (&self->use_slab);
  g_free (self);
}

const GememAllocatorClass gemem_pytorch_pinned_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "pytorch-pinned",
  .aliases = "torch-pinned",
  .summary = "PyTorch's cache of pinned host memory: powers of two, which are kept",
  .origin = "PyTorch 2.6 to 2.15, by running them (peers.md 1a.15)",
  .known_as = "CachingHostAllocator|pin_memory|host_memory_stats|cudaHostAlloc",
  .capabilities = GEMEM_CAP_HOST,
  .alignment = 256,
  .params = params,
  .params_size = sizeof (Params),
  .create = pinned_create,
  .alloc = pinned_alloc,
  .free = pinned_free,
  .trim = pinned_trim,
  .largest_free = pinned_largest_free,
  .walk = pinned_walk,
  .check = pinned_check,
  .destroy = pinned_destroy,
  .adopt = { .segment = pinned_adopt_segment,
             .block = pinned_adopt_block,
             .done = pinned_adopt_done },
  .streams = { .complete = pinned_complete, .use = pinned_use },
  .report.stats = pinned_stats,
};
