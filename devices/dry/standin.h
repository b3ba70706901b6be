/* standin.h - the internal interface of the stand-in driver: a libcuda.so.1 for tests on machines
 * without a GPU, and the driver of dry runs.
 *
 * Simulated: one device of gemem (devices) per ordinal decides addresses, capacity, granularity and
 * faults, and which calls wait. Real: bytes stand behind the addresses, page by page, so that two
 * mappings of one page show the same bytes and an unmapped page shows none. Device addresses are
 * numbers that only calls of the driver understand, as on a GPU; the program cannot dereference
 * them.
 *
 * Invariants: every call runs under one lock, on the caller's thread. Work put on a stream is done
 * when the clock has reached its time, in the order of times; the clock advances by the costs of
 * calls and by waiting, never by itself. Handles are numbers that are never issued twice, so that a
 * stale handle is always noticed.
 *
 * Origin: the CUDA driver API's reference manual; where it is silent, the stricter reading.
 */
#pragma once

#define __CUDA_API_VERSION_INTERNAL          /* prototypes of all versions */
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT 1 /* exports all of them */
#include <cuda.h>
#include <glib.h>
#include <pthread.h>

#include "base/tree.h"
#include "devices/device.h"

#define STANDIN_DEVICES_MAX 16

typedef struct _StandinDevice StandinDevice;
typedef struct _StandinContext StandinContext;
typedef struct _StandinPool StandinPool;
typedef struct _StandinWork StandinWork;
typedef struct _StandinCapture StandinCapture;

/* One per exported function, ENTRY_cuMemAlloc_v2 ... */
typedef enum
{
#define STANDIN_ENTRY(name, symbol, version) ENTRY_##symbol,
#define STANDIN_ENTRY_PER_THREAD(name, symbol, version) ENTRY_##symbol,
#include "devices/dry/entry-points.def"
#undef STANDIN_ENTRY
#undef STANDIN_ENTRY_PER_THREAD
  ENTRY_COUNT
} StandinEntry;

/* Objects that programs obtain and must release; named so in the report. */
typedef enum
{
  KIND_CONTEXT, /* objects with handles, standin_object() */
  KIND_STREAM,
  KIND_EVENT,
  KIND_MODULE,
  KIND_FUNCTION, /* unloaded with its module */
  KIND_POOL,
  KIND_GRAPH,
  KIND_PAGE,
  KIND_ALLOCATION, /* memory, found by address */
  KIND_MANAGED,
  KIND_HOST,
  KIND_REGISTERED,
  KIND_POOLED,
  KIND_MAPPING,
  KIND_RANGE,
  KIND_COUNT
} StandinKind;

/* An object with a handle; first member of the structs below. */
typedef struct
{
  guint64 id;
  StandinKind kind;
  StandinContext *context; /* destroyed with it; NULL: with the process */
} StandinObject;

struct _StandinDevice
{
  int ordinal;
  GememDevice *memory;
  StandinContext *primary;
  StandinPool *default_pool, *pool;
  guint32 peers; /* bit per device whose memory work of this device may use */
  guint64 granularity;
};

typedef struct
{
  StandinObject object;
  guint flags;
  int priority;
  guint64 busy;            /* end of its last work */
  StandinCapture *capture; /* the capture it takes part in, or NULL */
} StandinStream;

typedef struct
{
  StandinObject object;
  guint flags;
  gboolean recorded;
  gboolean captured;       /* the latest record was in a capture: */
  StandinCapture *capture; /* this one, while it is in progress */
  guint64 done;
} StandinEvent;

struct _StandinContext
{
  StandinObject object;
  StandinDevice *device;
  gboolean alive;
  guint flags, retained; /* retained: primary contexts */
  CUresult lost;         /* after a fault the result of all calls, until the context is destroyed */
  StandinStream legacy;  /* the default stream */
  GHashTable *per_thread; /* GThread * -> StandinStream *, the default streams of threads */
  /* end of the work of all streams that synchronise with the default stream, */
  guint64 blocking_busy;
  guint64 busy; /* and of all streams */
};

struct _StandinPool
{
  StandinObject object;
  StandinDevice *device;
  gboolean own; /* the device's default pool: cannot be destroyed */
  guint64 threshold, reserved, used, reserved_high, used_high, limit;
  GPtrArray *unused; /* StandinSpan, in the order of their frees */
};

