/* onnx.c - ONNX models: format `onnx`.
 *
 * Nodes are in file order, which ONNX requires to be an order of execution.  In addition:
 *   inputs        Data nodes, numbered by `index`; an input that is also an initializer is only the
 *                 initializer
 *   outputs       a NetOutput node at the end
 *   initializers  persistable variables; results of Constant nodes too.  Their contents are never
 *                 read
 *   views         Reshape, Flatten, Squeeze, Unsqueeze and Identity share the memory of input 0, as
 *                 in run times; views of a variable are dropped, their readers read the variable
 *   subgraphs     of If, Loop, Scan: blocks after their node, with own Data and NetOutput that
 *                 name the input and output of the node they stand for
 * Sizes are exact: dimensions x element type.  Both must be known for every tensor that is read:
 * symbolic or missing dimensions are errors that say what to do.  An output that no node reads (the
 * mask of a Dropout) counts as 0 bytes without them, as do tensors of strings.  Workspaces are not
 * part of ONNX.
 *
 * Memory: the model without the contents of weights, and the graph.  Origin: the public ONNX
 * specification (onnx.proto).
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/format.h"
#include "graphs/onnx-import.h"

#define GEMEM_PROTO_TABLES
#include "base/io/proto-list.h"

extern const GememGraphFormat gemem_graph_format_onnx;

static gboolean add_graph (OnnxImport *import, const OnnxGraph *part, const char *owner_type,
                           GError **error);

/* ---- nodes */

/* Adds a node named @wanted (its type if that is empty); where the name is taken, "#" and the
 * node's number follow. */
static const char *
add_named_node (OnnxImport *import, const char *wanted, const char *type)
{
  const guint32 id = gemem_graph_n_nodes (import->graph);
  g_autoptr (GString) name = g_string_new (*wanted != '\0' ? wanted
                                           : *type != '\0' ? type
                                                           : "node");

  while (g_hash_table_contains (import->names, name->str))
    g_string_append_printf (name, "#%u", id);
  gemem_graph_add_node (import->graph, name->str, type);
  gemem_graph_edit_node (import->graph)->block = import->block;
  g_hash_table_add (import->names, (gpointer) gemem_graph_edit_node (import->graph)->name);
  return gemem_graph_edit_node (import->graph)->name;
}

static gboolean
is_view (const OnnxNode *node)
{
  static const char *const views[] = { "Reshape",   "Flatten",  "Squeeze",
                                       "Unsqueeze", "Identity", NULL };

  return g_strv_contains (views, onnx_text (node->op_type)) && node->input.n > 0
         && node->output.n == 1 && *node->input.at[0] != '\0' && *node->output.at[0] != '\0';
}

/* The value of a Constant: its tensor, else the inferred shape of its output. */
static gboolean
add_constant (OnnxImport *import, const OnnxNode *node, GError **error)
{
  GememDtype dtype;

  for (gsize i = 0; i < node->attribute.n; i++)
    if (node->attribute.at[i]->t != NULL)
      return gemem_onnx_add_weight (import, node->output.at[0], node->attribute.at[i]->t, error);
  return gemem_onnx_take_shape (import, node->output.at[0], &dtype, error)
         && gemem_onnx_add_variable (import, node->output.at[0], dtype, error);
}

/* Adds the subgraphs of the node just added, all before other nodes: blocks belong to the last
 * node. */
static gboolean
add_blocks (OnnxImport *import, const OnnxNode *node, GError **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new ();
  const guint32 outer = import->block;
  guint32 first = 0;

  for (gsize i = 0; i < node->attribute.n; i++)
    {
      const OnnxAttribute *attribute = node->attribute.at[i];

      if (attribute->g != NULL)
        g_ptr_array_add (parts, attribute->g);
      for (gsize k = 0; k < attribute->graphs.n; k++)
        g_ptr_array_add (parts, attribute->graphs.at[k]);
    }
  for (guint i = 0; i < parts->len; i++)
    {
      const char *name = onnx_text (((OnnxGraph *) g_ptr_array_index (parts, i))->name);
      const guint32 block = gemem_graph_add_block (import->graph, *name != '\0' ? name : "block");

      first = i == 0 ? block : first;
    }
  for (guint i = 0; i < parts->len; i++)
    {
      import->block = first + i;
      if (!add_graph (import, g_ptr_array_index (parts, i), onnx_text (node->op_type), error))
        return FALSE;
    }
  import->block = outer;
  return TRUE;
}

