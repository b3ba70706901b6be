/* program.c - assigns the items of a graph to variables, and describes those; see program.h. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "graphs/meaning.h"
#include "planners/paddle/program.h"

/* ---- classes: lifetimes and variables of the graph that are one variable */

typedef struct
{
  const GememGraph *graph;
  PaddleProgram *program;
  guint32 n_lifetimes;
  /* lifetimes, then variables of the graph; the smallest number of a class is its root */
  guint32 *parent;
} Classes;

static guint32
root_of (Classes *classes, guint32 x)
{
  while (classes->parent[x] != x)
    x = classes->parent[x] = classes->parent[classes->parent[x]];
  return x;
}

static void
unite (Classes *classes, guint32 a, guint32 b)
{
  const guint32 x = root_of (classes, a), y = root_of (classes, b);

  classes->parent[MAX (x, y)] = MIN (x, y);
}

static void
unite_all (Classes *classes)
{
  const guint32 n = classes->n_lifetimes + gemem_graph_n_variables (classes->graph);

  classes->parent = g_new (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    classes->parent[i] = i;
  for (guint32 t = 0; t < gemem_graph_n_tensors (classes->graph); t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (classes->graph, t);
      const guint32 item = gemem_graph_tensor_item (classes->graph, t);
      const guint32 lifetime = classes->program->places[item].lifetime;

      if (tensor->variable != GEMEM_NONE && lifetime != GEMEM_NONE)
        unite (classes, lifetime, classes->n_lifetimes + tensor->variable);
    }
}

/* Numbers the classes: those with a variable of the graph first, in the graph's order, then the
 * others by their first item. */
static void
number_classes (Classes *classes, guint32 *number)
{
  PaddleProgram *program = classes->program;
  const guint32 n_of_graph = gemem_graph_n_variables (classes->graph);

  memset (number, 0xff, sizeof (guint32) * ((gsize) classes->n_lifetimes + n_of_graph + 1));
  for (guint32 v = 0; v < n_of_graph; v++)
    {
      const guint32 root = root_of (classes, classes->n_lifetimes + v);

      if (number[root] == GEMEM_NONE)
        number[root] = program->n_variables++;
      program->of_graph[v] = number[root];
    }
  for (guint32 i = 0; i < gemem_graph_n_items (classes->graph); i++)
    if (program->places[i].lifetime != GEMEM_NONE)
      {
        const guint32 root = root_of (classes, program->places[i].lifetime);

        if (number[root] == GEMEM_NONE)
          number[root] = program->n_variables++;
        program->items[i] = number[root];
      }
}

/* Fills items[], inputs[] and of_graph[]. */
static void
connect (PaddleProgram *program)
{
  const GememGraph *graph = program->graph;
  Classes classes = { graph, program, program->lifetimes->items->len, NULL };
  g_autofree guint32 *number = g_new (guint32, (gsize) classes.n_lifetimes
                                                   + gemem_graph_n_variables (graph) + 1);

  unite_all (&classes);
  number_classes (&classes, number);
  g_free (classes.parent);
  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (graph, t);

      if (tensor->variable != GEMEM_NONE)
        program->items[gemem_graph_tensor_item (graph, t)] = program->of_graph[tensor->variable];
    }
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        {
          const GememNodeInput *input = &gemem_graph_inputs (graph, id)[i];

          if (input->tensor != GEMEM_NONE)
            program->inputs[node->first_input + i] =
                program->items[gemem_graph_tensor_item (graph, input->tensor)];
          else if (input->variable != GEMEM_NONE)
            program->inputs[node->first_input + i] = program->of_graph[input->variable];
        }
    }
}

/* ---- blocks of gradient operators */

typedef struct
{
  PaddleProgram *program;
  GHashTable *waiting; /* "LIST TYPE" -> 1 + the last forward operator without gradient operator */
  guint32 *below;      /* per node: 1 + the one that waits longer under the same key; 0: none */
  guint32 *list;       /* per block: itself, for the block of a gradient operator that of its
                        * forward operator */
} Match;

static void
match_node (Match *match, guint32 id)
{
  PaddleProgram *program = match->program;
  const GememNode *node = gemem_graph_node (program->graph, id);
  const gboolean backward = g_str_has_suffix (node->type, "_grad");
  g_autofree char *key = g_strdup_printf ("%u %s", match->list[node->block], node->type);
  guint32 last;

  if (backward)
    key[strlen (key) - strlen ("_grad")] = '\0';
  last = GPOINTER_TO_UINT (g_hash_table_lookup (match->waiting, key));
  if (!backward)
    {
      match->below[id] = last;
      g_hash_table_insert (match->waiting, g_steal_pointer (&key), GUINT_TO_POINTER (id + 1));
    }
  else if (last != 0)
    {
      program->forward[id] = last - 1;
      g_hash_table_insert (match->waiting, g_steal_pointer (&key),
                           GUINT_TO_POINTER (match->below[last - 1]));
    }
}

