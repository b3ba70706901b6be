/* test-dry-runtime.c - the CUDA runtime of dry runs, as a program sees it: memory to the byte, last errors, properties, streams,
 * captures, kernels, symbols, copies, two devices, threads.
 *
 * Every scenario runs in a process of its own, which opens libgemem-dry.so as a program that was started with it.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dry/runtime/api.h"
#include "tests/util/testutil.h"

#define MIB ((size_t) 1 << 20)
#define OUT_OF_MEMORY 2
#define INVALID_HANDLE 400
#define ATTRIBUTE_MULTIPROCESSORS 16

/* The functions under test, with their types. */
#define FUNCTIONS(F) \
  F (cudaMalloc, (void **, size_t)) \
  F (cudaFree, (void *) ) \
  F (cudaMallocAsync, (void **, size_t, void *) ) \
  F (cudaFreeAsync, (void *, void *) ) \
  F (cudaMallocManaged, (void **, size_t, unsigned) ) \
  F (cudaMallocHost, (void **, size_t)) \
  F (cudaFreeHost, (void *) ) \
  F (cudaMallocPitch, (void **, size_t *, size_t, size_t)) \
  F (cudaMemGetInfo, (size_t *, size_t *) ) \
  F (cudaPointerGetAttributes, (RuntimePointer *, const void *) ) \
  F (cudaMemcpy, (void *, const void *, size_t, int) ) \
  F (cudaMemcpyAsync, (void *, const void *, size_t, int, void *) ) \
  F (cudaMemcpy2D, (void *, size_t, const void *, size_t, size_t, size_t, int) ) \
  F (cudaMemcpy3D, (const RuntimeCopy3D *) ) \
  F (cudaMemset, (void *, int, size_t)) \
  F (cudaMemcpyToSymbol, (const void *, const void *, size_t, size_t, int) ) \
  F (cudaGetSymbolAddress, (void **, const void *) ) \
  F (cudaGetSymbolSize, (size_t *, const void *) ) \
  F (cudaGetDeviceCount, (int *) ) \
  F (cudaGetDevice, (int *) ) \
  F (cudaSetDevice, (int) ) \
  F (cudaDeviceSynchronize, (void) ) \
  F (cudaDeviceGetAttribute, (int *, unsigned, int) ) \
  F (cudaGetDeviceProperties, (void *, int) ) \
  F (cudaGetDeviceProperties_v2, (void *, int) ) \
  F (cudaRuntimeGetVersion, (int *) ) \
  F (cudaGetLastError, (void) ) \
  F (cudaPeekAtLastError, (void) ) \
  F (cudaStreamCreate, (void **) ) \
  F (cudaStreamDestroy, (void *) ) \
  F (cudaStreamQuery, (void *) ) \
  F (cudaStreamSynchronize_ptsz, (void *) ) \
  F (cudaStreamGetDevice, (void *, int *) ) \
  F (cudaStreamBeginCapture, (void *, unsigned) ) \
  F (cudaStreamEndCapture, (void *, void **) ) \
  F (cudaStreamIsCapturing, (void *, unsigned *) ) \
  F (cudaStreamGetCaptureInfo, \
     (void *, unsigned *, unsigned long long *, void *, void *, void *, void *) ) \
  F (cudaStreamUpdateCaptureDependencies, (void *, void *, void *, size_t, unsigned) ) \
  F (cudaLaunchHostFunc, (void *, void (*) (void *), void *) ) \
  F (cudaGraphGetNodes, (void *, void *, size_t *) ) \
  F (cudaGraphInstantiate, (void **, void *, unsigned long long) ) \
  F (cudaGraphLaunch, (void *, void *) ) \
  F (cudaGraphExecDestroy, (void *) ) \
  F (cudaGraphDestroy, (void *) ) \
  F (cudaEventCreate, (void **) ) \
  F (cudaEventRecord, (void *, void *) ) \
  F (cudaEventQuery, (void *) ) \
  F (cudaEventElapsedTime, (float *, void *, void *) ) \
  F (cudaEventDestroy, (void *) ) \
  F (cudaDeviceEnablePeerAccess, (int, unsigned) ) \
  F (cudaGetExportTable, (const void **, const void *) ) \
  F (cudaGetDriverEntryPointByVersion, \
     (const char *, void **, unsigned, unsigned long long, int *) ) \
  F (cudaFuncGetAttributes, (RuntimeFunction *, const void *) ) \
  F (cudaFuncSetAttribute, (const void *, unsigned, int) ) \
  F (cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *, const void *, int, size_t)) \
  F (cudaLaunchKernel, (const void *, RuntimeDim3, RuntimeDim3, void **, size_t, void *) ) \
  F (cudaLaunchKernelExC, (const RuntimeLaunch *, const void *, void **) ) \
  F (__cudaGetKernel, (void **, const void *) ) \
  F (__cudaLaunchKernel, (void *, RuntimeDim3, RuntimeDim3, void **, size_t, void *) ) \
  F (__cudaPushCallConfiguration, (RuntimeDim3, RuntimeDim3, size_t, void *) ) \
  F (__cudaPopCallConfiguration, (RuntimeDim3 *, RuntimeDim3 *, size_t *, void **) ) \
  F (__cudaRegisterFunction, \
     (void **, const void *, char *, const char *, int, void *, void *, void *, void *, void *) ) \
  F (__cudaRegisterVar, (void **, void *, char *, const char *, int, size_t, int, int) )

