/* snapshot-deliver.c - the last pass over a PyTorch snapshot (snapshot-private.h): delivers the
 * initial state of all devices, then the events of each device between its phases.
 *
 * Invariants: ids are 1, 2, 3...; times of a device do not fall; a file that changed since the
 * first pass is an error.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/snapshot-private.h"

/* The tag of a block that the program called @name when it was allocated, with what it named it
 * later. */
static guint32
tag_of (GememSnapshot *snapshot, const GememSnapshotDevice *device, guint64 key, const char *name)
{
  GememTraceInfo *info = &snapshot->reader.info;
  const guint64 *later = device->names != NULL ? gemem_idmap_lookup (device->names, key) : NULL;
  g_autofree char *valid = g_utf8_make_valid (name, -1);

  if (later == NULL || *name == '\0')
    return later != NULL ? (guint32) *later : gemem_trace_info_intern (info, valid);
  g_autofree char *both = g_strdup_printf ("%s, %s", valid,
                                           (char *) g_ptr_array_index (info->strings, *later));
  return gemem_trace_info_intern (info, both);
}

static guint64
new_id (GememSnapshot *snapshot, GememSnapshotDevice *device, guint64 address)
{
  *(guint64 *) gemem_idmap_insert (device->ids, address, NULL) = ++snapshot->last_id;
  return snapshot->last_id;
}

static void
initial_segment (GememTraceEvent *event, const GememPytorchSegment *segment)
{
  event->kind = segment->expandable ? GEMEM_EVENT_SEGMENT_MAP : GEMEM_EVENT_SEGMENT_ALLOC;
  event->address = segment->address;
  event->size = segment->size;
  event->stream = segment->stream;
  event->pool = segment->pool;
  event->flags |= segment->small ? GEMEM_EVENT_SMALL : 0;
}

static void
initial_block (GememTraceEvent *event, const GememPytorchBlock *block)
{
  event->kind = GEMEM_EVENT_ALLOC;
  event->address = block->address;
  event->size = block->size;
  event->aux = block->block;
  event->stream = block->stream;
  event->pool = block->pool;
  event->stack = block->stack;
  event->flags |= (block->small ? GEMEM_EVENT_SMALL : 0)
                  | (block->ambiguous ? GEMEM_EVENT_AMBIGUOUS : 0);
}

/* Keeps which private pools there are, and whether the events before the next one release memory. */
static void
note_event (GememSnapshotDevice *device, const GememTraceEvent *event)
{
  if (event->kind == GEMEM_EVENT_ALLOC && event->pool != 0)
    device->pool = device->pool == 0 || device->pool == event->pool ? event->pool : G_MAXUINT32;
  if (event->kind != GEMEM_EVENT_FREE_COMPLETED)
    device->releasing = event->kind == GEMEM_EVENT_SEGMENT_FREE
                        || event->kind == GEMEM_EVENT_SEGMENT_UNMAP;
}

/* The next event of the initial state: segments, blocks and pending frees of a device, then the
 * next device.  FALSE: no event is left. */
static gboolean
next_initial (GememSnapshot *snapshot, GememTraceEvent *event)
{
  for (; snapshot->initial_device < snapshot->devices->len;
       snapshot->initial_device++, snapshot->step = snapshot->at = 0)
    {
      GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, snapshot->initial_device);
      const GememPytorchState *state = &device->state;
      memset (event, 0, sizeof *event);
      event->device = (guint16) snapshot->initial_device;
      event->flags = GEMEM_EVENT_INITIAL;
      for (; snapshot->step < 3; snapshot->step++, snapshot->at = 0)
        while (snapshot->at < (snapshot->step == 0 ? state->segments->len : state->blocks->len))
          {
            guint at = snapshot->at++;
            const GememPytorchBlock *block = snapshot->step > 0 ? &g_array_index (
                                                 state->blocks, GememPytorchBlock, at)
                                                                : NULL;
            if (snapshot->step == 2 && !block->pending)
              continue;
            if (snapshot->step == 0)
              initial_segment (event, &g_array_index (state->segments, GememPytorchSegment, at));
            else
              initial_block (event, block);
            if (snapshot->step == 1)
              {
                event->id = new_id (snapshot, device, block->address);
                event->tag = tag_of (snapshot, device,
                                     gemem_snapshot_name_key (TRUE, block->address), "");
                note_event (device, event);
              }
            else if (snapshot->step == 2)
              {
                event->id = *(guint64 *) gemem_idmap_lookup (device->ids, block->address);
                event->kind = GEMEM_EVENT_FREE_REQUESTED;
                event->aux = 0;
              }
            return TRUE;
          }
    }
  return FALSE;
}

