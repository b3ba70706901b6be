/* json-variable.c - variables of our JSON graph format, and what refers to them; see json-node.h.
 *
 * Why: variables may be used before they are listed, and several blocks may declare one name.  A
 * reference by name alone is bound when the whole file is read, to the variable of the nearest
 * block around; one that says the block is bound at once.
 *
 * Invariants: after binding, each variable is listed, and of several with one name each says its
 * block.  O(variables + references x depth).
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/json-node.h"

typedef GememGraphJsonReader Reader;

/* ---- references */

/* Adds the variables that the graph got since, as used by the current node. */
static void
take_users (Reader *reader)
{
  while (reader->users->len < gemem_graph_n_variables (reader->graph))
    g_array_append_val (reader->users, reader->node);
}

static gboolean
is_listed (const Reader *reader, guint32 variable)
{
  return g_array_index (reader->users, guint32, variable) == GEMEM_GRAPH_JSON_LISTED;
}

static guint32
use_name (Reader *reader, const char *name)
{
  const guint32 variable = gemem_graph_add_variable (reader->graph, name, GEMEM_DTYPE_UNKNOWN, NULL,
                                                     0, FALSE);

  take_users (reader);
  return variable;
}

/* The variable of @name in @block; one of the name that is not listed yet, and of which no block is
 * known, becomes it. */
static guint32
use_in_block (Reader *reader, const char *name, guint32 block)
{
  guint32 variable = use_name (reader, name);

  if (!is_listed (reader, variable)
      && gemem_graph_variable (reader->graph, variable)->block == GEMEM_NONE)
    gemem_graph_edit_variable (reader->graph, variable)->block = block;
  else
    variable = gemem_graph_declare_variable (reader->graph, name, block, GEMEM_DTYPE_UNKNOWN, NULL,
                                             0, FALSE);
  take_users (reader);
  return variable;
}

static gboolean
read_block (const Reader *reader, guint32 entry, guint32 *block, GError **error)
{
  gint64 value;

  if (!gemem_json_tree_int (reader->tree, entry, 0, &value, error))
    return FALSE;
  if (value >= GEMEM_NONE)
    return gemem_json_tree_fail (reader->tree, entry, error, "no graph has so many blocks");
  *block = (guint32) value;
  return TRUE;
}

static gpointer
key_of (GememGraphJsonUser user, guint32 index)
{
  return GSIZE_TO_POINTER ((gsize) index * 4 + user + 1);
}

guint32
gemem_graph_json_use (Reader *reader, guint32 entry, GememGraphJsonUser user, guint32 index,
                      GError **error)
{
  static const char *const fields[] = { "name", "block", NULL };
  const gboolean exact = gemem_json_tree_token (reader->tree, entry) == GEMEM_JSON_BEGIN_OBJECT;
  guint32 at[2] = { entry, 0 }, block = 0;
  const char *name;

  if (exact && !gemem_json_tree_fields (reader->tree, entry, fields, at, error))
    return GEMEM_NONE;
  if (exact && (at[0] == 0 || at[1] == 0))
    {
      gemem_json_tree_fail (reader->tree, entry, error,
                            "must have \"name\" and \"block\" of the variable");
      return GEMEM_NONE;
    }
  if (!gemem_json_tree_name (reader->tree, at[0], &name, error)
      || (exact && !read_block (reader, at[1], &block, error)))
    return GEMEM_NONE;
  if (!exact)
    return use_name (reader, name);
  g_hash_table_add (reader->exact, key_of (user, index));
  return use_in_block (reader, name, block);
}

/* ---- the list of variables */

enum
{
  VARIABLE_NAME,
  VARIABLE_SHAPE,
  VARIABLE_DTYPE,
  VARIABLE_SIZE,
  VARIABLE_PERSISTABLE,
  VARIABLE_GRADIENT_OF,
  VARIABLE_KIND,
  VARIABLE_BLOCK,
  VARIABLE_FIELDS
};
static const char *const variable_fields[] = { "name", "shape",       "dtype",
                                               "size", "persistable", "gradient_of",
                                               "kind", "block",       NULL };

