/* torch-private.h - the parts of libgemem-torch.so: torch.c (what PyTorch calls), torch-device.c (the device and the driver), torch-stats.c (at exit). */
#pragma once

#include "sim/live/heap.h"

/* "cuda" becomes "cuda:DEVICE"; g_free(). */
char    *gemem_torch_device_spec (const char *device_class, int device);
/* @fraction of the device's capacity; 0: the device cannot be had, whoever opens it says why. */
guint64  gemem_torch_share (const char *spec, int device, double fraction);
/* For GememHeapOptions.name_stream: the device works on the program's own streams. */
void     gemem_torch_name_stream (GememDevice *device, guint64 stream, guint64 handle);
/* TRUE if the work queued on @stream is being captured into a graph. */
gboolean gemem_torch_is_capturing (void *stream);
/* Around what may call the driver, where this thread may be capturing: calls that a capture would forbid are allowed in between. */
int      gemem_torch_begin_calls (gboolean capturing);
void     gemem_torch_end_calls (int mode);

/* All measures of the @n heaps (NULL: none) to @path, "stderr" or a file, its extension says how.  The heaps have no more to say then. */
gboolean gemem_torch_write_stats (const char *path, GememHeap *const *heaps, guint n, GError **error);
