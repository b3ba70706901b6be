/* standin.h - the stand-in driver, as its files see it: a libcuda.so.1 for tests on machines
 * without a GPU.
 *
 * What decides: a simulated device (devices) per ordinal gives addresses, capacity, granularity,
 * faults, and says which calls wait.
 * What is real: bytes stand behind the addresses, page by page, so that two mappings of one page
 * show the same bytes and a page that is not mapped has none.  Device addresses are numbers that
 * only the calls of the driver understand, as on a GPU; nobody can follow them.
 *
 * Invariants: everything is done under one lock, by the thread that calls.  Work put on a stream is
 * done when the clock has come to its time, in the order of times: the clock moves by what calls
 * cost and by waiting, never by itself.  Handles are numbers that are never issued twice, so
 * that one kept too long is always noticed.
 *
 * Origin: the CUDA driver API's reference manual; where it is silent, the stricter reading.
 */
#pragma once

#define __CUDA_API_VERSION_INTERNAL          /* prototypes of all versions */
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT 1 /* and all of them exported */
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
#include "entry-points.def"
#undef STANDIN_ENTRY
#undef STANDIN_ENTRY_PER_THREAD
  ENTRY_COUNT
} StandinEntry;

/* What can be obtained and must be released; in the report by its name. */
typedef enum
{
  KIND_CONTEXT, /* handles, standin_object() */
  KIND_STREAM,
  KIND_EVENT,
  KIND_MODULE,
  KIND_FUNCTION, /* goes with its module */
  KIND_POOL,
  KIND_GRAPH,
  KIND_PAGE,
  KIND_ALLOCATION, /* memory, by address */
  KIND_MANAGED,
  KIND_HOST,
  KIND_REGISTERED,
  KIND_POOLED,
  KIND_MAPPING,
  KIND_RANGE,
  KIND_COUNT
} StandinKind;

/* What has a handle; first member of the structs below. */
typedef struct
{
  guint64 id;
  StandinKind kind;
  StandinContext *context; /* with which it goes; NULL: with the process */
} StandinObject;

struct _StandinDevice
{
  int ordinal;
  GememDevice *memory;
  StandinContext *primary;
  StandinPool *default_pool, *pool;
  guint32 peers; /* bit per device whose memory work here may use */
  guint64 granularity;
};

typedef struct
{
  StandinObject object;
  guint flags;
  int priority;
  guint64 busy;            /* when its work is done */
  StandinCapture *capture; /* that it takes part in, or NULL */
} StandinStream;

typedef struct
{
  StandinObject object;
  guint flags;
  gboolean recorded;
  gboolean captured;       /* recorded last in a capture, */
  StandinCapture *capture; /* which this is while it goes on */
  guint64 done;
} StandinEvent;

struct _StandinContext
{
  StandinObject object;
  StandinDevice *device;
  gboolean alive;
  guint flags, retained;  /* retained: primary contexts */
  CUresult lost;          /* after a fault all calls say so, until the context is destroyed */
  StandinStream legacy;   /* the default stream */
  GHashTable *per_thread; /* GThread * -> StandinStream *, the default streams of threads */
  /* when the work of all streams that wait for the default stream is done, */
  guint64 blocking_busy;
  guint64 busy; /* and of all streams */
};

struct _StandinPool
{
  StandinObject object;
  StandinDevice *device;
  gboolean own; /* the device's default pool: cannot be destroyed */
  guint64 threshold, reserved, used, reserved_high, used_high, limit;
  GPtrArray *unused; /* StandinSpan, in the order in which they were freed */
};

/* Bytes behind an address, made when first touched. */
typedef struct
{
  guint references;
  guint64 size;
  guint8 *data;
  gboolean borrowed; /* registered host memory: the program's */
} StandinBytes;

typedef struct
{
  StandinObject object;
  StandinDevice *device;
  guint64 size;
  GememPage page;
  guint owners, mappings;
  guint foreign; /* mappings that the device does not know of */
  StandinBytes *bytes;
} StandinPage;

