/* symbols.c - alias classes: the sets of outputs and inputs that must share one address.
 *
 * Nodes are visited in order, inputs before outputs.  A class lists its members in order of arrival
 * and is named after the first; order and name show in the plan.  Merging appends one list to the
 * other; a union-find forest finds the class of an anchor.
 *
 * Where the specification leaves a choice: producers of a merge node are united so that the largest
 * class (the first on ties) survives; the inputs of a nested Data node follow its output; in-place
 * pairs are taken in order of node ids.
 * Cost: almost linear in anchors.  Origin: ge-static.md 1.6, 2.4 (is_reference), 8.3.
 */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"
#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

/* All arrays are per anchor; tail and n_members are valid at roots only.  A root is the first
 * member and the head of its list. */
typedef struct
{
  GeModel *model;
  guint32 *parent; /* GEMEM_NONE: not in a class yet */
  guint32 *tail, *next, *n_members;
} Classes;

static guint32
find_class (const Classes *classes, guint32 anchor)
{
  guint32 *parent = classes->parent;

  if (parent[anchor] == GEMEM_NONE)
    return GEMEM_NONE;
  while (parent[anchor] != anchor)
    anchor = parent[anchor] = parent[parent[anchor]];
  return anchor;
}

static guint32
new_class (Classes *classes, guint32 anchor)
{
  classes->parent[anchor] = classes->tail[anchor] = anchor;
  classes->n_members[anchor] = 1;
  return anchor;
}

static void
append_class (Classes *classes, guint32 kept, guint32 other)
{
  if (kept == other)
    return;
  classes->next[classes->tail[kept]] = other;
  classes->tail[kept] = classes->tail[other];
  classes->n_members[kept] += classes->n_members[other];
  classes->parent[other] = kept;
}

/* Appends @anchor, which is in no class, to @class. */
static void
join_class (Classes *classes, guint32 class, guint32 anchor)
{
  append_class (classes, class, new_class (classes, anchor));
}

/* Merges two classes; the longer list survives, [QUIRK] on ties the second. */
static void
unite_classes (Classes *classes, guint32 a, guint32 b)
{
  const guint32 n_a = classes->n_members[a], n_b = classes->n_members[b];

  if (n_a > n_b || (n_a == n_b && !classes->model->options->quirks))
    append_class (classes, a, b);
  else
    append_class (classes, b, a);
}

/* ---- references */

static void
fill_references (GeModel *model)
{
  model->is_reference = g_new0 (guint8, (gsize) model->n_tensors + 1);
  model->referenced_input = g_new (guint32, (gsize) model->n_tensors + 1);
  for (guint32 t = 0; t < model->n_tensors; t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (model->graph, t);

      model->referenced_input[t] = gemem_graph_referenced_input (model->graph, tensor->node,
                                                                 tensor->index);
      model->is_reference[t] = tensor->reuse_input >= 0
                               || gemem_graph_overwritten_input (model->graph, tensor->node,
                                                                 tensor->index)
                                      != GEMEM_NONE;
    }
}

/* The origin of a tensor: references lead to earlier tensors; they stop at back edges. */
static void
fill_origins (GeModel *model)
{
  model->origin = g_new (guint32, (gsize) model->n_tensors + 1);
  for (guint32 t = 0; t < model->n_tensors; t++)
    {
      const GememTensor *tensor = gemem_graph_tensor (model->graph, t);
      const guint32 input = model->referenced_input[t];
      const guint32 from = input == GEMEM_NONE
                               ? GEMEM_NONE
                               : gemem_graph_inputs (model->graph, tensor->node)[input].tensor;

      model->origin[t] = from < t ? model->origin[from] : t;
    }
}

/* ---- building */

/* The anchor of the parent's input that a nested Data node stands for; GEMEM_NONE. */
static guint32
parent_input (const GeModel *model, guint32 id)
{
  guint32 owner, input;

  return gemem_graph_outer_input (model->graph, id, &owner, &input)
             ? ge_input_anchor (model, gemem_graph_node (model->graph, owner), input)
             : GEMEM_NONE;
}

