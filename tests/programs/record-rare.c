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

/* ---- work: each call is told its own stream, and that its other arguments are those of
 * record-rare-calls.c */

#define WORK(type, name, parameters, is_right) \
  type name parameters \
  { \
    return (type) ((is_right) && stream != NULL ? 0 : 1); \
  }

WORK (CUresult CUDAAPI, cuLaunchKernel,
      (CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra),
      gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7
          && parameters == (void **) 8 && extra == (void **) 9)
WORK (CUresult CUDAAPI, cuLaunchKernel_ptsz,
      (CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra),
      gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7
          && parameters == (void **) 8 && extra == (void **) 9)
WORK (CUresult CUDAAPI, cuLaunchCooperativeKernel,
      (CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared, CUstream stream, void **parameters),
      gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7
          && parameters == (void **) 8)
WORK (CUresult CUDAAPI, cuLaunchCooperativeKernel_ptsz,
      (CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared, CUstream stream, void **parameters),
      gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7
          && parameters == (void **) 8)
WORK (CUresult CUDAAPI, cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
      function == (CUhostFn) 2 && data == (void *) 3)
WORK (CUresult CUDAAPI, cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn function, void *data),
      function == (CUhostFn) 2 && data == (void *) 3)
WORK (CUresult CUDAAPI, cuStreamAddCallback,
      (CUstream stream, CUstreamCallback function, void *data, unsigned flags),
      function == (CUstreamCallback) 2 && data == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamAddCallback_ptsz,
      (CUstream stream, CUstreamCallback function, void *data, unsigned flags),
      function == (CUstreamCallback) 2 && data == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuGraphLaunch, (CUgraphExec graph, CUstream stream),
      graph == (CUgraphExec) 1)
WORK (CUresult CUDAAPI, cuGraphLaunch_ptsz, (CUgraphExec graph, CUstream stream),
      graph == (CUgraphExec) 1)
