/* record-rare.c - calls of CUDA that few programs make, each doing nothing, for
 * tests/cli/test-record.sh: a driver and a runtime as CUDA's headers declare them, so that what the
 * recorder assumes of them (record/abi.h) is tried, by-value structs too.
 *
 * Addresses and handles are 0x1000, 0x2000 ... in the order of the calls.  Sizes of 2^40 bytes and
 * more are refused.
 */
#include "config.h"

#define __CUDA_API_VERSION_INTERNAL          /* prototypes of all versions */
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT 1 /* and all of them exported */
#include <cuda.h>
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#if CUDA_VERSION >= 12030 /* has all of them */
static uintptr_t last;

#define NEXT(type) ((type) (last += 0x1000))

CUresult CUDAAPI
cuArrayCreate_v2 (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *what)
{
  if (what->Width >= (size_t) 1 << 40)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *array = NEXT (CUarray);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuArray3DCreate_v2 (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *what)
{
  *array = NEXT (CUarray);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMipmappedArrayCreate (CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *what,
                        unsigned levels)
{
  *array = NEXT (CUmipmappedArray);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuArrayDestroy (CUarray array)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMipmappedArrayDestroy (CUmipmappedArray array)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemMapArrayAsync (CUarrayMapInfo *list, unsigned count, CUstream stream)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddMemAllocNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                        CUDA_MEM_ALLOC_NODE_PARAMS *what)
{
  what->dptr = NEXT (CUdeviceptr);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddMemFreeNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                       CUdeviceptr address)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                CUgraphNodeParams *what)
{
  if (what->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    what->alloc.dptr = NEXT (CUdeviceptr);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuGraphAddNode_v2 (CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                   const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *what)
{
  return cuGraphAddNode (node, graph, before, count, what);
}

CUresult CUDAAPI
cuMemPoolImportPointer (CUdeviceptr *address, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
  *address = NEXT (CUdeviceptr);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *handle, void *from,
                                CUmemAllocationHandleType kind)
{
  *handle = NEXT (CUmemGenericAllocationHandle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemRelease (CUmemGenericAllocationHandle handle)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemFree_v2 (CUdeviceptr address)
{
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolCreate (CUmemoryPool *pool, const CUmemPoolProps *what)
{
  *pool = NEXT (CUmemoryPool);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemAllocFromPoolAsync (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)
{
  *address = NEXT (CUdeviceptr);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemAllocAsync (CUdeviceptr *address, size_t size, CUstream stream)
{
  *address = NEXT (CUdeviceptr);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult CUDAAPI
cuMemGetMemPool (CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType kind)
{
  *pool = NEXT (CUmemoryPool);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemSetMemPool (CUmemLocation *location, CUmemAllocationType kind, CUmemoryPool pool)
{
  return CUDA_SUCCESS;
}
#endif

cudaError_t CUDARTAPI
cudaMalloc3D (struct cudaPitchedPtr *place, struct cudaExtent extent)
{
  if (extent.depth >= (size_t) 1 << 30)
    return cudaErrorMemoryAllocation;
  *place = (struct cudaPitchedPtr){ NEXT (void *), (extent.width + 511) & ~(size_t) 511,
                                    extent.width, extent.height };
  return cudaSuccess;
}

cudaError_t CUDARTAPI
cudaHostRegister (void *address, size_t size, unsigned flags)
{
  return cudaSuccess;
}

cudaError_t CUDARTAPI
cudaHostUnregister (void *address)
{
  return cudaSuccess;
}
#endif
