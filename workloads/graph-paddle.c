/* graph-paddle.c - graph format `paddle-program`: a straight-line PaddlePaddle program as JSON, read only.
 *
 * {"name", "level", "skip_opt_set", "vars": {NAME: {"shape", "dtype", "persistable"}}, "ops": [{"type", "inputs", "outputs"}], "expect"}: the form of
 * the vectors of memory_optimize.  Operator i becomes the node "op<i>", each of its outputs a tensor that writes a variable; an input is the
 * latest tensor that writes its variable, else the variable itself.  "@EMPTY@" is a variable that nothing writes.  `level` and
 * `skip_opt_set` become settings; `expect` is for tests and passed over.
 *
 * Memory: the program as a tree, at most 16 bytes per value and its text, and the graph.  O(file).  Origin: paddle.md.
 */
#include "config.h"

#include <string.h>

#include "sim/core/error.h"
#include "workloads/graph-json.h"

#define EMPTY "@EMPTY@"

enum { NAME, LEVEL, SKIP_OPT_SET, VARS, OPS, EXPECT, FIELDS };
static const char *const fields[] = { "name", "level", "skip_opt_set", "vars", "ops", "expect", NULL };

enum { VAR_SHAPE, VAR_DTYPE, VAR_PERSISTABLE, VAR_FIELDS };
static const char *const var_fields[] = { "shape", "dtype", "persistable", NULL };

enum { OP_TYPE, OP_INPUTS, OP_OUTPUTS, OP_FIELDS };
static const char *const op_fields[] = { "type", "inputs", "outputs", NULL };

typedef struct
{
  GememGraph    *graph;
  GememJsonTree *tree;
  GArray        *dims;   /* gint64, scratch                                      */
  GArray        *writer; /* guint32 by variable: the tensor that wrote it last */
} Reader;

static const gint64 *
dims_of (const Reader *reader)
{
  static const gint64 none;

  return reader->dims->len > 0 ? (const gint64 *) (gconstpointer) reader->dims->data : &none;
}

/* ---- variables */

static gboolean
read_var (Reader *reader, guint32 entry, GError **error)
{
  const char *name = gemem_json_tree_key (reader->tree, entry);
  guint32 at[VAR_FIELDS];
  GememDtype dtype = GEMEM_DTYPE_UNKNOWN;
  gboolean persistable = FALSE;
  guint64 bytes;

  if (*name == '\0' || gemem_graph_find_variable (reader->graph, name) != GEMEM_NONE)
    return gemem_json_tree_fail (reader->tree, entry, error, *name == '\0' ? "a variable without name" : "given twice");
  if (!gemem_json_tree_fields (reader->tree, entry, var_fields, at, error))
    return FALSE;
  if (at[VAR_SHAPE] == 0 || at[VAR_DTYPE] == 0)
    return gemem_json_tree_fail (reader->tree, entry, error, "%s: is missing", at[VAR_SHAPE] == 0 ? "shape" : "dtype");
  if (!gemem_graph_json_shape (reader->tree, at[VAR_SHAPE], reader->dims, error)
      || !gemem_graph_json_dtype (reader->tree, at[VAR_DTYPE], &dtype, error)
      || (at[VAR_PERSISTABLE] != 0 && !gemem_json_tree_bool (reader->tree, at[VAR_PERSISTABLE], &persistable, error)))
    return FALSE;
  if (!gemem_dtype_bytes (dtype, dims_of (reader), reader->dims->len, &bytes))
    return gemem_json_tree_fail (reader->tree, at[VAR_SHAPE], error, "more than 2^63 bytes; a dimension is wrong");
  gemem_graph_add_variable (reader->graph, name, dtype, dims_of (reader), reader->dims->len, persistable);
  return TRUE;
}

