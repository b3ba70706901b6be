/* driver.h - the internal interface of the stand-in driver: a libcuda.so.1 for tests on machines
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

#include <glib.h>
#include <pthread.h>

#include "base/tree.h"
#include "devices/device.h"
#include "dry/driver/api.h"
#include "dry/driver/dry.h"
#include "dry/images/images.h"

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
#include "dry/driver/entry-points.def"
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
  KIND_NODE,
  KIND_EXEC,
  KIND_USER_OBJECT,
  KIND_LINK,
  KIND_IMPORTED, /* memory of another process */
  KIND_VARIABLE, /* of a module: no allocation of the program */
  KIND_COUNT
} StandinKind;

/* An object with a handle; first member of the structs below. */
typedef struct
{
  guint64 id;
  StandinKind kind;
  StandinContext *context;          /* destroyed with it; NULL: with the process */
  void (*finish) (gpointer object); /* releases what it holds, before it is freed; or NULL */
} StandinObject;

struct _StandinDevice
{
  int ordinal; /* in this process */
  guint place; /* which GPU of the machine it is */
  GememDevice *memory;
  StandinContext *primary;
  StandinPool *default_pool, *pool;
  StandinPool *graph_pool; /* memory of nodes of graphs, in dry runs */
  guint32 peers;           /* bit per device whose memory work of this device may use */
  guint64 granularity;
  guint64 lowest, highest; /* lowest and highest address that it ever returned */
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
  guint foreign;     /* mappings unknown to the device */
  gboolean imported; /* from another process, where it counts */
  gboolean exported; /* to another process */
  gboolean
      multicast; /* no memory, but addresses that stand for that of several devices; imported */
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
  gboolean exported; /* to another process */
  gboolean owned;    /* the program holds it, */
  gboolean live;     /* its stream has passed the allocation, not the free; */
  guint64 freed;     /* the end of its free, */
  guint64 stream;    /* in this stream */
} StandinSpan;

typedef struct _StandinKernel StandinKernel;

/* A function of a module, or a kernel of a library. */
typedef struct
{
  StandinObject object; /* context NULL: of a library */
  StandinObject *module;
  char *name;
  const StandinKernel *kernel; /* strict mode: gemem's own */
  const GememDryKernel *needs; /* dry runs: as the image says; NULL: unknown */
  int dynamic_limit;           /* bytes of dynamic shared memory that a launch may have */
  int carveout;
  gboolean of_library; /* its launches change nothing (gemem_dry_in_library()) */
} StandinFunction;

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
  CUgraphNodeType node; /* if it is captured */
  guint8 *staged;       /* copy of the program's bytes, freed with the work */
  gconstpointer kernel; /* a StandinKernel, and its parameters */
  guint64 parameters[8];
  StandinSpan *span;
};

/* A function of the program, called when the lock is released. */
typedef struct
{
  CUhostFn function;
  void *data;
  CUstreamCallback of_stream; /* or this one, with: */
  CUstream stream;
} StandinCallback;

typedef struct
{
  StandinObject object;
  CUgraphNodeParams what; /* its type and parameters */
  gpointer kept;          /* arguments of its kernel */
  gboolean unknown;       /* what its parameters are */
  CUgraphNode *dependencies;
  gsize n_dependencies;
} StandinNode;

typedef struct
{
  StandinObject object;
  GPtrArray *nodes; /* StandinNode, owned, in the order in which they were added */
  GArray *kept;     /* user objects (user-objects.c) */
} StandinGraph;

