/* programs.c - programs: what each program holds of the device they share, stacked over time; a
 * panel per combination of allocators.
 *
 * Each program has a colour: dark what is live, light what it holds beyond that.  The outline is
 * what all hold; a line up from it is a peak between two points, so that none is lost.
 *
 * Data: a block per result; after the number of the event and its time two columns per program,
 * live and reserved, and the most that all held since the row before.
 */
#include "config.h"

#include "base/units.h"
#include "sim/plots/plots-private.h"
#include "sim/report/rows.h"

#define U "%" G_GUINT64_FORMAT
#define HEAD 84
#define LEGEND_ROW 22
#define FOOT 64
#define GAP 56
#define PANEL 260
#define LEFT 84
#define RIGHT 26
#define PANELS_MAX 8
#define POINTS_MAX 1000
#define OUTLINE "lw 1.2 lc rgb '" GEMEM_COLOUR_INK "'"

/* Dark and light, for programs in turn. */
static const struct
{
  const char *live, *held;
} colours[] = { { "rgb '#0072b2'", "rgb '#9fcbe3'" }, { "rgb '#009e73'", "rgb '#9fdccb'" },
                { "rgb '#cc79a7'", "rgb '#ecccde'" }, { "rgb '#e69f00'", "rgb '#f6dca6'" },
                { "rgb '#666666'", "rgb '#cccccc'" }, { "rgb '#56b4e9'", "rgb '#c4e3f7'" } };

static gboolean
is_drawn (const GememResult *result)
{
  if (result->programs == NULL || !gemem_plot_has_timeline (result))
    return FALSE;
  for (guint p = 0; p < result->programs->len; p++)
    if (((const GememResult *) result->programs->pdata[p])->timeline->len != result->timeline->len)
      return FALSE;
  return TRUE;
}

/* The results that get a panel: the first ones of @group. */
static GPtrArray *
drawn (const GememPlotGroup *group)
{
  GPtrArray *results = g_ptr_array_new ();

  for (guint i = 0; i < group->results->len && results->len < PANELS_MAX; i++)
    if (is_drawn (group->results->pdata[i]))
      g_ptr_array_add (results, group->results->pdata[i]);
  return results;
}

gboolean
gemem_plot_has_programs (const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) results = drawn (group);

  return results->len > 0;
}

/* ---- data */

static const GememTimelinePoint *
point_of (const GememResult *result, guint i)
{
  return &g_array_index (result->timeline, GememTimelinePoint, i);
}

static void
append_rows (GString *out, const GememResult *result)
{
  const guint n = result->timeline->len, stride = (n + POINTS_MAX - 1) / POINTS_MAX;

  for (guint i = 0; i < n; i += stride)
    {
      const guint last = MIN (i + stride, n) - 1;
      guint64 most = 0;
      for (guint j = i; j <= last; j++)
        most = MAX (most, point_of (result, j)->reserved_max);
      g_string_append_printf (out, U " " U, point_of (result, last)->seq,
                              point_of (result, last)->time);
      for (guint p = 0; p < result->programs->len; p++)
        {
          const GememTimelinePoint *point = point_of (result->programs->pdata[p], last);
          g_string_append_printf (out, " " U " " U, point->live, point->reserved);
        }
      g_string_append_printf (out, " " U "\n", most);
    }
}

void
gemem_plot_programs_data (GString *out, const GememPlotGroup *group)
{
  g_autoptr (GPtrArray) results = drawn (group);

  g_string_append (out, "# bytes after the event, and the most that all held since the row before; "
                        "time in ns\n# event time, live and reserved of each program, together\n");
  for (guint i = 0; i < results->len; i++)
    {
      const GememResult *result = results->pdata[i];
      g_autofree char *before = g_strdup_printf ("index %u: ", i);
      g_string_append (out, i > 0 ? "\n\n" : "");
      gemem_plot_append_comment (out, before, result->label);
      append_rows (out, result);
    }
}

/* ---- script */

