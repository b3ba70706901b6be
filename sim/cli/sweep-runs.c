/* sweep-runs.c - the runs of a sweep: every combination once, those that a database lacks made by
 * several threads, and written soon after their end.
 *
 * Why not a batch (batch.h): that keeps all results to the end.  Here thousands are made, each is in the
 * database soon after its end, and a process that is killed loses no more than was not written.
 *
 * Invariants: the name of a run (its key) is a hash of all that its result depends on: gemem's version,
 * the bytes of the trace, and every setting; so a changed file is another run.  A trace is held in memory
 * while runs of it are made.  Cost: one pass over each trace of the shard for its hash, one to hold it.
 */
#include "config.h"

#include <string.h>

#include "base/parallel.h"
#include "devices/profile.h"
#include "sim/cli/batch-results.h"
#include "sim/cli/progress.h"
#include "sim/cli/sweep.h"
#include "sim/cli/write-pace.h"
#include "sim/search/need.h"

/* A trace, or a graph with one lowering. */
typedef struct
{
  GememSourceFile *source;
  const char *program; /* that is run to make it; NULL: it is there */
  GMutex lock;         /* for what follows */
  char *failure;       /* of the program; NULL: none */
  gboolean told;       /* there is a row of that */
  guint runs_left;     /* at the end nothing is held */
  gboolean ready;      /* hash and devices are known, */
  GError *error;       /* unless it could not be read */
  GArray *ordinals;    /* guint16 */
} File;

/* A combination; on each device of its trace it is a row. */
typedef struct
{
  const GememSweepGroup *group;
  File *file;
  const GememDeviceSpec *device;
  const char *
      costs; /* what the prices say that the device is given by name, which may be that of a file */
  const GememAllocatorSpec *spec;
  guint repeat;
} Run;

/* A result that is not written yet. */
typedef struct
{
  GememResult *result;
  GememRunNames names;
  char *key, *doubt; /* of `names` */
} Ended;

struct _GememSweep
{
  GPtrArray *groups;  /* GememSweepGroup */
  GPtrArray *sources; /* GememSourceFile */
  GPtrArray *files;   /* File */
  GHashTable *costs;  /* GememDeviceSpec -> text, of `runs` */
  GArray *runs;       /* Run, of the shard */
  /* while it runs */
  GMutex lock; /* for all that follows */
  GememDatabase *database;
  GString *list;
  GArray *ended; /* Ended */
  GememWritePace pace;
  GHashTable *said; /* messages that were printed */
  GememSweepCounts *counts;
  GError *error; /* of the database: nothing more is begun */
  gint *steps;   /* combinations that are done */
};

/* ---- the list */

static void
file_free (gpointer data)
{
  File *file = data;

  g_mutex_clear (&file->lock);
  g_clear_error (&file->error);
  g_free (file->failure);
  g_clear_pointer (&file->ordinals, g_array_unref);
  g_free (file);
}

static const char *
lower_of (const File *file)
{
  return file->source->graph != NULL ? gemem_source_lowering (file->source) : "";
}

/* What names a combination, but for the bytes of its trace. */
static char *
identity_of (const Run *run)
{
  return g_strdup_printf ("%s\n%s\n%s\n%s\n%u %u %d %d", run->file->source->path,
                          lower_of (run->file), run->device->spec, run->spec->label, run->repeat,
                          run->group->warm_up, run->group->find_capacity,
                          run->group->no_trace_settings);
}

typedef struct
{
  GememSweep *sweep;
  GHashTable *seen; /* combinations, as identity_of() names them */
  guint n;          /* of all shards */
  guint shard, shards;
} Listing;

static void
add_run (Listing *listing, const Run *run)
{
  if (!g_hash_table_add (listing->seen, identity_of (run)))
    return;
  if (listing->n++ % listing->shards != listing->shard - 1)
    return;
  run->file->runs_left++;
  g_array_append_vals (listing->sweep->runs, run, 1);
}

/* See Run.costs; the prices of a device are read once. */
static const char *
costs_of (GememSweep *sweep, GememDeviceSpec *device)
{
  const GememDeviceClass *klass;
  const char *known = g_hash_table_lookup (sweep->costs, device);
  char *costs;

  if (known != NULL)
    return known;
  g_autoptr (GPtrArray) settings = gemem_device_spec_parse (device->spec, &klass, NULL);
  costs = settings != NULL ? gemem_profile_costs (settings) : g_strdup ("");
  g_hash_table_insert (sweep->costs, device, costs);
  return costs;
}

