/* record-driver.c - a program that uses CUDA's driver, for tests/cli/test-record.sh.
 *
 *   record-driver HOW WHAT [NUMBER]
 *
 * HOW it gets the functions: link, dlsym, proc (cuGetProcAddress), thread (the same, stream 0 being
 * the thread's).  WHAT it does: a function below.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dry/driver/api.h"

#define MIB ((size_t) 1 << 20)
#define THREADS 8

/* name for cuGetProcAddress, exported name */
/* clang-format off */
#define FUNCTIONS(F) \
  F (cuInit, cuInit) \
  F (cuDeviceGet, cuDeviceGet) \
  F (cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain) \
  F (cuCtxSetCurrent, cuCtxSetCurrent) \
  F (cuCtxSynchronize, cuCtxSynchronize) \
  F (cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2) \
  F (cuMemAlloc, cuMemAlloc_v2) \
  F (cuMemFree, cuMemFree_v2) \
  F (cuMemAllocPitch, cuMemAllocPitch_v2) \
  F (cuMemAllocManaged, cuMemAllocManaged) \
  F (cuMemHostAlloc, cuMemHostAlloc) \
  F (cuMemAllocHost, cuMemAllocHost_v2) \
  F (cuMemFreeHost, cuMemFreeHost) \
  F (cuMemAllocAsync, cuMemAllocAsync) \
  F (cuMemFreeAsync, cuMemFreeAsync) \
  F (cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync) \
  F (cuMemPoolCreate, cuMemPoolCreate) \
  F (cuMemPoolDestroy, cuMemPoolDestroy) \
  F (cuMemPoolTrimTo, cuMemPoolTrimTo) \
  F (cuMemPoolSetAttribute, cuMemPoolSetAttribute) \
  F (cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool) \
  F (cuDeviceSetMemPool, cuDeviceSetMemPool) \
  F (cuMemAddressReserve, cuMemAddressReserve) \
  F (cuMemAddressFree, cuMemAddressFree) \
  F (cuMemCreate, cuMemCreate) \
  F (cuMemRelease, cuMemRelease) \
  F (cuMemMap, cuMemMap) \
  F (cuMemUnmap, cuMemUnmap) \
  F (cuMemRetainAllocationHandle, cuMemRetainAllocationHandle) \
  F (cuStreamCreate, cuStreamCreate) \
  F (cuStreamCreateWithPriority, cuStreamCreateWithPriority) \
  F (cuStreamDestroy, cuStreamDestroy_v2) \
  F (cuStreamSynchronize, cuStreamSynchronize) \
  F (cuStreamWaitEvent, cuStreamWaitEvent) \
  F (cuEventCreate, cuEventCreate) \
  F (cuEventRecord, cuEventRecord) \
  F (cuEventDestroy, cuEventDestroy_v2) \
  F (cuEventSynchronize, cuEventSynchronize) \
  F (cuEventQuery, cuEventQuery) \
  F (cuStreamBeginCapture, cuStreamBeginCapture_v2) \
  F (cuStreamEndCapture, cuStreamEndCapture) \
  F (cuGraphDestroy, cuGraphDestroy) \
  F (cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2) \
  F (cuMemHostRegister, cuMemHostRegister_v2) \
  F (cuMemHostUnregister, cuMemHostUnregister) \
  F (cuModuleLoadData, cuModuleLoadData) \
  F (cuModuleGetFunction, cuModuleGetFunction) \
  F (cuLaunchKernel, cuLaunchKernel) \
  F (cuLaunchHostFunc, cuLaunchHostFunc) \
  F (cuMemsetD8Async, cuMemsetD8Async) \
  F (cuMemcpyDtoH, cuMemcpyDtoH_v2) \
  F (cuStreamQuery, cuStreamQuery)
/* clang-format on */

static struct
{
#define F(name, symbol) __typeof__ (symbol) *name;
  FUNCTIONS (F)
#undef F
} cu;

#define CHECK(call) expect (#call, call, CUDA_SUCCESS)

