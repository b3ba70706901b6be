/* overall.c - several recordings in one figure: a cluster of bars for each, a bar for each
 * allocator, and their geometric means.
 *
 * Why: which allocator is the best for a set of programs is not seen in a picture of each.  Bytes
 * of different programs do not add up, so the overhead is drawn: peak reserved divided by the lower
 * bound, from 1 on, since below that there is nothing to gain.
 *
 * Invariants: the allocators are those of the table of all recordings, the best first, with what
 * the program has now; a colour is an allocator; one that failed on a recording has a mark there
 * instead of a bar, and no mean. Data: a block per allocator.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "sim/plots/plots-private.h"
#include "sim/report/arrange.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"
#include "sim/report/standings.h"

#define MOST 6     /* allocators */
#define ALIKE 1e-4 /* overheads that no picture tells apart */
#define PANEL 260
#define FOOT 96 /* px: names of the recordings stand askew */
#define LEFT 76
#define RIGHT 16
#define FAILED "pt 2 ps 0.9 lw 1.5 lc rgb '" GEMEM_COLOUR_ALARM "'"

static const char *const colours[MOST] = { "#0072b2", "#e69f00", "#009e73",
                                           "#cc79a7", "#56b4e9", "#222222" };

typedef struct
{
  char *label;
  gboolean now;
  double *overheads; /* by recording; 0: it failed there */
  double mean;       /* 0: it failed somewhere */
} OverallRow;

struct _GememPlotOverall
{
  GPtrArray *names; /* char *, of the recordings */
  GPtrArray *rows;  /* OverallRow */
  guint more;
};

static void
free_row (gpointer data)
{
  OverallRow *row = data;
  g_free (row->label);
  g_free (row->overheads);
  g_free (row);
}

void
gemem_plot_overall_free (GememPlotOverall *overall)
{
  g_ptr_array_unref (overall->names);
  g_ptr_array_unref (overall->rows);
  g_free (overall);
}

static OverallRow *
make_row (const GememStanding *standing, GememResult *const *results, guint n, guint recordings)
{
  OverallRow *row = g_new0 (OverallRow, 1);
  guint at = 0;

  row->label = g_strdup (standing->label);
  row->overheads = g_new0 (double, recordings);
  row->mean = standing->served == recordings ? gemem_standing_mean (standing) : 0;
  for (guint start = 0, end; start < n; start = end, at++)
    {
      end = gemem_report_group_end (results, n, start);
      for (guint i = start; i < end; i++)
        if (strcmp (results[i]->label, standing->label) == 0)
          {
            row->now = row->now || results[i]->as_now;
            if (gemem_result_is_complete (results[i]))
              row->overheads[at] = gemem_result_overhead (results[i]);
          }
    }
  return row;
}

static gboolean
look_alike (const OverallRow *a, const OverallRow *b, guint recordings)
{
  guint r = 0;
  while (r < recordings && fabs (a->overheads[r] - b->overheads[r]) < ALIKE)
    r++;
  return r == recordings;
}

/* The row of @overall whose bars are as long everywhere, or NULL. */
static OverallRow *
find_equal (const GememPlotOverall *overall, const OverallRow *row)
{
  for (guint i = 0; i < overall->rows->len; i++)
    if (look_alike (overall->rows->pdata[i], row, overall->names->len))
      return overall->rows->pdata[i];
  return NULL;
}

static void
take_row (GememPlotOverall *overall, OverallRow *row)
{
  OverallRow *equal = find_equal (overall, row);

  if (equal == NULL)
    {
      g_ptr_array_add (overall->rows, row);
      return;
    }
  char *both = g_strdup_printf ("%s = %s", equal->label, row->label);
  g_free (equal->label);
  equal->label = both;
  equal->now = equal->now || row->now;
  free_row (row);
}

/* Keeps the first rows, and those that a program has now. */
static void
keep_most (GememPlotOverall *overall)
{
  for (guint i = overall->rows->len; i-- > 0 && overall->rows->len > MOST;)
    if (!((const OverallRow *) overall->rows->pdata[i])->now)
      {
        g_ptr_array_remove_index (overall->rows, i);
        overall->more++;
      }
  while (overall->rows->len > MOST)
    {
      g_ptr_array_remove_index (overall->rows, overall->rows->len - 1);
      overall->more++;
    }
}

