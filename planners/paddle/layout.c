/* layout.c - from the names after a rewrite to a plan; see rewrite.h.
 *
 * A buffer is the memory of one name.  PaddlePaddle's passes overlook that a name which they took
 * for dead is written again later: then two needed values have one name, or an operator writes over
 * an input that it reads.  From that write on the name gets another buffer, and the log says so.
 * The versions that several blocks write of one variable of the graph lie at one address, whatever
 * PaddlePaddle calls them: they keep memory that nothing else uses.
 * Invariant: the plan is safe for every program, and equals PaddlePaddle's wherever PaddlePaddle
 * does not lose a value.
 *
 * Cost: O(items + edges).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "graphs/meaning.h"
#include "graphs/overlay.h"
#include "planners/paddle/rewrite.h"

typedef struct
{
  const PaddleProgram *program;
  PaddleRewrite *rewrite;
  guint32 *buffer_of_name; /* per name */
  guint32 *occupant;       /* per buffer: the item written there last, or GEMEM_NONE */
  guint32 *buffer_of_item; /* per item; GEMEM_NONE: not placed yet, or without memory */
  guint32 *read_at;        /* per variable: 1 + the last node that reads it */
  guint32 *apart;          /* per variable: 1 + the buffer of its items only; 0: none */
  guint32 n_buffers;
} Settle;

/* ---- buffers */

/* The last node that uses the value that was written to @item. */
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

/* TRUE if write @slot of @node may overlay every input of the node that is the variable of
 * @occupant. */
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
    return FALSE; /* the program itself overwrites its variable */
  if (gemem_graph_item (settle->program->graph, occupant).node == node)
    return TRUE;
  last = last_use (settle, occupant);
  return last > node || (last == node && !may_lie_on (settle, node, slot, occupant));
}

/* The item whose memory write @slot of @node must use: the value that the node changes in place, or
 * the first item of the variable; GEMEM_NONE: no such item. */
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

/* A plan places what operators write, so the arena does not shrink where an item takes the memory of
 * a variable that is fed.  Said where the log says that it does. */
static void
log_fed (const Settle *settle, guint32 item)
{
  const guint32 name = settle->rewrite->items[item];
  const PaddleVariable *own = gemem_paddle_variable (settle->program, settle->program->items[item]),
                       *taken = gemem_paddle_variable (settle->program, name);

  if (settle->rewrite->log->len > 0 && taken != own && taken->writer == GEMEM_NONE
      && settle->buffer_of_item[item] == name)
    gemem_paddle_log (
        settle->rewrite,
        "gemem: '%s' lies in '%s', which is fed: the arena holds what operators write, "
        "so it is no smaller; --rewrite and replay show what is saved",
        own->name, taken->name);
}

static void
settle_item (Settle *settle, guint32 node, guint32 slot)
{
  const guint32 item = gemem_node_item (gemem_graph_node (settle->program->graph, node)) + slot;
  const guint32 anchor = gemem_paddle_has_place (settle->program, item)
                             ? anchor_of (settle, node, slot)
                             : GEMEM_NONE;
  guint32 *buffer = gemem_paddle_has_place (settle->program, item)
                        ? &settle->buffer_of_name[settle->rewrite->items[item]]
                        : NULL;

  if (buffer == NULL)
    return;
  if (gemem_paddle_variable (settle->program, settle->program->items[item])->spread)
    {
      guint32 *apart = &settle->apart[settle->program->items[item]];

      *apart = *apart != 0 ? *apart : ++settle->n_buffers;
      settle->buffer_of_item[item] = *apart - 1;
      return;
    }
  if (anchor != GEMEM_NONE && settle->buffer_of_item[anchor] != GEMEM_NONE)
    {
      settle->buffer_of_item[item] = settle->buffer_of_item[anchor];
      settle->occupant[settle->buffer_of_item[item]] = item;
      return;
    }
  if (settle->occupant[*buffer] != GEMEM_NONE
      && is_in_use (settle, settle->occupant[*buffer], node, slot))
    {
      *buffer = settle->n_buffers++;
      gemem_paddle_log (
          settle->rewrite,
          "gemem: at '%s', '%s' gets memory of its own: PaddlePaddle would write over a value that "
          "is still needed",
          gemem_graph_node (settle->program->graph, node)->name,
          gemem_paddle_variable (settle->program, settle->program->items[item])->name);
    }
  settle->occupant[*buffer] = item;
  settle->buffer_of_item[item] = *buffer;
  log_fed (settle, item);
}

