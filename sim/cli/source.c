/* source.c - opens traces and graphs by the options that all reading commands share.
 *
 * Every job opens its trace anew, so pipes and standard input are first spooled (streams.h).  A
 * graph is loaded once, shared by all jobs, and lowered to a trace each time (--lower).
 */
#include "config.h"

#include <string.h>

#include "base/io/input.h"
#include "base/units.h"
#include "graphs/format.h"
#include "graphs/meaning.h"
#include "sim/cli/environment.h"
#include "sim/cli/flags.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"
#include "sim/cli/streams.h"
#include "sim/search/recorder.h"
#include "traces/pytorch/version.h"
#include "traces/summary.h"
#include "workloads/lowering.h"

static char *trace_format;
static char *trace_device;
static char *lowering, **dim_texts;
static gboolean allow_partial, without_initial;
static char *torch_version;
static const GPtrArray *environment; /* GememSetting: for the lowerings; NULL: none */

const GOptionEntry gemem_source_entries[] = {
  { "trace-format", 0, 0, G_OPTION_ARG_STRING, &trace_format,
    "Read the trace as FORMAT instead of recognising it (gemem-sim list formats)", "FORMAT" },
  { "lower", 0, 0, G_OPTION_ARG_STRING, &lowering,
    "How a graph becomes a trace (gemem-sim list lowerings; default: eager); replay and compare "
    "take globs and lists (a=1|2)",
    "NAME[:KEY=VALUE,...]" },
  { "dim", 0, 0, G_OPTION_ARG_STRING_ARRAY, &dim_texts,
    "Number of a dimension that a graph leaves open (batch=8; -1=8 for PaddlePaddle); repeatable",
    "NAME=N" },
  { "trace-device", 0, 0, G_OPTION_ARG_STRING, &trace_device,
    "Only device N of the trace, or 'host' (default: every GPU, or the host if none)", "N" },
  { "version-of-torch", 0, 0, G_OPTION_ARG_STRING, &torch_version,
    "PyTorch that wrote the snapshot (default: what the file tells, see info)", "VERSION" },
  { "allow-partial", 0, 0, G_OPTION_ARG_NONE, &allow_partial,
    "Use what is whole of a damaged trace; results are marked, exit status 3", NULL },
  { "without-initial", 0, 0, G_OPTION_ARG_NONE, &without_initial,
    "Leave out what was live before the recording began, and its frees", NULL },
  { NULL }
};

/* ---- the lowering and the environment */

gboolean
gemem_source_use_variables (const GPtrArray *variables, GError **error)
{
  environment = variables;
  return lowering == NULL || gemem_flags_check (lowering, TRUE, error);
}

/* Adds the variables of the environment that the lowering of @file reads. */
static gboolean
add_variables (GememSourceFile *file, GError **error)
{
  char *spec;

  file->variables = gemem_settings_new ();
  file->left_out = gemem_settings_new ();
  if (file->graph == NULL || environment == NULL || environment->len == 0)
    return TRUE;
  spec = gemem_lowering_with_variables (file->lowering, file->graph, environment, file->variables,
                                        file->left_out, error);
  g_free (file->lowering);
  file->lowering = spec;
  return spec != NULL;
}

void
gemem_source_set_lowering (const char *text)
{
  g_free (lowering);
  lowering = g_strdup (text);
}

const char *
gemem_source_lowering (const GememSourceFile *file)
{
  return file->lowering != NULL ? file->lowering : gemem_lowerings ()[0]->base.name;
}

void
gemem_source_add_reader (const GememSourceFile *file, GArray *readers)
{
  const GememReader reader = { "lowering", gemem_source_lowering (file), NULL, file->variables,
                               file->left_out };

  if (file->graph != NULL)
    g_array_append_val (readers, reader);
}

