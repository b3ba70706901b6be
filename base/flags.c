/* flags.c - see flags.h.
 *
 * A reason reads "why; what to do".  Where several stand in the way of one flag they become one
 * message: first every "why", then every "what to do", so that nobody meets them one after another.
 */
#include "config.h"

#include "base/flags.h"

#include <string.h>

#include "base/error.h"

#define IN_VAIN " would have no effect: it "

static gboolean
is_in_vain (const GememFlag *flag)
{
  return flag->set && !flag->known;
}

/* Appends the text from @start to @end, behind " and ", unless it is in @out. */
static void
append_once (GString *out, const char *start, const char *end)
{
  g_autofree char *text = g_strndup (start, (gsize) (end - start));

  if (strstr (out->str, text) == NULL)
    g_string_append_printf (out, "%s%s", out->len > 0 ? ", and " : "", text);
}

/* Everything that stands in the way of the flag @name. */
static char *
reasons_of (const char *name, const GememFlag *flags, gsize n)
{
  g_autoptr (GString) why = g_string_new (NULL);
  g_autoptr (GString) what_to_do = g_string_new (NULL);

  for (gsize i = 0; i < n; i++)
    if (is_in_vain (&flags[i]) && strcmp (flags[i].name, name) == 0)
      {
        const char *text = flags[i].why_not, *end = text + strlen (text);
        const char *semicolon = strstr (text, "; ");

        append_once (why, text, semicolon != NULL ? semicolon : end);
        if (semicolon != NULL)
          append_once (what_to_do, semicolon + 2, end);
      }
  return what_to_do->len > 0 ? g_strconcat (why->str, "; ", what_to_do->str, NULL)
                             : g_strdup (why->str);
}

gboolean
gemem_check_flags (const char *who, const GememFlag *flags, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (is_in_vain (&flags[i]))
      {
        g_autofree char *reasons = reasons_of (flags[i].name, flags, n);

        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s" IN_VAIN "%s", who,
                     flags[i].name, reasons);
        return FALSE;
      }
  return TRUE;
}

char *
gemem_flag_in_vain (const GError *error)
{
  const char *end = g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE)
                        ? strstr (error->message, IN_VAIN)
                        : NULL;
  const char *colon = end != NULL ? g_strrstr_len (error->message, end - error->message, ": ")
                                  : NULL;

  return colon != NULL ? g_strndup (colon + 2, (gsize) (end - colon) - 2) : NULL;
}
