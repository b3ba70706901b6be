/* output.c - writes a file under a temporary name and renames it (see output.h). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/output.h"
#include "base/units.h"

#define BUFFER_SIZE ((gsize) 256 << 10)
#define LINKS_MOST 40 /* one after the other, as Linux has it */

struct _GememOutput
{
  char *name;      /* for messages */
  char *path;      /* final path; NULL: written in place */
  char *temporary; /* path while writing; NULL: written in place */
  int fd;
  GememTemporary unfinished; /* `temporary`, once it is there */
  guint64 offset;
  gsize used;
  guint8 buffer[BUFFER_SIZE];
};

static GMutex lock;
static GememTemporary *temporaries; /* under `lock` */

static void
link_in (GememTemporary *temporary)
{
  temporary->next = temporaries;
  temporaries = temporary;
}

void
gemem_temporary_add (GememTemporary *temporary)
{
  g_mutex_lock (&lock);
  link_in (temporary);
  g_mutex_unlock (&lock);
}

int
gemem_temporary_open (GememTemporary *temporary, char *path, int mode)
{
  g_mutex_lock (&lock); /* so that no such file is there that is not in the list */
  const int fd = g_mkstemp_full (path, O_WRONLY | O_CLOEXEC, mode);
  *temporary = (GememTemporary){ .path = path };
  if (fd >= 0)
    link_in (temporary);
  g_mutex_unlock (&lock);
  return fd;
}

void
gemem_temporary_remove (GememTemporary *temporary)
{
  g_mutex_lock (&lock);
  GememTemporary **link = &temporaries;
  while (*link != NULL && *link != temporary)
    link = &(*link)->next;
  if (*link != NULL)
    *link = temporary->next;
  g_mutex_unlock (&lock);
}

void
gemem_outputs_abandon (void)
{
  g_mutex_lock (&lock); /* for good; nobody allocates, or waits, while holding it */
  for (const GememTemporary *file = temporaries; file != NULL; file = file->next)
    {
      const pid_t writer = file->writer != NULL ? g_atomic_int_get (file->writer) : 0;
      if (writer > 0 && kill (writer, SIGKILL) == 0)
        waitpid (writer, NULL, 0);
      unlink (file->path);
    }
}

/* Opens @output's temporary file, unless links lead round in a circle, with the access rights of the file that it is to replace. */
static void
open_temporary (GememOutput *output)
{
  struct stat old;

  const gboolean there = stat (output->path, &old) == 0;
  output->fd = there || errno == ENOENT
                   ? gemem_temporary_open (&output->unfinished, output->temporary, 0666)
                   : -1;
  if (output->fd >= 0 && there)
    (void) !fchmod (output->fd, old.st_mode & 0777);
}

/* The descriptor that @path names, or -1: "/dev/stdout", "/dev/fd/3", "/proc/self/fd/3". */
static int
descriptor_of (const char *path)
{
  static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
  guint64 number;

  if (strcmp (path, "/dev/stdout") == 0)
    return STDOUT_FILENO;
  if (strcmp (path, "/dev/stderr") == 0)
    return STDERR_FILENO;
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    if (g_str_has_prefix (path, folders[i])
        && gemem_parse_digits (path + strlen (folders[i]), 10, 0, G_MAXINT, &number))
      return (int) number;
  return -1;
}

/* The name to which the symbolic links at the end of @path lead, which need not exist; at a name of an
 * open stream of the process the way ends.  g_free(). */
static char *
follow_links (const char *path)
{
  char *name = g_strdup (path);

  for (guint i = 0; i < LINKS_MOST && descriptor_of (name) < 0; i++)
    {
      g_autofree char *target = g_file_read_link (name, NULL);
      g_autofree char *folder = g_path_get_dirname (name);
      if (target == NULL)
        break;
      g_free (name);
      name = g_path_is_absolute (target) ? g_steal_pointer (&target)
                                         : g_build_filename (folder, target, NULL);
    }
  return name;
}

/* TRUE if @path is written directly: it is no regular file, or names an open stream of the process.
 * *@fd: a descriptor opened for writing with close-on-exec, or -1 with errno.
 * /dev/stdout resolves to a regular file if a shell redirected the output to one: a renamed file
 * would replace the name /dev/stdout for all users and leave the shell's file empty. */
