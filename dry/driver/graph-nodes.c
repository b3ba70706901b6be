/* graph-nodes.c - nodes of the stand-in driver's graphs: their parameters, which programs give, take and ask for.
 *
 * A node keeps what it was added with, or what was captured, in the driver's own struct for a node of any kind (CUgraphNodeParams).
 * None of it is carried out, but for functions of the host (graphs.c). It matters all the same: libraries capture work to
 * look at it. The heuristics of cuDNN 9.28 capture plans on addresses that are none, and rate them by the blocks of their kernels.
 *
 * The struct that a function takes or gives is the beginning of the one that is kept: later versions only add members behind.
 *
 * Invariants: arguments of kernels, and child graphs, are the node's own. Not known are the parameters of nodes that stand for work
 * of libraries and for captured launches of graphs, and of kernels whose image does not say how large their arguments are:
 * questions about them fail, which the report says.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/driver.h"

/* ---- what a node keeps */

/* The arguments of a launch that has all of them in one buffer. */
typedef struct
{
  void *extra[5];
  size_t size;
  guint8 bytes[];
} Buffer;

static gpointer
keep_buffer (CUDA_KERNEL_NODE_PARAMS *kernel)
{
  gsize size;
  const guint8 *bytes = gemem_driver_parameter_buffer (kernel->extra, &size);
  Buffer *buffer;

  if (bytes == NULL)
    return NULL;
  buffer = g_malloc (sizeof *buffer + size);
  *buffer = (Buffer){ { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE,
                        &buffer->size, CU_LAUNCH_PARAM_END },
                      size };
  memcpy (buffer->bytes, bytes, size);
  kernel->extra = buffer->extra;
  return buffer;
}

#define ALIGNED(size) (((gsize) (size) + 15) / 16 * 16)

static gpointer
keep_arguments (CUDA_KERNEL_NODE_PARAMS *kernel, const GArray *sizes)
{
  const gsize array = ALIGNED (sizes->len * sizeof (void *));
  gsize bytes = array;
  void **kept;
  guint8 *place;

  for (guint i = 0; i < sizes->len; i++)
    bytes += ALIGNED (g_array_index (sizes, guint16, i));
  kept = g_malloc0 (MAX (bytes, 1));
  place = (guint8 *) kept + array;
  for (guint i = 0; i < sizes->len; i++)
    {
      const guint16 size = g_array_index (sizes, guint16, i);
      kept[i] = memcpy (place, kernel->kernelParams[i], size);
      place += ALIGNED (size);
    }
  kernel->kernelParams = kept;
  return kept;
}

/* Takes the arguments of the kernel of @node, which are the program's. */
static void
take_arguments (DriverNode *node)
{
  CUDA_KERNEL_NODE_PARAMS *kernel = &node->what.kernel;
  const DriverFunction *function = gemem_driver_object (
      kernel->func != NULL ? (gconstpointer) kernel->func : (gconstpointer) kernel->kern,
      KIND_FUNCTION);
  const GArray *sizes = function != NULL && function->needs != NULL ? function->needs->parameters
                                                                    : NULL;

  if (kernel->kernelParams != NULL && sizes != NULL)
    node->kept = keep_arguments (kernel, sizes);
  else if (kernel->kernelParams == NULL && kernel->extra != NULL)
    node->kept = keep_buffer (kernel);
  node->unknown = function == NULL
                  || ((kernel->kernelParams != NULL || kernel->extra != NULL)
                      && node->kept == NULL);
}

/* Gives @node the parameters @what, which may be those that it has. */
static void
set_parameters (DriverNode *node, const CUgraphNodeParams *what)
{
  gpointer before = node->kept;

  node->what = *what;
  node->kept = NULL;
  node->unknown = FALSE;
  if (what->type == CU_GRAPH_NODE_TYPE_KERNEL)
    take_arguments (node);
  g_free (before);
}

