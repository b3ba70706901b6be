/* json-tree.c - see json-tree.h.
 *
 * The tree is a flat array of entries in document order; `end` of an entry is the number of the
 * first entry after its content.  Paths for messages are reconstructed by a walk from the root, so
 * that they cost nothing without an error.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/io/json-tree.h"
#include "base/params.h"

#define MAX_VALUES (1u << 22)
#define MAX_TEXT (1u << 26)

typedef struct
{
  guint32 key, text; /* offsets in `texts`; 0: "" */
  guint32 end;
  guint32 token;
} Entry;

struct _GememJsonTree
{
  GArray *entries, *open; /* Entry; guint32 */
  GString *texts, *where;
  guint32 most_values, most_text;
};

GememJsonTree *
gemem_json_tree_new (void)
{
  GememJsonTree *tree = g_new (GememJsonTree, 1);

  tree->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  tree->open = g_array_new (FALSE, FALSE, sizeof (guint32));
  tree->texts = g_string_new (NULL);
  tree->where = g_string_new (NULL);
  gemem_json_tree_set_limits (tree, MAX_VALUES, MAX_TEXT);
  return tree;
}

void
gemem_json_tree_set_limits (GememJsonTree *tree, guint32 values, guint32 text)
{
  tree->most_values = values;
  tree->most_text = text;
}

void
gemem_json_tree_free (GememJsonTree *tree)
{
  g_array_unref (tree->entries);
  g_array_unref (tree->open);
  g_string_free (tree->texts, TRUE);
  g_string_free (tree->where, TRUE);
  g_free (tree);
}

void
gemem_json_tree_set_where (GememJsonTree *tree, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_string_vprintf (tree->where, format, args);
  va_end (args);
}

const char *
gemem_json_tree_where (const GememJsonTree *tree)
{
  return tree->where->str;
}

static Entry *
at (const GememJsonTree *tree, guint32 entry)
{
  return &g_array_index (tree->entries, Entry, entry);
}

/* ---- reading */

static gboolean G_GNUC_PRINTF (4, 5) fail_reading (const GememJsonTree *tree, const GememJson *json,
                                                   GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: line %" G_GUINT64_FORMAT ": %s",
               tree->where->str, gemem_json_line (json), what);
  return FALSE;
}

static gboolean
keep_text (GememJsonTree *tree, const GememJson *json, guint32 *offset, GError **error)
{
  const char *text = gemem_json_text (json);
  const gsize length = gemem_json_text_length (json);

  if (length > gemem_json_whole_text (json))
    return fail_reading (tree, json, error, "a text of more than %zu bytes; shorten it",
                         gemem_json_whole_text (json));
  if (!g_utf8_validate (text, (gssize) length, NULL))
    return fail_reading (tree, json, error,
                         "a text that is not UTF-8, or holds a zero byte; the file is damaged");
  *offset = (guint32) tree->texts->len;
  g_string_append_len (tree->texts, text, (gssize) length + 1);
  return TRUE;
}

static gboolean
add_value (GememJsonTree *tree, const GememJson *json, guint32 token, guint32 key, GError **error)
{
  Entry entry = { .key = key, .token = token };
  const guint32 number = tree->entries->len;

  if ((token == GEMEM_JSON_STRING || token == GEMEM_JSON_NUMBER)
      && !keep_text (tree, json, &entry.text, error))
    return FALSE;
  entry.end = number + 1;
  g_array_append_val (tree->entries, entry);
  if (token == GEMEM_JSON_BEGIN_OBJECT || token == GEMEM_JSON_BEGIN_ARRAY)
    g_array_append_val (tree->open, number);
  return TRUE;
}

static gboolean
has_space (const GememJsonTree *tree, const GememJson *json, GError **error)
{
  return (tree->entries->len < tree->most_values && tree->texts->len < tree->most_text)
         || fail_reading (tree, json, error,
                          "more than %u values or %u bytes; too large to be read at once",
                          tree->most_values, tree->most_text);
}

static void
close_value (GememJsonTree *tree)
{
  at (tree, g_array_index (tree->open, guint32, tree->open->len - 1))->end = tree->entries->len;
  g_array_set_size (tree->open, tree->open->len - 1);
}

gboolean
gemem_json_tree_read (GememJsonTree *tree, GememJson *json, int token, GError **error)
{
  guint32 key = 0;

  g_array_set_size (tree->entries, 0);
  g_array_set_size (tree->open, 0);
  g_string_truncate (tree->texts, 0);
  g_string_append_c (tree->texts, '\0');
  for (;; token = gemem_json_next (json, error))
    {
      if (token < 0 || !has_space (tree, json, error))
        return FALSE;
      if (token == GEMEM_JSON_KEY)
        {
          if (!keep_text (tree, json, &key, error))
            return FALSE;
          continue;
        }
      if (token == GEMEM_JSON_END_OBJECT || token == GEMEM_JSON_END_ARRAY)
        close_value (tree);
      else if (!add_value (tree, json, (guint32) token, key, error))
        return FALSE;
      key = 0;
      if (tree->open->len == 0)
        return TRUE;
    }
}

