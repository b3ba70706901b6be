/* graph-info.c - `gemem-sim info GRAPH`: the summary of a graph as text and as JSON. */
#include "config.h"

#include <string.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "planners/graph-summary.h"
#include "sim/cli/graph-info.h"

#define ROWS 20 /* rows of the picture */
#define WIDTH 50

/* ---- for people */

static void append_line (GString *out, const char *label, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static void
append_line (GString *out, const char *label, const char *format, ...)
{
  va_list args;

  g_string_append_printf (out, "  %-22s ", label);
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  gemem_text_append_visible (out, text, -1, FALSE);
  g_string_append_c (out, '\n');
}

static void
append_size (GString *out, const char *label, guint64 bytes, const char *what)
{
  char text[GEMEM_FORMAT_MAX];

  append_line (out, label, "%s (%" G_GUINT64_FORMAT " bytes)%s", gemem_format_size (text, bytes),
               bytes, what);
}

static void
append_head (GString *out, const char *path, const char *format, const GememGraph *graph)
{
  const GPtrArray *settings = gemem_graph_settings (graph),
                  *provenance = gemem_graph_provenance (graph);

  gemem_text_append_visible (out, path, -1, FALSE);
  g_string_append_c (out, '\n');
  append_line (out, "format", "%s", format);
  append_line (out, "graph", "%s", gemem_graph_name (graph));
  for (guint i = 0; i < provenance->len; i++)
    {
      g_autofree char *line = gemem_text_line (provenance->pdata[i]);
      g_string_append_printf (out, "  %s\n", line);
    }
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      append_line (out, i == 0 ? "settings" : "", "%s=%s", setting->key, setting->value);
    }
  if (gemem_graph_dynamic_root (graph))
    g_string_append (out, "  the root is of dynamic shape\n");
  if (gemem_graph_release_first (graph) >= 0)
    append_line (out, "releases first", "%s", gemem_graph_release_first (graph) ? "yes" : "no");
}

static void
append_groups (GString *out, const GArray *groups)
{
  for (guint i = 0; i < groups->len; i++)
    {
      const GememGraphGroup *group = &g_array_index (groups, GememGraphGroup, i);

      if (group->label != NULL)
        g_string_append_printf (out, "    %s: %u nodes\n", group->label, group->nodes);
      else if (group->stream == -1)
        g_string_append_printf (out, "    none: %u nodes\n", group->nodes);
      else
        g_string_append_printf (out, "    %" G_GINT64_FORMAT ": %u nodes\n", group->stream,
                                group->nodes);
    }
}

static void
append_parts (GString *out, const GememGraph *graph, const GememGraphSummary *summary)
{
  g_autofree char *of_tensors = g_strdup_printf (" in %u, %u of them used by no node",
                                                 gemem_graph_n_tensors (graph), summary->unused);
  g_autofree char *of_workspaces = g_strdup_printf (" in %u", gemem_graph_n_workspaces (graph));
  g_autofree char *of_variables = g_strdup_printf (
      " in %u, %" G_GUINT64_FORMAT " bytes of them persistable", gemem_graph_n_variables (graph),
      summary->persistable_bytes);

  append_line (out, "nodes", "%u, %u inputs (%u not connected), %u controls",
               gemem_graph_n_nodes (graph), summary->inputs, summary->unconnected,
               summary->controls);
  if (gemem_graph_n_blocks (graph) > 1)
    append_line (out, "subgraphs", "%u", gemem_graph_n_blocks (graph) - 1);
  append_line (out, "streams", "%u", summary->streams->len);
  if (summary->streams->len > 1)
    append_groups (out, summary->streams);
  if (summary->labels->len > 0)
    append_line (out, "batch labels", "%u", summary->labels->len);
  append_groups (out, summary->labels);
  append_size (out, "tensors", summary->tensor_bytes, of_tensors);
  append_size (out, "workspaces", summary->workspace_bytes, of_workspaces);
  if (gemem_graph_n_variables (graph) > 0)
    append_size (out, "variables", summary->variable_bytes, of_variables);
  append_line (out, "items", "%u in %u lifetimes", gemem_graph_n_items (graph),
               summary->lifetimes->items->len);
}

