/* report.c - selects the emitter, and holds what emitters share; see report.h. */
#include "config.h"

#include "base/params.h"
#include "sim/report/emitters.h"

static const char *const formats[] = { "table", "json", "csv", "markdown", NULL };

gboolean
gemem_report_format_parse (const char *name, GememReportFormat *format, GError **error)
{
  for (guint i = 0; formats[i] != NULL; i++)
    if (gemem_name_equal (name, formats[i]))
      {
        *format = (GememReportFormat) i;
        return TRUE;
      }
  const char *near = gemem_suggest (name, formats);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown report format '%s'; %s%s%s", name,
               near != NULL ? "did you mean '" : "choose ",
               near != NULL ? near : "table, json, csv or markdown", near != NULL ? "'?" : "");
  return FALSE;
}

void
gemem_report_write (GString *out, GememReportFormat format, GememResult *const *results, guint n,
                    const GememReportOptions *options)
{
  switch (format)
    {
    case GEMEM_FORMAT_JSON:
      gemem_report_json (out, results, n);
      break;
    case GEMEM_FORMAT_CSV:
      gemem_report_csv (out, results, n);
      break;
    case GEMEM_FORMAT_MARKDOWN:
      gemem_report_markdown (out, results, n);
      break;
    case GEMEM_FORMAT_TABLE:
      if (options == NULL || !options->details)
        gemem_report_table (out, results, n, options != NULL ? options->width : 0);
      else
        for (guint i = 0; i < n; i++)
          {
            if (i > 0)
              g_string_append_c (out, '\n');
            gemem_report_details (out, results[i]);
          }
      break;
    }
}
