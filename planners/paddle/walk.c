/* walk.c - see walk.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "planners/paddle/walk.h"

/* A name in an operator's list of names. */
typedef struct
{
  guint32 name, moved;
} Entry;

/* State of the walk over one list. */
typedef struct
{
  PaddleWalk *walk;
  const PaddleList *list;
  const PaddleLiveness *liveness;
  guint8 *live;    /* per variable */
  GArray *outputs; /* Entry, scratch: names of the outputs before any takes memory */
  GArray *dead;    /* Entry, scratch: names that die at the operator */
} State;

static guint32
group_of (State *state, guint32 variable)
{
  return gemem_paddle_names_group (&state->walk->names, variable);
}

/* ---- lists of names */

static int
compare_moves (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  return x->moved < y->moved ? -1 : x->moved > y->moved;
}

static int
compare_names (gconstpointer a, gconstpointer b, gpointer data)
{
  const PaddleProgram *program = data;

  return strcmp (gemem_paddle_variable (program, ((const Entry *) a)->name)->name,
                 gemem_paddle_variable (program, ((const Entry *) b)->name)->name);
}

static void
add_entry (State *state, GArray *entries, guint32 variable, guint32 name)
{
  const Entry entry = { name, state->walk->rules->moves
                                  ? gemem_paddle_moved (&state->walk->names, variable)
                                  : 0 };

  g_array_append_val (entries, entry);
}

/* ---- outputs take from the pool */

/* The name of write @slot of the operator if it may take memory; else GEMEM_NONE.  Of the parts of
 * one buffer only the first may, and a variable whose memory is needed before its operator runs may
 * not. */
static guint32
output_name (State *state, guint32 id, guint32 slot)
{
  const GememNode *node = gemem_graph_node (state->walk->program->graph, id);
  const guint32 variable = gemem_paddle_writes (state->walk->program, id)[slot];
  const PaddleVariable *v = variable != GEMEM_NONE
                                ? gemem_paddle_variable (state->walk->program, variable)
                                : NULL;

  if (v == NULL || (!v->named && (v->early || v->first_item != gemem_node_item (node) + slot)))
    return GEMEM_NONE;
  return gemem_paddle_name (&state->walk->names, variable);
}

static void
take (PaddleWalk *walk, guint32 name, guint32 index)
{
  const guint32 to = g_array_index (walk->pool, guint32, index);
  const PaddleRename rename = { walk->list, walk->position, name, to, index, walk->pool->len };

  g_array_append_val (walk->rewrite->renames, rename);
  g_array_remove_index (walk->pool, index);
  walk->in_pool[to] = FALSE;
  walk->n_pooled[walk->class[to]]--;
  gemem_paddle_rename (&walk->names, name, to);
}

