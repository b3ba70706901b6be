/* batch-results.c - the results of the runs of replay and compare: their names, their rows and
 * messages, and every output that the options ask for.
 *
 * Why apart from batch.c: that one decides what is run, this one what is said of it.
 *
 * Invariants: rows are in the order of the jobs; a message that several runs share is printed once;
 * nothing here changes a number of a result.
 */
#include "config.h"

#include <string.h>

#include "sim/cli/batch-results.h"
#include "sim/cli/choices.h"
#include "sim/cli/environment.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/share.h"
#include "sim/cli/source.h"
#include "sim/cli/table-options.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

GememOutputs gemem_outputs;

/* ---- names */

/* The allocator as the user wrote it, then what else tells the run of @job from others. */
static char *
label_of (const GememJob *job)
{
  const char *differences[] = { job->device_difference,
                                ((const GememSourceFile *) job->source_data)->difference };
  g_autofree char *allocator = gemem_share_label (job);
  GString *label = g_string_new (allocator);

  for (guint i = 0; i < G_N_ELEMENTS (differences); i++)
    if (differences[i] != NULL)
      g_string_append_printf (label, " (%s)", differences[i]);
  return g_string_free (label, FALSE);
}

static char *
trace_of (const GememJob *job)
{
  return job->n_others > 0 ? gemem_share_trace_name (job)
                           : gemem_source_file_name (job->source_data);
}

/* Whether an output has the hash of each trace: hashing costs an eighth of a plain replay. */
static gboolean
wants_hashes (void)
{
  return gemem_outputs.form == GEMEM_FORMAT_JSON || gemem_outputs.form == GEMEM_FORMAT_CSV
         || gemem_outputs.sqlite != NULL || gemem_outputs.plots != NULL
         || gemem_outputs.manifest != NULL;
}

/* Gives @result, of the trace @file, the names that the user gave. */
static void
name_result (GememResult *result, GememSourceFile *file, char *trace, const char *label,
             gboolean hashes)
{
  g_free (result->trace);
  result->trace = trace;
  gemem_result_set_label (result, label);
  if (file == NULL)
    return;
  g_free (result->trace_sha256);
  result->trace_sha256 = hashes ? g_strdup (gemem_source_file_sha256 (file)) : NULL;
  gemem_settings_append (result->variables, file->variables);
}

void
gemem_batch_name (GememResult *result, const GememJob *job, gboolean hashes)
{
  g_autofree char *label = label_of (job);

  name_result (result, job->n_others > 0 ? NULL : job->source_data, trace_of (job), label, hashes);
  for (guint i = 0; i < (result->programs != NULL ? result->programs->len : 0); i++)
    {
      GememSourceFile *file = i == 0 ? job->source_data : job->others[i - 1].source_data;
      const GememAllocatorSpec *spec = i == 0 ? job->allocator : job->others[i - 1].allocator;
      name_result (result->programs->pdata[i], file, gemem_source_file_name (file), spec->label,
                   hashes);
    }
}

GememResult *
gemem_batch_not_run (const GememJob *job, const char *reason)
{
  GememResult *result = gemem_result_new ();

  result->not_run = TRUE;
  result->allocator = g_strdup (job->allocator->klass->name);
  result->label = label_of (job);
  result->trace = trace_of (job);
  result->device_ordinal = job->device_ordinal;
  result->failure = g_strdup (reason);
  return result;
}

/* Adds the row of a run that could not begin, so that a comparison names every run. */
static void
keep_not_run (GememBatchResults *batch, const GememJob *job, const char *reason)
{
  g_ptr_array_add (batch->rows, gemem_batch_not_run (job, reason));
}

/* TRUE if an interruption kept a run from beginning: it has no result worth a look. */
static gboolean
never_began (const GememResult *result, const GError *error)
{
  if (result == NULL)
    return g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED);
  return gemem_result_was_interrupted (result) && result->events == 0;
}

