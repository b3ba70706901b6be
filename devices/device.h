/* device.h - the source of an allocator's memory: the vtable of simulated, faulty, null and CUDA
 * devices.
 *
 * One GememDevice is one device ordinal; nothing defaults to device 0.  An allocator calls only the
 * gemem_device_*() functions below, which count, charge the modelled cost to the device's clock,
 * and then dispatch to the class.
 *
 * Invariants: `held` is the number of physical bytes obtained and not returned (contiguous
 * allocations as requested, not rounded, plus physical pages that exist); addresses are never 0;
 * every call can fail where documented, and a failed call changes nothing but counters and the
 * clock.  Out-of-memory is an ordinary return value (0, or FALSE).
 *
 * Division of work: the class maintains `held` (a page is freed with its last mapping, which only
 * the class knows) and advances `now` when a call waits; the gemem_device_*() functions charge the
 * cost and maintain all counters.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#include "base/histogram.h"
#include "base/params.h"

GEMEM_BEGIN_DECLS

typedef struct _GememDevice GememDevice;
typedef struct _GememDeviceClass GememDeviceClass;

/* Device calls, as counted and priced. */
typedef enum
{
  GEMEM_CALL_MALLOC,
  GEMEM_CALL_FREE,
  GEMEM_CALL_RESERVE, /* an address range */
  GEMEM_CALL_RELEASE,
  GEMEM_CALL_CREATE, /* physical pages */
  GEMEM_CALL_DESTROY,
  GEMEM_CALL_MAP,
  GEMEM_CALL_UNMAP,
  GEMEM_CALL_MEMSET,
  GEMEM_CALL_EVENT_RECORD,
  GEMEM_CALL_EVENT_QUERY,
  GEMEM_CALL_EVENT_SYNC,
  GEMEM_CALL_STREAM_SYNC,
  GEMEM_CALL_DEVICE_SYNC,
  GEMEM_CALL_INFO,
  GEMEM_CALL_COUNT
} GememDeviceCall;

typedef struct
{
  guint64 total;           /* bytes the device reports */
  guint64 free;            /* bytes that no program holds */
  guint64 granularity;     /* of physical pages and mappings */
  gboolean virtual_memory; /* reserve/create/map are supported */
} GememDeviceInfo;

typedef guint64 GememPage;        /* a physical allocation; 0 = none */
typedef guint64 GememDeviceEvent; /* 0 = none, always complete */

/* A failed verification: its number, the first wrong byte, the word that contains the byte, and
 * that word decoded as a block's pattern. */
typedef struct
{
  guint64 check, offset, word;
  guint32 tag, index;
} GememMismatch;

struct _GememDeviceClass
{
  /* ---- Required. */

  const char *name; /* "sim" */
  const char *summary;
  /* Copies what it needs from @params; sets `capacity`, `hit_ns` and `params` of the new device,
   * which stands for device @ordinal of the trace. */
  GememDevice *(*create) (gconstpointer params, int ordinal, GError **error);
  /* Replaces create for a wrapper: a device in front of @inner, which it owns from now on, also on
   * error.  The setting `on` names the class of @inner. */
  GememDevice *(*wrap) (GememDevice *inner, gconstpointer params, GError **error);
  void (*destroy) (GememDevice *device);

  /* address; 0 = out of memory */
  guint64 (*malloc) (GememDevice *device, guint64 size, guint64 stream);
  void (*free) (GememDevice *device, guint64 address, guint64 size);
  /* address; 0 = unsupported or refused */
  guint64 (*reserve) (GememDevice *device, guint64 size, guint64 alignment);
  void (*release) (GememDevice *device, guint64 address, guint64 size);
  GememPage (*create_page) (GememDevice *device, guint64 size); /* 0 = out of memory */
  void (*destroy_page) (GememDevice *device, GememPage page, guint64 size);
  gboolean (*map) (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                   guint64 size);
  gboolean (*unmap) (GememDevice *device, guint64 address, guint64 size);
  gboolean (*memset) (GememDevice *device, guint64 address, guint8 value, guint64 size,
                      guint64 stream);
  GememDeviceEvent (*event_record) (GememDevice *device, guint64 stream);
  gboolean (*event_query) (GememDevice *device, GememDeviceEvent event); /* TRUE = complete */
  void (*event_sync) (GememDevice *device, GememDeviceEvent event);
  gboolean (*stream_sync) (GememDevice *device, guint64 stream);
  gboolean (*device_sync) (GememDevice *device);
  void (*info) (GememDevice *device, GememDeviceInfo *info);

