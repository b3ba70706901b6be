/* sweep.c - `gemem-sim sweep`: every combination of a specification into a database, and the merge of
 * several.
 *
 * Invariants: whatever ended an earlier run of the same command, the next one makes what is missing.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/cli/options.h"
#include "sim/cli/sweep.h"

static char *output, *shard_text, *slurm, *recordings;
static int jobs = GEMEM_NOT_GIVEN;
static gboolean dry_run, merge;

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
    "The database, to which what is missing is added (default: results.db)", "FILE" },
  { "recordings", 0, 0, G_OPTION_ARG_FILENAME, &recordings,
    "Where the recordings of programs are kept (default: that of -o, and .programs)", "FOLDER" },
  { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &dry_run, "Say what would be run, and run nothing",
    NULL },
  { "shard", 0, 0, G_OPTION_ARG_STRING, &shard_text,
    "Only every N-th run, beginning with the I-th: the part of one of N machines", "I/N" },
  { "merge", 0, 0, G_OPTION_ARG_NONE, &merge,
    "The arguments are databases: add their runs to that of -o", NULL },
  { "slurm", 0, 0, G_OPTION_ARG_STRING, &slurm,
    "Submit an array job of --jobs tasks, a shard each, and their merge; OPTIONS are those of "
    "sbatch",
    "OPTIONS" },
  { "jobs", 'j', 0, G_OPTION_ARG_INT, &jobs,
    "Runs at the same time (default: one per processor); with --slurm, tasks", "N" },
  { NULL }
};

/* "2/8" */
static gboolean
parse_shard (guint *shard, guint *shards, GError **error)
{
  g_auto (GStrv) parts = g_strsplit (shard_text != NULL ? shard_text : "1/1", "/", -1);
  guint64 i, n;

  if (g_strv_length (parts) == 2 && gemem_parse_digits (parts[1], 10, 1, G_MAXINT, &n)
      && gemem_parse_digits (parts[0], 10, 1, n, &i))
    {
      *shard = (guint) i;
      *shards = (guint) n;
      return TRUE;
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--shard=%s: write I/N, from 1/N to N/N, as 2/8", shard_text);
  return FALSE;
}

static gboolean
check_options (GError **error)
{
  const char *refused = NULL;

  if (slurm != NULL && (shard_text != NULL || dry_run || merge))
    refused =
        "--slurm submits all shards and their merge; leave --shard, --dry-run and --merge out";
  else if (slurm != NULL && jobs == GEMEM_NOT_GIVEN)
    refused = "--slurm: --jobs N is missing, the number of tasks";
  else if (merge && (shard_text != NULL || dry_run))
    refused = "--merge takes databases; leave --shard and --dry-run out";
  if (refused == NULL)
    return gemem_want_number ("jobs", &jobs, error);
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, refused);
  return FALSE;
}

/* ---- what was done */

static void
append_counts (GString *out, const GememSweepCounts *counts)
{
  const guint all = counts->made + counts->there;

  g_string_append_printf (out, "%u run%s in %s: %u made now, %u were there\n", all,
                          gemem_plural (all), output, counts->made, counts->there);
  if (counts->refused > 0)
    g_string_append_printf (
        out,
        "  %u of them could not begin, as their settings contradict each other: "
        "column failure\n",
        counts->refused);
  if (counts->programs > 0)
    g_string_append_printf (
        out, "  %u program%s failed: column failure; what %s printed: %s/*.log\n", counts->programs,
        gemem_plural (counts->programs), counts->programs == 1 ? "it" : "they", recordings);
  if (counts->failed > 0)
    g_string_append_printf (out, "  %u more failed; what is wrong is said above\n", counts->failed);
  g_string_append_printf (out, "Next: gemem-sim query %s\n", output);
}

static void
append_list (GString *out, const GememSweepCounts *counts, const char *list)
{
  const guint all = counts->made + counts->there;

  g_string_append_printf (out, "%u run%s: %u would be made, %u are in %s\n%s", all,
                          gemem_plural (all), counts->made, counts->there, output, list);
}

/* ---- the command */

/* Nothing is created for a list. */
static GememDatabase *
open_database (GError **error)
{
  if (!dry_run)
    return gemem_database_open (output, error);
  return g_file_test (output, G_FILE_TEST_EXISTS) ? gemem_database_open_to_read (output, error)
                                                  : NULL;
}

