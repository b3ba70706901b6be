/* table.c - the comparison as aligned tables: a group of rows per trace, a few columns, or with
 * --verbose one per measure and per trace the device calls by kind; at the end, once, what holds for all
 * of it, and a sentence with the answer.
 *
 * Why two tables: a dozen kinds of calls, which show the cost of mapping, do not fit a terminal
 * beside the measures.  Columns are dropped by rank until the table fits, unless they were chosen;
 * a row is never wrapped.  A kind of call that no row makes has no column; without any call there
 * is no second table.  Rows that are equal share one; where all their names would cost a column,
 * the rest of the names stands below the tables.
 */
#include "config.h"

#include <string.h>

#include "base/compare.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/report/above-least.h"
#include "sim/report/arrange.h"
#include "sim/report/notes.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

#define MAX_COLUMNS 64
/* Without --verbose: a table that is not for a terminal, more rows than are read, those shown then. */
#define BRIEF_WIDTH 120
#define BRIEF_ROWS_MAX 40
#define BRIEF_ROWS 10

typedef struct
{
  GememTextColumn columns[MAX_COLUMNS]; /* one per GememMeasure */
  guint n;
  guint names;  /* characters of the names of a row that stands for several; 0: all of them */
  gsize label;  /* width of the first column */
  gboolean cut; /* some names are longer */
  gsize note;   /* width of the notes after rows */
} TableLayout;

typedef struct
{
  GememResult *const *results;
  guint n;
  GPtrArray *rows[GEMEM_TABLE_COUNT]; /* GememReportRow */
  guint hidden;                       /* rows left out */
} TableGroup;

/* ---- layout */

/* The columns of characters that a row may take; 0: any. */
static gsize
width_of (const GememReportOptions *options)
{
  if (options == NULL)
    return 0;
  return options->width > 0 || options->verbose ? options->width : BRIEF_WIDTH;
}

/* Width of the note after the row of @result, with the second space before it. */
static gsize
note_width (const GememResult *result)
{
  const char *note = gemem_report_row_note (result);
  return *note != '\0' ? strlen (note) + 1 : 0;
}

static gsize
characters (const char *text)
{
  return (gsize) g_utf8_strlen (text, -1);
}

static void
measure_rows (TableLayout *layout, const GPtrArray *rows)
{
  char text[GEMEM_MEASURE_TEXT];
  for (guint i = 0; i < rows->len; i++)
    {
      const GememReportRow *row = rows->pdata[i];
      g_autofree char *label = gemem_report_row_label (row, layout->names);
      layout->label = MAX (layout->label, characters (label));
      layout->note = MAX (layout->note, note_width (row->result));
      for (guint c = 0; c < layout->n; c++)
        layout->columns[c].width = MAX (
            layout->columns[c].width,
            strlen (gemem_measure_text (layout->columns[c].source, row->result, text)));
    }
}

/* The rank for dropping columns; 0 for measures that an option asked for (--find-capacity,
 * --measure, --columns), which are always shown. */
static int
importance (const GememMeasure *measure, const GememReportOptions *options)
{
  const int rank = measure->rank;
  if (options != NULL && options->columns != NULL)
    return 0;
  return rank >= GEMEM_RANK_CALLS ? rank - GEMEM_RANK_CALLS : rank > GEMEM_RANK_DETAIL ? 0 : rank;
}

/* Shortens the labels so that rows fit @width, but for a few characters. */
static void
cut_labels (TableLayout *layout, gsize width)
{
  const gsize least = 16;
  gsize others = layout->note;

  for (guint c = 0; c < layout->n; c++)
    others += 2 + layout->columns[c].width;
  const gsize most = MAX (least, width - MIN (width, others));
  layout->cut = layout->label > most;
  layout->label = MIN (layout->label, most);
}

/* The layout of @table with all names of a row, or with as many as fit @names characters. */
static TableLayout
lay_out (GememTable table, const GPtrArray *groups, const GPtrArray *columns, guint names,
         const GememReportOptions *options)
{
  TableLayout layout = { .names = names, .label = strlen (gemem_table_titles[table]) };
  for (guint c = 0; c < MIN (columns->len, MAX_COLUMNS); c++)
    {
      const GememMeasure *measure = columns->pdata[c];
      layout.columns[layout.n++] = (GememTextColumn){ measure, importance (measure, options),
                                                      strlen (measure->title) };
    }
  for (guint i = 0; i < groups->len; i++)
    measure_rows (&layout, ((const TableGroup *) groups->pdata[i])->rows[table]);
  layout.n = gemem_text_columns_fit (layout.columns, layout.n, layout.label + layout.note,
                                     (guint) width_of (options));
  if (gemem_report_is_brief (options))
    cut_labels (&layout, width_of (options));
  return layout;
}

