/* json-node.h - nodes of our JSON graph format, and what a node shares with the document around it:
 * the state of the reader, variables, shapes and sizes. */
#pragma once

#include "graphs/json.h"

typedef struct
{
  const char *where; /* "FILE" */
  guint32 node;      /* the one being read */
  GememGraph *graph;
  GememJsonTree *tree;
  GArray *users; /* guint32 by variable: the first node that uses it, or that the file lists it */
  GArray *ints;  /* gint64, scratch: the last shape or list */
  GPtrArray *texts; /* scratch */
} GememGraphJsonReader;

/* Shape, dtype and size, as variables and outputs have them: what is missing is 0. */
typedef struct
{
  guint64 size;
  GememDtype dtype;
  gboolean has_shape; /* its dims are in `ints` */
} GememGraphJsonExtent;

/* The number of a variable that may be listed later. */
guint32 gemem_graph_json_use_variable (GememGraphJsonReader *reader, const char *name);
/* Reads the fields at these entries of the tree, 0 for those that are missing. */
gboolean gemem_graph_json_read_extent (GememGraphJsonReader *reader, guint32 size, guint32 shape,
                                       guint32 dtype, GememGraphJsonExtent *extent, GError **error);
/* The content of `ints`, never NULL. */
const gint64 *gemem_graph_json_ints (const GememGraphJsonReader *reader);

/* Adds the node that is in the tree, the @position-th of the file. */
gboolean gemem_graph_json_read_node (GememGraphJsonReader *reader, guint32 position,
                                     GError **error);
