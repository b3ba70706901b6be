/* json-node.h - nodes of our JSON graph format, and the reader's state shared with the rest of the
 * document: variables, shapes and sizes. */
#pragma once

#include "graphs/json.h"

typedef struct
{
  const char *where; /* "FILE" */
  guint32 node;      /* the current node */
  GememGraph *graph;
  GememJsonTree *tree;
  GArray *users;    /* guint32 by variable: the first node that uses it, or LISTED, GRADIENT */
  GArray *ints;     /* gint64, scratch: the last shape or list */
  GPtrArray *texts; /* scratch */
} GememGraphJsonReader;

/* Shape, dtype and size of variables and outputs; absent fields are 0. */
typedef struct
{
  guint64 size;
  GememDtype dtype;
  gboolean has_shape; /* its dims are in `ints` */
} GememGraphJsonExtent;

/* The number of a variable, which may be listed later. */
guint32 gemem_graph_json_use_variable (GememGraphJsonReader *reader, const char *name);
/* Reads the fields at these entries of the tree; an entry of 0 means absent. */
gboolean gemem_graph_json_read_extent (GememGraphJsonReader *reader, guint32 size, guint32 shape,
                                       guint32 dtype, GememGraphJsonExtent *extent, GError **error);
/* The content of `ints`, never NULL. */
const gint64 *gemem_graph_json_ints (const GememGraphJsonReader *reader);

/* Adds the node in the tree, the @position-th of the file. */
gboolean gemem_graph_json_read_node (GememGraphJsonReader *reader, guint32 position,
                                     GError **error);