static gboolean
fits (const TableLayout *layout, const GememReportOptions *options)
{
  gsize width = layout->label + layout->note;
  if (layout->cut)
    return FALSE;
  for (guint c = 0; c < layout->n; c++)
    width += 2 + layout->columns[c].width;
  return width_of (options) == 0 || width <= width_of (options);
}

/* The longest name of a single result, or what a few short names need. */
static guint
longest_name (GememResult *const *results, guint n)
{
  gsize longest = 24;
  for (guint i = 0; i < n; i++)
    longest = MAX (longest, characters (results[i]->label));
  return (guint) longest;
}

/* ---- parts */

static void
append_header (GString *out, GememTable table, const TableLayout *layout)
{
  g_string_append_printf (out, "%-*s", (int) layout->label, gemem_table_titles[table]);
  for (guint c = 0; c < layout->n; c++)
    g_string_append_printf (out, "  %*s", (int) layout->columns[c].width,
                            ((const GememMeasure *) layout->columns[c].source)->title);
  g_string_append_c (out, '\n');
}

static void
append_row (GString *out, const TableLayout *layout, const GememReportRow *row)
{
  char text[GEMEM_MEASURE_TEXT];
  g_autofree char *whole = gemem_report_row_label (row, layout->names);
  g_autofree char *label = gemem_text_cut (whole, (glong) layout->label);
  g_string_append_printf (out, "%s%*s", label, (int) (layout->label - characters (label)), "");
  for (guint c = 0; c < layout->n; c++)
    g_string_append_printf (out, "  %*s", (int) layout->columns[c].width,
                            gemem_measure_text (layout->columns[c].source, row->result, text));
  g_string_append_printf (out, "%*s", (int) note_width (row->result),
                          gemem_report_row_note (row->result));
  g_string_append_c (out, '\n');
}

/* How much a run says about the peak of live memory of its trace, most first: failed requests
 * reduce live memory, and a run that was cut short has not seen all requests. */
typedef enum
{
  PEAK_WHOLE,
  PEAK_CUT,
  PEAK_FAILED,
  PEAK_FAILED_CUT,
  PEAK_NONE
} PeakKnowledge;

static PeakKnowledge
peak_knowledge (const GememResult *result)
{
  const gboolean cut = result->partial || result->failure != NULL;
  if (result->not_run)
    return PEAK_NONE;
  return result->failed_allocs > 0 ? (cut ? PEAK_FAILED_CUT : PEAK_FAILED)
         : cut                     ? PEAK_CUT
                                   : PEAK_WHOLE;
}

/* The bytes that the trace of results[@of] requests at once: the lower bound with the finest
 * rounding of all allocators.  What stands behind the allocator in a label tells traces apart: how
 * a graph was lowered. */
static guint64
peak_requested (GememResult *const *results, guint n, guint of)
{
  const char *trace = strstr (results[of]->label, " (");
  guint64 least = results[of]->lower_bound;
  for (guint i = 0; i < n; i++)
    if (peak_knowledge (results[i]) == peak_knowledge (results[of])
        && g_strcmp0 (strstr (results[i]->label, " ("), trace) == 0)
      least = MIN (least, results[i]->lower_bound);
  return least;
}

/* "peak live 4 GiB", or a range: lowerings of a graph, and graphs that share memory, differ.  Where
 * no run served every request, what the trace requests at once, which no run had live. */
static void
append_peak_live (GString *out, GememResult *const *results, guint n)
{
  char text[GEMEM_FORMAT_MAX];
  guint64 least = G_MAXUINT64, most = 0;
  PeakKnowledge best = PEAK_NONE;

  for (guint i = 0; i < n; i++)
    best = MIN (best, peak_knowledge (results[i]));
  for (guint i = 0; i < n; i++)
    if (peak_knowledge (results[i]) == best)
      {
        const guint64 peak = best >= PEAK_FAILED ? peak_requested (results, n, i)
                                                 : results[i]->peak_live;
        least = MIN (least, peak);
        most = MAX (most, peak);
      }
  g_string_append_printf (out, "peak %s %s",
                          best == PEAK_FAILED       ? "requested"
                          : best == PEAK_FAILED_CUT ? "requested at least"
                                                    : "live",
                          gemem_format_size (text, least));
  if (most > least)
    g_string_append_printf (out, " to %s", gemem_format_size (text, most));
  if (best >= PEAK_FAILED)
    g_string_append (out, " (no run served every request)");
}

