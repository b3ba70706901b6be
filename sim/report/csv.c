/* csv.c - a row per result, a column per measure of measures.def or for each that was chosen (RFC
 * 4180, LF line ends, numbers exact and locale-free).  Empty: unknown; host memory has no device
 * number.  Where programs share a device, a row of all together is followed by one of each, and the
 * last column, `program`, numbers them from 1. */
#include "config.h"

#include "sim/report/measures.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

/* The row of @r, of program number @program (0: of all together) where devices are shared. */
static void
append_row (GString *out, const GememResult *r, const GPtrArray *columns, gboolean shared,
            guint program)
{
  char text[GEMEM_MEASURE_TEXT];

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
  if (shared)
    g_string_append_printf (out, ",%u", program);
  g_string_append_c (out, '\n');
}

void
gemem_report_csv (GString *out, GememResult *const *results, guint n,
                  const GememReportOptions *options)
{
  gboolean shared = FALSE;
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
  for (guint i = 0; i < n; i++)
    shared = shared || results[i]->programs != NULL;
  g_string_append (out, shared ? ",program\n" : "\n");
  for (guint i = 0; i < n; i++)
    {
      const GPtrArray *programs = results[i]->programs;
      append_row (out, results[i], columns, shared, 0);
      for (guint p = 0; programs != NULL && p < programs->len; p++)
        append_row (out, programs->pdata[p], columns, shared, p + 1);
    }
}
