/* host-faults.c - a host that fails where it is told to: a library to be preloaded (LD_PRELOAD) whose
 * malloc(), mmap(), read(), write(), open(), close(), rename() and clocks are those of the C library until
 * $GEMEM_FAULT says otherwise, so that every error path of a program can be run.
 *
 *   memory:N, memory:N+     the N-th allocation finds no memory; with + none after it does, either
 *   large:N                 the N-th of those for more than 16 KiB, which fewer callers take for granted
 *   map:N, map:N+           mmap() likewise
 *   open:N, close:N, rename:N [:ERRNO]  the N-th call fails; what close() was to close is closed
 *   read:N:ERRNO            reads of regular files fail after N bytes in all
 *   disk:N:ERRNO            files can grow by N bytes in all; ERRNO is 28 (ENOSPC, the default) or any other
 *   clock:N                 every N-th read of a clock finds that it jumped: ten years on, ten years back or, where it cannot go
 *                           back beyond its beginning, to the right time; it runs on from there
 *   short                   read() and write() move one byte at a time, and every third one is interrupted
 *   count                   nothing fails; at exit $GEMEM_FAULT_COUNTS (a file) gets a line "KIND N" for each
 *
 * $GEMEM_FAULT_PROGRAM: the only program that it happens to, by the name of its file.
 *
 * Only regular files fail or are short: the wake-ups of threads are no input or output.  A stream of stdio
 * that is opened to write goes through write(), as does standard output; an interruption is then repeated
 * here, since stdio does not.
 *
 * Invariants: nothing here allocates before a fault but the streams; counts are per process.  Empty where
 * the C library is not glibc, or off_t has two sizes.
 */
#include "config.h"

#undef _FORTIFY_SOURCE /* whose inline functions are those that are defined here */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__) && __SIZEOF_LONG__ == 8

#define EXPORT __attribute__ ((visibility ("default")))
#define ALIAS(name) __attribute__ ((visibility ("default"), alias (name)))
#define REAL(name) ((__typeof__ (&name)) dlsym (RTLD_NEXT, #name))

extern void *__libc_malloc (size_t size);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *memory, size_t size);
extern void *__libc_memalign (size_t alignment, size_t size);

#define LARGE_FROM 16385

typedef enum
{
  MEMORY,
  LARGE,
  MAP,
  OPEN,
  CLOSE,
  RENAME,
  READ,
  DISK,
  CLOCK,
  KINDS,
  SHORT,
  COUNT,
} Kind;

static const char *const names[] = { "memory", "large", "map",   "open", "close", "rename",
                                     "read",   "disk",  "clock", "",     "short", "count" };

static struct
{
  _Atomic (int) state; /* 0: not read yet, 1: being read, 2: read */
  int kind;            /* KINDS: nothing fails */
  int from, number;    /* + was given; errno */
  unsigned long at;
  _Atomic (unsigned long) counts[KINDS];
} fault;

static void
read_fault (void)
{
  const char *text = getenv ("GEMEM_FAULT"), *only = getenv ("GEMEM_FAULT_PROGRAM");
  const size_t length = text != NULL ? strcspn (text, ":") : 0;

  fault.kind = KINDS;
  for (int kind = 0; length > 0 && kind <= COUNT; kind++)
    if (strlen (names[kind]) == length && strncmp (names[kind], text, length) == 0)
      fault.kind = kind;
  if (only != NULL && strcmp (only, program_invocation_short_name) != 0)
    fault.kind = KINDS;
  if (fault.kind >= KINDS || text[length] == '\0')
    return;
  char *end;
  fault.at = strtoul (text + length + 1, &end, 10);
  fault.from = *end == '+';
  end = strchr (end, ':');
  fault.number = end != NULL ? atoi (end + 1) : fault.kind == OPEN ? EMFILE : ENOSPC;
}

