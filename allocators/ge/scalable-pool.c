/* scalable-pool.c - see scalable-pool.h; the section numbers below are those of
 * ge-runtime.md. */
#include "config.h"

#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/scalable-pool.h"

void
gemem_ge_pool_init (GeSpanPool *pool, const GeSpanPoolConfig *config, const GeLower *lower,
                    gpointer lower_data)
{
  guint64 minimum_pages = config->minimum >> config->page_shift;

  *pool = (GeSpanPool){ .config = *config, .lower = lower, .lower_data = lower_data };
  pool->page = G_GUINT64_CONSTANT (1) << config->page_shift;
  pool->layer_capacity = 1 + (config->threshold >> config->page_shift);
  /* A root block of the minimum size may be longer than the largest request. */
  gemem_ge_layers_init (&pool->layers, MAX (pool->layer_capacity, minimum_pages + 1));
  gemem_slab_init (&pool->span_slab, sizeof (GeSpan));
  gemem_slab_init (&pool->root_slab, sizeof (GeRoot));
}

void
gemem_ge_pool_init_fixed (GeSpanPool *pool, guint64 base, guint64 size)
{
  gemem_ge_pool_add_range (pool, &pool->fixed, base, size >> pool->config.page_shift);
}

void
gemem_ge_pool_clear (GeSpanPool *pool)
{
  for (GeRoot *root = pool->roots; root != NULL; root = root->next)
    pool->lower->free (pool->lower_data, root->first->address,
                       gemem_ge_pool_bytes (pool, root->pages), root);
  if (pool->expandable != NULL)
    gemem_ge_expandable_clear (pool);
  gemem_ge_layers_clear (&pool->layers);
  gemem_slab_clear (&pool->span_slab);
  gemem_slab_clear (&pool->root_slab);
}

/* ---- allocate and free */

static G_GNUC_NO_INLINE gboolean
is_owner (GeSpanPool *pool)
{
  if (g_atomic_pointer_compare_and_exchange (&pool->owner, NULL, g_thread_self ())
      || g_atomic_pointer_get (&pool->owner) == g_thread_self ())
    return TRUE;
  gemem_allocator_refuse (pool->config.guarded,
                          "a second thread calls a pool that belongs to one (single_thread=yes); "
                          "make all calls from one thread, or give single_thread=no");
  return FALSE;
}

/* single_thread=yes: FALSE, with a refusal, for a second thread, which could corrupt a pool that
 * does not lock.  The bottom pool is locked by those above it. */
static inline gboolean
may_call (GeSpanPool *pool)
{
  return G_LIKELY (pool->config.guarded == NULL) || pool->config.shared != NULL || is_owner (pool);
}

/* Marks @span as allocated for a request of @size bytes, and counts it (1.8). */
static inline void
occupy (GeSpanPool *pool, GeSpan *span, guint64 size)
{
  const guint64 bytes = gemem_ge_pool_bytes (pool, span->pages);

  span->occupied = TRUE;
  span->upper = NULL;
  span->waste = (guint32) (bytes - size);
  pool->alloc_count++;
  pool->theory += bytes;
  pool->real_theory += size;
  pool->theory_min = MAX (pool->theory_min, pool->theory);
  pool->real_theory_min = MAX (pool->real_theory_min, pool->real_theory);
}

/* Asks how far the search for a span longer than @k pages has to reach, if there is one. */
static G_GNUC_NO_INLINE void
note_lift (const GeSpanPool *pool, guint32 k)
{
  const guint32 longer = gemem_ge_layers_next (&pool->layers, k + 1);
  guint64 layers = 1;

  if (longer == GE_LAYER_NONE)
    return;
  for (guint32 f = gemem_ge_layers_next_created (&pool->layers, k + 1); f < longer; layers++)
    f = gemem_ge_layers_next_created (&pool->layers, f + 1);
  gemem_ge_pool_note (pool, GE_ASKED_LIFT, layers, 0);
}

GeSpan *
gemem_ge_pool_alloc (GeSpanPool *pool, guint64 size)
{
  const guint32 k = gemem_ge_pool_pages_of (pool, size);
  GeSpan *span;

  gemem_ge_pool_note (pool, GE_ASKED_PAGES, size, 0);
  if (G_UNLIKELY (k == 0) || !may_call (pool))
    goto fail;
  if (pool->expandable != NULL)
    span = gemem_ge_expandable_alloc (pool, k);
  else
    {
      span = gemem_ge_layers_front (&pool->layers, k);
      if (span != NULL)
        gemem_ge_pool_take_idle (pool, span);
      else
        {
          if (G_UNLIKELY (pool->config.watch != NULL))
            note_lift (pool, k);
          span = gemem_ge_pool_cut_or_fetch (pool, gemem_ge_pool_find_longer (pool, k), k);
        }
    }
  if (span == NULL)
    goto fail;
  occupy (pool, span, size);
  if (pool->expandable != NULL)
    pool->expandable->range.theory_min = pool->theory_min;
  return span;

fail:
  pool->failures++;
  return NULL;
}