static struct
{
#define MEMBER(name, parameters) int (*name) parameters;
  FUNCTIONS (MEMBER)
#undef MEMBER
  const char *(*cudaGetErrorName) (int);
  const char *(*cudaGetErrorString) (int);
  void **(*__cudaRegisterFatBinary) (const void *);
} cu;

static void
open_library (void)
{
  gpointer library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);

#define LOAD(name, parameters) \
  *(gpointer *) &cu.name = dlsym (library, #name); \
  g_assert_nonnull (cu.name);
  FUNCTIONS (LOAD)
#undef LOAD
  *(gpointer *) &cu.cudaGetErrorName = dlsym (library, "cudaGetErrorName");
  *(gpointer *) &cu.cudaGetErrorString = dlsym (library, "cudaGetErrorString");
  *(gpointer *) &cu.__cudaRegisterFatBinary = dlsym (library, "__cudaRegisterFatBinary");
}

#define OK(call) g_assert_cmpint (call, ==, RUNTIME_SUCCESS)
#define REFUSED(code, call) g_assert_cmpint (call, ==, code)

static size_t
used (void)
{
  size_t available, total;

  OK (cu.cudaMemGetInfo (&available, &total));
  return total - available;
}

/* ---- scenarios */

static void
scenario_memory (void)
{
  size_t before, pitch, available, total;
  void *memory, *more, *host;

  OK (cu.cudaFree (NULL));
  before = used ();
  OK (cu.cudaMalloc (&memory, 4 * MIB));
  g_assert_cmpuint (used () - before, ==, 4 * MIB);
  OK (cu.cudaMalloc (&more, 0));
  g_assert_null (more);
  OK (cu.cudaMallocPitch (&more, &pitch, 100, 10));
  g_assert_cmpuint (pitch, >=, 100);
  OK (cu.cudaFree (more));
  OK (cu.cudaMallocHost (&host, 100));
  OK (cu.cudaFreeHost (host));
  OK (cu.cudaMallocAsync (&more, 1000, NULL));
  OK (cu.cudaFreeAsync (more, NULL));
  OK (cu.cudaFree (memory));
  OK (cu.cudaDeviceSynchronize ());
  g_assert_cmpuint (used (), ==, before);
  REFUSED (RUNTIME_INVALID_VALUE, cu.cudaFree (memory));
  REFUSED (RUNTIME_INVALID_VALUE, cu.cudaGetLastError ());
  /* to the last byte: as much as is free, not more */
  OK (cu.cudaMemGetInfo (&available, &total));
  OK (cu.cudaMalloc (&memory, available));
  OK (cu.cudaMemGetInfo (&available, &total));
  g_assert_cmpuint (available, ==, 0);
  more = (void *) 1;
  REFUSED (OUT_OF_MEMORY, cu.cudaMalloc (&more, 1));
  g_assert_true (more == (void *) 1);
  OK (cu.cudaFree (memory));
  /* the last error stays until it is asked for, and success does not reset it */
  REFUSED (OUT_OF_MEMORY, cu.cudaPeekAtLastError ());
  REFUSED (OUT_OF_MEMORY, cu.cudaGetLastError ());
  OK (cu.cudaGetLastError ());
  g_assert_cmpstr (cu.cudaGetErrorName (OUT_OF_MEMORY), ==, "cudaErrorMemoryAllocation");
  g_assert_cmpstr (cu.cudaGetErrorString (OUT_OF_MEMORY), ==, "out of memory");
  g_assert_cmpstr (cu.cudaGetErrorString (777), ==, "unrecognized error code");
}