/* The class of the producer of an input; a later producer (back edge) starts its class here. */
static guint32
producer_class (Classes *classes, guint32 tensor)
{
  const guint32 class = find_class (classes, tensor);

  return class != GEMEM_NONE ? class : new_class (classes, tensor);
}

/* Unites the classes of all producers of a merge node and returns the survivor; GEMEM_NONE without
 * earlier producers. */
static guint32
unite_producers (Classes *classes, guint32 id)
{
  const GememNode *node = gemem_graph_node (classes->model->graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (classes->model->graph, id);
  guint32 target = GEMEM_NONE;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 class = inputs[i].tensor == GEMEM_NONE ? GEMEM_NONE
                                                           : find_class (classes, inputs[i].tensor);

      if (class != GEMEM_NONE
          && (target == GEMEM_NONE || classes->n_members[class] > classes->n_members[target]))
        target = class;
    }
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 class = inputs[i].tensor == GEMEM_NONE ? GEMEM_NONE
                                                           : find_class (classes, inputs[i].tensor);

      if (class != GEMEM_NONE)
        append_class (classes, target, class);
    }
  return target;
}

/* The output of the NextIteration node that a merge names for its missing back edge; GEMEM_NONE. */
static guint32
back_edge_output (const GeModel *model, const GememNode *node)
{
  const char *name = gemem_graph_text (model->graph, node->attributes,
                                       GEMEM_ATTRIBUTE_NEXT_ITERATION);
  const guint32 from = name == NULL ? GEMEM_NONE : gemem_graph_find_node (model->graph, name);

  if (from == GEMEM_NONE || gemem_graph_node (model->graph, from)->n_outputs == 0)
    return GEMEM_NONE;
  return gemem_graph_node (model->graph, from)->first_output;
}

static void
add_merge_inputs (Classes *classes, guint32 id)
{
  const GeModel *model = classes->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  guint32 target = unite_producers (classes, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 anchor = ge_input_anchor (model, node, i);
      const guint32 tensor = gemem_graph_inputs (model->graph, id)[i].tensor;
      const guint32 back = tensor != GEMEM_NONE ? tensor : back_edge_output (model, node);

      if (target == GEMEM_NONE)
        target = new_class (classes, anchor);
      else
        join_class (classes, target, anchor);
      if (back != GEMEM_NONE && find_class (classes, back) == GEMEM_NONE)
        join_class (classes, target, back);
    }
}

static void
add_inputs (Classes *classes, guint32 id)
{
  const GeModel *model = classes->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 outer = parent_input (model, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 anchor = ge_input_anchor (model, node, i);
      const guint32 tensor = gemem_graph_inputs (model->graph, id)[i].tensor;

      if (tensor != GEMEM_NONE)
        join_class (classes, producer_class (classes, tensor), anchor);
      else if (outer != GEMEM_NONE)
        join_class (classes, find_class (classes, outer), anchor);
      else
        new_class (classes, anchor);
    }
}

/* Unites the inputs of a nested NetOutput with the parent's outputs. */
static void
unite_parent_outputs (Classes *classes, guint32 id)
{
  const GeModel *model = classes->model;
  const GememNode *node = gemem_graph_node (model->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 outer = gemem_graph_outer_output (model->graph, id, i);

      if (outer != GEMEM_NONE)
        unite_classes (classes, find_class (classes, ge_input_anchor (model, node, i)),
                       find_class (classes, outer));
    }
}

/* The class of the RefData or nested Data node that @tensor names as its variable; GEMEM_NONE. */
static guint32
variable_class (const Classes *classes, guint32 tensor)
{
  const GeModel *model = classes->model;
  const char *name = gemem_graph_text (model->graph,
                                       gemem_graph_tensor (model->graph, tensor)->attributes,
                                       GEMEM_ATTRIBUTE_REF_VAR_SRC_VAR_NAME);
  const guint32 from = name == NULL ? GEMEM_NONE : gemem_graph_find_node (model->graph, name);
  const GememNode *node = from == GEMEM_NONE ? NULL : gemem_graph_node (model->graph, from);

  if (node == NULL || node->n_outputs == 0
      || (strcmp (node->type, "RefData") != 0
          && (model->nodes[from].kind & (GE_DATA | GE_NESTED)) != (GE_DATA | GE_NESTED)))
    return GEMEM_NONE;
  return find_class (classes, node->first_output);
}