/* The bytes behind an address, allocated at the first access. */
typedef struct
{
  guint references;
  guint64 size;
  guint8 *data;
  gboolean borrowed; /* registered host memory, owned by the program */
} StandinBytes;

typedef struct
{
  StandinObject object;
  StandinDevice *device;
  guint64 size;
  GememPage page;
  guint owners, mappings;
  guint foreign; /* mappings unknown to the device */
  StandinBytes *bytes;
} StandinPage;

/* Memory that is used by address; sorted by address. */
typedef struct
{
  GememTreeNode node;
  StandinKind kind;
  guint64 size;
  StandinDevice *device;   /* NULL: host memory */
  StandinContext *context; /* released with it; NULL: with the process */
  StandinBytes *bytes;
  StandinPage *page; /* mappings */
  guint32 access;    /* bit per device */
  guint flags;       /* as passed to cuMemHostAlloc ... */
  StandinPool *pool; /* of a block from a pool: */
  gboolean owned;    /* the program holds it, */
  gboolean live;     /* its stream has passed the allocation, not the free; */
  guint64 freed;     /* the end of its free, */
  guint64 stream;    /* in this stream */
} StandinSpan;

typedef struct
{
  GememTreeNode node;
  guint64 size;
  StandinDevice *device; /* whose simulated device reserved it */
} StandinRange;

/* Work on a stream. */
struct _StandinWork
{
  void (*run) (StandinWork *work);
  guint64 done, sequence;
  StandinContext *context;
  StandinEntry entry;
  guint64 to, from, size, value; /* parameters of run(); host memory has an address too */
  guint unit;
  guint8 *staged;       /* copy of the program's bytes, freed with the work */
  gconstpointer kernel; /* a StandinKernel, and its parameters */
  guint64 parameters[8];
  StandinSpan *span;
};

typedef struct
{
  gboolean initialised, forked, broken;
  int version;
  guint n_devices;
  gboolean virtual_memory, pools;
  StandinDevice devices[STANDIN_DEVICES_MAX];
  guint64 now;        /* ns */
  guint64 began;      /* $GEMEM_STANDIN_REAL_TIME: host time of now = 0; or 0 */
  StandinEntry entry; /* the call being made, for messages */
  GSequence *queue;   /* StandinWork, by done and sequence */
  guint64 sequence;
  guint64 last_id;
  GHashTable *objects; /* id -> StandinObject */
  GememTree spans, ranges;
  guint64 lowest, highest; /* lowest and highest address that devices ever returned */
} Standin;

extern Standin standin;

/* ---- calls (driver.c) */

typedef enum
{
  NEEDS_NOTHING,
  NEEDS_INIT,
  NEEDS_CONTEXT,
  RETURNS, /* releases an object: needs cuInit, and works in a lost context too */
} StandinNeeds;

/* Takes the lock until the end of the function; counts the call, fails it if $GEMEM_STANDIN_FAIL
 * says so, and checks its preconditions. */
#define STANDIN_BEGIN(number, needs) \
  __attribute__ ((cleanup (standin_end))) pthread_mutex_t *lock G_GNUC_UNUSED = standin_lock (); \
  CUresult begun = standin_begin (number, needs); \
  if (begun != CUDA_SUCCESS) \
  return begun
#define BEGIN(symbol, needs) STANDIN_BEGIN (ENTRY_##symbol, needs)

