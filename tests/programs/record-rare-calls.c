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

int
record_plugin (const char *what)
{
  return strcmp (what, "arrays") == 0    ? arrays ()
         : strcmp (what, "graphs") == 0  ? graphs ()
         : strcmp (what, "foreign") == 0 ? foreign ()
         : strcmp (what, "pools") == 0   ? pools ()
                                         : 2;
}

#else
int
record_plugin (const char *what)
{
  return 77;
}
#endif
