/* scalable.c - `ge-scalable`: the dynamic memory of the Ascend Graph Engine, with or without its pools stacked on each other.
 *
 * What: `stack=two` is what a running model sees: a CachingMemAllocator (L1) for each stream over one RtsCachingMemAllocator per device
 * (bottom pool, root blocks of at least 2 MiB), with the whole out-of-memory ladder: synchronise the stream, recycle L1, try again, then the
 * same for the pools of the other streams in the order of their creation.  `stack=single` is one bare ScalableAllocator per stream on the
 * device, without ladder and minimum; `stack=rts` the bottom pool alone, shared by all streams.
 * Blocks are whole 64 KiB pages; the block size reported is the rounded one.  A freed block is reusable in its stream's pool at once, since
 * the stream orders its users; other streams get the memory only through the bottom pool, after a recycle.
 * Invariants: every L1 root block is a live block of the bottom pool; the bottom pool's root blocks are what the device gave.
 * Cost: O(1) per event; recycle O(idle spans).
 * Origin: shared/spec/ge-runtime.md sections 1 and 2.1.  The pool itself is scalable-pool.h.
 */
#include "config.h"

#include "allocators/allocator.h"
#include "allocators/ge/scalable-pool.h"
#include "sim/core/idmap.h"

#define GIB (G_GUINT64_CONSTANT (1) << 30)
#define MAX_PAGES G_MAXUINT32 /* spans count pages in 32 bits */

enum
{
  STACK_SINGLE,
  STACK_TWO,
  STACK_RTS,
};

typedef struct
{
  int      stack;
  guint64  total;
  char    *memory_pool_threshold;
  guint64  page_idem_num;
  guint64  huge_page_mem_size;
  guint64  page_mem_size_total_threshold;
  guint64  span_layer_lift_max;
  gboolean enable_quick_layer_mode;
  /* without effect in the real system, and here */
  guint64  span_prepared_count, span_layer_prepared_count, span_count_in_layer_threshold;
  guint64  uncacheable_size_threshold, page_mem_size_in_layer_threshold, unsplitable_size_threshold;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)
#define NO_EFFECT " Has no effect: the real system does not use it when it places memory."

static const GememParam params[] = {
  { .name = "stack",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "two",
    .choices = "single|two|rts",
    .aliases = "mode",
    FIELD (stack),
    .help = "Pools: an L1 pool for each stream over the device's bottom pool (two), a bare pool for each stream on the device (single), or "
            "the bottom pool alone (rts)." },
  { .name = "total",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    FIELD (total),
    .help = "Device memory as the driver reports it, from which the threshold is derived (95 %); 0 asks the device." },
  { .name = "memory_pool_threshold",
    .type = GEMEM_PARAM_STRING,
    .aliases = "ge.experiment.memory_pool_threshold",
    FIELD (memory_pool_threshold),
    .help = "Threshold in GiB; refused, with the statistic memory_pool_threshold_refused set to 1, unless it is a whole number above 0 that "
            "does not exceed the derived threshold." },
  { .name = "page_mem_size_total_threshold",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .conflicts = "memory_pool_threshold",
    FIELD (page_mem_size_total_threshold),
    .help = "Largest request, and soft limit of what a pool takes from below; 0 derives it from the device's memory." },
  { .name = "page_idem_num",
    .type = GEMEM_PARAM_UINT,
    .default_text = "16",
    .min = "16",
    .max = "26",
    FIELD (page_idem_num),
    .help = "Page size as a power of two: 16 is 64 KiB." },
  { .name = "huge_page_mem_size",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "2MiB",
    .max = "64GiB",
    FIELD (huge_page_mem_size),
    .help = "Smallest block the bottom pool takes from the device; a multiple of the page size." },
  { .name = "span_layer_lift_max",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4294967295",
    .max = "4294967295",
    FIELD (span_layer_lift_max),
    .help = "0 forbids cutting; other values limit, without quick layers, how many longer layers are looked at." },
  { .name = "enable_quick_layer_mode",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    FIELD (enable_quick_layer_mode),
    .help = "Search only layers that hold a span (Quick table); no walks every layer ever used (Seq table)." },
  { .name = "span_prepared_count",
    .type = GEMEM_PARAM_UINT,
    .default_text = "10240",
    FIELD (span_prepared_count),
    .help = "Host objects made in advance." NO_EFFECT },
  { .name = "span_layer_prepared_count",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4096",
    FIELD (span_layer_prepared_count),
    .help = "Host objects made in advance." NO_EFFECT },
  { .name = "span_count_in_layer_threshold",
    .type = GEMEM_PARAM_UINT,
    .default_text = "10240",
    FIELD (span_count_in_layer_threshold),
    .help = "Printed as the capacity of a layer." NO_EFFECT },
  { .name = "uncacheable_size_threshold",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "16GiB",
    FIELD (uncacheable_size_threshold),
    .help = "Printed capacity is 0 above it." NO_EFFECT },
  { .name = "page_mem_size_in_layer_threshold",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "8GiB",
    FIELD (page_mem_size_in_layer_threshold),
    .help = "Named as a limit of one layer." NO_EFFECT },
  { .name = "unsplitable_size_threshold",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "16GiB",
    FIELD (unsplitable_size_threshold),
    .help = "Named as a limit of splitting." NO_EFFECT },
  { NULL }
};