static void
serve_outputs (State *state, guint32 id)
{
  PaddleWalk *walk = state->walk;
  const GememNode *node = gemem_graph_node (walk->program->graph, id);
  const guint32 *reads = gemem_paddle_reads (walk->program, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    if (reads[i] != GEMEM_NONE)
      walk->read_at[gemem_paddle_name (&walk->names, reads[i])] = walk->position + 1;
  g_array_set_size (state->outputs, 0);
  for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
    {
      const guint32 name = output_name (state, id, i);

      if (name != GEMEM_NONE && walk->rules->may_take (walk, id, name))
        add_entry (state, state->outputs, gemem_paddle_writes (walk->program, id)[i], name);
    }
  g_array_sort (state->outputs, compare_moves); /* stable */
  for (guint i = 0; i < state->outputs->len; i++)
    {
      const guint32 name = g_array_index (state->outputs, Entry, i).name;
      const guint32 index = walk->read_at[name] != walk->position + 1
                                ? walk->rules->find (walk, id, name)
                                : GEMEM_NONE;

      if (index != GEMEM_NONE)
        take (walk, name, index);
    }
}

/* ---- dead variables enter the pool */

static void
set_live (State *state, guint32 variable, gboolean live)
{
  if (state->live[variable] == live)
    return;
  state->live[variable] = (guint8) live;
  if (live)
    state->walk->names.n_live[group_of (state, variable)]++;
  else
    state->walk->names.n_live[group_of (state, variable)]--;
}

/* Advances `live` from before the operator to after it. */
static void
advance (State *state, guint32 id)
{
  const PaddleLiveness *liveness = state->liveness;
  const guint32 position = state->walk->position;
  const guint32 *writes = gemem_paddle_writes (state->walk->program, id);

  for (guint32 i = liveness->first[position]; i < liveness->first[position + 1]; i++)
    set_live (state, liveness->dying[i], FALSE);
  for (guint32 i = liveness->write_at[position]; i < liveness->write_at[position + 1]; i++)
    if (liveness->live_out[i])
      set_live (state, writes[i - liveness->write_at[position]], TRUE);
}

static void
collect_dead (State *state, guint32 id)
{
  PaddleWalk *walk = state->walk;
  const PaddleLiveness *liveness = state->liveness;

  g_array_set_size (state->dead, 0);
  for (guint32 i = liveness->first[walk->position]; i < liveness->first[walk->position + 1]; i++)
    {
      const guint32 group = group_of (state, liveness->dying[i]);
      const guint32 name = walk->names.name[group];

      if ((walk->rules->first_ends || walk->names.n_live[group] == 0)
          && walk->rules->may_give (walk, id, name))
        add_entry (state, state->dead, liveness->dying[i], name);
    }
  if (walk->rules->as_read)
    g_array_sort (state->dead, compare_moves);
  else
    g_array_sort_with_data (state->dead, compare_names, (gpointer) walk->program);
}

static void
fill_pool (State *state, guint32 id)
{
  PaddleWalk *walk = state->walk;

  collect_dead (state, id);
  for (guint i = 0; i < state->dead->len; i++)
    {
      const guint32 name = g_array_index (state->dead, Entry, i).name;

      if (walk->in_pool[name])
        continue;
      walk->in_pool[name] = TRUE;
      walk->n_pooled[walk->class[name]]++;
      g_array_insert_val (walk->pool, walk->rules->place (walk, name), name);
    }
}

/* ---- the list */

static void
visit (State *state, guint32 id)
{
  PaddleWalk *walk = state->walk;
  const gboolean skips = walk->rules->skips (walk, id);

  if (!skips && walk->pool->len > 0)
    serve_outputs (state, id);
  gemem_paddle_rewrite_node (walk->program, &walk->names, id, walk->rewrite);
  advance (state, id);
  if (!skips)
    fill_pool (state, id);
}

static void
reset (State *state, guint32 variable, gboolean writes)
{
  PaddleWalk *walk = state->walk;

  if (variable == GEMEM_NONE)
    return;
  gemem_paddle_names_reset (&walk->names, variable);
  walk->names.n_live[variable] = state->live[variable] = state->liveness->live_in[variable];
  walk->in_pool[variable] = FALSE;
  walk->written[variable] |= (guint8) writes;
  walk->read_at[variable] = 0;
}

/* Resets only variables that the list touches: many small lists cost no more than one long one. */
static void
begin (State *state)
{
  const PaddleProgram *program = state->walk->program;

  gemem_paddle_names_restart (&state->walk->names);
  for (guint32 position = 0; position < state->list->n; position++)
    {
      const guint32 id = state->list->nodes[position];
      const GememNode *node = gemem_graph_node (program->graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        reset (state, gemem_paddle_reads (program, id)[i], FALSE);
      for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
        reset (state, gemem_paddle_writes (program, id)[i], TRUE);
    }
}

void
gemem_paddle_walk_list (PaddleWalk *walk, guint32 number, const PaddleList *list)
{
  g_autoptr (PaddleLiveness) liveness = gemem_paddle_liveness_new (walk->program, list);
  State state = { walk,
                  list,
                  liveness,
                  g_new0 (guint8, (gsize) walk->program->n_variables + 1),
                  g_array_new (FALSE, FALSE, sizeof (Entry)),
                  g_array_new (FALSE, FALSE, sizeof (Entry)) };

  walk->list = number;
  walk->counter = 0;
  walk->forward = list->forward;
  for (guint i = 0; i < walk->pool->len; i++)
    walk->n_pooled[walk->class[g_array_index (walk->pool, guint32, i)]] = 0;
  g_array_set_size (walk->pool, 0);
  memset (walk->written, 0, walk->program->n_variables);
  begin (&state);
  for (walk->position = 0;
       walk->position < list->n && !gemem_plan_is_unwanted (walk->program->interrupted);
       walk->position++)
    visit (&state, list->nodes[walk->position]);
  if (number == 0 && walk->pool->len > 0)
    g_array_append_vals (walk->rewrite->pool, walk->pool->data, walk->pool->len);
  g_free (state.live);
  g_array_unref (state.outputs);
  g_array_unref (state.dead);
}

static void
number_classes (PaddleWalk *walk, GCompareFunc compare)
{
  const guint32 n = walk->program->n_variables;
  g_autofree const PaddleVariable **sorted = g_new (const PaddleVariable *, (gsize) n + 1);
  guint32 class = 0;

  for (guint32 v = 0; v < n; v++)
    sorted[v] = gemem_paddle_variable (walk->program, v);
  qsort (sorted, n, sizeof sorted[0], compare);
  for (guint32 i = 0; i < n; i++)
    {
      if (i > 0 && compare (&sorted[i - 1], &sorted[i]) != 0)
        class ++;
      walk->class[sorted[i] - walk->program->variables] = class;
    }
}

PaddleWalk *
gemem_paddle_walk_new (const PaddleProgram *program, PaddleRewrite *rewrite,
                       const PaddleRules *rules, GCompareFunc compare, gpointer settings)
{
  PaddleWalk *walk = g_new0 (PaddleWalk, 1);
  const gsize n = (gsize) program->n_variables + 1;

  walk->program = program;
  walk->rewrite = rewrite;
  walk->rules = rules;
  walk->settings = settings;
  walk->skip = g_new0 (guint8, n);
  walk->in_pool = g_new0 (guint8, n);
  walk->written = g_new0 (guint8, n);
  walk->read_at = g_new0 (guint32, n);
  walk->class = g_new0 (guint32, n);
  walk->n_pooled = g_new0 (guint32, n);
  number_classes (walk, compare);
  walk->pool = g_array_new (FALSE, FALSE, sizeof (guint32));
  gemem_paddle_names_init (&walk->names, program->n_variables);
  return walk;
}

void
gemem_paddle_walk_free (PaddleWalk *walk)
{
  if (walk == NULL)
    return;
  g_free (walk->skip);
  g_free (walk->in_pool);
  g_free (walk->written);
  g_free (walk->read_at);
  g_free (walk->class);
  g_free (walk->n_pooled);
  g_array_unref (walk->pool);
  gemem_paddle_names_clear (&walk->names);
  g_free (walk);
}
