/* info.c - `gemem-sim info`: the contents of a trace; graphs are in graph-info.c. */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/cli/environment.h"
#include "sim/cli/graph-info.h"
#include "sim/cli/info-holders.h"
#include "sim/cli/info-idle.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/source.h"
#include "traces/summary.h"

static char *format_name;
static gboolean use_environment;

static const GOptionEntry entries[] = {
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name,
    "Form of the answer (default: table); of who holds memory also a flame graph in text, or "
    "folded stacks for other tools",
    "table|json|flame|folded" },
  { "env", 0, 0, G_OPTION_ARG_NONE, &use_environment,
    "Take from the environment what the lowering reads; what --lower says counts more", NULL },
  { NULL }
};

static void
append_size (GString *out, const char *label, guint64 bytes)
{
  char text[GEMEM_FORMAT_MAX];
  g_string_append_printf (out, "  %-22s %s (%" G_GUINT64_FORMAT " bytes)", label,
                          gemem_format_size (text, bytes), bytes);
}

/* Draws bars over powers of two, from the first to the last that is not empty. */
static void
append_sizes (GString *out, const GememHistogram *sizes)
{
  guint64 octaves[65] = { 0 }, most = 0;
  guint first = 64, last = 0;
  for (guint b = 0; b < GEMEM_HISTOGRAM_BUCKETS; b++)
    if (sizes->buckets[b] > 0)
      {
        guint64 end = gemem_histogram_bucket_end (b);
        guint octave = end > 0 ? 63 - (guint) __builtin_clzll (end) : 0;
        octaves[octave] += sizes->buckets[b];
        first = MIN (first, octave);
        last = MAX (last, octave);
      }
  for (guint o = first; o <= last; o++)
    most = MAX (most, octaves[o]);
  for (guint o = first; o <= last && most > 0; o++)
    {
      char from[GEMEM_FORMAT_MAX];
      int width = (int) (octaves[o] * 50 / most);
      g_string_append_printf (out, "    from %10s %9" G_GUINT64_FORMAT "  %.*s\n",
                              gemem_format_size (from, G_GUINT64_CONSTANT (1) << o), octaves[o],
                              octaves[o] > 0 ? MAX (width, 1) : 0,
                              "##################################################");
    }
}

static void
append_lifetimes (GString *out, const char *label, const GememHistogram *lifetimes, gboolean time)
{
  const guint marks[] = { 500, 900, 990 };
  const char *const names[] = { "median", "p90", "p99" };
  if (lifetimes->count == 0)
    return;
  g_string_append_printf (out, "  %-22s", label);
  for (guint i = 0; i <= G_N_ELEMENTS (marks); i++)
    {
      guint64 value = i < G_N_ELEMENTS (marks) ? gemem_histogram_percentile (lifetimes, marks[i])
                                               : lifetimes->max;
      char text[GEMEM_FORMAT_MAX];
      if (time)
        gemem_format_time (text, value);
      else
        g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, value);
      g_string_append_printf (out, "%s%s %s", i == 0 ? " " : ", ",
                              i < G_N_ELEMENTS (marks) ? names[i] : "max", text);
    }
  g_string_append_c (out, '\n');
}