/* The pool of one stream. */
typedef struct
{
  GePool  pool;
  guint64 stream;
} L1;

typedef struct
{
  GememAllocator base;
  int            stack;
  GePoolConfig   config;           /* of the L1 pools */
  gboolean       threshold_refused;
  GePool         bottom;           /* unless STACK_SINGLE                          */
  GPtrArray     *pools;            /* L1, in order of creation; empty for STACK_RTS */
  GememIdMap    *by_stream;        /* stream -> L1 *                               */
  L1            *last;             /* of the latest request                        */
  guint64        syncs;            /* of streams, by the ladder                    */
} Scalable;

extern const GememAllocatorClass gemem_ge_scalable_class;

/* ---- the device as lower level */

static guint64
device_malloc (gpointer lower, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  return gemem_device_malloc (lower, bytes, 0);
}

static void
device_free (gpointer lower, guint64 address, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  gemem_device_free (lower, address, bytes);
}

static const GeLower device_lower = { device_malloc, device_free };

/* ---- configuration (1.1) */

/* Step 4: the option, in GiB; FALSE when the real system would warn and ignore it. */
static gboolean
apply_option (const char *text, guint64 *threshold)
{
  gint64 gib;

  if (text == NULL || *text == '\0')
    return TRUE;
  if (!g_ascii_string_to_signed (text, 10, G_MININT32, G_MAXINT32, &gib, NULL) || gib <= 0 || (guint64) gib > *threshold / GIB)
    return FALSE;
  *threshold = (guint64) gib * GIB;
  return TRUE;
}

/* Steps 1 to 3.  The real system computes the 95 % in double precision, and so does this. */
static guint64
derive_threshold (guint64 total)
{
  if (total > 0)
    return (guint64) ((double) total * 0.95);
  return 30 * GIB;
}

static guint64
reported_total (const Params *p, GememDevice *device)
{
  GememDeviceInfo info = { 0 };

  if (p->total > 0)
    return p->total;
  gemem_device_info (device, &info);
  /* A device without limit reports nothing that a driver would; the query counts as failed. */
  return info.total >> 48 == 0 ? info.total : 0;
}