static guint64
event_time (const GememSnapshot *snapshot, GememSnapshotDevice *device, guint64 time)
{
  device->last = MAX (device->last, time);
  return snapshot->has_time ? (device->last - snapshot->origin) * 1000 : 0;
}

static void
phase_event (GememSnapshot *snapshot, guint number, GememTraceEvent *event)
{
  GememSnapshotDevice *device = g_ptr_array_index (snapshot->devices, number);
  const GememSnapshotPhase *phase = &g_array_index (device->phases, GememSnapshotPhase,
                                                    device->phase++);
  memset (event, 0, sizeof *event);
  event->kind = phase->kind;
  event->device = (guint16) number;
  event->tag = phase->tag;
  event->time = event_time (snapshot, device, phase->time);
}

/* The pool of a request that failed, where events do not tell it: the default one if memory was released for
 * the request, or no private pool was in use; else the only one that is known if memory was kept that the request
 * would have released elsewhere; else one by itself, which is served from no cache. */
static guint32
failed_in (const GememSnapshot *snapshot, GememSnapshotDevice *device)
{
  gboolean kept = FALSE;
  guint64 address;

  while (gemem_pytorch_releases_kept (&device->releases, device->delivered, &address))
    kept |= gemem_pytorch_state_pool (&device->state, address, device->delivered) == 0;
  if (snapshot->host || device->releasing || !(kept || device->pool != 0)
      || gemem_pytorch_settings_name (&snapshot->records.settings, "throw_on_cudamalloc_oom"))
    return 0;
  return kept && device->pool != 0 && device->pool != G_MAXUINT32 ? device->pool
                                                                  : device->releases.fresh_pool;
}

/* Converts a record to the event to deliver: sets time and id. */
static gboolean
deliver (GememSnapshot *snapshot, const GememPytorchRecord *record, GememTraceEvent *event,
         GError **error)
{
  GememSnapshotDevice *device = gemem_snapshot_device (snapshot, record->device);
  guint64 id = 0;
  const guint64 *found;

  *event = record->event;
  event->time = event_time (snapshot, device, record->event.time);
  if (record->index < device->stacks->len)
    event->stack = g_array_index (device->stacks, guint32, record->index);
  if (event->kind == GEMEM_EVENT_ALLOC && (*record->name != '\0' || device->names != NULL))
    event->tag = tag_of (snapshot, device, gemem_snapshot_name_key (FALSE, record->index),
                         record->name);
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      id = new_id (snapshot, device, event->address);
      if (!record->has_pool)
        event->pool = gemem_pytorch_state_pool (&device->state, event->address, device->delivered);
      break;
    case GEMEM_EVENT_OOM:
      if (!record->has_pool)
        event->pool = failed_in (snapshot, device);
      id = G_MAXUINT64;
      break;
    case GEMEM_EVENT_FREE_REQUESTED:
      if (device->state.skips_completions)
        {
          event->kind = GEMEM_EVENT_FREE;
          gemem_idmap_remove (device->ids, event->address, &id);
          break;
        }
      found = gemem_idmap_lookup (device->ids, event->address);
      id = found != NULL ? *found : 0;
      break;
    case GEMEM_EVENT_FREE_COMPLETED:
      gemem_idmap_remove (device->ids, event->address, &id);
      break;
    default:
      id = G_MAXUINT64;
    }
  note_event (device, event);
  device->delivered++;
  if (id == 0)
    {
      g_autofree char *place = gemem_snapshot_place (snapshot, record->device);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s[%" G_GUINT64_FORMAT "]: block 0x%" G_GINT64_MODIFIER
                   "x is gone; the file changed while it was read",
                   place, record->index, event->address);
      return FALSE;
    }
  event->id = id != G_MAXUINT64 ? id : 0;
  return TRUE;
}

