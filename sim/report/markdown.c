/* markdown.c - the comparison as two Markdown tables per trace, measures and device calls, for
 * issues and documents; no character of a name is taken as markup. */
#include "config.h"

#include <string.h>

#include "sim/report/emitters.h"
#include "sim/report/measures.h"

static void
append_cell (GString *out, const char *text)
{
  for (; *text != '\0'; text++)
    {
      if (strchr ("\\|_*`<[", *text) != NULL)
        g_string_append_c (out, '\\');
      g_string_append_c (out, *text == '\n' ? ' ' : *text);
    }
}

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
      append_cell (out, results[i]->label);
      g_string_append (out, results[i]->not_run           ? " (not run)"
                            : results[i]->failure != NULL ? " (stopped)"
                            : results[i]->partial         ? " (partial)"
                                                          : "");
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
      for (end = start + 1; end < n && gemem_report_same_group (results[start], results[end]);
           end++)
        ;
      g_string_append (out, start > 0 ? "\n### " : "### ");
      append_cell (out, group);
      g_string_append_c (out, '\n');
      for (guint table = 0; table < GEMEM_TABLE_COUNT; table++)
        append_table (out, (GememTable) table, results + start, end - start);
      for (guint i = start; i < end; i++)
        if (results[i]->not_run)
          {
            g_string_append (out, "\n");
            append_cell (out, results[i]->label);
            g_string_append (out, " was not run: ");
            append_cell (out, results[i]->failure);
            g_string_append_c (out, '\n');
          }
    }
}
