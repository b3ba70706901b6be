/* fidelity.c - the probe that compares recorded with simulated decisions when the recorded
 * allocator is replayed: GememResult.fidelity.
 *
 * Block addresses are compared one by one.  Device calls are compared as two sequences: the obtains
 * and returns in the recording, and those of the simulated allocator.  The recording may list a
 * call before or after the request that caused it, so each side queues for the other.  When one
 * side is ahead by more than QUEUE_MAX calls, the two no longer match and the comparison of calls
 * ends (memory stays bounded).  Only the first epoch is compared, and on a device that the user chose
 * nothing after the first request that one side alone was refused.
 *
 * Most traces say nothing of what an allocator decided; the probe, a seventh of the time of a
 * replay, is attached with the first events that do (gemem_ledger_begins()).
 */
#include "config.h"

#include "sim/engine/engine-private.h"

#define QUEUE_MAX 65536

typedef struct
{
  GememDeviceCall call;
  guint64 address, size, seq;
} Call;

typedef struct
{
  GememProbe probe;
  GememFidelity *fidelity;
  const GememRun *run;
  GememDeviceObserver observer;
  GQueue recorded, simulated; /* Call; at most one of them is not empty */
  guint64 seq;                /* of the last event */
  guint64 held;               /* bytes, by the calls of the recording */
  gboolean compares_calls;    /* the recording has calls, and the two sides still match */
} Ledger;

static void
count_call (Ledger *ledger, gboolean equal, guint64 seq)
{
  ledger->fidelity->segments_compared++;
  if (equal)
    ledger->fidelity->segments_equal++;
  else if (ledger->fidelity->first_segment_difference == G_MAXUINT64)
    ledger->fidelity->first_segment_difference = seq;
}

static void
count_unmatched (Ledger *ledger, GQueue *queue)
{
  Call *call;

  while ((call = g_queue_pop_head (queue)) != NULL)
    {
      count_call (ledger, FALSE, call->seq);
      g_free (call);
    }
}

/* Calls without a partner are unequal. */
static void
count_all_unmatched (Ledger *ledger)
{
  count_unmatched (ledger, &ledger->recorded);
  count_unmatched (ledger, &ledger->simulated);
}

/* Recordings of PyTorch name the whole range that was mapped, which its allocator maps page by
 * page: TRUE if the simulated @call is the first part of the recorded @whole, which is left
 * with the rest. */
static gboolean
is_part (const Call *call, Call *whole)
{
  if ((call->call != GEMEM_CALL_MAP && call->call != GEMEM_CALL_UNMAP) || call->call != whole->call
      || call->address != whole->address || call->size >= whole->size)
    return FALSE;
  whole->address += call->size;
  whole->size -= call->size;
  return TRUE;
}

/* Puts @call on its @own queue, or compares it with the oldest call of the @other side; of what was
 * mapped or unmapped as a whole, the rest that the parts before it have left. */
