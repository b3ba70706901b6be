/* cuda-program.c - see cuda-program.h. */
#include "config.h"

#include "devices/cuda-program.h"

#ifdef HAVE_CUDA

#include "devices/cuda/gpu.h"

/* The CUDA device that @device is or wraps; NULL: none. */
static GememCuda *
cuda_of (GememDevice *device)
{
  while (device->inner != NULL)
    device = device->inner;
  return device->klass == &gemem_cuda_class ? (GememCuda *) device : NULL;
}

void
gemem_cuda_name_stream (GememDevice *device, guint64 stream, guint64 handle)
{
  GememCuda *self = cuda_of (device);

  if (self != NULL)
    gemem_cuda_borrow_stream (self, stream, (CUstream) (guintptr) handle);
}

gboolean
gemem_cuda_is_capturing (GememDevice *device, guint64 handle)
{
  GememCuda *self = cuda_of (device);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

  if (self == NULL)
    return FALSE;
  GEMEM_CUDA_ENTER (self);
  return self->driver->cuStreamIsCapturing ((CUstream) (guintptr) handle, &status) == CUDA_SUCCESS
         && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

int
gemem_cuda_allow_calls (GememDevice *device)
{
  GememCuda *self = cuda_of (device);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

  if (self != NULL)
    GEMEM_CUDA_DO (self, cuThreadExchangeStreamCaptureMode, &mode);
  return (int) mode;
}

void
gemem_cuda_restrict_calls (GememDevice *device, int before)
{
  GememCuda *self = cuda_of (device);
  CUstreamCaptureMode mode = (CUstreamCaptureMode) before;

  if (self != NULL)
    GEMEM_CUDA_DO (self, cuThreadExchangeStreamCaptureMode, &mode);
}

#else

void
gemem_cuda_name_stream (GememDevice *device, guint64 stream, guint64 handle)
{
}

gboolean
gemem_cuda_is_capturing (GememDevice *device, guint64 handle)
{
  return FALSE;
}

int
gemem_cuda_allow_calls (GememDevice *device)
{
  return 0;
}

void
gemem_cuda_restrict_calls (GememDevice *device, int before)
{
}

#endif