void
gemem_source_note_memsets (const GememSourceFile *file, const char *reader,
                           const GememParam *params)
{
  const GememParam *policy = gemem_params_find (params, "atomic_clean_policy");

  if (file->graph == NULL || policy == NULL)
    return;
  for (guint32 i = 0; i < gemem_graph_n_nodes (file->graph); i++)
    if (gemem_node_is_cleared (file->graph, gemem_graph_node (file->graph, i)))
      return;
  gemem_note ("%s: no node has memory to be set to zero (is_atomic_node, atomic_output_index, "
              "...), so that %s of %s changes nothing",
              file->path, policy->name, reader);
}

/* FALSE: who replays @file will say why not. */
static gboolean
can_be_lowered (const GememSourceFile *file)
{
  GememTraceReader *reader = file->graph != NULL
                                 ? gemem_lowering_open (file->lowering, file->graph, NULL)
                                 : NULL;

  if (reader != NULL)
    gemem_trace_close (reader);
  return reader != NULL;
}

/* The same for --lower, which may name several lowerings by a glob: then none was asked for. */
static void
note_memsets (const GememSourceFile *file)
{
  g_autofree char *name = g_strndup (lowering != NULL ? lowering : "",
                                     lowering != NULL ? strcspn (lowering, ":") : 0);

  for (const GememLowering *const *l = gemem_lowerings (); *l != NULL; l++)
    if (gemem_name_is ((*l)->base.name, (*l)->base.aliases, name) && can_be_lowered (file))
      gemem_source_note_memsets (file, name, (*l)->base.params);
}

/* ---- files */

/* The graph format of @file, by --trace-format or by its content; NULL: no graph. */
static const GememGraphFormat *
graph_format (const GememSourceFile *file)
{
  return trace_format != NULL ? gemem_graph_format_find (trace_format, NULL)
                              : gemem_graph_format_probe (file->file);
}

static gboolean
read_graph (GememSourceFile *file, const GememGraphFormat *format, GError **error)
{
  guint number;
  char *path = gemem_graph_file (file->file, &number);
  GememInput *input = gemem_input_open_as (path, file->once ? file->path : path, error);
  g_autoptr (GememGraphDims) dims = NULL;

  g_free (file->file);
  file->file = path;
  file->graph_format = format;
  if (input == NULL)
    return FALSE;
  if (dim_texts != NULL && (dims = gemem_graph_dims_new (dim_texts, error)) == NULL)
    {
      gemem_input_close (input);
      return FALSE;
    }
  gemem_input_set_single_pass (input);
  file->graph = gemem_graph_open_with (input, format->base.name,
                                       file->once ? file->graph_number : number, dims, error);
  return file->graph != NULL;
}

/* Loads a graph; a trace is opened later. */
static gboolean
load_graph (GememSourceFile *file, GError **error)
{
  const GememGraphFormat *format = graph_format (file);

  if ((lowering != NULL && !gemem_flags_check (lowering, TRUE, error))
      || (file->lowering != NULL && !gemem_lowering_check (file->lowering, error)))
    return FALSE;
  if (format == NULL && lowering != NULL && g_file_test (file->file, G_FILE_TEST_IS_REGULAR))
    {
      /* its own error is more useful than "no graph" */
      if (!gemem_source_is_trace (file, error))
        return FALSE;
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--lower=%s: %s is no graph; leave --lower out for traces", lowering,
                   file->path);
      return FALSE;
    }
  if (format == NULL && file->once && file->graph_number > 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: no graph, and #%u chooses one of several; leave it out", file->path,
                   file->graph_number);
      return FALSE;
    }
  if (format == NULL && dim_texts != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--dim=%s: %s is no graph; leave --dim out for traces", dim_texts[0],
                   file->path);
      return FALSE;
    }
  return format == NULL || read_graph (file, format, error);
}

static GememSourceFile *
new_file (const char *path, GError **error)
{
  GememStream stream;
  GememSourceFile *file;

  if (!gemem_stream_take (path, &stream, error))
    return NULL;
  file = g_new0 (GememSourceFile, 1);
  file->path = stream.name;
  file->file = stream.file;
  file->once = stream.once;
  file->graph_number = stream.graph;
  return file;
}

