/* driver.h - NVIDIA's driver, loaded at run time: one table of its functions.
 *
 * Why: one binary runs with and without a driver.  The library is opened by name, and each function
 * is looked up by name and version (cuGetProcAddress), so that a newer driver returns the form that
 * the headers describe.
 *
 * Invariants: the table is created once per process, and complete: a driver without a function of
 * calls.def is refused as too old.
 */
#pragma once

#include <cuda.h>
#include <glib.h>

typedef struct
{
#define GEMEM_CUDA_CALL(name, version) __typeof__ (name) *name;
#include "devices/cuda/calls.def"
#undef GEMEM_CUDA_CALL
} GememCudaDriver;

/* The initialised driver; callable from any thread.  GEMEM_ERROR_NO_DEVICE: no driver, too old, or
 * no GPU. */
const GememCudaDriver *gemem_cuda_driver (GError **error);

/* "CUDA_ERROR_OUT_OF_MEMORY: out of memory"; g_free(). */
char *gemem_cuda_result_text (const GememCudaDriver *driver, CUresult result);
