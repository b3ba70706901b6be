/* caching-report.c - reads the state of `pytorch-caching`: every block, the invariants, the
 * statistics, the largest free request.
 *
 * Invariants: nothing here changes a decision or runs on the event path; segments are sorted by
 * address when they are visited.
 * Statistics have the names of torch.cuda.memory_stats():
 * NAME.{all,large_pool,small_pool}.{current,peak,allocated,freed}.  The event path does not keep
 * inactive_split*: only their `current` is reported, counted here.  Origin: peers.md 1a.12.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

static int
compare_segments (gconstpointer a, gconstpointer b)
{
  const CachingSegment *x = *(const CachingSegment *const *) a,
                       *y = *(const CachingSegment *const *) b;

  return x->address < y->address ? -1 : x->address > y->address;
}

static GPtrArray *
sorted_segments (const Caching *caching)
{
  GPtrArray *segments = g_ptr_array_new ();

  for (const CachingSegment *segment = caching->segments; segment != NULL; segment = segment->next)
    g_ptr_array_add (segments, (gpointer) segment);
  g_ptr_array_sort (segments, compare_segments);
  return segments;
}

/* Where the memory around @block begins and ends: its segment, or of an expandable one the pages
 * mapped without a gap, of which @block is the first. */
static void
set_mapped_run (GememSpan *span, const CachingBlock *block)
{
  span->segment = block->address;
  span->segment_size = 0;
  for (; block != NULL && block->state != CACHING_UNMAPPED; block = block->next)
    span->segment_size += block->node.size;
}

/* Reports the kept pages of @pool, which have no addresses, as one segment at @*end. */
static void
walk_kept (const Caching *caching, const CachingPool *pool, guint64 *end, GememSpanFunc func,
           gpointer data)
{
  const guint kept = pool->kept != NULL ? pool->kept->len : 0;
  const guint64 size = kept * gemem_caching_page_of (caching, pool);
  const GememSpan span = { .address = *end,
                           .size = size,
                           .segment = *end,
                           .segment_size = size,
                           .pool = pool->id,
                           .state = GEMEM_SPAN_OVERHEAD };

  if (size > 0)
    func (&span, data);
  *end += size;
}

static void
walk_all_kept (const Caching *caching, GememSpanFunc func, gpointer data)
{
  guint64 end = CACHING_KEPT_ADDRESS;

  walk_kept (caching, &caching->pools.small, &end, func, data);
  walk_kept (caching, &caching->pools.large, &end, func, data);
  for (guint i = 0; i < caching->private_pools->len; i++)
    {
      const CachingPoolPair *pair = g_ptr_array_index (caching->private_pools, i);

      walk_kept (caching, &pair->small, &end, func, data);
      walk_kept (caching, &pair->large, &end, func, data);
    }
}

static gboolean
is_redirected (const Caching *caching, guint32 pool)
{
  for (guint i = 0; i < caching->redirections->len; i++)
    if (g_array_index (caching->redirections, CachingRedirection, i).pool == pool)
      return TRUE;
  return FALSE;
}

/* GEMEM_SPAN_*: of the private pool of @segment, if it is of one. */
static guint32
pool_flags (const Caching *caching, const CachingSegment *segment)
{
  if (segment->pool->id == 0)
    return 0;
  return (is_redirected (caching, segment->pool->id) ? GEMEM_SPAN_POOL_IN_USE : 0)
         | (gemem_caching_pair_of (segment->pool)->released ? GEMEM_SPAN_POOL_RELEASED : 0);
}

/* TRUE if @block is free memory that serves no smaller request, or is larger than it was asked for by
 * more than would be left unsplit, because of max_split_size. */
static gboolean
is_kept_whole (const Caching *caching, const CachingBlock *block)
{
  const guint64 wanted = gemem_caching_round (&caching->settings,
                                              block->requested + caching->settings.pad);

  if (!gemem_caching_is_oversize (caching, block->node.size) || block->segment->pool->small)
    return FALSE;
  return block->state == CACHING_FREE
         || (block->state == CACHING_LIVE && !caching->settings.expandable
             && block->node.size - MIN (wanted, block->node.size) > CACHING_SMALL);
}

/* TRUE if emptying the cache returns @block whole: nothing else is in its segment, or in the pages
 * mapped around it, and its pool is not in the program's hands. */
