/* formats.c - the registry of trace formats: finding, recognising and opening them (trace.h).
 *
 * formats.def is the only list of formats.  A file is recognised by its first 4096 decompressed
 * bytes: each format returns its confidence, and the highest one wins; ties are decided by a
 * matching file name, then by the order of the list.
 *
 * Invariants: an input that was passed in is closed on every path.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/params.h"
#include "traces/initial.h"
#include "traces/trace.h"
#include "traces/unrecognised.h"

#define PROBE_SIZE 4096
#define GUESS 5 /* confidence of a probe that saw little more than a bracket */

#define GEMEM_FORMAT(symbol) extern const GememTraceFormat symbol;
#include "traces/formats.def"
#undef GEMEM_FORMAT

static const GememTraceFormat *const formats[] = {
#define GEMEM_FORMAT(symbol) &symbol,
#include "traces/formats.def"
#undef GEMEM_FORMAT
  NULL,
};

/* ---- the list of formats */

const GememTraceFormat *const *
gemem_trace_formats (void)
{
  return formats;
}

/* "a, b, c": the readable (or writable) formats, followed by @others (may be NULL). */
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

/* Finds the format @name; @others as for format_names(), for the message only. */
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

/* The extension of @path before a compression suffix, or NULL; the caller frees it. */
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

static void
fail_unrecognised (GememInput *input, const char *others, GError **error)
{
  gemem_fail_unrecognised (input, others != NULL ? "trace or graph" : "trace", error);
}

/* The format of @input; NULL with @error.  *@by_name: nothing but its name speaks for it. */
static const GememTraceFormat *
recognise (GememInput *input, const char *others, gboolean *by_name, GError **error)
{
  const GememTraceFormat *best = NULL;
  const guint8 *head;
  int best_score = 0;
  gssize size = gemem_input_fill (input, PROBE_SIZE, &head, error);

  if (size < 0) /* damage within the first bytes: the bytes before it may suffice */
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
      int score = 2 * confidence + (hinted ? 1 : 0);
      if (score > best_score)
        {
          best = formats[i];
          best_score = score;
        }
    }
  if (best == NULL
      || (best_score <= 2 * GUESS
          && gemem_is_foreign (head,
                               (gsize) size))) /* recognised by its name at most, or a brace */
    {
      fail_unrecognised (input, others, error);
      best = NULL;
    }
  *by_name = best_score == 1;
  return best;
}

/* Opens @input as the format that its name alone speaks for: a log may begin with other lines.  Where
 * that reader finds nothing, the name was no reason. */
static GememTraceReader *
open_by_name (GememInput *input, const GememTraceFormat *format, const GememReadOptions *options,
              GError **error)
{
  g_autoptr (GError) refused = NULL, found = NULL;
  GememTraceReader *reader;

  fail_unrecognised (input, options->others, &refused);
  reader = format->open (input, options, &found);
  if (reader == NULL)
    g_propagate_error (error, g_error_matches (found, GEMEM_ERROR, GEMEM_ERROR_INPUT)
                                  ? g_steal_pointer (&refused)
                                  : g_steal_pointer (&found));
  return reader;
}

GememTraceReader *
gemem_trace_open_input (GememInput *input, const char *format, const GememReadOptions *options,
                        GError **error)
{
  static const GememReadOptions defaults = GEMEM_READ_OPTIONS_DEFAULT;
  const GememReadOptions *chosen = options != NULL ? options : &defaults;
  gboolean by_name = FALSE;
  const GememTraceFormat *found = format != NULL
                                      ? find (format, chosen->others, error)
                                      : recognise (input, chosen->others, &by_name, error);

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
  GememTraceReader *reader = by_name ? open_by_name (input, found, chosen, error)
                                     : found->open (input, chosen, error);
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
  if (reader->delivered != NULL && n > 0)
    __atomic_fetch_add (reader->delivered, (guint64) n, __ATOMIC_RELAXED);
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

  if (g_strcmp0 (dot, ".gz") == 0) /* of a format that is written so: "pb.gz" */
    dot = g_strrstr_len (base, dot - base, ".");
  for (guint i = 0; dot != NULL && formats[i] != NULL; i++)
    if (formats[i]->create != NULL && gemem_name_listed (formats[i]->extensions, dot + 1))
      return formats[i];
  g_autofree char *names = format_names (TRUE, NULL);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: the name does not tell the format to write; end it in .gmt, .txt or .pickle, "
               "or name one of: %s",
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
