/* compare.c - `gemem-sim compare`: traces through many allocators, a row each. */
#include "config.h"

#include "sim/cli/batch.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/share.h"
#include "sim/cli/source.h"
#include "sim/cli/table-options.h"

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_compare;
  if (!gemem_want_arguments (&gemem_command_compare, arguments, 1, 10000, error))
    return 2;
  return gemem_batch_run (arguments, GEMEM_BATCH_CHOICES, NULL, FALSE, error);
}

const GememCommand gemem_command_compare = {
  .name = "compare",
  .synopsis = "TRACE...",
  .summary = "Replay traces with many settings or allocators, a row each",
  .description =
      "Without -a the rows are what the recorded program could choose: its allocator as it was, "
      "and each setting that needs less.\n"
      "--zoo, or a trace that does not say who made it: every allocator of 'gemem-sim list', with "
      "its defaults,\nbut those of host memory.\n"
      "Settings recorded in a trace are the defaults of the allocator that recorded it. A graph is "
      "lowered to a trace as --lower says.\n"
      "Runs that failed, or that the system's manual does not allow, stand last: they did less.\n"
      "With --share-device all traces run at once on one device, a row for each combination of "
      "-a.\n"
      "Below the tables stands which real allocator needs least; with --find-capacity, which fits "
      "on the smallest device.\n"
      "Instead of traces, databases that 'sweep' wrote: a row for each run.",
  .examples =
      "  gemem-sim compare step.gmt --plots plots\n"
      "      what it could choose, a table and pictures\n"
      "  gemem-sim compare step.gmt --sort modelled_time --columns peak_reserved,modelled_time "
      "-o step.csv\n"
      "      two measures, the fastest first, as CSV\n"
      "  gemem-sim compare step.gmt -a 'paddle-*' -a "
      "'pytorch-caching:max_split_size_mb=64|128|256'\n"
      "      a family, and one allocator with three settings\n"
      "  gemem-sim compare model.json --lower='paddle:eager_delete_tensor_gb=-1|0|1' -a "
      "paddle-auto-growth --plots plots\n"
      "      what PaddlePaddle's garbage collection saves: a row and a line for each threshold\n",
  .options = { gemem_rows_entries, gemem_table_entries, gemem_batch_entries, gemem_plot_entries,
               gemem_share_entries, gemem_source_entries },
  .run = run,
};
