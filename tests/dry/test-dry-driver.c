/* test-dry-driver.c - the driver of dry runs: memory that is not backed, work that completes at
 * once, any image, graphs, several devices, what is not written, and what the notes say.
 *
 * Every scenario runs in a process of its own, which opens libgemem-dry.so.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "dry/libraries/missing.h"
#include "tests/util/scenarios.h"
#include "tests/util/testutil.h"

#define MIB ((size_t) 1 << 20)
#define GIB ((size_t) 1 << 30)

/* clang-format off */
#define FUNCTIONS(F) \
  F (cuInit) F (cuDeviceGetCount) F (cuDeviceGetAttribute) F (cuDeviceGetName) \
  F (cuDeviceGetByPCIBusId) F (cuDeviceGetP2PAttribute) F (cuDevicePrimaryCtxRetain) \
  F (cuCtxSetCurrent) F (cuCtxGetLimit) F (cuCtxSynchronize) F (cuMemAlloc) F (cuMemFree) F (cuMemGetInfo) \
  F (cuMemAllocManaged) F (cuMemHostAlloc) F (cuMemcpyHtoD) F (cuMemcpyDtoH) \
  F (cuMemcpyDtoD) F (cuMemcpy) F (cuMemcpy2D) F (cuMemcpyPeer) F (cuMemsetD8) F (cuMemsetD32) \
  F (cuMemAllocAsync) F (cuMemFreeAsync) F (cuDeviceGetDefaultMemPool) F (cuMemPoolSetAttribute) \
  F (cuMemPoolCreate) F (cuMemAllocFromPoolAsync) \
  F (cuDeviceGetGraphMemAttribute) F (cuDeviceGraphMemTrim) \
  F (cuMemAddressReserve) F (cuMemCreate) F (cuMemMap) F (cuMemSetAccess) F (cuMemUnmap) F (cuMemRelease) \
  F (cuMemExportToShareableHandle) F (cuMemImportFromShareableHandle) \
  F (cuStreamCreate) F (cuStreamGetGreenCtx) F (cuStreamQuery) F (cuStreamSynchronize) F (cuStreamBeginCapture) \
  F (cuStreamEndCapture) F (cuStreamGetCaptureInfo_v2) F (cuStreamUpdateCaptureDependencies) F (cuStreamUpdateCaptureDependencies_v2) F (cuLaunchHostFunc) F (cuEventCreate) F (cuEventRecord) \
  F (cuEventQuery) F (cuEventSynchronize) F (cuEventDestroy) F (cuEventElapsedTime) F (cuStreamWaitEvent) F (cuStreamDestroy) F (cuModuleLoadData) F (cuModuleUnload) F (cuModuleGetFunction) \
  F (cuModuleGetGlobal) F (cuFuncGetAttribute) F (cuFuncSetAttribute) F (cuLaunchKernel) F (cuLibraryLoadData) \
  F (cuLibraryGetKernel) F (cuOccupancyMaxActiveBlocksPerMultiprocessor) F (cuGraphGetNodes) \
  F (cuGraphInstantiateWithFlags) F (cuGraphLaunch) F (cuGraphExecDestroy) F (cuGraphDestroy) \
  F (cuUserObjectCreate) F (cuGraphRetainUserObject) F (cuGetExportTable) \
  F (cuModuleGetFunctionCount) F (cuModuleEnumerateFunctions) F (cuLibraryGetKernelCount) F (cuLibraryEnumerateKernels) F (cuPointerGetAttribute)
/* clang-format on */

static struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
#undef MEMBER
  __typeof__ (cuGetProcAddress_v2) *get;
} cu;
static gpointer library;

#define STRINGIFY(name) #name /* of what the name stands for */
#define SYMBOL(name) STRINGIFY (name)
#define OK(call) g_assert_cmpint (call, ==, CUDA_SUCCESS)
#define REFUSED(code, call) g_assert_cmpint (call, ==, code)

