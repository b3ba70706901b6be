/* batch.c - turns the shared options of replay and compare into jobs, and runs them.
 *
 * Order of results: traces as given, devices of a trace ascending, devices of -d and allocators as
 * given; it does not depend on --jobs.
 */
#include "config.h"

#include <string.h>

#include "sim/cli/batch-choices.h"
#include "sim/cli/batch-histories.h"
#include "sim/cli/batch-page.h"
#include "sim/cli/batch-results.h"
#include "sim/cli/batch.h"
#include "sim/cli/choices.h"
#include "sim/cli/environment.h"
#include "sim/cli/flags.h"
#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/output-files.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/cli/share.h"
#include "sim/cli/source.h"
#include "sim/cli/table-options.h"
#include "sim/cli/versions.h"
#include "sim/report/database.h"
#include "sim/report/report.h"
#include "sim/search/pasted.h"
#include "sim/search/recorder.h"

static char **allocators;
static char *device_spec, *capacity;
static int jobs = GEMEM_NOT_GIVEN;
static int repeat = 1, warm_up, threads = 1;
static char *pace;
static gboolean occupy;
static int points = GEMEM_TIMELINE_POINTS_DEFAULT;
static gboolean no_trace_settings;
static gboolean find_capacity;
static gboolean full_checks;
static gboolean release_order;
static gboolean touch;
static gboolean measure;
static gboolean use_environment;
static gboolean zoo;
static gboolean optimal;
static int histories;

const GOptionEntry gemem_rows_entries[] = {
  { "zoo", 0, 0, G_OPTION_ARG_NONE, &zoo, "Every allocator of 'gemem-sim list', of all systems",
    NULL },
  { "optimal", 0, 0, G_OPTION_ARG_NONE, &optimal,
    "A row for the least possible, and who keeps what is above", NULL },
  GEMEM_HISTORIES_OPTION (&histories),
  { NULL }
};

