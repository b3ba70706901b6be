/* key-file.c - see key-file.h: a first pass notes the line of each group and key, and refuses what
 * GKeyFile would accept (a repeated one); GKeyFile then reads the values.
 *
 * Invariants: a line is an empty one, a comment, a group or a key of one.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/key-file.h"

static guint
line_of (const GememKeyFile *file, const char *group, const char *key)
{
  g_autofree char *place = key != NULL ? g_strdup_printf ("%s]%s", group, key) : g_strdup (group);
  return GPOINTER_TO_UINT (g_hash_table_lookup (file->lines, place));
}

gboolean
gemem_key_file_complain (const GememKeyFile *file, const char *group, const char *key,
                         GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s:%u: [%s]%s%s: %s", file->path,
               line_of (file, group, key), group, key != NULL ? " " : "", key != NULL ? key : "",
               message);
  return FALSE;
}

static gboolean
note_line (GememKeyFile *file, const char *line, guint number, char **group, GError **error)
{
  const char *equals = strchr (line, '=');
  char *place;

  if (*line == '\0' || *line == '#')
    return TRUE;
  if (*line == '[' && g_str_has_suffix (line, "]") && strlen (line) > 2)
    {
      g_free (*group);
      *group = g_strndup (line + 1, strlen (line) - 2);
      place = g_strdup (*group);
    }
  else if (equals != NULL && equals > line && *group != NULL)
    {
      g_autofree char *key = g_strstrip (g_strndup (line, equals - line));
      place = g_strdup_printf ("%s]%s", *group, key);
    }
  else
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s:%u: '%.40s' is no '[group]', 'key=value' or '# comment'%s", file->path,
                   number, line,
                   equals != NULL && *group == NULL ? "; keys come after a [group] line"
                                                    : "; correct or remove the line");
      return FALSE;
    }
  if (g_hash_table_contains (file->lines, place))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s:%u: '%s' is given twice, first in line %u; keep one", file->path, number,
                   line, GPOINTER_TO_UINT (g_hash_table_lookup (file->lines, place)));
      g_free (place);
      return FALSE;
    }
  g_hash_table_insert (file->lines, place, GUINT_TO_POINTER (number));
  return TRUE;
}

static gboolean
note_lines (GememKeyFile *file, const char *text, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autofree char *group = NULL;

  for (guint i = 0; lines[i] != NULL; i++)
    if (!note_line (file, g_strstrip (lines[i]), i + 1, &group, error))
      return FALSE;
  return TRUE;
}

GememKeyFile *
gemem_key_file_parse (const char *text, gsize length, const char *path, const char *what,
                      GError **error)
{
  g_autofree char *copy = g_strndup (text, length); /* the first pass needs a terminating NUL */
  g_autoptr (GememKeyFile) file = g_new0 (GememKeyFile, 1);
  g_autoptr (GError) cause = NULL;

  file->path = g_strdup (path);
  file->keys = g_key_file_new ();
  file->lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (!g_utf8_validate (copy, (gssize) length, NULL))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: not a text file in UTF-8; %s", path,
                 what);
  else if (!note_lines (file, copy, error))
    return NULL;
  else if (length > 0
           && !g_key_file_load_from_data (file->keys, copy, length, G_KEY_FILE_NONE, &cause))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s", path, cause->message);
  else
    return g_steal_pointer (&file);
  return NULL;
}

void
gemem_key_file_free (GememKeyFile *file)
{
  if (file == NULL)
    return;
  g_free (file->path);
  g_key_file_unref (file->keys);
  g_hash_table_unref (file->lines);
  g_free (file);
}
