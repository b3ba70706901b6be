/* folder.c - see folder.h. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/folder.h"

#define OPEN_FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Removes what is in the folder @fd, which is closed. */
static void
empty (int fd, GememFolderKeep *keep)
{
  DIR *dir = fdopendir (fd);
  const struct dirent *entry;
  struct stat facts;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      const char *name = entry->d_name;
      if (strcmp (name, ".") == 0 || strcmp (name, "..") == 0
          || fstatat (fd, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      const int below = S_ISDIR (facts.st_mode) ? openat (fd, name, OPEN_FOLDER) : -1;
      if (below >= 0)
        {
          empty (below, keep);
          unlinkat (fd, name, AT_REMOVEDIR); /* fails, as intended, if something was kept */
        }
      else if (keep == NULL || !keep (name, facts.st_mode))
        unlinkat (fd, name, 0);
    }
  if (dir != NULL)
    closedir (dir);
  else
    close (fd);
}

gboolean
gemem_folder_make (GememFolder *folder, const char *path)
{
  *folder = (GememFolder){ .path = g_strdup (path), .fd = -1 };
  if (mkdtemp (folder->path) != NULL)
    folder->fd = open (folder->path, OPEN_FOLDER);
  if (folder->fd < 0)
    g_clear_pointer (&folder->path, g_free); /* leaves errno alone */
  return folder->fd >= 0;
}

gboolean
gemem_folder_stands (const GememFolder *folder)
{
  struct stat made, there;

  return folder->path != NULL && fstat (folder->fd, &made) == 0 && lstat (folder->path, &there) == 0
         && made.st_dev == there.st_dev && made.st_ino == there.st_ino;
}

void
gemem_folder_clear (GememFolder *folder, GememFolderKeep *keep)
{
  const int again = folder->path != NULL ? openat (folder->fd, ".", OPEN_FOLDER) : -1;

  if (again >= 0)
    empty (again, keep);
  if (gemem_folder_stands (folder))
    rmdir (folder->path); /* fails, as intended, if something was kept */
  if (folder->path != NULL)
    close (folder->fd);
  g_clear_pointer (&folder->path, g_free);
}

/* A descriptor of the regular file @name, or -1; never waits. */
static int
open_file (const GememFolder *folder, const char *name, struct stat *facts)
{
  const int fd = openat (folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

  if (fd < 0 || (fstat (fd, facts) == 0 && S_ISREG (facts->st_mode)))
    return fd;
  close (fd);
  return -1;
}

gboolean
gemem_folder_has (const GememFolder *folder, const char *name)
{
  struct stat facts;

  return fstatat (folder->fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG (facts.st_mode);
}

char *
gemem_folder_read (const GememFolder *folder, const char *name)
{
  struct stat facts;
  const int fd = open_file (folder, name, &facts);
  gsize size = 0;
  gssize n = 0;

  if (fd < 0)
    return NULL;
  char *text = g_malloc ((gsize) facts.st_size + 1);
  while (size < (gsize) facts.st_size
         && ((n = read (fd, text + size, (gsize) facts.st_size - size)) > 0
             || (n < 0 && errno == EINTR)))
    size += n > 0 ? (gsize) n : 0;
  text[size] = '\0';
  close (fd);
  if (n < 0)
    g_clear_pointer (&text, g_free);
  return text;
}

gboolean
gemem_folder_has_space (const GememFolder *folder, gsize size)
{
  static const char name[] = ".space";
  const int fd = openat (folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd < 0)
    return FALSE;
  const gboolean there = posix_fallocate (fd, 0, (off_t) size) == 0;
  unlinkat (folder->fd, name, 0);
  close (fd);
  return there;
}

void
gemem_folder_unlink (const GememFolder *folder, const char *path)
{
  const char *slash = strrchr (path, '/');

  unlinkat (folder->fd, slash != NULL ? slash + 1 : path, 0);
}

void
gemem_folder_remove (const char *path, GememFolderKeep *keep)
{
  const int fd = open (path, OPEN_FOLDER);

  if (fd < 0)
    return;
  empty (fd, keep);
  rmdir (path);
}
