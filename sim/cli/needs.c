/* needs.c - see needs.h. */
#include "config.h"

#include "sim/cli/needs.h"
#include "sim/cli/progress.h"
#include "traces/shuffled.h"

gboolean
gemem_needs_take (GememNeed *need, GememSourceFile *file, GArray **ordinals, GError **error)
{
  gemem_progress_begin_reading (file->path);
  if ((file->held == NULL && !gemem_source_file_hold (file, TRUE, error))
      || (*ordinals = gemem_source_devices (file, error)) == NULL)
    return FALSE;
  need->name = file->path;
  need->held = file->held;
  need->graph = file->graph;
  need->ordinals = *ordinals;
  return TRUE;
}

static const char *
path_of_job (const GememJob *job)
{
  const gboolean shuffled = job->source == gemem_shuffled_open;
  const GememHeld *held = shuffled ? ((const GememShuffled *) job->source_data)->held
                                   : job->source_data;

  return gemem_held_info (held)->path;
}

static void
run_jobs (gconstpointer what, const GememJob *jobs, guint n, GememResult **results, GError **errors)
{
  gemem_progress_run_jobs (what, jobs, n, 0, path_of_job, results, errors);
}

GememRunner
gemem_needs_runner (const char *what)
{
  return (GememRunner){ run_jobs, what };
}

gboolean
gemem_want_histories (int histories, GError **error)
{
  if (histories >= 0 && histories <= GEMEM_HISTORIES_MOST)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--histories=%d: write a number from 1 to %d",
               histories, GEMEM_HISTORIES_MOST);
  return FALSE;
}
