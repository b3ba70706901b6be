/* touches.c - see touches.h. */
#include "config.h"

#include "planners/paddle/touches.h"

/* Counts the node, and stores it once `nodes` is allocated. */
static void
touch (PaddleTouches *touches, guint32 variable, guint32 node)
{
  guint32 *end;

  if (variable == GEMEM_NONE)
    return;
  if (touches->nodes != NULL)
    {
      end = touches->nodes + touches->first[variable] + touches->n[variable];
      if (touches->n[variable] > 0 && end[-1] == node)
        return;
      *end = node;
    }
  touches->n[variable]++;
}

static void
visit_all (PaddleTouches *touches)
{
  const PaddleProgram *program = touches->program;

  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        touch (touches, gemem_paddle_reads (program, id)[i], id);
      for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
        touch (touches, gemem_paddle_writes (program, id)[i], id);
    }
}

PaddleTouches *
gemem_paddle_touches_new (const PaddleProgram *program)
{
  PaddleTouches *touches = g_new0 (PaddleTouches, 1);
  guint32 total = 0;

  touches->program = program;
  touches->order = program->one_stream ? NULL : gemem_graph_order_new (program->graph);
  touches->first = g_new0 (guint32, (gsize) program->n_variables + 1);
  touches->n = g_new0 (guint32, (gsize) program->n_variables + 1);
  visit_all (touches);
  for (guint32 v = 0; v < program->n_variables; v++)
    {
      touches->first[v] = total;
      total += touches->n[v];
      touches->n[v] = 0;
    }
  touches->nodes = g_new (guint32, (gsize) total + 1);
  visit_all (touches);
  return touches;
}

void
gemem_paddle_touches_free (PaddleTouches *touches)
{
  if (touches == NULL)
    return;
  gemem_graph_order_free (touches->order);
  g_free (touches->first);
  g_free (touches->n);
  g_free (touches->nodes);
  g_free (touches);
}

gboolean
gemem_paddle_is_over (const PaddleTouches *touches, guint32 variable, guint32 node)
{
  const PaddleVariable *v = gemem_paddle_variable (touches->program, variable);
  const guint32 *nodes = touches->nodes + touches->first[variable];
  const guint32 n = touches->n[variable];

  if (n > 0 && nodes[n - 1] > node)
    return FALSE;
  if (!v->named && (v->last > node || v->last + 1 == gemem_graph_n_nodes (touches->program->graph)))
    return FALSE; /* the same here: kept to the end of the run, or read by the last node */
  if (touches->order == NULL)
    return TRUE;
  if (!v->named && v->n_items > 1)
    return v->dead_after != GEMEM_NONE && v->dead_after < node;
  for (guint32 i = 0; i < n; i++)
    if (nodes[i] != node && !gemem_graph_order_after (touches->order, node, nodes[i]))
      return FALSE;
  return TRUE;
}

gboolean
gemem_paddle_is_first (const PaddleTouches *touches, guint32 variable, guint32 node)
{
  const PaddleVariable *v = gemem_paddle_variable (touches->program, variable);

  return touches->nodes[touches->first[variable]] == node && v->writer == node && !v->early
         && (v->n_items == 1 || touches->order == NULL);
}
