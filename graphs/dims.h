/* dims.h - numbers for the dimensions that a graph leaves open: "batch" of an ONNX model, -1 of a PaddlePaddle program.
 *
 * Why: exporters leave the batch open, and memory follows from it; whoever asks for the memory knows it.
 *
 * Invariants: a name is given once; which of them a file has is known once the file has been read.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememGraphDims GememGraphDims;

/* From @texts, "NAME=N" each, up to NULL.  NULL with GEMEM_ERROR_USAGE.  gemem_graph_dims_free(). */
GememGraphDims *gemem_graph_dims_new (char **texts, GError **error);
void gemem_graph_dims_free (GememGraphDims *dims);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememGraphDims, gemem_graph_dims_free)

/* TRUE with the number of @name.  @dims NULL: there is none. */
gboolean gemem_graph_dims_find (GememGraphDims *dims, const char *name, gint64 *value);
/* GEMEM_ERROR_USAGE if a name was not asked for since this was last called, so that @path does not have it. */
gboolean gemem_graph_dims_check (GememGraphDims *dims, const char *path, GError **error);

GEMEM_END_DECLS
