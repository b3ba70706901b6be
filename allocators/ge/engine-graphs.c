/* engine-graphs.c - graphs of `ge`: routing of their segments, unloading of others where memory is
 * short, order of their runs; see engine.h.
 *
 * Segments of a static subgraph of a dynamic graph come from dynamic memory: for each run, until
 * its end, the next run or the unload; fixed ones from load to unload, under policy 4 from the
 * session's fixed range instead.  All other segments are static memory.
 * CheckFreeMemory: before a load, the need is estimated as the bytes by which the feature map
 * exceeds the memory that graphs share, and compared with what the device has free beyond a reserve
 * of 1/32. Weights, part of the estimate in the real system, are requests of their own here.  While
 * the graph does not fit, the one that was loaded first is unloaded; it is loaded again when it is
 * run.  If all of that is not enough, the load is tried nevertheless.
 * Order of release: an unload synchronises the streams of the graph before its memory is freed,
 * the replacement of the block of policy 2 synchronises the device.
 */
#include "config.h"

#include "allocators/ge/engine.h"
#include "traces/trace.h"

#define SUBGRAPH GEMEM_GRAPH_SEGMENT_SUBGRAPH
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

static GeGraph *
find (const GeEngine *ge, guint64 id)
{
  return *(GeGraph **) gemem_idmap_lookup (ge->graphs, id);
}

/* ---- dynamic memory of graphs */

static gboolean
take_dynamic (GeEngine *ge, GArray *blocks, guint64 size, guint64 stream)
{
  const GememRequest request = { .size = size, .stream = stream };
  GememBlock block;

  if (!gemem_ge_dynamic_alloc (ge, &request, &block))
    return FALSE;
  g_array_append_val (blocks, block);
  gemem_idmap_insert (ge->inner, block.address, NULL);
  ge->inner_bytes += block.size;
  return TRUE;
}

/* In reverse order of their allocation, so that the spans merge as they were cut. */
static void
give_dynamic (GeEngine *ge, GArray *blocks)
{
  for (guint i = blocks->len; i-- > 0;)
    {
      const GememBlock *block = &g_array_index (blocks, GememBlock, i);

      gemem_idmap_remove (ge->inner, block->address, NULL);
      ge->inner_bytes -= block->size;
      gemem_ge_dynamic_free (ge, block);
    }
  g_array_set_size (blocks, 0);
}

static gboolean
take_workspaces (GeEngine *ge, GeGraph *graph, guint64 stream)
{
  give_dynamic (ge, graph->running); /* of a run that the host did not wait for */
  for (guint i = 0; i < graph->workspaces->len; i++)
    if (!take_dynamic (ge, graph->running, g_array_index (graph->workspaces, guint64, i), stream))
      {
        give_dynamic (ge, graph->running);
        return FALSE;
      }
  return TRUE;
}

/* ---- static memory */

/* Streams first, then memory; G_MAXUINT64: all streams. */
static void
wait_for (GeEngine *ge, guint64 stream)
{
  if (stream == G_MAXUINT64)
    gemem_device_sync (ge->base.device);
  else
    gemem_device_stream_sync (ge->base.device, stream);
  gemem_ge_run_order_sync (&ge->order, stream);
}

/* For the zeroing at the load, and for a run that the host did not wait for. */
static void
wait_for_graph (GeEngine *ge, const GeGraph *graph)
{
  wait_for (ge, graph->stream);
  if (graph->queued && graph->run_stream != graph->stream)
    wait_for (ge, graph->run_stream);
}

static void
unload_static (GeEngine *ge, GeGraph *graph)
{
  if (!graph->loaded)
    return;
  gemem_ge_static_unload (&ge->memory, graph->id);
  g_queue_unlink (&ge->loaded, &graph->link);
  graph->loaded = FALSE;
}

/* The estimate of 3.4: whether a graph that needs @bytes fits. */
static gboolean
fits (const GeEngine *ge, guint64 bytes)
{
  const guint64 peak = gemem_ge_static_peak (&ge->memory),
                reserve = ge->total - (ge->total / 32 * 31 + ge->total % 32 * 31 / 32);
  GememDeviceInfo info = { 0 };

  gemem_device_info (ge->base.device, &info);
  return bytes <= peak || bytes - peak <= (info.free > reserve ? info.free - reserve : 0);
}

