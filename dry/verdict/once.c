/* once.c - one dry run from its preparation to its verdict, those that values of the GPU ask for (trial.c),
 * and the one that --workspaces asks for: in the first, sizes that only NVIDIA's libraries know are 0, in that what the user chose;
 * the verdict is the interval between them.
 */
#include "config.h"

#include "base/units.h"
#include "dry/verdict/verdict.h"

/* Runs the program, up to what --until says: then it ended with success.  *@not_printed: what it ended without.  FALSE: it could not
 * be watched, and did not run. */
static gboolean
run (const DryOptions *options, char **arguments, const DryRun *dry, pid_t *pid, int *status,
     const char **not_printed, GError **error)
{
  GememLauncherWatch watch = { .limit = options->limit };
  DryUntil until;

  if (options->until != NULL && !gemem_library_until_begin (&until, options->until, &watch, error))
    return FALSE;
  *status = gemem_launcher_run (arguments, dry->environment, &watch, pid);
  if (options->until == NULL)
    return TRUE;
  gemem_library_until_end (&until);
  *not_printed = until.found ? NULL : options->until;
  if (until.found && gemem_launcher_stopped () == 0)
    *status = 0;
  return TRUE;
}

DryVerdict *
gemem_library_run_and_judge (const DryOptions *options, char **arguments, GError **error)
{
  DryRun *dry = gemem_library_run_new (options, arguments, error);
  const char *not_printed = NULL;
  DryVerdict *verdict;
  int status;
  pid_t pid;

  if (dry == NULL)
    return NULL;
  const gint64 start = g_get_monotonic_time ();
  if (!run (options, arguments, dry, &pid, &status, &not_printed, error))
    {
      gemem_library_run_free (dry);
      return NULL;
    }
  const gint64 ran = g_get_monotonic_time () - start;
  gemem_dry_notes_load (dry, gemem_folder_read (&dry->folder, DRY_NOTES_FILE));
  verdict = gemem_library_verdict_new (options, dry, arguments[0], pid, status, not_printed);
  verdict->seconds = (guint) (ran / G_USEC_PER_SEC);
  gemem_library_run_free (dry);
  return verdict;
}

DryVerdict *
gemem_library_run_once (const DryOptions *options, char **arguments, GError **error)
{
  DryVerdict *verdict = gemem_library_run_and_judge (options, arguments, error);
  DryOptions second = *options;
  g_autofree char *output = gemem_launcher_beside (options->output, "workspaces");
  char size[GEMEM_FORMAT_MAX];

  if (verdict != NULL)
    gemem_library_try_values (options, arguments, verdict);
  if (verdict == NULL || options->workspaces == 0 || verdict->workspaces->len == 0
      || verdict->status != 0 || gemem_launcher_stopped () != 0)
    return verdict;
  gemem_launcher_say ("runs %s again, with workspaces of %s; the trace is %s", arguments[0],
                      gemem_format_size (size, options->workspaces), output);
  second.with_workspaces = TRUE;
  verdict->most_workspaces = options->workspaces;
  second.output = output;
  verdict->most = gemem_library_run_and_judge (&second, arguments, error);
  if (verdict->most != NULL)
    gemem_library_judge (options, verdict);
  else
    g_clear_pointer (&verdict, gemem_library_verdict_free);
  return verdict;
}