/* The variable of the graph whose name @item has after the renames, unless it got memory of its
 * own. */
static guint32
new_variable (const Settle *settle, guint32 item)
{
  const guint32 name = settle->rewrite->items[item], buffer = settle->buffer_of_item[item];
  const PaddleVariable *v = name != GEMEM_NONE ? gemem_paddle_variable (settle->program, name)
                                               : NULL;

  return v != NULL && v->named && (buffer == GEMEM_NONE || buffer == name) ? v->of_graph
                                                                           : GEMEM_NONE;
}

static void
settle_all (Settle *settle)
{
  const PaddleProgram *program = settle->program;
  const gsize most = (gsize) program->n_variables + gemem_graph_n_items (program->graph) + 1;

  settle->n_buffers = program->n_variables;
  settle->read_at = g_new0 (guint32, (gsize) program->n_variables + 1);
  settle->apart = g_new0 (guint32, (gsize) program->n_variables + 1);
  settle->buffer_of_name = g_new (guint32, (gsize) program->n_variables + 1);
  settle->occupant = g_new (guint32, most);
  settle->buffer_of_item = g_new (guint32, (gsize) gemem_graph_n_items (program->graph) + 1);
  memset (settle->occupant, 0xff, sizeof (guint32) * most);
  for (guint32 v = 0; v < program->n_variables; v++)
    settle->buffer_of_name[v] = v;
  memset (settle->buffer_of_item, 0xff,
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

/* Places each buffer with its bytes, in the order of the items; fills @offsets per buffer. */
static void
lay_out (const Settle *settle, guint64 *offsets, GememPlan *plan)
{
  const PaddleProgram *program = settle->program;
  g_autofree guint64 *bytes = g_new0 (guint64, (gsize) settle->n_buffers + 1);
  g_autofree guint64 *alignments = g_new0 (guint64, (gsize) settle->n_buffers + 1);
  const guint32 n = gemem_graph_n_items (program->graph);

  for (guint32 i = 0; i < n; i++)
    if (gemem_paddle_has_place (program, i))
      {
        const PaddleVariable *variable = gemem_paddle_variable (program, program->items[i]);
        const guint32 buffer = settle->buffer_of_item[i];

        bytes[buffer] = MAX (bytes[buffer], variable->bytes);
        alignments[buffer] = MAX (alignments[buffer], MAX (variable->alignment, plan->alignment));
        offsets[buffer] = GEMEM_NO_OFFSET;
      }
  for (guint32 i = 0; i < n; i++)
    if (gemem_paddle_has_place (program, i)
        && offsets[settle->buffer_of_item[i]] == GEMEM_NO_OFFSET)
      {
        const guint32 buffer = settle->buffer_of_item[i];
        GememPlanTotal *total = gemem_plan_total (
            plan, gemem_paddle_variable (program, program->items[i])->space);

        offsets[buffer] = gemem_align_up (total->bytes, alignments[buffer]);
        total->bytes = offsets[buffer] + bytes[buffer];
      }
}

GememPlan *
gemem_paddle_rewrite_plan (const PaddleProgram *program, PaddleRewrite *rewrite,
                           const char *planner, guint64 alignment)
{
  Settle settle = { .program = program, .rewrite = rewrite };
  GememPlan *plan = gemem_paddle_plan_new (program, planner, alignment);
  g_autofree guint64 *offsets = NULL;

  settle_all (&settle);
  offsets = g_new0 (guint64, (gsize) settle.n_buffers + 1);
  lay_out (&settle, offsets, plan);
  for (guint32 i = 0; i < plan->n_items; i++)
    if (gemem_paddle_has_place (program, i))
      gemem_paddle_place_item (program, plan, i, offsets[settle.buffer_of_item[i]]);
  plan->variables = g_new (guint32, (gsize) plan->n_items + 1);
  for (guint32 i = 0; i < plan->n_items; i++)
    plan->variables[i] = new_variable (&settle, i);
  g_ptr_array_unref (plan->log);
  plan->log = g_steal_pointer (&rewrite->log);
  g_free (settle.buffer_of_name);
  g_free (settle.occupant);
  g_free (settle.buffer_of_item);
  g_free (settle.read_at);
  g_free (settle.apart);
  gemem_paddle_rewrite_free (rewrite);
  return plan;
}
