/* sweep.c - a search over the settings of one allocator: a curve where one setting differs, a heat
 * map where two do.  Where more differ, a curve of each setting with the others as the result has them
 * that needs least, and the heat map of the two between which it matters most.
 *
 * Why: a list of settings does not show whether more is better, where it stops to be, and whether
 * two settings depend on each other.  Values stand at equal distances, since they mostly double;
 * numbers in their order, others as given.  The colour is peak reserved: the darker, the more; the
 * number stands in the cell.  Where requests failed there is a cross, and no number.
 *
 * Data: a row per result: its positions, peak reserved, failed requests, text.
 */
#include "config.h"

#include <string.h>

#include "base/params.h"
#include "base/units.h"
#include "sim/plots/plots-private.h"

#define LEAST 3 /* results */
#define MOST 16 /* values of a setting: more are not legible */
#define PANEL 300
#define CELL 44
#define LEFT 84
#define RIGHT 24
#define HEAD 64
#define FOOT 78
#define FAILED_LOOK "pt 2 ps 1.2 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM "'"

/* A setting that differs, and its values. */
typedef struct
{
  const char *key;
  GPtrArray *values; /* const char *, in the order of the axis */
} Axis;

typedef struct
{
  Axis axes[2];
  guint n;             /* axes; 0: it is no search of one or two settings */
  guint64 least, most; /* peak reserved of what served everything; 0: nothing did */
} Sweep;

