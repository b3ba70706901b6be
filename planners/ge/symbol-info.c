/* symbol-info.c - properties of symbols for the assigners: size, memory type, whether a symbol may
 * take memory that was used before, and whether others may take its memory later.
 *
 * Cost: linear in members and their consumers.  Origin: ge-static.md 1.2 (symbol size), 2.2.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

/* ---- memory type */

/* The type listed for an anchor; GEMEM_MEMORY_DEFAULT if none is listed. */
static guint64
listed_type (const GeModel *model, guint32 anchor)
{
  const GememAttributeKey key = ge_anchor_is_input (model, anchor)
                                    ? GEMEM_ATTRIBUTE_INPUT_MEMORY_TYPE
                                    : GEMEM_ATTRIBUTE_OUTPUT_MEMORY_TYPE;
  gint64 type;

  return gemem_ge_listed (model, gemem_ge_anchor_node (model, anchor), key,
                          gemem_ge_anchor_index (model, anchor), &type)
                 && type > 0
             ? (guint64) type
             : GEMEM_MEMORY_DEFAULT;
}

static gboolean
is_own_space (guint64 type)
{
  return type == GEMEM_MEMORY_P2P || type == GEMEM_MEMORY_HOST || type == GEMEM_MEMORY_HOST_SVM;
}

/* [QUIRK] the largest type wins: an on-chip type listed at one anchor hides P2P listed at
 * another. */
static guint64
symbol_type (const GeModel *model, const GeSymbol *symbol)
{
  guint64 largest = GEMEM_MEMORY_HBM;

  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint64 type = listed_type (model, model->members[symbol->first_member + i]);

      if (model->options->quirks || is_own_space (type))
        largest = MAX (largest, type);
    }
  return is_own_space (largest) ? largest : GEMEM_MEMORY_HBM;
}

/* ---- pre and post */

static const char *const no_pre[] = {
  "Data",    "AippData",       "AnnData", "QueueData",  "Proposal",       "Const", "Constant",
  "GetNext", "DropOutGenMask", "RefData", "AdpGetNext", "DynamicGetNext", NULL
};
static const char *const no_post[] = {
  "Data",           "AippData",         "QueueData", "Enter",   "RefEnter",
  "NextIteration",  "RefNextIteration", "RefData",   "GetNext", "AdpGetNext",
  "DynamicGetNext", "DropOutGenMask",   NULL
};

/* TRUE if @type is listed, ignoring a version V1..V4 at its end. */
static gboolean
base_listed (const char *type, const char *const *list)
{
  gsize length = strlen (type);

  if (length > 2 && type[length - 2] == 'V' && type[length - 1] >= '1' && type[length - 1] <= '4')
    length -= 2;
  for (; *list != NULL; list++)
    if (strlen (*list) == length && strncmp (type, *list, length) == 0)
      return TRUE;
  return FALSE;
}

/* The first input, in edge order, of the graph's own NetOutput that consumes @tensor;
 * GEMEM_NONE. */
static guint32
graph_output (const GeModel *model, guint32 tensor)
{
  const GememConsumer *consumers = gemem_graph_consumers (model->graph, tensor);

  for (guint32 i = 0; i < gemem_graph_tensor (model->graph, tensor)->n_consumers; i++)
    if ((model->nodes[consumers[i].node].kind & (GE_NETOUTPUT | GE_NESTED)) == GE_NETOUTPUT)
      return consumers[i].input;
  return GEMEM_NONE;
}

static gboolean
is_iterator (const GeModel *model, const GememNode *node)
{
  const char *original = gemem_graph_text (model->graph, node->attributes,
                                           GEMEM_ATTRIBUTE_ORIGINAL_TYPE);

  return strcmp (node->type, "FunctionOp") == 0 && original != NULL
         && strcmp (original, "IteratorV2") == 0;
}

