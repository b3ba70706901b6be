/* device.h - what an allocator obtains memory from: the vtable of simulated, faulty, null and CUDA
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
 * Who keeps what: the class keeps `held` (a page is freed with its last mapping, so only the
 * class knows) and moves `now` forward when a call waits; the gemem_device_*() functions charge the
 * cost and keep everything that is counted.
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
  guint64 free;            /* bytes not held by anyone */
  guint64 granularity;     /* of physical pages and mappings */
  gboolean virtual_memory; /* reserve/create/map are supported */
} GememDeviceInfo;

typedef guint64 GememPage;        /* a physical allocation; 0 = none */
typedef guint64 GememDeviceEvent; /* 0 = none, always complete */

/* A verification that failed: its number, the first byte that is wrong, the word that it lies in,
 * and what that would be of a block's pattern. */
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
  /* Takes a copy of what it needs from @params; sets `capacity`, `hit_ns` and `params` of the new
   * device. */
  GememDevice *(*create) (gconstpointer params, GError **error);
  /* Instead of create, of a wrapper: a device before @inner, which it takes over, also on error.
   * Its setting `on` names the class of @inner. */
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

  /* ---- Optional, each for itself: 0 or NULL where there is none. */

  const char *aliases;
  const GememParam *params;
  gsize params_size;
  /* Hardware: calls can fail for other reasons than memory (gemem_device_failure()). */
  gboolean real;
  /* "NVIDIA H200, CUDA 13.0", for provenance; g_free(). */
  char *(*identify) (GememDevice *device);
  /* Modelled cost in ns of one call, charged by the wrapper after the call. */
  guint64 (*cost) (GememDevice *device, GememDeviceCall call, guint64 size);

  /* ---- Optional: following a recording (address policy `recorded`). */
  struct
  {
    /* The next recorded segment. */
    void (*expect) (GememDevice *device, guint64 address, guint64 size);
    /* Until the next call of it no more than @bytes are held; 0: as many as there are. */
    void (*limit) (GememDevice *device, guint64 bytes);
    /* Takes a contiguous allocation that existed before the trace, at its recorded address.
     * FALSE: no space. */
    gboolean (*adopt) (GememDevice *device, guint64 address, guint64 size);
  } recorded;

  /* ---- Optional: probes of memory and streams; no allocator calls them.  The first four come
   * together: they fill memory with a pattern, and verify it (devices/cuda/kernels/touch-kernels.h). */
  struct
  {
    /* From now on; GEMEM_ERROR_NO_DEVICE if that cannot be. */
    gboolean (*touch) (GememDevice *device, GError **error);
    /* Work on @stream, which comes after all fills and verifications before it; FALSE: the device
     * has failed. */
    gboolean (*fill) (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                      guint64 stream);
    gboolean (*verify) (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                        guint64 stream, guint64 check);
    /* Takes the next verification that failed; @wait: of all, otherwise of those known by now.
     * FALSE: none. */
    gboolean (*finding) (GememDevice *device, gboolean wait, GememMismatch *finding);
    /* Work that keeps @stream busy for @ns, behind what is there.  0: nothing, but does what the
     * first work would need; GEMEM_ERROR_NO_DEVICE if there cannot be any.  A device that fails
     * meanwhile says so by itself. */
    gboolean (*occupy) (GememDevice *device, guint64 ns, guint64 stream, GError **error);
  } probe;
};

/* A call as observers see it, after it was made.  What a call does not have is 0. */
typedef struct
{
  GememDeviceCall call;
  gboolean ok;     /* FALSE: refused; of an event_query: not complete */
  guint64 address; /* of memory; create, destroy: the page */
  guint64 size;
  guint64 stream;         /* memset, event_record, stream_sync; malloc: for which it was asked */
  GememDeviceEvent event; /* event_record, event_query, event_sync */
} GememDeviceNote;

typedef void (*GememDeviceObserverFunc) (gpointer data, const GememDeviceNote *note);

/* What calls take by a clock of the caller's, beside their modelled cost.  Owned by the caller
 * that measures. */
typedef struct
{
  guint64 (*clock) (void); /* ns, monotonic */
  GememHistogram ns[GEMEM_CALL_COUNT];
} GememCallTimes;

/* An observer of all calls, as the engine's ledger for fidelity, or its probe of the order of
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
  GememDevice *inner; /* what a wrapper (faulty) stands before; NULL: this is the device itself */
  guint64 capacity;   /* bytes of the whole device; G_MAXUINT64: unlimited */
  guint64 held, peak_held; /* physical bytes held through this device object */
  guint64 now;             /* virtual clock, ns */
  guint64 call_time;       /* ns charged for calls since creation */
  /* figures of the cost model, and how many of them are guesses */
  guint cost_numbers, cost_guesses;
  /* modelled host cost of one alloc or free without any call (profile); 0: none given */
  guint64 hit_ns;
  /* calls with an address, page or size that was never returned: a bug of the caller */
  guint64 misuses;
  guint64 unexpected; /* address policy `recorded`: mallocs that no recorded segment stood for */
  guint64 calls[GEMEM_CALL_COUNT];
  guint64 refused[GEMEM_CALL_COUNT];
  guint64 call_ns[GEMEM_CALL_COUNT];
  /* bit per GememDeviceCall that waits until the device is idle before it does its work */
  guint32 waits;
  GememCallTimes *times;          /* set by a caller that measures; else NULL */
  GememDeviceObserver *observers; /* in the order in which they were added */
  GRecMutex lock;                 /* gemem_device_lock() */
  GError *failure;                /* gemem_device_failure() */
  /* many threads call its allocators, and its owner admits one at a time */
  gboolean serialized;
};

