/* foreign.h - which memory kernels got that are not those of PyTorch's own operators (foreign.c). */
#pragma once

#include "dry/driver/kernels.h"

/* Whose kernels PyTorch's operators are made of: its own, and those of NVIDIA's libraries for linear algebra and networks (cuSPARSE, ...),
 * which write no whole numbers into memory that an operator has written before. */
typedef enum
{
  GEMEM_DRY_FRAMEWORK,
  GEMEM_DRY_MATHEMATICS,
  GEMEM_DRY_N_MAKERS
} GememDryMaker;

/* Whose the host's code at @code is, by the name of its library; GEMEM_DRY_N_MAKERS: another's. */
GememDryMaker gemem_dry_maker (gconstpointer code);

/* Adds @change to the depth of @maker's libraries in this thread; TRUE if it is above 0: functions that are found are theirs. */
gboolean gemem_dry_within (GememDryMaker maker, int change);

/* @function is launched as @what says. */
void gemem_driver_foreign_launch (const DriverFunction *function,
                                  const CUDA_KERNEL_NODE_PARAMS *what);

/* The grid of this thread's last launch that was not PyTorch's, for Python. */
__attribute__ ((visibility ("default"))) void gemem_dry_last_grid (guint32 grid[3]);

/* The launches so far, for Python. */
extern __attribute__ ((visibility ("default"))) guint64 gemem_dry_foreign;
/* So many graphs were launched; what they write is unknown after each. */
extern __attribute__ ((visibility ("default"))) guint64 gemem_dry_graphs;

/* A library wrote at @address, by itself. */
void gemem_dry_foreign_wrote (guint64 address);

/* TRUE if one of those after the launch @since may have written to [@address, @address + @size), which has @whole numbers or others.
 * Python calls it. */
__attribute__ ((visibility ("default"))) gboolean
gemem_dry_is_foreign (guint64 address, guint64 size, guint64 since, gboolean whole);
