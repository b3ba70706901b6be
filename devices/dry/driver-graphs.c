/* driver-graphs.c - graphs of the stand-in driver: nodes and executable graphs.
 *
 * A graph is a list of nodes, from a capture or added one by one; only what dry runs need is kept of
 * a node: its type, what it depends on, and the host function of one that calls it. Launching calls
 * these functions and does nothing else. Strict mode has no executable graphs, since it would owe
 * them their bytes.
 *
 * Memory of nodes comes from a pool of the device, for which it counts from when the node is made
 * (on a GPU, from the first launch) until cuDeviceGraphMemTrim().
 */
#include "config.h"

#include "devices/dry/standin.h"

#define DRY_ONLY() \
  if (!standin.dry) \
  return CUDA_ERROR_NOT_SUPPORTED

/* ---- graphs and nodes */

static void
free_node (gpointer node)
{
  standin_object_remove (node);
  g_free (((StandinNode *) node)->dependencies);
  g_free (node);
}

static void
finish_graph (gpointer object)
{
  StandinGraph *graph = object;

  standin_graph_drop_objects (graph);
  g_ptr_array_unref (graph->nodes);
}

StandinGraph *
standin_graph_new (void)
{
  StandinGraph *graph = standin_object_add (g_new0 (StandinGraph, 1), KIND_GRAPH, NULL);

  graph->nodes = g_ptr_array_new_with_free_func (free_node);
  graph->kept = standin_graph_objects_new ();
  graph->object.finish = finish_graph;
  return graph;
}

StandinNode *
standin_graph_add (StandinGraph *graph, CUgraphNodeType type, const CUgraphNode *dependencies,
                   gsize n)
{
  StandinNode *node = standin_object_add (g_new0 (StandinNode, 1), KIND_NODE, NULL);

  node->type = type;
  node->n_dependencies = n;
  node->dependencies = g_memdup2 (dependencies, n * sizeof *dependencies);
  g_ptr_array_add (graph->nodes, node);
  return node;
}

