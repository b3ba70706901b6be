/* record-runtime.c - a plugin that uses CUDA's runtime, as Python's extensions do, for
 * tests/cli/test-record.sh: opened by record-host with symbols of its own, so that the runtime is
 * in no global scope. */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__ ((visibility ("default")))
#define MIB ((size_t) 1 << 20)

int cudaMalloc (void **pointer, size_t size);
int cudaFree (void *pointer);
int cudaMallocAsync (void **pointer, size_t size, void *stream);
int cudaMallocAsync_ptsz (void **pointer, size_t size, void *stream);
int cudaFreeAsync (void *pointer, void *stream);
int cudaMallocHost (void **pointer, size_t size);
int cudaFreeHost (void *pointer);
int cudaMallocManaged (void **pointer, size_t size, unsigned flags);
int cudaStreamCreate (void **stream);
int cudaStreamCreateWithFlags (void **stream, unsigned flags);
int cudaStreamCreateWithPriority (void **stream, unsigned flags, int priority);
int cudaDeviceSynchronize (void);
int cudaDeviceReset (void);
int cudaGetDriverEntryPoint (const char *symbol, void **function, unsigned long long flags,
                             int *status);

int record_plugin (const char *what);
int record_marker (void);

/* Looks the next one up, behind this one. */
EXPORT int
record_marker (void)
{
  int (*next) (void) = (int (*) (void)) dlsym (RTLD_NEXT, "record_marker");
  return next != NULL ? next () : 1;
}

/* Goes on if @call succeeds. */
#define CHECK(call) \
  do \
    { \
      int failed = call; \
      if (failed != 0) \
        return failed; \
    } \
  while (0)

static int
all_kinds (void)
{
  void *a, *b, *c, *d, *e;
  CHECK (cudaFree (NULL)); /* as programs do to begin */
  CHECK (cudaMalloc (&a, 3 * MIB));
  CHECK (cudaMallocAsync (&b, 2 * MIB, NULL));
  CHECK (cudaMallocAsync_ptsz (&c, MIB, NULL));
  CHECK (cudaMallocHost (&d, 4096));
  CHECK (cudaMallocManaged (&e, MIB, 1));
  CHECK (cudaFreeAsync (b, NULL));
  CHECK (cudaFree (a));
  CHECK (cudaFreeAsync (c, NULL));
  CHECK (cudaFreeHost (d));
  CHECK (cudaFree (e));
  CHECK (cudaDeviceSynchronize ());
  return 0;
}

/* The driver's function, found through the runtime. */
static int
entry_point (void)
{
  int (*allocate) (void **, size_t), status;
  void *function = NULL, *a, *b;
  CHECK (cudaMalloc (&b, MIB));
  CHECK (cudaGetDriverEntryPoint ("cuMemAlloc", &function, 0, &status));
  allocate = (int (*) (void **, size_t)) function;
  CHECK (allocate (&a, 5 * MIB));
  CHECK (cudaFree (a));
  CHECK (cudaFree (b));
  return 0;
}

/* The default stream follows the first and the third. */
static int
streams (void)
{
  void *stream[3], *a;
  CHECK (cudaStreamCreate (&stream[0]));
  CHECK (cudaStreamCreateWithFlags (&stream[1], 1));
  CHECK (cudaStreamCreateWithPriority (&stream[2], 0, -1));
  for (int i = 0; i < 3; i++)
    {
      CHECK (cudaMallocAsync (&a, MIB, stream[i]));
      CHECK (cudaFreeAsync (a, stream[i]));
    }
  CHECK (cudaMallocAsync (&a, MIB, NULL));
  CHECK (cudaFreeAsync (a, NULL));
  return 0;
}

static int
reset (void)
{
  void *a;
  CHECK (cudaMalloc (&a, MIB));
  CHECK (cudaDeviceReset ());
  return 0;
}

EXPORT int
record_plugin (const char *what)
{
  return strcmp (what, "all") == 0       ? all_kinds ()
         : strcmp (what, "streams") == 0 ? streams ()
         : strcmp (what, "entry") == 0   ? entry_point ()
         : strcmp (what, "next") == 0    ? record_marker () != 2
                                         : reset ();
}
