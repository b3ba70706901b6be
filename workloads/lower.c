/* lower.c - the reader of all lowerings: runs a graph node by node, allocating and freeing its
 * storages; see lower.h.
 *
 * The lists of storages (by begin, by end, by completion) are walked by cursors, once per step;
 * nothing is kept per event.
 *
 * Invariants: a storage is ABSENT, ALIVE, or, between FREE_REQUESTED and FREE_COMPLETED, REQUESTED;
 * at the end of a step all but the kept ones are ABSENT.
 */
#include "config.h"

#include <string.h>

#include "workloads/lower.h"

#define PIECE 4096 /* events generated at a time, roughly */

enum
{
  ABSENT,
  ALIVE,
  REQUESTED
};

GememTraceEvent *
gemem_lower_event (GememLower *lower, GememEventKind kind, guint64 id)
{
  GArray *events = lower->parent.events;

  gemem_events_mark (&lower->parent, kind, id);
  return &g_array_index (events, GememTraceEvent, events->len - 1);
}

static const char *
name_of (const GememLower *lower, guint64 id)
{
  const guint32 slot = (guint32) (id - 1), n_items = gemem_graph_n_items (lower->graph);

  if (slot >= n_items + gemem_graph_n_variables (lower->graph))
    return "fused";
  if (slot >= n_items)
    return gemem_graph_variable (lower->graph, slot - n_items)->name;
  return gemem_graph_node (lower->graph, gemem_graph_item (lower->graph, slot).node)->name;
}

/* ---- allocating and freeing */

static guint64
event_id (const GememLower *lower, const GememStorage *storage)
{
  return storage->id + (storage->kept ? 0 : lower->bias);
}

static void
set_memory (GememLower *lower, guint32 i, guint8 value, guint64 size)
{
  const GememStorage *storage = gemem_lower_storage (lower, i);
  GememTraceEvent *event = gemem_lower_event (lower, GEMEM_EVENT_MEMSET, event_id (lower, storage));

  event->size = size;
  event->stream = storage->stream;
  event->aux = value;
}

void
gemem_lower_allocate (GememLower *lower, guint32 i)
{
  const GememStorage *storage = gemem_lower_storage (lower, i);
  GememTraceEvent *event = gemem_lower_event (lower, GEMEM_EVENT_ALLOC, event_id (lower, storage));

  event->size = storage->size;
  event->stream = storage->stream;
  event->tag = gemem_trace_info_intern (&lower->parent.parent.info, name_of (lower, storage->id));
  lower->state[i] = ALIVE;
  if (lower->fill)
    set_memory (lower, i, lower->fill, storage->size);
}

void
gemem_lower_free (GememLower *lower, guint32 i)
{
  const GememStorage *storage = gemem_lower_storage (lower, i);
  const gboolean known = storage->complete <= lower->moment;

  gemem_lower_event (lower, known ? GEMEM_EVENT_FREE : GEMEM_EVENT_FREE_REQUESTED,
                     event_id (lower, storage));
  lower->state[i] = known ? ABSENT : REQUESTED;
}

gboolean
gemem_lower_is_alive (const GememLower *lower, guint32 i)
{
  return lower->state[i] == ALIVE;
}

guint64
gemem_lower_detach (GememLower *lower, guint32 i)
{
  lower->state[i] = ABSENT;
  return event_id (lower, gemem_lower_storage (lower, i));
}

static void
complete_until (GememLower *lower, guint32 moment)
{
  for (; lower->completed < lower->n_completing; lower->completed++)
    {
      const guint32 i = lower->completing[lower->completed];

      if (gemem_lower_storage (lower, i)->complete > moment)
        return;
      if (lower->state[i] != REQUESTED)
        continue;
      gemem_lower_event (lower, GEMEM_EVENT_FREE_COMPLETED,
                         event_id (lower, gemem_lower_storage (lower, i)));
      lower->state[i] = ABSENT;
    }
}

static void
allocate_begun (GememLower *lower)
{
  const guint32 first = lower->begun;

  while (lower->begun < lower->storages->len
         && gemem_lower_storage (lower, lower->begun)->begin == lower->moment)
    {
      const gboolean hooked = lower->allocate_workspace != NULL
                              && gemem_lower_storage (lower, lower->begun)->workspace;

      (hooked ? lower->allocate_workspace : gemem_lower_allocate) (lower, lower->begun++);
    }
  for (guint32 i = first; i < lower->begun; i++)
    if (gemem_lower_storage (lower, i)->clear > 0)
      set_memory (lower, i, 0, gemem_lower_storage (lower, i)->clear);
}

static void
release_ended (GememLower *lower)
{
  for (; lower->ended < lower->n_ending; lower->ended++)
    {
      const guint32 i = lower->ending[lower->ended];

      if (gemem_lower_storage (lower, i)->end != lower->moment)
        return;
      if (gemem_lower_storage (lower, i)->workspace)
        (lower->release_workspace != NULL ? lower->release_workspace : gemem_lower_free) (lower, i);
      else if (lower->release != NULL)
        lower->release (lower, i);
    }
}

