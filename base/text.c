/* text.c - see text.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"

static gint screen_width = GEMEM_TEXT_WIDTH; /* atomic */

void
gemem_text_set_width (guint columns)
{
  g_atomic_int_set (&screen_width, (gint) CLAMP (columns, GEMEM_TEXT_LEAST, GEMEM_TEXT_WIDTH));
}

void
gemem_text_wrap (GString *out, const char *text, const char *indent)
{
  gemem_text_wrap_at (out, text, indent, (guint) g_atomic_int_get (&screen_width));
}

void
gemem_text_wrap_at (GString *out, const char *text, const char *indent, guint width)
{
  g_autofree char *line = gemem_text_line (text);
  glong column = (glong) strspn (line, " ");
  g_auto (GStrv) words = g_strsplit (line + column, " ", -1);
  gboolean first = TRUE;

  g_string_append_len (out, line, column);
  for (char **word = words; *word != NULL; word++)
    {
      const glong length = g_utf8_strlen (*word, -1);

      if (!first && column + 1 + length > width)
        {
          g_string_append_printf (out, "\n%s", indent);
          column = (glong) strlen (indent);
        }
      else if (!first)
        {
          g_string_append_c (out, ' ');
          column++;
        }
      g_string_append (out, *word);
      column += length;
      first = FALSE;
    }
  g_string_append_c (out, '\n');
}

char *
gemem_text_cut (const char *text, glong width)
{
  g_autofree char *valid = gemem_text_line (text);
  g_autofree char *head = NULL;

  if (g_utf8_strlen (valid, -1) <= width)
    return g_steal_pointer (&valid);
  head = g_utf8_substring (valid, 0, MAX (width - 3, 0));
  return g_strconcat (head, "...", NULL);
}

void
gemem_text_append_cut (GString *out, const char *text)
{
  g_autofree char *cut = gemem_text_cut (text, GEMEM_TEXT_WIDTH);

  g_string_append_printf (out, "%s\n", cut);
}

gboolean
gemem_text_is_hidden (gunichar c)
{
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f
         || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

guint
gemem_text_columns (gunichar c)
{
  return g_unichar_iszerowidth (c) ? 0 : g_unichar_iswide (c) ? 2 : 1;
}

void
gemem_text_append_visible (GString *out, const char *text, gssize length, gboolean lines)
{
  const char *end = text + (length >= 0 ? (gsize) length : strlen (text));

  while (text < end)
    {
      const gunichar c = g_utf8_get_char_validated (text, end - text);
      const gboolean valid = *text != '\0' && c != (gunichar) -1 && c != (gunichar) -2;
      const char *next = valid ? g_utf8_next_char (text) : text + 1;

      if (valid && (!gemem_text_is_hidden (c) || (lines && (c == '\n' || c == '\t'))))
        g_string_append_len (out, text, next - text);
      else if (next == text + 1)
        g_string_append_printf (out, "\\%03o", (guint) (guchar) *text);
      else
        g_string_append_printf (out, "\\u%04x", c);
      text = next;
    }
}

char *
gemem_text_line (const char *text)
{
  GString *line = g_string_new (NULL);

  gemem_text_append_visible (line, text, -1, FALSE);
  return g_string_free (line, FALSE);
}