static GememSourceFile *
open_file (const char *path, const char *lower, GError **error)
{
  GememSourceFile *file = new_file (path, error);

  if (file == NULL)
    return NULL;
  file->lowering = g_strdup (lower);
  if (load_graph (file, error) && add_variables (file, error))
    note_memsets (file);
  else
    g_clear_pointer (&file, gemem_source_file_free);
  return file;
}

GememSourceFile *
gemem_source_file_new (const char *path, GError **error)
{
  return open_file (path, lowering, error);
}

GememSourceFile *
gemem_source_file_later (const char *name, const char *path)
{
  GememSourceFile *file = g_new0 (GememSourceFile, 1);

  file->path = g_strdup (name);
  file->file = g_strdup (path);
  file->variables = gemem_settings_new ();
  file->left_out = gemem_settings_new ();
  return file;
}

/* The same graph with another lowering. */
static GememSourceFile *
lowered_otherwise (const GememSourceFile *file, const char *lower, const char *difference,
                   GError **error)
{
  GememSourceFile *other = g_new0 (GememSourceFile, 1);

  other->path = g_strdup (file->path);
  other->file = g_strdup (file->file);
  other->graph = gemem_graph_ref (file->graph);
  other->graph_format = file->graph_format;
  other->lowering = g_strdup (lower);
  other->difference = g_strdup (difference);
  if (!add_variables (other, error))
    g_clear_pointer (&other, gemem_source_file_free);
  return other;
}

guint
gemem_source_files_add (GPtrArray *files, const char *path, GError **error)
{
  g_auto (GStrv) labels = NULL;
  g_auto (GStrv) specs = lowering != NULL ? gemem_lowering_expand (lowering, &labels, error) : NULL;
  const guint before = files->len;
  GememSourceFile *file;

  if (lowering != NULL && specs == NULL)
    return 0;
  file = open_file (path, specs != NULL ? specs[0] : NULL, error);
  if (file == NULL)
    return 0;
  g_ptr_array_add (files, file);
  if (specs != NULL && file->graph != NULL && specs[1] != NULL)
    file->difference = g_strdup (labels[0]);
  for (guint i = 1; file->difference != NULL && specs[i] != NULL; i++)
    {
      GememSourceFile *other = lowered_otherwise (file, specs[i], labels[i], error);
      if (other == NULL)
        return 0;
      g_ptr_array_add (files, other);
    }
  return files->len - before;
}

void
gemem_source_file_free (GememSourceFile *file)
{
  if (file == NULL)
    return;
  g_free (file->path);
  g_free (file->file);
  g_free (file->sha256);
  gemem_held_unref (file->held);
  g_free (file->lowering);
  g_free (file->difference);
  g_clear_pointer (&file->variables, g_ptr_array_unref);
  g_clear_pointer (&file->left_out, g_ptr_array_unref);
  g_clear_pointer (&file->graph, gemem_graph_unref);
  g_free (file);
}

const char *
gemem_source_file_sha256 (GememSourceFile *file)
{
  if (!file->hashed)
    {
      g_autoptr (GError) error = NULL;
      GememInput *input = gemem_input_open_as (file->file, file->path, &error);
      if (input != NULL)
        file->sha256 = gemem_input_sha256 (input, &error);
      gemem_input_close (input);
      if (error != NULL)
        gemem_warn ("%s; its sha256 is left out", error->message);
      file->hashed = TRUE;
    }
  return file->sha256;
}