GememPlotOverall *
gemem_plot_overall_new (GememResult *const *results, guint n)
{
  guint recordings;
  g_autoptr (GArray) standings = gemem_report_standings (results, n, &recordings);

  if (standings == NULL)
    return NULL;
  GememPlotOverall *overall = g_new0 (GememPlotOverall, 1);
  overall->names = g_ptr_array_new_with_free_func (g_free);
  overall->rows = g_ptr_array_new_with_free_func (free_row);
  for (guint start = 0; start < n; start = gemem_report_group_end (results, n, start))
    g_ptr_array_add (overall->names, gemem_plot_slug (results[start]->trace));
  for (guint i = 0; i < standings->len; i++)
    take_row (overall,
              make_row (&g_array_index (standings, GememStanding, i), results, n, recordings));
  keep_most (overall);
  return overall;
}

/* ---- data */

static void
append_value (GString *out, guint at, double value, const char *name)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, "%u %s", at, g_ascii_formatd (text, sizeof text, "%.6f", value));
  gemem_plot_append_text (out, name);
  g_string_append_c (out, '\n');
}

void
gemem_plot_overall_data (GString *out, const GememPlotOverall *overall)
{
  g_string_append (out, "# peak reserved / lower bound; 0: requests failed\n"
                        "# cluster overhead recording\n");
  for (guint i = 0; i < overall->rows->len; i++)
    {
      const OverallRow *row = overall->rows->pdata[i];
      g_autofree char *before = g_strdup_printf ("index %u: ", i);

      g_string_append (out, i > 0 ? "\n\n" : "");
      gemem_plot_append_comment (out, before, row->label);
      for (guint r = 0; r < overall->names->len; r++)
        append_value (out, r, row->overheads[r], overall->names->pdata[r]);
      append_value (out, overall->names->len, row->mean, "geometric mean");
    }
}

/* ---- script */

/* The upper end of the axis: the largest value, unless it dwarfs at least half of them, being more
 * than GEMEM_PLOT_OUTLIER times as far above 1 as the next; *@broken: there are larger ones. */
static double
end_of_axis (const GememPlotOverall *overall, gboolean *broken)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  guint end = 0;

  for (guint i = 0; i < overall->rows->len; i++)
    g_array_append_vals (values, ((const OverallRow *) overall->rows->pdata[i])->overheads,
                         overall->names->len);
  g_array_sort (values, gemem_compare_double);
  const double *sorted = (const double *) values->data;
  for (end = values->len / 2; end + 1 < values->len; end++)
    if (sorted[end] > 1 && sorted[end + 1] - 1 > GEMEM_PLOT_OUTLIER * MAX (sorted[end] - 1, 0.01))
      break;
  *broken = end + 1 < values->len;
  return MAX (sorted[end], 1.01);
}

static gboolean
some_failed (const GememPlotOverall *overall)
{
  gboolean failed = FALSE;
  for (guint i = 0; i < overall->rows->len; i++)
    failed = failed || !(((const OverallRow *) overall->rows->pdata[i])->mean > 0);
  return failed;
}

static guint
append_legend (GString *out, const GememPlotOverall *overall, const GememPlotPage *page)
{
  static const GememPlotKey failed = { GEMEM_PLOT_POINT, FAILED, "failed requests" };
  GememPlotKey keys[MOST + 1];
  char looks[MOST][16];
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < overall->rows->len; i++)
    {
      const OverallRow *row = overall->rows->pdata[i];
      g_autofree char *name = gemem_plot_shorten (
          row->label, MIN (GEMEM_PLOT_ROW_NAME_MAX, page->width / GEMEM_PLOT_CHARACTER - 14));
      g_ptr_array_add (texts, g_strconcat (name, row->now ? " (now)" : "", NULL));
      g_snprintf (looks[i], sizeof looks[i], "rgb '%s'", colours[i]);
      keys[i] = (GememPlotKey){ GEMEM_PLOT_BOX, looks[i], texts->pdata[i] };
    }
  keys[overall->rows->len] = failed;
  return gemem_plot_script_legend (out, keys, overall->rows->len + some_failed (overall), 0,
                                   GEMEM_PLOT_LEGEND - page->lift, page);
}

