/* skip.c - skip sets, and which variables are valid; see skip.h, paddle.md 8.1. */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "planners/paddle/params.h"
#include "planners/paddle/skip.h"

void
gemem_paddle_skip (guint32 variable, guint8 *skip)
{
  if (variable != GEMEM_NONE)
    skip[variable] = TRUE;
}

void
gemem_paddle_skip_node (const PaddleProgram *program, guint32 node, guint8 *skip)
{
  const GememNode *op = gemem_graph_node (program->graph, node);

  for (guint32 i = 0; i < op->n_inputs; i++)
    gemem_paddle_skip (gemem_paddle_reads (program, node)[i], skip);
  for (guint32 i = 0; i < op->n_outputs; i++)
    gemem_paddle_skip (gemem_paddle_writes (program, node)[i], skip);
}

typedef struct
{
  const PaddleProgram *program;
  guint32 n_lists;
  guint32 *numbers; /* per node: of its list; blocks without one have numbers from n_lists on */
  guint32 *met;     /* per variable: number of the list that touched it first */
  gboolean listed;
} Meetings;

static gboolean
lists_variable (const PaddleProgram *program, guint32 id, guint32 variable)
{
  const GememNode *node = gemem_graph_node (program->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    if (gemem_paddle_reads (program, id)[i] == variable)
      return TRUE;
  for (guint32 i = 0; i < node->n_outputs; i++)
    if (gemem_paddle_writes (program, id)[i] == variable)
      return TRUE;
  return FALSE;
}

/* Skips @variable if another list than that of node @id touched it before. */
static void
meet (const Meetings *meetings, guint32 id, guint32 variable, guint8 *skip)
{
  const GememGraph *graph = meetings->program->graph;
  const guint32 number = meetings->numbers[id];

  if (variable == GEMEM_NONE || gemem_paddle_variable (meetings->program, variable)->local)
    return;
  if (meetings->listed && number >= meetings->n_lists
      && lists_variable (meetings->program,
                         gemem_graph_block (graph, gemem_graph_node (graph, id)->block)->node,
                         variable))
    return;
  if (meetings->met[variable] == GEMEM_NONE)
    meetings->met[variable] = number;
  else if (meetings->met[variable] != number)
    skip[variable] = TRUE;
}

static void
number_nodes (Meetings *meetings, const GArray *lists)
{
  const GememGraph *graph = meetings->program->graph;

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    meetings->numbers[id] = lists->len + gemem_graph_node (graph, id)->block;
  for (guint i = 0; i < lists->len; i++)
    {
      const PaddleList *list = &g_array_index (lists, PaddleList, i);

      for (guint32 k = 0; k < list->n; k++)
        meetings->numbers[list->nodes[k]] = i;
    }
}

void
gemem_paddle_skip_foreign (const PaddleProgram *program, const GArray *lists, gboolean listed,
                           guint8 *skip)
{
  const gsize n_nodes = gemem_graph_n_nodes (program->graph);
  Meetings meetings = { program, lists->len, g_new (guint32, n_nodes + 1),
                        g_new (guint32, (gsize) program->n_variables + 1), listed };

  memset (meetings.met, 0xff, sizeof (guint32) * ((gsize) program->n_variables + 1));
  number_nodes (&meetings, lists);
  for (guint32 id = 0; id < n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        meet (&meetings, id, gemem_paddle_reads (program, id)[i], skip);
      for (guint32 i = 0; i < node->n_outputs; i++)
        meet (&meetings, id, gemem_paddle_writes (program, id)[i], skip);
    }
  g_free (meetings.numbers);
  g_free (meetings.met);
}

/* Skip sets hold names: all variables of the name of @of_graph, in whatever blocks. */
static void
skip_namesakes (const PaddleProgram *program, guint32 of_graph, guint8 *skip)
{
  for (; of_graph != GEMEM_NONE;
       of_graph = gemem_graph_variable (program->graph, of_graph)->namesake)
    gemem_paddle_skip (program->of_graph[of_graph], skip);
}

static void
skip_namesakes_of_node (const PaddleProgram *program, guint32 id, guint8 *skip)
{
  const GememNode *node = gemem_graph_node (program->graph, id);
  const guint32 n = node->n_inputs + node->n_outputs;

  for (guint32 i = 0; i < n; i++)
    {
      const guint32 variable = i < node->n_inputs
                                   ? gemem_paddle_reads (program, id)[i]
                                   : gemem_paddle_writes (program, id)[i - node->n_inputs];
      const PaddleVariable *v = variable != GEMEM_NONE ? gemem_paddle_variable (program, variable)
                                                       : NULL;

      if (v != NULL && v->named)
        skip_namesakes (program, gemem_graph_find_variable (program->graph, v->name), skip);
    }
}

gboolean
gemem_paddle_check_name (const PaddleProgram *program, const char *name, const char *what,
                         GError **error)
{
  if (gemem_paddle_find (program, name) != GEMEM_NONE || strcmp (name, PADDLE_EMPTY) == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: '%s' is no variable of %s; write names of its variables, or NODE:OUTPUT "
               "where outputs have none, with commas between",
               what, name, gemem_graph_name (program->graph));
  return FALSE;
}

static gboolean
skip_name (const PaddleProgram *program, const char *name, const char *what, guint8 *skip,
           GError **error)
{
  const guint32 variable = gemem_paddle_find (program, name);

  if (!gemem_paddle_check_name (program, name, what, error))
    return FALSE;
  gemem_paddle_skip (variable, skip);
  skip_namesakes (program, gemem_graph_find_variable (program->graph, name), skip);
  return TRUE;
}

/* Takes off what Python puts around a list, a tuple or a set, or around a text. */
static char *
bare (char *text)
{
  static const char *const pairs[] = { "[]", "()", "{}", "''", "\"\"" };
  g_strstrip (text);
  const gsize length = strlen (text);

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    if (length >= 2 && text[0] == pairs[i][0] && text[length - 1] == pairs[i][1])
      {
        text[length - 1] = '\0';
        return g_strstrip (text + 1);
      }
  return text;
}

/* Skips the variables listed in @names, with commas between, optionally in brackets.  @what: the
 * parameter. */
static gboolean
skip_names (const PaddleProgram *program, const char *names, const char *what, guint8 *skip,
            GError **error)
{
  const char *given = names != NULL ? names : "";
  g_autofree char *copy = g_strdup (g_str_has_prefix (given, "set(") ? given + 3 : given);
  g_auto (GStrv) list = g_strsplit (bare (bare (copy)), ",", -1); /* set(["fc"]) */

  for (guint i = 0; list[i] != NULL; i++)
    {
      const char *name = bare (list[i]);
      if (i > 0 && *name == '\0' && list[i + 1] == NULL)
        break; /* ("fc",) */
      if (!skip_name (program, name, what, skip, error))
        return FALSE;
    }
  return TRUE;
}

static void
skip_forced_to_host (const PaddleProgram *program, guint32 id, gboolean old, guint8 *skip)
{
  const GememNode *node = gemem_graph_node (program->graph, id);

  if (gemem_graph_flag (program->graph, node->attributes, GEMEM_ATTRIBUTE_FORCE_CPU)
      && (!old || strcmp (node->type, "fill_constant") == 0))
    for (guint32 i = 0; i < node->n_outputs; i++)
      gemem_paddle_skip (gemem_paddle_writes (program, id)[i], skip);
}

/* The gradient of each parameter that an optimizer operator updates. */
static void
skip_gradients (const PaddleProgram *program, guint32 id, guint8 *skip)
{
  const GememNode *node = gemem_graph_node (program->graph, id);
  guint n = 0;
  const char *const *names = gemem_graph_texts (program->graph, node->attributes,
                                                GEMEM_ATTRIBUTE_OP_ROLE_VARS, &n);

  if (node->role == GEMEM_ROLE_OPTIMIZE && node->block == 0 && n > 1)
    gemem_paddle_skip (gemem_paddle_find (program, names[1]), skip);
}

/* What an operator of the backward part writes. */
static void
skip_backward (const PaddleProgram *program, guint32 id, guint8 *skip)
{
  const GememNode *node = gemem_graph_node (program->graph, id);

  if ((node->role & GEMEM_ROLE_BACKWARD) != 0 || program->forward[id] != GEMEM_NONE)
    for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
      gemem_paddle_skip (gemem_paddle_writes (program, id)[i], skip);
}

gboolean
gemem_paddle_skip_for_transpiler (const PaddleProgram *program, const GArray *lists,
                                  const PaddleSkipSettings *settings, guint8 *skip, GError **error)
{
  for (guint32 id = 0; id < gemem_graph_n_nodes (program->graph); id++)
    {
      const GememNode *node = gemem_graph_node (program->graph, id);

      if (node->block == 0 && gemem_paddle_owns_list (node, settings->old))
        {
          gemem_paddle_skip_node (program, id, skip);
          skip_namesakes_of_node (program, id, skip);
        }
      skip_forced_to_host (program, id, settings->old, skip);
      if (settings->skip_grads && settings->rules == GEMEM_RULES_AS_BUILT)
        skip_gradients (program, id, skip);
      else if (settings->skip_grads)
        skip_backward (program, id, skip);
    }
  gemem_paddle_skip_foreign (program, lists, TRUE, skip);
  return skip_names (program, settings->names, "skip_opt_set", skip, error);
}

/* ---- valid variables of 8.1 */

gboolean
gemem_paddle_is_found (const PaddleProgram *program, guint32 node, gboolean backward,
                       const PaddleVariable *variable)
{
  const guint32 block = gemem_graph_node (program->graph, node)->block;

  if (variable->local)
    return variable->block != block;
  return backward ? gemem_paddle_block_sees (program, block, variable->block)
                  : variable->block == block;
}

gboolean
gemem_paddle_is_valid (const PaddleProgram *program, guint32 node, gboolean backward,
                       guint32 variable)
{
  const PaddleVariable *v = gemem_paddle_variable (program, variable);

  return strcmp (v->name, PADDLE_EMPTY) != 0 && gemem_paddle_is_found (program, node, backward, v)
         && !v->persistable && v->is_tensor && v->n_dims > 0;
}