/* Creates a device from "sim:capacity=80GiB,address=bump,profile=h200" (class name, then settings).
 * @defaults: settings applied before those of @spec when @spec does not set them (from a trace), or
 * NULL. */
GememDevice *gemem_device_new (const char *spec, const char *defaults, int ordinal, GError **error);
/* The settings in @spec (GememSetting), and its class: "cuda:1:mode=vmm" says gpu=1, mode=vmm.
 * GEMEM_ERROR_USAGE. */
GPtrArray *gemem_device_spec_parse (const char *spec, const GememDeviceClass **klass,
                                    GError **error);
/* Of a wrapper (faulty) with @settings the class beneath, which takes what it does not know itself;
 * else @klass.  NULL: unknown. */
const GememDeviceClass *gemem_device_class_beneath (const GememDeviceClass *klass,
                                                    const GPtrArray *settings);
void gemem_device_destroy (GememDevice *device);
/* For allocators that share a device among threads: the calls below do not lock; a caller
 * that may meet another thread does, around the calls and what depends on them.  The holder may
 * lock again. */
void gemem_device_lock (GememDevice *device);
void gemem_device_unlock (GememDevice *device);
/* "sim:capacity=...": the effective settings. */
char *gemem_device_describe (GememDevice *device);
/* What hardware it is, or, of a simulated device, as described; g_free(). */
char *gemem_device_identify (GememDevice *device);
/* Name/value rows of all effective settings, for the manifest; GPtrArray of GememSetting. */
GPtrArray *gemem_device_settings (GememDevice *device);
/* Such settings (NULL: none) place segments where they were recorded. */
gboolean gemem_device_settings_recorded (const GPtrArray *settings);

const GememDeviceClass *const *gemem_device_classes (void); /* NULL-terminated, from devices.def */

/* The calls of allocators.  Each is counted, charged with its modelled cost and shown to observers;
 * O(1) beside what the class does.  Refused is an ordinary answer, and changes nothing else.
 *
 * malloc: the address of @size bytes for work on @stream; 0: out of memory.  free: with the same
 * size.  reserve, release: a range of addresses, aligned to @alignment, without memory; 0: refused.
 * create_page, destroy_page: physical memory of @size bytes, a multiple of the granularity; 0: out
 * of memory; it stays until its last mapping goes.  map, unmap: @size bytes of a page, from @offset
 * on, at an address of a reserved range.  memset: work on @stream.
 * event_record: marks the work queued on @stream; 0: refused.  event_query: whether that is done;
 * event_sync waits for it, stream_sync for a stream, device_sync for all; FALSE: the device has
 * failed.  info: what the device has and what is free. */
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

/* Why the device cannot go on, or NULL: a call failed, and not for want of memory
 * (GEMEM_ERROR_FAILED).  It has refused all requests for memory since then, and what it gave stays
 * with it until its end, which gives everything back.  Only real devices fail, or what stands
 * before one. */
const GError *gemem_device_failure (const GememDevice *device);
gboolean gemem_device_is_real (const GememDevice *device);

/* The device's capacity without counting a call: for "80%" and for reports. */
guint64 gemem_device_capacity (GememDevice *device);

const char *gemem_device_call_name (GememDeviceCall call); /* "malloc", "map", ... */

/* ---- following a recording: what the recorded device did, told before the allocator asks */

/* The machine's recorded segments, before the allocator asks for them; no effect on other
 * policies. */
void gemem_device_expect (GememDevice *device, guint64 address, guint64 size);
/* What the recorded device let the recorded allocator hold, until the next call; 0: no longer.  No
 * effect on other policies. */
void gemem_device_limit (GememDevice *device, guint64 bytes);
gboolean gemem_device_adopt (GememDevice *device, guint64 address, guint64 size);

/* ---- observing and probing: no allocator calls these */

/* From now on @observer->func is called after every call, behind the observers added before it; until
 * unwatch, which may be called twice. */
void gemem_device_add_observer (GememDevice *device, GememDeviceObserver *observer);
void gemem_device_remove_observer (GememDevice *device, GememDeviceObserver *observer);

/* --touch (sim/engine/touch.c): not calls of an allocator, so they are neither counted nor charged
 * nor shown to observers.  As in GememDeviceClass; the first answers GEMEM_ERROR_USAGE where
 * there is no memory. */
gboolean gemem_device_touch (GememDevice *device, GError **error);
gboolean gemem_device_fill (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                            guint64 stream);
gboolean gemem_device_verify (GememDevice *device, guint64 address, guint64 size, guint32 tag,
                              guint64 stream, guint64 check);
gboolean gemem_device_finding (GememDevice *device, gboolean wait, GememMismatch *finding);

/* --occupy (sim/engine/pace.h), likewise; GEMEM_ERROR_USAGE where no stream is ever busy. */
gboolean gemem_device_occupy (GememDevice *device, guint64 ns, guint64 stream, GError **error);

GEMEM_END_DECLS
