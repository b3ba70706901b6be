/* validate.c - `gemem-sim validate`: checks whether a trace or graph is complete and consistent.
 * Graphs are in graph-validate.c. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "sim/cli/graph-info.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"
#include "traces/origin.h"
#include "traces/summary.h"
#include "traces/validate.h"

/* Whether the finding is an error about the block of its event. */
static gboolean
is_about_block (const GememFinding *finding)
{
  if (!finding->error || finding->seq == G_MAXUINT64)
    return FALSE;
  switch (finding->kind)
    {
    case GEMEM_FINDING_ORPHAN_FREE:
    case GEMEM_FINDING_DOUBLE_ALLOC:
    case GEMEM_FINDING_DOUBLE_FREE:
    case GEMEM_FINDING_OVERLAP:
    case GEMEM_FINDING_OUTSIDE_SEGMENT:
    case GEMEM_FINDING_HUGE_SIZE:
      return TRUE;
    default:
      return FALSE;
    }
}

/* Reads the trace again if it has such errors, and adds to their texts who caused their event. */
static void
add_origins (GememSourceFile *file, const GPtrArray *findings)
{
  g_autoptr (GememTraceReader) reader = NULL;
  const GememTraceEvent *events;
  guint64 first = 0, last = 0;
  gssize n;

  for (guint i = 0; i < findings->len; i++)
    if (is_about_block (findings->pdata[i]))
      last = MAX (last, ((const GememFinding *) findings->pdata[i])->seq + 1);
  if (last > 0)
    reader = gemem_source_file_open (file, NULL);
  for (; reader != NULL && first < last && (n = gemem_trace_next (reader, &events, NULL)) > 0;
       first += (guint64) n)
    for (guint i = 0; i < findings->len; i++)
      {
        GememFinding *finding = findings->pdata[i];
        if (!is_about_block (finding) || finding->seq < first
            || finding->seq - first >= (guint64) n)
          continue;
        const GememTraceEvent *event = &events[finding->seq - first];
        if (event->stack == 0 && event->tag == GEMEM_NO_TAG)
          continue;
        g_autoptr (GString) text = g_string_new (finding->text);
        g_string_append (text, " (");
        gemem_origin_append (text, &reader->info, event->stack, event->tag);
        g_string_append_c (text, ')');
        g_free (finding->text);
        finding->text = g_strdup (text->str);
      }
}

static void
append_finding (GString *out, const char *path, const GememFinding *finding)
{
  g_autofree char *text = gemem_text_line (finding->text);

  g_string_append_printf (out, "%s:", path);
  if (finding->seq != G_MAXUINT64)
    g_string_append_printf (out, "event %" G_GUINT64_FORMAT ":", finding->seq);
  g_string_append_printf (out, " %s: %s: %s", finding->error ? "error" : "note",
                          gemem_finding_name (finding->kind), text);
  if (finding->count > 1)
    g_string_append_printf (out, " (%" G_GUINT64_FORMAT " in all)", finding->count);
  g_string_append_c (out, '\n');
}

/* Writes what the reader found or assumed: "releases: ...", "note: ...". */
static void
append_notes (GString *out, const char *path, const GememTraceInfo *info)
{
  static const char *const keys[] = { "PyTorch", "releases", "ambiguous", "note" };

  for (guint i = 0; i < info->provenance->len; i++)
    {
      g_autofree char *line = gemem_text_line (info->provenance->pdata[i]);
      for (guint k = 0; k < G_N_ELEMENTS (keys); k++)
        if (g_str_has_prefix (line, keys[k]) && line[strlen (keys[k])] == ':')
          g_string_append_printf (out, "%s: %s%s\n", path,
                                  strcmp (keys[k], "note") == 0 ? "" : "note: ", line);
    }
}

/* Appends what the valid trace says in short, by one more pass over it, or why it cannot. */
static void
append_sentences (GString *out, GememSourceFile *file)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_source_file_open (file, &error);
  GememTraceSummary *summary = reader != NULL ? gemem_trace_summarise (reader, &error) : NULL;

  if (summary != NULL)
    gemem_trace_summary_sentences (out, &reader->info, summary);
  else
    g_string_append_printf (out, "note: %s\n", error->message);
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
}

static gboolean
validate_trace (GememSourceFile *file, GString *out, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);
  g_autofree char *path = gemem_text_line (file->path);
  gboolean ok = reader != NULL;
  if (reader != NULL)
    {
      g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, error);
      append_notes (out, path, &reader->info);
      if (findings != NULL && (reader->info.stacks != NULL || reader->info.strings->len > 1))
        add_origins (file, findings);
      for (guint i = 0; findings != NULL && i < findings->len; i++)
        {
          const GememFinding *finding = findings->pdata[i];
          append_finding (out, path, finding);
          ok = ok && !finding->error;
        }
      ok = ok && findings != NULL;
      if (ok)
        g_string_append_printf (out, "%s: valid (%s)\n", path, reader->info.format);
      gemem_trace_close (reader);
      if (ok)
        append_sentences (out, file);
    }
  return ok;
}

/* Appends the findings on @path; TRUE if there are no errors. */
static gboolean
validate (const char *path, GString *out, GError **error)
{
  gemem_progress_begin_reading (path);
  GememSourceFile *file = gemem_source_file_new (path, error);
  const gboolean is_graph = file != NULL && file->graph != NULL && !gemem_source_lowered ();
  gboolean ok = is_graph;

  if (is_graph)
    gemem_graph_validate (out, file->path, file->graph_format->base.name, file->graph);
  else if (file != NULL)
    ok = validate_trace (file, out, error);
  gemem_progress_end ();
  gemem_source_file_free (file);
  return ok;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_validate;
  int status = 0;
  if (!gemem_want_arguments (&gemem_command_validate, arguments, 1, 10000, error))
    return 2;
  for (char **path = arguments; *path != NULL; path++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      g_autoptr (GError) failure = NULL;
      gboolean ok = validate (*path, out, &failure);
      if (!gemem_put (NULL, out->str, out->len, error))
        return 1;
      if (failure != NULL)
        gemem_print_error (failure);
      if (!ok && status == 0)
        status = failure != NULL ? gemem_error_exit_status (failure) : 3;
    }
  return status;
}

const GememCommand gemem_command_validate = {
  .name = "validate",
  .synopsis = "TRACE...",
  .summary = "Say whether traces and graphs are whole and consistent; each finding names its event "
             "or node",
  .description = "Looks for frees of unknown blocks, blocks allocated twice, overlapping recorded "
                 "addresses, time running backwards, missing starts\n"
                 "and ends. Of graphs: for cycles, inputs from nowhere and unknown element types; "
                 "notes name outputs that nothing reads or that have\n"
                 "no size. Errors give exit status 3; notes do not.",
  .examples = "  gemem-sim validate snapshot.pickle\n  gemem-sim validate model.json\n",
  .options = { gemem_source_entries },
  .run = run,
};
