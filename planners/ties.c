/* ties.c - the ties of a graph (demand.h): items whose addresses depend on each other, because one
 * refers to the other or both belong to continuous memory.  Read from types, flags and attributes.
 *
 * Origin: ge-static.md 1.6 (references, merge nodes, subgraphs), 5 (predicates and strides), 7.7
 * (buffer pools), 9.3 (what is checked).
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "planners/demand.h"

typedef struct
{
  const GememGraph *graph;
  GArray *ties;
  GHashTable *pools; /* "label\nid" of the pool -> id + 1 of its first node */
} Ties;

static void
tie (const Ties *ties, GememTieKind kind, guint32 first, guint32 second, gint64 delta,
     gboolean loose)
{
  const GememTie new_tie = { kind, loose, first, second, delta };

  if (first != GEMEM_NONE && second != GEMEM_NONE && first != second)
    g_array_append_val (ties->ties, new_tie);
}

static gboolean
flag (const Ties *ties, const GememNode *node, GememAttributeKey key)
{
  return gemem_graph_flag (ties->graph, node->attributes, key);
}

static gint64
number (const Ties *ties, GememAttributes attributes, GememAttributeKey key, gint64 otherwise)
{
  gint64 value;

  return gemem_graph_int (ties->graph, attributes, key, &value) ? value : otherwise;
}

/* ---- references (1.6) */

static void
tie_outputs (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  const gboolean custom = gemem_graph_has_attribute (ties->graph, node->attributes,
                                                     GEMEM_ATTRIBUTE_CUSTOM_INPUT_OUTPUT_OFFSET);
  const gboolean spread = flag (ties, node, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_OUTPUT);

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const guint32 input = gemem_graph_referenced_input (ties->graph, id, o);
      const GememAttributes attributes =
          gemem_graph_tensor (ties->graph, node->first_output + o)->attributes;

      if (input != GEMEM_NONE)
        tie (ties, strcmp (node->type, "Merge") == 0 ? GEMEM_TIE_MERGED : GEMEM_TIE_REFERENCE,
             gemem_graph_input_item (ties->graph, id, input), gemem_node_output_item (node, o),
             number (ties, attributes, GEMEM_ATTRIBUTE_INNER_OFFSET, 0),
             custom || (spread && o > 0));
    }
}

/* Ties all inputs of a merge node: they are one value. */
static void
tie_merged (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  const char *next = gemem_graph_text (ties->graph, node->attributes,
                                       GEMEM_ATTRIBUTE_NEXT_ITERATION);
  const guint32 back = next != NULL ? gemem_graph_find_node (ties->graph, next) : GEMEM_NONE;
  guint32 first = GEMEM_NONE;

  if (!gemem_node_is_merge (node))
    return;
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 item = gemem_graph_input_item (ties->graph, id, i);

      if (first == GEMEM_NONE)
        first = item;
      tie (ties, GEMEM_TIE_MERGED, first, item, 0, FALSE);
    }
  if (back != GEMEM_NONE && gemem_graph_node (ties->graph, back)->n_outputs > 0)
    tie (ties, GEMEM_TIE_MERGED, first,
         gemem_node_output_item (gemem_graph_node (ties->graph, back), 0), 0, FALSE);
}

/* Ties the items of a subgraph to those of the node that owns it. */
static void
tie_to_owner (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  guint32 owner, input;

  if (node->n_outputs > 0 && gemem_graph_outer_input (ties->graph, id, &owner, &input))
    tie (ties, GEMEM_TIE_REFERENCE, gemem_graph_input_item (ties->graph, owner, input),
         gemem_node_output_item (node, 0), 0, FALSE);
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 outer = gemem_graph_outer_output (ties->graph, id, i);

      if (outer != GEMEM_NONE)
        tie (ties, GEMEM_TIE_MERGED, gemem_graph_input_item (ties->graph, id, i),
             gemem_graph_tensor_item (ties->graph, outer), 0, FALSE);
    }
}

/* Per variable of a program: the item written last, and 1 + the node that reads it last. */
typedef struct
{
  guint32 *writer, *read_at;
} Variables;

/* Ties two versions of a variable if one operator reads the first and writes the next, or if
 * operators of several blocks write it.  Other versions may have different addresses: planners
 * rename them. */
