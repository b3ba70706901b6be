/* rows.c - see rows.h. */
#include "config.h"

#include <string.h>

#include "allocators/shorthand.h"
#include "base/text.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

gboolean
gemem_report_same_group (const GememResult *a, const GememResult *b)
{
  return g_strcmp0 (a->trace, b->trace) == 0 && a->device_ordinal == b->device_ordinal;
}

static const char *
trace_of (const GememResult *result)
{
  return result->trace != NULL ? result->trace : "";
}

void
gemem_results_name_devices (GememResult *const *results, guint n)
{
  g_autoptr (GHashTable) first = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) several = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < n; i++)
    {
      const char *trace = trace_of (results[i]);
      const GememResult *other = g_hash_table_lookup (first, trace);

      if (other == NULL)
        g_hash_table_insert (first, (gpointer) trace, results[i]);
      else if (other->device_ordinal != results[i]->device_ordinal)
        g_hash_table_add (several, (gpointer) trace);
    }
  for (guint i = 0; i < n; i++)
    results[i]->names_device |= g_hash_table_contains (several, trace_of (results[i]));
}

static guint
hash_place (gconstpointer data)
{
  const GememResult *result = data;

  return (g_str_hash (trace_of (result)) * 31 + (guint) result->device_ordinal) * 31
         + g_int64_hash (&result->capacity);
}

/* The same trace and device, of one size. */
static gboolean
is_same_place (gconstpointer a, gconstpointer b)
{
  return gemem_report_same_group (a, b)
         && ((const GememResult *) a)->capacity == ((const GememResult *) b)->capacity;
}

void
gemem_results_find_now (GememResult *const *results, guint n)
{
  g_autoptr (GHashTable) now = g_hash_table_new (hash_place, is_same_place);

  for (guint i = 0; i < n; i++)
    if (results[i]->as_now && gemem_result_is_complete (results[i])
        && !g_hash_table_contains (now, results[i]))
      g_hash_table_add (now, results[i]);
  for (guint i = 0; i < n && n > 1; i++)
    {
      const GememResult *found = g_hash_table_lookup (now, results[i]);

      /* from another beginning they do not compare */
      if (found != NULL && results[i]->peak_now == 0
          && found->state_adopted == results[i]->state_adopted)
        results[i]->peak_now = found->peak_reserved;
    }
}

void
gemem_results_find_least (GememResult *const *results, guint n)
{
  g_autoptr (GHashTable) best = g_hash_table_new (hash_place, is_same_place);

  for (guint i = 0; i < n; i++)
    if (gemem_result_is_optimal (results[i]) && gemem_result_is_complete (results[i]))
      g_hash_table_add (best, results[i]);
  for (guint i = 0; i < n; i++)
    {
      const GememResult *found = g_hash_table_lookup (best, results[i]);

      if (found != NULL && found != results[i])
        results[i]->least_placement = found->peak_reserved;
    }
}

/* @name of the trace of @result, with the device that is meant. */
static char *
name_group (const GememResult *result, const char *name)
{
  g_autofree char *line = gemem_text_line (name);

  if (result->device_ordinal == GEMEM_DEVICE_HOST)
    return g_strdup_printf ("%s, host memory", line);
  if (result->device_ordinal > 0 || result->names_device)
    return g_strdup_printf ("%s, device %d", line, result->device_ordinal);
  return g_steal_pointer (&line);
}

char *
gemem_report_group (const GememResult *result)
{
  return name_group (result, result->trace != NULL ? result->trace : "trace");
}

char *
gemem_report_title (const GememResult *result)
{
  g_autofree char *name = g_path_get_basename (result->trace != NULL ? result->trace : "trace");

  return name_group (result, name);
}

guint
gemem_report_group_end (GememResult *const *results, guint n, guint start)
{
  guint end = start + 1;
  while (end < n && gemem_report_same_group (results[start], results[end]))
    end++;
  return end;
}

