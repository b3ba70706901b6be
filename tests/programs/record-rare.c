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