const GOptionEntry gemem_batch_entries[] = {
  { "allocator", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &allocators,
    "Allocator and its parameters; repeatable; globs ('ge-*') and lists (chunk_mb=0|64, or "
    "chunk_mb=* for all worth trying) give several. Also what a shell would read: "
    "'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'",
    "NAME[:KEY=VALUE,...]" },
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
    "Device (default: the recorded one), e.g. 16GiB, rtx4090, sim:capacity=80GiB,profile=h200; "
    "lists (16GiB|24GiB) give several, and every run is made on each",
    "SPEC" },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity, "Its memory, e.g. 16GiB", "SIZE" },
  GEMEM_VERBOSE_ENTRY,
  { "format", 'f', 0, G_OPTION_ARG_STRING, &gemem_outputs.format,
    "Form of the report (default: as the name of the output ends, else table)",
    "table|json|csv|markdown" },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &gemem_outputs.report,
    "Write the report to FILE instead of stdout; .json, .csv, .md and .html choose the format",
    "FILE" },
  { "html", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.page,
    "Write a page for a browser: the answer, the table, every block over time", "FILE" },
  { "plots", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.plots,
    "Write plots (.dat, .gp, and with gnuplot pictures) into DIR", "DIR" },
  { "plot-terminal", 0, 0, G_OPTION_ARG_STRING, &gemem_outputs.drawn,
    "Draw one of them as text, without gnuplot", GEMEM_PLOTS_AS_TEXT },
  { "map", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.map,
    "What lies where at the reserved peak: text to FILE ('-': stdout), SVG if it ends in .svg",
    "FILE" },
  { "allocator-report", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.allocator_report,
    "Write the state at the end as the real system prints it to FILE ('-': stdout), for those that "
    "do (ge-*)",
    "FILE" },
  { "manifest", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.manifest,
    "Write arguments, effective parameters, hashes and version as JSON", "FILE" },
  { "sqlite", 0, 0, G_OPTION_ARG_FILENAME, &gemem_outputs.sqlite,
    "Append a row per run to the table 'results' of the SQLite database FILE", "FILE" },
  { "jobs", 'j', 0, G_OPTION_ARG_INT, &jobs,
    "Runs at the same time (default: one per processor); results do not depend on it", "N" },
  { "repeat", 0, 0, G_OPTION_ARG_INT, &repeat,
    "Replay the trace N times through the same allocator; shows drift", "N" },
  { "warm-up", 0, 0, G_OPTION_ARG_INT, &warm_up,
    "Before that, replay it N times without counting or measuring anything", "N" },
  { "host-threads", 0, 0, G_OPTION_ARG_INT, &threads,
    "Serve the events from N host threads in turn, to see which allocators belong to one "
    "(ge:single_thread=yes)",
    "N" },
  { "pace", 0, 0, G_OPTION_ARG_STRING, &pace,
    "asap: events follow one another at once (default on a GPU); recorded: not before their time "
    "(default on the simulated device, whose clock needs no waiting)",
    "asap|recorded" },
  { "occupy", 0, 0, G_OPTION_ARG_NONE, &occupy,
    "Keep each stream busy between its events for as long as when it was recorded", NULL },
  { "find-capacity", 0, 0, G_OPTION_ARG_NONE, &find_capacity,
    "Find the least device capacity on which nothing fails", NULL },
  { "fail-on-oom", 0, 0, G_OPTION_ARG_NONE, &gemem_outputs.fail_on_oom,
    "Exit with status 4 if any request failed", NULL },
  { "check", 0, 0, G_OPTION_ARG_NONE, &full_checks,
    "Walk and check the allocator after every event (slow)", NULL },
  { "check-release-order", 0, 0, G_OPTION_ARG_NONE, &release_order,
    "Fail where memory goes back to the device before the streams that use it are synchronised",
    NULL },
  { "touch", 0, 0, G_OPTION_ARG_NONE, &touch,
    "On a GPU (-d cuda:0): fill every block with a pattern and verify it, to find blocks that "
    "share memory and pages unmapped too early",
    NULL },
  { "measure", 0, 0, G_OPTION_ARG_NONE, &measure,
    "Also measure latencies with the host clock (not deterministic)", NULL },
  { "timeline-points", 0, 0, G_OPTION_ARG_INT, &points,
    "At most N points in the timeline (default 2000); peaks are never lost", "N" },
  { "env", 0, 0, G_OPTION_ARG_NONE, &use_environment,
    "Take PYTORCH_CUDA_ALLOC_CONF, the flags of PaddlePaddle (FLAGS_...) and GE_USE_STATIC_MEMORY "
    "from the environment; what -a and --lower say counts more",
    NULL },
  { "no-trace-settings", 0, 0, G_OPTION_ARG_NONE, &no_trace_settings,
    "Ignore the allocator settings recorded in the trace", NULL },
  { NULL }
};

static gboolean
check_threads (GError **error)
{
  const int most = 256;

  if (threads > most)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--host-threads=%d: out of range; give a number up to %d", threads, most);
  return threads <= most;
}

/* -o report.html is a page, as -o report.json is JSON. */
static void
find_page (void)
{
  if (gemem_outputs.page == NULL && gemem_outputs.format == NULL && gemem_outputs.report != NULL
      && g_str_has_suffix (gemem_outputs.report, ".html"))
    gemem_outputs.page = g_steal_pointer (&gemem_outputs.report);
}

/* Histories are of one program alone on a simulated device. */
static gboolean
check_histories (GError **error)
{
  const char *other = gemem_share_wanted () ? "--share-device"
                      : measure             ? "--measure"
                      : repeat > 1          ? "--repeat"
                      : warm_up > 0         ? "--warm-up"
                                            : NULL;

  if (!gemem_want_histories (histories, error))
    return FALSE;
  if (histories > 0 && other != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--histories and %s: leave one of them out", other);
      return FALSE;
    }
  g_autofree char *device = histories > 0 ? gemem_want_simulated (device_spec, capacity, error)
                                          : NULL;
  return histories == 0 || device != NULL;
}

