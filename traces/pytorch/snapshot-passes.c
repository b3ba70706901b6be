/* snapshot-passes.c - the passes over a PyTorch snapshot before its events are delivered
 * (snapshot-private.h): the first checks every record and derives the initial state of each
 * device, one looks for hidden tails of initial blocks, one for the allocations of blocks that the
 * program named later.
 *
 * Invariant: a pass after the first one reads no further than the first did, so a file that was cut
 * off stays readable.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch/snapshot-private.h"

/* ---- devices */

void
gemem_snapshot_device_free (gpointer data)
{
  GememSnapshotDevice *device = data;
  gemem_pytorch_state_clear (&device->state);
  gemem_pytorch_releases_clear (&device->releases);
  gemem_idmap_free (device->ids);
  gemem_idmap_free (device->names);
  g_array_unref (device->phases);
  g_array_unref (device->stacks);
  g_free (device);
}

gboolean
gemem_snapshot_wanted (const GememSnapshot *snapshot, guint number)
{
  return snapshot->options.device < 0 || (guint) snapshot->options.device == number;
}

static G_GNUC_NO_INLINE void
add_devices (GememSnapshot *snapshot, guint number)
{
  while (snapshot->devices->len <= number)
    {
      GememSnapshotDevice *device = g_new0 (GememSnapshotDevice, 1);
      device->limited = G_MAXINT64;
      gemem_pytorch_state_init (&device->state);
      gemem_pytorch_releases_init (&device->releases);
      device->ids = gemem_idmap_new (sizeof (guint64));
      device->phases = g_array_new (FALSE, FALSE, sizeof (GememSnapshotPhase));
      device->stacks = g_array_new (FALSE, TRUE, sizeof (guint32));
      g_ptr_array_add (snapshot->devices, device);
    }
}

GememSnapshotDevice *
gemem_snapshot_device (GememSnapshot *snapshot, guint number)
{
  if (G_UNLIKELY (snapshot->devices->len <= number))
    add_devices (snapshot, number);
  return g_ptr_array_index (snapshot->devices, number);
}

char *
gemem_snapshot_place (const GememSnapshot *snapshot, guint number)
{
  const char *file = snapshot->bytes.source.name;

  return snapshot->host ? g_strconcat (file, ":host_traces", NULL)
                        : g_strdup_printf ("%s:device_traces[%u]", file, number);
}

gboolean
gemem_snapshot_begin_pass (GememSnapshot *snapshot, gboolean stacks, GError **error)
{
  if (snapshot->open)
    gemem_pytorch_records_clear (&snapshot->records);
  snapshot->open = FALSE;
  if (!snapshot->bytes.rewind (snapshot->bytes.source.data, error))
    return FALSE;
  gemem_pytorch_records_init (&snapshot->records, &snapshot->bytes.source, stacks);
  snapshot->records.host = snapshot->host;
  snapshot->open = TRUE;
  return TRUE;
}

/* ---- the passes */

/* At most what the allocator asks the device for to serve a request of @size bytes. */
static guint64
asked_for (const GememSnapshot *snapshot, guint64 size)
{
  const guint64 page = 20 * GEMEM_MIB; /* also a segment for requests below 10 MiB */

  if (size >= G_MAXINT64 / 4)
    return G_MAXUINT64;
  return snapshot->expandable || (size > GEMEM_MIB && size < page / 2)
             ? gemem_round_up (size, page)
             : gemem_round_up (size, 2 * GEMEM_MIB);
}

/* Keeps how much the device held, and how much it could have held where a request failed. */
static void
weigh_device (const GememSnapshot *snapshot, GememSnapshotDevice *device,
              const GememTraceEvent *event, gboolean has_free)
{
  if (event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP)
    device->net += (gint64) event->size;
  else if (event->kind == GEMEM_EVENT_SEGMENT_FREE || event->kind == GEMEM_EVENT_SEGMENT_UNMAP)
    device->net -= (gint64) event->size;
  else if (event->kind == GEMEM_EVENT_OOM && event->size > 0 && has_free
           && event->aux < G_MAXINT64 / 4)
    {
      const gint64 could = device->net + (gint64) event->aux;

      device->could = device->told || device->full ? MAX (device->could, could) : could;
      device->told |= event->aux > 0;
      device->full |= event->aux == 0;
      if (event->aux >= asked_for (snapshot, event->size))
        device->limited = MIN (device->limited,
                               device->net + (gint64) asked_for (snapshot, event->size));
    }
  device->most = MAX (device->most, device->net);
}

