/* summary.c - see summary.h.  One idmap record per live block, one DeviceSummary per device;
 * nothing grows with the trace. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/idmap.h"
#include "base/units.h"
#include "traces/summary.h"

typedef struct
{
  guint64 size, seq, time;
  guint64 device;
} LiveBlock;

typedef struct
{
  GememDeviceSummary *summary;
  GememIdMap *streams; /* stream -> guint64 index in summary->streams, sorted at the end */
  guint64 live, blocks, rounded_256, rounded_512, reserved;
} DeviceState;

typedef struct
{
  GememIdMap *live;  /* id -> LiveBlock */
  GArray *states;    /* DeviceState, in order of appearance */
  GememIdMap *index; /* device -> guint64 number of its state */
  gboolean has_time;
} Pass;

static void
device_summary_free (gpointer data)
{
  GememDeviceSummary *summary = data;
  g_array_unref (summary->streams);
  g_free (summary);
}

/* @pass->index finds the state, which may move. */
static DeviceState *
device_state (Pass *pass, guint16 device)
{
  gboolean existed;
  guint64 *number = gemem_idmap_insert (pass->index, device, &existed);
  if (existed)
    return &g_array_index (pass->states, DeviceState, *number);
  *number = pass->states->len;
  const DeviceState state = { .summary = g_new0 (GememDeviceSummary, 1),
                              .streams = gemem_idmap_new (sizeof (guint64)) };
  state.summary->device = device;
  state.summary->first_time = G_MAXUINT64;
  state.summary->streams = g_array_new (FALSE, TRUE, sizeof (GememStreamSummary));
  gemem_histogram_init (&state.summary->sizes);
  gemem_histogram_init (&state.summary->lifetimes_events);
  gemem_histogram_init (&state.summary->lifetimes_ns);
  g_array_append_val (pass->states, state);
  return &g_array_index (pass->states, DeviceState, pass->states->len - 1);
}

static void
count_stream (DeviceState *state, guint64 stream, guint64 allocs, guint64 bytes)
{
  GArray *streams = state->summary->streams;
  gboolean existed;
  guint64 *number = gemem_idmap_insert (state->streams, stream, &existed);
  if (existed)
    {
      GememStreamSummary *use = &g_array_index (streams, GememStreamSummary, *number);
      use->allocs += allocs;
      use->bytes += bytes;
      return;
    }
  *number = streams->len;
  const GememStreamSummary use = { stream, allocs, bytes };
  g_array_append_val (streams, use);
}

static int
by_stream (gconstpointer a, gconstpointer b)
{
  const GememStreamSummary *x = a, *y = b;
  return (x->stream > y->stream) - (x->stream < y->stream);
}

static int
by_device (gconstpointer a, gconstpointer b)
{
  const DeviceState *x = a, *y = b;
  return (x->summary->device > y->summary->device) - (x->summary->device < y->summary->device);
}

/* A request for which there was no memory. */
static void
on_failed (DeviceState *state, const GememTraceEvent *event)
{
  GememDeviceSummary *s = state->summary;

  s->failed++;
  s->failed_size = MAX (s->failed_size, event->size);
  s->after_failed = 0;
  s->lower_bound_256 = MAX (s->lower_bound_256,
                            state->rounded_256 + gemem_round_up (event->size, 256));
  s->lower_bound_512 = MAX (s->lower_bound_512,
                            state->rounded_512 + gemem_round_up (event->size, 512));
}

static void
on_alloc (Pass *pass, DeviceState *state, const GememTraceEvent *event, guint64 seq)
{
  GememDeviceSummary *s = state->summary;
  gboolean existed;
  if (event->flags & GEMEM_EVENT_INITIAL)
    {
      s->initial_blocks++;
      s->initial_bytes += event->size;
      count_stream (state, event->stream, 0, 0);
    }
  else
    {
      s->requested_bytes += event->size;
      gemem_histogram_add (&s->sizes, event->size);
      count_stream (state, event->stream, 1, event->size);
    }
  if (event->flags & GEMEM_EVENT_FAILED)
    {
      on_failed (state, event);
      return;
    }
  s->after_failed++;
  LiveBlock *block = gemem_idmap_insert (pass->live, event->id, &existed);
  if (existed)
    return; /* reported by validate.c */
  *block = (LiveBlock){ event->size, seq, event->time, event->device };
  state->live += event->size;
  state->blocks++;
  state->rounded_256 += gemem_round_up (event->size, 256);
  state->rounded_512 += gemem_round_up (event->size, 512);
  s->lower_bound_256 = MAX (s->lower_bound_256, state->rounded_256);
  s->lower_bound_512 = MAX (s->lower_bound_512, state->rounded_512);
  s->peak_blocks = MAX (s->peak_blocks, state->blocks);
  if (state->live > s->peak_live)
    {
      s->peak_live = state->live;
      s->peak_live_seq = seq;
      s->peak_live_time = event->time;
      s->peak_live_blocks = state->blocks;
      s->reserved_at_peak = state->reserved;
    }
}

