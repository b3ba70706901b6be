/* rows.c - see rows.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/in-place.h"
#include "sim/engine/rows.h"

#define BUFFER_SIZE (1 << 20)
#define ROW_MAX 256
#define ADVICE "free some space or give another file"

struct _GememRows
{
  char *path, *temporary; /* temporary NULL: `path` is written in place */
  int fd, error;
  gsize used;
  char buffer[BUFFER_SIZE];
};

static void
flush_rows (GememRows *rows)
{
  gsize done = 0;

  while (done < rows->used && rows->error == 0)
    {
      gssize n = write (rows->fd, rows->buffer + done, rows->used - done);
      if (n > 0)
        done += (gsize) n;
      else if (errno != EINTR)
        rows->error = errno;
    }
  rows->used = 0;
}

static int
open_temporary (GememRows *rows, const char *path)
{
  int fd;

  if (gemem_open_in_place (path, &fd))
    return fd;
  rows->temporary = g_strdup_printf ("%s.XXXXXX", path);
  return g_mkstemp_full (rows->temporary, O_RDWR | O_CLOEXEC, 0666);
}

GememRows *
gemem_rows_open (const char *path, const char *header, GError **error)
{
  GememRows *rows = g_new (GememRows, 1);

  rows->path = g_strdup (path);
  rows->temporary = NULL;
  rows->error = 0;
  rows->used = strlen (header);
  memcpy (rows->buffer, header, rows->used);
  rows->fd = open_temporary (rows, path);
  if (rows->fd >= 0)
    return rows;
  gemem_error_set_errno (error, errno, path, "give a file that can be written");
  g_free (rows->path);
  g_free (rows->temporary);
  g_free (rows);
  return NULL;
}

char *
gemem_rows_begin (GememRows *rows)
{
  if (rows->used > BUFFER_SIZE - ROW_MAX)
    flush_rows (rows);
  return rows->buffer + rows->used;
}

gboolean
gemem_rows_end (GememRows *rows, char *end)
{
  *end++ = '\n';
  rows->used = (gsize) (end - rows->buffer);
  return rows->error == 0;
}

static void
free_rows (GememRows *rows)
{
  g_free (rows->path);
  g_free (rows->temporary);
  g_free (rows);
}

gboolean
gemem_rows_close (GememRows *rows, gboolean partial, GError **error)
{
  g_autofree char *path = partial && rows->temporary != NULL
                              ? g_strconcat (rows->path, ".partial", NULL)
                              : g_strdup (rows->path);
  int failed;

  flush_rows (rows);
  if (close (rows->fd) < 0 && rows->error == 0)
    rows->error = errno;
  if (rows->error == 0 && rows->temporary != NULL && g_rename (rows->temporary, path) < 0)
    rows->error = errno;
  failed = rows->error;
  if (failed != 0)
    {
      gemem_error_set_errno (error, failed, rows->path, ADVICE);
      if (rows->temporary != NULL)
        g_unlink (rows->temporary);
    }
  free_rows (rows);
  return failed == 0;
}

void
gemem_rows_discard (GememRows *rows)
{
  if (rows == NULL)
    return;
  close (rows->fd);
  if (rows->temporary != NULL)
    g_unlink (rows->temporary);
  free_rows (rows);
}
