/* recording.c - the probe of `--record FILE`: the run as a recording, as if the allocator had run in the program.
 *
 * Why: what people have reads recordings of real allocators (memory_viz of PyTorch, scripts over snapshots, our own commands); so any
 * run can be looked at with it, whatever allocator and device were simulated.
 *
 * The events are those of the trace with the addresses and block sizes of this run, its failures, and the segments that the
 * device gave and took back. What only the recorded allocator did is left out. The name of FILE chooses the format (traces/formats.def).
 *
 * Invariants: the first epoch alone is written; the file is there when that has ended, or not at all.
 */
#include "config.h"

#include "sim/engine/run.h"

typedef struct
{
  GememProbe probe;
  GememTraceInfo info;
  GememTraceWriter *writer;
  GError *failure;  /* of a segment, inside a call of the device */
  gboolean written; /* the current event */
  GArray *
      held; /* GememTraceEvent: what the device took back while a block is freed, to stand behind that */
  gboolean frees; /* the current event frees a block, and is not written yet */
  const GememRun *run;
  GememDeviceObserver observer;
} Recording;

/* ---- events */

static void
write_event (Recording *self, const GememTraceEvent *event)
{
  const GememTraceInfo *source = self->run->info;

  if (self->info.stacks == NULL && source != NULL && source->stacks != NULL) /* found meanwhile */
    self->info.stacks = gemem_call_stacks_ref (source->stacks);
  if (self->writer != NULL && self->failure == NULL)
    self->writer->write (self->writer, event, 1, &self->failure);
}

/* The device gave memory or took it back. */
static void
write_call (gpointer data, const GememDeviceNote *note)
{
  static const guint8 kinds[GEMEM_CALL_COUNT] = { [GEMEM_CALL_MALLOC] = GEMEM_EVENT_SEGMENT_ALLOC,
                                                  [GEMEM_CALL_FREE] = GEMEM_EVENT_SEGMENT_FREE,
                                                  [GEMEM_CALL_MAP] = GEMEM_EVENT_SEGMENT_MAP,
                                                  [GEMEM_CALL_UNMAP] = GEMEM_EVENT_SEGMENT_UNMAP };
  Recording *self = data;
  const GememTraceEvent event = { .kind = kinds[note->call],
                                  .time = self->run->last_time,
                                  .address = note->address,
                                  .size = note->size,
                                  .stream = note->stream,
                                  .device = self->run->ordinal };

  if (event.kind == 0 || !note->ok)
    return;
  if (self->frees)
    g_array_append_val (self->held, event);
  else
    write_event (self, &event);
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  (void) run;
  ((Recording *) probe)->frees = event->kind == GEMEM_EVENT_FREE
                                 || event->kind == GEMEM_EVENT_FREE_REQUESTED
                                 || event->kind == GEMEM_EVENT_FREE_COMPLETED;
}

static void
write_held (Recording *self)
{
  self->frees = FALSE;
  for (guint i = 0; i < self->held->len; i++)
    write_event (self, &g_array_index (self->held, GememTraceEvent, i));
  g_array_set_size (self->held, 0);
}

static void
decided (GememProbe *probe, GememRun *run, const GememDecision *decision)
{
  Recording *self = (Recording *) probe;
  GememTraceEvent event = *decision->event;
  const GememBlock *block = decision->block;
  GememDeviceInfo device;

  self->written = TRUE;
  if (!decision->of_block)
    {
      write_event (self, &event);
      return;
    }
  event.address = block != NULL ? block->address : 0;
  if (decision->request && block != NULL)
    event.aux = block->size;
  else if (decision->request)
    {
      event.kind = GEMEM_EVENT_OOM;
      event.id = 0;
      gemem_device_info (run->device, &device);
      event.aux = device.free;
    }
  if (event.kind == GEMEM_EVENT_FREE_REQUESTED && run->klass->streams.complete == NULL)
    event.kind = GEMEM_EVENT_FREE; /* the allocator has it back */
  if (event.kind != GEMEM_EVENT_OOM || block == NULL)
    write_event (self, &event);
  write_held (self);
}

