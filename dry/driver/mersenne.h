/* mersenne.h - passes over numbers of PyTorch's generator of the host (mersenne.c). */
#pragma once

#include <glib.h>

/* Brings @generator, the bytes of torch.get_rng_state(), on by @n numbers of 32 bits.  Python calls it. */
__attribute__ ((visibility ("default"))) void gemem_dry_skip (gpointer generator, guint64 n);