static void
meet (Ledger *ledger, GQueue *own, GQueue *other, const Call *call)
{
  Call rest = *call, *oldest = g_queue_peek_head (other);
  g_autofree Call *partner = NULL;
  Call *waiting;

  if (own == &ledger->simulated && oldest != NULL && is_part (call, oldest))
    return;
  for (; own == &ledger->recorded && oldest != NULL && is_part (oldest, &rest);
       oldest = g_queue_peek_head (other))
    g_free (g_queue_pop_head (other));
  partner = g_queue_pop_head (other);
  if (partner != NULL)
    {
      gboolean equal = partner->call == rest.call && partner->address == rest.address
                       && partner->size == rest.size;
      count_call (ledger, equal, MIN (partner->seq, rest.seq));
      return;
    }
  waiting = g_new (Call, 1);
  *waiting = rest;
  g_queue_push_tail (own, waiting);
  if (own->length > QUEUE_MAX)
    {
      count_all_unmatched (ledger);
      ledger->compares_calls = FALSE;
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

/* Observes the memory that the simulated allocator obtains and returns. */
static void
observe (gpointer data, const GememDeviceNote *note)
{
  Ledger *ledger = data;
  const GememDeviceCall call = note->call;
  const Call entry = {
    .call = call, .address = note->address, .size = note->size, .seq = ledger->seq
  };

  if (!note->ok || !ledger->compares_calls
      || (ledger->run->adopt && (ledger->run->attention & GEMEM_RUN_ADOPTING) != 0))
    return;
  if (call == GEMEM_CALL_MALLOC || call == GEMEM_CALL_FREE || call == GEMEM_CALL_MAP
      || call == GEMEM_CALL_UNMAP)
    meet (ledger, &ledger->simulated, &ledger->recorded, &entry);
}

/* Not before the first events are known: gemem_ledger_begins(). */
static gboolean
wanted (const GememRun *run)
{
  (void) run;
  return FALSE;
}

/* Whether one of the events has an address, or is a request that was refused. */
static gboolean
have_decisions (const GememTraceEvent *events, gsize n)
{
  guint64 addresses = 0;
  guint flags = 0;

#pragma GCC unroll 8
  for (gsize i = 0; i < n; i++)
    {
      addresses |= events[i].address;
      flags |= events[i].flags;
    }
  return addresses != 0 || (flags & GEMEM_EVENT_FAILED) != 0;
}

gboolean
gemem_ledger_begins (GememRun *run, const GememTraceEvent *events, gsize n)
{
  if (run->compared || !(run->alike || (run->same_allocator && gemem_setup_names_places (run->job)))
      || run->epoch > 0 || run->map_seq != G_MAXUINT64)
    return FALSE;
  run->compared = (run->trace_flags & GEMEM_TRACE_HAS_SEGMENTS) != 0 || have_decisions (events, n);
  return run->compared;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Ledger *ledger = (Ledger *) probe;

  (void) error;
  ledger->fidelity = &run->result->fidelity;
  ledger->run = run;
  ledger->compares_calls = (run->trace_flags & GEMEM_TRACE_HAS_SEGMENTS) != 0;
  ledger->observer = (GememDeviceObserver){ .func = observe, .data = ledger };
  if (ledger->compares_calls)
    gemem_device_add_observer (run->device, &ledger->observer);
  return TRUE;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  (void) event;
  ((Ledger *) probe)->seq = run->seq;
}

/* What follows is the program on another machine. */
static void
part (Ledger *ledger)
{
  ledger->fidelity->parted = ledger->seq;
  ledger->compares_calls = FALSE;
  g_queue_clear_full (&ledger->recorded, g_free);
  g_queue_clear_full (&ledger->simulated, g_free);
}

/* Refused on one side alone, on a device that is not the recorded one. */
static gboolean
differs_by_device (const GememRun *run, const GememDecision *decision)
{
  const GememTraceEvent *event = decision->event;
  const gboolean refused = (event->flags & GEMEM_EVENT_FAILED) != 0
                           || event->id == GEMEM_REFUSED_ID;

  return (refused || event->address != 0) && refused != (decision->block == NULL)
         && gemem_setup_names_device (run->job);
}

/* A request: was it served at the recorded address, or refused as recorded? */
static void
compare (GememFidelity *fidelity, const GememRun *run, const GememDecision *decision)
{
  const GememTraceEvent *event = decision->event;
  const GememBlock *block = decision->block;
  const gboolean failed = (event->flags & GEMEM_EVENT_FAILED) != 0;
  gboolean equal;

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
      fidelity->first_difference = run->seq;
      fidelity->expected_address = event->address;
      fidelity->got_address = block != NULL ? block->address : 0;
    }
}

static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  Ledger *ledger = (Ledger *) probe;

  if (!decision->request || ledger->fidelity->parted != G_MAXUINT64)
    return;
  if (differs_by_device (run, decision))
    part (ledger);
  else
    compare (ledger->fidelity, run, decision);
}

/* What the recording holds after its @call of @size bytes. */
static void
count_held (Ledger *ledger, GememDeviceCall call, guint64 size)
{
  if (call == GEMEM_CALL_MALLOC || call == GEMEM_CALL_MAP)
    ledger->held += MIN (size, G_MAXUINT64 - ledger->held);
  else
    ledger->held -= MIN (size, ledger->held); /* it may be from before the recording */
  ledger->fidelity->recorded_peak = MAX (ledger->fidelity->recorded_peak, ledger->held);
}

/* A SEGMENT_* event of the recording.  The simulated allocator makes no calls for initial ones. */
static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  Ledger *ledger = (Ledger *) probe;
  const int call = call_of_kind (event->kind);
  const Call entry = {
    .call = (GememDeviceCall) call, .address = event->address, .size = event->size, .seq = run->seq
  };

  (void) error;
  if (call >= 0)
    count_held (ledger, (GememDeviceCall) call, event->size);
  if (call >= 0 && ledger->compares_calls && (run->attention & GEMEM_RUN_ADOPTING) == 0)
    meet (ledger, &ledger->recorded, &ledger->simulated, &entry);
  return TRUE;
}

static gboolean
end_epoch (GememProbe *probe, GememRun *run, GError **error)
{
  (void) run, (void) error;
  count_all_unmatched ((Ledger *) probe);
  probe->done = TRUE;
  return TRUE;
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Ledger *ledger = (Ledger *) probe;

  gemem_device_remove_observer (run->device, &ledger->observer);
  g_queue_clear_full (&ledger->recorded, g_free);
  g_queue_clear_full (&ledger->simulated, g_free);
}

const GememProbeClass gemem_ledger_probe = { .size = sizeof (Ledger),
                                             .wanted = wanted,
                                             .attach = attach,
                                             .before = before,
                                             .decided = decided,
                                             .after = after,
                                             .end_epoch = end_epoch,
                                             .clear = clear };