static gboolean
read_kind (Reader *reader, guint32 entry, gboolean *is_tensor, GError **error)
{
  const char *kind;

  if (!gemem_json_tree_string (reader->tree, entry, &kind, error))
    return FALSE;
  *is_tensor = strcmp (kind, "tensor") == 0;
  return *is_tensor || strcmp (kind, "other") == 0
         || gemem_json_tree_fail (reader->tree, entry, error, "must be \"tensor\" or \"other\"");
}

static gboolean
fill_variable (Reader *reader, guint32 variable, const guint32 *at, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  gboolean persistable = FALSE, is_tensor = TRUE;
  guint32 parameter = GEMEM_NONE;
  GememVariable *v;
  GememGraphJsonExtent extent;

  if (!gemem_graph_json_read_extent (reader, at[VARIABLE_SIZE], at[VARIABLE_SHAPE],
                                     at[VARIABLE_DTYPE], &extent, error)
      || (at[VARIABLE_PERSISTABLE] != 0
          && !gemem_json_tree_bool (tree, at[VARIABLE_PERSISTABLE], &persistable, error))
      || (at[VARIABLE_KIND] != 0 && !read_kind (reader, at[VARIABLE_KIND], &is_tensor, error)))
    return FALSE;
  gemem_graph_set_variable_shape (reader->graph, variable, extent.dtype,
                                  extent.has_shape ? gemem_graph_json_ints (reader) : NULL,
                                  extent.has_shape ? reader->ints->len : 0);
  if (at[VARIABLE_GRADIENT_OF] != 0)
    {
      parameter = gemem_graph_json_use (reader, at[VARIABLE_GRADIENT_OF], GEMEM_GRAPH_JSON_GRADIENT,
                                        variable, error);
      if (parameter == GEMEM_NONE)
        return FALSE;
    }
  v = gemem_graph_edit_variable (reader->graph, variable);
  v->size = extent.size;
  v->persistable = persistable != FALSE;
  v->is_tensor = is_tensor != FALSE;
  v->parameter = parameter;
  return TRUE;
}

gboolean
gemem_graph_json_read_variable (Reader *reader, guint32 index, GError **error)
{
  guint32 at[VARIABLE_FIELDS];
  guint32 variable, block = GEMEM_NONE;
  const char *name;

  gemem_json_tree_set_where (reader->tree, "%s: variables[%u]", reader->where, index);
  if (!gemem_json_tree_fields (reader->tree, 0, variable_fields, at, error))
    return FALSE;
  if (at[VARIABLE_NAME] == 0)
    return gemem_json_tree_fail (reader->tree, 0, error, "name: is missing");
  if (!gemem_json_tree_name (reader->tree, at[VARIABLE_NAME], &name, error))
    return FALSE;
  gemem_json_tree_set_where (reader->tree, "%s: variable '%s'", reader->where, name);
  if (at[VARIABLE_BLOCK] != 0 && !read_block (reader, at[VARIABLE_BLOCK], &block, error))
    return FALSE;
  reader->node = GEMEM_NONE;
  variable = block != GEMEM_NONE ? use_in_block (reader, name, block) : use_name (reader, name);
  if (is_listed (reader, variable))
    return gemem_json_tree_fail (reader->tree, at[VARIABLE_NAME], error,
                                 "given to two variables; names must be unique, or unique in the "
                                 "block that each of them says");
  g_array_index (reader->users, guint32, variable) = GEMEM_GRAPH_JSON_LISTED;
  return fill_variable (reader, variable, at, error);
}

/* ---- the end of the document */

