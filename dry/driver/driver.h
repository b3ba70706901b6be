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

#define DRIVER_DEVICES_MAX 16

typedef struct _DriverDevice DriverDevice;
typedef struct _DriverContext DriverContext;
typedef struct _DriverPool DriverPool;
typedef struct _DriverWork DriverWork;
typedef struct _DriverCapture DriverCapture;

/* One per exported function, ENTRY_cuMemAlloc_v2 ... */
typedef enum
{
#define DRIVER_ENTRY(name, symbol, version) ENTRY_##symbol,
#define DRIVER_ENTRY_PER_THREAD(name, symbol, version) ENTRY_##symbol,
#include "dry/driver/entry-points.def"
  ENTRY_COUNT
} DriverEntry;

/* Objects that programs obtain and must release; named so in the report. */
typedef enum
{
  KIND_CONTEXT, /* objects with handles, gemem_driver_object() */
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
} DriverKind;

/* An object with a handle; first member of the structs below. */
typedef struct
{
  guint64 id;
  DriverKind kind;
  DriverContext *context;           /* destroyed with it; NULL: with the process */
  void (*finish) (gpointer object); /* releases what it holds, before it is freed; or NULL */
} DriverObject;

struct _DriverDevice
{
  int ordinal; /* in this process */
  guint place; /* which GPU of the machine it is */
  GememDevice *memory;
  DriverContext *primary;
  DriverPool *default_pool, *pool;
  DriverPool *graph_pool; /* memory of nodes of graphs, in dry runs */
  guint32 peers;          /* bit per device whose memory work of this device may use */
  guint64 granularity;
  guint64 lowest, highest; /* lowest and highest address that it ever returned */
};

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
};

struct _DriverPool
{
  DriverObject object;
  DriverDevice *device;
  gboolean own; /* the device's default pool: cannot be destroyed */
  guint64 threshold, reserved, used, reserved_high, used_high, limit;
  GPtrArray *unused; /* DriverArea, in the order of their frees */
};

/* The bytes behind an address, allocated at the first access. */
typedef struct
{
  guint references;
  guint64 size;
  guint8 *data;
  gboolean borrowed; /* registered host memory, owned by the program */
} DriverBytes;

typedef struct
{
  DriverObject object;
  DriverDevice *device;
  guint64 size;
  GememPage page;
  guint owners, mappings;
  guint foreign;     /* mappings unknown to the device */
  gboolean imported; /* from another process, where it counts */
  gboolean exported; /* to another process */
  gboolean
      multicast; /* no memory, but addresses that stand for that of several devices; imported */
  DriverBytes *bytes;
} DriverPage;

/* Memory that is used by address; sorted by address. */
typedef struct
{
  GememTreeNode node;
  DriverKind kind;
  guint64 size;
  DriverDevice *device;   /* NULL: host memory */
  DriverContext *context; /* released with it; NULL: with the process */
  DriverBytes *bytes;
  DriverPage *page;  /* mappings */
  guint32 access;    /* bit per device */
  guint flags;       /* as passed to cuMemHostAlloc ... */
  DriverPool *pool;  /* of a block from a pool: */
  gboolean exported; /* to another process */
  gboolean owned;    /* the program holds it, */
  gboolean live;     /* its stream has passed the allocation, not the free; */
  guint64 freed;     /* the end of its free, */
  guint64 stream;    /* in this stream */
} DriverArea;

typedef struct _DriverKernel DriverKernel;

/* A function of a module, or a kernel of a library. */
typedef struct
{
  DriverObject object; /* context NULL: of a library */
  DriverObject *module;
  char *name;
  const DriverKernel *kernel;  /* strict mode: gemem's own */
  const GememDryKernel *needs; /* dry runs: as the image says; NULL: unknown */
  int dynamic_limit;           /* bytes of dynamic shared memory that a launch may have */
  int carveout;
  gboolean of_library; /* its launches change nothing (gemem_dry_in_library()) */
} DriverFunction;

typedef struct
{
  GememTreeNode node;
  guint64 size;
  DriverDevice *device; /* whose simulated device reserved it */
} DriverRange;

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
  gconstpointer kernel; /* a DriverKernel, and its parameters */
  guint64 parameters[8];
  DriverArea *area;
};

/* A function of the program, called when the lock is released. */
typedef struct
{
  CUhostFn function;
  void *data;
  CUstreamCallback of_stream; /* or this one, with: */
  CUstream stream;
} DriverCallback;

typedef struct
{
  DriverObject object;
  CUgraphNodeParams what; /* its type and parameters */
  gpointer kept;          /* arguments of its kernel */
  gboolean unknown;       /* what its parameters are */
  CUgraphNode *dependencies;
  gsize n_dependencies;
} DriverNode;

