/* scalable-private.h - the steps a ScalableAllocator is made of, for the pool with a virtual range
 * (expandable-pool.c).
 *
 * The section numbers are those of ge-runtime.md.
 */
#pragma once

#include "allocators/ge/scalable-pool.h"

/* 1.3: the pages of a request of @size bytes; 0 when it is beyond the threshold. */
static inline guint32
gemem_ge_pool_pages_of (const GePool *pool, guint64 size)
{
  const guint64 k = size == 0 ? 1 : (size + pool->page - 1) >> pool->config.page_shift;

  return size > pool->config.threshold || k >= pool->layer_capacity ? 0 : (guint32) k;
}

/* Into, and out of, the layer of its length. */
static inline void
gemem_ge_pool_push_idle (GePool *pool, GeSpan *span)
{
  gemem_ge_layers_push (&pool->layers, span);
  pool->idle_pages += span->pages;
}

static inline void
gemem_ge_pool_take_idle (GePool *pool, GeSpan *span)
{
  gemem_ge_layers_remove (&pool->layers, span);
  pool->idle_pages -= span->pages;
}

/* 1.4: the front of the first layer that may be cut for @k pages, or NULL. */
GeSpan *gemem_ge_pool_find_longer (const GePool *pool, guint32 k);
/* Cut: takes the HIGH @k pages off the idle @span, which goes to the front of its new layer; the
 * piece is in no layer and not occupied. */
GeSpan *gemem_ge_pool_cut (GePool *pool, GeSpan *span, guint32 k);
/* 1.5: cuts the idle @span, or fetches @k new pages from below while it is spared; NULL when
 * refused. */
GeSpan *gemem_ge_pool_cut_or_fetch (GePool *pool, GeSpan *span, guint32 k);
/* Books @span as handed out for a request of @size bytes. */
void gemem_ge_pool_occupy (GePool *pool, GeSpan *span, guint64 size);
/* Un-books it; 1.8. */
void gemem_ge_pool_unbook (GePool *pool, GeSpan *span);
/* 1.7: merges @span, in no layer, with its idle buddies and pushes the survivor, which is
 * returned. */
GeSpan *gemem_ge_pool_merge (GePool *pool, GeSpan *span);
