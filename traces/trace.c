/* trace.c - the registry of trace formats, recognition by content, and what all readers and writers
 * share (trace.h).
 *
 * The formats come from formats.def and nowhere else.  A file is recognised by its first 4096
 * decompressed bytes: each format says how sure it is, the surest wins, a fitting file name breaks
 * a tie, then the order of the list.
 *
 * Invariants: the string table begins with "" and holds each string once; an input that was handed
 * over is closed on every path.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/io/unrecognised.h"
#include "base/params.h"
#include "traces/initial.h"
#include "traces/trace.h"

#define PROBE_SIZE 4096

#define GEMEM_FORMAT(symbol) extern const GememTraceFormat symbol;
#include "traces/formats.def"
#undef GEMEM_FORMAT

static const GememTraceFormat *const formats[] = {
#define GEMEM_FORMAT(symbol) &symbol,
#include "traces/formats.def"
#undef GEMEM_FORMAT
  NULL,
};

static const char *const kind_names[GEMEM_EVENT_KIND_COUNT] = {
  [GEMEM_EVENT_ALLOC] = "alloc",
  [GEMEM_EVENT_FREE] = "free",
  [GEMEM_EVENT_FREE_REQUESTED] = "free-requested",
  [GEMEM_EVENT_FREE_COMPLETED] = "free-completed",
  [GEMEM_EVENT_USE_ON_STREAM] = "use-on-stream",
  [GEMEM_EVENT_STREAM_SYNC] = "stream-sync",
  [GEMEM_EVENT_EVENT_RECORD] = "event-record",
  [GEMEM_EVENT_EVENT_WAIT] = "event-wait",
  [GEMEM_EVENT_DEVICE_SYNC] = "device-sync",
  [GEMEM_EVENT_GRAPH_LOAD] = "graph-load",
  [GEMEM_EVENT_GRAPH_RUN] = "graph-run",
  [GEMEM_EVENT_GRAPH_UNLOAD] = "graph-unload",
  [GEMEM_EVENT_STEP] = "step",
  [GEMEM_EVENT_PHASE] = "phase",
  [GEMEM_EVENT_TRIM] = "trim",
  [GEMEM_EVENT_OOM] = "oom",
  [GEMEM_EVENT_SEGMENT_ALLOC] = "segment-alloc",
  [GEMEM_EVENT_SEGMENT_FREE] = "segment-free",
  [GEMEM_EVENT_SEGMENT_MAP] = "segment-map",
  [GEMEM_EVENT_SEGMENT_UNMAP] = "segment-unmap",
  [GEMEM_EVENT_SNAPSHOT] = "snapshot",
  [GEMEM_EVENT_MEMSET] = "memset",
  [GEMEM_EVENT_GRAPH_SEGMENT] = "graph-segment",
  [GEMEM_EVENT_GRAPH_RUN_END] = "graph-run-end",
  [GEMEM_EVENT_STREAM_FREE] = "stream-free",
  [GEMEM_EVENT_DEVICE_LIMIT] = "device-limit",
  [GEMEM_EVENT_POOL_RELEASE] = "pool-release",
};

const char *
gemem_event_kind_name (GememEventKind kind)
{
  const char *name = (guint) kind < GEMEM_EVENT_KIND_COUNT ? kind_names[kind] : NULL;
  return name != NULL ? name : "unknown";
}

GememEventKind
gemem_event_kind_from_name (const char *name, gsize length)
{
  if (memchr (name, '\0', length)
      != NULL) /* else a prefix with zero bytes behind would match beyond its end */
    return (GememEventKind) 0;
  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    if (strncmp (kind_names[kind], name, length) == 0 && kind_names[kind][length] == '\0')
      return (GememEventKind) kind;
  return (GememEventKind) 0;
}

/* ---- the list of formats */

const GememTraceFormat *const *
gemem_trace_formats (void)
{
  return formats;
}

/* "a, b, c": the formats that can be read (or written), and @others behind them (may be NULL). */
static char *
format_names (gboolean writable, const char *others)
{
  GString *names = g_string_new (NULL);
  for (guint i = 0; formats[i] != NULL; i++)
    if (writable ? formats[i]->create != NULL : formats[i]->open != NULL)
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", formats[i]->name);
  if (others != NULL)
    g_string_append_printf (names, ", %s", others);
  return g_string_free (names, FALSE);
}

