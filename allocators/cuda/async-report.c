/* async-report.c - what a CUDA pool tells of its state: spans, invariants, statistics under CUDA's
 * names.
 *
 * Cost: O(blocks).  Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "base/units.h"

/* TRUE if a request of stream number @own (0: unknown) takes @block without a call
 * of the device. */
static gboolean
is_at_hand (const GememCudaPool *pool, const GememCudaBlock *block, guint64 own)
{
  const guint64 group = block->base.node.group;
  const GArray *known;

  if (group == 0 || group == own)
    return TRUE;
  if (own == 0 && pool->streams->len == 1) /* the second stream: an event is recorded first */
    return FALSE;
  if (pool->params.allow_opportunistic && block->waits == NULL
      && (block->mark <= gemem_cuda_stream (pool, group)->done || block->event == 0))
    return TRUE;
  known = own != 0 ? gemem_cuda_stream (pool, own)->known : NULL;
  return pool->params.follow_event_dependencies && known != NULL && group <= known->len
         && block->mark <= g_array_index (known, guint64, group - 1);
}

guint64
gemem_cuda_pool_largest_free (GememAllocator *allocator, guint64 stream)
{
  const GememCudaPool *pool = (const GememCudaPool *) allocator;
  const guint64 *number = gemem_idmap_lookup (pool->by_handle, stream);
  guint64 largest = 0;

  if (pool->base.broken != NULL)
    return 0;
  for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL;
       node = gemem_tree_next (node))
    if (node->size > largest
        && is_at_hand (pool, gemem_cuda_block (node), number != NULL ? *number : 0))
      largest = node->size;
  return largest;
}

void
gemem_cuda_pool_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  static const GememSpanState states[] = { GEMEM_SPAN_LIVE, GEMEM_SPAN_FREE, GEMEM_SPAN_UNMAPPED };
  const GememCudaPool *pool = (const GememCudaPool *) allocator;

  for (const GememCudaBlock *block = pool->first; block != NULL; block = gemem_cuda_next (block))
    {
      const guint64 number = block->state == GEMEM_CUDA_LIVE ? block->stream
                                                             : block->base.node.group;
      const GememSpan span = {
        .address = block->base.node.address,
        .size = block->base.node.size,
        .segment = pool->range,
        .segment_size = pool->range_size,
        .stream = number != 0 ? gemem_cuda_stream (pool, number)->handle : 0,
        .state = states[block->state],
        .user = block->base.node.address,
      };
      func (&span, data);
    }
}

/* ---- invariants */

typedef struct
{
  guint64 end, mapped, used, free_blocks, unmapped_blocks;
} Sums;

/* NULL, or what is wrong with @block behind @previous; adds it to @sums. */
static const char *
check_block (const GememCudaPool *pool, const GememCudaBlock *block, const GememCudaBlock *previous,
             Sums *sums)
{
  const GememTreeNode *node = &block->base.node;
  const guint64 unit = pool->params.growth;
  const gboolean alike = previous != NULL && previous->state == block->state
                         && previous->base.node.group == node->group;

  if (node->address != sums->end || gemem_cuda_previous (block) != previous || node->size == 0)
    return "does not follow its neighbour";
  if (alike && block->state != GEMEM_CUDA_LIVE)
    return "should be one with the block before it";
  if (block->state == GEMEM_CUDA_UNMAPPED
      && ((node->address - pool->range) % unit != 0 || node->size % unit != 0))
    return "is unmapped, but no whole units";
  if (block->state == GEMEM_CUDA_FREE && node->group == 0
      && (block->waits != NULL || block->event != 0 || block->mark != 0))
    return "is available to all, but work may still use it";
  sums->end += node->size;
  sums->mapped += block->state != GEMEM_CUDA_UNMAPPED ? node->size : 0;
  sums->used += block->state == GEMEM_CUDA_LIVE ? node->size : 0;
  sums->free_blocks += block->state == GEMEM_CUDA_FREE;
  sums->unmapped_blocks += block->state == GEMEM_CUDA_UNMAPPED;
  return NULL;
}

static guint64
mapped_bytes (const GememCudaPool *pool)
{
  guint64 bytes = 0;

  for (guint i = 0; i < pool->pages->len; i++)
    bytes += g_array_index (pool->pages, GememPage, i) != 0 ? pool->params.growth : 0;
  return bytes;
}

gboolean
gemem_cuda_pool_check (GememAllocator *allocator, GError **error)
{
  const GememCudaPool *pool = (const GememCudaPool *) allocator;
  const GememCudaBlock *previous = NULL;
  const char *problem = NULL;
  Sums sums = { .end = pool->range };

  for (const GememCudaBlock *block = pool->first; block != NULL && problem == NULL;
       previous = block, block = gemem_cuda_next (block))
    problem = check_block (pool, block, previous, &sums);
  if (problem == NULL && pool->range != 0 && sums.end != pool->range + pool->range_size)
    problem = "is the last one, but the range goes on";
  if (problem == NULL
      && (!gemem_tree_check (&pool->free) || pool->free.count != sums.free_blocks
          || !gemem_tree_check (&pool->unmapped) || pool->unmapped.count != sums.unmapped_blocks))
    problem = "is the last one, and the trees differ from the blocks";
  if (problem == NULL
      && (sums.mapped != pool->reserved || sums.used != pool->used
          || mapped_bytes (pool) != pool->reserved))
    problem = "is the last one, and reserved or used bytes were miscounted";
  if (problem != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                 "%s: block 0x%" G_GINT64_MODIFIER "x: %s", allocator->klass->name,
                 previous != NULL ? previous->base.node.address : pool->range, problem);
  return problem == NULL;
}

void
gemem_cuda_pool_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GememCudaPool *pool = (const GememCudaPool *) allocator;

  func ("cudaMemPoolAttrReservedMemCurrent", pool->reserved, "B", data);
  func ("cudaMemPoolAttrReservedMemHigh", pool->reserved_high, "B", data);
  func ("cudaMemPoolAttrUsedMemCurrent", pool->used, "B", data);
  func ("cudaMemPoolAttrUsedMemHigh", pool->used_high, "B", data);
  func ("reused_by_event_dependency", pool->followed, "", data);
  func ("reused_opportunistically", pool->opportunistic, "", data);
  func ("reused_by_internal_dependency", pool->internal, "", data);
  func ("growths", pool->growths, "", data);
  func ("remapped_bytes", pool->remapped, "B", data);
  func ("released_units", pool->released, "", data);
  func ("free_blocks", pool->free.count, "", data);
}
