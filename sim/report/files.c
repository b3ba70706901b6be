/* files.c - creates folders, and writes a file completely or not at all; see report.h.
 *
 * The text goes to a temporary file beside the target, which is renamed over it when complete, so
 * that a full disk neither leaves half a report nor destroys an old one.  Devices and pipes
 * (/dev/stdout, /dev/full) are written directly.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/in-place.h"
#include "sim/report/report.h"

static gboolean
write_all (int fd, const char *text, gsize length)
{
  while (length > 0)
    {
      gssize written = write (fd, text, length);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return FALSE;
      text += written;
      length -= (gsize) written;
    }
  return TRUE;
}

/* Writes to the open @fd and closes it; on failure errno is set. */
static gboolean
write_and_close (int fd, const char *text, gsize length)
{
  gboolean ok = write_all (fd, text, length);
  int errnum = errno;
  if (close (fd) != 0 && ok)
    return FALSE;
  errno = errnum;
  return ok;
}

gboolean
gemem_write_file (const char *path, const char *text, gssize length, GError **error)
{
  const gsize size = length >= 0 ? (gsize) length : strlen (text);
  g_autofree char *temporary = g_strconcat (path, ".XXXXXX", NULL);
  int fd;
  gboolean direct = gemem_open_in_place (path, &fd);
  if (!direct)
    fd = g_mkstemp_full (temporary, O_WRONLY | O_CLOEXEC, 0666);
  gboolean ok = fd >= 0 && write_and_close (fd, text, size);
  if (ok && !direct)
    ok = g_rename (temporary, path) == 0;
  if (ok)
    return TRUE;
  int errnum = errno;
  if (!direct && fd >= 0)
    g_unlink (temporary);
  gemem_error_set_errno (error, errnum, path,
                         "nothing was left behind; free some space or write elsewhere");
  return FALSE;
}

gboolean
gemem_make_folder (const char *path, GError **error)
{
  const gboolean made = g_mkdir_with_parents (path, 0777) == 0;
  if (!made)
    gemem_error_set_errno (error, errno, path, "name a folder that can be made and written");
  return made;
}