static gboolean
first_event (GememSnapshot *snapshot, const GememPytorchRecord *record, GError **error)
{
  GememSnapshotDevice *device = gemem_snapshot_device (snapshot, record->device);
  guint64 time = record->event.time;
  g_autoptr (GError) reason = NULL;

  if (!gemem_pytorch_state_event (&device->state, &record->event, &reason))
    {
      g_autofree char *place = gemem_snapshot_place (snapshot, record->device);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s[%" G_GUINT64_FORMAT "]: %s", place,
                   record->index, reason->message);
      return FALSE;
    }
  if (record->stack != 0)
    {
      g_array_set_size (device->stacks, (guint) record->index + 1);
      g_array_index (device->stacks, guint32, record->index) = record->stack;
    }
  gemem_pytorch_releases_event (
      &device->releases, &record->event, record->stack,
      (gemem_call_stacks_flags (snapshot->records.stacks, record->stack)
       & GEMEM_PYTORCH_EMPTY_CACHE)
          != 0,
      record->event.kind == GEMEM_EVENT_FREE_REQUESTED && !device->releases.own
          && gemem_pytorch_state_saw (&device->state, record->event.address),
      record->event.kind == GEMEM_EVENT_SEGMENT_FREE ? device->state.made : 0);
  weigh_device (snapshot, device, &record->event, record->has_free);
  if (device->events++ == 0)
    device->first = time;
  else if (time < device->last)
    device->backwards++;
  device->last = MAX (device->last, time);
  snapshot->has_time &= record->has_time;
  snapshot->names_pools |= record->has_pool;
  snapshot->expandable |= record->event.kind == GEMEM_EVENT_SEGMENT_MAP
                          || record->event.kind == GEMEM_EVENT_SEGMENT_UNMAP;
  snapshot->plain |= record->event.kind == GEMEM_EVENT_SEGMENT_ALLOC;
  return TRUE;
}

/* Takes an annotation that tells which part of a device the program may take; FALSE: it is another. */
static gboolean
take_part (GememSnapshot *snapshot, const GememPytorchRecord *record)
{
  GememSnapshotPhase change = { .time = record->event.time, .kind = GEMEM_EVENT_SETTINGS };
  guint64 number;
  char *text, *end;

  if (!g_str_has_prefix (record->name, GEMEM_SNAPSHOT_PART))
    return FALSE;
  number = g_ascii_strtoull (record->name + strlen (GEMEM_SNAPSHOT_PART), &text, 10);
  const double part = *text == ' ' ? g_ascii_strtod (++text, &end) : -1;
  if (!(part >= 0 && part <= 1) || end == text || text[strspn (text, "0123456789.e-")] != '\0'
      || *end != '\0' || number >= GEMEM_PYTORCH_DEVICES)
    return FALSE;
  if (!record->begin || !gemem_snapshot_wanted (snapshot, (guint) number))
    return TRUE;
  g_autofree char *setting = g_strconcat (GEMEM_SNAPSHOT_PART_SETTING, text, NULL);
  change.tag = gemem_trace_info_intern (&snapshot->reader.info, setting);
  GememSnapshotDevice *device = gemem_snapshot_device (snapshot, (guint) number);
  device->parts = TRUE;
  g_array_append_val (device->phases, change);
  return TRUE;
}

/* Takes an annotation that tells settings; FALSE: it is another. */
static gboolean
take_settings (GememSnapshot *snapshot, const GememPytorchRecord *record)
{
  const char *text = record->name;
  GememSnapshotPhase change = { .time = record->event.time, .kind = GEMEM_EVENT_SETTINGS };

  if (g_str_has_prefix (text, GEMEM_SNAPSHOT_SETTINGS_BEFORE))
    {
      if (snapshot->settings_before == NULL)
        snapshot->settings_before = g_utf8_make_valid (
            text + strlen (GEMEM_SNAPSHOT_SETTINGS_BEFORE), -1);
      return TRUE;
    }
  if (!g_str_has_prefix (text, GEMEM_SNAPSHOT_SETTINGS))
    return FALSE;
  if (!record->begin)
    return TRUE;
  g_autofree char *valid = g_utf8_make_valid (text + strlen (GEMEM_SNAPSHOT_SETTINGS), -1);
  change.tag = gemem_trace_info_intern (&snapshot->reader.info, valid);
  g_array_append_val (snapshot->changes, change);
  return TRUE;
}