/* Draws the largest live bytes in each part of the node order. */
static void
append_picture (GString *out, const GememGraphSummary *summary)
{
  const guint32 n = summary->live->len, rows = MIN (n, ROWS);
  const guint64 *live = (const guint64 *) (gconstpointer) summary->live->data;

  if (summary->lower_bound == 0)
    return;
  g_string_append (out, "  live bytes, by node\n");
  for (guint32 row = 0; row < rows; row++)
    {
      const guint32 first = (guint32) ((guint64) row * n / rows),
                    end = (guint32) ((guint64) (row + 1) * n / rows);
      char text[GEMEM_FORMAT_MAX];
      guint64 most = 0;

      for (guint32 id = first; id < end; id++)
        most = MAX (most, live[id]);
      g_string_append_printf (
          out, "    %7u %10s  %.*s\n", first, gemem_format_size (text, most),
          most > 0
              ? (int) MAX ((guint64) ((unsigned __int128) most * WIDTH / summary->lower_bound), 1)
              : 0,
          "##################################################");
    }
}

static void
append_dims (GString *out, const GememGraph *graph, const GememTensor *tensor)
{
  if (tensor->dtype == GEMEM_DTYPE_UNKNOWN && !tensor->has_shape)
    return;
  g_string_append_printf (out, "  %s", gemem_dtype_name (tensor->dtype));
  for (guint32 i = 0; tensor->has_shape && i < tensor->n_dims; i++)
    g_string_append_printf (out, "%s%" G_GINT64_FORMAT, i == 0 ? "[" : ",",
                            gemem_graph_dims (graph, tensor->first_dim)[i]);
  g_string_append (out, tensor->has_shape ? tensor->n_dims == 0 ? "[]" : "]" : "");
}

static void
append_largest (GString *out, const GememGraph *graph, const GememGraphSummary *summary)
{
  int width = 0;

  for (guint i = 0; i < summary->n_largest; i++)
    {
      g_autofree char *name = gemem_graph_item_text (graph, summary->largest[i].item);
      width = MAX (width, (int) MIN (g_utf8_strlen (name, -1), 50));
    }
  if (summary->n_largest > 0)
    g_string_append (out, "  largest items\n");
  for (guint i = 0; i < summary->n_largest; i++)
    {
      const GememGraphLarge *large = &summary->largest[i];
      const GememGraphItem item = gemem_graph_item (graph, large->item);
      g_autofree char *name = gemem_graph_item_text (graph, large->item);
      char text[GEMEM_FORMAT_MAX];

      g_string_append_printf (out, "    %10s  %-*s  ", gemem_format_size (text, large->size), width,
                              name);
      if (large->lifetime == GEMEM_NONE)
        g_string_append (out, "not planned");
      else
        {
          const GememLifetime *life = gemem_lifetimes_get (summary->lifetimes, large->lifetime);
          g_string_append_printf (out, "nodes %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                                  life->begin, life->end - 1);
        }
      if (!item.workspace)
        append_dims (out, graph,
                     gemem_graph_tensor (graph, gemem_graph_node (graph, item.node)->first_output
                                                    + item.index));
      g_string_append_c (out, '\n');
    }
}

void
gemem_graph_info_table (GString *out, const char *path, const char *format, const GememGraph *graph)
{
  GememGraphSummary *summary = gemem_graph_summarise (graph);
  g_autofree char *at = gemem_graph_n_nodes (graph) == 0
                            ? g_strdup ("")
                            : g_strdup_printf (" at node %u, %s", summary->peak,
                                               gemem_graph_node (graph, summary->peak)->name);
  gboolean first = TRUE;

  append_head (out, path, format, graph);
  append_parts (out, graph, summary);
  append_size (out, "peak live, lower bound", summary->lower_bound, at);
  append_size (out, "lower bound, 512 B", summary->lower_bound_512, "");
  append_picture (out, summary);
  append_largest (out, graph, summary);
  for (guint i = 0; i < GEMEM_ATTRIBUTE_COUNT; i++)
    if (summary->attributes[i] > 0)
      {
        g_string_append_printf (out, "%s    %s: %u\n", first ? "  attributes\n" : "",
                                gemem_attributes[i].name, summary->attributes[i]);
        first = FALSE;
      }
  gemem_graph_summary_free (summary);
}

/* ---- for programs */

static void
json_head (GString *out, const GememGraph *graph)
{
  const GPtrArray *settings = gemem_graph_settings (graph),
                  *provenance = gemem_graph_provenance (graph);

  gemem_json_append_name (out, "settings");
  g_string_append_c (out, '{');
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      gemem_json_append_text_member (out, NULL, setting->key);
      g_string_append (out, ": ");
      gemem_json_append_string (out, setting->value);
    }
  g_string_append_c (out, '}');
  gemem_json_append_name (out, "provenance");
  g_string_append_c (out, '[');
  for (guint i = 0; i < provenance->len; i++)
    gemem_json_append_text_member (out, NULL, provenance->pdata[i]);
  g_string_append_c (out, ']');
}

