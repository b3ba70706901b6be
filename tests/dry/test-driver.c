/* test-driver.c - the stand-in driver itself: refusals, counts, real bytes under several mappings,
 * and the order of work.
 *
 * Every scenario runs in a process of its own, which opens the library as a program does; the test
 * reads its report afterwards.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "tests/util/testutil.h"

#define PAGE ((size_t) 2 << 20)

/* clang-format off */
#define FUNCTIONS(F) \
  F (cuInit) \
  F (cuDriverGetVersion) \
  F (cuGetErrorName) \
  F (cuDeviceGetCount) \
  F (cuDeviceGetAttribute) \
  F (cuDevicePrimaryCtxRetain) \
  F (cuDevicePrimaryCtxRelease) \
  F (cuCtxSetCurrent) \
  F (cuCtxGetCurrent) \
  F (cuMemAlloc) \
  F (cuMemFree) \
  F (cuMemAllocManaged) \
  F (cuMemHostAlloc) \
  F (cuMemFreeHost) \
  F (cuMemGetInfo) \
  F (cuMemAddressReserve) \
  F (cuMemAddressFree) \
  F (cuMemCreate) \
  F (cuMemRelease) \
  F (cuMemMap) \
  F (cuMemUnmap) \
  F (cuMemSetAccess) \
  F (cuMemAllocAsync) \
  F (cuMemFreeAsync) \
  F (cuDeviceGetDefaultMemPool) \
  F (cuMemPoolGetAttribute) \
  F (cuMemPoolSetAttribute) \
  F (cuMemsetD8) \
  F (cuMemsetD8Async) \
  F (cuMemsetD32) \
  F (cuMemcpyHtoD) \
  F (cuMemcpyDtoH) \
  F (cuMemcpyDtoD) \
  F (cuMemcpyDtoHAsync) \
  F (cuStreamCreate) \
  F (cuStreamDestroy) \
  F (cuStreamQuery) \
  F (cuStreamSynchronize) \
  F (cuStreamWaitEvent) \
  F (cuEventCreate) \
  F (cuEventDestroy) \
  F (cuEventRecord) \
  F (cuEventQuery) \
  F (cuEventSynchronize) \
  F (cuEventElapsedTime) \
  F (cuModuleLoadData) \
  F (cuModuleGetFunction) \
  F (cuModuleUnload) \
  F (cuLaunchKernel) \
  F (cuStreamBeginCapture) \
  F (cuStreamEndCapture) \
  F (cuStreamIsCapturing) \
  F (cuThreadExchangeStreamCaptureMode) \
  F (cuCtxSynchronize) \
  F (cuGraphDestroy) \
  F (cuGetExportTable)
/* clang-format on */

static struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
#undef MEMBER
  __typeof__ (cuGetProcAddress_v2) *get;
} cu;
static gpointer library;