/* Each gradient operator with blocks belongs to the last forward operator of its kind before it
 * that has none yet, in its own block or in the one whose gradients that computes. */
static void
match_blocks (PaddleProgram *program)
{
  const GememGraph *graph = program->graph;
  const guint32 n = gemem_graph_n_nodes (graph), n_blocks = gemem_graph_n_blocks (graph);
  Match match = { program, g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                  g_new0 (guint32, (gsize) n + 1), g_new0 (guint32, (gsize) n_blocks + 1) };

  program->forward = g_new (guint32, (gsize) n + 1);
  program->outer = g_new0 (guint32, (gsize) n_blocks + 1);
  for (guint32 id = 0; id < n; id++)
    {
      const GememNode *node = gemem_graph_node (graph, id), *of;

      program->forward[id] = GEMEM_NONE;
      if (node->n_blocks == 0)
        continue;
      match_node (&match, id);
      of = program->forward[id] != GEMEM_NONE ? gemem_graph_node (graph, program->forward[id])
                                              : NULL;
      for (guint32 b = 0; b < node->n_blocks; b++)
        {
          const gboolean has = of != NULL && b < of->n_blocks;

          program->outer[node->first_block + b] = has ? of->first_block + b : node->block;
          match.list[node->first_block + b] = has ? of->first_block + b : node->first_block + b;
        }
    }
  g_hash_table_unref (match.waiting);
  g_free (match.below);
  g_free (match.list);
}

/* ---- properties of each variable */

static void
set_shape (PaddleVariable *variable, const gint64 *dims, guint32 n)
{
  variable->dims = dims;
  variable->n_dims = n;
  variable->elements = 1;
  for (guint32 i = 0; i < n; i++)
    {
      const guint64 dim = dims[i] < 0 ? -(guint64) dims[i] : (guint64) dims[i];

      if (__builtin_mul_overflow (variable->elements, dim, &variable->elements))
        variable->elements = G_MAXUINT64;
    }
}

static void
describe_named (PaddleProgram *program)
{
  /* backwards: the first variable of a class wins */
  for (guint32 v = gemem_graph_n_variables (program->graph); v-- > 0;)
    {
      const GememVariable *of_graph = gemem_graph_variable (program->graph, v);
      PaddleVariable *variable = &program->variables[program->of_graph[v]];

      variable->of_graph = v;
      variable->name = of_graph->name;
      variable->named = TRUE;
      variable->dtype = of_graph->dtype;
      variable->bytes = of_graph->size;
      variable->is_tensor = of_graph->is_tensor;
      variable->declared = of_graph->block != GEMEM_NONE;
      variable->block = of_graph->block;
      variable->persistable |= of_graph->persistable;
      set_shape (variable, gemem_graph_dims (program->graph, of_graph->first_dim),
                 of_graph->has_shape ? of_graph->n_dims : 0);
    }
}

static const char *
name_item (PaddleProgram *program, guint32 item)
{
  const GememGraphItem info = gemem_graph_item (program->graph, item);
  g_autofree char *name = g_strdup_printf (info.workspace ? "%s:workspace %u" : "%s:%u",
                                           gemem_graph_node (program->graph, info.node)->name,
                                           info.index);

  return g_string_chunk_insert (program->names, name);
}

static gboolean
is_read (const PaddleProgram *program, const GememNode *node, guint32 slot)
{
  return slot >= node->n_outputs
         || gemem_graph_tensor (program->graph, node->first_output + slot)->n_consumers > 0;
}

static void
add_item (PaddleProgram *program, guint32 id, guint32 slot)
{
  const GememNode *node = gemem_graph_node (program->graph, id);
  const guint32 item = gemem_node_item (node) + slot;
  PaddleVariable *variable = program->items[item] != GEMEM_NONE
                                 ? &program->variables[program->items[item]]
                                 : NULL;
  const GememPlanPlace *place = &program->places[item];
  const GememLifetime *lifetime;

  if (variable == NULL)
    return;
  variable->n_items++;
  if (variable->first_item == GEMEM_NONE)
    variable->first_item = item;
  if (place->lifetime == GEMEM_NONE)
    return;
  lifetime = gemem_lifetimes_get (program->lifetimes, place->lifetime);
  variable->bytes = MAX (variable->bytes, lifetime->size);
  variable->alignment = MAX (variable->alignment, lifetime->alignment);
  variable->space = gemem_space_unpack (lifetime->space);
  if (variable->named)
    return;
  variable->begin = (guint32) lifetime->begin;
  variable->last = (guint32) lifetime->end - 1;
  variable->early |= lifetime->begin < variable->writer;
  if (is_read (program, node, slot) && lifetime->safe_end <= gemem_graph_n_nodes (program->graph))
    variable->dead_after = (guint32) lifetime->safe_end - 1;
}

