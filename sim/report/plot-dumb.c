/* plot-dumb.c - plots as text for a terminal, by gnuplot's `dumb` terminal: a look without leaving the shell.
 *
 * One diagram per trace.  timeline: live (the same for all) and what each allocator reserved; fragmentation: external waste of each;
 * comparison: a row of characters per allocator, which needs no gnuplot's help to be drawn but is drawn by it for one look.
 */
#include "config.h"

#include <string.h>

#include "sim/core/error.h"
#include "sim/core/params.h"
#include "sim/report/plot.h"
#include "sim/report/report.h"

/* The data between lines of a here-document, so that no file is needed. */
static void
append_data (GString *out, GememPlotKind kind, const GememPlotGroup *group)
{
  g_string_append (out, "$data << GEMEM_END\n");
  gemem_plot_data (out, kind, group);
  g_string_append (out, "GEMEM_END\n");
}

static void
append_over_time (GString *out, GememPlotKind kind, const GememPlotGroup *group)
{
  GememPlotAxis axis;
  guint64 bytes = 1;
  guint index = 0;
  gemem_plot_axis (&axis, group);
  for (guint i = 0; i < group->results->len; i++)
    bytes = MAX (bytes, ((const GememResult *) group->results->pdata[i])->peak_reserved);
  const GememPlotUnit *unit = gemem_plot_size_unit (bytes);
  const gboolean timeline = kind == GEMEM_PLOT_TIMELINE;
  g_string_append_printf (out, "unit = %s\nset xlabel '%s%s%s%s'\nset ylabel '%s'\nset yrange [0:%s]\nset xrange [%" G_GUINT64_FORMAT "/%s:%" G_GUINT64_FORMAT "/%s]\nplot ",
                          unit->divisor, axis.time ? "time" : "event", axis.unit->name != NULL ? " (" : "", axis.unit->name != NULL ? axis.unit->name : "",
                          axis.unit->name != NULL ? ")" : "", timeline ? unit->name : "%", timeline ? "*" : "100", axis.from, axis.unit->divisor, axis.to,
                          axis.unit->divisor);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      if (result->timeline == NULL || result->timeline->len == 0)
        continue;
      g_string_append (out, index > 0 ? ", \\\n  " : "");
      g_string_append_printf (out, "$data index %u using ($%u/%s):(%s) with steps title ", index, 1 + axis.time, axis.unit->divisor,
                              timeline ? "$5/unit" : "$4 > 0 ? 100*($4-$3)/$4 : 0");
      gemem_plot_append_quoted (out, result->label, 40, FALSE);
      index++;
    }
  if (timeline)
    g_string_append_printf (out, ", \\\n  $data index 0 using ($%u/%s):($3/unit) with steps title 'live'", 1 + axis.time, axis.unit->divisor);
  g_string_append_c (out, '\n');
}

static void
append_comparison (GString *out, const GememPlotGroup *group)
{
  guint64 bytes = 1;
  for (guint i = 0; i < group->results->len; i++)
    bytes = MAX (bytes, ((const GememResult *) group->results->pdata[i])->peak_reserved);
  const GememPlotUnit *unit = gemem_plot_size_unit (bytes);
  g_string_append_printf (out, "unit = %s\nset xlabel 'peak reserved (%s), | lower bound'\nset xrange [0:*]\nset yrange [%u.5:-0.5]\nset ytics scale 0 (", unit->divisor,
                          unit->name, group->results->len - 1);
  for (guint i = 0; i < group->results->len; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_quoted (out, ((const GememResult *) group->results->pdata[i])->label, 32, TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append (out, ")\nplot $data using (0):1:($2/unit):(0) with vectors nohead lt 3 notitle, "
                        "$data using ($6/unit):1:('|') with labels notitle, $data using ($2/unit):1:13 with labels left offset 1,0 notitle\n");
}

char *
gemem_plot_dumb (GememResult *const *results, guint n, const char *name, guint columns, guint rows, const char *gnuplot, GError **error)
{
  static const char *const names[] = { "comparison", "timeline", "fragmentation", NULL };
  g_autoptr (GPtrArray) groups = gemem_plot_groups (results, n);
  g_autofree char *program = gemem_plot_program (gnuplot);
  guint kind = 0;
  char *output = NULL;
  while (names[kind] != NULL && !gemem_name_equal (name, names[kind]))
    kind++;
  if (names[kind] == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown plot '%s'; choose comparison, timeline or fragmentation", name);
      return NULL;
    }
  if (program == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: not found; install gnuplot to draw in the terminal", gnuplot != NULL && *gnuplot != '\0' ? gnuplot : "gnuplot");
      return NULL;
    }
  g_autoptr (GString) script = g_string_new (NULL);
  g_string_append_printf (script, "set encoding utf8\nset decimalsign '.'\nset datafile missing 'NaN'\nset terminal dumb noenhanced mono size %u,%u\nset key outside bottom center\n",
                          MAX (columns, 40), MAX (rows, 12));
  for (guint i = 0; i < groups->len; i++)
    {
      const GememPlotGroup *group = groups->pdata[i];
      if (kind != GEMEM_PLOT_COMPARISON && gemem_plot_timelines (group) == 0)
        continue;
      append_data (script, (GememPlotKind) kind, group);
      g_string_append (script, "set title ");
      gemem_plot_append_quoted (script, group->title, 100, FALSE);
      g_string_append_c (script, '\n');
      if (kind == GEMEM_PLOT_COMPARISON)
        append_comparison (script, group);
      else
        append_over_time (script, (GememPlotKind) kind, group);
      g_string_append (script, "reset\n");
    }
  return gemem_plot_run (program, NULL, "-", script->str, &output, error) ? output : NULL;
}
