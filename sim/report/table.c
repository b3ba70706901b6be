/* table.c - the comparison as aligned tables: a group of rows per trace, a column per measure;
 * then, per trace, the device calls by kind.
 *
 * Why two tables: a dozen kinds of calls, which show the cost of mapping, do not fit a terminal
 * beside the measures.  Columns are dropped by rank until the table fits; a row is never wrapped.
 * A kind of call that no row makes has no column; without any call there is no second table.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/emitters.h"
#include "sim/report/measures.h"
#include "sim/report/rows.h"

#define MAX_COLUMNS 40

typedef struct
{
  GememTextColumn columns[MAX_COLUMNS]; /* one per GememMeasure */
  guint n;
  gsize label; /* width of the first column */
  gsize note;  /* width of the notes after rows */
} TableLayout;

/* Width of the note after the row of @result, with the second space before it. */
static gsize
note_width (const GememResult *result)
{
  const char *note = gemem_report_row_note (result);
  return *note != '\0' ? strlen (note) + 1 : 0;
}

static void
measure_widths (TableLayout *layout, GememTable table, GememResult *const *results, guint n)
{
  char text[GEMEM_MEASURE_TEXT];
  layout->label = strlen (gemem_table_titles[table]);
  layout->note = 0;
  for (guint i = 0; i < n; i++)
    {
      layout->label = MAX (layout->label, (gsize) g_utf8_strlen (results[i]->label, -1));
      layout->note = MAX (layout->note, note_width (results[i]));
    }
  for (guint c = 0; c < layout->n; c++)
    {
      GememTextColumn *column = &layout->columns[c];
      const GememMeasure *measure = column->source;
      column->width = strlen (measure->title);
      for (guint i = 0; i < n; i++)
        column->width = MAX (column->width,
                             strlen (gemem_measure_text (measure, results[i], text)));
    }
}

/* The rank for dropping columns; 0 for measures that an option asked for (--find-capacity,
 * --measure), which are always shown. */
static int
importance (const GememMeasure *measure)
{
  const int rank = measure->rank;
  return rank >= GEMEM_RANK_CALLS ? rank - GEMEM_RANK_CALLS : rank > GEMEM_RANK_DETAIL ? 0 : rank;
}

static void
choose_columns (TableLayout *layout, GememTable table, GememResult *const *results, guint n,
                guint width)
{
  layout->n = 0;
  for (const GememMeasure *measure = gemem_measures;
       measure->key != NULL && layout->n < MAX_COLUMNS; measure++)
    if (gemem_measure_is_column (measure, table, results, n))
      layout->columns[layout->n++] = (GememTextColumn){ measure, importance (measure), 0 };
  measure_widths (layout, table, results, n);
  layout->n = gemem_text_columns_fit (layout->columns, layout->n, layout->label + layout->note,
                                      width);
}

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
append_row (GString *out, const TableLayout *layout, const GememResult *result)
{
  char text[GEMEM_MEASURE_TEXT];
  gsize characters = (gsize) g_utf8_strlen (result->label, -1);
  g_string_append_printf (out, "%s%*s", result->label, (int) (layout->label - characters), "");
  for (guint c = 0; c < layout->n; c++)
    {
      const GememMeasure *measure = layout->columns[c].source;
      g_string_append_printf (out, "  %*s", (int) layout->columns[c].width,
                              gemem_measure_applies (measure, result)
                                  ? gemem_measure_text (measure, result, text)
                                  : "-");
    }
  g_string_append_printf (out, "%*s", (int) note_width (result), gemem_report_row_note (result));
  g_string_append_c (out, '\n');
}

/* Advice on comparing addresses, where segments were not placed as recorded. */
static const char *
fidelity_hint (const GememResult *result)
{
  if (gemem_device_settings_recorded (result->device_settings)
      || result->fidelity.segments_compared == 0
      || result->fidelity.equal == result->fidelity.compared)
    return "";
  return "; to compare addresses, give the segments their recorded places: -d sim:address=recorded";
}

/* "peak live 4 GiB", or a range: lowerings of a graph, and graphs that share memory, differ.
 * Failed requests reduce live memory: such runs are only compared with each other. */
static void
append_peak_live (GString *out, GememResult *const *results, guint n)
{
  char text[GEMEM_FORMAT_MAX];
  guint64 least = G_MAXUINT64, most = 0;
  gboolean served = FALSE;

  for (guint i = 0; i < n; i++)
    served |= results[i]->failed_allocs == 0 && !results[i]->not_run;
  for (guint i = 0; i < n; i++)
    {
      if (results[i]->not_run || (served && results[i]->failed_allocs > 0))
        continue;
      least = MIN (least, results[i]->peak_live);
      most = MAX (most, results[i]->peak_live);
    }
  g_string_append_printf (out, "peak live %s", gemem_format_size (text, least));
  if (most > least)
    g_string_append_printf (out, " to %s", gemem_format_size (text, most));
}

/* Writes the capacity of the device, or the least and the largest if there are several.  @least: that
 * of a row that ran. */
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
  g_string_append_printf (out, ", device %s", gemem_format_size (text, least));
  if (most > least)
    g_string_append_printf (out, " to %s", gemem_format_size (text, most));
  g_string_append_c (out, '\n');
}

/* Writes the facts shared by all rows of a group, and a sentence on failures. */
static void
append_group_facts (GString *out, GememResult *const *results, guint n)
{
  const GememResult *first = results[0];
  for (guint i = 0; i < n && first->not_run; i++)
    first = results[i];
  g_string_append_printf (out, "%" G_GUINT64_FORMAT " events, ", first->events);
  append_peak_live (out, results, n);
  append_capacity (out, results, n, first->capacity);
  gemem_report_append_guesses (out, first, "");
  for (guint i = 0; i < n; i++)
    if (results[i]->fidelity.compared > 0)
      g_string_append_printf (
          out, "%s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " decisions as recorded%s\n",
          results[i]->label, results[i]->fidelity.equal, results[i]->fidelity.compared,
          fidelity_hint (results[i]));
    else if (results[i]->not_run)
      g_string_append_printf (out, "%s: not run: %s\n", results[i]->label, results[i]->failure);
}

static void
append_table (GString *out, GememTable table, const TableLayout *layout,
              GememResult *const *results, guint n)
{
  append_header (out, table, layout);
  for (guint i = 0; i < n; i++)
    if (!results[i]->not_run || table == GEMEM_TABLE_MEASURES)
      append_row (out, layout, results[i]);
}

void
gemem_report_table (GString *out, GememResult *const *results, guint n, guint width)
{
  TableLayout layouts[GEMEM_TABLE_COUNT];
  for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
    choose_columns (&layouts[table], (GememTable) table, results, n, width);
  for (guint start = 0, end; start < n; start = end)
    {
      g_autofree char *group = gemem_report_group (results[start]);
      end = gemem_report_group_end (results, n, start);
      g_string_append_printf (out, "%s%s\n", start > 0 ? "\n" : "", group);
      append_group_facts (out, results + start, end - start);
      append_table (out, GEMEM_TABLE_MEASURES, &layouts[GEMEM_TABLE_MEASURES], results + start,
                    end - start);
      if (layouts[GEMEM_TABLE_CALLS].n == 0)
        continue;
      g_string_append_c (out, '\n');
      append_table (out, GEMEM_TABLE_CALLS, &layouts[GEMEM_TABLE_CALLS], results + start,
                    end - start);
    }
}
