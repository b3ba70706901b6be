/* dry-memory.c - a program that uses CUDA's runtime or driver, for tests/cli/test-dry-run.sh; built
 * without CUDA, it finds the functions by name.
 *
 *   dry-memory runtime      1 MiB and 2 MiB, of which the first is freed before the second
 *   dry-memory driver       3 MiB, by the driver that is opened as libcuda.so.1
 *   dry-memory full         blocks of 1 GiB until one is refused; prints how many there were
 *   dry-memory batch N      N blocks of 1 GiB; fails if one is refused
 *   dry-memory fill N MIB   the same, and one of so many MiB
 *   dry-memory children     1 MiB, and a child process that allocates 2 MiB
 *   dry-memory wait         1 MiB, then waits for a signal
 *   dry-memory read         prints what an int on the device is
 *   dry-memory devices      prints name, memory and number of the devices
 *   dry-memory workspace    1 MiB, and as much as cuDNN says that a convolution needs
 *   dry-memory pool         3 MiB of the device's memory pool, and when that is freed, 2 MiB
 *   dry-memory host         1 MiB; 4 MiB of pinned host memory, 3 MiB once those are freed, 2 MiB that is
 *                           registered, and 7 MiB of managed memory
 *   dry-memory pinned       4 MiB of pinned host memory, and nothing of the device
 *   dry-memory shared       2 MiB that another stream uses: once that is done they are used again, else it
 *                           takes 2 MiB more; exit status 4 if it gets none
 *   dry-memory none         nothing
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t) 1 << 20)
#define GIB ((size_t) 1 << 30)
#define DEVICE_TO_HOST 2

typedef int (*Malloc) (void **, size_t);
typedef int (*Free) (void *);
typedef int (*Copy) (void *, const void *, size_t, int);

static void *
need (void *library, const char *name)
{
  void *function = dlsym (library, name);
  if (function == NULL)
    {
      fprintf (stderr, "dry-memory: %s is missing\n", name);
      exit (9);
    }
  return function;
}

static void *
take (size_t size)
{
  void *block = NULL;
  Malloc function = (Malloc) need (RTLD_DEFAULT, "cudaMalloc");
  return function (&block, size) == 0 ? block : NULL;
}

static void
give (void *block)
{
  ((Free) need (RTLD_DEFAULT, "cudaFree")) (block);
}

static int
run_driver (void)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW), *context = NULL;
  unsigned long long block = 0;

  if (library == NULL)
    return 8;
  ((int (*) (unsigned)) need (library, "cuInit")) (0);
  ((int (*) (void **, int)) need (library, "cuDevicePrimaryCtxRetain")) (&context, 0);
  ((int (*) (void *)) need (library, "cuCtxSetCurrent")) (context);
  return ((int (*) (unsigned long long *, size_t)) need (library, "cuMemAlloc_v2")) (&block,
                                                                                     3 * MIB);
}

static int
run_devices (void)
{
  int count = 0;
  size_t available = 0, total = 0;
  char bus[32] = "";

  ((int (*) (int *)) need (RTLD_DEFAULT, "cudaGetDeviceCount")) (&count);
  ((int (*) (size_t *, size_t *)) need (RTLD_DEFAULT, "cudaMemGetInfo")) (&available, &total);
  ((int (*) (char *, int, int)) need (RTLD_DEFAULT, "cudaDeviceGetPCIBusId")) (bus, 32, count - 1);
  printf ("%d devices of %zu bytes, %zu free, %s\n", count, total, available, bus);
  return 0;
}

static int
run_runtime (void)
{
  void *block = take (MIB);
  give (block);
  return block == NULL || take (2 * MIB) == NULL;
}

static int
run_read (void)
{
  int number = 5;
  void *block = take (MIB);
  ((Copy) need (RTLD_DEFAULT, "cudaMemcpy")) (&number, block, sizeof number, DEVICE_TO_HOST);
  printf ("%d\n", number);
  return 0;
}

static int
run_workspace (void)
{
  typedef int (*Ask) (void *, void *, void *, void *, void *, int, size_t *);
  size_t size = 9;

  ((Ask) need (RTLD_DEFAULT, "cudnnGetConvolutionForwardWorkspaceSize")) (NULL, NULL, NULL, NULL,
                                                                          NULL, 1, &size);
  return take (MIB) == NULL || (size > 0 && take (size) == NULL);
}

static int
run_children (void)
{
  pid_t child;
  int status = 1;

  take (MIB);
  fflush (stdout);
  child = fork ();
  if (child == 0)
    {
      execl ("/proc/self/exe", "dry-memory", "runtime", NULL);
      _exit (7);
    }
  waitpid (child, &status, 0);
  return WEXITSTATUS (status);
}

static int
run_pool (void)
{
  typedef int (*Take) (void **, size_t, void *);
  typedef int (*Give) (void *, void *);
  Take from_pool = (Take) need (RTLD_DEFAULT, "cudaMallocAsync");
  void *block = NULL;
  int failed = from_pool (&block, 3 * MIB, NULL);

  failed |= ((Give) need (RTLD_DEFAULT, "cudaFreeAsync")) (block, NULL);
  return failed | from_pool (&block, 2 * MIB, NULL);
}

static int
run_host (void)
{
  static char own[2 * MIB];
  typedef int (*Make) (void **, size_t, unsigned);
  void *block = NULL, *managed = NULL;
  int failed = take (MIB) == NULL;

  failed |= ((Malloc) need (RTLD_DEFAULT, "cudaMallocHost")) (&block, 4 * MIB);
  failed |= ((Free) need (RTLD_DEFAULT, "cudaFreeHost")) (block);
  failed |= ((Make) need (RTLD_DEFAULT, "cudaHostAlloc")) (&block, 3 * MIB, 0);
  failed |= ((int (*) (void *, size_t, unsigned)) need (RTLD_DEFAULT, "cudaHostRegister")) (
      own, 2 * MIB, 0);
  return failed | ((Make) need (RTLD_DEFAULT, "cudaMallocManaged")) (&managed, 7 * MIB, 1);
}

static int
run_pinned (void)
{
  void *block = NULL;
  return ((Malloc) need (RTLD_DEFAULT, "cudaMallocHost")) (&block, 4 * MIB);
}

/* As a caching allocator does with record_stream. */
static int
run_shared (void)
{
  typedef int (*Make) (void **);
  typedef int (*Use) (void *, void *);
  void *stream = NULL, *event = NULL;

  if (take (2 * MIB) == NULL || ((Make) need (RTLD_DEFAULT, "cudaStreamCreate")) (&stream) != 0
      || ((Make) need (RTLD_DEFAULT, "cudaEventCreate")) (&event) != 0
      || ((Use) need (RTLD_DEFAULT, "cudaEventRecord")) (event, stream) != 0)
    return 1;
  if (((Free) need (RTLD_DEFAULT, "cudaEventQuery")) (event) != 0 && take (2 * MIB) == NULL)
    return 4;
  return 0;
}

