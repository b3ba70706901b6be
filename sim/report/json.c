/* json.c - results as JSON, schema "gemem-result", version 2: a complete, exact copy of a result.
 *
 * Shape: {"schema", "version", "results": [{identity, "measures": {...}, "values": {...}, "calls",
 * latencies, arrays}]}.  "measures" are those of measures.def under their keys, meant for reading;
 * "values" are the numbers from which they are computed.  Ratios are decimals of six digits,
 * finite by construction (gemem_result_*() are 0 when undefined).  Form of numbers: json-fields.h.
 * A measure is null where it is unknown: what failed requests make look better.
 * Latency buckets are sparse: [largest value of the bucket in ns, count].
 */
#include "config.h"

#include <string.h>

#include "sim/report/above-least.h"
#include "sim/report/json-fields.h"
#include "sim/report/measures.h"
#include "sim/report/notes.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

/* See json-fields.h for how numbers are written. */
static void
append_number (GString *out, guint64 value)
{
  if (value == G_MAXUINT64)
    g_string_append (out, "null");
  else if (value > G_MAXINT64)
    g_string_append_printf (out, "\"%" G_GUINT64_FORMAT "\"", value);
  else
    g_string_append_printf (out, "%" G_GUINT64_FORMAT, value);
}

static void
append_origin (GString *out, const GememOrigin *origin)
{
  if (!origin->known)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append (out, "{\"event\": ");
  append_number (out, origin->seq);
  g_string_append_printf (out, ", \"initial\": %s, \"by\": ", origin->initial ? "true" : "false");
  gemem_json_append_string (out, origin->by);
  g_string_append_c (out, '}');
}

static void
append_field (GString *out, const GememJsonField *field, gconstpointer base)
{
  gconstpointer at = (const char *) base + field->offset;
  switch (field->type)
    {
    case GEMEM_FIELD_NUMBER:
      append_number (out, *(const guint64 *) at);
      break;
    case GEMEM_FIELD_HEX:
      if (*(const guint64 *) at == G_MAXUINT64)
        g_string_append (out, "null");
      else
        g_string_append_printf (out, "\"0x%" G_GINT64_MODIFIER "x\"", *(const guint64 *) at);
      break;
    case GEMEM_FIELD_INDEX:
      g_string_append_printf (out, "%u", *(const guint32 *) at);
      break;
    case GEMEM_FIELD_BOOL:
      g_string_append (out, *(const gboolean *) at ? "true" : "false");
      break;
    case GEMEM_FIELD_STATE:
      g_string_append_printf (out, "\"%s\"", gemem_json_states[*(const GememSpanState *) at]);
      break;
    case GEMEM_FIELD_WHY:
      if (*(const GememIdleCause *) at == GEMEM_IDLE_CAUSES)
        {
          g_string_append (out, "null");
          break;
        }
      G_GNUC_FALLTHROUGH;
    case GEMEM_FIELD_CAUSE:
      g_string_append_printf (out, "\"%s\"", gemem_json_causes[*(const GememIdleCause *) at]);
      break;
    case GEMEM_FIELD_ORIGIN:
      append_origin (out, at);
      break;
    }
}

/* Writes @start, then "name": value pairs separated by @between. */
static void
append_struct (GString *out, const GememJsonField *fields, gconstpointer base, const char *start,
               const char *between)
{
  for (const GememJsonField *field = fields; field->name != NULL; field++)
    {
      g_string_append_printf (out, "%s\"%s\": ", field == fields ? start : between, field->name);
      append_field (out, field, base);
    }
}

static void
append_array (GString *out, const GememJsonArray *array, gconstpointer base)
{
  const GArray *elements = *(GArray *const *) ((const char *) base + array->offset);
  const guint n = elements != NULL ? elements->len : 0;
  if (array->rows)
    {
      g_string_append (out, "{\"columns\": [");
      for (const GememJsonField *field = array->fields; field->name != NULL; field++)
        g_string_append_printf (out, "%s\"%s\"", field == array->fields ? "" : ", ", field->name);
      g_string_append (out, "], \"rows\": ");
    }
  g_string_append_c (out, '[');
  for (guint i = 0; i < n; i++)
    {
      gconstpointer element = elements->data + i * array->size;
      g_string_append (out, i > 0 ? ",\n        " : "\n        ");
      if (!array->rows)
        {
          append_struct (out, array->fields, element, "{", ", ");
          g_string_append_c (out, '}');
          continue;
        }
      for (const GememJsonField *field = array->fields; field->name != NULL; field++)
        {
          g_string_append_c (out, field == array->fields ? '[' : ',');
          append_field (out, field, element);
        }
      g_string_append_c (out, ']');
    }
  g_string_append (out, n > 0 ? "\n      ]" : "]");
  if (array->rows)
    g_string_append_c (out, '}');
}