static void
scenario_properties (void)
{
  RuntimeProperties12 of_12;
  RuntimeProperties13 of_13;
  int value, version, count;
  size_t available, total;

  OK (cu.cudaGetDeviceCount (&count));
  g_assert_cmpint (count, ==, 1);
  OK (cu.cudaRuntimeGetVersion (&version));
  g_assert_cmpint (version, ==, 13000);
  memset (&of_12, 0x55, sizeof of_12);
  memset (&of_13, 0x55, sizeof of_13);
  OK (cu.cudaGetDeviceProperties_v2 (&of_12, 0));
  OK (cu.cudaGetDeviceProperties (&of_13, 0));
  g_assert_cmpstr (of_12.name, ==, "NVIDIA H100 80GB HBM3");
  g_assert_cmpstr (of_13.name, ==, of_12.name);
  OK (cu.cudaMemGetInfo (&available, &total));
  g_assert_cmpuint (of_13.totalGlobalMem, ==, total);
  g_assert_cmpint (of_13.sharedMemPerBlockOptin, ==, 232448);
#define RUNTIME_PROPERTY(field, name, attribute) \
  OK (cu.cudaDeviceGetAttribute (&value, attribute, 0)); \
  g_assert_cmpint ((int) of_12.field, ==, value); \
  g_assert_cmpint ((int) of_13.field, ==, value);
#define RUNTIME_PROPERTY_12(field, name, attribute) \
  OK (cu.cudaDeviceGetAttribute (&value, attribute, 0)); \
  g_assert_cmpint ((int) of_12.field, ==, value);
#include "dry/runtime/properties.def"
  OK (cu.cudaDeviceGetAttribute (&value, ATTRIBUTE_MULTIPROCESSORS, 0));
  g_assert_cmpint (value, ==, 132);
  REFUSED (RUNTIME_INVALID_DEVICE, cu.cudaGetDeviceProperties (&of_13, 1));
}

/* The layout that a program of 11 expects from a runtime of 12. */
static void
scenario_twelve (void)
{
  RuntimeProperties12 all;
  int version;

  OK (cu.cudaRuntimeGetVersion (&version));
  g_assert_cmpint (version, ==, 12040);
  memset (&all, 0x55, sizeof all);
  OK (cu.cudaGetDeviceProperties (&all, 0));
  g_assert_cmpint (all.multiProcessorCount, ==, 132);
  g_assert_cmpint (all.hostRegisterSupported, ==, 0x55555555);
}

static void
count_one (void *count)
{
  g_atomic_int_inc ((int *) count);
}

