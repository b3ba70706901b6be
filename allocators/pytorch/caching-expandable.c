/* caching-expandable.c - expandable segments of `pytorch-caching`: ranges of addresses into which
 * pages are mapped as they are needed.
 *
 * A segment is a reserved range, longer than the device's memory, of one stream and one pool; it
 * begins as a single UNMAPPED block.  A miss takes the lowest run of free and unmapped blocks that
 * is long enough and maps what is missing of it, in whole pages; emptying the cache unmaps the
 * whole pages inside free blocks.
 *
 * Invariants: an UNMAPPED block begins and ends at pages; no two are neighbours; each is in its
 * pool's set `unmapped`, whose keys are (stream, 0, address), so the size in its node is 0 and
 * gemem_caching_extent() tells its length; pages[i] is the physical page at address + i * page, 0
 * where none is mapped.  A pool's kept pages (torch-npu) are not `reserved`.
 * Cost: O(log n) per page mapped or unmapped, and the search for a run passes over the stream's
 * unmapped blocks below it.
 * Origin: peers.md 1a.6, 1a.7; examples P7 to P12.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

/* ---- ranges */

static GememPage *
page_at (const CachingSegment *segment, guint64 address)
{
  const guint64 index = (address - segment->address) / segment->page;

  if (index >= segment->pages->len)
    g_array_set_size (segment->pages, (guint) index + 1);
  return &g_array_index (segment->pages, GememPage, index);
}

static void
insert_unmapped (CachingBlock *block)
{
  block->state = CACHING_UNMAPPED;
  block->node.size = 0;
  block->node.address = block->address;
  gemem_tree_insert (&block->segment->pool->unmapped, &block->node);
}

/* Reserves a range for @wanted bytes in @pool and @stream: one UNMAPPED block.  NULL: the device
 * refused, or such a range is too short and the version does not keep it. */
static CachingBlock *
range_new (Caching *caching, CachingPool *pool, guint64 wanted, guint64 stream)
{
  const guint64 page = gemem_caching_page_of (caching, pool);
  const guint64 own = pool->small   ? caching->settings.small_range
                      : stream != 0 ? caching->settings.stream_range
                                    : 0;
  const guint64 size = gemem_round_up (own != 0 ? own : caching->range, page);
  const guint64 address = gemem_device_reserve (caching->base.device, size, caching->granularity);
  CachingBlock *block;

  if (caching->watch != NULL && !pool->small)
    gemem_caching_note_question (caching, CACHING_ASK_PAGE, 0, 0);
  if (address == 0)
    return NULL;
  if (size < wanted && caching->settings.version->range_suffices)
    {
      gemem_device_release (caching->base.device, address, size);
      return NULL;
    }
  block = gemem_caching_chain_new (caching, pool, address, size, stream);
  block->segment->page = page;
  block->segment->pages = g_array_new (FALSE, TRUE, sizeof (GememPage));
  insert_unmapped (block);
  return block;
}

static void
keep_page (CachingPool *pool, GememPage page)
{
  if (pool->kept == NULL)
    pool->kept = g_array_new (FALSE, FALSE, sizeof (GememPage));
  g_array_append_val (pool->kept, page);
}

void
gemem_caching_drop_kept (Caching *caching, CachingPool *pool)
{
  for (guint i = 0; i < pool->kept->len; i++)
    gemem_device_destroy_page (caching->base.device, g_array_index (pool->kept, GememPage, i),
                               gemem_caching_page_of (caching, pool));
  g_array_set_size (pool->kept, 0);
}

/* Takes the pages of [@address, @address + @size) away; returns the bytes from @address on that are
 * unmapped, less than @size if the device refused. */
static guint64
drop_pages (Caching *caching, const CachingSegment *segment, guint64 address, guint64 size)
{
  GememDevice *device = caching->base.device;
  guint64 done = 0;

  for (; done < size; done += segment->page)
    {
      GememPage *page = page_at (segment, address + done);

      if (!gemem_device_unmap (device, address + done, segment->page)
          && !gemem_device_unmap (device, address + done, segment->page)) /* once more */
        break;
      if (caching->keeps_pages)
        keep_page (segment->pool, *page);
      else
        gemem_device_destroy_page (device, *page, segment->page);
      *page = 0;
    }
  return done;
}

