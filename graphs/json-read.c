/* json-read.c - reading our JSON graph format; every field is described in doc/graph-format.md.
 *
 * The members of the file are streamed; one node at a time is held as a tree, because its fields
 * may come in any order and the builder requires attributes before outputs.  Variables may be used
 * before they are listed; a variable never listed is an error at the end.  Memory: the graph, and
 * the largest node.  O(file).
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "graphs/json-node.h"

typedef GememGraphJsonReader Reader;

/* ---- the document */

enum
{
  MEMBER_FORMAT,
  MEMBER_VERSION,
  MEMBER_NAME,
  MEMBER_OPTIONS,
  MEMBER_PROVENANCE,
  MEMBER_DYNAMIC_ROOT,
  MEMBER_RELEASE_FIRST,
  MEMBER_VARIABLES,
  MEMBER_NODES,
  MEMBER_EXPECT,
  MEMBERS
};
static const char *const members[] = { "format",
                                       "version",
                                       "name",
                                       "options",
                                       "provenance",
                                       "dynamic_shape_partitioned",
                                       "mem_release_first_reuse_first",
                                       "variables",
                                       "nodes",
                                       "expect",
                                       NULL };

static gboolean
read_options (Reader *reader, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  if (!gemem_json_tree_is (tree, 0, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, 0); i != 0; i = gemem_json_tree_next (tree, 0, i))
    {
      const char *key = gemem_json_tree_key (tree, i);

      if (!g_hash_table_add (seen, (gpointer) key))
        return gemem_json_tree_fail (tree, i, error, "given twice");
      if (!gemem_graph_json_setting (reader->graph, tree, key, i, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_provenance (Reader *reader, GError **error)
{
  const GememJsonTree *tree = reader->tree;

  if (!gemem_json_tree_is (tree, 0, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, 0); i != 0; i = gemem_json_tree_next (tree, 0, i))
    {
      const char *text, *colon;
      g_autofree char *key = NULL;

      if (!gemem_json_tree_name (tree, i, &text, error))
        return FALSE;
      colon = strstr (text, ": ");
      if (colon == NULL)
        return gemem_json_tree_fail (tree, i, error, "must be \"KEY: VALUE\"");
      key = g_strndup (text, (gsize) (colon - text));
      gemem_graph_note (reader->graph, key, "%s", colon + 2);
    }
  return TRUE;
}

static gboolean
read_version (const Reader *reader, GError **error)
{
  gint64 version;

  if (!gemem_json_tree_int (reader->tree, 0, 1, &version, error))
    return FALSE;
  return version <= GEMEM_GRAPH_JSON_VERSION
         || gemem_json_tree_fail (reader->tree, 0, error,
                                  "%" G_GINT64_FORMAT
                                  " is newer than this program, which reads up to %d; update it",
                                  version, GEMEM_GRAPH_JSON_VERSION);
}

/* Reads a member that is a single value, which the tree holds. */
static gboolean
take_field (Reader *reader, guint field, GError **error)
{
  const GememJsonTree *tree = reader->tree;
  const char *text = "";
  gboolean flag = FALSE;

  switch (field)
    {
    case MEMBER_FORMAT:
      return gemem_json_tree_string (tree, 0, &text, error)
             && (strcmp (text, GEMEM_GRAPH_JSON_NAME) == 0
                 || gemem_json_tree_fail (tree, 0, error, "must be \"" GEMEM_GRAPH_JSON_NAME "\""));
    case MEMBER_VERSION:
      return read_version (reader, error);
    case MEMBER_NAME:
      if (!gemem_json_tree_name (tree, 0, &text, error))
        return FALSE;
      gemem_graph_set_name (reader->graph, text);
      return TRUE;
    case MEMBER_OPTIONS:
      return read_options (reader, error);
    case MEMBER_PROVENANCE:
      return read_provenance (reader, error);
    default:
      if (!gemem_json_tree_bool (tree, 0, &flag, error))
        return FALSE;
      if (field == MEMBER_DYNAMIC_ROOT)
        gemem_graph_set_dynamic_root (reader->graph, flag);
      else
        gemem_graph_set_release_first (reader->graph, flag);
      return TRUE;
    }
}

/* Reads the elements of "nodes" or "variables", each through the tree. */
static gboolean
read_elements (Reader *reader, GememJson *json, const char *field,
               gboolean (*read) (Reader *, guint32, GError **), GError **error)
{
  int token = gemem_json_next (json, error);
  guint32 position = 0;

  if (token != GEMEM_JSON_BEGIN_ARRAY)
    {
      if (token >= 0)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s: must be a list [...]",
                     reader->where, field);
      return FALSE;
    }
  while ((token = gemem_json_next (json, error)) != GEMEM_JSON_END_ARRAY)
    {
      gemem_json_tree_set_where (reader->tree, "%s: %s[%u]", reader->where, field, position);
      if (!gemem_json_tree_read (reader->tree, json, token, error)
          || !read (reader, position++, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_member (Reader *reader, GememJson *json, guint field, GError **error)
{
  const gboolean skip = field == MEMBER_EXPECT || field == MEMBERS;
  int token;

  if (field == MEMBER_NODES)
    return read_elements (reader, json, "nodes", gemem_graph_json_read_node, error);
  if (field == MEMBER_VARIABLES)
    return read_elements (reader, json, "variables", gemem_graph_json_read_variable, error);
  token = gemem_json_next (json, error);
  if (token < 0)
    return FALSE;
  if (skip)
    return gemem_json_skip (json, token, error);
  gemem_json_tree_set_where (reader->tree, "%s: %s", reader->where, members[field]);
  return gemem_json_tree_read (reader->tree, json, token, error)
         && take_field (reader, field, error);
}

/* Index of the key just read; MEMBERS: ignore it; -1: an error. */
static int
find_field (const Reader *reader, const GememJson *json, guint *seen, GError **error)
{
  const char *key = gemem_json_text (json);
  int field = 0;

  while (members[field] != NULL && strcmp (members[field], key) != 0)
    field++;
  if (field < MEMBERS && (*seen & 1u << field) != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s: given twice", reader->where,
                   key);
      return -1;
    }
  *seen |= 1u << field;
  if (field == MEMBERS && !g_str_has_prefix (key, "x_"))
    {
      const char *near = gemem_suggest (key, members);
      g_autofree char *shown = g_strescape (key, NULL);

      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: '%.100s' is not known here; %s%s%s",
                   reader->where, shown,
                   near != NULL ? "did you mean '" : "see doc/graph-format.md",
                   near != NULL ? near : "", near != NULL ? "'?" : "");
      return -1;
    }
  return field;
}

static gboolean
read_document (Reader *reader, GememJson *json, GError **error)
{
  guint seen = 0;
  int token;

  while ((token = gemem_json_next (json, error)) == GEMEM_JSON_KEY)
    {
      const int field = find_field (reader, json, &seen, error);

      if (field < 0 || !read_member (reader, json, (guint) field, error))
        return FALSE;
    }
  if (token < 0 || !gemem_graph_json_end (json, error))
    return FALSE;
  if ((seen & 1u << MEMBER_NODES) == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: no \"nodes\"; this is no graph",
                   reader->where);
      return FALSE;
    }
  return gemem_graph_json_bind_variables (reader, error)
         && gemem_graph_seal (reader->graph, reader->where, error);
}

static GememGraph *
read_graph (GememInput *input, guint index, G_GNUC_UNUSED GememGraphDims *dims, GError **error)
{
  g_autofree char *where = NULL;
  g_autofree char *base = g_path_get_basename (gemem_input_name (input));
  GememJson *json = gemem_graph_json_begin (input, index, &where, error);
  Reader reader;

  if (json == NULL)
    return NULL;
  reader = (Reader){ where,
                     GEMEM_NONE,
                     gemem_graph_new (base),
                     gemem_json_tree_new (),
                     g_array_new (FALSE, FALSE, sizeof (guint32)),
                     g_hash_table_new (g_direct_hash, g_direct_equal),
                     g_array_new (FALSE, FALSE, sizeof (gint64)),
                     g_ptr_array_new () };
  if (!read_document (&reader, json, error))
    g_clear_pointer (&reader.graph, gemem_graph_unref);
  gemem_json_tree_free (reader.tree);
  g_array_unref (reader.users);
  g_hash_table_unref (reader.exact);
  g_array_unref (reader.ints);
  g_ptr_array_unref (reader.texts);
  gemem_json_free (json);
  return reader.graph;
}

/* ---- the format */

static int
probe (const guint8 *head, gsize size)
{
  static const char *const keys[] = { "nodes", "version", NULL };
  g_autofree char *format = NULL;
  const guint found = gemem_graph_json_keys (head, size, keys, &format);

  if (strcmp (format, GEMEM_GRAPH_JSON_NAME) == 0)
    return 100;
  return *format == '\0' && (found & 1u) != 0 ? 50 : 0;
}

const GememGraphFormat gemem_graph_format_json = {
  .base = { .name = GEMEM_GRAPH_JSON_NAME,
            .summary = "nodes, tensors, streams and attributes as JSON, read and written",
            .origin = "doc/graph-format.md" },
  .extensions = "json|jsonl",
  .probe = probe,
  .read = read_graph,
  .write = gemem_graph_json_write,
};
