/* convert.c - `gemem-sim convert`: any trace to another format. */
#include "config.h"

#include "sim/cli/batch.h"

static char *format;

static const GOptionEntry entries[] = {
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Write FORMAT whatever the extension of OUTPUT", "FORMAT" },
  { NULL }
};

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_convert;
  if (!gemem_want_arguments (&gemem_command_convert, arguments, 2, 2, error))
    return 2;
  GememSourceFile *file = gemem_source_file_new (arguments[0], error);
  GememTraceReader *reader = file != NULL ? gemem_source_file_open (file, error) : NULL;
  int status = reader != NULL && gemem_copy_trace (reader, arguments[1], format, error) ? 0 : 1;
  if (status == 0 && (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0)
    {
      gemem_warn ("%s: the end is missing; %s holds what was whole and says so", arguments[0], arguments[1]);
      status = 3;
    }
  if (status == 0 && reader->info.ambiguities > 0)
    gemem_note ("%s: %" G_GUINT64_FORMAT " blocks from before the recording had to be inferred; they are marked", arguments[0],
                reader->info.ambiguities);
  if (reader != NULL)
    gemem_trace_close (reader);
  gemem_source_file_free (file);
  return status;
}

const GememCommand gemem_command_convert = {
  .name = "convert",
  .synopsis = "INPUT OUTPUT",
  .summary = "Convert a trace; the extension of OUTPUT chooses the format (.gmt native, .txt text)",
  .description = "The native format (.gmt) is small, checksummed and fast; its text twin (.txt) holds the same, an event a line. '-' is\n"
                 "standard input or output. OUTPUT is complete, or it is not there.",
  .examples = "  gemem-sim convert snapshot.pickle step.gmt\n  gemem-sim convert step.gmt - -f text | head\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};
