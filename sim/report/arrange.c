/* arrange.c - see arrange.h.
 *
 * Why rows are folded: half of the allocators of one system differ in nothing on most workloads,
 * and a reader of twenty rows then looks for a difference that is not there.  Equal means equal:
 * bytes, counts and ratios exactly, times in the digits shown, since the device profile behind them
 * is no more exact.  Measures that the width hides count too.  Host clock times are never equal.
 */
#include "config.h"

#include <string.h>

#include "sim/report/arrange.h"
#include "sim/report/rows.h"

gboolean
gemem_report_is_brief (const GememReportOptions *options)
{
  return options != NULL && !options->verbose;
}

/* ---- order */

static int
compare_results (gconstpointer a, gconstpointer b, gpointer data)
{
  const GememReportOptions *options = data;
  const GememResult *x = *(GememResult *const *) a, *y = *(GememResult *const *) b;
  /* what did not serve everything, then what did not run */
  const int failed = (!gemem_result_is_complete (x) + x->not_run)
                     - (!gemem_result_is_complete (y) + y->not_run);

  if (failed != 0 || options == NULL || options->sort == NULL)
    return failed;
  return gemem_measure_compare (options->sort, options->reverse, x, y);
}

GPtrArray *
gemem_report_order (GememResult *const *results, guint n, const GememReportOptions *options,
                    gboolean failed_last)
{
  GPtrArray *ordered = g_ptr_array_sized_new (n);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (ordered, results[i]);
  if (!failed_last && (options == NULL || options->sort == NULL))
    return ordered;
  for (guint start = 0, end; start < n; start = end)
    {
      end = gemem_report_group_end (results, n, start);
      g_qsort_with_data (&ordered->pdata[start], (gint) (end - start), sizeof (gpointer),
                         compare_results, (gpointer) options); /* stable */
    }
  return ordered;
}

/* ---- rows */

static gboolean
same_value (const GememMeasure *measure, const GememResult *a, const GememResult *b)
{
  char x[GEMEM_MEASURE_TEXT], y[GEMEM_MEASURE_TEXT];

  if (measure->unit == GEMEM_UNIT_NS)
    return strcmp (gemem_measure_text (measure, a, x), gemem_measure_text (measure, b, y)) == 0;
  return strcmp (gemem_measure_exact (measure, a, x), gemem_measure_exact (measure, b, y)) == 0;
}

static gboolean
same_row (const GememResult *a, const GememResult *b, GememTable table,
          const GememReportOptions *options)
{
  const gboolean brief = gemem_report_is_brief (options);
  const GememMeasure *const *columns = options != NULL ? options->columns : NULL;
  gboolean same = a->not_run == b->not_run && !a->not_run
                  && strcmp (gemem_report_row_note (a), gemem_report_row_note (b)) == 0
                  && g_strcmp0 (a->failure, b->failure) == 0;

  for (const GememMeasure *measure = gemem_measures; same && measure->key != NULL; measure++)
    if (brief ? (measure->traits & GEMEM_TRAIT_BRIEF) != 0 && columns == NULL
              : (measure->rank >= GEMEM_RANK_CALLS) == (table == GEMEM_TABLE_CALLS))
      same = same_value (measure, a, b);
  for (; same && columns != NULL && *columns != NULL; columns++)
    same = same_value (*columns, a, b);
  return same;
}

/* Whether @value is the default of @param, as text. */
static gboolean
is_default (const GememParam *param, const char *value)
{
  return param != NULL && param->default_text != NULL
         && g_ascii_strcasecmp (param->default_text, value) == 0;
}

/* The label of @result, marked if it is what the program has now, and if @one, without the name of the
 * allocator, which is that of all rows; without defaults, unless they are @chosen instead of what the
 * program has; g_free(). */
static char *
short_label (const GememResult *result, gboolean one, gboolean chosen)
{
  const char *now = result->as_now ? " (now)" : "";
  const GememAllocatorClass *klass = gemem_allocator_find (result->allocator, NULL);
  /* a line that was pasted has no name before a colon */
  const char *mark = strpbrk (result->label, ":=(");
  const char *colon = mark != NULL && *mark == ':' ? mark : NULL;
  const char *end = strstr (result->label, " (");
  GString *label;

  if (klass == NULL || colon == NULL || (end != NULL && end < colon) || result->programs != NULL)
    return g_strconcat (result->label, now, NULL);
  end = end != NULL ? end : result->label + strlen (result->label);
  g_autofree char *settings = g_strndup (colon + 1, (gsize) (end - colon - 1));
  g_auto (GStrv) pairs = g_strsplit (settings, ",", -1);
  label = g_string_new (NULL);
  for (guint i = 0; pairs[i] != NULL; i++)
    {
      g_autofree char *key = g_strndup (pairs[i], strcspn (pairs[i], "="));
      const char *value = strchr (pairs[i], '=');

      if (chosen || value == NULL
          || !is_default (gemem_params_find (klass->params, key), value + 1))
        g_string_append_printf (label, "%s%s", label->len > 0 ? "," : "", pairs[i]);
    }
  if (label->len == 0 || !one)
    {
      g_string_insert (label, 0, label->len > 0 ? ":" : "");
      g_string_insert_len (label, 0, result->label, (gssize) (colon - result->label));
    }
  g_string_append_printf (label, "%s%s", end, now);
  return g_string_free (label, FALSE);
}