DriverNode *
gemem_driver_graph_add (DriverGraph *graph, const CUgraphNodeParams *what,
                        const CUgraphNode *dependencies, gsize n)
{
  DriverNode *node = gemem_driver_object_add (g_new0 (DriverNode, 1), KIND_NODE, NULL);
  const DriverGraph *child = NULL;

  set_parameters (node, what);
  if (what->type == CU_GRAPH_NODE_TYPE_GRAPH)
    {
      child = gemem_driver_object (what->graph.graph, KIND_GRAPH);
      node->unknown = child == NULL;
    }
  if (child != NULL)
    node->what.graph.graph = DRIVER_HANDLE (CUgraph, gemem_driver_graph_copy (child));
  node->n_dependencies = n;
  node->dependencies = g_memdup2 (dependencies, n * sizeof *dependencies);
  g_ptr_array_add (graph->nodes, node);
  return node;
}

void
gemem_driver_graph_add_work (DriverGraph *graph, const DriverWork *work,
                             const DriverContext *context)
{
  CUgraphNodeParams what = { .type = work->node };
  const CUcontext own = DRIVER_HANDLE (CUcontext, context);

  if (work->node == CU_GRAPH_NODE_TYPE_MEMSET)
    what.memset = (CUDA_MEMSET_NODE_PARAMS_v2){ .dst = work->to,
                                                .value = (guint) work->value,
                                                .elementSize = work->unit,
                                                .width = work->size / work->unit,
                                                .height = 1,
                                                .ctx = own };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEMCPY)
    what.memcpy = (CUDA_MEMCPY_NODE_PARAMS){
      .copyCtx = own,
      .copyParams = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                      .srcDevice = work->from,
                      .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                      .dstDevice = work->to,
                      .WidthInBytes = work->size,
                      .Height = 1,
                      .Depth = 1 },
    };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    what.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS){
      .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                     .location = { CU_MEM_LOCATION_TYPE_DEVICE,
                                   (int) (work->area->device - gemem_driver.devices) } },
      .bytesize = work->area->size,
      .dptr = work->area->node.address,
    };
  else if (work->node == CU_GRAPH_NODE_TYPE_MEM_FREE)
    what.free.dptr = work->area->node.address;
  gemem_driver_graph_add (graph, &what, NULL, 0);
}

void
gemem_driver_graph_free_node (gpointer data)
{
  DriverNode *node = data;
  DriverGraph *child = node->what.type == CU_GRAPH_NODE_TYPE_GRAPH
                           ? gemem_driver_object (node->what.graph.graph, KIND_GRAPH)
                           : NULL;

  if (child != NULL)
    {
      gemem_driver_object_remove (child);
      gemem_driver_object_free (child);
    }
  gemem_driver_object_remove (node);
  g_free (node->kept);
  g_free (node->dependencies);
  g_free (node);
}

/* ---- new nodes */

static CUresult
add (CUgraphNode *place, CUgraph handle, const CUgraphNode *dependencies, size_t n,
     const CUgraphNodeParams *what)
{
  PLACE (place);
  GRAPH (handle);
  *place = DRIVER_HANDLE (CUgraphNode, gemem_driver_graph_add (graph, what, dependencies, n));
  return CUDA_SUCCESS;
}

#define NEW_NODE CUgraphNode *place, CUgraph graph, const CUgraphNode *dependencies, size_t n

