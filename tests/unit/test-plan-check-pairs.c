/* test-plan-check-pairs.c - the checker's sweep against a comparison of all pairs, on random plans
 * of random graphs and lifetimes.
 *
 * The sweep compares an item only with the latest items in its bytes; check-sweep.h argues that
 * this finds a fault whenever there is one. The naive side has no chains, sets or order of time:
 * for every pair, in both directions, every writer of the one must be known to start after every
 * user of the other.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "graphs/order.h"
#include "graphs/overlay.h"
#include "planners/check.h"
#include "planners/demand.h"
#include "tests/util/random-graph.h"

typedef struct
{
  const GememGraph *graph;
  GememDemands *demands;
  GememGraphOrder *order;
  const GememPlan *plan;
  const char *label; /* of the pass; "" where there are none */
} Naive;

static gboolean
runs (const Naive *naive, guint32 node)
{
  const char *label = gemem_graph_node (naive->graph, node)->batch_label;

  return *label == '\0' || strcmp (label, naive->label) == 0;
}

static gboolean
acts (const Naive *naive, guint32 node)
{
  const GememNode *n = gemem_graph_node (naive->graph, node);

  return n->n_blocks == 0 && !gemem_node_is_data (n) && runs (naive, node);
}

/* TRUE if @user reads or writes @item's output. */
static gboolean
uses (const Naive *naive, guint32 item, guint32 user)
{
  const GememDemand *demand = &naive->demands->items[item];

  if (demand->node == user || demand->memset == user)
    return TRUE;
  for (guint32 i = 0; i < gemem_graph_node (naive->graph, user)->n_inputs; i++)
    if (gemem_graph_input_item (naive->graph, user, i) == item)
      return TRUE;
  return FALSE;
}

static gboolean
overwrites_own_input (const Naive *naive, guint32 earlier, guint32 later)
{
  const GememDemand *items = naive->demands->items;
  const guint32 id = items[later].node;
  const GememGraphItem output = gemem_graph_item (naive->graph, later);

  for (guint32 i = 0; !output.workspace && i < gemem_graph_node (naive->graph, id)->n_inputs; i++)
    {
      const guint32 input = gemem_graph_input_item (naive->graph, id, i);

      if (input != GEMEM_NONE && items[input].wide == items[earlier].wide
          && gemem_graph_may_overlay (naive->graph, id, i, output.index))
        return TRUE;
    }
  return FALSE;
}

/* TRUE if any node that runs writes a member of @item's class. */
static gboolean
acted (const Naive *naive, guint32 item)
{
  for (guint32 i = 0; i < naive->demands->n; i++)
    if (naive->demands->items[i].wide == naive->demands->items[item].wide
        && acts (naive, naive->demands->items[i].node))
      return TRUE;
  return FALSE;
}

static gboolean
may_follow (const Naive *naive, guint32 earlier, guint32 later)
{
  const GememDemand *items = naive->demands->items;
  const guint32 n = gemem_graph_n_nodes (naive->graph);
  const gboolean own = overwrites_own_input (naive, earlier, later);
  g_autofree guint8 *user = g_new0 (guint8, n), *starter = g_new0 (guint8, n);

  if ((items[earlier].flags & GEMEM_DEMAND_TO_END)
      || (items[later].flags & GEMEM_DEMAND_FROM_START))
    return FALSE;
  for (guint32 i = 0; i < naive->demands->n; i++)
    for (guint32 node = 0; node < n; node++)
      if (acts (naive, node))
        {
          user[node] |= items[i].wide == items[earlier].wide && uses (naive, i, node);
          starter[node] |= items[i].wide == items[later].wide
                           && (items[i].node == node || items[i].memset == node);
        }
  if (!acted (naive, later))
    starter[items[later].node] = TRUE;
  for (guint32 u = 0; u < n; u++)
    for (guint32 s = 0; s < n; s++)
      if (user[u] && starter[s] && !gemem_graph_order_after (naive->order, s, u)
          && !(own && u == s && u == items[later].node))
        return FALSE;
  return TRUE;
}

static guint64
size_of (const Naive *naive, guint32 item)
{
  return naive->demands->items[item].flags & GEMEM_DEMAND_PIECE ? naive->demands->items[item].bytes
                                                                : naive->plan->sizes[item];
}

static gboolean
conflict (const Naive *naive, guint32 a, guint32 b)
{
  const GememDemand *items = naive->demands->items;
  const guint64 *offsets = naive->plan->offsets;

  if (!(items[a].flags & items[b].flags & GEMEM_DEMAND_MEMORY) || items[a].wide == items[b].wide)
    return FALSE;
  if (offsets[a] + size_of (naive, a) <= offsets[b]
      || offsets[b] + size_of (naive, b) <= offsets[a])
    return FALSE;
  return runs (naive, items[a].node) && runs (naive, items[b].node) && !may_follow (naive, a, b)
         && !may_follow (naive, b, a);
}

static gboolean
any_conflict (Naive *naive)
{
  for (guint32 node = 0; node < gemem_graph_n_nodes (naive->graph);
       node++) /* every label in the graph, and none */
    {
      naive->label = gemem_graph_node (naive->graph, node)->batch_label;
      for (guint32 a = 0; a < naive->demands->n; a++)
        for (guint32 b = 0; b < a; b++)
          if (conflict (naive, a, b))
            return TRUE;
    }
  return FALSE;
}