static gboolean
check_options (GError **error)
{
  find_page ();
  if (!gemem_want_number ("jobs", &jobs, error) || !gemem_want_at_least ("repeat", repeat, 1, error)
      || !gemem_want_at_least ("warm-up", warm_up, 0, error)
      || !gemem_want_at_least ("host-threads", threads, 1, error) || !check_threads (error)
      || !gemem_want_at_least ("timeline-points", points, 0, error) || !check_histories (error))
    return FALSE;
  GememReportOptions options;
  GememPlotStyle style;
  if (!gemem_plot_options (&style, error))
    return FALSE;
  if (!gemem_report_format_choose (gemem_outputs.format, gemem_outputs.report, &gemem_outputs.form,
                                   error)
      || !gemem_table_options (&options, error))
    return FALSE;
  if (gemem_outputs.drawn != NULL && !gemem_plot_text_parse (gemem_outputs.drawn, NULL, error))
    return FALSE;
  if (pace != NULL && strcmp (pace, "asap") != 0 && strcmp (pace, "recorded") != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--pace=%s: unknown pace; choose asap or recorded", pace);
      return FALSE;
    }
  return TRUE;
}

static GememPaceMode
pace_mode (void)
{
  return pace == NULL ? GEMEM_PACE_DEFAULT : *pace == 'a' ? GEMEM_PACE_ASAP : GEMEM_PACE_RECORDED;
}

/* Planning takes longer than replaying, increasingly so for long traces: without -a, allocators
 * that plan are left out for longer traces. */
#define PLANNED_EVENTS_MAX 200000

static gboolean
leave_planned_out (GPtrArray *specs, GememSourceFile *file, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);
  if (reader == NULL)
    return FALSE;
  guint64 events = reader->info.events;
  gemem_trace_close (reader);
  for (guint i = specs->len; events > PLANNED_EVENTS_MAX && i-- > 0;)
    {
      const GememAllocatorSpec *spec = specs->pdata[i];
      if (spec->klass->prepare == NULL)
        continue;
      gemem_note ("%s: %s is left out, it would plan %" G_GUINT64_FORMAT
                  " events beforehand; ask for it with -a %s",
                  file->path, spec->klass->name, events, spec->klass->name);
      g_ptr_array_remove_index (specs, i);
    }
  return TRUE;
}

/* Appends the allocators that @text, of one -a, gives. */
static gboolean
add_allocators (const char *text, const GPtrArray *variables, GPtrArray *specs, GError **error)
{
  if (!gemem_is_pasted (text))
    return gemem_flags_check (text, FALSE, error)
           && gemem_allocator_spec_parse_with (text, variables, specs, error);
  if (gemem_pasted_parse (text, specs, error))
    return TRUE;
  g_prefix_error (error, "-a: ");
  return FALSE;
}

static GPtrArray *
parse_allocators (const char *text, const GPtrArray *variables, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  return add_allocators (text, variables, specs, error) ? g_steal_pointer (&specs) : NULL;
}

/* Appends the allocator that recorded @first. */
static gboolean
add_recorder (GememSourceFile *first, const GPtrArray *variables, GPtrArray *specs, GError **error)
{
  g_autofree char *release = NULL;
  gboolean assumed;

  if (!gemem_source_recorder (first, no_trace_settings, variables, specs, &assumed, &release,
                              error))
    return FALSE;
  if (release != NULL)
    gemem_note ("%s: %s", first->path, release);
  if (assumed)
    gemem_note ("%s does not say which allocator recorded it: %s is assumed; -a NAME chooses "
                "another",
                first->path, ((GememAllocatorSpec *) specs->pdata[0])->klass->name);
  return TRUE;
}

/* Appends what the program that made @first could choose.  FALSE: that is not known. */
static gboolean
append_choices (GPtrArray *specs, GememSourceFile *first)
{
  GememTraceReader *reader = use_environment ? NULL : gemem_source_file_open (first, NULL);
  g_autofree char *recorder = reader != NULL ? gemem_recorder_text (
                                  &reader->info, gemem_source_is_host (first, &reader->info),
                                  no_trace_settings)
                                             : NULL;
  const gboolean known = recorder != NULL && !no_trace_settings
                         && gemem_choices_append (specs, recorder, &reader->info);

  if (reader != NULL)
    gemem_trace_close (reader);
  return known;
}

