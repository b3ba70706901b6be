/* sweep-slurm.c - a sweep on a cluster: an array job of Slurm whose tasks make a shard each, and a job
 * that merges when all have ended.
 *
 * Why a database for each task: SQLite is not safe on the file systems that nodes share.
 *
 * Invariants: a task that is preempted or killed is put back into the queue (--requeue) and goes on with
 * its own database; the merge adds what is there, whatever became of the tasks.
 */
#include "config.h"

#include <string.h>

#include "sim/cli/sweep.h"
#include "sim/report/report.h"

/* "cd" is sbatch's: tasks begin where it was called. */
static char *
program (void)
{
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);

  return g_shell_quote (path != NULL ? path : GEMEM_PROGRAM);
}

/* Appends the options of the user, then @last (NULL-terminated); NULL with @error. */
static char **
sbatch (const char *options, const char *const *last, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) own = NULL;
  g_autoptr (GError) cause = NULL;

  if (*options != '\0' && !g_shell_parse_argv (options, NULL, &own, &cause)
      && !g_error_matches (cause, G_SHELL_ERROR, G_SHELL_ERROR_EMPTY_STRING))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--slurm=%s: %s", options,
                   cause->message);
      return NULL;
    }
  g_ptr_array_add (words, g_strdup ("sbatch"));
  g_ptr_array_add (words, g_strdup ("--parsable"));
  for (char **word = own; word != NULL && *word != NULL; word++)
    g_ptr_array_add (words, g_strdup (*word));
  for (; *last != NULL; last++)
    g_ptr_array_add (words, g_strdup (*last));
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_steal (words, NULL);
}

/* The number of the job that @words submit; NULL with @error. */
static char *
submit (char **words, GError **error)
{
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr (GError) cause = NULL;
  int status;

  if (!g_spawn_sync (NULL, words, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err, &status,
                     &cause))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "sbatch: %s; is this a machine of a Slurm cluster?", cause->message);
  else if (!g_spawn_check_wait_status (status, NULL) || !g_ascii_isdigit (*out))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "sbatch refused the job: %s",
                 g_strstrip (err));
  else
    {
      out[strspn (out, "0123456789")] = '\0'; /* "JOB;CLUSTER" */
      return g_steal_pointer (&out);
    }
  return NULL;
}

static char *
submit_tasks (const char *spec, const char *parts, const char *recordings, guint tasks,
              const char *options, GError **error)
{
  g_autofree char *exe = program (), *quoted = g_shell_quote (spec),
                  *folder = g_shell_quote (parts), *programs = g_shell_quote (recordings),
                  *array = g_strdup_printf ("--array=1-%u", tasks),
                  *log = g_strdup_printf ("--output=%s/%%a.log", parts),
                  *wrap = g_strdup_printf ("exec %s sweep %s -q --shard $SLURM_ARRAY_TASK_ID/%u "
                                           "--jobs ${SLURM_CPUS_PER_TASK:-1} "
                                           "--recordings %s -o %s/$SLURM_ARRAY_TASK_ID.db",
                                           exe, quoted, tasks, programs, folder);
  const char *const last[] = {
    "--requeue", "--open-mode=append", "--job-name=gemem-sweep", log, array, "--wrap", wrap, NULL
  };
  g_auto (GStrv) words = sbatch (options, last, error);

  return words != NULL ? submit (words, error) : NULL;
}

static char *
submit_merge (const char *output, const char *parts, const char *job, const char *options,
              GError **error)
{
  g_autofree char *exe = program (), *quoted = g_shell_quote (output),
                  *folder = g_shell_quote (parts),
                  *after = g_strdup_printf ("--dependency=afterany:%s", job),
                  *log = g_strdup_printf ("--output=%s/merge.log", parts),
                  *wrap = g_strdup_printf ("exec %s sweep --merge -o %s %s/*.db", exe, quoted,
                                           folder);
  const char *const last[] = { "--requeue", "--job-name=gemem-merge", log, after, "--wrap", wrap,
                               NULL };
  g_auto (GStrv) words = sbatch (options, last, error);

  return words != NULL ? submit (words, error) : NULL;
}

gboolean
gemem_sweep_submit (const char *spec, const char *output, const char *recordings, guint tasks,
                    const char *options, GString *out, GError **error)
{
  g_autofree char *parts = g_strconcat (output, ".parts", NULL), *job = NULL, *last = NULL;

  if (!gemem_make_folder (parts, error)
      || (job = submit_tasks (spec, parts, recordings, tasks, options, error)) == NULL)
    return FALSE;
  last = submit_merge (output, parts, job, options, error);
  if (last == NULL)
    {
      g_prefix_error (error, "job %s, the tasks, was submitted, but not the merge: ", job);
      return FALSE;
    }
  g_string_append_printf (out,
                          "Submitted: job %s, %u tasks; job %s merges into %s when they have "
                          "ended\n"
                          "  databases and logs of the tasks: %s\n"
                          "  what is missing then: gemem-sim sweep %s -o %s --dry-run\n",
                          job, tasks, last, output, parts, spec, output);
  return TRUE;
}
