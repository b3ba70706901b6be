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
  /* guint32 by variable: the first node that uses it, GEMEM_NONE for a gradient, or
   * GEMEM_GRAPH_JSON_LISTED */
  GArray *users;
  GHashTable
      *exact;       /* of gemem_graph_json_use(): references that say the block of their variable */
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

#define GEMEM_GRAPH_JSON_LISTED (G_MAXUINT32 - 1) /* the variable is listed in "variables" */

/* Who refers to a variable. */
typedef enum
{
  GEMEM_GRAPH_JSON_INPUT,
  GEMEM_GRAPH_JSON_TENSOR,
  GEMEM_GRAPH_JSON_GRADIENT,
} GememGraphJsonUser;

/* Reads a reference, "NAME" or {"name": "NAME", "block": N}, of number @index of @user: the number
 * of the variable, which may be listed later.  GEMEM_NONE with @error. */
guint32 gemem_graph_json_use (GememGraphJsonReader *reader, guint32 entry, GememGraphJsonUser user,
                              guint32 index, GError **error);
/* Adds the variable in the tree, the @index-th of the file. */
gboolean gemem_graph_json_read_variable (GememGraphJsonReader *reader, guint32 index,
                                         GError **error);
/* After all nodes: every variable is listed; "NAME" where several have the name becomes that of the
 * nearest block around. */
gboolean gemem_graph_json_bind_variables (GememGraphJsonReader *reader, GError **error);
/* Reads the fields at these entries of the tree; an entry of 0 means absent. */
gboolean gemem_graph_json_read_extent (GememGraphJsonReader *reader, guint32 size, guint32 shape,
                                       guint32 dtype, GememGraphJsonExtent *extent, GError **error);
/* The content of `ints`, never NULL. */
const gint64 *gemem_graph_json_ints (const GememGraphJsonReader *reader);

/* Adds the node in the tree, the @position-th of the file. */
gboolean gemem_graph_json_read_node (GememGraphJsonReader *reader, guint32 position,
                                     GError **error);
