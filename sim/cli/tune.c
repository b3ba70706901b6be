/* tune.c - `gemem-sim tune`: the best of many settings for one or several recordings. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/cli/tune-kept.h"
#include "sim/search/recorder.h"
#include "sim/search/tune.h"

static char *device_spec, *capacity, *system_name, *objective, *format, *output, *plots, *database;
static char **allocators;
static int threads;
static gboolean no_trace_settings;

static const GOptionEntry entries[] = {
  { "allocator", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &allocators,
    "The settings to search (default: all of the recorded allocator worth trying): key=* for all "
    "values worth trying, key=20..40 for whole numbers",
    "NAME:KEY=A|B,..." },
  { "for", 0, 0, G_OPTION_ARG_STRING, &system_name,
    "Whose allocator the program would have (default: the one that made the recording)",
    "pytorch|torch-npu|tensorflow|jax|paddle|ge|rmm|cupy" },
  { "objective", 0, 0, G_OPTION_ARG_STRING, &objective,
    "What is to become small (default: needs, the bytes it reserves; least_capacity: the device it "
    "fits "
    "in); two, with a comma: the settings that are best of both",
    "needs|device_calls|modelled_time|least_capacity" },
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
    "Device (default: that of each recording), e.g. 16GiB, rtx4090", "SPEC" },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity, "Its memory, e.g. 16GiB", "SIZE" },
  { "threads", 'j', 0, G_OPTION_ARG_INT, &threads,
    "Threads (default: one per processor); the answer is the same with any number", "N" },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write the answer to FILE", "FILE" },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format,
    "Form of the answer; csv: every setting, and how it was settled", "table|json|csv" },
  { "database", 0, 0, G_OPTION_ARG_FILENAME, &database,
    "Keep every replay there (SQLite, as sweep's): the same command goes on after it was stopped",
    "FILE" },
  { "plots", 0, 0, G_OPTION_ARG_FILENAME, &plots,
    "Draw the search into DIR: a curve of each setting, a heat map, memory against time. No replay "
    "is "
    "stopped early then, so it takes longer",
    "DIR" },
  { "no-trace-settings", 0, 0, G_OPTION_ARG_NONE, &no_trace_settings,
    "Ignore the allocator settings recorded in the trace", NULL },
  { NULL }
};

/* ---- options */

static gboolean
parse_objective (const char *name, GememTuneObjective *found, GError **error)
{
  g_autofree char *all = NULL;

  if (gemem_name_equal (name, "peak_reserved"))
    name = gemem_tune_objectives[GEMEM_TUNE_NEEDS];
  for (guint o = 0; o < GEMEM_TUNE_OBJECTIVES; o++)
    if (gemem_name_equal (name, gemem_tune_objectives[o]))
      {
        *found = (GememTuneObjective) o;
        return TRUE;
      }
  all = g_strjoin (", ", gemem_tune_objectives[0], gemem_tune_objectives[1],
                   gemem_tune_objectives[2], gemem_tune_objectives[3], NULL);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--objective=%s: write one of %s, or two",
               name, all);
  return FALSE;
}

static gboolean
parse_objectives (GememTuneQuestion *question, GError **error)
{
  g_auto (GStrv) names = g_strsplit (objective != NULL ? objective : "needs", ",", -1);

  question->n_objectives = g_strv_length (names);
  for (guint i = 0; i < MIN (question->n_objectives, 2); i++)
    if (!parse_objective (names[i], &question->objectives[i], error))
      return FALSE;
  if (question->n_objectives == 1
      || (question->n_objectives == 2 && question->objectives[0] != question->objectives[1]))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--objective=%s: write one objective, or two different ones", objective);
  return FALSE;
}

static gboolean
parse_format (GError **error)
{
  if (format == NULL || gemem_name_equal (format, "table") || gemem_name_equal (format, "json")
      || gemem_name_equal (format, "csv"))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--format=%s: unknown format; choose table, json or csv", format);
  return FALSE;
}

/* ---- the question */

