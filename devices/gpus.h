/* gpus.h - the table of GPUs: the properties that decide how much memory a program asks for, and
 * how much there is.
 *
 * Dry runs (dry) answer a program's questions from it; the simulated device takes its
 * capacity from it (gpu=NAME).  The rows, with the source of each, are in gpus.def.
 *
 * Invariants: rows are constant and live as long as the process; names are unique, in lower case.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

#define GEMEM_GPCS_MAX 16

/* With less than this left of a GPU, what no request asks for may decide: the driver's context and the code of kernels,
 * commonly some hundreds of MiB. */
#define GEMEM_GPU_LEFT_FOR_CONTEXT (G_GUINT64_CONSTANT (1) << 30)

/* What cuBLAS takes of a GPU for its handle, beside every allocator: 64 MiB and 129 KiB on an H100, of cuBLAS 13.1. */
#define GEMEM_GPU_LEFT_FOR_CUBLAS ((G_GUINT64_CONSTANT (64) << 20) + (129 << 10))

typedef struct
{
  const char *name;  /* "h100" */
  const char *model; /* "NVIDIA H100 80GB HBM3", as the driver calls it */
  int major, minor;  /* compute capability; 0: not of CUDA, so that only the memory is known */
  int multiprocessors, threads_per_multiprocessor, blocks_per_multiprocessor;
  int shared_per_multiprocessor, shared_per_block, shared_per_block_optin; /* bytes */
  int l2;                                                                  /* bytes */
  int clock_khz, memory_clock_khz, bus_bits;
  guint64 memory;              /* bytes that cuMemGetInfo calls total */
  int nvlinks;                 /* to NVSwitch; 0: others are reached by PCIe; -1: not at all */
  guint8 gpcs[GEMEM_GPCS_MAX]; /* multiprocessors of each GPC; all 0: not known, spread evenly */
  guint64 context; /* bytes that a process with a context takes of the memory; 0: not known */
  const char *context_source; /* "measured: ..."; NULL: not known */
  const char *summary;        /* "NVIDIA H100 80GB HBM3, 132 multiprocessors, 81079 MiB" */
  const char *source;         /* of the memory: "reported: ..." or "assumed: ..." */
} GememGpu;

/* All rows in the order of gpus.def; the last one has the name NULL. */
const GememGpu *gemem_gpus (void);

/* The row called @name, or whose model ends with it; case and what is neither letter nor digit do not
 * matter, and "rtx" and "GB" may be left out or added.  Errors: GEMEM_ERROR_USAGE with the nearest
 * names, or with those of the sizes in which it is made. */
const GememGpu *gemem_gpu_find (const char *name, GError **error);
/* The same, for a dry run: GEMEM_ERROR_USAGE also for one that is not of CUDA. */
const GememGpu *gemem_gpu_find_cuda (const char *name, GError **error);
/* Sets `gpcs` of @gpu, a copy of a row, to "18,18,16"; GEMEM_ERROR_USAGE unless they are all of its
 * multiprocessors. */
gboolean gemem_gpu_set_gpcs (GememGpu *gpu, const char *text, GError **error);

GEMEM_END_DECLS
