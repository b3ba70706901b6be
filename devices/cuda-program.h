/* cuda-program.h - a CUDA device inside a program that uses the GPU itself: the program's streams,
 * and what it captures into graphs.
 *
 * All do nothing for other devices, and in builds without CUDA.
 */
#pragma once

#include "devices/device.h"

/* @stream of @device is the program's CUstream @handle; before anything is done with @stream. */
void gemem_cuda_name_stream (GememDevice *device, guint64 stream, guint64 handle);
/* TRUE if what is queued on the program's CUstream @handle becomes part of a graph. */
gboolean gemem_cuda_is_capturing (GememDevice *device, guint64 handle);
/* A capture forbids other calls to the threads of the program, so that they do not disturb it;
 * those of an allocator do not.  Allows them to this thread; the value is for
 * gemem_cuda_restrict_calls(). */
int gemem_cuda_allow_calls (GememDevice *device);
void gemem_cuda_restrict_calls (GememDevice *device, int before);
