/* fidelity.h - the recorded decisions against the simulated ones.
 *
 * Block addresses are compared one by one.  Device calls are compared as two sequences: what the
 * recording says its allocator obtained and returned, and what the simulated one does, in order. 
 * The recording may write a call before or after the request that caused it, so each side waits in
 * a queue for the other; a side that runs ahead by more than QUEUE_MAX calls has lost the other
 * one, and the comparison of calls ends there (memory stays bounded).
 */
#pragma once

#include "devices/device.h"
#include "sim/engine/result.h"

typedef struct
{
  GememDeviceCall call;
  guint64 address, size, seq;
} GememLedgerCall;

typedef struct
{
  GememFidelity *fidelity;
  GQueue recorded, simulated; /* GememLedgerCall; at most one of them is not empty */
  guint64 seq;                /* of the present event, for the simulated side */
  gboolean lost;
} GememLedger;

void gemem_ledger_init (GememLedger *ledger, GememFidelity *fidelity);
void gemem_ledger_clear (GememLedger *ledger);

/* A SEGMENT_* event of the recording. */
void gemem_ledger_recorded (GememLedger *ledger, const GememTraceEvent *event, guint64 seq);
/* GememDeviceObserver; data is the ledger. */
void gemem_ledger_observe (gpointer data, const GememDeviceNote *note);
/* An ALLOC event and what was decided; @block NULL: failed. */
void gemem_ledger_block (GememLedger *ledger, const GememTraceEvent *event, guint64 seq,
                         const GememBlock *block);
/* Calls without a partner are unequal. */
void gemem_ledger_finish (GememLedger *ledger);
