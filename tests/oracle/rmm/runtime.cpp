/* runtime.cpp - the calls of the CUDA runtime that RMM's headers make, on the stub device.
 *
 * librmm.so of 26.10 has a runtime of its own, which fails without a driver: what it does itself (the first blocks of a pool, the bins of a
 * binning resource) it does for a stream whose number is 0 and whose event is null.  The default stream has the number 0 here too, so that
 * both see one stream; events have rising addresses, because RMM's resources look into other streams' lists in the order of the events.
 */
#include <cuda_runtime_api.h>

#include "device.h"

static uint64_t events;

static uint64_t
number (cudaStream_t stream)
{
  const uint64_t handle = reinterpret_cast<uint64_t> (stream);
  return handle <= 2 ? 0 : handle >> 12; /* 1 and 2: the default stream by other names */
}

extern "C"
{
  cudaError_t
  cudaEventCreateWithFlags (cudaEvent_t *event, unsigned)
  {
    *event = reinterpret_cast<cudaEvent_t> (16 * ++events);
    return cudaSuccess;
  }
  cudaError_t
  cudaEventRecord (cudaEvent_t, cudaStream_t)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaEventDestroy (cudaEvent_t)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaEventSynchronize (cudaEvent_t)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaStreamWaitEvent (cudaStream_t, cudaEvent_t, unsigned)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaStreamSynchronize (cudaStream_t stream)
  {
    oracle_device.stream_sync (number (stream));
    return cudaSuccess;
  }
  cudaError_t
  cudaDeviceSynchronize ()
  {
    oracle_device.device_sync ();
    return cudaSuccess;
  }
  cudaError_t
  cudaStreamGetId (cudaStream_t stream, unsigned long long *id)
  {
    *id = number (stream);
    return cudaSuccess;
  }
  cudaError_t
  cudaStreamQuery (cudaStream_t)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaMemGetInfo (size_t *free, size_t *total)
  {
    *total = oracle_device.reported_total ();
    *free = *total - oracle_device.held;
    return cudaSuccess;
  }
  cudaError_t
  cudaGetDevice (int *device)
  {
    *device = 0;
    return cudaSuccess;
  }
  cudaError_t
  cudaSetDevice (int)
  {
    return cudaSuccess;
  }
  cudaError_t
  cudaGetDeviceCount (int *count)
  {
    *count = 1;
    return cudaSuccess;
  }
  cudaError_t
  cudaGetLastError ()
  {
    return cudaSuccess;
  }
  const char *
  cudaGetErrorName (cudaError_t)
  {
    return "error";
  }
  const char *
  cudaGetErrorString (cudaError_t)
  {
    return "error";
  }
}