static void
open_library (void)
{
  library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);
#define LOAD(name) \
  *(gpointer *) &cu.name = dlsym (library, SYMBOL (name)); \
  g_assert_nonnull (cu.name);
  FUNCTIONS (LOAD)
#undef LOAD
  *(gpointer *) &cu.get = dlsym (library, "cuGetProcAddress_v2");
}

/* Opens the library, and makes the context of device 0 current. */
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

static guint64
used (void)
{
  size_t available, total;

  OK (cu.cuMemGetInfo (&available, &total));
  return total - available;
}

/* ---- scenarios */

/* What the process has mapped; a sanitizer's shadow alone is terabytes. */
static rlim_t
address_space (void)
{
  g_autofree char *text = NULL;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL));
  return g_ascii_strtoull (text, NULL, 10) * (rlim_t) sysconf (_SC_PAGESIZE);
}

/* 60 GB with less than 1 GB of address space more; reads give zeros; the capacity is the table's. */
static void
scenario_memory (void)
{
  struct rlimit limit;
  g_autofree guint8 *host = g_malloc (MIB);
  CUdeviceptr large, other, managed;
  size_t available, total;
  guint8 *pinned;

  begin ();
  limit.rlim_cur = limit.rlim_max = address_space () + GIB;
  g_assert_cmpint (setrlimit (RLIMIT_AS, &limit), ==, 0);
  OK (cu.cuMemGetInfo (&available, &total));
  g_assert_cmpuint (total, ==, 81079 * MIB);
  for (int i = 7; i < 10; i++) /* of shared memory and graphics, which cuBLASLt asks for */
    {
      OK (cu.cuCtxGetLimit (&available, i));
      g_assert_cmpuint (available, ==, 0);
    }
  REFUSED (CUDA_ERROR_UNSUPPORTED_LIMIT, cu.cuCtxGetLimit (&available, 10));
  OK (cu.cuMemAlloc (&large, 60 * GIB));
  g_assert_cmpuint (used (), ==, 60 * GIB);
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc (&other, 60 * GIB));
  memset (host, 7, MIB);
  OK (cu.cuMemcpyHtoD (large, host, MIB));
  OK (cu.cuMemsetD8 (large, 9, 60 * GIB));
  OK (cu.cuMemcpyDtoD (large + GIB, large, GIB));
  OK (cu.cuMemcpyDtoH (host + 1, large + 59 * GIB, MIB - 2));
  g_assert_cmpuint (host[0], ==, 7);
  g_assert_cmpuint (host[1], ==, 0);
  g_assert_cmpuint (host[MIB - 2], ==, 0);
  g_assert_cmpuint (host[MIB - 1], ==, 7);
  /* host memory of every kind is real, and counts on no device */
  OK (cu.cuMemAllocManaged (&managed, MIB, CU_MEM_ATTACH_GLOBAL));
  OK (cu.cuMemHostAlloc ((void **) &pinned, MIB, 0));
  g_assert_cmpuint (used (), ==, 60 * GIB);
  memset (pinned, 5, MIB);
  OK (cu.cuMemcpy (managed, (guintptr) pinned, MIB));
  g_assert_cmpuint (((guint8 *) (guintptr) managed)[MIB - 1], ==, 5);
  OK (cu.cuMemsetD32 (managed, 0x01020304, 2));
  g_assert_cmpuint (((guint8 *) (guintptr) managed)[7], ==, 1);
  OK (cu.cuMemcpyDtoH (pinned, large, 16));
  g_assert_cmpuint (pinned[15], ==, 0);
  g_assert_cmpuint (pinned[16], ==, 5);
  OK (cu.cuMemFree (large));
  g_assert_cmpuint (used (), ==, 0);
  REFUSED (CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemcpyDtoH (host, large, 16));
}

