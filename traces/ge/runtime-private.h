/* runtime-private.h - the second pass over a log of GE's run time, for runtime-log.c and
 * runtime-static.c. */
#pragma once

#include "traces/ge/runtime-survey.h"
#include "traces/log-reader.h"

/* Segments of the static graph being loaded. */
typedef struct
{
  GArray *segments; /* GememTraceEvent */
  guint64 end;
  gboolean placed; /* the addresses are known; a better listing may follow */
} GeListing;

typedef struct
{
  GememLogReader base;
  GeSurvey survey;
  GPtrArray *spaces;       /* for each process and device: address -> live block */
  GememIdMap *space_index; /* process, device -> index */
  GeListing *listings;     /* by process */
  GememIdMap *graphs;      /* process, number -> id */
  GememIdMap *sent;        /* process, event */
  GString *scratch;
  guint64 last_graph;
  guint64 sizeless; /* refused requests of unknown size */
  guint refusals;   /* REFUSED lines so far */
} GeLog;

/* A line with its process, device and stream. */
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