typedef struct
{
  DriverObject object;
  GPtrArray *nodes; /* DriverNode, owned, in the order in which they were added */
  GArray *kept;     /* user objects (user-objects.c) */
} DriverGraph;

typedef struct
{
  gboolean opened, broken;      /* the devices were opened; in vain */
  gboolean initialised, forked; /* by cuInit(); in a child of the process that called it */
  gboolean dry;                 /* gemem_dry_mode() */
  int version;
  guint gpus;      /* of the machine, as $GEMEM_DRIVER_DEVICES says (visible.c) */
  guint n_devices; /* that this process sees */
  gboolean virtual_memory, pools;
  DriverDevice devices[DRIVER_DEVICES_MAX];
  guint64 now;       /* ns */
  guint64 began;     /* $GEMEM_DRIVER_REAL_TIME: host time of now = 0; or 0 */
  DriverEntry entry; /* the call being made, for messages */
  GSequence *queue;  /* DriverWork, by done and sequence */
  guint64 sequence;
  guint64 last_id;
  GHashTable *objects; /* id -> DriverObject */
  GArray *callbacks;   /* DriverCallback, to be called at the end of the call */
  GememTree areas, ranges;
} DriverState;

extern DriverState gemem_driver;

/* ---- calls (driver.c) */

typedef enum
{
  NEEDS_NOTHING,
  NEEDS_INIT,
  NEEDS_CONTEXT,
  RETURNS, /* releases an object: needs cuInit, and works in a lost context too */
} DriverNeeds;

/* Takes the lock until the end of the function; counts the call, fails it if $GEMEM_DRIVER_FAIL
 * says so, and checks its preconditions. */
#define DRIVER_BEGIN(number, needs) \
  __attribute__ ((cleanup (gemem_driver_end))) \
  pthread_mutex_t *lock G_GNUC_UNUSED = gemem_driver_lock (); \
  CUresult begun = gemem_driver_begin (number, needs); \
  if (begun != CUDA_SUCCESS) \
  return begun
#define BEGIN(symbol, needs) DRIVER_BEGIN (ENTRY_##symbol, needs)

pthread_mutex_t *
gemem_driver_lock (void); /* takes a lock that the thread sanitizer knows, unlike GLib's */
void gemem_driver_end (pthread_mutex_t **lock); /* of a call: releases the lock */
/* Calls @callback on this thread when the call has released the lock. */
void gemem_driver_call_later (DriverCallback callback);
CUresult gemem_driver_begin (DriverEntry entry, DriverNeeds needs);
/* The call was refused as a mistake of the program: notes it in the report. Returns @code. */
CUresult gemem_driver_misuse (CUresult code, const char *format, ...) G_GNUC_PRINTF (2, 3);
const char *gemem_driver_entry_name (DriverEntry entry); /* "cuMemAlloc_v2" */

/* In a function of the driver: it returns if there is no place for its result, no such graph or no
 * such function. */