static gboolean
is_returnable (const Caching *caching, const CachingBlock *block)
{
  const CachingBlock *previous = block->previous, *next = block->next;
  CachingPool *pool = block->segment->pool;

  return block->state == CACHING_FREE && !caching->holding && block->segment->sleeper == NULL
         && (previous == NULL || previous->state == CACHING_UNMAPPED)
         && (next == NULL || next->state == CACHING_UNMAPPED)
         && (pool->id == 0
             || (gemem_caching_pair_of (pool)->released
                 && !gemem_caching_pair_of (pool)->forgotten));
}

static guint32
flags_of (const Caching *caching, const CachingBlock *block)
{
  return (is_kept_whole (caching, block) ? GEMEM_SPAN_OVERSIZE : 0)
         | (is_returnable (caching, block) ? GEMEM_SPAN_RETURNABLE : 0);
}

void
gemem_caching_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  static const GememSpanState states[] = { GEMEM_SPAN_FREE, GEMEM_SPAN_LIVE, GEMEM_SPAN_PENDING };
  g_autoptr (GPtrArray) segments = sorted_segments ((Caching *) allocator);

  for (guint i = 0; i < segments->len; i++)
    {
      const CachingSegment *segment = g_ptr_array_index (segments, i);
      GememSpan span = { .segment = segment->address,
                         .segment_size = segment->size,
                         .pool = segment->pool->id };
      const guint32 of_pool = pool_flags ((Caching *) allocator, segment);

      for (const CachingBlock *block = segment->first; block != NULL; block = block->next)
        {
          if (block->state == CACHING_UNMAPPED)
            continue;
          if (segment->page != 0
              && (block->previous == NULL || block->previous->state == CACHING_UNMAPPED))
            set_mapped_run (&span, block);
          span.address = span.user = block->address;
          span.size = block->node.size;
          span.stream = block->node.group;
          span.state = states[block->state];
          span.flags = of_pool | flags_of ((Caching *) allocator, block);
          if (segment->sleeper != NULL)
            gemem_caching_sleeper_span (segment, &span);
          func (&span, data);
        }
      if (segment->sleeper != NULL)
        gemem_caching_sleeper_tail (segment, func, data);
    }
  walk_all_kept ((Caching *) allocator, func, data);
}

/* Size of the largest block of @stream in @pool; 0 if there is none. */
static guint64
largest_block (const Caching *caching, const CachingPool *pool, guint64 stream)
{
  const GememTreeNode *node = gemem_tree_before (&pool->free, stream, G_MAXUINT64, G_MAXUINT64);

  while (node != NULL && gemem_caching_passed_over (caching, node))
    node = gemem_tree_previous (node);
  return node != NULL && node->group == stream ? node->size : 0;
}

/* The largest block of a pool is the best fit for a request of its own size, oversize or not.  Only
 * rounded sizes up to 1 MiB use the small pool, only larger ones the large pool. */
guint64
gemem_caching_largest_free (GememAllocator *allocator, guint64 stream)
{
  const Caching *caching = (const Caching *) allocator;
  const guint64 large = gemem_caching_round_down (
      &caching->settings, largest_block (caching, &caching->pools.large, stream));
  guint64 small;

  if (large > CACHING_SMALL)
    return large - caching->settings.pad;
  small = gemem_caching_round_down (
      &caching->settings,
      MIN (largest_block (caching, &caching->pools.small, stream), CACHING_SMALL));
  return small > caching->settings.pad ? small - caching->settings.pad : 0;
}

/* ---- check */

typedef struct
{
  guint64 quantum; /* of the sizes of blocks */
  guint64 free_blocks, unmapped_blocks, segments, reserved;
  guint64 live[2], live_bytes[2], active[2], active_bytes[2], requested[2];
} Census;

static gboolean
broken (GError **error, guint64 address, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "block 0x%" G_GINT64_MODIFIER "x: %s",
               address, what);
  return FALSE;
}

static gboolean
check_block (const CachingSegment *segment, const CachingBlock *block, Census *census,
             GError **error)
{
  const gboolean small = segment->pool->small;

  if (block->segment != segment)
    return broken (error, block->address, "belongs to another segment");
  if (block->node.group != segment->first->node.group)
    return broken (error, block->address, "lies in a segment of another stream");
  if (block->state == CACHING_UNMAPPED)
    {
      census->unmapped_blocks++;
      if (block->node.size != 0 || segment->page == 0
          || (block->address - segment->address) % segment->page != 0
          || gemem_caching_extent (block) % segment->page != 0)
        return broken (error, block->address, "is unmapped, but not in whole pages");
      if (block->next != NULL && block->next->state == CACHING_UNMAPPED)
        return broken (error, block->address, "is unmapped beside an unmapped block");
      return TRUE;
    }
  if (segment->page != 0)
    census->reserved += block->node.size;
  if (block->node.size == 0 || block->node.size % census->quantum != 0)
    return broken (error, block->address, "is empty or not a multiple of 512 bytes");
  if (block->state == CACHING_GONE
      || (block->state == CACHING_PENDING)
             != (block->events > 0 || block->owed != 0 || block->held != 0))
    return broken (error, block->address, "waits for nothing, or is still waited for");
  if (block->state == CACHING_FREE && block->next != NULL && block->next->state == CACHING_FREE)
    return broken (error, block->address, "is free beside a free block");
  if (block->state == CACHING_FREE)
    {
      census->free_blocks++;
      return TRUE;
    }
  census->active[small]++;
  census->active_bytes[small] += block->node.size;
  census->requested[small] += block->requested;
  if (block->state == CACHING_LIVE)
    {
      census->live[small]++;
      census->live_bytes[small] += block->node.size;
    }
  return TRUE;
}