/* @program: that is run to make @source; NULL: it is there. */
static void
add_runs (Listing *listing, const GememSweepGroup *group, GememSourceFile *source,
          const char *program)
{
  File *file = g_new0 (File, 1);

  file->source = source;
  file->program = program;
  g_mutex_init (&file->lock);
  g_ptr_array_add (listing->sweep->files, file);
  for (guint d = 0; d < group->devices->len; d++)
    for (guint a = 0; a < group->allocators->len; a++)
      for (guint r = 0; r < group->repeats->len; r++)
        {
          const Run run = { group,
                            file,
                            group->devices->pdata[d],
                            costs_of (listing->sweep, group->devices->pdata[d]),
                            group->allocators->pdata[a],
                            g_array_index (group->repeats, guint, r) };
          add_run (listing, &run);
        }
}

static gboolean
add_trace (Listing *listing, const GememSweepGroup *group, const char *path, const char *lowering,
           GError **error)
{
  GPtrArray *sources = listing->sweep->sources;
  guint n;

  gemem_source_set_lowering (lowering);
  n = gemem_source_files_add (sources, path, error);
  for (guint i = sources->len - n; i < sources->len; i++)
    add_runs (listing, group, sources->pdata[i], NULL);
  if (n == 0)
    g_prefix_error (error, "[%s] ", group->name);
  return n > 0;
}

static void
add_program (Listing *listing, const GememSweepGroup *group, const char *program,
             const char *recordings)
{
  g_autofree char *recording = gemem_sweep_recording (recordings, program);
  GememSourceFile *source = gemem_source_file_later (program, recording);

  g_ptr_array_add (listing->sweep->sources, source);
  add_runs (listing, group, source, program);
}

GememSweep *
gemem_sweep_new (GPtrArray *groups, const char *recordings, guint shard, guint shards,
                 GError **error)
{
  g_autoptr (GememSweep) sweep = g_new0 (GememSweep, 1);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Listing listing = { sweep, seen, 0, shard, shards };

  sweep->groups = groups;
  sweep->sources = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);
  sweep->files = g_ptr_array_new_with_free_func (file_free);
  sweep->costs = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  sweep->runs = g_array_new (FALSE, FALSE, sizeof (Run));
  sweep->ended = g_array_new (FALSE, FALSE, sizeof (Ended));
  sweep->said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_mutex_init (&sweep->lock);
  for (guint g = 0; g < groups->len; g++)
    {
      const GememSweepGroup *group = groups->pdata[g];

      for (guint t = 0; t < group->traces->len; t++)
        for (guint l = 0; l < group->lowerings->len; l++)
          if (!add_trace (&listing, group, group->traces->pdata[t], group->lowerings->pdata[l],
                          error))
            return NULL;
      for (guint p = 0; p < group->programs->len; p++)
        add_program (&listing, group, group->programs->pdata[p], recordings);
    }
  return g_steal_pointer (&sweep);
}

void
gemem_sweep_free (GememSweep *sweep)
{
  if (sweep == NULL)
    return;
  g_array_unref (sweep->ended);
  g_array_unref (sweep->runs);
  g_hash_table_unref (sweep->costs);
  g_ptr_array_unref (sweep->files);
  g_ptr_array_unref (sweep->sources);
  g_ptr_array_unref (sweep->groups);
  g_hash_table_unref (sweep->said);
  g_mutex_clear (&sweep->lock);
  g_free (sweep);
}

/* ---- writing; with the lock of the sweep */

static void
write_ended (GememSweep *sweep)
{
  const guint n = sweep->ended->len;
  const gint64 begin = g_get_monotonic_time ();
  g_autofree GememResult **results = g_new (GememResult *, n);
  g_autofree GememRunNames *names = g_new (GememRunNames, n);

  for (guint i = 0; i < n; i++)
    {
      const Ended *ended = &g_array_index (sweep->ended, Ended, i);
      results[i] = ended->result;
      names[i] = ended->names;
    }
  if (n > 0 && sweep->error == NULL)
    gemem_database_append (sweep->database, results, names, n, &sweep->error);
  for (guint i = 0; i < n; i++)
    {
      Ended *ended = &g_array_index (sweep->ended, Ended, i);
      gemem_result_free (ended->result);
      g_free (ended->key);
      g_free (ended->doubt);
    }
  g_array_set_size (sweep->ended, 0);
  gemem_write_took (&sweep->pace, begin);
}

/* Prints @error once, and frees it. */
static void
tell (GememSweep *sweep, GError *error)
{
  sweep->counts->failed++;
  if (sweep->counts->status == 0)
    sweep->counts->status = gemem_error_exit_status (error);
  if (g_hash_table_add (sweep->said, g_strdup (error->message)))
    gemem_print_error (error);
  g_error_free (error);
}

/* ---- a run */