static void
append_device (GString *out, const GememDeviceSummary *s, gboolean has_time)
{
  char text[GEMEM_FORMAT_MAX];
  if (s->device == GEMEM_DEVICE_HOST)
    g_string_append (out, "\nhost memory\n");
  else
    g_string_append_printf (out, "\ndevice %u\n", s->device);
  g_string_append_printf (out, "  %-22s %" G_GUINT64_FORMAT, "events", s->events);
  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    if (s->by_kind[kind] > 0)
      g_string_append_printf (out, ", %s %" G_GUINT64_FORMAT, gemem_event_kind_name (kind),
                              s->by_kind[kind]);
  g_string_append_c (out, '\n');
  if (has_time)
    g_string_append_printf (out, "  %-22s %s\n", "duration",
                            gemem_format_time (text, s->last_time - s->first_time));
  if (s->initial_blocks > 0)
    {
      append_size (out, "live at the start", s->initial_bytes);
      g_string_append_printf (out, " in %" G_GUINT64_FORMAT " block%s\n", s->initial_blocks,
                              gemem_plural (s->initial_blocks));
    }
  append_size (out, "peak live", s->peak_live);
  g_string_append_printf (out, " in %" G_GUINT64_FORMAT " block%s, after event %" G_GUINT64_FORMAT,
                          s->peak_live_blocks, gemem_plural (s->peak_live_blocks),
                          s->peak_live_seq);
  if (has_time)
    g_string_append_printf (out, " at %s", gemem_format_time (text, s->peak_live_time));
  g_string_append_c (out, '\n');
  if (s->by_kind[GEMEM_EVENT_GRAPH_LOAD] > 0)
    {
      append_size (out, "static memory", s->graph_bytes);
      g_string_append_printf (out,
                              " in %" G_GUINT64_FORMAT
                              " loads of graphs, %s in the largest; counted nowhere else here\n",
                              s->by_kind[GEMEM_EVENT_GRAPH_LOAD],
                              gemem_format_size (text, s->largest_graph));
    }
  append_size (out, "lower bound, 256 B", s->lower_bound_256);
  g_string_append (out, "\n");
  append_size (out, "lower bound, 512 B", s->lower_bound_512);
  g_string_append (out, "\n");
  if (s->by_kind[GEMEM_EVENT_SLEEP] + s->by_kind[GEMEM_EVENT_PAUSE] > 0)
    g_string_append (out,
                     "                         (memory that sleeps counts as live here; a replay "
                     "leaves it out)\n");
  if (s->peak_reserved > 0)
    {
      append_size (out, "peak reserved, recorded", s->peak_reserved);
      g_string_append_c (out, '\n');
    }
  append_size (out, "live at the end", s->end_live);
  g_string_append_printf (out, " in %" G_GUINT64_FORMAT " block%s\n", s->end_blocks,
                          gemem_plural (s->end_blocks));
  append_lifetimes (out, "lifetime, events", &s->lifetimes_events, FALSE);
  append_lifetimes (out, "lifetime, time", &s->lifetimes_ns, TRUE);
  g_string_append_printf (out, "  %-22s %u\n", "streams", s->streams->len);
  for (guint i = 0; s->streams->len > 1 && i < s->streams->len; i++)
    {
      const GememStreamSummary *use = &g_array_index (s->streams, GememStreamSummary, i);
      g_string_append_printf (
          out, "    0x%" G_GINT64_MODIFIER "x: %" G_GUINT64_FORMAT " allocation%s, %s in all\n",
          use->stream, use->allocs, gemem_plural (use->allocs),
          gemem_format_size (text, use->bytes));
    }
  g_string_append (out, "  sizes requested\n");
  append_sizes (out, &s->sizes);
}

/* A row whose @text comes from the file. */
static void
append_line (GString *out, const char *label, const char *text)
{
  g_autofree char *line = gemem_text_line (text);

  g_string_append_printf (out, "  %-22s %s\n", label, line);
}

static void
append_table (GString *out, const char *path, const GememTraceInfo *info,
              const GememTraceSummary *summary)
{
  gemem_text_append_visible (out, path, -1, FALSE);
  g_string_append_printf (out, "\n  %-22s %s\n", "format", info->format);
  if (info->sha256 != NULL)
    append_line (out, "sha256 of the source", info->sha256);
  for (guint i = 0; i < info->provenance->len; i++)
    {
      g_autofree char *line = gemem_text_line (info->provenance->pdata[i]);
      g_string_append_printf (out, "  %s\n", line);
    }
  g_autofree char *allocator = g_strconcat (info->allocator != NULL ? info->allocator : "",
                                            info->settings != NULL && *info->settings ? ":" : "",
                                            info->settings, NULL);
  if (info->allocator != NULL)
    append_line (out, "recorded allocator", allocator);
  if (info->device != NULL)
    append_line (out, "recorded device", info->device);
  if (info->flags & GEMEM_TRACE_BLOCK_SIZES)
    g_string_append (
        out, "  sizes are block sizes as the recorded allocator rounded them, not requests\n");
  if (info->flags & GEMEM_TRACE_STARTS_IN_MIDDLE)
    g_string_append (out, "  the recording starts in the middle of a program\n");
  if (info->flags & GEMEM_TRACE_TRUNCATED)
    g_string_append (out, "  the end is missing\n");
  g_string_append_printf (out, "  %-22s %" G_GUINT64_FORMAT "\n", "events", summary->events);
  if (info->skipped > 0)
    g_string_append_printf (out, "  %-22s %" G_GUINT64_FORMAT "\n", "skipped in the file",
                            info->skipped);
  if (info->pinned > 0)
    g_string_append_printf (out,
                            "  %-22s %" G_GUINT64_FORMAT
                            " of these: --trace-device=host chooses the host's memory\n",
                            "pinned host memory", info->pinned);
  for (guint i = 0; i < summary->devices->len; i++)
    append_device (out, summary->devices->pdata[i], (info->flags & GEMEM_TRACE_HAS_TIME) != 0);
  g_string_append_c (out, '\n');
  gemem_trace_summary_sentences (out, info, summary);
}