/* Whether an event that concerns no block is the program's, not the recorded allocator's. */
static gboolean
is_of_program (guint kind)
{
  switch (kind)
    {
    case GEMEM_EVENT_STEP:
    case GEMEM_EVENT_PHASE:
    case GEMEM_EVENT_PHASE_END:
    case GEMEM_EVENT_TRIM:
    case GEMEM_EVENT_STREAM_SYNC:
    case GEMEM_EVENT_DEVICE_SYNC:
    case GEMEM_EVENT_EVENT_RECORD:
    case GEMEM_EVENT_EVENT_WAIT:
    case GEMEM_EVENT_WORK:
    case GEMEM_EVENT_WORK_DONE:
      return TRUE;
    default:
      return FALSE;
    }
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  Recording *self = (Recording *) probe;

  (void) run;
  if (!self->written && (is_of_program (event->kind) || (event->flags & GEMEM_EVENT_INITIAL) != 0))
    write_event (self, event);
  self->written = FALSE;
  write_held (self);
  if (self->failure == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&self->failure));
  return FALSE;
}

/* ---- begin and end */

static gboolean
wanted (const GememRun *run)
{
  return run->job->record_path != NULL;
}

/* Its name and the settings that differ from the defaults, as a trace keeps them. */
static void
name_allocator (GememTraceInfo *info, const GememRun *run)
{
  const char *label = run->job->allocator->label;
  const gsize name = strcspn (label, ":");
  const gboolean recorded = run->same_allocator && run->job->use_trace_settings;

  g_free (info->allocator);
  info->allocator = g_strdup (run->job->allocator->klass->name);
  if (label[name] == ':' || !recorded)
    {
      g_autofree char *before = info->settings;
      g_autofree char *more = g_strdup (label[name] == ':' ? label + name + 1 : "");
      info->settings = recorded && before != NULL && *before != '\0'
                           ? g_strconcat (before, *more != '\0' ? "," : "", more, NULL)
                           : g_steal_pointer (&more);
    }
}

/* Before the allocator is made, which may ask for memory at once. */
static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Recording *self = (Recording *) probe;
  GememTraceInfo *info = &self->info;

  gemem_trace_info_copy (info, run->info);
  g_ptr_array_unref (info->strings); /* the reader's, which grow while it reads */
  info->strings = g_ptr_array_ref (run->info->strings);
  name_allocator (info, run);
  info->flags |= GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS;
  info->flags &= ~(guint32) GEMEM_TRACE_IS_VECTOR;
  gemem_trace_info_note (info, "simulated", "%s, by gemem-sim %s", run->job->allocator->label,
                         PACKAGE_VERSION);
  self->run = run;
  self->held = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  self->writer = gemem_trace_create (run->job->record_path, NULL, info, error);
  if (self->writer == NULL)
    return FALSE;
  self->observer = (GememDeviceObserver){ .func = write_call, .data = self };
  gemem_device_add_observer (run->device, &self->observer);
  return TRUE;
}

static gboolean
end_epoch (GememProbe *probe, GememRun *run, GError **error)
{
  Recording *self = (Recording *) probe;

  gemem_device_remove_observer (run->device, &self->observer);
  probe->done = TRUE;
  GememTraceWriter *writer = g_steal_pointer (&self->writer);
  return writer->finish (writer, error);
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Recording *self = (Recording *) probe;

  gemem_device_remove_observer (run->device, &self->observer);
  if (self->writer != NULL)
    self->writer->discard (self->writer);
  g_clear_error (&self->failure);
  g_clear_pointer (&self->held, g_array_unref);
  gemem_trace_info_clear (&self->info);
}

const GememProbeClass gemem_recording_probe = { .size = sizeof (Recording),
                                                .wanted = wanted,
                                                .attach = attach,
                                                .before = before,
                                                .decided = decided,
                                                .after = after,
                                                .end_epoch = end_epoch,
                                                .clear = clear };