GememJsonTree *
gemem_json_tree_load (GememInput *input, GError **error)
{
  GememJsonTree *tree = gemem_json_tree_new ();
  GememJson *json = gemem_json_new (input);
  const int token = gemem_json_next (json, error);

  gemem_json_tree_set_where (tree, "%s", gemem_input_name (input));
  if (token < 0 || !gemem_json_tree_read (tree, json, token, error)
      || gemem_json_next (json, error) != GEMEM_JSON_END)
    g_clear_pointer (&tree, gemem_json_tree_free);
  gemem_json_free (json);
  return tree;
}

GememJsonToken
gemem_json_tree_token (const GememJsonTree *tree, guint32 entry)
{
  return (GememJsonToken) at (tree, entry)->token;
}

const char *
gemem_json_tree_key (const GememJsonTree *tree, guint32 entry)
{
  return tree->texts->str + at (tree, entry)->key;
}

const char *
gemem_json_tree_text (const GememJsonTree *tree, guint32 entry)
{
  return tree->texts->str + at (tree, entry)->text;
}

guint32
gemem_json_tree_first (const GememJsonTree *tree, guint32 parent)
{
  return parent + 1 < at (tree, parent)->end ? parent + 1 : 0;
}

guint32
gemem_json_tree_next (const GememJsonTree *tree, guint32 parent, guint32 child)
{
  const guint32 end = at (tree, child)->end;

  return end < at (tree, parent)->end ? end : 0;
}

guint32
gemem_json_tree_find (const GememJsonTree *tree, guint32 object, const char *name)
{
  if (gemem_json_tree_token (tree, object) != GEMEM_JSON_BEGIN_OBJECT)
    return 0;
  for (guint32 child = gemem_json_tree_first (tree, object); child != 0;
       child = gemem_json_tree_next (tree, object, child))
    if (strcmp (gemem_json_tree_key (tree, child), name) == 0)
      return child;
  return 0;
}

gboolean
gemem_json_tree_check_names (const GememJsonTree *tree, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint32 object = 0; object < tree->entries->len; object++)
    if (gemem_json_tree_token (tree, object) == GEMEM_JSON_BEGIN_OBJECT)
      {
        g_hash_table_remove_all (names);
        for (guint32 i = gemem_json_tree_first (tree, object); i != 0;
             i = gemem_json_tree_next (tree, object, i))
          if (!g_hash_table_add (names, (gpointer) gemem_json_tree_key (tree, i)))
            return gemem_json_tree_fail (tree, i, error, "given twice");
      }
  return TRUE;
}

/* ---- messages */

static void
append_step (const GememJsonTree *tree, guint32 parent, guint32 child, GString *path)
{
  guint32 index = 0;

  if (gemem_json_tree_token (tree, parent) == GEMEM_JSON_BEGIN_OBJECT)
    {
      g_string_append_printf (path, "%s%s", path->len > 0 ? "." : "",
                              gemem_json_tree_key (tree, child));
      return;
    }
  for (guint32 i = gemem_json_tree_first (tree, parent); i != child;
       i = gemem_json_tree_next (tree, parent, i))
    index++;
  g_string_append_printf (path, "[%u]", index);
}

/* "outputs[1].size" */
static char *
path_of (const GememJsonTree *tree, guint32 entry)
{
  GString *path = g_string_new (NULL);
  guint32 parent = 0;

  while (parent != entry)
    {
      guint32 child = gemem_json_tree_first (tree, parent);

      while (at (tree, child)->end <= entry)
        child = gemem_json_tree_next (tree, parent, child);
      append_step (tree, parent, child, path);
      parent = child;
    }
  return g_string_free (path, FALSE);
}

/* Escapes control characters, because a message is one line. */
static char *
one_line (const char *text)
{
  char keep[131] = "\"\\";

  for (guint i = 0; i < 128; i++)
    keep[2 + i] = (char) (128 + i);
  keep[130] = '\0';
  return g_strescape (text, keep);
}

gboolean
gemem_json_tree_fail (const GememJsonTree *tree, guint32 entry, GError **error, const char *format,
                      ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *path = path_of (tree, entry);
  g_autofree char *whole = g_strdup_printf ("%s: %s%s%s", tree->where->str, path,
                                            *path != '\0' ? ": " : "", what);
  g_autofree char *line = one_line (whole);

  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, line);
  return FALSE;
}

gboolean
gemem_json_tree_fail_unknown (const GememJsonTree *tree, guint32 entry, const char *const *names,
                              GError **error)
{
  const char *near = gemem_suggest (gemem_json_tree_key (tree, entry), names);

  if (near != NULL)
    return gemem_json_tree_fail (tree, entry, error, "not known here; did you mean '%s'?", near);
  return gemem_json_tree_fail (
      tree, entry, error,
      "not known here; doc/ describes the formats, and names beginning with x_ are ignored");
}

