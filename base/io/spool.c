/* spool.c - unlinked temporary files for the bytes of pipes; see spool.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/spool.h"

#define BLOCK_SIZE ((gsize) 256 << 10)

char *
gemem_spool_advice (void)
{
  return g_strdup_printf ("it is read once and kept in an unnamed file in %s: set TMPDIR to a "
                          "folder that can be written and has room, or save it to a file and name "
                          "that",
                          g_get_tmp_dir ());
}

int
gemem_spool_new (GError **error)
{
  const char *folder = g_get_tmp_dir ();
  g_autofree char *path = g_build_filename (folder, "gemem-XXXXXX", NULL);
  int fd = open (folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

  if (fd >= 0)
    return fd;
  fd = g_mkstemp_full (path, O_RDWR | O_CLOEXEC, 0600); /* file systems without such files */
  if (fd >= 0)
    g_unlink (path);
  else
    gemem_error_set_errno (error, errno, folder,
                           "bytes from a pipe are kept there: set TMPDIR to a folder that can be "
                           "written, or save them to a file and name that");
  return fd;
}

gboolean
gemem_spool_write (int spool, gconstpointer data, gsize size, guint64 position)
{
  const guint8 *bytes = data;

  while (size > 0)
    {
      const gssize n = pwrite (spool, bytes, size, (off_t) position);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          errno = n == 0 ? ENOSPC : errno;
          return FALSE;
        }
      position += (guint64) n;
      bytes += n;
      size -= (gsize) n;
    }
  return TRUE;
}

int
gemem_spool_fill (int from, const char *name, GError **error)
{
  g_autofree char *advice = gemem_spool_advice ();
  g_autofree guint8 *block = g_malloc (BLOCK_SIZE);
  const int spool = gemem_spool_new (error);
  guint64 size = 0;

  while (spool >= 0)
    {
      const gssize n = read (from, block, BLOCK_SIZE);
      if (n < 0 && errno == EINTR)
        continue;
      if (n == 0)
        return spool;
      if (n > 0 && gemem_spool_write (spool, block, (gsize) n, size))
        {
          size += (guint64) n;
          continue;
        }
      gemem_error_set_errno (error, errno, name,
                             n < 0 ? "check what it comes from, or save it to a file and name that"
                                   : advice);
      close (spool);
      break;
    }
  return -1;
}
