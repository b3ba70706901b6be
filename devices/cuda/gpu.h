/* gpu.h - the CUDA device, as its files see it: calls.c (calling the driver), streams.c (streams
 * and events), touch.c and occupy.c (kernels), memory.c (allocations, virtual memory, memset),
 * above them devices/cuda.c (settings, beginning and end). */
#pragma once

#include "devices/cuda/driver.h"
#include "devices/device-private.h"
#include "devices/mappings.h"
#include "devices/profile.h"

typedef struct
{
  guint64 gpu, capacity, release_threshold;
  int mode, streams;
  char *profile;
} GememCudaParams;

enum
{
  GEMEM_CUDA_MALLOC, /* cuMemAlloc */
  GEMEM_CUDA_VMM,    /* a range and a page of its own */
  GEMEM_CUDA_ASYNC,  /* cuMemAllocFromPoolAsync */
};

enum
{
  GEMEM_CUDA_STREAMS_MADE,    /* a stream of the trace is one of ours, made when first used */
  GEMEM_CUDA_STREAMS_HANDLES, /* the caller's CUstream */
};

/* One stream, and what was recorded on it: the events of a stream complete in their order, so that
 * the latest known one speaks for all before it.
 * Event number n (from 1) is ring[n % size] while it is pending; afterwards its place is used
 * again. */
typedef struct
{
  CUstream handle;
  gboolean borrowed; /* the program's, not ours */
  CUevent *ring;
  guint64 size;           /* of the ring, a power of two, or 0 */
  guint64 recorded, done; /* events so far; thereof known to be complete */
} GememCudaStream;

typedef struct _GememCudaTouch GememCudaTouch;
typedef struct _GememCudaOccupy GememCudaOccupy;

typedef struct
{
  GememDevice base;
  GememCudaParams params; /* effective: capacity filled in */
  GememProfile *profile;  /* NULL: calls have no modelled cost */
  const GememCudaDriver *driver;
  CUdevice gpu;
  CUcontext context; /* the GPU's primary one */
  CUmemoryPool pool; /* mode=async */
  guint64 limit;     /* most bytes to hold; G_MAXUINT64: as many as the driver gives */
  guint64 granularity;
  gboolean virtual_memory;
  gboolean lost;          /* the GPU's context could not be made current: no call may be made now */
  guint64 late;           /* bytes of the blocks that are: no longer held, and not yet released */
  GememIdMap *blocks;     /* address -> GememCudaBlock: plain allocations */
  GememMappings mappings; /* virtual memory */
  GArray *streams;        /* GememCudaStream */
  GememIdMap *stream_places; /* stream of the trace -> index in it */
  GememCudaTouch *touch;     /* NULL: not asked for */
  GememCudaOccupy *occupy;   /* the same */
} GememCuda;

typedef struct
{
  guint64 size;   /* as asked for */
  guint64 stream; /* mode=async: as asked for */
  /* mode=vmm: the handle; 0: released already, as when only a part of a free succeeded */
  guint64 page;
  guint64 unmapped; /* mode=vmm: the same of the mapping */
  guint64 late;     /* mode=vmm: freed, and to be released when waiting is possible */
} GememCudaBlock;

/* ---- calls.c */

/* The GPU's context is that of this thread until the scope ends, and what it had before then. */
typedef struct
{
  GememCuda *self;
  gboolean pushed;
} GememCudaScope;

GememCudaScope gemem_cuda_enter (GememCuda *self);
void gemem_cuda_leave (GememCudaScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GememCudaScope, gemem_cuda_leave)
#define GEMEM_CUDA_ENTER(self) G_GNUC_UNUSED g_auto (GememCudaScope) scope = gemem_cuda_enter (self)

/* TRUE if @result of @call is success; otherwise the device has failed, or, where @short_is_fine,
 * memory is short. */
gboolean gemem_cuda_succeeded (GememCuda *self, const char *call, CUresult result,
                               gboolean short_is_fine);

/* The code of kernels, which is for @option.  GEMEM_ERROR_NO_DEVICE if the GPU does not take it. */
gboolean gemem_cuda_load_kernels (GememCuda *self, const void *image, const char *option,
                                  CUmodule *module, GError **error);

/* A call that has no reason to fail; and one that asks for memory, which may be refused.  Not made
 * while the context is lost. */
#define GEMEM_CUDA_RESULT(self, call, ...) \
  ((self)->lost ? CUDA_ERROR_INVALID_CONTEXT : (self)->driver->call (__VA_ARGS__))
#define GEMEM_CUDA_DO(self, call, ...) \
  gemem_cuda_succeeded (self, #call, GEMEM_CUDA_RESULT (self, call, __VA_ARGS__), FALSE)
#define GEMEM_CUDA_ASK(self, call, ...) \
  gemem_cuda_succeeded (self, #call, GEMEM_CUDA_RESULT (self, call, __VA_ARGS__), TRUE)

/* memory.c: GememDeviceClass, and giving everything back. */
guint64 gemem_cuda_malloc (GememDevice *device, guint64 size, guint64 stream);
void gemem_cuda_free (GememDevice *device, guint64 address, guint64 size);
guint64 gemem_cuda_reserve (GememDevice *device, guint64 size, guint64 alignment);
void gemem_cuda_release (GememDevice *device, guint64 address, guint64 size);
GememPage gemem_cuda_create_page (GememDevice *device, guint64 size);
void gemem_cuda_destroy_page (GememDevice *device, GememPage page, guint64 size);
gboolean gemem_cuda_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                         guint64 size);
gboolean gemem_cuda_unmap (GememDevice *device, guint64 address, guint64 size);
gboolean gemem_cuda_memset (GememDevice *device, guint64 address, guint8 value, guint64 size,
                            guint64 stream);
void gemem_cuda_give_memory_back (GememCuda *self);

/* streams.c: the same; the stream of the trace, made if need be.  FALSE: the device has failed. */
GememDeviceEvent gemem_cuda_event_record (GememDevice *device, guint64 stream);
gboolean gemem_cuda_event_query (GememDevice *device, GememDeviceEvent event);
void gemem_cuda_event_sync (GememDevice *device, GememDeviceEvent event);
gboolean gemem_cuda_stream_sync (GememDevice *device, guint64 stream);
gboolean gemem_cuda_sync (GememDevice *device);
/* FALSE: the program captures one of its streams, and waiting would spoil that; nothing has
 * failed. */
gboolean gemem_cuda_may_wait (GememCuda *self);
gboolean gemem_cuda_stream (GememCuda *self, guint64 stream, CUstream *handle);
/* @stream, not used so far, is the program's @handle. */
void gemem_cuda_borrow_stream (GememCuda *self, guint64 stream, CUstream handle);
void gemem_cuda_destroy_streams (GememCuda *self);

/* touch.c: the same, for --touch; before memory goes back to the driver, its kernels are waited
 * for. */
gboolean gemem_cuda_touch (GememDevice *device, GError **error);
gboolean gemem_cuda_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                          guint64 stream);
gboolean gemem_cuda_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                            guint64 stream, guint64 check);
gboolean gemem_cuda_finding (GememDevice *device, gboolean wait, GememMismatch *finding);
void gemem_cuda_touch_wait (GememCuda *self);
void gemem_cuda_touch_end (GememCuda *self);

/* occupy.c: the same, for --occupy. */
gboolean gemem_cuda_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error);
void gemem_cuda_occupy_end (GememCuda *self);
