/* generate.c - `gemem-sim generate`: a synthetic workload, written as a trace. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/cli/options.h"
#include "sim/cli/source.h"
#include "workloads/generator.h"

static char *seed_text;
static char *output;
static char *format;

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
    "Write to FILE; the extension chooses the format (default: text to stdout)", "FILE" },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format,
    "Write FORMAT whatever the extension ('gemem-sim list formats')", "FORMAT" },
  { "seed", 's', 0, G_OPTION_ARG_STRING, &seed_text, "Seed of the random numbers (default 0)",
    "N" },
  { NULL }
};

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_generate;
  guint64 seed = 0;
  if (!gemem_want_arguments (&gemem_command_generate, arguments, 1, 1, error))
    return 2;
  if (seed_text != NULL && !gemem_parse_uint (seed_text, &seed, error))
    {
      g_prefix_error (error, "--seed=%s: ", seed_text);
      return 2;
    }
  GememTraceReader *reader = gemem_generator_open (arguments[0], seed, error);
  if (reader == NULL)
    return 2;
  gboolean ok = gemem_copy_trace (reader, output != NULL ? output : "-",
                                  format != NULL   ? format
                                  : output == NULL ? "text"
                                                   : NULL,
                                  error);
  gemem_trace_close (reader);
  return ok ? 0 : 1;
}

const GememCommand gemem_command_generate = {
  .name = "generate",
  .synopsis = "GENERATOR[:KEY=VALUE,...]",
  .summary = "Write a synthetic workload as a trace",
  .description = "'gemem-sim list generators' shows the generators, 'gemem-sim help GENERATOR' the "
                 "parameters of one. The same generator,\n"
                 "parameters and seed give the same trace everywhere.",
  .examples =
      "  gemem-sim generate random:events=100000,live=500 --seed 7 -o random.gmt\n"
      "  gemem-sim generate transformer-train:layers=24,width=1024,sequence=2048 -o train.gmt\n",
  .options = { entries },
  .run = run,
};
