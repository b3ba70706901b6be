/* caching.c - `pytorch-caching`: the decisions of PyTorch's native CUDA caching allocator, with
 * plain or expandable segments.  One object per device.  What torch-npu (npu.c) does otherwise is
 * constants in CachingSettings and one hook, so that the event path is one.
 *
 * Requests are rounded to 512 bytes (or by roundup_power2_divisions), served best-fit from the
 * small or the large pool of their stream, split when enough remains, and merged when freed.  A
 * miss takes a segment from the device; if that fails, a ladder of releases runs before
 * out-of-memory.
 *
 * Two facts are not in recordings and are assumed.  Unless the trace says where private pools are
 * in use (pool-begin), a request with one counts as made while a graph is captured, so it neither
 * polls events nor empties the cache (1a.10).  A private pool stays in use until the trace releases
 * it (pool-release), or forever, unless release_private_pools is set.
 * Not modelled, because no trace mentions them: free-memory callbacks, pools with their own
 * allocator, use_on_oom and no_split, the dependencies inside a captured graph.
 *
 * Invariants: see caching.h; integers only.
 * Cost: O(log n) per operation in the free blocks of a pool; no host allocation per event.
 * Origin: peers.md section 1a; the names here follow it.
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"
#include "base/units.h"

/* ---- pools */

static void
init_pair (CachingPoolPair *pair, guint32 id)
{
  pair->small.id = pair->large.id = id;
  pair->small.small = TRUE;
}

static void
clear_pair (CachingPoolPair *pair)
{
  gemem_tree_clear (&pair->small.free);
  gemem_tree_clear (&pair->large.free);
  gemem_tree_clear (&pair->small.unmapped);
  gemem_tree_clear (&pair->large.unmapped);
  g_clear_pointer (&pair->small.kept, g_array_unref);
  g_clear_pointer (&pair->large.kept, g_array_unref);
}

static void
free_pair (gpointer pair)
{
  clear_pair (pair);
  g_free (pair);
}

/* The pair of private pool @id, created on first use; pairs are sorted by id. */
static CachingPoolPair *
private_pair (Caching *caching, guint32 id)
{
  GPtrArray *pairs = caching->private_pools;
  guint low = 0, high = pairs->len;
  CachingPoolPair *pair;

  if (caching->last_private != NULL && caching->last_private->small.id == id)
    return caching->last_private;
  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (((CachingPoolPair *) g_ptr_array_index (pairs, middle))->small.id < id)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < pairs->len && ((CachingPoolPair *) g_ptr_array_index (pairs, low))->small.id == id)
    pair = g_ptr_array_index (pairs, low);
  else
    {
      pair = g_new0 (CachingPoolPair, 1);
      init_pair (pair, id);
      g_ptr_array_insert (pairs, (gint) low, pair);
    }
  caching->last_private = pair;
  return pair;
}

CachingPool *
gemem_caching_pool (Caching *caching, guint32 id, gboolean small)
{
  CachingPoolPair *pair = id == 0 ? &caching->pools : private_pair (caching, id);

  return small ? &pair->small : &pair->large;
}

/* What the settings decide. */
static inline guint64
ask (Caching *caching, CachingAsked asked, guint64 a, guint64 b)
{
  if (G_UNLIKELY (caching->watch != NULL))
    gemem_caching_note_question (caching, asked, a, b);
  return gemem_caching_answer (&caching->settings, asked, a, b);
}

/* ---- from the cache */

/* @size of a free block as best fit compares it: with the unmapped addresses behind it. */
static guint64
extended (const GememTreeNode *node)
{
  const CachingBlock *next = gemem_caching_block ((GememTreeNode *) node)->next;

  return node->size
         + (next != NULL && next->state == CACHING_UNMAPPED ? gemem_caching_extent (next) : 0);
}

/* The first of the blocks from @node on, of its stream, that is not longer
 * than the one after it if it grew as far as it can; so holes are preferred to the growing end. */