static void
add_output (Classes *classes, guint32 id, guint32 output)
{
  const GeModel *model = classes->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 tensor = node->first_output + output;
  const guint32 outer = parent_input (model, id);
  guint32 class;

  if (find_class (classes, tensor) != GEMEM_NONE)
    return;
  if (outer != GEMEM_NONE)
    class = find_class (classes, outer);
  else if (model->referenced_input[tensor] != GEMEM_NONE)
    class = find_class (classes, ge_input_anchor (model, node, model->referenced_input[tensor]));
  else
    class = variable_class (classes, tensor);
  if (class != GEMEM_NONE)
    join_class (classes, class, tensor);
  else
    new_class (classes, tensor);
}

/* ---- in-place pairs (8.3) */

static void
merge_inplace (Classes *classes, const gint64 *streams)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (GeInplacePair));
  GeModel *model = classes->model;
  const guint32 n_anchors = model->n_tensors + model->n_inputs;
  g_autofree guint32 *class_of = NULL;

  if (!gemem_ge_inplace_is_declared (model))
    return;
  class_of = g_new (guint32, (gsize) n_anchors + 1);
  for (guint32 a = 0; a < n_anchors; a++)
    class_of[a] = find_class (classes, a);
  gemem_ge_inplace_pairs (model, streams, class_of, pairs);
  for (guint i = 0; i < pairs->len; i++)
    {
      const GeInplacePair *pair = &g_array_index (pairs, GeInplacePair, i);
      const GememNode *node = gemem_graph_node (
          model->graph, gemem_graph_tensor (model->graph, pair->tensor)->node);

      append_class (classes, find_class (classes, ge_input_anchor (model, node, pair->input)),
                    find_class (classes, pair->tensor));
      model->referenced_input[pair->tensor] = pair->input;
      model->is_reference[pair->tensor] = 1;
    }
}

/* ---- numbering: in the order of the first members' anchors */

static void
number_symbols (Classes *classes, guint32 n_anchors)
{
  GeModel *model = classes->model;
  guint32 used = 0;

  model->symbol_of = g_new (guint32, (gsize) n_anchors + 1);
  model->members = g_new (guint32, (gsize) n_anchors + 1);
  for (guint32 a = 0; a < n_anchors; a++)
    model->n_symbols += classes->parent[a] == a;
  model->symbols = g_new0 (GeSymbol, (gsize) model->n_symbols + 1);
  model->n_symbols = 0;
  for (guint32 a = 0; a < n_anchors; a++)
    {
      GeSymbol *symbol = &model->symbols[model->n_symbols];

      if (classes->parent[a] != a)
        continue;
      symbol->first_member = used;
      symbol->name = a;
      for (guint32 member = a; member != GEMEM_NONE; member = classes->next[member])
        {
          model->members[used++] = member;
          model->symbol_of[member] = model->n_symbols;
        }
      symbol->n_members = used - symbol->first_member;
      model->n_symbols++;
    }
}

void
gemem_ge_model_fill_symbols (GeModel *model, const gint64 *streams)
{
  const guint32 n_anchors = model->n_tensors + model->n_inputs;
  Classes classes = { .model = model,
                      .parent = ge_new_none (n_anchors),
                      .tail = g_new (guint32, (gsize) n_anchors + 1),
                      .next = ge_new_none (n_anchors),
                      .n_members = g_new (guint32, (gsize) n_anchors + 1) };

  fill_references (model);
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const guint32 kind = model->nodes[id].kind;

      if (kind & GE_MERGE)
        add_merge_inputs (&classes, id);
      else
        add_inputs (&classes, id);
      if (kind & GE_NETOUTPUT)
        unite_parent_outputs (&classes, id);
      for (guint32 k = 0; k < gemem_graph_node (model->graph, id)->n_outputs; k++)
        add_output (&classes, id, k);
    }
  merge_inplace (&classes, streams);
  number_symbols (&classes, n_anchors);
  fill_origins (model);
  g_free (classes.parent);
  g_free (classes.tail);
  g_free (classes.next);
  g_free (classes.n_members);
}