typedef struct
{
  GPtrArray *results;
  GememPlotAxis axis;
  guint64 top, capacity; /* capacity: 0 if it is far above everything */
  const GememPlotUnit *unit;
  const GememPlotPage *page;
  guint head;
} ProgramsLayout;

/* "($4+$6)/unit": what the first @n programs hold, and of program @n, unless it is
 * G_MAXUINT, what is live. */
static void
append_sum (GString *out, guint n, gboolean live)
{
  g_string_append (out, "((0");
  for (guint p = 0; p < n; p++)
    g_string_append_printf (out, "+$%u", 4 + 2 * p);
  if (live)
    g_string_append_printf (out, "+$%u", 3 + 2 * n);
  g_string_append (out, ")/unit)");
}

static void
append_curves (GString *out, const ProgramsLayout *layout, guint i, const GememResult *result)
{
  const guint n = result->programs->len, x = 1 + layout->axis.time;
  const guint failures = gemem_plot_append_failures (out, result, layout->axis.time);

  g_string_append (out, "plot ");
  for (guint p = n; p-- > 0;)
    {
      const guint colour = p % G_N_ELEMENTS (colours);
      g_string_append_printf (out, "data index %u using (x($%u)):", i, x);
      append_sum (out, p + 1, FALSE);
      g_string_append_printf (out, " with fillsteps lc %s notitle, \\\n  ", colours[colour].held);
      g_string_append_printf (out, "data index %u using (x($%u)):", i, x);
      append_sum (out, p, TRUE);
      g_string_append_printf (out, " with fillsteps lc %s notitle, \\\n  ", colours[colour].live);
    }
  g_string_append_printf (out, "data index %u using (x($%u)):", i, x);
  append_sum (out, n, FALSE);
  g_string_append_printf (
      out, " with steps " OUTLINE " notitle, \\\n  data index %u using (x($%u)):", i, x);
  append_sum (out, n, FALSE);
  g_string_append_printf (out, ":(0):($%u/unit-", 3 + 2 * n);
  append_sum (out, n, FALSE);
  g_string_append (out, ") with vectors nohead " OUTLINE " notitle");
  if (layout->capacity > 0)
    g_string_append_printf (
        out, ", \\\n  " U "/unit with lines dt 4 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM "' notitle",
        layout->capacity);
  if (failures > 0)
    g_string_append (out,
                     ", \\\n  for [at in failures] '+' every ::::0 using (x(real(at))):(top) with "
                     "points pt 11 ps 1.2 lc rgb '" GEMEM_COLOUR_ALARM "' notitle");
  g_string_append_c (out, '\n');
}

static void
append_panel (GString *out, const ProgramsLayout *layout, guint i, const GememResult *result)
{
  const guint top = layout->page->height - layout->head - i * (PANEL + GAP),
              right = layout->page->width - RIGHT;
  char text[GEMEM_FORMAT_MAX];
  g_autofree char *failed = gemem_plot_failed_text (result);

  gemem_plot_script_margins (out, LEFT, right, top, top - PANEL, layout->page);
  g_string_append (out, "set title ");
  gemem_plot_append_label (out, result->label, (right - LEFT) / GEMEM_PLOT_CHARACTER, FALSE);
  g_string_append_printf (out, ".\"\\n\".'together at most %s%s' offset 0,-0.7\n",
                          gemem_format_size (text, result->peak_reserved), failed);
  gemem_plot_axis_script (out, &layout->axis, right - LEFT);
  g_string_append_printf (out, "top = " U "/unit*1.06\nset yrange [0:top]\n", layout->top);
  if (i + 1 < layout->results->len)
    g_string_append (out, "set xlabel ''\nset format x ''\n");
  else
    g_string_append_printf (out, "set xlabel '%s' offset 0,0.4\nset format x '%%g'\n",
                            layout->axis.title);
  append_curves (out, layout, i, result);
  g_string_append (out, i == 0 ? GEMEM_PLOT_UNSET : "");
}

