/* async-report.c - what a CUDA pool tells of its state: spans, invariants, statistics under CUDA's
 * names.
 *
 * Cost: O(blocks).  Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"

static gboolean
is_mapped (const GememCudaPool *pool, guint64 chunk)
{
  return chunk < pool->pages->len && g_array_index (pool->pages, GememPage, chunk) != 0;
}

/* TRUE if a request of stream number @own (0: unknown) takes pending @block without a call of the
 * device. */
static gboolean
is_at_hand (const GememCudaPool *pool, const GememCudaBlock *block, guint64 own)
{
  const GArray *known = own != 0 ? gemem_cuda_stream (pool, own)->known : NULL;

  if (block->stream == own)
    return TRUE;
  if (pool->params.allow_opportunistic
      && block->mark <= gemem_cuda_stream (pool, block->stream)->done)
    return TRUE;
  return pool->params.follow_event_dependencies
         && block->mark <= gemem_cuda_known_of (known, block->stream);
}

/* The bytes of @block from @offset on that are all mapped, or, with *@mapped FALSE, all not. */
static guint64
run_at (const GememCudaPool *pool, const GememCudaBlock *block, guint64 offset, gboolean *mapped)
{
  const guint64 unit = pool->params.growth, begin = block->base.node.address - pool->range;
  const guint64 end = begin + block->base.node.size;
  guint64 chunk = (begin + offset) / unit;

  *mapped = is_mapped (pool, chunk);
  if (!*mapped && chunk >= pool->pages->len)
    return end - begin - offset;
  do
    chunk++;
  while (chunk * unit < end && is_mapped (pool, chunk) == *mapped
         && (*mapped || chunk < pool->pages->len));
  if (!*mapped && chunk >= pool->pages->len)
    return end - begin - offset;
  return MIN (end, chunk * unit) - begin - offset;
}

/* What becomes one shared block with the next request that nothing else serves; pending blocks are
 * all done then. */
typedef struct
{
  guint64 size, backed; /* backed: from its low end on, without a gap */
} Run;

static void
extend (const GememCudaPool *pool, Run *run, const GememCudaBlock *block)
{
  gboolean mapped = TRUE;
  const guint64 bytes = run_at (pool, block, 0, &mapped);

  if (run->backed == run->size && mapped)
    run->backed += bytes;
  run->size += block->base.node.size;
}

static int
compare_runs (gconstpointer a, gconstpointer b)
{
  const Run *x = a, *y = b;

  return x->size < y->size ? -1 : x->size > y->size;
}

/* Appends the runs of @pool to @runs by size. */
static void
find_runs (const GememCudaPool *pool, GArray *runs)
{
  Run run = { 0 };

  for (const GememCudaBlock *block = pool->first; block != NULL; block = gemem_cuda_next (block))
    {
      if (block->state != GEMEM_CUDA_LIVE)
        extend (pool, &run, block);
      else if (run.size > 0)
        {
          g_array_append_val (runs, run);
          run = (Run){ 0 };
        }
    }
  if (run.size > 0)
    g_array_append_val (runs, run);
  g_array_sort (runs, compare_runs);
}

/* The largest request whose place has all of its memory, once pending blocks are shared. */
static guint64
largest_run (const GememCudaPool *pool)
{
  g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (Run));
  guint64 largest = 0, smaller = 0;

  find_runs (pool, runs);
  for (guint i = 0; i < runs->len; i++)
    {
      const Run *run = &g_array_index (runs, Run, i);

      if (run->backed > smaller) /* no smaller run is the place of so much */
        largest = run->backed;
      smaller = run->size;
    }
  return largest;
}

/* The same of the shared blocks that are not backed, as they are. */
static guint64
largest_place (const GememCudaPool *pool)
{
  guint64 largest = 0, smaller = 0;

  for (GememTreeNode *node = gemem_tree_fit (&pool->lists, GEMEM_CUDA_BARE, 0);
       node != NULL && node->group == GEMEM_CUDA_BARE; node = gemem_tree_next (node))
    {
      gboolean mapped;
      const guint64 bytes = run_at (pool, gemem_cuda_block (node), 0, &mapped);

      if (mapped && bytes > smaller)
        largest = bytes;
      smaller = node->size;
    }
  return largest;
}

/* What the next request that nothing else serves gets without asking the device what is done. */
static guint64
largest_unasked (const GememCudaPool *pool)
{
  gboolean asks = FALSE, shares = FALSE;

  for (guint64 n = 1; n <= pool->streams->len && pool->params.allow_opportunistic; n++)
    {
      const GememCudaBlock *block = gemem_cuda_stream (pool, n)->youngest;

      shares |= block != NULL;
      asks |= block != NULL && block->mark > gemem_cuda_stream (pool, n)->done;
    }
  return asks ? 0 : shares ? largest_run (pool) : largest_place (pool);
}

