/* kernel.c - runs one kernel on memory that Python gives it (replay.h): what it gave is known there, not in the history of the driver.
 *
 * Why: Python knows what PyTorch's tensors hold, and has the PTX of a kernel of Triton.
 * Invariants: what was read of PTX is kept as long as the process, for Python keeps it by its address.
 */
#include "config.h"

#include <string.h>

#include "dry/ptx/ptx.h"
#include "dry/replay/replay.h"

const GememPtxFunction *
gemem_dry_code (const char *text, const char *name)
{
  GememPtx *ptx = gemem_ptx_parse (text);
  const GememPtxFunction *kernel = ptx != NULL ? gemem_ptx_kernel (ptx, name) : NULL;

  if (kernel == NULL)
    g_clear_pointer (&ptx, gemem_ptx_free);
  return kernel;
}

int
gemem_dry_code_run (const GememPtxFunction *kernel, const guint grid[3], const guint block[3],
                    guint64 shared, guint n_arguments, const guint64 *arguments, guint n_memory,
                    GememPtxMemory *memory, guint64 *budget)
{
  const GArray *parameters = gemem_ptx_parameters (kernel);
  g_autofree guint8 *bytes = g_malloc0 (gemem_ptx_parameter_size (kernel) + 1);
  GememPtxLaunch launch = {
    .shared = shared, .parameters = bytes, .memory = memory, .n_memory = n_memory, .budget = budget
  };

  if (n_arguments > parameters->len / 2)
    return GEMEM_PTX_LOST;
  for (guint i = 0; i < n_arguments; i++)
    memcpy (bytes + g_array_index (parameters, guint16, 2 * i), &arguments[i],
            MIN (g_array_index (parameters, guint16, 2 * i + 1), sizeof *arguments));
  memcpy (launch.grid, grid, sizeof launch.grid);
  memcpy (launch.block, block, sizeof launch.block);
  return (int) gemem_ptx_run (kernel, &launch);
}
