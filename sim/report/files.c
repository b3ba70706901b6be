/* files.c - creates folders, and writes a text as a file, completely or not at all
 * (base/io/output.h); see report.h. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/io/output.h"
#include "sim/report/report.h"

gboolean
gemem_write_file (const char *path, const char *text, gssize length, GError **error)
{
  GememOutput *output = gemem_output_create (path, error);
  if (output == NULL)
    return FALSE;
  if (gemem_output_write (output, text, length >= 0 ? (gsize) length : strlen (text), error))
    return gemem_output_finish (output, error);
  gemem_output_discard (output);
  return FALSE;
}

gboolean
gemem_write_check (const char *path, GError **error)
{
  return gemem_output_check (path, error);
}

void
gemem_write_abandon (void)
{
  gemem_outputs_abandon ();
}

gboolean
gemem_make_folder (const char *path, GError **error)
{
  const gboolean made = g_mkdir_with_parents (path, 0777) == 0;
  if (!made)
    gemem_error_set_errno (error, errno, path, "name a folder that can be made and written");
  return made;
}