/* The allocators of -a; else @fallback; else the one that recorded the first trace.  *@choices: whether
 * they are the choices of the recorded program. */
static GPtrArray *
choose_rows (GememSourceFile *first, const char *fallback, const GPtrArray *variables,
             gboolean *choices, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  const gboolean asks = g_strcmp0 (fallback, GEMEM_BATCH_CHOICES) == 0;

  *choices = asks && allocators == NULL && !zoo && append_choices (specs, first);
  if (*choices)
    return g_steal_pointer (&specs);
  if (asks)
    fallback = "*";
  for (char **name = allocators; name != NULL && *name != NULL; name++)
    if (!add_allocators (*name, variables, specs, error))
      return NULL;
  if ((specs->len == 0 || zoo) && fallback != NULL
      && (!gemem_allocator_spec_parse_with (fallback, variables, specs, error)
          || !leave_planned_out (specs, first, error)))
    return NULL;
  if (specs->len == 0 && !add_recorder (first, variables, specs, error))
    return NULL;
  return g_steal_pointer (&specs);
}

/* The same, and with --optimal the row of the least that is possible. */
static GPtrArray *
choose_allocators (GememSourceFile *first, const char *fallback, const GPtrArray *variables,
                   gboolean *choices, GError **error)
{
  g_autoptr (GPtrArray) specs = choose_rows (first, fallback, variables, choices, error);

  if (specs == NULL
      || (optimal
          && !gemem_allocator_spec_parse (GEMEM_OPTIMAL_ROW ":alignment=1\"", specs, error)))
    return NULL;
  return g_steal_pointer (&specs);
}

/* Whether an output names blocks: a report in full, JSON, the segment map, the message of a check,
 * or what keeps memory that the least placement does not need. */
static gboolean
names_blocks (gboolean details)
{
  return gemem_outputs.map != NULL || full_checks || touch || optimal
         || gemem_outputs.form == GEMEM_FORMAT_JSON || gemem_outputs.page != NULL
         || (details && gemem_outputs.form == GEMEM_FORMAT_TABLE);
}

/* Whether each device of the trace goes to the GPU that -d names: silently it goes to no other. */
static gboolean
check_gpus (const GememSourceFile *file, const GArray *ordinals, const GPtrArray *devices,
            GError **error)
{
  for (guint i = 0; gemem_source_device () < 0 && i < ordinals->len * devices->len; i++)
    if (!gemem_job_check_gpu (((const GememDeviceSpec *) devices->pdata[i % devices->len])->spec,
                              g_array_index (ordinals, guint16, i / devices->len),
                              ordinals->len == 1, file->path, error))
      return FALSE;
  return TRUE;
}

static GememJob
make_job (GememSourceFile *file, int ordinal, const GememDeviceSpec *device,
          const GememAllocatorSpec *spec, gboolean keep_origins, GememJobSetup setup)
{
  GememJob job = {
    .allocator = spec,
    .device_spec = device->spec,
    .device_difference = device->difference,
    .device_ordinal = ordinal,
    .source = gemem_source_file_open,
    .source_data = file,
    .graph = file->graph,
    .use_trace_settings = !no_trace_settings,
    .allow_partial = gemem_source_allow_partial (),
    .repeat = (guint) repeat,
    .warm_up = (guint) warm_up,
    .threads = (guint) threads,
    .pace = pace_mode (),
    .occupy = occupy,
    .timeline_points = (guint) points,
    .keep_map = gemem_outputs.map != NULL,
    .keep_idle = optimal && spec->klass->prepare == NULL,
    .keep_pins = optimal && spec->klass->prepare == NULL,
    .keep_origins = keep_origins,
    .keep_report = gemem_outputs.allocator_report != NULL,
    .measure = measure,
    .clock = gemem_host_clock,
    .wait = gemem_host_wait,
    .full_checks = full_checks,
    .release_order = release_order,
    .touch = touch,
    .find_capacity = find_capacity,
    .interrupted = &gemem_interrupted,
  };
  if (setup != NULL)
    setup (&job);
  return job;
}

