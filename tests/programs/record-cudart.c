/* record-cudart.c - a small runtime library over the driver, for tests/cli/test-record.sh:
 * libcudart.so.13, as CUDA's it opens the driver itself.
 *
 * The recorder sees its calls twice, as the runtime's and as the driver's beneath, and must count
 * them once.
 */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#include "dry/driver/api.h"

#define EXPORT __attribute__ ((visibility ("default")))
/* clang-format off */
#define NAMES(F) \
  F (cuInit) \
  F (cuDeviceGet) \
  F (cuDevicePrimaryCtxRetain) \
  F (cuCtxSetCurrent) \
  F (cuMemAlloc) \
  F (cuMemFree) \
  F (cuMemAllocAsync) \
  F (cuMemFreeAsync) \
  F (cuMemHostAlloc) \
  F (cuMemFreeHost) \
  F (cuMemAllocManaged) \
  F (cuStreamCreate) \
  F (cuStreamCreateWithPriority) \
  F (cuStreamSynchronize) \
  F (cuCtxSynchronize) \
  F (cuDevicePrimaryCtxReset)
/* clang-format on */

int cudaMalloc (void **pointer, size_t size);
int cudaFree (void *pointer);
int cudaMallocAsync (void **pointer, size_t size, void *stream);
int cudaMallocAsync_ptsz (void **pointer, size_t size, void *stream);
int cudaFreeAsync (void *pointer, void *stream);
int cudaMallocHost (void **pointer, size_t size);
int cudaHostAlloc (void **pointer, size_t size, unsigned flags);
int cudaFreeHost (void *pointer);
int cudaMallocManaged (void **pointer, size_t size, unsigned flags);
int cudaStreamCreate (void **stream);
int cudaStreamCreateWithFlags (void **stream, unsigned flags);
int cudaStreamCreateWithPriority (void **stream, unsigned flags, int priority);
int cudaStreamSynchronize (void *stream);
int cudaDeviceSynchronize (void);
int cudaDeviceReset (void);
int cudaGetDriverEntryPoint (const char *symbol, void **function, unsigned long long flags,
                             int *status);
int record_marker (void);

static struct
{
  __typeof__ (cuGetProcAddress_v2) *get;
#define F(name) void *name;
  NAMES (F)
#undef F
} driver;

#define CALL(name, type) ((CUresult (*) type) driver.name)

static int
initialise (void)
{
  CUdriverProcAddressQueryResult status;
  CUdevice device;
  CUcontext context;

  if (driver.get == NULL)
    {
      void *library = dlopen ("libcuda.so.1", RTLD_NOW);
      driver.get = library != NULL
                       ? (__typeof__ (cuGetProcAddress_v2) *) dlsym (library, "cuGetProcAddress_v2")
                       : NULL;
      if (driver.get == NULL)
        return CUDA_ERROR_NOT_FOUND;
#define F(name) driver.get (#name, &driver.name, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
      NAMES (F)
#undef F
    }
  CALL (cuInit, (unsigned) ) (0);
  CALL (cuDeviceGet, (CUdevice *, int) ) (&device, 0);
  CUresult result = CALL (cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) (&context, device);
  return result == CUDA_SUCCESS ? (int) CALL (cuCtxSetCurrent, (CUcontext)) (context)
                                : (int) result;
}

#define RUNTIME(name, parameters, call) \
  EXPORT int name parameters \
  { \
    int failed = initialise (); \
    return failed != 0 ? failed : (int) call; \
  }

RUNTIME (cudaMalloc, (void **pointer, size_t size),
         CALL (cuMemAlloc, (void **, size_t)) (pointer, size))
RUNTIME (cudaFree, (void *pointer), CALL (cuMemFree, (void *) ) (pointer))
RUNTIME (cudaMallocAsync, (void **pointer, size_t size, void *stream),
         CALL (cuMemAllocAsync, (void **, size_t, void *) ) (pointer, size, stream))
RUNTIME (cudaMallocAsync_ptsz, (void **pointer, size_t size, void *stream),
         CALL (cuMemAllocAsync,
               (void **, size_t, void *) ) (pointer, size,
                                            stream != NULL ? stream : CU_STREAM_PER_THREAD))
RUNTIME (cudaFreeAsync, (void *pointer, void *stream),
         CALL (cuMemFreeAsync, (void *, void *) ) (pointer, stream))
RUNTIME (cudaMallocHost, (void **pointer, size_t size),
         CALL (cuMemHostAlloc, (void **, size_t, unsigned) ) (pointer, size, 0))
RUNTIME (cudaHostAlloc, (void **pointer, size_t size, unsigned flags),
         CALL (cuMemHostAlloc, (void **, size_t, unsigned) ) (pointer, size, flags))
RUNTIME (cudaFreeHost, (void *pointer), CALL (cuMemFreeHost, (void *) ) (pointer))
RUNTIME (cudaMallocManaged, (void **pointer, size_t size, unsigned flags),
         CALL (cuMemAllocManaged, (void **, size_t, unsigned) ) (pointer, size, flags))
RUNTIME (cudaStreamCreate, (void **stream),
         CALL (cuStreamCreate, (void **, unsigned) ) (stream, CU_STREAM_DEFAULT))
RUNTIME (cudaStreamCreateWithFlags, (void **stream, unsigned flags),
         CALL (cuStreamCreate, (void **, unsigned) ) (stream, flags))
RUNTIME (cudaStreamCreateWithPriority, (void **stream, unsigned flags, int priority),
         CALL (cuStreamCreateWithPriority, (void **, unsigned, int) ) (stream, flags, priority))
RUNTIME (cudaStreamSynchronize, (void *stream), CALL (cuStreamSynchronize, (void *) ) (stream))
RUNTIME (cudaDeviceSynchronize, (void), CALL (cuCtxSynchronize, (void) ) ())
RUNTIME (cudaDeviceReset, (void), CALL (cuDevicePrimaryCtxReset, (int) ) (0))
RUNTIME (cudaGetDriverEntryPoint,
         (const char *symbol, void **function, unsigned long long flags, int *status),
         driver.get (symbol, function, 12000, flags, (CUdriverProcAddressQueryResult *) status))

/* What stands behind a function of the same name in record-runtime.c. */
EXPORT int
record_marker (void)
{
  return 2;
}