static void
json_groups (GString *out, const char *name, const GArray *groups)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '[');
  for (guint i = 0; i < groups->len; i++)
    {
      const GememGraphGroup *group = &g_array_index (groups, GememGraphGroup, i);

      gemem_json_append_name (out, NULL);
      g_string_append_c (out, '{');
      if (group->label != NULL)
        gemem_json_append_text_member (out, "label", group->label);
      else
        g_string_append_printf (out, "\"stream\": %" G_GINT64_FORMAT, group->stream);
      gemem_json_append_number_member (out, "nodes", group->nodes);
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

static void
json_numbers (GString *out, const GememGraph *graph, const GememGraphSummary *summary)
{
  gemem_json_append_number_member (out, "nodes", gemem_graph_n_nodes (graph));
  gemem_json_append_number_member (out, "inputs", summary->inputs);
  gemem_json_append_number_member (out, "unconnected_inputs", summary->unconnected);
  gemem_json_append_number_member (out, "controls", summary->controls);
  gemem_json_append_number_member (out, "subgraphs", gemem_graph_n_blocks (graph) - 1);
  gemem_json_append_number_member (out, "tensors", gemem_graph_n_tensors (graph));
  gemem_json_append_number_member (out, "unused_tensors", summary->unused);
  gemem_json_append_number_member (out, "tensor_bytes", summary->tensor_bytes);
  gemem_json_append_number_member (out, "workspaces", gemem_graph_n_workspaces (graph));
  gemem_json_append_number_member (out, "workspace_bytes", summary->workspace_bytes);
  gemem_json_append_number_member (out, "variables", gemem_graph_n_variables (graph));
  gemem_json_append_number_member (out, "variable_bytes", summary->variable_bytes);
  gemem_json_append_number_member (out, "persistable_bytes", summary->persistable_bytes);
  gemem_json_append_number_member (out, "items", gemem_graph_n_items (graph));
  gemem_json_append_number_member (out, "lifetimes", summary->lifetimes->items->len);
  gemem_json_append_number_member (out, "peak_live", summary->lower_bound);
  gemem_json_append_number_member (out, "peak_live_node", summary->peak);
  gemem_json_append_number_member (out, "lower_bound_512", summary->lower_bound_512);
}

static void
json_largest (GString *out, const GememGraph *graph, const GememGraphSummary *summary)
{
  gemem_json_append_name (out, "largest");
  g_string_append_c (out, '[');
  for (guint i = 0; i < summary->n_largest; i++)
    {
      const GememGraphLarge *large = &summary->largest[i];
      g_autofree char *name = gemem_graph_item_text (graph, large->item);

      gemem_json_append_name (out, NULL);
      g_string_append (out, "\n  {");
      gemem_json_append_text_member (out, "item", name);
      gemem_json_append_number_member (out, "size", large->size);
      if (large->lifetime != GEMEM_NONE)
        {
          gemem_json_append_number_member (
              out, "begin", gemem_lifetimes_get (summary->lifetimes, large->lifetime)->begin);
          gemem_json_append_number_member (
              out, "end", gemem_lifetimes_get (summary->lifetimes, large->lifetime)->end);
        }
      g_string_append_c (out, '}');
    }
  g_string_append_c (out, ']');
}

void
gemem_graph_info_json (GString *out, const char *path, const char *format, const GememGraph *graph)
{
  GememGraphSummary *summary = gemem_graph_summarise (graph);

  g_string_append (out, "{\"schema\": \"gemem-graph-info\", \"version\": 1");
  gemem_json_append_text_member (out, "path", path);
  gemem_json_append_text_member (out, "format", format);
  gemem_json_append_text_member (out, "name", gemem_graph_name (graph));
  json_head (out, graph);
  json_groups (out, "streams", summary->streams);
  json_groups (out, "batch_labels", summary->labels);
  json_numbers (out, graph, summary);
  json_largest (out, graph, summary);
  gemem_json_append_name (out, "attributes");
  g_string_append_c (out, '{');
  for (guint i = 0; i < GEMEM_ATTRIBUTE_COUNT; i++)
    if (summary->attributes[i] > 0)
      gemem_json_append_number_member (out, gemem_attributes[i].name, summary->attributes[i]);
  g_string_append_c (out, '}');
  gemem_json_append_name (out, "live");
  g_string_append_c (out, '[');
  for (guint i = 0; i < summary->live->len; i++)
    gemem_json_append_number_member (out, NULL, g_array_index (summary->live, guint64, i));
  g_string_append (out, "]}\n");
  gemem_graph_summary_free (summary);
}
