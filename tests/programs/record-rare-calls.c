/* record-rare-calls.c - a plugin for record-host that makes the calls of record-rare.c;
 * tests/cli/test-record.sh has what must be recorded. */
#include "config.h"

#define __CUDA_API_VERSION_INTERNAL /* prototypes of all versions */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>

__attribute__ ((visibility ("default"))) int record_plugin (const char *what);

#if CUDA_VERSION >= 12030 /* has all of the calls */
/* Goes on if @call succeeds. */
#define CHECK(call) \
  do \
    { \
      int failed = (int) (call); \
      if (failed != 0) \
        return failed; \
    } \
  while (0)

static int
arrays (void)
{
  CUDA_ARRAY_DESCRIPTOR plane = {
    .Width = 100, .Height = 30, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4
  };
  CUDA_ARRAY3D_DESCRIPTOR solid = {
    .Width = 64, .Height = 8, .Depth = 2, .Format = CU_AD_FORMAT_HALF, .NumChannels = 1
  };
  CUarray line, cube, sparse, compressed;
  CUmipmappedArray levels;
  struct cudaPitchedPtr place;

  CHECK (cuArrayCreate_v2 (&line, &plane));            /* 100 * 30 * 16 */
  CHECK (cuArray3DCreate_v2 (&cube, &solid));          /* 64 * 8 * 2 * 2 */
  CHECK (cuMipmappedArrayCreate (&levels, &solid, 3)); /* (64*8*2 + 32*4*1 + 16*2*1) * 2 */
  solid.Flags = CUDA_ARRAY3D_SPARSE;
  CHECK (cuArray3DCreate_v2 (&sparse, &solid));
  CHECK (cuMemMapArrayAsync (NULL, 0, NULL));
  CHECK (cuArrayDestroy (sparse));
  solid.Flags = 0;
  solid.Format = CU_AD_FORMAT_BC1_UNORM;
  CHECK (cuArray3DCreate_v2 (&compressed, &solid));
  CHECK (cuArrayDestroy (compressed));
  CHECK (cuArrayDestroy (cube));
  CHECK (cuArrayDestroy (line));
  CHECK (cuMipmappedArrayDestroy (levels));
  plane.Width = (size_t) 1 << 40;
  if (cuArrayCreate_v2 (&line, &plane) != CUDA_ERROR_OUT_OF_MEMORY)
    return 7;
  CHECK (cudaMalloc3D (&place, (struct cudaExtent){ 600, 10, 3 })); /* 1024 * 10 * 3 */
  CHECK (cuMemFree_v2 ((CUdeviceptr) place.ptr));
  if (cudaMalloc3D (&place, (struct cudaExtent){ 2, 3, (size_t) 1 << 30 })
      != cudaErrorMemoryAllocation)
    return 7;
  CHECK (cudaHostRegister (&place, sizeof place, 0));
  CHECK (cudaHostUnregister (&place));
  return 0;
}

static int
graphs (void)
{
  CUDA_MEM_ALLOC_NODE_PARAMS old = { 0 };
  CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC },
                    other = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

  CHECK (cuGraphAddMemAllocNode (NULL, NULL, NULL, 0, &old));
  CHECK (cuGraphAddNode (NULL, NULL, NULL, 0, &node));
  CHECK (cuMemFree_v2 (node.alloc.dptr)); /* the program may free what a graph has allocated */
  CHECK (cuGraphAddNode_v2 (NULL, NULL, NULL, NULL, 0, &node));
  CHECK (cuGraphAddNode_v2 (NULL, NULL, NULL, NULL, 0, &other));
  CHECK (cuGraphAddMemFreeNode (NULL, NULL, NULL, 0, old.dptr));
  other = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
  other.free.dptr = node.alloc.dptr;
  CHECK (cuGraphAddNode_v2 (NULL, NULL, NULL, NULL, 0, &other));
  return 0;
}

