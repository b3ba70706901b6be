/* json.h - shared by the graph formats that are JSON: several documents in a file, settings,
 * shapes; and declarations shared by reader and writer of our own format. */
#pragma once

#include "base/io/json-tree.h"
#include "graphs/format.h"

/* Opens document @index of @input, whose BEGIN_OBJECT has been read.  @where: "FILE" or "FILE#3",
 * caller frees.  Free with gemem_json_free(). */
GememJson *gemem_graph_json_begin (GememInput *input, guint index, char **where, GError **error);
/* Call after the END_OBJECT: only another document may follow. */
gboolean gemem_graph_json_end (GememJson *json, GError **error);

/* Which of @keys (at most 31, NULL-terminated) are members of the object at the start of @head: bit
 * i for keys[i].  @format: the value of the member "format", "" if there is none; caller frees. */
guint gemem_graph_json_keys (const guint8 *head, gsize size, const char *const *keys,
                             char **format);

/* Adds @entry to the settings of @graph: true and false become yes and no, lists become "0,1". */
gboolean gemem_graph_json_setting (GememGraph *graph, const GememJsonTree *tree, const char *key,
                                   guint32 entry, GError **error);

/* Reads dims (negative ones: unknown) into @dims, and the dtype by name. */
gboolean gemem_graph_json_shape (const GememJsonTree *tree, guint32 entry, GArray *dims,
                                 GError **error);
gboolean gemem_graph_json_dtype (const GememJsonTree *tree, guint32 entry, GememDtype *dtype,
                                 GError **error);

/* Our own format (doc/graph-format.md). */
#define GEMEM_GRAPH_JSON_NAME "gemem-graph"
#define GEMEM_GRAPH_JSON_VERSION 1

/* json-write.c */
gboolean gemem_graph_json_write (const GememGraph *graph, GString *out, GError **error);
