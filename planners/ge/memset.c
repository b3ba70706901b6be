/* memset.c - what a plan has besides offsets: the ranges that memsets clear, and the addresses of
 * variables.
 *
 * A memset node clears the memory of the nodes that it controls; a node that clears its own memory
 * (need_gentask_atomic, or atomic_clean_policy=1) does it just before it runs.  Memory that no
 * memset node controls is clear at the head of the run, as if one did.  Ranges of one node are
 * sorted by (type, offset, size) and merged where they touch, but never across a segment boundary
 * and never with memory that the caller supplies; so P2P memory always has ranges of its own.  One
 * range is one memset.
 * Cost: O(ranges log ranges).  Origin: ge-static.md 6.4, 7.3, 11.2.
 */
#include "config.h"

#include <string.h>

#include "graphs/meaning.h"
#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

#define VARIABLE_BASE (32 * GEMEM_GIB)
#define DTYPE_FLOAT 0

typedef struct
{
  guint64 space, offset, size;
  gint64 dtype, value;
  gboolean zero_copy;
} Range;

typedef struct
{
  const GeAssigner *a;
  const GememPlan *plan;
  GArray *ranges; /* Range, of one memset node */
  guint number;   /* of the next range within its node */
  guint64 tail;   /* start of the caller's memory */
} RangeList;

static void
add_item (RangeList *list, guint32 id, guint32 item, guint64 size)
{
  const GeModel *model = list->a->model;
  Range range = { .space = list->plan->spaces[item],
                  .offset = list->plan->offsets[item],
                  .size = ge_align (size),
                  .dtype = DTYPE_FLOAT };

  gemem_ge_listed (model, id, GEMEM_ATTRIBUTE_ATOMIC_DTYPES, list->number, &range.dtype);
  gemem_ge_listed (model, id, GEMEM_ATTRIBUTE_ATOMIC_INT64_VALUES, list->number, &range.value);
  list->number++;
  if (size == 0 || range.offset == GEMEM_NO_OFFSET)
    return;
  if (range.space == GEMEM_MEMORY_HBM && range.offset >= list->tail)
    {
      range.zero_copy = TRUE;
      range.size = size;
    }
  g_array_append_val (list->ranges, range);
}

static void
add_input_ranges (RangeList *list, guint32 id)
{
  const GeModel *model = list->a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  guint n;
  const gint64 *indexes = gemem_graph_ints (model->graph, node->attributes,
                                            GEMEM_ATTRIBUTE_ATOMIC_INPUT_INDEX, &n);
  const gboolean all = n > 0 && indexes[0] == -1;

  for (guint i = 0; i < (all ? node->n_inputs : n); i++)
    {
      const gint64 index = all ? (gint64) i : indexes[i];
      const guint32 t = index >= 0 && index < node->n_inputs
                            ? gemem_graph_inputs (model->graph, id)[index].tensor
                            : GEMEM_NONE;

      if (t != GEMEM_NONE)
        add_item (list, id, gemem_graph_tensor_item (model->graph, t),
                  gemem_ge_tensor_size (model, t));
    }
}

static void
add_ranges (RangeList *list, guint32 id)
{
  const GeModel *model = list->a->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  guint n;
  const gint64 *indexes;

  list->number = 0;
  add_input_ranges (list, id);
  indexes = gemem_graph_ints (model->graph, node->attributes, GEMEM_ATTRIBUTE_ATOMIC_OUTPUT_INDEX,
                              &n);
  for (guint i = 0; i < n; i++)
    if (indexes[i] >= 0 && indexes[i] < node->n_outputs)
      add_item (list, id, gemem_node_output_item (node, (guint32) indexes[i]),
                gemem_ge_tensor_size (model, node->first_output + (guint32) indexes[i]));
  indexes = gemem_graph_ints (model->graph, node->attributes,
                              GEMEM_ATTRIBUTE_SUB_NODE_WORKSPACE_INFO, &n);
  for (guint i = 0; i + 1 < n; i += 2)
    if (indexes[i] >= 0 && indexes[i] < node->n_workspaces)
      add_item (list, id, gemem_node_workspace_item (node, (guint32) indexes[i]),
                (guint64) MAX (indexes[i + 1], 0));
}

/* ---- merging */

static gint
compare_ranges (gconstpointer x, gconstpointer y)
{
  const Range *a = x, *b = y;

  if (a->space != b->space)
    return a->space < b->space ? -1 : 1;
  if (a->offset != b->offset)
    return a->offset < b->offset ? -1 : 1;
  return a->size < b->size ? -1 : a->size > b->size;
}

static gint
compare_bases (gconstpointer x, gconstpointer y)
{
  const GememPlanSegment *a = x, *b = y;

  return a->base < b->base ? -1 : a->base > b->base;
}

static gboolean
begins_segment (const GememPlan *plan, const Range *range)
{
  const GememPlanSegment wanted = { .base = range->offset };

  return range->space == GEMEM_MEMORY_HBM
         && g_array_binary_search (plan->segments, &wanted, compare_bases, NULL);
}

static void
merge_ranges (RangeList *list)
{
  guint kept = 0;

  g_array_sort (list->ranges, compare_ranges);
  for (guint i = 0; i < list->ranges->len; i++)
    {
      const Range *next = &g_array_index (list->ranges, Range, i);
      Range *last = kept > 0 ? &g_array_index (list->ranges, Range, kept - 1) : NULL;

      if (last != NULL && compare_ranges (last, next) == 0)
        continue;
      if (last != NULL && last->space == next->space && last->offset + last->size == next->offset
          && last->dtype == next->dtype && last->value == next->value && !last->zero_copy
          && !next->zero_copy && !begins_segment (list->plan, next))
        last->size += next->size;
      else
        g_array_index (list->ranges, Range, kept++) = *next;
    }
  g_array_set_size (list->ranges, kept);
}

