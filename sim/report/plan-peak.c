/* plan-peak.c - see plan-peak.h. */
#include "config.h"

#include <stdlib.h>

#include "base/io/json-text.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/report/plan-peak.h"

#define ITEMS_SHOWN 10 /* the largest ones */

typedef struct
{
  guint64 space, step;
  guint64 bytes; /* of the space */
  guint64 taken; /* of these by the items */
  GArray *rects; /* GememPlanRect, the largest first: what is alive at the step */
} Peak;

/* ---- the step */

typedef struct
{
  guint64 step, bytes;
  gboolean begins, touches; /* the top of the space */
} Edge;

/* At equal steps ends precede begins, because intervals are half-open. */
static int
compare_edges (gconstpointer a, gconstpointer b)
{
  const Edge *x = a, *y = b;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->begins - y->begins;
}

static guint64
space_of (const GememPlan *plan, const GememPlanRect *rect)
{
  return plan->spaces != NULL ? plan->spaces[rect->item] : 0;
}

/* The rectangles of the space with the most bytes. */
static GArray *
rects_of_largest (const GememPlanView *view, Peak *peak)
{
  const GememPlan *plan = view->result->plan;
  GArray *rects = g_array_new (FALSE, FALSE, sizeof (GememPlanRect));

  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      if (total->bytes > peak->bytes)
        {
          peak->bytes = total->bytes;
          peak->space = total->space;
        }
    }
  for (guint i = 0; i < view->rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (view->rects, GememPlanRect, i);

      if (plan->spaces == NULL || space_of (plan, rect) == peak->space)
        g_array_append_val (rects, *rect);
    }
  return rects;
}

static guint64
highest (const GArray *rects)
{
  guint64 top = 0;

  for (guint i = 0; i < rects->len; i++)
    top = MAX (top, g_array_index (rects, GememPlanRect, i).to);
  return top;
}

static Edge *
edges_of (const GArray *rects)
{
  const guint64 top = highest (rects);
  Edge *edges = g_new (Edge, 2 * (gsize) rects->len + 1);

  for (guint i = 0; i < rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (rects, GememPlanRect, i);
      const guint64 bytes = rect->to - rect->from;

      edges[2 * (gsize) i] = (Edge){ rect->begin, bytes, TRUE, rect->to == top };
      edges[2 * (gsize) i + 1] = (Edge){ rect->end, bytes, FALSE, rect->to == top };
    }
  qsort (edges, 2 * (gsize) rects->len, sizeof (Edge), compare_edges);
  return edges;
}

/* The first step at which most is alive, of those at which something touches the top. */
static guint64
fullest_step (const GArray *rects)
{
  g_autofree Edge *edges = edges_of (rects);
  guint64 live = 0, most = 0, step = 0;
  guint touching = 0;

  for (gsize i = 0; i < 2 * (gsize) rects->len; i++)
    {
      live = edges[i].begins ? live + edges[i].bytes : live - edges[i].bytes;
      if (edges[i].touches)
        touching += edges[i].begins ? 1 : -1u;
      if (touching > 0 && live > most)
        {
          most = live;
          step = edges[i].step;
        }
    }
  return step;
}

/* ---- the items */

static int
compare_starts (gconstpointer a, gconstpointer b)
{
  const GememPlanRect *x = a, *y = b;

  return x->from < y->from ? -1 : x->from > y->from;
}

