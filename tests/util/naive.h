/* naive.h - allocators written a second time from the specification, as plainly as possible: arrays
 * and linear scans.
 *
 * The models share no code and no structure with allocators/ or devices/, so that a mistake would
 * have to be made twice. A model is attached to the registered class of the same name, for the
 * settings that it covers; success, address, block size and bytes held are compared operation by
 * operation.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h" /* GememGraphSegment */

/* Address allocation: `bump` never reuses, `first-fit` takes the lowest free place. */
typedef struct
{
  guint64 base, step, next;
  GArray *pieces; /* NaivePiece by address */
} NaiveRegion;

/* With a latency of events, operations begin one second apart, and the costs of all calls of one
 * operation are less than half a second. */
#define NAIVE_TICK G_GUINT64_CONSTANT (1000000000)

/* The simulated device: plain memory in steps of 2 MiB, address ranges in steps of 1 GiB, pages. */
typedef struct
{
  guint64 capacity, held;
  gboolean first_fit, no_virtual;
  NaiveRegion memory, ranges;
  /* each `every`-th call of malloc, reserve, create and map fails, counted together; 0: none */
  guint64 every, calls;
  guint64 now, latency; /* ns; the trial sets the clock before each operation */
} NaiveDevice;

typedef struct
{
  guint64 address, size;
} NaivePiece;

guint64 naive_device_malloc (NaiveDevice *device, guint64 size); /* 0: out of memory */
void naive_device_free (NaiveDevice *device, guint64 address);
guint64 naive_device_reserve (NaiveDevice *device, guint64 size); /* 0: refused */
void naive_device_release (NaiveDevice *device, guint64 address);
gboolean naive_device_create_page (NaiveDevice *device, guint64 size);
void naive_device_destroy_page (NaiveDevice *device, guint64 size);
gboolean naive_device_map (NaiveDevice *device);
guint64 naive_device_event (const NaiveDevice *device); /* when an event recorded now is complete */

typedef struct _NaiveClass NaiveClass;

/* Every model embeds this first. */
typedef struct
{
  const NaiveClass *klass;
  NaiveDevice device;
} Naive;

typedef struct
{
  guint64 size, stream;
  guint32 pool;
} NaiveRequest;

struct _NaiveClass
{
  const char *name;     /* of the registered class */
  const char *settings; /* settings under which model and class decide alike */
  guint64 every;        /* each `every`-th memory call of the device fails; 0: none */
  gboolean no_virtual;  /* a device without virtual memory */
  guint delay;          /* operations until a recorded event is complete; 0: it is at once */
  guint pools;          /* pools that requests are drawn for; 0: the usual few */
  /* alignment of addresses, where the settings reduce it below the promise of the class; 0: not
   * so */
  guint64 alignment;
  /* graphs run on several streams, and some are static subgraphs of dynamic ones */
  gboolean subgraphs;
  Naive *(*create) (void);
  void (*start) (Naive *naive); /* NULL: nothing happens before the first request */
  /* @id names the block from here on. */
  gboolean (*alloc) (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address,
                     guint64 *size);
  void (*free) (Naive *naive, guint32 id, gboolean completion_follows);
  void (*complete) (Naive *naive, guint32 id);                      /* NULL: free() was final */
  void (*use_on_stream) (Naive *naive, guint32 id, guint64 stream); /* NULL: no effect */
  void (*stream_free) (Naive *naive, guint32 id, guint64 stream); /* NULL (these four): no effect */
  void (*event_record) (Naive *naive, guint32 event, guint64 stream, guint64 to);
  void (*event_wait) (Naive *naive, guint32 event, guint64 stream);
  void (*sync) (Naive *naive, guint64 stream);
  /* NULL (these four): the class knows no order of streams */
  void (*free_on) (Naive *naive, guint32 id, guint64 stream);
  void (*work) (Naive *naive, guint32 id, guint64 stream);
  void (*work_done) (Naive *naive, guint32 id);
  void (*asked) (Naive *naive, guint64 stream);
  void (*trim) (Naive *naive);    /* NULL: nothing to release */
  void (*destroy) (Naive *naive); /* frees the model's own arrays */

  /* Static memory of graphs; NULL: the class has none.  @segments as graph_load() of allocator.h
   * gets them. */
  gboolean (*graph_load) (Naive *naive, guint32 id, guint64 stream,
                          const GememGraphSegment *segments, guint n, guint64 *address);
  gboolean (*graph_run) (Naive *naive, guint32 id, guint64 stream, gboolean begin);
  void (*graph_unload) (Naive *naive, guint32 id);
  /* The statistic @name of the class, if the model knows it; NULL: none is compared. */
  gboolean (*figure) (Naive *naive, const char *name, guint64 *value);
};

/* All models; NULL-terminated. */
extern const NaiveClass *const naive_classes[];

Naive *naive_new (const NaiveClass *klass, guint64 capacity, gboolean first_fit);
void naive_free (Naive *naive);
/* The test path: the class and every distinguishing property of the model. */
char *naive_path (const char *prefix, const NaiveClass *klass);
