/* fail.c - see fail.h. */
#include "config.h"

#include "base/error.h"
#include "base/io/fail.h"

static void G_GNUC_PRINTF (5, 0) set (GError **error, const char *name, const char *unit,
                                      guint64 number, const char *format, va_list arguments)
{
  g_autofree char *raw = g_strdup_vprintf (format, arguments);
  g_autofree char *text = g_strescape (raw, "\"\\");

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:%s%" G_GUINT64_FORMAT ": %s", name, unit,
               number, text);
}

gboolean
gemem_fail_line (GError **error, const char *name, guint64 line, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  set (error, name, "", line, format, arguments);
  va_end (arguments);
  return FALSE;
}

gboolean
gemem_fail_byte (GError **error, const char *name, guint64 byte, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  set (error, name, " byte ", byte, format, arguments);
  va_end (arguments);
  return FALSE;
}
