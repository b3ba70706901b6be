/* report.c - selects the emitter, and holds what emitters share; see report.h. */
#include "config.h"

#include <string.h>

#include "base/params.h"
#include "sim/report/arrange.h"
#include "sim/report/notes.h"
#include "sim/report/report-private.h"

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

gboolean
gemem_report_format_choose (const char *name, const char *path, GememReportFormat *format,
                            GError **error)
{
  static const struct
  {
    const char *ending;
    GememReportFormat format;
  } endings[] = { { ".json", GEMEM_FORMAT_JSON },
                  { ".csv", GEMEM_FORMAT_CSV },
                  { ".md", GEMEM_FORMAT_MARKDOWN },
                  { ".markdown", GEMEM_FORMAT_MARKDOWN } };
  g_autofree char *lower = path != NULL ? g_ascii_strdown (path, -1) : g_strdup ("");

  if (name != NULL)
    return gemem_report_format_parse (name, format, error);
  *format = GEMEM_FORMAT_TABLE;
  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (lower, endings[i].ending))
      *format = endings[i].format;
  return TRUE;
}

/* A report for each result; what holds for several of them, once at the end. */
static void
write_details (GString *out, GememResult *const *results, guint n, gboolean verbose)
{
  GememReportNotes *notes = gemem_report_notes_new ();

  for (guint i = 0; i < n; i++)
    {
      g_string_append (out, i > 0 ? "\n" : "");
      gemem_report_details (out, results[i], verbose);
      if (verbose)
        gemem_report_notes_add_guesses (notes, results[i]);
    }
  g_autoptr (GPtrArray) lines = gemem_report_notes_lines (notes, 0);
  for (guint i = 0; i < lines->len; i++)
    g_string_append_printf (out, "%s%s\n", i == 0 ? "\n" : "", (char *) lines->pdata[i]);
  gemem_report_notes_free (notes);
}

void
gemem_report_write (GString *out, GememReportFormat format, GememResult *const *results, guint n,
                    const GememReportOptions *options)
{
  const gboolean details = options != NULL && options->details;
  const gboolean for_people = format == GEMEM_FORMAT_MARKDOWN
                              || (format == GEMEM_FORMAT_TABLE && !details);
  g_autoptr (GPtrArray) order = gemem_report_order (results, n, options, for_people);
  GememResult *const *ordered = (GememResult *const *) order->pdata;

  switch (format)
    {
    case GEMEM_FORMAT_JSON:
      gemem_report_json (out, ordered, n, options == NULL || !options->without_timelines);
      break;
    case GEMEM_FORMAT_CSV:
      gemem_report_csv (out, ordered, n, options);
      break;
    case GEMEM_FORMAT_MARKDOWN:
      gemem_report_markdown (out, ordered, n, options);
      break;
    case GEMEM_FORMAT_TABLE:
      if (details)
        write_details (out, ordered, n, options->verbose);
      else
        gemem_report_table (out, ordered, n, options);
      break;
    }
}
