/* model.c - see model.h. */
#include "config.h"

#include "graphs/meaning.h"
#include "graphs/overlay.h"
#include "planners/ggml/model.h"

/* What only building needs. */
typedef struct
{
  GgmlModel *model;
  GHashTable *layouts;           /* text -> number */
  guint32 *first_begin, *begins; /* per node: the lifetimes that begin there */
  guint32 *first_end, *ends;     /* per node: those that end with it */
  guint64 *listed;               /* per lifetime: 1 + the last node that reads it; 0: none */
} Building;

static GememLifetime *
life_at (const GgmlModel *model, guint32 i)
{
  return gemem_lifetimes_get (model->lifetimes, i);
}

/* Sorts the numbers below @n by @key_of, which is below @n_keys: those of key k are
 * (*sorted)[(*first)[k]] and following. */
static void
sort_by (const Building *b, guint32 n, guint32 n_keys,
         guint32 (*key_of) (const Building *b, guint32 i), guint32 **first, guint32 **sorted)
{
  g_autofree guint32 *fill = g_new0 (guint32, (gsize) n_keys + 1);

  *first = g_new0 (guint32, (gsize) n_keys + 2);
  *sorted = g_new (guint32, (gsize) n + 1);
  for (guint32 i = 0; i < n; i++)
    if (key_of (b, i) < n_keys)
      (*first)[key_of (b, i) + 1]++;
  for (guint32 k = 0; k < n_keys; k++)
    {
      (*first)[k + 1] += (*first)[k];
      fill[k] = (*first)[k];
    }
  for (guint32 i = 0; i < n; i++)
    if (key_of (b, i) < n_keys)
      (*sorted)[fill[key_of (b, i)]++] = i;
}

static guint32
begin_of (const Building *b, guint32 life)
{
  return (guint32) life_at (b->model, life)->begin;
}

static guint32
end_of (const Building *b, guint32 life)
{
  return (guint32) life_at (b->model, life)->safe_end - 1;
}

static guint32
life_of (const Building *b, guint32 item)
{
  return b->model->places[item].lifetime;
}

/* ---- tensors */

/* The number of the layout of @item: type and extents where both are known, and bytes. */
static guint32
layout_of (const Building *b, guint32 item)
{
  const GememGraphItem what = gemem_graph_item (b->model->graph, item);
  const GememNode *node = gemem_graph_node (b->model->graph, what.node);
  GString *text = g_string_new (NULL);
  guint32 number;

  g_string_printf (text, "%" G_GUINT64_FORMAT, b->model->demands->items[item].bytes);
  if (!what.workspace)
    {
      const GememTensor *tensor = gemem_graph_tensor (b->model->graph,
                                                      node->first_output + what.index);

      g_string_append_printf (text, " %d", tensor->dtype);
      for (guint32 i = 0; tensor->has_shape && i < tensor->n_dims; i++)
        g_string_append_printf (text, " %" G_GINT64_FORMAT,
                                gemem_graph_dims (b->model->graph, tensor->first_dim)[i]);
    }
  number = GPOINTER_TO_UINT (g_hash_table_lookup (b->layouts, text->str));
  if (number == 0)
    {
      number = g_hash_table_size (b->layouts) + 1;
      g_hash_table_insert (b->layouts, g_string_free (text, FALSE), GUINT_TO_POINTER (number));
    }
  else
    g_string_free (text, TRUE);
  return number;
}

static guint32
buffer_of (GgmlModel *model, guint32 space)
{
  guint32 i = 0;

  while (i < model->spaces->len && g_array_index (model->spaces, guint32, i) != space)
    i++;
  if (i == model->spaces->len)
    g_array_append_val (model->spaces, space);
  return i;
}

static gboolean
is_output (const GgmlModel *model, guint32 life)
{
  for (guint32 k = model->first_item[life]; k < model->first_item[life + 1]; k++)
    if (model->demands->items[model->items[k]].flags & GEMEM_DEMAND_TO_END)
      return TRUE;
  return FALSE;
}

