/* streams.c - see streams.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io/spool.h"
#include "base/units.h"
#include "graphs/format.h"
#include "sim/cli/streams.h"

/* A stream, or standard input, that was named. */
typedef struct
{
  dev_t device;
  ino_t inode;
  char *file;  /* to open it; NULL: something else reads it */
  guint graph; /* for which it was last named */
} Taken;

/* Spools stay open until the program ends: what is named twice must be recognised. */
static GArray *taken; /* of Taken */

static Taken *
find (const struct stat *status)
{
  for (guint i = 0; taken != NULL && i < taken->len; i++)
    {
      Taken *one = &g_array_index (taken, Taken, i);
      if (one->device == status->st_dev && one->inode == status->st_ino)
        return one;
    }
  return NULL;
}

/* @file: taken. */
static void
add (const struct stat *status, char *file, guint graph)
{
  const Taken one = { status->st_dev, status->st_ino, file, graph };

  if (taken == NULL)
    taken = g_array_new (FALSE, FALSE, sizeof (Taken));
  g_array_append_val (taken, one);
}

/* The descriptor that @path names, as /dev/fd/3 does; -1: none. */
static int
descriptor_of (const char *path)
{
  static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
  guint64 number;

  if (strcmp (path, "-") == 0 || strcmp (path, "/dev/stdin") == 0)
    return STDIN_FILENO;
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    if (g_str_has_prefix (path, folders[i])
        && gemem_parse_digits (path + strlen (folders[i]), 10, 0, INT_MAX, &number))
      return (int) number;
  return -1;
}

static gboolean
is_standard_input (const char *path)
{
  return strcmp (path, "-") == 0;
}

/* A new descriptor for @path; -1 with errno.  A socket has no other way in than its descriptor. */
static int
open_descriptor (const char *path)
{
  int fd = is_standard_input (path) ? -1 : open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

  if (fd < 0 && (is_standard_input (path) || errno == ENXIO) && descriptor_of (path) >= 0)
    fd = fcntl (descriptor_of (path), F_DUPFD_CLOEXEC, 0);
  return fd;
}

static gboolean
is_terminal (const char *path)
{
  const int fd = open_descriptor (path);
  const gboolean terminal = fd >= 0 && isatty (fd);

  if (fd >= 0)
    close (fd);
  return terminal;
}

/* TRUE if @path can be read only once. */
static gboolean
is_stream (const char *path, const struct stat *status)
{
  if (is_standard_input (path) && (fcntl (STDIN_FILENO, F_GETFL) & O_ACCMODE) == O_WRONLY)
    return TRUE; /* closed (main.c); reading it says so */
  if (S_ISCHR (status->st_mode))
    return is_terminal (path);
  if (S_ISREG (status->st_mode)) /* a partly read file gives its rest */
    return is_standard_input (path)
           && (lseek (STDIN_FILENO, 0, SEEK_CUR) != 0 || access ("/dev/fd/0", R_OK) != 0);
  return S_ISFIFO (status->st_mode) || S_ISSOCK (status->st_mode);
}

static gboolean
look_at (const char *path, struct stat *status)
{
  return (is_standard_input (path) ? fstat (STDIN_FILENO, status) : stat (path, status)) == 0;
}

static gboolean
refuse_second (const char *name, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: given twice, but it can be read once; save it to a file and name that", name);
  return FALSE;
}

/* The file to open for @path, which is spooled if it is a stream; NULL with @error. */
static char *
file_of (const char *path, const char *name, const struct stat *status, GError **error)
{
  int fd, spool;

  if (!is_stream (path, status))
    return g_strdup ("/dev/fd/0");
  fd = open_descriptor (path);
  if (fd < 0)
    {
      gemem_error_set_errno (error, errno, name, "name a readable file");
      return NULL;
    }
  spool = gemem_spool_fill (fd, name, error);
  close (fd);
  return spool >= 0 ? g_strdup_printf ("/dev/fd/%d", spool) : NULL;
}

/* As file_of(), for the graph @graph of a stream or standard input; the same as before for another
 * graph of it. */
static char *
take (const char *path, const char *name, const struct stat *status, guint graph, GError **error)
{
  Taken *before = find (status);
  char *file;

  if (before != NULL && (before->file == NULL || before->graph == graph))
    {
      refuse_second (name, error);
      return NULL;
    }
  if (before != NULL)
    {
      before->graph = graph;
      return g_strdup (before->file);
    }
  file = file_of (path, name, status, error);
  if (file != NULL)
    add (status, g_strdup (file), graph);
  return file;
}

gboolean
gemem_stream_take (const char *path, GememStream *stream, GError **error)
{
  guint graph;
  g_autofree char *base = gemem_graph_file (path, &graph);
  const gboolean standard = is_standard_input (base);
  struct stat status;
  const gboolean found = look_at (base, &status);

  *stream = (GememStream){
    .name = standard ? g_strconcat ("standard input", path + 1, NULL) : g_strdup (path),
    .once = standard || (found && is_stream (base, &status)),
    .graph = graph,
  };
  if (!stream->once)
    stream->file = g_strdup (path);
  else if (found)
    stream->file = take (base, stream->name, &status, graph, error);
  else
    gemem_error_set_errno (error, errno, stream->name, "name a readable file");
  if (stream->file == NULL)
    g_clear_pointer (&stream->name, g_free);
  return stream->file != NULL;
}

gboolean
gemem_stream_claim (const char *path, GError **error)
{
  struct stat status;

  if (!look_at (path, &status) || !(is_standard_input (path) || is_stream (path, &status)))
    return TRUE;
  if (find (&status) != NULL)
    return refuse_second (is_standard_input (path) ? "standard input" : path, error);
  add (&status, NULL, 0);
  return TRUE;
}