/* The largest block of @group that stream number @own may take; 0: none. */
static guint64
largest_of (const GememCudaPool *pool, guint64 group, guint64 own)
{
  const GememTreeNode *node = gemem_tree_before (&pool->lists, group + 1, 0, 0);

  while (node != NULL && node->group == group && group > GEMEM_CUDA_STREAMS
         && !is_at_hand (pool, gemem_cuda_block ((GememTreeNode *) (gpointer) node), own))
    node = gemem_tree_previous (node);
  return node != NULL && node->group == group ? node->size : 0;
}

guint64
gemem_cuda_pool_largest_free (GememAllocator *allocator, guint64 stream)
{
  const GememCudaPool *pool = (const GememCudaPool *) allocator;
  const guint64 *number = gemem_idmap_lookup (pool->by_handle, stream);
  guint64 largest;

  if (pool->base.broken != NULL)
    return 0;
  largest = largest_of (pool, GEMEM_CUDA_BACKED, 0);
  for (guint64 n = 1; n <= pool->order->len; n++) /* by place */
    largest = MAX (largest,
                   largest_of (pool, GEMEM_CUDA_STREAMS + n, number != NULL ? *number : 0));
  return MAX (largest, largest_unasked (pool));
}

/* The spans of @block: a shared one has several where memory is missing. */
static void
walk_block (const GememCudaPool *pool, const GememCudaBlock *block, GememSpanFunc func,
            gpointer data)
{
  const gboolean shared = block->state == GEMEM_CUDA_SHARED;
  gboolean mapped = TRUE;

  for (guint64 offset = 0, size = block->base.node.size; offset < block->base.node.size;
       offset += size)
    {
      if (shared)
        size = run_at (pool, block, offset, &mapped);
      const GememSpan span = {
        .address = block->base.node.address + offset,
        .size = size,
        .segment = pool->range,
        .segment_size = pool->range_size,
        .stream = shared ? 0 : gemem_cuda_stream (pool, block->stream)->handle,
        .state = block->state == GEMEM_CUDA_LIVE ? GEMEM_SPAN_LIVE
                 : mapped                        ? GEMEM_SPAN_FREE
                                                 : GEMEM_SPAN_UNMAPPED,
        .user = block->base.node.address + offset,
      };
      func (&span, data);
    }
}

void
gemem_cuda_pool_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const GememCudaPool *pool = (const GememCudaPool *) allocator;

  for (const GememCudaBlock *block = pool->first; block != NULL; block = gemem_cuda_next (block))
    walk_block (pool, block, func, data);
}

/* ---- invariants */

typedef struct
{
  guint64 end, used, listed;
} Sums;

/* NULL, or what is wrong with @block behind @previous; adds it to @sums. */
static const char *
check_block (const GememCudaPool *pool, const GememCudaBlock *block, const GememCudaBlock *previous,
             Sums *sums)
{
  const GememTreeNode *node = &block->base.node;
  const gboolean alike = previous != NULL && previous->state == block->state
                         && block->state != GEMEM_CUDA_LIVE;
  const gboolean shared = block->state == GEMEM_CUDA_SHARED;

  if (node->address != sums->end || gemem_cuda_previous (block) != previous || node->size == 0)
    return "does not follow its neighbour";
  if (alike && (shared || previous->stream == block->stream))
    return "should be one with the block before it";
  if (block->state != GEMEM_CUDA_LIVE && block->put.size != node->size)
    return "stands in its list with another size";
  if (!shared && !gemem_cuda_pool_is_backed (pool, block))
    return "lacks memory, but is not shared";
  if (shared && gemem_cuda_pool_is_backed (pool, block) != (block->put.group == GEMEM_CUDA_BACKED))
    return "stands in the wrong list";
  sums->end += node->size;
  sums->used += block->state == GEMEM_CUDA_LIVE ? block->wanted : 0;
  sums->listed += block->state != GEMEM_CUDA_LIVE;
  return NULL;
}

static guint64
mapped_bytes (const GememCudaPool *pool)
{
  guint64 bytes = 0;

  for (guint i = 0; i < pool->pages->len; i++)
    bytes += is_mapped (pool, i) ? pool->params.growth : 0;
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
  if (problem == NULL && (!gemem_tree_check (&pool->lists) || pool->lists.count != sums.listed))
    problem = "is the last one, and the lists differ from the blocks";
  if (problem == NULL && (sums.used != pool->used || mapped_bytes (pool) != pool->reserved))
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
  func ("free_blocks", pool->lists.count, "", data);
}
