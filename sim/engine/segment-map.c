/* segment-map.c - the probe of the pass that takes the segment map, and what lies idle: the layout of
 * memory after one event, at which the pass ends, unless it is asked which blocks are freed last.
 *
 * The event may be one of another device: then the latest of this one before it counts. */
#include "config.h"

#include "sim/engine/engine-private.h"
#include "sim/engine/idle.h"

typedef struct
{
  GememProbe base;
  guint64 stream; /* of the latest event, */
  guint32 pool;   /* and its pool */
  gboolean taken;
  GememPins *pins; /* whose last blocks are looked for once it is taken; NULL: nobody asks */
} MapProbe;

static void
take_map (const MapProbe *probe, GememRun *run, GArray *out)
{
  g_autoptr (GArray) spans = gemem_spans_of (run->allocator);
  g_autoptr (GArray) rows = gemem_live_rows (&run->live, FALSE);
  g_autoptr (GArray) causes = gemem_idle_causes (run, probe->stream, probe->pool, spans, rows);

  g_array_set_size (out, 0);
  for (guint i = 0; i < spans->len; i++)
    {
      GememMapSpan entry = { .span = g_array_index (spans, GememSpan, i),
                             .cause = g_array_index (causes, GememIdleCause, i) };
      const guint64 address = gemem_span_user (&entry.span);
      const GememLiveRow *row = gemem_live_row_from (rows, address);

      if (entry.span.state == GEMEM_SPAN_LIVE && row != NULL && row->address == address)
        {
          entry.requested = row->live->requested;
          entry.id = row->id;
          entry.origin = gemem_origins_of_block (run, row->id);
        }
      g_array_append_val (out, entry);
    }
}

static void
take (MapProbe *probe, GememRun *run)
{
  if (probe->taken)
    return;
  probe->taken = TRUE;
  if (run->job->keep_map)
    take_map (probe, run, run->result->map);
  if (run->job->keep_pins)
    probe->pins = gemem_pins_new ();
  if (run->job->keep_idle)
    gemem_idle_keep (run, probe->stream, probe->pool, probe->pins);
  run->stop |= probe->pins == NULL;
}

/* Whether @event ends the life of its block. */
static gboolean
ends_block (const GememRun *run, const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_COMPLETED
         || event->kind == GEMEM_EVENT_GRAPH_UNLOAD
         || (event->kind == GEMEM_EVENT_FREE_REQUESTED && run->klass->streams.complete == NULL);
}

static gboolean
wanted (const GememRun *run)
{
  return run->map_seq != G_MAXUINT64;
}

static void
before (GememProbe *probe, GememRun *run, const GememTraceEvent *event)
{
  (void) event;
  if (run->seq > run->map_seq)
    take ((MapProbe *) probe, run);
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  MapProbe *map = (MapProbe *) probe;

  (void) error;
  if (map->pins != NULL && ends_block (run, event))
    gemem_pins_free_block (map->pins, event->id);
  map->stream = event->stream;
  map->pool = event->pool;
  if (run->seq == run->map_seq)
    take (map, run);
  run->stop |= map->pins != NULL && !gemem_pins_wait (map->pins);
  return TRUE;
}

/* What lives to the end of the trace is never freed, though an epoch frees it before the next. */
static gboolean
end_epoch (GememProbe *probe, GememRun *run, GError **error)
{
  (void) error;
  run->stop |= ((MapProbe *) probe)->taken;
  return TRUE;
}

static void
gather (GememProbe *probe, GememRun *run)
{
  MapProbe *map = (MapProbe *) probe;

  if (run->seq > run->map_seq)
    take (map, run);
  if (map->pins != NULL)
    gemem_pins_gather (map->pins, run->result->pins);
}

static void
shut_down (GememProbe *probe, GememRun *run)
{
  (void) run;
  g_clear_pointer (&((MapProbe *) probe)->pins, gemem_pins_free);
}

const GememProbeClass gemem_map_probe = {
  .size = sizeof (MapProbe),
  .wanted = wanted,
  .before = before,
  .after = after,
  .end_epoch = end_epoch,
  .gather = gather,
  .shut_down = shut_down,
};