static void
scenario_streams (void)
{
  void *executable;
  unsigned long long id = 0;
  size_t n_nodes = 0;
  int count = 0;
  void *stream, *events[2], *graph = NULL, *memory;
  unsigned status;
  int device;
  float ms;

  OK (cu.cudaStreamCreate (&stream));
  OK (cu.cudaStreamGetDevice (stream, &device));
  g_assert_cmpint (device, ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      OK (cu.cudaEventCreate (&events[i]));
      OK (cu.cudaEventRecord (events[i], stream));
      OK (cu.cudaEventQuery (events[i])); /* work is complete at once */
    }
  OK (cu.cudaEventElapsedTime (&ms, events[0], events[1]));
  OK (cu.cudaStreamQuery (stream));
  OK (cu.cudaStreamSynchronize_ptsz (NULL));
  OK (cu.cudaStreamBeginCapture (stream, 1));
  OK (cu.cudaStreamIsCapturing (stream, &status));
  g_assert_cmpuint (status, ==, 1);
  REFUSED (900, cu.cudaMalloc (&memory, 1));
  REFUSED (901, cu.cudaStreamEndCapture (stream, &graph));
  REFUSED (901, cu.cudaGetLastError ());
  OK (cu.cudaLaunchHostFunc (stream, count_one, &count)); /* functions of the host are run */
  OK (cu.cudaDeviceSynchronize ());
  g_assert_cmpint (g_atomic_int_get (&count), ==, 1);
  OK (cu.cudaStreamBeginCapture (stream, 0));
  OK (cu.cudaStreamGetCaptureInfo (stream, &status, &id, NULL, NULL, NULL, NULL));
  g_assert_cmpuint (status, ==, 1);
  OK (cu.cudaStreamUpdateCaptureDependencies (stream, NULL, NULL, 0, 1));
  REFUSED (1, cu.cudaStreamUpdateCaptureDependencies (stream, NULL, NULL, 0, 2));
  OK (cu.cudaLaunchHostFunc (stream, count_one, &count)); /* captured: when the graph is launched */
  OK (cu.cudaStreamEndCapture (stream, &graph));
  g_assert_nonnull (graph);
  g_assert_cmpint (g_atomic_int_get (&count), ==, 1);
  OK (cu.cudaGraphGetNodes (graph, NULL, &n_nodes));
  g_assert_cmpuint (n_nodes, ==, 1);
  OK (cu.cudaGraphInstantiate (&executable, graph, 0));
  OK (cu.cudaGraphLaunch (executable, stream));
  OK (cu.cudaGraphLaunch (executable, stream));
  OK (cu.cudaDeviceSynchronize ());
  g_assert_cmpint (g_atomic_int_get (&count), ==, 3);
  OK (cu.cudaGraphExecDestroy (executable));
  OK (cu.cudaGraphDestroy (graph));
  for (guint i = 0; i < 2; i++)
    OK (cu.cudaEventDestroy (events[i]));
  OK (cu.cudaStreamDestroy (stream));
  REFUSED (INVALID_HANDLE, cu.cudaStreamQuery (stream));
}

static const char image[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[100];\n"
    ".visible .entry scale (.param .u64 x)\n.maxntid 256, 1, 1\n{\n ret;\n}\n";

static void
scenario_kernels (void)
{
  const RuntimeDim3 one = { 1, 1, 1 }, wide = { 2048, 1, 1 };
  const RuntimeLaunch configured = { .grid = one, .block = one };
  static char scale,
      table[100]; /* what nvcc makes in the host's code for a kernel, and for a variable */
  void **binary = cu.__cudaRegisterFatBinary (image), *stream, *handle, *address;
  RuntimeDim3 grid, block;
  RuntimeFunction facts;
  size_t shared;
  int blocks;

  cu.__cudaRegisterFunction (binary, &scale, &scale, "scale", -1, NULL, NULL, NULL, NULL, NULL);
  cu.__cudaRegisterVar (binary, table, table, "table", 0, sizeof table, 0, 0);
  OK (cu.__cudaPushCallConfiguration ((RuntimeDim3){ 7, 1, 1 }, one, 11, NULL));
  OK (cu.__cudaPopCallConfiguration (&grid, &block, &shared, &stream));
  g_assert_cmpuint (grid.x, ==, 7);
  g_assert_cmpuint (shared, ==, 11);
  REFUSED (RUNTIME_MISSING_CONFIGURATION,
           cu.__cudaPopCallConfiguration (&grid, &block, &shared, &stream));
  OK (cu.cudaLaunchKernel (&scale, grid, one, NULL, 0, NULL));
  OK (cu.cudaLaunchKernelExC (&configured, &scale, NULL));
  OK (cu.__cudaGetKernel (&handle, &scale));
  OK (cu.__cudaLaunchKernel (handle, one, one, NULL, 0, NULL));
  REFUSED (RUNTIME_INVALID_CONFIGURATION, cu.cudaLaunchKernel (&scale, one, wide, NULL, 0, NULL));
  REFUSED (RUNTIME_INVALID_CONFIGURATION,
           cu.cudaLaunchKernel (&scale, (RuntimeDim3){ 0, 1, 1 }, one, NULL, 0, NULL));
  REFUSED (RUNTIME_INVALID_VALUE, cu.cudaLaunchKernel (&scale, one, one, NULL, 64 << 10, NULL));
  REFUSED (RUNTIME_INVALID_DEVICE_FUNCTION,
           cu.cudaFuncSetAttribute (table, RUNTIME_SET_DYNAMIC_SHARED, 0));
  REFUSED (RUNTIME_INVALID_VALUE,
           cu.cudaFuncSetAttribute (&scale, RUNTIME_SET_DYNAMIC_SHARED, 1 << 20));
  OK (cu.cudaFuncSetAttribute (&scale, RUNTIME_SET_DYNAMIC_SHARED, 64 << 10));
  OK (cu.cudaLaunchKernel (&scale, one, one, NULL, 64 << 10, NULL));
  REFUSED (INVALID_HANDLE, cu.cudaLaunchKernel (&scale, one, one, NULL, 0, (void *) 0x123456));
  OK (cu.cudaFuncGetAttributes (&facts, &scale));
  g_assert_cmpint (facts.threads, ==, 256);
  g_assert_cmpint (facts.dynamic_shared, ==, 64 << 10);
  OK (cu.cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, &scale, 256, 64 << 10));
  g_assert_cmpint (blocks, ==, 3); /* 233472 bytes of a multiprocessor, 65536 + 1024 of a block */
  OK (cu.cudaGetSymbolSize (&shared, table));
  g_assert_cmpuint (shared, ==, sizeof table);
  OK (cu.cudaGetSymbolAddress (&address, table));
  OK (cu.cudaMemset (address, 1, sizeof table));
  OK (cu.cudaMemcpyToSymbol (table, "four", 4, 96, RUNTIME_HOST_TO_DEVICE));
  REFUSED (RUNTIME_INVALID_VALUE,
           cu.cudaMemcpyToSymbol (table, "four", 4, 97, RUNTIME_HOST_TO_DEVICE));
  REFUSED (RUNTIME_INVALID_SYMBOL, cu.cudaGetSymbolAddress (&address, &scale));
}