static gboolean
configure (Scalable *self, const Params *p, GememDevice *device, GError **error)
{
  guint64 page = G_GUINT64_CONSTANT (1) << p->page_idem_num;
  guint64 threshold = p->page_mem_size_total_threshold;

  if (threshold == 0)
    threshold = derive_threshold (reported_total (p, device));
  self->threshold_refused = !apply_option (p->memory_pool_threshold, &threshold);
  if (p->huge_page_mem_size % page != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator ge-scalable: huge_page_mem_size=%" G_GUINT64_FORMAT " is not a multiple of the page size %" G_GUINT64_FORMAT
                   "; choose a multiple",
                   p->huge_page_mem_size, page);
      return FALSE;
    }
  if (threshold >> p->page_idem_num >= MAX_PAGES)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator ge-scalable: a threshold of %" G_GUINT64_FORMAT " bytes has more than 2^32 pages; give a smaller total",
                   threshold);
      return FALSE;
    }
  self->config = (GePoolConfig) { .page_shift = (guint) p->page_idem_num,
                                  .threshold = threshold,
                                  .span_layer_lift_max = p->span_layer_lift_max,
                                  .quick = p->enable_quick_layer_mode,
                                  .retries = &self->base.retries };
  return TRUE;
}

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  Scalable *self = g_new0 (Scalable, 1);

  self->base.klass = &gemem_ge_scalable_class;
  self->base.device = device;
  self->stack = p->stack;
  if (!configure (self, p, device, error))
    {
      g_free (self);
      return NULL;
    }
  self->pools = g_ptr_array_new ();
  self->by_stream = gemem_idmap_new (sizeof (L1 *));
  if (self->stack != STACK_SINGLE)
    {
      GePoolConfig bottom = self->config;
      bottom.minimum = p->huge_page_mem_size;
      gemem_ge_pool_init (&self->bottom, &bottom, &device_lower, device);
    }
  return &self->base;
}

static void
destroy (GememAllocator *allocator)
{
  Scalable *self = (Scalable *) allocator;

  for (guint i = 0; i < self->pools->len; i++)
    {
      L1 *l1 = g_ptr_array_index (self->pools, i);
      gemem_ge_pool_clear (&l1->pool);
      g_free (l1);
    }
  if (self->stack != STACK_SINGLE)
    gemem_ge_pool_clear (&self->bottom);
  g_ptr_array_unref (self->pools);
  gemem_idmap_free (self->by_stream);
  g_free (self);
}

/* ---- events */

static L1 *
find_l1 (Scalable *self, guint64 stream)
{
  L1 *const *found = gemem_idmap_lookup (self->by_stream, stream);

  return found != NULL ? *found : NULL;
}

static L1 *
obtain_l1 (Scalable *self, guint64 stream)
{
  L1 *l1 = find_l1 (self, stream);

  if (l1 == NULL)
    {
      l1 = g_new0 (L1, 1);
      l1->stream = stream;
      if (self->stack == STACK_SINGLE)
        gemem_ge_pool_init (&l1->pool, &self->config, &device_lower, self->base.device);
      else
        gemem_ge_pool_init (&l1->pool, &self->config, &gemem_ge_pool_lower, &self->bottom);
      g_ptr_array_add (self->pools, l1);
      *(L1 **) gemem_idmap_insert (self->by_stream, stream, NULL) = l1;
    }
  self->last = l1;
  return l1;
}

/* One step of the ladder: @other's stream, @other's idle blocks, a new attempt in @own.  FALSE: the stream failed, give up. */
static gboolean
synchronize_and_retry (Scalable *self, L1 *own, L1 *other, guint64 size, GeSpan **span)
{
  self->syncs++;
  if (!gemem_device_stream_sync (self->base.device, other->stream))
    return FALSE;
  if (gemem_ge_pool_recycle (&other->pool) > 0)
    self->base.retries++;
  *span = gemem_ge_pool_alloc (&own->pool, size);
  return TRUE;
}

/* Steps 3 to 7 of 2.1, after the first attempt in @own failed. */
static GeSpan *
climb_ladder (Scalable *self, L1 *own, guint64 size)
{
  GeSpan *span = NULL;

  if (!synchronize_and_retry (self, own, own, size, &span))
    return NULL;
  for (guint i = 0; i < self->pools->len && span == NULL; i++)
    {
      L1 *other = g_ptr_array_index (self->pools, i);
      if (other != own && !synchronize_and_retry (self, own, other, size, &span))
        return NULL;
    }
  return span;
}

static gboolean
scalable_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Scalable *self = (Scalable *) allocator;
  GeSpan *span;

  if (self->stack == STACK_RTS)
    span = gemem_ge_pool_alloc_or_recycle (&self->bottom, request->size);
  else
    {
      L1 *l1 = self->last != NULL && self->last->stream == request->stream ? self->last : obtain_l1 (self, request->stream);
      span = gemem_ge_pool_alloc (&l1->pool, request->size);
      if (span == NULL && self->stack == STACK_TWO)
        span = climb_ladder (self, l1, request->size);
    }
  if (span == NULL)
    return FALSE;
  *block = (GememBlock) { .address = span->address, .size = (guint64) span->pages << self->config.page_shift, .handle = span };
  return TRUE;
}