static gboolean
check_listed (const Reader *reader, GError **error)
{
  for (guint32 v = 0; v < reader->users->len; v++)
    {
      const guint32 user = g_array_index (reader->users, guint32, v);
      const GememVariable *variable = gemem_graph_variable (reader->graph, v);
      g_autofree char *block = variable->block != GEMEM_NONE
                                   ? g_strdup_printf (" of block %u", variable->block)
                                   : g_strdup ("");

      if (is_listed (reader, v)
          && (variable->block != GEMEM_NONE || variable->namesake == GEMEM_NONE))
        continue;
      if (is_listed (reader, v))
        g_set_error (
            error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
            "%s: variable '%s': block: is missing; of several variables with one name each "
            "must say the block that declares it",
            reader->where, variable->name);
      else
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                     "%s: %s '%s': variable '%s'%s is not in \"variables\"; list it there, or "
                     "correct the name",
                     reader->where, user != GEMEM_NONE ? "node" : "gradient of",
                     user != GEMEM_NONE ? gemem_graph_node (reader->graph, user)->name
                                        : variable->name,
                     variable->name, block);
      return FALSE;
    }
  return TRUE;
}

/* Changes *@variable to that which its name alone means in @block; FALSE if that cannot be told. */
static gboolean
bind (const Reader *reader, GememGraphJsonUser user, guint32 index, guint32 block,
      guint32 *variable)
{
  if (*variable != GEMEM_NONE && !g_hash_table_contains (reader->exact, key_of (user, index)))
    {
      const char *name = gemem_graph_variable (reader->graph, *variable)->name;

      *variable = gemem_graph_find_variable_in (reader->graph, name, block);
      return *variable != GEMEM_NONE;
    }
  return TRUE;
}

static gboolean
fail_unclear (const Reader *reader, const char *what, const char *of, const char *name,
              GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: %s '%s': several blocks declare '%s', and none of them is around it; write "
               "{\"name\": \"%s\", \"block\": N}",
               reader->where, what, of, name, name);
  return FALSE;
}

static gboolean
bind_node (const Reader *reader, guint32 id, GError **error)
{
  const GememNode *node = gemem_graph_node (reader->graph, id);

  for (guint32 i = node->first_input; i < node->first_input + node->n_inputs; i++)
    {
      guint32 variable = gemem_graph_inputs (reader->graph, id)[i - node->first_input].variable;
      const guint32 before = variable;

      if (!bind (reader, GEMEM_GRAPH_JSON_INPUT, i, node->block, &variable))
        return fail_unclear (reader, "node", node->name,
                             gemem_graph_variable (reader->graph, before)->name, error);
      gemem_graph_set_input_variable (reader->graph, i, variable);
    }
  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      guint32 variable = gemem_graph_tensor (reader->graph, t)->variable;
      const guint32 before = variable;

      if (!bind (reader, GEMEM_GRAPH_JSON_TENSOR, t, node->block, &variable))
        return fail_unclear (reader, "node", node->name,
                             gemem_graph_variable (reader->graph, before)->name, error);
      gemem_graph_set_tensor_variable (reader->graph, t, variable);
    }
  return TRUE;
}

static gboolean
has_namesakes (const GememGraph *graph)
{
  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    if (gemem_graph_variable (graph, v)->namesake != GEMEM_NONE)
      return TRUE;
  return FALSE;
}

gboolean
gemem_graph_json_bind_variables (Reader *reader, GError **error)
{
  if (!check_listed (reader, error))
    return FALSE;
  if (!has_namesakes (reader->graph))
    return TRUE;
  for (guint32 v = 0; v < gemem_graph_n_variables (reader->graph); v++)
    {
      GememVariable *variable = gemem_graph_edit_variable (reader->graph, v);
      const guint32 block = variable->block != GEMEM_NONE ? variable->block : 0;
      const char *parameter = variable->parameter != GEMEM_NONE
                                  ? gemem_graph_variable (reader->graph, variable->parameter)->name
                                  : NULL;

      if (!bind (reader, GEMEM_GRAPH_JSON_GRADIENT, v, block, &variable->parameter))
        return fail_unclear (reader, "gradient", variable->name, parameter, error);
    }
  for (guint32 id = 0; id < gemem_graph_n_nodes (reader->graph); id++)
    if (!bind_node (reader, id, error))
      return FALSE;
  return TRUE;
}