static gboolean
is_one_allocator (GememResult *const *results, guint n)
{
  for (guint i = 1; i < n; i++)
    if (g_strcmp0 (results[i]->allocator, results[0]->allocator) != 0)
      return FALSE;
  return TRUE;
}

static void
free_row (gpointer data)
{
  GememReportRow *row = data;

  g_ptr_array_unref (row->labels);
  g_free (row);
}

/* Takes @label; a setting that was given twice, or is the default, is named once. */
static void
add_label (GPtrArray *labels, char *label)
{
  if (g_ptr_array_find_with_equal_func (labels, label, g_str_equal, NULL))
    g_free (label);
  else
    g_ptr_array_add (labels, label);
}

GPtrArray *
gemem_report_rows (GememResult *const *results, guint n, GememTable table,
                   const GememReportOptions *options)
{
  GPtrArray *rows = g_ptr_array_new_with_free_func (free_row);
  const gboolean all = options != NULL && options->all;
  const gboolean brief = gemem_report_is_brief (options);
  const gboolean one = brief && is_one_allocator (results, n);

  for (guint i = 0; i < n; i++)
    {
      GememReportRow *row = NULL;

      if (results[i]->not_run && table == GEMEM_TABLE_CALLS)
        continue;
      for (guint r = 0; r < rows->len && row == NULL && !all; r++)
        if (same_row (((GememReportRow *) rows->pdata[r])->result, results[i], table, options))
          row = rows->pdata[r];
      if (row == NULL)
        {
          row = g_new (GememReportRow, 1);
          *row = (GememReportRow){ results[i], g_ptr_array_new_with_free_func (g_free) };
          g_ptr_array_add (rows, row);
        }
      add_label (row->labels, brief ? short_label (results[i], one, options->choices)
                                    : g_strdup (results[i]->label));
    }
  return rows;
}

/* "ge:policy=0|2" or "ge (capacity=8GiB|16GiB)" if all labels of @row are equal but for the value
 * of one parameter, as behind -a or -d; else NULL. */
static char *
listed_values (const GememReportRow *row)
{
  const char *first = row->labels->pdata[0];
  gsize before = strlen (first), after = before; /* characters that all have in common */

  for (guint i = 1; i < row->labels->len; i++)
    {
      const char *label = row->labels->pdata[i];
      const gsize length = strlen (label), most = MIN (length, strlen (first));
      gsize same = 0;
      while (same < most && label[same] == first[same])
        same++;
      before = MIN (before, same);
      for (same = 0; same < most && label[length - 1 - same] == first[strlen (first) - 1 - same];)
        same++;
      after = MIN (after, same);
    }
  while (before > 0 && first[before - 1] != '=')
    before--;
  while (after > 0 && strchr (",)", first[strlen (first) - after]) == NULL)
    after--;
  if (before == 0 || row->labels->len == 1)
    return NULL;
  GString *label = g_string_new_len (first, (gssize) before);
  for (guint i = 0; i < row->labels->len; i++)
    {
      const char *value = (const char *) row->labels->pdata[i] + before;
      const gsize length = strlen (value) - MIN (strlen (value), after);
      g_string_append (label, i > 0 ? "|" : "");
      g_string_append_len (label, value, (gssize) length);
      if (memchr (value, ',', length) != NULL || memchr (value, ' ', length) != NULL)
        {
          g_string_free (label, TRUE);
          return NULL;
        }
    }
  g_string_append (label, first + strlen (first) - after);
  return g_string_free (label, FALSE);
}

char *
gemem_report_row_label (const GememReportRow *row, guint max)
{
  g_autofree char *listed = listed_values (row);
  const gsize least = strlen (row->labels->pdata[0]) + strlen (" + 1 more");
  if (listed != NULL && (max == 0 || strlen (listed) <= MAX (max, least)))
    return g_steal_pointer (&listed);
  GString *label = g_string_new (row->labels->pdata[0]);

  for (guint i = 1; i < row->labels->len; i++)
    {
      const char *next = row->labels->pdata[i];
      const guint after = row->labels->len - i - 1; /* names that would be left out */
      g_autofree char *more = g_strdup_printf (" + %u more", after);
      const glong length = g_utf8_strlen (label->str, -1) + 3 + g_utf8_strlen (next, -1)
                           + (after > 0 ? (glong) strlen (more) : 0);

      if (max > 0 && length > (glong) max)
        {
          g_string_append_printf (label, " + %u more", after + 1);
          break;
        }
      g_string_append_printf (label, " = %s", next);
    }
  return g_string_free (label, FALSE);
}

/* ---- columns */

gboolean
gemem_report_shows_times (const GememReportOptions *options)
{
  gboolean any = options == NULL || (options->verbose && options->columns == NULL);

  for (guint i = 0; !any && options->columns != NULL && options->columns[i] != NULL; i++)
    any = options->columns[i]->unit == GEMEM_UNIT_NS;
  return any;
}

GPtrArray *
gemem_report_columns (GememResult *const *results, guint n, GememTable table,
                      const GememReportOptions *options)
{
  GPtrArray *columns = g_ptr_array_new ();

  if (options != NULL && options->columns != NULL)
    {
      for (guint i = 0; table == GEMEM_TABLE_MEASURES && options->columns[i] != NULL; i++)
        g_ptr_array_add (columns, (gpointer) options->columns[i]);
      return columns;
    }
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    if (gemem_measure_is_column (measure, table, !gemem_report_is_brief (options), results, n))
      g_ptr_array_add (columns, (gpointer) measure);
  return columns;
}