/* A line for each program of the first result, then one for what is not of a program; returns the
 * number of lines.  @out: NULL to count only. */
static guint
append_legend (GString *out, const ProgramsLayout *layout)
{
  const guint top = HEAD - 38 - layout->page->lift;
  static const GememPlotKey others[] = {
    { GEMEM_PLOT_LINE, OUTLINE, "reserved together" },
    { GEMEM_PLOT_LINE, "dt 4 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM "'", "capacity" },
    { GEMEM_PLOT_POINT, "pt 11 ps 1.2 lc rgb '" GEMEM_COLOUR_ALARM "'", "failed request" },
  };
  const GememResult *first = layout->results->pdata[0];
  const guint n = first->programs->len;
  guint lines = 0;

  for (guint p = 0; p < n; p++)
    {
      g_autofree char *title = gemem_report_title (first->programs->pdata[p]);
      g_autofree char *name = gemem_plot_shorten (title, MIN (60, layout->page->width / 12));
      g_autofree char *live = g_strdup_printf ("%s, live", name);
      const guint colour = p % G_N_ELEMENTS (colours);
      const GememPlotKey keys[] = { { GEMEM_PLOT_BOX, colours[colour].live, live },
                                    { GEMEM_PLOT_BOX, colours[colour].held, "held beyond that" } };
      lines += gemem_plot_script_legend (out, keys, 2, LEFT, top + lines * LEGEND_ROW,
                                         layout->page);
    }
  return lines
         + gemem_plot_script_legend (out, others, G_N_ELEMENTS (others), LEFT,
                                     top + lines * LEGEND_ROW, layout->page);
}

static void
lay_out (ProgramsLayout *layout, const GememPlotGroup *group, GememPlotPage *page)
{
  *layout = (ProgramsLayout){ .results = drawn (group), .page = page };
  gemem_plot_axis_init (&layout->axis, group, TRUE); /* programs meet in time */
  for (guint i = 0; i < layout->results->len; i++)
    {
      const GememResult *result = layout->results->pdata[i];
      layout->top = MAX (layout->top, result->peak_reserved);
    }
  for (guint i = 0; i < layout->results->len; i++)
    {
      const GememResult *result = layout->results->pdata[i];
      if (result->capacity <= layout->top + layout->top / 2)
        layout->capacity = MAX (layout->capacity, result->capacity);
    }
  layout->top = MAX (MAX (layout->top, layout->capacity), 1);
  layout->unit = gemem_plot_size_unit (layout->top);
  layout->head = HEAD - page->lift + LEGEND_ROW * append_legend (NULL, layout);
  page->height = layout->head + FOOT + layout->results->len * (PANEL + GAP) - GAP;
}

/* What the picture shows; says so where results are left out. */
static char *
title_of (const GememPlotGroup *group, guint shown)
{
  guint all = 0;

  for (guint i = 0; i < group->results->len; i++)
    all += is_drawn (group->results->pdata[i]);
  return all > shown
             ? g_strdup_printf ("programs on one device, the first %u of %u runs", shown, all)
             : g_strdup ("programs on one device");
}

void
gemem_plot_programs_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                            const char *base)
{
  ProgramsLayout layout;

  if (!gemem_plot_has_programs (group))
    return;
  lay_out (&layout, group, page);
  gemem_plot_script_begin (out, base, page);
  g_string_append_printf (out, "unit = %s\nset ylabel 'memory (%s)'\nset multiplot\n",
                          layout.unit->divisor, layout.unit->name);
  g_autofree char *title = title_of (group, layout.results->len);
  gemem_plot_script_title (out, group, title, page);
  append_legend (out, &layout);
  for (guint i = 0; i < layout.results->len; i++)
    append_panel (out, &layout, i, layout.results->pdata[i]);
  gemem_plot_script_end (out);
  gemem_plot_axis_clear (&layout.axis);
  g_ptr_array_unref (layout.results);
}