/* Each adds a node of a type whose parameters are member @member, with what is @given, if that is there. */
#define ADD(symbol, node_type, given, member, ...) \
  CUresult CUDAAPI symbol (NEW_NODE, ##__VA_ARGS__) \
  { \
    CUgraphNodeParams what = { .type = node_type }; \
    const void *from = given; \
    BEGIN (symbol, NEEDS_INIT); \
    PLACE (from); \
    memcpy (&what.member, from, sizeof *(given)); \
    return add (place, graph, dependencies, n, &what); \
  }

ADD (cuGraphAddKernelNode, CU_GRAPH_NODE_TYPE_KERNEL, params, kernel,
     const CUDA_KERNEL_NODE_PARAMS_v1 *params)
ADD (cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL, params, kernel,
     const CUDA_KERNEL_NODE_PARAMS *params)
ADD (cuGraphAddMemcpyNode, CU_GRAPH_NODE_TYPE_MEMCPY, params, memcpy.copyParams,
     const CUDA_MEMCPY3D *params, CUcontext context)
ADD (cuGraphAddMemsetNode, CU_GRAPH_NODE_TYPE_MEMSET, params, memset,
     const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
ADD (cuGraphAddHostNode, CU_GRAPH_NODE_TYPE_HOST, params, host, const CUDA_HOST_NODE_PARAMS *params)
ADD (cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &event, eventRecord, CUevent event)
ADD (cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &event, eventWait, CUevent event)

CUresult CUDAAPI
cuGraphAddEmptyNode (NEW_NODE)
{
  BEGIN (cuGraphAddEmptyNode, NEEDS_INIT);
  return add (place, graph, dependencies, n,
              &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EMPTY });
}

CUresult CUDAAPI
cuGraphAddChildGraphNode (NEW_NODE, CUgraph child)
{
  BEGIN (cuGraphAddChildGraphNode, NEEDS_INIT);
  if (gemem_driver_object (child, KIND_GRAPH) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such child graph");
  return add (
      place, graph, dependencies, n,
      &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = child } });
}

/* Gives the memory of a new node. */
static CUresult
add_memory (NEW_NODE, CUgraphNodeParams *what)
{
  CUDA_MEM_ALLOC_NODE_PARAMS *alloc = &what->alloc;
  DriverDevice *device = gemem_driver_device (alloc->poolProps.location.id);
  const DriverArea *area;

  if (gemem_driver_object (graph, KIND_GRAPH) == NULL || device == NULL || alloc->bytesize == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "no such graph, a location that is no device, or no bytes");
  if ((area = gemem_driver_pool_take (gemem_driver_graph_pool (device), alloc->bytesize)) == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  alloc->dptr = area->node.address;
  return add (place, graph, dependencies, n, what);
}

static CUresult
add_free (NEW_NODE, const CUgraphNodeParams *what)
{
  DriverArea *area = gemem_driver_area_start (what->free.dptr, KIND_POOLED);
  CUresult added;

  if (area == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation of a pool",
                                what->free.dptr);
  if ((added = add (place, graph, dependencies, n, what)) != CUDA_SUCCESS)
    return added;
  return gemem_driver_pool_free (area, NULL, FALSE);
}

/* A node of any type. */
static CUresult
add_any (NEW_NODE, CUgraphNodeParams *what)
{
  if (!gemem_driver.dry)
    return CUDA_ERROR_NOT_SUPPORTED;
  PLACE (place);
  PLACE (what);
  return what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
             ? add_memory (place, graph, dependencies, n, what)
         : what->type == CU_GRAPH_NODE_TYPE_MEM_FREE
             ? add_free (place, graph, dependencies, n, what)
             : add (place, graph, dependencies, n, what);
}

CUresult CUDAAPI
cuGraphAddMemAllocNode (NEW_NODE, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
  CUgraphNodeParams what = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
  CUresult result;

  BEGIN (cuGraphAddMemAllocNode, NEEDS_INIT);
  PLACE (params);
  what.alloc = *params;
  result = add_any (place, graph, dependencies, n, &what);
  params->dptr = what.alloc.dptr;
  return result;
}

CUresult CUDAAPI
cuGraphAddMemFreeNode (NEW_NODE, CUdeviceptr address)
{
  BEGIN (cuGraphAddMemFreeNode, NEEDS_INIT);
  return add_any (place, graph, dependencies, n,
                  &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { address } });
}

CUresult CUDAAPI
cuGraphAddNode (NEW_NODE, CUgraphNodeParams *what)
{
  BEGIN (cuGraphAddNode, NEEDS_INIT);
  return add_any (place, graph, dependencies, n, what);
}

CUresult CUDAAPI
cuGraphAddNode_v2 (CUgraphNode *place, CUgraph graph, const CUgraphNode *dependencies,
                   const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *what)
{
  BEGIN (cuGraphAddNode_v2, NEEDS_INIT);
  return add_any (place, graph, dependencies, n, what);
}