/* Makes the next event to deliver before the held record; FALSE: none is left. */
static gboolean
deliver_before (GememSnapshot *snapshot, GememTraceEvent *event)
{
  const GememTraceEvent *held = &snapshot->held.event;
  GememSnapshotDevice *device = gemem_snapshot_device (snapshot, snapshot->held.device);

  if (!gemem_pytorch_releases_before (&device->releases, device->delivered, held, device->reserved,
                                      event))
    return FALSE;
  event->device = held->device;
  event->time = event_time (snapshot, device, held->time);
  return TRUE;
}

/* Converts the held record to an event and any event after it; returns their number, 0: error. */
static guint
deliver_held (GememSnapshot *snapshot, GememTraceEvent *event, GError **error)
{
  GememSnapshotDevice *device = gemem_snapshot_device (snapshot, snapshot->held.device);

  if (!deliver (snapshot, &snapshot->held, event, error))
    return 0;
  snapshot->holding = FALSE;
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    device->reserved += event->size;
  else if (event->kind == GEMEM_EVENT_SEGMENT_FREE || event->kind == GEMEM_EVENT_SEGMENT_UNMAP)
    device->reserved -= MIN (event->size, device->reserved);
  if (!gemem_pytorch_releases_behind (&device->releases, event, event + 1))
    return 1;
  event[1].device = event->device;
  event[1].time = event->time;
  return 2;
}

/* Second pass: reads the next event of a wanted device into `held`; FALSE: error. */
static gboolean
hold_next (GememSnapshot *snapshot, GError **error)
{
  GememPytorchRecord *held = &snapshot->held;

  snapshot->ended = snapshot->taken == snapshot->accepted;
  while (!snapshot->ended && !snapshot->holding)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, held, error))
        return FALSE;
      snapshot->holding = held->kind == GEMEM_PYTORCH_EVENT
                          && gemem_snapshot_wanted (snapshot, held->device);
      snapshot->taken += held->kind == GEMEM_PYTORCH_EVENT || held->kind == GEMEM_PYTORCH_UNKNOWN;
      snapshot->ended = held->kind == GEMEM_PYTORCH_END
                        || (snapshot->taken == snapshot->accepted && !snapshot->holding);
    }
  return TRUE;
}

gssize
gemem_snapshot_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  GememSnapshot *snapshot = (GememSnapshot *) reader;
  guint n = 0, more;

  *events = snapshot->batch;
  while (n < GEMEM_SNAPSHOT_BATCH && next_initial (snapshot, &snapshot->batch[n]))
    n++;
  while (n + 2 <= GEMEM_SNAPSHOT_BATCH)
    {
      if (!snapshot->holding && !hold_next (snapshot, error))
        return -1;
      if (!snapshot->holding)
        break;
      GememSnapshotDevice *device = gemem_snapshot_device (snapshot, snapshot->held.device);
      if (device->phase < device->phases->len
          && g_array_index (device->phases, GememSnapshotPhase, device->phase).time
                 <= snapshot->held.event.time)
        phase_event (snapshot, snapshot->held.device, &snapshot->batch[n++]);
      else if (deliver_before (snapshot, &snapshot->batch[n]))
        n++;
      else if ((more = deliver_held (snapshot, &snapshot->batch[n], error)) == 0)
        return -1;
      else
        n += more;
    }
  for (guint i = 0; snapshot->host && i < n; i++)
    snapshot->batch[i].device = GEMEM_DEVICE_HOST;
  return n;
}