static void
expect (const char *what, CUresult result, CUresult wanted)
{
  if (result == wanted)
    return;
  fprintf (stderr, "record-driver: %s: %d instead of %d\n", what, result, wanted);
  exit (9);
}

/* ---- how the functions are found */

static void
find_linked (void)
{
#define F(name, symbol) cu.name = symbol;
  FUNCTIONS (F)
#undef F
}

static void
find_by_dlsym (void)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define F(name, symbol) cu.name = (__typeof__ (symbol) *) dlsym (library, #symbol);
  FUNCTIONS (F)
#undef F
  if (dlsym (library, "cuNothingOfThatName") != NULL || dlerror () == NULL)
    exit (8);
}

static void
find_by_proc_address (cuuint64_t flags)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  __typeof__ (cuGetProcAddress_v2) *get = (__typeof__ (cuGetProcAddress_v2) *) dlsym (
      library, "cuGetProcAddress_v2");
  CUdriverProcAddressQueryResult status;
  void *function;
#define F(name, symbol) \
  CHECK (get (#name, &function, 12000, flags, &status)); \
  cu.name = (__typeof__ (symbol) *) function;
  FUNCTIONS (F)
#undef F
}

static CUcontext
use_device (int number)
{
  CUdevice device;
  CUcontext context;
  CHECK (cu.cuInit (0));
  CHECK (cu.cuDeviceGet (&device, number));
  CHECK (cu.cuDevicePrimaryCtxRetain (&context, device));
  CHECK (cu.cuCtxSetCurrent (context));
  return context;
}

/* ---- what is done */

static void
basic (int unused)
{
  CUdeviceptr a, b, c;
  size_t pitch;
  CHECK (cu.cuMemAlloc (&a, 3 * MIB));
  CHECK (cu.cuMemAllocPitch (&b, &pitch, 1000, 100, 4));
  CHECK (cu.cuMemFree (a));
  CHECK (cu.cuMemAllocManaged (&c, MIB, CU_MEM_ATTACH_GLOBAL));
  CHECK (cu.cuMemFree (c));
  CHECK (cu.cuMemFree (b));
}

static void
streams (int unused)
{
  CUstream s, t;
  CUevent event, never;
  CUdeviceptr a, b;
  CHECK (cu.cuStreamCreate (&s, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuStreamCreate (&t, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuEventCreate (&event, CU_EVENT_DISABLE_TIMING));
  CHECK (cu.cuEventCreate (&never, CU_EVENT_DISABLE_TIMING));
  CHECK (cu.cuStreamWaitEvent (s, never, 0));
  CHECK (cu.cuMemAllocAsync (&a, MIB, s));
  CHECK (cu.cuMemAllocAsync (&b, 2 * MIB, NULL));
  CHECK (cu.cuEventRecord (event, s));
  CHECK (cu.cuStreamWaitEvent (t, event, 0));
  CHECK (cu.cuMemFreeAsync (a, t));
  CHECK (cu.cuMemFreeAsync (b, NULL));
  CHECK (cu.cuStreamSynchronize (t));
  CHECK (cu.cuCtxSynchronize ());
  CHECK (cu.cuEventDestroy (event));
  CHECK (cu.cuStreamDestroy (s));
  CHECK (cu.cuStreamDestroy (t));
}

static void
pools (int unused)
{
  CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
  CUmemoryPool usual, own;
  CUdeviceptr a, b, c;
  CHECK (cu.cuDeviceGetDefaultMemPool (&usual, 0));
  CHECK (cu.cuMemPoolCreate (&own, &properties));
  CHECK (cu.cuMemAllocFromPoolAsync (&a, MIB, own, NULL));
  CHECK (cu.cuMemAllocFromPoolAsync (&b, MIB, usual, NULL));
  CHECK (cu.cuDeviceSetMemPool (0, own));
  CHECK (cu.cuMemAllocAsync (&c, 2 * MIB, NULL));
  CHECK (cu.cuDeviceSetMemPool (0, usual));
  CHECK (cu.cuMemFreeAsync (a, NULL));
  CHECK (cu.cuMemFreeAsync (b, NULL));
  CHECK (cu.cuMemFreeAsync (c, NULL));
  CHECK (cu.cuCtxSynchronize ());
  CHECK (cu.cuMemPoolTrimTo (own, 0));
  CHECK (cu.cuMemPoolDestroy (own));
}

/* How pools are set: what decides, what does not, what is refused; and trims that leave something. */
static void
attributes (int unused)
{
  const size_t all = (size_t) -1;
  cuuint64_t keep = 64 * MIB, high = 0;
  CUmemoryPool usual;
  CUdeviceptr a;
  int no = 0;
  CHECK (cu.cuDeviceGetDefaultMemPool (&usual, 0));
  CHECK (cu.cuMemPoolSetAttribute (usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  CHECK (cu.cuMemPoolSetAttribute (usual, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &no));
  CHECK (cu.cuMemPoolSetAttribute (usual, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  expect ("no attribute", cu.cuMemPoolSetAttribute (usual, (CUmemPool_attribute) 99, &high),
          CUDA_ERROR_INVALID_VALUE);
  CHECK (cu.cuMemAllocAsync (&a, MIB, NULL));
  CHECK (cu.cuMemPoolTrimTo (usual, 32 * MIB));
  CHECK (cu.cuMemPoolTrimTo (usual, all));
  keep = UINT64_MAX;
  CHECK (cu.cuMemPoolSetAttribute (usual, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  CHECK (cu.cuMemFreeAsync (a, NULL));
}

/* A pool with a limit, which the properties have behind the pointer, whatever the headers call it. */
static void
limit (int unused)
{
  CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
  const size_t most = 64 * MIB;
  CUmemoryPool own;
  CUdeviceptr a;
  memcpy ((char *) &properties + 24, &most, sizeof most);
  CHECK (cu.cuMemPoolCreate (&own, &properties));
  CHECK (cu.cuMemAllocFromPoolAsync (&a, MIB, own, NULL));
  CHECK (cu.cuMemFreeAsync (a, NULL));
  CHECK (cu.cuMemPoolDestroy (own));
}

/* Physical memory lives as long as a handle or a mapping holds it. */
static void virtual(int unused)
{
  CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
  CUmemGenericAllocationHandle a, b, again;
  CUdeviceptr range;
  CHECK (cu.cuMemAddressReserve (&range, 8 * MIB, 0, 0, 0));
  CHECK (cu.cuMemCreate (&a, 2 * MIB, &properties, 0));
  CHECK (cu.cuMemMap (range, 2 * MIB, 0, a, 0));
  CHECK (cu.cuMemRelease (a)); /* still mapped */
  CHECK (cu.cuMemCreate (&b, 4 * MIB, &properties, 0));
  CHECK (cu.cuMemMap (range + 2 * MIB, 4 * MIB, 0, b, 0));
  CHECK (cu.cuMemRetainAllocationHandle (&again, (void *) (range + 2 * MIB)));
  CHECK (cu.cuMemRelease (b));
  CHECK (cu.cuMemUnmap (range, 6 * MIB)); /* both; the first is gone */
  CHECK (cu.cuMemRelease (again));        /* the second is gone */
  CHECK (cu.cuMemAddressFree (range, 8 * MIB));
}

static void
host (int unused)
{
  void *a, *b;
  CHECK (cu.cuMemHostAlloc (&a, 100000, 0));
  CHECK (cu.cuMemAllocHost (&b, 5000));
  CHECK (cu.cuMemFreeHost (a));
  CHECK (cu.cuMemFreeHost (b));
}

/* Results that are no memory, and frees that are none. */
static void
hostile (int unused)
{
  CUdeviceptr a = 0;
  expect ("too much", cu.cuMemAlloc (&a, (size_t) 1 << 45), CUDA_ERROR_OUT_OF_MEMORY);
  expect ("0 bytes", cu.cuMemAlloc (&a, 0), CUDA_ERROR_INVALID_VALUE);
  CHECK (cu.cuMemFree (0));
  expect ("unknown", cu.cuMemFree (12345), CUDA_ERROR_INVALID_VALUE);
  CHECK (cu.cuMemAlloc (&a, MIB));
  CHECK (cu.cuMemFree (a));
  expect ("twice", cu.cuMemFree (a), CUDA_ERROR_INVALID_VALUE);
}

/* Ends in the middle, by signal @number; 0: by _exit(). */
static void
end (int number)
{
  CUdeviceptr a;
  for (int i = 0; i < 2000; i++) /* more than a block of the journal */
    {
      CHECK (cu.cuMemAlloc (&a, MIB));
      if (i < 1999)
        CHECK (cu.cuMemFree (a));
    }
  if (number == 0)
    _exit (5);
  raise (number);
}

static void
reset (int unused)
{
  CUdeviceptr a, b;
  CHECK (cu.cuMemAlloc (&a, MIB));
  CHECK (cu.cuMemAlloc (&b, 2 * MIB));
  CHECK (cu.cuDevicePrimaryCtxReset (0));
}

/* The context goes with its last user. */
static void
release (int unused)
{
  CUdeviceptr a;
  use_device (0);
  CHECK (cu.cuMemAlloc (&a, MIB));
  CHECK (cu.cuDevicePrimaryCtxRelease (0));
  CHECK (cu.cuMemAlloc (&a, 2 * MIB));
  CHECK (cu.cuDevicePrimaryCtxRelease (0));
}

/* What the host learns of events. */
static void
events (int unused)
{
  CUstream s;
  CUevent event;
  CUdeviceptr a;
  static char own[8192];
  CHECK (cu.cuStreamCreate (&s, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuEventCreate (&event, CU_EVENT_DISABLE_TIMING));
  CHECK (cu.cuEventQuery (event)); /* was never recorded */
  CHECK (cu.cuMemAllocAsync (&a, MIB, s));
  CHECK (cu.cuEventRecord (event, s));
  CHECK (cu.cuEventSynchronize (event));
  CHECK (cu.cuMemFreeAsync (a, s));
  CHECK (cu.cuEventQuery (event));
  CHECK (cu.cuMemHostRegister (own, sizeof own, 0));
  CHECK (cu.cuMemHostUnregister (own));
}

/* Memory of a graph: asked for in a capture. */
static void
capture (int unused)
{
  CUstream s;
  CUgraph graph;
  CUdeviceptr a, b, c;
  CHECK (cu.cuStreamCreate (&s, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuMemAllocAsync (&a, MIB, s));
  CHECK (cu.cuStreamBeginCapture (s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK (cu.cuMemAllocAsync (&b, 2 * MIB, s));
  CHECK (cu.cuMemAllocAsync (&c, 3 * MIB, s));
  CHECK (cu.cuMemFreeAsync (c, s));
  CHECK (cu.cuStreamEndCapture (s, &graph));
  CHECK (cu.cuMemFreeAsync (b, s)); /* as programs may, of what a graph has left to them */
  CHECK (cu.cuMemFreeAsync (a, s));
  CHECK (cu.cuGraphDestroy (graph));
}

static CUfunction
find_kernel (void)
{
  CUmodule module;
  CUfunction function;

  CHECK (cu.cuModuleLoadData (&module, ".version 8.0\n"));
  CHECK (
      cu.cuModuleGetFunction (&function, module, "gemem_occupy")); /* the stand-in driver has it */
  return function;
}

static unsigned long long nothing;
static void *no_time[] = { &nothing };

#define LAUNCH(stream) \
  CHECK (cu.cuLaunchKernel (kernel, 1, 1, 1, 32, 1, 1, 0, stream, no_time, NULL))

static void
on_host (void *unused)
{
}

/* Work of streams: what is recorded once, and what makes it anew. */
static void
work (int unused)
{
  CUfunction kernel = find_kernel ();
  CUstream s, t;
  CUevent event;
  CUgraph graph;
  CUdeviceptr a, b, c;
  char byte;

  CHECK (cu.cuStreamCreate (&s, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuStreamCreate (&t, CU_STREAM_NON_BLOCKING));
  CHECK (cu.cuEventCreate (&event, CU_EVENT_DISABLE_TIMING));
  CHECK (cu.cuMemAlloc (&c, MIB));
  CHECK (cu.cuMemAllocAsync (&a, MIB, s));
  for (int i = 0; i < 100; i++) /* each stream once */
    {
      LAUNCH (s);
      CHECK (cu.cuMemsetD8Async (c, 0, MIB, t));
    }
  CHECK (cu.cuMemAllocAsync (&b, MIB, s)); /* nothing is placed in the order of a stream by it */
  LAUNCH (s);
  CHECK (cu.cuMemFreeAsync (a, s)); /* by this there is */
  CHECK (cu.cuLaunchHostFunc (s, on_host, NULL));
  CHECK (cu.cuEventRecord (event, s));
  CHECK (cu.cuStreamWaitEvent (t, event, 0));
  LAUNCH (t);
  while (cu.cuStreamQuery (t) == CUDA_ERROR_NOT_READY)
    ;
  CHECK (cu.cuStreamSynchronize (s));
  CHECK (cu.cuStreamBeginCapture (s, CU_STREAM_CAPTURE_MODE_GLOBAL));
  LAUNCH (s); /* of the graph */
  CHECK (cu.cuStreamEndCapture (s, &graph));
  CHECK (cu.cuGraphDestroy (graph));
  CHECK (cu.cuCtxSynchronize ());
  LAUNCH (NULL);
  CHECK (cu.cuMemcpyDtoH (&byte, b, 1)); /* the host waits, and is told */
  CHECK (cu.cuMemcpyDtoH (&byte, b, 1)); /* there is nothing to wait for */
  LAUNCH (s);
  LAUNCH (NULL);
  CHECK (cu.cuMemFree (c)); /* waits for both */
  CHECK (cu.cuMemFreeAsync (b, s));
}

/* Streams that block follow the default stream, and it them. */
static void
blocking (int unused)
{
  CUfunction kernel = find_kernel ();
  CUstream s, t, apart;
  CUdeviceptr a, b;
  char byte;

  CHECK (cu.cuStreamCreate (&s, CU_STREAM_DEFAULT));
  CHECK (cu.cuStreamCreateWithPriority (&t, CU_STREAM_DEFAULT, -1));
  CHECK (cu.cuStreamCreateWithPriority (&apart, CU_STREAM_NON_BLOCKING, -1));
  CHECK (cu.cuMemAllocAsync (&a, MIB, s));
  CHECK (cu.cuMemFreeAsync (a, s));
  CHECK (cu.cuMemAllocAsync (&b, 2 * MIB, NULL)); /* behind s */
  LAUNCH (apart);
  LAUNCH (t);                            /* behind the default stream */
  CHECK (cu.cuMemcpyDtoH (&byte, b, 1)); /* behind t */
  CHECK (cu.cuStreamDestroy (t));
  CHECK (cu.cuMemFreeAsync (b, apart));
}

static void
devices (int unused)
{
  CUdeviceptr a, b;
  CHECK (cu.cuMemAlloc (&a, MIB));
  use_device (1);
  CHECK (cu.cuMemAlloc (&b, 2 * MIB));
  CHECK (cu.cuMemFree (a)); /* of the other device */
  CHECK (cu.cuMemFree (b));
}

static void
wait_for (pid_t pid)
{
  int status;
  waitpid (pid, &status, 0);
  if (status != 0)
    exit (6);
}

/* Runs before this process uses CUDA, which does not outlive fork(): children that allocate, that
 * do nothing, that only free nothing (after the parent has begun to record), that become another
 * program. */
static void
forks (int unused)
{
  for (int child = 0; child < 4; child++)
    {
      if (child == 2)
        {
          use_device (0);
          basic (0);
        }
      pid_t pid = fork ();
      if (pid == 0 && child == 0)
        {
          use_device (0);
          host (0);
        }
      if (pid == 0 && child == 2)
        cu.cuMemFree (0);
      if (pid == 0 && child == 3)
        execl ("/proc/self/exe", "record-driver", "dlsym", "virtual", NULL);
      if (pid == 0)
        _exit (0);
      wait_for (pid);
    }
}

static CUcontext shared_context;

static void *
in_thread (void *data)
{
  int rounds = *(int *) data;
  CUdeviceptr blocks[16] = { 0 };
  CHECK (cu.cuCtxSetCurrent (shared_context));
  for (int i = 0; i < rounds; i++)
    {
      CUdeviceptr *block = &blocks[i % 16];
      if (*block != 0)
        CHECK (cu.cuMemFree (*block));
      CHECK (cu.cuMemAlloc (block, (size_t) (1 + i % 7) * 4096));
    }
  for (int i = 0; i < 16; i++)
    if (blocks[i] != 0)
      CHECK (cu.cuMemFree (blocks[i]));
  return NULL;
}

static void
threads (int rounds)
{
  pthread_t thread[THREADS];
  shared_context = use_device (0);
  for (int wave = 0; wave < 2; wave++) /* the second fills the blocks that the first has left */
    {
      for (int i = 0; i < THREADS; i++)
        pthread_create (&thread[i], NULL, in_thread, &rounds);
      for (int i = 0; i < THREADS; i++)
        pthread_join (thread[i], NULL);
    }
}

/* Allocates and frees per-thread: for the streams of threads. */
static void *
on_own_stream (void *unused)
{
  CUdeviceptr a;
  CHECK (cu.cuCtxSetCurrent (shared_context));
  CHECK (cu.cuMemAllocAsync (&a, MIB, NULL));
  CHECK (cu.cuMemFreeAsync (a, NULL));
  CHECK (cu.cuStreamSynchronize (NULL));
  return NULL;
}

static void
own_streams (int unused)
{
  pthread_t thread;
  shared_context = use_device (0);
  on_own_stream (NULL);
  pthread_create (&thread, NULL, on_own_stream, NULL);
  pthread_join (thread, NULL);
}

/* Prints the time of a pair of calls in ns: the best of five rounds. */
static void
bench (int pairs)
{
  double best = 1e18;
  CUdeviceptr a;
  for (int round = 0; round < 5; round++)
    {
      struct timespec start, stop;
      clock_gettime (CLOCK_MONOTONIC, &start);
      for (int i = 0; i < pairs; i++)
        {
          CHECK (cu.cuMemAlloc (&a, MIB));
          CHECK (cu.cuMemFree (a));
        }
      clock_gettime (CLOCK_MONOTONIC, &stop);
      double ns = (double) (stop.tv_sec - start.tv_sec) * 1e9
                  + (double) (stop.tv_nsec - start.tv_nsec);
      best = ns / pairs < best ? ns / pairs : best;
    }
  printf ("%.0f\n", best);
}

/* With RECORD_EARLY in the environment: memory before main() and after the exit handlers of the C
 * library's users. */
static __attribute__ ((constructor)) void
before_main (void)
{
  if (getenv ("RECORD_EARLY") == NULL)
    return;
  find_linked ();
  use_device (0);
  basic (0);
}

static __attribute__ ((destructor)) void
after_main (void)
{
  if (getenv ("RECORD_EARLY") != NULL)
    host (0);
}

static const struct
{
  const char *name;
  void (*run) (int number);
} deeds[] = {
  { "basic", basic },     { "streams", streams },   { "pools", pools },
  { "virtual", virtual }, { "host", host },         { "hostile", hostile },
  { "end", end },         { "reset", reset },       { "release", release },
  { "events", events },   { "capture", capture },   { "devices", devices },
  { "forks", forks },     { "threads", threads },   { "own-streams", own_streams },
  { "bench", bench },     { "work", work },         { "attributes", attributes },
  { "limit", limit },     { "blocking", blocking },
};

int
main (int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";

  if (strcmp (how, "dlsym") == 0)
    find_by_dlsym ();
  else if (strcmp (how, "proc") == 0)
    find_by_proc_address (CU_GET_PROC_ADDRESS_DEFAULT);
  else if (strcmp (how, "thread") == 0)
    find_by_proc_address (CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  else
    find_linked ();
  if (strcmp (what, "forks") != 0)
    use_device (0);
  for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++)
    if (strcmp (deeds[i].name, what) == 0)
      {
        deeds[i].run (argc > 3 ? atoi (argv[3]) : 0);
        return 0;
      }
  return 2;
}
