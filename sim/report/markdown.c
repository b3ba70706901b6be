/* markdown.c - the comparison as two Markdown tables per trace, measures and device calls, for
 * issues and documents, then what holds for all of it and the sentence with the answer; all
 * characters of names are escaped. */
#include "config.h"

#include "sim/report/arrange.h"
#include "sim/report/notes.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

static void
append_table (GString *out, GememTable table, GememResult *const *results, guint n,
              const GememReportOptions *options)
{
  char text[GEMEM_MEASURE_TEXT];
  g_autoptr (GPtrArray) columns = gemem_report_columns (results, n, table, options);
  if (columns->len == 0)
    return;
  g_autoptr (GPtrArray) rows = gemem_report_rows (results, n, table, options);
  g_string_append_printf (out, "\n| %s |", gemem_table_titles[table]);
  for (guint c = 0; c < columns->len; c++)
    g_string_append_printf (out, " %s |", ((const GememMeasure *) columns->pdata[c])->title);
  g_string_append (out, "\n| --- |");
  for (guint c = 0; c < columns->len; c++)
    g_string_append (out, " ---: |");
  g_string_append_c (out, '\n');
  for (guint i = 0; i < rows->len; i++)
    {
      const GememReportRow *row = rows->pdata[i];
      g_autofree char *label = gemem_report_row_label (row, 0);
      g_string_append (out, "| ");
      gemem_markdown_append_text (out, label);
      g_string_append (out, gemem_report_row_note (row->result));
      g_string_append (out, " |");
      for (guint c = 0; c < columns->len; c++)
        g_string_append_printf (out, " %s |",
                                gemem_measure_text (columns->pdata[c], row->result, text));
      g_string_append_c (out, '\n');
    }
}

static void
append_paragraph (GString *out, const char *title, const char *text)
{
  g_string_append_c (out, '\n');
  if (title != NULL)
    {
      gemem_markdown_append_text (out, title);
      g_string_append (out, ": ");
    }
  gemem_markdown_append_text (out, text);
  g_string_append_c (out, '\n');
}

void
gemem_report_markdown (GString *out, GememResult *const *results, guint n,
                       const GememReportOptions *options)
{
  GememReportNotes *notes = gemem_report_notes_new ();
  g_autoptr (GPtrArray) verdicts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) titles = g_ptr_array_new_with_free_func (g_free);

  for (guint start = 0, end; start < n; start = end)
    {
      char *group = gemem_report_group (results[start]);
      g_ptr_array_add (titles, group);
      end = gemem_report_group_end (results, n, start);
      g_string_append (out, start > 0 ? "\n### " : "### ");
      gemem_markdown_append_text (out, group);
      g_string_append_c (out, '\n');
      for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
        append_table (out, (GememTable) table, results + start, end - start, options);
      gemem_report_programs_markdown (out, results + start, end - start);
      gemem_report_notes_add_group (notes, results + start, end - start,
                                    gemem_report_shows_times (options));
      g_ptr_array_add (verdicts, gemem_report_verdict (results + start, end - start));
    }
  g_autoptr (GPtrArray) lines = gemem_report_notes_lines (notes, titles->len);
  for (guint i = 0; i < lines->len; i++)
    append_paragraph (out, NULL, lines->pdata[i]);
  for (guint i = 0; i < verdicts->len; i++)
    if (verdicts->pdata[i] != NULL)
      append_paragraph (out, titles->len > 1 ? titles->pdata[i] : NULL, verdicts->pdata[i]);
  gemem_report_notes_free (notes);
}
