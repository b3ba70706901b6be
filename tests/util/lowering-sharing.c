/* lowering-sharing.c - checks that in-place pairs of the lowering `paddle` are legal; see
 * lowering-run.h. */
#include "config.h"

#include <string.h>

#include "graphs/overlay.h"
#include "tests/util/lowering-run.h"

typedef struct
{
  guint32 *root;
} Unions;

static guint32
root_of (const Unions *unions, guint32 slot)
{
  while (unions->root[slot] != slot)
    slot = unions->root[slot];
  return slot;
}

static void
unite (gpointer data, guint32 a, guint32 b, gboolean first G_GNUC_UNUSED)
{
  Unions *unions = data;

  unions->root[root_of (unions, a)] = root_of (unions, b);
}

/* Output @o of @id lies in memory of another root: the output must have taken over the memory of
 * an input whose last user is @id. */
static void
check_overlay (const LoweringRun *run, const Unions *unions, guint32 id, guint32 o)
{
  const GememNode *node = gemem_graph_node (run->graph, id);
  const guint32 item = gemem_node_output_item (node, o);
  gboolean legal = FALSE;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 from = gemem_lower_input_slot (run->graph,
                                                   &gemem_graph_inputs (run->graph, id)[i]);

      legal |= from != GEMEM_NONE && storage_of (run, from) == storage_of (run, item)
               && root_of (unions, from) != root_of (unions, item)
               && gemem_graph_may_overlay (run->graph, id, i, o);
    }
  EXPECT (run, legal && run->p.enable_inplace, "output %u of node %u took over memory", o, id);
  EXPECT (run,
          run->p.whitelist == GEMEM_WHITELIST_OFF
              || gemem_inplace_whitelisted (node->type)
                     == (run->p.whitelist == GEMEM_WHITELIST_ONLY),
          "node %u works in place", id);
}

void
test_lowering_sharing (const LoweringRun *run)
{
  const guint32 n_slots = gemem_graph_n_items (run->graph) + gemem_graph_n_variables (run->graph);
  g_autofree guint32 *root = g_new (guint32, n_slots + 1),
                     *holder = g_new (guint32, run->lower->storages->len + 1);
  g_autofree guint8 *over = g_new0 (guint8, n_slots + 1); /* by root: its memory was taken over */
  Unions unions = { root };

  for (guint32 slot = 0; slot < n_slots; slot++)
    root[slot] = slot;
  memset (holder, 0xff, sizeof (guint32) * (run->lower->storages->len + 1));
  gemem_lower_references (run->graph, TRUE, unite, &unions);
  for (guint32 r = 0; r < run->n; r++)
    {
      const GememNode *node = gemem_graph_node (run->graph, run->running[r]);

      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const guint32 slot = gemem_lower_input_slot (
              run->graph, &gemem_graph_inputs (run->graph, run->running[r])[i]);

          if (storage_of (run, slot) == GEMEM_NONE)
            continue;
          EXPECT (run, !over[root_of (&unions, slot)],
                  "node %u reads input %u, which was written over", run->running[r], i);
          holder[storage_of (run, slot)] = root_of (&unions, slot);
        }
      for (guint32 o = 0; o < node->n_outputs; o++)
        {
          const guint32 item = gemem_node_output_item (node, o), i = storage_of (run, item);

          if (i == GEMEM_NONE)
            continue;
          if (holder[i] != GEMEM_NONE && holder[i] != root_of (&unions, item))
            {
              check_overlay (run, &unions, run->running[r], o);
              over[holder[i]] = TRUE;
            }
          EXPECT (run, !over[root_of (&unions, item)], "node %u writes what was written over",
                  run->running[r]);
          holder[i] = root_of (&unions, item);
        }
    }
}
