/* ptx.h - runs kernels on the host: the code is PTX, as NVIDIA's compilers write it.
 *
 * Why: in a dry run no GPU computes. Where a program reads a number from which the next size
 * follows, the kernels that made the number are run here, warp after warp, with the same
 * operations in the same order, so that the number is the GPU's.
 *
 * Each byte of memory and each register has a GememPtxState beside its value, which says whether
 * the value is that of the GPU. What follows from several has the worst of theirs. A kernel whose
 * way depends on what is not known ends as GEMEM_PTX_LOST.
 *
 * Invariants: a kernel never reaches memory that @memory did not give, nor runs longer than @budget
 * says. What is not written here (textures, matrices, halves of 16 bits in pairs) is
 * GEMEM_PTX_LOST, not another result. Integers and IEEE operations are exact; the approximations of
 * the GPU (ex2, lg2, sin, ...) are the host's, which differ in the last bits.
 *
 * Origin: NVIDIA's "Parallel Thread Execution ISA", its public manual, and what NVRTC 12.9 writes.
 */
#pragma once

#include <glib.h>

typedef enum
{
  GEMEM_PTX_KNOWN,
  GEMEM_PTX_ASSUMED, /* follows from numbers that were drawn, or from the order of threads */
  GEMEM_PTX_UNKNOWN,
} GememPtxState;

typedef struct _GememPtx GememPtx;
typedef struct _GememPtxFunction GememPtxFunction;

/* What @text, which ends with 0, defines; free with gemem_ptx_free(). NULL: it cannot be read.
 * Linear in its length. */
GememPtx *gemem_ptx_parse (const char *text);
void gemem_ptx_free (GememPtx *ptx);

/* The kernel @name; NULL: none. Valid as long as @ptx. */
const GememPtxFunction *gemem_ptx_kernel (const GememPtx *ptx, const char *name);
/* The bytes of its parameters and where each begins in their block, as guint16 in pairs: offset,
 * size. */
const GArray *gemem_ptx_parameters (const GememPtxFunction *kernel);
/* How many bytes that block has. */
gsize gemem_ptx_parameter_size (const GememPtxFunction *kernel);

/* Memory of the device. */
typedef struct
{
  guint64 address, size;
  guint8 *bytes;
  guint8 *states; /* GememPtxState of each */
} GememPtxMemory;

typedef struct
{
  guint grid[3], block[3];
  gsize shared; /* bytes of dynamic shared memory */
  const guint8 *parameters;
  GememPtxMemory *memory; /* is put in the order of addresses */
  guint n_memory;
  guint64 *budget; /* instructions that may still run; what ran is taken off */
} GememPtxLaunch;

typedef enum
{
  GEMEM_PTX_DONE,
  GEMEM_PTX_DONE_ASSUMED, /* where it wrote follows from what is assumed */
  GEMEM_PTX_LOST,         /* what it writes is not known; some may be written */
} GememPtxEnd;

GememPtxEnd gemem_ptx_run (const GememPtxFunction *kernel, const GememPtxLaunch *launch);
