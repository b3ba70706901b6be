/* ge-runtime-private.h - the second pass over a log of GE's run time, for ge-runtime-log.c and ge-runtime-static.c. */
#pragma once

#include "traces/ge-runtime-survey.h"
#include "traces/line-reader.h"

/* A block that is live. */
typedef struct
{
  guint64 id, size, stream;
} GeLive;

/* Segments of the static graph that is being loaded. */
typedef struct
{
  GArray  *segments; /* GememTraceEvent                              */
  guint64  end;
  gboolean placed;   /* they are as placed: better ones may follow   */
} GeListing;

typedef struct
{
  GememLineReader lines;
  GeSurvey        survey;
  GPtrArray      *spaces;      /* GememIdMap: address -> GeLive; of a process on a device */
  GememIdMap     *space_index; /* process, device -> index                       */
  GeListing      *listings;    /* of each process                                */
  GememIdMap     *graphs;      /* process, number -> id                          */
  GememIdMap     *sent;        /* process, event                                 */
  GString        *scratch;
  guint64         last_id, last_graph;
  guint           refusals;    /* lines so far                                   */
  guint64         late, unknown, replaced, sizeless; /* for the notes            */
} GeLog;

/* Where a line belongs. */
typedef struct
{
  const GeLine    *line;
  guint            index; /* of the process */
  const GeProcess *process;
  guint32          device;
  guint64          stream;
} GePlace;

/* An event of this kind and line, with its time. */
GememTraceEvent *gemem_ge_runtime_add (GeLog *log, GememEventKind kind, const GeLine *line, guint32 device);

static inline gboolean
skip (GeLog *log)
{
  log->lines.base.info.skipped++;
  return TRUE;
}

/* LOGICAL and GRAPH lines. */
gboolean gemem_ge_runtime_logical (GeLog *log, const GePlace *place);
gboolean gemem_ge_runtime_graph (GeLog *log, const GePlace *place);
