/* naive.h - allocators written a second time, straight from the specification, as plainly as possible: arrays and linear scans.
 *
 * They share no code and no structure with allocators/ or sim/device/, so that a mistake would have to be made twice.  A model is attached
 * to the registered class of the same name, for the settings that it knows; compared are success, address, block size and bytes
 * held, operation by operation.
 */
#pragma once

#include <glib.h>

/* The simulated device with 2 MiB steps: `bump` never reuses, `first-fit` takes the lowest free place. */
typedef struct
{
  guint64  capacity, held, next;
  gboolean first_fit;
  GArray  *pieces; /* NaivePiece by address */
} NaiveDevice;

typedef struct
{
  guint64 address, size;
} NaivePiece;

guint64 naive_device_malloc (NaiveDevice *device, guint64 size); /* 0: out of memory */
void    naive_device_free (NaiveDevice *device, guint64 address);

typedef struct _NaiveClass NaiveClass;

/* Every model embeds this first. */
typedef struct
{
  const NaiveClass *klass;
  NaiveDevice       device;
} Naive;

typedef struct
{
  guint64 size, stream;
  guint32 pool;
} NaiveRequest;

struct _NaiveClass
{
  const char *name;     /* of the registered class        */
  const char *settings; /* under which the two are equal  */
  Naive *(*create) (void);
  void (*start) (Naive *naive);                                      /* NULL: nothing happens before the first request */
  /* @id names the block from here on. */
  gboolean (*alloc) (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size);
  void (*free) (Naive *naive, guint32 id, gboolean completion_follows);
  void (*complete) (Naive *naive, guint32 id);                       /* NULL: free() was final  */
  void (*use_on_stream) (Naive *naive, guint32 id, guint64 stream);  /* NULL: no effect         */
  void (*trim) (Naive *naive);                                       /* NULL: nothing to give   */
  void (*destroy) (Naive *naive);                                    /* its own arrays          */
};

/* All models; NULL-terminated. */
extern const NaiveClass *const naive_classes[];

Naive *naive_new (const NaiveClass *klass, guint64 capacity, gboolean first_fit);
void   naive_free (Naive *naive);
