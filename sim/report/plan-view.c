/* plan-view.c - turns a plan into rectangles; see plan-view.h. */
#include "config.h"

#include "base/units.h"
#include "planners/convert.h"
#include "sim/report/plan-view.h"

/* The start of @space when the spaces are stacked. */
static guint64
space_base (const GememPlan *plan, guint64 space)
{
  guint64 base = 0;

  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      if (total->space == space)
        return base;
      base += total->bytes;
    }
  return 0;
}

/* Bytes [low, high) of the item. */
static void
add_rect (GememPlanView *view, guint32 item, guint64 begin, guint64 end, guint64 low, guint64 high)
{
  const GememPlan *plan = view->result->plan;
  const guint64 base = (plan->spaces != NULL ? space_base (plan, plan->spaces[item]) : 0)
                       + plan->offsets[item];
  const GememPlanRect rect = { begin, end, base + low, base + high, item };

  g_array_append_val (view->rects, rect);
  view->steps = MAX (view->steps, end);
  view->top = MAX (view->top, rect.to);
}

static gboolean
is_placed (const GememPlan *plan, guint32 item)
{
  return plan->offsets[item] != GEMEM_NO_OFFSET && plan->sizes[item] > 0;
}

/* References: items with the same lifetime and place are drawn once. */
static void
add_graph (GememPlanView *view, const GememGraph *graph)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes) lifetimes = gemem_graph_lifetimes (graph, &places);
  /* offset last drawn, per lifetime */
  g_autofree guint64 *drawn = g_new (guint64, (gsize) lifetimes->items->len + 1);

  for (guint i = 0; i < lifetimes->items->len; i++)
    drawn[i] = GEMEM_NO_OFFSET;
  for (guint32 item = 0; item < view->result->plan->n_items; item++)
    {
      const guint32 number = places[item].lifetime;
      const GememLifetime *lifetime = number != GEMEM_NONE ? gemem_lifetimes_get (lifetimes, number)
                                                           : NULL;
      const guint64 node = gemem_graph_item (graph, item).node;

      if (!is_placed (view->result->plan, item)
          || (lifetime != NULL && drawn[number] == view->result->plan->offsets[item]))
        continue;
      if (lifetime != NULL)
        drawn[number] = view->result->plan->offsets[item];
      add_rect (view, item, lifetime != NULL ? lifetime->begin : node,
                lifetime != NULL ? lifetime->end : node + 1, 0, view->result->plan->sizes[item]);
    }
}

static void
add_lifetimes (GememPlanView *view, const GememLifetimes *lifetimes)
{
  const GememPlan *plan = view->result->plan;
  g_autofree guint32 *starts = NULL;
  g_autoptr (GArray) pieces = lifetimes->gaps != NULL ? gemem_lifetimes_pieces (lifetimes, &starts)
                                                      : NULL;

  for (guint32 i = 0; i < plan->n_items && pieces == NULL; i++)
    if (is_placed (plan, i))
      add_rect (view, i, gemem_lifetimes_get (lifetimes, i)->begin,
                gemem_lifetimes_get (lifetimes, i)->end, 0, plan->sizes[i]);
  for (guint i = 0; pieces != NULL && i < pieces->len; i++)
    {
      const GememLifePiece *piece = &g_array_index (pieces, GememLifePiece, i);

      if (is_placed (plan, piece->item))
        add_rect (view, piece->item, piece->begin, piece->end, piece->low, piece->high);
    }
}

void
gemem_plan_view_init (GememPlanView *view, const GememPlanResult *result)
{
  const GememPlan *plan = result->plan;
  const GememPlanInput *input = result->of;

  *view = (GememPlanView){ result, g_array_new (FALSE, FALSE, sizeof (GememPlanRect)), 1,
                           MAX (MAX (plan->arena, plan->lower_bound), 1) };
  if (input->graph != NULL)
    {
      view->steps = MAX (gemem_graph_n_nodes (input->graph), 1);
      add_graph (view, input->graph);
      return;
    }
  view->steps = MAX (input->lifetimes->steps, 1);
  add_lifetimes (view, input->lifetimes);
}

void
gemem_plan_view_clear (GememPlanView *view)
{
  g_array_unref (view->rects);
}

char *
gemem_plan_view_item (const GememPlanView *view, guint32 item)
{
  GememGraphItem info;
  const char *name;

  if (view->result->of->graph == NULL && view->result->of->lifetimes->names != NULL)
    return g_strdup (view->result->of->lifetimes->names->pdata[item]);
  if (view->result->of->graph == NULL)
    return g_strdup_printf ("%" G_GUINT64_FORMAT,
                            gemem_lifetimes_get (view->result->of->lifetimes, item)->id);
  info = gemem_graph_item (view->result->of->graph, item);
  name = gemem_graph_node (view->result->of->graph, info.node)->name;
  if (info.workspace)
    return g_strdup_printf ("%s workspace", name);
  return info.index > 0 ? g_strdup_printf ("%s:%u", name, info.index) : g_strdup (name);
}

char *
gemem_plan_view_facts (const GememPlanView *view)
{
  char arena[GEMEM_FORMAT_MAX], bound[GEMEM_FORMAT_MAX];
  const GememPlan *plan = view->result->plan;
  const guint n = view->rects->len;
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_append_printf (text, "arena %s, lower bound %s", gemem_format_size (arena, plan->arena),
                          gemem_format_size (bound, plan->lower_bound));
  if (plan->lower_bound > 0)
    {
      const guint64 permille = (guint64) (((unsigned __int128) plan->arena * 1000
                                           + plan->lower_bound / 2)
                                          / plan->lower_bound);

      g_string_append_printf (text, " (overhead %" G_GUINT64_FORMAT ".%03u)", permille / 1000,
                              (guint) (permille % 1000));
    }
  g_string_append_printf (text, ", %u rectangle%s", n, gemem_plural (n));
  return g_strdup (text->str);
}
