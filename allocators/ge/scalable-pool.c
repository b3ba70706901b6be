/* scalable-pool.c - see scalable-pool.h; the section numbers below are those of
 * ge-runtime.md. */
#include "config.h"

#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/scalable-private.h"

void
gemem_ge_pool_init (GePool *pool, const GePoolConfig *config, const GeLower *lower,
                    gpointer lower_data)
{
  guint64 minimum_pages = config->minimum >> config->page_shift;

  *pool = (GePool){ .config = *config, .lower = lower, .lower_data = lower_data };
  pool->page = G_GUINT64_CONSTANT (1) << config->page_shift;
  pool->layer_capacity = 1 + (config->threshold >> config->page_shift);
  /* A root block of the minimum size may be longer than the largest request. */
  gemem_ge_layers_init (&pool->layers, MAX (pool->layer_capacity, minimum_pages + 1));
  gemem_slab_init (&pool->span_slab, sizeof (GeSpan));
  gemem_slab_init (&pool->root_slab, sizeof (GeRoot));
}

void
gemem_ge_pool_init_fixed (GePool *pool, guint64 base, guint64 size)
{
  GeSpan *span = gemem_slab_alloc (&pool->span_slab);

  span->address = base;
  span->pages = pool->fixed.pages = (guint32) (size >> pool->config.page_shift);
  span->splitable = TRUE;
  span->root = &pool->fixed;
  pool->fixed.pool = pool;
  pool->fixed.first = span;
  gemem_ge_pool_push_idle (pool, span);
}

void
gemem_ge_pool_clear (GePool *pool)
{
  for (GeRoot *root = pool->roots; root != NULL; root = root->next)
    pool->lower->free (pool->lower_data, root->first->address,
                       (guint64) root->pages << pool->config.page_shift, root);
  if (pool->expandable != NULL)
    gemem_ge_expandable_clear (pool);
  gemem_ge_layers_clear (&pool->layers);
  gemem_slab_clear (&pool->span_slab);
  gemem_slab_clear (&pool->root_slab);
}

/* gemem_ge_span_bytes() without a look at the root block, which is seldom in the cache. */
static inline guint64
bytes_of (const GePool *pool, const GeSpan *span)
{
  return (guint64) span->pages << pool->config.page_shift;
}

/* ---- idle spans */

/* The front of the first layer that may be cut for @k pages (1.4), or NULL.  The Quick table looks
 * at non-empty layers only and knows no limit but 0; the Seq table counts the empty layers it
 * passes. */
GeSpan *
gemem_ge_pool_find_longer (const GePool *pool, guint32 k)
{
  const GeLayers *layers = &pool->layers;
  guint64 steps = pool->config.span_layer_lift_max;
  guint32 f;

  if (steps == 0)
    return NULL;
  if (pool->config.quick || steps >= pool->layer_capacity)
    {
      f = gemem_ge_layers_next (layers, k + 1);
      return f == GE_LAYER_NONE ? NULL : gemem_ge_layers_front (layers, f);
    }
  for (f = k; steps > 0; steps--)
    {
      f = gemem_ge_layers_next_created (layers, f + 1);
      if (f == GE_LAYER_NONE)
        return NULL;
      GeSpan *span = gemem_ge_layers_front (layers, f);
      if (span != NULL)
        return span;
    }
  return NULL;
}

/* Whether @span may be cut once @wanted pages in all have been asked of it: kDelaySplitRatio = 0.01
 * (1.5). */
static inline gboolean
is_splittable (const GeSpan *span, guint64 wanted)
{
  return span->splitable || gemem_ge_span_is_split (span) || wanted > span->pages / 100;
}

/* Takes the HIGH @k pages off the idle @span, which goes to the front of its new layer. */
GeSpan *
gemem_ge_pool_cut (GePool *pool, GeSpan *span, guint32 k)
{
  GeSpan *high = gemem_slab_alloc (&pool->span_slab);

  gemem_ge_pool_take_idle (pool, span);
  span->pages -= k;
  high->address = span->address + ((guint64) span->pages << pool->config.page_shift);
  high->pages = k;
  high->root = span->root;
  high->prev = span;
  high->next = span->next;
  if (high->next != NULL)
    high->next->prev = high;
  span->next = high;
  gemem_ge_pool_push_idle (pool, span);
  return high;
}

/* ---- the lower level */