  /* ---- Optional, independently of each other: 0 or NULL if absent. */

  const char *aliases;
  const GememParam *params;
  gsize params_size;
  /* Hardware: calls can fail for other reasons than memory (gemem_device_failure()). */
  gboolean real;
  /* "NVIDIA H200, CUDA 13.0", for provenance; g_free(). */
  char *(*identify) (GememDevice *device);
  /* Modelled cost in ns of one call, charged by the wrapper after the call. */
  guint64 (*cost) (GememDevice *device, GememDeviceCall call, guint64 size);

  /* From now on @device and @with, of the same class, have one memory between them: what one holds
   * the other cannot have.  Addresses, clock and counters stay each device's own.  FALSE: their
   * capacities differ. */
  gboolean (*share) (GememDevice *device, GememDevice *with);

  /* Optional: adds to @settings (gemem_settings_add()) what follows from them and is not among them. */
  void (*imply) (GPtrArray *settings);
  /* Optional: the program begins to compute; what its context holds may move. */
  void (*compute) (GememDevice *device);

  /* ---- Optional: following a recording (address policy `recorded`). */
  struct
  {
    /* Announces the next recorded segment. */
    void (*expect) (GememDevice *device, guint64 address, guint64 size);
    /* Announces that the recorded device mapped memory: if into a new range, where that lies. */
    void (*expect_map) (GememDevice *device, guint64 address, guint64 size, gboolean whole);
    /* Until the next call of limit at most @bytes are held; 0: no limit. */
    void (*limit) (GememDevice *device, guint64 bytes);
    /* Takes a contiguous allocation that existed before the trace, at its recorded address.
     * FALSE: no space. */
    gboolean (*adopt) (GememDevice *device, guint64 address, guint64 size);
  } recorded;

  /* ---- Optional: probes of memory and streams; no allocator calls them.  The first four come
   * together: they fill memory with a pattern and verify it (cuda/kernels/touch-kernels.h). */
  struct
  {
    /* Enables touching; GEMEM_ERROR_NO_DEVICE if impossible. */
    gboolean (*touch) (GememDevice *device, GError **error);
    /* Work on @stream, after all earlier fills and verifications; FALSE: the device has failed. */
    gboolean (*fill) (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                      guint64 stream);
    gboolean (*verify) (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                        guint64 stream, guint64 check);
    /* Takes the next failed verification; @wait: waits for all, otherwise only known ones.  FALSE:
     * none. */
    gboolean (*finding) (GememDevice *device, gboolean wait, GememMismatch *finding);
    /* Queues work that keeps @stream busy for @ns.  0: queues none, but prepares for the first
     * work; GEMEM_ERROR_NO_DEVICE if impossible.  Failures during the work are reported by the
     * device (gemem_device_failure()). */
    gboolean (*occupy) (GememDevice *device, guint64 ns, guint64 stream, GError **error);
  } probe;
};

/* A completed call as observers see it.  Fields that the call does not have are 0. */
typedef struct
{
  GememDeviceCall call;
  gboolean ok;     /* FALSE: refused; of an event_query: not complete */
  guint64 address; /* of memory; create, destroy: the page */
  guint64 size;
  guint64 stream;         /* memset, event_record, stream_sync; malloc: the requester's */
  GememDeviceEvent event; /* event_record, event_query, event_sync */
} GememDeviceNote;

typedef void (*GememDeviceObserverFunc) (gpointer data, const GememDeviceNote *note);

/* Latencies of calls by a clock of the caller, in addition to their modelled cost.  Owned by the
 * measuring caller. */
typedef struct
{
  guint64 (*clock) (void); /* ns, monotonic */
  GememHistogram ns[GEMEM_CALL_COUNT];
} GememCallTimes;

/* An observer of all calls, such as the engine's ledger for fidelity or its probe of the order of
 * release.  Owned by the caller that adds it. */
typedef struct _GememDeviceObserver GememDeviceObserver;
struct _GememDeviceObserver
{
  GememDeviceObserverFunc func;
  gpointer data;
  GememDeviceObserver *next; /* private to device.c */
};

