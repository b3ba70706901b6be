/* plan-command-check.c - `gemem-sim plan --check`: checks whether a plan made elsewhere is safe. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "planners/check.h"
#include "planners/plan-file.h"
#include "sim/cli/plan-command.h"
#include "sim/cli/streams.h"

#define SHOWN 10

/* Reads the plan at @path for the graph or trace in @inputs; without input, for the lifetimes in
 * its own file.  Appends the plan's subject to @sources. */
static GememPlan *
load (const char *path, char **inputs, GPtrArray *files, GPtrArray *sources, GError **error)
{
  GememPlanSource *source;

  if (inputs[0] == NULL)
    {
      source = g_new0 (GememPlanSource, 1);
      source->name = g_strdup (path);
      g_ptr_array_add (sources, source);
      GememPlan *plan = gemem_plan_load_items (path, &source->lifetimes, error);
      source->input.lifetimes = source->lifetimes;
      return plan;
    }
  if (!gemem_stream_claim (path, error))
    return NULL;
  GememSourceFile *file = gemem_source_file_new (inputs[0], error);
  if (file == NULL)
    return NULL;
  g_ptr_array_add (files, file);
  if (!gemem_plan_command_add_sources (sources, file, 1, error))
    return NULL;
  if (sources->len > 1)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: has %u devices, a plan is for one; choose it with --trace-device",
                   inputs[0], sources->len);
      return NULL;
    }
  source = sources->pdata[0];
  return gemem_plan_load (path, &source->input, error);
}

static gboolean
say_safe (const char *path, const GememPlan *plan, GError **error)
{
  char arena[GEMEM_FORMAT_MAX], bound[GEMEM_FORMAT_MAX];
  guint32 items = 0;
  g_autofree char *line = NULL;

  for (guint32 i = 0; i < plan->n_items; i++)
    items += plan->offsets[i] != GEMEM_NO_OFFSET;
  line = g_strdup_printf ("%s: safe: %u items in %s, lower bound %s\n", path, items,
                          gemem_format_size (arena, plan->arena),
                          gemem_format_size (bound, plan->lower_bound));
  return gemem_put (NULL, line, strlen (line), error);
}

static void
say_violations (const char *path, const GPtrArray *violations, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < violations->len && i < SHOWN; i++)
    {
      const GememViolation *violation = g_ptr_array_index (violations, i);

      g_string_append_printf (text, "%s: %s\n", gemem_violation_name (violation->kind),
                              violation->text);
    }
  if (!gemem_put (NULL, text->str, text->len, error))
    return;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: not safe: %s%u violation%s; such a plan must not be used", path,
               violations->len > SHOWN ? "more than " : "", MIN (violations->len, SHOWN),
               gemem_plural (violations->len));
}

int
gemem_plan_command_check_file (const char *path, char **inputs, GError **error)
{
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (gemem_plan_command_source_free);
  g_autoptr (GememPlan) plan = load (path, inputs, files, sources, error);
  g_autoptr (GPtrArray) violations = NULL;
  const GememPlanSource *source;

  if (plan == NULL)
    return 3;
  source = sources->pdata[0];
  plan->alignment = MAX (plan->alignment, 1);
  plan->lower_bound = gemem_plan_lower_bound (&source->input, plan);
  violations = gemem_plan_check (plan, &source->input, SHOWN + 1);
  if (violations->len > 0)
    {
      say_violations (path, violations, error);
      return 3;
    }
  const GememPlanResult result = { source->name, &source->input, plan->planner, plan };
  return say_safe (path, plan, error) && gemem_plan_command_write_outputs (&result, 1, error) ? 0
                                                                                              : 1;
}