/* The space that the user names, or that of the allocator in @need.  NULL with @error. */
static GPtrArray *
choose_space (const GememNeed *need, GError **error)
{
  const GememTraceInfo *info = gemem_held_info (need->held);
  const GememAllocatorClass *klass = need->spec->klass;
  const gboolean same = !no_trace_settings && info->allocator != NULL
                        && gemem_name_is (klass->name, klass->aliases, info->allocator);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *left_out = NULL;
  GPtrArray *space;

  for (char **text = allocators; text != NULL && *text != NULL; text++)
    if (!gemem_allocator_spec_parse (*text, specs, error))
      return NULL;
  if (specs->len > 0)
    return g_steal_pointer (&specs);
  space = gemem_tune_space (klass, system_name, same ? info->settings : NULL, &left_out, error);
  if (left_out != NULL)
    gemem_note ("not searched, as there would be too many: %s; -a NAME:KEY=A|B searches what you "
                "name",
                left_out);
  return space;
}

typedef struct
{
  GPtrArray *files;    /* GememSourceFile */
  GPtrArray *specs;    /* GememAllocatorSpec of each, as now */
  GPtrArray *ordinals; /* GArray of each */
  GArray *needs;       /* GememNeed */
} Traces;

static gboolean
take_trace (Traces *traces, GememSourceFile *file, GError **error)
{
  GArray *ordinals = NULL;
  GememNeed need = { NULL };
  GememAllocatorSpec *spec;

  if (!gemem_needs_take (&need, file, &ordinals, error))
    return FALSE;
  g_ptr_array_add (traces->ordinals, ordinals);
  spec = gemem_recorder_choose (gemem_held_info (file->held), gemem_recorder_is_host (ordinals),
                                no_trace_settings, system_name, &need.assumed, error);
  if (spec == NULL)
    return FALSE;
  g_ptr_array_add (traces->specs, spec);
  need.spec = spec;
  g_array_append_val (traces->needs, need);
  return TRUE;
}

static gboolean
take_traces (Traces *traces, char **paths, GError **error)
{
  for (char **path = paths; *path != NULL; path++)
    if (gemem_source_files_add (traces->files, *path, error) == 0)
      return FALSE;
  for (guint i = 0; i < traces->files->len; i++)
    if (!take_trace (traces, traces->files->pdata[i], error))
      return FALSE;
  return TRUE;
}

static void
clear_traces (Traces *traces)
{
  for (guint i = 0; i < traces->needs->len; i++)
    gemem_need_clear (&g_array_index (traces->needs, GememNeed, i));
  g_array_unref (traces->needs);
  g_ptr_array_unref (traces->ordinals);
  g_ptr_array_unref (traces->specs);
  g_ptr_array_unref (traces->files);
}

/* ---- the command */

static void
show_progress (guint settled, guint rows)
{
  static gboolean begun;

  if (!begun)
    gemem_progress_begin_steps ("trying settings", "settings", rows);
  begun = TRUE;
  gemem_progress_set_steps (settled);
}

static gboolean
write_answer (const GememTune *tune, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);

  gemem_terminal_fit (output);
  if (format != NULL && gemem_name_equal (format, "json"))
    gemem_tune_append_json (out, tune);
  else if (format != NULL && gemem_name_equal (format, "csv"))
    gemem_tune_append_csv (out, tune);
  else
    gemem_tune_append (out, tune);
  return gemem_put (output, out->str, out->len, error);
}

static gboolean
draw (const GememTune *tune, GError **error)
{
  g_autoptr (GPtrArray) results = gemem_tune_results (tune);
  GememPlotStyle style;
  gboolean rendered;
  guint drawn;

  if (!gemem_plot_options (&style, error)
      || !gemem_plot_search_write (plots, &style, (GememResult *const *) results->pdata,
                                   results->len, NULL, &rendered, &drawn, error))
    return FALSE;
  if (drawn == 0)
    gemem_note ("no figures in %s: they need three settings that differ in what they need or take, "
                "of which one serves every request",
                plots);
  else if (!rendered)
    gemem_note (GEMEM_NOT_DRAWN, plots);
  return TRUE;
}

/* What was not there to be taken, and what can be taken next time. */
static void
note_database (const GememTune *tune)
{
  const gboolean interrupted = tune->counts[GEMEM_TUNE_UNTRIED] > 0;

  if (tune->taken > 0)
    gemem_note ("%u run%s taken from %s", tune->taken, gemem_plural (tune->taken), database);
  if (interrupted && database != NULL)
    gemem_note ("the same command goes on with what is in %s", database);
  else if (interrupted)
    gemem_note ("with --database FILE the same command would go on where this one was stopped");
}