static void
first_annotation (GememSnapshot *snapshot, const GememPytorchRecord *record)
{
  GememSnapshotPhase phase = { .time = record->event.time,
                               .kind = record->begin ? GEMEM_EVENT_PHASE : GEMEM_EVENT_PHASE_END };

  if (snapshot->phases >= GEMEM_SNAPSHOT_PHASES)
    {
      snapshot->phases_lost++;
      return;
    }
  g_autofree char *name = g_utf8_make_valid (record->name, -1);
  phase.tag = gemem_trace_info_intern (&snapshot->reader.info, name);
  g_array_append_val (gemem_snapshot_device (snapshot, record->device)->phases, phase);
  snapshot->phases++;
}

/* A block of a small pool is what its request was rounded to, so it can tell whether torch_npu's 32
 * bytes were added. */
static void
weigh_padding (GememSnapshot *snapshot, const GememPytorchBlock *block)
{
  const guint64 plain = gemem_round_up (block->size, 512),
                padded = gemem_round_up (block->size + GEMEM_SNAPSHOT_NPU_PAD, 512);

  if (block->size == 0 || plain == padded)
    return;
  snapshot->padded += block->block == padded;
  snapshot->unpadded += block->block == plain;
}

static gboolean
first_record (GememSnapshot *snapshot, const GememPytorchRecord *record, GError **error)
{
  GememTraceInfo *info = &snapshot->reader.info;

  switch (record->kind)
    {
    case GEMEM_PYTORCH_SEGMENT:
      if (gemem_snapshot_wanted (snapshot, record->device))
        {
          GememSnapshotDevice *device = gemem_snapshot_device (snapshot, record->device);
          gemem_pytorch_state_final_segment (&device->state, &record->segment);
          snapshot->expandable |= record->segment.expandable;
          for (guint i = 0; i < snapshot->records.blocks->len; i++)
            {
              const GememPytorchBlock *block = &g_array_index (snapshot->records.blocks,
                                                               GememPytorchBlock, i);
              gemem_pytorch_state_final_block (&device->state, block);
              if (record->segment.small)
                weigh_padding (snapshot, block);
            }
        }
      return TRUE;
    case GEMEM_PYTORCH_EVENT:
      if (gemem_snapshot_wanted (snapshot, record->device)
          && !first_event (snapshot, record, error))
        return FALSE;
      snapshot->accepted++;
      return TRUE;
    case GEMEM_PYTORCH_UNKNOWN:
      info->skipped += gemem_snapshot_wanted (snapshot, record->device);
      if (snapshot->unknown++ == 0)
        snapshot->unknown_action = g_strescape (record->name, NULL);
      snapshot->accepted++;
      return TRUE;
    case GEMEM_PYTORCH_NAME:
      if (gemem_snapshot_wanted (snapshot, record->device) && *record->name != '\0')
        snapshot->names++;
      else
        info->skipped++;
      return TRUE;
    case GEMEM_PYTORCH_MARK:
      info->skipped++;
      snapshot->marks++;
      return TRUE;
    case GEMEM_PYTORCH_ANNOTATION:
      if (!snapshot->host && !take_settings (snapshot, record) && !take_part (snapshot, record)
          && gemem_snapshot_wanted (snapshot, record->device))
        first_annotation (snapshot, record);
      return TRUE;
    case GEMEM_PYTORCH_END:
    default:
      return TRUE;
    }
}