static GememTreeNode *
prefer_holes (GememTreeNode *node)
{
  const guint64 stream = node->group;

  while (gemem_caching_block (node)->segment->page != 0)
    {
      GememTreeNode *next = gemem_tree_next (node);

      if (next == NULL || next->group != stream || extended (next) >= extended (node))
        break;
      node = next;
    }
  return node;
}

/* Best fit within the stream.  Only one candidate is considered: a miss if the rules for oversize
 * blocks reject it. */
static CachingBlock *
find_free (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  const CachingSettings *settings = &caching->settings;
  GememTreeNode *node;

  if (settings->gc)
    pool->search_count++;
  node = gemem_tree_fit (&pool->free, stream, size);
  while (node != NULL && G_UNLIKELY (gemem_caching_passed_over (caching, node)))
    node = gemem_tree_next (node);
  if (node == NULL || node->group != stream)
    return NULL;
  if (settings->expandable)
    node = prefer_holes (node);
  if (ask (caching, CACHING_ASK_FIT, size, node->size) == 0)
    return NULL;
  gemem_tree_remove (&pool->free, node);
  return gemem_caching_block (node);
}

static gboolean
should_split (Caching *caching, const CachingBlock *block, guint64 size)
{
  const guint64 rest = block->node.size - size;

  if (block->segment->pool->small
      || (caching->settings.expandable && block->segment->sleeper == NULL))
    return rest >= CACHING_QUANTUM;
  return rest > CACHING_SMALL && ask (caching, CACHING_ASK_SPLIT, size, rest) != 0;
}

/* ---- from the device */

static inline guint64
age_of (const CachingPool *pool, const CachingBlock *block)
{
  return pool->search_count - block->gc_base;
}

/* Garbage collection (1a.8).  Each round releases every unsplit block of the large pool at least as
 * old as the average, and is never cut short; rounds end when enough bytes are released. */
static void
collect_garbage (Caching *caching)
{
  CachingPool *pool = &caching->pools.large;
  const guint64 target = ask (caching, CACHING_ASK_COLLECT, caching->reserved, 0);
  guint64 got = 0, ages = 0, count = 0;
  gboolean released = TRUE;

  if (target == 0)
    return;
  for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL;
       node = gemem_tree_next (node))
    if (!gemem_caching_is_split (gemem_caching_block (node)))
      {
        ages += age_of (pool, gemem_caching_block (node));
        count++;
      }
  if (count > 0 && caching->settings.sync_device)
    gemem_device_sync (caching->base.device);
  while (got < target && released && count > 0)
    {
      /* age >= round_ages / round_count, without division */
      const guint64 round_ages = ages, round_count = count;
      GememTreeNode *next;

      released = FALSE;
      for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL; node = next)
        {
          CachingBlock *block = gemem_caching_block (node);
          const guint64 age = age_of (pool, block);

          next = gemem_tree_next (node);
          if (gemem_caching_is_split (block) || block->segment->page != 0
              || (unsigned __int128) age * round_count < round_ages)
            continue;
          got += block->node.size;
          ages -= age;
          count--;
          released = TRUE;
          gemem_caching_release (caching, block);
        }
    }
}

/* While max_split_size is constant, a block of at least that size is unsplit; only an adopted state
 * can hold others. */
static gboolean
is_releasable (const CachingBlock *block)
{
  return !gemem_caching_is_split (block) && block->segment->page == 0;
}

/* Releases one oversize block that suffices, or several from the largest down (1a.7).  Released
 * segments stay released even if they were not enough. */
static gboolean
release_available (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  const guint64 max_split = ask (caching, CACHING_ASK_RELEASE, 0, 0);
  const guint64 key = MAX (size, max_split);
  GememTreeNode *node;
  guint64 got = 0;

  if (max_split == CACHING_UNLIMITED)
    return FALSE;
  if (caching->settings.sync_device)
    gemem_device_sync (caching->base.device);
  node = gemem_tree_fit (&pool->free, stream, key);
  if (node != NULL && node->group == stream && is_releasable (gemem_caching_block (node)))
    {
      gemem_caching_release (caching, gemem_caching_block (node));
      return TRUE;
    }
  node = gemem_tree_before (&pool->free, stream, key, 0);
  while (node != NULL && got < key && node->size >= max_split && node->group == stream)
    {
      CachingBlock *block = gemem_caching_block (node);

      node = gemem_tree_previous (node);
      if (!is_releasable (block))
        continue;
      got += block->node.size;
      gemem_caching_release (caching, block);
    }
  return got >= key;
}

