/* output-files.c - output files are checked before the work begins, not after an hour of it.
 *
 * Refused: a file that is also read (a report that overwrites its trace), two outputs to one file,
 * an unwritable location.  A full disk shows only while writing.  Devices and pipes (/dev/stdout)
 * may be named several times.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graphs/format.h"
#include "sim/cli/output-files.h"
#include "sim/report/report.h"

static gboolean
is_file (const char *path, struct stat *status)
{
  return path != NULL && strcmp (path, "-") != 0 && stat (path, status) == 0
         && S_ISREG (status->st_mode);
}

/* TRUE for the same regular file, or the same name of a file not yet created. */
static gboolean
same (const char *a, const char *b)
{
  struct stat first, second;
  gboolean have = is_file (a, &first), other = is_file (b, &second);
  if (have && other)
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  if (have || other || g_access (a, F_OK) == 0)
    return FALSE;
  g_autofree char *full_a = g_canonicalize_filename (a, NULL),
                  *full_b = g_canonicalize_filename (b, NULL);
  return strcmp (full_a, full_b) == 0;
}

/* @input may be one graph of a file, "FILE#N". */
static gboolean
overwrites (const char *path, const char *input)
{
  g_autofree char *file = gemem_graph_file (input, NULL);

  return same (path, file);
}

gboolean
gemem_check_outputs (const GememOutputFile *outputs, guint n, char **inputs, GError **error)
{
  for (guint i = 0; i < n; i++)
    {
      const char *path = outputs[i].path;
      if (path == NULL || strcmp (path, "-") == 0)
        continue;
      for (char **input = inputs; *input != NULL; input++)
        if (overwrites (path, *input))
          {
            g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "%s: %s would overwrite the trace it is read from; name another file",
                         path, outputs[i].option);
            return FALSE;
          }
      for (guint other = 0; other < i; other++)
        if (outputs[other].path != NULL && same (path, outputs[other].path))
          {
            g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "%s: both %s and %s would write it; name two files", path,
                         outputs[other].option, outputs[i].option);
            return FALSE;
          }
      if (!gemem_write_check (path, error))
        return FALSE;
    }
  return TRUE;
}