typedef struct
{
  gboolean opened, broken;      /* the devices were opened; in vain */
  gboolean initialised, forked; /* by cuInit(); in a child of the process that called it */
  gboolean dry;                 /* gemem_dry_mode() */
  int version;
  guint gpus;      /* of the machine, as $GEMEM_STANDIN_DEVICES says (visible.c) */
  guint n_devices; /* that this process sees */
  gboolean virtual_memory, pools;
  StandinDevice devices[STANDIN_DEVICES_MAX];
  guint64 now;        /* ns */
  guint64 began;      /* $GEMEM_STANDIN_REAL_TIME: host time of now = 0; or 0 */
  StandinEntry entry; /* the call being made, for messages */
  GSequence *queue;   /* StandinWork, by done and sequence */
  guint64 sequence;
  guint64 last_id;
  GHashTable *objects; /* id -> StandinObject */
  GArray *callbacks;   /* StandinCallback, to be called at the end of the call */
  GememTree spans, ranges;
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
/* Calls @callback on this thread when the call has released the lock. */
void standin_call_later (StandinCallback callback);
CUresult standin_begin (StandinEntry entry, StandinNeeds needs);
/* The call was refused as a mistake of the program: notes it in the report. Returns @code. */
CUresult standin_misuse (CUresult code, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *standin_entry_name (StandinEntry entry); /* "cuMemAlloc_v2" */

/* In a function of the driver: it returns if there is no place for its result, no such graph or no
 * such function. */
#define PLACE(pointer) \
  if ((pointer) == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result")
#define GRAPH(handle) \
  StandinGraph *graph = standin_object (handle, KIND_GRAPH); \
  if (graph == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such graph")
#define FUNCTION(handle) \
  StandinFunction *function = standin_object (handle, KIND_FUNCTION); \
  if (function == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such function")

/* In dry runs: the function @name, which is not written, as of @version (absent.c); *@since, which is 0
 * before: the version of CUDA that it has been so from. NULL: none such. Not in the strict stand-in. */
gpointer standin_absent (const char *name, int version, int *since) __attribute__ ((weak));

/* ---- the report (report.c) */

void standin_report_call (StandinEntry entry);
void standin_report_line (const char *word, const char *text); /* "misuse", "fault" */
void standin_report_leak (StandinKind kind, guint64 bytes);
void standin_report_write (void);
/* notes.c: the program reads @size bytes at @to that were on the device; the lock is held. */
void standin_note_value (gpointer to, gsize size, GememDryValue value, guint64 from);
void standin_notes_end (void); /* notes.c: counts of lines, at the end of the process */

/* ---- handles (objects.c) */

/* Takes ownership of @object, allocated with g_malloc(), and assigns an id. */
gpointer standin_object_add (gpointer object, StandinKind kind, StandinContext *context);
guint64 standin_new_id (void);
gpointer standin_object (gconstpointer handle, StandinKind kind); /* NULL: none such */
void standin_object_remove (gpointer object);
void standin_object_free (gpointer object); /* that was removed */
#define STANDIN_HANDLE(type, some) ((type) (some)->object.id)

/* ---- devices and contexts (devices.c, contexts.c) */

StandinDevice *standin_device (CUdevice device); /* NULL: no such device */
/* For nvml.c, which needs no cuInit() and is none; they take the lock. How many GPUs the machine has, and
 * what GPU @place has and what is free (FALSE: this process does not see it, or has not opened it). */
guint standin_count_gpus (void);
gboolean standin_memory_info (guint place, guint64 *free, guint64 *total);
#define STANDIN_UUID_TEXT 41
void standin_uuid_text (guint place, char text[STANDIN_UUID_TEXT]);
int standin_place_on_bus (const char *text); /* -1: none; -2: @text is no place on a bus */
/* visible.c: the GPUs of a machine of @gpus that $CUDA_VISIBLE_DEVICES shows this process, in its order; returns how many. */
guint standin_visible (guint gpus, guint places[STANDIN_DEVICES_MAX]);
/* The machine's GPUs: as many as it was said to have, and those that $CUDA_VISIBLE_DEVICES names. */
guint standin_machine_gpus (void);
int standin_device_at (
    guint place); /* the number of GPU @place in this process; -1: it does not see it */
int standin_device_attribute (const StandinDevice *device, CUdevice_attribute attribute);

/* Whether devices reach each other's memory. */
gboolean standin_peers_reach (void);
StandinContext *standin_context (void); /* current to this thread, or NULL */
/* The result of a call that was carried out: the error of the current context, if any. */
CUresult standin_context_state (void);
void standin_context_clear (StandinContext *context); /* destroys its content, as leaked */
void standin_context_init (StandinContext *context, StandinDevice *device, guint flags);

/* The simulated device, at the driver's time; AT_DEVICE (device, call (...)) sets the clock
 * before and after the call. */
GememDevice *standin_enter_device (StandinDevice *device);
void standin_leave_device (StandinDevice *device);

/* ---- memory (spans.c) */

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
/* TRUE if work on @device (NULL: a copy) may use all of [@address, @address + @size); else *@wrong is
 * the first address that it may not. */
gboolean standin_may_use (const StandinDevice *device, guint64 address, guint64 size,
                          guint64 *wrong);
gboolean standin_is_device_address (guint64 address);
void standin_saw_address (StandinDevice *device, guint64 address, guint64 size);
/* Releases device memory to its device. */
void standin_device_free (StandinSpan *span);

/* ---- virtual memory (virtual.c), pools (pools.c) */

void standin_virtual_leaks (void);
StandinPool *standin_pool_new (StandinDevice *device);
/* A block of at least @size bytes, owned by the program and live; NULL: out of memory. */
StandinSpan *standin_pool_take (StandinPool *pool, guint64 size);
StandinPool *standin_graph_pool (StandinDevice *device);
CUresult standin_pool_free (StandinSpan *span, StandinStream *stream, gboolean ordered);
/* Releases what pools of @device hold above their thresholds, as each synchronisation does. */
void standin_pools_trim (StandinDevice *device);

/* ---- streams (streams.c), events (events.c) */

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

/* ---- stream capture (capture.c) */

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

/* The graph that @stream is captured into. */
StandinGraph *standin_capture_graph (const StandinStream *stream);
/* Calls of libraries so far that launched work, on streams that only they know; without @told, those that did not say what they
 * write. 0 in the strict stand-in. */
static inline guint64
standin_library_work (gboolean told)
{
  return gemem_dry_work != NULL ? gemem_dry_work (told) : 0;
}

/* In dry runs: a node of the graph that @stream is captured into, if it is. CUDA_SUCCESS. */
CUresult standin_capture_add (StandinStream *stream, const CUgraphNodeParams *what);

/* ---- user objects (user-objects.c) */

/* What a graph keeps of them: none. */
GArray *standin_graph_objects_new (void);
/* Releases those that @graph keeps, and the array. */
void standin_graph_drop_objects (StandinGraph *graph);

/* ---- graphs (graphs.c), nodes (graph-nodes.c) */

StandinGraph *standin_graph_new (void);
StandinGraph *standin_graph_copy (const StandinGraph *graph);
/* A new node, which takes a copy of what @what names. */
StandinNode *standin_graph_add (StandinGraph *graph, const CUgraphNodeParams *what,
                                const CUgraphNode *dependencies, gsize n);
/* A node of @work, which is captured in @context. */
void standin_graph_add_work (StandinGraph *graph, const StandinWork *work,
                             const StandinContext *context);
void standin_graph_free_node (gpointer node);

/* ---- kernels (kernels.c), modules (modules.c) */

const StandinKernel *standin_kernel (const char *name); /* gemem's own; NULL: none such */
/* What @function needs, for a program that asks; notes that it does where the image does not say. */
const GememDryKernel *standin_function_needs (const StandinFunction *function);
/* The most threads that a block of @function may have. */
int standin_function_threads (const StandinFunction *function);

/* ---- copies (copies.c) */

void standin_run_memset (StandinWork *work);
/* In a call: a copy on a stream of the current context; the addresses tell of what kind. */
CUresult standin_copy (guint64 to, guint64 from, guint64 size, gboolean wait, CUstream stream);

/* ---- what small copies wrote, in dry runs (remembered.c) */

/* The host wrote @bytes, by a copy or through the other ranks (@assumed: as if all ranks held the same). */
void standin_remember (guint64 address, gconstpointer bytes, guint64 size, gboolean assumed);
/* A copy from host memory. */
void standin_remember_host (guint64 to, guint64 from, guint64 size);
/* Something else may have been written there, anywhere. */
void standin_forget (guint64 address, guint64 size);
void standin_forget_all (void);
void standin_forget_page (const StandinPage *page); /* what is mapped to it */
/* A copy from device to device. */
void standin_carry (guint64 to, guint64 from, guint64 size);
/* The buffer that stands for all parameters in the list @extra of a launch, and its size; NULL: none. */
const guint8 *standin_parameter_buffer (void **extra, gsize *size);
/* @function was launched. */
void standin_remembered_launch (const StandinFunction *function, void **parameters, void **extra);
/* Writes what is known of [@from, @from + @size) to @to; returns how many bytes that are. */
guint64 standin_recall (guint64 from, guint64 size, gpointer to, gboolean *assumed);
/* Before a copy to the host, without the lock: asks the program about its blocks where that decides what is known. */
void standin_settle (guint64 to, guint64 from, guint64 size);
