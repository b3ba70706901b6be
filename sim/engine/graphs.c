/* graphs.c - see graphs.h. */
#include "config.h"

#include "base/compare.h"
#include "sim/engine/blocks-private.h"

enum
{
  GRAPH_SERVED = 1 << 0,  /* the load succeeded */
  GRAPH_RUNNING = 1 << 1, /* GRAPH_RUN came, GRAPH_RUN_END did not */
};

void
gemem_graphs_init (GememGraphs *graphs)
{
  graphs->map = gemem_idmap_new (sizeof (guint64));
  graphs->segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
}

void
gemem_graphs_clear (GememGraphs *graphs)
{
  gemem_idmap_free (graphs->map);
  g_array_unref (graphs->segments);
}

/* Accounts for the allocator's static memory and the time since @charged; @block: the graph's
 * block, or NULL. */
static void
account (GememRun *run, const GememTraceEvent *event, const GememBlock *block, guint64 charged)
{
  gemem_accounts_set_graphs (&run->accounts, run->klass->graphs.need != NULL
                                                 ? run->klass->graphs.need (run->allocator)
                                                 : run->klass->graphs.bytes (run->allocator));
  run->modelled_ns += run->device->call_time - charged;
  gemem_block_decided (run, event, FALSE, event->size, block, TRUE);
}

/* @event rewritten as an event of the block that holds the static memory. */
static GememTraceEvent
about_block (const GememTraceEvent *event)
{
  GememTraceEvent block = *event;

  block.id = GEMEM_GRAPH_BLOCK_ID (event->id);
  return block;
}

/* ---- load */

/* TRUE if a segment is not empty; else the graph is one piece. */
static gboolean
are_given (const GArray *segments)
{
  for (guint i = 0; i < segments->len; i++)
    if (g_array_index (segments, GememGraphSegment, i).size > 0)
      return TRUE;
  return FALSE;
}

static gboolean
load_by_class (GememRun *run, const GememTraceEvent *load)
{
  const GArray *segments = run->graphs.segments;
  const GememGraphSegment whole = { .size = load->size };
  const gboolean given = are_given (segments);
  const guint64 charged = run->device->call_time;
  GememBlock block = { .size = load->size };
  const gboolean served = run->klass->graphs.load (
      run->allocator, load->id, load->stream,
      given ? (const GememGraphSegment *) (gconstpointer) segments->data : &whole,
      given ? segments->len : 1, &block.address);

  account (run, load, served ? &block : NULL, charged);
  if (!served && run->allocator->refusal == NULL)
    {
      const GememRequest request = { .size = load->size, .stream = load->stream, .id = load->id };
      gemem_run_out_of_memory (run, load, &request);
    }
  return served;
}

/* All segments of the load have arrived. */
static gboolean
finish_load (GememRun *run, GError **error)
{
  const GememTraceEvent *load = &run->graphs.load;
  guint64 state = GRAPH_SERVED;

  run->result->graph_loads++;
  if (run->klass->graphs.load == NULL)
    {
      const GememTraceEvent block = about_block (load);
      if (!gemem_block_alloc (run, &block, TRUE, error))
        return FALSE;
    }
  else if (load->size > 0)
    state = load_by_class (run, load) ? GRAPH_SERVED : 0;
  else
    state = 0;
  *(guint64 *) gemem_idmap_insert (run->graphs.map, load->id, NULL) = state;
  return gemem_run_take_refusal (run, error);
}

static gboolean
do_load (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememGraphs *graphs = &run->graphs;

  if (gemem_idmap_lookup (graphs->map, event->id) != NULL)
    return gemem_run_bad_event (
        run, error, "graph %" G_GUINT64_FORMAT " is loaded while it is loaded", event->id);
  graphs->load = *event;
  graphs->missing = event->aux;
  graphs->end = 0;
  g_array_set_size (graphs->segments, 0);
  return graphs->missing > 0 || finish_load (run, error);
}

