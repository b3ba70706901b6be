/* stack.c - see stack.h; the section numbers are those of ge-runtime.md.  Questions
 * about a stack are answered in stack-report.c. */
#include "config.h"

#include "allocators/ge/stack.h"
#include "base/units.h"

#define MAX_PAGES G_MAXUINT32 /* spans count pages in 32 bits */

/* ---- the device as lower level */

static guint64
device_malloc (gpointer lower, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  guint64 address;

  gemem_device_lock (lower);
  address = gemem_device_malloc (lower, bytes, 0);
  gemem_device_unlock (lower);
  return address;
}

static void
device_free (gpointer lower, guint64 address, guint64 bytes, G_GNUC_UNUSED GeRoot *root)
{
  gemem_device_lock (lower);
  gemem_device_free (lower, address, bytes);
  gemem_device_unlock (lower);
}

static const GeLower device_lower = { device_malloc, device_free };

/* ---- configuration (1.1) */

/* A number of GiB above 0 in @text; 0: the real system would warn and ignore it. */
static guint64
gib_of (const char *text)
{
  guint64 gib = 0;

  return gemem_parse_digits (text + (*text == '+'), 10, 1, G_MAXINT32, &gib) ? gib : 0;
}

/* Step 4: the option; FALSE when the real system would warn and ignore it. */
static gboolean
apply_option (const char *text, guint64 *threshold)
{
  guint64 gib;

  if (text == NULL || *text == '\0')
    return TRUE;
  gib = gib_of (text);
  if (gib == 0 || gib > *threshold / GEMEM_GIB)
    return FALSE;
  *threshold = gib * GEMEM_GIB;
  return TRUE;
}

/* Steps 1 to 3.  The real system computes the 95 % in double precision, and so does this. */
static guint64
derive_threshold (guint64 total)
{
  if (total > 0)
    return (guint64) ((double) total * 0.95);
  return GE_TOTAL_UNKNOWN;
}

static gboolean
configure (GeStack *self, const GeStackParams *p, GememDevice *device, GError **error)
{
  guint64 page = G_GUINT64_CONSTANT (1) << p->page_idem_num;
  guint64 threshold = p->page_mem_size_total_threshold;

  if (threshold == 0)
    threshold = derive_threshold (gemem_ge_device_memory (p->total, device, 0));
  self->threshold_refused = !apply_option (p->memory_pool_threshold, &threshold);
  if (p->huge_page_mem_size % page != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator %s: huge_page_mem_size=%" G_GUINT64_FORMAT
                   " is not a multiple of the page size %" G_GUINT64_FORMAT "; choose a multiple",
                   self->base.klass->name, p->huge_page_mem_size, page);
      return FALSE;
    }
  if (threshold >> p->page_idem_num >= MAX_PAGES)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "allocator %s: a threshold of %" G_GUINT64_FORMAT
          " bytes has more than 2^32 pages; give a smaller total or page_mem_size_total_threshold",
          self->base.klass->name, threshold);
      return FALSE;
    }
  self->config = (GeSpanPoolConfig){ .page_shift = (guint) p->page_idem_num,
                                     .threshold = threshold,
                                     .span_layer_lift_max = p->span_layer_lift_max,
                                     .quick = p->enable_quick_layer_mode,
                                     .guarded = p->single_thread ? &self->base : NULL,
                                     .retries = &self->base.retries,
                                     .span_count_in_layer = p->span_count_in_layer_threshold,
                                     .uncacheable = p->uncacheable_size_threshold };
  if (self->config.uncacheable == 0)
    self->config.uncacheable = (gemem_ge_device_memory (p->total, device, 0) > 32 * GEMEM_GIB ? 32
                                                                                              : 16)
                               * GEMEM_GIB;
  return TRUE;
}

void
gemem_ge_stack_notes (gconstpointer data, GememNoteFunc func, gpointer to)
{
  const char *text = ((const GeStackParams *) data)->memory_pool_threshold;
  g_autofree char *note = NULL;

  if (text == NULL || *text == '\0' || gib_of (text) != 0)
    return;
  note = g_strdup_printf ("memory_pool_threshold='%s' is ignored, as GE ignores it with a warning; "
                          "give a whole number of GiB above 0",
                          text);
  func (note, to);
}

/* GE_STACK_FIXED: the class allocates the range on the device and frees it in the end. */
static gboolean
take_fixed_range (GeStack *self, guint64 size, GError **error)
{
  const guint64 page = G_GUINT64_CONSTANT (1) << self->config.page_shift;

  if (size == 0)
    size = self->config.threshold / 2 / page * page;
  if (size % page != 0 || size == 0 || size > self->config.threshold)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "allocator %s: fixed_size=%" G_GUINT64_FORMAT
                   " is not a number of pages of %" G_GUINT64_FORMAT
                   " bytes up to the threshold of %" G_GUINT64_FORMAT "; choose one",
                   self->base.klass->name, size, page, self->config.threshold);
      return FALSE;
    }
  self->fixed_size = size;
  self->fixed = gemem_device_malloc (self->base.device, size, 0);
  return TRUE;
}

