/* plan-command.c - `gemem-sim plan`: passes graphs and traces through off-line planners, a row per
 * plan; every plan is checked before it is reported. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "planners/check.h"
#include "sim/cli/environment.h"
#include "sim/cli/options.h"
#include "sim/cli/plan-command.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"

static char **planners;
static char *format_name;
static char *output;
static char *check;
static int threads = GEMEM_NOT_GIVEN;
static gboolean print_log;
static gboolean no_time;
static gboolean measure;
static gboolean use_environment;
static gboolean verbose;

static const GOptionEntry entries[] = {
  { "planner", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &planners,
    "Planner and its parameters; repeatable; globs ('ge-*') and lists (a=1|2, a=*) give several "
    "(default: all)",
    "NAME[:KEY=VALUE,...]" },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name,
    "Form of the report (default: as the name of the output ends, else table)",
    "table|json|csv|markdown" },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
    "Write the report to FILE instead of stdout; .json, .csv and .md choose the format", "FILE" },
  { "check", 0, 0, G_OPTION_ARG_FILENAME, &check,
    "Check the plan in FILE (JSON, MiniMalloc CSV with offsets) instead of planning", "FILE" },
  { "threads", 0, 0, G_OPTION_ARG_INT, &threads,
    "Threads of a planner (default: one per processor); plans do not depend on it", "N" },
  { "print-log", 0, 0, G_OPTION_ARG_NONE, &print_log,
    "Print what the real system would print while planning", NULL },
  { "measure", 0, 0, G_OPTION_ARG_NONE, &measure,
    "Write planning times (host clock, not deterministic) in every format", NULL },
  { "env", 0, 0, G_OPTION_ARG_NONE, &use_environment,
    "Take GE_USE_STATIC_MEMORY and what else planners and lowerings read from the environment; "
    "what -p and --lower say counts more",
    NULL },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose,
    "Say below the table at which step the peak of each plan lies, and its largest items", NULL },
  { "no-time", 0, 0, G_OPTION_ARG_NONE, &no_time, "Leave planning times out of the table", NULL },
  { NULL }
};

static gboolean
check_options (GememReportFormat *format, GError **error)
{
  *format = GEMEM_FORMAT_TABLE;
  if (!gemem_plan_command_check_trace (error) || !gemem_want_number ("threads", &threads, error))
    return FALSE;
  if (measure && no_time)
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "plan: --measure and --no-time exclude each other; keep one of them");
  else if (check != NULL
           && (planners != NULL || format_name != NULL || output != NULL
               || gemem_plan_command_trace_path () != NULL || use_environment))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--check=%s: nothing is planned or reported; leave out --planner, --format, "
                 "--output, --trace and --env",
                 check);
  else if (!gemem_report_format_choose (format_name, output, format, error))
    return FALSE;
  else if (print_log && *format != GEMEM_FORMAT_TABLE
           && (output == NULL || strcmp (output, "-") == 0))
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "--print-log: standard output is taken by --format=%s; write the report to a file with -o",
        format_name);
  else
    return TRUE;
  return FALSE;
}

static GPtrArray *
choose_planners (const GPtrArray *variables, GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  if (planners == NULL && !gemem_planner_parse ("*", choices, error))
    return NULL;
  for (char **text = planners; text != NULL && *text != NULL; text++)
    if (!gemem_planner_parse (*text, choices, error))
      return NULL;
  for (guint i = 0; i < choices->len; i++)
    if (!gemem_choice_add_variables (choices->pdata[i], "planner", variables, error))
      return NULL;
  return g_steal_pointer (&choices);
}

/* Whether the user gave @choice the setting @key, which may be an alias. */
static gboolean
is_told (const GememChoice *choice, const char *key)
{
  const GememParam *params = choice->named->params, *param = gemem_params_find (params, key);

  for (guint i = 0; param != NULL && i < choice->settings->len; i++)
    if (gemem_params_find (params, ((GememSetting *) choice->settings->pdata[i])->key) == param)
      return TRUE;
  return FALSE;
}

/* --print-log is print_log=yes of the planners that have it and were told nothing of it. */
static void
let_print (const GPtrArray *choices)
{
  for (guint i = 0; print_log && i < choices->len; i++)
    {
      GememChoice *choice = choices->pdata[i];

      if (gemem_params_find (choice->named->params, "print_log") != NULL
          && !is_told (choice, "print_log"))
        gemem_settings_add (choice->settings, "print_log", "yes");
    }
}