/* Releases every unsplit block of @pool to the device, in the order of the free set; then unmaps
 * the blocks of expandable segments, in the order that the set had. */
static void
release_pool (Caching *caching, CachingPool *pool)
{
  g_autoptr (GPtrArray) expandable = NULL;
  GememTreeNode *next;

  for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL; node = next)
    {
      CachingBlock *block = gemem_caching_block (node);

      next = gemem_tree_next (node);
      if (block->segment->page == 0)
        {
          if (!gemem_caching_is_split (block))
            gemem_caching_release (caching, block);
          continue;
        }
      if (expandable == NULL)
        expandable = g_ptr_array_new ();
      g_ptr_array_add (expandable, block);
    }
  for (guint i = 0; expandable != NULL && i < expandable->len && caching->failure != CACHING_BROKEN;
       i++)
    gemem_caching_unmap (caching, g_ptr_array_index (expandable, i));
  if (pool->kept != NULL && !caching->keeps_pages)
    gemem_caching_drop_kept (caching, pool);
}

/* Releases a private pool: small blocks first; release_all() begins with the large ones. */
static void
release_pair (Caching *caching, CachingPoolPair *pair)
{
  release_pool (caching, &pair->small);
  if (caching->failure != CACHING_BROKEN)
    release_pool (caching, &pair->large);
}

/* Releases the private pools that the program has released.  PyTorch counts how often each got
 * memory from the device and returned some, and forgets one for which both are equal.  Memory of an
 * expandable segment may be returned in parts, so that this can come true while some of it is in
 * use; the next return then fails in PyTorch, and here (gemem_caching_unmap()). */
static void
release_private (Caching *caching)
{
  for (guint i = 0; i < caching->private_pools->len && caching->failure != CACHING_BROKEN; i++)
    {
      CachingPoolPair *pair = g_ptr_array_index (caching->private_pools, i);

      if (pair->forgotten || (!pair->released && !caching->settings.release_private_pools))
        continue;
      release_pair (caching, pair);
      pair->forgotten = pair->released && pair->balance == 0 && caching->failure != CACHING_BROKEN;
    }
}

/* Waits for everything and returns the unsplit blocks and whole pages of all pools that are not in
 * use to the device. */
static void
release_all (Caching *caching)
{
  if (caching->before_release != NULL)
    caching->before_release (caching);
  gemem_caching_synchronize (caching);
  caching->num_sync_all_streams++;
  release_pool (caching, &caching->pools.large);
  release_pool (caching, &caching->pools.small);
  release_private (caching);
}

/* New memory for @size bytes: a segment, or pages of an expandable one.  The memory limit counts
 * what a segment would take in both cases. */
static CachingBlock *
ask_device (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  const CachingSettings *settings = &caching->settings;

  if (ask (caching, CACHING_ASK_LIMIT, size, caching->reserved) != 0)
    return NULL;
  if (G_UNLIKELY (settings->reject_above != CACHING_UNLIMITED
                  && caching->reserved
                             + gemem_caching_answer (settings, CACHING_ASK_SEGMENT, size, 0)
                         > settings->reject_above))
    {
      caching->failure = CACHING_REJECTED;
      return NULL;
    }
  if (pool->region == NULL && settings->expandable)
    return gemem_caching_expand (caching, pool, size, stream);
  const guint64 wanted = ask (caching, CACHING_ASK_SEGMENT, size, 0);
  return pool->region != NULL ? gemem_caching_sleeper_new (caching, pool, wanted, stream)
                              : gemem_caching_segment_new (caching, pool, wanted, stream);
}