static void
clear_sweep (Sweep *sweep)
{
  for (guint i = 0; i < 2; i++)
    g_clear_pointer (&sweep->axes[i].values, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Sweep, clear_sweep)

/* The capacity of the device; NULL: unknown.  What else differs between devices follows from the
 * runs. */
static const GememSetting *
capacity (const GememResult *result)
{
  const GPtrArray *settings = result->device_settings;
  guint i = 0;

  while (settings != NULL && i < settings->len
         && strcmp (((const GememSetting *) settings->pdata[i])->key, "capacity") != 0)
    i++;
  return settings != NULL && i < settings->len ? settings->pdata[i] : NULL;
}

/* Setting @i: those of the allocator, then the capacity; NULL: there are no more. */
static const GememSetting *
setting (const GememResult *result, guint i)
{
  const guint own = result->parameters != NULL ? result->parameters->len : 0;

  return i < own ? result->parameters->pdata[i] : i == own ? capacity (result) : NULL;
}

static const char *
value_text (const GememSetting *one)
{
  return one->value != NULL ? one->value : "";
}

/* A number for a value: "32MiB", "0.5"; FALSE: it is none. */
static gboolean
number_of (const char *text, double *number)
{
  guint64 bytes;

  if (gemem_parse_double (text, number, NULL))
    return TRUE;
  if (!gemem_parse_size (text, 1, 0, &bytes, NULL))
    return FALSE;
  *number = (double) bytes;
  return TRUE;
}

static int
compare_values (gconstpointer a, gconstpointer b)
{
  const char *one = *(const char *const *) a, *two = *(const char *const *) b;
  double x, y;

  if (!number_of (one, &x) || !number_of (two, &y))
    return 0;
  return (x > y) - (x < y);
}

static guint
position (const Axis *axis, const char *value)
{
  guint i = 0;
  while (i < axis->values->len && strcmp (axis->values->pdata[i], value) != 0)
    i++;
  return i;
}

/* The values of setting @i in @group, each once. */
static GPtrArray *
values_of (const GememPlotGroup *group, guint i)
{
  Axis axis = { NULL, g_ptr_array_new () };
  gboolean numbers = TRUE;

  for (guint r = 0; r < group->all->len; r++)
    {
      const char *value = value_text (setting (group->all->pdata[r], i));
      double number;
      if (position (&axis, value) < axis.values->len)
        continue;
      g_ptr_array_add (axis.values, (gpointer) value);
      numbers = numbers && number_of (value, &number);
    }
  if (numbers)
    g_ptr_array_sort (axis.values, compare_values);
  return axis.values;
}

static gboolean
same_settings (const GememPlotGroup *group)
{
  const GememResult *first = group->all->pdata[0];
  gboolean same = TRUE;

  for (guint r = 1; r < group->all->len && same; r++)
    {
      const GememResult *other = group->all->pdata[r];
      guint i = 0;
      same = g_strcmp0 (first->allocator, other->allocator) == 0;
      for (; same && setting (first, i) != NULL; i++)
        same = setting (other, i) != NULL
               && strcmp (setting (first, i)->key, setting (other, i)->key) == 0;
      same = same && setting (other, i) == NULL;
    }
  return same;
}

static void
find_range (Sweep *sweep, const GememPlotGroup *group)
{
  sweep->least = G_MAXUINT64;
  for (guint r = 0; r < group->all->len; r++)
    {
      const GememResult *result = group->all->pdata[r];
      if (gemem_plot_failed (result) > 0)
        continue;
      sweep->least = MIN (sweep->least, result->peak_reserved);
      sweep->most = MAX (sweep->most, result->peak_reserved);
    }
}

static void
find_sweep (Sweep *sweep, const GememPlotGroup *group)
{
  *sweep = (Sweep){ 0 };
  if (group->all->len < LEAST || !same_settings (group))
    return;
  for (guint i = 0; setting (group->all->pdata[0], i) != NULL; i++)
    {
      g_autoptr (GPtrArray) values = values_of (group, i);
      if (values->len < 2)
        continue;
      if (sweep->n == 2 || values->len > MOST)
        {
          clear_sweep (sweep);
          *sweep = (Sweep){ 0 };
          return;
        }
      sweep->axes[sweep->n++] = (Axis){ setting (group->all->pdata[0], i)->key,
                                        g_steal_pointer (&values) };
    }
  find_range (sweep, group);
}

/* Whether a picture of @sweep says something; @whole: and every pair of values is there. */
static gboolean
is_shown (const Sweep *sweep, const GememPlotGroup *group, gboolean whole)
{
  return sweep->n > 0 && sweep->most > 0
         && (!whole
             || sweep->axes[0].values->len * (sweep->n > 1 ? sweep->axes[1].values->len : 1)
                    == group->all->len);
}

/* ---- parts of a search over many settings */

/* The one that needs least; NULL: all failed. */
static const GememResult *
best_of (const GememPlotGroup *group)
{
  const GememResult *best = NULL;

  for (guint r = 0; r < group->all->len; r++)
    {
      const GememResult *result = group->all->pdata[r];
      if (gemem_plot_failed (result) == 0
          && (best == NULL || result->peak_reserved < best->peak_reserved
              || (result->peak_reserved == best->peak_reserved && result->as_now)))
        best = result;
    }
  return best;
}

/* Whether @result has all settings of @best but those at @x and @y. */
static gboolean
is_near (const GememResult *result, const GememResult *best, guint x, guint y)
{
  for (guint i = 0; setting (best, i) != NULL; i++)
    if (i != x && i != y
        && strcmp (value_text (setting (result, i)), value_text (setting (best, i))) != 0)
      return FALSE;
  return TRUE;
}

/* Those that differ from @best in settings @x and @y alone. */
static GememPlotGroup *
part_of (const GememPlotGroup *group, const GememResult *best, guint x, guint y)
{
  g_autoptr (GPtrArray) results = g_ptr_array_new ();
  g_autoptr (GString) slug = g_string_new (group->slug);
  g_autofree char *title = g_strdup_printf ("%s, other settings as in the best", group->title);

  for (guint r = 0; r < group->all->len; r++)
    if (is_near (group->all->pdata[r], best, x, y))
      g_ptr_array_add (results, group->all->pdata[r]);
  g_string_append_printf (slug, "-%s", setting (best, x)->key);
  if (y != x)
    g_string_append_printf (slug, "-%s", setting (best, y)->key);
  return gemem_plot_group_part (title, slug->str, results);
}

/* The settings that differ (guint), with few enough values for an axis. */
static GArray *
settings_that_differ (const GememPlotGroup *group)
{
  GArray *differ = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; setting (group->all->pdata[0], i) != NULL; i++)
    {
      g_autoptr (GPtrArray) values = values_of (group, i);
      if (values->len > 1 && values->len <= MOST)
        g_array_append_val (differ, i);
    }
  return differ;
}