/* Memory that can be used by address, by address. */
typedef struct
{
  GememTreeNode node;
  StandinKind kind;
  guint64 size;
  StandinDevice *device;   /* NULL: host memory */
  StandinContext *context; /* with which it goes; NULL: with the process */
  StandinBytes *bytes;
  StandinPage *page; /* mappings */
  guint32 access;    /* bit per device */
  guint flags;       /* as given to cuMemHostAlloc ... */
  StandinPool *pool; /* from a pool: */
  gboolean owned;    /*   the program has it, */
  gboolean live;     /*   and so has the stream */
  guint64 freed;     /*   when its free is done, */
  guint64 stream;    /*   in this stream */
} StandinSpan;

typedef struct
{
  GememTreeNode node;
  guint64 size;
  StandinDevice *device; /* whose simulated device gave it */
} StandinRange;

/* Something on a stream. */
struct _StandinWork
{
  void (*run) (StandinWork *work);
  guint64 done, sequence;
  StandinContext *context;
  StandinEntry entry;
  guint64 to, from, size, value; /* as run() needs them; host memory is an address too */
  guint unit;
  guint8 *staged;       /* a copy of the program's bytes, freed with the work */
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
  guint64 lowest, highest; /* of the addresses that devices ever gave out */
} Standin;

extern Standin standin;

/* ---- calls (libcuda.c) */

typedef enum
{
  NEEDS_NOTHING,
  NEEDS_INIT,
  NEEDS_CONTEXT,
  RETURNS, /* gives something back: needs cuInit, and is done in a lost context too */
} StandinNeeds;

/* Takes the lock until the end of the function; counts the call, fails it if $GEMEM_STANDIN_FAIL
 * says so, and looks whether it may be made. */
#define STANDIN_BEGIN(number, needs) \
  __attribute__ ((cleanup (standin_end))) pthread_mutex_t *lock G_GNUC_UNUSED = standin_lock (); \
  CUresult begun = standin_begin (number, needs); \
  if (begun != CUDA_SUCCESS) \
  return begun
#define BEGIN(symbol, needs) STANDIN_BEGIN (ENTRY_##symbol, needs)