static GememJob
job_of (const Run *run, int ordinal)
{
  return (GememJob){
    .allocator = run->spec,
    .device_spec = run->device->spec,
    .device_difference = run->device->difference,
    .device_ordinal = ordinal,
    .source = gemem_source_file_open,
    .source_data = run->file->source,
    .graph = run->file->source->graph,
    .use_trace_settings = !run->group->no_trace_settings,
    .repeat = run->repeat,
    .warm_up = run->group->warm_up,
    .find_capacity = run->group->find_capacity,
    .clock = gemem_host_clock,
    .wait = gemem_host_wait,
    .interrupted = &gemem_interrupted,
  };
}

static char *
key_from (const char *text)
{
  char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);

  hash[32] = '\0';
  return hash;
}

/* The name of @run on device @ordinal of its trace. */
static char *
key_of (const Run *run, int ordinal)
{
  g_autofree char *identity = identity_of (run);
  g_autofree char *text = g_strdup_printf ("%s\n%s\n%d\n%s%s%s", PACKAGE_VERSION,
                                           gemem_source_file_sha256 (run->file->source), ordinal,
                                           identity, *run->costs != '\0' ? "\n" : "", run->costs);

  return key_from (text);
}

/* Of a group with several repeats the label names that too. */
static void
name (GememResult *result, const Run *run, const GememJob *job, gboolean hashes)
{
  gemem_batch_name (result, job, hashes);
  if (run->group->repeats->len > 1)
    {
      g_autofree char *label = g_strdup_printf ("%s (repeat=%u)", result->label, run->repeat);
      gemem_result_set_label (result, label);
    }
}

static void
push (GememSweep *sweep, const Ended *ended)
{
  g_array_append_vals (sweep->ended, ended, 1);
  sweep->counts->made++;
  if (gemem_write_is_due (&sweep->pace))
    write_ended (sweep);
}

/* Names the result of @job, or why there is none, and leaves it to be written.  Takes @result, @error. */
static void
keep (GememSweep *sweep, const Run *run, const GememJob *job, char *key, GememResult *result,
      GError *error, guint64 run_time)
{
  Ended ended = { .key = key };

  sweep->counts->refused += result == NULL;
  if (result == NULL)
    result = gemem_batch_not_run (job, error->message);
  else
    ended.doubt = gemem_need_doubt (result, run->file->source->held, NULL);
  g_clear_error (&error);
  name (result, run, job, TRUE);
  ended.result = result;
  ended.names = (GememRunNames){
    key,         run->group->name, run->file->source->path, run->spec->label, lower_of (run->file),
    ended.doubt, run->repeat,      run->group->warm_up,     run_time
  };
  push (sweep, &ended);
}

static void
replay (GememSweep *sweep, const Run *run, int ordinal, char *key)
{
  const GememJob job = job_of (run, ordinal);
  const guint64 begin = gemem_host_clock ();
  GError *error = NULL;
  GememResult *result = gemem_job_run (&job, &error);
  const guint64 end = gemem_host_clock ();

  g_mutex_lock (&sweep->lock);
  if (g_atomic_int_get (&gemem_interrupted) != 0
      || (result == NULL && !g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE)))
    {
      if (error != NULL && !g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED))
        tell (sweep, g_steal_pointer (&error));
      g_clear_error (&error);
      gemem_result_free (result);
      g_free (key);
    }
  else
    keep (sweep, run, &job, key, result, error, end > begin ? end - begin : 0);
  g_mutex_unlock (&sweep->lock);
}

static void
list_line (GememSweep *sweep, const char *trace, const char *label, int ordinal)
{
  g_string_append_printf (sweep->list, "  %s  %s", trace, label);
  if (ordinal != 0)
    g_string_append_printf (sweep->list, "  device %d", ordinal);
  g_string_append_c (sweep->list, '\n');
  sweep->counts->made++;
}

static void
list_run (GememSweep *sweep, const Run *run, int ordinal)
{
  const GememJob job = job_of (run, ordinal);
  g_autoptr (GememResult) named = gemem_batch_not_run (&job, "");

  name (named, run, &job, FALSE);
  list_line (sweep, named->trace, named->label, ordinal);
}

/* TRUE if the run @key is still to be made. */
static gboolean
is_missing (GememSweep *sweep, const char *key)
{
  gboolean has = FALSE;

  if (sweep->database != NULL && sweep->error == NULL)
    gemem_database_has (sweep->database, key, &has, &sweep->error);
  sweep->counts->there += has;
  return !has && sweep->error == NULL;
}

