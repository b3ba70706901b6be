/* format.h - reading and writing graphs: the list of formats (formats.def) and opening by content.
 *
 * A format is one file and one line in formats.def.  Readers hold little beside the returned graph.
 * Hostile input gives an error, never a crash; memory is in proportion to the file.
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"
#include "base/named.h"
#include "graphs/dims.h"
#include "graphs/graph.h"
#include <gio/gio.h>

GEMEM_BEGIN_DECLS

/* Ends the message about a graph without nodes, which gemem_graph_open_input() always refuses. */
#define GEMEM_GRAPH_WITHOUT_NODES \
  "the graph has no nodes, so there is nothing to run or plan; check what wrote the file"

typedef struct
{
  GememNamed base;        /* no parameters */
  const char *extensions; /* "json", a hint only */
  const char *assumed; /* the allocator of the system that has such graphs; NULL: it is not known */
  /* Confidence 0..100 that @head (the first decompressed bytes, up to 4096) is this format. */
  int (*probe) (const guint8 *head, gsize size);
  /* A sealed graph.  @index: which graph of a file that holds several (JSON lines); 0 the first.
   * @dims: numbers of dimensions that the file leaves open, or NULL.
   * Errors: GEMEM_ERROR_INPUT "FILE:LINE or node 'X': field: what". Does not close @input. */
  GememGraph *(*read) (GememInput *input, guint index, GememGraphDims *dims, GError **error);
  /* NULL for read-only formats. */
  gboolean (*write) (const GememGraph *graph, GString *out, GError **error);
} GememGraphFormat;

const GememGraphFormat *const *gemem_graph_formats (void); /* NULL-terminated */
/* By name; GEMEM_ERROR_USAGE with a suggestion. */
const GememGraphFormat *gemem_graph_format_find (const char *name, GError **error);
/* "a, b, c"; caller frees. */
char *gemem_graph_format_names (void);
/* The format of the file at @path by its content, or NULL (no error) when it is no graph. */
const GememGraphFormat *gemem_graph_format_probe (const char *path);

/* The file of "PATH#N" (an existing file of that whole name is preferred), and its N, else 0, in
 * @index (may be NULL); caller frees. */
char *gemem_graph_file (const char *path, guint *index);

/* Opens "PATH" or "PATH#N" (the N-th graph of the file, from 0); gz and zst are transparent. */
GememGraph *gemem_graph_open (const char *path, const char *format, GError **error);
/* The same from @input, of which it takes ownership. */
GememGraph *gemem_graph_open_input (GememInput *input, const char *format, guint index,
                                    GError **error);
/* The same with numbers for dimensions that the file leaves open; GEMEM_ERROR_USAGE if it has none of a name. */
GememGraph *gemem_graph_open_with (GememInput *input, const char *format, guint index,
                                   GememGraphDims *dims, GError **error);
/* Saves as our JSON, readable by gemem_graph_open(); atomically. */
gboolean gemem_graph_save (const GememGraph *graph, const char *path, GError **error);

/* What an output writes instead: a variable of the graph, or where `name` is not NULL a new one of
 * that name, which is the same for all outputs with the name and no variable of the graph. */
typedef struct
{
  const char *name;
  guint32 variable; /* or GEMEM_NONE */
} GememGraphNewVariable;

/* Appends @graph as our own JSON with outputs that write other variables: @variables has one per
 * tensor. */
void gemem_graph_json_write_renamed (const GememGraph *graph,
                                     const GememGraphNewVariable *variables, GString *out);

GEMEM_END_DECLS