/* The functions as the stand-in's cuGetProcAddress returns them for the version of the headers. */
static void
open_library (void)
{
  library = test_open_library ("tests/dry/.libs/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  *(gpointer *) &cu.get = dlsym (library, "cuGetProcAddress_v2");
#define LOAD(name) \
  g_assert_cmpint ( \
      cu.get (#name, (void **) &cu.name, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL), ==, \
      CUDA_SUCCESS); \
  g_assert_nonnull (cu.name);
  FUNCTIONS (LOAD)
#undef LOAD
}

#define OK(call) g_assert_cmpint (call, ==, CUDA_SUCCESS)
#define REFUSED(code, call) g_assert_cmpint (call, ==, code)

static CUcontext
begin (void)
{
  CUcontext context;

  open_library ();
  OK (cu.cuInit (0));
  OK (cu.cuDevicePrimaryCtxRetain (&context, 0));
  OK (cu.cuCtxSetCurrent (context));
  return context;
}

static void
end (void)
{
  OK (cu.cuCtxSetCurrent (NULL));
  OK (cu.cuDevicePrimaryCtxRelease (0));
}

static const CUmemAllocationProp on_device = {
  .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE }
};
static const CUmemAccessDesc to_device = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
                                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

/* A page, mapped at @address and accessible to the device. */
static CUmemGenericAllocationHandle
map_page (CUdeviceptr address)
{
  CUmemGenericAllocationHandle page;

  OK (cu.cuMemCreate (&page, PAGE, &on_device, 0));
  OK (cu.cuMemMap (address, PAGE, 0, page, 0));
  OK (cu.cuMemSetAccess (address, PAGE, &to_device, 1));
  return page;
}

static guint8
byte_at (CUdeviceptr address)
{
  guint8 byte;
  OK (cu.cuMemcpyDtoH (&byte, address, 1));
  return byte;
}

/* ---- scenarios */

static void
scenario_clean (void)
{
  CUdeviceptr memory, managed, pooled;
  guint8 text[5] = "gems", back[5];
  size_t free, total;
  void *host;

  begin ();
  OK (cu.cuMemAlloc (&memory, 3 * PAGE));
  OK (cu.cuMemGetInfo (&free, &total));
  g_assert_cmpuint (total - free, ==, 3 * PAGE);
  OK (cu.cuMemcpyHtoD (memory + PAGE - 2, text, 5));
  OK (cu.cuMemcpyDtoD (memory, memory + PAGE - 2, 5));
  OK (cu.cuMemcpyDtoH (back, memory, 5));
  g_assert_cmpmem (text, 5, back, 5);
  OK (cu.cuMemsetD32 (memory, 0x01020304, 2));
  OK (cu.cuMemcpyDtoH (back, memory + 1, 5));
  g_assert_cmpmem (back, 5, ((guint8[]){ 3, 2, 1, 4, 3 }), 5);
  /* no machine maps so much: refused, as more than the host has */
  g_assert_cmpint (cu.cuMemAllocManaged (&managed, (size_t) 1 << 50, CU_MEM_ATTACH_GLOBAL), ==,
                   CUDA_ERROR_OUT_OF_MEMORY);
  OK (cu.cuMemAllocManaged (&managed, 100, CU_MEM_ATTACH_GLOBAL));
  OK (cu.cuMemsetD8 (managed, 7, 100));
  OK (cu.cuStreamSynchronize (NULL));
  g_assert_cmpint (*(guint8 *) (guintptr) (managed + 99), ==, 7); /* host accesses work, too */
  OK (cu.cuMemHostAlloc (&host, 100, 0));
  OK (cu.cuMemcpyDtoH (host, managed, 100));
  OK (cu.cuMemAllocAsync (&pooled, 1000, NULL));
  OK (cu.cuMemFreeAsync (pooled, NULL));
  OK (cu.cuMemFreeHost (host));
  OK (cu.cuMemFree (managed));
  OK (cu.cuMemFree (memory));
  OK (cu.cuMemFree (0));
  OK (cu.cuStreamSynchronize (NULL));
  OK (cu.cuMemGetInfo (&free, &total));
  g_assert_cmpuint (free, ==, total);
  end ();
}

static void
scenario_leaks (void)
{
  CUdeviceptr memory, range;
  CUstream stream;
  CUevent event;
  void *host;

  begin ();
  OK (cu.cuMemAlloc (&memory, 1000));
  OK (cu.cuMemAlloc (&memory, 24));
  OK (cu.cuMemAllocAsync (&memory, 512, NULL));
  OK (cu.cuMemHostAlloc (&host, 10, 0));
  OK (cu.cuStreamCreate (&stream, 0));
  OK (cu.cuEventCreate (&event, 0));
  OK (cu.cuMemAddressReserve (&range, 4 * PAGE, 0, 0, 0));
  OK (cu.cuMemRelease (map_page (range))); /* the mapping still holds the page */
  map_page (range + PAGE);
  end ();
  OK (cu.cuDevicePrimaryCtxRetain (&(CUcontext){ NULL }, 0));
}

static void
scenario_misuse (void)
{
  CUmemGenericAllocationHandle page, other;
  CUdeviceptr memory, range;
  CUmemAllocationProp nowhere = on_device;
  CUstream stream;

  open_library ();
  REFUSED (CUDA_ERROR_NOT_INITIALIZED, cu.cuMemAlloc (&memory, 1));
  OK (cu.cuInit (0));
  REFUSED (CUDA_ERROR_INVALID_CONTEXT, cu.cuMemAlloc (&memory, 1));
  REFUSED (CUDA_ERROR_INVALID_CONTEXT, cu.cuStreamCreate (&stream, 0));
  REFUSED (CUDA_ERROR_INVALID_DEVICE, cu.cuDevicePrimaryCtxRetain (&(CUcontext){ NULL }, 1));
  begin ();
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc (&memory, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFree (0x1234));
  OK (cu.cuMemAlloc (&memory, 100));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFree (memory + 1));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync (memory, NULL));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost ((void *) (guintptr) memory));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32 (memory + 2, 0, 1));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoD (memory, 0x1234, 1));
  OK (cu.cuMemFree (memory));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFree (memory));
  OK (cu.cuStreamCreate (&stream, 0));
  OK (cu.cuStreamDestroy (stream));
  REFUSED (CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy (stream));
  REFUSED (CUDA_ERROR_INVALID_HANDLE, cu.cuStreamSynchronize (stream));

  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressReserve (&range, 0, 0, 0, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressReserve (&range, PAGE + 4096, 0, 0, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressReserve (&range, PAGE, 3, 0, 0));
  OK (cu.cuMemAddressReserve (&range, 2 * PAGE, 0, 0, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate (&page, 0, &on_device, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate (&page, PAGE / 2, &on_device, 0));
  nowhere.location.id = 5;
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemCreate (&page, PAGE, &nowhere, 0));
  page = map_page (range);
  OK (cu.cuMemCreate (&other, 2 * PAGE, &on_device, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range, PAGE, 0, page, 0)); /* mapped */
  /* a part of the page */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE, PAGE, 0, other, 0));
  /* beyond the range */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE, 2 * PAGE, 0, other, 0));
  /* an offset into the page */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE, PAGE, PAGE, other, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE / 2, PAGE, 0, other, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE, 2 * PAGE, 0, page, 0));
  /* half of it is not mapped */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemSetAccess (range, 2 * PAGE, &to_device, 1));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap (range, PAGE / 2));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap (range, 2 * PAGE));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree (range, 2 * PAGE)); /* still mapped */
  OK (cu.cuMemRelease (other));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemRelease (other));
  OK (cu.cuMemRelease (page));
  /* the handle was released, though its page is mapped */
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemMap (range + PAGE, PAGE, 0, page, 0));
  OK (cu.cuMemUnmap (range, PAGE));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemUnmap (range, PAGE));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemAddressFree (range, PAGE));
  OK (cu.cuMemAddressFree (range, 2 * PAGE));
  end ();
  REFUSED (CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease (0));
}