struct _GememDevice
{
  const GememDeviceClass *klass;
  int ordinal;
  /* effective settings, of klass->params_size bytes, owned by the class; NULL: no settings */
  gconstpointer params;
  GememDevice *inner; /* the device in front of which a wrapper (faulty) stands; NULL: no wrapper */
  guint64 capacity;   /* bytes of the whole device; G_MAXUINT64: unlimited */
  guint64 held, peak_held; /* physical bytes held through this device object */
  gboolean shares_pages;   /* `held` counts whole pages, which small requests share, */
  guint64 beyond;          /* and of it so many bytes are more than was asked for; */
  guint64 peak_asked;      /* the most that was asked for at once */
  guint64 now;             /* virtual clock, ns */
  guint64 call_time;       /* ns charged for calls since creation */
  /* figures of the cost model, and how many of them are guesses */
  guint cost_numbers, cost_guesses;
  /* modelled host cost of one alloc or free without a device call (profile); 0: unset */
  guint64 hit_ns;
  /* calls with an address, page or size that was never returned: errors of the caller */
  guint64 misuses;
  guint64 unexpected; /* address policy `recorded`: mallocs and ranges elsewhere than recorded */
  guint64 calls[GEMEM_CALL_COUNT];
  guint64 refused[GEMEM_CALL_COUNT];
  guint64 call_ns[GEMEM_CALL_COUNT];
  /* bit per GememDeviceCall that waits until the device is idle before it does its work */
  guint32 waits;
  GememCallTimes *times;          /* set by a caller that measures; else NULL */
  GememDeviceObserver *observers; /* in the order in which they were added */
  GRecMutex lock;                 /* gemem_device_lock() */
  GError *failure;                /* gemem_device_failure() */
};

/* Creates a device from "sim:capacity=80GiB,address=bump,profile=h200" (class name, then settings).
 * @defaults (or NULL): settings, from a trace, that apply where @spec does not set them. */
GememDevice *gemem_device_new (const char *spec, const char *defaults, int ordinal, GError **error);
/* The GPU that @spec names, "cuda:1" or "faulty:on=cuda,gpu=1"; -1: none, so that each device of a
 * trace gets the GPU of its own number, or the devices have no numbers. */
int gemem_device_spec_gpu (const char *spec);
/* The settings in @spec (GememSetting), and its class: "cuda:1:mode=vmm" means gpu=1, mode=vmm.
 * GEMEM_ERROR_USAGE. */
GPtrArray *gemem_device_spec_parse (const char *spec, const GememDeviceClass **klass,
                                    GError **error);
/* For a wrapper (faulty) with @settings: the class of the device beneath, to which unknown settings
 * belong; else @klass.  NULL: unknown. */
const GememDeviceClass *gemem_device_class_beneath (const GememDeviceClass *klass,
                                                    const GPtrArray *settings);
/* One of the devices that the user's text stands for. */
typedef struct
{
  char *spec;       /* for gemem_device_new() */
  char *difference; /* settings that tell it from the others, "capacity=8GiB"; NULL: it is alone */
} GememDeviceSpec;

/* The devices that @text denotes, GememDeviceSpec: value lists ("sim:capacity=8GiB|16GiB") and "*"
 * multiply, the last key varying fastest.  GEMEM_ERROR_USAGE; g_ptr_array_unref(). */
GPtrArray *gemem_device_spec_expand (const char *text, GError **error);
void gemem_device_destroy (GememDevice *device);
/* For allocators that share a device among threads.  The calls below do not lock: a caller that may
 * run concurrently locks around the calls and what depends on them.  The lock is recursive. */
void gemem_device_lock (GememDevice *device);
void gemem_device_unlock (GememDevice *device);
/* "sim:capacity=...": the effective settings. */
char *gemem_device_describe (GememDevice *device);
/* The hardware, or, of a simulated device, its description; g_free(). */
char *gemem_device_identify (GememDevice *device);
/* Name/value rows of all effective settings, for the manifest; GPtrArray of GememSetting. */
GPtrArray *gemem_device_settings (GememDevice *device);
/* TRUE if @settings (or NULL) place segments where they were recorded. */
gboolean gemem_device_settings_recorded (const GPtrArray *settings);

const GememDeviceClass *const *gemem_device_classes (void); /* NULL-terminated, from devices.def */

/* The calls of allocators.  Each is counted, charged with its modelled cost and shown to observers;
 * O(1) beside the work of the class.  Refusal is an ordinary result and changes nothing else.
 *
 * malloc: the address of @size bytes for work on @stream; 0: out of memory.  free: with the same
 * size.  reserve, release: a range of addresses, aligned to @alignment, without memory; 0: refused.
 * create_page, destroy_page: physical memory of @size bytes, a multiple of the granularity; 0: out
 * of memory; it exists until its last mapping is removed.  map, unmap: @size bytes of a page, from
 * @offset on, at an address of a reserved range.  memset: work on @stream. event_record: marks the
 * work queued on @stream; 0: refused.  event_query: whether that work is done; event_sync waits for
 * it, stream_sync for a stream, device_sync for all; FALSE: the device has failed.  info: total and
 * free bytes. */
