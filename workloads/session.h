/* session.h - a session of static graphs as a trace: graphs are loaded, run in turn, and unloaded.
 *
 * A STATIC GRAPH is what the run time sees of a compiled graph: its static memory, cut into
 * segments (ge-runtime.md 3.2).  In every step each graph has its turn: it is loaded unless it is
 * loaded (at the limit of loaded graphs, the one loaded longest is unloaded first), runs, and stays
 * loaded.  A run is synchronous (GRAPH_RUN_END: the host waited for it) or not; the host waits for
 * its stream before it unloads a graph that may still run.  At the end all graphs are unloaded.  A
 * variant adds its own events before a run and during it (`before`, `during`).
 *
 * Memory: the graphs and the events of a few runs.  Cost: O(1) per event.  Origin: ge-runtime.md 3,
 * 7.
 */
#pragma once

#include "base/macros.h"
#include "workloads/generator-reader.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  char *name;
  GArray *load;     /* GememTraceEvent: GRAPH_LOAD, then its GRAPH_SEGMENTs */
  guint64 end;      /* end of the last segment */
  guint64 run_time; /* ns of a run */
  guint64 cleared;  /* bytes that a run sets to zero */
  guint64 memsets;  /* in so many memsets */
} GememStaticGraph;

GememStaticGraph *gemem_static_graph_new (const char *name, guint64 run_time);
void gemem_static_graph_free (GememStaticGraph *graph);
/* Appends a segment of @size bytes after the last; @flags: GEMEM_GRAPH_SEGMENT_*.  Empty segments
 * are skipped.  FALSE: 2^60 bytes or more in all. */
gboolean gemem_static_graph_add (GememStaticGraph *graph, guint64 size, guint32 flags);

typedef struct
{
  guint64 steps;         /* turns of every graph */
  guint64 runs;          /* consecutive runs in each turn */
  guint64 loaded;        /* maximum number of graphs loaded at once; 0: all */
  gboolean asynchronous; /* the host never waits for a run */
} GememSessionParams;

typedef struct _GememSession GememSession;
struct _GememSession
{
  GememGeneratorReader parent;
  GememSessionParams params;
  GPtrArray *graphs; /* GememStaticGraph; without graphs a step is one turn with nothing to run */
  guint8 *is_loaded; /* by graph */
  guint64 step;      /* from 1 */
  guint turn;        /* in the step: number of the next graph */
  guint64 runs;      /* in the turn, made so far; 0: it has not begun */
  void (*before) (GememSession *session); /* before the runs of a turn, or NULL */
  void (*during) (GememSession *session); /* in every run, or NULL */
  /* after the last turn, before the graphs are unloaded, or NULL */
  void (*end) (GememSession *session);
  void (*free_parts) (GememSession *session); /* or NULL */
};

/* A zeroed reader of @size bytes (which embeds GememSession first) over @graphs (GememStaticGraph,
 * ownership passes), whose ids are 1, 2, ... in order. */
gpointer gemem_session_new (gsize size, GPtrArray *graphs, const GememSessionParams *params);

GEMEM_END_DECLS