char *
gemem_source_identity (GememSourceFile *file)
{
  const char *hash = gemem_source_file_sha256 (file);
  GString *text;

  if (hash == NULL)
    return NULL;
  text = g_string_new (hash);
  g_string_append_printf (
      text, "\nformat %s\ndevice %s\ntorch %s\n%d %d", trace_format != NULL ? trace_format : "",
      trace_device != NULL ? trace_device : "", torch_version != NULL ? torch_version : "",
      allow_partial, without_initial);
  if (file->graph != NULL)
    g_string_append_printf (text, "\ngraph %s\nlowering %s", file->path,
                            gemem_source_lowering (file));
  for (char **dim = dim_texts; dim != NULL && *dim != NULL; dim++)
    g_string_append_printf (text, "\ndim %s", *dim);
  return g_string_free (text, FALSE);
}

char *
gemem_source_file_name (const GememSourceFile *file)
{
  return file->graph != NULL && file->difference == NULL
             ? g_strdup_printf ("%s (%s)", file->path, gemem_source_lowering (file))
             : g_strdup (file->path);
}

int
gemem_source_device (void)
{
  guint64 number;
  if (trace_device == NULL)
    return -1;
  if (gemem_name_equal (trace_device, "host"))
    return GEMEM_DEVICE_HOST;
  return gemem_parse_uint (trace_device, &number, NULL) && number < GEMEM_DEVICE_HOST ? (int) number
                                                                                      : -2;
}

gboolean
gemem_source_allow_partial (void)
{
  return allow_partial;
}

gboolean
gemem_source_lowered (void)
{
  return lowering != NULL;
}

/* The trace to which the graph of @file is lowered. */
static GememTraceReader *
open_lowered (const GememSourceFile *file, GError **error)
{
  GememTraceReader *reader = gemem_lowering_open (file->lowering, file->graph, error);

  if (reader != NULL)
    {
      g_free (reader->info.path);
      reader->info.path = g_strdup (file->path);
      gemem_progress_watch (reader);
    }
  return reader;
}

/* From the file. */
static GememTraceReader *
open_anew (gpointer data, GError **error)
{
  GememSourceFile *file = data;
  g_autofree char *graphs = gemem_graph_format_names ();
  const GememReadOptions options = { allow_partial, gemem_source_device (), without_initial,
                                     torch_version, graphs };
  if (options.device == -2)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--trace-device=%s: not a device; give a number or 'host'", trace_device);
      return NULL;
    }
  if (torch_version != NULL && !gemem_pytorch_version_is_valid (torch_version))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--version-of-torch=%s: not a version; write 2.11 or 2.11.0", torch_version);
      return NULL;
    }
  if (file->graph != NULL)
    return open_lowered (file, error);
  GememInput *input = gemem_input_open_as (file->file, file->path, error);
  GememTraceReader *reader = input != NULL
                                 ? gemem_trace_open_input (input, trace_format, &options, error)
                                 : NULL;
  if (reader != NULL)
    gemem_progress_watch (reader);
  return reader;
}

GememTraceReader *
gemem_source_file_open (gpointer data, GError **error)
{
  const GememSourceFile *file = data;
  GememTraceReader *reader;

  if (file->held == NULL)
    return open_anew (data, error);
  reader = gemem_held_open (file->held, error);
  gemem_progress_watch (reader);
  return reader;
}

const char *
gemem_source_path_of_job (const GememJob *job)
{
  return ((const GememSourceFile *) job->source_data)->path;
}

gboolean
gemem_source_is_host (GememSourceFile *file, const GememTraceInfo *info)
{
  const gboolean may = gemem_trace_info_came_from (info, "journal")
                       || gemem_trace_info_said (info, GEMEM_TRACE_HOST) != NULL;
  g_autoptr (GArray) devices = may ? gemem_source_devices (file, NULL) : NULL;

  return devices != NULL && gemem_recorder_is_host (devices);
}

