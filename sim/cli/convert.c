/* convert.c - `gemem-sim convert`: any trace to another format. */
#include "config.h"

#include <string.h>

#include "sim/cli/batch.h"

static char *format;
static char **notes;

static const GOptionEntry entries[] = {
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Write FORMAT whatever the extension of OUTPUT", "FORMAT" },
  { "note", 0, 0, G_OPTION_ARG_STRING_ARRAY, &notes, "Keep KEY=VALUE with the trace: where it comes from, how it was made; repeatable", "KEY=VALUE" },
  { NULL }
};

/* Where the trace comes from travels with it. */
static gboolean
note_provenance (GememTraceInfo *info, GememSourceFile *file, GError **error)
{
  g_autofree char *base = g_path_get_basename (file->path);
  for (char **note = notes; note != NULL && *note != NULL; note++)
    {
      const char *equal = strchr (*note, '=');
      if (equal == NULL || equal == *note)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--note=%s: not KEY=VALUE; write for example --note 'model=GPT-2 small'", *note);
          return FALSE;
        }
      g_autofree char *key = g_strndup (*note, (gsize) (equal - *note));
      gemem_trace_info_note (info, key, "%s", equal + 1);
    }
  gemem_trace_info_note (info, "converted", "from %s by gemem-sim " PACKAGE_VERSION, base);
  if (info->sha256 == NULL)
    info->sha256 = g_strdup (gemem_source_file_sha256 (file));
  return TRUE;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_convert;
  if (!gemem_want_arguments (&gemem_command_convert, arguments, 2, 2, error))
    return 2;
  const GememOutputFile target = { "OUTPUT", arguments[1] };
  if (!gemem_check_outputs (&target, 1, (char *[]){ arguments[0], NULL }, error))
    return 2;
  if (format == NULL && strcmp (arguments[1], "-") == 0)
    format = g_strdup ("text");
  GememSourceFile *file = gemem_source_file_new (arguments[0], error);
  GememTraceReader *reader = file != NULL ? gemem_source_file_open (file, error) : NULL;
  int status = 1;
  if (reader != NULL && note_provenance (&reader->info, file, error) && gemem_copy_trace (reader, arguments[1], format, error))
    status = 0;
  if (status == 0 && (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0)
    {
      gemem_warn ("%s: the end is missing; %s holds what was whole and says so", file->path, arguments[1]);
      status = 3;
    }
  if (status == 0 && reader->info.ambiguities > 0)
    gemem_note ("%s: %" G_GUINT64_FORMAT " blocks from before the recording had to be inferred; they are marked", file->path,
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
                 "standard input or output (text, unless --format says otherwise). OUTPUT is complete, or it is not there.\n"
                 "A graph is lowered to a trace as --lower says.",
  .examples = "  gemem-sim convert snapshot.pickle step.gmt\n  gemem-sim convert step.gmt - -f text | head\n"
              "  gemem-sim convert model.json step.gmt --lower=gc:threshold=1GiB,steps=2\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};
