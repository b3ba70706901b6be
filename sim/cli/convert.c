/* convert.c - `gemem-sim convert`: any trace to another format, any graph to another format of
 * graphs or to a trace. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "sim/cli/options.h"
#include "sim/cli/output-files.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"

static char *format;
static char **notes;

static const GOptionEntry entries[] = {
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Write FORMAT whatever the extension of OUTPUT",
    "FORMAT" },
  { "note", 0, 0, G_OPTION_ARG_STRING_ARRAY, &notes,
    "Keep KEY=VALUE with the trace: where it comes from, how it was made; repeatable",
    "KEY=VALUE" },
  { NULL }
};

typedef void (*AddNote) (gpointer target, const char *key, const char *value);

static void
add_to_trace (gpointer info, const char *key, const char *value)
{
  gemem_trace_info_note (info, key, "%s", value);
}

static void
add_to_graph (gpointer graph, const char *key, const char *value)
{
  gemem_graph_note (graph, key, "%s", value);
}

/* Copies the provenance of a trace or graph to the output. */
static gboolean
note_provenance (AddNote add, gpointer target, const GememSourceFile *file, GError **error)
{
  /* of a pipe, as bash's /dev/fd/63, the last part tells nothing */
  g_autofree char *base = file->once ? g_strdup (file->path) : g_path_get_basename (file->path);
  g_autofree char *from = NULL;

  for (char **note = notes; note != NULL && *note != NULL; note++)
    {
      const char *equal = strchr (*note, '=');
      if (equal == NULL || equal == *note)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "--note=%s: not KEY=VALUE; write for example --note 'model=GPT-2 small'",
                       *note);
          return FALSE;
        }
      g_autofree char *key = g_strndup (*note, (gsize) (equal - *note));
      add (target, key, equal + 1);
    }
  from = g_strdup_printf ("from %s by gemem-sim " PACKAGE_VERSION, base);
  add (target, "converted", from);
  return TRUE;
}

/* ---- to a graph */

/* The graph format of --format, or else of the extension of @path; NULL: the output is a trace. */
static const GememGraphFormat *
graph_target (const char *path)
{
  const char *dot = strrchr (path, '.');

  if (format != NULL)
    return gemem_graph_format_find (format, NULL);
  for (const GememGraphFormat *const *f = gemem_graph_formats (); dot != NULL && *f != NULL; f++)
    {
      g_auto (GStrv) extensions = g_strsplit ((*f)->extensions, "|", -1);

      if ((*f)->write != NULL && g_strv_contains ((const char *const *) extensions, dot + 1))
        return *f;
    }
  return NULL;
}

static int
convert_graph (GememSourceFile *file, const GememGraphFormat *target, const char *path,
               GError **error)
{
  if (file->graph == NULL
      && !gemem_source_is_trace (file,
                                 error)) /* missing or damaged: a better error than "no graph" */
    return 1;
  if (file->graph == NULL || gemem_source_lowered ())
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: %s is a %s, and traces do not become graphs; end OUTPUT in .gmt or .txt",
                   path, file->path,
                   file->graph == NULL ? "trace" : "graph to be lowered to a trace");
      return 2;
    }
  if (target->write == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: this format can only be read; name gemem-graph", target->base.name);
      return 2;
    }
  if (!note_provenance (add_to_graph, file->graph, file, error))
    return 2;
  return gemem_graph_save (file->graph, path, error) ? 0 : 1;
}

/* ---- to a trace */

static int
convert_trace (GememSourceFile *file, const char *path, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);
  int status = 1;

  if (reader == NULL)
    return status;
  if (reader->info.sha256 == NULL)
    reader->info.sha256 = g_strdup (gemem_source_file_sha256 (file));
  if (note_provenance (add_to_trace, &reader->info, file, error)
      && gemem_copy_trace (reader, path, format, error))
    status = 0;
  if (status == 0 && (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0)
    {
      gemem_warn ("%s: the end is missing; %s holds what was whole and says so", file->path, path);
      status = 3;
    }
  if (status == 0 && reader->info.ambiguities > 0)
    gemem_note ("%s: %" G_GUINT64_FORMAT
                " blocks from before the recording had to be inferred; they are marked",
                file->path, reader->info.ambiguities);
  gemem_trace_close (reader);
  return status;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_convert;
  const GememGraphFormat *graph;
  GememSourceFile *file;
  int status = 1;

  if (!gemem_want_arguments (&gemem_command_convert, arguments, 2, 2, error))
    return 2;
  const GememOutputFile target = { "OUTPUT", arguments[1] };
  if (!gemem_check_outputs (&target, 1, (char *[]){ arguments[0], NULL }, error))
    return 2;
  if (format == NULL && strcmp (arguments[1], "-") == 0)
    format = g_strdup ("text");
  graph = graph_target (arguments[1]);
  if (strcmp (arguments[1], "-") != 0 || !isatty (STDOUT_FILENO))
    gemem_progress_begin_reading (arguments[0]);
  file = gemem_source_file_new (arguments[0], error);
  if (file != NULL)
    status = graph != NULL ? convert_graph (file, graph, arguments[1], error)
                           : convert_trace (file, arguments[1], error);
  gemem_source_file_free (file);
  return status;
}

const GememCommand gemem_command_convert = {
  .name = "convert",
  .synopsis = "INPUT OUTPUT",
  .summary = "Convert a trace or graph; the extension of OUTPUT chooses the format (.gmt native, "
             ".txt text, .json graph)",
  .description = "The native format (.gmt) is small, checksummed and fast; its text twin (.txt) "
                 "holds the same, an event a line. '-' is\n"
                 "standard input or output (text, unless --format says otherwise). OUTPUT is "
                 "complete, or it is not there.\n"
                 "A graph is written as a graph (.json), or lowered to a trace as --lower says.",
  .examples = "  gemem-sim convert snapshot.pickle step.gmt\n  gemem-sim convert step.gmt - -f "
              "text | head\n"
              "  gemem-sim convert model.json step.gmt --lower=gc:threshold=1GiB,steps=2\n  "
              "gemem-sim convert programs.jsonl.gz#7 program.json\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};
