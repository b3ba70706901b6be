/* rewrite.c - names that change; see rewrite.h. */
#include "config.h"

#include <string.h>

#include "planners/paddle/rewrite.h"

/* ---- names */

void
gemem_paddle_names_init (PaddleNames *names, guint32 n)
{
  names->parent = g_new (guint32, (gsize) n + 1);
  names->name = g_new (guint32, (gsize) n + 1);
  names->named = g_new (guint32, (gsize) n + 1);
  names->n_live = g_new0 (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    names->parent[i] = names->name[i] = names->named[i] = i;
}

void
gemem_paddle_names_clear (PaddleNames *names)
{
  g_clear_pointer (&names->parent, g_free);
  g_clear_pointer (&names->name, g_free);
  g_clear_pointer (&names->named, g_free);
  g_clear_pointer (&names->n_live, g_free);
}

guint32
gemem_paddle_names_group (PaddleNames *names, guint32 variable)
{
  while (names->parent[variable] != variable)
    variable = names->parent[variable] = names->parent[names->parent[variable]];
  return variable;
}

guint32
gemem_paddle_name (PaddleNames *names, guint32 variable)
{
  return names->name[gemem_paddle_names_group (names, variable)];
}

void
gemem_paddle_rename (PaddleNames *names, guint32 from, guint32 to)
{
  guint32 group, other;

  if (names->named[from] == GEMEM_NONE || from == to)
    return;
  group = gemem_paddle_names_group (names, names->named[from]);
  names->named[from] = GEMEM_NONE;
  if (names->named[to] != GEMEM_NONE)
    {
      other = gemem_paddle_names_group (names, names->named[to]);
      names->parent[other] = group;
      names->n_live[group] += names->n_live[other];
    }
  names->name[group] = to;
  names->named[to] = group;
}

/* ---- life */

static gsize
n_inputs (const GememGraph *graph)
{
  const guint32 n = gemem_graph_n_nodes (graph);

  return n > 0 ? (gsize) gemem_graph_node (graph, n - 1)->first_input
                     + gemem_graph_node (graph, n - 1)->n_inputs
               : 0;
}

PaddleRewrite *
gemem_paddle_rewrite_new (const PaddleProgram *program)
{
  PaddleRewrite *rewrite = g_new0 (PaddleRewrite, 1);

  rewrite->renames = g_array_new (FALSE, FALSE, sizeof (PaddleRename));
  rewrite->inputs = g_memdup2 (program->inputs, sizeof (guint32) * (n_inputs (program->graph) + 1));
  rewrite->items = g_memdup2 (
      program->items, sizeof (guint32) * ((gsize) gemem_graph_n_items (program->graph) + 1));
  rewrite->pool = g_array_new (FALSE, FALSE, sizeof (guint32));
  rewrite->log = g_ptr_array_new_with_free_func (g_free);
  return rewrite;
}

void
gemem_paddle_rewrite_free (PaddleRewrite *rewrite)
{
  if (rewrite == NULL)
    return;
  g_array_unref (rewrite->renames);
  g_free (rewrite->inputs);
  g_free (rewrite->items);
  g_array_unref (rewrite->pool);
  g_clear_pointer (&rewrite->log, g_ptr_array_unref);
  g_free (rewrite);
}

void
gemem_paddle_rewrite_node (const PaddleProgram *program, PaddleNames *names, guint32 node,
                           PaddleRewrite *rewrite)
{
  const GememNode *op = gemem_graph_node (program->graph, node);
  const guint32 first = gemem_node_item (op);

  for (guint32 i = op->first_input; i < op->first_input + op->n_inputs; i++)
    if (program->inputs[i] != GEMEM_NONE)
      rewrite->inputs[i] = gemem_paddle_name (names, program->inputs[i]);
  for (guint32 i = first; i < first + gemem_paddle_n_writes (op); i++)
    if (program->items[i] != GEMEM_NONE)
      rewrite->items[i] = gemem_paddle_name (names, program->items[i]);
}

void
gemem_paddle_log (PaddleRewrite *rewrite, const char *format, ...)
{
  va_list args;

  if (rewrite->log->len > PADDLE_LOG_LINES)
    return;
  va_start (args, format);
  g_ptr_array_add (rewrite->log, rewrite->log->len < PADDLE_LOG_LINES
                                     ? g_strdup_vprintf (format, args)
                                     : g_strdup ("(more lines are left out)"));
  va_end (args);
}