/* A root block of @pages from below as one span in no layer, or NULL. */
static GeSpan *
obtain (GePool *pool, guint64 pages)
{
  guint64 bytes = pages << pool->config.page_shift;
  GeRoot *root = gemem_slab_alloc (&pool->root_slab);
  guint64 address = pool->lower->malloc (pool->lower_data, bytes, root);

  if (address == 0)
    {
      gemem_slab_free (&pool->root_slab, root);
      return NULL;
    }
  GeSpan *span = gemem_slab_alloc (&pool->span_slab);
  span->address = address;
  span->pages = root->pages = (guint32) pages;
  span->root = root;
  root->pool = pool;
  root->first = span;
  root->next = pool->roots;
  if (root->next != NULL)
    root->next->prev = root;
  pool->roots = root;
  pool->obtained += bytes;
  pool->root_alloc_count++;
  return span;
}

/* Gives the root block of @span, which is all of it and in no layer, back. */
static void
give_back (GePool *pool, GeSpan *span)
{
  GeRoot *root = span->root;
  guint64 bytes = bytes_of (pool, span);

  if (root->prev != NULL)
    root->prev->next = root->next;
  else
    pool->roots = root->next;
  if (root->next != NULL)
    root->next->prev = root->prev;
  pool->obtained -= bytes;
  pool->root_free_count++;
  pool->lower->free (pool->lower_data, span->address, bytes, root);
  gemem_slab_free (&pool->root_slab, root);
  gemem_slab_free (&pool->span_slab, span);
}

/* FetchNew (1.6, 1.9).  With something idle the threshold is a limit, so that the caller recycles
 * and tries again; with nothing idle it is not.  The subtraction wraps as the original's does when
 * the threshold is below the minimum. */
static GeSpan *
fetch_new (GePool *pool, guint32 k)
{
  guint64 minimum_pages = pool->config.minimum >> pool->config.page_shift;
  guint64 pages = MAX (k, minimum_pages);

  if (pool->obtained > pool->config.threshold - (pages << pool->config.page_shift)
      && pool->idle_pages > 0)
    return NULL;
  GeSpan *span = obtain (pool, pages);
  if (span == NULL || pages == k)
    return span;
  gemem_ge_pool_push_idle (pool, span);
  return gemem_ge_pool_cut (pool, span, k);
}

/* ---- allocate and free */

/* A second thread in a pool that does not lock would corrupt it silently. */
static inline void
expect_owner (GePool *pool)
{
#if defined(GEMEM_CHECKS) && GEMEM_CHECKS >= 2
  if (pool->config.shared == NULL && !pool->config.serialized
      && !g_atomic_pointer_compare_and_exchange (&pool->owner, NULL, g_thread_self ())
      && g_atomic_pointer_get (&pool->owner) != g_thread_self ())
    g_error ("ge-scalable: a pool of one thread is used by a second one; give each thread a pool "
             "of its own (ge-runtime.md 1.11)");
#else
  (void) pool;
#endif
}

void
gemem_ge_pool_occupy (GePool *pool, GeSpan *span, guint64 size)
{
  guint64 bytes = bytes_of (pool, span);

  span->occupied = TRUE;
  span->upper = NULL;
  span->waste = (guint32) (bytes - size);
  pool->alloc_count++;
  pool->theory += bytes;
  pool->real_theory += size;
  pool->theory_min = MAX (pool->theory_min, pool->theory);
  pool->real_theory_min = MAX (pool->real_theory_min, pool->real_theory);
}

GeSpan *
gemem_ge_pool_cut_or_fetch (GePool *pool, GeSpan *span, guint32 k)
{
  if (span == NULL)
    return fetch_new (pool, k);
  if (!span->splitable && !gemem_ge_span_is_split (span))
    {
      span->tryl += k;
      if (!is_splittable (span, span->tryl))
        return fetch_new (pool, k);
    }
  return gemem_ge_pool_cut (pool, span, k);
}

