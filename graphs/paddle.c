/* paddle.c - graph format `paddle-program`: a straight-line PaddlePaddle program as JSON, read
 * only.
 *
 * {"name", "level", "skip_opt_set", "vars": {NAME: {"shape", "dtype", "persistable"}}, "ops":
 * [{"type", "inputs", "outputs"}], "expect"}: the form of the vectors of memory_optimize.  Operator
 * i becomes the node "op<i>"; see paddle-import.h for variables.  `level` and `skip_opt_set` become
 * settings; `expect` is for tests and ignored.
 *
 * Memory: the program as a tree, at most 16 bytes per value and its text, and the graph.  O(file).
 * Origin: paddle.md.
 */
#include "config.h"

#include <string.h>

#include "graphs/json.h"
#include "graphs/paddle-import.h"

enum
{
  NAME,
  LEVEL,
  SKIP_OPT_SET,
  VARS,
  OPS,
  EXPECT,
  FIELDS
};
static const char *const fields[] = {
  "name", "level", "skip_opt_set", "vars", "ops", "expect", NULL
};

enum
{
  VAR_SHAPE,
  VAR_DTYPE,
  VAR_PERSISTABLE,
  VAR_FIELDS
};
static const char *const var_fields[] = { "shape", "dtype", "persistable", NULL };

enum
{
  OP_TYPE,
  OP_INPUTS,
  OP_OUTPUTS,
  OP_FIELDS
};
static const char *const op_fields[] = { "type", "inputs", "outputs", NULL };

typedef struct
{
  PaddleImport import;
  GememJsonTree *tree;
} Reader;

/* ---- variables */

static gboolean
read_var (Reader *reader, guint32 entry, GError **error)
{
  const char *name;
  guint32 at[VAR_FIELDS];
  GememDtype dtype = GEMEM_DTYPE_UNKNOWN;
  gboolean persistable = FALSE;
  guint64 bytes;

  if (!gemem_json_tree_key_name (reader->tree, entry, &name, error))
    return FALSE;
  if (gemem_graph_find_variable (reader->import.graph, name) != GEMEM_NONE)
    return gemem_json_tree_fail (reader->tree, entry, error, "given twice");
  if (!gemem_json_tree_fields (reader->tree, entry, var_fields, at, error))
    return FALSE;
  if (at[VAR_SHAPE] == 0 || at[VAR_DTYPE] == 0)
    return gemem_json_tree_fail (reader->tree, entry, error, "%s: is missing",
                                 at[VAR_SHAPE] == 0 ? "shape" : "dtype");
  if (!gemem_graph_json_shape (reader->tree, at[VAR_SHAPE], reader->import.dims, error)
      || !gemem_graph_json_dtype (reader->tree, at[VAR_DTYPE], &dtype, error)
      || (at[VAR_PERSISTABLE] != 0
          && !gemem_json_tree_bool (reader->tree, at[VAR_PERSISTABLE], &persistable, error)))
    return FALSE;
  gemem_paddle_import_fill (&reader->import);
  if (!gemem_dtype_bytes (dtype, gemem_paddle_import_dims (&reader->import),
                          reader->import.dims->len, &bytes))
    return gemem_json_tree_fail (reader->tree, at[VAR_SHAPE], error,
                                 "more than 2^63 bytes; a dimension is wrong");
  gemem_graph_add_variable (reader->import.graph, name, dtype,
                            gemem_paddle_import_dims (&reader->import), reader->import.dims->len,
                            persistable);
  return TRUE;
}

