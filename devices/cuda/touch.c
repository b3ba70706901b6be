/* touch.c - filling and verifying memory on the CUDA device, with the kernels of kernels/touch.cu.
 *
 * Order: the kernel for a block runs on the requested stream, after all earlier kernels of this
 * file: where the stream changes, the new one first waits for the old.  So no memory is verified
 * while it is filled for another block, whatever the streams do otherwise, and a wait for a stream
 * covers its verifications.  Memory returns to the driver when all of them are done.
 *
 * The GPU writes findings into host memory, so that reading them needs no wait; to be sure of all
 * findings, one waits for the stream used last.
 */
#include "config.h"

#include "base/error.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/kernels/touch-kernels.h"
#ifdef HAVE_CUDA_KERNELS
#include "devices/cuda/kernels/touch-image.h"
#endif

#define PIECES_PER_THREAD 4 /* of 16 bytes */
#define BLOCKS_PER_PROCESSOR 8

struct _GememCudaTouch
{
  CUmodule module;
  CUfunction fill, verify;
  CUevent order; /* recorded where the stream changes */
  CUstream last; /* stream of the latest kernel */
  gboolean used;
  guint64 blocks_max;
  GememTouchReport *report; /* host memory that the GPU writes */
  guint64 taken;            /* number of findings reported */
};

#ifdef HAVE_CUDA_KERNELS
static gboolean
begin (GememCuda *self)
{
  GememCudaTouch *touch = self->touch;
  int processors = 0;

  if (!GEMEM_CUDA_DO (self, cuModuleGetFunction, &touch->fill, touch->module, "gemem_touch_fill")
      || !GEMEM_CUDA_DO (self, cuModuleGetFunction, &touch->verify, touch->module,
                         "gemem_touch_verify")
      || !GEMEM_CUDA_DO (self, cuEventCreate, &touch->order, CU_EVENT_DISABLE_TIMING)
      || !GEMEM_CUDA_DO (self, cuMemHostAlloc, (void **) &touch->report, sizeof *touch->report,
                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
      || !GEMEM_CUDA_DO (self, cuDeviceGetAttribute, &processors,
                         CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, self->gpu))
    return FALSE;
  touch->report->count = 0;
  touch->blocks_max = (guint64) MAX (processors, 1) * BLOCKS_PER_PROCESSOR;
  return TRUE;
}

gboolean
gemem_cuda_touch (GememDevice *device, GError **error)
{
  GememCuda *self = (GememCuda *) device;
  GEMEM_CUDA_ENTER (self);

  if (self->touch != NULL)
    return TRUE;
  self->touch = g_new0 (GememCudaTouch, 1);
  if (!gemem_cuda_load_kernels (self, touch_image, "--touch", &self->touch->module, error))
    return FALSE;
  if (begin (self))
    return TRUE;
  g_propagate_error (error, g_error_copy (device->failure));
  return FALSE;
}
#else
gboolean
gemem_cuda_touch (GememDevice *device, GError **error)
{
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
                       "device cuda: gemem was built without kernels, because configure found no "
                       "nvcc that works; build where it is, or leave --touch out");
  return FALSE;
}
#endif

/* The handle of @stream, on which the next kernel follows all earlier ones. */
static gboolean
next_stream (GememCuda *self, guint64 stream, CUstream *handle)
{
  GememCudaTouch *touch = self->touch;

  if (!gemem_cuda_stream (self, stream, handle))
    return FALSE;
  if (touch->used && touch->last != *handle
      && (!GEMEM_CUDA_DO (self, cuEventRecord, touch->order, touch->last)
          || !GEMEM_CUDA_DO (self, cuStreamWaitEvent, *handle, touch->order, 0)))
    return FALSE;
  touch->last = *handle;
  touch->used = TRUE;
  return TRUE;
}

static gboolean
launch (GememCuda *self, CUfunction kernel, guint64 size, guint64 stream, void **parameters)
{
  const guint64 per_block = (guint64) GEMEM_TOUCH_THREADS * 16 * PIECES_PER_THREAD;
  CUstream handle;
  GEMEM_CUDA_ENTER (self);

  return self->base.failure == NULL && next_stream (self, stream, &handle)
         && GEMEM_CUDA_DO (self, cuLaunchKernel, kernel,
                           (unsigned int) CLAMP (size / per_block, 1, self->touch->blocks_max), 1,
                           1, GEMEM_TOUCH_THREADS, 1, 1, 0, handle, parameters, NULL);
}

gboolean
gemem_cuda_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag, guint64 stream)
{
  GememCuda *self = (GememCuda *) device;
  guint64 wide_tag = tag;
  void *parameters[] = { &address, &size, &wide_tag };

  return launch (self, self->touch->fill, size, stream, parameters);
}

gboolean
gemem_cuda_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag, guint64 stream,
                   guint64 check)
{
  GememCuda *self = (GememCuda *) device;
  guint64 wide_tag = tag;
  void *parameters[] = { &address, &size, &wide_tag, &check, &self->touch->report };

  return launch (self, self->touch->verify, size, stream, parameters);
}

void
gemem_cuda_touch_wait (GememCuda *self)
{
  if (self->touch != NULL && self->touch->used)
    GEMEM_CUDA_DO (self, cuStreamSynchronize, self->touch->last);
}

gboolean
gemem_cuda_finding (GememDevice *device, gboolean wait, GememMismatch *finding)
{
  GememCuda *self = (GememCuda *) device;
  GememCudaTouch *touch = self->touch;
  const GememTouchFinding *found;
  guint64 count;

  if (wait)
    {
      GEMEM_CUDA_ENTER (self);
      gemem_cuda_touch_wait (self);
    }
  /* each finding was written before the count */
  count = __atomic_load_n (&touch->report->count, __ATOMIC_ACQUIRE);
  if (touch->taken >= MIN (count, GEMEM_TOUCH_FINDINGS))
    return FALSE;
  found = &touch->report->findings[touch->taken++];
  *finding = (GememMismatch){ .check = found->check,
                              .offset = found->offset,
                              .tag = GEMEM_TOUCH_TAG (found->found),
                              .index = GEMEM_TOUCH_INDEX (found->found),
                              .word = found->found };
  return TRUE;
}

/* Call when the device is idle. */
void
gemem_cuda_touch_end (GememCuda *self)
{
  GememCudaTouch *touch = self->touch;

  if (touch == NULL)
    return;
  if (touch->order != NULL)
    GEMEM_CUDA_DO (self, cuEventDestroy, touch->order);
  if (touch->report != NULL)
    GEMEM_CUDA_DO (self, cuMemFreeHost, touch->report);
  if (touch->module != NULL)
    GEMEM_CUDA_DO (self, cuModuleUnload, touch->module);
  g_free (touch);
}
