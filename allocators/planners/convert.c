/* convert.c - between graphs and lifetimes; see planner.h. */
#include "config.h"

#include "allocators/planners/planner.h"

GememLifetimes *
gemem_graph_lifetimes (const GememGraph *graph, GememPlanPlace **places)
{
  *places = g_new0 (GememPlanPlace, (gsize) gemem_graph_n_items (graph) + 1);
  return gemem_lifetimes_new (gemem_graph_name (graph));
}

GememGraph *
gemem_graph_from_lifetimes (const GememLifetimes *lifetimes)
{
  return gemem_graph_new (lifetimes->name);
}
