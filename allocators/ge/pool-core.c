/* pool-core.c - see pool-core.h; the section numbers are those of ge-runtime.md. */
#include "config.h"

#include "allocators/ge/links.h"
#include "allocators/ge/pool-core.h"

/* ---- idle spans */

void
gemem_ge_pool_add_range (GeSpanPool *pool, GeRoot *root, guint64 address, guint64 pages)
{
  GeSpan *span = gemem_slab_alloc (&pool->span_slab);

  span->address = address;
  span->pages = root->pages = (guint32) pages;
  span->splitable = TRUE;
  span->root = root;
  root->pool = pool;
  root->first = span;
  gemem_ge_pool_push_idle (pool, span);
}

GeSpan *
gemem_ge_pool_find_longer (const GeSpanPool *pool, guint32 k)
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

GeSpan *
gemem_ge_pool_cut (GeSpanPool *pool, GeSpan *span, guint32 k)
{
  GeSpan *high = gemem_slab_alloc (&pool->span_slab);

  gemem_ge_pool_take_idle (pool, span);
  span->pages -= k;
  high->address = span->address + ((guint64) span->pages << pool->config.page_shift);
  high->pages = k;
  high->root = span->root;
  GE_LINK_AFTER (span, high);
  gemem_ge_pool_push_idle (pool, span);
  return high;
}

/* ---- the lower level */

/* A root block of @pages of the lower level as one span, which is in no layer, or NULL. */
static GeSpan *
obtain (GeSpanPool *pool, guint64 pages)
{
  guint64 bytes = gemem_ge_pool_bytes (pool, pages);
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
  GE_LINK_FIRST (pool->roots, root, prev, next);
  pool->obtained += bytes;
  pool->root_alloc_count++;
  return span;
}

void
gemem_ge_pool_return_root (GeSpanPool *pool, GeSpan *span)
{
  GeRoot *root = span->root;
  guint64 bytes = gemem_ge_pool_bytes (pool, span->pages);

  GE_UNLINK (pool->roots, root, prev, next);
  pool->obtained -= bytes;
  pool->root_free_count++;
  pool->lower->free (pool->lower_data, span->address, bytes, root);
  gemem_slab_free (&pool->root_slab, root);
  gemem_slab_free (&pool->span_slab, span);
}

/* FetchNew (1.6, 1.9).  While something is idle the threshold is a limit, so that the caller
 * recycles and tries again; with nothing idle it is none.  The subtraction wraps as the original's
 * does when the threshold is below the minimum. */
static GeSpan *
fetch_new (GeSpanPool *pool, guint32 k)
{
  guint64 minimum_pages = pool->config.minimum >> pool->config.page_shift;
  guint64 pages = MAX (k, minimum_pages);

  if (pool->config.watches_roots)
    gemem_ge_pool_note (pool, GE_ASKED_ROOT, k, 0);
  if (pool->idle_pages > 0)
    gemem_ge_pool_note (pool, GE_ASKED_OVER, pool->obtained, pages);
  if (pool->obtained > pool->config.threshold - (pages << pool->config.page_shift)
      && pool->idle_pages > 0)
    return NULL;
  GeSpan *span = obtain (pool, pages);
  if (span == NULL || pages == k)
    return span;
  gemem_ge_pool_push_idle (pool, span);
  return gemem_ge_pool_cut (pool, span, k);
}

GeSpan *
gemem_ge_pool_cut_or_fetch (GeSpanPool *pool, GeSpan *span, guint32 k)
{
  if (span == NULL)
    return fetch_new (pool, k);
  if (!span->splitable && !gemem_ge_span_is_split (span))
    {
      span->tryl += k;
      if (!gemem_ge_span_is_splittable (span, span->tryl))
        return fetch_new (pool, k);
    }
  return gemem_ge_pool_cut (pool, span, k);
}

/* ---- neighbours */

/* @span absorbs the buddy after it. */
static void
absorb_next (GeSpanPool *pool, GeSpan *span)
{
  GeSpan *next = span->next;

  span->pages += next->pages;
  GE_UNLINK_NEXT (span);
  gemem_slab_free (&pool->span_slab, next);
}

GeSpan *
gemem_ge_pool_merge (GeSpanPool *pool, GeSpan *span)
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
  /* A whole span that was allocated whole keeps its tryl (1.5). */
  if (merged && !gemem_ge_span_is_split (span))
    span->tryl = 0;
  gemem_ge_pool_push_idle (pool, span);
  return span;
}
