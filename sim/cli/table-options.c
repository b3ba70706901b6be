/* table-options.c - see table-options.h; shared by compare, which makes results, and plot, which
 * prints saved ones. */
#include "config.h"

#include "sim/cli/cli.h"
#include "sim/cli/table-options.h"

gboolean gemem_table_verbose;
static gboolean all;
static char *sort, *columns;
static GPtrArray *chosen; /* of --columns; GememMeasure, NULL at the end */

const GOptionEntry gemem_table_entries[] = {
  { "all", 0, 0, G_OPTION_ARG_NONE, &all,
    "A row for every run: in tables for people, runs that are equal in every measure share one",
    NULL },
  { "sort", 0, 0, G_OPTION_ARG_STRING, &sort,
    "Order the runs of a trace by MEASURE ('gemem-sim help measures'), the best first, "
    "or with -MEASURE the worst. Runs that failed or are not allowed come last in any case",
    "MEASURE" },
  { "columns", 0, 0, G_OPTION_ARG_STRING, &columns,
    "Show these measures, separated by commas, and no others (table, Markdown, CSV)", "LIST" },
  { NULL }
};

static gboolean
choose_columns (GError **error)
{
  g_auto (GStrv) names = g_strsplit (columns, ",", -1);

  if (*columns == '\0')
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "--columns names no measure; see 'gemem-sim help measures'");
      return FALSE;
    }
  g_clear_pointer (&chosen, g_ptr_array_unref);
  chosen = g_ptr_array_new ();
  for (char **name = names; *name != NULL; name++)
    {
      const GememMeasure *measure = gemem_measure_find (g_strstrip (*name), error);
      if (measure == NULL)
        {
          g_prefix_error (error, "--columns=%s: ", columns);
          return FALSE;
        }
      if (!g_ptr_array_find (chosen, measure, NULL))
        g_ptr_array_add (chosen, (gpointer) measure);
    }
  g_ptr_array_add (chosen, NULL);
  return TRUE;
}

gboolean
gemem_table_options (GememReportOptions *options, GError **error)
{
  options->all = all;
  options->verbose = gemem_table_verbose;
  if (sort != NULL)
    {
      options->reverse = *sort == '-';
      options->sort = gemem_measure_find (sort + options->reverse, error);
      if (options->sort == NULL)
        {
          g_prefix_error (error, "--sort=%s: ", sort);
          return FALSE;
        }
    }
  if (columns != NULL && !choose_columns (error))
    return FALSE;
  options->columns = chosen != NULL ? (const GememMeasure *const *) chosen->pdata : NULL;
  return TRUE;
}