static gboolean
open_directly (const char *path, int *fd)
{
  const int descriptor = descriptor_of (path);
  struct stat status;

  if (descriptor >= 0)
    *fd = fcntl (descriptor, F_DUPFD_CLOEXEC, 0); /* continues at the position of the stream */
  else if (stat (path, &status) != 0)
    return FALSE;
  else if (!S_ISREG (status.st_mode))
    *fd = open (path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  else
    return FALSE;
  return TRUE;
}

gboolean
gemem_output_check (const char *path, GError **error)
{
  g_autofree char *name = follow_links (path);
  g_autofree char *parent = g_path_get_dirname (name);
  struct stat status;
  int problem = 0;

  if (strcmp (path, "-") == 0 || descriptor_of (name) >= 0)
    return TRUE;
  if (*path == '\0')
    problem = ENOENT;
  else if (stat (path, &status) == 0 && !S_ISREG (status.st_mode))
    problem = S_ISDIR (status.st_mode) ? EISDIR : 0;
  else if (stat (path, &status) != 0 && errno != ENOENT)
    problem = errno;
  else if (g_access (parent, W_OK | X_OK) != 0)
    problem = errno;
  if (problem != 0)
    gemem_error_set_errno (error, problem, *path != '\0' ? path : "''",
                           "name a file in a folder that can be written");
  return problem == 0;
}

GememOutput *
gemem_output_create (const char *path, GError **error)
{
  GememOutput *output = g_new (GememOutput, 1);
  const gboolean standard = strcmp (path, "-") == 0;
  g_autofree char *target = follow_links (path);

  memset (output, 0, G_STRUCT_OFFSET (GememOutput, buffer));
  output->name = g_strdup (standard ? "standard output" : path);
  if (standard)
    output->fd = dup (STDOUT_FILENO);
  else if (!open_directly (target, &output->fd))
    {
      output->path = g_steal_pointer (&target);
      output->temporary = g_strconcat (output->path, ".tmp-XXXXXX", NULL);
      open_temporary (output);
    }
  if (output->fd < 0)
    {
      gemem_error_set_errno (error, errno, output->name, "name a place that can be written");
      g_clear_pointer (&output->temporary, g_free);
      gemem_output_discard (output);
      return NULL;
    }
  return output;
}

/* What the user finds after a failure, and what to do. */
static const char *
what_remains (const GememOutput *output)
{
  return output->temporary != NULL ? "nothing was kept; free some space or write elsewhere"
                                   : "its end is missing; free some space or write elsewhere";
}

static gboolean
write_all (GememOutput *output, const guint8 *data, gsize size, GError **error)
{
  while (size > 0)
    {
      gssize n = write (output->fd, data, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          gemem_error_set_errno (error, n < 0 ? errno : ENOSPC, output->name,
                                 what_remains (output));
          return FALSE;
        }
      data += n;
      size -= (gsize) n;
    }
  return TRUE;
}

gboolean
gemem_output_write (GememOutput *output, gconstpointer data, gsize size, GError **error)
{
  output->offset += size;
  if (size > BUFFER_SIZE - output->used)
    {
      if (!write_all (output, output->buffer, output->used, error))
        return FALSE;
      output->used = 0;
    }
  if (size >= BUFFER_SIZE)
    return write_all (output, data, size, error);
  memcpy (output->buffer + output->used, data, size);
  output->used += size;
  return TRUE;
}

guint64
gemem_output_offset (const GememOutput *output)
{
  return output->offset;
}

const char *
gemem_output_name (const GememOutput *output)
{
  return output->name;
}

void
gemem_output_add_ending (GememOutput *output, const char *ending)
{
  char *path = output->path != NULL ? g_strconcat (output->path, ending, NULL) : NULL;

  g_free (output->path);
  output->path = path;
}

gboolean
gemem_output_finish (GememOutput *output, GError **error)
{
  gboolean done = write_all (output, output->buffer, output->used, error);
  int fd = output->fd;

  output->fd = -1;
  if (close (fd) != 0 && done)
    {
      gemem_error_set_errno (error, errno, output->name, what_remains (output));
      done = FALSE;
    }
  if (done && output->temporary != NULL)
    {
      done = rename (output->temporary, output->path) == 0;
      if (done)
        {
          gemem_temporary_remove (&output->unfinished);
          g_clear_pointer (&output->temporary, g_free);
        }
      else
        gemem_error_set_errno (error, errno, output->name, "nothing was kept; write elsewhere");
    }
  gemem_output_discard (output);
  return done;
}

void
gemem_output_discard (GememOutput *output)
{
  if (output == NULL)
    return;
  if (output->fd >= 0)
    close (output->fd);
  if (output->temporary != NULL)
    {
      unlink (output->temporary);
      gemem_temporary_remove (&output->unfinished);
    }
  g_free (output->temporary);
  g_free (output->path);
  g_free (output->name);
  g_free (output);
}