static void
add_tensors (const Building *b)
{
  GgmlModel *model = b->model;
  const guint32 n_lives = model->lifetimes->items->len,
                n_items = gemem_graph_n_items (model->graph);

  for (guint32 i = 0; i < n_lives; i++)
    {
      const GememLifetime *life = life_at (model, i);
      const GgmlTensor tensor = { .bytes = life->size,
                                  .layout = layout_of (b, (guint32) life->id),
                                  .view = GGML_NO_TENSOR,
                                  .buffer = buffer_of (model, life->space),
                                  .is_operator = TRUE,
                                  .output = is_output (model, i) };

      g_array_append_val (model->ggml.tensors, tensor);
    }
  for (guint32 i = 0; i < n_items + gemem_graph_n_nodes (model->graph); i++)
    {
      const guint32 shows = i < n_items ? model->places[i].lifetime : GEMEM_NONE;
      const GgmlTensor tensor = { .view = shows != GEMEM_NONE ? shows : GGML_NO_TENSOR,
                                  .is_operator = TRUE,
                                  .has_data = TRUE };

      g_array_append_val (model->ggml.tensors, tensor);
    }
}

/* The tensor of @item: that of its buffer if it is its first item, else a view of it; GEMEM_NONE:
 * it has no memory. */
static guint32
tensor_of (const GgmlModel *model, guint32 item)
{
  const guint32 life = item != GEMEM_NONE ? model->places[item].lifetime : GEMEM_NONE;

  if (life == GEMEM_NONE)
    return GEMEM_NONE;
  return life_at (model, life)->id == item ? life : model->lifetimes->items->len + item;
}

/* ---- in place */

/* TRUE if node @id runs after all other users of the buffer. */
static gboolean
follows_others (const GgmlModel *model, guint32 life, guint32 id)
{
  for (guint32 k = model->first_item[life]; k < model->first_item[life + 1]; k++)
    {
      const GememGraphItem item = gemem_graph_item (model->graph, model->items[k]);
      const guint32 tensor = gemem_graph_node (model->graph, item.node)->first_output + item.index;
      const guint32 n = item.workspace ? 0 : gemem_graph_tensor (model->graph, tensor)->n_consumers;

      if (item.node == id || !gemem_graph_order_after (model->order, id, item.node))
        return FALSE;
      for (guint32 i = 0; i < n; i++)
        {
          const guint32 user = gemem_graph_consumers (model->graph, tensor)[i].node;

          if (user != id && !gemem_graph_order_after (model->order, id, user))
            return FALSE;
        }
    }
  return TRUE;
}

/* TRUE if the buffer is its first item and nothing more, which its node writes when it runs. */
static gboolean
is_plain (const GgmlModel *model, guint32 life)
{
  const GememDemand *first = &model->demands->items[life_at (model, life)->id];

  return first->inner == 0 && first->bytes == life_at (model, life)->size
         && first->memset == GEMEM_NONE && (first->flags & GEMEM_DEMAND_FROM_START) == 0;
}

/* TRUE if buffer @life, the output of node @id, may be written over input @input. */
static gboolean
may_take (const GgmlModel *model, guint32 id, guint32 input, guint32 source, guint32 life)
{
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 output = (guint32) life_at (model, life)->id - gemem_node_item (node);

  return source < model->lifetimes->items->len && gemem_ggml_runs_in_place (node->type)
         && gemem_graph_may_overlay (model->graph, id, input, output)
         && life_at (model, source)->space == life_at (model, life)->space && is_plain (model, life)
         && is_plain (model, source) && follows_others (model, source, id);
}

/* ---- nodes */

static void
append_node (const Building *b, guint32 tensor)
{
  g_array_append_val (b->model->ggml.nodes, tensor);
}

/* The inputs of node @id become sources of @reader; @life: the buffer that may take the place of
 * one, or GEMEM_NONE. */
static void
list_inputs (const Building *b, guint32 id, guint32 reader, guint32 life)
{
  GgmlModel *model = b->model;

  for (guint32 i = 0; i < gemem_graph_node (model->graph, id)->n_inputs; i++)
    {
      const guint32 item = gemem_graph_input_item (model->graph, id, i),
                    source = tensor_of (model, item);

      if (source == GEMEM_NONE)
        continue;
      gemem_ggml_graph_add_source (&model->ggml, reader, source,
                                   life != GEMEM_NONE && may_take (model, id, i, source, life));
      b->listed[model->places[item].lifetime] = (guint64) id + 1;
    }
}

/* The tensor that gets the inputs of node @id as sources: the last output that begins there, else a
 * view; GEMEM_NONE: there is neither.  The buffers that begin there are placed. */
