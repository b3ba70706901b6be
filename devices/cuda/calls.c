/* calls.c - how the files of the CUDA device call the driver: the GPU's context around a call, the
 * result after it, and loading kernels.
 *
 * Invariants: a thread's own context is restored when a scope ends; the first call that fails for
 * another reason than want of memory fails the device (gemem_device_failure()).
 */
#include "config.h"

#include "base/error.h"
#include "devices/cuda/gpu.h"

GememCudaScope
gemem_cuda_enter (GememCuda *self)
{
  GememCudaScope scope = { self, FALSE };
  CUcontext current = NULL;

  if (!GEMEM_CUDA_DO (self, cuCtxGetCurrent, &current))
    self->lost = TRUE;
  else if (current != self->context)
    {
      scope.pushed = GEMEM_CUDA_DO (self, cuCtxPushCurrent, self->context);
      self->lost = !scope.pushed;
    }
  return scope;
}

void
gemem_cuda_leave (GememCudaScope *scope)
{
  CUcontext context;

  if (scope->pushed)
    GEMEM_CUDA_DO (scope->self, cuCtxPopCurrent, &context);
  scope->self->lost = FALSE;
}

gboolean
gemem_cuda_succeeded (GememCuda *self, const char *call, CUresult result, gboolean short_is_fine)
{
  g_autofree char *text = NULL;

  if (G_LIKELY (result == CUDA_SUCCESS))
    return TRUE;
  if (result == CUDA_ERROR_OUT_OF_MEMORY && short_is_fine)
    return FALSE;
  text = gemem_cuda_result_text (self->driver, result);
  gemem_device_fail (
      &self->base,
      g_error_new (GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "device cuda:%" G_GUINT64_FORMAT
                   ": %s: %s; the GPU cannot go on, look into the system's log (dmesg)",
                   self->params.gpu, call, text));
  return FALSE;
}

gboolean
gemem_cuda_load_kernels (GememCuda *self, const void *image, const char *option, CUmodule *module,
                         GError **error)
{
  g_autofree char *text = NULL;
  CUresult result = self->driver->cuModuleLoadData (module, image);

  if (result == CUDA_SUCCESS)
    return TRUE;
  text = gemem_cuda_result_text (self->driver, result);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
               "device cuda:%" G_GUINT64_FORMAT
               ": cuModuleLoadData: %s: the GPU does not take the kernels of %s, which are for "
               "sm_80 and later; leave %s out",
               self->params.gpu, text, option, option);
  return FALSE;
}
