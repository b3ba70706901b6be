/* gpu.h - internals of the CUDA device: calls.c (calling the driver), streams.c (streams and
 * events), touch.c and occupy.c (kernels), memory.c (allocations, virtual memory, memset), used by
 * devices/cuda.c (settings, creation and end). */
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
  GEMEM_CUDA_STREAMS_MADE,    /* a stream of the trace is our own stream, created at first use */
  GEMEM_CUDA_STREAMS_HANDLES, /* the caller's CUstream */
};

/* One stream and the events recorded on it.  They complete in order, so the latest event known to
 * be complete covers all before it.  Event number n (from 1) is ring[n % size] while pending;
 * afterwards its entry is reused. */
typedef struct
{
  CUstream handle;
  gboolean borrowed; /* the program's stream, not ours */
  CUevent *ring;
  guint64 size;           /* of the ring, a power of two, or 0 */
  guint64 recorded, done; /* recorded: events so far; done: known to be complete */
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
  guint64 limit;     /* most bytes to hold; G_MAXUINT64: the driver decides */
  guint64 granularity;
  gboolean virtual_memory;
  gboolean lost;          /* the GPU's context could not be made current: no call is possible now */
  guint64 late;           /* bytes of late blocks: not held, but not yet released */
  GememIdMap *blocks;     /* address -> GememCudaBlock: plain allocations */
  GememIdMap *shared;     /* page -> guint64: blocks of less than a page that begin in it */
  gboolean in_page;       /* the last malloc or free was in a page that it neither made nor freed */
  GememMappings mappings; /* virtual memory */
  GArray *streams;        /* GememCudaStream */
  GememIdMap *stream_places; /* stream of the trace -> index in streams */
  GememCudaTouch *touch;     /* NULL: not asked for */
  GememCudaOccupy *occupy;   /* the same */
} GememCuda;

typedef struct
{
  guint64 size;   /* as requested */
  guint64 stream; /* mode=async: as requested */
  /* mode=vmm: the page; 0: already released, when only part of a free succeeded */
  guint64 page;
  guint64 unmapped; /* mode=vmm: likewise for the mapping */
  guint64 late;     /* mode=vmm: freed; released once waiting is permitted */
} GememCudaBlock;

/* ---- calls.c */

/* Makes the GPU's context current in this thread until the scope ends, then the previous one. */
typedef struct
{
  GememCuda *self;
  gboolean pushed;
} GememCudaScope;

GememCudaScope gemem_cuda_enter (GememCuda *self);
void gemem_cuda_leave (GememCudaScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GememCudaScope, gemem_cuda_leave)
#define GEMEM_CUDA_ENTER(self) G_GNUC_UNUSED g_auto (GememCudaScope) scope = gemem_cuda_enter (self)

/* TRUE if @result of @call is success.  FALSE: the device has failed; or, with @short_is_fine,
 * memory is short. */
gboolean gemem_cuda_succeeded (GememCuda *self, const char *call, CUresult result,
                               gboolean short_is_fine);

/* Loads the code of kernels, for @option.  GEMEM_ERROR_NO_DEVICE if the GPU rejects it. */
gboolean gemem_cuda_load_kernels (GememCuda *self, const void *image, const char *option,
                                  CUmodule *module, GError **error);

/* A call that should not fail; and one that requests memory, which may be refused.  Neither is made
 * while the context is lost. */
#define GEMEM_CUDA_RESULT(self, call, ...) \
  ((self)->lost ? CUDA_ERROR_INVALID_CONTEXT : (self)->driver->call (__VA_ARGS__))
#define GEMEM_CUDA_DO(self, call, ...) \
  gemem_cuda_succeeded (self, #call, GEMEM_CUDA_RESULT (self, call, __VA_ARGS__), FALSE)
#define GEMEM_CUDA_ASK(self, call, ...) \
  gemem_cuda_succeeded (self, #call, GEMEM_CUDA_RESULT (self, call, __VA_ARGS__), TRUE)

/* memory.c: functions of GememDeviceClass, and releasing everything. */
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

/* streams.c: likewise; _stream() creates missing streams.  FALSE: the device has failed. */
GememDeviceEvent gemem_cuda_event_record (GememDevice *device, guint64 stream);
gboolean gemem_cuda_event_query (GememDevice *device, GememDeviceEvent event);
void gemem_cuda_event_sync (GememDevice *device, GememDeviceEvent event);
gboolean gemem_cuda_stream_sync (GememDevice *device, guint64 stream);
gboolean gemem_cuda_sync (GememDevice *device);
/* FALSE: the program is capturing one of its streams, which a wait would invalidate; this is no
 * failure. */
gboolean gemem_cuda_may_wait (GememCuda *self);
gboolean gemem_cuda_stream (GememCuda *self, guint64 stream, CUstream *handle);
/* Makes @stream, unused so far, the program's @handle. */
void gemem_cuda_borrow_stream (GememCuda *self, guint64 stream, CUstream handle);
void gemem_cuda_destroy_streams (GememCuda *self);

/* touch.c: likewise, for --touch; its kernels are waited for before memory returns to the
 * driver. */
gboolean gemem_cuda_touch (GememDevice *device, GError **error);
gboolean gemem_cuda_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                          guint64 stream);
gboolean gemem_cuda_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                            guint64 stream, guint64 check);
gboolean gemem_cuda_finding (GememDevice *device, gboolean wait, GememMismatch *finding);
void gemem_cuda_touch_wait (GememCuda *self);
void gemem_cuda_touch_end (GememCuda *self);

/* occupy.c: likewise, for --occupy. */
gboolean gemem_cuda_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error);
void gemem_cuda_occupy_end (GememCuda *self);
