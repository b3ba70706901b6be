/* csv.c - a row per result, a column per measure of measures.def (RFC 4180, LF line ends, numbers
 * exact and locale-free). */
#include "config.h"

#include "sim/report/emitters.h"
#include "sim/report/measures.h"
#include "sim/report/rows.h"

void
gemem_report_csv (GString *out, GememResult *const *results, guint n)
{
  char text[GEMEM_MEASURE_TEXT];
  g_string_append (out, "trace,trace_sha256,device_ordinal,allocator,label,device,partial,failure");
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    g_string_append_printf (out, ",%s", measure->key);
  g_string_append_c (out, '\n');
  for (guint i = 0; i < n; i++)
    {
      const GememResult *r = results[i];
      gemem_csv_append_field (out, r->trace);
      g_string_append_printf (out, ",%s,%d,", r->trace_sha256 != NULL ? r->trace_sha256 : "",
                              r->device_ordinal);
      gemem_csv_append_field (out, r->allocator);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->label);
      g_string_append_c (out, ',');
      gemem_csv_append_field (out, r->device);
      g_string_append_printf (out, ",%s,", r->partial ? "yes" : "no");
      gemem_csv_append_field (out, r->failure);
      for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
        g_string_append_printf (
            out, ",%s",
            gemem_measure_applies (measure, r) ? gemem_measure_exact (measure, r, text) : "");
      g_string_append_c (out, '\n');
    }
}