static void
note_variables (const GPtrArray *variables, const GPtrArray *choices, const GPtrArray *files)
{
  g_autoptr (GArray) readers = g_array_new (FALSE, FALSE, sizeof (GememReader));

  for (guint i = 0; i < choices->len; i++)
    {
      const GememChoice *choice = choices->pdata[i];
      const GememReader reader = { "planner", choice->label, choice->named->name, choice->variables,
                                   choice->left_out };
      g_array_append_val (readers, reader);
    }
  for (guint i = 0; gemem_source_lowered () && i < files->len; i++)
    gemem_source_add_reader (files->pdata[i], readers);
  gemem_environment_note_unused (use_environment, variables, readers);
}

/* A setting of a planner that changes nothing for a graph is said once. */
static void
note_memsets (const GPtrArray *choices, const GPtrArray *files)
{
  for (guint i = 0; i < choices->len; i++)
    {
      const GememChoice *choice = choices->pdata[i];

      if (!is_told (choice, "atomic_clean_policy"))
        continue;
      for (guint f = 0; f < files->len && !gemem_source_lowered (); f++)
        gemem_source_note_memsets (files->pdata[f], "the planners", choice->named->params);
      return;
    }
}

static void
note_settings (const GPtrArray *choices, const GPtrArray *sources)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint s = 0; s < sources->len; s++)
    for (guint c = 0; c < choices->len; c++)
      gemem_settings_note_planner (choices->pdata[c],
                                   ((GememPlanSource *) sources->pdata[s])->input.graph, said);
}

/* Says once which planner needs more than it might. */
static void
warn_of_gaps (const GPtrArray *choices, const GPtrArray *sources)
{
  for (guint s = 0; s < sources->len; s++)
    for (guint c = 0; c < choices->len; c++)
      {
        const GememPlanSource *source = sources->pdata[s];
        const GememChoice *choice = choices->pdata[c];

        if (!gemem_planner_fills_gaps ((const GememPlanner *) choice->named, &source->input))
          continue;
        gemem_warn ("%s: %s plans gaps as in use; optimal does not", source->name,
                    choice->named->name);
        return;
      }
}

static gboolean
open_sources (char **paths, GPtrArray *files, GPtrArray *sources, GError **error)
{
  for (char **path = paths; *path != NULL; path++)
    {
      gemem_progress_begin_reading (*path);
      GememSourceFile *file = gemem_source_file_new (*path, error);

      if (file == NULL)
        return FALSE;
      g_ptr_array_add (files, file);
      if (!gemem_plan_command_add_sources (sources, file, (guint) threads, error))
        return FALSE;
    }
  return TRUE;
}

/* Makes and checks a plan; NULL with the reason. */
static GememPlan *
make_plan (const GememChoice *choice, const GememPlanSource *source, GError **error)
{
  const guint64 start = gemem_host_clock ();
  g_autoptr (GememPlan) plan = gemem_planner_run (choice, &source->input, error);

  if (plan == NULL)
    {
      g_prefix_error (error, "%s: ", choice->label);
      return NULL;
    }
  plan->time_ns = gemem_host_clock () - start;
  return gemem_plan_verify (plan, &source->input, error) ? g_steal_pointer (&plan) : NULL;
}

/* Whether choice @c cannot plan @source; if others can, it is left out, which is said once per source. */
static gboolean
is_left_out (const GPtrArray *choices, guint c, const GememPlanSource *source, gboolean *said)
{
  guint able = 0, first = choices->len;

  if (source->input.lifetimes == NULL || source->input.lifetimes->places == NULL)
    return FALSE;
  for (guint i = 0; i < choices->len; i++)
    {
      const GememChoice *choice = choices->pdata[i];
      const gboolean is_able = (((const GememPlanner *) choice->named)->capabilities
                                & GEMEM_PLANNER_PLACES)
                               != 0;

      able += is_able;
      first = is_able ? first : MIN (first, i);
      if (is_able && i == c)
        return FALSE;
    }
  if (able > 0 && !*said)
    gemem_note ("%s: %s%s left out", source->name,
                ((const GememChoice *) choices->pdata[first])->named->name,
                choices->len - able > 1 ? " and others keep no fixed offsets and are"
                                        : " keeps no fixed offsets and is");
  *said = TRUE;
  return able > 0;
}