static void
append_jobs (GArray *list, GememSourceFile *file, const GArray *ordinals, const GPtrArray *devices,
             const GPtrArray *specs, gboolean keep_origins, GememJobSetup setup)
{
  for (guint i = 0; i < ordinals->len * devices->len; i++)
    for (guint a = 0; a < specs->len; a++)
      {
        GememJob job = make_job (file, g_array_index (ordinals, guint16, i / devices->len),
                                 devices->pdata[i % devices->len], specs->pdata[a], keep_origins,
                                 setup);
        g_array_append_val (list, job);
      }
}

/* ---- several programs on one device */

/* Adds @from, which it takes, to @specs, which then owns its elements; a list of them. */
static GPtrArray *
keep_specs (GPtrArray *specs, GPtrArray *from)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < from->len; i++)
    {
      g_ptr_array_add (list, from->pdata[i]);
      g_ptr_array_add (specs, from->pdata[i]);
    }
  g_ptr_array_set_free_func (from, NULL);
  g_ptr_array_unref (from);
  return list;
}

/* A list of allocators for each of @files: with @all every -a for each of them, else the -a of the
 * same number, one -a for all (*@alike), or the allocators that recorded them.  @specs owns the
 * allocators. */
static GPtrArray *
choose_for_each (const GPtrArray *files, gboolean all, const GPtrArray *variables, GPtrArray *specs,
                 gboolean *alike, GError **error)
{
  const guint given = allocators != NULL ? g_strv_length (allocators) : 0;
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  const gboolean one_list = all || given == 1;
  gboolean choices;

  *alike = !all && given == 1;
  if (all && given == 0)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "compare --share-device runs every combination of allocators; choose them with -a");
  else if (!one_list && given > 0 && given != files->len)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "%u allocators for %u traces; give one -a for all, or one for each in the order of "
        "the traces ('compare' runs every combination)",
        given, files->len);
  if (all ? given == 0 : given > 1 && given != files->len)
    return NULL;
  for (guint i = 0; i < files->len; i++)
    {
      GPtrArray *chosen = one_list && i > 0 ? NULL
                          : one_list || given == 0
                              ? choose_allocators (files->pdata[i], NULL, variables, &choices,
                                                   error)
                              : parse_allocators (allocators[i], variables, error);
      if (chosen == NULL && (!one_list || i == 0))
        return NULL;
      g_ptr_array_add (lists, chosen != NULL ? keep_specs (specs, chosen)
                                             : g_ptr_array_ref (lists->pdata[0]));
    }
  return g_steal_pointer (&lists);
}

/* The one device of each trace. */
static gboolean
find_devices (const GPtrArray *files, int *ordinals, GError **error)
{
  for (guint i = 0; i < files->len; i++)
    {
      g_autoptr (GArray) found = gemem_source_devices (files->pdata[i], error);
      if (found == NULL)
        return FALSE;
      if (found->len != 1)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s has %u devices; choose the one that is shared with --trace-device=N",
                       ((GememSourceFile *) files->pdata[i])->path, found->len);
          return FALSE;
        }
      ordinals[i] = g_array_index (found, guint16, 0);
    }
  return TRUE;
}

/* The jobs of --share-device.  Returns the runs that they borrow; @specs owns their allocators. */
static GPtrArray *
append_shared_jobs (GArray *list, const GPtrArray *files, const GPtrArray *devices, gboolean all,
                    const GPtrArray *variables, GPtrArray *specs, gboolean keep_origins,
                    GememJobSetup setup, GError **error)
{
  g_autofree int *ordinals = g_new0 (int, files->len);
  gboolean alike;
  g_autoptr (GPtrArray) lists = choose_for_each (files, all, variables, specs, &alike, error);
  g_autoptr (GPtrArray) runs = NULL;

  if (lists == NULL || !find_devices (files, ordinals, error)
      || (runs = gemem_share_runs (files, lists, alike, ordinals, error)) == NULL)
    return NULL;
  for (guint d = 0; d < devices->len; d++)
    for (guint i = 0; i < runs->len; i++)
      {
        const GememShareRun *run = runs->pdata[i];
        GememJob job = make_job (run->files[0], ordinals[0], devices->pdata[d], run->specs[0],
                                 keep_origins, setup);
        gemem_share_set (&job, run);
        g_array_append_val (list, job);
      }
  return g_steal_pointer (&runs);
}