pthread_mutex_t *
standin_lock (void); /* takes a lock that the thread sanitizer knows, unlike GLib's */
void standin_end (pthread_mutex_t **lock); /* of a call: releases the lock */
CUresult standin_begin (StandinEntry entry, StandinNeeds needs);
/* The call was refused as a mistake of the program: notes it in the report. Returns @code. */
CUresult standin_misuse (CUresult code, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *standin_entry_name (StandinEntry entry); /* "cuMemAlloc_v2" */

/* ---- the report (report.c) */

void standin_report_call (StandinEntry entry);
void standin_report_line (const char *word, const char *text); /* "misuse", "fault" */
void standin_report_leak (StandinKind kind, guint64 bytes);
void standin_report_write (void);

/* ---- handles (driver-objects.c) */

/* Takes ownership of @object, allocated with g_malloc(), and assigns an id. */
gpointer standin_object_add (gpointer object, StandinKind kind, StandinContext *context);
guint64 standin_new_id (void);
gpointer standin_object (gconstpointer handle, StandinKind kind); /* NULL: none such */
void standin_object_remove (gpointer object);
#define STANDIN_HANDLE(type, some) ((type) (some)->object.id)

/* ---- devices and contexts (driver-devices.c, driver-contexts.c) */

StandinDevice *standin_device (CUdevice device); /* NULL: no such device */
StandinContext *standin_context (void);          /* current to this thread, or NULL */
/* The result of a call that was carried out: the error of the current context, if any. */
CUresult standin_context_state (void);
void standin_context_clear (StandinContext *context); /* destroys its content, as leaked */
void standin_context_init (StandinContext *context, StandinDevice *device, guint flags);

/* The simulated device, at the driver's time; AT_DEVICE (device, call (...)) sets the clock
 * before and after the call. */
GememDevice *standin_enter_device (StandinDevice *device);
void standin_leave_device (StandinDevice *device);

/* ---- memory (driver-spans.c) */

StandinBytes *standin_bytes_new (guint64 size);
void standin_bytes_unref (StandinBytes *bytes);
guint8 *standin_bytes_data (StandinBytes *bytes); /* allocated if needed */
StandinSpan *standin_span_add (StandinKind kind, guint64 address, guint64 size,
                               StandinDevice *device, StandinBytes *bytes);
StandinSpan *standin_span_at (guint64 address); /* the span containing it, or NULL */
/* the owned span of this kind that starts there, or NULL */
StandinSpan *standin_span_start (guint64 address, StandinKind kind);
void standin_span_remove (StandinSpan *span); /* and its reference to bytes */
/* The bytes behind @address for work on @device (NULL: a copy, which may use what any device may
 * use); *@together: how many of up to @want are contiguous. NULL: an illegal access. */
guint8 *standin_translate (const StandinDevice *device, guint64 address, guint64 want,
                           guint64 *together);
gboolean standin_is_device_address (guint64 address);
void standin_saw_address (guint64 address, guint64 size);
/* Releases device memory to its device. */
void standin_device_free (StandinSpan *span);

/* ---- virtual memory (driver-virtual.c), pools (driver-pools.c) */

void standin_virtual_leaks (void);
StandinPool *standin_pool_new (StandinDevice *device);
CUresult standin_pool_free (StandinSpan *span, StandinStream *stream, gboolean ordered);
/* Releases what pools of @device hold above their thresholds, as each synchronisation does. */
void standin_pools_trim (StandinDevice *device);

/* ---- streams (driver-streams.c), events (driver-events.c) */

/* NULL: no such stream, one of another context, or no context. */
StandinStream *standin_stream (CUstream stream);
/* the default stream in the meaning of the functions *_ptsz */
CUstream standin_per_thread (CUstream stream);
/* Puts a copy of @work on @stream, for @ns. */
void standin_enqueue (StandinStream *stream, guint64 ns, const StandinWork *work);
/* end of all work that it waits for */
guint64 standin_stream_busy (const StandinStream *stream);
/* The earliest begin of work put on @stream now; marks the stream as busy until @done. */
guint64 standin_stream_start (const StandinStream *stream);
void standin_stream_occupy (StandinStream *stream, guint64 done);
/* The result of a query about work that is done at @time; the simulated device may answer "not
 * ready" all the same. */
CUresult standin_is_complete (StandinContext *context, guint64 time);
void standin_run_due (void);
void standin_wait_until (guint64 time);
/* Called before a call of the simulated device that waits until the device is idle. */
void standin_wait_as_device (StandinDevice *device, GememDeviceCall call);
void standin_stream_clear (StandinContext *context); /* drops the work of a context */
/* Reports failed work; its context is lost. */
void standin_fault (const StandinWork *work, CUresult code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* The time a stream needs for @size bytes. */
guint64 standin_work_ns (guint64 size);

/* ---- stream capture (driver-capture.c) */

/* CUDA_SUCCESS if the call is permitted now, with the stream or the context it waits for; else
 * the call's result, and captures are invalidated. */
CUresult standin_capture_allows (StandinEntry entry);
CUresult standin_capture_allows_wait (const StandinStream *stream);
CUresult standin_capture_allows_wait_for_all (const StandinContext *context);
CUstreamCaptureStatus standin_capture_status (const StandinStream *stream);
void standin_capture_join (StandinCapture *capture, StandinStream *stream);
/* For a stream, a context that is destroyed. */
void standin_capture_leave (StandinStream *stream);
void standin_capture_clear (const StandinContext *context);

/* ---- copies (driver-copies.c) */

void standin_run_memset (StandinWork *work);