/* ---- values */

static const char *
kind_name (GememJsonToken token)
{
  switch (token)
    {
    case GEMEM_JSON_BEGIN_OBJECT:
      return "an object {...}";
    case GEMEM_JSON_BEGIN_ARRAY:
      return "a list [...]";
    case GEMEM_JSON_STRING:
      return "a string";
    case GEMEM_JSON_NUMBER:
      return "a number";
    case GEMEM_JSON_NULL:
      return "null";
    default:
      return "true or false";
    }
}

gboolean
gemem_json_tree_is (const GememJsonTree *tree, guint32 entry, GememJsonToken token, GError **error)
{
  const GememJsonToken found = gemem_json_tree_token (tree, entry);

  if (found == token)
    return TRUE;
  return gemem_json_tree_fail (tree, entry, error, "must be %s, not %s", kind_name (token),
                               kind_name (found));
}

gboolean
gemem_json_tree_fields (const GememJsonTree *tree, guint32 object, const char *const *names,
                        guint32 *found, GError **error)
{
  if (!gemem_json_tree_is (tree, object, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++)
    found[i] = 0;
  for (guint32 child = gemem_json_tree_first (tree, object); child != 0;
       child = gemem_json_tree_next (tree, object, child))
    {
      const char *key = gemem_json_tree_key (tree, child);
      guint i = 0;

      while (names[i] != NULL && strcmp (names[i], key) != 0)
        i++;
      if (names[i] == NULL && g_str_has_prefix (key, "x_"))
        continue;
      if (names[i] == NULL)
        return gemem_json_tree_fail_unknown (tree, child, names, error);
      if (found[i] != 0)
        return gemem_json_tree_fail (tree, child, error, "given twice");
      found[i] = child;
    }
  return TRUE;
}

gboolean
gemem_json_tree_int (const GememJsonTree *tree, guint32 entry, gint64 min, gint64 *value,
                     GError **error)
{
  const char *text;

  if (!gemem_json_tree_is (tree, entry, GEMEM_JSON_NUMBER, error))
    return FALSE;
  text = gemem_json_tree_text (tree, entry);
  if (strpbrk (text, ".eE") != NULL)
    return gemem_json_tree_fail (tree, entry, error,
                                 "%s is no integer; write it without fraction and exponent", text);
  errno = 0;
  *value = g_ascii_strtoll (text, NULL, 10);
  if (errno != 0)
    return gemem_json_tree_fail (tree, entry, error, "%s does not fit in 63 bits", text);
  if (*value < min)
    return gemem_json_tree_fail (tree, entry, error,
                                 "%s is too small; the least is %" G_GINT64_FORMAT, text, min);
  return TRUE;
}

gboolean
gemem_json_tree_bool (const GememJsonTree *tree, guint32 entry, gboolean *value, GError **error)
{
  *value = gemem_json_tree_token (tree, entry) == GEMEM_JSON_TRUE;
  return *value || gemem_json_tree_is (tree, entry, GEMEM_JSON_FALSE, error);
}

gboolean
gemem_json_tree_string (const GememJsonTree *tree, guint32 entry, const char **text, GError **error)
{
  *text = gemem_json_tree_text (tree, entry);
  return gemem_json_tree_is (tree, entry, GEMEM_JSON_STRING, error);
}

/* TRUE if @text, at @entry, can be a name. */
static gboolean
check_name (const GememJsonTree *tree, guint32 entry, const char *text, GError **error)
{
  if (*text == '\0')
    return gemem_json_tree_fail (tree, entry, error, "is empty; give it a name");
  for (const char *c = text; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c))
      return gemem_json_tree_fail (
          tree, entry, error,
          "'%s' holds a control character; names are shown in messages and tables", text);
  return TRUE;
}

gboolean
gemem_json_tree_name (const GememJsonTree *tree, guint32 entry, const char **text, GError **error)
{
  return gemem_json_tree_string (tree, entry, text, error)
         && check_name (tree, entry, *text, error);
}

gboolean
gemem_json_tree_key_name (const GememJsonTree *tree, guint32 entry, const char **text,
                          GError **error)
{
  *text = gemem_json_tree_key (tree, entry);
  return check_name (tree, entry, *text, error);
}

gboolean
gemem_json_tree_ints (const GememJsonTree *tree, guint32 entry, gint64 min, gboolean nested,
                      GArray *values, GError **error)
{
  if (!gemem_json_tree_is (tree, entry, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, entry); i != 0;
       i = gemem_json_tree_next (tree, entry, i))
    {
      const gboolean list = nested && gemem_json_tree_token (tree, i) == GEMEM_JSON_BEGIN_ARRAY;
      gint64 value = 0;

      if (list ? !gemem_json_tree_ints (tree, i, min, FALSE, values, error)
               : !gemem_json_tree_int (tree, i, min, &value, error))
        return FALSE;
      if (!list)
        g_array_append_val (values, value);
    }
  return TRUE;
}