static guint64
need_of (const GeGraph *graph)
{
  return gemem_ge_static_need ((const GememGraphSegment *) (gconstpointer) graph->segments->data,
                               graph->segments->len);
}

static void
unload_others (GeEngine *ge, const GeGraph *graph)
{
  const guint64 bytes = need_of (graph);
  GList *next;

  for (GList *link = ge->loaded.head; link != NULL && !fits (ge, bytes); link = next)
    {
      GeGraph *other = link->data;

      next = link->next;
      if (other->hccl)
        continue;
      wait_for_graph (ge, other);
      unload_static (ge, other);
      ge->unloaded++;
    }
}

static gboolean
load_static (GeEngine *ge, GeGraph *graph, guint64 *address)
{
  const GememGraphSegment *segments = (const GememGraphSegment *) (gconstpointer)
                                          graph->segments->data;

  if (graph->segments->len == 0)
    return TRUE;
  if (ge->check_free_memory && ge->total > 0)
    unload_others (ge, graph);
  if (gemem_ge_static_replaces (&ge->memory, segments, graph->segments->len))
    wait_for (ge, G_MAXUINT64);
  if (!gemem_ge_static_load (&ge->memory, graph->id, graph->stream, segments, graph->segments->len,
                             address))
    return FALSE;
  graph->loaded = TRUE;
  g_queue_push_tail_link (&ge->loaded, &graph->link);
  return TRUE;
}

/* ---- load and unload */

static GeGraph *
graph_new (guint64 id, guint64 stream)
{
  GeGraph *graph = g_new0 (GeGraph, 1);

  graph->id = id;
  graph->stream = stream;
  graph->segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  graph->workspaces = g_array_new (FALSE, FALSE, sizeof (guint64));
  graph->running = g_array_new (FALSE, FALSE, sizeof (GememBlock));
  graph->kept = g_array_new (FALSE, FALSE, sizeof (GememBlock));
  graph->link.data = graph;
  return graph;
}

static void
graph_free (GeGraph *graph)
{
  g_array_unref (graph->segments);
  g_array_unref (graph->workspaces);
  g_array_unref (graph->running);
  g_array_unref (graph->kept);
  g_free (graph);
}

static void
give_all (GeEngine *ge, GeGraph *graph)
{
  give_dynamic (ge, graph->running);
  give_dynamic (ge, graph->kept);
  unload_static (ge, graph);
  graph_free (graph);
}

void
gemem_ge_graphs_clear (GeEngine *ge)
{
  gsize position = 0;
  gpointer graph;
  guint64 id;

  while (gemem_idmap_next (ge->graphs, &position, &id, &graph))
    graph_free (*(GeGraph **) graph);
  gemem_idmap_free (ge->graphs);
  gemem_idmap_free (ge->inner);
}

/* Routes a segment by 7.2; FALSE: dynamic memory refuses it. */
static gboolean
route (GeEngine *ge, GeGraph *graph, const GememGraphSegment *segment)
{
  const guint32 kind = segment->flags & (SUBGRAPH | FIXED);

  if ((kind & SUBGRAPH) == 0
      || (kind == (SUBGRAPH | FIXED) && ge->memory.options.fixed == GE_FIXED_SHARED
          && ge->policy == 4))
    g_array_append_val (graph->segments, *segment);
  else if ((segment->flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) != 0 || segment->size == 0)
    return TRUE; /* the dynamic graph's tensors are there already; a null block serves 0 bytes */
  else if (kind == SUBGRAPH)
    g_array_append_val (graph->workspaces, segment->size);
  else
    return take_dynamic (ge, graph->kept, segment->size, graph->stream);
  return TRUE;
}