/* 0, 4: nothing serves every request, 130: interrupted; -1 with @error. */
static int
search (Traces *traces, GememTuneQuestion *question, GError **error)
{
  g_autoptr (GememTuneKept) kept = NULL;
  g_autoptr (GPtrArray) space = NULL;
  g_autoptr (GememTune) tune = NULL;

  question->traces = (GememNeed *) traces->needs->data;
  question->n_traces = traces->needs->len;
  space = choose_space (&question->traces[0], error);
  if (space == NULL)
    return -1;
  question->specs = space;
  gemem_settings_note (allocators != NULL ? space : NULL, 1, traces->files, no_trace_settings);
  if (database != NULL && (kept = gemem_tune_kept_new (database, traces->files, error)) == NULL)
    return -1;
  question->keeper = kept != NULL ? gemem_tune_kept_keeper (kept) : NULL;
  tune = gemem_tune (question, error);
  gemem_progress_end ();
  gemem_interrupts_over ();
  if (tune != NULL && kept != NULL && !gemem_tune_kept_write (kept, error))
    return -1;
  if (tune != NULL)
    note_database (tune);
  if (tune == NULL || !write_answer (tune, error) || (plots != NULL && !draw (tune, error)))
    return -1;
  return tune->counts[GEMEM_TUNE_UNTRIED] > 0 ? 130 : tune->best == G_MAXUINT ? 4 : 0;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_tune;
  GememTuneQuestion question = { .options = { .ignores_settings = no_trace_settings,
                                              .allow_partial = gemem_source_allow_partial (),
                                              .interrupted = &gemem_interrupted,
                                              .runner = gemem_needs_runner ("replaying") },
                                 .whole = plots != NULL,
                                 .threads = (guint) MAX (threads, 0),
                                 .progress = show_progress };
  g_autofree char *device = NULL;
  int status = -1;

  if (!gemem_want_arguments (&gemem_command_tune, arguments, 1, 1000, error)
      || !parse_objectives (&question, error) || !parse_format (error)
      || !gemem_want_at_least ("threads", threads, 0, error)
      || (plots != NULL && !gemem_make_folder (plots, error))
      || (device = gemem_want_simulated (device_spec, capacity, error)) == NULL)
    return 2;
  if (device_spec != NULL || capacity != NULL)
    question.options.device_spec = device;
  Traces traces = {
    g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free),
    g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free),
    g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref),
    g_array_new (FALSE, TRUE, sizeof (GememNeed)),
  };
  gemem_catch_interrupts ();
  if (take_traces (&traces, arguments, error))
    status = search (&traces, &question, error);
  clear_traces (&traces);
  return status >= 0 ? status : 1;
}

const GememCommand gemem_command_tune = {
  .name = "tune",
  .synopsis = "TRACE...",
  .summary = "Find the best of many settings, as a line to paste",
  .description =
      "Settles every setting of a space: by its own replay, by a proof that it decides as one "
      "that\n"
      "was replayed, or by a replay that was stopped once it needed more than the best. The "
      "answer\n"
      "is that of replaying all to the end.\n"
      "Over several recordings the best is the one with which the one that needs most needs "
      "least.\n"
      "Exit status: 0, 4 with none of the settings every request is served, 130 interrupted.",
  .examples = "  gemem-sim tune train.gmt\n"
              "      all settings of its allocator that are worth trying\n"
              "  gemem-sim tune train.gmt -a 'pytorch-caching:max_split_size_mb=20..512,"
              "expandable_segments=*'\n"
              "      these only\n"
              "  gemem-sim tune train.gmt eval.gmt --capacity 16GiB\n"
              "      one setting for both, on a smaller device\n"
              "  gemem-sim tune train.gmt --objective needs,device_calls\n"
              "      what less memory costs in calls of the device\n"
              "  gemem-sim tune train.gmt -f csv -o all.csv\n"
              "      every setting, and how it was settled\n"
              "  gemem-sim tune train.gmt --database tune.db\n"
              "      a long one, which the same command goes on with after it was stopped\n"
              "  gemem-sim tune train.gmt --plots search\n"
              "      the same as figures\n",
  .options = { entries, gemem_plot_entries, gemem_source_entries },
  .run = run,
};
