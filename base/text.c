/* text.c - see text.h. */
#include "config.h"

#include <string.h>

#include "base/text.h"

void
gemem_text_wrap (GString *out, const char *text, const char *indent)
{
  glong column = (glong) strspn (text, " ");
  g_auto (GStrv) words = g_strsplit (text + column, " ", -1);
  gboolean first = TRUE;

  g_string_append_len (out, text, column);
  for (char **word = words; *word != NULL; word++)
    {
      const glong length = g_utf8_strlen (*word, -1);

      if (!first && column + 1 + length > GEMEM_TEXT_WIDTH)
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
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *head = NULL;

  if (g_utf8_strlen (valid, -1) <= width)
    return g_steal_pointer (&valid);
  head = g_utf8_substring (valid, 0, MAX (width - 3, 0));
  return g_strconcat (head, "...", NULL);
}

void
gemem_text_line (GString *out, const char *text)
{
  g_autofree char *cut = gemem_text_cut (text, GEMEM_TEXT_WIDTH);

  g_string_append_printf (out, "%s\n", cut);
}