gboolean
gemem_ge_stack_init (GeStack *self, const GememAllocatorClass *klass, const GeStackParams *p,
                     guint64 large_page, GememDevice *device, GError **error)
{
  self->base.klass = klass;
  self->base.device = device;
  self->stack = p->stack;
  if (!configure (self, p, device, error)
      || (self->stack == GE_STACK_FIXED && !take_fixed_range (self, p->fixed_size, error)))
    return FALSE;
  self->pools = g_ptr_array_new ();
  self->ladder = g_ptr_array_new ();
  self->by_stream = gemem_idmap_new (sizeof (GeL1 *));
  if (p->pools == GE_POOLS_PER_POOL_AND_STREAM)
    self->by_model = gemem_idmap_new (sizeof (GememIdMap *));
  if (large_page > 0)
    {
      self->pages = g_new0 (GePages, 1);
      gemem_ge_pages_init (self->pages, device, large_page, GE_1G_NO);
    }
  if (self->stack != GE_STACK_SINGLE)
    {
      GeSpanPoolConfig bottom = self->config;
      bottom.minimum = self->stack == GE_STACK_FIXED ? 0 : p->huge_page_mem_size;
      bottom.shared = self->stack == GE_STACK_TWO ? device : NULL;
      if (self->stack == GE_STACK_RTS) /* locks, whoever calls */
        bottom.guarded = NULL;
      gemem_ge_pool_init (&self->bottom, &bottom, &device_lower, device);
      if (self->fixed != 0)
        gemem_ge_pool_init_fixed (&self->bottom, self->fixed, self->fixed_size);
    }
  return TRUE;
}

GememAllocator *
gemem_ge_stack_create (const GememAllocatorClass *klass, const GeStackParams *p, guint64 large_page,
                       GememDevice *device, GError **error)
{
  GeStack *self = g_new0 (GeStack, 1);

  if (gemem_ge_stack_init (self, klass, p, large_page, device, error))
    return &self->base;
  g_free (self);
  return NULL;
}

static void
free_models (GeStack *self)
{
  gsize position = 0;
  guint64 model;
  gpointer streams;

  if (self->by_model == NULL)
    return;
  while (gemem_idmap_next (self->by_model, &position, &model, &streams))
    gemem_idmap_free (*(GememIdMap **) streams);
  gemem_idmap_free (self->by_model);
}

void
gemem_ge_stack_clear (GeStack *self)
{
  gemem_questions_free (self->watch);
  for (guint i = 0; i < self->pools->len; i++)
    {
      GeL1 *l1 = g_ptr_array_index (self->pools, i);
      gemem_ge_pool_clear (&l1->pool);
      g_free (l1);
    }
  if (self->stack != GE_STACK_SINGLE)
    gemem_ge_pool_clear (&self->bottom);
  if (self->fixed != 0)
    gemem_device_free (self->base.device, self->fixed, self->fixed_size);
  if (self->pages != NULL)
    gemem_ge_pages_clear (self->pages);
  g_free (self->pages);
  g_ptr_array_unref (self->pools);
  g_ptr_array_unref (self->ladder);
  gemem_idmap_free (self->by_stream);
  free_models (self);
}

void
gemem_ge_stack_destroy (GememAllocator *allocator)
{
  gemem_ge_stack_clear ((GeStack *) allocator);
  g_free (allocator);
}

void
gemem_ge_stack_speak_as (GeStack *stack, GememAllocator *allocator)
{
  if (stack->config.guarded != NULL)
    stack->config.guarded = allocator;
}

void
gemem_ge_stack_share_ladder (GeStack *stack, GeStack *with)
{
  g_ptr_array_unref (stack->ladder);
  stack->ladder = g_ptr_array_ref (with->ladder);
}

/* ---- events */

static GeL1 *
find_in (const GememIdMap *streams, guint64 stream)
{
  GeL1 *const *found = gemem_idmap_lookup (streams, stream);

  return found != NULL ? *found : NULL;
}

GeL1 *
gemem_ge_stack_find (const GeStack *self, guint64 stream)
{
  return find_in (self->by_stream, stream);
}

/* The pools of @model by stream. */
static GememIdMap *
streams_of (GeStack *self, guint32 model)
{
  gboolean existed;
  GememIdMap **streams;

  if (model == 0)
    return self->by_stream;
  streams = gemem_idmap_insert (self->by_model, model, &existed);
  if (!existed)
    *streams = gemem_idmap_new (sizeof (GeL1 *));
  return *streams;
}