/* @others: as for format_names(); none of them is meant. */
static const GememTraceFormat *
find (const char *name, const char *others, GError **error)
{
  g_autofree char *all = format_names (FALSE, others);
  g_auto (GStrv) names = g_strsplit (all, ", ", -1);
  const char *near;

  for (guint i = 0; formats[i] != NULL; i++)
    if (gemem_name_is (formats[i]->name, formats[i]->aliases, name))
      return formats[i];
  near = gemem_suggest (name, (const char *const *) names);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: no such %s; %s%s%sknown formats: %s",
               name, others != NULL ? "format of traces or graphs" : "trace format",
               near != NULL ? "did you mean " : "", near != NULL ? near : "",
               near != NULL ? "? " : "", all);
  return NULL;
}

const GememTraceFormat *
gemem_trace_format_find (const char *name, GError **error)
{
  return find (name, NULL, error);
}

/* The extension of @path in front of a compression suffix, or NULL; caller frees. */
static char *
path_extension (const char *path)
{
  g_autofree char *base = g_path_get_basename (path);
  char *dot = strrchr (base, '.');
  if (dot != NULL && (strcmp (dot, ".gz") == 0 || strcmp (dot, ".zst") == 0))
    {
      *dot = '\0';
      dot = strrchr (base, '.');
    }
  return dot != NULL && dot[1] != '\0' ? g_strdup (dot + 1) : NULL;
}

/* ---- reading */

static const GememTraceFormat *
recognise (GememInput *input, const char *others, GError **error)
{
  const GememTraceFormat *best = NULL;
  const guint8 *head;
  int best_score = 1;
  gssize size = gemem_input_fill (input, PROBE_SIZE, &head, error);

  if (size < 0) /* damaged within the first bytes: what there is may still be enough */
    {
      size = gemem_input_fill (input, 1, &head, NULL);
      if (size < 0)
        return NULL;
      g_clear_error (error);
    }
  g_autofree char *extension = path_extension (gemem_input_name (input));
  for (guint i = 0; size > 0 && formats[i] != NULL; i++)
    {
      if (formats[i]->open == NULL || formats[i]->probe == NULL)
        continue;
      int confidence = formats[i]->probe (head, MIN ((gsize) size, PROBE_SIZE));
      gboolean hinted = extension != NULL && gemem_name_listed (formats[i]->extensions, extension);
      /* A file that looks like nothing is still read as what its name says: that reader knows which
       * line is wrong. */
      int score = 2 * (confidence == 0 && hinted ? 1 : confidence)
                  + (confidence > 0 && hinted ? 1 : 0);
      if (score > best_score)
        {
          best = formats[i];
          best_score = score;
        }
    }
  if (best == NULL
      || (best_score <= 2
          && gemem_is_foreign (head, (gsize) size))) /* at most its name spoke for it */
    {
      g_autofree char *names = format_names (FALSE, others);
      gemem_fail_unrecognised (input, others != NULL ? "trace or graph" : "trace", names, error);
      best = NULL;
    }
  return best;
}

GememTraceReader *
gemem_trace_open_input (GememInput *input, const char *format, const GememReadOptions *options,
                        GError **error)
{
  static const GememReadOptions defaults = GEMEM_READ_OPTIONS_DEFAULT;
  const GememReadOptions *chosen = options != NULL ? options : &defaults;
  const GememTraceFormat *found = format != NULL ? find (format, chosen->others, error)
                                                 : recognise (input, chosen->others, error);

  if (found != NULL && found->open == NULL)
    {
      g_autofree char *names = format_names (FALSE, NULL);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: this format can only be written; name one of: %s", found->name, names);
      found = NULL;
    }
  if (found == NULL)
    {
      gemem_input_close (input);
      return NULL;
    }
  GememTraceReader *reader = found->open (input, chosen, error);
  if (reader != NULL)
    reader->format = found;
  if (reader != NULL && options != NULL && options->without_initial)
    reader->filter = gemem_initial_filter_new (&reader->info);
  return reader;
}

GememTraceReader *
gemem_trace_open (const char *path, const char *format, const GememReadOptions *options,
                  GError **error)
{
  GememInput *input = gemem_input_open (path, error);
  return input != NULL ? gemem_trace_open_input (input, format, options, error) : NULL;
}

gssize
gemem_trace_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  gssize n = reader->next (reader, events, error);

  if (reader->filter != NULL)
    while (n > 0 && (n = gemem_initial_filter_take (reader->filter, events, n)) == 0)
      n = reader->next (reader, events, error);
  return n;
}

void
gemem_trace_close (GememTraceReader *reader)
{
  if (reader == NULL)
    return;
  gemem_initial_filter_free (reader->filter);
  reader->close (reader);
}

/* ---- writing */

static const GememTraceFormat *
format_for_path (const char *path, GError **error)
{
  g_autofree char *base = g_path_get_basename (path);
  const char *dot = strrchr (base, '.');

  for (guint i = 0; dot != NULL && formats[i] != NULL; i++)
    if (formats[i]->create != NULL && gemem_name_listed (formats[i]->extensions, dot + 1))
      return formats[i];
  g_autofree char *names = format_names (TRUE, NULL);
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "%s: the name does not tell the format to write; end it in .gmt or .txt, or name one of: %s",
      path, names);
  return NULL;
}

