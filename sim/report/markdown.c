/* markdown.c - the comparison as two Markdown tables per trace, measures and device calls, for
 * issues and documents; all characters of names are escaped. */
#include "config.h"

#include "sim/report/emitters.h"
#include "sim/report/measures.h"
#include "sim/report/rows.h"

static void
append_table (GString *out, GememTable table, GememResult *const *results, guint n)
{
  const GememMeasure *columns[64];
  char text[GEMEM_MEASURE_TEXT];
  guint count = 0;

  for (const GememMeasure *measure = gemem_measures;
       measure->key != NULL && count < G_N_ELEMENTS (columns); measure++)
    if (gemem_measure_is_column (measure, table, results, n))
      columns[count++] = measure;
  if (count == 0)
    return;
  g_string_append_printf (out, "\n| %s |", gemem_table_titles[table]);
  for (guint c = 0; c < count; c++)
    g_string_append_printf (out, " %s |", columns[c]->title);
  g_string_append (out, "\n| --- |");
  for (guint c = 0; c < count; c++)
    g_string_append (out, " ---: |");
  g_string_append_c (out, '\n');
  for (guint i = 0; i < n; i++)
    {
      if (results[i]->not_run && table != GEMEM_TABLE_MEASURES)
        continue;
      g_string_append (out, "| ");
      gemem_markdown_append_text (out, results[i]->label);
      g_string_append (out, gemem_report_row_note (results[i]));
      g_string_append (out, " |");
      for (guint c = 0; c < count; c++)
        g_string_append_printf (out, " %s |",
                                gemem_measure_applies (columns[c], results[i])
                                    ? gemem_measure_text (columns[c], results[i], text)
                                    : "");
      g_string_append_c (out, '\n');
    }
}

void
gemem_report_markdown (GString *out, GememResult *const *results, guint n)
{
  for (guint start = 0, end; start < n; start = end)
    {
      g_autofree char *group = gemem_report_group (results[start]);
      end = gemem_report_group_end (results, n, start);
      g_string_append (out, start > 0 ? "\n### " : "### ");
      gemem_markdown_append_text (out, group);
      g_string_append_c (out, '\n');
      for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
        append_table (out, (GememTable) table, results + start, end - start);
      for (guint i = start; i < end; i++)
        if (results[i]->not_run)
          {
            g_string_append (out, "\n");
            gemem_markdown_append_text (out, results[i]->label);
            g_string_append (out, " was not run: ");
            gemem_markdown_append_text (out, results[i]->failure);
            g_string_append_c (out, '\n');
          }
    }
}