static void
scenario_regions (void)
{
  guint8 host[4][8];
  CUdeviceptr device;

  begin ();
  memset (host, 3, sizeof host);
  OK (cu.cuMemAlloc (&device, 4096));
  OK (cu.cuMemcpy2D (&(CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                       .srcDevice = device,
                                       .srcPitch = 512,
                                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                                       .dstHost = host,
                                       .dstPitch = 8,
                                       .dstXInBytes = 2,
                                       .dstY = 1,
                                       .WidthInBytes = 4,
                                       .Height = 2 }));
  for (guint y = 0; y < 4; y++)
    for (guint x = 0; x < 8; x++)
      g_assert_cmpuint (host[y][x], ==, (y == 1 || y == 2) && x >= 2 && x < 6 ? 0 : 3);
}

/* Any image; the limits of the GPU hold. */
static void
scenario_kernels (void)
{
  CUfunction function, again;
  CUlibrary collection;
  CUdeviceptr address;
  CUkernel kernel;
  CUmodule module;
  CUgreenCtx green = (CUgreenCtx) &green;
  CUstream stream;
  size_t size;
  int value;

  begin ();
  OK (cu.cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));
  OK (cu.cuStreamGetGreenCtx (stream, &green));
  g_assert_null (green);
  OK (cu.cuModuleLoadData (&module, "whatever"));
  OK (cu.cuModuleGetFunction (&function, module, "kernel"));
  OK (cu.cuModuleGetFunction (&again, module, "kernel"));
  g_assert_true (function == again);
  OK (cu.cuLaunchKernel (function, 1000, 1, 1, 256, 1, 1, 0, stream, NULL, NULL));
  OK (cu.cuStreamQuery (stream));
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuLaunchKernel (function, 1, 1, 1, 2048, 1, 1, 0, stream, NULL, NULL));
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuLaunchKernel (function, 1, 1, 1, 32, 1, 1, 100 << 10, stream, NULL, NULL));
  OK (cu.cuFuncSetAttribute (function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
  OK (cu.cuLaunchKernel (function, 1, 1, 1, 32, 1, 1, 100 << 10, stream, NULL, NULL));
  OK (cu.cuFuncGetAttribute (&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  g_assert_cmpint (value, ==, 100 << 10);
  REFUSED (
      CUDA_ERROR_INVALID_VALUE,
      cu.cuFuncSetAttribute (function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300 << 10));
  /* of a newer driver: Triton 3.8 sets it and, where it is not known, the size */
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuFuncSetAttribute (function, (CUfunction_attribute) 17, 3));
  REFUSED (CUDA_ERROR_INVALID_VALUE,
           cu.cuFuncGetAttribute (&value, (CUfunction_attribute) 17, function));
  OK (cu.cuOccupancyMaxActiveBlocksPerMultiprocessor (&value, function, 1024, 0));
  g_assert_cmpint (value, ==, 2);
  OK (cu.cuModuleGetGlobal (&address, &size, module, "variable"));
  g_assert_cmpuint (size, >, 0);
  OK (cu.cuMemsetD8 (address, 1, size));
  g_assert_cmpuint (used (), ==, 0);
  OK (cu.cuModuleUnload (module));
  REFUSED (CUDA_ERROR_INVALID_HANDLE,
           cu.cuLaunchKernel (function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
  OK (cu.cuLibraryLoadData (&collection, "more", NULL, NULL, 0, NULL, NULL, 0));
  OK (cu.cuLibraryGetKernel (&kernel, collection, "kernel"));
  OK (cu.cuLaunchKernel ((CUfunction) kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  OK (cu.cuLibraryGetKernel (&kernel, collection, "quiet")); /* nobody asks what it needs */
  OK (cu.cuFuncSetAttribute ((CUfunction) kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             100 << 10));
  OK (cu.cuLaunchKernel ((CUfunction) kernel, 1, 1, 1, 32, 1, 1, 100 << 10, NULL, NULL, NULL));
}

static void
keep_function (void *last, CUfunction function)
{
  *(CUfunction *) last = function;
}

/* All functions of an image, by the public calls and by the table of the driver that cuFFT asks for; the number of an
 * allocation, by which it tells one from another. */
static void
scenario_libraries (void)
{
  static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry second ()\n{\n  ret;\n}\n"
                            ".visible .entry first ()\n{\n  ret;\n}\n";
  static const CUuuid visits = {
    "\x6e\x16\x3f\xbe\xb9\x58\x44\x4d\x83\x5c\xe1\x82\xaf\xf1\x99\x1e"
  };
  typedef unsigned Visit (CUcontext, CUmodule, void (*) (void *, CUfunction), void *);
  const void *table;
  unsigned long long number, again;
  CUfunction functions[2] = { NULL, NULL }, named, last = NULL;
  CUkernel kernels[3] = { NULL, NULL, NULL };
  CUlibrary collection;
  CUdeviceptr address, second;
  CUmodule module;
  unsigned n = 0;

  const CUcontext context = begin ();
  OK (cu.cuModuleLoadData (&module, ptx));
  OK (cu.cuModuleGetFunctionCount (&n, module));
  g_assert_cmpuint (n, ==, 2);
  OK (cu.cuModuleEnumerateFunctions (functions, 1, module));
  OK (cu.cuModuleGetFunction (&named, module, "first"));
  g_assert_true (functions[0] == named && functions[1] == NULL);
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuModuleGetFunctionCount (NULL, module));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuModuleEnumerateFunctions (NULL, 1, module));
  OK (cu.cuGetExportTable (&table, &visits));
  g_assert_cmpuint (((Visit *const *) table)[7](context, module, keep_function, &last), ==, 2);
  OK (cu.cuModuleGetFunction (&named, module, "second"));
  g_assert_true (last == named);
  g_assert_cmpuint (((Visit *const *) table)[7](context, NULL, keep_function, &last), ==, 0);
  OK (cu.cuLibraryLoadData (&collection, ptx, NULL, NULL, 0, NULL, NULL, 0));
  OK (cu.cuLibraryGetKernelCount (&n, collection));
  g_assert_cmpuint (n, ==, 2);
  OK (cu.cuLibraryEnumerateKernels (kernels, 3, collection));
  g_assert_true (kernels[1] != NULL && kernels[2] == NULL);

  OK (cu.cuMemAlloc (&address, MIB));
  OK (cu.cuPointerGetAttribute (&number, CU_POINTER_ATTRIBUTE_BUFFER_ID, address + 1));
  OK (cu.cuMemFree (address));
  OK (cu.cuMemAlloc (&second, MIB));
  OK (cu.cuPointerGetAttribute (&again, CU_POINTER_ATTRIBUTE_BUFFER_ID, second));
  g_assert_cmpuint (again, >, number);
}

/* The names of functions before they had a version; cuDNN looks these up by dlsym(). */
static void
scenario_older (void)
{
  CUcontext context, popped;
  CUresult (*push) (CUcontext), (*pop) (CUcontext *), (*reset) (CUdevice),
      (*create) (CUevent *, guint), (*destroy) (CUevent);
  CUevent event;

  context = begin ();
  *(gpointer *) &push = dlsym (library, "cuCtxPushCurrent");
  *(gpointer *) &pop = dlsym (library, "cuCtxPopCurrent");
  *(gpointer *) &create = dlsym (library, "cuEventCreate");
  *(gpointer *) &destroy = dlsym (library, "cuEventDestroy");
  *(gpointer *) &reset = dlsym (library, "cuDevicePrimaryCtxReset");
  OK (push (context));
  OK (create (&event, 0));
  OK (destroy (event));
  REFUSED (CUDA_ERROR_INVALID_HANDLE, destroy (event));
  OK (pop (&popped));
  g_assert_true (popped == context);
  OK (reset (0));
}

static void
count (void *data)
{
  ++*(guint *) data;
}

static void
scenario_graphs (void)
{
  guint calls = 0, destroyed = 0;
  CUstreamCaptureStatus status;
  CUfunction function;
  CUgraphExec exec;
  CUdeviceptr memory, inside;
  CUuserObject kept;
  CUmodule module;
  CUstream stream;
  CUgraph graph;
  cuuint64_t id, bytes;
  size_t n;
  static GememDryStub product = { .calls = 1 };
  __typeof__ (gemem_dry_stub) *called;

  begin ();
  *(gpointer *) &called = dlsym (library, "gemem_dry_stub");
  OK (called ("cublasStrsm_v2", "libcublas.so.12", &product));
  OK (cu.cuStreamCreate (&stream, CU_STREAM_NON_BLOCKING));
  OK (cu.cuModuleLoadData (&module, "image"));
  OK (cu.cuModuleGetFunction (&function, module, "kernel"));
  OK (cu.cuMemAlloc (&memory, MIB));
  OK (cu.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  OK (cu.cuLaunchHostFunc (stream, count, &calls));
  OK (cu.cuMemAllocAsync (&inside, 3 * MIB, stream));
  OK (cu.cuMemFreeAsync (inside, stream));
  OK (cu.cuStreamGetCaptureInfo_v2 (stream, &status, &id, NULL, NULL, NULL));
  g_assert_cmpint (status, ==, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK (cu.cuStreamUpdateCaptureDependencies (stream, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  OK (cu.cuStreamUpdateCaptureDependencies_v2 (stream, NULL, NULL, 0, 0));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuStreamUpdateCaptureDependencies (stream, NULL, 0, 2));
  REFUSED (CUDA_ERROR_INVALID_VALUE, cu.cuStreamUpdateCaptureDependencies (stream, NULL, 1, 0));
  REFUSED (CUDA_ERROR_ILLEGAL_STATE, cu.cuStreamUpdateCaptureDependencies (NULL, NULL, 0, 0));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuMemAlloc (&inside, MIB));
  REFUSED (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cu.cuStreamEndCapture (stream, &graph));
  OK (cu.cuStreamBeginCapture (stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
  OK (cu.cuLaunchHostFunc (stream, count, &calls));
  OK (cu.cuMemAllocAsync (&inside, 3 * MIB, stream));
  OK (cu.cuMemFreeAsync (inside, stream));
  product.calls += 2; /* of the library, on this stream as far as the driver knows */
  OK (cu.cuStreamEndCapture (stream, &graph));
  OK (cu.cuGraphGetNodes (graph, NULL, &n));
  g_assert_cmpuint (n, ==, 6);
  g_assert_cmpuint (calls, ==, 0);
  OK (cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  OK (cu.cuGraphLaunch (exec, stream));
  OK (cu.cuGraphLaunch (exec, stream));
  g_assert_cmpuint (calls, ==, 2);
  g_assert_cmpuint (used (), ==, 4 * MIB);
  OK (cu.cuDeviceGetGraphMemAttribute (0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
  g_assert_cmpuint (bytes, ==, 3 * MIB);
  OK (cu.cuUserObjectCreate (&kept, &destroyed, count, 1, 1));
  OK (cu.cuGraphRetainUserObject (graph, kept, 1, CU_GRAPH_USER_OBJECT_MOVE));
  OK (cu.cuGraphDestroy (graph));
  g_assert_cmpuint (destroyed, ==, 1);
  OK (cu.cuGraphExecDestroy (exec));
  OK (cu.cuDeviceGraphMemTrim (0));
  g_assert_cmpuint (used (), ==, MIB);
}

/* Two devices: each has its own memory; host memory is not taken for theirs. */
static void
scenario_devices (void)
{
  CUdeviceptr here, there;
  CUcontext first, second;
  guint8 host[64];
  int n, value;
  char name[64];
  float ms;
  CUevent start, end;
  CUstream stream;

  first = begin ();
  OK (cu.cuDeviceGetCount (&n));
  g_assert_cmpint (n, ==, 2);
  OK (cu.cuDeviceGetName (name, sizeof name, 1));
  g_assert_cmpstr (name, ==, "NVIDIA A100-SXM4-40GB");
  OK (cu.cuDeviceGetAttribute (&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1));
  g_assert_cmpint (value, ==, 108);
  OK (cu.cuDeviceGetByPCIBusId (&value, "0000:02:00.0"));
  g_assert_cmpint (value, ==, 1);
  OK (cu.cuDeviceGetP2PAttribute (&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  g_assert_cmpint (value, ==, 1);
  OK (cu.cuDevicePrimaryCtxRetain (&second, 1));
  OK (cu.cuMemAlloc (&here, GIB));
  OK (cu.cuCtxSetCurrent (second));
  OK (cu.cuMemAlloc (&there, 2 * GIB));
  g_assert_cmpuint (used (), ==, 2 * GIB);
  memset (host, 1, sizeof host);
  OK (cu.cuMemcpyPeer (there, second, here, first, GIB));
  OK (cu.cuMemcpyHtoD (there, host, sizeof host));
  OK (cu.cuMemcpyDtoH (host, here, sizeof host));
  g_assert_cmpuint (host[63], ==, 0);
  OK (cu.cuStreamCreate (&stream, 0));
  OK (cu.cuEventCreate (&start, 0));
  OK (cu.cuEventCreate (&end, 0));
  OK (cu.cuEventRecord (start, stream));
  OK (cu.cuMemsetD8 (there, 0, GIB));
  OK (cu.cuEventRecord (end, stream));
  OK (cu.cuEventQuery (end)); /* complete as soon as it is recorded */
  OK (cu.cuEventElapsedTime (&ms, start, end));
  OK (cu.cuCtxSetCurrent (first));
  g_assert_cmpuint (used (), ==, GIB);
}

/* A GPU that is late: what the host has waited for is done, in the order of streams and what they waited for; a stream that nobody
 * waited for is not. */
static void
scenario_late (void)
{
  CUstream a, b;
  CUevent on_a, on_b, never;
  CUdeviceptr block;

  g_setenv ("GEMEM_DRY_LATE", "1", TRUE);
  begin ();
  OK (cu.cuMemAlloc (&block, MIB));
  OK (cu.cuStreamCreate (&a, CU_STREAM_NON_BLOCKING));
  OK (cu.cuStreamCreate (&b, CU_STREAM_NON_BLOCKING));
  OK (cu.cuEventCreate (&on_a, 0));
  OK (cu.cuEventCreate (&on_b, 0));
  OK (cu.cuEventCreate (&never, 0));
  OK (cu.cuEventQuery (never));
  OK (cu.cuEventRecord (on_a, a));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (on_a));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuStreamQuery (a));
  OK (cu.cuEventRecord (on_b, b));
  OK (cu.cuStreamSynchronize (b)); /* says nothing of the other */
  OK (cu.cuEventQuery (on_b));
  OK (cu.cuStreamQuery (b));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (on_a));
  OK (cu.cuStreamWaitEvent (b, on_a, 0));
  OK (cu.cuEventRecord (on_b, b));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (on_b));
  OK (cu.cuEventSynchronize (on_b)); /* which waited for the other */
  OK (cu.cuEventQuery (on_a));
  OK (cu.cuEventRecord (on_a, a));
  OK (cu.cuMemsetD8 (block, 0, MIB)); /* of the default stream, which does not wait for it */
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (on_a));
  OK (cu.cuMemFree (block)); /* waits for the device, as on an H100 */
  OK (cu.cuEventQuery (on_a));
  OK (cu.cuEventRecord (on_a, a));
  OK (cu.cuCtxSynchronize ());
  OK (cu.cuEventQuery (on_a));
  OK (cu.cuEventRecord (on_a, a));
  guint asked = 1;
  while (cu.cuEventQuery (on_a) != CUDA_SUCCESS) /* a program that waits by asking */
    g_assert_cmpuint (asked++, <, 1000);
  g_assert_cmpuint (asked, >, 10);
  OK (cu.cuEventRecord (on_a, a));
  OK (cu.cuStreamDestroy (a));
  REFUSED (CUDA_ERROR_NOT_READY, cu.cuEventQuery (on_a));
  OK (cu.cuEventDestroy (on_a));
}

/* A stream frees memory whichever context is current, and the notes have what pools may keep. */
static void
scenario_pools (void)
{
  const CUcontext first = begin ();
  CUcontext second;
  CUdeviceptr block;
  CUmemoryPool pool;
  CUstream stream;
  cuuint64_t keep = 3 * GIB;

  OK (cu.cuStreamCreate (&stream, 0));
  OK (cu.cuMemAllocAsync (&block, GIB, stream));
  OK (cu.cuDevicePrimaryCtxRetain (&second, 1));
  OK (cu.cuCtxSetCurrent (second));
  OK (cu.cuMemFreeAsync (block, stream));
  OK (cu.cuCtxSetCurrent (first));
  OK (cu.cuCtxSynchronize ());
  g_assert_cmpuint (used (), ==, 0);
  OK (cu.cuDeviceGetDefaultMemPool (&pool, 1));
  OK (cu.cuMemPoolSetAttribute (pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
}

/* What a pool keeps is taken before another pool, or a plain request, is refused; what it has in use is not. */
static void
scenario_full (void)
{
  const CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
  CUdeviceptr kept, block, small;
  CUmemoryPool pool, other;
  cuuint64_t keep = G_MAXUINT64;

  begin ();
  OK (cu.cuDeviceGetDefaultMemPool (&pool, 0));
  OK (cu.cuMemPoolSetAttribute (pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  OK (cu.cuMemPoolCreate (&other, &properties));
  OK (cu.cuMemPoolSetAttribute (other, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  OK (cu.cuMemAllocAsync (&kept, 60 * GIB, NULL));
  OK (cu.cuMemAllocAsync (&small, GIB, NULL));
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync (&block, 60 * GIB, other, NULL));
  OK (cu.cuMemFreeAsync (kept, NULL));
  OK (cu.cuCtxSynchronize ());
  g_assert_cmpuint (used (), ==, 61 * GIB);
  OK (cu.cuMemAllocFromPoolAsync (&block, 60 * GIB, other, NULL));
  g_assert_cmpuint (used (), ==, 61 * GIB);
  OK (cu.cuMemFreeAsync (block, NULL));
  OK (cu.cuCtxSynchronize ());
  OK (cu.cuMemAlloc (&block, 60 * GIB));
  g_assert_cmpuint (used (), ==, 61 * GIB);
  REFUSED (CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc (&kept, 60 * GIB));
  OK (cu.cuMemFree (block));
}

/* A page of another process has addresses and takes nothing. */
static void
scenario_shared (void)
{
  const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
  const CUmemAccessDesc access = { properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
  CUmemGenericAllocationHandle page, imported;
  CUdeviceptr range;
  int file;

  begin ();
  OK (cu.cuMemCreate (&page, 2 * MIB, &properties, 0));
  OK (cu.cuMemExportToShareableHandle (&file, page, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK (cu.cuMemImportFromShareableHandle (&imported, (void *) (gintptr) file,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  OK (cu.cuMemAddressReserve (&range, 2 * MIB, 0, 0, 0));
  OK (cu.cuMemMap (range, 2 * MIB, 0, imported, 0));
  OK (cu.cuMemSetAccess (range, 2 * MIB, &access, 1));
  OK (cu.cuMemsetD8 (range, 1, 2 * MIB));
  g_assert_cmpuint (used (), ==, 2 * MIB);
  OK (cu.cuMemUnmap (range, 2 * MIB));
  OK (cu.cuMemRelease (imported));
  OK (cu.cuMemRelease (page));
  g_assert_cmpuint (used (), ==, 0);
}

/* What is not written is found, and fails by its name when it is called. */
static void
scenario_absent (void)
{
  CUresult (*function) (void) = NULL;

  begin ();
  OK (cu.get ("cuTexObjectCreate", (void **) &function, 13000, 0, NULL));
  REFUSED (CUDA_ERROR_NOT_SUPPORTED, function ());
  OK (cu.get ("cuCtxResetPersistingL2Cache", (void **) &function, 13000, 0, NULL));
  OK (function ());
  *(gpointer *) &function = dlsym (library,
                                   "nvmlDeviceGetMultiGpuBoard"); /* known to change nothing */
  REFUSED (3, function ());
  *(gpointer *) &function = dlsym (library, "nvmlDeviceGetTopologyCommonAncestor");
  REFUSED (3, function ());
  REFUSED (CUDA_ERROR_NOT_FOUND, cu.get ("cuNoSuchThing", (void **) &function, 13000, 0, NULL));
  REFUSED (CUDA_ERROR_NOT_FOUND, cu.cuGetExportTable (&(const void *){ NULL }, &(CUuuid){ { 0 } }));
}

#define THREADS 16

static gpointer
allocate_for_a_second (gpointer context)
{
  gint64 end = g_get_monotonic_time () + G_USEC_PER_SEC;
  guint rounds = 0;

  OK (cu.cuCtxSetCurrent (context));
  do /* once at least: on a busy machine a thread may begin when the second is over */
    {
      CUdeviceptr plain, pooled;
      OK (cu.cuMemAlloc (&plain, MIB));
      OK (cu.cuMemAllocAsync (&pooled, MIB, NULL));
      OK (cu.cuMemsetD8 (plain, 0, MIB));
      OK (cu.cuMemFreeAsync (pooled, NULL));
      OK (cu.cuMemFree (plain));
      rounds++;
    }
  while (g_get_monotonic_time () < end);
  return GUINT_TO_POINTER (rounds);
}

static void
scenario_threads (void)
{
  CUcontext context = begin ();
  GThread *threads[THREADS];

  for (guint i = 0; i < THREADS; i++)
    threads[i] = g_thread_new (NULL, allocate_for_a_second, context);
  for (guint i = 0; i < THREADS; i++)
    g_assert_cmpuint (GPOINTER_TO_UINT (g_thread_join (threads[i])), >, 0);
  OK (cu.cuCtxSynchronize ());
  g_assert_cmpuint (used (), ==, 0);
}

static const TestScenario scenarios[] = {
  { "memory", scenario_memory, NULL, NULL,
    "managed 1048576 bytes\nvalue 16 bytes\nfault cuMemcpyDtoH_v2: reads " },
  { "regions", scenario_regions, NULL, NULL, "number 4 bytes\ntimes 2 number 4 bytes\n" },
  { "kernels", scenario_kernels, NULL, NULL, "kernel kernel\n!kernel quiet" },
  { "older", scenario_older },
  { "graphs", scenario_graphs },
  { "devices", scenario_devices, "a100-40", "2", "asked " },
  { "late", scenario_late },
  { "pools", scenario_pools, NULL, "2", " 1 3221225472\n" },
  { "full", scenario_full },
  { "shared", scenario_shared },
  { "libraries", scenario_libraries },
  { "absent", scenario_absent, NULL, NULL,
    "missing cuTexObjectCreate libcuda.so.1\nmissing nvmlDeviceGetTopologyCommonAncestor "
    "libnvidia-ml.so.1\nmissing cuGetExportTable libcuda.so.1\n" },
  { "threads", scenario_threads },
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  test_add_scenarios ("dry-driver", scenarios, G_N_ELEMENTS (scenarios));
  return g_test_run ();
}
