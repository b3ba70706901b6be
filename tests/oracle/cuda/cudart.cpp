/* cudart.cpp - a CUDA runtime, driver and NVML without a GPU, on the stub device: what allocators call, and no more.
 *
 * One library stands for libcudart.so.N, libcuda.so.1 and libnvidia-ml.so.1; build.sh adds, for every other function that the real
 * library names, one that says "not supported".  Stream number s of a trace has the handle s << 20.  No CUDA headers are used: their
 * names of functions and layouts of structures change with the version, the calls themselves do not.
 * A function that an allocator may call without harm to any decision answers with success; memory has no contents.
 */
#include <dlfcn.h>

#include "../device.h"

using Result = int;
enum
{
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_READY = 600,
  NOT_SUPPORTED = 801
};
enum
{
  FABRIC_HANDLES = 8 /* in CUmemAllocationProp */
};
using Stream = void *;
struct Event
{
  uint64_t done;
};
static Result last;

static uint64_t
number_of (Stream stream)
{
  return reinterpret_cast<uint64_t> (stream) >> 20;
}

static Result
remember (Result result)
{
  if (result != SUCCESS)
    last = result;
  return result;
}

extern "C"
{

  Result
  oracle_not_supported ()
  {
    return NOT_SUPPORTED;
  }

  /* ---- device and errors */

  Result
  cudaGetDevice (int *device)
  {
    *device = 0;
    return SUCCESS;
  }
  Result
  cudaSetDevice (int)
  {
    return SUCCESS;
  }
  Result
  cudaGetDeviceCount (int *count)
  {
    *count = 1;
    return SUCCESS;
  }
  Result
  cudaDriverGetVersion (int *version)
  {
    *version = 13020;
    return SUCCESS;
  }
  Result
  cudaRuntimeGetVersion (int *version)
  {
    *version = 13020;
    return SUCCESS;
  }
  Result
  cudaDeviceCanAccessPeer (int *can, int, int)
  {
    *can = 0;
    return SUCCESS;
  }
  Result
  cudaDeviceGetStreamPriorityRange (int *least, int *greatest)
  {
    *least = 0;
    *greatest = -5;
    return SUCCESS;
  }
  Result
  cudaPeekAtLastError ()
  {
    return last;
  }
  Result
  cudaGetLastError ()
  {
    const Result result = last;
    last = SUCCESS;
    return result;
  }

  const char *
  cudaGetErrorString (Result result)
  {
    return result == OUT_OF_MEMORY ? "out of memory" : result == SUCCESS ? "no error" : "error";
  }
  const char *
  cudaGetErrorName (Result result)
  {
    return result == OUT_OF_MEMORY ? "cudaErrorMemoryAllocation" : "cudaError";
  }

  /* The layout up to the maximal threads per block is that of CUDA 11 to 13; what follows is zero, in the smallest of their sizes. */
  Result
  cudaGetDeviceProperties (void *properties, int)
  {
    struct Head
    {
      char name[256], uuid[16], luid[8];
      unsigned node_mask;
      size_t total, shared;
      int registers, warp;
      size_t pitch;
      int threads;
    } head = {};
    std::memset (properties, 0, 700);
    std::strcpy (head.name, "stub");
    head.total = oracle_device.reported_total ();
    head.warp = 32;
    head.threads = 1024;
    std::memcpy (properties, &head, sizeof head);
    return SUCCESS;
  }
  Result
  cudaGetDeviceProperties_v2 (void *properties, int device)
  {
    return cudaGetDeviceProperties (properties, device);
  }

  /* ---- memory */

  Result
  cudaMemGetInfo (size_t *free, size_t *total)
  {
    *free = oracle_device.capacity - oracle_device.held;
    *total = oracle_device.reported_total ();
    return SUCCESS;
  }
  Result
  cudaMalloc (void **address, size_t size)
  {
    const uint64_t got = oracle_device.malloc (size);
    *address = reinterpret_cast<void *> (got);
    return remember (got != 0 ? SUCCESS : OUT_OF_MEMORY);
  }
  Result
  cudaFree (void *address)
  {
    if (address != nullptr)
      oracle_device.free (reinterpret_cast<uint64_t> (address));
    return SUCCESS;
  }

  /* ---- streams and events */

  Result
  cudaDeviceSynchronize ()
  {
    oracle_device.device_sync ();
    return SUCCESS;
  }
  Result
  cudaStreamCreateWithPriority (Stream *stream, unsigned, int)
  {
    static uint64_t created = 1 << 20; /* numbers above all of a trace */
    *stream = reinterpret_cast<Stream> (++created << 20);
    return SUCCESS;
  }
  Result
  cudaStreamQuery (Stream)
  {
    return SUCCESS;
  }
  Result
  cudaStreamSynchronize (Stream stream)
  {
    oracle_device.stream_sync (number_of (stream));
    return SUCCESS;
  }
  Result
  cudaStreamWaitEvent (Stream, Event *, unsigned)
  {
    return SUCCESS;
  }
  Result
  cudaStreamGetId (Stream stream, unsigned long long *id)
  {
    *id = number_of (stream);
    return SUCCESS;
  }
  Result
  cudaStreamGetDevice (Stream, int *device)
  {
    *device = 0;
    return SUCCESS;
  }
  Result
  cudaStreamIsCapturing (Stream, int *status)
  {
    *status = oracle_device.capturing;
    return SUCCESS;
  }
  Result
  cudaStreamGetCaptureInfo (Stream, int *status, unsigned long long *id, void *, void *, void *,
                            size_t *count)
  {
    if (status != nullptr)
      *status = oracle_device.capturing;
    if (id != nullptr)
      *id = oracle_device.capturing;
    if (count != nullptr)
      *count = 0;
    return SUCCESS;
  }
  Result
  cudaStreamGetCaptureInfo_v2 (Stream stream, int *status, unsigned long long *id, void *, void *,
                               size_t *count)
  {
    return cudaStreamGetCaptureInfo (stream, status, id, nullptr, nullptr, nullptr, count);
  }
  Result
  cudaThreadExchangeStreamCaptureMode (int *)
  {
    return SUCCESS;
  }
  Result
  cudaGraphNodeGetDependencies (void *, void *, void *, size_t *count)
  {
    if (count != nullptr)
      *count = 0;
    return SUCCESS;
  }
  Result
  cudaEventCreateWithFlags (Event **event, unsigned)
  {
    *event = new Event{ 0 };
    return SUCCESS;
  }
  Result
  cudaEventDestroy (Event *event)
  {
    delete event;
    return SUCCESS;
  }
  Result
  cudaEventRecord (Event *event, Stream stream)
  {
    event->done = oracle_device.record (number_of (stream));
    return SUCCESS;
  }
  Result
  cudaEventQuery (Event *event)
  {
    return remember (oracle_device.query (event->done) ? SUCCESS : NOT_READY);
  }
  Result
  cudaEventSynchronize (Event *event)
  {
    oracle_device.wait (event->done);
    return SUCCESS;
  }

  /* ---- the driver: virtual memory */

  Result
  cuDeviceGet (int *device, int)
  {
    *device = 0;
    return SUCCESS;
  }
  Result
  cuDeviceGetAttribute (int *value, int, int)
  {
    *value = 0;
    return SUCCESS;
  }
  Result
  cuCtxGetCurrent (void **context)
  {
    *context = reinterpret_cast<void *> (0x1000);
    return SUCCESS;
  }
  Result
  cuGetErrorString (Result result, const char **text)
  {
    *text = cudaGetErrorString (result);
    return SUCCESS;
  }
  Result
  cuMemGetAllocationGranularity (size_t *granularity, const void *, int)
  {
    *granularity = oracle_device.granularity;
    return SUCCESS;
  }
  Result
  cuMemAddressReserve (uint64_t *address, size_t size, size_t, uint64_t, unsigned long long)
  {
    *address = oracle_device.reserve (size);
    return SUCCESS;
  }
  Result
  cuMemAddressFree (uint64_t address, size_t size)
  {
    oracle_device.release (address, size);
    return SUCCESS;
  }
  Result
  cuMemCreate (uint64_t *page, size_t size, const void *properties, unsigned long long)
  {
    /* type, handles; no attribute of the device says that it has fabric handles */
    if (static_cast<const int *> (properties)[1] == FABRIC_HANDLES)
      return NOT_SUPPORTED;
    if (size % oracle_device.granularity != 0)
      return INVALID_VALUE;
    *page = oracle_device.create (size);
    return *page != 0 ? SUCCESS : OUT_OF_MEMORY;
  }
  Result
  cuMemRelease (uint64_t page)
  {
    oracle_device.destroy (page);
    return SUCCESS;
  }
  Result
  cuMemMap (uint64_t address, size_t size, size_t, uint64_t page, unsigned long long)
  {
    oracle_device.map (address, size, page);
    return SUCCESS;
  }
  Result
  cuMemUnmap (uint64_t address, size_t size)
  {
    oracle_device.unmap (address, size);
    return SUCCESS;
  }
  Result
  cuMemSetAccess (uint64_t, size_t, const void *, size_t)
  {
    return SUCCESS;
  }

  Result
  cudaGetDriverEntryPoint (const char *name, void **function, unsigned long long, int *found)
  {
    *function = dlsym (RTLD_DEFAULT, name);
    if (*function == nullptr)
      *function = reinterpret_cast<void *> (oracle_not_supported);
    if (found != nullptr)
      *found = 0;
    return SUCCESS;
  }
  Result
  cudaGetDriverEntryPointByVersion (const char *name, void **function, unsigned,
                                    unsigned long long flags, int *found)
  {
    return cudaGetDriverEntryPoint (name, function, flags, found);
  }

  /* ---- NVML: a device that no process uses and no other is linked to */

  Result
  nvmlInit_v2 ()
  {
    return SUCCESS;
  }
  Result
  nvmlDeviceGetHandleByPciBusId_v2 (const char *, void **device)
  {
    *device = reinterpret_cast<void *> (0x1000);
    return SUCCESS;
  }
  Result
  nvmlDeviceGetComputeRunningProcesses (void *, unsigned *count, void *)
  {
    *count = 0;
    return SUCCESS;
  }
  Result
  nvmlDeviceGetGpuFabricInfoV (void *, void *)
  {
    return SUCCESS;
  }
  Result
  nvmlSystemGetCudaDriverVersion_v2 (int *version)
  {
    *version = 13020;
    return SUCCESS;
  }
}