static gboolean
check_one_run (const char *option, const char *path, const GememJob *list, guint runs,
               GError **error)
{
  gboolean alike = TRUE; /* but for the device of the trace, which each row names */

  for (guint i = 1; i < runs; i++)
    alike = alike && list[i].allocator == list[0].allocator
            && list[i].device_spec == list[0].device_spec
            && list[i].source_data == list[0].source_data;
  if (path == NULL || alike)
    return TRUE;
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "--%s=%s: one file holds the %s of one run, these are %u; give one -a and one device", option,
      path, strcmp (option, "events") == 0 ? "decisions" : "device calls", runs);
  return FALSE;
}

static gboolean
check_one_recording (const char *path, guint runs, GError **error)
{
  if (path == NULL || runs == 1)
    return TRUE;
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "--record=%s: a recording is of one run, these are %u; give one -a, one device, and with "
      "--trace-device one device of the trace",
      path, runs);
  return FALSE;
}

/* Checks that all outputs can be written, and that none overwrites an input. */
static gboolean
check_files (const GememJob *list, guint n, char **paths, GError **error)
{
  const GememOutputFile outputs[] = { { "--output", gemem_outputs.report },
                                      { "--events", list[0].events_path },
                                      { "--calls", list[0].calls_path },
                                      { "--html", gemem_outputs.page },
                                      { "--record", list[0].record_path },
                                      { "--map", gemem_outputs.map },
                                      { "--allocator-report", gemem_outputs.allocator_report },
                                      { "--manifest", gemem_outputs.manifest },
                                      { "--sqlite", gemem_outputs.sqlite } };
  if (!check_one_run ("events", list[0].events_path, list, n, error)
      || !check_one_run ("calls", list[0].calls_path, list, n, error)
      || !check_one_recording (list[0].record_path, n, error))
    return FALSE;
  if (!gemem_check_outputs (outputs, G_N_ELEMENTS (outputs), paths, error))
    return FALSE;
  if (gemem_outputs.sqlite != NULL
      && !gemem_results_write_sqlite (gemem_outputs.sqlite, NULL, 0, error))
    return FALSE;
  return gemem_outputs.plots == NULL || gemem_make_folder (gemem_outputs.plots, error);
}

static void
note_variables (const GPtrArray *variables, const GPtrArray *specs, const GPtrArray *files)
{
  g_autoptr (GArray) readers = g_array_new (FALSE, FALSE, sizeof (GememReader));

  for (guint i = 0; specs != NULL && i < specs->len; i++)
    {
      const GememAllocatorSpec *spec = specs->pdata[i];
      const GememReader reader = { "allocator", spec->label, spec->klass->name, spec->variables,
                                   spec->left_out };
      g_array_append_val (readers, reader);
    }
  for (guint i = 0; i < files->len; i++)
    gemem_source_add_reader (files->pdata[i], readers);
  gemem_environment_note_unused (use_environment, variables, readers);
}

/* Opens @paths as @files; unless they share a device, appends the jobs of each to @list, through
 * *@specs.  FALSE with @error. */
