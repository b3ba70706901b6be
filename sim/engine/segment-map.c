/* segment-map.c - the probe of the pass that takes the segment map, and what lies idle: the layout of
 * memory after one event, at which the pass ends.
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
  probe->taken = run->stop = TRUE;
  if (run->job->keep_map)
    take_map (probe, run, run->result->map);
  if (run->job->keep_idle)
    gemem_idle_keep (run, probe->stream, probe->pool);
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
  map->stream = event->stream;
  map->pool = event->pool;
  if (run->seq == run->map_seq)
    take (map, run);
  return TRUE;
}

static void
gather (GememProbe *probe, GememRun *run)
{
  if (run->seq > run->map_seq)
    take ((MapProbe *) probe, run);
}

const GememProbeClass gemem_map_probe = {
  .size = sizeof (MapProbe),
  .wanted = wanted,
  .before = before,
  .after = after,
  .gather = gather,
};
