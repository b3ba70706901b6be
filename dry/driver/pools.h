/* pools.h - stream-ordered memory (pools.c). */
#pragma once

#include "dry/driver/areas.h"
#include "dry/driver/streams.h"

struct _DriverPool
{
  DriverObject object;
  DriverDevice *device;
  gboolean own; /* the device's default pool: cannot be destroyed */
  guint64 threshold, reserved, used, reserved_high, used_high, limit;
  GPtrArray *unused; /* DriverArea, in the order of their frees */
};

/* A block of at least @size bytes, owned by the program and live; NULL: out of memory. */
DriverArea *gemem_driver_pool_take (DriverPool *pool, guint64 size);
DriverPool *gemem_driver_graph_pool (DriverDevice *device);
CUresult gemem_driver_pool_free (DriverArea *area, DriverStream *stream, gboolean ordered);
/* Releases what pools of @device hold above their thresholds, as each synchronisation does. */
void gemem_driver_pools_trim (DriverDevice *device);
/* Device memory of @size bytes, 0: out of memory.  Before it refuses, CUDA takes what the pools of
 * @device hold and do not use, as an H100 did. */
guint64 gemem_driver_pools_malloc (DriverDevice *device, guint64 size);