/* ---- questions and changes */

CUresult CUDAAPI
cuGraphNodeGetType (CUgraphNode handle, CUgraphNodeType *type)
{
  BEGIN (cuGraphNodeGetType, NEEDS_INIT);
  const DriverNode *node = gemem_driver_object (handle, KIND_NODE);
  PLACE (type);
  if (node == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such node");
  *type = node->what.type;
  return CUDA_SUCCESS;
}

#define NODE(handle, node_type) \
  DriverNode *node = gemem_driver_object (handle, KIND_NODE); \
  if (node == NULL || node->what.type != (node_type)) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such node, or of another type")

#define GET(symbol, node_type, member, result) \
  CUresult CUDAAPI symbol (CUgraphNode handle, result *place) \
  { \
    BEGIN (symbol, NEEDS_INIT); \
    PLACE (place); \
    NODE (handle, node_type); \
    if (node->unknown) \
      return gemem_driver_misuse (CUDA_ERROR_NOT_SUPPORTED, "parameters that are not known"); \
    memcpy (place, &node->what.member, sizeof *place); \
    return CUDA_SUCCESS; \
  }

#define SET(symbol, node_type, member, type, given) \
  CUresult CUDAAPI symbol (CUgraphNode handle, type params) \
  { \
    CUgraphNodeParams what; \
    const void *from = given; \
    BEGIN (symbol, NEEDS_INIT); \
    PLACE (from); \
    NODE (handle, node_type); \
    what = node->what; \
    memcpy (&what.member, from, sizeof *(given)); \
    set_parameters (node, &what); \
    return CUDA_SUCCESS; \
  }

/* The parameters of version 1 name a function, and no kernel. */
GET (cuGraphKernelNodeGetParams, CU_GRAPH_NODE_TYPE_KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS_v1)
GET (cuGraphKernelNodeGetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS)
GET (cuGraphMemcpyNodeGetParams, CU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams, CUDA_MEMCPY3D)
GET (cuGraphMemsetNodeGetParams, CU_GRAPH_NODE_TYPE_MEMSET, memset, CUDA_MEMSET_NODE_PARAMS)
GET (cuGraphHostNodeGetParams, CU_GRAPH_NODE_TYPE_HOST, host, CUDA_HOST_NODE_PARAMS)
GET (cuGraphChildGraphNodeGetGraph, CU_GRAPH_NODE_TYPE_GRAPH, graph.graph, CUgraph)
GET (cuGraphEventRecordNodeGetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, eventRecord, CUevent)
GET (cuGraphEventWaitNodeGetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, eventWait, CUevent)
GET (cuGraphMemAllocNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_ALLOC, alloc, CUDA_MEM_ALLOC_NODE_PARAMS)
GET (cuGraphMemFreeNodeGetParams, CU_GRAPH_NODE_TYPE_MEM_FREE, free, CUdeviceptr)

SET (cuGraphKernelNodeSetParams, CU_GRAPH_NODE_TYPE_KERNEL, kernel,
     const CUDA_KERNEL_NODE_PARAMS_v1 *, params)
SET (cuGraphKernelNodeSetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL, kernel,
     const CUDA_KERNEL_NODE_PARAMS *, params)
SET (cuGraphMemcpyNodeSetParams, CU_GRAPH_NODE_TYPE_MEMCPY, memcpy.copyParams,
     const CUDA_MEMCPY3D *, params)
SET (cuGraphMemsetNodeSetParams, CU_GRAPH_NODE_TYPE_MEMSET, memset, const CUDA_MEMSET_NODE_PARAMS *,
     params)
SET (cuGraphHostNodeSetParams, CU_GRAPH_NODE_TYPE_HOST, host, const CUDA_HOST_NODE_PARAMS *, params)
SET (cuGraphEventRecordNodeSetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, eventRecord, CUevent, &params)
SET (cuGraphEventWaitNodeSetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, eventWait, CUevent, &params)
