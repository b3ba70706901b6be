/* device-nodes.c - the device nodes of NVIDIA's driver, for programs that ask whether they are there.
 *
 * Some programs look for /dev/nvidia0 and /dev/nvidiactl before they open the driver's library, and
 * use the CPU alone without them (JAX).  The functions that ask for facts about a file by its name,
 * or for the right to use it, say here that the nodes are there, as on the machine of a GPU; every
 * other name goes on to the C library or the kernel.
 *
 * Not answered: opening the nodes, which the driver's own libraries alone do, and the list of the
 * folder /dev.
 *
 * Invariants: callable in any thread, before any constructor; no allocation.  The versioned forms
 * (__xstat) are those of programs that were built before glibc 2.33, which had no stat() to link with;
 * all forms have one layout on x86-64.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dry/driver/notes.h"

#define MAJOR 195 /* of the driver, by Linux's list of devices */
#define CONTROL 255

/* The minor number of the node @path; -1: no node of a device of this run. */
static int
node_of (const char *path)
{
  static const char begin[] = "/dev/nvidia";
  const char *devices = getenv (GEMEM_ENV_DRIVER_DEVICES);

  if (path == NULL || strncmp (path, begin, strlen (begin)) != 0 || !gemem_dry_mode ())
    return -1;
  path += strlen (begin);
  if (strcmp (path, "ctl") == 0)
    return CONTROL;
  const gsize digits = strspn (path, "0123456789");
  const gboolean number = digits > 0 && digits <= 3 && path[digits] == '\0'
                          && (digits == 1 || *path != '0');
  return number && atoi (path) < (devices != NULL ? atoi (devices) : 1) ? atoi (path) : -1;
}

/* ---- facts */

static int
facts_of (int folder, const char *path, gpointer to, int flags)
{
  const int node = node_of (path);
  struct stat facts = { .st_mode = S_IFCHR | 0666, .st_nlink = 1 };

  if (node < 0)
    return (int) syscall (SYS_newfstatat, folder, path, to, flags);
  facts.st_rdev = makedev (MAJOR, (guint) node);
  memcpy (to, &facts, sizeof facts);
  return 0;
}

#pragma GCC visibility push(default)

int __xstat (int, const char *, struct stat *);
int __xstat64 (int, const char *, struct stat64 *);
int __lxstat (int, const char *, struct stat *);
int __lxstat64 (int, const char *, struct stat64 *);
int __fxstatat (int, int, const char *, struct stat *, int);
int __fxstatat64 (int, int, const char *, struct stat64 *, int);

int
stat (const char *path, struct stat *facts)
{
  return facts_of (AT_FDCWD, path, facts, 0);
}

int
stat64 (const char *path, struct stat64 *facts)
{
  return facts_of (AT_FDCWD, path, facts, 0);
}

int
lstat (const char *path, struct stat *facts)
{
  return facts_of (AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int
lstat64 (const char *path, struct stat64 *facts)
{
  return facts_of (AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int
fstatat (int folder, const char *path, struct stat *facts, int flags)
{
  return facts_of (folder, path, facts, flags);
}

int
fstatat64 (int folder, const char *path, struct stat64 *facts, int flags)
{
  return facts_of (folder, path, facts, flags);
}

int
__xstat (int version, const char *path, struct stat *facts)
{
  return facts_of (AT_FDCWD, path, facts, 0);
}

int
__xstat64 (int version, const char *path, struct stat64 *facts)
{
  return facts_of (AT_FDCWD, path, facts, 0);
}

int
__lxstat (int version, const char *path, struct stat *facts)
{
  return facts_of (AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int
__lxstat64 (int version, const char *path, struct stat64 *facts)
{
  return facts_of (AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}

int
__fxstatat (int version, int folder, const char *path, struct stat *facts, int flags)
{
  return facts_of (folder, path, facts, flags);
}

int
__fxstatat64 (int version, int folder, const char *path, struct stat64 *facts, int flags)
{
  return facts_of (folder, path, facts, flags);
}

int
statx (int folder, const char *path, int flags, unsigned mask, struct statx *facts)
{
  const int node = node_of (path);

  if (node < 0)
    return (int) syscall (SYS_statx, folder, path, flags, mask, facts);
  *facts = (struct statx){ .stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK,
                           .stx_mode = S_IFCHR | 0666,
                           .stx_nlink = 1,
                           .stx_rdev_major = MAJOR,
                           .stx_rdev_minor = (guint) node };
  return 0;
}

/* ---- rights: everybody may read and write a node, and nobody execute it */

static int
node_access (int rights)
{
  if ((rights & X_OK) == 0)
    return 0;
  errno = EACCES;
  return -1;
}

int
access (const char *path, int rights)
{
  return node_of (path) >= 0 ? node_access (rights) : (int) syscall (SYS_access, path, rights);
}

/* The C library does here what old kernels cannot. */
int
faccessat (int folder, const char *path, int rights, int flags)
{
  if (node_of (path) >= 0)
    return node_access (rights);
  int (*real) (int, const char *, int, int) = dlsym (RTLD_NEXT, "faccessat");
  return real (folder, path, rights, flags);
}

int
euidaccess (const char *path, int rights)
{
  if (node_of (path) >= 0)
    return node_access (rights);
  int (*real) (const char *, int) = dlsym (RTLD_NEXT, "euidaccess");
  return real (path, rights);
}

int
eaccess (const char *path, int rights)
{
  return euidaccess (path, rights);
}

#pragma GCC visibility pop