/* Writes the capacity of the device, or the least and the largest if there are several.  @least:
 * that of a row that ran. */
static void
append_capacity (GString *out, GememResult *const *results, guint n, guint64 least)
{
  char text[GEMEM_FORMAT_MAX];
  guint64 most = least;
  for (guint i = 0; i < n; i++)
    if (!results[i]->not_run)
      {
        least = MIN (least, results[i]->capacity);
        most = MAX (most, results[i]->capacity);
      }
  g_string_append_printf (out, ", device %s",
                          least == GEMEM_UNLIMITED ? "unlimited" : gemem_format_size (text, least));
  if (most > least)
    g_string_append_printf (out, " to %s",
                            most == GEMEM_UNLIMITED ? "unlimited" : gemem_format_size (text, most));
}

/* Writes the facts shared by all rows of a group. */
static void
append_group_facts (GString *out, GememResult *const *results, guint n, gboolean whole)
{
  const GememResult *first = results[0];
  g_autoptr (GString) line = g_string_new (NULL);

  for (guint i = 0; i < n && first->not_run; i++)
    first = results[i];
  if (first->not_run)
    {
      g_string_append (out, "no run began\n");
      return;
    }
  g_string_append_printf (line, "%" G_GUINT64_FORMAT " event%s, ", first->events,
                          gemem_plural (first->events));
  append_peak_live (line, results, n);
  append_capacity (line, results, n, first->capacity);
  gemem_report_append_line (out, line->str, "  ", whole);
}

static void
append_table (GString *out, GememTable table, const TableLayout *layout, const GPtrArray *rows)
{
  append_header (out, table, layout);
  for (guint i = 0; i < rows->len; i++)
    append_row (out, layout, rows->pdata[i]);
}

/* ---- below the tables */

/* Notes the full names of rows whose label left some out. */
static void
note_names (GememReportNotes *notes, GememTable table, const TableLayout *layout,
            const TableGroup *group)
{
  for (guint i = 0; i < group->rows[table]->len; i++)
    {
      const GememReportRow *row = group->rows[table]->pdata[i];
      g_autofree char *label = gemem_report_row_label (row, layout->names),
                      *full = gemem_report_row_label (row, 0);
      if (strcmp (label, full) == 0)
        continue;
      g_autofree char *text = g_strdup_printf ("%s: %s", label, full);
      gemem_report_notes_add (notes, group->results[0], text);
    }
}

static void
append_notes (GString *out, const TableLayout *layouts, const GPtrArray *groups,
              const GememReportOptions *options)
{
  GememReportNotes *notes = gemem_report_notes_new ();
  for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
    for (guint i = 0; layouts[table].n > 0 && i < groups->len; i++)
      note_names (notes, (GememTable) table, &layouts[table], groups->pdata[i]);
  for (guint i = 0; i < groups->len; i++)
    {
      const TableGroup *group = groups->pdata[i];
      gemem_report_notes_add_group (notes, group->results, group->n,
                                    gemem_report_shows_times (options));
    }
  g_autoptr (GPtrArray) lines = gemem_report_notes_lines (notes, groups->len);
  for (guint i = 0; i < lines->len; i++)
    {
      g_string_append (out, i == 0 ? "\n" : "");
      gemem_report_append_line (out, lines->pdata[i], "  ", !gemem_report_is_brief (options));
    }
  gemem_report_notes_free (notes);
}

static void
append_verdicts (GString *out, const GPtrArray *groups, const GememReportOptions *options)
{
  const char *before = "\n";
  for (guint i = 0; i < groups->len; i++)
    {
      const TableGroup *group = groups->pdata[i];
      g_autofree char *title = gemem_report_group (group->results[0]);
      g_autofree char *verdict = gemem_report_verdict (group->results, group->n);
      if (verdict == NULL)
        continue;
      g_autofree char *text = g_strconcat (groups->len > 1 ? title : "",
                                           groups->len > 1 ? ": " : "", verdict, NULL);
      g_string_append (out, before);
      gemem_report_append_line (out, text, "  ", !gemem_report_is_brief (options));
      before = "";
    }
}

