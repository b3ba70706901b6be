/* plot.c - `gemem-sim plot`: pictures of saved results, or of traces that it replays. */
#include "config.h"

#include <string.h>

#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/streams.h"
#include "sim/cli/table-options.h"
#include "sim/plots/plots.h"
#include "sim/report/database.h"
#include "sim/report/report.h"

static char *directory, *format_name, *drawn;

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &directory, "Write into DIR (default: plots)", "DIR" },
  GEMEM_VERBOSE_ENTRY,
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name,
    "Print the results; draws only with --output, too", "table|csv|markdown" },
  { "plot-terminal", 0, 0, G_OPTION_ARG_STRING, &drawn,
    "Draw one of them as text, without gnuplot; pictures only with --output, too",
    GEMEM_PLOTS_AS_TEXT },
  { NULL }
};

static gboolean
print_results (const GPtrArray *results, GError **error)
{
  GememReportOptions options = { .width = gemem_terminal_width () };
  g_autoptr (GString) text = g_string_new (NULL);
  GememReportFormat format;

  if (!gemem_report_format_parse (format_name, &format, error)
      || !gemem_table_options (&options, error))
    return FALSE;
  gemem_report_write (text, format, (GememResult *const *) results->pdata, results->len, &options);
  return gemem_put (NULL, text->str, text->len, error);
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_plot;
  GememPlotStyle style;
  gboolean rendered;
  if (!gemem_want_arguments (&gemem_command_plot, arguments, 1, 10000, error)
      || !gemem_plot_options (&style, error)
      || (drawn != NULL && !gemem_plot_text_parse (drawn, NULL, error)))
    return 2;
  g_autoptr (GPtrArray)
      results = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
  for (char **path = arguments; *path != NULL; path++)
    if (!gemem_stream_claim (*path, error)
        || !(gemem_is_database (*path) ? gemem_results_read_database (*path, results, error)
                                       : gemem_results_read_json (*path, results, error)))
      return 1;
  gemem_results_name_devices ((GememResult *const *) results->pdata, results->len);
  if (format_name != NULL && !print_results (results, error))
    return 2;
  if (drawn != NULL
      && !gemem_draw_results ((GememResult *const *) results->pdata, results->len, drawn, error))
    return 1;
  if ((format_name != NULL || drawn != NULL) && directory == NULL)
    return 0;
  if (directory == NULL)
    directory = g_strdup ("plots");
  if (!gemem_plot_write (directory, &style, (GememResult *const *) results->pdata, results->len,
                         NULL, &rendered, error))
    return 1;
  g_autofree char *text = g_strdup_printf ("%s/\n", directory);
  if (!rendered)
    gemem_warn (GEMEM_NOT_DRAWN, directory);
  return format_name != NULL || drawn != NULL || gemem_put (NULL, text, strlen (text), error) ? 0
                                                                                              : 1;
}

const GememCommand gemem_command_plot = {
  .name = "plot",
  .synopsis = "RESULT.json...",
  .summary = "Draw saved results, or print them in another format",
  .description = "The results are those of 'replay' or 'compare' with --format=json, or the "
                 "database of 'sweep'. Data (.dat)\n"
                 "and gnuplot scripts (.gp) are always written; pictures (--plot-style, "
                 "--plot-format) when gnuplot is there.",
  .examples =
      "  gemem-sim compare step.gmt -f json -o step.json && gemem-sim plot step.json -o plots\n"
      "  gemem-sim plot step.json -f markdown\n"
      "      the same results as a table in Markdown\n",
  .options = { entries, gemem_table_entries, gemem_plot_entries },
  .run = run,
};
