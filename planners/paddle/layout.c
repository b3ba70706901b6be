/* layout.c - from the names after a rewrite to a plan; see rewrite.h.
 *
 * A room is the memory of one name.  PaddlePaddle's passes do not see that a name they took for
 * dead is written again later: then two values that are both needed have one name, or an operator
 * writes over an input that it reads.  There the name moves into another room, and the log says so;
 * what is written afterwards under the name lies there too.  So a plan is safe for every program,
 * and equal to PaddlePaddle's for those that PaddlePaddle does not break.
 *
 * Cost: O(items + edges).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "graphs/inplace.h"
#include "graphs/meaning.h"
#include "planners/paddle/rewrite.h"

typedef struct
{
  const PaddleProgram *program;
  PaddleRewrite *rewrite;
  guint32 *room;     /* per name */
  guint32 *occupant; /* per room: the item that was written there last, or GEMEM_NONE */
  guint32 *rooms;    /* per item; GEMEM_NONE: not yet, or none */
  guint32 *read_at;  /* per variable: last node + 1 that reads it */
  guint32 n_rooms;
} Settle;

/* ---- rooms */

/* The last node that uses the value that @item holds when it is written. */
static guint32
last_use (const Settle *settle, guint32 item)
{
  const GememGraph *graph = settle->program->graph;
  const PaddleVariable *variable = gemem_paddle_variable (settle->program,
                                                          settle->program->items[item]);
  const GememGraphItem info = gemem_graph_item (graph, item);
  const guint32 tensor = gemem_graph_node (graph, info.node)->first_output + info.index;
  guint32 last = info.node;

  if (!variable->named)
    return variable->last;
  for (guint32 i = 0; i < gemem_graph_tensor (graph, tensor)->n_consumers; i++)
    last = MAX (last, gemem_graph_consumers (graph, tensor)[i].node);
  return last;
}

/* May write @slot of @node lie on every input of the node that is the variable of @occupant. */
static gboolean
may_lie_on (const Settle *settle, guint32 node, guint32 slot, guint32 occupant)
{
  const GememNode *op = gemem_graph_node (settle->program->graph, node);
  const guint32 *reads = gemem_paddle_reads (settle->program, node);

  for (guint32 i = 0; i < op->n_inputs; i++)
    if (reads[i] == settle->program->items[occupant]
        && !gemem_graph_may_overlay (settle->program->graph, node, i, slot))
      return FALSE;
  return TRUE;
}

static gboolean
is_in_use (const Settle *settle, guint32 occupant, guint32 node, guint32 slot)
{
  guint32 last;

  if (settle->program->items[occupant]
      == settle->program
             ->items[gemem_node_item (gemem_graph_node (settle->program->graph, node)) + slot])
    return FALSE; /* one variable, written over by the program itself */
  if (gemem_graph_item (settle->program->graph, occupant).node == node)
    return TRUE;
  last = last_use (settle, occupant);
  return last > node || (last == node && !may_lie_on (settle, node, slot, occupant));
}

/* The item where write @slot of @node must lie: the value that it changes in place, the first part
 * of its buffer; GEMEM_NONE. */
static guint32
anchor_of (const Settle *settle, guint32 node, guint32 slot)
{
  const PaddleProgram *program = settle->program;
  const GememNode *op = gemem_graph_node (program->graph, node);
  const guint32 variable = gemem_paddle_writes (program, node)[slot];
  const PaddleVariable *v = gemem_paddle_variable (program, variable);

  if (!v->named)
    return v->first_item != gemem_node_item (op) + slot ? v->first_item : GEMEM_NONE;
  for (guint32 i = 0; settle->read_at[variable] == node + 1 && i < op->n_inputs; i++)
    {
      const guint32 item = gemem_graph_input_item (program->graph, node, i);

      if (item != GEMEM_NONE && gemem_paddle_reads (program, node)[i] == variable)
        return item;
    }
  return GEMEM_NONE;
}

static void
settle_item (Settle *settle, guint32 node, guint32 slot)
{
  const guint32 item = gemem_node_item (gemem_graph_node (settle->program->graph, node)) + slot;
  const guint32 anchor = gemem_paddle_has_place (settle->program, item)
                             ? anchor_of (settle, node, slot)
                             : GEMEM_NONE;
  guint32 *room = gemem_paddle_has_place (settle->program, item)
                      ? &settle->room[settle->rewrite->items[item]]
                      : NULL;

  if (room == NULL)
    return;
  if (anchor != GEMEM_NONE && settle->rooms[anchor] != GEMEM_NONE)
    {
      settle->rooms[item] = settle->rooms[anchor];
      settle->occupant[settle->rooms[item]] = item;
      return;
    }
  if (settle->occupant[*room] != GEMEM_NONE
      && is_in_use (settle, settle->occupant[*room], node, slot))
    {
      *room = settle->n_rooms++;
      gemem_paddle_log (
          settle->rewrite,
          "gemem: at '%s', '%s' gets memory of its own: PaddlePaddle would write over a value that "
          "is still needed",
          gemem_graph_node (settle->program->graph, node)->name,
          gemem_paddle_variable (settle->program, settle->program->items[item])->name);
    }
  settle->occupant[*room] = item;
  settle->rooms[item] = *room;
}

