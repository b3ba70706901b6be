/* ge-runtime-private.h - the second pass over a log of GE's run time, for ge-runtime-log.c and
 * ge-runtime-static.c. */
#pragma once

#include "traces/ge-runtime-survey.h"
#include "traces/log-reader.h"

/* Segments of the static graph that is being loaded. */
typedef struct
{
  GArray *segments; /* GememTraceEvent */
  guint64 end;
  gboolean placed; /* they are as placed: better ones may follow */
} GeListing;

typedef struct
{
  GememLogReader base;
  GeSurvey survey;
  GPtrArray *spaces;       /* blocks by address, of a process on a device */
  GememIdMap *space_index; /* process, device -> index */
  GeListing *listings;     /* of each process */
  GememIdMap *graphs;      /* process, number -> id */
  GememIdMap *sent;        /* process, event */
  GString *scratch;
  guint64 last_graph;
  guint64 sizeless; /* refused requests whose size is not told */
  guint refusals;   /* lines so far */
} GeLog;

/* Where a line belongs. */
typedef struct
{
  const GeLine *line;
  guint index; /* of the process */
  const GeProcess *process;
  guint32 device;
  guint64 stream;
} GePlace;

/* LOGICAL and GRAPH lines. */
gboolean gemem_ge_runtime_logical (GeLog *log, const GePlace *place);
gboolean gemem_ge_runtime_graph (GeLog *log, const GePlace *place);