/* Removes the flags that the output @tensor forbids. */
static guint32
restrict_flags (const GeModel *model, guint32 tensor, gboolean has_sub_data, guint32 flags)
{
  const guint32 id = gemem_graph_tensor (model->graph, tensor)->node;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const gboolean in = (model->nodes[id].kind & (GE_DATA | GE_NESTED)) == GE_DATA;
  const guint32 position = graph_output (model, tensor);
  const gboolean out = position != GEMEM_NONE;
  const gboolean pre = !base_listed (node->type, no_pre), post = !base_listed (node->type, no_post);
  const gboolean reuse = (in && model->input_reuse[id]) || (out && model->output_reuse[position]);

  if ((model->nodes[id].kind & GE_REFERENCE) != 0 && has_sub_data)
    flags &= ~(guint32) GE_SYMBOL_PRE;
  if (is_iterator (model, node))
    flags &= ~(guint32) (GE_SYMBOL_PRE | GE_SYMBOL_POST);
  if (in || !(reuse ? out || pre : !out && pre))
    flags &= ~(guint32) GE_SYMBOL_PRE;
  if (out || !(reuse ? in || post : !in && post))
    flags &= ~(guint32) GE_SYMBOL_POST;
  /* [QUIRK] the last visited output decides for all */
  if (model->options->quirks)
    flags &= ~(guint32) GE_SYMBOL_DIFF_PRIOR;
  return flags | (model->nodes[id].kind & GE_DIFF_PRIOR ? GE_SYMBOL_DIFF_PRIOR : 0);
}

static guint32
scan_outputs (const GeModel *model, const GeSymbol *symbol)
{
  guint32 flags = GE_SYMBOL_PRE | GE_SYMBOL_POST;
  gboolean has_sub_data = FALSE;

  for (guint32 i = 0; i < symbol->n_members && (flags & (GE_SYMBOL_PRE | GE_SYMBOL_POST)) != 0; i++)
    {
      const guint32 anchor = model->members[symbol->first_member + i];

      if (ge_anchor_is_input (model, anchor))
        continue;
      if ((model->nodes[gemem_ge_anchor_node (model, anchor)].kind & (GE_DATA | GE_NESTED))
          == (GE_DATA | GE_NESTED))
        has_sub_data = TRUE;
      else
        flags = restrict_flags (model, anchor, has_sub_data, flags);
    }
  return flags;
}

/* ---- size and flags */

static void
fill_symbol (const GeModel *model, GeSymbol *symbol)
{
  const guint32 *members = model->members + symbol->first_member;
  guint32 n_inputs = 0;

  symbol->flags = scan_outputs (model, symbol);
  symbol->type = symbol_type (model, symbol);
  for (guint32 i = 0; i < symbol->n_members; i++)
    {
      const guint32 id = gemem_ge_anchor_node (model, members[i]);
      const gboolean is_input = ge_anchor_is_input (model, members[i]);

      n_inputs += is_input;
      if (gemem_graph_flag (model->graph, gemem_graph_node (model->graph, id)->attributes,
                            GEMEM_ATTRIBUTE_IS_FIXED_ADDR_PRIOR))
        symbol->flags |= GE_SYMBOL_FIXED;
      if (!is_input && (model->nodes[id].kind & GE_ZERO_MEMORY) == 0)
        symbol->size = MAX (symbol->size, gemem_ge_tensor_size (model, members[i]));
    }
  if (n_inputs >= 2 && n_inputs * 2 == symbol->n_members)
    {
      const guint32 last = members[symbol->n_members - 1];

      if (ge_anchor_is_input (model, last) && gemem_ge_anchor_index (model, last) != 0
          && (model->nodes[gemem_ge_anchor_node (model, last)].kind & GE_RAW_NOPADDING_IN) != 0)
        symbol->flags |= GE_SYMBOL_NO_ASSIGN;
    }
}

/* Same-out groups: the producers of a merge node, if they are on several streams. */
static void
fill_same_out (GeModel *model)
{
  model->multi_same_out = g_new0 (guint8, (gsize) model->n_tensors + 1);
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      const guint32 n = gemem_graph_node (model->graph, id)->n_inputs;
      const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);
      guint32 first = GEMEM_NONE;
      gboolean several = FALSE;

      if ((model->nodes[id].kind & GE_MERGE) == 0)
        continue;
      for (guint32 i = 0; i < n; i++)
        if (inputs[i].tensor != GEMEM_NONE)
          {
            first = first == GEMEM_NONE ? inputs[i].tensor : first;
            several |= model->nodes[gemem_ge_anchor_node (model, inputs[i].tensor)].stream
                       != model->nodes[gemem_ge_anchor_node (model, first)].stream;
          }
      for (guint32 i = 0; several && i < n; i++)
        if (inputs[i].tensor != GEMEM_NONE)
          model->multi_same_out[inputs[i].tensor] = 1;
    }
}

void
gemem_ge_model_fill_symbol_info (GeModel *model)
{
  for (guint32 s = 0; s < model->n_symbols; s++)
    fill_symbol (model, &model->symbols[s]);
  fill_same_out (model);
}