/* ---- streams */

static void
wait_for (GememLower *lower, guint32 producer, guint64 stream)
{
  const gint64 from = gemem_lower_stream (lower->graph, gemem_graph_node (lower->graph, producer));

  if (from < 0 || (guint64) from == stream || !gemem_lower_runs (lower->skipped, producer))
    return;
  if (producer + 1 >= lower->moment || lower->waited_at[producer] == lower->moment)
    return;
  lower->waited_at[producer] = lower->moment;
  gemem_lower_event (lower, GEMEM_EVENT_EVENT_WAIT, (guint64) producer + 1)->stream = stream;
}

static void
wait_for_all (GememLower *lower, const GememNode *node, guint64 stream)
{
  const guint32 id = lower->moment - 1;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (lower->graph, id)[i].tensor;
      if (tensor != GEMEM_NONE)
        wait_for (lower, gemem_graph_tensor (lower->graph, tensor)->node, stream);
    }
  for (guint32 i = 0; i < node->n_controls; i++)
    wait_for (lower, gemem_graph_controls (lower->graph, id)[i], stream);
}

static void
use_slot (GememLower *lower, guint32 slot, guint64 stream)
{
  const guint32 i = slot != GEMEM_NONE ? lower->storage_of[slot] : GEMEM_NONE;
  const GememStorage *storage = i != GEMEM_NONE ? gemem_lower_storage (lower, i) : NULL;

  if (storage == NULL || storage->kept || storage->stream == stream || lower->state[i] != ALIVE
      || lower->used_at[i] == lower->moment)
    return;
  lower->used_at[i] = lower->moment;
  gemem_lower_event (lower, GEMEM_EVENT_USE_ON_STREAM, event_id (lower, storage))->stream = stream;
}

static void
use_all (GememLower *lower, const GememNode *node, guint64 stream)
{
  for (guint32 i = 0; i < node->n_inputs; i++)
    use_slot (lower,
              gemem_lower_input_slot (lower->graph,
                                      &gemem_graph_inputs (lower->graph, lower->moment - 1)[i]),
              stream);
  for (guint32 o = 0; o < node->n_outputs; o++)
    use_slot (lower, gemem_node_output_item (node, o), stream);
}

static gboolean
waits_elsewhere (const GememLower *lower, guint32 later, guint64 stream)
{
  const gint64 to = gemem_lower_stream (lower->graph, gemem_graph_node (lower->graph, later));

  return later >= lower->moment && gemem_lower_runs (lower->skipped, later) && to >= 0
         && (guint64) to != stream;
}

static gboolean
is_waited_for (const GememLower *lower, const GememNode *node, guint64 stream)
{
  for (guint32 o = 0; o < node->n_outputs; o++)
    for (guint32 c = 0; c < gemem_graph_tensor (lower->graph, node->first_output + o)->n_consumers;
         c++)
      if (waits_elsewhere (
              lower, gemem_graph_consumers (lower->graph, node->first_output + o)[c].node, stream))
        return TRUE;
  for (guint32 s = 0; s < node->n_successors; s++)
    if (waits_elsewhere (lower, gemem_graph_successors (lower->graph, lower->moment - 1)[s],
                         stream))
      return TRUE;
  return FALSE;
}

/* ---- moments */

static void
run_node (GememLower *lower)
{
  const GememNode *node = gemem_graph_node (lower->graph, lower->moment - 1);
  const gint64 stream = lower->waited_at != NULL ? gemem_lower_stream (lower->graph, node) : -1;

  complete_until (lower, lower->moment);
  if (lower->before_node != NULL)
    lower->before_node (lower);
  if (stream >= 0)
    wait_for_all (lower, node, (guint64) stream);
  allocate_begun (lower);
  if (stream >= 0)
    use_all (lower, node, (guint64) stream);
  if (stream >= 0 && is_waited_for (lower, node, (guint64) stream))
    gemem_lower_event (lower, GEMEM_EVENT_EVENT_RECORD, lower->moment)->stream = (guint64) stream;
  release_ended (lower);
  lower->parent.time += MIN (lower->params.time_per_node, G_MAXUINT64 - lower->parent.time);
}

static void
begin_step (GememLower *lower)
{
  lower->ended = lower->completed = lower->moment = 0;
  memset (lower->used_at, 0, sizeof (guint32) * lower->storages->len);
  if (lower->waited_at != NULL)
    memset (lower->waited_at, 0, sizeof (guint32) * gemem_graph_n_nodes (lower->graph));
  for (lower->begun = 0;
       lower->begun < lower->storages->len && gemem_lower_storage (lower, lower->begun)->kept;
       lower->begun++)
    if (lower->step == 1 && lower->params.variables)
      gemem_lower_allocate (lower, lower->begun);
  gemem_lower_event (lower, GEMEM_EVENT_STEP, lower->step);
  allocate_begun (lower);
}

