/* waiting.h - blocks that were freed while streams may still use them, and the device events that
 * tell when they no longer do.
 *
 * Each stream has its events in the order in which they were recorded; the first that is not
 * complete ends the look at that stream.  A block comes out when the last of its events is
 * complete.
 *
 * Invariant: what goes in comes out once.  Cost: one event per block and stream; a look is one
 * query per stream that has any.
 */
#pragma once

#include "base/slab.h"
#include "devices/device.h"

typedef struct
{
  GememDevice *device;
  GPtrArray *queues; /* by stream, which are numbered from 0: GQueue of marks */
  GQueue ready;      /* blocks that nobody uses any more */
  GememSlab marks, blocks;
  guint64 count; /* blocks that are in */
} GememWaiting;

void gemem_waiting_init (GememWaiting *waiting, GememDevice *device);
void gemem_waiting_clear (GememWaiting *waiting);

/* Block @id waits for what is queued on @streams now.  Where no event can be recorded, the host
 * waits. */
void gemem_waiting_add (GememWaiting *waiting, guint64 id, const guint64 *streams, guint n);
/* Takes a block out that nobody uses any more; FALSE: there is none.  @wait: the host waits until
 * there is one, if any is in. */
gboolean gemem_waiting_take (GememWaiting *waiting, gboolean wait, guint64 *id);
