/* driver.h - what all parts of the driver share: the state, handles, devices, the report. The driver is a libcuda.so.1 for tests on
 * machines without a GPU, and the driver of dry runs (mode.h).
 *
 * Simulated: one device of gemem (devices) per ordinal decides addresses, capacity, granularity and
 * faults, and which calls wait. Real: bytes stand behind the addresses, page by page, so that two
 * mappings of one page show the same bytes and an unmapped page shows none. Device addresses are
 * numbers that only calls of the driver understand, as on a GPU; the program cannot dereference
 * them.
 *
 * The parts: calls.h (how a function begins), streams.h (contexts, streams, events, work), capture.h, areas.h (memory), pools.h,
 * copies.h, kernels.h (functions of modules), graphs.h, devices.h (what is on the machine), notes.h and remembered.h (dry runs).
 * What every call passes through (calls.c, mode.h, queue.c, capture.c, graph-model.c and what they use) uses no file in which
 * functions of CUDA are defined: those stand above it.
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
#include "dry/driver/notes.h"

typedef struct _DriverDevice DriverDevice;
typedef struct _DriverContext DriverContext;
typedef struct _DriverPool DriverPool;
typedef struct _DriverMode DriverMode;

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

/* A function of the program, called when the lock is released. */
typedef struct
{
  CUhostFn function;
  void *data;
  CUstreamCallback of_stream; /* or this one, with: */
  CUstream stream;
} DriverCallback;

/* What the libraries above the driver tell it; not in the strict stand-in of tests. */
typedef struct
{
  /* The function @name of the driver, which is not written, as of @version; *@since, which is 0 before: the version of CUDA that
   * it has been so from. NULL: none such. */
  gpointer (*absent) (const char *name, int version, int *since);
  /* Calls of libraries so far that launched work, on streams that only they know; without @told, those that did not say what they
   * write. */
  guint64 (*work) (gboolean told);
} DriverLibraries;

typedef struct
{
  const DriverMode *mode;           /* from the first call on */
  const DriverLibraries *libraries; /* above the driver; NULL: none */
  gboolean opened, broken;          /* the devices were opened; in vain */
  gboolean initialised, forked;     /* by cuInit(); in a child of the process that called it */
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
  guint64 areas_made;
} DriverState;

extern DriverState gemem_driver;

/* Tells dry/replay of libraries that launched work and did not say what it writes. */
void gemem_driver_lose_unsaid (void);
/* DriverLibraries.work(), 0 without libraries. */
static inline guint64
gemem_driver_library_work (gboolean told)
{
  return gemem_driver.libraries != NULL ? gemem_driver.libraries->work (told) : 0;
}

/* ---- the state (driver.c) */

pthread_mutex_t *
gemem_driver_lock (void); /* takes a lock that the thread sanitizer knows, unlike GLib's */
void gemem_driver_end (pthread_mutex_t **lock); /* of a call: releases the lock */
/* Calls @function in the middle of a call, without the lock: it may call the driver, and other threads may meanwhile. */
void gemem_driver_outside (void (*function) (gpointer data), gpointer data);
/* Calls @callback on this thread when the call has released the lock. */
void gemem_driver_call_later (DriverCallback callback);
guint64 gemem_driver_host_now (void);                    /* ns, of the host's clock */
const char *gemem_driver_entry_name (DriverEntry entry); /* "cuMemAlloc_v2" */
const char *gemem_driver_entry_base (DriverEntry entry); /* "cuMemAlloc", for cuGetProcAddress */

DriverDevice *gemem_driver_device (CUdevice device); /* NULL: no such device */
/* The simulated device, for a call of it, at the driver's time; and the driver's clock is set to what it is after the call. */
GememDevice *gemem_driver_enter_device (DriverDevice *device);
void gemem_driver_leave_device (DriverDevice *device);

DriverContext *gemem_driver_context (void); /* current to this thread, or NULL */
/* Makes @context current until it is popped; FALSE: there are too many. */
gboolean gemem_driver_context_push (DriverContext *context);
void gemem_driver_context_pop (void); /* if one is current */

/* ---- the report (tally.c) */

/* The call was refused as a mistake of the program: notes it in the report. Returns @code. */
CUresult gemem_driver_misuse (CUresult code, const char *format, ...) G_GNUC_PRINTF (2, 3);
void gemem_driver_report_call (DriverEntry entry);
void gemem_driver_report_line (GememDryNote word, const char *text); /* MISUSE, FAULT */
void gemem_driver_report_leak (DriverKind kind, guint64 bytes);
void gemem_driver_report_write (void);

/* ---- handles (objects.c) */

/* Takes ownership of @object, allocated with g_malloc(), and assigns an id. */
gpointer gemem_driver_object_add (gpointer object, DriverKind kind, DriverContext *context);
guint64 gemem_driver_new_id (void);
gpointer gemem_driver_object (gconstpointer handle, DriverKind kind); /* NULL: none such */
void gemem_driver_object_remove (gpointer object);
void gemem_driver_object_free (gpointer object); /* that was removed */
#define DRIVER_HANDLE(type, some) ((type) (some)->object.id)
