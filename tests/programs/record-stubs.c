/* record-stubs.c - a plugin that links no CUDA library and defines the driver's functions itself, as
 * TensorFlow does, for tests/cli/test-record.sh: at its first call each opens the driver and looks
 * its own name up there.  Opened by record-host; the functions are visible, so that a preloaded
 * library comes before them. */
#include "config.h"

#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__ ((visibility ("default")))
#define MIB ((size_t) 1 << 20)
#define NOT_INITIALIZED 3

static void *
driver_function (const char *name)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library != NULL ? dlsym (library, name) : NULL;
}

/* The function of the driver @name, with @parameters, called with the arguments that follow. */
#define STUB(name, parameters, ...) \
  EXPORT int name parameters; \
  EXPORT int name parameters \
  { \
    static int (*function) parameters; \
    if (function == NULL) \
      function = (int (*) parameters) driver_function (#name); \
    return function != NULL ? function (__VA_ARGS__) : NOT_INITIALIZED; \
  }

STUB (cuInit, (unsigned flags), flags)
STUB (cuDevicePrimaryCtxRetain, (void **context, int device), context, device)
STUB (cuCtxSetCurrent, (void *context), context)
STUB (cuMemAlloc_v2, (void **address, size_t size), address, size)
STUB (cuMemFree_v2, (void *address), address)
/* The one tests/programs/dry-asks looks up, too, the other nobody else (tests/dry/test-dry-stubs.c). */
STUB (cublasOnlyNamed, (void *handle), handle)
STUB (cublasOnlyStubbed, (void *handle), handle)

EXPORT int record_plugin (const char *what);

EXPORT int
record_plugin (const char *what)
{
  void *context, *first, *second;
  int result = cuInit (0);

  (void) what;
  if (result == 0)
    result = cuDevicePrimaryCtxRetain (&context, 0);
  if (result == 0)
    result = cuCtxSetCurrent (context);
  if (result == 0)
    result = cuMemAlloc_v2 (&first, MIB);
  if (result == 0)
    result = cuMemAlloc_v2 (&second, 2 * MIB);
  return result == 0 ? cuMemFree_v2 (first) : result;
}