static gboolean
add_node (OnnxImport *import, const OnnxNode *node, GError **error)
{
  const char *type = onnx_text (node->op_type);
  const OnnxValue *viewed = is_view (node) ? g_hash_table_lookup (import->values, node->input.at[0])
                                           : NULL;
  const char *name;

  if (strcmp (type, "Constant") == 0 && node->output.n == 1)
    return add_constant (import, node, error);
  if (viewed != NULL && viewed->node == NULL)
    return gemem_onnx_add_value (import, node->output.at[0], NULL, viewed->number, NULL, error);
  name = add_named_node (import, onnx_text (node->name), type);
  for (gsize i = 0; i < node->input.n; i++)
    if (!gemem_onnx_add_input (import, node->input.at[i], error))
      return FALSE;
  for (gsize i = 0; i < node->output.n; i++)
    if (!gemem_onnx_add_output (import, node->output.at[i], (guint32) i, name, error))
      return FALSE;
  if (viewed != NULL)
    gemem_graph_edit_output (import->graph)->reuse_input = 0;
  return add_blocks (import, node, error);
}

/* ---- graphs */

static gboolean
add_data (OnnxImport *import, const OnnxGraph *part, const char *owner_type, GError **error)
{
  /* the first input of a Loop's body is its counter */
  const gint64 own = strcmp (owner_type, "Loop") == 0 ? 1 : 0;
  gint64 index = 0;

  for (gsize i = 0; i < part->input.n; i++)
    {
      const char *name = onnx_text (part->input.at[i]->name);
      const char *node;

      if (g_hash_table_contains (import->values, name) && import->block == 0)
        continue;
      node = add_named_node (import, name, "Data");
      gemem_graph_edit_node (import->graph)->index = index;
      if (import->block != 0 && index >= own)
        gemem_graph_add_attribute_ints (import->graph, GEMEM_ATTRIBUTE_PARENT_NODE_INDEX, &index,
                                        1);
      index++;
      if (!gemem_onnx_add_output (import, name, 0, node, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_net_output (OnnxImport *import, const OnnxGraph *part, const char *owner_type, GError **error)
{
  /* the first result of a Loop's body is its condition */
  const gint64 first = strcmp (owner_type, "Loop") == 0 ? -1 : 0;
  g_autofree char *nested = g_strconcat (onnx_text (part->name), "/NetOutput", NULL);

  add_named_node (import, import->block == 0 ? "NetOutput" : nested, "NetOutput");
  for (gsize i = 0; i < part->output.n; i++)
    if (!gemem_onnx_add_input (import, part->output.at[i]->name, error))
      return FALSE;
  if (import->block == 0)
    return TRUE;
  g_array_set_size (import->dims, 0);
  for (gsize i = 0; i < part->output.n; i++)
    {
      const gint64 index = (gint64) i + first;

      g_array_append_val (import->dims, index);
    }
  gemem_graph_add_attribute_ints (import->graph, GEMEM_ATTRIBUTE_INPUT_PARENT_NODE_INDEX,
                                  gemem_onnx_dims (import), import->dims->len);
  return TRUE;
}

static gboolean
add_weights (OnnxImport *import, const OnnxGraph *part, GError **error)
{
  for (gsize i = 0; i < part->initializer.n; i++)
    if (!gemem_onnx_add_weight (import, onnx_text (part->initializer.at[i]->name),
                                part->initializer.at[i], error))
      return FALSE;
  if (part->sparse_initializer.n > 0)
    return gemem_onnx_fail (
        import, error,
        "graph '%s': has sparse initializers, whose size is not known; make them dense",
        onnx_text (part->name));
  return TRUE;
}

static gboolean
add_graph (OnnxImport *import, const OnnxGraph *part, const char *owner_type, GError **error)
{
  const guint typed = import->typed->len, valued = import->valued->len;

  for (gsize i = 0; i < part->input.n; i++)
    gemem_onnx_add_type (import, part->input.at[i]);
  for (gsize i = 0; i < part->output.n; i++)
    gemem_onnx_add_type (import, part->output.at[i]);
  for (gsize i = 0; i < part->value_info.n; i++)
    gemem_onnx_add_type (import, part->value_info.at[i]);
  if (!add_weights (import, part, error) || !add_data (import, part, owner_type, error))
    return FALSE;
  for (gsize i = 0; i < part->node.n; i++)
    if (!add_node (import, part->node.at[i], error))
      return FALSE;
  if (!add_net_output (import, part, owner_type, error))
    return FALSE;
  for (; import->typed->len > typed;
       g_ptr_array_set_size (import->typed, (gint) import->typed->len - 1))
    g_hash_table_remove (import->types, g_ptr_array_index (import->typed, import->typed->len - 1));
  for (; import->valued->len > valued;
       g_ptr_array_set_size (import->valued, (gint) import->valued->len - 1))
    g_hash_table_remove (import->values,
                         g_ptr_array_index (import->valued, import->valued->len - 1));
  return TRUE;
}

static void
add_notes (OnnxImport *import, const OnnxModel *model)
{
  gemem_graph_note (import->graph, "source", "ONNX model, ir_version %" G_GINT64_FORMAT,
                    model->ir_version);
  if (model->producer_name != NULL)
    gemem_graph_note (import->graph, "tool", "%s %s", model->producer_name,
                      onnx_text (model->producer_version));
  if (import->strings > 0)
    gemem_graph_note (import->graph, "note",
                      "%" G_GUINT64_FORMAT " tensors of strings count as no bytes",
                      import->strings);
  if (import->unsized > 0)
    gemem_graph_note (import->graph, "note",
                      "%" G_GUINT64_FORMAT
                      " outputs that nobody reads have no shape; they count as no bytes",
                      import->unsized);
}

static GememGraph *
import_model (GememInput *input, const OnnxModel *model, GememGraphDims *dims, GError **error)
{
  g_autofree char *where = g_strdup (gemem_input_name (input)), *base = g_path_get_basename (where);
  const char *name = model->graph != NULL ? onnx_text (model->graph->name) : "";
  OnnxImport import = { .graph = gemem_graph_new (*name != '\0' ? name : base),
                        .where = where,
                        .given = dims };
  gboolean ok;

  import.types = g_hash_table_new (g_str_hash, g_str_equal);
  import.values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, gemem_onnx_free_value);
  import.typed = g_ptr_array_new ();
  import.valued = g_ptr_array_new ();
  import.names = g_hash_table_new (g_str_hash, g_str_equal);
  import.dims = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (model->graph != NULL && model->graph->node.n > 0)
    ok = add_graph (&import, model->graph, "", error);
  else
    ok = gemem_onnx_fail (&import, error,
                          model->graph == NULL ? "holds no graph; this is no ONNX model"
                                               : GEMEM_GRAPH_WITHOUT_NODES);
  if (ok)
    {
      add_notes (&import, model);
      ok = gemem_graph_seal (import.graph, where, error);
    }
  g_hash_table_unref (import.types);
  g_hash_table_unref (import.values);
  g_ptr_array_unref (import.typed);
  g_ptr_array_unref (import.valued);
  g_hash_table_unref (import.names);
  g_array_unref (import.dims);
  if (!ok)
    g_clear_pointer (&import.graph, gemem_graph_unref);
  return import.graph;
}

/* ---- format */

static GememGraph *
read_onnx (GememInput *input, guint index, GememGraphDims *dims, GError **error)
{
  g_autoptr (GPtrArray) memory = g_ptr_array_new_with_free_func (g_free);
  const OnnxModel *model = gemem_proto_read (input, &gemem_proto_OnnxModel, index, memory, error);

  return model != NULL ? import_model (input, model, dims, error) : NULL;
}

/* In the files of all known writers a model begins with its ir_version (1, 2... so far), followed
 * by a short field. */
static int
probe (const guint8 *head, gsize size)
{
  return size >= 3 && head[0] == 0x08 && head[1] > 0 && head[1] < 0x40
                 && (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x22 || head[2] == 0x28
                     || head[2] == 0x32 || head[2] == 0x3a || head[2] == 0x42)
             ? 70
             : 0;
}

const GememGraphFormat gemem_graph_format_onnx = {
  .base = {
    .name = "onnx",
    .summary = "ONNX model with shapes",
    .origin = "onnx.proto, public",
  },
  .extensions = "onnx",
  .assumed = "ort-bfc",
  .probe = probe,
  .read = read_onnx,
};