/* throw_on_cudamalloc_oom: more than the device has is refused before anything else is tried. */
static gboolean
is_rejected (Caching *caching, guint64 size)
{
  return caching->settings.throw_on_oom && caching->settings.limit == CACHING_UNLIMITED
         && (caching->reserved > caching->total
             || ask (caching, CACHING_ASK_SEGMENT, size, 0) > caching->total - caching->reserved);
}

/* Collects garbage, asks the device, releases and asks again.  NULL: out of memory. */
static CachingBlock *
climb_ladder (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  CachingBlock *block;
  guint64 before;

  if (caching->settings.gc || caching->watch != NULL)
    collect_garbage (caching);
  block = ask_device (caching, pool, size, stream);
  if (block != NULL || caching->failure != CACHING_NO_MEMORY)
    return block;
  if (release_available (caching, pool, size, stream))
    {
      caching->base.retries++;
      block = ask_device (caching, pool, size, stream);
    }
  if (block != NULL || caching->failure != CACHING_NO_MEMORY
      || gemem_caching_holds (caching, pool->id))
    return block;
  before = caching->reserved;
  release_all (caching);
  if (caching->failure == CACHING_BROKEN)
    return NULL;
  caching->num_alloc_retries++;
  caching->base.retries += caching->reserved != before;
  return ask_device (caching, pool, size, stream);
}

/* Serves a miss.  NULL: out of memory. */
static CachingBlock *
obtain (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  CachingBlock *block;

  if (is_rejected (caching, size))
    {
      caching->num_oom_rejections++;
      return NULL;
    }
  block = climb_ladder (caching, pool, size, stream);
  caching->num_ooms += block == NULL && caching->failure == CACHING_NO_MEMORY;
  caching->num_oom_rejections += caching->failure == CACHING_REJECTED;
  caching->failure = CACHING_NO_MEMORY;
  return block;
}

/* ---- the class */

void
gemem_caching_hand_out (Caching *caching, CachingBlock *block, guint64 requested, GememBlock *out)
{
  const gboolean small = block->segment->pool->small;
  const guint64 size = block->node.size;

  block->state = CACHING_LIVE;
  block->requested = requested;
  gemem_caching_stat_add (caching, CACHING_STAT_ALLOCATION, small, 1);
  gemem_caching_stat_add (caching, CACHING_STAT_ACTIVE, small, 1);
  gemem_caching_stat_add (caching, CACHING_STAT_ALLOCATED_BYTES, small, size);
  gemem_caching_stat_add (caching, CACHING_STAT_ACTIVE_BYTES, small, size);
  gemem_caching_stat_add (caching, CACHING_STAT_REQUESTED_BYTES, small, requested);
  if (gemem_caching_is_oversize (caching, size))
    gemem_caching_stat_raise (&caching->oversize_allocations, 1);
  out->address = block->address;
  out->size = size;
  out->handle = block;
}

/* A miss: what waits for events that a lazy allocator has not asked about may fit; else more memory
 * is needed. */
static CachingBlock *
find_more (Caching *caching, CachingPool *pool, guint64 size, guint64 stream)
{
  CachingBlock *block = NULL;

  if (caching->outstanding > 0 && caching->outstanding <= caching->settings.lazy_events
      && !gemem_caching_holds (caching, pool->id))
    {
      gemem_caching_process_events (caching);
      block = find_free (caching, pool, size, stream);
    }
  return block != NULL ? block : obtain (caching, pool, size, stream);
}

/* Cuts the bytes below the next multiple of `align` off @block, which is in no set, if it has
 * @size bytes above it; they are a free block. */
static void
align_block (Caching *caching, CachingBlock *block, guint64 size)
{
  const guint64 beyond = block->address % caching->settings.align,
                skipped = beyond != 0 ? caching->settings.align - beyond : 0;

  if (skipped != 0 && skipped + size <= block->node.size)
    gemem_caching_insert (caching, gemem_caching_split (caching, block, skipped));
}

