/* occupancy.c - how many blocks of a kernel are resident on a multiprocessor (images.h).
 *
 * The rules of the CUDA programming guide ("compute capabilities", "multiprocessor level") and of
 * the occupancy calculator: warps get registers by 256, from the part of the register file of the
 * scheduler they belong to; blocks get shared memory by 128 bytes, before sm_80 by 256, and from
 * sm_80 on 1024 bytes more for the system. tests/dry/test-dry-images.c compares the answers with
 * the calculator that the toolkit brings as a header.
 */
#include "config.h"

#include "dry/images/images.h"

#define WARP 32
#define BLOCK_THREADS 1024
#define REGISTERS 65536 /* per multiprocessor, and per block */
#define REGISTERS_PER_THREAD 255
#define REGISTER_UNIT 256 /* per warp */
#define SYSTEM_SHARED 1024

static int
round_up (int value, int unit)
{
  return (value + unit - 1) / unit * unit;
}

/* Warps whose registers fit, in multiples of @together. */
static int
warps_by_registers (int registers, int together)
{
  return registers > REGISTERS_PER_THREAD
             ? 0
             : REGISTERS / together / round_up (registers * WARP, REGISTER_UNIT) * together;
}

/* Of one block: warps are allocated by four. */
static int
block_warps (const GememDryKernel *kernel)
{
  return kernel->registers > 0 ? warps_by_registers (kernel->registers, 4) : BLOCK_THREADS / WARP;
}

/* On a multiprocessor: as many for each scheduler, of which sm_60 has two and others four. */
static int
resident_warps (const GememDryKernel *kernel, const GememGpu *gpu)
{
  const int all = gpu->threads_per_multiprocessor / WARP;

  return kernel->registers > 0
             ? MIN (all, warps_by_registers (kernel->registers,
                                             gpu->major == 6 && gpu->minor == 0 ? 2 : 4))
             : all;
}

static int
shared_unit (const GememGpu *gpu)
{
  return gpu->major >= 8 ? 128 : 256;
}

static int
system_shared (const GememGpu *gpu)
{
  return gpu->major >= 8 ? SYSTEM_SHARED : 0;
}

int
gemem_dry_max_threads (const GememDryKernel *kernel, const GememGpu *gpu)
{
  int threads = BLOCK_THREADS;

  if (kernel->max_threads > 0)
    threads = MIN (threads, kernel->max_threads);
  threads = MIN (threads, block_warps (kernel) * WARP);
  return MIN (threads, gpu->threads_per_multiprocessor);
}

int
gemem_dry_occupancy (const GememDryKernel *kernel, const GememGpu *gpu, int block_threads,
                     gsize dynamic_shared)
{
  int blocks = gpu->blocks_per_multiprocessor, warps, shared;

  /* As the calculator has it, launch bounds do not matter here. */
  if (block_threads <= 0 || block_threads > BLOCK_THREADS)
    return 0;
  warps = round_up (block_threads, WARP) / WARP;
  if (warps > block_warps (kernel) || kernel->static_shared > gpu->shared_per_block_optin
      || dynamic_shared > (gsize) (gpu->shared_per_block_optin - kernel->static_shared))
    return 0;
  blocks = MIN (blocks, resident_warps (kernel, gpu) / warps);
  shared = round_up (kernel->static_shared + (int) dynamic_shared + system_shared (gpu),
                     shared_unit (gpu));
  return shared > 0 ? MIN (blocks, gpu->shared_per_multiprocessor / shared) : blocks;
}

/* Multiprocessors of a whole GPC. */
static int
largest_gpc (const GememGpu *gpu)
{
  return gpu->major == 9 ? 18 : gpu->major == 10 ? 20 : 16;
}

/* Multiprocessors of GPC number @gpc of @gpu; 0: there is none. */
static int
gpc_size (const GememGpu *gpu, int gpc)
{
  const int largest = largest_gpc (gpu), pairs = gpu->multiprocessors / 2;
  const int gpcs = (gpu->multiprocessors + largest - 1) / largest;

  if (gpu->gpcs[0] > 0)
    return gpc < GEMEM_GPCS_MAX ? gpu->gpcs[gpc] : 0;
  return gpc < gpcs ? 2 * (pairs / gpcs + (gpc < pairs % gpcs)) : 0;
}

int
gemem_dry_clusters (const GememDryKernel *kernel, const GememGpu *gpu, int block_threads,
                    gsize dynamic_shared, int cluster)
{
  const int blocks = gemem_dry_occupancy (kernel, gpu, block_threads, dynamic_shared);
  int clusters = 0;

  if (gpu->major < 9)
    return cluster == 1 ? blocks * gpu->multiprocessors : 0;
  for (int gpc = 0; gpc_size (gpu, gpc) > 0; gpc++)
    clusters += gpc_size (gpu, gpc) * blocks / cluster;
  return clusters;
}

int
gemem_dry_block_size (const GememDryKernel *kernel, const GememGpu *gpu, int limit,
                      gsize (*dynamic_shared) (int block_threads, gpointer data), gpointer data,
                      int *grid)
{
  const int most = gemem_dry_max_threads (kernel, gpu);
  int best = 0, best_threads = 0, threads = limit > 0 ? MIN (limit, most) : most;

  *grid = 0;
  /* The first size is the limit itself, which may be no multiple of a warp. */
  for (; threads > 0; threads = (threads - 1) / WARP * WARP)
    {
      const gsize shared = dynamic_shared != NULL ? dynamic_shared (threads, data) : 0;
      const int blocks = gemem_dry_occupancy (kernel, gpu, threads, shared);

      if (blocks * threads > best)
        {
          best = blocks * threads;
          best_threads = threads;
          *grid = blocks * gpu->multiprocessors;
        }
    }
  return best_threads;
}

gsize
gemem_dry_dynamic_shared (const GememDryKernel *kernel, const GememGpu *gpu, int blocks,
                          int block_threads)
{
  const int unit = shared_unit (gpu);
  int shared;

  if (blocks <= 0 || gemem_dry_occupancy (kernel, gpu, block_threads, 0) < blocks)
    return 0;
  shared = gpu->shared_per_multiprocessor / blocks / unit * unit - system_shared (gpu);
  return MAX (0, MIN (shared, gpu->shared_per_block_optin) - kernel->static_shared);
}
