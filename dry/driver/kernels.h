/* kernels.h - functions of modules and kernels of libraries (modules.c). */
#pragma once

#include "dry/driver/driver.h"
#include "dry/images/images.h"
#include "dry/replay/replay.h"

/* A function of a module, or a kernel of a library. */
typedef struct _DriverFunction
{
  DriverObject object; /* context NULL: of a library */
  DriverObject *module;
  char *name;
  gconstpointer kernel;        /* strict mode: gemem's own (strict.c) */
  const GememDryKernel *needs; /* dry runs: as the image says; NULL: unknown */
  GememReplaySource *source;   /* of a program that was compiled while this one runs; NULL: none */
  int dynamic_limit;           /* bytes of dynamic shared memory that a launch may have */
  int carveout;
  gboolean of_library;  /* its launches change nothing (gemem_dry_in_library()) */
  gboolean foreign;     /* neither that nor one of PyTorch's (foreign.c) */
  gboolean mathematics; /* writes no whole numbers (foreign.c) */
} DriverFunction;

/* What @function needs, for a program that asks; notes that it does where the image does not say. */
const GememDryKernel *gemem_driver_function_needs (const DriverFunction *function);
/* The most threads that a block of @function may have. */
int gemem_driver_function_threads (const DriverFunction *function);

/* The compute capability of the devices, 10 * major + minor. */
static inline int
gemem_driver_capability (void)
{
  return 10 * gemem_dry_gpu ()->major + gemem_dry_gpu ()->minor;
}

#define FUNCTION(handle) \
  DriverFunction *function = gemem_driver_object (handle, KIND_FUNCTION); \
  if (function == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such function")
