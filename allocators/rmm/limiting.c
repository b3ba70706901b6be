/* limiting.c - `rmm-limiting`: limiting_resource_adaptor of the RAPIDS memory manager.
 *
 * A request whose bytes, rounded up to `alignment`, would raise the sum of all live blocks above
 * `allocation_limit` is refused; every other goes to the upstream as it is.
 *
 * Invariant: `allocated` is the sum of the rounded sizes of the live blocks.
 * Cost: O(1) beside the upstream's.
 * Origin: peers.md section 1c.3.
 */
#include "config.h"

#include "allocators/rmm/passing.h"
#include "base/units.h"

typedef struct
{
  GememRmmParams rmm;
  guint64 limit, alignment;
} Params;

static const GememParam params[] = {
  { .name = "allocation_limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "none",
    .sweep = "256MiB|1GiB|4GiB",
    .special = "none=18446744073709551615",
    .aliases = "limit",
    .offset = G_STRUCT_OFFSET (Params, limit),
    .help = "Most bytes of live blocks; a request beyond is refused." },
  { .name = "alignment",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "256B",
    .min = "1B",
    .max = "1GiB",
    .offset = G_STRUCT_OFFSET (Params, alignment),
    .help = "A block counts with its size rounded up to this, a power of two." },
  GEMEM_RMM_ROWS (Params, rmm, "|rmm-pool|rmm-arena", "|rmm-binning"),
  { NULL },
};

typedef struct
{
  GememAllocator base;
  GememRmmUpstream upstream;
  GememRmmPassing passing;
  guint64 limit, alignment;
  guint64 allocated, peak, refused; /* bytes; requests */
} Limiting;

extern const GememAllocatorClass gemem_rmm_limiting_class;

static gboolean
limiting_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Limiting *self = (Limiting *) allocator;
  guint64 size;

  if (request->size > G_MAXINT64 || self->base.broken != NULL)
    return FALSE;
  size = gemem_align_up (request->size, self->alignment);
  if (size > self->limit - self->allocated)
    {
      self->refused++;
      return FALSE;
    }
  if (!gemem_rmm_passing_alloc (&self->passing, &self->upstream, request, block))
    return FALSE;
  self->allocated += size;
  self->peak = MAX (self->peak, self->allocated);
  return TRUE;
}

static void
limiting_free (GememAllocator *allocator, const GememBlock *block,
               G_GNUC_UNUSED gboolean completion_follows)
{
  Limiting *self = (Limiting *) allocator;

  self->allocated -= gemem_align_up (((GememRmmPassed *) block->handle)->size, self->alignment);
  gemem_rmm_passing_free (&self->passing, &self->upstream, block);
}

static void
limiting_stream_free (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  gemem_rmm_upstream_stream_free (&((Limiting *) allocator)->upstream, block->address, stream);
}

static guint64
limiting_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Limiting *self = (const Limiting *) allocator;
  const guint64 left = (self->limit - self->allocated) / self->alignment * self->alignment;

  return MIN (left, gemem_rmm_upstream_largest_free (&self->upstream, stream));
}

static void
limiting_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Limiting *self = (const Limiting *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_rmm_passing_append (&self->passing, &self->upstream, spans);
  gemem_rmm_upstream_walk (&self->upstream, spans, func, data);
}

static gboolean
limiting_check (GememAllocator *allocator, GError **error)
{
  const Limiting *self = (const Limiting *) allocator;
  guint64 sum = 0;

  for (const GememRmmPassed *live = self->passing.first; live != NULL; live = live->next)
    sum += gemem_align_up (live->size, self->alignment);
  if (sum == self->allocated && sum <= self->limit)
    return gemem_rmm_upstream_check (&self->upstream, error);
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "rmm-limiting: the live bytes were miscounted, or are above the limit");
  return FALSE;
}

static void
limiting_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Limiting *self = (const Limiting *) allocator;

  func ("allocated_bytes", self->allocated, "B", data);
  func ("peak_allocated_bytes", self->peak, "B", data);
  if (self->limit != GEMEM_UNLIMITED)
    func ("allocation_limit", self->limit, "B", data);
  func ("refused_by_limit", self->refused, "", data);
  func ("live_blocks", self->passing.count, "", data);
  gemem_rmm_upstream_stats (&self->upstream, func, data);
}

static GememAllocator *
limiting_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  Limiting *self;

  if ((own->alignment & (own->alignment - 1)) != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator rmm-limiting: alignment=%" G_GUINT64_FORMAT
                   ": not a power of two, as RMM wants it",
                   own->alignment);
      return NULL;
    }
  self = g_new0 (Limiting, 1);
  self->base.klass = &gemem_rmm_limiting_class;
  self->base.device = device;
  if (!gemem_rmm_upstream_open (&self->upstream, &own->rmm, &self->base, error))
    {
      g_free (self);
      return NULL;
    }
  gemem_rmm_passing_init (&self->passing);
  self->limit = own->limit;
  self->alignment = own->alignment;
  return &self->base;
}

static void
limiting_destroy (GememAllocator *allocator)
{
  Limiting *self = (Limiting *) allocator;

  gemem_rmm_passing_clear (&self->passing, &self->upstream);
  gemem_rmm_upstream_close (&self->upstream);
  g_free (self);
}

const GememAllocatorClass gemem_rmm_limiting_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "rmm-limiting",
  .summary = "RMM's limiting_resource_adaptor: passes requests on to its upstream, up to a limit",
  .origin = "RMM 24.12 to 26.10 (peers.md 1c.3)",
  .known_as = "limiting_resource_adaptor|LimitingResourceAdaptor",
  .alignment = GEMEM_RMM_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = limiting_create,
  .alloc = limiting_alloc,
  .free = limiting_free,
  .streams.free = limiting_stream_free,
  .largest_free = limiting_largest_free,
  .walk = limiting_walk,
  .check = limiting_check,
  .destroy = limiting_destroy,
  .report.stats = limiting_stats,
};