WORK (CUresult CUDAAPI, cuStreamWaitValue32_v2,
      (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
      address == 2 && value == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWaitValue64_v2,
      (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
      address == 2 && value == (cuuint64_t) 3 << 40 && flags == 4)
WORK (CUresult CUDAAPI, cuMemcpyAsync,
      (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      to == 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyAsync_ptsz,
      (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      to == 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyHtoDAsync_v2,
      (CUdeviceptr to, const void *from, size_t size, CUstream stream),
      to == 1 && from == (void *) 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyHtoDAsync_v2_ptsz,
      (CUdeviceptr to, const void *from, size_t size, CUstream stream),
      to == 1 && from == (void *) 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyDtoHAsync_v2,
      (void *to, CUdeviceptr from, size_t size, CUstream stream),
      to == (void *) 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyDtoHAsync_v2_ptsz,
      (void *to, CUdeviceptr from, size_t size, CUstream stream),
      to == (void *) 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyDtoDAsync_v2,
      (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      to == 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyDtoDAsync_v2_ptsz,
      (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      to == 1 && from == 2 && size == 3)
WORK (CUresult CUDAAPI, cuMemcpyPeerAsync,
      (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size,
       CUstream stream),
      to == 1 && there == (CUcontext) 2 && from == 3 && here == (CUcontext) 4 && size == 5)
WORK (CUresult CUDAAPI, cuMemcpyPeerAsync_ptsz,
      (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size,
       CUstream stream),
      to == 1 && there == (CUcontext) 2 && from == 3 && here == (CUcontext) 4 && size == 5)
WORK (CUresult CUDAAPI, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *what, CUstream stream),
      what == (CUDA_MEMCPY2D *) 1)
WORK (CUresult CUDAAPI, cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D *what, CUstream stream),
      what == (CUDA_MEMCPY2D *) 1)
WORK (CUresult CUDAAPI, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *what, CUstream stream),
      what == (CUDA_MEMCPY3D *) 1)
WORK (CUresult CUDAAPI, cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D *what, CUstream stream),
      what == (CUDA_MEMCPY3D *) 1)
WORK (CUresult CUDAAPI, cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *what, CUstream stream),
      what == (CUDA_MEMCPY3D_PEER *) 1)
WORK (CUresult CUDAAPI, cuMemcpy3DPeerAsync_ptsz, (const CUDA_MEMCPY3D_PEER *what, CUstream stream),
      what == (CUDA_MEMCPY3D_PEER *) 1)
WORK (CUresult CUDAAPI, cuMemsetD8Async,
      (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD8Async_ptsz,
      (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD2D8Async,
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
       CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (CUresult CUDAAPI, cuMemsetD2D8Async_ptsz,
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
       CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (CUresult CUDAAPI, cuMemsetD16Async,
      (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD16Async_ptsz,
      (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD2D16Async,
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
       CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (CUresult CUDAAPI, cuMemsetD2D16Async_ptsz,
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
       CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (CUresult CUDAAPI, cuMemsetD32Async,
      (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD32Async_ptsz,
      (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
      to == 1 && value == 250 && count == 3)
WORK (CUresult CUDAAPI, cuMemsetD2D32Async,
      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (CUresult CUDAAPI, cuMemsetD2D32Async_ptsz,
      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),
      to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
WORK (cudaError_t CUDARTAPI, cudaLaunchKernel,
      (const void *function, dim3 grid, dim3 block, void **parameters, size_t shared,
       cudaStream_t stream),
      function == (void *) 1 && grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5
          && block.y == 6 && block.z == 7 && parameters == (void **) 8 && shared == 9)
WORK (cudaError_t CUDARTAPI, cudaLaunchCooperativeKernel,
      (const void *function, dim3 grid, dim3 block, void **parameters, size_t shared,
       cudaStream_t stream),
      function == (void *) 1 && grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5
          && block.y == 6 && block.z == 7 && parameters == (void **) 8 && shared == 9)
WORK (cudaError_t CUDARTAPI, cudaLaunchHostFunc,
      (cudaStream_t stream, cudaHostFn_t function, void *data),
      function == (cudaHostFn_t) 2 && data == (void *) 3)
WORK (cudaError_t CUDARTAPI, cudaStreamAddCallback,
      (cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned flags),
      function == (cudaStreamCallback_t) 2 && data == (void *) 3 && flags == 4)
WORK (cudaError_t CUDARTAPI, cudaGraphLaunch, (cudaGraphExec_t graph, cudaStream_t stream),
      graph == (cudaGraphExec_t) 1)
WORK (cudaError_t CUDARTAPI, cudaMemcpyAsync,
      (void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream),
      to == (void *) 1 && from == (void *) 2 && size == 3 && kind == cudaMemcpyDefault)
WORK (cudaError_t CUDARTAPI, cudaMemcpyPeerAsync,
      (void *to, int there, const void *from, int here, size_t size, cudaStream_t stream),
      to == (void *) 1 && there == 2 && from == (void *) 3 && here == 4 && size == 5)
WORK (cudaError_t CUDARTAPI, cudaMemcpy2DAsync,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       enum cudaMemcpyKind kind, cudaStream_t stream),
      to == (void *) 1 && to_pitch == 2 && from == (void *) 3 && from_pitch == 4 && width == 5
          && height == 6 && kind == cudaMemcpyDefault)
WORK (cudaError_t CUDARTAPI, cudaMemcpy3DAsync,
      (const struct cudaMemcpy3DParms *what, cudaStream_t stream),
      what == (struct cudaMemcpy3DParms *) 1)
WORK (cudaError_t CUDARTAPI, cudaMemcpy3DPeerAsync,
      (const struct cudaMemcpy3DPeerParms *what, cudaStream_t stream),
      what == (struct cudaMemcpy3DPeerParms *) 1)
WORK (cudaError_t CUDARTAPI, cudaMemsetAsync,
      (void *to, int value, size_t count, cudaStream_t stream),
      to == (void *) 1 && value == -2 && count == 3)
WORK (cudaError_t CUDARTAPI, cudaMemset2DAsync,
      (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
      to == (void *) 1 && pitch == 2 && value == -3 && width == 4 && height == 5)

WORK (CUresult CUDAAPI, cuStreamWriteValue32,
      (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
      address == 2 && value == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue32_ptsz,
      (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
      address == 2 && value == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue32_v2,
      (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
      address == 2 && value == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue32_v2_ptsz,
      (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags),
      address == 2 && value == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue64,
      (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
      address == 2 && value == (cuuint64_t) 3 << 40 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue64_ptsz,
      (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
      address == 2 && value == (cuuint64_t) 3 << 40 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue64_v2,
      (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
      address == 2 && value == (cuuint64_t) 3 << 40 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamWriteValue64_v2_ptsz,
      (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags),
      address == 2 && value == (cuuint64_t) 3 << 40 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamBatchMemOp,
      (CUstream stream, unsigned count, CUstreamBatchMemOpParams *what, unsigned flags),
      count == 2 && what == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamBatchMemOp_ptsz,
      (CUstream stream, unsigned count, CUstreamBatchMemOpParams *what, unsigned flags),
      count == 2 && what == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamBatchMemOp_v2,
      (CUstream stream, unsigned count, CUstreamBatchMemOpParams *what, unsigned flags),
      count == 2 && what == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamBatchMemOp_v2_ptsz,
      (CUstream stream, unsigned count, CUstreamBatchMemOpParams *what, unsigned flags),
      count == 2 && what == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamAttachMemAsync,
      (CUstream stream, CUdeviceptr address, size_t size, unsigned flags),
      address == 2 && size == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuStreamAttachMemAsync_ptsz,
      (CUstream stream, CUdeviceptr address, size_t size, unsigned flags),
      address == 2 && size == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuSignalExternalSemaphoresAsync,
      (const CUexternalSemaphore *which, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *what,
       unsigned count, CUstream stream),
      which == (void *) 1 && what == (void *) 2 && count == 3)
WORK (CUresult CUDAAPI, cuSignalExternalSemaphoresAsync_ptsz,
      (const CUexternalSemaphore *which, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *what,
       unsigned count, CUstream stream),
      which == (void *) 1 && what == (void *) 2 && count == 3)
WORK (CUresult CUDAAPI, cuWaitExternalSemaphoresAsync,
      (const CUexternalSemaphore *which, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *what,
       unsigned count, CUstream stream),
      which == (void *) 1 && what == (void *) 2 && count == 3)
WORK (CUresult CUDAAPI, cuWaitExternalSemaphoresAsync_ptsz,
      (const CUexternalSemaphore *which, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *what,
       unsigned count, CUstream stream),
      which == (void *) 1 && what == (void *) 2 && count == 3)
WORK (CUresult CUDAAPI, cuGraphUpload, (CUgraphExec graph, CUstream stream),
      graph == (CUgraphExec) 1)
WORK (CUresult CUDAAPI, cuGraphUpload_ptsz, (CUgraphExec graph, CUstream stream),
      graph == (CUgraphExec) 1)
WORK (CUresult CUDAAPI, cuMemPrefetchAsync,
      (CUdeviceptr address, size_t size, CUdevice device, CUstream stream),
      address == 1 && size == 2 && device == -1)
WORK (CUresult CUDAAPI, cuMemPrefetchAsync_ptsz,
      (CUdeviceptr address, size_t size, CUdevice device, CUstream stream),
      address == 1 && size == 2 && device == -1)
WORK (CUresult CUDAAPI, cuMemPrefetchAsync_v2,
      (CUdeviceptr address, size_t size, CUmemLocation place, unsigned flags, CUstream stream),
      address == 1 && size == 2 && place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && place.id == 3
          && flags == 4)
WORK (CUresult CUDAAPI, cuMemPrefetchAsync_v2_ptsz,
      (CUdeviceptr address, size_t size, CUmemLocation place, unsigned flags, CUstream stream),
      address == 1 && size == 2 && place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && place.id == 3
          && flags == 4)
WORK (CUresult CUDAAPI, cuMemcpyAtoHAsync_v2,
      (void *to, CUarray from, size_t offset, size_t size, CUstream stream),
      to == (void *) 1 && from == (CUarray) 2 && offset == 3 && size == 4)
WORK (CUresult CUDAAPI, cuMemcpyAtoHAsync_v2_ptsz,
      (void *to, CUarray from, size_t offset, size_t size, CUstream stream),
      to == (void *) 1 && from == (CUarray) 2 && offset == 3 && size == 4)
WORK (CUresult CUDAAPI, cuMemcpyHtoAAsync_v2,
      (CUarray to, size_t offset, const void *from, size_t size, CUstream stream),
      to == (CUarray) 1 && offset == 2 && from == (void *) 3 && size == 4)
WORK (CUresult CUDAAPI, cuMemcpyHtoAAsync_v2_ptsz,
      (CUarray to, size_t offset, const void *from, size_t size, CUstream stream),
      to == (CUarray) 1 && offset == 2 && from == (void *) 3 && size == 4)
#if CUDA_VERSION >= 13000
WORK (CUresult CUDAAPI, cuMemPrefetchBatchAsync,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *places, size_t *indices,
       size_t n, unsigned long long flags, CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && places == (void *) 4
          && indices == (void *) 5 && n == 6 && flags == 7)
WORK (CUresult CUDAAPI, cuMemPrefetchBatchAsync_ptsz,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *places, size_t *indices,
       size_t n, unsigned long long flags, CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && places == (void *) 4
          && indices == (void *) 5 && n == 6 && flags == 7)
WORK (CUresult CUDAAPI, cuMemDiscardBatchAsync,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags,
       CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuMemDiscardBatchAsync_ptsz,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, unsigned long long flags,
       CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && flags == 4)
WORK (CUresult CUDAAPI, cuMemDiscardAndPrefetchBatchAsync,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *places, size_t *indices,
       size_t n, unsigned long long flags, CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && places == (void *) 4
          && indices == (void *) 5 && n == 6 && flags == 7)
WORK (CUresult CUDAAPI, cuMemDiscardAndPrefetchBatchAsync_ptsz,
      (CUdeviceptr * addresses, size_t *sizes, size_t count, CUmemLocation *places, size_t *indices,
       size_t n, unsigned long long flags, CUstream stream),
      addresses == (void *) 1 && sizes == (void *) 2 && count == 3 && places == (void *) 4
          && indices == (void *) 5 && n == 6 && flags == 7)
WORK (CUresult CUDAAPI, cuMemBatchDecompressAsync,
      (CUmemDecompressParams * what, size_t count, unsigned flags, size_t *wrong, CUstream stream),
      what == (void *) 1 && count == 2 && flags == 3 && wrong == (void *) 4)
WORK (CUresult CUDAAPI, cuMemBatchDecompressAsync_ptsz,
      (CUmemDecompressParams * what, size_t count, unsigned flags, size_t *wrong, CUstream stream),
      what == (void *) 1 && count == 2 && flags == 3 && wrong == (void *) 4)
WORK (CUresult CUDAAPI, cuMemcpyBatchAsync,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *how,
       size_t *indices, size_t n, size_t *wrong, CUstream stream),
      to == (void *) 1 && from == (void *) 2 && sizes == (void *) 3 && count == 4
          && how == (void *) 5 && indices == (void *) 6 && n == 7 && wrong == (void *) 8)
WORK (CUresult CUDAAPI, cuMemcpyBatchAsync_ptsz,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *how,
       size_t *indices, size_t n, size_t *wrong, CUstream stream),
      to == (void *) 1 && from == (void *) 2 && sizes == (void *) 3 && count == 4
          && how == (void *) 5 && indices == (void *) 6 && n == 7 && wrong == (void *) 8)
WORK (CUresult CUDAAPI, cuMemcpyBatchAsync_v2,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *how,
       size_t *indices, size_t n, CUstream stream),
      to == (void *) 1 && from == (void *) 2 && sizes == (void *) 3 && count == 4
          && how == (void *) 5 && indices == (void *) 6 && n == 7)
WORK (CUresult CUDAAPI, cuMemcpyBatchAsync_v2_ptsz,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *how,
       size_t *indices, size_t n, CUstream stream),
      to == (void *) 1 && from == (void *) 2 && sizes == (void *) 3 && count == 4
          && how == (void *) 5 && indices == (void *) 6 && n == 7)
WORK (CUresult CUDAAPI, cuMemcpy3DBatchAsync,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *what, size_t *wrong, unsigned long long flags,
       CUstream stream),
      count == 1 && what == (void *) 2 && wrong == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuMemcpy3DBatchAsync_ptsz,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *what, size_t *wrong, unsigned long long flags,
       CUstream stream),
      count == 1 && what == (void *) 2 && wrong == (void *) 3 && flags == 4)
WORK (CUresult CUDAAPI, cuMemcpy3DBatchAsync_v2,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *what, unsigned long long flags, CUstream stream),
      count == 1 && what == (void *) 2 && flags == 3)
WORK (CUresult CUDAAPI, cuMemcpy3DBatchAsync_v2_ptsz,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *what, unsigned long long flags, CUstream stream),
      count == 1 && what == (void *) 2 && flags == 3)
#endif

#define NOW(name, parameters, is_right) \
  CUresult CUDAAPI name parameters \
  { \
    return (is_right) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; \
  }

NOW (cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t size),
     to == 1 && from == 2 && size == 3)
NOW (cuMemcpyDtoD_v2_ptds, (CUdeviceptr to, CUdeviceptr from, size_t size),
     to == 1 && from == 2 && size == 3)
NOW (cuMemcpyPeer, (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size),
     to == 1 && there == (CUcontext) 2 && from == 3 && here == (CUcontext) 4 && size == 5)
NOW (cuMemcpyPeer_ptds,
     (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t size),
     to == 1 && there == (CUcontext) 2 && from == 3 && here == (CUcontext) 4 && size == 5)
NOW (cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD8_v2_ptds, (CUdeviceptr to, unsigned char value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD2D8_v2,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
NOW (cuMemsetD2D8_v2_ptds,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
NOW (cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD16_v2_ptds, (CUdeviceptr to, unsigned short value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD2D16_v2,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
NOW (cuMemsetD2D16_v2_ptds,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
NOW (cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD32_v2_ptds, (CUdeviceptr to, unsigned value, size_t count),
     to == 1 && value == 250 && count == 3)
NOW (cuMemsetD2D32_v2, (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)
NOW (cuMemsetD2D32_v2_ptds,
     (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),
     to == 1 && pitch == 2 && value == 250 && width == 4 && height == 5)

CUresult CUDAAPI
cuLaunchKernelEx (const CUlaunchConfig *launch, CUfunction kernel, void **parameters, void **extra)
{
  return launch->hStream != NULL && kernel == (CUfunction) 1 && parameters == (void **) 2
                 && extra == (void **) 3
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuMemcpyDtoH_v2 (void *to, CUdeviceptr from, size_t size)
{
  return to == (void *) 1 && from == 2 && size == 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuMemcpyDtoH_v2_ptds (void *to, CUdeviceptr from, size_t size)
{
  return cuMemcpyDtoH_v2 (to, from, size);
}

cudaError_t CUDARTAPI
cudaLaunchKernelExC (const cudaLaunchConfig_t *launch, const void *function, void **parameters)
{
  return launch->stream != NULL && function == (void *) 1 && parameters == (void **) 2
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

cudaError_t CUDARTAPI
cudaMemcpy (void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
  return to == (void *) 1 && from == (void *) 2 && size == 3 ? cudaSuccess : cudaErrorInvalidValue;
}
#endif