/* Runs every planner on every source.  An error is printed and does not stop the others; returns
 * the exit status of the first error. */
static int
plan_all (const GPtrArray *choices, const GPtrArray *sources, GArray *planned)
{
  gboolean said = FALSE;
  int status = 0;

  for (guint s = 0; s < sources->len; s++, said = FALSE)
    for (guint c = 0; c < choices->len && g_atomic_int_get (&gemem_interrupted) == 0; c++)
      {
        gemem_progress_set_steps (s * choices->len + c);
        const GememPlanSource *source = sources->pdata[s];
        const GememChoice *choice = choices->pdata[c];
        g_autoptr (GError) error = NULL;
        if (is_left_out (choices, c, source, &said))
          continue;
        const GememPlanResult one = { source->name, &source->input, choice->named->name,
                                      make_plan (choice, source, &error) };

        if (one.plan != NULL)
          g_array_append_val (planned, one);
        else if (!g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED))
          {
            g_prefix_error (&error, "%s: ", source->name);
            gemem_print_error (error);
            status = status == 0 ? gemem_error_exit_status (error) : status;
          }
      }
  return status;
}

/* The lines of the planners that were told to print, and with --print-log of all.  Where the report
 * takes standard output in another format than the table, they go to standard error. */
static gboolean
put_logs (const GArray *planned, GememReportFormat format, GError **error)
{
  const gboolean taken = format != GEMEM_FORMAT_TABLE
                         && (output == NULL || strcmp (output, "-") == 0);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < planned->len; i++)
    {
      const GememPlan *plan = g_array_index (planned, GememPlanResult, i).plan;
      const GPtrArray *log = plan->log;

      for (guint line = 0; (print_log || plan->prints) && line < log->len; line++)
        g_string_append_printf (text, "%s\n", (const char *) log->pdata[line]);
    }
  if (print_log && text->len == 0)
    gemem_note (
        "--print-log: nothing to print: these planners log nothing, or nothing of what they "
        "log happened");
  if (!taken)
    return gemem_put (NULL, text->str, text->len, error);
  g_printerr ("%s", text->str);
  return TRUE;
}

/* TRUE if the alignment that the planner of @result chose makes the lifetimes of a trace larger. */
static gboolean
rounds_sizes (const GememPlanResult *result)
{
  const GememLifetimes *lifetimes = result->of->graph == NULL ? result->of->lifetimes : NULL;
  const guint64 alignment = MAX (result->plan->alignment, 1);

  for (guint i = 0; lifetimes != NULL && i < lifetimes->items->len; i++)
    if (gemem_lifetimes_get (lifetimes, i)->alignment == 0
        && gemem_lifetimes_get (lifetimes, i)->size % alignment != 0)
      return TRUE;
  return FALSE;
}

/* Says which alignment was assumed, for the first planner that was not told one and for which it
 * matters. */
static void
note_alignment (const GArray *planned)
{
  for (guint i = 0; i < planned->len; i++)
    {
      const GememPlanResult *result = &g_array_index (planned, GememPlanResult, i);
      char size[GEMEM_FORMAT_MAX];

      if (strstr (result->plan->planner, "alignment=") != NULL || !rounds_sizes (result))
        continue;
      gemem_note ("sizes are rounded up to multiples of %s, as %s assumes; where a planner has it, "
                  "-p NAME:alignment=1 plans to the byte",
                  gemem_format_size (size, result->plan->alignment), result->plan->planner);
      return;
    }
}

static gboolean
report (const GArray *planned, GememReportFormat format, GError **error)
{
  const GememPlanReportOptions options = { measure || (format == GEMEM_FORMAT_TABLE && !no_time),
                                           output == NULL ? gemem_terminal_width () : 0, verbose };
  const GememPlanResult *results = (const GememPlanResult *) (gconstpointer) planned->data;
  g_autoptr (GString) text = g_string_new (NULL);

  if (!put_logs (planned, format, error))
    return FALSE;
  gemem_terminal_fit (output);
  gemem_plan_report (text, format, results, planned->len, &options);
  if (format == GEMEM_FORMAT_TABLE)
    note_alignment (planned);
  return gemem_put (output, text->str, text->len, error)
         && gemem_plan_command_write_outputs (results, planned->len, error);
}

