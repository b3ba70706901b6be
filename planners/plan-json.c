/* plan-json.c - writes plans as JSON; see plan-file.h.  One line per node or item. */
#include "config.h"

#include "base/io/json-text.h"
#include "planners/plan-file-private.h"

static void
append_number (GString *out, const char *name, guint64 value)
{
  g_string_append_printf (out, ",\n  \"%s\": %" G_GUINT64_FORMAT, name, value);
}

static void
append_text (GString *out, const char *name, const char *value)
{
  g_string_append_printf (out, ",\n  \"%s\": ", name);
  gemem_json_append_string (out, value);
}

static void
append_offset (GString *out, guint64 offset)
{
  if (offset == GEMEM_NO_OFFSET)
    g_string_append (out, "null");
  else
    g_string_append_printf (out, "%" G_GUINT64_FORMAT, offset);
}

static void
append_candidates (GString *out, const GememPlan *plan)
{
  g_string_append (out, ",\n  \"candidates\": [");
  for (guint i = 0; i < plan->candidates->len; i++)
    {
      const GememPlanCandidate *candidate = &g_array_index (plan->candidates, GememPlanCandidate,
                                                            i);

      g_string_append (out, i > 0 ? ", [" : "[");
      gemem_json_append_string (out, candidate->name);
      g_string_append_printf (out, ", %" G_GUINT64_FORMAT "]", candidate->total);
    }
  g_string_append (out, "]");
}

/* GE's feature map: ordinary memory, including the zero-copy tail. */
static guint64
feature_map (const GememPlan *plan)
{
  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      if (total->space == GEMEM_MEMORY_HBM)
        return total->bytes;
    }
  return plan->arena;
}

static void
append_totals (GString *out, const GememPlan *plan)
{
  g_string_append (out, ",\n  \"totals\": {");
  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      g_string_append_printf (out, "%s\"0x%" G_GINT64_MODIFIER "x\": %" G_GUINT64_FORMAT,
                              i > 0 ? ", " : "", total->space, total->bytes);
    }
  g_string_append (out, "}");
}

static void
append_range (GString *out, guint64 space, guint64 base, guint64 size)
{
  g_string_append_printf (out,
                          "\"space\": \"0x%" G_GINT64_MODIFIER "x\", \"base\": %" G_GUINT64_FORMAT
                          ", \"size\": %" G_GUINT64_FORMAT,
                          space, base, size);
}

static void
append_segments (GString *out, const GememPlan *plan)
{
  g_string_append (out, ",\n  \"segments\": [");
  for (guint i = 0; i < plan->segments->len; i++)
    {
      const GememPlanSegment *segment = &g_array_index (plan->segments, GememPlanSegment, i);

      g_string_append (out, i > 0 ? ",\n    {" : "\n    {");
      append_range (out, segment->space, segment->base, segment->size);
      g_string_append_printf (out, ", \"fixed\": %s, \"zero_copy\": %s}",
                              segment->fixed ? "true" : "false",
                              segment->zero_copy ? "true" : "false");
    }
  g_string_append (out, plan->segments->len > 0 ? "\n  ]" : "]");
}

static void
append_batch_parts (GString *out, const GememPlan *plan)
{
  g_string_append (out, ",\n  \"batch_parts\": [");
  for (guint i = 0; i < plan->batch_parts->len; i++)
    {
      const GememPlanPart *part = &g_array_index (plan->batch_parts, GememPlanPart, i);

      g_string_append (out, i > 0 ? ",\n    {" : "\n    {");
      append_range (out, part->space, part->base, part->size);
      g_string_append_c (out, '}');
    }
  g_string_append (out, "\n  ]");
}

static void
append_memsets (GString *out, const GememPlan *plan)
{
  g_string_append (out, ",\n  \"memsets\": [");
  for (guint i = 0; i < plan->memsets->len; i++)
    {
      const GememPlanMemset *memset = &g_array_index (plan->memsets, GememPlanMemset, i);

      g_string_append (out, i > 0 ? ",\n    {\"node\": " : "\n    {\"node\": ");
      gemem_json_append_string (out, memset->node);
      g_string_append_printf (out,
                              ", \"space\": \"0x%" G_GINT64_MODIFIER
                              "x\", \"base\": %" G_GUINT64_FORMAT ", \"size\": %" G_GUINT64_FORMAT
                              "}",
                              memset->space, memset->base, memset->size);
    }
  g_string_append (out, "\n  ]");
}

/* TRUE if one of @n offsets is known. */
static gboolean
is_known (const guint64 *offsets, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    if (offsets[i] != GEMEM_NO_OFFSET)
      return TRUE;
  return FALSE;
}

