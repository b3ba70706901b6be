/* json-node.c - reading one node of our JSON graph format; see json-node.h.
 *
 * The node is held as a tree, so its fields may come in any order; attributes are added before
 * outputs, as the builder requires.  O(size of the node).
 */
#include "config.h"

#include <string.h>

#include "graphs/json-node.h"

typedef GememGraphJsonReader Reader;

/* ---- sizes of variables and outputs */

gboolean
gemem_graph_json_read_extent (Reader *reader, guint32 size, guint32 shape, guint32 dtype,
                              GememGraphJsonExtent *extent, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  gint64 value = 0;

  *extent = (GememGraphJsonExtent){ .has_shape = shape != 0 };
  if (shape != 0 && !gemem_graph_json_shape (tree, shape, reader->ints, error))
    return FALSE;
  if (dtype != 0 && !gemem_graph_json_dtype (tree, dtype, &extent->dtype, error))
    return FALSE;
  if (size != 0)
    {
      if (!gemem_json_tree_int (tree, size, 0, &value, error))
        return FALSE;
      extent->size = (guint64) value;
    }
  else if (shape != 0
           && !gemem_dtype_bytes (extent->dtype,
                                  (const gint64 *) (gconstpointer) reader->ints->data,
                                  reader->ints->len, &extent->size))
    return gemem_json_tree_fail (tree, shape, error, "more than 2^63 bytes; a dimension is wrong");
  return TRUE;
}

const gint64 *
gemem_graph_json_ints (const Reader *reader)
{
  static const gint64 none;

  return reader->ints->len > 0 ? (const gint64 *) (gconstpointer) reader->ints->data : &none;
}

/* ---- attributes */

static gboolean
fail_attribute (const Reader *reader, guint32 entry, GememAttributeOwner owner, GError **error)
{
  const char *names[GEMEM_ATTRIBUTE_COUNT + 1];
  guint n = 0;

  for (guint i = 0; i < GEMEM_ATTRIBUTE_COUNT; i++)
    if (gemem_attributes[i].owner == owner)
      names[n++] = gemem_attributes[i].name;
  names[n] = NULL;
  return gemem_json_tree_fail_unknown (reader->tree, entry, names, error);
}

static gboolean
read_int_attribute (Reader *reader, guint32 entry, GememAttributeKey key, GError **error)
{
  const GememAttributeKind kind = gemem_attributes[key].kind;
  gint64 value = 0;
  gboolean flag;

  g_array_set_size (reader->ints, 0);
  if (kind == GEMEM_ATTRIBUTE_INTS)
    {
      if (!gemem_json_tree_ints (reader->tree, entry, G_MININT64, TRUE, reader->ints, error))
        return FALSE;
    }
  else
    {
      if (kind == GEMEM_ATTRIBUTE_FLAG
              ? !gemem_json_tree_bool (reader->tree, entry, &flag, error)
              : !gemem_json_tree_int (reader->tree, entry, G_MININT64, &value, error))
        return FALSE;
      if (kind == GEMEM_ATTRIBUTE_FLAG)
        value = flag;
      g_array_append_val (reader->ints, value);
    }
  gemem_graph_add_attribute_ints (reader->graph, key, gemem_graph_json_ints (reader),
                                  reader->ints->len);
  return TRUE;
}