static gboolean
checker_finds (GememPlan *plan, const GememPlanInput *input)
{
  g_autoptr (GPtrArray) found = gemem_plan_check (plan, input, 100000);

  for (guint i = 0; i < found->len; i++)
    {
      const GememViolation *violation = found->pdata[i];

      if (violation->kind == GEMEM_VIOLATION_OVERLAP || violation->kind == GEMEM_VIOLATION_STREAM)
        return TRUE;
    }
  return FALSE;
}

/* A plan by first fit, in which some items are moved, most of them a little. */
static GememPlan *
disturbed_plan (const GememGraph *graph, guint64 seed, guint percent)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const GememPlanInput input = { graph, NULL, 1 };
  GememPlan *plan;
  GememRng rng;

  gemem_rng_init (&rng, seed, "disturb");
  gemem_planner_parse ("first-fit", choices, NULL);
  plan = gemem_planner_run (choices->pdata[0], &input, NULL);
  for (guint32 i = 0; i < plan->n_items; i++)
    if (plan->offsets[i] != GEMEM_NO_OFFSET && gemem_rng_below (&rng, 100) < percent)
      plan->offsets[i] = gemem_rng_below (&rng, 2)
                             ? gemem_rng_below (&rng, 16384)
                             : plan->offsets[i]
                                   - MIN (plan->offsets[i], gemem_rng_below (&rng, 600));
  for (guint i = 0; i < plan->totals->len; i++)
    g_array_index (plan->totals, GememPlanTotal, i).bytes = G_MAXUINT64 / 2;
  g_clear_pointer (&plan->spaces, g_free);
  return plan;
}

static void
test_graphs (void)
{
  const guint rounds = g_strcmp0 (g_getenv ("GEMEM_QUICK"), "1") == 0 ? 200 : 1500;
  guint faulty = 0, sound = 0;

  for (guint seed = 0; seed < rounds; seed++)
    {
      const guint features = seed % 3 == 0   ? TEST_GRAPH_ALL
                             : seed % 3 == 1 ? 0xfff
                                             : TEST_GRAPH_STREAMS | TEST_GRAPH_WORKSPACES;
      g_autoptr (GememGraph)
          graph = test_random_graph (seed, features & ~(guint) TEST_GRAPH_TYPES, 3 + seed % 14);
      g_autoptr (GememPlan) plan = disturbed_plan (graph, seed, seed % 4 * 7);
      const GememPlanInput input = { graph, NULL, 1 };
      Naive naive = { graph, gemem_demands_new (graph, FALSE), gemem_graph_order_new (graph), plan,
                      "" };
      const gboolean fault = any_conflict (&naive);

      if (checker_finds (plan, &input) != fault)
        {
          g_autofree char *text = test_graph_json (graph);

          g_test_message ("%s", text);
          g_error ("seed %u: the checker %s a fault", seed, fault ? "misses" : "invents");
        }
      faulty += fault;
      sound += !fault;
      gemem_demands_free (naive.demands);
      gemem_graph_order_free (naive.order);
    }
  g_test_message ("%u plans with faults, %u without", faulty, sound);
  g_assert_cmpuint (MIN (faulty, sound), >, rounds / 10);
}

/* ---- lifetimes */

static gboolean
lives_conflict (const GememLifetimes *lives, const GememPlan *plan, guint a, guint b)
{
  const GememLifetime *x = gemem_lifetimes_get (lives, a), *y = gemem_lifetimes_get (lives, b);

  return x->begin < y->safe_end && y->begin < x->safe_end
         && plan->offsets[a] < plan->offsets[b] + y->size
         && plan->offsets[b] < plan->offsets[a] + x->size && plan->spaces[a] == plan->spaces[b];
}

static void
check_lifetimes (guint64 seed, guint *faulty)
{
  g_autoptr (GememLifetimes) lives = gemem_lifetimes_new ("random");
  const guint n = 2 + (guint) seed % 12;
  g_autoptr (GememPlan) plan = gemem_plan_new ("random", n);
  const GememPlanInput input = { NULL, lives, 1 };
  gboolean fault = FALSE;
  GememRng rng;

  gemem_rng_init (&rng, seed, "lives");
  plan->spaces = g_new0 (guint64, n);
  gemem_plan_add_total (plan, 0, 1000);
  gemem_plan_add_total (plan, 1, 1000);
  for (guint i = 0; i < n; i++)
    {
      const guint64 begin = gemem_rng_below (&rng, 40), length = 1 + gemem_rng_below (&rng, 10),
                    size = 1 + gemem_rng_below (&rng, 30);

      gemem_lifetimes_add (lives, begin, begin + length, size);
      plan->offsets[i] = gemem_rng_below (&rng, 150);
      plan->sizes[i] = size;
      plan->spaces[i] = gemem_rng_below (&rng, 2);
    }
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < a; b++)
      fault |= lives_conflict (lives, plan, a, b);
  g_assert_true (checker_finds (plan, &input) == fault);
  *faulty += fault;
}

static void
test_lifetimes (void)
{
  guint faulty = 0;

  for (guint64 seed = 0; seed < 20000; seed++)
    check_lifetimes (seed, &faulty);
  g_assert_cmpuint (faulty, >, 4000);
  g_assert_cmpuint (faulty, <, 16000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan-check/pairs/graphs", test_graphs);
  g_test_add_func ("/plan-check/pairs/lifetimes", test_lifetimes);
  return g_test_run ();
}