gboolean
gemem_snapshot_first_pass (GememSnapshot *snapshot, GError **error)
{
  GememPytorchRecord record;
  g_autoptr (GError) damage = NULL;

  if (!gemem_snapshot_begin_pass (snapshot, TRUE, error))
    return FALSE;
  do
    if (!gemem_pytorch_records_next (&snapshot->records, &record, &damage)
        || !first_record (snapshot, &record, &damage))
      {
        if (!snapshot->options.allow_partial || snapshot->accepted == 0)
          {
            g_propagate_error (error, g_steal_pointer (&damage));
            return FALSE;
          }
        snapshot->truncated = TRUE;
        gemem_trace_info_note (&snapshot->reader.info, "partial", "%s", damage->message);
        record.kind = GEMEM_PYTORCH_END;
      }
  while (record.kind != GEMEM_PYTORCH_END);
  return TRUE;
}

/* Runs the pass that looks for hidden tails of initial blocks. */
gboolean
gemem_snapshot_tail_pass (GememSnapshot *snapshot, GError **error)
{
  GememPytorchRecord record;
  guint64 left = snapshot->accepted;

  if (!gemem_snapshot_begin_pass (snapshot, FALSE, error))
    return FALSE;
  while (left > 0)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, &record, error))
        return FALSE;
      if (record.kind == GEMEM_PYTORCH_END)
        break;
      if (record.kind == GEMEM_PYTORCH_EVENT && gemem_snapshot_wanted (snapshot, record.device))
        gemem_pytorch_state_look (&gemem_snapshot_device (snapshot, record.device)->state,
                                  &record.event);
      left -= record.kind == GEMEM_PYTORCH_EVENT || record.kind == GEMEM_PYTORCH_UNKNOWN;
    }
  return TRUE;
}

/* Adds @name to the names of a block.  @live: address -> 1 + place of its allocation; 0: freed. */
static void
name_block (GememSnapshot *snapshot, GememSnapshotDevice *device, GememIdMap *live, guint64 address,
            const char *name)
{
  const guint64 *place = gemem_idmap_lookup (live, address);
  g_autofree char *valid = g_utf8_make_valid (name, -1);
  gboolean existed;

  if (place != NULL && *place == 0)
    {
      snapshot->reader.info.skipped++;
      return;
    }
  if (device->names == NULL)
    device->names = gemem_idmap_new (sizeof (guint64));
  guint64 *tag = gemem_idmap_insert (
      device->names, gemem_snapshot_name_key (place == NULL, place != NULL ? *place - 1 : address),
      &existed);
  g_autofree char *all = existed ? g_strdup_printf (
                             "%s, %s",
                             (char *) g_ptr_array_index (snapshot->reader.info.strings, *tag),
                             valid)
                                 : NULL;
  *tag = gemem_trace_info_intern (&snapshot->reader.info, all != NULL ? all : valid);
}

/* Runs the pass that finds the allocations of blocks that the program named later. */
gboolean
gemem_snapshot_name_pass (GememSnapshot *snapshot, GError **error)
{
  g_autoptr (GPtrArray) live = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_idmap_free);
  GememPytorchRecord record;
  guint64 left = snapshot->accepted, names = snapshot->names;

  if (!gemem_snapshot_begin_pass (snapshot, FALSE, error))
    return FALSE;
  while (left > 0 || names > 0)
    {
      if (!gemem_pytorch_records_next (&snapshot->records, &record, error))
        return FALSE;
      if (record.kind == GEMEM_PYTORCH_END)
        break;
      const gboolean event = record.kind == GEMEM_PYTORCH_EVENT;
      left -= MIN (left, event || record.kind == GEMEM_PYTORCH_UNKNOWN);
      if ((!event && record.kind != GEMEM_PYTORCH_NAME)
          || !gemem_snapshot_wanted (snapshot, record.device))
        continue;
      while (live->len <= record.device)
        g_ptr_array_add (live, gemem_idmap_new (sizeof (guint64)));
      GememIdMap *map = g_ptr_array_index (live, record.device);
      if (event && record.event.kind == GEMEM_EVENT_ALLOC)
        *(guint64 *) gemem_idmap_insert (map, record.event.address, NULL) = record.index + 1;
      else if (event && record.event.kind == GEMEM_EVENT_FREE_COMPLETED)
        *(guint64 *) gemem_idmap_insert (map, record.event.address, NULL) = 0;
      else if (!event && *record.name != '\0')
        {
          name_block (snapshot, gemem_snapshot_device (snapshot, record.device), map,
                      record.event.address, record.name);
          names--;
        }
    }
  return TRUE;
}
