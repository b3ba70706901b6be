/* convert.c - between graphs and lifetimes; see convert.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graphs/order.h"
#include "graphs/overlay.h"
#include "planners/convert.h"
#include "planners/demand.h"

#define SESSION_BIT (1u << 31)

guint32
gemem_space_pack (guint64 type)
{
  return type == GEMEM_MEMORY_HBM ? 0 : type == GEMEM_MEMORY_SESSION ? SESSION_BIT : (guint32) type;
}

guint64
gemem_space_unpack (guint32 space)
{
  return space == 0 ? GEMEM_MEMORY_HBM : space == SESSION_BIT ? GEMEM_MEMORY_SESSION : space;
}

/* ---- from a graph */

/* Parameters of reading lifetimes from a graph. */
typedef struct
{
  const GememGraph *graph;
  GememDemands *demands;
  const GememGraphOrder *order; /* NULL: one stream, where ids are the order */
  const char *label;            /* reads only nodes without label or with this one; NULL: all */
  gboolean tight;               /* for the bound: no life or size exceeds what every plan needs */
} Reading;

static gboolean
has_several_streams (const GememGraph *graph)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    if (gemem_graph_node (graph, id)->stream != gemem_graph_node (graph, 0)->stream
        || gemem_graph_node (graph, id)->stream == -1)
      return TRUE;
  return FALSE;
}

static gboolean
counts (const Reading *reading, guint32 node)
{
  const char *label = gemem_graph_node (reading->graph, node)->batch_label;

  return reading->label == NULL || *label == '\0' || strcmp (label, reading->label) == 0;
}

/* The unit that gets one lifetime: a buffer.  For the bound, a wide class: the members of a buffer
 * need not all be alive at once. */
static guint32
unit_of (const Reading *reading, const GememDemand *item)
{
  return reading->tight ? item->wide : item->buffer;
}

/* TRUE if an output of the reader may lie on the input that it reads here. */
static gboolean
is_overwritten (const GememGraph *graph, const GememConsumer *reader)
{
  for (guint32 o = 0; o < gemem_graph_node (graph, reader->node)->n_outputs; o++)
    if (gemem_graph_may_overlay (graph, reader->node, reader->input, o))
      return TRUE;
  return FALSE;
}

static void
extend (const Reading *reading, GememLifetime *life, guint32 user, gboolean overwritten)
{
  const guint64 end = (guint64) user + !overwritten,
                safe = reading->order != NULL ? gemem_graph_order_safe (reading->order, &user, 1)
                                              : end;

  life->end = MAX (life->end, end);
  life->safe_end = MAX (life->safe_end, safe);
}

/* Owners of subgraphs and data nodes use no memory while they run.  Lifetimes count them, which is
 * safe; the bound must not. */
static gboolean
takes_part (const Reading *reading, guint32 node)
{
  const GememNode *n = gemem_graph_node (reading->graph, node);

  return counts (reading, node) && !(reading->tight && (n->n_blocks > 0 || gemem_node_is_data (n)));
}

/* Extends @life to cover the life and the bytes of item @number. */
static void
live (const Reading *reading, guint32 number, GememLifetime *life)
{
  const GememGraph *graph = reading->graph;
  const GememDemand *item = &reading->demands->items[number];
  const GememNode *node = gemem_graph_node (graph, item->node);
  const guint32 o = number - gemem_node_item (node);

  if (item->flags & GEMEM_DEMAND_FROM_START)
    life->begin = 0;
  else if (takes_part (reading, item->node))
    life->begin = MIN (life->begin, MIN (item->node, item->memset));
  life->size = MAX (life->size, item->bytes + (reading->tight ? 0 : (guint64) item->inner));
  if (item->flags & GEMEM_DEMAND_TO_END)
    life->end = gemem_graph_n_nodes (graph);
  /* data is written before the run: only its readers count */
  if (!gemem_node_is_data (node) && takes_part (reading, item->node))
    extend (reading, life, item->node, FALSE);
  for (guint32 i = 0;
       o < node->n_outputs && i < gemem_graph_tensor (graph, node->first_output + o)->n_consumers;
       i++)
    {
      const GememConsumer *reader = &gemem_graph_consumers (graph, node->first_output + o)[i];

      if (takes_part (reading, reader->node))
        extend (reading, life, reader->node, reading->tight && is_overwritten (graph, reader));
    }
}

/* A lifetime that no node extended begins and ends with its first item's node. */
static void
settle (const Reading *reading, GememLifetime *life)
{
  if (life->begin == G_MAXUINT64)
    life->begin = reading->demands->items[life->id].node;
  life->end = MAX (life->end, life->begin + 1);
  life->safe_end = MAX (life->safe_end, life->end);
}

