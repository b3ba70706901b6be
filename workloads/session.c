/* session.c - see session.h. */
#include "config.h"

#include "workloads/session.h"

#define LARGEST (G_GUINT64_CONSTANT (1) << 60)
#define PIECE 64 /* runs of a turn that are in memory at a time */

/* ---- a graph */

GememStaticGraph *
gemem_static_graph_new (const char *name, guint64 run_time)
{
  const GememTraceEvent load = { .kind = GEMEM_EVENT_GRAPH_LOAD };
  GememStaticGraph *graph = g_new0 (GememStaticGraph, 1);

  graph->name = g_strdup (name);
  graph->run_time = run_time;
  graph->load = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  g_array_append_val (graph->load, load);
  return graph;
}

void
gemem_static_graph_free (GememStaticGraph *graph)
{
  g_array_unref (graph->load);
  g_free (graph->name);
  g_free (graph);
}

gboolean
gemem_static_graph_add (GememStaticGraph *graph, guint64 size, guint32 flags)
{
  const GememTraceEvent segment = {
    .kind = GEMEM_EVENT_GRAPH_SEGMENT, .address = graph->end, .size = size, .aux = flags
  };
  GememTraceEvent *load;

  if (size == 0)
    return TRUE;
  if (size >= LARGEST - graph->end)
    return FALSE;
  g_array_append_val (graph->load, segment);
  load = &g_array_index (graph->load, GememTraceEvent, 0);
  load->aux++;
  graph->end += size;
  if ((flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0)
    load->size = graph->end;
  return TRUE;
}

/* ---- a turn */

static void
load (GememSession *session, guint graph)
{
  GArray *events = ((GememStaticGraph *) session->graphs->pdata[graph])->load;

  for (guint i = 0; i < events->len; i++)
    {
      g_array_index (events, GememTraceEvent, i).time = session->parent.time;
      g_array_append_val (session->parent.events, g_array_index (events, GememTraceEvent, i));
    }
  session->is_loaded[graph] = TRUE;
}

static void
unload (GememSession *session, guint graph)
{
  if (!session->is_loaded[graph])
    return;
  if (session->params.asynchronous)
    gemem_events_mark (&session->parent, GEMEM_EVENT_STREAM_SYNC, 0);
  gemem_events_mark (&session->parent, GEMEM_EVENT_GRAPH_UNLOAD, graph + 1);
  session->is_loaded[graph] = FALSE;
}

static void
run (GememSession *session, guint graph)
{
  const GememStaticGraph *of = session->graphs->pdata[graph];
  GememTraceEvent *event;

  gemem_events_mark (&session->parent, GEMEM_EVENT_GRAPH_RUN, graph + 1);
  event = &g_array_index (session->parent.events, GememTraceEvent, session->parent.events->len - 1);
  event->size = of->cleared;
  event->aux = of->memsets;
  if (session->during != NULL)
    session->during (session);
  session->parent.time += of->run_time;
  if (!session->params.asynchronous)
    gemem_events_mark (&session->parent, GEMEM_EVENT_GRAPH_RUN_END, graph + 1);
}

static void
begin_turn (GememSession *session)
{
  const guint n = session->graphs->len, graph = session->turn;

  if (session->before != NULL)
    session->before (session);
  if (n == 0)
    return;
  if (!session->is_loaded[graph])
    {
      /* The graph loaded `loaded` turns ago is unloaded. */
      if (session->params.loaded > 0 && session->params.loaded < n)
        unload (session, (guint) ((graph + n - session->params.loaded) % n));
      load (session, graph);
    }
}

/* The next runs of a turn; FALSE: more follow. */
static gboolean
run_some (GememSession *session)
{
  if (session->graphs->len == 0)
    return TRUE;
  for (guint n = 0; n < PIECE && session->runs < session->params.runs; n++, session->runs++)
    run (session, session->turn);
  if (session->runs < session->params.runs)
    return FALSE;
  session->runs = 0;
  return TRUE;
}

static void
finish (GememSession *session)
{
  if (session->end != NULL)
    session->end (session);
  for (guint i = 0; i < session->graphs->len; i++)
    unload (session, i);
}

static gboolean
fill (GememGeneratorReader *parent)
{
  GememSession *session = (GememSession *) parent;

  if (session->step > session->params.steps)
    return FALSE;
  if (session->runs == 0)
    {
      if (session->turn == 0)
        gemem_events_mark (parent, GEMEM_EVENT_STEP, session->step);
      begin_turn (session);
    }
  if (!run_some (session))
    return TRUE;
  if (++session->turn >= session->graphs->len)
    {
      session->turn = 0;
      session->step++;
    }
  if (session->step > session->params.steps)
    finish (session);
  return TRUE;
}

/* ---- opening and closing */

static void
free_parts (GememGeneratorReader *parent)
{
  GememSession *session = (GememSession *) parent;

  if (session->free_parts != NULL)
    session->free_parts (session);
  g_ptr_array_unref (session->graphs);
  g_free (session->is_loaded);
}

gpointer
gemem_session_new (gsize size, GPtrArray *graphs, const GememSessionParams *params)
{
  GememSession *session = gemem_generator_reader_new (size, fill, free_parts);

  session->params = *params;
  session->graphs = graphs;
  session->is_loaded = g_new0 (guint8, graphs->len);
  session->step = 1;
  g_ptr_array_set_free_func (graphs, (GDestroyNotify) gemem_static_graph_free);
  for (guint i = 0; i < graphs->len; i++)
    {
      const GememStaticGraph *graph = graphs->pdata[i];

      for (guint e = 0; e < graph->load->len; e++)
        g_array_index (graph->load, GememTraceEvent, e).id = i + 1;
      g_array_index (graph->load, GememTraceEvent, 0).tag = gemem_trace_info_intern (
          &session->parent.parent.info, graph->name);
    }
  return session;
}
