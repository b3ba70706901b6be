/* waiting.h - blocks that were freed while streams may still use them, and the device events that
 * tell when the streams are done.
 *
 * Each stream has a queue of its events in the order of recording; a scan of a queue ends at the
 * first incomplete event.  A block is removed when the last of its events is complete.
 *
 * Invariant: every added block is removed once.  Cost: one event per block and stream; a scan is
 * one query per stream with events.
 */
#pragma once

#include "base/slab.h"
#include "devices/device.h"

typedef struct
{
  GememDevice *device;
  GPtrArray *queues; /* GQueue of marks, by stream number (from 0) */
  GQueue ready;      /* blocks that no stream uses */
  GememSlab marks, blocks;
  guint64 count; /* blocks added and not removed */
} GememWaiting;

void gemem_waiting_init (GememWaiting *waiting, GememDevice *device);
void gemem_waiting_clear (GememWaiting *waiting);

/* Block @id waits for the work queued on @streams so far.  Where no event can be recorded, the host
 * waits at once. */
void gemem_waiting_add (GememWaiting *waiting, guint64 id, const guint64 *streams, guint n);
/* Removes a block that no stream uses; FALSE: there is none.  @wait: the host waits until there is
 * one, if any block was added. */
gboolean gemem_waiting_take (GememWaiting *waiting, gboolean wait, guint64 *id);