int
main (int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "none";

  if (strcmp (what, "runtime") == 0)
    return run_runtime ();
  if (strcmp (what, "driver") == 0)
    return run_driver ();
  if (strcmp (what, "devices") == 0)
    return run_devices ();
  if (strcmp (what, "read") == 0)
    return run_read ();
  if (strcmp (what, "workspace") == 0)
    return run_workspace ();
  if (strcmp (what, "pool") == 0)
    return run_pool ();
  if (strcmp (what, "host") == 0)
    return run_host ();
  if (strcmp (what, "pinned") == 0)
    return run_pinned ();
  if (strcmp (what, "shared") == 0)
    return run_shared ();
  if (strcmp (what, "children") == 0)
    return run_children ();
  if (strcmp (what, "wait") == 0)
    {
      take (MIB);
      puts ("ready");
      fflush (stdout);
      pause ();
    }
  if (strcmp (what, "full") == 0 || strcmp (what, "batch") == 0 || strcmp (what, "fill") == 0)
    {
      int most = argc > 2 ? atoi (argv[2]) : 1000, count = 0;
      while (count < most && take (GIB) != NULL)
        count++;
      if (*what == 'f' && argc > 3 && take ((size_t) atoi (argv[3]) * MIB) == NULL)
        return 3;
      printf ("%d\n", count);
      return argc > 2 && count < most ? 3 : 0;
    }
  if (strcmp (what, "retry") == 0) /* half as much, until it gets it */
    {
      size_t size = (size_t) 64 * GIB;
      while (size >= GIB && take (size) == NULL)
        size /= 2;
      printf ("%zu\n", size / GIB);
    }
  return 0;
}
