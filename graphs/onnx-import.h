/* onnx-import.h - names of an ONNX model, what they stand for, and their shapes (onnx-values.c),
 * for onnx.c. */
#pragma once

#include "graphs/graph.h"
#include "graphs/onnx.pb-c.h"

/* What a name stands for. */
typedef struct
{
  const char *node; /* NULL: a variable */
  guint32 number;   /* output of `node`, or variable */
  GError *unsized;  /* why its size is not known, an error once it is read; NULL: it is known */
} OnnxValue;

typedef struct
{
  GememGraph *graph;
  char *where;
  GHashTable *types;  /* name -> Onnx__TypeProto, of the model */
  GHashTable *values; /* name -> OnnxValue */
  GPtrArray *typed;   /* keys of `types`, to take them back */
  GPtrArray *valued;  /* keys of `values` */
  GHashTable *names;  /* names of nodes */
  GArray *dims;       /* gint64, of the last shape */
  guint32 block;      /* that new nodes belong to */
  guint64 strings;    /* tensors of strings */
  guint64 unsized;    /* outputs without a shape that are never read */
} OnnxImport;

/* "WHERE: ..."; returns FALSE. */
gboolean onnx_fail (const OnnxImport *import, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static inline const char *
onnx_text (const char *text)
{
  return text != NULL ? text : "";
}

/* The last shape, as an array that is never NULL. */
const gint64 *onnx_dims (const OnnxImport *import);
/* Shape of the tensor @name into import->dims. */
gboolean onnx_take_shape (OnnxImport *import, const char *name, GememDtype *dtype, GError **error);
void onnx_add_type (OnnxImport *import, const Onnx__ValueInfoProto *info);

/* @name, which must be new, is output @number of @node, or variable @number.  @unsized (taken
 * over): the error if it is read. */
gboolean onnx_add_value (OnnxImport *import, const char *name, const char *node, guint32 number,
                         GError *unsized, GError **error);
void onnx_free_value (gpointer value);
/* A variable that persists, of the last shape. */
gboolean onnx_add_variable (OnnxImport *import, const char *name, GememDtype dtype, GError **error);
/* @header: an initializer, or the content of a Constant. */
gboolean onnx_add_weight (OnnxImport *import, const char *name, const Onnx__TensorProto *header,
                          GError **error);

/* To the last node: an input, an output.  @name NULL or "": one that is not connected, that is left
 * out.  An output without a shape counts as no bytes and is an error only where something reads
 * it. */
gboolean onnx_add_input (const OnnxImport *import, const char *name, GError **error);
gboolean onnx_add_output (OnnxImport *import, const char *name, guint32 number, const char *node,
                          GError **error);
