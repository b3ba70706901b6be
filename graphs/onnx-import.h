/* onnx-import.h - names of an ONNX model, their values and shapes (onnx-values.c), for onnx.c. */
#pragma once

#include "graphs/dims.h"
#include "graphs/graph.h"

#define GEMEM_PROTO_LIST "graphs/onnx.def"
#include "base/io/proto-list.h"

/* The value of a name. */
typedef struct
{
  const char *node; /* NULL: a variable */
  guint32 number;   /* output of `node`, or variable */
  GError *unsized;  /* why its size is unknown, an error once it is read; NULL: known */
} OnnxValue;

typedef struct
{
  GememGraph *graph;
  char *where;
  GHashTable *types;     /* name -> OnnxType, of the model */
  GHashTable *values;    /* name -> OnnxValue */
  GPtrArray *typed;      /* keys of `types`, for removal */
  GPtrArray *valued;     /* keys of `values` */
  GHashTable *names;     /* names of nodes */
  GArray *dims;          /* gint64, of the last shape */
  GememGraphDims *given; /* numbers of dimensions that are names, or NULL */
  guint32 block;         /* block to which new nodes belong */
  guint64 strings;       /* number of tensors of strings */
  guint64 unsized;       /* number of outputs without a shape that are never read */
} OnnxImport;

/* Sets the error "WHERE: ..."; returns FALSE. */
gboolean gemem_onnx_fail (const OnnxImport *import, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static inline const char *
onnx_text (const char *text)
{
  return text != NULL ? text : "";
}

/* The last shape, as an array that is never NULL. */
const gint64 *gemem_onnx_dims (const OnnxImport *import);
/* Reads the shape of the tensor @name into import->dims. */
gboolean gemem_onnx_take_shape (OnnxImport *import, const char *name, GememDtype *dtype,
                                GError **error);
void gemem_onnx_add_type (OnnxImport *import, const OnnxValueInfo *info);

/* Declares @name, which must be new, as output @number of @node, or variable @number.  @unsized
 * (owned): the error if it is read. */
gboolean gemem_onnx_add_value (OnnxImport *import, const char *name, const char *node,
                               guint32 number, GError *unsized, GError **error);
void gemem_onnx_free_value (gpointer value);
/* Adds a persistable variable of the last shape. */
gboolean gemem_onnx_add_variable (OnnxImport *import, const char *name, GememDtype dtype,
                                  GError **error);
/* Adds a weight; @header: an initializer, or the content of a Constant. */
gboolean gemem_onnx_add_weight (OnnxImport *import, const char *name, const OnnxTensor *header,
                                GError **error);

/* Adds an input or output to the last node.  @name NULL or "": unconnected, or omitted.  An output
 * without a shape counts as 0 bytes and is an error only where a node reads it. */
gboolean gemem_onnx_add_input (const OnnxImport *import, const char *name, GError **error);
gboolean gemem_onnx_add_output (OnnxImport *import, const char *name, guint32 number,
                                const char *node, GError **error);