CUresult CUDAAPI
cuGraphCreate (CUgraph *handle, unsigned int flags)
{
  BEGIN (cuGraphCreate, NEEDS_INIT);
  PLACE (handle);
  *handle = STANDIN_HANDLE (CUgraph, standin_graph_new ());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphDestroy (CUgraph handle)
{
  BEGIN (cuGraphDestroy, RETURNS);
  GRAPH (handle);
  standin_object_remove (graph);
  standin_object_free (graph);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphClone (CUgraph *place, CUgraph handle)
{
  StandinGraph *copy;

  BEGIN (cuGraphClone, NEEDS_INIT);
  PLACE (place);
  GRAPH (handle);
  copy = standin_graph_new ();
  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const StandinNode *node = graph->nodes->pdata[i];
      StandinNode *twin = standin_graph_add (copy, node->type, NULL, 0);
      twin->host = node->host;
    }
  *place = STANDIN_HANDLE (CUgraph, copy);
  return CUDA_SUCCESS;
}

/* The call that adds a node which does nothing at a launch. */
#define ADD(symbol, type, ...) \
  CUresult CUDAAPI symbol (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies, \
                           size_t n, ##__VA_ARGS__) \
  { \
    BEGIN (symbol, NEEDS_INIT); \
    PLACE (place); \
    GRAPH (handle); \
    *place = STANDIN_HANDLE (CUgraphNode, standin_graph_add (graph, type, dependencies, n)); \
    return CUDA_SUCCESS; \
  }

ADD (cuGraphAddKernelNode, CU_GRAPH_NODE_TYPE_KERNEL, const CUDA_KERNEL_NODE_PARAMS_v1 *what)
ADD (cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL, const CUDA_KERNEL_NODE_PARAMS *what)
ADD (cuGraphAddMemcpyNode, CU_GRAPH_NODE_TYPE_MEMCPY, const CUDA_MEMCPY3D *what, CUcontext context)
ADD (cuGraphAddMemsetNode, CU_GRAPH_NODE_TYPE_MEMSET, const CUDA_MEMSET_NODE_PARAMS *what,
     CUcontext context)
ADD (cuGraphAddChildGraphNode, CU_GRAPH_NODE_TYPE_GRAPH, CUgraph child)
ADD (cuGraphAddEmptyNode, CU_GRAPH_NODE_TYPE_EMPTY)
ADD (cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CUevent event)
ADD (cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CUevent event)

CUresult CUDAAPI
cuGraphAddHostNode (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies, size_t n,
                    const CUDA_HOST_NODE_PARAMS *what)
{
  StandinNode *node;

  BEGIN (cuGraphAddHostNode, NEEDS_INIT);
  PLACE (place);
  PLACE (what);
  GRAPH (handle);
  node = standin_graph_add (graph, CU_GRAPH_NODE_TYPE_HOST, dependencies, n);
  node->host = (StandinCallback){ .function = what->fn, .data = what->userData };
  *place = STANDIN_HANDLE (CUgraphNode, node);
  return CUDA_SUCCESS;
}

/* Gives the memory of a new node of @graph. */
static CUresult
add_memory (CUgraphNode *place, StandinGraph *graph, const CUgraphNode *dependencies, size_t n,
            CUDA_MEM_ALLOC_NODE_PARAMS *what)
{
  StandinDevice *device = standin_device (what->poolProps.location.id);
  const StandinSpan *span;

  if (device == NULL || what->bytesize == 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "a location that is no device, or no bytes");
  if ((span = standin_pool_take (standin_graph_pool (device), what->bytesize)) == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  what->dptr = span->node.address;
  *place = STANDIN_HANDLE (
      CUgraphNode, standin_graph_add (graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, dependencies, n));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddMemAllocNode (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies,
                        size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *what)
{
  BEGIN (cuGraphAddMemAllocNode, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (place);
  PLACE (what);
  GRAPH (handle);
  return add_memory (place, graph, dependencies, n, what);
}

static CUresult
add_free (CUgraphNode *place, StandinGraph *graph, const CUgraphNode *dependencies, size_t n,
          CUdeviceptr address)
{
  StandinSpan *span = standin_span_start (address, KIND_POOLED);

  if (span == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation of a pool", address);
  *place = STANDIN_HANDLE (CUgraphNode,
                           standin_graph_add (graph, CU_GRAPH_NODE_TYPE_MEM_FREE, dependencies, n));
  return standin_pool_free (span, NULL, FALSE);
}

CUresult CUDAAPI
cuGraphAddMemFreeNode (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies,
                       size_t n, CUdeviceptr address)
{
  BEGIN (cuGraphAddMemFreeNode, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (place);
  GRAPH (handle);
  return add_free (place, graph, dependencies, n, address);
}

static CUresult
add_node (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies, size_t n,
          CUgraphNodeParams *what)
{
  StandinNode *node;

  DRY_ONLY ();
  PLACE (place);
  PLACE (what);
  GRAPH (handle);
  if (what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    return add_memory (place, graph, dependencies, n, &what->alloc);
  if (what->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    return add_free (place, graph, dependencies, n, what->free.dptr);
  node = standin_graph_add (graph, what->type, dependencies, n);
  if (what->type == CU_GRAPH_NODE_TYPE_HOST)
    node->host = (StandinCallback){ .function = what->host.fn, .data = what->host.userData };
  *place = STANDIN_HANDLE (CUgraphNode, node);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddNode (CUgraphNode *place, CUgraph graph, const CUgraphNode *dependencies, size_t n,
                CUgraphNodeParams *what)
{
  BEGIN (cuGraphAddNode, NEEDS_INIT);
  return add_node (place, graph, dependencies, n, what);
}

CUresult CUDAAPI
cuGraphAddNode_v2 (CUgraphNode *place, CUgraph graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *what)
{
  BEGIN (cuGraphAddNode_v2, NEEDS_INIT);
  return add_node (place, graph, dependencies, n, what);
}

/* ---- questions */

/* Fills up to *@n of @nodes, and says how many there are. */
static CUresult
list_nodes (const StandinGraph *graph, CUgraphNode *nodes, size_t *n, gboolean roots)
{
  gsize found = 0;

  PLACE (n);
  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const StandinNode *node = graph->nodes->pdata[i];
      if (roots && node->n_dependencies > 0)
        continue;
      if (nodes != NULL && found < *n)
        nodes[found] = STANDIN_HANDLE (CUgraphNode, node);
      found++;
    }
  for (gsize i = found; nodes != NULL && i < *n; i++)
    nodes[i] = NULL;
  *n = nodes != NULL ? MIN (*n, found) : found;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphGetNodes (CUgraph handle, CUgraphNode *nodes, size_t *n)
{
  BEGIN (cuGraphGetNodes, NEEDS_INIT);
  GRAPH (handle);
  return list_nodes (graph, nodes, n, FALSE);
}

CUresult CUDAAPI
cuGraphGetRootNodes (CUgraph handle, CUgraphNode *nodes, size_t *n)
{
  BEGIN (cuGraphGetRootNodes, NEEDS_INIT);
  GRAPH (handle);
  return list_nodes (graph, nodes, n, TRUE);
}

CUresult CUDAAPI
cuGraphNodeGetType (CUgraphNode handle, CUgraphNodeType *type)
{
  BEGIN (cuGraphNodeGetType, NEEDS_INIT);
  const StandinNode *node = standin_object (handle, KIND_NODE);
  PLACE (type);
  if (node == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such node");
  *type = node->type;
  return CUDA_SUCCESS;
}

/* ---- executable graphs */

typedef struct
{
  StandinObject object;
  GArray *host; /* StandinCallback, of nodes that call the host */
  cuuint64_t flags;
} StandinExec;

static void
finish_exec (gpointer object)
{
  g_array_unref (((StandinExec *) object)->host);
}

static void
take_nodes (StandinExec *exec, const StandinGraph *graph)
{
  g_array_set_size (exec->host, 0);
  for (guint i = 0; i < graph->nodes->len; i++)
    if (((StandinNode *) graph->nodes->pdata[i])->host.function != NULL)
      g_array_append_val (exec->host, ((StandinNode *) graph->nodes->pdata[i])->host);
}

static CUresult
instantiate (CUgraphExec *place, CUgraph handle, cuuint64_t flags)
{
  StandinExec *exec;

  DRY_ONLY ();
  PLACE (place);
  GRAPH (handle);
  exec = standin_object_add (g_new0 (StandinExec, 1), KIND_EXEC, NULL);
  exec->object.finish = finish_exec;
  exec->host = g_array_new (FALSE, FALSE, sizeof (StandinCallback));
  exec->flags = flags;
  take_nodes (exec, graph);
  *place = STANDIN_HANDLE (CUgraphExec, exec);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphInstantiate_v2 (CUgraphExec *place, CUgraph graph, CUgraphNode *wrong, char *log,
                       size_t size)
{
  BEGIN (cuGraphInstantiate_v2, NEEDS_INIT);
  return instantiate (place, graph, 0);
}

CUresult CUDAAPI
cuGraphInstantiateWithFlags (CUgraphExec *place, CUgraph graph, unsigned long long flags)
{
  BEGIN (cuGraphInstantiateWithFlags, NEEDS_INIT);
  return instantiate (place, graph, flags);
}

static CUresult
instantiate_with (CUgraphExec *place, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how)
{
  PLACE (how);
  how->hErrNode_out = NULL;
  how->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return instantiate (place, graph, how->flags);
}

CUresult CUDAAPI
cuGraphInstantiateWithParams (CUgraphExec *place, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how)
{
  BEGIN (cuGraphInstantiateWithParams, NEEDS_INIT);
  return instantiate_with (place, graph, how);
}

CUresult CUDAAPI
cuGraphInstantiateWithParams_ptsz (CUgraphExec *place, CUgraph graph,
                                   CUDA_GRAPH_INSTANTIATE_PARAMS *how)
{
  BEGIN (cuGraphInstantiateWithParams_ptsz, NEEDS_INIT);
  return instantiate_with (place, graph, how);
}

#define EXEC(handle) \
  StandinExec *exec = standin_object (handle, KIND_EXEC); \
  if (exec == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such executable graph")

CUresult CUDAAPI
cuGraphExecDestroy (CUgraphExec handle)
{
  BEGIN (cuGraphExecDestroy, RETURNS);
  EXEC (handle);
  standin_object_remove (exec);
  standin_object_free (exec);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphExecGetFlags (CUgraphExec handle, cuuint64_t *flags)
{
  BEGIN (cuGraphExecGetFlags, NEEDS_INIT);
  PLACE (flags);
  EXEC (handle);
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphExecUpdate_v2 (CUgraphExec handle, CUgraph from, CUgraphExecUpdateResultInfo *result)
{
  BEGIN (cuGraphExecUpdate_v2, NEEDS_INIT);
  EXEC (handle);
  GRAPH (from);
  take_nodes (exec, graph);
  if (result != NULL)
    *result = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
  return CUDA_SUCCESS;
}

static CUresult
launch (StandinEntry entry, CUgraphExec handle, CUstream stream_handle)
{
  StandinStream *stream;

  STANDIN_BEGIN (entry, NEEDS_CONTEXT);
  EXEC (handle);
  if ((stream = standin_stream (stream_handle)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream");
  if (stream->capture != NULL)
    return standin_capture_add (stream, CU_GRAPH_NODE_TYPE_GRAPH);
  standin_forget_all ();
  for (guint i = 0; entry != ENTRY_cuGraphUpload && i < exec->host->len; i++)
    standin_call_later (g_array_index (exec->host, StandinCallback, i));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphLaunch (CUgraphExec exec, CUstream stream)
{
  return launch (ENTRY_cuGraphLaunch, exec, stream);
}

CUresult CUDAAPI
cuGraphLaunch_ptsz (CUgraphExec exec, CUstream stream)
{
  return launch (ENTRY_cuGraphLaunch_ptsz, exec, standin_per_thread (stream));
}

CUresult CUDAAPI
cuGraphUpload (CUgraphExec exec, CUstream stream)
{
  return launch (ENTRY_cuGraphUpload, exec, stream);
}
