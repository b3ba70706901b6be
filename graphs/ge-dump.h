/* ge-dump.h - the contents of a GE dump before it becomes a graph: the parse of ge-dump.c
 * (ge-static.md 11.1). */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"
#include "graphs/dtype.h"

/* An attribute as written: its numbers (and flags, 0 or 1) and its strings, in order. */
typedef struct
{
  const char *name;
  GArray *ints;     /* gint64 */
  GPtrArray *texts; /* const char * */
} GeDumpAttribute;

typedef struct
{
  GememDtype dtype;
  gboolean has_size, has_shape, reuse_input;
  gint64 size, reuse_input_index;
  GArray *dims;          /* gint64 */
  GPtrArray *attributes; /* GeDumpAttribute */
} GeDumpOutput;

typedef struct
{
  const char *name, *type;
  gint64 id, stream;     /* id: -1 if there is none */
  GPtrArray *inputs;     /* const char *: "PRODUCER:OUTPUT", -1 for a control edge, "" for none */
  GArray *workspaces;    /* gint64 */
  GArray *parents;       /* gint64: `_parent_node_index` of the inputs, -1 for none */
  gboolean has_parents;  /* an input has a parent */
  GPtrArray *attributes; /* GeDumpAttribute */
  GPtrArray *outputs;    /* GeDumpOutput */
  GPtrArray *subgraphs;  /* const char * */
} GeDumpOp;

typedef struct
{
  const char *name;
  GPtrArray *ops;        /* GeDumpOp */
  GPtrArray *attributes; /* GeDumpAttribute */
} GeDumpGraph;

typedef struct
{
  GStringChunk *strings;
  GPtrArray *graphs; /* GeDumpGraph, in file order */
} GeDump;

/* The dump at the start of @input (a ModelDef or a GraphDef); stops before a log that may follow.
 * Fields that are not needed are skipped.  Errors: GEMEM_ERROR_INPUT. */
GeDump *gemem_ge_dump_parse (GememInput *input, GError **error);
void gemem_ge_dump_free (GeDump *dump);

/* ---- the log after the dump (ge-dump-log.c) */

/* The log's data about a node. */
typedef struct
{
  gint64 id, stream, own_stream; /* stream: effective */
} GeDumpLogged;

/* The planner's lines about graph @name in the rest of @input: node name, as the log cuts it ->
 * GeDumpLogged; names that the log cannot distinguish are left out.  *log is NULL if there are no
 * lines.  Errors: GEMEM_ERROR_INPUT: the lines are of other graphs only. */
gboolean gemem_ge_dump_read_log (const GeDump *dump, GememInput *input, const char *name,
                                 GHashTable **log, GError **error);
/* NULL if the log has no data about @name; @log may be NULL. */
const GeDumpLogged *gemem_ge_dump_find_logged (GHashTable *log, const char *name);

/* ---- the order of operators (ge-dump-order.c) */

/* One graph of the dump while it is merged into another. */
typedef struct
{
  const GeDumpGraph *graph;
  GHashTable *numbers; /* name -> number + 1 of the operator */
  GPtrArray *names;    /* in the result, by number */
  GArray *keys;        /* gint64: position in the order */
} GeDumpPart;

static inline const GeDumpOp *
ge_dump_op (const GeDumpPart *part, guint number)
{
  return (const GeDumpOp *) g_ptr_array_index (part->graph->ops, number);
}

/* Splits "PRODUCER:OUTPUT" into the number of the producer (G_MAXUINT32: not in @part) and the
 * output (-1: control edge); FALSE: malformed. */
gboolean gemem_ge_dump_split_input (const GeDumpPart *part, const char *input, guint *number,
                                    gint64 *output);
/* The operators by key, none before those it waits for; operators on a cycle come last.  GArray of
 * guint.  O((operators + edges) log operators). */
GArray *gemem_ge_dump_order (const GeDumpPart *part);