/* Adds the part of settings @x and @y to @parts if its picture shows a difference; returns how much it differs. */
static guint64
add_part (GPtrArray *parts, const GememPlotGroup *group, const GememResult *best, guint x, guint y)
{
  GememPlotGroup *part = part_of (group, best, x, y);
  g_auto (Sweep) sweep;
  guint64 range;

  find_sweep (&sweep, part);
  range = is_shown (&sweep, part, FALSE) && sweep.n == (x == y ? 1 : 2) ? sweep.most - sweep.least
                                                                        : 0;
  if (range > 0)
    g_ptr_array_add (parts, part);
  else
    gemem_plot_group_free (part);
  return range;
}

/* Curves, and the heat map with the largest difference. */
static void
add_parts (GPtrArray *parts, const GememPlotGroup *group)
{
  const GememResult *best = best_of (group);
  g_autoptr (GArray) differ = settings_that_differ (group);
  g_autoptr (GPtrArray) maps = g_ptr_array_new_with_free_func (gemem_plot_group_free);
  guint64 most = 0;

  for (guint i = 0; best != NULL && i < differ->len; i++)
    {
      add_part (parts, group, best, g_array_index (differ, guint, i),
                g_array_index (differ, guint, i));
      for (guint j = i + 1; j < differ->len; j++)
        {
          const guint64 range = add_part (maps, group, best, g_array_index (differ, guint, i),
                                          g_array_index (differ, guint, j));
          if (range <= most && range > 0)
            g_ptr_array_set_size (maps, maps->len - 1);
          else if (range > 0 && maps->len > 1)
            g_ptr_array_remove_index (maps, 0);
          most = MAX (most, range);
        }
    }
  if (maps->len > 0)
    g_ptr_array_add (parts, g_ptr_array_steal_index (maps, 0));
}

GPtrArray *
gemem_plot_sweeps (const GememPlotGroup *group)
{
  GPtrArray *sweeps = g_ptr_array_new_with_free_func (gemem_plot_group_free);
  g_auto (Sweep) sweep;

  find_sweep (&sweep, group);
  if (is_shown (&sweep, group, TRUE))
    {
      GememPlotGroup *whole = gemem_plot_group_part (group->title, group->slug, group->all);
      g_ptr_array_add (sweeps, whole);
    }
  else if (sweep.n == 0 && group->all->len >= LEAST && same_settings (group))
    add_parts (sweeps, group);
  return sweeps;
}

/* ---- data */

static const char *
value_of (const GememResult *result, const char *key)
{
  for (guint i = 0; setting (result, i) != NULL; i++)
    if (strcmp (setting (result, i)->key, key) == 0)
      return value_text (setting (result, i));
  return "";
}

/* Rows in the order of the axes, so that a curve is one. */
void
gemem_plot_sweep_data (GString *out, const GememPlotGroup *group)
{
  g_auto (Sweep) sweep;

  find_sweep (&sweep, group);
  g_string_append (out,
                   "# peak reserved, bytes\n# x y peak_reserved failed lower_bound text label\n");
  for (guint x = 0; x < sweep.axes[0].values->len; x++)
    for (guint r = 0; r < group->all->len; r++)
      {
        const GememResult *result = group->all->pdata[r];
        char size[GEMEM_FORMAT_MAX];
        if (position (&sweep.axes[0], value_of (result, sweep.axes[0].key)) != x)
          continue;
        g_string_append_printf (
            out, "%u %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, x,
            sweep.n > 1 ? position (&sweep.axes[1], value_of (result, sweep.axes[1].key)) : 0,
            result->peak_reserved, gemem_plot_failed (result), result->lower_bound);
        gemem_plot_append_text (out, gemem_format_size (size, result->peak_reserved));
        gemem_plot_append_text (out, result->label);
        g_string_append_c (out, '\n');
      }
}

/* ---- script */