/* The fault; 0 before there is an environment to read it from. */
static int
kind (void)
{
  int none = 0;

  if (environ == NULL)
    return KINDS;
  if (atomic_load (&fault.state) == 0 && atomic_compare_exchange_strong (&fault.state, &none, 1))
    {
      const int saved = errno;
      read_fault ();
      errno = saved;
      atomic_store (&fault.state, 2);
    }
  return atomic_load (&fault.state) == 2 ? fault.kind : KINDS;
}

/* Counts a call of @which; whether it is to fail. */
static int
fails (Kind which)
{
  const int now = kind ();
  const unsigned long n = atomic_fetch_add (&fault.counts[which], 1) + 1;

  return now == (int) which && (n == fault.at || (fault.from && n > fault.at));
}

/* ---- memory */

static int
no_memory (size_t size)
{
  const int failed = fails (MEMORY) || (size >= LARGE_FROM && fails (LARGE));

  if (failed)
    errno = ENOMEM;
  return failed;
}

EXPORT void *
malloc (size_t size)
{
  return no_memory (size) ? NULL : __libc_malloc (size);
}

EXPORT void *
calloc (size_t n, size_t size)
{
  return no_memory (n * size) ? NULL : __libc_calloc (n, size);
}

EXPORT void *
realloc (void *memory, size_t size)
{
  return no_memory (size) ? NULL : __libc_realloc (memory, size);
}

EXPORT int
posix_memalign (void **memory, size_t alignment, size_t size)
{
  void *found = no_memory (size) ? NULL : __libc_memalign (alignment, size);

  if (found != NULL)
    *memory = found;
  return found != NULL ? 0 : ENOMEM;
}

EXPORT void *
aligned_alloc (size_t alignment, size_t size)
{
  return no_memory (size) ? NULL : __libc_memalign (alignment, size);
}

EXPORT void *
mmap (void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
  if (fails (MAP))
    {
      errno = ENOMEM;
      return MAP_FAILED;
    }
  return REAL (mmap) (address, length, protection, flags, fd, offset);
}

void *mmap64 (void *, size_t, int, int, int, off_t) ALIAS ("mmap");

/* ---- clocks */

/* Seconds by which a clock is wrong at this read of it. */
static time_t
clock_error (int goes_back)
{
  static const int years[] = { 0, 10, -10 };
  const unsigned long n = atomic_fetch_add (&fault.counts[CLOCK], 1),
                      jumps = kind () == CLOCK && fault.at > 0 ? n / fault.at : 0;
  const int wrong = years[jumps % 3];

  return wrong < 0 && !goes_back ? 0 : (time_t) wrong * 365 * 86400;
}

EXPORT int
clock_gettime (clockid_t id, struct timespec *now)
{
  const int done = REAL (clock_gettime) (id, now);

  if (done == 0 && id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID)
    now->tv_sec += clock_error (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE);
  return done;
}

EXPORT time_t
time (time_t *now)
{
  struct timespec found;

  clock_gettime (CLOCK_REALTIME, &found);
  if (now != NULL)
    *now = found.tv_sec;
  return found.tv_sec;
}

EXPORT int
gettimeofday (struct timeval *restrict now, void *restrict zone)
{
  struct timespec found;

  (void) zone;
  clock_gettime (CLOCK_REALTIME, &found);
  now->tv_sec = found.tv_sec;
  now->tv_usec = found.tv_nsec / 1000;
  return 0;
}

/* ---- names of files */

static int
refused (Kind which)
{
  const int failed = fails (which);

  if (failed)
    errno = fault.number;
  return failed;
}

