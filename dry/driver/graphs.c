/* graphs.c - graphs of the stand-in driver, and executable graphs.
 *
 * A graph is a list of nodes (graph-model.c), from a capture or added one by one. Launching calls the functions of the host
 * that nodes name, and does nothing else. Strict mode has no executable graphs, since it would owe them their bytes.
 *
 * Memory of nodes comes from a pool of the device, for which it counts from when the node is made
 * (on a GPU, from the first launch) until cuDeviceGraphMemTrim().
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/foreign.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"

/* ---- graphs */

CUresult CUDAAPI
cuGraphCreate (CUgraph *handle, unsigned int flags)
{
  BEGIN (cuGraphCreate, NEEDS_INIT);
  PLACE (handle);
  *handle = DRIVER_HANDLE (CUgraph, gemem_driver_graph_new ());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphDestroy (CUgraph handle)
{
  BEGIN (cuGraphDestroy, RETURNS);
  GRAPH (handle);
  gemem_driver_object_remove (graph);
  gemem_driver_object_free (graph);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphClone (CUgraph *place, CUgraph handle)
{
  BEGIN (cuGraphClone, NEEDS_INIT);
  PLACE (place);
  GRAPH (handle);
  *place = DRIVER_HANDLE (CUgraph, gemem_driver_graph_copy (graph));
  return CUDA_SUCCESS;
}

/* ---- questions */

/* Fills up to *@n of @nodes, and says how many there are. */
static CUresult
list_nodes (const DriverGraph *graph, CUgraphNode *nodes, size_t *n, gboolean roots)
{
  gsize found = 0;

  PLACE (n);
  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const DriverNode *node = graph->nodes->pdata[i];
      if (roots && node->n_dependencies > 0)
        continue;
      if (nodes != NULL && found < *n)
        nodes[found] = DRIVER_HANDLE (CUgraphNode, node);
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

/* ---- executable graphs */

typedef struct
{
  DriverObject object;
  GArray *host; /* DriverCallback, of nodes that call the host */
  cuuint64_t flags;
} DriverExec;

static void
finish_exec (gpointer object)
{
  g_array_unref (((DriverExec *) object)->host);
}

/* Adds the functions of the host that nodes of @graph, and of graphs in it, call. */
static void
add_host (DriverExec *exec, const DriverGraph *graph)
{
  for (guint i = 0; i < graph->nodes->len; i++)
    {
      const CUgraphNodeParams *what = &((DriverNode *) graph->nodes->pdata[i])->what;
      const DriverCallback call = { .function = what->host.fn, .data = what->host.userData };
      const DriverGraph *child = what->type == CU_GRAPH_NODE_TYPE_GRAPH
                                     ? gemem_driver_object (what->graph.graph, KIND_GRAPH)
                                     : NULL;

      if (what->type == CU_GRAPH_NODE_TYPE_HOST && call.function != NULL)
        g_array_append_val (exec->host, call);
      if (child != NULL)
        add_host (exec, child);
    }
}

static void
take_nodes (DriverExec *exec, const DriverGraph *graph)
{
  g_array_set_size (exec->host, 0);
  add_host (exec, graph);
}

static CUresult
instantiate (CUgraphExec *place, CUgraph handle, cuuint64_t flags)
{
  DriverExec *exec;

  LENIENT_ONLY ();
  PLACE (place);
  GRAPH (handle);
  exec = gemem_driver_object_add (g_new0 (DriverExec, 1), KIND_EXEC, NULL);
  exec->object.finish = finish_exec;
  exec->host = g_array_new (FALSE, FALSE, sizeof (DriverCallback));
  exec->flags = flags;
  take_nodes (exec, graph);
  *place = DRIVER_HANDLE (CUgraphExec, exec);
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
  DriverExec *exec = gemem_driver_object (handle, KIND_EXEC); \
  if (exec == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such executable graph")

CUresult CUDAAPI
cuGraphExecDestroy (CUgraphExec handle)
{
  BEGIN (cuGraphExecDestroy, RETURNS);
  EXEC (handle);
  gemem_driver_object_remove (exec);
  gemem_driver_object_free (exec);
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
launch (DriverEntry entry, CUgraphExec handle, CUstream stream_handle)
{
  DriverStream *stream;

  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  EXEC (handle);
  if ((stream = gemem_driver_stream (stream_handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream");
  if (stream->capture != NULL)
    return gemem_driver_capture_add (stream,
                                     &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH });
  gemem_driver_forget_all ();
  gemem_replay_lost (0, 0);
  gemem_dry_graphs++;
  for (guint i = 0; entry != ENTRY_cuGraphUpload && i < exec->host->len; i++)
    gemem_driver_call_later (g_array_index (exec->host, DriverCallback, i));
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
  return launch (ENTRY_cuGraphLaunch_ptsz, exec, gemem_driver_per_thread (stream));
}

CUresult CUDAAPI
cuGraphUpload (CUgraphExec exec, CUstream stream)
{
  return launch (ENTRY_cuGraphUpload, exec, stream);
}
