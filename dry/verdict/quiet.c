/* quiet.c - keeps what runs print from the screen, until it is wanted.
 *
 * Why: --fit runs a program a dozen times; its progress bars, and the errors of the runs that do not fit,
 * hide the answer.  What a run printed that failed for another reason is all that tells why.
 *
 * Invariants: only standard output and standard error of this process, which the program has from it,
 * change, and are as before after gemem_library_quiet_end(); where no file can be made nothing is hidden.
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "dry/verdict/verdict.h"

#define SHOWN_MAX 65536 /* bytes: the last ones */

void
gemem_library_quiet_begin (DryQuiet *quiet)
{
  fflush (stdout);
  fflush (stderr);
  quiet->file = tmpfile ();
  if (quiet->file == NULL)
    return;
  quiet->out = dup (STDOUT_FILENO);
  quiet->err = dup (STDERR_FILENO);
  dup2 (fileno (quiet->file), STDOUT_FILENO);
  dup2 (fileno (quiet->file), STDERR_FILENO);
}

/* Gives descriptor @number what @saved stands for. */
static void
restore (int saved, int number)
{
  if (saved < 0)
    close (number); /* it was closed */
  else
    {
      dup2 (saved, number);
      close (saved);
    }
}

static void
copy_end (FILE *file)
{
  char part[4096];
  size_t n;

  if (fseek (file, -SHOWN_MAX, SEEK_END) != 0)
    rewind (file);
  while ((n = fread (part, 1, sizeof part, file)) > 0)
    fwrite (part, 1, n, stderr);
}

void
gemem_library_quiet_end (DryQuiet *quiet, gboolean show)
{
  if (quiet->file == NULL)
    return;
  fflush (stdout);
  fflush (stderr);
  restore (quiet->out, STDOUT_FILENO);
  restore (quiet->err, STDERR_FILENO);
  if (show)
    copy_end (quiet->file);
  fclose (quiet->file);
}
