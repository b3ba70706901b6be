/* kernels.c - launches of kernels: what every mode checks (mode.h). */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/mode.h"

/* CUDA_SUCCESS if @function can be launched so. */
static CUresult
check_shape (const DriverFunction *function, const CUDA_KERNEL_NODE_PARAMS *what)
{
  const guint grid[] = { what->gridDimX, what->gridDimY, what->gridDimZ };
  const guint block[] = { what->blockDimX, what->blockDimY, what->blockDimZ };
  const guint64 threads = (guint64) block[0] * block[1] * block[2];

  for (guint i = 0; i < 3; i++)
    if (grid[i] == 0 || block[i] == 0 || grid[i] > (i == 0 ? G_MAXINT32 : 65535))
      return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                  "a grid or block that is empty or too large");
  if (threads > 1024 || block[2] > 64 || what->sharedMemBytes > (guint) function->dynamic_limit)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "more threads in a block, or more shared memory, than there may be");
  if (threads > (guint64) gemem_driver_function_threads (function))
    return gemem_driver_misuse (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                                "%" G_GUINT64_FORMAT
                                " threads in a block are more than the registers "
                                "or the bounds of %s allow",
                                threads, function->name);
  return CUDA_SUCCESS;
}

static CUresult
launch (DriverEntry entry, const CUlaunchConfig *config, CUstream handle, CUfunction kernel,
        void **parameters, void **extra)
{
  const DriverFunction *function;
  CUresult possible;

  if (config == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS what = { .func = kernel,
                                         .gridDimX = config->gridDimX,
                                         .gridDimY = config->gridDimY,
                                         .gridDimZ = config->gridDimZ,
                                         .blockDimX = config->blockDimX,
                                         .blockDimY = config->blockDimY,
                                         .blockDimZ = config->blockDimZ,
                                         .sharedMemBytes = config->sharedMemBytes,
                                         .kernelParams = parameters,
                                         .extra = extra };
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  if ((function = gemem_driver_object (kernel, KIND_FUNCTION)) == NULL
      || (function->object.context != NULL && function->object.context != gemem_driver_context ()))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no function of this context");
  OWN_STREAM (handle);
  if ((possible = check_shape (function, &what)) != CUDA_SUCCESS)
    return possible;
  return gemem_driver.mode->launch (stream, function, &what);
}

#define SHAPE \
  unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, \
      unsigned int bz, unsigned int shared
#define THE_SHAPE \
  &(CUlaunchConfig) \
  { \
    .gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by, \
    .blockDimZ = bz, .sharedMemBytes = shared \
  }

CUresult CUDAAPI
cuLaunchKernel (CUfunction function, SHAPE, CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel, THE_SHAPE, stream, function, parameters, extra);
}

CUresult CUDAAPI
cuLaunchKernel_ptsz (CUfunction function, SHAPE, CUstream stream, void **parameters, void **extra)
{
  return launch (ENTRY_cuLaunchKernel_ptsz, THE_SHAPE, gemem_driver_per_thread (stream), function,
                 parameters, extra);
}

CUresult CUDAAPI
cuLaunchCooperativeKernel (CUfunction function, SHAPE, CUstream stream, void **parameters)
{
  return launch (ENTRY_cuLaunchCooperativeKernel, THE_SHAPE, stream, function, parameters, NULL);
}

CUresult CUDAAPI
cuLaunchCooperativeKernel_ptsz (CUfunction function, SHAPE, CUstream stream, void **parameters)
{
  return launch (ENTRY_cuLaunchCooperativeKernel_ptsz, THE_SHAPE, gemem_driver_per_thread (stream),
                 function, parameters, NULL);
}

CUresult CUDAAPI
cuLaunchKernelEx (const CUlaunchConfig *config, CUfunction function, void **parameters,
                  void **extra)
{
  return launch (ENTRY_cuLaunchKernelEx, config, config != NULL ? config->hStream : NULL, function,
                 parameters, extra);
}

CUresult CUDAAPI
cuLaunchKernelEx_ptsz (const CUlaunchConfig *config, CUfunction function, void **parameters,
                       void **extra)
{
  return launch (ENTRY_cuLaunchKernelEx_ptsz, config,
                 gemem_driver_per_thread (config != NULL ? config->hStream : NULL), function,
                 parameters, extra);
}