pthread_mutex_t *
standin_lock (void); /* takes it: one that the thread sanitizer knows, unlike GLib's */
void standin_end (pthread_mutex_t **lock); /* of a call: lets it go */
CUresult standin_begin (StandinEntry entry, StandinNeeds needs);
/* The call was refused because the program is wrong: in the report.  Returns @code. */
CUresult standin_misuse (CUresult code, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *standin_entry_name (StandinEntry entry); /* "cuMemAlloc_v2" */

/* ---- the report (report.c) */

void standin_report_call (StandinEntry entry);
void standin_report_line (const char *word, const char *text); /* "misuse", "fault" */
void standin_report_leak (StandinKind kind, guint64 bytes);
void standin_report_write (void);

/* ---- handles (libcuda-objects.c) */

/* Takes @object, of g_malloc'ed memory, over and gives it an id. */
gpointer standin_object_add (gpointer object, StandinKind kind, StandinContext *context);
guint64 standin_new_id (void);
gpointer standin_object (gconstpointer handle, StandinKind kind); /* NULL: none such */
void standin_object_remove (gpointer object);
#define STANDIN_HANDLE(type, some) ((type) (some)->object.id)

/* ---- devices and contexts (libcuda-devices.c, libcuda-contexts.c) */

StandinDevice *standin_device (CUdevice device); /* NULL: no such device */
StandinContext *standin_context (void);          /* current to this thread, or NULL */
/* The result of a call that was done nevertheless: what befell the current context. */
CUresult standin_context_state (void);
void standin_context_clear (StandinContext *context); /* all that is in it, counted as leaked */
void standin_context_init (StandinContext *context, StandinDevice *device, guint flags);

/* The simulated device, at our time; AT_DEVICE (device, call (...)) sets the clock before and
 * after. */
GememDevice *standin_enter_device (StandinDevice *device);
void standin_leave_device (StandinDevice *device);

/* ---- memory (libcuda-spans.c) */

StandinBytes *standin_bytes_new (guint64 size);
void standin_bytes_unref (StandinBytes *bytes);
guint8 *standin_bytes_data (StandinBytes *bytes); /* made, if there are none yet */
StandinSpan *standin_span_add (StandinKind kind, guint64 address, guint64 size,
                               StandinDevice *device, StandinBytes *bytes);
StandinSpan *standin_span_at (guint64 address); /* that contains it, or NULL */
/* that starts there, owned, and is of this kind; or NULL */
StandinSpan *standin_span_start (guint64 address, StandinKind kind);
void standin_span_remove (StandinSpan *span); /* gives the bytes back */
/* The bytes behind @address for work on @device (NULL: a copy, which may use what any device may),
 * and up to @want how many lie together; NULL: none, an illegal access. */
guint8 *standin_translate (const StandinDevice *device, guint64 address, guint64 want,
                           guint64 *together);
gboolean standin_is_device_address (guint64 address);
void standin_saw_address (guint64 address, guint64 size);
/* Gives memory of a device back to it. */
void standin_device_free (StandinSpan *span);

/* ---- virtual memory (libcuda-virtual.c), pools (libcuda-pools.c) */

void standin_virtual_leaks (void);
StandinPool *standin_pool_new (StandinDevice *device);
CUresult standin_pool_free (StandinSpan *span, StandinStream *stream, gboolean ordered);
/* Releases what pools of @device hold above their thresholds, as at each synchronisation. */
void standin_pools_trim (StandinDevice *device);

/* ---- streams (libcuda-streams.c), events (libcuda-events.c) */

/* 0: none such, of another context, or no context. */
StandinStream *standin_stream (CUstream stream);
/* the default stream as the functions *_ptsz mean it */
CUstream standin_per_thread (CUstream stream);
/* Puts a copy of @work on @stream, @ns long. */
void standin_enqueue (StandinStream *stream, guint64 ns, const StandinWork *work);
/* when all before is done that it waits for */
guint64 standin_stream_busy (const StandinStream *stream);
/* When work put on @stream now could begin; the stream is busy until @done. */
guint64 standin_stream_start (const StandinStream *stream);
void standin_stream_occupy (StandinStream *stream, guint64 done);
/* What a query of something that is done at @time says; the simulated device may refuse to know. */
CUresult standin_is_complete (StandinContext *context, guint64 time);
void standin_run_due (void);
void standin_wait_until (guint64 time);
/* Before a call of the simulated device that waits until the device is idle. */
void standin_wait_as_device (StandinDevice *device, GememDeviceCall call);
void standin_stream_clear (StandinContext *context); /* drops the work of a context */
/* The work went wrong: its context is lost. */
void standin_fault (const StandinWork *work, CUresult code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* What a stream takes for @size bytes. */
guint64 standin_work_ns (guint64 size);

/* ---- stream capture (libcuda-capture.c) */

/* Whether a call may be made now, the stream or the context waited for: CUDA_SUCCESS, or what the
 * call returns; then captures are invalid. */
CUresult standin_capture_allows (StandinEntry entry);
CUresult standin_capture_allows_wait (const StandinStream *stream);
CUresult standin_capture_allows_wait_for_all (const StandinContext *context);
CUstreamCaptureStatus standin_capture_status (const StandinStream *stream);
void standin_capture_join (StandinCapture *capture, StandinStream *stream);
/* The stream, the context is destroyed. */
void standin_capture_leave (StandinStream *stream);
void standin_capture_clear (const StandinContext *context);

/* ---- copies (libcuda-copies.c) */

void standin_run_memset (StandinWork *work);
