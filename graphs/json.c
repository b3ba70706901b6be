/* json.c - see json.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/json.h"

/* ---- documents */

static gboolean
skip_documents (GememJson *json, const char *name, guint n, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      const int token = gemem_json_next (json, error);
      int more = -1;

      if (token >= 0 && gemem_json_skip (json, token, error))
        more = gemem_json_next_document (json, error);
      if (more == 0)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                     "%s: there is no graph #%u; the file has %u, counted from 0", name, n, i + 1);
      if (more != 1)
        return FALSE;
    }
  return TRUE;
}

GememJson *
gemem_graph_json_begin (GememInput *input, guint index, char **where, GError **error)
{
  GememJson *json = gemem_json_new (input);
  int token = -1;

  *where = index > 0 ? g_strdup_printf ("%s#%u", gemem_input_name (input), index)
                     : g_strdup (gemem_input_name (input));
  if (skip_documents (json, gemem_input_name (input), index, error))
    token = gemem_json_next (json, error);
  if (token == GEMEM_JSON_BEGIN_OBJECT)
    return json;
  if (token >= 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: a graph is a JSON object {...}; this is something else", *where);
  gemem_json_free (json);
  g_clear_pointer (where, g_free);
  return NULL;
}

gboolean
gemem_graph_json_end (GememJson *json, GError **error)
{
  const int more = gemem_json_next_document (json, error);

  return more == 0 || (more == 1 && gemem_json_next (json, error) >= 0);
}

static void
note_key (GememJson *json, const char *const *keys, guint *found, char **format)
{
  const gboolean is_format = strcmp (gemem_json_text (json), "format") == 0;
  int token;

  for (guint i = 0; keys[i] != NULL; i++)
    if (strcmp (gemem_json_text (json), keys[i]) == 0)
      *found |= 1u << i;
  token = gemem_json_next (json, NULL);
  if (is_format && token == GEMEM_JSON_STRING)
    {
      g_free (*format);
      *format = g_strdup (gemem_json_text (json));
    }
  if (token >= 0)
    gemem_json_skip (json, token, NULL);
}

guint
gemem_graph_json_keys (const guint8 *head, gsize size, const char *const *keys, char **format)
{
  g_autoptr (GBytes) bytes = g_bytes_new (head, size);
  GememInput *input = gemem_input_new_from_bytes (bytes, "head");
  GememJson *json = gemem_json_new (input);
  guint found = 0;

  *format = g_strdup ("");
  if (gemem_json_next (json, NULL) == GEMEM_JSON_BEGIN_OBJECT)
    while (gemem_json_next (json, NULL) == GEMEM_JSON_KEY)
      note_key (json, keys, &found, format);
  gemem_json_free (json);
  gemem_input_close (input);
  return found;
}

/* ---- settings, shapes */

static const char *
scalar_text (const GememJsonTree *tree, guint32 entry, GError **error)
{
  switch (gemem_json_tree_token (tree, entry))
    {
    case GEMEM_JSON_TRUE:
      return "yes";
    case GEMEM_JSON_FALSE:
      return "no";
    case GEMEM_JSON_STRING:
    case GEMEM_JSON_NUMBER:
      return gemem_json_tree_text (tree, entry);
    default:
      gemem_json_tree_fail (tree, entry, error,
                            "must be a string, a number, true, false, or a list of those");
      return NULL;
    }
}

gboolean
gemem_graph_json_setting (GememGraph *graph, const GememJsonTree *tree, const char *key,
                          guint32 entry, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const gboolean list = gemem_json_tree_token (tree, entry) == GEMEM_JSON_BEGIN_ARRAY;

  for (guint32 i = list ? gemem_json_tree_first (tree, entry) : entry; i != 0;
       i = list ? gemem_json_tree_next (tree, entry, i) : 0)
    {
      const char *scalar = scalar_text (tree, i, error);

      if (scalar == NULL)
        return FALSE;
      g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", scalar);
    }
  gemem_graph_add_setting (graph, key, text->str);
  return TRUE;
}

gboolean
gemem_graph_json_shape (const GememJsonTree *tree, guint32 entry, GArray *dims, GError **error)
{
  g_array_set_size (dims, 0);
  return gemem_json_tree_ints (tree, entry, -G_MAXINT64, FALSE, dims, error);
}

gboolean
gemem_graph_json_dtype (const GememJsonTree *tree, guint32 entry, GememDtype *dtype, GError **error)
{
  const char *name;

  if (!gemem_json_tree_name (tree, entry, &name, error))
    return FALSE;
  *dtype = gemem_dtype_find (name);
  if (*dtype == GEMEM_DTYPE_UNKNOWN)
    {
      g_autofree char *known = g_strjoinv (", ", (char **) gemem_dtype_names ());

      return gemem_json_tree_fail (tree, entry, error, "'%s' is no element type; there are %s",
                                   name, known);
    }
  return TRUE;
}