static guint32
common_block (const PaddleProgram *program, guint32 a, guint32 b)
{
  while (!gemem_paddle_block_sees (program, b, a))
    a = program->outer[a];
  return a;
}

/* Widens the block of a variable so that @block sees it, too. */
static void
widen (const PaddleProgram *program, PaddleVariable *variable, guint32 block)
{
  const guint32 before = variable->block != GEMEM_NONE ? variable->block : block;

  if (variable->declared)
    return;
  variable->block = common_block (program, before, block);
  if (variable->block == block)
    variable->local = FALSE;
  else if (variable->block != before)
    variable->local = TRUE;
}

static void
touch (PaddleProgram *program, guint32 variable, guint32 id, gboolean writes)
{
  PaddleVariable *v = variable != GEMEM_NONE ? &program->variables[variable] : NULL;

  if (v == NULL)
    return;
  widen (program, v, gemem_graph_node (program->graph, id)->block);
  if (writes && v->writer == GEMEM_NONE)
    v->writer = id;
  v->spread |= writes
               && gemem_graph_node (program->graph, v->writer)->block
                      != gemem_graph_node (program->graph, id)->block;
}

/* Takes shape and element type of the first output in the memory, if they say its bytes. */
static void
describe_unnamed (const PaddleProgram *program, PaddleVariable *variable)
{
  const GememGraphItem item = gemem_graph_item (program->graph, variable->first_item);
  const GememNode *node = gemem_graph_node (program->graph, item.node);
  const GememTensor *tensor = !item.workspace ? gemem_graph_tensor (program->graph,
                                                                    node->first_output + item.index)
                                              : NULL;
  const gint64 *dims = tensor != NULL ? gemem_graph_dims (program->graph, tensor->first_dim) : NULL;
  guint64 bytes = 0;

  if (tensor != NULL && tensor->n_dims > 0 && gemem_dtype_bits (tensor->dtype) > 0
      && gemem_dtype_bytes (tensor->dtype, dims, tensor->n_dims, &bytes)
      && bytes == variable->bytes)
    {
      variable->dtype = tensor->dtype;
      set_shape (variable, dims, tensor->n_dims);
      return;
    }
  variable->length = (gint64) variable->bytes;
  set_shape (variable, &variable->length, 1);
}

/* The block directly below @top from which @block, which is below, sees it. */
static guint32
part_of (const PaddleProgram *program, guint32 block, guint32 top)
{
  while (program->outer[block] != top)
    block = program->outer[block];
  return block;
}

/* A value that one block writes and another reads is one variable. */
static void
join_parts (PaddleProgram *program, guint32 id)
{
  const GememNode *node = gemem_graph_node (program->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (program->graph, id)[i].tensor,
                    variable = gemem_paddle_reads (program, id)[i];
      PaddleVariable *v = variable != GEMEM_NONE ? &program->variables[variable] : NULL;

      if (v != NULL && v->local && tensor != GEMEM_NONE)
        {
          const guint32 writer = gemem_graph_tensor (program->graph, tensor)->node;

          v->local = part_of (program, node->block, v->block)
                     == part_of (program, gemem_graph_node (program->graph, writer)->block,
                                 v->block);
        }
    }
}

/* Numbers each pair of element type and space. */
static void
number_types (PaddleProgram *program)
{
  g_autoptr (GHashTable) spaces = g_hash_table_new (g_int64_hash, g_int64_equal);

  for (guint32 v = 0; v < program->n_variables; v++)
    {
      PaddleVariable *variable = &program->variables[v];
      gpointer known;

      if (!g_hash_table_lookup_extended (spaces, &variable->space, NULL, &known))
        g_hash_table_insert (spaces, &variable->space,
                             known = GUINT_TO_POINTER (g_hash_table_size (spaces)));
      variable->type = GPOINTER_TO_UINT (known) << 8 | variable->dtype;
    }
}