guint64 gemem_device_malloc (GememDevice *device, guint64 size, guint64 stream);
void gemem_device_free (GememDevice *device, guint64 address, guint64 size);
guint64 gemem_device_reserve (GememDevice *device, guint64 size, guint64 alignment);
void gemem_device_release (GememDevice *device, guint64 address, guint64 size);
GememPage gemem_device_create_page (GememDevice *device, guint64 size);
void gemem_device_destroy_page (GememDevice *device, GememPage page, guint64 size);
gboolean gemem_device_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                           guint64 size);
gboolean gemem_device_unmap (GememDevice *device, guint64 address, guint64 size);
gboolean gemem_device_memset (GememDevice *device, guint64 address, guint8 value, guint64 size,
                              guint64 stream);
GememDeviceEvent gemem_device_event_record (GememDevice *device, guint64 stream);
gboolean gemem_device_event_query (GememDevice *device, GememDeviceEvent event);
void gemem_device_event_sync (GememDevice *device, GememDeviceEvent event);
gboolean gemem_device_stream_sync (GememDevice *device, guint64 stream);
gboolean gemem_device_sync (GememDevice *device);
void gemem_device_info (GememDevice *device, GememDeviceInfo *info);

/* Why the device cannot continue: a call failed for another reason than want of memory
 * (GEMEM_ERROR_FAILED); NULL: it can.  A failed device refuses all requests for memory; what it had
 * allocated stays until its end, which releases everything.  Only real devices, and wrappers of
 * them, fail. */
const GError *gemem_device_failure (const GememDevice *device);
gboolean gemem_device_is_real (const GememDevice *device);

/* From now on the two devices, below whatever wraps them, have one memory between them, until one
 * of them is destroyed: several programs on one device, each with its own addresses.  O(1);
 * GEMEM_ERROR_USAGE where a class cannot share, or the devices differ in class or capacity. */
gboolean gemem_device_share (GememDevice *device, GememDevice *with, GError **error);

/* The device's capacity, without counting a call: for "80%" and for reports. */
guint64 gemem_device_capacity (GememDevice *device);

const char *gemem_device_call_name (GememDeviceCall call); /* "malloc", "map", ... */

/* ---- following a recording: the recorded device's behaviour, announced in advance */

/* Announces a recorded segment before the allocator asks for it; no effect on other policies. */
void gemem_device_expect (GememDevice *device, guint64 address, guint64 size);
/* Announces recorded memory that was mapped at @address, before the allocator reserves a range for
 * it or maps it; no effect on other policies.  @whole: it says where a range lies only if the range
 * is as long as what was mapped, for recordings that say where others begin. */
void gemem_device_expect_map (GememDevice *device, guint64 address, guint64 size, gboolean whole);
/* Limits the held bytes, as the recorded device did, until the next call; 0: no limit.  No effect on
 * real devices. */
void gemem_device_limit (GememDevice *device, guint64 bytes);
gboolean gemem_device_adopt (GememDevice *device, guint64 address, guint64 size);

/* The program has begun to compute, as far as its requests tell: its first block was freed.  No call
 * of the allocator; no effect on most devices. */
void gemem_device_compute (GememDevice *device);

/* ---- observing and probing: not used by allocators */

/* Calls @observer->func after every later call, after the observers added earlier, until
 * gemem_device_remove_observer(), which may be called twice. */
void gemem_device_add_observer (GememDevice *device, GememDeviceObserver *observer);
void gemem_device_remove_observer (GememDevice *device, GememDeviceObserver *observer);

/* --touch (sim/engine/touch.c): not calls of an allocator, so neither counted nor charged nor shown
 * to observers.  As in GememDeviceClass; the first fails with GEMEM_ERROR_USAGE where there is no
 * memory. */
gboolean gemem_device_touch (GememDevice *device, GError **error);
gboolean gemem_device_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                            guint64 stream);
gboolean gemem_device_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                              guint64 stream, guint64 check);
gboolean gemem_device_finding (GememDevice *device, gboolean wait, GememMismatch *finding);

/* --occupy (sim/engine/pace.h), likewise; GEMEM_ERROR_USAGE where streams are never busy. */
gboolean gemem_device_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error);

GEMEM_END_DECLS