gboolean
gemem_caching_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *out)
{
  Caching *caching = (Caching *) allocator;
  CachingBlock *block = NULL;

  if (G_UNLIKELY (caching->outstanding > caching->settings.lazy_events)
      && !gemem_caching_holds (caching, request->pool))
    gemem_caching_process_events (caching);
  if (request->size < CACHING_TOO_LARGE)
    {
      const guint64 asked = request->size + caching->settings.pad,
                    size = gemem_caching_round (&caching->settings, asked);
      CachingPool *pool = gemem_caching_pool (caching, request->pool, size <= CACHING_SMALL);

      if (G_UNLIKELY (caching->watch != NULL))
        gemem_caching_note_question (caching, CACHING_ASK_ROUND, asked, 0);
      block = find_free (caching, pool, size, request->stream);
      if (G_UNLIKELY (block == NULL))
        block = find_more (caching, pool, size, request->stream);
      if (block != NULL && G_UNLIKELY (size >= caching->settings.align_from))
        align_block (caching, block, size);
      if (block != NULL && should_split (caching, block, size))
        {
          CachingBlock *rest = block;

          block = gemem_caching_split (caching, rest, size);
          gemem_caching_insert (caching, rest);
        }
    }
  if (G_UNLIKELY (block == NULL))
    return FALSE;
  gemem_caching_hand_out (caching, block, request->size, out);
  return TRUE;
}

/* Fetches the neighbours, with which a free may merge the block. */
void
gemem_caching_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *live)
{
  const CachingBlock *block = live->handle;

  __builtin_prefetch (block->previous, 1);
  __builtin_prefetch (block->next, 1);
}

void
gemem_caching_free (GememAllocator *allocator, const GememBlock *handle,
                    gboolean completion_follows)
{
  Caching *caching = (Caching *) allocator;
  CachingBlock *block = handle->handle;
  const gboolean small = block->segment->pool->small;

  GEMEM_CHECK (block->state == CACHING_LIVE);
  gemem_caching_stat_subtract (caching, CACHING_STAT_ALLOCATION, small, 1);
  gemem_caching_stat_subtract (caching, CACHING_STAT_ALLOCATED_BYTES, small, block->node.size);
  if (gemem_caching_is_oversize (caching, block->node.size))
    caching->oversize_allocations.current--;
  if (completion_follows)
    gemem_caching_wait (caching, block);
  else if (block->uses != NULL)
    gemem_caching_free_used (caching, block);
  else
    gemem_caching_finish (caching, block);
}

void
gemem_caching_completed (GememAllocator *allocator, const GememBlock *block)
{
  gemem_caching_complete ((Caching *) allocator, block->handle);
}

static void
used_on_stream (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  CachingBlock *used = block->handle;

  if (stream != used->node.group)
    gemem_caching_add_use ((Caching *) allocator, used, stream);
}

void
gemem_caching_trim (GememAllocator *allocator)
{
  Caching *caching = (Caching *) allocator;

  if (!caching->holding)
    release_all (caching);
  else if (!caching->settings.version->trim_refused)
    release_private (caching);
  caching->failure = CACHING_NO_MEMORY;
}

void
gemem_caching_redirected (GememAllocator *allocator, guint32 pool, gboolean begin, gboolean capture)
{
  gemem_caching_redirect ((Caching *) allocator, pool, begin, capture);
}

/* The end of a MemPool: waits for no event, unlike emptying the whole cache. */
void
gemem_caching_release_pool (GememAllocator *allocator, guint32 pool, gboolean at_once)
{
  Caching *caching = (Caching *) allocator;
  CachingPoolPair *pair = private_pair (caching, pool);

  pair->released = TRUE;
  pair->forgotten = FALSE;
  if (at_once)
    release_pair (caching, pair);
  caching->failure = CACHING_NO_MEMORY;
}

static void
caching_sleep_begin (GememAllocator *allocator, guint32 pool, const char *tag, gboolean backup)
{
  Caching *caching = (Caching *) allocator;

  gemem_caching_sleep_begin (caching, private_pair (caching, pool), tag, backup);
}

/* ---- life */