/* Per unit, the number of its lifetime, in order of the first item that needs memory. */
static guint32 *
number_units (const Reading *reading, GememLifetimes *lifetimes)
{
  const GememDemands *demands = reading->demands;
  guint32 *numbers = g_new (guint32, (gsize) demands->n + 1);

  for (guint32 i = 0; i < demands->n; i++)
    numbers[i] = GEMEM_NONE;
  for (guint32 i = 0; i < demands->n; i++)
    {
      const GememDemand *item = &demands->items[i];
      GememLifetime *life;

      if (!(item->flags & GEMEM_DEMAND_MEMORY) || numbers[unit_of (reading, item)] != GEMEM_NONE
          || !counts (reading, item->node))
        continue;
      numbers[unit_of (reading, item)] = lifetimes->items->len;
      gemem_lifetimes_add (lifetimes, item->node, (guint64) item->node + 1, item->bytes);
      life = gemem_lifetimes_get (lifetimes, lifetimes->items->len - 1);
      life->begin = G_MAXUINT64; /* no begin yet: live() lowers it */
      life->end = life->safe_end = 0;
      life->id = life->tag = i;
      life->space = gemem_space_pack (item->space);
    }
  return numbers;
}

/* *numbers: per unit, the number of its lifetime. */
static GememLifetimes *
read_lifetimes (const Reading *reading, guint32 **numbers)
{
  GememLifetimes *lifetimes = gemem_lifetimes_new (gemem_graph_name (reading->graph));

  *numbers = number_units (reading, lifetimes);
  for (guint32 i = 0; i < reading->demands->n; i++)
    {
      const GememDemand *item = &reading->demands->items[i];
      const guint32 number = (*numbers)[unit_of (reading, item)];

      /* members without memory also extend the lifetime by their users */
      if (number != GEMEM_NONE && counts (reading, item->node))
        live (reading, i, gemem_lifetimes_get (lifetimes, number));
    }
  for (guint i = 0; i < lifetimes->items->len; i++)
    settle (reading, gemem_lifetimes_get (lifetimes, i));
  lifetimes->steps = gemem_graph_n_nodes (reading->graph);
  return lifetimes;
}

GememLifetimes *
gemem_graph_lifetimes (const GememGraph *graph, GememPlanPlace **places)
{
  g_autoptr (GememDemands) demands = gemem_demands_new (graph, FALSE);
  g_autoptr (GememGraphOrder) order = has_several_streams (graph) ? gemem_graph_order_new (graph)
                                                                  : NULL;
  g_autofree guint32 *numbers = NULL;
  GememLifetimes *lifetimes = read_lifetimes (&(Reading){ graph, demands, order, NULL, FALSE },
                                              &numbers);

  *places = g_new0 (GememPlanPlace, (gsize) demands->n + 1);
  for (guint32 i = 0; i < demands->n; i++)
    {
      const GememDemand *item = &demands->items[i];

      (*places)[i].lifetime = item->flags & GEMEM_DEMAND_MEMORY ? numbers[item->buffer]
                                                                : GEMEM_NONE;
      (*places)[i].inner = (guint64) item->inner;
      (*places)[i].bytes = item->bytes;
    }
  return lifetimes;
}

static guint64
bound_of_pass (const GememGraph *graph, GememDemands *demands, const char *label, guint64 alignment)
{
  g_autofree guint32 *numbers = NULL;
  g_autoptr (GememLifetimes)
      lifetimes = read_lifetimes (&(Reading){ graph, demands, NULL, label, TRUE }, &numbers);

  return gemem_lifetimes_lower_bound (lifetimes, alignment);
}

guint64
gemem_graph_lower_bound (const GememGraph *graph, guint64 alignment, gboolean clears_apart)
{
  g_autoptr (GememDemands) demands = gemem_demands_new (graph, clears_apart);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  guint64 bound = bound_of_pass (graph, demands, "", alignment);

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const char *label = gemem_graph_node (graph, id)->batch_label;

      if (*label != '\0' && g_hash_table_add (seen, (gpointer) label))
        bound = MAX (bound, bound_of_pass (graph, demands, label, alignment));
    }
  return bound;
}

/* ---- from a plan of lifetimes to one of the graph */