gboolean
gemem_source_recorder (GememSourceFile *file, gboolean ignores_settings, const GPtrArray *variables,
                       GPtrArray *specs, gboolean *assumed, char **release, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);
  const GememTraceEvent *events;
  /* a damaged header is reported with the first events */
  const gboolean found = reader != NULL
                         && (reader->info.allocator != NULL
                             || gemem_trace_next (reader, &events, error) >= 0)
                         && gemem_recorder_parse (
                             &reader->info, gemem_source_is_host (file, &reader->info),
                             ignores_settings, variables, specs, assumed, error);

  if (found && release != NULL && !ignores_settings)
    *release = gemem_recorder_release_note (&reader->info, specs->pdata[0]);
  if (reader != NULL)
    gemem_trace_close (reader);
  return found;
}

gboolean
gemem_source_file_hold (GememSourceFile *file, gboolean quick_too, GError **error)
{
  GememTraceReader *reader;

  if (file->held != NULL || (file->graph != NULL && !quick_too))
    return TRUE;
  reader = open_anew (file, error);
  if (reader == NULL)
    return FALSE;
  if (reader->format != NULL && reader->format->quick && !quick_too)
    {
      gemem_trace_close (reader);
      return TRUE;
    }
  file->held = gemem_held_new (reader, error);
  return file->held != NULL;
}

gboolean
gemem_source_is_trace (GememSourceFile *file, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);

  if (reader != NULL)
    gemem_trace_close (reader);
  return reader != NULL;
}

/* No event of memory is in @file: the error says why, where its reader does. */
static void
refuse_empty (GememSourceFile *file, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, NULL);
  const char *note = reader != NULL ? gemem_trace_info_said (&reader->info, "note") : NULL;

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", file->path,
               note != NULL ? note : "no allocation events; there is nothing to replay or plan");
  if (reader != NULL)
    gemem_trace_close (reader);
}

GArray *
gemem_source_devices (GememSourceFile *file, GError **error)
{
  int chosen = gemem_source_device ();
  GArray *devices = gemem_trace_devices (gemem_source_file_open, file, error);
  if (devices == NULL)
    return NULL;
  if (chosen < 0 && devices->len > 1
      && g_array_index (devices, guint16, devices->len - 1) == GEMEM_DEVICE_HOST)
    g_array_set_size (devices, devices->len - 1);
  for (guint i = devices->len; chosen >= 0 && i-- > 0;)
    if (g_array_index (devices, guint16, i) != chosen)
      g_array_remove_index (devices, i);
  if (devices->len > GEMEM_MAX_DEVICES)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: has %u devices, and each is a run over the whole trace; choose one with "
                 "--trace-device=N",
                 file->path, devices->len);
  else if (devices->len > 0)
    return devices;
  else if (chosen >= 0 && chosen != GEMEM_DEVICE_HOST)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: no event on device %d; 'gemem-sim info' shows the devices there are",
                 file->path, chosen);
  else if (chosen >= 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: no event in host memory; 'gemem-sim info' shows the devices there are",
                 file->path);
  else
    refuse_empty (file, error);
  g_array_unref (devices);
  return NULL;
}

static gboolean
copy_events (GememTraceReader *reader, GememTraceWriter *writer, const char *path, GError **error)
{
  const GememTraceEvent *events;
  gssize n;
  while ((n = gemem_trace_next (reader, &events, error)) > 0)
    {
      if (!writer->write (writer, events, (gsize) n, error))
        return FALSE;
      if (g_atomic_int_get (&gemem_interrupted) != 0)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED, "%s: interrupted; %s",
                       strcmp (path, "-") == 0 ? "standard output" : path,
                       strcmp (path, "-") == 0 ? "what was written is not whole"
                                               : "nothing was kept");
          return FALSE;
        }
    }
  return n == 0;
}

gboolean
gemem_copy_trace (GememTraceReader *reader, const char *path, const char *format, GError **error)
{
  gemem_catch_interrupts ();
  GememTraceWriter *writer = gemem_trace_create (path, format, &reader->info, error);
  if (writer == NULL)
    return FALSE;
  const gboolean copied = copy_events (reader, writer, path, error);
  gemem_interrupts_over ();
  if (copied)
    return writer->finish (writer, error);
  writer->discard (writer);
  return FALSE;
}
