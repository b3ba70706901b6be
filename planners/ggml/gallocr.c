/* gallocr.c - see gallocr.h. */
#include "config.h"

#include "planners/ggml/gallocr.h"

typedef struct
{
  GgmlGraph *graph;
  GgmlOffsets *offsets;
  gboolean failed;
} Planning;

void
gemem_ggml_graph_init (GgmlGraph *graph)
{
  graph->tensors = g_array_new (FALSE, TRUE, sizeof (GgmlTensor));
  graph->sources = g_array_new (FALSE, TRUE, sizeof (GgmlSource));
  graph->leafs = g_array_new (FALSE, TRUE, sizeof (guint32));
  graph->nodes = g_array_new (FALSE, TRUE, sizeof (guint32));
}

void
gemem_ggml_graph_clear (GgmlGraph *graph)
{
  g_array_unref (graph->tensors);
  g_array_unref (graph->sources);
  g_array_unref (graph->leafs);
  g_array_unref (graph->nodes);
}

static GgmlTensor *
tensor_at (const GgmlGraph *graph, guint32 i)
{
  return &g_array_index (graph->tensors, GgmlTensor, i);
}

static const GgmlSource *
source_of (const GgmlGraph *graph, const GgmlTensor *tensor, guint32 i)
{
  return &g_array_index (graph->sources, GgmlSource, tensor->first_source + i);
}

void
gemem_ggml_graph_add_source (GgmlGraph *graph, guint32 reader, guint32 tensor, gboolean may_overlay)
{
  const GgmlSource source = { tensor, may_overlay };
  GgmlTensor *of = tensor_at (graph, reader);

  if (of->n_sources++ == 0)
    of->first_source = graph->sources->len;
  g_array_append_val (graph->sources, source);
}

static gboolean
is_view (const GgmlTensor *tensor)
{
  return tensor->view != GGML_NO_TENSOR;
}

/* Lets @tensor take the place of one of its sources; FALSE: none can give it. */
static gboolean
take_over (const Planning *planning, GgmlTensor *tensor)
{
  for (guint32 i = 0; i < tensor->n_sources; i++)
    {
      const GgmlSource *source = source_of (planning->graph, tensor, i);
      GgmlTensor *from = tensor_at (planning->graph, source->tensor);

      if (!source->may_overlay || from->piece == NULL || from->output
          || from->layout != tensor->layout || from->children != 1 || from->views != 0)
        continue;
      tensor->piece = from->piece;
      tensor->chunk = from->chunk;
      tensor->offset = from->offset;
      tensor->buffer = from->buffer;
      from->piece = NULL;
      return TRUE;
    }
  return FALSE;
}

static void
place (Planning *planning, guint32 number, guint32 buffer)
{
  GgmlTensor *tensor = tensor_at (planning->graph, number);

  if (tensor->has_data || is_view (tensor) || tensor->piece != NULL || tensor->bytes == 0)
    return;
  tensor->placed = TRUE;
  tensor->buffer = buffer;
  if (take_over (planning, tensor))
    return;
  tensor->piece = gemem_ggml_offsets_alloc (&planning->offsets[buffer], tensor->bytes);
  if (tensor->piece == NULL)
    {
      planning->failed = TRUE;
      return;
    }
  tensor->chunk = (guint32) tensor->piece->node.group;
  tensor->offset = tensor->piece->offset;
}

static void
give (const Planning *planning, GgmlTensor *tensor)
{
  if (tensor->output || tensor->piece == NULL)
    return;
  gemem_ggml_offsets_free (&planning->offsets[tensor->buffer], tensor->piece);
  tensor->piece = NULL;
}

static void
count_readers (Planning *planning, guint32 number)
{
  GgmlTensor *node = tensor_at (planning->graph, number);

  if (is_view (node) && node->is_operator)
    tensor_at (planning->graph, node->view)->views++;
  if (node->input)
    place (planning, number, node->buffer);
  for (guint32 i = 0; i < node->n_sources; i++)
    {
      const guint32 source = source_of (planning->graph, node, i)->tensor;

      tensor_at (planning->graph, source)->children++;
      if (tensor_at (planning->graph, source)->input)
        place (planning, source, tensor_at (planning->graph, source)->buffer);
    }
}

/* One reader of @tensor is done. */
static void
leave (const Planning *planning, GgmlTensor *tensor)
{
  GgmlTensor *shown;

  tensor->children--;
  if (tensor->children > 0 || tensor->views > 0)
    return;
  if (!is_view (tensor))
    {
      give (planning, tensor);
      return;
    }
  shown = tensor_at (planning->graph, tensor->view);
  shown->views--;
  if (shown->views == 0 && shown->children == 0)
    give (planning, shown);
}

static void
run_node (Planning *planning, guint32 number)
{
  const GgmlTensor *node = tensor_at (planning->graph, number);

  for (guint32 i = 0; i < node->n_sources; i++)
    place (planning, source_of (planning->graph, node, i)->tensor, node->buffer);
  place (planning, number, node->buffer);
  for (guint32 i = 0; i < node->n_sources; i++)
    leave (planning, tensor_at (planning->graph, source_of (planning->graph, node, i)->tensor));
}

gboolean
gemem_ggml_graph_plan (GgmlGraph *graph, GgmlOffsets *offsets)
{
  Planning planning = { graph, offsets, FALSE };

  for (guint i = 0; i < graph->leafs->len; i++)
    {
      const guint32 leaf = g_array_index (graph->leafs, guint32, i);

      place (&planning, leaf, tensor_at (graph, leaf)->buffer);
    }
  for (guint i = 0; i < graph->nodes->len; i++)
    count_readers (&planning, g_array_index (graph->nodes, guint32, i));
  for (guint i = 0; i < graph->nodes->len && !planning.failed; i++)
    run_node (&planning, g_array_index (graph->nodes, guint32, i));
  return !planning.failed;
}
