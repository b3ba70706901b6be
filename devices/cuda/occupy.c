/* occupy.c - work that keeps a stream of the CUDA device busy, with the kernel of
 * kernels/occupy.cu. */
#include "config.h"

#include "base/error.h"
#include "devices/cuda/gpu.h"
#ifdef HAVE_CUDA_KERNELS
#include "devices/cuda/kernels/occupy-image.h"
#endif

struct _GememCudaOccupy
{
  CUmodule module;
  CUfunction kernel;
};

#ifdef HAVE_CUDA_KERNELS
static gboolean
begin (GememCuda *self, GError **error)
{
  self->occupy = g_new0 (GememCudaOccupy, 1);
  if (!gemem_cuda_load_kernels (self, occupy_image, "--occupy", &self->occupy->module, error))
    return FALSE;
  if (GEMEM_CUDA_DO (self, cuModuleGetFunction, &self->occupy->kernel, self->occupy->module,
                     "gemem_occupy"))
    return TRUE;
  g_propagate_error (error, g_error_copy (self->base.failure));
  return FALSE;
}

gboolean
gemem_cuda_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error)
{
  GememCuda *self = (GememCuda *) device;
  void *parameters[] = { &ns };
  CUstream handle;
  GEMEM_CUDA_ENTER (self);

  if (self->occupy == NULL && !begin (self, error))
    return FALSE;
  return ns == 0
         || (device->failure == NULL && gemem_cuda_stream (self, stream, &handle)
             && GEMEM_CUDA_DO (self, cuLaunchKernel, self->occupy->kernel, 1, 1, 1, 1, 1, 1, 0,
                               handle, parameters, NULL));
}
#else
gboolean
gemem_cuda_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error)
{
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
                       "device cuda: gemem was built without kernels, because configure found no "
                       "nvcc that works; build where it is, or leave --occupy out");
  return FALSE;
}
#endif

/* Call when the device is idle. */
void
gemem_cuda_occupy_end (GememCuda *self)
{
  if (self->occupy != NULL && self->occupy->module != NULL)
    GEMEM_CUDA_DO (self, cuModuleUnload, self->occupy->module);
  g_free (self->occupy);
}