static void
scenario_copies (void)
{
  char text[] = "gemem", other[] = "other";
  guint8 rows[4][8], picture[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
  void *memory, *managed, *host;
  RuntimePointer about;
  RuntimeCopy3D cube = { .from = { picture, 4, 4, 2 },
                         .to = { rows, 8, 8, 4 },
                         .to_position = { 1, 1, 0 },
                         .extent = { 3, 2, 1 },
                         .kind = RUNTIME_HOST_TO_HOST };

  OK (cu.cudaMalloc (&memory, MIB));
  OK (cu.cudaMemcpy (memory, text, sizeof text, RUNTIME_HOST_TO_DEVICE));
  OK (cu.cudaMemcpy (memory, (char *) memory + 64, 64, RUNTIME_DEVICE_TO_DEVICE));
  OK (cu.cudaMemcpy (text, memory, 3, RUNTIME_DEVICE_TO_HOST)); /* devices read as zeros */
  g_assert_cmpmem (text, 6, "\0\0\0em", 6);
  OK (cu.cudaMemcpy (text, other, sizeof text, RUNTIME_HOST_TO_HOST));
  g_assert_cmpstr (text, ==, "other");
  OK (cu.cudaMemcpyAsync (text, memory, 1, RUNTIME_BY_ADDRESS, NULL));
  g_assert_cmpint (text[0], ==, 0);
  REFUSED (RUNTIME_INVALID_COPY_DIRECTION, cu.cudaMemcpy (text, other, 1, 7));
  memset (rows, 9, sizeof rows);
  OK (cu.cudaMemcpy2D (&rows[1][1], 8, picture, 4, 4, 2, RUNTIME_HOST_TO_HOST));
  g_assert_cmpmem (rows[2], 8, ((guint8[]){ 9, 5, 6, 7, 8, 9, 9, 9 }), 8);
  REFUSED (RUNTIME_INVALID_PITCH,
           cu.cudaMemcpy2D (rows, 2, picture, 4, 4, 2, RUNTIME_HOST_TO_HOST));
  memset (rows, 9, sizeof rows);
  OK (cu.cudaMemcpy3D (&cube));
  g_assert_cmpmem (rows[1], 8, ((guint8[]){ 9, 1, 2, 3, 9, 9, 9, 9 }), 8);
  OK (cu.cudaMallocManaged (&managed, 100, 1));
  OK (cu.cudaMemset (managed, 7, 100)); /* the host sees it */
  OK (cu.cudaDeviceSynchronize ());
  g_assert_cmpint (((guint8 *) managed)[99], ==, 7);
  OK (cu.cudaMallocHost (&host, 10));
  OK (cu.cudaPointerGetAttributes (&about, memory));
  g_assert_cmpint (about.type, ==, RUNTIME_DEVICE);
  g_assert_true (about.device_address == memory);
  OK (cu.cudaPointerGetAttributes (&about, managed));
  g_assert_cmpint (about.type, ==, RUNTIME_MANAGED);
  OK (cu.cudaPointerGetAttributes (&about, host));
  g_assert_cmpint (about.type, ==, RUNTIME_HOST);
  OK (cu.cudaPointerGetAttributes (&about, text));
  g_assert_cmpint (about.type, ==, RUNTIME_UNREGISTERED);
  g_assert_cmpint (about.device, ==, RUNTIME_NO_POINTER_DEVICE);
}

static gpointer
elsewhere (gpointer unused)
{
  int device;
  size_t before;
  void *memory;

  OK (cu.cudaGetDevice (&device)); /* every thread begins with the first */
  g_assert_cmpint (device, ==, 0);
  OK (cu.cudaGetLastError ());
  OK (cu.cudaSetDevice (1));
  before = used ();
  OK (cu.cudaMalloc (&memory, 2 * MIB));
  g_assert_cmpuint (used () - before, ==, 2 * MIB);
  return memory;
}

static void
scenario_devices (void)
{
  char text[] = "gemem";
  RuntimePointer about;
  void *memory;
  int count, device;
  size_t before;

  OK (cu.cudaGetDeviceCount (&count));
  g_assert_cmpint (count, ==, 2);
  before = used ();
  REFUSED (RUNTIME_INVALID_DEVICE, cu.cudaSetDevice (2));
  memory = g_thread_join (g_thread_new ("other", elsewhere, NULL));
  OK (cu.cudaGetDevice (&device));
  g_assert_cmpint (device, ==, 0);
  g_assert_cmpuint (used (), ==, before);
  REFUSED (RUNTIME_INVALID_DEVICE, cu.cudaGetLastError ());
  OK (cu.cudaPointerGetAttributes (&about, memory));
  g_assert_cmpint (about.device, ==, 1);
  OK (cu.cudaDeviceEnablePeerAccess (1, 0));
  REFUSED (704, cu.cudaDeviceEnablePeerAccess (1, 0));
  OK (cu.cudaMemcpy (text, memory, 1, RUNTIME_DEVICE_TO_HOST));
  OK (cu.cudaMemcpy (memory, text, 1, RUNTIME_HOST_TO_DEVICE));
  OK (cu.cudaSetDevice (1));
  OK (cu.cudaFree (memory));
}

static gpointer
use_memory (gpointer unused)
{
  void *memory, *stream;

  OK (cu.cudaStreamCreate (&stream));
  for (guint i = 0; i < 2000; i++)
    {
      OK (cu.cudaMalloc (&memory, MIB));
      REFUSED (RUNTIME_INVALID_COPY_DIRECTION, cu.cudaMemcpy (memory, memory, 1, -1));
      OK (cu.cudaMemcpyAsync (memory, &stream, 8, RUNTIME_HOST_TO_DEVICE, stream));
      REFUSED (RUNTIME_INVALID_COPY_DIRECTION, cu.cudaGetLastError ());
      OK (cu.cudaFree (memory));
    }
  OK (cu.cudaStreamDestroy (stream));
  return NULL;
}

static void
scenario_threads (void)
{
  GThread *threads[8];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("user", use_memory, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (used (), ==, 0);
  OK (cu.cudaGetLastError ());
}

static void
scenario_driver (void)
{
  int (*init) (unsigned), status;
  void *function;

  OK (cu.cudaGetDriverEntryPointByVersion ("cuInit", &function, 12000, 0, &status));
  g_assert_cmpint (status, ==, 0);
  *(void **) &init = function;
  OK (init (0));
  OK (cu.cudaGetDriverEntryPointByVersion ("cuNever", &function, 12000, 0, &status));
  g_assert_cmpint (status, ==, 1);
  REFUSED (RUNTIME_SYMBOL_NOT_FOUND,
           cu.cudaGetDriverEntryPointByVersion ("cuNever", &function, 12000, 0, NULL));
}

static void
scenario_failure (void)
{
  void *memory;

  OK (cu.cudaMalloc (&memory, MIB));
  REFUSED (OUT_OF_MEMORY, cu.cudaMalloc (&memory, MIB));
  OK (cu.cudaMalloc (&memory, MIB));
  REFUSED (OUT_OF_MEMORY, cu.cudaGetLastError ());
}

static void
scenario_none (void)
{
  int count = 7;

  REFUSED (100, cu.cudaGetDeviceCount (&count));
  g_assert_cmpint (count, ==, 0);
  REFUSED (100, cu.cudaFree (NULL));
}

static void
scenario_fork (void)
{
  pid_t child;
  int status;

  OK (cu.cudaFree (NULL));
  if ((child = fork ()) == 0)
    _exit (cu.cudaFree (NULL) == RUNTIME_INITIALIZATION_ERROR ? 7 : 8);
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_cmpint (WEXITSTATUS (status), ==, 7);
}

/* What cuBLASLt asks for; a program finds no other table. */
static void
scenario_tables (void)
{
  static const char current[] = "\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc";
  static const char number[] = "\x21\x31\x8c\x60\x97\x14\x32\x48\x8c\xa6\x41\xff\x73\x24\xc8\xf2";
  const gconstpointer *table;
  void *context = NULL;
  guint64 key = 0;

  OK (cu.cudaFree (NULL));
  OK (cu.cudaGetExportTable ((const void **) &table, current));
  g_assert_cmpuint (GPOINTER_TO_SIZE (table[0]), >, 4 * sizeof table[0]);
  OK (((int (*) (void **)) table[2]) (&context));
  g_assert_nonnull (context);
  OK (cu.cudaGetExportTable ((const void **) &table, number));
  OK (((int (*) (void *, guint64 *)) table[4]) (context, &key));
  g_assert_cmpuint (key, ==, (guintptr) context);
  g_assert_cmpint (((int (*) (void)) table[5]) (), !=, RUNTIME_SUCCESS);
  REFUSED (RUNTIME_NOT_SUPPORTED,
           cu.cudaGetExportTable ((const void **) &table, "sixteen bytes..."));
  g_assert_null (table);
  REFUSED (RUNTIME_INVALID_VALUE, cu.cudaGetExportTable (NULL, number));
}

/* ---- running them */

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *variable, *value; /* of the environment, or NULL */
} Scenario;

static const Scenario scenarios[] = {
  { "memory", scenario_memory, "GEMEM_DRIVER", "sim:capacity=1GiB" },
  { "properties", scenario_properties, NULL, NULL },
  { "twelve", scenario_twelve, "GEMEM_DRY_CUDART", "12.4" },
  { "streams", scenario_streams, NULL, NULL },
  { "kernels", scenario_kernels, NULL, NULL },
  { "copies", scenario_copies, NULL, NULL },
  { "devices", scenario_devices, "GEMEM_DRIVER_DEVICES", "2" },
  { "threads", scenario_threads, NULL, NULL },
  { "driver", scenario_driver, NULL, NULL },
  { "tables", scenario_tables, NULL, NULL },
  { "failure", scenario_failure, "GEMEM_DRIVER_FAIL", "cuMemAlloc=2" },
  { "none", scenario_none, "GEMEM_DRIVER_DEVICES", "0" },
  { "fork", scenario_fork, NULL, NULL },
};

static void
test_scenario (gconstpointer data)
{
  const Scenario *scenario = data;
  pid_t child = fork ();
  int status;

  if (child == 0)
    {
      g_setenv ("GEMEM_DRY", "1", TRUE);
      g_setenv ("GEMEM_DRY_GPU", "h100", TRUE);
      if (scenario->variable != NULL)
        g_setenv (scenario->variable, scenario->value, TRUE);
      open_library ();
      scenario->run ();
      _exit (0);
    }
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (scenarios); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gemem_driver/dry-runtime/%s", scenarios[i].name);
      g_test_add_data_func (path, &scenarios[i], test_scenario);
    }
  return g_test_run ();
}