static void
append_tics (GString *out, char letter, const Axis *axis, guint max)
{
  g_string_append_printf (out, "set %ctics scale 0 ", letter);
  g_string_append (out,
                   letter == 'x' && axis->values->len > 6 ? "rotate by 25 right (" : "norotate (");
  for (guint i = 0; i < axis->values->len; i++)
    {
      const char *value = axis->values->pdata[i];
      g_string_append (out, i > 0 ? ", " : "");
      gemem_plot_append_label (out, *value != '\0' ? value : "''", max, TRUE);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append_printf (out, ")\nset %crange [-0.5:%u.5]\nset %clabel ", letter,
                          axis->values->len - 1, letter);
  gemem_plot_append_label (out, axis->key, 0, FALSE);
  g_string_append (out, letter == 'x' ? " offset 0,0.4\n" : "\n");
}

static void
append_curve (GString *out, const Sweep *sweep)
{
  const GememPlotUnit *unit = gemem_plot_size_unit (sweep->most);

  append_tics (out, 'x', &sweep->axes[0], 14);
  g_string_append_printf (out,
                          "unit = %s\ntop = %" G_GUINT64_FORMAT
                          "/unit*1.12\nset yrange [0:top]\nset ylabel 'peak reserved (%s)'\n",
                          unit->divisor, sweep->most, unit->name);
  gemem_plot_script_tics (out, 'y', PANEL, "top");
  g_string_append (
      out,
      "plot data using 1:($4 > 0 ? NaN : $5/unit) with lines dt 2 lw 1.5 lc rgb "
      "'" GEMEM_COLOUR_GOOD "' notitle, \\\n"
      "  data using 1:($4 > 0 ? NaN : $3/unit) with linespoints pt 7 ps 0.9 lw 2 lc rgb "
      "'" GEMEM_COLOUR_LIVE "' notitle, \\\n"
      "  data using 1:($4 > 0 ? NaN : $3/unit):(sprintf('%.3g', $3/unit)) with labels offset 0,0.9 "
      "notitle, \\\n"
      "  data using 1:($4 > 0 ? top*0.04 : NaN) with points " FAILED_LOOK " notitle\n");
}

static void
append_heat_map (GString *out, const Sweep *sweep)
{
  append_tics (out, 'x', &sweep->axes[0], 14);
  append_tics (out, 'y', &sweep->axes[1], 10);
  g_string_append_printf (out,
                          "unset grid\nunset colorbox\nset palette defined (0 '#f4f9fd', 1 "
                          "'#56b4e9')\nset cbrange [%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "]\n",
                          sweep->least, MAX (sweep->most, sweep->least + 1));
  g_string_append (
      out, "plot data using 1:($4 > 0 ? NaN : $2):($1-0.48):($1+0.48):($2-0.46):($2+0.46):3 with "
           "boxxyerror fs solid 1.0 noborder lc palette notitle, \\\n"
           "  data using 1:($4 > 0 ? NaN : $2):(t(stringcolumn(6))) with labels notitle, \\\n"
           "  data using 1:($4 > 0 ? $2 : NaN) with points " FAILED_LOOK " notitle\n");
}

static guint
append_legend (GString *out, const Sweep *sweep, const GememPlotGroup *group,
               const GememPlotPage *page)
{
  static const GememPlotKey bound = { GEMEM_PLOT_LINE, "dt 2 lw 1.5 lc rgb '" GEMEM_COLOUR_GOOD "'",
                                      "lower bound" };
  const GememPlotKey failed = { GEMEM_PLOT_POINT, FAILED_LOOK, gemem_plot_failures_text (group) };
  GememPlotKey keys[2];
  guint n = 0;

  if (sweep->n == 1)
    keys[n++] = bound;
  if (gemem_plot_has_failures (group))
    keys[n++] = failed;
  return gemem_plot_script_legend (out, keys, n, 0, GEMEM_PLOT_LEGEND - page->lift, page);
}

void
gemem_plot_sweep_script (GString *out, const GememPlotGroup *group, GememPlotPage *page,
                         const char *base)
{
  g_auto (Sweep) sweep;

  find_sweep (&sweep, group);
  if (sweep.n == 0)
    return;
  const guint head = HEAD - page->lift
                     + GEMEM_PLOT_LEGEND_ROW * append_legend (NULL, &sweep, group, page),
              panel = sweep.n == 1 ? PANEL : CELL * MAX (sweep.axes[1].values->len, 3),
              left = sweep.n == 1 ? LEFT : LEFT + 60;
  g_autofree char *what = g_strdup_printf ("peak reserved of %s",
                                           ((const GememResult *) group->all->pdata[0])->allocator);
  const GememPlotGroup whole = { .title = group->title };

  page->height = head + panel + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append (out, "set multiplot\n");
  gemem_plot_script_title (out, &whole, what, page);
  append_legend (out, &sweep, group, page);
  gemem_plot_script_margins (out, left, page->width - RIGHT, page->height - head, FOOT, page);
  if (sweep.n == 1)
    append_curve (out, &sweep);
  else
    append_heat_map (out, &sweep);
  gemem_plot_script_end (out);
}