/* 1.8: counts the end of @span. */
static inline void
count_free (GeSpanPool *pool, const GeSpan *span)
{
  const guint64 bytes = gemem_ge_pool_bytes (pool, span->pages), real = bytes - span->waste;

  GEMEM_CHECK (span->occupied);
  GEMEM_FULL_CHECK (span->root->pool == pool);
  if (pool->theory >= real)
    {
      pool->theory -= bytes;
      pool->real_theory -= real;
    }
  pool->free_count++;
}

void
gemem_ge_pool_free (GeSpanPool *pool, GeSpan *span)
{
  if (!may_call (pool))
    return;
  count_free (pool, span);
  if (pool->expandable != NULL)
    gemem_ge_expandable_free (pool, span);
  else
    gemem_ge_pool_merge (pool, span);
}

guint64
gemem_ge_pool_recycle (GeSpanPool *pool)
{
  guint64 before = pool->obtained;

  if (!may_call (pool))
    return 0;
  if (pool->expandable != NULL)
    gemem_ge_expandable_drop_idle (pool);
  for (guint32 k = gemem_ge_layers_next (&pool->layers, 0); k != GE_LAYER_NONE;
       k = gemem_ge_layers_next (&pool->layers, k + 1))
    {
      GeSpan *next;
      for (GeSpan *span = gemem_ge_layers_front (&pool->layers, k); span != NULL; span = next)
        {
          next = span->layer_next;
          if (pool->expandable != NULL && gemem_ge_expandable_recycle (pool, span))
            continue;
          if (gemem_ge_span_is_split (span))
            continue;
          gemem_ge_pool_take_idle (pool, span);
          if (span->root == &pool->fixed)
            {
              pool->fixed.first = NULL;
              gemem_slab_free (&pool->span_slab, span);
            }
          else
            gemem_ge_pool_return_root (pool, span);
        }
    }
  pool->recycle_count++;
  return before - pool->obtained;
}

static GeSpan *
recycle_and_alloc (GeSpanPool *pool, guint64 size)
{
  if (gemem_ge_pool_recycle (pool) > 0)
    ++*pool->config.retries;
  return gemem_ge_pool_alloc (pool, size);
}

GeSpan *
gemem_ge_pool_alloc_or_recycle (GeSpanPool *pool, guint64 size)
{
  GeSpan *span = gemem_ge_pool_alloc (pool, size);

  return span != NULL ? span : recycle_and_alloc (pool, size);
}

/* ---- a pool as lower level */

static void
lock (const GeSpanPool *pool)
{
  if (pool->config.shared != NULL)
    gemem_device_lock (pool->config.shared);
}

static void
unlock (const GeSpanPool *pool)
{
  if (pool->config.shared != NULL)
    gemem_device_unlock (pool->config.shared);
}

static guint64
pool_lower_malloc (gpointer lower, guint64 bytes, GeRoot *root)
{
  guint64 address;
  GeSpan *span;

  lock (lower);
  span = gemem_ge_pool_alloc_or_recycle (lower, bytes);
  address = span != NULL ? gemem_ge_span_become_root (span, root) : 0;
  unlock (lower);
  return address;
}

static void
pool_lower_free (gpointer lower, G_GNUC_UNUSED guint64 address, G_GNUC_UNUSED guint64 bytes,
                 GeRoot *root)
{
  lock (lower);
  gemem_ge_pool_free (lower, root->handle);
  unlock (lower);
}

const GeLower gemem_ge_pool_lower = { pool_lower_malloc, pool_lower_free };

/* ---- questions */

guint32
gemem_ge_pool_largest_idle (const GeSpanPool *pool, guint64 limit)
{
  guint32 k = (guint32) MIN (limit, pool->layer_capacity - 1);
  guint32 exact;
  const GeSpan *longer;

  if (k == 0)
    return 0;
  exact = gemem_ge_layers_prev (&pool->layers, k);
  if (exact == k)
    return k;
  /* Between two lengths in use the wish for the most pages is the likeliest to be granted, so only
   * @k itself can do better than the exact hit. */
  longer = gemem_ge_pool_find_longer (pool, k);
  if (longer != NULL && gemem_ge_span_is_splittable (longer, (guint64) longer->tryl + k))
    return k;
  return exact == GE_LAYER_NONE ? 0 : exact;
}

guint64
gemem_ge_pool_growth_limit (const GeSpanPool *pool)
{
  if (pool->idle_pages == 0)
    return pool->layer_capacity - 1;
  if (pool->obtained >= pool->config.threshold)
    return 0;
  return MIN (pool->layer_capacity - 1,
              (pool->config.threshold - pool->obtained) >> pool->config.page_shift);
}

guint64
gemem_ge_pool_reach_theory_rate (const GeSpanPool *pool)
{
  if (pool->obtained == 0)
    return 0;
  if (pool->obtained < pool->real_theory_min)
    return 10000;
  return (10000 * pool->real_theory_min + pool->obtained / 2) / pool->obtained;
}

guint64
gemem_ge_pool_idle_bytes (const GeSpanPool *pool)
{
  return gemem_ge_pool_bytes (pool, pool->idle_pages);
}
