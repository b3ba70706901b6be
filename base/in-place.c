/* in-place.c - see in-place.h. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/in-place.h"

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
        && g_ascii_string_to_unsigned (path + strlen (folders[i]), 10, 0, G_MAXINT, &number, NULL))
      return (int) number;
  return -1;
}

gboolean
gemem_open_in_place (const char *path, int *fd)
{
  const int descriptor = descriptor_of (path);
  struct stat status;

  if (descriptor >= 0)
    *fd = fcntl (descriptor, F_DUPFD_CLOEXEC, 0); /* continues at the position of the stream */
  else if (stat (path, &status) == 0 && !S_ISREG (status.st_mode))
    *fd = open (path, O_WRONLY | O_CLOEXEC);
  else
    return FALSE;
  return TRUE;
}
