/* images.h - what the images that programs load say of their kernels: registers, shared
 * memory, bounds.
 *
 * Why: programs ask for these figures and for occupancy before they decide how much workspace to
 * allocate; a guessed register count gives another size than the GPU does.
 *
 * An image is what cuModuleLoadData() or __cudaRegisterFatBinary() takes: a fat binary or the
 * wrapper of one, an ELF image, or PTX. Of a fat binary the entry is read that the driver would
 * choose for the GPU.
 *
 * Invariants: nothing is read before the first question about an image; what is kept is a table of
 * names and figures. Any thread may call. A damaged image has no kernels; reading one never reaches
 * beyond readable memory, and takes time in proportion to its size.
 */
#pragma once

#include <glib.h>

#include "devices/gpus.h"

/* What one kernel needs. */
typedef struct
{
  int registers;       /* per thread; 0: unknown, as of PTX, which the driver would compile */
  gboolean idle;       /* PTX that declares no registers: an empty kernel */
  int static_shared;   /* bytes per block, without reserved_shared */
  int reserved_shared; /* bytes per block that the image keeps for the system (since sm_90) */
  int local;           /* bytes of stack per thread */
  int constant;        /* bytes of the __constant__ variables of its module */
  int max_threads;     /* per block, by its launch bounds; 0: none given */
  int cluster[3];      /* blocks per cluster that it was compiled for; 0: none given */
  int binary_version, ptx_version; /* 10 * major + minor; 0: unknown */
  GArray *parameters; /* guint16: bytes of each; NULL: unknown, as of PTX without a list of them */
} GememDryKernel;

typedef enum
{
  GEMEM_DRY_IMAGE_READ,
  GEMEM_DRY_IMAGE_NO_CODE, /* no code in it is for this GPU: CUDA_ERROR_NO_BINARY_FOR_GPU */
  GEMEM_DRY_IMAGE_DAMAGED, /* CUDA_ERROR_INVALID_IMAGE */
} GememDryImageState;

/* The kernel @name (as in the object file, mangled) of @image on a GPU of compute capability @sm,
 * 10 * major + minor. NULL: not there. Valid until gemem_dry_image_forget (). The first question
 * about an image reads it, in proportion to the size of the chosen entry; others look it up. */
const GememDryKernel *gemem_dry_kernel (const void *image, const char *name, int sm);

/* Compiles @ptx, which ends with 0, for a GPU of compute capability @sm: an ELF image of *@size bytes, free with g_free();
 * NULL: it cannot. */
typedef guint8 *(*GememDryCompiler) (const char *ptx, int sm, gsize *size);
/* PTX of images that are read from now on is compiled by @compile when it is asked for; NULL: nothing does. */
void gemem_dry_set_compiler (GememDryCompiler compile);
/* gemem_dry_kernel () of an image that is PTX, as compiled: with registers and local memory.  NULL: it is none, or nothing
 * compiles it.  The first question compiles the image: tenths of a second for a kernel. */
const GememDryKernel *gemem_dry_kernel_compiled (const void *image, const char *name, int sm);

/* The names of all kernels of @image, in the order of strcmp(), NULL at the end; free with g_strfreev(). */
char **gemem_dry_kernel_names (const void *image, int sm);

/* Whether @image defines the __device__ or __constant__ variable @name, of *@size bytes
 * (@size may be NULL). */
gboolean gemem_dry_symbol (const void *image, const char *name, int sm, guint64 *size);

/* Whether @image can be loaded on this GPU; *@problem (may be NULL) is set to a
 * constant text if not. */
GememDryImageState gemem_dry_image_state (const void *image, int sm, const char **problem);

/* Reads @image now, for programs that may free it afterwards; it ends after @size bytes, 0:
 * unknown. Returns what stands for it in the calls above, with the same @sm, until
 * gemem_dry_image_forget (). Never NULL: ask gemem_dry_image_state (). */
const void *gemem_dry_image_load (const void *image, gsize size, int sm);

/* Frees what is known of @image, which is unloaded or unregistered. */
void gemem_dry_image_forget (const void *image);

/* ---- occupancy (occupancy.c) */

/* How many blocks of @block_threads threads with @dynamic_shared bytes of dynamic shared memory are
 * resident on a multiprocessor of @gpu at a time; 0: none. Unknown registers do not limit. */
int gemem_dry_occupancy (const GememDryKernel *kernel, const GememGpu *gpu, int block_threads,
                         gsize dynamic_shared);

/* How many clusters of @cluster such blocks are resident on @gpu at a time; 0: none. A cluster lies
 * on the multiprocessors of one GPC. How many each has that were not switched off differs from chip
 * to chip of the same GPU: they are taken to be spread evenly, in pairs. */
int gemem_dry_clusters (const GememDryKernel *kernel, const GememGpu *gpu, int block_threads,
                        gsize dynamic_shared, int cluster);

/* The most threads a block of @kernel may have: its launch bounds, the GPU's limit, and
 * its registers. */
int gemem_dry_max_threads (const GememDryKernel *kernel, const GememGpu *gpu);

/* The block size that keeps the most threads resident, at most @limit threads (0: no limit); of
 * equal ones the largest. @dynamic_shared: bytes for a block of that many threads. *@grid: how many
 * such blocks fill the GPU. 0: not one warp fits. */
int gemem_dry_block_size (const GememDryKernel *kernel, const GememGpu *gpu, int limit,
                          gsize (*dynamic_shared) (int block_threads, gpointer data), gpointer data,
                          int *grid);

/* The largest dynamic shared memory with which @blocks blocks of @block_threads threads are
 * resident; 0 also where not even that is possible. */
gsize gemem_dry_dynamic_shared (const GememDryKernel *kernel, const GememGpu *gpu, int blocks,
                                int block_threads);