static void
scenario_aliases (void)
{
  CUmemGenericAllocationHandle page;
  CUdeviceptr range;

  begin ();
  OK (cu.cuMemAddressReserve (&range, 4 * PAGE, 0, 0, 0));
  page = map_page (range);
  OK (cu.cuMemMap (range + 2 * PAGE, PAGE, 0, page, 0));
  OK (cu.cuMemSetAccess (range + 2 * PAGE, PAGE, &to_device, 1));
  OK (cu.cuMemRelease (map_page (range + PAGE)));
  /* the last byte of one page and the first of the next */
  OK (cu.cuMemsetD8 (range + PAGE - 1, 9, 2));
  g_assert_cmpint (byte_at (range + 3 * PAGE - 1), ==, 9);
  g_assert_cmpint (byte_at (range + PAGE), ==, 9);
  g_assert_cmpint (byte_at (range + 2 * PAGE), ==, 0);
  OK (cu.cuMemUnmap (range, 2 * PAGE)); /* two whole mappings */
  OK (cu.cuMemRelease (page));
  g_assert_cmpint (byte_at (range + 3 * PAGE - 1), ==, 9);
  OK (cu.cuMemUnmap (range + 2 * PAGE, PAGE));
  OK (cu.cuMemAddressFree (range, 4 * PAGE));
  end ();
}

static void
scenario_unmapped (void)
{
  CUmemGenericAllocationHandle page;
  CUdeviceptr range, memory;
  const char *name;
  guint8 byte;

  begin ();
  OK (cu.cuMemAddressReserve (&range, 2 * PAGE, 0, 0, 0));
  page = map_page (range);
  OK (cu.cuMemsetD8 (range, 1, PAGE));
  OK (cu.cuStreamSynchronize (NULL));
  OK (cu.cuMemUnmap (range, PAGE));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemcpyDtoH (&byte, range + 5, 1));
  OK (cu.cuGetErrorName (CUDA_ERROR_ILLEGAL_ADDRESS, &name));
  g_assert_cmpstr (name, ==, "CUDA_ERROR_ILLEGAL_ADDRESS");
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAlloc (&memory, 1)); /* the context is lost, */
  OK (cu.cuInit (0));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemRelease (page)); /* but the release takes effect */
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAddressFree (range, 2 * PAGE));
  end ();
}