/* A page for @segment: the one kept last, or a new one; 0: the device refused. */
static GememPage
take_page (Caching *caching, const CachingSegment *segment)
{
  GArray *kept = segment->pool->kept;
  GememPage page;

  if (kept == NULL || kept->len == 0)
    {
      page = gemem_device_create_page (caching->base.device, segment->page);
      if (page == 0 && segment->page == caching->settings.segment_unit)
        page = gemem_device_create_page (caching->base.device, segment->page);
      return page;
    }
  page = g_array_index (kept, GememPage, kept->len - 1);
  g_array_set_size (kept, kept->len - 1);
  return page;
}

/* Maps pages at [@address, @address + @size); FALSE: refused, and all that were gathered for it are
 * returned to the device. */
static gboolean
put_pages (Caching *caching, const CachingSegment *segment, guint64 address, guint64 size)
{
  GememDevice *device = caching->base.device;
  guint64 made = 0, mapped = 0;

  if (segment->page % caching->granularity != 0) /* cuMemCreate: invalid value */
    {
      caching->failure = CACHING_BROKEN;
      return FALSE;
    }
  for (; made < size; made += segment->page)
    {
      const GememPage page = take_page (caching, segment);
      if (page == 0)
        break;
      *page_at (segment, address + made) = page;
    }
  for (; made == size && mapped < size; mapped += segment->page)
    if (!gemem_device_map (device, address + mapped, *page_at (segment, address + mapped), 0,
                           segment->page))
      break;
  if (mapped == size)
    return TRUE;
  drop_pages (caching, segment, address, mapped);
  for (; mapped < made; mapped += segment->page)
    {
      GememPage *page = page_at (segment, address + mapped);
      gemem_device_destroy_page (device, *page, segment->page);
      *page = 0;
    }
  return FALSE;
}

void
gemem_caching_range_release (Caching *caching, CachingSegment *segment)
{
  for (guint i = 0; i < segment->pages->len; i++)
    if (g_array_index (segment->pages, GememPage, i) != 0)
      drop_pages (caching, segment, segment->address + i * segment->page, segment->page);
  gemem_device_release (caching->base.device, segment->address, segment->size);
  g_array_unref (segment->pages);
}

/* ---- growing */

/* Splits as gemem_caching_split(), but it is the high part that counts as new: so the real system
 * makes the parts when pages are mapped or unmapped (version=2.12.1 orders by it). */
static CachingBlock *
split_off_high (Caching *caching, CachingBlock *block, guint64 size)
{
  CachingBlock *low = gemem_caching_split (caching, block, size);
  const guint64 number = low->number;

  low->number = block->number;
  block->number = number;
  return low;
}

/* Maps at least @size bytes at the begin of @block, which is UNMAPPED; the free block that they
 * become part of.  NULL: the device refused. */
static CachingBlock *
map (Caching *caching, CachingBlock *block, guint64 size)
{
  CachingSegment *segment = block->segment;
  const guint64 mapped = gemem_round_up (size, segment->page),
                extent = gemem_caching_extent (block);

  if (!put_pages (caching, segment, block->address, mapped))
    return NULL;
  gemem_tree_remove (&segment->pool->unmapped, &block->node);
  block->node.size = extent;
  if (mapped < extent)
    {
      CachingBlock *rest = block;

      block = split_off_high (caching, rest, mapped);
      insert_unmapped (rest);
    }
  caching->reserved += mapped;
  gemem_caching_stat_add (caching, CACHING_STAT_RESERVED_BYTES, segment->pool->small, mapped);
  caching->num_device_alloc++;
  gemem_caching_pair_of (segment->pool)->balance++;
  gemem_caching_make_free (caching, block);
  return block;
}

static gboolean
is_available (const CachingBlock *block)
{
  return block != NULL && (block->state == CACHING_FREE || block->state == CACHING_UNMAPPED);
}

/* The first block of the lowest run of free and unmapped blocks with @size bytes; NULL: none. */
static CachingBlock *
find_run (const CachingPool *pool, guint64 size, guint64 stream)
{
  for (GememTreeNode *node = gemem_tree_lower_bound (&pool->unmapped, stream, 0, 0);
       node != NULL && node->group == stream; node = gemem_tree_next (node))
    {
      CachingBlock *begin = gemem_caching_block (node);
      guint64 sum = 0;

      if (is_available (begin->previous))
        begin = begin->previous;
      for (CachingBlock *block = begin; is_available (block) && sum < size; block = block->next)
        sum += gemem_caching_extent (block);
      if (sum >= size)
        return begin;
    }
  return NULL;
}

