/* plan-overall.c - see plan-overall.h: the last line of every table of a paper.
 *
 * An overhead is the arena divided by the best bound known of the input; standings.h says why its
 * geometric mean counts.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "sim/report/plan-overall.h"
#include "sim/report/standings.h"

#define LABEL 50
#define ROUNDING 1e-6 /* what sums of logarithms may be off */

static GArray *
stand (const GememPlanResult *results, guint n, guint *inputs)
{
  g_autoptr (GArray) standings = gemem_standings_new ();

  *inputs = 0;
  for (guint i = 0; i < n; i++)
    {
      const GememPlan *plan = results[i].plan;

      *inputs += i == 0 || strcmp (results[i].input, results[i - 1].input) != 0;
      gemem_standings_add (standings, plan->planner, results[i].input, TRUE,
                           results[i].bound > 0 ? (double) plan->arena / (double) results[i].bound
                                                : 0);
    }
  for (guint i = 0; i < standings->len; i++)
    if (g_array_index (standings, GememStanding, i).served != *inputs)
      g_array_remove_index (standings, i--);
  return gemem_standings_finish (standings, *inputs) ? g_steal_pointer (&standings) : NULL;
}

/* "35.5" of the ratio 1.355; rounded up, so that nothing counts as the least that may not be. */
static const char *
percent (double ratio, char *buffer)
{
  return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.1f",
                          fabs (ceil (1000 * (ratio - 1) - ROUNDING)) / 10);
}

static void
append_row (GString *out, const GememStanding *standing)
{
  char mean[G_ASCII_DTOSTR_BUF_SIZE], most[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *label = gemem_text_cut (standing->label, LABEL);
  g_autofree char *where = g_path_get_basename (standing->where);
  g_autofree char *row = g_strdup_printf ("%-*s  %6s %%  %6s %%, %s", LABEL, label,
                                          percent (gemem_standing_mean (standing), mean),
                                          percent (standing->most, most), where);

  gemem_text_append_cut (out, row);
}

static void
append_sentence (GString *out, const GArray *standings, guint inputs)
{
  const GememStanding *best = &g_array_index (standings, GememStanding, 0), *next = best + 1;
  char mean[G_ASCII_DTOSTR_BUF_SIZE], other[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *text = g_strdup_printf (
      "Over all %u inputs %s is %s %% above the bound, the next, %s, %s %%.", inputs, best->label,
      percent (gemem_standing_mean (best), mean), next->label,
      percent (gemem_standing_mean (next), other));

  g_string_append_c (out, '\n');
  gemem_text_wrap (out, text, "  ");
}

void
gemem_plan_overall (GString *out, const GememPlanResult *results, guint n)
{
  guint inputs;
  g_autoptr (GArray) standings = stand (results, n, &inputs);

  if (standings == NULL)
    return;
  g_string_append_printf (out, "\nall %u inputs: overhead, geometric mean\n%-*s  %8s  %8s\n",
                          inputs, LABEL, "planner", "overhead", "most");
  for (guint i = 0; i < standings->len; i++)
    append_row (out, &g_array_index (standings, GememStanding, i));
  append_sentence (out, standings, inputs);
}
