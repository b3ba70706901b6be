/* convert.c - `gemem-sim convert`: any trace to another format, any graph to another format of
 * graphs or to a trace. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "sim/cli/options.h"
#include "sim/cli/output-files.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"
#include "traces/anonymous/anonymous.h"

static char *format, *output, *anonymous;
static char **notes;

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write FILE; the same as OUTPUT", "FILE" },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Write FORMAT whatever the extension of OUTPUT",
    "FORMAT" },
  { "note", 0, 0, G_OPTION_ARG_STRING_ARRAY, &notes,
    "Keep KEY=VALUE with the trace: where it comes from, how it was made; repeatable",
    "KEY=VALUE" },
  { "anonymous", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_STRING, &anonymous,
    "Write a trace that can be given to others: without directories, users and hosts (paths, the "
    "default), or without any name (names)",
    "paths|names" },
  { NULL }
};

typedef void (*AddNote) (gpointer target, const char *key, const char *value);

static void
add_to_trace (gpointer reader, const char *key, const char *value)
{
  gemem_trace_info_note (&((GememTraceReader *) reader)->info, key, "%s", value);
}

static void
add_to_anonymous (gpointer reader, const char *key, const char *value)
{
  gemem_anonymous_note (reader, key, value);
}

static void
add_to_graph (gpointer graph, const char *key, const char *value)
{
  gemem_graph_note (graph, key, "%s", value);
}

/* Adds --note and the source to the provenance of a trace or graph; @convert adds the latter. */
static gboolean
note_provenance (AddNote add, AddNote convert, gpointer target, const GememSourceFile *file,
                 GError **error)
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
  convert (target, "converted", from);
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
  if (anonymous != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--anonymous: %s would be a graph, which keeps its names; end OUTPUT in .gmt or "
                   ".txt for an anonymous trace",
                   path);
      return 2;
    }
  if (!note_provenance (add_to_graph, add_to_graph, file->graph, file, error))
    return 2;
  return gemem_graph_save (file->graph, path, error) ? 0 : 1;
}

/* ---- to a trace */

/* What is to be hidden in @file: what it tells itself, and the user and host of this process, which
 * may be those of the recording.  NULL with @error. */
static GememAnonymizer *
survey (GememSourceFile *file, GError **error)
{
  g_autoptr (GememTraceReader) reader = NULL;
  GememAnonymizer *anonymizer;
  GememAnonymity anonymity;

  if (!gemem_anonymity_parse (anonymous, &anonymity, error)
      || (reader = gemem_source_file_open (file, error)) == NULL)
    return NULL;
  anonymizer = gemem_anonymizer_new (anonymity);
  gemem_anonymizer_hide_user (anonymizer, g_get_user_name ());
  gemem_anonymizer_hide_host (anonymizer, g_get_host_name ());
  if (!gemem_anonymizer_survey (anonymizer, reader, error))
    g_clear_pointer (&anonymizer, gemem_anonymizer_free);
  return anonymizer;
}

static int
copy_trace (GememSourceFile *file, GememAnonymizer *anonymizer, const char *path, GError **error)
{
  g_autoptr (GememTraceReader) reader = gemem_source_file_open (file, error);
  int status = 1;

  if (reader == NULL)
    return status;
  if (anonymizer != NULL)
    reader = gemem_anonymous_open (anonymizer, g_steal_pointer (&reader));
  else if (reader->info.sha256 == NULL)
    reader->info.sha256 = g_strdup (gemem_source_file_sha256 (file));
  if (note_provenance (add_to_trace, anonymizer != NULL ? add_to_anonymous : add_to_trace, reader,
                       file, error)
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
  if (status == 0 && reader->info.pinned > 0)
    gemem_note ("%s: %" G_GUINT64_FORMAT " events of the host's pinned memory are left out; "
                "--trace-device=host writes them",
                file->path, reader->info.pinned);
  return status;
}

static int
convert_trace (GememSourceFile *file, const char *path, GError **error)
{
  GememAnonymizer *anonymizer = anonymous != NULL ? survey (file, error) : NULL;
  int status = 1;

  if (anonymous == NULL || anonymizer != NULL)
    status = copy_trace (file, anonymizer, path, error);
  gemem_anonymizer_free (anonymizer);
  return status;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_convert;
  const GememGraphFormat *graph;
  const guint positional = output != NULL ? 1 : 2;
  GememSourceFile *file;
  int status = 1;

  if (!gemem_want_arguments (&gemem_command_convert, arguments, positional, positional, error))
    return 2;
  const char *path = output != NULL ? output : arguments[1];
  const GememOutputFile target = { output != NULL ? "--output" : "OUTPUT", path };
  if (!gemem_check_outputs (&target, 1, (char *[]){ arguments[0], NULL }, error))
    return 2;
  if (format == NULL && strcmp (path, "-") == 0)
    format = g_strdup ("text");
  graph = graph_target (path);
  if (strcmp (path, "-") != 0 || !isatty (STDOUT_FILENO))
    gemem_progress_begin_reading (arguments[0]);
  file = gemem_source_file_new (arguments[0], error);
  if (file != NULL)
    status = graph != NULL ? convert_graph (file, graph, path, error)
                           : convert_trace (file, path, error);
  gemem_source_file_free (file);
  return status;
}

const GememCommand gemem_command_convert = {
  .name = "convert",
  .synopsis = "INPUT OUTPUT",
  .summary = "Convert a trace or graph; the extension of OUTPUT chooses the format (.gmt native, "
             ".txt text, .json graph)",
  .description =
      "The native format (.gmt) is small, checksummed and fast; its text twin (.txt) "
      "holds the same, an event a line. '-' is\n"
      "standard input or output (text, unless --format says otherwise). OUTPUT is "
      "complete, or it is not there.\n"
      "A graph is written as a graph (.json), or lowered to a trace as --lower says.\n"
      "--anonymous takes out directories ('train.py', or 'd1/train.py' where several have "
      "one; paths from 'site-packages/' on stay).\n"
      "It also takes out names of users and hosts wherever they are a whole word, URLs, network "
      "addresses, process ids, and the sha256 of the source.\n"
      "--anonymous=names takes every name besides: f1, file1.py, op1, phase1, tag1. What is "
      "equal stays equal. Sizes, times,\n"
      "addresses (fidelity is checked against them), line numbers, devices, the "
      "allocator and its settings stay, and so does what --note adds.",
  .examples = "  gemem-sim convert snapshot.pickle step.gmt\n  gemem-sim convert step.gmt - -f "
              "text | head\n"
              "  gemem-sim convert model.json step.gmt --lower=gc:threshold=1GiB,steps=2\n  "
              "gemem-sim convert programs.jsonl.gz#7 program.json\n"
              "  gemem-sim convert --anonymous snapshot.pickle to-send.gmt\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};