static void
scalable_free (GememAllocator *allocator, const GememBlock *block, G_GNUC_UNUSED gboolean completion_follows)
{
  Scalable *self = (Scalable *) allocator;
  GeSpan *span = block->handle;

  /* The root block knows the pool, but is seldom in the cache; with one stream there is no question. */
  if (self->stack != STACK_RTS && self->pools->len == 1)
    gemem_ge_pool_free (&self->last->pool, span);
  else
    gemem_ge_pool_free (span->root->pool, span);
}

/* Recycle of every L1 pool; what it gives back stays in the bottom pool. */
static void
trim (GememAllocator *allocator)
{
  Scalable *self = (Scalable *) allocator;

  if (self->stack == STACK_RTS)
    gemem_ge_pool_recycle (&self->bottom);
  for (guint i = 0; i < self->pools->len; i++)
    gemem_ge_pool_recycle (&((L1 *) g_ptr_array_index (self->pools, i))->pool);
}

/* ---- questions */

static guint64
largest_free (GememAllocator *allocator, guint64 stream)
{
  Scalable *self = (Scalable *) allocator;
  guint64 pages = 0, limit = G_MAXUINT64;
  const L1 *l1 = find_l1 (self, stream);

  if (l1 != NULL)
    {
      pages = gemem_ge_pool_largest_idle (&l1->pool, G_MAXUINT64);
      limit = gemem_ge_pool_growth_limit (&l1->pool);
    }
  /* A longer request finds nothing idle in L1, which then asks the bottom pool if its own threshold allows. */
  if (self->stack != STACK_SINGLE)
    pages = MAX (pages, gemem_ge_pool_largest_idle (&self->bottom, limit));
  return pages << self->config.page_shift;
}

typedef struct
{
  GememSpanFunc func;
  gpointer      data;
  GememSpan     span; /* segment, segment_size and stream are set */
} Walk;

static void
walk_chain (Walk *walk, const GeSpan *first, guint64 stream)
{
  for (const GeSpan *span = first; span != NULL; span = span->next)
    {
      if (span->occupied && span->upper != NULL)
        {
          /* What the bottom pool counts as live belongs to an L1 pool, which knows better. */
          const GeSpan *inner = span->upper->first;
          walk_chain (walk, inner, ((const L1 *) inner->root->pool)->stream);
          continue;
        }
      walk->span.address = span->address;
      walk->span.size = gemem_ge_span_bytes (span);
      walk->span.stream = stream;
      walk->span.state = span->occupied ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE;
      walk->span.user = span->occupied ? span->address : 0;
      walk->func (&walk->span, walk->data);
    }
}

static int
compare_roots (gconstpointer a, gconstpointer b)
{
  guint64 x = (*(const GeRoot *const *) a)->first->address, y = (*(const GeRoot *const *) b)->first->address;

  return (x > y) - (x < y);
}

static void
append_roots (GPtrArray *roots, const GePool *pool)
{
  for (GeRoot *root = pool->roots; root != NULL; root = root->next)
    g_ptr_array_add (roots, root);
}

static void
walk_spans (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  Scalable *self = (Scalable *) allocator;
  g_autoptr (GPtrArray) roots = g_ptr_array_new ();
  Walk walk = { .func = func, .data = data };

  if (self->stack != STACK_SINGLE)
    append_roots (roots, &self->bottom);
  else
    for (guint i = 0; i < self->pools->len; i++)
      append_roots (roots, &((const L1 *) g_ptr_array_index (self->pools, i))->pool);
  g_ptr_array_sort (roots, compare_roots);
  for (guint i = 0; i < roots->len; i++)
    {
      const GeRoot *root = g_ptr_array_index (roots, i);
      walk.span.segment = root->first->address;
      walk.span.segment_size = (guint64) root->pages << self->config.page_shift;
      walk_chain (&walk, root->first, self->stack == STACK_SINGLE ? ((const L1 *) root->pool)->stream : 0);
    }
}