static void
append_axes (GString *out, const GememPlotOverall *overall, const GememPlotPage *page, double end)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (out, "end = %s\nset yrange [1:1+(end-1)*1.16]\n",
                          g_ascii_formatd (text, sizeof text, "%.6f", end));
  g_string_append (out, "set grid noxtics ytics\nset ylabel 'peak reserved / lower bound'\n");
  gemem_plot_script_tics (out, 'y', PANEL, "(end-1)*1.16");
  g_string_append_printf (out, "set xrange [-0.6:%u.6]\nset xtics scale 0 rotate by 25 right (",
                          overall->names->len);
  for (guint r = 0; r <= overall->names->len; r++)
    {
      g_string_append (out, r > 0 ? ", " : "");
      gemem_plot_append_label (
          out, r < overall->names->len ? overall->names->pdata[r] : "geometric mean",
          page->slim ? 16 : 24, TRUE);
      g_string_append_printf (out, " %u", r);
    }
  g_string_append (out, ")\n");
  g_string_append_printf (out,
                          "set arrow from %u.5, graph 0 to %u.5, graph 1 nohead back dt 3 lc rgb "
                          "'#888888'\n",
                          overall->names->len - 1, overall->names->len - 1);
}

static void
append_plot (GString *out, const GememPlotOverall *overall, gboolean broken)
{
  const guint n = overall->rows->len;

  g_string_append_printf (out,
                          "wide = 0.84/%u\nat(cluster, i) = cluster-0.42+wide*(i+0.5)\n"
                          "cut(v) = v > end ? end*1.0 : v\nlean = wide*0.2\nplot ",
                          n);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (
        out,
        "%sdata index %u using "
        "(at($1,%u)):(1):(at($1,%u)-wide*0.45):(at($1,%u)+wide*0.45):(1):(cut("
        "$2 > 0 ? $2 : NaN)) with boxxyerror lc rgb '%s' notitle, \\\n"
        "  data index %u using (at($1,%u)):($2 > 0 ? NaN : 1+(end-1)*0.03) with points " FAILED
        " notitle",
        i > 0 ? ", \\\n  " : "", i, i, i, i, colours[i], i, i);
  for (guint i = 0; i < n && broken; i++)
    {
      for (guint edge = 0; edge < 2; edge++)
        g_string_append_printf (
            out,
            ", \\\n  data index %u using (at($1,%u)-wide*0.5):($2 > end ? "
            "1+(end-1)*(0.87+0.025*%u) "
            ": NaN):(wide):((end-1)*0.03) with vectors nohead lw 2.5 lc rgb '#ffffff' notitle",
            i, i, edge);
      g_string_append_printf (out,
                              ", \\\n  data index %u using (at($1,%u)):($2 > end ? end : "
                              "NaN):(sprintf('%%.2f', $2)) with "
                              "labels rotate by 90 left offset 0,0.4 font small notitle",
                              i, i);
    }
  g_string_append_c (out, '\n');
}

void
gemem_plot_overall_script (GString *out, const GememPlotOverall *overall, GememPlotPage *page,
                           const char *base)
{
  const GememPlotGroup all = { .title = (char *) "all recordings", .more = overall->more };
  gboolean broken;
  const double end = end_of_axis (overall, &broken);
  const guint head = gemem_plot_rows_head (page, append_legend (NULL, overall, page));

  page->height = head + PANEL + FOOT;
  gemem_plot_script_begin (out, base, page);
  g_string_append (out, "small = large eq '' ? '' : ',9'\nset multiplot\n");
  gemem_plot_script_title (out, &all, "memory against the lower bound", page);
  append_legend (out, overall, page);
  gemem_plot_script_margins (out, LEFT, page->width - RIGHT, page->height - head, FOOT, page);
  append_axes (out, overall, page, end);
  append_plot (out, overall, broken);
  gemem_plot_script_end (out);
}