static void
tie_writers (const Ties *ties, const Variables *variables, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);

  for (guint32 i = 0; i < node->n_inputs; i++)
    if (gemem_graph_inputs (ties->graph, id)[i].variable != GEMEM_NONE)
      variables->read_at[gemem_graph_inputs (ties->graph, id)[i].variable] = id + 1;
  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const guint32 variable = gemem_graph_tensor (ties->graph, node->first_output + o)->variable;
      const guint32 before = variable != GEMEM_NONE ? variables->writer[variable] : GEMEM_NONE;
      const GememNode *writer = before != GEMEM_NONE ? gemem_graph_node (
                                    ties->graph, gemem_graph_item (ties->graph, before).node)
                                                     : NULL;

      if (writer != NULL
          && (variables->read_at[variable] == id + 1 || writer->block != node->block
              || writer->n_blocks > 0 || node->n_blocks > 0))
        tie (ties, GEMEM_TIE_MERGED, before, gemem_node_output_item (node, o), 0, FALSE);
      if (variable != GEMEM_NONE)
        variables->writer[variable] = gemem_node_output_item (node, o);
    }
}

/* ---- continuous memory (5) */

static gint64
align (guint64 bytes)
{
  return (gint64) (gemem_round_up (bytes, GEMEM_DEMAND_ALIGN));
}

/* Bytes of a no-padding piece.  Pieces are joined along one dimension; the dimensions before it
 * count as 1 (5.6). */
static gint64
piece_bytes (const Ties *ties, const GememNode *node, guint32 tensor)
{
  const GememTensor *t = gemem_graph_tensor (ties->graph, tensor);
  const gint64 along = number (ties, node->attributes, GEMEM_ATTRIBUTE_REUSE_INPUT_ON_DIM_INDEX, 0);
  guint64 bytes;

  if (along > 0 && along < t->n_dims && t->dtype != GEMEM_DTYPE_UNKNOWN
      && gemem_dtype_bytes (t->dtype,
                            gemem_graph_dims (ties->graph, t->first_dim + (guint32) along),
                            t->n_dims - (guint32) along, &bytes))
    return (gint64) bytes;
  return (gint64) gemem_graph_unpadded_size (ties->graph, tensor);
}

/* Reads entry @index of the list attribute @key; FALSE: the list is shorter. */
static gboolean
listed (const Ties *ties, const GememNode *node, GememAttributeKey key, guint32 index,
        gint64 *value)
{
  guint n;
  const gint64 *values = gemem_graph_ints (ties->graph, node->attributes, key, &n);

  if (index >= n)
    return FALSE;
  *value = values[index];
  return TRUE;
}

static void
tie_nopadding_inputs (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  guint32 previous = GEMEM_NONE;
  gint64 stride = 0, offset;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (ties->graph, id)[i].tensor;
      const guint32 item = gemem_graph_input_item (ties->graph, id, i);
      const GememTensor *t = tensor != GEMEM_NONE ? gemem_graph_tensor (ties->graph, tensor) : NULL;

      if (t != NULL && node->n_outputs > 0
          && listed (ties, gemem_graph_node (ties->graph, t->node),
                     GEMEM_ATTRIBUTE_OUTPUT_OFFSET_LIST_FOR_CONTINUOUS, t->index, &offset))
        tie (ties, GEMEM_TIE_NOPADDING, gemem_node_output_item (node, 0), item, offset, FALSE);
      else
        tie (ties, GEMEM_TIE_NOPADDING, previous, item, stride, FALSE);
      previous = item;
      stride = t != NULL ? piece_bytes (ties, node, tensor) : 0;
    }
}

static void
tie_padded_inputs (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  guint32 previous = GEMEM_NONE;
  gboolean fused = FALSE; /* the previous producer lists offsets: the pieces are one symbol */
  gint64 stride = 0;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (ties->graph, id)[i].tensor;
      const guint32 item = gemem_graph_input_item (ties->graph, id, i);
      const GememTensor *t = tensor != GEMEM_NONE ? gemem_graph_tensor (ties->graph, tensor) : NULL;

      tie (ties, fused ? GEMEM_TIE_NOPADDING : GEMEM_TIE_PADDED, previous, item, stride, FALSE);
      previous = item;
      fused = t != NULL
              && listed (ties, gemem_graph_node (ties->graph, t->node),
                         GEMEM_ATTRIBUTE_OUTPUT_OFFSET_FOR_BUFFER_FUSION, t->index, &stride);
      if (t != NULL && !fused)
        stride = align (t->size);
    }
}