#define PLACE(pointer) \
  if ((pointer) == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result")
#define GRAPH(handle) \
  DriverGraph *graph = gemem_driver_object (handle, KIND_GRAPH); \
  if (graph == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such graph")
#define FUNCTION(handle) \
  DriverFunction *function = gemem_driver_object (handle, KIND_FUNCTION); \
  if (function == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such function")

/* In dry runs: the function @name, which is not written, as of @version (absent.c); *@since, which is 0
 * before: the version of CUDA that it has been so from. NULL: none such. Not in the strict stand-in. */
gpointer gemem_driver_absent (const char *name, int version, int *since) __attribute__ ((weak));

/* ---- the report (report.c) */

void gemem_driver_report_call (DriverEntry entry);
void gemem_driver_report_line (GememDryNote word, const char *text); /* MISUSE, FAULT */
void gemem_driver_report_leak (DriverKind kind, guint64 bytes);
void gemem_driver_report_write (void);
/* notes.c: the program reads @size bytes at @to that were on the device; the lock is held. */
void gemem_driver_note_value (gpointer to, gsize size, GememDryValue value, guint64 from);
void gemem_driver_notes_end (void); /* notes.c: counts of lines, at the end of the process */

/* ---- handles (objects.c) */

/* Takes ownership of @object, allocated with g_malloc(), and assigns an id. */
gpointer gemem_driver_object_add (gpointer object, DriverKind kind, DriverContext *context);
guint64 gemem_driver_new_id (void);
gpointer gemem_driver_object (gconstpointer handle, DriverKind kind); /* NULL: none such */
void gemem_driver_object_remove (gpointer object);
void gemem_driver_object_free (gpointer object); /* that was removed */
#define DRIVER_HANDLE(type, some) ((type) (some)->object.id)

/* ---- devices and contexts (devices.c, contexts.c) */

DriverDevice *gemem_driver_device (CUdevice device); /* NULL: no such device */
/* For nvml.c, which needs no cuInit() and is none; they take the lock. How many GPUs the machine has, and
 * what GPU @place has and what is free (FALSE: this process does not see it, or has not opened it). */
guint gemem_driver_count_gpus (void);
gboolean gemem_driver_memory_info (guint place, guint64 *free, guint64 *total);
#define DRIVER_UUID_TEXT 41
void gemem_driver_uuid_text (guint place, char text[DRIVER_UUID_TEXT]);
int gemem_driver_place_on_bus (const char *text); /* -1: none; -2: @text is no place on a bus */
/* visible.c: the GPUs of a machine of @gpus that $CUDA_VISIBLE_DEVICES shows this process, in its order; returns how many. */
guint gemem_driver_visible (guint gpus, guint places[DRIVER_DEVICES_MAX]);
/* The machine's GPUs: as many as it was said to have, and those that $CUDA_VISIBLE_DEVICES names. */
guint gemem_driver_machine_gpus (void);
int gemem_driver_device_at (
    guint place); /* the number of GPU @place in this process; -1: it does not see it */
int gemem_driver_device_attribute (const DriverDevice *device, CUdevice_attribute attribute);

/* Whether devices reach each other's memory. */
gboolean gemem_driver_peers_reach (void);
DriverContext *gemem_driver_context (void); /* current to this thread, or NULL */
/* The result of a call that was carried out: the error of the current context, if any. */
CUresult gemem_driver_context_state (void);
void gemem_driver_context_clear (DriverContext *context); /* destroys its content, as leaked */
void gemem_driver_context_init (DriverContext *context, DriverDevice *device, guint flags);

/* The simulated device, at the driver's time; AT_DEVICE (device, call (...)) sets the clock
 * before and after the call. */
GememDevice *gemem_driver_enter_device (DriverDevice *device);
void gemem_driver_leave_device (DriverDevice *device);

/* ---- memory (areas.c) */

DriverBytes *gemem_driver_bytes_new (guint64 size);
void gemem_driver_bytes_unref (DriverBytes *bytes);
guint8 *gemem_driver_bytes_data (DriverBytes *bytes); /* allocated if needed */
DriverArea *gemem_driver_area_add (DriverKind kind, guint64 address, guint64 size,
                                   DriverDevice *device, DriverBytes *bytes);
DriverArea *gemem_driver_area_at (guint64 address); /* the area containing it, or NULL */
/* the owned area of this kind that starts there, or NULL */
DriverArea *gemem_driver_area_start (guint64 address, DriverKind kind);
void gemem_driver_area_remove (DriverArea *area); /* and its reference to bytes */
/* The bytes behind @address for work on @device (NULL: a copy, which may use what any device may
 * use); *@together: how many of up to @want are contiguous. NULL: an illegal access. */
guint8 *gemem_driver_translate (const DriverDevice *device, guint64 address, guint64 want,
                                guint64 *together);
/* TRUE if work on @device (NULL: a copy) may use all of [@address, @address + @size); else *@wrong is
 * the first address that it may not. */
gboolean gemem_driver_may_use (const DriverDevice *device, guint64 address, guint64 size,
                               guint64 *wrong);
gboolean gemem_driver_is_device_address (guint64 address);
void gemem_driver_saw_address (DriverDevice *device, guint64 address, guint64 size);
/* Releases device memory to its device. */
void gemem_driver_device_free (DriverArea *area);

/* ---- virtual memory (virtual.c), pools (pools.c) */

void gemem_driver_virtual_leaks (void);
DriverPool *gemem_driver_pool_new (DriverDevice *device);
/* A block of at least @size bytes, owned by the program and live; NULL: out of memory. */
DriverArea *gemem_driver_pool_take (DriverPool *pool, guint64 size);
DriverPool *gemem_driver_graph_pool (DriverDevice *device);
CUresult gemem_driver_pool_free (DriverArea *area, DriverStream *stream, gboolean ordered);
/* Releases what pools of @device hold above their thresholds, as each synchronisation does. */
void gemem_driver_pools_trim (DriverDevice *device);

/* ---- streams (streams.c), events (events.c) */

/* NULL: no such stream, one of another context, or no context. */
DriverStream *gemem_driver_stream (CUstream stream);
/* the default stream in the meaning of the functions *_ptsz */
CUstream gemem_driver_per_thread (CUstream stream);
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
/* Called before a call of the simulated device that waits until the device is idle. */
void gemem_driver_wait_as_device (DriverDevice *device, GememDeviceCall call);
void gemem_driver_stream_clear (DriverContext *context); /* drops the work of a context */
/* Reports failed work; its context is lost. */
void gemem_driver_fault (const DriverWork *work, CUresult code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* The time a stream needs for @size bytes. */
guint64 gemem_driver_work_ns (guint64 size);

/* ---- stream capture (capture.c) */

/* CUDA_SUCCESS if the call is permitted now, with the stream or the context it waits for; else
 * the call's result, and captures are invalidated. */
CUresult gemem_driver_capture_allows (DriverEntry entry);
CUresult gemem_driver_capture_allows_wait (const DriverStream *stream);
CUresult gemem_driver_capture_allows_wait_for_all (const DriverContext *context);
CUstreamCaptureStatus gemem_driver_capture_status (const DriverStream *stream);
void gemem_driver_capture_join (DriverCapture *capture, DriverStream *stream);
/* For a stream, a context that is destroyed. */
void gemem_driver_capture_leave (DriverStream *stream);
void gemem_driver_capture_clear (const DriverContext *context);

/* The graph that @stream is captured into. */
DriverGraph *gemem_driver_capture_graph (const DriverStream *stream);
/* Calls of libraries so far that launched work, on streams that only they know; without @told, those that did not say what they
 * write. 0 in the strict stand-in. */
static inline guint64
gemem_driver_library_work (gboolean told)
{
  return gemem_dry_work != NULL ? gemem_dry_work (told) : 0;
}

/* In dry runs: a node of the graph that @stream is captured into, if it is. CUDA_SUCCESS. */
CUresult gemem_driver_capture_add (DriverStream *stream, const CUgraphNodeParams *what);

/* ---- user objects (user-objects.c) */

/* What a graph keeps of them: none. */
GArray *gemem_driver_graph_objects_new (void);
/* Releases those that @graph keeps, and the array. */
void gemem_driver_graph_drop_objects (DriverGraph *graph);

/* ---- graphs (graphs.c), nodes (graph-nodes.c) */

DriverGraph *gemem_driver_graph_new (void);
DriverGraph *gemem_driver_graph_copy (const DriverGraph *graph);
/* A new node, which takes a copy of what @what names. */
DriverNode *gemem_driver_graph_add (DriverGraph *graph, const CUgraphNodeParams *what,
                                    const CUgraphNode *dependencies, gsize n);
/* A node of @work, which is captured in @context. */
void gemem_driver_graph_add_work (DriverGraph *graph, const DriverWork *work,
                                  const DriverContext *context);
void gemem_driver_graph_free_node (gpointer node);

/* ---- kernels (kernels.c), modules (modules.c) */

const DriverKernel *gemem_driver_kernel (const char *name); /* gemem's own; NULL: none such */
/* What @function needs, for a program that asks; notes that it does where the image does not say. */
const GememDryKernel *gemem_driver_function_needs (const DriverFunction *function);
/* The most threads that a block of @function may have. */
int gemem_driver_function_threads (const DriverFunction *function);

/* ---- copies (copies.c) */

void gemem_driver_run_memset (DriverWork *work);
/* In a call: a copy on a stream of the current context; the addresses tell of what kind. */
CUresult gemem_driver_copy (guint64 to, guint64 from, guint64 size, gboolean wait, CUstream stream);

/* ---- what small copies wrote, in dry runs (remembered.c) */

/* The host wrote @bytes, by a copy or through the other ranks (@assumed: as if all ranks held the same). */
void gemem_driver_remember (guint64 address, gconstpointer bytes, guint64 size, gboolean assumed);
/* A copy from host memory. */
void gemem_driver_remember_host (guint64 to, guint64 from, guint64 size);
/* Something else may have been written there, anywhere. */
void gemem_driver_forget (guint64 address, guint64 size);
void gemem_driver_forget_all (void);
void gemem_driver_forget_page (const DriverPage *page); /* what is mapped to it */
/* A copy from device to device. */
void gemem_driver_carry (guint64 to, guint64 from, guint64 size);
/* The buffer that stands for all parameters in the list @extra of a launch, and its size; NULL: none. */
const guint8 *gemem_driver_parameter_buffer (void **extra, gsize *size);
/* @function was launched. */
void gemem_driver_remembered_launch (const DriverFunction *function, void **parameters,
                                     void **extra);
/* Writes what is known of [@from, @from + @size) to @to; returns how many bytes that are. */
guint64 gemem_driver_recall (guint64 from, guint64 size, gpointer to, gboolean *assumed);
/* Before a copy to the host, without the lock: asks the program about its blocks where that decides what is known. */
void gemem_driver_settle (guint64 to, guint64 from, guint64 size);
