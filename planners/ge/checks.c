/* checks.c - refuses graphs with contradictory no-padding nodes, before planning.
 *
 * Sizes of pieces are compared only if all shapes are known.
 * Cost: linear in the anchors of no-padding nodes.  Origin: ge-static.md 9.3.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

static gboolean fail (const GememNode *node, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const GememNode *node, GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "node '%s': %s", node->name, text);
  return FALSE;
}

/* Number of tensors in @pieces (which may hold GEMEM_NONE) whose nodes list offsets under @key. */
static guint
count_listed (const GeModel *model, const GArray *pieces, GememAttributeKey key)
{
  guint n = 0;

  for (guint i = 0; i < pieces->len; i++)
    {
      const GememTensor *t = gemem_graph_tensor (model->graph, g_array_index (pieces, guint32, i));

      n += gemem_graph_has_attribute (model->graph,
                                      gemem_graph_node (model->graph, t->node)->attributes, key);
    }
  return n;
}

/* Checks that the pieces sum up to the whole, if all shapes are known. */
static gboolean
check_sum (const GeModel *model, const GememNode *node, const GArray *pieces, guint32 whole,
           guint32 dim, GError **error)
{
  guint64 sum = 0, bytes;

  for (guint i = 0; i < pieces->len; i++)
    {
      if (!gemem_ge_piece_size (model, g_array_index (pieces, guint32, i), dim, &bytes))
        return TRUE;
      sum += bytes;
    }
  if (!gemem_ge_piece_size (model, whole, dim, &bytes) || bytes == sum)
    return TRUE;
  return fail (node, error,
               "_reuse_input_on_dim_index: the pieces take %" G_GUINT64_FORMAT
               " bytes in all, but the whole takes %" G_GUINT64_FORMAT
               "; correct the shapes or the dimension",
               sum, bytes);
}

/* Checks @pieces of @node, which lie without padding and make up @whole (GEMEM_NONE: unknown);
 * @listed of its @n neighbours list offsets. */
static gboolean
check_pieces (const GeModel *model, const GememNode *node, const GArray *pieces, guint32 whole,
              guint listed, guint n, GError **error)
{
  gint64 dim;

  if (listed > 0 && listed < n)
    return fail (node, error,
                 "offset lists: %u of %u neighbours list offsets; all of them or none must", listed,
                 n);
  if (listed > 0)
    return TRUE;
  if (!gemem_graph_int (model->graph, node->attributes, GEMEM_ATTRIBUTE_REUSE_INPUT_ON_DIM_INDEX,
                        &dim))
    return fail (node, error,
                 "_reuse_input_on_dim_index: missing; no-padding continuous memory needs the "
                 "dimension of its pieces");
  if (dim < 0)
    return fail (
        node, error,
        "_reuse_input_on_dim_index: %" G_GINT64_FORMAT " is no dimension; give one from 0 on", dim);
  return whole == GEMEM_NONE
         || check_sum (model, node, pieces, whole, (guint32) MIN (dim, G_MAXINT32), error);
}

static gboolean
check_inputs (const GeModel *model, guint32 id, GError **error)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  const GememNodeInput *inputs = gemem_graph_inputs (model->graph, id);
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint listed;

  for (guint32 i = 0; i < node->n_inputs; i++)
    if (inputs[i].tensor != GEMEM_NONE)
      g_array_append_val (pieces, inputs[i].tensor);
  listed = count_listed (model, pieces, GEMEM_ATTRIBUTE_OUTPUT_OFFSET_LIST_FOR_CONTINUOUS);
  if (!check_pieces (model, node, pieces,
                     node->n_outputs > 0 && pieces->len == node->n_inputs ? node->first_output
                                                                          : GEMEM_NONE,
                     listed, pieces->len, error))
    return FALSE;
  if ((model->nodes[id].kind & GE_CASCADE_OUT) == 0) /* 5.6 places pieces of such nodes only */
    return fail (node, error,
                 "_no_padding_continuous_input: the pieces of a node without _output_reuse_input "
                 "are placed nowhere; set it, or use "
                 "continuous_input");
  return TRUE;
}

static gboolean
check_outputs (const GeModel *model, guint32 id, GError **error)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  g_autoptr (GArray) pieces = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint listed = 0, n = 0;

  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      const GememConsumer *consumers = gemem_graph_consumers (model->graph, t);

      g_array_append_val (pieces, t);
      for (guint32 i = 0; i < gemem_graph_tensor (model->graph, t)->n_consumers; i++, n++)
        listed += gemem_graph_has_attribute (
            model->graph, gemem_graph_node (model->graph, consumers[i].node)->attributes,
            GEMEM_ATTRIBUTE_INPUT_OFFSET_LIST_FOR_CONTINUOUS);
    }
  return check_pieces (model, node, pieces,
                       node->n_inputs > 0 ? gemem_graph_inputs (model->graph, id)[0].tensor
                                          : GEMEM_NONE,
                       listed, n, error);
}

gboolean
gemem_ge_model_check_attributes (const GeModel *model, GError **error)
{
  for (guint32 id = 0; id < model->n_nodes; id++)
    {
      if ((model->nodes[id].kind & GE_NOPADDING_IN) != 0 && !check_inputs (model, id, error))
        return FALSE;
      if ((model->nodes[id].kind & GE_NOPADDING_OUT) != 0 && !check_outputs (model, id, error))
        return FALSE;
    }
  return TRUE;
}
