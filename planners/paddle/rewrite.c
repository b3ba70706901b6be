/* rewrite.c - names that change; see rewrite.h. */
#include "config.h"

#include <string.h>

#include "planners/paddle/rewrite.h"

/* ---- names */

void
gemem_paddle_names_init (PaddleNames *names, guint32 n)
{
  const gsize most = 2 * (gsize) n + 1; /* each joined group has one parent */

  names->parent = g_new (guint32, most);
  names->name = g_new (guint32, most);
  names->named = g_new (guint32, (gsize) n + 1);
  names->n_live = g_new0 (guint32, most);
  names->moved = g_new0 (guint32, most);
  names->n_variables = n;
  gemem_paddle_names_restart (names);
  for (guint32 i = 0; i < n; i++)
    gemem_paddle_names_reset (names, i);
}

void
gemem_paddle_names_clear (PaddleNames *names)
{
  g_clear_pointer (&names->parent, g_free);
  g_clear_pointer (&names->name, g_free);
  g_clear_pointer (&names->named, g_free);
  g_clear_pointer (&names->n_live, g_free);
  g_clear_pointer (&names->moved, g_free);
}

void
gemem_paddle_names_restart (PaddleNames *names)
{
  names->n_groups = names->n_variables;
  names->n_renames = 0;
}

void
gemem_paddle_names_reset (PaddleNames *names, guint32 variable)
{
  names->parent[variable] = names->name[variable] = names->named[variable] = variable;
  names->n_live[variable] = names->moved[variable] = 0;
}

guint32
gemem_paddle_names_group (PaddleNames *names, guint32 variable)
{
  guint32 parent = names->parent[variable];

  while (names->parent[parent] != parent)
    {
      names->moved[variable] = MAX (names->moved[variable], names->moved[parent]);
      variable = names->parent[variable] = names->parent[parent];
      parent = names->parent[variable];
    }
  return parent;
}

guint32
gemem_paddle_name (PaddleNames *names, guint32 variable)
{
  return names->name[gemem_paddle_names_group (names, variable)];
}

guint32
gemem_paddle_moved (PaddleNames *names, guint32 variable)
{
  guint32 moved = names->moved[variable];

  for (; names->parent[variable] != variable; variable = names->parent[variable])
    moved = MAX (moved, names->moved[names->parent[variable]]);
  return moved;
}

/* The root of a new group with the variables of both. */
static guint32
join (PaddleNames *names, guint32 a, guint32 b)
{
  const guint32 group = names->n_groups++;

  names->parent[a] = names->parent[b] = names->parent[group] = group;
  names->n_live[group] = names->n_live[a] + names->n_live[b];
  names->moved[group] = 0;
  return group;
}

void
gemem_paddle_rename (PaddleNames *names, guint32 from, guint32 to)
{
  guint32 group;

  if (names->named[from] == GEMEM_NONE || from == to)
    return;
  group = gemem_paddle_names_group (names, names->named[from]);
  names->named[from] = GEMEM_NONE;
  names->moved[group] = ++names->n_renames;
  if (names->named[to] != GEMEM_NONE)
    group = join (names, group, gemem_paddle_names_group (names, names->named[to]));
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
