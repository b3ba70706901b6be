/* async-memory.c - the memory of a CUDA pool: chunks mapped into its range, moved, and returned.
 *
 * A chunk that a request lacks is the mapped one with the highest address among those that lie
 * wholly in shared blocks, moved, or else a new one.  A page that was being moved when a mapping
 * failed goes back to the device.
 *
 * Invariants: pages[i] is the page mapped at chunk i, 0 if none is; only chunks that lie wholly in
 * shared blocks are unmapped.
 * Cost: O(shared blocks of at least a chunk + chunks looked at).
 * Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"

static GememPage *
page_at (GememCudaPool *pool, guint64 chunk)
{
  if (chunk >= pool->pages->len)
    g_array_set_size (pool->pages, (guint) chunk + 1);
  return &g_array_index (pool->pages, GememPage, chunk);
}

gboolean
gemem_cuda_pool_is_backed (const GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 unit = pool->params.growth, begin = block->base.node.address - pool->range;
  guint64 chunk = (begin + block->base.node.size + unit - 1) / unit;

  if (chunk > pool->pages->len)
    return FALSE;
  while (chunk-- > begin / unit)
    if (g_array_index (pool->pages, GememPage, chunk) == 0)
      return FALSE;
  return TRUE;
}

gboolean
gemem_cuda_pool_reserve (GememCudaPool *pool)
{
  if (pool->range != 0)
    return TRUE;
  pool->range = gemem_device_reserve (pool->base.device, pool->range_size,
                                      MAX (pool->params.growth, pool->granularity));
  if (pool->range == 0)
    return FALSE;
  pool->first = gemem_slab_alloc (&pool->block_slab);
  pool->first->base.node.address = pool->range;
  pool->first->base.node.size = pool->range_size;
  gemem_cuda_pool_put_shared (pool, pool->first, TRUE);
  return TRUE;
}

/* ---- chunks that lie in shared blocks */

static guint64
first_whole (const GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 unit = pool->params.growth;

  return (block->base.node.address - pool->range + unit - 1) / unit;
}

static guint64
whole_end (const GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 end = block->base.node.address + block->base.node.size - pool->range;

  return MIN (end / pool->params.growth, pool->pages->len);
}

static int
compare_addresses (gconstpointer a, gconstpointer b)
{
  const GememCudaBlock *const *x = a, *const *y = b;

  return (*x)->base.node.address < (*y)->base.node.address ? 1 : -1;
}

/* Begins to look for chunks to take; no block may change between this and the last next_idle(). */
static void
look_for_idle (GememCudaPool *pool)
{
  g_ptr_array_set_size (pool->idle, 0);
  for (guint64 group = GEMEM_CUDA_BACKED; group <= GEMEM_CUDA_BARE; group++)
    for (GememTreeNode *node = gemem_tree_fit (&pool->lists, group, pool->params.growth);
         node != NULL && node->group == group; node = gemem_tree_next (node))
      if (first_whole (pool, gemem_cuda_block (node)) < whole_end (pool, gemem_cuda_block (node)))
        g_ptr_array_add (pool->idle, gemem_cuda_block (node));
  g_ptr_array_sort (pool->idle, compare_addresses);
  pool->idle_at = 0;
  pool->idle_end = G_MAXUINT64;
}

/* The next mapped chunk, downwards, and its block; FALSE: there is none. */
static gboolean
next_idle (GememCudaPool *pool, guint64 *chunk, GememCudaBlock **block)
{
  for (; pool->idle_at < pool->idle->len; pool->idle_at++, pool->idle_end = G_MAXUINT64)
    {
      *block = g_ptr_array_index (pool->idle, pool->idle_at);
      *chunk = MIN (pool->idle_end, whole_end (pool, *block));
      while (*chunk > first_whole (pool, *block))
        if (g_array_index (pool->pages, GememPage, --*chunk) != 0)
          {
            pool->idle_end = *chunk;
            return TRUE;
          }
    }
  return FALSE;
}

/* Unmaps the next chunk; its page, 0: there is none, or the device refused. */
static GememPage
take_idle (GememCudaPool *pool)
{
  const guint64 unit = pool->params.growth;
  GememDevice *device = pool->base.device;
  GememCudaBlock *block;
  guint64 chunk, address;
  GememPage page;

  if (!next_idle (pool, &chunk, &block))
    return 0;
  address = pool->range + chunk * unit;
  if (!gemem_device_unmap (device, address, unit)
      && !gemem_device_unmap (device, address, unit)) /* once more */
    return 0;
  page = *page_at (pool, chunk);
  *page_at (pool, chunk) = 0;
  pool->reserved -= unit;
  if (block->put.group == GEMEM_CUDA_BACKED)
    {
      gemem_tree_remove (&pool->lists, &block->put);
      gemem_cuda_pool_put_shared (pool, block, FALSE);
    }
  return page;
}

void
gemem_cuda_pool_shrink (GememCudaPool *pool, guint64 above)
{
  GememPage page;

  if (pool->reserved <= above)
    return;
  look_for_idle (pool);
  while (pool->reserved > above && (page = take_idle (pool)) != 0)
    {
      gemem_device_destroy_page (pool->base.device, page, pool->params.growth);
      pool->released++;
    }
}

/* ---- mapping */

static GememPage
new_page (GememCudaPool *pool)
{
  const guint64 unit = pool->params.growth;

  if (pool->reserved > pool->params.max_size || unit > pool->params.max_size - pool->reserved)
    return 0;
  return gemem_device_create_page (pool->base.device, unit);
}

static gboolean
map_chunk (GememCudaPool *pool, guint64 chunk)
{
  const guint64 unit = pool->params.growth;
  GememPage page = take_idle (pool);
  const gboolean moved = page != 0;

  if (!moved)
    page = new_page (pool);
  if (page == 0)
    return FALSE;
  if (!gemem_device_map (pool->base.device, pool->range + chunk * unit, page, 0, unit))
    {
      gemem_device_destroy_page (pool->base.device, page, unit);
      return FALSE;
    }
  *page_at (pool, chunk) = page;
  pool->reserved += unit;
  pool->reserved_high = MAX (pool->reserved_high, pool->reserved);
  *(moved ? &pool->remapped : &pool->growths) += moved ? unit : 1;
  return TRUE;
}

gboolean
gemem_cuda_pool_map (GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 unit = pool->params.growth, begin = block->base.node.address - pool->range;
  const guint64 end = begin + block->base.node.size;

  look_for_idle (pool);
  for (guint64 chunk = begin / unit; chunk * unit < end; chunk++)
    if (*page_at (pool, chunk) == 0 && !map_chunk (pool, chunk))
      return FALSE;
  return TRUE;
}

void
gemem_cuda_pool_clear_memory (GememCudaPool *pool)
{
  const guint64 unit = pool->params.growth;

  for (guint i = 0; i < pool->pages->len; i++)
    {
      const GememPage page = g_array_index (pool->pages, GememPage, i);
      const guint64 address = pool->range + i * unit;

      if (page == 0)
        continue;
      if (!gemem_device_unmap (pool->base.device, address, unit))
        gemem_device_unmap (pool->base.device, address, unit); /* once more */
      gemem_device_destroy_page (pool->base.device, page, unit);
    }
  if (pool->range != 0)
    gemem_device_release (pool->base.device, pool->range, pool->range_size);
}