/* A mapped page is not accessible before cuMemSetAccess. */
static void
scenario_no_access (void)
{
  CUmemGenericAllocationHandle page;
  CUdeviceptr range;

  begin ();
  OK (cu.cuMemAddressReserve (&range, PAGE, 0, 0, 0));
  OK (cu.cuMemCreate (&page, PAGE, &on_device, 0));
  OK (cu.cuMemMap (range, PAGE, 0, page, 0));
  OK (cu.cuMemsetD8 (range, 1, 1)); /* the stream was not waited for yet */
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize (NULL));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemUnmap (range, PAGE));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemRelease (page));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAddressFree (range, PAGE));
  end ();
}

/* Events are pending until their work is done; streams without events between them do not wait
 * for each other. */
static void
scenario_streams (void)
{
  CUstream first, second;
  CUevent before, after;
  CUdeviceptr memory;
  float milliseconds;
  guint8 *host;
  guint turns;

  begin ();
  OK (cu.cuMemAlloc (&memory, 512 << 20));
  OK (cu.cuMemHostAlloc ((void **) &host, 1, 0));
  OK (cu.cuStreamCreate (&first, CU_STREAM_NON_BLOCKING));
  OK (cu.cuStreamCreate (&second, CU_STREAM_NON_BLOCKING));
  OK (cu.cuEventCreate (&before, 0));
  OK (cu.cuEventCreate (&after, 0));
  OK (cu.cuEventQuery (after)); /* never recorded */
  OK (cu.cuEventRecord (before, first));
  OK (cu.cuMemsetD8Async (memory, 3, 512 << 20, first));
  OK (cu.cuEventRecord (after, first));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (after));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuStreamQuery (first));
  OK (cu.cuStreamQuery (second));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventElapsedTime (&milliseconds, before, after));
  *host = 1;
  OK (cu.cuMemcpyDtoHAsync (host, memory, 1, second)); /* does not wait for the memset */
  OK (cu.cuStreamSynchronize (second));
  g_assert_cmpint (*host, ==, 0);
  OK (cu.cuStreamWaitEvent (second, after, 0));
  OK (cu.cuMemcpyDtoHAsync (host, memory, 1, second)); /* waits */
  g_assert_cmpint (*host, ==, 0);
  OK (cu.cuStreamSynchronize (second));
  g_assert_cmpint (*host, ==, 3);
  OK (cu.cuEventQuery (after));
  OK (cu.cuEventElapsedTime (&milliseconds, before, after));
  g_assert_cmpfloat (milliseconds, >, 0.1f);
  OK (cu.cuMemsetD8Async (memory, 4, 1, first));
  OK (cu.cuEventRecord (after, first));
  for (turns = 0; cu.cuEventQuery (after) == CUDA_ERROR_NOT_READY && turns < 1000; turns++)
    {
    } /* calls advance the clock */
  g_assert_cmpuint (turns, >, 2);
  g_assert_cmpuint (turns, <, 1000);
  g_assert_cmpint (byte_at (memory), ==, 4);
  OK (cu.cuEventDestroy (before));
  OK (cu.cuEventDestroy (after));
  OK (cu.cuStreamDestroy (first));
  OK (cu.cuStreamDestroy (second));
  OK (cu.cuMemFreeHost (host));
  OK (cu.cuMemFree (memory));
  end ();
}

