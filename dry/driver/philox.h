/* philox.h - the random numbers that PyTorch's kernels draw on a GPU (philox.c). */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 seed, offset; /* of PyTorch's generator, before they are drawn */
  guint64 threads;      /* which the GPU holds at once */
  guint64 n;
  gint64 low;
  guint64 range; /* of integers: from @low on, below 2^28 */
  gpointer to;   /* @n numbers: float, of "randint" gint64 */
} GememDryNumbers;

/* Draws what torch.rand(), torch.randint() or torch.randn() would give, by its name @kind.  FALSE: it is not known.  Python calls it. */
__attribute__ ((visibility ("default"))) gboolean gemem_dry_draw (const char *kind,
                                                                  const GememDryNumbers *numbers);
