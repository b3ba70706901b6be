/* csv.c - a row per result, a column per measure of measures.def or for each that was chosen (RFC
 * 4180, LF line ends, numbers exact and locale-free).  Empty: unknown; host memory has no device
 * number. */
#include "config.h"

#include "sim/report/emitters.h"
#include "sim/report/measures.h"
#include "sim/report/rows.h"

void
gemem_report_csv (GString *out, GememResult *const *results, guint n,
                  const GememReportOptions *options)
{
  char text[GEMEM_MEASURE_TEXT];
  g_autoptr (GPtrArray) columns = g_ptr_array_new ();
  if (options != NULL && options->columns != NULL)
    for (const GememMeasure *const *column = options->columns; *column != NULL; column++)
      g_ptr_array_add (columns, (gpointer) *column);
  else
    for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
      g_ptr_array_add (columns, (gpointer) measure);
  g_string_append (
      out, "trace,trace_sha256,device_ordinal,allocator,label,device,partial,failure,not_allowed");
  for (guint c = 0; c < columns->len; c++)
    g_string_append_printf (out, ",%s", ((const GememMeasure *) columns->pdata[c])->key);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < n; i++)
    {
      const GememResult *r = results[i];
      gemem_csv_append_field (out, r->trace);
      g_string_append_printf (out, ",%s,", r->trace_sha256 != NULL ? r->trace_sha256 : "");
      if (r->device_ordinal != GEMEM_DEVICE_HOST)
        g_string_append_printf (out, "%d", r->device_ordinal);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->allocator);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->label);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->device);
      g_string_append_printf (out, ",%s,", r->partial ? "yes" : "no");
      gemem_csv_append_field (out, r->failure);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->not_allowed);
      for (guint c = 0; c < columns->len; c++)
        g_string_append_printf (out, ",%s", gemem_measure_exact (columns->pdata[c], r, text));
      g_string_append_c (out, '\n');
    }
}