static gboolean
read_vars (Reader *reader, guint32 vars, GError **error)
{
  if (!gemem_json_tree_is (reader->tree, vars, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (reader->tree, vars); i != 0; i = gemem_json_tree_next (reader->tree, vars, i))
    if (!read_var (reader, i, error))
      return FALSE;
  gemem_graph_add_variable (reader->graph, EMPTY, GEMEM_DTYPE_UNKNOWN, NULL, 0, FALSE);
  g_array_set_size (reader->writer, gemem_graph_n_variables (reader->graph));
  memset (reader->writer->data, 0xff, sizeof (guint32) * reader->writer->len);
  return TRUE;
}

/* ---- operators */

static gboolean
find_variable (const Reader *reader, guint32 entry, guint32 *variable, GError **error)
{
  const char *name;

  if (!gemem_json_tree_name (reader->tree, entry, &name, error))
    return FALSE;
  *variable = gemem_graph_find_variable (reader->graph, name);
  return *variable != GEMEM_NONE || gemem_json_tree_fail (reader->tree, entry, error, "variable '%s' is not in \"vars\"", name);
}

static gboolean
read_inputs (Reader *reader, guint32 list, GError **error)
{
  for (guint32 i = gemem_json_tree_first (reader->tree, list); i != 0; i = gemem_json_tree_next (reader->tree, list, i))
    {
      guint32 variable, tensor;

      if (!find_variable (reader, i, &variable, error))
        return FALSE;
      tensor = g_array_index (reader->writer, guint32, variable);
      if (tensor != GEMEM_NONE)
        {
          const GememTensor *t = gemem_graph_tensor (reader->graph, tensor);

          gemem_graph_add_input (reader->graph, gemem_graph_node (reader->graph, t->node)->name, t->index);
        }
      else
        gemem_graph_add_variable_input (reader->graph, variable);
    }
  return TRUE;
}

static gboolean
read_outputs (Reader *reader, guint32 list, GError **error)
{
  for (guint32 i = gemem_json_tree_first (reader->tree, list); i != 0; i = gemem_json_tree_next (reader->tree, list, i))
    {
      const GememVariable *v;
      guint32 variable, tensor;

      if (!find_variable (reader, i, &variable, error))
        return FALSE;
      v = gemem_graph_variable (reader->graph, variable);
      tensor = gemem_graph_add_output (reader->graph, v->size);
      gemem_graph_edit_output (reader->graph)->variable = variable;
      g_array_set_size (reader->dims, 0);
      if (v->n_dims > 0) /* copied first: adding dims may move those of the graph */
        g_array_append_vals (reader->dims, gemem_graph_dims (reader->graph, v->first_dim), v->n_dims);
      if (v->has_shape)
        gemem_graph_set_shape (reader->graph, v->dtype, dims_of (reader), reader->dims->len);
      if (strcmp (v->name, EMPTY) != 0)
        g_array_index (reader->writer, guint32, variable) = tensor;
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
  gemem_graph_add_node (reader->graph, name, type);
  return read_inputs (reader, at[OP_INPUTS], error) && read_outputs (reader, at[OP_OUTPUTS], error);
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
    return gemem_json_tree_fail (tree, 0, error, "no \"%s\"; this is no program", at[VARS] == 0 ? "vars" : "ops");
  if (at[NAME] != 0)
    {
      if (!gemem_json_tree_name (tree, at[NAME], &name, error))
        return FALSE;
      gemem_graph_set_name (reader->graph, name);
    }
  for (guint i = LEVEL; i <= SKIP_OPT_SET; i++)
    if (at[i] != 0 && !gemem_graph_json_setting (reader->graph, tree, fields[i], at[i], error))
      return FALSE;
  if (!read_vars (reader, at[VARS], error) || !gemem_json_tree_is (tree, at[OPS], GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, at[OPS]); i != 0; i = gemem_json_tree_next (tree, at[OPS], i))
    if (!read_op (reader, i, position++, error))
      return FALSE;
  return gemem_graph_seal (reader->graph, gemem_json_tree_where (tree), error);
}

static GememGraph *
read_graph (GememInput *input, guint index, GError **error)
{
  g_autofree char *where = NULL;
  g_autofree char *base = g_path_get_basename (gemem_input_name (input));
  GememJson *json = gemem_graph_json_begin (input, index, &where, error);
  Reader reader;

  if (json == NULL)
    return NULL;
  reader = (Reader) { gemem_graph_new (base), gemem_json_tree_new (), g_array_new (FALSE, FALSE, sizeof (gint64)),
                      g_array_new (FALSE, FALSE, sizeof (guint32)) };
  gemem_json_tree_set_where (reader.tree, "%s", where);
  if (!gemem_json_tree_read (reader.tree, json, GEMEM_JSON_BEGIN_OBJECT, error) || !gemem_graph_json_end (json, error)
      || !read_program (&reader, error))
    g_clear_pointer (&reader.graph, gemem_graph_unref);
  gemem_json_tree_free (reader.tree);
  g_array_unref (reader.dims);
  g_array_unref (reader.writer);
  gemem_json_free (json);
  return reader.graph;
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
  .base = { .name = "paddle-program", .summary = "a straight-line PaddlePaddle program as JSON, read only", .origin = "paddle.md" },
  .extensions = "json|jsonl",
  .probe = probe,
  .read = read_graph,
};