static gboolean
open_files (char **paths, const char *default_allocator, const GPtrArray *variables,
            const GPtrArray *devices, gboolean details, GememJobSetup setup, GPtrArray *files,
            GPtrArray **specs, gboolean *choices, GArray *list, GError **error)
{
  for (char **path = paths; *path != NULL; path++)
    {
      gemem_progress_begin_reading (*path);
      guint n = gemem_source_files_add (files, *path, error);
      if (n == 0)
        return FALSE;
      for (guint i = files->len - n; i < files->len; i++)
        {
          GememSourceFile *file = files->pdata[i];
          if (!gemem_source_file_hold (file, gemem_outputs.page != NULL || histories > 0, error))
            return FALSE;
          if (gemem_share_wanted ())
            continue;
          if (*specs == NULL
              && (*specs = choose_allocators (file, default_allocator, variables, choices, error))
                     == NULL)
            return FALSE;
          g_autoptr (GArray) ordinals = gemem_source_devices (file, error);
          if (ordinals == NULL || !check_gpus (file, ordinals, devices, error))
            return FALSE;
          append_jobs (list, file, ordinals, devices, *specs, names_blocks (details), setup);
        }
    }
  return TRUE;
}

/* Where @file has no event of memory, the page and the figures that are asked for say @refused: what looks for
 * them finds the reason. */
static void
write_nothing (GememSourceFile *file, const GError *refused)
{
  g_autoptr (GArray) used = gemem_trace_devices (gemem_source_file_open, file, NULL);
  g_autoptr (GError) error = NULL;
  GememPlotStyle style;
  gboolean rendered;

  if (used == NULL || used->len > 0 || !g_error_matches (refused, GEMEM_ERROR, GEMEM_ERROR_INPUT))
    return;
  if ((gemem_outputs.page != NULL
       && !gemem_batch_page_write_nothing (file->path, refused->message, &error))
      || (gemem_outputs.plots != NULL
          && (!gemem_plot_options (&style, &error)
              || !gemem_plot_nothing_write (gemem_outputs.plots, &style, file->path,
                                            refused->message, NULL, &rendered, &error))))
    gemem_print_error (error);
}

/* The first device of -d, about which a page asks for advice; NULL: the recorded one. */
static const char *
first_device (const GPtrArray *devices)
{
  return device_spec != NULL || capacity != NULL
             ? ((const GememDeviceSpec *) devices->pdata[0])->spec
             : NULL;
}

/* Runs the jobs of @list; @choices: so many for each trace and device are what its program could choose, 0:
 * they are not, and each is a row. */
static void
run_all (const GArray *list, guint choices, GememResult **results, GError **errors)
{
  /* then every run counts, or is more than a replay that may end early */
  const gboolean whole = choices < 2 || find_capacity || gemem_outputs.fail_on_oom || measure
                         || repeat > 1 || warm_up > 0 || threads > 1 || full_checks || touch
                         || gemem_device_spec_gpu (g_array_index (list, GememJob, 0).device_spec)
                                >= 0;

  if (whole)
    gemem_progress_run_jobs ("replaying", (const GememJob *) list->data, list->len, (guint) jobs,
                             gemem_source_path_of_job, results, errors);
  else
    gemem_batch_choices_run (list, choices, (guint) jobs, results, errors);
}