static void
append_percentiles (GString *out, const char *name, const GememHistogram *histogram)
{
  gemem_json_append_name (out, name);
  g_string_append_printf (out,
                          "{\"count\": %" G_GUINT64_FORMAT ", \"p50\": %" G_GUINT64_FORMAT
                          ", \"p90\": %" G_GUINT64_FORMAT ", \"p99\": %" G_GUINT64_FORMAT
                          ", \"max\": %" G_GUINT64_FORMAT "}",
                          histogram->count, gemem_histogram_percentile (histogram, 500),
                          gemem_histogram_percentile (histogram, 900),
                          gemem_histogram_percentile (histogram, 990), histogram->max);
}

static void
append_json (GString *out, const char *path, const GememTraceInfo *info,
             const GememTraceSummary *summary)
{
  g_string_append (out, "{\"schema\": \"gemem-info\", \"version\": 1");
  gemem_json_append_text_member (out, "trace", path);
  gemem_json_append_text_member (out, "format", info->format);
  gemem_json_append_text_member (out, "sha256", info->sha256);
  gemem_json_append_text_member (out, "allocator", info->allocator);
  gemem_json_append_text_member (out, "settings", info->settings);
  gemem_json_append_number_member (out, "events", summary->events);
  gemem_json_append_number_member (out, "skipped", info->skipped);
  if (info->pinned > 0)
    gemem_json_append_number_member (out, "pinned", info->pinned);
  gemem_json_append_number_member (out, "inferred", info->ambiguities);
  gemem_json_append_name (out, "provenance");
  g_string_append_c (out, '[');
  for (guint i = 0; i < info->provenance->len; i++)
    gemem_json_append_text_member (out, NULL, info->provenance->pdata[i]);
  g_string_append_c (out, ']');
  gemem_json_append_bool_member (out, "partial", info->flags & GEMEM_TRACE_TRUNCATED);
  gemem_json_append_name (out, "devices");
  g_string_append_c (out, '[');
  for (guint i = 0; i < summary->devices->len; i++)
    {
      const GememDeviceSummary *s = summary->devices->pdata[i];
      g_string_append (out, i == 0 ? "\n  {" : ",\n  {");
      gemem_json_append_number_member (out, "device", s->device);
      gemem_json_append_number_member (out, "events", s->events);
      gemem_json_append_number_member (out, "allocs", s->by_kind[GEMEM_EVENT_ALLOC]);
      gemem_json_append_number_member (out, "initial_blocks", s->initial_blocks);
      gemem_json_append_number_member (out, "initial_bytes", s->initial_bytes);
      gemem_json_append_number_member (out, "peak_live", s->peak_live);
      gemem_json_append_number_member (out, "peak_live_event", s->peak_live_seq);
      gemem_json_append_number_member (out, "peak_live_time_ns", s->peak_live_time);
      gemem_json_append_number_member (out, "graph_loads", s->by_kind[GEMEM_EVENT_GRAPH_LOAD]);
      gemem_json_append_number_member (out, "graph_bytes", s->graph_bytes);
      gemem_json_append_number_member (out, "largest_graph", s->largest_graph);
      gemem_json_append_number_member (out, "lower_bound_256", s->lower_bound_256);
      gemem_json_append_number_member (out, "lower_bound_512", s->lower_bound_512);
      gemem_json_append_number_member (out, "peak_reserved_recorded", s->peak_reserved);
      gemem_json_append_number_member (out, "end_live", s->end_live);
      gemem_json_append_number_member (out, "streams", s->streams->len);
      append_percentiles (out, "sizes", &s->sizes);
      append_percentiles (out, "lifetimes_events", &s->lifetimes_events);
      append_percentiles (out, "lifetimes_ns", &s->lifetimes_ns);
      g_string_append (out, "}");
    }
  g_string_append (out, "]}\n");
}