EXPORT int
openat (int folder, const char *path, int flags, ...)
{
  va_list arguments;
  va_start (arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE
                          ? va_arg (arguments, mode_t)
                          : 0;
  va_end (arguments);
  return refused (OPEN) ? -1 : REAL (openat) (folder, path, flags, mode);
}

int openat64 (int, const char *, int, ...) ALIAS ("openat");

EXPORT int
open (const char *path, int flags, ...)
{
  va_list arguments;
  va_start (arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE
                          ? va_arg (arguments, mode_t)
                          : 0;
  va_end (arguments);
  return openat (AT_FDCWD, path, flags, mode);
}

int open64 (const char *, int, ...) ALIAS ("open");

EXPORT int
close (int fd)
{
  const int failed = refused (CLOSE), number = errno, done = REAL (close) (fd);

  if (!failed)
    return done;
  errno = number;
  return -1;
}

EXPORT int
rename (const char *from, const char *to)
{
  return refused (RENAME) ? -1 : REAL (rename) (from, to);
}

/* ---- bytes */

/* Whether @fd is a regular file; its size and position. */
static int
is_file (int fd, off_t *size, off_t *position)
{
  struct stat status;
  const int saved = errno, regular = fstat (fd, &status) == 0 && S_ISREG (status.st_mode);

  *size = regular ? status.st_size : 0;
  *position = regular ? lseek (fd, 0, SEEK_CUR) : 0;
  if (regular && (fcntl (fd, F_GETFL) & O_APPEND) != 0)
    *position = *size;
  errno = saved;
  return regular && fd != STDERR_FILENO;
}

/* Of @n bytes, those that are moved, of which only the last @limited count as of @which: -1 with errno, if none is. */
static ssize_t
allowed (Kind which, size_t n, size_t limited)
{
  static _Atomic (unsigned) calls;
  const unsigned long used = atomic_load (&fault.counts[which]);

  if (kind () == SHORT && n > 0)
    {
      if (atomic_fetch_add (&calls, 1) % 3 != 2)
        return 1;
      errno = EINTR;
      return -1;
    }
  if (kind () != (int) which || n == 0 || used + limited <= fault.at)
    return (ssize_t) n;
  n -= limited - (fault.at - used);
  errno = fault.number;
  return n > 0 ? (ssize_t) n : -1;
}

static ssize_t
moved (Kind which, ssize_t n)
{
  if (n > 0)
    atomic_fetch_add (&fault.counts[which], (unsigned long) n);
  return n;
}

/* Of @n bytes that are to be written at @position of a file of @size, those that make it grow. */
static size_t
growth (off_t size, off_t position, size_t n)
{
  const off_t end = position + (off_t) n;

  return end <= size ? 0 : position >= size ? n : (size_t) (end - size);
}

static ssize_t
write_at (int fd, const void *data, size_t n, off_t where, int placed)
{
  off_t size, position;
  const int file = is_file (fd, &size, &position);
  const ssize_t part = file ? allowed (DISK, n, growth (size, placed ? where : position, n))
                            : (ssize_t) n;

  if (part < 0)
    return -1;
  if (file)
    moved (DISK, (ssize_t) growth (size, placed ? where : position, (size_t) part));
  return placed ? REAL (pwrite) (fd, data, (size_t) part, where)
                : REAL (write) (fd, data, (size_t) part);
}

EXPORT ssize_t
write (int fd, const void *data, size_t n)
{
  return write_at (fd, data, n, 0, 0);
}

EXPORT ssize_t
pwrite (int fd, const void *data, size_t n, off_t where)
{
  return write_at (fd, data, n, where, 1);
}

ssize_t pwrite64 (int, const void *, size_t, off_t) ALIAS ("pwrite");

EXPORT int
posix_fallocate (int fd, off_t where, off_t length)
{
  static _Atomic (unsigned) calls;
  off_t size, position;
  const int saved = errno;

  if (kind () == SHORT && atomic_fetch_add (&calls, 1) % 3 == 2)
    return EINTR;
  if (kind () != SHORT && is_file (fd, &size, &position))
    {
      const size_t more = growth (size, where, (size_t) length);
      const int failed = allowed (DISK, (size_t) length, more) < (ssize_t) length;
      errno = saved;
      if (failed)
        return fault.number;
      moved (DISK, (ssize_t) more);
    }
  return REAL (posix_fallocate) (fd, where, length);
}

int posix_fallocate64 (int, off_t, off_t) ALIAS ("posix_fallocate");

EXPORT int
fallocate (int fd, int mode, off_t where, off_t length)
{
  off_t size, position;

  if (kind () != SHORT && is_file (fd, &size, &position))
    {
      const size_t more = growth (size, where, (size_t) length);
      if (allowed (DISK, (size_t) length, more) < (ssize_t) length)
        return -1;
      moved (DISK, (ssize_t) more);
    }
  return REAL (fallocate) (fd, mode, where, length);
}

int fallocate64 (int, int, off_t, off_t) ALIAS ("fallocate");

static ssize_t
read_at (int fd, void *data, size_t n, off_t where, int placed)
{
  off_t size, position;
  const int file = is_file (fd, &size, &position);
  const ssize_t part = file ? allowed (READ, n, n) : (ssize_t) n;

  if (part < 0)
    return -1;
  const ssize_t got = placed ? REAL (pread) (fd, data, (size_t) part, where)
                             : REAL (read) (fd, data, (size_t) part);
  return file ? moved (READ, got) : got;
}

EXPORT ssize_t
read (int fd, void *data, size_t n)
{
  return read_at (fd, data, n, 0, 0);
}

EXPORT ssize_t
pread (int fd, void *data, size_t n, off_t where)
{
  return read_at (fd, data, n, where, 1);
}

ssize_t pread64 (int, void *, size_t, off_t) ALIAS ("pread");

/* ---- stdio, whose own calls cannot be replaced: streams that call those above */

static ssize_t
stream_write (void *cookie, const char *data, size_t n)
{
  const int fd = (int) (size_t) cookie;
  size_t done = 0;

  while (done < n)
    {
      const ssize_t part = write (fd, data + done, n - done);
      if (part > 0)
        done += (size_t) part;
      else if (part == 0 || errno != EINTR)
        break;
    }
  return (ssize_t) done;
}

static ssize_t
stream_read (void *cookie, char *data, size_t n)
{
  ssize_t part;

  while ((part = read ((int) (size_t) cookie, data, n)) < 0 && errno == EINTR)
    ;
  return part;
}

static int
stream_seek (void *cookie, off_t *position, int whence)
{
  const off_t found = lseek ((int) (size_t) cookie, *position, whence);

  if (found >= 0)
    *position = found;
  return found >= 0 ? 0 : -1;
}

static int
stream_close (void *cookie)
{
  return close ((int) (size_t) cookie);
}

static FILE *
stream (int fd, const char *mode)
{
  const cookie_io_functions_t functions = { stream_read, stream_write, stream_seek, stream_close };

  return fopencookie ((void *) (size_t) fd, mode, functions);
}

EXPORT FILE *
fopen (const char *path, const char *mode)
{
  const int plus = strchr (mode, '+') != NULL;
  const int flags = mode[0] == 'r'   ? (plus ? O_RDWR : O_RDONLY)
                    : mode[0] == 'w' ? (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC
                                     : (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
  off_t size, position;

  if (kind () == KINDS)
    return REAL (fopen) (path, mode);
  const int fd = open (path, flags | (strchr (mode, 'e') != NULL ? O_CLOEXEC : 0), 0666);
  if (fd < 0)
    return NULL;
  return is_file (fd, &size, &position) ? stream (fd, mode) : fdopen (fd, mode);
}

FILE *fopen64 (const char *, const char *) ALIAS ("fopen");

static void __attribute__ ((constructor)) begin (void)
{
  off_t size, position;

  if (kind () != KINDS && is_file (STDOUT_FILENO, &size, &position))
    stdout = stream (STDOUT_FILENO, "w");
}

static void __attribute__ ((destructor)) end (void)
{
  const char *path = getenv ("GEMEM_FAULT_COUNTS");

  if (kind () != COUNT || path == NULL)
    return;
  fault.kind = KINDS;
  const int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (int which = 0; fd >= 0 && which < KINDS; which++)
    dprintf (fd, "%s %lu\n", names[which], atomic_load (&fault.counts[which]));
  if (fd >= 0)
    close (fd);
}

#endif
