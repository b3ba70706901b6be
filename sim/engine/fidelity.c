/* fidelity.c - see fidelity.h. */
#include "config.h"

#include <string.h>

#include "sim/engine/fidelity.h"

#define QUEUE_MAX 65536

void
gemem_ledger_init (GememLedger *ledger, GememFidelity *fidelity)
{
  memset (ledger, 0, sizeof *ledger);
  ledger->fidelity = fidelity;
  fidelity->first_difference = fidelity->first_segment_difference = G_MAXUINT64;
}

static void
drop (GQueue *queue)
{
  GememLedgerCall *call;
  while ((call = g_queue_pop_head (queue)) != NULL)
    g_free (call);
}

void
gemem_ledger_clear (GememLedger *ledger)
{
  drop (&ledger->recorded);
  drop (&ledger->simulated);
}

static void
count_call (GememLedger *ledger, gboolean equal, guint64 seq)
{
  ledger->fidelity->segments_compared++;
  if (equal)
    ledger->fidelity->segments_equal++;
  else if (ledger->fidelity->first_segment_difference == G_MAXUINT64)
    ledger->fidelity->first_segment_difference = seq;
}

/* Puts @call on its @own queue, or compares it with the oldest call of the @other side. */
static void
meet (GememLedger *ledger, GQueue *own, GQueue *other, const GememLedgerCall *call)
{
  g_autofree GememLedgerCall *partner = g_queue_pop_head (other);
  GememLedgerCall *waiting;

  if (partner != NULL)
    {
      gboolean equal = partner->call == call->call && partner->address == call->address
                       && partner->size == call->size;
      count_call (ledger, equal, MIN (partner->seq, call->seq));
      return;
    }
  waiting = g_new (GememLedgerCall, 1);
  *waiting = *call;
  g_queue_push_tail (own, waiting);
  if (own->length > QUEUE_MAX)
    {
      gemem_ledger_finish (ledger);
      ledger->lost = TRUE;
    }
}

static int
call_of_kind (guint kind)
{
  switch (kind)
    {
    case GEMEM_EVENT_SEGMENT_ALLOC:
      return GEMEM_CALL_MALLOC;
    case GEMEM_EVENT_SEGMENT_FREE:
      return GEMEM_CALL_FREE;
    case GEMEM_EVENT_SEGMENT_MAP:
      return GEMEM_CALL_MAP;
    case GEMEM_EVENT_SEGMENT_UNMAP:
      return GEMEM_CALL_UNMAP;
    default:
      return -1;
    }
}

void
gemem_ledger_recorded (GememLedger *ledger, const GememTraceEvent *event, guint64 seq)
{
  int call = call_of_kind (event->kind);
  GememLedgerCall entry = {
    .call = (GememDeviceCall) call, .address = event->address, .size = event->size, .seq = seq
  };

  if (call >= 0 && !ledger->lost)
    meet (ledger, &ledger->recorded, &ledger->simulated, &entry);
}

void
gemem_ledger_observe (gpointer data, const GememDeviceNote *note)
{
  GememLedger *ledger = data;
  const GememDeviceCall call = note->call;
  GememLedgerCall entry = {
    .call = call, .address = note->address, .size = note->size, .seq = ledger->seq
  };

  if (!note->ok || ledger->lost)
    return;
  if (call == GEMEM_CALL_MALLOC || call == GEMEM_CALL_FREE || call == GEMEM_CALL_MAP
      || call == GEMEM_CALL_UNMAP)
    meet (ledger, &ledger->simulated, &ledger->recorded, &entry);
}

void
gemem_ledger_block (GememLedger *ledger, const GememTraceEvent *event, guint64 seq,
                    const GememBlock *block)
{
  GememFidelity *fidelity = ledger->fidelity;
  gboolean failed = (event->flags & GEMEM_EVENT_FAILED) != 0, equal;

  if (event->address == 0 && !failed)
    return;
  fidelity->compared++;
  if (failed || block == NULL)
    equal = failed && block == NULL;
  else
    equal = block->address == event->address && (event->aux == 0 || event->aux == block->size);
  if (equal)
    fidelity->equal++;
  else if (fidelity->first_difference == G_MAXUINT64)
    {
      fidelity->first_difference = seq;
      fidelity->expected_address = event->address;
      fidelity->got_address = block != NULL ? block->address : 0;
    }
}

static void
count_unmatched (GememLedger *ledger, GQueue *queue)
{
  for (GList *link = queue->head; link != NULL; link = link->next)
    count_call (ledger, FALSE, ((GememLedgerCall *) link->data)->seq);
  drop (queue);
}

void
gemem_ledger_finish (GememLedger *ledger)
{
  count_unmatched (ledger, &ledger->recorded);
  count_unmatched (ledger, &ledger->simulated);
}
