/* graph-text.c - see graph-text.h. */
#include "config.h"

#include "graphs/format.h"
#include "tests/util/graph-text.h"
#include "tests/util/testutil.h"

static void
add_shape (GString *text, const GememGraph *graph, GememDtype dtype, gboolean has_shape,
           guint32 first, guint32 n, guint64 size)
{
  const gint64 *dims = gemem_graph_dims (graph, first);

  g_string_append (text, gemem_dtype_name (dtype));
  for (guint32 i = 0; has_shape && i < n; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i == 0 ? "[" : ",", dims[i]);
  g_string_append_printf (text, "%s=%" G_GUINT64_FORMAT,
                          !has_shape ? "?"
                          : n == 0   ? "[]"
                                     : "]",
                          size);
}

static void
add_attributes (GString *text, const GememGraph *graph, GememAttributes attributes)
{
  for (guint32 i = 0; i < attributes.n; i++)
    {
      const GememAttributeKey key = gemem_graph_attribute_at (graph, attributes, i);
      const GememAttributeKind kind = gemem_attributes[key].kind;
      guint n;

      g_string_append_printf (text, " %s=", gemem_attributes[key].name);
      if (kind == GEMEM_ATTRIBUTE_TEXT || kind == GEMEM_ATTRIBUTE_TEXTS)
        {
          const char *const *values = gemem_graph_texts (graph, attributes, key, &n);
          for (guint k = 0; k < n; k++)
            g_string_append_printf (text, "%s%s", k > 0 ? "," : "", values[k]);
        }
      else
        {
          const gint64 *values = gemem_graph_ints (graph, attributes, key, &n);
          for (guint k = 0; k < n; k++)
            g_string_append_printf (text, "%s%" G_GINT64_FORMAT, k > 0 ? "," : "", values[k]);
        }
    }
}

static void
add_input (GString *text, const GememGraph *graph, const GememNodeInput *input)
{
  if (input->tensor != GEMEM_NONE)
    {
      const GememTensor *tensor = gemem_graph_tensor (graph, input->tensor);
      g_string_append_printf (text, "%s.%u", gemem_graph_node (graph, tensor->node)->name,
                              tensor->index);
    }
  else
    g_string_append_printf (
        text, "%s%s", input->variable != GEMEM_NONE ? "$" : "-",
        input->variable != GEMEM_NONE ? gemem_graph_variable (graph, input->variable)->name : "");
}

static void
add_output (GString *text, const GememGraph *graph, guint32 number)
{
  const GememTensor *tensor = gemem_graph_tensor (graph, number);

  g_string_append_c (text, ' ');
  add_shape (text, graph, tensor->dtype, tensor->has_shape, tensor->first_dim, tensor->n_dims,
             tensor->size);
  if (tensor->reuse_input >= 0)
    g_string_append_printf (text, "&%d", tensor->reuse_input);
  add_attributes (text, graph, tensor->attributes);
}

static void
add_node (GString *text, const GememGraph *graph, guint32 id)
{
  const GememNode *node = gemem_graph_node (graph, id);

  g_string_append_printf (text, "%s:%s(", node->name, node->type);
  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      g_string_append (text, i > 0 ? " " : "");
      add_input (text, graph, &gemem_graph_inputs (graph, id)[i]);
    }
  for (guint32 i = 0; i < node->n_controls; i++)
    g_string_append_printf (text, " ^%s",
                            gemem_graph_node (graph, gemem_graph_controls (graph, id)[i])->name);
  g_string_append (text, ") ->");
  for (guint32 i = 0; i < node->n_outputs; i++)
    add_output (text, graph, node->first_output + i);
  for (guint32 i = 0; i < node->n_workspaces; i++)
    g_string_append_printf (text, " workspace=%" G_GUINT64_FORMAT,
                            gemem_graph_workspace (graph, id, i));
  for (guint32 i = 0; i < node->n_blocks; i++)
    g_string_append_printf (text, " %u{%s}", node->first_block + i,
                            gemem_graph_block (graph, node->first_block + i)->name);
  if (node->block != 0)
    g_string_append_printf (text, " in=%u", node->block);
  if (node->stream != 0)
    g_string_append_printf (text, " stream=%" G_GINT64_FORMAT, node->stream);
  if (node->index >= 0)
    g_string_append_printf (text, " index=%" G_GINT64_FORMAT, node->index);
  if (*node->engine != '\0' || *node->batch_label != '\0')
    g_string_append_printf (text, " engine=%s batch=%s", node->engine, node->batch_label);
  add_attributes (text, graph, node->attributes);
  g_string_append_c (text, '\n');
}

char *
test_graph_text (const GememGraph *graph)
{
  GString *text = g_string_new (NULL);

  for (guint32 v = 0; v < gemem_graph_n_variables (graph); v++)
    {
      const GememVariable *variable = gemem_graph_variable (graph, v);
      g_string_append_printf (text, "$%s ", variable->name);
      add_shape (text, graph, variable->dtype, variable->has_shape, variable->first_dim,
                 variable->n_dims, variable->size);
      if (variable->block != GEMEM_NONE && variable->block > 0)
        g_string_append_printf (text, " block=%u", variable->block);
      g_string_append (text, variable->persistable ? " persistable\n" : "\n");
    }
  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    add_node (text, graph, id);
  return g_string_free (text, FALSE);
}

GememGraph *
test_open_graph (const char *relative)
{
  g_autofree char *part = g_build_filename ("tests/data", relative, NULL),
                  *path = test_source_path (part);
  g_autoptr (GError) error = NULL;
  GememGraph *graph = gemem_graph_open (path, NULL, &error);

  g_assert_no_error (error);
  return graph;
}

char *
test_graph_refusal (const void *data, gsize size, const char *format)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GError) error = NULL;

  g_assert_null (
      gemem_graph_open_input (gemem_input_new_from_bytes (bytes, "x"), format, 0, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  return g_strdup (error->message);
}
