/* graph-nodes.c - the functions of nodes of graphs: programs add them, ask for their parameters and set them (graph-model.c).
 *
 * The struct that a function takes or gives is the beginning of the one that is kept: later versions only add members behind.
 * Questions about parameters that are not known fail, which the report says.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/calls.h"
#include "dry/driver/graphs.h"
#include "dry/driver/mode.h"
#include "dry/driver/pools.h"

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
  LENIENT_ONLY ();
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
    gemem_driver_graph_set (node, &what); \
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