static gboolean
read_vars (Reader *reader, guint32 vars, GError **error)
{
  if (!gemem_json_tree_is (reader->tree, vars, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (reader->tree, vars); i != 0;
       i = gemem_json_tree_next (reader->tree, vars, i))
    if (!read_var (reader, i, error))
      return FALSE;
  gemem_graph_add_variable (reader->import.graph, PADDLE_NO_VARIABLE, GEMEM_DTYPE_UNKNOWN, NULL, 0,
                            FALSE);
  gemem_paddle_import_take_variables (&reader->import);
  return TRUE;
}

/* ---- operators */

static gboolean
find_variable (const Reader *reader, guint32 entry, guint32 *variable, GError **error)
{
  const char *name;

  if (!gemem_json_tree_name (reader->tree, entry, &name, error))
    return FALSE;
  *variable = gemem_graph_find_variable (reader->import.graph, name);
  return *variable != GEMEM_NONE
         || gemem_json_tree_fail (reader->tree, entry, error, "variable '%s' is not in \"vars\"",
                                  name);
}

/* Calls @take, a function of paddle-import.h, for each variable that @list names. */
static gboolean
read_names (Reader *reader, guint32 list, void (*take) (PaddleImport *import, guint32 variable),
            GError **error)
{
  for (guint32 i = gemem_json_tree_first (reader->tree, list); i != 0;
       i = gemem_json_tree_next (reader->tree, list, i))
    {
      guint32 variable;

      if (!find_variable (reader, i, &variable, error))
        return FALSE;
      take (&reader->import, variable);
    }
  return TRUE;
}

static gboolean
read_op (Reader *reader, guint32 entry, guint position, GError **error)
{
  char name[16];
  const char *type;
  guint32 at[OP_FIELDS];

  if (!gemem_json_tree_fields (reader->tree, entry, op_fields, at, error))
    return FALSE;
  for (guint i = 0; i < OP_FIELDS; i++)
    if (at[i] == 0)
      return gemem_json_tree_fail (reader->tree, entry, error, "%s: is missing", op_fields[i]);
  if (!gemem_json_tree_name (reader->tree, at[OP_TYPE], &type, error)
      || !gemem_json_tree_is (reader->tree, at[OP_INPUTS], GEMEM_JSON_BEGIN_ARRAY, error)
      || !gemem_json_tree_is (reader->tree, at[OP_OUTPUTS], GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  g_snprintf (name, sizeof name, "op%u", position);
  gemem_graph_add_node (reader->import.graph, name, type);
  return read_names (reader, at[OP_INPUTS], gemem_paddle_import_read, error)
         && read_names (reader, at[OP_OUTPUTS], gemem_paddle_import_write, error);
}

/* ---- the program */

static gboolean
read_program (Reader *reader, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  guint32 at[FIELDS];
  guint position = 0;
  const char *name;

  if (!gemem_json_tree_fields (tree, 0, fields, at, error))
    return FALSE;
  if (at[VARS] == 0 || at[OPS] == 0)
    return gemem_json_tree_fail (tree, 0, error, "no \"%s\"; this is no program",
                                 at[VARS] == 0 ? "vars" : "ops");
  if (at[NAME] != 0)
    {
      if (!gemem_json_tree_name (tree, at[NAME], &name, error))
        return FALSE;
      gemem_graph_set_name (reader->import.graph, name);
    }
  for (guint i = LEVEL; i <= SKIP_OPT_SET; i++)
    if (at[i] != 0
        && !gemem_graph_json_setting (reader->import.graph, tree, fields[i], at[i], error))
      return FALSE;
  if (!read_vars (reader, at[VARS], error)
      || !gemem_json_tree_is (tree, at[OPS], GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, at[OPS]); i != 0;
       i = gemem_json_tree_next (tree, at[OPS], i))
    if (!read_op (reader, i, position++, error))
      return FALSE;
  return gemem_graph_seal (reader->import.graph, gemem_json_tree_where (tree), error);
}

static GememGraph *
read_graph (GememInput *input, guint index, GememGraphDims *dims, GError **error)
{
  g_autofree char *where = NULL;
  g_autofree char *base = g_path_get_basename (gemem_input_name (input));
  GememJson *json = gemem_graph_json_begin (input, index, &where, error);
  Reader reader;

  if (json == NULL)
    return NULL;
  gemem_paddle_import_init (&reader.import, base, dims);
  reader.tree = gemem_json_tree_new ();
  gemem_json_tree_set_where (reader.tree, "%s", where);
  if (!gemem_json_tree_read (reader.tree, json, GEMEM_JSON_BEGIN_OBJECT, error)
      || !gemem_graph_json_end (json, error) || !read_program (&reader, error))
    g_clear_pointer (&reader.import.graph, gemem_graph_unref);
  gemem_json_tree_free (reader.tree);
  gemem_paddle_import_clear (&reader.import);
  gemem_json_free (json);
  return reader.import.graph;
}

static int
probe (const guint8 *head, gsize size)
{
  static const char *const keys[] = { "vars", "ops", "level", NULL };
  g_autofree char *format = NULL;
  const guint found = gemem_graph_json_keys (head, size, keys, &format);

  if (*format != '\0')
    return 0;
  return (found & 3u) == 3u || (found & 5u) == 5u ? 60 : (found & 1u) != 0 ? 30 : 0;
}

const GememGraphFormat gemem_graph_format_paddle = {
  .base = { .name = "paddle-program",
            .summary = "a straight-line PaddlePaddle program as JSON, read only",
            .origin = "paddle.md" },
  .extensions = "json|jsonl",
  .assumed = "paddle",
  .probe = probe,
  .read = read_graph,
};