/* The row of a program that failed, once, whoever finds out: it has no allocator. */
static void
keep_failure (GememSweep *sweep, File *file)
{
  g_autofree char *text = g_strdup_printf ("%s\nprogram\n%s", PACKAGE_VERSION, file->program),
                  *key = key_from (text);
  gboolean missing;

  g_mutex_lock (&sweep->lock);
  missing = !file->told && is_missing (sweep, key);
  sweep->counts->programs += !file->told;
  file->told = TRUE;
  if (missing && sweep->list != NULL)
    list_line (sweep, file->program, file->failure, 0);
  else if (missing)
    {
      Ended ended = { gemem_result_new (), { .trace = file->program, .lower = "" }, key, NULL };

      ended.names.key = g_steal_pointer (&key);
      ended.result->not_run = TRUE;
      ended.result->trace = g_strdup (file->program);
      ended.result->failure = g_strdup (file->failure);
      push (sweep, &ended);
    }
  g_mutex_unlock (&sweep->lock);
}

/* Reads what the runs of @file need, after its program was run unless @list; an error is kept. */
static gboolean
make_ready (File *file, gboolean list)
{
  g_mutex_lock (&file->lock);
  if (!file->ready && file->program != NULL)
    {
      if (list)
        file->ready = !gemem_sweep_was_recorded (file->source->file, &file->failure);
      else
        gemem_sweep_record (file->program, file->source->file, &file->failure, &file->error);
      file->ready |= file->failure != NULL || file->error != NULL;
    }
  if (!file->ready && gemem_source_file_hold (file->source, TRUE, &file->error))
    file->ordinals = gemem_source_devices (file->source, &file->error);
  if (!file->ready && file->ordinals != NULL && gemem_source_file_sha256 (file->source) == NULL)
    g_set_error (&file->error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s: cannot be read twice; a sweep needs files", file->source->path);
  file->ready = TRUE;
  g_mutex_unlock (&file->lock);
  return file->error == NULL;
}

static void
leave (File *file)
{
  g_mutex_lock (&file->lock);
  if (--file->runs_left == 0)
    g_clear_pointer (&file->source->held, gemem_held_unref);
  g_mutex_unlock (&file->lock);
}

static void
run_on_devices (GememSweep *sweep, const Run *run)
{
  for (guint i = 0; i < run->file->ordinals->len; i++)
    {
      const int ordinal = g_array_index (run->file->ordinals, guint16, i);
      char *key = key_of (run, ordinal);
      gboolean missing;

      g_mutex_lock (&sweep->lock);
      missing = is_missing (sweep, key);
      if (missing && sweep->list != NULL)
        list_run (sweep, run, ordinal);
      g_mutex_unlock (&sweep->lock);
      if (missing && sweep->list == NULL)
        replay (sweep, run, ordinal, key);
      else
        g_free (key);
    }
}

/* A run of a program that nobody ran yet: on one device, as most are. */
static void
list_unrecorded (GememSweep *sweep, const Run *run)
{
  g_mutex_lock (&sweep->lock);
  list_run (sweep, run, 0);
  g_mutex_unlock (&sweep->lock);
}

static gboolean
has_ended (GememSweep *sweep)
{
  gboolean ended;

  g_mutex_lock (&sweep->lock);
  ended = sweep->error != NULL || g_atomic_int_get (&gemem_interrupted) != 0;
  g_mutex_unlock (&sweep->lock);
  return ended;
}

/* A function of gemem_parallel(). */
static void
run_one (gpointer data, guint i)
{
  GememSweep *sweep = data;
  const Run *run = &g_array_index (sweep->runs, Run, i);

  if (has_ended (sweep))
    return;
  if (!make_ready (run->file, sweep->list != NULL))
    {
      g_mutex_lock (&sweep->lock);
      if (!g_error_matches (run->file->error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED))
        tell (sweep, g_error_copy (run->file->error));
      g_mutex_unlock (&sweep->lock);
    }
  else if (run->file->failure != NULL)
    keep_failure (sweep, run->file);
  else if (run->file->ordinals == NULL)
    list_unrecorded (sweep, run);
  else
    run_on_devices (sweep, run);
  leave (run->file);
  g_atomic_int_inc (sweep->steps);
}

gboolean
gemem_sweep_run (GememSweep *sweep, GememDatabase *database, guint threads, GString *list,
                 GememSweepCounts *counts, GError **error)
{
  memset (counts, 0, sizeof *counts);
  sweep->database = database;
  sweep->list = list;
  sweep->counts = counts;
  gemem_progress_begin_steps ("sweep", "runs", sweep->runs->len);
  sweep->steps = gemem_progress_steps ();
  gemem_parallel (sweep->runs->len, list != NULL ? 1 : threads, run_one, sweep);
  write_ended (sweep);
  gemem_progress_end ();
  if (sweep->error == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&sweep->error));
  return FALSE;
}