static void
describe (PaddleProgram *program)
{
  const GememGraph *graph = program->graph;

  program->variables = g_new0 (PaddleVariable, (gsize) program->n_variables + 1);
  for (guint32 v = 0; v < program->n_variables; v++)
    {
      PaddleVariable *variable = &program->variables[v];

      variable->block = variable->first_item = variable->writer = variable->dead_after = GEMEM_NONE;
      variable->is_tensor = TRUE;
      variable->space = gemem_space_unpack (0);
    }
  describe_named (program);
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      const GememNode *node = gemem_graph_node (graph, id);

      for (guint32 i = 0; i < node->n_inputs; i++)
        touch (program, gemem_paddle_reads (program, id)[i], id, FALSE);
      for (guint32 i = 0; i < gemem_paddle_n_writes (node); i++)
        {
          touch (program, gemem_paddle_writes (program, id)[i], id, TRUE);
          add_item (program, id, i);
        }
    }
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    join_parts (program, id);
  for (guint32 v = 0; v < program->n_variables; v++)
    {
      PaddleVariable *variable = &program->variables[v];

      if (variable->block == GEMEM_NONE)
        variable->block = 0;
      if (variable->named)
        continue;
      variable->name = name_item (program, variable->first_item);
      describe_unnamed (program, variable);
    }
  number_types (program);
}

static gboolean
is_one_stream (const GememGraph *graph)
{
  const gint64 stream = gemem_graph_n_nodes (graph) > 0 ? gemem_graph_node (graph, 0)->stream : 0;

  for (guint32 id = 1; id < gemem_graph_n_nodes (graph); id++)
    if (gemem_graph_node (graph, id)->stream != stream)
      return FALSE;
  return stream >= 0;
}

PaddleProgram *
gemem_paddle_program_new (const GememGraph *graph)
{
  PaddleProgram *program = g_new0 (PaddleProgram, 1);
  const guint32 n_nodes = gemem_graph_n_nodes (graph);
  const GememNode *last = n_nodes > 0 ? gemem_graph_node (graph, n_nodes - 1) : NULL;
  const gsize n_inputs = last != NULL ? (gsize) last->first_input + last->n_inputs : 0;

  program->graph = graph;
  program->names = g_string_chunk_new (4096);
  program->one_stream = is_one_stream (graph);
  program->lifetimes = gemem_graph_lifetimes (graph, &program->places);
  program->inputs = g_new (guint32, n_inputs + 1);
  program->items = g_new (guint32, (gsize) gemem_graph_n_items (graph) + 1);
  program->of_graph = g_new (guint32, (gsize) gemem_graph_n_variables (graph) + 1);
  memset (program->inputs, 0xff, sizeof (guint32) * (n_inputs + 1));
  memset (program->items, 0xff, sizeof (guint32) * ((gsize) gemem_graph_n_items (graph) + 1));
  connect (program);
  match_blocks (program);
  describe (program);
  return program;
}

void
gemem_paddle_program_free (PaddleProgram *program)
{
  if (program == NULL)
    return;
  gemem_lifetimes_free (program->lifetimes);
  g_string_chunk_free (program->names);
  g_free (program->places);
  g_free (program->variables);
  g_free (program->inputs);
  g_free (program->items);
  g_free (program->of_graph);
  g_free (program->forward);
  g_free (program->outer);
  g_free (program);
}

/* ---- questions */

guint32
gemem_paddle_find (const PaddleProgram *program, const char *name)
{
  const guint32 outer = gemem_graph_find_variable_in (program->graph, name, 0);
  const guint32 named = outer != GEMEM_NONE ? outer
                                            : gemem_graph_find_variable (program->graph, name);
  const char *colon = strrchr (name, ':');
  g_autofree char *owner = colon != NULL ? g_strndup (name, (gsize) (colon - name)) : NULL;
  const guint32 id = owner != NULL ? gemem_graph_find_node (program->graph, owner) : GEMEM_NONE;
  const GememNode *node = id != GEMEM_NONE ? gemem_graph_node (program->graph, id) : NULL;
  guint64 index;

  if (named != GEMEM_NONE)
    return program->of_graph[named];
  if (node == NULL)
    return GEMEM_NONE;
  if (g_str_has_prefix (colon, ":workspace ")
      && gemem_parse_digits (colon + strlen (":workspace "), 10, 0, G_MAXUINT32, &index))
    return index < node->n_workspaces
               ? program->items[gemem_node_workspace_item (node, (guint32) index)]
               : GEMEM_NONE;
  if (gemem_parse_digits (colon + 1, 10, 0, G_MAXUINT32, &index) && index < node->n_outputs)
    return program->items[gemem_node_output_item (node, (guint32) index)];
  return GEMEM_NONE;
}

char *
gemem_paddle_shape_text (const PaddleVariable *variable, const char *separator)
{
  GString *text = g_string_new (variable->name);

  g_string_append_c (text, '[');
  for (guint32 i = 0; i < variable->n_dims; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? separator : "", variable->dims[i]);
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

gboolean
gemem_paddle_block_sees (const PaddleProgram *program, guint32 inner, guint32 outer)
{
  while (inner != outer && inner != 0)
    inner = program->outer[inner];
  return inner == outer;
}
