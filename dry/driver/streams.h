/* streams.h - contexts, the streams in them, events, and work on streams. */
#pragma once

#include "dry/driver/driver.h"
#include "dry/driver/measured.h"

typedef struct _DriverArea DriverArea;
typedef struct _DriverCapture DriverCapture;
typedef struct _DriverWork DriverWork;

typedef struct
{
  DriverObject object;
  guint flags;
  int priority;
  guint64 busy;           /* end of its last work */
  DriverCapture *capture; /* the capture it takes part in, or NULL */
} DriverStream;

typedef struct
{
  DriverObject object;
  guint flags;
  gboolean recorded;
  gboolean captured;      /* the latest record was in a capture: */
  DriverCapture *capture; /* this one, while it is in progress */
  guint64 done;
  DriverMeasured measured; /* before the latest record */
} DriverEvent;

struct _DriverContext
{
  DriverObject object;
  DriverDevice *device;
  gboolean alive;
  guint flags, retained; /* retained: primary contexts */
  CUresult lost;         /* after a fault the result of all calls, until the context is destroyed */
  DriverStream legacy;   /* the default stream */
  GHashTable *per_thread; /* GThread * -> DriverStream *, the default streams of threads */
  /* end of the work of all streams that synchronise with the default stream, */
  guint64 blocking_busy;
  guint64 busy; /* and of all streams */
  guint64
      known; /* late.h: number of the last work of which the host knows that all up to it is done */
};

/* Work on a stream. */
struct _DriverWork
{
  void (*run) (DriverWork *work);
  guint64 done, sequence;
  DriverContext *context;
  DriverEntry entry;
  guint64 to, from, size, value; /* parameters of run(); host memory has an address too */
  guint unit;
  CUgraphNodeType node; /* if it is captured */
  guint8 *staged;       /* copy of the program's bytes, freed with the work */
  gconstpointer kernel; /* the mode's (strict.c), and its parameters */
  guint64 parameters[8];
  DriverArea *area;
};

/* ---- streams and the clock (queue.c) */

/* NULL: no such stream, one of another context, or no context. */
DriverStream *gemem_driver_stream (CUstream stream);
/* Puts a copy of @work on @stream, for @ns. */
void gemem_driver_enqueue (DriverStream *stream, guint64 ns, const DriverWork *work);
/* end of all work that it waits for */
guint64 gemem_driver_stream_busy (const DriverStream *stream);
/* The earliest begin of work put on @stream now; marks the stream as busy until @done. */
guint64 gemem_driver_stream_start (const DriverStream *stream);
void gemem_driver_stream_occupy (DriverStream *stream, guint64 done);
/* The result of a query about work that is done at @time; the simulated device may answer "not
 * ready" all the same. */
CUresult gemem_driver_is_complete (DriverContext *context, guint64 time);
void gemem_driver_run_due (void);
void gemem_driver_wait_until (guint64 time);
/* The host waits for all work on @stream, or in @context. */
void gemem_driver_wait_stream (const DriverStream *stream);
void gemem_driver_wait_context (DriverContext *context);
/* Called before a call of the simulated device that waits until the device is idle. */
void gemem_driver_wait_as_device (DriverDevice *device, GememDeviceCall call);
void gemem_driver_stream_clear (DriverContext *context); /* drops the work of a context */
/* Reports failed work; its context is lost. */
void gemem_driver_fault (const DriverWork *work, CUresult code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* The time a stream needs for @size bytes. */
guint64 gemem_driver_work_ns (guint64 size);

/* the default stream in the meaning of the functions *_ptsz */
static inline CUstream
gemem_driver_per_thread (CUstream stream)
{
  return stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

/* In a function: it returns if there is no such stream; OWN: none of the current context. */
#define OWN_STREAM(handle) \
  DriverStream *stream = gemem_driver_stream (handle); \
  if (stream == NULL || stream->object.context != gemem_driver_context ()) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context")
#define STREAM(handle) \
  DriverStream *stream = gemem_driver_stream (handle); \
  if (stream == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such stream")
