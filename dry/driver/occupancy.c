/* occupancy.c - how many blocks of a function a multiprocessor holds: the driver's questions
 * to occupancy.c.
 *
 * Of a function whose image says nothing, registers do not limit (images.h).
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/kernels.h"

static CUresult
active_blocks (int *blocks, CUfunction handle, int threads, size_t shared)
{
  PLACE (blocks);
  FUNCTION (handle);
  if (threads <= 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%d threads", threads);
  *blocks = gemem_dry_occupancy (gemem_driver_function_needs (function), gemem_dry_gpu (), threads,
                                 shared);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuOccupancyMaxActiveBlocksPerMultiprocessor (int *blocks, CUfunction handle, int threads,
                                             size_t shared)
{
  BEGIN (cuOccupancyMaxActiveBlocksPerMultiprocessor, NEEDS_INIT);
  return active_blocks (blocks, handle, threads, shared);
}

CUresult CUDAAPI
cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (int *blocks, CUfunction handle, int threads,
                                                      size_t shared, unsigned int flags)
{
  BEGIN (cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, NEEDS_INIT);
  return active_blocks (blocks, handle, threads, shared);
}

/* How much dynamic shared memory a block of so many threads has. */
typedef struct
{
  CUoccupancyB2DSize function; /* or NULL: */
  size_t bytes;
} Shared;

static gsize
ask_shared (int threads, gpointer data)
{
  const Shared *shared = data;
  return shared->function != NULL ? shared->function (threads) : shared->bytes;
}

static CUresult
block_size (int *grid, int *threads, CUfunction handle, Shared shared, int limit)
{
  int blocks = 0;

  PLACE (threads);
  FUNCTION (handle);
  *threads = gemem_dry_block_size (gemem_driver_function_needs (function), gemem_dry_gpu (), limit,
                                   ask_shared, &shared, &blocks);
  if (grid != NULL)
    *grid = blocks;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuOccupancyMaxPotentialBlockSize (int *grid, int *threads, CUfunction handle,
                                  CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
  BEGIN (cuOccupancyMaxPotentialBlockSize, NEEDS_INIT);
  return block_size (grid, threads, handle, (Shared){ shared_of, shared }, limit);
}

CUresult CUDAAPI
cuOccupancyMaxPotentialBlockSizeWithFlags (int *grid, int *threads, CUfunction handle,
                                           CUoccupancyB2DSize shared_of, size_t shared, int limit,
                                           unsigned int flags)
{
  BEGIN (cuOccupancyMaxPotentialBlockSizeWithFlags, NEEDS_INIT);
  return block_size (grid, threads, handle, (Shared){ shared_of, shared }, limit);
}

CUresult CUDAAPI
cuOccupancyAvailableDynamicSMemPerBlock (size_t *shared, CUfunction handle, int blocks, int threads)
{
  BEGIN (cuOccupancyAvailableDynamicSMemPerBlock, NEEDS_INIT);
  PLACE (shared);
  FUNCTION (handle);
  *shared = gemem_dry_dynamic_shared (gemem_driver_function_needs (function), gemem_dry_gpu (),
                                      blocks, threads);
  return CUDA_SUCCESS;
}

/* The reference manual promises clusters of 8 blocks everywhere; how the driver finds more is not
 * documented. */
CUresult CUDAAPI
cuOccupancyMaxPotentialClusterSize (int *size, CUfunction handle, const CUlaunchConfig *config)
{
  BEGIN (cuOccupancyMaxPotentialClusterSize, NEEDS_INIT);
  PLACE (size);
  FUNCTION (handle);
  *size = gemem_dry_gpu ()->major >= 9 ? 8 : 1;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuOccupancyMaxActiveClusters (int *clusters, CUfunction handle, const CUlaunchConfig *config)
{
  guint size = 1;

  BEGIN (cuOccupancyMaxActiveClusters, NEEDS_INIT);
  PLACE (clusters);
  PLACE (config);
  FUNCTION (handle);
  for (guint i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      size = MAX (1, config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y
                         * config->attrs[i].value.clusterDim.z);
  *clusters = gemem_dry_clusters (gemem_driver_function_needs (function), gemem_dry_gpu (),
                                  (int) (config->blockDimX * config->blockDimY * config->blockDimZ),
                                  config->sharedMemBytes, (int) MIN (size, G_MAXINT));
  return CUDA_SUCCESS;
}