static GememBatchResults *
run_batch (char **paths, const char *default_allocator, GememJobSetup setup, gboolean details,
           GError **error)
{
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (GememJob));
  g_autoptr (GPtrArray) specs = NULL, devices = NULL, shared = NULL;
  g_autoptr (GPtrArray) variables = NULL;
  g_autofree char *device = gemem_device_text (device_spec, capacity);
  g_autoptr (GError) interrupted = NULL;
  gboolean choices = FALSE, tried;
  if (!check_options (error) || (gemem_outputs.page != NULL && !gemem_page_check (error))
      || !gemem_share_check_options (g_strv_length (paths), error)
      || (variables = gemem_environment_read (use_environment, error)) == NULL
      || !gemem_source_use_variables (variables, error)
      || (devices = gemem_device_spec_expand (device, error)) == NULL)
    return NULL;
  if (!open_files (paths, default_allocator, variables, devices, details, setup, files, &specs,
                   &choices, list, error))
    {
      if (files->len > 0)
        write_nothing (files->pdata[files->len - 1], *error);
      return NULL;
    }
  if (gemem_share_wanted ())
    {
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      shared = append_shared_jobs (list, files, devices, default_allocator != NULL, variables,
                                   specs, names_blocks (details), setup, error);
      if (shared == NULL)
        return NULL;
    }
  gemem_progress_end ();
  note_variables (variables, specs, files);
  gemem_settings_note (specs, choices ? 1 : G_MAXUINT, files, no_trace_settings);
  gemem_settings_note_latency (device, files);
  gemem_versions_note (specs, files);
  if (!check_files ((const GememJob *) list->data, list->len, paths, error))
    return NULL;
  gemem_catch_interrupts ();
  g_autofree GememResult **results = g_new0 (GememResult *, list->len);
  g_autofree GError **errors = g_new0 (GError *, list->len);
  run_all (list, choices ? specs->len : 0, results, errors);
  tried = gemem_batch_histories (list, results, (guint) histories, &interrupted);
  gemem_progress_end ();
  gemem_interrupts_over ();
  GememBatchResults *batch = gemem_batch_results_new (list->len, choices);
  g_autofree gboolean *left_out = g_new0 (gboolean, list->len);
  for (guint i = 0; i < list->len; i++)
    if ((left_out[i] = results[i] == NULL && errors[i] == NULL))
      gemem_batch_leave_out (batch);
    else
      gemem_batch_collect (batch, &g_array_index (list, GememJob, i), results[i], errors[i]);
  gemem_batch_results_end (batch);
  if (!tried)
    {
      gemem_print_error (interrupted);
      batch->status = gemem_error_exit_status (interrupted);
    }
  if (gemem_outputs.page != NULL
      && !gemem_batch_page_write (batch, files, list, results, left_out, first_device (devices),
                                  error))
    g_clear_pointer (&batch, gemem_batch_results_free);
  return batch;
}

/* ---- the runs of a database instead */

/* Refuses what would be another run. */
static gboolean
check_made (const char *path, GError **error)
{
  const char *refused = gemem_outputs.page != NULL
                            ? "a page shows blocks over time, which a database does not hold; "
                              "name the traces"
                        : allocators != NULL || device_spec != NULL || capacity != NULL || zoo
                                || optimal || find_capacity || measure || repeat > 1 || warm_up > 0
                                || histories > 0
                            ? "its runs are made; leave out the options of runs, or name the traces"
                            : NULL;

  if (refused != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: a database of results: %s", path,
                 refused);
  return refused == NULL;
}

static GememBatchResults *
read_batch (char **paths, GError **error)
{
  g_autoptr (GPtrArray)
      results = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  GememBatchResults *batch;

  if (!check_options (error) || !check_made (paths[0], error))
    return NULL;
  for (char **path = paths; *path != NULL; path++)
    if (!gemem_results_read_database (*path, results, error))
      return NULL;
  batch = gemem_batch_results_new (results->len, FALSE);
  batch->ended = results->len;
  for (guint i = 0; i < results->len; i++)
    g_ptr_array_add (batch->results, results->pdata[i]);
  g_ptr_array_extend_and_steal (batch->rows, g_steal_pointer (&results));
  gemem_batch_results_end (batch);
  return batch;
}

int
gemem_batch_run (char **paths, const char *default_allocator, GememJobSetup setup, gboolean details,
                 GError **error)
{
  const gboolean made = g_strcmp0 (default_allocator, GEMEM_BATCH_CHOICES) == 0
                        && gemem_is_database (paths[0]);
  GememBatchResults *batch = made ? read_batch (paths, error)
                                  : run_batch (paths, default_allocator, setup, details, error);
  if (batch == NULL)
    return 2;
  const gboolean reported = gemem_batch_report (batch, details, error);
  const int status = reported ? batch->status : 1;
  if (reported && gemem_outputs.page != NULL)
    gemem_note ("%s: open it in a browser", gemem_outputs.page);
  if (reported && batch->ended < batch->runs && (batch->runs > 1 || batch->results->len == 0))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                 "interrupted after %u of %u runs; run it again for the others", batch->ended,
                 batch->runs);
  gemem_batch_results_free (batch);
  return status;
}