GeSpan *
gemem_ge_pool_alloc (GePool *pool, guint64 size)
{
  const guint32 k = gemem_ge_pool_pages_of (pool, size);
  GeSpan *span;

  expect_owner (pool);
  if (G_UNLIKELY (k == 0))
    goto fail;
  if (pool->expandable != NULL)
    span = gemem_ge_expandable_alloc (pool, k);
  else
    {
      span = gemem_ge_layers_front (&pool->layers, k);
      if (span != NULL)
        gemem_ge_pool_take_idle (pool, span);
      else
        span = gemem_ge_pool_cut_or_fetch (pool, gemem_ge_pool_find_longer (pool, k), k);
    }
  if (span == NULL)
    goto fail;
  gemem_ge_pool_occupy (pool, span, size);
  if (pool->expandable != NULL)
    pool->expandable->range.theory_min = pool->theory_min;
  return span;

fail:
  pool->failures++;
  return NULL;
}

/* @span absorbs the buddy after it. */
static void
absorb_next (GePool *pool, GeSpan *span)
{
  GeSpan *next = span->next;

  span->pages += next->pages;
  span->next = next->next;
  if (span->next != NULL)
    span->next->prev = span;
  gemem_slab_free (&pool->span_slab, next);
}

GeSpan *
gemem_ge_pool_merge (GePool *pool, GeSpan *span)
{
  gboolean merged = FALSE;

  span->occupied = span->hidden = FALSE;
  span->waste = 0;
  if (span->next != NULL && !span->next->occupied)
    {
      gemem_ge_pool_take_idle (pool, span->next);
      absorb_next (pool, span);
      merged = TRUE;
    }
  if (span->prev != NULL && !span->prev->occupied)
    {
      span = span->prev;
      gemem_ge_pool_take_idle (pool, span);
      absorb_next (pool, span);
      merged = TRUE;
    }
  /* A whole span that was handed out whole keeps its tryl (1.5). */
  if (merged && !gemem_ge_span_is_split (span))
    span->tryl = 0;
  gemem_ge_pool_push_idle (pool, span);
  return span;
}

void
gemem_ge_pool_unbook (GePool *pool, GeSpan *span)
{
  const guint64 bytes = bytes_of (pool, span), real = bytes - span->waste;

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
gemem_ge_pool_free (GePool *pool, GeSpan *span)
{
  expect_owner (pool);
  gemem_ge_pool_unbook (pool, span);
  if (pool->expandable != NULL)
    gemem_ge_expandable_free (pool, span);
  else
    gemem_ge_pool_merge (pool, span);
}

guint64
gemem_ge_pool_recycle (GePool *pool)
{
  guint64 before = pool->obtained;

  expect_owner (pool);
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
            give_back (pool, span);
        }
    }
  pool->recycle_count++;
  return before - pool->obtained;
}

GeSpan *
gemem_ge_pool_recycle_and_alloc (GePool *pool, guint64 size)
{
  if (gemem_ge_pool_recycle (pool) > 0)
    ++*pool->config.retries;
  return gemem_ge_pool_alloc (pool, size);
}

GeSpan *
gemem_ge_pool_alloc_or_recycle (GePool *pool, guint64 size)
{
  GeSpan *span = gemem_ge_pool_alloc (pool, size);

  return span != NULL ? span : gemem_ge_pool_recycle_and_alloc (pool, size);
}

/* ---- a pool as lower level */

static void
lock (const GePool *pool)
{
  if (pool->config.shared != NULL)
    gemem_device_lock (pool->config.shared);
}

static void
unlock (const GePool *pool)
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
  address = span != NULL ? gemem_ge_span_lend (span, root) : 0;
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
gemem_ge_pool_largest_idle (const GePool *pool, guint64 limit)
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
  if (longer != NULL && is_splittable (longer, (guint64) longer->tryl + k))
    return k;
  return exact == GE_LAYER_NONE ? 0 : exact;
}

guint64
gemem_ge_pool_growth_limit (const GePool *pool)
{
  if (pool->idle_pages == 0)
    return pool->layer_capacity - 1;
  if (pool->obtained >= pool->config.threshold)
    return 0;
  return MIN (pool->layer_capacity - 1,
              (pool->config.threshold - pool->obtained) >> pool->config.page_shift);
}

guint64
gemem_ge_pool_reach_theory_rate (const GePool *pool)
{
  if (pool->obtained == 0)
    return 0;
  if (pool->obtained < pool->real_theory_min)
    return 10000;
  return (10000 * pool->real_theory_min + pool->obtained / 2) / pool->obtained;
}

guint64
gemem_ge_pool_idle_bytes (const GePool *pool)
{
  return pool->idle_pages << pool->config.page_shift;
}