GememTraceWriter *
gemem_trace_create (const char *path, const char *format, const GememTraceInfo *info,
                    GError **error)
{
  const GememTraceFormat *found = format != NULL ? gemem_trace_format_find (format, error)
                                                 : format_for_path (path, error);

  if (found != NULL && found->create == NULL)
    {
      g_autofree char *names = format_names (TRUE, NULL);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: this format can only be read; name one of: %s", found->name, names);
      found = NULL;
    }
  if (found == NULL)
    return NULL;
  GememTraceWriter *writer = found->create (path, info, error);
  if (writer != NULL)
    writer->format = found;
  return writer;
}

/* ---- facts about a trace */

void
gemem_trace_info_init (GememTraceInfo *info, const char *format, const char *path)
{
  memset (info, 0, sizeof *info);
  info->format = format;
  info->path = g_strdup (path);
  info->provenance = g_ptr_array_new_with_free_func (g_free);
  info->strings = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (info->strings, g_strdup (""));
}

void
gemem_trace_info_clear (GememTraceInfo *info)
{
  g_clear_pointer (&info->string_index, g_hash_table_unref);
  g_clear_pointer (&info->provenance, g_ptr_array_unref);
  g_clear_pointer (&info->strings, g_ptr_array_unref);
  g_clear_pointer (&info->path, g_free);
  g_clear_pointer (&info->sha256, g_free);
  g_clear_pointer (&info->allocator, g_free);
  g_clear_pointer (&info->settings, g_free);
  g_clear_pointer (&info->device, g_free);
}

static GPtrArray *
copy_strings (const GPtrArray *from)
{
  GPtrArray *to = g_ptr_array_new_full (from->len, g_free);
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add (to, g_strdup (g_ptr_array_index (from, i)));
  return to;
}

void
gemem_trace_info_copy (GememTraceInfo *to, const GememTraceInfo *from)
{
  *to = *from;
  to->path = g_strdup (from->path);
  to->sha256 = g_strdup (from->sha256);
  to->allocator = g_strdup (from->allocator);
  to->settings = g_strdup (from->settings);
  to->device = g_strdup (from->device);
  to->provenance = copy_strings (from->provenance);
  to->strings = copy_strings (from->strings);
  to->string_index = NULL;
  to->indexed = 0;
}

void
gemem_trace_info_note (GememTraceInfo *info, const char *key, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_ptr_array_add (info->provenance, g_strdup_printf ("%s: %s", key, text));
}

guint32
gemem_trace_info_intern (GememTraceInfo *info, const char *string)
{
  gpointer found;

  if (*string == '\0')
    return GEMEM_NO_TAG;
  if (info->string_index == NULL)
    info->string_index = g_hash_table_new (g_str_hash, g_str_equal);
  /* Strings that a reader put into the table by itself are found as well. */
  for (; info->indexed < info->strings->len; info->indexed++)
    if (!g_hash_table_contains (info->string_index,
                                g_ptr_array_index (info->strings, info->indexed)))
      g_hash_table_insert (info->string_index, g_ptr_array_index (info->strings, info->indexed),
                           GUINT_TO_POINTER (info->indexed));
  if (g_hash_table_lookup_extended (info->string_index, string, NULL, &found))
    return GPOINTER_TO_UINT (found);
  guint32 index = info->strings->len;
  g_ptr_array_add (info->strings, g_strdup (string));
  g_hash_table_insert (info->string_index, g_ptr_array_index (info->strings, index),
                       GUINT_TO_POINTER (index));
  info->indexed = index + 1;
  return index;
}

gssize
gemem_trace_filter_device (GememTraceEvent *events, gssize n, int device)
{
  gssize kept = 0;

  if (device < 0)
    return n;
  for (gssize i = 0; i < n; i++)
    if (events[i].device == device || events[i].kind == GEMEM_EVENT_STEP
        || events[i].kind == GEMEM_EVENT_PHASE)
      events[kept++] = events[i];
  return kept;
}

GPtrArray *
gemem_trace_info_provenance (const GememTraceInfo *info)
{
  GPtrArray *provenance = copy_strings (info->provenance);

  if (info->format == NULL || strcmp (info->format, "native") == 0
      || strcmp (info->format, "text") == 0)
    return provenance;
  for (guint i = 0; i < provenance->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (provenance, i), "format: "))
      return provenance;
  g_ptr_array_insert (provenance, 0, g_strconcat ("format: ", info->format, NULL));
  return provenance;
}
