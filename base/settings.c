/* settings.c - parses and writes "key=value,key=value", the text after the name of an allocator or
 * device.
 *
 * A comma ends a setting unless it is within [ ], within quotes, or after a backslash; so values of
 * the real systems can be written unchanged ("roundup_power2_divisions=[256:1,512:2]").  Quotes and
 * backslashes are removed; brackets are part of the value.  Spaces around keys and values are
 * ignored unless quoted.
 * Nothing is silently dropped: an empty setting, a missing '=' and an open bracket or quote are
 * errors.
 *
 * gemem_settings_quote() is the inverse: its result, after "key=", parses back to the same value.
 * Cost: linear in the text.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"

static void
setting_free (gpointer data)
{
  GememSetting *setting = data;
  g_free (setting->key);
  g_free (setting->value);
  g_free (setting);
}

GPtrArray *
gemem_settings_new (void)
{
  return g_ptr_array_new_with_free_func (setting_free);
}

void
gemem_settings_add (GPtrArray *settings, const char *key, const char *value)
{
  GememSetting *setting = g_new (GememSetting, 1);

  setting->key = g_strdup (key);
  setting->value = g_strdup (value);
  g_ptr_array_add (settings, setting);
}

void
gemem_settings_append (GPtrArray *settings, const GPtrArray *more)
{
  for (guint i = 0; more != NULL && i < more->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (more, i);
      gemem_settings_add (settings, setting->key, setting->value);
    }
}

const char *
gemem_settings_value (const GPtrArray *settings, const char *key)
{
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      if (strcmp (setting->key, key) == 0)
        return setting->value;
    }
  return NULL;
}

/* Reads one value into @value, up to a comma on the outer level or the end, without quotes and
 * backslashes.  Returns the end of the value, or NULL with *@problem set. */
static const char *
scan_value (const char *p, GString *value, const char **problem)
{
  gsize keep = 0; /* length up to which trailing spaces are kept */
  guint depth = 0;
  char quote = '\0';

  for (; *p != '\0' && (*p != ',' || depth > 0 || quote != '\0'); p++)
    if (*p == '\\' && p[1] != '\0' && quote != '\'')
      {
        g_string_append_c (value, *++p);
        keep = value->len;
      }
    else if (quote != '\0' ? *p == quote : (*p == '"' || *p == '\''))
      {
        quote = quote != '\0' ? '\0' : *p;
        keep = value->len;
      }
    else
      {
        if (quote == '\0' && *p == ']' && depth-- == 0)
          {
            *problem = "']' without '['; put quotes around the value";
            return NULL;
          }
        depth += quote == '\0' && *p == '[';
        g_string_append_c (value, *p);
        if (quote != '\0' || *p != ' ')
          keep = value->len;
      }
  if (quote != '\0')
    *problem = "a quote is not closed; add the second one";
  else if (depth > 0)
    *problem = "'[' is not closed; add ']'";
  g_string_truncate (value, keep);
  return *problem == NULL ? p : NULL;
}

/* Reads one setting from *@text and moves *@text behind it. */
static GememSetting *
scan_setting (const char **text, const char **problem)
{
  const char *start = *text + strspn (*text, " ");
  const char *equals = start + strcspn (start, "=,");

  if (*equals != '=')
    *problem = *start == ',' || *start == '\0'
                   ? "an empty setting; remove the ','"
                   : "a setting without '='; write NAME=VALUE, in quotes if "
                     "the value has commas";
  else if (equals == start)
    *problem = "no name before '='; write NAME=VALUE";
  if (*problem != NULL)
    return NULL;

  g_autoptr (GString) value = g_string_new (NULL);
  const char *end = scan_value (equals + 1 + strspn (equals + 1, " "), value, problem);
  if (end == NULL)
    return NULL;
  GememSetting *setting = g_new (GememSetting, 1);
  setting->key = g_strchomp (g_strndup (start, (gsize) (equals - start)));
  setting->value = g_strdup (value->str);
  *text = end;
  return setting;
}

gboolean
gemem_check_text (const char *kind, const char *text, GError **error)
{
  g_autofree char *valid = NULL;

  if (g_utf8_validate (text, -1, NULL))
    return TRUE;
  valid = g_utf8_make_valid (text, -1);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s '%s': not text in UTF-8; write NAME:key=value, without other bytes", kind,
               valid);
  return FALSE;
}

GPtrArray *
gemem_settings_parse (const char *text, GError **error)
{
  g_autoptr (GPtrArray) settings = gemem_settings_new ();
  const char *p = text;
  const char *problem = NULL;

  if (text[strspn (text, " ")] == '\0')
    return g_steal_pointer (&settings);
  if (!gemem_check_text ("settings", text, error)) /* they may come from a trace */
    return NULL;
  for (;;)
    {
      GememSetting *setting = scan_setting (&p, &problem);
      if (setting == NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': setting %u: %s", text,
                       settings->len + 1, problem);
          return NULL;
        }
      g_ptr_array_add (settings, setting);
      if (*p == '\0')
        return g_steal_pointer (&settings);
      p++; /* the comma */
    }
}

/* TRUE if @value needs no quotes: it has no special character except within balanced brackets. */
static gboolean
is_plain (const char *value)
{
  gsize length = strlen (value);
  guint depth = 0;

  if (length > 0 && (value[0] == ' ' || value[length - 1] == ' '))
    return FALSE;
  for (const char *p = value; *p != '\0'; p++)
    if (strchr ("\"'\\", *p) != NULL || (*p == ',' && depth == 0) || (*p == ']' && depth-- == 0))
      return FALSE;
    else
      depth += *p == '[';
  return depth == 0;
}

char *
gemem_settings_quote (const char *value)
{
  if (is_plain (value))
    return g_strdup (value);

  GString *quoted = g_string_new ("\"");
  for (const char *p = value; *p != '\0'; p++)
    {
      if (*p == '"' || *p == '\\')
        g_string_append_c (quoted, '\\');
      g_string_append_c (quoted, *p);
    }
  return g_string_free (g_string_append_c (quoted, '"'), FALSE);
}

void
gemem_settings_append_text (GString *text, const char *key, const char *value)
{
  g_autofree char *quoted = gemem_settings_quote (value);
  const char *colon = strchr (text->str, ':');

  g_string_append_printf (text, "%s%s=%s",
                          colon == NULL      ? ":"
                          : colon[1] == '\0' ? ""
                                             : ",",
                          key, quoted);
}
