/* json-text.c - see json-text.h. */
#include "config.h"

#include "base/io/json-text.h"
#include "base/text.h"

void
gemem_json_append_string (GString *out, const char *text)
{
  if (text == NULL)
    {
      g_string_append (out, "null");
      return;
    }
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_string_append_c (out, '"');
  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    switch (*p)
      {
      case '"':
      case '\\':
        g_string_append_c (out, '\\');
        g_string_append_c (out, *p);
        break;
      case '\n':
        g_string_append (out, "\\n");
        break;
      case '\r':
        g_string_append (out, "\\r");
        break;
      case '\t':
        g_string_append (out, "\\t");
        break;
      default:
        if (gemem_text_is_hidden (g_utf8_get_char (p)))
          g_string_append_printf (out, "\\u%04x", g_utf8_get_char (p));
        else
          g_string_append_len (out, p, g_utf8_next_char (p) - p);
      }
  g_string_append_c (out, '"');
}

void
gemem_json_append_name (GString *out, const char *name)
{
  const char last = out->len > 0 ? out->str[out->len - 1] : '{';

  g_string_append (out, last == '{' || last == '[' ? "" : ", ");
  if (name != NULL)
    g_string_append_printf (out, "\"%s\": ", name);
}

void
gemem_json_append_text_member (GString *out, const char *name, const char *text)
{
  gemem_json_append_name (out, name);
  gemem_json_append_string (out, text);
}

void
gemem_json_append_number_member (GString *out, const char *name, guint64 value)
{
  gemem_json_append_name (out, name);
  g_string_append_printf (out, "%" G_GUINT64_FORMAT, value);
}

void
gemem_json_append_bool_member (GString *out, const char *name, gboolean value)
{
  gemem_json_append_name (out, name);
  g_string_append (out, value ? "true" : "false");
}
