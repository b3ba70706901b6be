/* plan-command-outputs.c - outputs of `gemem-sim plan` besides the table: the plan itself,
 * pictures, a drawing for the terminal. */
#include "config.h"

#include "allocators/planned/step-plan.h"
#include "base/units.h"
#include "planners/plan-file.h"
#include "sim/cli/output-files.h"
#include "sim/cli/plan-command.h"
#include "sim/cli/plot-options.h"
#include "sim/plots/plots.h"

static char *plan_path;
static char *rewrite_path;
static char *step_plan_path;
static const char *step_plan_of; /* the recording */
static char *plots;
static char *map;

const GOptionEntry gemem_plan_command_output_entries[] = {
  { "plan", 0, 0, G_OPTION_ARG_FILENAME, &plan_path,
    "Write the best plan to FILE: JSON, or MiniMalloc CSV if it ends in .csv ('-': stdout)",
    "FILE" },
  { "rewrite", 0, 0, G_OPTION_ARG_FILENAME, &rewrite_path,
    "Write the graph with the variables that the best plan shares, to be replayed; for planners "
    "that rename (paddle-memory-optimize...)",
    "FILE" },
  { "step-plan", 0, 0, G_OPTION_ARG_FILENAME, &step_plan_path,
    "Plan a step of the recording with the best planner, and what comes before it, and write that "
    "to FILE, as STAlloc does; for the allocator planned",
    "FILE" },
  { "plots", 0, 0, G_OPTION_ARG_FILENAME, &plots,
    "Draw each plan into DIR: .svg, .dat, .gp, and with gnuplot other formats", "DIR" },
  { "map", 0, 0, G_OPTION_ARG_FILENAME, &map,
    "Draw the plans as text to FILE ('-': stdout); the best one as SVG if it ends in .svg",
    "FILE" },
  { NULL }
};

gboolean
gemem_plan_command_check_outputs (const char *report, char **inputs, guint n_sources,
                                  GError **error)
{
  const GememOutputFile outputs[] = { { "--output", report },
                                      { "--plan", plan_path },
                                      { "--map", map },
                                      { "--trace", gemem_plan_command_trace_path () },
                                      { "--rewrite", rewrite_path },
                                      { "--step-plan", step_plan_path } };
  GememPlotStyle style;
  const char *single = plan_path != NULL      ? plan_path
                       : rewrite_path != NULL ? rewrite_path
                                              : step_plan_path;
  const char *option = plan_path != NULL ? "plan" : rewrite_path != NULL ? "rewrite" : "step-plan";

  if (single != NULL && n_sources > 1)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--%s=%s: one file holds one plan, but there are %u inputs; name one, and "
                   "--trace-device where the trace has several",
                   option, single, n_sources);
      return FALSE;
    }
  step_plan_of = inputs[0];
  if (!gemem_plot_options (&style, error))
    return FALSE;
  if (!gemem_check_outputs (outputs, G_N_ELEMENTS (outputs), inputs, error))
    return FALSE;
  return plots == NULL || gemem_make_folder (plots, error);
}

/* The result with the smallest arena; the first of equal ones. */
static const GememPlanResult *
best_of (const GememPlanResult *results, guint n)
{
  const GememPlanResult *best = results;

  for (guint i = 1; i < n; i++)
    if (results[i].plan->arena < best->plan->arena)
      best = &results[i];
  return best;
}

static void
say_which (const char *path, const GememPlanResult *best, guint n)
{
  char size[GEMEM_FORMAT_MAX];

  if (n > 1)
    gemem_note ("%s holds the plan of %s for %s, the smallest of %u (%s)", path,
                best->plan->planner, best->input, n, gemem_format_size (size, best->plan->arena));
}

static gboolean
write_plan (const GememPlanResult *best, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (g_str_has_suffix (plan_path, ".csv"))
    gemem_plan_write_csv (text, best->plan, best->of);
  else
    gemem_plan_write_json (text, best->plan, best->of);
  return gemem_put (plan_path, text->str, text->len, error);
}

/* The plan of a step by the planner of @best. */
static gboolean
write_step_plan (const GememPlanResult *best, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GememStepPlan) plan = NULL;
  char size[GEMEM_FORMAT_MAX];
  GememChoice *planner;

  if (best->of->graph != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--step-plan=%s: a graph has no steps; name a recording", step_plan_path);
      return FALSE;
    }
  planner = gemem_planner_parse_one (best->plan->planner, "planned", error);
  if (planner != NULL)
    plan = gemem_step_plan_make (step_plan_of, planner, error);
  g_clear_pointer (&planner, gemem_choice_free);
  if (plan == NULL)
    return FALSE;
  gemem_step_plan_write (text, plan);
  if (!gemem_put (step_plan_path, text->str, text->len, error))
    return FALSE;
  gemem_note ("%s holds a step planned by %s: %u requests before it, %u in it, %s", step_plan_path,
              best->plan->planner, plan->before, plan->places->len - plan->before,
              gemem_format_size (size, plan->bytes));
  return TRUE;
}

static gboolean
write_plots (const GememPlanResult *results, guint n, GError **error)
{
  GememPlotStyle style;
  gboolean rendered;
  const gboolean hurry = g_atomic_int_get (&gemem_interrupted) != 0; /* what needs no gnuplot */

  if (!gemem_plot_options (&style, error)
      || !gemem_plan_plots_write (plots, &style, results, n, hurry ? "" : NULL, &rendered, error))
    return FALSE;
  if (!rendered && !hurry)
    gemem_note ("gnuplot was not found: %s holds the pictures as .svg only; 'gnuplot *.gp' there "
                "makes the others",
                plots);
  return TRUE;
}

static gboolean
write_map (const GememPlanResult *results, guint n, gboolean svg, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (svg)
    gemem_plan_svg (text, best_of (results, n));
  for (guint i = 0; i < n && !svg; i++)
    gemem_plan_map (text, &results[i], gemem_terminal_width ());
  return gemem_put (map, text->str, text->len, error);
}

gboolean
gemem_plan_command_write_outputs (const GememPlanResult *results, guint n, GError **error)
{
  const gboolean svg = map != NULL && g_str_has_suffix (map, ".svg");

  if (n == 0)
    return TRUE;
  if (plan_path != NULL && !write_plan (best_of (results, n), error))
    return FALSE;
  if (plan_path != NULL)
    say_which (plan_path, best_of (results, n), n);
  if (rewrite_path != NULL
      && !gemem_plan_command_write_rewritten (rewrite_path, best_of (results, n), error))
    return FALSE;
  if (rewrite_path != NULL)
    say_which (rewrite_path, best_of (results, n), n);
  if (step_plan_path != NULL && !write_step_plan (best_of (results, n), error))
    return FALSE;
  if (map != NULL && !write_map (results, n, svg, error))
    return FALSE;
  if (svg)
    say_which (map, best_of (results, n), n);
  return gemem_plan_command_write_trace (results, n, error)
         && (plots == NULL || write_plots (results, n, error));
}
