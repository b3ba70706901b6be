/* memory.c - what gemem-sim does when the host has no memory left: a message and exit status 1; no
 * file that is half written stays behind (base/no-memory.h), but the journal of a SQLite database,
 * which SQLite takes up the next time. */
#include "config.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/no-memory.h"
#include "sim/cli/cli.h"
#include "sim/cli/progress.h"
#include "sim/report/report.h"

void
gemem_end_without_memory (const char *what, gsize length)
{
  static char begin[] = GEMEM_PROGRAM ": error: out of memory: ",
              end[] = "; raise the limit (ulimit -v, the container's) or use a larger machine\n";
  const struct iovec pieces[] = { { begin, strlen (begin) },
                                  { (char *) what, length },
                                  { end, strlen (end) } };

  gemem_write_abandon ();
  gemem_progress_erase_at_once ();
  _exit (writev (STDERR_FILENO, pieces, G_N_ELEMENTS (pieces)) < 0 ? 2 : 1);
}
