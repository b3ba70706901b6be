/* async-memory.c - the memory of a CUDA pool: units mapped into its range, moved, and returned.
 *
 * A request that nothing fits is placed at the lowest unmapped addresses that are long enough,
 * together with the free block directly below them.  Units that are unused elsewhere are moved
 * there first, from the highest address down (`remap`), the rest is new.  What the device refuses
 * is undone; only a unit that was being moved when a mapping failed is lost to the device.
 *
 * Invariants: pages[i] is the page mapped at unit i, 0 if none is; a unit is unmapped only where
 * all work on it is done.
 * Cost: O(blocks of at least a unit + unmapped blocks + units moved).
 * Origin: peers.md 1d; the order in which units go is assumed.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "base/units.h"

/* ---- units */

static GememPage *
page_at (GememCudaPool *pool, guint64 address)
{
  const guint64 unit = (address - pool->range) / pool->params.growth;

  if (unit >= pool->pages->len)
    g_array_set_size (pool->pages, (guint) unit + 1);
  return &g_array_index (pool->pages, GememPage, unit);
}

static guint64
first_unit (const GememCudaPool *pool, const GememCudaBlock *block)
{
  return pool->range + gemem_align_up (block->base.node.address - pool->range, pool->params.growth);
}

static guint64
last_end (const GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 end = block->base.node.address + block->base.node.size;

  return end - (end - pool->range) % pool->params.growth;
}

/* Whole units in @block. */
static guint64
units_of (const GememCudaPool *pool, const GememCudaBlock *block)
{
  const guint64 low = first_unit (pool, block), high = last_end (pool, block);

  return low < high ? (high - low) / pool->params.growth : 0;
}

static void
insert_unmapped (GememCudaPool *pool, GememCudaBlock *block)
{
  block->state = GEMEM_CUDA_UNMAPPED;
  block->base.node.group = 0;
  gemem_tree_insert (&pool->unmapped, &block->base.node);
}

/* The first block of an empty pool; FALSE: the device refused the range. */
static gboolean
reserve (GememCudaPool *pool)
{
  const guint64 unit = pool->params.growth;

  if (pool->range != 0)
    return TRUE;
  pool->range = gemem_device_reserve (pool->base.device, pool->range_size,
                                      MAX (unit, pool->granularity));
  if (pool->range == 0)
    return FALSE;
  pool->first = gemem_slab_alloc (&pool->block_slab);
  pool->first->base.node.address = pool->range;
  pool->first->base.node.size = pool->range_size;
  insert_unmapped (pool, pool->first);
  return TRUE;
}

/* ---- taking units off blocks */

static GememCudaBlock *
cut (GememCudaPool *pool, GememCudaBlock *block, guint64 address)
{
  GememCudaBlock *high = gemem_slab_alloc (&pool->block_slab);

  gemem_neighbours_split (&block->base, &high->base,
                          block->base.node.address + block->base.node.size - address);
  high->state = block->state;
  return high;
}

/* Unmaps the highest @units units of @block, which is in the tree and available to all; their pages
 * are appended to `gathered`.  Returns how many: fewer if the device refused. */
static guint64
take_units (GememCudaPool *pool, GememCudaBlock *block, guint64 units)
{
  const guint64 unit = pool->params.growth, end = last_end (pool, block);
  GememDevice *device = pool->base.device;
  GememCudaBlock *bare = block, *other;
  guint64 low = end;

  for (; units > 0; units--, low -= unit)
    {
      GememPage *page = page_at (pool, low - unit);

      if (!gemem_device_unmap (device, low - unit, unit)
          && !gemem_device_unmap (device, low - unit, unit)) /* once more */
        break;
      g_array_append_val (pool->gathered, *page);
      *page = 0;
    }
  if (low == end)
    return 0;
  gemem_tree_remove (&pool->free, &block->base.node);
  if (end < block->base.node.address + block->base.node.size)
    {
      other = cut (pool, block, end);
      gemem_tree_insert (&pool->free, &other->base.node);
    }
  if (low > block->base.node.address)
    {
      bare = cut (pool, block, low);
      gemem_tree_insert (&pool->free, &block->base.node);
    }
  pool->reserved -= end - low;
  other = gemem_cuda_next (bare);
  if (other != NULL && other->state == GEMEM_CUDA_UNMAPPED)
    {
      gemem_tree_remove (&pool->unmapped, &other->base.node);
      gemem_neighbours_merge (&bare->base, &pool->block_slab);
    }
  other = gemem_cuda_previous (bare);
  if (other != NULL && other->state == GEMEM_CUDA_UNMAPPED)
    {
      gemem_tree_remove (&pool->unmapped, &other->base.node);
      gemem_neighbours_merge (&other->base, &pool->block_slab);
      bare = other;
    }
  insert_unmapped (pool, bare);
  return (end - low) / unit;
}

static int
compare_addresses (gconstpointer a, gconstpointer b)
{
  const GememCudaBlock *const *x = a, *const *y = b;

  return (*x)->base.node.address < (*y)->base.node.address ? 1 : -1;
}

/* Fills `idle` with the blocks other than @but that are available to all and have a whole unit, the
 * highest first; returns their units. */