/* The exit status; @error may be set. */
static int
run_sweep (const char *spec, GError **error)
{
  g_autoptr (GString) list = dry_run ? g_string_new (NULL) : NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GememDatabase) database = NULL;
  g_autoptr (GememSweep) sweep = NULL;
  GememSweepCounts counts;
  GPtrArray *groups;
  guint shard, shards;
  GError *opening = NULL;

  if (!parse_shard (&shard, &shards, error)
      || (groups = gemem_sweep_spec_read (spec, error)) == NULL
      || (sweep = gemem_sweep_new (groups, recordings, shard, shards, error)) == NULL)
    return 2;
  gemem_catch_interrupts ();
  database = open_database (&opening);
  if (opening != NULL)
    {
      g_propagate_error (error, opening);
      return 1;
    }
  const gboolean ok = gemem_sweep_run (sweep, database, (guint) jobs, list, &counts, error);
  gemem_interrupts_over ();
  if (!ok)
    return 1;
  if (dry_run)
    append_list (out, &counts, list->str);
  else
    append_counts (out, &counts);
  if (!gemem_put (NULL, out->str, out->len, error))
    return 1;
  if (g_atomic_int_get (&gemem_interrupted) != 0)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                           "interrupted; the same command makes the other runs");
      return 130;
    }
  return counts.status;
}

static int
run_merge (char **paths, GError **error)
{
  g_autoptr (GememDatabase) database = gemem_database_open (output, error);
  g_autofree char *text = NULL;
  guint64 all = 0, added = 0;

  if (database == NULL)
    return 1;
  for (char **path = paths; *path != NULL; path++)
    {
      if (!gemem_database_merge (database, *path, &added, error))
        return 1;
      all += added;
    }
  text = g_strdup_printf ("%" G_GUINT64_FORMAT " run%s added to %s, from %u database%s\n", all,
                          gemem_plural (all), output, g_strv_length (paths),
                          gemem_plural (g_strv_length (paths)));
  return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
}

static int
run_slurm (const char *spec, GError **error)
{
  g_autoptr (GPtrArray) groups = gemem_sweep_spec_read (spec, error);
  g_autoptr (GString) out = g_string_new (NULL);

  if (groups == NULL)
    return 2;
  return gemem_sweep_submit (spec, output, recordings, (guint) jobs, slurm, out, error)
                 && gemem_put (NULL, out->str, out->len, error)
             ? 0
             : 1;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_sweep;

  if (!gemem_want_arguments (&gemem_command_sweep, arguments, 1, merge ? 100000 : 1, error)
      || !check_options (error))
    return 2;
  if (output == NULL)
    output = g_strdup ("results.db");
  if (recordings == NULL)
    recordings = g_strconcat (output, ".programs", NULL);
  return merge           ? run_merge (arguments, error)
         : slurm != NULL ? run_slurm (arguments[0], error)
                         : run_sweep (arguments[0], error);
}

const GememCommand gemem_command_sweep = {
  .name = "sweep",
  .synopsis = "SPEC.ini",
  .summary = "Replay every combination of traces, allocators and devices into a database",
  .description =
      "SPEC.ini is a key file with a group for each job; [global] holds keys that all have. The "
      "keys are options\n"
      "of 'compare': trace (files and globs), allocator, device, capacity, lower, repeat, "
      "warm-up,\n"
      "find-capacity, no-trace-settings; and program: what follows gemem-dry-run, run once. A list "
      "has ';' "
      "between its\n"
      "values; A|B and key=* are as there.\n"
      "Every run is a row of the database. The same command goes on where it was stopped.\n"
      "'gemem-sim query' asks the database, 'gemem-sim plot' draws it.",
  .examples = "  gemem-sim sweep nightly.ini -o results.db\n"
              "      all of it, or what is missing\n"
              "  gemem-sim sweep nightly.ini --dry-run\n"
              "      what would be run\n"
              "  gemem-sim sweep nightly.ini --shard 1/2 -o one.db\n"
              "      half of it, for one of two machines\n"
              "  gemem-sim sweep --merge one.db two.db -o results.db\n"
              "      one database of both\n"
              "  gemem-sim sweep nightly.ini --jobs 64 --slurm '--time=30 --cpus-per-task=4'\n"
              "      64 tasks on a cluster, and their merge\n",
  .options = { entries },
  .run = run,
};
