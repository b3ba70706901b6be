/* front.c - memory against time: every result is a point; those that no other beats in both are the
 * front, which is numbered, as are the others where they are few; what the numbers mean stands below.
 *
 * Why: what needs least memory often takes longest; which of them is right is not ours to say, but
 * the others are out of the question.  Both axes begin near the least, as nothing is compared by
 * area.  Results in which requests failed are no answer and are left out, and so
 * is what no program can have: a plan.  A number stands left below its
 * point, where by what a front is there is no other.
 *
 * Data: the front, from the fastest on; then the others.
 */
#include "config.h"

#include "base/units.h"
#include "sim/plots/plots-private.h"
#include "sim/report/notes.h"

#define LEAST 3 /* results */
#define PANEL 320
#define LEFT 84
#define RIGHT 24
#define HEAD 56
#define FOOT 80
#define ROW 18      /* px of a name below */
#define NAMES 10    /* at most, of the front alone where there are more */
#define NAME 90     /* characters of one */
#define LOG_TIME 30 /* times as slow, */
#define LOG_SIZE 8  /* and as large: the axis is logarithmic */

static gboolean
counts (const GememResult *result)
{
  return gemem_plot_failed (result) == 0 && result->modelled_total_ns > 0
         && result->programs == NULL && gemem_report_is_real (result);
}

/* Faster first; of equally fast ones what needs less. */
static int
compare (gconstpointer a, gconstpointer b)
{
  const GememResult *x = *(const GememResult *const *) a, *y = *(const GememResult *const *) b;

  if (x->modelled_total_ns != y->modelled_total_ns)
    return x->modelled_total_ns < y->modelled_total_ns ? -1 : 1;
  return (x->peak_reserved > y->peak_reserved) - (x->peak_reserved < y->peak_reserved);
}

static GPtrArray *
candidates (const GememPlotGroup *group)
{
  GPtrArray *sorted = g_ptr_array_new ();

  for (guint i = 0; i < group->all->len; i++)
    if (counts (group->all->pdata[i]))
      g_ptr_array_add (sorted, group->all->pdata[i]);
  g_ptr_array_sort (sorted, compare);
  return sorted;
}

gboolean
gemem_plot_has_front (const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) sorted = candidates (group);
  guint different = 0;

  for (guint i = 1; i < sorted->len; i++)
    different += compare (&sorted->pdata[i - 1], &sorted->pdata[i]) != 0;
  return different + 1 >= LEAST;
}

/* What @result is called in @group. */
static char *
name_of (const GememPlotGroup *group, const GememResult *result, guint max)
{
  const char *label = result->label;

  for (guint i = 0; i < group->results->len; i++)
    if (group->results->pdata[i] == result)
      label = gemem_plot_label (group, i);
  return gemem_plot_shorten (label, max);
}

/* @number: what it is called in the picture, from 1; 0: there is none. */
static void
append_point (GString *out, const GememPlotGroup *group, const GememResult *result, guint number)
{
  g_autofree char *name = name_of (group, result, NAME);

  g_string_append_printf (out, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u",
                          result->modelled_total_ns, result->peak_reserved, number);
  gemem_plot_append_text (out, name);
  g_string_append_c (out, '\n');
}

/* Moves the front, from the fastest on, to @front, and all others to @others. */
static void
split (const GPtrArray *sorted, GPtrArray *front, GPtrArray *others)
{
  guint64 least = G_MAXUINT64;

  for (guint i = 0; i < sorted->len; i++)
    {
      const GememResult *result = sorted->pdata[i];
      g_ptr_array_add (result->peak_reserved < least ? front : others, sorted->pdata[i]);
      least = MIN (least, result->peak_reserved);
    }
}

void
gemem_plot_front_data (GString *out, const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) sorted = candidates (group), front = g_ptr_array_new (),
                        others = g_ptr_array_new ();

  split (sorted, front, others);
  g_string_append (out, "# modelled time in the allocator, ns; peak reserved, bytes; number in the "
                        "picture; name\n# index 0: the front\n");
  for (guint i = 0; i < front->len; i++)
    append_point (out, group, front->pdata[i], i + 1);
  g_string_append (out, "\n\n# index 1: the others\n");
  for (guint i = 0; i < others->len; i++)
    append_point (out, group, others->pdata[i], sorted->len <= NAMES ? front->len + i + 1 : 0);
  if (others->len == 0)
    g_string_append (out, "NaN NaN 0 \"\"\n");
}

/* ---- script */

/* An axis from @least to @most, a little wider, in @unit: logarithmic if the range is @times as large as its
 * beginning, and that is returned. */
static gboolean
append_axis (GString *out, char axis, guint64 least, guint64 most, guint times,
             const GememPlotUnit *unit, guint length)
{
  const guint64 margin = (most - least) / 12 + 1;

  if (most / MAX (least, 1) >= times)
    {
      g_string_append_printf (out,
                              "set logscale %c\nset %crange [%" G_GUINT64_FORMAT
                              "/%s*0.7:%" G_GUINT64_FORMAT "/%s*1.4]\nset %ctics %s format '%%g'\n",
                              axis, axis, MAX (least, 1), unit->divisor, most, unit->divisor, axis,
                              axis == 'x' ? "10" : "2");
      return TRUE;
    }
  g_string_append_printf (
      out,
      "from = %" G_GUINT64_FORMAT "/%s\nto = %" G_GUINT64_FORMAT "/%s\nset %crange [from:to]\n",
      least - MIN (least, margin), unit->divisor, most + margin, unit->divisor, axis);
  gemem_plot_script_tics (out, axis, length, "to-from");
  return FALSE;
}

