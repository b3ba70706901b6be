/* graphs.c - graphs, and libraries of kernels, of the CUDA runtime of dry runs: the driver's,
 * by other names.
 *
 * Parameters of fills, functions of the host and memory are the driver's own; those of kernels
 * and copies are translated. Where 13 has one argument more than 12, the data of edges, a
 * definition takes as many as 13's and the version in force decides what they are: all of them
 * travel in registers.
 */
#include "config.h"

#include "dry/runtime/runtime.h"

/* ---- graphs */

#define NEW_NODE CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n_after

static int
add_kernel (NEW_NODE, const RuntimeKernelNode *what)
{
  CUfunction function = NULL;
  int result;

  if (what == NULL)
    return RUNTIME_INVALID_VALUE;
  result = gemem_runtime_function (what->function, &function);
  return result != RUNTIME_SUCCESS
             ? result
             : (int) cuGraphAddKernelNode (
                 node, graph, after, n_after,
                 &(CUDA_KERNEL_NODE_PARAMS_v1){ function, what->grid.x, what->grid.y, what->grid.z,
                                                what->block.x, what->block.y, what->block.z,
                                                what->shared, what->parameters, what->extra });
}

static int
add_copy (NEW_NODE, const RuntimeCopy3D *what)
{
  if (what == NULL)
    return RUNTIME_INVALID_VALUE;
  if (what->to_array != NULL || what->from_array != NULL)
    return RUNTIME_NOT_SUPPORTED;
  return (int) cuGraphAddMemcpyNode (node, graph, after, n_after,
                                     &(CUDA_MEMCPY3D){ .srcXInBytes = what->from_position.x,
                                                       .srcY = what->from_position.y,
                                                       .srcZ = what->from_position.z,
                                                       .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                                       .srcDevice = (guintptr) what->from.address,
                                                       .srcPitch = what->from.pitch,
                                                       .srcHeight = what->from.height,
                                                       .dstXInBytes = what->to_position.x,
                                                       .dstY = what->to_position.y,
                                                       .dstZ = what->to_position.z,
                                                       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                                       .dstDevice = (guintptr) what->to.address,
                                                       .dstPitch = what->to.pitch,
                                                       .dstHeight = what->to.height,
                                                       .WidthInBytes = what->extent.width,
                                                       .Height = what->extent.height,
                                                       .Depth = what->extent.depth },
                                     NULL);
}

RUNTIME_CALL (cudaGraphCreate, (CUgraph * graph, unsigned flags), cuGraphCreate (graph, flags))
RUNTIME_CALL (cudaGraphClone, (CUgraph * clone, CUgraph graph), cuGraphClone (clone, graph))
RUNTIME_CALL (cudaGraphDestroy, (CUgraph graph), cuGraphDestroy (graph))
RUNTIME_CALL (cudaGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
              cuGraphGetNodes (graph, nodes, count))
RUNTIME_CALL (cudaGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
              cuGraphGetRootNodes (graph, nodes, count))
RUNTIME_CALL (cudaGraphNodeGetType, (CUgraphNode node, unsigned *type),
              cuGraphNodeGetType (node, type))
RUNTIME_CALL (cudaGraphAddEmptyNode, (NEW_NODE), cuGraphAddEmptyNode (node, graph, after, n_after))
RUNTIME_CALL (cudaGraphAddChildGraphNode, (NEW_NODE, CUgraph child),
              cuGraphAddChildGraphNode (node, graph, after, n_after, child))
RUNTIME_CALL (cudaGraphAddEventRecordNode, (NEW_NODE, CUevent event),
              cuGraphAddEventRecordNode (node, graph, after, n_after, event))
RUNTIME_CALL (cudaGraphAddEventWaitNode, (NEW_NODE, CUevent event),
              cuGraphAddEventWaitNode (node, graph, after, n_after, event))
RUNTIME_CALL (cudaGraphAddHostNode, (NEW_NODE, const CUDA_HOST_NODE_PARAMS *what),
              cuGraphAddHostNode (node, graph, after, n_after, what))
RUNTIME_CALL (cudaGraphAddKernelNode, (NEW_NODE, const RuntimeKernelNode *what),
              add_kernel (node, graph, after, n_after, what))
RUNTIME_CALL (cudaGraphAddMemsetNode, (NEW_NODE, const CUDA_MEMSET_NODE_PARAMS *what),
              cuGraphAddMemsetNode (node, graph, after, n_after, what, NULL))
RUNTIME_CALL (cudaGraphAddMemcpyNode, (NEW_NODE, const RuntimeCopy3D *what),
              add_copy (node, graph, after, n_after, what))
RUNTIME_CALL (cudaGraphAddMemcpyNode1D,
              (NEW_NODE, void *to, const void *from, size_t size, int kind),
              add_copy (node, graph, after, n_after,
                        &(RuntimeCopy3D){ .from = { (void *) (guintptr) from },
                                          .to = { to },
                                          .extent = { size, 1, 1 },
                                          .kind = kind }))
RUNTIME_CALL (cudaGraphAddMemAllocNode, (NEW_NODE, CUDA_MEM_ALLOC_NODE_PARAMS *what),
              cuGraphAddMemAllocNode (node, graph, after, n_after, what))
RUNTIME_CALL (cudaGraphAddMemFreeNode, (NEW_NODE, void *memory),
              cuGraphAddMemFreeNode (node, graph, after, n_after, (guintptr) memory))

