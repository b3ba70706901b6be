/* report.c - `gemem-sim report`: what advise and compare say of traces, and every block over time, as one
 * page for a browser. */
#include "config.h"

#include "sim/cli/batch-results.h"
#include "sim/cli/batch.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/share.h"
#include "sim/cli/source.h"
#include "sim/cli/table-options.h"

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_report;

  if (!gemem_want_arguments (&gemem_command_report, arguments, 1, 10000, error))
    return 2;
  gemem_outputs.page = gemem_outputs.report != NULL ? gemem_outputs.report : (char *) "report.html";
  gemem_outputs.report = NULL;
  return gemem_batch_run (arguments, GEMEM_BATCH_CHOICES, NULL, FALSE, error);
}

const GememCommand gemem_command_report = {
  .name = "report",
  .synopsis = "TRACE...",
  .summary = "Write one page for a browser: the answer, the table, every block over time",
  .description =
      "The page is one file (report.html, or as -o says). It needs neither network nor server.\n"
      "It holds the answer of 'advise', the table of 'compare', memory over time, a map of "
      "addresses,\n"
      "what was where at any moment, and who held it. -a chooses the rows, as for 'compare'.\n"
      "Of a long recording the small and short blocks are left out; the page says how many.",
  .examples = "  gemem-sim report step.gmt -o report.html\n"
              "      then open report.html\n"
              "  gemem-sim report step.gmt -a pytorch-caching -a bfc -o report.html\n"
              "      two allocators beside each other\n",
  .options = { gemem_rows_entries, gemem_table_entries, gemem_batch_entries, gemem_plot_entries,
               gemem_share_entries, gemem_source_entries },
  .run = run,
};
