/* replay.c - `gemem-sim replay`: one trace through one allocator, reported in full. */
#include "config.h"

#include "sim/cli/batch-results.h"
#include "sim/cli/batch.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/share.h"
#include "sim/cli/source.h"

static char *events_path, *calls_path, *record_path;
static gboolean stop_at_oom;

static const GOptionEntry entries[] = {
  { "events", 0, 0, G_OPTION_ARG_FILENAME, &events_path,
    "Write every decision as CSV: seq,kind,id,size,address,block,reserved,device", "FILE" },
  { "calls", 0, 0, G_OPTION_ARG_FILENAME, &calls_path,
    "Write every device call as CSV: seq,call,stream,size,address,ok,device", "FILE" },
  { "record", 0, 0, G_OPTION_ARG_FILENAME, &record_path,
    "Write the run as a recording: .gmt, .txt, .pickle for PyTorch's memory_viz, .prof for pprof",
    "FILE" },
  { "stop-at-oom", 0, 0, G_OPTION_ARG_NONE, &stop_at_oom, "End at the first request that fails",
    NULL },
  { NULL }
};

static void
setup (GememJob *job)
{
  job->events_path = g_strcmp0 (events_path, "-") == 0 ? "/dev/stdout" : events_path;
  job->calls_path = g_strcmp0 (calls_path, "-") == 0 ? "/dev/stdout" : calls_path;
  job->record_path = record_path;
  job->stop_at_oom = stop_at_oom;
  job->keep_idle = TRUE;
  job->keep_pins = gemem_outputs.form == GEMEM_FORMAT_JSON;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_replay;
  if (!gemem_want_arguments (&gemem_command_replay, arguments, 1, gemem_share_wanted () ? 10000 : 1,
                             error))
    return 2;
  return gemem_batch_run (arguments, NULL, setup, TRUE, error);
}

const GememCommand gemem_command_replay = {
  .name = "replay",
  .synopsis = "TRACE...",
  .summary = "Replay a trace through an allocator and report everything",
  .description =
      "TRACE is a file in any format of 'gemem-sim list formats', plain, .gz or .zst, or a pipe; "
      "'-' is standard input. A graph becomes a\n"
      "trace first, as --lower says; FILE#N is the N-th graph of a file, from 0. Without -a the\n"
      "allocator that recorded the trace is used, with the settings found in the trace. Several "
      "-a give a report each.\n"
      "With --share-device several traces, of programs that run at once, share one simulated "
      "device: one -a for all, or one for each trace in their order.\n"
      "Where the trace has call stacks or tags, the report names the line, operator or tag that "
      "allocated what it tells of.\n"
      "It tells of failed requests and what stands in their way, why memory is held and not in "
      "use, the largest blocks at the live peak and those never freed, the segment map.",
  .examples =
      "  gemem-sim replay step.gmt -a pytorch-caching\n"
      "      one training step, the defaults of PyTorch\n"
      "  gemem-sim replay step.gmt -a pytorch-caching:max_split_size_mb=128 -d "
      "sim:capacity=16GiB --fail-on-oom\n"
      "      does it fit in 16 GiB with this setting? exit status 4 if not\n"
      "  gemem-sim replay snapshot.pickle --events decisions.csv\n"
      "      from the state in which the recording began, every decision in a file\n"
      "  gemem-sim replay --share-device train.gmt serve.gmt -a pytorch-caching -a tf-bfc -d "
      "sim:capacity=24GiB\n"
      "      training and serving on one GPU: who runs out, and what each holds then\n"
      "  gemem-sim replay step.gmt -a ge-expandable -d cuda:0 --calls calls.csv\n"
      "      on a GPU, every device call in a file; replayed without the GPU by -d "
      "sim:calls=calls.csv\n",
  .options = { entries, gemem_batch_entries, gemem_plot_entries, gemem_share_entries,
               gemem_source_entries },
  .run = run,
};
