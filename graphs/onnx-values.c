/* onnx-values.c - shapes and names of an ONNX model; see onnx-import.h. */
#include "config.h"

#include "base/error.h"
#include "graphs/onnx-import.h"

/* Indexed by type number; the numbers are part of ONNX. */
static const char *const element_types[] = {
  NULL,
  "float32",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "int32",
  "int64",
  "string",
  "bool",
  "float16",
  "float64",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "bfloat16",
  "float8_e4m3fn",
  "float8_e4m3fnuz",
  "float8_e5m2",
  "float8_e5m2fnuz",
  "uint4",
  "int4",
  "float4_e2m1",
  "float8_e8m0",
  "uint2",
  "int2",
  "float6_e2m3",
  "float6_e3m2",
};

gboolean
gemem_onnx_fail (const OnnxImport *import, GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", import->where, text);
  return FALSE;
}

/* ---- shapes */

static gboolean
take_element_type (OnnxImport *import, const char *name, gint64 number, GememDtype *dtype,
                   GError **error)
{
  if (number <= 0 || (gsize) number >= G_N_ELEMENTS (element_types))
    return gemem_onnx_fail (import, error,
                            "tensor '%s': element type %" G_GINT64_FORMAT
                            " is not known; run shape inference, or update this program",
                            name, number);
  *dtype = gemem_dtype_find (element_types[number]);
  import->strings += gemem_dtype_bits (*dtype) == 0;
  return TRUE;
}

static gboolean
take_dimension (OnnxImport *import, const char *name, guint index, const OnnxDimension *dimension,
                GError **error)
{
  const char *parameter = onnx_text (dimension->dim_param);
  const gsize n = dimension->dim_value.n;
  gint64 value = n > 0 ? dimension->dim_value.at[n - 1] : -1;

  if (*parameter != '\0' && !gemem_graph_dims_find (import->given, parameter, &value))
    return gemem_onnx_fail (
        import, error, "tensor '%s': dimension %u is '%s', not a number; --dim '%s=8' gives it one",
        name, index, parameter, parameter);
  if (value < 0)
    return gemem_onnx_fail (
        import, error,
        "tensor '%s': dimension %u is not known; export the model with fixed shapes "
        "and run shape inference",
        name, index);
  g_array_append_val (import->dims, value);
  return TRUE;
}

gboolean
gemem_onnx_take_shape (OnnxImport *import, const char *name, GememDtype *dtype, GError **error)
{
  const OnnxType *type = g_hash_table_lookup (import->types, name);
  const OnnxTensorType *tensor = type != NULL ? type->tensor_type : NULL;

  g_array_set_size (import->dims, 0);
  if (type != NULL && tensor == NULL)
    return gemem_onnx_fail (
        import, error,
        "tensor '%s': is a sequence, a map, optional or sparse; only dense tensors "
        "have a size that is known",
        name);
  if (tensor == NULL || tensor->shape == NULL)
    return gemem_onnx_fail (import, error,
                            "tensor '%s': has no shape; run shape inference "
                            "(onnx.shape_inference.infer_shapes_path) and read its result",
                            name);
  for (gsize i = 0; i < tensor->shape->dim.n; i++)
    if (!take_dimension (import, name, (guint) i, tensor->shape->dim.at[i], error))
      return FALSE;
  return take_element_type (import, name, tensor->elem_type, dtype, error);
}

const gint64 *
gemem_onnx_dims (const OnnxImport *import)
{
  static const gint64 none;

  return import->dims->len > 0 ? (const gint64 *) (gconstpointer) import->dims->data : &none;
}

static gboolean
take_bytes (const OnnxImport *import, const char *name, GememDtype dtype, guint64 *bytes,
            GError **error)
{
  return gemem_dtype_bytes (dtype, gemem_onnx_dims (import), import->dims->len, bytes)
         || gemem_onnx_fail (import, error,
                             "tensor '%s': more than 2^63 bytes; a dimension is wrong", name);
}

void
gemem_onnx_add_type (OnnxImport *import, const OnnxValueInfo *info)
{
  if (info->name == NULL || info->type == NULL)
    return;
  g_hash_table_insert (import->types, (gpointer) info->name, info->type);
  g_ptr_array_add (import->typed, (gpointer) info->name);
}

/* ---- values */

void
gemem_onnx_free_value (gpointer data)
{
  OnnxValue *value = data;

  g_clear_error (&value->unsized);
  g_free (value);
}

gboolean
gemem_onnx_add_value (OnnxImport *import, const char *name, const char *node, guint32 number,
                      GError *unsized, GError **error)
{
  OnnxValue *value = g_new (OnnxValue, 1);

  *value = (OnnxValue){ node, number, unsized };
  g_ptr_array_add (import->valued, (gpointer) name);
  return g_hash_table_insert (import->values, (gpointer) name, value)
         || gemem_onnx_fail (import, error, "tensor '%s': given twice; names must be unique", name);
}

gboolean
gemem_onnx_add_variable (OnnxImport *import, const char *name, GememDtype dtype, GError **error)
{
  guint64 bytes;
  guint32 variable;

  if (!take_bytes (import, name, dtype, &bytes, error))
    return FALSE;
  /* subgraphs may repeat names */
  variable = gemem_graph_add_own_variable (import->graph, name, dtype, gemem_onnx_dims (import),
                                           import->dims->len, TRUE);
  return gemem_onnx_add_value (import, name, NULL, variable, NULL, error);
}

gboolean
gemem_onnx_add_weight (OnnxImport *import, const char *name, const OnnxTensor *header,
                       GError **error)
{
  GememDtype dtype;

  if (*name == '\0')
    return gemem_onnx_fail (import, error, "there is an initializer without a name; give it one");
  g_array_set_size (import->dims, 0);
  g_array_append_vals (import->dims, header->dims.at, (guint) header->dims.n);
  return take_element_type (import, name, header->data_type, &dtype, error)
         && gemem_onnx_add_variable (import, name, dtype, error);
}

gboolean
gemem_onnx_add_input (const OnnxImport *import, const char *name, GError **error)
{
  const OnnxValue *value;

  if (name == NULL || *name == '\0')
    {
      gemem_graph_add_no_input (import->graph);
      return TRUE;
    }
  value = g_hash_table_lookup (import->values, name);
  if (value == NULL)
    return gemem_onnx_fail (
        import, error,
        "tensor '%s': is read before it is made; nodes must be in an order of execution", name);
  if (value->unsized != NULL)
    {
      g_propagate_error (error, g_error_copy (value->unsized));
      return FALSE;
    }
  if (value->node == NULL)
    gemem_graph_add_variable_input (import->graph, value->number);
  else
    gemem_graph_add_input (import->graph, value->node, value->number);
  return TRUE;
}

gboolean
gemem_onnx_add_output (OnnxImport *import, const char *name, guint32 number, const char *node,
                       GError **error)
{
  GememDtype dtype;
  GError *unsized = NULL;
  guint64 bytes;

  if (name == NULL || *name == '\0') /* omitted; later ones keep their number */
    {
      gemem_graph_add_output (import->graph, 0);
      return TRUE;
    }
  if (gemem_onnx_take_shape (import, name, &dtype, &unsized)
      && take_bytes (import, name, dtype, &bytes, &unsized))
    {
      gemem_graph_add_output (import->graph, bytes);
      gemem_graph_set_shape (import->graph, dtype, gemem_onnx_dims (import), import->dims->len);
    }
  else
    gemem_graph_add_output (import->graph, 0);
  import->unsized += unsized != NULL;
  return gemem_onnx_add_value (import, name, node, number, unsized, error);
}