static void
on_free (Pass *pass, DeviceState *state, const GememTraceEvent *event, guint64 seq)
{
  LiveBlock block;
  if (!gemem_idmap_remove (pass->live, event->id, &block))
    return;
  state->live -= block.size;
  state->blocks--;
  state->rounded_256 -= gemem_round_up (block.size, 256);
  state->rounded_512 -= gemem_round_up (block.size, 512);
  gemem_histogram_add (&state->summary->lifetimes_events, seq - block.seq);
  if (pass->has_time && event->time >= block.time)
    gemem_histogram_add (&state->summary->lifetimes_ns, event->time - block.time);
}

static void
on_event (Pass *pass, const GememTraceEvent *event, guint64 seq)
{
  DeviceState *state = device_state (pass, event->device);
  GememDeviceSummary *s = state->summary;
  s->events++;
  if (event->kind < GEMEM_EVENT_KIND_COUNT)
    s->by_kind[event->kind]++;
  s->first_time = MIN (s->first_time, event->time);
  s->last_time = MAX (s->last_time, event->time);
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      on_alloc (pass, state, event, seq);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      on_free (pass, state, event, seq);
      break;
    case GEMEM_EVENT_GRAPH_LOAD:
      s->graph_bytes += event->size;
      s->largest_graph = MAX (s->largest_graph, event->size);
      break;
    case GEMEM_EVENT_SEGMENT_ALLOC:
    case GEMEM_EVENT_SEGMENT_MAP:
      if (event->flags & GEMEM_EVENT_INITIAL)
        count_stream (state, event->stream, 0, 0);
      state->reserved += event->size;
      s->peak_reserved = MAX (s->peak_reserved, state->reserved);
      break;
    case GEMEM_EVENT_SEGMENT_FREE:
    case GEMEM_EVENT_SEGMENT_UNMAP:
      state->reserved -= MIN (state->reserved, event->size);
      s->released++;
      s->released_bytes += event->size;
      break;
    case GEMEM_EVENT_OOM:
      on_failed (state, event);
      break;
    default:
      break;
    }
}

GememTraceSummary *
gemem_trace_summarise (GememTraceReader *reader, GError **error)
{
  Pass pass = { gemem_idmap_new (sizeof (LiveBlock)),
                g_array_new (FALSE, FALSE, sizeof (DeviceState)),
                gemem_idmap_new (sizeof (guint64)),
                (reader->info.flags & GEMEM_TRACE_HAS_TIME) != 0 };
  GememTraceSummary *summary = g_new0 (GememTraceSummary, 1);
  const GememTraceEvent *events;
  gssize n;
  summary->devices = g_ptr_array_new_with_free_func (device_summary_free);
  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    {
      for (gssize i = 0; i < n && pass.states->len <= GEMEM_MAX_DEVICES; i++)
        on_event (&pass, &events[i], summary->events++);
      if (pass.states->len > GEMEM_MAX_DEVICES)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: has more than %d devices; choose one with --trace-device=N",
                       reader->info.path, GEMEM_MAX_DEVICES);
          n = -1;
          break;
        }
    }
  g_array_sort (pass.states, by_device);
  for (guint i = 0; i < pass.states->len; i++)
    {
      DeviceState *state = &g_array_index (pass.states, DeviceState, i);
      state->summary->end_live = state->live;
      state->summary->end_blocks = state->blocks;
      g_array_sort (state->summary->streams, by_stream);
      gemem_idmap_free (state->streams);
      g_ptr_array_add (summary->devices, state->summary);
    }
  gemem_idmap_free (pass.live);
  gemem_idmap_free (pass.index);
  g_array_unref (pass.states);
  if (n == 0)
    return summary;
  gemem_trace_summary_free (summary);
  return NULL;
}

void
gemem_trace_summary_free (GememTraceSummary *summary)
{
  if (summary == NULL)
    return;
  g_ptr_array_unref (summary->devices);
  g_free (summary);
}