gboolean
gemem_ge_graph_load (GememAllocator *allocator, guint64 id, guint64 stream,
                     const GememGraphSegment *segments, guint n, guint64 *address)
{
  GeEngine *ge = (GeEngine *) allocator;
  GeGraph *graph = graph_new (id, stream);
  gboolean served = TRUE;

  *address = 0;
  graph->hccl = gemem_ge_ids_have (ge->hccl, id);
  for (guint i = 0; i < n && served; i++)
    served = route (ge, graph, &segments[i]);
  if (served && load_static (ge, graph, address))
    {
      *(GeGraph **) gemem_idmap_insert (ge->graphs, id, NULL) = graph;
      return TRUE;
    }
  give_all (ge, graph);
  return FALSE;
}

void
gemem_ge_graph_unload (GememAllocator *allocator, guint64 id)
{
  GeEngine *ge = (GeEngine *) allocator;
  GeGraph *graph;

  gemem_idmap_remove (ge->graphs, id, &graph);
  if (graph->loaded || graph->running->len > 0 || graph->kept->len > 0)
    wait_for_graph (ge, graph);
  give_all (ge, graph);
}

guint64
gemem_ge_graph_bytes (GememAllocator *allocator)
{
  const GeEngine *ge = (const GeEngine *) allocator;

  return gemem_ge_static_bytes (&ge->memory) + ge->inner_bytes;
}

guint64
gemem_ge_graph_need (GememAllocator *allocator)
{
  const GeEngine *ge = (const GeEngine *) allocator;

  return gemem_ge_static_need_of_all (&ge->memory, gemem_ge_run_order_bytes (&ge->order))
         + ge->inner_bytes;
}

static void
walk_blocks (const GArray *blocks, GememSpanFunc func, gpointer data)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      const GememBlock *block = &g_array_index (blocks, GememBlock, i);
      const GememSpan span = { .address = block->address, .size = block->size };
      func (&span, data);
    }
}

void
gemem_ge_graph_walk (GememAllocator *allocator, guint64 id, GememSpanFunc func, gpointer data)
{
  const GeEngine *ge = (const GeEngine *) allocator;
  GeGraph *const *graph = gemem_idmap_lookup (ge->graphs, id);

  if (graph == NULL)
    return;
  gemem_ge_static_walk_graph (&ge->memory, id, func, data);
  walk_blocks ((*graph)->running, func, data);
  walk_blocks ((*graph)->kept, func, data);
}

/* ---- run */

static gboolean
shares (const GeEngine *ge, const GeGraph *graph)
{
  return ge->memory.options.mode != GE_STATIC_OWN && graph->segments->len > 0;
}

/* Graphs that share memory must not run at once: FALSE where that is refused. */
static gboolean
check_order (GeEngine *ge, const GeGraph *graph, guint64 stream)
{
  char where[40];

  g_snprintf (where, sizeof where, "under static memory policy %u", ge->policy);
  if (!shares (ge, graph)
      || gemem_ge_run_order_check (&ge->order, &ge->base, graph->id, stream, where, ge->strict))
    return TRUE;
  ge->concurrent_runs++;
  return !ge->strict;
}

static gboolean
begin_run (GeEngine *ge, GeGraph *graph, guint64 stream)
{
  guint64 address;

  if (!check_order (ge, graph, stream))
    return FALSE;
  if (!graph->loaded && graph->segments->len > 0)
    {
      if (!load_static (ge, graph, &address))
        return FALSE;
      ge->reloaded++;
    }
  if ((graph->loaded && !gemem_ge_static_run (&ge->memory, graph->id, TRUE))
      || !take_workspaces (ge, graph, stream))
    return FALSE;
  graph->run_stream = stream;
  graph->queued = TRUE;
  if (shares (ge, graph)) /* after all that the load waited for */
    gemem_ge_run_order_begin (&ge->order, graph->id, stream,
                              gemem_ge_static_shared (&ge->memory, graph->id));
  return TRUE;
}

gboolean
gemem_ge_graph_run (GememAllocator *allocator, guint64 id, guint64 stream, gboolean begin)
{
  GeEngine *ge = (GeEngine *) allocator;
  GeGraph *graph = find (ge, id);

  if (begin)
    return begin_run (ge, graph, stream);
  graph->queued = FALSE;
  give_dynamic (ge, graph->running);
  gemem_ge_run_order_end (&ge->order, id);
  return !graph->loaded || gemem_ge_static_run (&ge->memory, id, FALSE);
}