static void
scenario_pools (void)
{
  CUdeviceptr first, second, third;
  guint64 reserved, keep = G_MAXUINT64;
  CUmemoryPool pool;
  CUstreamCaptureStatus status;
  CUcontext context;
  CUstream other;

  begin ();
  OK (cu.cuDeviceGetDefaultMemPool (&pool, 0));
  OK (cu.cuStreamCreate (&other, CU_STREAM_NON_BLOCKING));
  OK (cu.cuMemAllocAsync (&first, 1000, NULL));
  OK (cu.cuMemsetD8Async (first, 1, 1000, NULL));
  OK (cu.cuMemFreeAsync (first, NULL));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync (first, NULL));
  OK (cu.cuMemAllocAsync (&second, 1000, other)); /* the first is still in use in its stream, */
  g_assert_cmpuint (second, !=, first);
  OK (cu.cuMemAllocAsync (&third, 1000, NULL)); /* where it is available at once */
  g_assert_cmpuint (third, ==, first);
  OK (cu.cuStreamSynchronize (NULL));
  OK (cu.cuMemPoolSetAttribute (pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  OK (cu.cuMemFreeAsync (second, other));
  OK (cu.cuStreamSynchronize (other));
  OK (cu.cuMemPoolGetAttribute (pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  g_assert_cmpuint (reserved, ==, 2048);
  keep = 0;
  OK (cu.cuMemPoolSetAttribute (pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  OK (cu.cuStreamSynchronize (other));
  OK (cu.cuMemPoolGetAttribute (pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  g_assert_cmpuint (reserved, ==, 1024);
  OK (cu.cuMemFree (third)); /* permitted */
  OK (cu.cuStreamSynchronize (NULL));
  OK (cu.cuMemAllocAsync (&second, 5000, other));
  OK (cu.cuCtxGetCurrent (&context));
  OK (cu.cuCtxSetCurrent (NULL)); /* another stream than the default one says its context */
  REFUSED (CUDA_ERROR_INVALID_CONTEXT, cu.cuMemFreeAsync (second, NULL));
  OK (cu.cuStreamIsCapturing (other, &status));
  OK (cu.cuMemFreeAsync (second, other));
  OK (cu.cuCtxSetCurrent (context));
  OK (cu.cuStreamDestroy (other));
  end ();
}

/* Work that runs after its memory was freed. */
static void
scenario_late_work (void)
{
  CUdeviceptr memory;

  begin ();
  OK (cu.cuMemAllocAsync (&memory, 1000, NULL));
  OK (cu.cuMemFreeAsync (memory, NULL));
  OK (cu.cuMemsetD8Async (memory, 1, 1000, NULL));
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize (NULL));
  end ();
}

static void
scenario_functions (void)
{
  CUdriverProcAddressQueryResult status;
  void *function;

  open_library ();
#define SAME(name, symbol, version, flags) \
  OK (cu.get (name, &function, version, flags, &status)); \
  g_assert_cmpint (status, ==, CU_GET_PROC_ADDRESS_SUCCESS); \
  g_assert_nonnull (function); \
  g_assert_true (function == dlsym (library, symbol))
  SAME ("cuMemAlloc", "cuMemAlloc_v2", 3020, 0);
  SAME ("cuMemAlloc", "cuMemAlloc_v2", 12000, 0);
  SAME ("cuCtxCreate", "cuCtxCreate_v2", 11000, 0);
  SAME ("cuMemsetD8Async", "cuMemsetD8Async", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  SAME ("cuMemsetD8Async", "cuMemsetD8Async_ptsz", 12000,
        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  SAME ("cuMemcpyDtoH", "cuMemcpyDtoH_v2_ptds", 12000,
        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  SAME ("cuMemAlloc", "cuMemAlloc_v2", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  SAME ("cuGetProcAddress", "cuGetProcAddress", 11030, 0);
  SAME ("cuGetProcAddress", "cuGetProcAddress_v2", 12000, 0);
#undef SAME
  OK (cu.get ("cuMemAlloc_v2", &function, 12000, 0, &status));
  g_assert_null (function);
  g_assert_cmpint (status, ==, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  OK (cu.get ("cuMemCreate", &function, 10000, 0, &status));
  g_assert_null (function);
  g_assert_cmpint (status, ==, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.get ("cuMemCreate", &function, 99000, 0, &status));
}

static void
scenario_kernels (void)
{
  guint64 ns = 5000;
  void *parameters[] = { &ns };
  CUfunction function;
  CUmodule module;

  begin ();
  REFUSED (CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData (&module, "what is this"));
  OK (cu.cuModuleLoadData (&module, "//\n// Made by a compiler\n//\n\n.version 8.0\n"));
  REFUSED (CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction (&function, module, "no_such_kernel"));
  OK (cu.cuModuleGetFunction (&function, module, "gemem_occupy"));
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuLaunchKernel (function, 0, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuLaunchKernel (function, 1, 1, 1, 2048, 1, 1, 0, NULL, parameters, NULL));
  OK (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuStreamQuery (NULL));
  OK (cu.cuStreamSynchronize (NULL));
  OK (cu.cuModuleUnload (module));
  REFUSED (CUDA_ERROR_INVALID_HANDLE,
           cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  end ();
}

static void
scenario_faults (void)
{
  CUmemGenericAllocationHandle page;
  CUdeviceptr memory, range;

  begin ();
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc (&memory, 3 << 20)); /* more than the capacity */
  OK (cu.cuMemAddressReserve (&range, PAGE, 0, 0, 0));
  OK (cu.cuMemCreate (&page, PAGE, &on_device, 0));
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemMap (range, PAGE, 0, page, 0)); /* $GEMEM_DRIVER */
  OK (cu.cuMemMap (range, PAGE, 0, page, 0));
  /* $GEMEM_DRIVER_FAIL */
  REFUSED (CUDA_ERROR_UNKNOWN, cu.cuMemSetAccess (range, PAGE, &to_device, 1));
  OK (cu.cuMemSetAccess (range, PAGE, &to_device, 1));
  OK (cu.cuMemUnmap (range, PAGE));
  OK (cu.cuMemRelease (page));
  OK (cu.cuMemAddressFree (range, PAGE));
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemsetD8 (range, 0, 1));
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemsetD8 (range, 0, 1));
  end ();
}

static void
scenario_old (void)
{
  int version, count, can;
  void *function;

  begin ();
  OK (cu.cuDriverGetVersion (&version));
  g_assert_cmpint (version, ==, 12000);
  OK (cu.cuDeviceGetCount (&count));
  g_assert_cmpint (count, ==, 3);
  OK (cu.cuDeviceGetAttribute (&can, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 2));
  g_assert_cmpint (can, ==, 0);
  REFUSED (CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAddressReserve (&(CUdeviceptr){ 0 }, PAGE, 0, 0, 0));
  REFUSED (CUDA_ERROR_NOT_SUPPORTED, cu.cuMemAllocAsync (&(CUdeviceptr){ 0 }, PAGE, NULL));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.get ("cuInit", &function, 12050, 0, NULL));
  end ();
}

static void
scenario_no_device (void)
{
  open_library ();
  REFUSED (CUDA_ERROR_NO_DEVICE, cu.cuInit (0));
}

static gpointer
use_memory (gpointer context)
{
  CUdeviceptr memory;
  CUcontext current;

  OK (cu.cuCtxGetCurrent (&current));
  g_assert_null (current); /* each thread has its own */
  OK (cu.cuCtxSetCurrent (context));
  for (guint i = 0; i < 200; i++)
    {
      OK (cu.cuMemAlloc (&memory, 4096));
      OK (cu.cuMemsetD8Async (memory, i, 4096, CU_STREAM_PER_THREAD));
      OK (cu.cuStreamSynchronize (CU_STREAM_PER_THREAD));
      g_assert_cmpint (byte_at (memory + 4095), ==, (guint8) i);
      OK (cu.cuMemFree (memory));
    }
  return NULL;
}

static void
scenario_threads (void)
{
  CUcontext context = begin ();
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("user", use_memory, context);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  end ();
}

static void
scenario_fork (void)
{
  pid_t child;
  int status;

  begin ();
  if ((child = fork ()) == 0)
    _exit (cu.cuCtxSetCurrent (NULL) == CUDA_ERROR_NOT_INITIALIZED ? 7 : 8);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (WEXITSTATUS (status), ==, 7);
  end ();
}

/* ---- running them */

/* The status of the capture that ends with @stream; its graph is destroyed. */
static CUresult
end_capture (CUstream stream)
{
  CUgraph graph = NULL;
  CUresult result = cu.cuStreamEndCapture (stream, &graph);

  if (result == CUDA_SUCCESS)
    OK (cu.cuGraphDestroy (graph));
  else
    g_assert_null (graph);
  return result;
}

static gpointer
allocate_elsewhere (gpointer mode)
{
  CUstreamCaptureMode exchanged = GPOINTER_TO_INT (mode);
  CUdeviceptr memory;
  CUcontext context;

  OK (cu.cuDevicePrimaryCtxRetain (&context, 0));
  OK (cu.cuCtxSetCurrent (context));
  OK (cu.cuThreadExchangeStreamCaptureMode (&exchanged));
  CUresult result = cu.cuMemAlloc (&memory, 10);
  if (result == CUDA_SUCCESS)
    OK (cu.cuMemFree (memory));
  OK (cu.cuDevicePrimaryCtxRelease (0));
  return GINT_TO_POINTER ((int) result);
}

static CUresult
in_thread (CUstreamCaptureMode mode)
{
  return (CUresult) GPOINTER_TO_INT (
      g_thread_join (g_thread_new ("other", allocate_elsewhere, GINT_TO_POINTER ((int) mode))));
}

static void
scenario_capture (void)
{
  CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  CUstreamCaptureStatus status;
  CUstream first, second;
  CUevent fork;
  CUmemGenericAllocationHandle page;
  CUdeviceptr memory, other;

  begin ();
  OK (cu.cuMemAlloc (&memory, PAGE));
  OK (cu.cuStreamCreate (&first, CU_STREAM_NON_BLOCKING));
  OK (cu.cuStreamCreate (&second, CU_STREAM_NON_BLOCKING));
  OK (cu.cuEventCreate (&fork, CU_EVENT_DISABLE_TIMING));
  /* captured work is not run; a stream joins by an event, and leaves at the end */
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK (cu.cuMemsetD8Async (memory, 9, PAGE, first));
  OK (cu.cuEventRecord (fork, first));
  OK (cu.cuStreamIsCapturing (second, &status));
  g_assert_cmpint (status, ==, CU_STREAM_CAPTURE_STATUS_NONE);
  OK (cu.cuStreamWaitEvent (second, fork, 0));
  OK (cu.cuStreamIsCapturing (second, &status));
  g_assert_cmpint (status, ==, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK (end_capture (first));
  OK (cu.cuStreamIsCapturing (second, &status));
  g_assert_cmpint (status, ==, CU_STREAM_CAPTURE_STATUS_NONE);
  OK (cu.cuCtxSynchronize ());
  g_assert_cmpint (byte_at (memory), ==, 0);
  REFUSED (CUDA_ERROR_CAPTURED_EVENT, cu.cuEventQuery (fork));
  REFUSED (CUDA_ERROR_CAPTURED_EVENT, cu.cuStreamWaitEvent (second, fork, 0));
  OK (cu.cuEventRecord (fork, second));
  OK (cu.cuEventSynchronize (fork));
  /* every call that is not safe, or that waits, invalidates the capture */
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REFUSED (CUDA_ERROR_ILLEGAL_STATE,
           cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemAlloc (&other, 1));
  OK (cu.cuStreamIsCapturing (first, &status));
  g_assert_cmpint (status, ==, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end_capture (first));
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK (cu.cuMemAlloc (&other, 1));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamQuery (first));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end_capture (first));
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  g_assert_cmpint (in_thread (CU_STREAM_CAPTURE_MODE_GLOBAL), ==, CUDA_SUCCESS);
  OK (cu.cuThreadExchangeStreamCaptureMode (&relaxed));
  OK (cu.cuMemFree (other));
  OK (cu.cuThreadExchangeStreamCaptureMode (&relaxed));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuCtxSynchronize ());
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end_capture (first));
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  g_assert_cmpint (in_thread (CU_STREAM_CAPTURE_MODE_RELAXED), ==, CUDA_SUCCESS);
  g_assert_cmpint (in_thread (CU_STREAM_CAPTURE_MODE_GLOBAL), ==,
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, end_capture (first));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cu.cuStreamBeginCapture (NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REFUSED (CUDA_ERROR_ILLEGAL_STATE, end_capture (first));
  /* pages may be mapped meanwhile */
  OK (cu.cuMemAddressReserve (&other, PAGE, 0, 0, 0));
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  page = map_page (other);
  OK (end_capture (first));
  OK (cu.cuMemUnmap (other, PAGE));
  OK (cu.cuMemRelease (page));
  OK (cu.cuMemAddressFree (other, PAGE));
  /* streams may be destroyed while they are captured */
  OK (cu.cuStreamBeginCapture (first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK (cu.cuEventRecord (fork, first));
  OK (cu.cuStreamWaitEvent (second, fork, 0));
  OK (cu.cuStreamDestroy (second));
  OK (cu.cuStreamDestroy (first));
  OK (cu.cuEventDestroy (fork));
  OK (cu.cuMemFree (memory));
  REFUSED (CUDA_ERROR_NOT_FOUND, cu.cuGetExportTable (&(const void *){ NULL }, &(CUuuid){ { 0 } }));
  end ();
}

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *environment; /* "NAME=value NAME=value" */
  const char *report;      /* its lines about leaks and faults, in order; "*": not compared */
  guint misuses;
} Scenario;

static const Scenario scenarios[] = {
  { "clean", scenario_clean, "", "", 0 },
  { "leaks", scenario_leaks, "",
    "leak context 1 0\nleak stream 1 0\nleak event 1 0\nleak page 1 2097152\nleak allocation 2 "
    "1024\nleak host 1 10\n"
    "leak pooled 1 512\nleak mapping 2 4194304\nleak range 1 8388608\n",
    0 },
  { "misuse", scenario_misuse, "", "", 35 },
  { "aliases", scenario_aliases, "", "", 0 },
  { "unmapped", scenario_unmapped, "",
    "fault cuMemcpyDtoH_v2: reads 0x200000000005, which is not mapped\n", 0 },
  { "no-access", scenario_no_access, "",
    "fault cuMemsetD8_v2: writes 0x200000000000, which is not mapped\n", 0 },
  { "streams", scenario_streams, "", "", 0 },
  { "pools", scenario_pools, "", "", 2 },
  { "late-work", scenario_late_work, "",
    "fault cuMemsetD8Async: writes 0x100000000000, which is not mapped\n", 0 },
  { "functions", scenario_functions, "", "", 0 },
  { "capture", scenario_capture, "", "", 9 },
  { "kernels", scenario_kernels, "", "", 4 },
  { "faults", scenario_faults,
    "GEMEM_DRIVER=faulty:nth=1,call=map,capacity=2MiB "
    "GEMEM_DRIVER_FAIL=cuMemSetAccess=1:CUDA_ERROR_UNKNOWN,cuMemsetD8=1+",
    "", 0 },
  { "old", scenario_old,
    "GEMEM_DRIVER_VERSION=12000 GEMEM_DRIVER_DEVICES=3 GEMEM_DRIVER_VMM=0 GEMEM_DRIVER_POOLS=0", "",
    0 },
  { "no-device", scenario_no_device, "GEMEM_DRIVER_DEVICES=0", "", 0 },
  { "threads", scenario_threads, "", "", 0 },
  { "fork", scenario_fork, "", "", 0 },
};

static void
set_environment (const char *settings, gboolean on)
{
  g_auto (GStrv) words = g_strsplit (settings, " ", 0);

  for (guint i = 0; words[i] != NULL && *words[i] != '\0'; i++)
    {
      g_auto (GStrv) sides = g_strsplit (words[i], "=", 2);
      if (on)
        g_setenv (sides[0], sides[1], TRUE);
      else
        g_unsetenv (sides[0]);
    }
}

/* The lines of the report that begin with one of two words; *@misuses: the number of other lines
 * that begin with "misuse". */
static char *
read_report (const char *path, guint *misuses)
{
  GString *text = g_string_new (NULL);
  g_autofree char *content = NULL;

  g_assert_true (g_file_get_contents (path, &content, NULL, NULL));
  g_assert_true (g_str_has_suffix (content, "end\n"));
  g_auto (GStrv) lines = g_strsplit (content, "\n", 0);
  *misuses = 0;
  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], "leak ") || g_str_has_prefix (lines[i], "fault "))
      g_string_append_printf (text, "%s\n", lines[i]);
    else
      *misuses += g_str_has_prefix (lines[i], "misuse ");
  return g_string_free (text, FALSE);
}

static void
test_scenario (gconstpointer data)
{
  const Scenario *scenario = data;
  g_autofree char *path = NULL, *report = NULL;
  guint misuses;

  if (g_test_subprocess ())
    {
      scenario->run ();
      return;
    }
  path = g_build_filename (test_tmpdir (), scenario->name, NULL);
  set_environment (scenario->environment, TRUE);
  g_setenv ("GEMEM_DRIVER_REPORT", path, TRUE);
  g_test_trap_subprocess (NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
  set_environment (scenario->environment, FALSE);
  g_test_trap_assert_passed ();
  report = read_report (path, &misuses);
  g_assert_cmpstr (report, ==, scenario->report);
  g_assert_cmpuint (misuses, ==, scenario->misuses);
}

static void
add_tests (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (scenarios); i++)
    {
      g_autofree char *path = g_strconcat ("/gemem_driver/", scenarios[i].name, NULL);
      g_test_add_data_func (path, &scenarios[i], test_scenario);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add_tests ();
  return g_test_run ();
}
