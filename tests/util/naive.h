/* naive.h - allocators written a second time, straight from the specification, as plainly as
 * possible: arrays and linear scans.
 *
 * They share no code and no structure with allocators/ or devices/, so that a mistake would have to
 * be made twice.  A model is attached to the registered class of the same name, for the settings
 * that it knows; compared are success, address, block size and bytes held, operation by operation.
 */
#pragma once

#include <glib.h>

#include "allocators/allocator.h" /* GememGraphSegment */

/* Addresses returned: `bump` never reuses, `first-fit` takes the lowest free place. */
typedef struct
{
  guint64 base, step, next;
  GArray *pieces; /* NaivePiece by address */
} NaiveRegion;

/* Where events take their time, operations begin a second apart, and all that calls cost within one
 * is less than half of one. */
#define NAIVE_TICK G_GUINT64_CONSTANT (1000000000)

/* The simulated device: plain memory in steps of 2 MiB, address ranges in steps of 1 GiB, pages. */
typedef struct
{
  guint64 capacity, held;
  gboolean first_fit, no_virtual;
  NaiveRegion memory, ranges;
  /* each `every`-th of the calls malloc, reserve, create and map together fails; 0: none */
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
  const char *settings; /* under which the two are equal */
  guint64 every;        /* of the device's calls that bring memory, the one that fails; 0: none */
  gboolean no_virtual;  /* a device without virtual memory */
  guint delay;          /* operations until a recorded event is complete; 0: it is at once */
  guint pools;          /* that requests are drawn for; 0: the usual few */
  /* of its addresses, where the settings make it less than the class promises; 0: that */
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
  void (*stream_free) (Naive *naive, guint32 id, guint64 stream);   /* these four NULL: no effect */
  void (*event_record) (Naive *naive, guint32 event, guint64 stream, guint64 to);
  void (*event_wait) (Naive *naive, guint32 event, guint64 stream);
  void (*sync) (Naive *naive, guint64 stream);
  void (*trim) (Naive *naive);    /* NULL: nothing to give */
  void (*destroy) (Naive *naive); /* its own arrays */

  /* Static memory of graphs; NULL: the class has none.  @segments as graph_load() of allocator.h
   * gets them. */
  gboolean (*graph_load) (Naive *naive, guint32 id, guint64 stream,
                          const GememGraphSegment *segments, guint n, guint64 *address);
  gboolean (*graph_run) (Naive *naive, guint32 id, guint64 stream, gboolean begin);
  void (*graph_unload) (Naive *naive, guint32 id);
  /* What the class says under @name in its statistics, if the model knows it; NULL: nothing is
   * compared. */
  gboolean (*figure) (Naive *naive, const char *name, guint64 *value);
};

/* All models; NULL-terminated. */
extern const NaiveClass *const naive_classes[];

Naive *naive_new (const NaiveClass *klass, guint64 capacity, gboolean first_fit);
void naive_free (Naive *naive);
/* The class with all that distinguishes the model, as a test path. */
char *naive_path (const char *prefix, const NaiveClass *klass);