static void
clear_planned (gpointer data)
{
  gemem_plan_free (((GememPlanResult *) data)->plan);
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_plan;
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (gemem_plan_command_source_free);
  g_autoptr (GPtrArray) choices = NULL, variables = NULL;
  g_autoptr (GArray) planned = g_array_new (FALSE, FALSE, sizeof (GememPlanResult));
  GememReportFormat format;
  int status;

  g_array_set_clear_func (planned, clear_planned);
  if (!gemem_want_arguments (&gemem_command_plan, arguments, check != NULL ? 0 : 1,
                             check != NULL ? 1 : 10000, error)
      || !check_options (&format, error))
    return 2;
  if (check != NULL)
    return gemem_plan_command_check_outputs (NULL, arguments, 1, error)
               ? gemem_plan_command_check_file (check, arguments, error)
               : 2;
  variables = gemem_environment_read (use_environment, error);
  choices = variables != NULL
                    && gemem_source_use_variables (gemem_source_lowered () ? variables : NULL,
                                                   error)
                ? choose_planners (variables, error)
                : NULL;
  if (choices == NULL || !open_sources (arguments, files, sources, error)
      || !gemem_plan_command_check_outputs (output, arguments, sources->len, error))
    return 2;
  let_print (choices);
  note_variables (variables, choices, files);
  note_memsets (choices, files);
  note_settings (choices, sources);
  warn_of_gaps (choices, sources);
  gemem_catch_interrupts ();
  gemem_progress_begin_steps ("planning", "plans", choices->len * sources->len);
  status = plan_all (choices, sources, planned);
  gemem_interrupts_over ();
  gemem_progress_end ();
  for (guint i = 0; i < sources->len && status == 0; i++)
    status = ((GememPlanSource *) sources->pdata[i])->partial ? 3 : 0;
  if (planned->len > 0 && !report (planned, format, error))
    return 1;
  if (g_atomic_int_get (&gemem_interrupted) != 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                 "plan: interrupted after %u of %u plans; run it again for %s", planned->len,
                 choices->len * sources->len,
                 planned->len < choices->len * sources->len ? "the others" : "a better one");
  return status;
}

const GememCommand gemem_command_plan = {
  .name = "plan",
  .synopsis = "GRAPH|TRACE...",
  .summary = "Plan the memory of graphs and traces ahead of time, a row per planner",
  .description =
      "Every plan is checked: no two tensors that are alive at once share a byte, whatever the "
      "timing of the streams. A plan that fails\n"
      "is an error and is never written. GRAPH#N is the N-th graph of a file, from 0. A trace "
      "gives the lifetimes of its allocations;\n"
      "with --lower a graph is planned as the trace it becomes. Settings in a graph are the "
      "defaults of its planners. With --check FILE\n"
      "nothing is planned: the plan in FILE is checked, against GRAPH or TRACE or the lifetimes it "
      "brings.\n"
      "With --trace FILE the plans become a session: the static memory of every graph is loaded "
      "with its segments, runs in turn, and is\n"
      "unloaded. 'gemem-sim compare FILE' shows what the run-time allocators make of it.",
  .examples = "  gemem-sim plan model.json\n"
              "      all planners, and how far each is from the lower bound\n"
              "  gemem-sim plan step.gmt -p 'ge-*' -p 'first-fit*' --plan best.json --plots plots\n"
              "      some planners; the best plan, and a picture of each\n"
              "  gemem-sim plan bert.json gpt2.json -p ge-hybrid --trace session.gmt --steps=10\n"
              "      two graphs as GE loads and runs them\n"
              "  gemem-sim plan --check solved.csv --map -\n"
              "      is the solution of another solver safe, and what does it look like?\n"
              "  gemem-sim plan program.json -p paddle-memory-optimize --rewrite optimized.json && "
              "gemem-sim compare optimized.json --lower=paddle\n"
              "      the program as PaddlePaddle rewrites it, executed\n",
  .options = { entries, gemem_plan_command_output_entries, gemem_plot_entries,
               gemem_plan_command_trace_entries, gemem_source_entries },
  .run = run,
};
