/* file.c - see file.h. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "traces/journal/file.h"
#include "traces/journal/format.h"

/* Whether a file may have @size bytes.  Growing a file beyond the limit of the process would raise
 * a signal, which the program does not expect. */
static bool
may_have (off_t size)
{
  struct rlimit limit;
  return getrlimit (RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
         || (rlim_t) size <= limit.rlim_cur;
}

void *
gemem_journal_map (const char *path, uint32_t number, int flags)
{
  off_t place = (off_t) number * JOURNAL_BLOCK;
  int fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  void *block = MAP_FAILED;

  if (fd < 0)
    return NULL;
  int problem = may_have (place + JOURNAL_BLOCK) ? EINTR : EFBIG;
  while (problem == EINTR)
    problem = posix_fallocate (fd, place, JOURNAL_BLOCK);
  if (problem == 0)
    block = mmap (NULL, JOURNAL_BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                  place);
  if (problem == 0 && block == MAP_FAILED)
    problem = errno;
  close (fd);
  errno = problem;
  return block != MAP_FAILED ? block : NULL;
}
