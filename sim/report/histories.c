/* histories.c - what --histories changed, in sentences below the table: of which rows, and which kind of history it
 * is.
 */
#include "config.h"

#include "base/text.h"
#include "sim/report/report.h"

#define SENTENCES 10

static gboolean
varies (const GememResult *result)
{
  const guint64 need = result->least_capacity != 0 ? result->least_capacity : result->peak_reserved;

  return result->histories_left_out > 0
         || (result->histories_runs > 0
             && (result->histories_failed > 0 || result->histories_least != need
                 || result->histories_most != need));
}

static gboolean
has_other_trace (GememResult *const *results, guint n)
{
  for (guint i = 1; i < n; i++)
    if (g_strcmp0 (results[i]->trace, results[0]->trace) != 0)
      return TRUE;
  return FALSE;
}

void
gemem_report_append_histories (GString *out, GememResult *const *results, guint n_results)
{
  const gboolean several = has_other_trace (results, n_results);
  guint n = 0, asked = 0;

  for (guint i = 0; i < n_results; i++)
    {
      const GememResult *result = results[i];

      asked += result->histories_runs > 0;
      if (!varies (result) || n++ >= SENTENCES)
        continue;
      g_autofree char *trace = g_path_get_basename (result->trace),
                      *text = g_strdup_printf ("%s%s%s: %s", several ? trace : "",
                                               several ? ", " : "", result->label,
                                               result->histories);
      g_string_append (out, n == 1 ? "\n" : "");
      gemem_text_wrap (out, text, "  ");
    }
  if (n > SENTENCES)
    g_string_append_printf (out, "And %u more rows vary: -f json has them.\n", n - SENTENCES);
  else if (n == 0 && asked > 0)
    g_string_append (out, "\nNo row needs more or less in other histories.\n");
}
