/* runtime.h - the internal interface of the CUDA runtime of dry runs: libcudart.so.12 and
 * libcudart.so.13 in one.
 *
 * It sits on the driver API of this library, by direct calls, as NVIDIA's runtime sits on NVIDIA's
 * driver: the first call that needs it makes the primary context of the thread's device, errors are
 * the driver's numbers and are remembered per thread, and streams, events, graphs, pools and arrays
 * are the driver's handles.
 *
 * Which of the two the program sees, where the same name means different things:
 * gemem_runtime_version().
 *
 * Functions without state whose success without effect is harmless are not here but
 * in harmless.def.
 */
#pragma once

#include <glib.h>

#include "dry/driver/api.h"
#include "dry/driver/notes.h"
#include "dry/runtime/api.h"

#define RUNTIME_DEVICES_MAX DRIVER_DEVICES_MAX

/* The version that cudaRuntimeGetVersion answers, as 12090: $GEMEM_DRY_CUDART ("12", "13", "12.4")
 * if set; else that of the libcudart.so.N among the program's loaded objects (the stub that the
 * program asked for is one of them), the newest if there are several; else 13.0. A soname has no
 * minor version: 11 counts as 11.8 and 12 as 12.9, the last, 13 as 13.0. */
__attribute__ ((visibility ("default"))) int gemem_runtime_version (void);

/* Initialises the driver; makes a context current to this thread if there is none. The result
 * for the caller. */
int gemem_runtime_initialise (void);
int gemem_runtime_ready (void);
/* The device of this thread: of its current context, else the one it chose. */
int gemem_runtime_device (void);
/* Makes the primary context of @device current. */
int gemem_runtime_use_device (int device);
/* Remembers @result as the thread's last error if it is one. Returns it. */
int gemem_runtime_result (int result);

/* The address and size of a variable that the program registered, in the current context. */
int gemem_runtime_symbol (const void *symbol, CUdeviceptr *address, size_t *size);
/* The driver's handle of a kernel: @function is a function of the host that the program registered,
 * or such a handle. */
int gemem_runtime_function (const void *function, CUfunction *found);

/* Stream 0 in the meaning of the functions *_ptsz and *_ptds. */
static inline CUstream
runtime_per_thread (CUstream stream)
{
  return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

#define RUNTIME_EXPORT __attribute__ ((visibility ("default")))

/* Declares an exported function and begins its definition. */
#define RUNTIME(name, parameters) \
  RUNTIME_EXPORT int name parameters; \
  int name parameters

/* Defines a function of which @call is all, with an initialised driver ... */
#define RUNTIME_QUERY(name, parameters, call) \
  RUNTIME (name, parameters) \
  { \
    int result = gemem_runtime_initialise (); \
    return gemem_runtime_result (result == 0 ? (int) (call) : result); \
  }
/* ... in a context; */
#define RUNTIME_CALL(name, parameters, call) \
  RUNTIME (name, parameters) \
  { \
    int result = gemem_runtime_ready (); \
    return gemem_runtime_result (result == 0 ? (int) (call) : result); \
  }
/* ... and with its form for which stream 0 is the thread's own: @stream is the argument. */
#define RUNTIME_STREAM_CALL(name, parameters, call) \
  RUNTIME_CALL (name, parameters, call) \
  RUNTIME (name##_ptsz, parameters) \
  { \
    int result = gemem_runtime_ready (); \
    stream = runtime_per_thread (stream); \
    return gemem_runtime_result (result == 0 ? (int) (call) : result); \
  }
