/* pools.c - private pools: keeps blocks freed too early for the graphs that use them (heap.h).
 *
 * A freed block is kept for two reasons.  Its pool is in use and the allocator knows no pools: a
 * graph may write to the block whenever it is launched.  Or a pool is open and the block waits for
 * streams: while the program captures, no event may be recorded.
 */
#include "config.h"

#include "sim/live/heap-private.h"

void
gemem_heap_pools_init (GememHeap *heap)
{
  heap->pools = gemem_idmap_new (sizeof (guint64));
  heap->kept = g_array_new (FALSE, FALSE, sizeof (GememHeapBlock));
}

void
gemem_heap_pools_clear (GememHeap *heap)
{
  for (guint i = 0; i < heap->kept->len; i++)
    g_free (g_array_index (heap->kept, GememHeapBlock, i).users);
  g_array_unref (heap->kept);
  gemem_idmap_free (heap->pools);
}

static gboolean
is_kept (const GememHeap *heap, const GememHeapBlock *block)
{
  const GememAllocatorClass *klass = heap->run->klass;
  const gboolean waits = block->n_users > 0
                         || (!gemem_heap_knows_streams (heap)
                             && gemem_idmap_count (heap->streams) > 1);

  if (heap->pools_open > 0 && waits)
    return TRUE;
  return block->pool != 0 && (klass->capabilities & GEMEM_CAP_POOLS) == 0
         && gemem_idmap_lookup (heap->pools, block->pool) != NULL;
}

gboolean
gemem_heap_pool_keeps (GememHeap *heap, GememHeapBlock *block)
{
  if (!is_kept (heap, block))
    return FALSE;
  g_array_append_val (heap->kept, *block);
  return TRUE;
}

/* Releases the blocks that need not be kept, in the order in which they were freed. */
static gboolean
look_again (GememHeap *heap, GError **error)
{
  g_autoptr (GArray) before = heap->kept;
  gboolean ok = TRUE;

  heap->kept = g_array_new (FALSE, FALSE, sizeof (GememHeapBlock));
  for (guint i = 0; i < before->len; i++)
    {
      GememHeapBlock *block = &g_array_index (before, GememHeapBlock, i);
      if (!ok || is_kept (heap, block))
        g_array_append_val (heap->kept, *block);
      else
        ok = gemem_heap_release (heap, block, error);
    }
  return ok;
}

void
gemem_heap_pool_begin (GememHeap *heap, guint32 pool)
{
  ++*(guint64 *) gemem_idmap_insert (heap->pools, pool, NULL);
  heap->pools_open++;
}

gboolean
gemem_heap_pool_end (GememHeap *heap, GError **error)
{
  if (heap->pools_open > 0)
    heap->pools_open--;
  return heap->pools_open > 0 || look_again (heap, error);
}

gboolean
gemem_heap_pool_release (GememHeap *heap, guint32 pool, GError **error)
{
  guint64 *uses = gemem_idmap_lookup (heap->pools, pool);

  if (uses == NULL || --*uses > 0)
    return TRUE;
  gemem_idmap_remove (heap->pools, pool, NULL);
  return look_again (heap, error);
}