void
gemem_batch_collect (GememBatchResults *batch, const GememJob *job, GememResult *result,
                     GError *error)
{
  int status = 0;
  batch->ended += result == NULL || !gemem_result_was_interrupted (result);
  if (never_began (result, error))
    {
      batch->ended -= result == NULL;
      g_clear_pointer (&result, gemem_result_free);
      g_clear_error (&error);
      status = 130;
      keep_not_run (batch, job, "interrupted");
    }
  else if (result == NULL && batch->choices && job->allocator->settings->len > 0
           && g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE))
    g_error_free (error); /* nobody asked for it, and the program could not choose it */
  else if (result == NULL && job->allocator->one_of != NULL
           && g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE))
    {
      keep_not_run (batch, job, error->message);
      if (!g_hash_table_contains (batch->several, job->allocator->one_of))
        g_hash_table_insert (batch->several, g_strdup (job->allocator->one_of), error);
      else
        g_error_free (error);
    }
  else if (result == NULL)
    {
      gemem_environment_blame (job->allocator->variables, &error);
      if (g_hash_table_add (batch->said, g_strdup (error->message)))
        gemem_print_error (error);
      status = gemem_error_exit_status (error);
      keep_not_run (batch, job, error->message);
      g_error_free (error);
    }
  else
    {
      gemem_batch_name (result, job, wants_hashes ());
      if (job->allocator->one_of != NULL)
        g_hash_table_replace (batch->several, g_strdup (job->allocator->one_of), NULL);
      if (result->failure != NULL && (batch->runs == 1 || !gemem_result_was_interrupted (result)))
        gemem_warn ("%s: %s: %s", result->trace, result->label, result->failure);
      g_ptr_array_add (batch->results, result);
      g_ptr_array_add (batch->rows, result);
      if (g_atomic_int_get (&gemem_interrupted) != 0)
        status = 130;
      else if (result->partial)
        status = 3;
      else if (result->failure != NULL)
        status = 1;
      else if (gemem_outputs.fail_on_oom && result->ooms > 0)
        status = 4;
    }
  if (batch->status == 0)
    batch->status = status;
}

void
gemem_batch_leave_out (GememBatchResults *batch)
{
  batch->ended++;
  batch->no_choices++;
}

/* Removes the rows of traces of which no run began: their messages were printed.  After an
 * interruption each run has its row. */
static void
leave_lone_rows_out (GememBatchResults *batch)
{
  for (guint i = batch->rows->len; i-- > 0;)
    {
      const GememResult *row = batch->rows->pdata[i];
      gboolean alone = row->not_run && !gemem_result_was_interrupted (row);
      for (guint r = 0; alone && r < batch->results->len; r++)
        alone = !gemem_report_same_group (row, batch->results->pdata[r]);
      if (alone)
        g_ptr_array_remove_index (batch->rows, i);
    }
}

/* One of several that is refused is a row; that all were is an error. */
static void
blame_refused (GememBatchResults *batch)
{
  GHashTableIter iter;
  gpointer error;

  g_hash_table_iter_init (&iter, batch->several);
  while (g_hash_table_iter_next (&iter, NULL, &error))
    {
      if (error == NULL)
        continue;
      if (g_hash_table_add (batch->said, g_strdup (((GError *) error)->message)))
        gemem_print_error (error);
      if (batch->status == 0)
        batch->status = gemem_error_exit_status (error);
    }
}

static void
free_error (gpointer error)
{
  if (error != NULL)
    g_error_free (error);
}

/* ---- the list */

GememBatchResults *
gemem_batch_results_new (guint runs, gboolean choices)
{
  GememBatchResults *batch = g_new0 (GememBatchResults, 1);

  batch->runs = runs;
  batch->choices = choices;
  batch->results = g_ptr_array_new ();
  batch->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  batch->several = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_error);
  batch->said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return batch;
}

void
gemem_batch_results_end (GememBatchResults *batch)
{
  for (guint i = 0; i < batch->rows->len; i++)
    ((GememResult *) batch->rows->pdata[i])->names_device = gemem_source_device () == 0;
  gemem_results_name_devices ((GememResult *const *) batch->rows->pdata, batch->rows->len);
  gemem_results_find_now ((GememResult *const *) batch->rows->pdata, batch->rows->len);
  gemem_results_find_least ((GememResult *const *) batch->rows->pdata, batch->rows->len);
  if (batch->choices && batch->ended == batch->runs)
    batch->no_choices += gemem_choices_keep (batch->rows, batch->results);
  leave_lone_rows_out (batch);
  blame_refused (batch);
}

void
gemem_batch_results_free (GememBatchResults *batch)
{
  g_ptr_array_unref (batch->results);
  g_ptr_array_unref (batch->rows);
  g_hash_table_unref (batch->said);
  g_hash_table_unref (batch->several);
  g_free (batch);
}

/* ---- output */