static void
settle_all (Settle *settle)
{
  const PaddleProgram *program = settle->program;
  const gsize most = (gsize) program->n_variables + gemem_graph_n_items (program->graph) + 1;

  settle->n_rooms = program->n_variables;
  settle->read_at = g_new0 (guint32, (gsize) program->n_variables + 1);
  settle->room = g_new (guint32, (gsize) program->n_variables + 1);
  settle->occupant = g_new (guint32, most);
  settle->rooms = g_new (guint32, (gsize) gemem_graph_n_items (program->graph) + 1);
  memset (settle->occupant, 0xff, sizeof (guint32) * most);
  for (guint32 v = 0; v < program->n_variables; v++)
    settle->room[v] = v;
  memset (settle->rooms, 0xff,
          sizeof (guint32) * ((gsize) gemem_graph_n_items (program->graph) + 1));
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      for (guint32 i = 0; i < gemem_graph_node (program->graph, id)->n_inputs; i++)
        if (gemem_paddle_reads (program, id)[i] != GEMEM_NONE)
          settle->read_at[gemem_paddle_reads (program, id)[i]] = id + 1;
      for (guint32 i = 0; i < gemem_paddle_n_writes (gemem_graph_node (program->graph, id)); i++)
        settle_item (settle, id, i);
    }
}

/* ---- layout */

/* Gives each room its bytes, in the order of the items; fills @offsets per room. */
static void
lay_out (const Settle *settle, guint64 alignment, guint64 *offsets, GArray *totals)
{
  const PaddleProgram *program = settle->program;
  g_autofree guint64 *bytes = g_new0 (guint64, (gsize) settle->n_rooms + 1);
  g_autofree guint64 *alignments = g_new0 (guint64, (gsize) settle->n_rooms + 1);
  const guint32 n = gemem_graph_n_items (program->graph);

  for (guint32 i = 0; i < n; i++)
    if (gemem_paddle_has_place (program, i))
      {
        const PaddleVariable *variable = gemem_paddle_variable (program, program->items[i]);
        const guint32 room = settle->rooms[i];

        bytes[room] = MAX (bytes[room], variable->bytes);
        alignments[room] = MAX (alignments[room], MAX (variable->alignment, alignment));
        offsets[room] = GEMEM_NO_OFFSET;
      }
  for (guint32 i = 0; i < n; i++)
    if (gemem_paddle_has_place (program, i) && offsets[settle->rooms[i]] == GEMEM_NO_OFFSET)
      {
        const guint32 room = settle->rooms[i];
        GememPlanTotal *total = gemem_paddle_total (
            totals, gemem_paddle_variable (program, program->items[i])->space);

        offsets[room] = gemem_align_up (total->bytes, alignments[room]);
        total->bytes = offsets[room] + bytes[room];
      }
}

GememPlan *
gemem_paddle_rewrite_plan (const PaddleProgram *program, PaddleRewrite *rewrite,
                           const char *planner, guint64 alignment)
{
  Settle settle = { .program = program, .rewrite = rewrite };
  g_autoptr (GArray) totals = g_array_new (FALSE, FALSE, sizeof (GememPlanTotal));
  GememPlan *plan = gemem_paddle_plan_new (program, planner, alignment);
  g_autofree guint64 *offsets = NULL;

  settle_all (&settle);
  offsets = g_new0 (guint64, (gsize) settle.n_rooms + 1);
  lay_out (&settle, alignment, offsets, totals);
  for (guint32 i = 0; i < plan->n_items; i++)
    if (gemem_paddle_has_place (program, i))
      gemem_paddle_place_item (program, plan, i, offsets[settle.rooms[i]]);
  for (guint i = 0; i < totals->len; i++)
    gemem_plan_add_total (plan, g_array_index (totals, GememPlanTotal, i).space,
                          g_array_index (totals, GememPlanTotal, i).bytes);
  g_ptr_array_unref (plan->log);
  plan->log = g_steal_pointer (&rewrite->log);
  g_free (settle.room);
  g_free (settle.occupant);
  g_free (settle.rooms);
  g_free (settle.read_at);
  return plan;
}
