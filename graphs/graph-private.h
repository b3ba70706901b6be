/* graph-private.h - the arrays of a graph, shared by graph.c (building, reading) and seal.c
 * (connecting, checking). */
#pragma once

#include "graphs/graph.h"

typedef struct
{
  guint16 key;
  guint32 n;
  guint32 at; /* index in `values` or `texts`, by kind */
} GememAttribute;

/* A connection by name, until seal(). */
typedef struct
{
  const char *name; /* NULL: none */
  guint32 index;
} GememWanted;

struct _GememGraph
{
  gint references; /* atomic */
  gboolean sealed, dynamic_root, attributes_of_output;
  int release_first;
  const char *name;
  const char *duplicate; /* the first node name given twice */
  GStringChunk *strings;
  GPtrArray *settings, *provenance;
  GArray *nodes, *tensors, *inputs, *workspaces, *variables, *blocks, *consumers, *controls,
      *successors, *dims;
  GArray *attributes, *values, *texts;
  GArray *wanted_inputs, *wanted_controls, *wanted_consumers; /* NULL once sealed */
  GHashTable *node_index, *variable_index;
};
