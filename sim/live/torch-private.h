/* torch-private.h - the parts of libgemem-torch.so: torch.c (what PyTorch calls), torch-device.c
 * (devices as text), torch-stats.c (at exit), torch-throw.c (no memory). */
#pragma once

#include "sim/live/heap.h"

/* "cuda" becomes "cuda:DEVICE"; g_free(). */
char *gemem_torch_device_spec (const char *device_class, int device);
/* Bytes of @fraction of the device's capacity; 0: it cannot be opened, opening it says why. */
guint64 gemem_torch_share (const char *spec, int device, double fraction);

/* Writes all measures of the @n heaps (NULL entries are skipped) to @path: "stderr", or a file
 * whose extension says the format.  Afterwards the heaps may only be closed. */
gboolean gemem_torch_write_stats (const char *path, GememHeap *const *heaps, guint n,
                                  GError **error);
/* Throws std::bad_alloc if PyTorch is in this process; returns otherwise.  The caller must hold no
 * lock and no memory. */
void gemem_torch_throw (void);