static gboolean
write_plots (const GememBatchResults *batch, GError **error)
{
  GememPlotStyle style;
  gboolean rendered = FALSE;
  const gboolean hurry = g_atomic_int_get (&gemem_interrupted) != 0; /* data and scripts only */
  if (!gemem_plot_options (&style, error)
      || !gemem_plot_write (gemem_outputs.plots, &style,
                            (GememResult *const *) batch->results->pdata, batch->results->len,
                            hurry ? "" : NULL, &rendered, error))
    return FALSE;
  if (!rendered && !hurry)
    gemem_note (GEMEM_NOT_DRAWN, gemem_outputs.plots);
  return TRUE;
}

static gboolean
write_map (const GememBatchResults *batch, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean svg = g_str_has_suffix (gemem_outputs.map, ".svg");
  for (guint i = 0; i < batch->results->len; i++)
    if (svg)
      {
        gemem_map_svg (text, batch->results->pdata[i]);
        break;
      }
    else
      gemem_map_text (text, batch->results->pdata[i], gemem_terminal_width ());
  if (svg && batch->results->len > 1)
    gemem_note ("%s shows the first of %u runs; an SVG map is made of one run at a time",
                gemem_outputs.map, batch->results->len);
  return gemem_put (gemem_outputs.map, text->str, text->len, error);
}

/* Titles the reports if there are several runs. */
static gboolean
write_allocator_reports (const GememBatchResults *batch, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GPtrArray) results = gemem_share_each (batch->results);
  for (guint i = 0; i < results->len; i++)
    {
      const GememResult *result = results->pdata[i];
      if (result->report == NULL)
        {
          gemem_note ("%s has no report of its own", result->label);
          continue;
        }
      if (results->len > 1)
        {
          g_autofree char *group = gemem_report_group (result);
          g_string_append_printf (text, "# %s, %s\n", group, result->label);
        }
      g_string_append (text, result->report);
    }
  return gemem_put (gemem_outputs.allocator_report, text->str, text->len, error);
}

static gboolean
write_manifest (const GememBatchResults *batch, GError **error)
{
  g_autofree char *command_line = NULL;
  gsize length = 0;
  g_auto (GStrv) arguments = NULL;
  if (g_file_get_contents ("/proc/self/cmdline", &command_line, &length, NULL))
    {
      g_autoptr (GPtrArray) words = g_ptr_array_new ();
      for (const char *word = command_line; word < command_line + length; word += strlen (word) + 1)
        g_ptr_array_add (words, g_strdup (word));
      g_ptr_array_add (words, NULL);
      arguments = (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
    }
  g_autoptr (GPtrArray) results = gemem_share_each (batch->results);
  g_autofree char *text = gemem_manifest ((GememResult *const *) results->pdata, results->len,
                                          (const char *const *) arguments);
  return gemem_put (gemem_outputs.manifest, text, strlen (text), error);
}

gboolean
gemem_batch_report (const GememBatchResults *batch, gboolean details, GError **error)
{
  GememReportOptions options = { .details = details,
                                 .width = gemem_outputs.report == NULL ? gemem_terminal_width ()
                                                                       : 0,
                                 .choices = batch->choices,
                                 .no_choices = batch->no_choices };
  if (batch->results->len == 0)
    return TRUE;
  if (!gemem_table_options (&options, error))
    return FALSE;
  gemem_terminal_fit (gemem_outputs.report);
  g_autoptr (GString) text = g_string_new (NULL);
  gemem_report_write (text, gemem_outputs.form, (GememResult *const *) batch->rows->pdata,
                      batch->rows->len, &options);
  if (gemem_outputs.form == GEMEM_FORMAT_TABLE)
    gemem_report_append_histories (text, (GememResult *const *) batch->results->pdata,
                                   batch->results->len);
  if (!gemem_put (gemem_outputs.report, text->str, text->len, error))
    return FALSE;
  if (gemem_outputs.sqlite != NULL
      && !gemem_results_write_sqlite (gemem_outputs.sqlite,
                                      (GememResult *const *) batch->results->pdata,
                                      batch->results->len, error))
    return FALSE;
  if (gemem_outputs.plots != NULL && !write_plots (batch, error))
    return FALSE;
  if (gemem_outputs.map != NULL && !write_map (batch, error))
    return FALSE;
  if (gemem_outputs.allocator_report != NULL && !write_allocator_reports (batch, error))
    return FALSE;
  if (gemem_outputs.manifest != NULL && !write_manifest (batch, error))
    return FALSE;
  if (gemem_outputs.drawn != NULL && g_atomic_int_get (&gemem_interrupted) == 0)
    return (gemem_outputs.report != NULL || gemem_put (NULL, "\n", 1, error))
           && gemem_draw_results ((GememResult *const *) batch->results->pdata, batch->results->len,
                                  gemem_outputs.drawn, error);
  return TRUE;
}