const char *
gemem_report_row_note (const GememResult *result)
{
  return result->not_run
             ? gemem_result_was_interrupted (result) ? " (not run: interrupted)" : " (not run)"
         : result->failure != NULL ? " (stopped)"
         : result->partial         ? " (partial)"
         : result->ooms > 0 ? result->not_allowed != NULL ? " (failed, not allowed)" : " (failed)"
         : result->not_allowed != NULL ? " (not allowed)"
                                       : "";
}

void
gemem_report_append_line (GString *out, const char *text, const char *indent, gboolean whole)
{
  if (whole)
    g_string_append_printf (out, "%s\n", text);
  else
    gemem_text_wrap (out, text, indent);
}

static gboolean
is_shorthand (const char *name)
{
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
    if (gemem_name_is ((*s)->name, (*s)->aliases, name))
      return TRUE;
  return FALSE;
}

char *
gemem_report_meaning (const GememResult *result)
{
  const char *label = result->label != NULL ? result->label : "";
  g_autofree char *name = g_strndup (label, strcspn (label, ": "));
  const char *version;
  GString *meaning;

  if (result->allocator == NULL || result->programs != NULL || !is_shorthand (name))
    return NULL;
  meaning = g_string_new (result->allocator);
  version = gemem_settings_value (result->parameters, "version");
  if (version != NULL)
    g_string_append_printf (meaning, ", version %s", version);
  return g_string_free (meaning, FALSE);
}

void
gemem_report_append_origin (GString *out, const GememOrigin *origin)
{
  g_autofree char *event = origin->initial ? g_strdup ("before")
                           : origin->known ? g_strdup_printf ("%" G_GUINT64_FORMAT, origin->seq)
                                           : g_strdup ("unknown");
  g_string_append_printf (out, "  %12s  ", event);
  gemem_origin_append_short (out, origin->by != NULL ? origin->by : "unknown");
  g_string_append_c (out, '\n');
}

guint
gemem_text_columns_fit (GememTextColumn *columns, guint n, gsize label, gsize width)
{
  gsize total = label;
  for (guint c = 0; c < n; c++)
    total += 2 + columns[c].width;
  while (n > 0 && width > 0 && total > width)
    {
      guint worst = 0;
      for (guint c = 1; c < n; c++)
        if (columns[c].rank >= columns[worst].rank)
          worst = c;
      if (columns[worst].rank == 0)
        break;
      total -= 2 + columns[worst].width;
      memmove (&columns[worst], &columns[worst + 1], (n - worst - 1) * sizeof *columns);
      n--;
    }
  return n;
}

/* A spreadsheet computes what begins so, and is no number. */
static gboolean
is_formula (const char *text)
{
  char *end;

  if (*text == '\0' || strchr ("=+-@\t", *text) == NULL)
    return FALSE;
  g_ascii_strtod (text, &end);
  return *end != '\0' || end == text;
}

void
gemem_csv_append_field (GString *out, const char *text)
{
  g_autoptr (GString) shown = g_string_new (NULL);

  if (text != NULL && is_formula (text))
    g_string_append_c (shown, '\'');
  gemem_text_append_visible (shown, text != NULL ? text : "", -1, FALSE);
  const gboolean quoted = strpbrk (shown->str, ",\"") != NULL;
  if (quoted)
    g_string_append_c (out, '"');
  for (const char *p = shown->str; *p != '\0'; p++)
    {
      if (*p == '"')
        g_string_append_c (out, '"');
      g_string_append_c (out, *p);
    }
  if (quoted)
    g_string_append_c (out, '"');
}

void
gemem_markdown_append_text (GString *out, const char *text)
{
  g_autofree char *line = gemem_text_line (text);

  for (const char *p = line; *p != '\0'; p++)
    {
      if (strchr ("\\|_*`<[", *p) != NULL)
        g_string_append_c (out, '\\');
      g_string_append_c (out, *p);
    }
}