/* What the numbers mean, below the axis: of the front, then of the others. */
static void
append_names (GString *out, const GememPlotGroup *group, const GPtrArray *front,
              const GPtrArray *others, guint rows, const GememPlotPage *page)
{
  for (guint i = 0; i < rows; i++)
    {
      const GememResult *result = i < front->len ? front->pdata[i] : others->pdata[i - front->len];
      g_autofree char *name = name_of (group, result, NAME);
      char size[GEMEM_FORMAT_MAX], time[GEMEM_FORMAT_MAX];
      g_autofree char *text = g_strdup_printf (
          "%u:  %s, %s  %s", i + 1, gemem_format_size (size, result->peak_reserved),
          gemem_format_time (time, result->modelled_total_ns), name);

      gemem_plot_script_note (out, text, page->slim ? 12 : LEFT, 14 + ROW * (rows - i), page);
    }
  if (front->len > rows)
    g_string_append_printf (out, "# and %u more on the front\n", front->len - rows);
}

void
gemem_plot_front_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                         const char *base)
{
  static const GememPlotKey legend[] = {
    { GEMEM_PLOT_POINT, "pt 7 ps 1 lc rgb '" GEMEM_COLOUR_LIVE "'", "no other beats it in both" },
    { GEMEM_PLOT_POINT, "pt 7 ps 0.8 lc rgb '#999999'", "another needs less and is no slower" },
  };
  g_autoptr (GPtrArray) sorted = candidates (group), front = g_ptr_array_new (),
                        others = g_ptr_array_new ();
  const GememPlotGroup whole = { .title = group->title };
  guint64 least = G_MAXUINT64, most = 0;

  if (sorted->len == 0)
    return;
  split (sorted, front, others);
  for (guint i = 0; i < sorted->len; i++)
    {
      const guint64 peak = ((const GememResult *) sorted->pdata[i])->peak_reserved;
      least = MIN (least, peak);
      most = MAX (most, peak);
    }
  const guint64 fastest = ((const GememResult *) sorted->pdata[0])->modelled_total_ns,
                slowest = ((const GememResult *) sorted->pdata[sorted->len - 1])->modelled_total_ns;
  const GememPlotUnit *unit = gemem_plot_size_unit (most),
                      *time = gemem_plot_time_unit (slowest / fastest >= LOG_TIME ? fastest
                                                                                  : slowest);
  const guint rows = sorted->len <= NAMES ? sorted->len : MIN (front->len, NAMES),
              foot = FOOT + rows * ROW,
              lines = gemem_plot_script_legend (NULL, legend, 2, 0, 0, page),
              head = HEAD - page->lift + lines * GEMEM_PLOT_LEGEND_ROW;

  page->height = head + PANEL + foot;
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "set multiplot\nunit = %s\n", unit->divisor);
  gemem_plot_script_title (out, &whole, "memory against time", page);
  append_names (out, group, front, others, rows, page);
  gemem_plot_script_legend (out, legend, 2, 0, GEMEM_PLOT_LEGEND - page->lift, page);
  gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - head, foot, page);
  gemem_plot_script_guesses (out, group, "99 ");
  const gboolean log_time = append_axis (out, 'x', fastest, slowest, LOG_TIME, time,
                                         page->width - LEFT - RIGHT),
                 log_size = append_axis (out, 'y', least, most, LOG_SIZE, unit, PANEL);
  g_string_append_printf (
      out,
      "unset mxtics\nunset mytics\n"
      "set xlabel '%s (%s%s)' offset 0,0.4\n"
      "set ylabel 'peak reserved (%s%s)'\n"
      "plot data index 1 using ($1/%s):($2/unit) with points pt 7 ps 0.8 lc rgb '#999999' "
      "notitle, \\\n  data index 0 using ($1/%s):($2/unit) with steps lw 1.5 lc rgb "
      "'" GEMEM_COLOUR_LIVE "' notitle, \\\n"
      "  data index 0 using ($1/%s):($2/unit) with points pt 7 ps 1 lc rgb '" GEMEM_COLOUR_LIVE
      "' notitle, \\\n"
      "  data index 0 using ($1/%s):($2/unit):($3 > 0 && $3 <= %u ? stringcolumn(3) : '') with "
      "labels right offset -0.5,-0.6 notitle, \\\n"
      "  data index 1 using ($1/%s):($2/unit):($3 > 0 ? stringcolumn(3) : '') with labels right "
      "offset -0.5,-0.6 tc rgb '#666666' notitle\n",
      page->slim ? "modelled time" : "modelled time in the allocator and its device calls",
      time->name, log_time ? ", logarithmic" : "", unit->name, log_size ? ", logarithmic" : "",
      time->divisor, time->divisor, time->divisor, time->divisor, rows, time->divisor);
  gemem_plot_script_end (out);
}
