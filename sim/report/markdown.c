/* markdown.c - the comparison as a Markdown table per trace, for issues and documents; no character of a name is taken as markup. */
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

static gboolean
wanted (const GememMeasure *measure, GememResult *const *results, guint n)
{
  gboolean applies = FALSE;
  if (measure->rank == GEMEM_RANK_DETAIL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    applies = applies || gemem_measure_applies (measure, results[i]);
  return applies;
}

void
gemem_report_markdown (GString *out, GememResult *const *results, guint n)
{
  char text[GEMEM_MEASURE_TEXT];
  for (guint start = 0, end; start < n; start = end)
    {
      g_autofree char *group = gemem_report_group (results[start]);
      for (end = start + 1; end < n && gemem_report_same_group (results[start], results[end]); end++)
        ;
      g_string_append (out, start > 0 ? "\n### " : "### ");
      append_cell (out, group);
      g_string_append (out, "\n\n| allocator |");
      for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
        if (wanted (measure, results, n))
          g_string_append_printf (out, " %s |", measure->title);
      g_string_append (out, "\n| --- |");
      for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
        if (wanted (measure, results, n))
          g_string_append (out, " ---: |");
      g_string_append_c (out, '\n');
      for (guint i = start; i < end; i++)
        {
          g_string_append (out, "| ");
          append_cell (out, results[i]->label);
          g_string_append (out, results[i]->failure != NULL ? " (stopped)" : results[i]->partial ? " (partial)" : "");
          g_string_append (out, " |");
          for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
            if (wanted (measure, results, n))
              g_string_append_printf (out, " %s |",
                                      gemem_measure_applies (measure, results[i]) ? gemem_measure_text (measure, results[i], text) : "");
          g_string_append_c (out, '\n');
        }
    }
}