/* ---- the whole */

static void
free_group (gpointer data)
{
  TableGroup *group = data;
  for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
    g_ptr_array_unref (group->rows[table]);
  g_free (group);
}

/* What the program has now, what served everything, then what needs less. */
static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const GememResult *x = (*(GememReportRow *const *) a)->result,
                    *y = (*(GememReportRow *const *) b)->result;
  const int failed = !gemem_result_is_complete (x) - !gemem_result_is_complete (y);

  if (x->as_now != y->as_now)
    return y->as_now - x->as_now;
  return failed != 0 ? failed : gemem_compare_uint64 (&x->peak_reserved, &y->peak_reserved);
}

/* Of the rows of a search only the best are for people, and what the program has now. */
static void
keep_best (TableGroup *group, const GememReportOptions *options)
{
  GPtrArray *rows = group->rows[GEMEM_TABLE_MEASURES];

  if (!gemem_report_is_brief (options) || options->all
      || rows->len <= (options->choices ? 1 : BRIEF_ROWS_MAX))
    return;
  if (options->sort == NULL)
    g_ptr_array_sort (rows, compare_rows);
  for (guint i = rows->len; i-- > BRIEF_ROWS;)
    if (!((const GememReportRow *) rows->pdata[i])->result->as_now)
      {
        g_ptr_array_remove_index (rows, i);
        group->hidden++;
      }
}

static GPtrArray *
make_groups (GememResult *const *results, guint n, const GememReportOptions *options)
{
  GPtrArray *groups = g_ptr_array_new_with_free_func (free_group);
  for (guint start = 0, end; start < n; start = end)
    {
      TableGroup *group = g_new0 (TableGroup, 1);
      end = gemem_report_group_end (results, n, start);
      group->results = results + start;
      group->n = end - start;
      for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
        group->rows[table] = gemem_report_rows (group->results, group->n, (GememTable) table,
                                                options);
      keep_best (group, options);
      g_ptr_array_add (groups, group);
    }
  return groups;
}

void
gemem_report_table (GString *out, GememResult *const *results, guint n,
                    const GememReportOptions *options)
{
  TableLayout layouts[GEMEM_TABLE_COUNT];
  g_autoptr (GPtrArray) groups = make_groups (results, n, options);
  for (guint t = 0; t < GEMEM_TABLE_COUNT; t++)
    {
      const GememTable table = (GememTable) t;
      g_autoptr (GPtrArray) columns = gemem_report_columns (results, n, table, options);
      layouts[t] = lay_out (table, groups, columns, longest_name (results, n), options);
      const TableLayout wide = lay_out (table, groups, columns, 0, options);
      if (wide.n == layouts[t].n && fits (&wide, options))
        layouts[t] = wide;
    }
  for (guint i = 0; i < groups->len; i++)
    {
      const TableGroup *group = groups->pdata[i];
      g_autofree char *title = gemem_report_group (group->results[0]);
      g_string_append_printf (out, "%s%s\n", i > 0 ? "\n" : "", title);
      append_group_facts (out, group->results, group->n, !gemem_report_is_brief (options));
      append_table (out, GEMEM_TABLE_MEASURES, &layouts[GEMEM_TABLE_MEASURES],
                    group->rows[GEMEM_TABLE_MEASURES]);
      if (group->hidden > 0)
        g_string_append_printf (
            out, "... and %u rows that need more: --all shows them, -o FILE.csv keeps them\n",
            group->hidden);
      gemem_report_programs (out, group->results, group->n);
      if (layouts[GEMEM_TABLE_CALLS].n == 0)
        continue;
      g_string_append_c (out, '\n');
      append_table (out, GEMEM_TABLE_CALLS, &layouts[GEMEM_TABLE_CALLS],
                    group->rows[GEMEM_TABLE_CALLS]);
    }
  if (options != NULL && options->no_choices > 0)
    g_string_append_printf (out,
                            "\n%u other settings were tried, which need no less; --zoo shows other "
                            "allocators\n",
                            options->no_choices);
  append_notes (out, layouts, groups, options);
  if (!gemem_report_overall (out, results, n, options))
    append_verdicts (out, groups, options);
  for (guint i = 0; i < n && !gemem_report_is_brief (options); i++)
    gemem_above_append (out, results[i]);
}
