/* areas.h - memory: the bytes behind addresses, pages, the areas that programs use by address, reserved ranges. */
#pragma once

#include "dry/driver/driver.h"

/* The bytes behind an address, allocated at the first access. */
typedef struct
{
  guint references;
  guint64 size;
  guint8 *data;
  gboolean borrowed; /* registered host memory, owned by the program */
} DriverBytes;

typedef struct _DriverPage
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
typedef struct _DriverArea
{
  GememTreeNode node;
  DriverKind kind;
  guint64 size;
  guint64 number;         /* from 1, in the order in which they were made; of the process */
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

typedef struct
{
  GememTreeNode node;
  guint64 size;
  DriverDevice *device; /* whose simulated device reserved it */
} DriverRange;

/* ---- areas (areas.c) */

DriverBytes *gemem_driver_bytes_new (guint64 size);
void gemem_driver_bytes_unref (DriverBytes *bytes);
gboolean gemem_driver_bytes_try (DriverBytes *bytes); /* FALSE: the machine has not so many */
/* A page with one owner, that nothing is mapped to. */
DriverPage *gemem_driver_page_new (DriverDevice *device, guint64 size);
DriverPage *gemem_driver_page (CUmemGenericAllocationHandle handle); /* NULL: none, or released */
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