/* Frees the remaining storages; kept ones are freed in the last step. */
static void
end_step (GememLower *lower)
{
  const gboolean last = lower->step == lower->params.steps;

  if (lower->waited_at != NULL)
    gemem_lower_event (lower, GEMEM_EVENT_DEVICE_SYNC, 0);
  complete_until (lower, lower->moment);
  if (lower->leave_step != NULL)
    lower->leave_step (lower);
  for (guint32 i = 0; i < lower->storages->len; i++)
    if (lower->state[i] == ALIVE && (last || !gemem_lower_storage (lower, i)->kept))
      gemem_lower_free (lower, i);
  if (lower->end_step != NULL)
    lower->end_step (lower);
}

static gboolean
fill (GememGeneratorReader *parent)
{
  GememLower *lower = (GememLower *) parent;
  const guint32 n = gemem_graph_n_nodes (lower->graph);

  if (lower->step > lower->params.steps)
    return FALSE;
  while (lower->step <= lower->params.steps && parent->events->len < PIECE)
    {
      if (lower->moment == 0)
        begin_step (lower);
      else if (lower->moment <= n && gemem_lower_runs (lower->skipped, lower->moment - 1))
        run_node (lower);
      else if (lower->moment > n)
        end_step (lower);
      lower->moment = lower->moment <= n ? lower->moment + 1 : 0;
      lower->step += lower->moment == 0;
    }
  return TRUE;
}

/* ---- opening and closing */

static int
compare_end (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint32 i = *(const guint32 *) a, j = *(const guint32 *) b;
  const GememLower *lower = data;
  const GememStorage *x = gemem_lower_storage (lower, i), *y = gemem_lower_storage (lower, j);

  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  if (x->workspace != y->workspace)
    return x->workspace ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int
compare_complete (gconstpointer a, gconstpointer b, gpointer data)
{
  const guint32 i = *(const guint32 *) a, j = *(const guint32 *) b;
  const GememLower *lower = data;
  const GememStorage *x = gemem_lower_storage (lower, i), *y = gemem_lower_storage (lower, j);

  if (x->complete != y->complete)
    return x->complete < y->complete ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static void
sort_storages (GememLower *lower)
{
  const guint32 n = lower->storages->len;

  lower->ending = g_new (guint32, n + 1);
  lower->completing = g_new (guint32, n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const GememStorage *storage = gemem_lower_storage (lower, i);

      if (!storage->kept)
        lower->ending[lower->n_ending++] = i;
      if (!storage->kept && storage->complete > storage->end)
        lower->completing[lower->n_completing++] = i;
    }
  g_qsort_with_data (lower->ending, (gint) lower->n_ending, sizeof (guint32), compare_end, lower);
  g_qsort_with_data (lower->completing, (gint) lower->n_completing, sizeof (guint32),
                     compare_complete, lower);
}

static void
free_parts (GememGeneratorReader *parent)
{
  GememLower *lower = (GememLower *) parent;

  if (lower->free_parts != NULL)
    lower->free_parts (lower);
  g_array_unref (lower->storages);
  g_free (lower->storage_of);
  g_free (lower->ending);
  g_free (lower->completing);
  g_free (lower->state);
  g_free (lower->used_at);
  g_free (lower->waited_at);
  g_free (lower->skipped);
  gemem_graph_unref (lower->graph);
}

static void
describe (GememLower *lower)
{
  GememTraceInfo *info = &lower->parent.parent.info;
  const GPtrArray *provenance = gemem_graph_provenance (lower->graph);

  gemem_trace_info_clear (info);
  gemem_trace_info_init (info, "graph", gemem_graph_name (lower->graph));
  info->flags = (lower->params.time_per_node > 0 ? GEMEM_TRACE_HAS_TIME : 0)
                | (lower->n_completing > 0 ? GEMEM_TRACE_HAS_COMPLETION : 0);
  for (guint i = 0; i < provenance->len; i++)
    g_ptr_array_add (info->provenance, g_strdup (provenance->pdata[i]));
  gemem_trace_info_note (info, "graph", "%s", gemem_graph_name (lower->graph));
}

gpointer
gemem_lower_new (gsize size, GememGraph *graph, const GememLowerParams *params,
                 const GememStorageRules *rules, GError **error)
{
  const guint32 n = gemem_graph_n_nodes (graph);
  GememStorageRules own = *rules;
  GememLower *lower;
  guint8 *skipped;

  if (!gemem_lower_skip (graph, params->batch_label, &skipped, error))
    return NULL;
  own.skipped = skipped;
  lower = gemem_generator_reader_new (size, fill, free_parts);
  lower->graph = gemem_graph_ref (graph);
  lower->params = *params;
  lower->params.batch_label = NULL; /* owned by the caller */
  lower->skipped = skipped;
  lower->storages = gemem_storages_new (graph, &own, &lower->storage_of);
  lower->state = g_new0 (guint8, lower->storages->len + 1);
  lower->used_at = g_new0 (guint32, lower->storages->len + 1);
  lower->waited_at = gemem_lower_has_streams (graph) ? g_new0 (guint32, n + 1) : NULL;
  lower->step = 1;
  sort_storages (lower);
  describe (lower);
  return lower;
}