/* Sets the sizes of pages and ranges of expandable segments (peers.md 1a.6).
 *
 * Pages are rounded up to whole pages of the device.  Those of a large_segment_size_mb that is an
 * odd number of MiB are not: PyTorch does not round them either, and the driver, here the device,
 * refuses each.  A device without a limit says that it has nearly 2^64 bytes, so the memory that
 * counts for a range is bounded: there must be addresses for further ranges.
 *
 * FALSE: the device has no virtual memory. */
static gboolean
init_ranges (Caching *caching, const GememDeviceInfo *info, const char *what, GError **error)
{
  double reserve;

  if (!info->virtual_memory)
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "allocator %s: expandable_segments: this is a device without virtual memory; use "
          "one that has it, or expandable_segments=no",
          what);
      return FALSE;
    }
  caching->granularity = info->granularity;
  caching->small_page = gemem_round_up (CACHING_SMALL_SEGMENT, info->granularity);
  caching->large_page = caching->settings.page;
  if (caching->large_page % CACHING_SMALL_SEGMENT == 0)
    caching->large_page = gemem_round_up (caching->large_page, info->granularity);
  caching->range = MIN (caching->total, CACHING_RANGE_MAX);
  caching->range += (caching->range + (caching->settings.eighth_down ? 0 : 7)) / 8;
  reserve = caching->settings.reserve_part * (double) MIN (caching->total, CACHING_RANGE_MAX)
            + caching->settings.reserve_bytes;
  if (reserve > 0 && reserve < (double) caching->range)
    caching->range = (guint64) reserve;
  return TRUE;
}

/* Asks the device for what some settings need to know of it. */
static gboolean
init_device (Caching *caching, const char *what, GError **error)
{
  const CachingSettings *settings = &caching->settings;
  GememDeviceInfo info = { 0 };

  if (!settings->expandable && !settings->throw_on_oom)
    return TRUE;
  gemem_device_info (caching->base.device, &info);
  caching->total = settings->total != 0 ? settings->total : info.total;
  return !settings->expandable || init_ranges (caching, &info, what, error);
}

Caching *
gemem_caching_new (gsize size, const CachingSettings *settings, GememDevice *device,
                   const char *what, GError **error)
{
  Caching *caching = g_malloc0 (size);

  caching->base.device = device;
  caching->settings = *settings;
  caching->by_number = settings->version->ties == CACHING_TIES_BLOCK;
  if (!init_device (caching, what, error))
    {
      g_free (caching);
      return NULL;
    }
  init_pair (&caching->pools, 0);
  caching->private_pools = g_ptr_array_new_with_free_func (free_pair);
  caching->queues = g_array_new (FALSE, TRUE, sizeof (CachingQueue));
  caching->redirections = g_array_new (FALSE, FALSE, sizeof (CachingRedirection));
  caching->held = g_ptr_array_new ();
  gemem_slab_init (&caching->block_slab, sizeof (CachingBlock));
  gemem_slab_init (&caching->segment_slab, sizeof (CachingSegment));
  gemem_slab_init (&caching->use_slab, sizeof (CachingUse));
  gemem_slab_init (&caching->event_slab, sizeof (CachingEvent));
  return caching;
}

static GememAllocator *
caching_create (gconstpointer params, GememDevice *device, GError **error)
{
  CachingSettings settings;

  if (!gemem_caching_settings_resolve (params, device, &settings, error))
    return NULL;
  if (settings.async)
    return gemem_caching_async_new (device, error);
  return (GememAllocator *) gemem_caching_new (sizeof (Caching), &settings, device,
                                               "pytorch-caching", error);
}

static gboolean
caching_configure (GememAllocator *allocator, const char *text, GError **error)
{
  Caching *caching = (Caching *) allocator;
  const CachingSettings before = caching->settings;
  CachingSettings settings;

  if (!gemem_caching_settings_change (&before, allocator->device, text, &settings, error))
    return FALSE;
  gemem_caching_watch_blind (caching);
  caching->settings = settings;
  if (!init_device (caching, "pytorch-caching", error))
    {
      caching->settings = before;
      return FALSE;
    }
  caching->mixed = caching->mixed || before.expandable;
  return TRUE;
}