static gboolean
read_text_attribute (Reader *reader, guint32 entry, GememAttributeKey key, GError **error)
{
  const gboolean list = gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXTS;
  const char *text;

  g_ptr_array_set_size (reader->texts, 0);
  if (list && !gemem_json_tree_is (reader->tree, entry, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = list ? gemem_json_tree_first (reader->tree, entry) : entry; i != 0;
       i = list ? gemem_json_tree_next (reader->tree, entry, i) : 0)
    {
      if (!gemem_json_tree_string (reader->tree, i, &text, error))
        return FALSE;
      g_ptr_array_add (reader->texts, (gpointer) text);
    }
  gemem_graph_add_attribute_texts (reader->graph, key, (const char *const *) reader->texts->pdata,
                                   reader->texts->len);
  return TRUE;
}

static gboolean
read_attributes (Reader *reader, guint32 object, GememAttributeOwner owner, GError **error)
{
  const GememJsonTree *tree = reader->tree;

  if (object == 0)
    return TRUE;
  if (!gemem_json_tree_is (tree, object, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, object); i != 0;
       i = gemem_json_tree_next (tree, object, i))
    {
      const char *name = gemem_json_tree_key (tree, i);
      const GememAttributeKey key = gemem_attribute_find (name, owner);
      gboolean text;

      if (key == GEMEM_ATTRIBUTE_COUNT && g_str_has_prefix (name, "x_"))
        continue;
      if (key == GEMEM_ATTRIBUTE_COUNT)
        return fail_attribute (reader, i, owner, error);
      if (gemem_graph_has_attribute (reader->graph,
                                     owner == GEMEM_ATTRIBUTE_NODE
                                         ? gemem_graph_edit_node (reader->graph)->attributes
                                         : gemem_graph_edit_output (reader->graph)->attributes,
                                     key))
        return gemem_json_tree_fail (tree, i, error, "given twice");
      text = gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXT
             || gemem_attributes[key].kind == GEMEM_ATTRIBUTE_TEXTS;
      if (text ? !read_text_attribute (reader, i, key, error)
               : !read_int_attribute (reader, i, key, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- nodes */

enum
{
  OUTPUT_SIZE,
  OUTPUT_SHAPE,
  OUTPUT_DTYPE,
  OUTPUT_VARIABLE,
  OUTPUT_REUSE_INPUT,
  OUTPUT_CONSUMERS,
  OUTPUT_ATTRIBUTES,
  OUTPUT_FIELDS
};
static const char *const output_fields[] = { "size",        "shape",     "dtype",      "variable",
                                             "reuse_input", "consumers", "attributes", NULL };

enum
{
  NODE_NAME,
  NODE_TYPE,
  NODE_ENGINE,
  NODE_BATCH_LABEL,
  NODE_ID,
  NODE_STREAM,
  NODE_INDEX,
  NODE_ROLE,
  NODE_BLOCK,
  NODE_BLOCKS,
  NODE_INPUTS,
  NODE_CONTROLS,
  NODE_WORKSPACES,
  NODE_ATTRIBUTES,
  NODE_OUTPUTS,
  NODE_FIELDS
};
static const char *const node_fields[] = { "name",       "type",       "engine",  "batch_label",
                                           "id",         "stream",     "index",   "role",
                                           "block",      "blocks",     "inputs",  "controls",
                                           "workspaces", "attributes", "outputs", NULL };

/* ["NODE", NUMBER] */
static gboolean
read_end (const Reader *reader, guint32 entry, const char **node, guint32 *number, GError **error)
{
  const guint32 first = gemem_json_tree_first (reader->tree, entry);
  const guint32 second = first != 0 ? gemem_json_tree_next (reader->tree, entry, first) : 0;
  gint64 value;

  if (second == 0 || gemem_json_tree_next (reader->tree, entry, second) != 0)
    return gemem_json_tree_fail (reader->tree, entry, error, "must be [\"NODE\", NUMBER]");
  if (!gemem_json_tree_name (reader->tree, first, node, error)
      || !gemem_json_tree_int (reader->tree, second, 0, &value, error))
    return FALSE;
  if (value >= G_MAXUINT32)
    return gemem_json_tree_fail (reader->tree, second, error, "no node has so many");
  *number = (guint32) value;
  return TRUE;
}

static gboolean
read_input (Reader *reader, guint32 entry, GError **error)
{
  const char *name;
  guint32 output, variable;

  switch (gemem_json_tree_token (reader->tree, entry))
    {
    case GEMEM_JSON_NULL:
      gemem_graph_add_no_input (reader->graph);
      return TRUE;
    case GEMEM_JSON_STRING:
    case GEMEM_JSON_BEGIN_OBJECT:
      output = gemem_graph_edit_node (reader->graph)->first_input
               + gemem_graph_edit_node (reader->graph)->n_inputs;
      variable = gemem_graph_json_use (reader, entry, GEMEM_GRAPH_JSON_INPUT, output, error);
      if (variable == GEMEM_NONE)
        return FALSE;
      gemem_graph_add_variable_input (reader->graph, variable);
      return TRUE;
    case GEMEM_JSON_BEGIN_ARRAY:
      if (!read_end (reader, entry, &name, &output, error))
        return FALSE;
      gemem_graph_add_input (reader->graph, name, output);
      return TRUE;
    default:
      return gemem_json_tree_fail (reader->tree, entry, error,
                                   "must be [\"NODE\", OUTPUT], \"VARIABLE\", "
                                   "{\"name\", \"block\"} of a variable, or null");
    }
}

static gboolean
read_consumer (Reader *reader, guint32 entry, GError **error)
{
  const char *node;
  guint32 input;

  if (!gemem_json_tree_is (reader->tree, entry, GEMEM_JSON_BEGIN_ARRAY, error)
      || !read_end (reader, entry, &node, &input, error))
    return FALSE;
  gemem_graph_add_consumer (reader->graph, node, input);
  return TRUE;
}

static gboolean
read_control (Reader *reader, guint32 entry, GError **error)
{
  const char *name;

  if (!gemem_json_tree_name (reader->tree, entry, &name, error))
    return FALSE;
  gemem_graph_add_control (reader->graph, name);
  return TRUE;
}

static gboolean
read_block (Reader *reader, guint32 entry, GError **error)
{
  const char *name;

  if (!gemem_json_tree_name (reader->tree, entry, &name, error))
    return FALSE;
  gemem_graph_add_block (reader->graph, name);
  return TRUE;
}

static gboolean
read_workspace (Reader *reader, guint32 entry, GError **error)
{
  gint64 size;

  if (!gemem_json_tree_int (reader->tree, entry, G_MININT64, &size, error))
    return FALSE;
  if (size < -1)
    return gemem_json_tree_fail (reader->tree, entry, error,
                                 "%" G_GINT64_FORMAT " bytes; must be 0 or more, or -1 for none",
                                 size);
  gemem_graph_add_workspace (reader->graph, size == -1 ? 0 : (guint64) size);
  return TRUE;
}

static gboolean
fill_output (Reader *reader, const guint32 *at, GError **error)
{
  guint32 variable;
  gint64 reuse = -1;

  if (at[OUTPUT_VARIABLE] != 0)
    {
      variable = gemem_graph_json_use (reader, at[OUTPUT_VARIABLE], GEMEM_GRAPH_JSON_TENSOR,
                                       gemem_graph_n_tensors (reader->graph) - 1, error);
      if (variable == GEMEM_NONE)
        return FALSE;
      gemem_graph_edit_output (reader->graph)->variable = variable;
    }
  if (at[OUTPUT_REUSE_INPUT] != 0
      && !gemem_json_tree_int (reader->tree, at[OUTPUT_REUSE_INPUT], -1, &reuse, error))
    return FALSE;
  if (reuse > G_MAXINT32)
    return gemem_json_tree_fail (reader->tree, at[OUTPUT_REUSE_INPUT], error,
                                 "no node has so many inputs");
  gemem_graph_edit_output (reader->graph)->reuse_input = (gint32) reuse;
  return TRUE;
}

static gboolean read_list (Reader *reader, guint32 list,
                           gboolean (*read) (Reader *, guint32, GError **), GError **error);

static gboolean
read_output (Reader *reader, guint32 entry, GError **error)
{
  guint32 at[OUTPUT_FIELDS];
  GememGraphJsonExtent extent;

  if (!gemem_json_tree_fields (reader->tree, entry, output_fields, at, error)
      || !gemem_graph_json_read_extent (reader, at[OUTPUT_SIZE], at[OUTPUT_SHAPE], at[OUTPUT_DTYPE],
                                        &extent, error))
    return FALSE;
  if (at[OUTPUT_SIZE] == 0 && (at[OUTPUT_SHAPE] == 0 || at[OUTPUT_DTYPE] == 0))
    return gemem_json_tree_fail (reader->tree, entry, error,
                                 "has no size; give \"size\" in bytes, or \"shape\" and \"dtype\"");
  gemem_graph_add_output (reader->graph, extent.size);
  if (extent.has_shape)
    gemem_graph_set_shape (reader->graph, extent.dtype, gemem_graph_json_ints (reader),
                           reader->ints->len);
  gemem_graph_edit_output (reader->graph)->dtype = extent.dtype;
  return fill_output (reader, at, error)
         && read_list (reader, at[OUTPUT_CONSUMERS], read_consumer, error)
         && read_attributes (reader, at[OUTPUT_ATTRIBUTES], GEMEM_ATTRIBUTE_TENSOR, error);
}

static gboolean
read_list (Reader *reader, guint32 list, gboolean (*read) (Reader *, guint32, GError **),
           GError **error)
{
  if (list == 0)
    return TRUE;
  if (!gemem_json_tree_is (reader->tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (reader->tree, list); i != 0;
       i = gemem_json_tree_next (reader->tree, list, i))
    if (!read (reader, i, error))
      return FALSE;
  return TRUE;
}

/* stream, index, id, role, block: integers with a minimum. */
static gboolean
read_numbers (Reader *reader, const guint32 *at, guint32 position, GError **error)
{
  static const struct
  {
    guint field;
    gint64 least, most;
  } rows[] = {
    { NODE_ID, 0, G_MAXUINT32 },   { NODE_STREAM, -1, G_MAXINT64 }, { NODE_INDEX, -1, G_MAXINT64 },
    { NODE_ROLE, 0, G_MAXUINT16 }, { NODE_BLOCK, 0, G_MAXUINT32 },
  };
  gint64 values[G_N_ELEMENTS (rows)] = { position, 0, -1, 0, 0 };
  GememNode *node = gemem_graph_edit_node (reader->graph);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const guint32 entry = at[rows[i].field];

      if (entry != 0
          && !gemem_json_tree_int (reader->tree, entry, rows[i].least, &values[i], error))
        return FALSE;
      if (values[i] > rows[i].most)
        return gemem_json_tree_fail (reader->tree, entry, error,
                                     "%" G_GINT64_FORMAT
                                     " is too large; the most is %" G_GINT64_FORMAT,
                                     values[i], rows[i].most);
    }
  if (values[0] != position)
    return gemem_json_tree_fail (reader->tree, at[NODE_ID], error,
                                 "must be %u, its position in the list, or left out", position);
  node->stream = values[1];
  node->index = values[2];
  node->role = (guint32) values[3];
  node->block = (guint32) values[4];
  return TRUE;
}

static gboolean
read_names (Reader *reader, const guint32 *at, GError **error)
{
  const char *engine = "", *label = "";
  GememNode *node = gemem_graph_edit_node (reader->graph);

  if ((at[NODE_ENGINE] != 0
       && !gemem_json_tree_string (reader->tree, at[NODE_ENGINE], &engine, error))
      || (at[NODE_BATCH_LABEL] != 0
          && !gemem_json_tree_string (reader->tree, at[NODE_BATCH_LABEL], &label, error)))
    return FALSE;
  node->engine = gemem_graph_intern (reader->graph, engine);
  node->batch_label = gemem_graph_intern (reader->graph, label);
  return TRUE;
}

gboolean
gemem_graph_json_read_node (Reader *reader, guint32 position, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  const guint32 named = gemem_json_tree_find (tree, 0, "name");
  const char *name = "", *type = "";
  guint32 at[NODE_FIELDS];

  if (named != 0 && !gemem_json_tree_name (tree, named, &name, error))
    return FALSE;
  if (named != 0)
    gemem_json_tree_set_where (reader->tree, "%s: node '%s'", reader->where, name);
  if (!gemem_json_tree_fields (tree, 0, node_fields, at, error))
    return FALSE;
  if (named == 0)
    return gemem_json_tree_fail (tree, 0, error, "name: is missing");
  if (at[NODE_TYPE] != 0 && !gemem_json_tree_string (tree, at[NODE_TYPE], &type, error))
    return FALSE;
  reader->node = gemem_graph_add_node (reader->graph, name, type);
  return read_numbers (reader, at, position, error) && read_names (reader, at, error)
         && read_attributes (reader, at[NODE_ATTRIBUTES], GEMEM_ATTRIBUTE_NODE, error)
         && read_list (reader, at[NODE_INPUTS], read_input, error)
         && read_list (reader, at[NODE_CONTROLS], read_control, error)
         && read_list (reader, at[NODE_WORKSPACES], read_workspace, error)
         && read_list (reader, at[NODE_BLOCKS], read_block, error)
         && read_list (reader, at[NODE_OUTPUTS], read_output, error);
}