CachingBlock *
gemem_caching_expand (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  CachingBlock *block = find_run (pool, size, stream);

  if (block == NULL)
    block = range_new (caching, pool, size, stream);
  if (block != NULL && block->state == CACHING_UNMAPPED)
    block = map (caching, block, MIN (gemem_caching_extent (block), size));
  /* what is mapped here stays mapped, even if the rest is refused */
  while (block != NULL && block->node.size < size)
    block = block->next == NULL || block->next->state != CACHING_UNMAPPED
                ? NULL
                : map (caching, block->next,
                       MIN (size - block->node.size, gemem_caching_extent (block->next)));
  if (block != NULL)
    gemem_tree_remove (&pool->free, &block->node);
  return block;
}

/* The block of a range of @pool and @stream into whose unmapped part the pages of @adopt fit. */
static CachingBlock *
find_unmapped (const CachingPool *pool, const GememAdopt *adopt)
{
  for (GememTreeNode *node = gemem_tree_lower_bound (&pool->unmapped, adopt->stream, 0, 0);
       node != NULL && node->group == adopt->stream; node = gemem_tree_next (node))
    {
      CachingBlock *block = gemem_caching_block (node);

      if (adopt->address >= block->address
          && adopt->address - block->address <= gemem_caching_extent (block)
          && adopt->size <= gemem_caching_extent (block) - (adopt->address - block->address)
          && (adopt->address - block->segment->address) % block->segment->page == 0)
        return block;
    }
  return NULL;
}

gboolean
gemem_caching_adopt_mapped (Caching *caching, CachingPool *pool, const GememAdopt *adopt)
{
  CachingBlock *block = find_unmapped (pool, adopt);

  if (block == NULL)
    {
      gemem_device_expect_map (caching->base.device, adopt->address, adopt->size, FALSE);
      block = range_new (caching, pool, adopt->size, adopt->stream);
    }
  if (block == NULL || adopt->address < block->address || adopt->size % block->segment->page != 0)
    return FALSE;
  if (adopt->address > block->address)
    {
      CachingBlock *below;

      gemem_tree_remove (&pool->unmapped, &block->node);
      block->node.size = gemem_caching_extent (block);
      below = split_off_high (caching, block, adopt->address - block->address);
      insert_unmapped (below);
      insert_unmapped (block);
    }
  return map (caching, block, adopt->size) != NULL;
}

/* ---- shrinking */

/* Merges @block, which is UNMAPPED and in no set, with its unmapped neighbours. */
static void
merge_unmapped (Caching *caching, CachingBlock *block)
{
  CachingBlock *low = block->previous, *high = block->next;
  GememTree *unmapped = &block->segment->pool->unmapped;

  if (low != NULL && low->state == CACHING_UNMAPPED)
    {
      gemem_tree_remove (unmapped, &low->node);
      block->address = low->address;
      gemem_caching_unlink (caching, low);
    }
  if (high != NULL && high->state == CACHING_UNMAPPED)
    {
      gemem_tree_remove (unmapped, &high->node);
      gemem_caching_unlink (caching, high);
    }
  insert_unmapped (block);
}

void
gemem_caching_unmap (Caching *caching, CachingBlock *block)
{
  CachingSegment *segment = block->segment;
  CachingPool *pool = segment->pool;
  CachingPoolPair *pair = gemem_caching_pair_of (pool);
  const guint64 begin = block->address, end = begin + block->node.size;
  const guint64 low = segment->address + gemem_round_up (begin - segment->address, segment->page),
                high = end - (end - segment->address) % segment->page;
  guint64 dropped;

  if (low >= high)
    return;
  if (caching->settings.unmap_waits)
    gemem_device_sync (caching->base.device);
  else
    gemem_device_stream_sync (caching->base.device, block->node.group);
  dropped = drop_pages (caching, segment, low, high - low);
  if (dropped == 0)
    return;
  gemem_tree_remove (&pool->free, &block->node);
  if (low > begin)
    gemem_caching_insert (caching, gemem_caching_split (caching, block, low - begin));
  if (low + dropped < end)
    {
      CachingBlock *rest = block;

      block = split_off_high (caching, rest, dropped);
      gemem_caching_insert (caching, rest);
    }
  caching->reserved -= dropped;
  gemem_caching_stat_subtract (caching, CACHING_STAT_RESERVED_BYTES, pool->small, dropped);
  merge_unmapped (caching, block);
  if (pair->released && pair->balance == 0)
    {
      caching->failure = CACHING_BROKEN;
      return;
    }
  pair->balance--;
  caching->num_device_free++;
  if (gemem_caching_is_split (block))
    return;
  gemem_tree_remove (&pool->unmapped, &block->node);
  gemem_caching_range_release (caching, segment);
  gemem_caching_chain_free (caching, block);
}