static guint64
find_idle (GememCudaPool *pool, const GememCudaBlock *but)
{
  guint64 units = 0;

  g_ptr_array_set_size (pool->idle, 0);
  for (GememTreeNode *node = gemem_tree_lower_bound (&pool->free, 0, pool->params.growth, 0);
       node != NULL && node->group == 0; node = gemem_tree_next (node))
    if (gemem_cuda_block (node) != but && units_of (pool, gemem_cuda_block (node)) > 0)
      {
        units += units_of (pool, gemem_cuda_block (node));
        g_ptr_array_add (pool->idle, gemem_cuda_block (node));
      }
  g_ptr_array_sort (pool->idle, compare_addresses);
  return units;
}

/* Unmaps up to @units units of the blocks in `idle`; returns how many. */
static guint64
take_idle (GememCudaPool *pool, guint64 units)
{
  guint64 taken = 0;

  for (guint i = 0; i < pool->idle->len && taken < units; i++)
    {
      GememCudaBlock *block = g_ptr_array_index (pool->idle, i);
      const guint64 wanted = MIN (units - taken, units_of (pool, block));
      const guint64 got = take_units (pool, block, wanted);

      taken += got;
      if (got < wanted)
        break;
    }
  return taken;
}

static void
destroy_gathered (GememCudaPool *pool)
{
  for (guint i = 0; i < pool->gathered->len; i++)
    gemem_device_destroy_page (pool->base.device, g_array_index (pool->gathered, GememPage, i),
                               pool->params.growth);
  g_array_set_size (pool->gathered, 0);
}

void
gemem_cuda_pool_shrink (GememCudaPool *pool, guint64 keep)
{
  if (pool->reserved <= keep || pool->reserved - keep < pool->params.growth)
    return;
  find_idle (pool, NULL);
  pool->released += take_idle (pool, (pool->reserved - keep) / pool->params.growth);
  destroy_gathered (pool);
}

/* ---- growing */

/* The lowest unmapped block that has, with the free block below it, @size bytes for stream number
 * @stream; NULL: none. */
static GememCudaBlock *
find_place (const GememCudaPool *pool, guint64 size, guint64 stream, GememCudaBlock **below)
{
  GememCudaBlock *best = NULL;

  for (GememTreeNode *node = gemem_tree_first (&pool->unmapped); node != NULL;
       node = gemem_tree_next (node))
    {
      GememCudaBlock *block = gemem_cuda_block (node), *low = gemem_cuda_previous (block);
      const gboolean joins = low != NULL && low->state == GEMEM_CUDA_FREE
                             && (low->base.node.group == stream || low->base.node.group == 0);

      if ((best != NULL && best->base.node.address < node->address)
          || node->size + (joins ? low->base.node.size : 0) < size)
        continue;
      best = block;
      *below = joins ? low : NULL;
    }
  return best;
}

/* Fills `gathered` with @units pages, @idle of them from elsewhere; FALSE: refused. */
static gboolean
gather (GememCudaPool *pool, guint64 units, guint64 idle)
{
  const guint64 unit = pool->params.growth;

  g_array_set_size (pool->gathered, 0);
  for (guint64 i = idle; i < units; i++)
    {
      const GememPage page = gemem_device_create_page (pool->base.device, unit);

      if (page == 0)
        return FALSE;
      g_array_append_val (pool->gathered, page);
    }
  if (take_idle (pool, idle) < idle)
    return FALSE;
  pool->remapped += idle * unit;
  return TRUE;
}

/* Maps the pages of `gathered` at @address; FALSE: refused, and none is mapped. */
static gboolean
map (GememCudaPool *pool, guint64 address)
{
  const guint64 unit = pool->params.growth;
  GememDevice *device = pool->base.device;
  guint mapped = 0;

  for (; mapped < pool->gathered->len; mapped++)
    {
      const GememPage page = g_array_index (pool->gathered, GememPage, mapped);

      if (!gemem_device_map (device, address + mapped * unit, page, 0, unit))
        break;
    }
  if (mapped == pool->gathered->len)
    {
      for (guint i = 0; i < mapped; i++)
        *page_at (pool, address + i * unit) = g_array_index (pool->gathered, GememPage, i);
      return TRUE;
    }
  while (mapped-- > 0)
    if (!gemem_device_unmap (device, address + mapped * unit, unit))
      gemem_device_unmap (device, address + mapped * unit, unit); /* once more */
  return FALSE;
}

GememCudaBlock *
gemem_cuda_pool_grow (GememCudaPool *pool, guint64 size, guint64 stream)
{
  const guint64 unit = pool->params.growth;
  GememCudaBlock *below = NULL, *place = NULL;
  guint64 bytes, idle = 0;

  if (reserve (pool))
    place = find_place (pool, size, stream, &below);
  if (place == NULL)
    return NULL;
  bytes = gemem_align_up (size - (below != NULL ? below->base.node.size : 0), unit);
  if (pool->params.remap)
    idle = MIN (find_idle (pool, below), bytes / unit);
  if (bytes - idle * unit > pool->params.max_size - pool->reserved)
    return NULL;
  if (!gather (pool, bytes / unit, idle) || !map (pool, place->base.node.address))
    {
      destroy_gathered (pool);
      return NULL;
    }
  g_array_set_size (pool->gathered, 0);
  gemem_tree_remove (&pool->unmapped, &place->base.node);
  if (place->base.node.size > bytes)
    insert_unmapped (pool, cut (pool, place, place->base.node.address + bytes));
  pool->reserved += bytes;
  pool->reserved_high = MAX (pool->reserved_high, pool->reserved);
  pool->growths++;
  place->state = GEMEM_CUDA_FREE;
  place->base.node.group = below != NULL ? below->base.node.group : 0;
  return gemem_cuda_pool_coalesce (pool, place);
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