static gboolean
show_graph (const GememSourceFile *file, gboolean json, GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (json)
    gemem_graph_info_json (out, file->path, file->graph_format->base.name, file->graph);
  else
    gemem_graph_info_table (out, file->path, file->graph_format->base.name, file->graph);
  return gemem_put (NULL, out->str, out->len, error);
}

/* *@partial is set if the end of the trace is missing. */
static gboolean
show_trace (GememSourceFile *file, gboolean json, gboolean *partial, GError **error)
{
  GememTraceReader *reader = gemem_source_file_open (file, error);
  GememTraceSummary *summary = reader != NULL ? gemem_trace_summarise (reader, error) : NULL;
  gboolean ok = summary != NULL;
  if (ok)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      if (json)
        append_json (out, file->path, &reader->info, summary);
      else
        append_table (out, file->path, &reader->info, summary);
      ok = gemem_put (NULL, out->str, out->len, error);
      *partial = *partial || (reader->info.flags & GEMEM_TRACE_TRUNCATED) != 0;
    }
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
  return ok;
}

static void
note_variables (const GPtrArray *variables, const GememSourceFile *file)
{
  g_autoptr (GArray) readers = g_array_new (FALSE, FALSE, sizeof (GememReader));

  if (gemem_source_lowered ())
    gemem_source_add_reader (file, readers);
  gemem_environment_note_unused (use_environment, variables, readers);
}

static gboolean
show (const char *path, gboolean json, const GPtrArray *variables, gboolean *partial,
      GError **error)
{
  gemem_progress_begin_reading (path);
  GememSourceFile *file = gemem_source_file_new (path, error);
  gboolean ok = FALSE;

  if (file != NULL)
    note_variables (variables, file);
  if (file != NULL)
    ok = file->graph != NULL && !gemem_source_lowered () ? show_graph (file, json, error)
                                                         : show_trace (file, json, partial, error);
  gemem_progress_end ();
  gemem_source_file_free (file);
  return ok;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_info;
  g_autoptr (GPtrArray) variables = NULL;
  gboolean json, partial = FALSE;
  if (!gemem_want_arguments (&gemem_command_info, arguments, 1, 10000, error))
    return 2;
  if (gemem_info_idle_wanted () && gemem_info_holders_wanted (NULL))
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "info: --idle is about what is not in use, --at and --by about what is; give one");
      return 2;
    }
  variables = gemem_environment_read (use_environment, error);
  if (variables == NULL
      || !gemem_source_use_variables (gemem_source_lowered () ? variables : NULL, error))
    return 2;
  if (gemem_info_idle_wanted ())
    return gemem_info_idle (arguments, format_name, error);
  if (gemem_info_holders_wanted (format_name))
    return gemem_info_holders (arguments, format_name, error);
  if (!gemem_want_table_or_json (format_name, &json, error))
    return 2;
  for (char **path = arguments; *path != NULL; path++)
    if (!show (*path, json, variables, &partial, error))
      return 1;
  return partial && gemem_source_allow_partial () ? 3 : 0;
}

const GememCommand gemem_command_info = {
  .name = "info",
  .synopsis = "TRACE...",
  .summary =
      "Show what is in a trace or graph: events or nodes, sizes, lifetimes, peak and lower bound",
  .description =
      "Of a graph its nodes, tensors, streams and attributes are shown, and how many "
      "bytes are alive while each node runs; with --lower,\n"
      "the trace that it becomes. FILE#N is the N-th graph of a file, from 0.\n"
      "With --at or --by: who holds the memory at a moment. The rows sum to the requested "
      "bytes that are alive then; of a graph, its\n"
      "trace is shown. --format=flame draws the stacks, callers on top, each as wide as its "
      "share.\n"
      "--format=folded writes 'frame;frame;frame BYTES', outermost first, for flamegraph.pl, "
      "speedscope and the like.\n"
      "With --idle: who holds what is reserved and not in use, by cause. The rows sum to reserved "
      "minus live bytes.",
  .examples =
      "  gemem-sim info step.gmt\n  gemem-sim info snapshot.pickle --format=json\n  "
      "gemem-sim info model.json\n  gemem-sim info snapshot.pickle --at=peak --by=line\n  "
      "gemem-sim info snapshot.pickle --format=flame\n  "
      "gemem-sim info snapshot.pickle --at=oom --by=stack --focus=attention\n  gemem-sim info "
      "snapshot.pickle --idle=failure\n",
  .options = { entries, gemem_info_holders_entries, gemem_info_idle_entries, gemem_source_entries },
  .run = run,
};