static void
drop_kept (Caching *caching, CachingPoolPair *pair)
{
  if (pair->small.kept != NULL)
    gemem_caching_drop_kept (caching, &pair->small);
  if (pair->large.kept != NULL)
    gemem_caching_drop_kept (caching, &pair->large);
}

void
gemem_caching_destroy (GememAllocator *allocator)
{
  Caching *caching = (Caching *) allocator;

  for (CachingSegment *segment = caching->segments; segment != NULL; segment = segment->next)
    if (segment->page != 0)
      gemem_caching_range_release (caching, segment);
    else if (segment->sleeper != NULL)
      gemem_caching_sleeper_free (caching, segment);
    else
      gemem_device_free (allocator->device, segment->address, segment->size);
  drop_kept (caching, &caching->pools);
  for (guint i = 0; i < caching->private_pools->len; i++)
    drop_kept (caching, g_ptr_array_index (caching->private_pools, i));
  gemem_caching_sleep_clear (caching);
  gemem_caching_watch_free (caching);
  clear_pair (&caching->pools);
  gemem_slab_clear (&caching->block_slab);
  gemem_slab_clear (&caching->segment_slab);
  gemem_slab_clear (&caching->use_slab);
  gemem_slab_clear (&caching->event_slab);
  g_ptr_array_unref (caching->private_pools);
  g_array_unref (caching->queues);
  g_array_unref (caching->redirections);
  g_ptr_array_unref (caching->held);
  g_clear_pointer (&caching->captured, g_hash_table_unref);
  g_free (caching);
}

static const GememForm forms[] = {
  /* read by every release, and before PYTORCH_ALLOC_CONF by those that read both */
  { "pytorch", GEMEM_FORM_STRING, "PYTORCH_CUDA_ALLOC_CONF",
    "expandable_segments|max_split_size_mb|garbage_collection_threshold|roundup_power2_divisions|"
    "large_segment_size_mb|max_non_split_rounding_mb",
    .reads = gemem_caching_conf_reads,
    /* asked of 2.0.1, 2.1.2, 2.4.1 and 2.5.1 */
    .older_refuse = "expandable_segments=2.1|max_non_split_rounding_mb=2.6" },
  { NULL },
};

const GememAllocatorClass gemem_pytorch_caching_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "pytorch-caching",
  .aliases = "pytorch|torch",
  .summary = "PyTorch's CUDA caching allocator, with plain or expandable segments",
  .origin = "PyTorch, native backend, 2.6 to 2.15 (peers.md 1a)",
  .forms = forms,
  .known_as = "CUDACachingAllocator",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_POOLS | GEMEM_CAP_CUDA,
  .alignment = CACHING_QUANTUM,
  .params = gemem_caching_params,
  .params_size = sizeof (CachingParams),
  .create = caching_create,
  .notes = gemem_caching_notes,
  .unfold = gemem_caching_settings_unfold,
  .alloc = gemem_caching_alloc,
  .free = gemem_caching_free,
  .prefetch = gemem_caching_prefetch,
  .trim = gemem_caching_trim,
  .release_pool = gemem_caching_release_pool,
  .redirect = gemem_caching_redirected,
  .configure = caching_configure,
  .largest_free = gemem_caching_largest_free,
  .walk = gemem_caching_walk,
  .check = gemem_caching_check,
  .destroy = gemem_caching_destroy,
  .streams = { .complete = gemem_caching_completed, .use = used_on_stream },
  .adopt = { .segment = gemem_caching_adopt_segment,
             .block = gemem_caching_adopt_block,
             .done = gemem_caching_adopt_done },
  .sleep = { .begin = caching_sleep_begin,
             .end = gemem_caching_sleep_end,
             .sleep = gemem_caching_sleep,
             .pause = gemem_caching_pause,
             .wake = gemem_caching_wake,
             .is_asleep = gemem_caching_is_asleep,
             .host_bytes = gemem_caching_host_bytes },
  .watch = { gemem_caching_watch_begin, gemem_caching_watch_alike },
  .report.stats = gemem_caching_stats,
};