static gboolean
do_segment (GememRun *run, const GememTraceEvent *event, GError **error)
{
  GememGraphs *graphs = &run->graphs;
  const GememGraphSegment segment = { event->address, event->size, (guint32) event->aux };
  guint64 end;

  if (graphs->missing == 0 || graphs->load.id != event->id)
    return gemem_run_bad_event (
        run, error, "a segment of graph %" G_GUINT64_FORMAT " does not follow its load", event->id);
  if (event->address < graphs->end)
    return gemem_run_bad_event (
        run, error,
        "the segment of graph %" G_GUINT64_FORMAT " at offset %" G_GUINT64_FORMAT
        " overlaps or precedes the one before it, which ends at %" G_GUINT64_FORMAT,
        event->id, event->address, graphs->end);
  if (__builtin_add_overflow (event->address, event->size, &end)
      || (end > graphs->load.size && (event->aux & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0))
    return gemem_run_bad_event (run, error,
                                "the segment of graph %" G_GUINT64_FORMAT
                                " at offset %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                                " bytes does not fit its static memory of %" G_GUINT64_FORMAT
                                " bytes",
                                event->id, event->address, event->size, graphs->load.size);
  graphs->end = end;
  g_array_append_val (graphs->segments, segment);
  return --graphs->missing > 0 || finish_load (run, error);
}

/* ---- run and unload */

/* The allocator refuses a run: out of memory, or the event breaks a rule. */
static gboolean
refuse_run (GememRun *run, const GememTraceEvent *event, guint64 *state, GError **error)
{
  const GememRequest request = { .stream = event->stream, .id = event->id };

  if (run->allocator->refusal == NULL)
    {
      gemem_run_out_of_memory (run, event, &request);
      return TRUE;
    }
  *state &= ~(guint64) GRAPH_RUNNING;
  return gemem_run_take_refusal (run, error);
}

static gboolean
do_run (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const gboolean begin = event->kind == GEMEM_EVENT_GRAPH_RUN;
  const guint64 charged = run->device->call_time;
  guint64 *state = gemem_idmap_lookup (run->graphs.map, event->id);

  if (state == NULL)
    return gemem_run_bad_event (run, error,
                                "graph %" G_GUINT64_FORMAT " is run but not loaded on device %u",
                                event->id, run->ordinal);
  if (!begin && (*state & GRAPH_RUNNING) == 0)
    return gemem_run_bad_event (
        run, error, "a run of graph %" G_GUINT64_FORMAT " ends that did not begin", event->id);
  *state = begin ? *state | GRAPH_RUNNING : *state & ~(guint64) GRAPH_RUNNING;
  if (run->klass->graphs.run == NULL || (*state & GRAPH_SERVED) == 0)
    return TRUE;
  if (!run->klass->graphs.run (run->allocator, event->id, event->stream, begin)
      && !refuse_run (run, event, state, error))
    return FALSE;
  gemem_run_take_mark (run);
  account (run, event, NULL, charged);
  return TRUE;
}

/* do_run() of a GRAPH_RUN that sets `size` bytes of its memory to zero in `aux` memsets; their cost
 * is modelled.  Where they lie counts for nothing, and on a real device they are left out, as all
 * work of a run is. */
static gboolean
do_clearing_run (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const guint64 *state;
  guint64 charged;

  if (event->aux > GEMEM_GRAPH_MEMSETS_MAX)
    return gemem_run_bad_event (run, error,
                                "a run of graph %" G_GUINT64_FORMAT " has %" G_GUINT64_FORMAT
                                " memsets; at most %d are possible",
                                event->id, event->aux, GEMEM_GRAPH_MEMSETS_MAX);
  if (!do_run (run, event, error))
    return FALSE;
  state = gemem_idmap_lookup (run->graphs.map, event->id);
  if (state == NULL || (*state & GRAPH_SERVED) == 0 || (*state & GRAPH_RUNNING) == 0
      || gemem_device_is_real (run->device))
    return TRUE;
  charged = run->device->call_time;
  for (guint64 i = 0; i < event->aux; i++)
    gemem_device_memset (run->device, G_MAXUINT64, 0,
                         event->size / event->aux + (i < event->size % event->aux), event->stream);
  run->modelled_ns += run->device->call_time - charged;
  return TRUE;
}

static gboolean
do_unload (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const guint64 charged = run->device->call_time;
  const GememTraceEvent block = about_block (event);
  guint64 state;

  if (!gemem_idmap_remove (run->graphs.map, event->id, &state))
    return gemem_run_bad_event (
        run, error, "graph %" G_GUINT64_FORMAT " is unloaded but not loaded", event->id);
  if (run->klass->graphs.load == NULL)
    return gemem_block_free (run, &block, TRUE, error);
  if ((state & GRAPH_SERVED) == 0)
    return TRUE;
  run->klass->graphs.unload (run->allocator, event->id);
  account (run, event, NULL, charged);
  return TRUE;
}

gboolean
gemem_run_no_load_is_open (GememRun *run, GError **error)
{
  const guint64 missing = run->graphs.missing;

  run->graphs.missing = 0;
  return missing == 0
         || gemem_run_bad_event (run, error,
                                 "the load of graph %" G_GUINT64_FORMAT " lacks %" G_GUINT64_FORMAT
                                 " of its segments",
                                 run->graphs.load.id, missing);
}

gboolean
gemem_run_graph (GememRun *run, const GememTraceEvent *event, GError **error)
{
  if (event->kind == GEMEM_EVENT_GRAPH_SEGMENT)
    return do_segment (run, event, error);
  if (!gemem_run_no_load_is_open (run, error))
    return FALSE;
  if (event->kind == GEMEM_EVENT_GRAPH_LOAD)
    return do_load (run, event, error);
  if (event->kind == GEMEM_EVENT_GRAPH_RUN && event->aux > 0)
    return do_clearing_run (run, event, error);
  return event->kind == GEMEM_EVENT_GRAPH_UNLOAD ? do_unload (run, event, error)
                                                 : do_run (run, event, error);
}

/* ---- the end */

void
gemem_run_unload_all (GememRun *run)
{
  g_autoptr (GArray) ids = g_array_new (FALSE, FALSE, sizeof (guint64));
  gsize position = 0;
  gpointer state;
  guint64 id;

  while (gemem_idmap_next (run->graphs.map, &position, &id, &state))
    if ((*(const guint64 *) state & GRAPH_SERVED) != 0)
      g_array_append_val (ids, id);
  gemem_idmap_clear (run->graphs.map);
  run->graphs.missing = 0;
  if (run->klass->graphs.load == NULL)
    return; /* the graphs are ordinary blocks, released as such */
  g_array_sort (ids, gemem_compare_uint64);
  for (guint i = 0; i < ids->len; i++)
    run->klass->graphs.unload (run->allocator, g_array_index (ids, guint64, i));
  gemem_accounts_set_graphs (&run->accounts, 0);
}