static void
tie_nopadding_outputs (const Ties *ties, const GememNode *node)
{
  for (guint32 o = 0; o + 1 < node->n_outputs; o++)
    {
      const GememTensor *next = gemem_graph_tensor (ties->graph, node->first_output + o + 1);
      gboolean given = FALSE;
      gint64 offset;

      for (guint32 i = 0; i < next->n_consumers && !given; i++)
        {
          const GememConsumer *consumer = &gemem_graph_consumers (ties->graph,
                                                                  node->first_output + o + 1)[i];

          given = listed (ties, gemem_graph_node (ties->graph, consumer->node),
                          GEMEM_ATTRIBUTE_INPUT_OFFSET_LIST_FOR_CONTINUOUS, consumer->input,
                          &offset);
        }
      if (given)
        tie (ties, GEMEM_TIE_NOPADDING, gemem_node_output_item (node, 0),
             gemem_node_output_item (node, o + 1), offset, FALSE);
      else
        tie (ties, GEMEM_TIE_NOPADDING, gemem_node_output_item (node, o),
             gemem_node_output_item (node, o + 1), piece_bytes (ties, node, node->first_output + o),
             FALSE);
    }
}

/* Outputs of global scope are not part of the row.  If one output is a reference, all are, and no
 * output is moved (5.4, 5.6). */
static void
tie_padded_outputs (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  guint32 previous = GEMEM_NONE;
  gint64 stride = 0;

  for (guint32 o = 0; o < node->n_outputs; o++)
    {
      const GememTensor *tensor = gemem_graph_tensor (ties->graph, node->first_output + o);

      if (gemem_graph_referenced_input (ties->graph, id, o) != GEMEM_NONE)
        return;
      if (number (ties, tensor->attributes, GEMEM_ATTRIBUTE_TENSOR_MEMORY_SCOPE, 0) == 2)
        continue;
      tie (ties, GEMEM_TIE_PADDED, previous, gemem_node_output_item (node, o), stride, FALSE);
      previous = gemem_node_output_item (node, o);
      stride = align (tensor->size);
    }
}

static void
tie_continuous (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);

  if (node->n_inputs > 1 && flag (ties, node, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_INPUT))
    tie_nopadding_inputs (ties, id);
  else if (node->n_inputs > 1 && flag (ties, node, GEMEM_ATTRIBUTE_CONTINUOUS_INPUT))
    tie_padded_inputs (ties, id);
  if (node->n_outputs > 1 && flag (ties, node, GEMEM_ATTRIBUTE_NOPADDING_CONTINUOUS_OUTPUT))
    tie_nopadding_outputs (ties, node);
  else if (node->n_outputs > 1 && flag (ties, node, GEMEM_ATTRIBUTE_CONTINUOUS_OUTPUT)
           && !flag (ties, node, GEMEM_ATTRIBUTE_REFERENCE))
    tie_padded_outputs (ties, id);
}

/* ---- buffer pools (7.7): a node's first output has a fixed offset in the pool */

static void
tie_pool (const Ties *ties, guint32 id)
{
  const GememNode *node = gemem_graph_node (ties->graph, id);
  const gint64 offset = number (ties, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_OFFSET, 0);
  gint64 pool;
  guint32 first;
  char *key;

  if (node->n_outputs == 0
      || !gemem_graph_int (ties->graph, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_ID, &pool))
    return;
  key = g_strdup_printf ("%s\n%" G_GINT64_FORMAT, node->batch_label, pool);
  first = GPOINTER_TO_UINT (g_hash_table_lookup (ties->pools, key));
  if (first == 0)
    {
      g_hash_table_insert (ties->pools, key, GUINT_TO_POINTER (id + 1));
      return;
    }
  g_free (key);
  tie (ties, GEMEM_TIE_POOL, gemem_node_output_item (gemem_graph_node (ties->graph, first - 1), 0),
       gemem_node_output_item (node, 0),
       offset
           - number (ties, gemem_graph_node (ties->graph, first - 1)->attributes,
                     GEMEM_ATTRIBUTE_BUFFER_POOL_OFFSET, 0),
       FALSE);
}

GArray *
gemem_graph_ties (const GememGraph *graph)
{
  const Ties ties = { graph, g_array_new (FALSE, FALSE, sizeof (GememTie)),
                      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  g_autofree guint32 *writer = g_new (guint32, (gsize) gemem_graph_n_variables (graph) + 1);
  g_autofree guint32 *read_at = g_new0 (guint32, (gsize) gemem_graph_n_variables (graph) + 1);
  const Variables variables = { writer, read_at };

  memset (writer, 0xff, sizeof (guint32) * gemem_graph_n_variables (graph));
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    {
      tie_outputs (&ties, id);
      tie_writers (&ties, &variables, id);
      tie_merged (&ties, id);
      tie_to_owner (&ties, id);
      tie_continuous (&ties, id);
      tie_pool (&ties, id);
    }
  g_hash_table_unref (ties.pools);
  return ties.ties;
}