static guint64
bytes_of_pages (const CachingSegment *segment)
{
  guint64 bytes = 0;

  for (guint i = 0; i < segment->pages->len; i++)
    bytes += g_array_index (segment->pages, GememPage, i) != 0 ? segment->page : 0;
  return bytes;
}

static gboolean
check_segment (const CachingSegment *segment, Census *census, GError **error)
{
  const CachingBlock *previous = NULL;
  const guint64 reserved = census->reserved;
  guint64 end = segment->address;

  for (const CachingBlock *block = segment->first; block != NULL;
       previous = block, block = block->next)
    {
      if (block->address != end || block->previous != previous)
        return broken (error, block->address, "does not follow its neighbour");
      if (!check_block (segment, block, census, error))
        return FALSE;
      end += block->state == CACHING_UNMAPPED ? gemem_caching_extent (block) : block->node.size;
    }
  if (end != segment->address + segment->size)
    return broken (error, segment->address, "the blocks do not fill the segment");
  if (segment->page == 0)
    {
      census->segments++;
      census->reserved += segment->size;
    }
  else if (bytes_of_pages (segment) != census->reserved - reserved)
    return broken (error, segment->address, "the blocks are not what is mapped");
  return TRUE;
}

typedef struct
{
  guint64 free, unmapped;
} Members;

/* Every member of a set is such a block of this pool.  Since the counts are equal, every free or
 * unmapped block is a member. */
static gboolean
check_pool (const CachingPool *pool, Members *members, GError **error)
{
  if (!gemem_tree_check (&pool->free) || !gemem_tree_check (&pool->unmapped))
    return broken (error, 0, "a set of blocks is out of order");
  for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL;
       node = gemem_tree_next (node))
    {
      const CachingBlock *block = gemem_caching_block (node);

      if (block->state != CACHING_FREE || block->segment->pool != pool
          || block->gc_base > pool->search_count)
        return broken (error, node->address, "is in a free set where it does not belong");
    }
  for (GememTreeNode *node = gemem_tree_first (&pool->unmapped); node != NULL;
       node = gemem_tree_next (node))
    if (gemem_caching_block (node)->state != CACHING_UNMAPPED
        || gemem_caching_block (node)->segment->pool != pool)
      return broken (error, node->address, "is in a set of unmapped blocks, but is not one");
  members->free += pool->free.count;
  members->unmapped += pool->unmapped.count;
  return TRUE;
}

static gboolean
check_pools (Caching *caching, Members *members, GError **error)
{
  if (!check_pool (&caching->pools.small, members, error)
      || !check_pool (&caching->pools.large, members, error))
    return FALSE;
  for (guint i = 0; i < caching->private_pools->len; i++)
    {
      const CachingPoolPair *pair = g_ptr_array_index (caching->private_pools, i);

      if (!check_pool (&pair->small, members, error) || !check_pool (&pair->large, members, error))
        return FALSE;
    }
  return TRUE;
}

static guint64
current (const Caching *caching, guint which, gboolean small)
{
  return caching->stats[which][small].current;
}