static int
compare_sizes (gconstpointer a, gconstpointer b)
{
  const GememPlanRect *x = a, *y = b;
  const guint64 size[2] = { x->to - x->from, y->to - y->from };

  if (size[0] != size[1])
    return size[0] > size[1] ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Bytes that the rectangles cover. */
static guint64
covered (GArray *rects)
{
  guint64 bytes = 0, end = 0;

  g_array_sort (rects, compare_starts);
  for (guint i = 0; i < rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (rects, GememPlanRect, i);
      const guint64 from = MAX (rect->from, end);

      bytes += rect->to > from ? rect->to - from : 0;
      end = MAX (end, rect->to);
    }
  return bytes;
}

/* Free with g_array_unref() of `rects`, which is empty where the plan places nothing. */
static Peak
peak_of (const GememPlanView *view)
{
  Peak peak = { .rects = g_array_new (FALSE, FALSE, sizeof (GememPlanRect)) };
  g_autoptr (GArray) rects = rects_of_largest (view, &peak);

  peak.step = fullest_step (rects);
  for (guint i = 0; i < rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (rects, GememPlanRect, i);

      if (rect->begin <= peak.step && peak.step < rect->end)
        g_array_append_val (peak.rects, *rect);
    }
  peak.taken = covered (peak.rects);
  g_array_sort (peak.rects, compare_sizes);
  return peak;
}

/* ---- for people */

/* The node that runs at @step; NULL: the steps are no nodes. */
static const char *
node_at (const GememPlanResult *result, guint64 step)
{
  const GememGraph *graph = result->of->graph;

  return graph != NULL && step < gemem_graph_n_nodes (graph)
             ? gemem_graph_node (graph, (guint32) step)->name
             : NULL;
}

static void
append_items (GString *out, const GememPlanView *view, const Peak *peak)
{
  char size[GEMEM_FORMAT_MAX];
  guint64 rest = 0;

  for (guint i = 0; i < peak->rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (peak->rects, GememPlanRect, i);
      g_autofree char *name = gemem_plan_view_item (view, rect->item);

      if (i >= ITEMS_SHOWN)
        {
          rest += rect->to - rect->from;
          continue;
        }
      g_autofree char *line = g_strdup_printf (
          "  %10s  %s, steps %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
          gemem_format_size (size, rect->to - rect->from), name, rect->begin, rect->end);
      gemem_text_append_cut (out, line);
    }
  if (rest > 0)
    g_string_append_printf (out, "  %10s  in %u others\n", gemem_format_size (size, rest),
                            peak->rects->len - ITEMS_SHOWN);
}

void
gemem_plan_peak_text (GString *out, const GememPlanResult *result)
{
  GememPlanView view;
  char size[2][GEMEM_FORMAT_MAX];

  gemem_plan_view_init (&view, result);
  Peak peak = peak_of (&view);
  const char *node = node_at (result, peak.step);
  g_autofree char *line = g_strdup_printf (
      "%s peaks at step %" G_GUINT64_FORMAT "%s%s%s: %s in %u items, %s in none",
      result->plan->planner, peak.step, node != NULL ? " (" : "", node != NULL ? node : "",
      node != NULL ? ")" : "", gemem_format_size (size[0], peak.taken), peak.rects->len,
      gemem_format_size (size[1], peak.bytes - MIN (peak.taken, peak.bytes)));

  if (peak.rects->len > 0)
    {
      gemem_text_append_cut (out, line);
      append_items (out, &view, &peak);
    }
  g_array_unref (peak.rects);
  gemem_plan_view_clear (&view);
}

/* ---- for programs */

static void
append_json_item (GString *out, const GememPlanView *view, const GememPlanRect *rect)
{
  g_autofree char *name = gemem_plan_view_item (view, rect->item);

  gemem_json_append_name (out, NULL);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "item", name);
  gemem_json_append_number_member (out, "size", rect->to - rect->from);
  gemem_json_append_number_member (out, "begin", rect->begin);
  gemem_json_append_number_member (out, "end", rect->end);
  g_string_append_c (out, '}');
}

void
gemem_plan_peak_json (GString *out, const GememPlanResult *result)
{
  GememPlanView view;

  gemem_plan_view_init (&view, result);
  Peak peak = peak_of (&view);
  gemem_json_append_name (out, "peak");
  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "step", peak.step);
  gemem_json_append_text_member (out, "node", node_at (result, peak.step));
  gemem_json_append_number_member (out, "space", peak.space);
  gemem_json_append_number_member (out, "bytes", peak.bytes);
  gemem_json_append_number_member (out, "taken", peak.taken);
  gemem_json_append_number_member (out, "items", peak.rects->len);
  gemem_json_append_name (out, "largest");
  g_string_append_c (out, '[');
  for (guint i = 0; i < peak.rects->len && i < ITEMS_SHOWN; i++)
    append_json_item (out, &view, &g_array_index (peak.rects, GememPlanRect, i));
  g_string_append (out, "]}");
  g_array_unref (peak.rects);
  gemem_plan_view_clear (&view);
}