static int
foreign (void)
{
  CUmemPoolPtrExportData data;
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;

  CHECK (cuMemPoolImportPointer (&address, NULL, &data));
  CHECK (cuMemFree_v2 (address));
  CHECK (cuMemImportFromShareableHandle (&handle, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  CHECK (cuMemRelease (handle));
  return 0;
}

/* Where memory of a pool is, the pool says, not the current device. */
static int
pools (void)
{
  CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 3 } };
  CUmemoryPool own, usual, of_host;
  CUdeviceptr address;

  CHECK (cuMemPoolCreate (&own, &properties));
  CHECK (cuMemAllocFromPoolAsync (&address, 10, own, NULL));
#if CUDA_VERSION >= 13000
  CUmemLocation zero = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
                host = { .type = CU_MEM_LOCATION_TYPE_HOST };
  CHECK (cuMemGetMemPool (&usual, &zero, CU_MEM_ALLOCATION_TYPE_PINNED));
  CHECK (cuMemAllocFromPoolAsync (&address, 20, usual, NULL));
  CHECK (cuMemGetMemPool (&of_host, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
  CHECK (cuMemAllocFromPoolAsync (&address, 30, of_host, NULL));
  CHECK (cuMemSetMemPool (&host, CU_MEM_ALLOCATION_TYPE_PINNED, own));
  CHECK (cuMemAllocAsync (&address, 40, NULL));
  CHECK (cuMemPoolCreate (&own, &properties));
  CHECK (cuMemSetMemPool (&zero, CU_MEM_ALLOCATION_TYPE_PINNED, own));
  CHECK (cuMemAllocAsync (&address, 50, NULL));
#endif
  return 0;
}

/* Every call that gives a stream work, each a stream of its own, numbered as they come. */
static int
work (void)
{
  const dim3 grid = { 2, 3, 4 }, block = { 5, 6, 7 };
  CUlaunchConfig launch = { 0 };
  cudaLaunchConfig_t launch_runtime = { 0 };
  const CUmemLocation place = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 3 };
  uintptr_t last = 0;

#define S ((void *) (last += 0x1000))
  CHECK (cuLaunchKernel ((CUfunction) 1, 1, 2, 3, 4, 5, 6, 7, S, (void **) 8, (void **) 9));
  CHECK (cuLaunchKernel_ptsz ((CUfunction) 1, 1, 2, 3, 4, 5, 6, 7, S, (void **) 8, (void **) 9));
  CHECK (cuLaunchCooperativeKernel ((CUfunction) 1, 1, 2, 3, 4, 5, 6, 7, S, (void **) 8));
  CHECK (cuLaunchCooperativeKernel_ptsz ((CUfunction) 1, 1, 2, 3, 4, 5, 6, 7, S, (void **) 8));
  CHECK (cuLaunchHostFunc (S, (CUhostFn) 2, (void *) 3));
  CHECK (cuLaunchHostFunc_ptsz (S, (CUhostFn) 2, (void *) 3));
  CHECK (cuStreamAddCallback (S, (CUstreamCallback) 2, (void *) 3, 4));
  CHECK (cuStreamAddCallback_ptsz (S, (CUstreamCallback) 2, (void *) 3, 4));
  CHECK (cuGraphLaunch ((CUgraphExec) 1, S));
  CHECK (cuGraphLaunch_ptsz ((CUgraphExec) 1, S));
  CHECK (cuStreamWaitValue32_v2 (S, 2, 3, 4));
  CHECK (cuStreamWaitValue64_v2 (S, 2, (cuuint64_t) 3 << 40, 4));
  CHECK (cuMemcpyAsync (1, 2, 3, S));
  CHECK (cuMemcpyAsync_ptsz (1, 2, 3, S));
  CHECK (cuMemcpyHtoDAsync_v2 (1, (void *) 2, 3, S));
  CHECK (cuMemcpyHtoDAsync_v2_ptsz (1, (void *) 2, 3, S));
  CHECK (cuMemcpyDtoHAsync_v2 ((void *) 1, 2, 3, S));
  CHECK (cuMemcpyDtoHAsync_v2_ptsz ((void *) 1, 2, 3, S));
  CHECK (cuMemcpyDtoDAsync_v2 (1, 2, 3, S));
  CHECK (cuMemcpyDtoDAsync_v2_ptsz (1, 2, 3, S));
  CHECK (cuMemcpyPeerAsync (1, (CUcontext) 2, 3, (CUcontext) 4, 5, S));
  CHECK (cuMemcpyPeerAsync_ptsz (1, (CUcontext) 2, 3, (CUcontext) 4, 5, S));
  CHECK (cuMemcpy2DAsync_v2 ((CUDA_MEMCPY2D *) 1, S));
  CHECK (cuMemcpy2DAsync_v2_ptsz ((CUDA_MEMCPY2D *) 1, S));
  CHECK (cuMemcpy3DAsync_v2 ((CUDA_MEMCPY3D *) 1, S));
  CHECK (cuMemcpy3DAsync_v2_ptsz ((CUDA_MEMCPY3D *) 1, S));
  CHECK (cuMemcpy3DPeerAsync ((CUDA_MEMCPY3D_PEER *) 1, S));
  CHECK (cuMemcpy3DPeerAsync_ptsz ((CUDA_MEMCPY3D_PEER *) 1, S));
  CHECK (cuMemsetD8Async (1, 250, 3, S));
  CHECK (cuMemsetD8Async_ptsz (1, 250, 3, S));
  CHECK (cuMemsetD2D8Async (1, 2, 250, 4, 5, S));
  CHECK (cuMemsetD2D8Async_ptsz (1, 2, 250, 4, 5, S));
  CHECK (cuMemsetD16Async (1, 250, 3, S));
  CHECK (cuMemsetD16Async_ptsz (1, 250, 3, S));
  CHECK (cuMemsetD2D16Async (1, 2, 250, 4, 5, S));
  CHECK (cuMemsetD2D16Async_ptsz (1, 2, 250, 4, 5, S));
  CHECK (cuMemsetD32Async (1, 250, 3, S));
  CHECK (cuMemsetD32Async_ptsz (1, 250, 3, S));
  CHECK (cuMemsetD2D32Async (1, 2, 250, 4, 5, S));
  CHECK (cuMemsetD2D32Async_ptsz (1, 2, 250, 4, 5, S));
  CHECK (cudaLaunchKernel ((void *) 1, grid, block, (void **) 8, 9, S));
  CHECK (cudaLaunchCooperativeKernel ((void *) 1, grid, block, (void **) 8, 9, S));
  CHECK (cudaLaunchHostFunc (S, (cudaHostFn_t) 2, (void *) 3));
  CHECK (cudaStreamAddCallback (S, (cudaStreamCallback_t) 2, (void *) 3, 4));
  CHECK (cudaGraphLaunch ((cudaGraphExec_t) 1, S));
  CHECK (cudaMemcpyAsync ((void *) 1, (void *) 2, 3, cudaMemcpyDefault, S));
  CHECK (cudaMemcpyPeerAsync ((void *) 1, 2, (void *) 3, 4, 5, S));
  CHECK (cudaMemcpy2DAsync ((void *) 1, 2, (void *) 3, 4, 5, 6, cudaMemcpyDefault, S));
  CHECK (cudaMemcpy3DAsync ((struct cudaMemcpy3DParms *) 1, S));
  CHECK (cudaMemcpy3DPeerAsync ((struct cudaMemcpy3DPeerParms *) 1, S));
  CHECK (cudaMemsetAsync ((void *) 1, -2, 3, S));
  CHECK (cudaMemset2DAsync ((void *) 1, 2, -3, 4, 5, S));
  CHECK (cuStreamWriteValue32 (S, 2, 3, 4));
  CHECK (cuStreamWriteValue32_ptsz (S, 2, 3, 4));
  CHECK (cuStreamWriteValue32_v2 (S, 2, 3, 4));
  CHECK (cuStreamWriteValue32_v2_ptsz (S, 2, 3, 4));
  CHECK (cuStreamWriteValue64 (S, 2, (cuuint64_t) 3 << 40, 4));
  CHECK (cuStreamWriteValue64_ptsz (S, 2, (cuuint64_t) 3 << 40, 4));
  CHECK (cuStreamWriteValue64_v2 (S, 2, (cuuint64_t) 3 << 40, 4));
  CHECK (cuStreamWriteValue64_v2_ptsz (S, 2, (cuuint64_t) 3 << 40, 4));
  CHECK (cuStreamBatchMemOp (S, 2, (void *) 3, 4));
  CHECK (cuStreamBatchMemOp_ptsz (S, 2, (void *) 3, 4));
  CHECK (cuStreamBatchMemOp_v2 (S, 2, (void *) 3, 4));
  CHECK (cuStreamBatchMemOp_v2_ptsz (S, 2, (void *) 3, 4));
  CHECK (cuStreamAttachMemAsync (S, 2, 3, 4));
  CHECK (cuStreamAttachMemAsync_ptsz (S, 2, 3, 4));
  CHECK (cuSignalExternalSemaphoresAsync ((void *) 1, (void *) 2, 3, S));
  CHECK (cuSignalExternalSemaphoresAsync_ptsz ((void *) 1, (void *) 2, 3, S));
  CHECK (cuWaitExternalSemaphoresAsync ((void *) 1, (void *) 2, 3, S));
  CHECK (cuWaitExternalSemaphoresAsync_ptsz ((void *) 1, (void *) 2, 3, S));
  CHECK (cuGraphUpload ((CUgraphExec) 1, S));
  CHECK (cuGraphUpload_ptsz ((CUgraphExec) 1, S));
  CHECK (cuMemPrefetchAsync (1, 2, -1, S));
  CHECK (cuMemPrefetchAsync_ptsz (1, 2, -1, S));
  CHECK (cuMemPrefetchAsync_v2 (1, 2, place, 4, S));
  CHECK (cuMemPrefetchAsync_v2_ptsz (1, 2, place, 4, S));
  CHECK (cuMemcpyAtoHAsync_v2 ((void *) 1, (CUarray) 2, 3, 4, S));
  CHECK (cuMemcpyAtoHAsync_v2_ptsz ((void *) 1, (CUarray) 2, 3, 4, S));
  CHECK (cuMemcpyHtoAAsync_v2 ((CUarray) 1, 2, (void *) 3, 4, S));
  CHECK (cuMemcpyHtoAAsync_v2_ptsz ((CUarray) 1, 2, (void *) 3, 4, S));
  launch.hStream = S;
  CHECK (cuLaunchKernelEx (&launch, (CUfunction) 1, (void **) 2, (void **) 3));
  launch_runtime.stream = S;
  CHECK (cudaLaunchKernelExC (&launch_runtime, (void *) 1, (void **) 2));
#undef S
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cudaMemcpy ((void *) 1, (void *) 2, 3, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy ((void *) 1, (void *) 2, 3, cudaMemcpyDeviceToHost));
  return 0;
}

/* The same, of CUDA 13. */
static int
batches (void)
{
#if CUDA_VERSION >= 13000
  volatile uintptr_t last = 0; /* so that the last call is no jump: who calls is looked at */

#define S ((void *) (last += 0x1000))
  CHECK (cuMemPrefetchBatchAsync ((void *) 1, (void *) 2, 3, (void *) 4, (void *) 5, 6, 7, S));
  CHECK (cuMemPrefetchBatchAsync_ptsz ((void *) 1, (void *) 2, 3, (void *) 4, (void *) 5, 6, 7, S));
  CHECK (cuMemDiscardBatchAsync ((void *) 1, (void *) 2, 3, 4, S));
  CHECK (cuMemDiscardBatchAsync_ptsz ((void *) 1, (void *) 2, 3, 4, S));
  CHECK (cuMemDiscardAndPrefetchBatchAsync ((void *) 1, (void *) 2, 3, (void *) 4, (void *) 5, 6, 7,
                                            S));
  CHECK (cuMemDiscardAndPrefetchBatchAsync_ptsz ((void *) 1, (void *) 2, 3, (void *) 4, (void *) 5,
                                                 6, 7, S));
  CHECK (cuMemBatchDecompressAsync ((void *) 1, 2, 3, (void *) 4, S));
  CHECK (cuMemBatchDecompressAsync_ptsz ((void *) 1, 2, 3, (void *) 4, S));
  CHECK (cuMemcpyBatchAsync ((void *) 1, (void *) 2, (void *) 3, 4, (void *) 5, (void *) 6, 7,
                             (void *) 8, S));
  CHECK (cuMemcpyBatchAsync_ptsz ((void *) 1, (void *) 2, (void *) 3, 4, (void *) 5, (void *) 6, 7,
                                  (void *) 8, S));
  CHECK (
      cuMemcpyBatchAsync_v2 ((void *) 1, (void *) 2, (void *) 3, 4, (void *) 5, (void *) 6, 7, S));
  CHECK (cuMemcpyBatchAsync_v2_ptsz ((void *) 1, (void *) 2, (void *) 3, 4, (void *) 5, (void *) 6,
                                     7, S));
  CHECK (cuMemcpy3DBatchAsync (1, (void *) 2, (void *) 3, 4, S));
  CHECK (cuMemcpy3DBatchAsync_ptsz (1, (void *) 2, (void *) 3, 4, S));
  CHECK (cuMemcpy3DBatchAsync_v2 (1, (void *) 2, 3, S));
  CHECK (cuMemcpy3DBatchAsync_v2_ptsz (1, (void *) 2, 3, S));
#undef S
  return last == 0x10000 ? 0 : 7;
#else
  return 77;
#endif
}

/* Every call that gives the default stream work for which the host does not wait, then a copy to the host. */
static int
now (void)
{
  CHECK (cuMemcpyDtoD_v2 (1, 2, 3));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemcpyDtoD_v2_ptds (1, 2, 3));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemcpyPeer (1, (CUcontext) 2, 3, (CUcontext) 4, 5));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemcpyPeer_ptds (1, (CUcontext) 2, 3, (CUcontext) 4, 5));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD8_v2 (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD8_v2_ptds (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D8_v2 (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D8_v2_ptds (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD16_v2 (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD16_v2_ptds (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D16_v2 (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D16_v2_ptds (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD32_v2 (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD32_v2_ptds (1, 250, 3));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D32_v2 (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2 ((void *) 1, 2, 3));
  CHECK (cuMemsetD2D32_v2_ptds (1, 2, 250, 4, 5));
  CHECK (cuMemcpyDtoH_v2_ptds ((void *) 1, 2, 3));
  return 0;
}

int
record_plugin (const char *what)
{
  return strcmp (what, "arrays") == 0    ? arrays ()
         : strcmp (what, "graphs") == 0  ? graphs ()
         : strcmp (what, "foreign") == 0 ? foreign ()
         : strcmp (what, "pools") == 0   ? pools ()
         : strcmp (what, "work") == 0    ? work ()
         : strcmp (what, "batches") == 0 ? batches ()
         : strcmp (what, "now") == 0     ? now ()
                                         : 2;
}

#else
int
record_plugin (const char *what)
{
  return 77;
}
#endif