static gboolean
check (Caching *caching, GError **error)
{
  Census census = { .quantum = caching->settings.uncached || caching->adopted_odd
                                   ? 1
                                   : CACHING_QUANTUM };
  Members members = { 0 };

  for (const CachingSegment *segment = caching->segments; segment != NULL; segment = segment->next)
    if (!check_segment (segment, &census, error))
      return FALSE;
  if (!check_pools (caching, &members, error))
    return FALSE;
  if (members.free != census.free_blocks || members.unmapped != census.unmapped_blocks)
    return broken (error, 0, "some free or unmapped block is in no set");
  if (census.reserved != caching->reserved
      || census.reserved
             != current (caching, CACHING_STAT_RESERVED_BYTES, FALSE)
                    + current (caching, CACHING_STAT_RESERVED_BYTES, TRUE)
      || census.segments
             != current (caching, CACHING_STAT_SEGMENT, FALSE)
                    + current (caching, CACHING_STAT_SEGMENT, TRUE))
    return broken (error, 0, "segments and reserved bytes were miscounted");
  for (int small = 0; small < 2; small++)
    if (census.live[small] != current (caching, CACHING_STAT_ALLOCATION, small)
        || census.active[small] != current (caching, CACHING_STAT_ACTIVE, small)
        || census.live_bytes[small] != current (caching, CACHING_STAT_ALLOCATED_BYTES, small)
        || census.active_bytes[small] != current (caching, CACHING_STAT_ACTIVE_BYTES, small)
        || census.requested[small] != current (caching, CACHING_STAT_REQUESTED_BYTES, small))
      return broken (error, 0, "live or active blocks were miscounted");
  return TRUE;
}

gboolean
gemem_caching_check (GememAllocator *allocator, GError **error)
{
  if (check ((Caching *) allocator, error))
    return TRUE;
  g_prefix_error (error, "%s: ", allocator->klass->name);
  return FALSE;
}

/* ---- statistics */

static void
emit (GememStatFunc func, gpointer data, const char *name, const char *pool, const char *what,
      guint64 value)
{
  g_autofree char *full = pool != NULL ? g_strjoin (".", name, pool, what, NULL)
                                       : g_strjoin (".", name, what, NULL);

  func (full, value, g_str_has_suffix (name, "_bytes") ? "B" : "", data);
}

static void
emit_stat (GememStatFunc func, gpointer data, const char *name, const char *pool,
           const CachingStat *stat)
{
  emit (func, data, name, pool, "current", stat->current);
  emit (func, data, name, pool, "peak", stat->peak);
  emit (func, data, name, pool, "allocated", stat->allocated);
  emit (func, data, name, pool, "freed", stat->allocated - stat->current);
}

/* Free blocks with a neighbour in their segment: cached, but not releasable to the device. */
static void
emit_inactive_split (const Caching *caching, GememStatFunc func, gpointer data)
{
  guint64 count[2] = { 0, 0 }, bytes[2] = { 0, 0 };

  for (const CachingSegment *segment = caching->segments; segment != NULL; segment = segment->next)
    for (const CachingBlock *block = segment->first; block != NULL; block = block->next)
      if (block->state == CACHING_FREE && segment->page == 0 && gemem_caching_is_split (block))
        {
          count[segment->pool->small]++;
          bytes[segment->pool->small] += block->node.size;
        }
  emit (func, data, "inactive_split", "all", "current", count[0] + count[1]);
  emit (func, data, "inactive_split", "large_pool", "current", count[0]);
  emit (func, data, "inactive_split", "small_pool", "current", count[1]);
  emit (func, data, "inactive_split_bytes", "all", "current", bytes[0] + bytes[1]);
  emit (func, data, "inactive_split_bytes", "large_pool", "current", bytes[0]);
  emit (func, data, "inactive_split_bytes", "small_pool", "current", bytes[1]);
}

void
gemem_caching_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  static const char *const names[CACHING_STAT_COUNT] = { "allocation",     "segment",
                                                         "active",         "allocated_bytes",
                                                         "reserved_bytes", "active_bytes",
                                                         "requested_bytes" };
  const Caching *caching = (const Caching *) allocator;

  for (guint i = 0; i < CACHING_STAT_COUNT; i++)
    {
      const CachingStat *stats = caching->stats[i];
      const CachingStat all = { stats[0].current + stats[1].current, caching->peaks[i],
                                stats[0].allocated + stats[1].allocated };

      emit_stat (func, data, names[i], "all", &all);
      emit_stat (func, data, names[i], "large_pool", &stats[0]);
      emit_stat (func, data, names[i], "small_pool", &stats[1]);
    }
  emit_inactive_split (caching, func, data);
  emit_stat (func, data, "oversize_allocations", NULL, &caching->oversize_allocations);
  emit_stat (func, data, "oversize_segments", NULL, &caching->oversize_segments);
  gemem_caching_sleep_stats (caching, func, data);
  func ("num_alloc_retries", caching->num_alloc_retries, "", data);
  func ("num_ooms", caching->num_ooms, "", data);
  if (caching->settings.throw_on_oom)
    func ("num_oom_rejections", caching->num_oom_rejections, "", data);
  func ("num_device_alloc", caching->num_device_alloc, "", data);
  func ("num_device_free", caching->num_device_free, "", data);
}