static guint32
place_node (const Building *b, guint32 id)
{
  const GgmlModel *model = b->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 first = gemem_node_item (node);
  guint32 last = GEMEM_NONE, reader;

  for (guint32 k = b->first_begin[id]; k < b->first_begin[id + 1]; k++)
    if (life_at (model, b->begins[k])->id - first < node->n_outputs)
      last = b->begins[k];
  for (guint32 k = b->first_begin[id]; k < b->first_begin[id + 1]; k++)
    if (b->begins[k] != last)
      append_node (b, b->begins[k]);
  if (last != GEMEM_NONE)
    {
      append_node (b, last);
      list_inputs (b, id, last, last);
    }
  reader = last;
  for (guint32 i = first; i < first + node->n_outputs + node->n_workspaces; i++)
    {
      const guint32 tensor = tensor_of (model, i);

      if (tensor == GEMEM_NONE || tensor < model->lifetimes->items->len)
        continue;
      append_node (b, tensor);
      if (reader == GEMEM_NONE)
        list_inputs (b, id, reader = tensor, GEMEM_NONE);
    }
  return reader;
}

/* The tensor that ends node @id. */
static void
end_node (const Building *b, guint32 id, gboolean inputs_are_listed)
{
  GgmlModel *model = b->model;
  const GememNode *node = gemem_graph_node (model->graph, id);
  const guint32 n_lives = model->lifetimes->items->len, first = gemem_node_item (node),
                end = n_lives + gemem_graph_n_items (model->graph) + id;

  append_node (b, end);
  if (!inputs_are_listed)
    list_inputs (b, id, end, GEMEM_NONE);
  for (guint32 i = first; i < first + node->n_outputs + node->n_workspaces; i++)
    {
      const guint32 tensor = tensor_of (model, i);
      const gboolean is_read =
          i < first + node->n_outputs
          && gemem_graph_tensor (model->graph, node->first_output + (i - first))->n_consumers > 0;

      if (tensor != GEMEM_NONE && tensor >= n_lives && !is_read)
        gemem_ggml_graph_add_source (&model->ggml, end, tensor, FALSE);
    }
  for (guint32 k = b->first_end[id]; k < b->first_end[id + 1]; k++)
    if (b->listed[b->ends[k]] < (guint64) id + 1)
      gemem_ggml_graph_add_source (&model->ggml, end, b->ends[k], FALSE);
}

static void
build (const Building *b)
{
  add_tensors (b);
  for (guint32 id = 0; id < gemem_graph_n_nodes (b->model->graph); id++)
    end_node (b, id, place_node (b, id) != GEMEM_NONE);
}

/* ---- the model */

GgmlModel *
gemem_ggml_model_new (const GememGraph *graph)
{
  GgmlModel *model = g_new0 (GgmlModel, 1);
  const guint32 n_nodes = gemem_graph_n_nodes (graph), n_items = gemem_graph_n_items (graph);
  Building b = { .model = model };
  guint32 n_lives;

  model->graph = graph;
  model->lifetimes = gemem_graph_lifetimes (graph, &model->places);
  model->demands = gemem_demands_new (graph, FALSE);
  model->order = gemem_graph_order_new (graph);
  model->spaces = g_array_new (FALSE, FALSE, sizeof (guint32));
  gemem_ggml_graph_init (&model->ggml);
  n_lives = model->lifetimes->items->len;
  b.layouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  b.listed = g_new0 (guint64, (gsize) n_lives + 1);
  sort_by (&b, n_lives, n_nodes, begin_of, &b.first_begin, &b.begins);
  sort_by (&b, n_lives, n_nodes, end_of, &b.first_end, &b.ends);
  sort_by (&b, n_items, n_lives, life_of, &model->first_item, &model->items);
  build (&b);
  g_hash_table_unref (b.layouts);
  g_free (b.listed);
  g_free (b.first_begin);
  g_free (b.begins);
  g_free (b.first_end);
  g_free (b.ends);
  return model;
}

void
gemem_ggml_model_free (GgmlModel *model)
{
  gemem_lifetimes_free (model->lifetimes);
  gemem_demands_free (model->demands);
  gemem_graph_order_free (model->order);
  g_array_unref (model->spaces);
  g_free (model->places);
  g_free (model->first_item);
  g_free (model->items);
  gemem_ggml_graph_clear (&model->ggml);
  g_free (model);
}