static guint64
sum_obtained (const Scalable *self)
{
  guint64 sum = 0;

  for (guint i = 0; i < self->pools->len; i++)
    sum += ((const L1 *) g_ptr_array_index (self->pools, i))->pool.obtained;
  return sum;
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  Scalable *self = (Scalable *) allocator;
  guint64 sum = sum_obtained (self);

  for (guint i = 0; i < self->pools->len; i++)
    if (!gemem_ge_pool_check (&((const L1 *) g_ptr_array_index (self->pools, i))->pool, "ge-scalable: L1 pool", error))
      return FALSE;
  if (self->stack != STACK_SINGLE)
    {
      if (!gemem_ge_pool_check (&self->bottom, "ge-scalable: bottom pool", error))
        return FALSE;
      if (self->stack == STACK_TWO && sum != self->bottom.theory)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "ge-scalable: L1 pools hold %" G_GUINT64_FORMAT " bytes, the bottom pool lent %" G_GUINT64_FORMAT, sum,
                       self->bottom.theory);
          return FALSE;
        }
      sum = self->bottom.obtained;
    }
  if (sum > self->base.device->held)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "ge-scalable: pools hold %" G_GUINT64_FORMAT " bytes, the device lent only %" G_GUINT64_FORMAT, sum,
                   self->base.device->held);
      return FALSE;
    }
  return TRUE;
}

/* The statistics GE prints for a pool (1.8), under its names. */
static void
pool_stats (const GePool *pool, const char *prefix, GememStatFunc func, gpointer data)
{
  const struct
  {
    const char *name;
    guint64 value;
    const char *unit;
  } rows[] = {
    { "occupied_size", pool->obtained, "B" },
    { "idle_size", gemem_ge_pool_idle_bytes (pool), "B" },
    { "theory", pool->theory, "B" },
    { "real_theory", pool->real_theory, "B" },
    { "theory_min", pool->theory_min, "B" },
    { "real_theory_min", pool->real_theory_min, "B" },
    { "reach_theory_rate", gemem_ge_pool_reach_theory_rate (pool), "0.01%" },
    { "alloc_count", pool->alloc_count, "" },
    { "free_count", pool->free_count, "" },
    { "failures", pool->failures, "" },
    { "recycle_count", pool->recycle_count, "" },
    { "device_alloc_count", pool->root_alloc_count, "" },
    { "device_free_count", pool->root_free_count, "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      char name[96];
      g_snprintf (name, sizeof name, "%s%s", prefix, rows[i].name);
      func (name, rows[i].value, rows[i].unit, data);
    }
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  Scalable *self = (Scalable *) allocator;

  func ("pool", self->stack == STACK_RTS ? self->bottom.obtained : sum_obtained (self), "B", data);
  func ("page_mem_size_total_threshold", self->config.threshold, "B", data);
  func ("memory_pool_threshold_refused", self->threshold_refused, "", data);
  func ("stream_syncs", self->syncs, "", data);
  func ("l1_pools", self->pools->len, "", data);
  for (guint i = 0; i < self->pools->len; i++)
    {
      const L1 *l1 = g_ptr_array_index (self->pools, i);
      char prefix[32];
      g_snprintf (prefix, sizeof prefix, "stream%" G_GUINT64_FORMAT ".", l1->stream);
      pool_stats (&l1->pool, prefix, func, data);
    }
  if (self->stack != STACK_SINGLE)
    pool_stats (&self->bottom, "rts.", func, data);
}

const GememAllocatorClass gemem_ge_scalable_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-scalable",
  .aliases = "ge-runtime",
  .summary = "Ascend GE dynamic memory: 64 KiB spans, delayed split, L1 pool per stream over a bottom pool",
  .origin = "Ascend Graph Engine of 2026-08-21, ScalableAllocator, CachingMemAllocator, RtsCachingMemAllocator; ge-runtime.md 1, 2.1",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_TRIM,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  .alloc = scalable_alloc,
  .free = scalable_free,
  .trim = trim,
  .largest_free = largest_free,
  .walk = walk_spans,
  .check = check,
  .stats = stats,
  .destroy = destroy,
};
