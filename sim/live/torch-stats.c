/* torch-stats.c - GEMEM_STATS: the results of the heaps in the formats of gemem-sim, so that live
 * and replayed runs are read by the same tools. */
#include "config.h"

#include <string.h>

#include "sim/live/torch-private.h"
#include "sim/report/report.h"

static GememReportFormat
format_of (const char *path)
{
  static const struct
  {
    const char *extension;
    GememReportFormat format;
  } formats[] = { { ".json", GEMEM_FORMAT_JSON },
                  { ".csv", GEMEM_FORMAT_CSV },
                  { ".md", GEMEM_FORMAT_MARKDOWN } };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_has_suffix (path, formats[i].extension))
      return formats[i].format;
  return GEMEM_FORMAT_TABLE;
}

gboolean
gemem_torch_write_stats (const char *path, GememHeap *const *heaps, guint n, GError **error)
{
  g_autoptr (GPtrArray)
      results = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  const GememReportOptions options = { .details = TRUE };
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    if (heaps[i] != NULL)
      g_ptr_array_add (results, gemem_heap_result (heaps[i]));
  if (results->len == 0)
    return TRUE;
  gemem_report_write (text, format_of (path), (GememResult *const *) results->pdata, results->len,
                      &options);
  if (strcmp (path, "stderr") != 0)
    return gemem_write_file (path, text->str, (gssize) text->len, error);
  g_printerr ("%s", text->str);
  return TRUE;
}
