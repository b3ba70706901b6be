/* dumb.c - plots as text, drawn by gnuplot's terminal `dumb`.
 *
 * One diagram per trace.  timeline: live bytes (the same for all) and each allocator's reserved
 * bytes; fragmentation: external waste as a fraction of the reserved bytes; comparison: a bar per
 * allocator.  Of coinciding curves the last one is visible.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"

/* Writes the data as a here-document, so that no file is needed. */
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
  gemem_plot_axis_init (&axis, group, FALSE);
  for (guint i = 0; i < group->results->len; i++)
    bytes = MAX (bytes, ((const GememResult *) group->results->pdata[i])->peak_reserved);
  const GememPlotUnit *unit = gemem_plot_size_unit (bytes);
  const gboolean timeline = kind == GEMEM_PLOT_TIMELINE;
  g_string_append_printf (
      out,
      "unit = %s\nset xlabel '%s'\nset ylabel '%s'\nset yrange [0:%s]\nset xrange "
      "[%" G_GUINT64_FORMAT "/%s:%" G_GUINT64_FORMAT "/%s]\nplot ",
      unit->divisor, axis.title, timeline ? unit->name : "%", timeline ? "*" : "100", axis.from,
      axis.unit->divisor, axis.to, axis.unit->divisor);
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      if (!gemem_plot_has_timeline (result))
        continue;
      g_string_append (out, index > 0 ? ", \\\n  " : "");
      g_string_append_printf (out, "$data index %u using ($%u/%s):(%s) with steps title ", index,
                              1 + axis.time, axis.unit->divisor,
                              timeline ? "$5/unit" : "$4 > 0 ? 100*($4-$3)/$4 : 0");
      gemem_plot_append_quoted (out, gemem_plot_label (group, i), 40, FALSE);
      index++;
    }
  if (timeline)
    g_string_append_printf (
        out, ", \\\n  $data index 0 using ($%u/%s):($3/unit) with steps title 'live'",
        1 + axis.time, axis.unit->divisor);
  g_string_append_c (out, '\n');
  gemem_plot_axis_clear (&axis);
}

/* Bars are labels made of '=' ('/' where requests failed or the run is not allowed), because this
 * terminal draws only the outlines of boxes. */
static void
append_comparison (GString *out, const GememPlotGroup *group, guint columns)
{
  guint64 bytes = 1;
  glong names = 10, texts = 0;
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_autofree char *text = gemem_plot_bar_text (result);
      bytes = MAX (bytes, gemem_plot_peak (result));
      names = MAX (names, g_utf8_strlen (gemem_plot_label (group, i), -1));
      texts = MAX (texts, g_utf8_strlen (text, -1));
    }
  names = MIN (names, (glong) columns * 2 / 5);
  const guint space = columns - (guint) names - 6, bar = space - MIN ((guint) texts + 4, space / 2);
  const GememPlotUnit *unit = gemem_plot_size_unit (bytes);
  g_autofree char *failures = gemem_plot_has_failures (group)
                                  ? g_strconcat ("; ///: ", gemem_plot_failures_text (group), NULL)
                                  : g_strdup ("");
  g_string_append_printf (out,
                          "largest = %" G_GUINT64_FORMAT
                          ".0\nbar(value) = int(%u*value/largest + 0.5)\ngap(n) = n > 0 ? n : 0\n",
                          bytes, bar);
  for (guint failed = 0; failed <= 1; failed++)
    {
      g_string_append (out, failed ? "'\nhatched = '" : "full = '");
      for (guint i = 0; i < bar; i++)
        g_string_append_c (out, failed ? '/' : '=');
    }
  g_string_append_printf (
      out,
      "'\nblank = '%*s'\nset lmargin %ld\nset rmargin 3\nset xtics nomirror scale 0\nset xlabel "
      "'peak reserved (%s); | is the lower bound%s'\n"
      "set xrange [0:%u.0*largest/%s/%u]\nset yrange [%u.5:-0.5]\nset ytics scale 0 (",
      (int) bar, "", names + 2, unit->name, failures, space, unit->divisor, bar,
      group->results->len - 1);
  for (guint i = 0; i < group->results->len; i++)
    {
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_quoted (out, gemem_plot_label (group, i), (guint) names, TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append_printf (out,
                          ")\nplot $data using (0):1:(($11 > 0 ? hatched[1:bar($4)] : "
                          "full[1:bar($4)].blank[1:gap(bar($5)-bar($4))]).'  '.strcol(12)) "
                          "with labels left offset 0.5,0 notitle, "
                          "$data using ($5/%s):1:('|') with labels notitle\n",
                          unit->divisor);
}

/* @text without gnuplot's initial page feed and empty lines, and without trailing spaces. */
static char *
tidy (const char *text)
{
  GString *out = g_string_new (NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      g_strdelimit (*line, "\f", ' ');
      g_strchomp (*line);
      if (out->len > 0 || (*line)[0] != '\0')
        g_string_append_printf (out, "%s\n", *line);
    }
  while (g_str_has_suffix (out->str, "\n\n"))
    g_string_truncate (out, out->len - 1);
  return g_string_free (out, FALSE);
}

char *
gemem_plot_dumb (GememResult *const *results, guint n, const char *name, guint columns, guint rows,
                 const char *gnuplot, GError **error)
{
  static const char *const names[] = { "comparison", "timeline", "fragmentation", NULL };
  g_autoptr (GPtrArray) groups = gemem_plot_groups (results, n);
  g_autofree char *program = gemem_plot_program (gnuplot);
  guint kind = 0;
  g_autofree char *output = NULL;
  columns = MAX (columns, 40);
  while (names[kind] != NULL && !gemem_name_equal (name, names[kind]))
    kind++;
  if (names[kind] == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "unknown plot '%s'; choose comparison, timeline or fragmentation", name);
      return NULL;
    }
  if (program == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "%s: not found; install gnuplot to draw in the terminal",
                   gnuplot != NULL && *gnuplot != '\0' ? gnuplot : "gnuplot");
      return NULL;
    }
  g_autoptr (GString) script = g_string_new (NULL);
  for (guint i = 0; i < groups->len; i++)
    {
      const GememPlotGroup *group = groups->pdata[i];
      if (kind != GEMEM_PLOT_COMPARISON && gemem_plot_timelines (group) == 0)
        continue;
      const guint height = kind == GEMEM_PLOT_COMPARISON
                               ? MIN (MAX (rows, 12), 2 * group->results->len + 7)
                               : MAX (rows, 12);
      g_string_append_printf (
          script,
          "reset\nset encoding utf8\nset decimalsign '.'\nset datafile missing 'NaN'\n"
          "set terminal dumb noenhanced mono size %u,%u\nset key outside bottom center\n",
          columns, height);
      append_data (script, (GememPlotKind) kind, group);
      g_string_append (script, "set title ");
      gemem_plot_append_quoted (script, group->title, 100, FALSE);
      g_string_append_c (script, '\n');
      if (kind == GEMEM_PLOT_COMPARISON)
        append_comparison (script, group, columns);
      else
        append_over_time (script, (GememPlotKind) kind, group);
    }
  return gemem_plot_run (program, NULL, "-", script->str, &output, error) ? tidy (output) : NULL;
}