/* In 12 the fourth argument is the number of dependencies and the fifth the parameters. */
static int
add_node (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, guintptr fourth,
          guintptr fifth, CUgraphNodeParams *sixth, gboolean of_12)
{
  return of_12 ? (int) cuGraphAddNode (node, graph, after, fourth, (CUgraphNodeParams *) fifth)
               : (int) cuGraphAddNode_v2 (node, graph, after, (const CUgraphEdgeData *) fourth,
                                          fifth, sixth);
}

RUNTIME_CALL (cudaGraphAddNode,
              (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, guintptr fourth,
               guintptr fifth, CUgraphNodeParams *sixth),
              add_node (node, graph, after, fourth, fifth, sixth, gemem_runtime_version () < 13000))
RUNTIME_CALL (cudaGraphAddNode_v2,
              (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, guintptr fourth,
               guintptr fifth, CUgraphNodeParams *sixth),
              add_node (node, graph, after, fourth, fifth, sixth, FALSE))

/* ---- executable graphs */

#define NEW_EXECUTABLE CUgraphExec *executable, CUgraph graph, unsigned long long flags

/* 11 has no flags there, but a place for a node. */
RUNTIME_CALL (cudaGraphInstantiate, (NEW_EXECUTABLE),
              cuGraphInstantiateWithFlags (executable, graph,
                                           gemem_runtime_version () < 12000 ? 0 : flags))
RUNTIME_CALL (cudaGraphInstantiateWithFlags, (NEW_EXECUTABLE),
              cuGraphInstantiateWithFlags (executable, graph, flags))
RUNTIME_CALL (cudaGraphInstantiateWithParams,
              (CUgraphExec * executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how),
              cuGraphInstantiateWithParams (executable, graph, how))
RUNTIME_CALL (cudaGraphInstantiateWithParams_ptsz,
              (CUgraphExec * executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *how),
              cuGraphInstantiateWithParams_ptsz (executable, graph, how))
RUNTIME_STREAM_CALL (cudaGraphLaunch, (CUgraphExec executable, CUstream stream),
                     cuGraphLaunch (executable, stream))
RUNTIME_STREAM_CALL (cudaGraphUpload, (CUgraphExec executable, CUstream stream),
                     cuGraphUpload (executable, stream))
RUNTIME_CALL (cudaGraphExecDestroy, (CUgraphExec executable), cuGraphExecDestroy (executable))
RUNTIME_CALL (cudaGraphExecGetFlags, (CUgraphExec executable, cuuint64_t *flags),
              cuGraphExecGetFlags (executable, flags))
RUNTIME_CALL (cudaGraphExecUpdate,
              (CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo *info),
              cuGraphExecUpdate_v2 (executable, graph, info))

/* ---- what graphs keep, and their memory */

RUNTIME_CALL (cudaUserObjectCreate,
              (CUuserObject * object, void *data, CUhostFn destroy, unsigned references,
               unsigned flags),
              cuUserObjectCreate (object, data, destroy, references, flags))
RUNTIME_CALL (cudaUserObjectRetain, (CUuserObject object, unsigned count),
              cuUserObjectRetain (object, count))
RUNTIME_CALL (cudaUserObjectRelease, (CUuserObject object, unsigned count),
              cuUserObjectRelease (object, count))
RUNTIME_CALL (cudaGraphRetainUserObject,
              (CUgraph graph, CUuserObject object, unsigned count, unsigned flags),
              cuGraphRetainUserObject (graph, object, count, flags))
RUNTIME_CALL (cudaGraphReleaseUserObject, (CUgraph graph, CUuserObject object, unsigned count),
              cuGraphReleaseUserObject (graph, object, count))
RUNTIME_CALL (cudaDeviceGetGraphMemAttribute, (int device, unsigned attribute, void *value),
              cuDeviceGetGraphMemAttribute (device, attribute, value))
RUNTIME_CALL (cudaDeviceSetGraphMemAttribute, (int device, unsigned attribute, void *value),
              cuDeviceSetGraphMemAttribute (device, attribute, value))
RUNTIME_CALL (cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim (device))

/* ---- libraries of kernels */

RUNTIME_CALL (cudaLibraryLoadData,
              (CUlibrary * library, const void *image, CUjit_option *options, void **values,
               unsigned count, CUlibraryOption *more, void **more_values, unsigned more_count),
              cuLibraryLoadData (library, image, options, values, count, more, more_values,
                                 more_count))
RUNTIME_CALL (cudaLibraryLoadFromFile,
              (CUlibrary * library, const char *path, CUjit_option *options, void **values,
               unsigned count, CUlibraryOption *more, void **more_values, unsigned more_count),
              cuLibraryLoadFromFile (library, path, options, values, count, more, more_values,
                                     more_count))
RUNTIME_CALL (cudaLibraryUnload, (CUlibrary library), cuLibraryUnload (library))
RUNTIME_CALL (cudaLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
              cuLibraryGetKernel (kernel, library, name))

static int
find_global (void **place, size_t *size, CUlibrary library, const char *name)
{
  CUdeviceptr address = 0;
  size_t bytes;
  int result = (int) cuLibraryGetGlobal (&address, &bytes, library, name);

  if (result == RUNTIME_SUCCESS && place != NULL)
    *place = (void *) (guintptr) address;
  if (result == RUNTIME_SUCCESS && size != NULL)
    *size = bytes;
  return result;
}

RUNTIME_CALL (cudaLibraryGetGlobal,
              (void **place, size_t *size, CUlibrary library, const char *name),
              find_global (place, size, library, name))