void
gemem_json_append_array_member (GString *out, const char *name, const GememResult *result)
{
  const GememJsonArray *array = gemem_json_arrays;

  while (strcmp (array->name, name) != 0)
    array++;
  g_string_append_printf (out, ", \"%s\": ", name);
  append_array (out, array, result);
}

static void
append_histogram (GString *out, const GememHistogram *histogram)
{
  static const struct
  {
    const char *name;
    guint permille;
  } percentiles[] = { { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p99_9", 999 } };
  g_string_append_printf (out, "{\"count\": %" G_GUINT64_FORMAT ", \"sum\": ", histogram->count);
  append_number (out, histogram->sum);
  g_string_append (out, ", \"min\": ");
  append_number (out, histogram->min);
  g_string_append (out, ", \"max\": ");
  append_number (out, histogram->max);
  for (gsize i = 0; i < G_N_ELEMENTS (percentiles); i++)
    {
      g_string_append_printf (out, ", \"%s\": ", percentiles[i].name);
      append_number (out, gemem_histogram_percentile (histogram, percentiles[i].permille));
    }
  g_string_append (out, ", \"buckets\": [");
  gboolean first = TRUE;
  for (guint i = 0; i < GEMEM_HISTOGRAM_BUCKETS; i++)
    if (histogram->buckets[i] > 0)
      {
        g_string_append (out, first ? "[" : ",[");
        append_number (out, gemem_histogram_bucket_end (i));
        g_string_append_printf (out, ",%" G_GUINT64_FORMAT "]", histogram->buckets[i]);
        first = FALSE;
      }
  g_string_append (out, "]}");
}

/* Writes @value unquoted if it is a number that JSON preserves, else as a string. */
static void
append_setting_value (GString *out, const char *value, gboolean numbers)
{
  gsize digits = value != NULL ? strspn (value, "0123456789") : 0;
  if (numbers && digits > 0 && digits <= 18 && value[digits] == '\0'
      && (value[0] != '0' || digits == 1))
    g_string_append (out, value);
  else
    gemem_json_append_string (out, value);
}

void
gemem_json_append_settings (GString *out, const GPtrArray *settings, gboolean numbers,
                            const char *indent)
{
  const guint n = settings != NULL ? settings->len : 0;
  g_string_append_c (out, '{');
  for (guint i = 0; i < n; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      g_string_append_printf (out, "%s\n%s  ", i > 0 ? "," : "", indent);
      gemem_json_append_string (out, setting->key);
      g_string_append (out, ": ");
      append_setting_value (out, setting->value, numbers);
    }
  if (n > 0)
    g_string_append_printf (out, "\n%s", indent);
  g_string_append_c (out, '}');
}

void
gemem_json_append_identity (GString *out, const GememResult *result, const char *indent)
{
  for (const GememJsonMember *member = gemem_json_texts; member->name != NULL; member++)
    {
      g_string_append_printf (out, "%s\"%s\": ", indent, member->name);
      gemem_json_append_string (
          out, *(char *const *) (gconstpointer) ((const char *) result + member->offset));
      g_string_append (out, ",\n");
    }
  g_string_append_printf (out, "%s\"device_ordinal\": ", indent);
  if (result->device_ordinal == GEMEM_DEVICE_HOST)
    g_string_append (out, "null");
  else
    g_string_append_printf (out, "%d", result->device_ordinal);
  g_string_append_printf (out, ",\n%s\"partial\": %s", indent, result->partial ? "true" : "false");
}

static void
append_measures (GString *out, const GememResult *result)
{
  char text[GEMEM_MEASURE_TEXT];
  const char *separator = "";
  g_string_append (out, ",\n      \"measures\": {");
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    if (gemem_measure_applies (measure, result))
      {
        g_string_append_printf (out, "%s\n        \"%s\": ", separator, measure->key);
        if (!gemem_measure_known (measure, result))
          g_string_append (out, "null");
        else if (measure->real != NULL)
          g_string_append (out, gemem_measure_exact (measure, result, text));
        else
          append_number (out, measure->integer (result));
        separator = ",";
      }
  g_string_append (out, "\n      }");
}

static void
append_calls (GString *out, const GememResult *result)
{
  g_string_append (out, ",\n      \"calls\": {");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      g_string_append_printf (out, "%s\n        \"%s\": {\"count\": ", call > 0 ? "," : "",
                              gemem_device_call_name ((GememDeviceCall) call));
      append_number (out, result->calls[call]);
      g_string_append (out, ", \"refused\": ");
      append_number (out, result->refused[call]);
      g_string_append (out, ", \"modelled_ns\": ");
      append_number (out, result->call_ns[call]);
      if (result->measured_calls != NULL)
        {
          g_string_append (out, ", \"measured_ns\": ");
          append_histogram (out, &result->measured_calls[call]);
        }
      g_string_append_c (out, '}');
    }
  g_string_append (out, "\n      }");
}

static void append_result (GString *out, const GememResult *result, gboolean points);

/* What programs that share a device have beyond an ordinary result. */
static void
append_programs (GString *out, const GememResult *result, gboolean points)
{
  if (result->programs == NULL)
    return;
  g_string_append_printf (out,
                          ",\n      \"share_order\": \"%s\",\n      \"%s\": ", result->share_order,
                          gemem_json_shares.name);
  append_array (out, &gemem_json_shares, result);
  g_string_append (out, ",\n      \"programs\": [\n");
  for (guint i = 0; i < result->programs->len; i++)
    {
      append_result (out, result->programs->pdata[i], points);
      g_string_append (out, i + 1 < result->programs->len ? ",\n" : "\n      ]");
    }
}

/* @points: with the timeline. */
static void
append_result (GString *out, const GememResult *result, gboolean points)
{
  g_string_append (out, "    {\n");
  gemem_json_append_identity (out, result, "      ");
  append_measures (out, result);
  g_string_append (out, ",\n      \"values\": ");
  append_struct (out, gemem_json_values, result, "{\n        ", ",\n        ");
  g_string_append (out, "\n      }");
  for (const GememJsonMember *member = gemem_json_settings; member->name != NULL; member++)
    {
      const GPtrArray *settings = *(GPtrArray *const *) (gconstpointer) ((const char *) result
                                                                         + member->offset);
      g_string_append_printf (out, ",\n      \"%s\": ", member->name);
      gemem_json_append_settings (out, settings,
                                  member->offset == G_STRUCT_OFFSET (GememResult, stats), "      ");
    }
  append_calls (out, result);
  for (const GememJsonMember *member = gemem_json_histograms; member->name != NULL; member++)
    {
      g_string_append_printf (out, ",\n      \"%s\": ", member->name);
      append_histogram (
          out, (const GememHistogram *) (gconstpointer) ((const char *) result + member->offset));
    }
  g_string_append (out, ",\n      \"fidelity\": ");
  append_struct (out, gemem_json_fidelity, &result->fidelity, "{", ", ");
  g_string_append_c (out, '}');
  for (const GememJsonArray *array = gemem_json_arrays; array->name != NULL; array++)
    if (points || array->offset != G_STRUCT_OFFSET (GememResult, timeline))
      {
        g_string_append_printf (out, ",\n      \"%s\": ", array->name);
        append_array (out, array, result);
      }
  gemem_above_append_json (out, result);
  append_programs (out, result, points);
  g_string_append (out, "\n    }");
}

/* The results that ran; or (@not_run) the identity of those that did not. */
static void
append_results (GString *out, GememResult *const *results, guint n, gboolean not_run,
                gboolean points)
{
  const char *separator = "";
  for (guint i = 0; i < n; i++)
    {
      if (results[i]->not_run != not_run)
        continue;
      g_string_append (out, separator);
      if (not_run)
        {
          g_string_append (out, "    {\n");
          gemem_json_append_identity (out, results[i], "      ");
          g_string_append (out, "\n    }");
        }
      else
        append_result (out, results[i], points);
      separator = ",\n";
    }
  g_string_append (out, *separator != '\0' ? "\n" : "");
}

/* The sentence about each trace, as tables for people end with it. */
static void
append_summary (GString *out, GememResult *const *results, guint n)
{
  const char *separator = "";

  g_string_append (out, ",\n  \"summary\": [");
  for (guint start = 0, end; start < n; start = end)
    {
      end = gemem_report_group_end (results, n, start);
      g_autofree char *title = gemem_report_group (results[start]);
      g_autofree char *text = end == start + 1
                                  ? gemem_report_answer (results[start])
                                  : gemem_report_verdict (results + start, end - start);
      g_autofree char *line = text != NULL ? g_strdup_printf ("%s: %s", title, text) : NULL;

      if (line == NULL)
        continue;
      g_string_append (out, separator);
      gemem_json_append_string (out, line);
      separator = ", ";
    }
  g_string_append_c (out, ']');
}

void
gemem_report_json (GString *out, GememResult *const *results, guint n, gboolean points)
{
  g_string_append_printf (out, "{\n  \"schema\": \"%s\",\n  \"version\": %d,\n  \"results\": [\n",
                          GEMEM_JSON_SCHEMA, GEMEM_JSON_VERSION);
  append_results (out, results, n, FALSE, points);
  g_string_append (out, "  ]");
  for (guint i = 0; i < n; i++)
    if (results[i]->not_run)
      {
        g_string_append (out, ",\n  \"not_run\": [\n");
        append_results (out, results, n, TRUE, points);
        g_string_append (out, "  ]");
        break;
      }
  append_summary (out, results, n);
  g_string_append (out, "\n}\n");
}