/* Writes {node: [offset...]} of the outputs or of the workspaces, for the nodes that have any, and
 * if @known_only for those of which an offset is known. */
static void
append_nodes (GString *out, const char *name, const guint64 *offsets, const GememGraph *graph,
              gboolean workspaces, gboolean known_only)
{
  gboolean first = TRUE;

  g_string_append_printf (out, ",\n  \"%s\": {", name);
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);
      const guint32 item = workspaces ? gemem_node_workspace_item (node, 0)
                                      : gemem_node_output_item (node, 0);
      const guint32 n = workspaces ? node->n_workspaces : node->n_outputs;

      if (n == 0 || (known_only && !is_known (offsets + item, n)))
        continue;
      g_string_append (out, first ? "\n    " : ",\n    ");
      gemem_json_append_string (out, node->name);
      for (guint32 i = 0; i < n; i++)
        {
          g_string_append (out, i == 0 ? ": [" : ", ");
          append_offset (out, offsets[item + i]);
        }
      g_string_append (out, "]");
      first = FALSE;
    }
  g_string_append (out, first ? "}" : "\n  }");
}

/* ", [[begin, end, low, high]...]", if the item has gaps; *next: the first that is not written. */
static void
append_gaps (GString *out, const GArray *gaps, guint32 item, guint *next)
{
  const guint first = *next;

  for (;
       gaps != NULL && *next < gaps->len && g_array_index (gaps, GememLifeGap, *next).item == item;
       ++*next)
    {
      const GememLifeGap *gap = &g_array_index (gaps, GememLifeGap, *next);

      g_string_append_printf (out,
                              "%s[%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                              ", %" G_GUINT64_FORMAT "]",
                              *next > first ? ", " : ", [", gap->begin, gap->end, gap->low,
                              gap->high);
    }
  if (*next > first)
    g_string_append_c (out, ']');
}

static void
append_items (GString *out, const GememPlan *plan, const GememLifetimes *lifetimes)
{
  guint gap = 0;

  g_string_append (out, ",\n  \"items\": [");
  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *item = gemem_lifetimes_get (lifetimes, i);

      g_string_append_printf (out,
                              "%s\n    [%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                              ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", ",
                              i > 0 ? "," : "", item->id, item->begin, item->end, item->size);
      append_offset (out, plan->offsets[i]);
      if (item->alignment != 0)
        g_string_append_printf (out, ", %" G_GUINT64_FORMAT, item->alignment);
      append_gaps (out, lifetimes->gaps, i, &gap);
      g_string_append (out, "]");
    }
  g_string_append (out, lifetimes->items->len > 0 ? "\n  ]" : "]");
}

void
gemem_plan_write_json (GString *out, const GememPlan *plan, const GememPlanInput *input)
{
  g_string_append_printf (out, "{\n  \"schema\": \"" GEMEM_PLAN_SCHEMA "\",\n  \"version\": %d",
                          GEMEM_PLAN_VERSION);
  append_text (out, "planner", plan->planner);
  append_text (out, "input",
               input->graph != NULL ? gemem_graph_name (input->graph) : input->lifetimes->name);
  append_number (out, "arena", plan->arena);
  append_number (out, "lower_bound", plan->lower_bound);
  if (plan->least > 0)
    append_number (out, "least", plan->least);
  append_number (out, "alignment", plan->alignment);
  if (plan->winner != NULL)
    append_text (out, "winner", plan->winner);
  if (plan->candidates->len > 0)
    append_candidates (out, plan);
  if (input->graph != NULL)
    {
      append_number (out, "feature_map_plus_tail", feature_map (plan));
      append_number (out, "zero_copy", plan->zero_copy);
    }
  append_totals (out, plan);
  if (plan->segments->len > 0)
    append_segments (out, plan);
  if (plan->batch_parts->len > 0)
    append_batch_parts (out, plan);
  if (plan->clears_apart)
    g_string_append (out, ",\n  \"clears_apart\": true");
  if (plan->memsets->len > 0)
    append_memsets (out, plan);
  if (input->graph != NULL)
    {
      append_nodes (out, "outputs", plan->offsets, input->graph, FALSE, FALSE);
      append_nodes (out, "workspaces", plan->offsets, input->graph, TRUE, FALSE);
      if (plan->addresses != NULL)
        append_nodes (out, "addresses", plan->addresses, input->graph, FALSE, TRUE);
    }
  else
    append_items (out, plan, input->lifetimes);
  g_string_append (out, "\n}\n");
}