static GeL1 *
obtain_for (GeStack *self, guint32 model, guint64 stream)
{
  GememIdMap *streams = streams_of (self, model);
  GeL1 *l1 = find_in (streams, stream);

  if (l1 == NULL)
    {
      l1 = g_new0 (GeL1, 1);
      l1->stream = stream;
      l1->model = model;
      if (self->stack == GE_STACK_SINGLE)
        gemem_ge_pool_init (&l1->pool, &self->config, &device_lower, self->base.device);
      else
        gemem_ge_pool_init (&l1->pool, &self->config, &gemem_ge_pool_lower, &self->bottom);
      /* A pool that is refused a range has none, which is no error; the next one asks again
       * (5.2). */
      if (self->pages != NULL && !gemem_ge_expandable_init (&l1->pool, self->pages))
        self->unsupported = TRUE;
      g_ptr_array_add (self->pools, l1);
      g_ptr_array_add (self->ladder, l1);
      *(GeL1 **) gemem_idmap_insert (streams, stream, NULL) = l1;
    }
  self->last = l1;
  return l1;
}

GeL1 *
gemem_ge_stack_obtain (GeStack *self, guint64 stream)
{
  return obtain_for (self, 0, stream);
}

gboolean
gemem_ge_stack_sync_and_recycle (GeStack *self, guint64 stream, GeSpanPool *pool)
{
  gboolean synchronized;

  self->syncs++;
  gemem_device_lock (self->base.device);
  synchronized = gemem_device_stream_sync (self->base.device, stream);
  gemem_device_unlock (self->base.device);
  if (!synchronized)
    return FALSE;
  if (gemem_ge_pool_recycle (pool) > 0)
    self->base.retries++;
  return TRUE;
}

/* One step of the ladder: @other's stream, @other's idle blocks, a new attempt in @own.  FALSE: the
 * stream failed, give up. */
static gboolean
synchronize_and_retry (GeStack *self, GeL1 *own, GeL1 *other, guint64 size, GeSpan **span)
{
  if (!gemem_ge_stack_sync_and_recycle (self, other->stream, &other->pool))
    return FALSE;
  *span = gemem_ge_pool_alloc (&own->pool, size);
  return TRUE;
}

/* Steps 3 to 7 of 2.1, after the first attempt in @own failed. */
static GeSpan *
climb_ladder (GeStack *self, GeL1 *own, guint64 size)
{
  GeSpan *span = NULL;

  if (!synchronize_and_retry (self, own, own, size, &span))
    return NULL;
  for (guint i = 0; i < self->ladder->len && span == NULL; i++)
    {
      GeL1 *other = g_ptr_array_index (self->ladder, i);
      if (other != own && !synchronize_and_retry (self, own, other, size, &span))
        return NULL;
    }
  return span;
}

GeSpan *
gemem_ge_stack_malloc (GeStack *self, GeL1 *l1, guint64 size)
{
  GeSpan *span = gemem_ge_pool_alloc (&l1->pool, size);

  if (span == NULL && self->stack == GE_STACK_TWO)
    span = climb_ladder (self, l1, size);
  return span;
}

gboolean
gemem_ge_stack_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GeStack *self = (GeStack *) allocator;
  GeSpan *span;

  if (self->stack == GE_STACK_RTS)
    span = gemem_ge_pool_alloc_or_recycle (&self->bottom, request->size);
  else if (self->stack == GE_STACK_FIXED)
    span = gemem_ge_pool_alloc (&self->bottom, request->size);
  else
    {
      const guint32 model = self->by_model != NULL ? request->pool : 0;
      GeL1 *l1 = self->last;

      if (l1 == NULL || l1->stream != request->stream || l1->model != model)
        l1 = obtain_for (self, model, request->stream);
      span = gemem_ge_stack_malloc (self, l1, request->size);
    }
  if (span == NULL)
    return FALSE;
  *block = (GememBlock){ .address = span->address,
                         .size = (guint64) span->pages << self->config.page_shift,
                         .handle = span };
  return TRUE;
}

void
gemem_ge_stack_free (GememAllocator *allocator, const GememBlock *block,
                     G_GNUC_UNUSED gboolean completion_follows)
{
  GeStack *self = (GeStack *) allocator;
  GeSpan *span = block->handle;

  /* The root block names the pool, but is seldom in the cache; with one stream there is only one
   * pool. */
  if (!gemem_ge_stack_is_one_pool (self) && self->pools->len == 1)
    gemem_ge_pool_free (&self->last->pool, span);
  else
    gemem_ge_pool_free (span->root->pool, span);
}

/* Fetches the neighbours, which a free may merge the span with. */
void
gemem_ge_stack_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *block)
{
  const GeSpan *span = block->handle;

  __builtin_prefetch (span->prev, 1);
  __builtin_prefetch (span->next, 1);
}

/* Recycles every L1 pool; what these return stays in the bottom pool. */
void
gemem_ge_stack_trim (GememAllocator *allocator)
{
  GeStack *self = (GeStack *) allocator;

  if (gemem_ge_stack_is_one_pool (self))
    gemem_ge_pool_recycle (&self->bottom);
  for (guint i = 0; i < self->pools->len; i++)
    gemem_ge_pool_recycle (&((GeL1 *) g_ptr_array_index (self->pools, i))->pool);
}