/* In GE's format; @node is a memset node. */
static void
log_ranges (const RangeList *list, GememPlan *plan, const GememNode *node)
{
  g_autoptr (GString) offsets = g_string_new (NULL), sizes = g_string_new (NULL);

  for (guint i = 0; i < list->ranges->len; i++)
    {
      const Range *range = &g_array_index (list->ranges, Range, i);

      g_string_append_printf (offsets, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "", range->offset);
      g_string_append_printf (sizes, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "", range->size);
    }
  if (list->ranges->len > 0)
    gemem_plan_add_log (plan,
                        "[AtomicClean][IMAS]AppendAttrsToMemSetOp : Set %s atomic_node name[%s] "
                        "optype[%s] workspace[0] offset to [%s] streamid[%" G_GINT64_FORMAT
                        "] size[%s]",
                        gemem_graph_name (list->a->model->graph), node->name, node->type,
                        offsets->str, node->stream, sizes->str);
}

/* Hands the ranges gathered so far to the plan, as memsets of @name. */
static void
take_ranges (RangeList *list, GememPlan *plan, const char *name)
{
  merge_ranges (list);
  for (guint i = 0; i < list->ranges->len; i++)
    {
      const Range *range = &g_array_index (list->ranges, Range, i);

      gemem_plan_add_memset (plan, name, range->space, range->offset, range->size);
    }
}

/* What is cleared together but by no memset node of the graph. */
static void
add_uncontrolled (RangeList *list, GememPlan *plan)
{
  const GeModel *model = list->a->model;

  for (guint32 id = 0; id < model->n_nodes; id++)
    if ((model->nodes[id].kind & (GE_ATOMIC | GE_GENTASK_ATOMIC)) == GE_ATOMIC
        && gemem_graph_memset (model->graph, id) == GEMEM_NONE)
      add_ranges (list, id);
  take_ranges (list, plan, "");
  g_array_set_size (list->ranges, 0);
}

void
gemem_ge_add_memsets (const GeAssigner *a, GememPlan *plan)
{
  const GeModel *model = a->model;
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (Range));
  RangeList list = { a, plan, ranges, 0, a->counters[GE_SPACE_HBM] - a->zero_copy };

  add_uncontrolled (&list, plan);
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);
      const guint32 *successors = gemem_graph_successors (model->graph, id);

      g_array_set_size (ranges, 0);
      if (model->nodes[id].kind & GE_GENTASK_ATOMIC)
        add_ranges (&list, id);
      for (guint32 i = 0; (model->nodes[id].kind & GE_MEMSET) != 0 && i < node->n_successors; i++)
        if ((model->nodes[successors[i]].kind & GE_GENTASK_ATOMIC) == 0)
          add_ranges (&list, successors[i]);
      take_ranges (&list, plan, node->name);
      if (model->nodes[id].kind & GE_MEMSET)
        log_ranges (&list, plan, node);
    }
}

/* ---- variables (7.3) */

/* The types with addresses of their own: fewer than gemem_node_is_constant(). */
static gboolean
is_variable (const GememNode *node)
{
  static const char *const types[] = { "Variable",     "VariableV2",       "Constant",
                                       "FileConstant", "ConstPlaceHolder", NULL };

  return g_strv_contains (types, node->type);
}

/* Bytes that the variable @tensor takes, with a gap of 512 on either side. */
static guint64
whole_variable (const GeModel *model, guint32 tensor)
{
  return ge_align (gemem_ge_tensor_size (model, tensor)) + 2 * GE_ALIGN;
}

guint64
gemem_ge_variable_bytes (const GeModel *model)
{
  guint64 bytes = 0;

  for (guint32 t = 0; t < model->n_tensors; t++)
    if (is_variable (gemem_graph_node (model->graph, gemem_graph_tensor (model->graph, t)->node)))
      bytes += whole_variable (model, t);
  return bytes;
}

/* Fixes the address of output @tensor of @node at @address. */
static void
fix_variable (const GeModel *model, const GememNode *node, guint32 tensor, guint64 address,
              GememPlan *plan)
{
  if (plan->addresses == NULL)
    {
      plan->addresses = g_new (guint64, (gsize) plan->n_items + 1);
      memset (plan->addresses, 0xff, sizeof (guint64) * plan->n_items); /* GEMEM_NO_OFFSET */
    }
  plan->addresses[gemem_graph_tensor_item (model->graph, tensor)] = address;
  gemem_plan_add_log (
      plan,
      "[IMAS]AssignVarMem Set session_0 name[%s] output[%u] offset to [%" G_GUINT64_FORMAT
      "] size[%" G_GUINT64_FORMAT "] realsize[%" G_GUINT64_FORMAT "]",
      node->name, tensor - node->first_output, address, whole_variable (model, tensor),
      gemem_ge_tensor_size (model, tensor));
}

/* GE prints nothing of these, and no plan says where in the buffer they are. */
static void
log_weight (const GememNode *node, guint32 tensor, GememPlan *plan)
{
  gemem_plan_add_log (plan,
                      "gemem: name[%s] output[%u] lies in the buffer of weights, at an address "
                      "that is fixed and that no plan tells",
                      node->name, tensor - node->first_output);
}

void
gemem_ge_fix_variables (const GeModel *model, GememPlan *plan)
{
  guint64 used = 0;

  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const GememNode *node = gemem_graph_node (model->graph, id);

      for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
        if (is_variable (node))
          {
            fix_variable (model, node, t, VARIABLE_BASE + used, plan);
            used += whole_variable (model, t);
          }
        else if (strcmp (node->type, "Const") == 0)
          log_weight (node, t, plan);
    }
}
