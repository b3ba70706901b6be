/* cuda-program.h - a CUDA device inside a program that uses the GPU itself: the program's streams,
 * and its captures of work into graphs.
 *
 * The functions do nothing for other devices, and in builds without CUDA.
 */
#pragma once

#include "devices/device.h"

/* @stream of @device is the program's CUstream @handle; call before any use of @stream. */
void gemem_cuda_name_stream (GememDevice *device, guint64 stream, guint64 handle);
/* TRUE if work queued on the program's CUstream @handle is captured into a graph. */
gboolean gemem_cuda_is_capturing (GememDevice *device, guint64 handle);
/* A capture forbids certain calls to the program's threads, so that they do not disturb it; an
 * allocator's calls do not.  Permits them in this thread; pass the result to
 * gemem_cuda_restrict_calls(). */
int gemem_cuda_allow_calls (GememDevice *device);
void gemem_cuda_restrict_calls (GememDevice *device, int before);