GememPlan *
gemem_plan_spread (const GememGraph *graph, const GememPlan *plan, const GememPlanPlace *places)
{
  GememPlan *result = gemem_plan_new (plan->planner, gemem_graph_n_items (graph));

  if (plan->spaces != NULL)
    result->spaces = g_new0 (guint64, (gsize) result->n_items + 1);
  for (guint32 i = 0; i < result->n_items; i++)
    {
      const guint32 lifetime = places[i].lifetime;

      if (lifetime == GEMEM_NONE || plan->offsets[lifetime] == GEMEM_NO_OFFSET)
        continue;
      result->offsets[i] = plan->offsets[lifetime] + places[i].inner;
      result->sizes[i] = places[i].bytes;
      if (plan->spaces != NULL)
        result->spaces[i] = gemem_space_unpack ((guint32) plan->spaces[lifetime]);
    }
  for (guint i = 0; i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      gemem_plan_add_total (result, gemem_space_unpack ((guint32) total->space), total->bytes);
    }
  result->alignment = plan->alignment;
  result->winner = g_strdup (plan->winner);
  for (guint i = 0; i < plan->candidates->len; i++)
    {
      const GememPlanCandidate *tried = &g_array_index (plan->candidates, GememPlanCandidate, i);

      gemem_plan_add_candidate (result, tried->name, tried->total);
    }
  for (guint i = 0; i < plan->log->len; i++)
    gemem_plan_add_log (result, "%s", (const char *) plan->log->pdata[i]);
  return result;
}

/* ---- to a graph */

typedef struct
{
  const GememLifetime *life;
  guint32 number;
} Begin;

static int
compare_begins (gconstpointer a, gconstpointer b)
{
  const Begin *x = a, *y = b;

  if (x->life->begin != y->life->begin)
    return x->life->begin < y->life->begin ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Number of @begins before @step. */
static guint
count_before (const Begin *begins, guint n, guint64 step)
{
  guint low = 0;

  while (low < n)
    {
      const guint middle = low + (n - low) / 2;

      if (begins[middle].life->begin < step)
        low = middle + 1;
      else
        n = middle;
    }
  return low;
}

/* Per node i, the earlier nodes whose last reader is i: indices [first[i], first[i + 1]). */
static guint32 *
find_readers (const Begin *begins, guint n, guint32 *first)
{
  guint32 *lists = g_new (guint32, (gsize) n + 1);
  g_autofree guint32 *last = g_new (guint32, (gsize) n + 1), *fill = g_new (guint32, (gsize) n + 1);

  for (guint i = 0; i < n; i++)
    {
      last[i] = count_before (begins, n, begins[i].life->safe_end) - 1;
      first[last[i] + 1]++;
    }
  for (guint i = 0; i < n; i++)
    first[i + 1] += first[i];
  memcpy (fill, first, sizeof (guint32) * n);
  for (guint i = 0; i < n; i++)
    lists[fill[last[i]]++] = i;
  return lists;
}

static void
add_item (GememGraph *graph, guint i, const GememLifetime *life, const guint32 *readers,
          guint n_readers)
{
  const gint64 type = (gint64) gemem_space_unpack (life->space);
  char name[32];

  g_snprintf (name, sizeof name, "item-%u", i);
  gemem_graph_add_node (graph, name, "Item");
  if (life->space != 0)
    gemem_graph_add_attribute_ints (graph, GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE, &type, 1);
  for (guint k = 0; k < n_readers; k++)
    if (readers[k] != i)
      {
        g_snprintf (name, sizeof name, "item-%u", readers[k]);
        gemem_graph_add_input (graph, name, 0);
      }
  gemem_graph_add_output (graph, life->size);
}

GememGraph *
gemem_graph_from_lifetimes (const GememLifetimes *lifetimes, guint32 **order, GError **error)
{
  const guint n = lifetimes->items->len;
  GememGraph *graph = gemem_graph_new (lifetimes->name);
  g_autofree Begin *begins = g_new (Begin, (gsize) n + 1);
  g_autofree guint32 *first = g_new0 (guint32, (gsize) n + 1);
  g_autofree guint32 *lists = NULL;

  for (guint i = 0; i < n; i++)
    begins[i] = (Begin){ gemem_lifetimes_get (lifetimes, i), i };
  qsort (begins, n, sizeof (Begin), compare_begins);
  lists = find_readers (begins, n, first);
  *order = g_new (guint32, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    {
      (*order)[i] = begins[i].number;
      add_item (graph, i, begins[i].life, lists + first[i], first[i + 1] - first[i]);
    }
  if (!gemem_graph_seal (graph, lifetimes->name, error))
    g_clear_pointer (&graph, gemem_graph_unref);
  return graph;
}
